/* test_liquid.c: liquids go the same way, bit for bit, with any number of threads. */
#include "tests/support/liquid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/near.h"

enum {
    SIDE = 12 /* spacings */
};
#ifdef __SANITIZE_THREAD__       /* twenty times slower; races show with two threads */
static const f32 seconds = 0.4f; /* the ball strikes after 0.2 s */
static const u32 most_threads = 2;
#else
static const f32 seconds = 1.2f;
static const u32 most_threads = 4;
#endif
static const f32 spacing = 0.02f;

/* A ball falls into a tank. */
static u64 hash_with_threads(u32 threads)
{
    LiquidDef water = liquid_kit_water(spacing, SIDE * SIDE * SIDE);
    LiquidKit kit = liquid_kit_make(&water, 9.81f);
    f32 side = SIDE * spacing;
    liquid_kit_tank(&kit, vec3(side, 3.0f * side, side));
    liquid_kit_fill(&kit, 0, vec3_zero(), SIDE, SIDE, SIDE);
    kit.jobs = jobs_create(threads);
    BodyDef ball = kit_ball(vec3(0.5f * side, 0.5f, 0.5f * side), 0.06f);
    kit_add(kit.rigid, &ball);
    liquid_kit_run(&kit, seconds);
    u64 hash = liquid_kit_hash(&kit);
    jobs_destroy(kit.jobs);
    liquid_kit_free(&kit);
    return hash;
}

static void threads_change_nothing(void **state)
{
    PL_UNUSED(state);
    u64 one = hash_with_threads(1);
    for (u32 threads = 2; threads <= most_threads; threads *= 2) {
        expect_bits("more threads", hash_with_threads(threads), one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_change_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
