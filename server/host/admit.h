/*
 * admit.h: how many users one address (of IPv6, a /64) and one site (a /24 of IPv4, a /48 of IPv6)
 * may have here, and how often they may try to join. Counts and rates are kept in a table of fixed
 * size, by keyed hash, so that nobody can fill one of its sets on purpose. Addresses of this
 * machine are limited on request only: behind a proxy on this machine all users have them. Pure:
 * time is an argument.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_ADMIT_H
#define PLENUM_SERVER_HOST_ADMIT_H

#include "protocol/session/address.h"
#include "protocol/session/seal.h"
#include "server/host/authorize.h"

enum {
    ADMIT_SETS = 512,
    ADMIT_WAYS = 8,
    /* A site may try this many times as often as one address. */
    ADMIT_SITE_SHARE = 4
};

typedef struct AdmitLimits {
    u32 per_address, per_site; /* users, waiting ones included; 0: no limit */
    u32 joins_minute;          /* attempts of one address; 0: no limit */
    bool local;                /* also of this machine */
} AdmitLimits;

typedef enum AdmitVerdict {
    ADMIT_YES,
    ADMIT_ADDRESS_FULL,
    ADMIT_SITE_FULL,
    ADMIT_TOO_OFTEN
} AdmitVerdict;

typedef struct AdmitEntry {
    NetPrefix prefix;
    bool used;
    u32 users; /* an entry with users stays */
    TokenBucket joins;
    u64 seen_ms;
} AdmitEntry;

typedef struct Admit {
    AdmitLimits limits;
    u8 key[SEAL_HASH_KEY_BYTES];
    AdmitEntry entries[ADMIT_SETS][ADMIT_WAYS];
} Admit;

/* NULL: out of memory. free() it. */
Admit *admit_create(const AdmitLimits *limits);
/* Counts an attempt to join. */
AdmitVerdict admit_try(Admit *admit, NetAddress address, u64 now_ms);
/* A user of this address joined; left. Each enter has one leave. */
void admit_enter(Admit *admit, NetAddress address, u64 now_ms);
void admit_leave(Admit *admit, NetAddress address, u64 now_ms);
/* Text for a refused user. */
const char *admit_text(AdmitVerdict verdict);

#endif
