/*
 * test_span.c: spans of chunks of every kind decode to what was encoded, whatever older states are
 * given; one chunk always fits; the cache encodes each request once for all clients.
 */
#include "protocol/stream/chunk_cache.h"
#include "tests/unit/protocol/random_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    STATE_BYTES = SPAN_CHUNKS_MAX * CHUNK_STATE_BYTES_MAX,
    CODE_CAPACITY = STATE_PAYLOAD_BYTES_MAX
};

typedef struct Bench {
    SpanCoder *coder, *decoder;
    u8 *now, *made, *older[SPAN_STATES];
    u8 code[STATE_BYTES];
} Bench;

static Bench *bench_create(void)
{
    Bench *bench = calloc(1, sizeof *bench);
    bench->coder = span_coder_create();
    bench->decoder = span_coder_create();
    bench->now = malloc(STATE_BYTES);
    bench->made = malloc(STATE_BYTES);
    for (u32 s = 0; s < SPAN_STATES; s++) {
        bench->older[s] = malloc(STATE_BYTES);
    }
    return bench;
}

static void bench_destroy(Bench *bench)
{
    span_coder_destroy(bench->coder);
    span_coder_destroy(bench->decoder);
    free(bench->now);
    free(bench->made);
    for (u32 s = 0; s < SPAN_STATES; s++) {
        free(bench->older[s]);
    }
    free(bench);
}

/* Encodes the span from the newest frames, decodes it, compares. Returns the bytes. */
static u32 round_trip(Bench *bench, const Span *of, Frame *const *newest, u32 states, u32 capacity,
                      bool *fallback)
{
    Span span = *of;
    const FieldDesc *field = span.field;
    const u16 *chunks = span.chunks;
    u32 count = span.count;
    span_gather(field, chunks, count, frame_field(*newest, field->id), bench->now);
    for (u32 s = 0; s < states; s++) {
        span_gather(field, chunks, count, frame_field(*(newest - 2 * (s + 1)), field->id),
                    bench->older[s]);
        span.state[s] = bench->older[s];
        span.back[s] = 2 * (s + 1);
    }
    u32 bytes = span_encode(bench->coder, &span, bench->now, bench->code, capacity, fallback);
    if (bytes == 0) {
        return 0;
    }
    assert_true(bytes <= capacity);
    u8 *exact = malloc(bytes);
    memcpy(exact, bench->code, bytes);
    assert_int_equal(span_decode(bench->decoder, &span, *fallback, exact, bytes, bench->made), 0);
    free(exact);
    assert_memory_equal(bench->made, bench->now, span_state_bytes(field, chunks, count));
    return bytes;
}

static void test_round_trips(void **context)
{
    PL_UNUSED(context);
    enum {
        TICKS = 10
    };
    Bench *bench = bench_create();
    for (u32 world = 0; world < 12; world++) {
        Dice dice = {40 + world, 0};
        FieldSet *fields = random_fields(20 + dice_below(&dice, 500));
        Frame *frames[TICKS];
        for (u32 i = 0; i < TICKS; i++) {
            f64 activity = dice_range(&dice, 0.0f, 1.0f);
            frames[i] = random_next(&dice, fields, i > 0 ? frames[i - 1] : NULL, i + 1, activity);
        }
        for (u32 round = 0; round < 40; round++) {
            const FieldDesc *field = &fields->fields[round % fields->count];
            u16 chunks[SPAN_CHUNKS_MAX];
            u32 count = 0, most = span_chunks_max(field);
            f64 share = dice_range(&dice, 0.1f, 1.0f);
            for (u32 c = 0; c < chunk_count(field) && count < most; c++) {
                if (dice_chance(&dice, share)) {
                    chunks[count++] = (u16)c;
                }
            }
            bool fallback;
            if (count > 0) {
                u32 states = dice_below(&dice, SPAN_STATES + 1);
                assert_true(round_trip(bench,
                                       &(Span){.field = field, .count = count, .chunks = chunks},
                                       frames + TICKS - 1, states, STATE_BYTES, &fallback) > 0);
            }
        }
        for (u32 i = 0; i < TICKS; i++) {
            frame_release(frames[i]);
        }
        field_set_release(fields);
    }
    bench_destroy(bench);
}

/* Pure noise: one chunk still fits, more do not. */
static void test_noise_fits_chunk_by_chunk(void **context)
{
    PL_UNUSED(context);
    Bench *bench = bench_create();
    FieldDesc desc = {.kind = FIELD_POSES, .capacity = 128, .quantum = 1.0f / 512.0f};
    FieldSet *fields = field_set_create(&desc, 1);
    assert_non_null(fields);
    Dice dice = {3, 0};
    Frame *frames[3];
    for (u32 i = 0; i < 3; i++) {
        frames[i] = frame_create(fields, i + 1, 0);
        for (u32 k = 0; k < 128; k++) {
            QPose *pose = &frame_poses(frames[i], 0)[k];
            for (u32 axis = 0; axis < 3; axis++) {
                pose->position[axis] =
                    (i32)(dice_u64(&dice) % (2 * POSITION_CODE_MAX)) - POSITION_CODE_MAX;
            }
            pose->rotation = (u32)dice_u64(&dice);
            pose->flags = (u16)(dice_u64(&dice) & POSE_FLAGS_MASK) | POSE_LIVE;
            pose->generation = (u16)dice_u64(&dice);
        }
    }
    const u16 chunks[2] = {0, 1};
    bool fallback;
    for (u32 states = 0; states < 2; states++) {
        assert_true(round_trip(bench,
                               &(Span){.field = fields->fields, .count = 1, .chunks = chunks},
                               frames + 2, states, CHUNK_CODE_BYTES_MAX, &fallback) > 0);
        assert_int_equal(round_trip(bench,
                                    &(Span){.field = fields->fields, .count = 2, .chunks = chunks},
                                    frames + 2, states, CHUNK_CODE_BYTES_MAX, &fallback),
                         0);
    }
    for (u32 i = 0; i < 3; i++) {
        frame_release(frames[i]);
    }
    field_set_release(fields);
    bench_destroy(bench);
}

/* ---- the cache ---- */

typedef struct Stream {
    FieldSet *fields;
    History history;
    ChunkCache *cache;
    Frame *newest; /* borrowed from History */
    u64 tick;
} Stream;

static void stream_init(Stream *stream, u32 size)
{
    memset(stream, 0, sizeof *stream);
    stream->fields = random_fields(size);
    history_init(&stream->history);
    stream->cache = chunk_cache_create();
}

static void stream_finish(Stream *stream)
{
    history_finish(&stream->history);
    chunk_cache_destroy(stream->cache);
    field_set_release(stream->fields);
}

/* The next frame: the same as the last, or with field 0 changed. */
static void stream_tick(Stream *stream, Dice *dice, bool move, bool begin)
{
    Frame *next = frame_create(stream->fields, ++stream->tick, 0);
    if (stream->newest != NULL) {
        memcpy(next->data, stream->newest->data, stream->fields->frame_bytes);
    }
    if (move) {
        move_field(dice, next, 0, 1.0);
    }
    history_push(&stream->history, next);
    stream->newest = next;
    frame_release(next);
    if (begin) {
        assert_true(chunk_cache_begin(stream->cache, &stream->history));
    }
}

static void test_cache_encodes_once(void **context)
{
    PL_UNUSED(context);
    enum {
        CAPACITY = CHUNK_CODE_BYTES_MAX
    };
    Dice dice = {6, 0};
    Stream stream;
    stream_init(&stream, 700);
    for (u32 i = 0; i < 10; i++) {
        stream_tick(&stream, &dice, true, true);
    }
    u64 encoded, served;
    const SpanBase ticks = {{8, 6, 4}, {0}, 0, {0}}, key = {{0}, {0}, 0, {0}};
    u16 chunks[11];
    for (u32 i = 0; i < PL_COUNT(chunks); i++) {
        chunks[i] = (u16)i;
    }
    assert_true(chunk_count(&stream.fields->fields[0]) >= PL_COUNT(chunks));
    const SpanCode *code = chunk_cache_span(stream.cache, 0, chunks, 3, &ticks, CAPACITY);
    assert_non_null(code);
    assert_in_range(code->count, 1, 3);
    for (u32 client = 1; client < 64; client++) {
        assert_ptr_equal(chunk_cache_span(stream.cache, 0, chunks, 3, &ticks, CAPACITY), code);
    }
    chunk_cache_stats(stream.cache, &encoded, &served);
    assert_int_equal(encoded, code->count);
    assert_int_equal(served, 64 * code->count);
    /* Other states or other chunks give other codes. */
    assert_ptr_not_equal(chunk_cache_span(stream.cache, 0, chunks, 3, &key, CAPACITY), code);
    assert_ptr_not_equal(chunk_cache_span(stream.cache, 0, chunks + 1, 2, &ticks, CAPACITY), code);
    /* A code that more chunks did not fit into also serves requests for yet more. */
    const SpanCode *full = chunk_cache_span(stream.cache, 0, chunks, 11, &key, CAPACITY);
    assert_true(full != NULL && full->count < 10);
    assert_ptr_equal(chunk_cache_span(stream.cache, 0, chunks, 10, &key, CAPACITY), full);
    /* States that left History, or are still to come, are no baselines. */
    const SpanBase future = {.ticks = {77}}, now = {.ticks = {10}};
    assert_null(chunk_cache_span(stream.cache, 0, chunks, 3, &future, CAPACITY));
    assert_null(chunk_cache_span(stream.cache, 0, chunks, 3, &now, CAPACITY));
    /* The same frame again keeps its codes. */
    assert_true(chunk_cache_begin(stream.cache, &stream.history));
    assert_ptr_equal(chunk_cache_span(stream.cache, 0, chunks, 3, &ticks, CAPACITY), code);
    stream_finish(&stream);
}

/* The ticks at which a chunk had its present state, beyond the reach of History and of the row of
 * changes; frames that were not begun do not matter. */
static void test_cache_knows_rest(void **context)
{
    PL_UNUSED(context);
    Dice dice = {7, 0};
    Stream stream;
    stream_init(&stream, 64);
    bool moved[5 * CHUNK_CACHE_STEPS] = {false}, begun[5 * CHUNK_CACHE_STEPS] = {false};
    const u32 ticks = 4 * CHUNK_CACHE_STEPS;
    for (u32 t = 1; t <= ticks; t++) {
        bool rests = t / 100 % 2 == 1 || t % 150 > 140;
        moved[t] = !rests && dice_chance(&dice, 0.3);
        begun[t] = t == 1 || dice_chance(&dice, 0.7) || moved[t];
        stream_tick(&stream, &dice, moved[t], begun[t]);
        if (!begun[t]) {
            continue;
        }
        for (u32 k = 0; k < 8; k++) {
            u32 to = t - dice_below(&dice, u32_min(t, 200));
            u32 from = to - dice_below(&dice, to);
            if (!begun[from] || !begun[to]) {
                continue;
            }
            bool same = true;
            for (u32 i = from + 1; i <= to; i++) {
                same = same && !moved[i];
            }
            bool told = chunk_cache_constant(stream.cache, 0, 0, from, to);
            assert_true(same || !told);
            /* Only the distant past may be forgotten. */
            assert_true(told || !same || t - from > CHUNK_CACHE_STEPS);
        }
    }
    /* It has rested since before the detailed record begins. */
    for (u32 i = 0; i < 3 * CHUNK_CACHE_STEPS; i++) {
        stream_tick(&stream, &dice, false, true);
    }
    u64 since = ticks;
    while (!begun[since]) {
        since--;
    }
    assert_true(chunk_cache_constant(stream.cache, 0, 0, since, stream.tick - 3));
    stream_finish(&stream);
}

/* A chunk rested since a baseline and then changed: how many ticks ago. */
static void test_cache_knows_when_it_changed(void **context)
{
    PL_UNUSED(context);
    Dice dice = {8, 0};
    Stream stream;
    stream_init(&stream, 64);
    for (u32 i = 1; i <= 12; i++) {
        stream_tick(&stream, &dice, i <= 4 || i >= 10, true);
    }
    const u16 chunk = 0;
    for (u64 base = 1; base <= 11; base++) {
        const SpanBase ticks = {.ticks = {base}};
        const SpanCode *code =
            chunk_cache_span(stream.cache, 0, &chunk, 1, &ticks, CHUNK_CODE_BYTES_MAX);
        assert_non_null(code);
        assert_int_equal(code->rest[0], base >= 4 && base < 9 ? 3 : 0);
        assert_int_equal(code->any_rest, code->rest[0] != 0);
    }
    stream_finish(&stream);
}

/* The bytes of all fields of these frames, each against the ones before. A chain begins with the
 * first, and again at what a span does not fit into. */
static u32 code_all(Bench *bench, FieldSet *fields, Frame *const *frames, u32 count, u32 *anew)
{
    u32 bytes = 0;
    for (u32 i = 0; i < count; i++) {
        u32 states = u32_min(i / 2, SPAN_STATES);
        for (u32 f = 0; f < fields->count; f++) {
            const FieldDesc *field = &fields->fields[f];
            u16 chunks[SPAN_CHUNKS_MAX];
            u32 most = u32_min(span_chunks_max(field), chunk_count(field));
            for (u32 c = 0; c < most; c++) {
                chunks[c] = (u16)c;
            }
            bool fallback;
            Span span = {.field = field, .count = most, .chunks = chunks};
            u32 size = round_trip(bench, &span, frames + i, states, STATE_BYTES, &fallback);
            if (fallback && anew != NULL) {
                span_coder_chain(bench->coder);
                span_coder_chain(bench->decoder);
                (*anew)++;
            }
            bytes += size;
        }
    }
    return bytes;
}

/* All kinds, in chains that begin and begin again: decoded bit for bit, and smaller than codes that
 * start from the tables. */
static void test_chains(void **context)
{
    PL_UNUSED(context);
    enum {
        TICKS = 24,
        WORLDS = 10
    };
    u32 alone = 0, chained = 0, anew = 0;
    Bench *bench = bench_create();
    for (u32 world = 0; world < 2 * WORLDS; world++) {
        Dice dice = {90 + world / 2, 0};
        FieldSet *fields = random_fields(20 + dice_below(&dice, 400));
        Frame *frames[TICKS];
        for (u32 i = 0; i < TICKS; i++) {
            frames[i] = random_next(&dice, fields, i > 0 ? frames[i - 1] : NULL, i + 1, 0.7);
        }
        if (world % 2 == 0) { /* by a fresh coder: a chain does not end */
            Bench *fresh = bench_create();
            alone += code_all(fresh, fields, frames, TICKS, NULL);
            bench_destroy(fresh);
        } else {
            span_coder_chain(bench->coder);
            span_coder_chain(bench->decoder);
            chained += code_all(bench, fields, frames, TICKS, &anew);
        }
        for (u32 i = 0; i < TICKS; i++) {
            frame_release(frames[i]);
        }
        field_set_release(fields);
    }
    bench_destroy(bench);
    print_message("%u bytes alone, %u in chains, begun anew %u times\n", alone, chained, anew);
    assert_true(chained < alone * 0.95);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),      cmocka_unit_test(test_noise_fits_chunk_by_chunk),
        cmocka_unit_test(test_chains),           cmocka_unit_test(test_cache_encodes_once),
        cmocka_unit_test(test_cache_knows_rest), cmocka_unit_test(test_cache_knows_when_it_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
