/*
 * recording_internal.h: internals of a reader, shared by recording_read.c (tick by tick),
 * recording_block.c and recording_walk.c (block by block).
 * Layer: protocol/record, private.
 */
#ifndef PLENUM_PROTOCOL_RECORD_RECORDING_INTERNAL_H
#define PLENUM_PROTOCOL_RECORD_RECORDING_INTERNAL_H

#include "protocol/record/recording_format.h"
#include "protocol/stream/entity_list.h"

enum {
    RECORDING_AHEAD_MAX = 2 * RECORDING_PICTURE_TICKS_MAX
};

/* Frames decoded ahead of the tick being read, and the last pictures before it. */
typedef struct RecordingAhead {
    Frame *frames[RECORDING_AHEAD_MAX]; /* owned references, oldest first */
    u32 flags[RECORDING_AHEAD_MAX];     /* RECORDING_FRAME_ */
    u32 count, pictures;                /* of these, pictures */
    Frame *shown[2];                    /* the last picture, and the one before it or NULL */
    u64 offset;                         /* offset of the next block to examine */
    int ended;                          /* Error that ended decoding; 0: none */
} RecordingAhead;

/* Pictures around a tick: before and after may be NULL. */
typedef struct RecordingAround {
    const Frame *before, *from, *to, *after;
} RecordingAround;

/* A piece of the file, so that small blocks need no call of the system each. */
typedef struct RecordingWindow {
    u8 *bytes; /* [count], owned */
    size_t capacity;
    u64 offset;
    size_t count;
} RecordingWindow;

struct RecordingReader {
    int fd;
    RecordingWindow window;
    const u8 *memory; /* of a stream, instead of the file: [file_bytes], borrowed; NULL: none */
    u64 file_bytes;
    u64 end;         /* first byte after the last complete tick */
    u64 start;       /* first block after HEAD */
    u64 offset;      /* next block to read */
    u8 *head_memory; /* content of HEAD: the scene bytes may point into it */
    u8 *head_storage;
    RecordingHead head;
    FieldSet *fields;
    RecordingInfo info;
    RecordingMarks keys, entity_events;
    u8 *content; /* of the last block read */
    size_t content_capacity;
    Frame *current; /* last decoded */
    RecordingTrail trail;
    bool decoding; /* the trail contains the frames before the next to be decoded */
    RecordingAhead ahead;
    u64 show_from; /* frames before this tick are only decoded on the way: not interpolated or
                    * returned */
    bool pending;  /* current was decoded by a seek and has not been returned yet */
    Input *inputs; /* of current */
    u32 input_count, input_capacity;
    RecordingHands hands; /* after the last INPT read */
    RecordingImage image; /* of current, if image_here */
    bool image_here;
    Event *events; /* of the tick being read */
    u32 event_count, event_capacity;
    u64 events_tick;
    EntityList entities; /* after the events of current */
    u64 entities_tick;
};

/* Reads exactly `bytes` bytes at `offset`. 0, ERROR_TRUNCATED at the file's end, ERROR_IO,
 * ERROR_MEMORY. */
int recording_read_at(RecordingReader *reader, u64 offset, void *out, size_t bytes);
/* Reserves at least `bytes` bytes. 0, or ERROR_MEMORY without any change. */
int recording_reserve(u8 **memory, size_t *capacity, size_t bytes);
/* Reads the header of the complete block at `offset`. 0, ERROR_TRUNCATED if the file ends within
 * it, ERROR_FORMAT if there is none, ERROR_IO, ERROR_MEMORY. */
int recording_read_header(RecordingReader *reader, u64 offset, RecordingBlock *block);
/* Reads the block at `offset` with its content into reader->content. 0 or a negative Error:
 * ERROR_TRUNCATED if the file ends within it, ERROR_FORMAT for a wrong checksum. */
int recording_read_block(RecordingReader *reader, u64 offset, RecordingBlock *block);
/* Decode the content just read: INPT into inputs, EVNT into events. 0 or a negative Error:
 * ERROR_STATE for inputs that are relative to others, which were not read. */
int recording_take_inputs(RecordingReader *reader, const RecordingBlock *block);
int recording_take_events(RecordingReader *reader, const RecordingBlock *block);
/* Decodes the IMAG just read, whose header at `offset` is `block`: 0 or ERROR_FORMAT. */
int recording_take_image(const RecordingReader *reader, const RecordingBlock *block, u64 offset,
                         RecordingImage *image, u32 *part);
/* Decompresses its part into `out`, of recording_image_part bytes. 0 or ERROR_FORMAT. */
int recording_unpack_image(const RecordingReader *reader, const RecordingBlock *block,
                           const RecordingImage *image, u32 part, u8 *out);
/* Decodes the PRNT just read. 0 or ERROR_FORMAT. */
int recording_take_parent(const RecordingReader *reader, const RecordingBlock *block,
                          RecordingParent *out);
void recording_drop_events(RecordingReader *reader);
/* Decodes the KEYF or DLTA just read into a frame with space for so many events; the caller owns
 * *out. 0 or a negative Error. */
int recording_decode_frame(RecordingReader *reader, const RecordingBlock *block, u32 event_count,
                           Frame **out, u32 *flags);
/* The frame of the KEYF or DLTA just read at reader->offset, with the events read before it,
 * interpolated if it is not a picture; the caller owns *out. 0 or a negative Error. */
int recording_ahead_take(RecordingReader *reader, const RecordingBlock *block, Frame **out);
/* Discards all decoded frames: the next to be decoded is a key. */
void recording_ahead_drop(RecordingReader *reader);
/* Interpolates points and grids of a frame whose tick is between `from` and `to`; at first they are
 * those of `from`. */
void recording_between(const RecordingAround *around, Frame *frame);
/* Index of the last mark whose tick is at most `tick`; -1 if none. */
i64 recording_marks_last(const RecordingMarks *marks, u64 tick);

#endif
