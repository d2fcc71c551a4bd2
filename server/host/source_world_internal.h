/*
 * source_world_internal.h: the state of a live world as a Source, shared by source_world.c (its
 * thread), source_world_open.c (its creation) and source_world_save.c (saves by name).
 * Layer: server/host, private.
 */
#ifndef PLENUM_SERVER_HOST_SOURCE_WORLD_INTERNAL_H
#define PLENUM_SERVER_HOST_SOURCE_WORLD_INTERNAL_H

#include "protocol/record/world_file.h"
#include "protocol/stream/entity_list.h"
#include "server/host/checkpoint.h"
#include "server/host/frame_queue.h"
#include "server/host/probe_print.h"
#include "server/host/publisher.h"
#include "server/host/recorder.h"
#include "server/host/rewind.h"
#include "server/host/source.h"
#include "server/world/world.h"
#include "shared/base/stats.h"

#include <limits.h>
#include <pthread.h>

enum {
    /* One slot is reserved for a reset. */
    WORLD_INPUTS_WAITING_MAX = INPUTS_PER_TICK_MAX - 1,
    WORLD_USERS_COUNTED = 4096 /* waiting inputs are counted by user id modulo this */
};

typedef struct WorldSource {
    Source source;
    SourceWorldOptions options;
    ProbePrint probes;
    Scene *scene;

    /* ---- owned by the simulation ---- */
    Jobs *jobs;
    World *world;
    Recorder *recorder;   /* changed under the mutex; NULL none */
    Publisher *publisher; /* likewise */
    Checkpointer *checkpointer;
    u64 first_tick; /* of the stream, which the world began or was continued at */
    u64 shift;      /* the stream's tick less the world's own, modulo 2^64: a world that is rewound
                  has an earlier tick, a stream continues */
    Rewind rewind;
    bool warned_too_large;    /* the newest image did not fit */
    u64 image_tick;           /* of the last image in the recording */
    u64 checkpoint_ns;        /* when the last checkpoint was taken */
    u64 checkpoint_tick;      /* and of which tick */
    Input *inputs;            /* [INPUTS_PER_TICK_MAX] of the current tick */
    u64 deadline_ns;          /* when the next tick is due */
    u64 slowed_ns;            /* when world time was last dropped; 0 never */
    u64 warned_ns;            /* time of the last log message about it */
    u64 given_up_ns;          /* world time dropped since then */
    MovingAverage cost;       /* ms per tick */
    u64 looked_ns;            /* time of the last debug picture */
    u64 phase_ns;             /* when the last phase of this tick ended */
    f64 phase_s[TICK_PHASES]; /* of this tick */
    /* Owned by the writer while it runs. */
    WorldFile saving; /* its image is owned */
    u64 saving_tick;  /* of the stream */

    pthread_t thread;
    bool started;
    void (*wake)(void *context);
    void *wake_context;

    pthread_mutex_t mutex;
    pthread_cond_t changed; /* signals a request or a taken frame */
    /* ---- below: under the mutex ---- */
    Input *queue; /* [WORLD_INPUTS_WAITING_MAX] */
    u32 queued;
    /* Inputs in the queue by user, and those of them that are releases. */
    u16 waiting[WORLD_USERS_COUNTED];
    u8 releases[WORLD_USERS_COUNTED];
    bool reset;     /* an operator requested a reset */
    u32 reset_user; /* its user */
    bool stop, paused;
    bool back;                   /* an operator rewinds the world ... */
    u64 back_tick;               /* ... to this tick of its own */
    u64 world_tick, oldest_tick; /* its own; of the oldest image to go back to */
    u32 steps;                   /* ticks to run although paused */
    f64 speed;
    FrameQueue made;
    SourceStatus status;
    SourceTimes times;
    u32 debug_mask;
    bool debug_mask_changed;
    DebugPicture *picture; /* not taken yet */
    u8 *note;              /* [note_bytes] goes into checkpoints */
    u32 note_bytes;
    SaveKind save;    /* in progress until the host was told of its end; SAVE_NONE: none */
    bool save_asked;  /* the simulation has not begun yet */
    bool save_ended;  /* `saved` is for the host */
    bool save_writes; /* there is a thread to be joined: */
    pthread_t save_writer;
    char save_path[PATH_MAX]; /* unchanged while it is under way */
    u8 *save_note;            /* [save_note_bytes] likewise; of a load what the file has */
    u32 save_note_bytes;
    SourceSaved saved;

    /* ---- the host's ---- */
    FieldSet *fields;
    EntityList entities; /* as of the frame taken last */
    MessageWorld described;
    ScalarInfo *scalars;    /* parameters, then probes */
    WorldFile from;         /* the saved world that this one continues from */
    RecordingParent parent; /* the recording that it branches off */
} WorldSource;

/* Fills the simulation's and the host's part from a scene or a saved world. 0 or a negative Error
 * with a text; the caller destroys the source then. */
int world_source_open(WorldSource *s, const char *path, ErrorText *error);

/* ---- source_world_save.c ---- */

/* SourceOps.save, saved and loaded. */
int world_source_save(Source *source, SaveKind kind, const char *path, const SourceNote *note,
                      ErrorText *error);
SourceNote world_source_loaded(Source *source);
bool world_source_saved(Source *source, SourceSaved *out);
/* The simulation's: takes an image of the world for a thread that writes it to save_path. `tick` is
 * the stream's. */
void sim_save(WorldSource *s, u64 tick);
/* Keeps an image a second to go back to, and tells the host how far that is. */
void sim_keep_image(WorldSource *s);
/* Loads the world in save_path, with empty hands. False, and it is unchanged: the request has ended
 * with an error. */
bool sim_load(WorldSource *s);
/* The request has ended; error: code 0 on success. From any thread. */
void sim_save_ended(WorldSource *s, u64 tick, const ErrorText *error);
/* Waits for the writer, if there is one. */
void world_source_save_finish(WorldSource *s);

/* ---- source_world_live.c: SourceOps ---- */

void world_source_notify(Source *source, const Message *message);
LivePayload world_source_follower_payload(Source *source);
void world_source_follower_answer(Source *source, u64 follower, const Message *message);

#endif
