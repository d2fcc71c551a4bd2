/* recorder.c: see recorder.h. */
#include "server/host/recorder.h"
#include "server/host/source.h"

#include "server/host/tick_queue.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/thread.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NOTES_WAITING_MAX = 256,
    NAMES_TRIED_MAX = 10000,
};

#define FLUSH_NS 500000000ull
#define RETRY_NS 1000000000ull

struct Recorder {
    RecorderOptions options;
    char path[RECORDER_PATH_MAX];

    /* ---- owned by the simulation ---- */
    RecordingImage about; /* of the image that goes with the next tick */
    u8 *image;            /* NULL none */

    /* ---- owned by the recorder's thread ---- */
    RecordingWriter *writer;
    u64 flushed_ns;
    pthread_t thread;
    bool started;

    pthread_mutex_t mutex;
    pthread_cond_t work, room;
    /* ---- below: under the mutex ---- */
    TickQueue queue;
    u64 newest_tick;      /* queued last */
    RecordingNote *notes; /* [NOTES_WAITING_MAX] */
    u32 note_count;
    bool quit;
    bool dead; /* nothing more is written */
    RecorderStats stats;
};

/* ---- the simulation's side ---- */

void recorder_tick(Recorder *r, Frame *frame, const Input *inputs, u32 input_count)
{
    pthread_mutex_lock(&r->mutex);
    while (tick_queue_full(&r->queue, frame) && r->options.complete && !r->stats.stuck &&
           !r->dead) {
        pthread_cond_wait(&r->room, &r->mutex);
    }
    QueuedTick *tick = r->dead ? NULL : tick_queue_push(&r->queue, frame, inputs, input_count);
    if (tick != NULL) {
        tick_queue_image(&r->queue, tick, &r->about, r->image);
        r->image = NULL;
        r->newest_tick = frame->tick;
        pthread_cond_signal(&r->work);
    } else {
        r->stats.ticks_lost++;
    }
    bool dead = r->dead;
    pthread_mutex_unlock(&r->mutex);
    if (tick == NULL && !dead) {
        tick_queue_drop(&r->queue, frame);
    }
    free(r->image);
    r->image = NULL;
}

void recorder_image(Recorder *r, const RecordingImage *image, u8 *bytes)
{
    free(r->image);
    r->about = *image;
    r->image = bytes;
}

void recorder_note(Recorder *r, const RecordingNote *note)
{
    pthread_mutex_lock(&r->mutex);
    if (r->note_count < NOTES_WAITING_MAX && !r->dead) {
        RecordingNote *kept = &r->notes[r->note_count++];
        *kept = *note;
        kept->tick = note->tick != 0 ? note->tick : r->newest_tick;
        pthread_cond_signal(&r->work);
    }
    pthread_mutex_unlock(&r->mutex);
}

void recorder_stats(Recorder *r, RecorderStats *out)
{
    pthread_mutex_lock(&r->mutex);
    *out = r->stats;
    out->waiting = r->queue.count;
    out->ended = r->dead;
    pthread_mutex_unlock(&r->mutex);
}

void recorder_report(Recorder *recorder, SourceStatus *out)
{
    RecorderStats stats;
    recorder_stats(recorder, &stats);
    out->recording = true;
    out->recording_lost = stats.stuck;
    out->recording_ended = stats.ended;
    out->ticks_recorded = stats.ticks;
    out->ticks_unrecorded = stats.ticks_lost;
    out->ticks_unwritten = stats.waiting;
}

const char *recorder_path(const Recorder *r)
{
    return r->path;
}

/* ---- the recorder's thread ---- */

static bool is_stuck(Recorder *r)
{
    pthread_mutex_lock(&r->mutex);
    bool stuck = r->stats.stuck;
    pthread_mutex_unlock(&r->mutex);
    return stuck;
}

/* Notes the result of a write. */
static void wrote(Recorder *r, int result)
{
    bool stuck = result == ERROR_IO, dead = result != 0 && !stuck;
    pthread_mutex_lock(&r->mutex);
    bool was = r->stats.stuck;
    r->stats.stuck = stuck;
    r->dead = r->dead || dead;
    if (stuck || dead) {
        pthread_cond_signal(&r->room);
    }
    pthread_mutex_unlock(&r->mutex);
    if (stuck && !was) {
        log_error("%s: cannot write: %s: recording pauses until the disk has space", r->path,
                  strerror(recording_writer_errno(r->writer)));
    } else if (was && !stuck && !dead) {
        log_info("%s: can be written again", r->path);
    } else if (dead) {
        log_error("%s: %s: the recording ends at tick %" PRIu64, r->path, error_name((Error)result),
                  recording_writer_safe_tick(r->writer));
    }
}

static void write_tick(Recorder *r, const QueuedTick *tick)
{
    int result = 0;
    if (r->options.writing != NULL) {
        r->options.writing(r->options.context);
    }
    if (tick->gap.last_tick != 0) {
        log_warn("%s: ticks %" PRIu64 " to %" PRIu64 " are not recorded: the disk did not keep up",
                 r->path, tick->gap.first_tick, tick->gap.last_tick);
        result = recording_writer_gap(r->writer, tick->gap);
    }
    if (result == 0 && tick->image != NULL) {
        result = recording_writer_image(r->writer, &tick->about, tick->image);
    }
    if (result == 0) {
        result = recording_writer_tick(r->writer, tick->frame, tick->inputs, tick->input_count);
    }
    if (result != 0) {
        wrote(r, result);
    }
}

/* Writes all queued ticks, as long as the disk accepts them. Called and returns with the mutex
 * held. */
static void write_queue(Recorder *r)
{
    while (!r->stats.stuck && !r->dead && (r->queue.count > 0 || r->note_count > 0)) {
        RecordingNote note = {0};
        QueuedTick tick = {0};
        if (r->note_count > 0) {
            note = r->notes[0];
            memmove(r->notes, r->notes + 1, --r->note_count * sizeof note);
        }
        bool any = r->queue.count > 0;
        if (any) {
            tick = *tick_queue_at(&r->queue, 0);
        }
        pthread_mutex_unlock(&r->mutex);
        if (any) {
            write_tick(r, &tick); /* its slot is not reused meanwhile */
        }
        if (note.kind != 0) {
            (void)recording_writer_note(r->writer, &note);
        }
        pthread_mutex_lock(&r->mutex);
        if (any) {
            tick_queue_pop(&r->queue);
            r->stats.ticks++;
            pthread_cond_signal(&r->room);
        }
    }
}

static void flush_if_due(Recorder *r)
{
    u64 now_ns = clock_now_ns();
    if (now_ns - r->flushed_ns >= (is_stuck(r) ? RETRY_NS : FLUSH_NS)) {
        r->flushed_ns = now_ns;
        wrote(r, recording_writer_flush(r->writer));
    }
}

static void *write_main(void *argument)
{
    Recorder *r = argument;
    thread_name("plenum-record");
    pthread_mutex_lock(&r->mutex);
    while (!r->quit && !r->dead) {
        write_queue(r);
        u64 until_ns = r->flushed_ns + (r->stats.stuck ? RETRY_NS : FLUSH_NS);
        struct timespec until = {(time_t)(until_ns / 1000000000u), (long)(until_ns % 1000000000u)};
        if (!r->quit && clock_now_ns() < until_ns) {
            pthread_cond_timedwait(&r->work, &r->mutex, &until);
        }
        pthread_mutex_unlock(&r->mutex);
        flush_if_due(r);
        pthread_mutex_lock(&r->mutex);
    }
    /* A last attempt if the disk is full. */
    pthread_mutex_unlock(&r->mutex);
    if (is_stuck(r)) {
        wrote(r, recording_writer_flush(r->writer));
    }
    pthread_mutex_lock(&r->mutex);
    write_queue(r);
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

/* ---- creation ---- */

static bool exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* The first free name of NAME.plrec, NAME-2.plrec, NAME-3.plrec, ... */
static int free_name(Recorder *r, const char *path, ErrorText *error)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    size_t stem =
        dot != NULL && (slash == NULL || dot > slash) ? (size_t)(dot - path) : strlen(path);
    snprintf(r->path, sizeof r->path, "%s", path);
    for (u32 i = 2; exists(r->path) && i < NAMES_TRIED_MAX; i++) {
        int length =
            snprintf(r->path, sizeof r->path, "%.*s-%u%s", (int)stem, path, i, path + stem);
        if (length < 0 || (size_t)length >= sizeof r->path) {
            return error_set(error, ERROR_IO, "%s: the name is too long", path);
        }
    }
    if (strcmp(r->path, path) != 0) {
        log_warn("%s exists: recording to %s instead (--force replaces it)", path, r->path);
    }
    return ERROR_OK;
}

/* Removes the file to be replaced; anything but a file stays. */
static int replace(Recorder *r, const char *path, ErrorText *error)
{
    struct stat status;
    snprintf(r->path, sizeof r->path, "%s", path);
    if (lstat(path, &status) != 0) {
        return ERROR_OK;
    }
    if (!S_ISREG(status.st_mode) || unlink(path) != 0) {
        return error_set(error, ERROR_IO, "%s: cannot be replaced", path);
    }
    log_warn("%s is replaced", path);
    return ERROR_OK;
}

static int open_all(Recorder *r, const RecordingHead *head, ErrorText *error)
{
    const char *path = r->options.path;
    r->notes = calloc(NOTES_WAITING_MAX, sizeof *r->notes);
    if (!tick_queue_init(&r->queue, r->options.ticks_max, RECORDER_BYTES_MAX, 0) ||
        r->notes == NULL) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory", path);
    }
    int result = r->options.force ? replace(r, path, error) : free_name(r, path, error);
    if (result != 0) {
        return result;
    }
    RecordingHead own = *head;
    u32 rate = r->options.picture_rate;
    own.picture_ticks =
        rate == 0 ? 1 : u32_min(head->tick_rate / rate, RECORDING_PICTURE_TICKS_MAX);
    own.coarse_shift = own.picture_ticks > 1 ? RECORDING_COARSE_SHIFT_USUAL : 0;
    r->writer = recording_writer_create(r->path, &own, error);
    if (r->writer == NULL) {
        return ERROR_IO;
    }
    if (r->options.image != NULL) {
        const RecordingImage image = {.tick = head->world.tick,
                                      .kind = RECORDING_IMAGE_START,
                                      .bytes = r->options.image_bytes};
        result = recording_writer_image(r->writer, &image, r->options.image);
        result = result == 0 ? recording_writer_flush(r->writer) : result;
        r->options.image = NULL;
        if (result != 0) {
            return error_set(error, (Error)result, "%s: the image of the world: %s", path,
                             error_name((Error)result));
        }
    }
    r->flushed_ns = clock_now_ns();
    if (pthread_create(&r->thread, NULL, write_main, r) != 0) {
        return error_set(error, ERROR_STATE, "%s: cannot start the recorder's thread", path);
    }
    r->started = true;
    return ERROR_OK;
}

Recorder *recorder_create(const RecorderOptions *options, const RecordingHead *head,
                          ErrorText *error)
{
    Recorder *r = calloc(1, sizeof *r);
    if (r == NULL) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", options->path);
        return NULL;
    }
    r->options = *options;
    r->options.ticks_max = options->ticks_max != 0 ? options->ticks_max : RECORDER_TICKS_MAX;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->work, &monotonic);
    pthread_cond_init(&r->room, NULL);
    pthread_condattr_destroy(&monotonic);
    if (open_all(r, head, error) != 0) {
        recorder_destroy(r);
        return NULL;
    }
    return r;
}

/* After the thread has ended. */
static void say_what_is_missing(Recorder *r, int closed)
{
    u64 missing = r->stats.ticks_lost + r->queue.count;
    if (missing > 0) {
        log_error("%s: %" PRIu64 " ticks are missing", r->path, missing);
    }
    if (closed != 0) {
        log_error("%s: could not be completed: it ends at or before tick %" PRIu64, r->path,
                  r->newest_tick);
    }
}

void recorder_destroy(Recorder *r)
{
    if (r == NULL) {
        return;
    }
    if (r->started) {
        pthread_mutex_lock(&r->mutex);
        r->quit = true;
        pthread_cond_signal(&r->work);
        pthread_mutex_unlock(&r->mutex);
        pthread_join(r->thread, NULL);
    }
    if (r->queue.gap.last_tick != 0 && r->writer != NULL && !r->stats.stuck) {
        (void)recording_writer_gap(r->writer, r->queue.gap); /* the recording ends with a gap */
    }
    int closed = recording_writer_destroy(r->writer);
    if (r->started) {
        say_what_is_missing(r, closed);
    }
    tick_queue_finish(&r->queue);
    free(r->image);
    pthread_cond_destroy(&r->work);
    pthread_cond_destroy(&r->room);
    pthread_mutex_destroy(&r->mutex);
    free(r->notes);
    free(r);
}
