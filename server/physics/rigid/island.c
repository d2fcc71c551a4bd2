/*
 * island.c: bodies connected by contacts or joints form islands, which sleep and wake as a whole.
 * Static and kinematic bodies do not join islands. Method: union-find over the touching contacts
 * and the joints, rebuilt each tick (cheap compared to the solver).
 */
#include "server/physics/rigid/rigid_internal.h"

/* The lowest slot of a set is its root, independent of the order of links. */
static void sets_link(u32 *parents, u32 one, u32 other)
{
    u32 a = set_root(parents, one), b = set_root(parents, other);
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
        /* All members that would wake each other, near or not: otherwise two would sleep and wake
         * alternately. */
        if (!(c->flags & CONTACT_SENSOR)) {
            islands_link(rigid, c->a, c->b);
        }
    }
}

u32 island_root(Rigid *rigid, u32 slot)
{
    return set_root(rigid->parents, slot);
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

/* Whether the two push each other, by this tick's manifolds or, if asleep, by the last contacts. */
static bool pair_touches(const Pair *pair)
{
    if (pair->kind & PAIR_SENSOR) {
        return false;
    }
    return pair->new_count != PAIR_STALE ? pair->new_count > 0 : pair->count > 0;
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
        if (pair_touches(pair)) {
            wake_by_kinematic(rigid, pair->a, pair->b);
            islands_link(rigid, pair->a, pair->b);
        }
    }
    memset(rigid->island_awake, 0, rigid->slots);
    for (u32 i = 0; i < rigid->slots; i++) {
        if (is_dynamic(&rigid->bodies[i]) && body_is_active(&rigid->bodies[i])) {
            rigid->island_awake[set_root(rigid->parents, i)] = 1;
        }
    }
    bool woke = false;
    for (u32 i = 0; i < rigid->slots; i++) {
        Body *body = &rigid->bodies[i];
        if (is_dynamic(body) && (body->flags & BODY_ASLEEP) &&
            rigid->island_awake[set_root(rigid->parents, i)]) {
            body_wake(rigid, i);
            woke = true;
        }
    }
    return woke;
}

/* ---- rest ---- */

static const f32 rest_size_part = 0.02f; /* limit relative to the body's size */
static const f32 rest_least_m = CONTACT_REST_LEAST_M;
static const f32 rest_ulps = 0x1p-21f; /* relative to its coordinates: rounding is not motion */

/* Allowed displacement of any point (m). */
static f32 tolerance(const Rigid *rigid, const Body *body, const BodyState *state, f32 reach,
                     bool held)
{
    f32 gravity = vec3_length(rigid->gravity) * fabsf(state->gravity_scale);
    f32 way = f32_min(contact_rest_way(gravity, held), rest_size_part * reach);
    Vec3 at = vec3_abs(body->position);
    return f32_max(way, rest_least_m) + rest_ulps * f32_max(f32_max(at.x, at.y), at.z);
}

/* Maximal displacement of any point of the body from its rest pose (m). */
static f32 way_from_rest(const Body *body, f32 reach)
{
    Quat rotation = quat_mul(body->orientation, quat_conjugate(body->rest_orientation));
    f32 angle = 2.0f * vec3_length(vec3(rotation.x, rotation.y, rotation.z));
    return vec3_distance(body->position, body->rest_position) + angle * reach;
}

static bool contact_pushes(const Contact *c)
{
    return (c->flags & (CONTACT_TOUCHING | CONTACT_SENSOR)) == CONTACT_TOUCHING &&
           c->impulses[0] + c->impulses[1] + c->impulses[2] + c->impulses[3] > 0.0f;
}

/* Finds jointed assemblies supported by something else as well: island_held of their roots. */
static void find_held(Rigid *rigid)
{
    islands_begin(rigid);
    memset(rigid->island_held, 0, rigid->slots);
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (contact_pushes(c)) {
            rigid->island_held[set_root(rigid->parents, c->a)] = 1;
            rigid->island_held[set_root(rigid->parents, c->b)] = 1;
        }
    }
}

/* Updates a body's time at rest: it continues or restarts, and its rest pose is renewed every
 * CONTACT_REST_S, so that of three periods, the maximum counted, one is always complete. */
static void count_body(Body *body, bool rests, f32 tick_s)
{
    const f32 time = CONTACT_REST_S;
    f32 before = body->sleep_s, now = rests ? before + tick_s : 0.0f;
    if (!rests || (before < time && now >= time) || (before < 2.0f * time && now >= 2.0f * time) ||
        now >= 3.0f * time) {
        body->rest_position = body->position;
        body->rest_orientation = body->orientation;
    }
    body->sleep_s = now >= 3.0f * time ? now - time : now;
}

static bool is_tired(const Body *body)
{
    return body->sleep_s >= 2.0f * CONTACT_REST_S;
}

/* Updates the time at rest of each body; true: some could sleep. */
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
        bool held = !joined || rigid->island_held[set_root(rigid->parents, slot)];
        f32 reach = shape_reach(&body->shape);
        f32 most = tolerance(rigid, body, &rigid->states[slot], reach, held);
        count_body(body, way_from_rest(body, reach) <= most, rigid->def.tick_s);
        tired = tired || is_tired(body);
    }
    return tired;
}

/* ---- guests ---- */

static u32 member_count(const Rigid *rigid)
{
    u32 last = rigid->guest_count;
    return last != 0 ? rigid->guest_first[last - 1] + rigid->guests[last - 1]->count : 0;
}

/* Members of all kinds in order: their nodes follow those of the bodies. */
static IslandMember *member_at(const Rigid *rigid, u32 i)
{
    u32 g = 0;
    while (i - rigid->guest_first[g] >= rigid->guests[g]->count) {
        g++;
    }
    return &rigid->guests[g]->members[i - rigid->guest_first[g]];
}

/* While a kind reports its links, members have that kind's own indices. */
static u32 member_node(const Rigid *rigid, u32 member)
{
    return rigid->def.body_capacity + rigid->guest_first[rigid->linking] + member;
}

void rigid_set_island_members(Rigid *rigid, const IslandMembers *members)
{
    u32 before = member_count(rigid), nodes = rigid->def.body_capacity + before + members->count;
    u32 c1 = rigid->node_capacity, c2 = c1, c3 = c1, c4 = c1, c5 = c1;
    bool capacity = rigid_reserve(rigid, &rigid->parents, &c1, nodes, sizeof(u32)) &&
                    rigid_reserve(rigid, &rigid->supports, &c2, nodes, sizeof(u32)) &&
                    rigid_reserve(rigid, &rigid->island_held, &c3, nodes, 1) &&
                    rigid_reserve(rigid, &rigid->island_restless, &c4, nodes, 1) &&
                    rigid_reserve(rigid, &rigid->island_carried, &c5, nodes, 1);
    rigid->node_capacity = capacity ? c1 : rigid->node_capacity;
    if (capacity && rigid->guest_count < RIGID_GUESTS_MAX) {
        rigid->guests[rigid->guest_count] = members;
        rigid->guest_first[rigid->guest_count++] = before;
    }
}

/* Two nodes, one of which supports the other. */
static void support_link(Rigid *rigid, u32 a, u32 b)
{
    u32 one = set_root(rigid->supports, a), other = set_root(rigid->supports, b);
    u8 held = rigid->island_held[one] | rigid->island_held[other];
    sets_link(rigid->supports, one, other);
    rigid->island_held[one] = rigid->island_held[other] = held;
}

void rigid_link_body(Rigid *rigid, u32 member, u32 slot)
{
    u32 node = member_node(rigid, member);
    if (rigid->bodies[slot].motion == BODY_DYNAMIC) {
        sets_link(rigid->parents, node, slot);
        support_link(rigid, node, slot);
        return;
    }
    rigid->island_held[set_root(rigid->supports, node)] = 1;
    if (kinematic_moves(rigid, slot)) {
        member_at(rigid, rigid->guest_first[rigid->linking] + member)->rests = false;
    }
}

void rigid_carry_body(Rigid *rigid, u32 member, u32 slot)
{
    rigid_link_body(rigid, member, slot);
    rigid->island_carried[slot] = 1;
}

void rigid_link_members(Rigid *rigid, u32 member, u32 other)
{
    sets_link(rigid->parents, member_node(rigid, member), member_node(rigid, other));
    support_link(rigid, member_node(rigid, member), member_node(rigid, other));
}

void rigid_hold_up(Rigid *rigid, u32 slot)
{
    rigid->bodies[slot].flags |= BODY_AFLOAT;
}

bool rigid_stirs(const Rigid *rigid, u32 slot)
{
    return body_stirs(rigid, slot);
}

/* ---- sleep ---- */

/* Immovable bodies always support, and are not supported by anything. */
static void hold_up(Rigid *rigid, u32 a, u32 b)
{
    bool a_moves = is_dynamic(&rigid->bodies[a]), b_moves = is_dynamic(&rigid->bodies[b]);
    if (a_moves && b_moves) {
        support_link(rigid, a, b);
    } else if (a_moves || b_moves) {
        rigid->island_held[set_root(rigid->supports, a_moves ? a : b)] = 1;
    }
}

/* Builds the sets connected by touch, and by support. */
static void find_sets(Rigid *rigid)
{
    island_build(rigid);
    memset(rigid->island_restless, 0, rigid->slots);
    memset(rigid->island_carried, 0, rigid->slots);
    for (u32 i = 0; i < rigid->slots; i++) {
        rigid->supports[i] = i;
        rigid->island_held[i] = (rigid->bodies[i].flags & BODY_AFLOAT) != 0;
    }
    for (u32 i = 0; i < member_count(rigid); i++) {
        u32 node = rigid->def.body_capacity + i;
        rigid->parents[node] = rigid->supports[node] = node;
        rigid->island_held[node] = member_at(rigid, i)->held;
        rigid->island_restless[node] = 0;
    }
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        u32 a, b;
        if (!joint_bodies(rigid, i, &a, &b)) {
            continue;
        }
        if (a != JOINT_WORLD && b != JOINT_WORLD) {
            hold_up(rigid, a, b);
        } else if (a != b) {
            rigid->island_held[set_root(rigid->supports, a == JOINT_WORLD ? b : a)] = 1;
        }
    }
    for (u32 i = 0; i < rigid->contact_count; i++) {
        if (contact_pushes(&rigid->contacts[i])) {
            hold_up(rigid, rigid->contacts[i].a, rigid->contacts[i].b);
        }
    }
}

static void keep_awake(Rigid *rigid, u32 node)
{
    rigid->island_restless[set_root(rigid->parents, node)] = 1;
}

/* An island stays awake if one of its members is not at rest, moves with a driven body, or falls
 * slowly because it is not supported. */
static void find_restless(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (!(c->flags & CONTACT_SENSOR) &&
            (kinematic_moves(rigid, c->a) || kinematic_moves(rigid, c->b))) {
            keep_awake(rigid, c->a);
            keep_awake(rigid, c->b);
        }
    }
    bool pulled = vec3_length_squared(rigid->gravity) > 0.0f;
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        const Body *body = &rigid->bodies[slot];
        bool falls = pulled && rigid->states[slot].gravity_scale != 0.0f &&
                     !rigid->island_held[set_root(rigid->supports, slot)];
        if (body->motion == BODY_DYNAMIC &&
            (falls || !(is_tired(body) || rigid->island_carried[slot]))) {
            keep_awake(rigid, slot);
        }
    }
    for (u32 i = 0; i < member_count(rigid); i++) {
        const IslandMember *member = member_at(rigid, i);
        u32 node = rigid->def.body_capacity + i;
        if (member->awake &&
            (!member->rests || (pulled && !rigid->island_held[set_root(rigid->supports, node)]))) {
            keep_awake(rigid, node);
        }
    }
}

static void fall_asleep(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        Body *body = &rigid->bodies[slot];
        if (body->motion == BODY_DYNAMIC &&
            !rigid->island_restless[set_root(rigid->parents, slot)]) {
            body->flags |= BODY_ASLEEP;
            rigid->joints.laid_out = false;
            rigid->states[slot].velocity = vec3_zero();
            rigid->states[slot].angular_velocity = vec3_zero();
            broad_rest(rigid, slot);
        }
    }
    for (u32 i = 0; i < member_count(rigid); i++) {
        IslandMember *member = member_at(rigid, i);
        u32 root = set_root(rigid->parents, rigid->def.body_capacity + i);
        member->sleeps = member->awake && !rigid->island_restless[root];
    }
}

/* No other member shows whether a held or driven one rests. */
static void doubt_carried(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->grab_count; i++) {
        if (rigid->grabs[i].live) {
            rigid->island_carried[rigid->grabs[i].body.slot] = 0;
        }
    }
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        u32 a, b;
        if (joint_bodies(rigid, i, &a, &b)) {
            rigid->island_carried[a != JOINT_WORLD ? a : b] = 0;
            rigid->island_carried[b != JOINT_WORLD ? b : a] = 0;
        }
    }
}

static void find_sleepers(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->grab_count; i++) {
        if (rigid->grabs[i].live) {
            rigid->bodies[rigid->grabs[i].body.slot].sleep_s = 0.0f;
        }
    }
    if (rigid->def.no_sleep) {
        return;
    }
    bool tired = count_rest(rigid);
    for (u32 i = 0; i < member_count(rigid); i++) {
        tired = tired || (member_at(rigid, i)->awake && member_at(rigid, i)->rests);
    }
    if (!tired) {
        return;
    }
    find_sets(rigid);
    for (rigid->linking = 0; rigid->linking < rigid->guest_count; rigid->linking++) {
        rigid->guests[rigid->linking]->link(rigid->guests[rigid->linking]->context);
    }
    doubt_carried(rigid);
    find_restless(rigid);
    fall_asleep(rigid);
}

void island_sleep(Rigid *rigid)
{
    find_sleepers(rigid);
    for (u32 i = 0; i < rigid->active_count; i++) {
        rigid->bodies[rigid->active[i]].flags &= ~(u32)BODY_AFLOAT;
    }
}
