/*
 * recording_format.h: definitions shared by writer and reader of .plrec files.
 *
 * A block is a header and its content. The header is a byte that has the number of the type
 * (0xB0 + n), the bytes of the content and the tick, both as varints (seven bits a byte, lowest
 * first, all but the last with 0x80, none longer than needed), and a check, u32: the low bits of
 * XXH3-64 of the content, seeded with tick ^ n << 32 ^ length, so that a damaged header is detected
 * too. HEAD alone has the header of all versions, by which any program can refuse any recording:
 * [type u32][length u32][tick u64][check u64], n of its check is its type. All numbers are
 * little-endian.
 *   HEAD  RecordingFileHead, then MESSAGE_WORLD
 *   INPT  bits: count unsigned, a bit: anew, then inputs (recording_acts.c); unless anew, they are
 *         relative to those of their users before; the first one from a KEYF's tick on is anew
 *   EVNT  bits: count unsigned, then events; if there are SPAWNs, from the next multiple of 8 bytes
 *         on a MESSAGE_EVENTS with their entities
 *   KEYF  world_hash u64, flags u8, spans of all chunks of all fields without baselines
 *   DLTA  world_hash u64, flags u8, one bit per chunk (changed since the previous frame), whole
 *         bytes; if coarse (flags), two bits per changed chunk of points (its level), whole bytes;
 *         then spans of the changed chunks, of a field by level. A chunk of level n > 0 lacks
 *         coarse_shift + n - 1 low bits (Detail).
 *         A frame is a picture, or *between* two (flags): it has poses and scalars, and says
 *         nothing of points and grids, which have no bits then.
 *         A span (span.h) follows a byte of flags (SPAN_HEAD_), and what these ask for: chunks - 1
 *         u8, bytes as a varint.
 *         The codes from a KEYF on are a chain, which begins again before a span that is anew.
 *   NOTE  kind u32, user u32, bytes of the name u32, of the text u32, name, text
 *   GAPS  first u64 and last u64 tick that is missing
 *   PRNT  RecordingFileParent, name
 *   IMAG  RecordingFileImage, zstd of a part of the image; one block a part, in order, behind each
 *         other
 *   SYST  RecordingFileSystems, then u32 [ticks][bits of mask]: words of Frame.systems of ticks
 *         that follow each other; a system that is not in the mask has the word of the one before
 *   INDX  RecordingFileIndex, key marks, event marks, offset u64 of the INDX header
 * A tick is IMAG, INPT and EVNT, if any, then its KEYF or DLTA, which completes it.
 * NOTE and an INDX may follow an INDX; the last one counts.
 * Layer: protocol/record, private.
 */
#ifndef PLENUM_PROTOCOL_RECORD_RECORDING_FORMAT_H
#define PLENUM_PROTOCOL_RECORD_RECORDING_FORMAT_H

#include "protocol/codec/span.h"
#include "protocol/record/recording.h"

#define BLOCK_TYPE(a, b, c, d) ((u32)(a) | (u32)(b) << 8 | (u32)(c) << 16 | (u32)(d) << 24)

enum {
    RECORDING_VERSION = 9,
    RECORDING_BLOCK_HEADER_MAX = 24,
    /* Interval of key frames: a seek decodes at most this much. New followers of a stream wait for
     * the next key. */
    RECORDING_KEY_INTERVAL_S = 5,
    RECORDING_STREAM_KEY_INTERVAL_S = 2,
    /* The same for the decoding cost of deltas between keys (RecordingTrail): large ones are slow
     * (a liquid of 20 000 particles: 30 frames), and a seek should take less than 100 ms. */
    RECORDING_KEY_EFFORT = 400 << 10,
    RECORDING_VARINT_MAX = 10, /* bytes of u64 */
    /* Maximal content of a block accepted by a reader: above any frame within the limits. */
    RECORDING_BLOCK_BYTES_MAX = 64 << 20,
    /* Memory for frames decoded ahead. If two picture intervals exceed it, nothing is interpolated:
     * frames between two pictures show the first. */
    RECORDING_AHEAD_BYTES_MAX = 256 << 20,
    /* Size of the part of an image in a block; only the last may be shorter. */
    RECORDING_IMAGE_PART_BYTES = 16 << 20,
};

#define BLOCK_HEAD BLOCK_TYPE('H', 'E', 'A', 'D')
#define BLOCK_KEYF BLOCK_TYPE('K', 'E', 'Y', 'F')
#define BLOCK_DLTA BLOCK_TYPE('D', 'L', 'T', 'A')
#define BLOCK_INPT BLOCK_TYPE('I', 'N', 'P', 'T')
#define BLOCK_EVNT BLOCK_TYPE('E', 'V', 'N', 'T')
#define BLOCK_NOTE BLOCK_TYPE('N', 'O', 'T', 'E')
#define BLOCK_GAPS BLOCK_TYPE('G', 'A', 'P', 'S')
#define BLOCK_PRNT BLOCK_TYPE('P', 'R', 'N', 'T')
#define BLOCK_IMAG BLOCK_TYPE('I', 'M', 'A', 'G')
#define BLOCK_SYST BLOCK_TYPE('S', 'Y', 'S', 'T')
#define BLOCK_INDX BLOCK_TYPE('I', 'N', 'D', 'X')

typedef struct RecordingBlock {
    u32 type;   /* BLOCK_; for types of later versions, the number */
    u32 length; /* of the content */
    u64 tick;
    u64 check;
    u32 head_bytes; /* before the content */
} RecordingBlock;

/* The on-disk header of HEAD. */
typedef struct RecordingFileBlock {
    u32 type, length;
    u64 tick, check;
} RecordingFileBlock;

typedef struct RecordingFileHead {
    u8 magic[8]; /* "PLREC\r\n\x1a": damaged by any transfer that converts line ends */
    u32 version;
    u32 tick_rate;
    u64 created_unix_s;
    char build[64];
    u32 picture_ticks; /* 1..RECORDING_PICTURE_TICKS_MAX */
    u32 coarse_shift;  /* low bits omitted from moving points; 0..RECORDING_COARSE_SHIFT_MAX */
} RecordingFileHead;

typedef struct RecordingFileNote {
    u32 kind, user, name_bytes, text_bytes;
} RecordingFileNote;

typedef struct RecordingFileParent {
    u64 tick, created_unix_s;
    u32 name_bytes, reserved; /* 0 */
} RecordingFileParent;

typedef struct RecordingFileImage {
    u32 kind;
    u32 part;      /* from 0 */
    u64 bytes;     /* size of the whole image */
    u64 back_tick; /* 0 unless the world was rewound */
} RecordingFileImage;

typedef struct RecordingFileSystems {
    u64 first_tick;
    u32 ticks;    /* 1..RECORDING_SYSTEMS_TICKS */
    u32 count;    /* of systems, 1..FRAME_SYSTEMS_MAX */
    u32 mask;     /* always includes the first */
    u32 reserved; /* 0 */
} RecordingFileSystems;

/* Position of a tick's first block. */
typedef struct RecordingMark {
    u64 tick;
    u64 offset;
} RecordingMark;

typedef struct RecordingFileIndex {
    u64 first_tick, last_tick, ticks, inputs, events;
    u32 key_count, event_count; /* number of marks that follow: for key frames, then for EVNT blocks
                                 * with entities */
} RecordingFileIndex;

PL_STATIC_ASSERT(sizeof(RecordingFileBlock) == RECORDING_BLOCK_HEADER_MAX, "no padding on disk");
PL_STATIC_ASSERT(sizeof(RecordingFileHead) == 96, "no padding on disk");
PL_STATIC_ASSERT(sizeof(RecordingFileIndex) == 48, "no padding on disk");
PL_STATIC_ASSERT(sizeof(RecordingFileNote) == 16, "no padding on disk");
PL_STATIC_ASSERT(sizeof(RecordingGap) == 16, "no padding on disk");
PL_STATIC_ASSERT(sizeof(RecordingFileParent) == 24, "no padding on disk");
PL_STATIC_ASSERT(sizeof(RecordingFileSystems) == 24, "no padding on disk");
PL_STATIC_ASSERT(sizeof(RecordingFileImage) == 24, "no padding on disk");

PL_STATIC_ASSERT(FRAME_BYTES_MAX <= (int)RECORDING_BLOCK_BYTES_MAX, "a key holds a whole frame");

enum {
    RECORDING_NOTE_BYTES_MAX = sizeof(RecordingFileNote) + NAME_BYTES_MAX + TEXT_BYTES_MAX
};

enum {
    RECORDING_SYSTEMS_BYTES_MAX =
        sizeof(RecordingFileSystems) + RECORDING_SYSTEMS_TICKS * FRAME_SYSTEMS_MAX * 4
};

/* Of a frame. */
enum {
    RECORDING_FRAME_BETWEEN = 1, /* not a picture: points and grids are interpolated */
    RECORDING_FRAME_CUT = 2,     /* a picture after a discontinuity: a reset */
    RECORDING_FRAME_COARSE = 4,  /* a picture in which some chunks of points lack low bits */
    RECORDING_FRAME_HEAD_BYTES = 9
};

#define RECORDING_MAGIC "PLREC\r\n\x1a"

/* Number of parts of an image. */
static inline u64 recording_image_parts(u64 bytes)
{
    return (bytes + RECORDING_IMAGE_PART_BYTES - 1) / RECORDING_IMAGE_PART_BYTES;
}
/* Decompressed bytes of a part. */
static inline size_t recording_image_part(u64 bytes, u64 part)
{
    return (size_t)u64_min(RECORDING_IMAGE_PART_BYTES, bytes - part * RECORDING_IMAGE_PART_BYTES);
}

/* A growing array of marks; false: out of memory. */
typedef struct RecordingMarks {
    RecordingMark *items;
    u32 count, capacity;
} RecordingMarks;
bool recording_marks_push(RecordingMarks *marks, u64 tick, u64 offset);
/* The bits of the checksum that the header stores. */
u64 recording_block_check(const RecordingBlock *block, const void *content);
/* Writes the header to out[RECORDING_BLOCK_HEADER_MAX]; returns its bytes. */
u32 recording_block_put(const RecordingBlock *block, u8 *out);
/* Reads the header at `at`, where `bytes` bytes are available. 0, ERROR_TRUNCATED, or
 * ERROR_FORMAT. */
int recording_block_get(const u8 *at, size_t bytes, RecordingBlock *block);
/* Varints. put returns the bytes written; get returns the bytes read, ERROR_TRUNCATED or
 * ERROR_FORMAT. */
u32 recording_varint_put(u64 value, u8 *out);
int recording_varint_get(const u8 *at, size_t bytes, u64 *value);
/* Bytes of a block including its header. */
static inline u64 recording_block_bytes(const RecordingBlock *block)
{
    return (u64)block->head_bytes + block->length;
}
/* Writes the content of a SYST to out[RECORDING_SYSTEMS_BYTES_MAX]; returns its bytes. */
u32 recording_systems_encode(const RecordingSystems *systems, u8 *out);
/* Reads it: 0 or ERROR_FORMAT. */
int recording_systems_decode(const RecordingBlock *block, const u8 *content, RecordingSystems *out);
/* Writes the content of a NOTE to out[RECORDING_NOTE_BYTES_MAX]; returns its bytes. */
u32 recording_note_encode(const RecordingNote *note, u8 *out);
/* Reads it: 0 or ERROR_FORMAT. */
int recording_note_decode(const RecordingBlock *block, const u8 *content, RecordingNote *out);
/* The last input of each of the last users to have one, by which their next ones are coded. */
enum {
    RECORDING_HANDS = 64
};
typedef struct RecordingHand {
    u32 user, sequence;
    Vec3 target;
} RecordingHand;
typedef struct RecordingHands {
    RecordingHand hands[RECORDING_HANDS];
    u32 count, next; /* next: its place is taken by the next new user */
    bool known;      /* false: the next INPT is anew */
} RecordingHands;
/* Maximal bytes written by recording_inputs_encode. */
size_t recording_inputs_bytes_max(u32 count);
/* Writes the content of an INPT; returns its bytes. */
u32 recording_inputs_encode(RecordingHands *hands, const Input *inputs, u32 count, u8 *out);
/* The content of the EVNT of a frame; the caller frees it. NULL: out of memory, or beyond the
 * limits. */
u8 *recording_events_encode(const Frame *frame, u32 *bytes);
/* True if an event changes the list of entities. */
bool recording_event_is_entity(const Event *event);

/* ---- frames coded against earlier ones (recording_delta.c) ---- */

/* Frames since the last key, including it, newest first; at most the maximal number of baselines of
 * a span. */
typedef struct RecordingPast {
    Frame *frames[SPAN_STATES]; /* owned references */
    u32 count;
} RecordingPast;

/* The baselines of the next frame, with buffers for coding. */
typedef struct RecordingTrail {
    RecordingPast all, pictures; /* of these, the pictures */
    SpanCoder *coder;
    size_t effort;               /* cost of decoding everything since the key, in bytes of points */
    u8 *states[1 + SPAN_STATES]; /* dense states of a span */
    u32 coarse_shift;            /* RecordingFileHead */
    u8 *levels;                  /* [level_chunks] of the frame being coded: level, 0: exact */
    u32 level_chunks;
} RecordingTrail;
/* False: out of memory (finish is then harmless). */
bool recording_trail_init(RecordingTrail *trail);
void recording_trail_finish(RecordingTrail *trail);
/* The coded frame becomes the newest baseline. Acquires it. flags: as coded. */
void recording_trail_push(RecordingTrail *trail, Frame *frame, u32 flags);
/* A copy of the frame in which fast chunks of points lack low bits (recording_delta.c); code it
 * next, as COARSE. NULL: no chunk is fast enough, or out of memory. The caller owns the
 * reference. */
Frame *recording_coarsen(RecordingTrail *trail, const Frame *frame);
/* Maximal bytes written by recording_frame_encode. */
size_t recording_frame_bytes_max(const FieldSet *fields);
/* Codes a frame into `out`: a key, which empties the trail, or a delta against the trail; returns
 * the bytes. Frames are coded and pushed in decoding order. flags: RECORDING_FRAME_; a key is
 * neither BETWEEN nor COARSE. */
size_t recording_frame_encode(RecordingTrail *trail, const Frame *frame, bool key, u32 flags,
                              u8 *out);
/* Restores the data of a frame; between pictures, points and grids are those of the last picture. 0
 * or a negative Error. */
int recording_frame_decode(RecordingTrail *trail, Frame *frame, bool key, u32 flags, const u8 *code,
                           size_t bytes);

#endif
