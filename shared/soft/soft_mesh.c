/* soft_mesh.c: creation and destruction of a soft mesh, its measures, its edges; rectangles and
 * ropes. */
#include "shared/soft/soft_mesh_make.h"

#include "shared/base/limits.h"
#include "shared/math/vec3d.h"

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

int soft_mesh_no_memory(SoftMesh *mesh, ErrorText *error)
{
    soft_mesh_finish(mesh);
    return error_set(error, ERROR_MEMORY, "out of memory for a soft mesh");
}

u32 soft_mesh_ring_length(const SoftMesh *mesh)
{
    if (mesh->triangle_count != 0 || mesh->tetrahedron_count != 0) {
        return 0;
    }
    for (u32 i = 0; i < mesh->stick_count; i++) {
        const SoftStick *stick = &mesh->sticks[i];
        if (stick->low != stick->high || (i > 0 && stick->a != stick[-1].b)) {
            return 0;
        }
        if (stick->b == mesh->sticks[0].a) {
            return i >= 2 ? i + 1 : 0;
        }
    }
    return 0;
}

bool soft_mesh_is_length(f32 x)
{
    return x > 0.0f && x <= WORLD_EXTENT_MAX_M;
}

int soft_mesh_begin(SoftMesh *mesh, size_t points, size_t triangles, size_t tetrahedra,
                    ErrorText *error)
{
    memset(mesh, 0, sizeof *mesh);
    mesh->points = malloc(points * sizeof *mesh->points);
    mesh->triangles = triangles == 0 ? NULL : malloc(3 * triangles * sizeof *mesh->triangles);
    mesh->tetrahedra = tetrahedra == 0 ? NULL : malloc(4 * tetrahedra * sizeof *mesh->tetrahedra);
    if (mesh->points == NULL || (triangles > 0 && mesh->triangles == NULL) ||
        (tetrahedra > 0 && mesh->tetrahedra == NULL)) {
        return soft_mesh_no_memory(mesh, error);
    }
    return ERROR_OK;
}

f64 soft_mesh_volume(const SoftMesh *mesh)
{
    f64 sum = 0.0;
    if (!mesh->closed || mesh->triangle_count == 0) {
        return 0.0;
    }
    Vec3 o = mesh->points[mesh->triangles[0]];
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        Vec3d p[3];
        for (u32 i = 0; i < 3; i++) {
            p[i] = vec3d_between(o, mesh->points[mesh->triangles[3 * (size_t)t + i]]);
        }
        sum += vec3d_triple(p[0], p[1], p[2]);
    }
    return sum / 6.0;
}

void soft_mesh_skin_points(const SoftMesh *mesh, const Vec3 *points, Vec3 *out)
{
    for (u32 i = 0; i < mesh->skin_count; i++) {
        const SoftBind *bind = &mesh->skin[i];
        Vec3 sum = vec3_scale(points[bind->point[0]], bind->weight[0]);
        for (u32 k = 1; k < 4; k++) {
            sum = vec3_add_scaled(sum, bind->weight[k], points[bind->point[k]]);
        }
        out[i] = sum;
    }
}

static int compare_sides(const void *left, const void *right)
{
    const SurfaceSide *a = left, *b = right;
    if (a->high != b->high) {
        return a->high < b->high ? -1 : 1;
    }
    if (a->third != b->third) {
        return a->third < b->third ? -1 : 1;
    }
    return a->side < b->side ? -1 : a->side > b->side ? 1 : 0;
}

bool surface_edges_build(SurfaceEdges *edges, const u32 *triangles, u32 triangle_count,
                         u32 point_count, const u8 *skip)
{
    edges->start = calloc((size_t)point_count + 2, sizeof *edges->start);
    edges->sides = malloc((3 * (size_t)triangle_count + 1) * sizeof *edges->sides);
    if (edges->start == NULL || edges->sides == NULL) {
        return false;
    }
    /* Counted one entry further on, so that filling leaves every start in its place. */
    for (int pass = 0; pass < 2; pass++) {
        for (u32 side = 0; side < 3 * triangle_count; side++) {
            if (skip != NULL && skip[side / 3]) {
                continue;
            }
            u32 first = side - side % 3;
            u32 a = triangles[side], b = triangles[first + (side + 1) % 3];
            u32 c = triangles[first + (side + 2) % 3];
            u32 *at = &edges->start[u32_min(a, b) + (pass == 0 ? 2 : 1)];
            if (pass == 1) {
                edges->sides[*at] = (SurfaceSide){u32_max(a, b), c, side};
            }
            ++*at;
        }
        for (u32 i = 1; pass == 0 && i < point_count + 2; i++) {
            edges->start[i] += edges->start[i - 1];
        }
    }
    for (u32 i = 0; i < point_count; i++) {
        u32 first = edges->start[i], count = edges->start[i + 1] - first;
        qsort(&edges->sides[first], count, sizeof *edges->sides, compare_sides);
    }
    return true;
}

void surface_edges_finish(SurfaceEdges *edges)
{
    free(edges->start);
    free(edges->sides);
    edges->start = NULL;
    edges->sides = NULL;
}

int soft_mesh_grid(SoftMesh *mesh, u32 columns, u32 rows, f32 width, f32 height, ErrorText *error)
{
    memset(mesh, 0, sizeof *mesh);
    if (columns < 2 || rows < 2 || (u64)columns * rows > PARTICLES_MAX) {
        return error_set(error, ERROR_LIMIT, "%u x %u points: 2 to %d each way and in all", columns,
                         rows, PARTICLES_MAX);
    }
    if (!soft_mesh_is_length(width) || !soft_mesh_is_length(height)) {
        return error_set(error, ERROR_RANGE, "size %g x %g m: more than 0, at most %g",
                         (double)width, (double)height, (double)WORLD_EXTENT_MAX_M);
    }
    mesh->grid[0] = columns;
    mesh->grid[1] = rows;
    mesh->points = malloc((size_t)columns * rows * sizeof *mesh->points);
    mesh->triangles = malloc((size_t)(columns - 1) * (rows - 1) * 6 * sizeof *mesh->triangles);
    if (mesh->points == NULL || mesh->triangles == NULL) {
        return soft_mesh_no_memory(mesh, error);
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
    if (!soft_mesh_is_length(length)) {
        return error_set(error, ERROR_RANGE, "a rope of %g m: more than 0, at most %g",
                         (double)length, (double)WORLD_EXTENT_MAX_M);
    }
    mesh->points = malloc(points * sizeof *mesh->points);
    mesh->sticks = malloc((points - 1) * sizeof *mesh->sticks);
    if (mesh->points == NULL || mesh->sticks == NULL) {
        return soft_mesh_no_memory(mesh, error);
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
