/*
 * walk_pairs.c: pairs, contacts and kept poses as bytes. All three are sorted alike and a pair has
 * its contacts and its pose, so an image names pairs only: by body, as gaps between the slots of
 * the others, with how many contacts each has and whether a pose is kept. Pairs follow from the
 * bodies; they are saved all the same, as finding them cost more than all the rest of a load.
 */
#include "server/physics/rigid/body.h"

enum {
    /* Of what follows each gap: how many contacts, or that their number comes next, and a pose. */
    CONTACT_BITS = 2,
    CONTACTS_MANY = 3,
    POSE_BIT = 4,
    PAIR_BITS = 3,
    NAME_WORDS = 2, /* the slots at the beginning of contacts and kept poses */
    CONTACT_WORDS = 18,
    RECYCLED_WORDS = 14
};
PL_STATIC_ASSERT(sizeof(Contact) == CONTACT_WORDS * 4, "no padding: it is hashed");
PL_STATIC_ASSERT(sizeof(RecycledPose) == RECYCLED_WORDS * 4, "no padding: it is hashed");

/* How many there are, or were up to now. */
typedef struct PairCounts {
    u32 pairs, contacts, poses;
} PairCounts;

/* ---- names ---- */

static u32 contacts_of(const Rigid *rigid, u32 first, const Pair *pair)
{
    u32 end = first;
    while (end < rigid->contact_count && rigid->contacts[end].a == pair->a &&
           rigid->contacts[end].b == pair->b) {
        end++;
    }
    return end - first;
}

static bool pose_is_of(const Rigid *rigid, u32 index, const Pair *pair)
{
    return index < rigid->recycled_count && rigid->recycled[index].a == pair->a &&
           rigid->recycled[index].b == pair->b;
}

static void name_save(const Rigid *rigid, State *state, u32 last, PairCounts *at)
{
    const Pair *pair = &rigid->pairs[at->pairs];
    u32 contacts = contacts_of(rigid, at->contacts, pair);
    u32 pose = pose_is_of(rigid, at->poses, pair);
    u32 name = (pair->b - last - 1) << PAIR_BITS | (pose ? POSE_BIT : 0u) |
               u32_min(contacts, CONTACTS_MANY);
    state_number(state, &name);
    if (contacts >= CONTACTS_MANY) {
        state_number(state, &contacts);
    }
    at->pairs++;
    at->contacts += contacts;
    at->poses += pose;
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

/* The next pair of body a, after the one with slot *last. Whether their bounds overlap is not
 * asked: of what moved since the tick, the next one will. */
static bool name_load(Rigid *rigid, State *state, u32 a, u32 *last, PairCounts *at)
{
    const u8 *traits = rigid->island_held;
    u32 name = 0, contacts;
    state_number(state, &name);
    contacts = name & CONTACTS_MANY;
    if (contacts == CONTACTS_MANY) {
        state_number(state, &contacts);
    }
    u32 left = rigid->slots - 1 - *last, gap = name >> PAIR_BITS;
    if (state->failed || gap >= left || contacts > MANIFOLDS_MAX ||
        (contacts < CONTACTS_MANY && (name & CONTACTS_MANY) == CONTACTS_MANY)) {
        return false;
    }
    u32 b = *last + gap + 1;
    if (!(traits[a] & traits[b] & TRAIT_LIVE) || !((traits[a] | traits[b]) & TRAIT_DYNAMIC)) {
        return false;
    }
    Pair *pair = &rigid->pairs[at->pairs++];
    pair_set(pair, (PairKey){a, b}, traits[a], traits[b]);
    pair->first = at->contacts;
    pair->count = (u8)contacts;
    at->contacts += contacts;
    if (name & POSE_BIT) {
        pair->recycled = at->poses++;
    }
    *last = b;
    return true;
}

static bool names_load(Rigid *rigid, State *state, u32 pairs, PairCounts *at)
{
    u8 *traits = rigid->island_held; /* scratch outside of islands */
    for (u32 i = 0; i < rigid->slots; i++) {
        traits[i] = body_traits(&rigid->bodies[i]);
    }
    for (u32 a = 0; a < rigid->slots; a++) {
        u32 count = 0, last = a;
        state_number(state, &count);
        if (state->failed || count > pairs - at->pairs) {
            return false;
        }
        for (u32 i = 0; i < count; i++) {
            if (!name_load(rigid, state, a, &last, at)) {
                return false;
            }
        }
    }
    return at->pairs == pairs;
}

/* ---- loading ---- */

/* Has the image a byte for each? So no memory is taken for what it only claims. */
static bool counts_are_possible(const State *state, u64 count)
{
    return count <= state->bytes - state->used;
}

/* Room for what the pairs of an image have, with the names of all. */
static bool name_contents(Rigid *rigid, const State *state, const PairCounts *counts)
{
    if (!counts_are_possible(state, (u64)counts->contacts + counts->poses) ||
        !contact_reserve(rigid, counts->contacts) || !recycle_reserve(rigid, counts->poses)) {
        return false;
    }
    for (u32 i = 0; i < counts->pairs; i++) {
        const Pair *pair = &rigid->pairs[i];
        for (u32 c = pair->first; c < pair->first + pair->count; c++) {
            rigid->contacts[c].a = pair->a;
            rigid->contacts[c].b = pair->b;
            rigid->contact_manifolds[c] = NO_MANIFOLD;
        }
        if (pair->recycled != RECYCLED_NONE) {
            rigid->recycled[pair->recycled].a = pair->a;
            rigid->recycled[pair->recycled].b = pair->b;
            rigid->recyclings_before[pair->recycled] =
                (Recycling){.count = RECYCLED_UNKNOWN, .kept = true};
        }
    }
    return true;
}

static bool names_take(Rigid *rigid, State *state, u32 pairs)
{
    PairCounts at = {0};
    rigid->pair_count = 0;
    if (!counts_are_possible(state, pairs) ||
        !rigid_reserve(rigid, &rigid->pairs, &rigid->pair_capacity, pairs, sizeof(Pair)) ||
        !names_load(rigid, state, pairs, &at) || !name_contents(rigid, state, &at)) {
        return false;
    }
    rigid->pair_count = at.pairs;
    rigid->contact_count = at.contacts;
    rigid->recycled_count = at.poses;
    return true;
}

static bool contacts_are_sane(const Rigid *rigid)
{
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (c->flags >> CONTACT_COUNT_SHIFT > MANIFOLD_POINTS || !contact_is_bounded(c)) {
            return false;
        }
    }
    return true;
}

static bool poses_are_sane(const Rigid *rigid)
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

static void walk_names(Rigid *rigid, State *state)
{
    u32 jammed = rigid->jammed, pairs = rigid->pair_count;
    state_count(state, &jammed, 1);
    state_count(state, &pairs, UINT32_MAX);
    if (state->failed) {
        return;
    }
    rigid->jammed = jammed != 0;
    if (state->mode != STATE_LOAD) {
        names_save(rigid, state);
    } else if (!names_take(rigid, state, pairs)) {
        state->failed = true;
    }
}

void pairs_walk(Rigid *rigid, State *state)
{
    if (state->mode == STATE_HASH) {
        state_bytes(state, &rigid->contact_count, sizeof rigid->contact_count);
        state_bytes(state, &rigid->recycled_count, sizeof rigid->recycled_count);
    } else {
        walk_names(rigid, state);
    }
    if (state->failed) {
        return;
    }
    state_records(state, rigid->contacts, rigid->contact_count, CONTACT_WORDS, NAME_WORDS, NULL);
    state_records(state, rigid->recycled, rigid->recycled_count, RECYCLED_WORDS, NAME_WORDS, NULL);
    if (state->mode == STATE_LOAD && !state->failed) {
        state->failed = !contacts_are_sane(rigid) || !poses_are_sane(rigid);
    }
}
