/*
 * near8.h: eight neighbours of an item at a time.
 * Layer: server/physics/liquid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_LIQUID_NEAR8_H
#define PLENUM_SERVER_PHYSICS_LIQUID_NEAR8_H

#include "server/physics/liquid/kernel.h"
#include "server/physics/liquid/liquid_internal.h"

SIMD_INLINE void gather_fours(const Four *from, const u32 *item, f32x8 out[4])
{
    for (u32 k = 0; k < 4; k++) {
        out[k] = f32x8_load_halves(&from[item[k]].x, &from[item[k + 4]].x);
    }
    f32x8_transpose_halves(out);
}

SIMD_INLINE f32 sum_lanes(f32x8 v)
{
    return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]));
}

SIMD_INLINE Vec3 sum_vectors(Vec3x8 v)
{
    return vec3(sum_lanes(v.x), sum_lanes(v.y), sum_lanes(v.z));
}

/* Eight neighbours of an item. */
typedef struct Near8 {
    Vec3x8 off; /* m, from the neighbour to the item */
    f32x8 r2;   /* m² */
    f32x8 rest; /* of the kernel */
    f32x8 over; /* 1/m², slope of the kernel over r: ∇W = over · off */
    f32x8 w;    /* fourth number of its place */
} Near8;

/* What the kernel needs of the spacing. */
typedef struct Kernel {
    f32 per_reach2, scale;
} Kernel;

static inline Kernel kernel_of(const Liquid *liquid)
{
    f32 reach = KERNEL_REACH * liquid->def.spacing;
    f32 per = 1.0f / (reach * reach);
    return (Kernel){per, -12.0f * KERNEL_SUM * KERNEL_PEAK * per};
}

SIMD_INLINE Near8 near_of(const Liquid *liquid, const Four *at, const u32 *item, Kernel kernel)
{
    f32x8 place[4];
    gather_fours(liquid->place, item, place);
    Near8 n = {.off = {at->x - place[0], at->y - place[1], at->z - place[2]}, .w = place[3]};
    n.r2 = vec3x8_dot(n.off, n.off);
    n.rest = kernel_rest(n.r2, kernel.per_reach2);
    n.over = kernel_over(n.rest, kernel.scale);
    return n;
}

/* Lists lie far apart: the next one is fetched while this one is worked on. */
static inline const u32 *near_list(const Liquid *liquid, u32 i)
{
    const u32 *list = &liquid->near[(size_t)i * LIQUID_NEIGHBOURS_MAX];
    __builtin_prefetch(list + 2 * LIQUID_NEIGHBOURS_MAX);
    __builtin_prefetch(list + 2 * LIQUID_NEIGHBOURS_MAX + 16);
    return list;
}

static inline Vec3 vec3_of(const Four *f)
{
    return vec3(f->x, f->y, f->z);
}

#endif
