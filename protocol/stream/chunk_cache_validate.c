/* chunk_cache_validate.c: checks the invariants of chunk_cache_internal.h. */
#include "protocol/stream/chunk_cache_internal.h"
#include "shared/base/check.h"

static u32 known_steps(const ChunkCache *cache)
{
    return (u32)u64_min(cache->step, CHUNK_CACHE_STEPS);
}

static u64 tick_before(const ChunkCache *cache, u64 steps)
{
    return cache->steps[(cache->step - steps) % CHUNK_CACHE_STEPS];
}

/* Begun ticks ascend up to that of the frame. */
static void validate_steps(const ChunkCache *cache)
{
    u32 known = known_steps(cache);
    CHECK(known > 0 && tick_before(cache, 0) == cache->frame->tick);
    for (u32 i = 1; i < known; i++) {
        CHECK_ITEM(i, tick_before(cache, i) < tick_before(cache, i - 1));
    }
}

/* Each field's chunks follow those of the previous field. */
static void validate_shape(const ChunkCache *cache)
{
    const FieldSet *fields = cache->frame->fields;
    u32 total = 0;
    for (u32 f = 0; f < fields->count; f++) {
        CHECK_ITEM(f, cache->first[f] == total);
        total += chunk_count(&fields->fields[f]);
        for (u32 shift = 0; shift <= DETAIL_SHIFT_MAX; shift++) {
            CHECK_ITEM(f, cache->cost[f][0][shift] > 0.0f && cache->cost[f][0][shift] < INFINITY);
            CHECK_ITEM(f, cache->cost[f][1][shift] > 0.0f && cache->cost[f][1][shift] < INFINITY);
        }
    }
    CHECK(cache->chunks != NULL && cache->chunk_total == total);
}

/* Its changes belong to existing steps, and the newest one equals `changed`. */
static void validate_changes(const ChunkCache *cache, u32 index)
{
    const CacheChunk *chunk = &cache->chunks[index];
    u64 newest = chunk->older;
    for (u32 w = WORDS; w-- > 0;) {
        if (chunk->changes[w] != 0) {
            u32 last = w * 64 + 63 - (u32)__builtin_clzll(chunk->changes[w]);
            CHECK_ITEM(index, last < known_steps(cache));
            newest = tick_before(cache, w * 64 + (u32)__builtin_ctzll(chunk->changes[w]));
        }
    }
    CHECK_ITEM(index, chunk->older <= newest && chunk->info.changed == newest);
    CHECK_ITEM(index, chunk->info.changed <= cache->frame->tick);
    CHECK_ITEM(index, chunk->info.travelled >= 0.0);
    CHECK_ITEM(index, chunk->info.radius == -1.0f || chunk->info.radius >= 0.0f);
}

static bool in_arena(const ChunkCache *cache, const void *at, u32 bytes)
{
    const u8 *first = at;
    for (const ArenaBlock *block = cache->blocks; block != NULL; block = block->next) {
        if (first >= block->bytes && first + bytes <= block->bytes + block->used) {
            return true;
        }
        if (block == cache->block) {
            break; /* the rest belongs to earlier ticks */
        }
    }
    return false;
}

static void validate_code(const ChunkCache *cache, const FieldDesc *field, u32 chunk,
                          const CacheEntry *entry)
{
    const SpanCode *code = &entry->code;
    bool any_rest = false;
    CHECK_ITEM(chunk, in_arena(cache, entry, sizeof *entry));
    CHECK_ITEM(chunk, code->count >= 1 && code->count <= SPAN_CHUNKS_MAX);
    CHECK_ITEM(chunk, code->size > 0 && code->size <= entry->capacity);
    CHECK_ITEM(chunk, in_arena(cache, code->bytes, code->size));
    CHECK_ITEM(chunk, entry->chunks[0] == chunk);
    for (u32 i = 0; i < code->count; i++) {
        CHECK_ITEM(chunk, entry->chunks[i] < chunk_count(field));
        CHECK_ITEM(chunk, i == 0 || entry->chunks[i - 1] < entry->chunks[i]);
        CHECK_ITEM(chunk, code->rest[i] <= CHUNK_REST_MAX);
        any_rest = any_rest || code->rest[i] != 0;
    }
    CHECK_ITEM(chunk, any_rest == code->any_rest);
    for (u32 i = 0; i < SPAN_STATES; i++) {
        CHECK_ITEM(chunk, entry->base.ticks[i] == 0 || entry->base.ticks[i] < cache->frame->tick);
    }
}

static void validate_codes(const ChunkCache *cache)
{
    const FieldSet *fields = cache->frame->fields;
    for (u32 f = 0; f < fields->count; f++) {
        u32 count = chunk_count(&fields->fields[f]);
        for (u32 c = 0; c < count; c++) {
            const CacheChunk *chunk = &cache->chunks[cache->first[f] + c];
            CHECK_ITEM(c, chunk->stamp <= cache->stamp);
            const CacheEntry *entry = chunk->stamp == cache->stamp ? chunk->codes : NULL;
            for (; entry != NULL; entry = entry->next) {
                validate_code(cache, &fields->fields[f], c, entry);
            }
        }
    }
}

void chunk_cache_validate(const ChunkCache *cache)
{
    CHECK(cache->coder != NULL);
    if (cache->frame == NULL) {
        return;
    }
    CHECK(cache->frame->references > 0 && cache->history != NULL);
    validate_steps(cache);
    validate_shape(cache);
    for (u32 i = 0; i < cache->chunk_total; i++) {
        validate_changes(cache, i);
    }
    validate_codes(cache);
}
