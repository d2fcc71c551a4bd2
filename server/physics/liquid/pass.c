/*
 * pass.c: a step of the liquid, in three passes over all pairs of neighbours. All are Jacobi: an
 * item reads others and writes itself, and its sums run over its list in order, so that results do
 * not depend on threads. What i does to j, j does to i with the opposite sign to the last bit.
 *
 * 1 predict: the pressures of the last step act again (warm start), with gravity; density.
 * 2 project: the density at the end of the step (Macklin & Müller 2013, eq. 8), and the pressure
 *   that makes it that at rest, not below zero: of each item alone (Jacobi) and of cells
 *   (coarse.c); viscosity (Morris et al. 1997).
 * 3 correct: velocities by the change of pressure.
 * Positions move by the corrected velocities. The force of a wall is the gradient of the density
 * that it adds: anything else is not conservative and heats the liquid.
 */
#include "server/physics/liquid/near8.h"

/* Relaxation of Jacobi's method for pressures: the spectrum of the operator over its diagonal
 * reaches about 2.5, and deep narrow columns bear little of that (measured). */
static const f32 relaxation = 0.3f;
/* Part of a step's change of pressure that acts again in the next step. More overshoots: a pressure
 * that answers to density and keeps what it answered is an integral without damping. */
static const f32 kept_part = 0.008f;
/* Greatest excess of long waves that a step resolves at once. */
static const f32 long_excess = 0.1f;
/* Greatest pressure of an item, ρ spacing² / h²: a bound on what a step can do. */
static const f32 pressure_most = 0.3f;
/* An item with this little density has no pressure from earlier. */
static const f32 alone_excess = -0.2f;
/* Least kinematic viscosity, spacings² per step: it stills the noise of a rough arrangement. */
static const f32 viscosity_least = 0.005f;
/* Of that least viscosity, what rubs on walls. */
static const f32 wall_part = 0.3f;
/* Greatest, with which the explicit step is stable. */
static const f32 viscosity_most = 0.1f;

/* ---- 1 ---- */

typedef struct Density {
    f32 sum;    /* Σ φ W */
    Vec3 slope; /* Σ φ ∇W */
    f32 others; /* Σ φ β |∇W|² of the others */
    Vec3 warm;  /* Σ φ (P of the other) ∇W */
    Vec3 tension;
} Density;

SIMD_INLINE Density density_of(const Liquid *liquid, u32 i, bool mixed, bool cohesive)
{
    const u32 *near = &liquid->near[(size_t)i * LIQUID_NEIGHBOURS_MAX];
    const Four *at = &liquid->place[i];
    f32 per_d = 1.0f / liquid->def.spacing, lightness = liquid->factors[0].lightness;
    f32x8 zero = f32x8_set(0.0f), sum = zero, others = zero;
    Vec3x8 slope = {zero, zero, zero}, warm = slope, tension = slope;
    f32x8 own = f32x8_set(liquid->trait[i].w);
    for (u32 k = 0; k < liquid->near_count[i]; k += SIMD_LANES) {
        Near8 n = near_of(liquid, at, near + k, per_d);
        Vec3x8 g = vec3x8_scale(n.off, n.over);
        f32x8 squared = vec3x8_dot(g, g);
        warm = vec3x8_add_scaled(warm, n.w, g);
        if (mixed || cohesive) {
            f32x8 trait[4];
            gather_fours(liquid->trait, near + k, trait);
            sum += trait[0] * kernel_wide(n.q);
            slope = vec3x8_add_scaled(slope, trait[0], g);
            others += trait[1] * squared;
            if (cohesive) { /* attraction beyond the spacing */
                f32x8 a = f32x8_max(n.q - 1.0f, zero) * f32x8_max(2.0f - n.q, zero);
                f32x8 pull = 4.0f * f32x8_min(trait[3], own) * a / f32x8_max(n.r, f32x8_set(1e-9f));
                tension = vec3x8_sub_scaled(tension, pull, n.off);
            }
        } else {
            sum += kernel_wide(n.q);
            slope = vec3x8_add(slope, g);
            others += squared;
        }
    }
    Density out = {sum_lanes(sum), sum_vectors(slope), sum_lanes(others), sum_vectors(warm),
                   sum_vectors(tension)};
    out.others *= mixed || cohesive ? 1.0f : lightness;
    return out;
}

/* What the half-spaces of an item's things add to its constraint. */
typedef struct Wall {
    Vec3 slope; /* ∇b */
    f32 yields; /* 1/(kg m²), by the things */
} Wall;

static Wall wall_of(const Liquid *liquid, u32 i)
{
    Wall wall = {{0.0f, 0.0f, 0.0f}, 0.0f};
    for (u32 k = liquid->pair_first[i]; k < liquid->pair_first[i + 1]; k++) {
        const LiquidPair *pair = &liquid->pairs[k];
        wall.slope = vec3_add_scaled(wall.slope, -pair->slope, pair->normal);
        if (pair->mover != LIQUID_STATIC) {
            const LiquidMover *mover = &liquid->movers[pair->mover];
            wall.yields += pair->slope * mover->inverse_mass * liquid->movers[mover->group].load;
        }
    }
    return wall;
}

SIMD_INLINE void predict_item(Liquid *liquid, u32 i, bool mixed, bool cohesive)
{
    const PhaseFactors *phase = &liquid->factors[mixed ? liquid->phase_of[i] : 0];
    Density density = density_of(liquid, i, mixed, cohesive);
    f32 walls = liquid_boundary_item(liquid, i);
    Wall wall = wall_of(liquid, i);
    Vec3 full = vec3_add(density.slope, wall.slope);
    f32 inertia = phase->lightness * vec3_length_squared(full) + phase->part * density.others;
    f32 least = 0.1f * phase->lightness / (liquid->def.spacing * liquid->def.spacing);
    liquid->inertia[i] = f32_max(inertia, least);
    f32 excess = phase->grains != 0 ? 0.0f : density.sum + walls - 1.0f;
    liquid->excess[i] = excess;
    f32 own = liquid->place[i].w / phase->part;
    Vec3 warm = vec3_add(vec3_scale(full, own), density.warm);
    Four *v = &liquid->motion[i];
    Vec3 now = vec3_add_scaled(vec3_of(v), liquid->h, liquid->gravity);
    now = vec3_add_scaled(now, -phase->lightness, warm);
    if (cohesive) {
        now = vec3_add_scaled(now, liquid->h / phase->mass, density.tension);
    }
    *v = (Four){now.x, now.y, now.z, v->w};
}

static void predict(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    if (liquid->cohesive) {
        for (u32 i = first; i < end; i++) {
            predict_item(liquid, i, true, true);
        }
    } else if (liquid->mixed) {
        for (u32 i = first; i < end; i++) {
            predict_item(liquid, i, true, false);
        }
    } else {
        for (u32 i = first; i < end; i++) {
            predict_item(liquid, i, false, false);
        }
    }
}

/* ---- 2 ---- */

/* Friction of an item along its things: the stress of its viscosity over its distance, as far as
 * that stops it; that of grains belongs to their contacts. */
static Vec3 wall_drag(Liquid *liquid, u32 i, f32 *rate, Vec3 v)
{
    const PhaseFactors *phase = &liquid->factors[liquid->phase_of[i]];
    f32 d = liquid->def.spacing;
    Vec3 sum = vec3_zero();
    for (u32 k = liquid->pair_first[i]; k < liquid->pair_first[i + 1]; k++) {
        LiquidPair *pair = &liquid->pairs[k];
        if (!(pair->slope > 0.0f) || phase->grains != 0) {
            continue;
        }
        Vec3 against = vec3_sub(v, pair->speed);
        f32 approach = vec3_dot(against, pair->normal);
        *rate -= pair->slope * approach;
        if (!(pair->far < 1.0f * d)) {
            continue;
        }
        Vec3 slip = vec3_add_scaled(against, -approach, pair->normal);
        f32 thick = f32_max(phase->viscosity, wall_part * liquid->motion[i].w);
        f32 c = liquid->h * thick * phase->lightness * d * d / f32_max(pair->far, 0.25f * d);
        f32 part = c / (1.0f + c), stops = 2.0f * liquid->h * liquid->motion[i].w;
        stops *= phase->lightness * d;
        stops /= 1.0f + stops;
        Vec3 drag = vec3_add_scaled(vec3_scale(slip, -part), -stops * approach, pair->normal);
        sum = vec3_add(sum, drag);
        if (pair->mover != LIQUID_STATIC) {
            liquid->movers[pair->mover].drag = vec3_scale(drag, phase->mass);
        }
    }
    return sum;
}

SIMD_INLINE void project_item(Liquid *liquid, u32 i, bool mixed)
{
    const PhaseFactors *phase = &liquid->factors[mixed ? liquid->phase_of[i] : 0];
    const u32 *near = &liquid->near[(size_t)i * LIQUID_NEIGHBOURS_MAX];
    const Four *at = &liquid->place[i], *v = &liquid->motion[i];
    f32 d = liquid->def.spacing, per_d = 1.0f / d;
    f32x8 zero = f32x8_set(0.0f), rates = zero, own = f32x8_set(v->w);
    Vec3x8 drag = {zero, zero, zero};
    for (u32 k = 0; k < liquid->near_count[i]; k += SIMD_LANES) {
        Near8 n = near_of(liquid, at, near + k, per_d);
        f32x8 motion[4];
        gather_fours(liquid->motion, near + k, motion);
        Vec3x8 against = {v->x - motion[0], v->y - motion[1], v->z - motion[2]};
        f32x8 over = n.over, thick = motion[3] + own, trait[4];
        if (mixed) {
            gather_fours(liquid->trait, near + k, trait);
            over = over * trait[0];
            thick = thick * (1.0f - trait[2] * liquid->trait[i].z); /* not between grains */
        }
        rates += over * vec3x8_dot(against, n.off);
        drag = vec3x8_add_scaled(drag, over * thick, against);
    }
    f32 rate = sum_lanes(rates), h = liquid->h;
    Vec3 change = vec3_scale(sum_vectors(drag), h * phase->lightness * d * d * d);
    change = vec3_add(change, wall_drag(liquid, i, &rate, vec3_of(v)));
    f32 excess = liquid->excess[i];
    liquid->wanted[i] = rate + excess / h;
    /* Of long waves: a deep tank that expanded in one step would be thrown up. */
    f32 grows = f32_min(excess, long_excess) / h;
    liquid->change[i] = (Four){change.x, change.y, change.z, rate + grows};
}

Vec3 liquid_wall_slope(const Liquid *liquid, u32 i)
{
    return wall_of(liquid, i).slope;
}

f32 liquid_wall_yields(const Liquid *liquid, u32 i)
{
    return wall_of(liquid, i).yields;
}

/* The pressure that stops what is wanted; a part of its change is kept for the next step. */
static void press(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 d = liquid->def.spacing, impulse = liquid->h * d * d * d;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        f32 part = liquid->factors[liquid->phase_of[i]].part;
        f32 inertia = liquid->inertia[i] + part * wall_of(liquid, i).yields;
        f32 before = liquid->place[i].w / part;
        f32 change = relaxation * liquid->wanted[i] / inertia + liquid_coarse_pressure(liquid, i);
        f32 most =
            pressure_most * d * d / (liquid->h * liquid->factors[liquid->phase_of[i]].lightness);
        f32 now = f32_clamp(before + change, 0.0f, most);
        now = liquid->factors[liquid->phase_of[i]].grains != 0 ? 0.0f : now;
        liquid->place[i].w = (now - before) * part;
        f32 kept = liquid->excess[i] < alone_excess ? f32_min(before, now)
                                                    : before + kept_part * (now - before);
        liquid->pressure[i] = kept / impulse;
        liquid->wanted[i] = now / impulse;
        liquid->full[i] = now;
    }
}

static void project(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    if (liquid->mixed) {
        for (u32 i = first; i < end; i++) {
            project_item(liquid, i, true);
        }
    } else {
        for (u32 i = first; i < end; i++) {
            project_item(liquid, i, false);
        }
    }
}

/* ---- 3 ---- */

SIMD_INLINE void correct_item(Liquid *liquid, u32 i, bool mixed)
{
    const PhaseFactors *phase = &liquid->factors[mixed ? liquid->phase_of[i] : 0];
    const u32 *near = &liquid->near[(size_t)i * LIQUID_NEIGHBOURS_MAX];
    const Four *at = &liquid->place[i];
    f32 per_d = 1.0f / liquid->def.spacing, own = at->w / phase->part;
    f32x8 zero = f32x8_set(0.0f);
    Vec3x8 sum = {zero, zero, zero};
    for (u32 k = 0; k < liquid->near_count[i]; k += SIMD_LANES) {
        Near8 n = near_of(liquid, at, near + k, per_d);
        if (mixed) {
            f32x8 trait[4];
            gather_fours(liquid->trait, near + k, trait);
            n.w += own * trait[0];
        } else {
            n.w += own;
        }
        sum = vec3x8_add_scaled(sum, n.over * n.w, n.off);
    }
    Vec3 push = vec3_add_scaled(sum_vectors(sum), own, wall_of(liquid, i).slope);
    Four *v = &liquid->motion[i];
    Vec3 now = vec3_add(vec3_of(v), vec3_of(&liquid->change[i]));
    now = vec3_add_scaled(now, -phase->lightness, push);
    *v = (Four){now.x, now.y, now.z, v->w};
}

static void correct(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    if (liquid->mixed) {
        for (u32 i = first; i < end; i++) {
            correct_item(liquid, i, true);
        }
    } else {
        for (u32 i = first; i < end; i++) {
            correct_item(liquid, i, false);
        }
    }
}

/* ---- motion ---- */

static void collide(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    liquid_boundary_contact(context, first, end);
}

static f32 or_zero(f32 x)
{
    return x - x == 0.0f ? x : 0.0f;
}

static void move(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 h = liquid->h, d = liquid->def.spacing, error = 0.0f, worst = 0.0f;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        Four *x = &liquid->place[i], *v = &liquid->motion[i];
        Vec3 u = vec3(or_zero(v->x), or_zero(v->y), or_zero(v->z));
        f32 speed = vec3_length(u);
        u = speed > SPEED_MAX_M_S ? vec3_scale(u, SPEED_MAX_M_S / speed) : u;
        Vec3 at = vec3_add_scaled(vec3_of(x), h, u);
        f32 e = WORLD_EXTENT_MAX_M;
        at = vec3(f32_clamp(at.x, -e, e), f32_clamp(at.y, -e, e), f32_clamp(at.z, -e, e));
        f32 pressure = f32_min(or_zero(liquid->pressure[i]), 1e12f);
        liquid->pressure[i] = pressure;
        f32 part = liquid->factors[liquid->phase_of[i]].part;
        *x = (Four){at.x, at.y, at.z, pressure * (h * d * d * d) * part};
        *v = (Four){u.x, u.y, u.z, v->w};
        f32 over = f32_max(liquid->excess[i], 0.0f);
        error += over;
        worst = f32_max(worst, over);
    }
    f32 *sums = &liquid->sums[2 * (size_t)(first / LIQUID_GRAIN)];
    sums[0] = error;
    sums[1] = worst;
}

/* Pressures as impulses of this step, and viscosities as it can take them. */
static void prepare(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 d = liquid->def.spacing, h = liquid->h;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        const PhaseFactors *phase = &liquid->factors[liquid->phase_of[i]];
        f32 unit = 1.0f / (phase->lightness * d * h);
        liquid->place[i].w = liquid->pressure[i] * (h * d * d * d) * phase->part;
        liquid->motion[i].w = f32_clamp(phase->viscosity, viscosity_least * phase->damping * unit,
                                        viscosity_most * unit);
    }
}

static void flow(Liquid *liquid, f32 h)
{
    u32 n = liquid->items;
    liquid->h = h;
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, prepare, liquid);
    liquid_boundary_step(liquid);
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, predict, liquid);
    liquid_boundary_load(liquid);
    liquid_boundary_press(liquid, true);
    liquid_hands_step(liquid, h);
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, project, liquid);
    if (liquid->coarse_stale) {
        liquid_coarse_build(liquid);
        liquid->coarse_stale = false;
    }
    liquid_coarse_solve(liquid);
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, press, liquid);
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, correct, liquid);
    liquid_boundary_press(liquid, false);
}

void liquid_step(Liquid *liquid, f32 h)
{
    u32 n = liquid->items;
    if (liquid->fluids) {
        flow(liquid, h);
    } else {
        liquid_grains_fall(liquid, h);
    }
    liquid_grains_step(liquid, h);
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, collide, liquid);
    liquid_boundary_contact_movers(liquid);
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, move, liquid);
}
