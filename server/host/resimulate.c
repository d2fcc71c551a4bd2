/* resimulate.c: see resimulate.h. */
#include "server/host/resimulate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    IMAGE_BYTES_MORE = 64 << 20 /* for what users spawn */
};

struct Resimulation {
    const char *path; /* the caller's */
    RecordingReader *reader;
    Scene *scene;
    Jobs *jobs;
    World *world;
    Frame *recorded, *simulated; /* of the last tick; NULL: none yet */
    bool borrowed;               /* the world, which has its own scene and threads */
    RecordingImage from;         /* that the next tick begins with; kind 0: none */
    u64 image_bytes_max;
    u64 ticks;
    u64 shift; /* the recording's tick less the world's own, modulo 2^64: a world that is rewound
                  has an earlier tick, a recording continues */
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
        return false;
    }
    /* An untrusted image may unpack to any size; a valid one is no larger than its world. */
    r->image_bytes_max = 2 * world_memory_estimate(r->scene, kinds) + IMAGE_BYTES_MORE;
    return true;
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

Resimulation *resimulation_on(const char *path, World *world, ErrorText *error)
{
    Resimulation *r = calloc(1, sizeof *r);
    if (r == NULL) {
        error_set(error, ERROR_MEMORY, "%s: no memory", path);
        return NULL;
    }
    r->path = path;
    r->world = world;
    r->borrowed = true;
    r->reader = recording_reader_create(path, error);
    if (r->reader == NULL) {
        resimulation_destroy(r);
        return NULL;
    }
    WorldStats stats;
    world_stats(world, &stats);
    r->image_bytes_max = 2 * stats.memory_bytes + IMAGE_BYTES_MORE;
    return r;
}

typedef struct NearestImage {
    u64 tick;
    RecordingImage image;
} NearestImage;

static void take_nearer(void *context, const RecordingImage *image)
{
    NearestImage *nearest = context;
    if (image->tick <= nearest->tick) {
        nearest->image = *image; /* they come in order */
    }
}

int resimulation_seek(Resimulation *resimulation, u64 tick, ErrorText *error)
{
    Resimulation *r = resimulation;
    NearestImage nearest = {.tick = tick};
    const RecordingVisitor visitor = {.context = &nearest, .image = take_nearer};
    int result = recording_reader_visit(r->reader, &visitor);
    if (result == ERROR_OK && nearest.image.kind != 0) {
        r->from = nearest.image;
        result = recording_reader_seek(r->reader, nearest.image.tick);
    }
    return result == ERROR_OK
               ? ERROR_OK
               : error_set(error, (Error)result, "%s: damaged before tick %" PRIu64 ": %s", r->path,
                           tick, error_name((Error)result));
}

void resimulation_destroy(Resimulation *resimulation)
{
    if (resimulation == NULL) {
        return;
    }
    if (!resimulation->borrowed) {
        world_destroy(resimulation->world);
    }
    frame_release(resimulation->recorded);
    frame_release(resimulation->simulated);
    jobs_destroy(resimulation->jobs);
    scene_destroy(resimulation->scene);
    recording_reader_destroy(resimulation->reader);
    free(resimulation);
}

/* Loads the image, which the frame of its tick shows. */
static int continue_from(Resimulation *r, const RecordingImage *image, ErrorText *error)
{
    u8 *bytes;
    int result = recording_reader_image(r->reader, image, r->image_bytes_max, &bytes, error);
    if (result == ERROR_OK) {
        result = world_load(r->world, bytes, (size_t)image->bytes, error);
    }
    if (result != ERROR_OK) {
        error_prefix(error, "%s", r->path);
    } else {
        r->shift = image->tick - world_tick_number(r->world);
    }
    free(bytes);
    return result;
}

/* An image that was only stored must equal the result of the inputs. */
static int compare_image(Resimulation *r, const RecordingImage *image, ErrorText *error)
{
    u8 *recorded, *own = NULL;
    size_t own_bytes = 0;
    int result = recording_reader_image(r->reader, image, r->image_bytes_max, &recorded, error);
    if (result == ERROR_OK && world_save(r->world, &own, &own_bytes) != ERROR_OK) {
        result = error_set(error, ERROR_MEMORY, "out of memory for an image of the world");
    }
    if (result == ERROR_OK &&
        (own_bytes != image->bytes || memcmp(own, recorded, own_bytes) != 0)) {
        result = error_set(error, ERROR_MISMATCH,
                           "%s: the image of tick %" PRIu64 " differs from the re-simulated world",
                           r->path, image->tick);
    }
    free(own);
    free(recorded);
    return result;
}

/* Advances the world to the recorded tick, from the one before or by an image. */
static int lead_on(Resimulation *r, u64 tick, const Input *inputs, u32 count, ErrorText *error)
{
    const RecordingImage *image = recording_reader_image_here(r->reader);
    bool first = r->ticks == 0;
    if (r->from.kind != 0) {
        RecordingImage from = r->from;
        r->from.kind = 0;
        return continue_from(r, &from, error);
    }
    bool jumps = image != NULL && (first ? image->kind == RECORDING_IMAGE_START
                                         : image->kind == RECORDING_IMAGE_BACK ||
                                               image->kind == RECORDING_IMAGE_LOAD);
    if (jumps) {
        return continue_from(r, image, error);
    }
    if (first && tick != 0) {
        return error_set(error, ERROR_FORMAT,
                         "%s: begins at tick %" PRIu64 " without an image of the world: cannot be "
                         "re-simulated",
                         r->path, tick);
    }
    /* The first is the scene as built; inputs lead from each to the next. */
    if (!first) {
        world_tick(r->world, inputs, count);
    }
    return image != NULL && image->kind == RECORDING_IMAGE_KEPT ? compare_image(r, image, error)
                                                                : ERROR_OK;
}

/* Both are taken over; NULL is fine. */
static void keep_frames(Resimulation *r, Frame *recorded, Frame *simulated)
{
    frame_release(r->recorded);
    frame_release(r->simulated);
    r->recorded = recorded;
    r->simulated = simulated;
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
    *tick = (ResimulatedTick){.tick = recorded->tick, .recorded = recorded->world_hash};
    keep_frames(r, recorded, NULL);
    result = lead_on(r, tick->tick, inputs, input_count, error);
    if (result != ERROR_OK) {
        return result;
    }
    /* Building the frame ends the tick: the next one starts with an empty event list. */
    Frame *frame = world_frame(r->world);
    if (frame == NULL) {
        return error_set(error, ERROR_MEMORY, "out of memory for a frame");
    }
    u64 at = frame->tick + r->shift;
    tick->simulated = frame->world_hash;
    keep_frames(r, frame_acquire(recorded), frame);
    if (at != tick->tick) {
        return error_set(error, ERROR_FORMAT,
                         "%s: tick %" PRIu64 " is missing: cannot re-simulate across a gap",
                         r->path, at);
    }
    r->ticks++;
    return ERROR_OK;
}

void resimulation_frames(const Resimulation *resimulation, const Frame **recorded,
                         const Frame **simulated)
{
    *recorded = resimulation->recorded;
    *simulated = resimulation->simulated;
}

typedef struct SystemSearch {
    const Frame *simulated;
    u64 tick;
    u32 first; /* that differs */
    bool known;
} SystemSearch;

static void compare_systems(void *context, const RecordingSystems *systems)
{
    SystemSearch *search = context;
    const Frame *frame = search->simulated;
    if (search->tick < systems->first_tick ||
        search->tick - systems->first_tick >= systems->ticks ||
        systems->count != frame->system_count) {
        return;
    }
    const u32 *recorded = systems->hashes[search->tick - systems->first_tick];
    search->known = true;
    for (u32 i = systems->count; i-- > 0;) {
        search->first = recorded[i] != frame->systems[i] ? i : search->first;
    }
}

int resimulation_system(const Resimulation *resimulation, u32 *system)
{
    SystemSearch search = {.first = UINT32_MAX};
    const RecordingVisitor visitor = {.context = &search, .systems = compare_systems};
    *system = UINT32_MAX;
    if (resimulation->recorded == NULL || resimulation->simulated == NULL) {
        return ERROR_NOT_FOUND;
    }
    search.simulated = resimulation->simulated;
    search.tick = resimulation->recorded->tick;
    (void)recording_reader_visit(resimulation->reader, &visitor); /* what is before damage */
    *system = search.first;
    return search.known && search.first != UINT32_MAX ? ERROR_OK : ERROR_NOT_FOUND;
}

World *resimulation_world(const Resimulation *resimulation)
{
    return resimulation->world;
}

const RecordingHead *resimulation_head(const Resimulation *resimulation)
{
    return recording_reader_head(resimulation->reader);
}

const RecordingInfo *resimulation_info(const Resimulation *resimulation)
{
    return recording_reader_info(resimulation->reader);
}
