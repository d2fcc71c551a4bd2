/* test_parts.c: what a scene can contain besides free bodies, in a world: joints and their limits
 * and breaks, paths, sensors, probes, shapes with geometries, the debug picture; and images of all
 * that. */
#include "server/author/scene_load.h"
#include "server/world/world.h"
#include "tests/support/process.h"
#include "tests/support/stage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BALL(name, at, more)                                                                       \
    "{\"name\":\"" name "\",\"shape\":{\"kind\":\"sphere\",\"radius\":0.2},\"position\":" at more  \
    "}"
#define FLOOR "{\"name\":\"floor\",\"shape\":{\"kind\":\"plane\"},\"motion\":\"static\"}"

/* A hinged arm falls against its limit. */
static void test_a_limit_in_degrees(void **state)
{
    (void)state;
    Stage *f = stage_create(
        "{\"name\":\"t\",\"bodies\":[{\"name\":\"arm\",\"shape\":{\"kind\":\"box\",\"half\":[0.5,0."
        "05,"
        "0.05]},\"position\":[0.5,2,0]}],\"joints\":[{\"name\":\"h\",\"kind\":\"hinge\",\"b\":"
        "\"arm\","
        "\"anchor\":[0,2,0],\"axis\":[0,0,1],\"limits\":[-30,10]}],\"probes\":[{\"name\":\"angle\","
        "\"kind\":\"joint_value\",\"of\":\"h\"},{\"name\":\"force\",\"kind\":\"joint_force\","
        "\"of\":\"h\"},"
        "{\"name\":\"tilt\",\"kind\":\"tilt\",\"of\":\"arm\"}]}");
    stage_run(f, 240);
    assert_float_equal(stage_probe(f, "angle"), -30.0, 0.5);
    assert_float_equal(stage_probe(f, "tilt"), 30.0, 0.5);
    /* At rest the anchor carries the weight: 10 kg. The limit applies a pure couple. */
    assert_float_equal(stage_probe(f, "force"), 98.1, 2.0);
    stage_destroy(f);
}

/* The state of joints in fields, for late joiners and recordings. */
static void check_whole(const Stage *f, f32 first, f32 second)
{
    Frame *frame = world_frame(f->world);
    assert_non_null(frame);
    u32 last = frame->fields->count - 1;
    assert_string_equal(frame->fields->fields[last].name, "joints");
    assert_int_equal(frame->fields->fields[last].capacity, 2);
    const f32 *values = frame_field(frame, last);
    assert_true(values[0] == first && values[1] == second);
    frame_release(frame);
}

static void test_a_break_is_reported_once(void **state)
{
    (void)state;
    Stage *f =
        stage_create("{\"name\":\"t\",\"bodies\":[" BALL("b", "[0,5,0]", ",\"mass\":10") "," BALL(
            "c", "[3,5,0]",
            ",\"mass\":10") "],"
                            "\"joints\":[{\"name\":\"j\",\"kind\":\"ball\",\"b\":\"b\",\"anchor\":["
                            "0,5,"
                            "0],"
                            "\"break_force\":50},{\"name\":\"k\",\"kind\":\"ball\",\"b\":\"c\","
                            "\"anchor\":[3,5,0]}],"
                            "\"probes\":[{\"name\":\"y\",\"kind\":\"height\",\"of\":\"b\"},"
                            "{\"name\":\"force\",\"kind\":\"joint_force\",\"of\":\"j\"}]}");
    check_whole(f, 1.0f, 1.0f);
    stage_run(f, 60);
    check_whole(f, 0.0f, 1.0f);
    assert_int_equal(f->events[EVENT_BREAK], 1);
    assert_int_equal(f->last[EVENT_BREAK].a, 0); /* the world */
    assert_int_equal(f->last[EVENT_BREAK].b, 1);
    assert_true(f->last[EVENT_BREAK].impulse > 50.0f);
    assert_float_equal(f->last[EVENT_BREAK].position.y, 5.0f, 0.1f);
    assert_true(stage_probe(f, "y") < 1.0);
    assert_float_equal(stage_probe(f, "force"), 0.0, 0.0);
    /* A reset restores the joint. */
    Input reset = {.kind = INPUT_RESET, .user = 1, .rotation = {1, 0, 0, 0}};
    world_tick(f->world, &reset, 1);
    assert_true(stage_probe(f, "y") > 4.9);
    stage_destroy(f);
}

static void test_a_path_is_followed(void **state)
{
    (void)state;
    Stage *f = stage_create(
        "{\"name\":\"t\",\"bodies\":[{\"name\":\"lift\",\"motion\":\"kinematic\",\"shape\":{"
        "\"kind\":\"box\",\"half\":[1,0.1,1]},\"position\":[0,1,0],\"path\":{\"points\":"
        "[[0,0,0],[0,2,0]],\"period\":4}}," BALL(
            "b", "[0.3,1.32,0]",
            ",\"friction\":1") "],\"probes\":[{\"name\":\"lift\",\"kind\":\"height\",\"of\":"
                               "\"lift\"},"
                               "{\"name\":\"ball\",\"kind\":\"height\",\"of\":\"b\"}]}");
    stage_run(f, 60); /* halfway up */
    assert_float_equal(stage_probe(f, "lift"), 2.0, 1e-3);
    stage_run(f, 60);
    assert_float_equal(stage_probe(f, "lift"), 3.0, 1e-3);
    assert_float_equal(stage_probe(f, "ball"), 3.3, 0.02); /* it carried the ball on it */
    stage_run(f, 120 + 240 * 9);
    assert_float_equal(stage_probe(f, "lift"), 1.0, 1e-3); /* no drift accumulates */
    stage_destroy(f);
}

static void test_a_sensor_notices(void **state)
{
    (void)state;
    Stage *f = stage_create(
        "{\"name\":\"t\",\"bodies\":[{\"name\":\"gate\",\"motion\":\"static\",\"sensor\":true,"
        "\"shape\":{\"kind\":\"box\",\"half\":[1,0.2,1]},\"position\":[0,3,0]}," BALL(
            "b", "[0,5,0]", "") "]}");
    stage_run(f, 90);
    assert_int_equal(f->events[EVENT_ENTER], 1);
    assert_int_equal(f->events[EVENT_LEAVE], 1);
    assert_int_equal(f->last[EVENT_ENTER].a, 1);
    assert_int_equal(f->last[EVENT_ENTER].b, 2);
    assert_int_equal(f->events[EVENT_IMPACT], 0); /* it touched nothing */
    stage_destroy(f);
}

static void test_energy_and_momenta(void **state)
{
    (void)state;
    /* I = 0.4 m r²: 4 kg, 0.5 m; speed 3 m/s, 5 rad/s. */
    Stage *f = stage_create(
        "{\"name\":\"t\",\"gravity\":[0,-2,0],\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":"
        "\"sphere\",\"radius\":0.5},\"mass\":4,\"position\":[0,10,0],\"velocity\":[3,0,0],"
        "\"angular_velocity\":[0,5,0]}],\"probes\":[{\"name\":\"e\",\"kind\":\"energy\"},{\"name\":"
        "\"l\","
        "\"kind\":\"angular_momentum\",\"of\":\"b\"},{\"name\":\"w\",\"kind\":\"angular_velocity\","
        "\"of\":"
        "\"b\"}]}");
    f64 expected = 0.5 * 4 * 9 + 0.5 * 0.4 * 25 + 4 * 2 * 10;
    assert_float_equal(stage_probe(f, "e"), expected, 1e-3);
    assert_float_equal(stage_probe(f, "l"), 0.4 * 5, 1e-5);
    assert_float_equal(stage_probe(f, "w"), 5.0, 1e-5);
    stage_run(f, 60);
    assert_float_equal(stage_probe(f, "e"), expected, 0.02 * expected);
    assert_float_equal(stage_probe(f, "l"), 0.4 * 5, 1e-4);
    stage_destroy(f);
}

/* Two stacks of two on a floor and a jointed pair: three islands. */
static void test_the_debug_picture(void **state)
{
    (void)state;
#define BOX(name, at)                                                                              \
    "{\"name\":\"" name "\",\"shape\":{\"kind\":\"box\",\"half\":[0.5,0.5,0.5]},\"position\":" at  \
    "}"
    Stage *f = stage_create(
        "{\"name\":\"t\",\"bodies\":[" FLOOR
        "," BOX("a", "[0,0.5,0]") "," BOX("b", "[0,1.5,0]") "," BOX("c", "[5,0.5,0]") "," BOX(
            "d", "[5,1.5,0]") "," BALL("p", "[9,6,0]",
                                       "") "," BALL("q", "[9,8,0]",
                                                    "") "],\"joints\":[{\"name\":\"j\","
                                                        "\"kind\":\"hinge\",\"a\":\"p\","
                                                        "\"b\":\"q\",\"axis\":[0,0,1]}]}");
    stage_run(f, 10);
    DebugPicture picture;
    assert_int_equal(world_debug(f->world, DEBUG_ALL, &picture), 0);
    assert_true(picture.tick == 10);
    u32 kinds[DEBUG_LINE_KIND_COUNT] = {0};
    for (u32 i = 0; i < picture.line_count; i++) {
        const DebugLine *line = &picture.lines[i];
        kinds[line->kind]++;
        if (line->kind == DEBUG_LINE_CONTACT) {
            /* All faces are horizontal, and half of the points lie on the floor. */
            Vec3 along = vec3_normalize_or(vec3_sub(line->to, line->from), vec3_zero());
            assert_true(fabsf(along.y) > 0.999f);
            assert_true(fabsf(line->from.y) < 0.02f || fabsf(line->from.y - 1.0f) < 0.02f);
        }
        if (line->kind == DEBUG_LINE_AXIS_X) { /* the hinge's axis */
            Vec3 along = vec3_normalize_or(vec3_sub(line->to, line->from), vec3_zero());
            assert_true(fabsf(along.z) > 0.999f);
            assert_float_equal(line->from.x, 9.0f, 1e-3);
        }
    }
    assert_int_equal(kinds[DEBUG_LINE_CONTACT], 16);
    assert_int_equal(kinds[DEBUG_LINE_AXIS_X], 1);
    assert_int_equal(kinds[DEBUG_LINE_AXIS_Y], 1);
    assert_int_equal(kinds[DEBUG_LINE_BOX], 6);
    assert_int_equal(picture.island_count, 6);
    u32 of[8] = {0};
    for (u32 i = 0; i < 6; i++) {
        of[picture.islands[i].entity] = picture.islands[i].island;
    }
    assert_true(of[2] != 0 && of[2] == of[3] && of[4] == of[5] && of[6] == of[7]);
    assert_true(of[2] != of[4] && of[4] != of[6] && of[2] != of[6]);
    assert_int_equal(world_debug(f->world, DEBUG_ISLANDS, &picture), 0);
    assert_int_equal(picture.line_count, 0);
    stage_destroy(f);
}

/* Queries have no side effects. */
static void test_debug_pictures_have_no_side_effects(void **state)
{
    (void)state;
    static const char json[] =
        "{\"name\":\"t\",\"bodies\":[" FLOOR
        ",{\"name\":\"b\",\"shape\":{\"kind\":\"box\",\"half\":[0.3,0.3,0.3]},\"position\":[0,1,0],"
        "\"rotation\":[20,30,10],\"repeat\":{\"count\":[2,3,2],\"spacing\":[0.7,0.9,0.7]}}]}";
    Stage *f = stage_create(json), *g = stage_create(json);
    DebugPicture picture;
    for (u32 i = 0; i < 60; i++) {
        stage_run(f, 1);
        stage_run(g, 1);
        assert_int_equal(world_debug(f->world, DEBUG_ALL, &picture), 0);
    }
    assert_true(world_hash(f->world) == world_hash(g->world));
    stage_destroy(f);
    stage_destroy(g);
}

static const char many_parts[] =
    "{\"name\":\"t\",\"bodies\":[{\"name\":\"hills\",\"motion\":\"static\",\"shape\":{\"kind\":"
    "\"terrain\","
    "\"columns\":17,\"rows\":17,\"spacing\":1,\"noise\":{\"amplitude\":0.5,\"feature\":5}}},"
    "{\"name\":\"gem\",\"position\":[0,3,0],\"shape\":{\"kind\":\"hull\",\"points\":[[0.4,0,0],[-0."
    "4,0,0],"
    "[0,0.4,0],[0,-0.4,0],[0,0,0.4],[0,0,-0.4]]},\"repeat\":{\"count\":[2,1,1],\"spacing\":[1,1,1]}"
    "},"
    "{\"name\":\"bell\",\"position\":[-2,3,0],\"shape\":{\"kind\":\"compound\",\"children\":[{"
    "\"shape\":{"
    "\"kind\":\"sphere\",\"radius\":0.3},\"position\":[0.4,0,0]},{\"shape\":{\"kind\":\"cone\","
    "\"radius\":0.3,"
    "\"half_height\":0.3}}]}},"
    "{\"name\":\"lift\",\"motion\":\"kinematic\",\"shape\":{\"kind\":\"box\",\"half\":[0.5,0.1,0.5]"
    "},"
    "\"position\":[2,2,2],\"path\":{\"points\":[[0,0,0],[1,1,0],[0,1,1]],\"period\":3}}],"
    "\"ragdolls\":[{\"name\":\"r\",\"position\":[3,2,-2]}]}";

/* An image taken in mid-run continues bit for bit in another world. */
static void test_images_of_all_parts(void **state)
{
    (void)state;
    Stage *f = stage_create(many_parts), *g = stage_create(many_parts);
    assert_true(world_hash(f->world) == world_hash(g->world)); /* independent of memory addresses */
    stage_run(f, 40);
    stage_run(g, 3);
    u8 *image;
    size_t bytes;
    ErrorText error;
    assert_int_equal(world_save(f->world, &image, &bytes), 0);
    if (world_load(g->world, image, bytes, &error) != 0) {
        fail_msg("%s", error.text);
    }
    assert_true(world_hash(f->world) == world_hash(g->world));
    stage_run(f, 60);
    stage_run(g, 60);
    assert_true(world_hash(f->world) == world_hash(g->world));
    /* The entities refer to their geometries again. */
    MessageWorld world;
    world_describe(g->world, &world);
    for (u32 i = 0; i < world.entity_count; i++) {
        const Appearance *appearance = &world.entities[i].appearance;
        assert_true((appearance->shape.kind >= SHAPE_HULL) == (appearance->shape.geometry != NULL));
        if (appearance->shape.geometry != NULL) {
            assert_ptr_equal(appearance->shape.geometry,
                             g->scene->geometries[appearance->geometry - 1]);
        }
    }
    free(image);
    stage_destroy(f);
    stage_destroy(g);
}

/* The sleep of soft bodies in fields, for clients and recordings. */
static f32 first_soft_awake(const Stage *f)
{
    u32 last = f->frame->fields->count - 1;
    assert_string_equal(f->frame->fields->fields[last].name, "soft_bodies");
    assert_int_equal(f->frame->fields->fields[last].capacity, 1);
    return *(const f32 *)frame_field(f->frame, last);
}

static void test_the_sleep_of_soft_bodies_is_reported(void **state)
{
    (void)state;
    Stage *f =
        stage_create("{\"name\":\"t\",\"bodies\":[{\"name\":\"ground\",\"motion\":\"static\","
                     "\"shape\":{\"kind\":\"plane\"}}],\"cloths\":[{\"name\":\"rag\","
                     "\"points\":[6,6],\"size\":[0.5,0.5],\"position\":[0,0.1,0],"
                     "\"rotation\":[90,0,0],\"thickness\":0.02}]}");
    stage_run(f, 1);
    assert_true(first_soft_awake(f) == 1.0f);
    stage_run(f, 1200);
    assert_true(first_soft_awake(f) == 0.0f);
    stage_destroy(f);
}

/* The estimate before anything is built: at least the memory of the parts, and less than ten times
 * that. */
static void test_memory_is_estimated(void **state)
{
    (void)state;
    static const char *const scenes[] = {"boxes1000", "cloth100", "ragdolls", "rabbits", "terrain"};
    for (u32 i = 0; i < PL_COUNT(scenes); i++) {
        char path[256];
        ErrorText error = {0};
        snprintf(path, sizeof path, "shared/scenes/%s.json", scenes[i]);
        Scene *scene = scene_load(source_path(path), &error);
        assert_non_null(scene);
        World *world = world_create(scene, NULL, &error);
        assert_non_null(world);
        for (u32 k = 0; k < 60; k++) {
            world_tick(world, NULL, 0);
        }
        WorldStats stats;
        world_stats(world, &stats);
        u64 said = world_memory_estimate(scene, NULL);
        print_message("%s: about %.1f MiB, the world has %.1f MiB\n", scenes[i],
                      (f64)said / 1048576.0, (f64)stats.memory_bytes / 1048576.0);
        assert_true(said > stats.memory_bytes);
        assert_true(said < (64 << 20) + 10 * stats.memory_bytes);
        world_destroy(world);
        scene_destroy(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_limit_in_degrees),
        cmocka_unit_test(test_a_break_is_reported_once),
        cmocka_unit_test(test_a_path_is_followed),
        cmocka_unit_test(test_a_sensor_notices),
        cmocka_unit_test(test_the_sleep_of_soft_bodies_is_reported),
        cmocka_unit_test(test_memory_is_estimated),
        cmocka_unit_test(test_energy_and_momenta),
        cmocka_unit_test(test_the_debug_picture),
        cmocka_unit_test(test_debug_pictures_have_no_side_effects),
        cmocka_unit_test(test_images_of_all_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
