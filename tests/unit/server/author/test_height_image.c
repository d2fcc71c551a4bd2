/* test_height_image.c: pictures of heights, of 1 to 16 bits, plain and interlaced; what is refused,
 * damaged or cut off; and a scene whose terrain is one. */
#include "server/author/height_image.h"
#include "server/author/scene_load.h"

#include <png.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/near.h"

enum {
    COLUMNS = 5,
    ROWS = 3
};

typedef struct Made {
    u8 bytes[8192];
    size_t count;
} Made;

static void put(png_structp png, png_bytep from, png_size_t count)
{
    Made *made = png_get_io_ptr(png);
    assert_true(made->count + count <= sizeof made->bytes);
    memcpy(made->bytes + made->count, from, count);
    made->count += count;
}

/* A sample of the picture, by bits. */
static u32 sample(u32 x, u32 z, int bits)
{
    return (x * 7919 + z * 104729) % (1u << bits);
}

static Made picture(int bits, int type, int interlace)
{
    Made made = {.count = 0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &made, put, NULL);
    png_set_IHDR(png, info, COLUMNS, ROWS, bits, type, interlace, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_gAMA(png, info, 0.45455); /* heights are no light: it is ignored */
    png_write_info(png, info);
    u32 channels = png_get_channels(png, info);
    u8 rows[ROWS][COLUMNS * 4 * 2] = {0};
    png_bytep pointers[ROWS];
    for (u32 z = 0; z < ROWS; z++) {
        pointers[z] = rows[z];
        for (u32 x = 0; x < COLUMNS; x++) {
            u32 value = sample(x, z, bits);
            if (bits == 16) {
                rows[z][2 * channels * x] = (u8)(value >> 8);
                rows[z][2 * channels * x + 1] = (u8)value;
            } else if (bits == 8) {
                rows[z][channels * x] = (u8)value;
            } else {
                rows[z][x * (u32)bits / 8] |= (u8)(value << (8 - (u32)bits - x * (u32)bits % 8));
            }
        }
    }
    png_write_image(png, pointers);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    return made;
}

static void samples_are_as_written(void **state)
{
    PL_UNUSED(state);
    static const int depths[] = {1, 2, 4, 8, 16};
    for (u32 n = 0; n < 4 * PL_COUNT(depths); n++) {
        int bits = depths[n / 4], type = n % 2 ? PNG_COLOR_TYPE_GRAY_ALPHA : PNG_COLOR_TYPE_GRAY;
        if (bits < 8 && type != PNG_COLOR_TYPE_GRAY) {
            continue;
        }
        Made made = picture(bits, type, n / 2 % 2 ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE);
        HeightImage image;
        ErrorText error = {0};
        if (height_image_read(&image, made.bytes, made.count, "a.png", &error) != ERROR_OK) {
            fail_msg("%d bits: %s", bits, error.text);
        }
        assert_int_equal(image.columns, COLUMNS);
        assert_int_equal(image.rows, ROWS);
        for (u32 c = 0; c < COLUMNS * ROWS; c++) {
            u32 expected = sample(c % COLUMNS, c / COLUMNS, bits) * 65535u / ((1u << bits) - 1u);
            assert_int_equal(image.samples[c], expected);
        }
        height_image_finish(&image);
    }
}

static int code_of(const void *bytes, size_t count, ErrorText *error)
{
    HeightImage image = {.columns = 9};
    u8 *copy = malloc(count + (count == 0)); /* so that a read beyond it is seen */
    assert_non_null(copy);
    memcpy(copy, bytes, count);
    int code = height_image_read(&image, copy, count, "a.png", error);
    free(copy);
    if (code != ERROR_OK) {
        assert_true(image.samples == NULL && image.columns == 0);
    }
    height_image_finish(&image);
    return code;
}

static void what_is_no_heights_is_refused(void **state)
{
    PL_UNUSED(state);
    ErrorText error = {0};
    Made colored = picture(8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE);
    assert_int_equal(code_of(colored.bytes, colored.count, &error), ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "a.png: coloured"));
    assert_int_equal(code_of("v 0 0 0\nv 1 0 0\n", 16, &error), ERROR_FORMAT);
    Made grey = picture(16, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_ADAM7);
    for (size_t count = 0; count < grey.count; count++) {
        assert_int_equal(code_of(grey.bytes, count, &error), ERROR_FORMAT);
        assert_int_equal(strncmp(error.text, "a.png: ", 7), 0);
    }
    for (size_t at = 0; at < grey.count; at++) { /* any damage: read or refused, nothing else */
        grey.bytes[at] ^= 0x5A;
        (void)code_of(grey.bytes, grey.count, &error);
        grey.bytes[at] ^= 0x5A;
    }
    /* Millions of columns are not allocated. */
    grey.bytes[16] = 0x7F;
    assert_int_equal(code_of(grey.bytes, grey.count, &error), ERROR_FORMAT);
}

static void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void a_terrain_is_a_picture(void **state)
{
    PL_UNUSED(state);
    static const struct {
        const char *rest, *wrong; /* "": it is good */
    } rows[] = {
        {"\"spacing\":0.5,\"scale\":4", ""},
        {"\"spacing\":0.5,\"columns\":5", "shape.file: given besides heights, noise, columns"},
        {"\"scale\":4", "shape.spacing"},
    };
    char folder[] = "/tmp/plenum-heights-XXXXXX", scene_path[64], picture_path[64], json[512];
    assert_non_null(mkdtemp(folder));
    snprintf(scene_path, sizeof scene_path, "%s/s.json", folder);
    snprintf(picture_path, sizeof picture_path, "%s/h.png", folder);
    Made made = picture(16, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE);
    write_file(picture_path, made.bytes, made.count);
    for (u32 n = 0; n < PL_COUNT(rows); n++) {
        ErrorText error = {0};
        snprintf(json, sizeof json,
                 "{\"name\":\"t\",\"bodies\":[{\"name\":\"l\",\"motion\":\"static\",\"shape\":"
                 "{\"kind\":\"terrain\",\"file\":\"h.png\",%s}}]}",
                 rows[n].rest);
        write_file(scene_path, json, strlen(json));
        Scene *scene = scene_load(scene_path, &error);
        if (rows[n].wrong[0] != 0) {
            assert_null(scene);
            if (strstr(error.text, rows[n].wrong) == NULL) {
                fail_msg("%s", error.text);
            }
            continue;
        }
        if (scene == NULL) {
            fail_msg("%s", error.text);
        }
        const Geometry *land = scene->geometries[0];
        assert_int_equal(land->terrain.columns, COLUMNS);
        assert_int_equal(land->terrain.rows, ROWS);
        for (u32 c = 0; c < COLUMNS * ROWS; c++) {
            f64 expected = 4.0 * sample(c % COLUMNS, c / COLUMNS, 16) / 65535.0;
            expect_near("height", (f64)land->terrain.heights[c], expected, 1e-6);
        }
        scene_destroy(scene);
    }
    /* A scene without a folder has no files. */
    ErrorText error = {0};
    assert_null(scene_parse(json, strlen(json), "t", &error));
    assert_non_null(strstr(error.text, "shape.file: only scenes loaded from a file"));
    unlink(scene_path);
    unlink(picture_path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_as_written),
        cmocka_unit_test(what_is_no_heights_is_refused),
        cmocka_unit_test(a_terrain_is_a_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
