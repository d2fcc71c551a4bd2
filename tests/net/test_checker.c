/*
 * test_checker.c: what the server sends and records is what PROTOCOL.md says: a decoder in another
 * language that knows only the document (tests/checker) gets the same from a lossy stream of state
 * packets and from recordings. And it is no yes-man: one changed bit makes it refuse.
 */
#include "protocol/netsim.h"
#include "protocol/recording.h"
#include "protocol/snapshot.h"
#include "server/world/world.h"
#include "tests/unit/protocol/random_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 /* the material would be the same, the checker no other */
#else
#define SANITIZED 0
#endif

enum {
    TICKS = 60,
    SCENE_TICKS = 16,
    STEP_MS = 16,
    PATH_BYTES = 128
};

typedef struct Material {
    char folder[PATH_BYTES / 2];
    FILE *packets, *frames;
    long within; /* where in the file the middle of the last packet with a code is */
} Material;

static void path_of(const Material *material, const char *name, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%s", material->folder, name);
}

static FILE *open_new(const Material *material, const char *name)
{
    char path[PATH_BYTES];
    path_of(material, name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    return file;
}

static void material_begin(Material *material)
{
    *material = (Material){.folder = "/tmp/plenum-checker-XXXXXX"};
    assert_non_null(mkdtemp(material->folder));
    material->packets = open_new(material, "packets");
    material->frames = open_new(material, "frames");
}

static void material_close(Material *material)
{
    assert_int_equal(fclose(material->packets), 0);
    assert_int_equal(fclose(material->frames), 0);
}

static void material_remove(const Material *material)
{
    static const char *const names[] = {"packets", "frames", "fields", "recording", "said"};
    char path[PATH_BYTES];
    for (u32 i = 0; i < PL_COUNT(names); i++) {
        path_of(material, names[i], path);
        unlink(path);
    }
    rmdir(material->folder);
}

static void put(FILE *file, const void *data, size_t bytes)
{
    assert_true(bytes == 0 || fwrite(data, bytes, 1, file) == 1);
}

static void put_packet(Material *material, const u8 *packet, u32 bytes)
{
    put(material->packets, &bytes, sizeof bytes);
    if (bytes > 100) {
        material->within = ftell(material->packets) + (long)bytes / 2;
    }
    put(material->packets, packet, bytes);
}

static void put_frame(Material *material, const Frame *frame)
{
    u32 bytes = 0;
    for (u32 f = 0; f < frame->fields->count; f++) {
        const FieldDesc *field = &frame->fields->fields[f];
        bytes += field->capacity * field_element_bytes(field);
    }
    put(material->frames, &frame->tick, sizeof frame->tick);
    put(material->frames, &bytes, sizeof bytes);
    for (u32 f = 0; f < frame->fields->count; f++) {
        const FieldDesc *field = &frame->fields->fields[f];
        put(material->frames, frame_field(frame, f), field->capacity * field_element_bytes(field));
    }
}

static void put_fields(const Material *material, const FieldSet *fields)
{
    FILE *file = open_new(material, "fields");
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        fprintf(file, "%u %u %u %u %u %u\n", field->kind, field->capacity, field->channels,
                field->dims[0], field->dims[1], field->dims[2]);
    }
    assert_int_equal(fclose(file), 0);
}

/* Runs the checker on files of the folder; returns its exit status, and in `said` what it said. */
static int check(const Material *material, const char *how, const char *files, char said[256])
{
    char command[1024], path[PATH_BYTES];
    path_of(material, "said", path);
    snprintf(command, sizeof command,
             "here=$PWD; cd %s && /usr/bin/python3 -B \"$here\"/tests/checker/plenum_check.py %s "
             "%s >said 2>&1",
             material->folder, how, files);
    int status = system(command);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(said, 1, 255, file);
    said[n] = 0;
    fclose(file);
    return status;
}

static void flip_bit(const Material *material, const char *name, long at)
{
    char path[PATH_BYTES];
    path_of(material, name, path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    fputc(byte ^ 4, file);
    assert_int_equal(fclose(file), 0);
}

/* ---- packets ---- */

typedef struct Stream {
    Netsim *down, *up;
    u64 now_ms;
} Stream;

static void emit(void *context, const u8 *packet, u32 bytes)
{
    Stream *stream = context;
    netsim_send(stream->down, packet, bytes, stream->now_ms * 1000);
}

/* What arrives is noted for the checker if our own receiver takes it, and acknowledged. */
static void receive(Stream *stream, SnapshotReceiver *receiver, SnapshotSender *sender,
                    Material *material)
{
    u8 data[NETSIM_PACKET_BYTES_MAX];
    u32 bytes;
    while ((bytes = netsim_receive(stream->down, stream->now_ms * 1000, data)) > 0) {
        SnapshotReceiverStats before, after;
        snapshot_receiver_stats(receiver, &before);
        assert_int_equal(snapshot_receiver_push(receiver, data, bytes, NULL), 0);
        snapshot_receiver_stats(receiver, &after);
        if (after.late == before.late) {
            put_packet(material, data, bytes);
        }
    }
    SnapshotAck ack = snapshot_receiver_ack(receiver);
    netsim_send(stream->up, &ack, sizeof ack, stream->now_ms * 1000);
    while (netsim_receive(stream->up, stream->now_ms * 1000, data) > 0) {
        memcpy(&ack, data, sizeof ack);
        snapshot_sender_ack(sender, ack, NULL);
    }
}

static void make_packets(Material *material, FieldSet *fields, u64 seed)
{
    Dice dice = {seed, 0};
    NetsimOptions net = {
        .seed = seed, .delay_ms = 50, .jitter_ms = 40, .loss = 0.1, .duplicate = 0.05};
    Stream stream = {.down = netsim_create(&net), .up = netsim_create(&net)};
    History history;
    history_init(&history);
    ChunkCache *cache = chunk_cache_create();
    SnapshotSender *sender = snapshot_sender_create(fields);
    SnapshotReceiver *receiver = snapshot_receiver_create(fields);
    SnapshotHeader header = {.speed = 1024};
    put_fields(material, fields);
    for (u64 tick = 1; tick <= TICKS; tick++, stream.now_ms += STEP_MS) {
        Frame *frame = random_next(&dice, fields, history.newest, tick, tick % 30 > 22 ? 0 : 0.8);
        history_push(&history, frame);
        put_frame(material, frame);
        frame_release(frame);
        if (tick % 2 == 0) {
            chunk_cache_begin(cache, &history);
            snapshot_sender_build(sender, cache, NULL, &header, 1 << 16, stream.now_ms, 100, emit,
                                  &stream);
        }
        receive(&stream, receiver, sender, material);
    }
    snapshot_receiver_destroy(receiver);
    snapshot_sender_destroy(sender);
    chunk_cache_destroy(cache);
    history_finish(&history);
    netsim_destroy(stream.down);
    netsim_destroy(stream.up);
}

static void test_packets(void **context)
{
    PL_UNUSED(context);
    if (SANITIZED) {
        skip();
    }
    Material material;
    material_begin(&material);
    FieldSet *fields = random_fields(150);
    make_packets(&material, fields, 5);
    material_close(&material);
    char said[256];
    u32 packets = 0, spans = 0, chunks = 0, hashes = 0;
    int status = check(&material, "packets", "fields packets frames", said);
    printf("%s", said);
    assert_int_equal(status, 0);
    assert_int_equal(sscanf(said, "%u packets, %u spans, %u chunks, %u hashes agree", &packets,
                            &spans, &chunks, &hashes),
                     4);
    assert_true(packets > 40 && spans > 100 && chunks > 300 && hashes > 5);
    flip_bit(&material, "packets", material.within);
    assert_int_not_equal(check(&material, "packets", "fields packets frames", said), 0);
    material_remove(&material);
    field_set_release(fields);
}

/* ---- recordings ---- */

static void expect_recording(Material *material, u32 frames_min)
{
    char said[256];
    u32 frames = 0, keys = 0, spans = 0;
    int status = check(material, "recording", "recording frames", said);
    printf("%s", said);
    assert_int_equal(status, 0);
    assert_int_equal(sscanf(said, "%u frames, %u keys, %u spans agree", &frames, &keys, &spans), 3);
    assert_true(frames >= frames_min && keys >= 1 && spans >= frames / 2);
    flip_bit(material, "frames", 112);
    assert_int_not_equal(check(material, "recording", "recording frames", said), 0);
}

static void test_recording_of_a_random_world(void **context)
{
    PL_UNUSED(context);
    if (SANITIZED) {
        skip();
    }
    Material material;
    material_begin(&material);
    FieldSet *fields = random_fields(150);
    char path[PATH_BYTES];
    path_of(&material, "recording", path);
    RecordingHead head = {.tick_rate = 25, .build = "test"};
    head.world = (MessageWorld){.epoch = 1,
                                .scene = (const u8 *)"s",
                                .scene_bytes = 1,
                                .fields = fields->fields,
                                .field_count = fields->count};
    RecordingWriter *writer = recording_writer_create(path, &head, NULL);
    assert_non_null(writer);
    Dice dice = {9, 0};
    Frame *frame = NULL;
    for (u64 tick = 1; tick <= TICKS; tick++) {
        Frame *next = random_next(&dice, fields, frame, tick, 0.7);
        frame_release(frame);
        frame = next;
        put_frame(&material, frame);
        assert_int_equal(recording_writer_tick(writer, frame, NULL, 0), 0);
    }
    frame_release(frame);
    assert_int_equal(recording_writer_destroy(writer), 0);
    material_close(&material);
    expect_recording(&material, TICKS);
    material_remove(&material);
    field_set_release(fields);
}

/* A world of ours, simulated: bodies and cloth in motion. */
static void test_recording_of_a_scene(void **context)
{
    PL_UNUSED(context);
    if (SANITIZED) {
        skip();
    }
    Material material;
    material_begin(&material);
    ErrorText error;
    Scene *scene = scene_load("shared/scenes/playground.json", &error);
    assert_non_null(scene);
    World *world = world_create(scene, NULL, &error);
    assert_non_null(world);
    char path[PATH_BYTES];
    path_of(&material, "recording", path);
    RecordingHead head = {.tick_rate = 60, .build = "test"};
    world_describe(world, &head.world);
    RecordingWriter *writer = recording_writer_create(path, &head, &error);
    assert_non_null(writer);
    for (u32 i = 0; i < SCENE_TICKS; i++) {
        world_tick(world, NULL, 0);
        Frame *frame = world_frame(world);
        assert_non_null(frame);
        put_frame(&material, frame);
        assert_int_equal(recording_writer_tick(writer, frame, NULL, 0), 0);
        frame_release(frame);
    }
    assert_int_equal(recording_writer_destroy(writer), 0);
    material_close(&material);
    expect_recording(&material, SCENE_TICKS);
    material_remove(&material);
    world_destroy(world);
    scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packets),
        cmocka_unit_test(test_recording_of_a_random_world),
        cmocka_unit_test(test_recording_of_a_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
