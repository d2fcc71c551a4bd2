/* height_form.c: see height_form.h. */
#include "client/view/height_form.h"

static u32 vertices_along(u32 cells, u32 step)
{
    return (cells - 1 + step - 1) / step + 1;
}

HeightForm height_form_of(const FieldDesc *field, u32 side_max)
{
    HeightForm form = {.cells = {field->dims[0], field->dims[1]},
                       .origin = field->origin,
                       .spacing = field->spacing};
    form.step = (u32_max(form.cells[0], form.cells[1]) + side_max - 1) / side_max;
    form.columns = vertices_along(form.cells[0], form.step);
    form.rows = vertices_along(form.cells[1], form.step);
    return form;
}

void height_form_indices(const HeightForm *form, u32 first_vertex, u32 *out)
{
    for (u32 row = 0; row + 1 < form->rows; row++) {
        for (u32 column = 0; column + 1 < form->columns; column++) {
            u32 a = first_vertex + row * form->columns + column, b = a + 1;
            u32 c = a + form->columns, d = c + 1;
            const u32 two[6] = {a, c, b, d, b, c};
            for (u32 k = 0; k < 6; k++) {
                *out++ = two[k];
            }
        }
    }
}

/* The grid cell of a row or column of vertices. */
static u32 cell_of(const HeightForm *form, u32 axis, u32 vertex)
{
    return u32_min(vertex * form->step, form->cells[axis] - 1);
}

void height_form_cells(const HeightForm *form, Vec3 *cells)
{
    for (u32 row = 0; row < form->rows; row++) {
        f32 z = form->origin.z + (f32)cell_of(form, 1, row) * form->spacing.z;
        for (u32 column = 0; column < form->columns; column++) {
            f32 x = form->origin.x + (f32)cell_of(form, 0, column) * form->spacing.x;
            *cells++ = vec3(x, z, 0.0f);
        }
    }
}

void height_form_fill(const HeightForm *form, const f32 *values, SoftVertex *out)
{
    u32 columns = form->cells[0], rows = form->cells[1];
    for (u32 row = 0; row < form->rows; row++) {
        u32 z = cell_of(form, 1, row), back = z > 0, ahead = z + 1 < rows;
        const f32 *here = values + (size_t)z * columns;
        const f32 *before = here - (size_t)back * columns, *after = here + (size_t)ahead * columns;
        f32 deep = (f32)u32_max(back + ahead, 1) * form->spacing.z;
        for (u32 column = 0; column < form->columns; column++) {
            u32 x = cell_of(form, 0, column), left = x > 0 ? x - 1 : x;
            u32 right = x + 1 < columns ? x + 1 : x;
            f32 wide = (f32)u32_max(right - left, 1) * form->spacing.x;
            Vec3 normal =
                vec3((here[left] - here[right]) / wide, 1.0f, (before[x] - after[x]) / deep);
            out->position =
                vec3(form->origin.x + (f32)x * form->spacing.x, form->origin.y + here[x],
                     form->origin.z + (f32)z * form->spacing.z);
            out->normal = vec3_normalize_or(normal, vec3(0.0f, 1.0f, 0.0f));
            out++;
        }
    }
}
