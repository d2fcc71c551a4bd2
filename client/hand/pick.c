/*
 * pick.c: the nearest hit of a ray with what is shown: bodies by their shapes, cloth by the
 * triangles of its grid (two-sided; Möller and Trumbore 1997).
 */
#include "client/hand/hand.h"

#include "client/link/timeline.h"

#include <string.h>

enum {
    COLUMNS_MAX = 1024 /* wider cloths are not picked */
};

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

static void pick_cloth(const Timeline *timeline, const Entity *entity, Ray ray, Pick *pick)
{
    u32 columns = entity->look.grid[0], rows = entity->look.grid[1];
    if (columns < 2 || rows < 2 || columns > COLUMNS_MAX || (u64)columns * rows > entity->count) {
        return;
    }
    ShownPoint lines[2][COLUMNS_MAX];
    timeline_point_range(timeline, entity->field, entity->first, columns, lines[0]);
    for (u32 row = 1; row < rows; row++) {
        const ShownPoint *above = lines[(row - 1) & 1], *below = lines[row & 1];
        timeline_point_range(timeline, entity->field, entity->first + row * columns, columns,
                             lines[row & 1]);
        for (u32 column = 1; column < columns; column++) {
            u32 i = row * columns + column;
            const ShownPoint *corner[4] = {&above[column - 1], &above[column], &below[column - 1],
                                           &below[column]};
            if (corner[0]->generation == 0 || corner[1]->generation == 0 ||
                corner[2]->generation == 0 || corner[3]->generation == 0) {
                continue;
            }
            Triangle upper = {corner[0]->position, corner[1]->position, corner[2]->position};
            Triangle lower = {corner[3]->position, corner[2]->position, corner[1]->position};
            pick_triangle(entity, &upper, (u32[]){i - columns - 1, i - columns, i - 1}, ray, pick);
            pick_triangle(entity, &lower, (u32[]){i, i - 1, i - columns}, ray, pick);
        }
    }
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
    u32 count;
    const Entity *entities = connection_entities(connection, &count, NULL);
    for (u32 i = 0; i < count; i++) {
        const Entity *entity = &entities[i];
        u8 kind = fields->fields[entity->field].kind;
        if (kind == FIELD_POSES && entity->look.kind == APPEARANCE_SHAPE) {
            pick_body(timeline, entity, ray, pick);
        } else if (kind == FIELD_POINTS && entity->look.kind == APPEARANCE_CLOTH) {
            pick_cloth(timeline, entity, ray, pick);
        }
    }
    pick->point = vec3_add_scaled(ray.origin, pick->distance, ray.direction);
    return pick->entity != 0;
}
