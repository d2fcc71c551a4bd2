/*
 * ccd.c: continuous collision detection: bodies that move farther in a tick than they are thick are
 * swept along their motion, to prevent tunnelling. Contacts look ahead only as far as a body is
 * thick (motion_margin), so that bodies that pass an edge are not affected; at the end of the tick
 * the motions of all fast bodies, and of those in their way, are examined again (ccd_flight.c), and
 * a body that would have entered another moves on with it from there. It keeps its velocity: the
 * contact is solved in the next tick. The definition of fast follows Box2D v3 (Catto).
 */
#include "server/physics/rigid/ccd/ccd_flight.h"
#include "server/physics/rigid/ccd/ccd_sweep.h"
#include "shared/math/trig.h"

enum {
    FOLLOW_GRAIN = 128,
    /* Flags in rigid->flights until flights are numbered. */
    FLIGHT_LEFT = 1, /* it has left its bounds in the tree */
    FLIGHT_FAST = 2
};

/* ---- the end of a tick ---- */

/* Maximal distance that any point of a body moved in this tick. */
static f32 motion_of(const Rigid *rigid, u32 slot, f32 reach)
{
    const BodyState *state = &rigid->states[slot];
    return vec3_length(state->shift) + vec3_length(state->rotation) * reach;
}

/* Bounds from the old position to `here`, and on for the next tick's motion, so that the tree
 * need not change then. */
static void widen_bounds(Rigid *rigid, u32 slot, Bounds need, const Bounds *here)
{
    Body *body = &rigid->bodies[slot];
    need = bounds_union(need, rigid->ways[slot]);
    body->fat = bounds_union(need, broad_speculative(rigid, slot, here));
    body->flags |= BODY_MOVED;
}

static bool may_fly(const Body *body)
{
    return shape_is_convex(&body->shape) || body->shape.kind == SHAPE_COMPOUND ||
           body->shape.kind == SHAPE_MESH;
}

/* The tree must contain the current bounds, also for queries between ticks; they were predicted
 * from the velocities at the start. */
static void follow_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        u32 slot = rigid->active[i];
        Body *body = &rigid->bodies[slot];
        f32 reach = body_reach(body);
        f32 motion = motion_of(rigid, slot, reach);
        rigid->flights[slot] = 0;
        bool fast = !rigid->def.no_ccd && motion > FAST_SHARE * body->inner && may_fly(body);
        if (motion <= MOTION_STILL_M && !fast) {
            continue;
        }
        ShapePose pose = body_pose(body);
        Bounds here = shape_bounds(&body->shape, pose.position, pose.orientation), need = here;
        if (fast) {
            Placed placed = placed_of(rigid, slot);
            need = bounds_union(need, placed_bounds(&placed, 0.0f, reach));
        }
        if (!bounds_contain(&body->fat, &need)) {
            widen_bounds(rigid, slot, need, &here);
            rigid->flights[slot] |= FLIGHT_LEFT;
        }
        if (fast) {
            rigid->flights[slot] |= FLIGHT_FAST;
        }
    }
}

/* Whether the two penetrate deeper in this tick. Separating ones are left to their contacts. */
static bool goes_deeper(const Rigid *rigid, const Contact *c, const Manifold *manifold)
{
    const BodyState *a = &rigid->states[c->a], *b = &rigid->states[c->b];
    for (u32 p = 0; p < manifold->count; p++) {
        Vec3 arm = vec3_sub(manifold->points[p].position, rigid->bodies[c->a].position);
        Vec3 way_a = vec3_add(a->shift, vec3_cross(a->rotation, arm));
        Vec3 way_b = vec3_add(b->shift, vec3_cross(b->rotation, vec3_sub(arm, manifold->apart)));
        if (vec3_dot(manifold->normal, vec3_sub(way_b, way_a)) < 0.0f) {
            return true;
        }
    }
    return false;
}

/* Bodies pressed deep into others may creep through them, however slow they are. */
static void add_pressed(Rigid *rigid)
{
    if (rigid->penetration_max <= STOP_M) {
        return;
    }
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (!contact_is_solved(rigid, i)) {
            continue;
        }
        const Manifold *manifold = &rigid->manifolds[rigid->contact_manifolds[i]];
        f32 deepest = 0.0f;
        for (u32 p = 0; p < manifold->count; p++) {
            deepest = f32_max(deepest, -manifold->points[p].separation);
        }
        if (deepest <= STOP_M || !goes_deeper(rigid, c, manifold)) {
            continue;
        }
        const Body *a = &rigid->bodies[c->a], *b = &rigid->bodies[c->b];
        f32 inner = f32_min(a->motion == BODY_STATIC ? INFINITY : a->inner,
                            b->motion == BODY_STATIC ? INFINITY : b->inner);
        if (deepest > THIN_SHARE * inner) {
            flight_press(rigid, c->a, c->b);
        }
    }
}

/* ---- sensors that are passed within the tick ---- */

typedef struct SensorSearch {
    Rigid *rigid;
    Placed placed; /* the fast body, along its final motion */
} SensorSearch;

/* Sensor overlaps at the end of a tick are found in the next one; complete passages are reported
 * here. */
static void passage_visit(void *context, u32 slot)
{
    SensorSearch *search = context;
    Rigid *rigid = search->rigid;
    u32 fast = search->placed.slot;
    bool one = rigid->bodies[fast].sensor != 0, other = rigid->bodies[slot].sensor != 0;
    FlightEnd end = {.fast = false};
    if (slot == fast || one == other || !body_filter(rigid, fast, slot)) {
        return;
    }
    if (rigid->flights[slot] != 0) {
        flight_end(rigid, rigid->flights[slot], &end);
    }
    /* Of two fast bodies the one with the lower slot tests the pair. */
    if (slot < fast && end.fast) {
        return;
    }
    Passing passing = {false, false, false};
    Placed there = placed_of(rigid, slot);
    placed_pass(rigid, &search->placed, &there, &passing);
    u32 a = u32_min(fast, slot), b = u32_max(fast, slot);
    if (passing.between && !passing.before && !passing.after &&
        rigid->overlap_count + 2 <= RIGID_OVERLAPS_MAX) {
        rigid->overlaps[rigid->overlap_count++] = (RigidOverlap){a, b, true};
        rigid->overlaps[rigid->overlap_count++] = (RigidOverlap){a, b, false};
    }
}

static void pass_sensors(Rigid *rigid, u32 slot)
{
    SensorSearch search = {rigid, placed_of(rigid, slot)};
    Bounds way = placed_bounds(&search.placed, 0.0f, body_reach(&rigid->bodies[slot]));
    for (u32 i = 0; i < rigid->plane_count; i++) {
        passage_visit(&search, rigid->planes[i]);
    }
    tree_query(&rigid->fixed, way, passage_visit, &search);
    tree_query(&rigid->moving, way, passage_visit, &search);
}

/* ---- where flights end ---- */

/* The rotation vector from one orientation to another, rad. */
static Vec3 rotation_between(Quat from, Quat to)
{
    Quat d = quat_mul(to, quat_conjugate(from));
    Vec3 v = vec3(d.x, d.y, d.z);
    f32 sine = vec3_length(v), cosine = d.w;
    if (cosine < 0.0f) {
        v = vec3_neg(v);
        cosine = -cosine;
    }
    return sine > 1e-6f ? vec3_scale(v, 2.0f * trig_atan2_f32(sine, cosine) / sine)
                        : vec3_scale(v, 2.0f);
}

/* A body moved back by `way` gets the speed along gravity that it has there: otherwise it would
 * bounce too high or too low by what gravity added on the distance not travelled. This conserves
 * its energy, also if the tick was not free flight; the sign is that of free flight. */
static void put_back(Rigid *rigid, const FlightEnd *end, Vec3 way)
{
    BodyState *state = &rigid->states[end->slot];
    Vec3 gravity = vec3_scale(rigid->gravity, state->gravity_scale);
    f32 g = vec3_length(gravity);
    if (!(g > 0.0f)) {
        return;
    }
    Vec3 down = vec3_scale(gravity, 1.0f / g);
    f32 speed = vec3_dot(state->velocity, down);
    f32 lost_s = (1.0f - end->held) * rigid->def.tick_s;
    f32 there = sqrtf(f32_max(speed * speed + 2.0f * g * vec3_dot(way, down), 0.0f));
    there = speed - lost_s * g < 0.0f ? -there : there;
    state->velocity = vec3_add_scaled(state->velocity, there - speed, down);
}

/* A body rotated back keeps its angular momentum and energy: at the former orientation it had
 * another inertia about its angular velocity. */
static void rotation_back(Rigid *rigid, const FlightEnd *end)
{
    const Body *body = &rigid->bodies[end->slot];
    BodyState *state = &rigid->states[end->slot];
    if (body->flags & BODY_ROUND) {
        return;
    }
    Vec3 angular_velocity = quat_rotate_inverse(body->orientation, state->angular_velocity);
    Vec3 momentum = symmetric_mul(&body->inertia, angular_velocity);
    f32 energy = vec3_dot(angular_velocity, momentum);
    momentum = quat_rotate_inverse(end->orientation, quat_rotate(body->orientation, momentum));
    angular_velocity = symmetric_mul(&body->inverse_inertia, momentum);
    f32 ratio = energy / vec3_dot(angular_velocity, momentum);
    if (ratio > 0.0f && ratio < INFINITY) {
        state->angular_velocity =
            vec3_scale(quat_rotate(end->orientation, angular_velocity), sqrtf(ratio));
    }
}

/* Two bodies that moved on as one have a different relative position than when they were solved:
 * their relative velocity is rotated with the vector between them, which conserves angular
 * momentum as far as possible, and energy. */
static void rotation_ways(Rigid *rigid, u32 one, u32 other)
{
    FlightEnd end_a, end_b;
    bool moved_a = flight_end(rigid, one, &end_a), moved_b = flight_end(rigid, other, &end_b);
    const Body *a = &rigid->bodies[end_a.slot], *b = &rigid->bodies[end_b.slot];
    BodyState *state_a = &rigid->states[end_a.slot], *state_b = &rigid->states[end_b.slot];
    Vec3 before_a = state_a->velocity, before_b = state_b->velocity;
    Vec3 v = vec3_sub(before_b, before_a);
    Vec3 way =
        vec3_sub(moved_b ? end_b.position : b->position, moved_a ? end_a.position : a->position);
    Vec3 momentum = vec3_cross(vec3_sub(b->position, a->position), v);
    f32 apart2 = vec3_length_squared(way), speed2 = vec3_length_squared(v);
    f32 masses = state_a->inverse_mass + state_b->inverse_mass;
    if (!(apart2 > 0.0f && masses > 0.0f)) {
        return;
    }
    Vec3 across = vec3_scale(vec3_cross(momentum, way), 1.0f / apart2);
    f32 across2 = vec3_length_squared(across);
    if (across2 > speed2) {
        across = vec3_scale(across, sqrtf(speed2 / across2));
    }
    f32 along = sqrtf(f32_max(speed2 - across2, 0.0f) / apart2);
    along = vec3_dot(v, way) < 0.0f ? -along : along;
    Vec3 change = vec3_sub(vec3_add_scaled(across, along, way), v);
    change = vec3_scale(change, 1.0f / masses);
    state_a->velocity = vec3_add_scaled(before_a, -state_a->inverse_mass, change);
    state_b->velocity = vec3_add_scaled(before_b, state_b->inverse_mass, change);
    energy_pass(rigid, end_a.slot, before_a);
    energy_pass(rigid, end_b.slot, before_b);
}

/* ---- more than two that moved on as one ---- */

/* Motion of a group about its centre. */
typedef struct GroupMotion {
    Vec3 centre, velocity; /* m, m/s, of all */
    f32 mass;              /* kg */
    Vec3 momentum;      /* kg m²/s about the centre, without gyration of the bodies themselves */
    f32 energy;         /* J, twice, of the motion about the centre */
    Symmetric3 inertia; /* about the centre */
} GroupMotion;

static Vec3 place_after(const Rigid *rigid, u32 index, bool after)
{
    FlightEnd end;
    bool moved = flight_end(rigid, index, &end);
    return after && moved ? end.position : rigid->bodies[end.slot].position;
}

static u32 slot_of(const Rigid *rigid, u32 index)
{
    FlightEnd end;
    flight_end(rigid, index, &end);
    return end.slot;
}

/* World inertia of a body as it was solved. */
static Symmetric3 inertia_of(const Body *body)
{
    return symmetric_rotate(body->orientation, &body->inertia);
}

static void add_inertia(Symmetric3 *sum, const Symmetric3 *own, f32 m, Vec3 r)
{
    f32 r2 = vec3_length_squared(r);
    sum->xx += own->xx + m * (r2 - r.x * r.x);
    sum->yy += own->yy + m * (r2 - r.y * r.y);
    sum->zz += own->zz + m * (r2 - r.z * r.z);
    sum->xy += own->xy - m * r.x * r.y;
    sum->xz += own->xz - m * r.x * r.z;
    sum->yz += own->yz - m * r.y * r.z;
}

/* after: where the flights end, with the velocities as solved. */
static GroupMotion group_motion(const Rigid *rigid, u32 leader, bool after)
{
    GroupMotion group = {0};
    for (u32 i = leader; i != 0; i = flight_next(rigid, i)) {
        u32 slot = slot_of(rigid, i);
        f32 m = rigid->bodies[slot].mass;
        group.mass += m;
        group.centre = vec3_add_scaled(group.centre, m, place_after(rigid, i, after));
        group.velocity = vec3_add_scaled(group.velocity, m, rigid->states[slot].velocity);
    }
    group.centre = vec3_scale(group.centre, 1.0f / group.mass);
    group.velocity = vec3_scale(group.velocity, 1.0f / group.mass);
    for (u32 i = leader; i != 0; i = flight_next(rigid, i)) {
        u32 slot = slot_of(rigid, i);
        f32 m = rigid->bodies[slot].mass;
        Vec3 r = vec3_sub(place_after(rigid, i, after), group.centre);
        Vec3 u = vec3_sub(rigid->states[slot].velocity, group.velocity);
        Vec3 w = rigid->states[slot].angular_velocity;
        Symmetric3 own = inertia_of(&rigid->bodies[slot]);
        Vec3 angular_momentum = symmetric_mul(&own, w);
        group.momentum =
            vec3_add(group.momentum, vec3_add_scaled(angular_momentum, m, vec3_cross(r, u)));
        group.energy += m * vec3_length_squared(u) + vec3_dot(w, angular_momentum);
        add_inertia(&group.inertia, &own, m, r);
    }
    return group;
}

/* Bodies that moved on as one have other relative positions than when they were solved. Their
 * motion is that of one rigid body, by its angular momentum, and the rest: the first gets the
 * angular momentum that they had, and the rest is scaled so that energy is conserved, if it
 * suffices. */
static void rotation_group(Rigid *rigid, u32 leader)
{
    GroupMotion before = group_motion(rigid, leader, false),
                after = group_motion(rigid, leader, true);
    Symmetric3 inverse = symmetric_inverse(&after.inertia);
    Vec3 has = symmetric_mul(&inverse, after.momentum);
    Vec3 gets = symmetric_mul(&inverse, before.momentum);
    f32 rest = after.energy - vec3_dot(has, after.momentum);
    f32 left = before.energy - vec3_dot(gets, before.momentum);
    f32 scale = rest > 1e-6f * before.energy ? sqrtf(f32_max(left, 0.0f) / rest) : 1.0f;
    if (!(left >= 0.0f) || !(scale < 2.0f) || !vec3_is_finite(gets)) {
        return;
    }
    for (u32 i = leader; i != 0; i = flight_next(rigid, i)) {
        u32 slot = slot_of(rigid, i);
        BodyState *state = &rigid->states[slot];
        Vec3 velocity = state->velocity;
        Vec3 r = vec3_sub(place_after(rigid, i, true), after.centre);
        Vec3 other = vec3_sub(vec3_sub(velocity, after.velocity), vec3_cross(has, r));
        Vec3 whole = vec3_add(after.velocity, vec3_cross(gets, r));
        state->velocity = vec3_add_scaled(whole, scale, other);
        state->angular_velocity =
            vec3_add_scaled(gets, scale, vec3_sub(state->angular_velocity, has));
        energy_pass(rigid, slot, velocity);
    }
}

/* ---- the end ---- */

/* Moves a body to the end of its flight; true: it left its bounds in the tree. */
static bool end_flight(Rigid *rigid, const FlightEnd *end)
{
    u32 slot = end->slot;
    Body *body = &rigid->bodies[slot];
    BodyState *state = &rigid->states[slot];
    Mover mover = mover_of(rigid, slot);
    put_back(rigid, end, vec3_sub(end->position, body->position));
    rotation_back(rigid, end);
    body->position = end->position;
    body->orientation = end->orientation;
    state->shift = vec3_sub(end->position, mover.centre);
    state->rotation = rotation_between(mover.orientation, end->orientation);
    ShapePose pose = body_pose(body);
    Bounds here = shape_bounds(&body->shape, pose.position, pose.orientation);
    if (bounds_contain(&body->fat, &here)) {
        return false;
    }
    widen_bounds(rigid, slot, bounds_union(body->fat, here), &here);
    return true;
}

static bool has_sensors(const Rigid *rigid)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        if ((rigid->bodies[i].flags & BODY_LIVE) && rigid->bodies[i].sensor) {
            return true;
        }
    }
    return false;
}

static void end_flights(Rigid *rigid)
{
    FlightEnd end;
    u32 left = 0, count = flight_count(rigid);
    bool sensors = has_sensors(rigid);
    for (u32 i = 1; i < count; i++) {
        u32 partner = flight_partner(rigid, i);
        if (partner != 0) {
            rotation_ways(rigid, i, partner);
        } else if (flight_group(rigid, i) != 0) {
            rotation_group(rigid, i);
        }
    }
    for (u32 i = 1; i < count; i++) {
        if (flight_end(rigid, i, &end) && rigid->bodies[end.slot].motion == BODY_DYNAMIC &&
            end_flight(rigid, &end)) {
            rigid->slot_scratch[left++] = end.slot;
        }
    }
    broad_follow(rigid, rigid->slot_scratch, left);
    for (u32 i = 1; i < count && sensors; i++) {
        flight_end(rigid, i, &end);
        if (end.fast) {
            pass_sensors(rigid, end.slot);
        }
    }
}

void ccd_finish(Rigid *rigid)
{
    jobs_run(rigid->jobs, rigid->active_count, FOLLOW_GRAIN, follow_range, rigid);
    u32 left = 0;
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        if (rigid->flights[slot] & FLIGHT_LEFT) {
            rigid->slot_scratch[left++] = slot;
        }
    }
    broad_follow(rigid, rigid->slot_scratch, left);
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        bool fast = (rigid->flights[slot] & FLIGHT_FAST) != 0;
        rigid->flights[slot] = 0;
        if (fast) {
            flight_add(rigid, slot);
        }
    }
    if (!rigid->def.no_ccd) {
        add_pressed(rigid);
    }
    if (flight_count(rigid) > 0) {
        flight_solve(rigid);
        end_flights(rigid);
        flight_clear(rigid);
    }
}
