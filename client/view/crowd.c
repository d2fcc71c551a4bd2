/* crowd.c: see crowd.h. */
#include "client/view/crowd.h"

#include <stdlib.h>
#include <string.h>

#define NODE_RADII    4.0f
/* How far from a place others must be, and how many: a node at the surface has four. */
#define HIDING_NODES  1.5f
#define HIDING_POINTS 3.5f

/* The eight nodes around a place: cells and trilinear weights. */
typedef struct Corners {
    i32 low[3];
    f32 share[3]; /* of the upper one along each axis */
} Corners;

static Corners corners_of(Vec3 p, f32 per_m)
{
    Corners c;
    const f32 at[3] = {p.x * per_m, p.y * per_m, p.z * per_m};
    for (u32 k = 0; k < 3; k++) {
        f32 low = floorf(f32_clamp(at[k], -1e8f, 1e8f));
        c.low[k] = (i32)low;
        c.share[k] = f32_clamp(at[k] - low, 0.0f, 1.0f);
    }
    return c;
}

static f32 corner_weight(const Corners *c, u32 corner)
{
    f32 weight = 1.0f;
    for (u32 k = 0; k < 3; k++) {
        weight *= corner >> k & 1 ? c->share[k] : 1.0f - c->share[k];
    }
    return weight;
}

/* The node of a cell; NULL if nothing was added to it and none is wanted. There are more nodes than
 * can be in use. */
static CrowdNode *node_of(Crowd *crowd, const i32 cell[3], bool wanted)
{
    u64 key = (u64)(u32)cell[0] * 0x9E3779B97F4A7C15ull + (u32)cell[1];
    key = key * 0xD1342543DE82EF95ull + (u32)cell[2];
    u32 mask = crowd->node_count - 1;
    for (u32 at = (u32)(key * 0x9E3779B97F4A7C15ull >> 32) & mask;; at = (at + 1) & mask) {
        CrowdNode *node = &crowd->nodes[at];
        if (node->stamp != crowd->stamp) {
            if (!wanted) {
                return NULL;
            }
            *node = (CrowdNode){.cell = {cell[0], cell[1], cell[2]}, .stamp = crowd->stamp};
            return node;
        }
        if (node->cell[0] == cell[0] && node->cell[1] == cell[1] && node->cell[2] == cell[2]) {
            return node;
        }
    }
}

static void corners_find(Crowd *crowd, const Corners *c, bool wanted, CrowdCorners *out)
{
    memcpy(out->low, c->low, sizeof out->low);
    for (u32 corner = 0; corner < 8; corner++) {
        const i32 cell[3] = {c->low[0] + (i32)(corner & 1), c->low[1] + (i32)(corner >> 1 & 1),
                             c->low[2] + (i32)(corner >> 2)};
        out->nodes[corner] = node_of(crowd, cell, wanted);
    }
}

bool crowd_begin(Crowd *crowd, u32 count, f32 radius)
{
    u64 wanted = 1024;
    while (wanted < 9ull * count) {
        wanted *= 2;
    }
    if (wanted > crowd->node_count) {
        CrowdNode *nodes = wanted <= 1u << 30 ? calloc(wanted, sizeof *nodes) : NULL;
        if (!nodes) {
            return false;
        }
        free(crowd->nodes);
        crowd->nodes = nodes;
        crowd->node_count = (u32)wanted;
        crowd->stamp = 0;
    }
    if (++crowd->stamp == 0) {
        memset(crowd->nodes, 0, crowd->node_count * sizeof *crowd->nodes);
        crowd->stamp = 1;
    }
    crowd->any_added = crowd->any_asked = false;
    crowd->per_m = 1.0f / (NODE_RADII * radius);
    return true;
}

void crowd_add(Crowd *crowd, Vec3 position, Vec3 velocity, f32 points)
{
    Corners c = corners_of(position, crowd->per_m);
    f32 square = vec3_length_squared(velocity);
    if (!crowd->any_added || memcmp(crowd->added.low, c.low, sizeof c.low) != 0) {
        corners_find(crowd, &c, true, &crowd->added);
        crowd->any_added = true;
        crowd->any_asked = false; /* there may be more now */
    }
    for (u32 corner = 0; corner < 8; corner++) {
        f32 weight = points * corner_weight(&c, corner);
        CrowdNode *node = crowd->added.nodes[corner];
        node->points += weight;
        node->momentum[0] += weight * velocity.x;
        node->momentum[1] += weight * velocity.y;
        node->momentum[2] += weight * velocity.z;
        node->square += weight * square;
    }
}

CrowdPlace crowd_at(Crowd *crowd, Vec3 position)
{
    CrowdPlace place = {0};
    f32 square = 0.0f;
    Corners c = corners_of(position, crowd->per_m);
    if (!crowd->any_asked || memcmp(crowd->asked.low, c.low, sizeof c.low) != 0) {
        corners_find(crowd, &c, false, &crowd->asked);
        crowd->any_asked = true;
    }
    for (u32 corner = 0; corner < 8; corner++) {
        f32 weight = corner_weight(&c, corner);
        const CrowdNode *node = crowd->asked.nodes[corner];
        place.itself += weight * weight;
        if (node) {
            place.points += weight * node->points;
            place.velocity.x += weight * node->momentum[0];
            place.velocity.y += weight * node->momentum[1];
            place.velocity.z += weight * node->momentum[2];
            square += weight * node->square;
        }
    }
    if (place.points > 0.0f) {
        place.velocity = vec3_scale(place.velocity, 1.0f / place.points);
        square = square / place.points - vec3_length_squared(place.velocity);
        place.spread = sqrtf(f32_max(square, 0.0f));
    }
    return place;
}

bool crowd_hides(Crowd *crowd, Vec3 position)
{
    const f32 at[3] = {position.x, position.y, position.z};
    for (u32 side = 0; side < 6; side++) {
        i32 cell[3];
        for (u32 k = 0; k < 3; k++) {
            f32 away = k != side >> 1 ? 0.0f : side & 1 ? HIDING_NODES : -HIDING_NODES;
            cell[k] = (i32)f32_clamp(floorf(at[k] * crowd->per_m + away + 0.5f), -1e8f, 1e8f);
        }
        const CrowdNode *node = node_of(crowd, cell, false);
        if (!node || node->points < HIDING_POINTS) {
            return false;
        }
    }
    return true;
}

void crowd_finish(Crowd *crowd)
{
    free(crowd->nodes);
    memset(crowd, 0, sizeof *crowd);
}
