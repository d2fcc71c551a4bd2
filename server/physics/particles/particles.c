/* particles.c: see particles.h. Systems, slots, life and death of particles. */
#include "server/physics/particles/particles_internal.h"
#include "shared/base/check.h"

#include "shared/base/limits.h"
#include "shared/base/memory.h"
#include "shared/math/simd.h"

#include <stdlib.h>

ParticlesDef particles_def_default(void)
{
    ParticlesDef def = {.orientation = {1.0f, 0.0f, 0.0f, 0.0f}};
#define SOLVER_ROWS
#include "server/physics/option_default_rows.h"
#include "shared/rows/particles.def"
    return def;
}

ParticleTuning particles_tuning_default(void)
{
    return (ParticleTuning){1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, SWARM_OBJECTIVE_COUNT};
}

Particles *particles_create(void)
{
    Particles *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    p->grabs = calloc(PARTICLE_GRABS_MAX, sizeof *p->grabs);
    p->tuning = particles_tuning_default();
    f32 far = WORLD_EXTENT_MAX_M;
    p->bounds = (Bounds){vec3(-far, -far, -far), vec3(far, far, far)};
    if (p->grabs == NULL) {
        free(p);
        return NULL;
    }
    return p;
}

static void finish_system(ParticleSystem *system)
{
    emitter_finish(&system->emitter);
    swarm_finish(&system->swarm);
    free(system->starts);
}

void particles_destroy(Particles *p)
{
    if (p == NULL) {
        return;
    }
    for (u32 s = 0; s < p->system_count; s++) {
        finish_system(&p->systems[s]);
    }
    void *arrays[] = {p->positions,     p->velocities,      p->ages,          p->lifetimes,
                      p->masses,        p->generations,     p->alive,         p->system_of,
                      p->systems,       p->grabs,           p->newborn,       p->live_places,
                      p->live_slots,    p->bunches,         p->things,        p->near,
                      p->blocks,        p->found,           p->mutual_places, p->mutual_pulls,
                      p->mutual_second, p->mutual_masses,   p->mutual_slots,  p->extra,
                      p->middle,        p->live_velocities, p->gusts,         p->blown,
                      p->bins,          p->bin_of,          p->near_slots,    p->near_speeds};
    for (u32 i = 0; i < PL_COUNT(arrays); i++) {
        free(arrays[i]);
    }
    particle_contacts_finish(&p->sleepers);
    gravity_finish(&p->gravity_tree);
    flock_finish(&p->flock);
    free(p);
}

/* ---- systems ---- */

/* Everything of which a slot has one, zeroed. */
static bool grow_slots(Particles *p, u32 slots)
{
    struct {
        void **items;
        size_t size;
    } arrays[] = {{(void **)&p->positions, sizeof(Vec3)}, {(void **)&p->velocities, sizeof(Vec3)},
                  {(void **)&p->ages, sizeof(f32)},       {(void **)&p->lifetimes, sizeof(f32)},
                  {(void **)&p->masses, sizeof(f32)},     {(void **)&p->generations, sizeof(u16)},
                  {(void **)&p->alive, sizeof(u8)},       {(void **)&p->system_of, sizeof(u8)},
                  {(void **)&p->extra, sizeof(Vec3)},     {(void **)&p->middle, sizeof(Vec3)},
                  {(void **)&p->gusts, sizeof(Vec3)},     {(void **)&p->blown, sizeof(u8)},
                  {(void **)&p->bin_of, sizeof(u32)}};
    for (u32 i = 0; i < PL_COUNT(arrays); i++) {
        u8 *grown = realloc(*arrays[i].items, slots * arrays[i].size);
        if (grown == NULL) {
            return false;
        }
        memset(grown + p->slots * arrays[i].size, 0, (slots - p->slots) * arrays[i].size);
        *arrays[i].items = grown;
    }
    p->capacity = slots;
    u32 rooms[3] = {p->live_capacity, p->live_capacity, p->live_capacity};
    u32 near_capacities[2] = {p->near_capacity, p->near_capacity};
    return memory_grow((void **)&p->newborn, &p->newborn_capacity, slots, sizeof *p->newborn) &&
           memory_grow((void **)&p->live_slots, &rooms[0], slots, sizeof(u32)) &&
           memory_grow((void **)&p->live_velocities, &rooms[1], slots, sizeof(Vec3)) &&
           memory_grow((void **)&p->live_places, &p->live_capacity, slots, sizeof(Vec3)) &&
           memory_grow((void **)&p->near_slots, &near_capacities[0], slots, sizeof(u32)) &&
           memory_grow((void **)&p->near_speeds, &near_capacities[1], slots, sizeof(f32)) &&
           memory_grow((void **)&p->near, &p->near_capacity, slots, sizeof *p->near) &&
           memory_grow((void **)&p->bins, &p->bin_capacity, slots / 2 + 512, sizeof *p->bins) &&
           memory_grow((void **)&p->bunches, &p->bunch_capacity, slots / 4 + 64,
                       sizeof *p->bunches) &&
           memory_grow((void **)&p->things, &p->thing_capacity, slots + 256, sizeof *p->things) &&
           memory_grow((void **)&p->blocks, &p->block_capacity, slots / 2 + 512,
                       sizeof *p->blocks) &&
           memory_grow((void **)&p->found, &p->found_capacity, slots + 256, sizeof *p->found);
}

static EmitterDef emitter_def(const ParticlesDef *def)
{
    bool forever = def->lifetime_s < 0.0f;
    EmitterDef made = emitter_default();
    made.shape = def->shape;
    made.surface = def->surface;
    made.position = def->position;
    made.orientation = def->orientation;
    made.velocity = def->velocity;
    made.rate = def->rate;
    made.burst = def->burst;
    made.start_s = def->start_s;
    made.stop_s = def->stop_s;
    made.aim = def->aim;
    made.direction = vec3_normalize_or(def->direction, vec3(0.0f, 1.0f, 0.0f));
    made.spread_rad = def->spread_rad;
    made.speed = (EmitterRange){def->speed, def->speed_spread};
    made.lifetime_s =
        (EmitterRange){forever ? 1.0f : def->lifetime_s, forever ? 0.0f : def->lifetime_spread};
    made.size = (EmitterRange){def->radius, 0.0f};
    made.seed = def->seed;
    return made;
}

static int check_company(const Particles *p, const ParticlesDef *def, ErrorText *error)
{
    if (p->system_count == PARTICLE_SYSTEMS_MAX) {
        return error_set(error, ERROR_LIMIT, "at most %d particle systems", PARTICLE_SYSTEMS_MAX);
    }
    if (p->slots + (u64)particles_slots_of(def->count) > PARTICLES_MAX) {
        return error_set(error, ERROR_LIMIT, "count %u: at most %d particles in all systems",
                         def->count, PARTICLES_MAX);
    }
    for (u32 s = 0; s < p->system_count; s++) {
        const ParticlesDef *other = &p->systems[s].def;
        if (def->gravitation > 0.0f && other->gravitation > 0.0f &&
            (def->gravitation != other->gravitation || def->softening != other->softening ||
             def->opening != other->opening)) {
            return error_set(error, ERROR_RANGE,
                             "gravitation, softening and opening: the same for all systems that "
                             "attract each other");
        }
    }
    return ERROR_OK;
}

static void fill_slot(Particles *p, const ParticleSystem *system, u32 slot,
                      const ParticleStart *start, f32 lifetime_s)
{
    p->positions[slot] = start->position;
    p->velocities[slot] = start->velocity;
    p->masses[slot] = start->mass_kg;
    p->ages[slot] = 0.0f;
    bool forever = system->def.lifetime_s < 0.0f || system->def.behavior == PARTICLE_SWARM;
    p->lifetimes[slot] = forever ? 0.0f : lifetime_s;
    p->generations[slot] = (u16)(p->generations[slot] % 0xFFFF + 1);
    p->alive[slot] = 1;
}

static void place_swarm(Particles *p, const ParticleSystem *system, f32 phase, f32 tick_s)
{
    const Swarm *swarm = &system->swarm;
    const ParticlesDef *def = &system->def;
    f32 scale = 0.5f * def->extent / swarm_domain(swarm->objective);
    f64 lift = (f64)def->height / swarm_value_max(swarm->objective);
    for (u32 i = 0; i < swarm->count; i++) {
        SwarmPlace a = swarm->before[i], b = swarm->places[i];
        f32 x = a.x + (b.x - a.x) * phase, y = a.y + (b.y - a.y) * phase;
        f64 value = swarm_value(swarm->objective, (f64)x, (f64)y);
        Vec3 at = vec3(x * scale, (f32)(value * lift) + def->radius, y * scale);
        Vec3 *place = &p->positions[system->first + i], before = *place;
        *place = vec3_add(def->position, at);
        p->velocities[system->first + i] =
            tick_s > 0.0f ? vec3_scale(vec3_sub(*place, before), 1.0f / tick_s) : vec3_zero();
    }
}

static void fill_system(Particles *p, ParticleSystem *system)
{
    ParticlesDef *def = &system->def;
    ParticleStart start = {.mass_kg = def->mass_kg};
    u32 count = def->behavior == PARTICLE_SWARM ? def->count : def->start_count;
    for (u32 i = 0; i < count; i++) {
        fill_slot(p, system, system->first + i,
                  def->behavior == PARTICLE_SWARM ? &start : &system->starts[i], def->lifetime_s);
    }
    system->high = system->state.alive = count;
    system->state.cursor = count == system->count ? 0 : count;
    if (def->behavior == PARTICLE_SWARM) {
        place_swarm(p, system, 0.0f, 0.0f);
    }
}

static int init_system(ParticleSystem *system, const ParticlesDef *def, ErrorText *error)
{
    f32 far = 2.0f * WORLD_EXTENT_MAX_M;
    *system = (ParticleSystem){.def = *def, .count = def->count, .predator = vec3(far, far, far)};
    if (def->force_count > 0) {
        memcpy(system->forces, def->forces, def->force_count * sizeof *def->forces);
    }
    system->starts = malloc((def->start_count + 1) * sizeof *def->starts);
    EmitterDef emitter = emitter_def(def);
    int result = emitter_init(&system->emitter, &emitter, error);
    bool swarm = result == ERROR_OK && def->behavior == PARTICLE_SWARM;
    if (system->starts == NULL ||
        (swarm && !swarm_init(&system->swarm, def->objective, def->count, def->seed))) {
        result = error_set(error, ERROR_MEMORY, "out of memory");
    }
    if (result != ERROR_OK) {
        finish_system(system);
        return result;
    }
    if (def->start_count > 0) {
        memcpy(system->starts, def->starts, def->start_count * sizeof *def->starts);
    }
    return ERROR_OK;
}

int particles_add(Particles *p, const ParticlesDef *def, u32 *index, ErrorText *error)
{
    int result = particles_check(def, error);
    result = result != ERROR_OK ? result : check_company(p, def, error);
    if (result != ERROR_OK) {
        return result;
    }
    u32 first = p->slots, slots = first + particles_slots_of(def->count);
    if (!memory_grow((void **)&p->systems, &p->system_capacity, p->system_count + 1,
                     sizeof *p->systems) ||
        !grow_slots(p, slots)) {
        return error_set(error, ERROR_MEMORY, "out of memory for %u particles", def->count);
    }
    ParticleSystem *system = &p->systems[p->system_count];
    result = init_system(system, def, error);
    if (result != ERROR_OK) {
        return result;
    }
    system->first = first;
    memset(p->system_of + first, (int)p->system_count, slots - first);
    p->slots = slots;
    fill_system(p, system);
    *index = p->system_count++;
    return ERROR_OK;
}

/* ---- settings ---- */

void particles_set_gravity(Particles *p, Vec3 gravity)
{
    p->gravity = gravity;
}

void particles_set_wind(Particles *p, Vec3 wind)
{
    p->wind = wind;
}

void particles_set_bounds(Particles *p, Bounds bounds)
{
    p->bounds = bounds;
}

void particles_tune(Particles *p, const ParticleTuning *tuning)
{
    p->tuning = *tuning;
    for (u32 s = 0; s < p->system_count; s++) {
        ParticleSystem *system = &p->systems[s];
        u32 wanted = tuning->objective < SWARM_OBJECTIVE_COUNT ? tuning->objective
                                                               : (u32)system->def.objective;
        if (system->def.behavior == PARTICLE_SWARM && wanted != (u32)system->swarm.objective) {
            swarm_restart(&system->swarm, (SwarmObjective)wanted);
            system->state.swarm_s = 0.0;
            place_swarm(p, system, 0.0f, 0.0f);
        }
    }
}

void particles_set_predator(Particles *p, u32 system, Vec3 position)
{
    CHECK(system < p->system_count);
    p->systems[system].predator = position;
}

/* ---- a tick ---- */

/* The next free slot of a system that has one. */
static u32 take_slot(const Particles *p, ParticleSystem *system)
{
    u32 at = system->state.cursor;
    while (p->alive[system->first + at]) {
        at = at + 1 < system->count ? at + 1 : 0;
    }
    system->state.cursor = at + 1 < system->count ? at + 1 : 0;
    system->high = u32_max(system->high, at + 1);
    system->state.alive++;
    return system->first + at;
}

static void emit(Particles *p, ParticleSystem *system, f32 tick_s)
{
    u32 room = system->count - system->state.alive;
    EmitterBatch batch = emitter_advance(&system->emitter, &system->state.emitter, (f64)tick_s,
                                         p->tuning.rate, room);
    if (batch.count != 0) {
        particles_wake(p, p->system_of[system->first]);
    }
    for (u32 i = 0; i < batch.count; i++) {
        EmitterParticle made = emitter_particle(&system->emitter, batch.first + i);
        ParticleStart start = {made.position, made.velocity, system->def.mass_kg};
        u32 slot = take_slot(p, system);
        f32 born = f32_clamp(tick_s - emitter_age(&batch, i), 0.0f, tick_s);
        fill_slot(p, system, slot, &start, made.lifetime_s);
        p->ages[slot] = -born;
        if (born > 0.0f) {
            p->newborn[p->newborn_count++] = (Newborn){slot, born, made.position, made.velocity};
        }
    }
}

void particles_begin(Particles *p, const Collider *colliders, u32 count, f32 tick_s, Jobs *jobs)
{
    CHECK(tick_s > 0.0f && (count == 0 || colliders != NULL));
    p->jobs = jobs;
    p->tick_s = tick_s;
    p->elapsed_s = 0.0f;
    p->newborn_count = 0;
    p->collider_count = u32_min(count, COLLIDERS_MAX);
    for (u32 c = 0; c < p->collider_count; c++) {
        p->colliders[c] = colliders[c];
        colliders[c].ops->begin(colliders[c].of, jobs, tick_s);
    }
    for (u32 s = 0; s < p->system_count; s++) {
        if (p->systems[s].def.behavior != PARTICLE_SWARM) {
            emit(p, &p->systems[s], tick_s);
        }
    }
    particles_wake_touched(p);
    particles_blow(p);
    particles_find_near(p);
}

/* Particles move only from their birth on: their step is a part of the whole. */
static void shorten_newborn(Particles *p, f32 h)
{
    for (u32 i = 0; i < p->newborn_count; i++) {
        const Newborn *born = &p->newborn[i];
        CHECK_ITEM(i, born->slot < p->slots);
        f32 part = (p->elapsed_s + h - born->born_s) / h;
        if (part < 1.0f) {
            part = f32_max(part, 0.0f);
            p->positions[born->slot] = vec3_lerp(born->position, p->positions[born->slot], part);
            p->velocities[born->slot] = vec3_lerp(born->velocity, p->velocities[born->slot], part);
        }
    }
}

void particles_substep(Particles *p, f32 h)
{
    CHECK(h > 0.0f && p->elapsed_s <= p->tick_s);
    particles_bounce_begin(p);
    particles_integrate(p, h);
    shorten_newborn(p, h);
    particles_bounce(p, h);
    p->elapsed_s += h;
    p->time_s += (f64)h;
}

static bool is_held(const Particles *p, u32 slot)
{
    for (u32 g = 0; g < p->grab_end; g++) {
        if (p->grabs[g].live != 0 && p->grabs[g].particle == slot) {
            return true;
        }
    }
    return false;
}

static void clear_slot(Particles *p, u32 slot)
{
    p->alive[slot] = 0;
    p->positions[slot] = p->velocities[slot] = vec3_zero();
    p->ages[slot] = p->lifetimes[slot] = p->masses[slot] = 0.0f;
}

/* Held particles neither expire nor leave the bounds, nor do those of a swarm, each of which shows
 * a position of its search. */
static bool lives_on(Particles *p, u32 slot)
{
    Vec3 *x = &p->positions[slot], *v = &p->velocities[slot];
    bool swarm = p->systems[p->system_of[slot]].def.behavior == PARTICLE_SWARM;
    if (swarm && !(vec3_is_finite(*x) && vec3_is_finite(*v))) {
        *x = *v = vec3_zero();
    }
    f32 speed2 = vec3_length_squared(*v);
    bool good = bounds_contain_point(&p->bounds, *x) && speed2 <= SPEED_MAX_M_S * SPEED_MAX_M_S;
    bool old = !swarm && p->lifetimes[slot] > 0.0f && p->ages[slot] >= p->lifetimes[slot];
    if (good && !old) {
        return true;
    }
    if (!vec3_is_finite(*x) || !(speed2 < INFINITY)) {
        return swarm;
    }
    if (speed2 > SPEED_MAX_M_S * SPEED_MAX_M_S) {
        *v = vec3_scale(*v, SPEED_MAX_M_S / sqrtf(speed2));
    }
    if (swarm || is_held(p, slot)) {
        *x = vec3_min(vec3_max(*x, p->bounds.min), p->bounds.max);
        return true;
    }
    return !old && bounds_contain_point(&p->bounds, *x);
}

typedef struct AgePass {
    Particles *particles;
    u32 first; /* slot of the system */
    bool swarm;
} AgePass;

/* Are eight slots all valid particles that do not expire? Most are. */
static bool all_live_on(const Particles *p, u32 first)
{
    static const u8 ones[SIMD_LANES] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (memcmp(&p->alive[first], ones, sizeof ones) != 0) {
        return false;
    }
    Vec3x8 x = vec3x8_load(&p->positions[first]), v = vec3x8_load(&p->velocities[first]);
    Vec3x8 low = vec3x8_set(p->bounds.min), high = vec3x8_set(p->bounds.max);
    f32x8 most2 = f32x8_set(SPEED_MAX_M_S * SPEED_MAX_M_S), age, lifetime;
    memcpy(&age, &p->ages[first], sizeof age);
    memcpy(&lifetime, &p->lifetimes[first], sizeof lifetime);
    i32x8 good = (x.x >= low.x) & (x.y >= low.y) & (x.z >= low.z) & (x.x <= high.x) &
                 (x.y <= high.y) & (x.z <= high.z) & (vec3x8_dot(v, v) <= most2) &
                 ((age < lifetime) | (lifetime <= f32x8_set(0.0f)));
    return !i32x8_any(~good);
}

static void age_slots(void *context, u32 first, u32 end, u32 worker)
{
    const AgePass *pass = context;
    Particles *p = pass->particles;
    PL_UNUSED(worker);
    for (u32 i = pass->first + first; i < pass->first + end; i += SIMD_LANES) {
        for (u32 k = i; k < i + SIMD_LANES; k++) {
            p->ages[k] += p->tick_s;
        }
        if (!pass->swarm && all_live_on(p, i)) {
            continue;
        }
        for (u32 k = i; k < i + SIMD_LANES; k++) {
            if (!p->alive[k] || !lives_on(p, k)) {
                clear_slot(p, k);
            }
        }
    }
}

static void advance_swarm(Particles *p, ParticleSystem *system)
{
    const ParticlesDef *def = &system->def;
    SwarmWeights weights = {def->inertia * p->tuning.inertia, def->cognitive * p->tuning.cognitive,
                            def->social * p->tuning.social};
    f64 period = 1.0 / (f64)def->iterations;
    system->state.swarm_s += (f64)p->tick_s;
    while (system->state.swarm_s >= period) {
        system->state.swarm_s -= period;
        swarm_iterate(&system->swarm, &weights);
    }
    place_swarm(p, system, (f32)(system->state.swarm_s / period), p->tick_s);
}

void particles_end(Particles *p)
{
    for (u32 s = 0; s < p->system_count; s++) {
        if (p->systems[s].def.behavior == PARTICLE_SWARM) {
            advance_swarm(p, &p->systems[s]);
        }
    }
    for (u32 s = 0; s < p->system_count; s++) {
        ParticleSystem *system = &p->systems[s];
        u32 alive = 0;
        CHECK_ITEM(s, system->first + system->high <= p->slots);
        if (system->state.asleep != 0 && system->def.lifetime_s < 0.0f) {
            continue; /* nor does it age */
        }
        AgePass pass = {p, system->first, system->def.behavior == PARTICLE_SWARM};
        jobs_run(p->jobs, particles_slots_of(system->high), PARTICLES_GRAIN, age_slots, &pass);
        for (u32 i = system->first; i < system->first + system->high; i++) {
            alive += p->alive[i];
        }
        /* Bounds are those of the live particles, as a loaded world computes them. */
        system->bounds_known = system->bounds_known && alive == system->state.alive;
        system->state.alive = alive;
    }
    p->newborn_count = 0;
    particles_fall_asleep(p);
}

/* ---- queries ---- */

void particles_move(Particles *p, u32 slot, Vec3 position, Vec3 velocity)
{
    p->positions[slot] = position;
    p->velocities[slot] = velocity;
    particles_wake(p, p->system_of[slot]);
}

void particles_push(Particles *p, u32 slot, Vec3 speed)
{
    if (p->alive[slot]) {
        particles_wake(p, p->system_of[slot]);
        p->velocities[slot] = vec3_add(p->velocities[slot], speed);
    }
}

/* ---- grabs ---- */

i32 particles_grab_add(Particles *p, const ParticleGrab *grab)
{
    u32 at = 0;
    while (at < p->grab_end && p->grabs[at].live != 0) {
        at++;
    }
    if (at == PARTICLE_GRABS_MAX || grab->particle >= p->slots || !p->alive[grab->particle]) {
        return -1;
    }
    particles_wake(p, p->system_of[grab->particle]);
    p->grabs[at] = *grab;
    p->grabs[at].live = 1;
    p->grab_end = u32_max(p->grab_end, at + 1);
    return (i32)at;
}

ParticleGrab *particles_grab(Particles *p, u32 grab)
{
    return &p->grabs[grab];
}

void particles_grab_remove(Particles *p, u32 grab)
{
    p->grabs[grab] = (ParticleGrab){0};
    while (p->grab_end > 0 && p->grabs[p->grab_end - 1].live == 0) {
        p->grab_end--;
    }
}
