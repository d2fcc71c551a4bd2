/* test_inputs.c: effects of user inputs on a world, and refused inputs. */
#include "tests/support/stage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Entities get ids in this order, from 1. */
enum {
    GROUND = 1,
    BOX,
    POST,
    FALLER, /* leaves the bounds */
    TOWEL,
    ENTITIES = 5
};

static const char scene_text[] =
    "{ \"name\": \"inputs\", \"bounds\": [-50, -20, -50, 50, 50, 50], \"spare_bodies\": 4,\n"
    "  \"materials\": [ { \"name\": \"oak\", \"density\": 500 } ],\n"
    "  \"bodies\": [\n"
    "    { \"name\": \"ground\", \"shape\": { \"kind\": \"box\", \"half\": [10, 0.5, 10] },\n"
    "      \"motion\": \"static\", \"position\": [0, -0.5, 0], \"material\": \"oak\" },\n"
    "    { \"name\": \"box\", \"shape\": { \"kind\": \"box\", \"half\": [0.5, 0.5, 0.5] },\n"
    "      \"mass\": 10, \"position\": [0, 0.5, 0], \"material\": \"oak\" },\n"
    "    { \"name\": \"post\", \"shape\": { \"kind\": \"capsule\", \"radius\": 0.1,\n"
    "      \"half_height\": 1 }, \"motion\": \"static\", \"position\": [5, 1.1, 0],\n"
    "      \"material\": \"oak\" },\n"
    "    { \"name\": \"faller\", \"shape\": { \"kind\": \"sphere\", \"radius\": 0.2 },\n"
    "      \"position\": [30, 0, 0], \"material\": \"oak\" } ],\n"
    "  \"cloths\": [ { \"name\": \"towel\", \"points\": [11, 11], \"size\": [1, 1],\n"
    "      \"position\": [-5, 0.1, 0], \"rotation\": [90, 0, 0] } ],\n"
    "  \"prefabs\": [ { \"name\": \"ball\", \"body\": { \"name\": \"ball\", \"material\": "
    "\"oak\",\n"
    "      \"shape\": { \"kind\": \"sphere\", \"radius\": 0.2 } } } ],\n"
    "  \"probes\": [ { \"name\": \"height\", \"kind\": \"height\", \"of\": \"box\" },\n"
    "    { \"name\": \"momentum\", \"kind\": \"momentum\" },\n"
    "    { \"name\": \"speed\", \"kind\": \"speed\", \"of\": \"box\" } ],\n"
    "  \"hands\": { \"force_max\": 2000, \"impulse_max\": 50, \"reach\": 20, \"spawn_max\": 2 } }";

static u32 count_events(const Stage *f, EventKind kind)
{
    u32 count = 0;
    for (u32 i = 0; i < f->frame->event_count; i++) {
        count += f->frame->events[i].kind == kind;
    }
    return count;
}

/* The first event of a kind in the last tick. */
static const Event *event_of(const Stage *f, EventKind kind)
{
    for (u32 i = 0; i < f->frame->event_count; i++) {
        if (f->frame->events[i].kind == kind) {
            return &f->frame->events[i];
        }
    }
    return NULL;
}

static Input input_of(InputKind kind, u32 user, u32 sequence)
{
    Input input = {.kind = kind,
                   .user = user,
                   .sequence = sequence,
                   .rotation = {1.0f, 0.0f, 0.0f, 0.0f},
                   .ray = {{0.0f, 2.0f, 2.0f}, {0.0f, 0.0f, -1.0f}}};
    return input;
}

static void expect_refused(Stage *f, Input input, int code)
{
    stage_tick(f, &input, 1);
    assert_int_equal(count_events(f, EVENT_REFUSED), 1);
    const Event *event = event_of(f, EVENT_REFUSED);
    assert_int_equal(event->code, code);
    assert_int_equal(event->user, input.user);
    assert_int_equal(event->sequence, input.sequence);
}

static void expect_done(Stage *f, Input input)
{
    stage_tick(f, &input, 1);
    assert_int_equal(count_events(f, EVENT_REFUSED), 0);
}

static Vec3 body_position(const Stage *f, u32 slot)
{
    const i32 *p = frame_poses(f->frame, 0)[slot].position;
    return vec3_scale(vec3((f32)p[0], (f32)p[1], (f32)p[2]), f->frame->fields->fields[0].quantum);
}

static Vec3 point_position(const Stage *f, u32 point)
{
    const i32 *p = frame_points(f->frame, 3)[point].position;
    return vec3_scale(vec3((f32)p[0], (f32)p[1], (f32)p[2]), f->frame->fields->fields[3].quantum);
}

static bool entity_is_there(Stage *f, u32 id)
{
    MessageWorld world;
    world_describe(f->world, &world);
    for (u32 i = 0; i < world.entity_count; i++) {
        if (world.entities[i].id == id) {
            return true;
        }
    }
    return false;
}

static void hand_carries_a_body(void **state)
{
    PL_UNUSED(state);
    Stage *f = stage_create(scene_text);
    Input grab = input_of(INPUT_GRAB, 7, 1);
    grab.entity = BOX;
    expect_done(f, grab);
    const Event *hold = event_of(f, EVENT_GRAB);
    assert_non_null(hold);
    assert_int_equal(hold->user, 7);
    assert_int_equal(hold->sequence, 1);
    assert_int_equal(hold->a, BOX);
    assert_float_equal(hold->position.y, 0.0f, 1e-6f);
    Input move = input_of(INPUT_MOVE, 7, 2);
    move.target = vec3(1.0f, 3.0f, -1.0f);
    expect_done(f, move);
    stage_run(f, 180);
    /* The grab spring yields under the weight: g / (2 pi 5 Hz)² = 10 mm. */
    Vec3 p = body_position(f, 1);
    assert_float_equal(p.x, 1.0f, 0.005f);
    assert_float_equal(p.y, 3.0f - 0.00994f, 0.005f);
    assert_float_equal(p.z, -1.0f, 0.005f);
    expect_done(f, input_of(INPUT_RELEASE, 7, 3));
    hold = event_of(f, EVENT_GRAB);
    assert_non_null(hold);
    assert_int_equal(hold->a, 0);
    assert_int_equal(hold->sequence, 3);
    stage_run(f, 120);
    assert_float_equal(body_position(f, 1).y, 0.5f, 0.02f);
    expect_done(f, input_of(INPUT_RELEASE, 7, 4)); /* releasing nothing is no error */
    stage_destroy(f);
}

static void hand_carries_a_cloth(void **state)
{
    PL_UNUSED(state);
    Stage *f = stage_create(scene_text);
    Input grab = input_of(INPUT_GRAB, 7, 1);
    grab.entity = TOWEL;
    grab.element = 60;
    expect_done(f, grab);
    assert_int_equal(event_of(f, EVENT_GRAB)->element, 60);
    Input move = input_of(INPUT_MOVE, 7, 2);
    move.target = vec3(-4.5f, 2.0f, 0.5f);
    expect_done(f, move);
    stage_run(f, 240);
    Vec3 at = point_position(f, 60);
    printf("cloth point %.3f %.3f %.3f\n", (double)at.x, (double)at.y, (double)at.z);
    assert_true(vec3_distance(at, move.target) < 0.05f);
    assert_true(point_position(f, 0).y > 0.5f);
    expect_done(f, input_of(INPUT_RELEASE, 7, 3));
    stage_run(f, 240);
    assert_true(point_position(f, 60).y < 0.2f);
    grab.element = 121; /* the cloth has 121 */
    expect_refused(f, grab, ERROR_RANGE);
    stage_destroy(f);
}

static void hand_changes_its_hold(void **state)
{
    PL_UNUSED(state);
    Stage *f = stage_create(scene_text);
    Input grabs[2] = {input_of(INPUT_GRAB, 7, 1), input_of(INPUT_GRAB, 7, 2)};
    grabs[0].entity = BOX;
    grabs[1].entity = TOWEL;
    stage_tick(f, grabs, 2);
    assert_int_equal(count_events(f, EVENT_REFUSED), 0);
    assert_int_equal(count_events(f, EVENT_GRAB), 3); /* box, nothing, towel */
    Input move = input_of(INPUT_MOVE, 7, 3);
    move.target = vec3(-5.0f, 3.0f, 0.0f);
    expect_done(f, move);
    stage_run(f, 60);
    assert_float_equal(body_position(f, 1).y, 0.5f, 0.01f);
    assert_true(point_position(f, 0).y > 2.0f);
    stage_destroy(f);
}

static void push_changes_speed_by_impulse_over_mass(void **state)
{
    PL_UNUSED(state);
    Stage *f = stage_create(scene_text);
    Input set = input_of(INPUT_SET, 7, 1); /* parameter 0: gravity; 4: friction */
    expect_done(f, set);
    f64 before = stage_probe(f, "speed");
    Input push = input_of(INPUT_PUSH, 7, 2);
    push.entity = BOX;
    push.vector = vec3(0.0f, 30.0f, 0.0f);
    expect_done(f, push);
    assert_float_equal(stage_probe(f, "speed") - before, 3.0, 1e-4); /* 30 N s / 10 kg */
    push.sequence = 3;
    push.vector = vec3(0.0f, 5000.0f, 0.0f); /* limited to 50 N s */
    expect_done(f, push);
    assert_float_equal(stage_probe(f, "speed") - before, 8.0, 1e-3);
    stage_destroy(f);
}

static void spawn_makes_an_entity_until_the_limit(void **state)
{
    PL_UNUSED(state);
    Stage *f = stage_create(scene_text);
    Input spawn = input_of(INPUT_SPAWN, 7, 1);
    spawn.target = vec3(2.0f, 5.0f, 2.0f);
    spawn.vector = vec3(0.0f, 1.0f, 0.0f);
    expect_done(f, spawn);
    const Event *event = event_of(f, EVENT_SPAWN);
    assert_non_null(event);
    assert_int_equal(event->user, 7);
    assert_int_equal(event->sequence, 1);
    u32 id = event->entity.id;
    assert_int_equal(id, ENTITIES + 1);
    assert_int_equal(event->entity.movable, 1);
    assert_true(entity_is_there(f, id));
    u32 slot = event->entity.first;
    stage_run(f, 59);
    /* 1 m/s up for a second: 5 + 1 − 4.905 m. */
    assert_float_equal(body_position(f, slot).y, 1.095f, 0.03f);
    spawn.sequence = 2;
    expect_done(f, spawn);
    spawn.sequence = 3;
    expect_refused(f, spawn, ERROR_LIMIT); /* spawn_max of the scene is 2 */
    spawn.user = 8;
    expect_done(f, spawn);
    spawn.index = 1;
    expect_refused(f, spawn, ERROR_NOT_FOUND);
    spawn.index = 0;
    spawn.target = vec3(0.0f, 51.0f, 0.0f);
    expect_refused(f, spawn, ERROR_RANGE);
    Input gone = input_of(INPUT_REMOVE, 7, 4);
    gone.entity = id;
    expect_done(f, gone);
    spawn.user = 7; /* and one can be spawned again */
    spawn.target = vec3(2.0f, 5.0f, -2.0f);
    expect_done(f, spawn);
    stage_destroy(f);
}

static void remove_takes_it_out_of_every_hand(void **state)
{
    PL_UNUSED(state);
    Stage *f = stage_create(scene_text);
    Input grab = input_of(INPUT_GRAB, 7, 1);
    grab.entity = BOX;
    expect_done(f, grab);
    Input gone = input_of(INPUT_REMOVE, 8, 1);
    gone.entity = BOX;
    expect_done(f, gone);
    assert_int_equal(event_of(f, EVENT_DESPAWN)->entity.id, BOX);
    const Event *hold = event_of(f, EVENT_GRAB);
    assert_non_null(hold);
    assert_int_equal(hold->user, 7);
    assert_int_equal(hold->a, 0);
    assert_int_equal(frame_poses(f->frame, 0)[1].flags, 0);
    assert_false(entity_is_there(f, BOX));
    Input move = input_of(INPUT_MOVE, 7, 2);
    move.target = vec3(0.0f, 3.0f, 0.0f);
    expect_done(f, move); /* late, but no error */
    gone.sequence = 2;
    expect_refused(f, gone, ERROR_NOT_FOUND);
    gone.entity = POST;
    expect_refused(f, gone, ERROR_DENIED);
    gone.entity = TOWEL;
    expect_refused(f, gone, ERROR_UNSUPPORTED);
    /* The slot is reused, with another generation and id. */
    u16 generation = frame_poses(f->frame, 0)[1].generation;
    assert_int_equal(generation, 0);
    Input spawn = input_of(INPUT_SPAWN, 7, 3);
    spawn.target = vec3(0.0f, 1.0f, 0.0f);
    expect_done(f, spawn);
    assert_int_equal(event_of(f, EVENT_SPAWN)->entity.first, 1);
    assert_int_equal(event_of(f, EVENT_SPAWN)->entity.generation, 2);
    stage_destroy(f);
}

static void wrong_inputs_are_refused(void **state)
{
    PL_UNUSED(state);
    Stage *f = stage_create(scene_text);
    u64 id = 99;
    static const u32 touching[] = {INPUT_GRAB, INPUT_PUSH, INPUT_REMOVE};
    for (u32 i = 0; i < PL_COUNT(touching); i++) {
        Input input = input_of((InputKind)touching[i], 7, 11 + i);
        input.entity = (u32)id;
        expect_refused(f, input, ERROR_NOT_FOUND);
        input.entity = GROUND;
        expect_refused(f, input, ERROR_DENIED);
    }
    Input grab = input_of(INPUT_GRAB, 7, 20);
    grab.entity = BOX;
    grab.ray.origin = vec3(0.0f, 0.5f, 21.0f); /* reach is 20 m */
    expect_refused(f, grab, ERROR_RANGE);
    grab.ray.origin.z = 2.0f;
    grab.local.x = NAN;
    expect_refused(f, grab, ERROR_RANGE);
    grab.local.x = 0.0f;
    grab.user = 0;
    expect_refused(f, grab, ERROR_DENIED);
    Input push = input_of(INPUT_PUSH, 7, 21);
    push.entity = BOX;
    push.vector.y = INFINITY;
    expect_refused(f, push, ERROR_RANGE);
    Input move = input_of(INPUT_MOVE, 7, 22);
    move.target.z = NAN;
    expect_refused(f, move, ERROR_RANGE);
    expect_refused(f, input_of(INPUT_NONE, 7, 23), ERROR_FORMAT);
    expect_refused(f, input_of(INPUT_KIND_COUNT, 7, 24), ERROR_FORMAT);
    /* None of them had an effect. */
    assert_float_equal(stage_probe(f, "height"), 0.5, 1e-3);
    stage_destroy(f);
}

static void parameters_stay_in_range(void **state)
{
    PL_UNUSED(state);
    Stage *f = stage_create(scene_text);
    MessageWorld world;
    world_describe(f->world, &world);
    for (u32 i = 0; i < world.parameter_count; i++) {
        const ScalarInfo *info = &world.parameters[i];
        Input set = input_of(INPUT_SET, 7, i + 1);
        set.index = i;
        for (u32 c = 0; c < 4; c++) {
            set.values[c] = info->min;
        }
        expect_done(f, set);
        assert_float_equal(((f32 *)frame_field(f->frame, 1))[info->first], info->min, 0.0f);
        set.values[info->components - 1u] = info->max * 1.01f + 1.0f;
        expect_refused(f, set, ERROR_RANGE);
        set.values[info->components - 1u] = NAN;
        expect_refused(f, set, ERROR_RANGE);
        assert_float_equal(((f32 *)frame_field(f->frame, 1))[info->first], info->min, 0.0f);
    }
    Input set = input_of(INPUT_SET, 7, 100);
    set.index = world.parameter_count;
    expect_refused(f, set, ERROR_NOT_FOUND);
    stage_destroy(f);
}

static void reset_starts_again(void **state)
{
    PL_UNUSED(state);
    Stage *f = stage_create(scene_text);
    f->frame = world_frame(f->world);
    FieldSet *fields = world_fields(f->world);
    QPose start[4];
    memcpy(start, frame_poses(f->frame, 0), sizeof start);
    Vec3 corner = point_position(f, 0);
    Input inputs[4] = {input_of(INPUT_GRAB, 7, 1), input_of(INPUT_MOVE, 7, 2),
                       input_of(INPUT_SPAWN, 7, 3), input_of(INPUT_SET, 7, 4)};
    inputs[0].entity = BOX;
    inputs[1].target = vec3(3.0f, 3.0f, 3.0f);
    inputs[2].target = vec3(0.0f, 5.0f, 0.0f);
    inputs[3].index = 4;
    inputs[3].values[0] = 0.25f;
    stage_tick(f, inputs, 4);
    stage_run(f, 60);
    /* The tick of the reset advances by 1/60 s; the box is at rest, so its pose does not change. */
    expect_done(f, input_of(INPUT_RESET, 8, 1));
    assert_ptr_equal(world_fields(f->world), fields);
    assert_int_equal(count_events(f, EVENT_RESET), 1);
    assert_int_equal(count_events(f, EVENT_SPAWN), ENTITIES);
    assert_int_equal(event_of(f, EVENT_GRAB)->a, 0);
    bool reset = false;
    u32 expected = ENTITIES + 2; /* ids are never reused: 6 was the spawned ball */
    for (u32 i = 0; i < f->frame->event_count; i++) {
        const Event *event = &f->frame->events[i];
        reset = reset || event->kind == EVENT_RESET;
        if (event->kind == EVENT_SPAWN) {
            assert_true(reset);
            assert_int_equal(event->entity.id, expected++);
        }
    }
    const QPose *poses = frame_poses(f->frame, 0);
    for (u32 i = 0; i < 3; i++) {
        for (u32 k = 0; k < 3; k++) {
            assert_in_range(poses[i].position[k] - start[i].position[k] + 4, 0, 8);
        }
        assert_true(poses[i].generation != start[i].generation);
    }
    assert_int_equal(poses[4].flags, 0); /* the spawned ball is gone */
    assert_true(vec3_distance(point_position(f, 0), corner) < 0.01f);
    assert_float_equal(((f32 *)frame_field(f->frame, 1))[3 + 3 + 1 + 1], 1.0f, 0.0f);
    stage_run(f, 60);
    assert_float_equal(body_position(f, 1).y, 0.5f, 0.01f); /* not grabbed by anybody */
    stage_destroy(f);
}

static void order_of_arrival_does_not_matter(void **state)
{
    PL_UNUSED(state);
    u64 hashes[2];
    for (u32 pass = 0; pass < 2; pass++) {
        Stage *f = stage_create(scene_text);
        Input inputs[12];
        for (u32 i = 0; i < 12; i++) {
            u32 at = pass == 0 ? i : (i * 5 + 3) % 12;
            u32 user = 1 + i % 3, sequence = 1 + i / 3;
            Input *input = &inputs[at];
            *input = input_of(sequence == 1   ? INPUT_GRAB
                              : sequence == 2 ? INPUT_MOVE
                              : sequence == 3 ? INPUT_PUSH
                                              : INPUT_SPAWN,
                              user, sequence);
            input->entity = user == 3 ? TOWEL : BOX;
            input->target = vec3((f32)user, 2.0f, (f32)user);
            input->vector = vec3((f32)user, 1.0f, 0.0f);
        }
        stage_tick(f, inputs, 12);
        stage_run(f, 30);
        hashes[pass] = world_hash(f->world);
        stage_destroy(f);
    }
    assert_int_equal(hashes[0], hashes[1]);
}

static void what_is_out_of_bounds_is_removed(void **state)
{
    PL_UNUSED(state);
    Stage *f = stage_create(scene_text);
    /* From y = 0 it falls 20 m: 2.02 s. */
    stage_run(f, 118);
    assert_true(entity_is_there(f, FALLER));
    u32 despawned = 0;
    for (u32 i = 0; i < 8; i++) {
        stage_tick(f, NULL, 0);
        despawned += count_events(f, EVENT_DESPAWN);
    }
    assert_int_equal(despawned, 1);
    assert_false(entity_is_there(f, FALLER));
    assert_true(entity_is_there(f, BOX));
    stage_destroy(f);
}

static void surplus_inputs_are_refused(void **state)
{
    PL_UNUSED(state);
    Stage *f = stage_create(scene_text);
    u32 count = INPUTS_PER_TICK_MAX + 10;
    Input *inputs = calloc(count, sizeof *inputs);
    assert_non_null(inputs);
    for (u32 i = 0; i < count; i++) {
        inputs[i] = input_of(INPUT_MOVE, 1, i + 1);
    }
    stage_tick(f, inputs, count);
    assert_int_equal(count_events(f, EVENT_REFUSED), 10);
    assert_int_equal(event_of(f, EVENT_REFUSED)->code, ERROR_LIMIT);
    free(inputs);
    stage_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_carries_a_body),
        cmocka_unit_test(hand_carries_a_cloth),
        cmocka_unit_test(hand_changes_its_hold),
        cmocka_unit_test(push_changes_speed_by_impulse_over_mass),
        cmocka_unit_test(spawn_makes_an_entity_until_the_limit),
        cmocka_unit_test(remove_takes_it_out_of_every_hand),
        cmocka_unit_test(wrong_inputs_are_refused),
        cmocka_unit_test(parameters_stay_in_range),
        cmocka_unit_test(reset_starts_again),
        cmocka_unit_test(order_of_arrival_does_not_matter),
        cmocka_unit_test(what_is_out_of_bounds_is_removed),
        cmocka_unit_test(surplus_inputs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
