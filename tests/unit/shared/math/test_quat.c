/* test_quat.c: vectors, quaternions and matrices against identities and rotations known by hand. */
#include "shared/math/quat.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>

enum {
    ROUNDS = 20000
};

static f32 random_unit(u64 counter)
{
    return random_range(5, counter, -1.0f, 1.0f);
}

static Vec3 random_vec(u64 counter)
{
    return vec3(random_unit(counter * 3), random_unit(counter * 3 + 1),
                random_unit(counter * 3 + 2));
}

static Quat random_quat(u64 counter)
{
    Quat q = {random_unit(counter * 4 + 900000), random_unit(counter * 4 + 900001),
              random_unit(counter * 4 + 900002), random_unit(counter * 4 + 900003)};
    return quat_normalize(q);
}

static void assert_near(Vec3 got, Vec3 expected, f32 tolerance)
{
    if (!(vec3_distance(got, expected) <= tolerance)) {
        fail_msg("expected (%g, %g, %g), got (%g, %g, %g)", (f64)expected.x, (f64)expected.y,
                 (f64)expected.z, (f64)got.x, (f64)got.y, (f64)got.z);
    }
}

/* A quarter turn about each axis maps the next axis to the one after. */
static void test_quarter_turns(void **state)
{
    PL_UNUSED(state);
    const f32 h = 0.70710678f;
    Quat x = {h, h, 0.0f, 0.0f}, y = {h, 0.0f, h, 0.0f}, z = {h, 0.0f, 0.0f, h};
    Vec3 ex = vec3(1.0f, 0.0f, 0.0f), ey = vec3(0.0f, 1.0f, 0.0f), ez = vec3(0.0f, 0.0f, 1.0f);
    assert_near(quat_rotate(x, ey), ez, 1e-6f);
    assert_near(quat_rotate(y, ez), ex, 1e-6f);
    assert_near(quat_rotate(z, ex), ey, 1e-6f);
    /* First about z, then about x: x -> y -> z. */
    assert_near(quat_rotate(quat_mul(x, z), ex), ez, 1e-6f);
}

static void test_identities(void **state)
{
    PL_UNUSED(state);
    for (u32 i = 0; i < ROUNDS; i++) {
        Vec3 a = random_vec(2 * i), b = random_vec(2 * i + 1);
        Quat p = random_quat(2 * i), q = random_quat(2 * i + 1);
        Vec3 c = vec3_cross(a, b);
        assert_true(fabsf(vec3_dot(c, a)) < 1e-6f && fabsf(vec3_dot(c, b)) < 1e-6f);
        /* Lagrange: |a × b|² + (a·b)² = |a|²|b|² */
        f32 dot = vec3_dot(a, b);
        assert_true(fabsf(vec3_length_squared(c) + dot * dot -
                          vec3_length_squared(a) * vec3_length_squared(b)) < 1e-5f);
        assert_true(fabsf(vec3_length(quat_rotate(q, a)) - vec3_length(a)) < 4e-6f);
        assert_near(quat_rotate_inverse(q, quat_rotate(q, a)), a, 4e-6f);
        assert_near(quat_rotate(quat_mul(p, q), a), quat_rotate(p, quat_rotate(q, a)), 4e-6f);
        Mat3 m = mat3_from_quat(q);
        assert_near(mat3_mul(m, a), quat_rotate(q, a), 4e-6f);
        assert_near(mat3_mul_transposed(m, mat3_mul(m, a)), a, 4e-6f);
        Vec3 n = vec3_normalize_or(a, vec3(1.0f, 0.0f, 0.0f));
        Vec3 t = vec3_perpendicular(n);
        assert_true(fabsf(vec3_dot(n, t)) < 1e-6f && fabsf(vec3_length(t) - 1.0f) < 1e-6f);
    }
}

/* 1 rad/s about a fixed axis for 1 s in n steps is a rotation by 1 rad, with an error that falls
 * with the square of the step (each step applies the tangent of its angle to first order). */
static void test_integrate(void **state)
{
    PL_UNUSED(state);
    f64 former = 0.0;
    for (u32 steps = 30; steps <= 240; steps *= 2) {
        Quat q = quat_identity();
        for (u32 i = 0; i < steps; i++) {
            q = quat_integrate(q, vec3(0.0f, 1.0f, 0.0f), 1.0f / (f32)steps);
        }
        f64 error = fabs(2.0 * atan2((f64)q.y, (f64)q.w) - 1.0);
        assert_true(error < 1e-4);
        if (steps > 30) {
            assert_true(former / error > 3.0 || error < 2e-6);
        }
        former = error;
    }
}

static void test_degenerate(void **state)
{
    PL_UNUSED(state);
    Quat zero = {0.0f, 0.0f, 0.0f, 0.0f}, nan = {NAN, 0.0f, 0.0f, 0.0f};
    assert_true(quat_normalize(zero).w == 1.0f);
    assert_true(quat_normalize(nan).w == 1.0f);
    Vec3 up = vec3(0.0f, 1.0f, 0.0f);
    assert_true(vec3_normalize_or(vec3_zero(), up).y == 1.0f);
    assert_false(vec3_is_finite(vec3(0.0f, INFINITY, 0.0f)));
    assert_true(f32_clamp(NAN, -1.0f, 1.0f) == -1.0f); /* as base.h says: clamping launders NaN */
    /* Both signs are the same rotation: halfway between them nothing moves. */
    Quat q = random_quat(1), minus = {-q.w, -q.x, -q.y, -q.z};
    assert_near(quat_rotate(quat_nlerp(q, minus, 0.5f), up), quat_rotate(q, up), 1e-6f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quarter_turns),
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_integrate),
        cmocka_unit_test(test_degenerate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
