/* test_scene_liquid.c: liquids and grains of a scene: every field arrives, particles are counted,
 * and errors and excessive sizes are reported with their place. */
#include "protocol/scene/scene.h"
#include "server/author/scene_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* cmocka.h comes after what it needs. */
#include <cmocka.h>

#include "tests/support/scene_refused.h"

#define HEAD         "{\"name\":\"t\",\n"
#define BOX(x, y, z) "{\"shape\":{\"kind\":\"box\",\"half\":[" #x "," #y "," #z "]}}"
#define LIQUID       HEAD "\"liquids\":[{\"name\":\"w\","

static void every_field_arrives(void **state)
{
    (void)state;
    Scene *scene = must_parse(
        HEAD
        "\"liquid_spacing\":0.05,\"liquid_iterations\":3,\"liquids\":[{\"name\":\"w\",\"fill\":"
        "[" BOX(0.5, 0.25,
                0.1) ",{\"shape\":{\"kind\":\"sphere\",\"radius\":0.2},\"position\":[1,2,3],"
                     "\"rotation\":[0,90,0]}],\"velocity\":[1,2,3],\"density\":900,"
                     "\"viscosity\":2,\"surface_tension\":0.5,\"vorticity\":0.25,"
                     "\"contact_friction\":0.75,\"jitter\":0.5,\"group\":4,\"mask\":6,"
                     "\"capacity\":5000,\"drains\":[{\"shape\":{\"kind\":\"plane\"},"
                     "\"position\":[0,-5,0]}],\"color\":[1,0,0],\"color2\":[0,1,0],"
                     "\"roughness\":0.5,\"clear\":3,\"sources\":[{\"position\":[0,4,0],"
                     "\"direction\":[0,0,-2],\"radius\":0.1,\"speed\":2,\"spread\":45,"
                     "\"start\":1,\"stop\":3}]}],"
                     "\"grains\":[{\"name\":\"s\",\"friction\":0.25,\"static_friction\":0.5,"
                     "\"fill\":[" BOX(0.1, 0.1, 0.1) "]}]}");
    assert_float_equal(scene->liquid_spacing, 0.05f, 0);
    assert_int_equal(scene->liquid_iterations, 3);
    assert_int_equal(scene->liquid_count, 2);
    const SceneLiquid *w = &scene->liquids[0], *s = &scene->liquids[1];
    assert_string_equal(w->name, "w");
    assert_false(w->grains);
    assert_float_equal(w->density, 900.0f, 0);
    assert_float_equal(w->viscosity, 2.0f, 0);
    assert_float_equal(w->surface_tension, 0.5f, 0);
    assert_float_equal(w->vorticity, 0.25f, 0);
    assert_float_equal(w->contact_friction, 0.75f, 0);
    assert_float_equal(w->jitter, 0.5f, 0);
    assert_float_equal(w->velocity.z, 3.0f, 0);
    assert_int_equal(w->group, 4);
    assert_int_equal(w->mask, 6);
    assert_int_equal(w->capacity, 5000);
    assert_int_equal(w->fill_count, 2);
    assert_int_equal(w->drain_count, 1);
    assert_int_equal(w->source_count, 1);
    assert_int_equal(w->appearance.kind, APPEARANCE_LIQUID);
    assert_float_equal(w->appearance.clear_m, 3.0f, 0);
    assert_float_equal(w->appearance.radius, 0.025f, 0);
    assert_float_equal(w->appearance.color[0], 1.0f, 1e-6f);
    assert_float_equal(w->appearance.color2[1], 1.0f, 1e-6f);
    const FillVolume *ball = &scene->liquid_volumes[w->first_fill + 1];
    assert_int_equal(ball->shape.kind, SHAPE_SPHERE);
    assert_float_equal(ball->position.y, 2.0f, 0);
    assert_float_equal(ball->orientation.y, 0.70710678f, 1e-6);
    assert_int_equal(scene->liquid_volumes[w->first_drain].shape.kind, SHAPE_PLANE);
    const SceneSource *source = &scene->sources[w->first_source];
    assert_float_equal(source->direction.z, -1.0f, 0);
    assert_float_equal(source->spread, 1.0f, 1e-6f);
    assert_float_equal(source->start_s, 1.0f, 0);
    assert_float_equal(source->stop_s, 3.0f, 0);
    assert_true(s->grains);
    assert_int_equal(s->appearance.kind, APPEARANCE_GRAINS);
    assert_float_equal(s->friction, 0.25f, 0);
    assert_float_equal(s->static_friction, 0.5f, 0);
    assert_float_equal(s->density, 2650.0f, 0);
    scene_destroy(scene);
}

/* 20 × 10 × 4 in the box; the default capacity holds the fill and what sources emit. */
static void particles_are_counted(void **state)
{
    (void)state;
    Scene *scene =
        must_parse(HEAD "\"liquid_spacing\":0.05,\"liquids\":[{\"name\":\"a\",\"fill\":[" BOX(
            0.5, 0.25,
            0.1) "]},{\"name\":\"b\",\"sources\":[{\"radius\":0.001,\"speed\":1,\"stop\":2}]},"
                 "{\"name\":\"c\",\"sources\":[{\"radius\":0.0501,\"speed\":0.5}]}]}");
    assert_int_equal(scene->liquids[0].filled, 800);
    assert_int_equal(scene->liquids[0].capacity, 800);
    assert_int_equal(scene->liquids[1].capacity, 41); /* one at 0, 20 a second, for 2 s */
    /* Five in the nozzle, ten layers a second, for 30 s. */
    assert_int_equal(scene->liquids[2].capacity, 5 * 301);
    scene_destroy(scene);
}

static const SceneRefused wrongs[] = {
    {LIQUID "\"density\":1000}]}", "t.json:2: liquids[0].fill: missing; give a fill, sources or"},
    {HEAD "\"liquids\":[{\"name\":\"w\",\"fill\":[" BOX(0.5, 0.5, 0.5) "]},\n{\"name\":\"w\","
                                                                       "\"capacity\":9}]}",
     "t.json:3: liquids[1].name: \"w\" is taken"},
    {LIQUID "\"fill\":[" BOX(100, 100, 100) "]}]}",
     "liquids[0].fill[0].shape: holds about 8e+09 particles 0.1 m apart; at most 262144"},
    {LIQUID "\"fill\":[" BOX(4, 4, 4) "," BOX(4, 4, 4) "]}]}",
     "liquids[0]: 1024000 particles with the liquids before; at most 262144"},
    {LIQUID "\"fill\":[" BOX(0.01, 0.01, 0.01) "]}]}",
     "liquids[0].fill[0].shape: holds no particle 0.1 m from the next"},
    {LIQUID "\"fill\":[" BOX(0.5, 0.5, 0.5) "],\"capacity\":999}]}",
     "liquids[0].capacity: 999; its fill takes 1000"},
    {LIQUID "\"capacity\":262145}]}", "liquids[0].capacity: 262145 is out of range"},
    {LIQUID "\"capacity\":200000},{\"name\":\"v\",\"capacity\":200000}]}",
     "liquids[1].capacity: 400000 particles with the liquids before; at most 262144"},
    {LIQUID "\"fill\":[{\"shape\":{\"kind\":\"plane\"}}]}]}",
     "liquids[0].fill[0].shape.kind: a plane; give a convex shape"},
    {LIQUID "\"capacity\":9,\"drains\":[{\"shape\":{\"kind\":\"terrain\",\"columns\":2,\"rows\":2,"
            "\"spacing\":1,\"heights\":[0,0,0,0]}}]}]}",
     "liquids[0].drains[0].shape.kind: a terrain; give a convex shape or a plane"},
    {LIQUID "\"fill\":[{\"shape\":{\"kind\":\"sphere\",\"radius\":1},\"position\":[0,999,0]}]}]}",
     "liquids[0].fill[0].position: [0, 999, 0] is outside the scene's bounds"},
    {LIQUID "\"sources\":[{\"position\":[0,999,0]}]}]}",
     "liquids[0].sources[0].position: [0, 999, 0] is outside the scene's bounds"},
    {LIQUID "\"sources\":[{\"direction\":[0,0,0]}]}]}",
     "liquids[0].sources[0].direction: has no direction"},
    {LIQUID "\"sources\":[{\"radius\":50}]}]}",
     "liquids[0].sources[0].radius: a nozzle of 785321 particles 0.1 m apart; at most 4096"},
    {LIQUID "\"sources\":[{\"speed\":1e9}]}]}",
     "liquids[0].sources[0].speed: 1e+09 is out of range"},
    {LIQUID "\"sources\":[{\"start\":3,\"stop\":2}]}]}",
     "liquids[0].sources[0].stop: 2 is out of range; give a number from 3"},
    {LIQUID "\"sources\":[{\"radius\":3,\"speed\":100}]}]}",
     "liquids[0]: 84272809 particles with the liquids before; at most 262144"},
    {LIQUID "\"viscosity\":1e20}]}", "liquids[0].viscosity: 1e+20 is out of range"},
    {LIQUID "\"capacity\":9,\"clear\":0}]}", "liquids[0].clear: 0 is out of range"},
    {HEAD "\"grains\":[{\"name\":\"s\",\"viscosity\":1}]}", "viscosity"},
    {HEAD "\"liquid_spacing\":0}", "liquid_spacing: 0 is out of range"},
    {HEAD "\"liquid_iterations\":99}", "liquid_iterations: 99 is out of range"},
    {LIQUID
     "\"capacity\":9}],\"bodies\":[{\"name\":\"w\",\"shape\":{\"kind\":\"sphere\",\"radius\":1}"
     "}]}",
     "liquids[0].name: \"w\" is taken"},
    {LIQUID "\"capacity\":9}],\"probes\":[{\"name\":\"p\",\"kind\":\"stretch\",\"of\":\"w\"}]}",
     "probes[0].of: \"w\" is a liquid or grains; stretch needs a soft body"},
    {LIQUID
     "\"capacity\":9}],\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"sphere\",\"radius\":1}"
     "}],\"probes\":[{\"name\":\"p\",\"kind\":\"level\",\"of\":\"b\"}]}",
     "probes[0].of: \"b\" is a body; level needs a liquid or grains"},
};

static void errors_name_the_fault(void **state)
{
    (void)state;
    expect_refused(wrongs, PL_COUNT(wrongs));
}

static void probes_find_liquids(void **state)
{
    (void)state;
    Scene *scene = must_parse(
        HEAD
        "\"liquids\":[{\"name\":\"v\",\"capacity\":9},{\"name\":\"w\",\"capacity\":9}],"
        "\"probes\":[{\"name\":\"p\",\"kind\":\"level\",\"of\":\"w\"},{\"name\":\"q\",\"kind\":"
        "\"volume\",\"of\":\"v\"},{\"name\":\"r\",\"kind\":\"density_error\"}]}");
    assert_int_equal(scene->probes[0].liquid, 1);
    assert_int_equal(scene->probes[1].liquid, 0);
    assert_int_equal(scene->probes[1].soft, -1);
    assert_int_equal(scene->probes[2].liquid, -1);
    scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_arrives),
        cmocka_unit_test(particles_are_counted),
        cmocka_unit_test(errors_name_the_fault),
        cmocka_unit_test(probes_find_liquids),
    };
    return cmocka_run_group_tests_name("scene_liquid", tests, NULL, NULL);
}
