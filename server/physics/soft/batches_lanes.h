/*
 * batches_lanes.h: eight points of a batch, gathered and scattered as vectors of four (reason:
 * batches.c): vector k of four holds lane k in its low half and lane k + 4 in its high one.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_BATCHES_LANES_H
#define PLENUM_SERVER_PHYSICS_SOFT_BATCHES_LANES_H

#include "server/physics/soft/batches.h"
#include "shared/math/simd.h"

/* Addresses of the points of eight lanes. */
typedef struct Lanes {
    SoftPoint *at[SIMD_LANES];
} Lanes;

/* Gathered values: m and 1/kg, m/s. */
typedef struct Gathered {
    f32x8 position[4], velocity[4];
} Gathered;

/* The particles of eight lanes. */
SIMD_INLINE Lanes lanes_u16(SoftPoint *points, const u16 point[SIMD_LANES])
{
    Lanes lanes;
#pragma GCC unroll 8
    for (int k = 0; k < SIMD_LANES; k++) {
        lanes.at[k] = batch_point(points, point[k]);
    }
    return lanes;
}

/* Byte offsets from the first point, which avoids multiplications. */
SIMD_INLINE Lanes lanes_bytes(SoftPoint *points, const u32 at[SIMD_LANES])
{
    Lanes lanes;
#pragma GCC unroll 8
    for (int k = 0; k < SIMD_LANES; k++) {
        lanes.at[k] = (SoftPoint *)(void *)((u8 *)points + at[k]);
    }
    return lanes;
}

/* Velocities of lanes k and k + 4. */
SIMD_INLINE f32x8 lanes_velocity(const Lanes *lanes, int k)
{
    return f32x8_load_halves(&lanes->at[k]->velocity.x, &lanes->at[k + 4]->velocity.x);
}

/* Positions with inverse masses, and velocities: lanes k and k + 4 in each register. */
SIMD_INLINE void lanes_gather(Lanes lanes, Gathered *of)
{
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        of->position[k] = f32x8_load_halves(&lanes.at[k]->position.x, &lanes.at[k + 4]->position.x);
        of->velocity[k] = lanes_velocity(&lanes, k);
    }
}

/* Element 3 of eight vectors of four, two in each vector as f32x8_transpose_halves has them. */
SIMD_INLINE f32x8 lanes_fourths(const f32x8 m[4])
{
    f32x8 a = __builtin_shufflevector(m[0], m[1], 3, 11, 3, 11, 7, 15, 7, 15);
    f32x8 b = __builtin_shufflevector(m[2], m[3], 3, 11, 3, 11, 7, 15, 7, 15);
    return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
}

/* a with element 3 of each half from b. */
SIMD_INLINE f32x8 lanes_with_fourth(f32x8 a, f32x8 b)
{
    return __builtin_shufflevector(a, b, 0, 1, 2, 11, 4, 5, 6, 15);
}

/* Transposes eight vectors of four to a Vec3x8, and returns their fourth elements. */
SIMD_INLINE Vec3x8 lanes_vector(const f32x8 fours[4], f32x8 *fourth)
{
    f32x8 row[4] = {fours[0], fours[1], fours[2], fours[3]};
    f32x8_transpose_halves(row);
    *fourth = row[3];
    return (Vec3x8){row[0], row[1], row[2]};
}

/* From a to b at the end of a step of h s, and the inverse masses of b. */
SIMD_INLINE Vec3x8 lanes_edge(const Gathered *a, const Gathered *b, f32 h, f32x8 *weight)
{
    f32x8 row[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        f32x8 d = (b->position[k] - a->position[k]) + h * (b->velocity[k] - a->velocity[k]);
        row[k] = lanes_with_fourth(d, b->position[k]);
    }
    return lanes_vector(row, weight);
}

/* Stores velocities as vectors of four. Without `all` pinned points are not written: other
 * threads read them. */
SIMD_INLINE void lanes_store(Lanes lanes, const f32x8 row[4], bool all)
{
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        SoftPoint *a = lanes.at[k], *b = lanes.at[k + 4];
        if (all) {
            f32x8_store_halves(&a->velocity.x, &b->velocity.x, row[k]);
            continue;
        }
        if (a->inverse_mass > 0.0f) {
            *(f32x4 *)(void *)&a->velocity = __builtin_shufflevector(row[k], row[k], 0, 1, 2, 3);
        }
        if (b->inverse_mass > 0.0f) {
            *(f32x4 *)(void *)&b->velocity = __builtin_shufflevector(row[k], row[k], 4, 5, 6, 7);
        }
    }
}

/* Adds to velocities. Reads all before writing any, as lanes may repeat. */
SIMD_INLINE void lanes_push(Lanes lanes, Vec3x8 change, bool all)
{
    f32x8 row[4] = {change.x, change.y, change.z, f32x8_set(0.0f)};
    f32x8_transpose_halves(row);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        row[k] += lanes_velocity(&lanes, k);
    }
    lanes_store(lanes, row, all);
}

/* Sets velocities; parameters as for lanes_push. */
SIMD_INLINE void lanes_put(Lanes lanes, Vec3x8 velocity, bool all)
{
    f32x8 row[4] = {velocity.x, velocity.y, velocity.z, f32x8_set(0.0f)};
    f32x8_transpose_halves(row);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        row[k] = lanes_with_fourth(row[k], lanes_velocity(&lanes, k));
    }
    lanes_store(lanes, row, all);
}

#endif
