/*
 * history.h: the last HISTORY_FRAMES frames by tick: delta baselines, lag compensation, recorder.
 * Owned and used by one thread (the host's).
 * Layer: protocol.
 */
#ifndef PLENUM_PROTOCOL_HISTORY_H
#define PLENUM_PROTOCOL_HISTORY_H

#include "protocol/frame.h"

PL_BEGIN_C

typedef struct History {
    Frame *ring[HISTORY_FRAMES]; /* slot tick % HISTORY_FRAMES; owned references */
    Frame *newest;               /* borrowed from the ring, or NULL */
} History;

void history_init(History *history);
void history_finish(History *history);
/* Takes a reference. A tick that is not newer than the newest (a seek backwards), or a frame with
 * other fields, clears the ring first. */
void history_push(History *history, Frame *frame);
/* The frame of exactly that tick, or NULL. Borrowed. */
Frame *history_get(const History *history, u64 tick);

PL_END_C

#endif
