/*
 * source_world_save.c: saves a running world to a file, or replaces it by a saved one. The
 * simulation takes the image between two ticks; a separate thread compresses and writes it, because
 * a disk may take seconds. The simulation thread loads: no tick runs meanwhile. Images to rewind
 * to stay in memory (rewind.h).
 */
#include "server/host/source_world_internal.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static WorldSource *from(Source *source)
{
    return (WorldSource *)source;
}

/* ---- the simulation's ---- */

void sim_save_ended(WorldSource *s, u64 tick, const ErrorText *error)
{
    pthread_mutex_lock(&s->mutex);
    s->saved = (SourceSaved){.kind = s->save, .tick = tick, .error = *error};
    s->save_ended = true;
    pthread_mutex_unlock(&s->mutex);
    s->wake(s->wake_context);
}

static void *write_main(void *argument)
{
    WorldSource *s = argument;
    ErrorText error = {0};
    thread_name("plenum-save");
    u64 began_ns = clock_now_ns();
    if (world_file_write(s->save_path, &s->saving, &error) == ERROR_OK) {
        log_info("the world of tick %" PRIu64 " is saved as %s: %.1f MiB in %.0f ms",
                 s->saving_tick, s->save_path, (f64)s->saving.image_bytes / 1048576.0,
                 (f64)(clock_now_ns() - began_ns) * 1e-6);
    } else {
        log_error("cannot save the world: %s", error.text);
    }
    free(s->saving.owned);
    sim_save_ended(s, s->saving_tick, &error);
    return NULL;
}

void sim_save(WorldSource *s, u64 tick)
{
    u8 *image;
    size_t bytes;
    ErrorText error = {0};
    if (world_save(s->world, &image, &bytes) != ERROR_OK) {
        error_set(&error, ERROR_MEMORY, "out of memory for an image of the world");
        sim_save_ended(s, tick, &error);
        return;
    }
    s->saving_tick = tick;
    s->saving = world_file_of(s->scene, world_tick_number(s->world), image, bytes);
    s->saving.owned = image;
    s->saving.note = s->save_note;
    s->saving.note_bytes = s->save_note_bytes;
    pthread_mutex_lock(&s->mutex); /* the host joins it as soon as it has ended */
    s->save_writes = pthread_create(&s->save_writer, NULL, write_main, s) == 0;
    bool writes = s->save_writes;
    pthread_mutex_unlock(&s->mutex);
    if (!writes) {
        free(image);
        error_set(&error, ERROR_STATE, "cannot start the thread that writes the world");
        sim_save_ended(s, tick, &error);
    }
}

/* Before the host hears of the loaded world. */
static void keep_loaded_note(WorldSource *s, const WorldFile *file)
{
    u8 *copy = file->note_bytes > 0 ? malloc((size_t)file->note_bytes) : NULL;
    if (copy != NULL) {
        memcpy(copy, file->note, (size_t)file->note_bytes);
    }
    pthread_mutex_lock(&s->mutex);
    s->save_note = copy;
    s->save_note_bytes = copy != NULL ? (u32)file->note_bytes : 0;
    pthread_mutex_unlock(&s->mutex);
}

bool sim_load(WorldSource *s)
{
    WorldFile file;
    ErrorText error = {0};
    int result = world_file_read(s->save_path, s->options.memory_max_bytes, &file, &error);
    if (result == ERROR_OK) {
        result = world_load(s->world, file.image, (size_t)file.image_bytes, &error);
        if (result == ERROR_OK) {
            keep_loaded_note(s, &file);
        }
        world_file_release(&file);
    }
    if (result != ERROR_OK) {
        log_error("cannot load the world: %s", error.text);
        sim_save_ended(s, 0, &error);
        return false;
    }
    return true;
}

/* ---- the host's ---- */

int world_source_save(Source *source, SaveKind kind, const char *path, const SourceNote *note,
                      ErrorText *error)
{
    WorldSource *s = from(source);
    int result = ERROR_OK;
    u8 *copy =
        note->count > 0 && note->count <= WORLD_FILE_NOTE_BYTES_MAX ? malloc(note->count) : NULL;
    if (copy != NULL) {
        memcpy(copy, note->bytes, note->count);
    }
    pthread_mutex_lock(&s->mutex);
    if (s->save != SAVE_NONE) {
        result = error_set(error, ERROR_STATE, "another world is being saved or loaded");
    } else if (s->status.finished || s->stop) {
        result = error_set(error, ERROR_STATE, "the world has ended");
    } else if (strlen(path) >= sizeof s->save_path) {
        result = error_set(error, ERROR_LIMIT, "the name of the file is too long");
    } else {
        snprintf(s->save_path, sizeof s->save_path, "%s", path);
        free(s->save_note);
        s->save_note = copy;
        s->save_note_bytes = copy != NULL ? note->count : 0;
        copy = NULL;
        s->save = kind;
        s->save_asked = true;
        s->save_ended = false;
        pthread_cond_signal(&s->changed);
    }
    pthread_mutex_unlock(&s->mutex);
    free(copy);
    return result;
}

SourceNote world_source_loaded(Source *source)
{
    WorldSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    const SourceNote note = {s->save_note, s->save_note_bytes};
    pthread_mutex_unlock(&s->mutex);
    return note;
}

void world_source_save_finish(WorldSource *s)
{
    pthread_mutex_lock(&s->mutex);
    bool writes = s->save_writes;
    s->save_writes = false;
    pthread_mutex_unlock(&s->mutex);
    if (writes) {
        pthread_join(s->save_writer, NULL);
    }
}

bool world_source_saved(Source *source, SourceSaved *out)
{
    WorldSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    bool ended = s->save != SAVE_NONE && s->save_ended;
    pthread_mutex_unlock(&s->mutex);
    if (!ended) {
        return false;
    }
    world_source_save_finish(s); /* it has nothing left to do */
    pthread_mutex_lock(&s->mutex);
    *out = s->saved;
    s->save = SAVE_NONE;
    pthread_mutex_unlock(&s->mutex);
    return true;
}

/* ---- images to go back to ---- */

/* Logs once, until that changes, that the world cannot be rewound. */
static void sim_say_kept(WorldSource *s, bool kept, size_t bytes)
{
    if (!kept && !s->warned_too_large) {
        log_warn("cannot rewind: an image of the world takes %.1f MiB, --back-memory allows %.1f",
                 (f64)bytes / 1048576.0, (f64)s->rewind.bytes_max / 1048576.0);
    } else if (kept && s->warned_too_large) {
        log_info("the world can be rewound again");
    }
    s->warned_too_large = !kept;
}

void sim_keep_image(WorldSource *s)
{
    u64 tick = world_tick_number(s->world);
    RewindImage kept = {.world_tick = tick, .tick = s->shift + tick};
    u64 wait = rewind_wait(&s->rewind, tick, s->scene->tick_rate);
    if (s->rewind.images != NULL && wait > 0) {
        rewind_prepare(&s->rewind, (u32)wait);
    } else if (s->rewind.images != NULL) {
        rewind_take_spare(&s->rewind, &kept);
        if (world_save_into(s->world, &kept.image, &kept.capacity, &kept.bytes) != ERROR_OK) {
            free(kept.image);
            kept.image = NULL;
            kept.capacity = SIZE_MAX; /* as one that does not fit: tried again later */
        }
        sim_say_kept(s, rewind_keep(&s->rewind, &kept, s->scene->tick_rate), kept.bytes);
    }
    pthread_mutex_lock(&s->mutex);
    s->world_tick = tick;
    s->oldest_tick = rewind_oldest(&s->rewind, tick);
    s->status.back_bytes = s->rewind.bytes;
    pthread_mutex_unlock(&s->mutex);
}
