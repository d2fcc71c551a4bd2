/*
 * history.h: frames by tick: the last HISTORY_FRAMES ticks whole, for lag compensation and
 * recorder, and of the time before them those from which something was sent, to build upon. Owned
 * and used by one thread (the host's).
 * Layer: protocol/field.
 */
#ifndef PLENUM_PROTOCOL_FIELD_HISTORY_H
#define PLENUM_PROTOCOL_FIELD_HISTORY_H

#include "protocol/field/frame.h"

PL_BEGIN_C

enum {
    /* Marked frames older than the ring: 17 s at 30 snapshots a second. A client that stalled for
     * seconds, or that gets a chunk every few seconds only, needs no keys. */
    HISTORY_KEPT = 512,
    /* Together they have at most so many bytes, and fewer than HISTORY_KEPT stay of large worlds:
     * 200 of 20 000 particles. */
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

void history_init(History *history);
void history_finish(History *history);
/* Takes a reference. A tick that is not newer than the newest (a seek backwards), or a frame with
 * other fields, clears everything first. */
void history_push(History *history, Frame *frame);
/* Something is sent from the newest frame: it stays when it leaves the last HISTORY_FRAMES ticks.
 */
void history_mark(History *history);
/* The frame of exactly that tick, or NULL. Borrowed. */
Frame *history_get(const History *history, u64 tick);
/* Stops the program (check.h) unless the whole of it is as above. */
void history_validate(const History *history);

PL_END_C

#endif
