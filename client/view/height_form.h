/*
 * height_form.h: converts a height field to vertices and triangles of a surface with smooth
 * normals. No OpenGL.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_HEIGHT_FORM_H
#define PLENUM_CLIENT_VIEW_HEIGHT_FORM_H

#include "client/view/soft_form.h"

typedef struct HeightForm {
    u32 cells[2];      /* along x and z, of the grid */
    u32 step;          /* cells per vertex; the far edges always have vertices */
    u32 columns, rows; /* of vertices */
    Vec3 origin, spacing;
} HeightForm;

/* Of a GRID2 field, with at most side_max + 1 vertices along a side. */
HeightForm height_form_of(const FieldDesc *field, u32 side_max);
/* Two triangles between each four vertices. */
static inline u32 height_form_index_count(const HeightForm *form)
{
    return 6 * (form->columns - 1) * (form->rows - 1);
}
/* Counter-clockwise from above, split like grid_ray_heights: out[height_form_index_count], each
 * with `first_vertex` added. */
void height_form_indices(const HeightForm *form, u32 first_vertex, u32 *out);
/* Pattern coordinates of each vertex: metres along x and z. */
void height_form_cells(const HeightForm *form, Vec3 *cells);
/* Vertices for the current heights, with normals from central differences: values[cells] -> a
 * vertex per column and row. */
void height_form_fill(const HeightForm *form, const f32 *values, SoftVertex *out);

#endif
