/*
 * island.c: bodies that touch or are joined form islands; an island sleeps as one and wakes as one.
 * Static and kinematic bodies do not join islands. Method: union-find over the touching contacts
 * and the joints, rebuilt each tick (cheap beside the solver).
 */
#include "server/physics/rigid/body.h"

void body_wake(Rigid *rigid, u32 slot)
{
    Body *body = &rigid->bodies[slot];
    if (!(body->flags & BODY_LIVE) || body->motion != BODY_DYNAMIC) {
        return;
    }
    body->sleep_s = 0.0f;
    rigid->stirred = true;
    if (body->flags & BODY_ASLEEP) {
        /* Particles may push it before the next tick lists it. */
        body->flags &= ~(u32)BODY_ASLEEP;
        rigid->joints.laid_out = false;
        rigid->states[slot].shift = vec3_zero();
        rigid->states[slot].turn = vec3_zero();
        rigid->inertias[slot] = symmetric_rotate(body->orientation, &body->inverse_inertia);
    }
}

static u32 root_of(u32 *parents, u32 slot)
{
    while (parents[slot] != slot) {
        parents[slot] = parents[parents[slot]];
        slot = parents[slot];
    }
    return slot;
}

/* The lowest slot of a set is its root, whatever the order of the links. */
static void sets_link(u32 *parents, u32 one, u32 other)
{
    u32 a = root_of(parents, one), b = root_of(parents, other);
    if (a < b) {
        parents[b] = a;
    } else {
        parents[a] = b;
    }
}

static void islands_link(Rigid *rigid, u32 one, u32 other)
{
    if (rigid->bodies[one].motion == BODY_DYNAMIC && rigid->bodies[other].motion == BODY_DYNAMIC) {
        sets_link(rigid->parents, one, other);
    }
}

static void islands_begin(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        rigid->parents[i] = i;
    }
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        u32 a, b;
        if (joint_bodies(rigid, i, &a, &b) && a != JOINT_WORLD && b != JOINT_WORLD) {
            islands_link(rigid, a, b);
        }
    }
}

void island_build(Rigid *rigid)
{
    islands_begin(rigid);
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if ((c->flags & (CONTACT_TOUCHING | CONTACT_SENSOR)) == CONTACT_TOUCHING) {
            islands_link(rigid, c->a, c->b);
        }
    }
}

u32 island_root(Rigid *rigid, u32 slot)
{
    return root_of(rigid->parents, slot);
}

static bool is_dynamic(const Body *body)
{
    return (body->flags & BODY_LIVE) && body->motion == BODY_DYNAMIC;
}

static void wake_by_kinematic(Rigid *rigid, u32 a, u32 b)
{
    if (kinematic_moves(rigid, a)) {
        body_wake(rigid, b);
    } else if (kinematic_moves(rigid, b)) {
        body_wake(rigid, a);
    }
}

/* Do the two push each other, by the manifolds of this tick or, asleep, by the last contacts? */
static bool pair_touches(const Rigid *rigid, const Pair *pair)
{
    if (pair->kind & PAIR_SENSOR) {
        return false;
    }
    if (pair->fresh != PAIR_STALE) {
        return pair->fresh > 0;
    }
    for (u32 i = 0; i < pair->count; i++) {
        if (rigid->contacts[pair->first + i].flags & CONTACT_TOUCHING) {
            return true;
        }
    }
    return false;
}

bool island_wake(Rigid *rigid)
{
    if (rigid->asleep_count == 0) {
        return false;
    }
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        u32 a, b;
        if (joint_bodies(rigid, i, &a, &b) && a != JOINT_WORLD && b != JOINT_WORLD) {
            wake_by_kinematic(rigid, a, b);
        }
    }
    islands_begin(rigid);
    for (u32 i = 0; i < rigid->pair_count; i++) {
        const Pair *pair = &rigid->pairs[i];
        if (pair_touches(rigid, pair)) {
            wake_by_kinematic(rigid, pair->a, pair->b);
            islands_link(rigid, pair->a, pair->b);
        }
    }
    memset(rigid->island_awake, 0, rigid->slots);
    for (u32 i = 0; i < rigid->slots; i++) {
        if (is_dynamic(&rigid->bodies[i]) && body_is_active(&rigid->bodies[i])) {
            rigid->island_awake[root_of(rigid->parents, i)] = 1;
        }
    }
    bool woke = false;
    for (u32 i = 0; i < rigid->slots; i++) {
        Body *body = &rigid->bodies[i];
        if (is_dynamic(body) && (body->flags & BODY_ASLEEP) &&
            rigid->island_awake[root_of(rigid->parents, i)]) {
            body_wake(rigid, i);
            woke = true;
        }
    }
    return woke;
}

/* ---- sleep ---- */

/*
 * Speed alone does not tell rest: what begins to slide, to fall or to tip is slow, and so is a
 * pendulum where it turns. At rest is what stays where it is for a time in which the least
 * acceleration that matters, this share of gravity, would have moved it away, also if it happened
 * to turn around in between; and that something holds up against gravity.
 */
static const f32 rest_share = 1.0f / 1500.0f;
/* What hangs on joints and touches nothing swings with what energy it has. */
static const f32 swing_share = 1.0f / 20000.0f;
static const f32 rest_gravity_m_s2 = 9.81f; /* more of it makes nothing rest sooner */
static const f32 rest_size_part = 0.02f;    /* of the body's size, at most */
static const f32 rest_least_m = 2e-6f;
static const f32 rest_ulps = 0x1p-21f; /* of its coordinates: rounding is no motion */

/* How far any point may go (m). */
static f32 tolerance(const Rigid *rigid, const Body *body, const BodyState *state, f32 reach,
                     bool held)
{
    f32 gravity = vec3_length(rigid->gravity) * fabsf(state->gravity_scale);
    f32 least = (held ? rest_share : swing_share) * f32_min(gravity, rest_gravity_m_s2);
    f32 way = 0.5f * least * RIGID_SLEEP_S * RIGID_SLEEP_S;
    Vec3 at = vec3_abs(body->position);
    f32 rounding = rest_ulps * f32_max(f32_max(at.x, at.y), at.z);
    return f32_max(f32_min(way, rest_size_part * reach), rest_least_m + rounding);
}

/* How far a point of the body may be from where it was (m). */
static f32 way_from_rest(const Body *body, f32 reach)
{
    Quat turn = quat_mul(body->orientation, quat_conjugate(body->rest_orientation));
    f32 angle = 2.0f * vec3_length(vec3(turn.x, turn.y, turn.z));
    return vec3_distance(body->position, body->rest_position) + angle * reach;
}

static bool contact_pushes(const Contact *c)
{
    return (c->flags & (CONTACT_TOUCHING | CONTACT_SENSOR)) == CONTACT_TOUCHING &&
           c->impulses[0] + c->impulses[1] + c->impulses[2] + c->impulses[3] > 0.0f;
}

/* Which assemblies of joined bodies something else holds, too: island_held of their roots. */
static void find_held(Rigid *rigid)
{
    islands_begin(rigid);
    memset(rigid->island_held, 0, rigid->slots);
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (contact_pushes(c)) {
            rigid->island_held[root_of(rigid->parents, c->a)] = 1;
            rigid->island_held[root_of(rigid->parents, c->b)] = 1;
        }
    }
}

/* Counts how long each body has been at rest, up to three times RIGID_SLEEP_S; true: some could
 * sleep. At each full time its place is taken anew. */
static bool count_rest(Rigid *rigid)
{
    bool tired = false, joined = rigid->joints.slots > 0;
    if (joined) {
        find_held(rigid);
    }
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        Body *body = &rigid->bodies[slot];
        if (body->motion != BODY_DYNAMIC) {
            continue;
        }
        bool held = !joined || rigid->island_held[root_of(rigid->parents, slot)];
        f32 reach = shape_reach(&body->shape), before = body->sleep_s;
        f32 most = tolerance(rigid, body, &rigid->states[slot], reach, held);
        bool rests = way_from_rest(body, reach) <= most;
        body->sleep_s = rests ? before + rigid->def.tick_s : 0.0f;
        if (!rests || (before < RIGID_SLEEP_S && body->sleep_s >= RIGID_SLEEP_S) ||
            (before < 2.0f * RIGID_SLEEP_S && body->sleep_s >= 2.0f * RIGID_SLEEP_S) ||
            body->sleep_s >= 3.0f * RIGID_SLEEP_S) {
            body->rest_position = body->position;
            body->rest_orientation = body->orientation;
        }
        if (body->sleep_s >= 3.0f * RIGID_SLEEP_S) {
            body->sleep_s -= RIGID_SLEEP_S;
        }
        tired = tired || body->sleep_s >= 2.0f * RIGID_SLEEP_S;
    }
    return tired;
}

/* What is not yet at rest, or goes along with a body that moves by itself, keeps its island awake;
 * true: there is an island without such. */
static bool find_restless(Rigid *rigid)
{
    island_build(rigid);
    memset(rigid->island_restless, 0, rigid->slots);
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (!(c->flags & CONTACT_SENSOR) &&
            (kinematic_moves(rigid, c->a) || kinematic_moves(rigid, c->b))) {
            rigid->island_restless[root_of(rigid->parents, c->a)] = 1;
            rigid->island_restless[root_of(rigid->parents, c->b)] = 1;
        }
    }
    bool calm = false;
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i], root = root_of(rigid->parents, slot);
        const Body *body = &rigid->bodies[slot];
        if (body->motion == BODY_DYNAMIC && body->sleep_s < 2.0f * RIGID_SLEEP_S) {
            rigid->island_restless[root] = 1;
        }
    }
    for (u32 i = 0; i < rigid->active_count && !calm; i++) {
        u32 slot = rigid->active[i];
        calm = rigid->bodies[slot].motion == BODY_DYNAMIC &&
               !rigid->island_restless[root_of(rigid->parents, slot)];
    }
    return calm;
}

/* One holds the other up; what does not move holds up for certain. */
static void support_link(Rigid *rigid, u32 a, u32 b)
{
    bool a_moves = a != JOINT_WORLD && rigid->bodies[a].motion == BODY_DYNAMIC;
    bool b_moves = b != JOINT_WORLD && rigid->bodies[b].motion == BODY_DYNAMIC;
    if (a_moves && b_moves) {
        u32 one = root_of(rigid->supports, a), other = root_of(rigid->supports, b);
        sets_link(rigid->supports, one, other);
        rigid->island_held[one] = rigid->island_held[other] |= rigid->island_held[one];
    } else if (a_moves || b_moves) {
        rigid->island_held[root_of(rigid->supports, a_moves ? a : b)] = 1;
    }
}

/* What only falls slowly is not at rest: an island of which gravity pulls a body that nothing holds
 * up stays awake. */
static void find_falling(Rigid *rigid)
{
    memset(rigid->island_held, 0, rigid->slots);
    for (u32 i = 0; i < rigid->slots; i++) {
        rigid->supports[i] = i;
    }
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        u32 a, b;
        if (joint_bodies(rigid, i, &a, &b)) {
            support_link(rigid, a, b);
        }
    }
    for (u32 i = 0; i < rigid->contact_count; i++) {
        if (contact_pushes(&rigid->contacts[i])) {
            support_link(rigid, rigid->contacts[i].a, rigid->contacts[i].b);
        }
    }
    f32 gravity2 = vec3_length_squared(rigid->gravity);
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        if (rigid->bodies[slot].motion == BODY_DYNAMIC && gravity2 > 0.0f &&
            rigid->states[slot].gravity_scale != 0.0f &&
            !rigid->island_held[root_of(rigid->supports, slot)]) {
            rigid->island_restless[root_of(rigid->parents, slot)] = 1;
        }
    }
}

void island_sleep(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->grip_count; i++) {
        if (rigid->grips[i].live) {
            rigid->bodies[rigid->grips[i].body.slot].sleep_s = 0.0f;
        }
    }
    if (rigid->def.no_sleep || !count_rest(rigid) || !find_restless(rigid)) {
        return;
    }
    find_falling(rigid);
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        Body *body = &rigid->bodies[slot];
        if (body->motion == BODY_DYNAMIC &&
            !rigid->island_restless[root_of(rigid->parents, slot)]) {
            body->flags |= BODY_ASLEEP;
            rigid->joints.laid_out = false;
            rigid->states[slot].velocity = vec3_zero();
            rigid->states[slot].spin = vec3_zero();
            broad_rest(rigid, slot);
        }
    }
}
