/*
 * rotation.h: rotations in fixed point, bit-identical on both ends.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_ROTATION_H
#define PLENUM_PROTOCOL_CODEC_ROTATION_H

#include "shared/base/base.h"

enum {
    ROTATION_ONE = 1 << 15, /* of quaternion components */
};

typedef struct Rotation {
    i32 w, x, y, z; /* 1 = ROTATION_ONE */
} Rotation;

/* The square root, rounded down: Newton's method from a power of two above it. */
static inline u32 rotation_root(u32 v)
{
    if (v == 0) {
        return 0;
    }
    u32 k = (33 - (u32)__builtin_clz(v)) / 2;
    u32 r = (u32)(((1ull << k) + (v >> k)) >> 1) + 1;
    r = (r + v / r) >> 1;
    r = (r + v / r) >> 1;
    r = (r + v / r) >> 1;
    return r - ((u64)r * r > v);
}

/* A product of two components back to their scale, rounded. */
static inline i32 rotation_scale(i64 v)
{
    return (i32)((v + (ROTATION_ONE >> 1)) >> 15);
}

/* Normalizes a nearly unit quaternion by one step of Newton's method. */
static inline Rotation rotation_unit(Rotation t)
{
    i64 n = (i64)t.w * t.w + (i64)t.x * t.x + (i64)t.y * t.y + (i64)t.z * t.z;
    i64 f = (3ll * ROTATION_ONE - (n >> 15)) / 2;
    return (Rotation){rotation_scale(t.w * f), rotation_scale(t.x * f), rotation_scale(t.y * f),
                      rotation_scale(t.z * f)};
}

/* The rotation b, followed by a. */
static inline Rotation rotation_mul(Rotation a, Rotation b)
{
    i64 aw = a.w, ax = a.x, ay = a.y, az = a.z;
    Rotation t = {rotation_scale(aw * b.w - ax * b.x - ay * b.y - az * b.z),
                  rotation_scale(aw * b.x + ax * b.w + ay * b.z - az * b.y),
                  rotation_scale(aw * b.y - ax * b.z + ay * b.w + az * b.x),
                  rotation_scale(aw * b.z + ax * b.y - ay * b.x + az * b.w)};
    return rotation_unit(t);
}

/* The shortest rotation from a to b. */
static inline Rotation rotation_between(Rotation a, Rotation b)
{
    Rotation back = {a.w, -a.x, -a.y, -a.z};
    Rotation t = rotation_mul(b, back);
    return t.w < 0 ? (Rotation){-t.w, -t.x, -t.y, -t.z} : t;
}

/* `part` / `whole` of a rotation: its vector scaled, accurate for small rotations. */
static inline Rotation rotation_part(Rotation t, u32 part, u32 whole)
{
    if (part == whole) {
        return t;
    }
    i64 v[3] = {(i64)t.x * part / whole, (i64)t.y * part / whole, (i64)t.z * part / whole};
    for (u32 i = 0; i < 3; i++) {
        if (v[i] > ROTATION_ONE || v[i] < -ROTATION_ONE) {
            return t; /* large rotation, as below; its square may overflow */
        }
    }
    i64 rest = (i64)ROTATION_ONE * ROTATION_ONE - v[0] * v[0] - v[1] * v[1] - v[2] * v[2];
    if (rest <= 0) {
        return t;
    }
    return (Rotation){(i32)rotation_root((u32)rest), (i32)v[0], (i32)v[1], (i32)v[2]};
}

/* Rotates v; integers only, so that all machines agree. */
static inline void rotation_rotate(Rotation t, const i32 v[3], i32 out[3])
{
    i64 x = 2 * ((i64)t.y * v[2] - (i64)t.z * v[1]) >> 15;
    i64 y = 2 * ((i64)t.z * v[0] - (i64)t.x * v[2]) >> 15;
    i64 z = 2 * ((i64)t.x * v[1] - (i64)t.y * v[0]) >> 15;
    out[0] = v[0] + rotation_scale(t.w * x + t.y * z - t.z * y);
    out[1] = v[1] + rotation_scale(t.w * y + t.z * x - t.x * z);
    out[2] = v[2] + rotation_scale(t.w * z + t.x * y - t.y * x);
}

/* Approximate angle, in units of 64: a step of a component of 9 bits is 90. */
static inline u32 rotation_distance(Rotation a, Rotation b)
{
    i32 same = 0, other = 0;
    const i32 d[4] = {a.w - b.w, a.x - b.x, a.y - b.y, a.z - b.z};
    const i32 s[4] = {a.w + b.w, a.x + b.x, a.y + b.y, a.z + b.z};
    for (u32 i = 0; i < 4; i++) {
        same += (i32)i32_magnitude(d[i]);
        other += (i32)i32_magnitude(s[i]);
    }
    return (u32)(same < other ? same : other) / 96;
}

#endif
