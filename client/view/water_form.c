/* water_form.c: see water_form.h. */
#include "client/view/water_form.h"

/* Waves break where their front is steeper than this (Stokes' limit is 0.58 at the crest; fronts of
 * a wave about to break reach less on a grid); all foam at the second. */
static const f32 steep_from = 0.45f, steep_to = 0.9f;

void water_form_fill(const ShownGrid *shown, WaterTexel *texels)
{
    const Grid *grid = &shown->grid;
    u32 columns = grid->dims[0], rows = grid->dims[2];
    const f32 *foam = shown->channels > 1 ? grid->values + (size_t)columns * rows : NULL;
    for (u32 z = 0; z < rows; z++) {
        u32 back = z > 0, ahead = z + 1 < rows;
        const f32 *here = grid->values + (size_t)z * columns;
        const f32 *before = here - (size_t)back * columns, *after = here + (size_t)ahead * columns;
        f32 deep = (f32)u32_max(back + ahead, 1) * grid->spacing.z;
        for (u32 x = 0; x < columns; x++) {
            u32 left = x > 0 ? x - 1 : x, right = x + 1 < columns ? x + 1 : x;
            f32 wide = (f32)u32_max(right - left, 1) * grid->spacing.x;
            WaterTexel *texel = &texels[(size_t)z * columns + x];
            *texel = (WaterTexel){
                .height = here[x],
                .slope = {(here[right] - here[left]) / wide, (after[x] - before[x]) / deep}};
            f32 steep =
                sqrtf(texel->slope[0] * texel->slope[0] + texel->slope[1] * texel->slope[1]);
            f32 breaking = f32_clamp((steep - steep_from) / (steep_to - steep_from), 0.0f, 1.0f);
            texel->foam = f32_max(breaking, foam ? foam[(size_t)z * columns + x] : 0.0f);
        }
    }
}

bool water_form_height(const Grid *grid, f32 x, f32 z, f32 *height)
{
    f32 u = (x - grid->origin.x) / grid->spacing.x, v = (z - grid->origin.z) / grid->spacing.z;
    if (!(u >= 0.0f && v >= 0.0f && u <= (f32)(grid->dims[0] - 1) &&
          v <= (f32)(grid->dims[2] - 1))) {
        return false;
    }
    u32 i = u32_min((u32)u, grid->dims[0] - 1), j = u32_min((u32)v, grid->dims[2] - 1);
    u32 i1 = u32_min(i + 1, grid->dims[0] - 1), j1 = u32_min(j + 1, grid->dims[2] - 1);
    f32 fu = u - (f32)i, fv = v - (f32)j;
    const f32 *row = grid->values + (size_t)j * grid->dims[0];
    const f32 *next = grid->values + (size_t)j1 * grid->dims[0];
    f32 low = row[i] + fu * (row[i1] - row[i]), high = next[i] + fu * (next[i1] - next[i]);
    *height = grid->origin.y + low + fv * (high - low);
    return true;
}
