/* body.c: accessors of bodies, and waking. See rigid.h. */
#include "server/physics/rigid/rigid_internal.h"

#include "shared/base/check.h"
#include "shared/math/trig.h"

#include <stdlib.h>

BodyDef body_def_default(void)
{
    BodyDef def = {.orientation = {1.0f, 0.0f, 0.0f, 0.0f}, .mass_kg = 1.0f};
#include "server/physics/option_default_rows.h"
#include "shared/rows/body.def"
    def.friction = 0.6f; /* without a material */
    def.restitution = 0.0f;
    return def;
}

bool rigid_reserve(Rigid *rigid, void *array, u32 *capacity, u32 count, size_t bytes)
{
    if (count <= *capacity) {
        return true;
    }
    /* The array may have any type: its pointer is read and written as bytes. */
    void *old;
    memcpy(&old, array, sizeof(old));
    u32 enlarged = u32_max(count + count / 2, 64);
    size_t size = ((size_t)enlarged * bytes + 63) / 64 * 64;
    void *grown = aligned_alloc(64, size);
    if (!grown) {
        return false;
    }
    if (old) {
        memcpy(grown, old, (size_t)*capacity * bytes);
    }
    free(old);
    memcpy(array, &grown, sizeof(grown));
    rigid->memory += (u64)(enlarged - *capacity) * bytes;
    *capacity = enlarged;
    return true;
}

bool body_has_extra(const Body *body)
{
    return body->rolling > 0.0f || vec3_length_squared(body->surface_velocity) > 0.0f;
}

/* Equal moments of inertia about every axis. */
static bool is_round(const Symmetric3 *i)
{
    f32 spread = f32_max(fabsf(i->xx - i->yy), fabsf(i->yy - i->zz));
    f32 tilt = f32_max(fabsf(i->xy), f32_max(fabsf(i->xz), fabsf(i->yz)));
    return f32_max(spread, tilt) <= 1e-4f * i->xx;
}

static bool is_ground(const Shape *shape)
{
    return shape->kind == SHAPE_MESH || shape->kind == SHAPE_TERRAIN || shape->kind == SHAPE_PLANE;
}

void body_derive(const Rigid *rigid, Body *body)
{
    MassProperties mass = shape_mass(&body->shape, body->mass);
    body->centre = mass.centre;
    body->inner = shape_inner_radius(&body->shape);
    body->reach = is_ground(&body->shape) ? INFINITY : shape_reach(&body->shape);
    body->flags &= ~(u32)(BODY_OFFSET | BODY_ROUND);
    if (body->motion == BODY_DYNAMIC) {
        body->inertia = mass.inertia;
        body->inverse_inertia = symmetric_inverse(&mass.inertia);
        body->flags |= is_round(&mass.inertia) ? BODY_ROUND : 0u;
    }
    body->flags |= vec3_length_squared(mass.centre) > 0.0f ? BODY_OFFSET : 0u;
    if (body->motion != BODY_DYNAMIC) {
        body->flags &= ~(u32)BODY_PGS;
    } else if (rigid->def.method == RIGID_IMPULSES) {
        body->flags |= BODY_PGS;
    }
}

bool rigid_alive(const Rigid *rigid, BodyId id)
{
    return id.generation != 0 && id.slot < rigid->slots &&
           (rigid->bodies[id.slot].flags & BODY_LIVE) &&
           rigid->bodies[id.slot].generation == id.generation;
}
u32 rigid_slots(const Rigid *rigid)
{
    return rigid->slots;
}
BodyId rigid_at(const Rigid *rigid, u32 slot)
{
    if (slot >= rigid->slots || !(rigid->bodies[slot].flags & BODY_LIVE)) {
        return (BodyId){0, 0};
    }
    return (BodyId){slot, rigid->bodies[slot].generation};
}
u32 rigid_generation(const Rigid *rigid, u32 slot)
{
    return slot < rigid->slots ? rigid->bodies[slot].generation : 0;
}
Vec3 rigid_position(const Rigid *rigid, u32 slot)
{
    return body_origin(&rigid->bodies[slot]);
}
Vec3 rigid_centre(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].position;
}
Quat rigid_orientation(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].orientation;
}
Vec3 rigid_velocity(const Rigid *rigid, u32 slot)
{
    return rigid->states[slot].velocity;
}
Vec3 rigid_angular_velocity(const Rigid *rigid, u32 slot)
{
    return rigid->states[slot].angular_velocity;
}
f32 rigid_mass(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].mass;
}
Symmetric3 rigid_inertia(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].inertia;
}
f32 rigid_friction(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].friction * rigid->friction_scale;
}
f32 rigid_gravity_scale(const Rigid *rigid, u32 slot)
{
    return rigid->states[slot].gravity_scale;
}
const Shape *rigid_shape(const Rigid *rigid, u32 slot)
{
    return &rigid->bodies[slot].shape;
}
bool rigid_is_sensor(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].sensor != 0;
}
void rigid_filter(const Rigid *rigid, u32 slot, u32 *group, u32 *mask)
{
    *group = rigid->bodies[slot].group;
    *mask = rigid->bodies[slot].mask;
}
bool rigid_collides_with(const Rigid *rigid, u32 slot, u32 group, u32 mask)
{
    const Body *body = &rigid->bodies[slot];
    return body->sensor == 0 && (body->group & (mask != 0 ? mask : ~0u)) != 0 &&
           ((group != 0 ? group : 1u) & body->mask) != 0;
}

BodyMotion rigid_motion(const Rigid *rigid, u32 slot)
{
    return (BodyMotion)rigid->bodies[slot].motion;
}
bool rigid_awake(const Rigid *rigid, u32 slot)
{
    return body_is_active(&rigid->bodies[slot]);
}
Vec3 rigid_velocity_at(const Rigid *rigid, u32 slot, Vec3 arm)
{
    const BodyState *state = &rigid->states[slot];
    return vec3_add(state->velocity, vec3_cross(state->angular_velocity, arm));
}
/* From the pose, like rigid_impulse: the tick's cache belongs to another time. */
Vec3 rigid_rotation_since(const Rigid *rigid, u32 slot, Vec3 moment)
{
    const Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_DYNAMIC || !body_is_active(body)) {
        return vec3_zero();
    }
    Vec3 local = quat_rotate_inverse(body->orientation, moment);
    return quat_rotate(body->orientation, symmetric_mul(&body->inverse_inertia, local));
}
f32 rigid_inverse_mass_at(const Rigid *rigid, u32 slot, Vec3 arm, Vec3 direction)
{
    const Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_DYNAMIC || !body_is_active(body)) {
        return 0.0f;
    }
    Vec3 moment = quat_rotate_inverse(body->orientation, vec3_cross(arm, direction));
    return rigid->states[slot].inverse_mass +
           vec3_dot(moment, symmetric_mul(&body->inverse_inertia, moment));
}
Symmetric3 rigid_response_at(const Rigid *rigid, u32 slot, Vec3 arm)
{
    const Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_DYNAMIC || !body_is_active(body)) {
        return (Symmetric3){0};
    }
    Vec3 x = rigid_rotation_since(rigid, slot, vec3(0.0f, arm.z, -arm.y));
    Vec3 y = rigid_rotation_since(rigid, slot, vec3(-arm.z, 0.0f, arm.x));
    Vec3 z = rigid_rotation_since(rigid, slot, vec3(arm.y, -arm.x, 0.0f));
    x = vec3_cross(x, arm);
    y = vec3_cross(y, arm);
    z = vec3_cross(z, arm);
    f32 w = rigid->states[slot].inverse_mass;
    return (Symmetric3){w + x.x, w + y.y, w + z.z, y.x, z.x, z.y};
}
RigidPose rigid_pose(const Rigid *rigid, u32 slot)
{
    VALIDATE(slot < rigid->slots);
    const Body *body = &rigid->bodies[slot];
    return (RigidPose){body->position, body->orientation};
}
void rigid_set_pose(Rigid *rigid, u32 slot, RigidPose pose)
{
    VALIDATE(slot < rigid->slots);
    energy_forget(rigid);
    /* Infinite speeds, possible in an image, give no pose: the body keeps its own. */
    if (vec3_is_finite(pose.centre) && quat_is_finite(pose.orientation)) {
        rigid->bodies[slot].position = pose.centre;
        rigid->bodies[slot].orientation = pose.orientation;
    }
}
void rigid_add_velocity(Rigid *rigid, u32 slot, Vec3 velocity)
{
    VALIDATE(slot < rigid->slots);
    energy_forget(rigid);
    rigid->states[slot].velocity = vec3_add(rigid->states[slot].velocity, velocity);
}
void rigid_add_angular_velocity(Rigid *rigid, u32 slot, Vec3 angular_velocity)
{
    energy_forget(rigid);
    rigid->states[slot].angular_velocity =
        vec3_add(rigid->states[slot].angular_velocity, angular_velocity);
}
void rigid_add_motion(Rigid *rigid, u32 slot, Vec3 shift, Vec3 rotation)
{
    VALIDATE(slot < rigid->slots);
    energy_forget(rigid);
    BodyState *state = &rigid->states[slot];
    state->shift = vec3_add(state->shift, shift);
    state->rotation = vec3_add(state->rotation, rotation);
}
bool rigid_moves_once(const Rigid *rigid, u32 slot)
{
    return body_is_pgs(rigid, slot) || rigid->def.method == RIGID_IMPULSES;
}
Bounds rigid_bounds(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].fat;
}

void rigid_set_velocity(Rigid *rigid, u32 slot, Vec3 velocity, Vec3 angular_velocity)
{
    VALIDATE(slot < rigid->slots);
    rigid->states[slot].velocity = velocity;
    rigid->states[slot].angular_velocity = angular_velocity;
    rigid_wake(rigid, slot);
}

void rigid_impulse(Rigid *rigid, u32 slot, Vec3 arm, Vec3 impulse)
{
    VALIDATE(slot < rigid->slots);
    energy_forget(rigid);
    Body *body = &rigid->bodies[slot];
    BodyState *state = &rigid->states[slot];
    if (body->motion != BODY_DYNAMIC || !vec3_is_finite(impulse)) {
        return;
    }
    /* From the pose, not from the tick's cache: pushes come before the cache is made. */
    Vec3 moment = quat_rotate_inverse(body->orientation, vec3_cross(arm, impulse));
    Vec3 angular_velocity =
        quat_rotate(body->orientation, symmetric_mul(&body->inverse_inertia, moment));
    state->velocity = vec3_add_scaled(state->velocity, state->inverse_mass, impulse);
    state->angular_velocity = vec3_add(state->angular_velocity, angular_velocity);
}

void rigid_push(Rigid *rigid, u32 slot, Vec3 arm, Vec3 force, Vec3 torque)
{
    const Body *body = &rigid->bodies[slot];
    f32 tick_s = rigid->def.tick_s;
    if (body->motion != BODY_DYNAMIC || !vec3_is_finite(force) || !vec3_is_finite(torque)) {
        return;
    }
    body_wake(rigid, slot);
    rigid_impulse(rigid, slot, arm, vec3_scale(force, tick_s));
    Vec3 moment = quat_rotate_inverse(body->orientation, vec3_scale(torque, tick_s));
    Vec3 angular_velocity =
        quat_rotate(body->orientation, symmetric_mul(&body->inverse_inertia, moment));
    rigid->states[slot].angular_velocity =
        vec3_add(rigid->states[slot].angular_velocity, angular_velocity);
}

void rigid_move_kinematic(Rigid *rigid, u32 slot, Vec3 position, Quat orientation)
{
    Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_KINEMATIC || !vec3_is_finite(position) ||
        !quat_is_finite(orientation)) {
        return;
    }
    f32 rate = 1.0f / rigid->def.tick_s;
    orientation = quat_normalize(orientation);
    Vec3 centre = vec3_add(position, quat_rotate(orientation, body->centre));
    rigid->states[slot].velocity = vec3_scale(vec3_sub(centre, body->position), rate);
    /* The rotation by 2 atan2(|v|, w) about v; for the small rotations of a tick 2 v / w is its
     * tangent. */
    Quat rotation = quat_mul(orientation, quat_conjugate(body->orientation));
    f32 sign = rotation.w < 0.0f ? -1.0f : 1.0f;
    Vec3 axis = vec3_scale(vec3(rotation.x, rotation.y, rotation.z), sign);
    f32 length = vec3_length(axis);
    f32 angle = 2.0f * trig_atan2_f32(length, fabsf(rotation.w));
    rigid->states[slot].angular_velocity =
        length > 1e-9f ? vec3_scale(axis, angle * rate / length) : vec3_zero();
}

void body_wake(Rigid *rigid, u32 slot)
{
    Body *body = &rigid->bodies[slot];
    if (!(body->flags & BODY_LIVE) || body->motion != BODY_DYNAMIC) {
        return;
    }
    body->sleep_s = 0.0f;
    rigid->stirred = true;
    if (body->flags & BODY_ASLEEP) {
        /* Particles may push it before the next tick lists it. */
        body->flags &= ~(u32)BODY_ASLEEP;
        rigid->joints.laid_out = false;
        rigid->states[slot].shift = vec3_zero();
        rigid->states[slot].rotation = vec3_zero();
        rigid->inertias[slot] = symmetric_rotate(body->orientation, &body->inverse_inertia);
    }
}

void rigid_wake(Rigid *rigid, u32 slot)
{
    body_wake(rigid, slot);
}
void rigid_wake_all(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        body_wake(rigid, i);
    }
}
void rigid_keep_awake(Rigid *rigid, u32 slot)
{
    rigid->bodies[slot].sleep_s = 0.0f;
}
void rigid_set_gravity(Rigid *rigid, Vec3 gravity)
{
    rigid->gravity = gravity;
}
Vec3 rigid_gravity(const Rigid *rigid)
{
    return rigid->gravity;
}
void rigid_set_substeps(Rigid *rigid, u32 substeps)
{
    rigid->substeps = u32_min(u32_max(substeps, 1), SUBSTEPS_MAX);
    if (rigid->def.method == RIGID_IMPULSES) {
        rigid->substeps = 1;
    }
}
u32 rigid_substeps(const Rigid *rigid)
{
    return rigid->substeps;
}
void rigid_set_materials(Rigid *rigid, f32 friction_scale, f32 restitution_min)
{
    rigid->friction_scale = friction_scale;
    rigid->restitution_min = restitution_min;
}

i32 rigid_grab_add(Rigid *rigid, const RigidGrab *grab)
{
    if (!rigid_alive(rigid, grab->body)) {
        return -1;
    }
    for (u32 i = 0; i < RIGID_GRABS_MAX; i++) {
        if (!rigid->grabs[i].live) {
            rigid->grabs[i] = *grab;
            rigid->grabs[i].live = 1;
            rigid->grabs[i].impulse = vec3_zero();
            rigid->grab_count = u32_max(rigid->grab_count, i + 1);
            body_wake(rigid, grab->body.slot);
            return (i32)i;
        }
    }
    return -1;
}
void rigid_grab_remove(Rigid *rigid, u32 grab)
{
    memset(&rigid->grabs[grab], 0, sizeof(rigid->grabs[grab]));
    while (rigid->grab_count > 0 && !rigid->grabs[rigid->grab_count - 1].live) {
        rigid->grab_count--;
    }
}
RigidGrab *rigid_grab(Rigid *rigid, u32 grab)
{
    return &rigid->grabs[grab];
}

const RigidOverlap *rigid_sensor_events(const Rigid *rigid, u32 *count)
{
    *count = rigid->overlap_count;
    return rigid->overlaps;
}

const RigidImpact *rigid_impacts(const Rigid *rigid, u32 *count)
{
    *count = rigid->impact_count;
    return rigid->impacts;
}
