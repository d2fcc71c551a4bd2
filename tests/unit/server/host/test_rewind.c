/* test_rewind.c: images to rewind to: the newest at or before a tick, no more than fit, none later
 * than the tick rewound to. */
#include "server/host/rewind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    RATE = 60 /* ticks a second */
};

static void keep(Rewind *rewind, u64 tick, size_t bytes)
{
    u8 *image = calloc(1, bytes);
    assert_non_null(image);
    image[0] = (u8)tick;
    bool kept = rewind_keep(rewind,
                            &(RewindImage){.world_tick = tick,
                                           .tick = tick + 1000,
                                           .image = image,
                                           .bytes = bytes,
                                           .capacity = bytes},
                            RATE);
    assert_int_equal(kept, rewind->images != NULL && bytes <= rewind->bytes_max);
}

static void expect(const Rewind *rewind, u64 at, u64 tick)
{
    const RewindImage *image = rewind_at(rewind, at);
    assert_non_null(image);
    assert_int_equal(image->world_tick, tick);
    assert_int_equal(image->tick, tick + 1000);
    assert_int_equal(image->image[0], (u8)tick);
}

static void test_finds(void **state)
{
    PL_UNUSED(state);
    Rewind rewind;
    assert_true(rewind_init(&rewind, 4, 1000));
    assert_null(rewind_at(&rewind, 100));
    assert_int_equal(rewind_oldest(&rewind, 77), 77);
    for (u64 tick = 10; tick <= 60; tick += 10) { /* the ring goes around */
        keep(&rewind, tick, 10);
    }
    assert_int_equal(rewind.count, 4);
    assert_int_equal(rewind_oldest(&rewind, 77), 30);
    assert_int_equal(rewind_newest(&rewind), 60);
    assert_null(rewind_at(&rewind, 29));
    expect(&rewind, 30, 30);
    expect(&rewind, 49, 40);
    expect(&rewind, 500, 60);
    rewind_cut(&rewind, 45); /* the world is at 45 again */
    expect(&rewind, 500, 40);
    keep(&rewind, 50, 10);
    keep(&rewind, 55, 10);
    keep(&rewind, 58, 10);
    assert_int_equal(rewind.count, 4);
    assert_int_equal(rewind.bytes, 40);
    expect(&rewind, 51, 50);
    expect(&rewind, 45, 40);
    rewind_cut(&rewind, 0);
    assert_int_equal(rewind.bytes, 0);
    rewind_finish(&rewind);
}

/* The memory is bounded whatever the images' sizes. */
static void test_bounded(void **state)
{
    PL_UNUSED(state);
    Rewind rewind;
    assert_true(rewind_init(&rewind, 100, 1000));
    for (u64 i = 1; i <= 500; i++) {
        size_t bytes = 1 + (size_t)(i * 7919 % 400);
        keep(&rewind, i, bytes);
        u64 all = 0;
        for (u32 k = 0; k < rewind.count; k++) {
            all += rewind.images[(rewind.first + k) % rewind.images_max].bytes;
        }
        assert_int_equal(rewind.bytes, all);
        assert_true(all <= 1000 && rewind.count >= 1);
        expect(&rewind, i, i);
    }
    keep(&rewind, 501, 1001); /* never fits: what there is stays */
    expect(&rewind, 501, 500);
    rewind_finish(&rewind);
    assert_true(rewind_init(&rewind, 0, 1000)); /* nothing is kept */
    keep(&rewind, 1, 1);
    assert_null(rewind_at(&rewind, 1));
    rewind_finish(&rewind);
}

/* As a source does it: images of a size that changes go to memory that was written to before, and
 * once the ring is full it goes round: nothing is allocated while the size stays. */
static void test_spare(void **state)
{
    PL_UNUSED(state);
    enum {
        TICKS = 10
    };
    Rewind rewind;
    assert_true(rewind_init(&rewind, 3, 1 << 20));
    u32 fits = 0;
    const void *seen[4] = {0}; /* the memory of three images and the spare */
    for (u64 i = 0; i < 100; i++) {
        size_t bytes = i < 50 ? 20000 + 100 * (size_t)i : 25000;
        for (u32 left = TICKS; left > 0; left--) {
            rewind_prepare(&rewind, left);
        }
        RewindImage image = {.world_tick = i + 1};
        rewind_take_spare(&rewind, &image);
        assert_true(i == 0 || image.image != NULL);
        if (image.capacity >= bytes) {
            fits++;
        } else {
            free(image.image);
            image.image = malloc(bytes);
            image.capacity = bytes;
        }
        assert_non_null(image.image);
        image.bytes = bytes;
        image.image[0] = (u8)(i + 1);
        if (i >= 80) {
            bool known = false;
            for (u32 k = 0; k < 4; k++) {
                known = known || seen[k] == image.image;
            }
            assert_true(known);
        } else if (i >= 76) {
            seen[i - 76] = image.image;
        }
        assert_true(rewind_keep(&rewind, &image, RATE));
        assert_int_equal(rewind_at(&rewind, i + 1)->image[0], (u8)(i + 1));
    }
    assert_true(fits >= 90);
    /* A world that shrank does not keep the memory of a large one. */
    keep(&rewind, 101, 100);
    rewind_prepare(&rewind, 1);
    RewindImage image = {0};
    rewind_take_spare(&rewind, &image);
    assert_true(image.capacity >= 100 && image.capacity < 300);
    free(image.image);
    rewind_finish(&rewind);
}

/* One a second; after one that does not fit none for a minute, unless the world becomes another. */
static void test_when(void **state)
{
    PL_UNUSED(state);
    Rewind rewind;
    assert_true(rewind_init(&rewind, 10, 1000));
    assert_int_equal(rewind_wait(&rewind, 0, RATE), 0);
    assert_int_equal(rewind_wait(&rewind, 77, RATE), 0);
    keep(&rewind, 77, 10);
    assert_int_equal(rewind_wait(&rewind, 77, RATE), 60);
    assert_int_equal(rewind_wait(&rewind, 100, RATE), 37);
    assert_int_equal(rewind_wait(&rewind, 137, RATE), 0);
    keep(&rewind, 137, 1001);
    assert_int_equal(rewind_wait(&rewind, 137, RATE), 3600);
    assert_int_equal(rewind_wait(&rewind, 3736, RATE), 1);
    assert_int_equal(rewind_wait(&rewind, 3737, RATE), 0);
    keep(&rewind, 3737, 1000);
    assert_int_equal(rewind_wait(&rewind, 3737, RATE), 60);
    /* The next one's memory is never more than the ring allows, so that it fits if it can. */
    rewind_prepare(&rewind, 1);
    RewindImage image = {.world_tick = 3797, .bytes = 1000};
    rewind_take_spare(&rewind, &image);
    assert_true(image.capacity == 1000);
    assert_true(rewind_keep(&rewind, &image, RATE));
    keep(&rewind, 3857, 2000);
    rewind_cut(&rewind, 3800);
    assert_int_equal(rewind_wait(&rewind, 3800, RATE), 57);
    keep(&rewind, 3857, 2000);
    rewind_clear(&rewind);
    assert_int_equal(rewind_wait(&rewind, 5, RATE), 0);
    rewind_finish(&rewind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_spare),
        cmocka_unit_test(test_when),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
