/*
 * spare.c: bodies that a scene holds ready: built with the others, so that no tick allocates, and
 * absent until they are placed. An absent body is asleep for everything that solves, and nothing
 * else finds it.
 */
#include "server/physics/soft/soft_internal.h"
#include "server/physics/tree.h"
#include "shared/base/check.h"

void soft_take_away(Soft *soft, u32 b)
{
    CHECK(b < soft->rest_count);
    if (soft_is_absent(soft, b)) {
        return;
    }
    if (!soft_sleeps(soft, b)) {
        rest_fall_asleep(soft, b);
    }
    soft->bodies[b].spare = true;
    soft->rests[b].state = (SoftRestState){.asleep = REST_ABSENT};
    soft->absent_count++;
}

void soft_place(Soft *soft, u32 b, Vec3 position, Quat orientation, Vec3 velocity)
{
    CHECK(soft_is_absent(soft, b));
    const SoftBody *body = &soft->bodies[b];
    Vec3 middle = vec3_zero();
    for (u32 i = 0; i < body->count; i++) {
        Vec3 at = vec3_add(position, quat_rotate(orientation, soft->rest[body->first + i]));
        soft->points[body->first + i].position = at;
        middle = vec3_add_scaled(middle, 1.0f / (f32)body->count, at);
    }
    soft->rests[b].state.asleep = REST_ASLEEP;
    soft->rests[b].measured = false;
    soft->absent_count--;
    soft_wake(soft, b);
    for (u32 i = body->first; i < body->first + body->count; i++) {
        SoftPoint *p = &soft->points[i];
        Vec3 arm = vec3_sub(p->position, middle);
        p->velocity = vec3_add(velocity, vec3_cross(body->def.angular_velocity, arm));
    }
    body_constraints_reset(soft, b, orientation);
    soft->surface_stale = true;
}
