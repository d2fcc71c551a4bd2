/*
 * solve_joint_ring.c: small clusters of joints with loops (bridges of planks, boxes of joined
 * walls, closed linkages) solved directly, one at a time and in doubles. With G the softness of
 * joints, the impulses x of (J M⁻¹ Jᵀ + G) x = r follow from the velocity changes u that they
 * cause: (M + Jᵀ G⁻¹ J) u = Jᵀ G⁻¹ r and x = G⁻¹ (r − J u). That matrix has a 6×6 block for each
 * body and each connected pair, however many joints connect them, and is positive definite even
 * with redundant constraints, as loops have. It is factored by blocks (LDLᵀ) within its envelope,
 * with the bodies in reverse Cuthill–McKee order ("Reducing the bandwidth of sparse symmetric
 * matrices", 1969; George and Liu, "Computer solution of large sparse positive definite systems",
 * 1981): the cost per plank of a bridge does not depend on its length.
 */
#include "server/physics/rigid/joint/joint_exact.h"

enum {
    SIX = 6,
    PAIR = SIX * SIX, /* of a 6×6 matrix, row by row */
    HOLD_WORDS = ENTRIES + 3,
    /* Maximal block products per body, beyond which sweeps are cheaper, and blocks of the
     * matrix; small clusters may be dense. */
    WORK_PER_BODY = 24,
    FILL_PER_BODY = 32,
    DENSE_BODIES = 12
};

/* The numbers of one ring. Row i of blocks extends from the first body coupled to it up to i:
 * Lᵀ, and D⁻¹ at its end. */
typedef struct Ring {
    const Trees *trees;
    u32 lane;
    f64 *blocks; /* [fill][PAIR] */
    f64 *moves;  /* [own_count][SIX] */
    f64 *holds;  /* [count][ENTRIES] G⁻¹ of the locked part */
    f64 *asks;   /* [count][3] G⁻¹ r */
} Ring;

static size_t ring_words(u32 fill, u32 own_count, u32 count)
{
    return (size_t)fill * PAIR + (size_t)own_count * SIX + (size_t)count * HOLD_WORDS;
}

u32 joint_ring_blocks(const JointTree *tree)
{
    size_t words = SIMD_LANES * ring_words(tree->fill, tree->own_count, tree->count);
    return (u32)((words * sizeof(f64) + sizeof(TreeBlock) - 1) / sizeof(TreeBlock));
}

static Ring ring_of(const Trees *t, u32 lane)
{
    f64 *words = (f64 *)t->blocks + lane * ring_words(t->fill, t->own_count, t->count);
    f64 *moves = words + (size_t)t->fill * PAIR, *holds = moves + (size_t)t->own_count * SIX;
    return (Ring){t, lane, words, moves, holds, holds + (size_t)t->count * ENTRIES};
}

/* The first body in the row of a body. */
static u32 row_first(const u32 *ends, u32 i)
{
    return i + 1 - (ends[i] - (i > 0 ? ends[i - 1] : 0));
}

/* The block of row i in a column. */
static f64 *block_at(const Ring *r, u32 i, u32 column)
{
    return &r->blocks[PAIR * (size_t)(r->trees->ends[i] - 1 - (i - column))];
}

bool joint_ring_fits(const u32 *ends, u32 count)
{
    if (count <= DENSE_BODIES) {
        return true;
    }
    if (ends[count - 1] > FILL_PER_BODY * count) {
        return false;
    }
    u32 work = 0;
    for (u32 i = 0; i < count; i++) {
        u32 first = row_first(ends, i);
        for (u32 j = first; j <= i; j++) {
            work += 1 + j - u32_max(first, row_first(ends, j));
        }
    }
    return work <= WORK_PER_BODY * count;
}

/* ---- 6×6 ---- */

/* out − a b */
static void subtract_pair(f64 out[PAIR], const f64 a[PAIR], const f64 b[PAIR])
{
    for (u32 i = 0; i < SIX; i++) {
        f64 row[SIX];
        memcpy(row, &out[SIX * i], sizeof(row));
        for (u32 k = 0; k < SIX; k++) {
            f64 s = a[SIX * i + k];
            for (u32 j = 0; j < SIX; j++) {
                row[j] -= s * b[SIX * k + j];
            }
        }
        memcpy(&out[SIX * i], row, sizeof(row));
    }
}

/* Replaces a (six rows) by b aᵀ. */
static void rotation_over(f64 a[PAIR], const f64 b[PAIR])
{
    f64 across[PAIR], out[PAIR] = {0};
    for (u32 i = 0; i < PAIR; i++) {
        across[SIX * (i % SIX) + i / SIX] = a[i];
    }
    for (u32 i = 0; i < SIX; i++) {
        for (u32 k = 0; k < SIX; k++) {
            f64 s = b[SIX * i + k];
            for (u32 j = 0; j < SIX; j++) {
                out[SIX * i + j] += s * across[SIX * k + j];
            }
        }
    }
    memcpy(a, out, sizeof(out));
}

/* Inverts a positive definite matrix (Gauss and Jordan, in place). */
static void invert_pair(f64 m[PAIR])
{
    for (u32 k = 0; k < SIX; k++) {
        f64 pivot = m[SIX * k + k], s = pivot > 0.0 ? 1.0 / pivot : 0.0, column[SIX];
        for (u32 i = 0; i < SIX; i++) {
            column[i] = m[SIX * i + k];
            m[SIX * i + k] = 0.0;
        }
        m[SIX * k + k] = 1.0;
        for (u32 j = 0; j < SIX; j++) {
            m[SIX * k + j] *= s;
        }
        for (u32 i = 0; i < SIX; i++) {
            if (i != k) {
                for (u32 j = 0; j < SIX; j++) {
                    m[SIX * i + j] -= column[i] * m[SIX * k + j];
                }
            }
        }
    }
}

/* out − m v, or with the transpose of m */
static void subtract_times(f64 out[SIX], const f64 m[PAIR], const f64 v[SIX])
{
    for (u32 i = 0; i < SIX; i++) {
        for (u32 k = 0; k < SIX; k++) {
            out[i] -= m[SIX * i + k] * v[k];
        }
    }
}
static void subtract_transposed(f64 out[SIX], const f64 m[PAIR], const f64 v[SIX])
{
    for (u32 k = 0; k < SIX; k++) {
        for (u32 i = 0; i < SIX; i++) {
            out[i] -= m[SIX * k + i] * v[k];
        }
    }
}

/* ---- the matrix ---- */

/* Mass and inertia. Axes without rotation are treated as extremely heavy. */
static void body_begin(const Ring *r, u32 body)
{
    const TreeSides *side = &r->trees->sides[body];
    f64 *d = block_at(r, body, body), inertia[ENTRIES];
    f64 mass = lane_f64(&side->mass, r->lane);
    lane_matrix(&side->place.inertia, r->lane, inertia);
    invert(inertia);
    bool turns = inertia[0] > 0.0 && inertia[4] > 0.0 && inertia[8] > 0.0;
    for (u32 i = 0; i < 3; i++) {
        d[SIX * i + i] = mass > 0.0 ? 1.0 / mass : 1e24;
        for (u32 j = 0; j < 3; j++) {
            f64 fixed = i == j ? 1e24 : 0.0;
            d[SIX * (i + 3) + j + 3] = turns ? inertia[3 * i + j] : fixed;
        }
    }
}

/* G⁻¹ of the locked part. */
static void row_hold(const Ring *r, u32 place, f64 out[ENTRIES])
{
    f64 give[ENTRIES], p[ENTRIES], part[ENTRIES];
    lane_matrix(&r->trees->rows[place].give, r->lane, give);
    invert(give);
    locked_projection(r->trees, r->lane, place, p);
    multiply(p, give, part);
    multiply(part, p, out);
}

/* Adds Jᵀ H J of the sides of two bodies: linear, then angular velocities. */
static void add_pair(f64 out[PAIR], const f64 hold[ENTRIES], f64 line_a,
                     const f64 rotation_a[ENTRIES], f64 line_b, const f64 rotation_b[ENTRIES])
{
    f64 rotated[ENTRIES];
    multiply(hold, rotation_b, rotated);
    for (u32 i = 0; i < 3; i++) {
        for (u32 j = 0; j < 3; j++) {
            f64 line = 0.0, angular_velocity = 0.0;
            for (u32 k = 0; k < 3; k++) {
                line += rotation_a[3 * k + i] * hold[3 * k + j];
                angular_velocity += rotation_a[3 * k + i] * rotated[3 * k + j];
            }
            out[SIX * i + j] += line_a * line_b * hold[3 * i + j];
            out[SIX * i + j + 3] += line_a * rotated[3 * i + j];
            out[SIX * (i + 3) + j] += line_b * line;
            out[SIX * (i + 3) + j + 3] += angular_velocity;
        }
    }
}

static void row_add(const Ring *r, u32 place)
{
    const TreeLinks *links = &r->trees->joints[place].links;
    u32 own = r->trees->own_count, a = links->body_a, b = links->body_b;
    f64 *hold = &r->holds[ENTRIES * place], rotation_a[ENTRIES], rotation_b[ENTRIES];
    row_hold(r, place, hold);
    f64 line_a = angular_part(r->trees, r->lane, place, a, rotation_a);
    f64 line_b = angular_part(r->trees, r->lane, place, b, rotation_b);
    if (a < own) {
        add_pair(block_at(r, a, a), hold, line_a, rotation_a, line_a, rotation_a);
    }
    if (b < own) {
        add_pair(block_at(r, b, b), hold, line_b, rotation_b, line_b, rotation_b);
    }
    if (a < own && b < own) {
        if (a > b) {
            add_pair(block_at(r, a, b), hold, line_a, rotation_a, line_b, rotation_b);
        } else {
            add_pair(block_at(r, b, a), hold, line_b, rotation_b, line_a, rotation_a);
        }
    }
}

/* L D of a row of blocks, then Lᵀ and D⁻¹. */
static void row_factor(const Ring *r, u32 i)
{
    const u32 *ends = r->trees->ends;
    u32 first = row_first(ends, i);
    for (u32 j = first; j < i; j++) {
        f64 *out = block_at(r, i, j);
        for (u32 k = u32_max(first, row_first(ends, j)); k < j; k++) {
            subtract_pair(out, block_at(r, i, k), block_at(r, j, k));
        }
    }
    f64 *d = block_at(r, i, i), whole[PAIR];
    for (u32 j = first; j < i; j++) {
        f64 *out = block_at(r, i, j);
        memcpy(whole, out, sizeof(whole));
        rotation_over(out, block_at(r, j, j));
        subtract_pair(d, whole, out);
    }
    invert_pair(d);
}

void rings_eliminate(const Trees *t)
{
    for (u32 lane = 0; lane < t->lanes; lane++) {
        Ring r = ring_of(t, lane);
        memset(r.blocks, 0, (size_t)t->fill * PAIR * sizeof(f64));
        for (u32 i = 0; i < t->own_count; i++) {
            body_begin(&r, i);
        }
        for (u32 i = 0; i < t->count; i++) {
            row_add(&r, i);
        }
        for (u32 i = 0; i < t->own_count; i++) {
            row_factor(&r, i);
        }
    }
}

/* ---- a right-hand side ---- */

/* Adds Jᵀ x of one side of a row. */
static void push(const Ring *r, u32 place, u32 body, const f64 x[3])
{
    if (body >= r->trees->own_count) {
        return;
    }
    f64 rotation[ENTRIES], *out = &r->moves[SIX * body];
    f64 line = angular_part(r->trees, r->lane, place, body, rotation);
    for (u32 i = 0; i < 3; i++) {
        out[i] += line * x[i];
        out[i + 3] += rotation[i] * x[0] + rotation[3 + i] * x[1] + rotation[6 + i] * x[2];
    }
}

/* Takes J u of one side of a row. */
static void take_speed(const Ring *r, u32 place, u32 body, f64 speed[3])
{
    if (body >= r->trees->own_count) {
        return;
    }
    f64 rotation[ENTRIES];
    const f64 *u = &r->moves[SIX * body];
    f64 line = angular_part(r->trees, r->lane, place, body, rotation);
    for (u32 i = 0; i < 3; i++) {
        speed[i] -= line * u[i] + rotation[3 * i] * u[3] + rotation[3 * i + 1] * u[4] +
                    rotation[3 * i + 2] * u[5];
    }
}

static void apply_hold(const Ring *r, u32 place, const f64 v[3], f64 out[3])
{
    const f64 *hold = &r->holds[ENTRIES * place];
    for (u32 i = 0; i < 3; i++) {
        out[i] = hold[3 * i] * v[0] + hold[3 * i + 1] * v[1] + hold[3 * i + 2] * v[2];
    }
}

static void substitute(const Ring *r)
{
    const u32 *ends = r->trees->ends;
    u32 count = r->trees->own_count;
    for (u32 i = 0; i < count; i++) {
        for (u32 j = row_first(ends, i); j < i; j++) {
            subtract_transposed(&r->moves[SIX * i], block_at(r, i, j), &r->moves[SIX * j]);
        }
    }
    for (u32 i = 0; i < count; i++) {
        f64 v[SIX], minus[SIX] = {0};
        memcpy(v, &r->moves[SIX * i], sizeof(v));
        subtract_times(minus, block_at(r, i, i), v);
        for (u32 k = 0; k < SIX; k++) {
            r->moves[SIX * i + k] = -minus[k];
        }
    }
    for (u32 i = count; i-- > 0;) {
        for (u32 j = row_first(ends, i); j < i; j++) {
            subtract_times(&r->moves[SIX * j], block_at(r, i, j), &r->moves[SIX * i]);
        }
    }
}

const f64 *ring_response(const Trees *t, u32 lane, u32 body, u32 axis)
{
    Ring r = ring_of(t, lane);
    memset(r.moves, 0, (size_t)t->own_count * SIX * sizeof(f64));
    r.moves[SIX * body + axis] = 1.0;
    substitute(&r);
    return r.moves;
}

void rings_solve(const Trees *t)
{
    for (u32 lane = 0; lane < t->lanes; lane++) {
        Ring r = ring_of(t, lane);
        memset(r.moves, 0, (size_t)t->own_count * SIX * sizeof(f64));
        for (u32 i = 0; i < t->count; i++) {
            const TreeLinks *links = &t->joints[i].links;
            f64 ask[3], held[3];
            lane_f64s(&t->rows[i].change, lane, ask);
            memcpy(r.asks + 3 * (size_t)i, ask, sizeof(ask));
            apply_hold(&r, i, ask, held);
            push(&r, i, links->body_a, held);
            push(&r, i, links->body_b, held);
        }
        substitute(&r);
        for (u32 i = 0; i < t->count; i++) {
            const TreeLinks *links = &t->joints[i].links;
            f64 *rest = r.asks + 3 * (size_t)i, x[3];
            take_speed(&r, i, links->body_a, rest);
            take_speed(&r, i, links->body_b, rest);
            apply_hold(&r, i, rest, x);
            lane_set_vec3(&t->rows[i].change, lane, vec3((f32)x[0], (f32)x[1], (f32)x[2]));
        }
    }
}
