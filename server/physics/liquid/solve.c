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

SIMD_INLINE void answer_item(Liquid *liquid, u32 i, bool mixed)
{
    const PhaseFactors *phase = &liquid->factors[mixed ? liquid->phase_of[i] : 0];
    const u32 *near = near_list(liquid, i);
    const Four *at = &liquid->place[i];
    Kernel kernel = kernel_of(liquid);
    f32x8 zero = f32x8_set(0.0f);
    Vec3x8 sum = {zero, zero, zero};
    for (u32 k = 0; k < liquid->near_count[i]; k += SIMD_LANES) {
        Near8 n = near_of(liquid, at, near + k, kernel);
        sum = vec3x8_add_scaled(sum, n.over * n.w, n.off);
    }
    /* Grains are held by their contacts, which the operator does not know: taken as free to move, a
     * bed of them would let a liquid's pressure vanish and take in twice what its pores hold. */
    f32 per_mass = phase->grains != 0 ? 0.0f : 1.0f / phase->mass;
    Vec3 all = vec3_scale(sum_vectors(sum), mixed ? phase->part : 1.0f);
    all = vec3_scale(vec3_add_scaled(all, at->w, vec3_of(&liquid->full[i])), per_mass);
    liquid->answer[i] = (Four){all.x, all.y, all.z, 0.0f};
}

static void answer(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    if (liquid->mixed) {
        for (u32 i = first; i < end; i++) {
            answer_item(liquid, i, true);
        }
    } else {
        for (u32 i = first; i < end; i++) {
            answer_item(liquid, i, false);
        }
    }
}

SIMD_INLINE f32 image_item(const Liquid *liquid, u32 i, bool mixed)
{
    const u32 *near = near_list(liquid, i);
    const Four *at = &liquid->place[i];
    Kernel kernel = kernel_of(liquid);
    f32x8 zero = f32x8_set(0.0f), sum = zero, rough = zero, own = f32x8_set(at->w);
    f32 light = liquid->trait[i].y;
    for (u32 k = 0; k < liquid->near_count[i]; k += SIMD_LANES) {
        Near8 n = near_of(liquid, at, near + k, kernel);
        f32x8 speed[4], over = n.over;
        gather_fours(liquid->answer, near + k, speed);
        if (mixed) {
            f32x8 trait[4];
            gather_fours(liquid->trait, near + k, trait);
            rough += f32x8_select(trait[1] > zero, over * (0.5f * (trait[1] + light)), zero) *
                     (n.w - own);
            over = over * trait[0];
        } else {
            rough += over * (n.w - own);
        }
        sum += over * vec3x8_dot((Vec3x8){speed[0], speed[1], speed[2]}, n.off);
    }
    f32 all = vec3_dot(vec3_of(&liquid->full[i]), vec3_of(&liquid->answer[i])) - sum_lanes(sum);
    all += 2.0f * smoothing * (mixed ? 1.0f : light) * sum_lanes(rough);
    return all + liquid_wall_yields(liquid, i) * at->w;
}

static void image(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f64 energy = 0.0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        liquid->image[i] = 0.0f;
        if (liquid->active[i]) {
            liquid->image[i] =
                liquid->mixed ? image_item(liquid, i, true) : image_item(liquid, i, false);
            energy += (f64)liquid->image[i] * (f64)liquid->place[i].w;
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
        f32 r = liquid->residual[i], z = 0.0f;
        if (liquid->active[i]) {
            z = r / (liquid->inertia[i] + liquid_wall_yields(liquid, i)) +
                liquid_coarse_pressure(liquid, i);
        }
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
        if (liquid->active[i]) {
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
        now = liquid->active[i] ? now : 0.0f;
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
