/*
 * test_billboard_image.c: the sheet of billboards: separate tiles, each with its own image.
 */
#include "client/view/billboard_image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

static const u8 *texel(const u8 *sheet, u32 tile, u32 x, u32 y)
{
    u32 left = tile % SHEET_TILES * SHEET_TILE, low = tile / SHEET_TILES * SHEET_TILE;
    return sheet + 2 * ((size_t)(low + y) * SHEET_EDGE + left + x);
}

/* Mean opacity of a tile, [0, 1]. */
static f64 opacity(const u8 *sheet, u32 tile)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < SHEET_TILE * SHEET_TILE; i++) {
        sum += texel(sheet, tile, i % SHEET_TILE, i / SHEET_TILE)[0];
    }
    return sum / (255.0 * SHEET_TILE * SHEET_TILE);
}

static void test_tiles(void **state)
{
    (void)state;
    u8 *sheet = malloc((size_t)2 * SHEET_EDGE * SHEET_EDGE);
    assert_non_null(sheet);
    billboard_sheet(sheet);
    u32 used = 0;
    for (u32 image = 0; image < BILLBOARD_IMAGE_COUNT; image++) {
        u32 first, count;
        billboard_tiles((BillboardImage)image, &first, &count);
        assert_int_equal(first, used); /* none shares another's tile */
        used += count;
        for (u32 tile = first; tile < first + count; tile++) {
            for (u32 i = 0; i < SHEET_TILE; i++) {
                assert_true(texel(sheet, tile, i, 0)[0] < 4);
                assert_true(texel(sheet, tile, i, SHEET_TILE - 1)[0] < 4);
                assert_true(texel(sheet, tile, 0, i)[0] < 4);
                assert_true(texel(sheet, tile, SHEET_TILE - 1, i)[0] < 4);
            }
            expect_within("mean opacity", opacity(sheet, tile), 0.05, 0.6);
        }
        for (u32 tile = first + 1; tile < first + count; tile++) { /* variants differ */
            u32 differ = 0;
            for (u32 i = 0; i < SHEET_TILE * SHEET_TILE; i++) {
                u32 x = i % SHEET_TILE, y = i / SHEET_TILE;
                differ += texel(sheet, tile, x, y)[0] != texel(sheet, first, x, y)[0];
            }
            assert_true(differ > SHEET_TILE * SHEET_TILE / 8);
        }
    }
    assert_true(used <= SHEET_TILES * SHEET_TILES);
    /* A dot is opaque in the middle, a ring is not; a snowflake is symmetric under rotation by 60
     * degrees: here by 180. */
    u32 middle = SHEET_TILE / 2, ring, flake, unused;
    billboard_tiles(BILLBOARD_RING, &ring, &unused);
    billboard_tiles(BILLBOARD_SNOWFLAKE, &flake, &unused);
    assert_true(texel(sheet, 0, middle, middle)[0] > 250);
    assert_true(texel(sheet, ring, middle, middle)[0] < 5);
    for (u32 i = 0; i < SHEET_TILE * SHEET_TILE; i++) {
        u32 x = i % SHEET_TILE, y = i / SHEET_TILE;
        int a = texel(sheet, flake, x, y)[0];
        int b = texel(sheet, flake, SHEET_TILE - 1 - x, SHEET_TILE - 1 - y)[0];
        assert_true(abs(a - b) <= 2);
    }
    free(sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
