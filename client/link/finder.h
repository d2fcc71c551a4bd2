/*
 * finder.h: finds worlds to join: queries the local network by broadcast, and by multicast of IPv6;
 * reads the list of a lobby; queries each world found and measures the round trip. Nothing blocks;
 * one owner thread.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_FINDER_H
#define PLENUM_CLIENT_LINK_FINDER_H

#include "protocol/session/world_list.h"

enum {
    FOUND_MAX = 10000,
    FOUND_TEXT_BYTES = 128,
    FINDER_LAN_MS = 2000,     /* between questions to all */
    FINDER_PING_MS = 3000,    /* between questions to one */
    FINDER_PINGS_PER_S = 100, /* to all together */
    FINDER_SILENT_MAX = 3,    /* then it does not answer */
    FINDER_LOBBY_MS = 30000   /* between readings of the whole list */
};

typedef struct FoundWorld {
    WorldNotice notice;   /* with the address to join at */
    bool lan;             /* it answered here; otherwise it is from the lobby's list */
    bool answered;        /* its address did */
    f32 ping_ms;          /* of the last answer; 0: none */
    u32 silent;           /* questions since then */
    u64 nonce;            /* of the last question */
    u64 asked_ns, ask_ns; /* time of it, and when the next is due */
    u32 round;            /* of the lobby's list, in which it was last */
} FoundWorld;

typedef struct FinderOptions {
    bool lan;          /* ask the local network */
    u16 lan_port;      /* 0: LAN_PORT */
    const char *lobby; /* URL, borrowed, or NULL */
} FinderOptions;

typedef struct WorldFinder WorldFinder;

/* NULL with a text: no socket, or out of memory. */
WorldFinder *finder_create(const FinderOptions *options, ErrorText *error);
void finder_destroy(WorldFinder *finder); /* NULL is fine */
/* Sends due queries and handles answers. now_ns is monotonic. */
void finder_poll(WorldFinder *finder, u64 now_ns);
/* Waits for an answer, `ms` milliseconds at most: late handling would measure too long a round
 * trip. */
void finder_wait(const WorldFinder *finder, u32 ms);
/* The worlds found so far, in no order; borrowed until the next call. */
const FoundWorld *finder_worlds(const WorldFinder *finder, u32 *count);
/* True once the lobby's list has been read whole, or failed, for the first time. */
bool finder_lobby_read(const WorldFinder *finder);
/* Why the lobby's list cannot be read, or NULL. */
const char *finder_lobby_error(const WorldFinder *finder);
/* "plenum://ADDR:PORT#KEY". */
const char *found_text(const FoundWorld *world, char text[FOUND_TEXT_BYTES]);
/* Order for people: those that answer by round trip, then the others; by name among equals. For
 * qsort over pointers to FoundWorld. */
int found_compare(const void *a, const void *b);

#endif
