/* ray.c: rays through any collider, in segments, so that each segment tests few things. */
#include "server/physics/contact/contact.h"

enum {
    RAY_THINGS_MAX = 1024, /* near one piece */
    RAY_PIECES_MAX = 256
};

/* Shorter segments find fewer things, longer ones need fewer searches. */
static const f32 piece_m = 1.0f;

static Bounds bounds_of(Ray ray, f32 from, f32 to)
{
    Vec3 a = vec3_add_scaled(ray.origin, from, ray.direction);
    Vec3 b = vec3_add_scaled(ray.origin, to, ray.direction);
    return (Bounds){vec3_min(a, b), vec3_max(a, b)};
}

bool contact_ray(const Collider *collider, Ray ray, f32 max, u32 group, u32 mask, ContactHit *hit)
{
    const ColliderOps *ops = collider->ops;
    u32 things[RAY_THINGS_MAX];
    bool found = false;
    if (ops->ray == NULL || !(max > 0.0f) || !(max < INFINITY)) {
        return false;
    }
    f32 piece = f32_max(piece_m, max / RAY_PIECES_MAX);
    f32 nearest = max;
    for (f32 from = 0.0f; from < nearest; from += piece) {
        f32 to = f32_min(from + piece, max);
        u32 count = ops->overlaps(collider->of, bounds_of(ray, from, to), group, mask, things,
                                  RAY_THINGS_MAX);
        for (u32 i = 0; i < count; i++) {
            f32 distance;
            Vec3 normal;
            if (ops->ray(collider->of, things[i], ray, nearest, &distance, &normal) &&
                (!found || distance < nearest)) {
                *hit = (ContactHit){things[i], distance, normal};
                nearest = distance;
                found = true;
            }
        }
    }
    return found;
}
