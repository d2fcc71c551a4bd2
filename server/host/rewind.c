/* rewind.c: see rewind.h. */
#include "server/host/rewind.h"

#include "shared/base/check.h"

#include <stdlib.h>

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

static void drop(Rewind *rewind, RewindImage *image)
{
    rewind->bytes -= image->bytes;
    rewind->count--;
    free(image->image);
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
}

void rewind_finish(Rewind *rewind)
{
    rewind_clear(rewind);
    free(rewind->images);
    *rewind = (Rewind){0};
}

void rewind_keep(Rewind *rewind, const RewindImage *image)
{
    if (rewind->images == NULL || image->bytes > rewind->bytes_max) {
        free(image->image);
        return;
    }
    CHECK(rewind->count == 0 || image->world_tick > rewind_newest(rewind));
    while (rewind->count == rewind->images_max ||
           rewind->bytes + image->bytes > rewind->bytes_max) {
        drop_oldest(rewind);
    }
    *image_at(rewind, rewind->count++) = *image;
    rewind->bytes += image->bytes;
    CHECK(rewind->count <= rewind->images_max && rewind->bytes <= rewind->bytes_max);
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
}

u64 rewind_oldest(const Rewind *rewind, u64 none)
{
    return rewind->count > 0 ? image_at(rewind, 0)->world_tick : none;
}

u64 rewind_newest(const Rewind *rewind)
{
    return rewind->count > 0 ? image_at(rewind, rewind->count - 1)->world_tick : 0;
}
