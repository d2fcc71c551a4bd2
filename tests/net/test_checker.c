/*
 * test_checker.c: what the server sends and records is what PROTOCOL.md says: a decoder in another
 * language that knows only the document (tests/checker) gets the same from a lossy stream of state
 * packets and from recordings. And it is no yes-man: one changed bit makes it refuse, and of
 * damaged packets and recordings it takes and refuses what our own readers do.
 */
#include "protocol/netsim.h"
#include "protocol/recording.h"
#include "protocol/snapshot.h"
#include "server/world/world.h"
#include "shared/hash.h"
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
    TICKS = 36,
    WAVE_TICKS = 40,
    SCENE_TICKS = 16,
    HEADS_DAMAGED = 4, /* copies of a packet */
    HEAD_BYTES = 26,   /* the header, and the first record's without its hash */
    STEP_MS = 16,
    PATH_BYTES = 128
};

typedef struct Material {
    char folder[PATH_BYTES / 2];
    FILE *packets, *frames, *verdicts;
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
    material->verdicts = open_new(material, "verdicts");
}

static void material_close(Material *material)
{
    assert_int_equal(fclose(material->packets), 0);
    assert_int_equal(fclose(material->frames), 0);
    assert_int_equal(fclose(material->verdicts), 0);
}

static void material_remove(const Material *material)
{
    static const char *const names[] = {"packets", "frames",    "verdicts",
                                        "fields",  "recording", "said"};
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

/* ---- what moves ---- */

/* random_fields with smaller grids: the checker takes its time for each cell. */
static FieldSet *small_fields(void)
{
    FieldSet *all = random_fields(150);
    FieldDesc fields[8];
    u32 count = all->count;
    assert_true(count <= PL_COUNT(fields));
    for (u32 f = 0; f < count; f++) {
        const FieldDesc *field = &all->fields[f];
        fields[f] = *field;
        if (field->kind == FIELD_GRID2) {
            fields[f] = field_desc_grid(FIELD_GRID2, 20, 17, 0, field->channels);
        } else if (field->kind == FIELD_GRID3) {
            u16 deep = field->dims[2] < 9 ? 2 : 9;
            fields[f] = field_desc_grid(FIELD_GRID3, 9, 8, deep, field->channels);
        }
    }
    field_set_release(all);
    return field_set_create(fields, count);
}

static FieldSet *wave_fields(void)
{
    FieldDesc fields[3] = {
        field_desc_grid(FIELD_GRID2, 37, 21, 0, 2),
        field_desc_grid(FIELD_GRID3, 12, 10, 9, 2),
        field_desc(FIELD_SCALARS, 70),
    };
    return field_set_create(fields, PL_COUNT(fields));
}

/* A round hill at height `top` over cell (cx, cy, cz), `steep` down for each squared cell. */
static u32 hill(const FieldDesc *field, u32 i, const i32 at[3], i32 top, i32 steep)
{
    i32 nx = field->dims[0], ny = field->dims[1];
    i32 x = (i32)i % nx - at[0], y = (i32)i / nx % ny - at[1], z = (i32)i / (nx * ny) - at[2];
    i32 height = top - steep * (x * x + y * y + z * z);
    return height > 0 ? (u32)height : 0;
}

/* A hill that runs over a flat surface, a cloud that drifts through empty space, numbers that
 * count; and in a corner of both grids something is there for one tick in six only, so that a state
 * comes back to what the other end has. */
static void make_waves(Frame *frame)
{
    i32 t = (i32)frame->tick;
    const i32 run[3] = {t, 6 + t / 3, 0}, drift[3] = {t / 2, 4, 3 + t / 8};
    const FieldDesc *field = frame->fields->fields;
    u16 *cells = (u16 *)(void *)frame_field(frame, 0);
    u8 *voxels = frame_field(frame, 1);
    u32 *scalars = (u32 *)(void *)frame_field(frame, 2);
    for (u32 i = 0; i < field[0].capacity; i++) {
        u32 height = hill(&field[0], i, run, 4000, 60);
        cells[2 * i] = (u16)(20000 + height);
        cells[2 * i + 1] = (u16)(300 + height / 2);
    }
    for (u32 i = 0; i < field[1].capacity; i++) {
        voxels[2 * i] = (u8)hill(&field[1], i, drift, 250, 17);
        voxels[2 * i + 1] = (u8)hill(&field[1], i, drift, 90, 9);
    }
    if (t % 6 == 2) {
        cells[2 * field[0].capacity - 2] += 100;
        voxels[2 * field[1].capacity - 1] = 9;
    }
    for (u32 i = 0; i < field[2].capacity; i++) {
        f32 value = (f32)(t / 5 * (i32)(i % 7)) * 0.37f - 2;
        memcpy(&scalars[i], &value, sizeof value);
    }
}

/* ---- packets ---- */

typedef struct Stream {
    Netsim *down, *up;
    u64 now_ms;
    Dice *damage; /* one packet in three arrives damaged; NULL: none */
} Stream;

static void emit(void *context, const u8 *packet, u32 bytes)
{
    Stream *stream = context;
    netsim_send(stream->down, packet, bytes, stream->now_ms * 1000);
}

/* Some bits turned in the first `within` bytes, or the end gone, or more behind it. A sequence is
 * turned by 31 at most: after a longer jump all that is honest would be late. */
static u32 damage(Dice *dice, u8 *data, u32 bytes, u32 within)
{
    u32 how = dice_below(dice, 8), count = 1 + dice_below(dice, 3);
    if (how == 0) {
        return dice_below(dice, bytes);
    }
    for (u32 i = 0; i < count; i++) {
        if (how == 1) {
            data[bytes++] = (u8)dice_u64(dice);
        } else {
            u32 at = dice_below(dice, u32_min(within, bytes));
            data[at == 1 ? 2 : at] ^= (u8)(1u << dice_below(dice, at == 0 ? 5 : 8));
        }
    }
    return bytes;
}

/* XXH3 of what the receiver knows of the tick, as plenum_check.py says. */
static u64 hash_of_tick(const SnapshotReceiver *receiver, u32 tick)
{
    static u8 known[1 << 18];
    const FieldSet *fields = snapshot_receiver_fields(receiver);
    u32 at = 0;
    for (u32 f = 0; f < fields->count; f++) {
        for (u32 c = 0; c < chunk_count(&fields->fields[f]); c++) {
            ChunkState states[CHUNK_STATES_KEPT];
            u32 count = snapshot_receiver_states(receiver, f, c, states), i = 0;
            u32 bytes = chunk_state_bytes(&fields->fields[f], c);
            while (i < count && (u32)states[i].tick != tick) {
                i++;
            }
            if (i < count) {
                u32 head[3] = {f, c, states[i].detail};
                assert_true(at + sizeof head + bytes <= sizeof known);
                memcpy(known + at, head, sizeof head);
                memcpy(known + at + sizeof head, states[i].state, bytes);
                at += (u32)sizeof head + bytes;
            }
        }
    }
    return hash_bytes(known, at, 0);
}

/* Whether our own receiver stores the packet, and what it knows then. */
static void put_verdict(Material *material, SnapshotReceiver *receiver, const u8 *data, u32 bytes)
{
    SnapshotReceiverStats before, after;
    SnapshotHeader header;
    snapshot_receiver_stats(receiver, &before);
    int result = snapshot_receiver_push(receiver, data, bytes, &header);
    snapshot_receiver_stats(receiver, &after);
    u8 stored = result == 0 && after.late == before.late && after.duplicates == before.duplicates;
    u64 hash = stored ? hash_of_tick(receiver, header.tick) : 0;
    put_packet(material, data, bytes);
    put(material->verdicts, &stored, sizeof stored);
    put(material->verdicts, &hash, sizeof hash);
}

/* A packet comes damaged in one of three cases, and before it copies that are damaged where the
 * header and the first record's head are. */
static void receive_damaged(Dice *dice, SnapshotReceiver *receiver, Material *material, u8 *data,
                            u32 bytes)
{
    u8 copy[NETSIM_PACKET_BYTES_MAX];
    for (u32 i = 0; i < HEADS_DAMAGED; i++) {
        memcpy(copy, data, bytes);
        put_verdict(material, receiver, copy, damage(dice, copy, bytes, HEAD_BYTES));
    }
    if (dice_below(dice, 3) == 0) {
        bytes = damage(dice, data, bytes, bytes);
    }
    put_verdict(material, receiver, data, bytes);
}

/* What arrives is noted for the checker if our own receiver takes it, and acknowledged. */
static void receive(Stream *stream, SnapshotReceiver *receiver, SnapshotSender *sender,
                    Material *material)
{
    u8 data[NETSIM_PACKET_BYTES_MAX];
    u32 bytes;
    while ((bytes = netsim_receive(stream->down, stream->now_ms * 1000, data)) > 0) {
        SnapshotReceiverStats before, after;
        if (stream->damage != NULL) {
            receive_damaged(stream->damage, receiver, material, data, bytes);
            continue;
        }
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

static Frame *next_frame(Dice *dice, FieldSet *fields, const Frame *before, u64 tick, bool waves)
{
    if (!waves) {
        return random_next(dice, fields, before, tick, tick % 30 > 22 ? 0 : 0.8);
    }
    Frame *frame = frame_create(fields, tick, 0);
    make_waves(frame);
    return frame;
}

static void thin_all(ChunkCache *cache, const FieldSet *fields)
{
    for (u32 f = 0; f < fields->count; f++) {
        if (fields->fields[f].kind == FIELD_POINTS) {
            chunk_cache_thin(cache, f, 0, fields->fields[f].capacity);
        }
    }
}

typedef struct Flow {
    u64 seed, ticks;
    bool waves;  /* what moves is make_waves, else random_next */
    bool narrow; /* so few bytes that what moves comes coarse */
    bool damaged;
} Flow;

static void make_packets(Material *material, FieldSet *fields, Flow flow)
{
    Dice dice = {flow.seed, 0}, damage_dice = {flow.seed + 1, 0};
    NetsimOptions net = {
        .seed = flow.seed, .delay_ms = 50, .jitter_ms = 40, .loss = 0.1, .duplicate = 0.05};
    Stream stream = {.down = netsim_create(&net),
                     .up = netsim_create(&net),
                     .damage = flow.damaged ? &damage_dice : NULL};
    History history;
    history_init(&history);
    ChunkCache *cache = chunk_cache_create();
    SnapshotSender *sender = snapshot_sender_create(fields);
    SnapshotReceiver *receiver = snapshot_receiver_create(fields);
    SnapshotHeader header = {.speed = 1024};
    put_fields(material, fields);
    snapshot_sender_allow_coarse(sender, flow.narrow);
    for (u64 tick = 1; tick <= flow.ticks; tick++, stream.now_ms += STEP_MS) {
        Frame *frame = next_frame(&dice, fields, history.newest, tick, flow.waves);
        history_push(&history, frame);
        put_frame(material, frame);
        frame_release(frame);
        if (tick % 2 == 0) {
            chunk_cache_begin(cache, &history);
            thin_all(cache, fields);
            snapshot_sender_build(sender, cache, NULL, &header, flow.narrow ? 200 : 1 << 16,
                                  stream.now_ms, 100, emit, &stream);
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

/* What the checker counted in packets. */
typedef struct Counts {
    u32 packets, spans, chunks, hashes, coarse;
} Counts;

static Counts expect_packets(const Material *material)
{
    char said[256];
    Counts counts = {0};
    int status = check(material, "packets", "fields packets frames", said);
    printf("%s", said);
    assert_int_equal(status, 0);
    assert_int_equal(sscanf(said, "%u packets, %u spans, %u chunks, %u hashes, %u coarse agree",
                            &counts.packets, &counts.spans, &counts.chunks, &counts.hashes,
                            &counts.coarse),
                     5);
    return counts;
}

static void test_packets_of_a_random_world(void **context)
{
    PL_UNUSED(context);
    if (SANITIZED) {
        skip();
    }
    Material material;
    material_begin(&material);
    FieldSet *fields = small_fields();
    make_packets(&material, fields, (Flow){.seed = 5, .ticks = TICKS});
    material_close(&material);
    Counts counts = expect_packets(&material);
    assert_true(counts.packets > 40 && counts.spans > 60 && counts.chunks > 120);
    assert_true(counts.hashes > 2);
    char said[256];
    flip_bit(&material, "packets", material.within);
    assert_int_not_equal(check(&material, "packets", "fields packets frames", said), 0);
    material_remove(&material);
    field_set_release(fields);
}

static void test_packets_of_a_narrow_line(void **context)
{
    PL_UNUSED(context);
    if (SANITIZED) {
        skip();
    }
    Material material;
    material_begin(&material);
    FieldSet *fields = small_fields();
    make_packets(&material, fields, (Flow){.seed = 6, .ticks = 2 * TICKS, .narrow = true});
    material_close(&material);
    Counts counts = expect_packets(&material);
    assert_true(counts.packets > 20 && counts.coarse > 12);
    assert_true(counts.hashes > 2);
    material_remove(&material);
    field_set_release(fields);
}

static void test_packets_of_waves(void **context)
{
    PL_UNUSED(context);
    if (SANITIZED) {
        skip();
    }
    Material material;
    material_begin(&material);
    FieldSet *fields = wave_fields();
    make_packets(&material, fields, (Flow){.seed = 7, .ticks = WAVE_TICKS, .waves = true});
    material_close(&material);
    Counts counts = expect_packets(&material);
    assert_true(counts.packets > 8 && counts.spans > 20 && counts.chunks > 50);
    material_remove(&material);
    field_set_release(fields);
}

/* Whatever arrives, both store the same packets, drop the same and know the same afterwards. */
static void expect_verdicts(FieldSet *fields, Flow flow, u32 malformed_min)
{
    Material material;
    material_begin(&material);
    flow.damaged = true;
    make_packets(&material, fields, flow);
    material_close(&material);
    char said[256];
    int status = check(&material, "verdicts", "fields packets verdicts", said);
    printf("%s", said);
    assert_int_equal(status, 0);
    u32 packets = 0, stored = 0, malformed = 0;
    assert_int_equal(
        sscanf(said, "%u packets, %u stored, %u malformed agree", &packets, &stored, &malformed),
        3);
    assert_true(stored > packets / 16 && malformed >= malformed_min);
    flip_bit(&material, "verdicts", 9 * 3);
    assert_int_not_equal(check(&material, "verdicts", "fields packets verdicts", said), 0);
    material_remove(&material);
    field_set_release(fields);
}

static void test_damaged_packets(void **context)
{
    PL_UNUSED(context);
    if (SANITIZED) {
        skip();
    }
    expect_verdicts(small_fields(), (Flow){.seed = 8, .ticks = TICKS}, 3);
    expect_verdicts(small_fields(), (Flow){.seed = 9, .ticks = 2 * TICKS, .narrow = true}, 3);
    expect_verdicts(wave_fields(), (Flow){.seed = 10, .ticks = WAVE_TICKS, .waves = true}, 3);
}

/* ---- recordings ---- */

static void expect_recording(Material *material, u32 frames_min, u32 keys_min)
{
    char said[256];
    u32 frames = 0, keys = 0, spans = 0;
    int status = check(material, "recording", "recording frames", said);
    printf("%s", said);
    assert_int_equal(status, 0);
    assert_int_equal(sscanf(said, "%u frames, %u keys, %u spans agree", &frames, &keys, &spans), 3);
    assert_true(frames >= frames_min && keys >= keys_min && spans >= frames / 2);
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
    FieldSet *fields = small_fields();
    char path[PATH_BYTES];
    path_of(&material, "recording", path);
    RecordingHead head = {.tick_rate = 15, .build = "test"};
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
    expect_recording(&material, TICKS, 2);
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
    expect_recording(&material, SCENE_TICKS, 1);
    material_remove(&material);
    world_destroy(world);
    scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packets_of_a_random_world),
        cmocka_unit_test(test_packets_of_a_narrow_line),
        cmocka_unit_test(test_packets_of_waves),
        cmocka_unit_test(test_damaged_packets),
        cmocka_unit_test(test_recording_of_a_random_world),
        cmocka_unit_test(test_recording_of_a_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
