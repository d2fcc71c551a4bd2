/* height_image.c: see height_image.h. */
#include "server/author/height_image.h"

#include "shared/geometry/geometry.h"

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_BYTES_MAX = 1 << 20
};

/* libpng's input and error text; kept here because its errors jump. */
typedef struct PngReader {
    const u8 *bytes;
    size_t count, used;
    HeightImage image;
    u8 *row; /* of 16 bits, and alpha if present */
    char why[80];
    bool coloured;
} PngReader;

static void take(png_structp png, png_bytep to, png_size_t count)
{
    PngReader *reader = png_get_io_ptr(png);
    if (count > reader->count - reader->used) {
        png_error(png, "ends too early");
    }
    memcpy(to, reader->bytes + reader->used, count);
    reader->used += count;
}

static void fail(png_structp png, png_const_charp text)
{
    PngReader *reader = png_get_error_ptr(png);
    snprintf(reader->why, sizeof reader->why, "%s", text);
    longjmp(png_jmpbuf(png), 1);
}

static void ignore(png_structp png, png_const_charp text)
{
    PL_UNUSED(png);
    PL_UNUSED(text);
}

static void read_rows(PngReader *reader, png_structp png, png_infop info)
{
    png_set_read_fn(png, reader, take);
    png_set_user_limits(png, TERRAIN_SIDE_MAX, TERRAIN_SIDE_MAX);
    png_set_chunk_malloc_max(png, CHUNK_BYTES_MAX);
    png_read_info(png, info);
    u32 columns = png_get_image_width(png, info), rows = png_get_image_height(png, info);
    reader->coloured = (png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR) != 0;
    if (reader->coloured) {
        return;
    }
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_expand_16(png);
    png_set_strip_alpha(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    size_t row_bytes = png_get_rowbytes(png, info);
    reader->image.samples = calloc((size_t)columns * rows, sizeof(u16));
    reader->row = malloc(row_bytes);
    if (reader->image.samples == NULL || reader->row == NULL || row_bytes != 2 * (size_t)columns) {
        png_error(png, "out of memory");
    }
    reader->image.columns = columns;
    reader->image.rows = rows;
    for (int pass = 0; pass < passes; pass++) {
        for (u32 z = 0; z < rows; z++) {
            u16 *to = reader->image.samples + (size_t)z * columns;
            for (u32 x = 0; x < columns; x++) { /* each pass adds to the previous ones */
                reader->row[2 * x] = (u8)(to[x] >> 8);
                reader->row[2 * x + 1] = (u8)to[x];
            }
            png_read_row(png, reader->row, NULL);
            for (u32 x = 0; x < columns; x++) {
                to[x] = (u16)(reader->row[2 * x] << 8 | reader->row[2 * x + 1]);
            }
        }
    }
    png_read_end(png, NULL);
}

/* Separate from the destination, which a jump would leave undefined. */
static bool try_rows(PngReader *reader, png_structp png, png_infop info)
{
    if (setjmp(png_jmpbuf(png)) != 0) {
        return false;
    }
    read_rows(reader, png, info);
    return true;
}

int height_image_read(HeightImage *image, const void *bytes, size_t count, const char *name,
                      ErrorText *error)
{
    PngReader reader = {.bytes = bytes, .count = count};
    *image = (HeightImage){0};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, fail, ignore);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    if (info == NULL) {
        png_destroy_read_struct(&png, NULL, NULL);
        return error_set(error, ERROR_MEMORY, "%s: out of memory", name);
    }
    bool good = try_rows(&reader, png, info);
    png_destroy_read_struct(&png, &info, NULL);
    free(reader.row);
    if (!good || reader.coloured) {
        free(reader.image.samples);
        return reader.coloured ? error_set(error, ERROR_UNSUPPORTED,
                                           "%s: coloured; heights are a grey picture", name)
                               : error_set(error, ERROR_FORMAT, "%s: %s", name, reader.why);
    }
    *image = reader.image;
    return ERROR_OK;
}

void height_image_finish(HeightImage *image)
{
    free(image->samples);
    *image = (HeightImage){0};
}
