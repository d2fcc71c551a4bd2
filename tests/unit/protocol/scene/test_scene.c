/* test_scene.c: scenes that load, scenes that must be refused, and the place and text of each
 * error. */
#include "protocol/scene/scene.h"
#include "server/author/scene_load.h"
#include "shared/base/limits.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/scene_refused.h"

static void assert_same_scene(const Scene *a, const Scene *b)
{
    assert_string_equal(a->name, b->name);
    assert_memory_equal(&a->camera, &b->camera, sizeof a->camera);
    assert_int_equal(a->body_count, b->body_count);
    for (u32 i = 0; i < a->body_count; i++) {
        SceneBody one = a->bodies[i], other = b->bodies[i];
        /* Each scene has its own geometries. */
        one.shape.geometry = other.shape.geometry = NULL;
        one.appearance.shape.geometry = other.appearance.shape.geometry = NULL;
        assert_memory_equal(&one, &other, sizeof one);
    }
    assert_int_equal(a->joint_count, b->joint_count);
    assert_memory_equal(a->joints, b->joints, a->joint_count * sizeof *a->joints);
    assert_int_equal(a->geometry_count, b->geometry_count);
    for (u32 i = 0; i < a->geometry_count; i++) {
        assert_int_equal(a->geometries[i]->kind, b->geometries[i]->kind);
        assert_int_equal(a->geometries[i]->id, i);
        assert_memory_equal(&a->geometries[i]->bounds, &b->geometries[i]->bounds, sizeof(Bounds));
    }
}

static void test_shipped_scenes_load_and_round_trip(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob("shared/scenes/*.json", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 24);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        ErrorText error = {0};
        Scene *scene = scene_load(found.gl_pathv[i], &error);
        if (scene == NULL) {
            fail_msg("%s", error.text);
        }
        Scene *again = scene_from_bytes(scene->bytes, scene->byte_count, &error);
        assert_non_null(again);
        assert_same_scene(again, scene);
        scene_destroy(again);
        scene_destroy(scene);
    }
    globfree(&found);
}

static i32 find_body(const Scene *scene, const char *name)
{
    for (u32 i = 0; i < scene->body_count; i++) {
        if (strcmp(scene->bodies[i].name, name) == 0) {
            return (i32)i;
        }
    }
    return -1;
}

static void test_playground_has_what_the_demo_needs(void **state)
{
    (void)state;
    ErrorText error = {0};
    Scene *scene = scene_load("shared/scenes/playground.json", &error);
    assert_non_null(scene);
    i32 box = find_body(scene, "box-1");
    assert_true(box >= 0);
    assert_int_equal(scene->bodies[box].motion, BODY_DYNAMIC);
    assert_true(find_body(scene, "brick-1") >= 0 && find_body(scene, "brick-100") >= 0);
    assert_int_equal(find_body(scene, "brick-101"), -1);
    assert_true(find_body(scene, "crate-30") >= 0); /* 16 + 9 + 4 + 1 */
    assert_int_equal(find_body(scene, "crate-31"), -1);
    assert_true(scene->soft_count >= 2 && scene->prefab_count >= 4);
    u32 columns = scene->soft_meshes[scene->soft_bodies[0].mesh].grid[0];
    assert_int_equal(
        scene->pins[scene->soft_bodies[0].first_pin + scene->soft_bodies[0].pin_count - 1].point,
        columns - 1);
    assert_int_equal(scene->pins[0].body, -1);
    scene_destroy(scene);
}

static void test_values_arrive(void **state)
{
    (void)state;
    ErrorText error;
    Scene *scene =
        parse("{\"name\":\"t\",\"materials\":[{\"name\":\"m\",\"density\":500,\"friction\":0.25,"
              "\"color\":[1,0.5,0]}],\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"box\","
              "\"half\":[0.5,1,2]},\"material\":\"m\",\"rotation\":[90,0,0],\"velocity\":[1,2,3]},"
              "{\"name\":\"s\",\"shape\":{\"kind\":\"sphere\",\"radius\":1},\"mass\":3,"
              "\"position\":[0,5,0],\"repeat\":{\"count\":[2,2,1],\"spacing\":[2,3,4],"
              "\"stagger\":0.5}}],\"cloths\":[{\"name\":\"c\",\"points\":[3,4],\"size\":[1,1],"
              "\"pins\":[{\"point\":[2,3],\"body\":\"s-2\"}]}]}",
              &error);
    if (scene == NULL) {
        fail_msg("%s", error.text);
    }
    const SceneBody *body = &scene->bodies[0];
    assert_float_equal(body->mass_kg, 500.0f * 8.0f, 1e-3);
    assert_float_equal(body->friction, 0.25f, 0);
    assert_float_equal(body->orientation.w, 0.70710678f, 1e-7);
    assert_float_equal(body->orientation.x, 0.70710678f, 1e-7);
    assert_float_equal(body->velocity.z, 3.0f, 0);
    assert_float_equal(body->appearance.color[1], 0.2140411f, 1e-5);
    assert_float_equal(scene->gravity.y, -9.81f, 1e-6);
    assert_int_equal(scene->tick_rate, 60);
    assert_int_equal(scene->body_count, 5);
    assert_string_equal(scene->bodies[4].name, "s-4");
    assert_float_equal(scene->bodies[4].position.x, 2.5f, 1e-6);
    assert_float_equal(scene->bodies[4].position.y, 8.0f, 1e-6);
    assert_float_equal(scene->bodies[1].mass_kg, 3.0f, 0);
    assert_int_equal(scene->pins[0].body, 2);
    assert_int_equal(scene->pins[0].point, 11);
    scene_destroy(scene);
}

/* A tetrahedron's corner cut off a unit cube: volume 1/6. */
#define HULL    "\"kind\":\"hull\",\"points\":[[0,0,0],[1,0,0],[0,1,0],[0,0,1],[0.1,0.1,0.1]]"
#define SHAPED  "\"name\":\"s\",\"shape\":{"
#define TERRAIN "\"kind\":\"terrain\",\"columns\":3,\"rows\":2,\"spacing\":2"

static void test_shapes_become_geometries(void **state)
{
    (void)state;
    Scene *scene = must_parse(
        "{\"name\":\"t\",\"bodies\":[{\"name\":\"h\",\"shape\":{" HULL
        "},\"repeat\":{\"count\":[3,1,1],\"spacing\":[2,1,1]}},"
        "{\"name\":\"m\",\"motion\":\"static\",\"shape\":{\"kind\":\"mesh\",\"vertices\":[[0,0,0],"
        "[1,0,0],[0,0,1],[1,0,1]],\"triangles\":[[0,2,1],[1,2,3]]}},"
        "{\"name\":\"g\",\"motion\":\"static\",\"shape\":{" TERRAIN ",\"heights\":[0,1,2,3,4,5]}},"
        "{\"name\":\"c\",\"shape\":{\"kind\":\"compound\",\"children\":["
        "{\"shape\":{\"kind\":\"sphere\",\"radius\":1},\"position\":[0,3,0]},{\"shape\":{" HULL
        "}}]}},"
        "{\"name\":\"y\",\"shape\":{\"kind\":\"cylinder\",\"radius\":1,\"half_height\":2}},"
        "{\"name\":\"k\",\"shape\":{\"kind\":\"cone\",\"radius\":1,\"half_height\":1.5}}]}");
    const SceneBody *b = scene->bodies;
    assert_int_equal(scene->geometry_count, 5); /* the copies share theirs */
    assert_ptr_equal(b[0].shape.geometry, scene->geometries[0]);
    assert_ptr_equal(b[2].shape.geometry, scene->geometries[0]);
    assert_int_equal(b[2].appearance.geometry, 1);
    assert_float_equal(b[0].mass_kg, 1000.0 / 6.0, 1e-3);
    assert_int_equal(b[3].shape.geometry->mesh.triangle_count, 2);
    assert_false(b[3].shape.geometry->mesh.closed);
    const Terrain *terrain = &b[4].shape.geometry->terrain;
    f32 height;
    assert_true(terrain_height(terrain, 2.0f, 1.0f, &height, NULL)); /* the last sample */
    assert_float_equal(height, 5.0f, 1e-6);
    assert_int_equal(b[5].appearance.geometry, 5); /* its hull was made earlier */
    assert_int_equal(b[5].shape.geometry->compound.child_count, 2);
    assert_float_equal(b[5].mass_kg, 1000.0 * (4.0 / 3.0 * 3.14159265 + 1.0 / 6.0), 0.05);
    assert_float_equal(b[6].mass_kg, 1000.0 * 3.14159265 * 4.0, 0.1);
    assert_float_equal(b[7].mass_kg, 1000.0 * 3.14159265, 0.1);
    assert_int_equal(b[7].appearance.geometry, 0);
    scene_destroy(scene);
}

static void test_tracks_and_noise_are_generated(void **state)
{
    (void)state;
    static const char json[] =
        "{\"name\":\"t\",\"seed\":7,\"bodies\":[{\"name\":\"r\",\"motion\":\"static\",\"shape\":{"
        "\"kind\":\"mesh\",\"track\":{\"radius\":0.5,\"rim\":0.1,\"points\":[[0,1,0],[3,0.8,0],"
        "[6,0.5,1]]}}},{\"name\":\"g\",\"motion\":\"static\",\"shape\":{\"kind\":\"terrain\","
        "\"columns\":33,\"rows\":17,\"spacing\":1,\"noise\":{\"amplitude\":2,\"feature\":6,"
        "\"octaves\":3}}}]}";
    Scene *scene = must_parse(json), *again = must_parse(json);
    const Geometry *track = scene->geometries[0];
    assert_true(track->mesh.closed);
    /* The bottom of its interior passes through the points: no vertex is nearer to (0, 1, 0). */
    f32 nearest = 1e9f;
    for (u32 i = 0; i < track->mesh.vertex_count; i++) {
        nearest = f32_min(nearest, vec3_distance(track->mesh.vertices[i], vec3(0.0f, 1.0f, 0.0f)));
    }
    assert_true(nearest < 0.01f);
    const Terrain *hills = &scene->geometries[1]->terrain;
    assert_true(hills->high <= 3.5f && hills->low >= -3.5f); /* 2 + 1 + 0.5 */
    assert_true(hills->high - hills->low > 0.5f);
    assert_memory_equal(hills->heights, again->geometries[1]->terrain.heights,
                        33 * 17 * sizeof(f32));
    /* Smooth: neighbours 1 m apart on features of 6, 3 and 1.5 m. */
    for (u32 i = 1; i < 33; i++) {
        assert_true(fabsf(hills->heights[i] - hills->heights[i - 1]) < 3.0f);
    }
    scene_destroy(scene);
    scene_destroy(again);
}

#define TWO                                                                                        \
    "\"bodies\":[{\"name\":\"p\",\"shape\":{\"kind\":\"sphere\",\"radius\":0.2},\"position\":[1,"  \
    "2,3],"                                                                                        \
    "\"rotation\":[0,90,0]},{\"name\":\"q\",\"shape\":{\"kind\":\"sphere\",\"radius\":0.2},"       \
    "\"position\":[3,2,3]},{\"name\":\"l\",\"shape\":{\"kind\":\"sphere\",\"radius\":0.1},"        \
    "\"position\":[0,5,0],\"repeat\":{\"count\":[3,2,2],\"spacing\":[1,2,4]}}]"

static void test_joints_are_in_local_frames(void **state)
{
    (void)state;
    Scene *scene = must_parse(
        "{\"name\":\"t\"," TWO ",\"joints\":[{\"name\":\"h\",\"kind\":\"hinge\",\"a\":\"p\",\"b\":"
        "\"q\",\"axis\":[0,0,2],\"limits\":[-90,45],\"speed\":-2,\"force\":5,"
        "\"break_force\":100},{\"name\":\"d\",\"kind\":\"distance\",\"b\":\"q\","
        "\"anchor_a\":[3,6,0],\"anchor_b\":[0,0,0]}]}");
    const SceneJoint *hinge = &scene->joints[0];
    assert_int_equal(hinge->a, 0);
    assert_int_equal(hinge->b, 1);
    /* Halfway between them; p is rotated by 90 degrees about y, so that its own x points to −z. */
    assert_float_equal(hinge->anchor_b.x, -1.0f, 1e-6);
    assert_float_equal(hinge->anchor_a.z, 1.0f, 1e-6);
    assert_float_equal(hinge->anchor_a.x, 0.0f, 1e-6);
    Vec3 axis_a = quat_rotate(scene->bodies[0].orientation,
                              quat_rotate(hinge->frame_a, vec3(1.0f, 0.0f, 0.0f)));
    Vec3 axis_b = quat_rotate(hinge->frame_b, vec3(1.0f, 0.0f, 0.0f));
    assert_true(vec3_distance(axis_a, vec3(0.0f, 0.0f, 1.0f)) < 1e-6f);
    assert_true(vec3_distance(axis_b, vec3(0.0f, 0.0f, 1.0f)) < 1e-6f);
    assert_true(hinge->limited && hinge->driven && !hinge->sprung);
    assert_float_equal(hinge->lower, -1.57079633f, 1e-6);
    assert_float_equal(hinge->upper, 0.78539816f, 1e-6);
    assert_float_equal(hinge->speed, -2.0f, 0);
    assert_float_equal(hinge->break_force, 100.0f, 0);
    const SceneJoint *rod = &scene->joints[1];
    assert_int_equal(rod->a, -1);
    assert_float_equal(rod->lower, 5.0f, 1e-6); /* 4 up, 3 back */
    assert_float_equal(rod->upper, 5.0f, 1e-6);
    scene_destroy(scene);
}

/* A motor's velocities are in a's frame. */
static void test_motors_drive_in_the_frame_of_a(void **state)
{
    (void)state;
    Scene *scene = must_parse("{\"name\":\"t\"," TWO
                              ",\"joints\":[{\"name\":\"m\",\"kind\":\"motor\",\"a\":\"p\",\"b\":"
                              "\"q\",\"angular_velocity\":[0,0,2],\"torque\":5}]}");
    const SceneJoint *motor = &scene->joints[0];
    Quat a = scene->bodies[motor->a].orientation, b = scene->bodies[motor->b].orientation;
    Quat together = quat_mul(b, motor->frame_b);
    assert_float_equal(fabsf(motor->frame_a.w), 1.0f, 1e-6);
    assert_float_equal(fabsf(quat_mul(quat_conjugate(a), together).w), 1.0f, 1e-6);
    assert_float_equal(motor->motor_angular_velocity.z, 2.0f, 0);
    scene_destroy(scene);
}

/* The dry friction of sliders is a motor that holds still; others have their own. */
static void test_joints_have_friction(void **state)
{
    (void)state;
    static const char *const kinds[] = {"hinge", "slider", "ball", "universal"};
    for (u32 i = 0; i < 4; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "{\"name\":\"t\"," TWO ",\"joints\":[{\"name\":\"j\",\"kind\":\"%s\",\"a\":\"p\","
                 "\"b\":\"q\",\"friction\":3}]}",
                 kinds[i]);
        Scene *scene = must_parse(text);
        const SceneJoint *joint = &scene->joints[0];
        assert_true(joint->driven == (i == 1));
        assert_float_equal(joint->force_max, i == 1 ? 3.0f : 0.0f, 0);
        assert_float_equal(joint->friction, i == 1 ? 0.0f : 3.0f, 0);
        assert_float_equal(joint->speed, 0.0f, 0);
        scene_destroy(scene);
    }
}

static void test_chains_join_neighbours(void **state)
{
    (void)state;
    Scene *scene = must_parse(
        "{\"name\":\"t\"," TWO
        ",\"joints\":[{\"name\":\"x\",\"kind\":\"ball\",\"chain\":\"l\",\"anchor\":[0,0.5,0]},"
        "{\"name\":\"y\",\"kind\":\"ball\",\"chain\":\"l\",\"along\":\"y\"},"
        "{\"name\":\"z\",\"kind\":\"ball\",\"chain\":\"l\",\"along\":\"z\"},"
        "{\"name\":\"e\",\"kind\":\"distance\",\"each\":\"l\",\"anchor_a\":[0,3,0]}]}");
    assert_int_equal(scene->joint_count, 2 * 2 * 2 + 3 * 2 + 3 * 2 + 12);
    for (u32 i = 0; i < scene->joint_count; i++) {
        const SceneJoint *j = &scene->joints[i];
        Vec3 a = j->a >= 0 ? scene->bodies[j->a].position : vec3_zero();
        Vec3 apart = vec3_sub(scene->bodies[j->b].position, a);
        switch (j->name[0]) {
        case 'x':
            assert_true(vec3_distance(apart, vec3(1.0f, 0.0f, 0.0f)) < 1e-6f);
            assert_true(vec3_distance(j->anchor_a, vec3(0.5f, 0.5f, 0.0f)) < 1e-6f);
            break;
        case 'y':
            assert_true(vec3_distance(apart, vec3(0.0f, 2.0f, 0.0f)) < 1e-6f);
            break;
        case 'z':
            assert_true(vec3_distance(apart, vec3(0.0f, 0.0f, 4.0f)) < 1e-6f);
            break;
        default:
            assert_true(vec3_distance(vec3_sub(j->anchor_a, apart), vec3(0, 3.0f, 0)) < 1e-6f);
            assert_float_equal(j->lower, 3.0f, 1e-6);
        }
    }
    scene_destroy(scene);
}

static void test_figures(void **state)
{
    (void)state;
    Scene *scene = must_parse(
        "{\"name\":\"t\",\"ragdolls\":[{\"name\":\"r\",\"position\":[1,0,2],\"rotation\":[0,30,0],"
        "\"size\":2,\"mass\":80,\"repeat\":{\"count\":[2,1,1],\"spacing\":[3,1,1]}}]}");
    assert_int_equal(scene->body_count, 22);
    assert_int_equal(scene->joint_count, 20);
    f32 mass = 0.0f, top = 0.0f, low = 9.0f;
    for (u32 i = 0; i < 11; i++) {
        const SceneBody *body = &scene->bodies[i];
        mass += body->mass_kg;
        assert_int_equal(body->family, scene->bodies[0].family);
        Bounds bounds = shape_bounds(&body->shape, body->position, body->orientation);
        top = f32_max(top, bounds.max.y);
        low = f32_min(low, bounds.min.y);
    }
    assert_float_equal(mass, 80.0f, 0.01f);
    assert_float_equal(top, 2.0f, 0.02f);
    assert_float_equal(low, 0.0f, 0.02f);
    assert_true(scene->bodies[0].family != scene->bodies[11].family);
    assert_true(find_body(scene, "r-2-shin-left") >= 11);
    for (u32 i = 0; i < scene->joint_count; i++) {
        /* Both sides describe the same point and the same frame. */
        const SceneJoint *j = &scene->joints[i];
        const SceneBody *a = &scene->bodies[j->a], *b = &scene->bodies[j->b];
        Vec3 pa = vec3_add(a->position, quat_rotate(a->orientation, j->anchor_a));
        Vec3 pb = vec3_add(b->position, quat_rotate(b->orientation, j->anchor_b));
        assert_true(vec3_distance(pa, pb) < 1e-5f);
        Quat fa = quat_mul(a->orientation, j->frame_a), fb = quat_mul(b->orientation, j->frame_b);
        assert_true(fabsf(quat_dot(fa, fb)) > 0.99999f);
        assert_true(j->limited);
    }
    scene_destroy(scene);
}

static void test_an_entity_finds_its_geometry(void **state)
{
    (void)state;
    Scene *scene = must_parse("{\"name\":\"t\",\"bodies\":[{" SHAPED HULL "}}]}");
    Appearance appearance = {
        .kind = APPEARANCE_SHAPE, .shape = {.kind = SHAPE_HULL}, .geometry = 1};
    assert_true(scene_resolve(scene, &appearance));
    assert_ptr_equal(appearance.shape.geometry, scene->geometries[0]);
    appearance.geometry = 2; /* does not exist */
    assert_false(scene_resolve(scene, &appearance));
    assert_null(appearance.shape.geometry);
    appearance.geometry = 0;
    assert_false(scene_resolve(scene, &appearance));
    appearance.shape.kind = SHAPE_MESH; /* of another kind */
    appearance.geometry = 1;
    assert_false(scene_resolve(scene, &appearance));
    appearance.shape.kind = SHAPE_BOX; /* takes none */
    assert_false(scene_resolve(scene, &appearance));
    appearance.geometry = 0;
    assert_true(scene_resolve(scene, &appearance));
    scene_destroy(scene);
}

#define HEAD  "{\"name\":\"t\",\n"
#define BALL  "\"name\":\"b\",\"shape\":{\"kind\":\"sphere\",\"radius\":1}"
#define CLOTH "\"name\":\"c\",\"points\":[4,4],\"size\":[1,1]"

static const SceneRefused wrongs[] = {
    {"", "t.json:1: "},
    {"{", "t.json:1: "},
    {"[]", "t.json:1: "},
    {"{}", "t.json:1: name: missing"},
    {"{\"name\":\"t\"} x", "t.json:1: "},
    {"{\"name\":\"\"}", "t.json:1: name: a name of 0 bytes; must have 1 to 47"},
    {"{\"name\":\"a\\u0007\"}", "t.json:1: name: not clean text"},
    {"{\"name\":\"\xff\"}", "t.json:1: name: "},
    {HEAD "\"bodies\":[{" BALL "},\n{\"name\":\"c\",\"mas\":1}]}",
     "t.json:3: bodies[1].mas: unknown field; did you mean \"mass\"?"},
    {HEAD "\"colour\":1}", "t.json:2: colour: unknown field; Scene has name, "},
    {HEAD "\"liqids\":[{\"name\":\"a\"}]}",
     "t.json:2: liqids: unknown field; did you mean \"liquids\"?"},
    {HEAD "\"liquids\":[{\"name\":\"a\",\"fills\":[]}]}",
     "t.json:2: liquids[0].fills: unknown field; did you mean \"fill\"?"},
    {HEAD "\"softs\":[]}", "t.json:2: softs: unknown field; it is now \"soft_bodies\""},
    {HEAD "\"particle_systems\":[{\"name\":\"a\",\"look\":\"spark\"}]}",
     "t.json:2: particle_systems[0].look: unknown field; it is now \"appearance\""},
    {HEAD "\"bodies\":[{" BALL ",\"spin\":[0,1,0]}]}",
     "t.json:2: bodies[0].spin: unknown field; it is now \"angular_velocity\""},
    {HEAD "\"look\":1}", "t.json:2: look: unknown field; Scene has name, "},
    {HEAD "\"bodies\":[{\"shape\":{\"shape\":{}}}]}", "t.json:2: bodies[0].shape.shape: unknown"},
    {HEAD "\"bodies\":[\n{\"shape\":{\"kind\":\"plane\"}}]}", "bodies[0].name: missing"},
    {HEAD "\"bodies\":[{" BALL "},\n\n{\"name\":\"c\",\"mass\":0,\"shape\":{\"kind\":\"sphere\","
          "\"radius\":1}}]}",
     "t.json:4: bodies[1].mass: 0 kg; must be > 0"},
    {HEAD "\"bodies\":[{" BALL ",\n\"mass\":0}]}", "t.json:3: bodies[0].mass: "},
    {HEAD "\"bodies\":[{" BALL ",\"mass\":-4}]}", "bodies[0].mass: -4 kg"},
    {HEAD "\"bodies\":[{" BALL ",\"mass\":1e300}]}", "bodies[0].mass: "},
    {HEAD "\"bodies\":[{" BALL ",\"mass\":nan}]}", "bodies[0].mass: "},
    {HEAD "\"bodies\":[{" BALL ",\"mass\":\"heavy\"}]}", "bodies[0].mass: "},
    {HEAD "\"bodies\":[{" BALL ",\"motion\":\"dinamic\"}]}", "one of \"dynamic\", \"static\""},
    {HEAD "\"bodies\":[{" BALL ",\"motion\":\"static\",\"mass\":1}]}", "leave it out"},
    {HEAD "\"bodies\":[{" BALL ",\"motion\":\"static\",\"velocity\":[1,0,0]}]}",
     "bodies[0].velocity: a static body cannot move"},
    {HEAD "\"bodies\":[{" BALL ",\"position\":[0,1]}]}",
     "bodies[0].position: has 2 numbers; must have 3"},
    {HEAD "\"bodies\":[{" BALL ",\"position\":[0,inf,0]}]}", "bodies[0].position"},
    {HEAD "\"bodies\":[{" BALL ",\"position\":[0,500,0]}]}", "outside the scene's bounds"},
    {HEAD "\"bodies\":[{" BALL ",\"orientation\":[0,0,0,0]}]}", "unit quaternion"},
    {HEAD "\"bodies\":[{" BALL ",\"rotation\":[0,0,0],\"orientation\":[1,0,0,0]}]}",
     "give one of them"},
    {HEAD "\"bodies\":[{" BALL ",\"material\":\"iron\"}]}",
     "bodies[0].material: no material \"iron\""},
    {HEAD "\"bodies\":[{" BALL "},\n{" BALL "}]}", "t.json:3: bodies[1].name: \"b\" is taken"},
    {HEAD "\"bodies\":[{" BALL ",\"friction\":11}]}", "bodies[0].friction: 11 is out of range"},
    {HEAD "\"bodies\":[{" BALL ",\"color\":[1,2,3]}]}", "bodies[0].color[1]: 2 is out of range"},
    {HEAD "\"bodies\":[{\"name\":\"p\",\"shape\":{\"kind\":\"plane\"}}]}", "a plane cannot move"},
    {HEAD "\"bodies\":[{\"name\":\"p\",\"shape\":{}}]}", "bodies[0].shape.kind: missing"},
    {HEAD "\"bodies\":[{\"name\":\"p\",\"shape\":{\"kind\":\"box\",\"radius\":1}}]}",
     "bodies[0].shape.radius: a box has none"},
    {HEAD "\"bodies\":[{\"name\":\"p\",\"shape\":{\"kind\":\"box\"}}]}", "bodies[0].shape.half"},
    {HEAD "\"bodies\":[{" BALL ",\"repeat\":{\"count\":[4000,4000,4000],\"spacing\":[1,1,1]}}]}",
     "bodies[0].repeat.count: more than 65536"},
    {HEAD "\"bodies\":[{" BALL ",\"repeat\":{\"count\":[0,1,1],\"spacing\":[1,1,1]}}]}",
     "bodies[0].repeat.count[0]: 0 is out of range"},
    {HEAD "\"cloths\":[{" CLOTH ",\"pins\":[{\"point\":[4,0]}]}]}",
     "cloths[0].pins[0].point: [4, 0] is not a point of this cloth; at most [3, 3]"},
    {HEAD "\"cloths\":[{" CLOTH ",\"pins\":[{\"point\":[0,0],\"body\":\"x\"}]}]}", "no body \"x\""},
    {HEAD "\"cloths\":[{\"name\":\"c\",\"points\":[100000,100000],\"size\":[1,1]}]}",
     "cloths[0].points[0]: 100000 is out of range"},
    {HEAD "\"probes\":[{\"name\":\"p\",\"kind\":\"heat\"}]}", "one of kinetic_energy, "},
    {HEAD "\"probes\":[{\"name\":\"p\",\"kind\":\"height\",\"of\":\"b\"}]}", "no entity \"b\""},
    {HEAD "\"probes\":[{\"name\":\"p\",\"kind\":\"height\"}]}", "probes[0].of: missing"},
    {HEAD "\"prefabs\":[{\"name\":\"p\"}]}", "prefabs[0].body"},
    {HEAD "\"prefabs\":[{\"name\":\"p\",\"matter\":\"cloud\",\"body\":{" BALL "}}]}",
     "prefabs[0].body"},
    {HEAD "\"prefabs\":[{\"name\":\"p\",\"soft\":{\"name\":\"s\",\"shape\":{\"kind\":\"sphere\","
          "\"radius\":1,\"level\":1},\"pins\":[{\"point\":[0]}]}}]}",
     "prefabs[0].soft.pins"},
    {HEAD "\"prefabs\":[{\"name\":\"p\",\"soft\":{\"name\":\"s\",\"shape\":{\"kind\":\"sphere\","
          "\"radius\":1,\"level\":1},\"repeat\":{\"count\":[2,1,1],\"spacing\":[3,3,3]}}}]}",
     "prefabs[0].soft.repeat"},
    {HEAD "\"prefabs\":[{\"name\":\"p\",\"spares\":65,\"soft\":{\"name\":\"s\",\"shape\":{\"kind\":"
          "\"sphere\",\"radius\":1,\"level\":1}}}]}",
     "prefabs[0].spares"},
    {HEAD "\"prefabs\":[{\"name\":\"p\",\"spares\":64,\"soft\":{\"name\":\"s\",\"shape\":{\"kind\":"
          "\"sphere\",\"radius\":1,\"level\":6}}}]}",
     "prefabs[0].spares"},
    {HEAD "\"probes\":[{\"name\":\"p\",\"kind\":\"range\",\"from\":[0,0,0]}]}",
     "probes[0].direction"},
    {HEAD
     "\"probes\":[{\"name\":\"p\",\"kind\":\"range\",\"from\":[0,0,0],\"direction\":[0,0,0]}]}",
     "probes[0].direction"},
    {HEAD "\"probes\":[{\"name\":\"p\",\"kind\":\"energy\",\"from\":[0,0,0]}]}", "probes[0].from"},
    {HEAD "\"probes\":[{\"name\":\"p\",\"kind\":\".speed\"}]}", "probes[0].kind"},
    {HEAD "\"prefabs\":[{\"name\":\"p\",\"body\":{" BALL ",\"motion\":\"static\"}}]}",
     "prefabs[0].body.motion"},
    {HEAD "\"tick_rate\":10}", "t.json:2: tick_rate: 10 is out of range"},
    {HEAD "\"substeps\":-1}", "substeps: "},
    {HEAD "\"bounds\":[0,0,0,1,1,0]}", "bounds: "},
    {HEAD "\"camera\":{\"eye\":[0,0,0],\"target\":[0,0,0]}}", "camera.target: "},
    {HEAD "\"sky\":{\"sun\":[0,0,0]}}", "sky.sun: "},
    {HEAD "\"hands\":{\"reach\":-1}}", "hands.reach: "},
    {HEAD "\"seed\":1,\"seed\":2}", "seed: "},
    {HEAD "\"bodies\":[{" SHAPED HULL ",\"radius\":1}}]}", "shape.radius: a hull has none"},
    {HEAD "\"bodies\":[{" SHAPED "\"kind\":\"hull\",\n\"points\":[[0,0,0]]}}]}",
     "t.json:3: bodies[0].shape.points: has 1 points; must have 4 to "},
    {HEAD "\"bodies\":[{" SHAPED
          "\"kind\":\"hull\",\"points\":[[0,0,0],[1,0,0],[2,0,0],[3,0,0]]}}]}",
     "bodies[0].shape.points: "},
    {HEAD "\"bodies\":[{" SHAPED
          "\"kind\":\"hull\",\"points\":[[0,0,0],[1,0,0],\n[2,0,1e9],[3,0,0]]}}]}",
     "t.json:3: bodies[0].shape.points[2]: 1e+09 is out of range"},
    {HEAD "\"bodies\":[{" SHAPED "\"kind\":\"mesh\",\"vertices\":[[0,0,0],[1,0,0],[0,1,0]],"
          "\"triangles\":[[0,1,3]]},\"motion\":\"static\"}]}",
     "bodies[0].shape.triangles: "},
    {HEAD "\"bodies\":[{" SHAPED "\"kind\":\"mesh\",\"vertices\":[[0,0,0],[1,0,0],[0,1,0]],"
          "\"triangles\":[[0,1,2]]}}]}",
     "bodies[0].motion: a mesh cannot be dynamic"},
    {HEAD "\"bodies\":[{" SHAPED TERRAIN "}}]}", "a terrain has either heights or noise"},
    {HEAD "\"bodies\":[{" SHAPED TERRAIN ",\"heights\":[1,2]}}]}",
     "shape.heights: has 2 numbers; must have rows * columns = 6"},
    {HEAD "\"bodies\":[{" SHAPED TERRAIN ",\"noise\":{\"octaves\":11}}}]}", "noise.octaves: 11"},
    {HEAD "\"bodies\":[{" SHAPED TERRAIN ",\"noise\":{}}}]}", "a terrain cannot move"},
    {HEAD "\"bodies\":[{" SHAPED "\"kind\":\"compound\"}}]}", "shape.children: missing"},
    {HEAD "\"bodies\":[{" SHAPED
          "\"kind\":\"compound\",\"children\":[{\"shape\":{\"kind\":\"plane\"}}]}}]}",
     "children[0].shape.kind: a compound cannot contain a plane"},
    {HEAD "\"bodies\":[{" BALL ",\"path\":{\"points\":[[0,0,0],[1,0,0]]}}]}",
     "bodies[0].path: only kinematic bodies"},
    {HEAD "\"bodies\":[{" BALL ",\"linear_damping\":-1}]}", "bodies[0].linear_damping: -1"},
    {HEAD TWO ",\n\"joints\":[{\"name\":\"j\",\"kind\":\"ball\",\"a\":\"p\",\"b\":\"w\"}]}",
     "t.json:3: joints[0].b: no body \"w\""},
    {HEAD TWO ",\"joints\":[{\"name\":\"j\",\"a\":\"p\"}]}", "joints[0].kind: missing or unknown"},
    {HEAD TWO ",\"joints\":[{\"name\":\"j\",\"kind\":\"ball\"}]}", "is the same as a"},
    {HEAD TWO ",\"joints\":[{\"name\":\"j\",\"kind\":\"ball\",\"a\":\"p\",\"limits\":[0,1]}]}",
     "joints[0].limits: a ball joint has none"},
    {HEAD TWO ",\"joints\":[{\"name\":\"j\",\"kind\":\"hinge\",\"a\":\"p\",\"limits\":[1,0]}]}",
     "joints[0].limits: [1, 0]; give the lower limit first"},
    {HEAD TWO ",\"joints\":[{\"name\":\"j\",\"kind\":\"hinge\",\"a\":\"p\",\"speed\":1}]}",
     "joints[0].force: missing"},
    {HEAD TWO ",\"joints\":[{\"name\":\"j\",\"kind\":\"slider\",\"a\":\"p\",\"force\":1,"
              "\"friction\":1}]}",
     "joints[0].friction: a motor holds"},
    {HEAD TWO ",\"joints\":[{\"name\":\"j\",\"kind\":\"fixed\",\"a\":\"p\",\"friction\":1}]}",
     "joints[0].friction: a fixed joint has none"},
    {HEAD TWO ",\"joints\":[{\"name\":\"j\",\"kind\":\"spring\",\"a\":\"p\"}]}",
     "joints[0].frequency: missing"},
    {HEAD TWO ",\"joints\":[{\"name\":\"j\",\"kind\":\"ball\",\"chain\":\"p\"}]}",
     "no body \"p\" with a repeat"},
    {HEAD TWO ",\"joints\":[{\"name\":\"j\",\"kind\":\"hinge\",\"a\":\"p\",\"axis\":[0,0,0]}]}",
     "joints[0].axis: has no direction"},
    {HEAD "\"ragdolls\":[{\"name\":\"r\",\"size\":0}]}", "ragdolls[0].size: 0 is out of range"},
    {HEAD "\"method\":\"magic\"}", "one of \"soft_step\", \"impulses\""},
    {HEAD "\"bodies\":[{" BALL ",\"method\":\"magic\"}]}", "one of \"soft_step\", \"impulses\""},
    {HEAD "\"pyramid_sides\":2}", "pyramid_sides: 2 is out of range"},
    {HEAD "\"probes\":[{\"name\":\"p\",\"kind\":\"joint_force\",\"of\":\"j\"}]}", "no joint \"j\""},
};

static void test_errors_name_the_place_the_fault_and_the_remedy(void **state)
{
    (void)state;
    expect_refused(wrongs, PL_COUNT(wrongs));
}

/* A file gives the same error text as the same bytes in memory. */
static void test_wrong_file(void **state)
{
    (void)state;
    char path[] = "/tmp/plenum-test-scene-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static const char json[] = "{\"name\":\"t\",\n\"bodies\":[{\"name\":\"b\",\"shap\":1}]}";
    assert_int_equal(write(fd, json, sizeof json - 1), sizeof json - 1);
    close(fd);
    ErrorText error;
    assert_null(scene_load(path, &error));
    char expected[200];
    snprintf(expected, sizeof expected,
             "%s:2: bodies[0].shap: unknown field; did you mean \"shape\"?", path);
    assert_string_equal(error.text, expected);
    unlink(path);
}

static void test_deep_and_huge_json_is_refused(void **state)
{
    (void)state;
    ErrorText error;
    size_t bytes = 1 << 20;
    char *json = malloc(bytes + 1);
    assert_non_null(json);
    memset(json, '[', bytes);
    assert_null(scene_parse(json, bytes, "t.json", &error));
    memset(json, '{', bytes);
    assert_null(scene_parse(json, bytes, "t.json", &error));
    json[10] = 0;
    assert_null(scene_parse(json, bytes, "t.json", &error));
    assert_non_null(strstr(error.text, "zero byte"));
    assert_null(scene_parse(json, (size_t)10 << 30, "t.json", &error));
    assert_int_equal(error.code, ERROR_LIMIT);
    assert_null(scene_load("/nonexistent/scene.json", &error));
    assert_int_equal(error.code, ERROR_NOT_FOUND);
    assert_null(scene_load("shared/scenes", &error));
    assert_int_equal(error.code, ERROR_IO);
    free(json);
}

/* Any damage gives a valid scene or an error, nothing else (checked by asan). */
static void test_mutated_bytes(void **state)
{
    (void)state;
    ErrorText error = {0};
    Scene *scene = scene_load("shared/scenes/playground.json", &error);
    assert_non_null(scene);
    u8 *bytes = malloc(scene->byte_count);
    assert_non_null(bytes);
    u32 refused = 0;
    for (u32 round = 0; round < 3000; round++) {
        memcpy(bytes, scene->bytes, scene->byte_count);
        u32 at = round * 2654435761u % scene->byte_count;
        bytes[at] ^= (u8)(1u << round % 8);
        bytes[(at * 7 + 3) % scene->byte_count] = (u8)(round % 3 == 0 ? 0xFF : 0x7F);
        Scene *mutant = scene_from_bytes(bytes, scene->byte_count, &error);
        refused += mutant == NULL;
        for (u32 i = 0; mutant != NULL && i < mutant->body_count; i++) {
            assert_true(vec3_is_finite(mutant->bodies[i].position));
            assert_true(mutant->bodies[i].motion != BODY_DYNAMIC ||
                        mutant->bodies[i].mass_kg > 0.0f);
        }
        scene_destroy(mutant);
    }
    assert_true(refused > 100);
    for (u32 cut = 0; cut < 200; cut++) {
        assert_null(scene_from_bytes(scene->bytes, cut, &error));
    }
    free(bytes);
    scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped_scenes_load_and_round_trip),
        cmocka_unit_test(test_playground_has_what_the_demo_needs),
        cmocka_unit_test(test_values_arrive),
        cmocka_unit_test(test_shapes_become_geometries),
        cmocka_unit_test(test_tracks_and_noise_are_generated),
        cmocka_unit_test(test_joints_are_in_local_frames),
        cmocka_unit_test(test_motors_drive_in_the_frame_of_a),
        cmocka_unit_test(test_joints_have_friction),
        cmocka_unit_test(test_chains_join_neighbours),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_an_entity_finds_its_geometry),
        cmocka_unit_test(test_errors_name_the_place_the_fault_and_the_remedy),
        cmocka_unit_test(test_wrong_file),
        cmocka_unit_test(test_deep_and_huge_json_is_refused),
        cmocka_unit_test(test_mutated_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
