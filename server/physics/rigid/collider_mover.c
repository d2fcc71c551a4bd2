/*
 * collider_mover.c: rigid bodies that other matter may touch follow the steps of its solver. Their
 * own substep has already moved them by the whole substep; here they return to its start and
 * advance by a part with each of those steps. A change of their velocity by an impulse moves them
 * from that step on, as it moves a particle: so the two meet at the same time, and the motion is
 * the one that the contact or attachment was solved for. Gravity also acts in each step: if all of
 * it acted at the start of a substep, bodies at rest on soft matter would rise by half of it.
 */
#include "server/physics/rigid/collider.h"
#include "shared/base/memory.h"

#include <string.h>

/* A body is free in a substep if everything but gravity changed its velocity by at most this
 * fraction of gravity's change. */
static const f32 free_part = 0.2f;
/* It is held if its velocity changed by less than this many times gravity's change; above that it
 * was hit. */
static const f32 held_part = 4.0f;

/* The rotation of a unit quaternion in the form that quat_integrate takes: 2 tan(angle / 2) about
 * the axis. */
static Vec3 rotation_between(Quat from, Quat to)
{
    Quat d = quat_mul(to, quat_conjugate(from));
    f32 w = fabsf(d.w) > 1e-3f ? d.w : 1e-3f;
    return vec3_scale(vec3(d.x, d.y, d.z), 2.0f / w);
}

/* Capacity for all bodies, so that ticks rarely allocate. */
void rigid_movers_clear(RigidCollider *bodies)
{
    for (u32 i = 0; i < bodies->mover_count; i++) {
        bodies->mover_of[bodies->movers[i].slot] = 0;
    }
    bodies->mover_count = 0;
    u32 slots = rigid_slots(bodies->rigid), before = bodies->mover_slots;
    if (slots > before &&
        memory_grow((void **)&bodies->movers, &bodies->mover_capacity, slots,
                    sizeof *bodies->movers) &&
        memory_grow((void **)&bodies->mover_of, &bodies->mover_slots, slots,
                    sizeof *bodies->mover_of)) {
        memset(bodies->mover_of + before, 0,
               (bodies->mover_slots - before) * sizeof *bodies->mover_of);
    }
}

u32 rigid_mover(RigidCollider *bodies, u32 slot)
{
    const Rigid *rigid = bodies->rigid;
    if (rigid_motion(rigid, slot) == BODY_STATIC || slot >= bodies->mover_slots) {
        return RIGID_MOVER_NONE;
    }
    if (bodies->mover_of[slot] == 0) {
        bodies->movers[bodies->mover_count] =
            (RigidMover){.slot = slot,
                         .once = rigid_moves_once(rigid, slot),
                         .from = rigid_pose(rigid, slot),
                         .before = rigid_velocity(rigid, slot),
                         .before_angular_velocity = rigid_angular_velocity(rigid, slot)};
        bodies->mover_of[slot] = ++bodies->mover_count;
    }
    return bodies->mover_of[slot] - 1;
}

/* Its pose when `left` seconds of the substep remain. */
static void place(const RigidMover *mover, Rigid *rigid)
{
    RigidPose pose = mover->to;
    f32 left = mover->left / mover->span;
    if (left > 0.0f) {
        pose.centre = vec3_add_scaled(pose.centre, -left, mover->way);
        pose.orientation = quat_nlerp(pose.orientation, mover->from.orientation, left);
    }
    pose.centre = vec3_add(pose.centre, mover->shift);
    if (vec3_length_squared(mover->rotation) > 0.0f) {
        pose.orientation = quat_integrate(pose.orientation, mover->rotation, 1.0f);
    }
    rigid_set_pose(rigid, mover->slot, pose);
}

/* For a body that its own contacts support in part, the change by gravity and these contacts in a
 * substep is also applied step by step: otherwise a plate that leans on a floor and on something
 * soft would start each substep falling and end it rising. */
static void spread_hold(const RigidCollider *bodies, RigidMover *mover)
{
    Rigid *rigid = bodies->rigid;
    u32 slot = mover->slot;
    Bounds bounds = rigid_bounds(rigid, slot);
    f32 size = 0.5f * vec3_distance(bounds.max, bounds.min);
    f32 most = held_part * vec3_length(bodies->gravity) * mover->span;
    Vec3 change = vec3_sub(mover->velocity, mover->before);
    Vec3 twist = vec3_sub(mover->angular_velocity, mover->before_angular_velocity);
    if (!(vec3_length(change) < most) || !(vec3_length(twist) * size < most)) {
        return;
    }
    f32 per = 1.0f / mover->span;
    Vec3 gained = vec3_scale(change, mover->span), rotated = vec3_scale(twist, mover->span);
    mover->fall = vec3_scale(change, per);
    mover->twist = vec3_scale(twist, per);
    mover->velocity = mover->before;
    mover->angular_velocity = mover->before_angular_velocity;
    rigid_add_velocity(rigid, slot, vec3_neg(change));
    rigid_add_angular_velocity(rigid, slot, vec3_neg(twist));
    mover->way = vec3_sub(mover->way, gained);
    mover->to.centre = vec3_sub(mover->to.centre, gained);
    mover->to.orientation = quat_integrate(mover->to.orientation, vec3_neg(rotated), 1.0f);
    mover->reported_shift = gained;
    mover->reported_rotation = rotated;
}

/* The change by gravity in the substep of a free body, to be applied step by step instead. */
static void spread_fall(const RigidCollider *bodies, RigidMover *mover)
{
    Rigid *rigid = bodies->rigid;
    u32 slot = mover->slot;
    Vec3 fall = vec3_scale(bodies->gravity, rigid_gravity_scale(rigid, slot));
    Vec3 fallen = vec3_scale(fall, mover->span);
    Vec3 other = vec3_sub(vec3_sub(mover->velocity, mover->before), fallen);
    f32 most = free_part * vec3_length(fallen);
    mover->fall = mover->twist = vec3_zero();
    if (rigid_mass(rigid, slot) <= 0.0f) {
        return;
    }
    if (vec3_length_squared(other) >= most * most) {
        spread_hold(bodies, mover);
        return;
    }
    mover->fall = fall;
    mover->velocity = vec3_sub(mover->velocity, fallen);
    rigid_add_velocity(rigid, slot, vec3_neg(fallen));
    mover->way = vec3_scale(mover->velocity, mover->span);
    mover->bias = vec3_zero();
    Vec3 to = vec3_add(mover->from.centre, mover->way);
    mover->reported_shift = vec3_sub(mover->to.centre, to);
    mover->to.centre = to;
}

static void begin(const RigidCollider *bodies, RigidMover *mover, f32 h)
{
    Rigid *rigid = bodies->rigid;
    u32 slot = mover->slot;
    if (!(mover->left > 0.0f)) { /* its own substep has moved it */
        mover->to = rigid_pose(rigid, slot);
        mover->span = mover->left = mover->once ? bodies->tick_s : h;
        mover->way = vec3_sub(mover->to.centre, mover->from.centre);
        mover->velocity = rigid_velocity(rigid, slot);
        mover->angular_velocity = rigid_angular_velocity(rigid, slot);
        f32 rate = 1.0f / mover->span;
        Vec3 rotated = rotation_between(mover->from.orientation, mover->to.orientation);
        mover->bias = vec3_sub(vec3_scale(mover->way, rate), mover->velocity);
        mover->bias_angular = vec3_sub(vec3_scale(rotated, rate), mover->angular_velocity);
        mover->shift = mover->rotation = mover->reported_shift = mover->reported_rotation =
            vec3_zero();
        spread_fall(bodies, mover);
    }
    place(mover, rigid);
}

void rigid_movers_begin(RigidCollider *bodies, f32 h)
{
    for (u32 i = 0; i < bodies->mover_count; i++) {
        begin(bodies, &bodies->movers[i], h);
    }
}

void rigid_movers_fall(RigidCollider *bodies, f32 h)
{
    Rigid *rigid = bodies->rigid;
    for (u32 i = 0; i < bodies->mover_count; i++) {
        const RigidMover *mover = &bodies->movers[i];
        rigid_add_velocity(rigid, mover->slot, vec3_scale(mover->fall, h));
        rigid_add_angular_velocity(rigid, mover->slot, vec3_scale(mover->twist, h));
    }
}

void rigid_movers_step(RigidCollider *bodies, f32 h)
{
    Rigid *rigid = bodies->rigid;
    for (u32 i = 0; i < bodies->mover_count; i++) {
        RigidMover *mover = &bodies->movers[i];
        Vec3 faster = vec3_sub(rigid_velocity(rigid, mover->slot), mover->velocity);
        Vec3 rotated =
            vec3_sub(rigid_angular_velocity(rigid, mover->slot), mover->angular_velocity);
        mover->shift = vec3_add_scaled(mover->shift, h, faster);
        mover->rotation = vec3_add_scaled(mover->rotation, h, rotated);
        mover->left = f32_max(mover->left - h, 0.0f);
        place(mover, rigid);
    }
}

/* A solver that met the body earlier in this substep begins the next one at its current pose. */
static void notify_earlier(RigidCollider *earlier, u32 slot)
{
    for (; earlier != NULL; earlier = earlier->earlier) {
        u32 index = rigid_mover_at(earlier, slot);
        if (index != RIGID_MOVER_NONE && !(earlier->movers[index].left > 0.0f)) {
            RigidMover *mover = &earlier->movers[index];
            mover->from = rigid_pose(earlier->rigid, slot);
            mover->before = rigid_velocity(earlier->rigid, slot);
            mover->before_angular_velocity = rigid_angular_velocity(earlier->rigid, slot);
        }
    }
}

/* At the end of the substep the pose is set exactly, without the rounding of the sum. */
void rigid_movers_end(RigidCollider *bodies)
{
    Rigid *rigid = bodies->rigid;
    for (u32 i = 0; i < bodies->mover_count; i++) {
        RigidMover *mover = &bodies->movers[i];
        f32 left = mover->left;
        bool ends = !(left > 0.25f * bodies->substep_s);
        mover->left = 0.0f;
        place(mover, rigid);
        rigid_add_motion(rigid, mover->slot, vec3_sub(mover->shift, mover->reported_shift),
                         vec3_sub(mover->rotation, mover->reported_rotation));
        mover->reported_shift = mover->shift;
        mover->reported_rotation = mover->rotation;
        if (ends) {
            mover->from = rigid_pose(rigid, mover->slot);
            mover->before = rigid_velocity(rigid, mover->slot);
            mover->before_angular_velocity = rigid_angular_velocity(rigid, mover->slot);
        } else {
            mover->left = left;
        }
        notify_earlier(bodies->earlier, mover->slot);
    }
}
