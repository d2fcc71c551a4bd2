/*
 * water_form.h: a height field of water as a texture: heights, their slopes and foam, from which
 * the shaders take surface, normals and caustics. No OpenGL.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_WATER_FORM_H
#define PLENUM_CLIENT_VIEW_WATER_FORM_H

#include "client/view/picture.h"

typedef struct WaterTexel {
    f32 height;   /* m, above the grid's origin */
    f32 slope[2]; /* along x and z, by central differences */
    f32 foam;     /* [0, 1]: channel 1, and where the surface is steeper than waves can be */
} WaterTexel;

/* Fills texels[cells] from a complete GRID2 of water. */
void water_form_fill(const ShownGrid *shown, WaterTexel *texels);
/* Height of the surface at a position in m, bilinear; false: outside. */
bool water_form_height(const Grid *grid, f32 x, f32 z, f32 *height);

#endif
