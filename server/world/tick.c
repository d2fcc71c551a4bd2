/* tick.c: one tick, as a recipe that reads from top to bottom; and the world's life. */
#include "server/world/world_state.h"

#include <stdlib.h>
#include <string.h>

/* Softer touches make no sound and leave no mark. */
static const f32 impact_m_s = 0.5f;

World *world_create(const Scene *scene, Jobs *jobs, ErrorText *error)
{
    World *world = calloc(1, sizeof *world);
    if (world == NULL) {
        error_set(error, ERROR_MEMORY, "no memory for a world");
        return NULL;
    }
    world->scene = scene;
    world->jobs = jobs;
    if (world_build(world, error) != ERROR_OK) {
        world_destroy(world);
        return NULL;
    }
    return world;
}

void world_destroy(World *world)
{
    if (world == NULL) {
        return;
    }
    rigid_destroy(world->rigid);
    soft_destroy(world->soft);
    field_set_release(world->fields);
    entity_list_finish(&world->entities);
    free(world->slots);
    free(world->softs);
    free(world->soft_entities);
    free(world->body_slots);
    free(world->joints);
    free(world->probes);
    free(world->order);
    free(world->events);
    free(world->debug);
    free(world);
}

Event *world_event(World *world, EventKind kind)
{
    if (world->event_count == world->event_room) {
        u32 room = world->event_room != 0 ? world->event_room * 2 : 256;
        Event *events = realloc(world->events, room * sizeof *events);
        if (events == NULL) {
            return NULL;
        }
        world->events = events;
        world->event_room = room;
    }
    Event *event = &world->events[world->event_count++];
    memset(event, 0, sizeof *event);
    event->kind = kind;
    return event;
}

static void collect_impacts(World *world)
{
    u32 count, told = 0;
    const RigidImpact *impacts = rigid_impacts(world->rigid, &count);
    for (u32 i = 0; i < count && told < IMPACTS_TICK_MAX; i++) {
        if (!(impacts[i].speed >= impact_m_s)) {
            continue;
        }
        Event *event = world_event(world, EVENT_IMPACT);
        if (event != NULL) {
            event->a = world->slots[impacts[i].a].entity;
            event->b = world->slots[impacts[i].b].entity;
            event->position = impacts[i].position;
            event->impulse = impacts[i].impulse;
            event->speed = impacts[i].speed;
        }
        told++;
    }
}

static void tell_sensors(World *world)
{
    u32 count;
    const RigidOverlap *overlaps = rigid_sensor_events(world->rigid, &count);
    for (u32 i = 0; i < count; i++) {
        Event *event = world_event(world, overlaps[i].began ? EVENT_ENTER : EVENT_LEAVE);
        if (event == NULL) {
            return;
        }
        event->a = world->slots[overlaps[i].a].entity;
        event->b = world->slots[overlaps[i].b].entity;
    }
}

/* What leaves the scene's bounds is taken out of the world. */
static void remove_strays(World *world)
{
    Bounds bounds = world->scene->bounds;
    u32 slots = rigid_slots(world->rigid);
    for (u32 i = 0; i < slots; i++) {
        if (world->slots[i].entity == 0 || rigid_motion(world->rigid, i) != BODY_DYNAMIC) {
            continue;
        }
        Vec3 p = rigid_position(world->rigid, i);
        bool in = p.x >= bounds.min.x && p.y >= bounds.min.y && p.z >= bounds.min.z &&
                  p.x <= bounds.max.x && p.y <= bounds.max.y && p.z <= bounds.max.z;
        if (!in) { /* a NaN is not in either */
            world_remove_entity(world, world->slots[i].entity);
        }
    }
}

void world_tick(World *world, const Input *inputs, u32 count)
{
    f32 tick_s = world_tick_s(world);
    world->event_count = 0;

    world_inputs(world, inputs, count);
    path_steer(world);

    soft_stir(world->soft, world->rigid, tick_s);
    rigid_collide(world->rigid, world->jobs);
    soft_begin(world->soft, world->rigid, world->jobs, tick_s);

    rigid_prepare(world->rigid);
    u32 substeps = rigid_substeps(world->rigid);
    f32 h = tick_s / (f32)substeps;
    for (u32 i = 0; i < substeps; i++) {
        rigid_substep(world->rigid);
        soft_substep(world->soft, world->rigid, h);
    }
    soft_rest(world->soft, world->rigid);
    rigid_finish(world->rigid);
    soft_sleep(world->soft, world->rigid);

    collect_impacts(world);
    world_tell_breaks(world);
    tell_sensors(world);
    remove_strays(world); /* after the impacts, which speak of them */
    world->tick++;
}

u64 world_tick_number(const World *world)
{
    return world->tick;
}

FieldSet *world_fields(const World *world)
{
    return world->fields;
}

void world_describe(World *world, MessageWorld *out)
{
    memset(out, 0, sizeof *out);
    out->tick = world->tick;
    out->scene = world->scene->bytes;
    out->scene_bytes = world->scene->byte_count;
    out->fields = world->fields->fields;
    out->field_count = world->fields->count;
    out->entities = world->entities.items;
    out->entity_count = world->entities.count;
    out->parameters = world->parameters;
    out->parameter_count = PARAMETER_COUNT;
    out->probes = world->probes;
    out->probe_count = world->scene->probe_count;
}

void world_stats(const World *world, WorldStats *stats)
{
    RigidStats rigid;
    rigid_stats(world->rigid, &rigid);
    stats->bodies = rigid.bodies;
    stats->bodies_awake = rigid.awake;
    stats->contacts = rigid.contacts;
    stats->islands = rigid.islands;
    stats->particles = soft_particles(world->soft);
    stats->constraints = soft_constraints(world->soft);
    stats->memory_bytes = rigid.memory_bytes + soft_memory(world->soft) +
                          world->entities.room * sizeof *world->entities.items +
                          world->body_capacity * sizeof *world->slots;
}
