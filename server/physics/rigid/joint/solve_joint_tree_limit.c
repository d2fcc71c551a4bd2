/*
 * solve_joint_tree_limit.c: limits of joints in trees. A limit that is solved with its own two
 * bodies alone opens the joints beside it, whose answer moves it again: in one pass a step the two
 * never agree, and a limb at its limits gains energy from what remains. So the tree answers first:
 * a unit moment of the limit, with the impulses that keep all joints of the tree closed, is one
 * direction of motion, and the limit's impulse is found along it. That takes one substitution in
 * the tree's factors for each limit that acts, at once for one limit of each of the eight trees;
 * answers stay true until the tree is factored again. The directions leave the joints alone, so
 * that the limits of a tree are a small problem of their own, with the matrix of their answers to
 * each other: solve_joint_tree_balance.c.
 * Method: response of an articulated body to a unit impulse (Mirtich, "Impulse-based dynamic
 * simulation", 1996, chapter 4).
 */
#include "server/physics/rigid/joint/joint_tree.h"
#include "server/physics/rigid/rotation_step.h"

#include "shared/math/trig.h"

#include <float.h>

enum {
    LIMIT_ROUNDS = 4 /* in which limits become active */
};

/* Fraction of its response without the tree: a smaller one is rounding. */
#define RESPONSE_LEAST 1e-5f
/* Share of a limit's error that is corrected in a substep. A larger one adds energy where the axes
 * of the limits rotate in a step. */
#define LIMIT_RATE     0.15f
/* N m s: no bound. */
#define IMPULSE_MOST   FLT_MAX

static u32 limits_stops(const Trees *t)
{
    return t->limit_count * LIMITS_OF_JOINT;
}

static TreeStop *stop_at(const Trees *t, u32 index)
{
    return &t->limits[index / LIMITS_OF_JOINT].stops[index % LIMITS_OF_JOINT];
}

SIMD_INLINE void stop_push(const Trees *t, const TreeStop *stop, f32x8 impulse)
{
    const TreeLinks *links = &t->joints[stop->place].links;
    TreeSides *a = &t->sides[links->body_a], *b = &t->sides[links->body_b];
    Vec3x8 moment = vec3x8_scale(stop->about, impulse);
    a->angular_velocity =
        vec3x8_sub(a->angular_velocity, symmetric3x8_mul(&a->place.inertia, moment));
    b->angular_velocity =
        vec3x8_add(b->angular_velocity, symmetric3x8_mul(&b->place.inertia, moment));
}

SIMD_INLINE f32x8 stop_speed(const Trees *t, const TreeStop *stop)
{
    const TreeLinks *links = &t->joints[stop->place].links;
    Vec3x8 a = t->sides[links->body_a].angular_velocity;
    return vec3x8_dot(stop->about, vec3x8_sub(t->sides[links->body_b].angular_velocity, a));
}

/* ---- state of the limits ---- */

/* sin(swing − angle) of the x axes of a and b; ±1 if they are more than a right angle apart. */
SIMD_INLINE f32x8 swing_clearance(const TreeLimit *limit, f32x8 sine, f32x8 cosine)
{
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    f32x8 clearance = limit->sine * cosine - limit->cosine * sine;
    f32x8 far = limit->cosine * cosine + limit->sine * sine;
    return f32x8_select(far > zero, clearance, f32x8_select(clearance < zero, -one, one));
}

/* The axis that increases the angle between the x axes of a cone-twist joint, and the remaining
 * angle up to the swing limit: see solve_joint_row.c. */
static void swing_follow(TreeLimit *limit, Vec3x8 a, Vec3x8 b, Vec3x8 other)
{
    f32x8 one = f32x8_set(1.0f);
    TreeStop *stop = &limit->stops[LIMIT_SWING];
    Vec3x8 normal = vec3x8_cross(a, b);
    f32x8 square = vec3x8_dot(normal, normal), sine = f32x8_sqrt(square), cosine = vec3x8_dot(a, b);
    i32x8 some = square > 1e-30f;
    normal = vec3x8_scale(normal, -one / f32x8_select(some, sine, one));
    other = vec3x8_scale(other, -one);
    stop->about = vec3x8_where(limit->some, vec3x8_select(some, normal, other));
    stop->clearance = f32x8_select(limit->some, swing_clearance(limit, sine, cosine), one);
}

static Vec3x8 limit_axis(const Trees *t, TreeLimit *limit)
{
    if (limit->hinge) {
        return t->rows[limit->place + 1].axis;
    }
    const TreeLinks *links = &t->joints[limit->place].links;
    Quatx8 qa = t->sides[links->body_a].place.orientation;
    Vec3x8 a = quatx8_rotate(qa, limit->x_a);
    Vec3x8 b = quatx8_rotate(t->sides[links->body_b].place.orientation, limit->x_b);
    swing_follow(limit, a, b, quatx8_rotate(qa, limit->y_a));
    f32x8 s = f32x8_set(1.0f) / f32x8_max(vec3x8_dot(a, b) + 1.0f, f32x8_set(0.1f));
    return vec3x8_scale(vec3x8_add(a, b), s);
}

static Vec3x8 limit_rotation(const Trees *t, const TreeLimit *limit)
{
    const TreeLinks *links = &t->joints[limit->place].links;
    return vec3x8_sub(t->sides[links->body_b].place.rotation,
                      t->sides[links->body_a].place.rotation);
}

static void limit_stand(TreeLimit *limit, Vec3x8 axis)
{
    f32x8 one = f32x8_set(1.0f);
    TreeStop *lower = &limit->stops[LIMIT_LOWER], *upper = &limit->stops[LIMIT_UPPER];
    lower->about = vec3x8_where(limit->some, axis);
    lower->clearance = f32x8_select(limit->some, limit->value - limit->lower, one);
    upper->about = vec3x8_where(limit->some & ~limit->locked, vec3x8_scale(axis, -one));
    upper->clearance = f32x8_select(limit->some, limit->upper - limit->value, one);
}

/* The axis may rotate, too: the change of the angle in a step is about the mean axis. */
static void limit_follow(const Trees *t, TreeLimit *limit)
{
    Vec3x8 axis = limit_axis(t, limit), rotation = limit_rotation(t, limit);
    Vec3x8 mean = vec3x8_scale(vec3x8_add(limit->axis, axis), f32x8_set(0.5f));
    limit->value += vec3x8_dot(mean, vec3x8_sub(rotation, limit->rotation));
    limit->rotation = rotation;
    limit->axis = axis;
    limit_stand(limit, axis);
}

/* ---- which act ---- */

/* What limits ask for in this stage. They are rigid: an arm whose joints all rest on
 * theirs answers as one body, thousands of times less than each joint alone, relative to which
 * they would be soft. */
static void limit_ask(TreeLimit *limit, f32 rate, f32 h)
{
    f32x8 none = f32x8_set(0.0f), most = f32x8_set(JOINT_PUSH_RAD_S);
    for (u32 n = 0; n < LIMITS_OF_JOINT; n++) {
        TreeStop *stop = &limit->stops[n];
        i32x8 ahead = stop->clearance > none;
        ahead = n == LIMIT_LOWER ? ahead & ~limit->locked : ahead;
        f32x8 push = f32x8_max(f32x8_min(rate * stop->clearance, most), -most);
        stop->bias = f32x8_select(ahead, stop->clearance * (1.0f / h), push);
    }
}

/* Assigns slots to those lanes of a limit that become active. Returns those for which there is none
 * left. */
static i32x8 stop_begin(const Trees *t, TreeStop *stop, i32x8 lanes)
{
    const TreeLinks *links = &t->joints[stop->place].links;
    Vec3x8 a = symmetric3x8_mul(&t->sides[links->body_a].place.inertia, stop->about);
    Vec3x8 b = symmetric3x8_mul(&t->sides[links->body_b].place.inertia, stop->about);
    f32x8 plain = vec3x8_dot(stop->about, vec3x8_add(a, b));
    lanes &= plain > f32x8_set(0.0f);
    i32x8 full = lanes & (t->keep->slots <= -t->keep->room);
    lanes &= ~full;
    stop->least = f32x8_select(lanes, plain * RESPONSE_LEAST, stop->least);
    stop->begins = lanes;
    stop->slot = (lanes & -t->keep->slots) | (~lanes & stop->slot);
    t->keep->slots += lanes;
    return full;
}

/* Lanes whose impulse should change. */
SIMD_INLINE i32x8 stop_acts(const TreeStop *stop, f32x8 speed, u32 round)
{
    const f32x8 enough = f32x8_set(round > 0 ? LIMIT_ENOUGH : 0.0f);
    f32x8 change = -(speed + stop->bias);
    i32x8 acts = (i32x8)(change > enough) & (i32x8)(stop->impulse < stop->high);
    acts |= (i32x8)(change < -enough) & (i32x8)(stop->impulse > stop->low);
    return acts;
}

/* Finds those that become active. Returns the lanes that have some. */
static i32x8 limits_ask(LimitRun *run, u32 round)
{
    const Trees *t = run->t;
    i32x8 any = {0}, open = run->open;
    f32x8 speed = f32x8_set(0.0f);
    run->count = 0;
    for (u32 i = 0; i < limits_stops(t); i++) {
        TreeStop *stop = stop_at(t, i);
        if (!stop->used) {
            continue;
        }
        bool follows = i % LIMITS_OF_JOINT == LIMIT_UPPER; /* the lower one */
        speed = follows ? -speed : stop_speed(t, stop);
        i32x8 here = (i32x8){0} + (i32)i;
        i32x8 acts = stop_acts(stop, speed, round) & open & (run->from <= here) & (here < run->end);
        i32x8 known = stop->slot >= 0, lanes = acts & ~known;
        stop->begins = (i32x8){0};
        if (i32x8_any(lanes)) {
            i32x8 full = stop_begin(t, stop, lanes);
            run->end = (full & here) | (~full & run->end);
            run->full |= full;
        }
        if (i32x8_any(stop->slot >= 0)) {
            stop->speed = speed;
            run->acting[run->count++] = stop;
            any |= stop->begins | (round == 0 ? acts & known : (i32x8){0});
        }
    }
    return any;
}

/* ---- responses ---- */

/* Their velocities, while those of a response are computed: in `next`, which only predictions
 * use. */
static void sides_keep(const Trees *t)
{
    for (u32 i = 0; i < t->side_count; i++) {
        TreeSides *side = &t->sides[i];
        Vec3x8 w = side->angular_velocity;
        side->next.shift = side->velocity;
        side->next.orientation = (Quatx8){f32x8_set(0.0f), w.x, w.y, w.z};
    }
}

static void sides_stop(const Trees *t)
{
    for (u32 i = 0; i < t->side_count; i++) {
        t->sides[i].velocity = t->sides[i].angular_velocity = vec3x8_zero();
    }
}

/* Numbers of a response: the velocities of each side, the impulse of each row. */
static Vec3x8 *response_at(const Trees *t, u32 slot)
{
    return t->unit_responses + (size_t)slot * (2 * t->side_count + t->count);
}

/* The computed response, 0 except in the requested lanes, merged with the existing ones of the
 * others. */
static void response_store(const Trees *t, u32 slot, bool first)
{
    Vec3x8 *to = response_at(t, slot);
    for (u32 i = 0; i < t->side_count; i++, to += 2) {
        const TreeSides *side = &t->sides[i];
        to[0] = first ? side->velocity : vec3x8_add(to[0], side->velocity);
        to[1] = first ? side->angular_velocity : vec3x8_add(to[1], side->angular_velocity);
    }
    for (u32 i = 0; i < t->count; i++, to++) {
        *to = first ? t->rows[i].change : vec3x8_add(*to, t->rows[i].change);
    }
}

/* The tree's response to a unit impulse of the limit that has this slot since this round. */
static void limits_find_responses(LimitRun *run, u32 slot)
{
    const Trees *t = run->t;
    i32x8 lanes = {0}, mine = (i32x8){0} + (i32)slot;
    bool first = slot >= t->keep->response_count;
    sides_stop(t);
    for (u32 i = 0; i < run->count; i++) {
        i32x8 here = run->acting[i]->begins & (run->acting[i]->slot == mine);
        if (i32x8_any(here)) {
            stop_push(t, run->acting[i], f32x8_and(here, f32x8_set(1.0f)));
            lanes |= here;
        }
    }
    if (!first && !i32x8_any(lanes)) {
        return;
    }
    run->solve(t, lanes, false);
    response_store(t, slot, first);
    t->keep->response_count = first ? slot + 1 : t->keep->response_count;
}

/* Velocity (rad/s) of a limit in a response. */
SIMD_INLINE f32x8 stop_response(const Trees *t, const TreeStop *stop, u32 slot)
{
    const TreeLinks *links = &t->joints[stop->place].links;
    const Vec3x8 *from = response_at(t, slot);
    return vec3x8_dot(stop->about,
                      vec3x8_sub(from[2 * links->body_b + 1], from[2 * links->body_a + 1]));
}

static u32 slots_of(i32x8 slots)
{
    i32 most = 0;
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        most = -slots[lane] > most ? -slots[lane] : most;
    }
    return (u32)most;
}

/* Mutual responses of the active limits. before: slots of the lanes before this round. */
static void limits_respond(LimitRun *run, i32x8 before)
{
    const Trees *t = run->t;
    u32 slots = slots_of(t->keep->slots), first = LIMIT_SLOTS;
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        if (before[lane] != t->keep->slots[lane]) {
            first = u32_min(first, (u32)-before[lane]);
        }
    }
    sides_keep(t);
    for (u32 slot = first; slot < slots; slot++) {
        limits_find_responses(run, slot);
    }
    for (u32 i = 0; i < run->count; i++) {
        TreeStop *stop = run->acting[i];
        /* A newly active limit has no responses yet. */
        for (u32 slot = i32x8_any(stop->begins) ? 0 : first; slot < slots; slot++) {
            f32x8 speed = stop_response(t, stop, slot);
            i32x8 mine = (i32x8){0} + (i32)slot;
            stop->response[slot] = speed;
            stop->own = f32x8_select(stop->slot == mine, speed, stop->own);
        }
    }
}

/* Applies the result to the trees. */
static void limits_apply(LimitRun *run)
{
    const Trees *t = run->t;
    for (u32 n = 0; n < t->keep->response_count; n++) {
        f32x8 amount = run->amount[n];
        const Vec3x8 *from = response_at(t, n);
        if (!i32x8_any(amount != f32x8_set(0.0f))) {
            continue;
        }
        for (u32 i = 0; i < t->side_count; i++, from += 2) {
            TreeSides *side = &t->sides[i];
            side->velocity = vec3x8_add_scaled(side->velocity, amount, from[0]);
            side->angular_velocity = vec3x8_add_scaled(side->angular_velocity, amount, from[1]);
        }
        for (u32 i = 0; i < t->count; i++, from++) {
            t->rows[i].impulse = vec3x8_add_scaled(t->rows[i].impulse, amount, *from);
        }
    }
}

static void sides_restore(const Trees *t)
{
    for (u32 i = 0; i < t->side_count; i++) {
        TreeSides *side = &t->sides[i];
        Quatx8 w = side->next.orientation;
        side->velocity = side->next.shift;
        side->angular_velocity = (Vec3x8){w.x, w.y, w.z};
    }
}

/* The tree has been factored again. */
static void limits_forget(const Trees *t)
{
    t->keep->slots = (i32x8){0};
    t->keep->response_count = 0;
    for (u32 i = 0; i < limits_stops(t); i++) {
        stop_at(t, i)->slot = ~(i32x8){0};
    }
}

/* Other limits of these lanes get the slots. */
static void limits_forget_lanes(const Trees *t, i32x8 lanes)
{
    t->keep->slots &= ~lanes;
    for (u32 i = 0; i < limits_stops(t); i++) {
        stop_at(t, i)->slot |= lanes;
    }
    for (u32 slot = 0; slot < t->keep->response_count; slot++) {
        Vec3x8 *response = response_at(t, slot);
        for (u32 i = 0; i < 2 * t->side_count + t->count; i++) {
            response[i] = vec3x8_where(~lanes, response[i]);
        }
    }
}

/* Returns the lanes in which some of them act. */
static i32x8 limits_block(LimitRun *run)
{
    const Trees *t = run->t;
    i32x8 any = {0};
    for (u32 round = 0; round < LIMIT_ROUNDS; round++) {
        i32x8 before = t->keep->slots;
        run->open &= limits_ask(run, round);
        if (!i32x8_any(run->open)) {
            break;
        }
        any |= run->open;
        if (i32x8_any(before != t->keep->slots)) {
            limits_respond(run, before);
            sides_restore(t);
        }
        limits_balance(run, run->open);
        limits_apply(run);
    }
    return any;
}

/* ---- */

void trees_limits_warm_start(const Trees *t)
{
    for (u32 i = 0; i < limits_stops(t); i++) {
        const TreeStop *stop = stop_at(t, i);
        i32x8 some = stop->impulse != f32x8_set(0.0f);
        if (i32x8_any(some)) {
            stop_push(t, stop, stop->impulse);
            t->keep->struck |= some;
        }
    }
}

/* Adds the moment of a step to those of the tick. */
static void limit_count(TreeLimit *limit)
{
    for (u32 n = 0; n < LIMITS_OF_JOINT; n++) {
        limit->sum = vec3x8_add_scaled(limit->sum, limit->stops[n].impulse, limit->stops[n].about);
    }
}

/* If more are active than there are slots, they are solved in parts, repeatedly. */
void trees_limits_solve(const Trees *t, TreeSolve *solve, i32x8 lanes, bool relax, f32 h)
{
    LimitRun run = {.t = t, .solve = solve};
    if (relax) {
        limits_forget(t);
    }
    for (u32 i = 0; i < t->limit_count; i++) {
        if (relax) {
            limit_follow(t, &t->limits[i]);
        }
        limit_ask(&t->limits[i], relax ? 0.0f : LIMIT_RATE / h, h);
    }
    const i32x8 all = (i32x8){0} + (i32)limits_stops(t);
    i32x8 parts = {0}, left = lanes;
    for (u32 round = 0; round < LIMIT_ROUNDS && i32x8_any(left); round++) {
        i32x8 more = {0};
        run.from = (i32x8){0};
        while (i32x8_any(left)) {
            run.open = left;
            run.end = all;
            run.full = (i32x8){0};
            more |= limits_block(&run);
            left = run.full;
            /* At least one further, also if the first one asks last. */
            i32x8 next = run.from + 1, further = run.end > next;
            run.from = (further & run.end) | (~further & next);
            if (i32x8_any(left)) {
                parts |= left;
                limits_forget_lanes(t, left);
            }
        }
        left = more & parts;
    }
    if (i32x8_any(parts)) {
        limits_forget_lanes(t, parts);
    }
    for (u32 i = 0; i < limits_stops(t); i++) {
        t->keep->struck |= stop_at(t, i)->impulse != f32x8_set(0.0f);
    }
    for (u32 i = 0; i < t->limit_count && relax; i++) {
        limit_count(&t->limits[i]);
    }
}

/* ---- once a tick ---- */

static void limit_fill(const Trees *t, TreeLimit *limit, u32 lane, u32 slot, f32 h)
{
    const Joint *joint = &t->rigid->joints.joints[slot];
    const JointDef *def = &joint->def;
    const JointLoad *load = &joint->load;
    TreeStop *stops = limit->stops;
    f64 sine = 0.0, cosine = 0.0;
    if (!limit->hinge) {
        trig_sincos((f64)def->swing, &sine, &cosine);
    }
    bool locked = def->lower == def->upper;
    limit->some[lane] = -1;
    limit->locked[lane] = locked ? -1 : 0;
    for (u32 n = 0; n < LIMITS_OF_JOINT; n++) {
        lane_set(&stops[n].high, lane, IMPULSE_MOST);
    }
    lane_set(&stops[LIMIT_LOWER].low, lane, locked ? -IMPULSE_MOST : 0.0f);
    lane_set(&limit->lower, lane, def->lower);
    lane_set(&limit->upper, lane, def->upper);
    lane_set(&limit->sine, lane, (f32)sine);
    lane_set(&limit->cosine, lane, (f32)cosine);
    lane_set_quat(&limit->frame_a, lane, def->frame_a);
    lane_set_quat(&limit->frame_b, lane, def->frame_b);
    lane_set(&stops[LIMIT_SWING].impulse, lane, limit->hinge ? 0.0f : load->swing * h);
    lane_set(&stops[LIMIT_LOWER].impulse, lane, load->lower * h);
    lane_set(&stops[LIMIT_UPPER].impulse, lane, locked ? 0.0f : load->upper * h);
}

/* Called when all its lanes are filled. */
static void limit_start(const Trees *t, TreeLimit *limit)
{
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    Quatx8 q = tree_relative(t, limit->place, limit->frame_a, limit->frame_b);
    for (u32 lane = 0; lane < t->lanes; lane++) {
        Quat twist = {.w = lane_read(&q.w, lane), .x = lane_read(&q.x, lane)};
        lane_set(&limit->value, lane, joint_twist(quat_identity(), twist));
    }
    limit->x_a = quatx8_rotate(limit->frame_a, (Vec3x8){one, zero, zero});
    limit->x_b = quatx8_rotate(limit->frame_b, (Vec3x8){one, zero, zero});
    limit->y_a = quatx8_rotate(limit->frame_a, (Vec3x8){zero, one, zero});
    limit->rotation = limit_rotation(t, limit);
}

/* As count_limits does it for the group. */
static void limits_room(const Trees *t, u32 count)
{
    i32 most = (i32)t->slots;
    t->keep->room = (i32x8){0};
    for (u32 i = 0; i < count; i++) {
        const TreeLimit *limit = &t->limits[i];
        t->keep->room -= limit->hinge ? limit->some : 2 * limit->some;
    }
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        i32 room = t->keep->room[lane];
        room = room > LIMIT_SLOTS_MIN ? room : LIMIT_SLOTS_MIN;
        t->keep->room[lane] = room < most ? room : most;
    }
}

void trees_limits_prepare(const Trees *t, const TreeGroup *group, f32 h)
{
    const JointStore *store = &t->rigid->joints;
    u32 count = 0;
    for (u32 i = 0; i < t->count; i++) {
        TreeLimit *limit = &t->limits[count];
        bool any = false;
        for (u32 lane = 0; lane < t->lanes && t->joints[i].links.kind == TREE_POINT; lane++) {
            u32 slot = store->tree_joints[store->trees[group->tree + lane].first + i].joint;
            if (!joint_limits_apart(&store->joints[slot].def)) {
                continue;
            }
            if (!any) {
                memset(limit, 0, sizeof(*limit));
                limit->place = i;
                limit->hinge = store->joints[slot].def.kind == JOINT_HINGE;
                limit->frame_a.w = limit->frame_b.w = f32x8_set(1.0f);
                any = true;
            }
            limit_fill(t, limit, lane, slot, h);
        }
        count += any;
    }
    limits_room(t, count);
    for (u32 i = 0; i < count; i++) {
        TreeLimit *limit = &t->limits[i];
        for (u32 n = 0; n < LIMITS_OF_JOINT; n++) {
            TreeStop *stop = &limit->stops[n];
            stop->place = limit->place;
            stop->used = n != LIMIT_SWING || !limit->hinge;
            stop->response = t->responses + (size_t)(i * LIMITS_OF_JOINT + n) * t->slots;
        }
        limit_start(t, limit);
        limit->axis = limit_axis(t, limit);
        limit_stand(limit, limit->axis);
    }
    limits_forget(t);
}

/* After the tree has stored loads and torques. */
void trees_limits_store(const Trees *t, const TreeGroup *group, f32 tick_s)
{
    const JointStore *store = &t->rigid->joints;
    f32 rate = (f32)t->rigid->substeps / tick_s;
    for (u32 i = 0; i < t->limit_count; i++) {
        const TreeLimit *limit = &t->limits[i];
        for (u32 lane = 0; lane < t->lanes; lane++) {
            u32 first = store->trees[group->tree + lane].first;
            Joint *joint = &store->joints[store->tree_joints[first + limit->place].joint];
            Vec3 sum = lane_vec3(&limit->sum, lane);
            if (limit->some[lane]) {
                joint->load.swing = lane_read(&limit->stops[LIMIT_SWING].impulse, lane) * rate;
                joint->load.lower = lane_read(&limit->stops[LIMIT_LOWER].impulse, lane) * rate;
                joint->load.upper = lane_read(&limit->stops[LIMIT_UPPER].impulse, lane) * rate;
                joint->torque = vec3_add_scaled(joint->torque, 1.0f / tick_s, sum);
            }
        }
    }
}
