/*
 * pass.c: a step of the liquid, in passes over all pairs of neighbours. All are Jacobi: an item
 * reads others and writes itself, and its sums run over its list in order, so that results do not
 * depend on threads. What i does to j, j does to i with the opposite sign to the last bit.
 *
 * 1 predict: the pressures of the last step act again, with gravity; density.
 * 2 project: what the velocities then do to the density, less what an excess asks for; viscosity
 *   (Morris et al. 1997); the shift of positions that takes an excess away.
 * solve.c: the change of pressure that stops that, not below zero.
 * 3 correct: velocities by the change of pressure.
 * Positions move by the corrected velocities and the shift. Taking an excess away by velocities
 * alone would leave its energy in them. The force of a wall is the gradient of the density that
 * it adds: anything else is not conservative and heats the liquid.
 */
#include "server/physics/liquid/near8.h"

/* Part of a small excess of density that a step's velocities take away (more than the slowest wave
 * gains in a step would overshoot, and what velocities take away they keep as energy), what counts
 * as small, and the same of a deficit beyond: liquid may close up to its density at rest. */
static const f32 settling_part = 0.05f;
static const f32 small_excess = 0.01f;
static const f32 closing_part = 0.25f;
/* The rest is taken from positions alone, by Jacobi's method, without a change of velocity: this
 * part in terms of the diagonal of the smooth operator, which is several times that of the rough
 * one. */
static const f32 shift_part = 2.0f;
static const f32 shift_excess_most = 1.0f;
/* An item with this little density has no pressure from earlier. */
static const f32 alone_excess = -0.25f;
/* Least kinematic viscosity, spacings² per step: it stills the noise of a rough arrangement. */
static const f32 viscosity_least = 0.002f;
/* Of that least viscosity, what rubs on walls. */
static const f32 wall_part = 0.3f;
/* Greatest, with which the explicit step is stable. */
static const f32 viscosity_most = 0.07f;

/* Slope of walls, over the spacing, that the operator's pairs outweigh. */
static const f32 wall_most = 1.3f;

/* ---- 1 ---- */

typedef struct Density {
    f32 sum;    /* Σ φ W */
    Vec3 slope; /* Σ φ ∇W */
    f32 others; /* Σ of the operator's pairs */
    Vec3 warm;  /* Σ φ (P of the other) ∇W */
    Vec3 tension;
} Density;

SIMD_INLINE Density density_of(const Liquid *liquid, u32 i, bool mixed, bool cohesive)
{
    const u32 *near = near_list(liquid, i);
    const Four *at = &liquid->place[i];
    f32 per_d = 1.0f / liquid->def.spacing, light = liquid->trait[i].y;
    Kernel kernel = kernel_of(liquid);
    f32x8 zero = f32x8_set(0.0f), sum = zero, others = zero;
    Vec3x8 slope = {zero, zero, zero}, warm = slope, tension = slope;
    f32x8 own = f32x8_set(liquid->trait[i].w);
    for (u32 k = 0; k < liquid->near_count[i]; k += SIMD_LANES) {
        Near8 n = near_of(liquid, at, near + k, kernel);
        Vec3x8 g = vec3x8_scale(n.off, n.over);
        warm = vec3x8_add_scaled(warm, n.w, g);
        if (mixed || cohesive) {
            f32x8 trait[4];
            gather_fours(liquid->trait, near + k, trait);
            sum += trait[0] * kernel_wide(n.rest);
            slope = vec3x8_add_scaled(slope, trait[0], g);
            others += n.over * (0.5f * (trait[1] + light));
            if (cohesive) { /* attraction beyond the spacing */
                f32x8 r = f32x8_sqrt(n.r2), q = r * per_d;
                f32x8 a = f32x8_max(q - 1.0f, zero) * f32x8_max(2.0f - q, zero);
                f32x8 pull = 4.0f * f32x8_min(trait[3], own) * a / f32x8_max(r, f32x8_set(1e-9f));
                tension = vec3x8_sub_scaled(tension, pull, n.off);
            }
        } else {
            sum += kernel_wide(n.rest);
            slope = vec3x8_add(slope, g);
            others += n.over;
        }
    }
    Density out = {sum_lanes(sum), sum_vectors(slope), sum_lanes(others), sum_vectors(warm),
                   sum_vectors(tension)};
    out.others *= -2.0f * (mixed || cohesive ? 1.0f : light);
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

/* From here on a wall is stiffer than the pairs, and counts in the diagonal of the operator. */
static f32 wall_most_2(const Liquid *liquid)
{
    return wall_most * wall_most / (liquid->def.spacing * liquid->def.spacing);
}

SIMD_INLINE void predict_item(Liquid *liquid, u32 i, bool mixed, bool cohesive)
{
    const PhaseFactors *phase = &liquid->factors[mixed ? liquid->phase_of[i] : 0];
    Density density = density_of(liquid, i, mixed, cohesive);
    f32 walls = liquid_boundary_item(liquid, i);
    Wall wall = wall_of(liquid, i);
    Vec3 full = vec3_add(density.slope, wall.slope);
    f32 per_mass = 1.0f / phase->mass, excess = density.sum + walls - 1.0f;
    f32 inertia = density.others + 2.0f * liquid->trait[i].y * kernel_of(liquid).scale;
    inertia += per_mass * f32_max(vec3_length_squared(wall.slope) - wall_most_2(liquid), 0.0f);
    f32 least = 0.1f * per_mass / (liquid->def.spacing * liquid->def.spacing);
    liquid->inertia[i] = f32_max(inertia, least);
    excess = phase->grains != 0 ? 0.0f : excess;
    liquid->excess[i] = excess;
    liquid->full[i] = (Four){full.x, full.y, full.z, 0.0f};
    Vec3 warm = vec3_scale(density.warm, phase->part);
    warm = vec3_add_scaled(warm, liquid->place[i].w, full);
    Four *v = &liquid->motion[i];
    Vec3 now = vec3_add_scaled(vec3_of(v), liquid->h, liquid->gravity);
    now = vec3_add_scaled(now, -per_mass, warm);
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
        *rate -= pair->slope * vec3_dot(against, pair->normal);
        if (!(pair->far < 1.0f * d)) {
            continue;
        }
        against = vec3_add(against, sum); /* what other things have stopped already */
        f32 approach = vec3_dot(against, pair->normal);
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
    const u32 *near = near_list(liquid, i);
    const Four *at = &liquid->place[i], *v = &liquid->motion[i];
    f32 d = liquid->def.spacing;
    Kernel kernel = kernel_of(liquid);
    f32x8 zero = f32x8_set(0.0f), rates = zero, own = f32x8_set(v->w);
    Vec3x8 drag = {zero, zero, zero}, shifts = drag;
    for (u32 k = 0; k < liquid->near_count[i]; k += SIMD_LANES) {
        Near8 n = near_of(liquid, at, near + k, kernel);
        f32x8 motion[4];
        gather_fours(liquid->motion, near + k, motion);
        Vec3x8 against = {v->x - motion[0], v->y - motion[1], v->z - motion[2]};
        f32x8 over = n.over, thick = 2.0f * f32x8_min(motion[3], own), trait[4];
        if (mixed) {
            gather_fours(liquid->trait, near + k, trait);
            over = over * trait[0];
            thick = thick * (1.0f - trait[2] * liquid->trait[i].z); /* not between grains */
        }
        rates += over * vec3x8_dot(against, n.off);
        shifts = vec3x8_add_scaled(shifts, n.over * n.w, n.off);
        drag = vec3x8_add_scaled(drag, over * thick, against);
    }
    f32 rate = sum_lanes(rates), h = liquid->h;
    Vec3 change = vec3_scale(sum_vectors(drag), h * phase->lightness * d * d * d);
    change = vec3_add(change, wall_drag(liquid, i, &rate, vec3_of(v)));
    liquid->change[i] = (Four){change.x, change.y, change.z, 0.0f};
    /* The residual: what pressures have to stop. */
    f32 excess = liquid->excess[i];
    f32 near_rest = f32_clamp(excess, -small_excess, small_excess);
    f32 closing = closing_part * f32_min(excess + small_excess, 0.0f);
    f32 wanted = rate + (settling_part * near_rest + closing) / h;
    Vec3 shift = vec3_scale(sum_vectors(shifts), mixed ? phase->part : 1.0f);
    shift = vec3_add_scaled(shift, at->w, vec3_of(&liquid->full[i]));
    shift =
        vec3_scale(shift, phase->grains != 0 ? 0.0f : -1.0f / phase->mass); /* of liquids alone */
    liquid->shift[i] = (Four){shift.x, shift.y, shift.z, 0.0f};
    bool free = phase->grains == 0 && liquid->excess[i] > alone_excess &&
                (wanted > 0.0f || liquid->pushes[i] > 0.0f);
    liquid->active[i] = free;
    liquid->residual[i] = free ? wanted : 0.0f;
}

f32 liquid_wall_yields(const Liquid *liquid, u32 i)
{
    return wall_of(liquid, i).yields;
}

/* What the excess of an item asks of positions, for the next pass to gather. */
static void loosen(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        f32 excess = f32_clamp(liquid->excess[i], 0.0f, shift_excess_most);
        liquid->place[i].w = shift_part * excess / liquid->inertia[i];
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
    const u32 *near = near_list(liquid, i);
    const Four *at = &liquid->place[i];
    f32 own = at->w;
    Kernel kernel = kernel_of(liquid);
    f32x8 zero = f32x8_set(0.0f);
    Vec3x8 sum = {zero, zero, zero};
    for (u32 k = 0; k < liquid->near_count[i]; k += SIMD_LANES) {
        Near8 n = near_of(liquid, at, near + k, kernel);
        sum = vec3x8_add_scaled(sum, n.over * n.w, n.off);
    }
    Vec3 push = vec3_scale(sum_vectors(sum), mixed ? phase->part : 1.0f);
    push = vec3_add_scaled(push, own, vec3_of(&liquid->full[i]));
    Four *v = &liquid->motion[i];
    Vec3 now = vec3_add(vec3_of(v), vec3_of(&liquid->change[i]));
    now = vec3_add_scaled(now, -1.0f / phase->mass, push);
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
    f32 way = 0.0f, fastest = 0.0f;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        Four *x = &liquid->place[i], *v = &liquid->motion[i];
        Vec3 u = vec3(or_zero(v->x), or_zero(v->y), or_zero(v->z));
        f32 speed = vec3_length(u);
        u = speed > SPEED_MAX_M_S ? vec3_scale(u, SPEED_MAX_M_S / speed) : u;
        Vec3 at = vec3_add(vec3_add_scaled(vec3_of(x), h, u), vec3_of(&liquid->shift[i]));
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

/* Pressures as impulses of this step, and viscosities as it can take them. */
static void prepare(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 d = liquid->def.spacing, h = liquid->h;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        const PhaseFactors *phase = &liquid->factors[liquid->phase_of[i]];
        f32 unit = 1.0f / (phase->lightness * d * h);
        liquid->pushes[i] = liquid->pressure[i] * (h * d * d * d) * phase->part;
        liquid->place[i].w = liquid->pushes[i];
        liquid->motion[i].w = f32_clamp(phase->viscosity, viscosity_least * phase->damping * unit,
                                        viscosity_most * unit);
    }
}

static void flow(Liquid *liquid, f32 h)
{
    u32 n = liquid->items;
    liquid->h = h;
    liquid_neighbours(liquid);
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, prepare, liquid);
    liquid_boundary_step(liquid);
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, predict, liquid);
    liquid_boundary_load(liquid);
    liquid_boundary_press(liquid, true);
    liquid_boundary_speeds(liquid);
    liquid_hands_step(liquid, h);
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, loosen, liquid);
    jobs_run(liquid->jobs, n, LIQUID_GRAIN, project, liquid);
    liquid_solve(liquid);
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
    f32 way = 0.0f;
    liquid->fastest = 0.0f;
    for (u32 r = 0; r * LIQUID_GRAIN < n; r++) {
        way = f32_max(way, liquid->sums[4 * (size_t)r + 2]);
        liquid->fastest = f32_max(liquid->fastest, liquid->sums[4 * (size_t)r + 3]);
    }
    liquid->moved += way;
    liquid->moved_since = true;
}
