/*
 * solve.c: the substep driver: forces, grips, joints and contacts, positions, then joints and
 * contacts once more without their position error (relax), so that pushing out adds no energy.
 */
#include "server/physics/rigid/body.h"

enum {
    BODY_GRAIN = 64
};

/* Who is awake, and the inertia of each. */
static void list_active(Rigid *rigid)
{
    rigid->active_count = rigid->asleep_count = 0;
    for (u32 i = 0; i < rigid->slots; i++) {
        const Body *body = &rigid->bodies[i];
        if (body_is_active(body)) {
            rigid->active[rigid->active_count++] = i;
        } else if (body->flags & BODY_ASLEEP) {
            rigid->asleep_count++;
        }
    }
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
    list_active(rigid);
    broad_update(rigid);
    contact_update(rigid);
}

static void begin_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        u32 slot = rigid->active[i];
        const Body *body = &rigid->bodies[slot];
        rigid->states[slot].shift = vec3_zero();
        rigid->states[slot].turn = vec3_zero();
        rigid->inertias[slot] = symmetric_rotate(body->orientation, &body->inverse_inertia);
    }
}

void rigid_prepare(Rigid *rigid)
{
    if (rigid->idle) {
        return;
    }
    list_active(rigid); /* contacts may have woken some */
    jobs_run(rigid->jobs, rigid->active_count, BODY_GRAIN, begin_range, rigid);
    joint_prepare(rigid, rigid->jobs, rigid->def.tick_s / (f32)rigid->substeps);
    if (rigid->def.method == RIGID_IMPULSES) {
        impulses_prepare(rigid);
        return;
    }
    contact_prepare(rigid);
    contact_bounce(rigid);
}

/* Solves m x = r for the 3×3 with columns of m by Cramer's rule; zero where singular. */
static Vec3 mat3_solve(Mat3 m, Vec3 r)
{
    Vec3 yz = vec3_cross(m.y, m.z);
    f32 determinant = vec3_dot(m.x, yz);
    if (!(fabsf(determinant) > 1e-30f)) {
        return vec3_zero();
    }
    return vec3_scale(
        vec3(vec3_dot(r, yz), vec3_dot(m.x, vec3_cross(r, m.z)), vec3_dot(m.x, vec3_cross(m.y, r))),
        1.0f / determinant);
}

/*
 * Spin after h without torque, by the implicit midpoint rule in the body's frame, which keeps both
 * energy and |angular momentum|: Newton steps on 2 I (m − w) + h m × I m = 0, w' = 2 m − w.
 */
static Vec3 gyroscopic_spin(const Body *body, Vec3 spin, f32 h)
{
    if ((body->flags & BODY_ROUND) || vec3_length_squared(spin) < 1e-6f) {
        return spin;
    }
    const Symmetric3 *i = &body->inertia;
    Vec3 w = quat_rotate_inverse(body->orientation, spin), m = w;
    /* One step is enough where the turn of a substep is small. */
    u32 steps = vec3_length_squared(spin) * h * h < 1e-3f ? 1 : 2;
    for (u32 n = 0; n < steps; n++) {
        Vec3 im = symmetric_mul(i, m);
        Vec3 error = vec3_add_scaled(vec3_scale(symmetric_mul(i, vec3_sub(m, w)), 2.0f), h,
                                     vec3_cross(m, im));
        /* Column k of the derivative: 2 I e + h (e × I m + m × I e). */
        Vec3 ix = vec3(i->xx, i->xy, i->xz), iy = vec3(i->xy, i->yy, i->yz),
             iz = vec3(i->xz, i->yz, i->zz);
        Mat3 jacobian = {vec3_add_scaled(vec3_scale(ix, 2.0f), h,
                                         vec3_add(vec3(0.0f, -im.z, im.y), vec3_cross(m, ix))),
                         vec3_add_scaled(vec3_scale(iy, 2.0f), h,
                                         vec3_add(vec3(im.z, 0.0f, -im.x), vec3_cross(m, iy))),
                         vec3_add_scaled(vec3_scale(iz, 2.0f), h,
                                         vec3_add(vec3(-im.y, im.x, 0.0f), vec3_cross(m, iz)))};
        m = vec3_sub(m, mat3_solve(jacobian, error));
    }
    Vec3 after = vec3_sub(vec3_scale(m, 2.0f), w);
    /* Where Newton has not converged (absurd spins), energy must still not grow. */
    f32 before_energy = vec3_dot(w, symmetric_mul(i, w));
    f32 after_energy = vec3_dot(after, symmetric_mul(i, after));
    if (!(after_energy <= before_energy * 1.0001f)) {
        f32 ratio = before_energy / after_energy;
        after = ratio > 0.0f && isfinite(ratio) ? vec3_scale(after, sqrtf(ratio)) : w;
    }
    return quat_rotate(body->orientation, after);
}

/* Nothing is faster than the limits, and nothing is NaN: whatever the input, the world goes on. */
static Vec3 speed_limited(Vec3 v, f32 limit)
{
    f32 speed2 = vec3_length_squared(v);
    if (speed2 <= limit * limit) {
        return v;
    }
    return vec3_is_finite(v) && isfinite(speed2) ? vec3_scale(v, limit / sqrtf(speed2))
                                                 : vec3_zero();
}

static void velocity_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    f32 h = rigid->def.tick_s / (f32)rigid->substeps;
    for (u32 i = first; i < end; i++) {
        u32 slot = rigid->active[i];
        const Body *body = &rigid->bodies[slot];
        BodyState *state = &rigid->states[slot];
        if (body->motion == BODY_DYNAMIC) {
            state->velocity =
                vec3_add_scaled(state->velocity, h * state->gravity_scale, rigid->gravity);
            state->velocity =
                vec3_scale(state->velocity, 1.0f / (1.0f + h * state->linear_damping));
            state->spin = gyroscopic_spin(body, state->spin, h);
            state->spin = vec3_scale(state->spin, 1.0f / (1.0f + h * state->angular_damping));
        }
        state->velocity = speed_limited(state->velocity, SPEED_MAX_M_S);
        state->spin = speed_limited(state->spin, SPIN_MAX_RAD_S);
    }
}

static void position_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    f32 h = rigid->def.tick_s / (f32)rigid->substeps;
    for (u32 i = first; i < end; i++) {
        u32 slot = rigid->active[i];
        Body *body = &rigid->bodies[slot];
        BodyState *state = &rigid->states[slot];
        state->velocity = speed_limited(state->velocity, SPEED_MAX_M_S);
        state->spin = speed_limited(state->spin, SPIN_MAX_RAD_S);
        Vec3 shift = vec3_scale(state->velocity, h);
        state->shift = vec3_add(state->shift, shift);
        state->turn = vec3_add_scaled(state->turn, h, state->spin);
        body->position = vec3_add(body->position, shift);
        body->orientation = quat_integrate(body->orientation, state->spin, h);
        Vec3 edge = vec3(WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M);
        body->position = vec3_max(vec3_min(body->position, edge), vec3_neg(edge));
    }
}

/* 1/m − [r] I⁻¹ [r]: how the point at the arm answers an impulse. */
static Symmetric3 point_response(const Rigid *rigid, u32 slot, Vec3 r)
{
    const Symmetric3 *i = &rigid->inertias[slot];
    Vec3 x = vec3_cross(symmetric_mul(i, vec3_cross(r, vec3(1.0f, 0.0f, 0.0f))), r);
    Vec3 y = vec3_cross(symmetric_mul(i, vec3_cross(r, vec3(0.0f, 1.0f, 0.0f))), r);
    Vec3 z = vec3_cross(symmetric_mul(i, vec3_cross(r, vec3(0.0f, 0.0f, 1.0f))), r);
    f32 w = rigid->states[slot].inverse_mass;
    return (Symmetric3){w + x.x, w + y.y, w + z.z, y.x, z.x, z.y};
}

/* A hand: a soft ball joint to its target, of bounded force. */
static void solve_grips(Rigid *rigid, f32 h)
{
    for (u32 g = 0; g < rigid->grip_count; g++) {
        Grip *grip = &rigid->grips[g];
        if (!grip->live || rigid_mass(rigid, grip->body.slot) <= 0.0f) {
            continue;
        }
        u32 slot = grip->body.slot;
        const Body *body = &rigid->bodies[slot];
        BodyState *state = &rigid->states[slot];
        Vec3 arm = quat_rotate(body->orientation, vec3_sub(grip->local, body->centre));
        Vec3 offset = vec3_sub(vec3_add(body->position, arm), grip->target);
        Symmetric3 k = point_response(rigid, slot, arm);
        Symmetric3 mass = symmetric_inverse(&k);
        Softness soft = softness(grip->frequency, grip->damping, h);
        Vec3 speed = vec3_add_scaled(rigid_velocity_at(rigid, slot, arm), soft.bias_rate, offset);
        /* Without warm start the impulse of a step is the whole implicit spring. */
        Vec3 impulse = vec3_scale(symmetric_mul(&mass, speed), -soft.mass_scale);
        impulse = speed_limited(impulse, grip->force_max * h);
        grip->impulse = impulse;
        state->velocity = vec3_add_scaled(state->velocity, state->inverse_mass, impulse);
        state->spin =
            vec3_add(state->spin, symmetric_mul(&rigid->inertias[slot], vec3_cross(arm, impulse)));
        /* A held body stops swinging within a second or so. */
        state->spin = vec3_scale(state->spin, 1.0f / (1.0f + 2.0f * h));
    }
}

/* The plain method: velocities until they fit, then positions, and no second look. */
static void impulses_step(Rigid *rigid, f32 h)
{
    impulses_warm_start(rigid);
    for (u32 i = 0; i < rigid->def.iterations; i++) {
        joint_solve(rigid, rigid->jobs, true, h);
        impulses_solve(rigid);
    }
    jobs_run(rigid->jobs, rigid->active_count, BODY_GRAIN, position_range, rigid);
}

void rigid_substep(Rigid *rigid)
{
    if (rigid->idle) {
        return;
    }
    f32 h = rigid->def.tick_s / (f32)rigid->substeps;
    jobs_run(rigid->jobs, rigid->active_count, BODY_GRAIN, velocity_range, rigid);
    solve_grips(rigid, h);
    joint_warm_start(rigid, rigid->jobs);
    if (rigid->def.method == RIGID_IMPULSES) {
        impulses_step(rigid, h);
        return;
    }
    contact_warm_start(rigid);
    /* Joints first: contacts have the last word, so that nothing passes through. */
    joint_solve(rigid, rigid->jobs, true, h);
    contact_solve(rigid, true);
    jobs_run(rigid->jobs, rigid->active_count, BODY_GRAIN, position_range, rigid);
    /* Before the contacts look ahead again and stop what should bounce. */
    contact_bounce(rigid);
    joint_solve(rigid, rigid->jobs, false, h);
    contact_solve(rigid, false);
}

static void limit_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        BodyState *state = &rigid->states[rigid->active[i]];
        state->velocity = speed_limited(state->velocity, SPEED_MAX_M_S);
        state->spin = speed_limited(state->spin, SPIN_MAX_RAD_S);
    }
}

void rigid_finish(Rigid *rigid)
{
    if (rigid->idle) {
        return;
    }
    if (rigid->def.method == RIGID_IMPULSES) {
        impulses_store(rigid);
    } else {
        contact_store(rigid);
    }
    joint_finish(rigid, rigid->def.tick_s);
    /* What others see between ticks is as bounded as what the substeps start from. */
    jobs_run(rigid->jobs, rigid->active_count, BODY_GRAIN, limit_range, rigid);
    ccd_finish(rigid);
    island_sleep(rigid);
    rigid->jobs = NULL;
}
