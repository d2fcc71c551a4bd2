/*
 * wide.h: eight bodies side by side for the solvers of contacts and joints: their states are
 * gathered as two vectors each and transposed.
 * Layer: server/physics/rigid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_WIDE_H
#define PLENUM_SERVER_PHYSICS_RIGID_WIDE_H

#include "server/physics/rigid/body.h"

/* Velocities of the bodies of one side of a row. */
typedef struct Side {
    Vec3x8 velocity, spin;
    f32x8 mass; /* inverse */
    f32x8 rest; /* what else the gathered words hold */
} Side;

typedef struct Motion {
    Vec3x8 shift, turn;
} Motion;

SIMD_INLINE Side side_gather(const BodyState *states, const u32 slots[SIMD_LANES])
{
    f32x8 m[8];
    for (u32 i = 0; i < SIMD_LANES; i++) {
        m[i] = f32x8_load((const f32 *)&states[slots[i]]);
    }
    f32x8_transpose(m);
    return (Side){{m[0], m[1], m[2]}, {m[4], m[5], m[6]}, m[3], m[7]};
}

/* Bodies that no impulse moves are not written: they may be shared between threads. */
SIMD_INLINE void side_scatter(BodyState *states, const u32 slots[SIMD_LANES], const Side *side)
{
    f32x8 m[8] = {side->velocity.x, side->velocity.y, side->velocity.z, side->mass,
                  side->spin.x,     side->spin.y,     side->spin.z,     side->rest};
    i32x8 moves = side->mass > 0.0f;
    f32x8_transpose(m);
    for (u32 i = 0; i < SIMD_LANES; i++) {
        if (moves[i]) {
            f32x8_store((f32 *)&states[slots[i]], m[i]);
        }
    }
}

SIMD_INLINE Motion motion_gather(const BodyState *states, const u32 slots[SIMD_LANES])
{
    f32x8 m[8];
    for (u32 i = 0; i < SIMD_LANES; i++) {
        m[i] = f32x8_load(&states[slots[i]].shift.x);
    }
    f32x8_transpose(m);
    return (Motion){{m[0], m[1], m[2]}, {m[4], m[5], m[6]}};
}

#endif
