/*
 * rewind.h: images of a running world's last minutes, so that it can be rewound. A ring of complete
 * images in memory, one per second of world time; the oldest are dropped when it is full.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_REWIND_H
#define PLENUM_SERVER_HOST_REWIND_H

#include "shared/base/base.h"

enum {
    REWIND_IMAGES_MAX = 3600
};

typedef struct RewindImage {
    u64 world_tick; /* tick count of the world */
    u64 tick;       /* in the stream and the recording */
    u8 *image;      /* [capacity], the first [bytes] from world_save_into */
    size_t bytes, capacity;
} RewindImage;

typedef struct Rewind {
    RewindImage *images; /* [images_max], ring, ordered by world tick; NULL: rewinding is off */
    u32 images_max, first, count;
    u64 bytes, bytes_max; /* of the memory of the images */
    /* Memory of the next image. */
    u8 *spare; /* [spare_bytes], the first [touched] written to; NULL: none yet */
    size_t spare_bytes, touched;
    u64 later; /* no image is wanted before this world tick, since one did not fit; 0: none */
} Rewind;

/* Keeps at most images_max images of bytes_max bytes in total; 0 images turns rewinding off. False:
 * out of memory. */
bool rewind_init(Rewind *rewind, u32 images_max, u64 bytes_max);
void rewind_finish(Rewind *rewind); /* zero-initialized is fine */
/* Takes ownership of an image later than all others. False: it is larger than the ring allows and
 * was dropped; none is wanted for a minute. */
bool rewind_keep(Rewind *rewind, const RewindImage *image, u32 tick_rate);
/* Ticks until the next image is wanted, one a second: 0: now. */
u64 rewind_wait(const Rewind *rewind, u64 world_tick, u32 tick_rate);
/* Called each tick, with the number of ticks until the next image: gets memory for it and writes to
 * a part, so that the tick that saves does not wait for page faults (they took three times as long
 * as the saving itself). */
void rewind_prepare(Rewind *rewind, u32 ticks_left);
/* Passes that memory to `image`, to save into and to keep. */
void rewind_take_spare(Rewind *rewind, RewindImage *image);
/* The newest image at or before a world tick, borrowed until the next call; NULL: none. */
const RewindImage *rewind_at(const Rewind *rewind, u64 world_tick);
/* Drops the images later than a world tick, after the world was rewound to it. */
void rewind_cut(Rewind *rewind, u64 world_tick);
/* Drops all images: the world continues as another one. */
void rewind_clear(Rewind *rewind);
/* World tick of the oldest image, or `none`. */
u64 rewind_oldest(const Rewind *rewind, u64 none);
/* World tick of the newest image; 0: none. */
u64 rewind_newest(const Rewind *rewind);

#endif
