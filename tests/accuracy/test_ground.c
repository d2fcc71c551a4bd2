/* test_ground.c: round and flat bodies move over ground of many triangles as over a plane: no bumps
 * at seams, cylinders roll evenly, and stacks of any solids stand. */
#include "server/physics/rigid/rigid.h"
#include "shared/geometry/geometry.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A flat field of 80 × 80 cells of 0.25 m. */
static Geometry *flat_mesh(void)
{
    enum {
        SIDE = 80
    };
    static Vec3 v[(SIDE + 1) * (SIDE + 1)];
    static u32 t[SIDE * SIDE * 6];
    u32 n = 0;
    for (u32 j = 0; j <= SIDE; j++) {
        for (u32 i = 0; i <= SIDE; i++) {
            v[j * (SIDE + 1) + i] = vec3(0.25f * (f32)i - 10.0f, 0.0f, 0.25f * (f32)j - 10.0f);
            if (i < SIDE && j < SIDE) {
                u32 a = j * (SIDE + 1) + i, c = a + SIDE + 1;
                u32 corners[6] = {a, c + 1, a + 1, a, c, c + 1};
                memcpy(&t[n], corners, sizeof(corners));
                n += 6;
            }
        }
    }
    ErrorText error;
    Geometry *g = geometry_mesh(v, PL_COUNT(v), t, n / 3, NULL, &error);
    assert_non_null(g);
    return g;
}

static Geometry *flat_terrain(void)
{
    static f32 heights[81 * 81];
    ErrorText error;
    Geometry *g = geometry_terrain(heights, 81, 81, 0.25f, &error);
    assert_non_null(g);
    return g;
}

static Geometry *prism(f32 radius, f32 half_height)
{
    static const f32 c[6] = {1.0f, 0.5f, -0.5f, -1.0f, -0.5f, 0.5f};
    static const f32 s[6] = {0.0f, 0.866025404f, 0.866025404f, 0.0f, -0.866025404f, -0.866025404f};
    Vec3 v[12];
    for (u32 i = 0; i < 12; i++) {
        v[i] = vec3(radius * c[i % 6], i < 6 ? -half_height : half_height, radius * s[i % 6]);
    }
    ErrorText error;
    Geometry *g = geometry_hull(v, 12, 64, &error);
    assert_non_null(g);
    return g;
}

enum {
    GROUND_PLANE,
    GROUND_BOX,
    GROUND_MESH,
    GROUND_TERRAIN,
    GROUNDS
};
static const char *const ground_names[] = {"plane", "box", "mesh", "terrain"};

/* The ground with its top at y = 0; returns its geometry, if any. */
static Geometry *add_ground(Rigid *rigid, u32 which, f32 friction)
{
    BodyDef def = body_def_default();
    Geometry *geometry = NULL;
    def.motion = BODY_STATIC;
    def.friction = friction;
    def.shape.kind = SHAPE_PLANE;
    if (which == GROUND_BOX) {
        def.shape.kind = SHAPE_BOX;
        def.shape.half = vec3(20, 1, 20);
        def.position.y = -1.0f;
    } else if (which != GROUND_PLANE) {
        geometry = which == GROUND_MESH ? flat_mesh() : flat_terrain();
        def.shape.kind = which == GROUND_MESH ? SHAPE_MESH : SHAPE_TERRAIN;
        def.shape.geometry = geometry;
    }
    assert_int_not_equal(rigid_add(rigid, &def).generation, 0);
    return geometry;
}

static const Quat quarter_x = {0.70710678f, 0.70710678f, 0.0f, 0.0f}; /* y to z */

/* Rolls or slides each shape over each ground, at an angle to the seams. */
static void nothing_stumbles(void **unused)
{
    PL_UNUSED(unused);
    Geometry *hull = prism(0.4f, 0.3f);
    for (u32 g = 0; g < GROUNDS; g++) {
        for (u32 s = 0; s < 6; s++) {
            static const char *const names[] = {"rolling ball",     "rolling cylinder",
                                                "rolling capsule",  "sliding box",
                                                "sliding cylinder", "sliding prism"};
            Rigid *rigid = kit_world(64, 4, KIT_GRAVITY_M_S2);
            bool rolls = s < 3;
            Geometry *ground = add_ground(rigid, g, rolls ? 0.8f : 0.0f);
            BodyDef def = body_def_default();
            def.friction = rolls ? 0.8f : 0.0f;
            def.shape.kind = s == 0             ? SHAPE_SPHERE
                             : s == 1 || s == 4 ? SHAPE_CYLINDER
                             : s == 2           ? SHAPE_CAPSULE
                             : s == 3           ? SHAPE_BOX
                                                : SHAPE_HULL;
            def.shape.radius = 0.4f;
            def.shape.half_height = 0.3f;
            def.shape.half = vec3(0.4f, 0.3f, 0.5f);
            def.shape.geometry = s == 5 ? hull : NULL;
            f32 rest = s < 3 ? 0.4f : 0.3f;
            def.position = vec3(-6.03f, rest, 0.11f);
            def.velocity = vec3(3.0f, 0.0f, rolls && s > 0 ? 0.0f : 0.37f);
            if (rolls) { /* ω × r = v at the ground: ω = up × v / r */
                def.angular_velocity = vec3(def.velocity.z / 0.4f, 0, -def.velocity.x / 0.4f);
            }
            def.orientation = s == 1 || s == 2 ? quarter_x : quat_identity();
            BodyId body = rigid_add(rigid, &def);
            for (u32 i = 0; i < 30; i++) {
                kit_tick(rigid);
            }
            Vec3 v0 = rigid_velocity(rigid, body.slot);
            f32 low = INFINITY, high = -INFINITY, bump = 0.0f, rotation = 0.0f;
            for (u32 i = 0; i < 180; i++) {
                kit_tick(rigid);
                Vec3 p = rigid_position(rigid, body.slot), v = rigid_velocity(rigid, body.slot);
                low = f32_min(low, p.y);
                high = f32_max(high, p.y);
                bump = f32_max(bump, fabsf(v.y));
                rotation = f32_max(rotation, fabsf(rigid_angular_velocity(rigid, body.slot).y));
            }
            Vec3 v1 = rigid_velocity(rigid, body.slot);
            f32 lost = vec3_length(vec3_sub(v1, v0));
            printf("%-16s on %-8s: bumps %.2e m/s, height within %.2e m, lost %.2e m/s, yaw %.1e\n",
                   names[s], ground_names[g], (f64)bump, (f64)(high - low), (f64)lost,
                   (f64)rotation);
            assert_true(bump < 1e-5f);
            assert_true(high - low < 1e-5f);
            assert_true(lost < 1e-4f);
            assert_true(rotation < 1e-5f);
            rigid_destroy(rigid);
            geometry_destroy(ground);
        }
    }
    geometry_destroy(hull);
}

/* Ten bodies of a kind stacked stand for ten seconds. */
static void stacks_of_any_solids_stand(void **unused)
{
    PL_UNUSED(unused);
    Geometry *hull = prism(0.5f, 0.5f);
    for (u32 g = 0; g < GROUNDS; g++) {
        for (u32 s = 0; s < 3; s++) {
            static const char *const names[] = {"cylinders", "prisms", "mixed"};
            Rigid *rigid = kit_world(64, 4, KIT_GRAVITY_M_S2);
            Geometry *ground = add_ground(rigid, g, 0.6f);
            BodyId bodies[10];
            for (u32 i = 0; i < 10; i++) {
                BodyDef def = body_def_default();
                def.friction = 0.6f;
                u32 kind = s < 2 ? s : i % 3;
                def.shape.kind = kind == 0 ? SHAPE_CYLINDER : kind == 1 ? SHAPE_HULL : SHAPE_BOX;
                def.shape.radius = 0.5f;
                def.shape.half_height = 0.5f;
                def.shape.half = vec3(0.5f, 0.5f, 0.5f);
                def.shape.geometry = kind == 1 ? hull : NULL;
                def.position = vec3(0.13f, 0.5f + (f32)i, 0.07f);
                bodies[i] = rigid_add(rigid, &def);
            }
            for (u32 i = 0; i < 600; i++) {
                kit_tick(rigid);
            }
            Vec3 top = rigid_position(rigid, bodies[9].slot);
            printf("%-9s on %-8s: top at %.4f %.4f %.4f\n", names[s], ground_names[g], (f64)top.x,
                   (f64)top.y, (f64)top.z);
            rigid_destroy(rigid);
            geometry_destroy(ground);
        }
    }
    geometry_destroy(hull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_stumbles),
        cmocka_unit_test(stacks_of_any_solids_stand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
