/*
 * recording.h: .plrec files: append-only blocks [type u32][length u32][tick u64][xxh3
 * u64][content], little-endian. HEAD first, then KEYF, DLTA, INPT, EVNT in tick order, INDX if
 * closed cleanly. A truncated file loses only its last block; the index can be rebuilt by scanning.
 * Layer: protocol/record.
 */
#ifndef PLENUM_PROTOCOL_RECORD_RECORDING_H
#define PLENUM_PROTOCOL_RECORD_RECORDING_H

#include "protocol/codec/chunk.h"
#include "protocol/session/input.h"
#include "protocol/session/message.h"
#include "shared/base/error.h"

PL_BEGIN_C

typedef struct RecordingHead {
    u32 version;
    u32 tick_rate;
    u64 created_unix_s;
    char build[64];     /* compiler and version of the recording server */
    MessageWorld world; /* scene, fields, entities at the first tick, parameters, probes */
} RecordingHead;

/* ---- writing: one thread, the simulation's or the host's ---- */

typedef struct RecordingWriter RecordingWriter;
RecordingWriter *recording_writer_create(const char *path, const RecordingHead *head,
                                         ErrorText *error);
/* Appends one tick: its inputs (as applied by the world), hash, events and fields (a key frame
 * every few seconds, otherwise a delta against earlier frames). Ticks must ascend. 0 or a
 * negative Error (disk full); after an error the writer ignores calls. */
int recording_writer_tick(RecordingWriter *writer, const Frame *frame, const Input *inputs,
                          u32 input_count);
/* Writes buffered data to the file; call at least once a second. */
int recording_writer_flush(RecordingWriter *writer);
/* Writes the index, syncs and closes. NULL is fine. */
int recording_writer_destroy(RecordingWriter *writer);

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
void recording_reader_destroy(RecordingReader *reader);
const RecordingHead *recording_reader_head(const RecordingReader *reader); /* borrowed */
const RecordingInfo *recording_reader_info(const RecordingReader *reader);
/* The next read returns the first tick ≥ tick: O(log n) plus at most one key interval of
 * decoding. */
int recording_reader_seek(RecordingReader *reader, u64 tick);
/* Reads the next tick: a frame with its hash (the caller releases it) and its inputs (borrowed
 * until the next call). 0; ERROR_NOT_FOUND at the end; other negative: damaged. inputs may be
 * NULL. */
int recording_reader_next(RecordingReader *reader, Frame **frame, const Input **inputs,
                          u32 *input_count);
/* The entities alive at the reader's position (for joins after a seek): writes up to max,
 * returns the count. */
u32 recording_reader_entities(const RecordingReader *reader, Entity *entities, u32 max);

PL_END_C

#endif
