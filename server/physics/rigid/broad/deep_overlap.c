/*
 * deep_overlap.c: many bodies in one place, for example when hundreds are spawned there. All of
 * them overlap all others, so n of them would need n² contacts; instead each pushes only a few
 * random others, which is enough to separate them. The random choice depends on the slots of the
 * two bodies: it is a pure function of positions and slots, so thread order and restoring do not
 * change it. Bodies not in deep overlap with many others keep all their pairs.
 */
#include "server/physics/rigid/rigid_internal.h"

#include <stdatomic.h>

/* Bodies whose centres are nearer than this fraction of their inner radii are in one place. */
#define DEEP_OVERLAP_SHARE 0.95f

enum {
    /* Number of others in its place above which a body's pairs are limited, and approximate
     * number of pairs kept. In piles there are none, in the worst jams one or two. */
    DEEP_OVERLAP_KEPT = 8
};

bool deep_overlap_begin(Rigid *rigid)
{
    u32 bodies = rigid->def.body_capacity;
    if (!rigid_reserve(rigid, &rigid->deep_overlaps, &rigid->deep_overlap_capacity, bodies,
                       sizeof(DeepOverlap))) {
        return false;
    }
    for (u32 i = 0; i < rigid->slots; i++) {
        const Body *body = &rigid->bodies[i];
        bool can_overlap =
            (body->flags & BODY_LIVE) && body->motion == BODY_DYNAMIC && !body->sensor;
        rigid->deep_overlaps[i].centre = body->position;
        rigid->deep_overlaps[i].inner =
            can_overlap ? DEEP_OVERLAP_SHARE * shape_inner_radius(&body->shape) : 0.0f;
        atomic_init(&rigid->deep_overlaps[i].count, 0);
    }
    return true;
}

void deep_overlap_count(Rigid *rigid, u32 a, u32 b)
{
    DeepOverlap *one = &rigid->deep_overlaps[a], *other = &rigid->deep_overlaps[b];
    f32 near = one->inner + other->inner;
    if (one->inner > 0.0f && other->inner > 0.0f &&
        vec3_length_squared(vec3_sub(one->centre, other->centre)) < near * near) {
        atomic_fetch_add_explicit(&one->count, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&other->count, 1, memory_order_relaxed);
    }
}

bool deep_overlap_exists(const Rigid *rigid)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        if (atomic_load_explicit(&rigid->deep_overlaps[i].count, memory_order_relaxed) >
            DEEP_OVERLAP_KEPT) {
            return true;
        }
    }
    return false;
}

bool deep_overlap_has(const Rigid *rigid, u32 slot)
{
    return rigid->overlaps_deeply && atomic_load_explicit(&rigid->deep_overlaps[slot].count,
                                                          memory_order_relaxed) > DEEP_OVERLAP_KEPT;
}

static u32 lot(u32 a, u32 b)
{
    u32 x = (a << 16 | b) * 0x9E3779B1u;
    x = (x ^ x >> 16) * 0x85EBCA6Bu;
    x = (x ^ x >> 13) * 0xC2B2AE35u;
    return x ^ x >> 16;
}

bool deep_overlap_keeps(const Rigid *rigid, u32 a, u32 b)
{
    u32 one = atomic_load_explicit(&rigid->deep_overlaps[a].count, memory_order_relaxed);
    u32 other = atomic_load_explicit(&rigid->deep_overlaps[b].count, memory_order_relaxed);
    u32 least = u32_min(one, other);
    return least <= DEEP_OVERLAP_KEPT ||
           (u64)lot(u32_min(a, b), u32_max(a, b)) * least >> 32 < DEEP_OVERLAP_KEPT;
}

Vec3 deep_overlap_apart(const Rigid *rigid, u32 a, u32 b, Vec3 apart)
{
    const f32 least_share = 1e-3f;
    f32 least = least_share * f32_min(rigid->deep_overlaps[a].inner, rigid->deep_overlaps[b].inner);
    if (!(vec3_length_squared(apart) < least * least)) {
        return apart;
    }
    u32 x = lot(a, b);
    Vec3 way = vec3((f32)(x & 1023u) - 511.5f, (f32)(x >> 10 & 1023u) - 511.5f,
                    (f32)(x >> 20 & 1023u) - 511.5f);
    return vec3_scale(way, least / vec3_length(way));
}
