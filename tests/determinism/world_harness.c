/* world_harness.c: prints the hash of the playground with three users in it after 240 ticks.
 * test_world_builds.c compiles it, with the simulation, in several ways. */
#include "server/world/world.h"
#include "tests/determinism/world_script.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    TICKS = 240
};

int main(void)
{
    ErrorText error;
    Scene *scene = scene_load("shared/scenes/playground.json", &error);
    World *world = scene != NULL ? world_create(scene, NULL, &error) : NULL;
    if (world == NULL) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    for (u32 i = 0; i < TICKS; i++) {
        Input inputs[SCRIPT_INPUTS_MAX];
        world_tick(world, inputs, script_inputs(i, inputs));
    }
    printf("%016" PRIx64 "\n", world_hash(world));
    world_destroy(world);
    scene_destroy(scene);
    return 0;
}
