/* permit.c: roles and rates. */
#include "server/host/permit.h"

void token_bucket_init(TokenBucket *bucket, f64 rate_s, f64 capacity, u64 now_ms)
{
    bucket->tokens = capacity;
    bucket->rate_s = rate_s;
    bucket->capacity = capacity;
    bucket->last_ms = now_ms;
}

bool token_bucket_take(TokenBucket *bucket, f64 cost, u64 now_ms)
{
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

void permit_init(Permit *permit, Role role, u64 now_ms)
{
    permit->role = role;
    permit->malformed = 0;
    /* An honest client sends 60 input packets a second of at most 1200 bytes, acks and messages. */
    token_bucket_init(&permit->packets, 300.0, 600.0, now_ms);
    token_bucket_init(&permit->bytes, 200000.0, 400000.0, now_ms);
    /* One move a frame of a 240 Hz display. */
    token_bucket_init(&permit->moves, 240.0, 480.0, now_ms);
    token_bucket_init(&permit->actions, 30.0, 60.0, now_ms);
    token_bucket_init(&permit->spawns, 20.0, 40.0, now_ms);
    token_bucket_init(&permit->chats, 2.0, 8.0, now_ms);
}

bool role_may_input(Role role, u32 input_kind)
{
    switch (input_kind) {
    case INPUT_GRAB:
    case INPUT_MOVE:
    case INPUT_RELEASE:
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

bool role_may_control(Role role, u32 control_kind)
{
    return role >= ROLE_OPERATOR && control_kind > CONTROL_NONE &&
           control_kind < CONTROL_KIND_COUNT;
}

int permit_input(Permit *permit, const Input *input, u64 now_ms)
{
    if (!role_may_input(permit->role, input->kind)) {
        return ERROR_DENIED;
    }
    TokenBucket *bucket = &permit->actions;
    switch (input->kind) {
    case INPUT_MOVE:
        bucket = &permit->moves;
        break;
    case INPUT_SPAWN:
        bucket = &permit->spawns;
        break;
    case INPUT_RELEASE:
        return 0; /* letting go is always possible */
    case INPUT_SET:
        bucket = &permit->moves; /* a slider sends one a frame */
        break;
    default:
        break;
    }
    return token_bucket_take(bucket, 1.0, now_ms) ? 0 : ERROR_LIMIT;
}

int permit_control(Permit *permit, u32 control_kind, u64 now_ms)
{
    if (!role_may_control(permit->role, control_kind)) {
        return ERROR_DENIED;
    }
    return token_bucket_take(&permit->actions, 1.0, now_ms) ? 0 : ERROR_LIMIT;
}

int permit_chat(Permit *permit, u64 now_ms)
{
    return token_bucket_take(&permit->chats, 1.0, now_ms) ? 0 : ERROR_LIMIT;
}

bool permit_packet(Permit *permit, u32 bytes, u64 now_ms)
{
    bool packet_ok = token_bucket_take(&permit->packets, 1.0, now_ms);
    bool bytes_ok = token_bucket_take(&permit->bytes, (f64)bytes, now_ms);
    return packet_ok && bytes_ok;
}

bool permit_malformed(Permit *permit)
{
    return ++permit->malformed <= PERMIT_MALFORMED_MAX;
}
