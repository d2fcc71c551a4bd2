/* test_liquid.c: liquids and grains in a world: fills, sources and drains, hands, probes,
 * parameters, reset, saving. How they move is tested beside their solver. */
#include "protocol/field/quantize.h"
#include "server/author/scene_load.h"
#include "server/world/matter_liquid.h"
#include "server/world/world_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/world_rig.h"

#define HEAD "{\"name\":\"t\",\"bounds\":[-4,-2,-4,4,6,4],\"gravity\":[0,0,0],"
#define CUBE "\"fill\":[{\"shape\":{\"kind\":\"box\",\"half\":[0.5,0.5,0.5]}}]"
#define PROBES                                                                                     \
    "\"probes\":[{\"name\":\"n\",\"kind\":\"particles\",\"of\":\"w\"},"                            \
    "{\"name\":\"v\",\"kind\":\"volume\",\"of\":\"w\"},"                                           \
    "{\"name\":\"l\",\"kind\":\"level\",\"of\":\"w\"},"                                            \
    "{\"name\":\"h\",\"kind\":\"height\",\"of\":\"w\"},"                                           \
    "{\"name\":\"s\",\"kind\":\"speed\",\"of\":\"w\"}]}"

static Input input_of(WorldRig *r, InputKind kind, const char *name)
{
    return (Input){.kind = kind,
                   .user = 1,
                   .sequence = ++r->sequence,
                   .entity = name != NULL ? world_rig_entity(r, name) : 0,
                   .rotation = {1.0f, 0.0f, 0.0f, 0.0f},
                   .ray = {{0.0f, 0.0f, 4.0f}, {0.0f, 0.0f, -1.0f}}};
}

/* The code with which it is refused, 0: not. */
static int code_of(const WorldRig *r, Input input)
{
    world_tick(r->world, &input, 1);
    for (u32 i = 0; i < r->world->event_count; i++) {
        if (r->world->events[i].kind == EVENT_REFUSED) {
            return r->world->events[i].code;
        }
    }
    return 0;
}

static void a_scene_without_has_nothing_of_it(void **state)
{
    (void)state;
    WorldRig r = world_rig(HEAD "\"bodies\":[]}");
    MessageWorld about;
    world_describe(r.world, &about);
    for (u32 i = 0; i < about.parameter_count; i++) {
        assert_null(strstr(about.parameters[i].name, "viscosity"));
    }
    for (u32 i = 0; i < about.field_count; i++) {
        assert_string_not_equal(about.fields[i].name, "liquids");
    }
    world_rig_ticks(&r, 3);
    world_rig_finish(&r);
}

static void the_fill_is_there(void **state)
{
    (void)state;
    WorldRig r = world_rig(HEAD "\"liquid_spacing\":0.1,\"liquids\":[{\"name\":\"w\"," CUBE
                                ",\"velocity\":[0,0.5,0],\"capacity\":1500}]," PROBES);
    assert_float_equal(world_rig_probe(&r, "n"), 1000.0, 0);
    assert_float_equal(world_rig_probe(&r, "v"), 1.0, 1e-6);
    assert_float_equal(world_rig_probe(&r, "h"), 0.0, 1e-6);
    assert_float_equal(world_rig_probe(&r, "s"), 0.5, 1e-6);
    assert_float_equal(world_rig_probe(&r, "l"), 0.5, 1e-6);
    const Entity *w = world_entity(r.world, world_rig_entity(&r, "w"));
    assert_int_equal(w->count, 1500);
    assert_true(w->movable);
    assert_float_equal(w->mass_kg, 1000.0f, 1.0f);
    Frame *frame = world_frame(r.world);
    u32 live = 0;
    for (u32 i = 0; i < w->count; i++) {
        const QPoint *point = &frame_points(frame, w->field)[w->first + i];
        f32 y = dequantize_position(&frame->fields->fields[w->field], point->position).y;
        live += point->generation != 0;
        assert_true(point->generation == 0 || (y > -0.5f && y < 0.5f));
    }
    assert_int_equal(live, 1000);
    frame_release(frame);
    world_rig_finish(&r);
}

/* A ball in the middle, a wall at the side: no particle is in them, nor half a spacing near. */
static void fills_spare_bodies(void **state)
{
    (void)state;
    WorldRig r = world_rig(
        HEAD "\"liquid_spacing\":0.05,\"bodies\":[{\"name\":\"ball\",\"shape\":{\"kind\":"
             "\"sphere\",\"radius\":0.3}},{\"name\":\"wall\",\"motion\":\"static\",\"shape\":{"
             "\"kind\":\"box\",\"half\":[0.2,1,1]},\"position\":[-0.5,0,0]},{\"name\":\"ghost\","
             "\"motion\":\"static\",\"sensor\":true,\"shape\":{\"kind\":\"sphere\",\"radius\":"
             "0.1},\"position\":[0.4,0.4,0.4]}],\"liquids\":[{\"name\":\"w\"," CUBE "}]," PROBES);
    const Liquid *liquid = ((const MatterLiquid *)world_matter_at(r.world, 2))->liquid;
    for (u32 i = 0; i < liquid_slots(liquid); i++) {
        Vec3 x = liquid_positions(liquid)[i];
        assert_true(liquid_generations(liquid)[i] == 0 ||
                    (vec3_length(x) > 0.3f + 0.44f * 0.05f && x.x > -0.3f + 0.44f * 0.05f));
    }
    /* 16 of 20 layers beside the wall, less a ball of 0.3225 m that it does not cut. */
    f64 volume = 0.8 - 4.0 / 3.0 * 3.14159 * 0.3225 * 0.3225 * 0.3225;
    assert_float_equal(world_rig_probe(&r, "v"), volume, 0.015);
    world_rig_finish(&r);
}

/* 21 points in a nozzle of 2.5 spacings, 2 m/s: 40 layers a second, of which those points are left
 * out that the jet behind them crowds. */
static void sources_emit_at_their_rate(void **state)
{
    (void)state;
    WorldRig r = world_rig(
        HEAD "\"liquid_spacing\":0.05,\"liquids\":[{\"name\":\"w\",\"sources\":[{\"position\":"
             "[0,1,0],\"direction\":[0,1,0],\"radius\":0.125,\"speed\":2,\"start\":0.5,"
             "\"stop\":1.5}]}]," PROBES);
    world_rig_ticks(&r, 30);
    assert_float_equal(world_rig_probe(&r, "n"), 0.0, 0);
    world_rig_ticks(&r, 30);
    assert_float_equal(world_rig_probe(&r, "n"), 21.0 * 20.0, 0.1 * 21.0 * 20.0);
    assert_float_equal(world_rig_probe(&r, "s"), 2.0, 0.3);
    world_rig_ticks(&r, 60);
    assert_float_equal(world_rig_probe(&r, "n"), 21.0 * 40.0, 0.1 * 21.0 * 40.0);
    world_rig_finish(&r);
}

static void flow_is_a_parameter(void **state)
{
    (void)state;
    WorldRig r = world_rig(
        HEAD "\"liquid_spacing\":0.05,\"liquids\":[{\"name\":\"w\",\"sources\":[{\"position\":"
             "[0,1,0],\"direction\":[0,1,0],\"radius\":0.125,\"speed\":1}]}]," PROBES);
    u32 flow = 0;
    while (strcmp(r.world->parameters[flow].name, "flow") != 0) {
        flow++;
    }
    Input set = input_of(&r, INPUT_SET, NULL);
    set.index = flow;
    set.values[0] = 3.0f;
    assert_int_equal(code_of(&r, set), 0);
    world_rig_ticks(&r, 59);
    assert_float_equal(world_rig_probe(&r, "n"), 21.0 * 60.0, 0.1 * 21.0 * 60.0);
    set.values[0] = 0.0f;
    set.sequence = ++r.sequence;
    f64 before = world_rig_probe(&r, "n");
    assert_int_equal(code_of(&r, set), 0);
    world_rig_ticks(&r, 30);
    assert_true(world_rig_probe(&r, "n") <= before &&
                world_rig_probe(&r, "n") > before - 60.0); /* some leave */
    world_rig_finish(&r);
}

/* In a wall, in water that fills the world around it, and where there is no room for more. */
static void blocked_sources_wait(void **state)
{
    (void)state;
    WorldRig r = world_rig(
        HEAD "\"liquid_spacing\":0.1,\"bodies\":[{\"name\":\"rock\",\"motion\":\"static\","
             "\"shape\":{\"kind\":\"sphere\",\"radius\":1},\"position\":[2,0,0]}],\"liquids\":[{"
             "\"name\":\"w\",\"sources\":[{\"position\":[2,0,0],\"speed\":5}]}]," PROBES);
    world_rig_ticks(&r, 60);
    assert_float_equal(world_rig_probe(&r, "n"), 0.0, 0);
    world_rig_finish(&r);
    r = world_rig(
        HEAD "\"liquid_spacing\":0.1,\"liquids\":[{\"name\":\"w\",\"capacity\":7,\"sources\":[{"
             "\"position\":[0,1,0],\"speed\":1}]}]," PROBES);
    world_rig_ticks(&r, 100);
    assert_float_equal(world_rig_probe(&r, "n"), 7.0, 0);
    world_rig_finish(&r);
}

static void drains_and_bounds_swallow(void **state)
{
    (void)state;
    WorldRig r = world_rig(
        HEAD "\"liquid_spacing\":0.1,\"liquids\":[{\"name\":\"w\"," CUBE
             ",\"drains\":[{\"shape\":{\"kind\":\"box\",\"half\":[0.1,9,9]},\"position\":[0.3,0"
             ",0]}]}]," PROBES);
    world_rig_ticks(&r, 1);
    assert_true(world_rig_probe(&r, "n") <= 800.0);
    assert_true(world_rig_probe(&r, "n") > 400.0);
    world_rig_finish(&r);
    r = world_rig(HEAD "\"liquid_spacing\":0.1,\"liquids\":[{\"name\":\"w\"," CUBE
                       ",\"velocity\":[0,60,0]}]," PROBES);
    world_rig_ticks(&r, 1);
    assert_float_equal(world_rig_probe(&r, "n"), 1000.0, 0);
    world_rig_ticks(&r, 8);
    assert_float_equal(world_rig_probe(&r, "n"), 0.0, 0);
    world_rig_finish(&r);
}

static void hands_stir_and_push(void **state)
{
    (void)state;
    WorldRig r = world_rig(HEAD "\"liquid_spacing\":0.1,\"liquids\":[{\"name\":\"w\"," CUBE
                                ",\"capacity\":1200}]," PROBES);
    Input push = input_of(&r, INPUT_PUSH, "w");
    push.vector = vec3(0.0f, 20.0f, 0.0f);
    assert_int_equal(code_of(&r, push), 0);
    LiquidSums sums =
        liquid_sums(((const MatterLiquid *)world_matter_at(r.world, 2))->liquid, vec3_zero());
    assert_float_equal(sums.momentum[1], 20.0, 0.5);
    Input grab = input_of(&r, INPUT_GRAB, "w");
    grab.element = 5;
    assert_int_equal(code_of(&r, grab), 0);
    Input move = input_of(&r, INPUT_MOVE, NULL);
    move.target = vec3(0.0f, 3.0f, 0.0f);
    assert_int_equal(code_of(&r, move), 0);
    world_rig_ticks(&r, 30);
    assert_true(world_rig_probe(&r, "s") > 0.05);
    assert_int_equal(code_of(&r, input_of(&r, INPUT_RELEASE, NULL)), 0);
    /* Free slots and removed particles cannot be grabbed, and liquids cannot be removed. */
    grab = input_of(&r, INPUT_GRAB, "w");
    grab.element = 1199;
    assert_int_equal(code_of(&r, grab), ERROR_LIMIT);
    grab.element = 1200;
    grab.sequence = ++r.sequence;
    assert_int_equal(code_of(&r, grab), ERROR_RANGE);
    assert_int_equal(code_of(&r, input_of(&r, INPUT_REMOVE, "w")), ERROR_UNSUPPORTED);
    world_rig_finish(&r);
}

static const char all_of_it[] =
    "{\"name\":\"t\",\"bounds\":[-4,-2,-4,4,6,4],\"liquid_spacing\":0.08,\"bodies\":[{\"name\":"
    "\"g\",\"shape\":{\"kind\":\"plane\"},\"motion\":\"static\"},{\"name\":\"b\",\"shape\":{"
    "\"kind\":\"sphere\",\"radius\":0.2},\"position\":[0,1.2,0]}],\"liquids\":[{\"name\":\"w\","
    "\"fill\":[{\"shape\":{\"kind\":\"sphere\",\"radius\":0.5},\"position\":[0,0.6,0]}],"
    "\"capacity\""
    ":1500,\"jitter\":0.3,\"sources\":[{\"position\":[1,2,0],\"speed\":2,\"spread\":20,\"radius\":"
    "0.1}],\"drains\":[{\"shape\":{\"kind\":\"plane\"},\"position\":[0,0.02,0],\"rotation\":[0,0,3]"
    "}]}],\"grains\":[{\"name\":\"s\",\"fill\":[{\"shape\":{\"kind\":\"box\",\"half\":[0.3,0.3,0.3]"
    "}"
    ",\"position\":[-1,0.5,0]}]}]," PROBES;

static void a_reset_begins_anew(void **state)
{
    (void)state;
    WorldRig r = world_rig(all_of_it);
    f64 count = world_rig_probe(&r, "n"), height = world_rig_probe(&r, "h");
    world_rig_ticks(&r, 40);
    f64 later = world_rig_probe(&r, "n"), speed = world_rig_probe(&r, "s");
    assert_true(later != count);
    Input reset = input_of(&r, INPUT_RESET, NULL);
    world_tick(r.world, &reset, 1);
    world_rig_ticks(&r, 39);
    assert_float_equal(world_rig_probe(&r, "n"), later, 0.02 * later);
    assert_float_equal(world_rig_probe(&r, "s"), speed, 0.02 * speed);
    world_rebuild(r.world, false);
    assert_float_equal(world_rig_probe(&r, "n"), count, 0);
    assert_float_equal(world_rig_probe(&r, "h"), height, 0);
    world_rig_finish(&r);
}

/* Saved while it moves, while it is held, after a parameter was changed, and loaded into a world
 * that has gone another way. */
static void images_go_on(void **state)
{
    (void)state;
    WorldRig r = world_rig(all_of_it), other = world_rig(all_of_it);
    Input grab = input_of(&r, INPUT_GRAB, "w");
    assert_int_equal(code_of(&r, grab), 0);
    Input set = input_of(&r, INPUT_SET, NULL);
    while (strcmp(r.world->parameters[set.index].name, "viscosity") != 0) {
        set.index++;
    }
    set.values[0] = 50.0f;
    assert_int_equal(code_of(&r, set), 0);
    world_rig_ticks(&r, 50);
    u8 *image;
    size_t bytes;
    ErrorText error = {.text = ""};
    assert_int_equal(world_save(r.world, &image, &bytes), 0);
    world_rig_ticks(&other, 7);
    assert_int_equal(world_load(other.world, image, bytes, &error), 0);
    assert_int_equal(world_hash(other.world), world_hash(r.world));
    Input move = input_of(&r, INPUT_MOVE, NULL);
    move.target = vec3(0.5f, 1.0f, 0.5f);
    for (u32 i = 0; i < 60; i++) {
        world_tick(r.world, &move, i == 20);
        world_tick(other.world, &move, i == 20);
        if (world_hash(other.world) != world_hash(r.world)) {
            fail_msg("they differ %u ticks later", i + 1);
        }
    }
    free(image);
    world_rig_finish(&r);
    world_rig_finish(&other);
}

/* ---- abuse: the world stays bounded, and comes back to rest ---- */

#define TANK                                                                                       \
    "\"bodies\":[{\"name\":\"g\",\"shape\":{\"kind\":\"plane\"},\"motion\":\"static\"},{\"name\":" \
    "\"a\","                                                                                       \
    "\"motion\":\"static\",\"shape\":{\"kind\":\"box\",\"half\":[0.1,1,0.7]},\"position\":[0.6,1," \
    "0]},{"                                                                                        \
    "\"name\":\"b\",\"motion\":\"static\",\"shape\":{\"kind\":\"box\",\"half\":[0.1,1,0.7]},"      \
    "\"position\""                                                                                 \
    ":[-0.6,1,0]},{\"name\":\"c\",\"motion\":\"static\",\"shape\":{\"kind\":\"box\",\"half\":[0."  \
    "7,1,"                                                                                         \
    "0.1]},\"position\":[0,1,0.6]},{\"name\":\"d\",\"motion\":\"static\",\"shape\":{\"kind\":"     \
    "\"box\","                                                                                     \
    "\"half\":[0.7,1,0.1]},\"position\":[0,1,-0.6]}"
#define FALLS "{\"name\":\"t\",\"bounds\":[-4,-2,-4,4,6,4],\"liquid_spacing\":0.1,"

/* m/s, of the fastest particle; fails where anything is not finite. */
static f64 fastest(const WorldRig *r)
{
    const Liquid *liquid = ((const MatterLiquid *)world_matter_at(r->world, 2))->liquid;
    f64 most = 0.0;
    for (u32 i = 0; i < liquid_slots(liquid); i++) {
        Vec3 v = liquid_velocities(liquid)[i];
        assert_true(vec3_is_finite(v) && vec3_is_finite(liquid_positions(liquid)[i]));
        most = fmax(most, (f64)vec3_length(v));
    }
    return most;
}

static void a_hand_at_100_m_s_does_no_harm(void **state)
{
    (void)state;
    WorldRig r = world_rig(FALLS TANK
                           "],\"liquids\":[{\"name\":\"w\",\"fill\":[{\"shape\":{\"kind\":\"box\","
                           "\"half\":[0.5,0.4,0.5]},\"position\":[0,0.4,0]}]}]," PROBES);
    f64 count = world_rig_probe(&r, "n");
    Input grab = input_of(&r, INPUT_GRAB, "w");
    grab.element = 300;
    assert_int_equal(code_of(&r, grab), 0);
    for (u32 i = 0; i < 60; i++) {
        Input move = input_of(&r, INPUT_MOVE, NULL);
        move.target = vec3(i % 2 == 0 ? 0.8f : -0.8f, 0.4f, 0.0f);
        assert_int_equal(code_of(&r, move), 0);
        assert_true(fastest(&r) < 60.0);
    }
    assert_int_equal(code_of(&r, input_of(&r, INPUT_RELEASE, NULL)), 0);
    world_rig_ticks(&r, 240);
    assert_true(world_rig_probe(&r, "n") > 0.5 * count); /* the rest has splashed over the rim */
    assert_true(world_rig_probe(&r, "s") < 0.3);
    world_rig_finish(&r);
}

/* A piston with the section of the tank takes a quarter of the volume that the water needs, and
 * goes back: the walls cannot hold what nothing can compress, but it comes to rest. */
static void a_squeezed_tank_recovers(void **state)
{
    (void)state;
    WorldRig r = world_rig(
        FALLS TANK
        ",{\"name\":\"lid\",\"motion\":\"static\",\"shape\":{\"kind\":\"box\",\"half\":[0.7,"
        "0.1,0.7]},\"position\":[0,2.1,0]},{\"name\":\"piston\",\"motion\":\"kinematic\","
        "\"shape\":{\"kind\":"
        "\"box\",\"half\":[0.5,0.25,0.5]},\"position\":[0,1.7,0],\"path\":{\"points\":[[0,0,0],"
        "[0,-1,0]],\"period\":4}}],\"liquids\":[{\"name\":\"w\",\"fill\":[{\"shape\":{\"kind\":"
        "\"box\",\"half\":[0.5,0.4,0.5]},\"position\":[0,0.4,0]}]}]," PROBES);
    f64 most = 0.0;
    for (u32 i = 0; i < 240; i++) {
        world_rig_ticks(&r, 1);
        most = fmax(most, fastest(&r));
    }
    world_rig_ticks(&r, 60);
    assert_true(most < 2001.0); /* SPEED_MAX_M_S */
    assert_true(fastest(&r) < 30.0);
    world_rig_finish(&r);
}

/* The third, a thousand times lighter than the water on it, does not come to rest. */
static void absurd_substances_stay_bounded(void **state)
{
    (void)state;
    static const char *const absurd[] = {
        "\"viscosity\":1000", "\"density\":20000,\"surface_tension\":10",
        "\"density\":1,\"viscosity\":1000", "\"vorticity\":1,\"contact_friction\":2"};
    for (u32 i = 0; i < PL_COUNT(absurd); i++) {
        char json[2048];
        snprintf(json, sizeof json,
                 FALLS TANK
                 "],\"liquids\":[{\"name\":\"w\",%s,\"fill\":[{\"shape\":{\"kind\":\"box\","
                 "\"half\":[0.3,0.4,0.3]},\"position\":[0,0.6,0]}]},{\"name\":\"o\",\"fill\":"
                 "[{\"shape\":{\"kind\":\"box\",\"half\":[0.3,0.2,0.3]},\"position\":[0,1.3,0"
                 "]}]}]," PROBES,
                 absurd[i]);
        WorldRig r = world_rig(json);
        f64 most = 0.0;
        for (u32 t = 0; t < 240; t++) {
            world_rig_ticks(&r, 1);
            most = fmax(most, fastest(&r));
        }
        if (!(most < 2001.0 && (i == 2 || fastest(&r) < 20.0))) {
            fail_msg("%s: up to %g m/s, and %g at the end", absurd[i], most, fastest(&r));
        }
        world_rig_finish(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scene_without_has_nothing_of_it),
        cmocka_unit_test(the_fill_is_there),
        cmocka_unit_test(fills_spare_bodies),
        cmocka_unit_test(sources_emit_at_their_rate),
        cmocka_unit_test(flow_is_a_parameter),
        cmocka_unit_test(blocked_sources_wait),
        cmocka_unit_test(drains_and_bounds_swallow),
        cmocka_unit_test(hands_stir_and_push),
        cmocka_unit_test(a_reset_begins_anew),
        cmocka_unit_test(images_go_on),
        cmocka_unit_test(a_hand_at_100_m_s_does_no_harm),
        cmocka_unit_test(a_squeezed_tank_recovers),
        cmocka_unit_test(absurd_substances_stay_bounded),
    };
    return cmocka_run_group_tests_name("liquid", tests, NULL, NULL);
}
