/*
 * recording_format.h: definitions shared by writer and reader of .plrec files.
 *
 * A block is a header of 24 bytes [type u32][length u32][tick u64][check u64] and `length` bytes of
 * content; check is XXH3-64 of the content, seeded with tick ^ type << 32 ^ length, so that a
 * damaged header is detected too. All numbers are little-endian.
 *   HEAD  RecordingFileHead, then MESSAGE_WORLD
 *   INPT  bits: count unsigned, then per input user 32 and input_encode
 *   EVNT  MESSAGE_EVENTS of the tick
 *   KEYF  world_hash u64, flags u8, spans of all chunks of all fields without baselines
 *   DLTA  world_hash u64, flags u8, one bit per chunk (changed since the previous frame), whole
 *         bytes, then spans of the changed chunks
 *         A frame is a picture, or *between* two (flags): it has poses and scalars, and says
 *         nothing of points and grids, which have no bits then.
 *         A span (span.h) follows a u32: anew × 2^31 + bytes × 128 + plain × 64 + chunks − 1.
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
    RECORDING_VERSION = 6,
    RECORDING_BLOCK_HEADER_BYTES = 24,
    /* Interval of key frames: a seek decodes at most this much. Who starts to follow a stream has
     * to wait for the next. */
    RECORDING_KEY_INTERVAL_S = 5,
    RECORDING_STREAM_KEY_INTERVAL_S = 2,
    /* The same for the effort of deltas between keys (RecordingTrail): large ones take long to
     * decode (a liquid of 20 000 particles: 30 frames), and a seek is to take less than 100 ms. */
    RECORDING_KEY_EFFORT = 400 << 10,
    /* Maximal content of a block accepted by a reader: above any frame within the limits. */
    RECORDING_BLOCK_BYTES_MAX = 64 << 20,
    /* Of frames that a reader decodes ahead; where two intervals of pictures are more, it does not,
     * and what is between two pictures shows the first. */
    RECORDING_AHEAD_BYTES_MAX = 256 << 20,
    /* Of an image in a block; all parts but the last are that long. */
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
    u32 type;
    u32 length;
    u64 tick;
    u64 check;
} RecordingBlock;

typedef struct RecordingFileHead {
    u8 magic[8]; /* "PLREC\r\n\x1a": damaged by any transfer that converts line ends */
    u32 version;
    u32 tick_rate;
    u64 created_unix_s;
    char build[64];
    u32 picture_ticks; /* 1..RECORDING_PICTURE_TICKS_MAX */
    u32 reserved;      /* 0 */
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
    u64 bytes;     /* of the whole image */
    u64 back_tick; /* 0 unless the world was rewound */
} RecordingFileImage;

typedef struct RecordingFileSystems {
    u64 first_tick;
    u32 ticks;    /* 1..RECORDING_SYSTEMS_TICKS */
    u32 count;    /* of systems, 1..FRAME_SYSTEMS_MAX */
    u32 mask;     /* the first is always in it */
    u32 reserved; /* 0 */
} RecordingFileSystems;

/* Position of a tick's first block. */
typedef struct RecordingMark {
    u64 tick;
    u64 offset;
} RecordingMark;

typedef struct RecordingFileIndex {
    u64 first_tick, last_tick, ticks, inputs, events;
    u32 key_count, event_count; /* number of marks that follow: key frames, then EVNT blocks with
                                   entities */
} RecordingFileIndex;

PL_STATIC_ASSERT(sizeof(RecordingBlock) == RECORDING_BLOCK_HEADER_BYTES, "no padding on disk");
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
    RECORDING_FRAME_BETWEEN = 1, /* no picture: points and grids are made of those around it */
    RECORDING_FRAME_CUT = 2,     /* a picture to which the ones before do not lead: a reset */
    RECORDING_FRAME_HEAD_BYTES = 9
};

#define RECORDING_MAGIC "PLREC\r\n\x1a"

/* Number of parts of an image. */
static inline u64 recording_image_parts(u64 bytes)
{
    return (bytes + RECORDING_IMAGE_PART_BYTES - 1) / RECORDING_IMAGE_PART_BYTES;
}
/* Bytes of one of them, unpacked. */
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
u64 recording_block_check(const RecordingBlock *block, const void *content);
/* The content of a SYST; `out` has RECORDING_SYSTEMS_BYTES_MAX. Returns the bytes. */
u32 recording_systems_encode(const RecordingSystems *systems, u8 *out);
/* 0 or ERROR_FORMAT. */
int recording_systems_decode(const RecordingBlock *block, const u8 *content, RecordingSystems *out);
/* The content of a NOTE; `out` has RECORDING_NOTE_BYTES_MAX. Returns the bytes. */
u32 recording_note_encode(const RecordingNote *note, u8 *out);
/* 0 or ERROR_FORMAT. */
int recording_note_decode(const RecordingBlock *block, const u8 *content, RecordingNote *out);
/* True if an event changes the list of entities. */
bool recording_event_is_entity(const Event *event);

/* ---- frames out of the ones before (recording_delta.c) ---- */

/* Frames since the last key, including it, newest first, at most as many as a span has
 * baselines. */
typedef struct RecordingPast {
    Frame *frames[SPAN_STATES]; /* owned references */
    u32 count;
} RecordingPast;

/* The frames that what comes next is relative to, with buffers for coding. */
typedef struct RecordingTrail {
    RecordingPast all, pictures; /* of them, those that have points and grids */
    SpanCoder *coder;
    size_t effort;               /* of decoding all since the key, in bytes of points */
    u8 *states[1 + SPAN_STATES]; /* dense states of a span */
} RecordingTrail;
/* False: out of memory (finish is then harmless). */
bool recording_trail_init(RecordingTrail *trail);
void recording_trail_finish(RecordingTrail *trail);
/* The frame that was coded becomes the newest. Acquires it. flags: as coded. */
void recording_trail_push(RecordingTrail *trail, Frame *frame, u32 flags);
/* Maximal bytes written by recording_frame_encode. */
size_t recording_frame_bytes_max(const FieldSet *fields);
/* Codes a frame into `out`: a key, which empties the trail, or relative to the trail; returns the
 * bytes. Frames are coded and pushed in the order in which they are decoded. flags:
 * RECORDING_FRAME_, of a key not BETWEEN. */
size_t recording_frame_encode(RecordingTrail *trail, const Frame *frame, bool key, u32 flags,
                              u8 *out);
/* Restores the data of a frame; between pictures points and grids are those of the last one. 0 or a
 * negative Error. */
int recording_frame_decode(RecordingTrail *trail, Frame *frame, bool key, u32 flags, const u8 *code,
                           size_t bytes);

#endif
