/* world_stage.c: see world_stage.h. */
#include "tests/support/world_stage.h"

#include "server/author/scene_load.h"
#include "shared/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

World *world_stage_create(const char *path, Scene **scene)
{
    ErrorText error;
    Scene *loaded = scene_load(path, &error);
    World *world = loaded != NULL ? world_create(loaded, NULL, &error) : NULL;
    if (world == NULL) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    if (scene != NULL) {
        *scene = loaded;
    }
    return world;
}

u32 world_stage_entity(World *world, const char *name)
{
    MessageWorld about;
    world_describe(world, &about);
    for (u32 i = 0; i < about.entity_count; i++) {
        if (strcmp(about.entities[i].name, name) == 0) {
            return about.entities[i].id;
        }
    }
    CHECK(!"an entity of this name");
    return 0;
}

void world_stage_go_on(World *world, u32 ticks)
{
    for (u32 i = 0; i < ticks; i++) {
        world_tick(world, NULL, 0);
    }
    Frame *frame = world_frame(world);
    CHECK(frame != NULL);
    frame_release(frame);
    WorldStats stats;
    world_stats(world, &stats);
    u8 *again;
    size_t bytes;
    CHECK(world_save(world, &again, &bytes) == 0);
    /* What the server itself has made of it is no forgery any more. */
    ErrorText error;
    if (world_load(world, again, bytes, &error) != 0) {
        fprintf(stderr, "an image of the world that continued: %s\n", error.text);
        abort();
    }
    free(again);
}
