/*
 * recording_delta.c: codes a frame of a recording alone (a key: all chunks) or against earlier
 * frames (a map of changed chunks, and these), in the largest possible spans. The codes from a key
 * to the next form one chain: the codecs keep their adaptive state from frame to frame. If the
 * recording's options say so, fast points are coded without their low bits.
 */
#include "protocol/record/recording_format.h"

#include "shared/base/error.h"

#include <stdlib.h>
#include <string.h>

enum {
    SPAN_SIZE_BITS = 24,
    TICKS_APART_MAX = 1 << 24, /* limit of the span codes */
    STEPS_PER_MOTION = 2,      /* coarse steps are at most this times a chunk's mean motion between
                                  pictures */
    LEVEL_BITS = 2,
};

/* Flags of a span. */
enum {
    SPAN_HEAD_ANEW = 1,  /* the chain restarts before it */
    SPAN_HEAD_PLAIN = 2, /* plain codes */
    SPAN_HEAD_COUNT = 4, /* a byte follows: number of chunks - 1; otherwise as many as possible */
    SPAN_HEAD_SIZE = 8,  /* a varint follows: number of bytes; otherwise the rest of the frame */
    SPAN_HEAD_BYTES_MAX = 2 + RECORDING_VARINT_MAX
};

bool recording_trail_init(RecordingTrail *trail)
{
    memset(trail, 0, sizeof *trail);
    trail->coder = span_coder_create();
    bool good = trail->coder != NULL;
    for (u32 i = 0; i < PL_COUNT(trail->states); i++) {
        trail->states[i] = malloc(SPAN_CHUNKS_LONG * CHUNK_STATE_BYTES_MAX);
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
    free(trail->levels);
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

/* Whether a frame does not contain this field. */
static bool is_left_out(const FieldDesc *field, u32 flags)
{
    return (flags & RECORDING_FRAME_BETWEEN) != 0 && recording_field_waits(field);
}

/* The frames against which this field is coded. */
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

PL_STATIC_ASSERT(SPAN_CHUNKS_LONG *CHUNK_CODE_BYTES_MAX < 1 << SPAN_SIZE_BITS, "any span's size");

size_t recording_frame_bytes_max(const FieldSet *fields)
{
    size_t chunks = chunks_of(fields, 0);
    return chunks * (CHUNK_CODE_BYTES_MAX + SPAN_HEAD_BYTES_MAX + 1) + chunks / 8 + 1;
}

/* ---- what is in a frame ---- */

/* Indexed by chunk, over the fields in a frame. */
typedef struct Coded {
    const u8 *changed; /* bits: changed chunks; NULL: all are */
    const u8 *levels;  /* bytes: level, 0: exact; NULL: all are exact */
} Coded;

static bool bit_of(const u8 *map, u32 number)
{
    return (map[number / 8] >> (number % 8) & 1) != 0;
}

static bool is_coded(const Coded *coded, u32 number, u32 level)
{
    bool changed = coded->changed == NULL || bit_of(coded->changed, number);
    return changed && (coded->levels != NULL ? coded->levels[number] : 0) == level;
}

/* Number of levels of a field in a frame. */
static u32 levels_of(const FieldDesc *field, const Coded *coded)
{
    return coded->levels != NULL && field->kind == FIELD_POINTS ? RECORDING_COARSE_LEVELS : 0;
}

static Detail detail_of(const RecordingTrail *trail, u32 level)
{
    return level == 0 ? (Detail)DETAIL_FULL : detail_make(trail->coarse_shift + level - 1, 0);
}

/* The level of a chunk of points: omitted bits are not visible if the points moved further, on
 * average, since the previous picture than rounding moves them, half a step. Its correction, at
 * most that, counts as motion that leads to a lower level: at rest they are exact after at most
 * three pictures. */
static u32 level_of(const RecordingTrail *trail, const FieldDesc *field, u32 chunk,
                    const Frame *frame)
{
    u32 first = chunk * CHUNK_POINTS, count = chunk_elements(field, chunk), level = 0;
    const QPoint *now = frame_points(frame, field->id) + first;
    const QPoint *was = frame_points(trail->pictures.frames[0], field->id) + first;
    u64 sum = 0, going = 0;
    for (u32 i = 0; i < count; i++) {
        if (now[i].generation != 0 && now[i].generation == was[i].generation) {
            i64 most = 0;
            for (u32 a = 0; a < 3; a++) {
                i64 by = (i64)now[i].position[a] - was[i].position[a];
                most = i64_max(most, by < 0 ? -by : by);
            }
            sum += (u64)most;
            going++;
        }
    }
    while (level < RECORDING_COARSE_LEVELS &&
           STEPS_PER_MOTION * sum > going << (trail->coarse_shift + level)) {
        level++;
    }
    return level;
}

static bool levels_reserve(RecordingTrail *trail, u32 chunks)
{
    if (chunks > trail->level_chunks) {
        u8 *larger = realloc(trail->levels, chunks);
        if (larger == NULL) {
            return false;
        }
        trail->levels = larger;
        trail->level_chunks = chunks;
    }
    memset(trail->levels, 0, chunks);
    return true;
}

static Frame *copy_of(const Frame *frame)
{
    FieldSet *fields = (FieldSet *)(uintptr_t)frame->fields; /* acquiring needs a mutable frame */
    Frame *copy = frame_create(fields, frame->tick, 0);
    if (copy != NULL) {
        memcpy(copy->data, frame->data, fields->frame_bytes);
        copy->world_hash = frame->world_hash;
    }
    return copy;
}

Frame *recording_coarsen(RecordingTrail *trail, const Frame *frame)
{
    const FieldSet *fields = frame->fields;
    Frame *coarse = NULL;
    if (trail->coarse_shift == 0 || trail->pictures.count == 0 ||
        !levels_reserve(trail, chunks_of(fields, 0))) {
        return NULL;
    }
    for (u32 f = 0, first = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        u32 chunks = chunk_count(field);
        for (u32 c = 0; field->kind == FIELD_POINTS && c < chunks; c++) {
            u32 level = level_of(trail, field, c, frame);
            if (level == 0) {
                continue;
            }
            coarse = coarse != NULL ? coarse : copy_of(frame);
            if (coarse == NULL) {
                return NULL;
            }
            detail_store(field, detail_of(trail, level),
                         frame_points(coarse, f) + (size_t)c * CHUNK_POINTS,
                         chunk_elements(field, c));
            trail->levels[first + c] = (u8)level;
        }
        first += chunks;
    }
    return coarse;
}

/* ---- encoding ---- */

/* The next span is decoded without earlier ones. */
static void begin_key(RecordingTrail *trail)
{
    trail_clear(trail);
    trail->effort = 0;
    span_coder_chain(trail->coder);
}

/* The dense states of these chunks, as the span codes them. */
static void gather(const FieldDesc *field, const u16 *chunks, u32 count, const Frame *frame,
                   Detail detail, u8 *states)
{
    span_gather(field, chunks, count, frame_field(frame, field->id), states);
    if (detail != DETAIL_FULL) {
        u32 bytes = span_state_bytes(field, chunks, count);
        detail_reduce(field, detail, states, bytes / field_element_bytes(field));
    }
}

/* The span of these chunks at `tick`, with the trail as baselines. */
static Span span_of(RecordingTrail *trail, const FieldDesc *field, const u16 *chunks, u32 count,
                    u64 tick, Detail detail)
{
    Span span = {.field = field, .count = count, .chunks = chunks, .detail = detail};
    const RecordingPast *past = past_of(trail, field);
    for (u32 s = 0; s < past->count; s++) {
        gather(field, chunks, count, past->frames[s], detail, trail->states[1 + s]);
        span.state[s] = trail->states[1 + s];
        span.back[s] = (u32)u64_min(tick - past->frames[s]->tick, UINT32_MAX);
    }
    return span;
}

/* The end of a frame's code. */
typedef struct Tail {
    u8 *out;
    size_t used;
    size_t last;   /* start of the last span */
    u32 last_size; /* bytes of its code; 0: none */
} Tail;

/* Codes as many of the chunks as possible without exceeding the size of their plain codes. An
 * attempt that exceeds it is abandoned, which breaks the chain. */
static void put_span(RecordingTrail *trail, const FieldDesc *field, const u16 *chunks, u32 *count,
                     const Frame *frame, Detail detail, Tail *tail)
{
    u8 *out = tail->out + tail->used, *code = out + SPAN_HEAD_BYTES_MAX;
    u32 all = *count, used = 1, size = 0;
    bool fallback, anew = false;
    for (;; *count = (*count + 1) / 2) {
        Span span = span_of(trail, field, chunks, *count, frame->tick, detail);
        gather(field, chunks, *count, frame, detail, trail->states[0]);
        size = span_encode(trail->coder, &span, trail->states[0], code,
                           *count * CHUNK_CODE_BYTES_MAX, &fallback);
        if (fallback) {
            span_coder_chain(trail->coder);
            anew = true;
        }
        if (size != 0 || *count == 1) {
            break;
        }
    }
    out[0] = (u8)((anew ? SPAN_HEAD_ANEW : 0) | (fallback ? SPAN_HEAD_PLAIN : 0) | SPAN_HEAD_SIZE);
    if (*count != all) {
        out[0] |= SPAN_HEAD_COUNT;
        out[used++] = (u8)(*count - 1);
    }
    used += recording_varint_put(size, out + used);
    memmove(out + used, code, size);
    tail->last = tail->used;
    tail->last_size = size;
    tail->used += used + size;
}

/* Whether a chunk differs from the newest frame of the trail that contains it. */
static bool is_changed(RecordingTrail *trail, const FieldDesc *field, u16 chunk, const Frame *frame)
{
    span_gather(field, &chunk, 1, frame_field(frame, field->id), trail->states[0]);
    span_gather(field, &chunk, 1, frame_field(past_of(trail, field)->frames[0], field->id),
                trail->states[1]);
    return memcmp(trail->states[0], trail->states[1], chunk_state_bytes(field, chunk)) != 0;
}

/* Cost of decoding a byte, in 0.15 us (plenum-bench codec): most voxels take time but few bits. */
static u32 effort_of(FieldKind kind)
{
    return kind == FIELD_GRID3 ? 8 : kind == FIELD_POSES ? 2 : 1;
}

/* Fills in the map of changed chunks, which is zero. */
static void put_changed(RecordingTrail *trail, const Frame *frame, u32 flags, u8 *changed)
{
    const FieldSet *fields = frame->fields;
    for (u32 f = 0, number = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        u32 chunks = is_left_out(field, flags) ? 0 : chunk_count(field);
        for (u32 c = 0; c < chunks; c++, number++) {
            bool is = is_changed(trail, field, (u16)c, frame);
            changed[number / 8] |= (u8)(is << number % 8);
        }
    }
}

/* Writes the levels of the changed chunks of points to `map`, which is zero. Returns the bytes. */
static size_t put_levels(const FieldSet *fields, const Coded *coded, u8 *map)
{
    size_t bit = 0;
    for (u32 f = 0, number = 0; f < fields->count; f++) {
        bool points = fields->fields[f].kind == FIELD_POINTS;
        u32 chunks = chunk_count(&fields->fields[f]);
        for (u32 c = 0; c < chunks; c++, number++) {
            if (points && bit_of(coded->changed, number)) {
                map[bit / 8] |= (u8)(coded->levels[number] << bit % 8);
                bit += LEVEL_BITS;
            }
        }
    }
    return (bit + 7) / 8;
}

/* Encodes the spans of a field whose chunks start at index `first` in the frame. */
static void put_field(RecordingTrail *trail, const FieldDesc *field, const Coded *coded, u32 first,
                      u32 level, const Frame *frame, Tail *tail)
{
    u32 total = chunk_count(field), most = span_chunks_long(field), count = 0;
    u16 chunks[SPAN_CHUNKS_LONG];
    for (u32 c = 0; c < total || count > 0;) {
        if (c < total && count < most) {
            chunks[count] = (u16)c;
            count += is_coded(coded, first + c++, level);
            continue;
        }
        u32 sent = count;
        put_span(trail, field, chunks, &sent, frame, detail_of(trail, level), tail);
        trail->effort += tail->last_size * effort_of((FieldKind)field->kind);
        count -= sent;
        memmove(chunks, chunks + sent, count * sizeof chunks[0]);
    }
}

/* The last span is the rest of the frame, so its length is not stored. */
static void drop_last_size(Tail *tail)
{
    u8 *head = tail->out + tail->last;
    if (tail->last_size != 0) {
        u8 *at = head + ((head[0] & SPAN_HEAD_COUNT) != 0 ? 2 : 1);
        u8 *code = tail->out + tail->used - tail->last_size;
        head[0] ^= SPAN_HEAD_SIZE;
        memmove(at, code, tail->last_size);
        tail->used -= (size_t)(code - at);
    }
}

size_t recording_frame_encode(RecordingTrail *trail, const Frame *frame, bool key, u32 flags,
                              u8 *out)
{
    const FieldSet *fields = frame->fields;
    Tail tail = {.out = out};
    Coded coded = {NULL, NULL};
    if (key) {
        begin_key(trail);
    } else {
        u32 chunks = chunks_of(fields, flags);
        tail.used = (chunks + 7) / 8;
        memset(out, 0, tail.used + chunks);
        put_changed(trail, frame, flags, out);
        coded.changed = out;
    }
    if ((flags & RECORDING_FRAME_COARSE) != 0) {
        coded.levels = trail->levels;
        tail.used += put_levels(fields, &coded, out + tail.used);
    }
    for (u32 f = 0, first = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        if (is_left_out(field, flags)) {
            continue;
        }
        for (u32 level = 0; level <= levels_of(field, &coded); level++) {
            put_field(trail, field, &coded, first, level, frame, &tail);
        }
        first += chunk_count(field);
    }
    drop_last_size(&tail);
    return tail.used;
}

/* ---- decoding ---- */

/* The unread rest of a code. */
typedef struct Rest {
    const u8 *code;
    size_t bytes;
} Rest;

typedef struct SpanHead {
    u32 flags, count, size;
} SpanHead;

static void skip(Rest *rest, size_t bytes)
{
    rest->code += bytes;
    rest->bytes -= bytes;
}

/* left: coded chunks of the field not yet in a span. */
static int get_head(const FieldDesc *field, u32 left, Rest *rest, SpanHead *head)
{
    enum {
        ALL = SPAN_HEAD_ANEW | SPAN_HEAD_PLAIN | SPAN_HEAD_COUNT | SPAN_HEAD_SIZE
    };
    u32 most = u32_min(left, span_chunks_long(field));
    if (rest->bytes < 2) {
        return ERROR_TRUNCATED;
    }
    head->flags = rest->code[0];
    head->count = most;
    skip(rest, 1);
    if ((head->flags & SPAN_HEAD_COUNT) != 0) {
        head->count = rest->code[0] + 1u;
        skip(rest, 1);
    }
    u64 size = rest->bytes;
    if ((head->flags & SPAN_HEAD_SIZE) != 0) {
        int used = recording_varint_get(rest->code, rest->bytes, &size);
        if (used < 0) {
            return used;
        }
        skip(rest, (size_t)used);
    }
    if ((head->flags & ~(u32)ALL) != 0 || head->count > most || size == 0 || size > rest->bytes ||
        size >> SPAN_SIZE_BITS != 0) {
        return ERROR_FORMAT;
    }
    head->size = (u32)size;
    return 0;
}

/* Its code follows. */
static int get_span(RecordingTrail *trail, const FieldDesc *field, const SpanHead *head,
                    const u16 *chunks, Detail detail, Frame *frame, Rest *rest)
{
    if ((head->flags & SPAN_HEAD_ANEW) != 0) {
        span_coder_chain(trail->coder);
    }
    u32 bytes = span_state_bytes(field, chunks, head->count);
    Span span = span_of(trail, field, chunks, head->count, frame->tick, detail);
    int result = span_decode(trail->coder, &span, (head->flags & SPAN_HEAD_PLAIN) != 0, rest->code,
                             head->size, trail->states[0]);
    if (result == 0) {
        detail_restore(field, detail, trail->states[0], bytes / field_element_bytes(field));
    }
    const u8 *at = trail->states[0];
    for (u32 i = 0; i < head->count && result == 0; i++) {
        chunk_scatter(field, chunks[i], at, frame_field(frame, field->id));
        at += chunk_state_bytes(field, chunks[i]);
    }
    skip(rest, head->size);
    return result;
}

/* Decodes the spans of a field whose chunks start at index `first` in the frame. */
static int get_field(RecordingTrail *trail, const FieldDesc *field, const Coded *coded, u32 first,
                     u32 level, Frame *frame, Rest *rest)
{
    u32 total = chunk_count(field), left = 0, next = 0;
    for (u32 c = 0; c < total; c++) {
        left += is_coded(coded, first + c, level);
    }
    while (left > 0) {
        u16 chunks[SPAN_CHUNKS_LONG];
        SpanHead head;
        int result = get_head(field, left, rest, &head);
        for (u32 count = 0; result == 0 && count < head.count; next++) {
            chunks[count] = (u16)next;
            count += is_coded(coded, first + next, level);
        }
        if (result == 0) {
            result = get_span(trail, field, &head, chunks, detail_of(trail, level), frame, rest);
        }
        if (result != 0) {
            return result;
        }
        left -= head.count;
    }
    return ERROR_OK;
}

/* Reads the levels of the changed chunks of points. 0 or a negative Error. */
static int get_levels(RecordingTrail *trail, const FieldSet *fields, const u8 *changed, Rest *rest)
{
    size_t bit = 0;
    if (!levels_reserve(trail, chunks_of(fields, 0))) {
        return ERROR_MEMORY;
    }
    for (u32 f = 0, number = 0; f < fields->count; f++) {
        bool points = fields->fields[f].kind == FIELD_POINTS;
        u32 chunks = chunk_count(&fields->fields[f]);
        for (u32 c = 0; c < chunks; c++, number++) {
            if (!points || !bit_of(changed, number)) {
                continue;
            }
            if (bit / 8 == rest->bytes) {
                return ERROR_TRUNCATED;
            }
            trail->levels[number] = rest->code[bit / 8] >> bit % 8 & RECORDING_COARSE_LEVELS;
            bit += LEVEL_BITS;
        }
    }
    skip(rest, (bit + 7) / 8);
    return 0;
}

static int get_fields(RecordingTrail *trail, const Coded *coded, u32 flags, Frame *frame, Rest rest)
{
    const FieldSet *fields = frame->fields;
    for (u32 f = 0, first = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        if (is_left_out(field, flags)) {
            continue;
        }
        for (u32 level = 0; level <= levels_of(field, coded); level++) {
            int result = get_field(trail, field, coded, first, level, frame, &rest);
            if (result != 0) {
                return result;
            }
        }
        first += chunk_count(field);
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
    Rest rest = {code, bytes};
    Coded coded = {NULL, NULL};
    if (key) {
        begin_key(trail);
        return get_fields(trail, &coded, flags, frame, rest);
    }
    size_t map_bytes = (chunks_of(fields, flags) + 7) / 8;
    if (map_bytes > bytes || trail->all.count == 0 || trail->all.frames[0]->fields != fields) {
        return ERROR_TRUNCATED;
    }
    /* Each key is a picture, so there is one. */
    if (is_far(&trail->all, frame->tick) || is_far(&trail->pictures, frame->tick)) {
        return ERROR_FORMAT;
    }
    coded.changed = code;
    skip(&rest, map_bytes);
    if ((flags & RECORDING_FRAME_COARSE) != 0) {
        int result = get_levels(trail, fields, code, &rest);
        if (result != 0) {
            return result;
        }
        coded.levels = trail->levels;
    }
    memcpy(frame->data, trail->all.frames[0]->data, fields->frame_bytes);
    return get_fields(trail, &coded, flags, frame, rest);
}
