/*
 * chunk_cache.c: encode once, send to many. Codes of the newest frame live in an arena that the
 * next begin empties; each chunk has a short list of them, by baseline. What changed since the
 * frame begun before is found once here instead of once per client.
 */
#include "protocol/chunk.h"
#include "protocol/quantize.h"

#include <stdlib.h>
#include <string.h>

enum {
    ARENA_BLOCK_BYTES = 128 << 10,
    ARENA_ALIGN = 16,
    STILL_MAX = 15,
};

typedef struct ArenaBlock {
    struct ArenaBlock *next;
    u32 used;
    u32 reserved;
    u8 bytes[ARENA_BLOCK_BYTES];
} ArenaBlock;

typedef struct CacheEntry {
    struct CacheEntry *next;
    u64 baseline; /* tick + 1 of the frame coded against, 0 for a key */
    ChunkCode code;
} CacheEntry;

typedef struct CacheChunk {
    ChunkInfo info;
    /* A former version, seen at the begun ticks of [was, until]: the first to end since `until`
     * left History. So it is the one that reaches back beyond History, if any does. */
    u64 was, until;
    bool has_former;
    u64 stamp; /* `codes` are of this begin */
    CacheEntry *codes;
} CacheChunk;

struct ChunkCache {
    const History *history;
    Frame *frame; /* owned reference */
    u64 stamp;
    u32 first[FIELDS_MAX]; /* of the field's chunks in chunks[] */
    u32 chunk_total;
    CacheChunk *chunks;
    ArenaBlock *blocks, *block; /* all, and the one being filled */
    u64 encoded, served;
};

ChunkCache *chunk_cache_create(void)
{
    return calloc(1, sizeof(ChunkCache));
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
    frame_release(cache->frame);
    free(cache->chunks);
    free(cache);
}

static void *arena_push(ChunkCache *cache, u32 bytes)
{
    bytes = (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
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

static void box_add(Vec3 *low, Vec3 *high, Vec3 p)
{
    *low = vec3_min(*low, p);
    *high = vec3_max(*high, p);
}

static void place_grid(const FieldDesc *field, u32 chunk, Vec3 *low, Vec3 *high)
{
    u32 last = chunk_elements(field, chunk) - 1;
    u32 ends[2] = {chunk_element_index(field, chunk, 0), chunk_element_index(field, chunk, last)};
    for (u32 i = 0; i < 2; i++) {
        u32 x = ends[i] % field->dims[0], rest = ends[i] / field->dims[0];
        u32 y = field->kind == FIELD_GRID3 ? rest % field->dims[1] : 0;
        u32 z = field->kind == FIELD_GRID3 ? rest / field->dims[1] : rest;
        Vec3 cell = vec3((f32)x, (f32)y, (f32)z);
        box_add(low, high, vec3_add(field->origin, vec3_mul(cell, field->spacing)));
    }
}

/* Centre and radius of the live elements of a dense state. */
static void chunk_place(const FieldDesc *field, u32 chunk, const void *state, ChunkInfo *info)
{
    Vec3 low = vec3(INFINITY, INFINITY, INFINITY), high = vec3_neg(low);
    u32 n = chunk_elements(field, chunk);
    if (field->kind == FIELD_GRID2 || field->kind == FIELD_GRID3) {
        place_grid(field, chunk, &low, &high);
    } else if (field->kind == FIELD_POSES) {
        const QPose *poses = state;
        for (u32 i = 0; i < n; i++) {
            if (poses[i].flags & POSE_LIVE) {
                box_add(&low, &high, dequantize_position(field, poses[i].position));
            }
        }
    } else if (field->kind == FIELD_POINTS) {
        const QPoint *points = state;
        for (u32 i = 0; i < n; i++) {
            if (points[i].generation != 0) {
                box_add(&low, &high, dequantize_position(field, points[i].position));
            }
        }
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
    c->has_former = false;
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
    if (!c->has_former || history_get(cache->history, c->until) == NULL) {
        c->has_former = true;
        c->was = c->info.changed;
        c->until = old->tick;
    }
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
    if (chunks == NULL) {
        return false;
    }
    free(cache->chunks);
    cache->chunks = chunks;
    cache->chunk_total = total;
    return true;
}

bool chunk_cache_begin(ChunkCache *cache, const History *history)
{
    Frame *frame = history->newest, *old = cache->frame;
    cache->history = history;
    if (frame == NULL) {
        return false;
    }
    if (frame == old) {
        return true;
    }
    const FieldSet *fields = frame->fields;
    bool same_fields = old != NULL && field_set_equal(old->fields, fields);
    if (!same_fields && !cache_shape(cache, fields)) {
        return false;
    }
    bool onward = same_fields && frame->tick > old->tick;
    cache->stamp++;
    cache->block = cache->blocks;
    if (cache->block != NULL) {
        cache->block->used = 0;
    }
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        u32 count = chunk_count(field);
        /* A field that rests whole is the common case. */
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

const Frame *chunk_cache_frame(const ChunkCache *cache)
{
    return cache->frame;
}

const ChunkInfo *chunk_cache_info(const ChunkCache *cache, u32 field, u32 chunk)
{
    return &cache->chunks[cache->first[field] + chunk].info;
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

bool chunk_cache_same(const ChunkCache *cache, u32 field, u32 chunk, u64 tick_a, u64 tick_b)
{
    const Frame *a = history_get(cache->history, tick_a);
    const Frame *b = history_get(cache->history, tick_b);
    return a != NULL && b != NULL && frames_same(&a->fields->fields[field], chunk, a, b);
}

/* The frame to code against for a client that has the chunk at `tick`: where possible one that all
 * clients with that state share. NULL if nothing in History has that state. */
static const Frame *baseline_frame(const ChunkCache *cache, const FieldDesc *field, u32 chunk,
                                   const CacheChunk *c, u64 tick)
{
    const Frame *exact = history_get(cache->history, tick);
    const Frame *shared = NULL;
    if (tick >= c->info.changed) {
        shared = cache->frame;
    } else if (c->has_former && tick >= c->was && tick <= c->until) {
        shared = history_get(cache->history, c->until);
    }
    if (exact == NULL || shared == NULL) {
        return exact != NULL ? exact : shared;
    }
    /* Between begun ticks it may have moved and come back: only equal bytes are shared. */
    return frames_same(field, chunk, exact, shared) ? shared : exact;
}

static u8 count_still(const ChunkCache *cache, const FieldDesc *field, u32 chunk,
                      const Frame *baseline)
{
    u32 still = 0;
    while (still < STILL_MAX && still < cache->frame->tick) {
        const Frame *frame = history_get(cache->history, cache->frame->tick - 1 - still);
        if (frame == NULL || !frames_same(field, chunk, frame, baseline)) {
            break;
        }
        still++;
    }
    return (u8)still;
}

static CacheEntry *entry_encode(ChunkCache *cache, const FieldDesc *field, u32 chunk,
                                const Frame *baseline)
{
    u8 state[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16)));
    u8 base[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16)));
    u8 code[CHUNK_CODE_BYTES_MAX];
    chunk_gather(field, chunk, frame_field(cache->frame, field->id), state);
    if (baseline != NULL) {
        chunk_gather(field, chunk, frame_field(baseline, field->id), base);
    }
    u32 size = chunk_encode(field, chunk, state, baseline != NULL ? base : NULL, code);
    CacheEntry *entry = arena_push(cache, (u32)sizeof *entry + size);
    if (entry == NULL) {
        return NULL;
    }
    u8 *bytes = (u8 *)(entry + 1);
    memcpy(bytes, code, size);
    entry->baseline = baseline != NULL ? baseline->tick + 1 : 0;
    entry->code = (ChunkCode){
        .bytes = bytes,
        .size = (u16)size,
        .still = baseline != NULL ? count_still(cache, field, chunk, baseline) : 0,
        .hash = chunk_state_hash(field, chunk, state),
        .error = baseline != NULL ? chunk_state_error(field, chunk, base, state) : CHUNK_ERROR_KEY,
    };
    cache->encoded++;
    return entry;
}

const ChunkCode *chunk_cache_get(ChunkCache *cache, u32 field, u32 chunk, u64 baseline_tick)
{
    if (cache->frame == NULL || baseline_tick > cache->frame->tick) {
        return NULL;
    }
    const FieldDesc *desc = &cache->frame->fields->fields[field];
    CacheChunk *c = &cache->chunks[cache->first[field] + chunk];
    const Frame *baseline = NULL;
    if (baseline_tick != 0) {
        baseline = baseline_frame(cache, desc, chunk, c, baseline_tick);
        if (baseline == NULL) {
            return NULL;
        }
    }
    if (c->stamp != cache->stamp) {
        c->stamp = cache->stamp;
        c->codes = NULL;
    }
    u64 key = baseline != NULL ? baseline->tick + 1 : 0;
    CacheEntry *entry = c->codes;
    while (entry != NULL && entry->baseline != key) {
        entry = entry->next;
    }
    if (entry == NULL) {
        entry = entry_encode(cache, desc, chunk, baseline);
        if (entry == NULL) {
            return NULL;
        }
        entry->next = c->codes;
        c->codes = entry;
    }
    cache->served++;
    return &entry->code;
}

void chunk_cache_stats(const ChunkCache *cache, u64 *encoded, u64 *served)
{
    *encoded = cache->encoded;
    *served = cache->served;
}
