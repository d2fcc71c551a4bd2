/*
 * broad.c: finds pairs of near bodies: two dynamic trees (moving and fixed) and the resulting
 * pairs, sorted by slots. The set of pairs is a pure function of the fat bounds and the filters, so
 * neither the shape of the trees nor the order of threads affects it.
 */
#include "server/physics/rigid/rigid_internal.h"
#include "shared/base/check.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Slots fit 16 bits, so a pair is one sortable word. */
PL_STATIC_ASSERT(BODIES_MAX <= 65536, "pair keys hold slots of 16 bits");

enum {
    REFRESH_GRAIN = 64,
    /* Moving more leaves than this fraction of a tree one by one is more expensive than a
     * rebuild. */
    REBUILD_PART = 24,
    SEARCH_GRAIN = 16,
    /* If more than this fraction of the bodies moved, traversing the trees together is cheaper
     * than one query each. */
    WALK_PART = 4,
    PART_GRAIN = 4,
    VISIT_CAPACITY = 128 /* pairs that a search buffers before it reserves space */
};

static bool is_plane(const Body *body)
{
    return body->shape.kind == SHAPE_PLANE;
}

static Tree *tree_of(Rigid *rigid, const Body *body)
{
    return body->motion == BODY_STATIC ? &rigid->fixed : &rigid->moving;
}

void broad_insert(Rigid *rigid, u32 slot)
{
    CHECK(slot < rigid->slots);
    Body *body = &rigid->bodies[slot];
    if (!is_plane(body)) {
        rigid->leaves[slot] = tree_insert(tree_of(rigid, body), body->fat, slot);
        return;
    }
    u32 at = rigid->plane_count++;
    for (; at > 0 && rigid->planes[at - 1] > slot; at--) {
        rigid->planes[at] = rigid->planes[at - 1];
    }
    rigid->planes[at] = slot;
}

void broad_remove(Rigid *rigid, u32 slot)
{
    CHECK(slot < rigid->slots);
    Body *body = &rigid->bodies[slot];
    if (!is_plane(body)) {
        tree_remove(tree_of(rigid, body), rigid->leaves[slot]);
        return;
    }
    u32 kept = 0;
    for (u32 i = 0; i < rigid->plane_count; i++) {
        if (rigid->planes[i] != slot) {
            rigid->planes[kept++] = rigid->planes[i];
        }
    }
    rigid->plane_count = kept;
}

/* ---- moved bodies ---- */

static Bounds bounds_now(const Body *body)
{
    return shape_bounds(&body->shape, body_origin(body), body->orientation);
}

/* Bounds that cover a shape during its motion. */
static Bounds swept(Bounds bounds, Vec3 way)
{
    bounds.min = vec3_add(bounds.min, vec3_min(way, vec3_zero()));
    bounds.max = vec3_add(bounds.max, vec3_max(way, vec3_zero()));
    return bounds;
}

void broad_rest(Rigid *rigid, u32 slot)
{
    CHECK(slot < rigid->slots);
    rigid->ways[slot] = bounds_grow(bounds_now(&rigid->bodies[slot]), RIGID_MARGIN_M * 0.5f);
}

Bounds broad_speculative(const Rigid *rigid, u32 slot, const Bounds *now)
{
    Vec3 way = vec3_scale(rigid->states[slot].velocity, 3.0f * rigid->def.tick_s);
    return bounds_grow(swept(*now, way), RIGID_FAT_M + motion_rotating(rigid, slot));
}

static f32 half_diagonal(const Bounds *b)
{
    return 0.5f * vec3_distance(b->min, b->max);
}

static void refresh_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        u32 slot = rigid->active[i];
        Body *body = &rigid->bodies[slot];
        Bounds now = motion_rotated(rigid, slot, bounds_now(body));
        Vec3 way = vec3_scale(rigid->states[slot].velocity, rigid->def.tick_s);
        Bounds need =
            bounds_grow(swept(now, way), RIGID_MARGIN_M * 0.5f + motion_rotating(rigid, slot));
        rigid->ways[slot] = need;
        f32 turning = vec3_length(rigid->states[slot].angular_velocity) * rigid->def.tick_s;
        bool flies = vec3_length(way) + turning * half_diagonal(&now) > 0.5f * RIGID_MARGIN_M;
        body->flags = (body->flags & ~(u32)BODY_FLIES) | (flies ? BODY_FLIES : 0u);
        /* Bounds left too large by an earlier flight shrink. */
        Bounds ahead = broad_speculative(rigid, slot, &now);
        Bounds loose = bounds_grow(ahead, 8.0f * RIGID_FAT_M);
        if (bounds_contain(&body->fat, &need) && bounds_contain(&loose, &body->fat)) {
            continue;
        }
        body->fat = ahead;
        body->flags |= BODY_MOVED | BODY_LEFT;
    }
}

/* Rebuilds one of the two trees. */
static void build_tree(Rigid *rigid, Tree *tree)
{
    u32 count = 0;
    for (u32 i = 0; i < rigid->slots; i++) {
        const Body *body = &rigid->bodies[i];
        if ((body->flags & BODY_LIVE) && !is_plane(body) && tree_of(rigid, body) == tree) {
            rigid->slot_scratch[count++] = i;
        }
    }
    tree_build(tree, &rigid->bodies[0].fat, sizeof(Body), rigid->slot_scratch, count, rigid->leaves,
               rigid->jobs);
}

void broad_follow(Rigid *rigid, const u32 *slots, u32 count)
{
    if (count > rigid->moving.leaf_count / REBUILD_PART) {
        if (!tree_refit(&rigid->moving, &rigid->bodies[0].fat, sizeof(Body), slots, count,
                        rigid->leaves)) {
            build_tree(rigid, &rigid->moving);
        }
        return;
    }
    for (u32 i = 0; i < count; i++) {
        u32 slot = slots[i];
        tree_remove(&rigid->moving, rigid->leaves[slot]);
        rigid->leaves[slot] = tree_insert(&rigid->moving, rigid->bodies[slot].fat, slot);
    }
}

static void refresh(Rigid *rigid)
{
    jobs_run(rigid->jobs, rigid->active_count, REFRESH_GRAIN, refresh_range, rigid);
    u32 moved = 0;
    for (u32 i = 0; i < rigid->active_count; i++) {
        Body *body = &rigid->bodies[rigid->active[i]];
        if (body->flags & BODY_LEFT) {
            body->flags &= ~(u32)BODY_LEFT;
            rigid->slot_scratch[moved++] = rigid->active[i];
        }
    }
    broad_follow(rigid, rigid->slot_scratch, moved);
}

/* ---- pairs ---- */

bool body_filter(const Rigid *rigid, u32 slot_a, u32 slot_b)
{
    const Body *a = &rigid->bodies[slot_a], *b = &rigid->bodies[slot_b];
    return (a->motion == BODY_DYNAMIC || b->motion == BODY_DYNAMIC) && (a->group & b->mask) &&
           (b->group & a->mask) && (a->family == 0 || a->family != b->family) &&
           !(a->sensor && b->sensor) && !joint_connects(rigid, slot_a, slot_b);
}

/* Whether the bounds reach below the plane (enlarged by the fat margin). */
static bool bounds_meet_plane(const Body *plane, const Bounds *bounds)
{
    Vec3 n = quat_rotate(plane->orientation, vec3(0.0f, 1.0f, 0.0f));
    Vec3 low =
        vec3(n.x > 0.0f ? bounds->min.x : bounds->max.x, n.y > 0.0f ? bounds->min.y : bounds->max.y,
             n.z > 0.0f ? bounds->min.z : bounds->max.z);
    return vec3_dot(n, vec3_sub(low, plane->position)) < RIGID_FAT_M;
}

static bool pair_is_near(const Body *a, const Body *b)
{
    if (is_plane(a)) {
        return bounds_meet_plane(a, &b->fat);
    }
    if (is_plane(b)) {
        return bounds_meet_plane(b, &a->fat);
    }
    return bounds_overlap(&a->fat, &b->fat);
}

typedef struct PairSearch {
    Rigid *rigid;
    _Atomic u32 taken;   /* used entries of `found`; beyond the capacity: too little space */
    bool everything;     /* all bodies, not only moved ones */
    bool counts;         /* counts deep overlaps instead of pairs */
    bool limits_overlap; /* skips pairs rejected by deep_overlap_keeps */
    /* For search_overlaps: the moving tree against this one. */
    const Tree *tree;
    TreePart parts[TREE_PARTS];
} PairSearch;

/* One thread's part of a search. */
typedef struct PairVisit {
    PairSearch *search;
    u32 slot, count;
    PairKey keys[VISIT_CAPACITY];
} PairVisit;

static void visit_flush(PairVisit *visit)
{
    // cppcheck-suppress ctuuninitvar
    Rigid *rigid = visit->search->rigid;
    u32 at = atomic_fetch_add(&visit->search->taken, visit->count);
    if (visit->count > 0 && !visit->search->counts && at <= rigid->found_capacity &&
        visit->count <= rigid->found_capacity - at) {
        memcpy(&rigid->found[at], visit->keys, visit->count * sizeof(*visit->keys));
    }
    visit->count = 0;
}

static void visit_pair(void *context, u32 one, u32 other)
{
    PairVisit *visit = context;
    Rigid *rigid = visit->search->rigid;
    if (one == other || (visit->search->limits_overlap && !deep_overlap_keeps(rigid, one, other)) ||
        !body_filter(rigid, one, other)) {
        return;
    }
    if (visit->search->counts) {
        deep_overlap_count(rigid, one, other);
    }
    if (visit->count == VISIT_CAPACITY) {
        visit_flush(visit);
    }
    visit->keys[visit->count++] = (PairKey){u32_min(one, other), u32_max(one, other)};
}

static void visit_add(void *context, u32 other)
{
    PairVisit *visit = context;
    /* If both bodies search, the lower slot reports the pair. */
    if (other > visit->slot || !(visit->search->rigid->bodies[other].flags & BODY_MOVED)) {
        visit_pair(visit, visit->slot, other);
    }
}

/* A static body queries only the moving tree, a plane only bounds; planes are tested by all
 * others. */
static void search_body(PairVisit *visit, u32 slot)
{
    Rigid *rigid = visit->search->rigid;
    const Body *body = &rigid->bodies[slot];
    visit->slot = slot;
    if (is_plane(body)) {
        for (u32 j = 0; j < rigid->slots; j++) {
            const Body *other = &rigid->bodies[j];
            if ((other->flags & BODY_LIVE) && !is_plane(other) &&
                bounds_meet_plane(body, &other->fat)) {
                visit_add(visit, j);
            }
        }
        return;
    }
    tree_query(&rigid->moving, body->fat, visit_add, visit);
    if (body->motion == BODY_STATIC) {
        return;
    }
    tree_query(&rigid->fixed, body->fat, visit_add, visit);
    for (u32 p = 0; p < rigid->plane_count; p++) {
        if (bounds_meet_plane(&rigid->bodies[rigid->planes[p]], &body->fat)) {
            visit_add(visit, rigid->planes[p]);
        }
    }
}

static void search_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    PairVisit visit;
    visit.search = context;
    visit.count = 0;
    const Rigid *rigid = visit.search->rigid;
    for (u32 i = first; i < end; i++) {
        u32 flags = rigid->bodies[i].flags;
        if ((flags & BODY_LIVE) && (flags & BODY_MOVED)) {
            search_body(&visit, i);
        }
    }
    visit_flush(&visit);
}

/* Pairs of tree leaves: those of which one moved, or all. */
static void visit_overlap(void *context, u32 one, u32 other)
{
    PairVisit *visit = context;
    const Rigid *rigid = visit->search->rigid;
    if (visit->search->everything ||
        ((rigid->bodies[one].flags | rigid->bodies[other].flags) & BODY_MOVED)) {
        visit_pair(visit, one, other);
    }
}

static void overlap_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    PairVisit visit;
    visit.search = context;
    visit.count = 0;
    const Rigid *rigid = visit.search->rigid;
    for (u32 i = first; i < end; i++) {
        tree_overlaps(&rigid->moving, visit.search->tree, &visit.search->parts[i], visit_overlap,
                      &visit);
    }
    visit_flush(&visit);
}

/* Both trees are traversed together. */
static void search_overlaps(PairSearch *search)
{
    Rigid *rigid = search->rigid;
    const Tree *const trees[] = {&rigid->moving, &rigid->fixed};
    for (u32 t = 0; t < PL_COUNT(trees); t++) {
        search->tree = trees[t];
        u32 parts = tree_overlap_parts(&rigid->moving, search->tree, search->parts);
        jobs_run(rigid->jobs, parts, PART_GRAIN, overlap_range, search);
    }
    PairVisit visit;
    visit.search = search;
    visit.count = 0;
    for (u32 p = 0; p < rigid->plane_count; p++) {
        const Body *plane = &rigid->bodies[rigid->planes[p]];
        for (u32 i = 0; i < rigid->slots; i++) {
            const Body *body = &rigid->bodies[i];
            if ((body->flags & BODY_LIVE) && !is_plane(body) &&
                bounds_meet_plane(plane, &body->fat)) {
                visit_overlap(&visit, rigid->planes[p], i);
            }
        }
    }
    visit_flush(&visit);
}

/* More new pairs than this indicate a deep overlap, which is limited before memory is reserved. */
static u32 found_most(const Rigid *rigid)
{
    return 65536 + 64 * rigid->slots;
}

/* Fills `found` with the pairs of the bodies that moved, or of all; false: out of memory, or
 * (`jammed` is set) so many that deep overlaps should be limited first, unless `limited`. */
static bool search_pairs(Rigid *rigid, u32 moved, bool everything, bool limited)
{
    for (u32 attempt = 0; attempt < 2; attempt++) {
        PairSearch search = {.rigid = rigid,
                             .everything = everything,
                             .limits_overlap = limited && rigid->overlaps_deeply};
        if (everything || moved > rigid->moving.leaf_count / WALK_PART) {
            search_overlaps(&search);
        } else {
            jobs_run(rigid->jobs, rigid->slots, SEARCH_GRAIN, search_range, &search);
        }
        u32 wanted = atomic_load(&search.taken);
        if (wanted <= rigid->found_capacity) {
            rigid->found_count = wanted;
            return true;
        }
        if (wanted > found_most(rigid) && !limited) {
            rigid->overlaps_deeply = true;
            break;
        }
        u32 capacity = wanted + wanted / 2;
        /* The second half is scratch for sorting. */
        PairKey *found = realloc(rigid->found, (size_t)capacity * 2 * sizeof(*found));
        if (!found) {
            break;
        }
        rigid->memory += (u64)(capacity - rigid->found_capacity) * 2 * sizeof(*found);
        rigid->found = found;
        rigid->found_capacity = capacity;
    }
    rigid->found_count = 0;
    return false;
}

static inline u32 pair_word(PairKey key)
{
    return key.a << 16 | key.b;
}

/* Radix sort, least significant byte first; `scratch` is as long as the keys. */
static void pairs_sort(PairKey *keys, PairKey *scratch, u32 count)
{
    if (count < 64) {
        for (u32 i = 1; i < count; i++) {
            PairKey key = keys[i];
            u32 at = i;
            for (; at > 0 && pair_word(keys[at - 1]) > pair_word(key); at--) {
                keys[at] = keys[at - 1];
            }
            keys[at] = key;
        }
        return;
    }
    for (u32 shift = 0; shift < 32; shift += 8) {
        u32 starts[257] = {0};
        for (u32 i = 0; i < count; i++) {
            starts[(pair_word(keys[i]) >> shift & 255u) + 1]++;
        }
        for (u32 i = 0; i < 256; i++) {
            starts[i + 1] += starts[i];
        }
        for (u32 i = 0; i < count; i++) {
            scratch[starts[pair_word(keys[i]) >> shift & 255u]++] = keys[i];
        }
        PairKey *swap = keys;
        keys = scratch;
        scratch = swap; /* four passes: the result is in the original array */
    }
}

static bool pair_lives(const Rigid *rigid, const Pair *pair)
{
    const Body *a = &rigid->bodies[pair->a], *b = &rigid->bodies[pair->b];
    if (!((a->flags | b->flags) & BODY_MOVED)) {
        return true;
    }
    return pair_is_near(a, b) && body_filter(rigid, pair->a, pair->b);
}

enum {
    TRAITS_OF_EITHER = PAIR_MANY | PAIR_SENSOR | PAIR_ENDLESS
};

u8 body_traits(const Body *body)
{
    ShapeKind shape = body->shape.kind;
    bool many = shape == SHAPE_MESH || shape == SHAPE_TERRAIN || shape == SHAPE_COMPOUND;
    return (u8)((many ? PAIR_MANY : 0) | (body->sensor ? PAIR_SENSOR : 0) |
                (is_plane(body) ? PAIR_ENDLESS : 0) |
                (shape_is_recycled(&body->shape) && !body->sensor ? PAIR_RECYCLED : 0) |
                (body->flags & BODY_LIVE ? TRAIT_LIVE : 0) |
                (body->motion == BODY_DYNAMIC ? TRAIT_DYNAMIC : 0));
}

void pair_set(Pair *pair, PairKey key, u8 a, u8 b)
{
    CHECK(key.a < key.b); /* each pair once */
    pair->a = key.a;
    pair->b = key.b;
    pair->first = pair->output = 0;
    pair->recycled = RECYCLED_NONE;
    pair->count = 0;
    pair->new_count = PAIR_STALE;
    pair->kind = (u8)(((a | b) & TRAITS_OF_EITHER) | (a & b & PAIR_RECYCLED));
    pair->unused = 0;
}

bool spans_reserve(Rigid *rigid)
{
    return rigid_reserve(rigid, &rigid->spans, &rigid->span_capacity, u32_max(span_count(rigid), 1),
                         sizeof(PairSpan));
}

/* The first new pair that belongs to a span: not less than its first pair. */
static u32 found_begin(const Rigid *rigid, u32 span)
{
    u32 low = 0, high = rigid->found_count;
    if (span == 0 || span >= span_count(rigid)) {
        return span == 0 ? 0 : high;
    }
    const Pair *first = &rigid->pairs[span_begin(span)];
    u32 word = pair_word((PairKey){first->a, first->b});
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (pair_word(rigid->found[middle]) < word) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Marks the surviving pairs of a span, and counts them with the new ones. */
static void survive_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 s = first; s < end; s++) {
        u32 found = found_begin(rigid, s), found_end = found_begin(rigid, s + 1);
        PairSpan span = {.found = found};
        for (u32 i = span_begin(s); i < span_end(rigid, s); i++) {
            Pair *pair = &rigid->pairs[i];
            u32 word = pair_word((PairKey){pair->a, pair->b});
            for (; found < found_end && pair_word(rigid->found[found]) <= word; found++) {
                span.merged += pair_word(rigid->found[found]) < word;
            }
            bool lives = pair_lives(rigid, pair);
            span.merged += lives;
            span.events = span.events || (!lives && (pair->kind & PAIR_SENSOR));
            pair->new_count = lives ? pair->new_count : PAIR_GONE;
        }
        span.merged += found_end - found;
        rigid->spans[s] = span;
    }
}

static void merge_found(Rigid *rigid, PairSpan *span, u32 found_end, u64 below)
{
    for (; span->found < found_end && pair_word(rigid->found[span->found]) < below; span->found++) {
        PairKey key = rigid->found[span->found];
        pair_set(&rigid->pairs_merged[span->merged++], key, body_traits(&rigid->bodies[key.a]),
                 body_traits(&rigid->bodies[key.b]));
    }
}

static void merge_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 s = first; s < end; s++) {
        PairSpan span = rigid->spans[s];
        u32 found_end = found_begin(rigid, s + 1);
        for (u32 i = span_begin(s); i < span_end(rigid, s); i++) {
            const Pair *old = &rigid->pairs[i];
            u32 word = pair_word((PairKey){old->a, old->b});
            merge_found(rigid, &span, found_end, word);
            span.found +=
                span.found < found_end && pair_word(rigid->found[span.found]) == word ? 1 : 0;
            if (old->new_count != PAIR_GONE) {
                rigid->pairs_merged[span.merged++] = *old;
            }
        }
        merge_found(rigid, &span, found_end, UINT64_MAX);
    }
}

/* Merges the sorted new pairs with the surviving ones, span by span. */
static bool pairs_merge(Rigid *rigid)
{
    u32 spans = u32_max(span_count(rigid), 1), count = 0;
    if (!rigid_reserve(rigid, &rigid->pairs_merged, &rigid->pair_merged_capacity,
                       rigid->pair_count + rigid->found_count, sizeof(Pair)) ||
        !spans_reserve(rigid)) {
        return false;
    }
    jobs_run(rigid->jobs, spans, 1, survive_range, rigid);
    for (u32 s = 0; s < spans; s++) {
        span_place(&rigid->spans[s].merged, &count);
        for (u32 i = span_begin(s); i < span_end(rigid, s) && rigid->spans[s].events; i++) {
            if (rigid->pairs[i].new_count == PAIR_GONE) {
                contact_pair_lost(rigid, &rigid->pairs[i]);
            }
        }
    }
    jobs_run(rigid->jobs, spans, 1, merge_range, rigid);
    Pair *swap = rigid->pairs;
    rigid->pairs = rigid->pairs_merged;
    rigid->pairs_merged = swap;
    u32 capacity = rigid->pair_capacity;
    rigid->pair_capacity = rigid->pair_merged_capacity;
    rigid->pair_merged_capacity = capacity;
    rigid->pair_count = count;
    return true;
}

/* ---- crowds ---- */

/* With at most this number of pairs deep overlaps are not searched. */
static u32 pairs_usual(const Rigid *rigid)
{
    return 512 + 16 * rigid->slots;
}

/* Recomputes all pairs, limiting those of deep overlaps. */
static bool deep_overlap_pairs(Rigid *rigid)
{
    PairSearch search = {.rigid = rigid, .everything = true, .counts = true};
    if (!deep_overlap_begin(rigid)) {
        return false;
    }
    search_overlaps(&search);
    rigid->overlaps_deeply =
        atomic_load(&search.taken) > pairs_usual(rigid) && deep_overlap_exists(rigid);
    rigid->pair_count = 0;
    rigid->unlinked = true;
    if (!search_pairs(rigid, 0, true, true)) {
        return false;
    }
    pairs_sort(rigid->found, rigid->found + rigid->found_capacity, rigid->found_count);
    return pairs_merge(rigid);
}

/* With many pairs: whether many bodies are in one place. */
static bool pairs_overlap_deeply(Rigid *rigid)
{
    if (rigid->pair_count <= pairs_usual(rigid) || !deep_overlap_begin(rigid)) {
        return false;
    }
    for (u32 i = 0; i < rigid->pair_count; i++) {
        deep_overlap_count(rigid, rigid->pairs[i].a, rigid->pairs[i].b);
    }
    return deep_overlap_exists(rigid);
}

static void moved_clear(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        rigid->bodies[i].flags &= ~(u32)BODY_MOVED;
    }
}

/* Updates the pairs of moved bodies; false: out of memory, or too many. */
static bool pairs_follow(Rigid *rigid)
{
    u32 moved = 0;
    for (u32 i = 0; i < rigid->slots; i++) {
        moved += (rigid->bodies[i].flags & BODY_MOVED) != 0;
    }
    if (moved == 0) {
        return true;
    }
    if (!search_pairs(rigid, moved, false, false)) {
        return false;
    }
    pairs_sort(rigid->found, rigid->found + rigid->found_capacity, rigid->found_count);
    return pairs_merge(rigid);
}

void broad_update(Rigid *rigid)
{
    refresh(rigid);
    /* If out of memory the marks stay, and the next tick tries again. */
    bool done = !rigid->overlaps_deeply && pairs_follow(rigid);
    if (done && pairs_overlap_deeply(rigid)) {
        rigid->overlaps_deeply = true;
    }
    if (rigid->overlaps_deeply) {
        done = deep_overlap_pairs(rigid);
    }
    if (done) {
        moved_clear(rigid);
    }
}

void broad_rebuild(Rigid *rigid)
{
    rigid->plane_count = 0;
    for (u32 i = 0; i < rigid->slots; i++) {
        if (rigid->bodies[i].flags & BODY_LIVE) {
            broad_rest(rigid, i);
        }
        if ((rigid->bodies[i].flags & BODY_LIVE) && is_plane(&rigid->bodies[i])) {
            rigid->planes[rigid->plane_count++] = i;
        }
    }
    CHECK(rigid->plane_count <= rigid->slots);
    build_tree(rigid, &rigid->moving);
    build_tree(rigid, &rigid->fixed);
}

void broad_remove_pairs(Rigid *rigid, u32 slot)
{
    CHECK(slot < rigid->slots);
    u32 kept = 0;
    for (u32 i = 0; i < rigid->pair_count; i++) {
        if (rigid->pairs[i].a != slot && rigid->pairs[i].b != slot) {
            rigid->pairs[kept++] = rigid->pairs[i];
        }
    }
    rigid->pair_count = kept;
}

/* ---- bodies in one place, before a tick ---- */

typedef struct DeepOverlapSearch {
    Rigid *rigid;
    u32 slot;
} DeepOverlapSearch;

static void place_visit(void *context, u32 slot)
{
    DeepOverlapSearch *search = context;
    if (slot != search->slot && body_filter(search->rigid, slot, search->slot)) {
        deep_overlap_count(search->rigid, slot, search->slot);
    }
}

u32 rigid_deepest_overlap(Rigid *rigid, u32 most, u32 *slot)
{
    if (!deep_overlap_begin(rigid)) {
        return 0;
    }
    for (u32 i = 0; i < rigid->slots; i++) {
        if (rigid->deep_overlaps[i].inner <= 0.0f) {
            continue;
        }
        DeepOverlapSearch search = {rigid, i};
        atomic_init(&rigid->deep_overlaps[i].count, 0);
        tree_query(&rigid->moving, rigid->bodies[i].fat, place_visit, &search);
        u32 count = atomic_load_explicit(&rigid->deep_overlaps[i].count, memory_order_relaxed);
        if (count > most) {
            *slot = i;
            return count;
        }
    }
    return 0;
}

/* ---- bodies near given bounds ---- */

typedef struct OverlapSearch {
    u32 *slots;
    u32 count, capacity;
} OverlapSearch;

/* Kept sorted, so that if there are more than fit, the lowest slots are kept, whatever the order of
 * the trees. */
static void overlap_visit(void *context, u32 slot)
{
    OverlapSearch *search = context;
    u32 at = search->count;
    if (at == search->capacity) {
        if (at == 0 || search->slots[at - 1] < slot) {
            return;
        }
        at--;
    } else {
        search->count++;
    }
    for (; at > 0 && search->slots[at - 1] > slot; at--) {
        search->slots[at] = search->slots[at - 1];
    }
    search->slots[at] = slot;
}

u32 rigid_overlaps(Rigid *rigid, Bounds bounds, u32 *slots, u32 capacity)
{
    OverlapSearch search = {slots, 0, capacity};
    for (u32 p = 0; p < rigid->plane_count; p++) {
        overlap_visit(&search, rigid->planes[p]);
    }
    tree_query(&rigid->fixed, bounds, overlap_visit, &search);
    tree_query(&rigid->moving, bounds, overlap_visit, &search);
    return search.count;
}
