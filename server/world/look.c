/* look.c: the inside of the simulation for those who want to see it: lines and islands of the
 * solver with the ids of entities. Nothing of it is state. */
#include "server/physics/rigid/debug.h"
#include "server/world/world_state.h"

#include <stdlib.h>

PL_STATIC_ASSERT((int)RIGID_LINE_CONTACT == (int)DEBUG_LINE_CONTACT &&
                     (int)RIGID_LINE_AXIS_X == (int)DEBUG_LINE_AXIS_X &&
                     (int)RIGID_LINE_APART == (int)DEBUG_LINE_APART &&
                     (int)RIGID_LINE_BOX == (int)DEBUG_LINE_BOX &&
                     (int)RIGID_LINE_KIND_COUNT == (int)DEBUG_LINE_KIND_COUNT &&
                     sizeof(RigidLine) == sizeof(DebugLine),
                 "lines are numbered alike");

/* One block: lines of the solver, lines and islands to give out, island numbers by slot. */
typedef struct Look {
    RigidLine found[DEBUG_LINES_ALL_MAX];
    DebugLine lines[DEBUG_LINES_ALL_MAX];
    DebugIsland islands[BODIES_MAX];
    u32 roots[BODIES_MAX];
} Look;

static u32 look_islands(const World *world, Look *look)
{
    u32 count = 0, slots = rigid_slots(world->rigid);
    rigid_islands(world->rigid, look->roots);
    for (u32 i = 0; i < slots; i++) {
        if (world->slots[i].entity != 0 && rigid_motion(world->rigid, i) == BODY_DYNAMIC) {
            look->islands[count].entity = world->slots[i].entity;
            look->islands[count].island = look->roots[i] + 1;
            count++;
        }
    }
    return count;
}

int world_debug(World *world, u32 mask, DebugPicture *out)
{
    if (world->debug == NULL) {
        world->debug = malloc(sizeof(Look));
        if (world->debug == NULL) {
            return ERROR_MEMORY;
        }
    }
    Look *look = world->debug;
    u32 show = (mask & DEBUG_CONTACTS ? RIGID_SHOW_CONTACTS : 0u) |
               (mask & DEBUG_JOINTS ? RIGID_SHOW_JOINTS : 0u) |
               (mask & DEBUG_BOXES ? RIGID_SHOW_BOXES : 0u);
    u32 all = rigid_lines(world->rigid, show, look->found, DEBUG_LINES_ALL_MAX);
    u32 count = u32_min(all, DEBUG_LINES_ALL_MAX);
    for (u32 i = 0; i < count; i++) {
        DebugLine line = {look->found[i].from, look->found[i].to, look->found[i].kind};
        look->lines[i] = line;
    }
    DebugPicture picture = {.tick = world->tick,
                            .mask = mask & DEBUG_ALL,
                            .lines_all = all,
                            .lines = look->lines,
                            .line_count = count,
                            .islands = look->islands};
    picture.island_count = mask & DEBUG_ISLANDS ? look_islands(world, look) : 0;
    *out = picture;
    return ERROR_OK;
}
