/* test_soft_figures.c: plants spring back, joints keep their limits, dragged hands pull the figure
 * along. */
#include "shared/math/random.h"
#include "shared/math/trig.h"
#include "shared/soft/soft_figures.h"
#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void refuses(int result, const ErrorText *error, const SoftMesh *mesh)
{
    assert_true(result < 0);
    assert_true(error->text[0] != '\0');
    assert_null(mesh->points);
    assert_int_equal(mesh->point_count, 0);
}

static SoftPlant plant_of_a_metre(void)
{
    SoftPlant plant = {.seed = 3,
                       .height = 0.5f,
                       .radius = 0.04f,
                       .segments = 4,
                       .forks = 2,
                       .branches = 3,
                       .spread = 0.6f,
                       .shrink = 0.7f,
                       .leaf = 0.12f};
    return plant;
}

static void makers_check_their_arguments(void **unused)
{
    PL_UNUSED(unused);
    SoftMesh mesh;
    ErrorText error;
    refuses(soft_mesh_ring(&mesh, 1.0f, 2, &error), &error, &mesh);
    refuses(soft_mesh_ring(&mesh, -1.0f, 8, &error), &error, &mesh);
    refuses(soft_mesh_figure(&mesh, NAN, &error), &error, &mesh);
    SoftBridge bridge = {.length = 4, .width = 1, .rail = 0.5f, .stations = 1, .across = 3};
    refuses(soft_mesh_bridge(&mesh, &bridge, &error), &error, &mesh);
    SoftPlant plant = plant_of_a_metre();
    plant.spread = NAN;
    refuses(soft_mesh_plant(&mesh, &plant, &error), &error, &mesh);
    plant = plant_of_a_metre();
    plant.radius = plant.height;
    refuses(soft_mesh_plant(&mesh, &plant, &error), &error, &mesh);
}

static void ring_is_round(void **unused)
{
    PL_UNUSED(unused);
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_ring(&mesh, 0.5f, 48, &error), 0);
    f64 around = 0.0;
    for (u32 i = 0; i < 48; i++) {
        assert_float_equal(vec3_length(mesh.points[i]), 0.5f, 1e-6f);
        around += (f64)mesh.sticks[i].low;
    }
    assert_float_equal(around, 48.0 * sin(M_PI / 48.0), 1e-5);
    soft_mesh_finish(&mesh);
}

/* The middle row of the deck has the length in the definition. */
static void bridge_has_the_defined_slack(void **unused)
{
    PL_UNUSED(unused);
    static const f32 slacks[] = {0.0f, 0.02f, 0.1f, 0.3f};
    for (u32 k = 0; k < PL_COUNT(slacks); k++) {
        SoftBridge bridge = {.length = 6.0f,
                             .width = 1.0f,
                             .rail = 0.5f,
                             .slack = slacks[k],
                             .stations = 60,
                             .across = 3};
        SoftMesh mesh;
        ErrorText error;
        assert_int_equal(soft_mesh_bridge(&mesh, &bridge, &error), 0);
        assert_int_equal(mesh.point_count, 300);
        f64 length = 0.0;
        for (u32 s = 1; s < 60; s++) {
            length += (f64)vec3_distance(mesh.points[5 * s + 1], mesh.points[5 * s - 4]);
        }
        printf("slack %.2f: %.4f m\n", (double)slacks[k], length);
        assert_float_equal(length / 6.0 - 1.0, slacks[k], 1e-3 * (double)slacks[k] + 1e-5);
        assert_float_equal(mesh.points[295].x, 6.0f, 1e-4f);
        soft_mesh_finish(&mesh);
    }
}

/* ---- the figure ---- */

static void points_of(const SoftKit *kit, SoftRange range, Vec3 points[FIGURE_POINTS])
{
    for (u32 i = 0; i < FIGURE_POINTS; i++) {
        points[i] = soft_position(kit->soft, range.first + i);
    }
}

/* Angle of a knee or elbow, rad, negative if bent the wrong way. points [FIGURE_POINTS]; limb:
 * FIGURE_ARM or FIGURE_LEG + FIGURE_LIMB × side. */
static f32 limb_bend(const Vec3 *points, u32 limb)
{
    bool arm = limb < FIGURE_LEG;
    u32 root = arm ? FIGURE_SHOULDER + (limb - FIGURE_ARM) / FIGURE_LIMB
                   : FIGURE_HIP + (limb - FIGURE_LEG) / FIGURE_LIMB;
    Vec3 hinge =
        vec3_scale(vec3_add(points[limb + FIGURE_HINGE], points[limb + FIGURE_HINGE + 1]), 0.5f);
    Vec3 upper = vec3_sub(hinge, points[root]), lower = vec3_sub(points[limb + FIGURE_END], hinge);
    /* It bends away from the side of the cap. */
    Vec3 to = vec3_sub(hinge, points[limb + FIGURE_CAP]);
    upper = vec3_normalize_or(upper, vec3(0.0f, -1.0f, 0.0f));
    to = vec3_normalize_or(vec3_add_scaled(to, -vec3_dot(to, upper), upper), upper);
    return atan2f(vec3_dot(lower, to), vec3_dot(lower, upper));
}

static SoftDef figure_def(SoftMethod method)
{
    SoftDef def = soft_def_default();
    def.method = method;
    def.iterations = 60;
    def.bend = SOFT_BEND_NONE;
    def.stretch_compliance = 0.0f;
    def.mass_kg = 70.0f;
    def.damping = 0.5f;
    return def;
}

/* Grabs of up to 500 N pull random points to random places: knees and elbows bend, but neither the
 * wrong way nor too far. */
static void joints_keep_their_limits(void **unused)
{
    PL_UNUSED(unused);
    static const SoftMethod methods[] = {SOFT_RELAX, SOFT_XPBD};
    for (u32 m = 0; m < PL_COUNT(methods); m++) {
        SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
        SoftMesh mesh;
        ErrorText error;
        SoftDef def = figure_def(methods[m]);
        assert_int_equal(soft_mesh_figure(&mesh, 1.75f, &error), 0);
        SoftRange range = soft_kit_add(&kit, &def, &mesh);
        SoftGrab grab = {.stiffness = 2000.0f, .damping = 100.0f, .force_max = 500.0f};
        f32 least = 0.0f, most = 0.0f, strain = 0.0f;
        for (u32 pull = 0; pull < 30; pull++) {
            i32 hands[2];
            for (u32 k = 0; k < 2; k++) {
                u32 n = 4 * (2 * pull + k);
                grab.particle = range.first + (u32)(random_f32(5, n) * FIGURE_POINTS);
                grab.target = vec3(random_range(5, n + 1, -1, 1), random_range(5, n + 2, 0, 2),
                                   random_range(5, n + 3, -1, 1));
                hands[k] = soft_grab_add(kit.soft, &grab);
            }
            for (u32 t = 0; t < 15; t++) {
                soft_kit_ticks(&kit, 1);
                Vec3 points[FIGURE_POINTS];
                points_of(&kit, range, points);
                for (u32 limb = FIGURE_ARM; limb < FIGURE_POINTS; limb += FIGURE_LIMB) {
                    f32 bend = limb_bend(points, limb);
                    least = f32_min(least, bend);
                    most = f32_max(most, bend);
                }
                strain = f32_max(strain, soft_strain(kit.soft, 0));
            }
            soft_grab_remove(kit.soft, (u32)hands[0]);
            soft_grab_remove(kit.soft, (u32)hands[1]);
        }
        printf("method %u: knees and elbows bent %.3f to %.3f rad (0 to %.2f), strain %.4f\n",
               (u32)methods[m], (double)least, (double)most, (double)FIGURE_BEND_MAX,
               (double)strain);
        assert_true(least > -0.15f && most < FIGURE_BEND_MAX + 0.1f);
        assert_true(most > 1.5f);
        soft_kit_destroy(&kit);
    }
}

/* A grab drags a hand of the figure: arm and trunk follow, and the bones keep their lengths. */
static void dragging_is_inverse_kinematics(void **unused)
{
    PL_UNUSED(unused);
    static const SoftMethod methods[] = {SOFT_RELAX, SOFT_XPBD, SOFT_PBD, SOFT_XPBD_ITERATIONS};
    static const Vec3 targets[] = {
        {0.45f, 1.5f, 0.3f}, {0.3f, 1.7f, 0.25f}, {0.1f, 1.2f, 0.45f}, {0.6f, 1.1f, -0.05f}};
    SoftPin pins[2] = {{.point = FIGURE_HIP}, {.point = FIGURE_HIP + 1}};
    for (u32 m = 0; m < PL_COUNT(methods); m++) {
        SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
        SoftMesh mesh;
        ErrorText error;
        SoftDef def = figure_def(methods[m]);
        def.damping = 4.0f;
        def.pins = pins;
        def.pin_count = 2;
        assert_int_equal(soft_mesh_figure(&mesh, 1.75f, &error), 0);
        SoftRange range = soft_kit_add(&kit, &def, &mesh);
        SoftGrab grab = {.particle = range.first + FIGURE_ARM + FIGURE_END,
                         .stiffness = 2e5f,
                         .damping = 2000.0f,
                         .force_max = 5000.0f,
                         .target = targets[0]};
        i32 hand = soft_grab_add(kit.soft, &grab);
        for (u32 k = 0; k < PL_COUNT(targets); k++) {
            soft_grab(kit.soft, (u32)hand)->target = targets[k];
            soft_kit_ticks(&kit, 120);
            f32 off = vec3_distance(soft_position(kit.soft, grab.particle), targets[k]);
            f32 strain = soft_strain(kit.soft, 0);
            printf("method %u, target %u: %.2f mm off, lengths within %.3f %%\n", (u32)methods[m],
                   k, 1e3 * (double)off, 100.0 * (double)strain);
            assert_true(off < 0.01f);
            assert_true(strain < 0.01f);
        }
        soft_kit_destroy(&kit);
    }
}

/* ---- the plant ---- */

/* Mean angle between the crown's direction from the root and its direction at rest. */
static f32 lean_of(const SoftKit *kit, SoftRange range, Vec3 rest)
{
    Vec3 now = soft_kit_mean_position(kit, range);
    f32 c = vec3_dot(now, rest) / (vec3_length(now) * vec3_length(rest));
    return trig_acos_f32(f32_clamp(c, -1.0f, 1.0f)) * 57.29578f;
}

/* Wind bends it by more than 30 degrees; when the wind stops the plant springs back. */
static void plant_springs_back(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
    SoftPlant plant = plant_of_a_metre();
    SoftPin pins[SOFT_PLANT_ROOTS] = {{.point = 0}, {.point = 1}, {.point = 2}};
    SoftMesh mesh;
    ErrorText error;
    SoftDef def = soft_def_default();
    def.bend = SOFT_BEND_DIHEDRAL;
    def.bend_compliance = 1e-2f;
    def.stretch_compliance = 3e-5f;
    def.damping = 1.0f;
    def.mass_kg = 0.3f;
    def.pins = pins;
    def.pin_count = SOFT_PLANT_ROOTS;
    assert_int_equal(soft_mesh_plant(&mesh, &plant, &error), 0);
    u32 points = mesh.point_count;
    SoftRange range = soft_kit_add(&kit, &def, &mesh);
    Vec3 rest = soft_kit_mean_position(&kit, range);
    soft_kit_ticks(&kit, 180);
    f32 sagged = lean_of(&kit, range, rest);
    soft_set_wind(kit.soft, vec3(50.0f, 0.0f, 0.0f), 1.2f);
    f32 pushed = 0.0f;
    for (u32 i = 0; i < 60 && pushed < 30.0f; i++) {
        soft_kit_ticks(&kit, 1);
        pushed = lean_of(&kit, range, rest);
    }
    soft_set_wind(kit.soft, vec3_zero(), 1.2f);
    soft_kit_ticks(&kit, 360);
    f32 back = lean_of(&kit, range, rest);
    printf("%u points: leans %.2f degrees by itself, %.1f in wind, %.2f afterwards\n", points,
           (double)sagged, (double)pushed, (double)back);
    assert_true(sagged < 1.0f);
    assert_true(pushed > 20.0f);
    assert_float_equal(back, sagged, 0.5f);
    soft_kit_destroy(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makers_check_their_arguments),
        cmocka_unit_test(ring_is_round),
        cmocka_unit_test(bridge_has_the_defined_slack),
        cmocka_unit_test(joints_keep_their_limits),
        cmocka_unit_test(dragging_is_inverse_kinematics),
        cmocka_unit_test(plant_springs_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
