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

Frame *frame_create(FieldSet *fields, u64 tick, u32 event_count)
{
    CHECK(fields->frame_bytes <= FRAME_BYTES_MAX);
    size_t data_at = align_up(sizeof(Frame));
    size_t events_at = data_at + align_up(fields->frame_bytes);
    size_t bytes = events_at + event_count * sizeof(Event);
    /* calloc's blocks are aligned to 16 bytes on the supported machines. */
    u8 *block = calloc(1, bytes);
    if (block == NULL) {
        return NULL;
    }
    Frame *frame = (Frame *)block;
    frame->references = 1;
    frame->event_count = event_count;
    frame->tick = tick;
    frame->fields = field_set_acquire(fields);
    frame->data = block + data_at;
    frame->events = event_count > 0 ? (Event *)(block + events_at) : NULL;
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
