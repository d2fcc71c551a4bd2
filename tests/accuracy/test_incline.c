/* test_incline.c: Coulomb friction on slopes: sticking, and the acceleration of sliding. */
#include "shared/math/trig.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static f64 radians(f64 degrees)
{
    return degrees * (3.14159265358979 / 180.0);
}

typedef struct Slope {
    f64 degrees;
    f32 mu;    /* of the slope and of the body */
    bool slab; /* the slope is a box, not a plane */
} Slope;

/* A flat box on the slope for some seconds; its displacement and speed. */
static f32 slide(Slope slope, f32 seconds, f32 *speed)
{
    Rigid *rigid = kit_world(2, 4, KIT_GRAVITY_M_S2);
    Quat q = kit_rotation(vec3(0.0f, 0.0f, 1.0f), slope.degrees);
    Vec3 up = quat_rotate(q, vec3(0.0f, 1.0f, 0.0f));
    BodyDef ground = slope.slab ? kit_ground() : kit_plane(q);
    if (slope.slab) {
        ground.orientation = q;
        ground.position = vec3_neg(up);
    }
    ground.friction = slope.mu;
    kit_add(rigid, &ground);
    BodyDef def = kit_box(vec3_scale(up, 0.25f), vec3(0.5f, 0.25f, 0.5f));
    def.orientation = q;
    def.friction = slope.mu;
    u32 box = kit_add(rigid, &def);
    kit_run(rigid, seconds);
    *speed = vec3_length(rigid_velocity(rigid, box));
    f32 moved = vec3_distance(rigid_position(rigid, box), def.position);
    rigid_destroy(rigid);
    return moved;
}

static const f32 coefficients[] = {0.1f, 0.3f, 0.6f, 1.0f};

/* One degree below the angle of friction it stays for 5 s, one above it slides. */
static void angle_of_friction_is_the_threshold(void **unused)
{
    PL_UNUSED(unused);
    for (u32 i = 0; i < 2 * PL_COUNT(coefficients); i++) {
        f32 mu = coefficients[i / 2], speed;
        f64 angle = trig_atan2((f64)mu, 1.0) * (180.0 / 3.14159265358979);
        f32 below = slide((Slope){angle - 1.0, mu, i & 1}, 5.0f, &speed);
        printf("mu %.1f on a %s: %.2f mm in 5 s one degree below", (double)mu,
               i & 1 ? "slab" : "plane", (double)below * 1e3);
        assert_true(below < 0.01f);
        f32 above = slide((Slope){angle + 1.0, mu, i & 1}, 2.0f, &speed);
        f64 s, c;
        trig_sincos(radians(angle + 1.0), &s, &c);
        f64 way = 0.5 * (f64)KIT_GRAVITY_M_S2 * (s - (f64)mu * c) * 4.0;
        printf(", %.0f mm in 2 s one above, expected %.0f\n", (double)above * 1e3, way * 1e3);
        assert_true((f64)above > 0.9 * way && (f64)above < 1.1 * way);
    }
}

static void sliding_accelerates_as_coulomb_says(void **unused)
{
    PL_UNUSED(unused);
    static const f64 angles[] = {20.0, 35.0, 50.0};
    for (u32 i = 0; i < 2 * PL_COUNT(angles) * PL_COUNT(coefficients); i++) {
        Slope slope = {angles[i / 2 % PL_COUNT(angles)], coefficients[i / 2 / PL_COUNT(angles)],
                       i & 1};
        f64 s, c;
        trig_sincos(radians(slope.degrees), &s, &c);
        f64 expected = (f64)KIT_GRAVITY_M_S2 * (s - (f64)slope.mu * c);
        if (expected <= 0.0) {
            continue;
        }
        f32 speed;
        slide(slope, 1.0f, &speed);
        printf("mu %.1f at %.0f degrees on a %s: %.4f m/s^2, expected %.4f\n", (double)slope.mu,
               slope.degrees, slope.slab ? "slab" : "plane", (double)speed, expected);
        assert_true((f64)speed > 0.99 * expected - 0.01 && (f64)speed < 1.01 * expected + 0.01);
    }
}

/* Friction must not depend on the direction of the slope: a cone, not a pyramid. */
static void friction_is_the_same_in_all_directions(void **unused)
{
    PL_UNUSED(unused);
    f32 least = 1e9f, most = 0.0f;
    for (u32 i = 0; i < 12; i++) {
        Rigid *rigid = kit_world(2, 4, KIT_GRAVITY_M_S2);
        BodyDef ground = kit_plane(quat_identity());
        BodyDef def = kit_box(vec3(0.0f, 0.25f, 0.0f), vec3(0.5f, 0.25f, 0.5f));
        Quat rotation = kit_rotation(vec3(0.0f, 1.0f, 0.0f), 30.0 * i + 7.0);
        def.velocity = quat_rotate(rotation, vec3(5.0f, 0.0f, 0.0f));
        kit_add(rigid, &ground);
        u32 box = kit_add(rigid, &def);
        kit_run(rigid, 2.0f);
        f32 way = vec3_distance(rigid_position(rigid, box), def.position);
        least = f32_min(least, way);
        most = f32_max(most, way);
        rigid_destroy(rigid);
    }
    f32 expected = 25.0f / (2.0f * 0.6f * KIT_GRAVITY_M_S2);
    printf("5 m/s stop after %.4f to %.4f m, expected %.4f\n", (double)least, (double)most,
           (double)expected);
    assert_float_equal(least, expected, 0.02f * expected);
    assert_float_equal(most, expected, 0.02f * expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(angle_of_friction_is_the_threshold),
        cmocka_unit_test(sliding_accelerates_as_coulomb_says),
        cmocka_unit_test(friction_is_the_same_in_all_directions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
