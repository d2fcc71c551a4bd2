/*
 * session.h: the sessions of a host and the state shared by its parts: session.c (sessions),
 * replicate.c (replication), host.c (the loop). Private to these.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_SESSION_H
#define PLENUM_SERVER_HOST_SESSION_H

#include "protocol/scene/scene.h"
#include "protocol/session/inquiry.h"
#include "protocol/stream/bulk.h"
#include "protocol/stream/entity_list.h"
#include "protocol/stream/snapshot.h"
#include "server/host/acknowledge.h"
#include "server/host/audit.h"
#include "server/host/authorize.h"
#include "server/host/budget.h"
#include "server/host/encoder.h"
#include "server/host/host.h"
#include "server/host/metrics.h"
#include "server/host/moderate.h"
#include "server/host/names.h"
#include "server/host/service.h"
#include "server/host/spawns.h"
#include "server/host/stream.h"
#include "server/host/token_ledger.h"
#include "shared/base/stats.h"

enum {
    HELLO_MS_MAX = 3000,
    SILENCE_MS_MAX = 15000,
    /* A client that lost the connection may resume as the same user within this time. */
    RESUME_MS_MAX = 60000,
    FORMERS_MAX = 256,
    USER_SLOTS = 4096,
    /* Users of the servers above that a relay shows. */
    ABOVE_USERS_MAX = 1024,
    /* Users of all relays. */
    GUESTS_ALL_MAX = 512,
    /* Transport slots beyond clients and queue: for half-open peers, and so that a full server can
     * refuse with a reason. */
    PEERS_SPARE = 64
};

enum {
    WELCOME_BYTES_MAX = 256,
};

/* A client's report of the state packets that it received. */
typedef enum SessionState {
    SESSION_FREE,
    SESSION_HELLO,   /* connected, no HELLO yet */
    SESSION_WAITING, /* welcomed, in the queue */
    SESSION_LIVE,    /* has a place */
    SESSION_CLOSING  /* being disconnected; waits for the transport */
} SessionState;

typedef struct Session {
    SessionState state;
    u32 peer, user;
    UserIdentity identity;
    u64 account;                     /* the account whose limits a new session continues: of its
                                      * token, address or, from this machine, the user */
    u64 muted_unix_s, frozen_unix_s; /* until then; 0: not. The later of the list's end and of: */
    u64 held_unix_s[BAN_KIND_COUNT]; /* this user alone, as long as it can resume */
    bool entered;                    /* counted in host->admit */
    bool privileged;             /* an operator or a returning user: may take a reserved place */
    bool waits;                  /* in the queue */
    bool asked;                  /* for the password: not in the queue yet */
    u64 ticket;                  /* of the queue: the lowest is next */
    u64 queue_ms;                /* time of the next message about its position */
    char wanted[NAME_BYTES_MAX]; /* name asked for */
    Role role;
    char name[NAME_BYTES_MAX];
    u64 skeleton; /* of its name: name_skeleton */
    u32 color;
    u64 resume;
    bool relay;   /* a relay: its snapshots carry the hash of their frame */
    bool speaks;  /* that may speak for its users, who are guests here */
    u32 guest_of; /* a guest, which has no peer: that of its relay + 1, or of its site (sites.c) */
    u32 guest_id; /* and its id there */
    bool proven;  /* it showed that it has the secret of: */
    u8 client_key[IDENTITY_PUBLIC_BYTES];
    bool has_token, token_spends; /* by joining it uses up the token */
    u64 token_id, token_expiry_unix_s;
    bool world_sent;
    bool answered;                 /* a payload arrived: it has the WELCOME */
    u8 welcome[WELCOME_BYTES_MAX]; /* as sent, to be repeated until then */
    u32 welcome_bytes, welcome_copies;
    u64 welcome_ms;     /* time of the next repeat */
    BulkSender *bulk;   /* NULL until a transfer is sent */
    u32 bulk_first;     /* transfers before it are void */
    u32 world_transfer; /* id of the world's transfer */
    bool world_here;    /* the world was received completely */
    bool joined;        /* it was here once */
    u32 early_bytes;    /* bytes of states sent before that */
    bool welcomed;
    Permissions permissions;
    TokenBucket refusals; /* limits answers to refused inputs */
    Budget budget;
    SnapshotSender *sender; /* NULL until the world was sent */
    bool encoding;          /* owned by the encoder: must not be accessed */
    Acknowledgement held;   /* the newest received meanwhile; not valid: none */
    Stream *own;            /* its own stream; NULL: it watches the common one */
    u64 here_ms;            /* when it had received the world of its stream */
    u64 opened_ms, heard_ms;
    u32 input_newest; /* sequence of the last handled input */
    u16 echo_ms;      /* the client's clock in its newest packet, and the arrival time of that */
    u64 echo_at_ms;
    f64 rtt_ms; /* 0: unknown */
    bool limited;
    u32 debug_mask;    /* subscribed DEBUG_ bits */
    u64 debug_sent_ms; /* time of the last debug picture */
    SnapshotView view;
    Ray cursor;
    bool cursor_visible;
    u32 grabbed, element; /* grabbed entity, 0 none */
    Vec3 local, target;
    UndoList undo;
    u64 impacts_ms;           /* time when impacts may be sent again */
    u64 presence_ms;          /* time when the next presence message may be sent */
    u32 presence_grabbed;     /* last sent grab of its own, */
    u32 presence_own;         /* and number of remaining repeats */
    u64 presence_hash;        /* hash of the presences sent last, */
    u32 presence_same;        /* and number of messages since they changed */
    u64 above_hash, above_ms; /* of its presence sent to the server above, and when to send it
                               * again */
    u32 presence_from;        /* user id at which the next message continues */
} Session;

/* A user who left and may resume. */
typedef struct Former {
    u64 resume; /* 0: free */
    u64 until_ms;
    u64 token_id; /* 0: it had none */
    u32 user, color;
    u64 account;
    u64 held_unix_s[BAN_KIND_COUNT];
} Former;

/* A release that the source has not taken yet. */
typedef struct PendingRelease {
    u32 user, sequence;
} PendingRelease;

enum {
    HEALTH_SAMPLES = 20
};

/* What health.c remembers. */
typedef struct Health {
    u64 check_ms, retry_ms;        /* when the next check, and the next attempt of a write, are
                                    * due */
    bool bans_failing;             /* the list of bans has changes that are not on disk */
    f64 dropped_s[HEALTH_SAMPLES]; /* world time given up since the start, at the last checks */
    u32 samples;                   /* taken so far */
    char text[128];
} Health;

/* A save or load of a world by an operator, until it has ended; kind SAVE_NONE: none. */
typedef struct Saving {
    SaveKind kind;
    char name[NAME_CLEAN_BYTES];
    char by[NAME_BYTES_MAX]; /* who, */
    Role role;
    u32 user; /* 0: the console */
} Saving;

struct Host {
    HostOptions options;
    Link *link;
    Session *sessions; /* [session_capacity]: [peer_capacity] by peer handle, then guests */
    u32 session_capacity, peer_capacity;
    UserInfo *roster; /* [roster_capacity], scratch for rosters; a relay's has those above */
    u32 roster_capacity;
    u32 next_user;
    Admit *admit;
    TokenLedger ledger;
    Identity identity; /* options.identity */
    u64 tokens_ms;     /* time of the next check of tokens */
    Names *names;
    BanList bans;
    BanTarget *allowed; /* [allowed_count], who may join; NULL: all */
    u32 allowed_count;
    Audit audit;
    Vote vote;
    Saving saving;
    Spawns spawns;
    Account *accounts;        /* [ACCOUNTS] */
    PendingRelease *releases; /* [release_count], in order */
    u32 release_count, release_capacity;
    struct Console *console;   /* NULL: none */
    struct Agones *agones;     /* NULL: not in a fleet */
    struct Announce *announce; /* NULL: no lobby */
    struct Lan *lan;           /* NULL: not for neighbours */
    WorldNotice notice;        /* port 0: none yet */
    u64 notice_ms;             /* when the next is due */
    u64 next_ticket;
    u32 by_user[USER_SLOTS]; /* session index + 1 by user id modulo */
    u64 keep_ms;             /* time of the next note for checkpoints, */
    u64 kept_hash;           /* and the hash of the last */
    Former formers[FORMERS_MAX];
    u32 former_next;
    bool roster_dirty, draining;
    bool memory_short; /* at the memory limit: sessions continue, nothing is added */
    bool descriptors_short;
    int spare_fd; /* kept for /healthz; −1: none */

    struct Sites *sites; /* NULL: nobody follows through a broker */

    struct Encoder *encoder; /* NULL: all snapshots are built here */
    Stream common;           /* watched by all who did not leave it */
    Stream *owns;            /* [options.own_times]; those without a source are free */
    u32 own_count;           /* sessions that have one */
    u32 own_next;            /* varies their epochs */
    u32 debug_mask;          /* union of all subscriptions */
    Scene *scene;            /* own copy, for the shapes of entities */
    u32 tick_rate;
    u32 survey_version;  /* sent to all clients */
    u64 above_notify_ms; /* when to compare with the list sent to the server above */
    u32 above_version;   /* of the users of the servers above, in the last roster */

    u64 now_ns, now_ms;
    u32 presence_serial; /* of the last message */
    u64 roster_ms;       /* when the next is due */
    Presence *hands;     /* [roster_capacity], scratch for collecting presences */
    u8 *scratch;         /* encoded payloads */
    u32 scratch_bytes;
    HostStats stats;
    HostMeasures measures;
    Health health;
    Service service;
    struct HostLoop *loop;
};

/* What the session watches. */
static inline Stream *stream_of(Host *host, const Session *session)
{
    return session->own != NULL ? session->own : &host->common;
}

/* ---- host.c ---- */

/* From any thread: the loop runs soon. context: the Host. */
void host_wake(void *context);

/* ---- session.c ---- */

void session_open(Host *host, u32 peer);
void session_receive(Host *host, const LinkEvent *event);
/* Applies the timeouts of all sessions. */
void sessions_check(Host *host);

/* Handles chat of a relay's user. */
void guest_chat(Host *host, Session *relay, Message *message);

/* ---- session_end.c ---- */

/* Sends the reason and disconnects; releases the user's grabs. */
void session_close(Host *host, Session *session, u32 reason, const char *text);
/* The peer is gone. */
void session_gone(Host *host, u32 peer, u32 reason);
/* Releases everything that the session owns; the caller sets its state. */
void session_end(Host *host, Session *session);
/* All guests of a relay leave. */
void guests_end(Host *host, const Session *relay);
/* The user of a relay leaves. */
void guest_end(Host *host, Session *guest);

/* ---- session_user.c ---- */

/* The live session of a user, or NULL. */
Session *session_of_user(Host *host, u32 user);
/* Writes id, role and name of its user; all other bytes are zero: lists are compared by bytes. */
void session_user_info(const Session *session, UserInfo *out);
/* 0xRRGGBB by which all know the user. */
u32 session_color(u32 user);
/* The user gets a place: from now on all users see it. */
void session_live(Host *host, Session *session);
/* Starts the session of a relay's user, without a peer. */
void session_guest_begin(Host *host, Session *guest, const Session *relay, const UserInfo *info,
                         Role role);
/* Writes a line of the audit log about a client. */
void session_audit(Host *host, const Session *session, const char *what, const char *target,
                   const char *detail, int result);

/* ---- guests.c ---- */

/* Slots for guests that a host with these options has. */
u32 guests_capacity(const HostOptions *options);
/* Handles a relay's list of users: new ones start, missing ones end. */
void guests_receive(Host *host, Session *relay, const Message *message);
/* The same without an answer: given[message->guests.count] are the ids. */
void guests_named(Host *host, Session *relay, const Message *message, u32 *given);
void guests_presence(Host *host, Session *relay, const Message *message);
/* The guest of this relay with the id that it has here, or NULL. */
Session *guest_of_user(Host *host, const Session *relay, u32 user);

/* ---- entry.c ---- */

/* Stores the address of the peer. */
void entry_open(Host *host, Session *session);
/* True if its address may join now; otherwise it is refused with a reason. */
bool entry_allowed(Host *host, Session *session);
/* True if there is a place for this role, or in the queue; otherwise it is refused. */
bool entry_place(Host *host, Session *session, u64 resume);
/* True, and the client has joined, if the password is right; otherwise it is refused. */
bool entry_password(Host *host, Session *session, const char *password);
/* After its WELCOME: asks for the password, starts the session, or puts it in the queue. */
void entry_enter(Host *host, Session *session);
/* False if the users of its account, including those who left, have spawned as much as they may. */
bool entry_spawn_allowed(Host *host, const Session *session);
/* Gives free places to waiting clients, and tells the others their positions. */
void entry_queue(Host *host);

/* ---- session_token.c ---- */

/* Checks the client's signature, if it shows a key. False: refused. */
bool session_prove(Host *host, Session *session, const MessageHello *hello);
/* Takes role and name from the token. False: refused. */
bool session_token_take(Host *host, Session *session, MessageHello *hello);
/* Notes the use of a token for one session, when there is a place. False: refused. */
bool session_token_use(Host *host, Session *session);
/* Ends sessions whose token expired or was revoked meanwhile. */
void sessions_token_check(Host *host);
/* ---- health.c ---- */

/* Checks for shortages, and retries what failed because of one. */
void health_check(Host *host);
/* Frees the reserved descriptor, for a connection to /healthz. */
void health_spare(Host *host);
/* What is wrong, or NULL; borrowed until the next call. */
const char *health_text(Host *host);

/* ---- hands.c ---- */

/* Releases the grabs of the user. */
void session_let_go(Host *host, Session *session);
/* Queues a release for the source. */
void release_later(Host *host, u32 user, u32 sequence);
void releases_run(Host *host);

/* ---- spawns.c ---- */

void spawns_event(Host *host, const Event *event);
/* After the time set by the scene all things that the user spawned are removed, unless the user
 * returns before. */
void spawns_left(Host *host, u32 user);
void spawns_returned(Host *host, u32 user);
/* Removes all that a user spawned; returns their number. */
u32 spawns_clear(Host *host, u32 user);
/* Live things that users of an account spawned, those who left included. */
u32 spawns_of_account(Host *host, u64 account);
void spawns_run(Host *host);
/* Adds a thing that a user spawned before the server ended; it is removed if the user does not
 * return. */
void spawns_restore(Host *host, u32 entity, u32 user, u64 account);

/* After spawns_event of the thing: sets its prefab. */
void spawns_made_by(Host *host, u32 entity, u32 prefab);
u32 spawns_prefab(const Host *host, u32 entity); /* or PREFAB_NONE */

/* ---- undo.c ---- */

/* After the source took an input, before its tick. */
void undo_note(Host *host, Session *session, const Input *input);
/* After spawns_event. */
void undo_event(Host *host, const Event *event);
/* Undoes the user's last action. 0; ERROR_NOT_FOUND: there is none, ERROR_UNSUPPORTED: a thing of
 * the scene cannot be made again; another negative Error. */
int undo_run(Host *host, Session *session);

/* ---- keep.c ---- */

/* Passes the host's part of a checkpoint to the source, once a second. */
void keep_run(Host *host);
/* Who spawned what, for a world that is saved by name: without secrets, since such files are passed
 * on. The caller frees it; NULL, *bytes = 0: nothing. */
u8 *keep_owners(Host *host, u32 *bytes);
/* The things in the world that was just loaded belong to their users again, if it was saved by this
 * server. */
void keep_owners_restore(Host *host);
/* Before the source starts: restores the host's part of the checkpoint that it continues from. */
void keep_restore(Host *host);

/* ---- moderate.c ---- */

/* True if its identity is not banned; otherwise it is refused. */
bool moderate_admits(Host *host, Session *session);
/* The target that bans only this client, as far as possible: its token; for clients of this machine
 * its key; otherwise its address. False: it has none of them. */
bool moderate_target_of(const Host *host, const Session *session, BanTarget *target);
/* Applies mutes and freezes of the list, beside those of the session. */
void moderate_refresh(Host *host, Session *session);
bool moderate_muted(const Session *session);
bool moderate_frozen(const Session *session);
/* True if it has nothing that could be banned without all others of this machine. */
bool moderate_is_local(const Host *host, const Session *session);
/* Mutes or freezes one session (0: forever, UINT64_MAX: ends it). */
void moderate_hold_back(Host *host, Session *session, BanKind kind, u64 seconds);
/* Adds to the list and applies it to connected users whose role is below `role`. ERROR_DENIED: it
 * would affect every user of this machine, ERROR_LIMIT, ERROR_MEMORY. */
int moderate_ban(Host *host, const Ban *ban, Role role);
bool moderate_unban(Host *host, BanKind kind, const BanTarget *target);
/* Disconnects with a REFUSE_ reason; the user does not count as a returning one. */
void moderate_kick(Host *host, Session *session, u32 reason, const char *text);
/* The same, and bans it for a while unless that would affect every user of this machine. */
void moderate_remove(Host *host, Session *session, u64 seconds, const char *by, const char *reason);
/* A vote for a user's removal; the first begins it, tells all, and the last one needed removes.
 * ERROR_DENIED: not about this user; ERROR_STATE: voted already; ERROR_LIMIT: too soon. */
int moderate_vote(Host *host, Session *voter, Session *target);
/* Writes the list of bans again after a failure. */
void moderate_save(Host *host);
/* Reads the lists and opens the audit log again; a list that cannot be read is unchanged. */
void moderate_reload(Host *host);
/* Ends votes. */
void moderate_run(Host *host);

/* ---- session_send.c ---- */

bool scratch_reserve(Host *host, u32 bytes);
/* Sends one encoded payload. */
int session_send(Host *host, Session *session, u32 channel, const void *cleartext, u32 bytes);
/* The same; also before the WELCOME. */
int session_send_any(Host *host, Session *session, u32 channel, const void *cleartext, u32 bytes);
/* Encodes and sends one small message as a payload. */
int session_send_message(Host *host, Session *session, u32 channel, const Message *message);

/* ---- session_message.c ---- */

/* On the bulk channel, messages too large for a packet are sent as transfers. */
int session_message(Host *host, Session *session, u32 channel, const Message *message);
/* False: this client does not get a message of `bytes` bytes. */
typedef bool SessionFilter(Host *host, Session *session, u32 bytes);
/* Encodes once for all clients that have the world; wants NULL: all of them get it. */
void sessions_message(Host *host, u32 channel, const Message *message, SessionFilter *wants);
/* The same for those who watch one stream. */
void stream_message(Host *host, const Stream *stream, u32 channel, const Message *message,
                    SessionFilter *wants);
/* Notifies all users who rewound the world. */
void world_taken_back(Host *host, const char *by, f64 seconds);
void session_notice(Host *host, Session *session, const char *text);
/* Sends a part of the answer to a command of this session; code is used with NOTICE_END. */
void session_answer(Host *host, Session *session, NoticeKind kind, int code, const char *text);
/* Tells one client that its input was refused. */
void session_refused(Host *host, Session *session, u32 sequence, int code);

/* ---- chronicle.c: notes of sessions in a recording, and surveys of one ---- */

/* Notes what a user did in the recording, if there is one; kind: RecordingNoteKind. */
void chronicle_note(Host *host, const Session *session, u32 kind, const char *text);
/* Adds a client's bookmark; the client is told if it cannot be stored. */
void chronicle_bookmark(Host *host, Session *session, u64 tick, const char *text);
/* Sends the survey of a recording to one client, and to all when there is a new one. */
void chronicle_send(Host *host, Session *session);
void chronicle_check(Host *host);

/* ---- saves.c: worlds that operators save and load by name ---- */

/* Begins to save the world under a name, or to load it. By whom: `saving`, with its kind and the
 * wanted name; copied. 0, or a negative Error with a text: ERROR_RANGE for a name that is none,
 * ERROR_NOT_FOUND, ERROR_LIMIT if there are SAVES_MAX, ERROR_STATE if one is under way,
 * ERROR_UNSUPPORTED if this is not a running world. */
int saves_begin(Host *host, const Saving *saving, ErrorText *error);
/* Removes a saved world. 0 or a negative Error with a text. */
int saves_remove(Host *host, const char *name, ErrorText *error);
/* The saved worlds, by name; returns their number. */
u32 saves_list(Host *host, SaveInfo out[SAVES_MAX]);
/* Sends the list of saved worlds to a client, if it is an operator's; session NULL: to all
 * operators. */
void saves_send(Host *host, Session *session);
/* Tells users about finished saves and loads. */
void saves_run(Host *host);

/* ---- session_validate.c ---- */

/* Aborts (check.h) if the sessions or their totals violate these invariants. */
void sessions_validate(Host *host);
/* The same for the replicated world. */
void stream_validate(const Stream *stream);

/* ---- transfer.c ---- */

/* True if an encoded message of this size is sent to this client as a transfer. */
bool transfer_fits(const Session *session, u32 channel, u32 bytes);
/* Transfers that the client has not taken yet. */
u32 transfers_waiting(const Session *session);
/* Queues a transfer and announces its position on the bulk channel. ERROR_LIMIT: too many wait. */
int transfer_send(Host *host, Session *session, BulkContent *content);
/* Packs the world of this epoch, once for many joining clients; a large one in parts, so that those
 * who play do not wait. Call in each iteration until true: it can be sent. */
bool transfer_world_ready(Host *host, Stream *stream);
/* Sends it: stream->world_tail must follow. Voids transfers of a former epoch. */
int transfer_world(Host *host, const Stream *stream, Session *session);
/* Records changes of the entities since the world was packed. */
void transfer_world_event(Stream *stream, const Event *event);
/* Sends the blocks that are due, to all clients. */
void transfers_pump(Host *host);
/* False while blocks of the world wait to be sent: states would only arrive before it. */
bool transfer_world_out(const Session *session);
/* True once all of them were received. */
bool transfer_world_arrived(const Session *session);
/* Link rate measured by the transfers; 0: no limit was met. Also returns the round trip, 0
 * unknown, and whether the minimal one was that of a LAN (BUDGET_NEAR_US). */
f64 transfer_bytes_s(const Session *session, f64 *rtt_ms, bool *near);
void transfer_end(Session *session);

/* ---- debug_subscription.c ---- */

/* Handles a client's subscription to the debug picture. */
void debug_subscription_receive(Host *host, Session *session, u32 mask);
/* Sends the source's newest debug picture to subscribers. */
void debug_subscription_send(Host *host);
/* Forwards the union of all subscriptions to the source. */
void debug_subscription_update(Host *host);

/* ---- presence.c ---- */

/* Sends the presences of all users to the clients for which a message is due. */
void presence_send(Host *host);
/* Collects all presences by user id into host->hands; returns their number. */
u32 presence_gather(Host *host);
u64 presence_hash(const Presence *hands, u32 count);

/* ---- above.c: a relay's ---- */

/* Users and presences of the servers above, by id; all ids are greater than those of this host. */
u32 above_users(Host *host, UserInfo *out, u32 max);
u32 above_presences(Host *host, Presence *out, u32 max);
/* Passes on chat from above, detects changes of its users, and sends it the host's own. */
void above_run(Host *host);
/* Passes up what a user of this host said. */
void above_notify(Host *host, const Message *message);

/* ---- sites.c: of a world that is published to a broker ---- */

/* Exchanges chat, users and presences with its followers through the broker. */
void sites_run(Host *host);
void sites_destroy(struct Sites *sites);
/* Payloads of followers that were refused. */
u64 sites_refused(const Host *host);

/* ---- own_time.c: users who leave the common time of a recording ---- */

/* True: users may leave, as far as there is a stream for them. */
bool own_times_offered(const Host *host);
/* The recorded tick of the newest frame. */
f64 stream_recorded_tick(const Stream *stream);
/* The session gets a stream of its own, which begins where the common one is, or watches the common
 * one again. 0 or a negative Error with a text for the user: ERROR_UNSUPPORTED, ERROR_STATE,
 * ERROR_LIMIT, ERROR_MEMORY. */
int own_time_leave(Host *host, Session *session, ErrorText *error);
int own_time_return(Host *host, Session *session, ErrorText *error);
/* Releases the stream of a session that ends, if it has its own. */
void own_time_end(Host *host, Session *session);
/* Ends streams that nobody watches, and brings back those whose stream failed. */
void own_times_check(Host *host);

/* ---- snapshot_build.c ---- */

/* True if the session's snapshots are built on the encoder's thread now. */
bool snapshot_elsewhere(const Host *host, const Stream *stream, const Session *session);
/* True if the encoder cannot be given any now: they wait for the next time. */
bool snapshot_can_wait(const Host *host);
/* Builds a snapshot of the stream's cache and sends it, or passes it to the encoder. */
void snapshot_build(Host *host, Stream *stream, Session *session, const SnapshotHeader *header,
                    SnapshotLine line);
/* Hands the scheduled snapshots over to the encoder. */
void snapshots_hand_over(Host *host, const Stream *stream);
/* Waits until the encoder no longer reads the cache of the common stream, which is to change. */
void snapshots_cache_free(Host *host);
/* Sends the snapshots that the encoder has built. */
void snapshots_take(Host *host);
/* Destroys the session's sender. */
void session_sender_end(Session *session);
/* Handles an acknowledgement; the session must have a sender. */
void session_acknowledge(Host *host, Session *session, const Acknowledgement *a);

/* ---- replicate.c ---- */

/* Takes all frames from the source, sends events, sends the world to joining clients, and sends
 * snapshots that are due. */
void replicate_frames(Host *host);
/* Sends what is due by time: snapshots of a paused source, presence, status, roster. */
void replicate_clock(Host *host);

#endif
