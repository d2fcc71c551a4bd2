/* test_grains_things.c: grains with bodies and water: craters, static friction, seepage, buoyancy,
 * an orifice, a press. */
#include "shared/math/random.h"
#include "tests/support/liquid_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const f32 g = 9.81f;
static const f32 d = 0.02f;

/* Grains of a phase in a lattice, each displaced by up to a quarter of the spacing. */
static void fill_loosely(LiquidKit *kit, u32 phase, Vec3 low, u32 x, u32 y, u32 z)
{
    liquid_kit_fill(kit, phase, low, x, y, z);
    u32 end = liquid_first(kit->liquid, phase + 1);
    for (u32 s = liquid_first(kit->liquid, phase); s < end; s++) {
        Vec3 at = liquid_positions(kit->liquid)[s];
        Vec3 off = vec3(random_f32(2, 3 * s) - 0.5f, random_f32(2, 3 * s + 1) - 0.5f,
                        random_f32(2, 3 * s + 2) - 0.5f);
        if (liquid_generations(kit->liquid)[s] != 0) {
            liquid_set(kit->liquid, s, vec3_add_scaled(at, 0.5f * d, off), vec3_zero());
        }
    }
}

static LiquidKit tank_of_sand(const LiquidPhaseDef *sand, u32 x, u32 y, u32 z)
{
    LiquidDef def = {.spacing = d, .phase_count = 1, .phases = {*sand}};
    def.phases[0].capacity = x * y * z;
    LiquidKit kit = liquid_kit_make(&def, g);
    liquid_kit_tank(&kit, vec3((f32)x * d, 2.0f, (f32)z * d));
    fill_loosely(&kit, 0, vec3_zero(), x, y, z);
    for (u32 t = 0; t < 240 && liquid_awake(kit.liquid); t++) {
        liquid_kit_tick(&kit);
    }
    assert_false(liquid_awake(kit.liquid));
    return kit;
}

/* ---- craters ---- */

static f64 crater(f32 drop, f64 *law)
{
    LiquidPhaseDef sand = liquid_phase_default(LIQUID_GRAINS);
    LiquidKit kit = tank_of_sand(&sand, 18, 12, 18);
    f32 radius = 0.06f, middle = 9.0f * d;
    f64 level = liquid_kit_level(&kit, vec3_zero(), vec3(1.0f, 1.0f, 1.0f), 0.0f);
    BodyDef ball =
        kit_box(vec3(middle, (f32)level + radius + drop, middle), vec3(1.0f, 1.0f, 1.0f));
    ball.shape = (Shape){.kind = SHAPE_SPHERE, .radius = radius};
    ball.mass_kg = 2000.0f * 4.18879f * radius * radius * radius;
    u32 slot = kit_add(kit.rigid, &ball);
    liquid_kit_run(&kit, 2.5f);
    f64 before = (f64)rigid_position(kit.rigid, slot).y;
    liquid_kit_run(&kit, 0.5f);
    f64 after = (f64)rigid_position(kit.rigid, slot).y, deep = level - (after - (f64)radius);
    /* Uehara et al. 2003: 0.14 / µ (ρ ball / ρ bulk)^½ D^⅔ H^⅓, H the total drop; µ = tan 33°. */
    f64 heavy = sqrt(2000.0 / (0.58 * (f64)sand.density)), across = 2.0 * (f64)radius;
    *law = 0.14 / 0.65 * heavy * cbrt(across * across * ((f64)drop + deep));
    print_message("drop %.2f m: %.4f m deep, law %.4f; sinks %.2g m in 0.5 s\n", (f64)drop, deep,
                  *law, before - after);
    assert_true(fabs(before - after) < 0.01 * (f64)radius);
    liquid_kit_free(&kit);
    return deep;
}

/* A ball makes a crater and stays in it; the crater is deeper from a greater height. */
static void balls_make_craters(void **state)
{
    PL_UNUSED(state);
    static const f32 drops[] = {0.05f, 0.25f, 0.8f};
    f64 before = 0.0, off = 0.0;
    for (u32 k = 0; k < PL_COUNT(drops); k++) {
        f64 law, deep = crater(drops[k], &law);
        assert_true(deep > 1.1 * before);
        off += fabs(deep / law - 1.0) / PL_COUNT(drops);
        before = deep;
    }
    print_message("mean error %.3f\n", off);
    assert_true(off < 0.25);
}

/* ---- static friction ---- */

/* Distance in spacings by which a bed slides while it is tilted to `most` degrees within 8 s. */
static f64 slides(f32 friction, f32 static_friction, f64 most)
{
    LiquidPhaseDef sand = liquid_phase_default(LIQUID_GRAINS);
    sand.friction = friction;
    sand.static_friction = static_friction;
    sand.contact_friction = 1.0f;
    LiquidKit kit = tank_of_sand(&sand, 20, 8, 6);
    f64 start = liquid_sums(kit.liquid, kit.gravity).centre[0];
    for (u32 t = 0; t < 480; t++) {
        f64 angle = most / 57.29578 * t / 480.0;
        kit.gravity = vec3(g * (f32)sin(angle), -g * (f32)cos(angle), 0.0f);
        liquid_wake(kit.liquid);
        liquid_kit_tick(&kit);
    }
    f64 way = (liquid_sums(kit.liquid, kit.gravity).centre[0] - start) / (f64)d;
    print_message("friction %.1f, static %.1f: %.2f spacings at %.0f degrees\n", (f64)friction,
                  (f64)static_friction, way, most);
    liquid_kit_free(&kit);
    return way;
}

/* Static friction above kinetic friction acts as a threshold: a bed at rest starts to slide
 * later. */
static void static_friction_is_a_threshold(void **state)
{
    PL_UNUSED(state);
    assert_true(slides(0.3f, 0.0f, 52.0) > 0.5);
    assert_true(slides(0.3f, 0.9f, 45.0) < 0.25);
}

/* ---- water ---- */

/* Water poured on a bed fills its pores; the excess stands above, and the grains stay. */
static void water_seeps_into_sand(void **state)
{
    PL_UNUSED(state);
    LiquidDef def = {.spacing = d, .phase_count = 2};
    def.phases[0] = liquid_phase_default(LIQUID_FLUID);
    def.phases[1] = liquid_phase_default(LIQUID_GRAINS);
    def.phases[0].capacity = def.phases[1].capacity = 800;
    LiquidKit kit = liquid_kit_make(&def, g);
    liquid_kit_tank(&kit, vec3(8.0f * d, 2.0f, 8.0f * d));
    fill_loosely(&kit, 1, vec3_zero(), 8, 10, 8);
    liquid_kit_run(&kit, 0.5f);
    liquid_kit_fill(&kit, 0, vec3(0.0f, 11.0f * d, 0.0f), 8, 10, 8);
    liquid_kit_run(&kit, 2.0f);
    f32 half = 0.1f;
    f64 wet = 0.0, solid = 0.0, top = 0.0;
    for (u32 s = 0; s < liquid_slots(kit.liquid); s++) {
        f32 y = liquid_positions(kit.liquid)[s].y;
        bool sand = s >= liquid_first(kit.liquid, 1), live = liquid_generations(kit.liquid)[s] != 0;
        wet += live && !sand && y < half;
        solid += live && sand && y < half;
        top = live && sand ? fmax(top, (f64)y) : top;
    }
    f64 cells = (f64)half * 64.0 * (f64)d * (f64)d / (f64)(d * d * d);
    f64 filled = wet / (cells - solid * 0.5235988);
    print_message("pores %.2f full, sand up to %.3f m\n", filled, top);
    assert_true(filled > 0.75 && filled < 1.1);
    assert_true(top < 0.24);
    liquid_kit_free(&kit);
}

/* Vertical velocity in m/s of grains of a density in still water. */
static f64 rises(f32 density)
{
    LiquidDef def = {.spacing = d, .phase_count = 2};
    def.phases[0] = liquid_phase_default(LIQUID_FLUID);
    def.phases[1] = liquid_phase_default(LIQUID_GRAINS);
    def.phases[0].capacity = 10 * 20 * 10;
    def.phases[1].capacity = 4;
    def.phases[1].density = density;
    LiquidKit kit = liquid_kit_make(&def, g);
    liquid_kit_tank(&kit, vec3(10.0f * d, 2.0f, 10.0f * d));
    liquid_kit_fill(&kit, 0, vec3_zero(), 10, 20, 10);
    liquid_kit_run(&kit, 1.0f);
    f64 sum = 0.0;
    for (u32 k = 0; k < 4; k++) {
        Vec3 at =
            vec3((2.7f + 5.0f * (f32)(k % 2)) * d, 9.3f * d, (2.6f + 5.0f * (f32)(k / 2)) * d);
        liquid_spawn(kit.liquid, 1, at, vec3_zero());
        sum -= (f64)at.y;
    }
    liquid_kit_run(&kit, 0.3f);
    for (u32 k = 0; k < 4; k++) {
        sum += (f64)liquid_positions(kit.liquid)[liquid_first(kit.liquid, 1) + k].y;
    }
    liquid_kit_free(&kit);
    print_message("density %.0f: rises at %.3f m/s\n", (f64)density, sum / 4.0 / 0.3);
    return sum / 4.0 / 0.3;
}

/* Archimedes: a grain as dense as water neither rises nor sinks. */
static void grains_float_by_their_density(void **state)
{
    PL_UNUSED(state);
    assert_true(fabs(rises(1000.0f)) < 0.04);
    assert_true(rises(500.0f) > 0.05);
    assert_true(rises(2650.0f) < -0.2);
}

/* ---- hands ---- */

/* A hand digs a furrow through a bed; the furrow remains after the hand has left. */
static void hands_dig(void **state)
{
    PL_UNUSED(state);
    LiquidPhaseDef sand = liquid_phase_default(LIQUID_GRAINS);
    LiquidKit kit = tank_of_sand(&sand, 16, 8, 12);
    Vec3 low = vec3(6.0f * d, 0.0f, 5.0f * d), high = vec3(10.0f * d, 1.0f, 7.0f * d);
    f64 before = liquid_kit_level(&kit, low, high, 0.0f);
    Vec3 place = vec3(2.0f * d, 5.0f * d, 6.0f * d);
    assert_true(liquid_hand_grab(kit.liquid, 0, place, 3.0f * d));
    for (u32 t = 0; t < 60; t++) {
        place.x += 0.25f * d;
        place.y += t > 40 ? 0.5f * d : 0.0f;
        liquid_hand_drag(kit.liquid, 0, place);
        liquid_kit_tick(&kit);
    }
    liquid_hand_release(kit.liquid, 0);
    f32 t = 0.0f;
    for (; t < 5.0f && liquid_awake(kit.liquid); t += KIT_TICK_S) {
        liquid_kit_tick(&kit);
    }
    f64 after = liquid_kit_level(&kit, low, high, 0.0f);
    print_message("level along the furrow %.3f m, was %.3f; asleep after %.1f s\n", after, before,
                  (f64)t);
    assert_false(liquid_awake(kit.liquid));
    assert_true(after < 0.97 * before);
    liquid_kit_free(&kit);
}

/* ---- abuse ---- */

/* A press of ten times its mass falls on sand in a box: motion stays bounded, no grain passes the
 * walls, and the press ends on top of the sand. */
static void press_is_bounded(void **state)
{
    PL_UNUSED(state);
    LiquidPhaseDef sand = liquid_phase_default(LIQUID_GRAINS);
    sand.friction = 2.0f;
    LiquidKit kit = tank_of_sand(&sand, 10, 8, 10);
    BodyDef press = kit_box(vec3(5.0f * d, 0.5f, 5.0f * d), vec3(4.9f * d, 0.1f, 4.9f * d));
    press.mass_kg = 100.0f;
    u32 slot = kit_add(kit.rigid, &press);
    f64 fastest = 0.0;
    for (u32 t = 0; t < 180; t++) {
        liquid_kit_tick(&kit);
        fastest = fmax(fastest, (f64)liquid_stats(kit.liquid).speed_max);
    }
    u32 out = 0;
    for (u32 s = 0; s < liquid_slots(kit.liquid); s++) {
        Vec3 at = liquid_positions(kit.liquid)[s];
        out += at.x < 0.0f || at.z < 0.0f || at.y < 0.0f || at.x > 10.0f * d || at.z > 10.0f * d;
    }
    f64 low = (f64)rigid_position(kit.rigid, slot).y - 0.1;
    print_message("fastest %.2f m/s, %u outside, press at %.3f m\n", fastest, out, low);
    assert_null(liquid_validate(kit.liquid));
    assert_true(fastest < 8.0);
    assert_true(out == 0);
    assert_true(low > 0.05);
    liquid_kit_free(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balls_make_craters),    cmocka_unit_test(static_friction_is_a_threshold),
        cmocka_unit_test(water_seeps_into_sand), cmocka_unit_test(grains_float_by_their_density),
        cmocka_unit_test(press_is_bounded),      cmocka_unit_test(hands_dig),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
