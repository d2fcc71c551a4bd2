/*
 * packs.c: XPBD eight constraints wide, on velocities.
 * A particle is gathered and scattered in fours (position and inverse mass; velocity): a wider load
 * over a fresh store of a neighbouring pack would wait for it.
 */
#include "server/physics/soft/packs.h"

#include "server/physics/soft/chain.h"
#include "server/physics/soft/constraint.h"
#include "server/physics/soft/packs_wide.h"

/* What a run's constraints have in common in this step. */
typedef struct Pace {
    f32 h, per_h;
    f32 alpha; /* compliance / h² */
} Pace;

/* The fourth number of each half of four. */
SIMD_INLINE f32x8 fourth(f32x8 v)
{
    return __builtin_shufflevector(v, v, 3, 3, 3, 3, 7, 7, 7, 7);
}

/* a with the fourth numbers of b. */
SIMD_INLINE f32x8 with_fourth(f32x8 a, f32x8 b)
{
    return __builtin_shufflevector(a, b, 0, 1, 2, 11, 4, 5, 6, 15);
}

/* Numbers i and i + 4 of v over a half each. */
SIMD_INLINE void spread(f32x8 v, f32x8 each[4])
{
    each[0] = __builtin_shufflevector(v, v, 0, 0, 0, 0, 4, 4, 4, 4);
    each[1] = __builtin_shufflevector(v, v, 1, 1, 1, 1, 5, 5, 5, 5);
    each[2] = __builtin_shufflevector(v, v, 2, 2, 2, 2, 6, 6, 6, 6);
    each[3] = __builtin_shufflevector(v, v, 3, 3, 3, 3, 7, 7, 7, 7);
}

/* Eight distances. Δλ = −C / (wa + wb + α/h²), with the multiplier at 0 in each step (Macklin et
 * al. 2016, 2019). Vectors go by halves: constraint k in the low one, k + 4 in the high one. */
SIMD_INLINE void solve_distances(SoftPoint *points, const u16 point[2][SIMD_LANES], f32x8 low,
                                 f32x8 high, bool fixed, Pace pace)
{
    const f32x8 zero = f32x8_set(0.0f);
    f32x8 va[4], vb[4], wa[4], wb[4], away[4], row[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        SoftPoint *a = points + point[0][k], *a4 = points + point[0][k + 4];
        SoftPoint *b = points + point[1][k], *b4 = points + point[1][k + 4];
        f32x8 pa = f32x8_load_halves(&a->position.x, &a4->position.x);
        f32x8 pb = f32x8_load_halves(&b->position.x, &b4->position.x);
        va[k] = f32x8_load_halves(&a->velocity.x, &a4->velocity.x);
        vb[k] = f32x8_load_halves(&b->velocity.x, &b4->velocity.x);
        f32x8 d = (pb - pa) + pace.h * (vb[k] - va[k]);
        wa[k] = fourth(pa);
        wb[k] = fourth(pb);
        away[k] = with_fourth(d, zero);
        row[k] = with_fourth(d, pa + pb);
    }
    f32x8_transpose_halves(row);
    f32x8 length = f32x8_sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2]);
    f32x8 off = length - f32x8_min(f32x8_max(length, low), high);
    f32x8 step = pace.per_h * off / (length * (row[3] + pace.alpha));
    f32x8 each[4];
    spread(f32x8_and((i32x8)(length > 1e-9f) & (i32x8)(row[3] > 0.0f), step), each);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        f32x8 change = away[k] * each[k];
        SoftPoint *a = points + point[0][k], *a4 = points + point[0][k + 4];
        f32x8_store_halves(&a->velocity.x, &a4->velocity.x, va[k] + wa[k] * change);
        if (!fixed) {
            SoftPoint *b = points + point[1][k], *b4 = points + point[1][k + 4];
            f32x8_store_halves(&b->velocity.x, &b4->velocity.x, vb[k] - wb[k] * change);
        }
    }
}

SIMD_INLINE void run_distances(SoftPoint *points, const PackDistance *packs, u32 count, bool fixed,
                               Pace pace)
{
    for (u32 i = 0; i < count; i++) {
        f32x8 rest = f32x8_load(packs[i].low);
        solve_distances(points, packs[i].point, rest, rest, fixed, pace);
    }
}

SIMD_INLINE void run_limits(SoftPoint *points, const PackLimits *packs, u32 count, bool fixed,
                            Pace pace)
{
    for (u32 i = 0; i < count; i++) {
        solve_distances(points, packs[i].point, f32x8_load(packs[i].low), f32x8_load(packs[i].high),
                        fixed, pace);
    }
}

static void run_distance(SoftPoint *points, const PackRun *run, const void *packs, Pace pace)
{
    if (run->exact && !run->fixed) {
        run_distances(points, packs, run->count, false, pace);
    } else if (run->exact) {
        run_distances(points, packs, run->count, true, pace);
    } else if (!run->fixed) {
        run_limits(points, packs, run->count, false, pace);
    } else {
        run_limits(points, packs, run->count, true, pace);
    }
}

static void run_loose(Soft *soft, const PackRun *run, const u32 *constraints, f32 h)
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

void packs_run(Soft *soft, PackSpan runs, f32 h)
{
    const Packs *packs = soft->packs;
    f32 per_h = 1.0f / h;
    for (u32 i = runs.first; i < runs.first + runs.count; i++) {
        const PackRun *run = &packs->runs[i];
        if (run->loose) {
            run_loose(soft, run, (const u32 *)(const void *)(packs->stream + run->at), h);
            continue;
        }
        f32 scale = soft_role_scale(soft, run->role);
        if (run->chain) {
            chain_run(soft->points, packs->stream + run->at, packs->tension, run->count, h,
                      scale * per_h * per_h);
            continue;
        }
        if (run->kind != CONSTRAINT_DISTANCE) {
            wide_run(soft->points + run->base, run, packs->stream + run->at, h,
                     scale * per_h * per_h);
            continue;
        }
        Pace pace = {h, per_h, run->compliance * scale * per_h * per_h};
        run_distance(soft->points + run->base, run, packs->stream + run->at, pace);
    }
}

void packs_walk(Packs *packs, State *state)
{
    if (packs == NULL) {
        return;
    }
    state_bytes(state, packs->tension, packs->tension_count * sizeof *packs->tension);
    const f32 *values = (const f32 *)packs->tension;
    for (u32 i = 0; state->mode == STATE_LOAD && i < packs->tension_count * SIMD_LANES; i++) {
        state->failed = state->failed || !(values[i] >= 0.0f && values[i] < INFINITY);
    }
}
