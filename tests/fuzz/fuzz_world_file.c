/*
 * fuzz_world_file.c: saved worlds of strangers, as they come, and with checksums made right, so
 * that what lies behind them is reached too.
 */
#include "protocol/record/world_file.h"
#include "shared/base/check.h"
#include "shared/base/hash.h"
#include "tests/fuzz/target.h"

#include <string.h>

enum {
    BYTES_MAX = 4096,
    UNPACKED_MAX = 1 << 20,
    PACKED_BYTES_AT = 56,
    PACKED_HASH_AT = 64,
    HEAD_HASH_AT = 184,
    HEAD_BYTES = 192
};

static void try_one(const u8 *data, size_t bytes)
{
    WorldFile file;
    ErrorText error = {0};
    int result = world_file_decode(data, bytes, UNPACKED_MAX, &file, &error);
    CHECK(result == 0 || (result < 0 && error.text[0] != 0 && file.owned == NULL));
    if (result == 0) {
        CHECK(memchr(file.build, 0, sizeof file.build) != NULL);
        CHECK(memchr(file.scene_name, 0, sizeof file.scene_name) != NULL);
        CHECK(file.scene_bytes + file.image_bytes + file.note_bytes <= UNPACKED_MAX);
        world_file_release(&file);
    }
}

static void run(const u8 *data, size_t bytes)
{
    try_one(data, bytes);
    if (bytes < HEAD_BYTES) {
        return;
    }
    u8 own[BYTES_MAX];
    u64 packed = bytes - HEAD_BYTES;
    memcpy(own, data, bytes);
    u64 hash = hash_bytes(own + HEAD_BYTES, packed, 0);
    memcpy(own + PACKED_BYTES_AT, &packed, sizeof packed);
    memcpy(own + PACKED_HASH_AT, &hash, sizeof hash);
    hash = hash_bytes(own, HEAD_HASH_AT, 0);
    memcpy(own + HEAD_HASH_AT, &hash, sizeof hash);
    try_one(own, bytes);
}

/* The unpacked parts, and what zstd needs for itself. */
const FuzzTarget fuzz_target = {
    .run = run, .size_max = BYTES_MAX, .memory_fixed = UNPACKED_MAX + (256 << 10)};
