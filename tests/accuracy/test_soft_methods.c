/* test_soft_methods.c: the methods of soft bodies against laws and numbers from outside. */
#include "server/physics/soft/store.h"
#include "shared/random.h"
#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const names[SOFT_METHOD_COUNT] = {"xpbd",     "xpbd iterations", "pbd",  "euler",
                                                     "midpoint", "verlet",          "relax"};

#define GRAVITY 9.81f

/* Ticks without a rigid world. */
static void run(Soft *soft, u32 ticks, f32 tick_s, u32 substeps)
{
    for (u32 i = 0; i < ticks; i++) {
        soft_begin(soft, NULL, NULL, tick_s);
        for (u32 s = 0; s < substeps; s++) {
            soft_substep(soft, NULL, tick_s / (f32)substeps);
        }
    }
}

static Soft *quiet_soft(Vec3 gravity, u32 steps)
{
    Soft *soft = soft_create();
    assert_non_null(soft);
    soft_set_gravity(soft, gravity);
    soft_set_wind(soft, vec3_zero(), 0.0f);
    soft_set_steps(soft, steps);
    return soft;
}

static SoftDef plain_def(SoftMethod method)
{
    SoftDef def = soft_def_default();
    def.method = method;
    def.bend = SOFT_BEND_NONE;
    def.damping = 0.0f;
    def.mass_kg = 1.0f;
    return def;
}

static void add(Soft *soft, SoftDef *def, SoftMesh *mesh)
{
    SoftRange range;
    ErrorText error;
    def->mesh = mesh;
    int result = soft_add(soft, NULL, def, &range, &error);
    soft_mesh_finish(mesh);
    if (result != 0) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(soft_build(soft), 0);
}

/* ---- statics ---- */

/* A rope of 1.1 m between points 1 m apart sags by 0.200301 m: with s = (e^q − e^−q) / 2q = 1.1
 * for q = 1 / 2a the sag is a (cosh q − 1). */
static f64 hang(SoftMethod method, u32 iterations, u32 steps)
{
    enum {
        POINTS = 41
    };
    Soft *soft = quiet_soft(vec3(0.0f, -GRAVITY, 0.0f), steps);
    SoftDef def = plain_def(method);
    SoftPin pins[2] = {{.point = 0}, {.point = POINTS - 1}};
    SoftMesh mesh;
    ErrorText error;
    def.damping = 3.0f;
    def.iterations = iterations;
    def.stretch_compliance = 0.0f;
    def.pins = pins;
    def.pin_count = 2;
    assert_int_equal(soft_mesh_rope(&mesh, POINTS, 1.1f, &error), 0);
    /* Hung up as a V, so that the span is 1 m from the start. */
    for (u32 i = 0; i < POINTS; i++) {
        f32 along = (f32)i / (POINTS - 1), down = 0.5f - fabsf(along - 0.5f);
        mesh.points[i] = vec3(along, -down * sqrtf(1.1f * 1.1f - 1.0f), 0.0f);
    }
    add(soft, &def, &mesh);
    run(soft, 360, 1.0f / 60.0f, 8);
    f64 sag = -(f64)soft_position(soft, POINTS / 2).y;
    printf("%-16s sag %.6f m, strain %.5f\n", names[method], sag, (double)soft_strain(soft, 0));
    soft_destroy(soft);
    return sag;
}

static void rope_hangs_as_catenary(void **unused)
{
    PL_UNUSED(unused);
    for (u32 method = 0; method < SOFT_METHOD_COUNT; method++) {
        f64 sag = hang((SoftMethod)method, 400, 16);
        assert_float_equal(sag, 0.200301, 5e-4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rope_hangs_as_catenary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
