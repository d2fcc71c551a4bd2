/* spool.c: see spool.h. */
#include "server/export/spool.h"

#include "shared/base/check.h"
#include "shared/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    MEMORY_BYTES = 16 << 20, /* of a block, if a picture is not larger */
    BLOCK_MAX = 1024,
};

i64 spool_track(Spool *spool, u32 record_bytes)
{
    if (!memory_grow((void **)&spool->tracks, &spool->capacity, spool->count + 1,
                     sizeof *spool->tracks)) {
        return ERROR_MEMORY;
    }
    spool->tracks[spool->count] = (SpoolTrack){.bytes = record_bytes};
    return spool->count++;
}

u64 spool_begin(Spool *spool, ExportFile *file, u64 offset, u64 records)
{
    u64 picture = 1;
    spool->file = file;
    spool->records = records;
    for (u32 i = 0; i < spool->count; i++) {
        spool->tracks[i].offset = (offset + 3) / 4 * 4;
        offset = spool->tracks[i].offset + records * spool->tracks[i].bytes;
        picture += spool->tracks[i].bytes;
    }
    u64 block = u64_min(u64_max(MEMORY_BYTES / picture, 1), BLOCK_MAX);
    spool->block = (u32)u64_min(block, records);
    spool->memory = calloc(spool->block, picture);
    u64 at = 0;
    for (u32 i = 0; i < spool->count; i++) {
        spool->tracks[i].pending = at;
        at += (u64)spool->block * spool->tracks[i].bytes;
    }
    return spool->memory != NULL ? (offset + 3) / 4 * 4 : 0;
}

void spool_put(Spool *spool, u32 track, const void *record)
{
    CHECK(track < spool->count);
    const SpoolTrack *t = &spool->tracks[track];
    memcpy(spool->memory + t->pending + spool->used * t->bytes, record, t->bytes);
}

static void write_block(Spool *spool)
{
    for (u32 i = 0; i < spool->count && spool->used > 0; i++) {
        const SpoolTrack *t = &spool->tracks[i];
        size_t bytes = (size_t)(spool->used * t->bytes);
        export_write_at(spool->file, t->offset + spool->first * t->bytes,
                        spool->memory + t->pending, bytes);
        memset(spool->memory + t->pending, 0, bytes);
    }
    spool->first += spool->used;
    spool->used = 0;
}

void spool_next(Spool *spool)
{
    CHECK(spool->first + spool->used < spool->records);
    if (++spool->used == spool->block) {
        write_block(spool);
    }
}

void spool_end(Spool *spool)
{
    write_block(spool);
}

void spool_read(const Spool *spool, u32 track, u64 first, u64 count, void *records)
{
    const SpoolTrack *t = &spool->tracks[track];
    export_read_at(spool->file, t->offset + first * t->bytes, records, (size_t)(count * t->bytes));
}

void spool_finish(Spool *spool)
{
    free(spool->tracks);
    free(spool->memory);
    memset(spool, 0, sizeof *spool);
}
