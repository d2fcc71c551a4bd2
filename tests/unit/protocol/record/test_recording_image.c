/* test_recording_image.c: images of the world in recordings, of one part and of several, are read
 * back byte for byte; a parent is found; images of strangers that lie about their sizes or their
 * order are refused before memory is taken. */
#include "protocol/record/recording.h"
#include "protocol/record/recording_format.h"
#include "tests/unit/protocol/random_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/file_bytes.h"
#include "tests/unit/protocol/record/recording_expect.h"

enum {
    FIRST = 100,
    TICKS = 200,
    BACK_AT = 180,
    KEPT_AT = 240,
    LARGE = 2 * RECORDING_IMAGE_PART_BYTES + 12345
};

static const char *path;
static FieldSet *fields;

static u8 *image_of(u32 seed, size_t bytes)
{
    u8 *image = malloc(bytes);
    assert_non_null(image);
    for (size_t i = 0; i < bytes; i++) {
        image[i] = i % 4096 == 0 ? (u8)random_u64(seed, i) : (u8)(i >> 12);
    }
    return image;
}

static void put_image(RecordingWriter *writer, u64 tick, u32 kind, u64 back_tick, size_t bytes)
{
    u8 *image = image_of((u32)tick, bytes);
    RecordingImage about = {.tick = tick, .kind = kind, .back_tick = back_tick, .bytes = bytes};
    assert_int_equal(recording_writer_image(writer, &about, image), 0);
    free(image);
}

static void write_recording(void)
{
    RecordingHead head = {.tick_rate = 60, .build = "test"};
    head.world = (MessageWorld){.tick = FIRST,
                                .scene = (const u8 *)"scene",
                                .scene_bytes = 6,
                                .fields = fields->fields,
                                .field_count = fields->count};
    head.parent = (RecordingParent){.name = "evening.plrec", .tick = 4321, .created_unix_s = 99};
    unlink(path);
    ErrorText error = {0};
    RecordingWriter *writer = recording_writer_create(path, &head, &error);
    assert_non_null(writer);
    put_image(writer, FIRST, RECORDING_IMAGE_START, 0, LARGE);
    for (u64 tick = FIRST; tick < FIRST + TICKS; tick++) {
        if (tick == BACK_AT) {
            put_image(writer, tick, RECORDING_IMAGE_BACK, 130, 5000);
        } else if (tick == KEPT_AT) {
            put_image(writer, tick, RECORDING_IMAGE_KEPT, 0, RECORDING_IMAGE_PART_BYTES);
        }
        Frame *frame = frame_create(fields, tick, 0);
        frame->world_hash = tick;
        assert_int_equal(recording_writer_tick(writer, frame, NULL, 0), 0);
        frame_release(frame);
    }
    assert_int_equal(recording_writer_destroy(writer), 0);
}

static void expect_image(RecordingReader *reader, const RecordingImage *image, u64 tick, u32 kind,
                         u64 back_tick, size_t bytes)
{
    u8 *got, *want = image_of((u32)tick, bytes);
    ErrorText error = {0};
    assert_int_equal(image->tick, tick);
    assert_int_equal(image->kind, kind);
    assert_int_equal(image->back_tick, back_tick);
    assert_int_equal(image->bytes, bytes);
    assert_int_equal(recording_reader_image(reader, image, bytes, &got, &error), 0);
    assert_memory_equal(got, want, bytes);
    free(got);
    assert_int_equal(recording_reader_image(reader, image, bytes - 1, &got, &error), ERROR_LIMIT);
    assert_null(got);
    assert_non_null(strstr(error.text, "MiB, the limit is"));
    free(want);
}

static void test_read_back(void **state)
{
    PL_UNUSED(state);
    write_recording();
    RecordingReader *reader = recording_expect(path);
    const RecordingParent *parent = &recording_reader_head(reader)->parent;
    assert_string_equal(parent->name, "evening.plrec");
    assert_int_equal(parent->tick, 4321);
    assert_int_equal(parent->created_unix_s, 99);
    u32 seen = 0;
    for (u64 tick = FIRST; tick < FIRST + TICKS; tick++) {
        Frame *frame;
        assert_int_equal(recording_reader_next(reader, &frame, NULL, NULL), 0);
        assert_int_equal(frame->tick, tick);
        frame_release(frame);
        const RecordingImage *image = recording_reader_image_here(reader);
        seen += image != NULL;
        if (tick == FIRST) {
            expect_image(reader, image, tick, RECORDING_IMAGE_START, 0, LARGE);
        } else if (tick == BACK_AT) {
            expect_image(reader, image, tick, RECORDING_IMAGE_BACK, 130, 5000);
            assert_int_equal(recording_reader_key_at(reader, tick), tick); /* it can be sought */
        } else if (tick == KEPT_AT) {
            expect_image(reader, image, tick, RECORDING_IMAGE_KEPT, 0, RECORDING_IMAGE_PART_BYTES);
        }
    }
    assert_int_equal(seen, 3);
    recording_reader_destroy(reader);
}

typedef struct Found {
    RecordingImage images[8];
    u32 count;
} Found;

static void find(void *context, const RecordingImage *image)
{
    Found *found = context;
    assert_true(found->count < 8);
    found->images[found->count++] = *image;
}

static void test_visited(void **state)
{
    PL_UNUSED(state);
    write_recording();
    RecordingReader *reader = recording_reader_create(path, NULL);
    Found found = {0};
    const RecordingVisitor visitor = {.context = &found, .image = find};
    assert_int_equal(recording_reader_visit(reader, &visitor), 0);
    assert_int_equal(found.count, 3);
    expect_image(reader, &found.images[1], BACK_AT, RECORDING_IMAGE_BACK, 130, 5000);
    expect_image(reader, &found.images[0], FIRST, RECORDING_IMAGE_START, 0, LARGE);
    recording_reader_destroy(reader);
}

/* ---- strangers ---- */

/* Offset of the n-th IMAG block. */
static size_t find_block(const u8 *data, size_t bytes, u32 type, u32 n)
{
    size_t at = 0;
    RecordingBlock block;
    while (recording_block_get(data + at, bytes - at, &block) == 0) {
        if (block.type == type && n-- == 0) {
            return at;
        }
        at += recording_block_bytes(&block);
    }
    fail_msg("no such block");
    return 0;
}

typedef struct Lie {
    u32 block; /* which part, of the file's five */
    u32 at;    /* offset in RecordingFileImage */
    u64 value;
    u32 bytes;
} Lie;

static const Lie lies[] = {
    {0, offsetof(RecordingFileImage, kind), 0, 4},
    {0, offsetof(RecordingFileImage, kind), RECORDING_IMAGE_KIND_COUNT, 4},
    {0, offsetof(RecordingFileImage, bytes), 0, 8},
    {0, offsetof(RecordingFileImage, bytes), UINT64_MAX, 8},
    {0, offsetof(RecordingFileImage, bytes), RECORDING_IMAGE_BYTES_MAX, 8}, /* of many parts */
    {0, offsetof(RecordingFileImage, bytes), RECORDING_IMAGE_PART_BYTES - 1, 8},
    {0, offsetof(RecordingFileImage, back_tick), 7, 8},
    {1, offsetof(RecordingFileImage, part), 2, 4},
    {1, offsetof(RecordingFileImage, part), UINT32_MAX, 4},
    {2, offsetof(RecordingFileImage, kind), RECORDING_IMAGE_KEPT, 4},
    {3, offsetof(RecordingFileImage, bytes), 5001, 8},
    {3, offsetof(RecordingFileImage, back_tick), BACK_AT, 8}, /* of the future */
    {3, sizeof(RecordingFileImage), 0, 4},                    /* no zstd */
};

static void count_damage(void *context, const RecordingDamage *damage)
{
    PL_UNUSED(damage);
    (*(u32 *)context)++;
}

/* The first image of the file, where it can still be named, cannot be unpacked. */
static void expect_refused(u32 lie)
{
    RecordingReader *reader = recording_expect(path);
    Found found = {0};
    const RecordingVisitor visitor = {.context = &found, .image = find};
    int result = recording_reader_visit(reader, &visitor);
    u32 bad = 0;
    for (u32 i = 0; i < found.count; i++) {
        u8 *bytes;
        ErrorText error = {0};
        int read = recording_reader_image(reader, &found.images[i], 0, &bytes, &error);
        assert_true(read == 0 || (error.text[0] != 0 && bytes == NULL));
        bad += read != 0;
        free(bytes);
    }
    if (result == 0 && bad == 0 && found.count == 3) {
        fail_msg("lie %u was believed", lie);
    }
    u32 damages = 0;
    RecordingCheck check;
    assert_int_equal(recording_reader_check(reader, count_damage, &damages, &check), 0);
    if (damages == 0) {
        fail_msg("lie %u was not named", lie);
    }
    recording_reader_destroy(reader);
}

static void test_lies(void **state)
{
    PL_UNUSED(state);
    write_recording();
    size_t bytes;
    u8 *data = file_load(path, &bytes);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    for (u32 i = 0; i < PL_COUNT(lies); i++) {
        size_t at = find_block(data, bytes, BLOCK_IMAG, lies[i].block);
        RecordingBlock block;
        assert_int_equal(recording_block_get(data + at, bytes - at, &block), 0);
        u8 *content = malloc(block.length), head[RECORDING_BLOCK_HEADER_MAX];
        memcpy(content, data + at + block.head_bytes, block.length);
        memcpy(content + lies[i].at, &lies[i].value, lies[i].bytes);
        block.check = recording_block_check(&block, content);
        fseek(file, (long)at, SEEK_SET);
        size_t head_bytes = recording_block_put(&block, head);
        fwrite(head, head_bytes, 1, file);
        fwrite(content, block.length, 1, file);
        fflush(file);
        free(content);
        expect_refused(i);
        fseek(file, (long)at, SEEK_SET);
        fwrite(data + at, recording_block_bytes(&block), 1, file);
        fflush(file);
    }
    fclose(file);
    free(data);
}

int main(void)
{
    char name[] = "/tmp/plenum-image-XXXXXX";
    int fd = mkstemp(name);
    close(fd);
    path = name;
    FieldDesc descriptions[1] = {field_desc(FIELD_POSES, 10)};
    fields = field_set_create(descriptions, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_back),
        cmocka_unit_test(test_visited),
        cmocka_unit_test(test_lies),
    };
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    field_set_release(fields);
    unlink(path);
    return result;
}
