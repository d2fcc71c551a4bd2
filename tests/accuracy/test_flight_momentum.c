/* test_flight_momentum.c: five fast boxes meet within a tick in which each would move by twice its
 * size. Impacts that deflect some of them, and bodies that then move together until the tick ends,
 * conserve angular momentum. With lever arms taken at the start of the tick, or impacts of bodies
 * that had already passed each other, it changed by 3.1 % on average and 21 % at most. */
#include "shared/math/random.h"
#include "tests/support/rigid_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum {
    CASES = 200,
    BODIES = 5
};

static Vec3 any_vector(u64 seed, u32 index, f32 most)
{
    return vec3(random_range(seed, 3 * index, -most, most),
                random_range(seed, 3 * index + 1, -most, most),
                random_range(seed, 3 * index + 2, -most, most));
}

/* Change of the angular momentum of boxes that meet near the origin, relative to its initial
 * value. */
static f64 change_of(u64 seed)
{
    Rigid *rigid = rigid_create(&(RigidDef){
        .body_capacity = BODIES, .tick_s = 1.0f / 60.0f, .substeps = 4, .no_sleep = true});
    assert_non_null(rigid);
    f64 sum = 0.0;
    for (u32 i = 0; i < BODIES; i++) {
        BodyDef def = kit_box(vec3_zero(), vec3(0.06f, 0.04f, 0.05f));
        Vec3 out = vec3_normalize_or(any_vector(seed, 4 * i, 1.0f), vec3(1.0f, 0.0f, 0.0f));
        def.mass_kg = 1.0f;
        def.position = vec3_add_scaled(any_vector(seed, 4 * i + 1, 0.05f), 0.35f, out);
        def.velocity = vec3_scale(out, -12.0f);
        def.angular_velocity = any_vector(seed, 4 * i + 2, 10.0f);
        kit_add(rigid, &def);
        sum += (f64)vec3_length(vec3_cross(def.position, def.velocity));
    }
    KitMotion first = kit_motion(rigid);
    for (u32 i = 0; i < 12; i++) {
        kit_tick(rigid);
    }
    KitMotion last = kit_motion(rigid);
    rigid_destroy(rigid);
    f64 x = last.angular[0] - first.angular[0], y = last.angular[1] - first.angular[1],
        z = last.angular[2] - first.angular[2];
    assert_true(last.energy <= 1.001 * first.energy);
    return sqrt(x * x + y * y + z * z) / sum;
}

static void groups_keep_angular_momentum(void **unused)
{
    PL_UNUSED(unused);
    f64 mean = 0.0, worst = 0.0;
    for (u64 seed = 0; seed < CASES; seed++) {
        f64 change = change_of(seed);
        mean += change / CASES;
        worst = fmax(worst, change);
    }
    printf("change of angular momentum: mean %.4f, worst %.4f\n", mean, worst);
    assert_true(mean < 0.02);
    assert_true(worst < 0.15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(groups_keep_angular_momentum)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
