/* test_recording_damage.c: a small recording, cut at every byte and with every bit flipped: no tick
 * is ever read as another, and the check names the damage. Notes, gaps, full disks. */
#include "protocol/record/recording.h"
#include "protocol/record/recording_format.h"
#include "tests/unit/protocol/random_world.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/file_bytes.h"
#include "tests/unit/protocol/record/recording_expect.h"

enum {
    TICKS = 9, /* 50 ticks apart: three key frames */
    APART = 50,
    BODIES = 3
};

static const char *path;

static Frame *make_frame(FieldSet *fields, u32 number)
{
    u64 tick = 10 + (u64)number * APART;
    Frame *frame = frame_create(fields, tick, number % 4 == 1);
    assert_non_null(frame);
    frame->world_hash = random_u64(7, tick);
    frame->system_count = 4;
    for (u32 i = 0; i < 4; i++) { /* the third has no state of its own */
        frame->systems[i] = (u32)random_u64(11 + i - (i == 2), tick);
    }
    if (frame->event_count > 0) {
        Event *event = &frame->events[0];
        event->kind = EVENT_SPAWN;
        event->entity = (Entity){.id = 50 + number, .first = number % BODIES, .count = 1};
        snprintf(event->entity.name, sizeof event->entity.name, "n%u", number);
        event->entity.appearance.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 0.5f};
    }
    QPose *poses = frame_poses(frame, 0);
    for (u32 i = 0; i < BODIES; i++) {
        poses[i].flags = POSE_LIVE;
        poses[i].generation = 1;
        poses[i].position[1] = (i32)(i + tick * tick);
        poses[i].rotation = (u32)random_u64(5, i + tick);
    }
    return frame;
}

static RecordingNote note_of(u64 tick, u32 kind, const char *text)
{
    RecordingNote note = {.tick = tick, .kind = kind, .user = 4, .name = "Ada"};
    snprintf(note.text, sizeof note.text, "%s", text);
    return note;
}

static RecordingHead head_of(const FieldSet *fields)
{
    RecordingHead head = {.tick_rate = 30, .build = "test"};
    head.world = (MessageWorld){.scene = (const u8 *)"scene",
                                .scene_bytes = 6,
                                .fields = fields->fields,
                                .field_count = fields->count};
    head.parent = (RecordingParent){.name = "evening.plrec", .tick = 10, .created_unix_s = 77};
    return head;
}

static RecordingWriter *writer_open(FieldSet *fields)
{
    RecordingHead head = head_of(fields);
    unlink(path);
    ErrorText error;
    RecordingWriter *writer = recording_writer_create(path, &head, &error);
    assert_non_null(writer);
    return writer;
}

/* With the first tick, and where the world was rewound. */
static void write_image(RecordingWriter *writer, u32 number)
{
    u8 image[200];
    for (u32 i = 0; i < sizeof image; i++) {
        image[i] = (u8)random_u64(number, i);
    }
    bool start = number == 0;
    RecordingImage about = {.tick = 10 + (u64)number * APART,
                            .kind = start ? RECORDING_IMAGE_START : RECORDING_IMAGE_BACK,
                            .back_tick = start ? 0 : 30,
                            .bytes = sizeof image};
    assert_int_equal(recording_writer_image(writer, &about, image), 0);
}

static void write_small(FieldSet *fields)
{
    RecordingWriter *writer = writer_open(fields);
    for (u32 i = 0; i < TICKS; i++) {
        if (i == 0 || i == 7) {
            write_image(writer, i);
        }
        Input input = {.kind = INPUT_REMOVE, .user = 3, .sequence = i, .entity = i};
        Frame *frame = make_frame(fields, i);
        assert_int_equal(recording_writer_tick(writer, frame, &input, i % 2), 0);
        frame_release(frame);
        if (i == 3) {
            RecordingNote note = note_of(frame->tick, RECORDING_NOTE_CHAT, "hello");
            assert_int_equal(recording_writer_note(writer, &note), 0);
        } else if (i == 5) {
            assert_int_equal(recording_writer_gap(writer, (RecordingGap){111, 129}), 0);
        }
    }
    assert_int_equal(recording_writer_destroy(writer), 0);
}

/* Reads ticks up to the end or to damage, each of which must be as it was written. */
static u32 read_true_ticks(FieldSet *fields, RecordingReader *reader)
{
    Frame *frame;
    u32 count = 0;
    while (recording_reader_next(reader, &frame, NULL, NULL) == 0) {
        Frame *want = make_frame(fields, (u32)((frame->tick - 10) / APART));
        assert_frame_equal(frame, want);
        frame_release(want);
        frame_release(frame);
        count++;
    }
    return count;
}

static void count_damage(void *context, const RecordingDamage *damage)
{
    u64 *covered = context;
    assert_true(damage->bytes > 0 && damage->what != NULL);
    *covered += damage->bytes;
}

static void test_whole(void **state)
{
    FieldSet *fields = *state;
    write_small(fields);
    RecordingReader *reader = recording_reader_create(path, NULL);
    assert_int_equal(read_true_ticks(fields, reader), TICKS);
    RecordingCheck check;
    u64 covered = 0;
    assert_int_equal(recording_reader_check(reader, count_damage, &covered, &check), 0);
    assert_int_equal(check.damaged, 0);
    assert_int_equal(check.ticks, TICKS);
    assert_int_equal(check.notes, 1);
    assert_int_equal(check.gap_ticks, 19);
    assert_int_equal(check.images, 2);
    assert_int_equal(check.backs, 1);
    assert_int_equal(check.key_interval_max, 3 * APART);
    /* Key frames are at most 5 s apart. */
    assert_true(RECORDING_KEY_INTERVAL_S <= 5);
    recording_reader_destroy(reader);
}

static void test_cut_at_every_byte(void **state)
{
    FieldSet *fields = *state;
    write_small(fields);
    size_t bytes;
    u8 *data = file_load(path, &bytes);
    u64 starts[64] = {0}, ends_whole = 0;
    for (u64 at = 0; at < bytes && ends_whole < 64;) { /* boundaries of blocks */
        RecordingBlock block;
        assert_int_equal(recording_block_get(data + at, bytes - at, &block), 0);
        starts[ends_whole++] = at;
        at += recording_block_bytes(&block);
    }
    for (size_t cut = bytes; cut-- > 0;) {
        assert_int_equal(truncate(path, (off_t)cut), 0);
        ErrorText error = {0};
        RecordingReader *reader = recording_reader_create(path, &error);
        if (reader == NULL) {
            assert_non_null(strstr(error.text, path));
            continue;
        }
        assert_false(recording_reader_info(reader)->clean);
        u64 ticks = recording_reader_info(reader)->ticks;
        assert_int_equal(read_true_ticks(fields, reader), ticks);
        RecordingCheck check;
        u64 covered = 0;
        bool boundary = false;
        for (u64 i = 0; i < ends_whole; i++) {
            boundary = boundary || starts[i] == cut;
        }
        assert_int_equal(recording_reader_check(reader, count_damage, &covered, &check), 0);
        assert_int_equal(check.ticks, ticks);
        assert_int_equal(check.damaged, boundary ? 0 : 1);
        recording_reader_destroy(reader);
    }
    free(data);
}

/* True if the checks of all blocks of `data` hold, up to its end. */
static bool blocks_hold(const u8 *data, size_t bytes)
{
    size_t at = 0;
    RecordingBlock block;
    while (recording_block_get(data + at, bytes - at, &block) == 0) {
        at += block.head_bytes;
        if (block.length > bytes - at || recording_block_check(&block, data + at) != block.check) {
            return false;
        }
        at += block.length;
    }
    return at == bytes;
}

/* One bit of each byte in the file, each of all in memory, which is faster. */
static void test_every_bit_flipped(void **state)
{
    FieldSet *fields = *state;
    write_small(fields);
    size_t bytes;
    u8 *data = file_load(path, &bytes);
    assert_true(blocks_hold(data, bytes));
    for (size_t bit = 0; bit < bytes * 8; bit++) {
        data[bit / 8] ^= (u8)(1u << bit % 8);
        assert_false(blocks_hold(data, bytes));
        data[bit / 8] ^= (u8)(1u << bit % 8);
    }
    int fd = open(path, O_WRONLY);
    u32 opened = 0;
    for (size_t i = 0; i < bytes; i++) {
        u8 wrong = (u8)(data[i] ^ 1u << i % 8);
        assert_int_equal(pwrite(fd, &wrong, 1, (off_t)i), 1);
        ErrorText error = {0};
        RecordingReader *reader = recording_reader_create(path, &error);
        if (reader != NULL) {
            u32 ticks = read_true_ticks(fields, reader);
            RecordingCheck check;
            u64 covered = 0;
            assert_int_equal(recording_reader_check(reader, count_damage, &covered, &check), 0);
            if (check.damaged == 0 || check.ticks < ticks) {
                fail_msg("byte %zu: %u places, %u ticks of %u", i, (u32)check.damaged,
                         (u32)check.ticks, ticks);
            }
            recording_reader_destroy(reader);
            opened++;
        } else {
            assert_true(error.text[0] != 0);
        }
        assert_int_equal(pwrite(fd, &data[i], 1, (off_t)i), 1);
    }
    assert_true(opened > bytes / 2); /* most of them are behind the head */
    close(fd);
    free(data);
}

static void count_note(void *context, const RecordingNote *note)
{
    u32 *seen = context;
    static const char *const texts[] = {"hello", "here it breaks", "and here"};
    assert_true(*seen < 3);
    assert_string_equal(note->text, texts[*seen]);
    assert_string_equal(note->name, "Ada");
    (*seen)++;
}

static void test_notes_in_a_closed_file(void **state)
{
    FieldSet *fields = *state;
    ErrorText error = {0};
    write_small(fields);
    RecordingNote first = note_of(90, RECORDING_NOTE_BOOKMARK, "here it breaks");
    RecordingNote second = note_of(30, RECORDING_NOTE_BOOKMARK, "and here");
    assert_int_equal(recording_append_note(path, &first, &error), 0);
    assert_int_equal(recording_append_note(path, &second, &error), 0);
    RecordingReader *reader = recording_reader_create(path, &error);
    assert_true(recording_reader_info(reader)->clean);
    assert_int_equal(read_true_ticks(fields, reader), TICKS);
    assert_int_equal(recording_reader_key_after(reader, 10), 10 + 3 * APART);
    assert_int_equal(recording_reader_seek(reader, 10 + 4 * APART), 0);
    u32 seen = 0;
    RecordingVisitor visitor = {.context = &seen, .note = count_note};
    assert_int_equal(recording_reader_visit(reader, &visitor), 0);
    assert_int_equal(seen, 3);
    assert_int_equal(read_true_ticks(fields, reader), TICKS - 4); /* the position stayed */
    RecordingCheck check;
    u64 covered = 0;
    assert_int_equal(recording_reader_check(reader, count_damage, &covered, &check), 0);
    assert_int_equal(check.damaged, 0);
    recording_reader_destroy(reader);
    size_t bytes;
    free(file_load(path, &bytes));
    assert_int_equal(truncate(path, (off_t)bytes - 1), 0);
    assert_int_equal(recording_append_note(path, &first, &error), ERROR_STATE);
    assert_non_null(strstr(error.text, path));
}

/* The limit of a file's size acts like a full disk: part of a block is written, then none. */
static void test_full_disk(void **state)
{
    FieldSet *fields = *state;
    RecordingWriter *writer = writer_open(fields);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit usual, full;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    full = usual;
    full.rlim_cur = (rlim_t)status.st_size + 40;
    for (u32 i = 0; i < TICKS; i++) {
        Frame *frame = make_frame(fields, i);
        assert_int_equal(recording_writer_tick(writer, frame, NULL, 0), 0);
        frame_release(frame);
        if (i == 4) {
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
            int result = recording_writer_flush(writer);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
            assert_int_equal(result, ERROR_IO);
            assert_true(recording_writer_errno(writer) != 0);
            assert_int_equal(recording_writer_safe_tick(writer), 0);
            struct stat after;
            assert_int_equal(stat(path, &after), 0);
            assert_int_equal(after.st_size, status.st_size); /* no half block is left */
            assert_int_equal(recording_writer_flush(writer), 0);
            assert_int_equal(recording_writer_safe_tick(writer), 10 + 4 * APART);
        }
    }
    assert_int_equal(recording_writer_destroy(writer), 0);
    RecordingReader *reader = recording_expect(path);
    assert_true(recording_reader_info(reader)->clean);
    assert_int_equal(read_true_ticks(fields, reader), TICKS);
    recording_reader_destroy(reader);
}

/* A disk that is too full for the head: the error says so, and no empty file is left. */
static void test_full_from_the_start(void **state)
{
    FieldSet *fields = *state;
    struct rlimit usual, full;
    struct stat status;
    ErrorText error = {.text = ""};
    RecordingHead head = head_of(fields);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    full = usual;
    full.rlim_cur = 40;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    RecordingWriter *writer = recording_writer_create(path, &head, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    assert_null(writer);
    assert_int_equal(error.code, ERROR_IO);
    assert_non_null(strstr(error.text, strerror(EFBIG)));
    assert_true(stat(path, &status) != 0 && errno == ENOENT);
    recording_writer_destroy(writer_open(fields)); /* tear_down expects a file */
}

static int set_up(void **state)
{
    static char name[] = "/tmp/plenum-test-damage-XXXXXX";
    int fd = mkstemp(name);
    close(fd);
    path = name;
    FieldDesc poses = field_desc(FIELD_POSES, BODIES);
    *state = field_set_create(&poses, 1);
    return fd < 0 || *state == NULL;
}

static int tear_down(void **state)
{
    field_set_release(*state);
    return unlink(path);
}

int main(void)
{
    /* It opens thousands of files: memory that is given back each time took a third of the time. */
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_every_bit_flipped),
        cmocka_unit_test(test_notes_in_a_closed_file),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_full_from_the_start),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
