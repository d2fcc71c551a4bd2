/* fog_form.c: see fog_form.h. */
#include "client/view/fog_form.h"

#include <stdlib.h>
#include <string.h>

/* Greatest opacity of a voxel: an opaque one would have no finite extinction. */
static const f32 opacity_most = 0.99f;
/* Density, relative to the full one, with which the heat of an empty voxel counts: flames need no
 * smoke. */
static const f32 empty_weight = 1e-3f;
/* Heat below which no light is visible. */
static const f32 heat_least = 0.02f;
/* Default length of full density over which light falls to 1/e. */
static const f32 clear_default_m = 1.0f;

static f32 at_most_one(f32 share)
{
    return share > 0.0f ? f32_min(share, 1.0f) : 0.0f; /* NaN: 0 */
}

static u16 to_texel(f32 share)
{
    return (u16)(at_most_one(share) * 65535.0f + 0.5f);
}

static bool form_reserve(FogForm *form, size_t texels, size_t slice)
{
    if (texels > form->capacity) {
        FogTexel *grown = realloc(form->texels, texels * sizeof *grown);
        if (!grown) {
            return false;
        }
        form->texels = grown;
        f32 *thickness = realloc(form->thickness, texels * sizeof *thickness);
        if (!thickness) {
            return false;
        }
        form->thickness = thickness;
        form->capacity = texels;
    }
    if (form->dyed && texels > form->dyes_capacity) {
        FogDye *dyes = realloc(form->dyes, texels * sizeof *dyes);
        if (!dyes) {
            return false;
        }
        form->dyes = dyes;
        form->dyes_capacity = texels;
    }
    if (slice > form->slice_capacity) {
        f32 *arriving = realloc(form->arriving, 2 * slice * sizeof *arriving);
        if (!arriving) {
            return false;
        }
        form->arriving = arriving;
        form->slice_capacity = slice;
    }
    return true;
}

/* ---- density ---- */

/* Sums of voxels that share a texel. */
typedef struct FogSum {
    f32 held, heat, weight, color[3];
} FogSum;

static FogSum sum_of(const ShownGrid *shown, const ShownGrid *dye, const u32 from[3], u32 step)
{
    const Grid *grid = &shown->grid;
    const u32 *dims = grid->dims;
    size_t count = (size_t)dims[0] * dims[1] * dims[2];
    const f32 *more = shown->channels > 1 ? grid->values + count : NULL;
    const f32 *heats = dye == NULL ? more : NULL;
    const f32 *colors[3] = {more, dye != NULL ? dye->grid.values : NULL,
                            dye != NULL ? dye->grid.values + count : NULL};
    f32 scale = 1.0f / (shown->high - shown->low);
    FogSum sum = {0};
    for (u32 z = from[2]; z < u32_min(from[2] + step, dims[2]); z++) {
        for (u32 y = from[1]; y < u32_min(from[1] + step, dims[1]); y++) {
            size_t row = ((size_t)z * dims[1] + y) * dims[0];
            for (u32 x = from[0]; x < u32_min(from[0] + step, dims[0]); x++) {
                f32 held = at_most_one((grid->values[row + x] - shown->low) * scale);
                f32 weight = held + empty_weight;
                sum.held += held;
                sum.weight += weight;
                sum.heat += heats ? weight * heats[row + x] : 0.0f;
                for (u32 c = 0; c < 3 && dye != NULL; c++) {
                    f32 root = at_most_one(colors[c][row + x]);
                    sum.color[c] += held * root * root;
                }
            }
        }
    }
    return sum;
}

/* 1/m of a density in [0, 1]: by the length of the appearance if it has one, otherwise by the
 * opacity of a voxel of full density. */
static f32 extinction_of(const Appearance *appearance, f32 voxel_m, f32 density)
{
    if (appearance->clear_m > 0.0f) {
        return density / appearance->clear_m;
    }
    f32 alpha = at_most_one(appearance->color[3]);
    return -logf(1.0f - f32_min(density * alpha, opacity_most)) / f32_max(voxel_m, 1e-6f);
}

static void bounds_add(FogForm *form, const u32 at[3])
{
    for (u32 k = 0; k < 3; k++) {
        form->first[k] = u32_min(form->first[k], at[k] > 0 ? at[k] - 1 : 0);
        form->last[k] = u32_max(form->last[k], u32_min(at[k] + 1, form->dims[k] - 1));
    }
}

static FogDye dye_of(const FogSum *sum, f32 share)
{
    FogDye dye = {{0}, 0};
    for (u32 c = 0; c < 3 && sum->held > 0.0f; c++) {
        dye.color[c] = to_texel(share * sum->color[c] / sum->held);
    }
    return dye;
}

static void fill_densities(FogForm *form, const ShownGrid *shown, const ShownGrid *dye,
                           const Appearance *appearance, u32 step)
{
    Vec3 voxel = shown->grid.spacing;
    f32 voxel_m = cbrtf(voxel.x * voxel.y * voxel.z);
    f32 per_voxels = 1.0f / (f32)(step * step * step);
    f32 full = extinction_of(appearance, voxel_m, 1.0f);
    form->extinction = full > 0.0f ? full : 1.0f / clear_default_m;
    form->densest = 0.0f;
    memcpy(form->first, form->dims, sizeof form->first);
    memset(form->last, 0, sizeof form->last);
    size_t i = 0;
    for (u32 z = 0; z < form->dims[2]; z++) {
        for (u32 y = 0; y < form->dims[1]; y++) {
            for (u32 x = 0; x < form->dims[0]; x++, i++) {
                const u32 from[3] = {step * x, step * y, step * z};
                FogSum sum = sum_of(shown, dye, from, step);
                f32 thick = extinction_of(appearance, voxel_m, sum.held * per_voxels);
                f32 heat = at_most_one(sum.heat / sum.weight);
                form->thickness[i] = thick;
                form->densest = f32_max(form->densest, thick / form->extinction);
                if (appearance->glow > 0.0f) {
                    form->densest = f32_max(form->densest, heat);
                }
                if (to_texel(thick / form->extinction) > 0 ||
                    (appearance->glow > 0.0f && heat > heat_least)) {
                    bounds_add(form, (const u32[3]){x, y, z});
                }
                form->texels[i] = (FogTexel){.extinction = to_texel(thick / form->extinction),
                                             .heat = to_texel(heat)};
                if (dye != NULL) {
                    form->dyes[i] = dye_of(&sum, thick / form->extinction);
                }
            }
        }
    }
}

/* ---- light ---- */

/* A sweep of slices along `axis`; `across` are the other two. */
typedef struct FogSweep {
    u32 axis, across[2];
    u32 stride[3]; /* texels between neighbours along each axis */
    f32 shift[2];  /* lateral offset, in texels, of the light's origin, |shift| ≤ 1 */
    f32 passed_m;  /* m, path length through a slice */
} FogSweep;

static FogSweep sweep_of(const FogForm *form, Vec3 sun)
{
    const f32 way[3] = {sun.x / form->spacing.x, sun.y / form->spacing.y, sun.z / form->spacing.z};
    FogSweep sweep = {.stride = {1, form->dims[0], form->dims[0] * form->dims[1]}};
    for (u32 k = 1; k < 3; k++) {
        sweep.axis = fabsf(way[k]) > fabsf(way[sweep.axis]) ? k : sweep.axis;
    }
    sweep.across[0] = (sweep.axis + 1) % 3;
    sweep.across[1] = (sweep.axis + 2) % 3;
    f32 per = 1.0f / f32_max(fabsf(way[sweep.axis]), 1e-9f);
    for (u32 k = 0; k < 2; k++) {
        sweep.shift[k] = f32_clamp(way[sweep.across[k]] * per, -1.0f, 1.0f);
    }
    sweep.passed_m = per;
    return sweep;
}

/* Light that leaves the previous slice towards (a, b) + shift; full light beyond its edges. */
static f32 arriving_at(const FogForm *form, const FogSweep *sweep, const f32 *slice, u32 a, u32 b)
{
    u32 wide = form->dims[sweep->across[0]], high = form->dims[sweep->across[1]];
    f32 x = (f32)a + sweep->shift[0], y = (f32)b + sweep->shift[1];
    i32 x0 = (i32)floorf(x), y0 = (i32)floorf(y);
    f32 u = x - (f32)x0, v = y - (f32)y0, sum = 0.0f;
    for (i32 k = 0; k < 4; k++) {
        i32 xk = x0 + k % 2, yk = y0 + k / 2;
        f32 weight = (k % 2 != 0 ? u : 1.0f - u) * (k / 2 != 0 ? v : 1.0f - v);
        bool inside = xk >= 0 && yk >= 0 && xk < (i32)wide && yk < (i32)high;
        sum += weight * (inside ? slice[(size_t)yk * wide + (size_t)xk] : 1.0f);
    }
    return sum;
}

static void fill_light(FogForm *form, Vec3 sun)
{
    FogSweep sweep = sweep_of(form, sun);
    const f32 towards[3] = {sun.x, sun.y, sun.z};
    u32 wide = form->dims[sweep.across[0]], high = form->dims[sweep.across[1]];
    u32 deep = form->dims[sweep.axis];
    size_t slice = (size_t)wide * high;
    f32 *before = form->arriving, *after = form->arriving + slice;
    for (size_t i = 0; i < slice; i++) {
        before[i] = 1.0f;
    }
    for (u32 s = 0; s < deep; s++) {
        u32 at = towards[sweep.axis] > 0.0f ? deep - 1 - s : s;
        for (u32 b = 0; b < high; b++) {
            for (u32 a = 0; a < wide; a++) {
                size_t i = (size_t)at * sweep.stride[sweep.axis] +
                           (size_t)a * sweep.stride[sweep.across[0]] +
                           (size_t)b * sweep.stride[sweep.across[1]];
                f32 in = s > 0 ? arriving_at(form, &sweep, before, a, b) : 1.0f;
                f32 half = expf(-0.5f * form->thickness[i] * sweep.passed_m);
                form->texels[i].light = to_texel(in * half);
                after[(size_t)b * wide + a] = in * half * half;
            }
        }
        f32 *swap = before;
        before = after;
        after = swap;
    }
}

bool fog_form_fill(FogForm *form, const ShownGrid *shown, const ShownGrid *dye,
                   const Appearance *appearance, Vec3 sun, u32 side_max)
{
    const Grid *grid = &shown->grid;
    u32 longest = u32_max(u32_max(grid->dims[0], grid->dims[1]), grid->dims[2]);
    u32 step = (longest + side_max - 1) / side_max;
    for (u32 k = 0; k < 3; k++) {
        form->dims[k] = (grid->dims[k] + step - 1) / step;
    }
    size_t texels = (size_t)form->dims[0] * form->dims[1] * form->dims[2];
    size_t slice = texels / u32_min(u32_min(form->dims[0], form->dims[1]), form->dims[2]);
    form->dyed = dye != NULL && dye->grid.values != NULL && shown->channels > 1 &&
                 dye->channels > 1 && memcmp(dye->grid.dims, grid->dims, sizeof grid->dims) == 0;
    if (!form_reserve(form, texels, slice)) {
        return false;
    }
    form->low = vec3_add_scaled(grid->origin, -0.5f, grid->spacing);
    form->spacing = vec3_scale(grid->spacing, (f32)step);
    fill_densities(form, shown, form->dyed ? dye : NULL, appearance, step);
    if (form->first[0] > form->last[0]) {
        form->densest = 0.0f;
    } else {
        fill_light(form, vec3_normalize_or(sun, vec3(0.0f, 1.0f, 0.0f)));
    }
    return true;
}

void fog_form_finish(FogForm *form)
{
    free(form->texels);
    free(form->dyes);
    free(form->thickness);
    free(form->arriving);
    memset(form, 0, sizeof *form);
}
