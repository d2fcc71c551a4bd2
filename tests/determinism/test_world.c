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
    TICKS = 75,
    SAVED_AT = 50,
    FORGERIES = 20,
#elif defined(__SANITIZE_ADDRESS__)
    TICKS = 300,
    SAVED_AT = 150,
    FORGERIES = 300,
#else
    TICKS = 300,
    SAVED_AT = 150,
    FORGERIES = 600,
#endif
    FLIPS = 2000,
};

static Scene *scene;

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

static void expect_equal(const u64 *a, const u64 *b, u32 from)
{
    for (u32 i = from; i < TICKS; i++) {
        if (a[i] != b[i]) {
            fail_msg("hashes differ from tick %u on", i + 1);
        }
    }
}

static void threads_do_not_matter(void **unused)
{
    PL_UNUSED(unused);
    u64 first[TICKS], hashes[TICKS];
    for (u32 threads = 1; threads <= 4; threads++) {
        Jobs *jobs = jobs_create(threads);
        assert_non_null(jobs);
        World *world = fresh(jobs);
        run(world, 0, TICKS, threads == 1 ? first : hashes);
        if (threads > 1) {
            expect_equal(first, hashes, 0);
        }
        WorldStats stats;
        world_stats(world, &stats);
        assert_true(stats.bodies_awake > 10 && stats.particles > 1000);
        world_destroy(world);
        jobs_destroy(jobs);
    }
    /* The script has an effect. */
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
    u64 whole[TICKS], rest[TICKS];
    World *world = fresh(NULL);
    run(world, 0, SAVED_AT, whole);
    u8 *image;
    size_t bytes;
    u64 start = clock_now_ns();
    assert_int_equal(world_save(world, &image, &bytes), 0);
    u64 saved = clock_now_ns();
    run(world, SAVED_AT, TICKS, whole);
    u64 loading = clock_now_ns();
    World *other = fresh(NULL);
    ErrorText error;
    u64 made = clock_now_ns();
    assert_int_equal(world_load(other, image, bytes, &error), 0);
    printf("image of %zu bytes: saved in %.2f ms, loaded in %.2f ms (a fresh world: %.2f ms)\n",
           bytes, (double)(saved - start) / 1e6, (double)(clock_now_ns() - made) / 1e6,
           (double)(made - loading) / 1e6);
    assert_int_equal(world_tick_number(other), SAVED_AT);
    assert_int_equal(world_hash(other), whole[SAVED_AT - 1]);
    run(other, SAVED_AT, TICKS, rest);
    expect_equal(whole, rest, SAVED_AT);
    /* The first world goes back in time, too. */
    assert_int_equal(world_load(world, image, bytes, &error), 0);
    run(world, SAVED_AT, TICKS, rest);
    expect_equal(whole, rest, SAVED_AT);
    /* Entities and fields are as before. */
    Frame *a = world_frame(world), *b = world_frame(other);
    assert_memory_equal(a->data, b->data, a->fields->frame_bytes);
    frame_release(a);
    frame_release(b);
    free(image);
    world_destroy(world);
    world_destroy(other);
}

/* The image is the same whatever memory there is for it: none, too little, just enough, more. */
static void image_fits_any_memory(void **unused)
{
    PL_UNUSED(unused);
    u64 hashes[TICKS];
    World *world = fresh(NULL);
    run(world, 0, SAVED_AT, hashes);
    u8 *image;
    size_t bytes;
    assert_int_equal(world_save(world, &image, &bytes), 0);
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
    free(image);
    world_destroy(world);
}

/* Loads an image into a world of this hash, which must be unchanged if the image is refused.
 * Returns true if it was loaded; *hash is then that of the new state. */
static bool try_image(World *world, const u8 *image, size_t bytes, u64 *hash)
{
    ErrorText error;
    int result = world_load(world, image, bytes, &error);
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
    u64 hashes[TICKS];
    World *world = fresh(NULL);
    run(world, 0, SAVED_AT, hashes);
    u8 *image;
    size_t bytes;
    assert_int_equal(world_save(world, &image, &bytes), 0);
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
    free(image);
    world_destroy(world);
}

/* The checksum follows magic, version, hashes of scene and layout; the body follows it. */
enum {
    CHECKSUM_AT = 24,
    BODY_AT = 32
};

static bool is_saved_as(const World *world, const u8 *image, size_t bytes)
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
    u64 hashes[TICKS];
    World *world = fresh(NULL);
    run(world, 0, SAVED_AT, hashes);
    u8 *image;
    size_t bytes;
    assert_int_equal(world_save(world, &image, &bytes), 0);
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
            if (hash != hashes[SAVED_AT - 1]) {
                changed++;
            } else {
                /* A loaded image whose hash did not change was damaged where bytes have no
                 * meaning. */
                assert_true(is_saved_as(world, image, bytes));
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
    assert_int_equal(world_hash(world), hashes[SAVED_AT - 1]);
    free(forged);
    free(image);
    world_destroy(world);
}

static int load_scene(void **unused)
{
    PL_UNUSED(unused);
    ErrorText error;
    scene = scene_load("shared/scenes/playground.json", &error);
    return scene != NULL ? 0 : -1;
}

static int drop_scene(void **unused)
{
    PL_UNUSED(unused);
    scene_destroy(scene);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_matter),    cmocka_unit_test(image_continues_bit_for_bit),
        cmocka_unit_test(image_fits_any_memory),    cmocka_unit_test(damaged_images_are_refused),
        cmocka_unit_test(forged_images_do_no_harm),
    };
    return cmocka_run_group_tests(tests, load_scene, drop_scene);
}
