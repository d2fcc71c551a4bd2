/*
 * draw_soft.h: POINTS entities that are soft bodies, as two-sided surfaces with smooth normals and
 * tubes; and GRID2 entities, as height surfaces.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_SOFT_H
#define PLENUM_CLIENT_VIEW_DRAW_SOFT_H

#include "client/view/shader.h"

typedef struct DrawSoft DrawSoft;

/* NULL with an error. `chunks`: SHADER_* bits of all programs. */
DrawSoft *draw_soft_create(u32 chunks, ErrorText *error);
void draw_soft_destroy(DrawSoft *draw); /* NULL is fine */
/* Computes vertices and normals from the picture's points. */
void draw_soft_gather(DrawSoft *draw, const Picture *picture);
void draw_soft_cast(DrawSoft *draw, const Mat4 *to_clip);
void draw_soft_show(DrawSoft *draw);

#endif
