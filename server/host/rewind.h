/*
 * rewind.h: images of a running world's last minutes, so that it can be taken back. A ring of whole
 * images in memory, one a second of world time; the oldest make room.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_REWIND_H
#define PLENUM_SERVER_HOST_REWIND_H

#include "shared/base/base.h"

enum {
    REWIND_IMAGES_MAX = 3600
};

typedef struct RewindImage {
    u64 world_tick; /* the world's own */
    u64 tick;       /* of the stream and of the recording */
    u8 *image;      /* [bytes] of world_save */
    size_t bytes;
} RewindImage;

typedef struct Rewind {
    RewindImage *images; /* [images_max], a ring in the order of world ticks; NULL: no rewinding */
    u32 images_max, first, count;
    u64 bytes, bytes_max;
} Rewind;

/* Room for that many images of together at most bytes_max; 0 images: none are kept. False: out of
 * memory. */
bool rewind_init(Rewind *rewind, u32 images_max, u64 bytes_max);
void rewind_finish(Rewind *rewind); /* zero-initialized is fine */
/* Takes over an image later than all others. One larger than the room there is is dropped. */
void rewind_keep(Rewind *rewind, const RewindImage *image);
/* The newest at or before a tick of the world, borrowed until the next call; NULL: none. */
const RewindImage *rewind_at(const Rewind *rewind, u64 world_tick);
/* Forgets those later than a tick of the world, which did not happen now. */
void rewind_cut(Rewind *rewind, u64 world_tick);
/* World tick of the oldest, or `none`. */
u64 rewind_oldest(const Rewind *rewind, u64 none);
/* World tick of the newest; 0: none. */
u64 rewind_newest(const Rewind *rewind);

#endif
