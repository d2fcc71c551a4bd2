/*
 * ccd_speculative.c: speculative contacts of bodies so fast that they approach from beyond the
 * contact margin: two that would meet within the tick get the contact of that time. Its normal and
 * points are those at touch, its separations what closes until then: so the impact happens in its
 * own substep, without penetration.
 */
#include "server/physics/rigid/ccd/ccd_sweep.h"

/* The motion of a body over the next `time_s` without contact. */
static Placed flight_of(const Rigid *rigid, u32 slot, f32 time_s)
{
    const Body *body = &rigid->bodies[slot];
    const BodyState *state = &rigid->states[slot];
    Placed placed = {.slot = slot, .orientation = quat_identity()};
    placed.mover = (Mover){.centre = body->position, .orientation = body->orientation};
    if (body_is_active(body)) {
        f32 fall = body->motion == BODY_DYNAMIC ? 0.5f * state->gravity_scale * time_s : 0.0f;
        Vec3 mean = vec3_add_scaled(state->velocity, fall, rigid->gravity);
        placed.mover.shift = vec3_scale(mean, time_s);
        placed.mover.rotation = vec3_scale(state->angular_velocity, time_s);
    }
    return placed;
}

/* Maximal distance that its points move by rotation. */
static f32 turning_of(const Rigid *rigid, const Placed *placed)
{
    const Body *body = &rigid->bodies[placed->slot];
    return body->shape.kind == SHAPE_SPHERE
               ? 0.0f
               : vec3_length(placed->mover.rotation) * body_reach(body);
}

/* Approach of the two until the time t of their flights, at the points of the manifold at that
 * time. */
static void move_back(const Placed *a, const Placed *b, f32 t, Vec3 from, Manifold *manifold)
{
    Vec3 n = manifold->normal, shift = vec3_sub(b->mover.shift, a->mover.shift);
    f32 gap = 0.0f, share = 1.0f / (f32)manifold->count;
    for (u32 i = 0; i < manifold->count; i++) {
        ManifoldPoint *point = &manifold->points[i];
        Vec3 arm_a = vec3_sub(point->position, from), arm_b = vec3_sub(arm_a, manifold->apart);
        Vec3 way = vec3_add(shift, vec3_sub(vec3_cross(b->mover.rotation, arm_b),
                                            vec3_cross(a->mover.rotation, arm_a)));
        f32 closes = -t * vec3_dot(n, way);
        point->separation += closes;
        gap += share * closes;
    }
    /* As if they were separated along the normal by the closing distance: arms are those at
     * touch. */
    Vec3 home = vec3_add_scaled(vec3_sub(a->mover.centre, from), 0.5f * gap, n);
    for (u32 i = 0; i < manifold->count; i++) {
        manifold->points[i].position = vec3_add(manifold->points[i].position, home);
    }
    manifold->apart = vec3_add_scaled(manifold->apart, gap, n);
}

u32 ccd_touching(const Rigid *rigid, u32 slot_a, u32 slot_b, f32 time_s, u32 capacity,
                 Manifold *manifolds)
{
    const Body *a = &rigid->bodies[slot_a], *b = &rigid->bodies[slot_b];
    Placed one = flight_of(rigid, slot_a, time_s), other = flight_of(rigid, slot_b, time_s);
    f32 t = placed_touch(rigid, &one, &other);
    if (!(t < 1.0f)) {
        return 0;
    }
    Vec3 at_a, at_b;
    Body there_a = *a, there_b = *b;
    placed_at(&one, t, &at_a, &there_a.orientation);
    placed_at(&other, t, &at_b, &there_b.orientation);
    there_a.position = at_a;
    there_b.position = at_b;
    ShapePose pose_a = body_pose(&there_a), pose_b = body_pose(&there_b);
    pose_a.shape = &a->shape;
    pose_b.shape = &b->shape;
    u32 count = manifold_collide(&pose_a, &pose_b, RIGID_MARGIN_M, manifolds, capacity);
    for (u32 m = 0; m < count; m++) {
        manifolds[m].apart = vec3_sub(at_b, at_a);
        move_back(&one, &other, t, at_a, &manifolds[m]);
    }
    return count;
}

u32 ccd_speculative(const Rigid *rigid, u32 slot_a, u32 slot_b, f32 time_s, u32 capacity,
                    Manifold *manifolds)
{
    Placed one = flight_of(rigid, slot_a, time_s), other = flight_of(rigid, slot_b, time_s);
    f32 way = vec3_distance(one.mover.shift, other.mover.shift) + turning_of(rigid, &one) +
              turning_of(rigid, &other);
    if (rigid->def.no_ccd || way <= motion_margin(rigid, slot_a, slot_b)) {
        return 0;
    }
    return ccd_touching(rigid, slot_a, slot_b, time_s, capacity, manifolds);
}
