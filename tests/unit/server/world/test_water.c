/* test_water.c: water on grids in a world: dams, gates, springs, hands, images, probes; a scene
 * without waters declares no fields or parameters of water. Its laws: tests/accuracy. */
#include "server/author/scene_load.h"
#include "server/world/matter_water.h"
#include "tests/determinism/world_script.h"
#include "tests/support/water_stage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

static const char dam_json[] =
    "\"waters\":[{\"name\":\"w\",\"width\":12,\"length\":4,\"cell\":0.2,\"depth\":0.5,"
    "\"dry\":true,\"basins\":[{\"position\":[-4,0,0],\"size\":[4,0,4],\"level\":0.5}],"
    "\"gauges\":[{\"name\":\"far\",\"position\":[5,0,0]}]}],"
    "\"bodies\":[{\"name\":\"dam\",\"motion\":\"static\",\"position\":[-1.8,0,0],"
    "\"shape\":{\"kind\":\"box\",\"half\":[0.21,1.5,3]}}]";

/* A dam is a static body; when it is removed the water flows. */
static void dams_hold_until_they_go(void **state)
{
    PL_UNUSED(state);
    Stage *stage = stage_of(dam_json);
    f64 volume = water_stage_sums(stage).volume;
    assert_true(volume > 10.0);
    water_stage_run(stage, 60);
    assert_true(stage_probe(stage, "far") < -0.499);
    world_remove_entity(stage->world, 1);
    water_stage_run(stage, 300);
    assert_true(stage_probe(stage, "far") > -0.3);
    assert_true(fabs(water_stage_sums(stage).volume / volume - 1.0) < 1e-5);
    stage_destroy(stage);
}

/* A gate acts as bed while it stands on the bed; lifted, it lets water through. */
static void lifted_gates_let_water_through(void **state)
{
    PL_UNUSED(state);
    for (u32 n = 0; n < 2; n++) {
        char json[1024];
        snprintf(json, sizeof json,
                 "\"waters\":[{\"name\":\"w\",\"width\":12,\"length\":4,\"cell\":0.2,"
                 "\"depth\":0.5,\"dry\":true,\"mask\":1,\"dams\":[\"gate\"],"
                 "\"basins\":[{\"position\":[-4,0,0],\"size\":[4,0,4],\"level\":0.5}],"
                 "\"gauges\":[{\"name\":\"far\",\"position\":[5,0,0]}]}],"
                 "\"bodies\":[{\"name\":\"gate\",\"motion\":\"kinematic\",\"group\":2,"
                 "\"position\":[-1.8,0.5,0],\"velocity\":[0,%g,0],"
                 "\"shape\":{\"kind\":\"box\",\"half\":[0.21,1,3]}}]",
                 n == 0 ? 0.0 : 0.3);
        Stage *stage = stage_of(json);
        f64 volume = water_stage_sums(stage).volume;
        assert_true(volume > 10.0);
        water_stage_run(stage, 300);
        assert_true(n == 0 ? stage_probe(stage, "far") < -0.499
                           : stage_probe(stage, "far") > -0.35);
        assert_true(fabs(water_stage_sums(stage).volume / volume - 1.0) < 1e-5);
        stage_destroy(stage);
    }
}

static void springs_and_drains_keep_account(void **state)
{
    PL_UNUSED(state);
    Stage *stage = stage_of("\"waters\":[{\"name\":\"w\",\"width\":6,\"length\":6,"
                            "\"sources\":[{\"position\":[1,0,1],\"rate\":0.5,\"stop\":2},"
                            "{\"position\":[-1,0,-1],\"rate\":-0.2,\"start\":1,\"stop\":2}]}]");
    f64 before = water_stage_sums(stage).volume;
    water_stage_run(stage, 180);
    expect_near("volume", water_stage_sums(stage).volume - before, 1.0 - 0.2, 1e-3);
    stage_destroy(stage);
}

/* A hand moving at 100 m/s, and impulses of any size. */
static void hands_stir_within_bounds(void **state)
{
    PL_UNUSED(state);
    for (u32 method = 0; method < 2; method++) {
        char json[256];
        snprintf(json, sizeof json, "\"waters\":[{\"name\":\"w\",\"method\":\"%s\"}]",
                 method ? "wave" : "shallow");
        Stage *stage = stage_of(json);
        Pool *pool = water_stage_matter(stage)->pools[0];
        assert_true(pool_hand_grab(pool, 0, vec3(0.0f, 0.0f, 0.0f), 0.3f));
        for (u32 t = 0; t < 120; t++) {
            pool_hand_drag(pool, 0, vec3(t % 2 ? 1.7f : -1.7f, 0.0f, 0.1f));
            pool_push(pool, vec3(1.0f, 0.0f, 1.0f), 0.5f, vec3(1e9f, t % 3 ? -1e9f : 1e9f, NAN));
            pool_push(pool, vec3(1.0f, 0.0f, 1.0f), 0.5f, vec3(1e5f, t % 3 ? -1e5f : 1e5f, 0.0f));
            water_stage_run(stage, 1);
        }
        pool_hand_release(pool, 0);
        water_stage_run(stage, 60);
        stage_destroy(stage);
    }
}

static const char floating_json[] =
    "\"waters\":[{\"name\":\"w\",\"width\":6,\"length\":6,\"rain\":3},"
    "{\"name\":\"v\",\"method\":\"wave\",\"position\":[20,0,0]}],"
    "\"bodies\":[{\"name\":\"b\",\"position\":[0.4,1,0.1],\"mass\":80,"
    "\"shape\":{\"kind\":\"sphere\",\"radius\":0.4}},"
    "{\"name\":\"c\",\"position\":[20.4,1,0.1],\"mass\":80,"
    "\"shape\":{\"kind\":\"sphere\",\"radius\":0.4}}]";

static void goes_on_alike(const char *json)
{
    Stage *first = stage_of(json), *second = stage_of(json);
    water_stage_run(first, 50);
    u8 *image;
    size_t bytes;
    assert_int_equal(world_save(first->world, &image, &bytes), ERROR_OK);
    ErrorText error = {0};
    if (world_load(second->world, image, bytes, &error) != ERROR_OK) {
        fail_msg("%s", error.text);
    }
    free(image);
    for (u32 t = 0; t < 60; t++) {
        water_stage_run(first, 1);
        water_stage_run(second, 1);
        expect_bits("hash", world_hash(second->world), world_hash(first->world));
    }
    stage_destroy(first);
    stage_destroy(second);
}

static void a_loaded_world_goes_on_alike(void **state)
{
    PL_UNUSED(state);
    goes_on_alike(floating_json);
    goes_on_alike(water_stage_fall);
}

static void a_scene_without_waters_declares_nothing(void **state)
{
    PL_UNUSED(state);
    Stage *stage = stage_of("\"bodies\":[]");
    MessageWorld about;
    world_describe(stage->world, &about);
    for (u32 i = 0; i < about.parameter_count; i++) {
        assert_null(strstr(about.parameters[i].name, "water"));
    }
    assert_int_equal(water_stage_matter(stage)->list.count, 0);
    stage_destroy(stage);
}

static void bad_waters_are_refused_by_place(void **state)
{
    PL_UNUSED(state);
    static const char *const bad[][2] = {
        {"\"width\":0", "width"},
        {"\"cell\":1e9", "cell"},
        {"\"width\":10.03", "width"},
        {"\"cell\":0.01", "cell"},
        {"\"position\":[1e6,0,0]", "position"},
        {"\"method\":\"wave\",\"basins\":[{}]", "basins"},
        {"\"gauges\":[{\"name\":\"g\",\"position\":[99,0,0]}]", "position"},
        {"\"sources\":[{\"rate\":1e30}]", "rate"},
        {"\"clear\":0", "clear"},
        {"\"spray\":\"none\"", "spray"},
        {"\"dams\":[\"none\"]", "dams"},
    };
    for (u32 n = 0; n < PL_COUNT(bad); n++) {
        char json[512];
        ErrorText error = {0};
        snprintf(json, sizeof json, "{\"name\":\"t\",\"waters\":[{\"name\":\"w\",%s}]}", bad[n][0]);
        assert_null(scene_parse(json, strlen(json), "t.json", &error));
        if (strstr(error.text, bad[n][1]) == NULL || strstr(error.text, "waters[0]") == NULL) {
            fail_msg("%s: %s", bad[n][0], error.text);
        }
    }
}

static void probes_are_refused(void **state)
{
    PL_UNUSED(state);
    static const char *const bad[][3] = {{"shallow", "water.colour", "w"},
                                         {"shallow", "water.low_x", "v"},
                                         {"wave", "water.low_x", "w"}};
    static const char *const why[] = {"no \"colour\"", "no water \"v\"", "without momentum"};
    for (u32 n = 0; n < PL_COUNT(bad); n++) {
        char json[512];
        ErrorText error = {.text = ""};
        snprintf(json, sizeof json,
                 "{\"name\":\"t\",\"waters\":[{\"name\":\"w\",\"method\":\"%s\"}],\"probes\":["
                 "{\"name\":\"p\",\"kind\":\"%s\",\"of\":\"%s\"}]}",
                 bad[n][0], bad[n][1], bad[n][2]);
        Scene *scene = scene_parse(json, strlen(json), "t.json", &error);
        World *world = scene != NULL ? world_create(scene, NULL, &error) : NULL;
        if (world != NULL || strstr(error.text, why[n]) == NULL) {
            fail_msg("%s: %s", why[n], error.text);
        }
        scene_destroy(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dams_hold_until_they_go),
        cmocka_unit_test(lifted_gates_let_water_through),
        cmocka_unit_test(springs_and_drains_keep_account),
        cmocka_unit_test(hands_stir_within_bounds),
        cmocka_unit_test(a_loaded_world_goes_on_alike),
        cmocka_unit_test(a_scene_without_waters_declares_nothing),
        cmocka_unit_test(bad_waters_are_refused_by_place),
        cmocka_unit_test(probes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
