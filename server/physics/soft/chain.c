/*
 * chain.c: eight chains at a time. With n the direction of a link, w inverse masses and α̃ the
 * compliance over h², the impulses u along the links solve (w_a + w_b + α̃) u − w_a (n·n₋) u₋ − w_b
 * (n·n₊) u₊ = C / h, the XPBD step for all links at once. Tension rotates with its link. Where an
 * explicit tension could throw a light point across its neighbours within a step (T h² w / l near
 * 1: a rope of light points under load), the tension of the previous step is applied first,
 * implicitly, as springs of length 0 and stiffness T / l. That is one tridiagonal system for the
 * velocities of the points, the same for x, y and z. Such a spring pushes along the predicted link,
 * as do the impulses, which then hold only the change of tension. If that change is large, the new
 * tension is applied instead, and the remainder solved again.
 */
#include "server/physics/soft/chain.h"

#include "server/physics/soft/batches_lanes.h"
#include "server/physics/state.h"

/* Limit on T h² w / l of a link; larger tensions, or changes of tension, are implicit. A single
 * explicit link is unstable at 2, a row of links at 2/3; an elastic load gains energy at less. */
static const f32 explicit_max = 0.2f;
/* Least pivot, as a part of a link's weight, where both ends are held. */
static const f32 pivot_min = 1e-6f;
/* Shorter links have no direction. */
static const f32 length_min = 1e-9f; /* m */

enum {
    ROUNDS_MAX = 3 /* of applied tensions */
};

/* A link in a step, and its first point; the entry after the last link holds its second point. */
typedef struct ChainLink {
    Vec3x8 n;        /* with tension applied: first m, from the second point to the first at the
                        start of the step */
    Vec3x8 velocity; /* of the first point, with the applied tension if any */
    f32x8 weight;    /* 1/kg */
    f32x8 given;     /* N s, of its previous tension; before its length is known in kg, over h /
                        l */
    f32x8 light;     /* 1/(N s), h (w_a + w_b) / length */
    f32x8 impulse;   /* N s; before back substitution without the next link's part */
    f32x8 passed;    /* factor of the next link's impulse, or of the previous point's velocity */
} ChainLink;

_Static_assert(sizeof(ChainLink) <= CHAIN_ROWS * sizeof(f32x8), "room for a link");

typedef struct ChainPass {
    SoftPoint *points;
    const ChainHead *head;
    const ChainPoint *chain; /* [links + 1] */
    ChainLink *links;        /* [links + 1] */
    f32x8 *tension;          /* [links] N s, of the previous step; 0 under compression */
    f32x8 *taut;             /* largest T h² w / l there */
    f32x8 alpha;             /* compliance / h² */
    f32 h;
} ChainPass;

u32 chain_size(u32 links)
{
    u32 units = (u32)((sizeof(ChainHead) + (links + 1) * sizeof(ChainPoint)) / sizeof(f32x8));
    return units + (links > CHAIN_LOCAL ? (links + 1) * CHAIN_ROWS : 0);
}

SIMD_INLINE Lanes lanes_of(const ChainPass *pass, u32 i)
{
    return lanes_bytes(pass->points, pass->chain[i].at);
}

SIMD_INLINE f32x8 weights_of(const ChainPass *pass, u32 i)
{
    Lanes lanes = lanes_of(pass, i);
    f32x8 w = f32x8_set(0.0f);
    for (int k = 0; k < SIMD_LANES; k++) {
        w[k] = lanes.at[k]->inverse_mass;
    }
    return w;
}

/* Values that enter the state must be finite, even if a simulation diverges. */
SIMD_INLINE f32x8 positive(f32x8 value)
{
    return f32x8_and((value > 0.0f) & (value < STATE_VALUE_MAX), value);
}

/* ---- applied tension ---- */

/* Intermediate values that the elimination of a point passes to the previous one. */
typedef struct Ease {
    f32x8 hold, left;     /* of the link behind; part not followed by its point */
    Vec3x8 pull, carried; /* of the link behind, N s; velocity of the point behind */
} Ease;

/* (1 + w (k₋ + k₊)) v' − w k₋ v'₋ − w k₊ v'₊ = v + w (k₊ d₊ − k₋ d₋) / h with k = T h² / l. The
 * remainder of 1 is written without cancellation, so any load may hang on any point. `pull` is
 * that of the link before the point, which has the stiffness `hold`. */
SIMD_INLINE void ease_point(ChainLink *to, Ease *behind, Vec3x8 velocity, Vec3x8 pull, f32x8 hold)
{
    f32x8 own = 1.0f + to->weight * behind->hold * behind->left;
    f32x8 next = to->weight * hold, per = 1.0f / (own + next);
    Vec3x8 sum = vec3x8_add_scaled(vec3x8_sub(pull, behind->pull), behind->hold, behind->carried);
    sum = vec3x8_add_scaled(velocity, to->weight, sum);
    to->passed = next * per;
    to->velocity = vec3x8_scale(sum, per);
    *behind = (Ease){hold, own * per, pull, to->velocity};
}

/* Velocities with the tension of taut lanes, eliminated from the last point to the first; the
 * previous point's part is added later. Other lanes stay bit-identical. */
SIMD_INLINE void ease(const ChainPass *pass, i32x8 taut)
{
    const f32x8 none = f32x8_set(0.0f);
    const Vec3x8 zero = vec3x8_set(vec3_zero());
    const u32 links = pass->head->links;
    const f32 per_h = 1.0f / pass->h;
    Gathered ends[2];
    f32x8 spare;
    Ease behind = {none, none, zero, zero};
    lanes_gather(lanes_of(pass, links), &ends[links & 1]);
    pass->links[links].weight = weights_of(pass, links);
    for (u32 i = links; i-- > 0;) {
        ChainLink *to = &pass->links[i];
        const Gathered *second = &ends[(i + 1) & 1];
        lanes_gather(lanes_of(pass, i), &ends[i & 1]);
        to->n = lanes_edge(second, &ends[i & 1], 0.0f, &to->weight);
        f32x8 length = f32x8_sqrt(vec3x8_dot(to->n, to->n)), rest = f32x8_load(pass->chain[i].rest);
        f32x8 hold = pass->h * pass->tension[i] / f32x8_max(length, rest);
        hold = f32x8_and(taut & (i32x8)(rest > 0.0f), hold);
        to->given = hold;
        ease_point(&to[1], &behind, lanes_vector(second->velocity, &spare),
                   vec3x8_scale(to->n, per_h * hold), hold);
    }
    ease_point(pass->links, &behind, lanes_vector(ends[0].velocity, &spare), zero, none);
}

/* ---- impulses along the links ---- */

/* A link at the end of the step: computed one link ahead of its elimination to hide the latency
 * of square root and division. */
typedef struct ChainEdge {
    Vec3x8 d;    /* m, from its first point to its second */
    f32x8 value; /* m, excess length */
    f32x8 per;   /* 1 / length; 0 if it has none */
    f32x8 length;
} ChainEdge;

SIMD_INLINE ChainEdge edge_from(const ChainPass *pass, u32 i, Vec3x8 d)
{
    f32x8 length = f32x8_sqrt(vec3x8_dot(d, d)), rest = f32x8_load(pass->chain[i].rest);
    i32x8 valid = (i32x8)(length > length_min) & (i32x8)(rest > 0.0f);
    return (ChainEdge){.d = d,
                       .value = f32x8_and(valid, length - rest),
                       .per = f32x8_and(valid, 1.0f / length),
                       .length = length};
}

/* Gathers the second point of link i into ends[(i + 1) & 1]. */
SIMD_INLINE ChainEdge edge_moving(const ChainPass *pass, u32 i, Gathered ends[2])
{
    lanes_gather(lanes_of(pass, i + 1), &ends[(i + 1) & 1]);
    return edge_from(
        pass, i, lanes_edge(&ends[i & 1], &ends[(i + 1) & 1], pass->h, &pass->links[i + 1].weight));
}

/* Carries the first point's solved velocity of link i into the second. */
SIMD_INLINE ChainEdge edge_eased(const ChainPass *pass, u32 i)
{
    ChainLink *link = &pass->links[i];
    link[1].velocity = vec3x8_add_scaled(link[1].velocity, link[1].passed, link->velocity);
    Vec3x8 moved = vec3x8_scale(vec3x8_sub(link[1].velocity, link->velocity), f32x8_set(pass->h));
    return edge_from(pass, i, vec3x8_sub(moved, link->n));
}

/* Intermediate values that the elimination of a link passes to the next. */
typedef struct Front {
    f32x8 left; /* 1/kg, of the next point's weight, the part not taken by earlier links; and α̃ */
    f32x8 pivot; /* 1/kg */
    f32x8 sum;   /* m/s */
    Vec3x8 n;
    i32x8 had; /* the link has a direction */
} Front;

/* The share of w_a left by the preceding chain, w_a − (w_a n·n₋)² / pivot₋, is written without
 * cancellation. */
SIMD_INLINE void eliminate(const ChainPass *pass, u32 i, Front *front, const ChainEdge *edge,
                           bool eased)
{
    const f32x8 one = f32x8_set(1.0f);
    const f32 per_h = 1.0f / pass->h;
    ChainLink *link = &pass->links[i];
    f32x8 weight = link->weight, next = link[1].weight;
    i32x8 has = (i32x8)(edge->per > 0.0f);
    f32x8 value = per_h * edge->value;
    Vec3x8 n = vec3x8_scale(edge->d, edge->per);
    link->n = n;
    link->light = pass->h * edge->per * (weight + next);
    if (eased) {
        link->given *= per_h * edge->length;
        value -= pass->alpha * link->given;
    }
    /* 1 − n·n₋ without cancellation. */
    Vec3x8 rotation = vec3x8_sub(n, front->n);
    f32x8 bend = f32x8_select(has & front->had, 0.5f * vec3x8_dot(rotation, rotation), one);
    f32x8 along = one - bend, off = bend * (one + along), coupling = weight * along;
    if (i > 0) {
        f32x8 per_pivot = one / front->pivot;
        link[-1].impulse = front->sum * per_pivot;
        link[-1].passed = coupling * per_pivot;
        front->left = (weight * off + pass->alpha) + coupling * along * (front->left * per_pivot);
        front->sum = value + coupling * link[-1].impulse;
    } else {
        front->left = weight + pass->alpha;
        front->sum = value;
    }
    /* The minimum is negligible for moving points; it matters where both ends are held. */
    front->pivot = front->left + (next + (pivot_min * (weight + next) + 1e-20f));
    front->n = n;
    front->had = has;
}

SIMD_INLINE void eliminate_last(const ChainPass *pass, const Front *front)
{
    ChainLink *last = &pass->links[pass->head->links - 1];
    last->impulse = front->sum / front->pivot;
    last->passed = f32x8_set(0.0f);
}

SIMD_INLINE void eliminate_all(const ChainPass *pass, bool eased)
{
    const u32 links = pass->head->links;
    Front front = {.pivot = f32x8_set(1.0f)};
    Gathered ends[2];
    ChainEdge edge;
    if (eased) {
        edge = edge_eased(pass, 0);
    } else {
        lanes_gather(lanes_of(pass, 0), &ends[0]);
        pass->links[0].weight = weights_of(pass, 0);
        edge = edge_moving(pass, 0, ends);
    }
    for (u32 i = 0; i + 1 < links; i++) {
        ChainEdge ahead = eased ? edge_eased(pass, i + 1) : edge_moving(pass, i + 1, ends);
        eliminate(pass, i, &front, &edge, eased);
        edge = ahead;
    }
    eliminate(pass, links - 1, &front, &edge, eased);
    eliminate_last(pass, &front);
}

/* Back substitution, last to first. Returns the largest T h² w / l; again: lanes where the
 * change of tension is not small beside 1 and the applied tension. */
SIMD_INLINE f32x8 substitute(const ChainPass *pass, bool eased, i32x8 *again)
{
    f32x8 next = f32x8_set(0.0f), most = next;
    i32x8 much = {0};
    for (u32 i = pass->head->links; i-- > 0;) {
        ChainLink *link = &pass->links[i];
        next = link->impulse + link->passed * next;
        link->impulse = next;
        f32x8 more = next * link->light, given = f32x8_set(0.0f);
        if (eased) {
            given = link->given * link->light;
            much |= (i32x8)(more > explicit_max * (1.0f + given));
        }
        most = f32x8_max(most, more + given);
    }
    *again = eased ? much : (i32x8)(most > explicit_max);
    return most;
}

SIMD_INLINE f32x8 tension_of(const ChainLink *link, bool eased)
{
    return positive(eased ? link->impulse + link->given : link->impulse);
}

/* Sets the tension applied in the next round. */
SIMD_INLINE void give_more(const ChainPass *pass, i32x8 where, bool eased)
{
    for (u32 i = 0; i < pass->head->links; i++) {
        f32x8 tension = tension_of(&pass->links[i], eased);
        pass->tension[i] = f32x8_select(where, tension, pass->tension[i]);
    }
}

SIMD_INLINE void apply(const ChainPass *pass, bool eased)
{
    const u32 links = pass->head->links, even = pass->head->even;
    Vec3x8 after = vec3x8_set(vec3_zero());
    for (u32 i = links + 1; i-- > 0;) {
        const ChainLink *link = &pass->links[i];
        Vec3x8 pull = vec3x8_set(vec3_zero());
        if (i > 0) {
            pull = vec3x8_scale(link[-1].n, link[-1].impulse);
            pass->tension[i - 1] = tension_of(&link[-1], eased);
        }
        Vec3x8 change = vec3x8_scale(vec3x8_sub(after, pull), link->weight);
        /* Shorter chains stay at their last point. */
        bool all = i > 0 && i < even;
        if (eased) {
            lanes_put(lanes_of(pass, i), vec3x8_add(link->velocity, change), all);
        } else {
            lanes_push(lanes_of(pass, i), change, all);
        }
        after = pull;
    }
}

/* Applies existing tension until its growth is small. Finished lanes get the result they would
 * get alone. */
static __attribute__((noinline)) void run_taut(const ChainPass *pass, const i32x8 *lanes, u32 round)
{
    i32x8 taut = *lanes, again;
    f32x8 most;
    for (;; round++) {
        ease(pass, taut);
        eliminate_all(pass, true);
        most = substitute(pass, true, &again);
        if (round == ROUNDS_MAX || !i32x8_any(again)) {
            break;
        }
        give_more(pass, again, true);
        taut |= again;
    }
    apply(pass, true);
    *pass->taut = positive(most);
}

static void run_batch(const ChainPass *pass)
{
    i32x8 taut = (i32x8)(*pass->taut > explicit_max);
    u32 round = 1;
    if (!i32x8_any(taut)) {
        eliminate_all(pass, false);
        f32x8 most = substitute(pass, false, &taut);
        if (!i32x8_any(taut)) {
            apply(pass, false);
            *pass->taut = positive(most);
            return;
        }
        give_more(pass, taut, false);
        round = 2;
    }
    run_taut(pass, &taut, round);
}

void chain_run(SoftPoint *points, f32x8 *batches, f32x8 *tension, u32 count, f32 h, f32 scale)
{
    ChainLink local[CHAIN_LOCAL + 1];
    f32x8 *at = batches;
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
        run_batch(&pass);
        at += chain_size(head->links);
    }
}
