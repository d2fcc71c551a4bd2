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

/* The lowest slot of an island is its root, whatever the order of the links. */
static void islands_link(Rigid *rigid, u32 one, u32 other)
{
    if (rigid->bodies[one].motion != BODY_DYNAMIC || rigid->bodies[other].motion != BODY_DYNAMIC) {
        return;
    }
    u32 a = root_of(rigid->parents, one), b = root_of(rigid->parents, other);
    if (a < b) {
        rigid->parents[b] = a;
    } else {
        rigid->parents[a] = b;
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

/* Small bodies may turn faster, as long as none of their points moves fast by it: a hand that
 * creeps about its own axis kept a whole figure awake. */
static bool is_slow(const Body *body, const BodyState *state)
{
    const f32 speed2 = RIGID_SLEEP_SPEED_M_S * RIGID_SLEEP_SPEED_M_S;
    const f32 spin2 = RIGID_SLEEP_SPIN_RAD_S * RIGID_SLEEP_SPIN_RAD_S;
    if (!(vec3_length_squared(state->velocity) < speed2)) {
        return false;
    }
    f32 turning2 = vec3_length_squared(state->spin);
    if (turning2 < spin2 || body->motion != BODY_DYNAMIC) {
        return turning2 < spin2;
    }
    f32 reach = shape_reach(&body->shape);
    return turning2 * reach * reach < RIGID_SLEEP_TURN_M_S * RIGID_SLEEP_TURN_M_S;
}

/* Counts how long each body has been slow; true: some could sleep. */
static bool count_slow(Rigid *rigid)
{
    bool tired = false;
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        Body *body = &rigid->bodies[slot];
        bool slow = is_slow(body, &rigid->states[slot]);
        body->sleep_s = slow ? body->sleep_s + rigid->def.tick_s : 0.0f;
        tired = tired || (body->motion == BODY_DYNAMIC && body->sleep_s >= RIGID_SLEEP_S);
    }
    return tired;
}

void island_sleep(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->grip_count; i++) {
        if (rigid->grips[i].live) {
            rigid->bodies[rigid->grips[i].body.slot].sleep_s = 0.0f;
        }
    }
    if (rigid->def.no_sleep || !count_slow(rigid)) {
        return;
    }
    island_build(rigid);
    memset(rigid->island_restless, 0, rigid->slots);
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        const Body *body = &rigid->bodies[slot];
        if (body->motion == BODY_DYNAMIC && body->sleep_s < RIGID_SLEEP_S) {
            rigid->island_restless[root_of(rigid->parents, slot)] = 1;
        }
    }
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
