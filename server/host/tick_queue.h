/*
 * tick_queue.h: ticks that wait for a slower thread (recorder.c, publisher.c): a bounded ring of
 * frames with their inputs. A tick for which there is no capacity is lost, but not its events: they
 * go with the next queued one, which also names the gap. One thread pushes, one pops; the owner's
 * mutex guards all but tick_queue_drop. Popping moves no tick: a copy of the first is valid until
 * it is popped.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_TICK_QUEUE_H
#define PLENUM_SERVER_HOST_TICK_QUEUE_H

#include "protocol/field/frame.h"
#include "protocol/record/recording.h"
#include "protocol/session/input.h"

typedef struct QueuedTick {
    Frame *frame;
    RecordingGap gap;     /* before it; 0, 0 none */
    RecordingImage about; /* of its image */
    u8 *image;            /* NULL none */
    u64 queued_ns;
    Input *inputs; /* [input_capacity], kept for the next tick here */
    u32 input_count, input_capacity;
} QueuedTick;

typedef struct TickQueue {
    QueuedTick *ticks; /* [capacity], a ring */
    u32 capacity, first, count;
    u64 bytes, bytes_max; /* of what waits */
    u32 overhead;         /* bytes added for each besides its frame */
    /* ---- of the thread that pushes ---- */
    Frame *lost;      /* the events of lost ticks, in a frame; NULL none */
    RecordingGap gap; /* they are; 0, 0 none */
} TickQueue;

/* False: out of memory. */
bool tick_queue_init(TickQueue *queue, u32 capacity, u64 bytes_max, u32 overhead);
void tick_queue_finish(TickQueue *queue);
bool tick_queue_full(const TickQueue *queue, const Frame *frame);
/* The tick as queued, or NULL: full, or out of memory; then tick_queue_drop. The frame is acquired,
 * the inputs are copied. */
QueuedTick *tick_queue_push(TickQueue *queue, Frame *frame, const Input *inputs, u32 input_count);
/* Gives the tick pushed last an image, which the queue frees. */
void tick_queue_image(TickQueue *queue, QueuedTick *tick, const RecordingImage *about, u8 *image);
/* Keeps the events of a tick that was not queued. */
void tick_queue_drop(TickQueue *queue, Frame *frame);
/* The waiting tick at this index, or NULL. */
QueuedTick *tick_queue_at(const TickQueue *queue, u32 place);
void tick_queue_pop(TickQueue *queue);

#endif
