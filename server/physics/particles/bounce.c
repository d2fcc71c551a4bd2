/* bounce.c: impacts of particles. They are moved freely first; then each that is near something
 * is followed along the way from where its step began: to the time of contact, away from there with
 * the velocity after the impact, and so on for the rest of the step. The way is the parabola that
 * the integrator's end point and velocities define, so a bounce in a uniform field is exact. */
#include "server/physics/particles/particles_internal.h"

#include "shared/base/memory.h"

enum {
    THINGS_MAX = 512, /* of one collider, near one bunch */
    BOUNCES_MAX = 5,  /* in a step; then it stays where it is for the rest */
    ROOT_STEPS = 16,
    TRACE_STEPS = 40,
    BUNCH_GRAIN = 8,
    PER_CELL = 10,
    TOUCHED_MAX = 64, /* things that a particle may touch in a step */
    BLOCK_SIDE = 4,   /* cells along each axis that are searched together */
    MEASURED = 32,    /* particles of which the distances are asked at once */
};

/* Speed that forces may add in a tick. */
static const f32 margin_m_s = 2.0f;
/* Accuracy of the place of contact. */
static const f32 place_m = 1e-5f;
/* Step in which a collider is asked about a contact that takes place now. */
static const f32 now_s = 1e-6f;

typedef struct BouncePass {
    Particles *particles;
    f32 h;           /* s, of the step */
    u32 first_bunch; /* of the search: bunches of earlier systems are done */
} BouncePass;

/* A particle on its way: x(t) = position + t velocity + t² bend, v(t) = velocity + t pull. */
typedef struct Flight {
    Vec3 position, velocity, bend, pull;
    f32 left, elapsed; /* s, of the step */
    f32 inverse_mass;  /* 1/kg; 0: massless */
    f32 radius;
    const ParticlesDef *def;
} Flight;

/* A grid over the particles of one system. */
typedef struct BinGrid {
    Vec3 low; /* m */
    f32 inverse_side;
    u32 dims[3], count;
} BinGrid;

/* Blocks of cells of a grid. */
static u32 block_of(const BinGrid *grid, u32 bin)
{
    u32 x = bin % grid->dims[0], y = bin / grid->dims[0] % grid->dims[1];
    u32 z = bin / grid->dims[0] / grid->dims[1];
    u32 wide = (grid->dims[0] + BLOCK_SIDE - 1) / BLOCK_SIDE;
    u32 high = (grid->dims[1] + BLOCK_SIDE - 1) / BLOCK_SIDE;
    return (z / BLOCK_SIDE * high + y / BLOCK_SIDE) * wide + x / BLOCK_SIDE;
}

/* The next contact of a flight. */
typedef struct FirstContact {
    const NearThing *thing; /* NULL: none */
    f32 time;               /* s from now */
    f32 gap;                /* m, negative: inside */
} FirstContact;

/* ---- search ---- */

static bool gather_massive(Particles *p)
{
    p->live_count = 0;
    for (u32 s = 0; s < p->system_count; s++) {
        const ParticleSystem *system = &p->systems[s];
        bool meets = system->def.collide && system->def.behavior != PARTICLE_SWARM;
        if (!meets || system->state.asleep != 0 || system->def.mass_kg <= 0.0f) {
            continue;
        }
        u32 needed = p->live_count + system->high, rooms[2] = {p->live_capacity, p->live_capacity};
        if (!memory_grow((void **)&p->live_slots, &rooms[0], needed, sizeof(u32)) ||
            !memory_grow((void **)&p->live_velocities, &rooms[1], needed, sizeof(Vec3)) ||
            !memory_grow((void **)&p->live_places, &p->live_capacity, needed, sizeof(Vec3))) {
            return false;
        }
        for (u32 i = system->first; i < system->first + system->high; i++) {
            if (p->alive[i]) {
                p->live_places[p->live_count] = p->positions[i];
                p->live_slots[p->live_count++] = i;
            }
        }
    }
    return p->live_count > 0;
}

/* Lists the living particles of a system by the cells of a grid over its bounds, of a size such
 * that a cell holds a handful where they fill the bounds. */
static bool bin_system(Particles *p, const ParticleSystem *system, BinGrid *grid)
{
    u32 end = system->first + system->high, alive = 0;
    Vec3 low = p->bounds.max, high = p->bounds.min;
    for (u32 i = system->first; i < end; i++) {
        if (p->alive[i]) {
            low = vec3_min(low, p->positions[i]);
            high = vec3_max(high, p->positions[i]);
            alive++;
        }
    }
    if (alive == 0) {
        return false;
    }
    Vec3 size = vec3_max(vec3_sub(high, low), vec3(0.1f, 0.1f, 0.1f));
    f64 part = (f64)size.x * (f64)size.y * (f64)size.z * PER_CELL / (f64)alive;
    f32 side = 0.05f;
    u64 total;
    for (;; side *= 1.25f) {
        grid->dims[0] = 1 + (u32)(size.x / side);
        grid->dims[1] = 1 + (u32)(size.y / side);
        grid->dims[2] = 1 + (u32)(size.z / side);
        total = (u64)grid->dims[0] * grid->dims[1] * grid->dims[2];
        if ((f64)side * (f64)side * (f64)side >= part && total <= alive / 4 + 64) {
            break;
        }
    }
    grid->low = low;
    grid->inverse_side = 1.0f / side;
    grid->count = (u32)total;
    return memory_grow((void **)&p->bins, &p->bin_capacity, grid->count, sizeof *p->bins);
}

static u32 bin_at(const BinGrid *grid, Vec3 place)
{
    Vec3 at = vec3_scale(vec3_sub(place, grid->low), grid->inverse_side);
    u32 x = u32_min((u32)f32_max(at.x, 0.0f), grid->dims[0] - 1);
    u32 y = u32_min((u32)f32_max(at.y, 0.0f), grid->dims[1] - 1);
    u32 z = u32_min((u32)f32_max(at.z, 0.0f), grid->dims[2] - 1);
    return (z * grid->dims[1] + y) * grid->dims[0] + x;
}

/* Counts and highest speeds of the cells. */
static void fill_bins(Particles *p, const ParticleSystem *system, const BinGrid *grid)
{
    memset(p->bins, 0, grid->count * sizeof *p->bins);
    for (u32 i = system->first; i < system->first + system->high; i++) {
        if (!p->alive[i]) {
            continue;
        }
        u32 at = bin_at(grid, p->positions[i]);
        Bin *bin = &p->bins[at];
        p->bin_of[i] = at;
        bin->fastest2 = f32_max(bin->fastest2, vec3_length_squared(p->velocities[i]));
        bin->count++;
    }
}

/* Distance from where a particle of this speed is within which it may meet things in this tick. */
static f32 way_of(const Particles *p, const ParticlesDef *def, f32 speed)
{
    f32 gain = margin_m_s + vec3_length(p->gravity) * fabsf(def->gravity_scale) * p->tick_s;
    f32 avoids = def->behavior == PARTICLE_FLOCK ? def->avoidance : 0.0f;
    return (speed + gain) * p->tick_s + f32_max(def->radius + def->radius_spread, avoids);
}

/* Where the particles of a cell, or of a block of cells, may meet things within the tick. */
typedef struct NearBall {
    Vec3 centre;
    f32 reach;
} NearBall;

/* About a cell or block of cells: the first cell, how many along each axis, and its particles. */
static NearBall ball_of(const Particles *p, const ParticlesDef *def, const BinGrid *grid, u32 first,
                        u32 side, const Bin *bin)
{
    f32 cell = 1.0f / grid->inverse_side, half = 0.5f * cell * (f32)side;
    u32 x = first % grid->dims[0], y = first / grid->dims[0] % grid->dims[1];
    u32 z = first / grid->dims[0] / grid->dims[1];
    Vec3 corner = vec3_add_scaled(grid->low, cell, vec3((f32)x, (f32)y, (f32)z));
    f32 way = way_of(p, def, sqrtf(bin->fastest2));
    return (NearBall){vec3_add(corner, vec3(half, half, half)), 1.7321f * half + way};
}

/* Writes the speed of the thing if it is within reach. */
static bool is_within(const Particles *p, const NearThing *thing, const NearBall *ball, f32 *speed)
{
    const Collider *other = &p->colliders[thing->collider];
    Vec3 normal;
    *speed = vec3_length(other->ops->velocity(other->of, thing->thing, ball->centre));
    f32 reach = ball->reach + *speed * p->tick_s;
    return other->ops->distance(other->of, thing->thing, ball->centre, reach, &normal) <= reach;
}

/* Lists the things of all colliders that are within reach. False: there are more than are taken at
 * once, or there is no memory. */
static bool find_things(Particles *p, const ParticlesDef *def, const NearBall *ball)
{
    u32 found[THINGS_MAX];
    Vec3 r = vec3(ball->reach, ball->reach, ball->reach);
    Bounds box = {vec3_sub(ball->centre, r), vec3_add(ball->centre, r)};
    bool all = true;
    for (u32 c = 0; c < p->collider_count; c++) {
        const Collider *other = &p->colliders[c];
        u32 count = other->ops->overlaps(other->of, box, def->group, def->mask, found, THINGS_MAX);
        all = all && count < THINGS_MAX;
        count = u32_min(count, THINGS_MAX);
        if (!memory_grow((void **)&p->found, &p->found_capacity, p->found_count + count,
                         sizeof *p->found)) {
            return false;
        }
        for (u32 t = 0; t < count; t++) {
            NearThing thing = {c, found[t], false};
            f32 speed;
            if (is_within(p, &thing, ball, &speed)) {
                p->found[p->found_count++] = thing;
            }
        }
    }
    return all;
}

/* Searches for the things of each block: most of a cloud is near nothing, and cells of the same
 * block are near the same things. */
static bool search_blocks(Particles *p, const ParticlesDef *def, const BinGrid *grid)
{
    u32 count = block_of(grid, grid->count - 1) + 1;
    if (!memory_grow((void **)&p->blocks, &p->block_capacity, count, sizeof *p->blocks)) {
        return false;
    }
    for (u32 k = 0; k < count; k++) {
        p->blocks[k] = (NearBlock){.first_bin = UINT32_MAX};
    }
    for (u32 b = 0; b < grid->count; b++) {
        const Bin *bin = &p->bins[b];
        NearBlock *block = &p->blocks[block_of(grid, b)];
        block->first_bin = u32_min(block->first_bin, b); /* its cells lie after its corner */
        block->all.fastest2 = f32_max(block->all.fastest2, bin->fastest2);
        block->all.count += bin->count;
    }
    p->found_count = 0;
    for (u32 k = 0; k < count; k++) {
        NearBlock *block = &p->blocks[k];
        block->first = p->found_count;
        if (block->all.count != 0) {
            NearBall ball = ball_of(p, def, grid, block->first_bin, BLOCK_SIDE, &block->all);
            block->crowded = !find_things(p, def, &ball);
        }
        block->count = p->found_count - block->first;
    }
    return true;
}

/* Adds the things of a list that particles in the ball may touch within the tick. */
static bool add_things(Particles *p, const NearThing *list, u32 count, const NearBall *ball,
                       NearBunch *bunch)
{
    if (!memory_grow((void **)&p->things, &p->thing_capacity, p->thing_count + count,
                     sizeof *p->things)) {
        return false;
    }
    for (u32 t = 0; t < count; t++) {
        NearThing thing = list[t];
        const Collider *other = &p->colliders[thing.collider];
        f32 speed;
        if (!is_within(p, &thing, ball, &speed)) {
            continue;
        }
        thing.moves = other->ops->take(other->of, thing.thing);
        bunch->moves = bunch->moves || thing.moves;
        if (thing.moves) { /* it may gain speed within the tick */
            bunch->fastest_m_s = f32_max(bunch->fastest_m_s, 1.25f * speed + margin_m_s);
        }
        p->things[p->thing_count++] = thing;
    }
    return true;
}

/* Particles of a cell that may touch something become a bunch. */
static bool add_bunch(Particles *p, const ParticlesDef *def, const BinGrid *grid, u32 b)
{
    const NearBlock *block = &p->blocks[block_of(grid, b)];
    Bin *bin = &p->bins[b];
    NearBunch bunch = {.first = p->near_count, .count = bin->count, .first_thing = p->thing_count};
    NearBall ball = ball_of(p, def, grid, b, 1, bin);
    u32 first = block->first, count = block->count, before = p->found_count;
    if (block->crowded) {
        (void)find_things(p, def, &ball); /* as many as are taken at once */
        first = before;
        count = p->found_count - before;
    }
    bool added = add_things(p, p->found + first, count, &ball, &bunch);
    p->found_count = before;
    bunch.thing_count = p->thing_count - bunch.first_thing;
    if (!added || bunch.thing_count == 0) {
        return added;
    }
    if (!memory_grow((void **)&p->bunches, &p->bunch_capacity, p->bunch_count + 1,
                     sizeof *p->bunches)) {
        return false;
    }
    bin->next = p->near_count;
    p->near_count += bin->count; /* at most the slots, for which there is room */
    p->bunches[p->bunch_count++] = bunch;
    return true;
}

/* m, by which contacts are out where a particle rests. */
static f32 rest_gap(Vec3 position)
{
    return place_m + 1e-6f * vec3_length(position);
}

/* Measures the way that is clear for particles of a bunch; -1: it meets nothing in this tick. */
static void measure_some(Particles *p, const NearBunch *bunch, NearParticle *near, u32 count)
{
    const ParticlesDef *def = &p->systems[p->system_of[near->slot]].def;
    Vec3 places[MEASURED], normals[MEASURED] = {{0.0f, 0.0f, 0.0f}};
    f32 ways[MEASURED], gaps[MEASURED], found[MEASURED] = {0.0f};
    for (u32 k = 0; k < count; k++) {
        u32 slot = near[k].slot;
        places[k] = p->positions[slot];
        ways[k] = way_of(p, def, vec3_length(p->velocities[slot]));
        ways[k] += bunch->fastest_m_s * p->tick_s;
        gaps[k] = 2.0f * ways[k];
    }
    for (u32 t = 0; t < bunch->thing_count; t++) {
        const NearThing *thing = &p->things[bunch->first_thing + t];
        ContactPoints points = {places, ways, count, found, normals};
        collider_distances(&p->colliders[thing->collider], thing->thing, &points);
        for (u32 k = 0; k < count; k++) {
            if (found[k] < gaps[k]) {
                gaps[k] = found[k];
                near[k].normal = normals[k];
            }
        }
    }
    for (u32 k = 0; k < count; k++) {
        f32 radius = particles_radius_of(p, def, near[k].slot);
        near[k].clear_m = gaps[k] <= ways[k] ? f32_max(gaps[k] - radius, 0.0f) : -1.0f;
        bool touches = fabsf(gaps[k] - radius) <= 4.0f * rest_gap(places[k]);
        near[k].rests = touches && !bunch->moves && particle_is_still(p->velocities[near[k].slot]);
    }
}

static void measure_bunches(void *context, u32 first, u32 end, u32 worker)
{
    const BouncePass *pass = context;
    Particles *p = pass->particles;
    PL_UNUSED(worker);
    for (u32 b = pass->first_bunch + first; b < pass->first_bunch + end; b++) {
        const NearBunch *bunch = &p->bunches[b];
        for (u32 i = 0; i < bunch->count; i += MEASURED) {
            u32 count = u32_min(MEASURED, bunch->count - i);
            measure_some(p, bunch, &p->near[bunch->first + i], count);
        }
    }
}

/* Drops those. */
static void drop_distant(Particles *p, u32 first_bunch)
{
    u32 kept = first_bunch < p->bunch_count ? p->bunches[first_bunch].first : p->near_count;
    for (u32 b = first_bunch; b < p->bunch_count; b++) {
        NearBunch *bunch = &p->bunches[b];
        u32 first = kept;
        for (u32 i = bunch->first; i < bunch->first + bunch->count; i++) {
            if (p->near[i].clear_m >= 0.0f) {
                p->near[kept++] = p->near[i];
            }
        }
        bunch->first = first;
        bunch->count = kept - first;
    }
    p->near_count = kept;
}

static void find_near_system(Particles *p, const ParticleSystem *system)
{
    BinGrid grid;
    if (!bin_system(p, system, &grid)) {
        return;
    }
    u32 first_bunch = p->bunch_count;
    fill_bins(p, system, &grid);
    for (u32 b = 0; b < grid.count; b++) {
        p->bins[b].next = UINT32_MAX;
    }
    bool searched = search_blocks(p, &system->def, &grid);
    for (u32 b = 0; b < grid.count && searched; b++) {
        if (p->bins[b].count != 0) { /* out of memory: the rest meets nothing in this tick */
            searched = add_bunch(p, &system->def, &grid, b);
        }
    }
    for (u32 i = system->first; i < system->first + system->high; i++) {
        Bin *bin = &p->bins[p->alive[i] ? p->bin_of[i] : 0];
        if (p->alive[i] && bin->next != UINT32_MAX) {
            p->near[bin->next++] = (NearParticle){.slot = i};
        }
    }
    BouncePass pass = {p, 0.0f, first_bunch};
    jobs_run(p->jobs, p->bunch_count - first_bunch, BUNCH_GRAIN, measure_bunches, &pass);
    drop_distant(p, first_bunch);
}

void particles_find_near(Particles *p)
{
    p->bunch_count = p->thing_count = p->near_count = 0;
    for (u32 s = 0; s < p->system_count && p->collider_count != 0; s++) {
        const ParticleSystem *system = &p->systems[s];
        if (system->def.collide && system->def.behavior != PARTICLE_SWARM &&
            system->state.asleep == 0) {
            find_near_system(p, system);
        }
    }
}

void particles_stir(Particles *p, const Collider *colliders, u32 count, f32 tick_s)
{
    bool asleep = false;
    for (u32 c = 0; c < count; c++) {
        asleep = asleep || (colliders[c].ops->asleep != NULL &&
                            colliders[c].ops->asleep(colliders[c].of, CONTACT_ANY));
    }
    if (!asleep || !gather_massive(p)) {
        return;
    }
    f32 radius = 0.0f;
    for (u32 i = 0; i < p->live_count; i++) {
        p->live_velocities[i] = p->velocities[p->live_slots[i]];
        radius = f32_max(radius, particles_radius(p, p->live_slots[i]));
    }
    ParticleSet set = {.positions = p->live_places,
                       .velocities = p->live_velocities,
                       .inverse_mass = 1.0f,
                       .count = p->live_count,
                       .radius = radius};
    particle_contacts_stir(&p->sleepers, &set, colliders, count, tick_s);
}

/* ---- flocks keep off ---- */

static void avoid_bunches(void *context, u32 first, u32 end, u32 worker)
{
    const BouncePass *pass = context;
    Particles *p = pass->particles;
    PL_UNUSED(worker);
    for (u32 b = first; b < end; b++) {
        const NearBunch *bunch = &p->bunches[b];
        if (bunch->count == 0) {
            continue;
        }
        const ParticlesDef *def = &p->systems[p->system_of[p->near[bunch->first].slot]].def;
        if (def->behavior != PARTICLE_FLOCK || def->avoidance <= 0.0f) {
            continue;
        }
        for (u32 i = bunch->first; i < bunch->first + bunch->count; i++) {
            u32 slot = p->near[i].slot;
            for (u32 t = 0; t < bunch->thing_count; t++) {
                const NearThing *thing = &p->things[bunch->first_thing + t];
                const Collider *other = &p->colliders[thing->collider];
                Vec3 normal;
                f32 apart = other->ops->distance(other->of, thing->thing, p->positions[slot],
                                                 def->avoidance, &normal);
                if (apart < def->avoidance) {
                    f32 push = 2.0f * def->agility * (1.0f - apart / def->avoidance);
                    push = f32_min(push, 2.0f * def->agility);
                    p->extra[slot] = vec3_add_scaled(p->extra[slot], push, normal);
                    p->middle[slot] = vec3_add_scaled(p->middle[slot], push, normal);
                }
            }
        }
    }
}

void particles_avoid(Particles *p)
{
    BouncePass pass = {.particles = p};
    jobs_run(p->jobs, p->bunch_count, BUNCH_GRAIN, avoid_bunches, &pass);
}

/* ---- time of contact ---- */

/* m/s at which a thing moves at a place; things that rest may have moving surfaces all the same. */
static Vec3 motion_of(const Collider *other, const NearThing *thing, Vec3 place)
{
    return thing->moves ? other->ops->velocity(other->of, thing->thing, place) : vec3_zero();
}

/* Position at a time from now in the frame in which the thing rests where its step began. */
static Vec3 place_at(const Flight *f, f32 t, Vec3 moving)
{
    Vec3 x = vec3_add_scaled(vec3_add_scaled(f->position, t, f->velocity), t * t, f->bend);
    return vec3_add_scaled(x, -(f->elapsed + t), moving);
}

/* m, negative inside, and on the far side of what `side` points away from: where the particle has
 * passed through something thin, the way out has turned. A zero
 * `side` becomes the way out here. */
static f32 gap_at(const Flight *f, const Collider *other, const NearThing *thing, f32 t,
                  Vec3 moving, Vec3 *side)
{
    Vec3 normal = *side, from = place_at(f, 0.0f, moving), to = place_at(f, f->left, moving);
    f32 reach = f->radius + vec3_distance(from, to) + 4.0f * place_m;
    f32 apart =
        other->ops->distance(other->of, thing->thing, place_at(f, t, moving), reach, &normal);
    if (vec3_length_squared(*side) == 0.0f) {
        *side = normal;
    }
    return (vec3_dot(normal, *side) < 0.0f ? -fabsf(apart) : apart) - f->radius;
}

/* Only what moves farther than its radius within h s can pass through something thin. */
static ContactParticle particle_at(const Flight *f, Vec3 position, Vec3 velocity, f32 h)
{
    /* Massless particles meet all the same. */
    return (ContactParticle){.position = position,
                             .velocity = velocity,
                             .inverse_mass = f->inverse_mass > 0.0f ? f->inverse_mass : 1.0f,
                             .radius = f->radius,
                             .swept = vec3_length(velocity) * h > f->radius};
}

/* False position with the Illinois modification (Dowell, Jarratt 1971). */
static f32 contact_time(const Flight *f, const Collider *other, const NearThing *thing, Vec3 moving,
                        Vec3 side, const f32 gap[2])
{
    f32 low = 0.0f, high = f->left, low_gap = gap[0], high_gap = gap[1];
    f32 enough = place_m + 1e-6f * vec3_length(f->position);
    i32 last = 0; /* which bound moved */
    for (u32 i = 0; i < ROOT_STEPS; i++) {
        f32 t = low + (high - low) * (low_gap / (low_gap - high_gap));
        f32 here = gap_at(f, other, thing, t, moving, &side);
        if (fabsf(here) <= enough) {
            return t;
        }
        if (here > 0.0f) {
            low = t;
            low_gap = here;
            high_gap = last == 1 ? 0.5f * high_gap : high_gap;
            last = 1;
        } else {
            high = t;
            high_gap = here;
            low_gap = last == -1 ? 0.5f * low_gap : low_gap;
            last = -1;
        }
    }
    return low;
}

/* Follows a fast particle, by no more than its distance from the thing at a time, so that it cannot
 * get past a corner, a rim or the valley of a mesh that it has just left. False: more steps than
 * are taken; else the contact is noted if there is one. */
static bool trace(const Flight *f, const Collider *other, const NearThing *thing, Vec3 moving,
                  FirstContact *first)
{
    Vec3 against = vec3_sub(f->velocity, moving);
    f32 speed = vec3_length(against) + f->left * vec3_length(f->pull), begun = 0.0f, time = 0.0f;
    f32 enough = place_m + 1e-6f * vec3_length(f->position);
    for (u32 i = 0; i < TRACE_STEPS; i++) {
        Vec3 normal = vec3_zero();
        f32 gap = gap_at(f, other, thing, time, moving, &normal);
        begun = i == 0 ? gap : begun;
        f32 opens = vec3_dot(vec3_add_scaled(against, time, f->pull), normal);
        if (gap <= enough && opens < 0.0f) {
            if (first->thing == NULL || time < first->time) {
                *first = (FirstContact){thing, time, begun};
            }
            return true;
        }
        time += f32_max(fabsf(gap), 4.0f * enough) / speed;
        if (time >= f->left) {
            return true;
        }
    }
    return false;
}

static void meet_thing(const Particles *p, const Flight *f, const NearThing *thing,
                       FirstContact *first)
{
    const Collider *other = &p->colliders[thing->collider];
    Vec3 mean = vec3_add_scaled(f->velocity, f->left, f->bend);
    Vec3 moving = motion_of(other, thing, f->position);
    ContactPlace place;
    ContactParticle particle = particle_at(f, place_at(f, 0.0f, moving), mean, f->left);
    particle.swept = vec3_distance(mean, moving) * f->left > f->radius;
    if (particle.swept && trace(f, other, thing, moving, first)) {
        return;
    }
    particle.radius -= place_m; /* what rests on it or slides along it does not enter it */
    if (!other->ops->meet(other->of, thing->thing, &particle, f->left, &place)) {
        return;
    }
    Vec3 side = vec3_zero();
    f32 gap = gap_at(f, other, thing, 0.0f, moving, &side), time = 0.0f;
    if (gap > place_m) {
        const f32 gaps[2] = {gap, place.distance - f->radius};
        time = contact_time(f, other, thing, moving, side, gaps);
    }
    if (first->thing == NULL || time < first->time) {
        *first = (FirstContact){thing, time, gap};
    }
}

/* ---- impact ---- */

/* Changes the velocity along a direction by `speed`; the thing takes the opposite impulse. Returns
 * its size (N s; m/s of massless particles). */
static f32 exchange(const Collider *other, const ContactPlace *place, Flight *f, Vec3 direction,
                    f32 speed)
{
    f32 w = f->inverse_mass;
    if (w <= 0.0f) {
        f->velocity = vec3_add_scaled(f->velocity, speed, direction);
        return speed;
    }
    f32 w_thing = other->ops->inverse_mass(other->of, place, direction);
    f32 impulse = speed / (w + w_thing);
    f->velocity = vec3_add_scaled(f->velocity, impulse * w, direction);
    if (w_thing > 0.0f) {
        other->ops->impulse(other->of, place, vec3_scale(direction, -impulse));
    }
    return impulse;
}

/* Coulomb's friction of a normal impulse: it stops the slip, or is μ times as large. */
static void rub(const Collider *other, const ContactPlace *place, Flight *f, Vec3 against,
                f32 impulse)
{
    Vec3 slip = vec3_add_scaled(against, -vec3_dot(against, place->normal), place->normal);
    slip = vec3_add_scaled(slip, -vec3_dot(slip, place->free), place->free);
    f32 speed = vec3_length(slip), most = f->def->friction * impulse;
    if (!(most > 0.0f) || !(speed > 1e-9f)) {
        return;
    }
    Vec3 direction = vec3_scale(slip, -1.0f / speed);
    if (f->inverse_mass > 0.0f) {
        most *= f->inverse_mass + other->ops->inverse_mass(other->of, place, direction);
    }
    exchange(other, place, f, direction, f32_min(speed, most));
}

/* What is slower than its forces make it in a step rests: no bounce. What they would give it in the
 * rest of the step is taken up at once, so that the thing carries its weight, and it goes on
 * straight. */
static bool come_to_rest(const Collider *other, const ContactPlace *place, Flight *f)
{
    Vec3 normal = place->normal, end = vec3_add_scaled(f->velocity, f->left, f->pull);
    f32 approach = -vec3_dot(vec3_sub(end, place->velocity), normal);
    if (!(approach > 0.0f)) {
        return false;
    }
    f->velocity = end;
    f->pull = f->bend = vec3_zero();
    f32 impulse = exchange(other, place, f, normal, approach);
    rub(other, place, f, vec3_sub(f->velocity, place->velocity), impulse);
    return true;
}

/* v' = −e (v·n) n along the normal, and across it v less what friction takes: at most
 * μ (1 + e) |v·n| on what cannot move. Relative to the thing. */
static bool strike(const Collider *other, const ContactPlace *place, Flight *f, f32 h)
{
    Vec3 normal = place->normal, against = vec3_sub(f->velocity, place->velocity);
    f32 approach = -vec3_dot(against, normal);
    if (approach > CONTACT_WAKE_M_S && f->inverse_mass > 0.0f && other->ops->wake != NULL) {
        other->ops->wake(other->of, place->thing);
    }
    if (approach <= fabsf(vec3_dot(f->pull, normal)) * h) {
        return come_to_rest(other, place, f);
    }
    f32 impulse = exchange(other, place, f, normal, (1.0f + f->def->restitution) * approach);
    rub(other, place, f, against, impulse);
    return true;
}

/* Moves the two apart by `out` m, as their masses demand. */
static void leave(const Collider *other, ContactPlace *place, Flight *f, f32 out)
{
    f32 w = f->inverse_mass, w_thing = 0.0f;
    if (w > 0.0f && other->ops->push != NULL && !place->keeps) {
        w_thing = other->ops->inverse_mass(other->of, place, place->normal);
    }
    f32 share = w_thing > 0.0f ? w / (w + w_thing) : 1.0f;
    f->position = vec3_add_scaled(f->position, out * share, place->normal);
    if (w_thing > 0.0f) {
        ContactParticle particle = particle_at(f, f->position, f->velocity, now_s);
        Vec3 moved = vec3_scale(place->normal, -out * share / w);
        other->ops->push(other->of, place, moved, &particle);
    }
}

/* Moves to the contact, and changes the velocity there. False: it leaves the thing already. */
static bool bounce_off(const Particles *p, Flight *f, const FirstContact *impact, f32 h)
{
    const NearThing *thing = impact->thing;
    const Collider *other = &p->colliders[thing->collider];
    Vec3 moving = motion_of(other, thing, f->position);
    f32 t = impact->time;
    Vec3 there = place_at(f, t, moving);
    f->position = vec3_add_scaled(vec3_add_scaled(f->position, t, f->velocity), t * t, f->bend);
    f->velocity = vec3_add_scaled(f->velocity, t, f->pull);
    f->elapsed += t;
    f->left = f32_max(f->left - t, 0.0f);
    ContactPlace place;
    ContactParticle particle = particle_at(f, there, f->velocity, now_s);
    particle.radius += 16.0f * place_m + 1e-5f * vec3_length(f->position);
    if (!other->ops->meet(other->of, thing->thing, &particle, now_s, &place)) {
        return false;
    }
    /* The thing is where its step began, the particle where it will be at the time of contact: its
     * impulse acts there, so that both have the same moment about any point. */
    place.arm = vec3_add_scaled(place.arm, f->elapsed, moving);
    bool struck = strike(other, &place, f, h);
    if (impact->gap < 0.0f) { /* it began inside */
        leave(other, &place, f, f32_min(-impact->gap, CONTACT_APART_M_S * h));
    }
    return struck;
}

/* Follows a particle along its step, through the things [count] that it may touch. */
static void fly(Particles *p, const NearThing *const *things, u32 count, const NearParticle *near,
                f32 h)
{
    u32 slot = near->slot;
    const ParticlesDef *def = &p->systems[p->system_of[slot]].def;
    Vec3 way = vec3_sub(p->positions[slot], near->position);
    f32 rate = 1.0f / h;
    Flight f = {.position = near->position,
                .velocity = near->velocity,
                .bend = vec3_scale(vec3_sub(vec3_scale(way, rate), near->velocity), rate),
                .pull = vec3_scale(vec3_sub(p->velocities[slot], near->velocity), rate),
                .left = h,
                .inverse_mass = p->masses[slot] > 0.0f ? 1.0f / p->masses[slot] : 0.0f,
                .radius = particles_radius_of(p, def, slot),
                .def = def};
    u32 bounces = 0;
    bool flies = true;
    while (flies && bounces < BOUNCES_MAX && f.left > 0.0f) {
        FirstContact first = {0};
        for (u32 t = 0; t < count; t++) {
            meet_thing(p, &f, things[t], &first);
        }
        if (first.thing == NULL) {
            break;
        }
        flies = bounce_off(p, &f, &first, h);
        bounces++;
    }
    if (bounces == 0) {
        return;
    }
    Vec3 end =
        vec3_add_scaled(vec3_add_scaled(f.position, f.left, f.velocity), f.left * f.left, f.bend);
    p->positions[slot] = bounces < BOUNCES_MAX ? end : f.position;
    p->velocities[slot] = vec3_add_scaled(f.velocity, f.left, f.pull);
}

/* Lists the things that a particle may touch in this step of h s; none while it is on the way that
 * was clear when last looked. */
static u32 may_touch(const Particles *p, const NearBunch *bunch, NearParticle *near, f32 h,
                     const NearThing **list)
{
    u32 slot = near->slot, count = 0;
    f32 way = vec3_distance(p->positions[slot], near->position) + bunch->fastest_m_s * h;
    if (near->clear_m > way) {
        near->clear_m -= way;
        return 0;
    }
    f32 radius = particles_radius(p, slot);
    f32 reach = radius + 4.0f * way + 0.05f, gap = reach;
    for (u32 t = 0; t < bunch->thing_count && count < TOUCHED_MAX; t++) {
        const NearThing *thing = &p->things[bunch->first_thing + t];
        const Collider *other = &p->colliders[thing->collider];
        Vec3 normal;
        f32 here = other->ops->distance(other->of, thing->thing, near->position, reach, &normal);
        gap = f32_min(gap, here);
        if (here <= radius + way) {
            list[count++] = thing;
        }
    }
    near->clear_m = gap - radius - way;
    return count;
}

/* What rested when the tick began, on something that does not move, goes on resting while its
 * forces press it on and friction holds it: it needs no search. */
static bool goes_on_resting(Particles *p, NearParticle *near)
{
    u32 slot = near->slot;
    Vec3 pull = p->velocities[slot];
    f32 presses = -vec3_dot(pull, near->normal);
    Vec3 slides = vec3_add_scaled(pull, presses, near->normal);
    f32 holds = p->systems[p->system_of[slot]].def.friction * presses;
    near->rests = presses > 0.0f && vec3_length_squared(slides) <= holds * holds;
    if (near->rests) {
        p->positions[slot] = near->position;
        p->velocities[slot] = vec3_zero();
    }
    return near->rests;
}

static void bounce_bunch(Particles *p, const NearBunch *bunch, f32 h)
{
    const NearThing *list[TOUCHED_MAX];
    for (u32 i = bunch->first; i < bunch->first + bunch->count; i++) {
        if (p->near[i].rests && goes_on_resting(p, &p->near[i])) {
            continue;
        }
        u32 count = may_touch(p, bunch, &p->near[i], h, list);
        if (count != 0) {
            fly(p, list, count, &p->near[i], h);
        }
    }
}

/* Particles are in one bunch each, and what rests is unaffected: independent. */
static void bounce_resting(void *context, u32 first, u32 end, u32 worker)
{
    const BouncePass *pass = context;
    Particles *p = pass->particles;
    PL_UNUSED(worker);
    for (u32 b = first; b < end; b++) {
        if (!p->bunches[b].moves) {
            bounce_bunch(p, &p->bunches[b], pass->h);
        }
    }
}

static void remember(void *context, u32 first, u32 end, u32 worker)
{
    const BouncePass *pass = context;
    Particles *p = pass->particles;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        p->near[i].position = p->positions[p->near[i].slot];
        p->near[i].velocity = p->velocities[p->near[i].slot];
    }
}

void particles_bounce_begin(Particles *p)
{
    BouncePass pass = {.particles = p};
    jobs_run(p->jobs, p->near_count, PARTICLES_GRAIN, remember, &pass);
}

void particles_bounce(Particles *p, f32 h)
{
    BouncePass pass = {.particles = p, .h = h};
    for (u32 c = 0; c < p->collider_count; c++) {
        p->colliders[c].ops->substep_begin(p->colliders[c].of, h);
        collider_step_begin(&p->colliders[c], h);
    }
    jobs_run(p->jobs, p->bunch_count, BUNCH_GRAIN, bounce_resting, &pass);
    for (u32 b = 0; b < p->bunch_count; b++) {
        if (p->bunches[b].moves) {
            bounce_bunch(p, &p->bunches[b], h);
        }
    }
    for (u32 c = 0; c < p->collider_count; c++) {
        p->colliders[c].ops->step_end(p->colliders[c].of, h);
        p->colliders[c].ops->substep_end(p->colliders[c].of);
    }
}
