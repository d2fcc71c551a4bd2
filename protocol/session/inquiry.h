/*
 * inquiry.h: public queries about a server's world: name, users, places, key. For lists of worlds,
 * round trips, and lobbies that check an address. One datagram each way, without a
 * tunnel; the answer is smaller than the question, and the number of answers is limited.
 *
 *   question  magic "PLNM" · kind 5 · zero 3 · nonce 8 · zeros to INQUIRY_BYTES
 *   answer    magic "PLNM" · kind 6 · flags u8 · port u16 · nonce 8 · users u16 · places u16 ·
 *             host 4 · zero 4 · key 32 · name 48 · scene 48 · version 16, little-endian
 *
 * host: the IPv4 address to join at, in network order; 0: where the answer came from. Nothing in an
 * answer is authenticated; a joining client checks the server's key. On a local network the
 * question goes to LAN_PORT of all: each server listens there (server/host/lan.h). Bytes in, bytes
 * out, time is an argument.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_INQUIRY_H
#define PLENUM_PROTOCOL_SESSION_INQUIRY_H

#include "protocol/session/handshake.h"
#include "protocol/session/probe.h"
#include "shared/base/limits.h"
#include "shared/base/version.h"

PL_BEGIN_C

enum {
    INQUIRY_BYTES = 1000, /* as a probe's, for the same reason */
    INQUIRY_ANSWER_BYTES = 32 + IDENTITY_PUBLIC_BYTES + 2 * NAME_BYTES_MAX + VERSION_BYTES_MAX,
    LAN_PORT = 7339,
    /* Answers a second of a server, to one site (address.h) and to all. */
    INQUIRY_SITE_S = 20,
    INQUIRY_ALL_S = 500,
    INQUIRY_SITES = 256,
    /* Flags. */
    WORLD_PASSWORD = 1, /* asks for a password */
    WORLD_TOKEN = 2,    /* only with a token */
    WORLD_REPLAY = 4,   /* a recording */
    WORLD_RELAY = 8,    /* follows another server */
    WORLD_FLAGS = 15
};

/* IPv6: link-local, transient (RFC 4291, 2.7). */
#define LAN_GROUP "ff12::504c:4e4d"

/* A server's description of itself. Texts end with 0 and have no control characters. */
typedef struct WorldNotice {
    u8 key[IDENTITY_PUBLIC_BYTES];
    u32 host; /* network order; 0: where it came from */
    u16 port;
    u16 users, places;
    u32 flags; /* WORLD_ */
    char name[NAME_BYTES_MAX];
    char scene[NAME_BYTES_MAX];
    char version[VERSION_BYTES_MAX];
} WorldNotice;

/* Limits answers. Sites are counted by hash: two that collide only share answers. */
typedef struct InquiryLimits {
    u8 key[SEAL_HASH_KEY_BYTES]; /* unpredictable */
    u32 site_s, all_s;           /* answers a second; bursts of twice as many */
    f32 site[INQUIRY_SITES];     /* answers left */
    u64 site_ms[INQUIRY_SITES];
    f32 all;
    u64 all_ms;
    u64 answered, refused; /* since the start */
} InquiryLimits;

/* Truncates a text and replaces control characters and invalid UTF-8 by '?'. Returns its length. */
u32 notice_text(char *out, u32 bytes, const char *text);

/* True if the datagram is a question. */
bool inquiry_is(const void *data, u32 bytes);
void inquiry_write(u64 nonce, u8 out[INQUIRY_BYTES]);
/* Writes the answer to a question (inquiry_is). */
void inquiry_answer(const WorldNotice *notice, const void *question, u8 out[INQUIRY_ANSWER_BYTES]);
/* Reads an answer; false: it is none, or malformed. */
bool inquiry_read(const void *data, u32 bytes, u64 *nonce, WorldNotice *notice);

/* Questions a second allowed: of one address prefix (site_s) and of all (all_s). key: of the
 * hash over addresses. */
void inquiry_limits_init(InquiryLimits *limits, const u8 key[SEAL_HASH_KEY_BYTES], u32 site_s,
                         u32 all_s, u64 now_ms);
/* True if a question of `host` may be answered now. */
bool inquiry_allowed(InquiryLimits *limits, NetAddress host, u64 now_ms);

PL_END_C

#endif
