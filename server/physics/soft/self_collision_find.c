/* self_collision_find.c: finds points and triangles, and edge pairs, that may touch until the
 * next search. */
#include "server/physics/soft/self_collision.h"
#include "server/physics/soft/self_collision_near.h"

#include <stdlib.h>

enum {
    CANDIDATES_MAX = 48 /* triangles near one point */
};

/* Below this distance there is no usable direction. */
static const f32 tiny_m = 1e-7f;
/* Where a sheet keeps less than this part of its cells from the other, points and triangles
 * alone would let edges pass between them. */
static const f32 edges_below = 0.75f;
/* Contacts of an edge yield to it beyond this stretch ratio. */
static const f32 stretch_max = 1.3f;
/* Triangles are extended beyond their edges by this part, so that no point falls between two. */
static const f32 rim_part = 0.01f;
/* Parts of one surface that are near along the surface keep at most this part of their rest
 * distance. */
static const f32 rest_part = 0.9f;
/* Leaves nearer than this at rest, in cells, count as near along the surface. */
static const f32 beside_cells = 6.0f;

/* A point above a triangle: point–triangle and edge–edge contacts are sufficient to keep
 * surfaces from passing through each other. */
typedef struct Candidate {
    u32 triangle;
    f32 weight[3];
    f32 keep;
    f32 height; /* m, above the triangle's plane */
} Candidate;

typedef struct CollisionNear {
    u32 count;
    u32 leaf[COLLISION_RUN_LEAVES];
    CollisionBoxes boxes[COLLISION_RUN_LEAVES / SIMD_LANES]; /* including slack */
} CollisionNear;

typedef struct CollisionSearch {
    const Soft *soft;
    const SelfCollision *collision;
    CollisionChunk *chunk;
    u32 leaf;
    u32 other; /* body */
    CollisionPair pair;
    CollisionNear run;    /* leaves of the other body near a run of leaves */
    CollisionNear near;   /* those of them near this leaf */
    CollisionNear tangle; /* those that may pierce this leaf */
} CollisionSearch;

const CollisionCrossing *self_collision_crossing(const SelfCollision *collision, u32 kind, u32 a,
                                                 u32 b)
{
    u32 low = 0, high = collision->crossing_count;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        const CollisionCrossing *at = &collision->crossings[middle];
        if (at->kind < kind || (at->kind == kind && at->a < a)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < collision->crossing_count; low++) {
        const CollisionCrossing *at = &collision->crossings[low];
        if (at->kind != kind || at->a != a) {
            return NULL;
        }
        if (at->b == b) {
            return at;
        }
        if (kind == COLLISION_POINT_TRIANGLE) {
            const u32 *p = collision->triangles[at->b].point, *q = collision->triangles[b].point;
            for (u32 k = 0; k < 9; k++) {
                if (p[k / 3] == q[k % 3]) {
                    return at;
                }
            }
        }
    }
    return NULL;
}

/* ---- contacts ---- */

/* Is one of the parts strongly stretched? */
static bool stretched(const Soft *soft, const CollisionContact *contact)
{
    static const u8 pairs[2][3][2] = {{{1, 2}, {2, 3}, {3, 1}}, {{0, 1}, {2, 3}, {0, 1}}};
    for (u32 k = 0; k < 3; k++) {
        u32 a = contact->point[pairs[contact->kind][k][0]];
        u32 b = contact->point[pairs[contact->kind][k][1]];
        f32 rest = vec3_distance(soft->rest[a], soft->rest[b]);
        if (vec3_distance(soft->points[a].position, soft->points[b].position) >
            stretch_max * rest) {
            return true;
        }
    }
    return false;
}

static void emit(CollisionSearch *search, CollisionContact *contact)
{
    const Soft *soft = search->soft;
    CollisionChunk *chunk = search->chunk;
    f32 w = 0.0f;
    for (u32 k = 0; k < 4; k++) {
        w += contact->weight[k] * contact->weight[k] * soft->points[contact->point[k]].inverse_mass;
    }
    if (w <= 0.0f || !memory_grow((void **)&chunk->contacts, &chunk->capacity, chunk->count + 1,
                                  sizeof *chunk->contacts)) {
        return;
    }
    contact->mass = 1.0f / w;
    contact->friction = search->pair.friction;
    contact->static_friction = search->pair.static_friction;
    contact->compliance = search->pair.compliance;
    contact->gentle = stretched(soft, contact);
    chunk->contacts[chunk->count++] = *contact;
}

static Vec3 point_at(const CollisionSearch *search, u32 particle)
{
    return search->soft->points[particle].position;
}

static Vec3 rest_at(const CollisionSearch *search, u32 particle)
{
    return search->soft->rest[particle];
}

static Vec3 lane_get(const f32 rows[3][SIMD_LANES], u32 lane)
{
    return vec3(rows[0][lane], rows[1][lane], rows[2][lane]);
}

static void push_near(CollisionNear *near, u32 leaf, Vec3 low, Vec3 high)
{
    CollisionBoxes *boxes = &near->boxes[near->count / SIMD_LANES];
    if (near->count % SIMD_LANES == 0) {
        boxes_clear(boxes);
    }
    boxes_set(boxes, near->count % SIMD_LANES, low, high);
    near->leaf[near->count++] = leaf;
}

/* ---- points and triangles ---- */

/* Are p and the triangle near along their common surface? Then they collide only where it is
 * folded between them, and keep no more than their rest distance. */
static bool same_place(const CollisionSearch *search, u32 p, u32 t, f32 reach, f32 *keep)
{
    const SelfCollision *collision = search->collision;
    const u32 *q = collision->triangles[t].point;
    f32 local = reach + 2.0f * collision->bodies[search->other].cell;
    Vec3 rest = rest_at(search, p);
    Vec3 away = vec3_sub(rest, rest_at(search, q[0]));
    if (vec3_length_squared(away) > local * local) {
        return false;
    }
    u32 own = collision->point_triangle[p];
    if (own == SOFT_NONE || vec3_dot(collision->normals[own], collision->normals[t]) > 0.0f) {
        return true;
    }
    f32 w[3];
    triangle_nearest_weights(rest, rest_at(search, q[0]), rest_at(search, q[1]),
                             rest_at(search, q[2]), w);
    for (u32 k = 0; k < 3; k++) {
        rest = vec3_add_scaled(rest, -w[k], rest_at(search, q[k]));
    }
    *keep = f32_min(*keep, rest_part * vec3_length(rest));
    return false;
}

/* Evaluates triangle `lane` of the leaf, which the point is above or below. */
static bool weigh(const CollisionSearch *search, u32 p, u32 l, u32 lane, f32 reach, Candidate *made)
{
    const SelfCollision *collision = search->collision;
    const CollisionPrisms *prisms = &collision->prisms[l];
    u32 t = collision->leaves[l].first_triangle + lane;
    const u32 *q = collision->triangles[t].point;
    made->keep = search->pair.keep;
    if (q[0] == p || q[1] == p || q[2] == p ||
        (search->pair.self && same_place(search, p, t, reach, &made->keep))) {
        return false;
    }
    Vec3 at = point_at(search, p);
    Vec3 d = vec3_sub(at, lane_get(prisms->base, lane));
    made->triangle = t;
    made->height = vec3_dot(d, lane_get(prisms->normal, lane));
    made->weight[1] = vec3_dot(d, lane_get(prisms->u, lane));
    made->weight[2] = vec3_dot(d, lane_get(prisms->v, lane));
    made->weight[0] = 1.0f - made->weight[1] - made->weight[2];
    return true;
}

static void emit_point(CollisionSearch *search, u32 p, const Candidate *from, bool inside)
{
    const SelfCollision *collision = search->collision;
    const u32 *q = collision->triangles[from->triangle].point;
    const CollisionCrossing *crossing =
        collision->crossing_count != 0
            ? self_collision_crossing(collision, COLLISION_POINT_TRIANGLE, p, from->triangle)
            : NULL;
    f32 side = inside || from->height >= 0.0f ? 1.0f : -1.0f;
    side = crossing != NULL ? crossing->side : side;
    CollisionContact contact = {
        .point = {p, q[0], q[1], q[2]},
        .weight = {1.0f, -from->weight[0], -from->weight[1], -from->weight[2]},
        .normal = vec3_scale(collision->normals[from->triangle], side),
        .keep = from->keep,
        .a = p,
        .b = from->triangle,
        .kind = COLLISION_POINT_TRIANGLE,
        .side = side};
    emit(search, &contact);
}

/* The valid side of a closed surface is its outside, and the nearest triangle decides whether p
 * is inside; triangles behind it face away. */
static void choose(CollisionSearch *search, u32 p, const Candidate *candidates, u32 count)
{
    bool closed = search->soft->bodies[search->other].closed;
    u32 nearest = 0;
    for (u32 i = 1; closed && i < count; i++) {
        nearest = fabsf(candidates[i].height) < fabsf(candidates[nearest].height) ? i : nearest;
    }
    if (closed && candidates[nearest].height < 0.0f && !search->pair.self) {
        emit_point(search, p, &candidates[nearest], true);
        return;
    }
    for (u32 i = 0; i < count; i++) {
        if (!closed || candidates[i].height > 0.0f) {
            emit_point(search, p, &candidates[i], false);
        }
    }
}

/* Lanes whose boxes are within `reach` of the box low..high. */
static u32 meet(const CollisionBoxes *boxes, Vec3 low, Vec3 high, f32 reach)
{
    f32x8 r = f32x8_set(reach);
    i32x8 hit = (f32x8_load(boxes->min[0]) - r <= f32x8_set(high.x)) &
                (f32x8_load(boxes->max[0]) + r >= f32x8_set(low.x)) &
                (f32x8_load(boxes->min[1]) - r <= f32x8_set(high.y)) &
                (f32x8_load(boxes->max[1]) + r >= f32x8_set(low.y)) &
                (f32x8_load(boxes->min[2]) - r <= f32x8_set(high.z)) &
                (f32x8_load(boxes->max[2]) + r >= f32x8_set(low.z));
    return i32x8_bits(hit);
}

static Vec3x8 rows_load(const f32 rows[3][SIMD_LANES])
{
    return (Vec3x8){f32x8_load(rows[0]), f32x8_load(rows[1]), f32x8_load(rows[2])};
}

/* Lanes of the triangles that p is above or below, within `reach`. */
static u32 above(const CollisionPrisms *prisms, Vec3 p, f32 reach)
{
    Vec3x8 d = vec3x8_sub(vec3x8_set(p), rows_load(prisms->base));
    f32x8 height = f32x8_abs(vec3x8_dot(d, rows_load(prisms->normal)));
    f32x8 u = vec3x8_dot(d, rows_load(prisms->u)), v = vec3x8_dot(d, rows_load(prisms->v));
    f32x8 least = f32x8_set(-rim_part);
    i32x8 hit = (height <= f32x8_set(reach)) & (u >= least) & (v >= least) &
                (u + v <= f32x8_set(1.0f + rim_part));
    return i32x8_bits(hit);
}

static bool bounds_near(const Bounds *bounds, Vec3 low, Vec3 high, f32 reach)
{
    return bounds->min.x - reach <= high.x && bounds->max.x + reach >= low.x &&
           bounds->min.y - reach <= high.y && bounds->max.y + reach >= low.y &&
           bounds->min.z - reach <= high.z && bounds->max.z + reach >= low.z;
}

static void search_point(CollisionSearch *search, u32 p)
{
    const SelfCollision *collision = search->collision;
    Candidate candidates[CANDIDATES_MAX];
    u32 count = 0;
    Vec3 at = point_at(search, p);
    f32 base = search->pair.keep + search->pair.drift + collision->slack[p];
    for (u32 i = 0; i < search->near.count; i += SIMD_LANES) {
        u32 leaves = meet(&search->near.boxes[i / SIMD_LANES], at, at, base);
        for (; leaves != 0; leaves &= leaves - 1) {
            u32 l = search->near.leaf[i + (u32)__builtin_ctz(leaves)];
            f32 reach = base + collision->leaf_boxes[l].slack;
            for (u32 bits = above(&collision->prisms[l], at, reach); bits != 0; bits &= bits - 1) {
                u32 lane = (u32)__builtin_ctz(bits);
                if (count < CANDIDATES_MAX &&
                    weigh(search, p, l, lane, reach, &candidates[count])) {
                    count++;
                }
            }
        }
    }
    if (count != 0) {
        choose(search, p, candidates, count);
    }
}

/* ---- edges ---- */

static Vec3 edge_normal(const SelfCollision *collision, const CollisionEdge *edge)
{
    if (edge->side[0] == SOFT_NONE) {
        return vec3_zero();
    }
    Vec3 n = collision->normals[edge->side[0]];
    return edge->side[1] == SOFT_NONE
               ? n
               : vec3_scale(vec3_add(n, collision->normals[edge->side[1]]), 0.5f);
}

static bool same_place_edges(const CollisionSearch *search, const CollisionEdge *a,
                             const CollisionEdge *b, f32 reach, f32 *keep)
{
    const SelfCollision *collision = search->collision;
    f32 local = reach + 2.0f * collision->bodies[search->other].cell, s, t;
    Vec3 p[2] = {rest_at(search, a->point[0]), rest_at(search, a->point[1])};
    Vec3 q[2] = {rest_at(search, b->point[0]), rest_at(search, b->point[1])};
    Vec3 away = vec3_sub(p[0], q[0]);
    if (vec3_length_squared(away) > local * local) {
        return false;
    }
    bool strings = a->side[0] == SOFT_NONE || b->side[0] == SOFT_NONE;
    if (!strings && vec3_dot(edge_normal(collision, a), edge_normal(collision, b)) > 0.0f) {
        return true;
    }
    nearest_parts(p[0], p[1], q[0], q[1], &s, &t);
    away = vec3_sub(vec3_lerp(p[0], p[1], s), vec3_lerp(q[0], q[1], t));
    *keep = f32_min(*keep, rest_part * vec3_length(away));
    return *keep < tiny_m;
}

/* Edges of surfaces count only where they cross; contacts at their ends are found by points. A
 * string is only edges: its ends count, once per point. */
static bool places_count(const CollisionEdge *a, const CollisionEdge *b, f32 s, f32 t, bool crossed)
{
    bool strings = a->side[0] == SOFT_NONE || b->side[0] == SOFT_NONE;
    bool inner = s > 0.0f && s < 1.0f && t > 0.0f && t < 1.0f;
    if (!strings) {
        return crossed && inner;
    }
    bool own_s = s > 0.0f ? s < 1.0f || (a->owns & 2) != 0 : (a->owns & 1) != 0;
    bool own_t = t > 0.0f ? t < 1.0f || (b->owns & 2) != 0 : (b->owns & 1) != 0;
    return own_s && own_t;
}

static void search_edges(CollisionSearch *search, u32 ea, u32 eb, f32 reach)
{
    const Soft *soft = search->soft;
    const SelfCollision *collision = search->collision;
    const CollisionEdge *a = &collision->edges[ea], *b = &collision->edges[eb];
    const u32 *p = a->point, *q = b->point;
    if (p[0] == q[0] || p[0] == q[1] || p[1] == q[0] || p[1] == q[1]) {
        return;
    }
    Vec3 a0 = point_at(search, p[0]), a1 = point_at(search, p[1]);
    Vec3 b0 = point_at(search, q[0]), b1 = point_at(search, q[1]);
    f32 s, t, keep = search->pair.keep;
    bool crossed = nearest_parts(a0, a1, b0, b1, &s, &t);
    Vec3 away = vec3_sub(vec3_lerp(a0, a1, s), vec3_lerp(b0, b1, t));
    if (vec3_length_squared(away) > reach * reach || !places_count(a, b, s, t, crossed) ||
        (search->pair.self && same_place_edges(search, a, b, reach, &keep))) {
        return;
    }
    Vec3 across = vec3_cross(vec3_sub(a1, a0), vec3_sub(b1, b0));
    Vec3 normal = vec3_normalize_or(across, vec3_zero());
    f32 distance = vec3_length(away);
    const CollisionCrossing *crossing =
        collision->crossing_count != 0
            ? self_collision_crossing(collision, COLLISION_EDGE_EDGE, ea, eb)
            : NULL;
    if (crossing != NULL && crossing->side != 0.0f && crossed) {
        normal = vec3_scale(normal, crossing->side);
    } else if (distance > tiny_m) {
        normal = vec3_scale(away, 1.0f / distance);
        /* On the inside of a closed surface, points find the exit. */
        f32 in_a = vec3_dot(normal, edge_normal(collision, a));
        f32 in_b = vec3_dot(normal, edge_normal(collision, b));
        if ((in_a > 0.3f && soft->bodies[collision->leaves[search->leaf].body].closed) ||
            (in_b < -0.3f && soft->bodies[search->other].closed)) {
            return;
        }
    }
    bool inner = crossed && s > 0.0f && s < 1.0f && t > 0.0f && t < 1.0f;
    CollisionContact contact = {.point = {p[0], p[1], q[0], q[1]},
                                .weight = {1.0f - s, s, t - 1.0f, -t},
                                .normal = normal,
                                .keep = keep,
                                .a = ea,
                                .b = eb,
                                .kind = COLLISION_EDGE_EDGE,
                                .side = !inner                            ? 0.0f
                                        : vec3_dot(normal, across) < 0.0f ? -1.0f
                                                                          : 1.0f};
    emit(search, &contact);
}

/* Lanes of the edges that a–b comes within `reach` of, by the rules of nearest_parts; `inner`:
 * interior points of both only. */
static u32 beside(const CollisionSticks *sticks, Vec3 a, Vec3 ab, f32 reach, bool inner)
{
    const f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    Vec3x8 v = rows_load(sticks->d), u = vec3x8_set(ab);
    Vec3x8 w = vec3x8_sub(vec3x8_set(a), rows_load(sticks->a));
    f32x8 uu = f32x8_set(vec3_dot(ab, ab) + 1e-20f), vv = vec3x8_dot(v, v) + f32x8_set(1e-20f);
    f32x8 uv = vec3x8_dot(u, v), uw = vec3x8_dot(u, w), vw = vec3x8_dot(v, w);
    f32x8 sine2 = uu * vv - uv * uv;
    i32x8 crossed = sine2 > f32x8_set(1e-3f) * uu * vv;
    f32x8 s = uv * vw - vv * uw; /* times sine2 */
    i32x8 hit = w.x == w.x;
    if (inner) { /* the distance is that of the lines; no division needed */
        f32x8 t = uu * vw - uv * uw, away = vec3x8_dot(w, vec3x8_cross(u, v));
        hit &= crossed & (s > zero) & (s < sine2) & (t > zero) & (t < sine2);
        return i32x8_bits(hit & (away * away <= f32x8_set(reach * reach) * sine2));
    }
    s = s / f32x8_select(crossed, sine2, one);
    s = f32x8_select(crossed, f32x8_min(f32x8_max(s, zero), one), f32x8_set(0.5f));
    f32x8 t = f32x8_min(f32x8_max((uv * s + vw) / vv, zero), one);
    s = f32x8_min(f32x8_max((uv * t - uw) / uu, zero), one);
    Vec3x8 away = vec3x8_sub_scaled(vec3x8_add_scaled(w, s, u), t, v);
    hit &= vec3x8_dot(away, away) <= f32x8_set(reach * reach);
    return i32x8_bits(hit);
}

static void search_edge_leaf(CollisionSearch *search, u32 ea, u32 l, Vec3 a, Vec3 ab, f32 reach)
{
    const SelfCollision *collision = search->collision;
    const CollisionLeaf *leaf = &collision->leaves[l];
    bool string = collision->edges[ea].side[0] == SOFT_NONE;
    /* Without edges of surfaces, only strings count. */
    u32 count = string || search->pair.edges ? leaf->stick_edges : leaf->segment_count;
    for (u32 first = 0; first < count; first += SIMD_LANES) {
        const CollisionSticks *sticks = &collision->sticks[leaf->first_stick + first / SIMD_LANES];
        bool inner = !string && first >= leaf->segment_count;
        u32 bits = beside(sticks, a, ab, reach * 1.001f, inner);
        for (; bits != 0; bits &= bits - 1) {
            u32 lane = (u32)__builtin_ctz(bits), eb = sticks->edge[lane];
            if (first + lane < count && (!search->pair.self || eb > ea)) {
                search_edges(search, ea, eb, reach);
            }
        }
    }
}

static void search_edge(CollisionSearch *search, u32 ea)
{
    const Soft *soft = search->soft;
    const SelfCollision *collision = search->collision;
    const CollisionEdge *edge = &collision->edges[ea];
    Vec3 a = soft->points[edge->point[0]].position, b = soft->points[edge->point[1]].position;
    Vec3 low = vec3_min(a, b), high = vec3_max(a, b), ab = vec3_sub(b, a);
    f32 slack = f32_max(collision->slack[edge->point[0]], collision->slack[edge->point[1]]);
    f32 base = search->pair.keep + search->pair.drift + slack;
    for (u32 i = 0; i < search->near.count; i += SIMD_LANES) {
        u32 leaves = meet(&search->near.boxes[i / SIMD_LANES], low, high, base);
        for (; leaves != 0; leaves &= leaves - 1) {
            u32 l = search->near.leaf[i + (u32)__builtin_ctz(leaves)];
            if (!search->pair.self || l >= search->leaf) {
                search_edge_leaf(search, ea, l, a, ab, base + collision->leaf_boxes[l].slack);
            }
        }
    }
}

/* ---- tangles ---- */

/* Lanes of the triangles that the open segment a–b pierces. */
static u32 pierced(const CollisionPrisms *prisms, Vec3 a, Vec3 b)
{
    const f32x8 zero = f32x8_set(0.0f);
    Vec3x8 base = rows_load(prisms->base), n = rows_load(prisms->normal);
    Vec3x8 p = vec3x8_sub(vec3x8_set(a), base);
    f32x8 above_a = vec3x8_dot(p, n), above_b = vec3x8_dot(vec3x8_sub(vec3x8_set(b), base), n);
    i32x8 hit = ((above_a > zero) & (above_b < zero)) | ((above_a < zero) & (above_b > zero));
    if (!i32x8_any(hit)) {
        return 0;
    }
    f32x8 t = above_a / f32x8_select(hit, above_a - above_b, f32x8_set(1.0f));
    Vec3x8 x = vec3x8_add_scaled(p, t, vec3x8_set(vec3_sub(b, a)));
    f32x8 u = vec3x8_dot(x, rows_load(prisms->u)), v = vec3x8_dot(x, rows_load(prisms->v));
    return i32x8_bits(hit & (u > zero) & (v > zero) & (u + v < f32x8_set(1.0f)));
}

static void note_tangle(CollisionSearch *search, u32 e, u32 t)
{
    const SelfCollision *collision = search->collision;
    CollisionChunk *chunk = search->chunk;
    const u32 *p = collision->edges[e].point, *q = collision->triangles[t].point;
    for (u32 k = 0; k < 6; k++) {
        if (p[k / 3] == q[k % 3]) {
            return;
        }
    }
    if (memory_grow((void **)&chunk->tangles, &chunk->tangle_capacity, chunk->tangle_count + 1,
                    sizeof *chunk->tangles)) {
        chunk->tangles[chunk->tangle_count++] = (CollisionTangle){e, t};
    }
}

/* Can parts of these leaves of one body pierce each other? Not where they are near along the
 * surface and it is flat. */
static bool may_tangle(const CollisionSearch *search, u32 l)
{
    const SelfCollision *collision = search->collision;
    const CollisionNode *box = &collision->leaf_boxes[search->leaf],
                        *other = &collision->leaf_boxes[l];
    if (l == search->leaf || !bounds_near(&other->bounds, box->bounds.min, box->bounds.max, 0.0f)) {
        return false;
    }
    f32 local = beside_cells * collision->bodies[search->other].cell;
    u32 p = collision->leaves[search->leaf].first_triangle, q = collision->leaves[l].first_triangle;
    Vec3 away = vec3_sub(rest_at(search, collision->triangles[p].point[0]),
                         rest_at(search, collision->triangles[q].point[0]));
    return (box->flat & other->flat) == 0 || vec3_length_squared(away) > local * local;
}

/* Finds triangles of the same body that edges of this leaf pierce. */
static void search_tangles(CollisionSearch *search)
{
    const SelfCollision *collision = search->collision;
    const CollisionLeaf *leaf = &collision->leaves[search->leaf];
    CollisionNear *run = &search->tangle;
    run->count = 0;
    for (u32 i = 0; i < search->near.count; i++) {
        u32 l = search->near.leaf[i];
        if (may_tangle(search, l)) {
            push_near(run, l, collision->leaf_boxes[l].bounds.min,
                      collision->leaf_boxes[l].bounds.max);
        }
    }
    for (u32 e = leaf->first_edge; run->count != 0 && e < leaf->first_edge + leaf->edge_count;
         e++) {
        const u32 *p = collision->edges[e].point;
        Vec3 a = point_at(search, p[0]), b = point_at(search, p[1]);
        Vec3 low = vec3_min(a, b), high = vec3_max(a, b);
        for (u32 i = 0; i < run->count; i += SIMD_LANES) {
            u32 leaves = meet(&run->boxes[i / SIMD_LANES], low, high, 0.0f);
            for (; leaves != 0; leaves &= leaves - 1) {
                u32 l = run->leaf[i + (u32)__builtin_ctz(leaves)];
                u32 bits = pierced(&collision->prisms[l], a, b);
                for (; bits != 0; bits &= bits - 1) {
                    note_tangle(search, e,
                                collision->leaves[l].first_triangle + (u32)__builtin_ctz(bits));
                }
            }
        }
    }
}

/* ---- leaves ---- */

/* Lists leaves of the other body near one of first..end; false if there are too many. */
static bool collect_run(CollisionSearch *search, u32 first, u32 end)
{
    const SelfCollision *collision = search->collision;
    const CollisionBody *other = &collision->bodies[search->other];
    Bounds bounds = collision->leaf_boxes[first].bounds;
    f32 slack = 0.0f;
    for (u32 l = first; l < end; l++) {
        const CollisionNode *box = &collision->leaf_boxes[l];
        bounds.min = vec3_min(bounds.min, box->bounds.min);
        bounds.max = vec3_max(bounds.max, box->bounds.max);
        slack = f32_max(slack, box->slack);
    }
    f32 reach = search->pair.keep + search->pair.drift + slack;
    search->run.count = 0;
    for (u32 i = other->first_node; i < other->end_node;) {
        const CollisionNode *node = &collision->nodes[i];
        bool own = first >= node->first_leaf && end <= node->end_leaf;
        if ((own && node->flat != 0) ||
            !bounds_near(&node->bounds, bounds.min, bounds.max, reach + node->slack)) {
            i = node->skip;
            continue;
        }
        if (node->end_leaf - node->first_leaf == 1) {
            if (search->run.count == COLLISION_RUN_LEAVES) {
                return false;
            }
            Vec3 grow = vec3(node->slack, node->slack, node->slack);
            push_near(&search->run, node->first_leaf, vec3_sub(node->bounds.min, grow),
                      vec3_add(node->bounds.max, grow));
        }
        i++;
    }
    return true;
}

/* Lists those of the run's leaves near this one. */
static void collect(CollisionSearch *search)
{
    const SelfCollision *collision = search->collision;
    const CollisionNode *box = &collision->leaf_boxes[search->leaf];
    const CollisionNear *run = &search->run;
    bool self = search->pair.self;
    f32 reach = search->pair.keep + search->pair.drift + box->slack;
    search->near.count = 0;
    for (u32 i = 0; i < run->count; i += SIMD_LANES) {
        const CollisionBoxes *boxes = &run->boxes[i / SIMD_LANES];
        u32 bits = meet(boxes, box->bounds.min, box->bounds.max, reach);
        for (; bits != 0; bits &= bits - 1) {
            u32 lane = (u32)__builtin_ctz(bits), l = run->leaf[i + lane];
            bool flat = self && box->flat != 0 && l >= box->first_leaf && l < box->end_leaf;
            if (search->near.count < COLLISION_NEAR_LEAVES && !flat) {
                push_near(&search->near, l, lane_get(boxes->min, lane), lane_get(boxes->max, lane));
            }
        }
    }
}

static CollisionPair pair_of(const Soft *soft, u32 a, u32 b)
{
    const SelfCollision *collision = soft->collision;
    const SoftDef *p = &soft->bodies[a].def, *q = &soft->bodies[b].def;
    const CollisionBody *s = &collision->bodies[a], *t = &collision->bodies[b];
    f32 cell = f32_max(s->cell, t->cell), compliance = 0.0f;
    f32 keep = a == b ? s->keep : p->thickness + q->thickness;
    compliance += p->contact_stiffness > 0.0f ? 1.0f / p->contact_stiffness : 0.0f;
    compliance += q->contact_stiffness > 0.0f ? 1.0f / q->contact_stiffness : 0.0f;
    f32 mu = sqrtf(p->friction * q->friction);
    f32 mu_p = f32_max(p->friction, p->static_friction);
    f32 mu_q = f32_max(q->friction, q->static_friction);
    return (CollisionPair){.keep = keep,
                           .drift = vec3_distance(s->velocity, t->velocity) *
                                    (collision->tick_s - collision->seen_s),
                           .friction = mu,
                           .static_friction = sqrtf(mu_p * mu_q),
                           .compliance = compliance,
                           .self = a == b,
                           .edges = keep < edges_below * cell};
}

static void search_leaf(CollisionSearch *search, u32 l)
{
    const SelfCollision *collision = search->collision;
    const CollisionLeaf *leaf = &collision->leaves[l];
    search->leaf = l;
    collect(search);
    if (search->near.count == 0) {
        return;
    }
    for (u32 i = leaf->first_point; i < leaf->first_point + leaf->point_count; i++) {
        search_point(search, collision->points[i]);
    }
    bool strings = collision->bodies[search->other].has_edges;
    if (search->other >= leaf->body &&
        (search->pair.edges || strings || leaf->segment_count != 0)) {
        u32 count = search->pair.edges || strings ? leaf->stick_edges : leaf->segment_count;
        for (u32 i = 0; i < count; i++) {
            const CollisionSticks *sticks = &collision->sticks[leaf->first_stick + i / SIMD_LANES];
            search_edge(search, sticks->edge[i % SIMD_LANES]);
        }
    }
    if (search->pair.self) {
        search_tangles(search);
    }
}

/* Tests a run of leaves of one body against another. */
static void search_run(CollisionSearch *search, u32 first, u32 end)
{
    if (!collect_run(search, first, end) && end - first > 1) {
        u32 middle = first + (end - first) / 2;
        search_run(search, first, middle);
        search_run(search, middle, end);
        return;
    }
    for (u32 l = first; search->run.count != 0 && l < end; l++) {
        search_leaf(search, l);
    }
}

static void search_body(CollisionSearch *search, u32 first, u32 end, u32 other)
{
    search->other = other;
    search->pair = pair_of(search->soft, search->collision->leaves[first].body, other);
    search_run(search, first, end);
}

static void search_chunks(void *context, u32 first, u32 end, u32 worker)
{
    const Soft *soft = context;
    const SelfCollision *collision = soft->collision;
    CollisionSearch search;
    PL_UNUSED(worker);
    search.soft = soft;
    search.collision = collision;
    for (u32 c = first; c < end; c++) {
        search.chunk = &collision->chunks[c];
        search.chunk->count = search.chunk->tangle_count = 0;
        u32 last = u32_min((c + 1) * COLLISION_CHUNK, collision->leaf_count);
        for (u32 l = c * COLLISION_CHUNK, run; l < last; l = run) {
            u32 b = collision->leaves[l].body;
            const CollisionBody *body = &collision->bodies[b];
            run = u32_min(last, body->end_leaf);
            if (body->fitted && soft->bodies[b].def.self_collision && !soft_sleeps(soft, b)) {
                search_body(&search, l, run, b);
            }
            for (u32 i = 0; body->fitted && i < body->partner_count; i++) {
                search_body(&search, l, run, collision->partners[body->first_partner + i]);
            }
        }
    }
}

/* Contacts between tangled parts must not keep them tangled. */
static void mark_tangles(Soft *soft)
{
    SelfCollision *collision = soft->collision;
    collision->tangle_count = 0;
    memset(collision->tangled, 0, soft->count);
    for (u32 c = 0; c < collision->chunk_count; c++) {
        const CollisionChunk *chunk = &collision->chunks[c];
        collision->tangle_count += chunk->tangle_count;
        for (u32 i = 0; i < chunk->tangle_count; i++) {
            const u32 *p = collision->edges[chunk->tangles[i].edge].point;
            const u32 *q = collision->triangles[chunk->tangles[i].triangle].point;
            collision->tangled[p[0]] = collision->tangled[p[1]] = 1;
            collision->tangled[q[0]] = collision->tangled[q[1]] = collision->tangled[q[2]] = 1;
        }
    }
    for (u32 c = 0; collision->tangle_count != 0 && c < collision->chunk_count; c++) {
        for (u32 i = 0; i < collision->chunks[c].count; i++) {
            CollisionContact *contact = &collision->chunks[c].contacts[i];
            const u32 *p = contact->point;
            const u8 *t = collision->tangled;
            contact->gentle |= contact->kind == COLLISION_EDGE_EDGE
                                   ? (t[p[0]] | t[p[1]]) & (t[p[2]] | t[p[3]])
                                   : t[p[0]] & (t[p[1]] | t[p[2]] | t[p[3]]);
        }
    }
}

void self_collision_find(Soft *soft)
{
    SelfCollision *collision = soft->collision;
    jobs_run(soft->jobs, collision->chunk_count, 1, search_chunks, soft);
    collision->contact_count = 0;
    for (u32 c = 0; c < collision->chunk_count; c++) {
        collision->contact_count += collision->chunks[c].count;
    }
    mark_tangles(soft);
}
