/*
 * state.c: records that are saved as what differs from the record before. Neighbours in an array
 * have much in common: bodies of one shape, contacts of one body, numbers that are zero.
 */
#include "server/physics/state.h"

#include "shared/check.h"

/* The record before the next one, of `words` words. */
static const u8 *record_before(const u8 *at, size_t index, u32 words, const void *before)
{
    static const u8 zeros[STATE_RECORD_WORDS_MAX * sizeof(u32)];
    if (index > 0) {
        return at + (index - 1) * words * sizeof(u32);
    }
    return before != NULL ? before : zeros;
}

static u32 word_at(const u8 *record, u32 word)
{
    u32 value;
    memcpy(&value, record + word * sizeof value, sizeof value);
    return value;
}

/* Bytes of the mask that says which words follow. */
static size_t mask_bytes(u32 words)
{
    return (words + 7) / 8;
}

/* Writes one record to out[]; returns its bytes. */
static size_t record_pack(const u8 *record, const u8 *before, u32 words,
                          u8 out[STATE_RECORD_BYTES_MAX])
{
    size_t used = mask_bytes(words);
    u64 mask = 0;
    for (u32 w = 0; w < words; w++) {
        u32 value = word_at(record, w), differs = value != word_at(before, w);
        memcpy(out + used, &value, sizeof value);
        used += differs * sizeof value;
        mask |= (u64)differs << w;
    }
    for (u32 b = 0; b < mask_bytes(words); b++) {
        out[b] = (u8)(mask >> (8 * b));
    }
    return used;
}

/* Reads one record from what is left of the image; returns the bytes it took, 0: it is none. */
static size_t record_unpack(const u8 *in, size_t left, const u8 *before, u32 words, u8 *record)
{
    size_t used = mask_bytes(words);
    if (left < used) {
        return 0;
    }
    u64 mask = 0;
    for (u32 b = 0; b < used; b++) {
        mask |= (u64)in[b] << (8 * b);
    }
    if ((words < 64 && mask >> words != 0) ||
        left - used < (size_t)__builtin_popcountll(mask) * sizeof(u32)) {
        return 0;
    }
    memcpy(record, before, words * sizeof(u32));
    for (; mask != 0; mask &= mask - 1) {
        memcpy(record + (size_t)__builtin_ctzll(mask) * sizeof(u32), in + used, sizeof(u32));
        used += sizeof(u32);
    }
    return used;
}

void state_records(State *state, void *at, size_t count, u32 words, const void *before)
{
    CHECK(words > 0 && words <= STATE_RECORD_WORDS_MAX);
    size_t bytes = words * sizeof(u32);
    if (state->mode == STATE_HASH) {
        state_bytes(state, at, count * bytes);
        return;
    }
    for (size_t i = 0; i < count && !state->failed; i++) {
        u8 *record = (u8 *)at + i * bytes, packed[STATE_RECORD_BYTES_MAX];
        const u8 *last = record_before(at, i, words, before);
        if (state->mode == STATE_LOAD) {
            size_t took = record_unpack(state->data + state->used, state->bytes - state->used, last,
                                        words, record);
            state->used += took;
            state->failed = took == 0;
        } else {
            state_bytes(state, packed, record_pack(record, last, words, packed));
        }
    }
}
