/*
 * motion.c: motion of bodies in a tick relative to their thickness: how far ahead their bounds and
 * contacts must look, and which bodies rotate so fast that their contacts change within the tick.
 */
#include "server/physics/rigid/rigid_internal.h"

/* ---- how large a shape is ---- */

/* Maximal distance of a shape's points from the origin of its frame, m. */
f32 shape_outer_radius(const Shape *shape)
{
    if (shape->kind != SHAPE_COMPOUND && shape->kind != SHAPE_MESH) {
        return shape_reach(shape);
    }
    Bounds b = shape->geometry->bounds;
    return vec3_length(vec3_max(vec3_abs(b.min), vec3_abs(b.max)));
}

/* Of a body's shape relative to its centre of mass, in its own axes. */
Vec3 body_local_origin(const Body *body)
{
    ShapePose pose = body_pose(body);
    return quat_rotate_inverse(body->orientation, vec3_sub(pose.position, body->position));
}

f32 body_reach(const Body *body)
{
    return vec3_length(body_local_origin(body)) + shape_outer_radius(&body->shape);
}

/* ---- how far contacts look ahead ---- */

f32 motion_rotating(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_KINEMATIC || rigid->def.no_ccd) {
        return 0.0f;
    }
    f32 angular_velocity = vec3_length(rigid->states[slot].angular_velocity);
    return f32_min(angular_velocity * rigid->def.tick_s, 2.0f) * body_reach(body);
}

Bounds motion_rotated(const Rigid *rigid, u32 slot, Bounds now)
{
    const Body *body = &rigid->bodies[slot];
    f32 angle = vec3_length(rigid->states[slot].angular_velocity) * rigid->def.tick_s;
    if (body->motion != BODY_DYNAMIC || rigid->def.no_ccd || body->shape.kind == SHAPE_SPHERE) {
        return now;
    }
    f32 reach = body_reach(body), by = f32_min(angle, 2.0f) * reach;
    if (by <= MOTION_STILL_M) {
        return now; /* within the slack of all bounds */
    }
    Vec3 most = vec3(reach, reach, reach);
    Bounds ball = {vec3_sub(body->position, most), vec3_add(body->position, most)};
    Bounds grown = bounds_grow(now, by);
    return (Bounds){vec3_min(now.min, vec3_max(grown.min, ball.min)),
                    vec3_max(now.max, vec3_min(grown.max, ball.max))};
}

f32 motion_margin(const Rigid *rigid, u32 slot_a, u32 slot_b)
{
    if (rigid->def.no_ccd) {
        return RIGID_MARGIN_M;
    }
    const Body *a = &rigid->bodies[slot_a], *b = &rigid->bodies[slot_b];
    Vec3 v = vec3_sub(rigid->states[slot_b].velocity, rigid->states[slot_a].velocity);
    f32 ahead = vec3_length(v) * rigid->def.tick_s;
    if (ahead > RIGID_MARGIN_M && a->motion != BODY_KINEMATIC && b->motion != BODY_KINEMATIC) {
        f32 thick_a = a->motion == BODY_DYNAMIC ? a->inner : INFINITY;
        f32 thick_b = b->motion == BODY_DYNAMIC ? b->inner : INFINITY;
        ahead = f32_min(ahead, FAST_SHARE * f32_min(thick_a, thick_b));
    }
    ahead += f32_max(motion_rotating(rigid, slot_a), motion_rotating(rigid, slot_b));
    return RIGID_MARGIN_M + ahead;
}

/* A ball's rotation does not change its contact. */
bool body_rotates(const Rigid *rigid, u32 slot)
{
    const f32 most_rad = 0.04f;
    const Body *body = &rigid->bodies[slot];
    f32 turn2 = vec3_length_squared(rigid->states[slot].angular_velocity) * rigid->def.tick_s *
                rigid->def.tick_s;
    return turn2 > most_rad * most_rad &&
           (body->shape.kind != SHAPE_SPHERE || (body->flags & BODY_OFFSET));
}
