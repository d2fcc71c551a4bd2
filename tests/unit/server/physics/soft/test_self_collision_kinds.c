/* test_self_collision_kinds.c: contact between bodies of different kinds: closed, open, strings;
 * momentum, friction, and independence of the number of threads. */
#include "shared/math/random.h"
#include "tests/support/soft_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const Vec3 gravity = {0.0f, -9.81f, 0.0f};
/* Rotates a grid from the x–y plane to x–z. */
static const Quat flat = {0.70710678f, -0.70710678f, 0.0f, 0.0f};

static SoftRange add_jelly(SoftKit *kit, Vec3 at, Vec3 velocity, f32 mass)
{
    SoftMesh mesh;
    ErrorText error;
    const u32 cells[3] = {3, 3, 3};
    assert_int_equal(soft_mesh_box(&mesh, vec3(0.3f, 0.3f, 0.3f), cells, true, &error), 0);
    SoftDef def = soft_kit_cloth_def();
    def.position = at;
    def.velocity = velocity;
    def.mass_kg = mass;
    def.stretch_compliance = 1e-4f;
    def.volume_compliance = 0.0f;
    def.bend = SOFT_BEND_NONE;
    def.thickness = 0.01f;
    return soft_kit_add(kit, &def, &mesh);
}

static SoftRange add_rope(SoftKit *kit, SoftDef *def, u32 points, f32 length)
{
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_rope(&mesh, points, length, &error), 0);
    return soft_kit_add(kit, def, &mesh);
}

static f32 lowest(const SoftKit *kit, SoftRange range)
{
    f32 low = INFINITY;
    for (u32 i = range.first; i < range.first + range.count; i++) {
        low = f32_min(low, soft_position(kit->soft, i).y);
    }
    return low;
}

static f32 highest(const SoftKit *kit, SoftRange range)
{
    f32 high = -INFINITY;
    for (u32 i = range.first; i < range.first + range.count; i++) {
        high = f32_max(high, soft_position(kit->soft, i).y);
    }
    return high;
}

/* Two jellies collide in free space without external forces: momentum is conserved, and they
 * separate or stay together, but do not pass through each other. */
static void colliding_jellies_keep_momentum(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftRange a = add_jelly(&kit, vec3(0.0f, 0.0f, 0.0f), vec3(3.0f, 0.0f, 0.0f), 2.0f);
    SoftRange b = add_jelly(&kit, vec3(0.5f, 0.07f, 0.04f), vec3(-1.0f, 0.0f, 0.0f), 1.0f);
    f64 before[3], after[3];
    soft_kit_momentum(&kit, before);
    soft_kit_ticks(&kit, 60);
    soft_kit_momentum(&kit, after);
    f64 change = soft_kit_drift(before, after, 7.0);
    f32 va = soft_kit_mean_velocity(&kit, a).x, vb = soft_kit_mean_velocity(&kit, b).x;
    f32 apart = soft_kit_mean_position(&kit, b).x - soft_kit_mean_position(&kit, a).x;
    printf("jellies of 2 and 1 kg at 3 and -1 m/s: then %.3f and %.3f, momentum changed by %.1e\n",
           (double)va, (double)vb, change);
    assert_true(change < 1e-5);
    assert_true(vb >= va - 0.01f && apart > 0.25f);
    /* Energy does not grow: 9 + 0.5 J kinetic. */
    assert_true(va * va + 0.5f * vb * vb < 9.5f);
    soft_kit_destroy(&kit);
}

/* A cloth held at its four corners carries a jelly of five times its mass. */
static void jelly_lies_on_cloth(void **unused)
{
    PL_UNUSED(unused);
    static const SoftPin pins[4] = {{.point = 0}, {.point = 16}, {.point = 272}, {.point = 288}};
    SoftKit kit = soft_kit_create(gravity);
    SoftDef def = soft_kit_cloth_def();
    def.position = vec3(-0.5f, 1.0f, 0.5f);
    def.orientation = flat;
    def.thickness = 0.01f;
    def.damping = 1.0f;
    def.pins = pins;
    def.pin_count = 4;
    SoftRange cloth = soft_kit_add_cloth(&kit, &def, 17, 17, 1.0f, 1.0f);
    SoftRange jelly = add_jelly(&kit, vec3(0.0f, 1.25f, 0.0f), vec3_zero(), 1.0f);
    soft_kit_ticks(&kit, 150);
    f32 under = lowest(&kit, cloth), at = soft_kit_mean_position(&kit, jelly).y;
    printf("cloth's lowest %.3f m, jelly at %.3f m, from %.3f m\n", (double)under, (double)at,
           (double)lowest(&kit, jelly));
    assert_true(under > 0.6f && at - under > 0.12f && at - under < 0.3f);
    soft_kit_destroy(&kit);
}

/* A jelly on a jelly on the floor: their centres are 0.3 m and two thicknesses apart, minus
 * compression by their weight. */
static void jelly_lies_on_jelly(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(gravity);
    BodyDef floor = body_def_default();
    floor.shape.kind = SHAPE_PLANE;
    floor.motion = BODY_STATIC;
    rigid_add(kit.rigid, &floor);
    SoftRange low = add_jelly(&kit, vec3(0.0f, 0.17f, 0.0f), vec3_zero(), 1.0f);
    SoftRange high = add_jelly(&kit, vec3(0.03f, 0.55f, -0.02f), vec3_zero(), 1.0f);
    soft_kit_ticks(&kit, 150);
    Vec3 apart = vec3_sub(soft_kit_mean_position(&kit, high), soft_kit_mean_position(&kit, low));
    printf("jelly above jelly by %.3f %.3f %.3f m\n", (double)apart.x, (double)apart.y,
           (double)apart.z);
    assert_true(apart.y > 0.27f && apart.y < 0.33f);
    assert_true(fabsf(apart.x) < 0.1f && fabsf(apart.z) < 0.1f);
    soft_kit_destroy(&kit);
}

/* A balloon comes to rest on a cloth that lies on the floor. */
static void balloon_rests_on_cloth(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(gravity);
    BodyDef floor = body_def_default();
    floor.shape.kind = SHAPE_PLANE;
    floor.motion = BODY_STATIC;
    rigid_add(kit.rigid, &floor);
    SoftDef def = soft_kit_cloth_def();
    def.position = vec3(-0.5f, 0.02f, 0.5f);
    def.orientation = flat;
    def.thickness = 0.01f;
    SoftRange cloth = soft_kit_add_cloth(&kit, &def, 17, 17, 1.0f, 1.0f);
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_sphere(&mesh, 0.2f, 2, &error), 0);
    def = soft_kit_cloth_def();
    def.position = vec3(0.0f, 0.4f, 0.0f);
    def.mass_kg = 0.05f;
    def.pressure = 200.0f;
    def.thickness = 0.01f;
    def.damping = 1.0f;
    SoftRange balloon = soft_kit_add(&kit, &def, &mesh);
    soft_kit_ticks(&kit, 180);
    f32 low = lowest(&kit, balloon), top = highest(&kit, cloth);
    printf("balloon's lowest %.4f m over a cloth of 0.01 m\n", (double)low);
    /* Floor to cloth is one thickness, cloth to balloon two. */
    assert_float_equal(low, 0.03f, 2e-3f);
    assert_true(top < 0.05f);
    soft_kit_destroy(&kit);
}

/* A rope with a loop over another: the crossing supports the upper one. */
static void ropes_hang_on_each_other(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(gravity);
    static const SoftPin ends[2] = {{.point = 0}, {.point = 20}};
    SoftDef def = soft_kit_cloth_def();
    def.position = vec3(-0.5f, 1.0f, 0.0f);
    def.mass_kg = 0.5f;
    def.damping = 1.0f;
    def.thickness = 0.015f;
    def.pins = ends;
    def.pin_count = 2;
    SoftRange held = add_rope(&kit, &def, 21, 1.0f);
    def.position = vec3(0.0f, 1.2f, -0.5f);
    def.orientation = (Quat){0.70710678f, 0.0f, -0.70710678f, 0.0f}; /* along z */
    def.mass_kg = 0.2f;
    def.pins = NULL;
    def.pin_count = 0;
    SoftRange hung = add_rope(&kit, &def, 21, 1.0f);
    soft_kit_ticks(&kit, 120);
    f32 top = highest(&kit, hung), under = lowest(&kit, held);
    printf("rope over a rope: top at %.3f m, the other sags to %.3f m\n", (double)top,
           (double)under);
    assert_true(under > 0.8f && top - under > 0.02f && top < 1.1f);
    soft_kit_destroy(&kit);
}

static void rope_coils_on_the_floor(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(gravity);
    BodyDef floor = body_def_default();
    floor.shape.kind = SHAPE_PLANE;
    floor.motion = BODY_STATIC;
    floor.friction = 0.6f;
    rigid_add(kit.rigid, &floor);
    SoftDef def = soft_kit_cloth_def();
    /* Upright, leaning slightly. */
    def.position = vec3(0.0f, 0.05f, 0.0f);
    def.orientation = (Quat){0.7372773f, 0.0f, 0.0f, 0.6755902f};
    def.mass_kg = 0.3f;
    def.damping = 0.5f;
    def.thickness = 0.015f;
    def.self_collision = true;
    SoftRange rope = add_rope(&kit, &def, 61, 1.5f);
    soft_kit_ticks(&kit, 180);
    /* Particles that are not neighbours stay a thickness apart, here with some compliance. */
    f32 least = INFINITY;
    for (u32 i = rope.first; i < rope.first + rope.count; i++) {
        for (u32 j = i + 3; j < rope.first + rope.count; j++) {
            least = f32_min(least,
                            vec3_distance(soft_position(kit.soft, i), soft_position(kit.soft, j)));
        }
    }
    printf("rope on the floor: %.3f m high, parts of it at least %.4f m apart, strain %.4f\n",
           (double)highest(&kit, rope), (double)least, (double)soft_strain(kit.soft, rope.body));
    assert_true(least > 0.6f * 0.7f * 0.025f); /* distance kept: 0.7 of a segment */
    assert_true(soft_strain(kit.soft, rope.body) < 0.02f);
    soft_kit_destroy(&kit);
}

/* A cloth lies on another that is pinned at an angle of 20° (tan 0.364): it holds with friction
 * 0.5 and slides with 0.1. */
static void friction_holds_cloth_on_cloth(void **unused)
{
    PL_UNUSED(unused);
    f32 slid[2];
    for (u32 k = 0; k < 2; k++) {
        SoftKit kit = soft_kit_create(vec3(9.81f * 0.34202014f, -9.81f * 0.93969262f, 0.0f));
        SoftPin pins[21 * 21];
        memset(pins, 0, sizeof pins);
        for (u32 i = 0; i < PL_COUNT(pins); i++) {
            pins[i].point = i;
        }
        SoftDef def = soft_kit_cloth_def();
        def.orientation = flat;
        def.thickness = 0.01f;
        def.friction = k == 0 ? 0.5f : 0.1f;
        def.pins = pins;
        def.pin_count = PL_COUNT(pins);
        soft_kit_add_cloth(&kit, &def, 21, 21, 2.0f, 2.0f);
        def.pins = NULL;
        def.pin_count = 0;
        def.position = vec3(0.33f, 0.02f, -0.75f);
        def.mass_kg = 0.0f;
        SoftRange range = soft_kit_add_cloth(&kit, &def, 11, 11, 0.5f, 0.5f);
        soft_kit_ticks(&kit, 15);
        Vec3 start = soft_kit_mean_position(&kit, range), v = soft_kit_mean_velocity(&kit, range);
        soft_kit_ticks(&kit, 30);
        slid[k] = soft_kit_mean_position(&kit, range).x - start.x - (k == 1 ? 0.5f * v.x : 0.0f);
        soft_kit_destroy(&kit);
    }
    f32 expected = 0.125f * 9.81f * (0.34202014f - 0.1f * 0.93969262f);
    printf("mu 0.5 slides %.5f m, mu 0.1 %.4f m, expected %.4f\n", (double)slid[0], (double)slid[1],
           (double)expected);
    assert_true(fabsf(slid[0]) < 1e-3f);
    assert_float_equal(slid[1], expected, 0.05f * expected);
}

static void groups_pass_through_each_other(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(vec3_zero());
    for (u32 k = 0; k < 2; k++) {
        SoftDef def = soft_kit_cloth_def();
        def.position = vec3(0.0f, 0.0f, k == 0 ? 0.0f : 0.3f);
        def.velocity = vec3(0.0f, 0.0f, k == 0 ? 0.0f : -1.0f);
        def.group = 1u << k;
        def.mask = k == 0 ? 1 : 0;
        soft_kit_add_cloth(&kit, &def, 9, 9, 0.5f, 0.5f);
    }
    soft_kit_ticks(&kit, 60);
    assert_float_equal(soft_velocity(kit.soft, 100).z, -1.0f, 1e-4f);
    assert_float_equal(soft_velocity(kit.soft, 40).z, 0.0f, 1e-4f);
    soft_kit_destroy(&kit);
}

/* FNV-1a of the state. */
static u64 state_of(Soft *soft)
{
    State state = {.mode = STATE_HASH};
    soft_serialize(soft, &state);
    return state.hash;
}

static void threads_and_images_change_nothing(void **unused)
{
    PL_UNUSED(unused);
    u64 hashes[3];
    for (u32 k = 0; k < 3; k++) {
        SoftKit kit = soft_kit_create(gravity);
        Jobs *jobs = jobs_create(k + 1);
        kit.jobs = jobs;
        BodyDef floor = body_def_default();
        floor.shape.kind = SHAPE_PLANE;
        floor.motion = BODY_STATIC;
        rigid_add(kit.rigid, &floor);
        SoftDef def = soft_kit_cloth_def();
        def.position = vec3(0.0f, 0.03f, 0.0f);
        def.orientation = (Quat){0.9990482f, 0.0436194f, 0.0f, 0.0f};
        def.thickness = 0.005f;
        def.self_collision = true;
        soft_kit_add_cloth(&kit, &def, 31, 31, 0.8f, 0.8f);
        add_jelly(&kit, vec3(0.2f, 0.9f, -0.1f), vec3_zero(), 1.0f);
        soft_kit_ticks(&kit, 40);
        if (k == 2) { /* through a saved image, and back by one tick */
            State state = {.mode = STATE_COUNT};
            soft_serialize(kit.soft, &state);
            size_t bytes = state.used;
            u8 *data = malloc(bytes);
            state = (State){.mode = STATE_SAVE, .data = data, .bytes = bytes};
            soft_serialize(kit.soft, &state);
            soft_kit_ticks(&kit, 5);
            state = (State){.mode = STATE_LOAD, .data = data, .bytes = bytes};
            soft_serialize(kit.soft, &state);
            assert_false(state.failed);
            free(data);
        }
        soft_kit_ticks(&kit, 20);
        hashes[k] = state_of(kit.soft);
        soft_kit_destroy(&kit);
        jobs_destroy(jobs);
    }
    assert_true(hashes[0] == hashes[1]);
    assert_true(hashes[0] == hashes[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colliding_jellies_keep_momentum),
        cmocka_unit_test(jelly_lies_on_cloth),
        cmocka_unit_test(jelly_lies_on_jelly),
        cmocka_unit_test(balloon_rests_on_cloth),
        cmocka_unit_test(ropes_hang_on_each_other),
        cmocka_unit_test(rope_coils_on_the_floor),
        cmocka_unit_test(friction_holds_cloth_on_cloth),
        cmocka_unit_test(groups_pass_through_each_other),
        cmocka_unit_test(threads_and_images_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
