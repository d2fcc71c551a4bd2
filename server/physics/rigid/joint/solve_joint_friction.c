/*
 * solve_joint_friction.c: dry friction in joints: about a point all three axes at once, about the
 * axis of a hinge, and about both axes of a universal joint. Coulomb's law: the moment has at most
 * a given size and opposes the remaining motion, not the motion before; the two differ if the
 * bodies rotate more easily about one axis than about another. Of all moments of that size it is
 * the one that leaves the least energy: a minimum in a ball, as in trust region methods.
 * Method: Newton's iteration on the reciprocal of the length (Moré and Sorensen, "Computing a trust
 * region step", 1983).
 */
#include "server/physics/rigid/joint/joint_sides.h"

enum {
    NEWTON_STEPS = 6 /* two suffice where one substep hardly changes the speed, the usual case */
};
/* Fraction of the mean response: bodies that cannot rotate about some axis still have an
 * inverse. */
#define LEAST_RESPONSE 1e-6f
/* Fraction of the size at which the direction has converged. */
#define NEAR           1.001f

Vec3 friction_moment(const Symmetric3 *k, Vec3 speed, f32 most)
{
    f32 scale = k->xx + k->yy + k->zz, length = vec3_length(speed);
    if (!(scale > 0.0f) || !(length > 0.0f)) {
        return vec3_zero();
    }
    /* The moment times the scale, so that precision does not depend on the bodies' masses. */
    f32 radius = most * scale;
    /* −(K + λ)⁻¹ v, with the smallest λ ≥ 0 for which that is within the radius: never above this
     * bound, since no response exceeds their sum. From there Newton's steps never pass it. */
    f32 lambda = f32_max(length / radius - 1.0f, 0.0f);
    Vec3 moment = vec3_zero();
    for (u32 i = 0; i < NEWTON_STEPS; i++) {
        /* Divided by 1 + λ, so that its determinant does not overflow. */
        f32 share = 1.0f / (1.0f + lambda), diagonal = (lambda + LEAST_RESPONSE) * share;
        Symmetric3 sum = symmetric_scale(*k, share / scale);
        sum.xx += diagonal;
        sum.yy += diagonal;
        sum.zz += diagonal;
        Symmetric3 inverse = symmetric_inverse(&sum);
        moment = vec3_scale(symmetric_mul(&inverse, speed), -share);
        f32 size = vec3_length(moment);
        if (!(size > NEAR * radius)) {
            break; /* the last step's error is of second order: rescaling removes the rest */
        }
        f32 slope = share * vec3_dot(moment, symmetric_mul(&inverse, moment));
        lambda += (size / radius - 1.0f) * size * size / slope;
    }
    f32 size = vec3_length(moment);
    return vec3_scale(moment, (size > radius ? radius / size : 1.0f) / scale);
}

/* ---- one joint ---- */

/* The impulse at the point that keeps its velocity when the moment acts: otherwise the point would
 * open, and its correction would return the energy. */
static Vec3 share_of(const DryRow *row, Vec3 moment)
{
    Vec3 sum = vec3_scale(row->share[0], moment.x);
    sum = vec3_add_scaled(sum, moment.y, row->share[1]);
    return vec3_add_scaled(sum, moment.z, row->share[2]);
}

/* The shares of the point, and the response of the rotation with them: block elimination. */
static void find_response(DryRow *row, const Sides *s)
{
    const Symmetric3 *a = s->ia, *b = s->ib;
    Symmetric3 point = point_response(s, row->arm_a, row->arm_b), mass = symmetric_inverse(&point);
    const Vec3 turns_a[3] = {{a->xx, a->xy, a->xz}, {a->xy, a->yy, a->yz}, {a->xz, a->yz, a->zz}};
    const Vec3 turns_b[3] = {{b->xx, b->xy, b->xz}, {b->xy, b->yy, b->yz}, {b->xz, b->yz, b->zz}};
    Vec3 moved[3];
    for (u32 i = 0; i < 3; i++) {
        moved[i] = vec3_add(vec3_cross(turns_b[i], row->arm_b), vec3_cross(turns_a[i], row->arm_a));
        row->share[i] = vec3_neg(symmetric_mul(&mass, moved[i]));
    }
    /* Rounding must not make a joint's own lever arm infinitely heavy. */
    Symmetric3 k = symmetric_add(*a, *b);
    row->response = (Symmetric3){f32_max(k.xx + vec3_dot(moved[0], row->share[0]), 1e-5f * k.xx),
                                 f32_max(k.yy + vec3_dot(moved[1], row->share[1]), 1e-5f * k.yy),
                                 f32_max(k.zz + vec3_dot(moved[2], row->share[2]), 1e-5f * k.zz),
                                 k.xy + vec3_dot(moved[0], row->share[1]),
                                 k.xz + vec3_dot(moved[0], row->share[2]),
                                 k.yz + vec3_dot(moved[1], row->share[2])};
}

/* The moment that accompanies one about an axis of a universal joint: the joint's locked direction,
 * the normal of both axes, balances rotation about it. */
static Vec3 bearing_axis(const Symmetric3 *response, Vec3 axis, Vec3 normal)
{
    Vec3 turn = symmetric_mul(response, normal);
    f32 own = vec3_dot(normal, turn);
    return own > 0.0f ? vec3_add_scaled(axis, -vec3_dot(axis, turn) / own, normal) : axis;
}

/* The moment that turns a hinge about its axis alone, per unit about it: the bearings balance the
 * rest. The response, of the axis' speed, is 1 / x·K⁻¹x. */
static void hinge_axis(DryRow *row, Vec3 about_x)
{
    Symmetric3 k = row->response;
    f32 scale = k.xx + k.yy + k.zz, least = LEAST_RESPONSE * scale;
    k.xx += least;
    k.yy += least;
    k.zz += least;
    row->axes[0] = row->axes[1] = vec3_zero();
    if (scale > 0.0f) {
        Symmetric3 inverse = symmetric_inverse(&k);
        Vec3 moment = symmetric_mul(&inverse, about_x);
        row->axes[0] = vec3_scale(moment, 1.0f / vec3_dot(about_x, moment));
        row->axes[1] = about_x;
    }
}

/* Computes all pose-dependent data. */
static void dry_follow(const Rigid *rigid, DryRow *row, const Sides *sides)
{
    Quat qa = orientation_of(rigid, row->a), qb = orientation_of(rigid, row->b);
    Vec3 arm_a, gap = arms_now(rigid, &row->arms, row->a, row->b, &arm_a, &row->arm_b);
    row->arm_a = vec3_add(arm_a, gap);
    find_response(row, sides);
    Vec3 about_x = quat_rotate(qa, row->local_x), about_y = quat_rotate(qb, row->local_y);
    if (row->kind == JOINT_HINGE) {
        hinge_axis(row, about_x);
    } else if (row->kind == JOINT_UNIVERSAL) {
        Vec3 normal = vec3_normalize_or(vec3_cross(about_y, about_x), vec3_zero());
        row->axes[0] = bearing_axis(&row->response, about_x, normal);
        row->axes[1] = bearing_axis(&row->response, about_y, normal);
    }
}

void joint_dry_prepare(const Rigid *rigid, DryRow *row, u32 slot, f32 h)
{
    const Joint *joint = &rigid->joints.joints[slot];
    const JointDef *def = &joint->def;
    memset(row, 0, sizeof(*row));
    joint_bodies(rigid, slot, &row->a, &row->b);
    row->joint = slot;
    row->kind = def->kind;
    Vec3 anchors[2];
    Quat frames[2];
    joint_frames(rigid, def, anchors, frames);
    row->arms = arms_of(rigid, def, row->a, row->b, anchors);
    row->local_x = quat_rotate(def->frame_a, vec3(1.0f, 0.0f, 0.0f));
    row->local_y = quat_rotate(def->frame_b, vec3(0.0f, 1.0f, 0.0f));
    row->most = def->friction * h;
    row->impulse = vec3_scale(joint->load.friction, h);
    Sides sides = sides_read(rigid, row->a, row->b);
    dry_follow(rigid, row, &sides);
}

/* ---- each substep ---- */

static Vec3 moment_of(const DryRow *row)
{
    if (row->kind == JOINT_HINGE) {
        return vec3_scale(row->axes[0], row->impulse.x);
    }
    if (row->kind == JOINT_UNIVERSAL) {
        return vec3_add_scaled(vec3_scale(row->axes[0], row->impulse.x), row->impulse.y,
                               row->axes[1]);
    }
    return row->impulse;
}

static void dry_apply(const DryRow *row, Sides *sides, Vec3 moment)
{
    Vec3 base = share_of(row, moment);
    Vec3 moment_a = vec3_add(moment, vec3_cross(row->arm_a, base));
    Vec3 moment_b = vec3_add(moment, vec3_cross(row->arm_b, base));
    sides->va = vec3_add_scaled(sides->va, -sides->ma, base);
    sides->wa = vec3_sub(sides->wa, symmetric_mul(sides->ia, moment_a));
    sides->vb = vec3_add_scaled(sides->vb, sides->mb, base);
    sides->wb = vec3_add(sides->wb, symmetric_mul(sides->ib, moment_b));
}

void joint_dry_warm_start(Rigid *rigid, const DryRow *row)
{
    Sides sides = sides_read(rigid, row->a, row->b);
    dry_apply(row, &sides, moment_of(row));
    sides_write(rigid, row->a, row->b, &sides);
}

enum {
    BEARING_SWEEPS = 3 /* the axes of a universal joint are nearly independent */
};

/* Universal: about a's x and b's y, each a bearing of its own. */
static void solve_bearings(DryRow *row, Vec3 speed)
{
    f32 *sums[2] = {&row->impulse.x, &row->impulse.y};
    for (u32 i = 0; i < 2 * BEARING_SWEEPS; i++) {
        Vec3 turn = symmetric_mul(&row->response, row->axes[i % 2]);
        f32 response = vec3_dot(row->axes[i % 2], turn), *sum = sums[i % 2];
        if (response > 0.0f) {
            f32 next = *sum - vec3_dot(row->axes[i % 2], speed) / response;
            next = f32_clamp(next, -row->most, row->most);
            speed = vec3_add_scaled(speed, next - *sum, turn);
            *sum = next;
        }
    }
}

static void solve_hinge(DryRow *row, Vec3 speed)
{
    f32 response = vec3_dot(row->axes[1], symmetric_mul(&row->response, row->axes[0]));
    if (response > 0.0f) {
        f32 next = row->impulse.x - vec3_dot(row->axes[1], speed) / response;
        row->impulse.x = f32_clamp(next, -row->most, row->most);
    }
}

void joint_dry_solve(Rigid *rigid, DryRow *row, bool relax)
{
    Sides sides = sides_read(rigid, row->a, row->b);
    if (relax) {
        dry_follow(rigid, row, &sides);
    }
    Vec3 old = moment_of(row), speed = vec3_sub(sides.wb, sides.wa);
    if (row->kind == JOINT_HINGE) {
        solve_hinge(row, speed);
    } else if (row->kind == JOINT_UNIVERSAL) {
        solve_bearings(row, speed);
    } else {
        /* The speed without friction. */
        speed = vec3_sub(speed, symmetric_mul(&row->response, old));
        row->impulse = friction_moment(&row->response, speed, row->most);
    }
    Vec3 moment = moment_of(row);
    dry_apply(row, &sides, vec3_sub(moment, old));
    sides_write(rigid, row->a, row->b, &sides);
    if (relax) {
        row->sum_force = vec3_add(row->sum_force, share_of(row, moment));
        row->sum_moment = vec3_add(row->sum_moment, moment);
    }
}

void joint_dry_store(Rigid *rigid, const DryRow *row, f32 tick_s)
{
    Joint *joint = &rigid->joints.joints[row->joint];
    bool plain = joint_is_pgs(rigid, row->a, row->b);
    f32 rate = plain ? 1.0f / tick_s : (f32)rigid->substeps / tick_s;
    joint->load.friction = vec3_scale(row->impulse, rate);
    joint->force = vec3_add_scaled(joint->force, 1.0f / tick_s, row->sum_force);
    joint->torque = vec3_add_scaled(joint->torque, 1.0f / tick_s, row->sum_moment);
}
