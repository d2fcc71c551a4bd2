/* frame.c: one block of memory per frame: the struct, its data, its events. */
#include "protocol/field/frame.h"
#include "shared/base/check.h"
#include "shared/base/hash.h"

#include <stdlib.h>

enum {
    FRAME_ALIGN = 16
};

static size_t align_up(size_t bytes)
{
    return (bytes + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;
}

static const size_t data_at = (sizeof(Frame) + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;

/* Of a frame with so many events. */
static size_t block_bytes(const FieldSet *fields, u32 events)
{
    return data_at + align_up(fields->frame_bytes) + events * sizeof(Event);
}

static void point_into_block(Frame *frame)
{
    u8 *data = (u8 *)frame + data_at;
    frame->data = data;
    frame->events =
        frame->event_capacity > 0 ? (Event *)(data + align_up(frame->fields->frame_bytes)) : NULL;
}

Frame *frame_create(FieldSet *fields, u64 tick, u32 event_count)
{
    CHECK(fields->frame_bytes <= FRAME_BYTES_MAX);
    /* calloc's blocks are aligned to 16 bytes on the supported machines. */
    Frame *frame = calloc(1, block_bytes(fields, event_count));
    if (frame == NULL) {
        return NULL;
    }
    frame->references = 1;
    frame->event_count = frame->event_capacity = event_count;
    frame->tick = tick;
    frame->fields = field_set_acquire(fields);
    point_into_block(frame);
    return frame;
}

Frame *frame_add_events(Frame *frame, u32 count)
{
    CHECK(__atomic_load_n(&frame->references, __ATOMIC_ACQUIRE) == 1); /* nobody else reads it */
    u32 needed = frame->event_count + count;
    if (needed > frame->event_capacity) {
        u32 capacity = needed + needed / 2;
        frame = realloc(frame, block_bytes(frame->fields, capacity));
        if (frame == NULL) {
            return NULL;
        }
        frame->event_capacity = capacity;
        point_into_block(frame);
    }
    frame->event_count = needed;
    return frame;
}

Frame *frame_acquire(Frame *frame)
{
    u32 before = __atomic_fetch_add(&frame->references, 1, __ATOMIC_RELAXED);
    CHECK(before > 0); /* else it is gone */
    return frame;
}

void frame_release(Frame *frame)
{
    if (frame == NULL) {
        return;
    }
    u32 left = __atomic_sub_fetch(&frame->references, 1, __ATOMIC_ACQ_REL);
    CHECK(left != UINT32_MAX);
    if (left == 0) {
        field_set_release(frame->fields);
        free(frame);
    }
}

u64 frame_hash_data(const FieldSet *fields, u64 tick, const u8 *data)
{
    u64 hash = hash_bytes(data, fields->frame_bytes, tick);
    return hash != 0 ? hash : 1;
}

u64 frame_hash(const Frame *frame)
{
    return frame_hash_data(frame->fields, frame->tick, frame->data);
}
