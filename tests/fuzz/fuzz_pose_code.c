/*
 * fuzz_pose_code.c: hostile codes of poses. Byte 0 tells the size of the span and how many states
 * are known, which are made by decoding the same bytes; what decodes must survive coding and
 * decoding again.
 */
#include "protocol/codec/pose_code.h"
#include "protocol/codec/pose_tables.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

enum {
    POSES = 64,
    CAPACITY = 1 << 14
};

static PoseCodec *codec;

static void prepare(void)
{
    static MixTables tables;
    CHECK(pose_tables_load(&tables));
    codec = pose_codec_create(&tables);
    CHECK(codec != NULL);
}

static void run(const u8 *data, size_t size)
{
    if (size < 2) {
        return;
    }
    QPose states[POSE_STATES][POSES], made[POSES], again[POSES];
    u8 code[CAPACITY];
    PoseSpan span = {.count = 1 + data[0] % POSES, .rotation_bits = 9 + data[1] % 2};
    u32 known = data[1] / 2 % (POSE_STATES + 1), part = (u32)size / (known + 1);
    for (u32 s = 0; s < known; s++) {
        pose_decode(codec, &span, data + (size_t)s * part, part, states[s]);
        span.state[s] = states[s];
        span.back[s] = 1 + s * (1 + data[1] / 8);
    }
    pose_decode(codec, &span, data + (size_t)known * part, (u32)size - known * part, made);
    for (u32 i = 0; i < span.count; i++) {
        CHECK((made[i].flags & ~POSE_FLAGS_MASK) == 0);
        for (u32 axis = 0; axis < 3; axis++) {
            CHECK(abs(made[i].position[axis]) <= POSITION_CODE_MAX);
        }
    }
    u32 bytes = pose_encode(codec, &span, made, code, sizeof code);
    CHECK(bytes > 0);
    pose_decode(codec, &span, code, bytes, again);
    CHECK(memcmp(made, again, span.count * sizeof *made) == 0);
}

const FuzzTarget fuzz_target = {.prepare = prepare, .run = run, .size_max = 1 << 12};
