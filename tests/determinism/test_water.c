/* test_water.c: waves and shallow water evolve bit for bit alike for any number of threads. */
#include "server/physics/grid/shallow.h"
#include "server/physics/grid/wave.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/near.h"

enum {
    NX = 150,
    NZ = 170,
    TICKS = 90
};

/* A dam break over bumps and dry ground, much of it asleep at first. */
static u64 shallow_hash(u32 threads)
{
    static f32 bed[NX * NZ];
    ShallowDef def = shallow_def_default();
    def.size[0] = NX;
    def.size[1] = NZ;
    def.friction = 0.003f;
    Shallow *shallow = shallow_create(&def, NULL);
    for (u32 c = 0; c < NX * NZ; c++) {
        bed[c] = 0.01f * (f32)((c * 2654435761u) >> 26);
        shallow_set(shallow, c % NX, c / NX, c % NX < 60 ? 1.0f : 0.0f, 0.0f, 0.0f);
    }
    shallow_set_bed(shallow, bed);
    Jobs *jobs = jobs_create(threads);
    for (u32 t = 0; t < TICKS; t++) {
        shallow_step(shallow, 1.0f / 60.0f, 9.81f, jobs);
    }
    State state = {.mode = STATE_HASH};
    shallow_serialize(shallow, &state);
    jobs_destroy(jobs);
    shallow_destroy(shallow);
    return state.hash;
}

static u64 wave_hash(u32 threads)
{
    WaveDef def = wave_def_default();
    def.size[0] = NX;
    def.size[1] = NZ;
    def.border[1] = WATER_ABSORBING;
    Wave *wave = wave_create(&def, NULL);
    Jobs *jobs = jobs_create(threads);
    for (u32 t = 0; t < TICKS; t++) {
        wave_add(wave, t, t, 0.1f, 0.5f);
        wave_step(wave, 1.0f / 60.0f, 9.81f, jobs);
    }
    State state = {.mode = STATE_HASH};
    wave_serialize(wave, &state);
    jobs_destroy(jobs);
    wave_destroy(wave);
    return state.hash;
}

static void threads_change_nothing(void **state)
{
    PL_UNUSED(state);
    u64 shallow = shallow_hash(1), wave = wave_hash(1);
    for (u32 threads = 2; threads <= 5; threads += 3) {
        expect_bits("shallow water", shallow_hash(threads), shallow);
        expect_bits("waves", wave_hash(threads), wave);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
