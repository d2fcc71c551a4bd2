/*
 * state.h: one serialize function per solver counts, hashes, saves and loads its dynamic state, so
 * that none of these can miss an array. Serialized data has no padding. Loading checks counts
 * before it uses them and sets `failed`.
 * Layer: server/physics.
 */
#ifndef PLENUM_SERVER_PHYSICS_STATE_H
#define PLENUM_SERVER_PHYSICS_STATE_H

#include "shared/base/hash.h"
#include "shared/math/vec.h"

#include <string.h>

typedef enum StateMode {
    STATE_COUNT,
    STATE_HASH,
    STATE_SAVE,
    STATE_LOAD
} StateMode;

typedef struct State {
    StateMode mode;
    bool failed;
    u8 *data; /* [bytes] STATE_SAVE writes, STATE_LOAD reads */
    size_t bytes, used;
    u64 hash;          /* STATE_HASH: of the bytes; STATE_COUNT: of their layout */
    const char *part;  /* name of the current or failed part, for errors */
    struct Jobs *jobs; /* STATE_LOAD: workers for rebuilding derived data; may be NULL */
} State;

/* Counts, hashes, saves or loads `bytes` bytes, which have no padding. */
static inline void state_bytes(State *state, void *at, size_t bytes)
{
    if (state->failed || bytes == 0) {
        return;
    }
    switch (state->mode) {
    case STATE_COUNT: /* the sequence of sizes: the layout */
        state->hash = (state->hash ^ bytes) * 0x100000001b3ull;
        break;
    case STATE_HASH:
        state->hash = hash_bytes(at, bytes, state->hash);
        break;
    case STATE_SAVE:
    case STATE_LOAD:
        if (bytes > state->bytes - state->used) {
            state->failed = true;
            return;
        }
        if (state->mode == STATE_SAVE) {
            memcpy(state->data + state->used, at, bytes);
        } else {
            memcpy(at, state->data + state->used, bytes);
        }
        break;
    }
    state->used += bytes;
}

enum {
    STATE_RECORD_WORDS_MAX = 64,
    STATE_RECORD_BYTES_MAX = 8 + (STATE_RECORD_WORDS_MAX + 1) * 4, /* packed, plus one word */
};

/* Serializes `count` records of `words` (≤ 64) 32-bit words each. An image stores the words that
 * differ from the previous record, after a bit mask; `before` precedes the first record (NULL:
 * zeros). The first `known` words of each are not stored: the loading code has set them. */
void state_records(State *state, void *at, size_t count, u32 words, u32 known, const void *before);

/* Serializes a usually small number: 7 bits per byte, low bits first. */
void state_number_any(State *state, u32 *number);
/* The same, inlined for numbers of up to two bytes. */
static inline void state_number(State *state, u32 *number)
{
    if (state->mode == STATE_LOAD && !state->failed && state->bytes - state->used >= 2) {
        const u8 *at = state->data + state->used;
        u32 more = at[0] >> 7;
        if (at[0] < 0x80 || at[1] < 0x80) {
            *number = (at[0] & 0x7fu) | (at[1] << 7 & (0u - more));
            state->used += 1 + more;
            return;
        }
    } else if (state->mode == STATE_SAVE && !state->failed && *number < 1u << 14 &&
               state->bytes - state->used >= 2) {
        u8 *at = state->data + state->used;
        u32 more = *number >= 0x80;
        at[0] = (u8)((*number & 0x7fu) | more << 7);
        at[1] = (u8)(*number >> 7);
        state->used += 1 + more;
        return;
    }
    state_number_any(state, number);
}

/* Names the next part; after a failure the name is kept. */
static inline void state_part(State *state, const char *name)
{
    if (!state->failed) {
        state->part = name;
    }
}

/* Limit for values without their own (impulses, forces): far beyond the heaviest body at the
 * highest speed, and its square is finite. */
#define STATE_VALUE_MAX 1e18f

/* False for loaded numbers with which computations could overflow. */
static inline bool state_value_is_bounded(f32 value)
{
    return value >= -STATE_VALUE_MAX && value <= STATE_VALUE_MAX; /* false for NaN */
}
static inline bool state_vector_is_bounded(Vec3 v)
{
    return state_value_is_bounded(v.x) && state_value_is_bounded(v.y) &&
           state_value_is_bounded(v.z);
}

/* Serializes a count that must not exceed `max`. */
static inline void state_count(State *state, u32 *count, u32 max)
{
    u32 value = *count;
    state_bytes(state, &value, sizeof(value));
    if (value > max) {
        state->failed = true;
    }
    if (!state->failed) {
        *count = value;
    }
}

#endif
