/*
 * test_grid_code.c: codes of grids and scalars: lossless for any field, chunks and states; codes
 * that do not fit are refused; still and uniform worlds cost next to nothing.
 */
#include "protocol/codec/chunk.h"
#include "protocol/codec/grid_code.h"
#include "protocol/codec/grid_tables.h"
#include "protocol/codec/span.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    ELEMENTS = 40000, /* values of the largest field */
    CAPACITY = ELEMENTS * 6,
    PACKET = 1180,
};

/* Codecs that share only the tables, and a world at four times: 0 is now. */
typedef struct World {
    MixTables tables;
    GridCodec *coder, *decoder;
    FieldDesc field;
    u16 chunks[4096];
    GridSpan span;
    u32 whole[4][ELEMENTS], dense[4][ELEMENTS], made[ELEMENTS];
    u8 code[CAPACITY];
} World;

static World *world_create(void)
{
    World *w = calloc(1, sizeof *w);
    assert_non_null(w);
    assert_true(grid_tables_load(&w->tables));
    w->coder = grid_codec_create(&w->tables);
    w->decoder = grid_codec_create(&w->tables);
    assert_true(w->coder != NULL && w->decoder != NULL);
    return w;
}

static void world_destroy(World *w)
{
    grid_codec_destroy(w->coder);
    grid_codec_destroy(w->decoder);
    mix_tables_destroy(&w->tables);
    free(w);
}

static void set_field(World *w, FieldKind kind, u32 channels, u32 x, u32 y, u32 z)
{
    w->field = (FieldDesc){.kind = (u8)kind,
                           .channels = (u8)channels,
                           .capacity = x * y * z,
                           .dims = {(u16)x, (u16)y, (u16)z},
                           .quantum = 1.0f,
                           .spacing = {1.0f, 1.0f, 1.0f}};
    assert_int_equal(field_check(&w->field), 0);
    assert_true(w->field.capacity * channels <= ELEMENTS);
}

static void set_value(World *w, u32 moment, u32 i, u32 value)
{
    if (w->field.kind == FIELD_GRID3) {
        ((u8 *)w->whole[moment])[i] = (u8)value;
    } else if (w->field.kind == FIELD_GRID2) {
        ((u16 *)w->whole[moment])[i] = (u16)value;
    } else {
        w->whole[moment][i] = value;
    }
}

/* Takes the chunks whose bit is set in `keep`, by their number modulo 8. */
static void set_span(World *w, u32 keep, u32 known)
{
    w->span = (GridSpan){.field = &w->field, .chunks = w->chunks};
    for (u32 c = 0; c < chunk_count(&w->field); c++) {
        if ((keep >> c % 8 & 1) != 0) {
            w->chunks[w->span.count++] = (u16)c;
        }
    }
    for (u32 m = 0; m < 4; m++) {
        span_gather(&w->field, w->chunks, w->span.count, w->whole[m], (u8 *)w->dense[m]);
        if (m > 0 && m <= known) {
            w->span.state[m - 1] = w->dense[m];
            w->span.back[m - 1] = 6 * m;
        }
    }
}

static u32 round_trip(World *w)
{
    size_t bytes = grid_span_bytes(&w->span);
    u32 size = grid_encode(w->coder, &w->span, w->dense[0], w->code, CAPACITY);
    assert_true(size > 0);
    memset(w->made, 0xA5, sizeof w->made);
    assert_true(grid_decode(w->decoder, &w->span, w->code, size, w->made));
    assert_memory_equal(w->made, w->dense[0], bytes);
    assert_true(((u8 *)w->made)[bytes] == 0xA5); /* no write beyond the end */
    return size;
}

/* Adversarial worlds: 0 noise, 1 extremes, 2 sparse noise, 3 a slope with jumps, 4 uniform, 5 all
 * zero. */
static void fill(World *w, u32 sort, u64 seed)
{
    u32 n = w->field.capacity * w->field.channels;
    for (u32 m = 0; m < 4; m++) {
        for (u32 i = 0; i < n; i++) {
            u32 any = (u32)random_u64(seed, (u64)m * n + i), value = any;
            switch (sort) {
            case 1:
                value = (any & 1) != 0 ? UINT32_MAX : 0;
                break;
            case 2:
                value = any % 50 == 0 ? any >> 8 : 0;
                break;
            case 3:
                value = i * 37 + m * 20000 + any % 3;
                break;
            case 4:
                value = 1000;
                break;
            case 5:
                value = 0;
                break;
            default:
                break;
            }
            set_value(w, m, i, value);
        }
    }
}

static void any_state_round_trips(void **unused)
{
    PL_UNUSED(unused);
    static const struct {
        FieldKind kind;
        u32 channels, x, y, z;
    } fields[] = {
        {FIELD_GRID2, 1, 50, 37, 1}, {FIELD_GRID2, 2, 33, 17, 1},   {FIELD_GRID2, 1, 1, 1, 1},
        {FIELD_GRID2, 2, 1, 40, 1},  {FIELD_GRID2, 1, 16, 16, 1},   {FIELD_GRID3, 1, 17, 9, 12},
        {FIELD_GRID3, 2, 9, 10, 11}, {FIELD_GRID3, 1, 1, 1, 1},     {FIELD_GRID3, 2, 1, 20, 1},
        {FIELD_GRID3, 1, 8, 8, 8},   {FIELD_SCALARS, 1, 200, 1, 1}, {FIELD_SCALARS, 1, 1, 1, 1},
    };
    World *w = world_create();
    u64 seed = 1;
    for (u32 f = 0; f < PL_COUNT(fields); f++) {
        for (u32 sort = 0; sort < 6; sort++) {
            set_field(w, fields[f].kind, fields[f].channels, fields[f].x, fields[f].y, fields[f].z);
            fill(w, sort, seed++);
            for (u32 known = 0; known <= GRID_STATES; known++) {
                static const u32 keeps[4] = {0xFF, 0x5B, 0x01, 0xA6};
                set_span(w, keeps[(known + sort) % 4], known);
                if (w->span.count > 0) {
                    round_trip(w);
                }
            }
        }
    }
    world_destroy(w);
}

static void empty_spans_are_coded(void **unused)
{
    PL_UNUSED(unused);
    World *w = world_create();
    set_field(w, FIELD_GRID2, 1, 20, 20, 1);
    set_span(w, 0, 0);
    u32 size = grid_encode(w->coder, &w->span, w->dense[0], w->code, CAPACITY);
    assert_true(size > 0 && grid_decode(w->decoder, &w->span, w->code, size, w->made));
    world_destroy(w);
}

static void codes_that_do_not_fit_are_refused(void **unused)
{
    PL_UNUSED(unused);
    World *w = world_create();
    set_field(w, FIELD_GRID2, 1, 96, 96, 1);
    fill(w, 0, 5);
    set_span(w, 0xFF, 3);
    u32 size = round_trip(w);
    assert_true(size >= 96 * 96 * 2); /* 16-bit noise has no shorter code on average */
    memset(w->code, 0x5A, sizeof w->code);
    assert_int_equal(grid_encode(w->coder, &w->span, w->dense[0], w->code, PACKET), 0);
    for (u32 i = PACKET; i < CAPACITY; i++) {
        assert_int_equal(w->code[i], 0x5A);
    }
    assert_int_equal(grid_encode(w->coder, &w->span, w->dense[0], w->code, size - 1), 0);
    assert_int_equal(grid_encode(w->coder, &w->span, w->dense[0], w->code, size), size);
    world_destroy(w);
}

static void rest_is_free(void **unused)
{
    PL_UNUSED(unused);
    World *w = world_create();
    for (u32 deep = 0; deep < 2; deep++) {
        set_field(w, deep != 0 ? FIELD_GRID3 : FIELD_GRID2, 1, deep != 0 ? 32 : 128,
                  deep != 0 ? 32 : 128, deep != 0 ? 32 : 1);
        fill(w, 0, 9);
        for (u32 m = 0; m < 4; m++) {
            memcpy(w->whole[m], w->whole[3], sizeof w->whole[m]);
        }
        set_span(w, 0xFF, 3);
        u32 size = round_trip(w);
        printf("%u chunks that rest: %u bytes\n", w->span.count, size);
        assert_true(size * 8 < w->span.count); /* less than a bit a chunk */
    }
    world_destroy(w);
}

/* A wave of small steepness that runs over the grid: 30 units high, 24 cells long, two cells
 * further in each state. Rounding makes each prediction error uniform, so the cost is that of the
 * rounding, well below the 5.9 bits of entropy of the wave's values. */
static void steady_waves_are_predicted(void **unused)
{
    PL_UNUSED(unused);
    World *w = world_create();
    enum {
        SIDE = 96,
        LONG = 24
    };
    set_field(w, FIELD_GRID2, 1, SIDE, SIDE, 1);
    for (u32 m = 0; m < 4; m++) {
        for (u32 i = 0; i < SIDE * SIDE; i++) {
            /* A parabola for each half: as smooth as a sine. */
            i32 at = (i32)((i % SIDE + i / SIDE + 2 * m) % LONG), half = LONG / 2;
            i32 t = at % half, bow = 4 * 30 * t * (half - t) / (half * half);
            set_value(w, m, i, (u32)(1000 + (at < half ? bow : -bow)));
        }
    }
    set_span(w, 0xFF, 3);
    u32 even = round_trip(w);
    for (u32 m = 1; m < 4; m++) {
        for (u32 i = 0; i < SIDE * SIDE; i++) {
            set_value(w, m, i, 940 + (u32)(random_u64(7, m * SIDE * SIDE + i) % 120));
        }
    }
    set_span(w, 0xFF, 3);
    u32 blind = round_trip(w);
    printf("%u cells: foreseen %u bytes, after noise %u\n", SIDE * SIDE, even, blind);
    assert_true(even * 8 < SIDE * SIDE);
    assert_true(blind > 2 * even);
    world_destroy(w);
}

/* Codes do not depend on what a codec coded before. */
static void codes_are_independent(void **unused)
{
    PL_UNUSED(unused);
    World *w = world_create();
    set_field(w, FIELD_GRID3, 2, 24, 16, 16);
    fill(w, 2, 21);
    set_span(w, 0xFF, 3);
    u32 size = round_trip(w);
    static u8 first[CAPACITY];
    memcpy(first, w->code, size);
    fill(w, 0, 22); /* what the codecs did in between does not matter */
    set_span(w, 0x3C, 1);
    round_trip(w);
    fill(w, 2, 21);
    set_span(w, 0xFF, 3);
    assert_int_equal(round_trip(w), size);
    assert_memory_equal(first, w->code, size);
    world_destroy(w);
}

static void garbage_decodes_to_some_values(void **unused)
{
    PL_UNUSED(unused);
    World *w = world_create();
    for (u32 round = 0; round < 60; round++) {
        static const FieldKind kinds[3] = {FIELD_GRID2, FIELD_GRID3, FIELD_SCALARS};
        FieldKind kind = kinds[round % 3];
        u32 channels = kind == FIELD_SCALARS ? 1 : 1 + round / 3 % 2;
        set_field(w, kind, channels, 19, kind == FIELD_SCALARS ? 1 : 21,
                  kind == FIELD_GRID3 ? 10 : 1);
        fill(w, round % 5, round);
        set_span(w, 0xFF, round % 4);
        u32 bytes = 1 + (u32)(random_u64(round, 1) % 900);
        for (u32 i = 0; i < bytes; i++) {
            w->code[i] = (u8)random_u64(round, 10 + i);
        }
        assert_true(grid_decode(w->decoder, &w->span, w->code, bytes, w->made));
        memcpy(w->dense[0], w->made, grid_span_bytes(&w->span));
        round_trip(w); /* the decoded state can be encoded again */
    }
    world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_state_round_trips),
        cmocka_unit_test(empty_spans_are_coded),
        cmocka_unit_test(codes_that_do_not_fit_are_refused),
        cmocka_unit_test(rest_is_free),
        cmocka_unit_test(steady_waves_are_predicted),
        cmocka_unit_test(codes_are_independent),
        cmocka_unit_test(garbage_decodes_to_some_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
