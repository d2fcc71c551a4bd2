/*
 * chain_find.c: finds chains: trails through the edges of a body, each edge in one. At every point
 * edges are paired, the straightest first; a chain ends at pinned points and at points it already
 * contains.
 */
#include "server/physics/soft/chain.h"
#include "shared/base/error.h"

#include <stdlib.h>

enum {
    EDGES_MAX = 16, /* at a point; where there are more, chains end */
    LINKS_MIN = 2
};

/* Cosine of the largest angle between paired edges at points of more than two. */
static const f32 straight_min = 0.7f;

/* All indices are local to the body. */
typedef struct Finder {
    Soft *soft;
    Chains *chains;
    const SoftBody *body;
    u32 index; /* of the body */
    u32 role;
    u32 *edges; /* [count] constraints */
    u32 count;
    u32 *start;  /* [points + 1] in ends */
    u32 *ends;   /* [2 count] edges at each point: 2 edge + which end */
    u32 *joined; /* [2 count] the end paired with each end, or SOFT_NONE */
    u32 *seen;   /* [points] stamp of the last traversal there */
    u32 stamp;
    u64 *colors; /* [points] colours taken */
    u8 *done;    /* [count] */
    bool failed;
} Finder;

void chains_finish(Chains *chains)
{
    free(chains->chains);
    free(chains->points);
    free(chains->edges);
    free(chains->taken);
    free(chains->lines);
    *chains = (Chains){0};
}

static bool moves(const Finder *f, u32 point)
{
    return f->soft->points[f->body->first + point].inverse_mass > 0.0f;
}

static u32 end_point(const Finder *f, u32 end)
{
    return f->soft->constraints[f->edges[end >> 1]].point[end & 1] - f->body->first;
}

static void list_edges(Finder *f)
{
    const SoftConstraint *all = f->soft->constraints;
    for (u32 i = 0; i < f->body->constraint_count; i++) {
        u32 at = f->body->first_constraint + i;
        const SoftConstraint *c = &all[at];
        if (c->kind != CONSTRAINT_DISTANCE || c->role != f->role || c->low != c->high ||
            c->low <= 0.0f) {
            continue;
        }
        u32 a = c->point[0] - f->body->first, b = c->point[1] - f->body->first;
        if (a != b && (moves(f, a) || moves(f, b))) {
            f->edges[f->count++] = at;
            f->start[a + 1]++;
            f->start[b + 1]++;
        }
    }
    for (u32 i = 0; i < f->body->count; i++) {
        f->start[i + 1] += f->start[i];
        f->seen[i] = f->start[i];
    }
    for (u32 i = 0; i < 2 * f->count; i++) {
        f->ends[f->seen[end_point(f, i)]++] = i;
        f->joined[i] = SOFT_NONE;
    }
}

static Vec3 direction_of(const Finder *f, u32 end)
{
    const Vec3 *rest = f->soft->rest + f->body->first;
    Vec3 d = vec3_sub(rest[end_point(f, end ^ 1)], rest[end_point(f, end)]);
    return vec3_normalize_or(d, vec3_zero());
}

/* Pairs the edges at a point. In a string, a point of two edges continues the chain at any
 * angle. In a sheet such a point lies on the border or at a corner, where threads end: diagonals
 * continued there would wind through the whole sheet, and no eight of them be alike. */
static void join_at(Finder *f, u32 point)
{
    const u32 *ends = f->ends + f->start[point];
    u32 count = f->start[point + 1] - f->start[point];
    const bool turns = count == 2 && f->body->triangle_count == 0;
    Vec3 direction[EDGES_MAX];
    if (count < 2 || count > EDGES_MAX || !moves(f, point)) {
        return;
    }
    for (u32 i = 0; i < count; i++) {
        direction[i] = direction_of(f, ends[i]);
    }
    for (;;) {
        f32 best = turns ? -2.0f : straight_min;
        u32 a = SOFT_NONE, b = SOFT_NONE;
        for (u32 i = 0; i < count; i++) {
            for (u32 j = i + 1; j < count && f->joined[ends[i]] == SOFT_NONE; j++) {
                f32 straight = -vec3_dot(direction[i], direction[j]);
                if (f->joined[ends[j]] == SOFT_NONE && straight > best) {
                    best = straight;
                    a = ends[i];
                    b = ends[j];
                }
            }
        }
        if (a == SOFT_NONE) {
            return;
        }
        f->joined[a] = b;
        f->joined[b] = a;
    }
}

static bool put_point(Finder *f, u32 point, u32 edge)
{
    Chains *chains = f->chains;
    if (!memory_grow((void **)&chains->points, &chains->point_capacity, chains->point_count + 1,
                     sizeof *chains->points) ||
        !memory_grow((void **)&chains->edges, &chains->edge_capacity, chains->point_count + 1,
                     sizeof *chains->edges)) {
        f->failed = true;
        return false;
    }
    chains->points[chains->point_count] = f->body->first + point;
    chains->edges[chains->point_count++] = edge;
    return true;
}

/* Keeps a chain of the points from `first` on if it is long enough. */
static void keep_chain(Finder *f, u32 first)
{
    Chains *chains = f->chains;
    Chain chain = {.first = first,
                   .links = chains->point_count - first - 1,
                   .body = f->index,
                   .role = f->role,
                   .piece = SOFT_NONE};
    if (chain.links < LINKS_MIN) {
        chains->point_count = first;
        return;
    }
    if (!memory_grow((void **)&chains->chains, &chains->capacity, chains->count + 1,
                     sizeof *chains->chains)) {
        f->failed = true;
        return;
    }
    chains->chains[chains->count++] = chain;
}

/* Follows paired edges from an end of an edge; a closed loop starts another chain. */
static void walk_from(Finder *f, u32 end)
{
    Chains *chains = f->chains;
    u32 first = chains->point_count;
    while (end != SOFT_NONE && !f->failed && !f->done[end >> 1]) {
        u32 from = end_point(f, end), to = end_point(f, end ^ 1);
        if (chains->point_count > first && f->seen[to] == f->stamp) {
            keep_chain(f, first);
            first = chains->point_count;
        }
        if (chains->point_count > first) {
            chains->point_count--; /* the last point, rewritten with its edge */
        } else {
            f->seen[from] = ++f->stamp;
        }
        f->done[end >> 1] = 1;
        f->seen[to] = f->stamp;
        if (put_point(f, from, f->edges[end >> 1]) && put_point(f, to, SOFT_NONE)) {
            end = f->joined[end ^ 1];
        }
    }
    if (!f->failed && chains->point_count > first) {
        keep_chain(f, first);
    }
}

static void walk_all(Finder *f)
{
    memset(f->seen, 0, f->body->count * sizeof *f->seen);
    for (u32 i = 0; i < 2 * f->count; i++) {
        if (f->joined[i] == SOFT_NONE) {
            walk_from(f, i);
        }
    }
    for (u32 i = 0; i < 2 * f->count; i++) { /* circles */
        walk_from(f, i);
    }
}

/* ---- pieces ---- */

/* The group of all its moving points, or SOFT_NONE. */
static u32 group_of(const Finder *f, const Chain *chain)
{
    u32 group = SOFT_NONE;
    for (u32 i = 0; i <= chain->links; i++) {
        u32 point = f->chains->points[chain->first + i];
        if (f->soft->points[point].inverse_mass > 0.0f) {
            u32 of = f->soft->batches->group_of[point];
            if (group != SOFT_NONE && group != of) {
                return SOFT_NONE;
            }
            group = of;
        }
    }
    return group;
}

/* The first set of lines that has no moving point of this chain; LINE_SETS: none. */
static u32 claim(Finder *f, const Chain *chain)
{
    const u32 *points = f->chains->points + chain->first;
    u32 taken = 0, set = 0;
    for (u32 i = 0; i <= chain->links; i++) {
        taken |= moves(f, points[i] - f->body->first) ? f->chains->lines[points[i]] : 0;
    }
    while (set < LINE_SETS && (taken >> set & 1) != 0) {
        set++;
    }
    for (u32 i = 0; i <= chain->links && set < LINE_SETS; i++) {
        f->chains->lines[points[i]] |= (u8)(1u << set);
    }
    return set;
}

/* Splits a chain where its groups change; edges between groups are left to the boundaries. */
static void cut_chain(Finder *f, u32 index)
{
    Chain whole = f->chains->chains[index];
    u32 first = 0;
    f->chains->chains[index].links = 0;
    for (u32 i = 1; i <= whole.links + 1 && !f->failed; i++) {
        Chain part = {.first = whole.first + first,
                      .links = i - 1 - first,
                      .body = whole.body,
                      .role = whole.role};
        if (i <= whole.links) {
            Chain edge = {.first = whole.first + i - 1, .links = 1};
            if (group_of(f, &edge) != SOFT_NONE) {
                continue;
            }
        }
        first = i;
        part.piece = part.links >= LINKS_MIN ? group_of(f, &part) : SOFT_NONE;
        if (part.piece != SOFT_NONE) {
            Chains *chains = f->chains;
            if (!memory_grow((void **)&chains->chains, &chains->capacity, chains->count + 1,
                             sizeof *chains->chains)) {
                f->failed = true;
                return;
            }
            chains->chains[chains->count++] = part;
        }
    }
}

/* Chains within a group belong to it; other chains of a cut body become lines, in a few sets
 * that share no point, or are split. */
static void place_chains(Finder *f, u32 first, u32 cut)
{
    const ConstraintBatches *batches = f->soft->batches;
    u32 end = f->chains->count;
    for (u32 i = first; i < end && !f->failed; i++) {
        Chain *chain = &f->chains->chains[i];
        chain->piece = group_of(f, chain);
        if (chain->piece == SOFT_NONE) {
            chain->color = claim(f, chain);
            if (chain->color < LINE_SETS) {
                chain->piece =
                    batches->group_count + batches->boundary_count + batches->cut_count + cut;
            } else {
                cut_chain(f, i);
            }
        }
    }
}

/* The first colour unused by chains of the same piece at its points; beyond 64 colours its edges
 * are solved one by one. */
static void color_chains(Finder *f, u32 first)
{
    Chains *chains = f->chains;
    memset(f->colors, 0, f->body->count * sizeof *f->colors);
    for (u32 i = first; i < chains->count; i++) {
        Chain *chain = &chains->chains[i];
        const u32 *points = chains->points + chain->first, *edges = chains->edges + chain->first;
        u64 taken = 0;
        bool line = chain->piece >= f->soft->batches->group_count;
        for (u32 k = 0; k <= chain->links && !line; k++) {
            u32 point = points[k] - f->body->first;
            taken |= moves(f, point) ? f->colors[point] : 0;
        }
        if (chain->links == 0 || chain->piece == SOFT_NONE || ~taken == 0) {
            chain->links = 0;
            continue;
        }
        chain->color = line ? chain->color : (u32)__builtin_ctzll(~taken);
        for (u32 k = 0; k <= chain->links && !line; k++) {
            f->colors[points[k] - f->body->first] |= 1ull << chain->color;
        }
        for (u32 k = 0; k < chain->links; k++) {
            chains->taken[edges[k]] = 1;
        }
    }
}

static bool find_in_body(Soft *soft, Chains *chains, u32 index, u32 cut, u32 role)
{
    const SoftBody *body = &soft->bodies[index];
    size_t edges = u32_max(body->constraint_count, 1), points = body->count;
    Finder f = {.soft = soft, .chains = chains, .body = body, .index = index, .role = role};
    f.edges = malloc(edges * sizeof *f.edges);
    f.start = calloc(points + 1, sizeof *f.start);
    f.ends = malloc(2 * edges * sizeof *f.ends);
    f.joined = malloc(2 * edges * sizeof *f.joined);
    f.seen = malloc(points * sizeof *f.seen);
    f.colors = malloc(points * sizeof *f.colors);
    f.done = calloc(edges, 1);
    f.failed = f.edges == NULL || f.start == NULL || f.ends == NULL || f.joined == NULL ||
               f.seen == NULL || f.colors == NULL || f.done == NULL;
    if (!f.failed) {
        u32 first = chains->count;
        list_edges(&f);
        for (u32 i = 0; i < body->count; i++) {
            join_at(&f, i);
        }
        walk_all(&f);
        place_chains(&f, first, cut);
        color_chains(&f, first);
    }
    free(f.edges);
    free(f.start);
    free(f.ends);
    free(f.joined);
    free(f.seen);
    free(f.colors);
    free(f.done);
    return !f.failed;
}

int chains_find(Soft *soft, Chains *chains)
{
    const ConstraintBatches *batches = soft->batches;
    u32 cut = 0;
    chains->taken = calloc(u32_max(soft->constraint_count, 1), 1);
    chains->lines = calloc(u32_max(soft->count, 1), 1);
    if (chains->taken == NULL || chains->lines == NULL) {
        return ERROR_MEMORY;
    }
    for (u32 i = 0; i < soft->body_count; i++) {
        while (cut < batches->cut_count && batches->cut[cut].body < i) {
            cut++;
        }
        /* Diagonals first: later constraints are satisfied best. */
        if (soft->bodies[i].def.method == SOFT_XPBD && !stiff_skin(soft, i) &&
            !(find_in_body(soft, chains, i, cut, ROLE_SHEAR) &&
              find_in_body(soft, chains, i, cut, ROLE_STRETCH))) {
            return ERROR_MEMORY;
        }
    }
    return ERROR_OK;
}
