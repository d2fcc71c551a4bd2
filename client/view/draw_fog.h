/*
 * draw_fog.h: GRID3 entities: voxels that hold something as soft discs that face the eye, as opaque
 * as what they hold and the colour's alpha, from the farthest to the nearest. Colours go from the
 * first to the second with channel 1.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_FOG_H
#define PLENUM_CLIENT_VIEW_DRAW_FOG_H

#include "client/view/shader.h"

typedef struct DrawFog DrawFog;

DrawFog *draw_fog_create(ErrorText *error);
void draw_fog_destroy(DrawFog *draw); /* NULL is fine */
void draw_fog_gather(DrawFog *draw, const Picture *picture);
/* After all that is not transparent, the sky too. */
void draw_fog_show(DrawFog *draw);

#endif
