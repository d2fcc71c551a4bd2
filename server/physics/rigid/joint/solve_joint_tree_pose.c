/*
 * solve_joint_tree_pose.c: current and predicted poses of the rows of trees of joints.
 */
#include "server/physics/rigid/joint/joint_tree.h"
#include "server/physics/rigid/rotation_step.h"

SIMD_INLINE Quatx8 quatx8_mul(Quatx8 a, Quatx8 b)
{
    return (Quatx8){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                    a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                    a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                    a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

SIMD_INLINE Vec3x8 unit_or(Vec3x8 v, Vec3x8 other)
{
    f32x8 square = vec3x8_dot(v, v), one = f32x8_set(1.0f);
    i32x8 some = square > 1e-30f;
    f32x8 s = f32x8_and(some, one / f32x8_sqrt(f32x8_select(some, square, one)));
    return (Vec3x8){f32x8_select(some, v.x * s, other.x), f32x8_select(some, v.y * s, other.y),
                    f32x8_select(some, v.z * s, other.z)};
}

/* ---- current poses of rows ---- */

/* How far b's x axis is from a's. If they are more than a right angle apart, the error is 1 about
 * the axis that rotates them back. */
SIMD_INLINE Vec3x8 hinge_gap(Quatx8 qa, Quatx8 qb, Vec3x8 *axis)
{
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    Vec3x8 x = {one, zero, zero}, y = {zero, one, zero};
    Vec3x8 xa = quatx8_rotate(qa, x), xb = quatx8_rotate(qb, x), error = vec3x8_cross(xa, xb);
    i32x8 far = vec3x8_dot(xa, xb) < zero;
    *axis = xa;
    if (!i32x8_any(far)) {
        return error;
    }
    Vec3x8 whole = unit_or(error, quatx8_rotate(qa, y));
    return (Vec3x8){f32x8_select(far, whole.x, error.x), f32x8_select(far, whole.y, error.y),
                    f32x8_select(far, whole.z, error.z)};
}

/* Axes and rotation error. */
static void rotation_follow(u32 kind, TreeRow *row, const SidePose *a, const SidePose *b)
{
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    Quatx8 qa = quatx8_mul(a->orientation, row->rotation.frame_a);
    Quatx8 qb = quatx8_mul(b->orientation, row->rotation.frame_b);
    if (kind == TREE_ROTATION) {
        Quatx8 q = quatx8_mul(qb, (Quatx8){qa.w, -qa.x, -qa.y, -qa.z});
        f32x8 s = f32x8_select(q.w < zero, f32x8_set(-2.0f), f32x8_set(2.0f));
        row->gap = (Vec3x8){s * q.x, s * q.y, s * q.z};
        return;
    }
    if (kind == TREE_ROTATION_AXIS) {
        row->gap = hinge_gap(qa, qb, &row->axis);
        return;
    }
    Vec3x8 xa = quatx8_rotate(qa, (Vec3x8){one, zero, zero});
    Vec3x8 yb = quatx8_rotate(qb, (Vec3x8){zero, one, zero});
    row->rotation.x = xa;
    row->rotation.y = yb;
    row->axis = unit_or(vec3x8_cross(yb, xa), quatx8_rotate(qa, (Vec3x8){zero, zero, one}));
    row->gap = vec3x8_scale(row->axis, vec3x8_dot(xa, yb));
}

/* From one anchor to the other, with the bodies at these poses. */
SIMD_INLINE Vec3x8 point_gap(const TreePoint *p, const SidePose *a, const SidePose *b,
                             Vec3x8 *arm_a, Vec3x8 *arm_b)
{
    *arm_a = quatx8_rotate(a->orientation, p->local_a);
    *arm_b = quatx8_rotate(b->orientation, p->local_b);
    return vec3x8_add(p->start_gap, vec3x8_sub(anchor_moved(b, *arm_b, p->start_b),
                                               anchor_moved(a, *arm_a, p->start_a)));
}

/* Arms, axis and error of a point. */
static void point_follow(u32 kind, TreeRow *row, const SidePose *a, const SidePose *b)
{
    TreePoint *p = &row->point;
    Vec3x8 gap = point_gap(p, a, b, &p->arm_a, &p->arm_b);
    if (kind == TREE_TRACK) {
        /* At the anchor of the body with the larger inertia, as TREE_ROTATION couples both: with
         * a long arm on a light body, rounding would hide the constraint of the other. */
        f32x8 light_a = a->inertia.xx + a->inertia.yy + a->inertia.zz, none = f32x8_set(0.0f);
        f32x8 light_b = b->inertia.xx + b->inertia.yy + b->inertia.zz;
        Vec3x8 zero = {none, none, none};
        i32x8 on_b = light_b < light_a;
        p->arm_b = vec3x8_sub(p->arm_b, vec3x8_select(on_b, gap, zero));
        p->arm_a = vec3x8_add(p->arm_a, vec3x8_select(on_b, zero, gap));
    } else {
        p->arm_a = vec3x8_add(p->arm_a, gap);
    }
    if (kind == TREE_ROD) {
        Vec3x8 none = {f32x8_set(1.0f), f32x8_set(0.0f), f32x8_set(0.0f)};
        row->axis = unit_or(gap, none);
        gap = vec3x8_scale(row->axis, vec3x8_dot(row->axis, gap) - p->length);
    } else if (kind == TREE_TRACK) {
        row->axis = quatx8_rotate(a->orientation, p->local_axis);
        p->length = vec3x8_dot(row->axis, gap);
        gap = locked_part(kind, row, gap);
    }
    row->gap = gap;
}

static void row_follow(u32 kind, TreeRow *row, const SidePose *a, const SidePose *b)
{
    if (is_point(kind)) {
        point_follow(kind, row, a, b);
    } else {
        rotation_follow(kind, row, a, b);
    }
}

/* Cosine and sine of half the angle of b's frame relative to a's about their x axis. */
static void twist_half(TreeRotation *rotation, const SidePose *a, const SidePose *b)
{
    Quatx8 qa = quatx8_mul(a->orientation, rotation->frame_a);
    Quatx8 q = quatx8_mul((Quatx8){qa.w, -qa.x, -qa.y, -qa.z},
                          quatx8_mul(b->orientation, rotation->frame_b));
    f32x8 square = q.w * q.w + q.x * q.x, one = f32x8_set(1.0f);
    i32x8 some = square > 1e-20f;
    f32x8 s = one / f32x8_sqrt(f32x8_select(some, square, one));
    rotation->spring.cosine = f32x8_select(some, q.w * s, one);
    rotation->spring.sine = f32x8_and(some, q.x * s);
}

/* Change of a hinge angle in a step: 2 asin by its series, for less than a right angle. */
static void spring_follow(TreeRow *row, const SidePose *a, const SidePose *b)
{
    TreeSpring *spring = &row->rotation.spring;
    f32x8 cosine = spring->cosine, sine = spring->sine;
    twist_half(&row->rotation, a, b);
    f32x8 x = spring->sine * cosine - spring->cosine * sine;
    f32x8 whole = spring->cosine * cosine + spring->sine * sine, square = x * x;
    /* q and −q are the same rotation. */
    x = f32x8_select(whole < f32x8_set(0.0f), -x, x);
    f32x8 series = (square * (15.0f / 336.0f) + 3.0f / 40.0f) * square + 1.0f / 6.0f;
    spring->angle += 2.0f * x * (series * square + 1.0f);
}

void tree_row_follow(const Trees *t, u32 place)
{
    const TreeLinks *links = &t->joints[place].links;
    TreeRow *row = &t->rows[place];
    const SidePose *a = &t->sides[links->body_a].place, *b = &t->sides[links->body_b].place;
    row_follow(links->kind, row, a, b);
    if (links->sprung && links->kind == TREE_ROTATION_AXIS) {
        spring_follow(row, a, b);
    }
    /* Drops impulses along directions that are no longer locked. */
    row->impulse = locked_part(links->kind, row, row->impulse);
}

SIMD_INLINE Quatx8 quatx8_back(Quatx8 q)
{
    return (Quatx8){q.w, -q.x, -q.y, -q.z};
}

Vec3x8 tree_hinge_load(const Trees *t, u32 place)
{
    const TreeRow *row = &t->rows[place];
    const SidePose *a = &t->sides[t->joints[place].links.body_a].place;
    return quatx8_rotate(quatx8_back(quatx8_mul(a->orientation, row->rotation.frame_a)),
                         row->impulse);
}

Quatx8 tree_relative(const Trees *t, u32 place, Quatx8 frame_a, Quatx8 frame_b)
{
    const TreeLinks *links = &t->joints[place].links;
    Quatx8 qa = quatx8_mul(t->sides[links->body_a].place.orientation, frame_a);
    return quatx8_mul(quatx8_back(qa),
                      quatx8_mul(t->sides[links->body_b].place.orientation, frame_b));
}

void tree_row_start(const Trees *t, u32 place)
{
    const TreeLinks *links = &t->joints[place].links;
    if (links->kind == TREE_ROTATION_AXIS) {
        TreeRow *row = &t->rows[place];
        Quatx8 q = t->sides[links->body_a].place.orientation;
        row->impulse = quatx8_rotate(quatx8_mul(q, row->rotation.frame_a), row->impulse);
    }
    if (is_point(links->kind)) {
        TreePoint *p = &t->rows[place].point;
        p->start_a = quatx8_rotate(t->sides[links->body_a].place.orientation, p->local_a);
        p->start_b = quatx8_rotate(t->sides[links->body_b].place.orientation, p->local_b);
    } else if (links->sprung) {
        twist_half(&t->rows[place].rotation, &t->sides[links->body_a].place,
                   &t->sides[links->body_b].place);
    }
    tree_row_follow(t, place);
}

/* ---- poses after a step ---- */

/* Axes of a hinge: ½ h σ x × ω, σ the rate of its angle. Of a universal joint half of the second
 * derivative of x · y. */
Vec3x8 tree_row_drift(const Trees *t, u32 place, f32x8 half_h)
{
    const TreeLinks *links = &t->joints[place].links;
    const TreeRow *row = &t->rows[place];
    Vec3x8 u = t->sides[links->body_a].angular_velocity,
           v = t->sides[links->body_b].angular_velocity;
    Vec3x8 n = row->axis;
    switch (links->kind) {
    case TREE_POINT:
        return point_drift(u, row->point.arm_a, v, row->point.arm_b, half_h);
    case TREE_ROTATION_AXIS:
        return vec3x8_scale(vec3x8_cross(n, u), half_h * vec3x8_dot(n, vec3x8_sub(v, u)));
    case TREE_ROTATION_CROSS: {
        Vec3x8 x = vec3x8_cross(u, row->rotation.x), y = vec3x8_cross(v, row->rotation.y);
        f32x8 drift = vec3x8_dot(vec3x8_cross(u, x), row->rotation.y) + 2.0f * vec3x8_dot(x, y) +
                      vec3x8_dot(row->rotation.x, vec3x8_cross(v, y));
        return vec3x8_scale(n, half_h * drift);
    }
    default: {
        f32x8 zero = f32x8_set(0.0f);
        return (Vec3x8){zero, zero, zero};
    }
    }
}

/* Like bodies_move. */
void trees_predict(const Trees *t, f32 step)
{
    f32x8 h = f32x8_set(step);
    for (u32 i = 0; i < t->side_count; i++) {
        TreeSides *side = &t->sides[i];
        Quatx8 q = side->place.orientation;
        Vec3x8 mean = side->angular_velocity;
        /* Bodies with significant rotation. */
        i32x8 turns =
            side->uneven & (vec3x8_dot(side->angular_velocity, side->angular_velocity) >= 1e-6f);
        if (i32x8_any(turns)) {
            Vec3x8 freely = rotation_freely(q, &side->inertia, side->angular_velocity, h).mean;
            mean = vec3x8_select(turns, freely, mean);
        }
        side->next.shift = vec3x8_add_scaled(side->place.shift, h, side->velocity);
        side->next.orientation = quatx8_integrate(q, mean, h);
    }
}

Vec3x8 tree_row_opens(const Trees *t, u32 place, f32 h)
{
    const TreeLinks *links = &t->joints[place].links;
    const TreeRow *row = &t->rows[place];
    const SidePose *a = &t->sides[links->body_a].next, *b = &t->sides[links->body_b].next;
    if (links->kind == TREE_POINT) {
        Vec3x8 arm_a, arm_b, gap = point_gap(&row->point, a, b, &arm_a, &arm_b);
        return vec3x8_scale(vec3x8_sub(gap, row->gap), f32x8_set(1.0f / h));
    }
    if (links->kind == TREE_ROTATION_AXIS) {
        Quatx8 qa = quatx8_mul(a->orientation, row->rotation.frame_a);
        Quatx8 qb = quatx8_mul(b->orientation, row->rotation.frame_b);
        Vec3x8 axis, gap = hinge_gap(qa, qb, &axis);
        Vec3x8 opens = vec3x8_scale(vec3x8_sub(gap, row->gap), f32x8_set(1.0f / h));
        return locked_part(links->kind, row, opens);
    }
    TreeRow then = *row;
    row_follow(links->kind, &then, a, b);
    Vec3x8 opens = vec3x8_scale(vec3x8_sub(then.gap, row->gap), f32x8_set(1.0f / h));
    return locked_part(links->kind, row, opens);
}

Vec3 tree_cross(const Rigid *rigid, const JointDef *def)
{
    Quat frame_a = joint_frame(rigid, def->a, def->frame_a);
    Quat frame_b = joint_frame(rigid, def->b, def->frame_b);
    Vec3 x = quat_rotate(frame_a, vec3(1.0f, 0.0f, 0.0f));
    Vec3 y = quat_rotate(frame_b, vec3(0.0f, 1.0f, 0.0f));
    return vec3_normalize_or(vec3_cross(y, x), quat_rotate(frame_a, vec3(0.0f, 0.0f, 1.0f)));
}
