/*
 * snapshot_receiver.c: chunk states out of state packets. A packet is decoded whole into scratch
 * memory first and stored only if all of it is good. States are kept by chunk, newest first.
 */
#include "protocol/snapshot_packet.h"
#include "shared/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct ReceiverChunk {
    u64 tick[CHUNK_STATES_KEPT];
    u8 *state[CHUNK_STATES_KEPT]; /* allocated when first used; slots below `count` are in use */
    u8 still[CHUNK_STATES_KEPT];
    u8 order[CHUNK_STATES_KEPT]; /* slots, newest first */
    u8 count;
} ReceiverChunk;

typedef struct Decoded {
    SnapshotRecord record;
    u32 at; /* of its state in scratch */
} Decoded;

struct SnapshotReceiver {
    FieldSet *fields;
    u32 first[FIELDS_MAX];
    u32 counts[FIELDS_MAX];
    u32 chunk_total;
    ReceiverChunk **chunks; /* NULL until a state arrives */
    u64 tick;
    bool has_tick;
    SnapshotAck ack;
    u32 reach; /* packets since the first, at most 64: bits of the acknowledgement that mean
                  something */
    Decoded decoded[SNAPSHOT_RECORDS_MAX];
    u8 *scratch;
    u32 scratch_bytes;
    SnapshotReceiverStats stats;
};

SnapshotReceiver *snapshot_receiver_create(FieldSet *fields)
{
    SnapshotReceiver *receiver = calloc(1, sizeof *receiver);
    if (receiver == NULL) {
        return NULL;
    }
    for (u32 f = 0; f < fields->count; f++) {
        receiver->first[f] = receiver->chunk_total;
        receiver->counts[f] = chunk_count(&fields->fields[f]);
        receiver->chunk_total += receiver->counts[f];
    }
    receiver->chunks = calloc(receiver->chunk_total + 1u, sizeof(ReceiverChunk *));
    if (receiver->chunks == NULL) {
        free(receiver);
        return NULL;
    }
    receiver->fields = field_set_acquire(fields);
    return receiver;
}

void snapshot_receiver_destroy(SnapshotReceiver *receiver)
{
    if (receiver == NULL) {
        return;
    }
    for (u32 i = 0; i < receiver->chunk_total; i++) {
        ReceiverChunk *chunk = receiver->chunks[i];
        for (u32 slot = 0; chunk != NULL && slot < CHUNK_STATES_KEPT; slot++) {
            free(chunk->state[slot]);
        }
        free(chunk);
    }
    free(receiver->chunks);
    free(receiver->scratch);
    field_set_release(receiver->fields);
    free(receiver);
}

void snapshot_receiver_forget(SnapshotReceiver *receiver)
{
    for (u32 i = 0; i < receiver->chunk_total; i++) {
        if (receiver->chunks[i] != NULL) {
            receiver->chunks[i]->count = 0;
        }
    }
    receiver->has_tick = false;
    receiver->tick = 0;
}

SnapshotAck snapshot_receiver_ack(const SnapshotReceiver *receiver)
{
    return receiver->ack;
}

u64 snapshot_receiver_tick(const SnapshotReceiver *receiver)
{
    return receiver->tick;
}

const FieldSet *snapshot_receiver_fields(const SnapshotReceiver *receiver)
{
    return receiver->fields;
}

void snapshot_receiver_stats(const SnapshotReceiver *receiver, SnapshotReceiverStats *stats)
{
    *stats = receiver->stats;
}

u32 snapshot_receiver_states(const SnapshotReceiver *receiver, u32 field, u32 chunk,
                             ChunkState out[CHUNK_STATES_KEPT])
{
    if (field >= receiver->fields->count || chunk >= receiver->counts[field]) {
        return 0;
    }
    const ReceiverChunk *c = receiver->chunks[receiver->first[field] + chunk];
    u32 count = c != NULL ? c->count : 0;
    for (u32 i = 0; i < count; i++) {
        u32 slot = c->order[i];
        out[i] = (ChunkState){c->tick[slot], c->still[slot], true, c->state[slot]};
    }
    return count;
}

/* ---- sequence ---- */

typedef enum Arrival {
    ARRIVAL_NEW,
    ARRIVAL_DUPLICATE,
    ARRIVAL_LATE /* beyond what an acknowledgement can name */
} Arrival;

static Arrival arrival_of(const SnapshotAck *ack, u16 sequence)
{
    i32 behind = (i16)(ack->newest - sequence);
    if (ack->valid == 0 || behind < 0) {
        return ARRIVAL_NEW;
    }
    if (behind == 0) {
        return ARRIVAL_DUPLICATE;
    }
    if (behind > 64) {
        return ARRIVAL_LATE;
    }
    return (ack->bits >> (behind - 1) & 1) != 0 ? ARRIVAL_DUPLICATE : ARRIVAL_NEW;
}

static void acknowledge(SnapshotReceiver *receiver, u16 sequence)
{
    SnapshotAck *ack = &receiver->ack;
    if (ack->valid == 0) {
        *ack = (SnapshotAck){.newest = sequence, .valid = 1, .bits = 0};
        return;
    }
    i32 behind = (i16)(ack->newest - sequence);
    if (behind > 0) {
        ack->bits |= 1ull << (behind - 1);
        return;
    }
    for (i32 i = 0; i < -behind; i++) {
        /* What came before the first packet was not meant for us: no gap. */
        receiver->stats.lost += receiver->reach == 64 && ack->bits >> 63 == 0;
        receiver->reach += receiver->reach < 64;
        ack->bits = ack->bits << 1 | (i == 0);
    }
    ack->newest = sequence;
}

/* The u64 tick nearest to the newest known that has these low bits. */
static u64 tick_of(const SnapshotReceiver *receiver, u32 low)
{
    i64 ahead = (i32)(low - (u32)receiver->tick);
    if (!receiver->has_tick || (ahead < 0 && receiver->tick < (u64)-ahead)) {
        return low;
    }
    return receiver->tick + (u64)ahead;
}

/* ---- states ---- */

static const u8 *state_at(const ReceiverChunk *chunk, u64 tick)
{
    for (u32 i = 0; chunk != NULL && i < chunk->count; i++) {
        u32 slot = chunk->order[i];
        if (chunk->tick[slot] == tick) {
            return chunk->state[slot];
        }
    }
    return NULL;
}

/* True if the states kept are all newer than the tick, and no more are kept. */
static bool is_past(const ReceiverChunk *chunk, u64 tick)
{
    return chunk != NULL && chunk->count == CHUNK_STATES_KEPT &&
           chunk->tick[chunk->order[CHUNK_STATES_KEPT - 1]] > tick;
}

static u8 *scratch_reserve(SnapshotReceiver *receiver, u32 bytes)
{
    if (bytes > receiver->scratch_bytes) {
        u32 size = receiver->scratch_bytes != 0 ? receiver->scratch_bytes : 16384;
        while (size < bytes) {
            size *= 2;
        }
        u8 *scratch = realloc(receiver->scratch, size);
        if (scratch == NULL) {
            return NULL;
        }
        receiver->scratch = scratch;
        receiver->scratch_bytes = size;
    }
    return receiver->scratch;
}

/* Room for one more state; false without memory. */
static bool chunk_reserve(SnapshotReceiver *receiver, u32 flat, u32 bytes)
{
    ReceiverChunk **at = &receiver->chunks[flat];
    if (*at == NULL) {
        *at = calloc(1, sizeof **at);
        if (*at == NULL) {
            return false;
        }
    }
    u32 slot = (*at)->count;
    if (slot < CHUNK_STATES_KEPT && (*at)->state[slot] == NULL) {
        (*at)->state[slot] = malloc(bytes);
        return (*at)->state[slot] != NULL;
    }
    return true;
}

static void chunk_store(ReceiverChunk *chunk, u64 tick, u8 still, const u8 *state, u32 bytes)
{
    if (state_at(chunk, tick) != NULL) {
        return;
    }
    u32 slot = chunk->count;
    if (chunk->count == CHUNK_STATES_KEPT) {
        slot = chunk->order[--chunk->count];
    }
    memcpy(chunk->state[slot], state, bytes);
    chunk->tick[slot] = tick;
    chunk->still[slot] = still;
    u32 at = chunk->count++;
    for (; at > 0 && chunk->tick[chunk->order[at - 1]] < tick; at--) {
        chunk->order[at] = chunk->order[at - 1];
    }
    chunk->order[at] = (u8)slot;
}

/* ---- packets ---- */

typedef enum Verdict {
    VERDICT_STORE,
    VERDICT_LATE,
} Verdict;

/* Decodes one record into scratch at *used. 0, or a negative Error. */
static int record_decode(SnapshotReceiver *receiver, BitReader *reader, u64 tick, Decoded *decoded,
                         u32 *used, Verdict *verdict)
{
    SnapshotRecord *record = &decoded->record;
    if (!snapshot_get_record(reader, record)) {
        return ERROR_TRUNCATED;
    }
    u32 code_at = reader->bit / 8;
    if (record->field >= receiver->fields->count ||
        record->chunk >= receiver->counts[record->field] || record->size == 0 ||
        record->size > reader->bytes - code_at) {
        return ERROR_FORMAT;
    }
    reader->bit += 8u * record->size;
    const FieldDesc *field = &receiver->fields->fields[record->field];
    const ReceiverChunk *chunk = receiver->chunks[receiver->first[record->field] + record->chunk];
    const u8 *baseline = NULL;
    if (is_past(chunk, tick)) {
        *verdict = VERDICT_LATE;
        return ERROR_OK;
    }
    if (record->back != 0) {
        baseline = record->back <= tick ? state_at(chunk, tick - record->back) : NULL;
        if (baseline == NULL && record->back <= tick && is_past(chunk, tick - record->back)) {
            *verdict = VERDICT_LATE;
            return ERROR_OK;
        }
        if (baseline == NULL) {
            receiver->stats.missing_baselines++;
            return ERROR_BASELINE;
        }
    }
    decoded->at = *used;
    *used += CHUNK_STATE_BYTES_MAX;
    if (scratch_reserve(receiver, *used) == NULL) {
        return ERROR_MEMORY;
    }
    u8 *state = receiver->scratch + decoded->at;
    int size =
        chunk_decode(field, record->chunk, reader->data + code_at, record->size, baseline, state);
    if (size != (int)record->size) {
        return size < 0 ? size : ERROR_FORMAT;
    }
    if (record->has_hash && (u16)chunk_state_hash(field, record->chunk, state) != record->hash) {
        receiver->stats.desyncs++;
        return ERROR_MISMATCH;
    }
    return ERROR_OK;
}

static int packet_decode(SnapshotReceiver *receiver, BitReader *reader, u32 records, u64 tick,
                         Verdict *verdict)
{
    u32 used = 0;
    for (u32 i = 0; i < records; i++) {
        int error = record_decode(receiver, reader, tick, &receiver->decoded[i], &used, verdict);
        if (error != ERROR_OK || *verdict == VERDICT_LATE) {
            return error;
        }
    }
    if (reader->bit != reader->bytes * 8) {
        return ERROR_FORMAT;
    }
    for (u32 i = 0; i < records; i++) {
        const SnapshotRecord *record = &receiver->decoded[i].record;
        u32 bytes = chunk_state_bytes(&receiver->fields->fields[record->field], record->chunk);
        if (!chunk_reserve(receiver, receiver->first[record->field] + record->chunk, bytes)) {
            return ERROR_MEMORY;
        }
    }
    return ERROR_OK;
}

static void packet_store(SnapshotReceiver *receiver, u32 records, u64 tick)
{
    for (u32 i = 0; i < records; i++) {
        const Decoded *decoded = &receiver->decoded[i];
        const SnapshotRecord *record = &decoded->record;
        u32 bytes = chunk_state_bytes(&receiver->fields->fields[record->field], record->chunk);
        chunk_store(receiver->chunks[receiver->first[record->field] + record->chunk], tick,
                    record->still, receiver->scratch + decoded->at, bytes);
        receiver->stats.keys += record->back == 0;
    }
    receiver->stats.records += records;
}

int snapshot_receiver_push(SnapshotReceiver *receiver, const u8 *packet, u32 bytes,
                           SnapshotHeader *header)
{
    BitReader reader;
    SnapshotHeader read;
    bit_reader_init(&reader, packet, bytes);
    receiver->stats.packets++;
    receiver->stats.bytes += bytes;
    if (bytes > STATE_PAYLOAD_BYTES_MAX || !snapshot_get_header(&reader, &read)) {
        receiver->stats.malformed++;
        return ERROR_TRUNCATED;
    }
    if (header != NULL) {
        *header = read;
    }
    Arrival arrival = arrival_of(&receiver->ack, read.sequence);
    if (arrival != ARRIVAL_NEW) {
        receiver->stats.duplicates += arrival == ARRIVAL_DUPLICATE;
        receiver->stats.late += arrival == ARRIVAL_LATE;
        return ERROR_OK;
    }
    u64 tick = tick_of(receiver, read.tick);
    Verdict verdict = VERDICT_STORE;
    int error = packet_decode(receiver, &reader, read.records, tick, &verdict);
    if (error != ERROR_OK) {
        receiver->stats.malformed += error != ERROR_BASELINE && error != ERROR_MISMATCH;
        return error;
    }
    if (verdict == VERDICT_LATE) {
        receiver->stats.late++;
        return ERROR_OK;
    }
    packet_store(receiver, read.records, tick);
    acknowledge(receiver, read.sequence);
    if (!receiver->has_tick || tick > receiver->tick) {
        receiver->tick = tick;
        receiver->has_tick = true;
    }
    return ERROR_OK;
}
