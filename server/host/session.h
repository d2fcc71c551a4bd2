/*
 * session.h: the sessions of a host and the state that its parts share: session.c (who is here),
 * replicate.c (what they are told), host.c (the loop). Nobody else includes it.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_SESSION_H
#define PLENUM_SERVER_HOST_SESSION_H

#include "protocol/scene/scene.h"
#include "protocol/stream/bulk.h"
#include "protocol/stream/entity_list.h"
#include "protocol/stream/snapshot.h"
#include "server/host/authorize.h"
#include "server/host/budget.h"
#include "server/host/host.h"
#include "shared/base/stats.h"

enum {
    HELLO_MS_MAX = 5000,
    SILENCE_MS_MAX = 15000,
    /* Who lost the connection may come back as the same user. */
    RESUME_MS_MAX = 60000,
    FORMERS_MAX = 256,
    USER_SLOTS = 4096,
    /* Transport slots beyond clients_max, so that a full server can say so. */
    PEERS_SPARE = 16,
    SPAWNS_PER_SESSION_MAX = 500
};

enum {
    WELCOME_BYTES_MAX = 256,
};

typedef enum SessionState {
    SESSION_FREE,
    SESSION_HELLO,  /* connected, said nothing yet */
    SESSION_LIVE,   /* welcomed, sealed */
    SESSION_CLOSING /* told to go; waits for the transport */
} SessionState;

typedef struct Session {
    SessionState state;
    u32 peer, user;
    Role role;
    char name[NAME_BYTES_MAX];
    u32 color;
    u64 resume;
    bool world_sent;
    bool answered;                 /* something sealed came: it has the WELCOME */
    u8 welcome[WELCOME_BYTES_MAX]; /* as it went out, to be repeated until then */
    u32 welcome_bytes, welcome_copies;
    u64 welcome_ms;     /* when it goes next */
    BulkSender *bulk;   /* NULL until it is sent something large */
    u32 bulk_first;     /* transfers before it are void */
    u32 world_transfer; /* that brings the world */
    bool world_here;    /* all of it arrived */
    u32 early_bytes;    /* of states that went before */
    Seal seal;
    Permissions permissions;
    TokenBucket refusals; /* answers to refused inputs */
    Budget budget;
    SnapshotSender *sender; /* NULL until the world was sent */
    u64 opened_ms, heard_ms;
    u32 input_newest; /* sequence handled last */
    u32 spawned;
    u16 echo_ms; /* the client's clock in its newest packet, and when that came */
    u64 echo_at_ms;
    f64 rtt_ms; /* 0: unknown */
    bool limited;
    u32 debug_mask;    /* DEBUG_ bits it wants to see */
    u64 debug_sent_ms; /* when it last got them */
    SnapshotView view;
    Ray cursor;
    bool cursor_visible;
    u32 grabbed, element; /* entity held, 0 none */
    Vec3 local, target;
    u64 impacts_ms;       /* when it may be told of impacts again */
    u64 presence_ms;      /* when it may get the next */
    u32 presence_grabbed; /* what it was last told that it holds, */
    u32 presence_own;     /* and in so many messages more */
    u64 presence_hash;    /* of the hands that it got last, */
    u32 presence_same;    /* unchanged for so many messages */
    u32 presence_from;    /* the user from whom its next one goes on */
} Session;

/* A user who left and may come back. */
typedef struct Former {
    u64 resume; /* 0: free */
    u64 until_ms;
    u32 user, color;
} Former;

struct Host {
    HostOptions options;
    Link *link;
    Source *source;
    Session *sessions; /* [session_capacity], by peer handle */
    u32 session_capacity;
    UserInfo *roster; /* [roster_capacity], to write rosters in */
    u32 roster_capacity;
    u32 next_user;
    u32 by_user[USER_SLOTS]; /* session index + 1 by user id modulo */
    Former formers[FORMERS_MAX];
    u32 former_next;
    bool roster_dirty, draining;
    bool memory_short; /* at the limit: who is here goes on, nothing is added */
    u64 memory_ms;     /* when to look again */

    /* The world as its clients know it. */
    History history;
    ChunkCache *cache;
    u64 cache_tick;
    bool cache_begun;
    u64 decimate_version; /* of the entities whose points the cache knows */
    EntityList entities;
    u32 debug_mask; /* what clients want to see of the inside, together */
    Scene *scene;   /* own copy, for the shapes of entities */
    u8 epoch;
    BulkContent *world; /* the description of `world_epoch` with the entities of `world_version`, */
    u8 world_epoch;     /* packed for all who join; NULL: none yet */
    u64 world_version;
    u32 tick_rate;
    SourceStatus status;
    MessageStatus status_sent;

    u64 now_ns, now_ms;
    u32 presence_serial;                   /* of the last */
    u64 snapshot_ns, status_ms, roster_ms; /* when the next is due */
    Presence *hands;                       /* [session_capacity], to gather them in */
    u8 *scratch;                           /* sealed or opened payloads */
    u32 scratch_bytes;
    HostStats stats;
    Histogram tick_us; /* cost of ticks as the source tells it */
    struct HostLoop *loop;
};

/* ---- session.c ---- */

bool scratch_reserve(Host *host, u32 bytes);
void session_open(Host *host, u32 peer);
void session_gone(Host *host, u32 peer, u32 reason);
void session_receive(Host *host, const LinkEvent *event);
/* Says why and disconnects; what the user held is released. */
void session_close(Host *host, Session *session, u32 reason, const char *text);
/* Time-outs of all. */
void sessions_check(Host *host);
Session *session_of_user(Host *host, u32 user);
/* Seals and sends one encoded payload. */
int session_send(Host *host, Session *session, u32 channel, const void *cleartext, u32 bytes);
/* On the bulk channel: what does not fit a packet goes as a transfer. */
int session_message(Host *host, Session *session, u32 channel, const Message *message);
/* False: this client goes without a message of so many bytes. */
typedef bool SessionFilter(Host *host, Session *session, u32 bytes);
/* One encoding for all who know the world; wants NULL: each of them gets it. */
void sessions_message(Host *host, u32 channel, const Message *message, SessionFilter *wants);
/* Tells one client that its input was refused. */
void session_notice(Host *host, Session *session, const char *text);
void session_refused(Host *host, Session *session, u32 sequence, int code);

/* ---- session_validate.c ---- */

/* Stops the program (check.h) unless each session and their sums are as above. */
void sessions_validate(Host *host);
/* The same of the world as its clients know it. */
void stream_validate(const Host *host);

/* ---- transfer.c ---- */

/* True: an encoded message of this size goes to this client as a transfer. */
bool transfer_fits(const Session *session, u32 channel, u32 bytes);
/* Transfers that the client did not take yet. */
u32 transfers_waiting(const Session *session);
/* Queues a transfer and tells its place on the bulk channel. ERROR_LIMIT: too many wait. */
int transfer_send(Host *host, Session *session, BulkContent *content);
/* The world of this epoch, packed once for all who join while its entities stay the same. What
 * was under way of a former epoch is void. */
int transfer_world(Host *host, Session *session, const Message *message);
/* Blocks that may go out now, to all. */
void transfers_pump(Host *host);
/* False while blocks of the world wait to go out: states would only come before it. */
bool transfer_world_out(const Session *session);
/* True once all of them arrived. */
bool transfer_world_arrived(const Session *session);
/* What the transfers found their path to carry; 0: no limit was met. Also the round trip, 0
 * unknown, and whether the shortest was that of a line of this house (BUDGET_NEAR_US). */
f64 transfer_bytes_s(const Session *session, f64 *rtt_ms, bool *near);
void transfer_end(Session *session);

/* ---- debug_subscription.c ---- */

/* A client says what of the simulation's debug picture it wants to see. */
void debug_subscription_receive(Host *host, Session *session, u32 mask);
/* Passes the source's newest picture to those who asked for it. */
void debug_subscription_send(Host *host);
/* Tells the source what all clients together want. */
void debug_subscription_update(Host *host);

/* ---- presence.c ---- */

/* Everybody's hands, to those for whom a message is due. */
void presence_send(Host *host);

/* ---- replicate.c ---- */

/* Takes all frames that the source has, tells events, gives the world to joiners, and sends
 * snapshots that are due. */
void replicate_frames(Host *host);
/* What goes by the clock: snapshots of a resting source, presence, status, roster. */
void replicate_clock(Host *host);

#endif
