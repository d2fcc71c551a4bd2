/*
 * solve.c: pressures by conjugate gradients. The unknowns are the pressures λ (N s m) of active
 * items; the operator A = J M⁻¹ Jᵀ is that of the pairs' own gradients J, applied in two passes
 * (pressures → velocities → rates of density), so that what it promises the velocities do. The
 * start is the last step's pressure; the preconditioner is the diagonal and, for long waves, the
 * cells of coarse.c. Negative pressures are cut off at the end.
 * Ihmsen et al. 2014, "Implicit incompressible SPH"; Bender & Koschier 2015.
 */
#include "server/physics/liquid/near8.h"

enum {
    ROUNDS = 3,      /* of a step */
    ROUNDS_FAST = 2, /* where noise does not matter */
    ROUNDS_MOST = 8,
};
/* Residual (mean change of density in a step) that needs no more rounds, and that needs more. */
static const f32 good_enough = 2e-5f, bad = 1e-3f;
/* Way of the fastest item in a step of fast liquid, spacings. */
static const f32 fast_way = 0.1f;
/* Greatest pressure, ρ spacing² / h². */
static const f32 pressure_most = 0.5f;
/* The operator lets pass pressures that alternate from item to item. This part of a Laplacian over
 * pairs holds them; the pressure of waves longer than that does not feel it. */
static const f32 smoothing = 0.05f;

/* ---- operator ---- */

SIMD_INLINE void answer_slice(Liquid *liquid, u32 first, Kernel kernel, bool mixed)
{
    f32x8 at[4], full[4], own[4];
    load_fours(liquid->place + first, at);
    Vec3x8 all = push_of(liquid, first, at, kernel);
    load_fours(liquid->full + first, full);
    traits_of(liquid, first, mixed, own);
    /* Grains are held by their contacts, which the operator does not know: taken as free to move, a
     * bed of them would let a liquid's pressure vanish and take in twice what its pores hold. */
    all = mixed ? vec3x8_scale(all, own[0]) : all;
    all = vec3x8_add_scaled(all, at[3], (Vec3x8){full[0], full[1], full[2]});
    all = vec3x8_scale(all, own[1]);
    store_fours(liquid->answer + first, all.x, all.y, all.z, at[3]);
}

static void answer(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    Kernel kernel = kernel_of(liquid);
    PL_UNUSED(worker);
    if (liquid->mixed) {
        for (u32 i = first; i < end; i += SIMD_LANES) {
            answer_slice(liquid, i, kernel, true);
        }
    } else {
        for (u32 i = first; i < end; i += SIMD_LANES) {
            answer_slice(liquid, i, kernel, false);
        }
    }
}

SIMD_INLINE f32x8 image_slice(const Liquid *liquid, u32 first, Kernel kernel, bool mixed)
{
    const Four *places = liquid->place;
    f32x8 at[4], full[4], own[4], speeds[4], zero = f32x8_set(0.0f), sum = zero, rough = zero;
    load_fours(places + first, at);
    traits_of(liquid, first, mixed, own);
    const u32 *end = near_end(liquid, first);
    for (const u32 *near = near_first(liquid, first); near != end; near += SIMD_LANES) {
        Near8 n = near_of(places, at, near, kernel);
        f32x8 speed[4], over = n.over;
        gather_near(liquid->answer, near, speed);
        if (mixed) {
            f32x8 trait[4];
            gather_near(liquid->trait, near, trait);
            rough += f32x8_select(trait[1] > zero, over * (0.5f * (trait[1] + own[1])), zero) *
                     (n.w - at[3]);
            over = over * trait[0];
        } else {
            rough += over * (n.w - at[3]);
        }
        sum += over * vec3x8_dot((Vec3x8){speed[0], speed[1], speed[2]}, n.off);
    }
    load_fours(liquid->full + first, full);
    load_fours(liquid->answer + first, speeds);
    f32x8 all = full[0] * speeds[0] + full[1] * speeds[1] + full[2] * speeds[2] - sum;
    all += 2.0f * smoothing * (mixed ? rough : rough * own[1]);
    all += full[3] * at[3];
    return f32x8_and(f32x8_load(liquid->active + first) > zero, all);
}

static void image(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    Kernel kernel = kernel_of(liquid);
    f64 energy = 0.0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i += SIMD_LANES) {
        f32x8 all = liquid->mixed ? image_slice(liquid, i, kernel, true)
                                  : image_slice(liquid, i, kernel, false);
        f32x8_store(liquid->image + i, all);
        for (u32 l = 0; l < lanes_of(i, end); l++) {
            energy += (f64)all[l] * (f64)liquid->place[i + l].w;
        }
    }
    liquid->partials[first / LIQUID_GRAIN] = energy;
}

/* ---- vectors ---- */

static f64 total(const Liquid *liquid)
{
    f64 sum = 0.0;
    for (u32 r = 0; r * LIQUID_GRAIN < liquid->items; r++) {
        sum += liquid->partials[r];
    }
    return sum;
}

static void measure(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f64 sum = 0.0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        sum += fabs((f64)liquid->residual[i]);
    }
    liquid->partials[first / LIQUID_GRAIN] = sum;
}

/* The preconditioned residual, in `image`. */
static void condition(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f64 sum = 0.0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        f32 r = liquid->residual[i];
        f32 z = r / (liquid->inertia[i] + liquid->full[i].w) + liquid_coarse_pressure(liquid, i);
        liquid->image[i] = z;
        sum += (f64)z * (f64)r;
    }
    liquid->partials[first / LIQUID_GRAIN] = sum;
}

typedef struct Vectors {
    Liquid *liquid;
    f32 step;
} Vectors;

static void turn(void *context, u32 first, u32 end, u32 worker)
{
    Vectors *v = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        v->liquid->place[i].w = v->liquid->image[i] + v->step * v->liquid->place[i].w;
    }
}

static void advance(void *context, u32 first, u32 end, u32 worker)
{
    Vectors *v = context;
    Liquid *liquid = v->liquid;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        if (liquid->active[i] > 0.0f) {
            liquid->change[i].w += v->step * liquid->place[i].w;
            liquid->residual[i] -= v->step * liquid->image[i];
        }
    }
}

/* Pressures are not negative, and no greater than a step can bear: what a piston squeezes gives
 * way. */
static void bound(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 d = liquid->def.spacing, unit = pressure_most * d * d / liquid->h;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        f32 most = unit * liquid->factors[liquid->phase_of[i]].mass;
        f32 now = f32_clamp(liquid->pushes[i] + liquid->change[i].w, 0.0f, most);
        now = liquid->active[i] > 0.0f ? now : 0.0f;
        liquid->place[i].w = now - liquid->pushes[i];
        liquid->pushes[i] = now;
    }
}

/* Preconditioned conjugate gradients for what `change` then adds to the pressures. */
static u32 iterate(Liquid *liquid)
{
    u32 n = liquid->items, round = 0;
    bool fast = liquid->fastest * liquid->h > fast_way * liquid->def.spacing;
    u32 usual = fast ? ROUNDS_FAST : ROUNDS;
    Vectors v = {liquid, 0.0f};
    f64 size = 0.0;
    for (;; round++) {
        jobs_run(liquid->jobs, n, LIQUID_GRAIN, measure, liquid);
        f64 left = total(liquid) * (f64)liquid->h / (f64)n;
        u32 most = left > (f64)bad ? ROUNDS_MOST : usual;
        if (round >= most || !(left > (f64)good_enough)) {
            break;
        }
        liquid_coarse_solve(liquid);
        jobs_run(liquid->jobs, n, LIQUID_GRAIN, condition, liquid);
        f64 now = total(liquid);
        if (!(now > 0.0)) {
            break;
        }
        v.step = round != 0 ? (f32)(now / size) : 0.0f;
        size = now;
        jobs_run(liquid->jobs, n, LIQUID_GRAIN, turn, &v);
        jobs_run(liquid->jobs, n, LIQUID_GRAIN, answer, liquid);
        jobs_run(liquid->jobs, n, LIQUID_GRAIN, image, liquid);
        f64 energy = total(liquid);
        if (!(energy > 0.0)) {
            break;
        }
        v.step = (f32)(size / energy);
        jobs_run(liquid->jobs, n, LIQUID_GRAIN, advance, &v);
    }
    return round;
}

void liquid_solve(Liquid *liquid)
{
    if (liquid->coarse_stale) {
        liquid_coarse_build(liquid);
        liquid->coarse_stale = false;
    }
    liquid->rounds = iterate(liquid);
    jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, bound, liquid);
}
