/* rewind.c: see rewind.h. */
#include "server/host/rewind.h"

#include "shared/base/check.h"

#include <stdlib.h>

enum {
    PAGE_BYTES = 4096,
    SPARE_MORE = 16, /* the next image may be larger by this part of the last one */
    LATER_S = 60     /* interval between attempts if images did not fit: each costs a tick some
                      * time */
};

bool rewind_init(Rewind *rewind, u32 images_max, u64 bytes_max)
{
    images_max = u32_min(images_max, REWIND_IMAGES_MAX);
    *rewind = (Rewind){.images_max = images_max, .bytes_max = bytes_max};
    if (rewind->images_max == 0) {
        return true;
    }
    rewind->images = calloc(rewind->images_max, sizeof *rewind->images);
    return rewind->images != NULL;
}

static RewindImage *image_at(const Rewind *rewind, u32 number)
{
    return &rewind->images[(rewind->first + number) % rewind->images_max];
}

/* The memory of an image serves the next one, if there is none yet. */
static void drop(Rewind *rewind, RewindImage *image)
{
    rewind->bytes -= image->capacity;
    rewind->count--;
    if (rewind->spare == NULL) {
        rewind->spare = image->image;
        rewind->spare_bytes = rewind->touched = image->capacity;
    } else {
        free(image->image);
    }
    image->image = NULL;
}

static void drop_oldest(Rewind *rewind)
{
    drop(rewind, image_at(rewind, 0));
    rewind->first = (rewind->first + 1) % rewind->images_max;
}

void rewind_clear(Rewind *rewind)
{
    while (rewind->count > 0) {
        drop_oldest(rewind);
    }
    rewind->later = 0;
}

void rewind_finish(Rewind *rewind)
{
    rewind_clear(rewind);
    free(rewind->spare);
    free(rewind->images);
    *rewind = (Rewind){0};
}

u64 rewind_wait(const Rewind *rewind, u64 world_tick, u32 tick_rate)
{
    u64 next = rewind->count > 0 ? rewind_newest(rewind) + tick_rate : 0;
    next = u64_max(next, rewind->later);
    return next > world_tick ? next - world_tick : 0;
}

bool rewind_keep(Rewind *rewind, const RewindImage *image, u32 tick_rate)
{
    if (rewind->images == NULL || image->capacity > rewind->bytes_max) {
        free(image->image);
        rewind->later = image->world_tick + (u64)LATER_S * tick_rate;
        return false;
    }
    rewind->later = 0;
    CHECK(rewind->count == 0 || image->world_tick > rewind_newest(rewind));
    while (rewind->count == rewind->images_max ||
           rewind->bytes + image->capacity > rewind->bytes_max) {
        drop_oldest(rewind);
    }
    *image_at(rewind, rewind->count++) = *image;
    rewind->bytes += image->capacity;
    CHECK(rewind->count <= rewind->images_max && rewind->bytes <= rewind->bytes_max);
    return true;
}

void rewind_prepare(Rewind *rewind, u32 ticks_left)
{
    if (rewind->count == 0) {
        return;
    }
    size_t last = image_at(rewind, rewind->count - 1)->bytes;
    size_t wanted = (size_t)u64_min(last + last / SPARE_MORE, rewind->bytes_max);
    if (rewind->spare != NULL && (rewind->spare_bytes < last || rewind->spare_bytes > 2 * wanted)) {
        free(rewind->spare);
        rewind->spare = NULL;
    }
    if (rewind->spare == NULL) {
        rewind->spare = malloc(wanted);
        rewind->spare_bytes = rewind->spare != NULL ? wanted : 0;
        rewind->touched = 0;
    }
    size_t share = (rewind->spare_bytes - rewind->touched) / u32_max(ticks_left, 1) + PAGE_BYTES;
    for (size_t done = 0; done < share && rewind->touched < rewind->spare_bytes;) {
        rewind->spare[rewind->touched] = 0;
        rewind->touched += PAGE_BYTES;
        done += PAGE_BYTES;
    }
    rewind->touched = rewind->touched < rewind->spare_bytes ? rewind->touched : rewind->spare_bytes;
}

void rewind_take_spare(Rewind *rewind, RewindImage *image)
{
    image->image = rewind->spare;
    image->capacity = rewind->spare_bytes;
    rewind->spare = NULL;
    rewind->spare_bytes = rewind->touched = 0;
}

const RewindImage *rewind_at(const Rewind *rewind, u64 world_tick)
{
    for (u32 i = rewind->count; i-- > 0;) {
        const RewindImage *image = image_at(rewind, i);
        if (image->world_tick <= world_tick) {
            return image;
        }
    }
    return NULL;
}

void rewind_cut(Rewind *rewind, u64 world_tick)
{
    while (rewind->count > 0 && rewind_newest(rewind) > world_tick) {
        drop(rewind, image_at(rewind, rewind->count - 1));
    }
    rewind->later = 0;
}

u64 rewind_oldest(const Rewind *rewind, u64 none)
{
    return rewind->count > 0 ? image_at(rewind, 0)->world_tick : none;
}

u64 rewind_newest(const Rewind *rewind)
{
    return rewind->count > 0 ? image_at(rewind, rewind->count - 1)->world_tick : 0;
}
