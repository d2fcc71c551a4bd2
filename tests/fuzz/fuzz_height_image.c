/* fuzz_height_image.c: pictures of heights from hostile bytes: what is read is whole, what is
 * refused has a text and leaves nothing. */
#include "server/author/height_image.h"
#include "shared/geometry/geometry.h"
#include "tests/fuzz/target.h"

static void demand(bool condition)
{
    if (!condition) {
        __builtin_trap();
    }
}

static void run(const u8 *data, size_t bytes)
{
    HeightImage image;
    ErrorText error = {0};
    if (height_image_read(&image, data, bytes, "a.png", &error) != ERROR_OK) {
        demand(error.code < 0 && error.text[0] != 0 && image.samples == NULL);
        return;
    }
    demand(image.columns > 0 && image.columns <= TERRAIN_SIDE_MAX);
    demand(image.rows > 0 && image.rows <= TERRAIN_SIDE_MAX);
    u32 sum = 0;
    for (size_t i = 0; i < (size_t)image.columns * image.rows; i++) {
        sum += image.samples[i];
    }
    demand(sum != 1 || image.columns > 0); /* all of it is there */
    height_image_finish(&image);
}

const FuzzTarget fuzz_target = {
    .run = run, .size_max = 1 << 20, .memory_fixed = 64 << 20, .memory_each = 1 << 4};
