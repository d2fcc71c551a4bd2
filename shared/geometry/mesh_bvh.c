/* mesh_bvh.c: the bounding volume tree of a mesh: construction, box queries and ray casts. */
#include "shared/geometry/mesh_bvh.h"

#include "shared/base/check.h"
#include "shared/geometry/local_ray.h"

#include <stdlib.h>
#include <string.h>

enum {
    BINS = 16,
    LEAF_TRIANGLES = 4, /* never split further */
    LEAF_TRIANGLES_MAX = 8,
    /* Deeper nodes are split by count, so that no mesh makes the tree deeper than DEPTH_BY_AREA
     * + 20. */
    DEPTH_BY_AREA = 40,
    STACK_SIZE = 64
};
PL_STATIC_ASSERT(DEPTH_BY_AREA + 21 < STACK_SIZE, "the stack holds every tree");
PL_STATIC_ASSERT(MESH_TRIANGLES_MAX <= 1 << 20, "20 halvings reach one triangle");

typedef struct BvhBuilder {
    TriangleMesh *mesh;
    Bounds *bounds; /* [triangle_count] */
    Vec3 *centres;  /* [triangle_count] of the bounds, doubled */
} BvhBuilder;

typedef struct Split {
    int axis; /* −1: none */
    u32 bin;  /* triangles in bins up to this one go left */
    f32 low, scale;
    f32 cost;
} Split;

static Bounds bounds_empty(void)
{
    Bounds b = {vec3(INFINITY, INFINITY, INFINITY), vec3(-INFINITY, -INFINITY, -INFINITY)};
    return b;
}

static f32 half_area(Bounds b)
{
    Vec3 s = vec3_sub(b.max, b.min);
    return s.x * s.y + s.y * s.z + s.z * s.x;
}

static f32 component(Vec3 v, int axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static u32 bin_of(const Split *split, Vec3 centre)
{
    f32 x = (component(centre, split->axis) - split->low) * split->scale;
    return (u32)i32_min((i32)x, BINS - 1);
}

/* The cheapest of the planes between the bins of an axis, by area × triangles on either side. */
static void try_axis(const BvhBuilder *builder, u32 first, u32 count, Split candidate, Split *best)
{
    Bounds bounds[BINS];
    u32 counts[BINS] = {0};
    f32 right_cost[BINS];
    for (u32 i = 0; i < BINS; i++) {
        bounds[i] = bounds_empty();
    }
    for (u32 i = first; i < first + count; i++) {
        u32 t = builder->mesh->order[i];
        u32 bin = bin_of(&candidate, builder->centres[t]);
        counts[bin]++;
        bounds[bin] = bounds_union(bounds[bin], builder->bounds[t]);
    }
    Bounds side = bounds_empty();
    u32 n = 0;
    for (u32 i = BINS - 1; i > 0; i--) {
        side = bounds_union(side, bounds[i]);
        n += counts[i];
        right_cost[i] = n > 0 ? half_area(side) * (f32)n : 0.0f;
    }
    side = bounds_empty();
    n = 0;
    for (u32 i = 0; i + 1 < BINS; i++) {
        side = bounds_union(side, bounds[i]);
        n += counts[i];
        if (n == 0 || n == count) {
            continue;
        }
        candidate.cost = half_area(side) * (f32)n + right_cost[i + 1];
        if (candidate.cost < best->cost) {
            candidate.bin = i;
            *best = candidate;
        }
    }
}

static Split find_split(const BvhBuilder *builder, u32 first, u32 count)
{
    Bounds centres = bounds_empty();
    for (u32 i = first; i < first + count; i++) {
        Vec3 c = builder->centres[builder->mesh->order[i]];
        centres.min = vec3_min(centres.min, c);
        centres.max = vec3_max(centres.max, c);
    }
    Split best = {.axis = -1, .cost = INFINITY};
    for (int axis = 0; axis < 3; axis++) {
        f32 low = component(centres.min, axis);
        f32 size = component(centres.max, axis) - low;
        f32 scale = (f32)BINS / size;
        if (size > 0.0f && isfinite(scale)) {
            Split candidate = {.axis = axis, .low = low, .scale = scale};
            try_axis(builder, first, count, candidate, &best);
        }
    }
    return best;
}

/* Moves the triangles of the left side to the front; returns their number. */
static u32 partition(const BvhBuilder *builder, u32 first, u32 count, const Split *split)
{
    u32 *order = &builder->mesh->order[first];
    u32 left = 0, right = count;
    while (left < right) {
        if (bin_of(split, builder->centres[order[left]]) <= split->bin) {
            left++;
        } else {
            u32 t = order[--right];
            order[right] = order[left];
            order[left] = t;
        }
    }
    return left;
}

static void build_node(BvhBuilder *builder, u32 first, u32 count, u32 depth)
{
    TriangleMesh *mesh = builder->mesh;
    u32 index = mesh->node_count++;
    MeshNode *node = &mesh->nodes[index];
    node->bounds = bounds_empty();
    for (u32 i = first; i < first + count; i++) {
        node->bounds = bounds_union(node->bounds, builder->bounds[mesh->order[i]]);
    }
    node->first = first;
    node->count = count;
    if (count <= LEAF_TRIANGLES) {
        return;
    }
    u32 left = count / 2;
    if (depth < DEPTH_BY_AREA) {
        Split split = find_split(builder, first, count);
        bool pays = split.cost < half_area(node->bounds) * (f32)(count - 1);
        if (count <= LEAF_TRIANGLES_MAX && !(split.axis >= 0 && pays)) {
            return;
        }
        left = split.axis >= 0 ? partition(builder, first, count, &split) : left;
    }
    node->count = 0;
    build_node(builder, first, left, depth + 1);
    node->first = mesh->node_count;
    build_node(builder, first + left, count - left, depth + 1);
}

static Bounds triangle_bounds(const TriangleMesh *mesh, u32 triangle)
{
    Vec3 p[3];
    mesh_triangle(mesh, triangle, p);
    Bounds b = {vec3_min(p[0], vec3_min(p[1], p[2])), vec3_max(p[0], vec3_max(p[1], p[2]))};
    return b;
}

bool mesh_bvh_build(TriangleMesh *mesh)
{
    u32 count = mesh->triangle_count;
    BvhBuilder builder = {mesh, malloc(count * sizeof *builder.bounds),
                          malloc(count * sizeof *builder.centres)};
    mesh->order = malloc(count * sizeof *mesh->order);
    mesh->nodes = malloc((2 * (size_t)count - 1) * sizeof *mesh->nodes);
    mesh->node_count = 0;
    bool done = builder.bounds != NULL && builder.centres != NULL && mesh->order != NULL &&
                mesh->nodes != NULL;
    if (done) {
        for (u32 t = 0; t < count; t++) {
            mesh->order[t] = t;
            builder.bounds[t] = triangle_bounds(mesh, t);
            builder.centres[t] = vec3_add(builder.bounds[t].min, builder.bounds[t].max);
        }
        build_node(&builder, 0, count, 0);
        MeshNode *fitting = realloc(mesh->nodes, mesh->node_count * sizeof *fitting);
        mesh->nodes = fitting != NULL ? fitting : mesh->nodes;
    }
    free(builder.bounds);
    free(builder.centres);
    return done;
}

static bool bounds_meet(Bounds a, Bounds b)
{
    return a.min.x <= b.max.x && b.min.x <= a.max.x && a.min.y <= b.max.y && b.min.y <= a.max.y &&
           a.min.z <= b.max.z && b.min.z <= a.max.z;
}

void mesh_query(const TriangleMesh *mesh, Bounds box, TriangleVisit *visit, void *context)
{
    u32 stack[STACK_SIZE];
    u32 depth = 0;
    stack[depth++] = 0;
    while (depth > 0) {
        u32 index = stack[--depth];
        const MeshNode *node = &mesh->nodes[index];
        if (!bounds_meet(node->bounds, box)) {
            continue;
        }
        if (node->count == 0) {
            VALIDATE(depth + 2 <= STACK_SIZE);
            stack[depth++] = node->first;
            stack[depth++] = index + 1;
            continue;
        }
        for (u32 i = node->first; i < node->first + node->count; i++) {
            u32 t = mesh->order[i];
            if (bounds_meet(triangle_bounds(mesh, t), box) && !visit(context, t)) {
                return;
            }
        }
    }
}

/* ---- rays ---- */

typedef struct MeshHit {
    f64 t;
    u32 triangle; /* UINT32_MAX: none yet */
} MeshHit;

static void ray_leaf(const TriangleMesh *mesh, const MeshNode *node, const LocalRay *ray,
                     MeshHit *hit)
{
    for (u32 i = node->first; i < node->first + node->count; i++) {
        Vec3 corners[3];
        u32 triangle = mesh->order[i];
        f64 t;
        mesh_triangle(mesh, triangle, corners);
        if (ray_triangle(ray, corners, &t) &&
            (t < hit->t || (t == hit->t && triangle < hit->triangle))) {
            hit->t = t;
            hit->triangle = triangle;
        }
    }
}

bool mesh_ray(const TriangleMesh *mesh, const LocalRay *ray, f64 max, f64 *t, Vec3d *normal)
{
    BoxRay box = box_ray(ray);
    u32 stack[STACK_SIZE];
    f64 enters[STACK_SIZE]; /* ray parameter at the entry of those nodes */
    u32 depth = 0;
    MeshHit hit = {max, UINT32_MAX};
    f64 enter;
    if (ray_meets_box(&box, &mesh->nodes[0].bounds, hit.t, &enter)) {
        enters[depth] = enter;
        stack[depth++] = 0;
    }
    while (depth > 0) {
        depth--;
        u32 index = stack[depth];
        const MeshNode *node = &mesh->nodes[index];
        if (enters[depth] > hit.t) {
            continue;
        }
        if (node->count > 0) {
            ray_leaf(mesh, node, ray, &hit);
            continue;
        }
        u32 left = index + 1, right = node->first;
        f64 left_enter, right_enter;
        bool left_hit = ray_meets_box(&box, &mesh->nodes[left].bounds, hit.t, &left_enter);
        bool right_hit = ray_meets_box(&box, &mesh->nodes[right].bounds, hit.t, &right_enter);
        VALIDATE(depth + 2 <= STACK_SIZE);
        bool left_first = left_hit && (!right_hit || left_enter <= right_enter);
        if (left_hit && right_hit) { /* push the farther one first */
            enters[depth] = left_first ? right_enter : left_enter;
            stack[depth++] = left_first ? right : left;
        }
        if (left_hit || right_hit) {
            enters[depth] = left_first ? left_enter : right_enter;
            stack[depth++] = left_first ? left : right;
        }
    }
    if (hit.triangle == UINT32_MAX) {
        return false;
    }
    Vec3 corners[3];
    mesh_triangle(mesh, hit.triangle, corners);
    *t = hit.t;
    *normal = ray_triangle_normal(ray, corners);
    return true;
}
