/* soft_harness.c: prints the hash of the world of soft_world.h after 60 ticks. test_builds.c
 * compiles it, with the physics, in several ways. */
#include "tests/determinism/soft_world.h"

#include <inttypes.h>

int main(void)
{
    SoftWorld world = soft_world_create();
    for (u32 i = 0; i < 60; i++) {
        soft_world_tick(&world, i, NULL);
    }
    printf("%016" PRIx64 "\n", soft_world_hash(&world));
    soft_world_destroy(&world);
    return 0;
}
