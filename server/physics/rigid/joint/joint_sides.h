/*
 * joint_sides.h: the two bodies of a joint that is solved alone, and what impulses do to them.
 * Layer: server/physics/rigid/joint, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_SIDES_H
#define PLENUM_SERVER_PHYSICS_RIGID_JOINT_JOINT_SIDES_H

#include "server/physics/rigid/joint/joint_row.h"

/* The two bodies while a row is solved. */
typedef struct Sides {
    Vec3 va, wa, vb, wb;
    f32 ma, mb;
    const Symmetric3 *ia, *ib;
} Sides;
static const BodyState world_state;
static const Symmetric3 world_inertia;

/* The state of a body, or of the world, which does not move. */
static inline const BodyState *state_of(const Rigid *rigid, u32 slot)
{
    return slot == JOINT_WORLD ? &world_state : &rigid->states[slot];
}
static inline const Symmetric3 *inertia_of(const Rigid *rigid, u32 slot)
{
    return slot == JOINT_WORLD ? &world_inertia : &rigid->inertias[slot];
}

/* Velocities and inverse masses of both bodies. */
static inline Sides sides_read(const Rigid *rigid, u32 slot_a, u32 slot_b)
{
    const BodyState *a = state_of(rigid, slot_a), *b = state_of(rigid, slot_b);
    return (Sides){a->velocity,
                   a->angular_velocity,
                   b->velocity,
                   b->angular_velocity,
                   a->inverse_mass,
                   b->inverse_mass,
                   inertia_of(rigid, slot_a),
                   inertia_of(rigid, slot_b)};
}
/* Immovable bodies are not written: they may be shared between threads. */
static inline void sides_write(Rigid *rigid, u32 slot_a, u32 slot_b, const Sides *sides)
{
    if (sides->ma > 0.0f) {
        rigid->states[slot_a].velocity = sides->va;
        rigid->states[slot_a].angular_velocity = sides->wa;
    }
    if (sides->mb > 0.0f) {
        rigid->states[slot_b].velocity = sides->vb;
        rigid->states[slot_b].angular_velocity = sides->wb;
    }
}

/* Of a body, or of the world. */
static inline Quat orientation_of(const Rigid *rigid, u32 slot)
{
    return slot == JOINT_WORLD ? quat_identity() : rigid->bodies[slot].orientation;
}

/* Change of relative angular velocity per moment, 1/(kg m^2). */
static inline Symmetric3 rotation_response(const Sides *sides)
{
    return symmetric_add(*sides->ia, *sides->ib);
}

/* Applies an impulse (N s) at the anchors: to b, and its opposite to a. */
static inline void apply_point(Sides *sides, Vec3 arm_a, Vec3 arm_b, Vec3 impulse)
{
    sides->va = vec3_add_scaled(sides->va, -sides->ma, impulse);
    sides->wa = vec3_sub(sides->wa, symmetric_mul(sides->ia, vec3_cross(arm_a, impulse)));
    sides->vb = vec3_add_scaled(sides->vb, sides->mb, impulse);
    sides->wb = vec3_add(sides->wb, symmetric_mul(sides->ib, vec3_cross(arm_b, impulse)));
}
static inline void apply_moment(Sides *sides, Vec3 moment)
{
    sides->wa = vec3_sub(sides->wa, symmetric_mul(sides->ia, moment));
    sides->wb = vec3_add(sides->wb, symmetric_mul(sides->ib, moment));
}
static inline Vec3 point_speed(const Sides *sides, Vec3 arm_a, Vec3 arm_b)
{
    return vec3_sub(vec3_add(sides->vb, vec3_cross(sides->wb, arm_b)),
                    vec3_add(sides->va, vec3_cross(sides->wa, arm_a)));
}

/* −[r] I⁻¹ [r]: velocity change of the point at the arm by rotation per unit impulse. */
static inline Symmetric3 arm_response(const Symmetric3 *i, Vec3 r)
{
    Vec3 x = vec3_cross(symmetric_mul(i, vec3(0.0f, r.z, -r.y)), r);
    Vec3 y = vec3_cross(symmetric_mul(i, vec3(-r.z, 0.0f, r.x)), r);
    Vec3 z = vec3_cross(symmetric_mul(i, vec3(r.y, -r.x, 0.0f)), r);
    return (Symmetric3){x.x, y.y, z.z, y.x, z.x, z.y};
}
static inline Symmetric3 point_response(const Sides *sides, Vec3 arm_a, Vec3 arm_b)
{
    Symmetric3 a = arm_response(sides->ia, arm_a), b = arm_response(sides->ib, arm_b);
    f32 m = sides->ma + sides->mb;
    Symmetric3 k = symmetric_add(a, b);
    k.xx += m;
    k.yy += m;
    k.zz += m;
    return k;
}
static inline Vec3 limited(Vec3 v, f32 limit)
{
    f32 length = vec3_length(v);
    return length <= limit ? v : vec3_scale(v, limit / length);
}

/* The impulse at the point that keeps its velocity when the moment acts; `mass` is the inverse
 * of the point's response. */
static inline Vec3 share_of_point(const Sides *sides, Vec3 arm_a, Vec3 arm_b,
                                  const Symmetric3 *mass, Vec3 moment)
{
    Vec3 rotation_a = symmetric_mul(sides->ia, moment),
         rotation_b = symmetric_mul(sides->ib, moment);
    Vec3 moved = vec3_add(vec3_cross(rotation_b, arm_b), vec3_cross(rotation_a, arm_a));
    return vec3_neg(symmetric_mul(mass, moved));
}
/* Of a joint's definition; a and b: slots or JOINT_WORLD. */
static inline JointArms arms_of(const Rigid *rigid, const JointDef *def, u32 a, u32 b,
                                const Vec3 anchors[2])
{
    JointArms arms = {.start_gap = vec3_sub(anchors[1], anchors[0])};
    if (a != JOINT_WORLD) {
        arms.local_a = vec3_sub(def->anchor_a, rigid->bodies[a].centre);
    }
    if (b != JOINT_WORLD) {
        arms.local_b = vec3_sub(def->anchor_b, rigid->bodies[b].centre);
    }
    arms.start_a = quat_rotate(orientation_of(rigid, a), arms.local_a);
    arms.start_b = quat_rotate(orientation_of(rigid, b), arms.local_b);
    return arms;
}

/* Writes the arms of now; returns the gap (m) from a's anchor to b's: from small differences, so
 * that no precision is lost far from the origin. */
static inline Vec3 arms_now(const Rigid *rigid, const JointArms *arms, u32 a, u32 b, Vec3 *arm_a,
                            Vec3 *arm_b)
{
    *arm_a = quat_rotate(orientation_of(rigid, a), arms->local_a);
    *arm_b = quat_rotate(orientation_of(rigid, b), arms->local_b);
    Vec3 moved_a = vec3_add(state_of(rigid, a)->shift, vec3_sub(*arm_a, arms->start_a));
    Vec3 moved_b = vec3_add(state_of(rigid, b)->shift, vec3_sub(*arm_b, arms->start_b));
    return vec3_add(arms->start_gap, vec3_sub(moved_b, moved_a));
}

#endif
