/* test_recording_rate.c: a recording with a picture every few ticks gives all ticks: poses,
 * scalars, hashes, inputs and events as they were, points and grids as they were in pictures and
 * between them otherwise. Points that move fast may lack low bits; they have them again at rest. */
#include "protocol/record/recording.h"
#include "protocol/record/recording_format.h"
#include "shared/math/trig.h"
#include "tests/unit/protocol/random_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/file_bytes.h"
#include "tests/unit/protocol/record/recording_expect.h"

enum {
    RATE = 60,
    TICKS = 12 * RATE, /* keys among them */
    POSES = 2,
    POINTS = 130,
    CELLS = 12,
    RESET = 331,  /* tick of a cut */
    SPAWN = 202,  /* tick of a new entity, and of points that are new with it */
    IMPACT = 101, /* tick in which points stop at the ground */
    FREEZE = 500, /* tick in which points stop, where they do */
    COARSE_SHIFT = 2,
};

#define QUANTUM_M 0.001

static char path[] = "/tmp/plenum-test-rate-XXXXXX";
static u32 coarse_shift;   /* of recordings */
static bool points_freeze; /* of frames */

static FieldSet *make_fields(void)
{
    FieldDesc fields[5] = {field_desc(FIELD_POSES, POSES), field_desc(FIELD_POINTS, POINTS),
                           field_desc(FIELD_SCALARS, 3),
                           field_desc_grid(FIELD_GRID2, CELLS, CELLS, 0, 1),
                           field_desc_grid(FIELD_GRID3, CELLS, 4, 4, 1)};
    FieldSet *set = field_set_create(fields, PL_COUNT(fields));
    assert_non_null(set);
    return set;
}

/* Of point i at a time in ticks, in steps: swings of 0.2 m at 1 to 2 Hz. */
static f64 swing(u32 i, u32 axis, f64 tick)
{
    f64 hz = 1.0 + (i % 10) / 10.0;
    return 0.2 / QUANTUM_M * trig_sin(6.283185307 * hz * tick / RATE + axis);
}

/* Falls, and lies at 0 from IMPACT on. */
static i32 fall(f64 tick)
{
    return tick >= IMPACT ? 0 : (i32)((IMPACT - tick) * 40.0);
}

static Frame *compute_frame(FieldSet *fields, u64 tick)
{
    bool spawn = tick == SPAWN, reset = tick == RESET;
    Frame *frame = frame_create(fields, tick, spawn || reset || tick % 13 == 0);
    assert_non_null(frame);
    frame->world_hash = random_u64(3, tick);
    if (frame->event_count > 0) {
        frame->events[0].kind = spawn ? EVENT_SPAWN : reset ? EVENT_RESET : EVENT_IMPACT;
        frame->events[0].a = frame->events[0].entity.id = (u32)tick;
        snprintf(frame->events[0].entity.name, NAME_BYTES_MAX, "e");
        frame->events[0].entity.first = 7;
        frame->events[0].entity.count = 1;
    }
    QPose *poses = frame_poses(frame, 0);
    for (u32 i = 0; i < POSES; i++) {
        poses[i] = (QPose){.flags = POSE_LIVE, .generation = 1};
        poses[i].position[0] = (i32)(random_u64(4, tick * POSES + i) % 1000);
    }
    QPoint *points = frame_points(frame, 1);
    f64 at = points_freeze && tick > FREEZE ? FREEZE : (f64)tick;
    for (u32 i = 0; i < POINTS; i++) {
        if (i >= 100 && tick < SPAWN) {
            continue;
        }
        points[i].generation = 1;
        points[i].scalar = (u16)(tick * 10);
        for (u32 axis = 0; axis < 3; axis++) {
            points[i].position[axis] = i == 0
                                           ? (axis == 1 ? fall(at) : 0)
                                           : (i32)swing(i, axis, at) + (tick >= RESET ? 100000 : 0);
        }
    }
    for (u32 i = 0; i < 3; i++) {
        ((u32 *)frame_field(frame, 2))[i] = (u32)random_u64(5, tick * 3 + i);
    }
    for (u32 i = 0; i < CELLS * CELLS; i++) {
        ((u16 *)frame_field(frame, 3))[i] = (u16)(1000 + i + tick * 8);
    }
    for (u32 i = 0; i < CELLS * 16; i++) {
        ((u8 *)frame_field(frame, 4))[i] = (u8)((i + tick) % 251);
    }
    return frame;
}

/* What all tests begin with is made once: frames, moving and frozen, and recordings of them. */
static Frame *frames[2][TICKS + 1];

typedef struct Written {
    u32 picture_ticks, coarse_shift;
    bool freeze;
    u8 *file;
    size_t bytes;
} Written;

static Written recordings[16];
static u32 recording_count;

static Frame *make_frame(FieldSet *fields, u64 tick)
{
    Frame **frame = &frames[points_freeze][tick];
    *frame = *frame != NULL ? *frame : compute_frame(fields, tick);
    return frame_acquire(*frame);
}

static void record(FieldSet *fields, u32 picture_ticks)
{
    static const u8 scene[] = "a scene";
    RecordingHead head = {.tick_rate = RATE,
                          .picture_ticks = picture_ticks,
                          .coarse_shift = coarse_shift,
                          .build = "test"};
    head.world = (MessageWorld){.scene = scene,
                                .scene_bytes = sizeof scene,
                                .fields = fields->fields,
                                .field_count = fields->count};
    unlink(path);
    RecordingWriter *writer = recording_writer_create(path, &head, NULL);
    assert_non_null(writer);
    for (u64 tick = 1; tick <= TICKS; tick++) {
        Frame *frame = make_frame(fields, tick);
        Input input = {.kind = INPUT_REMOVE, .user = 3, .sequence = 1, .entity = (u32)tick};
        assert_int_equal(recording_writer_tick(writer, frame, &input, tick % 3 == 0), 0);
        frame_release(frame);
    }
    assert_int_equal(recording_writer_destroy(writer), 0);
}

/* Returns the bytes of the file. */
static u64 write_recording(FieldSet *fields, u32 picture_ticks)
{
    for (u32 i = 0; i < recording_count; i++) {
        const Written *old = &recordings[i];
        if (old->picture_ticks == picture_ticks && old->coarse_shift == coarse_shift &&
            old->freeze == points_freeze) {
            file_store(path, old->file, old->bytes);
            return old->bytes;
        }
    }
    record(fields, picture_ticks);
    assert_true(recording_count < PL_COUNT(recordings));
    Written *made = &recordings[recording_count++];
    *made = (Written){picture_ticks, coarse_shift, points_freeze, NULL, 0};
    made->file = file_load(path, &made->bytes);
    return made->bytes;
}

static bool same_field(const Frame *a, const Frame *b, u32 f)
{
    const FieldDesc *field = &a->fields->fields[f];
    return memcmp(frame_field(a, f), frame_field(b, f),
                  (size_t)field->capacity * field_element_bytes(field)) == 0;
}

/* What a picture that is not there is allowed to differ by, in steps. */
static void expect_near(const Frame *got, const Frame *want, f64 *worst)
{
    for (u32 i = 1; i < 100; i++) {
        for (u32 axis = 0; axis < 3; axis++) {
            f64 off = (f64)(frame_points(got, 1)[i].position[axis] -
                            frame_points(want, 1)[i].position[axis]);
            off = off < 0.0 ? -off : off;
            *worst = off > *worst ? off : *worst;
        }
        i32 scalar = frame_points(got, 1)[i].scalar - frame_points(want, 1)[i].scalar;
        assert_true(scalar >= -1 && scalar <= 1);
    }
    for (u32 i = 0; i < CELLS * CELLS; i++) { /* they rise evenly */
        assert_int_equal(((u16 *)frame_field(got, 3))[i], ((u16 *)frame_field(want, 3))[i]);
    }
}

/* True where the picture before leads to one behind: not before the cut, not behind the last. */
static bool leads_on(u64 tick, u64 last_picture)
{
    return tick < last_picture && !(tick > RESET - 16 && tick < RESET);
}

static u64 last_picture_of(RecordingReader *reader)
{
    Frame *frame;
    u64 last = 0;
    while (recording_reader_next(reader, &frame, NULL, NULL) == 0) {
        last = frame->between ? last : frame->tick;
        frame_release(frame);
    }
    return last;
}

/* A straight line between pictures h apart is off by h^2/8 of the second derivative, which is
 * 0.2 m (2 pi 1.9 Hz)^2 = 28.5 m/s^2 here; a cubic is no worse. Two steps are rounding. */
static void test_every_tick(void **state)
{
    static const u32 rates[] = {1, 2, 3, 4, 7, 16};
    for (u32 r = 0; r < PL_COUNT(rates); r++) {
        u32 k = rates[r], betweens = 0;
        (void)write_recording(*state, k);
        RecordingReader *reader = recording_expect(path);
        u64 last = last_picture_of(reader);
        assert_int_equal(recording_reader_seek(reader, 0), 0);
        f64 worst = 0.0;
        for (u64 tick = 1; tick <= TICKS; tick++) {
            Frame *got, *want = make_frame(*state, tick);
            const Input *inputs;
            u32 count;
            assert_int_equal(recording_reader_next(reader, &got, &inputs, &count), 0);
            assert_int_equal(got->tick, tick);
            assert_int_equal(got->world_hash, want->world_hash);
            assert_int_equal(count, tick % 3 == 0);
            assert_true(count == 0 || inputs[0].entity == tick);
            assert_int_equal(got->event_count, want->event_count);
            assert_true(got->event_count == 0 || got->events[0].a == tick);
            assert_true(same_field(got, want, 0) && same_field(got, want, 2));
            betweens += got->between;
            if (!got->between) {
                assert_memory_equal(got->data, want->data, got->fields->frame_bytes);
            } else if (leads_on(tick, last)) {
                expect_near(got, want, &worst);
            }
            assert_true(frame_points(got, 1)[0].position[1] >= 0); /* not into the ground */
            frame_release(got);
            frame_release(want);
        }
        f64 seconds = (f64)k / RATE, most = 28.5 / 8.0 * seconds * seconds / QUANTUM_M + 2.0;
        printf("every %u ticks: at most %.0f of %.0f steps off\n", k, worst, most);
        assert_true(worst <= (k == 1 ? 0.0 : most));
        assert_true(k == 1 ? betweens == 0 : betweens >= TICKS - TICKS / k - 20);
        recording_reader_destroy(reader);
    }
}

/* Of the points: how far they are off at most, in steps. */
static i32 most_off(const Frame *got, const Frame *want)
{
    i32 most = 0;
    for (u32 i = 0; i < POINTS; i++) {
        const QPoint *a = &frame_points(got, 1)[i], *b = &frame_points(want, 1)[i];
        assert_int_equal(a->generation, b->generation);
        for (u32 axis = 0; axis < 3; axis++) {
            i32 off = a->position[axis] - b->position[axis];
            most = i32_max(most, off < 0 ? -off : off);
        }
    }
    return most;
}

/* Pictures of moving points are half a coarse step off at most, and as they were three pictures
 * after these rest; all else is as it was. */
static void test_coarse(void **state)
{
    points_freeze = true;
    u64 bytes = write_recording(*state, 2);
    for (coarse_shift = 1; coarse_shift <= RECORDING_COARSE_SHIFT_MAX; coarse_shift++) {
        u64 fewer = write_recording(*state, 2);
        RecordingReader *reader = recording_expect(path);
        assert_int_equal(recording_reader_head(reader)->coarse_shift, coarse_shift);
        i32 most = 0;
        for (u64 tick = 1; tick <= TICKS; tick++) {
            Frame *got, *want = make_frame(*state, tick);
            assert_int_equal(recording_reader_next(reader, &got, NULL, NULL), 0);
            assert_int_equal(got->world_hash, want->world_hash);
            assert_true(same_field(got, want, 0) && same_field(got, want, 2));
            if (!got->between) {
                i32 off = most_off(got, want);
                assert_true(tick <= FREEZE + 6 || off == 0);
                assert_true(same_field(got, want, 3) && same_field(got, want, 4));
                most = i32_max(most, off);
            }
            frame_release(got);
            frame_release(want);
        }
        recording_reader_destroy(reader);
        printf("%u bits less: %llu of %llu bytes\n", coarse_shift, (unsigned long long)fewer,
               (unsigned long long)bytes);
        assert_in_range(most, 1 << (coarse_shift - 1), 1 << (coarse_shift + 1));
        assert_true(fewer < bytes * 4 / 5);
    }
    coarse_shift = 0;
    points_freeze = false;
}

/* What a seek gives is what reading on gives, for every tick, from anywhere; and memory of it is
 * none. */
static void test_seeks(void **state)
{
    Frame *whole[TICKS + 1];
    coarse_shift = COARSE_SHIFT;
    (void)write_recording(*state, 4);
    RecordingReader *reader = recording_expect(path), *seeker = recording_expect(path);
    for (u64 tick = 1; tick <= TICKS; tick++) {
        assert_int_equal(recording_reader_next(reader, &whole[tick], NULL, NULL), 0);
    }
    for (u64 i = 0; i < TICKS; i++) {
        Frame *sought;
        u64 tick = 1 + i * 389 % TICKS; /* each once: there and back */
        assert_int_equal(recording_reader_seek(seeker, tick), 0);
        assert_int_equal(recording_reader_next(seeker, &sought, NULL, NULL), 0);
        assert_int_equal(sought->tick, tick);
        assert_int_equal(sought->between, whole[tick]->between);
        assert_memory_equal(sought->data, whole[tick]->data, sought->fields->frame_bytes);
        frame_release(sought);
        frame_release(whole[tick]);
    }
    recording_reader_destroy(reader);
    recording_reader_destroy(seeker);
    coarse_shift = 0;
}

/* Nothing leans towards what comes after a reset; an entity that appears is in a picture. */
static void test_cuts_and_spawns(void **state)
{
    (void)write_recording(*state, 16);
    RecordingReader *reader = recording_expect(path);
    Frame *frame;
    assert_int_equal(recording_reader_seek(reader, 1), 0);
    for (u64 tick = 1; tick <= TICKS; tick++) {
        assert_int_equal(recording_reader_next(reader, &frame, NULL, NULL), 0);
        i32 x = frame_points(frame, 1)[5].position[0];
        assert_true(tick < RESET ? x < 1000 : x > 99000);
        assert_true(frame->between || (tick != RESET + 1));
        assert_true((tick != RESET && tick != SPAWN) || !frame->between);
        assert_int_equal(frame_points(frame, 1)[120].generation, tick >= SPAWN);
        frame_release(frame);
    }
    recording_reader_destroy(reader);
}

/* A file that ends anywhere gives all whole ticks. Most are read from 1 s before the end on: up to
 * there they are the same bytes. */
static void test_torn(void **state)
{
    size_t bytes;
    u32 number = 0;
    (void)write_recording(*state, 4);
    u8 *whole = file_load(path, &bytes);
    for (size_t cut = bytes - 8000; cut < bytes; cut += 37) {
        file_store(path, whole, cut);
        RecordingReader *reader = recording_expect(path);
        u64 ticks = recording_reader_info(reader)->ticks, from = 1, read = 0;
        if (number++ % 20 != 0) {
            from = ticks - RATE;
            assert_int_equal(recording_reader_seek(reader, from), 0);
        }
        Frame *frame;
        while (recording_reader_next(reader, &frame, NULL, NULL) == 0) {
            assert_int_equal(frame->tick, from + read);
            read++;
            frame_release(frame);
        }
        assert_int_equal(from + read - 1, ticks);
        recording_reader_destroy(reader);
    }
    free(whole);
}

static void test_smaller(void **state)
{
    const u64 sizes[2] = {write_recording(*state, 1), write_recording(*state, 4)};
    printf("%llu and %llu bytes\n", (unsigned long long)sizes[0], (unsigned long long)sizes[1]);
    assert_true(sizes[1] < sizes[0] * 4 / 5);
}

/* Writes the file with `change` applied to its blocks, their checksums corrected. */
static void forge(void (*change)(RecordingBlock *block, u8 *content, u32 number))
{
    size_t bytes;
    u8 *file = file_load(path, &bytes);
    u32 number = 0;
    for (u64 at = 0; at < bytes; number++) {
        RecordingBlock block;
        assert_int_equal(recording_block_get(file + at, bytes - at, &block), 0);
        u8 *content = file + at + block.head_bytes;
        change(&block, content, number);
        block.check = recording_block_check(&block, content);
        (void)recording_block_put(&block, file + at);
        at += recording_block_bytes(&block);
    }
    file_store(path, file, bytes);
    free(file);
}

static void key_between(RecordingBlock *block, u8 *content, u32 number)
{
    PL_UNUSED(number);
    content[8] = block->type == BLOCK_KEYF ? RECORDING_FRAME_BETWEEN : content[8];
}

static void unknown_flag(RecordingBlock *block, u8 *content, u32 number)
{
    if ((block->type == BLOCK_KEYF || block->type == BLOCK_DLTA) && number > 20) {
        content[8] |= 4;
    }
}

static void both_flags(RecordingBlock *block, u8 *content, u32 number)
{
    PL_UNUSED(number);
    if (block->type == BLOCK_DLTA && content[8] == RECORDING_FRAME_BETWEEN) {
        content[8] = RECORDING_FRAME_BETWEEN | RECORDING_FRAME_CUT;
    }
}

/* The head says less than the writer did. */
static void too_long(RecordingBlock *block, u8 *content, u32 number)
{
    PL_UNUSED(number);
    if (block->type == BLOCK_HEAD) {
        content[offsetof(RecordingFileHead, picture_ticks)] = 3;
    }
}

/* There are 8 chunks, 1 to 3 of points: a level of one that has no span at that level. */
static void other_level(RecordingBlock *block, u8 *content, u32 number)
{
    PL_UNUSED(number);
    if (block->type == BLOCK_DLTA && content[8] == RECORDING_FRAME_COARSE) {
        assert_true((content[9] & 2) != 0);
        content[10] ^= 1;
    }
}

/* Without the bytes of levels. */
static void no_level(RecordingBlock *block, u8 *content, u32 number)
{
    PL_UNUSED(number);
    if (block->type == BLOCK_DLTA && content[8] == RECORDING_FRAME_COARSE) {
        content[8] = 0;
    }
}

static void test_lies(void **state)
{
    static void (*const changes[])(RecordingBlock *, u8 *, u32) = {
        key_between, unknown_flag, both_flags, too_long, other_level, no_level};
    for (u32 i = 0; i < PL_COUNT(changes); i++) {
        coarse_shift = i < 4 ? 0 : COARSE_SHIFT;
        (void)write_recording(*state, 4);
        forge(changes[i]);
        RecordingReader *reader = recording_expect(path);
        Frame *frame;
        u64 read = 0;
        int result;
        while ((result = recording_reader_next(reader, &frame, NULL, NULL)) == 0) {
            read++;
            frame_release(frame);
        }
        assert_true(result == ERROR_FORMAT || (i >= 4 && result == ERROR_TRUNCATED));
        assert_int_equal(recording_reader_next(reader, &frame, NULL, NULL), result);
        assert_true(read < TICKS / 2);
        recording_reader_destroy(reader);
    }
    coarse_shift = 0;
}

static u8 head_ticks, head_coarse;

static void head_says(RecordingBlock *block, u8 *content, u32 number)
{
    PL_UNUSED(number);
    if (block->type == BLOCK_HEAD) {
        content[offsetof(RecordingFileHead, picture_ticks)] = head_ticks;
        content[offsetof(RecordingFileHead, coarse_shift)] = head_coarse;
    }
}

static void test_heads(void **state)
{
    static const u8 wrong[][2] = {{0, 0},
                                  {RECORDING_PICTURE_TICKS_MAX + 1, 0},
                                  {4, RECORDING_COARSE_SHIFT_MAX + 1},
                                  {255, 0}};
    for (u32 i = 0; i < PL_COUNT(wrong); i++) {
        ErrorText error = {0};
        (void)write_recording(*state, 4);
        head_ticks = wrong[i][0];
        head_coarse = wrong[i][1];
        forge(head_says);
        assert_null(recording_reader_create(path, &error));
        assert_int_equal(error.code, ERROR_RANGE);
    }
}

static int set_up(void **state)
{
    int fd = mkstemp(path);
    close(fd);
    *state = make_fields();
    return fd < 0;
}

static int tear_down(void **state)
{
    for (u32 i = 0; i < recording_count; i++) {
        free(recordings[i].file);
    }
    for (u32 i = 0; i < 2 * (TICKS + 1); i++) {
        frame_release(frames[i / (TICKS + 1)][i % (TICKS + 1)]);
    }
    field_set_release(*state);
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tick), cmocka_unit_test(test_coarse),
        cmocka_unit_test(test_seeks),      cmocka_unit_test(test_cuts_and_spawns),
        cmocka_unit_test(test_torn),       cmocka_unit_test(test_smaller),
        cmocka_unit_test(test_lies),       cmocka_unit_test(test_heads)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
