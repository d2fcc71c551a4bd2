/*
 * fake_receiver.h: in place of snapshot_receiver.c, the states that a test puts there, of one
 * field. Include it after cmocka.h, in one file of a program.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_FAKE_RECEIVER_H
#define PLENUM_TESTS_SUPPORT_FAKE_RECEIVER_H

#include "protocol/codec/chunk.h"
#include "protocol/stream/snapshot.h"

#include <string.h>

enum {
    FAKE_CHUNKS_MAX = 32
};

typedef struct FakeState {
    u64 tick;
    u8 bytes[CHUNK_STATE_BYTES_MAX];
} FakeState;

struct SnapshotReceiver {
    FieldSet *fields; /* one field */
    u32 count[FAKE_CHUNKS_MAX];
    FakeState states[FAKE_CHUNKS_MAX][CHUNK_STATES_KEPT]; /* newest first */
};

const FieldSet *snapshot_receiver_fields(const SnapshotReceiver *receiver)
{
    return receiver->fields;
}

u32 snapshot_receiver_states(const SnapshotReceiver *receiver, u32 field, u32 chunk,
                             ChunkState out[CHUNK_STATES_KEPT])
{
    assert_int_equal(field, 0);
    assert_true(chunk < FAKE_CHUNKS_MAX);
    for (u32 i = 0; i < receiver->count[chunk]; i++) {
        const FakeState *state = &receiver->states[chunk][i];
        out[i] = (ChunkState){.tick = state->tick, .live = true, .state = state->bytes};
    }
    return receiver->count[chunk];
}

/* A chunk of `elements` as its newest state. */
static void fake_receiver_put(SnapshotReceiver *receiver, u64 tick, u32 chunk, const void *elements)
{
    u32 *count = &receiver->count[chunk];
    FakeState *states = receiver->states[chunk];
    *count = u32_min(*count + 1, CHUNK_STATES_KEPT);
    memmove(states + 1, states, (*count - 1) * sizeof *states);
    states[0].tick = tick;
    chunk_gather(&receiver->fields->fields[0], chunk, elements, states[0].bytes);
}

#endif
