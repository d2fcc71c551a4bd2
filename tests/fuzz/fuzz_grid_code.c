/*
 * fuzz_grid_code.c: hostile codes of grids and scalars. The first bytes tell the field, the chunks
 * and how many states are known, which are made by decoding the same bytes; what decodes must
 * survive coding and decoding again.
 */
#include "protocol/codec/chunk.h"
#include "protocol/codec/grid_code.h"
#include "protocol/codec/grid_tables.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

enum {
    STATE_BYTES = 1 << 14,
    CAPACITY = 1 << 17,
    HEAD = 6
};

static GridCodec *codec;

static FieldDesc make_field(const u8 head[HEAD])
{
    static const u8 kinds[3] = {FIELD_GRID2, FIELD_GRID3, FIELD_SCALARS};
    FieldDesc field = {.kind = kinds[head[0] % 3],
                       .channels = (u8)(head[0] % 3 == 2 ? 1 : 1 + head[0] / 3 % 2),
                       .dims = {(u16)(1 + head[1] % 40), (u16)(1 + head[2] % 40), 1}};
    if (field.kind == FIELD_GRID3) {
        field.dims[0] = (u16)(1 + head[1] % 18);
        field.dims[1] = (u16)(1 + head[2] % 18);
        field.dims[2] = (u16)(1 + head[3] % 18);
    }
    field.capacity = (u32)field.dims[0] * field.dims[1] * field.dims[2];
    return field;
}

/* The largest field of each kind with two channels, so that no input makes the codec grow. */
static void prepare(void)
{
    static MixTables tables;
    CHECK(grid_tables_load(&tables));
    codec = grid_codec_create(&tables);
    CHECK(codec != NULL);
    static const u8 largest[3][HEAD] = {{3, 39, 39}, {4, 17, 17, 17}, {2, 39, 39}};
    for (u32 i = 0; i < PL_COUNT(largest); i++) {
        FieldDesc field = make_field(largest[i]);
        CHECK(grid_codec_reserve(codec, &field));
    }
}

static void run(const u8 *data, size_t size)
{
    if (size <= HEAD) {
        return;
    }
    FieldDesc field = make_field(data);
    u16 chunks[64];
    GridSpan span = {.field = &field, .chunks = chunks};
    for (u32 i = 0; i < chunk_count(&field); i++) {
        if (data[4] == 0 || (data[4] >> i % 8 & 1) != 0) {
            chunks[span.count++] = (u16)i;
        }
    }
    static u32 states[GRID_STATES][STATE_BYTES / 4], made[STATE_BYTES / 4], again[STATE_BYTES / 4];
    static u8 code[CAPACITY];
    size_t bytes = grid_span_bytes(&span);
    CHECK(bytes <= STATE_BYTES);
    u32 known = data[5] % (GRID_STATES + 1), part = (u32)(size - HEAD) / (known + 1);
    for (u32 s = 0; s < known; s++) {
        CHECK(grid_decode(codec, &span, data + HEAD + (size_t)s * part, part, states[s]));
        span.state[s] = states[s];
        span.back[s] = 1 + s;
    }
    CHECK(grid_decode(codec, &span, data + HEAD + (size_t)known * part, part, made));
    u32 length = grid_encode(codec, &span, made, code, sizeof code);
    CHECK(length > 0);
    CHECK(grid_decode(codec, &span, code, length, again));
    CHECK(memcmp(made, again, bytes) == 0);
}

const FuzzTarget fuzz_target = {.prepare = prepare, .run = run, .size_max = 1 << 12};
