/*
 * recording_format.h: what writer and reader of .plrec files agree on, and nobody else sees.
 *
 * A block is a header of 24 bytes [type u32][length u32][tick u64][check u64] and `length` bytes of
 * content; check is XXH3-64 of the content, seeded with tick ^ type << 32 ^ length, so that a
 * damaged header is noticed too. All numbers are little-endian.
 *   HEAD  RecordingFileHead, then MESSAGE_WORLD
 *   INPT  bits: count unsigned, then per input user 32 and input_encode
 *   EVNT  MESSAGE_EVENTS of the tick
 *   KEYF  world_hash u64, raw size u32, zstd of: all chunks of all fields as keys, in order
 *   DLTA  world_hash u64, one bit a chunk (changed since the frame before), whole bytes, then spans
 *         of the changed chunks (span.h), each behind a u32: bytes × 128 + plain × 64 + chunks − 1
 *   INDX  RecordingFileIndex, key marks, event marks, offset u64 of the INDX header
 * A tick is INPT and EVNT where there are any, then its KEYF or DLTA, which completes it.
 * Layer: protocol/record, private.
 */
#ifndef PLENUM_PROTOCOL_RECORD_RECORDING_FORMAT_H
#define PLENUM_PROTOCOL_RECORD_RECORDING_FORMAT_H

#include "protocol/codec/span.h"
#include "protocol/record/recording.h"

#define BLOCK_TYPE(a, b, c, d) ((u32)(a) | (u32)(b) << 8 | (u32)(c) << 16 | (u32)(d) << 24)

enum {
    RECORDING_VERSION = 4,
    RECORDING_BLOCK_HEADER_BYTES = 24,
    /* Key frames this often: a seek decodes at most that much, and they cost little of the file. */
    RECORDING_KEY_INTERVAL_S = 2,
    /* Largest content of a block that a reader accepts: above any frame within the limits. */
    RECORDING_BLOCK_BYTES_MAX = 64 << 20,
};

#define BLOCK_HEAD BLOCK_TYPE('H', 'E', 'A', 'D')
#define BLOCK_KEYF BLOCK_TYPE('K', 'E', 'Y', 'F')
#define BLOCK_DLTA BLOCK_TYPE('D', 'L', 'T', 'A')
#define BLOCK_INPT BLOCK_TYPE('I', 'N', 'P', 'T')
#define BLOCK_EVNT BLOCK_TYPE('E', 'V', 'N', 'T')
#define BLOCK_INDX BLOCK_TYPE('I', 'N', 'D', 'X')

typedef struct RecordingBlock {
    u32 type;
    u32 length;
    u64 tick;
    u64 check;
} RecordingBlock;

typedef struct RecordingFileHead {
    u8 magic[8]; /* "PLREC\r\n\x1a": damaged by any transfer that meddles with line ends */
    u32 version;
    u32 tick_rate;
    u64 created_unix_s;
    char build[64];
} RecordingFileHead;

/* Where a tick's first block lies. */
typedef struct RecordingMark {
    u64 tick;
    u64 offset;
} RecordingMark;

typedef struct RecordingFileIndex {
    u64 first_tick, last_tick, ticks, inputs, events;
    u32 key_count, event_count; /* marks that follow: key frames, then EVNT blocks with entities */
} RecordingFileIndex;

PL_STATIC_ASSERT(sizeof(RecordingBlock) == RECORDING_BLOCK_HEADER_BYTES, "no padding on disk");
PL_STATIC_ASSERT(sizeof(RecordingFileHead) == 88, "no padding on disk");
PL_STATIC_ASSERT(sizeof(RecordingFileIndex) == 48, "no padding on disk");

PL_STATIC_ASSERT(FRAME_BYTES_MAX <= (int)RECORDING_BLOCK_BYTES_MAX, "a key holds a whole frame");

#define RECORDING_MAGIC "PLREC\r\n\x1a"

/* A growing array of marks; false without memory. */
typedef struct RecordingMarks {
    RecordingMark *items;
    u32 count, capacity;
} RecordingMarks;
bool recording_marks_push(RecordingMarks *marks, u64 tick, u64 offset);
u64 recording_block_check(const RecordingBlock *block, const void *content);
/* True if an event changes the list of entities. */
bool recording_event_is_entity(const Event *event);

/* ---- frames out of the ones before (recording_delta.c) ---- */

/* The frames since and with the last key, newest first, at most as many as a span builds upon; with
 * what coding needs. */
typedef struct RecordingTrail {
    Frame *frames[SPAN_STATES]; /* owned references */
    u32 count;
    SpanCoder *coder;
    u8 *states[1 + SPAN_STATES]; /* dense, of a span */
} RecordingTrail;
/* False: no memory (finish is then harmless). */
bool recording_trail_init(RecordingTrail *trail);
void recording_trail_finish(RecordingTrail *trail);
/* A key begins anew, any other frame becomes the newest. Takes a reference. */
void recording_trail_push(RecordingTrail *trail, Frame *frame, bool key);
/* Most bytes that recording_delta_encode writes. */
size_t recording_delta_bytes_max(const FieldSet *fields);
/* Codes the map and the spans of a frame with the trail's fields into `out`; returns the bytes. */
size_t recording_delta_encode(RecordingTrail *trail, const Frame *frame, u8 *out);
/* Fills the data of a frame out of the trail's newest. 0 or a negative Error. */
int recording_delta_decode(RecordingTrail *trail, Frame *frame, const u8 *code, size_t bytes);

#endif
