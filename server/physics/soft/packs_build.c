/*
 * packs_build.c: constraints become packs: sorted by piece and by what they have in common,
 * coloured so that the eight of a pack share no particle, and written out.
 */
#include "server/physics/soft/chain.h"
#include "server/physics/soft/constraint.h"
#include "server/physics/soft/packs_cut.h"
#include "server/physics/soft/packs_wide.h"
#include "shared/base/error.h"

#include <stdlib.h>

enum {
    COLORS = 64,
    CHAIN_SORT = 0xff
};

/* Where a constraint goes. Those with all but the index alike make one run. */
typedef struct Place {
    u32 piece;
    u32 sort;       /* role, kind or CHAIN_SORT, loose, exact, fixed */
    u32 compliance; /* its bits; 0 where each lane has its own */
    u32 base;
    u32 constraint; /* or chain */
} Place;

typedef struct Builder {
    Soft *soft;
    Packs *packs;
    Chains chains;
    Place *places; /* [count] */
    u32 count;
    u32 *seam_of; /* [soft->count] */
    u64 *taken;   /* [soft->count] colours */
    u32 *waiting; /* [count] constraints of a run that have no colour yet */
    u32 *colored; /* [count] those that have one, and */
    u8 *color;    /* [count] which */
    u32 *sorted;  /* [count] by colour */
    u64 *keys;    /* [count] of chains, in their order */
} Builder;

void packs_destroy(Packs *packs)
{
    if (packs != NULL) {
        free(packs->groups);
        free(packs->seams);
        free(packs->cut);
        free(packs->runs);
        free(packs->stream);
        free(packs->tension);
        free(packs->order);
        free(packs->group_of);
        free(packs->turns);
        free(packs);
    }
}

u64 packs_memory(const Packs *packs)
{
    return packs == NULL
               ? 0
               : sizeof *packs + packs->group_room * sizeof *packs->groups +
                     packs->seam_room * sizeof *packs->seams +
                     packs->cut_room * sizeof *packs->cut + packs->run_room * sizeof *packs->runs +
                     (u64)packs->stream_room * sizeof *packs->stream +
                     (u64)packs->tension_count * sizeof *packs->tension +
                     (u64)packs->particles * (sizeof *packs->order + sizeof *packs->group_of);
}

/* ---- the stream ---- */

static f32x8 *reserve(Packs *packs, u32 count)
{
    if (count > packs->stream_room - packs->stream_used) {
        u32 room = u32_max(packs->stream_used + count, 2 * packs->stream_room);
        f32x8 *stream = aligned_alloc(64, ((size_t)room * sizeof *stream + 63) / 64 * 64);
        if (stream == NULL) {
            return NULL;
        }
        if (packs->stream_used != 0) {
            memcpy(stream, packs->stream, packs->stream_used * sizeof *stream);
        }
        free(packs->stream);
        packs->stream = stream;
        packs->stream_room = room;
    }
    f32x8 *at = packs->stream + packs->stream_used;
    packs->stream_used += count;
    return at;
}

/* The pinned point of a distance comes last. */
static void distance_points(const Soft *soft, const SoftConstraint *c, u32 point[2])
{
    bool turn = soft->points[c->point[0]].inverse_mass <= 0.0f;
    point[0] = c->point[turn ? 1 : 0];
    point[1] = c->point[turn ? 0 : 1];
}

static bool write_wide(Builder *builder, const PackRun *run, const u32 *constraints, u32 count)
{
    u32 rows = wide_rows(run->kind);
    u32 size = (u32)(sizeof(u16[4][SIMD_LANES]) + rows * sizeof(f32x8));
    void *at = reserve(builder->packs, size / sizeof(f32x8));
    if (at == NULL) {
        return false;
    }
    PackWide pack;
    for (u32 i = 0; i < SIMD_LANES; i++) {
        const SoftConstraint *c = &builder->soft->constraints[constraints[i < count ? i : 0]];
        for (u32 k = 0; k < 4; k++) {
            u32 point = c->point[k < constraint_points(c->kind) ? k : 0];
            pack.point[k][i] = (u16)((point - run->base) * PACK_POINT);
        }
        pack.compliance[i] = c->compliance;
        pack.low[i] = c->kind == CONSTRAINT_NEO_HOOKEAN ? 1.0f / (6.0f * c->low) : c->low;
        for (u32 k = 2; k < rows && k < 12; k++) {
            pack.value[k - 2][i] = builder->soft->shapes[c->shape].value[k - 2];
        }
        if (c->kind == CONSTRAINT_NEO_HOOKEAN) {
            pack.value[10][i] = stiff_limit(builder->soft, builder->soft->matter[c->point[0]].body);
        }
    }
    memcpy(at, &pack, size);
    return true;
}

static bool write_pack(Builder *builder, const PackRun *run, const u32 *constraints, u32 count)
{
    if (run->kind != CONSTRAINT_DISTANCE) {
        return write_wide(builder, run, constraints, count);
    }
    u32 size = (u32)(run->exact ? sizeof(PackDistance) : sizeof(PackLimits));
    void *at = reserve(builder->packs, size / sizeof(f32x8));
    if (at == NULL) {
        return false;
    }
    PackLimits pack;
    for (u32 i = 0; i < SIMD_LANES; i++) {
        const SoftConstraint *c = &builder->soft->constraints[constraints[i < count ? i : 0]];
        u32 point[2];
        distance_points(builder->soft, c, point);
        pack.point[0][i] = (u16)((point[0] - run->base) * PACK_POINT);
        pack.point[1][i] = (u16)((point[1] - run->base) * PACK_POINT);
        pack.low[i] = c->low;
        pack.high[i] = c->high;
    }
    memcpy(at, &pack, size);
    return true;
}

/* ---- colours ---- */

/* Points that two constraints of a pack may not share. */
static u32 written_points(const Builder *builder, const PackRun *run, u32 constraint, u32 point[4])
{
    const SoftConstraint *c = &builder->soft->constraints[constraint];
    if (c->kind == CONSTRAINT_DISTANCE) {
        distance_points(builder->soft, c, point);
        return run->fixed ? 1 : 2;
    }
    memcpy(point, c->point, sizeof c->point);
    return constraint_points(c->kind);
}

/* Gives colours to those waiting as far as they go; returns how many wait on. */
static u32 color_waiting(Builder *builder, const PackRun *run, u32 count, u32 start[COLORS + 1])
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

static bool write_loose(Builder *builder, PackRun *run, u32 count)
{
    u32 each = sizeof(f32x8) / sizeof(u32);
    void *at = reserve(builder->packs, (count + each - 1) / each);
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

/* One pack of so many chains, the first the longest. Lanes too many repeat the first. */
static bool write_chain_pack(Builder *builder, const u64 *keys, u32 count)
{
    const Chains *all = &builder->chains;
    const Chain *chains[SIMD_LANES];
    for (u32 k = 0; k < SIMD_LANES; k++) {
        chains[k] = &all->chains[(u32)keys[k < count ? k : 0]];
    }
    u32 links = chains[0]->links;
    f32x8 *at = reserve(builder->packs, chain_size(links));
    if (at == NULL) {
        return false;
    }
    ChainHead *head = (void *)at;
    ChainPoint *point = (void *)(head + 1);
    memset(at, 0, chain_size(links) * sizeof *at);
    head->links = links;
    head->tension = builder->packs->tension_count;
    builder->packs->tension_count += links + 1;
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

static bool add_run(Packs *packs, PackRun run)
{
    if (!soft_grow((void **)&packs->runs, &packs->run_room, packs->run_count + 1,
                   sizeof *packs->runs)) {
        return false;
    }
    packs->runs[packs->run_count++] = run;
    return true;
}

/* Chains (indices in `waiting`) as one run, or each pack as its own: by colour, so that those of a
 * pack share no point, then by role, then by length. */
static bool write_chains(Builder *builder, u32 count, bool apart)
{
    Packs *packs = builder->packs;
    u64 *keys = builder->keys;
    if (count == 0) {
        return true;
    }
    PackRun run = {.at = packs->stream_used, .chain = 1};
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
        if (!write_chain_pack(builder, keys + i, lanes)) {
            return false;
        }
        run.count++;
        if (apart) {
            if (!add_run(packs, run)) {
                return false;
            }
            run.at = packs->stream_used;
            run.count = 0;
        }
    }
    return apart || add_run(packs, run);
}

/* Those through several groups of a body. */
static bool write_lines(Builder *builder, u32 set)
{
    Packs *packs = builder->packs;
    u32 first = packs->group_count + packs->seam_count + packs->cut_count;
    packs->lines[set].first = packs->run_count;
    for (u32 cut = 0; cut < packs->cut_count; cut++) {
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
    packs->lines[set].count = packs->run_count - packs->lines[set].first;
    return true;
}

/* One run of the constraints in `waiting`, or of distances one for each colour. */
static bool write_run(Builder *builder, PackRun run, u32 count)
{
    Packs *packs = builder->packs;
    run.at = packs->stream_used;
    if (run.loose) {
        return write_loose(builder, &run, count) && add_run(packs, run);
    }
    while (count > 0) {
        u32 start[COLORS + 1];
        count = color_waiting(builder, &run, count, start);
        for (u32 c = 0; c < COLORS && start[c] < start[COLORS]; c++) {
            for (u32 i = start[c]; i < start[c + 1]; i += SIMD_LANES) {
                u32 lanes = u32_min(start[c + 1] - i, SIMD_LANES);
                if (!write_pack(builder, &run, builder->sorted + i, lanes)) {
                    return false;
                }
                run.count++;
            }
            if (run.kind == CONSTRAINT_DISTANCE) {
                if (!add_run(packs, run)) {
                    return false;
                }
                run.at = packs->stream_used;
                run.count = 0;
            }
        }
    }
    return run.kind == CONSTRAINT_DISTANCE || add_run(packs, run);
}

/* ---- places ---- */

/* Bending last: of the orders tried, such leave the least strain in hanging strips and flags. */
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

/* Indices of 16 bits reach from the base to all its points, or it is none of a pack. */
static bool find_base(const SoftConstraint *c, u32 first, u32 *base)
{
    u32 low = UINT32_MAX, high = 0;
    for (u32 k = 0; k < constraint_points(c->kind); k++) {
        low = u32_min(low, c->point[k]);
        high = u32_max(high, c->point[k]);
    }
    *base = first + ((low - first) >> 13 << 13);
    return high - *base <= PACK_REACH;
}

static int place_order(const void *left, const void *right)
{
    const Place *a = left, *b = right;
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

static void place_body(Builder *builder, u32 index, u32 cut)
{
    const Soft *soft = builder->soft;
    const SoftBody *body = &soft->bodies[index];
    u32 end = body->first_constraint + body->constraint_count;
    for (u32 i = body->first_constraint; i < end && body->def.method == SOFT_XPBD; i++) {
        const SoftConstraint *c = &soft->constraints[i];
        if (builder->chains.taken[i] != 0 || stiff_has(soft, index, c)) {
            continue;
        }
        Place place = {.piece = packs_place(soft, i, cut, builder->seam_of), .constraint = i};
        if (place.piece == SOFT_NONE) {
            continue;
        }
        /* The small bodies of a group share packs. */
        const PackGroup *whole = place.piece < builder->packs->group_count &&
                                         builder->packs->groups[place.piece].bodies.count > 0
                                     ? &builder->packs->groups[place.piece]
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

static void place_chains(Builder *builder)
{
    for (u32 i = 0; i < builder->chains.count; i++) {
        const Chain *chain = &builder->chains.chains[i];
        if (chain->links > 0 && chain->piece < builder->packs->group_count) {
            builder->places[builder->count++] =
                (Place){.piece = chain->piece,
                        .sort = role_rank(chain->role) << 24 | CHAIN_SORT << 16,
                        .constraint = i};
        }
    }
}

static void place_all(Builder *builder)
{
    const Packs *packs = builder->packs;
    u32 cut = 0;
    for (u32 i = 0; i < builder->soft->body_count; i++) {
        while (cut < packs->cut_count && packs->cut[cut].body < i) {
            cut++;
        }
        place_body(builder, i, cut);
    }
    place_chains(builder);
    qsort(builder->places, builder->count, sizeof *builder->places, place_order);
}

static PackSpan *runs_of(Packs *packs, u32 piece)
{
    if (piece < packs->group_count) {
        return &packs->groups[piece].runs;
    }
    piece -= packs->group_count;
    return piece < packs->seam_count ? &packs->seams[piece]
                                     : &packs->cut[piece - packs->seam_count].runs;
}

static int write_all(Builder *builder)
{
    for (u32 i = 0, end; i < builder->count; i = end) {
        Place place = builder->places[i];
        u32 count = 0;
        for (end = i; end < builder->count; end++) {
            Place next = builder->places[end];
            builder->waiting[count++] = next.constraint;
            next.constraint = place.constraint;
            if (memcmp(&next, &place, sizeof next) != 0) {
                count--;
                break;
            }
        }
        PackSpan *span = runs_of(builder->packs, place.piece);
        span->first = span->count == 0 ? builder->packs->run_count : span->first;
        bool written = false;
        if ((place.sort >> 16 & 0xff) == CHAIN_SORT) {
            written = write_chains(builder, count, false);
        } else {
            const SoftConstraint *c = &builder->soft->constraints[place.constraint];
            PackRun run = {.base = place.base,
                           .compliance = c->compliance,
                           .kind = c->kind,
                           .role = c->role,
                           .loose = place.sort >> 2 & 1,
                           .exact = place.sort >> 1 & 1,
                           .fixed = place.sort & 1};
            written = write_run(builder, run, count);
        }
        if (!written) {
            return ERROR_MEMORY;
        }
        span->count = builder->packs->run_count - span->first;
    }
    for (u32 set = 0; set < LINE_SETS; set++) {
        if (!write_lines(builder, set)) {
            return ERROR_MEMORY;
        }
    }
    size_t bytes = ((size_t)builder->packs->tension_count + 1) * sizeof *builder->packs->tension;
    builder->packs->tension = aligned_alloc(sizeof(f32x8), bytes);
    if (builder->packs->tension == NULL) {
        return ERROR_MEMORY;
    }
    memset(builder->packs->tension, 0, bytes);
    return ERROR_OK;
}

int packs_create(Soft *soft)
{
    packs_destroy(soft->packs);
    soft->packs = calloc(1, sizeof *soft->packs);
    if (soft->packs == NULL) {
        return ERROR_MEMORY;
    }
    Packs *packs = soft->packs;
    size_t points = u32_max(soft->count, 1), count = u32_max(soft->constraint_count, 1);
    packs->particles = soft->count;
    packs->order = malloc(points * sizeof *packs->order);
    packs->group_of = malloc(points * sizeof *packs->group_of);
    Builder builder = {.soft = soft,
                       .packs = packs,
                       .places = malloc(count * sizeof *builder.places),
                       .seam_of = malloc(points * sizeof *builder.seam_of),
                       .taken = malloc(points * sizeof *builder.taken),
                       .waiting = malloc(count * sizeof *builder.waiting),
                       .colored = malloc(count * sizeof *builder.colored),
                       .sorted = malloc(count * sizeof *builder.sorted),
                       .keys = malloc(count * sizeof *builder.keys),
                       .color = malloc(count)};
    int result = ERROR_MEMORY;
    if (packs->order && packs->group_of && builder.places && builder.seam_of && builder.taken &&
        builder.waiting && builder.colored && builder.sorted && builder.keys && builder.color) {
        memset(builder.seam_of, 0xff, points * sizeof *builder.seam_of);
        result = packs_cut(soft);
    }
    if (result == ERROR_OK) {
        packs->turns = calloc(u32_max(packs->group_count, 1), sizeof *packs->turns);
        result = packs->turns != NULL ? ERROR_OK : ERROR_MEMORY;
    }
    if (result == ERROR_OK) {
        result = chains_find(soft, &builder.chains);
    }
    if (result == ERROR_OK) {
        place_all(&builder);
        result = write_all(&builder);
    }
    free(builder.places);
    free(builder.seam_of);
    free(builder.taken);
    free(builder.waiting);
    free(builder.colored);
    free(builder.sorted);
    free(builder.keys);
    chains_finish(&builder.chains);
    free(builder.color);
    return result;
}
