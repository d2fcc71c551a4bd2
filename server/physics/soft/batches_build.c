/*
 * batches_build.c: builds batches from constraints: sorts by piece and common properties, colours
 * so that the eight of a batch share no particle, and writes them out.
 */
#include "server/physics/soft/batches_cut.h"
#include "server/physics/soft/batches_wide.h"
#include "server/physics/soft/chain.h"
#include "server/physics/soft/constraint.h"
#include "shared/base/error.h"

#include <stdlib.h>

enum {
    COLORS = 64,
    CHAIN_SORT = 0xff
};

/* Sort key of a constraint. Constraints that differ only in the index form one run. */
typedef struct BatchPlacement {
    u32 piece;
    u32 sort;       /* role, kind or CHAIN_SORT, loose, exact, fixed */
    u32 compliance; /* its bits; 0 where each lane has its own */
    u32 base;
    u32 constraint; /* or chain */
} BatchPlacement;

typedef struct BatchBuilder {
    Soft *soft;
    ConstraintBatches *batches;
    Chains chains;
    BatchPlacement *places; /* [count] */
    u32 count;
    u32 *boundary_of; /* [soft->count] */
    u64 *taken;       /* [soft->count] colours */
    u32 *waiting;     /* [count] uncoloured constraints of a run */
    u32 *colored;     /* [count] coloured ones, and */
    u8 *color;        /* [count] their colours */
    u32 *sorted;      /* [count] by colour */
    u64 *keys;        /* [count] of chains, sorted */
} BatchBuilder;

void batches_destroy(ConstraintBatches *batches)
{
    if (batches != NULL) {
        free(batches->groups);
        free(batches->boundaries);
        free(batches->cut);
        free(batches->runs);
        free(batches->stream);
        free(batches->tension);
        free(batches->order);
        free(batches->group_of);
        free(batches->rotations);
        free(batches);
    }
}

u64 batches_memory(const ConstraintBatches *batches)
{
    return batches == NULL
               ? 0
               : sizeof *batches + batches->group_capacity * sizeof *batches->groups +
                     batches->boundary_capacity * sizeof *batches->boundaries +
                     batches->cut_capacity * sizeof *batches->cut +
                     batches->run_capacity * sizeof *batches->runs +
                     (u64)batches->stream_capacity * sizeof *batches->stream +
                     (u64)batches->tension_count * sizeof *batches->tension +
                     (u64)batches->particles * (sizeof *batches->order + sizeof *batches->group_of);
}

/* ---- the stream ---- */

static f32x8 *reserve(ConstraintBatches *batches, u32 count)
{
    if (count > batches->stream_capacity - batches->stream_used) {
        u32 capacity = u32_max(batches->stream_used + count, 2 * batches->stream_capacity);
        f32x8 *stream = aligned_alloc(64, ((size_t)capacity * sizeof *stream + 63) / 64 * 64);
        if (stream == NULL) {
            return NULL;
        }
        if (batches->stream_used != 0) {
            memcpy(stream, batches->stream, batches->stream_used * sizeof *stream);
        }
        free(batches->stream);
        batches->stream = stream;
        batches->stream_capacity = capacity;
    }
    f32x8 *at = batches->stream + batches->stream_used;
    batches->stream_used += count;
    return at;
}

/* Puts the pinned point of a distance last. */
static void distance_points(const Soft *soft, const SoftConstraint *c, u32 point[2])
{
    bool swap = soft->points[c->point[0]].inverse_mass <= 0.0f;
    point[0] = c->point[swap ? 1 : 0];
    point[1] = c->point[swap ? 0 : 1];
}

static bool write_wide(BatchBuilder *builder, const BatchRun *run, const u32 *constraints,
                       u32 count)
{
    u32 rows = wide_rows(run->kind);
    u32 size = (u32)(sizeof(u16[4][SIMD_LANES]) + rows * sizeof(f32x8));
    void *at = reserve(builder->batches, size / sizeof(f32x8));
    if (at == NULL) {
        return false;
    }
    BatchWide batch;
    for (u32 i = 0; i < SIMD_LANES; i++) {
        const SoftConstraint *c = &builder->soft->constraints[constraints[i < count ? i : 0]];
        for (u32 k = 0; k < 4; k++) {
            u32 point = c->point[k < constraint_points(c->kind) ? k : 0];
            batch.point[k][i] = (u16)((point - run->base) * BATCH_POINT);
        }
        batch.compliance[i] = c->compliance;
        batch.low[i] = c->kind == CONSTRAINT_NEO_HOOKEAN ? 1.0f / (6.0f * c->low) : c->low;
        for (u32 k = 2; k < rows && k < 12 && c->shape != SOFT_NONE; k++) {
            batch.value[k - 2][i] = builder->soft->shapes[c->shape].value[k - 2];
        }
        if (constraint_is_hinge(c->kind)) {
            batch.value[rows - 3][i] = c->high;
        }
        if (c->kind == CONSTRAINT_NEO_HOOKEAN) {
            batch.value[10][i] =
                stiff_limit(builder->soft, builder->soft->matter[c->point[0]].body);
        }
    }
    memcpy(at, &batch, size);
    return true;
}

static bool write_batch(BatchBuilder *builder, const BatchRun *run, const u32 *constraints,
                        u32 count)
{
    if (run->kind != CONSTRAINT_DISTANCE) {
        return write_wide(builder, run, constraints, count);
    }
    u32 size = (u32)(run->exact ? sizeof(BatchDistance) : sizeof(BatchLimits));
    void *at = reserve(builder->batches, size / sizeof(f32x8));
    if (at == NULL) {
        return false;
    }
    BatchLimits batch;
    for (u32 i = 0; i < SIMD_LANES; i++) {
        const SoftConstraint *c = &builder->soft->constraints[constraints[i < count ? i : 0]];
        u32 point[2];
        distance_points(builder->soft, c, point);
        batch.point[0][i] = (u16)((point[0] - run->base) * BATCH_POINT);
        batch.point[1][i] = (u16)((point[1] - run->base) * BATCH_POINT);
        batch.low[i] = c->low;
        batch.high[i] = c->high;
    }
    memcpy(at, &batch, size);
    return true;
}

/* ---- colours ---- */

/* Points that constraints of one batch may not share. */
static u32 written_points(const BatchBuilder *builder, const BatchRun *run, u32 constraint,
                          u32 point[4])
{
    const SoftConstraint *c = &builder->soft->constraints[constraint];
    if (c->kind == CONSTRAINT_DISTANCE) {
        distance_points(builder->soft, c, point);
        return run->fixed ? 1 : 2;
    }
    memcpy(point, c->point, sizeof c->point);
    return constraint_points(c->kind);
}

/* Colours waiting constraints until colours run out; returns how many remain. */
static u32 color_waiting(BatchBuilder *builder, const BatchRun *run, u32 count,
                         u32 start[COLORS + 1])
{
    u32 waiting = 0, colored = 0;
    u32 *list = builder->waiting;
    memset(start, 0, (COLORS + 1) * sizeof *start);
    for (u32 i = 0; i < count; i++) {
        u32 point[4], points = written_points(builder, run, list[i], point);
        for (u32 k = 0; k < points; k++) {
            builder->taken[point[k]] = 0;
        }
    }
    for (u32 i = 0; i < count; i++) {
        u32 point[4], points = written_points(builder, run, list[i], point);
        u64 taken = 0;
        for (u32 k = 0; k < points; k++) {
            taken |= builder->taken[point[k]];
        }
        if (~taken == 0) {
            list[waiting++] = list[i];
            continue;
        }
        u32 color = (u32)__builtin_ctzll(~taken);
        for (u32 k = 0; k < points; k++) {
            builder->taken[point[k]] |= 1ull << color;
        }
        start[color + 1]++;
        builder->color[colored] = (u8)color;
        builder->colored[colored++] = list[i];
    }
    for (u32 c = 0; c < COLORS; c++) {
        start[c + 1] += start[c];
    }
    u32 next[COLORS];
    memcpy(next, start, sizeof next);
    for (u32 i = 0; i < colored; i++) {
        builder->sorted[next[builder->color[i]]++] = builder->colored[i];
    }
    return waiting;
}

static bool write_loose(BatchBuilder *builder, BatchRun *run, u32 count)
{
    u32 each = sizeof(f32x8) / sizeof(u32);
    void *at = reserve(builder->batches, (count + each - 1) / each);
    if (at != NULL) {
        memcpy(at, builder->waiting, count * sizeof *builder->waiting);
        run->count = count;
    }
    return at != NULL;
}

/* ---- chains ---- */

static int key_order(const void *left, const void *right)
{
    u64 a = *(const u64 *)left, b = *(const u64 *)right;
    return a < b ? -1 : a > b;
}

/* Writes one batch of `count` chains, the longest first. Unused lanes repeat the first. */
static bool write_chain_batch(BatchBuilder *builder, const u64 *keys, u32 count)
{
    const Chains *all = &builder->chains;
    const Chain *chains[SIMD_LANES];
    for (u32 k = 0; k < SIMD_LANES; k++) {
        chains[k] = &all->chains[(u32)keys[k < count ? k : 0]];
    }
    u32 links = chains[0]->links;
    f32x8 *at = reserve(builder->batches, chain_size(links));
    if (at == NULL) {
        return false;
    }
    ChainHead *head = (void *)at;
    ChainPoint *point = (void *)(head + 1);
    memset(at, 0, chain_size(links) * sizeof *at);
    head->links = links;
    head->tension = builder->batches->tension_count;
    builder->batches->tension_count += links + 1;
    head->even = chains[count - 1]->links;
    for (u32 k = 0; k < SIMD_LANES; k++) {
        const u32 *points = all->points + chains[k]->first;
        const u32 *edges = all->edges + chains[k]->first;
        for (u32 i = 0; i <= links; i++) {
            point[i].at[k] = points[u32_min(i, chains[k]->links)] * (u32)sizeof(SoftPoint);
            if (i < chains[k]->links) {
                const SoftConstraint *edge = &builder->soft->constraints[edges[i]];
                point[i].rest[k] = edge->low;
                head->compliance[k] = edge->compliance;
            }
        }
    }
    return true;
}

static bool add_run(ConstraintBatches *batches, BatchRun run)
{
    if (!memory_grow((void **)&batches->runs, &batches->run_capacity, batches->run_count + 1,
                     sizeof *batches->runs)) {
        return false;
    }
    batches->runs[batches->run_count++] = run;
    return true;
}

/* Writes chains (indices in `waiting`) as one run, or each batch as its own: sorted by colour,
 * so that those of a batch share no point, then by role, then by length. */
static bool write_chains(BatchBuilder *builder, u32 count, bool apart)
{
    ConstraintBatches *batches = builder->batches;
    u64 *keys = builder->keys;
    if (count == 0) {
        return true;
    }
    BatchRun run = {.at = batches->stream_used, .chain = 1};
    for (u32 i = 0; i < count; i++) {
        const Chain *chain = &builder->chains.chains[builder->waiting[i]];
        u64 shorter = 0xfffff - u32_min(chain->links, 0xfffff);
        keys[i] =
            (u64)(chain->color << 4 | chain->role) << 52 | shorter << 32 | builder->waiting[i];
    }
    qsort(keys, count, sizeof *keys, key_order);
    for (u32 i = 0, lanes; i < count; i += lanes) {
        for (lanes = 1;
             lanes < SIMD_LANES && i + lanes < count && keys[i + lanes] >> 52 == keys[i] >> 52;) {
            lanes++;
        }
        run.role = (u8)builder->chains.chains[(u32)keys[i]].role;
        if (!write_chain_batch(builder, keys + i, lanes)) {
            return false;
        }
        run.count++;
        if (apart) {
            if (!add_run(batches, run)) {
                return false;
            }
            run.at = batches->stream_used;
            run.count = 0;
        }
    }
    return apart || add_run(batches, run);
}

/* Writes the chains that cross several groups of a body. */
static bool write_lines(BatchBuilder *builder, u32 set)
{
    ConstraintBatches *batches = builder->batches;
    u32 first = batches->group_count + batches->boundary_count + batches->cut_count;
    batches->lines[set].first = batches->run_count;
    for (u32 cut = 0; cut < batches->cut_count; cut++) {
        u32 count = 0;
        for (u32 i = 0; i < builder->chains.count; i++) {
            const Chain *chain = &builder->chains.chains[i];
            if (chain->links > 0 && chain->piece == first + cut && chain->color == set) {
                builder->waiting[count++] = i;
            }
        }
        if (!write_chains(builder, count, true)) {
            return false;
        }
    }
    batches->lines[set].count = batches->run_count - batches->lines[set].first;
    return true;
}

/* Writes one run of the constraints in `waiting`, or for distances one run per colour. */
static bool write_run(BatchBuilder *builder, BatchRun run, u32 count)
{
    ConstraintBatches *batches = builder->batches;
    run.at = batches->stream_used;
    if (run.loose) {
        return write_loose(builder, &run, count) && add_run(batches, run);
    }
    while (count > 0) {
        u32 start[COLORS + 1];
        count = color_waiting(builder, &run, count, start);
        for (u32 c = 0; c < COLORS && start[c] < start[COLORS]; c++) {
            for (u32 i = start[c]; i < start[c + 1]; i += SIMD_LANES) {
                u32 lanes = u32_min(start[c + 1] - i, SIMD_LANES);
                if (!write_batch(builder, &run, builder->sorted + i, lanes)) {
                    return false;
                }
                run.count++;
            }
            if (run.kind == CONSTRAINT_DISTANCE) {
                if (!add_run(batches, run)) {
                    return false;
                }
                run.at = batches->stream_used;
                run.count = 0;
            }
        }
    }
    return run.kind == CONSTRAINT_DISTANCE || add_run(batches, run);
}

/* ---- places ---- */

/* Bending last: of the orders tried, this leaves the least strain in hanging strips and flags. */
static u32 role_rank(u32 role)
{
    static const u8 ranks[ROLE_COUNT] = {
        [ROLE_BEND] = 1, [ROLE_VOLUME] = 0, [ROLE_SHEAR] = 2, [ROLE_STRETCH] = 3, [ROLE_LIMIT] = 4};
    return ranks[role];
}

static bool has_pinned_point(const Soft *soft, const SoftConstraint *c)
{
    for (u32 k = 0; k < constraint_points(c->kind); k++) {
        if (soft->points[c->point[k]].inverse_mass <= 0.0f) {
            return true;
        }
    }
    return false;
}

/* Finds a base from which 16-bit indices reach all its points; otherwise the constraint cannot
 * be batched. */
static bool find_base(const SoftConstraint *c, u32 first, u32 *base)
{
    u32 low = UINT32_MAX, high = 0;
    for (u32 k = 0; k < constraint_points(c->kind); k++) {
        low = u32_min(low, c->point[k]);
        high = u32_max(high, c->point[k]);
    }
    *base = first + ((low - first) >> 13 << 13);
    return high - *base <= BATCH_REACH;
}

static int place_order(const void *left, const void *right)
{
    const BatchPlacement *a = left, *b = right;
    if (a->piece != b->piece) {
        return a->piece < b->piece ? -1 : 1;
    }
    if (a->sort != b->sort) {
        return a->sort < b->sort ? -1 : 1;
    }
    if (a->compliance != b->compliance) {
        return a->compliance < b->compliance ? -1 : 1;
    }
    if (a->base != b->base) {
        return a->base < b->base ? -1 : 1;
    }
    return a->constraint < b->constraint ? -1 : a->constraint > b->constraint;
}

static void place_body(BatchBuilder *builder, u32 index, u32 cut)
{
    const Soft *soft = builder->soft;
    const SoftBody *body = &soft->bodies[index];
    u32 end = body->first_constraint + body->constraint_count;
    for (u32 i = body->first_constraint; i < end && body->def.method == SOFT_XPBD; i++) {
        const SoftConstraint *c = &soft->constraints[i];
        if (builder->chains.taken[i] != 0 || stiff_has(soft, index, c)) {
            continue;
        }
        BatchPlacement place = {.piece = batches_place(soft, i, cut, builder->boundary_of),
                                .constraint = i};
        if (place.piece == SOFT_NONE) {
            continue;
        }
        /* The small bodies of a group share batches. */
        const BatchGroup *whole = place.piece < builder->batches->group_count &&
                                          builder->batches->groups[place.piece].bodies.count > 0
                                      ? &builder->batches->groups[place.piece]
                                      : NULL;
        u32 first = whole != NULL ? whole->particles.first : body->first;
        u32 loose = !find_base(c, first, &place.base);
        bool distance = c->kind == CONSTRAINT_DISTANCE;
        u32 exact = distance && c->low == c->high, fixed = has_pinned_point(soft, c);
        place.sort =
            role_rank(c->role) << 24 | (u32)c->kind << 16 | loose << 2 | exact << 1 | fixed;
        if (distance) {
            memcpy(&place.compliance, &c->compliance, sizeof place.compliance);
        }
        if (loose) {
            place.compliance = place.base = 0;
            place.sort &= ~3u;
        }
        builder->places[builder->count++] = place;
    }
}

static void place_chains(BatchBuilder *builder)
{
    for (u32 i = 0; i < builder->chains.count; i++) {
        const Chain *chain = &builder->chains.chains[i];
        if (chain->links > 0 && chain->piece < builder->batches->group_count) {
            builder->places[builder->count++] =
                (BatchPlacement){.piece = chain->piece,
                                 .sort = role_rank(chain->role) << 24 | CHAIN_SORT << 16,
                                 .constraint = i};
        }
    }
}

static void place_all(BatchBuilder *builder)
{
    const ConstraintBatches *batches = builder->batches;
    u32 cut = 0;
    for (u32 i = 0; i < builder->soft->body_count; i++) {
        while (cut < batches->cut_count && batches->cut[cut].body < i) {
            cut++;
        }
        place_body(builder, i, cut);
    }
    place_chains(builder);
    qsort(builder->places, builder->count, sizeof *builder->places, place_order);
}

static BatchSpan *runs_of(ConstraintBatches *batches, u32 piece)
{
    if (piece < batches->group_count) {
        return &batches->groups[piece].runs;
    }
    piece -= batches->group_count;
    return piece < batches->boundary_count ? &batches->boundaries[piece]
                                           : &batches->cut[piece - batches->boundary_count].runs;
}

static int write_all(BatchBuilder *builder)
{
    for (u32 i = 0, end; i < builder->count; i = end) {
        BatchPlacement place = builder->places[i];
        u32 count = 0;
        for (end = i; end < builder->count; end++) {
            BatchPlacement next = builder->places[end];
            builder->waiting[count++] = next.constraint;
            next.constraint = place.constraint;
            if (memcmp(&next, &place, sizeof next) != 0) {
                count--;
                break;
            }
        }
        BatchSpan *span = runs_of(builder->batches, place.piece);
        span->first = span->count == 0 ? builder->batches->run_count : span->first;
        bool written = false;
        if ((place.sort >> 16 & 0xff) == CHAIN_SORT) {
            written = write_chains(builder, count, false);
        } else {
            const SoftConstraint *c = &builder->soft->constraints[place.constraint];
            BatchRun run = {.base = place.base,
                            .compliance = c->compliance,
                            .kind = c->kind,
                            .role = c->role,
                            .loose = place.sort >> 2 & 1,
                            .exact = place.sort >> 1 & 1,
                            .fixed = place.sort & 1};
            for (u32 k = 0; k < count && constraint_is_hinge(run.kind); k++) {
                f32 softness = builder->soft->constraints[builder->waiting[k]].high;
                run.compliance = k == 0 ? softness : f32_min(run.compliance, softness);
            }
            written = write_run(builder, run, count);
        }
        if (!written) {
            return ERROR_MEMORY;
        }
        span->count = builder->batches->run_count - span->first;
    }
    for (u32 set = 0; set < LINE_SETS; set++) {
        if (!write_lines(builder, set)) {
            return ERROR_MEMORY;
        }
    }
    size_t bytes =
        ((size_t)builder->batches->tension_count + 1) * sizeof *builder->batches->tension;
    builder->batches->tension = aligned_alloc(sizeof(f32x8), bytes);
    if (builder->batches->tension == NULL) {
        return ERROR_MEMORY;
    }
    memset(builder->batches->tension, 0, bytes);
    return ERROR_OK;
}

int batches_create(Soft *soft)
{
    batches_destroy(soft->batches);
    soft->batches = calloc(1, sizeof *soft->batches);
    if (soft->batches == NULL) {
        return ERROR_MEMORY;
    }
    ConstraintBatches *batches = soft->batches;
    size_t points = u32_max(soft->count, 1), count = u32_max(soft->constraint_count, 1);
    batches->particles = soft->count;
    batches->order = malloc(points * sizeof *batches->order);
    batches->group_of = malloc(points * sizeof *batches->group_of);
    BatchBuilder builder = {.soft = soft,
                            .batches = batches,
                            .places = malloc(count * sizeof *builder.places),
                            .boundary_of = malloc(points * sizeof *builder.boundary_of),
                            .taken = malloc(points * sizeof *builder.taken),
                            .waiting = malloc(count * sizeof *builder.waiting),
                            .colored = malloc(count * sizeof *builder.colored),
                            .sorted = malloc(count * sizeof *builder.sorted),
                            .keys = malloc(count * sizeof *builder.keys),
                            .color = malloc(count)};
    int result = ERROR_MEMORY;
    if (batches->order && batches->group_of && builder.places && builder.boundary_of &&
        builder.taken && builder.waiting && builder.colored && builder.sorted && builder.keys &&
        builder.color) {
        memset(builder.boundary_of, 0xff, points * sizeof *builder.boundary_of);
        result = batches_cut(soft);
    }
    if (result == ERROR_OK) {
        batches->rotations = calloc(u32_max(batches->group_count, 1), sizeof *batches->rotations);
        result = batches->rotations != NULL ? ERROR_OK : ERROR_MEMORY;
    }
    if (result == ERROR_OK) {
        result = chains_find(soft, &builder.chains);
    }
    if (result == ERROR_OK) {
        place_all(&builder);
        result = write_all(&builder);
    }
    free(builder.places);
    free(builder.boundary_of);
    free(builder.taken);
    free(builder.waiting);
    free(builder.colored);
    free(builder.sorted);
    free(builder.keys);
    chains_finish(&builder.chains);
    free(builder.color);
    return result;
}
