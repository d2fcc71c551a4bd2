/*
 * tape.h: the frames of a recording in any order: forwards, backwards and from anywhere. Frames are
 * decoded from their key on and kept as far as memory allows, so that playing backwards decodes
 * each interval of keys once. One thread.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_TAPE_H
#define PLENUM_SERVER_HOST_TAPE_H

#include "protocol/record/recording.h"
#include "protocol/stream/entity_list.h"

typedef struct Tape Tape;
/* NULL with an error. */
Tape *tape_create(const char *path, ErrorText *error);
void tape_destroy(Tape *tape); /* NULL is fine */
const RecordingHead *tape_head(const Tape *tape);
const RecordingInfo *tape_info(const Tape *tape);
/* The first recorded frame at or after `tick`, with its own events; the caller releases it. 0,
 * ERROR_NOT_FOUND behind the last, or another Error where nothing behind is readable. Damaged
 * parts are skipped. */
int tape_at(Tape *tape, u64 tick, Frame **frame);
/* The last recorded frame before `tick`; ERROR_NOT_FOUND before the first. */
int tape_before(Tape *tape, u64 tick, Frame **frame);
/* True if entities appear, disappear or change in (from, to]. */
bool tape_entities_change(const Tape *tape, u64 from, u64 to);
/* The entities after `tick`. Borrowed until the next call on the tape. 0 or a negative Error. */
int tape_entities(Tape *tape, u64 tick, const EntityList **entities);
/* Sets the maximal bytes of decoded frames that are kept (256 MiB); at least two frames are. */
void tape_keep(Tape *tape, u64 bytes);
/* Frames decoded so far, for tests: each costs time. */
u64 tape_decoded(const Tape *tape);

#endif
