/* shape_mesh.c: see shape_mesh.h. */
#include "server/export/shape_mesh.h"

#include "shared/math/quat.h"
#include "shared/math/trig.h"
#include "shared/mesh/mesh_surface.h"

#include <string.h>

enum {
    SEGMENTS = 32, /* around a ball's axis, like the cylinders of mesh_shapes.h */
    RINGS = 16,    /* from pole to pole; even */
};

/* A ball cut at its equator, the halves moved apart along y by half_height each. */
static Error ball_mesh(SurfaceMesh *surface, f32 radius, f32 half_height)
{
    const u32 rows = RINGS + 2; /* the equator is there twice */
    Error result =
        surface_begin(surface, (size_t)rows * (SEGMENTS + 1), (size_t)6 * (rows - 1) * SEGMENTS);
    if (result != ERROR_OK) {
        return result;
    }
    for (u32 row = 0; row < rows; row++) {
        u32 ring = row <= RINGS / 2 ? row : row - 1;
        f64 ys, yc;
        trig_sincos(3.14159265358979 * ring / RINGS, &ys, &yc);
        for (u32 i = 0; i <= SEGMENTS; i++) {
            f64 s, c;
            trig_sincos(2.0 * 3.14159265358979 * (i % SEGMENTS) / SEGMENTS, &s, &c);
            Vec3 normal = vec3((f32)(ys * c), (f32)yc, (f32)(-ys * s));
            Vec3 at = vec3_scale(normal, radius);
            at.y += row <= RINGS / 2 ? half_height : -half_height;
            add_vertex(surface, at, normal);
        }
    }
    for (u32 row = 0; row + 1 < rows; row++) {
        if (row == RINGS / 2 && half_height <= 0.0f) {
            continue; /* nothing is between the equators */
        }
        for (u32 i = 0; i < SEGMENTS; i++) {
            u32 a = row * (SEGMENTS + 1) + i, b = a + SEGMENTS + 1;
            if (row != 0) {
                add_triangle(surface, a, b, a + 1);
            }
            if (row + 2 != rows) {
                add_triangle(surface, a + 1, b, b + 1);
            }
        }
    }
    return ERROR_OK;
}

static Error box_mesh(SurfaceMesh *surface, Vec3 half)
{
    Error result = surface_begin(surface, 24, 36);
    if (result != ERROR_OK) {
        return result;
    }
    const f32 h[3] = {half.x, half.y, half.z};
    for (u32 axis = 0; axis < 3; axis++) {
        u32 u = (axis + 1) % 3, v = (axis + 2) % 3;
        for (i32 side = -1; side <= 1; side += 2) {
            f32 normal[3] = {0.0f, 0.0f, 0.0f};
            normal[axis] = (f32)side;
            u32 corner[4];
            for (u32 i = 0; i < 4; i++) {
                /* Counter-clockwise about the axis. */
                f32 at[3];
                at[axis] = (f32)side * h[axis];
                at[u] = i == 0 || i == 3 ? -h[u] : h[u];
                at[v] = i < 2 ? -h[v] : h[v];
                corner[i] = add_vertex(surface, vec3(at[0], at[1], at[2]),
                                       vec3(normal[0], normal[1], normal[2]));
            }
            add_quad(surface, corner[0], corner[side > 0 ? 1 : 3], corner[2],
                     corner[side > 0 ? 3 : 1]);
        }
    }
    return ERROR_OK;
}

static Error plane_mesh(SurfaceMesh *surface)
{
    Error result = surface_begin(surface, 4, 6);
    if (result != ERROR_OK) {
        return result;
    }
    const f32 h = EXPORT_PLANE_HALF_M;
    const Vec3 up = {0.0f, 1.0f, 0.0f};
    u32 a = add_vertex(surface, vec3(-h, 0.0f, -h), up);
    u32 b = add_vertex(surface, vec3(-h, 0.0f, h), up);
    u32 c = add_vertex(surface, vec3(h, 0.0f, h), up);
    u32 d = add_vertex(surface, vec3(h, 0.0f, -h), up);
    add_quad(surface, a, b, c, d);
    return ERROR_OK;
}

static Error compound_mesh(SurfaceMesh *surface, const Compound *compound)
{
    SurfaceMesh parts[COMPOUND_CHILDREN_MAX] = {0};
    size_t vertices = 0, indices = 0;
    Error result = ERROR_OK;
    u32 count = u32_min(compound->child_count, COMPOUND_CHILDREN_MAX);
    for (u32 i = 0; i < count && result == ERROR_OK; i++) {
        result = export_shape_mesh(&parts[i], &compound->children[i].shape);
        vertices += parts[i].vertex_count;
        indices += parts[i].index_count;
    }
    if (result == ERROR_OK && vertices > 0 && indices > 0) {
        result = surface_begin(surface, vertices, indices);
    }
    for (u32 i = 0; i < count; i++) {
        const CompoundChild *child = &compound->children[i];
        u32 first = surface->vertex_count;
        for (u32 v = 0; result == ERROR_OK && v < parts[i].vertex_count; v++) {
            add_vertex(
                surface,
                vec3_add(child->position, quat_rotate(child->orientation, parts[i].positions[v])),
                quat_rotate(child->orientation, parts[i].normals[v]));
        }
        for (u32 t = 0; result == ERROR_OK && t < parts[i].index_count; t += 3) {
            const u32 *index = &parts[i].indices[t];
            add_triangle(surface, first + index[0], first + index[1], first + index[2]);
        }
        surface_mesh_finish(&parts[i]);
    }
    return result;
}

Error export_shape_mesh(SurfaceMesh *surface, const Shape *shape)
{
    memset(surface, 0, sizeof *surface);
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return ball_mesh(surface, shape->radius, 0.0f);
    case SHAPE_CAPSULE:
        return ball_mesh(surface, shape->radius, shape->half_height);
    case SHAPE_BOX:
        return box_mesh(surface, shape->half);
    case SHAPE_PLANE:
        return plane_mesh(surface);
    case SHAPE_COMPOUND:
        return compound_mesh(surface, &shape->geometry->compound);
    case SHAPE_NONE:
        return ERROR_OK;
    default:
        return surface_mesh_shape(surface, shape);
    }
}

void export_normals(const Vec3 *points, u32 vertex_count, const u32 *triangles, u32 index_count,
                    Vec3 *normals)
{
    memset(normals, 0, vertex_count * sizeof *normals);
    for (u32 i = 0; i + 2 < index_count; i += 3) {
        u32 a = triangles[i], b = triangles[i + 1], c = triangles[i + 2];
        Vec3 area = vec3_cross(vec3_sub(points[b], points[a]), vec3_sub(points[c], points[a]));
        normals[a] = vec3_add(normals[a], area);
        normals[b] = vec3_add(normals[b], area);
        normals[c] = vec3_add(normals[c], area);
    }
    for (u32 i = 0; i < vertex_count; i++) {
        normals[i] = vec3_normalize_or(normals[i], vec3(0.0f, 1.0f, 0.0f));
    }
}
