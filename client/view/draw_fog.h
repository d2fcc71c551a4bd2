/*
 * draw_fog.h: GRID3 entities as ray-marched volumes: their density absorbs the light behind, is lit
 * by the sun through the fog in between and by the sky, and glows where it is hot. Colours change
 * from the first to the second with channel 1. In windows CPU renderers march at half the
 * resolution.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_FOG_H
#define PLENUM_CLIENT_VIEW_DRAW_FOG_H

#include "client/view/shader.h"

typedef struct DrawFog DrawFog;

/* coarse: at half the resolution with fewer steps, for CPU renderers. */
DrawFog *draw_fog_create(u32 chunks, bool coarse, ErrorText *error);
void draw_fog_destroy(DrawFog *draw); /* NULL is fine */
void draw_fog_gather(DrawFog *draw, const Picture *picture);
/* True if there is something to show, for which `surface_copy` is needed. */
bool draw_fog_wanted(const DrawFog *draw);
/* Call after all opaque drawing, including the sky; the surface has a copy of its depths. Binds
 * the picture again. */
void draw_fog_show(DrawFog *draw, const Surface *surface);

#endif
