/* collider.c: rigid bodies as what other matter touches. */
#include "server/physics/rigid/collider.h"

#include "server/physics/contact/distance.h"

#include <stdlib.h>

void rigid_collider_finish(RigidCollider *bodies)
{
    free(bodies->movers);
    free(bodies->mover_of);
    *bodies = (RigidCollider){0};
}

static ShapePose pose_of(const Rigid *rigid, u32 slot)
{
    return (ShapePose){rigid_shape(rigid, slot), rigid_position(rigid, slot),
                       rigid_orientation(rigid, slot)};
}

f32 rigid_collider_distance(const Rigid *rigid, u32 slot, Vec3 point, f32 reach, Vec3 *normal)
{
    ShapePose pose = pose_of(rigid, slot);
    return contact_distance(&pose, point, reach, normal);
}

void rigid_collider_push(RigidCollider *bodies, u32 mover, Vec3 arm, Vec3 impulse_m, Vec3 against)
{
    if (mover == RIGID_MOVER_NONE) {
        return;
    }
    Rigid *rigid = bodies->rigid;
    RigidMover *motion = &bodies->movers[mover];
    u32 slot = motion->slot;
    f32 mass = rigid_mass(rigid, slot);
    if (mass <= 0.0f || !rigid_awake(rigid, slot)) {
        return;
    }
    motion->shift = vec3_add_scaled(motion->shift, 1.0f / mass, impulse_m);
    RigidPose pose = rigid_pose(rigid, slot); /* the next contact of the step uses the new pose */
    pose.centre = vec3_add_scaled(pose.centre, 1.0f / mass, impulse_m);
    rigid_set_pose(rigid, slot, pose);
    motion->rotation =
        vec3_add(motion->rotation, rigid_rotation_since(rigid, slot, vec3_cross(arm, impulse_m)));
    rigid_add_angular_velocity(rigid, slot,
                               rigid_rotation_since(rigid, slot, vec3_cross(impulse_m, against)));
}

/* ---- search ---- */

static void begin(void *of, Jobs *jobs, f32 tick_s)
{
    RigidCollider *bodies = of;
    PL_UNUSED(jobs);
    bodies->tick_s = tick_s;
    rigid_movers_clear(bodies);
}

static u32 overlaps(void *of, Bounds bounds, u32 group, u32 mask, u32 *things, u32 capacity)
{
    RigidCollider *bodies = of;
    u32 count = rigid_overlaps(bodies->rigid, bounds, things, capacity), kept = 0;
    for (u32 i = 0; i < count; i++) {
        if (rigid_meets(bodies->rigid, things[i], group, mask)) {
            things[kept++] = things[i];
        }
    }
    return kept;
}

static bool take(void *of, u32 thing)
{
    return rigid_mover(of, thing) != RIGID_MOVER_NONE;
}

/* ---- carry ---- */

static void substep_begin(void *of, f32 h)
{
    rigid_movers_begin(of, h);
}

static void step_begin(void *of, f32 h)
{
    rigid_movers_fall(of, h);
}

static void step_end(void *of, f32 h)
{
    rigid_movers_step(of, h);
}

static void substep_end(void *of)
{
    rigid_movers_end(of);
}

/* ---- questions ---- */

static f32 distance(const void *of, u32 thing, Vec3 point, f32 reach, Vec3 *normal)
{
    const RigidCollider *bodies = of;
    return rigid_collider_distance(bodies->rigid, thing, point, reach, normal);
}

static Vec3 moving_at(const RigidCollider *bodies, u32 slot, u32 mover, Vec3 arm)
{
    Vec3 v = rigid_velocity_at(bodies->rigid, slot, arm);
    if (mover == RIGID_MOVER_NONE) {
        return v;
    }
    const RigidMover *motion = &bodies->movers[mover];
    return vec3_add(vec3_add(v, motion->bias), vec3_cross(motion->bias_angular, arm));
}

static Vec3 velocity(const void *of, u32 thing, Vec3 point)
{
    const RigidCollider *bodies = of;
    Vec3 arm = vec3_sub(point, rigid_centre(bodies->rigid, thing));
    return moving_at(bodies, thing, rigid_mover_at(bodies, thing), arm);
}

static bool ray_hits(const void *of, u32 thing, Ray ray, f32 max, f32 *distance, Vec3 *normal)
{
    ShapePose pose = pose_of(((const RigidCollider *)of)->rigid, thing);
    return shape_ray(pose.shape, pose.position, pose.orientation, ray, max, distance, normal);
}

static f32 friction(const void *of, u32 thing)
{
    return rigid_friction(((const RigidCollider *)of)->rigid, thing);
}

/* ---- contact ---- */

/* What gravity and solvers may add to a speed. */
static const f32 margin_m_s = 2.0f;

static bool may_meet(const void *of, u32 thing, const ContactParticle *particle, f32 h)
{
    const RigidCollider *bodies = of;
    Vec3 moving = velocity(of, thing, particle->position), normal;
    f32 speed = vec3_distance(moving, particle->velocity);
    f32 reach = particle->radius + (speed + margin_m_s) * h;
    return rigid_collider_distance(bodies->rigid, thing, particle->position, reach, &normal) <
           reach;
}

static bool meet(const void *of, u32 thing, const ContactParticle *particle, f32 h,
                 ContactPlace *place)
{
    const RigidCollider *bodies = of;
    const Rigid *rigid = bodies->rigid;
    Vec3 from = particle->position;
    place->thing = thing;
    place->mover = rigid_mover_at(bodies, thing);
    /* The body's impulses act at the particle, so both have the same moment about any point. */
    place->arm = vec3_sub(from, rigid_centre(rigid, thing));
    place->velocity = rigid_velocity_at(rigid, thing, place->arm);
    place->moving = moving_at(bodies, thing, place->mover, place->arm);
    place->free = vec3_zero();
    place->keeps = false;
    Vec3 point = vec3_add_scaled(from, h, vec3_sub(particle->velocity, place->moving));
    ShapePose pose = pose_of(rigid, thing);
    place->distance = contact_distance_on_way(&pose, point, from, particle->radius, particle->swept,
                                              &place->normal);
    return particle->radius - place->distance > 0.0f;
}

static f32 inverse_mass(const void *of, const ContactPlace *place, Vec3 direction)
{
    const RigidCollider *bodies = of;
    return rigid_inverse_mass_at(bodies->rigid, place->thing, place->arm, direction);
}

static void impulse(void *of, const ContactPlace *place, Vec3 impulse)
{
    RigidCollider *bodies = of;
    rigid_impulse(bodies->rigid, place->thing, place->arm, impulse);
}

static void push(void *of, ContactPlace *place, Vec3 impulse_m, const ContactParticle *particle)
{
    RigidCollider *bodies = of;
    Vec3 against = vec3_sub(particle->velocity, rigid_velocity(bodies->rigid, place->thing));
    rigid_collider_push(bodies, place->mover, place->arm, impulse_m, against);
}

static void wake(void *of, u32 thing)
{
    RigidCollider *bodies = of;
    if (rigid_motion(bodies->rigid, thing) == BODY_DYNAMIC) {
        rigid_wake(bodies->rigid, thing);
    }
}

const ColliderOps rigid_collider_ops = {
    .name = "rigid",
    .begin = begin,
    .overlaps = overlaps,
    .take = take,
    .substep_begin = substep_begin,
    .step_begin = step_begin,
    .step_end = step_end,
    .substep_end = substep_end,
    .distance = distance,
    .velocity = velocity,
    .friction = friction,
    .ray = ray_hits,
    .may_meet = may_meet,
    .meet = meet,
    .inverse_mass = inverse_mass,
    .impulse = impulse,
    .push = push,
    .wake = wake,
};
