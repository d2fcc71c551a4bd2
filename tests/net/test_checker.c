/*
 * test_checker.c: the server's packets and recordings follow PROTOCOL.md: a decoder in another
 * language, written from the document alone (tests/checker), decodes the same from a lossy stream
 * of state packets and from recordings. The checker is strict: one flipped bit makes it fail; and
 * it accepts and refuses the same damaged packets and recordings as our readers.
 */
#include "protocol/record/recording_format.h"
#include "protocol/stream/snapshot.h"
#include "server/author/scene_load.h"
#include "server/world/world.h"
#include "shared/base/hash.h"
#include "tests/support/netsim.h"
#include "tests/unit/protocol/random_world.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 /* sanitizers would see the same input, and do not see the checker */
#else
#define SANITIZED 0
#endif

enum {
    TICKS = 36,
    WAVE_TICKS = 40,
    SCENE_TICKS = 16,
    DAMAGED = 9,       /* damaged recordings */
    HEADS_DAMAGED = 4, /* damaged copies made of each packet */
    HEAD_BYTES = 26,   /* the packet header, and the first record's header without its hash */
    STEP_MS = 16,
    PATH_BYTES = 128
};

typedef struct Material {
    char folder[PATH_BYTES / 2];
    FILE *packets, *frames, *verdicts;
    long within;      /* file offset of the middle of the last packet that has a code */
    FieldSet *fields; /* of the generated world */
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

static int setup(void **context)
{
    Material *material = malloc(sizeof *material);
    assert_non_null(material);
    *material = (Material){.folder = "/tmp/plenum-checker-XXXXXX"};
    assert_non_null(mkdtemp(material->folder));
    material->packets = open_new(material, "packets");
    material->frames = open_new(material, "frames");
    material->verdicts = open_new(material, "verdicts");
    *context = material;
    return 0;
}

/* Flushes the files. */
static void material_close(Material *material)
{
    assert_int_equal(fclose(material->packets), 0);
    assert_int_equal(fclose(material->frames), 0);
    assert_int_equal(fclose(material->verdicts), 0);
}

static int teardown(void **context)
{
    Material *material = *context;
    DIR *folder = opendir(material->folder);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[PATH_BYTES + sizeof entry->d_name];
        snprintf(path, sizeof path, "%s/%s", material->folder, entry->d_name);
        if (entry->d_name[0] != '.') {
            unlink(path);
        }
    }
    closedir(folder);
    rmdir(material->folder);
    field_set_release(material->fields);
    free(material);
    return 0;
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

/* Runs the checker on files of the folder; returns its exit status, and its output in `said`. */
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

/* ---- motion ---- */

/* random_fields with smaller grids: the checker is slow per cell. */
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

/* A round hill of height `top` at cell (cx, cy, cz), `steep` lower for each squared cell. */
static u32 hill(const FieldDesc *field, u32 i, const i32 at[3], i32 top, i32 steep)
{
    i32 nx = field->dims[0], ny = field->dims[1];
    i32 x = (i32)i % nx - at[0], y = (i32)i / nx % ny - at[1], z = (i32)i / (nx * ny) - at[2];
    i32 height = top - steep * (x * x + y * y + z * z);
    return height > 0 ? (u32)height : 0;
}

/* A hill that runs over a flat surface, a cloud that drifts through empty space, scalars that
 * count; and in a corner of both grids a value that exists in one tick of six, so that a state
 * returns to an earlier one that the receiver still has. */
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

/* Flips bits in the first `within` bytes, or truncates, or appends bytes. A sequence number changes
 * by 31 at most: after a larger jump all valid packets would be late. */
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

/* XXH3 of the receiver's states of the tick, as plenum_check.py computes it. */
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

/* Whether our receiver stores the packet, and the hash of its states then. */
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

/* One packet in three arrives damaged, after copies of it that are damaged in the packet header and
 * the first record's header. */
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

/* Packets that our receiver accepts are written for the checker, and acknowledged. */
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

static void decimate_all(ChunkCache *cache, const FieldSet *fields)
{
    for (u32 f = 0; f < fields->count; f++) {
        if (fields->fields[f].kind == FIELD_POINTS) {
            chunk_cache_decimate(cache, f, 0, fields->fields[f].capacity);
        }
    }
}

typedef struct Flow {
    u64 seed, ticks;
    bool waves;  /* moved by make_waves, else by random_next */
    bool narrow; /* so low a bandwidth that moving chunks are sent coarse */
    bool damaged;
} Flow;

/* Takes ownership of the fields. */
static void make_packets(Material *material, FieldSet *fields, Flow flow)
{
    material->fields = fields;
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
            decimate_all(cache, fields);
            snapshot_sender_build(sender, cache, NULL, &header,
                                  (SnapshotLine){flow.narrow ? 200 : 1 << 16, stream.now_ms, 100},
                                  emit, &stream);
        }
        receive(&stream, receiver, sender, material);
    }
    snapshot_receiver_destroy(receiver);
    snapshot_sender_destroy(sender);
    chunk_cache_destroy(cache);
    history_finish(&history);
    netsim_destroy(stream.down);
    netsim_destroy(stream.up);
    material_close(material);
}

/* Packets as counted by the checker. */
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

static void expect_refusal(const Material *material, const char *how, const char *files,
                           const char *damaged, long at)
{
    char said[256];
    flip_bit(material, damaged, at);
    assert_int_not_equal(check(material, how, files, said), 0);
}

static void test_packets_of_a_random_world(void **context)
{
    Material *material = *context;
    make_packets(material, small_fields(), (Flow){.seed = 5, .ticks = TICKS});
    Counts counts = expect_packets(material);
    assert_true(counts.packets > 40 && counts.spans > 60 && counts.chunks > 120);
    assert_true(counts.hashes > 2);
    expect_refusal(material, "packets", "fields packets frames", "packets", material->within);
}

static void test_packets_of_a_narrow_line(void **context)
{
    Material *material = *context;
    make_packets(material, small_fields(), (Flow){.seed = 6, .ticks = 2 * TICKS, .narrow = true});
    Counts counts = expect_packets(material);
    assert_true(counts.packets > 20 && counts.coarse > 12);
    assert_true(counts.hashes > 2);
}

static void test_packets_of_waves(void **context)
{
    Material *material = *context;
    make_packets(material, wave_fields(), (Flow){.seed = 7, .ticks = WAVE_TICKS, .waves = true});
    Counts counts = expect_packets(material);
    assert_true(counts.packets > 8 && counts.spans > 20 && counts.chunks > 50);
}

/* Both store the same packets, drop the same and have the same states afterwards. */
static void expect_verdicts(Material *material)
{
    char said[256];
    int status = check(material, "verdicts", "fields packets verdicts", said);
    printf("%s", said);
    assert_int_equal(status, 0);
    u32 packets = 0, stored = 0, malformed = 0;
    assert_int_equal(
        sscanf(said, "%u packets, %u stored, %u malformed agree", &packets, &stored, &malformed),
        3);
    assert_true(stored > packets / 16 && malformed > packets / 16);
}

static void test_damaged_packets_of_a_random_world(void **context)
{
    Material *material = *context;
    make_packets(material, small_fields(), (Flow){.seed = 8, .ticks = 28, .damaged = true});
    expect_verdicts(material);
    expect_refusal(material, "verdicts", "fields packets verdicts", "verdicts", 9 * 3);
}

static void test_damaged_packets_of_a_narrow_line(void **context)
{
    Flow flow = {.seed = 9, .ticks = 48, .narrow = true, .damaged = true};
    make_packets(*context, small_fields(), flow);
    expect_verdicts(*context);
}

static void test_damaged_packets_of_waves(void **context)
{
    Flow flow = {.seed = 10, .ticks = 30, .waves = true, .damaged = true};
    make_packets(*context, wave_fields(), flow);
    expect_verdicts(*context);
}

/* ---- recordings ---- */

static void expect_recording(Material *material, u32 frames_min, u32 keys_min, u32 pictures,
                             u32 coarse_min)
{
    char said[256];
    u32 frames = 0, keys = 0, spans = 0, seen = 0, coarse = 0;
    int status = check(material, "recording", "recording frames", said);
    printf("%s", said);
    assert_int_equal(status, 0);
    assert_int_equal(sscanf(said, "%u frames, %u keys, %u spans agree, %u pictures, %u coarse",
                            &frames, &keys, &spans, &seen, &coarse),
                     5);
    assert_int_equal(seen, pictures);
    assert_true(coarse_min == 0 ? coarse == 0 : coarse >= coarse_min);
    assert_true(frames >= frames_min && keys >= keys_min && spans >= frames / 2);
    expect_refusal(material, "recording", "recording frames", "frames", 112);
}

static RecordingWriter *writer_open(const Material *material, const RecordingHead *head)
{
    char path[PATH_BYTES];
    path_of(material, "recording", path);
    RecordingWriter *writer = recording_writer_create(path, head, NULL);
    assert_non_null(writer);
    return writer;
}

static void write_frame(Material *material, RecordingWriter *writer, const Frame *frame)
{
    assert_non_null(frame);
    put_frame(material, frame);
    assert_int_equal(recording_writer_tick(writer, frame, NULL, 0), 0);
}

static void writer_close(Material *material, RecordingWriter *writer)
{
    assert_int_equal(recording_writer_destroy(writer), 0);
    material_close(material);
}

/* The frames are to be read as our own reader does. */
static void take_frames_read(Material *material)
{
    char path[PATH_BYTES];
    path_of(material, "recording", path);
    RecordingReader *reader = recording_reader_create(path, NULL);
    assert_non_null(reader);
    Frame *frame;
    while (recording_reader_next(reader, &frame, NULL, NULL) == 0) {
        put_frame(material, frame);
        frame_release(frame);
    }
    recording_reader_destroy(reader);
}

/* One frame every `step` ticks; one key frame every 150. */
static void make_recording(Material *material, u64 seed, u32 frames, u32 step, u32 picture_ticks,
                           u32 coarse_shift)
{
    FieldSet *fields = material->fields = small_fields();
    RecordingHead head = {.tick_rate = 30,
                          .picture_ticks = picture_ticks,
                          .coarse_shift = coarse_shift,
                          .build = "test"};
    head.world = (MessageWorld){.epoch = 1,
                                .scene = (const u8 *)"s",
                                .scene_bytes = 1,
                                .fields = fields->fields,
                                .field_count = fields->count};
    head.parent = (RecordingParent){.name = "a parent.plrec", .tick = 5};
    RecordingWriter *writer = writer_open(material, &head);
    const RecordingImage image = {.tick = 1, .kind = RECORDING_IMAGE_START, .bytes = 14};
    assert_int_equal(recording_writer_image(writer, &image, (const u8 *)"a whole world"), 0);
    Dice dice = {seed, 0};
    Frame *frame = NULL;
    for (u32 i = 0; i < frames; i++) {
        Frame *next = random_next(&dice, fields, frame, 1 + (u64)i * step, 0.7);
        frame_release(frame);
        frame = next;
        if (coarse_shift == 0) {
            put_frame(material, frame);
        }
        assert_int_equal(recording_writer_tick(writer, frame, NULL, 0), 0);
    }
    frame_release(frame);
    assert_int_equal(recording_writer_destroy(writer), 0);
    if (coarse_shift > 0) {
        take_frames_read(material);
    }
    material_close(material);
}

static void test_recording_of_a_random_world(void **context)
{
    make_recording(*context, 9, TICKS, 5, 1, 0);
    expect_recording(*context, TICKS, 2, TICKS, 0);
}

/* Points and grids in each fifth frame. */
static void test_recording_at_a_rate(void **context)
{
    make_recording(*context, 13, TICKS, 1, 5, 0);
    expect_recording(*context, TICKS, 1, (TICKS + 4) / 5, 0);
}

/* What is fast lacks low bits. */
static void test_recording_of_coarse_points(void **context)
{
    make_recording(*context, 14, TICKS, 1, 2, 3);
    expect_recording(*context, TICKS, 1, (TICKS + 1) / 2, 10);
}

/* A simulated world: bodies and cloth in motion. */
static void test_recording_of_a_scene(void **context)
{
    Material *material = *context;
    Scene *scene = scene_load("shared/scenes/playground.json", NULL);
    assert_non_null(scene);
    World *world = world_create(scene, NULL, NULL);
    assert_non_null(world);
    RecordingHead head = {.tick_rate = 60, .build = "test"};
    world_describe(world, &head.world);
    RecordingWriter *writer = writer_open(material, &head);
    for (u32 i = 0; i < SCENE_TICKS; i++) {
        world_tick(world, NULL, 0);
        Frame *frame = world_frame(world);
        write_frame(material, writer, frame);
        frame_release(frame);
    }
    writer_close(material, writer);
    expect_recording(material, SCENE_TICKS, 1, SCENE_TICKS, 0);
    world_destroy(world);
    scene_destroy(scene);
}

/* Flips bits in a block after the header: in its tick or its content; in two of three cases its
 * checksum is corrected. The file ends without an index. */
static void make_damaged(const Material *material, u32 number, const u8 *file, size_t bytes)
{
    Dice dice = {number, 50};
    size_t at[64] = {0}, count = 0, where = 0;
    RecordingBlock block;
    u8 *copy = malloc(bytes);
    assert_non_null(copy);
    memcpy(copy, file, bytes);
    for (; recording_block_get(file + where, bytes - where, &block) == 0 && count < PL_COUNT(at);
         count++) {
        at[count] = where;
        where += recording_block_bytes(&block);
    }
    assert_true(count >= 4);
    assert_int_equal(recording_block_get(file + at[count - 1], bytes - at[count - 1], &block), 0);
    assert_int_equal(block.type, BLOCK_INDX);
    where = at[1 + dice_below(&dice, (u32)count - 2)];
    assert_int_equal(recording_block_get(copy + where, bytes - where, &block), 0);
    u8 *content = copy + where + block.head_bytes;
    if (dice_below(&dice, 6) == 0) {
        block.tick ^= 1ull << dice_below(&dice, 6); /* as many bytes */
    }
    for (u32 flips = 1 + dice_below(&dice, 3); flips > 0; flips--) {
        content[dice_below(&dice, block.length)] ^= (u8)(1u << dice_below(&dice, 8));
    }
    block.check = number % 3 == 0 ? block.check : recording_block_check(&block, content);
    (void)recording_block_put(&block, copy + where);
    char name[16];
    snprintf(name, sizeof name, "damaged%u", number);
    FILE *out = open_new(material, name);
    put(out, copy, at[count - 1]);
    assert_int_equal(fclose(out), 0);
    free(copy);
}

/* Writes how many frames our reader returns, and their hashes. */
static void put_frames_read(const Material *material, u32 number, FILE *verdicts)
{
    char name[16], path[PATH_BYTES];
    snprintf(name, sizeof name, "damaged%u", number);
    path_of(material, name, path);
    RecordingReader *reader = recording_reader_create(path, NULL);
    u64 read[2][64], count = 0;
    Frame *frame;
    const Input *inputs;
    u32 input_count;
    while (reader != NULL && recording_reader_next(reader, &frame, &inputs, &input_count) == 0) {
        assert_true(count < PL_COUNT(read[0]));
        read[0][count] = frame->tick;
        u64 hash = 0;
        for (u32 f = 0; f < frame->fields->count; f++) {
            const FieldDesc *field = &frame->fields->fields[f];
            hash = hash_bytes(frame_field(frame, f), field->capacity * field_element_bytes(field),
                              hash);
        }
        read[1][count++] = hash;
        frame_release(frame);
    }
    recording_reader_destroy(reader);
    put(verdicts, &count, sizeof count);
    for (u32 i = 0; i < count; i++) {
        put(verdicts, &read[0][i], sizeof(u64));
        put(verdicts, &read[1][i], sizeof(u64));
    }
}

/* Both read the same frames of a damaged recording and stop at the same place. */
static void test_damaged_recordings(void **context)
{
    Material *material = *context;
    make_recording(material, 12, 7, 25, 1, 0);
    char path[PATH_BYTES], said[256], files[DAMAGED * 12 + 16] = "verdicts";
    path_of(material, "recording", path);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    static u8 file[1 << 20];
    size_t bytes = fread(file, 1, sizeof file, in);
    assert_true(bytes > 0 && bytes < sizeof file && fclose(in) == 0);
    FILE *verdicts = open_new(material, "verdicts");
    for (u32 i = 0; i < DAMAGED; i++) {
        make_damaged(material, i, file, bytes);
        put_frames_read(material, i, verdicts);
        snprintf(files + strlen(files), sizeof files - strlen(files), " damaged%u", i);
    }
    assert_int_equal(fclose(verdicts), 0);
    int status = check(material, "damaged", files, said);
    printf("%s", said);
    assert_int_equal(status, 0);
    u32 frames = 0, ends = 0;
    assert_int_equal(sscanf(said, "%u frames, %u ends agree", &frames, &ends), 2);
    assert_true(frames > DAMAGED && ends > DAMAGED / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_packets_of_a_random_world, setup, teardown),
        cmocka_unit_test_setup_teardown(test_packets_of_a_narrow_line, setup, teardown),
        cmocka_unit_test_setup_teardown(test_packets_of_waves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_packets_of_a_random_world, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_packets_of_a_narrow_line, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_packets_of_waves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_recording_of_a_random_world, setup, teardown),
        cmocka_unit_test_setup_teardown(test_recording_at_a_rate, setup, teardown),
        cmocka_unit_test_setup_teardown(test_recording_of_coarse_points, setup, teardown),
        cmocka_unit_test_setup_teardown(test_recording_of_a_scene, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_recordings, setup, teardown),
    };
    if (SANITIZED) {
        printf("skipped: sanitizers change neither the checker nor its input\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
