/* matter_liquid_flow.c: the particles of a scene's fills, those that sources add and drains
 * remove, and those that other kinds hand over or take. */
#include "server/world/matter_liquid.h"

#include "server/world/carried.h"

#include "shared/math/random.h"

#include <stdio.h>
#include <string.h>

enum {
    THINGS_MAX = 32, /* looked at around one particle */
    NEAR_MAX = 512,  /* particles at a nozzle */
};

/* A new particle keeps this distance (spacings) from matter, */
static const f32 wall_spacings = 0.45f;
/* and this one from other particles: nearer ones would be driven apart violently. */
static const f32 apart_spacings = 0.5f;
/* Layers of a nozzle are irregular by this (spacings): a perfectly symmetric jet stays a needle. */
static const f32 nozzle_jitter = 0.1f;

/* Kinds of matter that a new particle must not overlap: those before this one. */
typedef struct Obstacles {
    Collider colliders[MATTERS_MAX];
    u32 count;
    u32 group, mask;
    f32 reach; /* m */
} Obstacles;

static void walls_begin(Obstacles *walls, const MatterLiquid *m, const SceneLiquid *liquid)
{
    walls->group = liquid->group;
    walls->mask = liquid->mask;
    walls->reach = wall_spacings * liquid_scene(m)->liquid_spacing;
    for (u32 c = 0; c < walls->count; c++) {
        walls->colliders[c].ops->begin(walls->colliders[c].of, world_jobs(m->base.world),
                                       world_tick_s(m->base.world));
    }
}

static bool walls_hold(const Obstacles *walls, Vec3 point)
{
    Vec3 reach = vec3(walls->reach, walls->reach, walls->reach);
    Bounds around = {vec3_sub(point, reach), vec3_add(point, reach)};
    for (u32 c = 0; c < walls->count; c++) {
        const Collider *collider = &walls->colliders[c];
        u32 things[THINGS_MAX];
        u32 found = collider->ops->overlaps(collider->of, around, walls->group, walls->mask, things,
                                            THINGS_MAX);
        for (u32 t = 0; t < found; t++) {
            Vec3 normal;
            if (collider->ops->distance(collider->of, things[t], point, walls->reach, &normal) <
                walls->reach) {
                return true;
            }
        }
    }
    return false;
}

static Vec3 shaken(u64 seed, u64 counter, f32 by)
{
    return vec3(random_range(seed, 3 * counter, -by, by),
                random_range(seed, 3 * counter + 1, -by, by),
                random_range(seed, 3 * counter + 2, -by, by));
}

/* ---- fill ---- */

typedef struct Filling {
    const MatterLiquid *m;
    const SceneLiquid *liquid;
    const Obstacles *walls;
    u64 seed, counter;
    u32 phase;
} Filling;

static bool fill_point(void *context, Vec3 at)
{
    Filling *filling = context;
    const Scene *scene = liquid_scene(filling->m);
    f32 jitter = 0.5f * filling->liquid->jitter * scene->liquid_spacing;
    Vec3 point = vec3_add(at, shaken(filling->seed, filling->counter++, jitter));
    if (bounds_contain_point(&scene->bounds, point) && !walls_hold(filling->walls, point)) {
        liquid_spawn(filling->m->liquid, filling->phase, point, filling->liquid->velocity);
    }
    return true;
}

static int add_entity(MatterLiquid *m, u32 index)
{
    const SceneLiquid *liquid = &liquid_scene(m)->liquids[index];
    u32 first = liquid_first(m->liquid, index);
    u32 particles = u32_max(liquid_count(m->liquid, index), 1);
    Entity entity = {.field = (u8)m->field,
                     .movable = 1,
                     .generation = world_generation(m->base.world),
                     .first = first,
                     .count = liquid_first(m->liquid, index + 1) - first,
                     .mass_kg = (f32)particles * liquid_particle_mass(m->liquid, index),
                     .appearance = liquid->appearance};
    snprintf(entity.name, sizeof entity.name, "%s", liquid->name);
    int result = world_add_entity(&m->base, &entity);
    m->entities[index] = entity.id;
    return result;
}

int matter_liquid_fill(Matter *matter, ErrorText *error)
{
    PL_UNUSED(error);
    MatterLiquid *m = liquid_of(matter);
    const Scene *scene = liquid_scene(m);
    if (m->liquid == NULL) {
        return ERROR_OK;
    }
    Obstacles walls = {.count = 0};
    walls.count = world_colliders(matter, walls.colliders);
    for (u32 i = 0; i < scene->liquid_count; i++) {
        const SceneLiquid *liquid = &scene->liquids[i];
        walls_begin(&walls, m, liquid);
        Filling filling = {m, liquid, &walls, random_u64(scene->seed, i), 0, i};
        for (u32 k = 0; k < liquid->fill_count; k++) {
            fill_visit(&scene->liquid_volumes[liquid->first_fill + k], scene->liquid_spacing,
                       fill_point, &filling);
        }
        int result = add_entity(m, i);
        if (result != ERROR_OK) {
            return result;
        }
    }
    return ERROR_OK;
}

/* ---- sources ---- */

/* A nozzle in a tick: its frame, and the particles already near it. */
typedef struct Nozzle {
    const SceneSource *source;
    const Obstacles *walls;
    Vec3 across[2]; /* unit, the nozzle's plane */
    Vec3 near[NEAR_MAX];
    u32 near_count;
    u32 phase;
    u64 seed;
    f32 speed; /* m/s */
} Nozzle;

static void find_near(Nozzle *nozzle, const MatterLiquid *m, f32 along_m)
{
    const Vec3 *positions = liquid_positions(m->liquid);
    const u16 *generations = liquid_generations(m->liquid);
    f32 reach = nozzle->source->radius + along_m + liquid_spacing(m->liquid);
    u32 slots = liquid_slots(m->liquid);
    nozzle->near_count = 0;
    for (u32 i = 0; i < slots && nozzle->near_count < NEAR_MAX; i++) {
        Vec3 away = vec3_sub(positions[i], nozzle->source->position);
        if (generations[i] != 0 && vec3_length_squared(away) < reach * reach) {
            nozzle->near[nozzle->near_count++] = positions[i];
        }
    }
}

static bool is_crowded(const Nozzle *nozzle, Vec3 point, f32 least)
{
    for (u32 i = 0; i < nozzle->near_count; i++) {
        if (vec3_length_squared(vec3_sub(nozzle->near[i], point)) < least * least) {
            return true;
        }
    }
    return false;
}

static bool emit_point(const Nozzle *nozzle, MatterLiquid *m, Vec3 point, u64 counter)
{
    f32 spacing = liquid_spacing(m->liquid);
    Vec3 off = shaken(nozzle->seed, 2 * counter, 1.0f);
    point = vec3_add_scaled(point, nozzle_jitter * spacing, off);
    if (!bounds_contain_point(&liquid_scene(m)->bounds, point) ||
        walls_hold(nozzle->walls, point) || is_crowded(nozzle, point, apart_spacings * spacing)) {
        return true; /* blocked there */
    }
    Vec3 way = nozzle->source->direction;
    Vec3 side = shaken(nozzle->seed, 2 * counter + 1, 1.0f);
    side = vec3_sub(side, vec3_scale(way, vec3_dot(side, way)));
    f32 length = vec3_length(side);
    side = length > 1.0f ? vec3_scale(side, 1.0f / length) : side;
    way = vec3_normalize_or(vec3_add_scaled(way, nozzle->source->spread, side), way);
    return liquid_spawn(m->liquid, nozzle->phase, point, vec3_scale(way, nozzle->speed)) >= 0;
}

/* Where in its column a particle stands, in [0, 1) spacings: neighbours differ as much as they can
 * (the additive sequence of Roberts 2018, "The unreasonable effectiveness of quasirandom
 * sequences"). A jet of whole layers would fall apart into discs. */
static f32 stagger(i32 i, i32 j)
{
    f64 at = 0.7548776662466927 * (f64)i + 0.5698402909980532 * (f64)j;
    return (f32)(at - floor(at));
}

/* Emits the particles that leave the nozzle while the jet moves from `from` to `to` spacings beyond
 * its layers; false: no capacity for more. */
static bool emit_jet(const Nozzle *nozzle, MatterLiquid *m, f32 from, f32 to, u64 layers)
{
    f32 spacing = liquid_spacing(m->liquid), r = nozzle->source->radius / spacing;
    i32 edge = (i32)r;
    u64 sites = (u64)(2 * edge + 1) * (u64)(2 * edge + 1), site = 0;
    for (i32 j = -edge; j <= edge; j++) {
        for (i32 i = -edge; i <= edge; i++, site++) {
            f32 phase = stagger(i, j);
            i32 end = (i32)floorf(to - phase);
            if ((f32)(i * i + j * j) > r * r) {
                continue;
            }
            for (i32 k = (i32)floorf(from - phase) + 1; k <= end; k++) {
                f32 along = (to - phase - (f32)k) * spacing;
                Vec3 at =
                    vec3_add_scaled(nozzle->source->position, along, nozzle->source->direction);
                at = vec3_add_scaled(at, (f32)i * spacing, nozzle->across[0]);
                at = vec3_add_scaled(at, (f32)j * spacing, nozzle->across[1]);
                if (!emit_point(nozzle, m, at, (layers + (u64)k) * sites + site)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static void emit(MatterLiquid *m, u32 phase, u32 index, Obstacles *walls)
{
    const Scene *scene = liquid_scene(m);
    const SceneSource *source = &scene->sources[index];
    SourceClock *clock = &m->clocks[index];
    f32 tick_s = world_tick_s(m->base.world);
    f64 now = (f64)m->ticks / (f64)scene->tick_rate;
    f32 speed = source->speed * world_value(m->base.world, m->parameters[PARAMETER_FLOW])[0];
    bool running = source_runs(source->start_s, source->stop_s, now) && speed > 0.0f;
    if (!running) {
        return;
    }
    f32 ahead = clock->ahead + speed * tick_s / scene->liquid_spacing;
    Nozzle nozzle = {.source = source,
                     .walls = walls,
                     .phase = phase,
                     .seed = random_u64(scene->seed, LIQUID_PHASES_MAX + index),
                     .speed = speed};
    Vec3 d = source->direction;
    Vec3 helper = fabsf(d.y) < 0.9f ? vec3(0.0f, 1.0f, 0.0f) : vec3(1.0f, 0.0f, 0.0f);
    nozzle.across[0] = vec3_normalize_or(vec3_cross(helper, d), vec3(0.0f, 0.0f, 1.0f));
    nozzle.across[1] = vec3_cross(d, nozzle.across[0]);
    walls_begin(walls, m, &scene->liquids[phase]);
    find_near(&nozzle, m, speed * tick_s);
    (void)emit_jet(&nozzle, m, clock->ahead, ahead, clock->layers);
    clock->layers += (u64)ahead;
    clock->ahead = f32_clamp(ahead - floorf(ahead), 0.0f, 0.9999999f);
}

void matter_liquid_emit(MatterLiquid *m, const Collider *colliders, u32 count)
{
    const Scene *scene = liquid_scene(m);
    Obstacles walls = {.count = count};
    for (u32 c = 0; c < count; c++) {
        walls.colliders[c] = colliders[c];
    }
    for (u32 i = 0; i < scene->liquid_count; i++) {
        const SceneLiquid *liquid = &scene->liquids[i];
        for (u32 k = 0; k < liquid->source_count; k++) {
            emit(m, i, liquid->first_source + k, &walls);
        }
    }
    m->ticks++;
}

/* ---- drains ---- */

static bool is_drained(const Scene *scene, const SceneLiquid *liquid, Vec3 point)
{
    for (u32 i = 0; i < liquid->drain_count; i++) {
        if (fill_contains(&scene->liquid_volumes[liquid->first_drain + i], point)) {
            return true;
        }
    }
    return false;
}

void matter_liquid_drain(MatterLiquid *m)
{
    if (!liquid_awake(m->liquid)) {
        return; /* all are where they were */
    }
    const Scene *scene = liquid_scene(m);
    for (u32 p = 0; p < scene->liquid_count; p++) {
        for (u32 i = liquid_first(m->liquid, p); i < liquid_first(m->liquid, p + 1); i++) {
            Vec3 at = liquid_positions(m->liquid)[i];
            if (liquid_generations(m->liquid)[i] != 0 &&
                (!bounds_contain_point(&scene->bounds, at) ||
                 is_drained(scene, &scene->liquids[p], at))) {
                liquid_remove(m->liquid, i);
            }
        }
    }
}

/* ---- parcels ---- */

i32 matter_liquid_find_parcels(const Matter *matter, const char *name)
{
    const Scene *scene = liquid_scene(liquid_of_const(matter));
    for (u32 i = 0; i < scene->liquid_count; i++) {
        if (strcmp(scene->liquids[i].name, name) == 0) {
            return (i32)i;
        }
    }
    return -1;
}

MatterParcel matter_liquid_parcel(const Matter *matter, i32 parcels)
{
    const MatterLiquid *m = liquid_of_const(matter);
    return (MatterParcel){liquid_spacing(m->liquid), liquid_particle_mass(m->liquid, (u32)parcels)};
}

bool matter_liquid_add_parcel(Matter *matter, i32 parcels, Vec3 position, Vec3 velocity)
{
    const MatterLiquid *m = liquid_of(matter);
    return bounds_contain_point(&liquid_scene(m)->bounds, position) &&
           liquid_spawn(m->liquid, (u32)parcels, position, velocity) >= 0;
}

void matter_liquid_offer_parcels(Matter *matter, i32 parcels,
                                 bool (*take)(void *context, Vec3 position, Vec3 velocity),
                                 void *context)
{
    const MatterLiquid *m = liquid_of(matter);
    u32 end = liquid_first(m->liquid, (u32)parcels + 1);
    for (u32 i = liquid_first(m->liquid, (u32)parcels); i < end; i++) {
        if (liquid_generations(m->liquid)[i] != 0 &&
            take(context, liquid_positions(m->liquid)[i], liquid_velocities(m->liquid)[i])) {
            liquid_remove(m->liquid, i);
        }
    }
}
