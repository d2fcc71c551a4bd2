/* matter.c: services of a world for its kinds of matter. */
#include "server/world/world_internal.h"
#include "shared/base/check.h"

#include <stdio.h>
#include <string.h>

const Scene *world_scene(const World *world)
{
    return world->scene;
}

Jobs *world_jobs(const World *world)
{
    return world->jobs;
}

f32 world_tick_s(const World *world)
{
    return 1.0f / (f32)world->scene->tick_rate;
}

u16 world_generation(const World *world)
{
    return world->generation;
}

Matter *world_matter_at(const World *world, u32 index)
{
    CHECK(index < world->matter_count);
    return world->matters[index];
}

const Matter *world_matter_named(const World *world, const char *name)
{
    for (u32 i = 0; i < world->matter_count; i++) {
        if (strcmp(world->matters[i]->ops->name, name) == 0) {
            return world->matters[i];
        }
    }
    return NULL;
}

u32 world_matters(const World *world)
{
    return world->matter_count;
}

bool world_has_others(const Matter *matter)
{
    const World *world = matter->world;
    bool any = false;
    for (u32 i = 0; i < world->field_count; i++) {
        any = any ||
              (world->field_matter[i] != MATTER_NONE && world->field_matter[i] > matter->index);
    }
    return any;
}

u32 world_colliders(const Matter *matter, Collider colliders[MATTERS_MAX])
{
    const World *world = matter->world;
    u32 count = 0;
    for (u32 i = 0; i < matter->index; i++) {
        Matter *other = world->matters[i];
        if (other->ops->collider != NULL) {
            colliders[count] = other->ops->collider(other, matter->index);
            count += colliders[count].ops != NULL;
        }
    }
    return count;
}

u32 world_media(const World *world, Medium media[MEDIA_MAX])
{
    u32 count = 0;
    for (u32 i = 0; i < world->matter_count; i++) {
        Matter *other = world->matters[i];
        if (other->ops->media != NULL) {
            count += other->ops->media(other, media + count, MEDIA_MAX - count);
        }
    }
    return count;
}

u32 world_next_entity(const World *world)
{
    return world->next_entity;
}

u32 world_add_field(Matter *matter, const FieldDesc *field)
{
    World *world = matter->world;
    CHECK(world->fields == NULL); /* only during declare */
    if (field->capacity == 0) {
        return FIELDS_MAX;
    }
    if (world->field_count == FIELDS_MAX) {
        world->declared_too_much = true;
        return FIELDS_MAX;
    }
    u32 id = world->field_count++;
    world->field_descs[id] = *field;
    world->field_matter[id] = (u8)matter->index;
    return id;
}

void world_dye_field(Matter *matter, u32 field, u32 dye)
{
    World *world = matter->world;
    CHECK(world->fields == NULL);
    if (field < world->field_count && dye < world->field_count) {
        world->field_dye[field] = (u8)(dye + 1);
    }
}

u32 world_add_parameter(Matter *matter, ScalarInfo info)
{
    World *world = matter->world;
    CHECK(world->fields == NULL);
    CHECK(info.components >= 1 && info.components <= 4);
    if (world->parameter_count == PARAMETERS_MAX) {
        world->declared_too_much = true;
        return WORLD_GRAVITY; /* placeholder until the world is refused */
    }
    u32 id = world->parameter_count++;
    world->parameters[id] = info;
    return id;
}

u32 world_add_probe(Matter *matter, const char *name, const char *unit)
{
    World *world = matter->world;
    CHECK(world->fields == NULL);
    u32 number = 0;
    for (u32 i = world->scene->probe_count; i < world->probe_count; i++) {
        number += world->own_probes[i].matter == matter->index;
    }
    if (world->probe_count == PROBES_MAX) {
        world->declared_too_much = true;
        return number;
    }
    world->own_probes[world->probe_count] = (OwnProbe){matter->index, number};
    ScalarInfo *info = &world->probes[world->probe_count++];
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%s", name);
    snprintf(info->unit, sizeof info->unit, "%s", unit);
    info->components = 1;
    return number;
}

const f32 *world_value(const World *world, u32 parameter)
{
    CHECK(parameter < world->parameter_count);
    return world->values[parameter];
}

Vec3 world_vector(const World *world, u32 parameter)
{
    const f32 *value = world->values[parameter];
    return vec3(value[0], value[1], value[2]);
}

int world_add_entity(Matter *matter, Entity *entity)
{
    World *world = matter->world;
    entity->id = world->next_entity++;
    if (entity->field >= world->field_count ||
        world->field_matter[entity->field] != matter->index) {
        return ERROR_RANGE;
    }
    entity->dye = world->field_dye[entity->field];
    return entity_list_put(&world->entities, world->fields, entity);
}

const Entity *world_entity(const World *world, u32 id)
{
    return entity_list_find(&world->entities, id);
}

void world_remove_entity(World *world, u32 id)
{
    const Entity *entity = entity_list_find(&world->entities, id);
    if (entity == NULL || world_matter(world, entity)->ops->remove == NULL) {
        return;
    }
    world_release_entity(world, id);
    EACH_MATTER_WITH(world, leaves, entity)
    world_matter(world, entity)->ops->remove(world_matter(world, entity), entity);
    Event *event = world_event(world, EVENT_DESPAWN);
    if (event != NULL) {
        event->entity = *entity;
    }
    entity_list_remove(&world->entities, id);
}

u64 world_tick_number(const World *world)
{
    return world->tick;
}
