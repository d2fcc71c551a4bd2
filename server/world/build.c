/* build.c: a scene becomes solvers, fields and entities; a reset does it again. */
#include "server/world/world_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FieldDesc field_desc(const char *name, FieldKind kind, u32 capacity, f32 quantum)
{
    FieldDesc field = {.kind = (u8)kind, .channels = 1, .capacity = capacity, .quantum = quantum};
    snprintf(field.name, sizeof field.name, "%s", name);
    return field;
}

static FieldSet *build_fields(World *world)
{
    const Scene *scene = world->scene;
    u32 points = 0, scalars = 0;
    for (u32 i = 0; i < scene->soft_count; i++) {
        points += scene->soft_meshes[scene->softs[i].mesh].point_count;
    }
    for (u32 i = 0; i < PARAMETER_COUNT; i++) {
        scalars += world->parameters[i].components;
    }
    FieldDesc fields[FIELD_SETS_MAX];
    fields[FIELD_BODIES] = field_desc("bodies", FIELD_POSES, world->body_capacity, scene->quantum);
    fields[FIELD_PARAMETERS] = field_desc("parameters", FIELD_SCALARS, scalars, 1.0f);
    fields[FIELD_PROBES] =
        field_desc("probes", FIELD_SCALARS, u32_max(scene->probe_count, 1), 1.0f);
    /* Cloth is seen from near: half the step of bodies. */
    fields[FIELD_POINTS_ALL] = field_desc("points", FIELD_POINTS, points, 0.5f * scene->quantum);
    u32 count = points != 0 ? FIELD_POINTS_ALL + 1 : FIELD_POINTS_ALL;
    world->joints_field = world->softs_field = 0;
    if (scene->joint_count != 0) {
        world->joints_field = count;
        fields[count++] = field_desc("joints", FIELD_SCALARS, scene->joint_count, 1.0f);
    }
    if (scene->soft_count != 0) {
        world->softs_field = count;
        fields[count++] = field_desc("softs", FIELD_SCALARS, scene->soft_count, 1.0f);
    }
    return field_set_create(fields, count);
}

static BodyDef body_def(const SceneBody *body)
{
    BodyDef def = body_def_default();
    def.shape = body->shape;
    def.motion = body->motion == MOTION_STATIC      ? BODY_STATIC
                 : body->motion == MOTION_KINEMATIC ? BODY_KINEMATIC
                                                    : BODY_DYNAMIC;
    def.position = body->position;
    def.orientation = body->orientation;
    def.velocity = body->velocity;
    def.spin = body->spin;
    def.mass_kg = body->mass_kg;
    def.friction = body->friction;
    def.restitution = body->restitution;
    def.rolling = body->rolling;
    def.gravity_scale = body->gravity_scale;
    def.asleep = body->asleep;
    def.sensor = body->sensor;
    def.plain = body->plain;
    def.group = body->group;
    def.mask = body->mask;
    def.family = body->family;
    def.linear_damping = body->linear_damping;
    def.angular_damping = body->angular_damping;
    def.surface_velocity = body->surface_velocity;
    return def;
}

int world_add_body(World *world, const SceneBody *body, const char *name, u32 owner, u32 *id)
{
    BodyDef def = body_def(body);
    BodyId made = rigid_add(world->rigid, &def);
    if (made.generation == 0) {
        return ERROR_LIMIT;
    }
    Entity entity = {.id = world->next_entity++,
                     .field = FIELD_BODIES,
                     .movable = body->motion == MOTION_DYNAMIC,
                     .generation = (u16)made.generation,
                     .first = made.slot,
                     .count = 1,
                     .mass_kg = body->mass_kg,
                     .look = body->look};
    if (body->sensor) {
        entity.look.kind = APPEARANCE_NONE; /* a place, not a thing: nobody sees or grabs it */
        entity.movable = 0;
    }
    snprintf(entity.name, sizeof entity.name, "%s", name);
    int result = entity_list_put(&world->entities, world->fields, &entity);
    if (result != 0) {
        rigid_remove(world->rigid, made);
        return result;
    }
    world->slots[made.slot].entity = entity.id;
    world->slots[made.slot].owner = owner;
    *id = entity.id;
    return ERROR_OK;
}

void world_remove_entity(World *world, u32 id)
{
    const Entity *entity = entity_list_find(&world->entities, id);
    if (entity == NULL || entity->field != FIELD_BODIES) {
        return;
    }
    world_release_entity(world, id);
    u32 slot = entity->first;
    soft_wake_near(world->soft, world->rigid, slot);
    rigid_remove(world->rigid, rigid_at(world->rigid, slot));
    SlotInfo none = {0, 0};
    world->slots[slot] = none;
    Event *event = world_event(world, EVENT_DESPAWN);
    if (event != NULL) {
        event->entity = *entity;
    }
    entity_list_remove(&world->entities, id);
}

static int add_bodies(World *world)
{
    for (u32 i = 0; i < world->scene->body_count; i++) {
        SceneBody body = world->scene->bodies[i];
        u32 id;
        body.position = path_position(world, i, 0);
        int result = world_add_body(world, &body, body.name, 0, &id);
        if (result != 0) {
            return result;
        }
        world->body_slots[i] = entity_list_find(&world->entities, id)->first;
    }
    return ERROR_OK;
}

static int fill(World *world)
{
    int result = add_bodies(world);
    if (result == ERROR_OK) {
        result = world_add_joints(world);
    }
    if (result == ERROR_OK) {
        result = world_add_softs(world);
    }
    tune_apply(world);
    return result;
}

int world_rebuild(World *world, bool tell)
{
    Soft *soft = soft_create();
    if (soft == NULL) {
        return ERROR_MEMORY; /* and the world goes on as it was */
    }
    for (u32 i = 0; i < world->hold_end; i++) {
        if (world->holds[i].user != 0) {
            world_release_entity(world, world->holds[i].entity);
        }
    }
    rigid_clear(world->rigid);
    world->built_tick = world->tick;
    soft_destroy(world->soft);
    world->soft = soft;
    memset(world->slots, 0, world->body_capacity * sizeof *world->slots);
    entity_list_clear(&world->entities);
    world->entities.scene = world->scene;
    world->points_generation = (u16)(world->points_generation % 0xFFFF + 1);
    for (u32 i = 0; i < PARAMETER_COUNT; i++) {
        memcpy(world->values[i], world->parameters[i].initial, sizeof world->values[i]);
    }
    int result = fill(world);
    if (result != 0 || !tell) {
        return result;
    }
    world_event(world, EVENT_RESET);
    for (u32 i = 0; i < world->entities.count; i++) {
        Event *event = world_event(world, EVENT_SPAWN);
        if (event != NULL) {
            event->entity = world->entities.items[i];
        }
    }
    return ERROR_OK;
}

/* A crowd in one place costs its square, so there is a limit to it. */
static int check_crowd(World *world, ErrorText *error)
{
    const Scene *scene = world->scene;
    u32 slot, count = rigid_crowd(world->rigid, CROWD_BODIES_MAX, &slot);
    for (u32 i = 0; i < scene->body_count && count > 0; i++) {
        if (world->body_slots[i] == slot) {
            return error_set(error, ERROR_LIMIT,
                             "%s: %u bodies are in the same place as bodies[%u] '%s': at most %d",
                             scene->name, count, i, scene->bodies[i].name, CROWD_BODIES_MAX);
        }
    }
    return ERROR_OK;
}

int world_build(World *world, ErrorText *error)
{
    const Scene *scene = world->scene;
    world->body_capacity = scene->body_count + scene->spare_bodies;
    if (world->body_capacity > BODIES_MAX) {
        return error_set(error, ERROR_LIMIT, "%s: %u bodies and %u spare: at most %d in all",
                         scene->name, scene->body_count, scene->spare_bodies, BODIES_MAX);
    }
    world->body_capacity = u32_max(world->body_capacity, 1);
    world->next_entity = 1;
    RigidDef def = {.body_capacity = world->body_capacity,
                    .tick_s = world_tick_s(world),
                    .substeps = scene->substeps,
                    .gravity = scene->gravity,
                    .geometries = (const Geometry *const *)scene->geometries,
                    .geometry_count = scene->geometry_count,
                    .joint_capacity = scene->joint_count,
                    .method = scene->method == SCENE_IMPULSES ? RIGID_IMPULSES : RIGID_SOFT_STEP,
                    .iterations = scene->iterations,
                    .pyramid_sides = scene->pyramid_sides,
                    .baumgarte = scene->baumgarte,
                    .no_sleep = scene->no_sleep};
    world->rigid = rigid_create(&def);
    world->slots = calloc(world->body_capacity, sizeof *world->slots);
    world->softs = calloc(u32_max(scene->soft_count, 1), sizeof *world->softs);
    world->soft_entities = calloc(u32_max(scene->soft_count, 1), sizeof *world->soft_entities);
    world->body_slots = calloc(u32_max(scene->body_count, 1), sizeof *world->body_slots);
    world->joints = calloc(u32_max(scene->joint_count, 1), sizeof *world->joints);
    world->probes = calloc(u32_max(scene->probe_count, 1), sizeof *world->probes);
    world->order = malloc(INPUTS_PER_TICK_MAX * sizeof *world->order);
    if (world->rigid == NULL || world->slots == NULL || world->softs == NULL ||
        world->soft_entities == NULL || world->body_slots == NULL || world->joints == NULL ||
        world->probes == NULL || world->order == NULL) {
        return error_set(error, ERROR_MEMORY, "%s: no memory for the world", scene->name);
    }
    tune_describe(world);
    world->fields = build_fields(world);
    world->trouble.text[0] = 0;
    int result = world->fields != NULL ? world_rebuild(world, false) : ERROR_MEMORY;
    if (result != 0) {
        bool told = world->trouble.text[0] != 0;
        return error_set(error, result, "%s: cannot build the world: %s", scene->name,
                         told ? world->trouble.text : error_name(result));
    }
    return check_crowd(world, error);
}
