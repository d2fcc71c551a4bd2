/* test_smoke_open.c: air that crosses open sides brings no energy: eddies in an open box only lose
 * it, and a plume rises no faster than its buoyancy lets it, however long it burns. */
#include "server/physics/grid/smoke.h"
#include "shared/math/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum {
    BOXES = SANITIZED ? 4 : 24,
    PLUMES = SANITIZED ? 2 : 8,
    BOX_TICKS = 240,
    PLUME_TICKS = 900,
};

static const f32 tick_s = 1.0f / 60.0f;

static f32 draw(u64 *draws, f32 low, f32 high)
{
    return random_range(1507, (*draws)++, low, high);
}

/* A grid of 16 to 40 cells a side; each side is open, but for every third one. */
static SmokeDef box(u64 *draws, u32 dims)
{
    SmokeDef def = smoke_default();
    def.dims = dims;
    def.spacing = draw(draws, 0.02f, 0.2f);
    def.low = vec3(0.0f, 0.0f, 0.0f);
    for (u32 a = 0; a < 3; a++) {
        def.cells[a] = a < dims ? (u32)draw(draws, 16.0f, dims == 2 ? 41.0f : 25.0f) : 1;
    }
    for (u32 s = 0; s < 2 * dims; s++) {
        def.sides[s].kind = draw(draws, 0.0f, 3.0f) < 2.0f ? SMOKE_OPEN : SMOKE_CLOSED;
        def.sides[s].slips = true;
    }
    def.options.viscosity = 0.0f;
    return def;
}

/* Random velocities in blocks of 4 cells. */
static void stir(Smoke *smoke, u64 *draws, f32 speed)
{
    const SmokeDef *def = smoke_def(smoke);
    u64 first = *draws;
    for (u32 z = 0; z < def->cells[2]; z++) {
        for (u32 y = 0; y < def->cells[1]; y++) {
            for (u32 x = 0; x < def->cells[0]; x++) {
                for (u32 c = 0; c < def->dims; c++) {
                    u64 block = ((z / 4 * 16 + y / 4) * 16 + x / 4) * 3 + c;
                    smoke_set_velocity(smoke, c, x, y, z,
                                       random_range(1508, first + block, -speed, speed));
                }
            }
        }
    }
    *draws += 16 * 16 * 16 * 3;
}

static void eddies_only_lose_energy(void **state)
{
    PL_UNUSED(state);
    u64 draws = 0;
    for (u32 i = 0; i < BOXES; i++) {
        SmokeDef def = box(&draws, i % 4 == 3 ? 3 : 2);
        Smoke *smoke = smoke_create(&def, NULL);
        assert_non_null(smoke);
        /* From a tenth of a cell to three cells a tick. */
        stir(smoke, &draws, draw(&draws, 0.1f, 3.0f) * def.spacing / tick_s);
        smoke_step(smoke, tick_s, vec3(0, 0, 0), NULL, 0, NULL);
        f64 start = smoke_sums(smoke).kinetic, least = start, rise = 0.0;
        for (u32 t = 0; t < BOX_TICKS; t++) {
            smoke_step(smoke, tick_s, vec3(0, 0, 0), NULL, 0, NULL);
            f64 kinetic = smoke_sums(smoke).kinetic;
            least = fmin(least, kinetic);
            rise = fmax(rise, kinetic - least);
        }
        if (rise > 1e-3 * start || smoke_sums(smoke).kinetic > 0.5 * start) {
            fail_msg("box %u: kinetic energy rose by %.3g J from %.3g J, and is %.3g J", i, rise,
                     start, smoke_sums(smoke).kinetic);
        }
        smoke_destroy(smoke);
    }
}

/* A parcel that is `warm` all the way up the grid gains sqrt(2 g buoyancy warm height). Confinement
 * drives eddies; they add to that. */
static void plumes_stay_as_fast_as_buoyancy(void **state)
{
    PL_UNUSED(state);
    u64 draws = 0;
    for (u32 i = 0; i < PLUMES; i++) {
        SmokeDef def = box(&draws, i % 3 == 0 ? 3 : 2);
        def.sides[2].kind = SMOKE_CLOSED;
        def.sides[3].kind = SMOKE_OPEN;
        def.options.cooling = draw(&draws, 0.0f, 1.0f);
        def.options.vorticity = i % 2 == 0 ? 0.0f : draw(&draws, 0.1f, 0.5f);
        Smoke *smoke = smoke_create(&def, NULL);
        assert_non_null(smoke);
        f32 wide = def.spacing * (f32)def.cells[0], high = def.spacing * (f32)def.cells[1];
        f32 deep = def.dims == 3 ? def.spacing * (f32)def.cells[2] : 0.0f;
        SmokeSource source = {.position = vec3(0.5f * wide, 0.12f * high, 0.5f * deep),
                              .radius = draw(&draws, 2.0f, 4.0f) * def.spacing,
                              .smoke = 1.0f,
                              .heat = 5000.0f,
                              .warmest = draw(&draws, 50.0f, 600.0f)};
        smoke_set_sources(smoke, &source, 1);
        f64 fastest = 0.0,
            rises = sqrt(2.0 * 9.81 * (f64)def.options.buoyancy * (f64)source.warmest * (f64)high);
        for (u32 t = 0; t < PLUME_TICKS; t++) {
            smoke_step(smoke, tick_s, vec3(0.0f, -9.81f, 0.0f), NULL, 0, NULL);
            fastest = fmax(fastest, smoke_sums(smoke).speed);
        }
        if (fastest > 1.3 * rises || fastest < 0.2 * rises) {
            fail_msg("plume %u: %.3g m/s, where buoyancy gives %.3g m/s", i, fastest, rises);
        }
        smoke_destroy(smoke);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(eddies_only_lose_energy),
                                       cmocka_unit_test(plumes_stay_as_fast_as_buoyancy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
