/*
 * solve_joint_tree_exact.c: trees of joints with so different masses, or so long arms, that the
 * elimination in floats loses their constraints: light bodies between heavy ones, extended sliders.
 * The same elimination as in solve_joint_trees.c, one tree at a time and in doubles.
 */
#include "server/physics/rigid/joint/joint_exact.h"

enum {
    ROW_WORDS = ENTRIES + 3
};
PL_STATIC_ASSERT(sizeof(TreeBlock) * TREE_EXACT_BLOCKS >= SIMD_LANES * ENTRIES * sizeof(f64),
                 "space for a coupling of each lane");
PL_STATIC_ASSERT(sizeof(TreeBlock) * TREE_EXACT_ROWS >= SIMD_LANES * ROW_WORDS * sizeof(f64),
                 "space for a row of each lane");

/* The numbers of one tree. */
typedef struct Exact {
    const Trees *trees;
    u32 lane;
    f64 *inverses; /* [count][ENTRIES] D, then D⁻¹ */
    f64 *sides;    /* [count][3] right-hand sides, then the solution */
    f64 *blocks;   /* [block_count][ENTRIES] D⁻¹ B */
} Exact;

static Exact exact_of(const Trees *t, u32 lane)
{
    f64 *words = (f64 *)t->blocks + lane * (t->block_count * ENTRIES + t->count * ROW_WORDS);
    f64 *sides = words + t->count * ENTRIES;
    return (Exact){t, lane, words, sides, sides + t->count * 3};
}

/* out − aᵀ b */
static void subtract_product(f64 out[ENTRIES], const f64 a[ENTRIES], const f64 b[ENTRIES])
{
    for (u32 i = 0; i < 3; i++) {
        for (u32 j = 0; j < 3; j++) {
            out[3 * i + j] -= a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j];
        }
    }
}

/* ---- rows ---- */

/* Adds the velocity of the rows `one` at a body per unit impulse of the rows `other`. */
static void add_coupling(const Exact *e, u32 body, u32 one, u32 other, f64 out[ENTRIES])
{
    const TreeSides *side = &e->trees->sides[body];
    f64 p[ENTRIES], q[ENTRIES], inertia[ENTRIES], rotated[ENTRIES];
    f64 line = angular_part(e->trees, e->lane, one, body, p) *
               angular_part(e->trees, e->lane, other, body, q);
    lane_matrix(&side->place.inertia, e->lane, inertia);
    multiply(p, inertia, rotated);
    for (u32 i = 0; i < 3; i++) {
        for (u32 j = 0; j < 3; j++) {
            out[3 * i + j] += rotated[3 * i] * q[3 * j] + rotated[3 * i + 1] * q[3 * j + 1] +
                              rotated[3 * i + 2] * q[3 * j + 2];
        }
        out[4 * i] += line * lane_f64(&side->mass, e->lane);
    }
}

/* Projects to the locked part of both rows. */
static void lock(const Exact *e, u32 one, u32 other, f64 m[ENTRIES])
{
    f64 p[ENTRIES], part[ENTRIES];
    locked_projection(e->trees, e->lane, one, p);
    multiply(p, m, part);
    locked_projection(e->trees, e->lane, other, p);
    multiply(part, p, m);
}

static void coupling(const Exact *e, u32 one, u32 other, f64 out[ENTRIES])
{
    const TreeLinks *p = &e->trees->joints[one].links, *q = &e->trees->joints[other].links;
    memset(out, 0, ENTRIES * sizeof(f64));
    add_coupling(e, p->upper, one, other, out);
    if (p->body_a == q->body_a && p->body_b == q->body_b) {
        add_coupling(e, p->body_a == p->upper ? p->body_b : p->body_a, one, other, out);
    }
    lock(e, one, other, out);
}

/* Their own matrix: free directions get a similar mass, uncoupled. */
static void row_begin(const Exact *e, u32 place)
{
    const TreeLinks *links = &e->trees->joints[place].links;
    f64 *d = &e->inverses[ENTRIES * place], give[ENTRIES], p[ENTRIES];
    memset(d, 0, ENTRIES * sizeof(f64));
    add_coupling(e, links->body_a, place, place, d);
    add_coupling(e, links->body_b, place, place, d);
    f64 size = d[0] + d[4] + d[8];
    lock(e, place, place, d);
    locked_projection(e->trees, e->lane, place, p);
    lane_matrix(&e->trees->rows[place].give, e->lane, give);
    for (u32 i = 0; i < ENTRIES; i++) {
        d[i] += give[i] + size * ((i % 4 == 0 ? 1.0 : 0.0) - p[i]);
    }
}

static void row_eliminate(const Exact *e, u32 place)
{
    const TreeLinks *links = &e->trees->joints[place].links;
    f64 *mine = &e->blocks[ENTRIES * links->block], plain[TREE_COUPLED][ENTRIES];
    invert(&e->inverses[ENTRIES * place]);
    for (u32 n = 0; n < links->coupled; n++) {
        coupling(e, place, links->others[n], plain[n]);
        for (u32 i = 0; i < ENTRIES; i++) {
            plain[n][i] += mine[ENTRIES * n + i];
        }
        multiply(&e->inverses[ENTRIES * place], plain[n], &mine[ENTRIES * n]);
    }
    for (u32 n = 0; n < links->coupled; n++) {
        u32 other = links->others[n], next = e->trees->joints[other].links.block;
        subtract_product(&e->inverses[ENTRIES * other], plain[n], &mine[ENTRIES * n]);
        for (u32 m = n + 1; m < links->coupled; m++) {
            subtract_product(&e->blocks[ENTRIES * (next + m - n - 1)], plain[n],
                             &mine[ENTRIES * m]);
        }
    }
}

void trees_exact_eliminate(const Trees *t)
{
    for (u32 lane = 0; lane < t->lanes; lane++) {
        Exact e = exact_of(t, lane);
        memset(e.blocks, 0, t->block_count * ENTRIES * sizeof(f64));
        for (u32 i = 0; i < t->count; i++) {
            row_begin(&e, i);
        }
        for (u32 i = 0; i < t->count; i++) {
            row_eliminate(&e, i);
        }
    }
}

static void exact_solve(const Exact *e)
{
    const Trees *t = e->trees;
    for (u32 i = 0; i < t->count; i++) {
        lane_f64s(&t->rows[i].change, e->lane, &e->sides[3 * i]);
    }
    for (u32 i = 0; i < t->count; i++) {
        const TreeLinks *links = &t->joints[i].links;
        const f64 *x = &e->sides[3 * i];
        for (u32 n = 0; n < links->coupled; n++) {
            const f64 *m = &e->blocks[ENTRIES * (links->block + n)];
            f64 *other = &e->sides[3 * links->others[n]];
            for (u32 k = 0; k < 3; k++) {
                other[k] -= m[k] * x[0] + m[3 + k] * x[1] + m[6 + k] * x[2];
            }
        }
    }
    for (u32 i = t->count; i-- > 0;) {
        const TreeLinks *links = &t->joints[i].links;
        const f64 *d = &e->inverses[ENTRIES * i], *y = &e->sides[3 * i];
        f64 x[3];
        for (u32 k = 0; k < 3; k++) {
            x[k] = d[3 * k] * y[0] + d[3 * k + 1] * y[1] + d[3 * k + 2] * y[2];
        }
        for (u32 n = 0; n < links->coupled; n++) {
            const f64 *m = &e->blocks[ENTRIES * (links->block + n)];
            const f64 *other = &e->sides[3 * links->others[n]];
            for (u32 k = 0; k < 3; k++) {
                x[k] -= m[3 * k] * other[0] + m[3 * k + 1] * other[1] + m[3 * k + 2] * other[2];
            }
        }
        memcpy(&e->sides[3 * i], x, sizeof(x));
        lane_set_vec3(&t->rows[i].change, e->lane, vec3((f32)x[0], (f32)x[1], (f32)x[2]));
    }
}

void trees_exact_solve(const Trees *t)
{
    for (u32 lane = 0; lane < t->lanes; lane++) {
        Exact e = exact_of(t, lane);
        exact_solve(&e);
    }
}
