/* test_couple_shapes.c: a cloth that falls on each kind of shape comes to lie on it, and
 * momentum is conserved. */
#include "server/physics/contact/distance.h"
#include "shared/geometry/geometry.h"
#include "tests/support/any.h"

#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/sheet.h"

enum {
    SIDE = 21,
    POINTS = 13 /* per side of the cloth */
};

static const f32 thickness_m = 0.02f;

static SoftKit bench_create(Vec3 gravity, const BodyDef *body, f32 height)
{
    SoftKit b = soft_kit_create(gravity);
    assert_int_not_equal(rigid_add(b.rigid, body).generation, 0);
    /* Flat, 1.2 m wide, above the body. */
    f32 half = sqrtf(0.5f);
    SoftDef cloth = soft_kit_cloth_def();
    cloth.position = vec3(-0.6f, height, 0.6f);
    cloth.orientation = (Quat){half, -half, 0.0f, 0.0f};
    cloth.damping = gravity.y < 0.0f ? 0.5f : 0.0f;
    cloth.thickness = thickness_m;
    cloth.friction = 0.8f;
    soft_kit_add_cloth(&b, &cloth, POINTS, POINTS, 1.2f, 1.2f);
    return b;
}

/* Deepest penetration of a particle, m. */
static f32 deepest(const SoftKit *b)
{
    ShapePose pose = {rigid_shape(b->rigid, 0), rigid_position(b->rigid, 0),
                      rigid_orientation(b->rigid, 0)};
    f32 depth = -INFINITY;
    Vec3 normal;
    for (u32 i = 0; i < soft_particles(b->soft); i++) {
        f32 d = contact_distance(&pose, soft_position(b->soft, i), 1.0f, &normal);
        depth = f32_max(depth, -d);
    }
    return depth;
}

/* Three seconds; no penetration at any time, and at the end a particle lies about the cloth's
 * thickness from the shape. */
static void assert_lies_on(const BodyDef *body, const char *name)
{
    SoftKit b = bench_create(vec3(0.0f, -9.81f, 0.0f), body, 1.6f);
    f32 depth = -INFINITY;
    bool touched = false;
    for (u32 t = 0; t < 180; t++) {
        soft_kit_ticks(&b, 1);
        f32 now = deepest(&b);
        depth = f32_max(depth, now);
        touched = touched || now > -1.2f * thickness_m;
    }
    print_message("%s: deepest particle %.1f mm\n", name, 1000.0 * (double)depth);
    assert_true(touched);
    assert_true(depth < 0.25f * thickness_m);
    soft_kit_destroy(&b);
}

static BodyDef fixed(Shape shape, Vec3 position)
{
    BodyDef def = body_def_default();
    def.motion = BODY_STATIC;
    def.shape = shape;
    def.position = position;
    def.friction = 0.8f;
    return def;
}

static void a_cloth_lies_on_solids(void **state)
{
    PL_UNUSED(state);
    Any any = {1, 0};
    BodyDef cylinder =
        fixed((Shape){.kind = SHAPE_CYLINDER, .radius = 0.5f, .half_height = 0.4f}, vec3(0, 1, 0));
    assert_lies_on(&cylinder, "cylinder");
    cylinder.orientation = quat_normalize((Quat){1.0f, 1.0f, 0.0f, 0.0f}); /* on its side */
    assert_lies_on(&cylinder, "cylinder on its side");
    BodyDef cone =
        fixed((Shape){.kind = SHAPE_CONE, .radius = 0.6f, .half_height = 0.4f}, vec3(0, 1, 0));
    assert_lies_on(&cone, "cone");
    Vec3 cloud[16];
    for (u32 i = 0; i < 16; i++) {
        cloud[i] = vec3_scale(any_direction(&any), 0.55f);
    }
    ErrorText error;
    Geometry *hull = geometry_hull(cloud, 16, 16, &error);
    assert_non_null(hull);
    BodyDef stone = fixed((Shape){.kind = SHAPE_HULL, .geometry = hull}, vec3(0, 0.9f, 0));
    assert_lies_on(&stone, "hull");
    CompoundChild children[2] = {
        {{.kind = SHAPE_SPHERE, .radius = 0.35f}, {-0.3f, 0, 0}, {1, 0, 0, 0}},
        {{.kind = SHAPE_BOX, .half = {0.3f, 0.3f, 0.3f}}, {0.3f, 0, 0}, {1, 0, 0, 0}}};
    Geometry *compound = geometry_compound(children, 2, &error);
    assert_non_null(compound);
    BodyDef pair = fixed((Shape){.kind = SHAPE_COMPOUND, .geometry = compound}, vec3(0, 1, 0));
    assert_lies_on(&pair, "compound");
    geometry_destroy(compound);
    geometry_destroy(hull);
}

/* A hill in the middle, 0.5 m high, falling off to all sides. */
static f32 heap(f32 x, f32 z)
{
    f32 r2 = x * x + z * z;
    return 0.5f / (1.0f + 6.0f * r2);
}

static void a_cloth_lies_on_a_terrain_and_a_mesh(void **state)
{
    PL_UNUSED(state);
    f32 heights[SIDE * SIDE];
    for (u32 k = 0; k < SIDE * SIDE; k++) {
        heights[k] =
            heap(height_sheet_at(k % SIDE, SIDE, 0.15f), height_sheet_at(k / SIDE, SIDE, 0.15f));
    }
    HeightSheet sheet = height_sheet(heights, SIDE, 0.15f);
    Geometry *terrain = sheet.terrain, *mesh = sheet.mesh;
    for (u32 k = 0; k < 2; k++) {
        BodyDef ground =
            fixed((Shape){.kind = k ? SHAPE_MESH : SHAPE_TERRAIN, .geometry = k ? mesh : terrain},
                  vec3_zero());
        SoftKit b = bench_create(vec3(0.0f, -9.81f, 0.0f), &ground, 1.0f);
        f32 lowest = INFINITY;
        for (u32 t = 0; t < 240; t++) {
            soft_kit_ticks(&b, 1);
            for (u32 i = 0; i < soft_particles(b.soft); i++) {
                Vec3 p = soft_position(b.soft, i), normal;
                f32 height;
                assert_true(terrain_height(&terrain->terrain, p.x, p.z, &height, &normal));
                lowest = f32_min(lowest, (p.y - height) * normal.y);
            }
        }
        /* At rest on the hill: every point within its thickness or bridging a hollow. */
        f32 highest = -INFINITY;
        for (u32 i = 0; i < soft_particles(b.soft); i++) {
            highest = f32_max(highest, soft_position(b.soft, i).y);
        }
        print_message("%s: lowest point %.1f mm over the ground\n", k ? "mesh" : "terrain",
                      1000.0 * (double)lowest);
        assert_true(lowest > 0.0f);
        assert_true(highest < 0.5f + 3.0f * thickness_m && highest > 0.45f);
        soft_kit_destroy(&b);
    }
    geometry_destroy(mesh);
    geometry_destroy(terrain);
}

/* Flies into a hanging cloth without gravity: momentum is exchanged exactly. */
static void assert_keeps_momentum(Shape shape, const char *name)
{
    BodyDef body = body_def_default();
    body.shape = shape;
    body.mass_kg = 1.0f;
    body.velocity = vec3(0.3f, 3.0f, 0.1f);
    body.angular_velocity = vec3(1.0f, 2.0f, 0.0f);
    SoftKit b = bench_create(vec3_zero(), &body, 0.8f);
    f64 before[3], after[3];
    soft_kit_momentum(&b, before);
    soft_kit_ticks(&b, 60);
    soft_kit_momentum(&b, after);
    Vec3 v = rigid_velocity(b.rigid, 0);
    f64 drift = soft_kit_drift(before, after, 1.0);
    print_message("%s: slows to %.3f m/s, momentum changes by %.1e kg m/s\n", name, (f64)v.y,
                  drift);
    assert_float_equal(before[1], 3.0, 1e-5);
    assert_true(v.y < 2.9f);
    assert_true(drift < 1e-4);
    soft_kit_destroy(&b);
}

static void momentum_is_kept_with_each_shape(void **state)
{
    PL_UNUSED(state);
    Any any = {2, 0};
    Vec3 cloud[12];
    for (u32 i = 0; i < 12; i++) {
        cloud[i] = vec3_scale(any_direction(&any), 0.3f);
    }
    ErrorText error;
    Geometry *hull = geometry_hull(cloud, 12, 12, &error);
    const CompoundChild children[2] = {
        {{.kind = SHAPE_SPHERE, .radius = 0.15f}, {-0.2f, 0, 0}, {1, 0, 0, 0}},
        {{.kind = SHAPE_BOX, .half = {0.15f, 0.1f, 0.1f}}, {0.1f, 0, 0}, {1, 0, 0, 0}}};
    Geometry *compound = geometry_compound(children, 2, &error);
    assert_non_null(hull);
    assert_non_null(compound);
    const struct {
        const char *name;
        Shape shape;
    } rows[] = {
        {"sphere", {.kind = SHAPE_SPHERE, .radius = 0.25f}},
        {"box", {.kind = SHAPE_BOX, .half = {0.2f, 0.2f, 0.2f}}},
        {"capsule", {.kind = SHAPE_CAPSULE, .radius = 0.15f, .half_height = 0.2f}},
        {"cylinder", {.kind = SHAPE_CYLINDER, .radius = 0.2f, .half_height = 0.2f}},
        {"cone", {.kind = SHAPE_CONE, .radius = 0.2f, .half_height = 0.2f}},
        {"hull", {.kind = SHAPE_HULL, .geometry = hull}},
        {"compound", {.kind = SHAPE_COMPOUND, .geometry = compound}},
    };
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        assert_keeps_momentum(rows[i].shape, rows[i].name);
    }
    geometry_destroy(compound);
    geometry_destroy(hull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cloth_lies_on_solids),
        cmocka_unit_test(a_cloth_lies_on_a_terrain_and_a_mesh),
        cmocka_unit_test(momentum_is_kept_with_each_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
