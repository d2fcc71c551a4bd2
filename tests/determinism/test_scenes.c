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

#ifdef __SANITIZE_THREAD__ /* twenty times slower; only the threads are of interest */
#define SLOW 1
#else
#define SLOW 0
#endif
/* Beside one; sanitizers look at one count, the release build at all. */
#if defined(__SANITIZE_THREAD__)
#define FEWEST_THREADS 2
#define MOST_THREADS   2
#elif defined(__SANITIZE_ADDRESS__)
#define FEWEST_THREADS 4
#define MOST_THREADS   4
#else
#define FEWEST_THREADS 2
#define MOST_THREADS   8
#endif

enum {
    TICKS = SLOW ? 20 : 150,
    SAVED_AT = TICKS / 2
};

static const char *const scenes[] = {
    "mass_ratio",   "ragdolls",      "terrain",     "marble_run", "bridge",      "conveyor",
    "side_by_side", "wrecking_ball", "water_wheel", "sand_water", "sparks",      "flock",
    "swarm",        "explosion",     "orbits",      "fountain",   "solar_system"};

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

static void run(const Scene *scene, u32 threads, u64 hashes[TICKS])
{
    ErrorText error;
    Jobs *jobs = jobs_create(threads);
    World *world = world_create(scene, jobs, &error);
    assert_non_null(world);
    for (u32 i = 0; i < TICKS; i++) {
        world_tick(world, NULL, 0);
        hashes[i] = world_hash(world);
    }
    world_destroy(world);
    jobs_destroy(jobs);
}

static void threads_do_not_matter(void **unused)
{
    PL_UNUSED(unused);
    for (u32 s = 0; s < PL_COUNT(scenes); s++) {
        Scene *scene = load(scenes[s]);
        u64 first[TICKS], hashes[TICKS];
        run(scene, 1, first);
        for (u32 threads = FEWEST_THREADS; threads <= MOST_THREADS; threads *= 2) {
            run(scene, threads, hashes);
            for (u32 i = 0; i < TICKS; i++) {
                if (hashes[i] != first[i]) {
                    fail_msg("%s: %u threads differ from tick %u on", scenes[s], threads, i);
                }
            }
        }
        scene_destroy(scene);
    }
}

static void images_continue_identically(void **unused)
{
    PL_UNUSED(unused);
    for (u32 s = 0; s < PL_COUNT(scenes); s++) {
        Scene *scene = load(scenes[s]);
        ErrorText error;
        Jobs *jobs = jobs_create(2); /* the loaded world runs with two threads */
        World *world = world_create(scene, NULL, &error),
              *other = world_create(scene, jobs, &error);
        assert_non_null(world);
        assert_non_null(other);
        for (u32 i = 0; i < SAVED_AT; i++) {
            world_tick(world, NULL, 0);
        }
        u8 *image;
        size_t bytes;
        assert_int_equal(world_save(world, &image, &bytes), 0);
        if (world_load(other, image, bytes, &error) != 0) {
            fail_msg("%s: %s", scenes[s], error.text);
        }
        for (u32 i = SAVED_AT; i < TICKS; i++) {
            world_tick(world, NULL, 0);
            world_tick(other, NULL, 0);
            if (world_hash(world) != world_hash(other)) {
                fail_msg("%s: the loaded world differs from tick %u on", scenes[s], i);
            }
        }
        free(image);
        world_destroy(world);
        world_destroy(other);
        jobs_destroy(jobs);
        scene_destroy(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(images_continue_identically),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
