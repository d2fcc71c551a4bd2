/* grids.c: see grids.h. */
#include "server/world/grids.h"

#include "shared/base/check.h"

#include <stdio.h>
#include <stdlib.h>

bool grid_list_create(GridList *list, u32 capacity)
{
    list->entities = calloc(u32_max(capacity, 1), sizeof *list->entities);
    list->fields = calloc(u32_max(capacity, 1), sizeof *list->fields);
    for (u32 i = 0; i < capacity && list->fields != NULL; i++) {
        list->fields[i] = FIELDS_MAX;
    }
    return list->entities != NULL && list->fields != NULL;
}

void grid_list_destroy(GridList *list)
{
    free(list->entities);
    free(list->fields);
}

u32 grid_list_find(const GridList *list, const Entity *entity)
{
    u32 i = 0;
    while (i + 1 < list->count && list->entities[i] != entity->id) {
        i++;
    }
    CHECK(i < list->count);
    return i;
}

int grid_list_add(Matter *matter, GridList *list, u32 index, const GridThing *thing)
{
    CHECK(index < list->count);
    Entity entity = {.field = (u8)list->fields[index],
                     .movable = 1,
                     .generation = world_generation(matter->world),
                     .count = thing->cells,
                     .mass_kg = thing->mass_kg,
                     .appearance = thing->appearance};
    snprintf(entity.name, sizeof entity.name, "%s", thing->name);
    int result = world_add_entity(matter, &entity);
    list->entities[index] = entity.id;
    return result;
}

bool grid_list_owns(const GridList *list, const Entity *entity, u32 nth, u32 cells)
{
    return nth < list->count && entity->id == list->entities[nth] &&
           entity->field == list->fields[nth] && entity->first == 0 && entity->count == cells;
}
