/*
 * serialize_pairs.c: serializes pairs, contacts and kept poses. All three have the same order and a
 * pair has its contacts and its pose, so an image lists only pairs: per body, as gaps between the
 * slots of the others, with the number of contacts and whether a pose is kept. Pairs follow from
 * the bodies; they are saved because finding them cost more than all the rest of a load.
 */
#include "server/physics/rigid/rigid_internal.h"

enum {
    /* Low bits of each gap: the number of contacts, or that it follows separately, and a pose
     * flag. */
    CONTACT_BITS = 2,
    CONTACTS_MANY = 3,
    POSE_BIT = 4,
    PAIR_BITS = 3,
    NAME_WORDS = 2, /* the slots at the start of contacts and kept poses */
    CONTACT_WORDS = 18,
    RECYCLED_WORDS = 14
};
PL_STATIC_ASSERT(sizeof(Contact) == CONTACT_WORDS * 4, "no padding: it is hashed");
PL_STATIC_ASSERT(sizeof(RecycledPose) == RECYCLED_WORDS * 4, "no padding: it is hashed");

/* Totals, or running counts. */
typedef struct PairCounts {
    u32 pairs, contacts, poses;
} PairCounts;

/* Pairs, contacts and kept poses start with the slots of their two bodies. */
static inline u64 name_at(const void *what)
{
    u64 name;
    memcpy(&name, what, sizeof name);
    return name;
}

/* ---- names ---- */

static void name_save(const Rigid *rigid, State *state, u32 last, PairCounts *at)
{
    const Pair *pair = &rigid->pairs[at->pairs++];
    u64 own = name_at(pair);
    u32 first = at->contacts;
    while (at->contacts < rigid->contact_count && name_at(&rigid->contacts[at->contacts]) == own) {
        at->contacts++;
    }
    u32 contacts = at->contacts - first;
    u32 pose = at->poses < rigid->recycled_count && name_at(&rigid->recycled[at->poses]) == own;
    at->poses += pose;
    u32 name = (pair->b - last - 1) << PAIR_BITS | (pose ? POSE_BIT : 0u) |
               u32_min(contacts, CONTACTS_MANY);
    state_number(state, &name);
    if (contacts >= CONTACTS_MANY) {
        state_number(state, &contacts);
    }
}

static void names_save(const Rigid *rigid, State *state)
{
    PairCounts at = {0};
    for (u32 a = 0; a < rigid->slots; a++) {
        u32 end = at.pairs, last = a;
        while (end < rigid->pair_count && rigid->pairs[end].a == a) {
            end++;
        }
        u32 count = end - at.pairs;
        state_number(state, &count);
        while (at.pairs < end) {
            name_save(rigid, state, last, &at);
            last = rigid->pairs[at.pairs - 1].b;
        }
    }
    /* A contact without a pair would be lost. */
    if (at.pairs != rigid->pair_count || at.contacts != rigid->contact_count ||
        at.poses != rigid->recycled_count) {
        state->failed = true;
    }
}

/* Writes the slots of a pair to its contacts and its pose, within `all`. */
static bool name_give(Rigid *rigid, const Pair *pair, u32 contacts, bool pose,
                      const PairCounts *all, PairCounts *at)
{
    if (contacts > all->contacts - at->contacts || (u32)pose > all->poses - at->poses) {
        return false;
    }
    for (u32 end = at->contacts + contacts; at->contacts < end; at->contacts++) {
        Contact *contact = &rigid->contacts[at->contacts];
        contact->a = pair->a;
        contact->b = pair->b;
        rigid->contact_manifolds[at->contacts] = NO_MANIFOLD;
    }
    if (pose) {
        rigid->recycled[at->poses].a = pair->a;
        rigid->recycled[at->poses].b = pair->b;
        rigid->recyclings_before[at->poses++] =
            (Recycling){.count = RECYCLED_UNKNOWN, .kept = true};
    }
    return true;
}

/* Reads the next pair of body a, after the one with slot *last. Overlap of their bounds is not
 * checked: the next tick does so. */
static bool name_load(Rigid *rigid, State *state, u32 a, u32 *last, const PairCounts *all,
                      PairCounts *at)
{
    const u8 *traits = rigid->island_held;
    u32 name = 0, left = rigid->slots - 1 - *last;
    state_number(state, &name);
    u32 gap = name >> PAIR_BITS, contacts = name & CONTACTS_MANY;
    if (contacts == CONTACTS_MANY) {
        state_number(state, &contacts);
    }
    if (state->failed || gap >= left || contacts > MANIFOLDS_MAX) {
        return false;
    }
    u32 b = *last + gap + 1;
    if (!(traits[a] & traits[b] & TRAIT_LIVE) || !((traits[a] | traits[b]) & TRAIT_DYNAMIC)) {
        return false;
    }
    Pair *pair = &rigid->pairs[at->pairs++];
    pair_set(pair, (PairKey){a, b}, traits[a], traits[b]);
    *last = b;
    return name_give(rigid, pair, contacts, (name & POSE_BIT) != 0, all, at);
}

static bool names_load(Rigid *rigid, State *state, const PairCounts *all)
{
    PairCounts at = {0};
    u8 *traits = rigid->island_held; /* used as scratch outside island_build */
    for (u32 i = 0; i < rigid->slots; i++) {
        traits[i] = body_traits(&rigid->bodies[i]);
    }
    for (u32 a = 0; a < rigid->slots; a++) {
        u32 count = 0, last = a;
        state_number(state, &count);
        if (state->failed || count > all->pairs - at.pairs) {
            return false;
        }
        for (u32 i = 0; i < count; i++) {
            if (!name_load(rigid, state, a, &last, all, &at)) {
                return false;
            }
        }
    }
    return at.pairs == all->pairs && at.contacts == all->contacts && at.poses == all->poses;
}

/* ---- loading ---- */

/* Reserves for the counts claimed by an image. Each item is at least one byte of it, which
 * bounds the memory. */
static bool reserve_for(Rigid *rigid, const State *state, const PairCounts *all)
{
    return (u64)all->pairs + all->contacts + all->poses <= state->bytes - state->used &&
           rigid_reserve(rigid, &rigid->pairs, &rigid->pair_capacity, all->pairs, sizeof(Pair)) &&
           contact_reserve(rigid, all->contacts) && recycle_reserve(rigid, all->poses);
}

static bool contacts_are_valid(const Rigid *rigid)
{
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (c->flags >> CONTACT_COUNT_SHIFT > MANIFOLD_POINTS || !contact_is_bounded(c)) {
            return false;
        }
    }
    return true;
}

static bool poses_are_valid(const Rigid *rigid)
{
    for (u32 i = 0; i < rigid->recycled_count; i++) {
        const RecycledPose *pose = &rigid->recycled[i];
        f32 length = quat_dot(pose->orientation, pose->orientation);
        f32 root_length = quat_dot(pose->root_orientation, pose->root_orientation);
        if (!vec3_is_finite(pose->position) ||
            !(vec3_length(pose->position) <= 4.0f * WORLD_EXTENT_MAX_M) ||
            !(fabsf(length - 1.0f) < 1e-3f) || !(fabsf(root_length - 1.0f) < 1e-3f) ||
            !(pose->margin >= 0.0f && pose->margin <= WORLD_EXTENT_MAX_M)) {
            return false;
        }
    }
    return true;
}

/* ---- all of it ---- */

void pairs_serialize(Rigid *rigid, State *state)
{
    PairCounts all = {rigid->pair_count, rigid->contact_count, rigid->recycled_count};
    u32 overlaps_deeply = rigid->overlaps_deeply;
    state_count(state, &all.contacts, UINT32_MAX);
    state_count(state, &all.poses, UINT32_MAX);
    if (state->mode != STATE_HASH) {
        state_count(state, &all.pairs, UINT32_MAX);
        state_count(state, &overlaps_deeply, 1);
    }
    if (state->mode == STATE_LOAD) {
        rigid->pair_count = 0;
        state->failed =
            state->failed || !reserve_for(rigid, state, &all) || !names_load(rigid, state, &all);
    } else if (state->mode != STATE_HASH) {
        names_save(rigid, state);
    }
    if (state->failed) {
        return;
    }
    if (state->mode == STATE_LOAD) {
        rigid->pair_count = all.pairs;
        rigid->contact_count = all.contacts;
        rigid->recycled_count = all.poses;
        rigid->overlaps_deeply = overlaps_deeply != 0;
    }
    state_records(state, rigid->contacts, rigid->contact_count, CONTACT_WORDS, NAME_WORDS, NULL);
    state_records(state, rigid->recycled, rigid->recycled_count, RECYCLED_WORDS, NAME_WORDS, NULL);
    if (state->mode == STATE_LOAD && !state->failed) {
        state->failed = !contacts_are_valid(rigid) || !poses_are_valid(rigid);
    }
}
