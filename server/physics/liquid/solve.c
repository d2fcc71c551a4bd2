/*
 * solve.c: pressures by conjugate gradients. The unknowns are the pressures λ (N s m) of active
 * items; the operator A = J M⁻¹ Jᵀ is that of the pairs' own gradients J, applied in two passes
 * (pressures → velocities → rates of density), exactly as velocities respond. The start is the last
 * step's pressure; the preconditioner is the diagonal and, for long waves, the cells of coarse.c.
 * Negative pressures are cut off at the end. Ihmsen et al. 2014, "Implicit incompressible SPH";
 * Bender & Koschier 2015.
 */
#include "server/physics/liquid/near8.h"

enum {
    ROUNDS = 3,      /* of a step */
    ROUNDS_FAST = 2, /* where noise does not matter */
    ROUNDS_MOST = 8,
};
/* Residuals (mean change of density in a step) below which iteration stops, and above which it
 * continues. */
static const f32 good_enough = 2e-5f, bad = 1e-3f;
/* Motion of the fastest item in a step from which a liquid is fast, spacings. */
static const f32 fast_way = 0.1f;
/* Greatest pressure, ρ spacing² / h². */
static const f32 pressure_most = 0.5f;
/* The operator does not see pressures that alternate from item to item. This fraction of a
 * Laplacian over pairs damps them; longer waves of pressure are hardly affected. */
static const f32 smoothing = 0.05f;
/* Part of the coarse level's pressures in the preconditioner. All of it made the residual rough at
 * the borders of cells: a dam break took a quarter more passes, a tank at rest had half more error
 * of density and came to rest later. */
static const f32 coarse_part = 0.3f;

/* ---- operator ---- */

/* Σ over · fours of the neighbours, which are added directly, without a transposition. */
SIMD_INLINE void sums_of(const Liquid *liquid, u32 first, const Four *from, f32x8 sums[4])
{
    for (u32 k = 0; k < 4; k++) { /* of items k, k + 4 each */
        sums[k] = f32x8_set(0.0f);
    }
    const NearRow *end = near_end(liquid, first);
    for (const NearRow *near = near_first(liquid, first); near != end; near++) {
        f32x8 fours[4], over = f32x8_load(near->over);
        gather_pairs(from, near->item, fours);
        sums[0] += __builtin_shufflevector(over, over, 0, 0, 0, 0, 4, 4, 4, 4) * fours[0];
        sums[1] += __builtin_shufflevector(over, over, 1, 1, 1, 1, 5, 5, 5, 5) * fours[1];
        sums[2] += __builtin_shufflevector(over, over, 2, 2, 2, 2, 6, 6, 6, 6) * fours[2];
        sums[3] += __builtin_shufflevector(over, over, 3, 3, 3, 3, 7, 7, 7, 7) * fours[3];
    }
    f32x8_transpose_halves(sums);
}

/* Places of items from the middle of the liquid, which factors of sums over pairs are taken at. */
SIMD_INLINE Vec3x8 way_of(const Liquid *liquid, const f32x8 at[4])
{
    return vec3x8_sub((Vec3x8){at[0], at[1], at[2]}, vec3x8_set(liquid->middle));
}

/* Σ w ∇W of the pressures w of the others, and the rough part. */
typedef struct Push {
    Vec3x8 all;
    f32x8 rough;
} Push;

SIMD_INLINE Push push_mixed(const Liquid *liquid, u32 first, const f32x8 at[4])
{
    Push push = {vec3x8_zero(), f32x8_set(0.0f)};
    const NearRow *end = near_end(liquid, first);
    for (const NearRow *near = near_first(liquid, first); near != end; near++) {
        Near8 n = near_again(liquid->place, at, near);
        push.all = vec3x8_add_scaled(push.all, n.over * n.w, n.off);
        push.rough += n.over * (n.w - at[3]);
    }
    return push;
}

/* The same of one density, from the products of places and pressures that `turn` has stored. */
SIMD_INLINE Push push_uniform(const Liquid *liquid, u32 first, const f32x8 at[4])
{
    f32x8 sums[4];
    sums_of(liquid, first, liquid->bins, sums);
    Vec3x8 all = vec3x8_scale(way_of(liquid, at), sums[3]);
    all = vec3x8_sub(all, (Vec3x8){sums[0], sums[1], sums[2]});
    return (Push){all, sums[3] - at[3] * f32x8_load(liquid->overs + first)};
}

/* Velocities by the pressures. Returns the part of λ A λ of each item, if all have one density. */
SIMD_INLINE f32x8 answer_slice(Liquid *liquid, u32 first, bool mixed)
{
    f32x8 at[4], full[4], own[4];
    load_fours(liquid->place + first, at);
    traits_of(liquid, first, mixed, own);
    Push push = mixed ? push_mixed(liquid, first, at) : push_uniform(liquid, first, at);
    load_fours(liquid->full + first, full);
    /* Grains are held by their contacts, which the operator does not include: treated as free to
     * move, a bed of grains would make a liquid's pressure vanish and absorb twice the volume of
     * its pores. */
    Vec3x8 all = mixed ? vec3x8_scale(push.all, own[0]) : push.all;
    all = vec3x8_add_scaled(all, at[3], (Vec3x8){full[0], full[1], full[2]});
    f32x8 energy = vec3x8_dot(all, all) + 2.0f * smoothing * (push.rough * at[3]);
    all = vec3x8_scale(all, own[1]);
    f32x8 along = vec3x8_dot(all, way_of(liquid, at));
    store_fours(liquid->answer + first, all.x, all.y, all.z, along);
    f32x8_store(liquid->image + first, 2.0f * smoothing * own[1] * push.rough);
    return own[1] * energy + full[3] * (at[3] * at[3]);
}

static void answer(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f64 energy = 0.0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i += SIMD_LANES) {
        f32x8 all = liquid->mixed ? answer_slice(liquid, i, true) : answer_slice(liquid, i, false);
        for (u32 l = 0; l < lanes_of(i, end); l++) {
            energy += (f64)all[l];
        }
    }
    liquid->partials[first / LIQUID_GRAIN] = energy;
}

/* Σ ∇W · speed of the other, and the rough part, with several densities. */
SIMD_INLINE f32x8 sums_mixed(const Liquid *liquid, u32 first, const f32x8 at[4], f32x8 *rough)
{
    f32x8 own[4], sum = f32x8_set(0.0f), zero = sum;
    traits_of(liquid, first, true, own);
    *rough = zero;
    const NearRow *end = near_end(liquid, first);
    for (const NearRow *near = near_first(liquid, first); near != end; near++) {
        Near8 n = near_again(liquid->place, at, near);
        f32x8 speed[4], trait[4];
        gather_near(liquid->answer, near->item, speed);
        gather_near(liquid->trait, near->item, trait);
        f32x8 c = n.over * (0.5f * (trait[1] + own[1]));
        *rough += f32x8_select(trait[1] > zero, c, zero) * (n.w - at[3]);
        sum += n.over * trait[0] * vec3x8_dot((Vec3x8){speed[0], speed[1], speed[2]}, n.off);
    }
    *rough = 2.0f * smoothing * *rough;
    return sum;
}

/* The same of one density: places are in the fourth number of `answer`, so that a row needs no
 * other data; the rough part is known. */
SIMD_INLINE f32x8 sums_uniform(const Liquid *liquid, u32 first, const f32x8 at[4])
{
    f32x8 sums[4];
    sums_of(liquid, first, liquid->answer, sums);
    return vec3x8_dot((Vec3x8){sums[0], sums[1], sums[2]}, way_of(liquid, at)) - sums[3];
}

SIMD_INLINE f32x8 image_slice(const Liquid *liquid, u32 first, bool mixed)
{
    f32x8 at[4], full[4], speeds[4], rough = f32x8_load(liquid->image + first);
    load_fours(liquid->place + first, at);
    f32x8 sum = mixed ? sums_mixed(liquid, first, at, &rough) : sums_uniform(liquid, first, at);
    load_fours(liquid->full + first, full);
    load_fours(liquid->answer + first, speeds);
    f32x8 all = full[0] * speeds[0] + full[1] * speeds[1] + full[2] * speeds[2] - sum;
    all += rough + full[3] * at[3];
    return f32x8_and(f32x8_load(liquid->active + first) > f32x8_set(0.0f), all);
}

static void image(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f64 energy = 0.0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i += SIMD_LANES) {
        f32x8 all = liquid->mixed ? image_slice(liquid, i, true) : image_slice(liquid, i, false);
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

/* The preconditioned residual, in `image`. */
static void condition(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f64 sum = 0.0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i += SIMD_LANES) {
        f32x8 full[4], r = f32x8_load(liquid->residual + i);
        _Alignas(32) f32 coarse[SIMD_LANES] = {0};
        load_fours(liquid->full + i, full);
        liquid_coarse_pressures(liquid, i, lanes_of(i, end), coarse);
        f32x8 z = r / (f32x8_load(liquid->inertia + i) + full[3]);
        z += coarse_part * f32x8_load(coarse);
        f32x8_store(liquid->image + i, z);
        for (u32 l = 0; l < lanes_of(i, end); l++) {
            sum += (f64)z[l] * (f64)r[l];
        }
    }
    liquid->partials[first / LIQUID_GRAIN] = sum;
}

typedef struct Vectors {
    Liquid *liquid;
    f32 step;
} Vectors;

/* The next direction, and in `bins`, where the operator of one density reads it, its products with
 * places. */
static void turn(void *context, u32 first, u32 end, u32 worker)
{
    Vectors *v = context;
    Vec3 middle = v->liquid->middle;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        Four *at = &v->liquid->place[i];
        f32 w = v->liquid->image[i] + v->step * at->w;
        at->w = w;
        v->liquid->bins[i] =
            (Four){w * (at->x - middle.x), w * (at->y - middle.y), w * (at->z - middle.z), w};
    }
}

/* Pressures are not negative, and limited to what a step can resolve: liquid compressed by a piston
 * yields. */
static void bound_item(Liquid *liquid, u32 i, f32 unit)
{
    f32 most = unit * liquid->factors[liquid->phase_of[i]].mass;
    f32 now = f32_clamp(liquid->pushes[i] + liquid->change[i].w, 0.0f, most);
    now = liquid->active[i] > 0.0f ? now : 0.0f;
    liquid->place[i].w = now - liquid->pushes[i];
    liquid->pushes[i] = now;
}

static f32 bound_unit(const Liquid *liquid)
{
    f32 d = liquid->def.spacing;
    return pressure_most * d * d / liquid->h;
}

static void bound(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 unit = bound_unit(liquid);
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        bound_item(liquid, i, unit);
    }
}

static void advance(void *context, u32 first, u32 end, u32 worker)
{
    Vectors *v = context;
    Liquid *liquid = v->liquid;
    f64 sum = 0.0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        if (liquid->active[i] > 0.0f) {
            liquid->change[i].w += v->step * liquid->place[i].w;
            liquid->residual[i] -= v->step * liquid->image[i];
            sum += fabs((f64)liquid->residual[i]);
        }
    }
    liquid->partials[first / LIQUID_GRAIN] = sum;
}

/* The same and `bound`. */
static void advance_last(void *context, u32 first, u32 end, u32 worker)
{
    Vectors *v = context;
    Liquid *liquid = v->liquid;
    f32 unit = bound_unit(liquid);
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        f32 part = liquid->active[i] > 0.0f ? v->step * liquid->place[i].w : 0.0f;
        liquid->change[i].w += part;
        bound_item(liquid, i, unit);
    }
}

/* Preconditioned conjugate gradients for what `change` then adds to the pressures. If an iteration
 * is known to be the last one, its image is not needed: for one density, its energy follows from
 * `answer`. */
static u32 iterate(Liquid *liquid)
{
    u32 n = liquid->items, round = 0;
    bool fast = liquid->fastest * liquid->h > fast_way * liquid->def.spacing, last = false;
    u32 usual = fast ? ROUNDS_FAST : ROUNDS;
    Vectors v = {liquid, 0.0f};
    f64 size = 0.0;
    liquid->bins[n] = (Four){0.0f, 0.0f, 0.0f, 0.0f}; /* the dummy's */
    for (; !last; round++) {
        f64 left = total(liquid) * (f64)liquid->h / (f64)n;
        u32 most = left > (f64)bad ? ROUNDS_MOST : usual;
        if (round >= most || !(left > (f64)good_enough)) {
            break;
        }
        last = round + 1 == most && !liquid->mixed;
        liquid_coarse_solve(liquid);
        jobs_run(liquid->jobs, n, LIQUID_GRAIN, condition, liquid);
        f64 now = total(liquid);
        if (!(now > 0.0)) {
            last = false;
            break;
        }
        v.step = round != 0 ? (f32)(now / size) : 0.0f;
        size = now;
        jobs_run(liquid->jobs, n, LIQUID_GRAIN, turn, &v);
        liquid_pass(liquid, answer, liquid);
        if (!last) {
            liquid_pass(liquid, image, liquid);
        }
        f64 energy = total(liquid);
        if (!(energy > 0.0)) {
            last = false;
            break;
        }
        v.step = (f32)(size / energy);
        jobs_run(liquid->jobs, n, LIQUID_GRAIN, last ? advance_last : advance, &v);
    }
    if (!last) {
        jobs_run(liquid->jobs, n, LIQUID_GRAIN, bound, liquid);
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
}
