/*
 * fuzz_chunk.c: hostile chunk codes. Byte 0 chooses the field, byte 1 whether there is a baseline
 * (made from the next bytes by decoding them as a key), the rest is the code. What decodes must
 * survive encoding and decoding again.
 */
#include "protocol/codec/chunk.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"

#include <string.h>

static FieldDesc choose_field(u8 choice)
{
    FieldDesc field = {.channels = 1, .capacity = 100, .quantum = 1.0f / 512.0f};
    field.spacing = vec3(1.0f, 1.0f, 1.0f);
    field.kind = (u8)(1 + choice % (FIELD_KIND_COUNT - 1));
    if (field.kind == FIELD_GRID2 || field.kind == FIELD_GRID3) {
        field.dims[0] = 18;
        field.dims[1] = 11;
        field.dims[2] = 9;
        field.channels = (u8)(1 + choice / 128);
        field.capacity = 18 * 11 * (field.kind == FIELD_GRID3 ? 9 : 1);
    }
    return field;
}

static void run(const u8 *data, size_t size)
{
    u8 state[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16)));
    u8 base[CHUNK_STATE_BYTES_MAX] __attribute__((aligned(16))), again[CHUNK_STATE_BYTES_MAX];
    u8 code[CHUNK_CODE_BYTES_MAX];
    if (size < 2) {
        return;
    }
    FieldDesc field = choose_field(data[0]);
    CHECK(field_check(&field) == 0);
    u32 chunk = data[1] / 2 % chunk_count(&field);
    const u8 *baseline = NULL;
    u32 at = 2, bytes = (u32)size;
    if (data[1] & 1) {
        int used = chunk_decode(&field, chunk, data + at, bytes - at, NULL, base);
        if (used < 0) {
            return;
        }
        at += (u32)used;
        baseline = base;
    }
    int used = chunk_decode(&field, chunk, data + at, bytes - at, baseline, state);
    if (used < 0) {
        return;
    }
    CHECK(used > 0 && (u32)used <= bytes - at);
    u32 coded = chunk_encode(&field, chunk, state, baseline, code);
    CHECK(coded >= 1 && coded <= CHUNK_CODE_BYTES_MAX);
    CHECK(chunk_decode(&field, chunk, code, coded, baseline, again) == (int)coded);
    CHECK(memcmp(state, again, chunk_state_bytes(&field, chunk)) == 0);
}

const FuzzTarget fuzz_target = {.run = run, .size_max = 1 << 12};
