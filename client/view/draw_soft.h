/*
 * draw_soft.h: POINTS entities that are soft bodies: two-sided surfaces with smooth normals, tubes;
 * and GRID2 entities, surfaces of heights.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_SOFT_H
#define PLENUM_CLIENT_VIEW_DRAW_SOFT_H

#include "client/view/shader.h"

typedef struct DrawSoft DrawSoft;

DrawSoft *draw_soft_create(u32 chunks, ErrorText *error);
void draw_soft_destroy(DrawSoft *draw); /* NULL is fine */
/* Takes over the picture's points and computes normals. */
void draw_soft_gather(DrawSoft *draw, const Picture *picture);
void draw_soft_cast(DrawSoft *draw, const Mat4 *to_clip);
void draw_soft_show(DrawSoft *draw);

#endif
