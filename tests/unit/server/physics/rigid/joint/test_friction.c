/* test_friction.c: dry friction about a point against Coulomb's law: at most its size, against the
 * motion that remains, and all of it wherever motion remains. */
#include "server/physics/rigid/joint/joint_row.h"
#include "tests/support/truth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* R diag(x, y, z) Rᵀ */
static Symmetric3 response_of(Quat q, f32 x, f32 y, f32 z)
{
    Vec3 a = quat_rotate(q, vec3(1.0f, 0.0f, 0.0f)), b = quat_rotate(q, vec3(0.0f, 1.0f, 0.0f));
    Vec3 c = quat_rotate(q, vec3(0.0f, 0.0f, 1.0f));
    return (Symmetric3){x * a.x * a.x + y * b.x * b.x + z * c.x * c.x,
                        x * a.y * a.y + y * b.y * b.y + z * c.y * c.y,
                        x * a.z * a.z + y * b.z * b.z + z * c.z * c.z,
                        x * a.x * a.y + y * b.x * b.y + z * c.x * c.y,
                        x * a.x * a.z + y * b.x * b.z + z * c.x * c.z,
                        x * a.y * a.z + y * b.y * b.z + z * c.y * c.z};
}

static void test_coulomb(void **state)
{
    (void)state;
    TruthCase c = {.seed = 7};
    u32 slides = 0, stops = 0;
    for (u32 i = 0; i < 20000; i++) {
        f32 size = truth_log_range(&c, 1e-4f, 1e4f);
        f32 y = truth_log_range(&c, 1e-2f, 1.0f), z = truth_log_range(&c, 1e-2f, 1.0f);
        Symmetric3 k = response_of(truth_rotation(&c), size, size * y, size * z);
        f32 speed = truth_log_range(&c, 1e-3f, 30.0f);
        f32 most = speed / size * truth_log_range(&c, 1e-8f, 1e4f);
        Vec3 before = vec3_scale(truth_direction(&c), speed);
        Vec3 moment = friction_moment(&k, before, most);
        Vec3 after = vec3_add(before, symmetric_mul(&k, moment));
        f32 length = vec3_length(moment), left = vec3_length(after);
        assert_true(length <= 1.00001f * most);
        /* Twice the energy that it takes. */
        assert_true(vec3_dot(moment, vec3_add(before, after)) <= 0.0f);
        if (left <= 1e-3f * speed) {
            stops++;
            continue;
        }
        slides++;
        assert_true(length >= 0.9999f * most);
        assert_true(vec3_length(vec3_cross(moment, after)) <= 2e-3f * length * speed);
        assert_true(vec3_dot(moment, after) < 0.0f);
    }
    assert_true(slides > 1000 && stops > 1000);
}

/* Bodies that cannot rotate need no moment, and numbers stay finite. */
static void test_nothing_turns(void **state)
{
    (void)state;
    Symmetric3 none = {0}, about_x = {2.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    Vec3 speed = vec3(1.0f, 0.0f, 0.0f);
    assert_true(vec3_length(friction_moment(&none, speed, 1.0f)) == 0.0f);
    assert_true(vec3_length(friction_moment(&about_x, vec3_zero(), 1.0f)) == 0.0f);
    Vec3 stop = friction_moment(&about_x, speed, 1e30f);
    assert_true(fabsf(stop.x + 0.5f) < 1e-4f && stop.y == 0.0f && stop.z == 0.0f);
    assert_true(fabsf(friction_moment(&about_x, speed, 1e-30f).x + 1e-30f) < 1e-33f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coulomb),
        cmocka_unit_test(test_nothing_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
