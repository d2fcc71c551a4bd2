/* resimulate.c: see resimulate.h. */
#include "server/host/resimulate.h"

#include <inttypes.h>
#include <stdlib.h>

struct Resimulation {
    const char *path; /* the caller's */
    RecordingReader *reader;
    Scene *scene;
    Jobs *jobs;
    World *world;
    u64 ticks;
};

static bool open_all(Resimulation *r, const MatterList *kinds, u32 threads, ErrorText *error)
{
    r->reader = recording_reader_create(r->path, error);
    if (r->reader == NULL) {
        return false;
    }
    const RecordingHead *head = recording_reader_head(r->reader);
    r->scene = scene_from_bytes(head->world.scene, head->world.scene_bytes, error);
    r->jobs = r->scene != NULL ? jobs_create(u32_max(threads, 1)) : NULL;
    if (r->scene != NULL && r->jobs == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for threads");
    }
    r->world = r->jobs != NULL ? world_create_with(r->scene, kinds, r->jobs, error) : NULL;
    if (r->world == NULL) {
        error_prefix(error, "%s", r->path);
    }
    return r->world != NULL;
}

Resimulation *resimulation_create(const char *path, const MatterList *kinds, u32 threads,
                                  ErrorText *error)
{
    Resimulation *r = calloc(1, sizeof *r);
    if (r == NULL) {
        error_set(error, ERROR_MEMORY, "%s: no memory", path);
        return NULL;
    }
    r->path = path;
    if (!open_all(r, kinds, threads, error)) {
        resimulation_destroy(r);
        return NULL;
    }
    return r;
}

void resimulation_destroy(Resimulation *resimulation)
{
    if (resimulation == NULL) {
        return;
    }
    world_destroy(resimulation->world);
    jobs_destroy(resimulation->jobs);
    scene_destroy(resimulation->scene);
    recording_reader_destroy(resimulation->reader);
    free(resimulation);
}

int resimulation_next(Resimulation *resimulation, ResimulatedTick *tick, ErrorText *error)
{
    Resimulation *r = resimulation;
    Frame *recorded = NULL;
    const Input *inputs = NULL;
    u32 input_count = 0;
    int result = recording_reader_next(r->reader, &recorded, &inputs, &input_count);
    if (result == ERROR_NOT_FOUND) {
        return result;
    }
    if (result < 0) {
        return error_set(error, (Error)result, "%s: damaged after %" PRIu64 " ticks: %s", r->path,
                         r->ticks, error_name((Error)result));
    }
    /* The first is the scene as built; inputs lead from each to the next. */
    if (recorded->tick != 0) {
        world_tick(r->world, inputs, input_count);
    }
    *tick = (ResimulatedTick){recorded->tick, recorded->world_hash, 0};
    frame_release(recorded);
    /* Building the frame ends the tick: the next one starts with an empty event list. */
    Frame *frame = world_frame(r->world);
    if (frame == NULL) {
        return error_set(error, ERROR_MEMORY, "out of memory for a frame");
    }
    u64 at = frame->tick;
    tick->simulated = frame->world_hash;
    frame_release(frame);
    if (at != tick->tick) {
        return error_set(error, ERROR_FORMAT,
                         "%s: tick %" PRIu64 " is missing: cannot re-simulate across a gap",
                         r->path, at);
    }
    r->ticks++;
    return ERROR_OK;
}

const World *resimulation_world(const Resimulation *resimulation)
{
    return resimulation->world;
}

const RecordingInfo *resimulation_info(const Resimulation *resimulation)
{
    return recording_reader_info(resimulation->reader);
}
