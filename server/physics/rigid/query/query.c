/* query.c: see query.h. */
#include "server/physics/rigid/query/query.h"

#include "server/physics/rigid/query/query_internal.h"

bool query_passes(const Rigid *rigid, const QueryFilter *filter, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    if (filter == NULL) {
        return true;
    }
    BodyId id = {slot, body->generation};
    bool excluded = filter->exclude.generation == id.generation && filter->exclude.slot == slot;
    bool grouped = filter->mask == 0 || (filter->mask & body->group) != 0;
    return grouped && !excluded && !(filter->skip_sensors && body->sensor) &&
           (filter->accept == NULL || filter->accept(filter->context, id));
}

/* ---- rays ---- */

typedef struct RaySearch {
    const Rigid *rigid;
    const QueryFilter *filter;
    Ray ray;
    bool any;
    QueryHit *hits; /* sorted by (distance, slot); not used by `any` */
    u32 count, capacity;
} RaySearch;

static bool ray_is_valid(Ray ray)
{
    return vec3_is_finite(ray.origin) && vec3_is_finite(ray.direction) &&
           vec3_length_squared(ray.direction) > 0.5f;
}

/* Returns the distance beyond which hits do not matter. */
static f32 ray_visit(void *context, u32 slot, f32 max)
{
    RaySearch *search = context;
    const Body *body = &search->rigid->bodies[slot];
    f32 distance;
    Vec3 normal;
    if (!query_passes(search->rigid, search->filter, slot)) {
        return max;
    }
    if (!shape_ray(&body->shape, body_origin(body), body->orientation, search->ray, max, &distance,
                   search->any ? NULL : &normal)) {
        return max;
    }
    if (search->any) {
        search->count = 1;
        return -1.0f;
    }
    u32 at = search->count;
    while (at > 0 &&
           (search->hits[at - 1].distance > distance ||
            (search->hits[at - 1].distance == distance && search->hits[at - 1].body.slot > slot))) {
        at--;
    }
    if (at == search->capacity) {
        return max;
    }
    search->count = u32_min(search->count + 1, search->capacity);
    for (u32 i = search->count - 1; i > at; i--) {
        search->hits[i] = search->hits[i - 1];
    }
    search->hits[at] = (QueryHit){
        .body = {slot, body->generation}, .distance = distance, .normal = normal, .part = 0};
    return search->count < search->capacity ? max : search->hits[search->count - 1].distance;
}

static void ray_search(RaySearch *search, f32 max)
{
    const Rigid *rigid = search->rigid;
    if (!ray_is_valid(search->ray) || !(max >= 0.0f)) {
        return;
    }
    max = f32_min(max, 4.0f * WORLD_EXTENT_MAX_M);
    for (u32 i = 0; i < rigid->plane_count && max >= 0.0f; i++) {
        max = ray_visit(search, rigid->planes[i], max);
    }
    /* Fixed bodies are few and large: a yes is likely found there first, the nearest one among
     * the moving. */
    const Tree *trees[2] = {&rigid->moving, &rigid->fixed};
    for (u32 i = 0; i < 2 && max >= 0.0f; i++) {
        tree_cast(trees[search->any ? 1 - i : i], search->ray.origin, vec3_zero(),
                  search->ray.direction, max, ray_visit, search);
        if (search->count == search->capacity) {
            max = search->any ? -1.0f : search->hits[search->count - 1].distance;
        }
    }
}

typedef struct PartSearch {
    const Geometry *geometry;
    Ray ray; /* local */
    f32 distance, error;
    u32 part;
} PartSearch;

/* Distance along the ray to the plane of a triangle, if the ray passes within the triangle (with
 * a small tolerance); INFINITY if not. */
static f32 triangle_distance(const Vec3 corners[3], Ray ray)
{
    Vec3 e1 = vec3_sub(corners[1], corners[0]), e2 = vec3_sub(corners[2], corners[0]);
    Vec3 p = vec3_cross(ray.direction, e2);
    f32 determinant = vec3_dot(e1, p);
    if (determinant == 0.0f) {
        return INFINITY;
    }
    Vec3 s = vec3_sub(ray.origin, corners[0]);
    Vec3 q = vec3_cross(s, e1);
    f32 u = vec3_dot(s, p) / determinant, v = vec3_dot(ray.direction, q) / determinant;
    const f32 slack = 1e-4f;
    bool inside = u >= -slack && v >= -slack && u + v <= 1.0f + slack;
    return inside ? vec3_dot(e2, q) / determinant : INFINITY;
}

static bool part_visit(void *context, u32 triangle)
{
    PartSearch *search = context;
    Vec3 corners[3];
    if (search->geometry->kind == GEOMETRY_MESH) {
        mesh_triangle(&search->geometry->mesh, triangle, corners);
    } else {
        terrain_triangle(&search->geometry->terrain, triangle, corners);
    }
    f32 error = fabsf(triangle_distance(corners, search->ray) - search->distance);
    if (error < search->error || (error == search->error && triangle < search->part)) {
        search->error = error;
        search->part = triangle;
    }
    return true;
}

/* The part of a shape hit by the ray at the distance: determined only for hits that are kept. */
static u32 part_at(const ShapePose *pose, Ray ray, f32 distance)
{
    const Geometry *geometry = pose->shape->geometry;
    if (geometry == NULL || pose->shape->kind == SHAPE_HULL) {
        return 0;
    }
    Ray local = {quat_rotate_inverse(pose->orientation, vec3_sub(ray.origin, pose->position)),
                 quat_rotate_inverse(pose->orientation, ray.direction)};
    PartSearch search = {geometry, local, distance, INFINITY, 0};
    Vec3 at = vec3_add_scaled(local.origin, distance, local.direction);
    Bounds box = bounds_grow((Bounds){at, at}, 1e-3f + 1e-5f * distance);
    if (geometry->kind == GEOMETRY_MESH) {
        mesh_query(&geometry->mesh, box, part_visit, &search);
    } else if (geometry->kind == GEOMETRY_TERRAIN) {
        terrain_query(&geometry->terrain, box, part_visit, &search);
    } else if (geometry->kind == GEOMETRY_COMPOUND) {
        for (u32 i = 0; i < geometry->compound.child_count; i++) {
            const CompoundChild *child = &geometry->compound.children[i];
            f32 t;
            if (shape_ray(&child->shape, child->position, child->orientation, local, INFINITY, &t,
                          NULL) &&
                fabsf(t - distance) < search.error) {
                search.error = fabsf(t - distance);
                search.part = i;
            }
        }
    }
    return search.part;
}

static void hits_complete(const RaySearch *search)
{
    for (u32 i = 0; i < search->count; i++) {
        QueryHit *hit = &search->hits[i];
        ShapePose pose = body_pose(&search->rigid->bodies[hit->body.slot]);
        hit->part = part_at(&pose, search->ray, hit->distance);
        hit->point = vec3_add_scaled(search->ray.origin, hit->distance, search->ray.direction);
    }
}

bool rigid_ray_any(const Rigid *rigid, Ray ray, f32 max, const QueryFilter *filter)
{
    RaySearch search = {rigid, filter, ray, true, NULL, 0, 1};
    ray_search(&search, max);
    return search.count > 0;
}

u32 rigid_ray_all(const Rigid *rigid, Ray ray, f32 max, const QueryFilter *filter, QueryHit *hits,
                  u32 capacity)
{
    RaySearch search = {rigid, filter, ray, false, hits, 0, capacity};
    if (capacity > 0) {
        ray_search(&search, max);
        hits_complete(&search);
    }
    return search.count;
}

bool rigid_ray(const Rigid *rigid, Ray ray, f32 max, const QueryFilter *filter, QueryHit *hit)
{
    return rigid_ray_all(rigid, ray, max, filter, hit, 1) == 1;
}

/* ---- segments and lines are rays ---- */

static Ray segment_ray(Vec3 from, Vec3 to, f32 *length)
{
    Vec3 along = vec3_sub(to, from);
    *length = vec3_length(along);
    return (Ray){from, vec3_normalize_or(along, vec3(0.0f, 1.0f, 0.0f))};
}

bool rigid_segment_any(const Rigid *rigid, Vec3 from, Vec3 to, const QueryFilter *filter)
{
    f32 length;
    Ray ray = segment_ray(from, to, &length);
    return rigid_ray_any(rigid, ray, length, filter);
}

bool rigid_segment(const Rigid *rigid, Vec3 from, Vec3 to, const QueryFilter *filter, QueryHit *hit)
{
    return rigid_segment_all(rigid, from, to, filter, hit, 1) == 1;
}

u32 rigid_segment_all(const Rigid *rigid, Vec3 from, Vec3 to, const QueryFilter *filter,
                      QueryHit *hits, u32 capacity)
{
    f32 length;
    Ray ray = segment_ray(from, to, &length);
    return rigid_ray_all(rigid, ray, length, filter, hits, capacity);
}

static Ray ray_back(Ray ray)
{
    return (Ray){ray.origin, vec3_neg(ray.direction)};
}

bool rigid_line_any(const Rigid *rigid, Ray line, const QueryFilter *filter)
{
    return rigid_ray_any(rigid, line, INFINITY, filter) ||
           rigid_ray_any(rigid, ray_back(line), INFINITY, filter);
}

bool rigid_line(const Rigid *rigid, Ray line, const QueryFilter *filter, QueryHit *hit)
{
    QueryHit back;
    bool ahead = rigid_ray(rigid, line, INFINITY, filter, hit);
    f32 max = ahead ? hit->distance : INFINITY;
    if (rigid_ray(rigid, ray_back(line), max, filter, &back) &&
        (!ahead || back.distance < hit->distance)) {
        *hit = back;
        hit->distance = -back.distance;
        return true;
    }
    return ahead;
}

u32 rigid_line_all(const Rigid *rigid, Ray line, const QueryFilter *filter, QueryHit *hits,
                   u32 capacity)
{
    /* Hits behind come nearest first: reversed, the farthest is first. */
    u32 behind = rigid_ray_all(rigid, ray_back(line), INFINITY, filter, hits, capacity);
    for (u32 i = 0; i < behind; i++) {
        hits[i].distance = -hits[i].distance;
    }
    u32 count =
        behind + rigid_ray_all(rigid, line, INFINITY, filter, hits + behind, capacity - behind);
    for (u32 i = 1; i < count; i++) {
        QueryHit hit = hits[i];
        u32 at = i;
        for (; at > 0 &&
               (hits[at - 1].distance > hit.distance ||
                (hits[at - 1].distance == hit.distance && hits[at - 1].body.slot > hit.body.slot));
             at--) {
            hits[at] = hits[at - 1];
        }
        hits[at] = hit;
    }
    return count;
}
