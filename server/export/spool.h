/*
 * spool.h: turns pictures into tracks: formats that want all values of one object together get
 * them here. Records of one picture after the other go in; each track's lie together in a scratch
 * file, so that memory does not grow with the length of a recording.
 * Layer: server/export, private.
 */
#ifndef PLENUM_SERVER_EXPORT_SPOOL_H
#define PLENUM_SERVER_EXPORT_SPOOL_H

#include "server/export/output.h"

typedef struct SpoolTrack {
    u64 offset;  /* in the file, of its first record; a multiple of 4 */
    u32 bytes;   /* of a record */
    u64 pending; /* where its records of the block begin in Spool.memory */
} SpoolTrack;

typedef struct Spool {
    ExportFile *file; /* borrowed */
    SpoolTrack *tracks;
    u32 count, capacity;
    u64 records;     /* of each track in the end: pictures */
    u32 block;       /* pictures in memory at most */
    u64 first, used; /* pictures before the block, in it */
    u8 *memory;
} Spool;

PL_BEGIN_C
/* Index of a new track, or a negative Error. All before spool_begin. */
i64 spool_track(Spool *spool, u32 record_bytes);
/* Places the tracks from `offset` of the file on; returns the first byte after them, 0: out of
 * memory. */
u64 spool_begin(Spool *spool, ExportFile *file, u64 offset, u64 records);
/* The record of a track in this picture; those that are not put are zero. */
void spool_put(Spool *spool, u32 track, const void *record);
/* The picture is complete. */
void spool_next(Spool *spool);
/* All pictures are complete: everything is in the file. */
void spool_end(Spool *spool);
/* Reads records of a track after spool_end. */
void spool_read(const Spool *spool, u32 track, u64 first, u64 count, void *records);
void spool_finish(Spool *spool);
PL_END_C

#endif
