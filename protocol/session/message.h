/*
 * message.h: the reliable messages (channels 0 and 3) and presence, as plain C structs. FlatBuffers
 * on the wire (message.fbs); verified, then checked by range, before anyone sees them.
 * Layer: protocol/session. Implemented by message.cpp.
 */
#ifndef PLENUM_PROTOCOL_SESSION_MESSAGE_H
#define PLENUM_PROTOCOL_SESSION_MESSAGE_H

#include "protocol/field/entity.h"
#include "protocol/session/debug_picture.h"
#include "protocol/session/seal.h"
#include "shared/base/error.h"
#include "shared/base/version.h"

PL_BEGIN_C

enum {
    PROTOCOL_MAJOR = 4, /* 4: points predicted by all they are near to, in one fit */
    PROTOCOL_MINOR = 0,
    TOKEN_BYTES_MAX = 1024
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
    REFUSE_COUNT
} RefuseReason;
const char *refuse_reason_text(u32 reason);
const char *role_name(Role role);

typedef enum ControlKind {
    CONTROL_NONE = 0,
    CONTROL_PAUSE = 1,
    CONTROL_RESUME = 2,
    CONTROL_STEP = 3,  /* value: ticks, 1.. */
    CONTROL_SPEED = 4, /* value: world seconds a real second, 0.01..16 */
    CONTROL_SEEK = 5,  /* value: world time s (recordings) */
    CONTROL_RESET = 6, /* rebuild from the scene */
    CONTROL_KIND_COUNT
} ControlKind;

/* What a panel row needs: parameters and probes. Values are in the SCALARS fields. */
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
    MESSAGE_HELLO,    /* client: in clear, the first message */
    MESSAGE_WELCOME,  /* server: in clear; everything after it is sealed */
    MESSAGE_REFUSE,   /* server: then it disconnects */
    MESSAGE_WORLD,    /* server: scene bytes, fields, entities, scalars; starts a stream epoch */
    MESSAGE_EVENTS,   /* server: events of one tick */
    MESSAGE_CONTROL,  /* client */
    MESSAGE_CHAT,     /* both */
    MESSAGE_NOTICE,   /* server: text for the user */
    MESSAGE_ROSTER,   /* server: all users */
    MESSAGE_PRESENCE, /* server, unreliable: cursors and holds of all */
    MESSAGE_STATUS,   /* server: world time control as it now is */
    MESSAGE_GOODBYE,  /* both */
    MESSAGE_DEBUG_SUBSCRIBE, /* client: what it wants MESSAGE_DEBUG to show */
    MESSAGE_DEBUG,           /* server: to those who asked, at most every DEBUG_INTERVAL_MS */
    MESSAGE_BULK, /* server: the place of a transfer (bulk.h) in the order of the channel */
    MESSAGE_KIND_COUNT
} MessageKind;

typedef struct UserInfo {
    u32 id;
    Role role;
    char name[NAME_BYTES_MAX];
    u32 color; /* 0xRRGGBB */
    u32 rtt_ms;
} UserInfo;

typedef struct Presence {
    u32 user;
    u8 cursor_visible;
    Vec3 eye, cursor;     /* m: where they look from, and the point their cursor touches */
    u32 grabbed, element; /* entity id or 0 */
    Vec3 local, target;   /* m: held point in the body's frame, and where the hand wants it */
} Presence;

typedef struct MessageHello {
    u16 major, minor;
    u8 public_key[SEAL_KEY_BYTES];
    char name[NAME_BYTES_MAX];
    u8 token[TOKEN_BYTES_MAX];
    u32 token_bytes;
    u64 resume; /* secret of a former WELCOME to take the same user id again, 0 none */
    char version[VERSION_BYTES_MAX]; /* of the program, for people; empty before 0.2 */
} MessageHello;

typedef struct MessageWelcome {
    u16 major, minor;
    u8 public_key[SEAL_KEY_BYTES];
    u32 user;
    Role role;
    u32 tick_rate, snapshot_rate;
    u64 resume;
} MessageWelcome;

typedef struct MessageWorld {
    u8 epoch; /* 1..15, in the flags of state packets: older packets are not of this stream */
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

struct Event;

typedef struct MessageEvents {
    u64 tick;
    const struct Event *events; /* see frame.h */
    u32 count;
} MessageEvents;

typedef struct MessageStatus {
    u8 paused, replay, slowed, seekable;
    f32 speed;
    u64 first_tick, last_tick; /* of a recording; 0, 0 live */
    f32 tick_ms;               /* cost of a tick, moving average */
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
        } notice;
        struct {
            const UserInfo *users;
            u32 count;
        } roster;
        struct {
            const Presence *presences;
            u32 count;
            u32 serial;   /* counts up: one that a later one overtook is old */
            u32 from, to; /* users with ids in [from, to] that are not listed have no hand */
        } presence;
        MessageStatus status;
        struct {
            u32 reason;
        } goodbye;
        struct {
            u32 mask;
        } debug_subscribe;
        DebugPicture debug;
        struct {
            u32 transfer;
            u32 first; /* transfers before it are void */
        } bulk;
    };
} Message;

/* Encodes into memory owned by the returned pointer (free with message_free); NULL: no memory or a
 * message that breaks the limits. */
u8 *message_encode(const Message *message, u32 *bytes);
/* Verifies and checks hostile bytes. On success arrays in *message point into *storage, which the
 * caller frees with message_free (NULL when the kind has no arrays). */
int message_decode(const u8 *data, u32 bytes, Message *message, u8 **storage, ErrorText *error);
void message_free(u8 *memory);
const char *message_kind_name(MessageKind kind);

PL_END_C

#endif
