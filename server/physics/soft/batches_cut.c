/*
 * batches_cut.c: partitions constraints for parallel solving: bodies into groups, large bodies into
 * slabs with boundaries between them. Slabs are ranges of the particles as numbered (a grid's
 * rows), or along the longest axis of the rest shape, whichever keeps the points of a constraint
 * closer together. A slab is at least twice as thick as constraints are long, so that boundaries do
 * not overlap.
 */
#include "server/physics/soft/batches_cut.h"

#include "server/physics/soft/constraint.h"
#include "shared/base/error.h"

#include <stdlib.h>

enum {
    /* In units of one distance: a good load for one thread; a slab; the least worth passing to
     * another thread. Bodies below 1 / CUT_SHARE of the total are not divided. */
    CUT_WEIGHT = 6000,
    CUT_SHARE = 8,
    SLAB_WEIGHT = 3000,
    GROUP_WEIGHT = 600,
    /* Ropes per group: their chains are solved eight at a time, at the cost of one. */
    GROUP_ROPES = SIMD_LANES
};

/* Fraction of the constraints that may be longer than half the thickness of a slab. */
static const f64 long_share = 0.02;

static u32 weight_of(const SoftConstraint *constraint)
{
    static const u8 weights[CONSTRAINT_KINDS] = {
        [CONSTRAINT_DISTANCE] = 1, [CONSTRAINT_DIHEDRAL] = 6, [CONSTRAINT_ISOMETRIC] = 4,
        [CONSTRAINT_AREA] = 3,     [CONSTRAINT_VOLUME] = 4,   [CONSTRAINT_NEO_HOOKEAN] = 6};
    return weights[constraint->kind];
}

static u64 body_weight(const Soft *soft, const SoftBody *body)
{
    u64 weight = 0;
    for (u32 i = 0; i < body->constraint_count; i++) {
        weight += weight_of(&soft->constraints[body->first_constraint + i]);
    }
    return weight + body->count / 4;
}

/* A string of edges: one chain or two. */
static bool is_rope(const SoftBody *body)
{
    return body->def.method == SOFT_XPBD && body->triangle_count == 0 &&
           body->constraint_count <= 2 * body->count;
}

/* ---- the order of the particles of a body ---- */

typedef struct Rank {
    f32 at;
    u32 particle;
} Rank;

static int rank_order(const void *left, const void *right)
{
    const Rank *a = left, *b = right;
    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    return a->particle < b->particle ? -1 : a->particle > b->particle;
}

static f32 axis_of(Vec3 v, u32 axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static void rank_along_axis(const Soft *soft, const SoftBody *body, Rank *ranks, u32 *rank_of)
{
    const Vec3 *rest = soft->rest + body->first;
    Vec3 low = rest[0], high = rest[0];
    for (u32 i = 1; i < body->count; i++) {
        low = vec3_min(low, rest[i]);
        high = vec3_max(high, rest[i]);
    }
    Vec3 size = vec3_sub(high, low);
    u32 axis = size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
    for (u32 i = 0; i < body->count; i++) {
        ranks[i] = (Rank){axis_of(rest[i], axis), i};
    }
    qsort(ranks, body->count, sizeof *ranks, rank_order);
    for (u32 i = 0; i < body->count; i++) {
        rank_of[ranks[i].particle] = i;
    }
}

static int u32_order(const void *left, const void *right)
{
    u32 a = *(const u32 *)left, b = *(const u32 *)right;
    return a < b ? -1 : a > b;
}

/* Distance within which the points of most constraints lie in the order of rank_of (NULL: as
 * numbered). */
static u32 spread_of(const Soft *soft, const SoftBody *body, const u32 *rank_of, u32 *spreads)
{
    u32 count = 0;
    for (u32 i = 0; i < body->constraint_count; i++) {
        const SoftConstraint *c = &soft->constraints[body->first_constraint + i];
        u32 low = UINT32_MAX, high = 0;
        for (u32 k = 0; k < constraint_points(c->kind); k++) {
            if (soft->points[c->point[k]].inverse_mass > 0.0f) {
                u32 at = c->point[k] - body->first;
                at = rank_of != NULL ? rank_of[at] : at;
                low = u32_min(low, at);
                high = u32_max(high, at);
            }
        }
        if (low < high) {
            spreads[count++] = high - low;
        }
    }
    if (count == 0) {
        return 1;
    }
    qsort(spreads, count, sizeof *spreads, u32_order);
    return spreads[(u32)((f64)(count - 1) * (1.0 - long_share))];
}

/* ---- cutting ---- */

static bool add_group(ConstraintBatches *batches, BatchGroup group)
{
    if (!memory_grow((void **)&batches->groups, &batches->group_capacity, batches->group_count + 1,
                     sizeof *batches->groups)) {
        return false;
    }
    batches->groups[batches->group_count++] = group;
    return true;
}

/* A slab has a multiple of this many points of a grid: rows are solved eight at a time. */
static u32 slab_unit(const SoftBody *body)
{
    return body->columns * SIMD_LANES;
}

/* First point of a slab. */
static u32 slab_start(const SoftBody *body, u32 slab, u32 slabs, bool sorted)
{
    u32 unit = sorted || body->columns == 0 ? 1 : slab_unit(body);
    return slab == slabs ? body->count : (u32)((u64)(body->count / unit) * slab / slabs) * unit;
}

/* Adds the slabs of a body with particles in the order of ranks (NULL: as numbered). */
static bool add_slabs(Soft *soft, u32 index, u32 slabs, const Rank *ranks)
{
    ConstraintBatches *batches = soft->batches;
    const SoftBody *body = &soft->bodies[index];
    if (!memory_grow((void **)&batches->cut, &batches->cut_capacity, batches->cut_count + 1,
                     sizeof *batches->cut) ||
        !memory_grow((void **)&batches->boundaries, &batches->boundary_capacity,
                     batches->boundary_count + slabs - 1, sizeof *batches->boundaries)) {
        return false;
    }
    batches->cut[batches->cut_count++] = (BatchBody){.body = index,
                                                     .first_group = batches->group_count,
                                                     .first_boundary = batches->boundary_count,
                                                     .group_count = slabs};
    for (u32 s = 0; s + 1 < slabs; s++) {
        batches->boundaries[batches->boundary_count++] = (BatchSpan){0, 0};
    }
    for (u32 s = 0; s < slabs; s++) {
        u32 first = slab_start(body, s, slabs, ranks != NULL);
        u32 end = slab_start(body, s + 1, slabs, ranks != NULL);
        for (u32 i = first; i < end; i++) {
            u32 particle = body->first + (ranks != NULL ? ranks[i].particle : i);
            batches->order[body->first + i] = particle;
            batches->group_of[particle] = batches->group_count;
        }
        BatchGroup group = {.particles = {body->first + first, end - first},
                            .ordered = ranks != NULL};
        if (!add_group(batches, group)) {
            return false;
        }
    }
    return true;
}

/* Divides a large body if possible: 1; 0 if it stays whole; or an error. */
static int cut_body(Soft *soft, u32 index, u64 weight)
{
    const SoftBody *body = &soft->bodies[index];
    Rank *ranks = malloc(body->count * sizeof *ranks);
    u32 *rank_of = malloc(body->count * sizeof *rank_of);
    u32 *spreads = malloc(u32_max(body->constraint_count, 1) * sizeof *spreads);
    int result = ERROR_MEMORY;
    if (ranks != NULL && rank_of != NULL && spreads != NULL) {
        u32 numbered = spread_of(soft, body, NULL, spreads);
        rank_along_axis(soft, body, ranks, rank_of);
        u32 along = spread_of(soft, body, rank_of, spreads);
        bool sorted = along + along / 4 < numbered; /* locality in memory is worth a little */
        u64 most = body->count / (2 * (u64)(sorted ? along : numbered));
        if (!sorted && body->columns != 0) {
            most = u64_min(most, body->count / slab_unit(body));
        }
        u32 slabs = (u32)u64_min(weight / SLAB_WEIGHT, most) & ~1u;
        result = slabs < 2                                              ? 0
                 : add_slabs(soft, index, slabs, sorted ? ranks : NULL) ? 1
                                                                        : ERROR_MEMORY;
    }
    free(ranks);
    free(rank_of);
    free(spreads);
    return result;
}

int batches_cut(Soft *soft)
{
    ConstraintBatches *batches = soft->batches;
    u64 open_weight = GROUP_WEIGHT; /* of the last group, while it accepts more bodies */
    u32 ropes = 0;                  /* in it, if it has nothing else */
    for (u32 i = 0; i < soft->body_count; i++) {
        batches->weight += body_weight(soft, &soft->bodies[i]);
    }
    u64 least = u64_max(CUT_WEIGHT, batches->weight / CUT_SHARE);
    for (u32 i = 0; i < soft->body_count; i++) {
        const SoftBody *body = &soft->bodies[i];
        u64 weight = body_weight(soft, body);
        /* Gas pressure acts on a body as a whole, before its constraints. */
        bool whole = body->def.method != SOFT_XPBD || body->def.pressure > 0.0f;
        int cut = weight >= least && !whole ? cut_body(soft, i, weight) : 0;
        if (cut < 0) {
            return cut;
        }
        if (cut > 0) {
            open_weight = GROUP_WEIGHT;
            ropes = 0;
            continue;
        }
        bool joins = ropes > 0 && ropes < GROUP_ROPES && is_rope(body);
        if (open_weight >= GROUP_WEIGHT && !joins) {
            BatchGroup group = {.particles = {body->first, 0}, .bodies = {i, 0}};
            if (!add_group(batches, group)) {
                return ERROR_MEMORY;
            }
            open_weight = 0;
            ropes = 0;
        }
        BatchGroup *group = &batches->groups[batches->group_count - 1];
        group->particles.count += body->count;
        group->bodies.count++;
        ropes = ropes + 1 == group->bodies.count && is_rope(body) ? ropes + 1 : 0;
        open_weight += weight;
        for (u32 p = body->first; p < body->first + body->count; p++) {
            batches->order[p] = p;
            batches->group_of[p] = batches->group_count - 1;
        }
    }
    return ERROR_OK;
}

/* ---- assigning constraints to pieces ---- */

/* The first and last group whose particles it writes; false if it writes none. */
static bool groups_of(const Soft *soft, const SoftConstraint *c, u32 *first, u32 *last)
{
    *first = UINT32_MAX;
    *last = 0;
    bool shares_pins = c->kind == CONSTRAINT_DISTANCE, moves = false;
    for (u32 k = 0; k < constraint_points(c->kind); k++) {
        bool free_point = soft->points[c->point[k]].inverse_mass > 0.0f;
        moves = moves || free_point;
        if (free_point || !shares_pins) {
            u32 group = soft->batches->group_of[c->point[k]];
            *first = u32_min(*first, group);
            *last = u32_max(*last, group);
        }
    }
    return moves;
}

/* Claims the constraint's particles for a boundary, unless another boundary has one of them. */
static bool claim(const SoftConstraint *c, u32 boundary, u32 *boundary_of)
{
    for (u32 k = 0; k < constraint_points(c->kind); k++) {
        if (boundary_of[c->point[k]] != SOFT_NONE && boundary_of[c->point[k]] != boundary) {
            return false;
        }
    }
    for (u32 k = 0; k < constraint_points(c->kind); k++) {
        boundary_of[c->point[k]] = boundary;
    }
    return true;
}

u32 batches_place(const Soft *soft, u32 constraint, u32 cut, u32 *boundary_of)
{
    const ConstraintBatches *batches = soft->batches;
    const SoftConstraint *c = &soft->constraints[constraint];
    u32 first, last;
    if (!groups_of(soft, c, &first, &last)) {
        return SOFT_NONE;
    }
    if (first == last) {
        return first;
    }
    u32 boundary = batches->cut[cut].first_boundary + first - batches->cut[cut].first_group;
    if (last == first + 1 && claim(c, boundary, boundary_of)) {
        return batches->group_count + boundary;
    }
    return batches->group_count + batches->boundary_count + cut;
}
