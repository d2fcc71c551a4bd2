/* test_smoke_taken.c: where the momentum of air goes: walls that slide, ceilings above warm air,
 * walls that a fan blows at, open sides; that nothing is left out, whatever sides and options. */
#include "server/physics/grid/smoke.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const f32 tick_s = 1.0f / 60.0f;

static Smoke *create(const SmokeDef *def)
{
    ErrorText error = {.text = ""};
    Smoke *smoke = smoke_create(def, &error);
    if (smoke == NULL) {
        fail_msg("%s", error.text);
    }
    return smoke;
}

static void step(Smoke *smoke, f32 gravity)
{
    smoke_step(smoke, tick_s, vec3(0.0f, -gravity, 0.0f), NULL, 0, NULL);
}

static f64 of_sides(const SmokeTaken *taken, u32 axis)
{
    f64 sum = 0.0;
    for (u32 s = 0; s < SMOKE_SIDES; s++) {
        sum += taken->sides[s][axis];
    }
    return sum;
}

static f64 all_of(const SmokeTaken *taken, u32 axis)
{
    return of_sides(taken, axis) + taken->obstacles[axis] + taken->matter[axis] +
           taken->forces[axis] + taken->sources[axis] + taken->flow[axis];
}

static void expect_near(const char *what, f64 got, f64 expected, f64 within)
{
    print_message("%s: %.6g, expected %.6g\n", what, got, expected);
    if (!(fabs(got - expected) <= within)) {
        fail_msg("%s: %.6g, expected %.6g within %.2g", what, got, expected, within);
    }
}

/* Couette: between a wall at rest and one that slides at U, h apart, friction is rho nu U / h. */
static void walls_take_friction(void **state)
{
    PL_UNUSED(state);
    static const f32 viscosities[] = {0.01f, 1.0f}; /* explicit and implicit */
    for (u32 i = 0; i < PL_COUNT(viscosities); i++) {
        SmokeDef def = smoke_default();
        def.cells[0] = 16;
        def.cells[1] = 20;
        def.spacing = 0.05f;
        def.depth = 0.4f;
        def.awake = true;
        def.sides[0].kind = def.sides[1].kind = SMOKE_PERIODIC;
        def.sides[3].velocity = vec3(2.0f, 0.0f, 0.0f);
        def.options.viscosity = viscosities[i];
        Smoke *smoke = create(&def);
        for (u32 x = 0; x < 16; x++) {
            for (u32 y = 0; y < 20; y++) {
                smoke_set_velocity(smoke, 0, x, y, 0, 2.0f * ((f32)y + 0.5f) / 20.0f);
            }
        }
        for (u32 t = 0; t < 120; t++) {
            step(smoke, 0.0f);
        }
        SmokeTaken taken = smoke_taken(smoke);
        f64 force = 1.2 * (f64)viscosities[i] * 2.0 / 1.0 * (0.8 * 0.4);
        expect_near("floor, N", taken.sides[2][0] / (f64)tick_s, force, 2e-3 * force);
        expect_near("lid, N", taken.sides[3][0] / (f64)tick_s, -force, 2e-3 * force);
        smoke_destroy(smoke);
    }
}

/* Warm air at rest: its lift is the ceiling's, that of the half cells at floor and ceiling but. */
static void ceilings_take_lift(void **state)
{
    PL_UNUSED(state);
    SmokeDef def = smoke_default();
    def.dims = 3;
    def.cells[0] = 13;
    def.cells[1] = 18;
    def.cells[2] = 10;
    def.spacing = 0.1f;
    def.awake = true;
    def.options.tolerance = 1e-6f;
    Smoke *smoke = create(&def);
    for (u32 i = 0; i < 13 * 18 * 10; i++) {
        smoke_set(smoke, SMOKE_TEMPERATURE, i % 13, i / 13 % 18, i / (13 * 18), 30.0f);
    }
    step(smoke, 9.81f);
    step(smoke, 9.81f);
    SmokeTaken taken = smoke_taken(smoke);
    f64 lift = 1.2 * 0.0034 * 30.0 * 9.81 * (1.3 * 1.7 * 1.0);
    expect_near("ceiling and floor, N", of_sides(&taken, 1) / (f64)tick_s, lift, 1e-3 * lift);
    expect_near("gravity, N", -taken.forces[1] / (f64)tick_s, lift, 1e-4 * lift);
    smoke_destroy(smoke);
}

/* A fan in a closed room: on average the walls take its momentum, not the steps of transport. */
static void walls_take_what_fans_give(void **state)
{
    PL_UNUSED(state);
    SmokeDef def = smoke_default();
    def.dims = 3;
    def.cells[0] = 40;
    def.cells[1] = def.cells[2] = 24;
    def.spacing = 0.05f;
    def.awake = true;
    Smoke *smoke = create(&def);
    SmokeSource fan = {.position = vec3(0.5f, 0.6f, 0.6f),
                       .radius = 0.2f,
                       .velocity = vec3(3.0f, 0.0f, 0.0f),
                       .blow = 20.0f};
    smoke_set_sources(smoke, &fan, 1);
    f64 gave = 0.0, walls = 0.0, flow = 0.0;
    for (u32 t = 0; t < 300; t++) {
        step(smoke, 0.0f);
        SmokeTaken taken = smoke_taken(smoke);
        gave -= taken.sources[0];
        walls += of_sides(&taken, 0);
        flow += taken.flow[0];
    }
    print_message("transport %.2f %% of what the fan gave\n", 100.0 * flow / gave);
    expect_near("walls of the fan's", walls / gave, 1.0, 0.15);
    smoke_destroy(smoke);
}

/* Air blown in at U and let out at the other end: what flows out is what flowed in, less what the
 * wall that blows it takes as pressure. */
static void open_sides_let_out(void **state)
{
    PL_UNUSED(state);
    SmokeDef def = smoke_default();
    def.cells[0] = 48;
    def.cells[1] = 16;
    def.spacing = 0.05f;
    def.depth = 0.5f;
    def.awake = true;
    def.sides[0].velocity = vec3(2.0f, 0.0f, 0.0f);
    def.sides[1].kind = SMOKE_OPEN;
    def.sides[2].slips = def.sides[3].slips = true;
    Smoke *smoke = create(&def);
    for (u32 t = 0; t < 200; t++) {
        step(smoke, 0.0f);
    }
    SmokeTaken taken = smoke_taken(smoke);
    f64 unit = 1.2 * 2.0 * 2.0 * (0.8 * 0.5);
    expect_near("steady flow, all, N", all_of(&taken, 0) / (f64)tick_s, 0.0, 1e-3 * unit);
    expect_near("sides, N", of_sides(&taken, 0) / (f64)tick_s, 0.0, 0.02 * unit);
    smoke_destroy(smoke);
}

static Smoke *any(u32 seed)
{
    SmokeDef def = smoke_default();
    def.dims = 2 + seed % 2;
    def.cells[0] = seed % 3 == 0 ? 32 : 29;
    def.cells[1] = seed % 5 == 0 ? 40 : 37;
    def.cells[2] = 24;
    def.spacing = 0.04f;
    def.awake = seed / 2 % 2 != 0;
    for (u32 s = 0; s < SMOKE_SIDES; s++) {
        u32 a = s / 2;
        bool wraps = (seed >> a & 1) != 0 && def.cells[a] % 8 == 0;
        def.sides[s].kind = wraps                  ? SMOKE_PERIODIC
                            : (seed >> s & 1) != 0 ? SMOKE_OPEN
                                                   : SMOKE_CLOSED;
        def.sides[s].slips = (seed >> (s + 1) & 1) != 0;
        def.sides[s].velocity = vec3(seed % 4 == 3 && !wraps ? 0.3f : 0.0f, 0.0f, 0.0f);
    }
    static const f32 viscosities[] = {0.0f, 1.5e-5f, 0.01f, 1.0f};
    def.options.viscosity = viscosities[seed / 3 % 4];
    def.options.vorticity = seed % 7 == 0 ? 0.4f : 0.0f;
    def.options.advection = seed % 11 < 5 ? SMOKE_SEMI_LAGRANGIAN : SMOKE_MACCORMACK;
    Smoke *smoke = create(&def);
    SmokeSource fire = {.position = vec3(0.4f, 0.4f, 0.4f),
                        .radius = 0.2f,
                        .smoke = 1.0f,
                        .heat = 400.0f,
                        .warmest = 80.0f,
                        .velocity = vec3(1.0f, 0.2f, 0.3f),
                        .blow = 10.0f};
    smoke_set_sources(smoke, &fire, 1);
    return smoke;
}

static void nothing_is_left_out(void **state)
{
    PL_UNUSED(state);
    for (u32 seed = 0; seed < 64; seed++) {
        Smoke *smoke = any(seed);
        f64 took[3] = {0}, most = 0.0, worst = 0.0;
        for (u32 t = 0; t < 30; t++) {
            if (t == 10) {
                smoke_push(smoke, vec3(0.5f, 0.6f, 0.4f), 0.2f, vec3(0.01f, -0.02f, 0.01f));
            }
            step(smoke, 9.81f);
            SmokeTaken taken = smoke_taken(smoke);
            SmokeSums sums = smoke_sums(smoke);
            for (u32 c = 0; c < 3; c++) {
                took[c] += all_of(&taken, c);
                most = fmax(most, fabs(took[c]) + fabs(taken.sources[c]));
                worst = fmax(worst, fabs(sums.momentum[c] + took[c]));
            }
        }
        if (!(worst < 1e-6 * most)) {
            fail_msg("seed %u: %.3g N s of %.3g are nowhere", seed, worst, most);
        }
        smoke_destroy(smoke);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walls_take_friction),       cmocka_unit_test(ceilings_take_lift),
        cmocka_unit_test(walls_take_what_fans_give), cmocka_unit_test(open_sides_let_out),
        cmocka_unit_test(nothing_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
