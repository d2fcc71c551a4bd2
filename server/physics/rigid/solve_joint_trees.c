/*
 * solve_joint_trees.c: the numbers of solve_joint_tree.c, for up to eight trees of one shape side
 * by side, one a lane. The velocities of their bodies are gathered once a stage and worked on where
 * they lie one after the other.
 */
#include "server/physics/rigid/joint_wide.h"

/* A 3×3 matrix of each tree: of what couples two joints. */
struct TreeBlock {
    Vec3x8 x, y, z; /* columns */
};

/* A body of each tree. */
struct TreeSides {
    u32 slots[SIMD_LANES]; /* the world and empty lanes: the spare slot */
    i32x8 moves;           /* all ones: of the tree, else it holds it */
    Vec3x8 velocity, spin;
    f32x8 mass; /* inverse */
    f32x8 rest; /* what else the gathered words hold */
    Vec3x8 shift, turn;
    Symmetric3x8 inertia;
};

/* A ball joint of each tree. */
struct TreeRow {
    Vec3x8 start_a, start_b, start_gap; /* as the tick begins */
    Vec3x8 arm_a, arm_b, gap;           /* after the last move */
    Vec3x8 impulse, sum, change;
    Vec3x8 below;      /* of the right-hand side: what the joints below take */
    Symmetric3x8 give; /* softness: speed for each unit of impulse */
    Symmetric3x8 mass; /* D⁻¹ of LDLᵀ */
};

/* A group and what is its own. */
typedef struct Trees {
    Rigid *rigid;
    const TreeJoint *joints; /* [count] of its first tree: their links are those of all */
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
    const Symmetric3x8 *i = &side->inertia;
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

SIMD_INLINE TreeBlock coupling(const Trees *t, u32 one, u32 other)
{
    const TreeLinks *p = &t->joints[one].links, *q = &t->joints[other].links;
    const TreeRow *a = &t->rows[one], *b = &t->rows[other];
    bool one_b = p->body_b == p->upper, other_b = q->body_b == p->upper;
    return arm_coupling(&t->sides[p->upper], one_b ? a->arm_b : a->arm_a,
                        other_b ? b->arm_b : b->arm_a, one_b == other_b ? 1.0f : -1.0f);
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

/* ---- one joint ---- */

/* The joint's own matrix and an empty coupling, before the joints below it are eliminated. */
SIMD_INLINE void joint_begin(const Trees *t, u32 place, f32 softness_ratio)
{
    const TreeLinks *links = &t->joints[place].links;
    TreeRow *row = &t->rows[place];
    const TreeSides *a = &t->sides[links->body_a], *b = &t->sides[links->body_b];
    f32x8 masses = a->mass + b->mass, zero = f32x8_set(0.0f);
    Symmetric3x8 k = {masses, masses, masses, zero, zero, zero};
    add_arm_response(&k, &a->inertia, row->arm_a);
    add_arm_response(&k, &b->inertia, row->arm_b);
    row->give = symmetric3x8_scale(&k, f32x8_set(softness_ratio));
    row->mass = symmetric3x8_add(&k, &row->give);
    if (links->coupled > 1) {
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
        if (links->coupled > 1) {
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
    return vec3x8_sub(vec3x8_add(b->velocity, vec3x8_cross(b->spin, row->arm_b)),
                      vec3x8_add(a->velocity, vec3x8_cross(a->spin, row->arm_a)));
}

SIMD_INLINE void joint_apply(const Trees *t, u32 place, Vec3x8 impulse)
{
    const TreeLinks *links = &t->joints[place].links;
    const TreeRow *row = &t->rows[place];
    TreeSides *a = &t->sides[links->body_a], *b = &t->sides[links->body_b];
    Vec3x8 moment_a = vec3x8_cross(row->arm_a, impulse);
    Vec3x8 moment_b = vec3x8_cross(row->arm_b, impulse);
    a->velocity = vec3x8_sub_scaled(a->velocity, a->mass, impulse);
    a->spin = vec3x8_sub(a->spin, symmetric3x8_mul(&a->inertia, moment_a));
    b->velocity = vec3x8_add_scaled(b->velocity, b->mass, impulse);
    b->spin = vec3x8_add(b->spin, symmetric3x8_mul(&b->inertia, moment_b));
}

/* Forward substitution of one joint: takes its share from the right-hand sides above it. */
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

SIMD_INLINE void joint_follow(const Trees *t, u32 place)
{
    const TreeLinks *links = &t->joints[place].links;
    TreeRow *row = &t->rows[place];
    const TreeSides *a = &t->sides[links->body_a], *b = &t->sides[links->body_b];
    row->arm_a = turned(row->start_a, a->turn);
    row->arm_b = turned(row->start_b, b->turn);
    Vec3x8 moved_a = vec3x8_add(a->shift, vec3x8_sub(row->arm_a, row->start_a));
    Vec3x8 moved_b = vec3x8_add(b->shift, vec3x8_sub(row->arm_b, row->start_b));
    row->gap = vec3x8_add(row->start_gap, vec3x8_sub(moved_b, moved_a));
}

/* ---- whole trees ---- */

/* Back substitution from the root, which gives and applies the changes of the impulses. */
static void trees_back(const Trees *t)
{
    for (u32 i = t->count; i-- > 0;) {
        const TreeLinks *links = &t->joints[i].links;
        TreeRow *row = &t->rows[i];
        Vec3x8 x = symmetric3x8_mul(&row->mass, row->change);
        for (u32 n = 0; n < links->coupled; n++) {
            x = vec3x8_sub(
                x, block_mul(&t->blocks[links->block + n], t->rows[links->others[n]].change));
        }
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
                lane_set_symmetric(&side->inertia, lane, &t->rigid->inertias[slot]);
            }
        }
    }
}

static void fill_lane(const Trees *t, const TreeGroup *group, u32 lane, f32 h)
{
    const Rigid *rigid = t->rigid;
    const JointStore *store = &rigid->joints;
    const TreeJoint *joints = &store->tree_joints[store->trees[group->tree + lane].first];
    for (u32 i = 0; i < t->count; i++) {
        const Joint *from = &store->joints[joints[i].joint];
        TreeRow *row = &t->rows[i];
        Vec3 anchors[2];
        Quat frames[2];
        u32 a, b;
        joint_bodies(rigid, joints[i].joint, &a, &b);
        joint_frames(rigid, &from->def, anchors, frames);
        lane_set_vec3(&row->start_gap, lane, vec3_sub(anchors[1], anchors[0]));
        lane_set_vec3(&row->impulse, lane, vec3_scale(from->load.linear, h));
        if (a != JOINT_WORLD) {
            lane_set_vec3(&row->start_a, lane, vec3_sub(anchors[0], rigid->bodies[a].position));
        }
        if (b != JOINT_WORLD) {
            lane_set_vec3(&row->start_b, lane, vec3_sub(anchors[1], rigid->bodies[b].position));
        }
    }
}

/* As stiff as one substep resolves: what give there is keeps a chain that is held taut at both ends
 * from pulling without bound. */
static Softness tree_softness(f32 h)
{
    return softness(TREE_STIFFNESS / h, 1.0f, h);
}

void joint_trees_prepare(Rigid *rigid, const TreeGroup *group, f32 h)
{
    Trees t = trees_of(rigid, group);
    Softness soft = tree_softness(h);
    memset(t.rows, 0, t.count * sizeof(*t.rows));
    fill_sides(&t, group);
    for (u32 lane = 0; lane < group->lanes; lane++) {
        fill_lane(&t, group, lane, h);
    }
    sides_gather(&t);
    for (u32 i = 0; i < t.count; i++) {
        TreeRow *row = &t.rows[i];
        row->arm_a = row->start_a;
        row->arm_b = row->start_b;
        row->gap = row->start_gap;
        joint_begin(&t, i, soft.impulse_scale / soft.mass_scale);
    }
    for (u32 i = 0; i < t.count; i++) {
        joint_eliminate(&t, i);
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

void joint_trees_solve(Rigid *rigid, const TreeGroup *group, f32 h)
{
    Trees t = trees_of(rigid, group);
    Softness soft = tree_softness(h);
    f32x8 rate = f32x8_set(soft.bias_rate), most = f32x8_set(JOINT_PUSH_M_S);
    sides_gather(&t);
    for (u32 i = 0; i < t.count; i++) {
        const TreeRow *row = &t.rows[i];
        Vec3x8 bias = vec3x8_scale(row->gap, rate);
        f32x8 length = f32x8_sqrt(vec3x8_dot(bias, bias));
        bias = vec3x8_scale(bias, most / f32x8_max(length, most));
        bias = vec3x8_add(bias, symmetric3x8_mul(&row->give, row->impulse));
        joint_forward(&t, i, vec3x8_add(joint_speed(&t, i), bias));
    }
    trees_back(&t);
    sides_scatter(&t);
}

void joint_trees_relax(Rigid *rigid, const TreeGroup *group, f32 h)
{
    Trees t = trees_of(rigid, group);
    Softness soft = tree_softness(h);
    sides_gather(&t);
    for (u32 i = 0; i < t.side_count; i++) {
        Motion motion = motion_gather(rigid->states, t.sides[i].slots);
        t.sides[i].shift = motion.shift;
        t.sides[i].turn = motion.turn;
    }
    for (u32 i = 0; i < t.count; i++) {
        joint_follow(&t, i);
        joint_begin(&t, i, soft.impulse_scale / soft.mass_scale);
    }
    for (u32 i = 0; i < t.count; i++) {
        joint_eliminate(&t, i);
        joint_forward(&t, i, joint_speed(&t, i));
    }
    trees_back(&t);
    for (u32 i = 0; i < t.count; i++) {
        t.rows[i].sum = vec3x8_add(t.rows[i].sum, t.rows[i].impulse);
    }
    sides_scatter(&t);
}

void joint_trees_store(Rigid *rigid, const TreeGroup *group, f32 tick_s)
{
    const JointStore *store = &rigid->joints;
    Trees t = trees_of(rigid, group);
    for (u32 lane = 0; lane < group->lanes; lane++) {
        const TreeJoint *joints = &store->tree_joints[store->trees[group->tree + lane].first];
        for (u32 i = 0; i < t.count; i++) {
            Joint *joint = &store->joints[joints[i].joint];
            const TreeRow *row = &t.rows[i];
            joint->load.linear =
                vec3_scale(lane_vec3(&row->impulse, lane), (f32)rigid->substeps / tick_s);
            joint->force = vec3_scale(lane_vec3(&row->sum, lane), 1.0f / tick_s);
            joint->error = vec3_length(lane_vec3(&row->gap, lane));
        }
    }
}
