/*
 * solve_joint_ring_blow.c: rings at impacts. Contacts are swept after the joints, one body at a
 * time: the wall of a welded box that hits the ground is stopped, while the other walls move on
 * until the next step, farther than a ball is thick. So where contacts have disturbed the joints of
 * a ring, those are solved again, and then all contacts of its bodies together with them: each
 * contact sees the mass of the whole ring, from its factor ((M + Jᵀ G⁻¹ J)⁻¹, see
 * solve_joint_ring.c), so that neither opens the other. Other bodies respond individually. All
 * rings in impacts are solved together, in the order of the rows of contacts.
 * Method: projected Gauss-Seidel on contacts of articulated bodies (Mirtich, "Impulse-based dynamic
 * simulation of rigid body systems", 1996).
 */
#include "server/physics/rigid/joint/joint_tree.h"
#include "server/physics/rigid/solve/heavy.h"

enum {
    SIX = HEAVY_AXES,
    BLOW_CONTACTS = 1024,   /* further ones are left to the sweeps */
    BLOW_ANSWERS = 1 << 20, /* numbers; likewise */
    /* In ring_places of a body, before it has a number: in a ring at an impact; and touched. */
    PLACE_NONE = 0,
    PLACE_RING,
    PLACE_TOUCHED,
    PLACE_FIRST
};
#define NO_RING 0xffffffffu

/* A lane of a group of rings. */
typedef struct BlowRing {
    u32 group, lane;
    u32 first, touched; /* bodies touched by contacts */
    u32 columns;        /* in responses: [touched][SIX] impulses, [touched][SIX] changes for each */
} BlowRing;

/* Data of a body in `bodies`. */
typedef struct BlowBody {
    u32 ring;  /* NO_RING: it responds individually */
    u32 place; /* index in the ring */
} BlowBody;

/* Changes of the bodies of the rings of both sides per unit impulse of each row, in responses. */
typedef struct BlowContact {
    u32 changes[2];
} BlowContact;

struct RingBlow {
    BlowRing *rings;
    HeavyBody *bodies;
    BlowBody *body_rings; /* parallel to bodies */
    HeavyContact *contacts;
    BlowContact *contact_rings; /* parallel to contacts */
    f64 *responses;
    u32 ring_count, body_count, contact_count, response_count;
    u32 ring_capacity, body_capacity, body_ring_capacity, contact_capacity;
    u32 contact_ring_capacity, response_capacity;
};

bool ring_blow_init(JointStore *store)
{
    store->blow = calloc(1, sizeof(RingBlow));
    return store->blow != NULL;
}

void ring_blow_destroy(RingBlow *blow)
{
    if (blow == NULL) {
        return;
    }
    free(blow->rings);
    free(blow->bodies);
    free(blow->body_rings);
    free(blow->contacts);
    free(blow->contact_rings);
    free(blow->responses);
    free(blow);
}

/* ---- rings in impacts, and their contacts ---- */

static const u32 *bodies_of(const JointStore *store, const BlowRing *ring, u32 *count)
{
    const JointTree *tree = &store->trees[store->tree_groups[ring->group].tree + ring->lane];
    *count = tree->own_count;
    return &store->tree_bodies[tree->body];
}

static bool find_rings(Rigid *rigid, f32 h)
{
    JointStore *store = &rigid->joints;
    RingBlow *blow = store->blow;
    blow->ring_count = 0;
    for (u32 g = 0; g < store->tree_group_count; g++) {
        if (!store->trees[store->tree_groups[g].tree].ring) {
            continue;
        }
        u32 lanes = joint_rings_torn(rigid, &store->tree_groups[g], h);
        for (; lanes != 0; lanes &= lanes - 1) {
            if (!rigid_reserve(rigid, &blow->rings, &blow->ring_capacity, blow->ring_count + 1,
                               sizeof(BlowRing))) {
                return false;
            }
            blow->rings[blow->ring_count++] =
                (BlowRing){.group = g, .lane = (u32)__builtin_ctz(lanes)};
        }
    }
    return blow->ring_count > 0;
}

static void mark_rings(Rigid *rigid, u32 mark)
{
    JointStore *store = &rigid->joints;
    for (u32 i = 0; i < store->blow->ring_count; i++) {
        u32 count;
        const u32 *slots = bodies_of(store, &store->blow->rings[i], &count);
        for (u32 k = 0; k < count; k++) {
            store->ring_places[slots[k]] = mark;
        }
    }
}

static bool body_moves(const Rigid *rigid, u32 slot)
{
    return rigid->states[slot].inverse_mass > 0.0f;
}

/* Contacts of marked bodies. */
static bool find_contacts(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    RingBlow *blow = store->blow;
    u32 *places = store->ring_places;
    blow->contact_count = 0;
    for (u32 i = 0; i < rigid->row_count; i++) {
        const ContactWide *row = &rigid->rows[i];
        for (u32 lane = 0; lane < SIMD_LANES; lane++) {
            u32 slots[2] = {row->a[lane], row->b[lane]};
            bool in_ring = row->contact[lane] != ROW_EMPTY &&
                           (places[slots[0]] != PLACE_NONE || places[slots[1]] != PLACE_NONE);
            if (!in_ring || blow->contact_count == BLOW_CONTACTS) {
                continue;
            }
            u32 count = blow->contact_count + 1;
            if (!rigid_reserve(rigid, &blow->contacts, &blow->contact_capacity, count,
                               sizeof(HeavyContact)) ||
                !rigid_reserve(rigid, &blow->contact_rings, &blow->contact_ring_capacity, count,
                               sizeof(BlowContact))) {
                return false;
            }
            blow->contacts[blow->contact_count++] = (HeavyContact){.row = i, .lane = lane};
            for (u32 side = 0; side < 2; side++) {
                if (places[slots[side]] == PLACE_RING) {
                    places[slots[side]] = PLACE_TOUCHED;
                }
            }
        }
    }
    return blow->contact_count > 0;
}

static bool body_add(Rigid *rigid, u32 slot, u32 ring, u32 place)
{
    RingBlow *blow = rigid->joints.blow;
    u32 count = blow->body_count + 1;
    if (!rigid_reserve(rigid, &blow->bodies, &blow->body_capacity, count, sizeof(HeavyBody)) ||
        !rigid_reserve(rigid, &blow->body_rings, &blow->body_ring_capacity, count,
                       sizeof(BlowBody))) {
        return false;
    }
    HeavyBody *body = &blow->bodies[blow->body_count];
    memset(body, 0, sizeof(*body));
    body->slot = slot;
    heavy_begin_body(rigid, body);
    blow->body_rings[blow->body_count] = (BlowBody){ring, place};
    rigid->joints.ring_places[slot] = PLACE_FIRST + blow->body_count++;
    return true;
}

/* Those of each ring consecutively, then those that respond individually. */
static bool number_bodies(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    RingBlow *blow = store->blow;
    bool capacity = true;
    for (u32 i = 0; i < blow->ring_count; i++) {
        BlowRing *ring = &blow->rings[i];
        u32 count;
        const u32 *slots = bodies_of(store, ring, &count);
        ring->first = blow->body_count;
        for (u32 k = 0; k < count; k++) {
            if (store->ring_places[slots[k]] == PLACE_TOUCHED) {
                capacity = capacity && body_add(rigid, slots[k], i, k);
            }
        }
        ring->touched = blow->body_count - ring->first;
    }
    for (u32 i = 0; i < blow->contact_count; i++) {
        HeavyContact *contact = &blow->contacts[i];
        const ContactWide *row = &rigid->rows[contact->row];
        u32 slots[2] = {row->a[contact->lane], row->b[contact->lane]};
        for (u32 side = 0; side < 2; side++) {
            contact->sides[side] = HEAVY_FIXED;
            if (!body_moves(rigid, slots[side])) {
                continue;
            }
            if (store->ring_places[slots[side]] < PLACE_FIRST) {
                capacity = capacity && body_add(rigid, slots[side], NO_RING, 0);
            }
            contact->sides[side] = store->ring_places[slots[side]] - PLACE_FIRST;
        }
    }
    return capacity;
}

/* ---- responses of rings ---- */

static Trees trees_at(Rigid *rigid, const BlowRing *ring)
{
    return joint_trees_of(rigid, &rigid->joints.tree_groups[ring->group]);
}

/* Reserves `count` more numbers; false: out of memory. */
static bool responses_take(Rigid *rigid, u64 count, u32 *first)
{
    RingBlow *blow = rigid->joints.blow;
    u64 end = blow->response_count + count;
    if (end > BLOW_ANSWERS ||
        !rigid_reserve(rigid, &blow->responses, &blow->response_capacity, (u32)end, sizeof(f64))) {
        return false;
    }
    *first = blow->response_count;
    blow->response_count = (u32)end;
    return true;
}

/* Changes of all touched bodies of a ring per unit impulse and moment at each of them. */
static bool ring_columns(Rigid *rigid, BlowRing *ring)
{
    RingBlow *blow = rigid->joints.blow;
    Trees t = trees_at(rigid, ring);
    u32 size = SIX * ring->touched;
    if (!responses_take(rigid, (u64)size * size, &ring->columns)) {
        return false;
    }
    for (u32 c = 0; c < size; c++) {
        const f64 *moves =
            ring_response(&t, ring->lane, blow->body_rings[ring->first + c / SIX].place, c % SIX);
        f64 *column = &blow->responses[ring->columns + (size_t)c * size];
        for (u32 i = 0; i < ring->touched; i++) {
            memcpy(&column[SIX * i], &moves[SIX * blow->body_rings[ring->first + i].place],
                   SIX * sizeof(f64));
        }
    }
    return true;
}

/* Effect of a side of a contact on the ring of its body. */
static bool side_changes(Rigid *rigid, u32 number, u32 side)
{
    RingBlow *blow = rigid->joints.blow;
    const HeavyContact *contact = &blow->contacts[number];
    u32 body = contact->sides[side];
    if (body == HEAVY_FIXED || blow->body_rings[body].ring == NO_RING) {
        return true;
    }
    const BlowRing *ring = &blow->rings[blow->body_rings[body].ring];
    u32 size = SIX * ring->touched, first;
    if (!responses_take(rigid, (u64)HEAVY_ROWS * size, &first)) {
        return false;
    }
    blow->contact_rings[number].changes[side] = first;
    const f64 *columns =
        &blow->responses[ring->columns + (size_t)(body - ring->first) * SIX * size];
    for (u32 r = 0; r < HEAVY_ROWS; r++) {
        f64 *out = &blow->responses[first + r * size];
        memset(out, 0, size * sizeof(f64));
        for (u32 k = 0; k < SIX && heavy_has_row(rigid, contact, r); k++) {
            f64 s = contact->speeds[r][side][k];
            for (u32 i = 0; i < size; i++) {
                out[i] += s * columns[k * size + i];
            }
        }
    }
    return true;
}

/* Applies an impulse along a row: for rings to all connected bodies. */
static void move_row(const HeavySweep *sweep, const HeavyContact *contact, u32 r, f64 impulse)
{
    const RingBlow *blow = sweep->context;
    const BlowContact *own = &blow->contact_rings[contact - blow->contacts];
    for (u32 side = 0; side < 2; side++) {
        u32 body = contact->sides[side];
        if (body == HEAVY_FIXED || blow->body_rings[body].ring == NO_RING) {
            heavy_move_side(sweep->bodies, contact, r, side, impulse);
            continue;
        }
        const BlowRing *ring = &blow->rings[blow->body_rings[body].ring];
        const f64 *changes = &blow->responses[own->changes[side] + SIX * ring->touched * r];
        for (u32 i = 0; i < ring->touched; i++) {
            f64 *change = sweep->bodies[ring->first + i].change;
            for (u32 k = 0; k < SIX; k++) {
                change[k] += changes[SIX * i + k] * impulse;
            }
        }
    }
}

/* Undoes move_row if nothing else has moved. */
static void still_rings(const RingBlow *blow, const HeavyContact *contact)
{
    for (u32 side = 0; side < 2; side++) {
        u32 body = contact->sides[side], first = body, count = 1;
        if (body == HEAVY_FIXED) {
            continue;
        }
        if (blow->body_rings[body].ring != NO_RING) {
            first = blow->rings[blow->body_rings[body].ring].first;
            count = blow->rings[blow->body_rings[body].ring].touched;
        }
        for (u32 i = 0; i < count; i++) {
            memset(blow->bodies[first + i].change, 0, sizeof(blow->bodies[first + i].change));
        }
    }
}

/* What exceeds the limits is left to the sweeps. */
static void contact_responses(Rigid *rigid, const HeavySweep *sweep)
{
    RingBlow *blow = rigid->joints.blow;
    for (u32 i = 0; i < blow->contact_count; i++) {
        HeavyContact *contact = &blow->contacts[i];
        heavy_begin_contact(rigid, blow->bodies, contact);
        if (!side_changes(rigid, i, 0) || !side_changes(rigid, i, 1)) {
            blow->contact_count = i;
            return;
        }
    }
    for (u32 i = 0; i < blow->contact_count; i++) {
        HeavyContact *contact = &blow->contacts[i];
        for (u32 r = 0; r < HEAVY_ROWS; r++) {
            if (heavy_has_row(rigid, contact, r)) {
                move_row(sweep, contact, r, 1.0);
                contact->response[r] = heavy_speed(blow->bodies, contact, r);
                still_rings(blow, contact);
            }
        }
    }
}

/* ---- the solve ---- */

static void solve_rings(Rigid *rigid, f32 h)
{
    const RingBlow *blow = rigid->joints.blow;
    for (u32 i = 0, end; i < blow->ring_count; i = end) {
        u32 group = blow->rings[i].group, lanes = 0;
        for (end = i; end < blow->ring_count && blow->rings[end].group == group; end++) {
            lanes |= blow->rings[end].touched > 0 ? 1u << blow->rings[end].lane : 0;
        }
        if (lanes != 0) {
            joint_rings_solve(rigid, &rigid->joints.tree_groups[group], lanes, h);
        }
    }
}

static void solve_contacts(Rigid *rigid, f32 h)
{
    RingBlow *blow = rigid->joints.blow;
    blow->response_count = 0;
    for (u32 i = 0; i < blow->ring_count; i++) {
        if (!ring_columns(rigid, &blow->rings[i])) {
            return;
        }
    }
    HeavySweep sweep = {blow->bodies, blow->contacts, 0, move_row, blow};
    contact_responses(rigid, &sweep);
    sweep.count = blow->contact_count;
    solve_rings(rigid, h);
    for (u32 i = 0; i < blow->contact_count; i++) {
        heavy_ask(rigid, &blow->contacts[i], HEAVY_PUSH);
    }
    heavy_sweep(rigid, &sweep);
    heavy_store(rigid, blow->bodies, blow->body_count, blow->contacts, blow->contact_count);
    solve_rings(rigid, h);
}

void joint_ring_blows(Rigid *rigid, f32 h)
{
    JointStore *store = &rigid->joints;
    if (store->live == 0 || !find_rings(rigid, h)) {
        return;
    }
    RingBlow *blow = store->blow;
    mark_rings(rigid, PLACE_RING);
    blow->body_count = 0;
    if (find_contacts(rigid) && number_bodies(rigid)) {
        solve_contacts(rigid, h);
    }
    mark_rings(rigid, PLACE_NONE);
    for (u32 i = 0; i < blow->body_count; i++) {
        store->ring_places[blow->bodies[i].slot] = PLACE_NONE;
    }
}
