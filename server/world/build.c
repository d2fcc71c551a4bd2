/* build.c: builds kinds of matter, fields and entities from a scene; also for a reset. */
#include "server/world/matter_liquid.h"
#include "server/world/matter_particles.h"
#include "server/world/matter_rigid.h"
#include "server/world/matter_smoke.h"
#include "server/world/matter_soft.h"
#include "server/world/matter_water.h"
#include "server/world/world_internal.h"
#include "shared/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of every world. Others may interact with the first. */
static const MatterOps *const kinds_of_all[] = {&matter_rigid,     &matter_soft,  &matter_liquid,
                                                &matter_particles, &matter_smoke, &matter_water};

enum {
    KINDS_OF_ALL = sizeof kinds_of_all / sizeof kinds_of_all[0]
};

static const MatterOps *kind_at(const MatterList *further, u32 index)
{
    return index < KINDS_OF_ALL ? kinds_of_all[index] : further->kinds[index - KINDS_OF_ALL];
}

static u32 kind_count(const MatterList *further)
{
    return KINDS_OF_ALL + (further != NULL ? further->count : 0);
}

/* ---- fields ---- */

static u32 add_scalars(World *world, const char *name)
{
    FieldDesc *field = &world->field_descs[world->field_count];
    *field = (FieldDesc){.kind = FIELD_SCALARS, .channels = 1, .quantum = 1.0f};
    snprintf(field->name, sizeof field->name, "%s", name);
    world->field_matter[world->field_count] = MATTER_NONE;
    return world->field_count++;
}

/* Assigns consecutive indices to scalars in their field. */
static void place_scalars(World *world, ScalarInfo *infos, u32 count, u32 field)
{
    u32 first = 0;
    for (u32 i = 0; i < count; i++) {
        infos[i].field = (u8)field;
        infos[i].first = first;
        first += infos[i].components;
    }
    world->field_descs[field].capacity = u32_max(first, 1);
}

/* Parameters and probes follow the first kind's elements. */
static int declare(World *world, ErrorText *error)
{
    tune_declare(world);
    int result = probes_declare(world, error);
    if (result != ERROR_OK) {
        return result;
    }
    for (u32 i = 0; i < world->matter_count; i++) {
        Matter *matter = world->matters[i];
        matter->ops->declare(matter);
        if (i == 0) {
            world->parameters_field = add_scalars(world, "parameters");
            world->probes_field = add_scalars(world, "probes");
        }
    }
    EACH_MATTER(world, declare_states)
    place_scalars(world, world->parameters, world->parameter_count, world->parameters_field);
    place_scalars(world, world->probes, world->probe_count, world->probes_field);
    return ERROR_OK;
}

/* ---- kinds ---- */

static void check_kind(const MatterOps *ops)
{
    CHECK(ops->bytes >= sizeof(Matter));
    CHECK(ops->estimate != NULL && ops->create != NULL && ops->destroy != NULL);
    CHECK(ops->declare != NULL && ops->fill != NULL);
    CHECK(ops->owns != NULL && ops->owns_all != NULL);
    CHECK(ops->spawn == NULL || ops->spawned != NULL);
    CHECK(ops->knows_prefab == NULL || ops->spawn != NULL);
    CHECK(ops->grab == NULL ||
          (ops->point != NULL && ops->drag != NULL && ops->release != NULL && ops->grabs != NULL));
}

static int create_kinds(World *world, const MatterList *further, ErrorText *error)
{
    if (kind_count(further) > MATTERS_MAX) {
        return error_set(error, ERROR_LIMIT, "%u kinds of matter: at most %d", kind_count(further),
                         MATTERS_MAX);
    }
    for (u32 i = 0; i < kind_count(further); i++) {
        const MatterOps *ops = kind_at(further, i);
        check_kind(ops);
        Matter *matter = calloc(1, ops->bytes);
        if (matter == NULL) {
            return error_set(error, ERROR_MEMORY, "%s: out of memory for the world",
                             world->scene->name);
        }
        matter->ops = ops;
        matter->world = world;
        matter->index = i;
        world->matters[world->matter_count++] = matter;
        int result = ops->create(matter, error);
        if (result != ERROR_OK) {
            return result;
        }
    }
    return ERROR_OK;
}

/* Whether the kinds named by its prefabs exist. */
static int check_prefabs(const World *world, ErrorText *error)
{
    const Scene *scene = world->scene;
    for (u32 i = 0; i < scene->prefab_count; i++) {
        const ScenePrefab *prefab = &scene->prefabs[i];
        const Matter *matter =
            prefab->kind == PREFAB_MATTER ? world_matter_named(world, prefab->matter) : NULL;
        if (prefab->kind == PREFAB_MATTER && (matter == NULL || matter->ops->knows_prefab == NULL ||
                                              !matter->ops->knows_prefab(matter, prefab))) {
            return error_set(error, ERROR_NOT_FOUND,
                             "%s: prefabs[%u].matter: no kind of matter \"%s\" that knows \"%s\"",
                             scene->name, i, prefab->matter, prefab->name);
        }
    }
    return ERROR_OK;
}

static int fill(World *world)
{
    int result = ERROR_OK;
    for (u32 i = 0; i < world->matter_count && result == ERROR_OK; i++) {
        result = world->matters[i]->ops->fill(world->matters[i], &world->error_text);
    }
    tune_apply(world);
    return result;
}

static int reserve(World *world)
{
    int result = ERROR_OK;
    for (u32 i = 0; i < world->matter_count && result == ERROR_OK; i++) {
        const MatterOps *ops = world->matters[i]->ops;
        result = ops->reserve != NULL ? ops->reserve(world->matters[i]) : ERROR_OK;
    }
    return result;
}

int world_rebuild(World *world, bool notify)
{
    int result = reserve(world);
    if (result != ERROR_OK) {
        return result;
    }
    for (u32 i = 0; i < world->grab_end; i++) {
        if (world->grabs[i].user != 0) {
            world_release_entity(world, world->grabs[i].entity);
        }
    }
    EACH_MATTER(world, clear)
    entity_list_clear(&world->entities);
    world->entities.scene = world->scene;
    world->generation = (u16)(world->generation % 0xFFFF + 1);
    for (u32 i = 0; i < world->parameter_count; i++) {
        memcpy(world->values[i], world->parameters[i].initial, sizeof world->values[i]);
    }
    result = fill(world);
    if (result != ERROR_OK || !notify) {
        return result;
    }
    world_notify_entities(world, 0);
    return ERROR_OK;
}

static int build_fields(World *world, ErrorText *error)
{
    const char *name = world->scene->name;
    world->probes = calloc(PROBES_MAX, sizeof *world->probes);
    world->own_probes = calloc(PROBES_MAX, sizeof *world->own_probes);
    world->order = malloc(INPUTS_PER_TICK_MAX * sizeof *world->order);
    if (world->probes == NULL || world->own_probes == NULL || world->order == NULL) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory for the world", name);
    }
    int result = declare(world, error);
    if (result != ERROR_OK) {
        return result;
    }
    if (world->declared_too_much) {
        return error_set(error, ERROR_LIMIT,
                         "%s: at most %d fields, %d parameters and %d probes in a world", name,
                         FIELDS_MAX, PARAMETERS_MAX, PROBES_MAX);
    }
    world->fields = field_set_create(world->field_descs, world->field_count);
    return world->fields != NULL ? ERROR_OK
                                 : error_set(error, ERROR_MEMORY, "%s: cannot build the world: %s",
                                             name, error_name(ERROR_MEMORY));
}

int world_build(World *world, const MatterList *kinds, ErrorText *error)
{
    world->next_entity = 1;
    int result = create_kinds(world, kinds, error);
    result = result == ERROR_OK ? check_prefabs(world, error) : result;
    if (result == ERROR_OK) {
        result = build_fields(world, error);
    }
    if (result != ERROR_OK) {
        return result;
    }
    world->error_text.text[0] = 0;
    result = world_rebuild(world, false);
    if (result != ERROR_OK) {
        bool notified = world->error_text.text[0] != 0;
        return error_set(error, result, "%s: cannot build the world: %s", world->scene->name,
                         notified ? world->error_text.text : error_name(result));
    }
    for (u32 i = 0; i < world->matter_count && result == ERROR_OK; i++) {
        const MatterOps *ops = world->matters[i]->ops;
        result = ops->check != NULL ? ops->check(world->matters[i], error) : ERROR_OK;
    }
    return result;
}

/* ---- memory estimate ---- */

/* Measured with worlds of one kind each (resident memory of the server once the history is
 * full), plus a third. */
enum {
    BASE_BYTES = 24 << 20
};

u64 world_memory_estimate(const Scene *scene, const MatterList *kinds)
{
    /* The host has a copy of the scene, and parsing needed as much. */
    u64 given = 2 * (u64)scene->byte_count;
    for (u32 i = 0; i < scene->geometry_count; i++) {
        given += geometry_bytes(scene->geometries[i]);
    }
    u64 bytes = BASE_BYTES + 2 * given;
    for (u32 i = 0; i < kind_count(kinds); i++) {
        bytes += kind_at(kinds, i)->estimate(scene);
    }
    return bytes;
}
