/* test_water.c: water on grids in a world: floating, displacement, momentum, dams, hands, images; a
 * scene without waters declares no fields or parameters of water. */
#include "server/author/scene_load.h"
#include "server/world/matter_water.h"
#include "tests/determinism/world_script.h"
#include "tests/support/stage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

static MatterWater *water_in(const Stage *stage)
{
    return water_of(stage_matter(stage, &matter_water));
}

/* Runs ticks, then validates the pools. */
static void run(Stage *stage, u32 ticks)
{
    MatterWater *water = water_in(stage);
    stage_run(stage, ticks);
    for (u32 w = 0; w < water->list.count; w++) {
        const char *wrong = pool_validate(water->pools[w]);
        if (wrong != NULL) {
            fail_msg("%s", wrong);
        }
    }
}

static PoolSums sums_of(const Stage *stage)
{
    return pool_sums(water_in(stage)->pools[0], 9.81f);
}

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
            f64 before = sums_of(stage).volume, ratio = densities[d] / 1000.0;
            run(stage, 900);
            f64 height = stage_probe(stage, "h"),
                level = method ? sums_of(stage).displaced / 64.0
                               : (before + sums_of(stage).displaced) / 64.0 - 1.5;
            f64 draught = level - (height - 0.3);
            print_message("%s, density %.1f: draught %.3f of %.3f m, displaced %.4f m^3\n",
                          method ? "wave" : "shallow", ratio, draught, 0.6 * ratio,
                          sums_of(stage).displaced);
            expect_near("draught", draught, 0.6 * ratio, 0.03 * ratio);
            expect_near("displaced", sums_of(stage).displaced, 0.6 * ratio, 0.03 * ratio);
            assert_true(fabs(sums_of(stage).volume - before) < 1e-5 * 64.0);
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
            run(stage, 1);
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
    matter_water_sums(&water_in(stage)->base, &before);
    run(stage, 90);
    matter_water_sums(&water_in(stage)->base, &after);
    Vec3 now = rigid_velocity(rigid, 0);
    f64 x = after.momentum[0] - before.momentum[0] + mass * ((f64)now.x - (f64)v.x);
    f64 z = after.momentum[2] - before.momentum[2] + mass * ((f64)now.z - (f64)v.z);
    print_message("body %.3f -> %.3f m/s; momentum off by %.4f, %.4f of %.1f N s\n", (f64)v.x,
                  (f64)now.x, x, z, mass * (f64)v.x);
    assert_true((f64)now.x < 0.8 * (f64)v.x);
    assert_true(fabs(x) < 1e-3 * mass && fabs(z) < 1e-3 * mass);
    stage_destroy(stage);
}

static const char dam_json[] =
    "\"waters\":[{\"name\":\"w\",\"width\":12,\"length\":4,\"cell\":0.2,\"depth\":0.5,"
    "\"dry\":true,\"basins\":[{\"position\":[-4,0,0],\"size\":[4,0,4],\"level\":0.5}],"
    "\"gauges\":[{\"name\":\"far\",\"position\":[5,0,0]}]}],"
    "\"bodies\":[{\"name\":\"dam\",\"motion\":\"static\",\"position\":[-1.8,0,0],"
    "\"shape\":{\"kind\":\"box\",\"half\":[0.21,1.5,3]}}]";

/* A dam is a static body; when it is removed the water flows. */
static void dams_hold_until_they_go(void **state)
{
    PL_UNUSED(state);
    Stage *stage = stage_of(dam_json);
    f64 volume = sums_of(stage).volume;
    assert_true(volume > 10.0);
    run(stage, 60);
    assert_true(stage_probe(stage, "far") < -0.499);
    world_remove_entity(stage->world, 1);
    run(stage, 300);
    assert_true(stage_probe(stage, "far") > -0.3);
    assert_true(fabs(sums_of(stage).volume / volume - 1.0) < 1e-5);
    stage_destroy(stage);
}

/* A gate acts as bed while it stands on the bed; lifted, it lets water through. */
static void lifted_gates_let_water_through(void **state)
{
    PL_UNUSED(state);
    for (u32 n = 0; n < 2; n++) {
        char json[1024];
        snprintf(json, sizeof json,
                 "\"waters\":[{\"name\":\"w\",\"width\":12,\"length\":4,\"cell\":0.2,"
                 "\"depth\":0.5,\"dry\":true,\"mask\":1,\"dams\":[\"gate\"],"
                 "\"basins\":[{\"position\":[-4,0,0],\"size\":[4,0,4],\"level\":0.5}],"
                 "\"gauges\":[{\"name\":\"far\",\"position\":[5,0,0]}]}],"
                 "\"bodies\":[{\"name\":\"gate\",\"motion\":\"kinematic\",\"group\":2,"
                 "\"position\":[-1.8,0.5,0],\"velocity\":[0,%g,0],"
                 "\"shape\":{\"kind\":\"box\",\"half\":[0.21,1,3]}}]",
                 n == 0 ? 0.0 : 0.3);
        Stage *stage = stage_of(json);
        f64 volume = sums_of(stage).volume;
        assert_true(volume > 10.0);
        run(stage, 300);
        assert_true(n == 0 ? stage_probe(stage, "far") < -0.499
                           : stage_probe(stage, "far") > -0.35);
        assert_true(fabs(sums_of(stage).volume / volume - 1.0) < 1e-5);
        stage_destroy(stage);
    }
}

static void springs_and_drains_keep_account(void **state)
{
    PL_UNUSED(state);
    Stage *stage = stage_of("\"waters\":[{\"name\":\"w\",\"width\":6,\"length\":6,"
                            "\"sources\":[{\"position\":[1,0,1],\"rate\":0.5,\"stop\":2},"
                            "{\"position\":[-1,0,-1],\"rate\":-0.2,\"start\":1,\"stop\":2}]}]");
    f64 before = sums_of(stage).volume;
    run(stage, 180);
    expect_near("volume", sums_of(stage).volume - before, 1.0 - 0.2, 1e-3);
    stage_destroy(stage);
}

/* A channel that ends at an edge, 1 m above a basin; its water becomes spray there. */
static const char fall_json[] =
    "\"liquid_spacing\":0.06,"
    "\"waters\":[{\"name\":\"w\",\"width\":6,\"length\":1.2,\"cell\":0.1,\"depth\":1.6,\"dry\":"
    "true,"
    "\"spray\":\"drops\",\"friction\":0,\"basins\":[{\"position\":[-2,0,0],\"size\":[2,0,2],"
    "\"level\":0.3},"
    "{\"position\":[2,0,0],\"size\":[4,0,2],\"level\":-1.2}]}],"
    "\"liquids\":[{\"name\":\"drops\",\"capacity\":4000}],"
    "\"bodies\":[{\"name\":\"step\",\"motion\":\"static\",\"position\":[-2,-0.8,0],"
    "\"shape\":{\"kind\":\"box\",\"half\":[2,0.8,0.6]}},"
    "{\"name\":\"sides\",\"motion\":\"static\",\"position\":[0,0,0],\"shape\":{\"kind\":"
    "\"compound\","
    "\"children\":[{\"shape\":{\"kind\":\"box\",\"half\":[3.2,2,0.1]},\"position\":[0,0,0.7]},"
    "{\"shape\":{\"kind\":\"box\",\"half\":[3.2,2,0.1]},\"position\":[0,0,-0.7]},"
    "{\"shape\":{\"kind\":\"box\",\"half\":[0.1,2,0.8]},\"position\":[3.1,0,0]},"
    "{\"shape\":{\"kind\":\"box\",\"half\":[3,0.1,0.8]},\"position\":[0,-1.7,0]}]}}],"
    "\"probes\":[{\"name\":\"e\",\"kind\":\"energy\"}]";

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
    Matter *liquid = water_in(stage)->sprays[0].of;
    MatterSums both = {0};
    u32 parcels = 0;
    matter_water_sums(&water_in(stage)->base, &both);
    liquid->ops->sums(liquid, &both);
    WorldStats stats;
    world_stats(stage->world, &stats);
    parcels = stats.particles;
    sum[0] = 1000.0 * sums_of(stage).volume + 1000.0 * parcels * pow(0.06, 3.0);
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
        run(stage, 1);
        PoolStats stats = pool_stats(water_in(stage)->pools[0]);
        shed += stats.shed;
        caught += stats.caught;
        most = u32_max(most, shed - caught);
        least = fmin(least, stage_probe(stage, "e"));
        rise = fmax(rise, stage_probe(stage, "e") - least);
        all_of(stage, after);
        if (t % 32 == 0) { /* one exchange more than the tick made */
            memcpy(before, after, sizeof before);
            matter_water_exchange(water_in(stage));
            all_of(stage, after);
            expect_near("momentum along x", after[1], before[1], 1e-2);
            expect_near("momentum along z", after[2], before[2], 1e-2);
            shed += pool_stats(water_in(stage)->pools[0]).shed;
            caught += pool_stats(water_in(stage)->pools[0]).caught - stats.caught;
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
    hand_over(fall_json, 2000, 480, false);
    hand_over(bore_json, 1000, 150, true); /* before any falls beside it */
}

/* A hand moving at 100 m/s, and impulses of any size. */
static void hands_stir_within_bounds(void **state)
{
    PL_UNUSED(state);
    for (u32 method = 0; method < 2; method++) {
        char json[256];
        snprintf(json, sizeof json, "\"waters\":[{\"name\":\"w\",\"method\":\"%s\"}]",
                 method ? "wave" : "shallow");
        Stage *stage = stage_of(json);
        Pool *pool = water_in(stage)->pools[0];
        assert_true(pool_hand_grab(pool, 0, vec3(0.0f, 0.0f, 0.0f), 0.3f));
        for (u32 t = 0; t < 120; t++) {
            pool_hand_drag(pool, 0, vec3(t % 2 ? 1.7f : -1.7f, 0.0f, 0.1f));
            pool_push(pool, vec3(1.0f, 0.0f, 1.0f), 0.5f, vec3(1e9f, t % 3 ? -1e9f : 1e9f, NAN));
            pool_push(pool, vec3(1.0f, 0.0f, 1.0f), 0.5f, vec3(1e5f, t % 3 ? -1e5f : 1e5f, 0.0f));
            run(stage, 1);
        }
        pool_hand_release(pool, 0);
        run(stage, 60);
        stage_destroy(stage);
    }
}

static const char floating_json[] =
    "\"waters\":[{\"name\":\"w\",\"width\":6,\"length\":6,\"rain\":3},"
    "{\"name\":\"v\",\"method\":\"wave\",\"position\":[20,0,0]}],"
    "\"bodies\":[{\"name\":\"b\",\"position\":[0.4,1,0.1],\"mass\":80,"
    "\"shape\":{\"kind\":\"sphere\",\"radius\":0.4}},"
    "{\"name\":\"c\",\"position\":[20.4,1,0.1],\"mass\":80,"
    "\"shape\":{\"kind\":\"sphere\",\"radius\":0.4}}]";

static void goes_on_alike(const char *json)
{
    Stage *first = stage_of(json), *second = stage_of(json);
    run(first, 50);
    u8 *image;
    size_t bytes;
    assert_int_equal(world_save(first->world, &image, &bytes), ERROR_OK);
    ErrorText error = {0};
    if (world_load(second->world, image, bytes, &error) != ERROR_OK) {
        fail_msg("%s", error.text);
    }
    free(image);
    for (u32 t = 0; t < 60; t++) {
        run(first, 1);
        run(second, 1);
        expect_bits("hash", world_hash(second->world), world_hash(first->world));
    }
    stage_destroy(first);
    stage_destroy(second);
}

static void a_loaded_world_goes_on_alike(void **state)
{
    PL_UNUSED(state);
    goes_on_alike(floating_json);
    goes_on_alike(fall_json);
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
            run(stage, 1);
            ticks++;
        }
        print_message("density %g: asleep after %.1f s\n", densities[n], ticks / 60.0);
        expect_at_most("asleep after", ticks / 60.0, 29.0);
        /* A rising level lifts it. */
        f32 before = rigid_position(world_rigid(stage->world), 0).y;
        f32 added = 0.1f * 36.0f;
        pool_pour(water_in(stage)->pools[0], vec3(0.0f, 0.0f, 0.0f), 9.0f, added);
        run(stage, 120);
        assert_true(rigid_position(world_rigid(stage->world), 0).y > before + 0.02f);
        stage_destroy(stage);
    }
}

static void a_scene_without_waters_declares_nothing(void **state)
{
    PL_UNUSED(state);
    Stage *stage = stage_of("\"bodies\":[]");
    MessageWorld about;
    world_describe(stage->world, &about);
    for (u32 i = 0; i < about.parameter_count; i++) {
        assert_null(strstr(about.parameters[i].name, "water"));
    }
    assert_int_equal(water_in(stage)->list.count, 0);
    stage_destroy(stage);
}

static void bad_waters_are_refused_by_place(void **state)
{
    PL_UNUSED(state);
    static const char *const bad[][2] = {
        {"\"width\":0", "width"},
        {"\"cell\":1e9", "cell"},
        {"\"width\":10.03", "width"},
        {"\"cell\":0.01", "cell"},
        {"\"position\":[1e6,0,0]", "position"},
        {"\"method\":\"wave\",\"basins\":[{}]", "basins"},
        {"\"gauges\":[{\"name\":\"g\",\"position\":[99,0,0]}]", "position"},
        {"\"sources\":[{\"rate\":1e30}]", "rate"},
        {"\"clear\":0", "clear"},
        {"\"spray\":\"none\"", "spray"},
        {"\"dams\":[\"none\"]", "dams"},
    };
    for (u32 n = 0; n < PL_COUNT(bad); n++) {
        char json[512];
        ErrorText error = {0};
        snprintf(json, sizeof json, "{\"name\":\"t\",\"waters\":[{\"name\":\"w\",%s}]}", bad[n][0]);
        assert_null(scene_parse(json, strlen(json), "t.json", &error));
        if (strstr(error.text, bad[n][1]) == NULL || strstr(error.text, "waters[0]") == NULL) {
            fail_msg("%s: %s", bad[n][0], error.text);
        }
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
    run(stage, 1500);
    const Pool *pool = water_in(stage)->pools[0];
    f64 level = (f64)pool_level(pool, 60, 10), low = 1.5 + level, high = 1.0 + level;
    f64 wall[2] = {0.5 * 9810.0 * low * low * 4.0, 0.5 * 9810.0 * high * high * 4.0};
    f64 side = 0.5 * 9810.0 * (low * low * 6.0 + high * high * 2.0);
    f64 weight = 9.81 * (1000.0 * sums_of(stage).volume + 150.0);
    const f64 expected[] = {-wall[0], wall[1], -side, side, wall[0] - wall[1], -weight, 0.0, 0.0};
    for (u32 n = 0; n < PL_COUNT(names); n++) {
        f64 got = stage_probe(stage, names[n]);
        print_message("%s: %.1f, expected %.1f\n", names[n], got, expected[n]);
        assert_true(fabs(got - expected[n]) <= 0.01 * side);
        assert_true(n != 5 || fabs(got - expected[n]) <= 0.002 * weight);
    }
    stage_destroy(stage);
}

static void probes_are_refused(void **state)
{
    PL_UNUSED(state);
    static const char *const bad[][3] = {{"shallow", "water.colour", "w"},
                                         {"shallow", "water.low_x", "v"},
                                         {"wave", "water.low_x", "w"}};
    static const char *const why[] = {"no \"colour\"", "no water \"v\"", "without momentum"};
    for (u32 n = 0; n < PL_COUNT(bad); n++) {
        char json[512];
        ErrorText error = {.text = ""};
        snprintf(json, sizeof json,
                 "{\"name\":\"t\",\"waters\":[{\"name\":\"w\",\"method\":\"%s\"}],\"probes\":["
                 "{\"name\":\"p\",\"kind\":\"%s\",\"of\":\"%s\"}]}",
                 bad[n][0], bad[n][1], bad[n][2]);
        Scene *scene = scene_parse(json, strlen(json), "t.json", &error);
        World *world = scene != NULL ? world_create(scene, NULL, &error) : NULL;
        if (world != NULL || strstr(error.text, why[n]) == NULL) {
            fail_msg("%s: %s", why[n], error.text);
        }
        scene_destroy(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_float_at_their_draught),
        cmocka_unit_test(energy_of_water_and_bodies_does_not_grow),
        cmocka_unit_test(momentum_is_exchanged),
        cmocka_unit_test(dams_hold_until_they_go),
        cmocka_unit_test(lifted_gates_let_water_through),
        cmocka_unit_test(springs_and_drains_keep_account),
        cmocka_unit_test(spray_keeps_mass_and_momentum),
        cmocka_unit_test(hands_stir_within_bounds),
        cmocka_unit_test(a_loaded_world_goes_on_alike),
        cmocka_unit_test(floating_bodies_fall_asleep),
        cmocka_unit_test(a_scene_without_waters_declares_nothing),
        cmocka_unit_test(bad_waters_are_refused_by_place),
        cmocka_unit_test(probes_weigh_walls_and_bed),
        cmocka_unit_test(probes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
