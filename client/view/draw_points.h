/*
 * draw_points.h: POINTS entities whose points are balls (SHAPE, SPRITES, clouds, and liquids on
 * request), each drawn as a lit disc facing the eye, and grains (GRAINS): many small balls, each of
 * its own tone, for which the depth maps are sampled once each. All cast shadows.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_POINTS_H
#define PLENUM_CLIENT_VIEW_DRAW_POINTS_H

#include "client/view/ball_cast.h"

typedef struct DrawPoints DrawPoints;

/* NULL with an error. `chunks`: SHADER_* bits of all programs. */
DrawPoints *draw_points_create(u32 chunks, ErrorText *error);
void draw_points_destroy(DrawPoints *draw); /* NULL is fine */
void draw_points_gather(DrawPoints *draw, const Picture *picture);
void draw_points_cast(DrawPoints *draw, const BallCast *cast, const Mat4 *to_clip);
void draw_points_show(DrawPoints *draw);

#endif
