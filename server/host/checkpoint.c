/* checkpoint.c: see checkpoint.h. */
#include "server/host/checkpoint.h"

#include "shared/base/check.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/thread.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct Checkpointer {
    char path[PATH_MAX], previous[PATH_MAX];
    const Scene *scene;
    pthread_t thread;
    bool started;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* ---- under the mutex ---- */
    WorldFile next; /* what is being written, or to be written; image NULL: nothing */
    u8 *image, *note;
    bool stop;
    CheckpointStats stats;
};

static bool path_of(char out[PATH_MAX], const char *folder, const char *name)
{
    int length = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    return length > 0 && length < PATH_MAX;
}

static bool paths_of(const char *folder, char newest[PATH_MAX], char previous[PATH_MAX],
                     ErrorText *error)
{
    if (path_of(newest, folder, "checkpoint.plworld") &&
        path_of(previous, folder, "checkpoint.previous.plworld")) {
        return true;
    }
    error_set(error, ERROR_USAGE, "%s: the name is too long", folder);
    return false;
}

/* ---- the thread ---- */

static void note_result(Checkpointer *c, int result, f64 ms, const ErrorText *error)
{
    CheckpointStats *stats = &c->stats;
    if (result == ERROR_OK) {
        if (stats->failing) {
            log_info("checkpoints can be written again");
        }
        stats->failing = false;
        stats->written++;
        stats->tick = c->next.tick;
        stats->bytes = c->next.image_bytes;
        stats->write_ms = ms;
        log_debug("checkpoint of tick %" PRIu64 ": %.1f MiB in %.0f ms", c->next.tick,
                  (f64)c->next.image_bytes / 1048576.0, ms);
    } else {
        if (!stats->failing) {
            log_error("checkpoint: %s; the world continues, trying again later", error->text);
        }
        stats->failing = true;
        stats->failed++;
    }
}

static void *write_main(void *argument)
{
    Checkpointer *c = argument;
    thread_name("plenum-checkpt");
    pthread_mutex_lock(&c->mutex);
    for (;;) {
        while (c->image == NULL && !c->stop) {
            pthread_cond_wait(&c->changed, &c->mutex);
        }
        if (c->image == NULL) {
            break;
        }
        pthread_mutex_unlock(&c->mutex);
        u64 began_ns = clock_now_ns();
        ErrorText error = {0};
        /* A hard link to the old one, if the file system has links. */
        unlink(c->previous);
        if (link(c->path, c->previous) != 0 && errno != ENOENT) {
            log_debug("checkpoint: cannot keep the previous one: %s", strerror(errno));
        }
        int result = world_file_write(c->path, &c->next, &error);
        f64 ms = (f64)(clock_now_ns() - began_ns) * 1e-6;
        pthread_mutex_lock(&c->mutex);
        note_result(c, result, ms, &error);
        free(c->image);
        free(c->note);
        c->image = c->note = NULL;
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

/* ---- the interface ---- */

Checkpointer *checkpointer_create(const char *folder, const Scene *scene, ErrorText *error)
{
    Checkpointer *c = calloc(1, sizeof *c);
    if (c == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for checkpoints");
        return NULL;
    }
    c->scene = scene;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->changed, NULL);
    bool usable = paths_of(folder, c->path, c->previous, error);
    if (usable && mkdir(folder, 0700) != 0 && errno != EEXIST) {
        error_set(error, ERROR_IO, "%s: cannot be created: %s", folder, strerror(errno));
        usable = false;
    }
    if (usable && access(folder, W_OK | X_OK) != 0) {
        error_set(error, ERROR_IO, "%s: cannot write checkpoints there: %s", folder,
                  strerror(errno));
        usable = false;
    }
    if (usable && pthread_create(&c->thread, NULL, write_main, c) != 0) {
        error_set(error, ERROR_STATE, "cannot start the thread that writes checkpoints");
        usable = false;
    }
    c->started = usable;
    if (!usable) {
        checkpointer_destroy(c);
        return NULL;
    }
    return c;
}

void checkpointer_destroy(Checkpointer *checkpointer)
{
    if (checkpointer == NULL) {
        return;
    }
    if (checkpointer->started) {
        pthread_mutex_lock(&checkpointer->mutex);
        checkpointer->stop = true;
        pthread_cond_broadcast(&checkpointer->changed);
        pthread_mutex_unlock(&checkpointer->mutex);
        pthread_join(checkpointer->thread, NULL);
    }
    pthread_cond_destroy(&checkpointer->changed);
    pthread_mutex_destroy(&checkpointer->mutex);
    free(checkpointer);
}

bool checkpointer_is_idle(Checkpointer *checkpointer)
{
    pthread_mutex_lock(&checkpointer->mutex);
    bool idle = checkpointer->image == NULL;
    pthread_mutex_unlock(&checkpointer->mutex);
    return idle;
}

void checkpointer_submit(Checkpointer *checkpointer, u64 tick, u8 *image, size_t bytes,
                         const u8 *note, u32 note_bytes)
{
    CHECK(image != NULL && bytes > 0 && (note != NULL || note_bytes == 0));
    Checkpointer *c = checkpointer;
    u8 *copy = note_bytes > 0 ? malloc(note_bytes) : NULL;
    if (copy != NULL) {
        memcpy(copy, note, note_bytes);
    }
    pthread_mutex_lock(&c->mutex);
    while (c->image != NULL) {
        pthread_cond_wait(&c->changed, &c->mutex);
    }
    c->image = image;
    c->note = copy;
    c->next = world_file_of(c->scene, tick, image, bytes);
    c->next.note = copy;
    c->next.note_bytes = copy != NULL ? note_bytes : 0;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->mutex);
}

void checkpointer_stats(Checkpointer *checkpointer, CheckpointStats *out)
{
    pthread_mutex_lock(&checkpointer->mutex);
    *out = checkpointer->stats;
    pthread_mutex_unlock(&checkpointer->mutex);
}

/* ---- finding ---- */

static int read_one(const char *path, const Scene *scene, u64 most, WorldFile *file,
                    ErrorText *error)
{
    int result = world_file_read(path, most, file, error);
    if (result == ERROR_OK && (file->scene_bytes != scene->byte_count ||
                               memcmp(file->scene, scene->bytes, scene->byte_count) != 0)) {
        world_file_release(file);
        return error_set(error, ERROR_MISMATCH,
                         "%s: a checkpoint of another scene (or of this one before it was "
                         "changed): move it away, or start without --resume",
                         path);
    }
    return result;
}

int checkpoint_find(const char *folder, const Scene *scene, u64 most, WorldFile *file,
                    ErrorText *error)
{
    char newest[PATH_MAX], previous[PATH_MAX];
    if (!paths_of(folder, newest, previous, error)) {
        return ERROR_USAGE;
    }
    int result = read_one(newest, scene, most, file, error);
    if (result != ERROR_NOT_FOUND && result != ERROR_FORMAT && result != ERROR_TRUNCATED) {
        return result;
    }
    ErrorText other = {0};
    int second = read_one(previous, scene, most, file, &other);
    if (second == ERROR_OK) {
        log_warn("%s; the checkpoint before it is used", error->text);
        return ERROR_OK;
    }
    return result;
}
