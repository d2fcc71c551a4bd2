/*
 * chain.c: eight chains at a time. With n the direction of a link, w inverse masses and α̃ the
 * compliance over h², the impulses u along the links solve (w_a + w_b + α̃) u − w_a (n·n₋) u₋ −
 * w_b (n·n₊) u₊ = C / h, the step of XPBD for all links at once.
 * Tension turns with the links that carry it. Where it could fling a light point across its
 * neighbours within a step, impulses become vectors: those across a link are what the tension
 * gives at the end of the step, T/l of the distance moved (the geometric stiffness of Tournier et
 * al. 2015, "Stable constrained dynamics"), and the same elimination runs with blocks of 3 × 3.
 */
#include "server/physics/soft/chain.h"

/* Of T h² w / l of a link, beyond which its chain has vectors. Alone, an explicit step is unstable
 * at 2; a springy load on it gains energy from 1 on. */
static const f32 explicit_max = 0.2f;
/* Least of the same that a link of such a chain has: what is slack would be infinitely soft. */
static const f32 slack_min = 0.003f;
/* Of the weight of a link: the least its own impulse may move, where both ends are held. */
static const f32 pivot_min = 1e-4f;

/* A link in a step. */
typedef struct Link {
    Vec3x8 n;
    f32x8 value;    /* (length − rest) / h, m/s */
    f32x8 per_long; /* h / length */
    f32x8 weight;   /* 1/kg of its second point */
    f32x8 impulse;  /* N s; until it is known, what it is without the next link's */
    f32x8 passed;   /* of the next link's impulse */
} Link;

/* The same with vectors. */
typedef f64 f64x8 __attribute__((vector_size(64), aligned(32)));
typedef struct WideLink {
    f64x8 inverse[6]; /* of the block: xx, yy, zz, xy, xz, yz */
    f64x8 impulse[3];
} WideLink;

_Static_assert(sizeof(Link) + sizeof(WideLink) <= CHAIN_ROWS * sizeof(f32x8), "room for a link");

/* What is gathered of eight points, in fours. */
typedef struct Gathered {
    f32x8 position[4], velocity[4];
} Gathered;

typedef struct ChainPass {
    SoftPoint *points;
    const ChainHead *head;
    const ChainPoint *chain; /* [links + 1] */
    Link *links;             /* [links] */
    f32x8 *tension;          /* [links] N s, in the step before; what is not pulled has 0 */
    f32x8 first_weight;      /* 1/kg of the first point */
    f32x8 alpha;             /* compliance / h² */
    f32 h;
} ChainPass;

u32 chain_size(u32 links)
{
    u32 units = (u32)((sizeof(ChainHead) + (links + 1) * sizeof(ChainPoint)) / sizeof(f32x8));
    return units + (links > CHAIN_LOCAL ? links * CHAIN_ROWS : 0);
}

SIMD_INLINE void gather(const SoftPoint *points, const u32 point[SIMD_LANES], Gathered *of)
{
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        const SoftPoint *a = points + point[k], *b = points + point[k + 4];
        of->position[k] = f32x8_load_halves(&a->position.x, &b->position.x);
        of->velocity[k] = f32x8_load_halves(&a->velocity.x, &b->velocity.x);
    }
}

/* From a to b at the end of the step, and the weight of b. */
SIMD_INLINE Vec3x8 edge_of(const Gathered *a, const Gathered *b, f32 h, f32x8 *weight)
{
    f32x8 row[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        f32x8 d = (b->position[k] - a->position[k]) + h * (b->velocity[k] - a->velocity[k]);
        row[k] = __builtin_shufflevector(d, b->position[k], 0, 1, 2, 11, 4, 5, 6, 15);
    }
    f32x8_transpose_halves(row);
    *weight = row[3];
    return (Vec3x8){row[0], row[1], row[2]};
}

SIMD_INLINE f32x8 weights_of(const SoftPoint *points, const u32 point[SIMD_LANES])
{
    f32x8 w = f32x8_set(0.0f);
    for (int k = 0; k < SIMD_LANES; k++) {
        w[k] = points[point[k]].inverse_mass;
    }
    return w;
}

/* Adds to velocities; all are read before any is written, as lanes may repeat. Pinned points are
 * not written, as other threads read them; nor is what a shorter chain has no point for. */
SIMD_INLINE void push(SoftPoint *points, const u32 point[SIMD_LANES], Vec3x8 change, bool all)
{
    f32x8 row[4] = {change.x, change.y, change.z, f32x8_set(0.0f)};
    f32x8_transpose_halves(row);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        const SoftPoint *a = points + point[k], *b = points + point[k + 4];
        row[k] += f32x8_load_halves(&a->velocity.x, &b->velocity.x);
    }
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        SoftPoint *a = points + point[k], *b = points + point[k + 4];
        if (all) {
            f32x8_store_halves(&a->velocity.x, &b->velocity.x, row[k]);
            continue;
        }
        if (a->inverse_mass > 0.0f) {
            a->velocity = vec3(row[k][0], row[k][1], row[k][2]);
        }
        if (b->inverse_mass > 0.0f) {
            b->velocity = vec3(row[k][4], row[k][5], row[k][6]);
        }
    }
}

/* ---- impulses along the links ---- */

/* Gathers the links, and eliminates from the first to the last. The share of w_a that the chain
 * before leaves, w_a − (w_a n·n₋)² / pivot₋, is written so that nothing cancels. */
SIMD_INLINE void eliminate(const ChainPass *pass)
{
    const f32x8 none = f32x8_set(0.0f), one = f32x8_set(1.0f);
    const f32 per_h = 1.0f / pass->h;
    Gathered ends[2];
    f32x8 weight = pass->first_weight, left = weight, pivot = one, given = none;
    Vec3x8 before = {none, none, none};
    i32x8 had = {0};
    gather(pass->points, pass->chain[0].point, &ends[0]);
    for (u32 i = 0; i < pass->head->links; i++) {
        Link *link = &pass->links[i];
        f32x8 next;
        gather(pass->points, pass->chain[i + 1].point, &ends[(i + 1) & 1]);
        Vec3x8 d = edge_of(&ends[i & 1], &ends[(i + 1) & 1], pass->h, &next);
        f32x8 length = f32x8_sqrt(vec3x8_dot(d, d));
        i32x8 valid = (i32x8)(length > 1e-9f);
        f32x8 per = f32x8_and(valid, one / length);
        link->n = vec3x8_scale(d, per);
        link->per_long = pass->h * per;
        link->value = f32x8_and(valid, per_h * (length - f32x8_load(pass->chain[i].rest)));
        link->weight = next;
        /* 1 − n·n₋ without what rounding leaves of 1. */
        Vec3x8 turn = vec3x8_sub(link->n, before);
        f32x8 bend = f32x8_select(valid & had, 0.5f * vec3x8_dot(turn, turn), one);
        f32x8 along = one - bend, off = bend * (one + along);
        f32x8 coupling = weight * along, per_pivot = one / pivot;
        had = valid;
        if (i > 0) {
            link[-1].impulse = given * per_pivot;
            link[-1].passed = coupling * per_pivot;
            left = weight * (off + along * along * (left + pass->alpha) * per_pivot);
            given = link->value + coupling * link[-1].impulse;
        } else {
            given = link->value;
        }
        f32x8 least = pivot_min * (weight + next) + 1e-30f;
        pivot = f32x8_max(left + next + pass->alpha, least);
        before = link->n;
        weight = next;
    }
    Link *last = &pass->links[pass->head->links - 1];
    last->impulse = given / pivot;
    last->passed = none;
}

/* From the last to the first. Lanes of which some link is too tense for an explicit step. */
SIMD_INLINE i32x8 substitute(const ChainPass *pass)
{
    f32x8 next = f32x8_set(0.0f), most = next;
    for (u32 i = pass->head->links; i-- > 0;) {
        Link *link = &pass->links[i];
        next = link->impulse + link->passed * next;
        link->impulse = next;
        f32x8 before = i > 0 ? pass->links[i - 1].weight : pass->first_weight;
        f32x8 pull = f32x8_max(next, pass->tension[i]);
        most = f32x8_max(most, pull * link->per_long * (before + link->weight));
    }
    return (i32x8)(most > explicit_max);
}

SIMD_INLINE void apply(const ChainPass *pass)
{
    const u32 links = pass->head->links, even = pass->head->even;
    Vec3x8 after = vec3x8_set(vec3_zero());
    for (u32 i = links; i-- > 0;) {
        const Link *link = &pass->links[i];
        Vec3x8 pull = vec3x8_scale(link->n, link->impulse);
        pass->tension[i] = f32x8_max(link->impulse, f32x8_set(0.0f));
        Vec3x8 sum = vec3x8_scale(vec3x8_sub(after, pull), link->weight);
        push(pass->points, pass->chain[i + 1].point, sum, i + 1 < even);
        after = pull;
    }
    push(pass->points, pass->chain[0].point, vec3x8_scale(after, pass->first_weight), false);
}

/* ---- impulses as vectors ---- */

SIMD_INLINE f64x8 widen(f32x8 v)
{
    return __builtin_convertvector(v, f64x8);
}

SIMD_INLINE f32x8 narrow(f64x8 v)
{
    return __builtin_convertvector(v, f32x8);
}

/* Of a positive definite matrix. */
SIMD_INLINE void invert(const f64x8 m[6], f64x8 r[6])
{
    f64x8 xx = m[1] * m[2] - m[5] * m[5], xy = m[4] * m[5] - m[3] * m[2];
    f64x8 xz = m[3] * m[5] - m[4] * m[1];
    f64x8 per = 1.0 / (m[0] * xx + m[3] * xy + m[4] * xz);
    r[0] = xx * per;
    r[1] = (m[0] * m[2] - m[4] * m[4]) * per;
    r[2] = (m[0] * m[1] - m[3] * m[3]) * per;
    r[3] = xy * per;
    r[4] = xz * per;
    r[5] = (m[3] * m[4] - m[0] * m[5]) * per;
}

SIMD_INLINE void multiply(const f64x8 m[6], const f64x8 v[3], f64x8 r[3])
{
    r[0] = m[0] * v[0] + m[3] * v[1] + m[4] * v[2];
    r[1] = m[3] * v[0] + m[1] * v[1] + m[5] * v[2];
    r[2] = m[4] * v[0] + m[5] * v[1] + m[2] * v[2];
}

/* The direction of a link, of length 1 to all digits: what is along it is less by far than what is
 * across. */
SIMD_INLINE void direction(const Link *link, f64x8 n[3])
{
    n[0] = widen(link->n.x);
    n[1] = widen(link->n.y);
    n[2] = widen(link->n.z);
    f64x8 scale = 1.5 - 0.5 * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int k = 0; k < 3; k++) {
        n[k] *= scale;
    }
}

/* The block of a link, over w_a + w_b: w_b + what the links before leave of w_a, and its give. */
SIMD_INLINE void block_of(const ChainPass *pass, u32 i, const f64x8 left[6], f64x8 per,
                          f64x8 block[6])
{
    const Link *link = &pass->links[i];
    f64x8 n[3];
    f32x8 pull = f32x8_max(link->impulse, pass->tension[i]) * link->per_long / narrow(per);
    f64x8 tense = widen(f32x8_max(pull, f32x8_set(slack_min)));
    f64x8 across = 1.0 / tense, along = widen(pass->alpha) * per - across;
    f64x8 own = widen(link->weight) * per + across;
    direction(link, n);
    for (int k = 0; k < 3; k++) {
        block[k] = left[k] * per + own + along * n[k] * n[k];
    }
    block[3] = left[3] * per + along * n[0] * n[1];
    block[4] = left[4] * per + along * n[0] * n[2];
    block[5] = left[5] * per + along * n[1] * n[2];
}

/* (w_a + w_b) f − w_a f₋ − w_b f₊ + α̃ n nᵀ f + (l / T h²) (1 − n nᵀ) f = n C / h. In double
 * precision: a load of a million times the weight of a link is held by what is left of differences.
 */
SIMD_INLINE void solve_vectors(const ChainPass *pass, WideLink *wide)
{
    f64x8 weight = widen(pass->first_weight), none = {0};
    f64x8 left[6] = {weight, weight, weight, none, none, none}, given[3] = {none, none, none};
    for (u32 i = 0; i < pass->head->links; i++) {
        const Link *link = &pass->links[i];
        f64x8 next = widen(link->weight), per = 1.0 / (weight + next + 1e-30), block[6];
        f64x8 value = widen(link->value), n[3];
        /* What has no direction is not there. */
        f64x8 there = widen(f32x8_and((i32x8)(link->per_long > 0.0f), f32x8_set(1.0f)));
        block_of(pass, i, left, per, block);
        invert(block, wide[i].inverse);
        direction(link, n);
        for (int k = 0; k < 3; k++) {
            given[k] += value * n[k];
        }
        for (int k = 0; k < 6; k++) {
            wide[i].inverse[k] *= per * there;
            left[k] = (k < 3 ? next : none) - next * next * wide[i].inverse[k];
        }
        multiply(wide[i].inverse, given, wide[i].impulse);
        for (int k = 0; k < 3; k++) {
            given[k] = next * wide[i].impulse[k];
        }
        weight = next;
    }
    for (u32 i = pass->head->links - 1; i-- > 0;) {
        f64x8 back[3], add[3], next = widen(pass->links[i].weight);
        for (int k = 0; k < 3; k++) {
            back[k] = next * wide[i + 1].impulse[k];
        }
        multiply(wide[i].inverse, back, add);
        for (int k = 0; k < 3; k++) {
            wide[i].impulse[k] += add[k];
        }
    }
}

SIMD_INLINE Vec3x8 chosen(const Link *link, const WideLink *wide, i32x8 tense)
{
    Vec3x8 pull = vec3x8_scale(link->n, link->impulse);
    return (Vec3x8){f32x8_select(tense, narrow(wide->impulse[0]), pull.x),
                    f32x8_select(tense, narrow(wide->impulse[1]), pull.y),
                    f32x8_select(tense, narrow(wide->impulse[2]), pull.z)};
}

static __attribute__((noinline)) void apply_vectors(const ChainPass *pass, const i32x8 *tense,
                                                    WideLink *wide)
{
    Vec3x8 after = vec3x8_set(vec3_zero());
    solve_vectors(pass, wide);
    for (u32 i = pass->head->links; i-- > 0;) {
        Vec3x8 pull = chosen(&pass->links[i], &wide[i], *tense);
        f32x8 along = vec3x8_dot(pull, pass->links[i].n);
        pass->tension[i] = f32x8_max(along, f32x8_set(0.0f));
        Vec3x8 sum = vec3x8_scale(vec3x8_sub(after, pull), pass->links[i].weight);
        push(pass->points, pass->chain[i + 1].point, sum, false);
        after = pull;
    }
    push(pass->points, pass->chain[0].point, vec3x8_scale(after, pass->first_weight), false);
}

static __attribute__((noinline)) void apply_tense(const ChainPass *pass, const i32x8 *tense)
{
    WideLink local[CHAIN_LOCAL];
    bool fits = pass->head->links <= CHAIN_LOCAL;
    apply_vectors(pass, tense,
                  fits ? local : (WideLink *)(void *)(pass->links + pass->head->links));
}

SIMD_INLINE void run_pack(const ChainPass *pass)
{
    eliminate(pass);
    i32x8 tense = substitute(pass);
    if (i32x8_any(tense)) {
        apply_tense(pass, &tense);
    } else {
        apply(pass);
    }
}

void chain_run(SoftPoint *points, f32x8 *packs, f32x8 *tension, u32 count, f32 h, f32 scale)
{
    Link local[CHAIN_LOCAL];
    f32x8 *at = packs;
    for (u32 i = 0; i < count; i++) {
        ChainHead *head = (void *)at;
        ChainPoint *chain = (void *)(head + 1);
        ChainPass pass = {.points = points,
                          .head = head,
                          .chain = chain,
                          .links = (void *)(chain + head->links + 1),
                          .tension = tension + head->tension,
                          .first_weight = weights_of(points, chain[0].point),
                          .alpha = f32x8_load(head->compliance) * scale,
                          .h = h};
        if (head->links <= CHAIN_LOCAL) {
            pass.links = &local[0];
        }
        run_pack(&pass);
        at += chain_size(head->links);
    }
}
