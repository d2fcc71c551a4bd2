/* static_colliders.c: finds static bodies, and the planes that a moving body meets. */
#include "client/link/static_colliders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STILL_M 1e-5f /* shorter motion is ignored */

enum {
    ASK_EVERY = 4 /* updates between retries while poses are missing: some pictures */
};

typedef struct StaticCollider {
    Shape shape;
    Vec3 position;
    Quat orientation;
    Bounds bounds;
} StaticCollider;

struct StaticColliders {
    const FieldSet *fields;
    u32 *entity_of[FIELDS_MAX]; /* [capacity] of POSES fields: index + 1 of its entity, 0: none */
    const EntityList *entities; /* borrowed, as of the last update */
    u64 version;
    u32 asked;  /* updates since the last retry */
    bool known; /* the poses of all entities were known at the last update */
    StaticCollider *bodies;
    u32 count, capacity;
};

StaticColliders *static_colliders_create(const FieldSet *fields)
{
    StaticColliders *colliders = calloc(1, sizeof *colliders);
    if (colliders == NULL) {
        return NULL;
    }
    colliders->fields = fields;
    for (u32 f = 0; f < fields->count; f++) {
        u32 capacity = fields->fields[f].kind == FIELD_POSES ? fields->fields[f].capacity : 0;
        colliders->entity_of[f] = capacity > 0 ? calloc(capacity, sizeof(u32)) : NULL;
        if (capacity > 0 && colliders->entity_of[f] == NULL) {
            static_colliders_destroy(colliders);
            return NULL;
        }
    }
    return colliders;
}

void static_colliders_destroy(StaticColliders *colliders)
{
    if (colliders == NULL) {
        return;
    }
    for (u32 f = 0; f < colliders->fields->count; f++) {
        free(colliders->entity_of[f]);
    }
    free(colliders->bodies);
    free(colliders);
}

/* ---- what stands ---- */

static bool has_body(const StaticColliders *colliders, const Entity *entity)
{
    if (entity->field >= colliders->fields->count || entity->appearance.kind != APPEARANCE_SHAPE) {
        return false;
    }
    const FieldDesc *field = &colliders->fields->fields[entity->field];
    return field->kind == FIELD_POSES && entity->first < field->capacity;
}

static void body_add(StaticColliders *colliders, const Shape *shape, const ShownPose *pose)
{
    if (colliders->count == colliders->capacity) {
        u32 capacity = colliders->capacity > 0 ? 2 * colliders->capacity : 64;
        StaticCollider *larger = realloc(colliders->bodies, capacity * sizeof *larger);
        if (larger == NULL) {
            return; /* out of memory: objects may sink into this one */
        }
        colliders->bodies = larger;
        colliders->capacity = capacity;
    }
    colliders->bodies[colliders->count++] =
        (StaticCollider){*shape, pose->position, pose->orientation,
                         shape_bounds(shape, pose->position, pose->orientation)};
}

void static_colliders_update(StaticColliders *colliders, const EntityList *entities,
                             ShownPoseOf pose_of, const void *context)
{
    bool same = colliders->entities == entities && colliders->version == entities->version;
    if (same && (colliders->known || ++colliders->asked < ASK_EVERY)) {
        return;
    }
    colliders->asked = 0;
    for (u32 f = 0; f < colliders->fields->count; f++) {
        if (colliders->entity_of[f] != NULL) {
            memset(colliders->entity_of[f], 0, colliders->fields->fields[f].capacity * sizeof(u32));
        }
    }
    colliders->entities = entities;
    colliders->version = entities->version;
    colliders->known = true;
    colliders->count = 0;
    for (u32 i = 0; i < entities->count; i++) {
        const Entity *entity = &entities->items[i];
        ShownPose pose;
        if (!has_body(colliders, entity)) {
            continue;
        }
        colliders->entity_of[entity->field][entity->first] = i + 1;
        if (!pose_of(context, entity->field, entity->first, &pose)) {
            colliders->known = false;
        } else if ((pose.flags & POSE_STATIC) != 0) {
            body_add(colliders, &entity->appearance.shape, &pose);
        }
    }
}

/* ---- what moves ---- */

typedef struct Plane {
    Vec3 point, normal;
} Plane;

/* The first surface that the ray hits within max. */
static bool ray_meets(const StaticColliders *colliders, Ray ray, f32 max, Plane *plane)
{
    Vec3 end = vec3_add_scaled(ray.origin, max, ray.direction);
    Vec3 low = vec3_min(ray.origin, end), high = vec3_max(ray.origin, end);
    bool meets = false;
    for (u32 i = 0; i < colliders->count; i++) {
        const StaticCollider *body = &colliders->bodies[i];
        Vec3 below = vec3_sub(low, body->bounds.max), above = vec3_sub(body->bounds.min, high);
        Vec3 apart = vec3_max(below, above), normal;
        f32 distance;
        if (apart.x > 0.0f || apart.y > 0.0f || apart.z > 0.0f ||
            !shape_ray(&body->shape, body->position, body->orientation, ray, max, &distance,
                       &normal) ||
            distance <= 0.0f) { /* an object that is already inside does not collide */
            continue;
        }
        max = distance;
        *plane = (Plane){vec3_add_scaled(ray.origin, distance, ray.direction), normal};
        meets = true;
    }
    return meets;
}

/* Extent of the shape from its origin against the normal. */
static f32 reach_against(const Shape *shape, Quat orientation, Vec3 normal)
{
    /* Rotation that takes the normal to +y: half of twice the angle, by the sum of both. */
    Quat rotation = {1.0f + normal.y, -normal.z, 0.0f, normal.x};
    rotation = normal.y > -0.9999f ? quat_normalize(rotation) : (Quat){0.0f, 1.0f, 0.0f, 0.0f};
    return -shape_bounds(shape, vec3_zero(), quat_mul(rotation, orientation)).min.y;
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

void static_colliders_hold(const StaticColliders *colliders, u32 field, u32 element,
                           Quat orientation, Vec3 from, Vec3 *to, Vec3 *velocity)
{
    u32 entity = colliders->entity_of[field][element];
    f32 way = vec3_distance(from, *to);
    if (entity == 0 || entity > colliders->entities->count || way < STILL_M) {
        return;
    }
    const Shape *shape = &colliders->entities->items[entity - 1].appearance.shape;
    f32 reach = shape_reach(shape);
    Plane plane;
    Ray ray = {from, vec3_scale(vec3_sub(*to, from), 1.0f / way)};
    if (ray_meets(colliders, ray, way + reach, &plane)) {
        plane_hold(&plane, reach_against(shape, orientation, plane.normal), from, to, velocity);
    }
    f32 top = f32_max(from.y, to->y);
    ray = (Ray){vec3(to->x, top, to->z), vec3(0.0f, -1.0f, 0.0f)};
    if (ray_meets(colliders, ray, top - to->y + reach, &plane)) {
        plane_hold(&plane, reach_against(shape, orientation, plane.normal), from, to, velocity);
    }
}
