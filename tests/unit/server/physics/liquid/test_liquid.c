/* test_liquid.c: the store of liquids: definitions, slots, spawn and remove, state, validation,
 * hands and abuse. */
#include "server/physics/liquid/liquid_internal.h"
#include "tests/support/liquid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void definitions_are_checked(void **state)
{
    PL_UNUSED(state);
    LiquidDef good = liquid_kit_water(0.02f, 100);
    assert_int_equal(liquid_check(&good, NULL), ERROR_OK);
    ErrorText error;
    LiquidDef def = good;
    def.phases[0].capacity = 1000000000;
    assert_int_equal(liquid_check(&def, &error), ERROR_LIMIT);
    assert_non_null(strstr(error.text, "phase 0"));
    assert_true(liquid_bytes(&def) > 100000000000ull);
    assert_null(liquid_create(&def, &error));
    def = good;
    def.phases[0].viscosity = NAN;
    assert_int_equal(liquid_check(&def, &error), ERROR_RANGE);
    assert_non_null(strstr(error.text, "viscosity"));
    def.phases[0].viscosity = 1e30f;
    assert_int_equal(liquid_check(&def, &error), ERROR_RANGE);
    def = good;
    def.spacing = 0.0f;
    assert_int_equal(liquid_check(&def, &error), ERROR_RANGE);
    def = good;
    def.phase_count = 17;
    assert_int_equal(liquid_check(&def, &error), ERROR_RANGE);
    def = good;
    def.phases[0].capacity = 0;
    assert_int_equal(liquid_check(&def, &error), ERROR_RANGE);
}

static LiquidDef two_phases(void)
{
    LiquidDef def = liquid_kit_water(0.02f, 10);
    def.phases[1] = liquid_phase_default(LIQUID_GRAINS);
    def.phases[1].capacity = 5;
    def.phase_count = 2;
    return def;
}

static void slots_belong_to_phases(void **state)
{
    PL_UNUSED(state);
    LiquidDef def = two_phases();
    Liquid *liquid = liquid_create(&def, NULL);
    assert_int_equal(liquid_slots(liquid), 15);
    assert_int_equal(liquid_first(liquid, 1), 10);
    assert_int_equal(liquid_phase_of(liquid, 9), 0);
    assert_int_equal(liquid_phase_of(liquid, 10), 1);
    for (i32 k = 0; k < 5; k++) {
        assert_int_equal(liquid_spawn(liquid, 1, vec3((f32)k, 0.0f, 0.0f), vec3_zero()), 10 + k);
    }
    assert_int_equal(liquid_spawn(liquid, 1, vec3_zero(), vec3_zero()), -1);
    u16 before = liquid_generations(liquid)[12];
    liquid_remove(liquid, 12);
    liquid_remove(liquid, 12);
    assert_int_equal(liquid_count(liquid, 1), 4);
    assert_int_equal(liquid_generations(liquid)[12], 0);
    assert_int_equal(liquid_spawn(liquid, 1, vec3_zero(), vec3_zero()), 12);
    assert_true(liquid_generations(liquid)[12] != before);
    assert_int_equal(liquid_spawn(liquid, 0, vec3(NAN, 0.0f, 0.0f), vec3_zero()), -1);
    assert_int_equal(liquid_spawn(liquid, 0, vec3(1e9f, 0.0f, 0.0f), vec3_zero()), -1);
    assert_int_equal(liquid_spawn(liquid, 2, vec3_zero(), vec3_zero()), -1);
    assert_null(liquid_validate(liquid));
    liquid_clear(liquid);
    assert_int_equal(liquid_count(liquid, LIQUID_ANY), 0);
    assert_null(liquid_validate(liquid));
    liquid_destroy(liquid);
    liquid_destroy(NULL);
}

static LiquidKit small_tank(void)
{
    LiquidDef def = liquid_kit_water(0.02f, 600);
    LiquidKit kit = liquid_kit_make(&def, 9.81f);
    liquid_kit_tank(&kit, vec3(0.16f, 0.6f, 0.16f));
    liquid_kit_fill(&kit, 0, vec3_zero(), 8, 8, 8);
    return kit;
}

static void a_loaded_liquid_goes_on_alike(void **state)
{
    PL_UNUSED(state);
    LiquidKit kit = small_tank(), other = small_tank();
    liquid_kit_run(&kit, 0.5f);
    State count = {.mode = STATE_COUNT};
    liquid_serialize(kit.liquid, &count);
    u8 *image = malloc(count.used);
    State save = {.mode = STATE_SAVE, .data = image, .bytes = count.used};
    liquid_serialize(kit.liquid, &save);
    assert_false(save.failed);
    State load = {.mode = STATE_LOAD, .data = image, .bytes = count.used};
    liquid_serialize(other.liquid, &load);
    assert_false(load.failed);
    assert_null(liquid_validate(other.liquid));
    assert_true(liquid_kit_hash(&kit) == liquid_kit_hash(&other));
    liquid_kit_run(&kit, 1.2f); /* over a sort of slots */
    liquid_kit_run(&other, 1.2f);
    assert_true(liquid_kit_hash(&kit) == liquid_kit_hash(&other));
    for (size_t cut = 0; cut < count.used; cut += 97) {
        State damaged = {.mode = STATE_LOAD, .data = image, .bytes = cut};
        liquid_serialize(other.liquid, &damaged);
        assert_true(damaged.failed);
        liquid_clear(other.liquid);
        assert_null(liquid_validate(other.liquid));
    }
    free(image);
    liquid_kit_free(&kit);
    liquid_kit_free(&other);
}

static void sorted_slots_hold_the_same_particles(void **state)
{
    PL_UNUSED(state);
    LiquidKit kit = small_tank();
    liquid_kit_run(&kit, 0.2f);
    LiquidSums before = liquid_sums(kit.liquid, vec3(0.0f, -9.81f, 0.0f));
    liquid_sort_slots(kit.liquid);
    LiquidSums after = liquid_sums(kit.liquid, vec3(0.0f, -9.81f, 0.0f));
    assert_null(liquid_validate(kit.liquid));
    assert_true(fabs(before.kinetic - after.kinetic) < 1e-9 * before.kinetic);
    assert_true(fabs(before.centre[1] - after.centre[1]) < 1e-9);
    f64 near = 0.0;
    for (u32 s = 1; s < liquid_count(kit.liquid, 0); s++) {
        near += (f64)vec3_distance(liquid_positions(kit.liquid)[s],
                                   liquid_positions(kit.liquid)[s - 1]);
    }
    assert_true(near / liquid_count(kit.liquid, 0) < 2.5 * 0.02);
    liquid_kit_free(&kit);
}

static void validate_finds_damage(void **state)
{
    PL_UNUSED(state);
    LiquidKit kit = small_tank();
    Liquid *liquid = kit.liquid;
    liquid->positions[3].x = NAN;
    assert_non_null(liquid_validate(liquid));
    liquid->positions[3].x = 0.1f;
    assert_null(liquid_validate(liquid));
    liquid->velocities[3].y = INFINITY;
    assert_non_null(liquid_validate(liquid));
    liquid->velocities[3].y = 0.0f;
    liquid->generations[3]++;
    assert_non_null(liquid_validate(liquid));
    liquid->generations[3]--;
    liquid->live[0]--;
    assert_non_null(liquid_validate(liquid));
    liquid->live[0]++;
    liquid->pressures[599] = 1.0f;
    assert_non_null(liquid_validate(liquid));
    liquid->pressures[599] = 0.0f;
    assert_null(liquid_validate(liquid));
    liquid_kit_free(&kit);
}

/* A hand at 100 m/s, absurd targets, and particles all in one place. */
static void abuse_leaves_a_bounded_world(void **state)
{
    PL_UNUSED(state);
    LiquidKit kit = small_tank();
    assert_false(liquid_hand_grab(kit.liquid, LIQUID_HANDS_MAX, vec3_zero(), 0.1f));
    assert_false(liquid_hand_grab(kit.liquid, 0, vec3(NAN, 0.0f, 0.0f), 0.1f));
    assert_true(liquid_hand_grab(kit.liquid, 0, vec3(0.08f, 0.08f, 0.08f), 0.06f));
    for (u32 t = 0; t < 60; t++) {
        f32 x = t % 2 ? 1.6f : -1.6f;
        liquid_hand_drag(kit.liquid, 0, vec3(x, t % 7 == 0 ? INFINITY : 0.05f, 0.08f));
        liquid_kit_tick(&kit);
        assert_null(liquid_validate(kit.liquid));
        assert_true(liquid_stats(kit.liquid).speed_max < 20.0f);
    }
    assert_true(liquid_hand_holds(kit.liquid, 0));
    liquid_hand_release(kit.liquid, 0);
    for (u32 k = 0; k < 80; k++) {
        liquid_spawn(kit.liquid, 0, vec3(0.08f, 0.3f, 0.08f), vec3_zero());
    }
    liquid_kit_run(&kit, 1.0f);
    assert_null(liquid_validate(kit.liquid));
    Vec3 given = liquid_push(kit.liquid, vec3_zero(), 10.0f, vec3(1e9f, 0.0f, 0.0f));
    assert_true(given.x < 1e3f);
    assert_true(vec3_length(liquid_push(kit.liquid, vec3_zero(), 10.0f, vec3(NAN, 0, 0))) == 0.0f);
    liquid_kit_free(&kit);
}

/* Particles crushed into a wall are driven apart, but not through it. */
static void what_is_crushed_stays_inside(void **state)
{
    PL_UNUSED(state);
    enum {
        CRUSHED = 79
    };
    f32 d = 0.02f;
    LiquidDef def = liquid_kit_water(d, CRUSHED);
    LiquidKit kit = liquid_kit_make(&def, 9.81f);
    liquid_kit_tank(&kit, vec3(0.2f, 0.4f, 0.2f));
    for (u32 k = 0; k < CRUSHED; k++) {
        f32 off = 0.0005f * (f32)k / CRUSHED;
        liquid_spawn(kit.liquid, 0, vec3(0.006f + off, 0.006f, 0.1f - off), vec3_zero());
    }
    f32 least = 0.0f;
    for (u32 t = 0; t < 60; t++) {
        liquid_kit_tick(&kit);
        for (u32 s = 0; s < CRUSHED; s++) {
            Vec3 x = liquid_positions(kit.liquid)[s];
            least = f32_min(least, f32_min(x.x, f32_min(x.y, x.z)));
        }
    }
    print_message("at most %.3f m inside a wall\n", -(f64)least);
    assert_true(least > -0.25f); /* the middle of a wall */
    liquid_kit_free(&kit);
}

/* Nothing is left of the last particle, for kinds that step after liquids, once it is removed: it
 * was met as a ball that cannot move, which took their momentum. */
static void what_is_removed_is_not_met(void **state)
{
    PL_UNUSED(state);
    LiquidDef def = liquid_kit_water(0.02f, 8);
    LiquidKit kit = liquid_kit_make(&def, KIT_GRAVITY_M_S2);
    Collider balls = liquid_collider(kit.liquid, 0);
    Bounds all = {vec3(-9.0f, -9.0f, -9.0f), vec3(9.0f, 9.0f, 9.0f)};
    u32 things[8];
    i32 slot = liquid_spawn(kit.liquid, 0, vec3(0.0f, 1.0f, 0.0f), vec3_zero());
    assert_true(slot >= 0);
    for (u32 k = 0; k < 2; k++) {
        liquid_kit_tick(&kit);
        balls.ops->begin(balls.of, NULL, KIT_TICK_S);
        assert_int_equal(balls.ops->overlaps(balls.of, all, 1, 1, things, 8), 1 - k);
        liquid_remove(kit.liquid, (u32)slot);
    }
    liquid_kit_free(&kit);
}

/* A dam break: the coarse level must not make the residual rough, or rounds grow: 4.4 a tick with
 * all of it. */
static void a_dam_break_takes_few_rounds(void **state)
{
    PL_UNUSED(state);
    const u32 x = 20, y = 16, z = 16, ticks = 120;
    const f32 d = 0.02f;
    LiquidDef def = liquid_kit_water(d, x * y * z);
    LiquidKit kit = liquid_kit_make(&def, KIT_GRAVITY_M_S2);
    liquid_kit_tank(&kit, vec3(2.0f * (f32)x * d, 4.0f * (f32)y * d, (f32)z * d));
    liquid_kit_fill(&kit, 0, vec3_zero(), x, y, z);
    kit.tick_s = 0.005f;
    kit.substeps = 1;
    f64 rounds = 0.0, error = 0.0;
    for (u32 t = 0; t < ticks; t++) {
        liquid_kit_tick(&kit);
        rounds += (f64)(kit.liquid->rounds * kit.liquid->steps) / ticks;
        error += (f64)liquid_stats(kit.liquid).density_error / ticks;
    }
    print_message("%.3f rounds a tick, mean error of density %.5f\n", rounds, error);
    assert_true(rounds < 3.9);
    liquid_kit_free(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_are_checked),
        cmocka_unit_test(slots_belong_to_phases),
        cmocka_unit_test(a_loaded_liquid_goes_on_alike),
        cmocka_unit_test(sorted_slots_hold_the_same_particles),
        cmocka_unit_test(validate_finds_damage),
        cmocka_unit_test(abuse_leaves_a_bounded_world),
        cmocka_unit_test(what_is_crushed_stays_inside),
        cmocka_unit_test(what_is_removed_is_not_met),
        cmocka_unit_test(a_dam_break_takes_few_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
