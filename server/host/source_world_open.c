/* source_world_open.c: a live world from a scene, a saved world or a checkpoint, its recording, and
 * its description for joining clients. */
#include "server/author/scene_load.h"
#include "server/host/branch.h"
#include "server/host/source_world_internal.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/thread.h"
#include "shared/base/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keeps the parts of the description that do not depend on the world, which the other thread
 * will own. */
static int keep_description(WorldSource *s, const MessageWorld *world, ErrorText *error)
{
    s->described = *world;
    s->fields = field_set_acquire(world_fields(s->world));
    u32 count = world->parameter_count + world->probe_count;
    s->scalars = calloc(u32_max(count, 1), sizeof *s->scalars);
    if (s->scalars == NULL ||
        entity_list_set(&s->entities, s->fields, world->entities, world->entity_count) != 0) {
        return error_set(error, ERROR_MEMORY, "out of memory for the world's description");
    }
    for (u32 i = 0; i < world->parameter_count; i++) {
        s->scalars[i] = world->parameters[i];
    }
    for (u32 i = 0; i < world->probe_count; i++) {
        s->scalars[world->parameter_count + i] = world->probes[i];
    }
    s->described.fields = s->fields->fields;
    s->described.field_count = s->fields->count;
    s->described.parameters = s->scalars;
    s->described.probes = s->scalars + world->parameter_count;
    return 0;
}

static int open_recording(WorldSource *s, const MessageWorld *world, ErrorText *error)
{
    if (s->options.record_path == NULL) {
        return 0;
    }
    s->image_tick = world_tick_number(s->world);
    /* Not the one that it was loaded from: that may be another build's. */
    u8 *image = NULL;
    size_t image_bytes = 0;
    if (world_tick_number(s->world) != 0 &&
        world_save(s->world, &image, &image_bytes) != ERROR_OK) {
        return error_set(error, ERROR_MEMORY, "out of memory for an image of the world");
    }
    RecordingHead head = {
        .tick_rate = s->scene->tick_rate, .created_unix_s = clock_unix_s(), .world = *world};
    head.parent = s->parent;
    snprintf(head.build, sizeof head.build, "plenum %s, %s", PLENUM_VERSION, __VERSION__);
    const RecorderOptions recorder = {.path = s->options.record_path,
                                      .force = s->options.record_force,
                                      .picture_rate = s->options.record_rate,
                                      .complete = s->options.fast,
                                      .image = image,
                                      .image_bytes = image_bytes};
    s->recorder = recorder_create(&recorder, &head, error);
    free(image);
    return s->recorder != NULL ? 0 : ERROR_IO;
}

static int open_publisher(WorldSource *s, const MessageWorld *world, ErrorText *error)
{
    if (s->options.publish == NULL) {
        return 0;
    }
    s->publisher = publisher_create(s->options.publish, world, s->scene->tick_rate, error);
    s->options.publish = NULL; /* borrowed for this */
    return s->publisher != NULL ? 0 : error != NULL && error->code != 0 ? error->code : ERROR_STATE;
}

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), tail = strlen(end);
    return length >= tail && strcmp(path + length - tail, end) == 0;
}

/* The scene, and the saved world to continue from, if any. */
static int open_scene(WorldSource *s, const char *path, ErrorText *error)
{
    u64 most = s->options.memory_max_bytes;
    if (ends_with(path, ".plrec")) {
        s->scene = branch_scene(path, error);
    } else if (ends_with(path, ".plworld")) {
        int result = world_file_read(path, most, &s->from, error);
        if (result != ERROR_OK) {
            return result;
        }
        s->scene = scene_from_bytes(s->from.scene, (u32)s->from.scene_bytes, error);
    } else {
        s->scene =
            s->options.allow_outside ? scene_load_anywhere(path, error) : scene_load(path, error);
    }
    if (s->scene == NULL) {
        return ERROR_FORMAT;
    }
    if (!s->options.resume) {
        return ERROR_OK;
    }
    WorldFile found;
    int result = checkpoint_find(s->options.checkpoint_folder, s->scene, most, &found, error);
    if (result == ERROR_NOT_FOUND) {
        log_info("no checkpoint in %s yet: starting a new world", s->options.checkpoint_folder);
        return ERROR_OK;
    }
    if (result == ERROR_OK) {
        world_file_release(&s->from);
        s->from = found;
    }
    return result;
}

/* Continues from the saved world or the recording, if there is one. */
static int resume_saved(WorldSource *s, const char *path, ErrorText *error)
{
    if (s->from.image == NULL) {
        return ends_with(path, ".plrec")
                   ? branch_lead(path, s->options.at, s->world, &s->parent, error)
                   : ERROR_OK;
    }
    int result = world_load(s->world, s->from.image, (size_t)s->from.image_bytes, error);
    if (result != ERROR_OK) {
        error_prefix(error, "%s", s->options.resume ? s->options.checkpoint_folder : path);
        return result;
    }
    s->checkpoint_tick = world_tick_number(s->world);
    log_info("continuing at tick %" PRIu64 " (saved by %s)", s->checkpoint_tick, s->from.build);
    return ERROR_OK;
}

int world_source_open(WorldSource *s, const char *path, ErrorText *error)
{
    s->queue = calloc(WORLD_INPUTS_WAITING_MAX, sizeof *s->queue);
    s->inputs = calloc(INPUTS_PER_TICK_MAX, sizeof *s->inputs);
    if (s->queue == NULL || s->inputs == NULL) {
        return error_set(error, ERROR_MEMORY, "out of memory for the input queue");
    }
    int result = open_scene(s, path, error);
    if (result != ERROR_OK) {
        return result;
    }
    for (u32 i = 0; i < s->scene->warning_count; i++) {
        log_warn("%s", s->scene->warnings[i].text);
    }
    u64 needed = world_memory_estimate(s->scene, s->options.kinds),
        most = s->options.memory_max_bytes;
    if (most > 0 && needed > most) {
        return error_set(error, ERROR_LIMIT,
                         "%s: needs about %llu MiB of memory, the limit is %llu: reduce the scene "
                         "or raise --memory",
                         path, (unsigned long long)(needed >> 20),
                         (unsigned long long)(most >> 20));
    }
    int before;
    /* With the priority of the thread whose loops they work on. */
    bool first = !s->options.fast && thread_go_first(&before);
    s->jobs = jobs_create(u32_max(s->options.threads, 1));
    if (first) {
        thread_go_back(before);
    }
    if (s->jobs == NULL) {
        return error_set(error, ERROR_STATE, "cannot start %u threads", s->options.threads);
    }
    s->world = world_create_with(s->scene, s->options.kinds, s->jobs, error);
    if (s->world == NULL) {
        error_prefix(error, "%s", path);
        return ERROR_FORMAT;
    }
    result = resume_saved(s, path, error);
    s->first_tick = world_tick_number(s->world);
    if (result == ERROR_OK &&
        !rewind_init(&s->rewind, s->options.back_s, s->options.back_bytes_max)) {
        result = error_set(error, ERROR_MEMORY, "out of memory for rewind images");
    }
    if (result != ERROR_OK) {
        return result;
    }
    if (s->options.checkpoint_folder != NULL) {
        s->checkpointer = checkpointer_create(s->options.checkpoint_folder, s->scene, error);
        if (s->checkpointer == NULL) {
            return ERROR_IO;
        }
    }
    MessageWorld world;
    world_describe(s->world, &world);
    result = keep_description(s, &world, error);
    if (result == 0) {
        result = probe_print_init(&s->probes, s->options.probe, s->options.probe_csv, &s->described,
                                  s->scene->tick_rate, error);
    }
    result = result == 0 ? open_recording(s, &world, error) : result;
    return result == 0 ? open_publisher(s, &world, error) : result;
}
