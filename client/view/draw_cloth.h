/*
 * draw_cloth.h: POINTS entities that are a regular grid: a two-sided surface with smooth normals.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_CLOTH_H
#define PLENUM_CLIENT_VIEW_DRAW_CLOTH_H

#include "client/view/shader.h"

typedef struct DrawCloth DrawCloth;

DrawCloth *draw_cloth_create(u32 chunks, ErrorText *error);
void draw_cloth_destroy(DrawCloth *draw); /* NULL is fine */
/* Takes over the picture's points and computes normals. */
void draw_cloth_gather(DrawCloth *draw, const Picture *picture);
void draw_cloth_cast(DrawCloth *draw, const Mat4 *to_clip);
void draw_cloth_show(DrawCloth *draw);

#endif
