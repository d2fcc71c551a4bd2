/*
 * manifold_gather.c: reduces the points of many parts to few manifolds of four points.
 */
#include "server/physics/rigid/narrow/manifold_solid.h"
#include "shared/base/check.h"

/* Normals within 5° are merged. */
#define SAME_NORMAL_COSINE 0.9962f

u32 feature_mix(u32 part, u32 feature)
{
    u32 x = (part + 1) * 0x9E3779B1u ^ (feature + 0x7F4A7C15u) * 0x85EBCA6Bu;
    x ^= x >> 15;
    x *= 0x2C1B3C6Du;
    x ^= x >> 13;
    return x;
}

void gather_begin(Gather *gather, f32 same)
{
    gather->count = 0;
    gather->same = same;
}

static GatherGroup *group_for(Gather *gather, Vec3 normal, f32 deepest)
{
    GatherGroup *best = NULL, *shallowest = NULL;
    f32 most = SAME_NORMAL_COSINE;
    for (u32 i = 0; i < gather->count; i++) {
        GatherGroup *group = &gather->groups[i];
        f32 cosine = vec3_dot(group->normal, normal);
        if (cosine > most) {
            most = cosine;
            best = group;
        }
        if (shallowest == NULL || group->deepest > shallowest->deepest) {
            shallowest = group;
        }
    }
    if (best != NULL) {
        return best;
    }
    if (gather->count < MANIFOLDS_MAX) {
        best = &gather->groups[gather->count++];
    } else if (shallowest != NULL && shallowest->deepest > deepest) {
        best = shallowest;
    } else {
        return NULL;
    }
    best->count = 0;
    best->normal = normal;
    best->deepest = INFINITY;
    return best;
}

/* Keeps the deepest point and the outermost ones in twelve directions: a corner of at most 150°
 * is never lost, in whatever order the points come. */
static void group_thin(GatherGroup *group)
{
    static const f32 cosine[12] = {1.0f,  0.8660254f,  0.5f,  0.0f, -0.5f, -0.8660254f,
                                   -1.0f, -0.8660254f, -0.5f, 0.0f, 0.5f,  0.8660254f};
    Vec3 u = vec3_perpendicular(group->normal), v = vec3_cross(group->normal, u);
    u32 keep = 0; /* bit mask */
    for (u32 d = 0; d < 13; d++) {
        u32 best = 0;
        f32 most = -INFINITY;
        for (u32 i = 0; i < group->count; i++) {
            Vec3 p = group->points[i].position;
            f32 along = d < 12 ? cosine[d] * vec3_dot(p, u) + cosine[(d + 9) % 12] * vec3_dot(p, v)
                               : -group->points[i].separation;
            if (along > most) {
                most = along;
                best = i;
            }
        }
        keep |= 1u << best;
    }
    u32 kept = 0;
    for (u32 i = 0; i < group->count; i++) {
        if (keep & 1u << i) {
            group->points[kept++] = group->points[i];
        }
    }
    group->count = kept;
}

static void group_add(Gather *gather, GatherGroup *group, Vec3 normal, const ManifoldPoint *point)
{
    if (point->separation < group->deepest) {
        group->deepest = point->separation;
        group->normal = normal;
    }
    for (u32 i = 0; i < group->count; i++) {
        ManifoldPoint *other = &group->points[i];
        if (vec3_length_squared(vec3_sub(other->position, point->position)) <
            gather->same * gather->same) {
            /* Corners persist longer than cuts; otherwise the deeper one is kept. */
            bool cut = (point->feature & FEATURE_CUT) != 0;
            bool other_cut = (other->feature & FEATURE_CUT) != 0;
            if (cut != other_cut ? other_cut : point->separation < other->separation) {
                *other = *point;
            }
            return;
        }
    }
    if (group->count == GATHER_POINTS) {
        group_thin(group);
    }
    group->points[group->count++] = *point;
}

void gather_add(Gather *gather, Vec3 normal, const ManifoldPoint *points, u32 count)
{
    f32 deepest = INFINITY;
    for (u32 i = 0; i < count; i++) {
        deepest = f32_min(deepest, points[i].separation);
    }
    GatherGroup *group = count > 0 ? group_for(gather, normal, deepest) : NULL;
    for (u32 i = 0; i < count && group != NULL; i++) {
        group_add(gather, group, normal, &points[i]);
    }
}

/* Hashed ids of different points may collide by chance: later ones are incremented. */
static void make_unique(Manifold *manifolds, u32 count)
{
    for (u32 i = 0; i < count * MANIFOLD_POINTS; i++) {
        Manifold *m = &manifolds[i / MANIFOLD_POINTS];
        if (i % MANIFOLD_POINTS >= m->count) {
            continue;
        }
        u32 *feature = &m->points[i % MANIFOLD_POINTS].feature;
        for (u32 j = 0; j < i; j++) {
            const Manifold *n = &manifolds[j / MANIFOLD_POINTS];
            if (j % MANIFOLD_POINTS < n->count &&
                n->points[j % MANIFOLD_POINTS].feature == *feature) {
                (*feature)++;
                j = UINT32_MAX; /* restart: the next id may be taken, too */
            }
        }
    }
}

u32 gather_end(Gather *gather, Manifold *manifolds, u32 capacity)
{
    bool kept[MANIFOLDS_MAX];
    CHECK(gather->count <= MANIFOLDS_MAX);
    for (u32 i = 0; i < gather->count; i++) {
        u32 deeper = 0;
        for (u32 j = 0; j < gather->count; j++) {
            f32 d = gather->groups[j].deepest, e = gather->groups[i].deepest;
            deeper += d < e || (d == e && j < i);
        }
        kept[i] = deeper < capacity;
    }
    u32 n = 0;
    for (u32 i = 0; i < gather->count; i++) {
        if (kept[i]) {
            GatherGroup *group = &gather->groups[i];
            manifolds[n].normal = group->normal;
            manifolds[n].count = 0;
            manifold_reduce(group->points, group->count, group->normal, &manifolds[n]);
            n++;
        }
    }
    make_unique(manifolds, n);
    return n;
}
