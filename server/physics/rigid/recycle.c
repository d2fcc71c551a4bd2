/*
 * recycle.c: reuses manifolds while two bodies lie still relative to each other: until one has
 * moved by more than a small tolerance the manifolds of an earlier tick are used, with current
 * separations. This saves the narrow phase of expensive shapes, and stabilizes piles (see place).
 * Box3D and Jolt's body pair cache do this, too. Computed in the frame of one of the two, manifolds
 * are a pure function of the pose of the other: only that pose is saved, and a restored world
 * computes the same manifolds. A ball has one point straight below its centre, so it is not cached.
 */
#include "server/physics/rigid/rigid_internal.h"

/* Allowed motion of the smaller body relative to the other (m), also as a fraction of its size. */
static const f32 still_m = 0.005f, still_share = 0.02f;
/* Allowed increase of the contact margin since the manifolds were made (m). */
static const f32 margin_slack_m = 0.002f;

/* ---- lists, sorted as pairs are ---- */

static void swap(void *one, void *other)
{
    void *p, *q;
    memcpy(&p, one, sizeof p);
    memcpy(&q, other, sizeof q);
    memcpy(one, &q, sizeof q);
    memcpy(other, &p, sizeof p);
}

bool recycle_reserve(Rigid *rigid, u32 count)
{
    u32 c1 = rigid->recycled_capacity, c2 = c1, c3 = c1;
    return rigid_reserve(rigid, &rigid->recycled_now, &c1, count, sizeof(RecycledPose)) &&
           rigid_reserve(rigid, &rigid->recyclings, &c2, count, sizeof(Recycling)) &&
           rigid_reserve(rigid, &rigid->recyclings_before, &c3, count, sizeof(Recycling)) &&
           rigid_reserve(rigid, &rigid->recycled, &rigid->recycled_capacity, count,
                         sizeof(RecycledPose));
}

bool recycle_begin(Rigid *rigid, u32 count, u32 manifolds)
{
    u32 capacity = rigid->recycled_manifold_capacity;
    if (!recycle_reserve(rigid, count) ||
        !rigid_reserve(rigid, &rigid->recycled_manifolds_before, &capacity, manifolds,
                       sizeof(Manifold)) ||
        !rigid_reserve(rigid, &rigid->recycled_manifolds, &rigid->recycled_manifold_capacity,
                       manifolds, sizeof(Manifold))) {
        return false;
    }
    swap(&rigid->recycled_manifolds, &rigid->recycled_manifolds_before);
    return true;
}

/* Until the pair is evaluated, kept data continues. */
void recycle_link(Rigid *rigid, Pair *pair, u32 index, u32 first)
{
    u32 before = pair->recycled;
    bool found = before != RECYCLED_NONE;
    rigid->recyclings[index] = (Recycling){before, first, RECYCLED_UNKNOWN, found};
    if (found) {
        rigid->recycled_now[index] = rigid->recycled[before];
    }
    pair->recycled = index;
}

void recycle_keep(Rigid *rigid, Pair *pair, u32 index)
{
    rigid->recycled[index] = rigid->recycled_now[pair->recycled];
    rigid->recyclings_before[index] = rigid->recyclings[pair->recycled];
    pair->recycled = index;
}

void recycle_find(Rigid *rigid)
{
    const RecycledPose *kept = rigid->recycled;
    u32 at = 0;
    for (u32 i = 0; i < rigid->pair_count; i++) {
        Pair *pair = &rigid->pairs[i];
        while (at < rigid->recycled_count &&
               (kept[at].a < pair->a || (kept[at].a == pair->a && kept[at].b < pair->b))) {
            at++;
        }
        bool found = at < rigid->recycled_count && kept[at].a == pair->a && kept[at].b == pair->b;
        pair->recycled = found ? at : RECYCLED_NONE;
    }
}

void recycle_remove_body(Rigid *rigid, u32 slot)
{
    u32 kept = 0;
    for (u32 i = 0; i < rigid->recycled_count; i++) {
        if (rigid->recycled[i].a != slot && rigid->recycled[i].b != slot) {
            rigid->recycled[kept] = rigid->recycled[i];
            rigid->recyclings_before[kept++] = rigid->recyclings_before[i];
        }
    }
    rigid->recycled_count = kept;
}

/* ---- one pair ---- */

/* The two bodies of a pair: manifolds are kept in the frame of the root, in which the other
 * moves. */
typedef struct Couple {
    const Body *root, *other;
    bool swapped;  /* the root is b */
    Vec3 position; /* of the other's origin in the root's frame */
    Quat orientation;
} Couple;

/* An immovable body is the root: relative poses are exact. */
static inline Couple couple_of(const Rigid *rigid, const Pair *pair)
{
    const Body *a = &rigid->bodies[pair->a], *b = &rigid->bodies[pair->b];
    bool swapped = b->motion == BODY_STATIC;
    const Body *root = swapped ? b : a, *other = swapped ? a : b;
    Vec3 apart = vec3_sub(body_origin(other), body_origin(root));
    if (rigid->overlaps_deeply && !swapped) {
        apart = deep_overlap_apart(rigid, pair->a, pair->b, apart);
    }
    return (Couple){root, other, swapped, quat_rotate_inverse(root->orientation, apart),
                    quat_mul(quat_conjugate(root->orientation), other->orientation)};
}

/* From a's centre of mass, in the root's frame at the kept pose: `to` b's, `origin` the other's
 * shape. */
typedef struct Arms {
    Vec3 from, to, origin;
} Arms;

static Arms arms_of(const Couple *couple, const RecycledPose *kept)
{
    Vec3 root = couple->root->centre, other = kept->position;
    if (couple->other->flags & BODY_OFFSET) {
        other = vec3_add(other, quat_rotate(kept->orientation, couple->other->centre));
    }
    Vec3 from = couple->swapped ? other : root, to = couple->swapped ? root : other;
    return (Arms){from, vec3_sub(to, from), vec3_sub(kept->position, from)};
}

/* Manifolds at a kept pose, along the world axes of that time, relative to a's centre of mass. */
static u32 make(const Couple *couple, const RecycledPose *kept, u32 capacity, Manifold *manifolds)
{
    ShapePose root = {&couple->root->shape, vec3_zero(), quat_identity()};
    ShapePose other = {&couple->other->shape, kept->position, kept->orientation};
    u32 count = couple->swapped
                    ? manifold_collide(&other, &root, kept->margin, manifolds, capacity)
                    : manifold_collide(&root, &other, kept->margin, manifolds, capacity);
    Arms arms = arms_of(couple, kept);
    for (u32 m = 0; m < count; m++) {
        Manifold *manifold = &manifolds[m];
        manifold->normal = quat_rotate(kept->root_orientation, manifold->normal);
        manifold->apart = quat_rotate(kept->root_orientation, arms.to);
        for (u32 i = 0; i < manifold->count; i++) {
            ManifoldPoint *point = &manifold->points[i];
            point->position =
                quat_rotate(kept->root_orientation, vec3_sub(point->position, arms.from));
        }
    }
    return count;
}

/* Whether the smaller body moved by less than the tolerance: at its origin, and by its rotation. */
static bool is_still(const Couple *couple, const RecycledPose *kept, Quat rotation)
{
    f32 root = couple->root->reach, other = couple->other->reach;
    f32 small = f32_min(root, other);
    f32 most = f32_min(still_m, still_share * small);
    Vec3 from = kept->position, to = couple->position;
    if (root < other) { /* the root's origin, moved with the other */
        from = quat_rotate_inverse(rotation, to);
        to = kept->position;
    }
    f32 angle = 2.0f * vec3_length(vec3(rotation.x, rotation.y, rotation.z));
    if (!(vec3_distance(from, to) + angle * small <= most)) {
        return false;
    }
    if (couple->root->motion == BODY_STATIC) {
        return true;
    }
    /* Arms are kept in world axes: a common rotation of both counts as well. */
    Quat both = quat_mul(couple->root->orientation, quat_conjugate(kept->root_orientation));
    f32 large = isfinite(other) ? f32_max(root, other) : root;
    return 2.0f * vec3_length(vec3(both.x, both.y, both.z)) * large <= most;
}

/* Motion of a pair since its manifolds were made, along the axes of that time. */
typedef struct Drift {
    Vec3 shift, origin; /* m: displacement of the other's origin, and its position relative to
                           a's centre of mass */
    Quat rotation;      /* of the other about its origin */
    f32 side;           /* 1: normals point from the root to the other, −1: back */
} Drift;

static Drift drift_of(const Couple *couple, const RecycledPose *kept, Quat rotation)
{
    Quat q = kept->root_orientation;
    Vec3 axis = quat_rotate(q, vec3(rotation.x, rotation.y, rotation.z));
    return (Drift){.shift = quat_rotate(q, vec3_sub(couple->position, kept->position)),
                   .origin = quat_rotate(q, arms_of(couple, kept).origin),
                   .rotation = {rotation.w, axis.x, axis.y, axis.z},
                   .side = couple->swapped ? -1.0f : 1.0f};
}

/* Arms and normal keep their world values from when the manifold was made; only separations
 * follow the bodies. So the load on a slightly leaning body does not lean with it: otherwise
 * soft contacts would let columns buckle like elastic ones beyond their critical height
 * (Greenhill 1881). Box3D keeps anchors likewise, over a larger distance. */
static void place(const Drift *drift, Vec3 centre, const Manifold *made, Manifold *manifold)
{
    Vec3 n = vec3_scale(made->normal, drift->side);
    f32 apart = vec3_dot(n, drift->shift);
    /* Rotation moves a point at r from the other's origin along n by r · (q⁻¹ n − n). */
    Vec3 swapped = vec3_sub(quat_rotate_inverse(drift->rotation, n), n);
    *manifold = *made;
    for (u32 i = 0; i < made->count; i++) {
        ManifoldPoint *point = &manifold->points[i];
        Vec3 arm = vec3_sub(point->position, drift->origin);
        Vec3 on_other = vec3_add_scaled(arm, 0.5f * point->separation, n);
        point->position = vec3_add(centre, point->position);
        point->separation += apart + vec3_dot(on_other, swapped);
    }
}

u32 recycle_collide(Rigid *rigid, const Pair *pair, f32 margin, u32 capacity, Manifold *manifolds)
{
    Recycling *now = &rigid->recyclings[pair->recycled];
    RecycledPose *kept = &rigid->recycled_now[pair->recycled];
    Manifold *made = &rigid->recycled_manifolds[now->first];
    Couple couple = couple_of(rigid, pair);
    Quat rotation = quat_mul(couple.orientation, quat_conjugate(kept->orientation));
    if (!now->kept || margin > kept->margin + margin_slack_m ||
        !is_still(&couple, kept, rotation)) {
        /* A non-finite velocity must not give a non-finite margin, because the margin is saved. */
        f32 bounded = f32_min(margin, WORLD_EXTENT_MAX_M);
        *kept = (RecycledPose){.a = pair->a,
                               .b = pair->b,
                               .position = couple.position,
                               .orientation = quat_normalize(couple.orientation),
                               .root_orientation = quat_normalize(couple.root->orientation),
                               .margin = bounded};
        now->count = (u8)make(&couple, kept, capacity, made);
        now->kept = true;
        rotation = quat_mul(couple.orientation, quat_conjugate(kept->orientation));
    } else if (rigid->recyclings_before[now->before].count == RECYCLED_UNKNOWN) {
        now->count = (u8)make(&couple, kept, capacity, made);
    } else {
        const Recycling *before = &rigid->recyclings_before[now->before];
        now->count = before->count;
        memcpy(made, &rigid->recycled_manifolds_before[before->first],
               now->count * sizeof(Manifold));
    }
    if (now->count == 0) {
        return 0;
    }
    Drift drift = drift_of(&couple, kept, rotation);
    Vec3 centre = rigid->bodies[pair->a].position;
    for (u32 i = 0; i < now->count; i++) {
        place(&drift, centre, &made[i], &manifolds[i]);
    }
    return now->count;
}
