/*
 * spawns.h: which user spawned which objects, so that they are removed with the user, and the
 * limits of users who left and may resume. Private to the host: session.h includes it.
 * Layer: server/host, private.
 */
#ifndef PLENUM_SERVER_HOST_SPAWNS_H
#define PLENUM_SERVER_HOST_SPAWNS_H

#include "server/host/authorize.h"
#include "server/host/undo.h"

typedef struct Spawn {
    u32 entity, user;
    u32 prefab;    /* PREFAB_NONE: not known */
    u64 account;   /* of the user */
    u64 remove_ms; /* when it is to be removed; 0: it stays */
} Spawn;

typedef struct Spawns {
    Spawn *items; /* [count], in order of appearance */
    u32 count, capacity;
    u64 due_ms;   /* time of the next removal; 0: none is due */
    bool stale;   /* something was removed since the list was last cleaned up */
    u32 sequence; /* of the host's own inputs */
} Spawns;

enum {
    ACCOUNTS = 1024
};

/* A user's remaining rate tokens when it left. */
typedef struct Account {
    u64 id; /* 0: free */
    TokenBucket actions, spawns, chats;
} Account;

/* Keeps rate tokens beyond the session, so that a new one does not begin with full buckets. */
void account_keep(Account *accounts, u64 id, const Permissions *permissions);
void account_restore(const Account *accounts, u64 id, Permissions *permissions, u64 now_ms);

#endif
