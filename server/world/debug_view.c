/* debug_view.c: the debug picture of the simulation: lines and islands with entity ids. Not part
 * of the state. */
#include "server/world/world_internal.h"

#include <stdlib.h>

/* The arrays returned to the caller. */
typedef struct DebugView {
    DebugLine lines[DEBUG_LINES_ALL_MAX];
    DebugIsland islands[BODIES_MAX];
} DebugView;

int world_debug(World *world, u32 mask, DebugPicture *out)
{
    if (world->debug == NULL) {
        world->debug = malloc(sizeof(DebugView));
        if (world->debug == NULL) {
            return ERROR_MEMORY;
        }
    }
    DebugView *view = world->debug;
    DebugPicture picture = {.tick = world->tick,
                            .mask = mask & DEBUG_ALL,
                            .lines = view->lines,
                            .islands = view->islands};
    for (u32 i = 0; i < world->matter_count; i++) {
        Matter *matter = world->matters[i];
        u32 used = picture.line_count, capacity = DEBUG_LINES_ALL_MAX - used;
        u32 all = matter->ops->lines != NULL
                      ? matter->ops->lines(matter, mask, view->lines + used, capacity)
                      : 0;
        picture.lines_all += all;
        picture.line_count += u32_min(all, capacity);
        if ((mask & DEBUG_ISLANDS) != 0 && matter->ops->islands != NULL) {
            used = picture.island_count;
            picture.island_count +=
                matter->ops->islands(matter, view->islands + used, BODIES_MAX - used);
        }
    }
    *out = picture;
    return ERROR_OK;
}
