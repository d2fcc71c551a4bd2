/*
 * contact.c: which pairs of bodies are near (broad phase over two trees, dynamic and fixed) and
 * the contacts that they keep, sorted by slots. The set of pairs is a pure function of the fat
 * bounds, so the shape of the trees leaves no trace in results.
 */
#include "server/physics/rigid/body.h"

#include <stdlib.h>

bool contact_reserve(Rigid *rigid, u32 contacts)
{
    if (contacts <= rigid->contact_capacity) {
        return true;
    }
    u32 capacity = u32_max(contacts, rigid->contact_capacity + rigid->contact_capacity / 2);
    Contact *a = realloc(rigid->contacts, (size_t)capacity * sizeof(*a));
    rigid->contacts = a ? a : rigid->contacts;
    Contact *b = realloc(rigid->merged, (size_t)capacity * sizeof(*b));
    rigid->merged = b ? b : rigid->merged;
    ContactRow *rows = realloc(rigid->rows, (size_t)capacity * sizeof(*rows));
    rigid->rows = rows ? rows : rigid->rows;
    PairKey *pairs = realloc(rigid->pairs, (size_t)capacity * 2 * sizeof(*pairs));
    rigid->pairs = pairs ? pairs : rigid->pairs;
    if (!a || !b || !rows || !pairs) {
        return false;
    }
    rigid->memory += (u64)(capacity - rigid->contact_capacity) *
                     (2 * sizeof(*a) + sizeof(*rows) + 2 * sizeof(*pairs));
    rigid->contact_capacity = capacity;
    rigid->row_capacity = capacity;
    rigid->pair_capacity = capacity * 2;
    return true;
}

/* ---- broad phase ---- */

static bool is_plane(const Body *body)
{
    return body->shape.kind == SHAPE_PLANE;
}

void broad_insert(Rigid *rigid, u32 slot)
{
    Body *body = &rigid->bodies[slot];
    if (is_plane(body)) {
        u32 at = rigid->plane_count++;
        for (; at > 0 && rigid->planes[at - 1] > slot; at--) {
            rigid->planes[at] = rigid->planes[at - 1];
        }
        rigid->planes[at] = slot;
        return;
    }
    Tree *tree = body->motion == BODY_STATIC ? &rigid->fixed : &rigid->moving;
    rigid->leaves[slot] = tree_insert(tree, body->fat, slot);
}

void broad_remove(Rigid *rigid, u32 slot)
{
    Body *body = &rigid->bodies[slot];
    if (is_plane(body)) {
        u32 kept = 0;
        for (u32 i = 0; i < rigid->plane_count; i++) {
            if (rigid->planes[i] != slot) {
                rigid->planes[kept++] = rigid->planes[i];
            }
        }
        rigid->plane_count = kept;
        return;
    }
    tree_remove(body->motion == BODY_STATIC ? &rigid->fixed : &rigid->moving, rigid->leaves[slot]);
}

/* Bounds that cover the shape now and after a tick at its present velocity. */
static Bounds swept_bounds(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    Bounds bounds = shape_bounds(&body->shape, body->position, body->orientation);
    Vec3 step = vec3_scale(rigid->states[slot].velocity, rigid->def.tick_s);
    bounds.min = vec3_add(bounds.min, vec3_min(step, vec3_zero()));
    bounds.max = vec3_add(bounds.max, vec3_max(step, vec3_zero()));
    return bounds_grow(bounds, RIGID_MARGIN_M * 0.5f);
}

void broad_refresh(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        Body *body = &rigid->bodies[i];
        if (!body_is_active(body)) {
            continue;
        }
        Bounds need = swept_bounds(rigid, i);
        /* Also shrink bounds that a fast flight left far too large. */
        Bounds loose = bounds_grow(need, 8.0f * RIGID_FAT_M);
        if (bounds_contain(&body->fat, &need) && bounds_contain(&loose, &body->fat)) {
            continue;
        }
        body->fat = bounds_grow(need, RIGID_FAT_M);
        body->flags |= BODY_MOVED;
        tree_remove(&rigid->moving, rigid->leaves[i]);
        rigid->leaves[i] = tree_insert(&rigid->moving, body->fat, i);
    }
}

static bool pair_collides(const Rigid *rigid, u32 one, u32 other)
{
    const Body *a = &rigid->bodies[one], *b = &rigid->bodies[other];
    return (a->motion == BODY_DYNAMIC || b->motion == BODY_DYNAMIC) &&
           !joint_connects(rigid, one, other);
}

/* Do the bounds reach below the plane (grown by the fat margin)? */
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
    u32 slot;
} PairSearch;

static void pair_add(Rigid *rigid, u32 one, u32 other)
{
    if (one == other || !pair_collides(rigid, one, other)) {
        return;
    }
    if (rigid->pair_count == rigid->pair_capacity) {
        u32 capacity = rigid->pair_capacity + rigid->pair_capacity / 2;
        PairKey *grown = realloc(rigid->pairs, (size_t)capacity * sizeof(*grown));
        if (!grown) {
            return;
        }
        rigid->pairs = grown;
        rigid->pair_capacity = capacity;
    }
    PairKey key = {u32_min(one, other), u32_max(one, other)};
    rigid->pairs[rigid->pair_count++] = key;
}

static void pair_visit(void *context, u32 other)
{
    PairSearch *search = context;
    /* Of two moved bodies the lower slot reports the pair. */
    if (other < search->slot && (search->rigid->bodies[other].flags & BODY_MOVED)) {
        return;
    }
    pair_add(search->rigid, search->slot, other);
}

static void find_pairs(Rigid *rigid)
{
    rigid->pair_count = 0;
    for (u32 i = 0; i < rigid->slots; i++) {
        Body *body = &rigid->bodies[i];
        if (!(body->flags & BODY_MOVED)) {
            continue;
        }
        PairSearch search = {rigid, i};
        if (is_plane(body)) {
            for (u32 j = 0; j < rigid->slots; j++) {
                if ((rigid->bodies[j].flags & BODY_LIVE) && !is_plane(&rigid->bodies[j]) &&
                    !(rigid->bodies[j].flags & BODY_MOVED) &&
                    bounds_meet_plane(body, &rigid->bodies[j].fat)) {
                    pair_add(rigid, i, j);
                }
            }
            continue;
        }
        tree_query(&rigid->moving, body->fat, pair_visit, &search);
        if (body->motion == BODY_STATIC) {
            continue;
        }
        tree_query(&rigid->fixed, body->fat, pair_visit, &search);
        for (u32 p = 0; p < rigid->plane_count; p++) {
            if (bounds_meet_plane(&rigid->bodies[rigid->planes[p]], &body->fat)) {
                pair_add(rigid, i, rigid->planes[p]);
            }
        }
    }
}

static inline u64 pair_order(u32 a, u32 b)
{
    return (u64)a << 32 | b;
}

static int pair_compare(const void *x, const void *y)
{
    const PairKey *p = x, *q = y;
    u64 a = pair_order(p->a, p->b), b = pair_order(q->a, q->b);
    return a < b ? -1 : a > b;
}

/* In place, so that nothing is allocated (qsort may): heap sort. */
static void pairs_sort(PairKey *pairs, u32 count)
{
    for (u32 start = count / 2; start-- > 0;) {
        for (u32 root = start, child; (child = 2 * root + 1) < count; root = child) {
            child += child + 1 < count && pair_compare(&pairs[child], &pairs[child + 1]) < 0;
            if (pair_compare(&pairs[root], &pairs[child]) >= 0) {
                break;
            }
            PairKey t = pairs[root];
            pairs[root] = pairs[child];
            pairs[child] = t;
        }
    }
    for (u32 end = count; end-- > 1;) {
        PairKey first = pairs[0];
        pairs[0] = pairs[end];
        pairs[end] = first;
        for (u32 root = 0, child; (child = 2 * root + 1) < end; root = child) {
            child += child + 1 < end && pair_compare(&pairs[child], &pairs[child + 1]) < 0;
            if (pair_compare(&pairs[root], &pairs[child]) >= 0) {
                break;
            }
            PairKey t = pairs[root];
            pairs[root] = pairs[child];
            pairs[child] = t;
        }
    }
}

/* Contacts that a moved body left, and that no longer are near, end. */
static u32 drop_far(Rigid *rigid)
{
    u32 dropped = 0;
    for (u32 i = 0; i < rigid->contact_count; i++) {
        Contact *c = &rigid->contacts[i];
        const Body *a = &rigid->bodies[c->a], *b = &rigid->bodies[c->b];
        if (((a->flags | b->flags) & BODY_MOVED) &&
            (!pair_is_near(a, b) || joint_connects(rigid, c->a, c->b))) {
            c->flags |= CONTACT_DEAD;
            dropped++;
        }
    }
    return dropped;
}

/* Merges the sorted new pairs with the sorted contacts that live. */
static void merge(Rigid *rigid)
{
    if (!contact_reserve(rigid, rigid->contact_count + rigid->pair_count)) {
        rigid->pair_count = 0;
    }
    u32 n = 0, i = 0, p = 0;
    while (i < rigid->contact_count || p < rigid->pair_count) {
        u64 old = i < rigid->contact_count ? pair_order(rigid->contacts[i].a, rigid->contacts[i].b)
                                           : UINT64_MAX;
        u64 new =
            p < rigid->pair_count ? pair_order(rigid->pairs[p].a, rigid->pairs[p].b) : UINT64_MAX;
        if (old <= new) {
            if (!(rigid->contacts[i].flags & CONTACT_DEAD)) {
                rigid->merged[n++] = rigid->contacts[i];
            }
            i++;
            p += old == new;
        } else {
            Contact *c = &rigid->merged[n++];
            memset(c, 0, sizeof(*c));
            c->a = rigid->pairs[p].a;
            c->b = rigid->pairs[p].b;
            p++;
        }
    }
    Contact *swap = rigid->contacts;
    rigid->contacts = rigid->merged;
    rigid->merged = swap;
    rigid->contact_count = n;
}

void contact_update_pairs(Rigid *rigid)
{
    broad_refresh(rigid);
    find_pairs(rigid);
    pairs_sort(rigid->pairs, rigid->pair_count);
    u32 dropped = drop_far(rigid);
    if (dropped > 0 || rigid->pair_count > 0) {
        merge(rigid);
    }
    for (u32 i = 0; i < rigid->slots; i++) {
        rigid->bodies[i].flags &= ~(u32)BODY_MOVED;
    }
}

void contact_remove_body(Rigid *rigid, u32 slot)
{
    u32 kept = 0;
    for (u32 i = 0; i < rigid->contact_count; i++) {
        Contact *c = &rigid->contacts[i];
        if (c->a == slot || c->b == slot) {
            /* What leaned on it must fall. */
            body_wake(rigid, c->a == slot ? c->b : c->a);
        } else {
            rigid->contacts[kept++] = *c;
        }
    }
    rigid->contact_count = kept;
}

typedef struct OverlapSearch {
    u32 *slots;
    u32 count, capacity;
} OverlapSearch;

static void overlap_visit(void *context, u32 slot)
{
    OverlapSearch *search = context;
    if (search->count < search->capacity) {
        search->slots[search->count++] = slot;
    }
}

u32 rigid_overlaps(Rigid *rigid, Bounds bounds, u32 *slots, u32 capacity)
{
    OverlapSearch search = {slots, 0, capacity};
    for (u32 p = 0; p < rigid->plane_count; p++) {
        overlap_visit(&search, rigid->planes[p]);
    }
    tree_query(&rigid->fixed, bounds, overlap_visit, &search);
    tree_query(&rigid->moving, bounds, overlap_visit, &search);
    for (u32 i = 1; i < search.count; i++) {
        u32 slot = slots[i], at = i;
        for (; at > 0 && slots[at - 1] > slot; at--) {
            slots[at] = slots[at - 1];
        }
        slots[at] = slot;
    }
    return search.count;
}

/* ---- narrow phase ---- */

/* Impulses of points whose feature is still there go on. */
static void match_features(const Manifold *old, Manifold *now)
{
    for (u32 i = 0; i < now->count; i++) {
        now->points[i].impulse = 0.0f;
        for (u32 j = 0; j < old->count; j++) {
            if (old->points[j].feature == now->points[i].feature) {
                now->points[i].impulse = old->points[j].impulse;
                break;
            }
        }
    }
}

static void narrow_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        Contact *c = &rigid->contacts[i];
        const Body *a = &rigid->bodies[c->a], *b = &rigid->bodies[c->b];
        if (!body_is_active(a) && !body_is_active(b)) {
            c->flags &= ~(u32)CONTACT_BEGAN;
            continue;
        }
        Manifold old = c->manifold;
        Manifold now;
        memset(&now, 0, sizeof(now));
        ShapePose pa = {&a->shape, a->position, a->orientation};
        ShapePose pb = {&b->shape, b->position, b->orientation};
        manifold_collide(&pa, &pb, ccd_margin(rigid, c->a, c->b), &now, 1);
        match_features(&old, &now);
        f32 nearest = RIGID_MARGIN_M;
        for (u32 p = 0; p < now.count; p++) {
            nearest = f32_min(nearest, now.points[p].separation);
        }
        bool touched = (c->flags & CONTACT_TOUCHING) != 0;
        bool touches = now.count > 0 && nearest < RIGID_MARGIN_M;
        c->flags =
            (touches ? CONTACT_TOUCHING : 0u) | (now.count > 0 && !touched ? CONTACT_BEGAN : 0u);
        c->manifold = now;
        if (now.count == 0) {
            c->friction_impulse = vec3_zero();
            c->rolling_impulse = vec3_zero();
            c->twist_impulse = 0.0f;
        }
    }
}

void contact_narrow(Rigid *rigid, Jobs *jobs)
{
    /* Each contact writes only itself: any split gives the same bits. */
    jobs_run(jobs, rigid->contact_count, 64, narrow_range, rigid);
    rigid->penetration_max = 0.0f;
    rigid->touching = 0;
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        rigid->touching += c->flags & CONTACT_TOUCHING;
        for (u32 p = 0; p < c->manifold.count; p++) {
            rigid->penetration_max =
                f32_max(rigid->penetration_max, -c->manifold.points[p].separation);
        }
    }
}
