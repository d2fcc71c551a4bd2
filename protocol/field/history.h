/*
 * history.h: frames by tick: all of the last HISTORY_FRAMES ticks, for lag compensation and
 * recorder, and older ones from which something was sent, as baselines. Owned and used by one
 * thread (the host's).
 * Layer: protocol/field.
 */
#ifndef PLENUM_PROTOCOL_FIELD_HISTORY_H
#define PLENUM_PROTOCOL_FIELD_HISTORY_H

#include "protocol/field/frame.h"

PL_BEGIN_C

enum {
    /* Marked frames older than the ring: 17 s at 30 snapshots a second. A client that stalled
     * for seconds, or that gets a chunk only every few seconds, needs no keys. */
    HISTORY_KEPT = 512,
    /* Limit of their total size; large worlds keep fewer than HISTORY_KEPT: 200 of 20 000
     * particles. */
    HISTORY_KEPT_BYTES = 64 << 20,
};

typedef struct History {
    Frame *ring[HISTORY_FRAMES];    /* slot tick % HISTORY_FRAMES; owned references */
    u64 marks[HISTORY_FRAMES / 64]; /* by slot */
    Frame *kept[HISTORY_KEPT];      /* ascending from kept_first on; owned references */
    u32 kept_first, kept_count;
    u64 kept_bytes;
    Frame *newest; /* borrowed from the ring, or NULL */
} History;

/* Empty; holds references to frames later. */
void history_init(History *history);
void history_finish(History *history);
/* Acquires the frame. A tick not newer than the newest (a backward seek), or a frame with other
 * fields, clears the history first. */
void history_push(History *history, Frame *frame);
/* Marks the newest frame as sent: it is kept when it leaves the last HISTORY_FRAMES ticks. */
void history_mark(History *history);
/* Makes `to` hold the same frames, for a reader on another thread; `to` was initialized. */
void history_copy(History *to, const History *from);
/* The frame of exactly that tick, or NULL. Borrowed. */
Frame *history_get(const History *history, u64 tick);
/* Aborts (check.h) if these invariants are violated. */
void history_validate(const History *history);

PL_END_C

#endif
