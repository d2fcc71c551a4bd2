/*
 * solve_joint_tree.c: long trees of ball joints (chains, ropes, branches) solved exactly. Sweeps
 * from joint to joint carry a load one link a pass, so that a long chain stretches for seconds and
 * a heavy end tears at it; a tree of joints has a matrix J M⁻¹ Jᵀ that is factored in linear time,
 * from the leaves to the root, without fill.
 * Joints that share a body are coupled. A body is done when all its children are: then the joints
 * that tie it to bodies that do not move, then the joint to its parent. What is coupled to a joint
 * when its turn comes are the joints at its upper body whose turn is still to come.
 * Method: block LDLᵀ in the order of the tree (Baraff, "Linear-time dynamics using Lagrange
 * multipliers", 1996), of soft constraints (Catto, GDC 2011).
 */
#include "server/physics/rigid/joint_row.h"

/* ---- which joints ---- */

static bool is_free(const Rigid *rigid, u32 slot)
{
    return slot != JOINT_WORLD && rigid->bodies[slot].motion == BODY_DYNAMIC &&
           body_is_active(&rigid->bodies[slot]);
}

/* Lists of the ball joints at each body, ascending. links[2 j] and links[2 j + 1] follow joint j in
 * the lists of its bodies a and b. */
static void list_joints(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    for (u32 i = 0; i < rigid->slots; i++) {
        store->body_heads[i] = JOINT_NO_SLOT;
    }
    for (u32 i = store->slots; i-- > 0;) {
        u32 sides[2];
        if (store->joints[i].def.kind != JOINT_BALL ||
            !joint_bodies(rigid, i, &sides[0], &sides[1])) {
            continue;
        }
        for (u32 n = 0; n < 2; n++) {
            if (is_free(rigid, sides[n])) {
                store->links[2 * i + n] = store->body_heads[sides[n]];
                store->body_heads[sides[n]] = i;
            }
        }
    }
}

static u32 next_joint(const Rigid *rigid, u32 joint, u32 body)
{
    const JointStore *store = &rigid->joints;
    u32 a, b;
    joint_bodies(rigid, joint, &a, &b);
    return store->links[2 * joint + (a == body ? 0 : 1)];
}

/*
 * Walks all that hangs together with a body, breadth first, into bodies[]; parents[] gets the joint
 * by which each body was reached. Returns the number of bodies, and of joints; 0: not a tree, or
 * too many joints at one body.
 */
static u32 walk_tree(Rigid *rigid, u32 root, u32 *bodies, u32 *joint_count)
{
    JointStore *store = &rigid->joints;
    u32 count = 1, joints = 0, edges = 0;
    bool fits = true;
    bodies[0] = root;
    store->body_parents[root] = JOINT_NO_SLOT;
    store->body_seen[root] = 1;
    for (u32 i = 0; i < count; i++) {
        u32 body = bodies[i], degree = 0;
        for (u32 j = store->body_heads[body]; j != JOINT_NO_SLOT; j = next_joint(rigid, j, body)) {
            u32 a, b;
            joint_bodies(rigid, j, &a, &b);
            u32 other = a == body ? b : a;
            degree++;
            if (!is_free(rigid, other)) {
                joints++;
                continue;
            }
            edges++; /* seen from both ends */
            if (!store->body_seen[other]) {
                store->body_seen[other] = 1;
                store->body_parents[other] = j;
                bodies[count++] = other;
            }
        }
        fits = fits && degree <= TREE_COUPLED + 1;
    }
    *joint_count = joints + edges / 2;
    return fits && edges == 2 * (count - 1) ? count : 0;
}

static void tree_joint_begin(const Rigid *rigid, TreeJoint *joint, u32 slot, u32 upper)
{
    memset(joint, 0, sizeof(*joint));
    joint_bodies(rigid, slot, &joint->a, &joint->b);
    joint->joint = slot;
    joint->upper = upper;
}

/* Joints in the order of elimination: the tree's bodies from the last found to the first. */
static void order_tree(Rigid *rigid, const u32 *bodies, u32 body_count)
{
    JointStore *store = &rigid->joints;
    u32 first = store->tree_joint_count;
    for (u32 i = body_count; i-- > 0;) {
        u32 body = bodies[i], up = store->body_parents[body];
        for (u32 j = store->body_heads[body]; j != JOINT_NO_SLOT; j = next_joint(rigid, j, body)) {
            u32 a, b;
            joint_bodies(rigid, j, &a, &b);
            if (!is_free(rigid, a == body ? b : a)) {
                store->tree_places[j] = store->tree_joint_count;
                tree_joint_begin(rigid, &store->tree_joints[store->tree_joint_count++], j, body);
            }
        }
        if (up != JOINT_NO_SLOT) {
            u32 a, b;
            joint_bodies(rigid, up, &a, &b);
            store->tree_places[up] = store->tree_joint_count;
            tree_joint_begin(rigid, &store->tree_joints[store->tree_joint_count++], up,
                             a == body ? b : a);
        }
    }
    /* What is coupled, by place. */
    for (u32 i = first; i < store->tree_joint_count; i++) {
        TreeJoint *joint = &store->tree_joints[i];
        joint->block = store->tree_block_count;
        u32 upper = joint->upper;
        for (u32 j = store->body_heads[upper]; j != JOINT_NO_SLOT;
             j = next_joint(rigid, j, upper)) {
            u32 place = store->tree_places[j], at = joint->coupled;
            if (place <= i) {
                continue;
            }
            for (; at > 0 && joint->others[at - 1] > place; at--) {
                joint->others[at] = joint->others[at - 1];
            }
            joint->others[at] = place;
            joint->coupled++;
        }
        store->tree_block_count += joint->coupled;
    }
    store->trees[store->tree_count++] = (JointTree){first, store->tree_joint_count - first};
}

void joint_trees_find(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    store->tree_count = store->tree_joint_count = store->tree_block_count = 0;
    list_joints(rigid);
    memset(store->body_seen, 0, rigid->slots);
    for (u32 i = 0; i < store->slots; i++) {
        store->tree_places[i] = JOINT_NO_SLOT;
    }
    for (u32 i = 0; i < rigid->slots; i++) {
        if (store->body_seen[i] || store->body_heads[i] == JOINT_NO_SLOT) {
            continue;
        }
        u32 joints, count = walk_tree(rigid, i, store->tree_bodies, &joints);
        if (count > 0 && joints >= TREE_JOINTS_MIN) {
            order_tree(rigid, store->tree_bodies, count);
        }
    }
}

/* ---- numbers ---- */

static void tree_joint_prepare(const Rigid *rigid, TreeJoint *joint, f32 h)
{
    const Joint *from = &rigid->joints.joints[joint->joint];
    Vec3 anchors[2];
    Quat frames[2];
    joint_frames(rigid, &from->def, anchors, frames);
    joint->start_gap = joint->gap = vec3_sub(anchors[1], anchors[0]);
    joint->impulse = vec3_scale(from->load.linear, h);
    if (joint->a == JOINT_WORLD) {
        joint->a = rigid->def.body_capacity; /* the spare slot: at rest, nothing moves it */
    } else {
        joint->start_a = joint->arm_a = vec3_sub(anchors[0], rigid->bodies[joint->a].position);
    }
    if (joint->b == JOINT_WORLD) {
        joint->b = rigid->def.body_capacity;
    } else {
        joint->start_b = joint->arm_b = vec3_sub(anchors[1], rigid->bodies[joint->b].position);
    }
}

/* −[r] I⁻¹ [s]: the velocity at the arm r that a unit impulse at the arm s gives by turning. */
static inline Mat3 arm_coupling(const Symmetric3 *i, Vec3 r, Vec3 s)
{
    Mat3 m = {vec3_cross(symmetric_mul(i, vec3(0.0f, s.z, -s.y)), r),
              vec3_cross(symmetric_mul(i, vec3(-s.z, 0.0f, s.x)), r),
              vec3_cross(symmetric_mul(i, vec3(s.y, -s.x, 0.0f)), r)};
    return m;
}

static inline void add_side(const Rigid *rigid, Symmetric3 *k, u32 slot, Vec3 arm)
{
    f32 w = rigid->states[slot].inverse_mass;
    if (w > 0.0f) {
        Mat3 m = arm_coupling(&rigid->inertias[slot], arm, arm);
        k->xx += w + m.x.x;
        k->yy += w + m.y.y;
        k->zz += w + m.z.z;
        k->xy += m.y.x;
        k->xz += m.z.x;
        k->yz += m.z.y;
    }
}

static inline Mat3 coupling(const Rigid *rigid, const TreeJoint *one, const TreeJoint *other)
{
    u32 body = one->upper;
    bool one_b = one->b == body, other_b = other->b == body;
    f32 w = rigid->states[body].inverse_mass, sign = one_b == other_b ? 1.0f : -1.0f;
    Mat3 m = arm_coupling(&rigid->inertias[body], one_b ? one->arm_b : one->arm_a,
                          other_b ? other->arm_b : other->arm_a);
    m.x.x += w;
    m.y.y += w;
    m.z.z += w;
    return (Mat3){vec3_scale(m.x, sign), vec3_scale(m.y, sign), vec3_scale(m.z, sign)};
}

/* D − Bᵀ W for the symmetric product of two blocks. */
static inline void subtract_square(Symmetric3 *d, const Mat3 *b, const Mat3 *w)
{
    d->xx -= vec3_dot(b->x, w->x);
    d->yy -= vec3_dot(b->y, w->y);
    d->zz -= vec3_dot(b->z, w->z);
    d->xy -= vec3_dot(b->x, w->y);
    d->xz -= vec3_dot(b->x, w->z);
    d->yz -= vec3_dot(b->y, w->z);
}

/* m − Bᵀ W */
static inline void subtract_product(Mat3 *m, const Mat3 *b, const Mat3 *w)
{
    m->x = vec3_sub(m->x, mat3_mul_transposed(*b, w->x));
    m->y = vec3_sub(m->y, mat3_mul_transposed(*b, w->y));
    m->z = vec3_sub(m->z, mat3_mul_transposed(*b, w->z));
}

/* The joint's own matrix and an empty coupling, before the joints below it are eliminated. */
static void joint_begin(const Rigid *rigid, TreeJoint *joint, f32 softness_ratio)
{
    Symmetric3 k = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    add_side(rigid, &k, joint->a, joint->arm_a);
    add_side(rigid, &k, joint->b, joint->arm_b);
    joint->give = symmetric_scale(k, softness_ratio);
    joint->mass = symmetric_add(k, joint->give);
    memset(&rigid->joints.tree_blocks[joint->block], 0, joint->coupled * sizeof(Mat3));
}

/* Mass becomes the inverse of D, blocks D⁻¹ B; what is coupled to the joint loses its share. */
static void joint_eliminate(const Rigid *rigid, TreeJoint *joint)
{
    TreeJoint *all = rigid->joints.tree_joints;
    Mat3 *blocks = rigid->joints.tree_blocks, *mine = &blocks[joint->block];
    Mat3 plain[TREE_COUPLED];
    joint->mass = symmetric_inverse(&joint->mass);
    for (u32 n = 0; n < joint->coupled; n++) {
        Mat3 b = coupling(rigid, joint, &all[joint->others[n]]);
        b = (Mat3){vec3_add(b.x, mine[n].x), vec3_add(b.y, mine[n].y), vec3_add(b.z, mine[n].z)};
        mine[n] = (Mat3){symmetric_mul(&joint->mass, b.x), symmetric_mul(&joint->mass, b.y),
                         symmetric_mul(&joint->mass, b.z)};
        plain[n] = b;
    }
    for (u32 n = 0; n < joint->coupled; n++) {
        TreeJoint *other = &all[joint->others[n]];
        subtract_square(&other->mass, &plain[n], &mine[n]);
        /* The joints coupled to this one are coupled to each other, in the same order. */
        for (u32 m = n + 1; m < joint->coupled; m++) {
            subtract_product(&blocks[other->block + m - n - 1], &plain[n], &mine[m]);
        }
    }
}

static inline Vec3 tree_speed(const Rigid *rigid, const TreeJoint *joint)
{
    const BodyState *a = &rigid->states[joint->a], *b = &rigid->states[joint->b];
    return vec3_sub(vec3_add(b->velocity, vec3_cross(b->spin, joint->arm_b)),
                    vec3_add(a->velocity, vec3_cross(a->spin, joint->arm_a)));
}

static inline void tree_apply(Rigid *rigid, const TreeJoint *joint, Vec3 impulse)
{
    BodyState *a = &rigid->states[joint->a], *b = &rigid->states[joint->b];
    if (a->inverse_mass > 0.0f) {
        a->velocity = vec3_add_scaled(a->velocity, -a->inverse_mass, impulse);
        a->spin = vec3_sub(
            a->spin, symmetric_mul(&rigid->inertias[joint->a], vec3_cross(joint->arm_a, impulse)));
    }
    if (b->inverse_mass > 0.0f) {
        b->velocity = vec3_add_scaled(b->velocity, b->inverse_mass, impulse);
        b->spin = vec3_add(
            b->spin, symmetric_mul(&rigid->inertias[joint->b], vec3_cross(joint->arm_b, impulse)));
    }
}

/* Forward substitution of one joint: takes its share from the right-hand sides above it. */
static inline void joint_forward(const Rigid *rigid, TreeJoint *joint)
{
    const Mat3 *mine = &rigid->joints.tree_blocks[joint->block];
    for (u32 n = 0; n < joint->coupled; n++) {
        TreeJoint *other = &rigid->joints.tree_joints[joint->others[n]];
        other->below = vec3_sub(other->below, mat3_mul_transposed(mine[n], joint->change));
    }
}

/* Back substitution from the root, which gives and applies the changes of the impulses. */
static void tree_back(Rigid *rigid, TreeJoint *joints, u32 count)
{
    const TreeJoint *all = rigid->joints.tree_joints;
    const Mat3 *blocks = rigid->joints.tree_blocks;
    for (u32 i = count; i-- > 0;) {
        TreeJoint *joint = &joints[i];
        Vec3 x = symmetric_mul(&joint->mass, joint->change);
        for (u32 n = 0; n < joint->coupled; n++) {
            x = vec3_sub(x, mat3_mul(blocks[joint->block + n], all[joint->others[n]].change));
        }
        joint->change = x;
        joint->impulse = vec3_add(joint->impulse, x);
        tree_apply(rigid, joint, x);
    }
}

/* The arm turned by the rotation vector; as quat_from_turn, without a root. */
static inline Vec3 turned(Vec3 arm, Vec3 turn)
{
    f32 s = 0.25f * vec3_length_squared(turn);
    f32 w = 1.0f - s * (0.5f - s * (0.0416666667f - s * (1.0f / 720.0f)));
    f32 k = 0.5f * (1.0f - s * (0.166666667f - s * (0.00833333333f - s * (1.0f / 5040.0f))));
    Vec3 u = vec3_scale(turn, k), cross = vec3_cross(u, arm);
    Vec3 twice = vec3_add(vec3_scale(cross, w), vec3_cross(u, cross));
    return vec3_add_scaled(arm, 2.0f / (w * w + vec3_length_squared(u)), twice);
}

static inline void joint_follow(const Rigid *rigid, TreeJoint *joint)
{
    const BodyState *a = &rigid->states[joint->a], *b = &rigid->states[joint->b];
    joint->arm_a = turned(joint->start_a, a->turn);
    joint->arm_b = turned(joint->start_b, b->turn);
    Vec3 moved_a = vec3_add(a->shift, vec3_sub(joint->arm_a, joint->start_a));
    Vec3 moved_b = vec3_add(b->shift, vec3_sub(joint->arm_b, joint->start_b));
    joint->gap = vec3_add(joint->start_gap, vec3_sub(moved_b, moved_a));
}

/* ---- stages ---- */

/* As stiff as one substep resolves: what give there is keeps a chain that is held taut at both ends
 * from pulling without bound. */
static Softness tree_softness(f32 h)
{
    return softness(TREE_STIFFNESS / h, 1.0f, h);
}

void joint_tree_prepare(Rigid *rigid, const JointTree *tree, f32 h)
{
    TreeJoint *joints = rigid->joints.tree_joints + tree->first;
    Softness soft = tree_softness(h);
    for (u32 i = 0; i < tree->count; i++) {
        tree_joint_prepare(rigid, &joints[i], h);
        joint_begin(rigid, &joints[i], soft.impulse_scale / soft.mass_scale);
    }
    for (u32 i = 0; i < tree->count; i++) {
        joint_eliminate(rigid, &joints[i]);
    }
}

void joint_tree_warm_start(Rigid *rigid, const JointTree *tree)
{
    const TreeJoint *joints = rigid->joints.tree_joints + tree->first;
    for (u32 i = 0; i < tree->count; i++) {
        tree_apply(rigid, &joints[i], joints[i].impulse);
    }
}

void joint_tree_solve(Rigid *rigid, const JointTree *tree, f32 h)
{
    TreeJoint *joints = rigid->joints.tree_joints + tree->first;
    Softness soft = tree_softness(h);
    for (u32 i = 0; i < tree->count; i++) {
        TreeJoint *joint = &joints[i];
        Vec3 bias = vec3_scale(joint->gap, soft.bias_rate);
        f32 length2 = vec3_length_squared(bias);
        if (length2 > JOINT_PUSH_M_S * JOINT_PUSH_M_S) {
            bias = vec3_scale(bias, JOINT_PUSH_M_S / sqrtf(length2));
        }
        bias = vec3_add(bias, symmetric_mul(&joint->give, joint->impulse));
        joint->change = vec3_sub(joint->below, vec3_add(tree_speed(rigid, joint), bias));
        joint->below = vec3_zero();
        joint_forward(rigid, joint);
    }
    tree_back(rigid, joints, tree->count);
}

void joint_tree_relax(Rigid *rigid, const JointTree *tree, f32 h)
{
    TreeJoint *joints = rigid->joints.tree_joints + tree->first;
    Softness soft = tree_softness(h);
    for (u32 i = 0; i < tree->count; i++) {
        joint_follow(rigid, &joints[i]);
        joint_begin(rigid, &joints[i], soft.impulse_scale / soft.mass_scale);
    }
    for (u32 i = 0; i < tree->count; i++) {
        TreeJoint *joint = &joints[i];
        joint_eliminate(rigid, joint);
        joint->change = vec3_sub(joint->below, tree_speed(rigid, joint));
        joint->below = vec3_zero();
        joint_forward(rigid, joint);
    }
    tree_back(rigid, joints, tree->count);
    for (u32 i = 0; i < tree->count; i++) {
        joints[i].sum = vec3_add(joints[i].sum, joints[i].impulse);
    }
}

void joint_tree_store(Rigid *rigid, const JointTree *tree, f32 tick_s)
{
    const TreeJoint *joints = rigid->joints.tree_joints + tree->first;
    for (u32 i = 0; i < tree->count; i++) {
        Joint *joint = &rigid->joints.joints[joints[i].joint];
        joint->load.linear = vec3_scale(joints[i].impulse, (f32)rigid->substeps / tick_s);
        joint->force = vec3_scale(joints[i].sum, 1.0f / tick_s);
        joint->error = vec3_length(joints[i].gap);
    }
}
