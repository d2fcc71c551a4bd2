/*
 * test_liquid_form.c: which of a liquid's points are drawn: decimated ones represent all, those
 * inside are left out, spray and points that move against their surroundings are white.
 */
#include "client/view/liquid_form.h"
#include "protocol/codec/chunk.h"
#include "shared/math/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

enum {
    SIDE = 24,
    POINTS = SIDE * SIDE * SIDE
};
static const f32 radius = 0.02f;
static const Vec3 far_away = {9, 9, 9};
static const f32 color[3] = {0.5f, 0.8f, 0.9f}, color2[3] = {0.1f, 0.2f, 0.3f};

/* A cube of liquid at rest. */
static ShownPoint *cube(void)
{
    ShownPoint *points = calloc(POINTS, sizeof *points);
    assert_non_null(points);
    for (u32 i = 0; i < POINTS; i++) {
        Vec3 cell = vec3((f32)(i % SIDE), (f32)(i / SIDE % SIDE), (f32)(i / SIDE / SIDE));
        Vec3 off =
            vec3(random_range(1, i, -1, 1), random_range(2, i, -1, 1), random_range(3, i, -1, 1));
        points[i].position = vec3_add_scaled(vec3_scale(cell, 2.0f * radius), 0.4f * radius, off);
        points[i].generation = 1;
    }
    return points;
}

static Entity liquid_of(u32 count)
{
    Entity entity = {.id = 1, .count = count};
    entity.appearance.kind = APPEARANCE_LIQUID;
    entity.appearance.radius = radius;
    entity.appearance.clear_m = 0.5f;
    return entity;
}

static f64 volume_of(const LiquidForm *form)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < form->count; i++) {
        sum += (f64)form->points[i].volume;
    }
    return sum;
}

/* As in PROTOCOL.md: points whose index in their chunk is not a multiple of 2^t are free. */
static void test_decimation_is_detected(void **state)
{
    (void)state;
    ShownPoint *points = cube();
    u8 *shifts = malloc(POINTS);
    Entity entity = liquid_of(POINTS);
    f64 whole = POINTS * pow(2.0 * (f64)radius, 3.0);
    for (u32 t = 0; t <= DECIMATION_MAX; t++) {
        for (u32 i = 0; i < POINTS; i++) {
            points[i].generation = i % CHUNK_POINTS % (1u << t) == 0;
        }
        decimation_find(points, 0, POINTS, shifts);
        for (u32 i = 0; i < POINTS; i++) {
            assert_int_equal(shifts[i], t);
        }
        LiquidForm form = {0};
        liquid_form_begin(&form);
        liquid_form_add(&form, points, &entity, color, color2);
        assert_int_equal(form.count, POINTS >> t);
        expect_near("volume", volume_of(&form), whole, 1e-4 * whole);
        expect_near("radius grows as its cube root",
                    (f64)(form.points[0].radius / liquid_ball_radius(&entity.appearance, 0)),
                    cbrt((f64)(1u << t)), 1e-5);
        liquid_form_finish(&form);
    }
    free(shifts);
    free(points);
}

/* An entity that begins within a chunk, and slots not yet in use, are not decimation. */
static void test_gaps_are_not_decimation(void **state)
{
    (void)state;
    enum {
        COUNT = 1000
    };
    ShownPoint points[COUNT] = {0};
    u8 shifts[COUNT];
    for (u32 first = 0; first < 3; first++) {
        for (u32 live = 1; live < COUNT; live += 37) {
            for (u32 i = 0; i < COUNT; i++) {
                points[i].generation = i < live;
            }
            decimation_find(points, first, COUNT, shifts);
            for (u32 i = 0; i < COUNT && live > 5; i++) {
                assert_int_equal(shifts[i], 0);
            }
        }
        for (u32 i = 0; i < COUNT; i++) { /* by index in the field, not in the entity */
            points[i].generation = (first + i) % 4 == 0;
        }
        decimation_find(points, first, COUNT, shifts);
        assert_int_equal(shifts[0], 2);
        assert_int_equal(shifts[COUNT - 1], 2);
    }
    for (u32 i = 0; i < COUNT; i++) { /* a leak: slots free at random */
        points[i].generation = random_u64(5, i) % 3 != 0;
    }
    decimation_find(points, 0, COUNT, shifts);
    for (u32 i = 0; i < COUNT; i++) {
        assert_int_equal(shifts[i], 0);
    }
}

/* Light through clear_m of the liquid has its colour. */
static void test_absorption_is_the_color(void **state)
{
    (void)state;
    ShownPoint *points = cube();
    Entity entity = liquid_of(POINTS);
    LiquidForm form = {0};
    liquid_form_begin(&form);
    liquid_form_add(&form, points, &entity, color, color2);
    for (u32 k = 0; k < 3; k++) {
        expect_near("passes", exp(-(f64)form.points[7].optical[k] * 0.5), (f64)color[k], 1e-5);
    }
    liquid_form_finish(&form);
    free(points);
}

static f32 depth_in_cube(Vec3 p)
{
    f32 high = 2.0f * radius * (SIDE - 1), least = high;
    const f32 at[3] = {p.x, p.y, p.z};
    for (u32 k = 0; k < 3; k++) {
        least = f32_min(least, f32_min(at[k], high - at[k]));
    }
    return least;
}

/* All points near the surface may be visible, most of those far inside need not be drawn, none is
 * lost; a liquid at rest has no foam. */
static void test_points_inside_are_left_out(void **state)
{
    (void)state;
    ShownPoint *points = cube();
    Entity entity = liquid_of(POINTS);
    LiquidForm form = {0};
    for (u32 round = 0; round < 2; round++) { /* the nodes of the first round are discarded */
        liquid_form_begin(&form);
        liquid_form_add(&form, points, &entity, color, color2);
        liquid_form_foam(&form, far_away);
        assert_int_equal(form.body_count, 1);
        const LiquidBody *body = &form.bodies[0];
        assert_true(body->first == 0 && body->count == POINTS && body->outer < POINTS);
        u32 deep = 0, left_out = 0;
        for (u32 i = 0; i < form.count; i++) {
            f32 depth = depth_in_cube(form.points[i].position);
            if (i >= body->outer) {
                assert_true(depth > 1.5f * radius); /* not in the outermost layer */
            }
            deep += depth > 9.0f * radius;
            left_out += depth > 9.0f * radius && i >= body->outer;
            expect_near("foam", (f64)form.points[i].foam, 0.0, 1e-6);
        }
        expect_within("share of those deep inside", (f64)left_out / deep, 0.95, 1.0);
        expect_near("volume", volume_of(&form), POINTS * pow(2.0 * (f64)radius, 3.0), 1e-3);
    }
    liquid_form_finish(&form);
    free(points);
}

/* An eye inside the liquid sees its surroundings. */
static void test_eyes_inside_see_all(void **state)
{
    (void)state;
    ShownPoint *points = cube();
    Entity entity = liquid_of(POINTS);
    LiquidForm form = {0};
    liquid_form_begin(&form);
    liquid_form_add(&form, points, &entity, color, color2);
    liquid_form_foam(&form, vec3(radius * SIDE, radius * SIDE, radius * SIDE));
    assert_int_equal(form.bodies[0].outer, POINTS);
    liquid_form_finish(&form);
    free(points);
}

/* However close the points are: a layer pressed flat is visible from both sides. */
static void test_flat_layers_are_visible(void **state)
{
    (void)state;
    ShownPoint *points = cube();
    Entity entity = liquid_of(POINTS);
    LiquidForm form = {0};
    for (u32 axis = 0; axis < 3; axis++) {
        for (u32 i = 0; i < POINTS; i++) {
            f32 *at = axis == 0   ? &points[i].position.x
                      : axis == 1 ? &points[i].position.y
                                  : &points[i].position.z;
            *at *= 0.05f;
        }
        liquid_form_begin(&form);
        liquid_form_add(&form, points, &entity, color, color2);
        liquid_form_foam(&form, far_away);
        assert_int_equal(form.bodies[0].outer, POINTS);
    }
    liquid_form_finish(&form);
    free(points);
}

/* A liquid that moves as a whole is clear at any speed; two that collide turn white where they
 * meet; flying drops are white and small, resting ones are clear. */
static void test_foam_is_where_flows_meet(void **state)
{
    (void)state;
    ShownPoint *points = cube();
    Entity entity = liquid_of(POINTS);
    LiquidForm form = {0};
    f64 foam[3] = {0};
    for (u32 way = 0; way < 3; way++) {
        for (u32 i = 0; i < POINTS; i++) {
            bool left = points[i].position.x < radius * SIDE;
            f32 against = way == 2 ? (left ? 3.0f : -3.0f) : (f32)way * 8.0f;
            points[i].velocity = vec3(against, 0, 0);
        }
        liquid_form_begin(&form);
        liquid_form_add(&form, points, &entity, color, color2);
        liquid_form_foam(&form, far_away);
        f64 most = 0.0;
        for (u32 i = 0; i < form.count; i++) {
            f32 off = fabsf(form.points[i].position.x - radius * SIDE);
            most = fmax(most, (f64)form.points[i].foam);
            if (off > 10.0f * radius) {
                expect_near("foam far from where they meet", (f64)form.points[i].foam, 0.0, 1e-3);
            }
        }
        foam[way] = most;
    }
    expect_near("at rest", foam[0], 0.0, 1e-6);
    expect_near("as one", foam[1], 0.0, 1e-3);
    expect_within("against each other", foam[2], 0.5, 1.0);
    liquid_form_finish(&form);
    for (u32 i = 0; i < 40; i++) {
        bool fast = i % 2 == 0;
        points[i].position = vec3((f32)i, 0, 0);
        points[i].velocity = vec3(0, fast ? -5.0f : 0.0f, 0);
    }
    entity.count = 40;
    liquid_form_begin(&form);
    liquid_form_add(&form, points, &entity, color, color2);
    liquid_form_foam(&form, far_away);
    for (u32 i = 0; i < form.count; i++) {
        bool fast = ((u32)form.points[i].position.x & 1) == 0;
        expect_within("foam of a drop", (f64)form.points[i].foam, fast ? 0.25 : 0.0,
                      fast ? 1.0 : 1e-3);
        expect_at_most("its radius", (f64)form.points[i].radius, (f64)radius);
    }
    liquid_form_finish(&form);
    free(points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decimation_is_detected),
        cmocka_unit_test(test_gaps_are_not_decimation),
        cmocka_unit_test(test_absorption_is_the_color),
        cmocka_unit_test(test_points_inside_are_left_out),
        cmocka_unit_test(test_eyes_inside_see_all),
        cmocka_unit_test(test_flat_layers_are_visible),
        cmocka_unit_test(test_foam_is_where_flows_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
