/* world_harness.c: prints one hash of the playground with three users after 240 ticks and of scenes
 * with every shape, joints, swept bodies and both methods after 100. test_builds.c compiles it,
 * with the simulation, in several ways. */
#include "server/author/scene_load.h"
#include "server/world/world.h"
#include "shared/base/hash.h"
#include "tests/determinism/world_script.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TICKS = 240,
    SCENE_TICKS = 100
};

static u64 hash_of(const char *path, u32 ticks, bool hands)
{
    ErrorText error;
    Scene *scene = scene_load(path, &error);
    World *world = scene != NULL ? world_create(scene, NULL, &error) : NULL;
    if (world == NULL) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    for (u32 i = 0; i < ticks; i++) {
        Input inputs[SCRIPT_INPUTS_MAX];
        world_tick(world, inputs, hands ? script_inputs(i, inputs) : 0);
    }
    u64 hash = world_hash(world);
    world_destroy(world);
    scene_destroy(scene);
    return hash;
}

int main(void)
{
    static const char *const scenes[] = {
        "shared/scenes/ragdolls.json",      "shared/scenes/terrain.json",
        "shared/scenes/marble_run.json",    "shared/scenes/bridge.json",
        "shared/scenes/conveyor.json",      "shared/scenes/impulses.json",
        "shared/scenes/wrecking_ball.json", "shared/scenes/doors.json",
        "shared/scenes/mass_ratio.json"};
    u64 hash = hash_of("shared/scenes/playground.json", TICKS, true);
    for (u32 i = 0; i < PL_COUNT(scenes); i++) {
        u64 own = hash_of(scenes[i], SCENE_TICKS, false);
        fprintf(stderr, "  %s %016" PRIx64 "\n", scenes[i], own);
        hash = hash_bytes(&own, sizeof own, hash);
    }
    printf("%016" PRIx64 "\n", hash);
    return 0;
}
