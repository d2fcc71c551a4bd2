/* test_ray.c: rays through a world hit bodies, cloth, ropes and particles alike, and report
 * which. */
#include "server/world/matter_soft.h"
#include "tests/support/cloud.h"
#include "tests/support/stage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

static const char scene_text[] =
    "{\"name\":\"rays\",\"gravity\":[0,0,0],\"bodies\":["
    "{\"name\":\"floor\",\"shape\":{\"kind\":\"plane\"},\"motion\":\"static\",\"position\":[0,-3,0]"
    "},"
    "{\"name\":\"box\",\"shape\":{\"kind\":\"box\",\"half\":[0.5,0.5,0.5]},\"motion\":\"static\","
    "\"position\":[10,0,0]},"
    "{\"name\":\"gate\",\"shape\":{\"kind\":\"box\",\"half\":[0.5,0.1,0.5]},\"motion\":\"static\","
    "\"sensor\":true,\"position\":[10,2,0]}],"
    "\"cloths\":[{\"name\":\"sheet\",\"points\":[5,5],\"size\":[4,4],\"position\":[18,0.25,-2],"
    "\"rotation\":[90,0,0]}],"
    "\"soft_bodies\":[{\"name\":\"rope\",\"shape\":{\"kind\":\"rope\",\"points\":[9],\"length\":4},"
    "\"position\":[28,0,0],\"thickness\":0.05}],"
    "\"probes\":[{\"name\":\"down\",\"kind\":\"range\",\"from\":[10,8,0],\"direction\":[0,-2,0]},"
    "{\"name\":\"cloth\",\"kind\":\"range\",\"from\":[20,8,0.3],\"direction\":[0,-1,0]},"
    "{\"name\":\"short\",\"kind\":\"range\",\"from\":[20,8,0.3],\"direction\":[0,-1,0],\"length\":"
    "5},"
    "{\"name\":\"floor\",\"kind\":\"range\",\"from\":[40,8,0],\"direction\":[0,-1,0]}]}";

static Stage *begin(void)
{
    Stage *stage = stage_create_with(scene_text, &cloud_kinds);
    stage_run(stage, 1);
    return stage;
}

static void hits(const World *world, Vec3 from, Vec3 way, const char *name, f64 distance)
{
    WorldHit hit = {0};
    Ray ray = {from, vec3_normalize_or(way, vec3(0, -1, 0))};
    assert_true(world_ray(world, ray, 50.0f, &hit));
    const Entity *entity = world_entity(world, hit.entity);
    assert_non_null(entity);
    assert_string_equal(entity->name, name);
    expect_near(name, (f64)hit.distance, distance, 2e-3);
    assert_true(vec3_dot(hit.normal, ray.direction) < 0.0f);
    assert_true(vec3_distance(hit.point, vec3_add_scaled(from, hit.distance, ray.direction)) <
                1e-3f);
}

static void everything_is_hit(void **state)
{
    (void)state;
    Stage *stage = begin();
    const World *world = stage->world;
    const Vec3 down = vec3(0, -1, 0);
    hits(world, vec3(10, 8, 0), down, "box", 7.5); /* through the sensor */
    hits(world, vec3(40, 8, 0), down, "floor", 11.0);
    hits(world, vec3(20, 8, 0.3f), down, "sheet", 7.75);
    hits(world, vec3(20, -2, 0.3f), vec3(0, 1, 0), "sheet", 2.25); /* from below */
    hits(world, vec3(17, 5.25f, 0.3f), vec3(3, -4, 0), "sheet", 6.25);
    hits(world, vec3(30.2f, 8, 0), down, "rope", 7.95);
    hits(world, vec3(30.2f, 8, 0.06f), down, "floor", 11.0); /* beside it */
    /* The lattice of the cloud begins at (-2.25, 1, -2.25), a point every 0.5 m of 0.08 m. */
    hits(world, vec3(-0.25f, 12, 0.25f), down, "cloud", 12.0 - 5.5 - 0.08);
    hits(world, vec3(0, 12, 0), down, "floor", 15.0); /* between its points */
    hits(world, vec3(-8, 1, -2.25f), vec3(1, 0, 0), "cloud", 8.0 - 2.25 - 0.08);
    WorldHit hit;
    Ray up = {vec3(40, 8, 0), vec3(0, 1, 0)};
    assert_false(world_ray(world, up, 50.0f, &hit));
    stage_destroy(stage);
}

static void range_probes_measure(void **state)
{
    (void)state;
    Stage *stage = begin();
    static const struct {
        const char *name;
        f64 value;
    } rows[] = {{"down", 7.5}, {"cloth", 7.75}, {"short", 5.0}, {"floor", 11.0}};
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        expect_near(rows[i].name, stage_probe(stage, rows[i].name), rows[i].value, 2e-3);
    }
    stage_destroy(stage);
}

/* A block of water 1 m high on a floor: a ray from above ends at its surface, within a spacing; a
 * sensor in it detects it, one beside it does not. */
static void water_is_hit_and_detected(void **state)
{
    (void)state;
    static const char text[] =
        "{\"name\":\"water\",\"gravity\":[0,0,0],\"bodies\":["
        "{\"name\":\"in\",\"shape\":{\"kind\":\"sphere\",\"radius\":0.3},\"motion\":\"static\","
        "\"sensor\":true,\"position\":[0,0.5,0]},"
        "{\"name\":\"beside\",\"shape\":{\"kind\":\"sphere\",\"radius\":0.3},\"motion\":\"static\","
        "\"sensor\":true,\"position\":[2,0.5,0]}],"
        "\"liquids\":[{\"name\":\"pool\",\"fill\":[{\"shape\":{\"kind\":\"box\",\"half\":"
        "[0.5,0.5,0.5]},\"position\":[0,0.5,0]}]}],"
        "\"probes\":[{\"name\":\"depth\",\"kind\":\"range\",\"from\":[0,4,0],\"direction\":[0,-1,0]"
        "}]}";
    Stage *stage = stage_create(text);
    stage_run(stage, 1);
    u32 entered = 0;
    for (u32 i = 0; i < stage->frame->event_count; i++) {
        const Event *event = &stage->frame->events[i];
        if (event->kind == EVENT_ENTER) {
            assert_int_equal(event->a, 1);
            assert_string_equal(world_entity(stage->world, event->b)->name, "pool");
            entered++;
        }
    }
    assert_int_equal(entered, 1);
    expect_within("m to the water", stage_probe(stage, "depth"), 2.9, 3.15);
    stage_destroy(stage);
}

/* A ray query between ticks has no effect on later ticks. */
static void rays_have_no_side_effects(void **state)
{
    (void)state;
    Stage *stage = begin(), *other = begin();
    for (u32 t = 0; t < 60; t++) {
        WorldHit hit;
        Ray ray = {vec3(20, 8, 0.1f * (f32)(t % 9)), vec3(0, -1, 0)};
        world_ray(stage->world, ray, 50.0f, &hit);
        Input push = {.kind = INPUT_PUSH,
                      .user = 1,
                      .sequence = t + 1,
                      .entity = 4,
                      .element = t % 25,
                      .vector = vec3(0.02f, 0.05f, 0),
                      .rotation = {1, 0, 0, 0},
                      .ray = {vec3(20, 1, 0), vec3(0, -1, 0)}};
        stage_tick(stage, &push, 1);
        stage_tick(other, &push, 1);
        assert_true(world_hash(stage->world) == world_hash(other->world));
    }
    stage_destroy(stage);
    stage_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_hit),
        cmocka_unit_test(range_probes_measure),
        cmocka_unit_test(water_is_hit_and_detected),
        cmocka_unit_test(rays_have_no_side_effects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
