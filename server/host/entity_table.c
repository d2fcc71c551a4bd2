/* entity_table.c: entities by ascending id; ids grow with time, so that most additions append. */
#include "server/host/entity_table.h"

#include "shared/error.h"

#include <stdlib.h>
#include <string.h>

void entity_table_finish(EntityTable *table)
{
    free(table->entities);
    *table = (EntityTable){0};
}

/* Index of the first entity whose id is not below `id`. */
static u32 lower_bound(const EntityTable *table, u32 id)
{
    u32 low = 0;
    u32 high = table->count;
    if (high > 0 && table->entities[high - 1].id < id) {
        return high;
    }
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (table->entities[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int reserve(EntityTable *table, u32 count)
{
    if (count <= table->capacity) {
        return 0;
    }
    if (count > ENTITIES_MAX) {
        return ERROR_LIMIT;
    }
    u32 capacity = u32_min(u32_max(64, 2 * count), ENTITIES_MAX);
    Entity *entities = realloc(table->entities, capacity * sizeof *entities);
    if (entities == NULL) {
        return ERROR_MEMORY;
    }
    table->entities = entities;
    table->capacity = capacity;
    return 0;
}

static int add(EntityTable *table, const Entity *entity)
{
    u32 at = lower_bound(table, entity->id);
    if (at < table->count && table->entities[at].id == entity->id) {
        table->entities[at] = *entity;
        return 0;
    }
    int result = reserve(table, table->count + 1);
    if (result != 0) {
        return result;
    }
    Entity *place = table->entities + at;
    memmove(place + 1, place, (table->count - at) * sizeof *place);
    *place = *entity;
    table->count++;
    return 0;
}

static void take_away(EntityTable *table, u32 id)
{
    u32 at = lower_bound(table, id);
    if (at < table->count && table->entities[at].id == id) {
        Entity *place = table->entities + at;
        table->count--;
        memmove(place, place + 1, (table->count - at) * sizeof *place);
    }
}

int entity_table_set(EntityTable *table, const Entity *entities, u32 count)
{
    table->count = 0;
    int result = 0;
    for (u32 i = 0; i < count && result == 0; i++) {
        result = add(table, &entities[i]);
    }
    return result;
}

int entity_table_apply(EntityTable *table, const Frame *frame)
{
    int result = 0;
    for (u32 i = 0; i < frame->event_count; i++) {
        const Event *event = &frame->events[i];
        if (event->kind == EVENT_SPAWN) {
            int added = add(table, &event->entity);
            result = result == 0 ? added : result;
        } else if (event->kind == EVENT_DESPAWN) {
            take_away(table, event->entity.id);
        } else if (event->kind == EVENT_RESET) {
            table->count = 0;
        }
    }
    return result;
}
