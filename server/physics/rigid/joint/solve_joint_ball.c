/*
 * solve_joint_ball.c: eight ball joints at a time: a 3×3 block each that holds two points together.
 * Pose-dependent data (inertias, arms, gap, mass) is computed once per substep, after integration,
 * and used by that relaxing pass and the next two. Method: TGS-soft (Catto, Solver2D, 2024), like
 * solve_joint_row.c.
 */
#include "server/physics/rigid/joint/joint_wide.h"

/* ---- once a tick ---- */

static void fill(const Rigid *rigid, BallWide *row, const u32 slots[SIMD_LANES], f32 h)
{
    PointLanes points = POINT_LANES(row);
    memset(row, 0, sizeof *row);
    point_lanes_clear(rigid, &points);
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        if (slots[lane] != JOINT_NO_SLOT) {
            const JointLoad *load = &rigid->joints.joints[slots[lane]].load;
            Quat frames[2];
            point_lane_set(rigid, &points, lane, slots[lane], frames);
            lane_set_vec3(&row->impulse, lane, vec3_scale(load->linear, h));
        }
    }
}

/* Computes pose-dependent data. */
SIMD_INLINE void follow(BallWide *row, const SidePose *a, const SidePose *b, f32x8 masses)
{
    row->inertia_a = a->inertia;
    row->inertia_b = b->inertia;
    row->arm_a = quatx8_rotate(a->orientation, row->local_a);
    row->arm_b = quatx8_rotate(b->orientation, row->local_b);
    f32x8 zero = f32x8_set(0.0f);
    Symmetric3x8 k = {masses, masses, masses, zero, zero, zero};
    add_arm_response(&k, &row->inertia_a, row->arm_a);
    add_arm_response(&k, &row->inertia_b, row->arm_b);
    row->mass = inverse(&k);
}

void joint_ball_prepare(const Rigid *rigid, BallWide *row, const u32 slots[SIMD_LANES], f32 h)
{
    fill(rigid, row, slots, h);
    Side a = side_gather(rigid->states, row->a), b = side_gather(rigid->states, row->b);
    SidePose place_a = place_gather(rigid, row->a), place_b = place_gather(rigid, row->b);
    follow(row, &place_a, &place_b, a.mass + b.mass);
    row->start_a = row->arm_a;
    row->start_b = row->arm_b;
    row->gap = row->start_gap;
    /* The first warm start counts what the last tick has counted. */
    row->sum = (Vec3x8){-row->impulse.x, -row->impulse.y, -row->impulse.z};
}

/* ---- each substep ---- */

SIMD_INLINE void apply(const BallWide *row, Side *a, Side *b, Vec3x8 impulse)
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

SIMD_INLINE Vec3x8 point_speed(const BallWide *row, const Side *a, const Side *b)
{
    return vec3x8_sub(vec3x8_add(b->velocity, vec3x8_cross(b->angular_velocity, row->arm_b)),
                      vec3x8_add(a->velocity, vec3x8_cross(a->angular_velocity, row->arm_a)));
}

void joint_ball_warm_start(Rigid *rigid, BallWide *row)
{
    /* The final impulse of the last substep. */
    row->sum = vec3x8_add(row->sum, row->impulse);
    Side a = side_gather(rigid->states, row->a), b = side_gather(rigid->states, row->b);
    apply(row, &a, &b, row->impulse);
    side_scatter(rigid->states, row->a, &a);
    side_scatter(rigid->states, row->b, &b);
}

void joint_ball_solve(Rigid *rigid, BallWide *row, const Softness *soft, f32 over, f32 h)
{
    Side a = side_gather(rigid->states, row->a), b = side_gather(rigid->states, row->b);
    Vec3x8 bias = vec3x8_scale(row->gap, f32x8_set(soft->bias_rate));
    f32x8 length = f32x8_sqrt(vec3x8_dot(bias, bias)), most = f32x8_set(JOINT_PUSH_M_S);
    bias = vec3x8_scale(bias, most / f32x8_max(length, most));
    if (h > 0.0f) {
        f32x8 half_h = f32x8_set(0.5f * h);
        row->drift =
            point_drift(a.angular_velocity, row->arm_a, b.angular_velocity, row->arm_b, half_h);
    }
    bias = vec3x8_add(bias, row->drift);
    Vec3x8 speed = vec3x8_add(point_speed(row, &a, &b), bias);
    Vec3x8 change = symmetric3x8_mul(&row->mass, speed);
    Vec3x8 kept = vec3x8_scale(row->impulse, f32x8_set(1.0f - soft->impulse_scale));
    Vec3x8 sum = vec3x8_sub_scaled(kept, f32x8_set(soft->mass_scale), change);
    change = vec3x8_scale(vec3x8_sub(sum, row->impulse), f32x8_set(over));
    row->impulse = vec3x8_add(row->impulse, change);
    apply(row, &a, &b, change);
    side_scatter(rigid->states, row->a, &a);
    side_scatter(rigid->states, row->b, &b);
}

/* Removes the velocity of the points, without bias. */
SIMD_INLINE void stop(Rigid *rigid, BallWide *row, Side *a, Side *b)
{
    Vec3x8 change = symmetric3x8_mul(&row->mass, point_speed(row, a, b));
    change = (Vec3x8){-change.x, -change.y, -change.z};
    row->impulse = vec3x8_add(row->impulse, change);
    apply(row, a, b, change);
    side_scatter(rigid->states, row->a, a);
    side_scatter(rigid->states, row->b, b);
}

void joint_ball_relax_more(Rigid *rigid, BallWide *row)
{
    Side a = side_gather(rigid->states, row->a), b = side_gather(rigid->states, row->b);
    stop(rigid, row, &a, &b);
}

void joint_ball_relax(Rigid *rigid, BallWide *row)
{
    Side a = side_gather(rigid->states, row->a), b = side_gather(rigid->states, row->b);
    SidePose place_a = place_gather(rigid, row->a), place_b = place_gather(rigid, row->b);
    follow(row, &place_a, &place_b, a.mass + b.mass);
    row->gap =
        vec3x8_add(row->start_gap, vec3x8_sub(anchor_moved(&place_b, row->arm_b, row->start_b),
                                              anchor_moved(&place_a, row->arm_a, row->start_a)));
    stop(rigid, row, &a, &b);
}

void joint_ball_store(Rigid *rigid, const BallWide *row, f32 tick_s)
{
    f32 rate = (f32)rigid->substeps / tick_s;
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        if (row->joint[lane] == JOINT_NO_SLOT) {
            continue;
        }
        Joint *joint = &rigid->joints.joints[row->joint[lane]];
        joint->load.linear = vec3_scale(lane_vec3(&row->impulse, lane), rate);
        Vec3 sum = vec3_add(lane_vec3(&row->sum, lane), lane_vec3(&row->impulse, lane));
        joint->force = vec3_scale(sum, 1.0f / tick_s);
        joint->error = vec3_length(lane_vec3(&row->gap, lane));
    }
}
