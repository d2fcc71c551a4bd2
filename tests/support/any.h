/*
 * any.h: seeded random vectors, rotations and shapes for tests of geometry. A seed gives the same
 * sequence with every compiler.
 */
#ifndef PLENUM_TESTS_SUPPORT_ANY_H
#define PLENUM_TESTS_SUPPORT_ANY_H

#include "shared/geometry/shape.h"
#include "shared/math/random.h"

typedef struct Any {
    u64 seed, counter;
} Any;

static inline u32 any_below(Any *any, u32 n)
{
    return (u32)((random_u64(any->seed, any->counter++) >> 33) % n);
}
static inline f32 any_between(Any *any, f32 low, f32 high)
{
    return random_range(any->seed, any->counter++, low, high);
}
static inline Vec3 any_vec(Any *any, f32 low, f32 high)
{
    f32 x = any_between(any, low, high);
    f32 y = any_between(any, low, high);
    f32 z = any_between(any, low, high);
    return vec3(x, y, z);
}
static inline Vec3 any_direction(Any *any)
{
    Vec3 v;
    do {
        v = any_vec(any, -1.0f, 1.0f);
    } while (vec3_length_squared(v) > 1.0f || vec3_length_squared(v) < 0.01f);
    return vec3_normalize_or(v, vec3(1.0f, 0.0f, 0.0f));
}
static inline Quat any_rotation(Any *any)
{
    Vec3 v = any_vec(any, -1.0f, 1.0f);
    f32 w = any_between(any, -1.0f, 1.0f);
    Quat q = {w, v.x, v.y, v.z};
    return quat_normalize(q);
}
/* A sphere, box or capsule (kinds = 3), or also a cylinder or cone (5). */
static inline Shape any_shape(Any *any, u32 kinds, f32 low, f32 high)
{
    static const ShapeKind table[] = {SHAPE_SPHERE, SHAPE_BOX, SHAPE_CAPSULE, SHAPE_CYLINDER,
                                      SHAPE_CONE};
    Shape shape = {.kind = table[any_below(any, kinds)]};
    shape.radius = any_between(any, low, high);
    shape.half_height = any_between(any, low, high);
    shape.half = any_vec(any, low, high);
    return shape;
}

#endif
