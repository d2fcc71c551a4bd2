/*
 * draw_liquid.h: POINTS entities of appearance LIQUID as one smooth surface, in screen space (van
 * der Laan, Green, Sainz 2009): depths of balls, smoothed by a narrow-range filter (Truong, Yuksel
 * 2018), give normals; the volume along a ray dims the background by Beer's law. It refracts the
 * scene behind, mirrors the sky and is white with foam where it is mixed with air. CPU renderers
 * work at half the resolution, thickness at half of that.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_LIQUID_H
#define PLENUM_CLIENT_VIEW_DRAW_LIQUID_H

#include "client/view/ball_cast.h"

typedef struct DrawLiquid DrawLiquid;

/* coarse: at half the resolution, for CPU renderers. */
DrawLiquid *draw_liquid_create(u32 chunks, bool coarse, ErrorText *error);
void draw_liquid_destroy(DrawLiquid *draw); /* NULL is fine */
void draw_liquid_gather(DrawLiquid *draw, const Picture *picture, const FrameUniforms *frame);
/* Shadows of liquids that are hardly transparent. */
void draw_liquid_cast(DrawLiquid *draw, const BallCast *cast, const Mat4 *to_clip);
/* True if there is something to show, for which `surface_copy` is needed. */
bool draw_liquid_wanted(const DrawLiquid *draw);
/* Over opaque objects and the sky, whose copy the surface has. Binds the picture again. */
void draw_liquid_show(DrawLiquid *draw, const Surface *surface, const FrameUniforms *frame);

#endif
