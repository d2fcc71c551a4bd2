/*
 * chunk_cache.c: see chunk_cache.h. Codes of the newest frame live in an arena that the next begin
 * resets; each chunk has a short list of the codes that start with it. Changes since the previous
 * frame are determined once here instead of once per client.
 */
#include "protocol/field/field_ops.h"
#include "protocol/stream/chunk_cache_internal.h"
#include "shared/base/check.h"
#include "shared/base/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
    ARENA_ALIGN = 16,
    /* Fill target in percent of the available bytes for the first attempt. */
    FILL_PERCENT = 94,
};
/* Initial estimate of bytes per chunk. */
#define COST_KEY   500.0f
#define COST_DELTA 100.0f
#define COST_RATE  0.25f

ChunkCache *chunk_cache_create(void)
{
    ChunkCache *cache = calloc(1, sizeof *cache);
    if (cache == NULL) {
        return NULL;
    }
    cache->coder = span_coder_create();
    bool good = cache->coder != NULL;
    for (u32 i = 0; i < FRAMES; i++) {
        cache->states[i] = malloc(SPAN_CHUNKS_MAX * CHUNK_STATE_BYTES_MAX);
        good = good && cache->states[i] != NULL;
    }
    for (u32 f = 0; f < FIELDS_MAX; f++) {
        for (u32 shift = 0; shift <= DETAIL_SHIFT_MAX; shift++) {
            cache->cost[f][0][shift] = COST_DELTA;
            cache->cost[f][1][shift] = COST_KEY;
        }
    }
    if (!good) {
        chunk_cache_destroy(cache);
        return NULL;
    }
    return cache;
}

void chunk_cache_destroy(ChunkCache *cache)
{
    if (cache == NULL) {
        return;
    }
    while (cache->blocks != NULL) {
        ArenaBlock *next = cache->blocks->next;
        free(cache->blocks);
        cache->blocks = next;
    }
    for (u32 i = 0; i < FRAMES; i++) {
        free(cache->states[i]);
    }
    span_coder_destroy(cache->coder);
    frame_release(cache->frame);
    free(cache->chunks);
    free(cache);
}

static void *arena_push(ChunkCache *cache, u32 bytes)
{
    bytes = (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    CHECK(bytes <= ARENA_BLOCK_BYTES);
    ArenaBlock *block = cache->block;
    if (block == NULL || block->used + bytes > ARENA_BLOCK_BYTES) {
        ArenaBlock *next = block != NULL ? block->next : cache->blocks;
        if (next == NULL) {
            next = malloc(sizeof *next);
            if (next == NULL) {
                return NULL;
            }
            next->next = NULL;
            if (block != NULL) {
                block->next = next;
            } else {
                cache->blocks = next;
            }
        }
        next->used = 0;
        cache->block = block = next;
    }
    void *at = block->bytes + block->used;
    block->used += bytes;
    return at;
}

/* ---- what changed ---- */

/* Computes centre and radius of the live elements of a dense state. */
static void chunk_place(const FieldDesc *field, u32 chunk, const void *state, ChunkInfo *info)
{
    Vec3 low = vec3(INFINITY, INFINITY, INFINITY), high = vec3_neg(low);
    const FieldOps *ops = field_ops(field->kind);
    if (ops->bounds != NULL) {
        ops->bounds(field, chunk, state, &low, &high);
    }
    bool placed = low.x <= high.x;
    info->centre = placed ? vec3_lerp(low, high, 0.5f) : vec3_zero();
    info->radius = placed ? 0.5f * vec3_distance(low, high) : -1.0f;
}

static void chunk_start(const FieldDesc *field, u32 chunk, const Frame *frame, CacheChunk *c)
{
    u8 state[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16)));
    chunk_gather(field, chunk, frame_field(frame, field->id), state);
    chunk_place(field, chunk, state, &c->info);
    c->info.changed = frame->tick;
    memset(c->changes, 0, sizeof c->changes);
    c->older = frame->tick;
}

/* Shifts the change history of all chunks by one step. */
static void chunk_step(const ChunkCache *cache, CacheChunk *c)
{
    if (c->changes[WORDS - 1] >> 63 != 0) {
        c->older = cache->steps[cache->step % CHUNK_CACHE_STEPS]; /* about to be overwritten */
    }
    for (u32 w = WORDS - 1; w > 0; w--) {
        c->changes[w] = c->changes[w] << 1 | c->changes[w - 1] >> 63;
    }
    c->changes[0] <<= 1;
}

static void chunk_compare(const ChunkCache *cache, const FieldDesc *field, u32 chunk,
                          const Frame *frame, CacheChunk *c)
{
    const Frame *old = cache->frame;
    u8 before[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16)));
    u8 now[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16)));
    chunk_gather(field, chunk, frame_field(old, field->id), before);
    chunk_gather(field, chunk, frame_field(frame, field->id), now);
    if (memcmp(before, now, chunk_state_bytes(field, chunk)) == 0) {
        return;
    }
    c->changes[0] |= 1;
    c->info.changed = frame->tick;
    c->info.travelled += chunk_state_error(field, chunk, before, now);
    chunk_place(field, chunk, now, &c->info);
}

static bool cache_shape(ChunkCache *cache, const FieldSet *fields)
{
    u32 total = 0;
    for (u32 f = 0; f < fields->count; f++) {
        cache->first[f] = total;
        total += chunk_count(&fields->fields[f]);
    }
    CacheChunk *chunks = calloc(total + 1, sizeof *chunks);
    if (chunks == NULL || !span_coder_reserve(cache->coder, fields)) {
        free(chunks);
        return false;
    }
    free(cache->chunks);
    cache->chunks = chunks;
    cache->chunk_total = total;
    return true;
}

/* Codes made so far are no longer served. */
static void codes_drop(ChunkCache *cache)
{
    cache->stamp++;
    cache->block = cache->blocks;
    if (cache->block != NULL) {
        cache->block->used = 0;
    }
}

bool chunk_cache_begin(ChunkCache *cache, History *history)
{
    Frame *frame = history->newest, *old = cache->frame;
    cache->history = history;
    if (frame == NULL) {
        return false;
    }
    history_mark(history);
    if (frame == old) {
        return true;
    }
    const FieldSet *fields = frame->fields;
    bool same_fields = old != NULL && field_set_equal(old->fields, fields);
    if (!same_fields && !cache_shape(cache, fields)) {
        return false;
    }
    bool onward = same_fields && frame->tick > old->tick;
    codes_drop(cache);
    if (!onward) {
        cache->step = 0;
    }
    cache->step++;
    for (u32 i = 0; onward && i < cache->chunk_total; i++) {
        chunk_step(cache, &cache->chunks[i]);
    }
    cache->steps[cache->step % CHUNK_CACHE_STEPS] = frame->tick;
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        u32 count = chunk_count(field);
        /* An unchanged field is the common case. */
        u32 bytes = field->capacity * field_element_bytes(field);
        if (onward && memcmp(frame_field(old, f), frame_field(frame, f), bytes) == 0) {
            continue;
        }
        for (u32 c = 0; c < count; c++) {
            CacheChunk *chunk = &cache->chunks[cache->first[f] + c];
            if (onward) {
                chunk_compare(cache, field, c, frame, chunk);
            } else {
                chunk_start(field, c, frame, chunk);
            }
        }
    }
    cache->frame = frame_acquire(frame);
    frame_release(old);
    return true;
}

bool chunk_cache_copy(ChunkCache *to, const ChunkCache *from, const History *history)
{
    const Frame *old = to->frame;
    CHECK(to != from);
    if (from->frame == NULL ||
        ((old == NULL || !field_set_equal(old->fields, from->frame->fields)) &&
         !cache_shape(to, from->frame->fields))) {
        return false;
    }
    CHECK(to->chunk_total == from->chunk_total);
    codes_drop(to);
    to->history = history;
    to->step = from->step;
    memcpy(to->steps, from->steps, sizeof to->steps);
    memcpy(to->chunks, from->chunks, from->chunk_total * sizeof *to->chunks);
    for (u32 i = 0; i < to->chunk_total; i++) {
        to->chunks[i].stamp = 0; /* its codes are those of `from` */
        to->chunks[i].codes = NULL;
    }
    frame_release(to->frame);
    to->frame = frame_acquire(from->frame);
    return true;
}

const Frame *chunk_cache_frame(const ChunkCache *cache)
{
    return cache->frame;
}

const ChunkInfo *chunk_cache_info(const ChunkCache *cache, u32 field, u32 chunk)
{
    VALIDATE(cache->frame != NULL && field < cache->frame->fields->count);
    VALIDATE(cache->first[field] + chunk < cache->chunk_total);
    return &cache->chunks[cache->first[field] + chunk].info;
}

bool chunk_cache_has(const ChunkCache *cache, u64 tick)
{
    CHECK(cache->frame != NULL);
    return tick < cache->frame->tick && history_get(cache->history, tick) != NULL;
}

/* Number of steps since the newest begun tick at or before this one; CHUNK_CACHE_STEPS if that
 * is no longer known. */
static u32 steps_since(const ChunkCache *cache, u64 tick)
{
    u32 low = 0, high = (u32)u64_min(cache->step, CHUNK_CACHE_STEPS);
    if (high > 0 && cache->steps[(cache->step - (high - 1)) % CHUNK_CACHE_STEPS] > tick) {
        return CHUNK_CACHE_STEPS;
    }
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (cache->steps[(cache->step - middle) % CHUNK_CACHE_STEPS] <= tick) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The bits below `count` in word w of a row of WORDS. */
static u64 bits_below(u32 count, u32 w)
{
    u32 first = w * 64;
    return count <= first ? 0 : count >= first + 64 ? ~0ull : (1ull << (count - first)) - 1;
}

bool chunk_cache_constant(const ChunkCache *cache, u32 field, u32 chunk, u64 from, u64 to)
{
    VALIDATE(cache->first[field] + chunk < cache->chunk_total);
    const CacheChunk *c = &cache->chunks[cache->first[field] + chunk];
    if (from == to) {
        return true;
    }
    u32 until = steps_since(cache, to), since = steps_since(cache, from);
    if (from > to || until == CHUNK_CACHE_STEPS) {
        return false;
    }
    if (since == CHUNK_CACHE_STEPS && c->older > from) {
        return false;
    }
    for (u32 w = until / 64; w < WORDS && w * 64 < since; w++) {
        if ((c->changes[w] & bits_below(since, w) & ~bits_below(until, w)) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- codes ---- */

static bool frames_same(const FieldDesc *field, u32 chunk, const Frame *a, const Frame *b)
{
    u8 x[CHUNK_STATE_BYTES_MAX], y[CHUNK_STATE_BYTES_MAX];
    if (a == b) {
        return true;
    }
    chunk_gather(field, chunk, frame_field(a, field->id), x);
    chunk_gather(field, chunk, frame_field(b, field->id), y);
    return memcmp(x, y, chunk_state_bytes(field, chunk)) == 0;
}

/* Ticks since the chunk changed from its state in the baseline, 0 if it changed at once or long
 * ago. */
static u8 count_rest(const ChunkCache *cache, const FieldDesc *field, u32 chunk,
                     const Frame *baseline)
{
    u64 tick = baseline->tick, now = cache->frame->tick;
    u64 late = u64_max(now - u64_min(now, CHUNK_REST_MAX), tick + 1);
    /* Earlier only the begun frames are examined. */
    if (late > tick + 1 && chunk_cache_constant(cache, field->id, chunk, tick, late)) {
        const Frame *frame = history_get(cache->history, late);
        tick = frame != NULL && frames_same(field, chunk, frame, baseline) ? late : tick;
    }
    while (tick + 1 < now) {
        const Frame *frame = history_get(cache->history, tick + 1);
        if (frame == NULL || !frames_same(field, chunk, frame, baseline)) {
            break;
        }
        tick++;
    }
    u64 ago = now - tick;
    return tick > baseline->tick && ago <= CHUNK_REST_MAX ? (u8)ago : 0;
}

/* Codes as many of the chunks as fit; span->count is the number gathered. Returns the bytes. */
static u32 span_fill(ChunkCache *cache, Span *span, f32 *cost, u8 *out, u32 capacity,
                     bool *fallback)
{
    u32 fits = (u32)((f32)(capacity * FILL_PERCENT / 100) / f32_max(*cost, 0.5f));
    span->count = u32_min(span->count, u32_max(fits, 1));
    u32 size;
    while ((size = span_encode(cache->coder, span, cache->states[0], out, capacity, fallback)) ==
               0 &&
           span->count > 1) {
        span->count = u32_max(span->count * 3 / 4, 1);
    }
    f32 each = (f32)size / (f32)span->count;
    /* Growth is adopted at once: a code that does not fit costs the most. */
    *cost = each > *cost ? each : *cost + COST_RATE * (each - *cost);
    return size;
}

static f32 *cost_of(ChunkCache *cache, u32 field, const SpanBase *base)
{
    return &cache->cost[field][base->ticks[0] == 0][detail_shift(base->detail)];
}

static CacheEntry *entry_encode(ChunkCache *cache, const FieldDesc *field, const u16 *chunks,
                                u32 count, const SpanBase *base, u32 capacity)
{
    u32 wanted = u32_min(count, span_chunks_max(field));
    u32 elements = span_state_bytes(field, chunks, wanted) / field_element_bytes(field);
    Span span = {.field = field, .count = wanted, .chunks = chunks, .detail = base->detail};
    const Frame *baseline = NULL;
    span_gather(field, chunks, wanted, frame_field(cache->frame, field->id), cache->states[0]);
    detail_reduce(field, base->detail, cache->states[0], elements);
    for (u32 s = 0; s < SPAN_STATES && base->ticks[s] != 0; s++) {
        const Frame *frame = history_get(cache->history, base->ticks[s]);
        if (frame == NULL || base->ticks[s] >= cache->frame->tick) {
            return NULL;
        }
        baseline = s == 0 ? frame : baseline;
        span_gather(field, chunks, wanted, frame_field(frame, field->id), cache->states[1 + s]);
        detail_store(field, base->states[s], cache->states[1 + s], elements);
        detail_reduce(field, base->detail, cache->states[1 + s], elements);
        span.state[s] = cache->states[1 + s];
        span.back[s] = (u32)(cache->frame->tick - base->ticks[s]);
    }
    u8 code[STATE_PAYLOAD_BYTES_MAX];
    bool fallback;
    u32 size = span_fill(cache, &span, cost_of(cache, field->id, base), code,
                         u32_min(capacity, sizeof code), &fallback);
    CHECK(size <= sizeof code && span.count <= wanted);
    u32 list_bytes = span.count * (u32)sizeof *chunks;
    CacheEntry *entry =
        size == 0 ? NULL : arena_push(cache, (u32)sizeof *entry + list_bytes + span.count + size);
    if (entry == NULL) {
        return NULL;
    }
    u16 *list = (u16 *)(entry + 1);
    u8 *rest = (u8 *)(list + span.count), *bytes = rest + span.count;
    memcpy(list, chunks, list_bytes);
    memcpy(bytes, code, size);
    /* A chunk that is only refined did not change at any tick. */
    bool any_rest = false, same = base->states[0] == base->detail;
    for (u32 i = 0; i < span.count; i++) {
        rest[i] = baseline != NULL && same ? count_rest(cache, field, chunks[i], baseline) : 0;
        any_rest = any_rest || rest[i] != 0;
    }
    *entry = (CacheEntry){
        .base = *base, .capacity = capacity, .full = span.count < count, .chunks = list};
    detail_restore(field, base->detail, cache->states[0],
                   span_state_bytes(field, chunks, span.count) / field_element_bytes(field));
    entry->code = (SpanCode){
        .bytes = bytes,
        .size = (u16)size,
        .fallback = fallback,
        .any_rest = any_rest,
        .count = (u16)span.count,
        .rest = rest,
        .hash = span_state_hash(field, chunks, span.count, cache->states[0]),
    };
    cache->encoded += span.count;
    return entry;
}

static bool entry_serves(const CacheEntry *entry, const u16 *chunks, u32 count,
                         const SpanBase *base, u32 capacity)
{
    return entry->capacity == capacity &&
           (entry->code.count == count || (entry->full && entry->code.count < count)) &&
           memcmp(&entry->base, base, sizeof entry->base) == 0 &&
           memcmp(entry->chunks, chunks, entry->code.count * sizeof *chunks) == 0;
}

const SpanCode *chunk_cache_span(ChunkCache *cache, u32 field, const u16 *chunks, u32 count,
                                 const SpanBase *base, u32 capacity)
{
    if (cache->frame == NULL || count == 0) {
        return NULL;
    }
    CHECK(field < cache->frame->fields->count && capacity >= CHUNK_CODE_BYTES_MAX);
    CHECK(cache->first[field] + chunks[0] < cache->chunk_total);
    CacheChunk *c = &cache->chunks[cache->first[field] + chunks[0]];
    if (c->stamp != cache->stamp) {
        c->stamp = cache->stamp;
        c->codes = NULL;
    }
    CacheEntry *entry = c->codes;
    while (entry != NULL && !entry_serves(entry, chunks, count, base, capacity)) {
        entry = entry->next;
    }
    if (entry == NULL) {
        entry = entry_encode(cache, &cache->frame->fields->fields[field], chunks, count, base,
                             capacity);
        if (entry == NULL) {
            return NULL;
        }
        entry->next = c->codes;
        c->codes = entry;
    }
    cache->served += entry->code.count;
    return &entry->code;
}

f32 chunk_cache_cost(const ChunkCache *cache, u32 field, const SpanBase *base)
{
    VALIDATE(field < FIELDS_MAX);
    return cache->cost[field][base->ticks[0] == 0][detail_shift(base->detail)];
}

void chunk_cache_decimate_none(ChunkCache *cache)
{
    for (u32 i = 0; i < cache->chunk_total; i++) {
        cache->chunks[i].info.decimation = false;
    }
}

void chunk_cache_decimate(ChunkCache *cache, u32 field, u32 first, u32 count)
{
    const FieldSet *fields = cache->frame != NULL ? cache->frame->fields : NULL;
    if (fields == NULL || field >= fields->count ||
        !field_ops(fields->fields[field].kind)->decimates ||
        first > fields->fields[field].capacity || count > fields->fields[field].capacity - first) {
        return;
    }
    u32 end = first + count;
    u32 chunk = (first + CHUNK_POINTS - 1) / CHUNK_POINTS;
    for (; (chunk + 1) * CHUNK_POINTS <= end; chunk++) {
        cache->chunks[cache->first[field] + chunk].info.decimation = true;
    }
}

void chunk_cache_stats(const ChunkCache *cache, u64 *encoded, u64 *served)
{
    *encoded = cache->encoded;
    *served = cache->served;
}
