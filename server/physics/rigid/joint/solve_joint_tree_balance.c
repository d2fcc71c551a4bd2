/*
 * solve_joint_tree_balance.c: the impulses of the limits that act in trees of joints, from the
 * matrix of their answers to each other. Gauss-Seidel finds which of them are at their bounds; for
 * those between them it needs far too many sweeps where an arm of many joints rests on all of its
 * limits (the condition grows with the fourth power of their number), so these are solved directly,
 * and what then leaves its bounds stops there.
 * Method: projected Gauss-Seidel with subspace minimization (Silcowitz, Niebuhr, Erleben,
 * "Projected Gauss-Seidel subspace minimization method for interactive rigid body dynamics", 2010).
 */
#include "server/physics/rigid/joint/joint_tree.h"

enum {
    SWEEPS = 2, /* before each direct solution */
    PASSES = 8  /* each brings at least one more to its bound */
};

/* Of its own answer: less of a pivot is rounding, and the limit depends on those before. */
#define PIVOT_LEAST 1e-6f

/* rad/s: with the impulses of this round. */
SIMD_INLINE f32x8 stop_speed_now(const LimitRun *run, const TreeStop *stop, u32 slots)
{
    f32x8 speed = stop->speed;
    for (u32 n = 0; n < slots; n++) {
        speed += stop->response[n] * run->amount[n];
    }
    return speed;
}

SIMD_INLINE f32x8 stop_own(const TreeStop *stop)
{
    return f32x8_select(stop->slot >= 0, f32x8_max(stop->own, stop->least), f32x8_set(1.0f));
}

SIMD_INLINE f32x8 within(const TreeStop *stop, f32x8 impulse)
{
    return f32x8_max(f32x8_min(impulse, stop->high), stop->low);
}

/* Returns the change of its speed. */
SIMD_INLINE f32x8 stop_balance(LimitRun *run, TreeStop *stop, u32 slots)
{
    f32x8 change = -(stop_speed_now(run, stop, slots) + stop->bias), own = stop_own(stop);
    f32x8 sum = within(stop, stop->impulse + change / own);
    f32x8 amount = f32x8_and((stop->slot >= 0) & run->busy, sum - stop->impulse);
    stop->impulse += amount;
    for (u32 n = 0; n < slots; n++) {
        run->amount[n] += f32x8_and(stop->slot == (i32x8){0} + (i32)n, amount);
    }
    return amount * own;
}

/* Returns the lanes in which something still changes. */
static i32x8 limits_sweep(LimitRun *run, u32 slots)
{
    f32x8 most = f32x8_set(0.0f);
    for (u32 i = 0; i < run->count; i++) {
        most = f32x8_max(most, f32x8_abs(stop_balance(run, run->acting[i], slots)));
    }
    return most > LIMIT_ENOUGH;
}

/* ---- the direct solution ---- */

/* In order of the slots. What is at a bound has no equation: its row is that of 1 x = 0. */
typedef struct Direct {
    u32 slots;
    f32x8 *matrix;                            /* [slots][slots]: below the diagonal, and on it */
    f32x8 x[LIMIT_SLOTS];                     /* N m s: first the right-hand side */
    f32x8 down[LIMIT_SLOTS], up[LIMIT_SLOTS]; /* to its bounds */
    i32x8 loose[LIMIT_SLOTS];                 /* between them */
    f32x8 inverse[LIMIT_SLOTS];               /* of the pivots' roots; 0: none */
} Direct;

SIMD_INLINE i32x8 stop_is_loose(const LimitRun *run, const TreeStop *stop)
{
    return (stop->slot >= 0) & run->busy & (i32x8)(stop->impulse > stop->low) &
           (i32x8)(stop->impulse < stop->high);
}

/* speed + bias = 0 */
static void direct_diagonal(const LimitRun *run, const TreeStop *stop, Direct *d)
{
    i32x8 loose = stop_is_loose(run, stop);
    f32x8 rest = stop_speed_now(run, stop, d->slots) + stop->bias, own = stop_own(stop);
    f32x8 down = stop->low - stop->impulse, up = stop->high - stop->impulse;
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        if (loose[lane]) {
            u32 k = (u32)stop->slot[lane];
            d->loose[k][lane] = -1;
            lane_set(&d->matrix[k * d->slots + k], lane, lane_read(&own, lane));
            lane_set(&d->x[k], lane, -lane_read(&rest, lane));
            lane_set(&d->down[k], lane, lane_read(&down, lane));
            lane_set(&d->up[k], lane, lane_read(&up, lane));
        }
    }
}

static void direct_row(const LimitRun *run, const TreeStop *stop, Direct *d)
{
    i32x8 loose = stop_is_loose(run, stop);
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        u32 k = loose[lane] ? (u32)stop->slot[lane] : 0;
        for (u32 n = 0; n < k; n++) {
            if (d->loose[n][lane]) {
                lane_set(&d->matrix[k * d->slots + n], lane, lane_read(&stop->response[n], lane));
            }
        }
    }
}

static void direct_begin(const LimitRun *run, Direct *d)
{
    for (u32 k = 0; k < d->slots; k++) {
        for (u32 n = 0; n < k; n++) {
            d->matrix[k * d->slots + n] = f32x8_set(0.0f);
        }
        d->matrix[k * d->slots + k] = f32x8_set(1.0f);
        d->x[k] = d->down[k] = d->up[k] = f32x8_set(0.0f);
        d->loose[k] = (i32x8){0};
    }
    for (u32 i = 0; i < run->count; i++) {
        direct_diagonal(run, run->acting[i], d);
    }
    for (u32 i = 0; i < run->count; i++) {
        direct_row(run, run->acting[i], d);
    }
}

/* Cholesky's factors, and the forward substitution. */
static void direct_factor(Direct *d)
{
    f32x8 none = f32x8_set(0.0f), one = f32x8_set(1.0f);
    for (u32 k = 0; k < d->slots; k++) {
        f32x8 *row = d->matrix + (size_t)k * d->slots, whole = row[k], x = d->x[k];
        for (u32 n = 0; n < k; n++) {
            const f32x8 *above = d->matrix + (size_t)n * d->slots;
            f32x8 sum = row[n];
            for (u32 j = 0; j < n; j++) {
                sum -= row[j] * above[j];
            }
            row[n] = sum * d->inverse[n];
            row[k] -= row[n] * row[n];
            x -= row[n] * d->x[n];
        }
        i32x8 some = row[k] > PIVOT_LEAST * whole;
        d->inverse[k] = f32x8_and(some, one / f32x8_sqrt(f32x8_select(some, row[k], one)));
        d->x[k] = f32x8_select(some, x * d->inverse[k], none);
    }
}

static void direct_back(Direct *d)
{
    for (u32 k = d->slots; k-- > 0;) {
        f32x8 x = d->x[k];
        for (u32 n = k + 1; n < d->slots; n++) {
            x -= d->matrix[(size_t)n * d->slots + k] * d->x[n];
        }
        d->x[k] = x * d->inverse[k];
    }
}

/* The part of the way that leaves no bounds: on it the energy of the tree falls. */
static f32x8 direct_way(const Direct *d)
{
    f32x8 none = f32x8_set(0.0f), one = f32x8_set(1.0f), way = one;
    for (u32 k = 0; k < d->slots; k++) {
        f32x8 x = d->x[k], room = f32x8_select(x > none, d->up[k], d->down[k]);
        i32x8 moves = (i32x8)(x != none);
        way = f32x8_min(way, f32x8_select(moves, room / f32x8_select(moves, x, one), one));
    }
    return way;
}

static void limits_settle(LimitRun *run, u32 slots)
{
    Direct d;
    d.slots = slots;
    d.matrix = run->t->responses + (size_t)run->t->limit_count * LIMITS_OF_JOINT * run->t->slots;
    direct_begin(run, &d);
    direct_factor(&d);
    direct_back(&d);
    f32x8 way = direct_way(&d);
    for (u32 n = 0; n < slots; n++) {
        d.x[n] *= way;
        run->amount[n] += d.x[n];
    }
    for (u32 i = 0; i < run->count; i++) {
        TreeStop *stop = run->acting[i];
        i32x8 loose = stop_is_loose(run, stop);
        f32x8 sum = stop->impulse;
        for (u32 lane = 0; lane < SIMD_LANES; lane++) {
            if (loose[lane]) {
                f32 by = lane_read(&d.x[(u32)stop->slot[lane]], lane);
                lane_set(&sum, lane, lane_read(&sum, lane) + by);
            }
        }
        stop->impulse = within(stop, sum);
    }
}

/* Up to SWEEPS of these lanes, each until it no longer changes. Returns those that still do. */
static i32x8 limits_sweeps(LimitRun *run, u32 slots, i32x8 lanes)
{
    run->busy = lanes;
    for (u32 sweep = 0; sweep < SWEEPS && i32x8_any(run->busy); sweep++) {
        run->busy &= limits_sweep(run, slots);
    }
    return run->busy;
}

/* Trees of a group are solved together, but each as if it were alone: none gets a sweep because
 * another one needs it. */
void limits_balance(LimitRun *run, i32x8 lanes)
{
    u32 slots = run->t->keep->response_count;
    for (u32 n = 0; n < slots; n++) {
        run->amount[n] = f32x8_set(0.0f);
    }
    i32x8 one = lanes & (run->t->keep->slots > -2);
    if (i32x8_any(one)) {
        run->busy = one;
        limits_sweep(run, slots);
        lanes &= ~one;
    }
    for (u32 pass = 0; pass < PASSES && i32x8_any(lanes); pass++) {
        i32x8 moving = limits_sweeps(run, slots, lanes);
        /* What a sweep changes says little of how far it is from the answer. */
        lanes &= pass > 0 ? moving : ~(i32x8){0};
        if (i32x8_any(lanes)) {
            run->busy = lanes;
            limits_settle(run, slots);
        }
    }
    if (i32x8_any(lanes)) {
        run->busy = lanes;
        limits_sweep(run, slots);
    }
}
