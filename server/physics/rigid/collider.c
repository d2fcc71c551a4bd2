/* collider.c: rigid bodies as a collider for other kinds of matter. */
#include "server/physics/rigid/collider.h"

#include "server/physics/contact/distance.h"
#include "shared/geometry/geometry.h"

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

/* ---- search ---- */

static void begin(void *of, Jobs *jobs, f32 tick_s)
{
    RigidCollider *bodies = of;
    PL_UNUSED(jobs);
    bodies->tick_s = tick_s;
    bodies->gravity = rigid_gravity(bodies->rigid);
    rigid_movers_clear(bodies);
}

static u32 overlaps(void *of, Bounds bounds, u32 group, u32 mask, u32 *things, u32 capacity)
{
    RigidCollider *bodies = of;
    u32 count = rigid_overlaps(bodies->rigid, bounds, things, capacity), kept = 0;
    for (u32 i = 0; i < count; i++) {
        if (rigid_collides_with(bodies->rigid, things[i], group, mask)) {
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
    ((RigidCollider *)of)->substep_s = h;
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
    ShapePose pose = pose_of(((const RigidCollider *)of)->rigid, thing);
    return contact_distance(&pose, point, reach, normal);
}

static void distances(const void *of, u32 thing, const ContactPoints *points)
{
    ShapePose pose = pose_of(((const RigidCollider *)of)->rigid, thing);
    contact_distances(&pose, points);
}

static bool still(const void *of, u32 thing)
{
    return rigid_motion(((const RigidCollider *)of)->rigid, thing) == BODY_STATIC;
}

/* m/s: the actual motion there of a body with this velocity. */
static Vec3 moving_at(const RigidCollider *bodies, u32 mover, Vec3 arm, Vec3 velocity)
{
    if (mover == RIGID_MOVER_NONE) {
        return velocity;
    }
    const RigidMover *motion = &bodies->movers[mover];
    return vec3_add(vec3_add(velocity, motion->bias), vec3_cross(motion->bias_angular, arm));
}

static Vec3 velocity(const void *of, u32 thing, Vec3 point)
{
    const RigidCollider *bodies = of;
    Vec3 arm = vec3_sub(point, rigid_centre(bodies->rigid, thing));
    Vec3 v = rigid_velocity_at(bodies->rigid, thing, arm);
    return moving_at(bodies, rigid_mover_at(bodies, thing), arm, v);
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
    Vec3 moving = velocity(of, thing, particle->position), normal;
    f32 speed = vec3_distance(moving, particle->velocity);
    f32 reach = particle->radius + (speed + margin_m_s) * h;
    return distance(of, thing, particle->position, reach, &normal) < reach;
}

static void refresh(const void *of, ContactPlace *place)
{
    const RigidCollider *bodies = of;
    place->velocity = rigid_velocity_at(bodies->rigid, place->thing, place->arm);
    place->moving = moving_at(bodies, place->mover, place->arm, place->velocity);
}

static bool meet(const void *of, u32 thing, const ContactParticle *particle, f32 h,
                 ContactPlace *place)
{
    const RigidCollider *bodies = of;
    const Rigid *rigid = bodies->rigid;
    Vec3 from = particle->position;
    place->thing = thing;
    place->mover = rigid_mover_at(bodies, thing);
    /* The impulse on the body acts at the particle, so that both impulses have the same moment
     * about any point. */
    place->arm = vec3_sub(from, rigid_centre(rigid, thing));
    refresh(of, place);
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

/* Moves the body of a pair that is pushed apart, at its arm: impulse_m is the body's share, mass
 * times distance (kg m). Moving the two apart while they have different velocities would change
 * their angular momentum; the body's angular velocity takes up the difference. Does nothing without
 * a mover, or for a body that cannot move. */
static void push(void *of, ContactPlace *place, Vec3 impulse_m, const ContactParticle *particle)
{
    RigidCollider *bodies = of;
    if (place->mover == RIGID_MOVER_NONE) {
        return;
    }
    Rigid *rigid = bodies->rigid;
    RigidMover *motion = &bodies->movers[place->mover];
    u32 slot = motion->slot;
    Vec3 arm = place->arm, against = vec3_sub(particle->velocity, rigid_velocity(rigid, slot));
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

static void wake(void *of, u32 thing)
{
    RigidCollider *bodies = of;
    if (rigid_motion(bodies->rigid, thing) == BODY_DYNAMIC) {
        rigid_wake(bodies->rigid, thing);
    }
}

/* ---- rigid bodies ---- */

static bool alive(const void *of, BodyId body)
{
    return rigid_alive(((const RigidCollider *)of)->rigid, body);
}

static u32 parts_of(const Shape *shape)
{
    return shape->kind == SHAPE_COMPOUND ? shape->geometry->compound.child_count
           : shape_is_convex(shape)      ? 1
                                         : 0;
}

static void describe(const void *of, u32 thing, ContactBody *body)
{
    const RigidCollider *bodies = of;
    const Rigid *rigid = bodies->rigid;
    const Shape *shape = rigid_shape(rigid, thing);
    f32 speed = vec3_length(rigid_velocity(rigid, thing));
    f32 turning = vec3_length(rigid_angular_velocity(rigid, thing)) * shape_reach(shape);
    *body = (ContactBody){.moves = rigid_motion(rigid, thing) != BODY_STATIC,
                          .stirs = rigid_stirs(rigid, thing),
                          .parts = parts_of(shape),
                          .thickness = INFINITY,
                          .moved = speed * bodies->tick_s / (f32)rigid_substeps(rigid),
                          .speed = speed + turning};
    if (body->parts != 0) {
        body->thickness = shape_inner_radius(shape);
    }
}

static Bounds bounds_of(const void *of, u32 thing)
{
    return rigid_bounds(((const RigidCollider *)of)->rigid, thing);
}

static void part_of(const void *of, u32 thing, u32 part, ShapePose *pose)
{
    *pose = pose_of(((const RigidCollider *)of)->rigid, thing);
    if (pose->shape->kind == SHAPE_COMPOUND) {
        const CompoundChild *child = &pose->shape->geometry->compound.children[part];
        Vec3 at = vec3_add(pose->position, quat_rotate(pose->orientation, child->position));
        *pose = (ShapePose){&child->shape, at, quat_mul(pose->orientation, child->orientation)};
    }
}

static u32 mover_of(const void *of, u32 thing)
{
    return rigid_mover_at(of, thing);
}

static void motion_of(const void *of, u32 thing, ContactMotion *motion)
{
    const RigidCollider *bodies = of;
    const Rigid *rigid = bodies->rigid;
    u32 mover = rigid_mover_at(bodies, thing);
    bool taken = mover != RIGID_MOVER_NONE;
    *motion =
        (ContactMotion){.centre = rigid_centre(rigid, thing),
                        .orientation = rigid_orientation(rigid, thing),
                        .velocity = rigid_velocity(rigid, thing),
                        .angular_velocity = rigid_angular_velocity(rigid, thing),
                        .bias = taken ? bodies->movers[mover].bias : vec3_zero(),
                        .bias_angular = taken ? bodies->movers[mover].bias_angular : vec3_zero()};
}

static f32 mass_of(const void *of, u32 thing)
{
    return rigid_mass(((const RigidCollider *)of)->rigid, thing);
}

static bool is_awake(const void *of, u32 thing)
{
    return rigid_awake(((const RigidCollider *)of)->rigid, thing);
}

static Symmetric3 response(const void *of, u32 thing, Vec3 arm)
{
    return rigid_response_at(((const RigidCollider *)of)->rigid, thing, arm);
}

static Vec3 angular_response(const void *of, u32 thing, Vec3 moment)
{
    return rigid_rotation_since(((const RigidCollider *)of)->rigid, thing, moment);
}

static void angular_impulse(void *of, u32 thing, Vec3 moment)
{
    Rigid *rigid = ((RigidCollider *)of)->rigid;
    rigid_add_angular_velocity(rigid, thing, rigid_rotation_since(rigid, thing, moment));
}

static void hold_up(void *of, u32 thing)
{
    rigid_hold_up(((RigidCollider *)of)->rigid, thing);
}

static void join_islands(void *of, const IslandMembers *members)
{
    rigid_set_island_members(((RigidCollider *)of)->rigid, members);
}

static void link_thing(void *of, u32 member, u32 thing)
{
    rigid_link_body(((RigidCollider *)of)->rigid, member, thing);
}

static void carry_thing(void *of, u32 member, u32 thing)
{
    rigid_carry_body(((RigidCollider *)of)->rigid, member, thing);
}

static void link_members(void *of, u32 member, u32 other)
{
    rigid_link_members(((RigidCollider *)of)->rigid, member, other);
}

static const ContactBodyOps body_ops = {
    .alive = alive,
    .describe = describe,
    .bounds = bounds_of,
    .part = part_of,
    .mover = mover_of,
    .motion = motion_of,
    .mass = mass_of,
    .awake = is_awake,
    .response = response,
    .angular_response = angular_response,
    .angular_impulse = angular_impulse,
    .hold_up = hold_up,
    .join_islands = join_islands,
    .link_thing = link_thing,
    .carry_thing = carry_thing,
    .link_members = link_members,
};

const ColliderOps rigid_collider_ops = {
    .name = "rigid",
    .displaces = true,
    .begin = begin,
    .overlaps = overlaps,
    .take = take,
    .substep_begin = substep_begin,
    .step_begin = step_begin,
    .step_end = step_end,
    .substep_end = substep_end,
    .distance = distance,
    .distances = distances,
    .still = still,
    .velocity = velocity,
    .friction = friction,
    .ray = ray_hits,
    .may_meet = may_meet,
    .meet = meet,
    .refresh = refresh,
    .inverse_mass = inverse_mass,
    .impulse = impulse,
    .push = push,
    .wake = wake,
    .bodies = &body_ops,
};
