/* test_scene.c: scenes that load, scenes that must not, and the place and words of the error. */
#include "protocol/scene.h"
#include "shared/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static Scene *parse(const char *json, ErrorText *error)
{
    memset(error, 0, sizeof *error);
    return scene_parse(json, strlen(json), "t.json", error);
}

static void test_shipped_scenes_load_and_travel(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "shared/scenes/playground.json", "shared/scenes/wall.json",
        "shared/scenes/boxes1000.json",  "shared/scenes/cloth.json",
        "shared/scenes/incline.json",    "shared/scenes/bounce.json",
        "shared/scenes/empty.json",
    };
    for (size_t i = 0; i < PL_COUNT(paths); i++) {
        ErrorText error = {0};
        Scene *scene = scene_load(paths[i], &error);
        if (scene == NULL) {
            fail_msg("%s", error.text);
        }
        Scene *again = scene_from_bytes(scene->bytes, scene->byte_count, &error);
        assert_non_null(again);
        assert_int_equal(again->body_count, scene->body_count);
        assert_memory_equal(again->bodies, scene->bodies,
                            scene->body_count * sizeof *scene->bodies);
        assert_string_equal(again->name, scene->name);
        assert_memory_equal(&again->camera, &scene->camera, sizeof scene->camera);
        scene_destroy(again);
        scene_destroy(scene);
    }
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

static void test_playground_is_what_the_demo_needs(void **state)
{
    (void)state;
    ErrorText error = {0};
    Scene *scene = scene_load("shared/scenes/playground.json", &error);
    assert_non_null(scene);
    i32 box = find_body(scene, "box-1");
    assert_true(box >= 0);
    assert_int_equal(scene->bodies[box].motion, MOTION_DYNAMIC);
    assert_true(find_body(scene, "brick-1") >= 0 && find_body(scene, "brick-100") >= 0);
    assert_int_equal(find_body(scene, "brick-101"), -1);
    assert_true(find_body(scene, "crate-30") >= 0); /* 16 + 9 + 4 + 1 */
    assert_int_equal(find_body(scene, "crate-31"), -1);
    assert_true(scene->cloth_count >= 2 && scene->prefab_count >= 4);
    u32 columns = scene->cloths[0].columns;
    assert_int_equal(scene->cloths[0].pins[scene->cloths[0].pin_count - 1].point, columns - 1);
    assert_int_equal(scene->cloths[0].pins[0].body, -1);
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
    assert_float_equal(body->look.color[1], 0.2140411f, 1e-5);
    assert_float_equal(scene->gravity.y, -9.81f, 1e-6);
    assert_int_equal(scene->tick_rate, 60);
    assert_int_equal(scene->body_count, 5);
    assert_string_equal(scene->bodies[4].name, "s-4");
    assert_float_equal(scene->bodies[4].position.x, 2.5f, 1e-6);
    assert_float_equal(scene->bodies[4].position.y, 8.0f, 1e-6);
    assert_float_equal(scene->bodies[1].mass_kg, 3.0f, 0);
    assert_int_equal(scene->cloths[0].pins[0].body, 2);
    assert_int_equal(scene->cloths[0].pins[0].point, 11);
    scene_destroy(scene);
}

typedef struct Wrong {
    const char *json;
    const char *says; /* the error contains this */
} Wrong;

#define HEAD  "{\"name\":\"t\",\n"
#define BALL  "\"name\":\"b\",\"shape\":{\"kind\":\"sphere\",\"radius\":1}"
#define CLOTH "\"name\":\"c\",\"points\":[4,4],\"size\":[1,1]"

static const Wrong wrongs[] = {
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
     "cloths[0].pins[0].point: [4, 0] is not of this cloth; at most [3, 3]"},
    {HEAD "\"cloths\":[{" CLOTH ",\"pins\":[{\"point\":[0,0],\"body\":\"x\"}]}]}", "no body \"x\""},
    {HEAD "\"cloths\":[{\"name\":\"c\",\"points\":[100000,100000],\"size\":[1,1]}]}",
     "cloths[0].points[0]: 100000 is out of range"},
    {HEAD "\"probes\":[{\"name\":\"p\",\"kind\":\"heat\"}]}", "one of kinetic_energy, "},
    {HEAD "\"probes\":[{\"name\":\"p\",\"kind\":\"height\",\"of\":\"b\"}]}", "no entity \"b\""},
    {HEAD "\"probes\":[{\"name\":\"p\",\"kind\":\"height\"}]}", "probes[0].of: missing"},
    {HEAD "\"prefabs\":[{\"name\":\"p\",\"body\":{" BALL ",\"motion\":\"static\"}}]}",
     "prefabs[0].body.motion"},
    {HEAD "\"tick_rate\":10}", "t.json:2: tick_rate: 10 is out of range"},
    {HEAD "\"substeps\":-1}", "substeps: "},
    {HEAD "\"bounds\":[0,0,0,1,1,0]}", "bounds: "},
    {HEAD "\"camera\":{\"eye\":[0,0,0],\"target\":[0,0,0]}}", "camera.target: "},
    {HEAD "\"sky\":{\"sun\":[0,0,0]}}", "sky.sun: "},
    {HEAD "\"hands\":{\"reach\":-1}}", "hands.reach: "},
    {HEAD "\"seed\":1,\"seed\":2}", "seed: "},
};

static void test_wrong_scenes_say_where_what_and_what_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < PL_COUNT(wrongs); i++) {
        ErrorText error;
        Scene *scene = parse(wrongs[i].json, &error);
        if (scene != NULL) {
            fail_msg("accepted: %s", wrongs[i].json);
        }
        if (strstr(error.text, wrongs[i].says) == NULL) {
            fail_msg("%s\n  expected: ...%s...\n  got:      %s", wrongs[i].json, wrongs[i].says,
                     error.text);
        }
        assert_null(strchr(error.text, '\n'));
        assert_int_equal(strncmp(error.text, "t.json:", 7), 0);
        assert_true(error.code < 0);
    }
}

/* The same words for a file that is there as for a text in memory. */
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

/* Any damage gives a checked scene or an error, never anything else (asan watches). */
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
            assert_true(mutant->bodies[i].motion != MOTION_DYNAMIC ||
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
        cmocka_unit_test(test_shipped_scenes_load_and_travel),
        cmocka_unit_test(test_playground_is_what_the_demo_needs),
        cmocka_unit_test(test_values_arrive),
        cmocka_unit_test(test_wrong_scenes_say_where_what_and_what_is_right),
        cmocka_unit_test(test_wrong_file),
        cmocka_unit_test(test_deep_and_huge_json_is_refused),
        cmocka_unit_test(test_mutated_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
