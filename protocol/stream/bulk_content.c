/* bulk_content.c: the body of a transfer: u64 hash of all that follows, u32 unpacked size, u8
 * packing, u8[3] zero, then the bytes uncompressed or as one zstd frame. */
#include "protocol/stream/bulk_content.h"

#include "shared/base/check.h"
#include "shared/base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
    /* Packing runs on the host's loop, so large contents are packed at a fast level. */
    LEVEL_SMALL = 3,
    LEVEL_LARGE = 1,
    LARGE_BYTES = 1 << 20,
    HASHED_FROM = 8,
};

struct BulkContent {
    u32 references;
    u32 bytes;
    u8 *body; /* [bytes] */
};

/* Returns 0 if compression does not pay. */
static u32 pack(u8 *out, const void *unpacked, u32 bytes)
{
    u32 capacity = bytes - bytes / 16;
    size_t packed = ZSTD_compress(out, capacity, unpacked, bytes,
                                  bytes >= LARGE_BYTES ? LEVEL_LARGE : LEVEL_SMALL);
    return ZSTD_isError(packed) ? 0 : (u32)packed;
}

BulkContent *bulk_content_create(const void *unpacked, u32 bytes)
{
    if (bytes == 0 || bytes > MESSAGE_BYTES_MAX) {
        return NULL;
    }
    BulkContent *content = malloc(sizeof *content);
    u8 *body = calloc(1, (size_t)BULK_BODY_HEAD_BYTES + bytes);
    if (content == NULL || body == NULL) {
        free(content);
        free(body);
        return NULL;
    }
    u32 packed = pack(body + BULK_BODY_HEAD_BYTES, unpacked, bytes);
    if (packed == 0) {
        memcpy(body + BULK_BODY_HEAD_BYTES, unpacked, bytes);
    }
    body[12] = packed > 0 ? BULK_PACKING_ZSTD : BULK_PACKING_NONE;
    memcpy(body + 8, &bytes, sizeof bytes);
    content->references = 1;
    content->bytes = BULK_BODY_HEAD_BYTES + (packed > 0 ? packed : bytes);
    u64 hash = hash_bytes(body + HASHED_FROM, content->bytes - HASHED_FROM, 0);
    memcpy(body, &hash, sizeof hash);
    content->body = body; /* the memory beyond the end was never touched */
    return content;
}

BulkContent *bulk_content_acquire(BulkContent *content)
{
    CHECK(content->references > 0);
    content->references++;
    return content;
}

void bulk_content_release(BulkContent *content)
{
    CHECK(content == NULL || content->references > 0);
    if (content != NULL && --content->references == 0) {
        free(content->body);
        free(content);
    }
}

u32 bulk_content_bytes(const BulkContent *content)
{
    return content->bytes;
}

const u8 *bulk_content_body(const BulkContent *content)
{
    return content->body;
}

static int unpack(const u8 *body, u32 bytes, u32 unpacked_bytes, BulkTaken *taken)
{
    const u8 *packed = body + BULK_BODY_HEAD_BYTES;
    u32 packed_bytes = bytes - BULK_BODY_HEAD_BYTES;
    /* Checked before allocating: a frame with a different or no content size is refused. */
    if (ZSTD_getFrameContentSize(packed, packed_bytes) != unpacked_bytes) {
        return ERROR_FORMAT;
    }
    u8 *unpacked = malloc(unpacked_bytes);
    if (unpacked == NULL) {
        return ERROR_MEMORY;
    }
    if (ZSTD_decompress(unpacked, unpacked_bytes, packed, packed_bytes) != unpacked_bytes) {
        free(unpacked);
        return ERROR_FORMAT;
    }
    taken->memory = unpacked;
    taken->data = unpacked;
    taken->bytes = unpacked_bytes;
    return 0;
}

int bulk_body_open(u8 *body, u32 bytes, BulkTaken *taken)
{
    u64 hash;
    u32 unpacked_bytes;
    memcpy(&hash, body, sizeof hash);
    memcpy(&unpacked_bytes, body + 8, sizeof unpacked_bytes);
    if (hash != hash_bytes(body + HASHED_FROM, bytes - HASHED_FROM, 0) || unpacked_bytes == 0 ||
        unpacked_bytes > MESSAGE_BYTES_MAX || (body[13] | body[14] | body[15]) != 0) {
        return ERROR_FORMAT;
    }
    if (body[12] == BULK_PACKING_ZSTD) {
        int result = unpack(body, bytes, unpacked_bytes, taken);
        if (result == 0) {
            free(body);
        }
        return result;
    }
    if (body[12] != BULK_PACKING_NONE || unpacked_bytes != bytes - BULK_BODY_HEAD_BYTES) {
        return ERROR_FORMAT;
    }
    taken->memory = body;
    taken->data = body + BULK_BODY_HEAD_BYTES;
    taken->bytes = unpacked_bytes;
    return 0;
}
