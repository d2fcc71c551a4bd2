/*
 * tick.c: a tick, and the substep driver: forces, grabs, joints and contacts, positions, then
 * joints and contacts again without position error (relax), so that push-out adds no energy.
 */
#include "server/physics/rigid/rigid_internal.h"
#include "shared/base/check.h"

/* Lists awake bodies. */
static void list_active(Rigid *rigid)
{
    u32 count = 0, pgs = 0, asleep = 0;
    for (u32 i = 0; i < rigid->slots; i++) {
        const Body *body = &rigid->bodies[i];
        if (!body_is_active(body)) {
            asleep += (body->flags & BODY_ASLEEP) != 0;
        } else if (body->flags & BODY_PGS) {
            pgs++;
        } else {
            rigid->active[count++] = i;
        }
    }
    for (u32 i = 0; i < rigid->slots && pgs > 0; i++) {
        if (body_is_active(&rigid->bodies[i]) && body_is_pgs(rigid, i)) {
            rigid->active[count++] = i;
        }
    }
    rigid->active_count = count;
    rigid->pgs_count = pgs;
    rigid->asleep_count = asleep;
}

void rigid_collide(Rigid *rigid, Jobs *jobs)
{
    rigid->jobs = jobs;
    rigid->idle = rigid->active_count == 0 && !rigid->stirred;
    if (rigid->idle) {
        rigid->row_count = rigid->impact_count = rigid->overlap_count = 0;
        return;
    }
    rigid->stirred = false;
    rigid->overlap_count = 0;
    list_active(rigid);
    broad_update(rigid);
    collide_pairs(rigid);
}

void rigid_prepare(Rigid *rigid)
{
    if (rigid->idle) {
        return;
    }
    if (rigid->stirred) {
        list_active(rigid); /* contacts have woken some */
    }
    energy_begin(rigid);
    bodies_begin(rigid);
    stuck_find(rigid);
    rigid->substep = 0;
    joint_prepare(rigid, rigid->jobs, rigid->def.tick_s / (f32)rigid->substeps);
    impulses_prepare(rigid);
    contact_prepare(rigid);
    contact_bounce(rigid);
}

/* 1/m − [r] I⁻¹ [r]: velocity change of the point at the arm per unit impulse. */
static Symmetric3 point_response(const Rigid *rigid, u32 slot, Vec3 r)
{
    const Symmetric3 *i = &rigid->inertias[slot];
    Vec3 x = vec3_cross(symmetric_mul(i, vec3_cross(r, vec3(1.0f, 0.0f, 0.0f))), r);
    Vec3 y = vec3_cross(symmetric_mul(i, vec3_cross(r, vec3(0.0f, 1.0f, 0.0f))), r);
    Vec3 z = vec3_cross(symmetric_mul(i, vec3_cross(r, vec3(0.0f, 0.0f, 1.0f))), r);
    f32 w = rigid->states[slot].inverse_mass;
    return (Symmetric3){w + x.x, w + y.y, w + z.z, y.x, z.x, z.y};
}

static Vec3 bounded(Vec3 v, f32 limit)
{
    f32 length2 = vec3_length_squared(v);
    if (length2 <= limit * limit) {
        return v;
    }
    return isfinite(length2) ? vec3_scale(v, limit / sqrtf(length2)) : vec3_zero();
}

/* A grab: a soft ball joint to its target with a bounded force. For PGS bodies, or the others. */
static void solve_grabs(Rigid *rigid, bool pgs, f32 h)
{
    for (u32 g = 0; g < rigid->grab_count; g++) {
        RigidGrab *grab = &rigid->grabs[g];
        if (!grab->live || rigid_mass(rigid, grab->body.slot) <= 0.0f ||
            body_is_pgs(rigid, grab->body.slot) != pgs) {
            continue;
        }
        u32 slot = grab->body.slot;
        const Body *body = &rigid->bodies[slot];
        BodyState *state = &rigid->states[slot];
        Vec3 arm = quat_rotate(body->orientation, vec3_sub(grab->local, body->centre));
        Vec3 offset = vec3_sub(vec3_add(body->position, arm), grab->target);
        Symmetric3 k = point_response(rigid, slot, arm);
        Symmetric3 mass = symmetric_inverse(&k);
        Softness soft = softness(grab->frequency, grab->damping, h);
        Vec3 speed = vec3_add_scaled(rigid_velocity_at(rigid, slot, arm), soft.bias_rate, offset);
        /* Without warm starting the impulse of a step is the whole implicit spring. */
        Vec3 impulse = vec3_scale(symmetric_mul(&mass, speed), -soft.mass_scale);
        impulse = bounded(impulse, grab->force_max * h);
        grab->impulse = impulse;
        rigid->work += (f64)vec3_dot(impulse, vec3_add_scaled(rigid_velocity_at(rigid, slot, arm),
                                                              0.5f, symmetric_mul(&k, impulse)));
        state->velocity = vec3_add_scaled(state->velocity, state->inverse_mass, impulse);
        state->angular_velocity =
            vec3_add(state->angular_velocity,
                     symmetric_mul(&rigid->inertias[slot], vec3_cross(arm, impulse)));
        /* A grabbed body stops swinging within about a second. */
        state->angular_velocity = vec3_scale(state->angular_velocity, 1.0f / (1.0f + 2.0f * h));
    }
}

/* PGS: velocity iterations, then positions, without relaxation; a whole tick. */
static void impulses_step(Rigid *rigid)
{
    f32 tick_s = rigid->def.tick_s;
    bodies_accelerate(rigid, true, tick_s);
    solve_grabs(rigid, true, tick_s);
    joint_pgs_warm_start(rigid);
    impulses_warm_start(rigid);
    for (u32 i = 0; i < rigid->def.iterations; i++) {
        joint_pgs_solve(rigid, tick_s);
        impulses_solve(rigid);
    }
    joint_pgs_count(rigid);
    stuck_slow(rigid);
    bodies_move(rigid, true, tick_s);
}

void rigid_substep(Rigid *rigid)
{
    if (rigid->idle) {
        return;
    }
    if (rigid->substep++ == 0 && rigid->pgs_count > 0) {
        impulses_step(rigid);
    }
    if (rigid->pgs_count == rigid->active_count) {
        return;
    }
    f32 h = rigid->def.tick_s / (f32)rigid->substeps;
    bodies_accelerate(rigid, false, h);
    solve_grabs(rigid, false, h);
    joint_warm_start(rigid, rigid->jobs);
    contact_warm_start(rigid);
    /* Joints first: contacts have priority, so that nothing passes through. */
    joint_solve(rigid, rigid->jobs, true, h);
    contact_solve(rigid, true);
    joint_ring_blows(rigid, h);
    joint_close(rigid, rigid->jobs, h);
    stuck_slow(rigid);
    bodies_move(rigid, false, h);
    contact_release(rigid);
    contact_follow(rigid);
    /* Before the contact solve, whose look-ahead would stop what should bounce. */
    contact_bounce(rigid);
    joint_solve(rigid, rigid->jobs, false, h);
    contact_solve(rigid, false);
    if (rigid->measures_work) {
        contact_work(rigid);
    }
    stuck_slow(rigid);
}

/* Bodies woken within the tick by other matter are not in the awake list. */
static void woken_limit(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->slots && rigid->stirred; i++) {
        if (body_is_active(&rigid->bodies[i])) {
            BodyState *state = &rigid->states[i];
            state->velocity = bounded(state->velocity, SPEED_MAX_M_S);
            state->angular_velocity = bounded(state->angular_velocity, ANGULAR_SPEED_MAX_RAD_S);
        }
    }
}

void rigid_finish(Rigid *rigid)
{
    if (rigid->idle) {
        if (rigid->guest_count != 0) {
            island_sleep(rigid);
        }
        rigid->guest_count = 0;
        VALIDATE_STORE(rigid_validate(rigid));
        return;
    }
    rigid->impact_count = 0;
    impulses_store(rigid);
    contact_store(rigid);
    joint_finish(rigid, rigid->def.tick_s);
    /* State visible between ticks has the same limits as at the start of substeps. */
    bodies_limit(rigid);
    woken_limit(rigid);
    ccd_finish(rigid);
    energy_check(rigid);
    island_sleep(rigid);
    rigid->guest_count = 0;
    rigid->jobs = NULL;
    VALIDATE_STORE(rigid_validate(rigid));
}
