/*
 * ball_cast.h: shadows of balls: discs that face the light, drawn into depth maps.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_BALL_CAST_H
#define PLENUM_CLIENT_VIEW_BALL_CAST_H

#include "client/view/shader.h"

typedef struct BallCast {
    GLuint program, vao;
    GLint to_clip;
} BallCast;

/* 0, or a negative Error if the shader does not compile. */
int ball_cast_init(BallCast *cast, ErrorText *error);
void ball_cast_finish(BallCast *cast);
/* Draws `count` balls of a buffer into the depth map that is bound: each has its centre and radius
 * (four f32) at `offset` bytes, the next `stride` bytes later. */
void ball_cast_show(const BallCast *cast, const Mat4 *to_clip, GLuint buffer, size_t offset,
                    u32 stride, u32 count);

#endif
