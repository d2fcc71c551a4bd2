/*
 * png.c: PNG files through libpng's simplified interface.
 */
#include "client/view/view.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

/* Limit of the picture size. */
#define PNG_EDGE_MAX 16384u

int png_write(const char *path, const u8 *rgb, u32 width, u32 height, ErrorText *error)
{
    if (width == 0 || height == 0 || width > PNG_EDGE_MAX || height > PNG_EDGE_MAX) {
        return error_set(error, ERROR_RANGE, "%s: %ux%u pixels; expected 1..%u", path, width,
                         height, PNG_EDGE_MAX);
    }
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = width;
    image.height = height;
    image.format = PNG_FORMAT_RGB;
    if (!png_image_write_to_file(&image, path, 0, rgb, (png_int_32)(3 * width), NULL)) {
        return error_set(error, ERROR_IO, "%s: %s", path, image.message);
    }
    return 0;
}

u8 *png_read(const char *path, u32 *width, u32 *height, ErrorText *error)
{
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    if (!png_image_begin_read_from_file(&image, path)) {
        error_set(error, ERROR_IO, "%s: %s", path, image.message);
        return NULL;
    }
    if (image.width > PNG_EDGE_MAX || image.height > PNG_EDGE_MAX) {
        png_image_free(&image);
        error_set(error, ERROR_RANGE, "%s: larger than %u pixels", path, PNG_EDGE_MAX);
        return NULL;
    }
    image.format = PNG_FORMAT_RGB;
    u8 *rgb = malloc(PNG_IMAGE_SIZE(image));
    if (!rgb || !png_image_finish_read(&image, NULL, rgb, 0, NULL)) {
        error_set(error, rgb ? ERROR_FORMAT : ERROR_MEMORY, "%s: %s", path, image.message);
        png_image_free(&image);
        free(rgb);
        return NULL;
    }
    *width = image.width;
    *height = image.height;
    return rgb;
}
