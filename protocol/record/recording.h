/*
 * recording.h: .plrec files: append-only blocks, little-endian: type, length, tick, XXH3 checksum
 * and content. HEAD first, then PRNT, if any, then KEYF, DLTA, INPT, EVNT, IMAG, NOTE, GAPS, SYST
 * in tick order, INDX if closed cleanly. A truncated file loses only its last block; the index can
 * be rebuilt by scanning. Notes may be added to a closed file: they follow its index and are
 * followed by a new one.
 * Layer: protocol/record.
 */
#ifndef PLENUM_PROTOCOL_RECORD_RECORDING_H
#define PLENUM_PROTOCOL_RECORD_RECORDING_H

#include "protocol/codec/chunk.h"
#include "protocol/session/input.h"
#include "protocol/session/message.h"
#include "shared/base/error.h"

PL_BEGIN_C

enum {
    RECORDING_PARENT_NAME_MAX = 256,
    RECORDING_PICTURE_TICKS_MAX = 16, /* a reader decodes two such intervals ahead */
    RECORDING_COARSE_SHIFT_MAX = 4,
    RECORDING_COARSE_LEVELS = 3,      /* each omits one more bit */
    RECORDING_COARSE_SHIFT_USUAL = 1, /* if not every tick has a picture: 2, 4, 8 mm */
};
/* Images of the largest worlds are far smaller. */
#define RECORDING_IMAGE_BYTES_MAX ((u64)4 << 30)

/* The recording from which this one branches off. */
typedef struct RecordingParent {
    char name[RECORDING_PARENT_NAME_MAX]; /* its file name without folders; "": none */
    u64 tick;                             /* tick in it */
    u64 created_unix_s;                   /* from its head, to identify it */
} RecordingParent;

typedef struct RecordingHead {
    u32 version;
    u32 tick_rate;
    /* Interval in ticks of pictures, the frames with points and grids; poses and scalars are in
     * every frame. 0 means 1; streams: always 1. */
    u32 picture_ticks;
    /* Least number of low bits omitted from chunks of fast points; up to two more are omitted at
     * higher speeds. 0: points are recorded exactly. Streams: 0. At most
     * RECORDING_COARSE_SHIFT_MAX. */
    u32 coarse_shift;
    u64 created_unix_s;
    char build[64];     /* compiler and version of the recording server */
    MessageWorld world; /* scene, fields, entities at the first tick, parameters, probes */
    RecordingParent parent;
} RecordingHead;

/* The reason for an image of the world. */
typedef enum RecordingImageKind {
    RECORDING_IMAGE_START = 1, /* with the first tick: the world did not start from its scene */
    RECORDING_IMAGE_KEPT = 2,  /* the result of the inputs so far, from which others can start */
    RECORDING_IMAGE_BACK = 3,  /* the world was rewound and continues from this */
    RECORDING_IMAGE_LOAD = 4,  /* it was replaced by a saved one and continues from this */
    RECORDING_IMAGE_KIND_COUNT
} RecordingImageKind;

/* An image in a recording: the state shown by the frame of its tick. */
typedef struct RecordingImage {
    u64 tick;
    u32 kind;      /* RecordingImageKind */
    u64 back_tick; /* BACK: the earlier recorded tick that the world was rewound to */
    u64 bytes;     /* of world_save */
    u64 offset;    /* in the file; ignored by writers */
} RecordingImage;

/* Actions and messages of users that are not part of the world's state. */
typedef enum RecordingNoteKind {
    RECORDING_NOTE_BOOKMARK = 1, /* text: its name */
    RECORDING_NOTE_CHAT = 2,     /* text: the message */
    RECORDING_NOTE_JOIN = 3,
    RECORDING_NOTE_LEAVE = 4,
    RECORDING_NOTE_KIND_COUNT
} RecordingNoteKind;

typedef struct RecordingNote {
    u64 tick;
    u32 kind;                  /* RecordingNoteKind */
    u32 user;                  /* 0: none */
    char name[NAME_BYTES_MAX]; /* the user's */
    char text[TEXT_BYTES_MAX];
} RecordingNote;

/* Ticks that were not recorded: the disk was full or slow. Both included. */
typedef struct RecordingGap {
    u64 first_tick, last_tick;
} RecordingGap;

enum {
    RECORDING_SYSTEMS_TICKS = 64
};

/* Hashes of the systems of a world (Frame.systems) in consecutive ticks. */
typedef struct RecordingSystems {
    u64 first_tick;
    u32 ticks, count; /* count: of systems */
    u32 hashes[RECORDING_SYSTEMS_TICKS][FRAME_SYSTEMS_MAX];
} RecordingSystems;

/* ---- writing: by one thread, the recorder's ---- */

typedef struct RecordingWriter RecordingWriter;
RecordingWriter *recording_writer_create(const char *path, const RecordingHead *head,
                                         ErrorText *error);
/* Appends one tick: its inputs (as applied by the world), hash, events and fields (a key frame
 * every few seconds, otherwise a delta against earlier frames). Ticks must ascend. 0 or a negative
 * Error. After ERROR_IO (disk full) the tick is kept in memory: append nothing until
 * recording_writer_flush succeeds. After any other error the writer ignores calls. */
int recording_writer_tick(RecordingWriter *writer, const Frame *frame, const Input *inputs,
                          u32 input_count);
/* Appends the compressed image of the next tick, before the tick itself; a START before the first.
 * The tick of a BACK or LOAD becomes a key frame. Errors as above. */
int recording_writer_image(RecordingWriter *writer, const RecordingImage *image, const u8 *bytes);
/* Append a note, or a gap before the next tick; errors as above. */
int recording_writer_note(RecordingWriter *writer, const RecordingNote *note);
int recording_writer_gap(RecordingWriter *writer, RecordingGap gap);
/* Writes buffered data to the file; call at least once a second. ERROR_IO: nothing was written;
 * retry later. */
int recording_writer_flush(RecordingWriter *writer);
/* errno of the last ERROR_IO. */
int recording_writer_errno(const RecordingWriter *writer);
/* The tick of the last frame that is in the file, 0 none. */
u64 recording_writer_safe_tick(const RecordingWriter *writer);
/* Writes the index, syncs and closes. NULL is fine. */
int recording_writer_destroy(RecordingWriter *writer);
/* Adds a note to a closed recording: the note and a copy of the index are appended in one write. */
int recording_append_note(const char *path, const RecordingNote *note, ErrorText *error);

/* ---- a recording as a stream: the same blocks in pieces, without file or index ---- */

/* NULL: out of memory. The functions above for ticks, notes, gaps and images apply to it, and
 * recording_writer_destroy. */
RecordingWriter *recording_writer_create_stream(void);
/* Appends a HEAD, from which readers can start: its entities are those before the next tick, which
 * becomes a key frame and need not ascend. 0 or a negative Error. */
int recording_writer_head(RecordingWriter *writer, const RecordingHead *head);
/* True if this frame, given next, becomes a key. */
bool recording_writer_key_next(const RecordingWriter *writer, const Frame *frame);
/* Number of bytes appended since the last recording_writer_take. */
size_t recording_writer_pending(const RecordingWriter *writer);
/* The blocks appended since the last call; borrowed until the next call. */
const u8 *recording_writer_take(RecordingWriter *writer, size_t *bytes);

/* ---- reading ---- */

typedef struct RecordingInfo {
    u64 first_tick, last_tick;
    u64 ticks, key_frames, inputs, events, bytes;
    bool clean;     /* closed cleanly, with an index */
    u64 torn_bytes; /* truncated bytes at the end, ignored */
} RecordingInfo;

typedef struct RecordingReader RecordingReader;
/* Opens the file, reads HEAD, uses or rebuilds the index. NULL with an error text. */
RecordingReader *recording_reader_create(const char *path, ErrorText *error);
/* The first piece of a stream, which begins with HEAD. The blocks are borrowed until
 * recording_reader_next has returned an error, ERROR_NOT_FOUND at their end; then feed the next
 * piece. There is no index: only _head, _next, _feed, _entities and _destroy may be called. After
 * any other error, start again at a piece with a HEAD. NULL with an error text. */
RecordingReader *recording_reader_create_stream(const u8 *blocks, size_t bytes, ErrorText *error);
void recording_reader_feed(RecordingReader *reader, const u8 *blocks, size_t bytes);
void recording_reader_destroy(RecordingReader *reader);
const RecordingHead *recording_reader_head(const RecordingReader *reader); /* borrowed */
const RecordingInfo *recording_reader_info(const RecordingReader *reader);
/* The next read returns the first tick ≥ tick: O(log n) plus at most one key interval of
 * decoding. */
int recording_reader_seek(RecordingReader *reader, u64 tick);
/* True for the kinds of fields that only pictures contain: points and grids. */
bool recording_field_waits(const FieldDesc *field);
/* Reads the next tick: a frame with its hash (the caller releases it) and its inputs (borrowed
 * until the next call). If Frame.between is set, points and grids are interpolated between the
 * surrounding pictures. 0; ERROR_NOT_FOUND at the end; other negative: damaged. inputs may be
 * NULL. */
int recording_reader_next(RecordingReader *reader, Frame **frame, const Input **inputs,
                          u32 *input_count);
/* The image of the last tick read, or NULL; borrowed until the next call. After a seek to its tick
 * it may be NULL. */
const RecordingImage *recording_reader_image_here(const RecordingReader *reader);
/* Decompresses an image that was read or visited: *bytes bytes, owned by the caller (free), at most
 * `most` (0: up to the general limits). The reader's position is unchanged. 0 or a negative Error
 * with a text. */
int recording_reader_image(RecordingReader *reader, const RecordingImage *image, u64 most,
                           u8 **bytes, ErrorText *error);
/* Tick of the first key frame after `tick`; 0: none. Reading can continue there after damage. */
u64 recording_reader_key_after(const RecordingReader *reader, u64 tick);
/* Tick of the last key frame at or before `tick`, or of the first one. */
u64 recording_reader_key_at(const RecordingReader *reader, u64 tick);
/* True if entities appear, disappear or change in (from, to]. */
bool recording_reader_entities_change(const RecordingReader *reader, u64 from, u64 to);
/* The entities after `tick`, borrowed until the next call; the reader's position is lost: seek
 * before the next read. 0 or a negative Error. */
struct EntityList;
int recording_reader_entities_at(RecordingReader *reader, u64 tick,
                                 const struct EntityList **entities);
/* The entities alive at the reader's position (for joins after a seek): writes up to max,
 * returns the count. */
u32 recording_reader_entities(const RecordingReader *reader, Entity *entities, u32 max);

/* ---- reading block by block ---- */

/* Callbacks of recording_reader_visit, in file order; NULL members are skipped. */
typedef struct RecordingVisitor {
    void *context;
    /* Returns false to end the visit. Called at least once per second of a recording. */
    bool (*proceed)(void *context);
    void (*events)(void *context, u64 tick, const struct Event *events, u32 count);
    void (*note)(void *context, const RecordingNote *note);
    void (*gap)(void *context, RecordingGap gap);
    void (*image)(void *context, const RecordingImage *image);
    void (*systems)(void *context, const RecordingSystems *systems);
} RecordingVisitor;
/* Visits notes, gaps, images, hashes of systems and events without decoding frames. The reader's
 * position is unchanged. 0, or the error of the first damaged block, at which it ends. */
int recording_reader_visit(RecordingReader *reader, const RecordingVisitor *visitor);

/* A range of bytes that cannot be read. */
typedef struct RecordingDamage {
    u64 offset, bytes;
    u64 tick_before;  /* last tick read before it, 0: none */
    const char *what; /* "wrong checksum", ...; static */
    char block[5];    /* its type, if its header is readable */
} RecordingDamage;

typedef struct RecordingCheck {
    u64 blocks;     /* undamaged */
    u64 damaged;    /* number of damaged ranges */
    u64 ticks;      /* readable ones */
    u64 pictures;   /* of these, pictures */
    u64 ticks_lost; /* undamaged, but deltas to damaged ones */
    u64 notes, gaps;
    u64 gap_ticks;        /* lost by the recorder */
    u64 images;           /* undamaged images of the world */
    u64 backs;            /* of these: at rewinds */
    u64 loads;            /* and at loads */
    u64 key_interval_max; /* largest number of ticks between key frames */
} RecordingCheck;
/* Reads and decodes every block of the file, continues after damage, and compares the index with
 * the blocks found. `damage` is called for each damaged range. 0, or a negative Error if the file
 * cannot be read at all. The reader's position is lost: destroy it. */
int recording_reader_check(RecordingReader *reader,
                           void (*damage)(void *context, const RecordingDamage *damage),
                           void *context, RecordingCheck *out);

PL_END_C

#endif
