/* verify.c: verifies that re-simulating a recording's inputs reproduces it. */
#include "server/host/verify.h"

#include "server/host/resimulate.h"
#include "shared/base/clock.h"

#include <inttypes.h>
#include <stdio.h>

#define PROGRESS_NS 2000000000ull

/* shown_ns: time of the last progress message. */
static void show_progress(const Resimulation *resimulation, u64 tick, u64 *shown_ns)
{
    u64 now_ns = clock_now_ns();
    if (now_ns - *shown_ns > PROGRESS_NS) {
        fprintf(stderr, "verify: tick %" PRIu64 " of %" PRIu64 "\n", tick,
                resimulation_info(resimulation)->last_tick);
        *shown_ns = now_ns;
    }
}

static int compare_all(Resimulation *resimulation, const char *path, ErrorText *error)
{
    u64 compared = 0, shown_ns = clock_now_ns();
    ResimulatedTick tick;
    int result;
    while ((result = resimulation_next(resimulation, &tick, error)) == ERROR_OK) {
        if (tick.simulated != tick.recorded) {
            printf("verify: tick %" PRIu64 " differs: recorded %016" PRIx64
                   ", simulated %016" PRIx64 "\n",
                   tick.tick, tick.recorded, tick.simulated);
            fflush(stdout);
            return EXIT_CHECK_FAILED;
        }
        compared++;
        show_progress(resimulation, tick.tick, &shown_ns);
    }
    if (result != ERROR_NOT_FOUND) {
        return EXIT_INPUT;
    }
    if (compared == 0) {
        error_set(error, ERROR_FORMAT, "%s: contains no tick: nothing to verify", path);
        return EXIT_INPUT;
    }
    printf("verify: %" PRIu64 " ticks equal\n", compared);
    fflush(stdout);
    return EXIT_OK;
}

int verify_recording(const char *path, const MatterList *kinds, u32 threads, ErrorText *error)
{
    Resimulation *resimulation = resimulation_create(path, kinds, threads, error);
    int code = resimulation != NULL ? compare_all(resimulation, path, error) : EXIT_INPUT;
    resimulation_destroy(resimulation);
    return code;
}
