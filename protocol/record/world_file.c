/* world_file.c: see world_file.h. */
#include "protocol/record/world_file.h"

#include "protocol/record/build_text.h"
#include "shared/base/clock.h"
#include "shared/base/file.h"
#include "shared/base/hash.h"
#include "shared/base/text.h"
#include "shared/base/version.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum {
    LEVEL = 1 /* zstd level: a checkpoint must not occupy a core for long */
};

/* On disk, little-endian. */
typedef struct FileHead {
    u8 magic[8]; /* "PLWLD\r\n\x1a": damaged by any transfer that converts line ends */
    u32 version, tick_rate;
    u64 tick, created_unix_s;
    u64 scene_bytes, image_bytes, note_bytes;
    u64 packed_bytes, packed_hash;
    char build[WORLD_FILE_BUILD_BYTES];
    char scene_name[NAME_BYTES_MAX];
    u64 head_hash; /* checksum of everything before it */
} FileHead;

PL_STATIC_ASSERT(sizeof(FileHead) == 80 + WORLD_FILE_BUILD_BYTES + NAME_BYTES_MAX,
                 "no padding on disk");

static const u8 magic[8] = "PLWLD\r\n\x1a";

static u64 head_hash_of(const FileHead *head)
{
    return hash_bytes(head, offsetof(FileHead, head_hash), 0);
}

/* ---- writing ---- */

/* Packs the three parts one after the other; NULL: out of memory. */
static u8 *pack(const WorldFile *file, size_t *packed)
{
    size_t all = (size_t)(file->scene_bytes + file->image_bytes + file->note_bytes);
    size_t bound = ZSTD_compressBound(all);
    u8 *out = malloc(bound);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    bool done = out != NULL && context != NULL;
    ZSTD_outBuffer to = {out, bound, 0};
    const ZSTD_inBuffer parts[3] = {{file->scene, (size_t)file->scene_bytes, 0},
                                    {file->image, (size_t)file->image_bytes, 0},
                                    {file->note, (size_t)file->note_bytes, 0}};
    if (done) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setPledgedSrcSize(context, all);
    }
    for (u32 i = 0; i < 3 && done; i++) {
        ZSTD_inBuffer from = parts[i];
        size_t left;
        do {
            left = ZSTD_compressStream2(context, &to, &from, i < 2 ? ZSTD_e_continue : ZSTD_e_end);
            done = !ZSTD_isError(left);
        } while (done && (i < 2 ? from.pos < from.size : left > 0));
    }
    ZSTD_freeCCtx(context);
    if (!done) {
        free(out);
        return NULL;
    }
    *packed = to.pos;
    return out;
}

WorldFile world_file_of(const Scene *scene, u64 tick, const u8 *image, u64 image_bytes)
{
    WorldFile file = {.tick = tick,
                      .tick_rate = scene->tick_rate,
                      .created_unix_s = clock_unix_s(),
                      .scene = scene->bytes,
                      .scene_bytes = scene->byte_count,
                      .image = image,
                      .image_bytes = image_bytes};
    snprintf(file.scene_name, sizeof file.scene_name, "%s", scene->name);
    snprintf(file.build, sizeof file.build, "plenum %s, %s", PLENUM_VERSION, __VERSION__);
    return file;
}

int world_file_write(const char *path, const WorldFile *file, ErrorText *error)
{
    size_t packed_bytes = 0;
    u8 *packed = pack(file, &packed_bytes);
    if (packed == NULL) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory", path);
    }
    FileHead head = {.version = WORLD_FILE_VERSION,
                     .tick_rate = file->tick_rate,
                     .tick = file->tick,
                     .created_unix_s = file->created_unix_s,
                     .scene_bytes = file->scene_bytes,
                     .image_bytes = file->image_bytes,
                     .note_bytes = file->note_bytes,
                     .packed_bytes = packed_bytes,
                     .packed_hash = hash_bytes(packed, packed_bytes, 0)};
    memcpy(head.magic, magic, sizeof magic);
    memcpy(head.build, file->build, sizeof head.build);
    memcpy(head.scene_name, file->scene_name, sizeof head.scene_name);
    head.head_hash = head_hash_of(&head);
    const FilePart parts[2] = {{&head, sizeof head}, {packed, packed_bytes}};
    /* It may contain credentials with which users return. */
    int result = file_replace(path, parts, 2, 0600, error);
    free(packed);
    return result;
}

/* ---- reading ---- */

static int check_head(const FileHead *head, size_t count, u64 most, ErrorText *error)
{
    if (memcmp(head->magic, magic, sizeof magic) != 0) {
        return error_set(error, ERROR_FORMAT, "is not a saved world (.plworld)");
    }
    if (head->version != WORLD_FILE_VERSION) {
        char build[WORLD_FILE_BUILD_BYTES + 1];
        build_text(head->build, sizeof head->build, build);
        return error_set(error, ERROR_VERSION,
                         "a saved world of version %u, written by \"%s\", which can read it; this "
                         "program reads version %d",
                         head->version, build, WORLD_FILE_VERSION);
    }
    if (head->head_hash != head_hash_of(head)) {
        return error_set(error, ERROR_FORMAT, "damaged: its head does not match its checksum");
    }
    if (head->packed_bytes != count - sizeof *head) {
        return error_set(error, ERROR_TRUNCATED, "damaged: has %zu bytes, should have %llu", count,
                         (unsigned long long)head->packed_bytes + sizeof *head);
    }
    if (head->scene_bytes > WORLD_FILE_SCENE_BYTES_MAX ||
        head->image_bytes > WORLD_FILE_IMAGE_BYTES_MAX ||
        head->note_bytes > WORLD_FILE_NOTE_BYTES_MAX) {
        return error_set(error, ERROR_LIMIT, "its parts are larger than any saved world");
    }
    u64 all = head->scene_bytes + head->image_bytes + head->note_bytes;
    if (most > 0 && all > most) {
        return error_set(error, ERROR_LIMIT, "has %llu MiB unpacked, the limit is %llu",
                         (unsigned long long)(all >> 20), (unsigned long long)(most >> 20));
    }
    return ERROR_OK;
}

/* Shown to users: printable text only. */
static void name_of(const FileHead *head, char name[NAME_BYTES_MAX])
{
    size_t bytes = strnlen(head->scene_name, sizeof head->scene_name - 1);
    bool clean = text_is_clean(head->scene_name, bytes);
    memset(name, 0, NAME_BYTES_MAX);
    memcpy(name, head->scene_name, clean ? bytes : 0);
}

bool world_file_scene_name(const char *path, char name[NAME_BYTES_MAX])
{
    FileHead head;
    memset(name, 0, NAME_BYTES_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool whole = fd >= 0 && read(fd, &head, sizeof head) == (ssize_t)sizeof head;
    if (fd >= 0) {
        close(fd);
    }
    if (!whole || memcmp(head.magic, magic, sizeof magic) != 0 ||
        head.version != WORLD_FILE_VERSION || head.head_hash != head_hash_of(&head)) {
        return false;
    }
    name_of(&head, name);
    return true;
}

int world_file_decode(const u8 *bytes, size_t count, u64 most, WorldFile *file, ErrorText *error)
{
    FileHead head;
    memset(file, 0, sizeof *file);
    if (count < sizeof head) {
        return error_set(error, ERROR_FORMAT, "is not a saved world (.plworld): too short");
    }
    memcpy(&head, bytes, sizeof head);
    int result = check_head(&head, count, most, error);
    if (result != ERROR_OK) {
        return result;
    }
    const u8 *packed = bytes + sizeof head;
    size_t packed_bytes = count - sizeof head;
    if (head.packed_hash != hash_bytes(packed, packed_bytes, 0)) {
        return error_set(error, ERROR_FORMAT, "damaged: its content does not match its checksum");
    }
    /* Checksums can be forged: memory is allocated only for the frame's actual content. */
    size_t all = (size_t)(head.scene_bytes + head.image_bytes + head.note_bytes);
    if (ZSTD_getFrameContentSize(packed, packed_bytes) != all) {
        return error_set(error, ERROR_FORMAT, "damaged: its parts have other sizes");
    }
    u8 *owned = malloc(all + 1);
    if (owned == NULL) {
        return error_set(error, ERROR_MEMORY, "out of memory");
    }
    size_t got = ZSTD_decompress(owned, all, packed, packed_bytes);
    if (ZSTD_isError(got) || got != all) {
        free(owned);
        return error_set(error, ERROR_FORMAT, "damaged: cannot be unpacked");
    }
    *file = (WorldFile){.tick = head.tick,
                        .tick_rate = head.tick_rate,
                        .created_unix_s = head.created_unix_s,
                        .scene = owned,
                        .image = owned + head.scene_bytes,
                        .note = owned + head.scene_bytes + head.image_bytes,
                        .scene_bytes = head.scene_bytes,
                        .image_bytes = head.image_bytes,
                        .note_bytes = head.note_bytes,
                        .owned = owned};
    memcpy(file->build, head.build, sizeof file->build);
    file->build[sizeof file->build - 1] = '\0';
    name_of(&head, file->scene_name);
    return ERROR_OK;
}

int world_file_read(const char *path, u64 most, WorldFile *file, ErrorText *error)
{
    memset(file, 0, sizeof *file);
    u64 limit = sizeof(FileHead) + ZSTD_COMPRESSBOUND(most > 0 ? most : WORLD_FILE_IMAGE_BYTES_MAX);
    size_t count;
    char *bytes = file_read(path, (size_t)limit, &count, error);
    if (bytes == NULL) {
        return error->code;
    }
    int result = world_file_decode((const u8 *)bytes, count, most, file, error);
    free(bytes);
    if (result != ERROR_OK) {
        error_prefix(error, "%s", path);
    }
    return result;
}

void world_file_release(WorldFile *file)
{
    free(file->owned);
    memset(file, 0, sizeof *file);
}
