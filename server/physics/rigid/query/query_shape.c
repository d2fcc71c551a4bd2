/* query_shape.c: casts, overlaps and distances of a convex shape against a world; see query.h. */
#include "server/physics/rigid/narrow/gjk.h"
#include "server/physics/rigid/query/query_internal.h"

static bool pose_is_valid(const ShapePose *pose)
{
    return shape_is_convex(pose->shape) && vec3_is_finite(pose->position) &&
           quat_is_finite(pose->orientation);
}

/* ---- the parts of a body: each answers alone ---- */

typedef enum QueryPartKind {
    PART_CONVEX,
    PART_TRIANGLE,
    PART_PLANE
} QueryPartKind;

typedef struct QueryPart {
    QueryPartKind kind;
    u32 index;
    ShapePose pose;  /* PART_CONVEX, PART_PLANE */
    Vec3 corners[3]; /* PART_TRIANGLE, m, world */
} QueryPart;

/* Returns false to stop. */
typedef bool PartVisit(void *context, const QueryPart *part);

typedef struct PartWalk {
    const ShapePose *pose;
    PartVisit *visit;
    void *context;
    bool stopped;
} PartWalk;

static bool walk_triangle(void *context, u32 triangle)
{
    PartWalk *walk = context;
    const Geometry *geometry = walk->pose->shape->geometry;
    QueryPart part = {.kind = PART_TRIANGLE, .index = triangle};
    if (geometry->kind == GEOMETRY_MESH) {
        mesh_triangle(&geometry->mesh, triangle, part.corners);
    } else {
        terrain_triangle(&geometry->terrain, triangle, part.corners);
    }
    for (u32 i = 0; i < 3; i++) {
        Vec3 rotated = quat_rotate(walk->pose->orientation, part.corners[i]);
        part.corners[i] = vec3_add(walk->pose->position, rotated);
    }
    walk->stopped = !walk->visit(walk->context, &part);
    return !walk->stopped;
}

/* Transforms world bounds to the frame of a pose. */
static Bounds bounds_into(const ShapePose *pose, Bounds bounds)
{
    Mat3 m = mat3_from_quat(pose->orientation);
    Vec3 half = bounds_half(bounds);
    Vec3 at = mat3_mul_transposed(m, vec3_sub(bounds_middle(bounds), pose->position));
    Vec3 extent = vec3(vec3_dot(vec3_abs(m.x), half), vec3_dot(vec3_abs(m.y), half),
                       vec3_dot(vec3_abs(m.z), half));
    /* Enlarged for the rounding error of the rotation. */
    f32 slack = 1e-4f + 1e-6f * vec3_length(at);
    return bounds_grow((Bounds){vec3_sub(at, extent), vec3_add(at, extent)}, slack);
}

/* Visits all parts of a body that may be within the world bounds; returns false if stopped. */
static bool parts_walk(const ShapePose *pose, Bounds bounds, PartVisit *visit, void *context)
{
    const Shape *shape = pose->shape;
    PartWalk walk = {pose, visit, context, false};
    switch (shape->kind) {
    case SHAPE_NONE:
    case SHAPE_KIND_COUNT:
        return true;
    case SHAPE_MESH:
        mesh_query(&shape->geometry->mesh, bounds_into(pose, bounds), walk_triangle, &walk);
        return !walk.stopped;
    case SHAPE_TERRAIN:
        terrain_query(&shape->geometry->terrain, bounds_into(pose, bounds), walk_triangle, &walk);
        return !walk.stopped;
    case SHAPE_COMPOUND:
        for (u32 i = 0; i < shape->geometry->compound.child_count; i++) {
            const CompoundChild *child = &shape->geometry->compound.children[i];
            Vec3 at = vec3_add(pose->position, quat_rotate(pose->orientation, child->position));
            QueryPart part = {
                .kind = PART_CONVEX,
                .index = i,
                .pose = {&child->shape, at, quat_mul(pose->orientation, child->orientation)}};
            if (!visit(context, &part)) {
                return false;
            }
        }
        return true;
    default: {
        QueryPart part = {.kind = shape->kind == SHAPE_PLANE ? PART_PLANE : PART_CONVEX,
                          .pose = *pose};
        return visit(context, &part);
    }
    }
}

static Bounds triangle_bounds(const Vec3 corners[3])
{
    Bounds b = {vec3_min(corners[0], vec3_min(corners[1], corners[2])),
                vec3_max(corners[0], vec3_max(corners[1], corners[2]))};
    return b;
}

/* Height of the lowest point of a shape over a plane, and that point. */
static f32 plane_height(const ShapePose *shape, const ShapePose *plane, Vec3 *normal, Vec3 *lowest)
{
    *normal = quat_rotate(plane->orientation, vec3(0.0f, 1.0f, 0.0f));
    *lowest = gjk_support(shape, vec3_neg(*normal));
    return vec3_dot(vec3_sub(*lowest, plane->position), *normal);
}

/* ---- casts ---- */

typedef struct CastSearch {
    const Rigid *rigid;
    const QueryFilter *filter;
    const ShapePose *shape;
    Vec3 motion;
    Bounds start, way; /* of the shape at the start, and of its whole motion */
    bool any;
    bool found;
    u32 slot; /* of the current body */
    CastHit hit;
} CastSearch;

static bool cast_plane(CastSearch *search, const ShapePose *plane, CastHit *hit)
{
    Vec3 normal, lowest;
    f32 height = plane_height(search->shape, plane, &normal, &lowest);
    f32 speed = -vec3_dot(search->motion, normal);
    if (height > 0.0f && !(speed > 0.0f && height <= speed)) {
        return false;
    }
    hit->fraction = height > 0.0f ? height / speed : 0.0f;
    hit->normal = normal;
    hit->point = vec3_add_scaled(lowest, hit->fraction, search->motion);
    return true;
}

static bool cast_part(void *context, const QueryPart *part)
{
    CastSearch *search = context;
    CastHit hit = {.part = part->index};
    bool touches;
    f32 best = search->found ? search->hit.fraction : 1.0f;
    if (part->kind == PART_PLANE) {
        touches = cast_plane(search, &part->pose, &hit);
    } else if (part->kind == PART_TRIANGLE) {
        Bounds bounds = triangle_bounds(part->corners);
        BoxCast box =
            box_cast(bounds_middle(search->start), bounds_half(search->start), search->motion);
        touches = box_cast_enter(&box, &bounds, best) <= best &&
                  gjk_cast_triangle(search->shape, part->corners, search->motion, &hit.fraction,
                                    &hit.normal, &hit.point);
    } else {
        touches = gjk_cast(search->shape, &part->pose, search->motion, &hit.fraction, &hit.normal,
                           &hit.point);
    }
    if (!touches) {
        return true;
    }
    const CastHit *old = &search->hit;
    bool same = search->found && old->body.slot == search->slot;
    if (!search->found || hit.fraction < old->fraction ||
        (hit.fraction == old->fraction &&
         (search->slot < old->body.slot || (same && part->index < old->part)))) {
        hit.body = (BodyId){search->slot, search->rigid->bodies[search->slot].generation};
        search->hit = hit;
        search->found = true;
    }
    return !search->any;
}

static f32 cast_visit(void *context, u32 slot, f32 max)
{
    CastSearch *search = context;
    if (!query_passes(search->rigid, search->filter, slot)) {
        return max;
    }
    ShapePose pose = body_pose(&search->rigid->bodies[slot]);
    search->slot = slot;
    if (!parts_walk(&pose, search->way, cast_part, search)) {
        return -1.0f;
    }
    return search->found ? search->hit.fraction : max;
}

static bool cast_search(CastSearch *search)
{
    const Rigid *rigid = search->rigid;
    const ShapePose *shape = search->shape;
    if (!pose_is_valid(shape) || !vec3_is_finite(search->motion)) {
        return false;
    }
    search->start = shape_bounds(shape->shape, shape->position, shape->orientation);
    Bounds end = {vec3_add(search->start.min, search->motion),
                  vec3_add(search->start.max, search->motion)};
    search->way = bounds_union(search->start, end);
    f32 max = 1.0f;
    for (u32 i = 0; i < rigid->plane_count && max >= 0.0f; i++) {
        max = cast_visit(search, rigid->planes[i], max);
    }
    const Tree *trees[2] = {&rigid->fixed, &rigid->moving};
    for (u32 i = 0; i < 2 && max >= 0.0f; i++) {
        tree_cast(trees[i], bounds_middle(search->start), bounds_half(search->start),
                  search->motion, max, cast_visit, search);
        max = search->found ? (search->any ? -1.0f : search->hit.fraction) : max;
    }
    return search->found;
}

bool rigid_cast_any(const Rigid *rigid, const ShapePose *shape, Vec3 motion,
                    const QueryFilter *filter)
{
    CastSearch search = {
        .rigid = rigid, .filter = filter, .shape = shape, .motion = motion, .any = true};
    return cast_search(&search);
}

bool rigid_cast(const Rigid *rigid, const ShapePose *shape, Vec3 motion, const QueryFilter *filter,
                CastHit *hit)
{
    CastSearch search = {.rigid = rigid, .filter = filter, .shape = shape, .motion = motion};
    if (!cast_search(&search)) {
        return false;
    }
    *hit = search.hit;
    return true;
}

/* ---- overlaps ---- */

typedef bool BodyTest(const Rigid *rigid, u32 slot, const ShapePose *shape, Bounds bounds);

typedef struct BodySearch {
    const Rigid *rigid;
    const QueryFilter *filter;
    const ShapePose *shape;
    Bounds bounds;
    BodyTest *test;
    BodyId *bodies;
    u32 count, capacity;
    bool any; /* result found: stop */
    bool found;
} BodySearch;

static void body_visit(void *context, u32 slot)
{
    BodySearch *search = context;
    if ((search->any && search->found) || !query_passes(search->rigid, search->filter, slot) ||
        !search->test(search->rigid, slot, search->shape, search->bounds)) {
        return;
    }
    search->found = true;
    u32 at = search->count;
    while (at > 0 && search->bodies[at - 1].slot > slot) {
        at--;
    }
    if (at == search->capacity) {
        return;
    }
    search->count = u32_min(search->count + 1, search->capacity);
    for (u32 i = search->count - 1; i > at; i--) {
        search->bodies[i] = search->bodies[i - 1];
    }
    search->bodies[at] = (BodyId){slot, search->rigid->bodies[slot].generation};
}

static void body_search(BodySearch *search)
{
    const Rigid *rigid = search->rigid;
    for (u32 i = 0; i < rigid->plane_count; i++) {
        body_visit(search, rigid->planes[i]);
    }
    tree_query(&rigid->fixed, search->bounds, body_visit, search);
    if (!(search->any && search->found)) {
        tree_query(&rigid->moving, search->bounds, body_visit, search);
    }
}

typedef struct OverlapPart {
    const ShapePose *shape;
    bool touches;
} OverlapPart;

static bool overlap_part(void *context, const QueryPart *part)
{
    OverlapPart *overlap = context;
    Vec3 normal, lowest;
    if (part->kind == PART_PLANE) {
        overlap->touches = plane_height(overlap->shape, &part->pose, &normal, &lowest) <= 0.0f;
    } else if (part->kind == PART_TRIANGLE) {
        overlap->touches = gjk_overlap_triangle(overlap->shape, part->corners, 0.0f);
    } else {
        overlap->touches = gjk_overlap(overlap->shape, &part->pose, 0.0f);
    }
    return !overlap->touches;
}

static bool touches_shape(const Rigid *rigid, u32 slot, const ShapePose *shape, Bounds bounds)
{
    ShapePose pose = body_pose(&rigid->bodies[slot]);
    OverlapPart overlap = {shape, false};
    parts_walk(&pose, bounds, overlap_part, &overlap);
    return overlap.touches;
}

static u32 overlap_search(BodySearch *search)
{
    const ShapePose *shape = search->shape;
    if (pose_is_valid(shape)) {
        search->bounds = shape_bounds(shape->shape, shape->position, shape->orientation);
        search->test = touches_shape;
        body_search(search);
    }
    return search->count;
}

bool rigid_overlap_any(const Rigid *rigid, const ShapePose *shape, const QueryFilter *filter)
{
    BodySearch search = {.rigid = rigid, .filter = filter, .shape = shape, .any = true};
    overlap_search(&search);
    return search.found;
}

u32 rigid_overlap_all(const Rigid *rigid, const ShapePose *shape, const QueryFilter *filter,
                      BodyId *bodies, u32 capacity)
{
    BodySearch search = {
        .rigid = rigid, .filter = filter, .shape = shape, .bodies = bodies, .capacity = capacity};
    return overlap_search(&search);
}

/* Number of crossings of an upward line from a point with a mesh. */
typedef struct Crossings {
    const TriangleMesh *mesh;
    Vec3 point;
    u32 count;
} Crossings;

/* Whether the line passes left of the edge. Both triangles of an edge decide identically, so
 * that none or both are crossed if the line meets it: corners are compared in a fixed order. */
static bool left_of(Vec3 a, Vec3 b, Vec3 p)
{
    bool swap = a.x > b.x || (a.x == b.x && a.z > b.z);
    Vec3 from = swap ? b : a, to = swap ? a : b;
    f64 side = ((f64)to.x - (f64)from.x) * ((f64)p.z - (f64)from.z) -
               ((f64)to.z - (f64)from.z) * ((f64)p.x - (f64)from.x);
    return (side > 0.0) != swap;
}

static bool crossing_visit(void *context, u32 triangle)
{
    Crossings *search = context;
    Vec3 c[3], p = search->point;
    mesh_triangle(search->mesh, triangle, c);
    bool one = left_of(c[0], c[1], p), two = left_of(c[1], c[2], p), three = left_of(c[2], c[0], p);
    if (one == two && two == three) {
        Vec3 n = vec3_cross(vec3_sub(c[1], c[0]), vec3_sub(c[2], c[0]));
        f32 above = vec3_dot(vec3_sub(c[0], p), n);
        search->count += n.y > 0.0f ? above > 0.0f : above < 0.0f;
    }
    return true;
}

static bool mesh_holds(const Geometry *geometry, Vec3 point)
{
    Crossings search = {&geometry->mesh, point, 0};
    Vec3 high = vec3(point.x, geometry->bounds.max.y, point.z);
    if (geometry->mesh.closed) {
        mesh_query(&geometry->mesh, (Bounds){vec3_min(point, high), vec3_max(point, high)},
                   crossing_visit, &search);
    }
    return search.count % 2 == 1;
}

/* A ray of zero length hits the solid in which it starts. */
static bool holds_point(const Rigid *rigid, u32 slot, const ShapePose *shape, Bounds bounds)
{
    PL_UNUSED(bounds);
    ShapePose pose = body_pose(&rigid->bodies[slot]);
    Ray ray = {shape->position, {0.0f, 1.0f, 0.0f}};
    Vec3 local = quat_rotate_inverse(pose.orientation, vec3_sub(shape->position, pose.position));
    f32 height;
    if (pose.shape->kind == SHAPE_MESH) {
        return mesh_holds(pose.shape->geometry, local);
    }
    if (pose.shape->kind == SHAPE_TERRAIN) {
        return terrain_height(&pose.shape->geometry->terrain, local.x, local.z, &height, NULL) &&
               local.y < height;
    }
    return shape_ray(pose.shape, pose.position, pose.orientation, ray, 0.0f, NULL, NULL);
}

static void point_search(BodySearch *search, Vec3 point)
{
    ShapePose at = {NULL, point, quat_identity()};
    search->shape = &at; // cppcheck-suppress autoVariables ; taken back below
    search->bounds = (Bounds){point, point};
    search->test = holds_point;
    if (vec3_is_finite(point)) {
        body_search(search);
    }
    search->shape = NULL;
}

bool rigid_point_any(const Rigid *rigid, Vec3 point, const QueryFilter *filter)
{
    BodySearch search = {.rigid = rigid, .filter = filter, .any = true};
    point_search(&search, point);
    return search.found;
}

u32 rigid_point_all(const Rigid *rigid, Vec3 point, const QueryFilter *filter, BodyId *bodies,
                    u32 capacity)
{
    BodySearch search = {.rigid = rigid, .filter = filter, .bodies = bodies, .capacity = capacity};
    point_search(&search, point);
    return search.count;
}

/* ---- distances ---- */

typedef struct NearSearch {
    const Rigid *rigid;
    const QueryFilter *filter;
    const ShapePose *shape;
    Bounds bounds;
    f32 max;
    bool found;
    u32 slot;
    NearHit hit;
} NearSearch;

static f32 near_limit(const NearSearch *search)
{
    return search->found ? f32_max(search->hit.distance, 0.0f) : search->max;
}

static bool near_part(void *context, const QueryPart *part)
{
    NearSearch *search = context;
    GjkResult result;
    f32 limit = near_limit(search);
    if (part->kind == PART_PLANE) {
        Vec3 normal, lowest;
        result.separation = plane_height(search->shape, &part->pose, &normal, &lowest);
        result.normal = vec3_neg(normal);
        result.on_a = lowest;
        result.on_b = vec3_add_scaled(lowest, -result.separation, normal);
        if (!(result.separation <= limit)) {
            return true;
        }
    } else if (part->kind == PART_TRIANGLE) {
        Bounds bounds = triangle_bounds(part->corners);
        if (bounds_gap(&bounds, &search->bounds) > limit ||
            !gjk_separation_triangle(search->shape, part->corners, limit + 1e-6f, &result)) {
            return true;
        }
    } else if (!gjk_separation(search->shape, &part->pose, limit + 1e-6f, &result)) {
        return true;
    }
    const NearHit *old = &search->hit;
    bool same = search->found && old->body.slot == search->slot;
    if (result.separation < (search->found ? old->distance : search->max) ||
        (search->found && result.separation == old->distance &&
         (search->slot < old->body.slot || (same && part->index < old->part)))) {
        search->found = true;
        search->hit =
            (NearHit){.body = {search->slot, search->rigid->bodies[search->slot].generation},
                      .distance = result.separation,
                      .on_shape = result.on_a,
                      .on_body = result.on_b,
                      .normal = vec3_neg(result.normal),
                      .part = part->index};
    }
    return true;
}

static f32 near_visit(void *context, u32 slot, f32 max)
{
    NearSearch *search = context;
    if (!query_passes(search->rigid, search->filter, slot)) {
        return max;
    }
    ShapePose pose = body_pose(&search->rigid->bodies[slot]);
    search->slot = slot;
    if (pose.shape->kind != SHAPE_MESH && pose.shape->kind != SHAPE_TERRAIN) {
        parts_walk(&pose, search->bounds, near_part, search);
        return near_limit(search);
    }
    /* Surfaces are searched only nearby: a box that grows until it must contain the nearest
     * part. */
    f32 reach = 0.5f + vec3_length(bounds_half(search->bounds));
    for (;;) {
        f32 limit = near_limit(search);
        reach = f32_min(reach, limit);
        parts_walk(&pose, bounds_grow(search->bounds, reach), near_part, search);
        if (near_limit(search) <= reach || reach >= limit || reach > 4.0f * WORLD_EXTENT_MAX_M) {
            return near_limit(search);
        }
        reach *= 4.0f;
    }
}

bool rigid_nearest(const Rigid *rigid, const ShapePose *shape, f32 max, const QueryFilter *filter,
                   NearHit *hit)
{
    if (!pose_is_valid(shape) || !(max >= 0.0f)) {
        return false;
    }
    NearSearch search = {.rigid = rigid,
                         .filter = filter,
                         .shape = shape,
                         .bounds = shape_bounds(shape->shape, shape->position, shape->orientation),
                         .max = max};
    for (u32 i = 0; i < rigid->plane_count; i++) {
        near_visit(&search, rigid->planes[i], max);
    }
    tree_nearest(&rigid->fixed, search.bounds, near_limit(&search), near_visit, &search);
    tree_nearest(&rigid->moving, search.bounds, near_limit(&search), near_visit, &search);
    if (search.found) {
        *hit = search.hit;
    }
    return search.found;
}
