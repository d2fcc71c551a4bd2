/*
 * test_message.c: every kind of message survives the wire; any other bytes are refused or decode to
 * a message within its ranges.
 */
#include "protocol/field/frame.h"
#include "protocol/session/message.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENTITIES = 5,
    EVENTS = 3
};

typedef struct Sample {
    FieldDesc fields[2];
    Entity entities[ENTITIES];
    ScalarInfo scalars[1];
    Event events[EVENTS];
    u8 scene[100];
} Sample;

static Entity sample_entity(u32 id)
{
    Entity e = {.id = id,
                .field = 0,
                .movable = 1,
                .generation = 3,
                .first = id,
                .count = 1,
                .mass_kg = 2.5f};
    strcpy(e.name, "b\xc3\xb6x");
    e.appearance.kind = APPEARANCE_SHAPE;
    e.appearance.pattern = PATTERN_CHECKER;
    e.appearance.shape.kind = SHAPE_BOX;
    e.appearance.shape.half = vec3(1.0f, 2.0f, 3.0f);
    e.appearance.color[0] = 0.5f;
    e.appearance.color[3] = 1.0f;
    e.appearance.roughness = 0.25f;
    e.appearance.clear_m = 0.75f;
    e.appearance.image = BILLBOARD_SMOKE;
    e.appearance.growth = -0.5f;
    e.appearance.fade_in = 0.125f;
    e.appearance.glow = 0.875f;
    e.appearance.stretch_s = 0.0625f;
    return e;
}

static Sample *sample_create(void)
{
    Sample *s = calloc(1, sizeof *s);
    assert_non_null(s);
    strcpy(s->fields[0].name, "bodies");
    s->fields[0].kind = FIELD_POSES;
    s->fields[0].channels = 1;
    s->fields[0].capacity = 64;
    s->fields[0].quantum = 1.0f / 512.0f;
    strcpy(s->fields[1].name, "parameters");
    s->fields[1].id = 1;
    s->fields[1].kind = FIELD_SCALARS;
    s->fields[1].channels = 1;
    s->fields[1].capacity = 3;
    for (u32 i = 0; i < ENTITIES; i++) {
        s->entities[i] = sample_entity(i + 1);
    }
    strcpy(s->scalars[0].name, "gravity");
    strcpy(s->scalars[0].unit, "m/s^2");
    s->scalars[0].components = 3;
    s->scalars[0].field = 1;
    s->scalars[0].min = -50.0f;
    s->scalars[0].max = 50.0f;
    s->scalars[0].initial[1] = -9.81f;
    s->events[0].kind = EVENT_SPAWN;
    s->events[0].entity = sample_entity(9);
    s->events[1].kind = EVENT_IMPACT;
    s->events[1].a = 1;
    s->events[1].b = 2;
    s->events[1].impulse = 3.0f;
    s->events[1].position = vec3(1.0f, 2.0f, 3.0f);
    s->events[2].kind = EVENT_REFUSED;
    s->events[2].code = ERROR_DENIED;
    s->events[2].user = 4;
    memset(s->scene, 7, sizeof s->scene);
    return s;
}

static Message world_message(Sample *s)
{
    Message m = {.kind = MESSAGE_WORLD};
    m.world.epoch = 3;
    m.world.tick = 1ull << 40;
    m.world.scene = s->scene;
    m.world.scene_bytes = sizeof s->scene;
    m.world.fields = s->fields;
    m.world.field_count = 2;
    m.world.entities = s->entities;
    m.world.entity_count = ENTITIES;
    m.world.parameters = s->scalars;
    m.world.parameter_count = 1;
    return m;
}

static void round_trip(const Message *in, Message *out, u8 **storage)
{
    u32 bytes = 0;
    u8 *encoded = message_encode(in, &bytes);
    ErrorText error = {0};
    assert_non_null(encoded);
    int result = message_decode(encoded, bytes, out, storage, &error);
    if (result != 0) {
        fail_msg("%s: %s", message_kind_name(in->kind), error.text);
    }
    assert_int_equal(in->kind, out->kind);
    message_free(encoded);
}

static void test_world(void **state)
{
    PL_UNUSED(state);
    Sample *s = sample_create();
    Message in = world_message(s), out;
    u8 *storage;
    round_trip(&in, &out, &storage);
    assert_int_equal(out.world.epoch, 3);
    assert_true(out.world.tick == 1ull << 40);
    assert_int_equal(out.world.scene_bytes, sizeof s->scene);
    assert_memory_equal(out.world.scene, s->scene, sizeof s->scene);
    assert_int_equal(out.world.field_count, 2);
    assert_memory_equal(out.world.fields, s->fields, sizeof s->fields);
    assert_int_equal(out.world.entity_count, ENTITIES);
    assert_memory_equal(out.world.entities, s->entities, sizeof s->entities);
    assert_memory_equal(out.world.parameters, s->scalars, sizeof s->scalars);
    assert_int_equal(out.world.probe_count, 0);
    message_free(storage);
    free(s);
}

static void test_events(void **state)
{
    PL_UNUSED(state);
    Sample *s = sample_create();
    Message in = {.kind = MESSAGE_EVENTS}, out;
    in.events.tick = 77;
    in.events.events = s->events;
    in.events.count = EVENTS;
    u8 *storage;
    round_trip(&in, &out, &storage);
    assert_int_equal(out.events.count, EVENTS);
    assert_memory_equal(out.events.events, s->events, sizeof s->events);
    message_free(storage);
    free(s);
}

static void test_small_kinds(void **state)
{
    PL_UNUSED(state);
    Message in, out;
    u8 *storage;
    memset(&in, 0, sizeof in);
    in.kind = MESSAGE_HELLO;
    in.hello.major = 1;
    strcpy(in.hello.name, "Ann");
    in.hello.token_bytes = 3;
    in.hello.resume = 1ull << 63;
    strcpy(in.hello.version, "0.2.0");
    in.hello.proves = true;
    in.hello.client[31] = 7;
    in.hello.proof[63] = 8;
    in.hello.relay = true;
    round_trip(&in, &out, &storage);
    assert_memory_equal(&in.hello, &out.hello, sizeof in.hello);
    message_free(storage);

    static const UserInfo guests[2] = {{.id = 3, .name = "Bo"}, {.id = 9, .name = "Cy"}};
    static const u32 given[2] = {0, 77};
    memset(&in, 0, sizeof in);
    in.kind = MESSAGE_GUESTS;
    in.guests.users = guests;
    in.guests.given = given;
    in.guests.count = in.guests.given_count = 2;
    round_trip(&in, &out, &storage);
    assert_int_equal(out.guests.count, 2);
    assert_int_equal(out.guests.given_count, 2);
    assert_int_equal(out.guests.users[1].id, 9);
    assert_memory_equal(out.guests.given, given, sizeof given);
    message_free(storage);

    memset(&in, 0, sizeof in);
    in.kind = MESSAGE_GUEST_INPUT;
    in.guest_input.user = 5;
    in.guest_input.bytes = 3;
    in.guest_input.input[2] = 8;
    round_trip(&in, &out, &storage);
    assert_memory_equal(&in.guest_input, &out.guest_input, sizeof in.guest_input);
    message_free(storage);

    memset(&in, 0, sizeof in);
    in.kind = MESSAGE_WELCOME;
    in.welcome.role = ROLE_OPERATOR;
    in.welcome.tick_rate = 60;
    in.welcome.snapshot_rate = 30;
    round_trip(&in, &out, &storage);
    assert_memory_equal(&in.welcome, &out.welcome, sizeof in.welcome);
    message_free(storage);

    memset(&in, 0, sizeof in);
    in.kind = MESSAGE_STATUS;
    in.status.paused = 1;
    in.status.speed = 0.5f;
    in.status.last_tick = 99;
    round_trip(&in, &out, &storage);
    assert_memory_equal(&in.status, &out.status, sizeof in.status);
    message_free(storage);

    memset(&in, 0, sizeof in);
    in.kind = MESSAGE_CONTROL;
    in.control.kind = CONTROL_SEEK;
    in.control.value = 12.5;
    round_trip(&in, &out, &storage);
    assert_true(out.control.value == 12.5 && out.control.kind == CONTROL_SEEK);
    message_free(storage);

    UserInfo users[2] = {{.id = 1, .name = "Ann", .own_time = 1},
                         {.id = 2, .name = "Bob", .color = 0xFF8800}};
    memset(&in, 0, sizeof in);
    in.kind = MESSAGE_ROSTER;
    in.roster.users = users;
    in.roster.count = 2;
    round_trip(&in, &out, &storage);
    assert_memory_equal(out.roster.users, users, sizeof users);
    message_free(storage);

    Presence hand = {.user = 2, .cursor_visible = 1, .grabbed = 5, .target = {1.0f, 2.0f, 3.0f}};
    memset(&in, 0, sizeof in);
    in.kind = MESSAGE_PRESENCE;
    in.presence.presences = &hand;
    in.presence.count = 1;
    in.presence.serial = 77;
    round_trip(&in, &out, &storage);
    assert_int_equal(out.presence.serial, 77);
    assert_int_equal(out.presence.presences[0].grabbed, 5);
    assert_true(out.presence.presences[0].target.z == 3.0f);
    message_free(storage);
}

/* The encoder writes it, but a decoder must refuse it. */
static void refuse(const Message *in)
{
    u32 bytes = 0;
    u8 *encoded = message_encode(in, &bytes);
    assert_non_null(encoded);
    Message out;
    u8 *storage;
    assert_true(message_decode(encoded, bytes, &out, &storage, NULL) < 0);
    assert_null(storage);
    message_free(encoded);
}

/* What the timeline of a recording needs. */
static void test_recorded_time(void **state)
{
    PL_UNUSED(state);
    Message in, out;
    u8 *storage;
    memset(&in, 0, sizeof in);
    in.kind = MESSAGE_STATUS;
    in.status = (MessageStatus){.replay = 1, .speed = -2.0f, .last_tick = 900};
    in.status.play = (PlaySegment){.stream_tick = 70, .tick = 30, .direction = -1};
    in.status.loop_first = 5;
    in.status.loop_last = 10;
    in.status.own_time = OWN_TIME_AWAY;
    in.status.common_tick = 77;
    in.status.common_speed = -0.5f;
    round_trip(&in, &out, &storage);
    assert_true(out.status.speed == -2.0f);
    assert_memory_equal(&out.status.play, &in.status.play, sizeof in.status.play);
    assert_int_equal(out.status.own_time, OWN_TIME_AWAY);
    assert_int_equal(out.status.common_tick, 77);
    assert_true(out.status.common_speed == -0.5f);
    assert_true(out.status.loop_first == 5 && out.status.loop_last == 10);
    message_free(storage);

    const f32 values[6] = {1, 2, 3, -4, -5, -6};
    SurveyMark marks[2] = {{.tick = 1, .kind = MARK_BREAK},
                           {.tick = 7, .kind = MARK_BOOKMARK, .text = "here"}};
    memset(&in, 0, sizeof in);
    in.kind = MESSAGE_SURVEY;
    in.survey = (MessageSurvey){.first_tick = 1,
                                .last_tick = 9,
                                .samples = 3,
                                .probes = 2,
                                .values = values,
                                .marks = marks,
                                .mark_count = 2};
    round_trip(&in, &out, &storage);
    assert_memory_equal(out.survey.values, values, sizeof values);
    assert_memory_equal(out.survey.marks, marks, sizeof marks);
    message_free(storage);
    in.survey.last_tick = 0; /* before the first */
    refuse(&in);
    in.survey.last_tick = 9;
    marks[1].kind = MARK_KIND_COUNT;
    refuse(&in);
    marks[1].kind = MARK_BOOKMARK;
    f32 wrong[6] = {1, 2, (f32)NAN, 4, 5, 6};
    in.survey.values = wrong;
    refuse(&in);

    memset(&in, 0, sizeof in);
    in.kind = MESSAGE_BOOKMARK;
    in.bookmark.tick = 77;
    snprintf(in.bookmark.text, sizeof in.bookmark.text, "the crash");
    round_trip(&in, &out, &storage);
    assert_string_equal(out.bookmark.text, "the crash");
    assert_int_equal(out.bookmark.tick, 77);
    message_free(storage);
    in.bookmark.text[0] = 0; /* without a name */
    refuse(&in);

    SaveInfo saves[SAVES_MAX + 1] = {
        {.name = "before", .unix_s = 1u << 31, .bytes = 1ull << 33, .scene = "dam"},
        {.name = "Überall 7"}};
    memset(&in, 0, sizeof in);
    in.kind = MESSAGE_SAVES;
    in.saves.items = saves;
    in.saves.count = 2;
    round_trip(&in, &out, &storage);
    assert_int_equal(out.saves.count, 2);
    assert_memory_equal(out.saves.items, saves, 2 * sizeof *saves);
    message_free(storage);
    in.saves.count = SAVES_MAX + 1; /* too many, and without names */
    refuse(&in);
    for (u32 i = 0; i <= SAVES_MAX; i++) {
        snprintf(saves[i].name, sizeof saves[i].name, "%u", i);
    }
    refuse(&in);
    in.saves.count = 1;
    saves[0].name[0] = 0;
    refuse(&in);
}

static void test_geometries_are_numbers(void **state)
{
    PL_UNUSED(state);
    Sample *s = sample_create();
    Message m = world_message(s), out;
    u8 *storage;
    s->entities[1].appearance.shape.kind = SHAPE_HULL;
    refuse(&m); /* an empty hull */
    s->entities[1].appearance.geometry = 7;
    round_trip(&m, &out, &storage);
    assert_int_equal(out.world.entities[1].appearance.geometry, 7);
    assert_null(out.world.entities[1].appearance.shape.geometry);
    message_free(storage);
    s->entities[1].appearance.shape.kind = SHAPE_BOX;
    refuse(&m); /* a box with a hull */
    free(s);
}

static void test_looks_are_in_range(void **state)
{
    PL_UNUSED(state);
    Sample *s = sample_create();
    Message m = world_message(s);
    Appearance *appearance = &s->entities[1].appearance, good = *appearance;
    appearance->image = BILLBOARD_IMAGE_COUNT;
    refuse(&m);
    *appearance = good;
    appearance->growth = -1.5f;
    refuse(&m);
    *appearance = good;
    appearance->fade_in = 1.5f;
    refuse(&m);
    *appearance = good;
    appearance->glow = -0.1f;
    refuse(&m);
    *appearance = good;
    appearance->stretch_s = NAN;
    refuse(&m);
    *appearance = good;
    appearance->clear_m = -1.0f;
    refuse(&m);
    appearance->spread = 1.5f; /* the kind is not a liquid */
    refuse(&m);
    free(s);
}

static void test_debug_pictures(void **state)
{
    PL_UNUSED(state);
    Message debug_subscribe = {.kind = MESSAGE_DEBUG_SUBSCRIBE}, out;
    u8 *storage;
    debug_subscribe.debug_subscribe.mask = DEBUG_CONTACTS | DEBUG_BOXES;
    round_trip(&debug_subscribe, &out, &storage);
    assert_int_equal(out.debug_subscribe.mask, DEBUG_CONTACTS | DEBUG_BOXES);
    message_free(storage);
    debug_subscribe.debug_subscribe.mask = DEBUG_ALL + 1;
    refuse(&debug_subscribe);
    Message bulk = {.kind = MESSAGE_BULK};
    bulk.bulk.transfer = UINT32_MAX;
    bulk.bulk.first = 17;
    round_trip(&bulk, &out, &storage);
    assert_int_equal(out.bulk.transfer, UINT32_MAX);
    assert_int_equal(out.bulk.first, 17);
    assert_null(storage);
    Message queue = {.kind = MESSAGE_QUEUE};
    queue.queue.position = 3;
    queue.queue.waiting = 7;
    round_trip(&queue, &out, &storage);
    assert_int_equal(out.queue.position, 3);
    assert_int_equal(out.queue.waiting, 7);
    queue.queue.position = 8;
    refuse(&queue);
    Message password = {.kind = MESSAGE_PASSWORD};
    round_trip(&password, &out, &storage);
    assert_string_equal(out.password.text, "");
    memcpy(password.password.text, "correct horse", sizeof "correct horse");
    round_trip(&password, &out, &storage);
    assert_string_equal(out.password.text, "correct horse");

    DebugLine lines[3] = {{{1, 2, 3}, {4, 5, 6}, DEBUG_LINE_BOX},
                          {{0, 1, 0}, {0, 2, 0}, DEBUG_LINE_CONTACT},
                          {{0, 1, 0}, {0, 0, 2}, DEBUG_LINE_AXIS_Z}};
    DebugIsland islands[2] = {{5, 9}, {6, 9}};
    Message debug = {.kind = MESSAGE_DEBUG};
    debug.debug = (DebugPicture){.tick = 77,
                                 .mask = DEBUG_ALL,
                                 .lines_all = 5000,
                                 .lines = lines,
                                 .line_count = 3,
                                 .islands = islands,
                                 .island_count = 2};
    round_trip(&debug, &out, &storage);
    assert_true(out.debug.tick == 77);
    assert_int_equal(out.debug.lines_all, 5000);
    assert_int_equal(out.debug.line_count, 3);
    assert_memory_equal(out.debug.lines, lines, sizeof lines);
    assert_int_equal(out.debug.island_count, 2);
    assert_memory_equal(out.debug.islands, islands, sizeof islands);
    message_free(storage);
    lines[1].kind = DEBUG_LINE_KIND_COUNT;
    refuse(&debug);
    lines[1].kind = 0;
    lines[2].to.x = NAN;
    refuse(&debug);
}

static void test_ranges(void **state)
{
    PL_UNUSED(state);
    Sample *s = sample_create();
    Message m = world_message(s);
    s->entities[2].appearance.color[1] = NAN;
    refuse(&m);
    s->entities[2] = sample_entity(3);
    s->entities[2].first = 64; /* one past the end of the field */
    refuse(&m);
    s->entities[2] = sample_entity(3);
    s->fields[0].quantum = 0.0f;
    refuse(&m);
    s->fields[0].quantum = 1.0f;
    FieldDesc poses = s->fields[0]; /* part of a grid cannot be an entity */
    s->fields[0].kind = FIELD_GRID2;
    s->fields[0].dims[0] = s->fields[0].dims[1] = 8;
    s->fields[0].spacing = vec3(1, 0, 1);
    refuse(&m);
    m.world.entity_count = 1;
    s->entities[0].first = 0;
    s->entities[0].count = 63;
    refuse(&m);
    s->entities[0].count = 64;
    Message out;
    u8 *storage = NULL;
    round_trip(&m, &out, &storage);
    message_free(storage);
    s->fields[0].kind = FIELD_GRID3; /* dyed voxels need another field of the same cells */
    s->fields[0].channels = 2;
    s->fields[0].dims[0] = s->fields[0].dims[1] = s->fields[0].dims[2] = 4;
    s->fields[0].spacing = vec3(1, 1, 1);
    round_trip(&m, &out, &storage);
    message_free(storage);
    FieldDesc *more = &s->fields[1], scalars = *more;
    for (u32 dye = 1; dye <= 4; dye++) { /* itself, one of scalars, none */
        s->entities[0].dye = dye;
        refuse(&m);
    }
    m.world.parameter_count = 0;
    *more = s->fields[0];
    s->entities[0].dye = 2;
    round_trip(&m, &out, &storage);
    assert_int_equal(out.world.entities[0].dye, 2);
    message_free(storage);
    more->channels = 1;
    refuse(&m);
    more->channels = 2;
    more->dims[0] = 2;
    more->dims[1] = 8;
    refuse(&m);
    *more = scalars;
    m.world.parameter_count = 1;
    m.world.entity_count = ENTITIES;
    s->fields[0] = poses;
    s->entities[0] = sample_entity(1);
    s->scalars[0].components = 4; /* the field has three */
    refuse(&m);
    s->scalars[0].components = 3;
    strcpy(s->entities[0].name, "evil\x1b[2J");
    refuse(&m);
    strcpy(s->entities[0].name, "bad \xc3");
    refuse(&m);
    s->entities[0] = sample_entity(1);
    m.world.epoch = 16;
    refuse(&m);
    Message control = {.kind = MESSAGE_CONTROL};
    control.control.kind = CONTROL_SPEED;
    control.control.value = (f64)INFINITY;
    refuse(&control);
    Message chat = {.kind = MESSAGE_CHAT};
    refuse(&chat); /* empty */
    free(s);
}

static void test_mutations(void **state)
{
    PL_UNUSED(state);
    Sample *s = sample_create();
    Message m = world_message(s);
    u32 bytes = 0, accepted = 0;
    u8 *encoded = message_encode(&m, &bytes);
    assert_non_null(encoded);
    for (u32 round = 0; round < 20000; round++) {
        u32 size = round % 3 == 0 ? (u32)(random_u64(1, round) % bytes) : bytes;
        u8 *copy = malloc(size + 1); /* exact size: the sanitizer sees any overrun */
        assert_non_null(copy);
        memcpy(copy, encoded, size);
        for (u32 i = 0; i < 1 + round % 4 && size > 0; i++) {
            copy[random_u64(2, round * 8 + i) % size] = (u8)random_u64(3, round * 8 + i);
        }
        Message out;
        u8 *storage;
        if (message_decode(copy, size, &out, &storage, NULL) == 0) {
            accepted++;
            if (out.kind == MESSAGE_WORLD) {
                for (u32 i = 0; i < out.world.entity_count; i++) {
                    assert_true(out.world.entities[i].field < out.world.field_count);
                    assert_true(isfinite(out.world.entities[i].mass_kg));
                }
            }
        }
        message_free(storage);
        free(copy);
    }
    assert_true(accepted > 0); /* a flipped bit of a colour is valid */
    message_free(encoded);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_world),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_small_kinds),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_recorded_time),
        cmocka_unit_test(test_geometries_are_numbers),
        cmocka_unit_test(test_looks_are_in_range),
        cmocka_unit_test(test_debug_pictures),
        cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
