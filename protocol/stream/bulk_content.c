/* bulk_content.c: the body of a transfer: u64 hash of all that follows, u32 unpacked size, u8
 * packing, u8[3] zero, then the bytes uncompressed or as one zstd frame. */
#include "protocol/stream/bulk_content.h"

#include "shared/base/check.h"
#include "shared/base/hash.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
    /* Packing runs on the host's loop, so large contents are packed at a fast level, and in parts,
     * so that others do not wait. */
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

struct BulkPacker {
    ZSTD_CCtx *context; /* NULL: it is copied, as compression does not pay */
    const u8 *unpacked;
    u32 bytes, done; /* of the message */
    u32 capacity;    /* for what is compressed */
    u32 packed;      /* bytes behind the head of the body */
    u8 *body;
};

BulkPacker *bulk_packer_create(const void *unpacked, u32 bytes)
{
    if (bytes == 0 || bytes > MESSAGE_BYTES_MAX) {
        return NULL;
    }
    BulkPacker *packer = calloc(1, sizeof *packer);
    u8 *body = calloc(1, (size_t)BULK_BODY_HEAD_BYTES + bytes);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    if (packer == NULL || body == NULL || context == NULL) {
        free(packer);
        free(body);
        ZSTD_freeCCtx(context);
        return NULL;
    }
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel,
                           bytes >= LARGE_BYTES ? LEVEL_LARGE : LEVEL_SMALL);
    ZSTD_CCtx_setPledgedSrcSize(context, bytes); /* the frame names it: bulk_body_open asks */
    packer->context = context;
    packer->unpacked = unpacked;
    packer->bytes = bytes;
    packer->capacity = bytes - bytes / 16;
    packer->body = body;
    return packer;
}

void bulk_packer_destroy(BulkPacker *packer)
{
    if (packer != NULL) {
        ZSTD_freeCCtx(packer->context);
        free(packer->body);
        free(packer);
    }
}

/* Falls back to copying from the start if the content cannot be compressed. */
static void give_up(BulkPacker *packer)
{
    ZSTD_freeCCtx(packer->context);
    packer->context = NULL;
    packer->done = packer->packed = 0;
}

/* False: it does not pay. */
static bool compress(BulkPacker *packer, u32 bytes)
{
    bool last = bytes == packer->bytes - packer->done;
    ZSTD_inBuffer in = {packer->unpacked + packer->done, bytes, 0};
    ZSTD_outBuffer out = {packer->body + BULK_BODY_HEAD_BYTES, packer->capacity, packer->packed};
    size_t left = 1;
    while (in.pos < in.size || (last && left > 0)) {
        left =
            ZSTD_compressStream2(packer->context, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left) || (out.pos == out.size && (in.pos < in.size || left > 0))) {
            give_up(packer);
            return false;
        }
    }
    packer->done += bytes;
    packer->packed = (u32)out.pos;
    return true;
}

bool bulk_packer_step(BulkPacker *packer, u32 bytes)
{
    bytes = u32_min(bytes, packer->bytes - packer->done);
    if (packer->context == NULL || !compress(packer, bytes)) {
        memcpy(packer->body + BULK_BODY_HEAD_BYTES + packer->done, packer->unpacked + packer->done,
               bytes);
        packer->done += bytes;
        packer->packed = packer->done;
    }
    return packer->done == packer->bytes;
}

BulkContent *bulk_packer_finish(BulkPacker *packer)
{
    CHECK(packer->done == packer->bytes);
    BulkContent *content = malloc(sizeof *content);
    if (content != NULL) {
        u8 *body = packer->body;
        body[12] = packer->context != NULL ? BULK_PACKING_ZSTD : BULK_PACKING_NONE;
        memcpy(body + 8, &packer->bytes, sizeof packer->bytes);
        content->references = 1;
        content->bytes = BULK_BODY_HEAD_BYTES + packer->packed;
        u64 hash = hash_bytes(body + HASHED_FROM, content->bytes - HASHED_FROM, 0);
        memcpy(body, &hash, sizeof hash);
        content->body = body; /* the memory beyond the end was never touched */
        packer->body = NULL;
    }
    bulk_packer_destroy(packer);
    return content;
}

BulkContent *bulk_content_create(const void *unpacked, u32 bytes)
{
    BulkPacker *packer = bulk_packer_create(unpacked, bytes);
    if (packer == NULL) {
        return NULL;
    }
    CHECK(bulk_packer_step(packer, bytes));
    return bulk_packer_finish(packer);
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
