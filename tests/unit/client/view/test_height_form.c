/*
 * test_height_form.c: surfaces of heights: every vertex on the heights, triangles that cover the
 * whole grid once and face up, normals equal to the derivatives of a wave, at every level of
 * decimation.
 */
#include "client/view/height_form.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static f32 wave(f32 x, f32 z)
{
    return 0.5f * sinf(1.3f * x) + 0.2f * cosf(0.9f * z);
}

static void check_surface(u32 columns, u32 rows, u32 side_max)
{
    FieldDesc field = {.kind = FIELD_GRID2,
                       .capacity = columns * rows,
                       .dims = {(u16)columns, (u16)rows},
                       .origin = {-3, 1, 2},
                       .spacing = {0.05f, 0, 0.04f}};
    HeightForm form = height_form_of(&field, side_max);
    u32 count = form.columns * form.rows, index_count = height_form_index_count(&form);
    assert_true(form.columns <= side_max + 1 && form.rows <= side_max + 1);
    f32 *values = malloc(columns * rows * sizeof *values);
    SoftVertex *vertices = malloc(count * sizeof *vertices);
    Vec3 *cells = malloc(count * sizeof *cells);
    u32 *indices = malloc((index_count + 1) * sizeof *indices);
    for (u32 i = 0; i < columns * rows; i++) {
        values[i] = wave(-3.0f + 0.05f * (f32)(i % columns), 2.0f + 0.04f * (f32)(i / columns));
    }
    height_form_fill(&form, values, vertices);
    height_form_cells(&form, cells);
    height_form_indices(&form, 7, indices);
    for (u32 i = 0; i < count; i++) {
        Vec3 p = vertices[i].position, n = vertices[i].normal;
        assert_true(fabsf(p.y - 1.0f - wave(p.x, p.z)) < 1e-4f);
        assert_true(cells[i].x == p.x && cells[i].y == p.z);
        Vec3 want = vec3_normalize_or(
            vec3(-0.65f * cosf(1.3f * p.x), 1.0f, 0.18f * sinf(0.9f * p.z)), vec3_zero());
        assert_true(vec3_distance(n, want) < 0.03f); /* one-sided differences at edges */
    }
    f64 area = 0.0;
    for (u32 i = 0; i < index_count; i += 3) {
        Vec3 corners[3];
        for (u32 k = 0; k < 3; k++) {
            assert_true(indices[i + k] >= 7 && indices[i + k] < 7 + count);
            corners[k] = vertices[indices[i + k] - 7].position;
        }
        Vec3 up = vec3_cross(vec3_sub(corners[1], corners[0]), vec3_sub(corners[2], corners[0]));
        assert_true(up.y > 0.0f);
        area += 0.5 * (f64)up.y;
    }
    assert_true(fabs(area / (0.05 * (columns - 1) * 0.04 * (rows - 1)) - 1.0) < 1e-4);
    free(values);
    free(vertices);
    free(cells);
    free(indices);
}

static void test_surfaces(void **state)
{
    (void)state;
    check_surface(40, 30, 1024);
    check_surface(256, 256, 128);
    check_surface(301, 77, 128);
    check_surface(129, 128, 128);
    check_surface(2, 300, 100);
}

/* A single row has no surface. */
static void test_a_row(void **state)
{
    (void)state;
    FieldDesc field = {.kind = FIELD_GRID2, .capacity = 9, .dims = {9, 1}, .spacing = {1, 0, 1}};
    HeightForm form = height_form_of(&field, 128);
    assert_int_equal(height_form_index_count(&form), 0);
    f32 values[9] = {0};
    SoftVertex vertices[9];
    height_form_fill(&form, values, vertices);
    assert_true(vertices[8].position.x == 8.0f && vertices[8].normal.y == 1.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_surfaces),
        cmocka_unit_test(test_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
