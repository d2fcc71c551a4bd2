/*
 * door.h: limits the half-open peers of a transport. A peer is half-open until the host has
 * admitted it: its address is proven, but it may stay silent. Half-open peers share the places that
 * admitted ones leave, by prefix: when no place is left, one peer of the prefix that holds most of
 * them is dropped, and a newcomer of that prefix waits. So one site that fills all places loses
 * them to others at once, and a crowd behind one address only queues (a CONNECT is repeated). Pure:
 * time is an argument.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_DOOR_H
#define PLENUM_PROTOCOL_SESSION_DOOR_H

#include "protocol/session/address.h"
#include "protocol/session/seal.h"

PL_BEGIN_C

enum {
    /* An honest client's CONNECT takes one round trip; a repeat comes after half a second. */
    HALF_OPEN_MS_MAX = 3000
};

typedef enum DoorState {
    DOOR_FREE,
    DOOR_OPENING, /* CONNECT arrived; not answered yet */
    DOOR_HALF,    /* connected, not proven */
    DOOR_PROVEN,
    DOOR_CLOSING /* being disconnected: half-open again */
} DoorState;

typedef struct DoorPeer {
    NetAddress address;
    DoorState state;
    u64 since_ms;
} DoorPeer;

typedef struct DoorLimits {
    u32 per_address; /* half-open peers of one address (net_host_prefix); 0: no limit */
    bool local;      /* also of this machine */
} DoorLimits;

enum {
    DOOR_WAIT = -1, /* no place for this newcomer at present */
    DOOR_ADMIT = -2 /* there is one */
};

/* Decides about a newcomer: DOOR_ADMIT, DOOR_WAIT, or the index of the peer that must go first.
 * peers: [count]. key: unpredictable, for counting prefixes. */
i32 door_choose(const DoorPeer *peers, u32 count, NetAddress newcomer, const DoorLimits *limits,
                const u8 key[SEAL_HASH_KEY_BYTES]);
/* True if a peer has been opening or closing for too long. (The host ends those that are half-open
 * with a reason.) */
bool door_overdue(const DoorPeer *peer, u64 now_ms);

PL_END_C

#endif
