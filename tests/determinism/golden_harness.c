/* golden_harness.c: prints one hash of all that golden.h computes for the first ticks of its
 * scenes. test_builds.c compiles it, with the simulation, in several ways. */
#include "tests/determinism/golden.h"

#include <inttypes.h>

enum {
    TICKS = 240
};

int main(void)
{
    u64 hash = 0;
    for (u32 i = 0; i < GOLDEN_SCENES; i++) {
        GoldenRun run;
        golden_run(&golden_scenes[i], TICKS, NULL, NULL, NULL, &run);
        u64 own = hash_bytes(run.rows, sizeof run.rows, 0);
        fprintf(stderr, "  %s %016" PRIx64 "\n", golden_name(&golden_scenes[i]), own);
        hash = hash_bytes(&own, sizeof own, hash);
    }
    printf("%016" PRIx64 "\n", hash);
    return 0;
}
