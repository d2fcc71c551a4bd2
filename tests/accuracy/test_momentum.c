/* test_momentum.c: a cloud of bodies of all kinds that collide in free space keeps its momentum and
 * its angular momentum, and never wins energy. */
#include "shared/random.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    BODIES = 120
};

/* They start on a grid and fly to the middle, with spins. */
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
        def.spin = vec3(random_range(4, i, -3.0f, 3.0f), random_range(5, i, -3.0f, 3.0f),
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

static void check_cloud(f32 restitution, f32 friction)
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
    assert_true(momentum < 1e-5);
    assert_true(angular < 0.01);
    assert_true(most < 1.001);
    rigid_destroy(rigid);
}

static void clouds_keep_what_is_kept(void **unused)
{
    PL_UNUSED(unused);
    check_cloud(0.0f, 0.0f);
    check_cloud(0.0f, 0.6f);
    check_cloud(0.5f, 0.6f);
    check_cloud(1.0f, 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clouds_keep_what_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
