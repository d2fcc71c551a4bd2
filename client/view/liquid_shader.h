/*
 * liquid_shader.h: the shaders of draw_liquid.c, one for each of its passes.
 * Layer: client/view, private.
 */
#ifndef PLENUM_CLIENT_VIEW_LIQUID_SHADER_H
#define PLENUM_CLIENT_VIEW_LIQUID_SHADER_H

#include "client/view/shader.h"

/* Passes in the order in which they are drawn. */
typedef enum LiquidPass {
    LIQUID_DEPTH,     /* balls: the nearest depth, m along the view */
    LIQUID_SMOOTH,    /* one direction of the filter */
    LIQUID_NORMAL,    /* normals from depths */
    LIQUID_THICKNESS, /* balls: sums of the volume along each ray */
    LIQUID_SURFACE,   /* the picture */
    LIQUID_SPREAD,    /* the picture, if it was drawn at reduced resolution */
    LIQUID_PASS_COUNT
} LiquidPass;

enum { /* texture units */
    LIQUID_UNIT_DEPTH = FREE_UNIT,
    LIQUID_UNIT_FORM,
    LIQUID_UNIT_SUMS,
    LIQUID_UNIT_COLORS,
    LIQUID_UNIT_SCENE,
    LIQUID_UNIT_SCENE_DEPTH,
};

typedef struct LiquidShader {
    GLuint program;
    GLint guard; /* vec2: share of the buffers that the window covers */
    GLint lens;  /* vec2: depth of the window = lens.x + lens.y / distance, both -1..1 */
    GLint
        reach; /* vec4: half width of the filter in texels at 1 m, depth range (m), samples, and how
                   many texels each may stand for */
    GLint way; /* ivec2: its direction */
    GLint texel;  /* vec2: 1 / size of the target */
    GLint dive;   /* 1 for an eye within the liquid, else 0 */
    GLint zoom;   /* vec2: the window's coordinates per the target's */
    GLint grow;   /* of the radii of balls */
    GLint weight; /* points for which each counts */
    GLint size;   /* m, mean radius of points */
} LiquidShader;

/* 0 or a negative Error; those compiled stay in `shaders`. */
int liquid_shaders_init(LiquidShader shaders[LIQUID_PASS_COUNT], u32 chunks, ErrorText *error);
void liquid_shaders_finish(LiquidShader shaders[LIQUID_PASS_COUNT]);

#endif
