/*
 * recording_delta.c: codes a frame of a recording alone (a key: all chunks) or against earlier
 * frames (a map of changed chunks, and these), in the largest possible spans. The codes from a key
 * to the next are one chain: what the codecs learned from one frame serves in the next.
 */
#include "protocol/record/recording_format.h"

#include "shared/base/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    SPAN_HEAD_BYTES = 4,
    SPAN_SIZE_BITS = 24,
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

static void past_clear(RecordingPast *past)
{
    for (u32 i = 0; i < past->count; i++) {
        frame_release(past->frames[i]);
    }
    past->count = 0;
}

static void trail_clear(RecordingTrail *trail)
{
    past_clear(&trail->all);
    past_clear(&trail->pictures);
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

static void past_push(RecordingPast *past, Frame *frame)
{
    frame_acquire(frame);
    if (past->count == SPAN_STATES) {
        frame_release(past->frames[--past->count]);
    }
    memmove(past->frames + 1, past->frames, past->count * sizeof past->frames[0]);
    past->frames[0] = frame;
    past->count++;
}

void recording_trail_push(RecordingTrail *trail, Frame *frame, u32 flags)
{
    past_push(&trail->all, frame);
    if ((flags & RECORDING_FRAME_BETWEEN) == 0) {
        past_push(&trail->pictures, frame);
    }
}

bool recording_field_waits(const FieldDesc *field)
{
    return field->kind == FIELD_POINTS || field->kind == FIELD_GRID2 || field->kind == FIELD_GRID3;
}

/* Whether a frame says nothing of this field. */
static bool is_left_out(const FieldDesc *field, u32 flags)
{
    return (flags & RECORDING_FRAME_BETWEEN) != 0 && recording_field_waits(field);
}

/* The frames that what is new of this field is relative to. */
static const RecordingPast *past_of(const RecordingTrail *trail, const FieldDesc *field)
{
    return recording_field_waits(field) ? &trail->pictures : &trail->all;
}

/* Of a frame with these flags. */
static u32 chunks_of(const FieldSet *fields, u32 flags)
{
    u32 count = 0;
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        count += is_left_out(field, flags) ? 0 : chunk_count(field);
    }
    return count;
}

PL_STATIC_ASSERT(SPAN_CHUNKS_MAX *CHUNK_CODE_BYTES_MAX < 1 << SPAN_SIZE_BITS, "any span's size");

size_t recording_frame_bytes_max(const FieldSet *fields)
{
    size_t chunks = chunks_of(fields, 0);
    return chunks * (CHUNK_CODE_BYTES_MAX + SPAN_HEAD_BYTES) + chunks / 8 + 1;
}

/* What is coded next decodes by itself. */
static void begin_key(RecordingTrail *trail)
{
    trail_clear(trail);
    trail->effort = 0;
    span_coder_chain(trail->coder);
}

/* The span of these chunks at `tick`, relative to the trail. */
static Span span_of(RecordingTrail *trail, const FieldDesc *field, const u16 *chunks, u32 count,
                    u64 tick)
{
    Span span = {.field = field, .count = count, .chunks = chunks};
    const RecordingPast *past = past_of(trail, field);
    for (u32 s = 0; s < past->count; s++) {
        span_gather(field, chunks, count, frame_field(past->frames[s], field->id),
                    trail->states[1 + s]);
        span.state[s] = trail->states[1 + s];
        span.back[s] = (u32)u64_min(tick - past->frames[s]->tick, UINT32_MAX);
    }
    return span;
}

/* Codes as many of the chunks as give a code no longer than their plain codes. One that is longer
 * was given up half way, which broke the chain. */
static u32 put_span(RecordingTrail *trail, const FieldDesc *field, const u16 *chunks, u32 *count,
                    const Frame *frame, u8 *out)
{
    bool fallback, anew = false;
    u32 size = 0;
    for (;; *count = (*count + 1) / 2) {
        Span span = span_of(trail, field, chunks, *count, frame->tick);
        span_gather(field, chunks, *count, frame_field(frame, field->id), trail->states[0]);
        size = span_encode(trail->coder, &span, trail->states[0], out + SPAN_HEAD_BYTES,
                           *count * CHUNK_CODE_BYTES_MAX, &fallback);
        if (fallback) {
            span_coder_chain(trail->coder);
            anew = true;
        }
        if (size != 0 || *count == 1) {
            break;
        }
    }
    u32 head = (u32)anew << 31 | size << 7 | (u32)fallback << 6 | (*count - 1);
    memcpy(out, &head, SPAN_HEAD_BYTES);
    return SPAN_HEAD_BYTES + size;
}

/* Whether a chunk differs from the newest frame of the trail that has it. */
static bool is_changed(RecordingTrail *trail, const FieldDesc *field, u16 chunk, const Frame *frame)
{
    span_gather(field, &chunk, 1, frame_field(frame, field->id), trail->states[0]);
    span_gather(field, &chunk, 1, frame_field(past_of(trail, field)->frames[0], field->id),
                trail->states[1]);
    return memcmp(trail->states[0], trail->states[1], chunk_state_bytes(field, chunk)) != 0;
}

/* Of decoding a byte, in 0.15 us (plenum-bench codec): most voxels cost time and few bits. */
static u32 effort_of(FieldKind kind)
{
    return kind == FIELD_GRID3 ? 8 : kind == FIELD_POSES ? 2 : 1;
}

size_t recording_frame_encode(RecordingTrail *trail, const Frame *frame, bool key, u32 flags,
                              u8 *out)
{
    const FieldSet *fields = frame->fields;
    size_t used = key ? 0 : (chunks_of(fields, flags) + 7) / 8;
    u32 number = 0;
    if (key) {
        begin_key(trail);
    }
    memset(out, 0, used);
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        u32 total = chunk_count(field), most = span_chunks_max(field), count = 0;
        u16 chunks[SPAN_CHUNKS_MAX];
        if (is_left_out(field, flags)) {
            continue;
        }
        for (u32 c = 0; c < total || count > 0;) {
            if (c < total && count < most) {
                bool changed = key || is_changed(trail, field, (u16)c, frame);
                if (!key) {
                    out[(number + c) / 8] |= (u8)(changed << ((number + c) % 8));
                }
                chunks[count] = (u16)c++;
                count += changed;
                continue;
            }
            u32 sent = count, size = put_span(trail, field, chunks, &sent, frame, out + used);
            used += size;
            trail->effort += size * effort_of((FieldKind)field->kind);
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
    u32 size = head >> 7 & ((1u << SPAN_SIZE_BITS) - 1);
    bool fallback = (head >> 6 & 1) != 0;
    if (head >> 31 != 0) {
        span_coder_chain(trail->coder);
    }
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

/* Decodes the spans of one field; its chunks are the bits of the map from `first` on, all of them
 * without a map. */
static int get_field(RecordingTrail *trail, const FieldDesc *field, const u8 *map, u32 first,
                     Frame *frame, Rest *rest)
{
    u32 total = chunk_count(field), wanted = 0, count = 0, head = 0;
    u16 chunks[SPAN_CHUNKS_MAX];
    for (u32 c = 0; c < total; c++) {
        if (map != NULL && (map[(first + c) / 8] >> ((first + c) % 8) & 1) == 0) {
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
            u32 size = head >> 7 & ((1u << SPAN_SIZE_BITS) - 1);
            if (wanted > span_chunks_max(field) || size == 0 || size > rest->bytes) {
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

static int get_fields(RecordingTrail *trail, const u8 *map, u32 flags, Frame *frame, Rest rest)
{
    const FieldSet *fields = frame->fields;
    u32 first = 0;
    for (u32 f = 0; f < fields->count; f++) {
        if (is_left_out(&fields->fields[f], flags)) {
            continue;
        }
        int result = get_field(trail, &fields->fields[f], map, first, frame, &rest);
        if (result != 0) {
            return result;
        }
        first += chunk_count(&fields->fields[f]);
    }
    return rest.bytes == 0 ? ERROR_OK : ERROR_FORMAT;
}

static bool is_far(const RecordingPast *past, u64 tick)
{
    return tick - past->frames[past->count - 1]->tick >= TICKS_APART_MAX;
}

int recording_frame_decode(RecordingTrail *trail, Frame *frame, bool key, u32 flags, const u8 *code,
                           size_t bytes)
{
    const FieldSet *fields = frame->fields;
    if (key) {
        begin_key(trail);
        return get_fields(trail, NULL, flags, frame, (Rest){code, bytes});
    }
    u32 map_bytes = (chunks_of(fields, flags) + 7) / 8;
    if (map_bytes > bytes || trail->all.count == 0 || trail->all.frames[0]->fields != fields) {
        return ERROR_TRUNCATED;
    }
    /* A key is a picture, so there is one. */
    if (is_far(&trail->all, frame->tick) || is_far(&trail->pictures, frame->tick)) {
        return ERROR_FORMAT;
    }
    memcpy(frame->data, trail->all.frames[0]->data, fields->frame_bytes);
    return get_fields(trail, code, flags, frame, (Rest){code + map_bytes, bytes - map_bytes});
}
