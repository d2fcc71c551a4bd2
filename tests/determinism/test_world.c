/* test_world.c: a world with users gives the same bits for any number of threads, and continues bit
 * for bit from an image of it; damaged images are harmless. */
#include "server/author/scene_load.h"
#include "server/world/world.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/math/random.h"
#include "tests/determinism/world_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

enum {
#ifdef __SANITIZE_THREAD__ /* twenty times slower; only the threads are of interest */
    TICKS = 50,
    SAVED_AT = 25,
    FORGERIES = 20,
    FEWEST_THREADS = 2,
    MOST_THREADS = 2,
#elif defined(__SANITIZE_ADDRESS__)
    TICKS = 150,
    SAVED_AT = 75,
    FORGERIES = 300,
    FEWEST_THREADS = 3,
    MOST_THREADS = 3,
#else
    TICKS = 300,
    SAVED_AT = 150,
    FORGERIES = 600,
    FEWEST_THREADS = 2,
    MOST_THREADS = 4,
#endif
    FLIPS = 2000,
};

static Scene *scene;
/* One world with users, made once: its hashes, and its image after SAVED_AT ticks. */
static World *first_world;
static u64 first[TICKS];
static u8 *image;
static size_t bytes;

static World *fresh(Jobs *jobs)
{
    ErrorText error;
    World *world = world_create(scene, jobs, &error);
    assert_non_null(world);
    return world;
}

static void run(World *world, u32 from, u32 to, u64 hashes[TICKS])
{
    for (u32 i = from; i < to; i++) {
        Input inputs[SCRIPT_INPUTS_MAX];
        world_tick(world, inputs, script_inputs(i, inputs));
        hashes[i] = world_hash(world);
    }
}

/* A world that goes on from the image. */
static World *saved_world(void)
{
    ErrorText error;
    World *world = fresh(NULL);
    assert_int_equal(world_load(world, image, bytes, &error), 0);
    return world;
}

static void expect_first(const u64 *hashes, u32 from)
{
    for (u32 i = from; i < TICKS; i++) {
        if (hashes[i] != first[i]) {
            fail_msg("hashes differ from tick %u on", i + 1);
        }
    }
}

static void threads_do_not_matter(void **unused)
{
    PL_UNUSED(unused);
    u64 hashes[TICKS];
    for (u32 threads = FEWEST_THREADS; threads <= MOST_THREADS; threads++) {
        Jobs *jobs = jobs_create(threads);
        assert_non_null(jobs);
        World *world = fresh(jobs);
        run(world, 0, TICKS, hashes);
        expect_first(hashes, 0);
        WorldStats stats;
        world_stats(world, &stats);
        assert_true(stats.bodies_awake > 10 && stats.particles > 1000);
        world_destroy(world);
        jobs_destroy(jobs);
    }
}

static void script_has_an_effect(void **unused)
{
    PL_UNUSED(unused);
    World *world = fresh(NULL);
    for (u32 i = 0; i < TICKS; i++) {
        world_tick(world, NULL, 0);
    }
    assert_true(world_hash(world) != first[TICKS - 1]);
    world_destroy(world);
}

static void image_continues_bit_for_bit(void **unused)
{
    PL_UNUSED(unused);
    u64 rest[TICKS];
    World *other = fresh(NULL);
    ErrorText error;
    u64 made = clock_now_ns();
    assert_int_equal(world_load(other, image, bytes, &error), 0);
    printf("image of %zu bytes loaded in %.2f ms\n", bytes, (f64)(clock_now_ns() - made) / 1e6);
    assert_int_equal(world_tick_number(other), SAVED_AT);
    assert_int_equal(world_hash(other), first[SAVED_AT - 1]);
    run(other, SAVED_AT, TICKS, rest);
    expect_first(rest, SAVED_AT);
    /* The first world goes back in time, too. */
    assert_int_equal(world_load(first_world, image, bytes, &error), 0);
    run(first_world, SAVED_AT, TICKS, rest);
    expect_first(rest, SAVED_AT);
    /* Entities and fields are as before. */
    Frame *a = world_frame(first_world), *b = world_frame(other);
    assert_memory_equal(a->data, b->data, a->fields->frame_bytes);
    frame_release(a);
    frame_release(b);
    world_destroy(other);
}

/* The image is the same whatever memory there is for it: none, too little, just enough, more. */
static void image_fits_any_memory(void **unused)
{
    PL_UNUSED(unused);
    World *world = saved_world();
    const size_t rooms[] = {0,         1,         31,        32,    33,        100,
                            bytes / 3, bytes - 9, bytes - 1, bytes, bytes + 1, 2 * bytes};
    for (u32 i = 0; i < PL_COUNT(rooms); i++) {
        u8 *given = rooms[i] > 0 ? malloc(rooms[i]) : NULL, *other = given;
        size_t capacity = rooms[i], used = 0;
        assert_int_equal(world_save_into(world, &other, &capacity, &used), 0);
        assert_int_equal(used, bytes);
        assert_true(capacity >= bytes && (rooms[i] < bytes || other == given));
        assert_memory_equal(other, image, bytes);
        free(other);
    }
    world_destroy(world);
}

/* Loads an image into a world of this hash, which must be unchanged if the image is refused.
 * Returns true if it was loaded; *hash is then that of the new state. */
static bool try_image(World *world, const u8 *from, size_t count, u64 *hash)
{
    ErrorText error;
    int result = world_load(world, from, count, &error);
    u64 after = world_hash(world);
    if (result != 0) {
        assert_true(result < 0);
        assert_int_equal(after, *hash);
    }
    *hash = after;
    return result == 0;
}

static void damaged_images_are_refused(void **unused)
{
    PL_UNUSED(unused);
    World *world = saved_world();
    u64 hash = world_hash(world);
    for (size_t cut = 0; cut < bytes; cut += cut < 64 ? 1 : bytes / 40) {
        assert_false(try_image(world, image, cut, &hash));
    }
    for (u32 i = 0; i < FLIPS; i++) {
        size_t at = (u32)random_u64(11, i) % bytes;
        u8 mask = (u8)(1u << (u32)random_u64(12, i) % 8);
        image[at] ^= mask;
        assert_false(try_image(world, image, bytes, &hash));
        image[at] ^= mask;
    }
    assert_true(try_image(world, image, bytes, &hash));
    world_destroy(world);
}

/* The checksum follows magic, version, hashes of scene and layout; the body follows it. */
enum {
    CHECKSUM_AT = 24,
    BODY_AT = 32
};

static bool is_saved_as_image(const World *world)
{
    u8 *again;
    size_t again_bytes;
    assert_int_equal(world_save(world, &again, &again_bytes), 0);
    bool same = again_bytes == bytes && memcmp(again, image, bytes) == 0;
    free(again);
    return same;
}

/* Forged images: the checksum is correct, the state is not. */
static void forged_images_do_no_harm(void **unused)
{
    PL_UNUSED(unused);
    World *world = saved_world();
    u8 *forged = malloc(bytes);
    assert_non_null(forged);
    u32 loaded[2] = {0, 0}, changed = 0; /* of edits anywhere, and of edits of counts and ids */
    u64 hash = world_hash(world);
    for (u32 i = 0; i < FORGERIES; i++) {
        memcpy(forged, image, bytes);
        /* The first 2 KiB contain the counts and ids: half of the edits go there. */
        size_t range = i % 2 == 0 ? bytes - BODY_AT : 2048;
        forged[BODY_AT + (u32)random_u64(13, i) % range] ^= (u8)(1 + (u32)random_u64(14, i) % 255);
        u64 sum = hash_bytes(forged + BODY_AT, bytes - BODY_AT, 0);
        memcpy(forged + CHECKSUM_AT, &sum, sizeof sum);
        if (try_image(world, forged, bytes, &hash)) {
            loaded[i % 2]++;
            if (hash != first[SAVED_AT - 1]) {
                changed++;
            } else {
                /* A loaded image whose hash did not change was damaged where bytes have no
                 * meaning. */
                assert_true(is_saved_as_image(world));
            }
            u32 many = i % 50 == 0 ? 5 : 1;
            for (u32 t = 0; t < many; t++) {
                Input inputs[SCRIPT_INPUTS_MAX];
                world_tick(world, inputs, script_inputs(SAVED_AT + t, inputs));
            }
            frame_release(world_frame(world));
            hash = world_hash(world);
        }
    }
    printf("of %u forged images each %u were loaded with damage anywhere, %u with counts or ids "
           "damaged; %u were another world\n",
           FORGERIES / 2, loaded[0], loaded[1], changed);
    /* If all were refused, only the checksum would be tested; if all were loaded, no check. Most
     * bytes of an image belong to numbers with wide ranges. */
    if (FORGERIES >= 300) {
        f64 each = FORGERIES / 2.0;
        expect_within("share loaded, damage anywhere", loaded[0] / each, 0.6, 0.99);
        expect_within("share loaded, counts damaged", loaded[1] / each, 0.05, 0.9);
        expect_within("share of another world", changed / (f64)(loaded[0] + loaded[1]), 0.98, 1.0);
    }
    ErrorText error;
    assert_int_equal(world_load(world, image, bytes, &error), 0);
    assert_int_equal(world_hash(world), first[SAVED_AT - 1]);
    free(forged);
    world_destroy(world);
}

static int set_up(void **unused)
{
    PL_UNUSED(unused);
    ErrorText error;
    scene = scene_load("shared/scenes/playground.json", &error);
    if (scene == NULL) {
        return -1;
    }
    first_world = fresh(NULL);
    run(first_world, 0, SAVED_AT, first);
    assert_int_equal(world_save(first_world, &image, &bytes), 0);
    run(first_world, SAVED_AT, TICKS, first);
    return 0;
}

static int tear_down(void **unused)
{
    PL_UNUSED(unused);
    free(image);
    world_destroy(first_world);
    scene_destroy(scene);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_matter),       cmocka_unit_test(script_has_an_effect),
        cmocka_unit_test(image_continues_bit_for_bit), cmocka_unit_test(image_fits_any_memory),
        cmocka_unit_test(damaged_images_are_refused),  cmocka_unit_test(forged_images_do_no_harm),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
