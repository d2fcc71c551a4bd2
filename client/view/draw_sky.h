/*
 * draw_sky.h: the sky behind everything: a gradient, haze at the horizon, the sun.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_SKY_H
#define PLENUM_CLIENT_VIEW_DRAW_SKY_H

#include "client/view/shader.h"

typedef struct DrawSky {
    GLuint vao, program;
} DrawSky;

/* 0 or a negative Error. `chunks`: SHADER_* bits of all programs. */
int draw_sky_init(DrawSky *draw, u32 chunks, ErrorText *error);
void draw_sky_finish(DrawSky *draw);
/* Fills pixels not covered by anything else. */
void draw_sky_show(const DrawSky *draw);

#endif
