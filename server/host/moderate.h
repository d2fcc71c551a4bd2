/*
 * moderate.h: moderation of users: kick, ban, mute, freeze, by operators or by vote.
 * Private to the host: session.h includes it.
 * Layer: server/host, private.
 */
#ifndef PLENUM_SERVER_HOST_MODERATE_H
#define PLENUM_SERVER_HOST_MODERATE_H

#include "server/host/ban.h"

enum {
    VOTERS_MAX = 256,
    VOTE_MS = 60000,
    /* Between two votes. */
    VOTE_GAP_MS = 60000,
    VOTES_MIN = 3,
    VOTE_BAN_S = 600,
    /* A kicked user may not return for this time. */
    KICK_S = 60
};

/* One vote at a time on the removal of a user. */
typedef struct Vote {
    u32 user;               /* 0: none */
    u64 end_ms, next_ms;    /* of this vote; earliest begin of the next */
    u64 voters[VOTERS_MAX]; /* accounts that agreed */
    u32 count;
} Vote;

#endif
