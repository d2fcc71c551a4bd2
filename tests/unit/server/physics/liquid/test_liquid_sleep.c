/* test_liquid_sleep.c: pools fall asleep and wake by themselves, with the bodies that float in
 * them. */
#include "tests/support/liquid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    WIDE = 10,
    DEEP = 6,
    TANKS = 2
};

static const f32 d = 0.02f, g = 9.81f;

/* Bodies that may sleep, and so many tanks side by side. */
static LiquidKit make(u32 tanks)
{
    LiquidDef def = liquid_kit_water(d, tanks * WIDE * DEEP * WIDE + 8);
    def.phases[0].viscosity = 2.0f;
    LiquidKit kit = liquid_kit_make(&def, g);
    rigid_destroy(kit.rigid);
    kit.rigid = rigid_create(&(RigidDef){.body_capacity = 64,
                                         .tick_s = KIT_TICK_S,
                                         .substeps = kit.substeps,
                                         .gravity = {0.0f, -g, 0.0f}});
    assert_non_null(kit.rigid);
    for (u32 k = 0; k < tanks; k++) {
        f32 side = (f32)WIDE * d, x = (f32)k * (side + 0.2f), t = 0.1f, high = 0.4f;
        liquid_kit_wall(&kit, vec3(x - t, -t, -t), vec3(x + side + t, 0.0f, side + t));
        liquid_kit_wall(&kit, vec3(x - t, 0.0f, -t), vec3(x, high, side + t));
        liquid_kit_wall(&kit, vec3(x + side, 0.0f, -t), vec3(x + side + t, high, side + t));
        liquid_kit_wall(&kit, vec3(x, 0.0f, -t), vec3(x + side, high, 0.0f));
        liquid_kit_wall(&kit, vec3(x, 0.0f, side), vec3(x + side, high, side + t));
        liquid_kit_fill(&kit, 0, vec3(x, 0.0f, 0.0f), WIDE, DEEP, WIDE);
    }
    return kit;
}

static u32 float_box(LiquidKit *kit)
{
    f32 half = 2.5f * d, middle = 0.5f * (f32)WIDE * d;
    BodyDef box =
        kit_box(vec3(middle, (f32)DEEP * d + 0.5f * half, middle), vec3(half, half, half));
    box.mass_kg = 500.0f * 8.0f * half * half * half;
    return kit_add(kit->rigid, &box);
}

static void until_asleep(LiquidKit *kit, f32 most_s)
{
    for (f32 t = 0.0f; t < most_s && liquid_awake(kit->liquid); t += KIT_TICK_S) {
        liquid_kit_tick(kit);
    }
    assert_false(liquid_awake(kit->liquid));
    assert_null(liquid_validate(kit->liquid));
}

static u32 awake(const LiquidKit *kit)
{
    return liquid_stats(kit->liquid).awake;
}

static void a_floating_body_sleeps_with_the_liquid(void **state)
{
    PL_UNUSED(state);
    LiquidKit kit = make(1);
    u32 box = float_box(&kit);
    until_asleep(&kit, 15.0f);
    assert_false(rigid_awake(kit.rigid, box));
    Vec3 before = rigid_position(kit.rigid, box);
    liquid_kit_run(&kit, 1.0f);
    assert_true(vec3_distance(rigid_position(kit.rigid, box), before) == 0.0f);
    /* It is half as dense as water: its middle is at the level. */
    f32 level = (f32)DEEP * d + 62.5f * d * d * d / ((f32)(WIDE * WIDE) * d * d);
    assert_true(fabsf(before.y - level) < 0.5f * d);
    /* A push of the box wakes the liquid, and one of the liquid the box. */
    rigid_wake(kit.rigid, box);
    liquid_kit_tick(&kit);
    assert_true(awake(&kit) == liquid_count(kit.liquid, LIQUID_ANY));
    until_asleep(&kit, 15.0f);
    assert_false(rigid_awake(kit.rigid, box));
    liquid_push(kit.liquid, vec3(0.5f * d, 0.5f * d, 0.5f * d), 3.0f * d, vec3(0.0f, 0.01f, 0.0f));
    liquid_kit_run(&kit, 2.0f * KIT_TICK_S);
    assert_true(rigid_awake(kit.rigid, box));
    liquid_kit_free(&kit);
}

/* Positions of a tank's particles, as bits. */
static u64 hash_of(const LiquidKit *kit, bool right)
{
    u64 hash = 1469598103934665603ull;
    for (u32 s = 0; s < liquid_slots(kit->liquid); s++) {
        Vec3 x = liquid_positions(kit->liquid)[s];
        u32 bits[3];
        memcpy(bits, &x, sizeof bits);
        if (liquid_generations(kit->liquid)[s] != 0 && (x.x > 0.3f) == right) {
            hash += (u64)bits[0] * 2654435761u ^ (u64)bits[1] * 40503u ^ bits[2];
        }
    }
    return hash;
}

static void pools_sleep_by_themselves(void **state)
{
    PL_UNUSED(state);
    LiquidKit kit = make(TANKS);
    u32 all = liquid_count(kit.liquid, LIQUID_ANY);
    until_asleep(&kit, 15.0f);
    u64 right = hash_of(&kit, true), left = hash_of(&kit, false);
    liquid_push(kit.liquid, vec3(0.1f, 0.1f, 0.1f), 0.04f, vec3(0.1f, 0.05f, 0.0f));
    for (u32 t = 0; t < 30; t++) {
        liquid_kit_tick(&kit);
        assert_true(awake(&kit) == all / 2);
    }
    assert_true(hash_of(&kit, true) == right);
    assert_false(hash_of(&kit, false) == left);
    /* The state between holds who sleeps. */
    State size = {.mode = STATE_COUNT};
    liquid_serialize(kit.liquid, &size);
    u8 *bytes = malloc(size.used);
    State save = {.mode = STATE_SAVE, .data = bytes, .bytes = size.used};
    liquid_serialize(kit.liquid, &save);
    u64 hash = liquid_kit_hash(&kit);
    State load = {.mode = STATE_LOAD, .data = bytes, .bytes = size.used};
    liquid_serialize(kit.liquid, &load);
    assert_false(load.failed);
    free(bytes);
    assert_true(awake(&kit) == all / 2 && liquid_kit_hash(&kit) == hash);
    until_asleep(&kit, 15.0f);
    /* A drop wakes the pool that it falls into. */
    assert_true(liquid_spawn(kit.liquid, 0, vec3(0.5f, 0.2f, 0.1f), vec3_zero()) >= 0);
    assert_int_equal(awake(&kit), 1);
    liquid_kit_run(&kit, 0.2f);
    assert_int_equal(awake(&kit), all / 2 + 1);
    /* So does a hand, and what it takes away. */
    until_asleep(&kit, 15.0f);
    assert_true(liquid_hand_grab(kit.liquid, 0, vec3(0.1f, 0.1f, 0.1f), 0.04f));
    liquid_kit_tick(&kit);
    assert_int_equal(awake(&kit), all / 2);
    liquid_hand_release(kit.liquid, 0);
    until_asleep(&kit, 15.0f);
    liquid_remove(kit.liquid, (u32)liquid_nearest(kit.liquid, vec3(0.1f, 0.0f, 0.1f), 0.1f));
    assert_int_equal(awake(&kit), all / 2 - 1);
    assert_null(liquid_validate(kit.liquid));
    liquid_kit_free(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_floating_body_sleeps_with_the_liquid),
                                       cmocka_unit_test(pools_sleep_by_themselves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
