/* test_hands.c: hostile grabs on soft bodies: teleporting, with 10 kN, non-finite, many on one
 * particle, on all corners at once. State stays finite and inside the world, and 2 s after
 * release everything is intact. */
#include "shared/base/limits.h"
#include "shared/math/random.h"
#include "tests/support/soft_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const Vec3 gravity = {0.0f, -9.81f, 0.0f};

enum {
    HANDS = 12,
    PULLED = 120,
    AFTER = 120,
    BODIES = 4
};

/* Strain allowed 2 s after release, by body; a cloth may be knotted. */
static const f32 strain_after[BODIES] = {0.5f, 0.5f, 0.15f, 0.5f};
static const char *const names[BODIES] = {"cloth", "jelly", "rope", "balloon"};

static void add_bodies(SoftKit *kit, SoftRange ranges[BODIES])
{
    SoftMesh mesh;
    ErrorText error;
    BodyDef floor = body_def_default();
    floor.shape.kind = SHAPE_PLANE;
    floor.motion = BODY_STATIC;
    rigid_add(kit->rigid, &floor);
    SoftDef def = soft_kit_cloth_def();
    def.position = vec3(0.0f, 1.0f, 0.0f);
    def.damping = 0.5f;
    def.thickness = 0.01f;
    def.self_collision = true;
    ranges[0] = soft_kit_add_cloth(kit, &def, 17, 17, 1.0f, 1.0f);
    def = soft_kit_cloth_def();
    def.position = vec3(1.5f, 0.5f, 0.0f);
    def.mass_kg = 5.0f;
    def.damping = 0.5f;
    def.stretch_compliance = 1e-4f;
    def.volume_compliance = 0.0f;
    def.bend = SOFT_BEND_NONE;
    const u32 cells[3] = {4, 4, 4};
    assert_int_equal(soft_mesh_box(&mesh, vec3(0.4f, 0.4f, 0.4f), cells, true, &error), 0);
    ranges[1] = soft_kit_add(kit, &def, &mesh);
    def = soft_kit_cloth_def();
    def.position = vec3(-1.5f, 2.0f, 0.3f);
    def.mass_kg = 0.5f;
    def.damping = 0.5f;
    def.self_collision = true;
    assert_int_equal(soft_mesh_rope(&mesh, 30, 2.0f, &error), 0);
    ranges[2] = soft_kit_add(kit, &def, &mesh);
    def = soft_kit_cloth_def();
    def.position = vec3(0.0f, 1.0f, 1.5f);
    def.mass_kg = 0.1f;
    def.damping = 0.5f;
    def.stretch_compliance = 1e-3f;
    def.pressure = 500.0f;
    assert_int_equal(soft_mesh_sphere(&mesh, 0.3f, 2, &error), 0);
    ranges[3] = soft_kit_add(kit, &def, &mesh);
}

static void assert_bounded(const SoftKit *kit)
{
    for (u32 i = 0; i < soft_particles(kit->soft); i++) {
        Vec3 x = soft_position(kit->soft, i), v = soft_velocity(kit->soft, i);
        assert_true(vec3_is_finite(x) && vec3_is_finite(v));
        assert_true(fabsf(x.x) <= WORLD_EXTENT_MAX_M && fabsf(x.y) <= WORLD_EXTENT_MAX_M &&
                    fabsf(x.z) <= WORLD_EXTENT_MAX_M);
        assert_true(vec3_length(v) < 1e4f);
    }
    for (u32 i = 0; i < rigid_slots(kit->rigid); i++) {
        assert_true(vec3_is_finite(rigid_position(kit->rigid, i)) &&
                    vec3_is_finite(rigid_velocity(kit->rigid, i)));
    }
}

/* Kinetic and potential energy, J. */
static f64 energy(const SoftKit *kit)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < soft_particles(kit->soft); i++) {
        f64 m = 1.0 / (f64)soft_inverse_mass(kit->soft, i);
        sum += 0.5 * m * (f64)vec3_length_squared(soft_velocity(kit->soft, i));
        sum += 9.81 * m * (f64)soft_position(kit->soft, i).y;
    }
    return sum;
}

static Vec3 any_place(u64 seed, u32 n, f32 far)
{
    return vec3(random_range(seed, 3 * n, -far, far), random_range(seed, 3 * n + 1, 0.0f, far),
                random_range(seed, 3 * n + 2, -far, far));
}

static u32 any_index(u64 seed, u32 n, u32 count)
{
    return u32_min((u32)random_range(seed, n, 0.0f, (f32)count), count - 1);
}

/* Moves a grab in a tick: mostly nearby, sometimes far away, sometimes to NaN. */
static void move_hand(SoftGrab *grab, u64 seed, u32 n)
{
    f32 dice = random_range(seed + 1, n, 0.0f, 1.0f);
    if (dice < 0.05f) {
        grab->target = vec3(NAN, INFINITY, -INFINITY);
    } else if (dice < 0.1f) {
        grab->target = any_place(seed, n, 1e30f);
    } else if (dice < 0.2f) {
        grab->target = any_place(seed, n, 1e3f);
    } else if (dice < 0.6f) {
        grab->target = any_place(seed, n, 3.0f);
    }
}

static void pull(SoftKit *kit, u64 seed, u32 ticks)
{
    i32 hands[HANDS];
    u32 count = soft_particles(kit->soft), one = any_index(seed, 7777, count);
    for (u32 k = 0; k < HANDS; k++) {
        /* A third of them share one particle. */
        SoftGrab grab = {.particle = k % 3 == 0 ? one : any_index(seed, 1000 + k, count),
                         .target = any_place(seed, 2000 + k, 3.0f),
                         .stiffness = k % 2 == 0 ? 1e6f : 500.0f,
                         .damping = k % 4 == 0 ? 0.0f : 10.0f,
                         .force_max = k % 5 == 4 ? 20.0f : 1e4f};
        hands[k] = soft_grab_add(kit->soft, &grab);
        assert_true(hands[k] >= 0);
    }
    for (u32 t = 0; t < ticks; t++) {
        for (u32 k = 0; k < HANDS; k++) {
            move_hand(soft_grab(kit->soft, (u32)hands[k]), seed, 10000 + t * HANDS + k);
        }
        soft_kit_ticks(kit, 1);
        assert_bounded(kit);
    }
    for (u32 k = 0; k < HANDS; k++) {
        soft_grab_remove(kit->soft, (u32)hands[k]);
    }
}

static void fuzzed_hands_break_nothing(void **unused)
{
    PL_UNUSED(unused);
    for (u64 seed = 1; seed <= 2; seed++) {
        SoftKit kit = soft_kit_create(gravity);
        SoftRange ranges[BODIES];
        add_bodies(&kit, ranges);
        pull(&kit, seed * 100, PULLED);
        /* Stretched parts have sprung back. */
        soft_kit_ticks(&kit, AFTER / 4);
        f64 let_go = energy(&kit);
        soft_kit_ticks(&kit, 3 * AFTER / 4);
        assert_bounded(&kit);
        f64 after = energy(&kit);
        printf("seed %u: %.4g J half a second later, %.4g J 2 s later; strain", (u32)seed, let_go,
               after);
        for (u32 b = 0; b < BODIES; b++) {
            printf(" %s %.3f", names[b], (double)soft_strain(kit.soft, ranges[b].body));
        }
        printf("\n");
        for (u32 b = 0; b < BODIES; b++) {
            assert_true(soft_strain(kit.soft, ranges[b].body) < strain_after[b]);
        }
        assert_true(after < 1.02 * let_go + 1.0);
        soft_kit_destroy(&kit);
    }
}

static void corners_pulled_apart(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(gravity);
    SoftDef def = soft_kit_cloth_def();
    def.position = vec3(0.0f, 5.0f, 0.0f);
    def.damping = 0.5f;
    def.self_collision = true;
    SoftRange range = soft_kit_add_cloth(&kit, &def, 17, 17, 1.0f, 1.0f);
    static const u32 corners[4] = {0, 16, 272, 288};
    for (u32 k = 0; k < 4; k++) {
        SoftGrab grab = {.particle = range.first + corners[k],
                         .target =
                             vec3(k % 2 == 0 ? -100.0f : 100.0f, k < 2 ? -100.0f : 100.0f, 0.0f),
                         .stiffness = 1e5f,
                         .damping = 10.0f,
                         .force_max = 1e4f};
        assert_true(soft_grab_add(kit.soft, &grab) >= 0);
    }
    f32 most = 0.0f;
    for (u32 i = 0; i < 60; i++) {
        soft_kit_ticks(&kit, 1);
        assert_bounded(&kit);
        most = f32_max(most, soft_strain(kit.soft, range.body));
    }
    for (u32 k = 0; k < 4; k++) {
        soft_grab_remove(kit.soft, k);
    }
    soft_kit_ticks(&kit, 120);
    f32 left = soft_strain(kit.soft, range.body);
    printf("10 kN at each corner: strain %.2f at most, %.3f 2 s later\n", (double)most,
           (double)left);
    assert_bounded(&kit);
    assert_true(left < 0.1f);
    soft_kit_destroy(&kit);
}

/* 50 kg of steel fall on a jelly and squeeze it against the floor. */
static void crushed_between_bodies(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(gravity);
    SoftRange ranges[BODIES];
    add_bodies(&kit, ranges);
    Shape plate = {.kind = SHAPE_BOX, .half = {0.5f, 0.1f, 0.5f}};
    BodyId id = soft_kit_add_body(&kit, plate, BODY_DYNAMIC, 50.0f, vec3(1.7f, 1.5f, 0.2f),
                                  vec3(0.0f, -5.0f, 0.0f));
    for (u32 i = 0; i < 120; i++) {
        soft_kit_ticks(&kit, 1);
        assert_bounded(&kit);
    }
    Vec3 at = rigid_position(kit.rigid, id.slot);
    printf("plate at %.3f m, jelly's strain %.2f\n", (double)at.y,
           (double)soft_strain(kit.soft, ranges[1].body));
    assert_true(at.y > 0.0f && at.y < 2.0f);
    rigid_remove(kit.rigid, id);
    soft_kit_ticks(&kit, 120);
    assert_bounded(&kit);
    printf("strain %.3f after it is gone\n", (double)soft_strain(kit.soft, ranges[1].body));
    assert_true(soft_strain(kit.soft, ranges[1].body) < strain_after[1]);
    soft_kit_destroy(&kit);
}

static void nothing_leaves_the_world(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
    SoftDef def = soft_kit_cloth_def();
    def.position = vec3(100.0f, -16350.0f, 0.0f);
    def.velocity = vec3(0.0f, -90.0f, 0.0f);
    def.self_collision = true;
    SoftRange range = soft_kit_add_cloth(&kit, &def, 9, 9, 1.0f, 1.0f);
    soft_kit_ticks(&kit, 120);
    assert_bounded(&kit);
    printf("lowest at %.1f m\n", (double)soft_position(kit.soft, range.first).y);
    soft_kit_destroy(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fuzzed_hands_break_nothing),
        cmocka_unit_test(corners_pulled_apart),
        cmocka_unit_test(crushed_between_bodies),
        cmocka_unit_test(nothing_leaves_the_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
