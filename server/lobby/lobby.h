/*
 * lobby.h: the list of worlds that a lobby keeps: servers announce themselves, clients read it.
 * A world is listed once the address that it announces has answered a question (inquiry.h) with the
 * key that signed the announcement, and as long as announcements and answers come. In memory only:
 * after a restart all are back with their next announcement.
 * Pure: datagrams and time are arguments.
 * Layer: server/lobby.
 */
#ifndef PLENUM_SERVER_LOBBY_LOBBY_H
#define PLENUM_SERVER_LOBBY_LOBBY_H

#include "protocol/session/announcement.h"
#include "protocol/session/world_list.h"

enum {
    LOBBY_SILENCE_MS = 35000, /* three announcements missed */
    LOBBY_ASK_MS = 1000,      /* between questions without an answer */
    LOBBY_ASKS_MAX = 3,
    LOBBY_CHECK_MS = 60000, /* between questions of a world that answers */
    /* Requests a second of one site (address.h) and of all; this machine's are not limited. */
    LOBBY_SITE_S = 100,
    LOBBY_ALL_S = 5000,
    LOBBY_PAGE = 100 /* worlds a page, if nothing else is asked for */
};

/* Of IPv4. */
typedef struct LobbyAddress {
    u32 host; /* network order */
    u16 port;
} LobbyAddress;

typedef void LobbySend(void *context, LobbyAddress to, const void *data, u32 bytes);

typedef struct LobbyOptions {
    u8 key[TOKEN_PUBLIC_BYTES]; /* that signs tokens */
    const char *revoked;        /* file of ids of tokens (token_ledger.h), or NULL */
    u32 worlds_max;             /* in all */
    u32 per_address;            /* worlds announced from one address */
    LobbySend *send;            /* sends a datagram; may lose it */
    void *context;
} LobbyOptions;

/* Current time by both clocks. */
typedef struct LobbyTime {
    u64 now_ms; /* monotonic */
    u64 unix_s;
} LobbyTime;

typedef enum LobbyRefusal {
    LOBBY_TAKEN,     /* none: HTTP status 200 */
    LOBBY_MALFORMED, /* 400 */
    LOBBY_UNSIGNED,  /* 401 */
    LOBBY_DENIED,    /* 403 */
    LOBBY_OLD,       /* 409: a repeat, or overtaken */
    LOBBY_OFTEN,     /* 429 */
    LOBBY_FULL,      /* 503 */
    LOBBY_REFUSALS
} LobbyRefusal;

typedef struct LobbyStats {
    u32 worlds, listed;
    u64 requests[LOBBY_REFUSALS]; /* announcements, by result */
    u64 pages, asked, answers, expired;
} LobbyStats;

/* An announcement as received. */
typedef struct LobbyRequest {
    const char *method; /* "POST" or "DELETE" */
    const char *header; /* Authorization, or NULL */
    const char *body;
    u32 bytes;
    u32 from; /* IPv4 address of the sender, network order */
} LobbyRequest;

/* What a client asks for. */
typedef struct LobbyQuery {
    const char *part; /* of name or scene; NULL: any */
    bool free;        /* has a place */
    bool open;        /* requires neither password nor token */
    bool after;       /* only those behind this key: */
    u8 after_key[IDENTITY_PUBLIC_BYTES];
    u32 limit; /* worlds; 0: LOBBY_PAGE */
} LobbyQuery;

typedef struct Lobby Lobby;

/* NULL with a text: out of memory, or the list of revoked tokens cannot be read. */
Lobby *lobby_create(const LobbyOptions *options, LobbyTime time, ErrorText *error);
void lobby_destroy(Lobby *lobby); /* NULL is fine */
/* False: too many requests from this address. Call for every request, before handling it. */
bool lobby_allowed(Lobby *lobby, u32 from, u64 now_ms);
/* Accepts an announcement, or returns the reason against it. */
LobbyRefusal lobby_announce(Lobby *lobby, const LobbyRequest *request, LobbyTime time,
                            ErrorText *error);
/* Sends due queries and removes silent worlds. Call about ten times a second. */
void lobby_run(Lobby *lobby, LobbyTime time);
/* A datagram came. */
void lobby_receive(Lobby *lobby, LobbyAddress from, const void *data, u32 bytes, u64 now_ms);
/* The page that a client asks for, as JSON, to be freed; NULL: out of memory. */
char *lobby_page(Lobby *lobby, const LobbyQuery *query);
void lobby_stats(const Lobby *lobby, LobbyStats *out);

#endif
