/*
 * source.h: a host does not care where frames come from: a live world, a recording, a relay.
 * All calls come from the host's thread. The source calls `wake` (from any thread) when a frame is
 * ready, then the host takes it.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_SOURCE_H
#define PLENUM_SERVER_HOST_SOURCE_H

#include "protocol/field/frame.h"
#include "protocol/session/input.h"
#include "protocol/session/message.h"

typedef struct SourceStatus {
    MessageStatus status;
    u64 tick;       /* of the newest frame made */
    bool finished;  /* --ticks reached, or a damaged recording: the host drains and exits */
    Error error;    /* why, if finished badly */
    u64 late_ticks; /* ticks that began late since the start */
} SourceStatus;

typedef struct Source Source;
typedef struct SourceOps {
    void (*destroy)(Source *source);
    /* Starts producing. wake may be called from another thread from now on. 0 or negative. */
    int (*start)(Source *source, void (*wake)(void *context), void *context, ErrorText *error);
    /* Next frame in order, owned by the caller, or NULL. A tick that is not newer than the last is
     * a seek or a reset: the host starts a new stream epoch. */
    Frame *(*take)(Source *source);
    /* What a joiner must know, true for the frame taken last. Arrays are borrowed until the next
     * call on the source. */
    void (*describe)(Source *source, MessageWorld *out);
    /* Judged, stamped inputs, copied into a bounded queue. Returns how many were taken (the rest
     * are refused for load). A recording takes none. */
    u32 (*input)(Source *source, const Input *inputs, u32 count);
    /* Pause, step, speed, seek, reset. 0 or a negative Error (ERROR_UNSUPPORTED, ERROR_RANGE). */
    int (*control)(Source *source, u32 user, u32 kind, f64 value);
    void (*status)(Source *source, SourceStatus *out);
    /* What clients now want to see of the simulation's debug picture (DEBUG_ bits, 0 nothing).
     * NULL: there is no inside to see. */
    void (*debug_subscribe)(Source *source, u32 mask);
    /* The newest picture of it that was not taken yet, one block for the caller to free, or NULL.
     */
    DebugPicture *(*debug)(Source *source);
} SourceOps;

struct Source {
    const SourceOps *ops;
};

typedef struct SourceWorldOptions {
    u32 threads;
    u64 ticks_max;        /* 0: no end */
    bool fast;            /* do not wait for the clock */
    u64 memory_max_bytes; /* a scene that needs more is refused; 0: none is */
    bool paused;
    f64 speed;
    const char *record_path; /* NULL: none */
    bool hash;               /* print "hash TICK HEX" at the end */
    const char *probe;       /* print "probe TICK NAME VALUE" every world second; NULL none */
    const struct MatterList *kinds; /* further kinds of matter (world.h), borrowed; NULL none */
} SourceWorldOptions;

/* A live world on its own thread. */
Source *source_world_create(const char *scene_path, const SourceWorldOptions *options,
                            ErrorText *error);
/* A recording, played by the clock. */
Source *source_recording_create(const char *path, const SourceWorldOptions *options,
                                ErrorText *error);

#endif
