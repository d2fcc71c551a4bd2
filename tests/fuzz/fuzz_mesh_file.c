/*
 * fuzz_mesh_file.c: the readers of mesh files on hostile bytes, what soft_mesh_triangles makes of
 * what they read, and, for small closed surfaces, the tetrahedra inside and the skin over them.
 */
#include "server/author/mesh_file.h"
#include "shared/base/limits.h"
#include "shared/soft/tetrahedralize.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>

enum {
    FILLED_TRIANGLES_MAX = 400
};

static void demand(bool condition)
{
    if (!condition) {
        __builtin_trap();
    }
}

static void check_surface(const SoftMesh *mesh, const SoftRepair *repair, const MeshFile *file)
{
    demand(mesh->point_count >= 3 && mesh->triangle_count >= 1);
    demand(mesh->point_count + repair->welded + repair->unused == file->vertex_count);
    demand(mesh->triangle_count <= file->triangle_count);
    for (u32 i = 0; i < 3 * mesh->triangle_count; i++) {
        demand(mesh->triangles[i] < mesh->point_count);
    }
    demand(!mesh->closed || soft_mesh_volume(mesh) == soft_mesh_volume(mesh));
}

static void check_filled(const SoftMesh *mesh, const SoftMesh *surface)
{
    demand(mesh->tetrahedron_count > 0 && mesh->triangle_count > 0 && mesh->closed);
    /* Numbers far from 0 leave no digits for the angles. */
    demand(mesh->dihedral_degrees >= 0.0f && mesh->dihedral_degrees <= 60.001f);
    demand(mesh->skin_count == surface->point_count);
    for (u32 i = 0; i < 4 * mesh->tetrahedron_count; i++) {
        demand(mesh->tetrahedra[i] < mesh->point_count);
    }
    for (u32 i = 0; i < mesh->skin_count; i++) {
        for (u32 k = 0; k < 4; k++) {
            demand(mesh->skin[i].point[k] < mesh->point_count);
        }
    }
    Vec3 *skin = malloc(mesh->skin_count * sizeof *skin);
    if (skin != NULL) {
        soft_mesh_skin_points(mesh, mesh->points, skin);
    }
    free(skin);
}

static void run(const u8 *data, size_t bytes)
{
    static const char *const names[] = {"any", "a.obj", "a.ply", "a.asc"};
    MeshFile file;
    SoftMesh surface, filled;
    SoftRepair repair;
    ErrorText error = {0};
    if (bytes == 0) {
        return;
    }
    const char *name = names[data[0] % PL_COUNT(names)];
    u32 resolution = 2 + (data[0] >> 2) % 8;
    if (mesh_file_read(&file, data + 1, bytes - 1, name, &error) != ERROR_OK) {
        demand(error.code < 0 && error.text[0] != 0 && file.vertices == NULL);
        return;
    }
    demand(file.vertex_count <= MESH_FILE_VERTICES_MAX && file.triangle_count > 0);
    for (u32 i = 0; i < file.vertex_count; i++) {
        demand(vec3_is_finite(file.vertices[i]));
    }
    for (u32 i = 0; i < 3 * file.triangle_count; i++) {
        demand(file.triangles[i] < file.vertex_count);
    }
    if (soft_mesh_triangles(&surface, file.vertices, file.vertex_count, file.triangles,
                            file.triangle_count, &repair, &error) == ERROR_OK) {
        check_surface(&surface, &repair, &file);
        if (surface.triangle_count <= FILLED_TRIANGLES_MAX) {
            if (tetrahedralize(&filled, &surface, resolution, &error) == ERROR_OK) {
                demand(surface.closed);
                check_filled(&filled, &surface);
            } else {
                demand(error.code < 0 && error.text[0] != 0 && filled.points == NULL);
            }
            soft_mesh_finish(&filled);
            if (soft_mesh_skin(&surface, &surface, &error) == ERROR_OK) {
                demand(surface.skin_count == surface.point_count);
            }
        }
        soft_mesh_finish(&surface);
    } else {
        demand(error.code < 0 && error.text[0] != 0 && surface.points == NULL);
    }
    mesh_file_finish(&file);
}

const FuzzTarget fuzz_target = {
    .run = run, .size_max = 1 << 20, .memory_fixed = 32 << 20, .memory_each = 1 << 10};
