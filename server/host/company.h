/*
 * company.h: users of a source that follows another server, on both sides: chat from there, the
 * users there, and the users of this host, to whom the server above has assigned ids. The source
 * carries the messages; it guards a RelayCompany with its own lock.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_COMPANY_H
#define PLENUM_SERVER_HOST_COMPANY_H

#include "protocol/session/message.h"
#include "protocol/session/presence_list.h"

enum {
    /* Each server on the way adds one to the high bits of the ids of users from above. */
    RELAY_LEVEL_SHIFT = 28,
    RELAY_LEVELS_MAX = 15,
    COMPANY_MESSAGES_MAX = 64, /* texts not yet taken by the host; the oldest are dropped */
    COMPANY_USERS_MAX = 4096,
    COMPANY_OUTBOX_MAX = 1024,
    COMPANY_PRESENCES_MAX = 64, /* of a message that goes up */
};

/* A user of this host, and the id that the server above gave it; 0: none. */
typedef struct CompanyGuest {
    u32 own, given;
} CompanyGuest;

typedef struct CompanyPayload {
    u8 *data; /* of message_encode; NULL: none */
    u32 bytes;
    MessageKind kind;
} CompanyPayload;

/* Zeroed: empty. */
typedef struct RelayCompany {
    Message messages[COMPANY_MESSAGES_MAX]; /* ring: chats and notices */
    u32 message_first, message_count;
    UserInfo *users; /* [user_count] users of the servers above, with ids of this host */
    u32 user_count, users_version;
    PresenceList presences;      /* as received, with ids of the server above */
    u32 own_user;                /* the source's own id above; 0: it has none */
    UserInfo guests[GUESTS_MAX]; /* [guest_count] users of this host */
    u32 guest_count;
    bool guests_changed;            /* since they were last sent up */
    u32 notified_users[GUESTS_MAX]; /* [notified_count] as last sent up */
    u32 notified_count;
    bool awaiting;                                         /* the answer to them */
    CompanyGuest by_own[GUESTS_MAX], by_given[GUESTS_MAX]; /* [guest_ids] from the answer */
    u32 guest_ids;
    CompanyPayload outbox[COMPANY_OUTBOX_MAX]; /* ring of payloads to send up */
    u32 outbox_first, outbox_count;
} RelayCompany;

/* Frees its tables. */
void company_finish(RelayCompany *company);
/* The session above ended: there are no users, and the next one assigns new ids. */
void company_part(RelayCompany *company);
/* The next session above assigns new ids; pending messages are dropped. */
void company_forget(RelayCompany *company);

/* ---- ids ---- */

/* The id on this host of a user of the server above; 0: none, or too many levels of relays. */
u32 relay_user_here(u32 user_above);
/* The user of this host to whom the server above gave this id; 0: none. */
u32 company_own_user(const RelayCompany *company, u32 given);
/* The id on this host of a user of the server above, who may be a user of this host. 0: none. */
u32 company_user(const RelayCompany *company, u32 user_above);
/* The id that the server above gave to a user of this host; 0: none. */
u32 company_given(const RelayCompany *company, u32 own);

/* For qsort over UserInfo: by id. */
static inline int user_info_order(const void *a, const void *b)
{
    u32 x = ((const UserInfo *)a)->id, y = ((const UserInfo *)b)->id;
    return x < y ? -1 : x > y;
}

/* ---- from above ---- */

/* MESSAGE_CHAT, MESSAGE_ROSTER, MESSAGE_PRESENCE and MESSAGE_GUESTS; others are ignored. */
void company_receive(RelayCompany *company, const Message *message);
/* A notice to the users of this host. */
void company_notice(RelayCompany *company, const char *text);

/* ---- to and from the host: see SourceOps ---- */

bool company_next_message(RelayCompany *company, Message *out);
u32 company_users(const RelayCompany *company, UserInfo *out, u32 max, u32 *version);
u32 company_presences(const RelayCompany *company, Presence *out, u32 max);
void company_notify(RelayCompany *company, const Message *message);
void company_notify_users(RelayCompany *company, const UserInfo *users, u32 count);

/* ---- what goes up ---- */

/* Fills *out with a MESSAGE_GUESTS if one is due; users[GUESTS_MAX] holds its list. False: none. */
bool company_guests_due(RelayCompany *company, UserInfo *users, Message *out);
/* Queues a message. False: too many wait, or out of memory. */
bool company_outbox_push(RelayCompany *company, const Message *message);
/* The oldest, whose data the caller frees with message_free. */
CompanyPayload company_outbox_pop(RelayCompany *company);

#endif
