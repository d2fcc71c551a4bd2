/*
 * snapshot_packet.h: header and records of a state packet as bits: the only place that knows their
 * layout. PROTOCOL.md, "State packets". Private to snapshot_sender.c and snapshot_receiver.c.
 * Layer: protocol.
 */
#ifndef PLENUM_PROTOCOL_SNAPSHOT_PACKET_H
#define PLENUM_PROTOCOL_SNAPSHOT_PACKET_H

#include "protocol/bits.h"
#include "protocol/snapshot.h"

PL_BEGIN_C

enum {
    SNAPSHOT_HEADER_BYTES = 18,
    SNAPSHOT_RECORD_BYTES_MAX = 10, /* before the chunk's code */
    SNAPSHOT_RECORDS_MAX = 255,
    /* Oldest baseline that a record can name, in ticks: 9 hours of rest at 60 Hz. */
    SNAPSHOT_BACK_MAX = (1 << 21) - 1,
    SNAPSHOT_STILL_MAX = 15,
};

PL_STATIC_ASSERT(SNAPSHOT_HEADER_BYTES + SNAPSHOT_RECORD_BYTES_MAX + CHUNK_CODE_BYTES_MAX <=
                     STATE_PAYLOAD_BYTES_MAX,
                 "the largest chunk fits a packet");

typedef struct SnapshotRecord {
    u8 field;
    u16 chunk;
    u32 back; /* baseline: ticks before the packet's tick; 0: key */
    u8 still;
    bool has_hash;
    u16 hash; /* low bits of chunk_state_hash */
    u16 size; /* of the code that follows */
} SnapshotRecord;

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
    return !reader->failed;
}

static inline void snapshot_put_record(BitWriter *writer, const SnapshotRecord *record)
{
    bits_put(writer, record->field, 8);
    bits_put(writer, record->chunk, 16);
    bits_put(writer, record->still, 4);
    bits_put(writer, record->has_hash, 1);
    bits_put(writer, record->size, 11);
    if (record->has_hash) {
        bits_put(writer, record->hash, 16);
    }
    u32 back = record->back;
    for (; back >= 0x80; back >>= 7) {
        bits_put(writer, (back & 0x7F) | 0x80, 8);
    }
    bits_put(writer, back, 8);
}

static inline bool snapshot_get_record(BitReader *reader, SnapshotRecord *record)
{
    record->field = (u8)bits_get(reader, 8);
    record->chunk = (u16)bits_get(reader, 16);
    record->still = (u8)bits_get(reader, 4);
    record->has_hash = bits_get(reader, 1) != 0;
    record->size = (u16)bits_get(reader, 11);
    record->hash = record->has_hash ? (u16)bits_get(reader, 16) : 0;
    record->back = 0;
    for (u32 shift = 0;; shift += 7) {
        u32 byte = (u32)bits_get(reader, 8);
        record->back |= (byte & 0x7F) << shift;
        if (byte < 0x80) {
            break;
        }
        if (shift == 14) {
            return false;
        }
    }
    return !reader->failed;
}

PL_END_C

#endif
