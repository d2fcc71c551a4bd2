/* test_contact.c: distances of points to shapes against GJK and against every triangle; swept
 * particles and momentum. */
#include "server/physics/contact/distance.h"
#include "server/physics/rigid/collider.h"
#include "server/physics/rigid/narrow/gjk.h"
#include "shared/geometry/geometry.h"
#include "tests/support/any.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/sheet.h"

enum {
    POINTS = 4000,
    SIDE = 17
};

static Any any;

static void assert_near(f32 got, f32 want, f32 within)
{
    if (!(fabsf(got - want) <= within)) {
        print_error("got %.9g, want %.9g ± %g\n", (double)got, (double)want, (double)within);
        fail();
    }
}

static ShapePose pose_any(const Shape *shape)
{
    Vec3 at = any_vec(&any, -3.0f, 3.0f);
    return (ShapePose){shape, at, any_rotation(&any)};
}

static f32 gjk_distance(const ShapePose *pose, Vec3 point, Vec3 *normal)
{
    Shape dot = {.kind = SHAPE_SPHERE};
    ShapePose at = {&dot, point, quat_identity()};
    GjkResult result;
    assert_true(gjk_separation(pose, &at, INFINITY, &result));
    *normal = result.normal;
    return result.separation;
}

static void assert_convex(const Shape *shape)
{
    u32 inside = 0;
    for (u32 i = 0; i < POINTS; i++) {
        ShapePose pose = pose_any(shape);
        Vec3 point = vec3_add(pose.position, any_vec(&any, -1.2f, 1.2f)), normal, want_normal;
        f32 got = contact_distance(&pose, point, INFINITY, &normal);
        f32 want = gjk_distance(&pose, point, &want_normal);
        assert_near(got, want, 2e-4f);
        assert_near(vec3_length(normal), 1.0f, 1e-4f);
        if (want > 0.01f) {
            assert_true(vec3_dot(normal, want_normal) > 0.999f);
        }
        /* Along the normal the surface is at the reported distance, and nowhere closer. */
        Vec3 out = vec3_add_scaled(point, 0.01f, normal), unused;
        assert_near(contact_distance(&pose, out, INFINITY, &unused), got + 0.01f, 2e-4f);
        f32 limited = contact_distance(&pose, point, 0.1f, &unused);
        assert_true(got > 0.1f ? limited > 0.1f : fabsf(limited - got) < 1e-6f);
        inside += got < 0.0f;
    }
    assert_true(inside > POINTS / 50);
}

static void convex_shapes_against_gjk(void **state)
{
    PL_UNUSED(state);
    any = (Any){1, 0};
    Shape shapes[] = {{.kind = SHAPE_SPHERE, .radius = 0.7f},
                      {.kind = SHAPE_BOX, .half = {0.4f, 0.9f, 0.6f}},
                      {.kind = SHAPE_CAPSULE, .radius = 0.4f, .half_height = 0.6f},
                      {.kind = SHAPE_CYLINDER, .radius = 0.6f, .half_height = 0.5f},
                      {.kind = SHAPE_CYLINDER, .radius = 0.3f, .half_height = 0.9f},
                      {.kind = SHAPE_CONE, .radius = 0.8f, .half_height = 0.6f},
                      {.kind = SHAPE_CONE, .radius = 0.4f, .half_height = 0.9f}};
    for (u32 i = 0; i < PL_COUNT(shapes); i++) {
        assert_convex(&shapes[i]);
    }
    Vec3 cloud[24];
    for (u32 i = 0; i < 24; i++) {
        cloud[i] = any_vec(&any, -0.9f, 0.9f);
    }
    ErrorText error;
    Geometry *geometry = geometry_hull(cloud, 24, 24, &error);
    assert_non_null(geometry);
    Shape hull = {.kind = SHAPE_HULL, .geometry = geometry};
    assert_convex(&hull);
    geometry_destroy(geometry);
}

static void compounds_are_as_near_as_their_nearest_child(void **state)
{
    PL_UNUSED(state);
    any = (Any){2, 0};
    CompoundChild children[3];
    for (u32 i = 0; i < 3; i++) {
        children[i].shape = any_shape(&any, 5, 0.2f, 0.6f);
        children[i].position = any_vec(&any, -0.8f, 0.8f);
        children[i].orientation = any_rotation(&any);
    }
    ErrorText error;
    Geometry *geometry = geometry_compound(children, 3, &error);
    assert_non_null(geometry);
    Shape shape = {.kind = SHAPE_COMPOUND, .geometry = geometry};
    for (u32 i = 0; i < POINTS; i++) {
        ShapePose pose = pose_any(&shape);
        Vec3 point = vec3_add(pose.position, any_vec(&any, -1.5f, 1.5f)), normal, unused;
        f32 least = INFINITY;
        for (u32 k = 0; k < 3; k++) {
            ShapePose child = {
                &children[k].shape,
                vec3_add(pose.position, quat_rotate(pose.orientation, children[k].position)),
                quat_mul(pose.orientation, children[k].orientation)};
            least = f32_min(least, gjk_distance(&child, point, &unused));
        }
        assert_near(contact_distance(&pose, point, INFINITY, &normal), least, 2e-4f);
        Vec3 out = vec3_add_scaled(point, 0.001f, normal);
        f32 beyond = contact_distance(&pose, out, INFINITY, &unused);
        assert_true(beyond <= least + 0.0012f);
    }
    geometry_destroy(geometry);
}

static HeightSheet sheet_make(f32 rough)
{
    f32 heights[SIDE * SIDE];
    for (u32 k = 0; k < SIDE * SIDE; k++) {
        heights[k] = any_between(&any, -rough, rough);
    }
    return height_sheet(heights, SIDE, 0.25f);
}

static f32 brute_distance(const Geometry *mesh, Vec3 p)
{
    Shape dot = {.kind = SHAPE_SPHERE};
    ShapePose at = {&dot, p, quat_identity()};
    f32 least = INFINITY;
    for (u32 i = 0; i < mesh->mesh.triangle_count; i++) {
        Vec3 c[3];
        GjkResult result;
        mesh_triangle(&mesh->mesh, i, c);
        assert_true(gjk_separation_triangle(&at, c, INFINITY, &result));
        least = f32_min(least, fabsf(result.separation));
    }
    return least;
}

static void surfaces_against_every_triangle(void **state)
{
    PL_UNUSED(state);
    any = (Any){3, 0};
    HeightSheet sheet = sheet_make(0.15f);
    Shape mesh = {.kind = SHAPE_MESH, .geometry = sheet.mesh};
    Shape terrain = {.kind = SHAPE_TERRAIN, .geometry = sheet.terrain};
    u32 near = 0, below = 0;
    for (u32 i = 0; i < POINTS / 4; i++) {
        ShapePose pose = pose_any(&mesh);
        Vec3 local = any_vec(&any, -2.2f, 2.2f), normal;
        local.y *= 0.2f;
        Vec3 point = vec3_add(pose.position, quat_rotate(pose.orientation, local));
        f32 want = brute_distance(sheet.mesh, local), reach = any_between(&any, 0.05f, 0.5f);
        f32 got = contact_distance(&pose, point, reach, &normal);
        assert_true(want > reach ? got > reach - 1e-5f : fabsf(got - want) < 1e-5f);
        if (want < reach && want > 1e-3f) {
            Vec3 surface = quat_rotate(pose.orientation, vec3_zero());
            surface = vec3_add_scaled(point, -got, normal);
            surface = quat_rotate_inverse(pose.orientation, vec3_sub(surface, pose.position));
            assert_true(brute_distance(sheet.mesh, surface) < 1e-5f);
            near++;
        }
        pose.shape = &terrain;
        f32 height;
        bool over = terrain_height(&sheet.terrain->terrain, local.x, local.z, &height, NULL);
        got = contact_distance(&pose, point, reach, &normal);
        if (over && local.y < height) {
            assert_true(got <= 0.0f && got >= local.y - height);
            assert_true(vec3_dot(normal, quat_rotate(pose.orientation, vec3(0, 1, 0))) > 0.3f);
            below++;
        } else {
            assert_true(want > reach ? got > reach - 1e-5f : fabsf(got - want) < 1e-5f);
        }
    }
    assert_true(near > 100 && below > 100);
    height_sheet_finish(&sheet);
}

static bool meet(Rigid *rigid, u32 slot, ContactParticle *particle, f32 h)
{
    RigidCollider bodies = {.rigid = rigid};
    Collider collider = rigid_collider(&bodies);
    return contact_particle(&collider, slot, particle, h);
}

/* A particle whose step would cross a sheet stays on its side, whichever that is, and its momentum
 * goes to the body. */
static void particles_stay_on_their_side(void **state)
{
    PL_UNUSED(state);
    any = (Any){4, 0};
    HeightSheet sheet = sheet_make(0.002f);
    RigidDef def = {.body_capacity = 4, .tick_s = 1.0f / 60.0f, .substeps = 4};
    Rigid *rigid = rigid_create(&def);
    BodyDef body = body_def_default();
    body.motion = BODY_STATIC;
    body.shape = (Shape){.kind = SHAPE_MESH, .geometry = sheet.mesh};
    body.orientation = any_rotation(&any);
    u32 slot = rigid_add(rigid, &body).slot;
    f32 h = 1.0f / 480.0f;
    for (u32 i = 0; i < POINTS; i++) {
        Vec3 local = any_vec(&any, -1.5f, 1.5f), to = any_vec(&any, -1.5f, 1.5f);
        f32 side = i % 2 ? 1.0f : -1.0f, height, after;
        terrain_height(&sheet.terrain->terrain, local.x, local.z, &height, NULL);
        local.y = height + side * any_between(&any, 0.02f, 0.2f);
        Vec3 way = vec3_sub(to, local);
        way.y = -side * any_between(&any, 0.3f, 0.6f);
        way.x *= 0.1f;
        way.z *= 0.1f;
        ContactParticle particle = {.position = quat_rotate(body.orientation, local),
                                    .velocity =
                                        quat_rotate(body.orientation, vec3_scale(way, 1 / h)),
                                    .inverse_mass = 100.0f,
                                    .radius = 0.01f};
        assert_true(meet(rigid, slot, &particle, h));
        Vec3 there = vec3_add_scaled(particle.position, h, particle.velocity);
        there = quat_rotate_inverse(body.orientation, there);
        assert_true(terrain_height(&sheet.terrain->terrain, there.x, there.z, &after, NULL));
        assert_true((there.y - after) * side > 0.0f);
    }
    rigid_destroy(rigid);
    height_sheet_finish(&sheet);
}

/* In a single step through a plate of 2 cm, aimed at it or past it. */
static void swept_particles_stop_at_thin_plates(void **state)
{
    PL_UNUSED(state);
    any = (Any){6, 0};
    RigidDef def = {.body_capacity = 1, .tick_s = 1.0f / 60.0f, .substeps = 1};
    const f32 h = 1.0f / 60.0f;
    u32 stopped = 0, passed = 0;
    for (u32 i = 0; i < 300; i++) {
        Rigid *rigid = rigid_create(&def);
        BodyDef body = body_def_default();
        body.shape = (Shape){.kind = SHAPE_BOX, .half = vec3(1.0f, 0.01f, 1.0f)};
        body.motion = BODY_STATIC;
        body.orientation = any_rotation(&any);
        u32 slot = rigid_add(rigid, &body).slot;
        f32 side = i % 2 ? 1.0f : -1.0f, across = i % 3 == 0 ? 1.5f : 0.5f;
        Vec3 from = vec3(across, side * any_between(&any, 0.05f, 0.2f), 0.0f);
        Vec3 way = vec3(any_between(&any, -0.1f, 0.1f), -side * any_between(&any, 0.3f, 0.6f),
                        any_between(&any, -0.1f, 0.1f));
        ContactParticle particle = {.position = quat_rotate(body.orientation, from),
                                    .velocity =
                                        quat_rotate(body.orientation, vec3_scale(way, 1.0f / h)),
                                    .inverse_mass = 100.0f,
                                    .radius = 0.01f,
                                    .swept = i % 5 != 0};
        bool met = meet(rigid, slot, &particle, h);
        bool meets = across < 1.0f && particle.swept;
        assert_int_equal(met, meets);
        Vec3 end = vec3_add_scaled(particle.position, h, particle.velocity);
        f32 height = side * quat_rotate_inverse(body.orientation, end).y;
        assert_true(meets ? height > 0.0199f : height < -0.05f);
        stopped += meets;
        passed += !meets;
        rigid_destroy(rigid);
    }
    assert_true(stopped > 100 && passed > 100);
}

static void momentum_goes_both_ways(void **state)
{
    PL_UNUSED(state);
    any = (Any){5, 0};
    f32 h = 1.0f / 480.0f;
    for (u32 i = 0; i < 500; i++) {
        RigidDef def = {.body_capacity = 4, .tick_s = 1.0f / 60.0f, .substeps = 4};
        Rigid *rigid = rigid_create(&def);
        BodyDef body = body_def_default();
        body.shape = any_shape(&any, 5, 0.3f, 0.8f);
        body.orientation = any_rotation(&any);
        body.velocity = any_vec(&any, -2.0f, 2.0f);
        body.mass_kg = 2.0f;
        u32 slot = rigid_add(rigid, &body).slot;
        rigid_collide(rigid, NULL);
        rigid_prepare(rigid);
        Vec3 at = vec3_scale(any_direction(&any), any_between(&any, 0.1f, 0.6f));
        ContactParticle particle = {.position = vec3_add(rigid_centre(rigid, slot), at),
                                    .velocity = vec3_scale(at, -any_between(&any, 0.0f, 50.0f)),
                                    .inverse_mass = 10.0f,
                                    .radius = 0.02f,
                                    .friction = 0.5f};
        Vec3 before = vec3_add(vec3_scale(particle.velocity, 0.1f), vec3_scale(body.velocity, 2));
        meet(rigid, slot, &particle, h);
        Vec3 after = vec3_scale(particle.velocity, 0.1f);
        after = vec3_add(after, vec3_scale(rigid_velocity(rigid, slot), 2.0f));
        assert_true(vec3_distance(after, before) < 1e-5f);
        rigid_destroy(rigid);
    }
}

/* Computed at once, distances and normals equal those computed one by one, bit for bit. */
static void many_points_are_measured_as_one(void **state)
{
    PL_UNUSED(state);
    const ShapeKind kinds[] = {SHAPE_PLANE,   SHAPE_BOX,      SHAPE_SPHERE,
                               SHAPE_CAPSULE, SHAPE_CYLINDER, SHAPE_CONE};
    for (u32 i = 0; i < 300; i++) {
        Shape shape = {.kind = kinds[i % PL_COUNT(kinds)],
                       .half = {any_between(&any, 0.1f, 1.0f), any_between(&any, 0.1f, 1.0f),
                                any_between(&any, 0.1f, 1.0f)},
                       .radius = any_between(&any, 0.1f, 1.0f),
                       .half_height = any_between(&any, 0.1f, 1.0f)};
        ShapePose pose = pose_any(&shape);
        Vec3 at[21], normals[21];
        f32 reach[21], found[21];
        u32 count = i / PL_COUNT(kinds) % 22; /* whole vectors and rests */
        for (u32 k = 0; k < count; k++) {
            at[k] = vec3_add(pose.position, any_vec(&any, -2.0f, 2.0f));
            reach[k] = any_between(&any, 0.1f, 3.0f);
        }
        contact_distances(&pose, &(ContactPoints){at, reach, count, found, normals});
        for (u32 k = 0; k < count; k++) {
            Vec3 normal;
            f32 distance = contact_distance(&pose, at[k], reach[k], &normal);
            assert_memory_equal(&found[k], &distance, sizeof distance);
            assert_memory_equal(&normals[k], &normal, sizeof normal);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convex_shapes_against_gjk),
        cmocka_unit_test(compounds_are_as_near_as_their_nearest_child),
        cmocka_unit_test(surfaces_against_every_triangle),
        cmocka_unit_test(particles_stay_on_their_side),
        cmocka_unit_test(swept_particles_stop_at_thin_plates),
        cmocka_unit_test(momentum_goes_both_ways),
        cmocka_unit_test(many_points_are_measured_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
