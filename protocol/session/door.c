/* door.c: limits half-open peers. */
#include "protocol/session/door.h"

#include <string.h>

enum {
    /* Prefixes are counted by hash: two that collide only share places. */
    COUNTS = 1024
};

static bool is_half_open(const DoorPeer *peer)
{
    return peer->state != DOOR_FREE && peer->state != DOOR_PROVEN;
}

static u32 count_of(NetAddress address, const u8 *key)
{
    NetPrefix site = net_site(address);
    return (u32)(seal_hash(key, &site.address, sizeof site.address) % COUNTS);
}

i32 door_choose(const DoorPeer *peers, u32 count, NetAddress newcomer, const DoorLimits *limits,
                const u8 key[SEAL_HASH_KEY_BYTES])
{
    u16 counts[COUNTS] = {0};
    u32 same = 0, used = 0;
    NetPrefix prefix = net_host_prefix(newcomer);
    for (u32 i = 0; i < count; i++) {
        used += peers[i].state != DOOR_FREE;
        if (is_half_open(&peers[i])) {
            counts[count_of(peers[i].address, key)]++;
            same += net_prefix_contains(&prefix, peers[i].address);
        }
    }
    bool limited = limits->per_address > 0 && (limits->local || !net_address_is_local(newcomer));
    if (limited && same >= limits->per_address) {
        return DOOR_WAIT;
    }
    if (used < count) {
        return DOOR_ADMIT;
    }
    u32 own = counts[count_of(newcomer, key)], most = 0;
    for (u32 i = 0; i < COUNTS; i++) {
        most = u32_max(most, counts[i]);
    }
    /* The newcomer would belong to that prefix. */
    if (most <= own + 1) {
        return DOOR_WAIT;
    }
    i32 oldest = DOOR_WAIT;
    for (u32 i = 0; i < count; i++) {
        if (is_half_open(&peers[i]) && counts[count_of(peers[i].address, key)] == most &&
            (oldest < 0 || peers[i].since_ms < peers[oldest].since_ms)) {
            oldest = (i32)i;
        }
    }
    return oldest;
}

bool door_overdue(const DoorPeer *peer, u64 now_ms)
{
    return (peer->state == DOOR_OPENING || peer->state == DOOR_CLOSING) &&
           now_ms > peer->since_ms + HALF_OPEN_MS_MAX;
}
