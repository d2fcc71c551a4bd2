/*
 * stiff.h: bodies solved as a whole: shared declarations of stiff.c (conjugate gradients, material)
 * and skin.c (edges and gas of balloons).
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_STIFF_H
#define PLENUM_SERVER_PHYSICS_SOFT_STIFF_H

#include "server/physics/soft/soft_internal.h"
#include "shared/math/simd.h"

/* A vector of a particle, padded to four. */
typedef struct StiffVector {
    f32 at[4];
} __attribute__((aligned(16))) StiffVector;

/* Data of one particle. */
typedef struct StiffPoint {
    StiffVector direction, image; /* p, A p */
    StiffVector residual, change; /* r; Δv, m/s */
    f32 own;                      /* N/m, of the diagonal of K */
    f32 mass;                     /* kg; 0: pinned */
    f32 weight;                   /* 1 / (mass + h² own), of the preconditioner */
    f32 spare;
} StiffPoint;

/* Eight vectors, transposed: a register a component. */
SIMD_INLINE Vec3x8 stiff_gather(const StiffVector *at, const u32 point[SIMD_LANES])
{
    enum {
        STRIDE = sizeof(StiffPoint) / sizeof(StiffVector)
    };
    f32x8 row[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        row[k] = f32x8_load_halves(at[point[k] * STRIDE].at, at[point[k + 4] * STRIDE].at);
    }
    f32x8_transpose_halves(row);
    return (Vec3x8){row[0], row[1], row[2]};
}

/* Reads all before writing any, as lanes may repeat. */
SIMD_INLINE void stiff_scatter(StiffVector *at, const u32 point[SIMD_LANES], Vec3x8 add)
{
    enum {
        STRIDE = sizeof(StiffPoint) / sizeof(StiffVector)
    };
    f32x8 row[4] = {add.x, add.y, add.z, f32x8_set(0.0f)};
    f32x8_transpose_halves(row);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        row[k] += f32x8_load_halves(at[point[k] * STRIDE].at, at[point[k + 4] * STRIDE].at);
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        f32x8_store_halves(at[point[k] * STRIDE].at, at[point[k + 4] * STRIDE].at, row[k]);
    }
}

/* ---- skin.c: closed surfaces of springs with a gas in them ---- */

typedef struct Skin Skin;

/* Does this body have a skin? */
bool skin_is(const Soft *soft, const SoftBody *body);
/* Is this constraint of a skin's body one of its edges? */
bool skin_has(const SoftConstraint *constraint);
/* State of the gas in a step. */
typedef struct SkinGas {
    f64 volume;   /* m³, at the evaluated positions */
    f64 pressure; /* Pa there */
    f64 curve;    /* −Δp/ΔV from there on, Pa/m³ */
} SkinGas;

/* NULL: out of memory. points: [body->count], to whose `own` the edges' stiffness is added;
 * limit: largest weight over compliance, 1/s². */
Skin *skin_create(const Soft *soft, const SoftBody *body, StiffPoint *points, f32 *limit);
void skin_destroy(Skin *skin);
u64 skin_memory(const Skin *skin);
typedef struct SkinStep {
    f32 h;
    f32 stiffer; /* factor on the stiffness of the compliances */
    f64 amount;  /* J, P V of the gas */
    f64 taken;   /* m³, volume removed by later stages of the step */
    bool bulges; /* K includes the gas's stiffness by rotation and growth of the surface; without
                    tension there is no minimum */
} SkinStep;

/* Pa, gauge pressure of the gas at a volume. */
f64 skin_pressure(const Skin *skin, const SkinStep *step, f64 volume);
/* Adds h f of edges and gas at `direction` to the residual. gradient: [body->count] m². */
SkinGas skin_forces(Skin *skin, StiffPoint *points, u32 count, const SkinStep *step,
                    Vec3 *gradient);
/* Preconditioner: the residual of a point times its inverse diagonal block. */
Vec3 skin_ease(const Skin *skin, u32 point, Vec3 residual);
/* image += h² K direction */
void skin_image(const Skin *skin, StiffPoint *points, u32 count, const SkinGas *gas, f32 h,
                const Vec3 *gradient);

#endif
