/* test_momentum.c: a cloud of bodies of all kinds that collide in free space conserves momentum
 * and angular momentum, and never gains energy. */
#include "shared/math/random.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/near.h"

enum {
    BODIES = 120
};

/* They start on a grid and fly towards the centre, spinning. */
static Rigid *cloud(f32 restitution, f32 friction)
{
    Rigid *rigid = kit_world(BODIES, 4, 0.0f);
    for (u32 i = 0; i < BODIES; i++) {
        Vec3 p = vec3((f32)(i % 5) - 2.0f, (f32)(i / 5 % 5) - 2.0f, (f32)(i / 25) - 2.0f);
        BodyDef def = kit_box(p, vec3(0.35f, 0.3f, 0.25f));
        if (i % 3 == 1) {
            def.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 0.4f};
        } else if (i % 3 == 2) {
            def.shape = (Shape){.kind = SHAPE_CAPSULE, .radius = 0.2f, .half_height = 0.25f};
        }
        def.mass_kg = random_range(3, i, 1.0f, 10.0f);
        def.restitution = restitution;
        def.friction = friction;
        def.velocity = vec3_scale(p, -1.5f);
        def.angular_velocity =
            vec3(random_range(4, i, -3.0f, 3.0f), random_range(5, i, -3.0f, 3.0f),
                 random_range(6, i, -3.0f, 3.0f));
        kit_add(rigid, &def);
    }
    return rigid;
}

static f64 distance(const f64 a[3], const f64 b[3])
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                (a[2] - b[2]) * (a[2] - b[2]));
}

/* Returns the fraction of its energy that is left. */
static f64 check_cloud(f32 restitution, f32 friction)
{
    Rigid *rigid = cloud(restitution, friction);
    KitMotion first = kit_motion(rigid), now = first;
    f64 scale = 0.0, most = 0.0, before = first.energy, gain = 0.0;
    u32 contacts = 0;
    for (u32 i = 0; i < BODIES; i++) {
        scale += (f64)(rigid_mass(rigid, i) * vec3_length(rigid_velocity(rigid, i)));
    }
    for (u32 t = 0; t < 180; t++) {
        kit_tick(rigid);
        now = kit_motion(rigid);
        most = fmax(most, now.energy / first.energy);
        gain = fmax(gain, now.energy / before - 1.0);
        before = now.energy;
        RigidStats stats;
        rigid_stats(rigid, &stats);
        contacts = u32_max(contacts, stats.touching);
    }
    f64 momentum = distance(now.momentum, first.momentum) / scale;
    f64 angular = distance(now.angular, first.angular) / scale; /* over an arm of 1 m */
    printf("e %.1f, mu %.1f: momentum off by %.1e, angular by %.1e, energy %.3f, at most %.4f, "
           "won %.5f in a tick, %u contacts\n",
           (double)restitution, (double)friction, momentum, angular, now.energy / first.energy,
           most, gain, contacts);
    assert_true(contacts > 60);
    expect_at_most("momentum off by", momentum, 1e-6);
    expect_at_most("angular momentum off by", angular, 0.002);
    expect_at_most("energy at most", most, 1.0001);
    expect_at_most("energy won in a tick", gain, 1e-4);
    rigid_destroy(rigid);
    return now.energy / first.energy;
}

static void clouds_keep_what_is_kept(void **unused)
{
    PL_UNUSED(unused);
    f64 smooth = check_cloud(0.0f, 0.0f), rough = check_cloud(0.0f, 0.6f);
    f64 bouncing = check_cloud(0.5f, 0.6f);
    /* Elastic impacts dissipate nothing; plastic ones nearly all relative motion, friction also
     * sliding and spin; restitution returns some of it. */
    expect_near("energy left by elastic blows", check_cloud(1.0f, 0.0f), 1.0, 0.002);
    expect_within("energy left by smooth plastic blows", smooth, 0.02, 0.3);
    expect_within("energy left by rough plastic blows", rough, 0.005, 0.6 * smooth);
    expect_within("energy left by rough half elastic blows", bouncing, rough, smooth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clouds_keep_what_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
