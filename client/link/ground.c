/* ground.c: which bodies are static, and the planes that a body on its way meets. */
#include "client/link/ground.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STILL_M 1e-5f /* shorter ways are none */

enum {
    ASK_EVERY = 4 /* updates, while poses are missing: some pictures */
};

typedef struct GroundBody {
    Shape shape;
    Vec3 position;
    Quat orientation;
    Bounds bounds;
} GroundBody;

struct Ground {
    const FieldSet *fields;
    u32 *entity_of[FIELDS_MAX]; /* [capacity] of POSES fields: index + 1 of its entity, 0: none */
    const EntityList *entities; /* borrowed, as they were at the last look */
    u64 version;
    u32 asked;  /* updates since then */
    bool known; /* the poses of all entities were, at the last look */
    GroundBody *bodies;
    u32 count, room;
};

Ground *ground_create(const FieldSet *fields)
{
    Ground *ground = calloc(1, sizeof *ground);
    if (ground == NULL) {
        return NULL;
    }
    ground->fields = fields;
    for (u32 f = 0; f < fields->count; f++) {
        u32 capacity = fields->fields[f].kind == FIELD_POSES ? fields->fields[f].capacity : 0;
        ground->entity_of[f] = capacity > 0 ? calloc(capacity, sizeof(u32)) : NULL;
        if (capacity > 0 && ground->entity_of[f] == NULL) {
            ground_destroy(ground);
            return NULL;
        }
    }
    return ground;
}

void ground_destroy(Ground *ground)
{
    if (ground == NULL) {
        return;
    }
    for (u32 f = 0; f < ground->fields->count; f++) {
        free(ground->entity_of[f]);
    }
    free(ground->bodies);
    free(ground);
}

/* ---- what stands ---- */

static bool has_body(const Ground *ground, const Entity *entity)
{
    if (entity->field >= ground->fields->count || entity->look.kind != APPEARANCE_SHAPE) {
        return false;
    }
    const FieldDesc *field = &ground->fields->fields[entity->field];
    return field->kind == FIELD_POSES && entity->first < field->capacity;
}

static void body_add(Ground *ground, const Shape *shape, const ShownPose *pose)
{
    if (ground->count == ground->room) {
        u32 room = ground->room > 0 ? 2 * ground->room : 64;
        GroundBody *larger = realloc(ground->bodies, room * sizeof *larger);
        if (larger == NULL) {
            return; /* then things sink into this one */
        }
        ground->bodies = larger;
        ground->room = room;
    }
    ground->bodies[ground->count++] =
        (GroundBody){*shape, pose->position, pose->orientation,
                     shape_bounds(shape, pose->position, pose->orientation)};
}

void ground_update(Ground *ground, const EntityList *entities, const Timeline *timeline)
{
    bool same = ground->entities == entities && ground->version == entities->version;
    if (same && (ground->known || ++ground->asked < ASK_EVERY)) {
        return;
    }
    ground->asked = 0;
    for (u32 f = 0; f < ground->fields->count; f++) {
        if (ground->entity_of[f] != NULL) {
            memset(ground->entity_of[f], 0, ground->fields->fields[f].capacity * sizeof(u32));
        }
    }
    ground->entities = entities;
    ground->version = entities->version;
    ground->known = true;
    ground->count = 0;
    for (u32 i = 0; i < entities->count; i++) {
        const Entity *entity = &entities->items[i];
        ShownPose pose;
        if (!has_body(ground, entity)) {
            continue;
        }
        ground->entity_of[entity->field][entity->first] = i + 1;
        if (!timeline_pose(timeline, entity->field, entity->first, &pose)) {
            ground->known = false;
        } else if ((pose.flags & POSE_STATIC) != 0) {
            body_add(ground, &entity->look.shape, &pose);
        }
    }
}

/* ---- what moves ---- */

typedef struct Plane {
    Vec3 point, normal;
} Plane;

/* The surface that the ray meets first within max. */
static bool ray_meets(const Ground *ground, Ray ray, f32 max, Plane *plane)
{
    Vec3 end = vec3_add_scaled(ray.origin, max, ray.direction);
    Vec3 low = vec3_min(ray.origin, end), high = vec3_max(ray.origin, end);
    bool meets = false;
    for (u32 i = 0; i < ground->count; i++) {
        const GroundBody *body = &ground->bodies[i];
        Vec3 below = vec3_sub(low, body->bounds.max), above = vec3_sub(body->bounds.min, high);
        Vec3 apart = vec3_max(below, above), normal;
        f32 distance;
        if (apart.x > 0.0f || apart.y > 0.0f || apart.z > 0.0f ||
            !shape_ray(&body->shape, body->position, body->orientation, ray, max, &distance,
                       &normal) ||
            distance <= 0.0f) { /* what it is in already does not hold it */
            continue;
        }
        max = distance;
        *plane = (Plane){vec3_add_scaled(ray.origin, distance, ray.direction), normal};
        meets = true;
    }
    return meets;
}

/* How far the shape reaches from its origin against the normal. */
static f32 reach_against(const Shape *shape, Quat orientation, Vec3 normal)
{
    /* The turn that takes the normal to +y: half of twice the angle, by the sum of both. */
    Quat turn = {1.0f + normal.y, -normal.z, 0.0f, normal.x};
    turn = normal.y > -0.9999f ? quat_normalize(turn) : (Quat){0.0f, 1.0f, 0.0f, 0.0f};
    return -shape_bounds(shape, vec3_zero(), quat_mul(turn, orientation)).min.y;
}

static void plane_hold(const Plane *plane, f32 reach, Vec3 from, Vec3 *to, Vec3 *velocity)
{
    f32 before = reach - vec3_dot(plane->normal, vec3_sub(from, plane->point));
    f32 after = reach - vec3_dot(plane->normal, vec3_sub(*to, plane->point));
    f32 deeper = after - f32_max(before, 0.0f);
    if (deeper > 0.0f) {
        f32 towards = f32_min(vec3_dot(plane->normal, *velocity), 0.0f);
        *to = vec3_add_scaled(*to, deeper, plane->normal);
        *velocity = vec3_add_scaled(*velocity, -towards, plane->normal);
    }
}

void ground_hold(const Ground *ground, u32 field, u32 element, Quat orientation, Vec3 from,
                 Vec3 *to, Vec3 *velocity)
{
    u32 entity = ground->entity_of[field][element];
    f32 way = vec3_distance(from, *to);
    if (entity == 0 || entity > ground->entities->count || way < STILL_M) {
        return;
    }
    const Shape *shape = &ground->entities->items[entity - 1].look.shape;
    f32 reach = shape_reach(shape);
    Plane plane;
    Ray ray = {from, vec3_scale(vec3_sub(*to, from), 1.0f / way)};
    if (ray_meets(ground, ray, way + reach, &plane)) {
        plane_hold(&plane, reach_against(shape, orientation, plane.normal), from, to, velocity);
    }
    f32 top = f32_max(from.y, to->y);
    ray = (Ray){vec3(to->x, top, to->z), vec3(0.0f, -1.0f, 0.0f)};
    if (ray_meets(ground, ray, top - to->y + reach, &plane)) {
        plane_hold(&plane, reach_against(shape, orientation, plane.normal), from, to, velocity);
    }
}
