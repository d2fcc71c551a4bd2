/*
 * solve_joint_trees.c: the numbers of solve_joint_tree.c, for up to eight trees of one shape side
 * by side, one a lane. The velocities of their bodies are gathered once a stage and worked on where
 * they lie one after the other.
 */
#include "server/physics/rigid/joint_wide.h"

/* rad in a step, squared. A tree whose bodies turn more is solved once more with the spins that the
 * first round gave. */
#define TURNS_MUCH 1e-4f

/* A 3×3 matrix of each tree: of what couples two joints. */
struct TreeBlock {
    Vec3x8 x, y, z; /* columns */
};

/* A body of each tree. */
struct TreeSides {
    u32 slots[SIMD_LANES]; /* the world and empty lanes: the spare slot */
    i32x8 moves;           /* all ones: of the tree, else it holds it */
    Vec3x8 velocity, spin;
    f32x8 mass;  /* inverse */
    f32x8 rest;  /* what else the gathered words hold */
    Place place; /* of what holds it, no inertia */
};

/* TREE_POINT */
typedef struct TreePoint {
    Vec3x8 local_a, local_b;            /* arms in the frames of the bodies */
    Vec3x8 start_a, start_b, start_gap; /* as the tick begins */
    Vec3x8 arm_a, arm_b;                /* after the last move */
} TreePoint;

/* The others: turning. */
typedef struct TreeTurn {
    Quatx8 frame_a, frame_b; /* in the frames of the bodies */
    Vec3x8 axis;             /* TREE_TURN_AXIS: free; TREE_TURN_CROSS: locked */
    Vec3x8 x, y;             /* TREE_TURN_CROSS: a's x and b's y */
} TreeTurn;

/* Three rows of a joint of each tree. */
struct TreeRow {
    union {
        TreePoint point;
        TreeTurn turn;
    };
    Vec3x8 gap;  /* m, rad: of b against a */
    Vec3x8 bend; /* m/s, rad/s: what the next step opens by turning */
    Vec3x8 impulse, sum, change;
    Vec3x8 below;      /* of the right-hand side: what the joints below take */
    Symmetric3x8 give; /* softness: speed for each unit of impulse */
    Symmetric3x8 mass; /* D⁻¹ of LDLᵀ */
};

/* A group and what is its own. */
typedef struct Trees {
    Rigid *rigid;
    const TreeJoint *joints; /* [count] of the first tree: their links are those of all */
    TreeRow *rows;           /* [count] */
    TreeSides *sides;        /* [side_count] */
    TreeBlock *blocks;       /* D⁻¹ B, from each joint's links.block on */
    u32 count, side_count;
} Trees;

bool joint_trees_reserve(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    return rigid_reserve(rigid, &store->tree_rows, &store->tree_row_capacity, store->tree_row_count,
                         sizeof(TreeRow)) &&
           rigid_reserve(rigid, &store->tree_sides, &store->tree_side_capacity,
                         store->tree_side_count, sizeof(TreeSides)) &&
           rigid_reserve(rigid, &store->tree_blocks, &store->tree_block_capacity,
                         store->tree_block_count, sizeof(TreeBlock));
}

static Trees trees_of(Rigid *rigid, const TreeGroup *group)
{
    const JointStore *store = &rigid->joints;
    return (Trees){rigid,
                   store->tree_joints + store->trees[group->tree].first,
                   store->tree_rows + group->row,
                   store->tree_sides + group->side,
                   store->tree_blocks + group->block,
                   group->count,
                   group->side_count};
}

/* ---- arithmetic ---- */

SIMD_INLINE Vec3x8 vec3x8_zero(void)
{
    f32x8 zero = f32x8_set(0.0f);
    return (Vec3x8){zero, zero, zero};
}
SIMD_INLINE Symmetric3x8 symmetric3x8_scale(const Symmetric3x8 *m, f32x8 s)
{
    return (Symmetric3x8){m->xx * s, m->yy * s, m->zz * s, m->xy * s, m->xz * s, m->yz * s};
}
SIMD_INLINE Symmetric3x8 symmetric3x8_add(const Symmetric3x8 *a, const Symmetric3x8 *b)
{
    return (Symmetric3x8){a->xx + b->xx, a->yy + b->yy, a->zz + b->zz,
                          a->xy + b->xy, a->xz + b->xz, a->yz + b->yz};
}
SIMD_INLINE Vec3x8 block_mul_transposed(const TreeBlock *m, Vec3x8 v)
{
    return (Vec3x8){vec3x8_dot(m->x, v), vec3x8_dot(m->y, v), vec3x8_dot(m->z, v)};
}
SIMD_INLINE Vec3x8 block_mul(const TreeBlock *m, Vec3x8 v)
{
    return vec3x8_add_scaled(vec3x8_add_scaled(vec3x8_scale(m->x, v.x), v.y, m->y), v.z, m->z);
}

/* w − [r] I⁻¹ [s], times the sign: the velocity at the arm r that a unit impulse at the arm s
 * gives. */
SIMD_INLINE TreeBlock arm_coupling(const TreeSides *side, Vec3x8 r, Vec3x8 s, f32 sign)
{
    const Symmetric3x8 *i = &side->place.inertia;
    Vec3x8 u = vec3x8_scale(s, f32x8_set(sign));
    /* Columns of I⁻¹ [s]ᵀ. */
    Vec3x8 x = {i->xy * u.z - i->xz * u.y, i->yy * u.z - i->yz * u.y, i->yz * u.z - i->zz * u.y};
    Vec3x8 y = {i->xz * u.x - i->xx * u.z, i->yz * u.x - i->xy * u.z, i->zz * u.x - i->xz * u.z};
    Vec3x8 z = {i->xx * u.y - i->xy * u.x, i->xy * u.y - i->yy * u.x, i->xz * u.y - i->yz * u.x};
    TreeBlock m = {vec3x8_cross(x, r), vec3x8_cross(y, r), vec3x8_cross(z, r)};
    f32x8 w = side->mass * sign;
    m.x.x += w;
    m.y.y += w;
    m.z.z += w;
    return m;
}

/* I⁻¹ times the sign. */
SIMD_INLINE TreeBlock turn_coupling(const TreeSides *side, f32 sign)
{
    Symmetric3x8 i = symmetric3x8_scale(&side->place.inertia, f32x8_set(sign));
    return (TreeBlock){{i.xx, i.xy, i.xz}, {i.xy, i.yy, i.yz}, {i.xz, i.yz, i.zz}};
}

SIMD_INLINE Vec3x8 arm_at(const TreeRow *row, bool is_b)
{
    return is_b ? row->point.arm_b : row->point.arm_a;
}

/* What a unit impulse of the rows `other` gives those of `one` at a body that both have. */
SIMD_INLINE TreeBlock coupling_at(const Trees *t, u32 body, u32 one, u32 other)
{
    const TreeLinks *p = &t->joints[one].links, *q = &t->joints[other].links;
    const TreeRow *a = &t->rows[one], *b = &t->rows[other];
    const TreeSides *side = &t->sides[body];
    bool one_b = p->body_b == body, other_b = q->body_b == body;
    f32 sign = one_b == other_b ? 1.0f : -1.0f;
    if (p->kind == TREE_POINT && q->kind == TREE_POINT) {
        return arm_coupling(side, arm_at(a, one_b), arm_at(b, other_b), sign);
    }
    TreeBlock m = turn_coupling(side, sign);
    if (p->kind == TREE_POINT) {
        Vec3x8 r = arm_at(a, one_b);
        return (TreeBlock){vec3x8_cross(m.x, r), vec3x8_cross(m.y, r), vec3x8_cross(m.z, r)};
    }
    if (q->kind == TREE_POINT) {
        /* I⁻¹ [s]: columns of I⁻¹ mixed by the arm. */
        Vec3x8 s = arm_at(b, other_b);
        return (TreeBlock){vec3x8_sub(vec3x8_scale(m.y, s.z), vec3x8_scale(m.z, s.y)),
                           vec3x8_sub(vec3x8_scale(m.z, s.x), vec3x8_scale(m.x, s.z)),
                           vec3x8_sub(vec3x8_scale(m.x, s.y), vec3x8_scale(m.y, s.x))};
    }
    return m;
}

/* What of a turning is locked. */
SIMD_INLINE Vec3x8 locked_part(u32 kind, const TreeRow *row, Vec3x8 v)
{
    Vec3x8 along = vec3x8_scale(row->turn.axis, vec3x8_dot(row->turn.axis, v));
    return kind == TREE_TURN_AXIS ? vec3x8_sub(v, along) : (kind == TREE_TURN_CROSS ? along : v);
}

SIMD_INLINE TreeBlock locked_rows(u32 kind, const TreeRow *row, const TreeBlock *m)
{
    return (TreeBlock){locked_part(kind, row, m->x), locked_part(kind, row, m->y),
                       locked_part(kind, row, m->z)};
}

/* The same of columns: a projection is symmetric. */
SIMD_INLINE TreeBlock locked_columns(u32 kind, const TreeRow *row, const TreeBlock *m)
{
    Vec3x8 n = row->turn.axis, along = block_mul(m, n);
    TreeBlock part = {vec3x8_scale(along, n.x), vec3x8_scale(along, n.y), vec3x8_scale(along, n.z)};
    if (kind == TREE_TURN_CROSS) {
        return part;
    }
    return (TreeBlock){vec3x8_sub(m->x, part.x), vec3x8_sub(m->y, part.y),
                       vec3x8_sub(m->z, part.z)};
}

SIMD_INLINE bool is_partial(u32 kind)
{
    return kind == TREE_TURN_AXIS || kind == TREE_TURN_CROSS;
}

SIMD_INLINE TreeBlock coupling(const Trees *t, u32 one, u32 other)
{
    const TreeLinks *p = &t->joints[one].links, *q = &t->joints[other].links;
    TreeBlock m = coupling_at(t, p->upper, one, other);
    if (p->body_a == q->body_a && p->body_b == q->body_b) {
        TreeBlock n = coupling_at(t, p->body_a == p->upper ? p->body_b : p->body_a, one, other);
        m = (TreeBlock){vec3x8_add(m.x, n.x), vec3x8_add(m.y, n.y), vec3x8_add(m.z, n.z)};
    }
    if (is_partial(p->kind)) {
        m = locked_rows(p->kind, &t->rows[one], &m);
    }
    if (is_partial(q->kind)) {
        m = locked_columns(q->kind, &t->rows[other], &m);
    }
    return m;
}

/* D − Bᵀ W for the symmetric product of two blocks. */
SIMD_INLINE void subtract_square(Symmetric3x8 *d, const TreeBlock *b, const TreeBlock *w)
{
    d->xx -= vec3x8_dot(b->x, w->x);
    d->yy -= vec3x8_dot(b->y, w->y);
    d->zz -= vec3x8_dot(b->z, w->z);
    d->xy -= vec3x8_dot(b->x, w->y);
    d->xz -= vec3x8_dot(b->x, w->z);
    d->yz -= vec3x8_dot(b->y, w->z);
}

/* m − Bᵀ W */
SIMD_INLINE void subtract_product(TreeBlock *m, const TreeBlock *b, const TreeBlock *w)
{
    m->x = vec3x8_sub(m->x, block_mul_transposed(b, w->x));
    m->y = vec3x8_sub(m->y, block_mul_transposed(b, w->y));
    m->z = vec3x8_sub(m->z, block_mul_transposed(b, w->z));
}

/* ---- the rows of one joint ---- */

/* The matrix of a turning. Empty rows are alone, and as heavy as the others. */
SIMD_INLINE Symmetric3x8 turn_matrix(u32 kind, const TreeRow *row, const TreeSides *a,
                                     const TreeSides *b)
{
    Symmetric3x8 k = symmetric3x8_add(&a->place.inertia, &b->place.inertia);
    if (kind == TREE_TURN) {
        return k;
    }
    Vec3x8 n = row->turn.axis, kn = symmetric3x8_mul(&k, n);
    f32x8 s = vec3x8_dot(n, kn), zero = f32x8_set(0.0f);
    if (kind == TREE_TURN_CROSS) {
        return (Symmetric3x8){s, s, s, zero, zero, zero};
    }
    /* P K P + s n nᵀ, P = E − n nᵀ */
    Vec3x8 m = vec3x8_sub_scaled(kn, s, n);
    return (Symmetric3x8){k.xx - 2.0f * n.x * m.x,      k.yy - 2.0f * n.y * m.y,
                          k.zz - 2.0f * n.z * m.z,      k.xy - n.x * m.y - n.y * m.x,
                          k.xz - n.x * m.z - n.z * m.x, k.yz - n.y * m.z - n.z * m.y};
}

/* As stiff as one substep resolves: what give there is keeps a chain that is held taut at both ends
 * from pulling without bound. */
static Softness tree_softness(u32 kind, f32 h)
{
    return softness((kind == TREE_POINT ? TREE_STIFFNESS : TREE_TURN_STIFFNESS) / h, 1.0f, h);
}

/* Their own matrix and an empty coupling, before the rows below them are eliminated. */
SIMD_INLINE void joint_begin(const Trees *t, u32 place, f32 h)
{
    const TreeLinks *links = &t->joints[place].links;
    Softness soft = tree_softness(links->kind, h);
    TreeRow *row = &t->rows[place];
    const TreeSides *a = &t->sides[links->body_a], *b = &t->sides[links->body_b];
    Symmetric3x8 k;
    if (links->kind == TREE_POINT) {
        f32x8 masses = a->mass + b->mass, zero = f32x8_set(0.0f);
        k = (Symmetric3x8){masses, masses, masses, zero, zero, zero};
        add_arm_response(&k, &a->place.inertia, row->point.arm_a);
        add_arm_response(&k, &b->place.inertia, row->point.arm_b);
    } else {
        k = turn_matrix(links->kind, row, a, b);
    }
    row->give = symmetric3x8_scale(&k, f32x8_set(soft.impulse_scale / soft.mass_scale));
    row->mass = symmetric3x8_add(&k, &row->give);
    if (links->filled) {
        memset(&t->blocks[links->block], 0, links->coupled * sizeof(TreeBlock));
    }
}

/* Mass becomes the inverse of D, blocks D⁻¹ B; what is coupled to the joint loses its share. */
SIMD_INLINE void joint_eliminate(const Trees *t, u32 place)
{
    const TreeLinks *links = &t->joints[place].links;
    TreeRow *row = &t->rows[place];
    TreeBlock *mine = &t->blocks[links->block], plain[TREE_COUPLED];
    Symmetric3x8 mass = inverse(&row->mass);
    row->mass = mass;
    for (u32 n = 0; n < links->coupled; n++) {
        TreeBlock b = coupling(t, place, links->others[n]);
        if (links->filled) {
            b = (TreeBlock){vec3x8_add(b.x, mine[n].x), vec3x8_add(b.y, mine[n].y),
                            vec3x8_add(b.z, mine[n].z)};
        }
        mine[n] = (TreeBlock){symmetric3x8_mul(&mass, b.x), symmetric3x8_mul(&mass, b.y),
                              symmetric3x8_mul(&mass, b.z)};
        plain[n] = b;
    }
    for (u32 n = 0; n < links->coupled; n++) {
        u32 other = links->others[n];
        subtract_square(&t->rows[other].mass, &plain[n], &mine[n]);
        /* The joints coupled to this one are coupled to each other, in the same order. */
        for (u32 m = n + 1; m < links->coupled; m++) {
            subtract_product(&t->blocks[t->joints[other].links.block + m - n - 1], &plain[n],
                             &mine[m]);
        }
    }
}

SIMD_INLINE Vec3x8 joint_speed(const Trees *t, u32 place)
{
    const TreeLinks *links = &t->joints[place].links;
    const TreeRow *row = &t->rows[place];
    const TreeSides *a = &t->sides[links->body_a], *b = &t->sides[links->body_b];
    if (links->kind != TREE_POINT) {
        return locked_part(links->kind, row, vec3x8_sub(b->spin, a->spin));
    }
    return vec3x8_sub(vec3x8_add(b->velocity, vec3x8_cross(b->spin, row->point.arm_b)),
                      vec3x8_add(a->velocity, vec3x8_cross(a->spin, row->point.arm_a)));
}

SIMD_INLINE void joint_apply(const Trees *t, u32 place, Vec3x8 impulse)
{
    const TreeLinks *links = &t->joints[place].links;
    const TreeRow *row = &t->rows[place];
    TreeSides *a = &t->sides[links->body_a], *b = &t->sides[links->body_b];
    Vec3x8 moment_a = impulse, moment_b = impulse;
    if (links->kind == TREE_POINT) {
        moment_a = vec3x8_cross(row->point.arm_a, impulse);
        moment_b = vec3x8_cross(row->point.arm_b, impulse);
        a->velocity = vec3x8_sub_scaled(a->velocity, a->mass, impulse);
        b->velocity = vec3x8_add_scaled(b->velocity, b->mass, impulse);
    }
    a->spin = vec3x8_sub(a->spin, symmetric3x8_mul(&a->place.inertia, moment_a));
    b->spin = vec3x8_add(b->spin, symmetric3x8_mul(&b->place.inertia, moment_b));
}

/* Forward substitution: takes their share from the right-hand sides above. */
SIMD_INLINE void joint_forward(const Trees *t, u32 place, Vec3x8 ask)
{
    const TreeLinks *links = &t->joints[place].links;
    TreeRow *row = &t->rows[place];
    row->change = vec3x8_sub(row->below, ask);
    row->below = vec3x8_zero();
    for (u32 n = 0; n < links->coupled; n++) {
        TreeRow *other = &t->rows[links->others[n]];
        other->below = vec3x8_sub(other->below,
                                  block_mul_transposed(&t->blocks[links->block + n], row->change));
    }
}

SIMD_INLINE Quatx8 quatx8_mul(Quatx8 a, Quatx8 b)
{
    return (Quatx8){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                    a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                    a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                    a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

SIMD_INLINE Vec3x8 unit_or(Vec3x8 v, Vec3x8 other)
{
    f32x8 square = vec3x8_dot(v, v), one = f32x8_set(1.0f);
    i32x8 some = square > 1e-30f;
    f32x8 s = f32x8_and(some, one / f32x8_sqrt(f32x8_select(some, square, one)));
    return (Vec3x8){f32x8_select(some, v.x * s, other.x), f32x8_select(some, v.y * s, other.y),
                    f32x8_select(some, v.z * s, other.z)};
}

/* Axes and the error of a turning. Where the axes of a hinge are more than a right angle apart, the
 * error is 1 about what turns them back. */
static void turn_follow(u32 kind, TreeRow *row, const Place *a, const Place *b)
{
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    Quatx8 qa = quatx8_mul(a->orientation, row->turn.frame_a);
    Quatx8 qb = quatx8_mul(b->orientation, row->turn.frame_b);
    Vec3x8 x = {one, zero, zero}, y = {zero, one, zero};
    if (kind == TREE_TURN) {
        Quatx8 q = quatx8_mul(qb, (Quatx8){qa.w, -qa.x, -qa.y, -qa.z});
        f32x8 s = f32x8_select(q.w < zero, f32x8_set(-2.0f), f32x8_set(2.0f));
        row->gap = (Vec3x8){s * q.x, s * q.y, s * q.z};
        return;
    }
    Vec3x8 xa = quatx8_rotate(qa, x);
    if (kind == TREE_TURN_AXIS) {
        Vec3x8 xb = quatx8_rotate(qb, x), error = vec3x8_cross(xa, xb);
        i32x8 far = vec3x8_dot(xa, xb) < zero;
        Vec3x8 whole = unit_or(error, quatx8_rotate(qa, y));
        row->turn.axis = xa;
        row->gap =
            (Vec3x8){f32x8_select(far, whole.x, error.x), f32x8_select(far, whole.y, error.y),
                     f32x8_select(far, whole.z, error.z)};
    } else {
        Vec3x8 yb = quatx8_rotate(qb, y);
        row->turn.x = xa;
        row->turn.y = yb;
        row->turn.axis =
            unit_or(vec3x8_cross(yb, xa), quatx8_rotate(qa, (Vec3x8){zero, zero, one}));
        row->gap = vec3x8_scale(row->turn.axis, vec3x8_dot(xa, yb));
    }
    row->impulse = locked_part(kind, row, row->impulse);
}

SIMD_INLINE void joint_follow(const Trees *t, u32 place)
{
    const TreeLinks *links = &t->joints[place].links;
    TreeRow *row = &t->rows[place];
    const Place *a = &t->sides[links->body_a].place, *b = &t->sides[links->body_b].place;
    if (links->kind != TREE_POINT) {
        turn_follow(links->kind, row, a, b);
        return;
    }
    TreePoint *p = &row->point;
    p->arm_a = quatx8_rotate(a->orientation, p->local_a);
    p->arm_b = quatx8_rotate(b->orientation, p->local_b);
    row->gap = vec3x8_add(p->start_gap, vec3x8_sub(anchor_moved(b, p->arm_b, p->start_b),
                                                   anchor_moved(a, p->arm_a, p->start_a)));
}

/* What the step opens by turning, as a speed: see point_bend. Axes of a hinge: ½ h σ x × ω, σ the
 * rate of its angle. Of a universal joint half of the second derivative of x · y. */
SIMD_INLINE Vec3x8 joint_bend(const Trees *t, u32 place, f32x8 half_h)
{
    const TreeLinks *links = &t->joints[place].links;
    const TreeRow *row = &t->rows[place];
    Vec3x8 u = t->sides[links->body_a].spin, v = t->sides[links->body_b].spin;
    Vec3x8 n = row->turn.axis;
    switch (links->kind) {
    case TREE_POINT:
        return point_bend(u, row->point.arm_a, v, row->point.arm_b, half_h);
    case TREE_TURN_AXIS:
        return vec3x8_scale(vec3x8_cross(n, u), half_h * vec3x8_dot(n, vec3x8_sub(v, u)));
    case TREE_TURN_CROSS: {
        Vec3x8 x = vec3x8_cross(u, row->turn.x), y = vec3x8_cross(v, row->turn.y);
        f32x8 bend = vec3x8_dot(vec3x8_cross(u, x), row->turn.y) + 2.0f * vec3x8_dot(x, y) +
                     vec3x8_dot(row->turn.x, vec3x8_cross(v, y));
        return vec3x8_scale(n, half_h * bend);
    }
    default: {
        f32x8 zero = f32x8_set(0.0f);
        return (Vec3x8){zero, zero, zero};
    }
    }
}

/* ---- whole trees ---- */

/* Back substitution from the root, which gives and applies the changes of the impulses of these
 * lanes. */
static void trees_back(const Trees *t, i32x8 lanes)
{
    for (u32 i = t->count; i-- > 0;) {
        const TreeLinks *links = &t->joints[i].links;
        TreeRow *row = &t->rows[i];
        Vec3x8 x = symmetric3x8_mul(&row->mass, row->change);
        for (u32 n = 0; n < links->coupled; n++) {
            x = vec3x8_sub(
                x, block_mul(&t->blocks[links->block + n], t->rows[links->others[n]].change));
        }
        x = (Vec3x8){f32x8_and(lanes, x.x), f32x8_and(lanes, x.y), f32x8_and(lanes, x.z)};
        row->change = x;
        row->impulse = vec3x8_add(row->impulse, x);
        joint_apply(t, i, x);
    }
}

static void sides_gather(const Trees *t)
{
    for (u32 i = 0; i < t->side_count; i++) {
        TreeSides *side = &t->sides[i];
        Side from = side_gather(t->rigid->states, side->slots);
        side->velocity = from.velocity;
        side->spin = from.spin;
        side->mass = f32x8_and(side->moves, from.mass);
        side->rest = from.rest;
    }
}

SIMD_INLINE void places_gather(const Trees *t)
{
    for (u32 i = 0; i < t->side_count; i++) {
        TreeSides *side = &t->sides[i];
        side->place = place_gather(t->rigid, side->slots);
        Symmetric3x8 *m = &side->place.inertia;
        *m = (Symmetric3x8){f32x8_and(side->moves, m->xx), f32x8_and(side->moves, m->yy),
                            f32x8_and(side->moves, m->zz), f32x8_and(side->moves, m->xy),
                            f32x8_and(side->moves, m->xz), f32x8_and(side->moves, m->yz)};
    }
}

/* What holds the trees has no mass here, and is not written. */
static void sides_scatter(const Trees *t)
{
    for (u32 i = 0; i < t->side_count; i++) {
        const TreeSides *side = &t->sides[i];
        Side to = {side->velocity, side->spin, side->mass, side->rest};
        side_scatter(t->rigid->states, side->slots, &to);
    }
}

/* ---- once a tick ---- */

static void fill_sides(const Trees *t, const TreeGroup *group)
{
    const JointStore *store = &t->rigid->joints;
    for (u32 i = 0; i < t->side_count; i++) {
        TreeSides *side = &t->sides[i];
        memset(side, 0, sizeof(*side));
        for (u32 lane = 0; lane < SIMD_LANES; lane++) {
            side->slots[lane] = t->rigid->def.body_capacity;
            u32 slot = lane < group->lanes
                           ? store->tree_bodies[store->trees[group->tree + lane].body + i]
                           : JOINT_WORLD;
            if (slot == JOINT_WORLD) {
                continue;
            }
            side->slots[lane] = slot;
            const Body *body = &t->rigid->bodies[slot];
            if (body->motion == BODY_DYNAMIC && body_is_active(body)) {
                side->moves[lane] = -1;
            }
        }
    }
}

static void lane_set_quat(Quatx8 *q, u32 lane, Quat x)
{
    lane_set(&q->w, lane, x.w);
    lane_set(&q->x, lane, x.x);
    lane_set(&q->y, lane, x.y);
    lane_set(&q->z, lane, x.z);
}

static void fill_point(const Rigid *rigid, TreeRow *row, u32 lane, u32 slot, f32 h)
{
    const Joint *from = &rigid->joints.joints[slot];
    Vec3 anchors[2];
    Quat frames[2];
    u32 a, b;
    joint_bodies(rigid, slot, &a, &b);
    joint_frames(rigid, &from->def, anchors, frames);
    lane_set_vec3(&row->point.start_gap, lane, vec3_sub(anchors[1], anchors[0]));
    lane_set_vec3(&row->impulse, lane, vec3_scale(from->load.linear, h));
    if (a != JOINT_WORLD) {
        Vec3 centre = rigid->bodies[a].centre;
        lane_set_vec3(&row->point.local_a, lane, vec3_sub(from->def.anchor_a, centre));
    }
    if (b != JOINT_WORLD) {
        Vec3 centre = rigid->bodies[b].centre;
        lane_set_vec3(&row->point.local_b, lane, vec3_sub(from->def.anchor_b, centre));
    }
}

/* Normal of a's x and b's y. */
static Vec3 cross_of(const Quat frames[2])
{
    Vec3 x = quat_rotate(frames[0], vec3(1.0f, 0.0f, 0.0f));
    Vec3 y = quat_rotate(frames[1], vec3(0.0f, 1.0f, 0.0f));
    return vec3_normalize_or(vec3_cross(y, x), quat_rotate(frames[0], vec3(0.0f, 0.0f, 1.0f)));
}

static void fill_turn(const Rigid *rigid, u32 kind, TreeRow *row, u32 lane, u32 slot, f32 h)
{
    const Joint *from = &rigid->joints.joints[slot];
    Vec3 anchors[2], load = vec3_scale(from->load.angular, h);
    Quat frames[2];
    joint_frames(rigid, &from->def, anchors, frames);
    lane_set_quat(&row->turn.frame_a, lane, from->def.frame_a);
    lane_set_quat(&row->turn.frame_b, lane, from->def.frame_b);
    if (kind == TREE_TURN_AXIS) {
        load = quat_rotate(frames[0], load);
    } else if (kind == TREE_TURN_CROSS) {
        load = vec3_scale(cross_of(frames), load.x);
    }
    lane_set_vec3(&row->impulse, lane, load);
}

static void fill_lane(const Trees *t, const TreeGroup *group, u32 lane, f32 h)
{
    const JointStore *store = &t->rigid->joints;
    const TreeJoint *joints = &store->tree_joints[store->trees[group->tree + lane].first];
    for (u32 i = 0; i < t->count; i++) {
        if (joints[i].links.kind == TREE_POINT) {
            fill_point(t->rigid, &t->rows[i], lane, joints[i].joint, h);
        } else {
            fill_turn(t->rigid, joints[i].links.kind, &t->rows[i], lane, joints[i].joint, h);
        }
    }
}

void joint_trees_prepare(Rigid *rigid, const TreeGroup *group, f32 h)
{
    Trees t = trees_of(rigid, group);
    memset(t.rows, 0, t.count * sizeof(*t.rows));
    for (u32 i = 0; i < t.count; i++) {
        if (t.joints[i].links.kind != TREE_POINT) {
            /* Empty lanes keep numbers finite. */
            t.rows[i].turn.frame_a.w = t.rows[i].turn.frame_b.w = f32x8_set(1.0f);
        }
    }
    fill_sides(&t, group);
    for (u32 lane = 0; lane < group->lanes; lane++) {
        fill_lane(&t, group, lane, h);
    }
    sides_gather(&t);
    places_gather(&t);
    for (u32 i = 0; i < t.count; i++) {
        TreeRow *row = &t.rows[i];
        joint_follow(&t, i);
        if (t.joints[i].links.kind == TREE_POINT) {
            row->point.start_a = row->point.arm_a;
            row->point.start_b = row->point.arm_b;
            row->gap = row->point.start_gap;
        }
        joint_begin(&t, i, h);
    }
    for (u32 i = 0; i < t.count; i++) {
        joint_eliminate(&t, i);
        t.rows[i].bend = joint_bend(&t, i, f32x8_set(0.5f * h));
    }
}

/* ---- each substep ---- */

void joint_trees_warm_start(Rigid *rigid, const TreeGroup *group)
{
    Trees t = trees_of(rigid, group);
    sides_gather(&t);
    for (u32 i = 0; i < t.count; i++) {
        joint_apply(&t, i, t.rows[i].impulse);
    }
    sides_scatter(&t);
}

static i32x8 who_turns_much(const Trees *t, f32 h)
{
    i32x8 lanes = {0};
    for (u32 i = 0; i < t->side_count; i++) {
        const TreeSides *side = &t->sides[i];
        lanes |= side->moves & (vec3x8_dot(side->spin, side->spin) * (h * h) > TURNS_MUCH);
    }
    return lanes;
}

void joint_trees_solve(Rigid *rigid, const TreeGroup *group, f32 h)
{
    Trees t = trees_of(rigid, group);
    f32x8 most = f32x8_set(JOINT_PUSH_M_S); /* or rad/s */
    i32x8 lanes = ~(i32x8){0};
    sides_gather(&t);
    for (u32 round = 0; round < 2 && i32x8_any(lanes); round++) {
        for (u32 i = 0; i < t.count; i++) {
            TreeRow *row = &t.rows[i];
            Softness soft = tree_softness(t.joints[i].links.kind, h);
            Vec3x8 bias = vec3x8_scale(row->gap, f32x8_set(soft.bias_rate));
            f32x8 length = f32x8_sqrt(vec3x8_dot(bias, bias));
            bias = vec3x8_scale(bias, most / f32x8_max(length, most));
            bias = vec3x8_add(bias, symmetric3x8_mul(&row->give, row->impulse));
            if (round > 0) {
                row->bend = joint_bend(&t, i, f32x8_set(0.5f * h));
            }
            bias = vec3x8_add(bias, row->bend);
            joint_forward(&t, i, vec3x8_add(joint_speed(&t, i), bias));
        }
        trees_back(&t, lanes);
        lanes = who_turns_much(&t, h);
    }
    sides_scatter(&t);
}

void joint_trees_relax(Rigid *rigid, const TreeGroup *group, f32 h)
{
    Trees t = trees_of(rigid, group);
    sides_gather(&t);
    places_gather(&t);
    for (u32 i = 0; i < t.count; i++) {
        joint_follow(&t, i);
        joint_begin(&t, i, h);
    }
    for (u32 i = 0; i < t.count; i++) {
        joint_eliminate(&t, i);
        joint_forward(&t, i, joint_speed(&t, i));
    }
    trees_back(&t, ~(i32x8){0});
    for (u32 i = 0; i < t.count; i++) {
        t.rows[i].bend = joint_bend(&t, i, f32x8_set(0.5f * h));
        t.rows[i].sum = vec3x8_add(t.rows[i].sum, t.rows[i].impulse);
    }
    sides_scatter(&t);
}

/* An impulse as the joint keeps it: see JointLoad. */
static Vec3 turn_load(const Rigid *rigid, u32 kind, const JointDef *def, Vec3 impulse)
{
    Vec3 anchors[2];
    Quat frames[2];
    joint_frames(rigid, def, anchors, frames);
    switch (kind) {
    case TREE_TURN_AXIS: {
        Vec3 load = quat_rotate_inverse(frames[0], impulse);
        return vec3(0.0f, load.y, load.z);
    }
    case TREE_TURN_CROSS:
        return vec3(vec3_dot(cross_of(frames), impulse), 0.0f, 0.0f);
    default:
        return impulse;
    }
}

void joint_trees_store(Rigid *rigid, const TreeGroup *group, f32 tick_s)
{
    const JointStore *store = &rigid->joints;
    Trees t = trees_of(rigid, group);
    f32 rate = (f32)rigid->substeps / tick_s;
    for (u32 lane = 0; lane < group->lanes; lane++) {
        const TreeJoint *joints = &store->tree_joints[store->trees[group->tree + lane].first];
        for (u32 i = 0; i < t.count; i++) {
            Joint *joint = &store->joints[joints[i].joint];
            const TreeRow *row = &t.rows[i];
            u32 kind = joints[i].links.kind;
            Vec3 load = vec3_scale(lane_vec3(&row->impulse, lane), rate);
            Vec3 mean = vec3_scale(lane_vec3(&row->sum, lane), 1.0f / tick_s);
            if (kind == TREE_POINT) {
                joint->load = (JointLoad){.linear = load};
                joint->force = mean;
                joint->torque = vec3_zero();
                joint->error = vec3_length(lane_vec3(&row->gap, lane));
            } else {
                joint->load.angular = turn_load(rigid, kind, &joint->def, load);
                joint->torque = mean;
            }
        }
    }
}
