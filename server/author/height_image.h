/*
 * height_image.h: reads heights from an untrusted PNG file: a grey picture of 1 to 16 bits, black
 * the lowest and white the highest. Its top row comes first; what else is in the file, colour
 * profiles and gamma among it, is ignored: samples are heights, not light.
 * Layer: server/author. Implemented with libpng.
 */
#ifndef PLENUM_SERVER_AUTHOR_HEIGHT_IMAGE_H
#define PLENUM_SERVER_AUTHOR_HEIGHT_IMAGE_H

#include "shared/base/error.h"

typedef struct HeightImage {
    u16 *samples; /* [rows][columns] 0: black, 65535: white */
    u32 columns, rows;
} HeightImage;

PL_BEGIN_C
/* Reads `count` bytes; `name` starts every error text. 0, or ERROR_FORMAT (no PNG, damaged),
 * _UNSUPPORTED (coloured), _LIMIT (larger than a terrain), _MEMORY; the image is then empty. The
 * caller frees it with height_image_finish. */
int height_image_read(HeightImage *image, const void *bytes, size_t count, const char *name,
                      ErrorText *error);
void height_image_finish(HeightImage *image);
PL_END_C

#endif
