/*
 * world_rig.h: a world of a scene in JSON, with what tests of one kind of matter do with it.
 * Include it after cmocka.h.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_WORLD_RIG_H
#define PLENUM_TESTS_SUPPORT_WORLD_RIG_H

#include "server/author/scene_load.h"
#include "server/world/world_internal.h"

#include <math.h>
#include <string.h>

typedef struct WorldRig {
    Scene *scene;
    World *world;
    u32 sequence; /* of the last input */
} WorldRig;

/* Fails the test if the scene is refused. */
static inline WorldRig world_rig(const char *json)
{
    ErrorText error = {.text = ""};
    WorldRig rig = {.scene = scene_parse(json, strlen(json), "t.json", &error)};
    rig.world = rig.scene != NULL ? world_create(rig.scene, NULL, &error) : NULL;
    if (rig.world == NULL) {
        fail_msg("%s", error.text);
    }
    return rig;
}

static inline void world_rig_finish(WorldRig *rig)
{
    world_destroy(rig->world);
    scene_destroy(rig->scene);
}

/* The value of the probe of this name, which exists. */
static inline f64 world_rig_probe(const WorldRig *rig, const char *name)
{
    f64 value = NAN;
    assert_true(world_probe(rig->world, name, &value));
    return value;
}

static inline void world_rig_ticks(WorldRig *rig, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        world_tick(rig->world, NULL, 0);
    }
}

/* The id of the entity of this name, which exists. */
static inline u32 world_rig_entity(const WorldRig *rig, const char *name)
{
    const EntityList *entities = &rig->world->entities;
    for (u32 i = 0; i < entities->count; i++) {
        if (strcmp(entities->items[i].name, name) == 0) {
            return entities->items[i].id;
        }
    }
    fail_msg("no entity %s", name);
    return 0;
}

#endif
