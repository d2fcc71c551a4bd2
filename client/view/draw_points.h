/*
 * draw_points.h: POINTS entities without a surface (appearance_is_balls): each point is a ball,
 * drawn as a lit disc facing the eye.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_POINTS_H
#define PLENUM_CLIENT_VIEW_DRAW_POINTS_H

#include "client/view/shader.h"

typedef struct DrawPoints DrawPoints;

DrawPoints *draw_points_create(u32 chunks, ErrorText *error);
void draw_points_destroy(DrawPoints *draw); /* NULL is fine */
void draw_points_gather(DrawPoints *draw, const Picture *picture);
void draw_points_show(DrawPoints *draw);

#endif
