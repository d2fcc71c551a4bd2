/* authorize.c: roles and rate limits. */
#include "server/host/authorize.h"
#include "shared/base/check.h"

void token_bucket_init(TokenBucket *bucket, f64 rate_s, f64 capacity, u64 now_ms)
{
    CHECK(rate_s >= 0.0 && capacity >= 0.0);
    bucket->tokens = capacity;
    bucket->rate_s = rate_s;
    bucket->capacity = capacity;
    bucket->last_ms = now_ms;
}

bool token_bucket_take(TokenBucket *bucket, f64 cost, u64 now_ms)
{
    CHECK(cost >= 0.0);
    if (now_ms > bucket->last_ms) {
        bucket->tokens += (f64)(now_ms - bucket->last_ms) / 1000.0 * bucket->rate_s;
        bucket->last_ms = now_ms;
    }
    if (bucket->tokens > bucket->capacity) {
        bucket->tokens = bucket->capacity;
    }
    if (bucket->tokens < cost) {
        return false;
    }
    bucket->tokens -= cost;
    return true;
}

void permissions_init(Permissions *permissions, Role role, u64 now_ms)
{
    permissions->role = role;
    permissions->malformed = 0;
    permissions->holds = false;
    /* An honest client sends 60 input packets a second of at most 1200 bytes, acknowledgements
     * and messages. */
    token_bucket_init(&permissions->packets, 300.0, 600.0, now_ms);
    token_bucket_init(&permissions->bytes, 200000.0, 400000.0, now_ms);
    /* One move per frame of a 240 Hz display. */
    token_bucket_init(&permissions->moves, 240.0, 480.0, now_ms);
    token_bucket_init(&permissions->actions, 30.0, 60.0, now_ms);
    token_bucket_init(&permissions->spawns, 20.0, 40.0, now_ms);
    token_bucket_init(&permissions->chats, 2.0, 8.0, now_ms);
}

void permissions_relay(Permissions *permissions, u64 now_ms)
{
    token_bucket_init(&permissions->packets, 10000.0, 20000.0, now_ms);
    token_bucket_init(&permissions->bytes, 4e6, 8e6, now_ms);
}

static bool role_may_input(Role role, u32 input_kind)
{
    switch (input_kind) {
    case INPUT_GRAB:
    case INPUT_MOVE:
    case INPUT_RELEASE:
    case INPUT_DYE:
    case INPUT_PUSH:
    case INPUT_SPAWN:
        return role >= ROLE_PARTICIPANT;
    case INPUT_REMOVE:
    case INPUT_SET:
    case INPUT_RESET:
        return role >= ROLE_OPERATOR;
    default:
        return false;
    }
}

static bool role_may_control(Role role, u32 control_kind, bool own)
{
    if (own || control_kind == CONTROL_LEAVE || control_kind == CONTROL_RETURN) {
        return role >= ROLE_PARTICIPANT;
    }
    if (control_kind == CONTROL_UNDO) {
        return role >= ROLE_PARTICIPANT; /* of what the role allowed before */
    }
    return role >= ROLE_OPERATOR && control_kind > CONTROL_NONE &&
           control_kind < CONTROL_KIND_COUNT;
}

int authorize_input(Permissions *permissions, const Input *input, u64 now_ms)
{
    if (!role_may_input(permissions->role, input->kind)) {
        return ERROR_DENIED;
    }
    TokenBucket *bucket = &permissions->actions;
    f64 cost = 1.0;
    switch (input->kind) {
    case INPUT_MOVE:
        bucket = &permissions->moves;
        break;
    case INPUT_SPAWN:
        bucket = &permissions->spawns;
        break;
    case INPUT_GRAB:
        cost = permissions->holds ? 1.0 : 2.0;
        break;
    case INPUT_RELEASE:
        cost = permissions->holds ? 0.0 : 1.0;
        break;
    case INPUT_SET:
    case INPUT_DYE:
        bucket = &permissions->moves; /* a slider sends one per frame */
        break;
    default:
        break;
    }
    if (!token_bucket_take(bucket, cost, now_ms)) {
        return ERROR_LIMIT;
    }
    if (input->kind == INPUT_GRAB || input->kind == INPUT_RELEASE) {
        permissions->holds = input->kind == INPUT_GRAB;
    }
    return 0;
}

int authorize_control(Permissions *permissions, u32 control_kind, bool own, u64 now_ms)
{
    if (!role_may_control(permissions->role, control_kind, own)) {
        return ERROR_DENIED;
    }
    /* Dragging along a timeline seeks once per frame. */
    TokenBucket *bucket =
        control_kind == CONTROL_SEEK ? &permissions->moves : &permissions->actions;
    return token_bucket_take(bucket, 1.0, now_ms) ? 0 : ERROR_LIMIT;
}

int authorize_chat(Permissions *permissions, u64 now_ms)
{
    return token_bucket_take(&permissions->chats, 1.0, now_ms) ? 0 : ERROR_LIMIT;
}

bool rate_limit_packet(Permissions *permissions, u32 bytes, u64 now_ms)
{
    bool packet_ok = token_bucket_take(&permissions->packets, 1.0, now_ms);
    bool bytes_ok = token_bucket_take(&permissions->bytes, (f64)bytes, now_ms);
    return packet_ok && bytes_ok;
}

bool rate_limit_malformed(Permissions *permissions)
{
    return ++permissions->malformed <= MALFORMED_MAX;
}
