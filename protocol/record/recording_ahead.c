/*
 * recording_ahead.c: the frames decoded ahead by a reader. A frame between two pictures is
 * interpolated, so frames are decoded up to the second picture after the tick being read.
 */
#include "protocol/record/recording_internal.h"
#include "shared/base/check.h"

#include <string.h>

static bool is_between(u32 flags)
{
    return (flags & RECORDING_FRAME_BETWEEN) != 0;
}

/* Flags of the frame just read; 0 or ERROR_FORMAT. */
static int take_flags(const RecordingReader *reader, const RecordingBlock *block, u32 *flags)
{
    bool key = block->type == BLOCK_KEYF;
    if (block->length < RECORDING_FRAME_HEAD_BYTES) {
        return ERROR_FORMAT;
    }
    *flags = reader->content[8];
    bool coarse = *flags == RECORDING_FRAME_COARSE;
    if ((*flags > RECORDING_FRAME_CUT && !coarse) || (key && *flags == RECORDING_FRAME_BETWEEN) ||
        (coarse && (key || reader->head.coarse_shift == 0))) {
        return ERROR_FORMAT; /* at most one of the allowed flags */
    }
    if (!key && !reader->decoding) {
        return ERROR_FORMAT; /* relative to a frame that was not read */
    }
    const RecordingPast *pictures = &reader->trail.pictures;
    if (is_between(*flags) && (pictures->count == 0 || block->tick - pictures->frames[0]->tick >=
                                                           reader->head.picture_ticks)) {
        return ERROR_FORMAT;
    }
    const RecordingPast *all = &reader->trail.all; /* empty after a damaged key */
    bool backwards = reader->decoding && all->count > 0 && block->tick <= all->frames[0]->tick;
    return backwards ? ERROR_FORMAT : 0;
}

int recording_decode_frame(RecordingReader *reader, const RecordingBlock *block, u32 event_count,
                           Frame **out, u32 *flags)
{
    *out = NULL;
    int result = take_flags(reader, block, flags);
    if (result != 0) {
        return result;
    }
    Frame *frame = frame_create(reader->fields, block->tick, event_count);
    if (frame == NULL) {
        return ERROR_MEMORY;
    }
    memcpy(&frame->world_hash, reader->content, 8);
    frame->world_time_s = (f64)block->tick / reader->head.tick_rate;
    frame->between = is_between(*flags);
    result = recording_frame_decode(&reader->trail, frame, block->type == BLOCK_KEYF, *flags,
                                    reader->content + RECORDING_FRAME_HEAD_BYTES,
                                    block->length - RECORDING_FRAME_HEAD_BYTES);
    if (result != 0) {
        frame_release(frame);
        return result;
    }
    recording_trail_push(&reader->trail, frame, *flags);
    reader->decoding = true;
    *out = frame;
    return 0;
}

void recording_ahead_drop(RecordingReader *reader)
{
    RecordingAhead *ahead = &reader->ahead;
    for (u32 i = 0; i < ahead->count; i++) {
        frame_release(ahead->frames[i]);
    }
    for (u32 i = 0; i < PL_COUNT(ahead->shown); i++) {
        frame_release(ahead->shown[i]);
    }
    memset(ahead, 0, sizeof *ahead);
    reader->decoding = false;
}

/* Decodes the frame just read and appends it to those decoded ahead. */
static int push(RecordingReader *reader, const RecordingBlock *block)
{
    RecordingAhead *ahead = &reader->ahead;
    CHECK(ahead->count < RECORDING_AHEAD_MAX);
    u32 at = ahead->count;
    int result = recording_decode_frame(reader, block, 0, &ahead->frames[at], &ahead->flags[at]);
    if (result == 0) {
        ahead->count++;
        ahead->pictures += !is_between(ahead->flags[at]);
    }
    return result;
}

/* The next frame of the file. 0, ERROR_NOT_FOUND at its end, other: damaged. */
static int look_on(RecordingReader *reader)
{
    RecordingAhead *ahead = &reader->ahead;
    while (ahead->offset < reader->end) {
        RecordingBlock block;
        int result = recording_read_block(reader, ahead->offset, &block);
        if (result != 0) {
            return result;
        }
        if (block.type == BLOCK_INDX) {
            break;
        }
        ahead->offset += recording_block_bytes(&block);
        if (block.type == BLOCK_KEYF || block.type == BLOCK_DLTA) {
            return push(reader, &block);
        }
    }
    return ERROR_NOT_FOUND;
}

/* The n-th picture ahead, from 0; NULL: none, or motion is not continuous up to it. */
static Frame *picture_ahead(const RecordingReader *reader, u32 number, const Frame *before)
{
    const RecordingAhead *ahead = &reader->ahead;
    u64 most = 2 * (u64)reader->head.picture_ticks; /* more means that ticks are missing */
    for (u32 i = 0; i < ahead->count && before != NULL; i++) {
        if (is_between(ahead->flags[i]) || number-- > 0) {
            continue;
        }
        bool leads = (ahead->flags[i] & RECORDING_FRAME_CUT) == 0 &&
                     ahead->frames[i]->tick - before->tick <= most;
        return leads ? ahead->frames[i] : NULL;
    }
    return NULL;
}

/* Removes the first frame ahead; its reference is the caller's. */
static Frame *pop(RecordingReader *reader, u32 *flags)
{
    RecordingAhead *ahead = &reader->ahead;
    Frame *frame = ahead->frames[0];
    *flags = ahead->flags[0];
    ahead->count--;
    ahead->pictures -= !is_between(*flags);
    memmove(ahead->frames, ahead->frames + 1, ahead->count * sizeof ahead->frames[0]);
    memmove(ahead->flags, ahead->flags + 1, ahead->count * sizeof ahead->flags[0]);
    return frame;
}

/* A picture is read: it becomes the newest one passed. A key has no earlier one, so that the result
 * does not depend on where reading began. */
static void keep_shown(RecordingReader *reader, Frame *frame, u32 flags, bool key)
{
    Frame **shown = reader->ahead.shown;
    bool follows = shown[0] != NULL && !key && (flags & RECORDING_FRAME_CUT) == 0 &&
                   frame->tick - shown[0]->tick <= 2 * (u64)reader->head.picture_ticks;
    frame_release(shown[1]);
    shown[1] = follows ? shown[0] : NULL;
    if (!follows) {
        frame_release(shown[0]);
    }
    shown[0] = frame_acquire(frame);
}

/* The same frame with the events read before it. Takes over the reference; NULL: out of memory. */
static Frame *with_events(RecordingReader *reader, Frame *frame)
{
    bool own = reader->events_tick == frame->tick;
    Frame *whole = frame_create(reader->fields, frame->tick, own ? reader->event_count : 0);
    if (whole != NULL) {
        memcpy(whole->data, frame->data, frame->fields->frame_bytes);
        if (whole->event_count != 0) {
            memcpy(whole->events, reader->events, whole->event_count * sizeof *whole->events);
        }
        whole->world_hash = frame->world_hash;
        whole->world_time_s = frame->world_time_s;
        whole->between = frame->between;
    }
    frame_release(frame);
    return whole;
}

int recording_ahead_take(RecordingReader *reader, const RecordingBlock *block, Frame **out)
{
    RecordingAhead *ahead = &reader->ahead;
    *out = NULL;
    if (ahead->count == 0) {
        if (ahead->ended == 0 || ahead->ended == ERROR_NOT_FOUND) {
            ahead->offset = reader->offset + recording_block_bytes(block);
            ahead->ended = push(reader, block);
        }
        if (ahead->ended != 0) {
            return ahead->ended; /* until a seek: later frames are relative to it */
        }
    }
    if (ahead->frames[0]->tick != block->tick) {
        return ERROR_FORMAT;
    }
    u64 most = 2 * (u64)reader->head.picture_ticks * reader->fields->frame_bytes;
    bool made = is_between(ahead->flags[0]) && block->tick >= reader->show_from &&
                most <= RECORDING_AHEAD_BYTES_MAX;
    while (made && ahead->pictures < 2 && ahead->ended == 0) {
        ahead->ended = look_on(reader);
    }
    u32 flags;
    Frame *frame = pop(reader, &flags);
    if (!is_between(flags)) {
        keep_shown(reader, frame, flags, block->type == BLOCK_KEYF);
    }
    if (made || reader->event_count != 0) {
        frame = with_events(reader, frame);
    }
    if (frame == NULL) {
        return ERROR_MEMORY;
    }
    RecordingAround around = {.before = ahead->shown[1], .from = ahead->shown[0]};
    around.to = made ? picture_ahead(reader, 0, around.from) : NULL;
    around.after = made ? picture_ahead(reader, 1, around.to) : NULL;
    if (around.to != NULL) {
        recording_between(&around, frame);
    }
    *out = frame;
    return 0;
}
