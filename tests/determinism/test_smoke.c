/* test_smoke.c: air evolves bit for bit alike with any number of threads and after a save. */
#include "server/physics/grid/smoke.h"
#include "server/physics/rigid/collider.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/near.h"

enum {
#ifdef __SANITIZE_THREAD__ /* twenty times slower; races show with two threads */
    TICKS = 4,
    MOST_THREADS = 2,
#else
    TICKS = 8,
    MOST_THREADS = 4,
#endif
};

static Smoke *fire(u32 dims, SmokePressure pressure)
{
    SmokeDef def = smoke_default();
    def.dims = dims;
    def.cells[0] = 28;
    def.cells[1] = 34;
    def.cells[2] = 21;
    def.spacing = 0.03f;
    def.sides[3].kind = SMOKE_OPEN;
    def.options.pressure = pressure;
    def.options.vorticity = 0.3f;
    def.options.expansion = 0.5f;
    def.options.ignition = 100.0f;
    Smoke *smoke = smoke_create(&def, NULL);
    assert_non_null(smoke);
    SmokeSource source = {.position = vec3(0.44f, 0.1f, 0.36f),
                          .radius = 0.08f,
                          .smoke = 1.0f,
                          .fuel = 2.0f,
                          .heat = 2000.0f,
                          .warmest = 400.0f};
    smoke_set_sources(smoke, &source, 1);
    return smoke;
}

static u64 hash_of(Smoke *smoke)
{
    State state = {.mode = STATE_HASH};
    smoke_serialize(smoke, &state);
    return state.hash;
}

static void run(Smoke *smoke, RigidCollider *bodies, Jobs *jobs, u32 ticks)
{
    Collider collider = {&rigid_collider_ops, bodies};
    for (u32 t = 0; t < ticks; t++) {
        collider.ops->begin(collider.of, jobs, 1.0f / 60.0f);
        smoke_step(smoke, 1.0f / 60.0f, vec3(0.0f, -9.81f, 0.0f), &collider, 1, jobs);
    }
}

static u64 hash_with_threads(u32 dims, SmokePressure pressure, u32 threads, bool saved)
{
    Smoke *smoke = fire(dims, pressure);
    Jobs *jobs = jobs_create(threads);
    Rigid *rigid = kit_world(2, 4, 0.0f);
    BodyDef ball = kit_ball(vec3(0.42f, 0.3f, 0.34f), 0.12f);
    kit_add(rigid, &ball);
    RigidCollider bodies = {.rigid = rigid};
    run(smoke, &bodies, jobs, TICKS);
    if (saved) {
        State state = {.mode = STATE_COUNT};
        smoke_serialize(smoke, &state);
        u8 *image = malloc(state.used);
        assert_non_null(image);
        state = (State){.mode = STATE_SAVE, .data = image, .bytes = state.used};
        smoke_serialize(smoke, &state);
        Smoke *other = fire(dims, pressure);
        state = (State){.mode = STATE_LOAD, .data = image, .bytes = state.used};
        smoke_serialize(other, &state);
        assert_false(state.failed);
        free(image);
        smoke_destroy(smoke);
        smoke = other;
    }
    run(smoke, &bodies, jobs, TICKS);
    assert_null(smoke_validate(smoke));
    u64 hash = hash_of(smoke);
    smoke_destroy(smoke);
    rigid_collider_finish(&bodies);
    rigid_destroy(rigid);
    jobs_destroy(jobs);
    return hash;
}

static void threads_change_nothing(void **state)
{
    PL_UNUSED(state);
    for (u32 dims = 2; dims <= 3; dims++) {
        for (u32 method = 0; method < SMOKE_PRESSURE_COUNT; method++) {
            u64 one = hash_with_threads(dims, (SmokePressure)method, 1, false);
            for (u32 threads = 2; threads <= MOST_THREADS; threads *= 2) {
                expect_bits("more threads",
                            hash_with_threads(dims, (SmokePressure)method, threads, false), one);
            }
            expect_bits("saved", hash_with_threads(dims, (SmokePressure)method, 2, true), one);
        }
    }
}

/* A plume most of whose bricks sleep, saved in every tick: each copy evolves alike. */
static void sleeping_bricks_are_saved(void **state)
{
    PL_UNUSED(state);
    for (u32 k = 0; k < 6; k++) {
        SmokeDef def = smoke_default();
        def.dims = 2 + k % 2;
        def.cells[0] = 48;
        def.cells[1] = 56;
        def.cells[2] = 40;
        def.spacing = 0.05f;
        def.sides[0].kind = def.sides[1].kind = k < 4 ? SMOKE_CLOSED : SMOKE_PERIODIC;
        def.sides[3].kind = k < 2 ? SMOKE_CLOSED : SMOKE_OPEN;
        def.options.viscosity = k == 2 ? 0.5f : 1e-4f;
        SmokeSource source = {.position = vec3(0.5f, 0.4f, 1.0f),
                              .radius = 0.15f,
                              .smoke = 1.0f,
                              .heat = 400.0f,
                              .warmest = 60.0f};
        Smoke *one = smoke_create(&def, NULL), *other = smoke_create(&def, NULL);
        assert_true(one != NULL && other != NULL);
        smoke_set_sources(one, &source, 1);
        smoke_set_sources(other, &source, 1);
        for (u32 t = 0; t < 40; t++) {
            State counted = {.mode = STATE_COUNT};
            smoke_serialize(one, &counted);
            u8 *image = malloc(counted.used);
            assert_non_null(image);
            State saved = {.mode = STATE_SAVE, .data = image, .bytes = counted.used};
            smoke_serialize(one, &saved);
            State loaded = {.mode = STATE_LOAD, .data = image, .bytes = counted.used};
            smoke_serialize(other, &loaded);
            assert_false(loaded.failed);
            free(image);
            smoke_step(one, 1.0f / 60.0f, vec3(0.0f, -9.81f, 0.0f), NULL, 0, NULL);
            smoke_step(other, 1.0f / 60.0f, vec3(0.0f, -9.81f, 0.0f), NULL, 0, NULL);
            expect_bits("a tick after a save", hash_of(other), hash_of(one));
        }
        SmokeStats stats = smoke_stats(one);
        assert_true(stats.awake > 0 && stats.awake < stats.bricks);
        smoke_destroy(one);
        smoke_destroy(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_change_nothing),
                                       cmocka_unit_test(sleeping_bricks_are_saved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
