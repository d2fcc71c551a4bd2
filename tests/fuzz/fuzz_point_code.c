/*
 * fuzz_point_code.c: hostile codes of points. Byte 0 tells the size of the span, byte 1 how many
 * states are known and their ages; the states are made by decoding parts of the same bytes. What
 * decodes must survive coding and decoding again.
 */
#include "protocol/codec/point_code.h"
#include "protocol/codec/point_tables.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

enum {
    POINTS = 255,
    CAPACITY = 1 << 14
};

static PointCodec *codec;

static void prepare(void)
{
    static PointTables tables;
    CHECK(point_tables_load(&tables));
    codec = point_codec_create(&tables);
    CHECK(codec != NULL);
}

static void run(const u8 *data, size_t size)
{
    if (size < 2) {
        return;
    }
    QPoint states[POINT_STATES][POINTS], made[POINTS], again[POINTS];
    u8 code[CAPACITY];
    PointSpan span = {.count = data[0]};
    u32 known = data[1] % (POINT_STATES + 1), part = (u32)size / (known + 1);
    for (u32 s = 0; s < known; s++) { /* the oldest first; each is known when the next is decoded */
        PointSpan before = {.count = span.count};
        for (u32 k = 0; k < s; k++) {
            before.state[k] = states[known - s + k];
            before.back[k] = k + 1;
        }
        point_decode(codec, &before, data + (size_t)s * part, part, states[known - 1 - s]);
        span.state[s] = states[s];
        span.back[s] = 1 + s * (1 + data[1] / 4);
    }
    point_decode(codec, &span, data + (size_t)known * part, (u32)size - known * part, made);
    for (u32 i = 0; i < span.count; i++) {
        for (u32 axis = 0; axis < 3; axis++) {
            CHECK(abs(made[i].position[axis]) <= POSITION_CODE_MAX);
            CHECK(made[i].generation != 0 || made[i].position[axis] == 0);
        }
    }
    u32 bytes = point_encode(codec, &span, made, code, sizeof code);
    CHECK(bytes > 0);
    point_decode(codec, &span, code, bytes, again);
    CHECK(memcmp(made, again, span.count * sizeof *made) == 0);
}

const FuzzTarget fuzz_target = {.prepare = prepare, .run = run, .size_max = 1 << 12};
