/* encoder.c: see encoder.h. */
#include "server/host/encoder.h"

#include "shared/base/check.h"
#include "shared/base/clock.h"
#include "shared/base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    PACKETS_BYTES = 8 << 10, /* of a job's at first */
};

typedef enum EncoderState {
    ENCODER_FREE,
    ENCODER_COPIES, /* reads the host's cache */
    ENCODER_BUSY,
    ENCODER_DONE
} EncoderState;

struct Encoder {
    void (*wake)(void *context);
    void *context;
    pthread_t thread;
    bool started;

    /* ---- the thread's while it is busy, else the host's ---- */
    EncoderJob *jobs; /* [jobs_max]; their packets' memory stays */
    u32 jobs_max, count;
    ChunkCache *cache;      /* a copy of the host's ... */
    const ChunkCache *from; /* ... which is this one, while it is copied */
    History history;        /* the frames that it may need */

    u64 encoded, served; /* the host's */

    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* ---- below: under the mutex ---- */
    EncoderState state;
    bool stop;
};

static void packet_keep(void *context, const u8 *packet, u32 bytes)
{
    EncoderJob *job = context;
    u16 size = (u16)bytes;
    u32 wanted = job->bytes + (u32)sizeof size + bytes;
    CHECK(bytes <= STATE_PAYLOAD_BYTES_MAX);
    if (wanted > job->capacity) {
        u32 capacity = u32_max(2 * job->capacity, PACKETS_BYTES);
        u8 *larger = realloc(job->packets, capacity);
        if (larger == NULL) {
            job->failed = true;
            return;
        }
        job->packets = larger;
        job->capacity = capacity;
    }
    memcpy(job->packets + job->bytes, &size, sizeof size);
    memcpy(job->packets + job->bytes + sizeof size, packet, bytes);
    job->bytes = wanted;
}

const u8 *encoder_packet(const EncoderJob *job, u32 *at, u32 *bytes)
{
    u16 size;
    if (*at >= job->bytes) {
        return NULL;
    }
    memcpy(&size, job->packets + *at, sizeof size);
    const u8 *packet = job->packets + *at + sizeof size;
    *bytes = size;
    *at += (u32)sizeof size + size;
    CHECK(*at <= job->bytes);
    return packet;
}

static EncoderState state_of(Encoder *e)
{
    pthread_mutex_lock(&e->mutex);
    EncoderState state = e->state;
    pthread_mutex_unlock(&e->mutex);
    return state;
}

static void state_set(Encoder *e, EncoderState state)
{
    pthread_mutex_lock(&e->mutex);
    e->state = state;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->mutex);
}

static void batch_build(Encoder *e)
{
    for (u32 i = 0; i < e->count; i++) {
        EncoderJob *job = &e->jobs[i];
        job->began_ns = clock_now_ns();
        snapshot_sender_build(job->sender, e->cache, &job->view, &job->header, job->line,
                              packet_keep, job);
        job->cost_ns = clock_now_ns() - job->began_ns;
    }
}

static void *encode_main(void *argument)
{
    Encoder *e = argument;
    thread_name("plenum-encode");
    pthread_mutex_lock(&e->mutex);
    for (;;) {
        while (e->state != ENCODER_COPIES && !e->stop) {
            pthread_cond_wait(&e->changed, &e->mutex);
        }
        if (e->state != ENCODER_COPIES) {
            break;
        }
        pthread_mutex_unlock(&e->mutex);
        bool good = chunk_cache_copy(e->cache, e->from, &e->history);
        state_set(e, ENCODER_BUSY);
        if (good) {
            batch_build(e);
        }
        pthread_mutex_lock(&e->mutex);
        e->state = ENCODER_DONE;
        pthread_cond_broadcast(&e->changed);
        e->wake(e->context);
    }
    pthread_mutex_unlock(&e->mutex);
    return NULL;
}

Encoder *encoder_create(u32 jobs_max, void (*wake)(void *context), void *context)
{
    Encoder *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return NULL;
    }
    e->wake = wake;
    e->context = context;
    e->jobs_max = jobs_max;
    e->jobs = calloc(jobs_max, sizeof *e->jobs);
    e->cache = chunk_cache_create();
    history_init(&e->history);
    pthread_mutex_init(&e->mutex, NULL);
    pthread_cond_init(&e->changed, NULL);
    e->started = e->jobs != NULL && e->cache != NULL &&
                 pthread_create(&e->thread, NULL, encode_main, e) == 0;
    if (!e->started) {
        encoder_destroy(e);
        return NULL;
    }
    return e;
}

void encoder_destroy(Encoder *e)
{
    if (e == NULL) {
        return;
    }
    if (e->started) {
        pthread_mutex_lock(&e->mutex);
        e->stop = true;
        pthread_cond_broadcast(&e->changed);
        pthread_mutex_unlock(&e->mutex);
        pthread_join(e->thread, NULL);
    }
    for (u32 i = 0; i < e->jobs_max && e->jobs != NULL; i++) {
        free(e->jobs[i].packets);
    }
    history_finish(&e->history);
    chunk_cache_destroy(e->cache);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->mutex);
    free(e->jobs);
    free(e);
}

bool encoder_is_free(Encoder *e)
{
    return state_of(e) == ENCODER_FREE;
}

void encoder_add(Encoder *e, const EncoderJob *job)
{
    CHECK(e->count < e->jobs_max);
    EncoderJob *place = &e->jobs[e->count++];
    u8 *packets = place->packets;
    u32 capacity = place->capacity;
    *place = *job;
    place->packets = packets;
    place->capacity = capacity;
    place->bytes = 0;
    place->failed = false;
}

void encoder_start(Encoder *e, const ChunkCache *cache, const History *history)
{
    if (e->count == 0) {
        return;
    }
    CHECK(state_of(e) == ENCODER_FREE);
    history_copy(&e->history, history);
    e->from = cache;
    state_set(e, ENCODER_COPIES);
}

bool encoder_copies(Encoder *e)
{
    return state_of(e) == ENCODER_COPIES;
}

void encoder_wait_copied(Encoder *e)
{
    pthread_mutex_lock(&e->mutex);
    while (e->state == ENCODER_COPIES) {
        pthread_cond_wait(&e->changed, &e->mutex);
    }
    pthread_mutex_unlock(&e->mutex);
}

EncoderJob *encoder_take(Encoder *e, u32 *count)
{
    if (state_of(e) != ENCODER_DONE) {
        return NULL;
    }
    *count = e->count;
    chunk_cache_stats(e->cache, &e->encoded, &e->served);
    return e->jobs;
}

void encoder_taken(Encoder *e)
{
    CHECK(state_of(e) == ENCODER_DONE);
    e->count = 0;
    history_finish(&e->history); /* frames are not kept for a batch that may never come */
    state_set(e, ENCODER_FREE);
}

void encoder_wait(Encoder *e)
{
    pthread_mutex_lock(&e->mutex);
    while (e->state == ENCODER_BUSY || e->state == ENCODER_COPIES) {
        pthread_cond_wait(&e->changed, &e->mutex);
    }
    pthread_mutex_unlock(&e->mutex);
}

void encoder_stats(const Encoder *e, u64 *encoded, u64 *served)
{
    *encoded = e->encoded;
    *served = e->served;
}
