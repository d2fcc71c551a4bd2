/* carried.c: see carried.h. */
#include "server/world/carried.h"

#include "server/world/world_internal.h"

#include <string.h>

bool carried_begin(CarriedList *list, const World *world)
{
    if (list->known && list->version == world->entities.version) {
        return false;
    }
    list->known = true;
    list->version = world->entities.version;
    list->count = 0;
    return true;
}

/* A body of the scene has the name itself, a spawned one "NAME #id" (matter_rigid_spawn). */
static bool carries(const Entity *entity, const char *of)
{
    size_t length = strnlen(of, 30);
    return strcmp(entity->name, of) == 0 ||
           (strncmp(entity->name, of, length) == 0 && strncmp(entity->name + length, " #", 2) == 0);
}

void carried_add(CarriedList *list, const World *world, u32 source, const char *of)
{
    for (u32 i = 0; i < world->entities.count && list->count < CARRIED_MAX; i++) {
        const Entity *entity = &world->entities.items[i];
        if (carries(entity, of) && world_is_rigid(world, entity)) {
            list->items[list->count++] = (Carried){source, entity->first};
        }
    }
}

Vec3 carried_place(const World *world, u32 slot, Vec3 local)
{
    return vec3_add(rigid_position(world_rigid(world), slot),
                    carried_direction(world, slot, local));
}

Vec3 carried_direction(const World *world, u32 slot, Vec3 local)
{
    return quat_rotate(rigid_orientation(world_rigid(world), slot), local);
}
