/*
 * solve_joint_trees.c: the arithmetic of solve_joint_tree.c, for up to eight trees of one shape at
 * a time, one per lane. The velocities of their bodies are gathered once per stage into contiguous
 * memory.
 */
#include "server/physics/rigid/joint/joint_tree.h"

bool joint_trees_reserve(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    return rigid_reserve(rigid, &store->tree_rows, &store->tree_row_capacity, store->tree_row_count,
                         sizeof(TreeRow)) &&
           rigid_reserve(rigid, &store->tree_sides, &store->tree_side_capacity,
                         store->tree_side_count, sizeof(TreeSides)) &&
           rigid_reserve(rigid, &store->tree_blocks, &store->tree_block_capacity,
                         store->tree_block_count, sizeof(TreeBlock)) &&
           rigid_reserve(rigid, &store->tree_limits, &store->tree_limit_capacity,
                         store->tree_limit_count, sizeof(TreeLimit)) &&
           rigid_reserve(rigid, &store->tree_responses, &store->tree_response_capacity,
                         store->tree_response_count, sizeof(Vec3x8)) &&
           rigid_reserve(rigid, &store->tree_keeps, &store->tree_keep_capacity,
                         store->tree_group_count, sizeof(TreeKeep));
}

Trees joint_trees_of(Rigid *rigid, const TreeGroup *group)
{
    const JointStore *store = &rigid->joints;
    const JointTree *tree = &store->trees[group->tree];
    Vec3x8 *responses = store->tree_responses + group->response;
    return (Trees){.rigid = rigid,
                   .keep = store->tree_keeps + (group - store->tree_groups),
                   .joints = store->tree_joints + tree->first,
                   .rows = store->tree_rows + group->row,
                   .sides = store->tree_sides + group->side,
                   .blocks = store->tree_blocks + group->block,
                   .limits = store->tree_limits + group->limit,
                   .unit_responses = responses,
                   .responses = tree->limited ? &responses[group->numbers].x : NULL,
                   .count = group->count,
                   .side_count = group->side_count,
                   .limit_count = group->limit_count,
                   .slots = group->slots,
                   .block_count = tree->block_count,
                   .lanes = group->lanes,
                   .lone = tree->lone,
                   .taut = tree->taut,
                   .exact = tree->exact,
                   .ring = tree->ring,
                   .flies = tree->flies,
                   .dry = tree->dry,
                   .limited = tree->limited,
                   .own_count = tree->own_count,
                   .fill = tree->fill,
                   .ends = store->ring_ends + tree->body};
}

/* ---- arithmetic ---- */

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

/* w − [r] I⁻¹ [s], times the sign: the velocity at the arm r per unit impulse at the arm s. */
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
SIMD_INLINE TreeBlock rotation_coupling(const TreeSides *side, f32 sign)
{
    Symmetric3x8 i = symmetric3x8_scale(&side->place.inertia, f32x8_set(sign));
    return (TreeBlock){{i.xx, i.xy, i.xz}, {i.xy, i.yy, i.yz}, {i.xz, i.yz, i.zz}};
}

SIMD_INLINE Vec3x8 arm_at(const TreeRow *row, bool is_b)
{
    return is_b ? row->point.arm_b : row->point.arm_a;
}

/* The velocity of the rows `one` per unit impulse of the rows `other` at a common body. */
SIMD_INLINE TreeBlock coupling_at(const Trees *t, u32 body, u32 one, u32 other)
{
    const TreeLinks *p = &t->joints[one].links, *q = &t->joints[other].links;
    const TreeRow *a = &t->rows[one], *b = &t->rows[other];
    const TreeSides *side = &t->sides[body];
    bool one_b = p->body_b == body, other_b = q->body_b == body;
    f32 sign = one_b == other_b ? 1.0f : -1.0f;
    if (is_point(p->kind) && is_point(q->kind)) {
        return arm_coupling(side, arm_at(a, one_b), arm_at(b, other_b), sign);
    }
    TreeBlock m = rotation_coupling(side, sign);
    if (is_point(p->kind)) {
        Vec3x8 r = arm_at(a, one_b);
        return (TreeBlock){vec3x8_cross(m.x, r), vec3x8_cross(m.y, r), vec3x8_cross(m.z, r)};
    }
    if (is_point(q->kind)) {
        /* I⁻¹ [s]: columns of I⁻¹ mixed by the arm. */
        Vec3x8 s = arm_at(b, other_b);
        return (TreeBlock){vec3x8_sub(vec3x8_scale(m.y, s.z), vec3x8_scale(m.z, s.y)),
                           vec3x8_sub(vec3x8_scale(m.z, s.x), vec3x8_scale(m.x, s.z)),
                           vec3x8_sub(vec3x8_scale(m.x, s.y), vec3x8_scale(m.y, s.x))};
    }
    return m;
}

SIMD_INLINE TreeBlock locked_rows(u32 kind, const TreeRow *row, const TreeBlock *m)
{
    return (TreeBlock){locked_part(kind, row, m->x), locked_part(kind, row, m->y),
                       locked_part(kind, row, m->z)};
}

/* The same for columns: a projection is symmetric. */
SIMD_INLINE TreeBlock locked_columns(u32 kind, const TreeRow *row, const TreeBlock *m)
{
    Vec3x8 n = row->axis, along = block_mul(m, n);
    TreeBlock part = {vec3x8_scale(along, n.x), vec3x8_scale(along, n.y), vec3x8_scale(along, n.z)};
    if (locks_axis(kind)) {
        return part;
    }
    return (TreeBlock){vec3x8_sub(m->x, part.x), vec3x8_sub(m->y, part.y),
                       vec3x8_sub(m->z, part.z)};
}

SIMD_INLINE TreeBlock coupling(const Trees *t, u32 one, u32 other)
{
    const TreeLinks *p = &t->joints[one].links, *q = &t->joints[other].links;
    TreeBlock m = coupling_at(t, p->upper, one, other);
    if (p->body_a == q->body_a && p->body_b == q->body_b) {
        TreeBlock n = coupling_at(t, p->body_a == p->upper ? p->body_b : p->body_a, one, other);
        m = (TreeBlock){vec3x8_add(m.x, n.x), vec3x8_add(m.y, n.y), vec3x8_add(m.z, n.z)};
    }
    if (leaves_axis(p->kind) || locks_axis(p->kind)) {
        m = locked_rows(p->kind, &t->rows[one], &m);
    }
    if (leaves_axis(q->kind) || locks_axis(q->kind)) {
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

/* The locked part of a matrix. Empty rows are uncoupled, with a similar mass. */
SIMD_INLINE Symmetric3x8 locked_matrix(u32 kind, const TreeRow *row, Symmetric3x8 k)
{
    if (!leaves_axis(kind) && !locks_axis(kind)) {
        return k;
    }
    Vec3x8 n = row->axis, kn = symmetric3x8_mul(&k, n);
    f32x8 along = vec3x8_dot(n, kn), zero = f32x8_set(0.0f);
    if (locks_axis(kind)) {
        return (Symmetric3x8){along, along, along, zero, zero, zero};
    }
    /* P K P + s n nᵀ, P = E − n nᵀ. The remainder along n is dominated by rounding for long
     * arms, so it is replaced by an s of similar size as the rest. */
    f32x8 s = k.xx + k.yy + k.zz;
    Vec3x8 m = vec3x8_sub_scaled(kn, 0.5f * (along + s), n);
    return (Symmetric3x8){k.xx - 2.0f * n.x * m.x,      k.yy - 2.0f * n.y * m.y,
                          k.zz - 2.0f * n.z * m.z,      k.xy - n.x * m.y - n.y * m.x,
                          k.xz - n.x * m.z - n.z * m.x, k.yz - n.y * m.z - n.z * m.y};
}

typedef struct TreeSoftness {
    f32x8 rate; /* 1/s, of errors */
    f32x8 give; /* relative to the response */
} TreeSoftness;

/* Like softness() with a damping ratio of 1. Points of unstable trees are softer: a body with
 * increased inertia, or too much rotation, cannot predict its step, and softness dissipates its
 * energy. And a chain taut at both ends would pull without bound if it were not soft; a bridge
 * of planks held at both sides is stable enough to be stiffer. */
static TreeSoftness tree_softness(const Trees *t, u32 kind, f32x8 shake, f32 h)
{
    f32x8 one = f32x8_set(1.0f), stiffness = f32x8_set(TREE_ROTATION_STIFFNESS);
    if (is_point(kind)) {
        f32 most = t->lone ? TREE_LONE_STIFFNESS : TREE_STIFFNESS, least = TREE_SHAKE_STIFFNESS;
        f32x8 x = shake / SHAKE_ROTATION, calm = t->lone ? one : one / (one + x * x);
        stiffness = t->taut && !t->ring ? f32x8_set(least) : (most - least) * calm + least;
    }
    f32x8 w = stiffness * 6.2831853f, a = w + 2.0f;
    return (TreeSoftness){w / (a * h), one / (w * a)};
}

/* Bodies that rotate more than this in a step, or are loaded, are unstable: rad, squared. */
#define TURNS_TOO_MUCH 0.5f

/* The largest rotation of a step in each lane, rad squared, if unstable; else 0. */
static f32x8 shaking_rotation(const Trees *t, f32 h)
{
    f32x8 most = f32x8_set(0.0f);
    i32x8 laden = {0};
    for (u32 i = 0; i < t->side_count; i++) {
        const TreeSides *side = &t->sides[i];
        f32x8 rotation = vec3x8_dot(side->angular_velocity, side->angular_velocity) * (h * h);
        most = f32x8_max(most, f32x8_and(side->moves, rotation));
        laden |= side->laden;
    }
    return f32x8_and(laden | (most > TURNS_TOO_MUCH), most);
}

/* Initializes their own matrix and an empty coupling, before the rows below are eliminated. */
SIMD_INLINE void joint_begin(const Trees *t, u32 place, f32x8 shake, f32 h)
{
    const TreeLinks *links = &t->joints[place].links;
    TreeSoftness soft = tree_softness(t, links->kind, shake, h);
    TreeRow *row = &t->rows[place];
    const TreeSides *a = &t->sides[links->body_a], *b = &t->sides[links->body_b];
    Symmetric3x8 k;
    if (is_point(links->kind)) {
        f32x8 masses = a->mass + b->mass, zero = f32x8_set(0.0f);
        k = (Symmetric3x8){masses, masses, masses, zero, zero, zero};
        add_arm_response(&k, &a->place.inertia, row->point.arm_a);
        add_arm_response(&k, &b->place.inertia, row->point.arm_b);
    } else {
        k = symmetric3x8_add(&a->place.inertia, &b->place.inertia);
    }
    k = locked_matrix(links->kind, row, k);
    /* Points use softness by mass alone: bodies of small inertia at the end of long arms would
     * otherwise not be held. */
    row->rate = soft.rate;
    if (is_point(links->kind)) {
        f32x8 m = (a->mass + b->mass) * soft.give, zero = f32x8_set(0.0f);
        row->give = (Symmetric3x8){m, m, m, zero, zero, zero};
    } else {
        row->give = symmetric3x8_scale(&k, soft.give);
    }
    row->mass = symmetric3x8_add(&k, &row->give);
    if (links->filled && !t->exact) {
        memset(&t->blocks[links->block], 0, links->coupled * sizeof(TreeBlock));
    }
}

/* Mass becomes the inverse of D, blocks D⁻¹ B; subtracts its share from coupled rows. */
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
    if (!is_point(links->kind)) {
        return locked_part(links->kind, row, vec3x8_sub(b->angular_velocity, a->angular_velocity));
    }
    Vec3x8 speed =
        vec3x8_sub(vec3x8_add(b->velocity, vec3x8_cross(b->angular_velocity, row->point.arm_b)),
                   vec3x8_add(a->velocity, vec3x8_cross(a->angular_velocity, row->point.arm_a)));
    return locked_part(links->kind, row, speed);
}

SIMD_INLINE void joint_apply(const Trees *t, u32 place, Vec3x8 impulse)
{
    const TreeLinks *links = &t->joints[place].links;
    const TreeRow *row = &t->rows[place];
    TreeSides *a = &t->sides[links->body_a], *b = &t->sides[links->body_b];
    Vec3x8 moment_a = impulse, moment_b = impulse;
    if (is_point(links->kind)) {
        moment_a = vec3x8_cross(row->point.arm_a, impulse);
        moment_b = vec3x8_cross(row->point.arm_b, impulse);
        a->velocity = vec3x8_sub_scaled(a->velocity, a->mass, impulse);
        b->velocity = vec3x8_add_scaled(b->velocity, b->mass, impulse);
    }
    a->angular_velocity =
        vec3x8_sub(a->angular_velocity, symmetric3x8_mul(&a->place.inertia, moment_a));
    b->angular_velocity =
        vec3x8_add(b->angular_velocity, symmetric3x8_mul(&b->place.inertia, moment_b));
}

/* Forward substitution: subtracts its share from the right-hand sides above. */
SIMD_INLINE void joint_forward(const Trees *t, u32 place, Vec3x8 ask)
{
    const TreeLinks *links = &t->joints[place].links;
    TreeRow *row = &t->rows[place];
    row->change = vec3x8_sub(row->below, ask);
    row->below = vec3x8_zero();
    if (t->exact) {
        return;
    }
    for (u32 n = 0; n < links->coupled; n++) {
        TreeRow *other = &t->rows[links->others[n]];
        other->below = vec3x8_sub(other->below,
                                  block_mul_transposed(&t->blocks[links->block + n], row->change));
    }
}

/* A spring applies its whole impulse at the start of a step, from its joint's position and
 * velocity; the constraints then respond. The rotation of a joint follows its point. */
static void spring_push(const Trees *t, u32 place, f32x8 h)
{
    const TreeLinks *links = &t->joints[place].links;
    TreeSpring *spring = &t->rows[place].rotation.spring;
    TreeSides *a = &t->sides[links->body_a], *b = &t->sides[links->body_b];
    bool slides = links->kind == TREE_ROTATION;
    const TreeRow *row = &t->rows[slides ? place - 1 : place];
    Vec3x8 n = row->axis, lever_a = n, lever_b = n;
    f32x8 value = spring->angle, speed = f32x8_set(0.0f);
    if (slides) {
        lever_a = vec3x8_cross(row->point.arm_a, n);
        lever_b = vec3x8_cross(row->point.arm_b, n);
        value = row->point.length;
        speed = vec3x8_dot(n, vec3x8_sub(b->velocity, a->velocity));
    }
    speed += vec3x8_dot(lever_b, b->angular_velocity) - vec3x8_dot(lever_a, a->angular_velocity);
    f32x8 s = -(h * spring->stiffness * (value - spring->rest) + spring->damping * speed);
    if (slides) {
        a->velocity = vec3x8_sub_scaled(a->velocity, a->mass * s, n);
        b->velocity = vec3x8_add_scaled(b->velocity, b->mass * s, n);
    }
    a->angular_velocity =
        vec3x8_sub_scaled(a->angular_velocity, s, symmetric3x8_mul(&a->place.inertia, lever_a));
    b->angular_velocity =
        vec3x8_add_scaled(b->angular_velocity, s, symmetric3x8_mul(&b->place.inertia, lever_b));
    spring->impulse = s;
}

/* Adds the spring's impulse to the force of its joint. */
static void spring_count(const Trees *t, u32 place)
{
    bool slides = t->joints[place].links.kind == TREE_ROTATION;
    TreeRow *row = &t->rows[slides ? place - 1 : place];
    row->sum = vec3x8_add_scaled(row->sum, t->rows[place].rotation.spring.impulse, row->axis);
}

/* ---- whole trees ---- */

static void trees_eliminate(const Trees *t)
{
    if (t->ring) {
        rings_eliminate(t);
        return;
    }
    if (t->exact) {
        trees_exact_eliminate(t);
        return;
    }
    for (u32 i = 0; i < t->count; i++) {
        joint_eliminate(t, i);
    }
}

/* Back substitution from the root, which computes and applies the impulse changes of these
 * lanes. counts: the rows' impulses get them. */
static void trees_back(const Trees *t, i32x8 lanes, bool counts)
{
    if (t->ring) {
        rings_solve(t);
    } else if (t->exact) {
        trees_exact_solve(t);
    }
    for (u32 i = t->count; i-- > 0;) {
        const TreeLinks *links = &t->joints[i].links;
        TreeRow *row = &t->rows[i];
        Vec3x8 x = t->exact ? row->change : symmetric3x8_mul(&row->mass, row->change);
        for (u32 n = 0; n < links->coupled && !t->exact; n++) {
            x = vec3x8_sub(
                x, block_mul(&t->blocks[links->block + n], t->rows[links->others[n]].change));
        }
        /* Rounding errors of large values must not act along free directions. */
        x = locked_part(links->kind, row, x);
        x = (Vec3x8){f32x8_and(lanes, x.x), f32x8_and(lanes, x.y), f32x8_and(lanes, x.z)};
        row->change = x;
        if (counts) {
            row->impulse = vec3x8_add(row->impulse, x);
        }
        joint_apply(t, i, x);
    }
}

/* See TreeSolve. */
static void trees_react(const Trees *t, i32x8 lanes, bool counts)
{
    for (u32 i = 0; i < t->count; i++) {
        joint_forward(t, i, joint_speed(t, i));
    }
    trees_back(t, lanes, counts);
}

/* A body whose velocity differs from the one stored here was changed by something other than its
 * joints, or by their friction, see trees_energy_keep. */
static void sides_gather(const Trees *t)
{
    for (u32 i = 0; i < t->side_count; i++) {
        TreeSides *side = &t->sides[i];
        Side from = side_gather(t->rigid->states, side->slots);
        if (!t->dry) {
            t->keep->alone &= (from.velocity.x == side->velocity.x) &
                              (from.velocity.y == side->velocity.y) &
                              (from.velocity.z == side->velocity.z);
        }
        side->velocity = from.velocity;
        side->angular_velocity = from.angular_velocity;
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

/* Holding bodies have no mass here, and are not written. */
static void sides_scatter(const Trees *t)
{
    for (u32 i = 0; i < t->side_count; i++) {
        const TreeSides *side = &t->sides[i];
        Side to = {side->velocity, side->angular_velocity, side->mass, side->rest};
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
                side->laden[lane] = store->loads[slot] > 0.0f ? -1 : 0;
                side->uneven[lane] = body->flags & BODY_ROUND ? 0 : -1;
                lane_set_symmetric(&side->inertia, lane, &body->inertia);
            }
        }
    }
}

static void fill_point(const Rigid *rigid, u32 kind, TreeRow *row, u32 lane, u32 slot, f32 h)
{
    const Joint *from = &rigid->joints.joints[slot];
    Vec3 anchors[2];
    Quat frames[2];
    u32 a, b;
    joint_bodies(rigid, slot, &a, &b);
    joint_frames(rigid, &from->def, anchors, frames);
    Vec3 gap = vec3_sub(anchors[1], anchors[0]), load = from->load.linear;
    Vec3 along = quat_rotate(from->def.frame_a, vec3(1.0f, 0.0f, 0.0f));
    if (kind == TREE_TRACK) {
        load = quat_rotate(frames[0], vec3(0.0f, load.y, load.z));
    } else if (kind == TREE_ROD) {
        load = vec3_scale(vec3_normalize_or(gap, vec3(1.0f, 0.0f, 0.0f)), from->load.lower);
    }
    lane_set_vec3(&row->point.start_gap, lane, gap);
    lane_set_vec3(&row->point.local_axis, lane, along);
    lane_set(&row->point.length, lane, from->def.lower);
    lane_set_vec3(&row->impulse, lane, vec3_scale(load, h));
    if (a != JOINT_WORLD) {
        Vec3 centre = rigid->bodies[a].centre;
        lane_set_vec3(&row->point.local_a, lane, vec3_sub(from->def.anchor_a, centre));
    }
    if (b != JOINT_WORLD) {
        Vec3 centre = rigid->bodies[b].centre;
        lane_set_vec3(&row->point.local_b, lane, vec3_sub(from->def.anchor_b, centre));
    }
}

/* Of a load as it is stored in the joint: see JointLoad. */
static Vec3 rotation_impulse(const Rigid *rigid, u32 kind, const JointDef *def, Vec3 load)
{
    switch (kind) {
    case TREE_ROTATION_CROSS:
        return vec3_scale(tree_cross(rigid, def), load.x);
    default:
        return load;
    }
}

static void fill_rotation(const Rigid *rigid, u32 kind, TreeRow *row, u32 lane, u32 slot, f32 h)
{
    const Joint *from = &rigid->joints.joints[slot];
    Vec3 load = vec3_scale(from->load.angular, h);
    lane_set_quat(&row->rotation.frame_a, lane, from->def.frame_a);
    lane_set_quat(&row->rotation.frame_b, lane, from->def.frame_b);
    lane_set_vec3(&row->impulse, lane, rotation_impulse(rigid, kind, &from->def, load));
}

static void fill_spring(const Rigid *rigid, TreeSpring *spring, u32 lane, u32 slot, f32 h)
{
    JointRow row;
    joint_row_prepare(rigid, &row, slot, h);
    lane_set(&spring->stiffness, lane, row.stiffness);
    lane_set(&spring->damping, lane, row.damping);
    lane_set(&spring->rest, lane, row.rest);
    lane_set(&spring->angle, lane, row.pose.value);
}

static void fill_lane(const Trees *t, const TreeGroup *group, u32 lane, f32 h)
{
    const JointStore *store = &t->rigid->joints;
    const TreeJoint *joints = &store->tree_joints[store->trees[group->tree + lane].first];
    for (u32 i = 0; i < t->count; i++) {
        u32 kind = joints[i].links.kind;
        if (is_point(kind)) {
            fill_point(t->rigid, kind, &t->rows[i], lane, joints[i].joint, h);
        } else {
            fill_rotation(t->rigid, kind, &t->rows[i], lane, joints[i].joint, h);
        }
        if (joints[i].links.sprung) {
            fill_spring(t->rigid, &t->rows[i].rotation.spring, lane, joints[i].joint, h);
        }
    }
}

void joint_trees_prepare(Rigid *rigid, const TreeGroup *group, f32 h)
{
    Trees t = joint_trees_of(rigid, group);
    memset(t.rows, 0, t.count * sizeof(*t.rows));
    for (u32 i = 0; i < t.count; i++) {
        /* Keeps numbers finite in empty lanes. */
        if (is_point(t.joints[i].links.kind)) {
            t.rows[i].point.local_axis.x = f32x8_set(1.0f);
        } else {
            t.rows[i].rotation.frame_a.w = t.rows[i].rotation.frame_b.w = f32x8_set(1.0f);
        }
    }
    fill_sides(&t, group);
    for (u32 lane = 0; lane < group->lanes; lane++) {
        fill_lane(&t, group, lane, h);
    }
    sides_gather(&t);
    places_gather(&t);
    f32x8 shake = shaking_rotation(&t, h);
    for (u32 i = 0; i < t.count; i++) {
        tree_row_start(&t, i);
        joint_begin(&t, i, shake, h);
    }
    trees_eliminate(&t);
    if (t.limited) {
        trees_limits_prepare(&t, group, h);
    }
    for (u32 i = 0; i < t.count; i++) {
        t.rows[i].drift = tree_row_drift(&t, i, f32x8_set(0.5f * h));
    }
}

/* ---- each substep ---- */

/* Negligible opening, squared: relative to the rotation, and to an arm per step, at the level of
 * rounding. */
#define OPENS_SHARE    1e-8f
#define OPENS_ROUNDING 1.6e-13f

/* Square of the negligible velocity of a row. */
SIMD_INLINE f32x8 row_tolerance(const Trees *t, u32 place, f32 h)
{
    const TreeLinks *links = &t->joints[place].links;
    const TreeRow *row = &t->rows[place];
    const TreeSides *a = &t->sides[links->body_a], *b = &t->sides[links->body_b];
    f32 rounding = OPENS_ROUNDING / (h * h);
    f32x8 rotation_a =
        vec3x8_dot(a->angular_velocity, a->angular_velocity) * OPENS_SHARE + rounding;
    f32x8 rotation_b =
        vec3x8_dot(b->angular_velocity, b->angular_velocity) * OPENS_SHARE + rounding;
    if (is_point(links->kind)) {
        rotation_a *= vec3x8_dot(row->point.arm_a, row->point.arm_a);
        rotation_b *= vec3x8_dot(row->point.arm_b, row->point.arm_b);
    }
    return rotation_a + rotation_b;
}

/* Velocity of the locked part left by relaxing, at most a tenth of the rotation for light parts:
 * squared, in tolerances of its row. */
#define FITS 1e6f

/* Lanes with velocities compatible with the joints. */
static i32x8 who_fits(const Trees *t)
{
    i32x8 fits = ~(i32x8){0};
    f32 h = t->rigid->def.tick_s / (f32)t->rigid->substeps;
    for (u32 i = 0; i < t->count; i++) {
        Vec3x8 speed = joint_speed(t, i);
        fits &= vec3x8_dot(speed, speed) <= row_tolerance(t, i, h) * FITS;
    }
    return fits;
}

void joint_trees_warm_start(Rigid *rigid, const TreeGroup *group)
{
    Trees t = joint_trees_of(rigid, group);
    sides_gather(&t);
    if (t.flies) {
        trees_energy_begin(&t, who_fits(&t));
    }
    for (u32 i = 0; i < t.count; i++) {
        joint_apply(&t, i, t.rows[i].impulse);
    }
    if (t.limited) {
        trees_limits_warm_start(&t);
    }
    sides_scatter(&t);
}

/* Rotation of a step (rad, squared) above which the step's result is predicted. The opening is
 * known from the former angular velocities to second order; each iteration reduces the error by
 * about the rotation. Tracks, rods and trees with springs always iterate. */
#define LOOK_TURN 1e-4f

enum {
    LOOKS_MAX = 8
};

/* Prediction would keep unstable ones unstable. Sets *most to the largest rotation of each lane,
 * rad squared. */
static i32x8 who_looks(const Trees *t, f32 h, f32x8 *most)
{
    i32x8 lanes = {0}, laden = {0};
    *most = f32x8_set(0.0f);
    for (u32 i = 0; i < t->count; i++) {
        const TreeLinks *links = &t->joints[i].links;
        if (links->kind == TREE_TRACK || links->kind == TREE_ROD || links->sprung) {
            lanes = ~(i32x8){0};
        }
    }
    for (u32 i = 0; i < t->side_count; i++) {
        const TreeSides *side = &t->sides[i];
        f32x8 rotation = vec3x8_dot(side->angular_velocity, side->angular_velocity) * (h * h);
        rotation = f32x8_and(side->moves, rotation);
        *most = f32x8_max(*most, rotation);
        lanes |= rotation > LOOK_TURN;
        laden |= side->laden | (rotation > TURNS_TOO_MUCH);
    }
    return lanes & ~laden;
}

/* Error correction and softness, as a velocity. */
SIMD_INLINE Vec3x8 row_bias(const TreeRow *row)
{
    f32x8 most = f32x8_set(JOINT_PUSH_M_S); /* or rad/s */
    Vec3x8 bias = vec3x8_scale(row->gap, row->rate);
    f32x8 length = f32x8_sqrt(vec3x8_dot(bias, bias));
    bias = vec3x8_scale(bias, most / f32x8_max(length, most));
    return vec3x8_add(bias, symmetric3x8_mul(&row->give, row->impulse));
}

/* Solves these lanes for the opening at the current velocities. Iterates while each iteration at
 * least halves it: beyond that the step is too long for the rotation, and more iterations would
 * add energy. */
static void trees_response(const Trees *t, i32x8 lanes, f32 h)
{
    for (u32 i = 0; i < t->count; i++) {
        Vec3x8 opens = vec3x8_add(joint_speed(t, i), t->rows[i].drift);
        joint_forward(t, i, vec3x8_add(opens, row_bias(&t->rows[i])));
    }
    trees_back(t, lanes, true);
    f32x8 rotation, before = f32x8_set(INFINITY);
    lanes &= who_looks(t, h, &rotation);
    for (u32 look = 0; look < LOOKS_MAX && i32x8_any(lanes); look++) {
        f32x8 most = f32x8_set(0.0f);
        trees_predict(t, h);
        for (u32 i = 0; i < t->count; i++) {
            Vec3x8 ask = vec3x8_add(tree_row_opens(t, i, h), row_bias(&t->rows[i]));
            most = f32x8_max(most, vec3x8_dot(ask, ask) / row_tolerance(t, i, h));
            joint_forward(t, i, ask);
        }
        lanes &= (most > 1.0f) & (most < 0.25f * before);
        if (!i32x8_any(lanes)) {
            break;
        }
        trees_back(t, lanes, true);
        /* The next iteration would change it by about the fraction `turn`. */
        before = most;
        lanes &= most * rotation > 1.0f;
    }
}

void joint_trees_solve(Rigid *rigid, const TreeGroup *group, f32 h)
{
    Trees t = joint_trees_of(rigid, group);
    sides_gather(&t);
    for (u32 i = 0; i < t.count; i++) {
        if (t.joints[i].links.sprung) {
            spring_push(&t, i, f32x8_set(h));
        }
    }
    trees_response(&t, ~(i32x8){0}, h);
    if (t.limited) {
        trees_limits_solve(&t, trees_react, ~(i32x8){0}, false, h);
    }
    sides_scatter(&t);
}

/* m/s: faster changes are blows, in which contacts have priority: nothing passes through. */
#define LIES_M_S 2.0f

/* Lanes in which something has changed the velocities since the joints were solved, but not by
 * much. */
static i32x8 who_lies(const Trees *t)
{
    f32x8 most = f32x8_set(0.0f), zero = most;
    for (u32 i = 0; i < t->own_count; i++) {
        TreeSides *side = &t->sides[i];
        Side now = side_gather(t->rigid->states, side->slots);
        Vec3x8 change = vec3x8_sub(now.velocity, side->velocity);
        most = f32x8_max(most, vec3x8_dot(change, change));
        side->velocity = now.velocity;
        side->angular_velocity = now.angular_velocity;
    }
    return (most > zero) & (most < LIES_M_S * LIES_M_S);
}

/* A limb that lies on the ground at its limits moves as one body, which answers to a contact many
 * times less than its last part alone. So contacts, which know only that part, open its joints
 * again, and joints take back most of what contacts did. If bodies moved with open joints, the
 * correction of the gap would come a step late: from a ratio of about five on that is unstable, and
 * the limb rattles. Closed before they move, they converge at any ratio. */
void joint_trees_close(Rigid *rigid, const TreeGroup *group, f32 h)
{
    Trees t = joint_trees_of(rigid, group);
    if (!t.limited) {
        return;
    }
    i32x8 lanes = who_lies(&t);
    if (i32x8_any(lanes)) {
        trees_response(&t, lanes, h);
        trees_limits_solve(&t, trees_react, lanes, false, h);
        sides_scatter(&t);
    }
}

/* Allowed opening of a ring in a step: m, and rad; squared. */
#define TORN_POINT 1e-8f
#define TORN_TURN  1e-7f

u32 joint_rings_torn(Rigid *rigid, const TreeGroup *group, f32 h)
{
    Trees t = joint_trees_of(rigid, group);
    f32x8 most = f32x8_set(0.0f);
    for (u32 i = 0; i < t.count; i++) {
        t.rows[i].change = joint_speed(&t, i);
    }
    sides_gather(&t);
    for (u32 i = 0; i < t.count; i++) {
        Vec3x8 torn = vec3x8_sub(joint_speed(&t, i), t.rows[i].change);
        f32 bound = is_point(t.joints[i].links.kind) ? TORN_POINT : TORN_TURN;
        most = f32x8_max(most, vec3x8_dot(torn, torn) * (h * h / bound));
    }
    u32 lanes = 0;
    for (u32 lane = 0; lane < t.lanes; lane++) {
        lanes |= lane_read(&most, lane) > 1.0f ? 1u << lane : 0;
    }
    return lanes;
}

void joint_rings_solve(Rigid *rigid, const TreeGroup *group, u32 lanes, f32 h)
{
    Trees t = joint_trees_of(rigid, group);
    i32x8 mask = {0};
    for (u32 lane = 0; lane < t.lanes; lane++) {
        mask[lane] = lanes >> lane & 1u ? -1 : 0;
    }
    sides_gather(&t);
    trees_response(&t, mask, h);
    sides_scatter(&t);
}

void joint_trees_relax(Rigid *rigid, const TreeGroup *group, f32 h)
{
    Trees t = joint_trees_of(rigid, group);
    sides_gather(&t);
    places_gather(&t);
    f32x8 shake = shaking_rotation(&t, h);
    for (u32 i = 0; i < t.count; i++) {
        tree_row_follow(&t, i);
        joint_begin(&t, i, shake, h);
    }
    trees_eliminate(&t);
    trees_react(&t, ~(i32x8){0}, true);
    if (t.limited) {
        trees_limits_solve(&t, trees_react, ~(i32x8){0}, true, h);
    }
    if (t.flies) {
        trees_energy_keep(&t);
    }
    for (u32 i = 0; i < t.count; i++) {
        t.rows[i].drift = tree_row_drift(&t, i, f32x8_set(0.5f * h));
        t.rows[i].sum = vec3x8_add(t.rows[i].sum, t.rows[i].impulse);
        if (t.joints[i].links.sprung) {
            spring_count(&t, i);
        }
    }
    sides_scatter(&t);
}
