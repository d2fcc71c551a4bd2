/* test_allocations.c: after warm-up, ticks of a world allocate no memory. */
#include "server/author/scene_load.h"
#include "server/world/world.h"
#include "tests/determinism/world_script.h"
#include "tests/support/scene_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* Sanitizers bring allocators of their own, which cannot be replaced. */
static u64 allocations(void)
{
    return 0;
}
enum {
    COUNTED = 0
};
#else
enum {
    COUNTED = 1
};
static u64 allocated; /* allocations of all threads */

static u64 allocations(void)
{
    return __atomic_load_n(&allocated, __ATOMIC_RELAXED);
}

static void count(void)
{
    __atomic_fetch_add(&allocated, 1, __ATOMIC_RELAXED);
}

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
    count();
    return __libc_malloc(bytes);
}

void *calloc(size_t items, size_t bytes)
{
    count();
    return __libc_calloc(items, bytes);
}

void *realloc(void *block, size_t bytes)
{
    count();
    return __libc_realloc(block, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    count();
    return __libc_memalign(alignment, bytes);
}
#endif

enum {
    WARM_UP = 200,
    TICKS = 1000,
    LIQUID_TICKS = 400,
    WATER = 14, /* after eleven bodies and two soft ones */
};

/* The box circles through the wall and the pyramid, the curtain swings to and fro. */
static u32 drag(u32 tick, Input inputs[2])
{
    static const f32 corners[4][2] = {{-4.0f, -3.0f}, {4.0f, -3.0f}, {4.0f, 4.0f}, {-5.0f, 3.0f}};
    const f32 *a = corners[tick / 60 % 4], *b = corners[(tick / 60 + 1) % 4];
    f32 t = (f32)(tick % 60) / 60.0f;
    inputs[0] = script_input(tick == 0 ? INPUT_GRAB : INPUT_MOVE, 1, tick);
    inputs[0].entity = SCRIPT_BOX;
    inputs[0].target = vec3(a[0] + t * (b[0] - a[0]), 1.0f, a[1] + t * (b[1] - a[1]));
    inputs[1] = script_input(tick == 0 ? INPUT_GRAB : INPUT_MOVE, 2, tick);
    inputs[1].entity = SCRIPT_CURTAIN;
    inputs[1].element = 300;
    inputs[1].target = vec3(-6.0f + t, 2.0f, 0.5f);
    return 2;
}

/* A hand moves to and fro in the tank. */
static u32 stir(u32 tick, Input inputs[2])
{
    inputs[0] = script_input(tick == 0 ? INPUT_GRAB : INPUT_MOVE, 1, tick);
    inputs[0].entity = WATER;
    inputs[0].element = 100;
    inputs[0].target = vec3(tick / 40 % 2 == 0 ? 1.0f : -1.0f, 0.4f, 0.0f);
    return 1;
}

/* Number of bodies that are awake at the end. */
static u32 needs_no_memory(const char *path, u32 (*act)(u32 tick, Input inputs[2]), u32 ticks)
{
    u64 at_start = allocations();
    ErrorText error;
    Scene *scene = scene_load(path, &error);
    assert_non_null(scene);
    Jobs *jobs = jobs_create(2);
    World *world = world_create(scene, jobs, &error);
    assert_non_null(world);
    assert_true(allocations() - at_start > 10); /* building a world allocates: the counter works */
    Input inputs[2];
    u32 tick = 0;
    for (; tick < WARM_UP; tick++) {
        world_tick(world, inputs, act(tick, inputs));
    }
    u64 before = allocations(), first = 0;
    for (; tick < WARM_UP + ticks; tick++) {
        world_tick(world, inputs, act(tick, inputs));
        if (first == 0 && allocations() != before) {
            first = tick;
        }
    }
    u64 made = allocations() - before;
    WorldStats stats;
    world_stats(world, &stats);
    printf("%llu allocations in %u ticks, %u bodies awake at the end, first in tick %llu\n",
           (unsigned long long)made, ticks, stats.bodies_awake, (unsigned long long)first);
    assert_int_equal(made, 0);
    world_destroy(world);
    jobs_destroy(jobs);
    scene_destroy(scene);
    return stats.bodies_awake;
}

static void ticks_allocate_nothing(void **unused)
{
    PL_UNUSED(unused);
    if (!COUNTED) {
        skip();
    }
    assert_true(needs_no_memory("shared/scenes/playground.json", drag, TICKS) > 5);
}

/* Sources and drains run, a piston compresses, a wheel turns, bodies float. */
static void liquids_allocate_nothing(void **unused)
{
    PL_UNUSED(unused);
    if (!COUNTED) {
        skip();
    }
    needs_no_memory("tests/determinism/golden/liquids.json", stir, LIQUID_TICKS);
}

/* Nor does a soft body that touches a liquid for the first time. */
static void first_touch_allocates_nothing(void **unused)
{
    PL_UNUSED(unused);
    if (!COUNTED) {
        skip();
    }
    SceneText of = {.used = 0};
    scene_text_add(
        &of, "{\"name\":\"t\",\"liquid_spacing\":0.05,\"liquids\":[{\"name\":\"w\",\"fill\":[{"
             "\"shape\":{\"kind\":\"box\",\"half\":[0.5,0.2,0.5]},\"position\":[0,0.2,0]}]}],"
             "\"bodies\":[");
    scene_text_wall(&of, "floor", vec3(0.0f, -0.5f, 0.0f), vec3(1.0f, 0.5f, 1.0f));
    scene_text_wall(&of, "west", vec3(-1.0f, 0.5f, 0.0f), vec3(0.5f, 1.0f, 1.0f));
    scene_text_wall(&of, "east", vec3(1.0f, 0.5f, 0.0f), vec3(0.5f, 1.0f, 1.0f));
    scene_text_wall(&of, "south", vec3(0.0f, 0.5f, -1.0f), vec3(0.5f, 1.0f, 0.5f));
    scene_text_wall(&of, "north", vec3(0.0f, 0.5f, 1.0f), vec3(0.5f, 1.0f, 0.5f));
    scene_text_add(
        &of, "],\"soft_bodies\":[{\"name\":\"s\",\"position\":[-0.3,3,-0.3],\"orientation\":"
             "[0.70710678,0.70710678,0,0],\"shape\":{\"kind\":\"grid\",\"points\":[13,13],"
             "\"size\":[0.6,0.6]},\"density\":30}],\"probes\":[{\"name\":\"y\",\"kind\":\"height\","
             "\"of\":\"s\"}]}");
    Scene *scene;
    World *world = scene_text_world(&of, &scene);
    f64 y = 9.0;
    u32 ticks = 0;
    u64 before = 0;
    for (; ticks < 240 && y > 0.35; ticks++) { /* it is in the water then */
        before = ticks == 20 ? allocations() : before;
        world_tick(world, NULL, 0);
        world_probe(world, "y", &y);
    }
    print_message("in the water after %u ticks\n", ticks);
    assert_in_range(ticks, 30, 239);
    assert_int_equal(allocations() - before, 0);
    world_destroy(world);
    scene_destroy(scene);
}

/* Nor does held cloth on which sand falls for the first time. */
static void first_load_allocates_nothing(void **unused)
{
    PL_UNUSED(unused);
    if (!COUNTED) {
        skip();
    }
    SceneText of = {.used = 0};
    scene_text_add(
        &of, "{\"name\":\"t\",\"liquid_spacing\":0.04,\"bodies\":[],\"grains\":[{\"name\":\"w\","
             "\"fill\":[{\"shape\":{\"kind\":\"box\",\"half\":[0.3,0.06,0.3]},\"position\":"
             "[0,1.5,0]}]}],\"cloths\":[{\"name\":\"s\",\"points\":[13,13],\"size\":[1.2,1.2],"
             "\"position\":[-0.6,0,-0.6],\"rotation\":[90,0,0],\"area_density\":0.5,\"pins\":["
             "{\"point\":[0,0]},{\"point\":[12,0]},{\"point\":[0,12]},{\"point\":[12,12]}]}],"
             "\"probes\":[{\"name\":\"y\",\"kind\":\"height\",\"of\":\"s\"}]}");
    Scene *scene;
    World *world = scene_text_world(&of, &scene);
    f64 y = 0.0, hangs = 0.0, low = 0.0;
    u64 before = 0;
    for (u32 tick = 0; tick < 60; tick++) {
        if (tick == 20) {
            before = allocations();
            world_probe(world, "y", &hangs);
        }
        world_tick(world, NULL, 0);
        world_probe(world, "y", &y);
        low = y < low ? y : low;
    }
    print_message("the cloth sank by %.2f m\n", hangs - low);
    assert_true(low < hangs - 0.05);
    assert_int_equal(allocations() - before, 0);
    world_destroy(world);
    scene_destroy(scene);
}

/* Particles appear, collide and expire; a flock, a swarm, bodies that attract each other. */
static void particles_allocate_nothing(void **unused)
{
    PL_UNUSED(unused);
    if (!COUNTED) {
        skip();
    }
    static const char *const scenes[] = {"sparks", "snow_fall",    "flock",
                                         "swarm",  "solar_system", "smoke_ball"};
    for (u32 s = 0; s < PL_COUNT(scenes); s++) {
        char path[64];
        ErrorText error;
        snprintf(path, sizeof path, "shared/scenes/%s.json", scenes[s]);
        Scene *scene = scene_load(path, &error);
        assert_non_null(scene);
        Jobs *jobs = jobs_create(2);
        World *world = world_create(scene, jobs, &error);
        assert_non_null(world);
        for (u32 i = 0; i < WARM_UP; i++) {
            world_tick(world, NULL, 0);
        }
        u64 before = allocations();
        for (u32 i = 0; i < TICKS / 4; i++) {
            world_tick(world, NULL, 0);
        }
        if (allocations() != before) {
            fail_msg("%s: %llu allocations", scenes[s],
                     (unsigned long long)(allocations() - before));
        }
        world_destroy(world);
        jobs_destroy(jobs);
        scene_destroy(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ticks_allocate_nothing),
                                       cmocka_unit_test(liquids_allocate_nothing),
                                       cmocka_unit_test(first_touch_allocates_nothing),
                                       cmocka_unit_test(first_load_allocates_nothing),
                                       cmocka_unit_test(particles_allocate_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
