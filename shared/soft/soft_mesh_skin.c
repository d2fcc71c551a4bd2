/*
 * soft_mesh_skin.c: binds the points of a drawn mesh to the nearest tetrahedron or triangle of the
 * simulated one, found with a tree of their bounds.
 */
#include "shared/geometry/mesh_bvh.h"
#include "shared/math/vec3d.h"
#include "shared/soft/soft_mesh_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STACK_SIZE = 64, /* maximal depth of mesh_bvh.c's trees */
    /* A point higher above a triangle than this multiple of the mesh's depth below it stays in
     * the triangle's plane instead: the lever arm would amplify its motion too much. */
    LEVER_MAX = 4,
    AXES = 13
};

typedef struct Binder {
    const SoftMesh *mesh;
    TriangleMesh tree; /* degenerate triangles spanning the bounds of each element */
    bool solid;        /* elements are tetrahedra */
    u32 far[2 * AXES]; /* extreme points in several directions */
} Binder;

/* ---- distances ---------------------------------------------------------------------------- */

static f64 clamp01(f64 x)
{
    return x > 0.0 ? fmin(x, 1.0) : 0.0; /* 0 for NaN, for an edge without length */
}

static f64 segment_distance2(Vec3d p, Vec3d a, Vec3d b)
{
    Vec3d ab = vec3d_sub(b, a), ap = vec3d_sub(p, a);
    Vec3d d = vec3d_sub(ap, vec3d_scale(ab, clamp01(vec3d_dot(ap, ab) / vec3d_dot(ab, ab))));
    return vec3d_dot(d, d);
}

/* Squared distance of a point from a triangle. */
static f64 triangle_distance2(Vec3d p, Vec3d a, Vec3d b, Vec3d c)
{
    Vec3d n = vec3d_cross(vec3d_sub(b, a), vec3d_sub(c, a)), ap = vec3d_sub(p, a);
    f64 area = vec3d_dot(n, n);
    bool inside = area > 0.0 && vec3d_dot(vec3d_cross(vec3d_sub(b, a), ap), n) >= 0.0 &&
                  vec3d_dot(vec3d_cross(vec3d_sub(c, b), vec3d_sub(p, b)), n) >= 0.0 &&
                  vec3d_dot(vec3d_cross(vec3d_sub(a, c), vec3d_sub(p, c)), n) >= 0.0;
    if (inside) {
        f64 height = vec3d_dot(ap, n);
        return height * height / area;
    }
    return fmin(segment_distance2(p, a, b),
                fmin(segment_distance2(p, b, c), segment_distance2(p, c, a)));
}

/* Barycentric coordinates; false if the four points are coplanar. */
static bool weigh(Vec3d p, const Vec3d corner[4], f64 weight[4])
{
    Vec3d b = vec3d_sub(corner[1], corner[0]), c = vec3d_sub(corner[2], corner[0]);
    Vec3d d = vec3d_sub(corner[3], corner[0]), q = vec3d_sub(p, corner[0]);
    Vec3d cd = vec3d_cross(c, d), db = vec3d_cross(d, b), bc = vec3d_cross(b, c);
    f64 volume = vec3d_dot(b, cd);
    f64 size = sqrt(vec3d_dot(b, b) * vec3d_dot(c, c) * vec3d_dot(d, d));
    if (!(fabs(volume) > 1e-9 * size)) {
        return false;
    }
    weight[1] = vec3d_dot(q, cd) / volume;
    weight[2] = vec3d_dot(q, db) / volume;
    weight[3] = vec3d_dot(q, bc) / volume;
    weight[0] = 1.0 - weight[1] - weight[2] - weight[3];
    return true;
}

static void corners_of(const Binder *binder, u32 element, u32 count, Vec3d corner[4])
{
    const u32 *index = binder->solid ? &binder->mesh->tetrahedra[4 * (size_t)element]
                                     : &binder->mesh->triangles[3 * (size_t)element];
    for (u32 i = 0; i < count; i++) {
        corner[i] = vec3d_from(binder->mesh->points[index[i]]);
    }
}

/* Squared; infinite for a flat element, to which nothing can be bound. */
static f64 element_distance2(const Binder *binder, u32 element, Vec3d p)
{
    Vec3d c[4];
    corners_of(binder, element, binder->solid ? 4 : 3, c);
    if (!binder->solid) {
        Vec3d n = vec3d_cross(vec3d_sub(c[1], c[0]), vec3d_sub(c[2], c[0]));
        return vec3d_dot(n, n) > 0.0 ? triangle_distance2(p, c[0], c[1], c[2]) : INFINITY;
    }
    f64 weight[4], nearest = INFINITY;
    if (!weigh(p, c, weight)) {
        return INFINITY;
    }
    for (u32 i = 0; i < 4; i++) {
        if (weight[i] < 0.0) {
            nearest = fmin(nearest,
                           triangle_distance2(p, c[(i + 1) % 4], c[(i + 2) % 4], c[(i + 3) % 4]));
        }
    }
    return nearest < INFINITY ? nearest : 0.0;
}

static f64 outside(f64 x, f32 low, f32 high)
{
    return x < (f64)low ? (f64)low - x : x > (f64)high ? x - (f64)high : 0.0;
}

static f64 bounds_distance2(Bounds b, Vec3d p)
{
    f64 x = outside(p.x, b.min.x, b.max.x), y = outside(p.y, b.min.y, b.max.y);
    f64 z = outside(p.z, b.min.z, b.max.z);
    return x * x + y * y + z * z;
}

/* ---- search ------------------------------------------------------------------------------- */

static bool nearest_element(const Binder *binder, Vec3d p, u32 *element)
{
    const TriangleMesh *tree = &binder->tree;
    u32 stack[STACK_SIZE], depth = 0;
    f64 nearest = INFINITY;
    stack[depth++] = 0;
    while (depth > 0 && nearest > 0.0) {
        u32 index = stack[--depth];
        const MeshNode *node = &tree->nodes[index];
        if (bounds_distance2(node->bounds, p) >= nearest) {
            continue;
        }
        if (node->count == 0) {
            bool swap = bounds_distance2(tree->nodes[index + 1].bounds, p) >
                        bounds_distance2(tree->nodes[node->first].bounds, p);
            stack[depth++] = swap ? index + 1 : node->first;
            stack[depth++] = swap ? node->first : index + 1;
            continue;
        }
        for (u32 i = node->first; i < node->first + node->count; i++) {
            f64 distance = element_distance2(binder, tree->order[i], p);
            if (distance < nearest) {
                nearest = distance;
                *element = tree->order[i];
            }
        }
    }
    return nearest < INFINITY;
}

static bool build_tree(Binder *binder)
{
    const SoftMesh *mesh = binder->mesh;
    TriangleMesh *tree = &binder->tree;
    u32 corners = binder->solid ? 4 : 3;
    const u32 *index = binder->solid ? mesh->tetrahedra : mesh->triangles;
    tree->triangle_count = binder->solid ? mesh->tetrahedron_count : mesh->triangle_count;
    tree->vertex_count = 2 * tree->triangle_count;
    tree->vertices = malloc(tree->vertex_count * sizeof *tree->vertices);
    tree->triangles = malloc(3 * (size_t)tree->triangle_count * sizeof *tree->triangles);
    tree->edge_flags = calloc(tree->triangle_count, 1);
    if (tree->vertices == NULL || tree->triangles == NULL || tree->edge_flags == NULL) {
        return false;
    }
    for (u32 e = 0; e < tree->triangle_count; e++) {
        Vec3 low = mesh->points[index[(size_t)corners * e]], high = low;
        for (u32 i = 1; i < corners; i++) {
            low = vec3_min(low, mesh->points[index[(size_t)corners * e + i]]);
            high = vec3_max(high, mesh->points[index[(size_t)corners * e + i]]);
        }
        tree->vertices[2 * e] = low;
        tree->vertices[2 * e + 1] = high;
        u32 *triangle = &tree->triangles[3 * (size_t)e];
        triangle[0] = triangle[2] = 2 * e;
        triangle[1] = 2 * e + 1;
    }
    return mesh_bvh_build(tree);
}

static void find_far_points(Binder *binder)
{
    static const i8 axes[AXES][3] = {{1, 0, 0},  {0, 1, 0},  {0, 0, 1},  {1, 1, 0},  {1, -1, 0},
                                     {1, 0, 1},  {1, 0, -1}, {0, 1, 1},  {0, 1, -1}, {1, 1, 1},
                                     {1, 1, -1}, {1, -1, 1}, {1, -1, -1}};
    const Vec3 *points = binder->mesh->points;
    for (u32 i = 0; i < 2 * AXES; i++) {
        f32 sign = i % 2 == 0 ? 1.0f : -1.0f, farthest = -INFINITY;
        Vec3 axis = vec3(sign * axes[i / 2][0], sign * axes[i / 2][1], sign * axes[i / 2][2]);
        for (u32 p = 0; p < binder->mesh->point_count; p++) {
            f32 x = vec3_dot(axis, points[p]);
            if (x > farthest) {
                farthest = x;
                binder->far[i] = p;
            }
        }
    }
}

/* ---- bonds -------------------------------------------------------------------------------- */

/* A triangle's fourth point is the extreme point farthest from its plane, so that points above
 * the triangle stay above it. */
static void bind_to_triangle(const Binder *binder, u32 element, Vec3d p, SoftBind *bind,
                             f64 weight[4])
{
    Vec3d c[4];
    corners_of(binder, element, 3, c);
    memcpy(bind->point, &binder->mesh->triangles[3 * (size_t)element], 3 * sizeof(u32));
    Vec3d n = vec3d_cross(vec3d_sub(c[1], c[0]), vec3d_sub(c[2], c[0]));
    f64 highest = 0.0;
    bind->point[3] = bind->point[0];
    c[3] = c[0];
    for (u32 i = 0; i < 2 * AXES; i++) {
        Vec3d q = vec3d_from(binder->mesh->points[binder->far[i]]);
        f64 height = fabs(vec3d_dot(n, vec3d_sub(q, c[0])));
        if (height > highest) {
            highest = height;
            bind->point[3] = binder->far[i];
            c[3] = q;
        }
    }
    if (weigh(p, c, weight) && fabs(weight[3]) <= LEVER_MAX) {
        return;
    }
    /* For the projection of p onto the triangle's plane. */
    f64 area = vec3d_dot(n, n);
    Vec3d q = vec3d_sub(p, c[0]);
    weight[1] = vec3d_dot(vec3d_cross(q, vec3d_sub(c[2], c[0])), n) / area;
    weight[2] = vec3d_dot(vec3d_cross(vec3d_sub(c[1], c[0]), q), n) / area;
    weight[3] = 0.0;
    bind->point[3] = bind->point[0];
}

static bool bind_point(const Binder *binder, Vec3 point, SoftBind *bind)
{
    Vec3d p = vec3d_from(point), corner[4];
    f64 weight[4];
    u32 element = 0;
    if (!nearest_element(binder, p, &element)) {
        return false;
    }
    if (binder->solid) {
        corners_of(binder, element, 4, corner);
        weigh(p, corner, weight);
        memcpy(bind->point, &binder->mesh->tetrahedra[4 * (size_t)element], sizeof bind->point);
    } else {
        bind_to_triangle(binder, element, p, bind, weight);
    }
    for (u32 i = 1; i < 4; i++) {
        bind->weight[i] = (f32)weight[i];
    }
    bind->weight[0] = 1.0f - (bind->weight[1] + bind->weight[2] + bind->weight[3]);
    return true;
}

static int bind_all(Binder *binder, const SoftMesh *display, SoftBind *skin, ErrorText *error)
{
    if (!build_tree(binder)) {
        return error_set(error, ERROR_MEMORY, "out of memory for a skin");
    }
    if (!binder->solid) {
        find_far_points(binder);
    }
    for (u32 i = 0; i < display->point_count; i++) {
        if (!bind_point(binder, display->points[i], &skin[i])) {
            return error_set(error, ERROR_RANGE, "skin: nothing to bind point %u to", i);
        }
    }
    return ERROR_OK;
}

int soft_mesh_skin(SoftMesh *mesh, const SoftMesh *display, ErrorText *error)
{
    Binder binder = {.mesh = mesh, .solid = mesh->tetrahedron_count > 0};
    free(mesh->skin);
    free(mesh->skin_triangles);
    mesh->skin = NULL;
    mesh->skin_triangles = NULL;
    mesh->skin_count = mesh->skin_triangle_count = 0;
    if (mesh->tetrahedron_count == 0 && mesh->triangle_count == 0) {
        return error_set(error, ERROR_STATE, "skin: no surface to bind it to");
    }
    if (display->point_count == 0 || display->triangle_count == 0) {
        return error_set(error, ERROR_RANGE, "skin: nothing to draw");
    }
    size_t corners = 3 * (size_t)display->triangle_count;
    SoftBind *skin = malloc(display->point_count * sizeof *skin);
    u32 *triangles = malloc(corners * sizeof *triangles);
    int code = skin == NULL || triangles == NULL
                   ? error_set(error, ERROR_MEMORY, "out of memory for a skin")
                   : bind_all(&binder, display, skin, error);
    free(binder.tree.vertices);
    free(binder.tree.triangles);
    free(binder.tree.edge_flags);
    free(binder.tree.order);
    free(binder.tree.nodes);
    if (code != ERROR_OK) {
        free(skin);
        free(triangles);
        return code;
    }
    memcpy(triangles, display->triangles, corners * sizeof *triangles);
    mesh->skin = skin;
    mesh->skin_count = display->point_count;
    mesh->skin_triangles = triangles;
    mesh->skin_triangle_count = display->triangle_count;
    return ERROR_OK;
}
