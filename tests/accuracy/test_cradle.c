/* test_cradle.c: a row of equal balls transfers momentum: as many leave as arrive, with the same
 * speed. The balls hang slightly apart (or touch) and move in a line without gravity. */
#include "server/author/scene_load.h"
#include "server/world/matter_rigid.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    BALLS = 5
};

/* `in` balls arrive with 2 m/s; returns the speeds after the impact. */
static void strike(u32 in, f32 gap, u32 substeps, f32 speeds[BALLS])
{
    const f32 radius = 0.1f;
    Rigid *rigid = kit_world(BALLS, substeps, 0.0f);
    for (u32 i = 0; i < BALLS; i++) {
        BodyDef def = kit_ball(vec3((2.0f * radius + gap) * (f32)i, 0.0f, 0.0f), radius);
        def.restitution = 1.0f;
        def.friction = 0.0f;
        if (i < in) {
            def.position.x -= 0.5f;
            def.velocity.x = 2.0f;
        }
        kit_add(rigid, &def);
    }
    kit_run(rigid, 1.0f);
    for (u32 i = 0; i < BALLS; i++) {
        speeds[i] = rigid_velocity(rigid, i).x / 2.0f;
    }
    rigid_destroy(rigid);
}

static void check_strike(u32 in, f32 gap)
{
    f32 speeds[BALLS], momentum = 0.0f, energy = 0.0f;
    strike(in, gap, 8, speeds);
    printf("%u in, gap %.1f mm:", in, (double)gap * 1e3);
    for (u32 i = 0; i < BALLS; i++) {
        printf(" %.3f", (double)speeds[i]);
        momentum += speeds[i];
        energy += speeds[i] * speeds[i];
    }
    printf(" of the speed; energy %.4f\n", (double)energy / in);
    assert_float_equal(momentum, (f32)in, 1e-4f);
    assert_true(energy < 1.001f * (f32)in);
    for (u32 i = 0; i < BALLS; i++) {
        if (i + in >= BALLS) {
            assert_true(speeds[i] > 0.95f);
        } else {
            assert_true(fabsf(speeds[i]) < 0.05f);
        }
    }
}

static void apart_by_a_hair_as_many_leave_as_arrive(void **unused)
{
    PL_UNUSED(unused);
    for (u32 in = 1; in <= 3; in++) {
        check_strike(in, 0.001f);
    }
}

static void touching_as_many_leave_as_arrive(void **unused)
{
    PL_UNUSED(unused);
    for (u32 in = 1; in <= 3; in++) {
        check_strike(in, 0.0f);
    }
}

/* Two balls: v1' = (m1 − e m2) / (m1 + m2) v and v2' = (1 + e) m1 / (m1 + m2) v. */
static void unequal_balls_share_speed(void **unused)
{
    PL_UNUSED(unused);
    static const f32 masses[] = {0.1f, 0.5f, 1.0f, 3.0f, 20.0f};
    static const f32 es[] = {0.0f, 0.5f, 1.0f};
    for (u32 i = 0; i < PL_COUNT(masses) * PL_COUNT(es); i++) {
        f32 m = masses[i / 3], e = es[i % 3];
        Rigid *rigid = kit_world(2, 4, 0.0f);
        BodyDef a = kit_ball(vec3(-1.0f, 0.0f, 0.0f), 0.1f), b = kit_ball(vec3_zero(), 0.1f);
        a.mass_kg = m;
        b.mass_kg = 1.0f;
        a.restitution = b.restitution = e;
        a.velocity.x = 3.0f;
        kit_add(rigid, &a);
        kit_add(rigid, &b);
        kit_run(rigid, 1.0f);
        f32 va = (m - e) / (m + 1.0f) * 3.0f, vb = (1.0f + e) * m / (m + 1.0f) * 3.0f;
        assert_float_equal(rigid_velocity(rigid, 0).x, va, 0.02f);
        assert_float_equal(rigid_velocity(rigid, 1).x, vb, 0.02f);
        rigid_destroy(rigid);
    }
}

/* The scene at its own rate: for twelve seconds only the first or the last ball swings, as high
 * as the first was lifted, and the three between them stay. */
static void the_scene_hands_on(void **unused)
{
    PL_UNUSED(unused);
    ErrorText error;
    Scene *scene = scene_load("shared/scenes/cradle.json", &error);
    World *world = scene != NULL ? world_create(scene, NULL, &error) : NULL;
    if (world == NULL) {
        fail_msg("%s", error.text);
    }
    const u32 first = 1, last = 5; /* after the ground */
    const Rigid *rigid = world_rigid(world);
    const f32 low = rigid_position(rigid, last).y, lifted = rigid_position(rigid, first).y - low;
    f32 highest[6] = {0}, late[6] = {0}; /* overall, and in the last two impacts */
    for (u32 i = 0; i < 720; i++) {
        world_tick(world, NULL, 0);
        for (u32 ball = first; ball <= last; ball++) {
            f32 high = rigid_position(rigid, ball).y - low;
            highest[ball] = f32_max(highest[ball], high);
            late[ball] = i >= 540 ? f32_max(late[ball], high) : late[ball];
        }
    }
    printf("lifted %.3f m; highest", (double)lifted);
    for (u32 ball = first; ball <= last; ball++) {
        printf(" %.3f", (double)highest[ball]);
        assert_true(highest[ball] < 1.01f * lifted);
        assert_true(ball == first || ball == last ? late[ball] > 0.97f * lifted
                                                  : highest[ball] < 0.02f * lifted);
    }
    printf(" m\n");
    world_destroy(world);
    scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(apart_by_a_hair_as_many_leave_as_arrive),
        cmocka_unit_test(touching_as_many_leave_as_arrive),
        cmocka_unit_test(unequal_balls_share_speed),
        cmocka_unit_test(the_scene_hands_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
