/* test_carried.c: sources of smoke and water that bodies carry, of the scene and those that users
 * spawn and remove; foam, which water carries. */
#include "server/author/scene_load.h"
#include "server/world/matter_smoke.h"
#include "server/world/matter_water.h"
#include "tests/support/stage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

static const char air_json[] =
    "\"gravity\":[0,0,0],\"smokes\":[{\"name\":\"s\",\"cells\":[32,16,16],\"spacing\":0.1,"
    "\"buoyancy\":0,\"sources\":[{\"of\":\"pot\",\"position\":[0,0.3,0],\"radius\":0.15,"
    "\"smoke\":1},{\"of\":\"torch\",\"position\":[0,0.3,0],\"radius\":0.15,\"smoke\":2}]}],"
    "\"bodies\":[{\"name\":\"pot\",\"position\":[0.8,0.4,0.8],"
    "\"shape\":{\"kind\":\"box\",\"half\":[0.05,0.05,0.05]}}],"
    "\"prefabs\":[{\"name\":\"torch\",\"body\":{\"name\":\"t\","
    "\"shape\":{\"kind\":\"box\",\"half\":[0.05,0.05,0.05]}}}],"
    "\"probes\":[{\"name\":\"mass\",\"kind\":\"smoke.mass\",\"of\":\"s\"}]";

static f32 smoke_near(const Stage *stage, f32 x, f32 y, f32 z)
{
    const MatterSmoke *m = smoke_of_const(stage_matter(stage, &matter_smoke));
    const f32 *row = smoke_row(m->grids[0], SMOKE_SMOKE, (u32)(y * 10.0f), (u32)(z * 10.0f));
    return row[(u32)(x * 10.0f)];
}

static u32 spawn(Stage *stage, Vec3 at, Quat turned)
{
    u32 before = stage->events[EVENT_SPAWN];
    Input input = {.kind = INPUT_SPAWN, .user = 1, .sequence = 1, .target = at, .rotation = turned};
    stage_tick(stage, &input, 1);
    assert_int_equal(stage->events[EVENT_SPAWN], before + 1);
    return stage->last[EVENT_SPAWN].entity.id;
}

/* Smoke is made above the pot, and below a torch that is upside down, while it is there. */
static void sources_ride_on_bodies(void **state)
{
    PL_UNUSED(state);
    Stage *stage = stage_of(air_json);
    stage_run(stage, 30);
    f64 one = stage_probe(stage, "mass");
    assert_true(smoke_near(stage, 0.8f, 0.7f, 0.8f) > 0.1f);
    assert_true(smoke_near(stage, 2.4f, 0.9f, 0.8f) == 0.0f);
    expect_near("made by the pot, in 8 cells", one, 0.5 * 8e-3, 1e-5);
    Quat over = {.x = 1.0f};
    u32 torch = spawn(stage, vec3(2.4f, 1.2f, 0.8f), over);
    stage_run(stage, 30);
    f64 two = stage_probe(stage, "mass");
    assert_true(smoke_near(stage, 2.4f, 0.9f, 0.8f) > 0.2f);
    expect_near("made by both", two - one, 3.0 * one, 0.15 * one);
    world_remove_entity(stage->world, torch);
    stage_run(stage, 30);
    expect_near("and by one", stage_probe(stage, "mass") - two, one, 0.15 * one);
    stage_destroy(stage);
}

static u64 hash_after(bool loaded)
{
    Stage *stage = stage_of(air_json), *other = stage_of(air_json);
    spawn(stage, vec3(2.4f, 1.2f, 0.8f), quat_identity());
    /* Another history of entities, as many of them. */
    world_remove_entity(other->world, spawn(other, vec3(1.0f, 1.2f, 0.8f), quat_identity()));
    stage_run(stage, 10);
    if (loaded) {
        u8 *image;
        size_t bytes;
        ErrorText error = {0};
        assert_int_equal(world_save(stage->world, &image, &bytes), ERROR_OK);
        assert_int_equal(world_load(other->world, image, bytes, &error), ERROR_OK);
        free(image);
    }
    Stage *goes_on = loaded ? other : stage;
    stage_run(goes_on, 20);
    u64 hash = world_hash(goes_on->world);
    stage_destroy(stage);
    stage_destroy(other);
    return hash;
}

static void loaded_worlds_find_their_sources(void **state)
{
    PL_UNUSED(state);
    expect_bits("hash", hash_after(true), hash_after(false));
}

/* Each second a spring of 0.3 m³/s gives as much where it is over the water, and none beside it. */
static void springs_are_where_bodies_are(void **state)
{
    PL_UNUSED(state);
    Stage *stage =
        stage_of("\"gravity\":[0,-9.81,0],\"waters\":[{\"name\":\"w\",\"width\":6,\"length\":6,"
                 "\"mask\":2,\"sources\":[{\"of\":\"hose\",\"radius\":0.4,\"rate\":0.3}]}],"
                 "\"bodies\":[{\"name\":\"ground\",\"motion\":\"static\",\"shape\":"
                 "{\"kind\":\"plane\"}}],"
                 "\"prefabs\":[{\"name\":\"hose\",\"body\":{\"name\":\"h\",\"shape\":"
                 "{\"kind\":\"box\",\"half\":[0.2,0.2,0.2]}}}],"
                 "\"probes\":[]");
    const MatterWater *m = water_of_const(stage_matter(stage, &matter_water));
    f64 before = pool_sums(m->pools[0], 9.81f).volume;
    stage_run(stage, 30);
    expect_near("no hose", pool_sums(m->pools[0], 9.81f).volume, before, 1e-4);
    spawn(stage, vec3(1.0f, 0.3f, 1.0f), quat_identity());
    spawn(stage, vec3(5.0f, 0.3f, 1.0f), quat_identity());
    f64 first = pool_sums(m->pools[0], 9.81f).volume;
    stage_run(stage, 60);
    expect_near("one over it", pool_sums(m->pools[0], 9.81f).volume - first, 0.3, 0.01);
    stage_destroy(stage);
}

static void unknown_carriers_are_refused(void **state)
{
    PL_UNUSED(state);
    static const char *const kinds[] = {"\"waters\":[{\"name\":\"w\"",
                                        "\"smokes\":[{\"name\":\"s\",\"cells\":[8,8]"};
    for (u32 n = 0; n < 2; n++) {
        char json[512];
        ErrorText error = {.text = ""};
        snprintf(json, sizeof json,
                 "{\"name\":\"t\",%s,\"sources\":[{\"radius\":0.2,\"of\":\"nobody\"}]}]}",
                 kinds[n]);
        assert_null(scene_parse(json, strlen(json), "t", &error));
        assert_non_null(strstr(error.text, "sources[0].of: there is no body or prefab \"nobody\""));
    }
}

/* ---- foam ---- */

static f64 foam_of(const Stage *stage, f64 *middle)
{
    const MatterWater *m = water_of_const(stage_matter(stage, &matter_water));
    f64 sum = 0.0, moment = 0.0;
    for (u32 c = 0; c < 60 * 20; c++) {
        f64 foam = (f64)pool_foam(m->pools[0], c % 60, c / 60);
        assert_true(foam >= 0.0 && foam <= 1.0);
        sum += foam;
        moment += foam * (c % 60);
    }
    *middle = sum > 0.0 ? moment / sum : 0.0;
    return sum;
}

/* A breaking front is white; its foam is in the frames, fades, and leaves nothing. */
static void fronts_foam_and_foam_fades(void **state)
{
    PL_UNUSED(state);
    Stage *stage = stage_of(
        "\"waters\":[{\"name\":\"w\",\"width\":6,\"length\":2,\"depth\":0.3,\"friction\":0.05,"
        "\"foam_life\":0.5,\"basins\":[{\"position\":[-2,0,0],\"size\":[2,0,2],\"level\":0.5}]}]");
    f64 middle, most = 0.0;
    const FieldDesc *field = NULL;
    u32 seen = 0;
    assert_true(foam_of(stage, &middle) == 0.0);
    for (u32 t = 0; t < 60; t++) {
        stage_run(stage, 1);
        most = fmax(most, foam_of(stage, &middle));
        for (u32 f = 0; f < stage->frame->fields->count; f++) {
            field = &stage->frame->fields->fields[f];
            const u16 *codes = frame_field(stage->frame, f);
            for (u32 c = 0; field->kind == FIELD_GRID2 && c < field->capacity; c++) {
                assert_int_equal(field->channels, 2);
                seen += codes[2 * c + 1] > 0;
            }
        }
    }
    print_message("%.1f cells of foam at most, %u of them sent\n", most, seen);
    assert_true(most > 10.0 && seen > 100);
    stage_run(stage, 1200);
    expect_near("foam at last", foam_of(stage, &middle), 0.0, 0.0);
    stage_destroy(stage);
}

/* Foam goes with the stream, around a periodic side too. */
static void foam_rides_on_the_stream(void **state)
{
    PL_UNUSED(state);
    Stage *stage =
        stage_of("\"waters\":[{\"name\":\"w\",\"width\":6,\"length\":2,\"border_x\":\"periodic\","
                 "\"border_z\":\"periodic\",\"friction\":0,\"velocity\":[1,0,0],"
                 "\"foam_life\":1000}],\"bodies\":[{\"name\":\"b\",\"position\":[-2,0.4,0],"
                 "\"velocity\":[1,-4,0],\"mass\":30,"
                 "\"shape\":{\"kind\":\"sphere\",\"radius\":0.25}}]");
    f64 first, then;
    u32 ball = 1;
    stage_run(stage, 12);
    world_remove_entity(stage->world, ball);
    stage_run(stage, 1);
    f64 before = foam_of(stage, &first);
    stage_run(stage, 120);
    f64 after = foam_of(stage, &then);
    print_message("foam of %.2f cells at %.1f, then %.2f at %.1f\n", before, first, after, then);
    assert_true(before > 1.0 && after > 0.5 * before);
    expect_near("way in 2 s, cells", then - first, 20.0, 3.0);
    stage_destroy(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_ride_on_bodies),
        cmocka_unit_test(loaded_worlds_find_their_sources),
        cmocka_unit_test(springs_are_where_bodies_are),
        cmocka_unit_test(unknown_carriers_are_refused),
        cmocka_unit_test(fronts_foam_and_foam_fades),
        cmocka_unit_test(foam_rides_on_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
