/* test_scenes.c: shipped scenes with joints, meshes, terrain, fast bodies, sensors, moving
 * surfaces, liquids and grains, and both methods give the same bits for 1, 2, 4 and 8 threads, and
 * continue bit for bit from an image. */
#include "server/author/scene_load.h"
#include "server/world/world.h"
#include "shared/base/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Beside one; sanitizers look at one count, the release build at all. Under the thread sanitizer
 * programs are twenty times slower, and only the threads are of interest. */
#if defined(__SANITIZE_THREAD__)
#define FEWEST_THREADS 2
#define MOST_THREADS   2
#define SOME_TICKS     20
#elif defined(__SANITIZE_ADDRESS__)
#define FEWEST_THREADS 4
#define MOST_THREADS   4
#define SOME_TICKS     50 /* test_shipped runs each scene for longer */
#else
#define FEWEST_THREADS 2
#define MOST_THREADS   8
#define SOME_TICKS     150
#endif

enum {
    TICKS = SOME_TICKS,
    SAVED_AT = TICKS / 2
};

static const char *const scenes[] = {
#ifndef __SANITIZE_THREAD__ /* test_golden has threads for them */
    "ragdolls",   "terrain",   "marble_run",  "conveyor",   "side_by_side", "wrecking_ball",
#endif
    "mass_ratio", "bridge",    "water_wheel", "sand_water", "sparks",       "flock",
    "swarm",      "explosion", "orbits",      "fountain",   "solar_system"};

static Scene *load(const char *name)
{
    char path[128];
    ErrorText error;
    snprintf(path, sizeof path, "shared/scenes/%s.json", name);
    Scene *scene = scene_load(path, &error);
    if (scene == NULL) {
        fail_msg("%s", error.text);
    }
    return scene;
}

/* A world of each scene on one thread, made once: its hashes, and its image after SAVED_AT. */
typedef struct First {
    Scene *scene;
    u64 hashes[TICKS];
    u8 *image;
    size_t bytes;
} First;

static First firsts[PL_COUNT(scenes)];

static void run(const Scene *scene, u32 threads, u64 hashes[TICKS], First *keep)
{
    ErrorText error;
    Jobs *jobs = jobs_create(threads);
    World *world = world_create(scene, jobs, &error);
    assert_non_null(world);
    for (u32 i = 0; i < TICKS; i++) {
        if (keep != NULL && i == SAVED_AT) {
            assert_int_equal(world_save(world, &keep->image, &keep->bytes), 0);
        }
        world_tick(world, NULL, 0);
        hashes[i] = world_hash(world);
    }
    world_destroy(world);
    jobs_destroy(jobs);
}

static int set_up(void **unused)
{
    PL_UNUSED(unused);
    for (u32 s = 0; s < PL_COUNT(scenes); s++) {
        firsts[s].scene = load(scenes[s]);
        run(firsts[s].scene, 1, firsts[s].hashes, &firsts[s]);
    }
    return 0;
}

static int tear_down(void **unused)
{
    PL_UNUSED(unused);
    for (u32 s = 0; s < PL_COUNT(scenes); s++) {
        free(firsts[s].image);
        scene_destroy(firsts[s].scene);
    }
    return 0;
}

static void threads_do_not_matter(void **unused)
{
    PL_UNUSED(unused);
    for (u32 s = 0; s < PL_COUNT(scenes); s++) {
        const First *first = &firsts[s];
        u64 hashes[TICKS];
        for (u32 threads = FEWEST_THREADS; threads <= MOST_THREADS; threads *= 2) {
            run(first->scene, threads, hashes, NULL);
            for (u32 i = 0; i < TICKS; i++) {
                if (hashes[i] != first->hashes[i]) {
                    fail_msg("%s: %u threads differ from tick %u on", scenes[s], threads, i);
                }
            }
        }
    }
}

static void images_continue_identically(void **unused)
{
    PL_UNUSED(unused);
    for (u32 s = 0; s < PL_COUNT(scenes); s++) {
        const First *first = &firsts[s];
        ErrorText error;
        Jobs *jobs = jobs_create(2);
        World *world = world_create(first->scene, jobs, &error);
        assert_non_null(world);
        if (world_load(world, first->image, first->bytes, &error) != 0) {
            fail_msg("%s: %s", scenes[s], error.text);
        }
        for (u32 i = SAVED_AT; i < TICKS; i++) {
            world_tick(world, NULL, 0);
            if (world_hash(world) != first->hashes[i]) {
                fail_msg("%s: the loaded world differs from tick %u on", scenes[s], i);
            }
        }
        world_destroy(world);
        jobs_destroy(jobs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(images_continue_identically),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
