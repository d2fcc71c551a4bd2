/* test_recording.c: a recording is read back bit for bit, from anywhere in the file; a file cut or
 * damaged anywhere gives every whole tick before the damage. */
#include "protocol/record/recording.h"
#include "protocol/record/recording_format.h"
#include "tests/unit/protocol/random_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/file_bytes.h"
#include "tests/unit/protocol/record/recording_expect.h"

enum {
    TICKS = 640, /* 11 s: three key frames */
    FIRST_TICK = 11
};

static const u8 scene_bytes[] = "a scene";
static const char *path;

static Entity ball(u32 id, u32 slot)
{
    Entity e = {.id = id, .first = slot, .count = 1, .movable = 1};
    snprintf(e.name, sizeof e.name, "ball-%u", id);
    e.appearance.kind = APPEARANCE_SHAPE;
    e.appearance.shape.kind = SHAPE_SPHERE;
    e.appearance.shape.radius = 0.5f;
    return e;
}

static Vec3 any_place(u64 seed)
{
    return vec3(random_range(7, seed * 3, -90.0f, 90.0f),
                random_range(7, seed * 3 + 1, -1e-3f, 1.0f),
                random_range(7, seed * 3 + 2, -16384.0f, 16384.0f));
}

/* Each member is there or not. */
static void make_event(u64 seed, Event *event)
{
    static const u32 kinds[] = {EVENT_IMPACT, EVENT_GRAB,  EVENT_REFUSED,
                                EVENT_BREAK,  EVENT_ENTER, EVENT_LEAVE};
    u32 has = (u32)random_u64(8, seed);
    event->kind = kinds[seed % PL_COUNT(kinds)];
    event->user = (has & 1) != 0 ? (u32)random_u64(9, seed) : 0;
    event->sequence = (has & 2) != 0 ? UINT32_MAX : 0;
    event->code = (has & 4) != 0 ? -(i32)(1 + seed % 9) : 0;
    event->a = (has & 8) != 0 ? (u32)seed + 1 : 0;
    event->b = (has & 16) != 0 ? 2 : 0;
    event->element = (has & 32) != 0 ? FIELD_ELEMENTS_MAX : 0;
    event->position = (has & 64) != 0 ? any_place(seed) : vec3(0.0f, -0.0f, 0.0f);
    event->impulse = (has & 128) != 0 ? (f32)seed * 0.3f : 0.0f;
    event->speed = (has & 256) != 0 ? 3e38f : 0.0f;
}

/* Frames, inputs and events are a pure function of the tick, so that any can be recomputed. */
static Frame *make_frame(FieldSet *fields, u64 tick)
{
    bool spawn = tick % 50 == 20, despawn = tick % 50 == 40;
    Frame *frame = frame_create(fields, tick, spawn || despawn ? 2 : tick % 7 == 0);
    assert_non_null(frame);
    frame->world_hash = random_u64(99, tick);
    frame->world_time_s = (f64)tick / 60.0;
    for (u32 i = 0; i < frame->event_count; i++) {
        make_event(tick * 2 + i, &frame->events[i]);
    }
    if (spawn) {
        frame->events[1].kind = EVENT_SPAWN;
        frame->events[1].entity = ball(1000 + (u32)tick, (u32)tick % 64);
    } else if (despawn) {
        frame->events[1].kind = EVENT_DESPAWN;
        frame->events[1].entity.id = 1000 + (u32)tick - 20;
    }
    QPose *poses = frame_poses(frame, 0);
    for (u32 i = 0; i < 100; i++) {
        bool rests = i % 3 == 0;
        poses[i].flags = POSE_LIVE;
        poses[i].generation = 1;
        poses[i].position[1] = rests ? (i32)i : (i32)(i * 10 + tick * (i + 1));
        poses[i].rotation = (u32)random_u64(5, rests ? i : i + tick / 20 * 100);
    }
    QPoint *points = frame_points(frame, 1);
    for (u32 i = 0; i < 80; i++) {
        points[i].generation = 1;
        points[i].position[0] = (i32)(i + tick / 3);
    }
    return frame;
}

static u32 make_inputs(u64 tick, Input inputs[2])
{
    u32 count = (u32)(tick % 3);
    for (u32 i = 0; i < count; i++) {
        /* More users than a recording has in mind at once. */
        u32 user = tick % 4 == 0 ? (u32)tick : 3 + i;
        bool moves = random_u64(6, tick * 2 + i) % 4 != 0;
        inputs[i] = (Input){.kind = moves ? INPUT_MOVE : INPUT_REMOVE, .user = user};
        inputs[i].sequence = tick == 400 ? UINT32_MAX : (u32)tick;
        if (moves) {
            inputs[i].target = tick % 9 == 0 ? vec3(0.0f, 1.0f, -0.0f) : any_place(tick + i);
        } else {
            inputs[i].entity = (u32)tick + i;
        }
    }
    return count;
}

static FieldSet *make_fields(void)
{
    FieldDesc descriptions[2] = {field_desc(FIELD_POSES, 150), field_desc(FIELD_POINTS, 100)};
    FieldSet *fields = field_set_create(descriptions, 2);
    assert_non_null(fields);
    return fields;
}

static void write_recording(FieldSet *fields, bool close_cleanly)
{
    Entity entities[1] = {ball(1, 0)};
    RecordingHead head = {.tick_rate = 60, .created_unix_s = 1234567, .build = "test"};
    head.world = (MessageWorld){.tick = FIRST_TICK - 1,
                                .scene = scene_bytes,
                                .scene_bytes = sizeof scene_bytes,
                                .fields = fields->fields,
                                .field_count = fields->count,
                                .entities = entities,
                                .entity_count = 1};
    ErrorText error = {0};
    unlink(path); /* left by an earlier test */
    RecordingWriter *writer = recording_writer_create(path, &head, &error);
    if (writer == NULL) {
        fail_msg("%s", error.text);
    }
    for (u64 tick = FIRST_TICK; tick < FIRST_TICK + TICKS; tick++) {
        Input inputs[2];
        Frame *frame = make_frame(fields, tick);
        u32 count = make_inputs(tick, inputs);
        assert_int_equal(recording_writer_tick(writer, frame, inputs, count), 0);
        frame_release(frame);
    }
    assert_int_equal(recording_writer_flush(writer), 0);
    if (close_cleanly) {
        assert_int_equal(recording_writer_destroy(writer), 0);
        return;
    }
    /* A killed writer leaves the file as it was before the index was appended. */
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    recording_writer_destroy(writer);
    assert_int_equal(truncate(path, status.st_size), 0);
}

static void assert_tick(FieldSet *fields, const Frame *got, u64 tick, const Input *inputs,
                        u32 count)
{
    Frame *want = make_frame(fields, tick);
    Input wanted[2];
    assert_int_equal(got->tick, tick);
    assert_frame_equal(got, want);
    for (u32 i = 0; i < want->event_count; i++) {
        assert_memory_equal(&got->events[i], &want->events[i], offsetof(Event, entity));
        assert_int_equal(got->events[i].entity.id, want->events[i].entity.id);
        assert_string_equal(got->events[i].entity.name, want->events[i].entity.name);
    }
    assert_int_equal(count, make_inputs(tick, wanted));
    for (u32 i = 0; i < count; i++) {
        assert_int_equal(inputs[i].user, wanted[i].user);
        assert_int_equal(inputs[i].sequence, wanted[i].sequence);
        assert_int_equal(inputs[i].kind, wanted[i].kind);
        assert_int_equal(inputs[i].entity, wanted[i].entity);
        assert_memory_equal(&inputs[i].target, &wanted[i].target, sizeof(Vec3));
    }
    frame_release(want);
}

static void check_entities(const RecordingReader *reader, u64 tick)
{
    Entity entities[32];
    u32 count = recording_reader_entities(reader, entities, 32);
    u32 expected = 1;
    for (u64 t = FIRST_TICK; t <= tick; t++) {
        expected += t % 50 == 20 ? 1 : 0;
        expected -= t % 50 == 40 && t >= FIRST_TICK + 20 ? 1 : 0;
    }
    assert_int_equal(count, expected);
    assert_string_equal(entities[0].name, "ball-1");
}

/* Reads to the end; checks and counts the ticks. */
static u64 read_all(FieldSet *fields, RecordingReader *reader, int *end)
{
    u64 ticks = 0;
    for (;;) {
        Frame *frame;
        const Input *inputs;
        u32 count;
        *end = recording_reader_next(reader, &frame, &inputs, &count);
        if (*end != 0) {
            return ticks;
        }
        assert_tick(fields, frame, FIRST_TICK + ticks, inputs, count);
        frame_release(frame);
        ticks++;
    }
}

static void test_reads_back_bit_for_bit(void **state)
{
    FieldSet *fields = *state;
    for (int clean = 0; clean < 2; clean++) {
        write_recording(fields, clean != 0);
        RecordingReader *reader = recording_expect(path);
        const RecordingInfo *info = recording_reader_info(reader);
        assert_int_equal(info->clean, clean);
        assert_int_equal(info->ticks, TICKS);
        assert_int_equal(info->first_tick, FIRST_TICK);
        assert_int_equal(info->last_tick, FIRST_TICK + TICKS - 1);
        assert_int_equal(info->key_frames, 3);
        assert_int_equal(info->torn_bytes, 0);
        const RecordingHead *head = recording_reader_head(reader);
        assert_int_equal(head->world.scene_bytes, sizeof scene_bytes);
        assert_memory_equal(head->world.scene, scene_bytes, sizeof scene_bytes);
        assert_int_equal(head->created_unix_s, 1234567);
        int end;
        assert_int_equal(read_all(fields, reader, &end), TICKS);
        assert_int_equal(end, ERROR_NOT_FOUND);
        check_entities(reader, FIRST_TICK + TICKS - 1);
        recording_reader_destroy(reader);
    }
}

static void test_seek_equals_sequential(void **state)
{
    FieldSet *fields = *state;
    for (int clean = 0; clean < 2; clean++) {
        write_recording(fields, clean != 0);
        RecordingReader *reader = recording_expect(path);
        Dice dice = {17, 0};
        for (u32 round = 0; round < 60; round++) {
            u64 tick = FIRST_TICK + dice_below(&dice, TICKS);
            assert_int_equal(recording_reader_seek(reader, tick), 0);
            for (u64 t = tick; t < tick + 3 && t < FIRST_TICK + TICKS; t++) {
                Frame *frame;
                const Input *inputs;
                u32 count;
                assert_int_equal(recording_reader_next(reader, &frame, &inputs, &count), 0);
                assert_tick(fields, frame, t, inputs, count);
                check_entities(reader, t);
                frame_release(frame);
            }
        }
        Frame *frame;
        assert_int_equal(recording_reader_seek(reader, 0), 0);
        assert_int_equal(recording_reader_next(reader, &frame, NULL, NULL), 0);
        assert_int_equal(frame->tick, FIRST_TICK);
        frame_release(frame);
        recording_reader_seek(reader, FIRST_TICK + TICKS + 5);
        assert_int_equal(recording_reader_next(reader, &frame, NULL, NULL), ERROR_NOT_FOUND);
        recording_reader_destroy(reader);
    }
}

/* Number of whole ticks before `limit` in the file. */
static u64 whole_ticks(const u8 *data, size_t bytes, size_t limit)
{
    u64 ticks = 0;
    size_t at = 0;
    RecordingBlock block;
    while (recording_block_get(data + at, bytes - at, &block) == 0) {
        at += recording_block_bytes(&block);
        bool frame = block.type == BLOCK_KEYF || block.type == BLOCK_DLTA;
        ticks += frame && at <= limit;
    }
    return ticks;
}

static void test_torn_at_every_byte_of_its_tail(void **state)
{
    FieldSet *fields = *state;
    write_recording(fields, true);
    size_t bytes;
    u8 *data = file_load(path, &bytes);
    u64 seen_short = 0;
    for (size_t cut = bytes; cut > bytes - 1500; cut--) {
        file_store(path, data, cut);
        RecordingReader *reader = recording_expect(path);
        u64 expected = whole_ticks(data, bytes, cut);
        const RecordingInfo *info = recording_reader_info(reader);
        assert_int_equal(info->clean, cut == bytes);
        assert_int_equal(info->ticks, expected);
        /* Reading on from the last key frame is slow: not done at every byte. */
        bool reads = cut % 13 == 0;
        assert_true(!reads || recording_reader_seek(reader, info->last_tick - 1) == 0);
        for (int i = 0; reads && i < 2; i++) {
            Frame *frame;
            const Input *inputs;
            u32 count;
            assert_int_equal(recording_reader_next(reader, &frame, &inputs, &count), 0);
            assert_tick(fields, frame, info->last_tick - 1 + (u64)i, inputs, count);
            frame_release(frame);
        }
        seen_short += expected < TICKS;
        recording_reader_destroy(reader);
    }
    assert_true(seen_short > 200);
    free(data);
}

static void test_damage_ends_the_recording_there(void **state)
{
    FieldSet *fields = *state;
    write_recording(fields, false);
    size_t bytes;
    u8 *data = file_load(path, &bytes);
    Dice dice = {3, 0};
    RecordingBlock first;
    assert_int_equal(recording_block_get(data, bytes, &first), 0);
    size_t start = recording_block_bytes(&first);
    for (u32 round = 0; round < 400; round++) {
        size_t at = start + dice_below(&dice, (u32)(bytes - start));
        u8 old = data[at];
        data[at] ^= (u8)(1u << dice_below(&dice, 8));
        file_store(path, data, bytes);
        data[at] = old;
        u64 expected = whole_ticks(data, bytes, at);
        RecordingReader *reader = recording_reader_create(path, NULL);
        if (reader == NULL) {
            assert_int_equal(expected, 0);
            continue;
        }
        int end;
        assert_int_equal(recording_reader_info(reader)->ticks, expected);
        if (round % 10 == 0) {
            assert_int_equal(read_all(fields, reader, &end), expected);
        }
        recording_reader_destroy(reader);
    }
    free(data);
}

/* A false index with a valid checksum must not cause a crash. */
static void test_lying_index(void **state)
{
    FieldSet *fields = *state;
    write_recording(fields, true);
    size_t bytes;
    u8 *data = file_load(path, &bytes);
    u64 offset;
    memcpy(&offset, data + bytes - 8, 8);
    RecordingBlock block;
    RecordingFileIndex index;
    assert_int_equal(recording_block_get(data + offset, bytes - offset, &block), 0);
    memcpy(&index, data + offset + block.head_bytes, sizeof index);
    index.key_count = 0;
    index.event_count = 0;
    u8 content[sizeof index + 8];
    memcpy(content, &index, sizeof index);
    memcpy(content + sizeof index, &offset, 8);
    block.length = sizeof content;
    block.check = recording_block_check(&block, content);
    u64 end = offset + recording_block_put(&block, data + offset);
    memcpy(data + end, content, sizeof content);
    file_store(path, data, end + sizeof content);
    RecordingReader *reader = recording_expect(path);
    assert_false(recording_reader_info(reader)->clean);
    assert_int_equal(recording_reader_seek(reader, FIRST_TICK + 200), 0);
    recording_reader_destroy(reader);
    free(data);
}

static void test_no_recordings(void **state)
{
    (void)state;
    ErrorText error = {0};
    file_store(path, (const u8 *)"", 0);
    assert_null(recording_reader_create(path, &error));
    assert_non_null(strstr(error.text, path));
    u8 junk[4096];
    memset(junk, 0x5A, sizeof junk);
    file_store(path, junk, sizeof junk);
    assert_null(recording_reader_create(path, &error));
    assert_null(recording_reader_create("/nonexistent.plrec", &error));
    assert_null(recording_reader_create("/dev/zero", &error));
    RecordingHead head = {.tick_rate = 60};
    assert_null(recording_writer_create("/nonexistent/x.plrec", &head, &error));
    assert_non_null(strstr(error.text, "/nonexistent/x.plrec"));
}

static int set_up(void **state)
{
    static char name[] = "/tmp/plenum-test-recording-XXXXXX";
    int fd = mkstemp(name);
    close(fd);
    path = name;
    *state = make_fields();
    return fd < 0;
}

static int tear_down(void **state)
{
    field_set_release(*state);
    return unlink(path);
}

/* Poses that nothing predicts: their codes do not fit, and the chain of codes begins again. */
static void make_noise(Frame *frame, u32 count)
{
    for (u32 k = 0; k < count; k++) {
        QPose *pose = &frame_poses(frame, 0)[k];
        for (u32 axis = 0; axis < 3; axis++) {
            u64 dice = random_u64(71 + axis, frame->tick * 1000 + k);
            pose->position[axis] = (i32)(dice % (2 * POSITION_CODE_MAX)) - POSITION_CODE_MAX;
        }
        pose->rotation = (u32)random_u64(74, frame->tick * 1000 + k);
        pose->flags = (u16)(random_u64(75, k) & POSE_FLAGS_MASK) | POSE_LIVE;
        pose->generation = (u16)random_u64(76, frame->tick * 1000 + k);
    }
}

/* Noise between calm frames: what is coded after a chain broke decodes too. */
static void test_chain_begins_anew(void **context)
{
    PL_UNUSED(context);
    enum {
        POSES = 128 /* whole chunks: no room is left over */
    };
    FieldDesc poses = field_desc(FIELD_POSES, POSES);
    FieldSet *fields = field_set_create(&poses, 1);
    assert_non_null(fields);
    RecordingTrail writing, reading;
    assert_true(recording_trail_init(&writing) && recording_trail_init(&reading));
    size_t capacity = recording_frame_bytes_max(fields);
    u8 *code = malloc(capacity);
    assert_non_null(code);
    u32 anew = 0, map_bytes = 1;
    for (u64 tick = 1; tick <= 60; tick++) {
        bool key = tick % 24 == 1;
        Frame *frame = frame_create(fields, tick, 0), *made = frame_create(fields, tick, 0);
        for (u32 k = 0; k < POSES; k++) {
            QPose *pose = &frame_poses(frame, 0)[k];
            *pose = (QPose){.rotation = k, .flags = POSE_LIVE, .generation = 1};
            pose->position[1] = (i32)(10 * k + tick * k);
        }
        if (tick % 5 == 3 || tick % 24 == 1) {
            make_noise(frame, tick % 2 == 0 ? POSES : 40);
        }
        size_t bytes = recording_frame_encode(&writing, frame, key, 0, code);
        assert_true(bytes <= capacity);
        u32 head;
        memcpy(&head, code + (key ? 0 : map_bytes), sizeof head);
        anew += head >> 31;
        u8 *exact = malloc(bytes);
        memcpy(exact, code, bytes);
        assert_int_equal(recording_frame_decode(&reading, made, key, 0, exact, bytes), 0);
        assert_memory_equal(made->data, frame->data, fields->frame_bytes);
        recording_trail_push(&writing, frame, 0);
        recording_trail_push(&reading, made, 0);
        frame_release(frame);
        frame_release(made);
        free(exact);
    }
    print_message("chains begun anew before the first span of %u frames\n", anew);
    assert_true(anew >= 3);
    free(code);
    recording_trail_finish(&writing);
    recording_trail_finish(&reading);
    field_set_release(fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_back_bit_for_bit),
        cmocka_unit_test(test_seek_equals_sequential),
        cmocka_unit_test(test_chain_begins_anew),
        cmocka_unit_test(test_torn_at_every_byte_of_its_tail),
        cmocka_unit_test(test_damage_ends_the_recording_there),
        cmocka_unit_test(test_lying_index),
        cmocka_unit_test(test_no_recordings),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
