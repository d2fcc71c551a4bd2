/*
 * solve_joint_tree.c: trees of joints (chains, ropes, branches, linkages) solved exactly: of ball
 * joints, hinges, sliders (the latter two also with springs), distance, universal and fixed joints.
 * Sweeps over joints propagate a load by one link per pass, so a long chain stretches for seconds
 * under a heavy end; the matrix J M⁻¹ Jᵀ of a tree of joints is factored in linear time, from the
 * leaves to the root, without fill. Rows of joints that share a body are coupled. A body is
 * processed after all its children: first the joints to holding bodies, then the joint to its
 * parent; of a joint first the point, then the rotation. At that time rows are coupled to the
 * remaining rows at the upper body of their joint.
 * Method: block LDLᵀ in the order of the tree (Baraff, "Linear-time dynamics using Lagrange
 * multipliers", 1996), of soft constraints (Catto, GDC 2011).
 */
#include "server/physics/rigid/joint/joint_tree.h"

/* Number of blocks above which no ring is solved directly. */
#define RING_FILL_MAX 0x7fffffffu

/* Values of body_seen. */
enum {
    BODY_FREE,
    BODY_WALKED,
    BODY_HELD /* static, kinematic or asleep: joints end there */
};

static bool is_held(const JointStore *store, u32 slot)
{
    return slot == JOINT_WORLD || store->body_seen[slot] == BODY_HELD;
}

/* Blocks of three rows for a joint; 0: not allowed in trees. The limits of cone-twist joints and of
 * hinges act after them (solve_joint_tree_limit.c). */
static u32 blocks_of(const JointDef *def)
{
    bool left_alone = !(def->flags & (JOINT_LIMITS | JOINT_DRIVE));
    switch (def->kind) {
    case JOINT_BALL:
        return 1;
    case JOINT_CONE_TWIST:
        return def->flags & (JOINT_DRIVE | JOINT_SPRUNG) ? 0 : 1;
    case JOINT_HINGE:
        left_alone = !(def->flags & (JOINT_DRIVE | JOINT_SPRUNG));
        return left_alone || !(def->flags & (JOINT_DRIVE | JOINT_LIMITS)) ? 2 : 0;
    case JOINT_SLIDER:
        return left_alone ? 2 : 0;
    case JOINT_DISTANCE:
        left_alone = !(def->flags & (JOINT_DRIVE | JOINT_SPRUNG));
        return left_alone && def->lower == def->upper && def->lower > 0.0f ? 1 : 0;
    case JOINT_FIXED:
    case JOINT_UNIVERSAL:
        return 2;
    default:
        return 0;
    }
}

static TreeKind point_of(JointKind kind)
{
    return kind == JOINT_SLIDER ? TREE_TRACK : (kind == JOINT_DISTANCE ? TREE_ROD : TREE_POINT);
}

static TreeKind rotation_of(JointKind kind)
{
    return kind == JOINT_FIXED || kind == JOINT_SLIDER
               ? TREE_ROTATION
               : (kind == JOINT_HINGE ? TREE_ROTATION_AXIS : TREE_ROTATION_CROSS);
}

/* Lists the tree joints of each body, ascending. links[2 j] and links[2 j + 1] follow joint j in
 * the lists of its bodies a and b, which are sides[2 j] and sides[2 j + 1]. */
static void list_joints(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    for (u32 i = 0; i < rigid->slots; i++) {
        const Body *body = &rigid->bodies[i];
        bool is_free =
            body->motion == BODY_DYNAMIC && body_is_active(body) && !(body->flags & BODY_PGS);
        store->body_seen[i] = is_free ? BODY_FREE : BODY_HELD;
        store->body_heads[i] = JOINT_NO_SLOT;
    }
    for (u32 i = store->slots; i-- > 0;) {
        u32 *sides = &store->sides[2 * i];
        store->tree_places[i] = JOINT_NO_SLOT;
        if (blocks_of(&store->joints[i].def) == 0 ||
            !joint_bodies(rigid, i, &sides[0], &sides[1]) ||
            joint_is_pgs(rigid, sides[0], sides[1])) {
            continue;
        }
        for (u32 n = 0; n < 2; n++) {
            if (!is_held(store, sides[n])) {
                store->links[2 * i + n] = store->body_heads[sides[n]];
                store->body_heads[sides[n]] = i;
            }
        }
    }
}

static u32 next_joint(const JointStore *store, u32 joint, u32 body)
{
    return store->links[2 * joint + (store->sides[2 * joint] == body ? 0 : 1)];
}

static u32 other_side(const JointStore *store, u32 joint, u32 body)
{
    return store->sides[2 * joint + (store->sides[2 * joint] == body ? 1 : 0)];
}

/* Traverses all bodies connected to one, breadth first, into bodies[]; parents[] gets the joint
 * by which each body was reached. Returns the number of bodies, and of joints; is_tree: it has
 * no loops, and not too many joints at one body. */
static u32 walk_tree(JointStore *store, u32 root, u32 *bodies, u32 *joint_count, bool *is_tree)
{
    u32 count = 1, joints = 0, edges = 0;
    bool fits = true;
    bodies[0] = root;
    store->body_parents[root] = JOINT_NO_SLOT;
    store->body_seen[root] = BODY_WALKED;
    store->body_places[root] = 0;
    for (u32 i = 0; i < count; i++) {
        u32 body = bodies[i], degree = 0;
        for (u32 j = store->body_heads[body]; j != JOINT_NO_SLOT; j = next_joint(store, j, body)) {
            u32 other = other_side(store, j, body);
            degree += blocks_of(&store->joints[j].def);
            if (is_held(store, other)) {
                joints++;
                continue;
            }
            edges++; /* seen from both ends */
            if (store->body_seen[other] == BODY_FREE) {
                store->body_seen[other] = BODY_WALKED;
                store->body_parents[other] = j;
                store->body_places[other] = count;
                bodies[count++] = other;
            }
        }
        fits = fits && degree <= TREE_COUPLED + 1;
    }
    *joint_count = joints + edges / 2;
    *is_tree = fits && edges == 2 * (count - 1);
    return count;
}

/* Adds the joint at `body` whose other side has the index `other`, coupled at the index `upper`. */
static void tree_add(JointStore *store, u32 slot, u32 body, u32 other, u32 upper)
{
    const JointDef *def = &store->joints[slot].def;
    u32 place = store->body_places[body];
    bool is_a = store->sides[2 * slot] == body;
    store->tree_places[slot] = store->tree_joint_count;
    for (u32 i = 0; i < blocks_of(def); i++) {
        TreeJoint *rows = &store->tree_joints[store->tree_joint_count++];
        memset(rows, 0, sizeof(*rows));
        rows->joint = slot;
        rows->links.kind = i == 0 ? point_of(def->kind) : rotation_of(def->kind);
        rows->links.sprung = i == 1 && (def->flags & JOINT_SPRUNG) &&
                             (def->kind == JOINT_HINGE || def->kind == JOINT_SLIDER);
        rows->links.body_a = is_a ? place : other;
        rows->links.body_b = is_a ? other : place;
        rows->links.upper = upper;
    }
}

static void links_add(TreeLinks *links, u32 other)
{
    u32 at = links->coupled++;
    for (; at > 0 && links->others[at - 1] > other; at--) {
        links->others[at] = links->others[at - 1];
    }
    links->others[at] = other;
}

/* Finds the rows coupled to those at an index of a tree: at the upper body, and later in the
 * order. */
static void couple(JointStore *store, const JointTree *tree, u32 place, u32 *blocks)
{
    TreeLinks *links = &store->tree_joints[tree->first + place].links;
    u32 body = store->tree_bodies[tree->body + links->upper];
    links->block = *blocks;
    for (u32 j = store->body_heads[body]; j != JOINT_NO_SLOT; j = next_joint(store, j, body)) {
        u32 first = store->tree_places[j] - tree->first;
        for (u32 i = 0; i < blocks_of(&store->joints[j].def); i++) {
            if (first + i > place) {
                links_add(links, first + i);
            }
        }
    }
    *blocks += links->coupled;
}

/* Called when its rows and bodies are listed. */
static void end_tree(JointStore *store, JointTree *tree, u32 body_count, u32 held)
{
    tree->count = store->tree_joint_count - tree->first;
    tree->body_count = held;
    tree->own_count = body_count;
    tree->lone = body_count == 1 && held == 2;
    tree->taut = held > body_count + 1;
    tree->flies = held == body_count;
    for (u32 i = 0; i < tree->count; i++) {
        const TreeJoint *rows = &store->tree_joints[tree->first + i];
        tree->flies = tree->flies && !rows->links.sprung;
        const JointDef *def = &store->joints[rows->joint].def;
        tree->dry = tree->dry || def->friction > 0.0f;
        tree->limited = tree->limited || joint_limits_apart(def);
        store->limited = store->limited || tree->limited;
    }
    store->tree_body_count += held;
}

/* Rows in elimination order: the tree's bodies from the last found to the first. Each joint to a
 * holding body adds an index after its own bodies. */
static void order_tree(JointStore *store, u32 body_count)
{
    JointTree *tree = &store->trees[store->tree_count++];
    *tree = (JointTree){.first = store->tree_joint_count, .body = store->tree_body_count};
    u32 *bodies = store->tree_bodies + tree->body, held = body_count;
    for (u32 i = body_count; i-- > 0;) {
        u32 body = bodies[i], up = store->body_parents[body];
        for (u32 j = store->body_heads[body]; j != JOINT_NO_SLOT; j = next_joint(store, j, body)) {
            u32 other = other_side(store, j, body);
            if (is_held(store, other)) {
                bodies[held] = other;
                tree_add(store, j, body, held++, i);
            }
        }
        if (up != JOINT_NO_SLOT) {
            u32 upper = store->body_places[other_side(store, up, body)];
            tree_add(store, up, body, upper, upper);
        }
    }
    end_tree(store, tree, body_count, held);
    for (u32 i = 0; i < tree->count; i++) {
        couple(store, tree, i, &tree->block_count);
    }
    for (u32 i = 0; i < tree->count; i++) {
        const TreeLinks *links = &store->tree_joints[tree->first + i].links;
        for (u32 n = 0; n + 1 < links->coupled; n++) {
            store->tree_joints[tree->first + links->others[n]].links.filled = 1;
        }
    }
}

/* ---- rings ---- */

/* The elimination order of traversed bodies: another traversal from the far end, reversed; and
 * the ends of the bodies' rows. */
static void order_bodies(JointStore *store, u32 count)
{
    u32 *bodies = store->tree_bodies + store->tree_body_count, joints;
    u32 *ends = store->ring_ends + store->tree_body_count;
    bool is_tree;
    for (u32 i = 0; i < count; i++) {
        store->body_seen[bodies[i]] = BODY_FREE;
    }
    walk_tree(store, bodies[count - 1], bodies, &joints, &is_tree);
    for (u32 i = 0; i < count / 2; i++) {
        u32 body = bodies[i];
        bodies[i] = bodies[count - 1 - i];
        bodies[count - 1 - i] = body;
    }
    for (u32 i = 0; i < count; i++) {
        store->body_places[bodies[i]] = i;
    }
    for (u32 i = 0, end = 0; i < count; i++) {
        u32 body = bodies[i], first = i;
        for (u32 j = store->body_heads[body]; j != JOINT_NO_SLOT; j = next_joint(store, j, body)) {
            u32 other = other_side(store, j, body);
            if (!is_held(store, other)) {
                first = u32_min(first, store->body_places[other]);
            }
        }
        end = u32_min(end, RING_FILL_MAX) + i - first + 1;
        ends[i] = end;
    }
}

/* The joints of a body to holding bodies and to earlier ones. */
static void order_ring(JointStore *store, u32 body_count)
{
    JointTree *ring = &store->trees[store->tree_count++];
    *ring = (JointTree){.first = store->tree_joint_count,
                        .body = store->tree_body_count,
                        .fill = store->ring_ends[store->tree_body_count + body_count - 1],
                        .ring = true,
                        .exact = true};
    u32 *bodies = store->tree_bodies + ring->body, held = body_count;
    for (u32 i = 0; i < body_count; i++) {
        u32 body = bodies[i];
        for (u32 j = store->body_heads[body]; j != JOINT_NO_SLOT; j = next_joint(store, j, body)) {
            u32 other = other_side(store, j, body);
            if (is_held(store, other)) {
                bodies[held] = other;
                tree_add(store, j, body, held++, i);
            } else if (store->body_places[other] < i) {
                tree_add(store, j, body, store->body_places[other], i);
            }
        }
    }
    end_tree(store, ring, body_count, held);
}

/* ---- trees side by side ---- */

static bool same_shape(const JointStore *store, const JointTree *one, const JointTree *other)
{
    if (one->count != other->count || one->body_count != other->body_count ||
        one->lone != other->lone || one->taut != other->taut || one->exact != other->exact ||
        one->ring != other->ring || one->flies != other->flies || one->dry != other->dry ||
        one->limited != other->limited) {
        return false;
    }
    for (u32 i = 0; i < one->count; i++) {
        if (memcmp(&store->tree_joints[one->first + i].links,
                   &store->tree_joints[other->first + i].links, sizeof(TreeLinks)) != 0) {
            return false;
        }
    }
    return true;
}

/* Counts the joints that have limits in one of these trees of one shape, and those that may act at
 * once. */
static void count_limits(const JointStore *store, TreeGroup *group)
{
    const JointTree *tree = &store->trees[group->tree];
    const u32 most = LIMIT_ANSWERS / (2 * tree->body_count + tree->count);
    for (u32 i = 0; i < tree->count && tree->limited; i++) {
        bool any = false, cone = false;
        for (u32 lane = 0; lane < group->lanes; lane++) {
            const TreeJoint *rows = &store->tree_joints[store->trees[group->tree + lane].first + i];
            const JointDef *def = &store->joints[rows->joint].def;
            if (rows->links.kind == TREE_POINT && joint_limits_apart(def)) {
                any = true;
                cone = def->kind == JOINT_CONE_TWIST;
            }
        }
        group->limit_count += any;
        group->slots += any + cone; /* its swing, too */
    }
    group->slots = u32_max(u32_min(group->slots, u32_min(LIMIT_SLOTS, most)), LIMIT_SLOTS_MIN);
    group->numbers = group->slots * (2 * tree->body_count + tree->count);
}

/* Numbers of their answers and responses, see Trees. */
static u32 limit_numbers(const TreeGroup *group)
{
    u32 responses = (group->limit_count * LIMITS_OF_JOINT + group->slots) * group->slots;
    return group->numbers + (responses + 2) / 3;
}

/* Divides `count` trees of one shape from `first` on into as few groups as possible, all about
 * equal. */
static void group_trees(JointStore *store, u32 first, u32 count)
{
    const JointTree *tree = &store->trees[first];
    u32 groups = (count + SIMD_LANES - 1) / SIMD_LANES;
    for (u32 g = 0; g < groups; g++) {
        u32 lanes = count / groups + (g < count % groups ? 1 : 0);
        TreeGroup *group = &store->tree_groups[store->tree_group_count++];
        *group = (TreeGroup){.tree = first,
                             .lanes = lanes,
                             .row = store->tree_row_count,
                             .count = tree->count,
                             .side = store->tree_side_count,
                             .side_count = tree->body_count,
                             .block = store->tree_block_count,
                             .limit = store->tree_limit_count,
                             .response = store->tree_response_count};
        count_limits(store, group);
        store->tree_limit_count += group->limit_count;
        store->tree_response_count += tree->limited ? limit_numbers(group) : 0;
        first += lanes;
        store->tree_row_count += tree->count;
        store->tree_side_count += tree->body_count;
        store->tree_block_count +=
            tree->ring    ? joint_ring_blocks(tree)
            : tree->exact ? TREE_EXACT_BLOCKS * tree->block_count + TREE_EXACT_ROWS * tree->count
                          : tree->block_count;
    }
}

/* Ratio of the bodies' responses to a unit impulse, by their joints, that floats can resolve. */
#define RESPONSES_MAX 256.0f

static f32 response_at(const Rigid *rigid, u32 slot, Vec3 anchor)
{
    const Body *body = &rigid->bodies[slot];
    const Symmetric3 *i = &body->inverse_inertia;
    return rigid->states[slot].inverse_mass + vec3_length_squared(vec3_sub(anchor, body->centre)) *
                                                  f32_max(i->xx, f32_max(i->yy, i->zz));
}

/* The elimination subtracts responses of light bodies from each other: between heavy ones little
 * precision is left. Sliders make arms grow. */
static bool needs_doubles(const Rigid *rigid, const JointTree *tree)
{
    const JointStore *store = &rigid->joints;
    f32 least = INFINITY, most = 0.0f;
    for (u32 i = 0; i < tree->count && tree->own_count > 1; i++) {
        const TreeJoint *rows = &store->tree_joints[tree->first + i];
        const JointDef *def = &store->joints[rows->joint].def;
        if (rows->links.kind == TREE_TRACK) {
            return true;
        }
        const u32 *sides = &store->sides[2 * rows->joint];
        for (u32 n = 0; n < 2; n++) {
            if (!is_held(store, sides[n])) {
                f32 response = response_at(rigid, sides[n], n == 0 ? def->anchor_a : def->anchor_b);
                least = f32_min(least, response);
                most = f32_max(most, response);
            }
        }
    }
    return most > RESPONSES_MAX * least;
}

void joint_trees_find(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    store->tree_count = store->tree_joint_count = store->tree_body_count = 0;
    store->tree_group_count = 0;
    store->tree_row_count = store->tree_side_count = store->tree_block_count = 0;
    store->tree_limit_count = store->tree_response_count = 0;
    store->limited = false;
    list_joints(rigid);
    for (u32 i = 0; i < rigid->slots; i++) {
        if (store->body_seen[i] != BODY_FREE || store->body_heads[i] == JOINT_NO_SLOT) {
            continue;
        }
        u32 *bodies = store->tree_bodies + store->tree_body_count, joints;
        bool is_tree;
        u32 count = walk_tree(store, i, bodies, &joints, &is_tree);
        if (joints < TREE_JOINTS_MIN) {
            continue;
        }
        if (is_tree) {
            order_tree(store, count);
            JointTree *tree = &store->trees[store->tree_count - 1];
            tree->exact = needs_doubles(rigid, tree);
        } else {
            order_bodies(store, count);
            if (joint_ring_fits(store->ring_ends + store->tree_body_count, count)) {
                order_ring(store, count);
            }
        }
    }
    for (u32 i = 0, end; i < store->tree_count; i = end) {
        for (end = i + 1; end < store->tree_count; end++) {
            if (!same_shape(store, &store->trees[i], &store->trees[end])) {
                break;
            }
        }
        group_trees(store, i, end - i);
    }
    if (!joint_trees_reserve(rigid)) {
        /* If out of memory they are swept like other joints. */
        for (u32 i = 0; i < store->slots; i++) {
            store->tree_places[i] = JOINT_NO_SLOT;
        }
        store->tree_count = store->tree_group_count = 0;
    }
}
