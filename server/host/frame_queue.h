/*
 * frame_queue.h: frames that a source has produced and the host has not taken yet, oldest first.
 * Owns a reference to each. The source guards the queue with its own lock.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_FRAME_QUEUE_H
#define PLENUM_SERVER_HOST_FRAME_QUEUE_H

#include "protocol/field/frame.h"
#include "shared/base/check.h"

#include <pthread.h>

/* Half a second at 60 Hz. */
enum {
    FRAME_QUEUE_MAX = 32
};

typedef struct FrameQueue {
    Frame *frames[FRAME_QUEUE_MAX]; /* ring */
    u32 first, count;
} FrameQueue;

/* Whether a push would be too many. */
static inline bool frame_queue_full(const FrameQueue *queue)
{
    return queue->count == FRAME_QUEUE_MAX;
}
/* Takes over the reference. The queue must not be full. */
static inline void frame_queue_push(FrameQueue *queue, Frame *frame)
{
    CHECK(frame != NULL && queue->count < FRAME_QUEUE_MAX);
    queue->frames[(queue->first + queue->count++) % FRAME_QUEUE_MAX] = frame;
}
/* The oldest, now the caller's, or NULL. */
static inline Frame *frame_queue_pop(FrameQueue *queue)
{
    if (queue->count == 0) {
        return NULL;
    }
    Frame *frame = queue->frames[queue->first];
    queue->first = (queue->first + 1) % FRAME_QUEUE_MAX;
    queue->count--;
    return frame;
}
/* frame_queue_pop under the source's lock; signals `changed` to the producer, which may wait for
 * space. */
static inline Frame *frame_queue_take(FrameQueue *queue, pthread_mutex_t *mutex,
                                      pthread_cond_t *changed)
{
    pthread_mutex_lock(mutex);
    Frame *frame = frame_queue_pop(queue);
    if (frame != NULL) {
        pthread_cond_signal(changed);
    }
    pthread_mutex_unlock(mutex);
    return frame;
}
/* The newest, now the caller's, or NULL. */
static inline Frame *frame_queue_pop_newest(FrameQueue *queue)
{
    return queue->count == 0 ? NULL
                             : queue->frames[(queue->first + --queue->count) % FRAME_QUEUE_MAX];
}
static inline void frame_queue_clear(FrameQueue *queue)
{
    while (queue->count > 0) {
        frame_release(frame_queue_pop(queue));
    }
}

#endif
