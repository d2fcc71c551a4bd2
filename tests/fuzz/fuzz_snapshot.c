/*
 * fuzz_snapshot.c: hostile state packets into one receiver: the input is a row of packets, each
 * with two bytes of length in front.
 */
#include "protocol/stream/snapshot.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

enum {
    PACKETS_MAX = 12 /* of an input: what more do, these do too */
};

static FieldSet *fields;
static SpanCoder *coder;

static FieldSet *make_fields(void)
{
    static const FieldDesc descs[] = {
        {.kind = FIELD_POSES, .channels = 1, .capacity = 150, .quantum = 1.0f / 512.0f},
        {.kind = FIELD_POINTS, .channels = 1, .capacity = 70, .quantum = 1.0f / 512.0f},
        {.kind = FIELD_SCALARS, .channels = 1, .capacity = 70},
        {.kind = FIELD_GRID2,
         .channels = 2,
         .capacity = 20 * 17,
         .dims = {20, 17, 1},
         .quantum = 1,
         .spacing = {1, 1, 1}},
        {.kind = FIELD_GRID3,
         .channels = 1,
         .capacity = 9 * 8 * 2,
         .dims = {9, 8, 2},
         .quantum = 1,
         .spacing = {1, 1, 1}},
    };
    return field_set_create(descs, PL_COUNT(descs));
}

static void check_order(const SnapshotReceiver *receiver)
{
    ChunkState states[CHUNK_STATES_KEPT];
    for (u32 f = 0; f < fields->count; f++) {
        for (u32 c = 0; c < chunk_count(&fields->fields[f]); c++) {
            u32 count = snapshot_receiver_states(receiver, f, c, states);
            for (u32 i = 1; i < count; i++) {
                CHECK(states[i].tick < states[i - 1].tick);
            }
        }
    }
}

/* Its tables take longer to load than most inputs to decode. */
static void prepare(void)
{
    fields = make_fields();
    coder = span_coder_create();
    CHECK(fields != NULL && coder != NULL && span_coder_reserve(coder, fields));
}

/* A copy of the exact size lets the sanitizer see one byte too many. */
static void push(SnapshotReceiver *receiver, const u8 *data, size_t bytes)
{
    u8 *packet = malloc(bytes > 0 ? bytes : 1);
    memcpy(packet, data, bytes);
    SnapshotHeader header;
    CHECK(snapshot_receiver_push(receiver, packet, (u32)bytes, &header) <= 0);
    free(packet);
}

static void run(const u8 *data, size_t size)
{
    SnapshotReceiver *receiver = snapshot_receiver_create_sharing(fields, coder);
    CHECK(receiver != NULL);
    for (u32 n = 0; n < PACKETS_MAX && size >= 2; n++) {
        size_t bytes = data[0] | (size_t)data[1] << 8;
        data += 2;
        size -= 2;
        bytes = bytes < size ? bytes : size;
        push(receiver, data, bytes);
        data += bytes;
        size -= bytes;
    }
    check_order(receiver);
    snapshot_receiver_destroy(receiver);
}

const FuzzTarget fuzz_target = {
    .prepare = prepare, .run = run, .size_max = 1 << 20, .memory_fixed = 2 << 20};
