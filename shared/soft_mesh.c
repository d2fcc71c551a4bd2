/* soft_mesh.c: rectangles and ropes. */
#include "shared/soft_mesh.h"

#include "shared/limits.h"

#include <stdlib.h>
#include <string.h>

void soft_mesh_finish(SoftMesh *mesh)
{
    free(mesh->points);
    free(mesh->triangles);
    free(mesh->tetrahedra);
    free(mesh->sticks);
    free(mesh->skin);
    free(mesh->skin_triangles);
    memset(mesh, 0, sizeof *mesh);
}

static int no_memory(SoftMesh *mesh, ErrorText *error)
{
    soft_mesh_finish(mesh);
    return error_set(error, ERROR_MEMORY, "no memory for a soft mesh");
}

static bool is_length(f32 x)
{
    return x > 0.0f && x <= WORLD_EXTENT_MAX_M;
}

int soft_mesh_grid(SoftMesh *mesh, u32 columns, u32 rows, f32 width, f32 height, ErrorText *error)
{
    memset(mesh, 0, sizeof *mesh);
    if (columns < 2 || rows < 2 || (u64)columns * rows > PARTICLES_MAX) {
        return error_set(error, ERROR_LIMIT, "%u x %u points: 2 to %d each way and in all", columns,
                         rows, PARTICLES_MAX);
    }
    if (!is_length(width) || !is_length(height)) {
        return error_set(error, ERROR_RANGE, "size %g x %g m: more than 0, at most %g",
                         (double)width, (double)height, (double)WORLD_EXTENT_MAX_M);
    }
    mesh->grid[0] = columns;
    mesh->grid[1] = rows;
    mesh->points = malloc((size_t)columns * rows * sizeof *mesh->points);
    mesh->triangles = malloc((size_t)(columns - 1) * (rows - 1) * 6 * sizeof *mesh->triangles);
    if (mesh->points == NULL || mesh->triangles == NULL) {
        return no_memory(mesh, error);
    }
    f32 cell[2] = {width / (f32)(columns - 1), height / (f32)(rows - 1)};
    for (u32 r = 0; r < rows; r++) {
        for (u32 c = 0; c < columns; c++) {
            mesh->points[mesh->point_count++] = vec3((f32)c * cell[0], (f32)r * cell[1], 0.0f);
            if (c + 1 < columns && r + 1 < rows) {
                u32 i = r * columns + c;
                u32 corners[6] = {i, i + 1, i + columns, i + 1, i + columns + 1, i + columns};
                memcpy(mesh->triangles + (size_t)3 * mesh->triangle_count, corners, sizeof corners);
                mesh->triangle_count += 2;
            }
        }
    }
    return ERROR_OK;
}

int soft_mesh_rope(SoftMesh *mesh, u32 points, f32 length, ErrorText *error)
{
    memset(mesh, 0, sizeof *mesh);
    if (points < 2 || points > PARTICLES_MAX) {
        return error_set(error, ERROR_LIMIT, "a rope of %u points: 2 to %d", points, PARTICLES_MAX);
    }
    if (!is_length(length)) {
        return error_set(error, ERROR_RANGE, "a rope of %g m: more than 0, at most %g",
                         (double)length, (double)WORLD_EXTENT_MAX_M);
    }
    mesh->points = malloc(points * sizeof *mesh->points);
    mesh->sticks = malloc((points - 1) * sizeof *mesh->sticks);
    if (mesh->points == NULL || mesh->sticks == NULL) {
        return no_memory(mesh, error);
    }
    f32 part = length / (f32)(points - 1);
    for (u32 i = 0; i < points; i++) {
        mesh->points[i] = vec3((f32)i * part, 0.0f, 0.0f);
        if (i > 0) {
            mesh->sticks[i - 1] = (SoftStick){i - 1, i, part, part};
        }
    }
    mesh->point_count = points;
    mesh->stick_count = points - 1;
    return ERROR_OK;
}
