/* test_projectile.c: free flight and bounces against the parabola and eⁿ. */
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Height after 1 s of a ball thrown up with 10 m/s, minus the parabola's. */
static f32 fall_error(u32 substeps)
{
    Rigid *rigid = kit_world(1, substeps, KIT_GRAVITY_M_S2);
    BodyDef def = kit_ball(vec3_zero(), 0.1f);
    def.velocity = vec3(3.0f, 10.0f, -2.0f);
    u32 ball = kit_add(rigid, &def);
    kit_run(rigid, 1.0f);
    Vec3 p = rigid_position(rigid, ball);
    assert_float_equal(p.x, 3.0f, 5e-6f);
    assert_float_equal(p.z, -2.0f, 5e-6f);
    assert_float_equal(rigid_velocity(rigid, ball).y, 10.0f - KIT_GRAVITY_M_S2, 1e-4f);
    rigid_destroy(rigid);
    return p.y - (10.0f - 0.5f * KIT_GRAVITY_M_S2);
}

/* A body without contact follows its parabola for any substep. */
static void parabola_is_exact(void **unused)
{
    PL_UNUSED(unused);
    for (u32 n = 1; n <= 16; n *= 2) {
        f32 error = fall_error(n);
        printf("%2u substeps: %.4f mm off\n", n, (double)error * 1e3);
        assert_float_equal(error, 0.0f, 5e-6f);
    }
}

static void gravity_scale_scales(void **unused)
{
    PL_UNUSED(unused);
    static const f32 scales[] = {0.0f, 0.5f, 2.0f, -1.0f};
    for (u32 i = 0; i < PL_COUNT(scales); i++) {
        Rigid *rigid = kit_world(1, 4, KIT_GRAVITY_M_S2);
        BodyDef def = kit_ball(vec3_zero(), 0.1f);
        def.gravity_scale = scales[i];
        u32 ball = kit_add(rigid, &def);
        kit_run(rigid, 1.0f);
        assert_float_equal(rigid_velocity(rigid, ball).y, -scales[i] * KIT_GRAVITY_M_S2, 1e-4f);
        rigid_destroy(rigid);
    }
}

/* Tops of the first bounces of a ball that falls 2 m, as fractions of 2 m. */
static u32 bounce_tops(f32 e, u32 substeps, f32 *tops, u32 capacity)
{
    Rigid *rigid = kit_world(2, substeps, KIT_GRAVITY_M_S2);
    BodyDef plane = kit_plane(quat_identity()), def = kit_ball(vec3(0.0f, 2.2f, 0.0f), 0.2f);
    def.restitution = e;
    kit_add(rigid, &plane);
    u32 ball = kit_add(rigid, &def), count = 0;
    bool rising = false;
    for (u32 i = 0; i < 1200 && count < capacity; i++) {
        kit_tick(rigid);
        /* The true top lies between ticks: computed exactly from current height and speed. */
        f32 v = rigid_velocity(rigid, ball).y;
        f32 top = rigid_position(rigid, ball).y - 0.2f + v * v / (2.0f * KIT_GRAVITY_M_S2);
        if (rising && v <= 0.0f) {
            tops[count++] = top / 2.0f;
        }
        rising = v > 0.0f;
    }
    rigid_destroy(rigid);
    return count;
}

static void bounces_reach_powers_of_e(void **unused)
{
    PL_UNUSED(unused);
    static const f32 es[] = {0.3f, 0.5f, 0.7f, 0.8f, 0.9f};
    for (u32 i = 0; i < PL_COUNT(es); i++) {
        f32 tops[4], expected = 1.0f, e2 = es[i] * es[i];
        u32 bounces = es[i] < 0.4f ? 2 : 4;
        assert_int_equal(bounce_tops(es[i], 4, tops, bounces), bounces);
        for (u32 n = 0; n < bounces; n++) {
            expected *= e2;
            printf("e %.1f, bounce %u: %.4f of the height, expected %.4f\n", (double)es[i], n + 1,
                   (double)tops[n], (double)expected);
            assert_float_equal(tops[n], expected, 0.002f * (f32)(n + 1) * expected + 5e-4f);
        }
    }
}

/* With e = 1 energy neither grows nor decays. */
static void elastic_bounces_do_not_decay(void **unused)
{
    PL_UNUSED(unused);
    for (u32 substeps = 1; substeps <= 16; substeps *= 4) {
        f32 tops[10];
        assert_int_equal(bounce_tops(1.0f, substeps, tops, 10), 10);
        printf("e 1.0, %u substeps: bounce 1 %.4f, bounce 10 %.4f of the height\n", substeps,
               (double)tops[0], (double)tops[9]);
        for (u32 n = 0; n < 10; n++) {
            assert_float_equal(tops[n], 1.0f, substeps == 1 ? 0.01f : 0.002f);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parabola_is_exact),
        cmocka_unit_test(gravity_scale_scales),
        cmocka_unit_test(bounces_reach_powers_of_e),
        cmocka_unit_test(elastic_bounces_do_not_decay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
