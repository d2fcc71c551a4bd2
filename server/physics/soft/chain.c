/*
 * chain.c: eight chains at a time. With n the direction of a link, w inverse masses and α̃ the
 * compliance over h², the impulses u along the links solve (w_a + w_b + α̃) u − w_a (n·n₋) u₋ −
 * w_b (n·n₊) u₊ = C / h, the step of XPBD for all links at once.
 * Tension turns with the links that carry it. Where it could fling a light point across its
 * neighbours within a step (T h² w / l near 1: a rope of light points under load), the tension that
 * the step before has left is given first, implicitly: as that of springs of length 0 and stiffness
 * T / l, which makes one tridiagonal system for the velocities of the points, the same for x, y and
 * z. Such a spring pushes along the link where it will then be, as the impulses do, which now are
 * the rest: what the tension changes by. Should that be much, the new tension is given instead, and
 * what it lacks solved for again.
 */
#include "server/physics/soft/chain.h"

/* Of T h² w / l of a link, beyond which a tension, or what it changes by, is not explicit. Alone,
 * an explicit step is unstable at 2, in a row of them at 2/3; a springy load gains energy from
 * less. */
static const f32 explicit_max = 0.2f;
/* Of the weight of a link: the least its own impulse may move, where both ends are held. */
static const f32 pivot_min = 1e-6f;
/* What is shorter has no direction. */
static const f32 length_min = 1e-9f; /* m */

enum {
    ROUNDS_MAX = 3 /* of tensions that are given */
};

/* A link in a step, and its first point; after the last link is its second point. */
typedef struct Link {
    Vec3x8 n;        /* where tension is given: m, at the start of the step, until it is known */
    Vec3x8 velocity; /* with the tension that is given, if any is */
    f32x8 weight;    /* 1/kg */
    f32x8 given;     /* N s, of its tension before; in kg, over h / l, until its length is known */
    f32x8 per_long;  /* h / length */
    f32x8 impulse;   /* N s; until it is known, what it is without the next link's */
    f32x8 passed;    /* of the next link's impulse, or of the next point's velocity */
} Link;

_Static_assert(sizeof(Link) <= CHAIN_ROWS * sizeof(f32x8), "room for a link");

/* What is gathered of eight points, in fours. */
typedef struct Gathered {
    f32x8 position[4], velocity[4];
} Gathered;

typedef struct ChainPass {
    SoftPoint *points;
    const ChainHead *head;
    const ChainPoint *chain; /* [links + 1] */
    Link *links;             /* [links + 1] */
    f32x8 *tension;          /* [links] N s, in the step before; what is not pulled has 0 */
    f32x8 *taut;             /* the most of T h² w / l there */
    f32x8 alpha;             /* compliance / h² */
    f32 h;
} ChainPass;

u32 chain_size(u32 links)
{
    u32 units = (u32)((sizeof(ChainHead) + (links + 1) * sizeof(ChainPoint)) / sizeof(f32x8));
    return units + (links > CHAIN_LOCAL ? (links + 1) * CHAIN_ROWS : 0);
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

/* Sets velocities, as push adds to them. */
SIMD_INLINE void put(SoftPoint *points, const u32 point[SIMD_LANES], Vec3x8 velocity, bool all)
{
    f32x8 row[4] = {velocity.x, velocity.y, velocity.z, f32x8_set(0.0f)};
    f32x8_transpose_halves(row);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        SoftPoint *a = points + point[k], *b = points + point[k + 4];
        if (all || a->inverse_mass > 0.0f) {
            a->velocity = vec3(row[k][0], row[k][1], row[k][2]);
        }
        if (all || b->inverse_mass > 0.0f) {
            b->velocity = vec3(row[k][4], row[k][5], row[k][6]);
        }
    }
}

/* What state goes on from must be a number, also in a world gone wild. */
SIMD_INLINE f32x8 positive(f32x8 value)
{
    return f32x8_and((value > 0.0f) & (value < 1e30f), value);
}

/* ---- tension that is given ---- */

/* What the elimination of a point leaves for the next. */
typedef struct Ease {
    f32x8 hold, left;     /* of the link before; what of it the point before does not follow */
    Vec3x8 pull, carried; /* of the link before, N s; velocity of the point before */
} Ease;

/* (1 + w (k₋ + k₊)) v' − w k₋ v'₋ − w k₊ v'₊ = v + w (k₊ d₊ − k₋ d₋) / h with k = T h² / l. What is
 * left of 1 is written so that nothing cancels: any load may hang on any point. */
SIMD_INLINE void ease_point(Link *to, Ease *before, Vec3x8 velocity, f32x8 hold, f32 per_h)
{
    f32x8 own = 1.0f + to->weight * before->hold * before->left;
    f32x8 next = to->weight * hold, per = 1.0f / (own + next);
    Vec3x8 pull = vec3x8_scale(to->n, per_h * hold);
    Vec3x8 sum = vec3x8_add_scaled(vec3x8_sub(pull, before->pull), before->hold, before->carried);
    sum = vec3x8_add_scaled(velocity, to->weight, sum);
    to->passed = next * per;
    to->velocity = vec3x8_scale(sum, per);
    to->given = hold;
    *before = (Ease){hold, own * per, pull, to->velocity};
}

SIMD_INLINE Vec3x8 velocity_of(const Gathered *of)
{
    f32x8 row[4] = {of->velocity[0], of->velocity[1], of->velocity[2], of->velocity[3]};
    f32x8_transpose_halves(row);
    return (Vec3x8){row[0], row[1], row[2]};
}

/* Velocities with the tension of lanes that are taut; all others keep theirs, to the bit. */
SIMD_INLINE void ease(const ChainPass *pass, i32x8 taut)
{
    const f32x8 none = f32x8_set(0.0f);
    const u32 links = pass->head->links;
    const f32 per_h = 1.0f / pass->h;
    Gathered ends[2];
    Ease before = {none, none, vec3x8_set(vec3_zero()), vec3x8_set(vec3_zero())};
    gather(pass->points, pass->chain[0].point, &ends[0]);
    for (u32 i = 0; i < links; i++) {
        Link *to = &pass->links[i];
        gather(pass->points, pass->chain[i + 1].point, &ends[(i + 1) & 1]);
        to->n = edge_of(&ends[i & 1], &ends[(i + 1) & 1], 0.0f, &to[1].weight);
        f32x8 length = f32x8_sqrt(vec3x8_dot(to->n, to->n)), rest = f32x8_load(pass->chain[i].rest);
        f32x8 hold = pass->h * pass->tension[i] / f32x8_max(length, rest);
        hold = f32x8_and(taut & (i32x8)(rest > 0.0f), hold);
        ease_point(to, &before, velocity_of(&ends[i & 1]), hold, per_h);
    }
    Link *last = &pass->links[links];
    last->n = vec3x8_set(vec3_zero());
    ease_point(last, &before, velocity_of(&ends[links & 1]), none, per_h);
    for (u32 i = links; i-- > 0;) {
        Link *to = &pass->links[i];
        to->velocity = vec3x8_add_scaled(to->velocity, to->passed, to[1].velocity);
    }
}

/* ---- impulses along the links ---- */

/* What the elimination of a link leaves for the next. */
typedef struct Front {
    f32x8 left;  /* 1/kg, of the next point's weight what is not the links' before; and α̃ */
    f32x8 pivot; /* 1/kg */
    f32x8 sum;   /* m/s */
    Vec3x8 n;
    i32x8 had; /* the link has a direction */
} Front;

/* Eliminates a link that goes by d. The share of w_a that the chain before leaves, w_a − (w_a
 * n·n₋)² / pivot₋, is written so that nothing cancels. */
SIMD_INLINE void eliminate(const ChainPass *pass, u32 i, Front *front, Vec3x8 d)
{
    const f32x8 one = f32x8_set(1.0f);
    const f32 per_h = 1.0f / pass->h;
    Link *link = &pass->links[i];
    f32x8 length = f32x8_sqrt(vec3x8_dot(d, d)), weight = link->weight, next = link[1].weight;
    f32x8 rest = f32x8_load(pass->chain[i].rest);
    i32x8 valid = (i32x8)(length > length_min) & (i32x8)(rest > 0.0f);
    f32x8 per = f32x8_and(valid, one / length);
    link->n = vec3x8_scale(d, per);
    link->per_long = pass->h * per;
    link->given *= per_h * length;
    f32x8 value = f32x8_and(valid, per_h * (length - rest));
    value -= pass->alpha * link->given;
    /* 1 − n·n₋ without what rounding leaves of 1. */
    Vec3x8 turn = vec3x8_sub(link->n, front->n);
    f32x8 bend = f32x8_select(valid & front->had, 0.5f * vec3x8_dot(turn, turn), one);
    f32x8 along = one - bend, off = bend * (one + along);
    f32x8 coupling = weight * along;
    if (i > 0) {
        f32x8 per_pivot = one / front->pivot;
        link[-1].impulse = front->sum * per_pivot;
        link[-1].passed = coupling * per_pivot;
        front->left =
            (weight * off + pass->alpha) + coupling * along * (front->left / front->pivot);
        front->sum = value + coupling * link[-1].impulse;
    } else {
        front->left = weight + pass->alpha;
        front->sum = value;
    }
    /* The least is little beside what moves; it counts where both ends are held. */
    front->pivot = front->left + (next + (pivot_min * (weight + next) + 1e-20f));
    front->n = link->n;
    front->had = valid;
}
SIMD_INLINE void eliminate_last(const ChainPass *pass, const Front *front)
{
    Link *last = &pass->links[pass->head->links - 1];
    last->impulse = front->sum / front->pivot;
    last->passed = f32x8_set(0.0f);
}

SIMD_INLINE void eliminate_moving(const ChainPass *pass)
{
    Gathered ends[2];
    Front front = {.pivot = f32x8_set(1.0f)};
    gather(pass->points, pass->chain[0].point, &ends[0]);
    for (u32 i = 0; i < pass->head->links; i++) {
        Link *link = &pass->links[i];
        gather(pass->points, pass->chain[i + 1].point, &ends[(i + 1) & 1]);
        Vec3x8 d = edge_of(&ends[i & 1], &ends[(i + 1) & 1], pass->h, &link[1].weight);
        link->given = f32x8_set(0.0f);
        eliminate(pass, i, &front, d);
    }
    eliminate_last(pass, &front);
}

SIMD_INLINE void eliminate_eased(const ChainPass *pass)
{
    const f32x8 h = f32x8_set(pass->h);
    Front front = {.pivot = f32x8_set(1.0f)};
    for (u32 i = 0; i < pass->head->links; i++) {
        const Link *link = &pass->links[i];
        Vec3x8 moved = vec3x8_sub(link[1].velocity, link->velocity);
        eliminate(pass, i, &front, vec3x8_add_scaled(link->n, h, moved));
    }
    eliminate_last(pass, &front);
}

/* From the last to the first: the most of T h² w / l (returned), and the most that it is more than
 * what was given, beside 1 and that. */
SIMD_INLINE f32x8 substitute(const ChainPass *pass, f32x8 *most_off)
{
    f32x8 next = f32x8_set(0.0f), most = next, off = next;
    for (u32 i = pass->head->links; i-- > 0;) {
        Link *link = &pass->links[i];
        next = link->impulse + link->passed * next;
        link->impulse = next;
        f32x8 light = link->per_long * (link->weight + link[1].weight), more = next * light;
        f32x8 given = link->given * light;
        most = f32x8_max(most, more + given);
        off = f32x8_max(off, more / (1.0f + given));
    }
    *most_off = off;
    return most;
}

SIMD_INLINE f32x8 tension_of(const Link *link)
{
    return positive(link->impulse + link->given);
}

/* What the next round is given. */
SIMD_INLINE void give_more(const ChainPass *pass, i32x8 where)
{
    for (u32 i = 0; i < pass->head->links; i++) {
        pass->tension[i] = f32x8_select(where, tension_of(&pass->links[i]), pass->tension[i]);
    }
}

SIMD_INLINE void apply(const ChainPass *pass, bool eased)
{
    const u32 links = pass->head->links, even = pass->head->even;
    Vec3x8 after = vec3x8_set(vec3_zero());
    for (u32 i = links + 1; i-- > 0;) {
        const Link *link = &pass->links[i];
        Vec3x8 pull = vec3x8_set(vec3_zero());
        if (i > 0) {
            pull = vec3x8_scale(link[-1].n, link[-1].impulse);
            pass->tension[i - 1] = tension_of(&link[-1]);
        }
        Vec3x8 change = vec3x8_scale(vec3x8_sub(after, pull), link->weight);
        bool all = i > 0 && i < even;
        if (eased) {
            put(pass->points, pass->chain[i].point, vec3x8_add(link->velocity, change), all);
        } else {
            push(pass->points, pass->chain[i].point, change, all);
        }
        after = pull;
    }
}

/* Gives tension where it is, until what it grows by is little. Lanes with as many rounds behind
 * them do what they would do alone. */
static __attribute__((noinline)) void run_taut(const ChainPass *pass, const i32x8 *lanes, u32 round)
{
    i32x8 taut = *lanes;
    f32x8 most, off;
    for (;; round++) {
        ease(pass, taut);
        eliminate_eased(pass);
        most = substitute(pass, &off);
        i32x8 again = (i32x8)(off > explicit_max);
        if (round == ROUNDS_MAX || !i32x8_any(again)) {
            break;
        }
        give_more(pass, again);
        taut |= again;
    }
    apply(pass, true);
    *pass->taut = positive(most);
}

static void run_pack(const ChainPass *pass)
{
    i32x8 taut = (i32x8)(*pass->taut > explicit_max);
    u32 round = 1;
    if (!i32x8_any(taut)) {
        f32x8 off;
        eliminate_moving(pass);
        f32x8 most = substitute(pass, &off);
        taut = (i32x8)(most > explicit_max);
        if (!i32x8_any(taut)) {
            apply(pass, false);
            *pass->taut = positive(most);
            return;
        }
        give_more(pass, taut);
        round = 2;
    }
    run_taut(pass, &taut, round);
}

void chain_run(SoftPoint *points, f32x8 *packs, f32x8 *tension, u32 count, f32 h, f32 scale)
{
    Link local[CHAIN_LOCAL + 1];
    f32x8 *at = packs;
    for (u32 i = 0; i < count; i++) {
        ChainHead *head = (void *)at;
        ChainPoint *chain = (void *)(head + 1);
        ChainPass pass = {.points = points,
                          .head = head,
                          .chain = chain,
                          .links = (void *)(chain + head->links + 1),
                          .tension = tension + head->tension,
                          .taut = tension + head->tension + head->links,
                          .alpha = f32x8_load(head->compliance) * scale,
                          .h = h};
        if (head->links <= CHAIN_LOCAL) {
            pass.links = local;
        }
        pass.links[0].weight = weights_of(points, chain[0].point);
        run_pack(&pass);
        at += chain_size(head->links);
    }
}
