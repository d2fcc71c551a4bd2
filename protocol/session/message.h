/*
 * message.h: the reliable messages (channels 0 and 3) and presence, as plain C structs. FlatBuffers
 * on the wire (message.fbs), verified and range-checked when decoded.
 * Layer: protocol/session. Implemented by message.cpp and message_names.c.
 */
#ifndef PLENUM_PROTOCOL_SESSION_MESSAGE_H
#define PLENUM_PROTOCOL_SESSION_MESSAGE_H

#include "protocol/field/entity.h"
#include "protocol/session/debug_picture.h"
#include "protocol/session/handshake.h"
#include "shared/base/error.h"
#include "shared/base/version.h"

PL_BEGIN_C

#define MESSAGE_PROOF_PURPOSE "Plenum client"

enum {
    PROTOCOL_MAJOR = 6, /* 6: the code of points */
    PROTOCOL_MINOR = 0,
    TOKEN_BYTES_MAX = 1024,
    PASSWORD_BYTES_MAX = 128
};

typedef enum Role {
    ROLE_VIEWER = 0,
    ROLE_PARTICIPANT = 1,
    ROLE_OPERATOR = 2,
    ROLE_ADMIN = 3,
    ROLE_COUNT
} Role;

typedef enum RefuseReason {
    REFUSE_NONE = 0,
    REFUSE_VERSION = 1,
    REFUSE_FULL = 2,
    REFUSE_TOKEN = 3,
    REFUSE_PROTOCOL = 4,
    REFUSE_FLOOD = 5,
    REFUSE_KICKED = 6,
    REFUSE_SHUTDOWN = 7,
    REFUSE_TIMEOUT = 8,
    REFUSE_LEFT = 9,
    REFUSE_BANNED = 10,
    REFUSE_PASSWORD = 11,
    REFUSE_IDENTITY = 12, /* client: the server is not the one that was expected */
    REFUSE_COUNT
} RefuseReason;
const char *refuse_reason_text(u32 reason);
const char *role_name(Role role);

typedef enum ControlKind {
    CONTROL_NONE = 0,
    CONTROL_PAUSE = 1,
    CONTROL_RESUME = 2,
    CONTROL_STEP = 3,  /* value: ticks, 1..; recordings: or negative */
    CONTROL_SPEED = 4, /* value: world seconds per real second, 0.01..16; recordings: ±0.05..16 */
    CONTROL_SEEK = 5,  /* value: world time s (recordings) */
    CONTROL_RESET = 6, /* rebuild from the scene */
    CONTROL_LOOP_FIRST = 7, /* value: world time s at which a loop begins (recordings) */
    CONTROL_LOOP_LAST = 8,  /* and at which it ends; not after its begin: no loop */
    CONTROL_BACK = 9,       /* value: world time s by which a live world is rewound */
    CONTROL_UNDO = 10,      /* undo the user's last spawn, removal or parameter change */
    CONTROL_LEAVE = 11,     /* leave the common time of a recording; where OWN_TIME_OFFERED */
    CONTROL_RETURN = 12,    /* return to it */
    CONTROL_KIND_COUNT
} ControlKind;

/* Whether a user may leave the common time of a recording. */
typedef enum OwnTime {
    OWN_TIME_NONE = 0,    /* no: all watch together */
    OWN_TIME_OFFERED = 1, /* yes; the user is in the common time */
    OWN_TIME_AWAY = 2,    /* he does */
    OWN_TIME_COUNT
} OwnTime;

/* The recorded ticks that the ticks of a recording's stream show: from `stream_tick` on the
 * recorded ticks `tick`, `tick` + direction, ... Ticks of a stream ascend, whichever way the
 * recording is played. */
typedef struct PlaySegment {
    u64 stream_tick, tick;
    i32 direction; /* 1 or −1; 0: they are the same (a live world) */
    u32 reserved;
} PlaySegment;

/* Description of a parameter or probe for panels. Values are in the SCALARS fields. */
typedef struct ScalarInfo {
    char name[NAME_BYTES_MAX];
    char unit[UNIT_BYTES_MAX];
    f32 min, max;
    f32 initial[4];
    u8 components; /* 1..4 */
    u8 field;      /* FieldDesc.id */
    u16 reserved;
    u32 first; /* first scalar in the field */
} ScalarInfo;

typedef enum MessageKind {
    MESSAGE_NONE = 0,
    MESSAGE_HELLO,    /* client: first message */
    MESSAGE_WELCOME,  /* server: the answer */
    MESSAGE_REFUSE,   /* server: then it disconnects */
    MESSAGE_WORLD,    /* server: scene bytes, fields, entities, scalars; starts a stream epoch */
    MESSAGE_EVENTS,   /* server: events of one tick */
    MESSAGE_CONTROL,  /* client */
    MESSAGE_CHAT,     /* both */
    MESSAGE_NOTICE,   /* server: text for the user */
    MESSAGE_ROSTER,   /* server: all users */
    MESSAGE_PRESENCE, /* server, unreliable: cursors and grabs of all */
    MESSAGE_STATUS,   /* server: current state of world time */
    MESSAGE_GOODBYE,  /* both */
    MESSAGE_DEBUG_SUBSCRIBE, /* client: the parts of MESSAGE_DEBUG to send */
    MESSAGE_DEBUG,           /* server: to subscribers, at most every DEBUG_INTERVAL_MS */
    MESSAGE_BULK,        /* server: the position of a transfer (bulk.h) in the channel's order */
    MESSAGE_QUEUE,       /* server: position in the queue for a place, until the world arrives */
    MESSAGE_SURVEY,      /* server: what a recording contains, for a timeline */
    MESSAGE_BOOKMARK,    /* client: names a moment, kept in the recording */
    MESSAGE_PASSWORD,    /* server, with an empty text: requests it; client: the password */
    MESSAGE_GUESTS,      /* relay: its users; server: the ids assigned to them */
    MESSAGE_GUEST_INPUT, /* relay: an input of one of them */
    MESSAGE_SAVES,       /* server, to operators: the worlds that can be loaded by name */
    MESSAGE_KIND_COUNT
} MessageKind;

typedef enum NoticeKind {
    NOTICE_PLAIN,
    NOTICE_ANSWER, /* a line of the answer to the receiver's last command */
    NOTICE_END,    /* of that answer: carries its result; not for users */
    NOTICE_KIND_COUNT
} NoticeKind;

typedef struct UserInfo {
    u32 id;
    Role role;
    char name[NAME_BYTES_MAX];
    u32 color; /* 0xRRGGBB */
    u32 rtt_ms;
    u8 own_time; /* away from the common time of a recording */
} UserInfo;

typedef struct Presence {
    u32 user;
    u8 cursor_visible;
    Vec3 eye, cursor;     /* m: position of the eye, and the point under the cursor */
    u32 grabbed, element; /* entity id or 0 */
    Vec3 local, target;   /* m: grabbed point in the body's frame, and its drag target */
} Presence;

typedef struct MessageHello {
    u16 major, minor;
    char name[NAME_BYTES_MAX];
    u8 token[TOKEN_BYTES_MAX];
    u32 token_bytes;
    u64 resume; /* secret of an earlier WELCOME to resume as the same user, 0 none */
    char version[VERSION_BYTES_MAX]; /* program version as text, for display; empty before 0.2 */
    /* The client's long-term key, and its signature over the binding of the tunnel (handshake.h)
     * for MESSAGE_PROOF_PURPOSE. */
    bool proves;
    u8 client[IDENTITY_PUBLIC_BYTES];
    u8 proof[IDENTITY_SIGNATURE_BYTES];
    bool relay; /* it assembles whole frames and serves them to others */
} MessageHello;

typedef struct MessageWelcome {
    u16 major, minor;
    u32 user;
    Role role;
    u32 tick_rate, snapshot_rate;
    u64 resume;
} MessageWelcome;

typedef struct MessageWorld {
    u8 epoch; /* 1..15, in the flags of state packets: packets of other epochs are ignored */
    u64 tick;
    const u8 *scene; /* FlatBuffers bytes of scene.fbs, borrowed */
    u32 scene_bytes;
    const FieldDesc *fields;
    u32 field_count;
    const Entity *entities;
    u32 entity_count;
    const ScalarInfo *parameters;
    u32 parameter_count;
    const ScalarInfo *probes;
    u32 probe_count;
} MessageWorld;

enum {
    SURVEY_SAMPLES_MAX = 512,
    SURVEY_MARKS_MAX = 1024,
    SURVEY_TEXT_BYTES_MAX = 96
};

typedef enum MarkKind {
    MARK_BOOKMARK = 1,
    MARK_CHAT = 2,
    MARK_JOIN = 3,
    MARK_LEAVE = 4,
    MARK_IMPACT = 5, /* the strongest of some time */
    MARK_BREAK = 6,
    MARK_RESET = 7,
    MARK_KIND_COUNT
} MarkKind;

typedef struct SurveyMark {
    u64 tick;
    u32 kind; /* MarkKind */
    char text[SURVEY_TEXT_BYTES_MAX];
} SurveyMark;

/* Contents of a recording, for its timeline. */
typedef struct MessageSurvey {
    u64 first_tick, last_tick;
    u32 samples;             /* of each probe, evenly spaced from the first tick to the last */
    u32 probes;              /* in the order of MessageWorld.probes; 0: not known yet */
    const f32 *values;       /* [probes][samples] */
    const SurveyMark *marks; /* [mark_count], by tick */
    u32 mark_count;
} MessageSurvey;

enum {
    SAVES_MAX = 64 /* worlds that a server keeps by name */
};

/* A world that was saved by name. */
typedef struct SaveInfo {
    char name[NAME_BYTES_MAX];
    u64 unix_s;                 /* when it was saved */
    u64 bytes;                  /* of its file */
    char scene[NAME_BYTES_MAX]; /* its name; "": unknown, such as of another version */
} SaveInfo;

enum {
    GUESTS_MAX = 256,           /* of one relay */
    GUEST_INPUT_BYTES_MAX = 256 /* of one encoded input */
};

struct Event;

typedef struct MessageEvents {
    u64 tick;
    const struct Event *events; /* see frame.h */
    u32 count;
} MessageEvents;

typedef struct MessageStatus {
    u8 paused, replay, slowed, seekable;
    f32 speed;                 /* negative: a recording runs backwards */
    u64 first_tick, last_tick; /* of a recording; 0, 0 live */
    f32 tick_ms;               /* cost of a tick in ms, moving average */
    PlaySegment play;          /* of a recording */
    u64 loop_first, loop_last; /* ticks of a recording that are repeated; 0, 0: none */
    f32 back_s;                /* world time by which a live world can be rewound; 0: not at all */
    OwnTime own_time;
    u64 common_tick;  /* while away: the recorded tick of the common time now, */
    f32 common_speed; /* and its speed; 0: paused */
} MessageStatus;

typedef struct Message {
    MessageKind kind;
    union {
        MessageHello hello;
        MessageWelcome welcome;
        struct {
            u32 reason;
            char text[TEXT_BYTES_MAX];
        } refuse;
        MessageWorld world;
        MessageEvents events;
        struct {
            u32 kind;
            f64 value;
        } control;
        struct {
            u32 user;
            char text[TEXT_BYTES_MAX];
        } chat;
        struct {
            char text[TEXT_BYTES_MAX];
            NoticeKind kind;
            i32 code; /* of NOTICE_END: ERROR_OK or a negative Error */
        } notice;
        struct {
            const UserInfo *users;
            u32 count;
        } roster;
        struct {
            const Presence *presences;
            u32 count;
            u32 serial;   /* increasing: a message with a lower serial than the last is dropped */
            u32 from, to; /* users with ids in [from, to] that are not listed have no presence */
        } presence;
        MessageStatus status;
        struct {
            u32 reason;
        } goodbye;
        struct {
            u32 mask;
        } debug_subscribe;
        DebugPicture debug;
        MessageSurvey survey;
        struct {
            u64 tick; /* recorded tick; 0: now */
            char text[SURVEY_TEXT_BYTES_MAX];
        } bookmark;
        struct {
            u32 transfer;
            u32 first; /* transfers before it are void */
        } bulk;
        struct {
            u32 position, waiting; /* 1 <= position <= waiting */
        } queue;
        struct {
            char text[PASSWORD_BYTES_MAX];
        } password;
        struct {
            const UserInfo *users; /* [count], ids ascending; NULL: a server's */
            const u32 *given;      /* [given_count], a server's, in the order of users */
            u32 count, given_count;
        } guests;
        struct {
            const SaveInfo *items; /* [count], by name */
            u32 count;
        } saves;
        struct {
            u32 user;
            u32 bytes;
            u8 input[GUEST_INPUT_BYTES_MAX]; /* of input_encode */
        } guest_input;
    };
} Message;

/* Encodes into allocated memory (free with message_free); NULL: out of memory or a message that
 * exceeds the limits. */
u8 *message_encode(const Message *message, u32 *bytes);
/* Verifies and checks untrusted bytes. On success arrays in *message point into *storage, which
 * the caller frees with message_free (NULL if the kind has no arrays). */
int message_decode(const u8 *data, u32 bytes, Message *message, u8 **storage, ErrorText *error);
void message_free(u8 *memory);
const char *message_kind_name(MessageKind kind);

PL_END_C

#endif
