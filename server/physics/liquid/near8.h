/*
 * near8.h: eight items at a time, a lane each ("sliced ELLPACK", Kreutzer et al. 2014): a slice is
 * the items 8 s .. 8 s + 7, and row k of its list holds the k-th neighbour of each. Sums of an item
 * stay in its lane, in the order of its list. Lists are filled up with the dummy behind the last
 * item, which is too far for the kernel; lanes behind the last item compute finite nonsense. A row
 * is a cache line: after `predict` it holds the kernel's slope, so that later passes only gather
 * and add.
 * Layer: server/physics/liquid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_LIQUID_NEAR8_H
#define PLENUM_SERVER_PHYSICS_LIQUID_NEAR8_H

#include "server/physics/liquid/kernel.h"
#include "server/physics/liquid/liquid_internal.h"

enum {
    /* Bytes of a list that are asked for ahead: the machine's own foresight ends with each page. A
     * row takes some ten cycles, memory several hundred to answer: with 1024 a dam break of 100 000
     * took 4 % longer, one of 20 000 as long. */
    NEAR_AHEAD = 4096
};

/* The fours of eight items, transposed: a register a component. */
SIMD_INLINE void gather_fours(const Four *from, const u32 *item, f32x8 out[4])
{
    for (u32 k = 0; k < 4; k++) {
        out[k] = f32x8_load_halves(&from[item[k]].x, &from[item[k + 4]].x);
    }
    f32x8_transpose_halves(out);
}

/* The same of a row of a list, which holds items times the size of their fours: an index that costs
 * nothing. */
SIMD_INLINE void gather_pairs(const Four *from, const u32 row[8], f32x8 out[4])
{
    const char *base = (const char *)from;
    __builtin_prefetch((const char *)(const void *)row + NEAR_AHEAD);
    for (u32 k = 0; k < 4; k++) { /* the fours of k and k + 4 */
        out[k] = f32x8_load_halves((const f32 *)(const void *)(base + row[k]),
                                   (const f32 *)(const void *)(base + row[k + 4]));
    }
}

/* gather_pairs, transposed: a register a component. */
SIMD_INLINE void gather_near(const Four *from, const u32 row[8], f32x8 out[4])
{
    gather_pairs(from, row, out);
    f32x8_transpose_halves(out);
}

/* Eight consecutive fours, transposed: a register a component. */
SIMD_INLINE void load_fours(const Four *from, f32x8 out[4])
{
    for (u32 k = 0; k < 4; k++) {
        out[k] = f32x8_load_halves(&from[k].x, &from[k + 4].x);
    }
    f32x8_transpose_halves(out);
}

/* The reverse of load_fours. */
SIMD_INLINE void store_fours(Four *to, f32x8 x, f32x8 y, f32x8 z, f32x8 w)
{
    f32x8 m[4] = {x, y, z, w};
    f32x8_transpose_halves(m);
    for (u32 k = 0; k < 4; k++) {
        f32x8_store_halves(&to[k].x, &to[k + 4].x, m[k]);
    }
}

/* Lanes of the slice at `first` that are items. */
static inline u32 lanes_of(u32 first, u32 end)
{
    return u32_min(end - first, SIMD_LANES);
}

/* Eight pairs: of each lane's item with a neighbour. */
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

/* Constants of the liquid's kernel. */
static inline Kernel kernel_of(const Liquid *liquid)
{
    f32 reach = KERNEL_REACH * liquid->def.spacing;
    f32 per = 1.0f / (reach * reach);
    return (Kernel){per, -12.0f * KERNEL_SUM * KERNEL_PEAK * per};
}

/* Offsets, distances and weights of the neighbours in a row. */
SIMD_INLINE Near8 near_of(const Four *places, const f32x8 at[4], const NearRow *row, Kernel kernel)
{
    f32x8 place[4];
    gather_near(places, row->item, place);
    Near8 n = {.off = {at[0] - place[0], at[1] - place[1], at[2] - place[2]}, .w = place[3]};
    n.r2 = vec3x8_dot(n.off, n.off);
    n.rest = kernel_rest(n.r2, kernel.per_reach2);
    n.over = kernel_over(n.rest, kernel.scale);
    return n;
}

/* The same but for `r2` and `rest`, after `predict`. */
SIMD_INLINE Near8 near_again(const Four *places, const f32x8 at[4], const NearRow *row)
{
    f32x8 place[4];
    gather_near(places, row->item, place);
    return (Near8){.off = {at[0] - place[0], at[1] - place[1], at[2] - place[2]},
                   .w = place[3],
                   .over = f32x8_load(row->over)};
}

/* The list of the slice at item `first`, and its end: lists are contiguous, so that the hardware
 * prefetches them. */
static inline NearRow *near_first(const Liquid *liquid, u32 first)
{
    return &liquid->near[liquid->near_start[first / SIMD_LANES]];
}

/* The rows of eight items lie between near_first and near_end. */
static inline const NearRow *near_end(const Liquid *liquid, u32 first)
{
    return near_first(liquid, first) + liquid->near_rows[first / SIMD_LANES];
}

/* The place of an item's k-th neighbour. */
static inline u32 *near_at(const Liquid *liquid, u32 i, u32 k)
{
    return &near_first(liquid, i)[k].item[i % SIMD_LANES];
}

/* Of a slice: volume / spacing³, 1 / mass (0: grains, which pressure does not move), grains or not,
 * cohesion. */
SIMD_INLINE void traits_of(const Liquid *liquid, u32 first, bool mixed, f32x8 out[4])
{
    if (mixed) {
        load_fours(liquid->trait + first, out);
    } else {
        out[0] = f32x8_set(1.0f);
        out[1] = f32x8_set(1.0f / liquid->factors[0].mass);
        out[2] = f32x8_set(0.0f);
        out[3] = f32x8_set(liquid->factors[0].cohesion);
    }
}

/* Σ P ∇W of a slice, of the fourth numbers P of places. */
SIMD_INLINE Vec3x8 push_of(const Liquid *liquid, u32 first, const f32x8 at[4])
{
    const Four *places = liquid->place;
    Vec3x8 sum = vec3x8_zero();
    const NearRow *end = near_end(liquid, first);
    for (const NearRow *near = near_first(liquid, first); near != end; near++) {
        Near8 n = near_again(places, at, near);
        sum = vec3x8_add_scaled(sum, n.over * n.w, n.off);
    }
    return sum;
}

/* The first three numbers. */
static inline Vec3 vec3_of(const Four *f)
{
    return vec3(f->x, f->y, f->z);
}

#endif
