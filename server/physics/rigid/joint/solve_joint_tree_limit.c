/*
 * solve_joint_tree_limit.c: limits of joints in trees. A limit that is solved with its own two
 * bodies alone opens the joints beside it, whose answer moves it again: in one pass a step the two
 * never agree, and a limb at its limits gains energy from what remains. So the tree answers first:
 * a unit moment of the limit, with the impulses that keep all joints of the tree closed, is one
 * direction of motion, and the limit's impulse is found along it. That takes one substitution in
 * the tree's factors, only where a limit acts. The directions leave the joints alone, so that the
 * limits of a tree are a small problem of their own, solved by projected Gauss-Seidel.
 * Method: response of an articulated body to a unit impulse (Mirtich, "Impulse-based dynamic
 * simulation", 1996, chapter 4).
 */
#include "server/physics/rigid/joint/joint_tree.h"

enum {
    LIMIT_SWEEPS = 8
};

/* Of its response alone: a smaller one is rounding. */
#define RESPONSE_LEAST 1e-5f
/* Slower changes (rad/s) need no further sweep. */
#define SWEEP_ENOUGH   1e-4f

/* A limit of the trees of a group. */
typedef struct Limit {
    f32 *impulse[SIMD_LANES]; /* NULL: this tree has none here */
    Vec3x8 about;
    f32x8 room, given; /* rad; N m s so far */
    i32x8 locked;
} Limit;

static JointRow *row_of(const Trees *t, const TreeGroup *group, u32 lane, u32 place)
{
    const JointStore *store = &t->rigid->joints;
    u32 row = store->tree_joints[store->trees[group->tree + lane].first + place].limit;
    return row != JOINT_NO_SLOT ? &store->rows[row] : NULL;
}

/* False if no tree has one here. */
static bool limit_gather(const Trees *t, const TreeGroup *group, u32 place, u32 which, Limit *limit)
{
    bool any = false;
    *limit = (Limit){.about = vec3x8_zero(), .room = f32x8_set(1.0f), .given = f32x8_set(0.0f)};
    for (u32 lane = 0; lane < t->lanes; lane++) {
        JointRow *row = row_of(t, group, lane, place);
        if (row != NULL) {
            RowLimitAxis axis = joint_row_limit(row, which);
            limit->impulse[lane] = axis.impulse;
            lane_set_vec3(&limit->about, lane, axis.about);
            lane_set(&limit->room, lane, axis.room);
            lane_set(&limit->given, lane, *axis.impulse);
            limit->locked[lane] = axis.locked ? -1 : 0;
            any = true;
        }
    }
    return any;
}

SIMD_INLINE void push(const Trees *t, u32 place, Vec3x8 moment)
{
    const TreeLinks *links = &t->joints[place].links;
    TreeSides *a = &t->sides[links->body_a], *b = &t->sides[links->body_b];
    a->angular_velocity =
        vec3x8_sub(a->angular_velocity, symmetric3x8_mul(&a->place.inertia, moment));
    b->angular_velocity =
        vec3x8_add(b->angular_velocity, symmetric3x8_mul(&b->place.inertia, moment));
}

/* Their velocities, while those of an answer are found: in `next`, which only predictions use. */
static void sides_keep(const Trees *t)
{
    for (u32 i = 0; i < t->side_count; i++) {
        TreeSides *side = &t->sides[i];
        Vec3x8 w = side->angular_velocity;
        side->next.shift = side->velocity;
        side->next.orientation = (Quatx8){f32x8_set(0.0f), w.x, w.y, w.z};
        side->velocity = side->angular_velocity = vec3x8_zero();
    }
}

/* The kept velocities, with so much of the answer. */
static void sides_blend(const Trees *t, f32x8 amount)
{
    for (u32 i = 0; i < t->side_count; i++) {
        TreeSides *side = &t->sides[i];
        Quatx8 w = side->next.orientation;
        side->velocity = vec3x8_add_scaled(side->next.shift, amount, side->velocity);
        side->angular_velocity =
            vec3x8_add_scaled((Vec3x8){w.x, w.y, w.z}, amount, side->angular_velocity);
    }
    for (u32 i = 0; i < t->count; i++) {
        TreeRow *row = &t->rows[i];
        row->impulse = vec3x8_add_scaled(row->impulse, amount - f32x8_set(1.0f), row->change);
    }
}

SIMD_INLINE f32x8 limit_speed(const Trees *t, u32 place, const Limit *limit)
{
    const TreeLinks *links = &t->joints[place].links;
    Vec3x8 a = t->sides[links->body_a].angular_velocity;
    return vec3x8_dot(limit->about, vec3x8_sub(t->sides[links->body_b].angular_velocity, a));
}

/* What the speed of a limit should change by, and how much of its impulse goes: with bias as of a
 * single joint (solve_joint_row.c). */
typedef struct LimitAsk {
    f32x8 change, fade;
} LimitAsk;

SIMD_INLINE LimitAsk limit_ask(const Limit *limit, f32x8 speed, const Softness *soft, f32 h)
{
    f32x8 none = f32x8_set(0.0f), most = f32x8_set(JOINT_PUSH_RAD_S);
    i32x8 ahead = (i32x8)(limit->room > none) & ~limit->locked;
    f32x8 push = f32x8_max(f32x8_min(soft->bias_rate * limit->room, most), -most);
    f32x8 bias = f32x8_select(ahead, limit->room / h, push);
    f32x8 scale = f32x8_select(ahead, f32x8_set(1.0f), f32x8_set(soft->mass_scale));
    f32x8 fade = f32x8_select(ahead, none, f32x8_set(soft->impulse_scale));
    return (LimitAsk){-scale * (speed + bias), fade};
}

/* Returns the largest change of its speed in any tree. */
static f32 limit_solve(const Trees *t, u32 place, Limit *limit, TreeAnswer *answer,
                       const Softness *soft, f32 h)
{
    f32x8 none = f32x8_set(0.0f), one = f32x8_set(1.0f);
    LimitAsk ask = limit_ask(limit, limit_speed(t, place, limit), soft, h);
    i32x8 acts = (i32x8)(limit->given > none) | (i32x8)(ask.change > none) | limit->locked;
    const TreeLinks *links = &t->joints[place].links;
    Vec3x8 rotated =
        vec3x8_add(symmetric3x8_mul(&t->sides[links->body_a].place.inertia, limit->about),
                   symmetric3x8_mul(&t->sides[links->body_b].place.inertia, limit->about));
    f32x8 plain = vec3x8_dot(limit->about, rotated);
    acts &= (i32x8)(plain > none);
    if (!i32x8_any(acts)) {
        return 0.0f;
    }
    sides_keep(t);
    push(t, place, limit->about);
    answer(t, acts);
    f32x8 response = f32x8_max(limit_speed(t, place, limit), RESPONSE_LEAST * plain);
    f32x8 sum =
        limit->given + ask.change / f32x8_select(acts, response, one) - ask.fade * limit->given;
    sum = f32x8_select(limit->locked, sum, f32x8_max(sum, none));
    f32x8 amount = f32x8_and(acts, sum - limit->given);
    sides_blend(t, amount);
    limit->given += amount;
    f32 most = 0.0f;
    for (u32 lane = 0; lane < t->lanes; lane++) {
        if (limit->impulse[lane] != NULL) {
            f32 change = fabsf(lane_read(&amount, lane) * lane_read(&response, lane));
            *limit->impulse[lane] = lane_read(&limit->given, lane);
            most = f32_max(most, change);
        }
    }
    t->keep->struck |= (i32x8)(limit->given != none);
    return most;
}

void trees_limits_warm_start(const Trees *t, const TreeGroup *group)
{
    Limit limit;
    for (u32 i = 0; i < t->count; i++) {
        for (u32 which = 0; which < LIMITS_OF_ROW && t->joints[i].links.kind == TREE_POINT;
             which++) {
            if (limit_gather(t, group, i, which, &limit)) {
                push(t, i, vec3x8_scale(limit.about, limit.given));
                t->keep->struck |= (i32x8)(limit.given != f32x8_set(0.0f));
            }
        }
    }
}

static void limits_each(const Trees *t, const TreeGroup *group,
                        void (*call)(Rigid *rigid, JointRow *row))
{
    for (u32 lane = 0; lane < t->lanes; lane++) {
        for (u32 i = 0; i < t->count; i++) {
            JointRow *row = row_of(t, group, lane, i);
            if (row != NULL) {
                call(t->rigid, row);
            }
        }
    }
}

static void follow(Rigid *rigid, JointRow *row)
{
    joint_row_follow(rigid, row);
}

void trees_limits_solve(const Trees *t, const TreeGroup *group, TreeAnswer *answer, bool relax,
                        f32 h)
{
    Softness soft = relax ? rigid_softness : softness(JOINT_STIFFNESS / h, JOINT_DAMPING, h);
    if (relax) {
        limits_each(t, group, follow);
    }
    f32 most = INFINITY;
    for (u32 sweep = 0; sweep < LIMIT_SWEEPS && most > SWEEP_ENOUGH; sweep++) {
        most = 0.0f;
        for (u32 i = 0; i < t->count; i++) {
            Limit limit;
            for (u32 which = 0; which < LIMITS_OF_ROW && t->joints[i].links.kind == TREE_POINT;
                 which++) {
                if (limit_gather(t, group, i, which, &limit)) {
                    most = f32_max(most, limit_solve(t, i, &limit, answer, &soft, h));
                }
            }
        }
    }
    if (relax) {
        limits_each(t, group, joint_row_count);
    }
}
