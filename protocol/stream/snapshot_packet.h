/*
 * snapshot_packet.h: reads and writes header and records of a state packet; the only code that
 * knows their bit layout. PROTOCOL.md, "State packets". Private to snapshot_sender.c and
 * snapshot_receiver.c.
 * Layer: protocol/stream.
 */
#ifndef PLENUM_PROTOCOL_STREAM_SNAPSHOT_PACKET_H
#define PLENUM_PROTOCOL_STREAM_SNAPSHOT_PACKET_H

#include "protocol/codec/bits.h"
#include "protocol/stream/snapshot.h"

#include <string.h>

PL_BEGIN_C

enum {
    SNAPSHOT_HEADER_BYTES = 18,
    SNAPSHOT_FRAME_HASH_BYTES = 8, /* after the records, if the header says SNAPSHOT_FRAME */
    SNAPSHOT_RECORDS_MAX = 255,
    /* Chunks of all records of a packet: bounds the receiver's work. */
    SNAPSHOT_CHUNKS_MAX = 512,
    /* Size of a record with one chunk, without its code. */
    SNAPSHOT_RECORD_BYTES_MIN = 22,
    /* Oldest baseline that a record can name, in ticks. */
    SNAPSHOT_BACK_MAX = (1 << 21) - 1,
};

PL_STATIC_ASSERT(SNAPSHOT_HEADER_BYTES + SNAPSHOT_RECORD_BYTES_MIN + CHUNK_CODE_BYTES_MAX <=
                     STATE_PAYLOAD_BYTES_MAX,
                 "the largest chunk fits a packet");

typedef struct SnapshotRecord {
    u8 field;
    u8 states;                        /* older states used as baselines; 0: key */
    Detail detail;                    /* of the new states */
    Detail state_detail[SPAN_STATES]; /* of the older ones */
    bool fallback;
    bool has_hash, any_rest;
    u16 size;              /* of the code that follows */
    u16 hash;              /* span_state_hash */
    u16 count;             /* chunks */
    u32 back[SPAN_STATES]; /* age of each state in ticks before the packet's tick, ascending */
    u16 chunks[SPAN_CHUNKS_MAX];
    u8 rest[SPAN_CHUNKS_MAX]; /* ticks since it changed from its state at back[0], 0: unknown */
} SnapshotRecord;

/* Layout: PROTOCOL.md, "State packets". */
static inline void snapshot_put_header(BitWriter *writer, const SnapshotHeader *header)
{
    bits_put(writer, header->sequence, 16);
    bits_put(writer, header->tick, 32);
    bits_put(writer, header->input_ack, 32);
    bits_put(writer, header->send_ms, 16);
    bits_put(writer, header->echo_ms, 16);
    bits_put(writer, header->speed, 16);
    bits_put(writer, header->flags, 8);
    bits_put(writer, header->records, 8);
}

/* False: truncated or invalid. */
static inline bool snapshot_get_header(BitReader *reader, SnapshotHeader *header)
{
    header->sequence = (u16)bits_get(reader, 16);
    header->tick = (u32)bits_get(reader, 32);
    header->input_ack = (u32)bits_get(reader, 32);
    header->send_ms = (u16)bits_get(reader, 16);
    header->echo_ms = (u16)bits_get(reader, 16);
    header->speed = (u16)bits_get(reader, 16);
    header->flags = (u8)bits_get(reader, 8);
    header->records = (u8)bits_get(reader, 8);
    header->frame_hash = 0;
    return !reader->failed;
}

/* Ticks back to a baseline: 7 bits a byte, lowest first. */
static inline void snapshot_put_back(BitWriter *writer, u32 back)
{
    for (; back >= 0x80; back >>= 7) {
        bits_put(writer, (back & 0x7F) | 0x80, 8);
    }
    bits_put(writer, back, 8);
}

/* False: longer than three bytes, or truncated. */
static inline bool snapshot_get_back(BitReader *reader, u32 *back)
{
    *back = 0;
    for (u32 shift = 0; shift <= 14; shift += 7) {
        u32 byte = (u32)bits_get(reader, 8);
        *back |= (byte & 0x7F) << shift;
        if (byte < 0x80) {
            return !reader->failed;
        }
    }
    return false;
}

/* Whether the record or one of its states lacks detail. */
static inline bool snapshot_is_coarse(const SnapshotRecord *record)
{
    u32 any = record->detail;
    for (u32 s = 0; s < record->states; s++) {
        any |= record->state_detail[s];
    }
    return any != DETAIL_FULL;
}

/* The record's detail, and those of its states where they differ from it. */
static inline void snapshot_put_details(BitWriter *writer, const SnapshotRecord *record)
{
    bool mixed = false;
    for (u32 s = 0; s < record->states; s++) {
        mixed = mixed || record->state_detail[s] != record->detail;
    }
    bits_put(writer, record->detail, DETAIL_BITS);
    bits_put(writer, mixed, 1);
    for (u32 s = 0; mixed && s < record->states; s++) {
        bits_put(writer, record->state_detail[s], DETAIL_BITS);
    }
}

/* False: a detail that does not exist. */
static inline bool snapshot_get_details(BitReader *reader, SnapshotRecord *record)
{
    record->detail = (Detail)bits_get(reader, DETAIL_BITS);
    bool mixed = bits_get(reader, 1) != 0, valid = detail_valid(record->detail);
    for (u32 s = 0; s < record->states; s++) {
        record->state_detail[s] = mixed ? (Detail)bits_get(reader, DETAIL_BITS) : record->detail;
        valid = valid && detail_valid(record->state_detail[s]);
    }
    return valid;
}

/* Writes a record without its code, a whole number of bytes. */
static inline void snapshot_put_record(BitWriter *writer, const SnapshotRecord *record)
{
    u32 gaps = 0;
    for (u32 i = 1; i < record->count; i++) {
        gaps += record->chunks[i] != record->chunks[i - 1] + 1;
    }
    bits_put(writer, record->field, 8);
    bits_put(writer, record->chunks[0], 16);
    bits_put(writer, record->count - 1u, 6);
    bits_put(writer, gaps != 0, 1);
    bits_put(writer, record->fallback, 1);
    bits_put(writer, record->states, 2);
    bits_put(writer, record->any_rest, 1);
    bits_put(writer, record->has_hash, 1);
    bits_put(writer, record->size, 11);
    bool coarse = snapshot_is_coarse(record);
    bits_put(writer, coarse, 1);
    if (record->has_hash) {
        bits_put(writer, record->hash, 16);
    }
    if (coarse) {
        snapshot_put_details(writer, record);
    }
    for (u32 s = 0; s < record->states; s++) {
        snapshot_put_back(writer, record->back[s] - (s > 0 ? record->back[s - 1] : 0));
    }
    for (u32 i = 1; gaps != 0 && i < record->count; i++) {
        bits_put_unsigned(writer, (u64)(record->chunks[i] - record->chunks[i - 1] - 1));
    }
    for (u32 i = 0; record->any_rest && i < record->count; i++) {
        bits_put(writer, record->rest[i], 4);
    }
    bits_put(writer, 0, (8 - writer->bit % 8) % 8);
}

/* The head of a record, before its codes; false: truncated or invalid. */
static inline bool snapshot_get_record(BitReader *reader, SnapshotRecord *record)
{
    record->field = (u8)bits_get(reader, 8);
    record->chunks[0] = (u16)bits_get(reader, 16);
    record->count = (u16)(bits_get(reader, 6) + 1);
    bool gaps = bits_get(reader, 1) != 0;
    record->fallback = bits_get(reader, 1) != 0;
    record->states = (u8)bits_get(reader, 2);
    record->any_rest = bits_get(reader, 1) != 0;
    record->has_hash = bits_get(reader, 1) != 0;
    record->size = (u16)bits_get(reader, 11);
    bool coarse = bits_get(reader, 1) != 0;
    record->hash = record->has_hash ? (u16)bits_get(reader, 16) : 0;
    record->detail = DETAIL_FULL;
    memset(record->state_detail, DETAIL_FULL, sizeof record->state_detail);
    if (coarse && !snapshot_get_details(reader, record)) {
        return false;
    }
    u32 sum = 0;
    for (u32 s = 0; s < record->states; s++) {
        u32 more;
        if (!snapshot_get_back(reader, &more) || more == 0) {
            return false;
        }
        record->back[s] = sum += more;
    }
    for (u32 i = 1; i < record->count; i++) {
        u64 next = record->chunks[i - 1] + 1u + (gaps ? bits_get_unsigned(reader) : 0);
        if (next > UINT16_MAX) {
            return false;
        }
        record->chunks[i] = (u16)next;
    }
    for (u32 i = 0; i < record->count; i++) {
        record->rest[i] = record->any_rest ? (u8)bits_get(reader, 4) : 0;
    }
    bool padded = bits_get(reader, (8 - reader->bit % 8) % 8) == 0;
    return padded && !reader->failed;
}

PL_END_C

#endif
