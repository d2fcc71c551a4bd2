/* test_scene_soft.c: soft bodies of a scene: every field arrives, pins find their points, copies
 * share a mesh, and errors name their place. */
#include "protocol/scene/scene.h"
#include "server/author/scene_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h comes after what it needs. */
#include <cmocka.h>

#include "tests/support/scene_refused.h"

#define HEAD "{\"name\":\"t\",\n"
#define GRID "\"name\":\"c\",\"shape\":{\"kind\":\"grid\",\"points\":[4,3],\"size\":[3,2]}"
#define ROPE "\"name\":\"r\",\"shape\":{\"kind\":\"rope\",\"points\":[5],\"length\":2}"
#define BALL                                                                                       \
    "\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"sphere\",\"radius\":1},\"motion\":"         \
    "\"static\"}],"

static void test_every_field_arrives(void **state)
{
    (void)state;
    Scene *scene = must_parse(
        HEAD "\"soft_steps\":5,\"soft_bodies\":[{" GRID
             ",\"position\":[1,2,3],\"velocity\":[0,1,0],"
             "\"angular_velocity\":[0,0,2],\"density\":0.5,\"method\":\"pbd\",\"iterations\":20,"
             "\"stiffness\":"
             "0.75,\"stretch_compliance\":0.001,\"shear_compliance\":-1,\"bend\":\"isometric\","
             "\"bend_compliance\":3,\"area_compliance\":0.25,\"stretch_min\":0.5,\"stretch_max\":"
             "1.5,\"tethers\":true,\"inflate\":4,\"volume\":\"ellipsoid\",\"match\":\"quadratic\","
             "\"match_stiffness\":0.125,\"match_beta\":0.375,\"yield\":0.1,\"creep\":2,"
             "\"plastic_max\":0.7,\"smoothing\":4,\"spring_damping\":0.002,\"damping\":0.3,"
             "\"thickness\":0.04,\"friction\":0.6,"
             "\"static_friction\":0.9,\"contact_stiffness\":5000,\"rolling_resistance\":0.25,"
             "\"self_collision\":true,"
             "\"group\":2,\"mask\":5,\"pins\":[{\"point\":[0,0]}],\"color\":[1,0,0],"
             "\"roughness\":0.5,\"pattern\":\"stripes\"}]}");
    assert_int_equal(scene->soft_steps, 5);
    assert_int_equal(scene->soft_count, 1);
    const SceneSoft *s = &scene->soft_bodies[0];
    assert_string_equal(s->name, "c");
    assert_float_equal(s->position.z, 3.0f, 0);
    assert_float_equal(s->velocity.y, 1.0f, 0);
    assert_float_equal(s->angular_velocity.z, 2.0f, 0);
    assert_float_equal(s->mass_kg, 3.0f, 1e-6); /* 0.5 kg/m² of 3 m × 2 m */
    assert_int_equal(s->method, SOFT_PBD);
    assert_int_equal(s->iterations, 20);
    assert_float_equal(s->stiffness, 0.75f, 0);
    assert_float_equal(s->stretch_compliance, 0.001f, 0);
    assert_float_equal(s->shear_compliance, -1.0f, 0);
    assert_int_equal(s->bend, SOFT_BEND_ISOMETRIC);
    assert_float_equal(s->bend_compliance, 3.0f, 0);
    assert_float_equal(s->area_compliance, 0.25f, 0);
    assert_float_equal(s->volume_compliance, -1.0f, 0);
    assert_float_equal(s->stretch_min, 0.5f, 0);
    assert_float_equal(s->stretch_max, 1.5f, 0);
    assert_true(s->tethers && s->self_collision);
    assert_float_equal(s->inflate_s, 4.0f, 0);
    assert_int_equal(s->volume, SOFT_VOLUME_ELLIPSOID);
    assert_int_equal(s->match, SOFT_MATCH_QUADRATIC);
    assert_float_equal(s->match_stiffness, 0.125f, 0);
    assert_float_equal(s->match_beta, 0.375f, 0);
    assert_float_equal(s->yield, 0.1f, 0);
    assert_float_equal(s->creep, 2.0f, 0);
    assert_float_equal(s->plastic_max, 0.7f, 0);
    assert_float_equal(s->damping, 0.3f, 0);
    assert_float_equal(s->smoothing, 4.0f, 0);
    assert_float_equal(s->spring_damping, 0.002f, 0);
    assert_float_equal(s->thickness, 0.04f, 0);
    assert_float_equal(s->friction, 0.6f, 0);
    assert_float_equal(s->static_friction, 0.9f, 0);
    assert_float_equal(s->contact_stiffness, 5000.0f, 0);
    assert_float_equal(s->rolling_resistance, 0.25f, 0);
    assert_int_equal(s->group, 2);
    assert_int_equal(s->mask, 5);
    assert_int_equal(s->appearance.kind, APPEARANCE_CLOTH);
    assert_int_equal(s->appearance.pattern, PATTERN_STRIPES);
    assert_int_equal(s->appearance.soft, 1);
    assert_int_equal(s->appearance.grid[0], 4);
    assert_float_equal(s->appearance.radius, 0.04f, 0);
    scene_destroy(scene);
}

/* A cloth is a soft grid and has the same keys. */
static void test_a_cloth_is_short_for_a_grid(void **state)
{
    (void)state;
    Scene *scene = must_parse(
        HEAD "\"cloths\":[{\"name\":\"short\",\"points\":[4,3],\"size\":[3,2],\"area_density\":0.5,"
             "\"pins\":[{\"point\":[3,2]}]}],\"soft_bodies\":[{" GRID
             ",\"density\":0.5,\"pins\":[{\"point\":[3,2]}]}]}");
    SceneSoft a = scene->soft_bodies[0], b = scene->soft_bodies[1];
    assert_string_equal(a.name, "short");
    assert_int_equal(scene->pins[a.first_pin].point, 11);
    assert_int_equal(scene->pins[b.first_pin].point, 11);
    const SoftMesh *p = &scene->soft_meshes[a.mesh], *q = &scene->soft_meshes[b.mesh];
    assert_int_equal(p->point_count, q->point_count);
    assert_memory_equal(p->points, q->points, p->point_count * sizeof *p->points);
    assert_memory_equal(p->triangles, q->triangles, 3 * p->triangle_count * sizeof *p->triangles);
    assert_float_equal(a.mass_kg, b.mass_kg, 0);
    assert_float_equal(a.stretch_compliance, b.stretch_compliance, 0);
    assert_float_equal(a.shear_compliance, b.shear_compliance, 0);
    assert_float_equal(a.bend_compliance, b.bend_compliance, 0);
    assert_int_equal(a.bend, b.bend);
    assert_float_equal(a.area_compliance, b.area_compliance, 0);
    assert_float_equal(a.damping, b.damping, 0);
    assert_float_equal(a.smoothing, b.smoothing, 0);
    assert_float_equal(a.spring_damping, b.spring_damping, 0);
    assert_float_equal(a.thickness, b.thickness, 0);
    assert_float_equal(a.friction, b.friction, 0);
    assert_float_equal(a.match_beta, b.match_beta, 0);
    assert_float_equal(a.poisson, b.poisson, 0);
    assert_int_equal(a.iterations, b.iterations);
    assert_int_equal(a.mask, b.mask);
    scene_destroy(scene);
}

static void test_pins_find_their_points(void **state)
{
    (void)state;
    /* The grid's points lie at x = 5 + column, y = 1 + row. */
    Scene *scene = must_parse(HEAD BALL "\"soft_bodies\":[{" GRID
                                        ",\"position\":[5,1,0],\"pins\":[{\"near\":[7.2,1.9,4]},"
                                        "{\"box\":[4,2.5,-1,6.5,3.5,1],\"body\":\"b\"},{\"point\":"
                                        "[7]}]}]}");
    const SceneSoft *s = &scene->soft_bodies[0];
    assert_int_equal(s->pin_count, 4);
    const ScenePin *pins = scene->pins + s->first_pin;
    assert_int_equal(pins[0].point, 4 + 2); /* column 2, row 1 */
    assert_int_equal(pins[0].body, -1);
    assert_int_equal(pins[1].point, 8); /* row 2, columns 0 and 1 */
    assert_int_equal(pins[2].point, 9);
    assert_int_equal(pins[1].body, 0);
    assert_int_equal(pins[3].point, 7);
    scene_destroy(scene);
}

static void test_copies_share_a_mesh(void **state)
{
    (void)state;
    Scene *scene =
        must_parse(HEAD "\"soft_bodies\":[{" ROPE ",\"pins\":[{\"point\":[4]}],\"repeat\":{"
                        "\"count\":[1,1,3],\"spacing\":[1,1,2]}}],\"probes\":[{"
                        "\"name\":\"p\",\"kind\":\"stretch\",\"of\":\"r-2\"}]}");
    assert_int_equal(scene->soft_count, 3);
    assert_int_equal(scene->soft_mesh_count, 1);
    assert_int_equal(scene->pin_count, 1);
    assert_string_equal(scene->soft_bodies[2].name, "r-3");
    assert_float_equal(scene->soft_bodies[2].position.z, 4.0f, 0);
    assert_int_equal(scene->soft_bodies[2].mesh, 0);
    assert_int_equal(scene->soft_bodies[2].pin_count, 1);
    assert_int_equal(scene->soft_bodies[0].appearance.kind, APPEARANCE_ROPE);
    assert_int_equal(scene->probes[0].soft, 1);
    assert_int_equal(scene->probes[0].body, -1);
    assert_float_equal(scene->soft_bodies[0].mass_kg, 0.2f, 1e-6); /* 0.1 kg/m of 2 m */
    scene_destroy(scene);
}

static void test_sticks_are_read(void **state)
{
    (void)state;
    Scene *scene = must_parse(
        HEAD
        "\"soft_bodies\":[{\"name\":\"s\",\"mass\":2,\"shape\":{\"kind\":\"sticks\",\"scale\":2,"
        "\"vertices\":[[0,0,0],[3,4,0],[0,0,1]],\"sticks\":[{\"points\":[0,1]},{\"points\":"
        "[1,2],\"low\":1,\"high\":20}]}}]}");
    const SoftMesh *mesh = &scene->soft_meshes[0];
    assert_int_equal(mesh->stick_count, 2);
    assert_float_equal(mesh->sticks[0].low, 10.0f, 1e-6); /* 3, 4, 5, times two */
    assert_float_equal(mesh->sticks[0].high, 10.0f, 1e-6);
    assert_float_equal(mesh->sticks[1].low, 1.0f, 0);
    assert_float_equal(mesh->sticks[1].high, 20.0f, 0);
    scene_destroy(scene);
}

/* A ring is the two-dimensional ball. */
static void test_rings_hold_a_gas(void **state)
{
    (void)state;
    Scene *scene = must_parse(
        HEAD "\"soft_bodies\":[{\"name\":\"r\",\"shape\":{\"kind\":\"ring\",\"radius\":1,"
             "\"points\":[12]},\"pressure\":2,\"volume\":\"box\"}],\"probes\":[{"
             "\"name\":\"v\",\"kind\":\"volume\",\"of\":\"r\"}]}");
    assert_float_equal(scene->soft_bodies[0].pressure, 2000.0f, 0);
    assert_int_equal(scene->soft_bodies[0].volume, SOFT_VOLUME_BOX);
    assert_int_equal(scene->probes[0].soft, 0);
    scene_destroy(scene);
}

/* Clients have only the bytes. */
static void test_bytes_give_the_same_meshes(void **state)
{
    (void)state;
    ErrorText error;
    Scene *scene = must_parse(HEAD "\"soft_bodies\":[{" GRID "},{" ROPE "}]}");
    Scene *again = scene_from_bytes(scene->bytes, scene->byte_count, &error);
    assert_non_null(again);
    assert_int_equal(again->soft_mesh_count, scene->soft_mesh_count);
    for (u32 i = 0; i < scene->soft_mesh_count; i++) {
        const SoftMesh *a = &scene->soft_meshes[i], *b = &again->soft_meshes[i];
        assert_int_equal(a->point_count, b->point_count);
        assert_memory_equal(a->points, b->points, a->point_count * sizeof *a->points);
        assert_int_equal(a->triangle_count, b->triangle_count);
        assert_int_equal(a->stick_count, b->stick_count);
    }
    scene_destroy(again);
    scene_destroy(scene);
}

static const f64 pi = 3.14159265358979323846;

/* Points, volume and mass of every shape against their formulas. */
static void test_shapes_match_their_formulas(void **state)
{
    (void)state;
    Scene *scene = must_parse(
        HEAD
        "\"soft_bodies\":[{\"name\":\"a\",\"shape\":{\"kind\":\"sphere\",\"radius\":0.5,\"level\":"
        "4}},"
        "{\"name\":\"b\",\"shape\":{\"kind\":\"torus\",\"radius\":1,\"tube_radius\":0.25,"
        "\"segments\":[64,32]}},{\"name\":\"c\",\"shape\":{\"kind\":\"tube\",\"radius\":0.5,"
        "\"length\":2,\"segments\":[48,8]}},{\"name\":\"d\",\"density\":250,\"shape\":{\"kind\":"
        "\"box\",\"size\":[1,2,3],\"cells\":[2,2,2],\"solid\":true}},{\"name\":\"e\",\"shape\":{"
        "\"kind\":\"sphere\",\"radius\":0.5,\"resolution\":10},\"young\":1000}]}");
    const f64 volumes[] = {4.0 / 3.0 * pi * 0.125, 2.0 * pi * pi * 0.0625, pi * 0.25 * 2.0, 6.0};
    for (u32 i = 0; i < 4; i++) {
        const SoftMesh *mesh = &scene->soft_meshes[i];
        assert_true(mesh->closed);
        f64 volume = soft_mesh_volume(mesh);
        assert_true(volume > 0.97 * volumes[i] && volume < 1.0001 * volumes[i]);
    }
    assert_int_equal(scene->soft_meshes[0].point_count, 2562);
    assert_float_equal(scene->soft_bodies[0].mass_kg, 0.2 * pi, 0.005); /* 0.2 kg/m² */
    assert_int_equal(scene->soft_meshes[3].tetrahedron_count, 40);
    assert_float_equal(scene->soft_bodies[3].mass_kg, 1500.0f, 0.01f);
    const SoftMesh *filled = &scene->soft_meshes[4];
    assert_true(filled->tetrahedron_count > 100 && filled->dihedral_degrees > 10.0f);
    assert_int_equal(filled->skin_count, 642); /* the surface becomes a skin */
    assert_float_equal(scene->soft_bodies[4].mass_kg, 1000.0 * pi / 6.0, 30.0);
    scene_destroy(scene);
}

/* ---- files ---- */

static const char cube[] =
    "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n"
    "f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 3 4 8 7\nf 2 3 7 6\nf 1 5 8 4\n";

static void put_file(const char *folder, const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static Scene *load_with(const char *folder, const char *json, ErrorText *error)
{
    char path[200];
    put_file(folder, "s.json", json);
    snprintf(path, sizeof path, "%s/s.json", folder);
    memset(error, 0, sizeof *error);
    return scene_load(path, error);
}

static void test_meshes_come_from_files(void **state)
{
    (void)state;
    char folder[] = "/tmp/plenum-test-soft-XXXXXX";
    assert_non_null(mkdtemp(folder));
    put_file(folder, "cube.obj", cube);
    ErrorText error;
    Scene *scene = load_with(
        folder,
        HEAD
        "\"bodies\":[{\"name\":\"m\",\"motion\":\"static\",\"shape\":{\"kind\":\"mesh\","
        "\"file\":\"cube.obj\",\"scale\":3}},{\"name\":\"p\",\"shape\":{\"kind\":\"compound\","
        "\"file\":\"cube.obj\",\"scale\":2}}],\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":"
        "\"mesh\",\"file\":\"cube.obj\",\"scale\":0.5}},{\"name\":\"k\",\"shape\":{\"kind\":"
        "\"box\",\"size\":[2,2,2],\"cells\":[2,2,2],\"solid\":true,\"skin\":{\"file\":"
        "\"cube.obj\"}}}]}",
        &error);
    if (scene == NULL) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(scene->soft_bodies[0].mesh, 0);
    assert_int_equal(scene->soft_meshes[0].point_count, 8);
    assert_int_equal(scene->soft_meshes[0].triangle_count, 12);
    assert_float_equal(soft_mesh_volume(&scene->soft_meshes[0]), 0.125, 1e-6);
    assert_int_equal(scene->soft_meshes[1].skin_count, 8);
    assert_int_equal(scene->bodies[0].shape.geometry->mesh.triangle_count, 12);
    assert_float_equal(scene->bodies[0].shape.geometry->bounds.max.x, 3.0f, 1e-6);
    assert_float_equal(scene->bodies[1].mass_kg, 8000.0f, 8.0f); /* convex: one part of 2 m */
    /* The bytes alone suffice to rebuild the meshes. */
    put_file(folder, "cube.obj", "");
    Scene *again = scene_from_bytes(scene->bytes, scene->byte_count, &error);
    assert_non_null(again);
    assert_int_equal(again->soft_meshes[0].triangle_count, 12);
    assert_memory_equal(again->soft_meshes[0].points, scene->soft_meshes[0].points,
                        8 * sizeof(Vec3));
    scene_destroy(again);
    assert_int_equal(scene->warning_count, 0);
    scene_destroy(scene);

    /* Repairs are reported with their place; a clean file gives no report. */
    put_file(folder, "bad.obj",
             "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 0 0 0\nf 1 3 2\nf 5 2 4\n"
             "f 1 3 4\nf 2 3 4\nf 1 1 2\nf 1 2 5\n");
    scene = load_with(folder,
                      HEAD "\"soft_bodies\":[{\"name\":\"s\",\n\"shape\":{\"kind\":\"mesh\","
                           "\"file\":\"bad.obj\"}}]}",
                      &error);
    assert_non_null(scene);
    assert_int_equal(scene->warning_count, 1);
    const char *warning = scene->warnings[0].text;
    if (strstr(warning,
               "soft_bodies[0].shape.triangles: repaired: 2 triangles without area dropped, 1 "
               "flipped, 1 vertices welded") == NULL) {
        fail_msg("%s", warning);
    }
    assert_true(scene->soft_meshes[0].closed);
    scene_destroy(scene);

    static const char *const says[][2] = {
        {HEAD "\"soft_bodies\":[{\"name\":\"s\",\n\"shape\":{\"kind\":\"mesh\",\n\"file\":\"no."
              "obj\"}}]}",
         "s.json:4: soft_bodies[0].shape.file: "},
        {HEAD
         "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"mesh\",\"file\":\"cube.obj\"}}]}",
         "soft_bodies[0].shape.file: cube.obj"},
        {HEAD
         "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"rope\",\"file\":\"cube.obj\"}}]}",
         "soft_bodies[0].shape.file: only a mesh has one"},
        {HEAD "\"bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"hull\",\"file\":\"cube.obj\"}}]}",
         "bodies[0].shape.file: only a mesh, a compound and a terrain have one"},
    };
    for (u32 i = 0; i < PL_COUNT(says); i++) {
        assert_null(load_with(folder, says[i][0], &error));
        if (strstr(error.text, says[i][1]) == NULL) {
            fail_msg("expected: ...%s...\n  got:      %s", says[i][1], error.text);
        }
    }
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static const SceneRefused wrongs[] = {
    {HEAD "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{}}]}",
     "soft_bodies[0].shape.kind: missing or unknown"},
    {HEAD "\"soft_bodies\":[{" GRID "},\n{" GRID "}]}",
     "t.json:3: soft_bodies[1].name: \"c\" is taken"},
    {HEAD "\"soft_bodies\":[{\"name\":\"s\",\n\"shape\":{\"kind\":\"rope\",\"size\":[1,1]}}]}",
     "t.json:3: soft_bodies[0].shape.size: a rope has none"},
    {HEAD "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"rope\",\"points\":[1]}}]}",
     "soft_bodies[0].shape.points[0]: 1 is out of range; give a whole number from 2 to"},
    {HEAD "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"rope\",\"points\":[9]}}]}",
     "soft_bodies[0].shape.length: 0 is out of range"},
    {HEAD "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"sticks\",\"vertices\":[[0,0,0],"
          "[1,0,0],[2,0,0]],\"sticks\":[{\"points\":[0,1]}]}}]}",
     "soft_bodies[0].shape.vertices: point 2 has no stick"},
    {HEAD "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"sticks\",\"vertices\":[[0,0,0],"
          "[1,0,0]],\"sticks\":[{\"points\":[0,2]}]}}]}",
     "soft_bodies[0].shape.sticks[0].points[1]: 2 is out of range"},
    {HEAD "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"sticks\",\"vertices\":[[0,0,0],"
          "[1,0,0]],\"sticks\":[{\"points\":[1,1]}]}}]}",
     "sticks[0].points: [1, 1] is one point"},
    {HEAD "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"sticks\",\"vertices\":[[0,0,0],"
          "[1,0,0]],\"sticks\":[{\"points\":[0,1],\"low\":3}]}}]}",
     "sticks[0].low: 3 m is more than the 1 m of high"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"stretch_compliance\":-2}]}",
     "soft_bodies[0].stretch_compliance: -2 is out of range"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"method\":\"magic\"}]}",
     "\"xpbd\", \"xpbd_iterations\", \"pbd\""},
    {HEAD "\"soft_bodies\":[{" GRID ",\"iterations\":0}]}",
     "soft_bodies[0].iterations: 0 is out of range"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"stiffness\":1.5}]}",
     "soft_bodies[0].stiffness: 1.5 is out of range"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"stretch_max\":0.5}]}",
     "soft_bodies[0].stretch_max: 0.5 is out of"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"young\":1000}]}",
     "soft_bodies[0].young: the shape has no tetrahedra"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"poisson\":0.5}]}",
     "soft_bodies[0].poisson: 0.5 is out of range"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"pressure\":1}]}",
     "soft_bodies[0].pressure: the shape is not closed"},
    {HEAD "\"soft_bodies\":[{" ROPE ",\"pressure\":1}]}",
     "soft_bodies[0].pressure: the shape is not closed"},
    {HEAD "\"soft_bodies\":[{" ROPE
          "}],\"probes\":[{\"name\":\"p\",\"kind\":\"pressure\",\"of\":\"r\"}]}",
     "probes[0].of: \"r\" is not closed"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"yield\":0.1}]}",
     "soft_bodies[0].yield: requires shape matching"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"smoothing\":-1}]}",
     "soft_bodies[0].smoothing: -1 is out of range"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"spring_damping\":-2}]}",
     "spring_damping: -2 is out of range"},
    {HEAD "\"soft_bodies\":[{" ROPE ",\"area_compliance\":0}]}",
     "area_compliance: the shape has no tri"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"tethers\":true}]}", "soft_bodies[0].tethers: require pins"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"mass\":1,\"density\":1}]}",
     "soft_bodies[0].density: given besides"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"mass\":0}]}", "soft_bodies[0].mass: weighs 0 kg"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"pins\":[{}]}]}",
     "soft_bodies[0].pins[0].point: give one of point"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"pins\":[{\"point\":[12]}]}]}",
     "pins[0].point[0]: 12 is out of"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"pins\":[{\"point\":[4,0]}]}]}",
     "[4, 0] is not a point of this cloth"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"pins\":[{\"box\":[9,9,9,10,10,10]}]}]}",
     "contains no point"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"pins\":[{\"point\":[0,0],\"body\":\"x\"}]}]}",
     "no body \"x\""},
    {HEAD "\"soft_bodies\":[{" GRID ",\"position\":[0,500,0]}]}", "outside the scene's bounds"},
    {HEAD "\"soft_bodies\":[{" GRID ",\"repeat\":{\"count\":[100,1,100],\"spacing\":[1,1,1]}}]}",
     "soft_bodies[0].repeat.count: 10000 copies; at most 4096"},
    {HEAD "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"grid\",\"points\":[1000,1000],"
          "\"size\":[1,1]},\"repeat\":{\"count\":[2,1,1],\"spacing\":[1,1,1]}}]}",
     "2000000 points with the soft bodies before"},
    {HEAD
     "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"mesh\",\"file\":\"/etc/passwd\"}}]}",
     "soft_bodies[0].shape.file: only scenes loaded from a file"},
    {HEAD
     "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"mesh\",\"vertices\":[[0,0,0],[1,0,0],"
     "[0,1,0]],\"triangles\":[[0,1,2]],\"resolution\":8}}]}",
     "soft_bodies[0].shape.resolution: "},
    {HEAD
     "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"mesh\",\"vertices\":[[0,0,0],[1,0,0],"
     "[0,1,0],[0,0,1],[0,0,-1]],\"triangles\":[[0,1,2],[0,1,3],[0,1,4]]}}]}",
     "soft_bodies[0].shape.triangles: surface: edge 0-1 has 3 triangles"},
    {HEAD "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"torus\",\"radius\":1,\"tube_"
          "radius\":2,"
          "\"segments\":[9,9]}}]}",
     "soft_bodies[0].shape.tube_radius: 2 m is too much for a radius of 1 m"},
    {HEAD
     "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"sphere\",\"radius\":1,\"level\":9}}]}",
     "soft_bodies[0].shape.level: 9 is out of range"},
    {HEAD "\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"box\",\"size\":[1,1,1],\"cells\":"
          "[4000,4000,"
          "4000]}}]}",
     "soft_bodies[0].shape.cells: makes it "},
    {HEAD "\"soft_steps\":0}", "soft_steps: 0 is out of range"},
    {HEAD BALL "\"probes\":[{\"name\":\"p\",\"kind\":\"stretch\",\"of\":\"b\"}]}",
     "probes[0].of: \"b\" is a body; stretch needs a soft body"},
    {HEAD "\"soft_bodies\":[{" GRID
          "}],\"probes\":[{\"name\":\"p\",\"kind\":\"tilt\",\"of\":\"c\"}]}",
     "probes[0].of: \"c\" is a soft body; tilt needs a body"},
};

static void test_errors_name_the_place_the_fault_and_the_remedy(void **state)
{
    (void)state;
    expect_refused(wrongs, PL_COUNT(wrongs));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_arrives),
        cmocka_unit_test(test_a_cloth_is_short_for_a_grid),
        cmocka_unit_test(test_pins_find_their_points),
        cmocka_unit_test(test_copies_share_a_mesh),
        cmocka_unit_test(test_sticks_are_read),
        cmocka_unit_test(test_rings_hold_a_gas),
        cmocka_unit_test(test_shapes_match_their_formulas),
        cmocka_unit_test(test_meshes_come_from_files),
        cmocka_unit_test(test_bytes_give_the_same_meshes),
        cmocka_unit_test(test_errors_name_the_place_the_fault_and_the_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
