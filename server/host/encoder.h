/*
 * encoder.h: a thread that builds snapshots for clients that have just joined. Their first
 * snapshots consist of keys, or of codes relative to states that no other client has, so nothing is
 * shared, and a join would cost the other users some milliseconds of the host's thread. The host
 * hands over a batch of senders with a copy of the newest frame; when it is done, the host sends
 * the snapshots. Meanwhile the senders belong to the thread.
 * Layer: server/host, private.
 */
#ifndef PLENUM_SERVER_HOST_ENCODER_H
#define PLENUM_SERVER_HOST_ENCODER_H

#include "protocol/stream/snapshot.h"

/* A snapshot to build, and the result. */
typedef struct EncoderJob {
    SnapshotSender *sender; /* the thread's until the batch is taken */
    u32 session;            /* the caller's */
    SnapshotView view;
    SnapshotHeader header;
    SnapshotLine line;
    /* ---- results ---- */
    u8 *packets; /* [bytes]: each a u16 of its size, and its bytes */
    u32 bytes, capacity;
    bool failed; /* out of memory: packets are missing, as if they were lost */
    u64 began_ns, cost_ns;
} EncoderJob;

typedef struct Encoder Encoder;
/* wake is called by the thread when a batch is done. NULL: out of memory, or no thread. */
Encoder *encoder_create(u32 jobs_max, void (*wake)(void *context), void *context);
/* Waits for the batch in progress; its result is lost. NULL is fine. */
void encoder_destroy(Encoder *encoder);
/* True if jobs can be added: no batch is in progress or waits to be taken. */
bool encoder_is_free(Encoder *encoder);
/* Adds a job to the next batch; its capacity is one job for each of `jobs_max` sessions. */
void encoder_add(Encoder *encoder, const EncoderJob *job);
/* Begins the batch, if there is one. The thread reads the cache at first: it must not change until
 * encoder_wait_copied. Without memory for a copy nothing is built, as if it were lost. */
void encoder_start(Encoder *encoder, const ChunkCache *cache, const History *history);
/* True while the thread reads the cache. */
bool encoder_copies(Encoder *encoder);
/* Waits until the thread no longer reads the cache. */
void encoder_wait_copied(Encoder *encoder);
/* The jobs of a finished batch, until encoder_taken; NULL: none is finished. */
EncoderJob *encoder_take(Encoder *encoder, u32 *count);
void encoder_taken(Encoder *encoder);
/* Waits until no batch is in progress: for tests, and before senders are destroyed. */
void encoder_wait(Encoder *encoder);
/* Chunks encoded and served, as of the last batch taken. */
void encoder_stats(const Encoder *encoder, u64 *encoded, u64 *served);

/* The next packet of a job; `at` begins with 0. NULL: no more. */
const u8 *encoder_packet(const EncoderJob *job, u32 *at, u32 *bytes);

#endif
