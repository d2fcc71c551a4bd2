/*
 * test_contact.c: a kind of matter unknown to the rest of the tree (tests/support/cloud.c) collides
 * with rigid and soft bodies through the common contact interface: no code is specific to such a
 * pair.
 */
#include "server/author/scene_load.h"
#include "server/world/matter_soft.h"
#include "tests/support/cloud.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    SECOND = 60 /* ticks */
};

typedef struct Fall {
    Scene *scene;
    World *world;
} Fall;

static Fall fall_make(const char *text, Jobs *jobs)
{
    ErrorText error = {0};
    Fall fall = {.scene = scene_parse(text, strlen(text), "contact", &error)};
    if (fall.scene == NULL) {
        fail_msg("%s", error.text);
    }
    fall.world = world_create_with(fall.scene, &cloud_kinds, jobs, &error);
    if (fall.world == NULL) {
        fail_msg("%s", error.text);
    }
    MessageWorld said;
    world_describe(fall.world, &said);
    Input set[2] = {{.kind = INPUT_SET, .user = 1, .sequence = 1},
                    {.kind = INPUT_SET, .user = 1, .sequence = 2}};
    set[0].index = said.parameter_count - 1;
    set[1].index = said.parameter_count - 2;
    set[1].values[0] = 1.0f;
    assert_string_equal(said.parameters[set[0].index].name, "cloud stiffness");
    assert_string_equal(said.parameters[set[1].index].name, "cloud weight");
    world_tick(fall.world, set, 2);
    return fall;
}

static void fall_free(Fall *fall)
{
    world_destroy(fall->world);
    scene_destroy(fall->scene);
}

static void ticks(Fall *fall, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        world_tick(fall->world, NULL, 0);
    }
}

static f64 probe(const World *world, const char *name)
{
    f64 value = NAN;
    assert_true(world_probe(world, name, &value));
    return value;
}

/* Finds the lowest of the points above the square of this half side; returns their number. */
static u32 lowest_over(const World *world, Vec3 middle, f32 half, f32 *lowest)
{
    u32 count = 0;
    *lowest = INFINITY;
    for (u32 i = 0; i < CLOUD_POINTS; i++) {
        Vec3 at = vec3_sub(cloud_position(world, i), middle);
        if (fabsf(at.x) < half && fabsf(at.z) < half && at.y > -2.0f) {
            *lowest = f32_min(*lowest, at.y);
            count++;
        }
    }
    return count;
}

static Vec3 mean_velocity(const Fall *fall, Vec3 before[CLOUD_POINTS])
{
    Vec3 sum = vec3_zero();
    for (u32 i = 0; i < CLOUD_POINTS; i++) {
        sum = vec3_add(sum, vec3_sub(cloud_position(fall->world, i), before[i]));
    }
    return vec3_scale(sum, (f32)SECOND / CLOUD_POINTS);
}

static void take_places(const Fall *fall, Vec3 places[CLOUD_POINTS])
{
    for (u32 i = 0; i < CLOUD_POINTS; i++) {
        places[i] = cloud_position(fall->world, i);
    }
}

static void a_cloud_lies_on_a_box(void **state)
{
    (void)state;
    Fall fall = fall_make("{\"name\":\"box\",\"bodies\":[{\"name\":\"box\",\"motion\":\"static\","
                          "\"shape\":{\"kind\":\"box\",\"half\":[3,0.5,3]},"
                          "\"position\":[0,-0.5,0]}],"
                          "\"probes\":[{\"name\":\"kinetic\",\"kind\":\"kinetic_energy\"}]}",
                          NULL);
    ticks(&fall, 4 * SECOND);
    f32 lowest;
    u32 count = lowest_over(fall.world, vec3_zero(), 2.9f, &lowest);
    printf("%u points lie, the lowest %.3f mm within its radius, %.1e J\n", count,
           (double)(1e3f * (CLOUD_RADIUS_M - lowest)), probe(fall.world, "kinetic"));
    assert_int_equal(count, CLOUD_POINTS);
    assert_true(lowest > CLOUD_RADIUS_M - 1e-4f);
    assert_true(probe(fall.world, "kinetic") < 1e-6);
    fall_free(&fall);
}

/* A platform moving sideways and up carries the cloud by friction and without penetration. */
static void a_cloud_rides_on_a_platform(void **state)
{
    (void)state;
    Fall fall = fall_make("{\"name\":\"lift\",\"bodies\":[{\"name\":\"lift\","
                          "\"motion\":\"kinematic\",\"velocity\":[1,0.4,0],"
                          "\"shape\":{\"kind\":\"box\",\"half\":[6,0.5,3]},"
                          "\"position\":[0,-0.5,0]}]}",
                          NULL);
    ticks(&fall, 3 * SECOND - 2);
    Vec3 before[CLOUD_POINTS];
    take_places(&fall, before);
    ticks(&fall, 1);
    Vec3 velocity = mean_velocity(&fall, before);
    f32 lowest, top = 0.4f * 3.0f;
    u32 count = lowest_over(fall.world, vec3_zero(), 10.0f, &lowest);
    printf("goes at %.3f %.3f m/s, the lowest %.3f mm within its radius\n", (double)velocity.x,
           (double)velocity.y, (double)(1e3f * (CLOUD_RADIUS_M + top - lowest)));
    assert_int_equal(count, CLOUD_POINTS);
    assert_float_equal(velocity.x, 1.0f, 1e-3f);
    assert_float_equal(velocity.y, 0.4f, 1e-3f);
    assert_true(lowest > top + CLOUD_RADIUS_M - 1e-3f);
    fall_free(&fall);
}

/* m, distance of a point's centre from the surface of the only soft body. */
static f32 nearest(SoftCollider *bodies, Vec3 point)
{
    Vec3 normal;
    return soft_collider_ops.distance(bodies, 0, point, 1.0f, &normal);
}

static void lies_on(const char *scene)
{
    Fall fall = fall_make(scene, NULL);
    ticks(&fall, 6 * SECOND);
    Vec3 before[CLOUD_POINTS];
    take_places(&fall, before);
    ticks(&fall, SECOND);
    SoftCollider bodies = {.soft = world_soft(fall.world)};
    soft_collider_ops.begin(&bodies, NULL, 1.0f / SECOND);
    u32 through = 0;
    f32 deepest = 0.0f, mean = 0.0f;
    for (u32 i = 0; i < CLOUD_POINTS; i++) {
        Vec3 at = cloud_position(fall.world, i);
        f32 distance = nearest(&bodies, at);
        through += !(distance < 1.0f);
        deepest = f32_max(deepest, CLOUD_RADIUS_M - distance);
        mean += vec3_distance(at, before[i]) / CLOUD_POINTS;
    }
    printf("%s: %u fell off, the deepest %.2f mm within its radius, %.2f mm in the last second\n",
           world_scene(fall.world)->name, through, (double)(1e3f * deepest), (double)(1e3f * mean));
    assert_int_equal(through, 0);
    assert_true(deepest < 3e-3f);
    assert_true(mean < 0.005f);
    fall_free(&fall);
}

static void a_cloud_lies_on_a_cloth(void **state)
{
    (void)state;
    char scene[4096];
    u32 used = (u32)snprintf(scene, sizeof scene,
                             "{\"name\":\"cloth\",\"cloths\":[{\"name\":\"sheet\","
                             "\"points\":[31,31],\"size\":[6,6],\"position\":[-3,0,-3],"
                             "\"rotation\":[90,0,0],\"area_density\":0.5,"
                             "\"friction\":0.6,\"damping\":2,"
                             "\"pins\":[");
    for (u32 i = 0; i < 31; i++) {
        used += (u32)snprintf(scene + used, sizeof scene - used,
                              "%s{\"point\":[%u,0]},{\"point\":[%u,30]},{\"point\":[0,%u]},"
                              "{\"point\":[30,%u]}",
                              i == 0 ? "" : ",", i, i, i, i);
    }
    snprintf(scene + used, sizeof scene - used, "]}]}");
    lies_on(scene);
}

static void a_cloud_lies_on_jelly(void **state)
{
    (void)state;
    lies_on("{\"name\":\"jelly\",\"bodies\":[{\"name\":\"floor\",\"motion\":\"static\","
            "\"shape\":{\"kind\":\"plane\"}}],\"soft_bodies\":[{\"name\":\"block\","
            "\"shape\":{\"kind\":\"box\",\"size\":[6,0.6,6],\"cells\":[10,1,10],\"solid\":true},"
            "\"mass\":200,\"young\":20000,\"position\":[0,0.35,0],\"thickness\":0.02}]}");
}

/* Sleeping bodies wake before the impact, and take its impulse. */
static void what_sleeps_is_woken(void **state)
{
    (void)state;
    Fall fall = fall_make("{\"name\":\"sleep\",\"bodies\":[{\"name\":\"floor\","
                          "\"motion\":\"static\",\"shape\":{\"kind\":\"plane\"}},"
                          "{\"name\":\"box\",\"shape\":{\"kind\":\"box\",\"half\":[1,0.2,1]},"
                          "\"mass\":5,\"position\":[1.2,0.2,0]}],\"cloths\":[{\"name\":\"rug\","
                          "\"points\":[11,11],\"size\":[2,2],\"position\":[-2.2,0.02,-1],"
                          "\"rotation\":[90,0,0]}]}",
                          NULL);
    const Rigid *rigid = world_rigid(fall.world);
    Input lift = {.kind = INPUT_SET, .user = 1, .sequence = 3};
    MessageWorld said;
    world_describe(fall.world, &said);
    lift.index = said.parameter_count - 1; /* the springs hold it up, until: */
    lift.values[0] = 10.0f;
    world_tick(fall.world, &lift, 1);
    u32 box = 1;
    for (u32 i = 0; i < 20 * SECOND; i++) {
        ticks(&fall, 1);
        if (!soft_awake(world_soft(fall.world), 0) && !rigid_awake(rigid, box)) {
            break;
        }
    }
    assert_false(soft_awake(world_soft(fall.world), 0) || rigid_awake(rigid, box));
    lift.sequence = 4;
    lift.values[0] = 0.0f;
    world_tick(fall.world, &lift, 1);
    bool rug_woke = false, box_woke = false;
    for (u32 i = 0; i < 2 * SECOND; i++) {
        ticks(&fall, 1);
        rug_woke = rug_woke || soft_awake(world_soft(fall.world), 0);
        box_woke = box_woke || rigid_awake(rigid, box);
    }
    assert_true(rug_woke && box_woke);
    fall_free(&fall);
}

#ifdef __SANITIZE_THREAD__ /* races show in every tick; the bits are compared in other builds */
#define THREAD_TICKS 30
#else
#define THREAD_TICKS (2 * SECOND)
#endif

/* The same bits for any number of threads: a cloud on a box that rests on a cloth. */
static void threads_change_nothing(void **state)
{
    (void)state;
    const char *scene =
        "{\"name\":\"threads\",\"bodies\":[{\"name\":\"floor\",\"motion\":\"static\","
        "\"shape\":{\"kind\":\"plane\"}},{\"name\":\"box\",\"shape\":{\"kind\":"
        "\"box\",\"half\":[1,0.2,1]},\"mass\":5,\"position\":[0,0.4,0]}],"
        "\"cloths\":[{\"name\":\"rug\",\"points\":[21,21],\"size\":[5,5],"
        "\"position\":[-2.5,0.1,-2.5],\"rotation\":[90,0,0]}]}";
    Fall one = fall_make(scene, NULL);
    for (u32 threads = 2; threads <= 3; threads++) {
        Jobs *jobs = jobs_create(threads);
        Fall other = fall_make(scene, jobs);
        for (u32 i = 0; i < THREAD_TICKS; i++) {
            ticks(&other, 1);
            if (threads == 2) {
                ticks(&one, 1);
                assert_true(world_hash(one.world) == world_hash(other.world));
            }
        }
        assert_true(world_hash(one.world) == world_hash(other.world));
        fall_free(&other);
        jobs_destroy(jobs);
    }
    fall_free(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cloud_lies_on_a_box),   cmocka_unit_test(a_cloud_rides_on_a_platform),
        cmocka_unit_test(a_cloud_lies_on_a_cloth), cmocka_unit_test(a_cloud_lies_on_jelly),
        cmocka_unit_test(what_sleeps_is_woken),    cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
