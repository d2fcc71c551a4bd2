/*
 * draw_fog.h: GRID3 entities: non-empty voxels as soft discs facing the eye, with opacity from
 * density and the colour's alpha, drawn back to front. Colours change from the first to the second
 * with channel 1.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_FOG_H
#define PLENUM_CLIENT_VIEW_DRAW_FOG_H

#include "client/view/shader.h"

typedef struct DrawFog DrawFog;

DrawFog *draw_fog_create(ErrorText *error);
void draw_fog_destroy(DrawFog *draw); /* NULL is fine */
void draw_fog_gather(DrawFog *draw, const Picture *picture);
/* Call after all opaque drawing, including the sky. */
void draw_fog_show(DrawFog *draw);

#endif
