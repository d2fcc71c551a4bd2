/*
 * mesh.c: boxes with one-segment bevels, latitude-longitude spheres split into capsules,
 * icospheres.
 */
#include "client/view/mesh.h"

#include "shared/mesh/mesh_shapes.h"

#include <stdlib.h>
#include <string.h>

static int mesh_reserve(Mesh *mesh, u32 vertices, u32 indices)
{
    mesh->vertices = calloc(vertices, sizeof *mesh->vertices);
    mesh->indices = calloc(indices, sizeof *mesh->indices);
    if (!mesh->vertices || !mesh->indices) {
        mesh_finish(mesh);
        return ERROR_MEMORY;
    }
    return 0;
}

static void mesh_face(Mesh *mesh, u32 a, u32 b, u32 c)
{
    u32 *out = mesh->indices + mesh->index_count;
    out[0] = a;
    out[1] = b;
    out[2] = c;
    mesh->index_count += 3;
}

static f32 component(Vec3 v, u32 axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* Orients the triangle along the mean of its corners' normals. */
static void mesh_face_outward(Mesh *mesh, u32 a, u32 b, u32 c)
{
    const MeshVertex *v = mesh->vertices;
    /* Any core and radius give the same winding: use a half of 1 and a bevel of 0.1. */
    Vec3 pa = vec3_add_scaled(v[a].corner, 0.1f, v[a].normal);
    Vec3 pb = vec3_add_scaled(v[b].corner, 0.1f, v[b].normal);
    Vec3 pc = vec3_add_scaled(v[c].corner, 0.1f, v[c].normal);
    Vec3 normal = vec3_cross(vec3_sub(pb, pa), vec3_sub(pc, pa));
    Vec3 out = vec3_add(v[a].normal, vec3_add(v[b].normal, v[c].normal));
    if (vec3_dot(normal, out) >= 0.0f) {
        mesh_face(mesh, a, b, c);
    } else {
        mesh_face(mesh, a, c, b);
    }
}

/* Vertex of the box's corner (bits x, y, z set: positive) on the face along `axis`. */
static u32 box_vertex(u32 corner, u32 axis)
{
    return 3 * corner + axis;
}

static int mesh_box(Mesh *mesh)
{
    if (mesh_reserve(mesh, 24, 3 * 44) != 0) {
        return ERROR_MEMORY;
    }
    mesh->vertex_count = 24;
    for (u32 c = 0; c < 8; c++) {
        Vec3 corner = vec3(c & 1 ? 1.0f : -1.0f, c & 2 ? 1.0f : -1.0f, c & 4 ? 1.0f : -1.0f);
        for (u32 axis = 0; axis < 3; axis++) {
            MeshVertex *v = &mesh->vertices[box_vertex(c, axis)];
            v->corner = corner;
            f32 sign = component(corner, axis);
            v->normal =
                vec3(axis == 0 ? sign : 0.0f, axis == 1 ? sign : 0.0f, axis == 2 ? sign : 0.0f);
        }
    }
    for (u32 axis = 0; axis < 3; axis++) {
        u32 u = 1u << (axis + 1) % 3, v = 1u << (axis + 2) % 3;
        for (u32 side = 0; side < 2; side++) {
            u32 base = side << axis;
            mesh_face_outward(mesh, box_vertex(base, axis), box_vertex(base | u, axis),
                              box_vertex(base | u | v, axis));
            mesh_face_outward(mesh, box_vertex(base, axis), box_vertex(base | u | v, axis),
                              box_vertex(base | v, axis));
        }
        /* The four edges along this axis: a strip between the two adjacent faces. */
        u32 f = (axis + 1) % 3, g = (axis + 2) % 3;
        for (u32 edge = 0; edge < 4; edge++) {
            u32 low = (edge & 1 ? u : 0) | (edge & 2 ? v : 0), high = low | 1u << axis;
            mesh_face_outward(mesh, box_vertex(low, f), box_vertex(high, f), box_vertex(high, g));
            mesh_face_outward(mesh, box_vertex(low, f), box_vertex(high, g), box_vertex(low, g));
        }
    }
    for (u32 c = 0; c < 8; c++) {
        mesh_face_outward(mesh, box_vertex(c, 0), box_vertex(c, 1), box_vertex(c, 2));
    }
    return 0;
}

/* The midpoint of an icosphere edge, shared by both triangles. */
static u32 sphere_middle(Mesh *mesh, u32 a, u32 b)
{
    Vec3 n = vec3_normalize_or(vec3_add(mesh->vertices[a].normal, mesh->vertices[b].normal),
                               vec3(0.0f, 1.0f, 0.0f));
    for (u32 i = 0; i < mesh->vertex_count; i++) {
        if (vec3_length_squared(vec3_sub(mesh->vertices[i].normal, n)) < 1e-10f) {
            return i;
        }
    }
    mesh->vertices[mesh->vertex_count].normal = n;
    return mesh->vertex_count++;
}

static int mesh_sphere(Mesh *mesh, u32 divisions)
{
    u32 triangles = 20u << 2 * divisions;
    if (mesh_reserve(mesh, triangles / 2 + 2, 3 * triangles) != 0) {
        return ERROR_MEMORY;
    }
    for (u32 i = 0; i < 12; i++) {
        mesh->vertices[i].normal = vec3_normalize_or(ICOSAHEDRON_POINTS[i], ICOSAHEDRON_POINTS[0]);
    }
    mesh->vertex_count = 12;
    for (u32 i = 0; i < 20; i++) {
        const u8 *face = ICOSAHEDRON_FACES[i];
        mesh_face_outward(mesh, face[0], face[1], face[2]);
    }
    u32 *coarse = calloc(3 * triangles, sizeof *coarse);
    if (!coarse) {
        mesh_finish(mesh);
        return ERROR_MEMORY;
    }
    for (u32 d = 0; d < divisions; d++) {
        u32 count = mesh->index_count;
        memcpy(coarse, mesh->indices, count * sizeof *coarse);
        mesh->index_count = 0;
        for (u32 i = 0; i < count; i += 3) {
            u32 a = coarse[i], b = coarse[i + 1], c = coarse[i + 2];
            u32 ab = sphere_middle(mesh, a, b), bc = sphere_middle(mesh, b, c);
            u32 ca = sphere_middle(mesh, c, a);
            mesh_face(mesh, a, ab, ca);
            mesh_face(mesh, b, bc, ab);
            mesh_face(mesh, c, ca, bc);
            mesh_face(mesh, ab, bc, ca);
        }
    }
    free(coarse);
    return 0;
}

enum {
    CAPSULE_SEGMENTS = 24, /* around */
    CAPSULE_RINGS = 6      /* of a cap, pole to equator */
};

static int mesh_capsule(Mesh *mesh)
{
    /* Rings from the upper pole down; each cap has its own equator, connected by the cylinder. */
    u32 rings = 2 * (CAPSULE_RINGS + 1), columns = CAPSULE_SEGMENTS + 1;
    if (mesh_reserve(mesh, rings * columns, (rings - 1) * CAPSULE_SEGMENTS * 6) != 0) {
        return ERROR_MEMORY;
    }
    const f32 quarter = 1.57079633f;
    for (u32 r = 0; r < rings; r++) {
        bool upper = r <= CAPSULE_RINGS;
        f32 polar = quarter / CAPSULE_RINGS * (f32)(upper ? r : r - 1);
        for (u32 s = 0; s < columns; s++) {
            f32 angle = 4.0f * quarter / CAPSULE_SEGMENTS * (f32)s;
            MeshVertex *v = &mesh->vertices[mesh->vertex_count++];
            v->corner = vec3(0.0f, upper ? 1.0f : -1.0f, 0.0f);
            v->normal = vec3(sinf(polar) * cosf(angle), cosf(polar), sinf(polar) * sinf(angle));
        }
    }
    for (u32 r = 0; r + 1 < rings; r++) {
        for (u32 s = 0; s < CAPSULE_SEGMENTS; s++) {
            u32 a = r * columns + s, b = a + columns;
            mesh_face(mesh, a, a + 1, b + 1);
            mesh_face(mesh, a, b + 1, b);
        }
    }
    return 0;
}

static int mesh_plane(Mesh *mesh)
{
    /* Several quads, so that interpolation over kilometres stays accurate near the eye. */
    enum {
        EDGE = 16
    };
    if (mesh_reserve(mesh, (EDGE + 1) * (EDGE + 1), EDGE * EDGE * 6) != 0) {
        return ERROR_MEMORY;
    }
    for (u32 j = 0; j <= EDGE; j++) {
        for (u32 i = 0; i <= EDGE; i++) {
            MeshVertex *v = &mesh->vertices[mesh->vertex_count++];
            v->corner = vec3(2.0f * (f32)i / EDGE - 1.0f, 0.0f, 2.0f * (f32)j / EDGE - 1.0f);
            v->normal = vec3(0.0f, 1.0f, 0.0f);
        }
    }
    for (u32 j = 0; j < EDGE; j++) {
        for (u32 i = 0; i < EDGE; i++) {
            u32 a = j * (EDGE + 1) + i, b = a + EDGE + 1;
            mesh_face(mesh, a, b, b + 1);
            mesh_face(mesh, a, b + 1, a + 1);
        }
    }
    return 0;
}

static int mesh_make(Mesh *mesh, MeshKind kind)
{
    switch (kind) {
    case MESH_BOX:
        return mesh_box(mesh);
    case MESH_SPHERE_NEAR:
        return mesh_sphere(mesh, 3);
    case MESH_SPHERE_FAR:
        return mesh_sphere(mesh, 2);
    case MESH_CAPSULE:
        return mesh_capsule(mesh);
    case MESH_PLANE:
        return mesh_plane(mesh);
    default:
        return ERROR_UNSUPPORTED;
    }
}

int mesh_init(Mesh *mesh, MeshKind kind)
{
    memset(mesh, 0, sizeof *mesh);
    int code = mesh_make(mesh, kind);
    for (u32 i = 0; code == 0 && i < mesh->vertex_count; i++) {
        mesh->vertices[i].out = mesh->vertices[i].normal;
    }
    return code;
}

/* Only movable objects, which are small, are ever outlined. */
static void mesh_smooth_out(Mesh *mesh)
{
    const f32 near_m = 1e-5f;
    for (u32 i = 0; i < mesh->vertex_count; i++) {
        MeshVertex *v = &mesh->vertices[i];
        Vec3 sum = v->normal;
        for (u32 k = 0; k < mesh->vertex_count; k++) {
            const MeshVertex *other = &mesh->vertices[k];
            if (k != i && vec3_distance(other->corner, v->corner) < near_m &&
                vec3_dot(other->normal, v->normal) < 0.999f) {
                sum = vec3_add(sum, other->normal);
            }
        }
        v->out = vec3_normalize_or(sum, v->normal);
    }
}

enum {
    OUTLINED_MAX = 4096 /* vertices */
};

int mesh_init_surface(Mesh *mesh, const Shape *shape)
{
    memset(mesh, 0, sizeof *mesh);
    SurfaceMesh surface;
    int code = surface_mesh_shape(&surface, shape);
    if (code != 0) {
        return code;
    }
    if (mesh_reserve(mesh, u32_max(surface.vertex_count, 1), u32_max(surface.index_count, 1)) !=
        0) {
        surface_mesh_finish(&surface);
        return ERROR_MEMORY;
    }
    mesh->vertex_count = surface.vertex_count;
    mesh->index_count = surface.index_count;
    for (u32 i = 0; i < surface.vertex_count; i++) {
        MeshVertex v = {surface.positions[i], surface.normals[i], surface.normals[i]};
        mesh->vertices[i] = v;
    }
    if (surface.index_count > 0) {
        memcpy(mesh->indices, surface.indices, surface.index_count * sizeof *mesh->indices);
    }
    surface_mesh_finish(&surface);
    if (mesh->vertex_count <= OUTLINED_MAX) {
        mesh_smooth_out(mesh);
    }
    return 0;
}

void mesh_finish(Mesh *mesh)
{
    free(mesh->vertices);
    free(mesh->indices);
    memset(mesh, 0, sizeof *mesh);
}
