/* test_pose_code.c: the range coder against Shannon's bound, and poses through the pose codec. */
#include "protocol/codec/mix_row.h"
#include "protocol/codec/pose_code.h"
#include "protocol/codec/pose_tables.h"
#include "protocol/codec/rotation.h"
#include "tests/support/any.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    BITS = 20000,
    COUNT = 300,
    CAPACITY = POSE_SPAN_MAX * 32
};

static void codes_are_as_short_as_their_entropy(void **unused)
{
    PL_UNUSED(unused);
    /* Probabilities p of a one, and the entropy −p log2 p − (1 − p) log2(1 − p) of each. */
    static const f64 table[][2] = {{0.5, 1.0}, {0.25, 0.811278}, {0.0625, 0.337290}};
    u8 out[BITS / 8 + 16];
    for (u32 k = 0; k < PL_COUNT(table); k++) {
        RangeCoder coder;
        u32 p = (u32)(table[k][0] * 65536.0), period = (u32)(1.0 / table[k][0] + 0.5);
        range_encode_begin(&coder, out, sizeof out);
        for (u32 i = 0; i < BITS; i++) {
            range_bit(&coder, i % period == 0, p);
        }
        u32 bytes = range_encode_end(&coder);
        f64 bound = table[k][1] * BITS / 8.0;
        printf("share %.4f: %u bytes, bound %.1f\n", table[k][0], bytes, bound);
        assert_true(bytes > 0 && bytes >= (u32)bound && bytes < (u32)(bound * 1.001) + 4);
        range_decode_begin(&coder, out, bytes);
        for (u32 i = 0; i < BITS; i++) {
            assert_int_equal(range_bit(&coder, 0, p), i % period == 0);
        }
    }
}

static void too_little_capacity_is_reported(void **unused)
{
    PL_UNUSED(unused);
    u8 out[16];
    RangeCoder coder;
    range_encode_begin(&coder, out, sizeof out);
    for (u32 i = 0; i < 32; i++) {
        range_bits(&coder, 0x12345678u * i + 1, 32);
    }
    assert_int_equal(range_encode_end(&coder), 0);
}

/* A row of values within the ranges of the slots, often at their limits. */
static void any_row(Any *any, MixSlot row[2 * MIX_ROW])
{
    static const u16 ends[] = {1, 2, 300, 32767, 32768, 65533, 65534};
    for (u32 i = 0; i < MIX_ROW; i++) {
        row[i] = any_below(any, 8) == 0 ? ends[any_below(any, PL_COUNT(ends))]
                                        : (u16)(1 + any_below(any, 65534));
        row[MIX_ROW + i] =
            (u16)(MIX_RATE_LAST + any_below(any, MIX_RATE_FIRST - MIX_RATE_LAST + 1));
    }
}

static void any_pairs(Any *any, u32 *pairs, u32 count)
{
    for (u32 i = 0; i < 2 * count; i++) {
        i32 reach = any_below(any, 4) == 0 ? 32767 : 9000;
        u32 w = any_below(any, 2 * (u32)reach + 1) - (u32)reach;
        pairs[i / 2] = i % 2 == 0 ? w & 0xFFFF : pairs[i / 2] | w << 16;
    }
}

#if defined(__SSE2__)
/* Vector and scalar code give the same bits, for all probabilities and at the limits of all
 * ranges. */
static void vectors_mix_as_scalars_do(void **unused)
{
    PL_UNUSED(unused);
    Any any = {13, 0};
    for (u32 round = 0; round < 100000; round++) {
        MixSlot rows[2][MIX_INPUTS][2 * MIX_ROW], *at[2][MIX_INPUTS];
        u32 pairs[2][2], slot = any_below(&any, MIX_ROW);
        for (u32 k = 0; k < MIX_INPUTS; k++) {
            any_row(&any, rows[0][k]);
            memcpy(rows[1][k], rows[0][k], sizeof rows[1][k]);
            at[0][k] = rows[0][k];
            at[1][k] = rows[1][k];
        }
        any_pairs(&any, pairs[0], 2);
        memcpy(pairs[1], pairs[0], sizeof pairs[1]);
        MixScalar fallback;
        MixVector vector;
        i32 dot = mix_guess_scalar(&fallback, at[0], slot, pairs[0]);
        assert_int_equal(dot, mix_guess_vector(&vector, at[1], slot, pairs[1]));
        u32 bit = any_below(&any, 2);
        i32 error = (i32)any_below(&any, 1536) * (bit != 0 ? 1 : -1);
        mix_learn_scalar(&fallback, at[0], slot, pairs[0], bit, error);
        mix_learn_vector(&vector, at[1], slot, pairs[1], bit, error);
        assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
        assert_memory_equal(pairs[0], pairs[1], sizeof pairs[0]);
        for (u32 k = 0; k < MIX_INPUTS; k++) { /* and stay where logarithms are defined */
            assert_in_range(rows[0][k][slot], 1, 65534);
        }
    }
}
#endif

#if defined(MIX_WIDE)
/* All slots at once give the same as each of them alone. */
static void rows_mix_as_bits_do(void **unused)
{
    PL_UNUSED(unused);
    enum {
        SETS = 19
    };
    Any any = {17, 0};
    MixTables tables;
    Mix mix;
    assert_true(mix_tables_create(&tables, 2, SETS) && mix_create(&mix, &tables));
    for (u32 round = 0; round < 20000; round++) {
        MixSlot rows[2][MIX_INPUTS][2 * MIX_ROW], *at[2][MIX_INPUTS];
        u32 before[2 * SETS], set = any_below(&any, SETS - MIX_ROW + 1);
        u32 used = any_below(&any, 65536), bits = used & any_below(&any, 65536);
        for (u32 k = 0; k < MIX_INPUTS; k++) {
            any_row(&any, rows[0][k]);
            memcpy(rows[1][k], rows[0][k], sizeof rows[1][k]);
            at[0][k] = rows[0][k];
            at[1][k] = rows[1][k];
        }
        any_pairs(&any, before, 2 * SETS);
        memcpy(mix.pairs, before, sizeof before);
        MixSixteen all;
        u16 means[MIX_ROW];
        u32 p[MIX_ROW];
        mix_load_rows(&all, at[1]);
        mix_mean_rows(&all, means);
        mix_guess_rows(&mix, &all, set);
        for (u32 half = 0; half < 2; half++) {
            __m256i chances = mix_squash_half(&all, half);
            mix_store(p + 8 * half, chances);
            mix_learn_weights(&mix, &all, half, set, chances, used >> 8 * half & 255,
                              bits >> 8 * half & 255);
        }
        mix_learn_rows(&all, at[1], used, bits);
        for (u32 slot = 0; slot < MIX_ROW; slot++) {
            MixScalar fallback;
            u32 *low = before + set + slot, pairs[2] = {low[0], low[SETS]};
            u32 mean = (2u * at[0][0][slot] + at[0][1][slot] + at[0][2][slot]) / 4;
            i32 dot = mix_guess_scalar(&fallback, at[0], slot, pairs) >> 13;
            dot = dot > MIX_STRETCH_MAX ? MIX_STRETCH_MAX : dot;
            dot = dot < -MIX_STRETCH_MAX ? -MIX_STRETCH_MAX : dot;
            assert_int_equal(means[slot], mean);
            assert_int_equal(p[slot], mix.squash[dot + MIX_STRETCH_MAX + 1]);
            if ((used >> slot & 1) != 0) {
                u32 bit = bits >> slot & 1;
                i32 error = ((i32)(bit << 16) - (i32)p[slot]) * 3 >> 7;
                mix_learn_scalar(&fallback, at[0], slot, pairs, bit, error);
                low[0] = pairs[0];
                low[SETS] = pairs[1];
            }
        }
        assert_memory_equal(rows[0], rows[1], sizeof rows[0]);
        assert_memory_equal(before, mix.pairs, sizeof before);
    }
    mix_destroy(&mix);
    mix_tables_destroy(&tables);
}
#endif

/* The inputs are ln(p / (1 − p)): checked against the C library. */
static void inputs_are_logits(void **unused)
{
    PL_UNUSED(unused);
    f64 worst = 0.0;
    for (u32 p = 1; p < 65535; p++) {
        MixSlot row[2 * MIX_ROW] = {[0] = (u16)p, [MIX_ROW] = 300};
        MixSlot *const at[MIX_INPUTS] = {row, row, row};
        const u32 pairs[2] = {0, 0};
        MixScalar lanes;
        mix_guess_scalar(&lanes, at, 0, pairs);
        f64 logit = log((f64)p / (65535.0 - (f64)p));
        worst = fmax(worst, fabs(lanes.in[0] / 256.0 - logit));
    }
    printf("logits: worst error %.4f\n", worst);
    assert_true(worst < 0.02);
}

/* By the definition: r² ≤ v < (r + 1)². */
static void roots_are_rounded_down(void **unused)
{
    PL_UNUSED(unused);
    for (u64 r = 0; r < 65536; r++) {
        for (u64 v = r * r > 2 ? r * r - 2 : 0; v <= r * r + 2 && v <= UINT32_MAX; v++) {
            u64 root = rotation_root((u32)v);
            assert_true(root * root <= v && v < (root + 1) * (root + 1));
        }
    }
    assert_int_equal(rotation_root(UINT32_MAX), 65535);
}

typedef struct Codecs {
    MixTables tables;
    PoseCodec *coder, *decoder;
    u8 *code;
} Codecs;

/* The codecs hold pointers to the tables. */
static void codecs_create(Codecs *c)
{
    assert_true(pose_tables_load(&c->tables));
    c->coder = pose_codec_create(&c->tables);
    c->decoder = pose_codec_create(&c->tables);
    c->code = malloc(CAPACITY);
    assert_true(c->coder != NULL && c->decoder != NULL && c->code != NULL);
}

static void codecs_destroy(Codecs *c)
{
    pose_codec_destroy(c->coder);
    pose_codec_destroy(c->decoder);
    mix_tables_destroy(&c->tables);
    free(c->code);
}

static u32 round_trip(Codecs *c, const PoseSpan *span, const QPose *now)
{
    static QPose made[POSE_SPAN_MAX];
    u32 bytes = pose_encode(c->coder, span, now, c->code, CAPACITY);
    assert_true(bytes > 0);
    memset(made, 0xFF, sizeof made);
    pose_decode(c->decoder, span, c->code, bytes, made);
    assert_memory_equal(made, now, span->count * sizeof *now);
    return bytes;
}

/* Any legal state, near and far. */
static void any_pose(Any *any, u32 bits, QPose *pose)
{
    memset(pose, 0, sizeof *pose);
    pose->generation = (u16)any_below(any, 65536);
    if (any_below(any, 8) == 0) {
        return; /* a free slot */
    }
    u32 mask = (1u << bits) - 1;
    for (u32 axis = 0; axis < 3; axis++) {
        i32 reach = any_below(any, 4) == 0 ? POSITION_CODE_MAX : 2000;
        pose->position[axis] = (i32)any_below(any, (u32)reach * 2 + 1) - reach;
    }
    pose->rotation = any_below(any, 4) << 30 | (any_below(any, 1024) & mask) << 20 |
                     (any_below(any, 1024) & mask) << 10 | (any_below(any, 1024) & mask);
    pose->flags = (u16)(POSE_LIVE | any_below(any, POSE_FLAGS_MASK + 1));
}

static void any_state_round_trips(void **unused)
{
    PL_UNUSED(unused);
    Codecs c;
    codecs_create(&c);
    static QPose states[4][COUNT];
    Any any = {7, 0};
    for (u32 round = 0; round < 40; round++) {
        u32 known = round % 4, bits = 9 + round / 4 % 2;
        for (u32 s = 0; s < 4; s++) {
            for (u32 i = 0; i < COUNT; i++) {
                states[s][i] = states[s > 0 ? s - 1 : 0][i];
                if (s == 0 || any_below(&any, 3) == 0) {
                    any_pose(&any, bits, &states[s][i]);
                }
            }
        }
        PoseSpan span = {.count = round == 5 ? 0 : COUNT, .rotation_bits = bits};
        for (u32 s = 0; s < known; s++) {
            span.state[s] = states[2 - s];
            span.back[s] = 1 + s * (1 + round % 5) + round;
        }
        round_trip(&c, &span, states[3]);
    }
    codecs_destroy(&c);
}

/* Bodies in steady flight and rotation cost next to nothing: only the noise of their rounding. */
static void steady_motion_is_predicted(void **unused)
{
    PL_UNUSED(unused);
    Codecs c;
    codecs_create(&c);
    static QPose states[4][COUNT];
    Any any = {3, 0};
    u32 bytes[2];
    for (u32 kind = 0; kind < 2; kind++) {
        for (u32 i = 0; i < COUNT; i++) {
            QPose pose = {.flags = POSE_LIVE | POSE_AWAKE, .generation = 1};
            i32 at[3], step[3];
            for (u32 axis = 0; axis < 3; axis++) {
                at[axis] = (i32)any_below(&any, 40000);
                step[axis] = (i32)any_below(&any, 200) - 100;
            }
            pose.rotation = 512u << 20 | 512u << 10 | 512u;
            for (u32 s = 0; s < 4; s++) {
                for (u32 axis = 0; axis < 3; axis++) {
                    i32 off = kind == 0 ? step[axis] * (i32)s : (i32)any_below(&any, 40000);
                    pose.position[axis] = at[axis] + off;
                }
                states[s][i] = pose;
            }
        }
        PoseSpan span = {.count = COUNT, .rotation_bits = 10};
        for (u32 s = 0; s < 3; s++) {
            span.state[s] = states[2 - s];
            span.back[s] = 6 * (s + 1);
        }
        bytes[kind] = round_trip(&c, &span, states[3]);
    }
    /* Unpredicted positions cost 3 × log2(40000) bits each. */
    printf("%d bodies: even motion %u bytes, at random %u (bound %.0f)\n", COUNT, bytes[0],
           bytes[1], COUNT * 3 * 15.29 / 8);
    assert_true(bytes[0] < COUNT);
    assert_true(bytes[1] > COUNT * 3 * 15 / 8);
    codecs_destroy(&c);
}

static void rest_is_free(void **unused)
{
    PL_UNUSED(unused);
    Codecs c;
    codecs_create(&c);
    static QPose states[COUNT];
    Any any = {5, 0};
    for (u32 i = 0; i < COUNT; i++) {
        any_pose(&any, 10, &states[i]);
    }
    PoseSpan span = {.count = COUNT,
                     .rotation_bits = 10,
                     .state = {states, states, states},
                     .back = {6, 12, 18}};
    assert_true(round_trip(&c, &span, states) <= 2);
    codecs_destroy(&c);
}

static void garbage_decodes_to_poses_within_limits(void **unused)
{
    PL_UNUSED(unused);
    Codecs c;
    codecs_create(&c);
    static QPose states[COUNT], made[COUNT];
    Any any = {11, 0};
    for (u32 i = 0; i < COUNT; i++) {
        any_pose(&any, 9, &states[i]);
    }
    for (u32 round = 0; round < 50; round++) {
        u32 bytes = 1 + any_below(&any, 2000);
        for (u32 i = 0; i < bytes; i++) {
            c.code[i] = (u8)any_below(&any, 256);
        }
        PoseSpan span = {.count = COUNT, .rotation_bits = 9, .state = {states}, .back = {3}};
        pose_decode(c.decoder, &span, c.code, bytes, made);
        for (u32 i = 0; i < COUNT; i++) {
            assert_int_equal(made[i].flags & ~POSE_FLAGS_MASK, 0);
            for (u32 axis = 0; axis < 3; axis++) {
                assert_in_range(made[i].position[axis] + POSITION_CODE_MAX, 0,
                                2 * POSITION_CODE_MAX);
            }
        }
        round_trip(&c, &span, made); /* the decoded state can be encoded again */
    }
    codecs_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_as_short_as_their_entropy),
        cmocka_unit_test(too_little_capacity_is_reported),
#if defined(__SSE2__)
        cmocka_unit_test(vectors_mix_as_scalars_do),
#endif
#if defined(MIX_WIDE)
        cmocka_unit_test(rows_mix_as_bits_do),
#endif
        cmocka_unit_test(inputs_are_logits),
        cmocka_unit_test(roots_are_rounded_down),
        cmocka_unit_test(any_state_round_trips),
        cmocka_unit_test(steady_motion_is_predicted),
        cmocka_unit_test(rest_is_free),
        cmocka_unit_test(garbage_decodes_to_poses_within_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
