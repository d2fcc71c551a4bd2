/*
 * state.c: saves records as differences from the previous record. Neighbours in an array have much
 * in common: bodies of one shape, contacts of one body, numbers that are zero.
 */
#include "server/physics/state.h"

#include "shared/base/check.h"

static const u8 zeros[STATE_RECORD_WORDS_MAX * sizeof(u32)];

static u32 word_at(const u8 *record, u32 word)
{
    u32 value;
    memcpy(&value, record + word * sizeof value, sizeof value);
    return value;
}

/* Bytes of the mask of stored words. */
static size_t mask_bytes(u32 words)
{
    return (words + 7) / 8;
}

/* Writes one record to out[]; returns its bytes. Unchanged words are overwritten by the next. */
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

/* Reads the words of a record by its mask; `whole`: enough bytes are left for all words, which
 * allows branch-free code. Returns the bytes used. */
static size_t words_unpack(const u8 *in, bool whole, u64 mask, const u8 *before, u32 words,
                           u8 *record)
{
    size_t used = 0;
    if (whole) {
        for (u32 w = 0; w < words; w++) {
            u32 differs = (u32)(mask >> w) & 1u, last = word_at(before, w);
            u32 value = last ^ ((word_at(in + used, 0) ^ last) & (0u - differs));
            memcpy(record + w * sizeof value, &value, sizeof value);
            used += differs * sizeof value;
        }
        return used;
    }
    memcpy(record, before, words * sizeof(u32));
    for (; mask != 0; mask &= mask - 1) {
        memcpy(record + (size_t)__builtin_ctzll(mask) * sizeof(u32), in + used, sizeof(u32));
        used += sizeof(u32);
    }
    return used;
}

/* Reads one record from the rest of the image; returns the bytes used, 0: invalid. */
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
    left -= used;
    if ((words < 64 && mask >> words != 0) ||
        left < (size_t)__builtin_popcountll(mask) * sizeof(u32)) {
        return 0;
    }
    bool whole = left >= words * sizeof(u32);
    return used + words_unpack(in + used, whole, mask, before, words, record);
}

void state_records(State *state, void *at, size_t count, u32 words, u32 known, const void *before)
{
    CHECK(known < words && words - known <= STATE_RECORD_WORDS_MAX);
    size_t bytes = words * sizeof(u32), skipped = known * sizeof(u32);
    if (state->mode == STATE_HASH) {
        state_bytes(state, at, count * bytes);
        return;
    }
    words -= known;
    for (size_t i = 0; i < count && !state->failed; i++) {
        u8 *record = (u8 *)at + i * bytes + skipped, packed[STATE_RECORD_BYTES_MAX];
        const u8 *last = zeros;
        if (i > 0) {
            last = record - bytes;
        } else if (before != NULL) {
            last = (const u8 *)before + skipped;
        }
        if (state->mode == STATE_LOAD) {
            size_t took = record_unpack(state->data + state->used, state->bytes - state->used, last,
                                        words, record);
            state->used += took;
            state->failed = took == 0;
        } else if (state->mode == STATE_SAVE &&
                   state->bytes - state->used >= STATE_RECORD_BYTES_MAX) {
            state->used += record_pack(record, last, words, state->data + state->used);
        } else {
            state_bytes(state, packed, record_pack(record, last, words, packed));
        }
    }
}

static void number_load(State *state, u32 *number)
{
    u64 value = 0;
    for (u32 shift = 0; shift < 35 && state->used < state->bytes; shift += 7) {
        u8 byte = state->data[state->used++];
        value |= (u64)(byte & 0x7fu) << shift;
        if (byte < 0x80) {
            state->failed = value > UINT32_MAX;
            *number = (u32)value;
            return;
        }
    }
    state->failed = true;
}

void state_number_any(State *state, u32 *number)
{
    if (state->mode == STATE_HASH) {
        state_bytes(state, number, sizeof *number);
        return;
    }
    if (state->mode == STATE_LOAD) {
        if (!state->failed) {
            number_load(state, number);
        }
        return;
    }
    u8 bytes[5];
    u32 used = 0, left = *number;
    for (; left >= 0x80; left >>= 7) {
        bytes[used++] = (u8)(left | 0x80u);
    }
    bytes[used++] = (u8)left;
    state_bytes(state, bytes, used);
}
