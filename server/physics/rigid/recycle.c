/*
 * recycle.c: manifolds of costly shapes (hulls, cylinders, cones, meshes, terrains, compounds) go
 * on while two bodies lie still against each other: until one has moved by more than a small
 * tolerance they are those of an earlier tick, with each point put where its two anchors are now.
 * Box3D and Jolt's cache of body pairs do so, too. Made in the frame of one of the two, manifolds
 * are a pure function of the pose of the other: of what is kept only that pose is saved, and a
 * restored world makes the same ones again. Pairs of spheres, capsules and boxes take less time
 * than what is kept would take in memory.
 */
#include "server/physics/rigid/body.h"

/* How far the smaller body may move against the other (m), also as a share of its size. */
static const f32 still_m = 0.001f, still_share = 0.005f;
/* How much farther ahead contacts may have to look than when they were made (m). */
static const f32 margin_slack_m = 0.002f;

bool shape_is_recycled(const Shape *shape)
{
    switch (shape->kind) {
    case SHAPE_CYLINDER:
    case SHAPE_CONE:
    case SHAPE_HULL:
    case SHAPE_MESH:
    case SHAPE_TERRAIN:
    case SHAPE_COMPOUND:
        return true;
    default:
        return false;
    }
}

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
    return rigid_reserve(rigid, &rigid->recycled_before, &c1, count, sizeof(RecycledPose)) &&
           rigid_reserve(rigid, &rigid->recyclings, &c2, count, sizeof(Recycling)) &&
           rigid_reserve(rigid, &rigid->recyclings_before, &c3, count, sizeof(Recycling)) &&
           rigid_reserve(rigid, &rigid->recycled, &rigid->recycled_capacity, count,
                         sizeof(RecycledPose));
}

/* Each pair finds what is kept of it; until it is looked at, that goes on. */
bool recycle_link(Rigid *rigid, u32 count, u32 room)
{
    u32 capacity = rigid->recycled_room;
    if (count == 0) {
        rigid->recycled_count = 0;
        return true;
    }
    if (!recycle_reserve(rigid, count) ||
        !rigid_reserve(rigid, &rigid->recycled_manifolds_before, &capacity, room,
                       sizeof(Manifold)) ||
        !rigid_reserve(rigid, &rigid->recycled_manifolds, &rigid->recycled_room, room,
                       sizeof(Manifold))) {
        return false;
    }
    swap(&rigid->recycled, &rigid->recycled_before);
    swap(&rigid->recyclings, &rigid->recyclings_before);
    swap(&rigid->recycled_manifolds, &rigid->recycled_manifolds_before);
    u32 before = 0, first = 0;
    for (u32 i = 0; i < rigid->pair_count; i++) {
        Pair *pair = &rigid->pairs[i];
        if (!(pair->kind & PAIR_RECYCLED)) {
            continue;
        }
        const RecycledPose *old = rigid->recycled_before;
        while (before < rigid->recycled_count &&
               (old[before].a < pair->a || (old[before].a == pair->a && old[before].b < pair->b))) {
            before++;
        }
        bool found =
            before < rigid->recycled_count && old[before].a == pair->a && old[before].b == pair->b;
        rigid->recyclings[pair->recycled] =
            (Recycling){.before = before, .first = first, .count = RECYCLED_UNKNOWN, found};
        RecycledPose *pose = &rigid->recycled[pair->recycled];
        if (found) {
            *pose = old[before];
        } else {
            *pose = (RecycledPose){.a = pair->a, .b = pair->b};
        }
        first += pair->kind & PAIR_MANY ? MANIFOLDS_MAX : 1;
    }
    rigid->recycled_count = count;
    return true;
}

void recycle_finish(Rigid *rigid)
{
    u32 kept = 0;
    for (u32 i = 0; i < rigid->recycled_count; i++) {
        if (rigid->recyclings[i].kept) {
            rigid->recycled[kept] = rigid->recycled[i];
            rigid->recyclings[kept++] = rigid->recyclings[i];
        }
    }
    rigid->recycled_count = kept;
}

void recycle_remove_body(Rigid *rigid, u32 slot)
{
    for (u32 i = 0; i < rigid->recycled_count; i++) {
        const RecycledPose *pose = &rigid->recycled[i];
        rigid->recyclings[i].kept = pose->a != slot && pose->b != slot;
    }
    recycle_finish(rigid);
}

/* ---- one pair ---- */

/* The two bodies of a pair: manifolds are kept in the frame of the root, where the other moves. */
typedef struct Couple {
    ShapePose root, other; /* in the world */
    bool turned;           /* the root is b */
    Vec3 position;         /* of the other in the root's frame */
    Quat orientation;
} Couple;

/* What cannot move is the root: poses against it are exact. */
static Couple couple_of(const Rigid *rigid, const Pair *pair)
{
    const Body *a = &rigid->bodies[pair->a], *b = &rigid->bodies[pair->b];
    bool turned = b->motion == BODY_STATIC;
    Couple couple = {
        .root = body_pose(turned ? b : a), .other = body_pose(turned ? a : b), .turned = turned};
    couple.position = quat_rotate_inverse(couple.root.orientation,
                                          vec3_sub(couple.other.position, couple.root.position));
    couple.orientation =
        quat_mul(quat_conjugate(couple.root.orientation), couple.other.orientation);
    return couple;
}

static f32 reach_of(const Shape *shape)
{
    bool ground = shape->kind == SHAPE_MESH || shape->kind == SHAPE_TERRAIN;
    return ground ? INFINITY : shape_reach(shape);
}

/* The manifolds at a kept pose. */
static u32 make(const Couple *couple, const RecycledPose *kept, u32 capacity, Manifold *manifolds)
{
    ShapePose root = {couple->root.shape, vec3_zero(), quat_identity()};
    ShapePose other = {couple->other.shape, kept->position, kept->orientation};
    return couple->turned ? manifold_collide(&other, &root, kept->margin, manifolds, capacity)
                          : manifold_collide(&root, &other, kept->margin, manifolds, capacity);
}

/* The smaller body moved by less than the tolerance: at its own origin, and by its turning. */
static bool is_still(const Couple *couple, const RecycledPose *kept, Quat turn)
{
    f32 small = f32_min(kept->root_reach, kept->other_reach);
    f32 most = f32_min(still_m, still_share * small);
    Vec3 from = kept->position, to = couple->position;
    if (kept->root_reach < kept->other_reach) { /* the root's origin, moved with the other */
        from = quat_rotate_inverse(turn, to);
        to = kept->position;
    }
    f32 turned = 2.0f * vec3_length(vec3(turn.x, turn.y, turn.z));
    return vec3_distance(from, to) + turned * small <= most;
}

/* A kept manifold in the world: each point lies between its anchors on the two bodies. */
static void place(const Couple *couple, const RecycledPose *kept, Quat turn, const Manifold *local,
                  Manifold *manifold)
{
    Vec3 n = couple->turned ? vec3_neg(local->normal) : local->normal; /* root to other */
    manifold->count = local->count;
    manifold->normal = quat_rotate(couple->root.orientation, local->normal);
    for (u32 i = 0; i < local->count; i++) {
        const ManifoldPoint *point = &local->points[i];
        Vec3 on_root = vec3_add_scaled(point->position, -0.5f * point->separation, n);
        Vec3 on_other = vec3_add_scaled(point->position, 0.5f * point->separation, n);
        on_other =
            vec3_add(quat_rotate(turn, vec3_sub(on_other, kept->position)), couple->position);
        Vec3 middle = vec3_scale(vec3_add(on_root, on_other), 0.5f);
        manifold->points[i] =
            (ManifoldPoint){.position = vec3_add(couple->root.position,
                                                 quat_rotate(couple->root.orientation, middle)),
                            .separation = vec3_dot(n, vec3_sub(on_other, on_root)),
                            .feature = point->feature};
    }
}

u32 recycle_collide(Rigid *rigid, const Pair *pair, f32 margin, u32 capacity, Manifold *manifolds)
{
    Recycling *now = &rigid->recyclings[pair->recycled];
    RecycledPose *kept = &rigid->recycled[pair->recycled];
    Manifold *local = &rigid->recycled_manifolds[now->first];
    Couple couple = couple_of(rigid, pair);
    Quat turn = quat_mul(couple.orientation, quat_conjugate(kept->orientation));
    if (!now->kept || margin > kept->margin + margin_slack_m || !is_still(&couple, kept, turn)) {
        *kept = (RecycledPose){.a = pair->a,
                               .b = pair->b,
                               .position = couple.position,
                               .orientation = couple.orientation,
                               .margin = margin,
                               .root_reach = reach_of(couple.root.shape),
                               .other_reach = reach_of(couple.other.shape)};
        now->count = (u8)make(&couple, kept, capacity, local);
        now->kept = true;
        turn = quat_mul(couple.orientation, quat_conjugate(kept->orientation));
    } else if (rigid->recyclings_before[now->before].count == RECYCLED_UNKNOWN) {
        now->count = (u8)make(&couple, kept, capacity, local);
    } else {
        const Recycling *before = &rigid->recyclings_before[now->before];
        now->count = before->count;
        memcpy(local, &rigid->recycled_manifolds_before[before->first],
               now->count * sizeof(Manifold));
    }
    for (u32 i = 0; i < now->count; i++) {
        place(&couple, kept, turn, &local[i], &manifolds[i]);
    }
    return now->count;
}

/* ---- images ---- */

static bool recycled_is_sane(const Rigid *rigid, u32 index)
{
    const RecycledPose *pose = &rigid->recycled[index];
    f32 length = quat_dot(pose->orientation, pose->orientation);
    bool sorted =
        index == 0 || pose[-1].a < pose->a || (pose[-1].a == pose->a && pose[-1].b < pose->b);
    return sorted && pose->a < pose->b && pose->b < rigid->slots &&
           (rigid->bodies[pose->a].flags & BODY_LIVE) &&
           (rigid->bodies[pose->b].flags & BODY_LIVE) && vec3_is_finite(pose->position) &&
           vec3_length(pose->position) <= 4.0f * WORLD_EXTENT_MAX_M &&
           fabsf(length - 1.0f) < 1e-3f && pose->margin >= 0.0f &&
           pose->margin <= WORLD_EXTENT_MAX_M && pose->root_reach >= 0.0f &&
           pose->other_reach >= 0.0f;
}

void recycle_walk(Rigid *rigid, State *state)
{
    u32 count = rigid->recycled_count;
    state_count(state, &count, rigid->def.body_capacity * 64u + 4096u);
    bool load = state->mode == STATE_LOAD;
    if (load && !state->failed && !recycle_reserve(rigid, count)) {
        state->failed = true;
    }
    rigid->recycled_count = state->failed ? 0 : count;
    state_bytes(state, rigid->recycled, (size_t)rigid->recycled_count * sizeof(RecycledPose));
    for (u32 i = 0; i < rigid->recycled_count && load && !state->failed; i++) {
        rigid->recyclings[i] = (Recycling){.count = RECYCLED_UNKNOWN, .kept = true};
        state->failed = !recycled_is_sane(rigid, i);
    }
}
