/* test_smoke.c: air on grids in a world: scenes that are refused, sources, hands, probes,
 * parameters, reset, saving, momentum. How air moves is tested beside its solver. */
#include "server/author/scene_load.h"
#include "server/world/matter_smoke.h"
#include "server/world/world_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/world_rig.h"

#define HEAD "{\"name\":\"t\",\"bounds\":[-4,-4,-4,4,6,4],"
#define SOURCE                                                                                     \
    "\"sources\":[{\"position\":[0.4,0.2,0.4],\"radius\":0.15,\"smoke\":1,\"heat\":300,"           \
    "\"warmest\":80}]"
#define PROBES                                                                                     \
    "\"probes\":[{\"name\":\"m\",\"kind\":\"smoke.mass\",\"of\":\"s\"},"                           \
    "{\"name\":\"v\",\"kind\":\"smoke.speed\",\"of\":\"s\"},"                                      \
    "{\"name\":\"p\",\"kind\":\"momentum\"}]}"
#define GRID "\"name\":\"s\",\"cells\":[16,16,16]"

static const Smoke *air(const WorldRig *r)
{
    for (u32 i = 0; i < world_matters(r->world); i++) {
        Matter *matter = world_matter_at(r->world, i);
        if (strcmp(matter->ops->name, "smoke") == 0) {
            return smoke_of(matter)->grids[0];
        }
    }
    return NULL;
}

static void bad_scenes_are_refused_by_place(void **state)
{
    PL_UNUSED(state);
    static const struct {
        const char *grid, *text;
    } rows[] = {
        {"\"name\":\"s\"", "smokes[0].cells: missing"},
        {"\"name\":\"s\",\"cells\":[0,8]", "smokes[0].cells[0]: 0 is out of range"},
        {"\"name\":\"s\",\"cells\":[8,8,100000]", "smokes[0].cells[2]: 100000 is out of range"},
        {"\"name\":\"s\",\"cells\":[1024,1024,1024]", "smokes[0].cells: 1073741824 cells"},
        {"\"name\":\"s\",\"cells\":[8,8],\"spacing\":0", "smokes[0].spacing"},
        {"\"name\":\"s\",\"cells\":[8,8],\"dyed\":true,\"hottest\":500", "smokes[0].dyed"},
        {"\"name\":\"s\",\"cells\":[8,8],\"sources\":[{\"radius\":1,\"color\":[2,0,0]}]",
         "smokes[0].sources[0].color[0]: 2 is out of range"},
        {"\"name\":\"s\",\"cells\":[8,8],\"spacing\":1e9", "smokes[0].spacing"},
        {"\"name\":\"s\",\"cells\":[8,8],\"sides\":[{\"kind\":\"periodic\"}]",
         "smokes[0].sides: one side of x is periodic"},
        {"\"name\":\"s\",\"cells\":[9,8],\"sides\":[{\"kind\":\"periodic\"},{\"kind\":\"periodic\"}"
         "]",
         "smokes[0].sides: 9 cells along the periodic x"},
        {"\"name\":\"s\",\"cells\":[8,8],\"sources\":[{}]", "smokes[0].sources[0].size"},
        {"\"name\":\"s\",\"cells\":[8,8],\"sources\":[{\"radius\":1,\"velocity\":[1e9,0,0]}]",
         "smokes[0].sources[0].velocity"},
    };
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        char json[512];
        ErrorText error = {.text = ""};
        snprintf(json, sizeof json, HEAD "\"smokes\":[{%s}]}", rows[i].grid);
        Scene *scene = scene_parse(json, strlen(json), "t", &error);
        if (scene != NULL || strstr(error.text, rows[i].text) == NULL) {
            fail_msg("%s: \"%s\"", rows[i].grid, error.text);
        }
    }
}

static void sources_fill_and_parameters_change(void **state)
{
    PL_UNUSED(state);
    WorldRig r = world_rig(HEAD "\"smokes\":[{" GRID "," SOURCE "}]," PROBES);
    assert_true(world_rig_probe(&r, "m") == 0.0);
    world_rig_ticks(&r, 60);
    u32 cells = 0; /* centres within 3 cells of a corner */
    for (i32 i = 0; i < 512; i++) {
        f64 x = i % 8 - 3.5, y = i / 8 % 8 - 3.5, z = i / 64 - 3.5;
        cells += x * x + y * y + z * z <= 9.0;
    }
    f64 first = world_rig_probe(&r, "m"),
        expected = cells * 0.05 * 0.05 * 0.05; /* 1 kg/(m³ s) for 1 s */
    assert_true(fabs(first / expected - 1.0) < 1e-4);
    assert_true(world_rig_probe(&r, "v") > 0.1);
    Frame *frame = world_frame(r.world);
    assert_non_null(frame);
    u32 seen = 0;
    for (u32 f = 0; f < frame->fields->count; f++) {
        const FieldDesc *field = &frame->fields->fields[f];
        if (field->kind == FIELD_GRID3) {
            const u8 *codes = frame_field(frame, f);
            assert_int_equal(field->capacity, 16 * 16 * 16);
            for (u32 i = 0; i < field->capacity; i++) {
                seen += codes[i] > 0;
            }
        }
    }
    assert_true(seen > 100);
    frame_release(frame);
    world_rebuild(r.world, false);
    assert_true(world_rig_probe(&r, "m") == 0.0);
    world_rig_finish(&r);
}

static void dye(WorldRig *r, u32 user, u32 element, u32 color)
{
    Input inputs[2] = {{.kind = INPUT_GRAB,
                        .user = user,
                        .sequence = ++r->sequence,
                        .entity = world_rig_entity(r, "s"),
                        .element = element,
                        .rotation = {1.0f, 0.0f, 0.0f, 0.0f},
                        .ray = {vec3(0.0f, 0.0f, 0.0f), vec3(0.0f, 0.0f, 1.0f)}},
                       {.kind = INPUT_DYE, .user = user, .index = color}};
    inputs[1].sequence = ++r->sequence;
    world_tick(r->world, inputs, 2);
}

/* A world that was saved and loaded continues like the one that was not, with the colours of its
 * smoke and of hands. */
static void goes_on_alike(const char *json)
{
    WorldRig a = world_rig(json), b = world_rig(json);
    dye(&a, 3, 1000, 0x30F0A0);
    world_rig_ticks(&a, 25);
    size_t bytes = 0;
    u8 *image = NULL;
    ErrorText error = {.text = ""};
    assert_int_equal(world_save(a.world, &image, &bytes), ERROR_OK);
    if (world_load(b.world, image, bytes, &error) != ERROR_OK) {
        fail_msg("%s", error.text);
    }
    assert_true(world_hash(a.world) == world_hash(b.world));
    world_rig_ticks(&a, 25);
    world_rig_ticks(&b, 25);
    assert_true(world_hash(a.world) == world_hash(b.world));
    free(image);
    world_rig_finish(&a);
    world_rig_finish(&b);
}

static void saved_worlds_go_on_alike(void **state)
{
    PL_UNUSED(state);
    goes_on_alike(HEAD "\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"sphere\","
                       "\"radius\":0.15},\"position\":[0.4,0.5,0.4],\"mass\":1}],"
                       "\"smokes\":[{" GRID ",\"vorticity\":0.3," SOURCE "}]," PROBES);
    goes_on_alike(HEAD "\"smokes\":[{" GRID ",\"dyed\":true,\"color\":[0.2,0.5,1]," SOURCE
                       "}]," PROBES);
}

/* Hands that move absurdly, huge cells and storms stay finite. */
static void absurd_input_stays_bounded(void **state)
{
    PL_UNUSED(state);
    static const char *const grids[] = {
        GRID "," SOURCE,
        GRID ",\"spacing\":100," SOURCE,
        "\"name\":\"s\",\"cells\":[33,5],\"spacing\":0.001,\"corner\":[0.39,0.2,0.4]," SOURCE,
        "\"name\":\"s\",\"cells\":[1,1,1],\"awake\":true",
        GRID ",\"awake\":true,\"sides\":[{\"velocity\":[100,0,0]},{\"kind\":\"open\"}],"
             "\"viscosity\":100,\"vorticity\":10,\"spacing\":0.01",
    };
    for (u32 i = 0; i < PL_COUNT(grids); i++) {
        char json[1024];
        snprintf(json, sizeof json, HEAD "\"smokes\":[{%s}]," PROBES, grids[i]);
        WorldRig r = world_rig(json);
        Input grab = {.kind = INPUT_GRAB,
                      .user = 1,
                      .sequence = ++r.sequence,
                      .entity = world_rig_entity(&r, "s"),
                      .rotation = {1.0f, 0.0f, 0.0f, 0.0f}};
        world_tick(r.world, &grab, 1);
        for (u32 t = 0; t < 40; t++) {
            f32 far = t % 2 != 0 ? 3.9f : -3.9f;
            Input move = {.kind = INPUT_MOVE,
                          .user = 1,
                          .sequence = ++r.sequence,
                          .target = vec3(far, 0.3f, 0.3f),
                          .rotation = {1.0f, 0.0f, 0.0f, 0.0f}};
            world_tick(r.world, &move, 1);
            assert_true(isfinite(world_rig_probe(&r, "v")) && isfinite(world_rig_probe(&r, "m")));
        }
        const char *wrong = smoke_validate(air(&r));
        if (wrong != NULL) {
            fail_msg("%s: %s", grids[i], wrong);
        }
        world_rig_finish(&r);
    }
}

/* Two users dye what they hold: each place shows the colour of its hand, as it was sent. */
static void hands_dye_what_they_hold(void **state)
{
    PL_UNUSED(state);
    static const u32 colors[2] = {0x3366CC, 0xE0A010},
                     cells[2] = {3 + 16 * (4 + 16 * 4), 12 + 16 * (11 + 16 * 11)};
    WorldRig r = world_rig(HEAD "\"smokes\":[{" GRID
                                ",\"dyed\":true,\"awake\":true,\"color\":[1,1,1]}]," PROBES);
    const Entity *entity = entity_list_find(&r.world->entities, world_rig_entity(&r, "s"));
    u32 field = entity->dye - 1;
    assert_true(field < r.world->fields->count && field != entity->field);
    for (u32 user = 0; user < 2; user++) {
        dye(&r, 1 + user, cells[user], colors[user]);
    }
    Input nobody = {.kind = INPUT_DYE, .user = 9, .sequence = 1, .index = 1};
    world_tick(r.world, &nobody, 1); /* holds nothing */
    world_rig_ticks(&r, 20);
    Frame *frame = world_frame(r.world);
    assert_non_null(frame);
    const u8 *own = frame_field(frame, entity->field), *more = frame_field(frame, field);
    for (u32 user = 0; user < 2; user++) {
        u32 at = 2 * cells[user];
        i32 seen[3] = {own[at + 1], more[at], more[at + 1]};
        print_message("user %u: %02X%02X%02X\n", user + 1, (u32)seen[0], (u32)seen[1],
                      (u32)seen[2]);
        for (u32 c = 0; c < 3; c++) {
            i32 wanted = (i32)(colors[user] >> (16 - 8 * c) & 0xFF);
            assert_true(own[at] > 20 && abs(seen[c] - wanted) <= 2);
        }
    }
    frame_release(frame);
    world_rig_finish(&r);
}

/* Without sides, the air gains the momentum that bodies lose. */
static void momentum_is_exchanged(void **state)
{
    PL_UNUSED(state);
    WorldRig r = world_rig(
        HEAD "\"gravity\":[0,0,0],\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"sphere\","
             "\"radius\":0.14},\"position\":[0.4,0.41,0.43],\"mass\":0.1,"
             "\"velocity\":[2,0.5,0]}],"
             "\"smokes\":[{" GRID ",\"awake\":true,\"sides\":[{\"kind\":\"periodic\"},"
             "{\"kind\":\"periodic\"},{\"kind\":\"periodic\"},{\"kind\":\"periodic\"},"
             "{\"kind\":\"periodic\"},{\"kind\":\"periodic\"}]}]," PROBES);
    f64 before = world_rig_probe(&r, "p");
    world_rig_ticks(&r, 15);
    f64 after = world_rig_probe(&r, "p");
    print_message("momentum %.9g to %.9g, air at %.3f m/s\n", before, after,
                  world_rig_probe(&r, "v"));
    assert_true(world_rig_probe(&r, "v") > 0.2);
    assert_true(fabs(after - before) < 2e-5 * before);
    world_rig_finish(&r);
}

/* From an inlet to an open side what the probes say adds up on each axis, in newtons at any rate:
 * the loss of the air equals the momentum taken by the sides and the outflow. */
static void probes_weigh_the_sides(void **state)
{
    PL_UNUSED(state);
    static const u32 rates[] = {30, 60, 144};
    static const f64 spacings[] = {0.03, 0.05, 0.2}, speeds[] = {0.2, 1.0, 4.0};
    for (u32 i = 0; i < 27; i++) {
        char json[2048], axes[3] = "xyz";
        u32 rate = rates[i % 3];
        f64 spacing = spacings[i / 3 % 3], speed = speeds[i / 9], before[3] = {0}, pressed = 0.0;
        int used = snprintf(json, sizeof json,
                            HEAD "\"tick_rate\":%u,\"smokes\":[{" GRID ",\"spacing\":%g,"
                                 "\"awake\":true,\"viscosity\":%g,\"sides\":[{\"velocity\":"
                                 "[%g,0,0]},{\"kind\":\"open\"}],\"sources\":[]}],\"probes\":[",
                            rate, spacing, i % 2 == 0 ? 0.0 : 0.01, speed);
        for (u32 k = 0; k < 5 * 3; k++) {
            static const char *const kinds[] = {"momentum", "force", "flow", "low", "high"};
            used +=
                snprintf(json + used, sizeof json - (size_t)used,
                         "%s{\"name\":\"%s_%c\",\"kind\":\"smoke.%s_%c\",\"of\":\"s\"}",
                         k > 0 ? "," : "", kinds[k / 3], axes[k % 3], kinds[k / 3], axes[k % 3]);
        }
        snprintf(json + used, sizeof json - (size_t)used, "]}");
        WorldRig r = world_rig(json);
        f64 mass = 1.2 * pow(16.0 * spacing, 3.0);
        for (u32 t = 0; t < 20; t++) {
            for (u32 a = 0; a < 3; a++) {
                char momentum[] = {'m', 'o', 'm', 'e', 'n', 't', 'u', 'm', '_', axes[a], 0};
                char force[] = {'f', 'o', 'r', 'c', 'e', '_', axes[a], 0};
                char flow[] = {'f', 'l', 'o', 'w', '_', axes[a], 0};
                f64 now = world_rig_probe(&r, momentum),
                    lost = (world_rig_probe(&r, force) + world_rig_probe(&r, flow)) / rate;
                assert_true(t == 0 || fabs(now - before[a] + lost) < 1e-5 * mass * speed);
                before[a] = now;
            }
            pressed = fmax(pressed, fabs(world_rig_probe(&r, "high_y")));
            /* Both walls push alike, apart: the room is symmetric. */
            assert_true(fabs(world_rig_probe(&r, "low_y") + world_rig_probe(&r, "high_y")) <=
                        1e-2 * pressed + 1e-5 * mass * speed * rate);
            world_rig_ticks(&r, 1);
        }
        world_rig_finish(&r);
    }
}

/* A sleeping ball in a draught keeps no speed that it does not move with, so that it can be saved;
 * a wind that would move it wakes it. */
static void sleeping_things_gain_no_speed(void **state)
{
    PL_UNUSED(state);
    char json[1024];
    snprintf(json, sizeof json,
             HEAD "\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"box\","
                  "\"half\":[0.1,0.1,0.1]},\"position\":[0.4,0.1,0.43],\"mass\":3},"
                  "{\"name\":\"f\",\"shape\":{\"kind\":\"plane\"},\"motion\":\"static\"}],"
                  "\"smokes\":[{" GRID ",\"corner\":[0,0.01,0],\"sides\":[{\"velocity\":"
                  "[0.3,0,0]},{\"kind\":\"open\"}],\"sources\":[]}]," PROBES);
    WorldRig r = world_rig(json);
    world_rig_ticks(&r, 100);
    Rigid *rigid = world_rigid(r.world);
    assert_false(rigid_awake(rigid, 0));
    assert_true(vec3_length(rigid_velocity(rigid, 0)) == 0.0f);
    smoke_set_side((Smoke *)(uintptr_t)air(&r), 0, vec3(60.0f, 0.0f, 0.0f));
    world_rig_ticks(&r, 30);
    assert_true(rigid_pose(rigid, 0).centre.x > 0.45f); /* it woke and was blown along */
    world_rig_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_scenes_are_refused_by_place),
        cmocka_unit_test(sources_fill_and_parameters_change),
        cmocka_unit_test(saved_worlds_go_on_alike),
        cmocka_unit_test(absurd_input_stays_bounded),
        cmocka_unit_test(hands_dye_what_they_hold),
        cmocka_unit_test(momentum_is_exchanged),
        cmocka_unit_test(probes_weigh_the_sides),
        cmocka_unit_test(sleeping_things_gain_no_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
