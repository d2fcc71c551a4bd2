/* test_point_code.c: points through their codec: any legal state, and the cost of motion. */
#include "protocol/codec/point_code.h"
#include "protocol/codec/point_tables.h"
#include "tests/support/any.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    COUNT = 500,
    SIDE = 32, /* of a sheet */
    MANY = 4000,
    CAPACITY = 1 << 16,
};

typedef struct Codecs {
    PointTables tables;
    PointCodec *coder, *decoder;
    u8 *code;
} Codecs;

static Codecs *codecs_create(void)
{
    Codecs *c = calloc(1, sizeof *c);
    assert_non_null(c);
    assert_true(point_tables_load(&c->tables));
    c->coder = point_codec_create(&c->tables);
    c->decoder = point_codec_create(&c->tables);
    c->code = malloc(CAPACITY);
    assert_true(c->coder != NULL && c->decoder != NULL && c->code != NULL);
    return c;
}

static void codecs_destroy(Codecs *c)
{
    point_codec_destroy(c->coder);
    point_codec_destroy(c->decoder);
    free(c->code);
    free(c);
}

/* The code is copied to a block of its exact size, so that a read beyond it is seen. */
static u32 round_trip(Codecs *c, const PointSpan *span, const QPoint *now)
{
    u32 bytes = point_encode(c->coder, span, now, c->code, CAPACITY);
    assert_in_range(bytes, 1, CAPACITY);
    QPoint *made = malloc((span->count + 1) * sizeof *made);
    u8 *code = malloc(bytes);
    assert_true(made != NULL && code != NULL);
    memcpy(code, c->code, bytes);
    memset(made, 0xFF, (span->count + 1) * sizeof *made);
    point_decode(c->decoder, span, code, bytes, made);
    assert_memory_equal(made, now, span->count * sizeof *now);
    assert_int_equal(made[span->count].generation, 0xFFFF);
    free(made);
    free(code);
    return bytes;
}

static PointSpan span_of(u32 count, u32 known, QPoint (*states)[COUNT])
{
    PointSpan span = {.count = count};
    for (u32 s = 0; s < known; s++) {
        span.state[s] = states[2 - s];
        span.back[s] = 6 * (s + 1);
    }
    return span;
}

/* Near, far, at the limits of the codes, or free. */
static void any_point(Any *any, QPoint *point)
{
    memset(point, 0, sizeof *point);
    if (any_below(any, 8) == 0) {
        return;
    }
    point->generation = (u16)(1 + any_below(any, any_below(any, 4) == 0 ? 65535 : 2));
    point->scalar = (u16)any_below(any, any_below(any, 2) == 0 ? 65536 : 3);
    u32 kind = any_below(any, 6);
    for (u32 axis = 0; axis < 3; axis++) {
        i32 reach = kind < 2 ? POSITION_CODE_MAX : 2000;
        point->position[axis] = (i32)any_below(any, (u32)reach * 2 + 1) - reach;
        if (kind == 0) {
            point->position[axis] = any_below(any, 2) == 0 ? reach : -reach;
        }
    }
}

static void any_state_round_trips(void **unused)
{
    PL_UNUSED(unused);
    Codecs *c = codecs_create();
    static QPoint states[4][COUNT];
    Any any = {7, 0};
    for (u32 round = 0; round < 60; round++) {
        u32 changing = 1 + any_below(&any, 20);
        for (u32 s = 0; s < 4; s++) {
            for (u32 i = 0; i < COUNT; i++) {
                states[s][i] = states[s > 0 ? s - 1 : 0][i];
                if (s == 0 || any_below(&any, changing) == 0) {
                    any_point(&any, &states[s][i]);
                } else if (states[s][i].generation != 0) {
                    states[s][i].position[0] += states[s][i].position[0] < 0 ? 40 : -40;
                }
            }
        }
        static const u32 counts[] = {0, 1, 2, 3, 64, 65, COUNT};
        PointSpan span = span_of(counts[round % PL_COUNT(counts)], round % 4, states);
        for (u32 s = 0; s < round % 4; s++) { /* all ratios of ages */
            span.back[s] = 1 + s * (1 + any_below(&any, 40)) + (round % 5 == 0 ? s << 21 : 0) + s;
            span.back[s] += s > 0 ? span.back[s - 1] : any_below(&any, 600);
        }
        round_trip(c, &span, states[3]);
    }
    codecs_destroy(c);
}

/* All live points jump from one end of the world to the other and back. */
static void the_longest_jumps_round_trip(void **unused)
{
    PL_UNUSED(unused);
    Codecs *c = codecs_create();
    static QPoint states[4][COUNT];
    for (u32 s = 0; s < 4; s++) {
        for (u32 i = 0; i < COUNT; i++) {
            i32 end = (i + s) % 2 == 0 ? POSITION_CODE_MAX : -POSITION_CODE_MAX;
            states[s][i] = (QPoint){{end, -end, end}, (u16)(i * 40503u), 65535};
        }
    }
    for (u32 known = 0; known < 4; known++) {
        PointSpan span = span_of(COUNT, known, states);
        for (u32 s = 0; s < known; s++) {
            span.back[s] = s + 0xFFFFFD;
        }
        round_trip(c, &span, states[3]);
    }
    codecs_destroy(c);
}

static void free_slots_cost_nothing(void **unused)
{
    PL_UNUSED(unused);
    Codecs *c = codecs_create();
    static QPoint states[4][COUNT];
    memset(states, 0, sizeof states);
    for (u32 known = 0; known < 4; known++) {
        PointSpan span = span_of(COUNT, known, states);
        assert_true(round_trip(c, &span, states[3]) <= 8);
    }
    codecs_destroy(c);
}

static void rest_is_nearly_free(void **unused)
{
    PL_UNUSED(unused);
    Codecs *c = codecs_create();
    static QPoint states[4][COUNT];
    Any any = {5, 0};
    for (u32 i = 0; i < COUNT; i++) {
        any_point(&any, &states[0][i]);
    }
    for (u32 s = 1; s < 4; s++) {
        memcpy(states[s], states[0], sizeof states[0]);
    }
    PointSpan span = span_of(COUNT, 3, states);
    u32 bytes = round_trip(c, &span, states[3]);
    printf("%d points at rest: %u bytes\n", COUNT, bytes);
    assert_true(bytes <= 24);
    codecs_destroy(c);
}

/* Points in steady flight: a twentieth of the cost of unpredicted positions. */
static void steady_motion_is_predicted(void **unused)
{
    PL_UNUSED(unused);
    Codecs *c = codecs_create();
    static QPoint states[4][COUNT];
    Any any = {3, 0};
    u32 bytes[2];
    for (u32 kind = 0; kind < 2; kind++) {
        for (u32 i = 0; i < COUNT; i++) {
            i32 at[3], step[3];
            for (u32 axis = 0; axis < 3; axis++) {
                at[axis] = (i32)any_below(&any, 40000);
                step[axis] = (i32)any_below(&any, 200) - 100;
            }
            for (u32 s = 0; s < 4; s++) {
                states[s][i] = (QPoint){.generation = 1};
                for (u32 axis = 0; axis < 3; axis++) {
                    i32 by = kind == 0 ? step[axis] * (i32)s : (i32)any_below(&any, 40000);
                    states[s][i].position[axis] = at[axis] + by;
                }
            }
        }
        PointSpan span = span_of(COUNT, 3, states);
        bytes[kind] = round_trip(c, &span, states[3]);
    }
    /* Unpredicted positions cost 3 × log2(40000) bits each. */
    f64 bound = COUNT * 3 * 15.29 / 8;
    printf("%d points: even motion %u bytes, at random %u (bound %.0f)\n", COUNT, bytes[0],
           bytes[1], bound);
    assert_true(bytes[0] * 20 < bound);
    assert_true(bytes[1] > bound * 0.99 && bytes[1] < bound * 1.15);
    codecs_destroy(c);
}

/* A sheet that bends as a whole: its points are predicted from their neighbours. */
static void a_sheet_predicts_its_points(void **unused)
{
    PL_UNUSED(unused);
    Codecs *c = codecs_create();
    static QPoint states[2][SIDE * SIDE];
    u32 bytes[2];
    Any any = {9, 0};
    for (u32 kind = 0; kind < 2; kind++) {
        for (i32 i = 0; i < SIDE * SIDE; i++) {
            i32 x = i % SIDE, z = i / SIDE;
            states[0][i] = (QPoint){{x * 30, 0, z * 30}, 0, 1};
            states[1][i] = states[0][i];
            i32 rise = kind == 0 ? (x * x + 2 * x * z + 3 * z) / 4 : (i32)any_below(&any, 780);
            states[1][i].position[1] += rise;
        }
        PointSpan span = {.count = SIDE * SIDE, .state = {states[0]}, .back = {6}};
        bytes[kind] = round_trip(c, &span, states[1]);
    }
    /* An unpredicted rise costs log2(780) bits. */
    f64 bound = SIDE * SIDE * 9.6 / 8;
    printf("a sheet: %u bytes, at random %u (bound %.0f)\n", bytes[0], bytes[1], bound);
    assert_true(bytes[0] * 2 < bound);
    assert_true(bytes[1] > bound * 0.99);
    codecs_destroy(c);
}

/* A sheet with a new shape in each state, and slight noise on its points: its history predicts
 * nothing, the positions of neighbours predict all but the noise. */
static void neighbours_positions_count(void **unused)
{
    PL_UNUSED(unused);
    enum {
        SHAKEN = 8, /* codes; 3 bits an axis */
        BEND = 1000,
    };
    Codecs *c = codecs_create();
    static QPoint states[4][SIDE * SIDE];
    Any any = {11, 0};
    for (u32 s = 0; s < 4; s++) {
        i32 along = (i32)any_below(&any, BEND), across = (i32)any_below(&any, BEND);
        for (i32 i = 0; i < SIDE * SIDE; i++) {
            i32 x = i % SIDE - SIDE / 2, z = i / SIDE - SIDE / 2;
            i32 rise = (along - BEND / 2) * x + (across - BEND / 2) * z;
            states[s][i] = (QPoint){{x * 30, rise / 8, z * 30}, 0, 1};
            for (u32 axis = 0; axis < 3; axis++) {
                states[s][i].position[axis] += (i32)any_below(&any, SHAKEN);
            }
        }
    }
    PointSpan span = {
        .count = SIDE * SIDE, .state = {states[2], states[1], states[0]}, .back = {6, 12, 18}};
    u32 bytes = round_trip(c, &span, states[3]);
    /* The mean of noisy neighbours leaves up to twice the noise; hence one bit an axis more than
     * the noise has, and one for the imperfect fit. */
    f64 bound = SIDE * SIDE * 3 * (3 + 2) / 8.0;
    printf("a shaken sheet: %u bytes (bound %.0f)\n", bytes, bound);
    assert_true(bytes < bound);
    codecs_destroy(c);
}

/* Motion of 3/8 of that before, rounded up with the probability that this leaves: where the
 * prediction lies between two codes tells how probable each is. */
static void what_rounding_takes_is_known(void **unused)
{
    PL_UNUSED(unused);
    Codecs *c = codecs_create();
    static QPoint states[3][MANY];
    Any any = {17, 0};
    u32 bytes = 0;
    point_codec_chain(c->coder);
    point_codec_chain(c->decoder);
    for (u32 round = 0; round < 12; round++) { /* of which it learns */
        for (u32 i = 0; i < MANY; i++) {
            for (u32 s = 0; s < 3; s++) {
                states[s][i] = (QPoint){.generation = 1};
            }
            for (u32 axis = 0; axis < 3; axis++) {
                i32 at = (i32)any_below(&any, 1 << 20), by = (i32)any_below(&any, 64) - 32;
                states[0][i].position[axis] = at - by;
                states[1][i].position[axis] = at;
                states[2][i].position[axis] = at + ((3 * by + (i32)any_below(&any, 8)) >> 3);
            }
        }
        PointSpan span = {.count = MANY, .state = {states[1], states[0]}, .back = {1, 2}};
        bytes = round_trip(c, &span, states[2]);
    }
    /* The mean over eighths f of −f log2 f − (1 − f) log2(1 − f). Without f it were 1.06 bits. */
    f64 bound = MANY * 3 * 0.7023 / 8;
    printf("rounded motion: %u bytes (entropy %.0f)\n", bytes, bound);
    assert_true(bytes > 0.97 * bound && bytes < 1.15 * bound);
    codecs_destroy(c);
}

/* Where some points swing to and fro and others speed up, each in its own way, there are weights
 * for both, in a chain too. */
static void calm_and_lively_points_are_both_predicted(void **unused)
{
    PL_UNUSED(unused);
    enum {
        FRAMES = 5
    };
    Codecs *c = codecs_create();
    static QPoint states[FRAMES][MANY];
    static u16 chunks[MANY / POINT_CHUNK + 1];
    Any any = {19, 0};
    for (u32 k = 0; k < PL_COUNT(chunks); k++) {
        chunks[k] = (u16)(3 * k);
    }
    for (u32 i = 0; i < MANY; i++) {
        for (i32 s = 0; s < FRAMES; s++) {
            states[s][i] = (QPoint){.generation = 1};
        }
        for (u32 axis = 0; axis < 3; axis++) {
            bool swings = i >= MANY * 7 / 8;
            i32 at = (i32)any_below(&any, 1 << 12) + (swings ? 1 << 14 : 0);
            i32 by = swings ? (i32)any_below(&any, 41) - 20 : 9, more = (i32)any_below(&any, 5) - 2;
            for (i32 s = 0; s < FRAMES; s++) {
                states[s][i].position[axis] =
                    at + (swings ? (s % 2 == 0 ? by : -by) : by * s + more * s * (s + 1) / 2);
            }
        }
    }
    u32 bytes = 0;
    for (u32 chained = 0; chained < 2; chained++) {
        if (chained != 0) {
            point_codec_chain(c->coder);
            point_codec_chain(c->decoder);
        }
        for (u32 s = 3; s < FRAMES; s++) {
            PointSpan span = {.count = MANY,
                              .state = {states[s - 1], states[s - 2], states[s - 3]},
                              .back = {1, 2, 3}};
            span.chunks = chained != 0 ? chunks : NULL;
            bytes = round_trip(c, &span, states[s]);
            assert_true(bytes < MANY * 3 / 8); /* one set of weights: three times that */
        }
    }
    printf("calm and lively points, known motion: %u bytes for %d\n", bytes, MANY);
    codecs_destroy(c);
}

static void too_little_capacity_is_reported(void **unused)
{
    PL_UNUSED(unused);
    Codecs *c = codecs_create();
    static QPoint states[4][COUNT];
    Any any = {13, 0};
    for (u32 i = 0; i < COUNT; i++) {
        any_point(&any, &states[3][i]);
    }
    PointSpan span = span_of(COUNT, 0, states);
    u32 bytes = round_trip(c, &span, states[3]);
    for (u32 capacity = 0; capacity < bytes; capacity += 1 + capacity / 4) {
        u8 *tight = malloc(capacity + 1);
        assert_non_null(tight);
        tight[capacity] = 0xA5;
        assert_int_equal(point_encode(c->coder, &span, states[3], tight, capacity), 0);
        assert_int_equal(tight[capacity], 0xA5);
        free(tight);
    }
    assert_int_equal(point_encode(c->coder, &span, states[3], c->code, bytes), bytes);
    codecs_destroy(c);
}

static void garbage_decodes_to_points_within_limits(void **unused)
{
    PL_UNUSED(unused);
    Codecs *c = codecs_create();
    static QPoint states[4][COUNT], made[COUNT];
    Any any = {11, 0};
    for (u32 round = 0; round < 60; round++) {
        for (u32 i = 0; i < COUNT; i++) {
            any_point(&any, &states[2 - round % 3][i]);
        }
        u32 bytes = 1 + any_below(&any, 2000);
        for (u32 i = 0; i < bytes; i++) {
            c->code[i] = (u8)any_below(&any, round % 2 == 0 ? 256 : 4);
        }
        PointSpan span = span_of(COUNT, round % 4, states);
        point_decode(c->decoder, &span, c->code, bytes, made);
        for (u32 i = 0; i < COUNT; i++) {
            for (u32 axis = 0; axis < 3; axis++) {
                assert_in_range(made[i].position[axis] + POSITION_CODE_MAX, 0,
                                2 * POSITION_CODE_MAX);
                assert_true(made[i].generation != 0 || made[i].position[axis] == 0);
            }
        }
        round_trip(c, &span, made); /* the decoded state can be encoded again */
    }
    codecs_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_state_round_trips),
        cmocka_unit_test(the_longest_jumps_round_trip),
        cmocka_unit_test(free_slots_cost_nothing),
        cmocka_unit_test(rest_is_nearly_free),
        cmocka_unit_test(steady_motion_is_predicted),
        cmocka_unit_test(a_sheet_predicts_its_points),
        cmocka_unit_test(neighbours_positions_count),
        cmocka_unit_test(what_rounding_takes_is_known),
        cmocka_unit_test(calm_and_lively_points_are_both_predicted),
        cmocka_unit_test(too_little_capacity_is_reported),
        cmocka_unit_test(garbage_decodes_to_points_within_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
