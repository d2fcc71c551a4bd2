/* test_water_things.c: water on grids and what floats in it: draught, energy, momentum and mass
 * that are handed over, rest, and what walls and bed hold (hydrostatics). */
#include "tests/support/water_stage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

/* The draught of a box is its density ratio, within 5 %; the volume of water is unchanged. */
static void boxes_float_at_their_draught(void **state)
{
    PL_UNUSED(state);
    static const f64 densities[] = {100.0, 200.0, 300.0, 500.0, 800.0};
    for (u32 method = 0; method < 2; method++) {
        for (u32 d = 0; d < PL_COUNT(densities); d++) {
            char json[1024];
            snprintf(json, sizeof json,
                     "\"waters\":[{\"name\":\"w\",\"method\":\"%s\",\"width\":8,\"length\":8,"
                     "\"depth\":1.5,\"damping\":0.3}],"
                     "\"bodies\":[{\"name\":\"b\",\"position\":[0.03,0.3,0.02],\"mass\":%g,"
                     "\"shape\":{\"kind\":\"box\",\"half\":[0.5,0.3,0.5]}}],"
                     "\"probes\":[{\"name\":\"h\",\"kind\":\"height\",\"of\":\"b\"}]",
                     method ? "wave" : "shallow", 0.6 * densities[d]);
            Stage *stage = stage_of(json);
            f64 before = water_stage_sums(stage).volume, ratio = densities[d] / 1000.0;
            water_stage_run(stage, 900);
            f64 height = stage_probe(stage, "h"),
                level = method ? water_stage_sums(stage).displaced / 64.0
                               : (before + water_stage_sums(stage).displaced) / 64.0 - 1.5;
            f64 draught = level - (height - 0.3);
            print_message("%s, density %.1f: draught %.3f of %.3f m, displaced %.4f m^3\n",
                          method ? "wave" : "shallow", ratio, draught, 0.6 * ratio,
                          water_stage_sums(stage).displaced);
            expect_near("draught", draught, 0.6 * ratio, 0.03 * ratio);
            expect_near("displaced", water_stage_sums(stage).displaced, 0.6 * ratio, 0.03 * ratio);
            assert_true(fabs(water_stage_sums(stage).volume - before) < 1e-5 * 64.0);
            stage_destroy(stage);
        }
    }
}

/* A box that falls into water loses energy to it: the sum for both never grows. Of waves only the
 * potential energy is measured, which oscillates against their kinetic energy. */
static void energy_of_water_and_bodies_does_not_grow(void **state)
{
    PL_UNUSED(state);
    static const f64 densities[] = {100.0, 200.0, 300.0, 500.0, 800.0};
    for (u32 n = 0; n < 2 * PL_COUNT(densities); n++) {
        char json[1024];
        f64 density = densities[n / 2], mass = 0.4 * 0.8 * 0.6 * density;
        snprintf(json, sizeof json,
                 "\"waters\":[{\"name\":\"w\",\"method\":\"%s\",\"width\":6,\"length\":6}],"
                 "\"bodies\":[{\"name\":\"b\",\"position\":[0.03,0.5,0.02],\"mass\":%g,"
                 "\"shape\":{\"kind\":\"box\",\"half\":[0.4,0.2,0.3]}}],"
                 "\"probes\":[{\"name\":\"e\",\"kind\":\"energy\"}]",
                 n % 2 ? "wave" : "shallow", mass);
        Stage *stage = stage_of(json);
        f64 start = stage_probe(stage, "e"), least = start, rise = 0.0, above = 0.0;
        for (u32 t = 0; t < 600; t++) {
            water_stage_run(stage, 1);
            f64 now = stage_probe(stage, "e");
            least = fmin(least, now);
            rise = fmax(rise, now - least);
            above = fmax(above, now - start);
        }
        print_message(
            "%s, density %g: energy rose by %.3f J, %.3f J above its start, fell by %.1f\n",
            n % 2 ? "wave" : "shallow", density, rise, above, start - least);
        expect_at_most("above its start", above, 1e-3);
        assert_true(start - least > 9.81 * 0.28 * mass);
        if (n % 2 == 0) {
            expect_at_most("rise", rise, 2e-3 * (start - least));
        }
        stage_destroy(stage);
    }
}

/* Around a torus, without friction: momentum lost by the body is gained by the water. */
static void momentum_is_exchanged(void **state)
{
    PL_UNUSED(state);
    Stage *stage = stage_of("\"waters\":[{\"name\":\"w\",\"width\":12,\"length\":12,\"cell\":0.2,"
                            "\"border_x\":\"periodic\",\"border_z\":\"periodic\",\"friction\":0}],"
                            "\"bodies\":[{\"name\":\"b\",\"position\":[-2,0,0.5],\"mass\":250,"
                            "\"velocity\":[3,0,-1],"
                            "\"shape\":{\"kind\":\"box\",\"half\":[0.5,0.25,0.5]}}]");
    MatterSums before = {0}, after = {0};
    const Rigid *rigid = world_rigid(stage->world);
    Vec3 v = rigid_velocity(rigid, 0);
    f64 mass = (f64)rigid_mass(rigid, 0);
    matter_water_sums(&water_stage_matter(stage)->base, &before);
    water_stage_run(stage, 90);
    matter_water_sums(&water_stage_matter(stage)->base, &after);
    Vec3 now = rigid_velocity(rigid, 0);
    f64 x = after.momentum[0] - before.momentum[0] + mass * ((f64)now.x - (f64)v.x);
    f64 z = after.momentum[2] - before.momentum[2] + mass * ((f64)now.z - (f64)v.z);
    print_message("body %.3f -> %.3f m/s; momentum off by %.4f, %.4f of %.1f N s\n", (f64)v.x,
                  (f64)now.x, x, z, mass * (f64)v.x);
    assert_true((f64)now.x < 0.8 * (f64)v.x);
    assert_true(fabs(x) < 1e-3 * mass && fabs(z) < 1e-3 * mass);
    stage_destroy(stage);
}

/* A dam breaks into shallower water: the front is a bore, and throws spray. */
static const char bore_json[] =
    "\"liquid_spacing\":0.06,"
    "\"waters\":[{\"name\":\"w\",\"width\":8,\"length\":5,\"cell\":0.1,\"depth\":0.3,\"spray\":"
    "\"drops\","
    "\"border_x\":\"periodic\",\"border_z\":\"periodic\",\"friction\":0,"
    "\"basins\":[{\"position\":[0,0,0],\"size\":[3,0,2],\"level\":0.9}]}],"
    "\"liquids\":[{\"name\":\"drops\",\"capacity\":4000}],"
    "\"probes\":[{\"name\":\"e\",\"kind\":\"energy\"}]";

/* Mass in kg and momentum in kg m/s along x and z, of water and spray. */
static void all_of(const Stage *stage, f64 sum[3])
{
    Matter *liquid = water_stage_matter(stage)->sprays[0].of;
    MatterSums both = {0};
    u32 parcels = 0;
    matter_water_sums(&water_stage_matter(stage)->base, &both);
    liquid->ops->sums(liquid, &both);
    WorldStats stats;
    world_stats(stage->world, &stats);
    parcels = stats.particles;
    sum[0] = 1000.0 * water_stage_sums(stage).volume + 1000.0 * parcels * pow(0.06, 3.0);
    sum[1] = both.momentum[0];
    sum[2] = both.momentum[2];
}

/* Falling water becomes spray and water again: mass and momentum are handed over, energy is
 * lost. */
static void hand_over(const char *json, u32 least_shed, u32 ticks, bool closed)
{
    Stage *stage = stage_of(json);
    f64 before[3], after[3], start[3], energy = stage_probe(stage, "e"), least = energy, rise = 0.0;
    u32 shed = 0, caught = 0, most = 0;
    all_of(stage, start);
    for (u32 t = 0; t < ticks; t++) {
        water_stage_run(stage, 1);
        PoolStats stats = pool_stats(water_stage_matter(stage)->pools[0]);
        shed += stats.shed;
        caught += stats.caught;
        most = u32_max(most, shed - caught);
        least = fmin(least, stage_probe(stage, "e"));
        rise = fmax(rise, stage_probe(stage, "e") - least);
        all_of(stage, after);
        if (t % 32 == 0) { /* one exchange more than the tick made */
            memcpy(before, after, sizeof before);
            matter_water_exchange(water_stage_matter(stage));
            all_of(stage, after);
            expect_near("momentum along x", after[1], before[1], 1e-2);
            expect_near("momentum along z", after[2], before[2], 1e-2);
            shed += pool_stats(water_stage_matter(stage)->pools[0]).shed;
            caught += pool_stats(water_stage_matter(stage)->pools[0]).caught - stats.caught;
        }
        expect_near("mass", after[0], start[0], 1e-5 * start[0]);
        if (closed) { /* periodic in both directions, without walls and friction */
            expect_near("all momentum along x", after[1], start[1], 1e-4 * start[0]);
            expect_near("all momentum along z", after[2], start[2], 1e-4 * start[0]);
        }
    }
    print_message(
        "%u shed, %u caught, at most %u in the air; energy fell by %.0f J, rose by %.2f\n", shed,
        caught, most, energy - least, rise);
    assert_true(shed > least_shed && caught > shed / 2 && most < 2000);
    assert_true(energy - least > 100.0);
    expect_at_most("rise", rise, 0.01 * (energy - least));
    stage_destroy(stage);
}

static void spray_keeps_mass_and_momentum(void **state)
{
    PL_UNUSED(state);
    hand_over(water_stage_fall, 2000, 480, false);
    hand_over(bore_json, 1000, 150, true); /* before any falls beside it */
}

/* Where waves leave the grid heaving decays, however light the body, and it falls asleep. */
static void floating_bodies_fall_asleep(void **state)
{
    PL_UNUSED(state);
    static const f64 densities[] = {20.0, 100.0, 300.0, 500.0, 800.0};
    for (u32 n = 0; n < PL_COUNT(densities); n++) {
        char json[1024];
        snprintf(json, sizeof json,
                 "\"waters\":[{\"name\":\"w\",\"width\":6,\"length\":6,"
                 "\"border_x\":\"absorbing\",\"border_z\":\"absorbing\"}],"
                 "\"bodies\":[{\"name\":\"b\",\"position\":[0.03,0.3,0.02],\"mass\":%g,"
                 "\"shape\":{\"kind\":\"box\",\"half\":[0.4,0.2,0.3]}}]",
                 0.4 * 0.8 * 0.6 * densities[n]);
        Stage *stage = stage_of(json);
        u32 ticks = 0;
        while (ticks < 1800 && (ticks < 60 || rigid_awake(world_rigid(stage->world), 0))) {
            water_stage_run(stage, 1);
            ticks++;
        }
        print_message("density %g: asleep after %.1f s\n", densities[n], ticks / 60.0);
        expect_at_most("asleep after", ticks / 60.0, 29.0);
        /* A rising level lifts it. */
        f32 before = rigid_position(world_rigid(stage->world), 0).y;
        f32 added = 0.1f * 36.0f;
        pool_pour(water_stage_matter(stage)->pools[0], vec3(0.0f, 0.0f, 0.0f), 9.0f, added);
        water_stage_run(stage, 120);
        assert_true(rigid_position(world_rigid(stage->world), 0).y > before + 0.02f);
        stage_destroy(stage);
    }
}

/* Walls hold g h²/2 of each metre, the bed the weight of the water and of floating bodies. */
static void probes_weigh_walls_and_bed(void **state)
{
    PL_UNUSED(state);
    static const char *const names[] = {"low_x", "high_x", "low_z",   "high_z",
                                        "bed_x", "bed_y",  "force_x", "momentum_x"};
    char json[2048];
    int at = snprintf(json, sizeof json,
                      "\"waters\":[{\"name\":\"w\",\"width\":8,\"length\":4,\"depth\":1.5,"
                      "\"damping\":0.5}],\"bodies\":[{\"name\":\"b\",\"position\":[-1.5,0.2,0],"
                      "\"mass\":150,\"shape\":{\"kind\":\"box\",\"half\":[0.5,0.3,0.5]}},"
                      "{\"name\":\"step\",\"motion\":\"static\",\"position\":[3,-1.5,0],"
                      "\"shape\":{\"kind\":\"box\",\"half\":[1,0.5,4]}}],\"probes\":[");
    for (u32 n = 0; n < PL_COUNT(names); n++) {
        at += snprintf(json + at, sizeof json - (size_t)at,
                       "%s{\"name\":\"%s\",\"kind\":\"water.%s\",\"of\":\"w\"}", n > 0 ? "," : "",
                       names[n], names[n]);
    }
    snprintf(json + at, sizeof json - (size_t)at, "]");
    Stage *stage = stage_of(json);
    water_stage_run(stage, 1500);
    const Pool *pool = water_stage_matter(stage)->pools[0];
    f64 level = (f64)pool_level(pool, 60, 10), low = 1.5 + level, high = 1.0 + level;
    f64 wall[2] = {0.5 * 9810.0 * low * low * 4.0, 0.5 * 9810.0 * high * high * 4.0};
    f64 side = 0.5 * 9810.0 * (low * low * 6.0 + high * high * 2.0);
    f64 weight = 9.81 * (1000.0 * water_stage_sums(stage).volume + 150.0);
    const f64 expected[] = {-wall[0], wall[1], -side, side, wall[0] - wall[1], -weight, 0.0, 0.0};
    for (u32 n = 0; n < PL_COUNT(names); n++) {
        f64 got = stage_probe(stage, names[n]);
        print_message("%s: %.1f, expected %.1f\n", names[n], got, expected[n]);
        assert_true(fabs(got - expected[n]) <= 0.01 * side);
        assert_true(n != 5 || fabs(got - expected[n]) <= 0.002 * weight);
    }
    stage_destroy(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_float_at_their_draught),
        cmocka_unit_test(energy_of_water_and_bodies_does_not_grow),
        cmocka_unit_test(momentum_is_exchanged),
        cmocka_unit_test(spray_keeps_mass_and_momentum),
        cmocka_unit_test(floating_bodies_fall_asleep),
        cmocka_unit_test(probes_weigh_walls_and_bed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
