/* tick_queue.c: see tick_queue.h. */
#include "server/host/tick_queue.h"

#include "server/host/frame_merge.h"
#include "shared/base/check.h"
#include "shared/base/clock.h"

#include <stdlib.h>
#include <string.h>

bool tick_queue_init(TickQueue *queue, u32 capacity, u64 bytes_max, u32 overhead)
{
    *queue = (TickQueue){.capacity = capacity, .bytes_max = bytes_max, .overhead = overhead};
    queue->ticks = calloc(capacity, sizeof *queue->ticks);
    return queue->ticks != NULL;
}

void tick_queue_finish(TickQueue *queue)
{
    for (u32 i = 0; queue->ticks != NULL && i < queue->capacity; i++) {
        frame_release(queue->ticks[i].frame);
        free(queue->ticks[i].inputs);
        free(queue->ticks[i].image);
    }
    frame_release(queue->lost);
    free(queue->ticks);
    *queue = (TickQueue){0};
}

static u64 bytes_of(const TickQueue *queue, const Frame *frame)
{
    return frame->fields->frame_bytes + queue->overhead;
}

bool tick_queue_full(const TickQueue *queue, const Frame *frame)
{
    return queue->count == queue->capacity ||
           (queue->count > 0 && queue->bytes + bytes_of(queue, frame) > queue->bytes_max);
}

static bool inputs_copy(QueuedTick *slot, const Input *inputs, u32 count)
{
    if (count > slot->input_capacity) {
        Input *larger = realloc(slot->inputs, count * sizeof *larger);
        if (larger == NULL) {
            return false;
        }
        slot->inputs = larger;
        slot->input_capacity = count;
    }
    if (count > 0) {
        memcpy(slot->inputs, inputs, count * sizeof *inputs);
    }
    slot->input_count = count;
    return true;
}

QueuedTick *tick_queue_push(TickQueue *queue, Frame *frame, const Input *inputs, u32 input_count)
{
    QueuedTick *slot = &queue->ticks[(queue->first + queue->count) % queue->capacity];
    if (tick_queue_full(queue, frame) || !inputs_copy(slot, inputs, input_count)) {
        return NULL;
    }
    Frame *merged = NULL;
    if (queue->lost != NULL) {
        merged = frame_merge(queue->lost, frame_acquire(frame));
        queue->lost = NULL;
    }
    CHECK(slot->frame == NULL && slot->image == NULL);
    slot->frame = merged != NULL ? merged : frame_acquire(frame);
    slot->gap = queue->gap;
    slot->queued_ns = clock_now_ns();
    queue->gap = (RecordingGap){0, 0};
    queue->bytes += bytes_of(queue, frame);
    queue->count++;
    return slot;
}

void tick_queue_image(TickQueue *queue, QueuedTick *tick, const RecordingImage *about, u8 *image)
{
    CHECK(queue->count > 0 && tick == tick_queue_at(queue, queue->count - 1));
    tick->about = *about;
    tick->image = image;
    queue->bytes += image != NULL ? about->bytes : 0;
}

void tick_queue_drop(TickQueue *queue, Frame *frame)
{
    if (queue->gap.last_tick == 0) {
        queue->gap.first_tick = frame->tick;
    }
    queue->gap.last_tick = frame->tick;
    frame_acquire(frame);
    queue->lost = queue->lost != NULL ? frame_merge(queue->lost, frame) : frame;
}

QueuedTick *tick_queue_at(const TickQueue *queue, u32 place)
{
    return place < queue->count ? &queue->ticks[(queue->first + place) % queue->capacity] : NULL;
}

void tick_queue_pop(TickQueue *queue)
{
    QueuedTick *tick = tick_queue_at(queue, 0);
    CHECK(tick != NULL);
    queue->bytes -=
        bytes_of(queue, tick->frame) + (tick->image != NULL ? (u64)tick->about.bytes : 0);
    frame_release(tick->frame);
    free(tick->image);
    tick->frame = NULL;
    tick->image = NULL;
    queue->first = (queue->first + 1) % queue->capacity;
    queue->count--;
}
