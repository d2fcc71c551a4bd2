/*
 * sheet.h: a square sheet of heights, as a mesh of triangles and as a terrain. Include it after
 * cmocka.h.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_SHEET_H
#define PLENUM_TESTS_SUPPORT_SHEET_H

#include "shared/geometry/geometry.h"

#include <stdlib.h>
#include <string.h>

typedef struct HeightSheet {
    Geometry *mesh, *terrain;
} HeightSheet;

/* Place of sample k along one axis (m), of `side` samples around 0. */
static inline f32 height_sheet_at(u32 k, u32 side, f32 spacing)
{
    return ((f32)k - 0.5f * (f32)(side - 1)) * spacing;
}

/* Of heights [side][side] (m), row by row along z. */
static inline HeightSheet height_sheet(const f32 *heights, u32 side, f32 spacing)
{
    u32 triangles = 2 * (side - 1) * (side - 1), used = 0;
    Vec3 *vertices = malloc((size_t)side * side * sizeof *vertices);
    u32 *corners = malloc(3 * (size_t)triangles * sizeof *corners);
    assert_true(vertices != NULL && corners != NULL);
    for (u32 k = 0; k < side * side; k++) {
        vertices[k] = vec3(height_sheet_at(k % side, side, spacing), heights[k],
                           height_sheet_at(k / side, side, spacing));
        if (k % side < side - 1 && k / side < side - 1) {
            const u32 quad[6] = {k, k + side, k + side + 1, k, k + side + 1, k + 1};
            memcpy(corners + used, quad, sizeof quad);
            used += 6;
        }
    }
    ErrorText error;
    HeightSheet sheet = {geometry_mesh(vertices, side * side, corners, triangles, NULL, &error),
                         geometry_terrain(heights, side, side, spacing, &error)};
    free(vertices);
    free(corners);
    assert_non_null(sheet.mesh);
    assert_non_null(sheet.terrain);
    return sheet;
}

static inline void height_sheet_finish(HeightSheet *sheet)
{
    geometry_destroy(sheet->mesh);
    geometry_destroy(sheet->terrain);
}

#endif
