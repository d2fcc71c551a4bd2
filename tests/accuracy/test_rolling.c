/* test_rolling.c: round bodies on a slope: g sin θ / (1 + I / (m r²)) without slip, and Coulomb
 * with slip. */
#include "shared/math/trig.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct Roll {
    f32 speed;            /* m/s down the slope */
    f32 angular_velocity; /* rad/s about the axis across it */
    f32 side;             /* m, lateral deviation */
} Roll;

/* The shape lies with its local y across the slope, which descends towards −x. */
static Roll roll(Shape shape, f64 degrees, f32 mu, f32 seconds)
{
    Rigid *rigid = kit_world(2, 4, KIT_GRAVITY_M_S2);
    Vec3 z = vec3(0.0f, 0.0f, 1.0f);
    Quat q = kit_rotation(z, degrees);
    Vec3 up = quat_rotate(q, vec3(0.0f, 1.0f, 0.0f)),
         down = quat_rotate(q, vec3(-1.0f, 0.0f, 0.0f));
    BodyDef plane = kit_plane(q), def = kit_ball(vec3_scale(up, shape.radius), shape.radius);
    plane.friction = mu;
    def.shape = shape;
    def.mass_kg = 1000.0f * shape_volume(&shape);
    def.orientation = kit_rotation(vec3(1.0f, 0.0f, 0.0f), 90.0);
    def.friction = mu;
    kit_add(rigid, &plane);
    u32 slot = kit_add(rigid, &def);
    kit_run(rigid, seconds);
    Roll r = {vec3_dot(rigid_velocity(rigid, slot), down),
              vec3_dot(rigid_angular_velocity(rigid, slot), z),
              fabsf(rigid_position(rigid, slot).z)};
    rigid_destroy(rigid);
    return r;
}

/* I / (m r²) of a capsule about its axis: a cylinder (½) and two half balls (⅖). */
static f64 capsule_ratio(f64 radius, f64 half_height)
{
    f64 cylinder = 2.0 * half_height, ball = 4.0 / 3.0 * radius;
    return (0.5 * cylinder + 0.4 * ball) / (cylinder + ball);
}

static void check_roll(const char *name, Shape shape, f64 ratio)
{
    static const f64 angles[] = {5.0, 15.0, 30.0};
    for (u32 i = 0; i < PL_COUNT(angles); i++) {
        f64 sine, cosine;
        trig_sincos(angles[i] * (3.14159265358979 / 180.0), &sine, &cosine);
        f64 expected = (f64)KIT_GRAVITY_M_S2 * sine / (1.0 + ratio);
        Roll r = roll(shape, angles[i], 0.8f, 1.0f);
        printf("%s at %2.0f degrees: %.4f m/s^2, expected %.4f; slips %.4f m/s, leaves by %.4f m\n",
               name, angles[i], (double)r.speed, expected,
               (double)(r.speed - r.angular_velocity * shape.radius), (double)r.side);
        assert_float_equal(r.speed, expected, 0.01 * expected + 0.005);
        assert_float_equal(r.angular_velocity * shape.radius, r.speed, 0.01f * r.speed + 0.01f);
        assert_true(r.side < 0.01f);
    }
}

static void sphere_rolls_with_five_sevenths(void **unused)
{
    PL_UNUSED(unused);
    check_roll("sphere", (Shape){.kind = SHAPE_SPHERE, .radius = 0.25f}, 0.4);
}

static void capsule_rolls_on_its_side(void **unused)
{
    PL_UNUSED(unused);
    check_roll("capsule", (Shape){.kind = SHAPE_CAPSULE, .radius = 0.2f, .half_height = 0.3f},
               capsule_ratio(0.2, 0.3));
}

static void cylinder_rolls_with_two_thirds(void **unused)
{
    PL_UNUSED(unused);
    check_roll("cylinder", (Shape){.kind = SHAPE_CYLINDER, .radius = 0.2f, .half_height = 0.3f},
               0.5);
}

/* Too steep to roll (tan θ > 3½ μ): it slides with g (sin θ − μ cos θ) and spins up with
 * 5/2 μ g cos θ / r. */
static void sphere_slips_on_a_steep_slope(void **unused)
{
    PL_UNUSED(unused);
    const f64 mu = 0.1;
    f64 sine, cosine;
    trig_sincos(40.0 * (3.14159265358979 / 180.0), &sine, &cosine);
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.25f};
    Roll r = roll(ball, 40.0, (f32)mu, 1.0f);
    f64 speed = (f64)KIT_GRAVITY_M_S2 * (sine - mu * cosine);
    f64 angular_velocity = 2.5 * mu * (f64)KIT_GRAVITY_M_S2 * cosine / (f64)ball.radius;
    printf("slipping: %.4f m/s, expected %.4f; %.4f rad/s, expected %.4f\n", (double)r.speed, speed,
           (double)r.angular_velocity, angular_velocity);
    assert_float_equal(r.speed, speed, 0.01 * speed);
    assert_float_equal(r.angular_velocity, angular_velocity, 0.02 * angular_velocity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sphere_rolls_with_five_sevenths),
        cmocka_unit_test(capsule_rolls_on_its_side),
        cmocka_unit_test(cylinder_rolls_with_two_thirds),
        cmocka_unit_test(sphere_slips_on_a_steep_slope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
