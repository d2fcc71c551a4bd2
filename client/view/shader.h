/*
 * shader.h: shader programs and their shared parts: per-frame uniforms and lighting.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_SHADER_H
#define PLENUM_CLIENT_VIEW_SHADER_H

#include "client/view/gl.h"
#include "client/view/mat4.h"

/* std140 layout of the block "Frame" in shader.c. */
typedef struct FrameUniforms {
    Mat4 view_proj;
    Mat4 sun_map;       /* world to texture coordinates and depth of the sun's shadow map */
    Mat4 zenith_map;    /* the same for the map from the zenith */
    f32 eye[4];         /* m; w: 1 / fog distance */
    f32 sun[4];         /* unit, towards it; w: m per texel of the sun's map */
    f32 sun_color[4];   /* w: 1 / texels of the sun's map */
    f32 sky_top[4];     /* w: 1 / extent of the zenith's map in m */
    f32 sky_horizon[4]; /* w: distance at which planes fade, m */
    f32 forward[4];     /* of the camera; w: m per pixel at a distance of 1 m */
    f32 right[4], up[4];
} FrameUniforms;

enum {
    FRAME_BINDING = 0, /* uniform block */
    SUN_UNIT = 0,      /* texture units */
    ZENITH_UNIT = 1,
    FREE_UNIT = 2, /* this and later ones: each drawer's own */
};

/* Shared chunks prepended to a program's stages. */
typedef enum ShaderChunks {
    SHADER_PLAIN = 0,
    SHADER_LIT = 1,  /* the fragment stage may call lit() and pattern() */
    SHADER_LEAN = 2, /* with fewer shadow samples, for CPU rendering */
    SHADER_TONE = 4, /* the vertex stage may call tone(); the fragment stage of LIT may anyway */
    SHADER_LIT_VERTEX = 8, /* the vertex stage may call what SHADER_LIT offers */
} ShaderChunks;

/* Compiles and links; 0 with the compiler's message in *error on failure. */
GLuint shader_create(const char *name, u32 chunks, const char *vertex, const char *fragment,
                     ErrorText *error);

#endif
