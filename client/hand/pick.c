/*
 * pick.c: the nearest hit of a ray with what is shown: bodies by their shapes, soft bodies by their
 * triangles (two-sided; Möller and Trumbore 1997) and sticks, point by point.
 */
#include "client/hand/hand.h"

#include "client/link/timeline.h"

#include <stdlib.h>
#include <string.h>

/* A thin rope is caught this far from its middle for each metre away. */
static const f32 rope_aim = 0.008f;

typedef struct Triangle {
    Vec3 a, b, c;
} Triangle;

static bool triangle_ray(const Triangle *triangle, Ray ray, f32 max_m, f32 *distance, f32 *u,
                         f32 *v)
{
    Vec3 ab = vec3_sub(triangle->b, triangle->a), ac = vec3_sub(triangle->c, triangle->a);
    Vec3 p = vec3_cross(ray.direction, ac);
    f32 determinant = vec3_dot(ab, p);
    if (fabsf(determinant) < 1e-12f) {
        return false;
    }
    Vec3 from = vec3_sub(ray.origin, triangle->a);
    f32 at_u = vec3_dot(from, p) / determinant;
    Vec3 q = vec3_cross(from, ab);
    f32 at_v = vec3_dot(ray.direction, q) / determinant;
    f32 t = vec3_dot(ac, q) / determinant;
    bool hit = at_u >= 0.0f && at_v >= 0.0f && at_u + at_v <= 1.0f && t >= 0.0f && t <= max_m;
    *distance = t;
    *u = at_u;
    *v = at_v;
    return hit;
}

static void pick_triangle(const Entity *entity, const Triangle *triangle, const u32 element[3],
                          Ray ray, Pick *pick)
{
    f32 distance, u, v;
    if (!triangle_ray(triangle, ray, pick->distance, &distance, &u, &v)) {
        return;
    }
    Vec3 normal = vec3_normalize_or(
        vec3_cross(vec3_sub(triangle->b, triangle->a), vec3_sub(triangle->c, triangle->a)),
        vec3(0.0f, 1.0f, 0.0f));
    f32 w = 1.0f - u - v;
    pick->entity = entity->id;
    pick->element = w >= u && w >= v ? element[0] : u >= v ? element[1] : element[2];
    pick->distance = distance;
    pick->normal = vec3_dot(normal, ray.direction) > 0.0f ? vec3_neg(normal) : normal;
    pick->local = vec3_zero();
}

static void pick_corners(const Entity *entity, const ShownPoint *points, const u32 element[3],
                         Ray ray, Pick *pick)
{
    const ShownPoint *a = &points[element[0]], *b = &points[element[1]], *c = &points[element[2]];
    if (a->generation != 0 && b->generation != 0 && c->generation != 0) {
        Triangle triangle = {a->position, b->position, c->position};
        pick_triangle(entity, &triangle, element, ray, pick);
    }
}

static void pick_grid(const Entity *entity, const ShownPoint *points, Ray ray, Pick *pick)
{
    u32 columns = entity->look.grid[0], rows = entity->look.grid[1];
    if (columns < 2 || rows < 2 || (u64)columns * rows > entity->count) {
        return;
    }
    for (u32 row = 1; row < rows; row++) {
        for (u32 column = 1; column < columns; column++) {
            u32 i = row * columns + column;
            u32 upper[3] = {i - columns - 1, i - columns, i - 1},
                lower[3] = {i, i - 1, i - columns};
            pick_corners(entity, points, upper, ray, pick);
            pick_corners(entity, points, lower, ray, pick);
        }
    }
}

/* Where the ray comes nearest to the stick: the end that is nearer to there is what is picked. */
static void pick_stick(const Entity *entity, const ShownPoint *points, u32 a, u32 b, Ray ray,
                       Pick *pick)
{
    if (points[a].generation == 0 || points[b].generation == 0) {
        return;
    }
    Vec3 along = vec3_sub(points[b].position, points[a].position);
    Vec3 from = vec3_sub(points[a].position, ray.origin);
    f32 dd = vec3_dot(along, along), dr = vec3_dot(along, ray.direction);
    f32 fr = vec3_dot(from, ray.direction), fd = vec3_dot(from, along);
    f32 across = dd - dr * dr; /* the ray's direction is a unit vector */
    f32 s = across > 1e-9f ? f32_clamp((fr * dr - fd) / across, 0.0f, 1.0f) : 0.0f;
    f32 t = fr + s * dr;
    Vec3 apart = vec3_sub(vec3_add_scaled(from, s, along), vec3_scale(ray.direction, t));
    f32 radius = f32_max(entity->look.radius, rope_aim * t);
    f32 off = vec3_length(apart);
    if (t < 0.0f || off > radius || t - radius > pick->distance) {
        return;
    }
    pick->entity = entity->id;
    pick->element = s <= 0.5f ? a : b;
    pick->distance = f32_max(t - f32_min(radius, entity->look.radius), 0.0f);
    pick->normal = off > 1e-6f ? vec3_scale(apart, -1.0f / off) : vec3_neg(ray.direction);
    pick->local = vec3_zero();
}

static void pick_mesh(const Entity *entity, const SoftMesh *mesh, const ShownPoint *points, Ray ray,
                      Pick *pick)
{
    for (u32 i = 0; i < mesh->triangle_count; i++) {
        pick_corners(entity, points, mesh->triangles + (size_t)3 * i, ray, pick);
    }
    for (u32 i = 0; i < mesh->stick_count; i++) {
        if (mesh->sticks[i].low == mesh->sticks[i].high) {
            pick_stick(entity, points, mesh->sticks[i].a, mesh->sticks[i].b, ray, pick);
        }
    }
}

static void pick_soft(const Timeline *timeline, const Scene *scene, const Entity *entity, Ray ray,
                      Pick *pick)
{
    ShownPoint *points = malloc((entity->count + 1) * sizeof *points);
    if (points == NULL) {
        return; /* nothing is picked where there is no memory to look */
    }
    timeline_point_range(timeline, entity->field, entity->first, entity->count, points);
    u32 soft = entity->look.soft;
    const SoftMesh *mesh = scene != NULL && soft != 0 && soft <= scene->soft_mesh_count
                               ? &scene->soft_meshes[soft - 1]
                               : NULL;
    if (mesh != NULL && mesh->point_count == entity->count) {
        pick_mesh(entity, mesh, points, ray, pick);
    } else if (entity->look.kind == APPEARANCE_ROPE) {
        for (u32 i = 1; i < entity->count; i++) {
            pick_stick(entity, points, i - 1, i, ray, pick);
        }
    } else {
        pick_grid(entity, points, ray, pick);
    }
    free(points);
}

static void pick_body(const Timeline *timeline, const Entity *entity, Ray ray, Pick *pick)
{
    for (u32 i = 0; i < entity->count; i++) {
        ShownPose pose;
        if (!timeline_pose(timeline, entity->field, entity->first + i, &pose) ||
            (pose.flags & POSE_LIVE) == 0 ||
            (entity->count == 1 && pose.generation != entity->generation)) {
            continue;
        }
        f32 distance;
        Vec3 normal;
        if (shape_ray(&entity->look.shape, pose.position, pose.orientation, ray, pick->distance,
                      &distance, &normal)) {
            Vec3 point = vec3_add_scaled(ray.origin, distance, ray.direction);
            pick->entity = entity->id;
            pick->element = i;
            pick->distance = distance;
            pick->normal = normal;
            pick->local = quat_rotate_inverse(pose.orientation, vec3_sub(point, pose.position));
        }
    }
}

bool pick_ray(Connection *connection, Ray ray, f32 max_m, Pick *pick)
{
    memset(pick, 0, sizeof *pick);
    pick->distance = max_m;
    const Timeline *timeline = connection_timeline(connection);
    if (timeline == NULL) {
        return false;
    }
    const FieldSet *fields = connection_fields(connection);
    const Scene *scene = connection_scene(connection);
    u32 count;
    const Entity *entities = connection_entities(connection, &count, NULL);
    for (u32 i = 0; i < count; i++) {
        const Entity *entity = &entities[i];
        u8 kind = fields->fields[entity->field].kind;
        if (kind == FIELD_POSES && entity->look.kind == APPEARANCE_SHAPE) {
            pick_body(timeline, entity, ray, pick);
        } else if (kind == FIELD_POINTS && (entity->look.kind == APPEARANCE_CLOTH ||
                                            entity->look.kind == APPEARANCE_ROPE)) {
            pick_soft(timeline, scene, entity, ray, pick);
        }
    }
    pick->point = vec3_add_scaled(ray.origin, pick->distance, ray.direction);
    return pick->entity != 0;
}
