/*
 * height_form.h: heights on a grid to the vertices and triangles of a surface with smooth normals.
 * No OpenGL.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_HEIGHT_FORM_H
#define PLENUM_CLIENT_VIEW_HEIGHT_FORM_H

#include "client/view/soft_form.h"

/* A vertex a cell; as many indices as two triangles between each four cells need. */
static inline u32 height_form_indices_count(const FieldDesc *field)
{
    u32 columns = field->dims[0], rows = field->dims[1];
    return columns >= 2 && rows >= 2 ? 6 * (columns - 1) * (rows - 1) : 0;
}
/* Counter-clockwise from above, cut as grid_ray_heights cuts them: out[height_form_indices_count],
 * each with `first_vertex` added. */
void height_form_indices(const FieldDesc *field, u32 first_vertex, u32 *out);
/* Where each vertex lies in a pattern: metres along x and z. */
void height_form_cells(const FieldDesc *field, Vec3 *cells);
/* Where it is now, with the normals that differences of heights give. */
void height_form_fill(const Grid *grid, SoftVertex *out);

#endif
