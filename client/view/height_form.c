/* height_form.c: see height_form.h. */
#include "client/view/height_form.h"

void height_form_indices(const FieldDesc *field, u32 first_vertex, u32 *out)
{
    u32 columns = field->dims[0];
    for (u32 row = 0; row + 1 < field->dims[1]; row++) {
        for (u32 column = 0; column + 1 < columns; column++) {
            u32 a = first_vertex + row * columns + column, b = a + 1, c = a + columns, d = c + 1;
            const u32 two[6] = {a, c, b, d, b, c};
            for (u32 k = 0; k < 6; k++) {
                *out++ = two[k];
            }
        }
    }
}

void height_form_cells(const FieldDesc *field, Vec3 *cells)
{
    for (u32 row = 0; row < field->dims[1]; row++) {
        for (u32 column = 0; column < field->dims[0]; column++) {
            *cells++ = vec3(field->origin.x + (f32)column * field->spacing.x,
                            field->origin.z + (f32)row * field->spacing.z, 0.0f);
        }
    }
}

void height_form_fill(const Grid *grid, SoftVertex *out)
{
    u32 columns = grid->dims[0], rows = grid->dims[2];
    for (u32 row = 0; row < rows; row++) {
        const f32 *here = grid->values + (size_t)row * columns;
        u32 back = row > 0, ahead = row + 1 < rows;
        const f32 *before = here - (size_t)back * columns, *after = here + (size_t)ahead * columns;
        f32 deep = (f32)u32_max(back + ahead, 1) * grid->spacing.z;
        f32 z = grid->origin.z + (f32)row * grid->spacing.z;
        for (u32 x = 0; x < columns; x++) {
            u32 left = x > 0 ? x - 1 : x, right = x + 1 < columns ? x + 1 : x;
            f32 wide = (f32)u32_max(right - left, 1) * grid->spacing.x;
            Vec3 normal =
                vec3((here[left] - here[right]) / wide, 1.0f, (before[x] - after[x]) / deep);
            out->position =
                vec3(grid->origin.x + (f32)x * grid->spacing.x, grid->origin.y + here[x], z);
            out->normal = vec3_normalize_or(normal, vec3(0.0f, 1.0f, 0.0f));
            out++;
        }
    }
}
