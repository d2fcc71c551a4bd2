/* test_quantize.c: the quantization error, everywhere in the world. */
#include "protocol/field/quantize.h"
#include "tests/unit/protocol/random_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_positions_round_to_nearest(void **context)
{
    PL_UNUSED(context);
    Dice dice = {1, 0};
    static const f32 extents[] = {1, 100, WORLD_EXTENT_MAX_M};
    for (u32 i = 0; i < 200000; i++) {
        FieldDesc field = field_desc(FIELD_POSES, 1);
        f32 extent = extents[i % 3];
        field.quantum = i % 2 != 0 ? QUANTUM_MIN_M : 1.0f / 512.0f;
        field.origin = vec3(dice_range(&dice, -extent, extent), 0, 0);
        Vec3 p = vec3(dice_range(&dice, -extent, extent), dice_range(&dice, -extent, extent), 0);
        i32 code[3], again[3];
        quantize_position(&field, p, code);
        Vec3 back = dequantize_position(&field, code);
        /* Half a step, and half a unit in the last place of an f32 at that distance. */
        f64 bound = 0.5 * field.quantum * 1.0001 + extent * 6e-8;
        assert_true(fabs((f64)back.x - p.x) <= bound && fabs((f64)back.y - p.y) <= bound);
        if (extent <= 100) {
            quantize_position(&field, back, again);
            assert_memory_equal(code, again, sizeof code);
        }
    }
}

static void test_positions_saturate(void **context)
{
    PL_UNUSED(context);
    FieldDesc field = field_desc(FIELD_POSES, 1);
    field.quantum = QUANTUM_MIN_M;
    field.origin = vec3(-WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M, 0);
    static const f32 wild[] = {INFINITY, -INFINITY, NAN, 1e30f, -1e30f};
    for (u32 i = 0; i < PL_COUNT(wild); i++) {
        i32 code[3];
        quantize_position(&field, vec3(wild[i], wild[i], wild[i]), code);
        for (u32 axis = 0; axis < 3; axis++) {
            assert_true(code[axis] >= -POSITION_CODE_MAX && code[axis] <= POSITION_CODE_MAX);
        }
        Vec3 back = dequantize_position(&field, code);
        f32 expected = wild[i] > 0.0f ? WORLD_EXTENT_MAX_M : -WORLD_EXTENT_MAX_M;
        assert_true(back.x == expected || fabsf(back.x - expected) <= 1e-3f);
        assert_true(back.z == expected);
    }
}

static f64 angle_between(Quat a, Quat b)
{
    f64 x = (f64)a.w * b.x - (f64)a.x * b.w - (f64)a.y * b.z + (f64)a.z * b.y;
    f64 y = (f64)a.w * b.y - (f64)a.y * b.w - (f64)a.z * b.x + (f64)a.x * b.z;
    f64 z = (f64)a.w * b.z - (f64)a.z * b.w - (f64)a.x * b.y + (f64)a.y * b.x;
    return 2.0 * asin(fmin(1.0, sqrt(x * x + y * y + z * z)));
}

static void test_rotations_worst_angle(void **context)
{
    PL_UNUSED(context);
    Dice dice = {2, 0};
    f64 worst = 0.0;
    for (u32 i = 0; i < 300000; i++) {
        Quat q = dice_rotation(&dice);
        if (i % 5 == 0) {
            /* Near the switch of the largest component, where smallest three is least accurate. */
            f32 e = dice_range(&dice, -0.01f, 0.01f);
            Quat tie = {0.5f + e, -0.5f, 0.5f - e, dice_chance(&dice, 0.5) ? 0.5f : -0.5f};
            q = quat_normalize(tie);
        }
        u32 code = quantize_rotation(q);
        Quat negative = {-q.w, -q.x, -q.y, -q.z};
        assert_int_equal(code, quantize_rotation(negative));
        Quat back = dequantize_rotation(code);
        worst = fmax(worst, angle_between(q, back));
    }
    print_message("worst rotation error: %.5f rad\n", worst);
    assert_true(worst < 0.0050 && worst > 0.0005);
}

static void test_rotation_codes(void **context)
{
    PL_UNUSED(context);
    Dice dice = {3, 0};
    Quat identity = dequantize_rotation(quantize_rotation(quat_identity()));
    assert_true(identity.w == 1.0f && identity.x == 0.0f && identity.y == 0.0f &&
                identity.z == 0.0f);
    Quat bad = {NAN, 0, 0, 0}, zero = {0, 0, 0, 0};
    assert_int_equal(quantize_rotation(bad), quantize_rotation(quat_identity()));
    assert_int_equal(quantize_rotation(zero), quantize_rotation(quat_identity()));
    for (u32 i = 0; i < 100000; i++) {
        Quat q = dequantize_rotation(i == 0 ? 0 : (u32)dice_u64(&dice));
        assert_true(fabsf(quat_dot(q, q) - 1.0f) < 1e-5f);
    }
}

static void test_grids(void **context)
{
    PL_UNUSED(context);
    FieldDesc field = field_desc_grid(FIELD_GRID2, 4, 4, 0, 1);
    field.value_min = -10.0f;
    field.quantum = 0.001f;
    for (u32 code = 0; code <= UINT16_MAX; code++) {
        assert_int_equal(quantize_height(&field, dequantize_height(&field, (u16)code)), code);
    }
    assert_int_equal(quantize_height(&field, NAN), 0);
    assert_int_equal(quantize_height(&field, -1e9f), 0);
    assert_int_equal(quantize_height(&field, INFINITY), UINT16_MAX);
    for (u32 code = 0; code <= UINT8_MAX; code++) {
        assert_int_equal(quantize_density(&field, dequantize_density(&field, (u8)code)), code);
    }
}

static void test_field_check(void **context)
{
    PL_UNUSED(context);
    FieldDesc good = field_desc(FIELD_POSES, 10), bad = good;
    assert_int_equal(field_check(&good), 0);
    bad.quantum = 0.0f;
    assert_true(field_check(&bad) < 0);
    bad.quantum = NAN;
    assert_true(field_check(&bad) < 0);
    bad = good;
    bad.origin.y = INFINITY;
    assert_true(field_check(&bad) < 0);
    bad = good;
    bad.capacity = FIELD_ELEMENTS_MAX + 1;
    assert_true(field_check(&bad) < 0);
    bad = good;
    memset(bad.name, 'x', sizeof bad.name);
    assert_true(field_check(&bad) < 0);
    bad = good;
    bad.kind = 99;
    assert_true(field_check(&bad) < 0);
    bad = field_desc_grid(FIELD_GRID3, 65535, 65535, 65535, 1);
    assert_true(field_check(&bad) < 0);
    bad = field_desc_grid(FIELD_GRID2, 8, 8, 0, 3);
    assert_true(field_check(&bad) < 0);
    assert_null(field_set_create(&bad, 1));
}

/* The memory that a client or a reader of recordings allocates for fields announced by an untrusted
 * peer. */
static void test_frame_bytes(void **context)
{
    PL_UNUSED(context);
    FieldDesc fields[5];
    for (u32 i = 0; i < PL_COUNT(fields); i++) {
        fields[i] = field_desc(FIELD_POINTS, FIELD_ELEMENTS_MAX);
    }
    FieldSet *most = field_set_create(fields, 4);
    assert_non_null(most);
    assert_int_equal(most->frame_bytes, FRAME_BYTES_MAX);
    assert_null(field_set_create(fields, 5));
    fields[4].capacity = 1;
    assert_null(field_set_create(fields, 5));
    field_set_release(most);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions_round_to_nearest),
        cmocka_unit_test(test_positions_saturate),
        cmocka_unit_test(test_rotations_worst_angle),
        cmocka_unit_test(test_rotation_codes),
        cmocka_unit_test(test_grids),
        cmocka_unit_test(test_field_check),
        cmocka_unit_test(test_frame_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
