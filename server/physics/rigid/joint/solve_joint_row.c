/*
 * solve_joint_row.c: one joint of any kind as soft constraints inside the substeps. The locked part
 * of a joint is solved in blocks (the point of a ball 3×3, the angles of a hinge 2×2); its free
 * motion (angle, translation or distance) is one row with spring, motor and limits. Arms and frames
 * follow the bodies' motion since the tick began, so that large motions within a tick stay
 * accurate. Method: TGS-soft (Catto, Solver2D, 2024), soft constraints (Catto, GDC 2011).
 */
#include "server/physics/rigid/joint/joint_sides.h"

#include "shared/math/trig.h"

/* One row: its Jacobian and the effect of a unit impulse along it. If the joint also has a block
 * (a ball's point, a slider's angles) the impulse includes a share of that block's, `base`,
 * which leaves the block's own velocity unchanged: block elimination, so that one pass solves
 * the joint. */
typedef struct Axis {
    Vec3 line, lever_a, lever_b; /* Jacobian; line zero: an angle */
    Vec3 push;                   /* impulse */
    Vec3 rotation_a, rotation_b; /* I⁻¹ of the moment */
    f32 response;                /* velocity per unit impulse */
} Axis;

/* All but the angle. */
static inline JointPose pose_now(const Rigid *rigid, const JointRow *row)
{
    const BodyState *a = state_of(rigid, row->a), *b = state_of(rigid, row->b);
    Quat qa = orientation_of(rigid, row->a), qb = orientation_of(rigid, row->b);
    JointPose pose;
    pose.gap = arms_now(rigid, &row->arms, row->a, row->b, &pose.arm_a, &pose.arm_b);
    pose.frame_a = quat_mul(qa, row->local_frame_a);
    pose.frame_b = quat_mul(qb, row->local_frame_b);
    pose.rotation = vec3_sub(b->rotation, a->rotation);
    pose.value = row->pose.value;
    return pose;
}

static inline Vec3 axis_x(Quat q)
{
    return quat_rotate(q, vec3(1.0f, 0.0f, 0.0f));
}
static inline Vec3 axis_y(Quat q)
{
    return quat_rotate(q, vec3(0.0f, 1.0f, 0.0f));
}
static inline Vec3 axis_z(Quat q)
{
    return quat_rotate(q, vec3(0.0f, 0.0f, 1.0f));
}

/* ---- rows ---- */

static Axis axis_make(const Sides *sides, Vec3 line, Vec3 lever_a, Vec3 lever_b)
{
    Axis axis = {line,
                 lever_a,
                 lever_b,
                 line,
                 symmetric_mul(sides->ia, lever_a),
                 symmetric_mul(sides->ib, lever_b),
                 0.0f};
    axis.response = (sides->ma + sides->mb) * vec3_length_squared(line) +
                    vec3_dot(lever_a, axis.rotation_a) + vec3_dot(lever_b, axis.rotation_b);
    return axis;
}
/* Along `line` through both anchors; a's lever reaches to b's anchor, where the line ends. */
static Axis axis_of_line(const Sides *sides, const JointPose *pose, Vec3 line)
{
    return axis_make(sides, line, vec3_cross(vec3_add(pose->arm_a, pose->gap), line),
                     vec3_cross(pose->arm_b, line));
}
/* The moment that keeps b's angular velocity relative to a when the force acts at b's anchor;
 * `mass` is the inverse of the response to it. */
static Vec3 share_of_rotation(const Sides *sides, const JointPose *pose, const Symmetric3 *mass,
                              Vec3 force)
{
    Vec3 reach = vec3_add(pose->arm_a, pose->gap);
    Vec3 rotation_a = symmetric_mul(sides->ia, vec3_cross(reach, force));
    Vec3 rotation_b = symmetric_mul(sides->ib, vec3_cross(pose->arm_b, force));
    return vec3_neg(symmetric_mul(mass, vec3_add(rotation_a, rotation_b)));
}
/* About `about`, keeping the velocity of the point. */
static Axis axis_over_point(const Sides *sides, const JointPose *pose, const Symmetric3 *mass,
                            Vec3 about)
{
    Vec3 base = share_of_point(sides, pose->arm_a, pose->arm_b, mass, about);
    Vec3 moment_a = vec3_add(about, vec3_cross(pose->arm_a, base));
    Vec3 moment_b = vec3_add(about, vec3_cross(pose->arm_b, base));
    Axis axis = {vec3_zero(),
                 about,
                 about,
                 base,
                 symmetric_mul(sides->ia, moment_a),
                 symmetric_mul(sides->ib, moment_b),
                 0.0f};
    Symmetric3 rotation = rotation_response(sides);
    f32 plain = vec3_dot(about, symmetric_mul(&rotation, about));
    /* Rounding must not make a joint's own lever arm infinitely heavy. */
    axis.response =
        f32_max(vec3_dot(about, vec3_add(axis.rotation_a, axis.rotation_b)), plain * 1e-5f);
    return axis;
}
/* Along `line`, keeping b's angular velocity relative to a. */
static Axis axis_over_rotation(const Sides *sides, const JointPose *pose, const Symmetric3 *mass,
                               Vec3 line)
{
    Axis axis = axis_of_line(sides, pose, line);
    Vec3 base = share_of_rotation(sides, pose, mass, line);
    axis.rotation_a = vec3_add(axis.rotation_a, symmetric_mul(sides->ia, base));
    axis.rotation_b = vec3_add(axis.rotation_b, symmetric_mul(sides->ib, base));
    axis.response = (sides->ma + sides->mb) * vec3_length_squared(line) +
                    vec3_dot(axis.lever_a, axis.rotation_a) +
                    vec3_dot(axis.lever_b, axis.rotation_b);
    return axis;
}
static inline f32 axis_speed(const Sides *sides, const Axis *axis)
{
    return vec3_dot(axis->line, vec3_sub(sides->vb, sides->va)) +
           vec3_dot(axis->lever_b, sides->wb) - vec3_dot(axis->lever_a, sides->wa);
}
static inline void axis_apply(Sides *sides, const Axis *axis, f32 impulse)
{
    sides->va = vec3_add_scaled(sides->va, -impulse * sides->ma, axis->push);
    sides->wa = vec3_add_scaled(sides->wa, -impulse, axis->rotation_a);
    sides->vb = vec3_add_scaled(sides->vb, impulse * sides->mb, axis->push);
    sides->wb = vec3_add_scaled(sides->wb, impulse, axis->rotation_b);
}
/* ---- the free motion: spring, motor, limits ---- */

static void solve_spring(const JointRow *row, JointLoad *impulse, Sides *sides, const Axis *axis,
                         f32 value, f32 h)
{
    f32 speed = axis_speed(sides, axis) - impulse->spring / row->mass;
    f32 sum = -(h * row->stiffness * (value - row->rest) + row->damping * speed);
    axis_apply(sides, axis, sum - impulse->spring);
    impulse->spring = sum;
}

static void solve_motor(const JointRow *row, JointLoad *impulse, Sides *sides, const Axis *axis)
{
    f32 sum = impulse->motor + (row->speed - axis_speed(sides, axis)) / axis->response;
    sum = f32_clamp(sum, -row->impulse_max, row->impulse_max);
    axis_apply(sides, axis, sum - impulse->motor);
    impulse->motor = sum;
}

typedef struct RowLimit {
    f32 clearance; /* remaining distance to the limit: ≥ 0 or, two-sided, = 0 */
    f32 sign;      /* −1 for an upper limit */
    bool two_sided;
    f32 push_max; /* rad/s or m/s */
} RowLimit;

static void solve_limit(f32 *impulse, Sides *sides, const Axis *axis, RowLimit limit,
                        const Softness *soft, f32 h)
{
    f32 clearance = limit.clearance, sign = limit.sign, push_max = limit.push_max;
    bool two_sided = limit.two_sided;
    f32 bias = 0.0f, mass_scale = 1.0f, impulse_scale = 0.0f;
    if (clearance > 0.0f && !two_sided) {
        bias = clearance / h;
    } else if (soft) {
        bias = f32_clamp(soft->bias_rate * clearance, -push_max, push_max);
        mass_scale = soft->mass_scale;
        impulse_scale = soft->impulse_scale;
    }
    f32 speed = sign * axis_speed(sides, axis);
    f32 sum = *impulse - mass_scale * (speed + bias) / axis->response - impulse_scale * *impulse;
    sum = two_sided ? sum : f32_max(sum, 0.0f);
    axis_apply(sides, axis, sign * (sum - *impulse));
    *impulse = sum;
}

static bool has_limits(const JointRow *row)
{
    return row->kind == JOINT_DISTANCE || (row->flags & JOINT_LIMITS);
}

static void solve_free_motion(JointRow *row, Sides *sides, const Axis *axis, f32 value,
                              const Softness *soft, f32 push_max, f32 h)
{
    if (!(axis->response > 0.0f)) {
        return;
    }
    if ((row->flags & JOINT_SPRUNG) && soft && row->stiffness > 0.0f) {
        solve_spring(row, &row->impulse, sides, axis, value, h);
    }
    if (row->flags & JOINT_DRIVE) {
        solve_motor(row, &row->impulse, sides, axis);
    }
    if (has_limits(row)) {
        bool locked = row->lower == row->upper;
        RowLimit lower = {value - row->lower, 1.0f, locked, push_max};
        solve_limit(&row->impulse.lower, sides, axis, lower, soft, h);
        if (!locked && row->upper < WORLD_EXTENT_MAX_M) {
            RowLimit upper = {row->upper - value, -1.0f, false, push_max};
            solve_limit(&row->impulse.upper, sides, axis, upper, soft, h);
        }
    }
}

static f32 free_impulse(const JointLoad *impulse)
{
    return impulse->spring + impulse->motor + impulse->lower - impulse->upper;
}

/* The line between the anchors; along a's x if they coincide. */
static Vec3 anchor_line(const JointPose *pose)
{
    return vec3_normalize_or(pose->gap, axis_x(pose->frame_a));
}

/* About the mean of both x axes, scaled so that its row velocity is the rate of the twist angle. */
static Vec3 twist_axis(const JointPose *pose)
{
    Vec3 a = axis_x(pose->frame_a), b = axis_x(pose->frame_b);
    return vec3_scale(vec3_add(a, b), 1.0f / f32_max(1.0f + vec3_dot(a, b), 0.1f));
}

/* The row of the free motion and its value; `block` is the inverse response of the locked block. */
static bool free_axis(JointRow *row, const Sides *sides, const JointPose *pose,
                      const Symmetric3 *block, Axis *axis, f32 *value)
{
    switch (row->kind) {
    case JOINT_HINGE:
        *axis = axis_over_point(sides, pose, block, axis_x(pose->frame_a));
        break;
    case JOINT_CONE_TWIST:
        *axis = axis_over_point(sides, pose, block, twist_axis(pose));
        break;
    case JOINT_SLIDER:
        *axis = axis_over_rotation(sides, pose, block, axis_x(pose->frame_a));
        *value = vec3_dot(axis->line, pose->gap);
        return true;
    case JOINT_DISTANCE:
    case JOINT_SPRING:
        *axis = axis_of_line(sides, pose, anchor_line(pose));
        *value = vec3_length(pose->gap);
        return true;
    default:
        return false;
    }
    *value = pose->value;
    return true;
}

static bool is_angular(JointKind kind)
{
    return kind == JOINT_HINGE || kind == JOINT_CONE_TWIST;
}

/* After integration. The axis of an angle may rotate too: the change of angle in a step is about
 * the mean axis. */
static void row_follow(const Rigid *rigid, JointRow *row)
{
    JointPose pose = pose_now(rigid, row);
    if (is_angular(row->kind)) {
        bool hinge = row->kind == JOINT_HINGE;
        Vec3 before = hinge ? axis_x(row->pose.frame_a) : twist_axis(&row->pose);
        Vec3 after = hinge ? axis_x(pose.frame_a) : twist_axis(&pose);
        Vec3 step = vec3_sub(pose.rotation, row->pose.rotation);
        pose.value += 0.5f * vec3_dot(vec3_add(before, after), step);
    }
    row->pose = pose;
}

/* The point on a where the force acts: if anchors may be apart it is b's anchor, so that the two
 * forces are collinear and angular momentum is conserved. */
static Vec3 reach_of_a(const JointRow *row, const JointPose *pose)
{
    bool apart = row->kind == JOINT_SLIDER || row->kind == JOINT_DISTANCE ||
                 row->kind == JOINT_SPRING || row->kind == JOINT_MOTOR;
    return apart ? vec3_add(pose->arm_a, pose->gap) : pose->arm_a;
}

/* ---- locked angles ---- */

/* The rotation vector (nearly: 2 sin(θ/2) n) that takes a's frame to b's. */
static Vec3 frame_error(const JointPose *pose)
{
    Quat q = quat_mul(pose->frame_b, quat_conjugate(pose->frame_a));
    f32 s = q.w < 0.0f ? -2.0f : 2.0f;
    return vec3(s * q.x, s * q.y, s * q.z);
}

/* Slider: all three. */
static void solve_frames(JointRow *row, Sides *sides, const JointPose *pose, const Symmetric3 *mass,
                         const Softness *s)
{
    Vec3 bias = limited(vec3_scale(frame_error(pose), s->bias_rate), JOINT_PUSH_RAD_S);
    Vec3 speed = vec3_add(vec3_sub(sides->wb, sides->wa), bias);
    Vec3 change = vec3_scale(symmetric_mul(mass, speed), -s->mass_scale);
    change = vec3_add_scaled(change, -s->impulse_scale, row->impulse.angular);
    row->impulse.angular = vec3_add(row->impulse.angular, change);
    apply_moment(sides, change);
}

/* Fixed: all three, over the point. */
static void solve_weld(JointRow *row, Sides *sides, const JointPose *pose, const Symmetric3 *block,
                       const Softness *s)
{
    Axis x = axis_over_point(sides, pose, block, vec3(1.0f, 0.0f, 0.0f));
    Axis y = axis_over_point(sides, pose, block, vec3(0.0f, 1.0f, 0.0f));
    Axis z = axis_over_point(sides, pose, block, vec3(0.0f, 0.0f, 1.0f));
    Vec3 rx = vec3_add(x.rotation_a, x.rotation_b), ry = vec3_add(y.rotation_a, y.rotation_b);
    Symmetric3 k = {x.response, y.response, z.response, rx.y, rx.z, ry.z};
    Symmetric3 mass = symmetric_inverse(&k);
    Vec3 bias = limited(vec3_scale(frame_error(pose), s->bias_rate), JOINT_PUSH_RAD_S);
    Vec3 speed = vec3_add(vec3_sub(sides->wb, sides->wa), bias);
    Vec3 change = vec3_scale(symmetric_mul(&mass, speed), -s->mass_scale);
    change = vec3_add_scaled(change, -s->impulse_scale, row->impulse.angular);
    row->impulse.angular = vec3_add(row->impulse.angular, change);
    axis_apply(sides, &x, change.x);
    axis_apply(sides, &y, change.y);
    axis_apply(sides, &z, change.z);
}

/* Two rows, solved at once. */
typedef struct TwoRows {
    Axis one, two;
    f32 coupling;
    f32 bias_one, bias_two;
} TwoRows;

/* Their speeds and errors to changes of their impulses. */
static void solve_two(const TwoRows *rows, Sides *sides, f32 *impulse_one, f32 *impulse_two,
                      const Softness *s)
{
    const Axis *one = &rows->one, *two = &rows->two;
    f32 coupling = rows->coupling;
    f32 determinant = one->response * two->response - coupling * coupling;
    if (!(determinant > 0.0f)) {
        return;
    }
    f32 u = axis_speed(sides, one) + rows->bias_one, v = axis_speed(sides, two) + rows->bias_two;
    f32 scale = -s->mass_scale / determinant;
    f32 du = scale * (two->response * u - coupling * v) - s->impulse_scale * *impulse_one;
    f32 dv = scale * (one->response * v - coupling * u) - s->impulse_scale * *impulse_two;
    *impulse_one += du;
    *impulse_two += dv;
    axis_apply(sides, one, du);
    axis_apply(sides, two, dv);
}

/* Hinge: x axes together, two rows about a's y and z, over the point. */
static void solve_axes(JointRow *row, Sides *sides, const JointPose *pose, const Symmetric3 *block,
                       const Softness *s)
{
    Vec3 x = axis_x(pose->frame_a), y = axis_y(pose->frame_a), z = vec3_cross(x, y);
    Vec3 xb = axis_x(pose->frame_b);
    Vec3 error = vec3_cross(x, xb);
    if (vec3_dot(x, xb) < 0.0f) {
        error = vec3_normalize_or(error, y);
    }
    Vec3 bias = limited(vec3_scale(error, s->bias_rate), JOINT_PUSH_RAD_S);
    TwoRows rows = {.one = axis_over_point(sides, pose, block, y),
                    .two = axis_over_point(sides, pose, block, z),
                    .bias_one = vec3_dot(y, bias),
                    .bias_two = vec3_dot(z, bias)};
    rows.coupling = vec3_dot(y, vec3_add(rows.two.rotation_a, rows.two.rotation_b));
    solve_two(&rows, sides, &row->impulse.angular.y, &row->impulse.angular.z, s);
}

static Vec3 cross_axis(const JointPose *pose)
{
    return vec3_normalize_or(vec3_cross(axis_y(pose->frame_b), axis_x(pose->frame_a)),
                             axis_z(pose->frame_a));
}

/* Universal: a's x and b's y, the arms of the cross, stay perpendicular. */
static void solve_cross(JointRow *row, Sides *sides, const JointPose *pose, const Symmetric3 *block,
                        const Softness *soft)
{
    Axis axis = axis_over_point(sides, pose, block, cross_axis(pose));
    if (axis.response > 0.0f) {
        f32 error = vec3_dot(axis_x(pose->frame_a), axis_y(pose->frame_b));
        RowLimit limit = {error, 1.0f, true, JOINT_PUSH_RAD_S};
        solve_limit(&row->impulse.angular.x, sides, &axis, limit, soft, 1.0f);
    }
}

/* Cone-twist: the axis that increases the angle between the x axes, and the remaining angle up to
 * the swing limit. */
static Vec3 swing_axis(const JointPose *pose)
{
    Vec3 normal = vec3_cross(axis_x(pose->frame_a), axis_x(pose->frame_b));
    return vec3_normalize_or(normal, axis_y(pose->frame_a));
}

static f32 swing_clearance(const JointRow *row, const JointPose *pose)
{
    Vec3 a = axis_x(pose->frame_a), b = axis_x(pose->frame_b);
    f32 sine = vec3_length(vec3_cross(a, b)), cosine = vec3_dot(a, b);
    /* sine and cosine of the remaining angle: where it is small, which is where it matters, the
     * sine is the angle. */
    f32 clearance = row->sin_swing * cosine - row->cos_swing * sine;
    f32 other = row->cos_swing * cosine + row->sin_swing * sine;
    return other > 0.0f ? clearance : (clearance < 0.0f ? -1.0f : 1.0f);
}

/* The angle between the x axes is at most the swing. */
static void solve_swing(JointRow *row, Sides *sides, const JointPose *pose, const Symmetric3 *block,
                        const Softness *soft, f32 h)
{
    Axis axis = axis_over_point(sides, pose, block, swing_axis(pose));
    if (axis.response > 0.0f) {
        RowLimit limit = {swing_clearance(row, pose), -1.0f, false, JOINT_PUSH_RAD_S};
        solve_limit(&row->impulse.swing, sides, &axis, limit, soft, h);
    }
}

/* ---- locked points ---- */

static void solve_point(JointRow *row, Sides *sides, const JointPose *pose, const Symmetric3 *mass,
                        const Softness *s)
{
    Vec3 bias = limited(vec3_scale(pose->gap, s->bias_rate), JOINT_PUSH_M_S);
    Vec3 speed = vec3_add(point_speed(sides, pose->arm_a, pose->arm_b), bias);
    Vec3 change = vec3_scale(symmetric_mul(mass, speed), -s->mass_scale);
    change = vec3_add_scaled(change, -s->impulse_scale, row->impulse.linear);
    row->impulse.linear = vec3_add(row->impulse.linear, change);
    apply_point(sides, pose->arm_a, pose->arm_b, change);
}

/* Slider: no shift along a's y and z, over the angles. */
static void solve_track(JointRow *row, Sides *sides, const JointPose *pose, const Symmetric3 *block,
                        const Softness *s)
{
    Vec3 y = axis_y(pose->frame_a), z = axis_z(pose->frame_a);
    f32 by = f32_clamp(s->bias_rate * vec3_dot(y, pose->gap), -JOINT_PUSH_M_S, JOINT_PUSH_M_S);
    f32 bz = f32_clamp(s->bias_rate * vec3_dot(z, pose->gap), -JOINT_PUSH_M_S, JOINT_PUSH_M_S);
    TwoRows rows = {.one = axis_over_rotation(sides, pose, block, y),
                    .two = axis_over_rotation(sides, pose, block, z),
                    .bias_one = by,
                    .bias_two = bz};
    rows.coupling = vec3_dot(rows.one.lever_a, rows.two.rotation_a) +
                    vec3_dot(rows.one.lever_b, rows.two.rotation_b);
    solve_two(&rows, sides, &row->impulse.linear.y, &row->impulse.linear.z, s);
}

/* JOINT_MOTOR: a velocity, and with a frequency a pose, with bounded force and torque. */
static void solve_drive(JointRow *row, Sides *sides, const JointPose *pose, bool use_bias)
{
    const Softness *s = &rigid_softness;
    if (row->soft.bias_rate > 0.0f) {
        if (!use_bias) {
            return; /* its spring has already acted in this substep */
        }
        s = &row->soft;
    }
    Vec3 target = quat_rotate(pose->frame_a, row->motor_angular_velocity);
    Symmetric3 k = rotation_response(sides);
    Symmetric3 mass = symmetric_inverse(&k);
    Vec3 speed = vec3_sub(vec3_sub(sides->wb, sides->wa), target);
    speed = vec3_add_scaled(speed, s->bias_rate, frame_error(pose));
    Vec3 old = row->impulse.angular;
    Vec3 sum = vec3_sub(vec3_scale(old, 1.0f - s->impulse_scale),
                        vec3_scale(symmetric_mul(&mass, speed), s->mass_scale));
    row->impulse.angular = limited(sum, row->torque_impulse_max);
    apply_moment(sides, vec3_sub(row->impulse.angular, old));

    Vec3 arm_a = reach_of_a(row, pose);
    target = quat_rotate(pose->frame_a, row->motor_velocity);
    k = point_response(sides, arm_a, pose->arm_b);
    mass = symmetric_inverse(&k);
    speed = vec3_sub(point_speed(sides, arm_a, pose->arm_b), target);
    speed = vec3_add_scaled(speed, s->bias_rate, pose->gap);
    old = row->impulse.linear;
    sum = vec3_sub(vec3_scale(old, 1.0f - s->impulse_scale),
                   vec3_scale(symmetric_mul(&mass, speed), s->mass_scale));
    row->impulse.linear = limited(sum, row->impulse_max);
    apply_point(sides, arm_a, pose->arm_b, vec3_sub(row->impulse.linear, old));
}

/* ---- a row ---- */

static bool is_over_point(JointKind kind)
{
    return kind == JOINT_HINGE || kind == JOINT_FIXED || kind == JOINT_CONE_TWIST ||
           kind == JOINT_UNIVERSAL;
}

/* Inverse response of the block that the joint solves first: a point, or a slider's angles. */
static Symmetric3 block_mass(const JointRow *row, const Sides *sides, const JointPose *pose)
{
    Symmetric3 k = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    if (row->kind == JOINT_SLIDER) {
        k = rotation_response(sides);
    } else if (row->kind != JOINT_DISTANCE && row->kind != JOINT_SPRING) {
        k = point_response(sides, pose->arm_a, pose->arm_b);
    }
    return symmetric_inverse(&k);
}

/* The block first; then the free motion and the locked angles, which do not change the block's
 * velocity. */
static void row_solve(JointRow *row, Sides *sides, const JointPose *pose, const Softness *soft,
                      f32 h)
{
    const Softness *s = soft ? soft : &rigid_softness;
    if (row->kind == JOINT_MOTOR) {
        solve_drive(row, sides, pose, soft != NULL);
        return;
    }
    Symmetric3 block = block_mass(row, sides, pose);
    if (row->kind == JOINT_SLIDER) {
        solve_frames(row, sides, pose, &block, s);
    } else if (row->kind != JOINT_DISTANCE && row->kind != JOINT_SPRING) {
        solve_point(row, sides, pose, &block, s);
    }
    Axis axis;
    f32 value;
    if (free_axis(row, sides, pose, &block, &axis, &value)) {
        solve_free_motion(row, sides, &axis, value, soft,
                          is_angular(row->kind) ? JOINT_PUSH_RAD_S : JOINT_PUSH_M_S, h);
    }
    switch (row->kind) {
    case JOINT_HINGE:
        solve_axes(row, sides, pose, &block, s);
        break;
    case JOINT_SLIDER:
        solve_track(row, sides, pose, &block, s);
        break;
    case JOINT_FIXED:
        solve_weld(row, sides, pose, &block, s);
        break;
    case JOINT_CONE_TWIST:
        if (row->flags & JOINT_LIMITS) {
            solve_swing(row, sides, pose, &block, soft, h);
        }
        break;
    case JOINT_UNIVERSAL:
        solve_cross(row, sides, pose, &block, soft);
        break;
    default:
        break;
    }
}

/* The total effect of the joint on b: a force at the anchor and a moment, as impulses. */
static void row_impulse(const JointRow *row, const Sides *sides, const JointPose *pose, Vec3 *force,
                        Vec3 *moment)
{
    const JointLoad *i = &row->impulse;
    *force = i->linear;
    *moment = i->angular;
    switch (row->kind) {
    case JOINT_HINGE:
        *moment = quat_rotate(pose->frame_a, vec3(free_impulse(i), i->angular.y, i->angular.z));
        break;
    case JOINT_SLIDER:
        *force = quat_rotate(pose->frame_a, vec3(free_impulse(i), i->linear.y, i->linear.z));
        break;
    case JOINT_DISTANCE:
    case JOINT_SPRING:
        *force = vec3_scale(anchor_line(pose), free_impulse(i));
        *moment = vec3_zero();
        break;
    case JOINT_CONE_TWIST:
        *moment = vec3_add_scaled(vec3_scale(twist_axis(pose), free_impulse(i)), -i->swing,
                                  swing_axis(pose));
        break;
    case JOINT_UNIVERSAL:
        *moment = vec3_scale(cross_axis(pose), i->angular.x);
        break;
    default:
        break;
    }
    Symmetric3 block = block_mass(row, sides, pose);
    if (row->kind == JOINT_SLIDER) {
        *moment = vec3_add(*moment, share_of_rotation(sides, pose, &block, *force));
    } else if (is_over_point(row->kind)) {
        *force = vec3_add(*force, share_of_point(sides, pose->arm_a, pose->arm_b, &block, *moment));
    }
}

void joint_row_warm_start(Rigid *rigid, const JointRow *row)
{
    Sides sides = sides_read(rigid, row->a, row->b);
    Vec3 force, moment;
    row_impulse(row, &sides, &row->pose, &force, &moment);
    apply_point(&sides, reach_of_a(row, &row->pose), row->pose.arm_b, force);
    apply_moment(&sides, moment);
    sides_write(rigid, row->a, row->b, &sides);
}

static void count_impulse(JointRow *row, const Sides *sides, const JointPose *pose)
{
    Vec3 force, moment;
    row_impulse(row, sides, pose, &force, &moment);
    row->sum_force = vec3_add(row->sum_force, force);
    row->sum_moment = vec3_add(row->sum_moment, moment);
}

void joint_row_solve(Rigid *rigid, JointRow *row, const Softness *soft, f32 h)
{
    if (!soft) {
        row_follow(rigid, row);
    }
    Sides sides = sides_read(rigid, row->a, row->b);
    row_solve(row, &sides, &row->pose, soft, h);
    sides_write(rigid, row->a, row->b, &sides);
    if (!soft) {
        count_impulse(row, &sides, &row->pose);
    }
}

void joint_row_count(Rigid *rigid, JointRow *row)
{
    Sides sides = sides_read(rigid, row->a, row->b);
    count_impulse(row, &sides, &row->pose);
}

/* ---- once a tick ---- */

static JointLoad load_scale(const JointLoad *load, f32 s)
{
    return (JointLoad){vec3_scale(load->linear, s),
                       vec3_scale(load->angular, s),
                       load->spring * s,
                       load->motor * s,
                       load->lower * s,
                       load->upper * s,
                       load->swing * s,
                       load->friction};
}

static void prepare_free_motion(const Rigid *rigid, JointRow *row, const JointDef *def, f32 h)
{
    Sides sides = sides_read(rigid, row->a, row->b);
    Axis axis;
    f32 value;
    Symmetric3 block = block_mass(row, &sides, &row->pose);
    if (!free_axis(row, &sides, &row->pose, &block, &axis, &value)) {
        return;
    }
    /* Effective mass of the two bodies as constrained by the joint, so that a spring has the
     * requested frequency. */
    row->mass = axis.response > 0.0f ? 1.0f / axis.response : 0.0f;
    SpringStep spring = spring_step(def->frequency, def->damping, h);
    row->stiffness = row->mass * spring.stiffness / (h * h);
    row->damping = row->mass * spring.damping;
}

void joint_row_prepare(const Rigid *rigid, JointRow *row, u32 slot, f32 h)
{
    const Joint *joint = &rigid->joints.joints[slot];
    const JointDef *def = &joint->def;
    memset(row, 0, sizeof(*row));
    joint_bodies(rigid, slot, &row->a, &row->b);
    row->joint = slot;
    row->kind = def->kind;
    row->flags = def->flags | (def->kind == JOINT_SPRING ? JOINT_SPRUNG : 0);
    Vec3 anchors[2];
    Quat frames[2];
    joint_frames(rigid, def, anchors, frames);
    row->arms = arms_of(rigid, def, row->a, row->b, anchors);
    row->local_frame_a = def->frame_a;
    row->local_frame_b = def->frame_b;
    row->pose = pose_now(rigid, row);
    if (is_angular(row->kind)) {
        row->pose.value = joint_twist(frames[0], frames[1]);
    }
    row->lower = def->lower;
    row->upper = def->upper;
    row->rest = def->rest;
    row->speed = def->speed;
    row->impulse_max = def->force_max * h;
    row->torque_impulse_max = def->torque_max * h;
    row->motor_velocity = def->motor_velocity;
    row->motor_angular_velocity = def->motor_angular_velocity;
    row->impulse = load_scale(&joint->load, h);
    if (def->kind == JOINT_CONE_TWIST) {
        f64 sine, cosine;
        trig_sincos((f64)def->swing, &sine, &cosine);
        row->sin_swing = (f32)sine;
        row->cos_swing = (f32)cosine;
    }
    if (def->kind == JOINT_MOTOR && def->frequency > 0.0f) {
        row->soft = softness(def->frequency, def->damping, h);
    }
    prepare_free_motion(rigid, row, def, h);
    /* Impulses of parts that are no longer used are zero. */
    JointLoad *load = &row->impulse;
    load->spring = row->flags & JOINT_SPRUNG && row->stiffness > 0.0f ? load->spring : 0.0f;
    load->motor = row->flags & JOINT_DRIVE ? load->motor : 0.0f;
    if (!has_limits(row)) {
        load->lower = 0.0f;
        load->upper = 0.0f;
        load->swing = 0.0f;
    }
}

/* The largest position error. */
static f32 row_error(const JointRow *row, const JointPose *pose)
{
    f32 length = vec3_length(pose->gap);
    Vec3 x = axis_x(pose->frame_a);
    switch (row->kind) {
    case JOINT_SLIDER:
        return vec3_length(vec3_add_scaled(pose->gap, -vec3_dot(x, pose->gap), x));
    case JOINT_DISTANCE:
        return f32_max(0.0f, f32_max(row->lower - length, length - row->upper));
    case JOINT_MOTOR:
    case JOINT_SPRING:
        return 0.0f;
    default:
        return length;
    }
}

void joint_row_store(Rigid *rigid, const JointRow *row, f32 tick_s)
{
    Joint *joint = &rigid->joints.joints[row->joint];
    JointPose pose = pose_now(rigid, row);
    bool plain = joint_is_pgs(rigid, row->a, row->b);
    JointLoad load =
        load_scale(&row->impulse, plain ? 1.0f / tick_s : (f32)rigid->substeps / tick_s);
    joint->load = load;
    joint->force = vec3_scale(row->sum_force, 1.0f / tick_s);
    joint->torque = vec3_scale(row->sum_moment, 1.0f / tick_s);
    joint->error = row_error(row, &pose);
}
