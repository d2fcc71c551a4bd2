/*
 * heavy.c: finds heavy contacts and the clusters that they form. A contact is heavy if the load of
 * the last tick, or the weight on it if it is new, would compress it by more than a small part of
 * its bodies' size. Loads are propagated downwards from these, since a contact that is stiffened
 * late has been compressed already. Scenes without heavy contacts pay one comparison per contact.
 */
#include "server/physics/rigid/solve/heavy.h"

#include <stdlib.h>

enum {
    STEPS_A_BODY = 16,
    ROWS_GRAIN = 32
};

/* store->uppers: the slot of the upper body, and flags found by a row. */
enum {
    UPPER_SLOT = 0xffff,
    UPPER_NONE = 1 << 16,  /* they are side by side */
    UPPER_SEEDS = 1 << 17, /* its weight may be too much for the bodies below */
    UPPER_HEAVY = 1 << 18, /* CONTACT_HEAVY, between two moving bodies */
    UPPER_BOTH = 1 << 19   /* both move */
};

void heavy_destroy(HeavyStore *store)
{
    if (store == NULL) {
        return;
    }
    void *const arrays[] = {store->contacts,  store->bodies,  store->clusters, store->blocks[0],
                            store->blocks[1], store->parents, store->sizes,    store->places,
                            store->starts,    store->queue,   store->below,    store->uppers,
                            store->loads,     store->lanes};
    for (u32 i = 0; i < PL_COUNT(arrays); i++) {
        free(arrays[i]);
    }
    free(store);
}

/* ---- which contacts ---- */

/* Compression of an ordinary contact between two bodies like the lighter one (m): all contacts
 * of a column with the same load are treated alike. */
static f32 sag_of(const Rigid *rigid, const Contact *c, f32 load)
{
    const f32 phase = 6.2831853f * 0.17f; /* of the contact spring, per substep (solve_prepare.c) */
    f32 h = rigid->def.tick_s / (f32)rigid->substeps;
    f32 inverse = f32_max(rigid->states[c->a].inverse_mass, rigid->states[c->b].inverse_mass);
    return load * inverse * h * h * (2.0f / (phase * phase));
}

/* Smaller half extent of the moving bodies (m). */
static f32 thinner_of(const Rigid *rigid, const Contact *c)
{
    f32 thinner = INFINITY;
    for (u32 side = 0; side < 2; side++) {
        u32 slot = side == 0 ? c->a : c->b;
        if (rigid->states[slot].inverse_mass > 0.0f) {
            thinner = f32_min(thinner, rigid->bodies[slot].inner);
        }
    }
    return thinner;
}

/* Whether a contact of ordinary softness would be compressed by more than a large part of its
 * bodies' size. */
static bool gives_way(const Rigid *rigid, const Contact *c, f32 load, f32 part)
{
    const f32 share = 0.1f;
    return sag_of(rigid, c, load) > part * share * thinner_of(rigid, c);
}

/* Whether the weight (N) on a contact is too large for it: it would be compressed, or the weight is
 * such a multiple of the lighter body's that sweeps cannot propagate it in time. Impulses are used
 * only for the former: those of an impact are as large, and a contact stiffened by it and softened
 * again would bounce forever. */
static bool is_weighed_down(const Rigid *rigid, const Contact *c, f32 weight, f32 gravity)
{
    const f32 times = 20.0f;
    f32 inverse = f32_max(rigid->states[c->a].inverse_mass, rigid->states[c->b].inverse_mass);
    return weight * inverse > times * gravity || gives_way(rigid, c, weight, 1.0f);
}

/* Whether the weight on a contact exceeds the lighter body's so much that the bodies below may
 * be overloaded. */
static bool may_weigh_down(const Rigid *rigid, const Contact *c, f32 weight, f32 gravity)
{
    const f32 times = 3.5f;
    f32 inverse = f32_max(rigid->states[c->a].inverse_mass, rigid->states[c->b].inverse_mass);
    return weight * inverse > times * gravity || gives_way(rigid, c, weight, 1.0f);
}

/* Whether the two touch within this tick. */
static bool will_touch(const Rigid *rigid, u32 contact)
{
    const f32 slack = 0.02f;
    const Contact *c = &rigid->contacts[contact];
    const Manifold *manifold = &rigid->manifolds[rigid->contact_manifolds[contact]];
    Vec3 v = vec3_sub(rigid->states[c->b].velocity, rigid->states[c->a].velocity);
    f32 way = vec3_length(v) * rigid->def.tick_s, nearest = INFINITY;
    for (u32 p = 0; p < manifold->count; p++) {
        nearest = f32_min(nearest, manifold->points[p].separation);
    }
    return nearest <= way + slack * thinner_of(rigid, c);
}

/* Whether the contact would be compressed too much by its load of the last substep (N s) or by
 * the weight on it. may_be: for it or for bodies below it, since loads add up. */
static bool is_heavy(const Rigid *rigid, u32 contact, f32 held, f32 weight, bool *may_be)
{
    const f32 continues = 0.25f;
    const Contact *c = &rigid->contacts[contact];
    f32 rate_hz = (f32)rigid->substeps / rigid->def.tick_s, gravity = rigid->heavy->gravity;
    f32 part = c->flags & CONTACT_HEAVY ? continues : 1.0f;
    bool sinks = gives_way(rigid, c, held * rate_hz, part);
    *may_be = (sinks || may_weigh_down(rigid, c, weight, gravity)) && will_touch(rigid, contact);
    return *may_be && (sinks || is_weighed_down(rigid, c, weight, gravity));
}

/* Data of the search for the contact of a lane; lean: fraction of gravity along its normal,
 * positive if b is above a. Returns whether it, or one below it, may be heavy. */
static bool weigh_lane(Rigid *rigid, const ContactWide *row, u32 lane, f32 lean)
{
    const f32 least = 0.3f;
    HeavyStore *store = rigid->heavy;
    u32 contact = row->contact[lane];
    Contact *c = &rigid->contacts[contact];
    f32 inverse_a = rigid->states[c->a].inverse_mass, inverse_b = rigid->states[c->b].inverse_mass;
    f32 upper = lean > 0.0f ? inverse_b : inverse_a, gravity = store->gravity;
    u32 word = lean > least ? c->b : lean < -least ? c->a : UPPER_NONE;
    bool may_be = false;
    if (inverse_a > 0.0f && inverse_b > 0.0f) {
        if (!row->rotates) {
            f32 weight = gravity * fabsf(lean) / upper;
            bool heavy = is_heavy(rigid, contact, row->held[lane], weight, &may_be);
            c->flags = heavy ? c->flags | CONTACT_HEAVY : c->flags & ~(u32)CONTACT_HEAVY;
        }
        if (word != UPPER_NONE && may_weigh_down(rigid, c, gravity / upper, gravity) &&
            (may_be || will_touch(rigid, contact))) {
            word |= UPPER_SEEDS;
        }
        word |= UPPER_BOTH | (c->flags & CONTACT_HEAVY ? UPPER_HEAVY : 0u);
    }
    store->uppers[contact] = word;
    return may_be;
}

bool heavy_weigh(Rigid *rigid, const ContactWide *row)
{
    bool may_be = false;
    if (!rigid->heavy->searches) {
        return false;
    }
    f32x8 lean = {0};
    if (rigid->heavy->gravity > 0.0f) {
        lean = -vec3x8_dot(row->normal, vec3x8_set(rigid->gravity)) / rigid->heavy->gravity;
    }
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        if (row->contact[lane] != ROW_EMPTY) {
            may_be = weigh_lane(rigid, row, lane, lean[lane]) || may_be;
        }
    }
    return may_be;
}

/* ---- loads from above ---- */

/* Reserves for the capacity of bodies and contacts, so it does not grow with the number of awake
 * bodies. */
static bool reserve_search(Rigid *rigid)
{
    HeavyStore *store = rigid->heavy;
    u32 slots = rigid->def.body_capacity + 2, contacts = rigid->contact_capacity;
    return rigid_reserve(rigid, &store->parents, &store->parent_capacity, slots, sizeof(u32)) &&
           rigid_reserve(rigid, &store->sizes, &store->size_capacity, slots, sizeof(u32)) &&
           rigid_reserve(rigid, &store->places, &store->place_capacity, slots, sizeof(u32)) &&
           rigid_reserve(rigid, &store->starts, &store->start_capacity, slots, sizeof(u32)) &&
           rigid_reserve(rigid, &store->queue, &store->queue_capacity, slots, sizeof(u32)) &&
           rigid_reserve(rigid, &store->loads, &store->load_capacity, slots, sizeof(f32)) &&
           rigid_reserve(rigid, &store->below, &store->below_capacity, contacts, sizeof(u32)) &&
           rigid_reserve(rigid, &store->uppers, &store->upper_capacity, contacts, sizeof(u32)) &&
           rigid_reserve(rigid, &store->lanes, &store->lane_capacity, contacts, sizeof(u8));
}

static bool reserve_blocks(Rigid *rigid, u32 count)
{
    HeavyStore *store = rigid->heavy;
    bool capacity = true;
    for (u32 pass = 0; pass < HEAVY_PASSES && capacity; pass++) {
        capacity = rigid_reserve(rigid, &store->blocks[pass], &store->block_capacity[pass], count,
                                 sizeof(HeavyBlock));
    }
    return capacity;
}

bool heavy_init(Rigid *rigid)
{
    HeavyStore *store = calloc(1, sizeof(HeavyStore));
    rigid->heavy = store;
    return store != NULL && reserve_search(rigid) && reserve_blocks(rigid, 1) &&
           rigid_reserve(rigid, &store->contacts, &store->contact_capacity, 1,
                         sizeof(HeavyContact)) &&
           rigid_reserve(rigid, &store->clusters, &store->cluster_capacity, 1,
                         sizeof(HeavyCluster)) &&
           rigid_reserve(rigid, &store->bodies, &store->body_capacity, 1, sizeof(HeavyBody));
}

static bool moves(const Rigid *rigid, u32 slot)
{
    return rigid->states[slot].inverse_mass > 0.0f;
}

/* Lists by body what it lies on. Contacts of class 0 are in no row. */
static void list_below(Rigid *rigid)
{
    HeavyStore *store = rigid->heavy;
    const u8 *classes = rigid->contact_classes;
    u32 *uppers = store->uppers;
    memset(store->starts, 0, (rigid->slots + 2) * sizeof(u32));
    for (u32 i = 0; i < rigid->contact_count; i++) {
        uppers[i] = classes[i] != 0 ? uppers[i] : UPPER_NONE;
        if (!(uppers[i] & UPPER_NONE)) {
            store->starts[(uppers[i] & UPPER_SLOT) + 2]++;
        }
    }
    for (u32 i = 0; i < rigid->slots; i++) {
        store->starts[i + 2] += store->starts[i + 1];
    }
    for (u32 i = 0; i < rigid->contact_count; i++) {
        if (!(uppers[i] & UPPER_NONE)) {
            store->below[store->starts[(uppers[i] & UPPER_SLOT) + 1]++] = i;
        }
    }
}

/* Bodies whose load has grown and is to be propagated, each once: a ring buffer. */
typedef struct HeavyWaiting {
    u32 first, count;
} HeavyWaiting;

static void load_body(Rigid *rigid, u32 slot, f32 load, HeavyWaiting *waiting)
{
    HeavyStore *store = rigid->heavy;
    u32 *waits = store->sizes;
    if (!moves(rigid, slot) || load <= store->loads[slot]) {
        return;
    }
    store->loads[slot] = load;
    if (!waits[slot]) {
        waits[slot] = 1;
        store->queue[(waiting->first + waiting->count++) % rigid->slots] = slot;
    }
}

/* Propagates the weight on a contact to all contacts below; loads add up and are shared between
 * supports. The number of steps is limited, for cycles of bodies. */
static void follow_loads(Rigid *rigid)
{
    HeavyStore *store = rigid->heavy;
    f32 gravity = store->gravity;
    list_below(rigid);
    HeavyWaiting waiting = {0, 0};
    memset(store->loads, 0, rigid->slots * sizeof(f32));
    memset(store->sizes, 0, rigid->slots * sizeof(u32));
    for (u32 i = 0; i < rigid->contact_count; i++) {
        if (store->uppers[i] & UPPER_SEEDS) {
            const Contact *c = &rigid->contacts[i];
            u32 upper = store->uppers[i] & UPPER_SLOT;
            f32 weight = gravity / rigid->states[upper].inverse_mass;
            load_body(rigid, c->a + c->b - upper, weight, &waiting);
        }
    }
    for (u32 steps = STEPS_A_BODY * rigid->slots; waiting.count > 0 && steps > 0; steps--) {
        u32 slot = store->queue[waiting.first];
        waiting.first = (waiting.first + 1) % rigid->slots;
        waiting.count--;
        store->sizes[slot] = 0;
        f32 load = store->loads[slot] + gravity / rigid->states[slot].inverse_mass;
        u32 supports = 0;
        for (u32 k = store->starts[slot]; k < store->starts[slot + 1]; k++) {
            supports += will_touch(rigid, store->below[k]);
        }
        load /= (f32)u32_max(supports, 1);
        for (u32 k = store->starts[slot]; k < store->starts[slot + 1]; k++) {
            u32 i = store->below[k];
            Contact *c = &rigid->contacts[i];
            if (may_weigh_down(rigid, c, load, gravity) && will_touch(rigid, i)) {
                if (is_weighed_down(rigid, c, load, gravity)) {
                    c->flags |= CONTACT_HEAVY;
                    store->uppers[i] |= store->uppers[i] & UPPER_BOTH ? UPPER_HEAVY : 0u;
                }
                load_body(rigid, c->a + c->b - slot, load, &waiting);
            }
        }
    }
}

/* ---- clusters ---- */

static bool has_heavy(const Rigid *rigid)
{
    u32 found = 0;
    for (u32 i = 0; i < rigid->contact_count; i++) {
        found |= rigid->heavy->uppers[i];
    }
    return found & UPPER_HEAVY;
}

/* Roots are the lowest slots. Jointed bodies are in no cluster: they have their own solvers. */
static void unite_bodies(Rigid *rigid)
{
    HeavyStore *store = rigid->heavy;
    u32 *jointed = store->places;
    for (u32 i = 0; i < rigid->slots; i++) {
        store->parents[i] = i;
        store->sizes[i] = 1;
        jointed[i] = 0;
    }
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        u32 a, b;
        if (joint_bodies(rigid, i, &a, &b)) {
            jointed[a == JOINT_WORLD ? b : a] = jointed[b == JOINT_WORLD ? a : b] = 1;
        }
    }
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (!(store->uppers[i] & UPPER_HEAVY) || jointed[c->a] || jointed[c->b]) {
            continue;
        }
        u32 a = set_root(store->parents, c->a), b = set_root(store->parents, c->b);
        u32 low = u32_min(a, b), high = u32_max(a, b);
        if (low != high && store->sizes[low] + store->sizes[high] <= HEAVY_BODIES) {
            store->parents[high] = low;
            store->sizes[low] += store->sizes[high];
        } else if (low != high) {
            store->sizes[low] = store->sizes[high] = HEAVY_BODIES + 1;
        }
    }
}

/* Numbers clusters of at least two bodies; bodies find their cluster in `starts`. */
static bool list_bodies(Rigid *rigid)
{
    HeavyStore *store = rigid->heavy;
    store->cluster_count = store->body_count = 0;
    for (u32 i = 0; i < rigid->slots; i++) {
        u32 root = set_root(store->parents, i), size = store->sizes[root];
        store->starts[i] = HEAVY_FIXED;
        if (size < 2 || size > HEAVY_BODIES) {
            continue;
        }
        if (root == i) {
            u32 clusters = store->cluster_count + 1;
            if (store->body_count + size > HEAVY_ALL ||
                !rigid_reserve(rigid, &store->clusters, &store->cluster_capacity, clusters,
                               sizeof(HeavyCluster)) ||
                !rigid_reserve(rigid, &store->bodies, &store->body_capacity,
                               store->body_count + size, sizeof(HeavyBody))) {
                store->sizes[root] = 1;
                continue;
            }
            store->clusters[clusters - 1] = (HeavyCluster){.body = store->body_count};
            store->starts[i] = store->cluster_count++;
            store->body_count += size;
        }
        HeavyCluster *cluster = &store->clusters[store->starts[root]];
        store->starts[i] = store->starts[root];
        store->places[i] = cluster->bodies;
        store->bodies[cluster->body + cluster->bodies++].slot = i;
    }
    return store->cluster_count > 0;
}

/* The cluster that solves the contact of a lane, or HEAVY_FIXED. */
static u32 cluster_of(const Rigid *rigid, const ContactWide *row, u32 lane)
{
    const HeavyStore *store = rigid->heavy;
    if (row->rotates || row->contact[lane] == ROW_EMPTY) {
        return HEAVY_FIXED;
    }
    u32 a = row->a[lane], b = row->b[lane], of_a = store->starts[a], of_b = store->starts[b];
    if (of_a == HEAVY_FIXED && of_b == HEAVY_FIXED) {
        return HEAVY_FIXED;
    }
    bool alone = !moves(rigid, a) || !moves(rigid, b);
    u32 cluster = of_a == of_b ? of_a : !alone ? HEAVY_FIXED : moves(rigid, a) ? of_a : of_b;
    return cluster != HEAVY_FIXED && will_touch(rigid, row->contact[lane]) ? cluster : HEAVY_FIXED;
}

/* Lanes of a row solved by clusters, one bit per lane. */
static void lanes_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        u32 lanes = 0;
        for (u32 lane = 0; lane < SIMD_LANES; lane++) {
            lanes |= cluster_of(rigid, &rigid->rows[i], lane) != HEAVY_FIXED ? 1u << lane : 0u;
        }
        rigid->heavy->lanes[i] = (u8)lanes;
    }
}

/* Of a contact solved by a cluster. */
static HeavyCluster *cluster_at(const Rigid *rigid, const ContactWide *row, u32 lane)
{
    const HeavyStore *store = rigid->heavy;
    u32 of_a = store->starts[row->a[lane]];
    return &store->clusters[of_a != HEAVY_FIXED ? of_a : store->starts[row->b[lane]]];
}

/* Allocates and lists the contacts of each cluster. */
static bool list_contacts(Rigid *rigid)
{
    HeavyStore *store = rigid->heavy;
    store->contact_count = 0;
    jobs_run(rigid->jobs, rigid->row_count, ROWS_GRAIN, lanes_range, rigid);
    for (u32 i = 0; i < rigid->row_count; i++) {
        for (u32 left = store->lanes[i]; left != 0; left &= left - 1) {
            cluster_at(rigid, &rigid->rows[i], (u32)__builtin_ctz(left))->contacts++;
            store->contact_count++;
        }
    }
    if (!rigid_reserve(rigid, &store->contacts, &store->contact_capacity, store->contact_count,
                       sizeof(HeavyContact))) {
        return false;
    }
    u32 at = 0;
    for (u32 i = 0; i < store->cluster_count; i++) {
        store->clusters[i].contact = at;
        at += store->clusters[i].contacts;
        store->clusters[i].contacts = 0;
    }
    for (u32 i = 0; i < rigid->row_count; i++) {
        const ContactWide *row = &rigid->rows[i];
        for (u32 left = store->lanes[i]; left != 0; left &= left - 1) {
            u32 lane = (u32)__builtin_ctz(left);
            HeavyCluster *cluster = cluster_at(rigid, row, lane);
            HeavyContact *contact = &store->contacts[cluster->contact + cluster->contacts++];
            memset(contact, 0, sizeof(*contact));
            contact->row = i;
            contact->lane = lane;
            u32 a = row->a[lane], b = row->b[lane];
            contact->sides[0] = moves(rigid, a) ? store->places[a] : HEAVY_FIXED;
            contact->sides[1] = moves(rigid, b) ? store->places[b] : HEAVY_FIXED;
        }
    }
    return true;
}

/* ---- order of elimination ---- */

/* Neighbours of each body of a cluster. */
static void neighbours_of(const HeavyStore *store, const HeavyCluster *cluster, u64 *neighbours)
{
    memset(neighbours, 0, cluster->bodies * sizeof(*neighbours));
    for (u32 i = 0; i < cluster->contacts; i++) {
        const u32 *sides = store->contacts[cluster->contact + i].sides;
        if (sides[0] != HEAVY_FIXED && sides[1] != HEAVY_FIXED) {
            neighbours[sides[0]] |= 1ull << sides[1];
            neighbours[sides[1]] |= 1ull << sides[0];
        }
    }
}

/* The first unvisited one with the fewest neighbours; there may be unvisited bodies left. */
static u32 fewest_neighbours(const u64 *neighbours, u32 count, u64 met)
{
    u32 least = (u32)__builtin_ctzll(~met);
    for (u32 i = least + 1; i < count; i++) {
        if (!(met >> i & 1) &&
            __builtin_popcountll(neighbours[i]) < __builtin_popcountll(neighbours[least])) {
            least = i;
        }
    }
    return least;
}

/* Breadth first from a body with few neighbours: a column is ordered from end to end, and rows
 * of the factor are short (Cuthill and McKee 1969). Indices become those of the order. */
static void order_bodies(HeavyStore *store, HeavyCluster *cluster)
{
    u64 neighbours[HEAVY_BODIES], met = 0;
    u32 order[HEAVY_BODIES], places[HEAVY_BODIES] = {0}, count = 0, slots[HEAVY_BODIES];
    HeavyBody *bodies = &store->bodies[cluster->body];
    neighbours_of(store, cluster, neighbours);
    for (u32 next = 0; count < cluster->bodies; next++) {
        if (next == count) {
            u32 least = fewest_neighbours(neighbours, cluster->bodies, met);
            met |= 1ull << least;
            order[count++] = least;
        }
        for (u64 left = neighbours[order[next]] & ~met; left != 0; left &= left - 1) {
            order[count++] = (u32)__builtin_ctzll(left);
        }
        met |= neighbours[order[next]];
    }
    for (u32 i = 0; i < count; i++) {
        places[order[i]] = i;
        slots[i] = bodies[order[i]].slot;
    }
    for (u32 i = 0; i < count; i++) {
        u32 first = i;
        for (u64 left = neighbours[order[i]]; left != 0; left &= left - 1) {
            first = u32_min(first, places[__builtin_ctzll(left)]);
        }
        bodies[i] = (HeavyBody){.slot = slots[i], .first = first, .block = cluster->blocks};
        cluster->blocks += i - first + 1;
    }
    for (u32 i = 0; i < cluster->contacts; i++) {
        u32 *sides = store->contacts[cluster->contact + i].sides;
        sides[0] = sides[0] == HEAVY_FIXED ? HEAVY_FIXED : places[sides[0]];
        sides[1] = sides[1] == HEAVY_FIXED ? HEAVY_FIXED : places[sides[1]];
    }
}

/* Impulses are f32: the rounding error of the heaviest body's must not move the lightest. */
static bool masses_fit(const Rigid *rigid, const HeavyCluster *cluster)
{
    const f32 most = 1e5f;
    f32 low = INFINITY, high = 0.0f;
    for (u32 i = 0; i < cluster->bodies; i++) {
        f32 inverse = rigid->states[rigid->heavy->bodies[cluster->body + i].slot].inverse_mass;
        low = f32_min(low, inverse);
        high = f32_max(high, inverse);
    }
    return high <= most * low;
}

/* A direct solve allows higher stiffness: all contacts of a cluster are stiffened, since a soft
 * one among stiff ones would be compressed by them. Stiff enough that the weight of the whole
 * cluster compresses them by a small part of the thinnest, and no stiffer: compression below the
 * rounding of positions would be noise. */
static void harden(Rigid *rigid, const HeavyCluster *cluster)
{
    const f32 share = 0.005f, least = 0x1p-16f;
    f32 weight = 0.0f, thinnest = INFINITY, gravity = rigid->heavy->gravity;
    for (u32 i = 0; i < cluster->bodies; i++) {
        u32 slot = rigid->heavy->bodies[cluster->body + i].slot;
        weight += gravity / rigid->states[slot].inverse_mass;
        thinnest = f32_min(thinnest, rigid->bodies[slot].inner);
    }
    for (u32 i = 0; i < cluster->contacts; i++) {
        const HeavyContact *contact = &rigid->heavy->contacts[cluster->contact + i];
        ContactWide *row = &rigid->rows[contact->row];
        u32 lane = contact->lane;
        f32 sag = sag_of(rigid, &rigid->contacts[row->contact[lane]], weight);
        f32 left = f32_max(share * thinnest / f32_max(sag, share * thinnest), least);
        f32 leak = row->impulse_scale[lane] * left;
        row->impulse_scale[lane] = leak;
        row->mass_scale[lane] = 1.0f - leak;
    }
}

static void begin_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        heavy_begin(rigid, &rigid->heavy->clusters[i]);
    }
}

void heavy_begin_search(Rigid *rigid)
{
    rigid->heavy->gravity = vec3_length(rigid->gravity);
    rigid->heavy->cluster_count = rigid->heavy->block_count = 0;
    rigid->heavy->searches = reserve_search(rigid);
}

void heavy_prepare(Rigid *rigid)
{
    HeavyStore *store = rigid->heavy;
    follow_loads(rigid);
    if (!has_heavy(rigid)) {
        return;
    }
    unite_bodies(rigid);
    if (!list_bodies(rigid) || !list_contacts(rigid)) {
        store->cluster_count = 0;
        return;
    }
    u32 kept = 0;
    for (u32 i = 0; i < store->cluster_count; i++) {
        HeavyCluster cluster = store->clusters[i];
        order_bodies(store, &cluster);
        if (cluster.blocks <= HEAVY_BLOCKS && masses_fit(rigid, &cluster)) {
            cluster.block = store->block_count;
            store->block_count += cluster.blocks;
            store->clusters[kept++] = cluster;
        }
    }
    store->cluster_count = kept;
    if (!reserve_blocks(rigid, store->block_count)) {
        store->cluster_count = 0;
        return;
    }
    for (u32 i = 0; i < kept; i++) {
        harden(rigid, &store->clusters[i]);
    }
    jobs_run(rigid->jobs, kept, 1, begin_range, rigid);
}
