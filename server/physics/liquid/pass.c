/*
 * pass.c: a step of the liquid, in passes over all pairs of neighbours. All are Jacobi: an item
 * reads others and writes itself, and its sums run over its list in order, so that results do not
 * depend on threads. The effect of i on j equals that of j on i with the opposite sign, to the last
 * bit.
 *
 * 1 predict: the pressures of the last step act again, with gravity; density. 2 project: the rate
 * of density at these velocities, minus the correction of an excess; viscosity
 *   (Morris et al. 1997); the shift of positions that takes an excess away.
 * solve.c: the change of pressure that stops this, not below zero. 3 correct: velocities by the
 * change of pressure. Positions move by the corrected velocities and the shift. Removing an excess
 * by velocities alone would leave its energy in them. The force of a wall is the gradient of the
 * density that it adds: anything else is not conservative and heats the liquid.
 */
#include "server/physics/liquid/near8.h"

#include <math.h>
#include <string.h>

/* Fraction of a small excess of density that a step's velocities remove (more than the slowest wave
 * gains in a step would overshoot, and velocities keep the energy of what they remove); the limit
 * of a small excess; and the same for a deficit: liquid may contract to its rest density. */
static const f32 settling_part = 0.05f;
static const f32 small_excess = 0.01f;
static const f32 closing_part = 0.25f;
/* The rest is removed from positions only, by Jacobi's method, without a change of velocity: this
 * fraction relative to the diagonal of the smooth operator, which is several times that of the
 * rough one. */
static const f32 shift_part = 2.0f;
static const f32 shift_excess_most = 1.0f;
/* Longest shift, spacings: shifts ignore contact, and must not carry compressed liquid through a
 * wall. */
static const f32 shift_most = 0.25f;
/* An item with this little density has no pressure from earlier. */
static const f32 alone_excess = -0.25f;
/* Least kinematic viscosity, spacings² per step: it damps the noise of an irregular arrangement. */
static const f32 viscosity_least = 0.002f;
/* Fraction of that least viscosity that acts on walls. */
static const f32 wall_part = 0.3f;
/* Greatest of an explicit step, which is stable to about 0.07. */
static const f32 viscosity_most = 0.05f;

/* Slope of walls, over the spacing, that is small compared to the operator's pairs. */
static const f32 wall_most = 1.3f;

/* Gradient of density, over the spacing, at which an item is entirely surface: that of the first
 * layer of a plane surface is 0.49, that of the second none. */
static const f32 surface_slope = 0.4f;
/* ---- walls ---- */

/* Pressure of an item as the impulse of this step, and its viscosity as the step can take it. */
static void prepare(Liquid *liquid, u32 i)
{
    const PhaseFactors *phase = &liquid->factors[liquid->phase_of[i]];
    f32 d = liquid->def.spacing, h = liquid->h, unit = 1.0f / (phase->lightness * d * h);
    liquid->pushes[i] = liquid->pressure[i] * (h * d * d * d) * phase->part;
    liquid->place[i].w = liquid->pushes[i];
    liquid->motion[i].w = f32_max(phase->viscosity, viscosity_least * phase->damping * unit);
}

/* Contribution of the half-spaces of an item's things to its constraint: their slope, and their
 * density as the fourth number. */
static void find_walls(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        prepare(liquid, i);
        Four wall = {0.0f, 0.0f, 0.0f, 0.0f};
        if (liquid->pair_first[i] != liquid->pair_first[i + 1]) {
            wall.w = liquid_boundary_item(liquid, i);
        }
        for (u32 k = liquid->pair_first[i]; k < liquid->pair_first[i + 1]; k++) {
            const LiquidPair *pair = &liquid->pairs[k];
            wall.x -= pair->slope * pair->normal.x;
            wall.y -= pair->slope * pair->normal.y;
            wall.z -= pair->slope * pair->normal.z;
        }
        liquid->full[i] = wall;
    }
}

/* Compliance of the things of an item to its pressure, 1/(kg m²). */
static f32 yields_of(const Liquid *liquid, u32 i)
{
    f32 sum = 0.0f;
    for (u32 k = liquid->pair_first[i]; k < liquid->pair_first[i + 1]; k++) {
        const LiquidPair *pair = &liquid->pairs[k];
        if (pair->mover != LIQUID_STATIC) {
            const LiquidMover *mover = &liquid->movers[pair->mover];
            sum += pair->slope * mover->inverse_mass * liquid->movers[mover->group].load;
        }
    }
    return sum;
}

/* Above this a wall is stiffer than the pairs, and contributes to the diagonal of the operator. */
static f32 wall_most_2(const Liquid *liquid)
{
    return wall_most * wall_most / (liquid->def.spacing * liquid->def.spacing);
}

/* ---- surface tension ---- */

/* How much of a surface an item is: the square of the gradient of density, with that of walls, over
 * the square of a full surface. In `answer` the cohesion times that. Items of a surface pull each
 * other along it like a membrane, so that its curvature presses. Forces between all items
 * (Tartakovsky & Meakin 2005) would press the inside by ten times that and more: a drop of them is
 * a solid. */
SIMD_INLINE void surface_slice(Liquid *liquid, u32 first, Kernel kernel)
{
    const Four *places = liquid->place;
    f32x8 at[4], wall[4], own[4];
    Vec3x8 slope = vec3x8_zero();
    load_fours(places + first, at);
    const NearRow *end = near_end(liquid, first);
    for (const NearRow *near = near_first(liquid, first); near != end; near++) {
        Near8 n = near_of(places, at, near, kernel);
        f32x8 trait[4];
        gather_near(liquid->trait, near->item, trait);
        slope = vec3x8_add_scaled(slope, n.over * trait[0], n.off);
    }
    load_fours(liquid->full + first, wall);
    load_fours(liquid->trait + first, own);
    slope = vec3x8_add(slope, (Vec3x8){wall[0], wall[1], wall[2]});
    f32 scale = liquid->def.spacing / surface_slope;
    f32x8 part = f32x8_min(vec3x8_dot(slope, slope) * (scale * scale), f32x8_set(1.0f));
    store_fours(liquid->answer + first, own[0], own[1], own[2], own[3] * part);
}

static void find_surface(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    Kernel kernel = kernel_of(liquid);
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i += SIMD_LANES) {
        surface_slice(liquid, i, kernel);
    }
}

/* ---- 1 ---- */

typedef struct Density {
    f32x8 sum;    /* Σ φ W */
    Vec3x8 slope; /* Σ φ ∇W */
    f32x8 overs;  /* Σ of the slopes of kernels over distances */
    f32x8 others; /* Σ of the operator's pairs */
    Vec3x8 warm;  /* Σ φ (P of the other) ∇W */
    Vec3x8 tension;
} Density;

SIMD_INLINE Density density_of(const Liquid *liquid, u32 first, Kernel kernel, bool mixed,
                               bool cohesive)
{
    const Four *places = liquid->place;
    f32x8 at[4], own[4], zero = f32x8_set(0.0f);
    Density sums = {zero, vec3x8_zero(), zero, zero, vec3x8_zero(), vec3x8_zero()};
    load_fours(places + first, at);
    const Four *traits = cohesive ? liquid->answer : liquid->trait;
    if (cohesive) {
        load_fours(traits + first, own);
    } else {
        traits_of(liquid, first, mixed, own);
    }
    const NearRow *end = near_end(liquid, first);
    for (NearRow *near = near_first(liquid, first); near != end; near++) {
        Near8 n = near_of(places, at, near, kernel);
        f32x8_store(near->over, n.over);
        Vec3x8 g = vec3x8_scale(n.off, n.over);
        sums.warm = vec3x8_add_scaled(sums.warm, n.w, g);
        sums.overs += n.over;
        if (mixed) {
            f32x8 trait[4];
            gather_near(traits, near->item, trait);
            sums.sum += trait[0] * (n.over * n.rest);
            sums.slope = vec3x8_add_scaled(sums.slope, trait[0], g);
            sums.others += n.over * (0.5f * (trait[1] + own[1]));
            if (cohesive) {
                f32x8 pull = n.rest * f32x8_min(trait[3], own[3]);
                sums.tension = vec3x8_sub_scaled(sums.tension, pull, n.off);
            }
        } else {
            sums.sum += n.over * n.rest;
            sums.slope = vec3x8_add(sums.slope, g);
        }
    }
    sums.sum = sums.sum * (-1.0f / (12.0f * kernel.per_reach2));
    sums.others = mixed ? sums.others : sums.overs;
    sums.others = sums.others * (mixed ? f32x8_set(-2.0f) : -2.0f * own[1]);
    return sums;
}

/* 1/kg, of grains too. */
SIMD_INLINE f32x8 lightness_of(const Liquid *liquid, u32 first, bool mixed)
{
    f32x8 per_mass = f32x8_set(1.0f / liquid->factors[0].mass);
    for (u32 l = 0; mixed && l < SIMD_LANES; l++) {
        per_mass[l] = 1.0f / liquid->factors[liquid->phase_of[first + l]].mass;
    }
    return per_mass;
}

SIMD_INLINE void predict_slice(Liquid *liquid, u32 first, Kernel kernel, bool mixed, bool cohesive)
{
    f32 d = liquid->def.spacing, h = liquid->h;
    Density density = density_of(liquid, first, kernel, mixed, cohesive);
    f32x8 wall[4], own[4], v[4], zero = f32x8_set(0.0f);
    load_fours(liquid->full + first, wall);
    traits_of(liquid, first, mixed, own);
    load_fours(liquid->motion + first, v);
    if (!cohesive) { /* in which case `answer` has the traits */
        store_fours(liquid->answer + first, v[0], v[1], v[2], v[3]);
    }
    f32x8 per_mass = lightness_of(liquid, first, mixed);
    Vec3x8 walls = {wall[0], wall[1], wall[2]}, full = vec3x8_add(density.slope, walls);
    f32x8_store(liquid->overs + first, density.overs);
    f32x8 inertia = density.others + 2.0f * own[1] * kernel.scale;
    inertia += per_mass * f32x8_max(vec3x8_dot(walls, walls) - wall_most_2(liquid), zero);
    f32x8_store(liquid->inertia + first, f32x8_max(inertia, 0.1f * per_mass / (d * d)));
    f32x8 excess = density.sum + wall[3] - 1.0f;
    f32x8_store(liquid->excess + first, mixed ? f32x8_select(own[2] > zero, zero, excess) : excess);
    store_fours(liquid->full + first, full.x, full.y, full.z, zero);
    f32x8 pressure = f32x8_load(liquid->pushes + first);
    Vec3x8 warm = mixed ? vec3x8_scale(density.warm, own[0]) : density.warm;
    warm = vec3x8_add_scaled(warm, pressure, full);
    Vec3x8 now = {v[0], v[1], v[2]};
    now = vec3x8_add(now, vec3x8_set(vec3_scale(liquid->gravity, h)));
    now = vec3x8_sub_scaled(now, per_mass, warm);
    if (cohesive) {
        now = vec3x8_add_scaled(now, h * per_mass, density.tension);
    }
    store_fours(liquid->motion + first, now.x, now.y, now.z, v[3]);
}

static void predict(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    Kernel kernel = kernel_of(liquid);
    PL_UNUSED(worker);
    if (liquid->cohesive) {
        for (u32 i = first; i < end; i += SIMD_LANES) {
            predict_slice(liquid, i, kernel, true, true);
        }
    } else if (liquid->mixed) {
        for (u32 i = first; i < end; i += SIMD_LANES) {
            predict_slice(liquid, i, kernel, true, false);
        }
    } else {
        for (u32 i = first; i < end; i += SIMD_LANES) {
            predict_slice(liquid, i, kernel, false, false);
        }
    }
}

static void find_neighbours(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    liquid_neighbours_find(context, first, end);
}

/* While the lists of a range are in the cache. */
static void find_and_predict(void *context, u32 first, u32 end, u32 worker)
{
    liquid_neighbours_find(context, first, end);
    predict(context, first, end, worker);
}

/* Velocities as they were before `predict`. */
static void restore(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    memcpy(&liquid->motion[first], &liquid->answer[first], (end - first) * sizeof(Four));
}

static void find_density(Liquid *liquid, bool search)
{
    if (liquid->cohesive) {
        if (search) {
            liquid_pass(liquid, find_neighbours, liquid);
            (void)liquid_neighbours_end(liquid);
        }
        liquid_pass(liquid, find_surface, liquid);
        search = false;
    }
    liquid_pass(liquid, search ? find_and_predict : predict, liquid);
    if (search && liquid_neighbours_end(liquid)) {
        jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, restore, liquid);
        jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, find_walls, liquid);
        liquid_pass(liquid, predict, liquid);
    }
}

/* ---- 2 ---- */

/* Friction of an item along its things: the stress of its viscosity over its distance, at most
 * enough to stop it; that of grains is part of their contacts. */
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
        *rate -= pair->slope * vec3_dot(against, pair->normal);
        if (!(pair->far < 1.0f * d) || liquid->thick) {
            continue;
        }
        against = vec3_add(against, sum); /* already stopped by other things */
        f32 approach = vec3_dot(against, pair->normal);
        Vec3 slip = vec3_add_scaled(against, -approach, pair->normal);
        f32 thick = f32_max(phase->viscosity, wall_part * liquid->motion[i].w);
        f32 c = liquid->h * thick * phase->lightness * d * d / f32_max(pair->far, 0.25f * d);
        f32 part = c / (1.0f + c), stops = 2.0f * liquid->h * liquid->motion[i].w;
        stops *= phase->lightness * d;
        stops /= 1.0f + stops;
        if (pair->mover != LIQUID_STATIC) {
            part = f32_min(part, liquid->movers[pair->mover].drag_most);
            stops = f32_min(stops, liquid->movers[pair->mover].drag_most);
        }
        Vec3 drag = vec3_add_scaled(vec3_scale(slip, -part), -stops * approach, pair->normal);
        sum = vec3_add(sum, drag);
        if (pair->mover != LIQUID_STATIC) {
            liquid->movers[pair->mover].drag = vec3_scale(drag, phase->mass);
        }
    }
    return sum;
}

typedef struct Flow {
    f32x8 rates; /* Σ φ ∇W · (v − v of the other) */
    Vec3x8 drag, shifts;
} Flow;

SIMD_INLINE Flow flow_of(const Liquid *liquid, u32 first, const f32x8 at[4], bool mixed)
{
    const Four *places = liquid->place;
    f32x8 v[4], own[4];
    Flow sums = {f32x8_set(0.0f), vec3x8_zero(), vec3x8_zero()};
    load_fours(liquid->motion + first, v);
    traits_of(liquid, first, mixed, own);
    const NearRow *end = near_end(liquid, first);
    for (const NearRow *near = near_first(liquid, first); near != end; near++) {
        Near8 n = near_again(places, at, near);
        f32x8 motion[4];
        gather_near(liquid->motion, near->item, motion);
        Vec3x8 against = {v[0] - motion[0], v[1] - motion[1], v[2] - motion[2]};
        f32x8 over = n.over, thick = f32x8_min(motion[3], v[3]);
        if (mixed) {
            f32x8 trait[4];
            gather_near(liquid->trait, near->item, trait);
            over = over * trait[0];
            thick = thick * (1.0f - trait[2] * own[2]); /* not between grains */
        }
        sums.rates += over * vec3x8_dot(against, n.off);
        sums.shifts = vec3x8_add_scaled(sums.shifts, n.over * n.w, n.off);
        sums.drag = vec3x8_add_scaled(sums.drag, over * thick, against);
    }
    return sums;
}

/* Friction on walls, into the change of velocity; returns the rates of density with it. */
static f32x8 drag_slice(Liquid *liquid, u32 first, u32 lanes, f32x8 rates)
{
    for (u32 l = 0; l < lanes; l++) {
        u32 i = first + l;
        if (liquid->pair_first[i] != liquid->pair_first[i + 1]) {
            f32 rate = rates[l];
            Four *c = &liquid->change[i];
            Vec3 drag = wall_drag(liquid, i, &rate, vec3_of(&liquid->motion[i]));
            *c = (Four){c->x + drag.x, c->y + drag.y, c->z + drag.z, 0.0f};
            rates[l] = rate;
        }
    }
    return rates;
}

/* Right-hand side for pressures: the rate of density, and a fraction of an excess or deficit. */
SIMD_INLINE f32x8 wanted_of(f32x8 rates, f32x8 excess, f32 h)
{
    f32x8 small = f32x8_set(small_excess), zero = f32x8_set(0.0f);
    f32x8 near_rest = f32x8_min(f32x8_max(excess, -small), small);
    f32x8 closing = closing_part * f32x8_min(excess + small, zero);
    return rates + (settling_part * near_rest + closing) / h;
}

/* Returns what pressures have to stop. */
SIMD_INLINE f32x8 project_slice(Liquid *liquid, u32 first, u32 end, bool mixed)
{
    f32 d = liquid->def.spacing, h = liquid->h;
    u32 lanes = lanes_of(first, end);
    f32x8 at[4], full[4], own[4], zero = f32x8_set(0.0f);
    f32 volume = liquid->thick ? 0.0f : d * d * d; /* that of thick liquids has already acted */
    f32x8 unit = f32x8_set(2.0f * h * volume * liquid->factors[0].lightness);
    load_fours(liquid->place + first, at);
    Flow flow = flow_of(liquid, first, at, mixed);
    load_fours(liquid->full + first, full);
    traits_of(liquid, first, mixed, own);
    for (u32 l = 0; mixed && l < SIMD_LANES; l++) {
        unit[l] = 2.0f * h * volume * liquid->factors[liquid->phase_of[first + l]].lightness;
    }
    Vec3x8 change = vec3x8_scale(flow.drag, unit);
    store_fours(liquid->change + first, change.x, change.y, change.z, zero);
    bool walls = liquid->pair_first[first] != liquid->pair_first[first + lanes];
    f32x8 rates = walls ? drag_slice(liquid, first, lanes, flow.rates) : flow.rates;
    f32x8 excess = f32x8_load(liquid->excess + first);
    f32x8 wanted = wanted_of(rates, excess, h), pushes = f32x8_load(liquid->pushes + first);
    Vec3x8 shift = mixed ? vec3x8_scale(flow.shifts, own[0]) : flow.shifts;
    shift = vec3x8_add_scaled(shift, at[3], (Vec3x8){full[0], full[1], full[2]});
    shift = vec3x8_scale(shift, -own[1]); /* of liquids alone */
    store_fours(liquid->shift + first, shift.x, shift.y, shift.z, zero);
    i32x8 active = (excess > alone_excess) & ((wanted > zero) | (pushes > zero));
    active = mixed ? active & (own[2] == zero) : active;
    f32x8 residual = f32x8_and(active, wanted);
    f32x8_store(liquid->active + first, f32x8_and(active, f32x8_set(1.0f)));
    f32x8_store(liquid->residual + first, residual);
    return residual;
}

/* The position correction for the excess of an item, gathered by the next pass; the compliance of
 * its things is the fourth number of `full`. */
static void loosen(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        f32 excess = f32_clamp(liquid->excess[i], 0.0f, shift_excess_most);
        liquid->place[i].w = shift_part * excess / liquid->inertia[i];
        liquid->full[i].w = liquid->mover_count != 0 ? yields_of(liquid, i) : 0.0f;
    }
}

static void project(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f64 sum = 0.0;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i += SIMD_LANES) {
        f32x8 residual = liquid->mixed ? project_slice(liquid, i, end, true)
                                       : project_slice(liquid, i, end, false);
        for (u32 l = 0; l < lanes_of(i, end); l++) {
            sum += fabs((f64)residual[l]);
        }
    }
    liquid->partials[first / LIQUID_GRAIN] = sum;
}

/* ---- 3 ---- */

SIMD_INLINE void correct_slice(Liquid *liquid, u32 first, bool mixed)
{
    f32x8 at[4], full[4], own[4], v[4], change[4];
    load_fours(liquid->place + first, at);
    Vec3x8 push = push_of(liquid, first, at);
    load_fours(liquid->full + first, full);
    load_fours(liquid->motion + first, v);
    load_fours(liquid->change + first, change);
    traits_of(liquid, first, mixed, own);
    push = mixed ? vec3x8_scale(push, own[0]) : push;
    push = vec3x8_add_scaled(push, at[3], (Vec3x8){full[0], full[1], full[2]});
    Vec3x8 now = {v[0] + change[0], v[1] + change[1], v[2] + change[2]};
    now = vec3x8_sub_scaled(now, lightness_of(liquid, first, mixed), push);
    store_fours(liquid->motion + first, now.x, now.y, now.z, v[3]);
}

static void correct(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    if (liquid->mixed) {
        for (u32 i = first; i < end; i += SIMD_LANES) {
            correct_slice(liquid, i, true);
        }
    } else {
        for (u32 i = first; i < end; i += SIMD_LANES) {
            correct_slice(liquid, i, false);
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

static Vec3 shift_of(const Liquid *liquid, u32 i)
{
    Vec3 shift = vec3_of(&liquid->shift[i]);
    f32 most = shift_most * liquid->def.spacing, size2 = vec3_length_squared(shift);
    return size2 > most * most ? vec3_scale(shift, most / sqrtf(size2)) : shift;
}

static void move(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 h = liquid->h, d = liquid->def.spacing, error = 0.0f, worst = 0.0f;
    f32 way = 0.0f, fastest = 0.0f;
    PL_UNUSED(worker);
    if (liquid->mover_count == 0) { /* else it has been done */
        liquid_boundary_contact(liquid, first, end);
    }
    for (u32 i = first; i < end; i++) {
        Four *x = &liquid->place[i], *v = &liquid->motion[i];
        Vec3 u = vec3(or_zero(v->x), or_zero(v->y), or_zero(v->z));
        f32 speed = vec3_length(u);
        u = speed > SPEED_MAX_M_S ? vec3_scale(u, SPEED_MAX_M_S / speed) : u;
        Vec3 at = vec3_add(vec3_add_scaled(vec3_of(x), h, u), shift_of(liquid, i));
        f32 e = WORLD_EXTENT_MAX_M;
        at = vec3(f32_clamp(at.x, -e, e), f32_clamp(at.y, -e, e), f32_clamp(at.z, -e, e));
        way = f32_max(way, vec3_length_squared(vec3_sub(at, vec3_of(x))));
        fastest = liquid->pushes[i] > 0.0f ? f32_max(fastest, vec3_length_squared(u)) : fastest;
        f32 part = liquid->factors[liquid->phase_of[i]].part;
        liquid->pressure[i] = f32_min(or_zero(liquid->pushes[i]) / (h * d * d * d * part), 1e12f);
        *x = (Four){at.x, at.y, at.z, 0.0f};
        *v = (Four){u.x, u.y, u.z, v->w};
        f32 over = f32_max(liquid->excess[i], 0.0f);
        error += over;
        worst = f32_max(worst, over);
    }
    f32 *sums = &liquid->sums[4 * (size_t)(first / LIQUID_GRAIN)];
    sums[0] = error;
    sums[1] = worst;
    sums[2] = sqrtf(way);
    sums[3] = sqrtf(fastest);
}

/* Is a phase too thick for an explicit step? */
static bool is_thick(const Liquid *liquid)
{
    f32 d = liquid->def.spacing;
    bool thick = false;
    for (u32 p = 0; p < liquid->def.phase_count; p++) {
        const PhaseFactors *phase = &liquid->factors[p];
        thick = thick || phase->viscosity * phase->lightness * d * liquid->h > viscosity_most;
    }
    return thick;
}

static void flow(Liquid *liquid, f32 h)
{
    u32 n = liquid->items;
    liquid->h = h;
    liquid->thick = is_thick(liquid);
    bool search = liquid_neighbours_begin(liquid);
    liquid_boundary_step(liquid);
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, find_walls, liquid);
    liquid_boundary_load(liquid);
    find_density(liquid, search);
    liquid_boundary_press(liquid, true);
    liquid_boundary_speeds(liquid);
    liquid_hands_step(liquid, h);
    if (liquid->thick) {
        liquid_viscous(liquid);
    }
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, loosen, liquid);
    liquid_pass(liquid, project, liquid);
    liquid_solve(liquid);
    liquid_pass(liquid, correct, liquid);
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
    if (liquid->mover_count != 0) {
        jobs_run(liquid->jobs, n, LIQUID_GRAIN, collide, liquid);
        liquid_boundary_contact_movers(liquid);
    }
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, move, liquid);
    f32 way = 0.0f;
    liquid->fastest = 0.0f;
    for (u32 r = 0; r * LIQUID_GRAIN < n; r++) {
        way = f32_max(way, liquid->sums[4 * (size_t)r + 2]);
        liquid->fastest = f32_max(liquid->fastest, liquid->sums[4 * (size_t)r + 3]);
    }
    liquid->moved += way;
    liquid->moved_since = true;
}
