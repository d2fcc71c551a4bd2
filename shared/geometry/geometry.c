/* geometry.c: creation and destruction of geometries, their memory, and compounds. */
#include "shared/geometry/geometry.h"

#include "shared/base/limits.h"
#include "shared/geometry/geometry_mass.h"

#include <stdlib.h>
#include <string.h>

void geometry_destroy(Geometry *geometry)
{
    if (geometry == NULL) {
        return;
    }
    switch (geometry->kind) {
    case GEOMETRY_HULL:
        free(geometry->hull.vertices);
        free(geometry->hull.normals);
        free(geometry->hull.offsets);
        free(geometry->hull.face_edges);
        free(geometry->hull.edges);
        break;
    case GEOMETRY_MESH:
        free(geometry->mesh.vertices);
        free(geometry->mesh.triangles);
        free(geometry->mesh.edge_flags);
        free(geometry->mesh.order);
        free(geometry->mesh.nodes);
        break;
    case GEOMETRY_TERRAIN:
        free(geometry->terrain.heights);
        free(geometry->terrain.ranges);
        break;
    case GEOMETRY_COMPOUND:
        free(geometry->compound.children);
        break;
    }
    free(geometry);
}

u64 geometry_bytes(const Geometry *geometry)
{
    u64 bytes = sizeof *geometry;
    switch (geometry->kind) {
    case GEOMETRY_HULL: {
        const Hull *hull = &geometry->hull;
        bytes += hull->vertex_count * sizeof *hull->vertices;
        bytes += hull->face_count *
                 (sizeof *hull->normals + sizeof *hull->offsets + sizeof *hull->face_edges);
        bytes += hull->edge_count * sizeof *hull->edges;
        break;
    }
    case GEOMETRY_MESH: {
        const TriangleMesh *mesh = &geometry->mesh;
        bytes += mesh->vertex_count * sizeof *mesh->vertices;
        bytes += mesh->triangle_count *
                 (3 * sizeof *mesh->triangles + sizeof *mesh->edge_flags + sizeof *mesh->order);
        bytes += mesh->node_count * sizeof *mesh->nodes;
        break;
    }
    case GEOMETRY_TERRAIN: {
        const Terrain *terrain = &geometry->terrain;
        bytes += (u64)terrain->columns * terrain->rows * sizeof *terrain->heights;
        bytes += (u64)terrain->range_count * 2 * sizeof *terrain->ranges;
        break;
    }
    case GEOMETRY_COMPOUND:
        bytes += geometry->compound.child_count * sizeof *geometry->compound.children;
        break;
    }
    return bytes;
}

/* ---- compounds ---- */

static bool in_world(Vec3 v)
{
    Vec3 a = vec3_abs(v);
    return a.x <= WORLD_EXTENT_MAX_M && a.y <= WORLD_EXTENT_MAX_M && a.z <= WORLD_EXTENT_MAX_M;
}

static bool is_size(f32 x)
{
    return x > 0.0f && x <= WORLD_EXTENT_MAX_M;
}

static bool sizes_are_right(const Shape *shape)
{
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return is_size(shape->radius);
    case SHAPE_BOX:
        return is_size(shape->half.x) && is_size(shape->half.y) && is_size(shape->half.z);
    case SHAPE_CAPSULE:
        return is_size(shape->radius) &&
               (shape->half_height == 0.0f || is_size(shape->half_height));
    case SHAPE_CYLINDER:
    case SHAPE_CONE:
        return is_size(shape->radius) && is_size(shape->half_height);
    default:
        return shape->geometry != NULL && shape->geometry->kind == GEOMETRY_HULL;
    }
}

static Error check_child(const CompoundChild *child, u32 index, ErrorText *error)
{
    const Shape *shape = &child->shape;
    if (!shape_is_convex(shape)) {
        return error_set(error, ERROR_RANGE, "compound: child %u is a %s, expected a convex shape",
                         index, shape_kind_name(shape->kind));
    }
    if (!in_world(child->position)) {
        return error_set(error, ERROR_RANGE, "compound: child %u: position beyond ±%g m", index,
                         (f64)WORLD_EXTENT_MAX_M);
    }
    f32 norm = quat_dot(child->orientation, child->orientation);
    if (!(norm > 0.99f && norm < 1.01f)) {
        return error_set(error, ERROR_RANGE,
                         "compound: child %u: orientation is no unit quaternion", index);
    }
    if (!(sizes_are_right(shape) && shape_volume(shape) > 0.0f)) {
        return error_set(error, ERROR_RANGE, "compound: child %u: size of the %s is out of range",
                         index, shape_kind_name(shape->kind));
    }
    return ERROR_OK;
}

/* Where children overlap, the volume counts twice, as if welded from solid parts. */
static void measure(Geometry *geometry)
{
    const Compound *compound = &geometry->compound;
    SolidSum sum;
    solid_sum_init(&sum, compound->children[0].position);
    for (u32 i = 0; i < compound->child_count; i++) {
        const CompoundChild *child = &compound->children[i];
        f32 volume = shape_volume(&child->shape);
        MassProperties own = shape_mass(&child->shape, volume);
        Symmetric3 inertia = symmetric_rotate(child->orientation, &own.inertia);
        Vec3 centre = vec3_add(child->position, quat_rotate(child->orientation, own.centre));
        solid_sum_add_solid(&sum, volume, centre, &inertia);
        Bounds b = shape_bounds(&child->shape, child->position, child->orientation);
        geometry->bounds.min = i == 0 ? b.min : vec3_min(geometry->bounds.min, b.min);
        geometry->bounds.max = i == 0 ? b.max : vec3_max(geometry->bounds.max, b.max);
        geometry->reach =
            f32_max(geometry->reach, vec3_length(child->position) + shape_reach(&child->shape));
    }
    solid_sum_finish(&sum, geometry);
}

Geometry *geometry_compound(const CompoundChild *children, u32 count, ErrorText *error)
{
    if (count < 1 || count > COMPOUND_CHILDREN_MAX) {
        error_set(error, ERROR_RANGE, "compound: %u children, expected 1 to %d", count,
                  COMPOUND_CHILDREN_MAX);
        return NULL;
    }
    for (u32 i = 0; i < count; i++) {
        if (check_child(&children[i], i, error) != ERROR_OK) {
            return NULL;
        }
    }
    Geometry *geometry = calloc(1, sizeof *geometry);
    CompoundChild *copy = malloc(count * sizeof *copy);
    if (geometry == NULL || copy == NULL) {
        free(geometry);
        free(copy);
        error_set(error, ERROR_MEMORY, "compound: out of memory");
        return NULL;
    }
    memcpy(copy, children, count * sizeof *copy);
    for (u32 i = 0; i < count; i++) {
        copy[i].orientation = quat_normalize(copy[i].orientation);
    }
    geometry->kind = GEOMETRY_COMPOUND;
    geometry->compound.children = copy;
    geometry->compound.child_count = count;
    measure(geometry);
    return geometry;
}
