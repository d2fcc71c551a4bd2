/*
 * history.c: a ring of the last ticks, preceded by a queue of marked frames. Ticks may have gaps: a
 * slot knows its frame's tick.
 */
#include "protocol/field/history.h"
#include "shared/base/check.h"

#include <string.h>

void history_init(History *history)
{
    memset(history, 0, sizeof *history);
}

void history_finish(History *history)
{
    for (u32 i = 0; i < HISTORY_FRAMES; i++) {
        frame_release(history->ring[i]);
    }
    for (u32 i = 0; i < history->kept_count; i++) {
        frame_release(history->kept[(history->kept_first + i) % HISTORY_KEPT]);
    }
    history_init(history);
}

static u64 frame_bytes(const Frame *frame)
{
    return frame->fields->frame_bytes + (u64)frame->event_count * sizeof(Event);
}

static void kept_pop(History *history)
{
    CHECK(history->kept_count > 0);
    Frame *frame = history->kept[history->kept_first];
    history->kept_bytes -= frame_bytes(frame);
    history->kept_first = (history->kept_first + 1) % HISTORY_KEPT;
    history->kept_count--;
    frame_release(frame);
}

/* Moves the frame's reference into the queue. */
static void kept_push(History *history, Frame *frame)
{
    u64 bytes = frame_bytes(frame);
    while (history->kept_count > 0 && (history->kept_count == HISTORY_KEPT ||
                                       history->kept_bytes + bytes > HISTORY_KEPT_BYTES)) {
        kept_pop(history);
    }
    if (bytes > HISTORY_KEPT_BYTES) {
        frame_release(frame);
        return;
    }
    history->kept[(history->kept_first + history->kept_count++) % HISTORY_KEPT] = frame;
    history->kept_bytes += bytes;
}

/* Frames up to this tick leave the ring, oldest first. */
static void ring_leave(History *history, u64 until)
{
    u64 newest = history->newest->tick;
    u64 tick = newest >= HISTORY_FRAMES ? newest - HISTORY_FRAMES + 1 : 0;
    for (; tick <= until && tick <= newest; tick++) {
        u32 slot = (u32)(tick % HISTORY_FRAMES);
        u64 bit = 1ull << slot % 64, *marks = &history->marks[slot / 64];
        Frame *frame = history->ring[slot];
        if (frame == NULL || frame->tick != tick) {
            continue;
        }
        history->ring[slot] = NULL;
        if ((*marks & bit) != 0) {
            kept_push(history, frame);
        } else {
            frame_release(frame);
        }
        *marks &= ~bit;
    }
}

void history_push(History *history, Frame *frame)
{
    frame_acquire(frame);
    const Frame *newest = history->newest;
    if (newest != NULL &&
        (frame->tick <= newest->tick || !field_set_equal(frame->fields, newest->fields))) {
        history_finish(history);
    }
    if (history->newest != NULL && frame->tick >= HISTORY_FRAMES) {
        ring_leave(history, frame->tick - HISTORY_FRAMES);
    }
    CHECK(history->ring[frame->tick % HISTORY_FRAMES] == NULL); /* its frame has left */
    history->ring[frame->tick % HISTORY_FRAMES] = frame;
    history->newest = frame;
}

void history_copy(History *to, const History *from)
{
    history_finish(to);
    *to = *from;
    for (u32 i = 0; i < HISTORY_FRAMES; i++) {
        if (to->ring[i] != NULL) {
            frame_acquire(to->ring[i]);
        }
    }
    for (u32 i = 0; i < to->kept_count; i++) {
        frame_acquire(to->kept[(to->kept_first + i) % HISTORY_KEPT]);
    }
}

void history_mark(History *history)
{
    if (history->newest != NULL) {
        u32 slot = (u32)(history->newest->tick % HISTORY_FRAMES);
        history->marks[slot / 64] |= 1ull << slot % 64;
    }
}

static Frame *kept_get(const History *history, u64 tick)
{
    u32 low = 0, high = history->kept_count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        Frame *frame = history->kept[(history->kept_first + middle) % HISTORY_KEPT];
        if (frame->tick == tick) {
            return frame;
        }
        if (frame->tick < tick) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

Frame *history_get(const History *history, u64 tick)
{
    Frame *frame = history->ring[tick % HISTORY_FRAMES];
    return frame != NULL && frame->tick == tick ? frame : kept_get(history, tick);
}

/* ---- validation of the invariants in history.h ---- */

static void validate_frame(const History *history, u32 item, const Frame *frame)
{
    CHECK_ITEM(item, frame->references > 0);
    CHECK_ITEM(item, field_set_equal(frame->fields, history->newest->fields));
}

static void validate_ring(const History *history)
{
    const Frame *newest = history->newest;
    CHECK(newest == NULL || history->ring[newest->tick % HISTORY_FRAMES] == newest);
    for (u32 i = 0; i < HISTORY_FRAMES; i++) {
        const Frame *frame = history->ring[i];
        if (frame == NULL) {
            CHECK_ITEM(i, (history->marks[i / 64] >> i % 64 & 1) == 0);
            continue;
        }
        CHECK_ITEM(i, newest != NULL && frame->tick <= newest->tick);
        CHECK_ITEM(i, frame->tick % HISTORY_FRAMES == i);
        CHECK_ITEM(i, newest->tick - frame->tick < HISTORY_FRAMES);
        validate_frame(history, i, frame);
    }
}

static void validate_kept(const History *history)
{
    u64 bytes = 0;
    CHECK(history->kept_first < HISTORY_KEPT && history->kept_count <= HISTORY_KEPT);
    CHECK(history->newest != NULL || history->kept_count == 0);
    const Frame *before = NULL;
    for (u32 i = 0; i < history->kept_count; i++) {
        const Frame *frame = history->kept[(history->kept_first + i) % HISTORY_KEPT];
        CHECK_ITEM(i, frame != NULL);
        CHECK_ITEM(i, before == NULL || before->tick < frame->tick);
        CHECK_ITEM(i, frame->tick + HISTORY_FRAMES <= history->newest->tick);
        validate_frame(history, i, frame);
        bytes += frame_bytes(frame);
        before = frame;
    }
    CHECK(bytes == history->kept_bytes && bytes <= HISTORY_KEPT_BYTES);
}

void history_validate(const History *history)
{
    validate_ring(history);
    validate_kept(history);
}
