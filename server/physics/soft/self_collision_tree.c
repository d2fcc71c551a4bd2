/* self_collision_tree.c: the collidable parts of soft bodies: leaves of a tree, their
 * neighbours, and their boxes. */
#include "server/physics/soft/self_collision.h"

#include "shared/base/error.h"

#include <stdlib.h>

enum {
    FIT_GRAIN = 64
};

/* Parts of a surface whose normals all lie within some 70° of one direction cannot
 * self-intersect. */
static const f32 flat_cosine = 0.35f;
/* Of the size of a triangle: the largest self-contact distance of a cloth, so that the corners
 * of a flat one, 0.707 of a cell from the nearest triangle without them, do not touch it. */
static const f32 keep_cells = 0.7f;
/* A surface bent by less than this (rad) at an edge, or by less than the distance kept over the
 * cell, forms so small a ridge that point contacts suffice. */
static const f32 sharp_angle = 0.06f;

/* ---- leaves, once ---- */

typedef struct SurfacePart {
    Vec3 centre; /* m, at rest */
    u32 id;      /* among the body's triangles, then its segments */
} SurfacePart;

static f32 axis_of(Vec3 v, u32 axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static bool part_before(const SurfacePart *a, const SurfacePart *b, u32 axis)
{
    f32 p = axis_of(a->centre, axis), q = axis_of(b->centre, axis);
    return p < q || (p == q && a->id < b->id);
}

/* Hoare's selection: afterwards the first `middle` parts precede the rest along the axis. */
static void divide(SurfacePart *parts, u32 count, u32 middle, u32 axis)
{
    u32 low = 0, high = count;
    while (low < middle && high > middle) {
        SurfacePart pivot = parts[low + (high - low - 1) / 2]; /* so neither side is empty */
        u32 i = low, j = high - 1;
        for (;;) {
            while (part_before(&parts[i], &pivot, axis)) {
                i++;
            }
            while (part_before(&pivot, &parts[j], axis)) {
                j--;
            }
            if (i >= j) {
                break;
            }
            SurfacePart swap = parts[i];
            parts[i++] = parts[j];
            parts[j--] = swap;
        }
        if (middle <= j) {
            high = j + 1;
        } else {
            low = j + 1;
        }
    }
}

typedef struct TreeMaker {
    Soft *soft;
    SelfCollision *collision;
    u32 body;
    u32 *part_order; /* [count] ids of parts by leaf */
    u32 part_count;
} TreeMaker;

static u32 make_nodes(TreeMaker *maker, SurfacePart *parts, u32 count)
{
    SelfCollision *collision = maker->collision;
    u32 index = collision->node_count++;
    CollisionNode *node = &collision->nodes[index];
    node->first_leaf = collision->leaf_count;
    if (count <= COLLISION_LEAF) {
        CollisionLeaf *leaf = &collision->leaves[collision->leaf_count++];
        leaf->body = maker->body;
        leaf->first_triangle = maker->part_count; /* of part_order, for now */
        leaf->triangle_count = count;
        for (u32 i = 0; i < count; i++) {
            maker->part_order[maker->part_count++] = parts[i].id;
        }
    } else {
        Vec3 low = parts[0].centre, high = low;
        for (u32 i = 1; i < count; i++) {
            low = vec3_min(low, parts[i].centre);
            high = vec3_max(high, parts[i].centre);
        }
        Vec3 size = vec3_sub(high, low);
        u32 axis = size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
        u32 leaves = (count + COLLISION_LEAF - 1) / COLLISION_LEAF;
        u32 middle = (leaves + 1) / 2 * COLLISION_LEAF;
        divide(parts, count, middle, axis);
        make_nodes(maker, parts, middle);
        make_nodes(maker, parts + middle, count - middle);
    }
    node->end_leaf = collision->leaf_count;
    node->skip = collision->node_count;
    return index;
}

static Vec3 centre_of(const Soft *soft, const u32 *points, u32 count)
{
    Vec3 sum = vec3_zero();
    for (u32 k = 0; k < count; k++) {
        sum = vec3_add_scaled(sum, 1.0f / (f32)count, soft->rest[points[k]]);
    }
    return sum;
}

static void make_body(TreeMaker *maker, u32 b, SurfacePart *parts)
{
    Soft *soft = maker->soft;
    const SoftBody *from = &soft->bodies[b];
    CollisionBody *body = &maker->collision->bodies[b];
    u32 count = from->triangle_count + from->segment_count;
    for (u32 i = 0; i < from->triangle_count; i++) {
        const u32 *p = soft->triangles[from->first_triangle + i].point;
        parts[i] = (SurfacePart){centre_of(soft, p, 3), i};
    }
    for (u32 i = 0; i < from->segment_count; i++) {
        const u32 *p = soft->segments[from->first_segment + i].point;
        parts[from->triangle_count + i] =
            (SurfacePart){centre_of(soft, p, 2), from->triangle_count + i};
    }
    body->first_node = maker->collision->node_count;
    body->first_leaf = maker->collision->leaf_count;
    maker->body = b;
    if (count != 0) {
        make_nodes(maker, parts, count);
    }
    body->end_node = maker->collision->node_count;
    body->end_leaf = maker->collision->leaf_count;
    body->has_edges = from->segment_count != 0;
    body->cell = from->cell;
    body->keep = f32_min(2.0f * from->def.thickness, keep_cells * body->cell);
    f32 angle = body->cell > 0.0f ? f32_min(sharp_angle, body->keep / body->cell) : 0.0f;
    body->sharp_cosine = 1.0f - 0.5f * angle * angle;
}

/* Parts of part_order become triangles in the order of the leaves; segments stay there until
 * edges are created. */
static void place_triangles(TreeMaker *maker)
{
    Soft *soft = maker->soft;
    SelfCollision *collision = maker->collision;
    for (u32 l = 0; l < collision->leaf_count; l++) {
        CollisionLeaf *leaf = &collision->leaves[l];
        const SoftBody *body = &soft->bodies[leaf->body];
        u32 first = leaf->first_triangle, count = leaf->triangle_count;
        leaf->first_triangle = collision->triangle_count;
        leaf->first_segment = first;
        leaf->segment_count = 0;
        for (u32 i = first; i < first + count; i++) {
            u32 id = maker->part_order[i];
            if (id < body->triangle_count) {
                CollisionTriangle *made = &collision->triangles[collision->triangle_count++];
                memcpy(made->point, soft->triangles[body->first_triangle + id].point,
                       sizeof made->point);
                made->across[0] = made->across[1] = made->across[2] = SOFT_NONE;
            } else {
                maker->part_order[first + leaf->segment_count++] =
                    body->first_segment + id - body->triangle_count;
            }
        }
        leaf->triangle_count = collision->triangle_count - leaf->first_triangle;
    }
}

/* ---- edges ---- */

typedef struct EdgeUse {
    u32 a, b;             /* a < b */
    u32 triangle, corner; /* SOFT_NONE: a segment */
    u32 leaf;
    u32 order;
} EdgeUse;

static int use_order(const void *left, const void *right)
{
    const EdgeUse *p = left, *q = right;
    u64 k = (u64)p->a << 32 | p->b, l = (u64)q->a << 32 | q->b;
    if (k != l) {
        return k < l ? -1 : 1;
    }
    return p->order < q->order ? -1 : p->order > q->order;
}

/* By leaf, segments first. */
static int leaf_order(const void *left, const void *right)
{
    const EdgeUse *p = left, *q = right;
    if (p->leaf != q->leaf) {
        return p->leaf < q->leaf ? -1 : 1;
    }
    bool s = p->triangle == SOFT_NONE, t = q->triangle == SOFT_NONE;
    if (s != t) {
        return s ? -1 : 1;
    }
    return p->order < q->order ? -1 : p->order > q->order;
}

static u32 list_uses(const TreeMaker *maker, EdgeUse *uses)
{
    const SelfCollision *collision = maker->collision;
    u32 count = 0;
    for (u32 l = 0; l < collision->leaf_count; l++) {
        const CollisionLeaf *leaf = &collision->leaves[l];
        for (u32 t = leaf->first_triangle; t < leaf->first_triangle + leaf->triangle_count; t++) {
            for (u32 k = 0; k < 3; k++) {
                u32 a = collision->triangles[t].point[k],
                    b = collision->triangles[t].point[(k + 1) % 3];
                uses[count] = (EdgeUse){u32_min(a, b), u32_max(a, b), t, k, l, count};
                count++;
            }
        }
    }
    for (u32 l = 0; l < collision->leaf_count; l++) {
        const CollisionLeaf *leaf = &collision->leaves[l];
        for (u32 i = 0; i < leaf->segment_count; i++) {
            u32 segment = maker->part_order[leaf->first_segment + i];
            const u32 *p = maker->soft->segments[segment].point;
            uses[count] =
                (EdgeUse){u32_min(p[0], p[1]), u32_max(p[0], p[1]), SOFT_NONE, 0, l, count};
            count++;
        }
    }
    return count;
}

/* Two triangles at an edge are neighbours; with more, none are. */
static void join(SelfCollision *collision, const EdgeUse *p, const EdgeUse *q)
{
    CollisionTriangle *s = &collision->triangles[p->triangle],
                      *t = &collision->triangles[q->triangle];
    u32 flipped = s->point[p->corner] == t->point[q->corner] ? COLLISION_FLIPPED : 0;
    s->across[p->corner] = q->triangle | flipped;
    t->across[q->corner] = p->triangle | flipped;
}

/* Moves the first use of each edge to the front, and returns their count. */
static u32 unique_uses(SelfCollision *collision, EdgeUse *uses, u32 count, u32 *other)
{
    u32 made = 0;
    qsort(uses, count, sizeof *uses, use_order);
    for (u32 i = 0, end; i < count; i = end) {
        u32 faces = 0;
        for (end = i; end < count && uses[end].a == uses[i].a && uses[end].b == uses[i].b; end++) {
            faces += uses[end].triangle != SOFT_NONE;
        }
        other[uses[i].order] = SOFT_NONE;
        if (faces >= 2) {
            other[uses[i].order] = uses[i + 1].triangle;
        }
        if (faces == 2) {
            join(collision, &uses[i], &uses[i + 1]);
        }
        uses[made++] = uses[i];
    }
    return made;
}

static int make_edges(TreeMaker *maker, u32 most)
{
    SelfCollision *collision = maker->collision;
    EdgeUse *uses = malloc((most + 1) * sizeof *uses);
    u32 *other = malloc((most + 1) * sizeof *other);
    u8 *owned = calloc(u32_max(maker->soft->count, 1), 1);
    if (uses == NULL || other == NULL || owned == NULL) {
        free(uses);
        free(other);
        free(owned);
        return ERROR_MEMORY;
    }
    u32 count = unique_uses(collision, uses, list_uses(maker, uses), other);
    qsort(uses, count, sizeof *uses, leaf_order);
    for (u32 l = 0; l < collision->leaf_count; l++) {
        collision->leaves[l].segment_count = 0;
    }
    for (u32 i = 0; i < count; i++) {
        CollisionLeaf *leaf = &collision->leaves[uses[i].leaf];
        CollisionEdge edge = {{uses[i].a, uses[i].b}, {uses[i].triangle, other[uses[i].order]}, 0};
        for (u32 k = 0; k < 2; k++) {
            edge.owns |= owned[edge.point[k]] ? 0 : 1u << k;
            owned[edge.point[k]] = 1;
        }
        leaf->first_edge = leaf->edge_count++ == 0 ? i : leaf->first_edge;
        leaf->segment_count += uses[i].triangle == SOFT_NONE;
        collision->edges[i] = edge;
    }
    collision->edge_count = count;
    for (u32 l = 0; l < collision->leaf_count; l++) {
        CollisionLeaf *leaf = &collision->leaves[l];
        leaf->first_segment = leaf->first_edge;
        leaf->first_stick = collision->stick_count;
        collision->stick_count += (leaf->edge_count + SIMD_LANES - 1) / SIMD_LANES;
    }
    free(uses);
    free(other);
    free(owned);
    return ERROR_OK;
}

/* Assigns each particle to the first leaf that contains it. */
static void own_points(Soft *soft, SelfCollision *collision)
{
    for (u32 i = 0; i < soft->count; i++) {
        collision->point_triangle[i] = SOFT_NONE;
        collision->slack[i] = -1.0f;
    }
    for (u32 l = 0; l < collision->leaf_count; l++) {
        CollisionLeaf *leaf = &collision->leaves[l];
        leaf->first_point = collision->point_count;
        for (u32 i = 0; i < 3 * leaf->triangle_count + 2 * leaf->segment_count; i++) {
            bool face = i < 3 * leaf->triangle_count;
            u32 j = i - 3 * leaf->triangle_count, triangle = leaf->first_triangle + i / 3;
            u32 p = face ? collision->triangles[triangle].point[i % 3]
                         : collision->edges[leaf->first_segment + j / 2].point[j % 2];
            if (face && collision->point_triangle[p] == SOFT_NONE) {
                collision->point_triangle[p] = triangle;
            }
            if (collision->slack[p] < 0.0f) {
                collision->slack[p] = 0.0f;
                collision->points[collision->point_count++] = p;
            }
        }
        leaf->point_count = collision->point_count - leaf->first_point;
    }
}

static bool allocate(Soft *soft, SelfCollision *collision, size_t parts)
{
    size_t points = u32_max(soft->count, 1), leaves = parts + 1;
    collision->triangles = calloc(soft->triangle_count + 1, sizeof *collision->triangles);
    collision->normals = calloc(soft->triangle_count + 1, sizeof *collision->normals);
    collision->normals_predicted =
        calloc(soft->triangle_count + 1, sizeof *collision->normals_predicted);
    collision->edges = calloc((size_t)3 * soft->triangle_count + soft->segment_count + 1,
                              sizeof *collision->edges);
    collision->points = calloc(points, sizeof *collision->points);
    collision->point_triangle = calloc(points, sizeof *collision->point_triangle);
    collision->slack = calloc(points, sizeof *collision->slack);
    collision->seen = calloc(points, sizeof *collision->seen);
    collision->tangled = calloc(points, sizeof *collision->tangled);
    collision->leaves = calloc(leaves, sizeof *collision->leaves);
    collision->nodes = calloc(2 * leaves, sizeof *collision->nodes);
    return collision->triangles != NULL && collision->normals != NULL &&
           collision->normals_predicted != NULL && collision->edges != NULL &&
           collision->points != NULL && collision->point_triangle != NULL &&
           collision->slack != NULL && collision->seen != NULL && collision->tangled != NULL &&
           collision->leaves != NULL && collision->nodes != NULL;
}

static bool allocate_boxes(SelfCollision *collision)
{
    collision->leaf_boxes = calloc(collision->leaf_count + 1, sizeof *collision->leaf_boxes);
    collision->prisms = aligned_alloc(32, (collision->leaf_count + 1) * sizeof *collision->prisms);
    collision->sticks = aligned_alloc(32, (collision->stick_count + 1) * sizeof *collision->sticks);
    return collision->leaf_boxes != NULL && collision->prisms != NULL && collision->sticks != NULL;
}

int self_collision_tree_create(Soft *soft, SelfCollision *collision)
{
    size_t count = (size_t)soft->triangle_count + soft->segment_count;
    TreeMaker maker = {.soft = soft, .collision = collision};
    SurfacePart *parts = malloc((count + 1) * sizeof *parts);
    maker.part_order = malloc((count + 1) * sizeof *maker.part_order);
    int result = ERROR_MEMORY;
    if (parts != NULL && maker.part_order != NULL && allocate(soft, collision, count)) {
        for (u32 b = 0; b < soft->body_count; b++) {
            make_body(&maker, b, parts);
        }
        place_triangles(&maker);
        result = make_edges(&maker, 3 * soft->triangle_count + soft->segment_count);
    }
    if (result == ERROR_OK) {
        own_points(soft, collision);
        result = allocate_boxes(collision) ? ERROR_OK : ERROR_MEMORY;
    }
    free(parts);
    free(maker.part_order);
    return result;
}

/* ---- boxes, at each search ---- */

/* Bit d: n is near direction d, one of the 26 neighbours of a cell. */
static u32 flat_bits(Vec3 n)
{
    u32 bits = 0, d = 0;
    for (i32 x = -1; x <= 1; x++) {
        for (i32 y = -1; y <= 1; y++) {
            for (i32 z = -1; z <= 1; z++) {
                static const f32 lengths[4] = {1.0f, 1.0f, 1.41421356f, 1.73205081f};
                i32 ones = x * x + y * y + z * z;
                if (ones != 0) {
                    f32 dot = (f32)x * n.x + (f32)y * n.y + (f32)z * n.z;
                    bits |= dot > flat_cosine * lengths[ones] ? 1u << d : 0;
                    d++;
                }
            }
        }
    }
    return bits;
}

static void lane_set(f32 rows[3][SIMD_LANES], u32 lane, Vec3 v)
{
    rows[0][lane] = v.x;
    rows[1][lane] = v.y;
    rows[2][lane] = v.z;
}

/* A triangle without area gets NaN, for which no comparison holds. */
static void prism_set(CollisionPrisms *prisms, u32 lane, Vec3 a, Vec3 ab, Vec3 ac, Vec3 n)
{
    Vec3 u = vec3_cross(ac, n), v = vec3_cross(n, ab);
    f32 area_u = vec3_dot(u, ab), area_v = vec3_dot(v, ac);
    bool none = !(area_u > 0.0f) || !(area_v > 0.0f);
    lane_set(prisms->base, lane, none ? vec3(INFINITY, INFINITY, INFINITY) : a);
    lane_set(prisms->normal, lane, none ? vec3_zero() : n);
    lane_set(prisms->u, lane, none ? vec3_zero() : vec3_scale(u, 1.0f / area_u));
    lane_set(prisms->v, lane, none ? vec3_zero() : vec3_scale(v, 1.0f / area_v));
}

static void widen(CollisionNode *box, Vec3 low, Vec3 high)
{
    box->bounds.min = vec3_min(box->bounds.min, low);
    box->bounds.max = vec3_max(box->bounds.max, high);
}

/* A string that always continues in one direction cannot self-intersect either, if its segments
 * are numbered from one end. */
static void fit_segments(const Soft *soft, const CollisionLeaf *leaf, CollisionNode *box)
{
    const SelfCollision *collision = soft->collision;
    bool only_string = leaf->triangle_count == 0 && !soft->bodies[leaf->body].triangle_count;
    for (u32 i = 0; i < leaf->segment_count; i++) {
        const u32 *p = collision->edges[leaf->first_edge + i].point;
        Vec3 a = soft->points[p[0]].position, b = soft->points[p[1]].position;
        widen(box, vec3_min(a, b), vec3_max(a, b));
        box->slack = f32_max(box->slack, f32_max(collision->slack[p[0]], collision->slack[p[1]]));
        box->flat &= only_string ? flat_bits(vec3_normalize_or(vec3_sub(b, a), vec3_zero())) : 0;
    }
}

/* Rims, strings, and edges at which the surface is bent, or will be before the next search. */
static bool edge_counts(const SelfCollision *collision, const CollisionEdge *edge, f32 sharp_cosine)
{
    u32 p = edge->side[0], q = edge->side[1];
    return q == SOFT_NONE ||
           !(vec3_dot(collision->normals[p], collision->normals[q]) > sharp_cosine) ||
           !(vec3_dot(collision->normals_predicted[p], collision->normals_predicted[q]) >
             sharp_cosine);
}

static void fit_sticks(const Soft *soft, u32 l)
{
    SelfCollision *collision = soft->collision;
    CollisionLeaf *leaf = &collision->leaves[l];
    f32 sharp_cosine = collision->bodies[leaf->body].sharp_cosine;
    u32 count = 0;
    for (u32 e = leaf->first_edge; e < leaf->first_edge + leaf->edge_count; e++) {
        const CollisionEdge *edge = &collision->edges[e];
        CollisionSticks *sticks = &collision->sticks[leaf->first_stick + count / SIMD_LANES];
        u32 lane = count % SIMD_LANES;
        if (!edge_counts(collision, edge, sharp_cosine)) {
            continue;
        }
        Vec3 a = soft->points[edge->point[0]].position, b = soft->points[edge->point[1]].position;
        for (u32 k = 0; lane == 0 && k < SIMD_LANES; k++) {
            lane_set(sticks->a, k, vec3(NAN, NAN, NAN));
            lane_set(sticks->d, k, vec3_zero());
        }
        lane_set(sticks->a, lane, a);
        lane_set(sticks->d, lane, vec3_sub(b, a));
        sticks->edge[lane] = e;
        count++;
    }
    leaf->stick_edges = count;
}

/* Normal of the triangle at the end of the tick by its current motion. */
static Vec3 normal_predicted(const Soft *soft, const u32 *p)
{
    f32 left = soft->collision->tick_s - soft->collision->seen_s;
    Vec3 c[3];
    for (u32 k = 0; k < 3; k++) {
        c[k] = vec3_add_scaled(soft->points[p[k]].position, left, soft->points[p[k]].velocity);
    }
    Vec3 n = vec3_cross(vec3_sub(c[1], c[0]), vec3_sub(c[2], c[0]));
    return vec3_normalize_or(n, vec3_zero());
}

static void fit_leaf(const Soft *soft, u32 l)
{
    SelfCollision *collision = soft->collision;
    const CollisionLeaf *leaf = &collision->leaves[l];
    CollisionPrisms *prisms = &collision->prisms[l];
    CollisionNode box = {
        .bounds = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}},
        .flat = UINT32_MAX};
    for (u32 i = leaf->triangle_count; i < COLLISION_LEAF; i++) {
        prism_set(prisms, i, vec3_zero(), vec3_zero(), vec3_zero(), vec3_zero());
    }
    for (u32 i = 0; i < leaf->triangle_count; i++) {
        const u32 *p = collision->triangles[leaf->first_triangle + i].point;
        Vec3 a = soft->points[p[0]].position, b = soft->points[p[1]].position;
        Vec3 c = soft->points[p[2]].position;
        Vec3 low = vec3_min(vec3_min(a, b), c), high = vec3_max(vec3_max(a, b), c);
        Vec3 n = vec3_normalize_or(vec3_cross(vec3_sub(b, a), vec3_sub(c, a)), vec3_zero());
        f32 slack = f32_max(f32_max(collision->slack[p[0]], collision->slack[p[1]]),
                            collision->slack[p[2]]);
        collision->normals[leaf->first_triangle + i] = n;
        collision->normals_predicted[leaf->first_triangle + i] = normal_predicted(soft, p);
        prism_set(prisms, i, a, vec3_sub(b, a), vec3_sub(c, a), n);
        widen(&box, low, high);
        box.slack = f32_max(box.slack, slack);
        box.flat &= flat_bits(n);
    }
    fit_segments(soft, leaf, &box);
    box.first_leaf = l;
    box.end_leaf = l + 1;
    collision->leaf_boxes[l] = box;
}

static bool is_fitted(const SelfCollision *collision, u32 leaf)
{
    return collision->bodies[collision->leaves[leaf].body].fitted;
}

static void fit_leaves(void *context, u32 first, u32 end, u32 worker)
{
    const Soft *soft = context;
    PL_UNUSED(worker);
    for (u32 l = first; l < end; l++) {
        if (is_fitted(soft->collision, l)) {
            fit_leaf(soft, l);
        }
    }
}

/* After all normals are known. */
static void fit_edges(void *context, u32 first, u32 end, u32 worker)
{
    const Soft *soft = context;
    PL_UNUSED(worker);
    for (u32 l = first; l < end; l++) {
        if (is_fitted(soft->collision, l)) {
            fit_sticks(soft, l);
        }
    }
}

static void fit_nodes(SelfCollision *collision)
{
    for (u32 i = collision->node_count; i-- > 0;) {
        CollisionNode *node = &collision->nodes[i];
        if (!is_fitted(collision, node->first_leaf)) {
            continue;
        }
        bool leaf = node->end_leaf - node->first_leaf == 1;
        const CollisionNode *left = leaf ? &collision->leaf_boxes[node->first_leaf] : node + 1;
        const CollisionNode *right = leaf ? left : &collision->nodes[left->skip];
        node->bounds.min = vec3_min(left->bounds.min, right->bounds.min);
        node->bounds.max = vec3_max(left->bounds.max, right->bounds.max);
        node->slack = f32_max(left->slack, right->slack);
        node->flat = left->flat & right->flat;
    }
}

/* Stores in each leaf the largest flat node that contains it. */
static void fit_flats(SelfCollision *collision)
{
    for (u32 i = 0; i < collision->node_count;) {
        const CollisionNode *node = &collision->nodes[i];
        if (!is_fitted(collision, node->first_leaf) || node->flat == 0) {
            i++;
            continue;
        }
        for (u32 l = node->first_leaf; l < node->end_leaf; l++) {
            collision->leaf_boxes[l].first_leaf = node->first_leaf;
            collision->leaf_boxes[l].end_leaf = node->end_leaf;
        }
        i = node->skip;
    }
}

void self_collision_fit(Soft *soft)
{
    SelfCollision *collision = soft->collision;
    jobs_run(soft->jobs, collision->leaf_count, FIT_GRAIN, fit_leaves, soft);
    jobs_run(soft->jobs, collision->leaf_count, FIT_GRAIN, fit_edges, soft);
    fit_nodes(collision);
    fit_flats(collision);
}
