/*
 * recording_delta.c: delta-codes a frame of a recording against earlier frames: a map of changed
 * chunks, and these in the largest possible spans.
 */
#include "protocol/record/recording_format.h"

#include "shared/base/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    SPAN_HEAD_BYTES = 4,
    TICKS_APART_MAX = 1 << 24 /* limit of the span codes */
};

bool recording_trail_init(RecordingTrail *trail)
{
    memset(trail, 0, sizeof *trail);
    trail->coder = span_coder_create();
    bool good = trail->coder != NULL;
    for (u32 i = 0; i < PL_COUNT(trail->states); i++) {
        trail->states[i] = malloc(SPAN_CHUNKS_MAX * CHUNK_STATE_BYTES_MAX);
        good = good && trail->states[i] != NULL;
    }
    return good;
}

static void trail_clear(RecordingTrail *trail)
{
    for (u32 i = 0; i < trail->count; i++) {
        frame_release(trail->frames[i]);
    }
    trail->count = 0;
}

void recording_trail_finish(RecordingTrail *trail)
{
    trail_clear(trail);
    span_coder_destroy(trail->coder);
    for (u32 i = 0; i < PL_COUNT(trail->states); i++) {
        free(trail->states[i]);
    }
    memset(trail, 0, sizeof *trail);
}

void recording_trail_push(RecordingTrail *trail, Frame *frame, bool key)
{
    frame_acquire(frame);
    if (key) {
        trail_clear(trail);
    }
    if (trail->count == SPAN_STATES) {
        frame_release(trail->frames[--trail->count]);
    }
    memmove(trail->frames + 1, trail->frames, trail->count * sizeof trail->frames[0]);
    trail->frames[0] = frame;
    trail->count++;
}

static u32 chunks_of(const FieldSet *fields)
{
    u32 count = 0;
    for (u32 f = 0; f < fields->count; f++) {
        count += chunk_count(&fields->fields[f]);
    }
    return count;
}

size_t recording_delta_bytes_max(const FieldSet *fields)
{
    size_t chunks = chunks_of(fields);
    return chunks * (CHUNK_CODE_BYTES_MAX + SPAN_HEAD_BYTES) + chunks / 8 + 1;
}

/* The span of these chunks at `tick`, relative to the trail. */
static Span span_of(RecordingTrail *trail, const FieldDesc *field, const u16 *chunks, u32 count,
                    u64 tick)
{
    Span span = {.field = field, .count = count, .chunks = chunks};
    for (u32 s = 0; s < trail->count; s++) {
        span_gather(field, chunks, count, frame_field(trail->frames[s], field->id),
                    trail->states[1 + s]);
        span.state[s] = trail->states[1 + s];
        span.back[s] = (u32)u64_min(tick - trail->frames[s]->tick, UINT32_MAX);
    }
    return span;
}

/* Codes as many of the chunks as give a code no longer than their plain codes. */
static u32 put_span(RecordingTrail *trail, const FieldDesc *field, const u16 *chunks, u32 *count,
                    const Frame *frame, u8 *out)
{
    bool fallback;
    u32 size = 0;
    for (;; *count = (*count + 1) / 2) {
        Span span = span_of(trail, field, chunks, *count, frame->tick);
        span_gather(field, chunks, *count, frame_field(frame, field->id), trail->states[0]);
        size = span_encode(trail->coder, &span, trail->states[0], out + SPAN_HEAD_BYTES,
                           *count * CHUNK_CODE_BYTES_MAX, &fallback);
        if (size != 0 || *count == 1) {
            break;
        }
    }
    u32 head = size << 7 | (u32)fallback << 6 | (*count - 1);
    memcpy(out, &head, SPAN_HEAD_BYTES);
    return SPAN_HEAD_BYTES + size;
}

size_t recording_delta_encode(RecordingTrail *trail, const Frame *frame, u8 *out)
{
    const FieldSet *fields = frame->fields;
    size_t used = (chunks_of(fields) + 7) / 8;
    u32 number = 0;
    memset(out, 0, used);
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        u32 total = chunk_count(field), most = span_chunks_max(field), count = 0;
        u16 chunks[SPAN_CHUNKS_MAX];
        for (u32 c = 0; c < total || count > 0;) {
            if (c < total && count < most) {
                u16 chunk = (u16)c;
                span_gather(field, &chunk, 1, frame_field(frame, field->id), trail->states[0]);
                span_gather(field, &chunk, 1, frame_field(trail->frames[0], field->id),
                            trail->states[1]);
                if (memcmp(trail->states[0], trail->states[1], chunk_state_bytes(field, c)) != 0) {
                    out[(number + c) / 8] |= (u8)(1u << ((number + c) % 8));
                    chunks[count++] = chunk;
                }
                c++;
                continue;
            }
            u32 sent = count;
            used += put_span(trail, field, chunks, &sent, frame, out + used);
            count -= sent;
            memmove(chunks, chunks + sent, count * sizeof chunks[0]);
        }
        number += total;
    }
    return used;
}

/* The unread rest of a code. */
typedef struct Rest {
    const u8 *code;
    size_t bytes;
} Rest;

/* head: of the span, whose code is next. */
static int get_span(RecordingTrail *trail, const FieldDesc *field, const u16 *chunks, u32 count,
                    Frame *frame, Rest *rest, u32 head)
{
    u32 size = head >> 7;
    bool fallback = (head >> 6 & 1) != 0;
    Span span = span_of(trail, field, chunks, count, frame->tick);
    int result = span_decode(trail->coder, &span, fallback, rest->code, size, trail->states[0]);
    const u8 *at = trail->states[0];
    for (u32 i = 0; i < count && result == 0; i++) {
        chunk_scatter(field, chunks[i], at, frame_field(frame, field->id));
        at += chunk_state_bytes(field, chunks[i]);
    }
    rest->code += size;
    rest->bytes -= size;
    return result;
}

/* Decodes the spans of one field; its chunks are the bits of the map from `first` on. */
static int get_field(RecordingTrail *trail, const FieldDesc *field, const u8 *map, u32 first,
                     Frame *frame, Rest *rest)
{
    u32 total = chunk_count(field), wanted = 0, count = 0, head = 0;
    u16 chunks[SPAN_CHUNKS_MAX];
    for (u32 c = 0; c < total; c++) {
        if ((map[(first + c) / 8] >> ((first + c) % 8) & 1) == 0) {
            continue;
        }
        if (count == 0) {
            if (rest->bytes < SPAN_HEAD_BYTES) {
                return ERROR_TRUNCATED;
            }
            memcpy(&head, rest->code, SPAN_HEAD_BYTES);
            rest->code += SPAN_HEAD_BYTES;
            rest->bytes -= SPAN_HEAD_BYTES;
            wanted = (head & 63) + 1;
            if (wanted > span_chunks_max(field) || head >> 7 == 0 || head >> 7 > rest->bytes) {
                return ERROR_FORMAT;
            }
        }
        chunks[count++] = (u16)c;
        if (count == wanted) {
            int result = get_span(trail, field, chunks, count, frame, rest, head);
            if (result != 0) {
                return result;
            }
            count = 0;
        }
    }
    return count == 0 ? ERROR_OK : ERROR_FORMAT;
}

int recording_delta_decode(RecordingTrail *trail, Frame *frame, const u8 *code, size_t bytes)
{
    const FieldSet *fields = frame->fields;
    u32 map_bytes = (chunks_of(fields) + 7) / 8, first = 0;
    if (map_bytes > bytes || trail->count == 0 || trail->frames[0]->fields != fields) {
        return ERROR_TRUNCATED;
    }
    if (frame->tick - trail->frames[trail->count - 1]->tick >= TICKS_APART_MAX) {
        return ERROR_FORMAT;
    }
    Rest rest = {code + map_bytes, bytes - map_bytes};
    memcpy(frame->data, trail->frames[0]->data, fields->frame_bytes);
    for (u32 f = 0; f < fields->count; f++) {
        int result = get_field(trail, &fields->fields[f], code, first, frame, &rest);
        if (result != 0) {
            return result;
        }
        first += chunk_count(&fields->fields[f]);
    }
    return rest.bytes == 0 ? ERROR_OK : ERROR_FORMAT;
}
