/*
 * island.c: bodies that touch or are joined form islands; an island sleeps as one and wakes as one.
 * Static and kinematic bodies do not join islands. Method: union-find over the touching contacts
 * and the joints, rebuilt each tick (cheap beside the solver).
 */
#include "server/physics/rigid/body.h"

void body_wake(Rigid *rigid, u32 slot)
{
    Body *body = &rigid->bodies[slot];
    if ((body->flags & BODY_LIVE) && body->motion == BODY_DYNAMIC) {
        body->flags &= ~(u32)BODY_ASLEEP;
        body->sleep_s = 0.0f;
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

static void islands_build(Rigid *rigid)
{
    u32 *parents = rigid->parents;
    for (u32 i = 0; i < rigid->slots; i++) {
        parents[i] = i;
    }
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (c->flags & CONTACT_TOUCHING) {
            islands_link(rigid, c->a, c->b);
        }
    }
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        u32 a, b;
        if (joint_bodies(rigid, i, &a, &b) && a != JOINT_WORLD && b != JOINT_WORLD) {
            islands_link(rigid, a, b);
        }
    }
}

static bool is_dynamic(const Body *body)
{
    return (body->flags & BODY_LIVE) && body->motion == BODY_DYNAMIC;
}

static bool kinematic_moves(const Rigid *rigid, u32 slot)
{
    const BodyState *state = &rigid->states[slot];
    return rigid->bodies[slot].motion == BODY_KINEMATIC &&
           (vec3_dot(state->velocity, state->velocity) > 0.0f ||
            vec3_dot(state->spin, state->spin) > 0.0f);
}

/* An island with one body awake is awake, and so is what a moving kinematic body touches. */
void island_wake(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (!(c->flags & CONTACT_TOUCHING)) {
            continue;
        }
        if (kinematic_moves(rigid, c->a)) {
            body_wake(rigid, c->b);
        } else if (kinematic_moves(rigid, c->b)) {
            body_wake(rigid, c->a);
        }
    }
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        u32 a, b;
        if (!joint_bodies(rigid, i, &a, &b) || a == JOINT_WORLD || b == JOINT_WORLD) {
            continue;
        }
        if (kinematic_moves(rigid, a)) {
            body_wake(rigid, b);
        } else if (kinematic_moves(rigid, b)) {
            body_wake(rigid, a);
        }
    }
    islands_build(rigid);
    memset(rigid->island_awake, 0, rigid->slots);
    for (u32 i = 0; i < rigid->slots; i++) {
        if (is_dynamic(&rigid->bodies[i]) && body_is_active(&rigid->bodies[i])) {
            rigid->island_awake[root_of(rigid->parents, i)] = 1;
        }
    }
    for (u32 i = 0; i < rigid->slots; i++) {
        Body *body = &rigid->bodies[i];
        if (is_dynamic(body) && (body->flags & BODY_ASLEEP) &&
            rigid->island_awake[root_of(rigid->parents, i)]) {
            body_wake(rigid, i);
        }
    }
}

void island_sleep(Rigid *rigid)
{
    memset(rigid->island_restless, 0, rigid->slots);
    rigid->island_count = 0;
    for (u32 i = 0; i < rigid->grip_count; i++) {
        if (rigid->grips[i].live) {
            rigid->bodies[rigid->grips[i].body.slot].sleep_s = 0.0f;
        }
    }
    for (u32 i = 0; i < rigid->slots; i++) {
        Body *body = &rigid->bodies[i];
        if (!is_dynamic(body) || !body_is_active(body)) {
            continue;
        }
        const BodyState *state = &rigid->states[i];
        bool slow =
            !rigid->def.no_sleep &&
            vec3_length_squared(state->velocity) < RIGID_SLEEP_SPEED_M_S * RIGID_SLEEP_SPEED_M_S &&
            vec3_length_squared(state->spin) < RIGID_SLEEP_SPIN_RAD_S * RIGID_SLEEP_SPIN_RAD_S;
        body->sleep_s = slow ? body->sleep_s + rigid->def.tick_s : 0.0f;
        u32 root = root_of(rigid->parents, i);
        rigid->island_count += root == i;
        if (body->sleep_s < RIGID_SLEEP_S) {
            rigid->island_restless[root] = 1;
        }
    }
    for (u32 i = 0; i < rigid->slots; i++) {
        Body *body = &rigid->bodies[i];
        if (is_dynamic(body) && body_is_active(body) &&
            !rigid->island_restless[root_of(rigid->parents, i)]) {
            body->flags |= BODY_ASLEEP;
            rigid->states[i].velocity = vec3_zero();
            rigid->states[i].spin = vec3_zero();
        }
    }
}
