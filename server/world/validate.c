/*
 * validate.c: checks the invariants of a world. The part that an image could violate is checked for
 * every loaded image; everything at the end of each tick of debug and sanitizer builds.
 */
#include "server/world/world_internal.h"
#include "shared/base/check.h"

#include <string.h>

bool world_clocks_hold(const World *world)
{
    return world->generation != 0 && world->next_entity != 0;
}

/* One grab per user, and no two grabs with the same constraint. */
static bool grab_is_single(const World *world, u32 index)
{
    const Grab *grab = &world->grabs[index];
    for (u32 i = 0; i < index; i++) {
        const Grab *other = &world->grabs[i];
        if (other->user == grab->user || (other->user != 0 && other->matter == grab->matter &&
                                          other->constraint == grab->constraint)) {
            return false;
        }
    }
    return true;
}

bool world_grabs_hold(const World *world)
{
    for (u32 i = 0; i < world->grab_end; i++) {
        const Grab *grab = &world->grabs[i];
        if (grab->user == 0) {
            continue;
        }
        const Entity *entity = entity_list_find(&world->entities, grab->entity);
        if (entity == NULL || grab->matter >= world->matter_count || !grab_is_single(world, i)) {
            return false;
        }
        const Matter *matter = world->matters[grab->matter];
        if (matter != world_matter(world, entity) || matter->ops->grabs == NULL ||
            !matter->ops->grabs(matter, grab->constraint)) {
            return false;
        }
    }
    return true;
}

/* Each entity belongs to a kind of matter that knows it, and each of its objects has an entity. */
bool world_entities_hold(const World *world)
{
    u32 counts[MATTERS_MAX] = {0};
    for (u32 i = 0; i < world->entities.count; i++) {
        const Entity *entity = &world->entities.items[i];
        u32 index = world->field_matter[entity->field]; /* checked by entity_list_put */
        if (entity->id >= world->next_entity || index == MATTER_NONE) {
            return false;
        }
        const Matter *matter = world->matters[index];
        if (!matter->ops->owns(matter, entity, counts[index]++)) {
            return false;
        }
    }
    for (u32 i = 0; i < world->matter_count; i++) {
        if (!world->matters[i]->ops->owns_all(world->matters[i], counts[i])) {
            return false;
        }
    }
    return true;
}

bool world_values_hold(const World *world)
{
    for (u32 i = 0; i < world->parameter_count; i++) {
        const ScalarInfo *info = &world->parameters[i];
        for (u32 c = 0; c < info->components; c++) {
            f32 value = world->values[i][c];
            if (!(value >= info->min && value <= info->max) && value != info->initial[c]) {
                return false;
            }
        }
    }
    return true;
}

/* ---- each tick ---- */

/* Fields are as declared by their kinds. */
static void validate_fields(const World *world)
{
    CHECK(world->fields->count == world->field_count && world->field_count <= FIELDS_MAX);
    CHECK(world->parameters_field < world->field_count);
    CHECK(world->probes_field < world->field_count);
    for (u32 i = 0; i < world->field_count; i++) {
        const FieldDesc *field = &world->fields->fields[i], *declared = &world->field_descs[i];
        bool own = i == world->parameters_field || i == world->probes_field;
        CHECK_ITEM(i, field->id == i && field->kind == declared->kind);
        CHECK_ITEM(i, field->capacity == declared->capacity);
        CHECK_ITEM(i, own == (world->field_matter[i] == MATTER_NONE));
        CHECK_ITEM(i, own || world->field_matter[i] < world->matter_count);
    }
}

/* Assigns consecutive indices to scalars in their field. */
static void validate_scalars(const ScalarInfo *infos, u32 count, u32 field, u32 capacity)
{
    u32 first = 0;
    for (u32 i = 0; i < count; i++) {
        CHECK_ITEM(i, infos[i].field == field && infos[i].first == first);
        CHECK_ITEM(i, infos[i].components >= 1 && infos[i].components <= 4);
        first += infos[i].components;
    }
    CHECK(first <= capacity);
}

static void validate_matters(const World *world)
{
    CHECK(world->matter_count >= 1 && world->matter_count <= MATTERS_MAX);
    for (u32 i = 0; i < world->matter_count; i++) {
        CHECK_ITEM(i, world->matters[i] != NULL && world->matters[i]->ops != NULL);
        const Matter *matter = world->matters[i];
        CHECK_ITEM(i, matter->index == i && matter->world == world);
        const char *wrong = matter->ops->validate != NULL ? matter->ops->validate(matter) : NULL;
        if (wrong != NULL) {
            check_fail_item(__FILE__, __LINE__, wrong, i);
        }
    }
    for (u32 i = 0; i < world->probe_count; i++) {
        u32 matter = world->own_probes[i].matter;
        CHECK_ITEM(i, matter < world->matter_count ||
                          (matter == MATTER_NONE && i < world->scene->probe_count));
    }
}

static void validate_events(const World *world)
{
    CHECK(world->event_count <= world->event_capacity);
    for (u32 i = 0; i < world->event_count; i++) {
        const Event *event = &world->events[i];
        CHECK_ITEM(i, event->kind > EVENT_NONE && event->kind < EVENT_KIND_COUNT);
        CHECK_ITEM(i, event->kind != EVENT_REFUSED || event->code < 0);
        CHECK_ITEM(i, vec3_is_finite(event->position));
        CHECK_ITEM(i, event->kind != EVENT_SPAWN || event->entity.id < world->next_entity);
    }
}

void world_validate(const World *world)
{
    validate_matters(world);
    validate_fields(world);
    validate_scalars(world->parameters, world->parameter_count, world->parameters_field,
                     world->field_descs[world->parameters_field].capacity);
    validate_scalars(world->probes, world->probe_count, world->probes_field,
                     world->field_descs[world->probes_field].capacity);
    entity_list_validate(&world->entities, world->fields);
    CHECK(world->grab_end <= GRABS_MAX);
    CHECK(world_clocks_hold(world));
    CHECK(world_entities_hold(world));
    CHECK(world_grabs_hold(world));
    CHECK(world_values_hold(world));
    validate_events(world);
}
