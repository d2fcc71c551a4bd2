/* world_copy.c: see world_copy.h. */
#include "server/host/world_copy.h"

#include <stdlib.h>
#include <string.h>

void world_copy_destroy(WorldCopy *world)
{
    if (world == NULL) {
        return;
    }
    entity_list_finish(&world->entities);
    field_set_release(world->fields);
    scene_destroy(world->scene);
    free(world->scalars);
    free(world->scene_bytes);
    free(world);
}

static bool scalars_fit(const FieldSet *fields, const ScalarInfo *infos, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        const ScalarInfo *info = &infos[i];
        if (info->field >= fields->count || fields->fields[info->field].kind != FIELD_SCALARS ||
            info->components < 1 || info->components > 4) {
            return false;
        }
        u32 capacity = fields->fields[info->field].capacity;
        if (info->first > capacity || info->components > capacity - info->first) {
            return false;
        }
    }
    return true;
}

WorldCopy *world_copy_create(const MessageWorld *message, ErrorText *error)
{
    u32 scalars = message->parameter_count + message->probe_count;
    WorldCopy *world = calloc(1, sizeof *world);
    if (world == NULL || message->parameter_count > PARAMETERS_MAX ||
        message->probe_count > PROBES_MAX) {
        free(world);
        return NULL;
    }
    world->message = *message;
    world->scene_bytes = malloc(u32_max(message->scene_bytes, 1));
    world->scalars = calloc(u32_max(scalars, 1), sizeof *world->scalars);
    world->fields = field_set_create(message->fields, message->field_count);
    world->scene = scene_from_bytes(message->scene, message->scene_bytes, error);
    world->entities.scene = world->scene;
    if (world->scene_bytes == NULL || world->scalars == NULL || world->fields == NULL ||
        world->scene == NULL ||
        !scalars_fit(world->fields, message->parameters, message->parameter_count) ||
        !scalars_fit(world->fields, message->probes, message->probe_count) ||
        entity_list_set(&world->entities, world->fields, message->entities,
                        message->entity_count) != 0) {
        world_copy_destroy(world);
        return NULL;
    }
    memcpy(world->scene_bytes, message->scene, message->scene_bytes);
    for (u32 i = 0; i < scalars; i++) {
        world->scalars[i] = i < message->parameter_count
                                ? message->parameters[i]
                                : message->probes[i - message->parameter_count];
    }
    world->message.scene = world->scene_bytes;
    world->message.fields = world->fields->fields;
    world->message.parameters = world->scalars;
    world->message.probes = world->scalars + message->parameter_count;
    world->message.entities = NULL;
    world->message.entity_count = 0;
    return world;
}

bool world_copy_same(const WorldCopy *a, const WorldCopy *b)
{
    return a != NULL && field_set_equal(a->fields, b->fields) &&
           a->message.scene_bytes == b->message.scene_bytes &&
           memcmp(a->scene_bytes, b->scene_bytes, a->message.scene_bytes) == 0 &&
           a->message.parameter_count == b->message.parameter_count &&
           a->message.probe_count == b->message.probe_count;
}
