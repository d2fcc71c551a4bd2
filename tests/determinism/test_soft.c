/* test_soft.c: soft bodies of every kind evolve bit for bit alike with any number of threads, and
 * from an image taken in mid-run. */
#include "tests/determinism/soft_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum {
    TICKS = SANITIZED ? 20 : 60,
    SAVED_AT = 12
};

static void run(SoftWorld *world, u32 first, Jobs *jobs, u64 hashes[TICKS])
{
    for (u32 i = first; i < TICKS; i++) {
        soft_world_tick(world, i, jobs);
        hashes[i] = soft_world_hash(world);
    }
}

static void expect_same(const u64 a[TICKS], const u64 b[TICKS], u32 first)
{
    for (u32 i = first; i < TICKS; i++) {
        if (a[i] != b[i]) {
            fail_msg("states differ from tick %u on", i);
        }
    }
}

static void threads_do_not_matter(void **unused)
{
    PL_UNUSED(unused);
    static const u32 threads[] = {1, 2, 4, 8};
    u64 first[TICKS], hashes[TICKS];
    for (u32 i = 0; i < PL_COUNT(threads); i++) {
        Jobs *jobs = jobs_create(threads[i]);
        SoftWorld world = soft_world_create();
        run(&world, 0, jobs, i == 0 ? first : hashes);
        if (i > 0) {
            expect_same(first, hashes, 0);
        }
        for (u32 p = 0; p < soft_particles(world.soft); p++) {
            assert_true(vec3_is_finite(soft_position(world.soft, p)));
            assert_true(fabsf(soft_position(world.soft, p).x) < 20.0f);
        }
        soft_world_destroy(&world);
        jobs_destroy(jobs);
    }
}

static void image_continues_bit_for_bit(void **unused)
{
    PL_UNUSED(unused);
    u64 whole[TICKS], rest[TICKS];
    SoftWorld world = soft_world_create();
    for (u32 i = 0; i < SAVED_AT; i++) {
        soft_world_tick(&world, i, NULL);
    }
    State count = {.mode = STATE_COUNT};
    soft_world_serialize(&world, &count);
    u8 *image = calloc(1, count.used);
    assert_non_null(image);
    State save = {.mode = STATE_SAVE, .data = image, .bytes = count.used};
    soft_world_serialize(&world, &save);
    assert_false(save.failed);
    run(&world, SAVED_AT, NULL, whole);
    /* Into a new world, and back in time in the first. */
    SoftWorld other = soft_world_create();
    SoftWorld *const worlds[] = {&other, &world};
    for (u32 i = 0; i < PL_COUNT(worlds); i++) {
        State load = {.mode = STATE_LOAD, .data = image, .bytes = count.used};
        soft_world_serialize(worlds[i], &load);
        assert_false(load.failed);
        run(worlds[i], SAVED_AT, NULL, rest);
        expect_same(whole, rest, SAVED_AT);
    }
    free(image);
    soft_world_destroy(&other);
    soft_world_destroy(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_do_not_matter),
                                       cmocka_unit_test(image_continues_bit_for_bit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
