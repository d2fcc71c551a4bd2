/*
 * test_detail.c: a coarse state is a function of each finer one and lies within half a step of it;
 * whatever is decoded is a state within the field's limits.
 */
#include "protocol/codec/chunk.h"
#include "protocol/field/detail.h"
#include "protocol/field/quantize.h"
#include "tests/unit/protocol/random_world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum {
    COUNT = 64,
    ROUNDS = 40,
};

typedef union State {
    QPose poses[COUNT];
    QPoint points[COUNT];
    u16 cells[2 * COUNT];
    u8 voxels[2 * COUNT];
} State;

static FieldDesc desc_of(FieldKind kind)
{
    FieldDesc desc = field_desc(kind, COUNT);
    desc.channels = kind == FIELD_GRID2 || kind == FIELD_GRID3 ? 2 : 1;
    return desc;
}

static void fill(Dice *dice, FieldKind kind, State *state)
{
    memset(state, 0, sizeof *state);
    for (u32 i = 0; i < COUNT; i++) {
        i32 at[3];
        bool far = dice_chance(dice, 0.1);
        for (u32 k = 0; k < 3; k++) {
            i32 size = far ? POSITION_CODE_MAX : 5000;
            at[k] = (i32)dice_below(dice, 2 * (u32)size + 1) - size;
        }
        if (kind == FIELD_POSES && dice_chance(dice, 0.8)) {
            memcpy(state->poses[i].position, at, sizeof at);
            state->poses[i].rotation = quantize_rotation(dice_rotation(dice));
            state->poses[i].flags = POSE_LIVE | POSE_AWAKE;
            state->poses[i].generation = 3;
        } else if (kind == FIELD_POINTS && dice_chance(dice, 0.8)) {
            memcpy(state->points[i].position, at, sizeof at);
            state->points[i].scalar = (u16)(dice_chance(dice, 0.5) ? dice_u64(dice) : 0);
            state->points[i].generation = 1;
        } else if (kind == FIELD_GRID2) {
            state->cells[2 * i] = (u16)dice_u64(dice);
        } else if (kind == FIELD_GRID3) {
            state->voxels[2 * i] = (u8)dice_u64(dice);
        }
    }
}

static const FieldKind kinds[] = {FIELD_POSES, FIELD_POINTS, FIELD_GRID2, FIELD_GRID3};

static Detail any_detail(Dice *dice)
{
    return detail_make(dice_below(dice, DETAIL_SHIFT_MAX + 1),
                       dice_below(dice, DETAIL_DECIMATION_MAX + 1));
}

/* The client coarsens its own state, the server the fine one: the results are equal. */
static void test_coarse_of_finer_is_coarse(void **context)
{
    PL_UNUSED(context);
    Dice dice = {1, 0};
    for (u32 round = 0; round < ROUNDS; round++) {
        FieldKind kind = kinds[round % PL_COUNT(kinds)];
        FieldDesc desc = desc_of(kind);
        Detail coarse = any_detail(&dice);
        Detail finer = detail_make(dice_below(&dice, detail_shift(coarse) + 1),
                                   dice_below(&dice, detail_decimation(coarse) + 1));
        State fine, had, again;
        fill(&dice, kind, &fine);
        had = fine;
        detail_store(&desc, finer, &had, COUNT);
        detail_reduce(&desc, coarse, &had, COUNT);
        State wanted = fine;
        detail_reduce(&desc, coarse, &wanted, COUNT);
        assert_memory_equal(&had, &wanted, sizeof had);
        /* Storing a restored state, or at full detail, changes nothing. */
        detail_restore(&desc, coarse, &had, COUNT);
        again = had;
        detail_store(&desc, coarse, &again, COUNT);
        assert_memory_equal(&again, &had, sizeof had);
        again = fine;
        detail_store(&desc, DETAIL_FULL, &again, COUNT);
        assert_memory_equal(&again, &fine, sizeof fine);
    }
}

static void expect_near(i64 a, i64 b, u32 shift)
{
    i64 off = a < b ? b - a : a - b, most = shift > 0 ? (i64)1 << (shift - 1) : 0;
    if (off > most) {
        fail_msg("%lld became %lld at shift %u", (long long)a, (long long)b, shift);
    }
}

static void test_within_half_a_step(void **context)
{
    PL_UNUSED(context);
    Dice dice = {2, 0};
    for (u32 shift = 0; shift <= DETAIL_SHIFT_MAX; shift++) {
        Detail detail = detail_make(shift, 0);
        State fine, kept;
        FieldDesc desc = desc_of(FIELD_POSES);
        fill(&dice, FIELD_POSES, &fine);
        kept = fine;
        detail_store(&desc, detail, &kept, COUNT);
        for (u32 i = 0; i < COUNT; i++) {
            const QPose *a = &fine.poses[i], *b = &kept.poses[i];
            for (u32 k = 0; k < 3 && a->flags != 0; k++) {
                expect_near(a->position[k], b->position[k], shift);
                expect_near(a->rotation >> (20 - 10 * k) & 1023,
                            b->rotation >> (20 - 10 * k) & 1023, detail_rotation_shift(detail));
            }
            assert_int_equal(a->rotation >> 30, b->rotation >> 30);
            assert_int_equal(a->flags, b->flags);
            assert_int_equal(a->generation, b->generation);
            assert_true(a->flags != 0 || memcmp(a, b, sizeof *a) == 0);
        }
        desc = desc_of(FIELD_GRID3);
        fill(&dice, FIELD_GRID3, &fine);
        fine.voxels[6] = 0;
        kept = fine;
        detail_store(&desc, detail, &kept, COUNT);
        u32 values = detail_value_shift(&desc, detail);
        for (u32 i = 0; i < 2 * COUNT; i++) {
            /* Zero stays zero; less than a step becomes zero. */
            bool little = fine.voxels[i] >> values == 0;
            assert_true(little ? kept.voxels[i] == 0 : true);
            if (!little) {
                expect_near(fine.voxels[i], kept.voxels[i], values);
            }
        }
    }
}

/* Every second, fourth or eighth point of a chunk, complete; the others are free slots. */
static void test_decimation(void **context)
{
    PL_UNUSED(context);
    Dice dice = {3, 0};
    FieldDesc desc = desc_of(FIELD_POINTS);
    for (u32 decimation = 0; decimation <= DETAIL_DECIMATION_MAX; decimation++) {
        State fine, kept, none;
        memset(&none, 0, sizeof none);
        fill(&dice, FIELD_POINTS, &fine);
        kept = fine;
        detail_store(&desc, detail_make(0, decimation), &kept, COUNT);
        for (u32 i = 0; i < COUNT; i++) {
            const State *wanted = i % (1u << decimation) == 0 ? &fine : &none;
            assert_memory_equal(&kept.points[i], &wanted->points[i], sizeof kept.points[i]);
        }
    }
}

/* For any code. */
static void test_limits(void **context)
{
    PL_UNUSED(context);
    Dice dice = {4, 0};
    for (u32 round = 0; round < ROUNDS; round++) {
        FieldKind kind = kinds[round % 2];
        FieldDesc desc = desc_of(kind);
        State state;
        fill(&dice, kind, &state);
        u32 shift = dice_below(&dice, DETAIL_SHIFT_MAX + 1);
        for (u32 i = 0; i < COUNT; i++) {
            i32 *at = kind == FIELD_POSES ? state.poses[i].position : state.points[i].position;
            at[0] = i % 2 == 0 ? POSITION_CODE_MAX : -POSITION_CODE_MAX;
        }
        detail_restore(&desc, detail_make(shift, 0), &state, COUNT);
        for (u32 i = 0; i < COUNT; i++) {
            const i32 *at =
                kind == FIELD_POSES ? state.poses[i].position : state.points[i].position;
            assert_true(at[0] >= -POSITION_CODE_MAX && at[0] <= POSITION_CODE_MAX);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coarse_of_finer_is_coarse),
        cmocka_unit_test(test_within_half_a_step),
        cmocka_unit_test(test_decimation),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
