/* point_density.c: see point_density.h. */
#include "client/view/point_density.h"

#include <stdlib.h>
#include <string.h>

#define NODE_RADII    4.0f
/* Minimal distance and number of other points: a node at the surface has four. */
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
static DensityNode *node_of(PointDensity *density, const i32 cell[3], bool wanted)
{
    u64 key = (u64)(u32)cell[0] * 0x9E3779B97F4A7C15ull + (u32)cell[1];
    key = key * 0xD1342543DE82EF95ull + (u32)cell[2];
    u32 mask = density->node_count - 1;
    for (u32 at = (u32)(key * 0x9E3779B97F4A7C15ull >> 32) & mask;; at = (at + 1) & mask) {
        DensityNode *node = &density->nodes[at];
        if (node->stamp != density->stamp) {
            if (!wanted) {
                return NULL;
            }
            *node = (DensityNode){.cell = {cell[0], cell[1], cell[2]}, .stamp = density->stamp};
            return node;
        }
        if (node->cell[0] == cell[0] && node->cell[1] == cell[1] && node->cell[2] == cell[2]) {
            return node;
        }
    }
}

static void corners_find(PointDensity *density, const Corners *c, bool wanted, DensityCorners *out)
{
    memcpy(out->low, c->low, sizeof out->low);
    for (u32 corner = 0; corner < 8; corner++) {
        const i32 cell[3] = {c->low[0] + (i32)(corner & 1), c->low[1] + (i32)(corner >> 1 & 1),
                             c->low[2] + (i32)(corner >> 2)};
        out->nodes[corner] = node_of(density, cell, wanted);
    }
}

bool point_density_begin(PointDensity *density, u32 count, f32 radius)
{
    u64 wanted = 1024;
    while (wanted < 9ull * count) {
        wanted *= 2;
    }
    if (wanted > density->node_count) {
        DensityNode *nodes = wanted <= 1u << 30 ? calloc(wanted, sizeof *nodes) : NULL;
        if (!nodes) {
            return false;
        }
        free(density->nodes);
        density->nodes = nodes;
        density->node_count = (u32)wanted;
        density->stamp = 0;
    }
    if (++density->stamp == 0) {
        memset(density->nodes, 0, density->node_count * sizeof *density->nodes);
        density->stamp = 1;
    }
    density->any_added = density->any_asked = false;
    density->per_m = 1.0f / (NODE_RADII * radius);
    return true;
}

void point_density_add(PointDensity *density, Vec3 position, Vec3 velocity, f32 points)
{
    Corners c = corners_of(position, density->per_m);
    f32 square = vec3_length_squared(velocity);
    if (!density->any_added || memcmp(density->added.low, c.low, sizeof c.low) != 0) {
        corners_find(density, &c, true, &density->added);
        density->any_added = true;
        density->any_asked = false; /* there may be more now */
    }
    for (u32 corner = 0; corner < 8; corner++) {
        f32 weight = points * corner_weight(&c, corner);
        DensityNode *node = density->added.nodes[corner];
        node->points += weight;
        node->momentum[0] += weight * velocity.x;
        node->momentum[1] += weight * velocity.y;
        node->momentum[2] += weight * velocity.z;
        node->square += weight * square;
    }
}

DensitySample point_density_at(PointDensity *density, Vec3 position)
{
    DensitySample place = {0};
    f32 square = 0.0f;
    Corners c = corners_of(position, density->per_m);
    if (!density->any_asked || memcmp(density->asked.low, c.low, sizeof c.low) != 0) {
        corners_find(density, &c, false, &density->asked);
        density->any_asked = true;
    }
    for (u32 corner = 0; corner < 8; corner++) {
        f32 weight = corner_weight(&c, corner);
        const DensityNode *node = density->asked.nodes[corner];
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

bool point_density_hides(PointDensity *density, Vec3 position)
{
    const f32 at[3] = {position.x, position.y, position.z};
    for (u32 side = 0; side < 6; side++) {
        i32 cell[3];
        for (u32 k = 0; k < 3; k++) {
            f32 away = k != side >> 1 ? 0.0f : side & 1 ? HIDING_NODES : -HIDING_NODES;
            cell[k] = (i32)f32_clamp(floorf(at[k] * density->per_m + away + 0.5f), -1e8f, 1e8f);
        }
        const DensityNode *node = node_of(density, cell, false);
        if (!node || node->points < HIDING_POINTS) {
            return false;
        }
    }
    return true;
}

void point_density_finish(PointDensity *density)
{
    free(density->nodes);
    memset(density, 0, sizeof *density);
}
