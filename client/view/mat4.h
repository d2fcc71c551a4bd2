/*
 * mat4.h: 4×4 matrices for projections, column-major as in OpenGL.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_MAT4_H
#define PLENUM_CLIENT_VIEW_MAT4_H

#include "shared/math/vec.h"

typedef struct Vec4 {
    f32 x, y, z, w;
} Vec4;

typedef struct Mat4 {
    f32 m[16]; /* m[4 · column + row] */
} Mat4;

/* a b: applies b first. */
static inline Mat4 mat4_mul(Mat4 a, Mat4 b)
{
    Mat4 r;
    for (u32 c = 0; c < 4; c++) {
        for (u32 i = 0; i < 4; i++) {
            f32 sum = 0.0f;
            for (u32 k = 0; k < 4; k++) {
                sum += a.m[4 * k + i] * b.m[4 * c + k];
            }
            r.m[4 * c + i] = sum;
        }
    }
    return r;
}

/* a (p, 1): in clip coordinates, not divided by w. */
static inline Vec4 mat4_transform(const Mat4 *a, Vec3 p)
{
    const f32 *m = a->m;
    Vec4 r = {m[0] * p.x + m[4] * p.y + m[8] * p.z + m[12],
              m[1] * p.x + m[5] * p.y + m[9] * p.z + m[13],
              m[2] * p.x + m[6] * p.y + m[10] * p.z + m[14],
              m[3] * p.x + m[7] * p.y + m[11] * p.z + m[15]};
    return r;
}

/* Rows right, up, back (unit, orthogonal): world to view. */
static inline Mat4 mat4_view(Vec3 eye, Vec3 right, Vec3 up, Vec3 back)
{
    Mat4 r = {{right.x, up.x, back.x, 0.0f, right.y, up.y, back.y, 0.0f, right.z, up.z, back.z,
               0.0f, -vec3_dot(right, eye), -vec3_dot(up, eye), -vec3_dot(back, eye), 1.0f}};
    return r;
}

/* Depth −near..−far to −1..1; tan_half is that of half the vertical angle. */
static inline Mat4 mat4_perspective(f32 tan_half, f32 aspect, f32 near_m, f32 far_m)
{
    Mat4 r = {{0}};
    r.m[0] = 1.0f / (tan_half * aspect);
    r.m[5] = 1.0f / tan_half;
    r.m[10] = -(far_m + near_m) / (far_m - near_m);
    r.m[11] = -1.0f;
    r.m[14] = -2.0f * far_m * near_m / (far_m - near_m);
    return r;
}

/* A box of half sizes (x, y) and depths −near..−far to the unit cube. */
static inline Mat4 mat4_orthographic(f32 half_x, f32 half_y, f32 near_m, f32 far_m)
{
    Mat4 r = {{0}};
    r.m[0] = 1.0f / half_x;
    r.m[5] = 1.0f / half_y;
    r.m[10] = -2.0f / (far_m - near_m);
    r.m[14] = -(far_m + near_m) / (far_m - near_m);
    r.m[15] = 1.0f;
    return r;
}

#endif
