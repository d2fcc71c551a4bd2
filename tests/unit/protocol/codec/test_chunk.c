/* test_chunk.c: every state decodes to what was encoded, in at most CHUNK_CODE_BYTES_MAX bytes;
 * hostile codes stay in bounds; the cache encodes once. */
#include "protocol/codec/chunk.h"
#include "tests/unit/protocol/random_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const u8 kinds[][2] = {{FIELD_POSES, 1},  {FIELD_POINTS, 1}, {FIELD_GRID2, 1},
                              {FIELD_GRID2, 2},  {FIELD_GRID3, 1},  {FIELD_GRID3, 2},
                              {FIELD_SCALARS, 1}};

static FieldDesc desc_of(u32 k)
{
    switch (kinds[k][0]) {
    case FIELD_GRID2:
        return field_desc_grid(FIELD_GRID2, 40, 35, 0, kinds[k][1]);
    case FIELD_GRID3:
        return field_desc_grid(FIELD_GRID3, 20, 17, 9, kinds[k][1]);
    default:
        return field_desc(kinds[k][0], 200);
    }
}

static void test_chunks_cover_each_element_once(void **context)
{
    PL_UNUSED(context);
    for (u32 k = 0; k < PL_COUNT(kinds); k++) {
        FieldDesc field = desc_of(k);
        u8 *seen = calloc(1, field.capacity);
        for (u32 c = 0; c < chunk_count(&field); c++) {
            assert_true(chunk_state_bytes(&field, c) <= CHUNK_STATE_BYTES_MAX);
            for (u32 i = 0; i < chunk_elements(&field, c); i++) {
                u32 index = chunk_element_index(&field, c, i);
                assert_true(index < field.capacity);
                assert_int_equal(seen[index]++, 0);
                u32 at;
                assert_int_equal(chunk_of(&field, index, &at), c);
                assert_int_equal(at, i);
            }
        }
        for (u32 i = 0; i < field.capacity; i++) {
            assert_int_equal(seen[i], 1);
        }
        free(seen);
    }
}

static void test_gather_scatter(void **context)
{
    PL_UNUSED(context);
    Dice dice = {1, 0};
    for (u32 k = 0; k < PL_COUNT(kinds); k++) {
        FieldDesc field = desc_of(k);
        u32 bytes = field.capacity * field_element_bytes(&field);
        u8 *data = malloc(bytes), *copy = calloc(1, bytes);
        f32 *numbers = calloc(field.capacity, sizeof *numbers);
        for (u32 i = 0; i < bytes; i++) {
            data[i] = (u8)dice_u64(&dice);
        }
        for (u32 c = 0; c < chunk_count(&field); c++) {
            u8 state[CHUNK_STATE_BYTES_MAX];
            chunk_gather(&field, c, data, state);
            u32 element = field_element_bytes(&field);
            for (u32 i = 0; i < chunk_elements(&field, c); i++) {
                assert_memory_equal(state + i * element,
                                    data + chunk_element_index(&field, c, i) * element, element);
            }
            chunk_scatter(&field, c, state, copy);
            f32 dense[CHUNK_STATE_BYTES_MAX];
            for (u32 i = 0; i < chunk_elements(&field, c); i++) {
                dense[i] = (f32)chunk_element_index(&field, c, i);
            }
            chunk_scatter_f32(&field, c, dense, numbers);
        }
        for (u32 i = 0; i < field.capacity; i++) {
            assert_true(numbers[i] == (f32)i);
        }
        free(numbers);
        assert_memory_equal(data, copy, bytes);
        free(data);
        free(copy);
    }
}

/* A random number of `bits` bits; tiny, huge and extreme values are all common. */
static u32 wild(Dice *dice, u32 bits)
{
    u32 mask = bits == 32 ? ~0u : (1u << bits) - 1;
    switch (dice_below(dice, 4)) {
    case 0:
        return 0;
    case 1:
        return (u32)dice_u64(dice) & mask;
    case 2:
        return mask - dice_below(dice, 3);
    default:
        return (u32)dice_u64(dice) & mask & ((1u << dice_below(dice, bits)) - 1);
    }
}

/* A legal element, as adversarial as the field's ranges allow. */
static void wild_element(Dice *dice, const FieldDesc *field, u8 *at)
{
    if (field->kind == FIELD_POSES || field->kind == FIELD_POINTS) {
        i32 position[3];
        for (u32 axis = 0; axis < 3; axis++) {
            i32 x = (i32)u32_min(wild(dice, 29), 2 * POSITION_CODE_MAX);
            position[axis] = dice_chance(dice, 0.5) ? x - POSITION_CODE_MAX : x / 2;
        }
        memcpy(at, position, sizeof position);
    }
    if (field->kind == FIELD_POSES) {
        QPose *q = (QPose *)(void *)at;
        q->rotation = wild(dice, 32);
        q->flags = (u16)wild(dice, 6);
        q->generation = (u16)wild(dice, 16);
    } else if (field->kind == FIELD_POINTS) {
        QPoint *q = (QPoint *)(void *)at;
        q->scalar = (u16)wild(dice, 16);
        q->generation = (u16)wild(dice, 16);
    } else {
        for (u32 i = 0; i < field_element_bytes(field); i++) {
            at[i] = (u8)wild(dice, 8);
        }
    }
}

static void wild_state(Dice *dice, const FieldDesc *field, u32 chunk, u8 *state, f64 share)
{
    u32 bytes = field_element_bytes(field);
    for (u32 i = 0; i < chunk_elements(field, chunk); i++) {
        if (dice_chance(dice, share)) {
            wild_element(dice, field, state + i * bytes);
        }
    }
}

static void check_round_trip(const FieldDesc *field, u32 chunk, const u8 *state, const u8 *baseline)
{
    u8 code[CHUNK_CODE_BYTES_MAX], again[CHUNK_CODE_BYTES_MAX];
    u8 decoded[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16)));
    u32 bytes = chunk_state_bytes(field, chunk);
    u32 size = chunk_encode(field, chunk, state, baseline, code);
    assert_in_range(size, 1, CHUNK_CODE_BYTES_MAX);
    memset(decoded, 0xAA, sizeof decoded);
    assert_int_equal(chunk_decode(field, chunk, code, size, baseline, decoded), size);
    assert_memory_equal(decoded, state, bytes);
    assert_int_equal(chunk_encode(field, chunk, decoded, baseline, again), size);
    assert_memory_equal(code, again, size);
    /* Every truncated code is refused or gives some state, but never consumes the whole size. */
    if (size > 1) {
        int used = chunk_decode(field, chunk, code, size - 1, baseline, decoded);
        assert_true(used < 0);
    }
}

static void test_round_trip_of_wild_states(void **context)
{
    PL_UNUSED(context);
    Dice dice = {2, 0};
    u8 state[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16)));
    u8 baseline[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16)));
    static const f64 shares[] = {0.0, 0.01, 0.1, 0.5, 1.0};
    for (u32 round = 0; round < 6000; round++) {
        FieldDesc field = desc_of(round % PL_COUNT(kinds));
        u32 chunk = dice_below(&dice, chunk_count(&field));
        memset(baseline, 0, sizeof baseline);
        wild_state(&dice, &field, chunk, baseline, shares[dice_below(&dice, 5)]);
        memcpy(state, baseline, sizeof state);
        wild_state(&dice, &field, chunk, state, shares[dice_below(&dice, 5)]);
        check_round_trip(&field, chunk, state, baseline);
        check_round_trip(&field, chunk, state, NULL);
    }
}

/* Independent uniform noise is the worst case: the raw form must hold it. */
static void test_noise_fits(void **context)
{
    PL_UNUSED(context);
    Dice dice = {3, 0};
    u8 state[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16)));
    u8 code[CHUNK_CODE_BYTES_MAX];
    for (u32 k = 0; k < PL_COUNT(kinds); k++) {
        FieldDesc field = desc_of(k);
        for (u32 round = 0; round < 50; round++) {
            for (u32 i = 0; i < chunk_elements(&field, 0); i++) {
                u8 *at = state + i * field_element_bytes(&field);
                for (u32 b = 0; b < field_element_bytes(&field); b++) {
                    at[b] = (u8)dice_u64(&dice);
                }
                if (field.kind == FIELD_POSES || field.kind == FIELD_POINTS) {
                    for (u32 axis = 0; axis < 3; axis++) {
                        ((i32 *)(void *)at)[axis] = ((i32 *)(void *)at)[axis] >> 3;
                    }
                }
                if (field.kind == FIELD_POSES) {
                    ((QPose *)(void *)at)->flags &= POSE_FLAGS_MASK;
                }
            }
            check_round_trip(&field, 0, state, NULL);
            u32 size = chunk_encode(&field, 0, state, NULL, code);
            assert_true(size > chunk_elements(&field, 0));
        }
    }
}

static void test_sizes(void **context)
{
    PL_UNUSED(context);
    Dice dice = {4, 0};
    FieldSet *fields = random_fields(64);
    Frame *a = random_next(&dice, fields, NULL, 1, 1.0);
    u8 code[CHUNK_CODE_BYTES_MAX];
    for (u32 f = 0; f < fields->count; f++) {
        u8 state[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16)));
        chunk_gather(&fields->fields[f], 0, frame_field(a, f), state);
        assert_int_equal(chunk_encode(&fields->fields[f], 0, state, state, code), 1);
        memset(state, 0, sizeof state);
        assert_int_equal(chunk_encode(&fields->fields[f], 0, state, NULL, code), 1);
    }
    /* One moving body of 64 costs a few bytes. */
    Frame *b = frame_create(fields, 2, 0);
    memcpy(b->data, a->data, fields->frame_bytes);
    frame_poses(b, 0)[17].position[1] -= 9;
    u32 size = chunk_encode(&fields->fields[0], 0, frame_poses(b, 0), frame_poses(a, 0), code);
    assert_in_range(size, 2, 10);
    frame_release(a);
    frame_release(b);
    field_set_release(fields);
}

static void test_hostile_codes(void **context)
{
    PL_UNUSED(context);
    Dice dice = {5, 0};
    u8 baseline[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16))) = {0};
    for (u32 round = 0; round < 20000; round++) {
        FieldDesc field = desc_of(round % PL_COUNT(kinds));
        u32 chunk = dice_below(&dice, chunk_count(&field));
        u32 bytes = dice_below(&dice, 200);
        /* Exact sizes on the heap, so that the address sanitizer sees every overrun. */
        u8 *code = malloc(bytes + 1), *state = malloc(chunk_state_bytes(&field, chunk));
        for (u32 i = 0; i < bytes; i++) {
            code[i] = (u8)dice_u64(&dice);
        }
        if (bytes > 0 && dice_chance(&dice, 0.8)) {
            code[0] = (u8)((code[0] & ~3) | 1);
        }
        u8 *exact = realloc(code, bytes > 0 ? bytes : 1);
        int used = chunk_decode(&field, chunk, exact, bytes, NULL, state);
        assert_true(used < 0 || (used > 0 && (u32)used <= bytes));
        if (used > 0) {
            check_round_trip(&field, chunk, state, baseline);
        }
        free(exact);
        free(state);
    }
}

static void test_error_measure(void **context)
{
    PL_UNUSED(context);
    FieldDesc field = field_desc(FIELD_POSES, 64);
    QPose a[64], b[64];
    memset(a, 0, sizeof a);
    for (u32 i = 0; i < 64; i++) {
        a[i].flags = POSE_LIVE;
        a[i].rotation = quantize_rotation(quat_identity());
    }
    memcpy(b, a, sizeof b);
    assert_true(chunk_state_error(&field, 0, a, b) == 0.0f);
    b[9].position[2] += 512;
    assert_true(fabsf(chunk_state_error(&field, 0, a, b) - 1.0f) < 1e-5f);
    memcpy(b, a, sizeof b);
    Quat quarter = {0.70710678f, 0.0f, 0.70710678f, 0.0f};
    b[3].rotation = quantize_rotation(quarter);
    f32 rotation = chunk_state_error(&field, 0, a, b);
    assert_true(rotation > 0.6f && rotation < 0.9f);
    memcpy(b, a, sizeof b);
    b[3].flags = 0;
    assert_true(chunk_state_error(&field, 0, a, b) == 1.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks_cover_each_element_once),
        cmocka_unit_test(test_gather_scatter),
        cmocka_unit_test(test_round_trip_of_wild_states),
        cmocka_unit_test(test_noise_fits),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_hostile_codes),
        cmocka_unit_test(test_error_measure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
