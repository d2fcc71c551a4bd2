/* crowd_find.c: which points and triangles, and which edges, may touch until the next search. */
#include "server/physics/soft/crowd.h"
#include "server/physics/soft/crowd_near.h"

#include <stdlib.h>

enum {
    CANDIDATES_MAX = 48 /* triangles near one point */
};

/* Nearer than this there is no direction in a distance. */
static const f32 tiny_m = 1e-7f;
/* Where the sheet keeps less than this part of its cells from the other, points and triangles alone
 * would let edges through between them. */
static const f32 edges_below = 0.75f;
/* Beyond this length of an edge, as a part of that at rest, its contacts give way to it. */
static const f32 stretch_max = 1.3f;
/* Triangles reach so much beyond their edges that no point falls between two. */
static const f32 rim_part = 0.01f;
/* Parts of one surface that are near by the surface itself keep at most this part of how far apart
 * they are at rest. */
static const f32 rest_part = 0.9f;

/* A point above a triangle: points meet faces, edges meet edges, and nothing else is needed to keep
 * surfaces from going through each other. */
typedef struct Candidate {
    u32 triangle;
    f32 weight[3];
    f32 keep;
    f32 height; /* m, above the triangle's plane */
} Candidate;

typedef struct Search {
    const Soft *soft;
    const Crowd *crowd;
    CrowdChunk *chunk;
    u32 leaf;
    u32 other; /* body */
    CrowdPair pair;
    u32 near_count;
    u32 near[CROWD_NEAR_LEAVES];
    CrowdBoxes near_boxes[CROWD_NEAR_LEAVES / SIMD_LANES]; /* of these, with their slack */
} Search;

const CrowdCrossing *crowd_crossing(const Crowd *crowd, u32 kind, u32 a, u32 b)
{
    u32 low = 0, high = crowd->crossing_count;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        const CrowdCrossing *at = &crowd->crossings[middle];
        if (at->kind < kind || (at->kind == kind && at->a < a)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < crowd->crossing_count; low++) {
        const CrowdCrossing *at = &crowd->crossings[low];
        if (at->kind != kind || at->a != a) {
            return NULL;
        }
        if (at->b == b) {
            return at;
        }
        if (kind == CROWD_POINT_TRIANGLE) {
            const u32 *p = crowd->triangles[at->b].point, *q = crowd->triangles[b].point;
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

/* Is one of the parts pulled far out of its shape? */
static bool stretched(const Soft *soft, const CrowdContact *contact)
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

static void emit(Search *search, CrowdContact *contact)
{
    const Soft *soft = search->soft;
    CrowdChunk *chunk = search->chunk;
    f32 w = 0.0f;
    for (u32 k = 0; k < 4; k++) {
        w += contact->weight[k] * contact->weight[k] * soft->points[contact->point[k]].inverse_mass;
    }
    if (w <= 0.0f || !soft_grow((void **)&chunk->contacts, &chunk->room, chunk->count + 1,
                                sizeof *chunk->contacts)) {
        return;
    }
    contact->mass = 1.0f / w;
    contact->friction = search->pair.friction;
    contact->static_friction = search->pair.static_friction;
    contact->compliance = search->pair.compliance;
    contact->gentle = search->pair.self || stretched(soft, contact);
    chunk->contacts[chunk->count++] = *contact;
}

static Vec3 point_at(const Search *search, u32 particle)
{
    return search->soft->points[particle].position;
}

static Vec3 rest_at(const Search *search, u32 particle)
{
    return search->soft->rest[particle];
}

static Vec3 lane_get(const f32 rows[3][SIMD_LANES], u32 lane)
{
    return vec3(rows[0][lane], rows[1][lane], rows[2][lane]);
}

/* ---- points and triangles ---- */

/* Are p and the triangle near by the surface that both are of? Then they meet only where it is
 * folded between them, and keep no more than they do at rest. */
static bool same_place(const Search *search, u32 p, u32 t, f32 reach, f32 *keep)
{
    const Crowd *crowd = search->crowd;
    const u32 *q = crowd->triangles[t].point;
    f32 local = reach + 2.0f * crowd->bodies[search->other].cell;
    Vec3 rest = rest_at(search, p);
    Vec3 away = vec3_sub(rest, rest_at(search, q[0]));
    if (vec3_length_squared(away) > local * local) {
        return false;
    }
    u32 own = crowd->point_triangle[p];
    if (own == SOFT_NONE || vec3_dot(crowd->normals[own], crowd->normals[t]) > 0.0f) {
        return true;
    }
    f32 w[3];
    nearest_weights(rest, rest_at(search, q[0]), rest_at(search, q[1]), rest_at(search, q[2]), w);
    for (u32 k = 0; k < 3; k++) {
        rest = vec3_add_scaled(rest, -w[k], rest_at(search, q[k]));
    }
    *keep = f32_min(*keep, rest_part * vec3_length(rest));
    return false;
}

/* The triangle's lane `lane` of the leaf, which the point is above or below. */
static bool weigh(const Search *search, u32 p, u32 l, u32 lane, f32 reach, Candidate *made)
{
    const Crowd *crowd = search->crowd;
    const CrowdPrisms *prisms = &crowd->prisms[l];
    u32 t = crowd->leaves[l].first_triangle + lane;
    const u32 *q = crowd->triangles[t].point;
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

static void emit_point(Search *search, u32 p, const Candidate *from, bool inside)
{
    const Crowd *crowd = search->crowd;
    const u32 *q = crowd->triangles[from->triangle].point;
    const CrowdCrossing *crossing =
        crowd->crossing_count != 0 ? crowd_crossing(crowd, CROWD_POINT_TRIANGLE, p, from->triangle)
                                   : NULL;
    f32 side = inside || from->height >= 0.0f ? 1.0f : -1.0f;
    side = crossing != NULL ? crossing->side : side;
    CrowdContact contact = {.point = {p, q[0], q[1], q[2]},
                            .weight = {1.0f, -from->weight[0], -from->weight[1], -from->weight[2]},
                            .normal = vec3_scale(crowd->normals[from->triangle], side),
                            .keep = from->keep,
                            .a = p,
                            .b = from->triangle,
                            .kind = CROWD_POINT_TRIANGLE,
                            .side = side};
    emit(search, &contact);
}

/* What is closed has its outside as its side, and the nearest triangle knows whether p is inside:
 * those behind it are seen from the back. */
static void choose(Search *search, u32 p, const Candidate *candidates, u32 count)
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
static u32 meet(const CrowdBoxes *boxes, Vec3 low, Vec3 high, f32 reach)
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

/* Lanes of the triangles that have p above or below them, within `reach`. */
static u32 above(const CrowdPrisms *prisms, Vec3 p, f32 reach)
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

static void search_point(Search *search, u32 p)
{
    const Crowd *crowd = search->crowd;
    Candidate candidates[CANDIDATES_MAX];
    u32 count = 0;
    Vec3 at = point_at(search, p);
    f32 base = search->pair.keep + search->pair.drift + crowd->slack[p];
    for (u32 i = 0; i < search->near_count; i += SIMD_LANES) {
        u32 leaves = meet(&search->near_boxes[i / SIMD_LANES], at, at, base);
        for (; leaves != 0; leaves &= leaves - 1) {
            u32 l = search->near[i + (u32)__builtin_ctz(leaves)];
            f32 reach = base + crowd->leaf_boxes[l].slack;
            for (u32 bits = above(&crowd->prisms[l], at, reach); bits != 0; bits &= bits - 1) {
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

static Vec3 edge_normal(const Crowd *crowd, const CrowdEdge *edge)
{
    if (edge->side[0] == SOFT_NONE) {
        return vec3_zero();
    }
    Vec3 n = crowd->normals[edge->side[0]];
    return edge->side[1] == SOFT_NONE
               ? n
               : vec3_scale(vec3_add(n, crowd->normals[edge->side[1]]), 0.5f);
}

static bool same_place_edges(const Search *search, const CrowdEdge *a, const CrowdEdge *b,
                             f32 reach, f32 *keep)
{
    const Crowd *crowd = search->crowd;
    f32 local = reach + 2.0f * crowd->bodies[search->other].cell, s, t;
    Vec3 p[2] = {rest_at(search, a->point[0]), rest_at(search, a->point[1])};
    Vec3 q[2] = {rest_at(search, b->point[0]), rest_at(search, b->point[1])};
    Vec3 away = vec3_sub(p[0], q[0]);
    if (vec3_length_squared(away) > local * local) {
        return false;
    }
    bool strings = a->side[0] == SOFT_NONE || b->side[0] == SOFT_NONE;
    if (!strings && vec3_dot(edge_normal(crowd, a), edge_normal(crowd, b)) > 0.0f) {
        return true;
    }
    nearest_parts(p[0], p[1], q[0], q[1], &s, &t);
    away = vec3_sub(vec3_lerp(p[0], p[1], s), vec3_lerp(q[0], q[1], t));
    *keep = f32_min(*keep, rest_part * vec3_length(away));
    return *keep < tiny_m;
}

/* Edges of surfaces count only where they cross; what ends they touch with is a point's to find. A
 * string is all edges: its ends count, once for each point. */
static bool places_count(const CrowdEdge *a, const CrowdEdge *b, f32 s, f32 t, bool crossed)
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

static void search_edges(Search *search, u32 ea, u32 eb, f32 reach)
{
    const Soft *soft = search->soft;
    const Crowd *crowd = search->crowd;
    const CrowdEdge *a = &crowd->edges[ea], *b = &crowd->edges[eb];
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
    const CrowdCrossing *crossing =
        crowd->crossing_count != 0 ? crowd_crossing(crowd, CROWD_EDGE_EDGE, ea, eb) : NULL;
    if (crossing != NULL && crossing->side != 0.0f && crossed) {
        normal = vec3_scale(normal, crossing->side);
    } else if (distance > tiny_m) {
        normal = vec3_scale(away, 1.0f / distance);
        /* Seen from inside what is closed: points find the way out. */
        f32 in_a = vec3_dot(normal, edge_normal(crowd, a));
        f32 in_b = vec3_dot(normal, edge_normal(crowd, b));
        if ((in_a > 0.3f && soft->bodies[crowd->leaves[search->leaf].body].closed) ||
            (in_b < -0.3f && soft->bodies[search->other].closed)) {
            return;
        }
    }
    bool inner = crossed && s > 0.0f && s < 1.0f && t > 0.0f && t < 1.0f;
    CrowdContact contact = {.point = {p[0], p[1], q[0], q[1]},
                            .weight = {1.0f - s, s, t - 1.0f, -t},
                            .normal = normal,
                            .keep = keep,
                            .a = ea,
                            .b = eb,
                            .kind = CROWD_EDGE_EDGE,
                            .side = !inner                            ? 0.0f
                                    : vec3_dot(normal, across) < 0.0f ? -1.0f
                                                                      : 1.0f};
    emit(search, &contact);
}

/* Lanes of the edges that a–b comes within `reach` of, as nearest_parts has it; `inner`: inside of
 * both only. */
static u32 beside(const CrowdSticks *sticks, Vec3 a, Vec3 ab, f32 reach, bool inner)
{
    const f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    Vec3x8 v = rows_load(sticks->d), u = vec3x8_set(ab);
    Vec3x8 w = vec3x8_sub(vec3x8_set(a), rows_load(sticks->a));
    f32x8 uu = f32x8_set(vec3_dot(ab, ab) + 1e-20f), vv = vec3x8_dot(v, v) + f32x8_set(1e-20f);
    f32x8 uv = vec3x8_dot(u, v), uw = vec3x8_dot(u, w), vw = vec3x8_dot(v, w);
    f32x8 sine2 = uu * vv - uv * uv;
    i32x8 crossed = sine2 > f32x8_set(1e-3f) * uu * vv;
    f32x8 s = (uv * vw - vv * uw) / f32x8_select(crossed, sine2, one);
    i32x8 hit = w.x == w.x;
    if (inner) {
        f32x8 t = (uv * s + vw) / vv;
        hit &= crossed & (s > zero) & (s < one) & (t > zero) & (t < one);
        if (!i32x8_any(hit)) {
            return 0;
        }
    }
    s = f32x8_select(crossed, f32x8_min(f32x8_max(s, zero), one), f32x8_set(0.5f));
    f32x8 t = f32x8_min(f32x8_max((uv * s + vw) / vv, zero), one);
    s = f32x8_min(f32x8_max((uv * t - uw) / uu, zero), one);
    Vec3x8 away = vec3x8_sub_scaled(vec3x8_add_scaled(w, s, u), t, v);
    hit &= vec3x8_dot(away, away) <= f32x8_set(reach * reach);
    return i32x8_bits(hit);
}

static void search_edge_leaf(Search *search, u32 ea, u32 l, Vec3 a, Vec3 ab, f32 reach)
{
    const Crowd *crowd = search->crowd;
    const CrowdLeaf *leaf = &crowd->leaves[l];
    bool string = crowd->edges[ea].side[0] == SOFT_NONE;
    /* Without edges of surfaces, only strings count. */
    u32 count = string || search->pair.edges ? leaf->edge_count : leaf->segment_count;
    for (u32 first = 0; first < count; first += SIMD_LANES) {
        bool inner = !string && first >= leaf->segment_count;
        u32 bits = beside(&crowd->sticks[leaf->first_stick + first / SIMD_LANES], a, ab,
                          reach * 1.001f, inner);
        for (; bits != 0; bits &= bits - 1) {
            u32 lane = first + (u32)__builtin_ctz(bits), eb = leaf->first_edge + lane;
            if (lane < count && (!search->pair.self || eb > ea)) {
                search_edges(search, ea, eb, reach);
            }
        }
    }
}

static void search_edge(Search *search, u32 ea)
{
    const Soft *soft = search->soft;
    const Crowd *crowd = search->crowd;
    const CrowdEdge *edge = &crowd->edges[ea];
    Vec3 a = soft->points[edge->point[0]].position, b = soft->points[edge->point[1]].position;
    Vec3 low = vec3_min(a, b), high = vec3_max(a, b), ab = vec3_sub(b, a);
    f32 slack = f32_max(crowd->slack[edge->point[0]], crowd->slack[edge->point[1]]);
    f32 base = search->pair.keep + search->pair.drift + slack;
    for (u32 i = 0; i < search->near_count; i += SIMD_LANES) {
        u32 leaves = meet(&search->near_boxes[i / SIMD_LANES], low, high, base);
        for (; leaves != 0; leaves &= leaves - 1) {
            u32 l = search->near[i + (u32)__builtin_ctz(leaves)];
            if (!search->pair.self || l >= search->leaf) {
                search_edge_leaf(search, ea, l, a, ab, base + crowd->leaf_boxes[l].slack);
            }
        }
    }
}

/* ---- leaves ---- */

/* Leaves of the other body that may meet this one. */
static void collect(Search *search)
{
    const Crowd *crowd = search->crowd;
    const CrowdBody *other = &crowd->bodies[search->other];
    const CrowdNode *box = &crowd->leaf_boxes[search->leaf];
    f32 reach = search->pair.keep + search->pair.drift + box->slack;
    u32 count = 0;
    for (u32 i = other->first_node; i < other->end_node;) {
        const CrowdNode *node = &crowd->nodes[i];
        bool own = search->leaf >= node->first_leaf && search->leaf < node->end_leaf;
        if ((own && node->flat != 0) ||
            !bounds_near(&node->bounds, box->bounds.min, box->bounds.max, reach + node->slack)) {
            i = node->skip;
            continue;
        }
        if (node->end_leaf - node->first_leaf == 1 && count < CROWD_NEAR_LEAVES) {
            CrowdBoxes *boxes = &search->near_boxes[count / SIMD_LANES];
            Vec3 grow = vec3(node->slack, node->slack, node->slack);
            Vec3 low = vec3_sub(node->bounds.min, grow), high = vec3_add(node->bounds.max, grow);
            if (count % SIMD_LANES == 0) {
                boxes_clear(boxes);
            }
            boxes_set(boxes, count % SIMD_LANES, low, high);
            search->near[count++] = node->first_leaf;
        }
        i++;
    }
    search->near_count = count;
}

static CrowdPair pair_of(const Soft *soft, u32 a, u32 b)
{
    const Crowd *crowd = soft->crowd;
    const SoftDef *p = &soft->bodies[a].def, *q = &soft->bodies[b].def;
    const CrowdBody *s = &crowd->bodies[a], *t = &crowd->bodies[b];
    f32 cell = f32_max(s->cell, t->cell), compliance = 0.0f;
    f32 keep = a == b ? s->keep : p->thickness + q->thickness;
    compliance += p->contact_stiffness > 0.0f ? 1.0f / p->contact_stiffness : 0.0f;
    compliance += q->contact_stiffness > 0.0f ? 1.0f / q->contact_stiffness : 0.0f;
    f32 mu = sqrtf(p->friction * q->friction);
    f32 mu_p = f32_max(p->friction, p->static_friction);
    f32 mu_q = f32_max(q->friction, q->static_friction);
    return (CrowdPair){.keep = keep,
                       .drift = vec3_distance(s->velocity, t->velocity) *
                                (crowd->tick_s - crowd->seen_s),
                       .friction = mu,
                       .static_friction = sqrtf(mu_p * mu_q),
                       .compliance = compliance,
                       .self = a == b,
                       .edges = keep < edges_below * cell};
}

static void search_body(Search *search, u32 b)
{
    const Crowd *crowd = search->crowd;
    const CrowdLeaf *leaf = &crowd->leaves[search->leaf];
    search->other = b;
    search->pair = pair_of(search->soft, leaf->body, b);
    collect(search);
    if (search->near_count == 0) {
        return;
    }
    for (u32 i = leaf->first_point; i < leaf->first_point + leaf->point_count; i++) {
        search_point(search, crowd->points[i]);
    }
    bool strings = crowd->bodies[b].has_edges;
    if (b >= leaf->body && (search->pair.edges || strings || leaf->segment_count != 0)) {
        u32 count = search->pair.edges || strings ? leaf->edge_count : leaf->segment_count;
        for (u32 e = leaf->first_edge; e < leaf->first_edge + count; e++) {
            search_edge(search, e);
        }
    }
}

static void search_chunks(void *context, u32 first, u32 end, u32 worker)
{
    const Soft *soft = context;
    const Crowd *crowd = soft->crowd;
    Search search;
    PL_UNUSED(worker);
    search.soft = soft;
    search.crowd = crowd;
    for (u32 c = first; c < end; c++) {
        search.chunk = &crowd->chunks[c];
        search.chunk->count = 0;
        u32 last = u32_min((c + 1) * CROWD_CHUNK, crowd->leaf_count);
        for (u32 l = c * CROWD_CHUNK; l < last; l++) {
            const CrowdBody *body = &crowd->bodies[crowd->leaves[l].body];
            search.leaf = l;
            if (!body->fitted) {
                continue;
            }
            if (soft->bodies[crowd->leaves[l].body].def.self_collision) {
                search_body(&search, crowd->leaves[l].body);
            }
            for (u32 i = 0; i < body->partner_count; i++) {
                search_body(&search, crowd->partners[body->first_partner + i]);
            }
        }
    }
}

void crowd_find(Soft *soft)
{
    Crowd *crowd = soft->crowd;
    jobs_run(soft->jobs, crowd->chunk_count, 1, search_chunks, soft);
    crowd->contact_count = 0;
    for (u32 c = 0; c < crowd->chunk_count; c++) {
        crowd->contact_count += crowd->chunks[c].count;
    }
}
