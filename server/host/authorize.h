/*
 * authorize.h: permissions and rate limits of one client. The role decides which inputs and
 * controls are allowed; token buckets limit their rates, so that one user cannot overload the
 * world.
 * Pure: time is an argument.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_AUTHORIZE_H
#define PLENUM_SERVER_HOST_AUTHORIZE_H

#include "protocol/session/input.h"
#include "protocol/session/message.h"

typedef struct TokenBucket {
    f64 tokens;
    f64 rate_s; /* tokens per second */
    f64 capacity;
    u64 last_ms;
} TokenBucket;

/* Full: `capacity` tokens, refilled by rate_s a second. */
void token_bucket_init(TokenBucket *bucket, f64 rate_s, f64 capacity, u64 now_ms);
/* Takes `cost` tokens and returns true, or takes none and returns false. */
bool token_bucket_take(TokenBucket *bucket, f64 cost, u64 now_ms);

typedef struct Permissions {
    Role role;
    TokenBucket packets; /* datagrams and messages of any kind */
    TokenBucket bytes;   /* received */
    TokenBucket moves;   /* INPUT_MOVE */
    TokenBucket actions; /* grabs, pushes, removals, parameters, controls */
    TokenBucket spawns;
    TokenBucket chats;
    bool holds;    /* a grab was allowed, and its release is paid for */
    u32 malformed; /* messages and packets refused as malformed */
} Permissions;

enum {
    MALFORMED_MAX = 50
};

/* The role and its full buckets. */
void permissions_init(Permissions *permissions, Role role, u64 now_ms);
/* A relay carries the packets of many users, who have limits of their own. */
void permissions_relay(Permissions *permissions, u64 now_ms);
/* 0, ERROR_DENIED (role) or ERROR_LIMIT (rate). A grab pays for its release, too, so that a user
 * who holds something can always release it; a release without a grab costs a token like any
 * action. */
int authorize_input(Permissions *permissions, const Input *input, u64 now_ms);
/* own: the time that it controls is the user's own. */
int authorize_control(Permissions *permissions, u32 control_kind, bool own, u64 now_ms);
int authorize_chat(Permissions *permissions, u64 now_ms);
/* Counts a datagram of `bytes`; false: flood, disconnect. */
bool rate_limit_packet(Permissions *permissions, u32 bytes, u64 now_ms);
/* Counts a malformed datagram; false: too many, disconnect. */
bool rate_limit_malformed(Permissions *permissions);

#endif
