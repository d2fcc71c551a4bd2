/* test_validate.c: deliberate damage to a history, a chunk cache or a list of entities is detected,
 * and the right invariant is named. */
#include "protocol/stream/chunk_cache_internal.h"
#include "protocol/stream/entity_list.h"
#include "protocol/stream/snapshot.h"
#include "tests/support/dies.h"
#include "tests/unit/protocol/random_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    ELEMENTS = 200,
    STEP = 3, /* ticks between snapshots */
    TICKS = 3 * HISTORY_FRAMES,
    NEWEST = TICKS - 1,
};

typedef struct Stream {
    FieldSet *fields;
    History history;
    ChunkCache *cache;
    SnapshotSender *sender;
    SnapshotReceiver *receiver;
} Stream;

static void receive(void *context, const u8 *packet, u32 bytes)
{
    Stream *stream = context;
    assert_int_equal(snapshot_receiver_push(stream->receiver, packet, bytes, NULL), 0);
}

static void validate_history(void *history)
{
    history_validate(history);
}

static void validate_cache(void *cache)
{
    chunk_cache_validate(cache);
}

static void snapshot(Stream *stream, u64 now_ms)
{
    SnapshotHeader header = {.send_ms = (u16)now_ms, .speed = 1024};
    SnapshotView view = {.eye = {0, 2, 10}, .forward = {0, 0, -1}, .pixels_per_radian = 800};
    assert_true(chunk_cache_begin(stream->cache, &stream->history));
    snapshot_sender_build(stream->sender, stream->cache, &view, &header,
                          (SnapshotLine){20000, now_ms, 20}, receive, stream);
    snapshot_sender_ack(stream->sender, snapshot_receiver_ack(stream->receiver), NULL);
}

/* A stream that has run for longer than its ring. */
static int begin(void **state)
{
    Stream *stream = calloc(1, sizeof *stream);
    Dice dice = {.seed = 5};
    assert_non_null(stream);
    stream->fields = random_fields(ELEMENTS);
    stream->cache = chunk_cache_create();
    stream->sender = snapshot_sender_create(stream->fields);
    stream->receiver = snapshot_receiver_create(stream->fields);
    history_init(&stream->history);
    history_validate(&stream->history);
    chunk_cache_validate(stream->cache);
    for (u64 tick = 0; tick < TICKS; tick++) {
        Frame *frame = random_next(&dice, stream->fields, stream->history.newest, tick, 0.4);
        history_push(&stream->history, frame);
        frame_release(frame);
        if (tick % STEP == 0 || tick == NEWEST) {
            snapshot(stream, tick * 16);
        }
        history_validate(&stream->history);
        chunk_cache_validate(stream->cache);
    }
    *state = stream;
    return 0;
}

static int end(void **state)
{
    Stream *stream = *state;
    snapshot_receiver_destroy(stream->receiver);
    snapshot_sender_destroy(stream->sender);
    chunk_cache_destroy(stream->cache);
    history_finish(&stream->history);
    field_set_release(stream->fields);
    free(stream);
    return 0;
}

#define HISTORY_FOUND(place, value, says)                                                          \
    ASSERT_DAMAGE_FOUND(validate_history, h, place, value, says)

static void damaged_history_is_found(void **state)
{
    History *h = &((Stream *)*state)->history;
    u32 slot = (NEWEST - 1) % HISTORY_FRAMES;
    assert_lives(validate_history, h);
    assert_true(h->kept_count > 2);
    HISTORY_FOUND(h->ring[NEWEST % HISTORY_FRAMES], NULL, "== newest");
    HISTORY_FOUND(h->ring[NEWEST / STEP * STEP % HISTORY_FRAMES], NULL, "marks"); /* it was sent */
    HISTORY_FOUND(h->ring[slot], h->ring[slot - 1], "frame->tick % HISTORY_FRAMES == i");
    HISTORY_FOUND(h->ring[slot]->tick, NEWEST - 1 + HISTORY_FRAMES, "frame->tick <= newest->tick");
    HISTORY_FOUND(h->ring[slot]->tick, NEWEST - 1 - HISTORY_FRAMES, "< HISTORY_FRAMES (item");
    HISTORY_FOUND(h->ring[slot]->references, 0, "frame->references > 0");
    HISTORY_FOUND(h->newest, h->ring[slot - 2], "frame->tick <= newest->tick");
    HISTORY_FOUND(h->newest, h->kept[h->kept_first], "== newest");
    HISTORY_FOUND(h->kept_count, HISTORY_KEPT + 1, "history->kept_count <= HISTORY_KEPT");
    HISTORY_FOUND(h->kept_count, h->kept_count - 1, "bytes == history->kept_bytes");
    HISTORY_FOUND(h->kept_bytes, h->kept_bytes + 1, "bytes == history->kept_bytes");
    HISTORY_FOUND(h->kept[h->kept_first]->tick, NEWEST - HISTORY_FRAMES,
                  "before->tick < frame->tick");
    FieldSet *other = random_fields(ELEMENTS + 1);
    HISTORY_FOUND(h->kept[h->kept_first]->fields, other, "field_set_equal");
    field_set_release(other);
    assert_lives(validate_history, h);
}

#define CACHE_FOUND(place, value, says) ASSERT_DAMAGE_FOUND(validate_cache, c, place, value, says)

static void damaged_steps_are_found(void **state)
{
    ChunkCache *c = ((Stream *)*state)->cache;
    u32 slot = (u32)(c->step % CHUNK_CACHE_STEPS);
    assert_lives(validate_cache, c);
    CACHE_FOUND(c->steps[slot], NEWEST + 1, "== cache->frame->tick");
    CACHE_FOUND(c->steps[slot - 1], NEWEST, "tick_before(cache, i) < tick_before(cache, i - 1)");
    CACHE_FOUND(c->step, 0, "known > 0");
    CACHE_FOUND(c->first[2], c->first[2] + 1, "cache->first[f] == total (item 2)");
    CACHE_FOUND(c->chunk_total, c->chunk_total + 1, "cache->chunk_total == total");
    CACHE_FOUND(c->cost[1][0][0], NAN, "cost[f][0][shift]");
    CACHE_FOUND(c->history, NULL, "cache->history != NULL");
}

static void damaged_chunks_are_found(void **state)
{
    ChunkCache *c = ((Stream *)*state)->cache;
    CacheChunk *chunk = &c->chunks[1];
    CACHE_FOUND(chunk->info.changed, NEWEST + 1, "chunk->info.changed == newest (item 1)");
    CACHE_FOUND(chunk->older, NEWEST + 1, "chunk->older <= newest");
    CACHE_FOUND(chunk->changes[WORDS - 1], 1ull << 63, "last < known_steps(cache)");
    CACHE_FOUND(chunk->info.travelled, NAN, "chunk->info.travelled >= 0.0");
    CACHE_FOUND(chunk->info.radius, NAN, "radius");
    CACHE_FOUND(chunk->stamp, c->stamp + 1, "chunk->stamp <= cache->stamp");
}

static void damaged_codes_are_found(void **state)
{
    ChunkCache *c = ((Stream *)*state)->cache;
    CacheEntry *entry = NULL;
    for (u32 i = 0; i < c->chunk_total && entry == NULL; i++) {
        bool coded = c->chunks[i].stamp == c->stamp && c->chunks[i].codes != NULL;
        entry = coded ? c->chunks[i].codes : NULL;
    }
    assert_non_null(entry);
    u8 elsewhere[4] = {0};
    CACHE_FOUND(entry->code.count, 0, "code->count >= 1");
    CACHE_FOUND(entry->code.size, entry->capacity + 1, "code->size <= entry->capacity");
    CACHE_FOUND(entry->code.bytes, elsewhere, "in_arena(cache, code->bytes, code->size)");
    CACHE_FOUND(entry->code.any_rest, !entry->code.any_rest, "any_rest == code->any_rest");
    CACHE_FOUND(*(u16 *)(uintptr_t)entry->chunks, 999, "entry->chunks[0] == chunk");
    CACHE_FOUND(entry->base.ticks[0], NEWEST, "entry->base.ticks[i] < cache->frame->tick");
    assert_lives(validate_cache, c);
}

/* ---- entities ---- */

static FieldSet *entity_fields;

static void validate_entities(void *list)
{
    entity_list_validate(list, entity_fields);
}

#define LIST_FOUND(place, value, says)                                                             \
    ASSERT_DAMAGE_FOUND(validate_entities, &list, place, value, says)

static void damaged_entities_are_found(void **unused)
{
    PL_UNUSED(unused);
    EntityList list = {0};
    entity_fields = random_fields(ELEMENTS);
    assert_lives(validate_entities, &list);
    for (u32 id = 1; id <= 20; id++) {
        Entity entity = {.id = 3 * id, .first = id, .count = 1, .name = "thing"};
        assert_int_equal(entity_list_put(&list, entity_fields, &entity), 0);
    }
    entity_list_remove(&list, 9);
    assert_lives(validate_entities, &list);
    Entity *item = &list.items[4];
    LIST_FOUND(item->id, list.items[3].id, "list->items[i - 1].id < entity->id (item 4)");
    LIST_FOUND(list.items[0].id, 0, "entity_fits(list, fields, entity, &appearance) (item 0)");
    LIST_FOUND(item->field, 17, "entity_fits");
    LIST_FOUND(item->first, ELEMENTS, "entity_fits");
    LIST_FOUND(item->count, ELEMENTS, "entity_fits");
    LIST_FOUND(list.count, list.capacity + 1, "list->count <= list->capacity");
    char name[NAME_BYTES_MAX];
    memcpy(name, item->name, sizeof name);
    memset(item->name, 'x', sizeof item->name);
    assert_dies(validate_entities, &list, "memchr(entity->name");
    memcpy(item->name, name, sizeof name);
    assert_lives(validate_entities, &list);
    entity_list_finish(&list);
    field_set_release(entity_fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_history_is_found),   cmocka_unit_test(damaged_steps_are_found),
        cmocka_unit_test(damaged_chunks_are_found),   cmocka_unit_test(damaged_codes_are_found),
        cmocka_unit_test(damaged_entities_are_found),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
