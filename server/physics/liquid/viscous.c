/*
 * viscous.c: viscosity of thick liquids, implicitly: velocities x with M x + h K x = M v, where K
 * is the pairs' friction and that of walls (Weiler et al. 2018 with the pairs of Morris et al.
 * 1997), by conjugate gradients with the diagonal as preconditioner. The remaining residual is
 * added as momentum, so that pairs exchange the impulse h K x exactly, whatever the number of
 * iterations. Arrays of later passes are borrowed: `answer` is the direction, with the viscosity as
 * fourth number; `shift` the residual, `change` the image; `image` the diagonal, `residual` that of
 * walls.
 */
#include "server/physics/liquid/near8.h"

enum {
    ROUNDS_MOST = 40
};
/* Square of the remaining residual relative to the first. */
static const f64 residual_part = 1e-6;

typedef struct Viscous {
    Liquid *liquid;
    f32 step;
} Viscous;

/* ---- walls ---- */

/* Friction of a pair with a wall over the item's mass; a movable thing yields to all of its pairs
 * at once. */
static f32 wall_rate(const Liquid *liquid, const LiquidPair *pair)
{
    const PhaseFactors *phase = &liquid->factors[liquid->phase_of[pair->item]];
    f32 d = liquid->def.spacing;
    if (!(pair->slope > 0.0f) || !(pair->far < d) || phase->grains != 0) {
        return 0.0f;
    }
    f32 rate = liquid->h * phase->viscosity * phase->lightness * d * d;
    rate /= f32_max(pair->far, 0.25f * d);
    if (pair->mover != LIQUID_STATIC) {
        const LiquidMover *mover = &liquid->movers[pair->mover];
        f32 light = mover->inverse_mass * (f32)liquid->movers[mover->group].count;
        rate /= 1.0f + rate * phase->mass * light;
    }
    return rate;
}

/* kg, Σ of an item's walls, and kg m/s, Σ of their velocities. */
static f32 walls_of(const Liquid *liquid, u32 i, Vec3 *drive)
{
    f32 sum = 0.0f, mass = liquid->factors[liquid->phase_of[i]].mass;
    *drive = vec3_zero();
    for (u32 k = liquid->pair_first[i]; k < liquid->pair_first[i + 1]; k++) {
        f32 rate = mass * wall_rate(liquid, &liquid->pairs[k]);
        sum += rate;
        *drive = vec3_add_scaled(*drive, rate, liquid->pairs[k].speed);
    }
    return sum;
}

/* Impulses on things: the opposite of those that walls give an item of velocity x. */
static void drag_things(Liquid *liquid, u32 i, Vec3 x)
{
    f32 mass = liquid->factors[liquid->phase_of[i]].mass;
    for (u32 k = liquid->pair_first[i]; k < liquid->pair_first[i + 1]; k++) {
        const LiquidPair *pair = &liquid->pairs[k];
        if (pair->mover != LIQUID_STATIC) {
            f32 rate = mass * wall_rate(liquid, pair);
            liquid->movers[pair->mover].drag = vec3_scale(vec3_sub(pair->speed, x), rate);
        }
    }
}

/* ---- operator ---- */

typedef struct Friction {
    Vec3x8 sum; /* Σ k (u − u of the other) */
    f32x8 all;  /* Σ k, kg */
} Friction;

/* For the first three numbers of `from`; the fourth is the viscosity. */
SIMD_INLINE Friction friction_of(const Liquid *liquid, const Four *from, u32 first, Kernel kernel,
                                 bool mixed)
{
    const Four *places = liquid->place;
    f32 d = liquid->def.spacing;
    f32x8 at[4], u[4], own[4];
    Friction out = {vec3x8_zero(), f32x8_set(0.0f)};
    load_fours(places + first, at);
    load_fours(from + first, u);
    traits_of(liquid, first, mixed, own);
    const NearRow *end = near_end(liquid, first);
    for (const NearRow *near = near_first(liquid, first); near != end; near++) {
        Near8 n = near_again(places, at, near);
        f32x8 other[4];
        gather_near(from, near->item, other);
        f32x8 k = n.over * f32x8_min(other[3], u[3]);
        if (mixed) {
            f32x8 trait[4];
            gather_near(liquid->trait, near->item, trait);
            k = k * trait[0] * (1.0f - trait[2] * own[2]); /* not between grains */
        }
        out.all += k;
        out.sum.x += k * (u[0] - other[0]);
        out.sum.y += k * (u[1] - other[1]);
        out.sum.z += k * (u[2] - other[2]);
    }
    f32x8 scale = own[0] * (-2.0f * liquid->h * d * d * d);
    out.sum = vec3x8_scale(out.sum, scale);
    out.all = (out.all - kernel.scale * u[3]) * scale; /* less the item itself */
    return out;
}

SIMD_INLINE f32x8 masses_of(const Liquid *liquid, u32 first)
{
    f32x8 mass = f32x8_set(0.0f);
    for (u32 l = 0; l < SIMD_LANES; l++) {
        mass[l] = liquid->factors[liquid->phase_of[first + l]].mass;
    }
    return mass;
}

/* The residual and the diagonal. */
static void begin(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = ((Viscous *)context)->liquid;
    Kernel kernel = kernel_of(liquid);
    f64 size = 0.0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i += SIMD_LANES) {
        Friction f = liquid->mixed ? friction_of(liquid, liquid->motion, i, kernel, true)
                                   : friction_of(liquid, liquid->motion, i, kernel, false);
        f32x8 mass = masses_of(liquid, i), walls = f32x8_set(0.0f);
        for (u32 l = 0; l < lanes_of(i, end); l++) {
            Vec3 drive, v = vec3_of(&liquid->motion[i + l]);
            if (liquid->pair_first[i + l] != liquid->pair_first[i + l + 1]) {
                walls[l] = walls_of(liquid, i + l, &drive);
                f.sum.x[l] += walls[l] * v.x - drive.x;
                f.sum.y[l] += walls[l] * v.y - drive.y;
                f.sum.z[l] += walls[l] * v.z - drive.z;
            }
        }
        f32x8 diagonal = mass + walls + f32x8_max(f.all, f32x8_set(0.0f));
        f32x8_store(liquid->image + i, diagonal);
        f32x8_store(liquid->residual + i, mass + walls);
        store_fours(liquid->shift + i, -f.sum.x, -f.sum.y, -f.sum.z, f32x8_set(0.0f));
        f32x8 square = vec3x8_dot(f.sum, f.sum) / diagonal;
        for (u32 l = 0; l < lanes_of(i, end); l++) {
            size += (f64)square[l];
        }
    }
    liquid->partials[first / LIQUID_GRAIN] = size;
}

static void turn(void *context, u32 first, u32 end, u32 worker)
{
    const Viscous *v = context;
    Liquid *liquid = v->liquid;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        const Four *r = &liquid->shift[i];
        Four *p = &liquid->answer[i];
        f32 per = 1.0f / liquid->image[i];
        *p = (Four){per * r->x + v->step * p->x, per * r->y + v->step * p->y,
                    per * r->z + v->step * p->z, liquid->motion[i].w};
    }
}

static void image(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = ((Viscous *)context)->liquid;
    Kernel kernel = kernel_of(liquid);
    f64 energy = 0.0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i += SIMD_LANES) {
        Friction f = liquid->mixed ? friction_of(liquid, liquid->answer, i, kernel, true)
                                   : friction_of(liquid, liquid->answer, i, kernel, false);
        f32x8 p[4], own = f32x8_load(liquid->residual + i);
        load_fours(liquid->answer + i, p);
        Vec3x8 direction = {p[0], p[1], p[2]}, all = vec3x8_add_scaled(f.sum, own, direction);
        store_fours(liquid->change + i, all.x, all.y, all.z, f32x8_set(0.0f));
        f32x8 part = vec3x8_dot(all, direction);
        for (u32 l = 0; l < lanes_of(i, end); l++) {
            energy += (f64)part[l];
        }
    }
    liquid->partials[first / LIQUID_GRAIN] = energy;
}

static void advance(void *context, u32 first, u32 end, u32 worker)
{
    const Viscous *v = context;
    Liquid *liquid = v->liquid;
    f64 size = 0.0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        const Four *p = &liquid->answer[i], *a = &liquid->change[i];
        Four *x = &liquid->motion[i], *r = &liquid->shift[i];
        *x = (Four){x->x + v->step * p->x, x->y + v->step * p->y, x->z + v->step * p->z, x->w};
        *r = (Four){r->x - v->step * a->x, r->y - v->step * a->y, r->z - v->step * a->z, 0.0f};
        size += (f64)((r->x * r->x + r->y * r->y + r->z * r->z) / liquid->image[i]);
    }
    liquid->partials[first / LIQUID_GRAIN] = size;
}

/* The rest of the residual, as momentum. */
static void finish(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = ((Viscous *)context)->liquid;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        Four *x = &liquid->motion[i];
        if (liquid->pair_first[i] != liquid->pair_first[i + 1]) {
            drag_things(liquid, i, vec3_of(x));
        }
        f32 per = 1.0f / liquid->factors[liquid->phase_of[i]].mass;
        const Four *r = &liquid->shift[i];
        *x = (Four){x->x + per * r->x, x->y + per * r->y, x->z + per * r->z, x->w};
    }
}

static f64 total(const Liquid *liquid)
{
    f64 sum = 0.0;
    for (u32 r = 0; r * LIQUID_GRAIN < liquid->items; r++) {
        sum += liquid->partials[r];
    }
    return sum;
}

static f64 run(Viscous *v, JobsLoop *loop)
{
    liquid_pass(v->liquid, loop, v);
    return total(v->liquid);
}

void liquid_viscous(Liquid *liquid)
{
    Viscous v = {liquid, 0.0f};
    f64 start = run(&v, begin), size = start;
    for (u32 round = 0; round < ROUNDS_MOST && size > residual_part * start; round++) {
        run(&v, turn);
        f64 energy = run(&v, image);
        if (!(energy > 0.0)) {
            break;
        }
        v.step = (f32)(size / energy);
        f64 now = run(&v, advance);
        v.step = (f32)(now / size);
        size = now;
    }
    run(&v, finish);
}
