/*
 * source.h: the interface of frame sources: a live world, a recording, a relay. All calls come from
 * the host's thread. The source calls `wake` (from any thread) when a frame is ready; the host then
 * takes it.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_SOURCE_H
#define PLENUM_SERVER_HOST_SOURCE_H

#include "protocol/field/frame.h"
#include "protocol/session/input.h"
#include "protocol/session/message.h"
#include "server/host/live.h"
#include "shared/base/stats.h"

struct RecordingNote; /* recording.h */

/* Of a world that is published to a broker, or followed from one. */
typedef struct SourceBrokerStatus {
    bool publishing, following;
    bool failing; /* the last attempt failed: the broker cannot be reached, or accepts nothing */
    u64 ticks, messages, bytes;    /* stored by the broker, or received from it */
    u64 ticks_lost;                /* that will not reach the broker */
    u64 waiting;                   /* ticks for the broker, or messages still pending there */
    u64 skipped, damaged, foreign; /* messages: not in order; not readable; of them not Plenum's */
    u64 refused;                   /* payloads beside the stream that are invalid or too many */
    f64 lag_s; /* age of the newest tick at its destination; by the broker's clock, if followed */
} SourceBrokerStatus;

typedef struct SourceStatus {
    MessageStatus status;
    u64 tick;            /* newest frame produced */
    bool forwarded;      /* frames are the snapshots of another server: sent on receipt */
    bool finished;       /* --ticks reached, or a damaged recording: the host drains and exits */
    Error error;         /* reason, if finished by an error */
    bool recording_lost; /* it cannot be written now: ticks are lost */
    u64 late_ticks;      /* ticks that started late since the start */
    u64 checkpoints, checkpoints_failed; /* written, and not, since the start */
    u64 checkpoint_tick;                 /* of the newest; 0: none */
    u64 back_bytes;                      /* of the images to rewind to, in memory */
    bool checkpoint_failing;             /* the last one could not be written */
    bool recording;                      /* there is one */
    bool recording_ended;                /* before the session: nothing more is written */
    u64 ticks_recorded, ticks_unrecorded, ticks_unwritten; /* in the file, lost, in the queue */
    SourceBrokerStatus broker;
    f64 dropped_s; /* world time dropped since the start because ticks took too long */
} SourceStatus;

/* Parts of a tick's time, in order. The first are those of WorldPhase. */
typedef enum TickPhase {
    TICK_INPUTS,
    TICK_CONTACTS,
    TICK_SUBSTEPS,
    TICK_FINISH,
    TICK_FRAME,      /* quantizing */
    TICK_RECORD,     /* queueing for the recorder */
    TICK_CHECKPOINT, /* an image of the world, where one is due */
    TICK_PHASES
} TickPhase;

/* For labels. */
const char *tick_phase_name(TickPhase phase);

/* Since the start; of BOUNDS_SECONDS. */
typedef struct SourceTimes {
    Buckets tick; /* whole ticks */
    Buckets phases[TICK_PHASES];
    /* ns of whole ticks, for quantiles that the bounds are too far apart for. */
    Histogram costs;
    Histogram processor; /* CPU time of the thread */
} SourceTimes;

/* Operations with a world and a file. */
typedef enum SaveKind {
    SAVE_NONE,
    SAVE_WRITE,
    SAVE_LOAD
} SaveKind;

/* What the host wants to find again with a world. */
typedef struct SourceNote {
    const u8 *bytes; /* [count] */
    u32 count;
} SourceNote;

/* How that ended. */
typedef struct SourceSaved {
    SaveKind kind;
    u64 tick; /* of the stream: of the world that was saved, or the first of the loaded one */
    ErrorText error; /* code 0: done */
} SourceSaved;

typedef struct Source Source;
typedef struct SourceOps {
    void (*destroy)(Source *source);
    /* Starts producing frames. From now on wake may be called from another thread. 0 or
     * negative. */
    int (*start)(Source *source, void (*wake)(void *context), void *context, ErrorText *error);
    /* Next frame in order, owned by the caller, or NULL. A tick not newer than the last one
     * indicates a seek or a reset: the host starts a new stream epoch. */
    Frame *(*take)(Source *source);
    /* Description of the world for joining clients, valid for the frame taken last. Arrays are
     * borrowed until the next call on the source. */
    void (*describe)(Source *source, MessageWorld *out);
    /* Copies checked, stamped inputs into a bounded queue. Returns the number accepted (the rest
     * are refused because of load). A recording accepts none. */
    u32 (*input)(Source *source, const Input *inputs, u32 count);
    /* Pause, step, speed, seek, reset, back. 0 or a negative Error (ERROR_UNSUPPORTED,
     * ERROR_RANGE). */
    int (*control)(Source *source, u32 user, u32 kind, f64 value);
    void (*status)(Source *source, SourceStatus *out);
    /* The time of ticks. NULL: not measured. */
    void (*times)(Source *source, SourceTimes *out);
    /* Sets the parts of the debug picture that clients want (DEBUG_ bits, 0 none). NULL: not
     * supported. */
    void (*debug_subscribe)(Source *source, u32 mask);
    /* The newest debug picture not taken yet, one block to be freed by the caller, or NULL. */
    DebugPicture *(*debug)(Source *source);
    /* Stores a copy of the host's data with the next checkpoints. NULL: not supported. */
    void (*keep)(Source *source, const u8 *note, u32 bytes);
    /* The data stored with the checkpoint that the source continues from: borrowed, until it is
     * started; 0 bytes: none. NULL: not supported. */
    const u8 *(*kept)(Source *source, u32 *bytes);
    /* The survey of a recording; borrowed until the next call. `version` increases when it becomes
     * known and with each bookmark; 0: not known yet. NULL: not supported. */
    u32 (*survey)(Source *source, MessageSurvey *out);
    /* Stores a note in the recording, at the newest tick if its tick is 0. 0 or a negative Error,
     * with a text. NULL: not supported. */
    int (*note)(Source *source, const struct RecordingNote *note, ErrorText *error);
    /* Begins to save the world to a file (world_file.h), which is replaced as a whole, or to
     * continue from a saved one, as from EVENT_RESET_LOAD. A copy of the note is saved with it. One
     * at a time. 0, or a negative Error with a text if nothing begins: ERROR_STATE. NULL: not
     * supported. */
    int (*save)(Source *source, SaveKind kind, const char *path, const SourceNote *note,
                ErrorText *error);
    /* The note of the world that was loaded last, from its EVENT_RESET_LOAD on; borrowed until the
     * next save. */
    SourceNote (*loaded)(Source *source);
    /* True once for each that began, when it has ended. */
    bool (*saved)(Source *source, SourceSaved *out);
    /* A second source of the same recording, not started, for a user who leaves the common time: it
     * begins where this one is and runs as this one does. It borrows from this one and is destroyed
     * before it. NULL with an error. The operation NULL: not supported. */
    Source *(*again)(Source *source, ErrorText *error);
    /* Asks its thread to end; true once `destroy` need not wait for it. NULL: it never needs to. */
    bool (*quit)(Source *source);
    /* ---- of a source that follows another server; NULL: not supported ---- */
    /* The next message from there, MESSAGE_CHAT or MESSAGE_NOTICE, for all clients; false: none. */
    bool (*next_message)(Source *source, Message *out);
    /* Copies the users of the servers above, with ids as here, at most `max`; returns their
     * number. `version` increases with every change. */
    u32 (*users)(Source *source, UserInfo *out, u32 max, u32 *version);
    /* The same for their presences, by user id. */
    u32 (*presences)(Source *source, Presence *out, u32 max);
    /* Passes up chat (MESSAGE_CHAT) and presence (MESSAGE_PRESENCE) of users of this host. */
    void (*notify)(Source *source, const Message *message);
    /* The users of this host, by id; padding zero. */
    void (*notify_users)(Source *source, const UserInfo *users, u32 count);
    /* ---- of a source that is published to a broker (SourceStatus.broker.publishing); NULL: not
     * supported. `notify` then takes MESSAGE_ROSTER as well, and presences of all users ---- */
    /* The next payload of a follower (live.h), which the caller frees; NULL data: none. */
    LivePayload (*follower_payload)(Source *source);
    /* Answers a follower. */
    void (*follower_answer)(Source *source, u64 follower, const Message *message);
} SourceOps;

struct Source {
    const SourceOps *ops;
};

typedef struct SourceWorldOptions {
    u32 threads;
    u64 ticks_max;        /* from the one that it begins at; 0: no end */
    bool fast;            /* do not pace by the clock */
    u64 memory_max_bytes; /* a scene that needs more is refused; 0: no limit */
    bool paused;
    f64 speed;
    bool allow_outside;            /* the scene may name files outside its folder */
    const char *record_path;       /* NULL: none */
    u32 back_s;                    /* seconds that it can be rewound; 0: not */
    u64 back_bytes_max;            /* of memory for that */
    u32 image_s;                   /* seconds of world time between images in it; 0: 300 */
    bool record_force;             /* replace an existing file instead of numbering the name */
    u32 record_rate;               /* RecorderOptions.picture_rate */
    const char *checkpoint_folder; /* NULL: none */
    u32 checkpoint_s;              /* real seconds between checkpoints; 0: 60 */
    bool resume;                   /* continue from the checkpoint there, if there is one */
    const char
        *at;   /* where to begin in a recording, as for branch_tick (branch.h); NULL: its start, of
                * a branch its end */
    bool hash; /* print "hash TICK HEX" at the end */
    const char *probe;                      /* probes to print: see probe_print.h; NULL none */
    bool probe_csv;                         /* as a table; then nothing else is printed to stdout */
    const struct PublisherOptions *publish; /* publisher.h, borrowed for the call; NULL none */
    struct Trace *trace;                    /* trace.h, borrowed; NULL none */
    const struct MatterList *kinds; /* additional kinds of matter (world.h), borrowed; NULL none */
} SourceWorldOptions;

/* A live world on its own thread: of a scene, of a saved world (.plworld), or a branch of a
 * recording (.plrec). */
Source *source_world_create(const char *scene_path, const SourceWorldOptions *options,
                            ErrorText *error);
/* A recording, played in real time. */
Source *source_recording_create(const char *path, const SourceWorldOptions *options,
                                ErrorText *error);

#endif
