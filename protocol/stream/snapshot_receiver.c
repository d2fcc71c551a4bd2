/*
 * snapshot_receiver.c: decodes chunk states from state packets. A packet is first decoded
 * completely into scratch memory and stored only if all of it is valid. States are kept per chunk,
 * newest first.
 */
#include "protocol/stream/snapshot_packet.h"
#include "shared/base/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct ReceiverChunk {
    u64 tick[CHUNK_STATES_KEPT];
    u8 *state[CHUNK_STATES_KEPT]; /* allocated on first use; slots below `count` are in use */
    u64 left[CHUNK_STATES_KEPT];
    Detail detail[CHUNK_STATES_KEPT];
    u8 order[CHUNK_STATES_KEPT]; /* slots, newest first, at equal ticks the finest first */
    u8 count;
} ReceiverChunk;

/* One chunk of a packet. */
typedef struct Decoded {
    u8 field;
    bool key;
    Detail detail;
    u16 chunk;
    u64 left;
    u32 at; /* offset of its state in scratch */
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
    u32 reach; /* packets since the first, at most 64: number of valid acknowledgement bits */
    SpanCoder *coder;
    bool coder_borrowed;
    Decoded decoded[SNAPSHOT_CHUNKS_MAX];
    u32 decoded_count;
    u8 *states[SPAN_STATES]; /* dense, of the span being decoded; of the maximal size */
    u8 *scratch;
    u32 scratch_bytes;
    SnapshotReceiverStats stats;
};

SnapshotReceiver *snapshot_receiver_create(FieldSet *fields)
{
    return snapshot_receiver_create_sharing(fields, NULL);
}

SnapshotReceiver *snapshot_receiver_create_sharing(FieldSet *fields, SpanCoder *coder)
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
    receiver->fields = field_set_acquire(fields);
    receiver->chunks = calloc(receiver->chunk_total + 1u, sizeof(ReceiverChunk *));
    receiver->coder_borrowed = coder != NULL;
    receiver->coder = coder != NULL ? coder : span_coder_create();
    bool good = receiver->chunks != NULL && receiver->coder != NULL &&
                span_coder_reserve(receiver->coder, fields);
    for (u32 s = 0; s < SPAN_STATES; s++) {
        receiver->states[s] = malloc(SPAN_CHUNKS_MAX * CHUNK_STATE_BYTES_MAX);
        good = good && receiver->states[s] != NULL;
    }
    if (!good) {
        snapshot_receiver_destroy(receiver);
        return NULL;
    }
    return receiver;
}

void snapshot_receiver_destroy(SnapshotReceiver *receiver)
{
    if (receiver == NULL) {
        return;
    }
    for (u32 i = 0; receiver->chunks != NULL && i < receiver->chunk_total; i++) {
        ReceiverChunk *chunk = receiver->chunks[i];
        for (u32 slot = 0; chunk != NULL && slot < CHUNK_STATES_KEPT; slot++) {
            free(chunk->state[slot]);
        }
        free(chunk);
    }
    for (u32 s = 0; s < SPAN_STATES; s++) {
        free(receiver->states[s]);
    }
    if (!receiver->coder_borrowed) {
        span_coder_destroy(receiver->coder);
    }
    free(receiver->chunks);
    free(receiver->scratch);
    field_set_release(receiver->fields);
    free(receiver);
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
    u32 kept = c != NULL ? c->count : 0, count = 0;
    for (u32 i = 0; i < kept; i++) {
        u32 slot = c->order[i];
        if (count == 0 || out[count - 1].tick != c->tick[slot]) {
            out[count++] = (ChunkState){.tick = c->tick[slot],
                                        .left = c->left[slot],
                                        .live = true,
                                        .state = c->state[slot],
                                        .detail = c->detail[slot]};
        }
    }
    return count;
}

const u8 *snapshot_receiver_newest(const SnapshotReceiver *receiver, u32 field, u32 chunk,
                                   u64 *tick, Detail *detail)
{
    if (field >= receiver->fields->count || chunk >= receiver->counts[field]) {
        return NULL;
    }
    const ReceiverChunk *c = receiver->chunks[receiver->first[field] + chunk];
    if (c == NULL || c->count == 0) {
        return NULL;
    }
    *tick = c->tick[c->order[0]];
    *detail = c->detail[c->order[0]];
    return c->state[c->order[0]];
}

/* ---- sequence ---- */

typedef enum Arrival {
    ARRIVAL_NEW,
    ARRIVAL_DUPLICATE,
    ARRIVAL_LATE /* beyond the range of an acknowledgement */
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
        /* Packets before the first one received were not addressed to us: no gap. */
        receiver->stats.lost += receiver->reach == 64 && ack->bits >> 63 == 0;
        receiver->reach += receiver->reach < 64;
        ack->bits = ack->bits << 1 | (i == 0);
    }
    ack->newest = sequence;
}

/* The u64 tick nearest to the newest known one with these low bits. */
static u64 tick_of(const SnapshotReceiver *receiver, u32 low)
{
    i64 ahead = (i32)(low - (u32)receiver->tick);
    if (!receiver->has_tick || (ahead < 0 && receiver->tick < (u64)-ahead)) {
        return low;
    }
    return receiver->tick + (u64)ahead;
}

/* ---- states ---- */

/* The newest state of this detail at or before the tick, or NULL. */
static const u8 *state_before(const ReceiverChunk *chunk, u64 tick, Detail detail)
{
    for (u32 i = 0; chunk != NULL && i < chunk->count; i++) {
        u32 slot = chunk->order[i];
        if (chunk->tick[slot] <= tick && chunk->detail[slot] == detail) {
            return chunk->state[slot];
        }
    }
    return NULL;
}

static bool has_state(const ReceiverChunk *chunk, u64 tick, Detail detail)
{
    for (u32 i = 0; i < chunk->count; i++) {
        u32 slot = chunk->order[i];
        if (chunk->tick[slot] == tick && chunk->detail[slot] == detail) {
            return true;
        }
    }
    return false;
}

/* All slots are used: an older missing state may have been displaced. */
static bool is_full(const ReceiverChunk *chunk)
{
    return chunk != NULL && chunk->count == CHUNK_STATES_KEPT;
}

/* Grows scratch, keeping its contents; never shrinks. Aligned like malloc. */
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

/* Allocates space for one more state; false if out of memory. */
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

/* True if (tick, detail) is newer than the state in the slot. */
static bool is_after(const ReceiverChunk *chunk, u32 slot, u64 tick, Detail detail)
{
    return chunk->tick[slot] < tick || (chunk->tick[slot] == tick && chunk->detail[slot] > detail);
}

static bool is_coarse(const ReceiverChunk *chunk)
{
    return chunk->count > 0 && chunk->detail[chunk->order[0]] != DETAIL_FULL;
}

/* True if all slots are used by newer states. */
static bool is_past(const ReceiverChunk *chunk, u64 tick, Detail detail)
{
    if (!is_full(chunk)) {
        return false;
    }
    u32 oldest = chunk->order[CHUNK_STATES_KEPT - 1];
    return !has_state(chunk, tick, detail) && !is_after(chunk, oldest, tick, detail);
}

static void chunk_store(ReceiverChunk *chunk, u64 tick, const Decoded *decoded, const u8 *state,
                        u32 bytes)
{
    if (has_state(chunk, tick, decoded->detail)) {
        return;
    }
    u32 slot = chunk->count;
    if (chunk->count == CHUNK_STATES_KEPT) {
        slot = chunk->order[--chunk->count];
    }
    memcpy(chunk->state[slot], state, bytes);
    chunk->tick[slot] = tick;
    chunk->left[slot] = decoded->left;
    chunk->detail[slot] = decoded->detail;
    u32 at = chunk->count++;
    for (; at > 0 && is_after(chunk, chunk->order[at - 1], tick, decoded->detail); at--) {
        chunk->order[at] = chunk->order[at - 1];
    }
    chunk->order[at] = (u8)slot;
}

/* ---- packets ---- */

typedef enum Verdict {
    VERDICT_STORE,
    VERDICT_LATE,
} Verdict;

/* Checks that the record's chunks exist and are not too many. */
static bool record_fits(const SnapshotReceiver *receiver, const SnapshotRecord *record)
{
    if (record->field >= receiver->fields->count || record->size == 0) {
        return false;
    }
    const FieldDesc *field = &receiver->fields->fields[record->field];
    return record->count <= span_chunks_max(field) &&
           receiver->decoded_count + record->count <= SNAPSHOT_CHUNKS_MAX &&
           record->chunks[record->count - 1] < receiver->counts[record->field];
}

/* Gathers older state s of all chunks of the span, concatenated. */
static int states_collect(SnapshotReceiver *receiver, const SnapshotRecord *record, u64 tick, u32 s,
                          Verdict *verdict)
{
    const FieldDesc *field = &receiver->fields->fields[record->field];
    u32 at = 0;
    for (u32 i = 0; i < record->count; i++) {
        const ReceiverChunk *chunk =
            receiver->chunks[receiver->first[record->field] + record->chunks[i]];
        u32 bytes = chunk_state_bytes(field, record->chunks[i]);
        bool valid = record->back[s] <= tick;
        Detail detail = record->state_detail[s];
        const u8 *state = valid ? state_before(chunk, tick - record->back[s], detail) : NULL;
        if (state == NULL && valid && is_full(chunk)) {
            *verdict = VERDICT_LATE;
            return ERROR_OK;
        }
        if (state == NULL) {
            receiver->stats.missing_baselines++;
            return ERROR_BASELINE;
        }
        memcpy(receiver->states[s] + at, state, bytes);
        at += bytes;
    }
    detail_reduce(field, record->detail, receiver->states[s], at / field_element_bytes(field));
    return ERROR_OK;
}

static u64 record_left(const SnapshotRecord *record, u64 tick, u32 i)
{
    u32 ago = record->states == 0    ? (u32)u64_min(tick, UINT32_MAX)
              : record->rest[i] != 0 ? u32_min(record->rest[i], record->back[0])
                                     : record->back[0];
    return tick - ago;
}

/* Records the offsets of the states of the record's chunks in scratch; advances *used. */
static void record_place(SnapshotReceiver *receiver, const SnapshotRecord *record, u64 tick,
                         u32 *used)
{
    const FieldDesc *field = &receiver->fields->fields[record->field];
    *used = (*used + 15) & ~15u;
    for (u32 i = 0; i < record->count; i++) {
        receiver->decoded[receiver->decoded_count++] =
            (Decoded){.field = record->field,
                      .left = record_left(record, tick, i),
                      .key = record->states == 0,
                      .detail = record->detail,
                      .chunk = record->chunks[i],
                      .at = *used};
        *used += chunk_state_bytes(field, record->chunks[i]);
    }
}

/* Decodes one record into scratch at *used. 0, or a negative Error. */
static int record_decode(SnapshotReceiver *receiver, BitReader *reader, u64 tick, u32 *used,
                         Verdict *verdict)
{
    SnapshotRecord record;
    if (!snapshot_get_record(reader, &record)) {
        return ERROR_TRUNCATED;
    }
    u32 code_at = reader->bit / 8;
    if (!record_fits(receiver, &record) || record.size > reader->bytes - code_at) {
        return ERROR_FORMAT;
    }
    reader->bit += 8u * record.size;
    for (u32 i = 0; i < record.count; i++) {
        if (is_past(receiver->chunks[receiver->first[record.field] + record.chunks[i]], tick,
                    record.detail)) {
            *verdict = VERDICT_LATE;
            return ERROR_OK;
        }
    }
    Span span = {.field = &receiver->fields->fields[record.field],
                 .count = record.count,
                 .chunks = record.chunks,
                 .detail = record.detail};
    for (u32 s = 0; s < record.states; s++) {
        int error = states_collect(receiver, &record, tick, s, verdict);
        if (error != ERROR_OK || *verdict == VERDICT_LATE) {
            return error;
        }
        span.state[s] = receiver->states[s];
        span.back[s] = record.back[s];
    }
    record_place(receiver, &record, tick, used);
    if (scratch_reserve(receiver, *used) == NULL) {
        return ERROR_MEMORY;
    }
    u8 *now = receiver->scratch + receiver->decoded[receiver->decoded_count - record.count].at;
    int error = span_decode(receiver->coder, &span, record.fallback, reader->data + code_at,
                            record.size, now);
    if (error == ERROR_OK) {
        u32 bytes = span_state_bytes(span.field, span.chunks, span.count);
        detail_restore(span.field, record.detail, now, bytes / field_element_bytes(span.field));
    }
    if (error == ERROR_OK && record.has_hash &&
        span_state_hash(span.field, span.chunks, span.count, now) != record.hash) {
        receiver->stats.desyncs++;
        error = ERROR_MISMATCH;
    }
    return error;
}

static int packet_decode(SnapshotReceiver *receiver, BitReader *reader, SnapshotHeader *header,
                         u64 tick, Verdict *verdict)
{
    u32 used = 0;
    receiver->decoded_count = 0;
    for (u32 i = 0; i < header->records; i++) {
        int error = record_decode(receiver, reader, tick, &used, verdict);
        if (error != ERROR_OK || *verdict == VERDICT_LATE) {
            return error;
        }
    }
    if ((header->flags & SNAPSHOT_FRAME) != 0) {
        header->frame_hash = bits_get(reader, 64);
    }
    if (reader->failed || reader->bit != reader->bytes * 8) {
        return ERROR_FORMAT;
    }
    for (u32 i = 0; i < receiver->decoded_count; i++) {
        const Decoded *decoded = &receiver->decoded[i];
        u32 bytes = chunk_state_bytes(&receiver->fields->fields[decoded->field], decoded->chunk);
        if (!chunk_reserve(receiver, receiver->first[decoded->field] + decoded->chunk, bytes)) {
            return ERROR_MEMORY;
        }
    }
    return ERROR_OK;
}

static void packet_store(SnapshotReceiver *receiver, u64 tick)
{
    for (u32 i = 0; i < receiver->decoded_count; i++) {
        const Decoded *decoded = &receiver->decoded[i];
        u32 bytes = chunk_state_bytes(&receiver->fields->fields[decoded->field], decoded->chunk);
        ReceiverChunk *chunk = receiver->chunks[receiver->first[decoded->field] + decoded->chunk];
        receiver->stats.chunks += chunk->count == 0;
        receiver->stats.coarse -= is_coarse(chunk);
        chunk_store(chunk, tick, decoded, receiver->scratch + decoded->at, bytes);
        receiver->stats.coarse += is_coarse(chunk);
        receiver->stats.keys += decoded->key;
    }
    receiver->stats.records += receiver->decoded_count;
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
    int error = packet_decode(receiver, &reader, &read, tick, &verdict);
    if (error != ERROR_OK) {
        receiver->stats.malformed += error != ERROR_BASELINE && error != ERROR_MISMATCH;
        return error;
    }
    if (verdict == VERDICT_LATE) {
        receiver->stats.late++;
        return ERROR_OK;
    }
    if (header != NULL) {
        header->frame_hash = read.frame_hash;
    }
    packet_store(receiver, tick);
    acknowledge(receiver, read.sequence);
    if (!receiver->has_tick || tick > receiver->tick) {
        receiver->tick = tick;
        receiver->has_tick = true;
    }
    return ERROR_OK;
}
