/*
 * solve_joint_hinge.c: eight hinges at a time: the point first, then the free angle (spring, motor,
 * limits) and the two locked ones, each with a share of the point's impulse that leaves the point's
 * velocity unchanged. Pose-dependent data is computed once per substep, after integration. The same
 * steps as solve_joint_row.c takes for one joint.
 * Method: TGS-soft (Catto, Solver2D, 2024), soft constraints (Catto, GDC 2011).
 */
#include "server/physics/rigid/joint/joint_wide.h"

/* ---- once a tick ---- */

static void lane_set_mask(i32x8 *mask, u32 lane, bool set)
{
    ((i32 *)mask)[lane] = set ? -1 : 0;
}

static void lane_free_motion(HingeWide *row, u32 lane, const JointDef *def, f32 h)
{
    bool limits = (def->flags & JOINT_LIMITS) != 0, locked = limits && def->lower == def->upper;
    bool sprung = (def->flags & JOINT_SPRUNG) && def->frequency > 0.0f;
    lane_set_mask(&row->limited, lane, limits && !locked);
    lane_set_mask(&row->locked, lane, locked);
    lane_set_mask(&row->driven, lane, (def->flags & JOINT_DRIVE) != 0);
    lane_set_mask(&row->sprung, lane, sprung);
    row->free |= limits || sprung || (def->flags & JOINT_DRIVE);
    lane_set(&row->lower, lane, def->lower);
    lane_set(&row->upper, lane, def->upper);
    lane_set(&row->rest, lane, def->rest);
    lane_set(&row->speed, lane, def->speed);
    lane_set(&row->motor_max, lane, f32_min(def->force_max * h, 1e30f));
    /* Per unit of mass, which depends on the pose. */
    SpringStep spring = spring_step(sprung ? def->frequency : 0.0f, def->damping, h);
    lane_set(&row->stiffness, lane, spring.stiffness / (h * h));
    lane_set(&row->damping, lane, spring.damping);
}

static void lane_loads(HingeWide *row, u32 lane, const Joint *joint, f32 h)
{
    const JointLoad *load = &joint->load;
    u32 flags = joint->def.flags;
    bool sprung = (flags & JOINT_SPRUNG) && joint->def.frequency > 0.0f;
    lane_set_vec3(&row->linear, lane, vec3_scale(load->linear, h));
    lane_set(&row->about_y, lane, load->angular.y * h);
    lane_set(&row->about_z, lane, load->angular.z * h);
    lane_set(&row->spring, lane, sprung ? load->spring * h : 0.0f);
    lane_set(&row->motor, lane, flags & JOINT_DRIVE ? load->motor * h : 0.0f);
    lane_set(&row->below, lane, flags & JOINT_LIMITS ? load->lower * h : 0.0f);
    lane_set(&row->above, lane, flags & JOINT_LIMITS ? load->upper * h : 0.0f);
}

static void fill(const Rigid *rigid, HingeWide *row, const u32 slots[SIMD_LANES], f32 h)
{
    PointLanes points = POINT_LANES(row);
    memset(row, 0, sizeof *row);
    point_lanes_clear(rigid, &points);
    /* Keeps numbers finite in empty lanes. */
    row->local_x.x = row->local_y.y = row->local_other.x = f32x8_set(1.0f);
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        if (slots[lane] == JOINT_NO_SLOT) {
            continue;
        }
        const Joint *joint = &rigid->joints.joints[slots[lane]];
        const JointDef *def = &joint->def;
        Vec3 x = vec3(1.0f, 0.0f, 0.0f), y = vec3(0.0f, 1.0f, 0.0f);
        Quat frames[2];
        point_lane_set(rigid, &points, lane, slots[lane], frames);
        lane_set_vec3(&row->local_x, lane, quat_rotate(def->frame_a, x));
        lane_set_vec3(&row->local_y, lane, quat_rotate(def->frame_a, y));
        lane_set_vec3(&row->local_other, lane, quat_rotate(def->frame_b, x));
        if (def->flags & (JOINT_LIMITS | JOINT_SPRUNG)) {
            lane_set(&row->angle, lane, joint_twist(frames[0], frames[1]));
        }
        lane_free_motion(row, lane, def, h);
        lane_loads(row, lane, joint, h);
    }
}

/* ---- pose-dependent data ---- */

/* Sets up a row about the axis; returns the change of b's angular velocity relative to a per
 * unit impulse. */
SIMD_INLINE Vec3x8 rotation_make(const HingeWide *row, Vec3x8 axis, RotationWide *rotation)
{
    Vec3x8 rotation_a = symmetric3x8_mul(&row->inertia_a, axis);
    Vec3x8 rotation_b = symmetric3x8_mul(&row->inertia_b, axis);
    Vec3x8 moved =
        vec3x8_add(vec3x8_cross(rotation_b, row->arm_b), vec3x8_cross(rotation_a, row->arm_a));
    Vec3x8 base = symmetric3x8_mul(&row->mass, moved);
    base = (Vec3x8){-base.x, -base.y, -base.z};
    Vec3x8 moment_a = vec3x8_add(axis, vec3x8_cross(row->arm_a, base));
    Vec3x8 moment_b = vec3x8_add(axis, vec3x8_cross(row->arm_b, base));
    rotation->axis = axis;
    rotation->base = base;
    rotation->rotation_a = symmetric3x8_mul(&row->inertia_a, moment_a);
    rotation->rotation_b = symmetric3x8_mul(&row->inertia_b, moment_b);
    return vec3x8_add(rotation->rotation_a, rotation->rotation_b);
}

SIMD_INLINE f32x8 inverse_or_zero(f32x8 x)
{
    f32x8 one = f32x8_set(1.0f);
    i32x8 some = x > f32x8_set(0.0f);
    return f32x8_and(some, one / f32x8_select(some, x, one));
}

/* Computes all pose-dependent data except the gap and the angle. */
SIMD_INLINE void derive(HingeWide *row, const SidePose *a, const SidePose *b, f32x8 masses)
{
    row->inertia_a = a->inertia;
    row->inertia_b = b->inertia;
    row->arm_a = quatx8_rotate(a->orientation, row->local_a);
    row->arm_b = quatx8_rotate(b->orientation, row->local_b);
    Vec3x8 x = quatx8_rotate(a->orientation, row->local_x);
    Vec3x8 y = quatx8_rotate(a->orientation, row->local_y);
    Vec3x8 other = quatx8_rotate(b->orientation, row->local_other);
    f32x8 zero = f32x8_set(0.0f);
    Symmetric3x8 k = {masses, masses, masses, zero, zero, zero};
    add_arm_response(&k, &row->inertia_a, row->arm_a);
    add_arm_response(&k, &row->inertia_b, row->arm_b);
    row->mass = inverse(&k);
    Vec3x8 z = vec3x8_cross(x, y);
    row->x.axis = x;
    if (row->free) {
        Vec3x8 response = rotation_make(row, x, &row->x);
        f32x8 unpreconditioned_response =
            vec3x8_dot(x, vec3x8_add(symmetric3x8_mul(&row->inertia_a, x),
                                     symmetric3x8_mul(&row->inertia_b, x)));
        row->response_x = f32x8_max(vec3x8_dot(x, response), unpreconditioned_response * 1e-5f);
    }
    Vec3x8 response_y = rotation_make(row, y, &row->y), response_z = rotation_make(row, z, &row->z);
    f32x8 yy = vec3x8_dot(y, response_y), zz = vec3x8_dot(z, response_z),
          yz = vec3x8_dot(y, response_z);
    f32x8 s = inverse_or_zero(yy * zz - yz * yz);
    row->mass_yy = zz * s;
    row->mass_zz = yy * s;
    row->mass_yz = -yz * s;
    /* Sine of the angle between the axes, and 1 beyond a right angle. */
    Vec3x8 error = vec3x8_cross(x, other);
    f32x8 length = f32x8_sqrt(vec3x8_dot(error, error));
    i32x8 far = vec3x8_dot(x, other) < zero;
    i32x8 flat = far & (length < f32x8_set(1e-20f));
    f32x8 scale = f32x8_select(far & ~flat, inverse_or_zero(length), f32x8_set(1.0f));
    row->error_y = f32x8_select(flat, f32x8_set(1.0f), scale * vec3x8_dot(error, y));
    row->error_z = scale * vec3x8_dot(error, z);
}

/* Errors opened by rotation in the next step: of the point by point_drift, and of the axes, if
 * the hinge rotates and its axis does too: x of b by ½ h σ x × (ω × x), σ the rate of the angle. */
SIMD_INLINE void look_ahead(HingeWide *row, const Side *a, const Side *b, f32 h)
{
    f32x8 half_h = f32x8_set(0.5f * h);
    row->drift =
        point_drift(a->angular_velocity, row->arm_a, b->angular_velocity, row->arm_b, half_h);
    f32x8 drift =
        vec3x8_dot(row->x.axis, vec3x8_sub(b->angular_velocity, a->angular_velocity)) * half_h;
    row->drift_y = -drift * vec3x8_dot(row->z.axis, a->angular_velocity);
    row->drift_z = drift * vec3x8_dot(row->y.axis, a->angular_velocity);
}

void joint_hinge_prepare(const Rigid *rigid, HingeWide *row, const u32 slots[SIMD_LANES], f32 h)
{
    fill(rigid, row, slots, h);
    Side a = side_gather(rigid->states, row->a), b = side_gather(rigid->states, row->b);
    SidePose place_a = place_gather(rigid, row->a), place_b = place_gather(rigid, row->b);
    derive(row, &place_a, &place_b, a.mass + b.mass);
    row->start_a = row->arm_a;
    row->start_b = row->arm_b;
    row->gap = row->start_gap;
    /* Effective mass of the two bodies as constrained by the hinge, so that a spring has the
     * requested frequency. */
    row->free_mass = inverse_or_zero(row->response_x);
    row->stiffness *= row->free_mass;
    row->damping *= row->free_mass;
    look_ahead(row, &a, &b, rigid->def.tick_s / (f32)rigid->substeps);
}

SIMD_INLINE void follow(const Rigid *rigid, HingeWide *row, f32x8 masses)
{
    SidePose a = place_gather(rigid, row->a), b = place_gather(rigid, row->b);
    Vec3x8 before = row->x.axis, rotation = vec3x8_sub(b.rotation, a.rotation);
    derive(row, &a, &b, masses);
    row->gap = vec3x8_add(row->start_gap, vec3x8_sub(anchor_moved(&b, row->arm_b, row->start_b),
                                                     anchor_moved(&a, row->arm_a, row->start_a)));
    /* The axis may rotate too: the change of angle in a step is about the mean axis. */
    Vec3x8 between = vec3x8_scale(vec3x8_add(before, row->x.axis), f32x8_set(0.5f));
    row->angle += vec3x8_dot(between, vec3x8_sub(rotation, row->rotation));
    row->rotation = rotation;
}

/* ---- each substep ---- */

SIMD_INLINE void apply_point(const HingeWide *row, Side *a, Side *b, Vec3x8 impulse)
{
    a->velocity = vec3x8_sub_scaled(a->velocity, a->mass, impulse);
    b->velocity = vec3x8_add_scaled(b->velocity, b->mass, impulse);
    Vec3x8 moment_a = vec3x8_cross(row->arm_a, impulse);
    Vec3x8 moment_b = vec3x8_cross(row->arm_b, impulse);
    a->angular_velocity =
        vec3x8_sub(a->angular_velocity, symmetric3x8_mul(&row->inertia_a, moment_a));
    b->angular_velocity =
        vec3x8_add(b->angular_velocity, symmetric3x8_mul(&row->inertia_b, moment_b));
}

SIMD_INLINE void apply_rotation(const RotationWide *rotation, Side *a, Side *b, f32x8 impulse)
{
    Vec3x8 push = vec3x8_scale(rotation->base, impulse);
    a->velocity = vec3x8_sub_scaled(a->velocity, a->mass, push);
    b->velocity = vec3x8_add_scaled(b->velocity, b->mass, push);
    a->angular_velocity = vec3x8_sub_scaled(a->angular_velocity, impulse, rotation->rotation_a);
    b->angular_velocity = vec3x8_add_scaled(b->angular_velocity, impulse, rotation->rotation_b);
}

SIMD_INLINE f32x8 rotation_speed(const RotationWide *rotation, const Side *a, const Side *b)
{
    return vec3x8_dot(rotation->axis, vec3x8_sub(b->angular_velocity, a->angular_velocity));
}

SIMD_INLINE void solve_point(HingeWide *row, Side *a, Side *b, const Softness *soft, f32 ahead)
{
    Vec3x8 bias = vec3x8_scale(row->gap, f32x8_set(soft->bias_rate));
    f32x8 length = f32x8_sqrt(vec3x8_dot(bias, bias)), most = f32x8_set(JOINT_PUSH_M_S);
    bias = vec3x8_scale(bias, most / f32x8_max(length, most));
    bias = vec3x8_add_scaled(bias, f32x8_set(ahead), row->drift);
    Vec3x8 speed =
        vec3x8_sub(vec3x8_add(b->velocity, vec3x8_cross(b->angular_velocity, row->arm_b)),
                   vec3x8_add(a->velocity, vec3x8_cross(a->angular_velocity, row->arm_a)));
    Vec3x8 change = symmetric3x8_mul(&row->mass, vec3x8_add(speed, bias));
    Vec3x8 kept = vec3x8_scale(row->linear, f32x8_set(1.0f - soft->impulse_scale));
    Vec3x8 sum = vec3x8_sub_scaled(kept, f32x8_set(soft->mass_scale), change);
    change = vec3x8_sub(sum, row->linear);
    row->linear = sum;
    apply_point(row, a, b, change);
}

/* See SpringStep. */
SIMD_INLINE void solve_spring(HingeWide *row, Side *a, Side *b, f32x8 h)
{
    f32x8 one = f32x8_set(1.0f), zero = f32x8_set(0.0f);
    f32x8 mass = f32x8_select(row->free_mass > zero, row->free_mass, one);
    f32x8 speed = rotation_speed(&row->x, a, b) - row->spring / mass;
    f32x8 sum = -(h * row->stiffness * (row->angle - row->rest) + row->damping * speed);
    sum = f32x8_and(row->sprung, sum);
    apply_rotation(&row->x, a, b, sum - row->spring);
    row->spring = sum;
}

SIMD_INLINE void solve_motor(HingeWide *row, Side *a, Side *b, f32x8 mass)
{
    f32x8 sum = row->motor + mass * (row->speed - rotation_speed(&row->x, a, b));
    sum = f32x8_min(f32x8_max(sum, -row->motor_max), row->motor_max);
    sum = f32x8_and(row->driven, sum);
    apply_rotation(&row->x, a, b, sum - row->motor);
    row->motor = sum;
}

typedef struct LimitWide {
    f32x8 clearance; /* remaining angle or distance */
    f32 sign;        /* −1 for the upper limit */
    f32x8 *impulse;  /* that keeps it */
    i32x8 active;
} LimitWide;

SIMD_INLINE void solve_limit(HingeWide *row, Side *a, Side *b, f32x8 mass, LimitWide limit,
                             const Softness *soft, f32 inverse_h)
{
    f32x8 clearance = limit.clearance, *impulse = limit.impulse;
    f32 sign = limit.sign;
    i32x8 active = limit.active, locked = row->locked;
    f32x8 zero = f32x8_set(0.0f), most = f32x8_set(JOINT_PUSH_RAD_S);
    i32x8 apart = (clearance > zero) & ~locked;
    f32x8 push = f32x8_min(f32x8_max(clearance * soft->bias_rate, -most), most);
    f32x8 bias = f32x8_select(apart, clearance * inverse_h, push);
    f32x8 mass_scale = f32x8_select(apart, f32x8_set(1.0f), f32x8_set(soft->mass_scale));
    f32x8 impulse_scale = f32x8_select(apart, zero, f32x8_set(soft->impulse_scale));
    f32x8 speed = sign * rotation_speed(&row->x, a, b);
    f32x8 sum = *impulse - mass_scale * mass * (speed + bias) - impulse_scale * *impulse;
    sum = f32x8_select(locked, sum, f32x8_max(sum, zero));
    sum = f32x8_and(active, sum);
    apply_rotation(&row->x, a, b, sign * (sum - *impulse));
    *impulse = sum;
}

SIMD_INLINE void solve_locked(HingeWide *row, Side *a, Side *b, const Softness *soft, f32 ahead)
{
    f32x8 rate = f32x8_set(soft->bias_rate), kept = f32x8_set(1.0f - soft->impulse_scale);
    f32x8 u = rotation_speed(&row->y, a, b) + rate * row->error_y + ahead * row->drift_y;
    f32x8 v = rotation_speed(&row->z, a, b) + rate * row->error_z + ahead * row->drift_z;
    f32x8 y = kept * row->about_y - soft->mass_scale * (row->mass_yy * u + row->mass_yz * v);
    f32x8 z = kept * row->about_z - soft->mass_scale * (row->mass_yz * u + row->mass_zz * v);
    apply_rotation(&row->y, a, b, y - row->about_y);
    apply_rotation(&row->z, a, b, z - row->about_z);
    row->about_y = y;
    row->about_z = z;
}

SIMD_INLINE void solve(HingeWide *row, Side *a, Side *b, const Softness *soft, f32 h,
                       const bool use_bias)
{
    f32 ahead = use_bias ? 1.0f : 0.0f;
    solve_point(row, a, b, soft, ahead);
    if (row->free) {
        f32x8 mass = inverse_or_zero(row->response_x);
        if (use_bias && i32x8_any(row->sprung)) {
            solve_spring(row, a, b, f32x8_set(h));
        }
        if (i32x8_any(row->driven)) {
            solve_motor(row, a, b, mass);
        }
        i32x8 limits = row->limited | row->locked;
        if (i32x8_any(limits)) {
            LimitWide lower = {row->angle - row->lower, 1.0f, &row->below, limits};
            LimitWide upper = {row->upper - row->angle, -1.0f, &row->above, row->limited};
            solve_limit(row, a, b, mass, lower, soft, 1.0f / h);
            solve_limit(row, a, b, mass, upper, soft, 1.0f / h);
        }
    }
    solve_locked(row, a, b, soft, ahead);
}

SIMD_INLINE Vec3x8 moment_of(const HingeWide *row)
{
    Vec3x8 moment = vec3x8_scale(row->y.axis, row->about_y);
    moment = vec3x8_add_scaled(moment, row->about_z, row->z.axis);
    if (row->free) {
        f32x8 sum = row->spring + row->motor + row->below - row->above;
        moment = vec3x8_add_scaled(moment, sum, row->x.axis);
    }
    return moment;
}

/* At the point: its own impulse and the shares of the others. */
SIMD_INLINE Vec3x8 force_of(const HingeWide *row)
{
    Vec3x8 force = vec3x8_add_scaled(row->linear, row->about_y, row->y.base);
    force = vec3x8_add_scaled(force, row->about_z, row->z.base);
    if (row->free) {
        f32x8 sum = row->spring + row->motor + row->below - row->above;
        force = vec3x8_add_scaled(force, sum, row->x.base);
    }
    return force;
}

void joint_hinge_warm_start(Rigid *rigid, const HingeWide *row)
{
    Side a = side_gather(rigid->states, row->a), b = side_gather(rigid->states, row->b);
    apply_point(row, &a, &b, force_of(row));
    Vec3x8 moment = moment_of(row);
    a.angular_velocity = vec3x8_sub(a.angular_velocity, symmetric3x8_mul(&row->inertia_a, moment));
    b.angular_velocity = vec3x8_add(b.angular_velocity, symmetric3x8_mul(&row->inertia_b, moment));
    side_scatter(rigid->states, row->a, &a);
    side_scatter(rigid->states, row->b, &b);
}

void joint_hinge_solve(Rigid *rigid, HingeWide *row, const Softness *soft, f32 h)
{
    Side a = side_gather(rigid->states, row->a), b = side_gather(rigid->states, row->b);
    solve(row, &a, &b, soft, h, true);
    side_scatter(rigid->states, row->a, &a);
    side_scatter(rigid->states, row->b, &b);
}

void joint_hinge_relax(Rigid *rigid, HingeWide *row, f32 h)
{
    Side a = side_gather(rigid->states, row->a), b = side_gather(rigid->states, row->b);
    follow(rigid, row, a.mass + b.mass);
    solve(row, &a, &b, &rigid_softness, h, false);
    look_ahead(row, &a, &b, h);
    row->sum_force = vec3x8_add(row->sum_force, force_of(row));
    row->sum_moment = vec3x8_add(row->sum_moment, moment_of(row));
    side_scatter(rigid->states, row->a, &a);
    side_scatter(rigid->states, row->b, &b);
}

/* ---- the end of a tick ---- */

void joint_hinge_store(Rigid *rigid, const HingeWide *row, f32 tick_s)
{
    f32 rate = (f32)rigid->substeps / tick_s;
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        if (row->joint[lane] == JOINT_NO_SLOT) {
            continue;
        }
        Joint *joint = &rigid->joints.joints[row->joint[lane]];
        joint->load.linear = vec3_scale(lane_vec3(&row->linear, lane), rate);
        joint->load.angular = vec3(0.0f, lane_read(&row->about_y, lane) * rate,
                                   lane_read(&row->about_z, lane) * rate);
        joint->load.spring = lane_read(&row->spring, lane) * rate;
        joint->load.motor = lane_read(&row->motor, lane) * rate;
        joint->load.lower = lane_read(&row->below, lane) * rate;
        joint->load.upper = lane_read(&row->above, lane) * rate;
        joint->force = vec3_scale(lane_vec3(&row->sum_force, lane), 1.0f / tick_s);
        joint->torque = vec3_scale(lane_vec3(&row->sum_moment, lane), 1.0f / tick_s);
        joint->error = vec3_length(lane_vec3(&row->gap, lane));
    }
}
