/*
 * collide.c: the narrow phase of all pairs, and the contacts of a tick, which inherit the impulses
 * of the last. Each pair writes only its own data, so any distribution over threads gives the same
 * bits.
 */
#include "server/physics/rigid/rigid_internal.h"

#include <stdatomic.h>

enum {
    PAIR_GRAIN = 32
};

/* ---- narrow phase ---- */

/* Pairs and contacts are both sorted: links each pair to its contacts of the last tick. */
static void contacts_find(Rigid *rigid)
{
    u32 c = 0;
    for (u32 i = 0; i < rigid->pair_count; i++) {
        Pair *pair = &rigid->pairs[i];
        while (c < rigid->contact_count &&
               (rigid->contacts[c].a < pair->a ||
                (rigid->contacts[c].a == pair->a && rigid->contacts[c].b < pair->b))) {
            contact_lost(rigid, c++);
        }
        pair->first = c;
        while (c < rigid->contact_count && rigid->contacts[c].a == pair->a &&
               rigid->contacts[c].b == pair->b) {
            c++;
        }
        pair->count = (u8)(c - pair->first);
    }
    while (c < rigid->contact_count) {
        contact_lost(rigid, c++);
    }
}

/* ---- pairs, span by span ---- */

static u32 manifolds_most(const Pair *pair)
{
    return pair->kind & PAIR_MANY ? MANIFOLDS_MAX : 1;
}

static void span_capacity_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 s = first; s < end; s++) {
        PairSpan span = {0};
        for (u32 i = span_begin(s); i < span_end(rigid, s); i++) {
            u32 most = manifolds_most(&rigid->pairs[i]);
            bool recycled = rigid->pairs[i].kind & PAIR_RECYCLED;
            span.manifolds += most;
            span.recycled += recycled;
            span.recycled_manifolds += recycled ? most : 0;
        }
        rigid->spans[s] = span;
    }
}

static void link_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 s = first; s < end; s++) {
        PairSpan span = rigid->spans[s];
        for (u32 i = span_begin(s); i < span_end(rigid, s); i++) {
            Pair *pair = &rigid->pairs[i];
            u32 most = manifolds_most(pair);
            pair->new_count = PAIR_STALE;
            pair->output = span.manifolds;
            span.manifolds += most;
            if (pair->kind & PAIR_RECYCLED) {
                recycle_link(rigid, pair, span.recycled++, span.recycled_manifolds);
                span.recycled_manifolds += most;
            }
        }
    }
}

/* Assigns each pair its range of manifolds. */
static bool link_pairs(Rigid *rigid)
{
    u32 spans = span_count(rigid);
    if (rigid->unlinked) {
        contacts_find(rigid);
        recycle_find(rigid);
        rigid->unlinked = false;
    }
    if (!spans_reserve(rigid)) {
        return false;
    }
    jobs_run(rigid->jobs, spans, 1, span_capacity_range, rigid);
    PairSpan sum = {0};
    for (u32 s = 0; s < spans; s++) {
        PairSpan *span = &rigid->spans[s];
        span_place(&span->manifolds, &sum.manifolds);
        span_place(&span->recycled, &sum.recycled);
        span_place(&span->recycled_manifolds, &sum.recycled_manifolds);
    }
    if (!recycle_begin(rigid, sum.recycled, sum.recycled_manifolds) ||
        !rigid_reserve(rigid, &rigid->manifolds, &rigid->manifold_capacity, sum.manifolds,
                       sizeof(Manifold))) {
        return false;
    }
    jobs_run(rigid->jobs, spans, 1, link_range, rigid);
    return true;
}

/* Fast bodies whose contact is beyond the margin. */
static void pair_speculative(Rigid *rigid, Pair *pair)
{
    u32 count = ccd_speculative(rigid, pair->a, pair->b, rigid->def.tick_s, manifolds_most(pair),
                                &rigid->manifolds[pair->output]);
    pair->new_count = (u8)count;
    if (count > 0 && (pair->kind & PAIR_RECYCLED)) {
        rigid->recyclings[pair->recycled].kept = false;
    }
}

static void narrow_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        Pair *pair = &rigid->pairs[i];
        const Body *a = &rigid->bodies[pair->a], *b = &rigid->bodies[pair->b];
        if (pair->new_count != PAIR_STALE ||
            (!body_stirs(rigid, pair->a) && !body_stirs(rigid, pair->b))) {
            continue;
        }
        if (!(pair->kind & PAIR_ENDLESS) &&
            !bounds_overlap(&rigid->ways[pair->a], &rigid->ways[pair->b])) {
            pair->new_count = 0;
            if (pair->kind & PAIR_RECYCLED) {
                rigid->recyclings[pair->recycled].kept = false;
            }
            continue;
        }
        Manifold *manifolds = &rigid->manifolds[pair->output];
        u32 most = manifolds_most(pair);
        f32 margin = pair->kind & PAIR_SENSOR ? 0.0f : motion_margin(rigid, pair->a, pair->b);
        if (pair->kind & PAIR_RECYCLED) {
            pair->new_count = (u8)recycle_collide(rigid, pair, margin, most, manifolds);
        } else {
            ShapePose pose_a = body_pose(a), pose_b = body_pose(b);
            if (rigid->overlaps_deeply) {
                Vec3 apart = vec3_sub(pose_b.position, pose_a.position);
                Vec3 way = deep_overlap_apart(rigid, pair->a, pair->b, apart);
                pose_b.position = vec3_add(pose_b.position, vec3_sub(way, apart));
            }
            pair->new_count = (u8)manifold_collide(&pose_a, &pose_b, margin, manifolds, most);
            for (u32 m = 0; m < pair->new_count; m++) {
                manifolds[m].apart = vec3_sub(b->position, a->position);
            }
        }
        if (pair->new_count == 0 && ((a->flags | b->flags) & BODY_FLIES) &&
            !(pair->kind & PAIR_SENSOR)) {
            pair_speculative(rigid, pair);
        }
    }
}

/* ---- contacts of this tick ---- */

typedef struct ContactFill {
    Rigid *rigid;
    const Contact *before;
    _Atomic u32 depth_bits; /* of the deepest overlap: non-negative floats sort like their bits */
    _Atomic u32 touching;
} ContactFill;

/* The friction impulse of a manifold is inherited by the first contact that shares a point with
 * it. */
static void inherit_friction(Contact *contact, const Contact *old)
{
    contact->friction_impulse = old->friction_impulse;
    contact->twist_impulse = old->twist_impulse;
    contact->rolling_impulse = old->rolling_impulse;
}

/* Impulses of points with a matching feature are inherited. If a single contact's other features
 * changed (as for exactly stacked equal boxes, by noise), the remaining impulse is distributed
 * over the new points, so support continues. */
static void inherit(Contact *contact, const Manifold *manifold, const Contact *before, u32 count)
{
    u32 found = 0, taken = 0;
    f32 left = 0.0f;
    for (u32 o = 0; o < count; o++) {
        const Contact *old = &before[o];
        u32 points = old->flags >> CONTACT_COUNT_SHIFT;
        for (u32 q = 0; q < points; q++) {
            bool gone = true;
            for (u32 p = 0; p < manifold->count && gone; p++) {
                if (old->features[q] == manifold->points[p].feature && !(taken & 1u << p)) {
                    contact->impulses[p] = old->impulses[q];
                    taken |= 1u << p;
                    gone = false;
                    if (found++ == 0) {
                        inherit_friction(contact, old);
                    }
                }
            }
            left += gone ? old->impulses[q] : 0.0f;
        }
    }
    u32 new_count = manifold->count - found;
    if (count != 1 || new_count == 0 || left <= 0.0f) {
        return;
    }
    if (found == 0) {
        inherit_friction(contact, before);
    }
    for (u32 p = 0; p < manifold->count; p++) {
        if (!(taken & 1u << p)) {
            contact->impulses[p] = left / (f32)new_count;
        }
    }
}

static f32 contact_fill(const Pair *pair, const Manifold *manifold, const Contact *before,
                        Contact *contact)
{
    memset(contact, 0, sizeof(*contact));
    contact->a = pair->a;
    contact->b = pair->b;
    f32 nearest = RIGID_MARGIN_M;
    for (u32 p = 0; p < manifold->count; p++) {
        contact->features[p] = manifold->points[p].feature;
        nearest = f32_min(nearest, manifold->points[p].separation);
    }
    contact->flags = manifold->count << CONTACT_COUNT_SHIFT;
    contact->flags |= nearest < RIGID_MARGIN_M ? CONTACT_TOUCHING : 0u;
    contact->flags |= pair->count == 0 ? CONTACT_BEGAN : 0u;
    contact->flags |= pair->kind & PAIR_SENSOR ? CONTACT_SENSOR : 0u;
    contact->flags |= pair->count > 0 ? before->flags & CONTACT_HEAVY : 0u;
    inherit(contact, manifold, before, pair->count);
    return nearest;
}

static void raise_max(_Atomic u32 *at, u32 value)
{
    u32 old = atomic_load_explicit(at, memory_order_relaxed);
    while (old < value && !atomic_compare_exchange_weak(at, &old, value)) {
    }
}

static u32 contacts_of(const Pair *pair)
{
    return pair->new_count == PAIR_STALE ? pair->count : pair->new_count;
}

/* Writes the persistent data of a pair. */
static void fill_pair(ContactFill *fill, Pair *pair, u32 at, f32 *deepest, u32 *touching)
{
    Rigid *rigid = fill->rigid;
    if (pair->new_count == PAIR_STALE) {
        for (u32 c = 0; c < pair->count; c++) {
            rigid->contacts[at + c] = fill->before[pair->first + c];
            rigid->contacts[at + c].flags &= ~(u32)CONTACT_BEGAN;
            rigid->contact_manifolds[at + c] = NO_MANIFOLD;
        }
        return;
    }
    for (u32 m = 0; m < pair->new_count; m++) {
        f32 nearest = contact_fill(pair, &rigid->manifolds[pair->output + m],
                                   &fill->before[pair->first], &rigid->contacts[at + m]);
        *touching += rigid->contacts[at + m].flags & CONTACT_TOUCHING;
        /* A body in a sensor is not stuck. */
        if (!(pair->kind & PAIR_SENSOR)) {
            *deepest = f32_max(*deepest, -nearest);
            stuck_count(rigid, pair->a, pair->b, -nearest);
        }
        rigid->contact_manifolds[at + m] = pair->output + m;
    }
}

static void fill_span(ContactFill *fill, u32 index, f32 *deepest, u32 *touching)
{
    Rigid *rigid = fill->rigid;
    PairSpan span = rigid->spans[index];
    for (u32 i = span_begin(index); i < span_end(rigid, index); i++) {
        Pair *pair = &rigid->pairs[i];
        u32 count = contacts_of(pair);
        fill_pair(fill, pair, span.contacts, deepest, touching);
        pair->first = span.contacts;
        pair->count = (u8)count;
        span.contacts += count;
        if (recycle_has(rigid, pair)) {
            recycle_keep(rigid, pair, span.kept++);
        } else {
            pair->recycled = RECYCLED_NONE;
        }
    }
}

/* Pairs starting at their span's contacts and kept poses; contacts_before has those of the last
 * tick, to which the pairs still refer. */
static void fill_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    ContactFill *fill = context;
    f32 deepest = 0.0f;
    u32 touching = 0;
    for (u32 s = first; s < end; s++) {
        fill_span(fill, s, &deepest, &touching);
    }
    u32 bits;
    memcpy(&bits, &deepest, sizeof(bits));
    raise_max(&fill->depth_bits, bits);
    atomic_fetch_add(&fill->touching, touching);
}

/* Whether a body entered or left a sensor. */
static bool has_event(const Pair *pair)
{
    return (pair->kind & PAIR_SENSOR) && pair->new_count != PAIR_STALE &&
           (pair->count > 0) != (pair->new_count > 0);
}

static void count_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 s = first; s < end; s++) {
        PairSpan *span = &rigid->spans[s];
        span->contacts = span->kept = 0;
        span->events = false;
        for (u32 i = span_begin(s); i < span_end(rigid, s); i++) {
            const Pair *pair = &rigid->pairs[i];
            span->contacts += contacts_of(pair);
            span->kept += recycle_has(rigid, pair);
            span->events = span->events || has_event(pair);
        }
    }
}

/* Places each span's contacts; collects sensor events. */
static PairSpan place_contacts(Rigid *rigid)
{
    u32 spans = span_count(rigid);
    PairSpan sum = {0};
    jobs_run(rigid->jobs, spans, 1, count_range, rigid);
    for (u32 s = 0; s < spans; s++) {
        PairSpan *span = &rigid->spans[s];
        span_place(&span->contacts, &sum.contacts);
        span_place(&span->kept, &sum.kept);
        for (u32 i = span_begin(s); i < span_end(rigid, s) && span->events; i++) {
            const Pair *pair = &rigid->pairs[i];
            if (has_event(pair)) {
                contact_overlap_event(rigid, pair->a, pair->b, pair->new_count > 0);
            }
        }
    }
    return sum;
}

static void contacts_build(Rigid *rigid)
{
    PairSpan sum = place_contacts(rigid);
    if (!contact_reserve(rigid, sum.contacts)) {
        rigid->contact_count = rigid->recycled_count = 0;
        rigid->unlinked = true;
        return;
    }
    Contact *before = rigid->contacts;
    rigid->contacts = rigid->contacts_before;
    rigid->contacts_before = before;
    ContactFill fill = {.rigid = rigid, .before = before};
    jobs_run(rigid->jobs, span_count(rigid), 1, fill_range, &fill);
    rigid->contact_count = sum.contacts;
    rigid->recycled_count = sum.kept;
    u32 bits = atomic_load(&fill.depth_bits);
    memcpy(&rigid->penetration_max, &bits, sizeof(bits));
    rigid->touching = atomic_load(&fill.touching);
}

void collide_pairs(Rigid *rigid)
{
    stuck_begin(rigid);
    if (!link_pairs(rigid)) {
        rigid->contact_count = 0; /* out of memory: bodies pass through each other, but the
                                     simulation continues */
        rigid->pair_count = rigid->recycled_count = 0;
        return;
    }
    jobs_run(rigid->jobs, rigid->pair_count, PAIR_GRAIN, narrow_range, rigid);
    /* Woken bodies may touch bodies that were added asleep and have not been tested yet. */
    while (island_wake(rigid)) {
        jobs_run(rigid->jobs, rigid->pair_count, PAIR_GRAIN, narrow_range, rigid);
    }
    contacts_build(rigid);
}

/* ---- within the tick ---- */

/* Similarity of two manifolds: by common points, then by normals. */
static f32 likeness(const Manifold *one, const Manifold *other)
{
    f32 shared = vec3_dot(one->normal, other->normal);
    for (u32 p = 0; p < one->count; p++) {
        for (u32 q = 0; q < other->count; q++) {
            shared += one->points[p].feature == other->points[q].feature ? 4.0f : 0.0f;
        }
    }
    return shared;
}

/* Replaces the manifold of a lane by one of these, with the impulses of its row. */
static void contact_replace(Rigid *rigid, const ContactWide *row, u32 lane, const Manifold *found,
                            u32 count)
{
    u32 index = row->contact[lane], best = 0;
    Contact *contact = &rigid->contacts[index];
    Manifold *manifold = &rigid->manifolds[rigid->contact_manifolds[index]];
    contact_store_lane(rigid, row, lane);
    for (u32 m = 1; m < count; m++) {
        best = likeness(&found[m], manifold) > likeness(&found[best], manifold) ? m : best;
    }
    *manifold = found[best];
    Contact before = *contact;
    *contact = (Contact){.a = before.a, .b = before.b};
    contact->flags = (before.flags & ((1u << CONTACT_COUNT_SHIFT) - 1u)) |
                     manifold->count << CONTACT_COUNT_SHIFT;
    for (u32 p = 0; p < manifold->count; p++) {
        contact->features[p] = manifold->points[p].feature;
    }
    inherit(contact, manifold, &before, 1);
}

/* A pair beyond the contact margin keeps its manifold. */
void contact_renew(Rigid *rigid, const ContactWide *row, u32 lane)
{
    const Contact *contact = &rigid->contacts[row->contact[lane]];
    const Body *a = &rigid->bodies[contact->a], *b = &rigid->bodies[contact->b];
    ShapePose pose_a = body_pose(a), pose_b = body_pose(b);
    Manifold found[MANIFOLDS_MAX];
    u32 count = manifold_collide(&pose_a, &pose_b, motion_margin(rigid, contact->a, contact->b),
                                 found, MANIFOLDS_MAX);
    for (u32 m = 0; m < count; m++) {
        found[m].apart = vec3_sub(b->position, a->position);
    }
    if (count == 0) {
        f32 left = (f32)(rigid->substeps - rigid->substep) / (f32)rigid->substeps;
        count = ccd_speculative(rigid, contact->a, contact->b, left * rigid->def.tick_s,
                                MANIFOLDS_MAX, found);
    }
    if (count > 0) {
        contact_replace(rigid, row, lane, found, count);
    } else {
        contact_store_lane(rigid, row, lane);
    }
}

bool contact_predict(Rigid *rigid, const ContactWide *row, u32 lane, f32 time_s)
{
    const Contact *contact = &rigid->contacts[row->contact[lane]];
    u32 capacity = row->rotates ? MANIFOLD_POINTS : contact->flags >> CONTACT_COUNT_SHIFT, kept = 0;
    Manifold found[MANIFOLDS_MAX];
    u32 count = ccd_touching(rigid, contact->a, contact->b, time_s, MANIFOLDS_MAX, found);
    for (u32 m = 0; m < count; m++) {
        if (found[m].count <= capacity) {
            found[kept++] = found[m];
        }
    }
    if (kept > 0) {
        contact_replace(rigid, row, lane, found, kept);
    }
    return kept > 0;
}
