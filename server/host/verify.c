/* verify.c: the proof that a recording is what the simulation makes of its inputs. */
#include "server/host/verify.h"

#include "protocol/record/recording.h"
#include "server/world/world.h"
#include "shared/base/clock.h"

#include <inttypes.h>
#include <stdio.h>

#define PROGRESS_NS 2000000000ull

typedef struct Verify {
    RecordingReader *reader;
    Scene *scene;
    Jobs *jobs;
    World *world;
    u64 compared;
    u64 shown_ns; /* when progress was last shown */
} Verify;

static int open_all(Verify *v, const char *path, const MatterList *kinds, u32 threads,
                    ErrorText *error)
{
    v->reader = recording_reader_create(path, error);
    if (v->reader == NULL) {
        return EXIT_INPUT;
    }
    const RecordingHead *head = recording_reader_head(v->reader);
    v->scene = scene_from_bytes(head->world.scene, head->world.scene_bytes, error);
    if (v->scene == NULL) {
        error_prefix(error, "%s", path);
        return EXIT_INPUT;
    }
    v->jobs = jobs_create(u32_max(threads, 1));
    v->world = v->jobs != NULL ? world_create_with(v->scene, kinds, v->jobs, error) : NULL;
    if (v->world == NULL) {
        error_prefix(error, "%s", path);
        return EXIT_INPUT;
    }
    return EXIT_OK;
}

static void close_all(Verify *v)
{
    world_destroy(v->world);
    jobs_destroy(v->jobs);
    scene_destroy(v->scene);
    recording_reader_destroy(v->reader);
}

static void show_progress(Verify *v, u64 tick)
{
    u64 now_ns = clock_now_ns();
    if (now_ns - v->shown_ns > PROGRESS_NS) {
        fprintf(stderr, "verify: tick %" PRIu64 " of %" PRIu64 "\n", tick,
                recording_reader_info(v->reader)->last_tick);
        v->shown_ns = now_ns;
    }
}

/* One recorded tick. The first is the scene as built; inputs lead from each to the next. */
static int compare_tick(Verify *v, const char *path, const Frame *recorded, const Input *inputs,
                        u32 input_count, ErrorText *error)
{
    if (recorded->tick != 0) {
        world_tick(v->world, inputs, input_count);
    }
    /* The world's frame ends its tick: the next one starts with an empty list of events. */
    Frame *frame = world_frame(v->world);
    if (frame == NULL) {
        error_set(error, ERROR_MEMORY, "no memory for a frame");
        return EXIT_INPUT;
    }
    u64 tick = frame->tick;
    u64 hash = frame->world_hash;
    frame_release(frame);
    if (tick != recorded->tick) {
        error_set(error, ERROR_FORMAT,
                  "%s: tick %" PRIu64 " is missing: cannot re-simulate across a gap", path, tick);
        return EXIT_INPUT;
    }
    if (hash != recorded->world_hash) {
        printf("verify: tick %" PRIu64 " differs: recorded %016" PRIx64 ", simulated %016" PRIx64
               "\n",
               tick, recorded->world_hash, hash);
        fflush(stdout);
        return EXIT_CHECK_FAILED;
    }
    v->compared++;
    return EXIT_OK;
}

static int compare_all(Verify *v, const char *path, ErrorText *error)
{
    v->shown_ns = clock_now_ns();
    for (;;) {
        Frame *recorded = NULL;
        const Input *inputs = NULL;
        u32 input_count = 0;
        int result = recording_reader_next(v->reader, &recorded, &inputs, &input_count);
        if (result == ERROR_NOT_FOUND) {
            break;
        }
        if (result < 0) {
            error_set(error, (Error)result, "%s: damaged after %" PRIu64 " ticks: %s", path,
                      v->compared, error_name((Error)result));
            return EXIT_INPUT;
        }
        show_progress(v, recorded->tick);
        int code = compare_tick(v, path, recorded, inputs, input_count, error);
        frame_release(recorded);
        if (code != EXIT_OK) {
            return code;
        }
    }
    if (v->compared == 0) {
        error_set(error, ERROR_FORMAT, "%s: holds no tick: there is nothing to verify", path);
        return EXIT_INPUT;
    }
    printf("verify: %" PRIu64 " ticks equal\n", v->compared);
    fflush(stdout);
    return EXIT_OK;
}

int verify_recording(const char *path, const MatterList *kinds, u32 threads, ErrorText *error)
{
    Verify v = {0};
    int code = open_all(&v, path, kinds, threads, error);
    if (code == EXIT_OK) {
        code = compare_all(&v, path, error);
    }
    close_all(&v);
    return code;
}
