/*
 * batches.c: XPBD eight constraints wide, on velocities. A particle is gathered and scattered as
 * two vectors of four (position and inverse mass; velocity): a wider load over a fresh store of a
 * neighbouring batch would stall on store forwarding.
 */
#include "server/physics/soft/batches.h"

#include "server/physics/soft/batches_lanes.h"
#include "server/physics/soft/batches_wide.h"
#include "server/physics/soft/chain.h"
#include "server/physics/soft/constraint.h"

/* Values common to a run's constraints in this step. */
typedef struct Pace {
    f32 h, per_h;
    f32 alpha; /* compliance / h² */
} Pace;

/* Element 3 of each half. */
SIMD_INLINE f32x8 fourth(f32x8 v)
{
    return __builtin_shufflevector(v, v, 3, 3, 3, 3, 7, 7, 7, 7);
}

/* Broadcasts elements i and i + 4 of v over one half each. */
SIMD_INLINE void spread(f32x8 v, f32x8 each[4])
{
    each[0] = __builtin_shufflevector(v, v, 0, 0, 0, 0, 4, 4, 4, 4);
    each[1] = __builtin_shufflevector(v, v, 1, 1, 1, 1, 5, 5, 5, 5);
    each[2] = __builtin_shufflevector(v, v, 2, 2, 2, 2, 6, 6, 6, 6);
    each[3] = __builtin_shufflevector(v, v, 3, 3, 3, 3, 7, 7, 7, 7);
}

/* Eight distance constraints in flight. Vectors of four are paired: constraint k in the low
 * half, k + 4 in the high one. */
typedef struct Stretch {
    f32x8 va[4], vb[4]; /* m/s */
    f32x8 away[4];      /* m, from the first points to the second */
    f32x8 wa[4], wb[4]; /* 1/kg */
    f32x8 square;       /* m² */
    f32x8 weight;       /* 1/kg, sum of both */
    f32x8 step;         /* kg/s, impulse per unit of `away` */
} Stretch;

SIMD_INLINE void stretch_gather(Stretch *of, Lanes a, Lanes b, f32 h)
{
    Gathered first, second;
    f32x8 row[4];
    lanes_gather(a, &first);
    lanes_gather(b, &second);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        of->va[k] = first.velocity[k];
        of->vb[k] = second.velocity[k];
        of->wa[k] = fourth(first.position[k]);
        of->wb[k] = fourth(second.position[k]);
        f32x8 d =
            (second.position[k] - first.position[k]) + h * (second.velocity[k] - first.velocity[k]);
        of->away[k] = lanes_with_fourth(d, f32x8_set(0.0f));
        row[k] = lanes_with_fourth(d, first.position[k]);
    }
    f32x8_transpose_halves(row);
    of->square = row[0] * row[0] + row[1] * row[1] + row[2] * row[2];
    of->weight = row[3] + lanes_fourths(second.position);
}

/* Δλ = −C / (wa + wb + α/h²), with the multiplier at 0 in each step (Macklin et al. 2016, 2019). */
SIMD_INLINE void stretch_solve(Stretch *of, f32x8 low, f32x8 high, Pace pace)
{
    f32x8 length = f32x8_sqrt(of->square);
    f32x8 off = length - f32x8_min(f32x8_max(length, low), high);
    f32x8 step = pace.per_h * off / (length * (of->weight + pace.alpha));
    of->step = f32x8_and((i32x8)(length > 1e-9f) & (i32x8)(of->weight > 0.0f), step);
}

SIMD_INLINE void stretch_scatter(const Stretch *of, Lanes a, Lanes b, bool fixed)
{
    f32x8 each[4];
    spread(of->step, each);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        f32x8 change = of->away[k] * each[k];
        f32x8_store_halves(&a.at[k]->velocity.x, &a.at[k + 4]->velocity.x,
                           of->va[k] + of->wa[k] * change);
        if (!fixed) {
            f32x8_store_halves(&b.at[k]->velocity.x, &b.at[k + 4]->velocity.x,
                               of->vb[k] - of->wb[k] * change);
        }
    }
}

/* Two batches that share no point are interleaved: their loads, square roots and divisions
 * overlap. */
SIMD_INLINE void run_distances(SoftPoint *points, const BatchRun *run, const u8 *batches,
                               bool exact, bool fixed, Pace pace)
{
    const size_t size = exact ? sizeof(BatchDistance) : sizeof(BatchLimits);
    Stretch ring[4];
    for (u32 i = 0; i < run->count + 2; i++) {
        const u8 *at = batches + i * size;
        if (i >= 1 && i <= run->count) {
            const BatchLimits *batch = (const void *)(at - size);
            stretch_solve(&ring[(i - 1) & 3], f32x8_load(batch->low),
                          f32x8_load(exact ? batch->low : batch->high), pace);
        }
        if (i < run->count) {
            const BatchLimits *batch = (const void *)at;
            stretch_gather(&ring[i & 3], lanes_u16(points, batch->point[0]),
                           lanes_u16(points, batch->point[1]), pace.h);
        }
        if (i >= 2) {
            const BatchLimits *batch = (const void *)(at - 2 * size);
            stretch_scatter(&ring[(i - 2) & 3], lanes_u16(points, batch->point[0]),
                            lanes_u16(points, batch->point[1]), fixed);
        }
    }
}

static void run_distance(SoftPoint *points, const BatchRun *run, const void *batches, Pace pace)
{
    if (run->exact && !run->fixed) {
        run_distances(points, run, batches, true, false, pace);
    } else if (run->exact) {
        run_distances(points, run, batches, true, true, pace);
    } else if (!run->fixed) {
        run_distances(points, run, batches, false, false, pace);
    } else {
        run_distances(points, run, batches, false, true, pace);
    }
}

static bool is_hinges(const BatchRun *run)
{
    return constraint_is_hinge(run->kind) && !run->chain;
}

static void run_loose(Soft *soft, const BatchRun *run, const u32 *constraints, f32 h)
{
    for (u32 i = 0; i < run->count; i++) {
        const SoftConstraint *c = &soft->constraints[constraints[i]];
        if (c->kind == CONSTRAINT_NEO_HOOKEAN &&
            stiff_is(soft, soft->matter[c->point[0]].body, h)) {
            continue;
        }
        constraint_project(soft, c, h, NULL);
    }
}

static void run_back(Soft *soft, const BatchRun *run, f32 h, f32 scale)
{
    const void *stream = soft->batches->stream + run->at;
    const u32 *constraints = stream;
    if (!run->loose) {
        wide_run_back(soft->points + run->base, run, stream, h, scale);
    }
    for (u32 i = run->count; run->loose && i-- > 0;) {
        const SoftConstraint *c = &soft->constraints[constraints[i]];
        if (constraint_rigid_hinge(c, scale)) {
            constraint_project(soft, c, h, NULL);
        }
    }
}

void batches_run(Soft *soft, BatchSpan runs, f32 h)
{
    const ConstraintBatches *batches = soft->batches;
    f32 per_h = 1.0f / h;
    u32 hinges = 0;
    for (u32 i = runs.first; i < runs.first + runs.count; i++) {
        const BatchRun *run = &batches->runs[i];
        hinges += is_hinges(run);
        if (run->loose) {
            run_loose(soft, run, (const u32 *)(const void *)(batches->stream + run->at), h);
            continue;
        }
        f32 scale = soft_role_scale(soft, run->role);
        if (run->chain) {
            chain_run(soft->points, batches->stream + run->at, batches->tension, run->count, h,
                      scale * per_h * per_h);
            continue;
        }
        if (run->kind != CONSTRAINT_DISTANCE) {
            wide_run(soft->points + run->base, run, batches->stream + run->at, h,
                     scale * per_h * per_h);
            continue;
        }
        Pace pace = {h, per_h, run->compliance * scale * per_h * per_h};
        run_distance(soft->points + run->base, run, batches->stream + run->at, pace);
    }
    for (u32 i = runs.first + runs.count; hinges > 0; i--) {
        const BatchRun *run = &batches->runs[i - 1];
        f32 scale = soft_role_scale(soft, run->role) * per_h * per_h;
        hinges -= is_hinges(run);
        if (is_hinges(run) && run->compliance * scale < constraint_rigid_limit(run->kind)) {
            run_back(soft, run, h, scale);
        }
    }
}

void batches_serialize(ConstraintBatches *batches, State *state)
{
    if (batches == NULL) {
        return;
    }
    state_bytes(state, batches->tension, batches->tension_count * sizeof *batches->tension);
    const f32 *values = (const f32 *)batches->tension;
    for (u32 i = 0; state->mode == STATE_LOAD && i < batches->tension_count * SIMD_LANES; i++) {
        state->failed = state->failed || !(values[i] >= 0.0f && values[i] <= STATE_VALUE_MAX);
    }
}
