/*
 * recorder.h: records a live session on its own thread, so that no disk can stall the simulation.
 *
 * Ticks wait in a bounded queue. When it is full, because the disk is full or slow, ticks are lost:
 * the next one that is kept carries the spawns and removals of the lost ones, and the file names
 * the gap, as does the log. A full disk is tried again every second.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_RECORDER_H
#define PLENUM_SERVER_HOST_RECORDER_H

#include "protocol/record/recording.h"

typedef struct RecorderOptions {
    const char *path;
    bool force;      /* replace an existing file; otherwise the name gets a number */
    bool complete;   /* wait for the disk rather than lose ticks (--fast); not for a full one */
    const u8 *image; /* image that the recording begins with, borrowed for the call; NULL: the
                      * scene */
    size_t image_bytes;
    u32 picture_rate;               /* of points and grids, Hz at least; 0: each tick */
    u32 ticks_max;                  /* in the queue; 0: RECORDER_TICKS_MAX */
    void (*writing)(void *context); /* before each tick, on the recorder's thread; tests of slow
                                       disks; NULL none */
    void *context;
} RecorderOptions;

enum {
    RECORDER_TICKS_MAX = 600,
    RECORDER_BYTES_MAX = 256 << 20, /* of frames in the queue */
    RECORDER_PATH_MAX = 4096
};

typedef struct RecorderStats {
    u64 ticks;      /* handed to the file */
    u64 ticks_lost; /* that are in no file */
    u64 waiting;    /* in the queue */
    bool stuck;     /* the last write failed */
    bool ended;     /* nothing more is written */
} RecorderStats;

struct SourceStatus;
typedef struct Recorder Recorder;
/* Creates the file and starts the thread. An existing evening.plrec is kept: the recording becomes
 * evening-2.plrec, as the log says. NULL with an error. */
Recorder *recorder_create(const RecorderOptions *options, const RecordingHead *head,
                          ErrorText *error);
/* Simulation's thread: queues a tick, with references and copies; does not block unless
 * `complete`. */
void recorder_tick(Recorder *recorder, Frame *frame, const Input *inputs, u32 input_count);
/* Simulation's thread: the image of the next tick, of world_save; takes it over. If that tick is
 * lost its image is too. */
void recorder_image(Recorder *recorder, const RecordingImage *image, u8 *bytes);
/* Any thread: a note, at the tick queued last if its tick is 0. */
void recorder_note(Recorder *recorder, const RecordingNote *note);
void recorder_stats(Recorder *recorder, RecorderStats *out);
/* The same in what a source says of itself. */
void recorder_report(Recorder *recorder, struct SourceStatus *out);
/* The file that is written. */
const char *recorder_path(const Recorder *recorder);
/* Writes queued ticks, closes the file and logs what is missing. NULL is fine. */
void recorder_destroy(Recorder *recorder);

#endif
