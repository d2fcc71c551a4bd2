/* entity_list.c: a sorted array; ids are never reused and mostly ascend, so insertion is usually
 * an append. */
#include "protocol/stream/entity_list.h"

#include "protocol/field/field_ops.h"
#include "protocol/scene/scene.h"
#include "shared/base/check.h"
#include "shared/base/error.h"

#include <stdlib.h>
#include <string.h>

void entity_list_finish(EntityList *list)
{
    free(list->items);
    memset(list, 0, sizeof *list);
}

void entity_list_clear(EntityList *list)
{
    list->count = 0;
    list->version++;
}

/* Index of the first entity whose id is not below `id`. */
static u32 position_of(const EntityList *list, u32 id)
{
    u32 low = 0, high = list->count;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (list->items[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Whether it fits the fields and the scene; resolves its appearance. */
static bool entity_fits(const EntityList *list, const FieldSet *fields, const Entity *entity,
                        Appearance *appearance)
{
    if (entity->id == 0 || entity->field >= fields->count) {
        return false;
    }
    const FieldDesc *field = &fields->fields[entity->field];
    if (entity->first > field->capacity || entity->count > field->capacity - entity->first) {
        return false;
    }
    if (field_ops(field->kind)->axes > 1 && entity->count != field->capacity) {
        return false; /* a part of a grid is not a valid entity */
    }
    if (!fields_hold_dye(fields->fields, fields->count, entity->field, entity->dye)) {
        return false;
    }
    if (entity->appearance.kind == APPEARANCE_CLOTH && entity->appearance.grid[0] > 0 &&
        (u64)entity->appearance.grid[0] * entity->appearance.grid[1] > entity->count) {
        return false;
    }
    *appearance = entity->appearance;
    if (list->scene == NULL) {
        return true;
    }
    return scene_resolve(list->scene, appearance) &&
           (appearance->soft == 0 ||
            (field->kind == FIELD_POINTS &&
             list->scene->soft_meshes[appearance->soft - 1].point_count == entity->count));
}

int entity_list_put(EntityList *list, const FieldSet *fields, const Entity *entity)
{
    Appearance appearance;
    if (!entity_fits(list, fields, entity, &appearance)) {
        return ERROR_RANGE;
    }
    u32 at = position_of(list, entity->id);
    bool known = at < list->count && list->items[at].id == entity->id;
    if (!known) {
        if (list->count >= ENTITIES_MAX) {
            return ERROR_LIMIT;
        }
        if (list->count == list->capacity) {
            u32 capacity = list->capacity > 0 ? 2 * list->capacity : 256;
            Entity *items = realloc(list->items, capacity * sizeof *items);
            if (items == NULL) {
                return ERROR_MEMORY;
            }
            list->items = items;
            list->capacity = capacity;
        }
        memmove(list->items + at + 1, list->items + at, (list->count - at) * sizeof *list->items);
        list->count++;
    }
    list->items[at] = *entity;
    list->items[at].appearance = appearance;
    list->items[at].name[NAME_BYTES_MAX - 1] = 0;
    list->version++;
    return ERROR_OK;
}

int entity_list_set(EntityList *list, const FieldSet *fields, const Entity *entities, u32 count)
{
    entity_list_clear(list);
    int result = ERROR_OK;
    for (u32 i = 0; i < count && result == ERROR_OK; i++) {
        result = entity_list_put(list, fields, &entities[i]);
    }
    return result;
}

int entity_list_event(EntityList *list, const FieldSet *fields, const Event *event)
{
    switch (event->kind) {
    case EVENT_SPAWN:
        return entity_list_put(list, fields, &event->entity);
    case EVENT_DESPAWN:
        entity_list_remove(list, event->entity.id);
        return ERROR_OK;
    case EVENT_RESET:
        entity_list_clear(list);
        return ERROR_OK;
    default:
        return ERROR_OK;
    }
}

int entity_list_frame(EntityList *list, const Frame *frame)
{
    int first = ERROR_OK;
    for (u32 i = 0; i < frame->event_count; i++) {
        int result = entity_list_event(list, frame->fields, &frame->events[i]);
        first = first == ERROR_OK ? result : first;
    }
    return first;
}

void entity_list_remove(EntityList *list, u32 id)
{
    u32 at = position_of(list, id);
    if (at < list->count && list->items[at].id == id) {
        list->count--;
        memmove(list->items + at, list->items + at + 1, (list->count - at) * sizeof *list->items);
        list->version++;
    }
}

const Entity *entity_list_find(const EntityList *list, u32 id)
{
    u32 at = position_of(list, id);
    return at < list->count && list->items[at].id == id ? &list->items[at] : NULL;
}

const Entity *entity_list_named(const EntityList *list, const char *name)
{
    for (u32 i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

void entity_list_validate(const EntityList *list, const FieldSet *fields)
{
    CHECK(list->count <= list->capacity && list->count <= ENTITIES_MAX);
    CHECK(list->items != NULL || list->capacity == 0);
    for (u32 i = 0; i < list->count; i++) {
        const Entity *entity = &list->items[i];
        Appearance appearance;
        CHECK_ITEM(i, i == 0 || list->items[i - 1].id < entity->id);
        CHECK_ITEM(i, entity_fits(list, fields, entity, &appearance));
        CHECK_ITEM(i, appearance.shape.geometry == entity->appearance.shape.geometry);
        CHECK_ITEM(i, memchr(entity->name, 0, sizeof entity->name) != NULL);
    }
}

static bool entity_same(const Entity *a, const Entity *b)
{
    return a->field == b->field && a->first == b->first && a->count == b->count &&
           a->generation == b->generation && strcmp(a->name, b->name) == 0 &&
           memcmp(&a->appearance, &b->appearance, sizeof a->appearance) == 0;
}

u32 entity_list_changes(const EntityList *from, const EntityList *to, Event *events)
{
    u32 count = 0, i = 0, k = 0;
    while (i < from->count || k < to->count) {
        const Entity *a = i < from->count ? &from->items[i] : NULL;
        const Entity *b = k < to->count ? &to->items[k] : NULL;
        bool gone = a != NULL && (b == NULL || a->id < b->id);
        bool comes = b != NULL && (a == NULL || b->id < a->id);
        bool other = !gone && !comes && !entity_same(a, b);
        if (gone || other) {
            if (events != NULL) {
                events[count].kind = EVENT_DESPAWN;
                events[count].entity.id = a->id;
            }
            count++;
        }
        if (comes || other) {
            if (events != NULL) {
                events[count].kind = EVENT_SPAWN;
                events[count].entity = *b;
            }
            count++;
        }
        i += !comes;
        k += !gone;
    }
    return count;
}
