/*
 * manifold_solids.c: contacts of two convex solids. First the axis: flat faces of both, and if none
 * of them is proved to be optimal, the edges of two overlapping polytopes (Gauss map, Gregorius,
 * GDC 2013) or GJK. Faces are preferred to slightly better axes, so that contacts at rest do not
 * flicker; then the other solid's feature is clipped by the face, otherwise two lines or two points
 * touch.
 */
#include "server/physics/rigid/narrow/manifold_solid.h"

/* How much better another axis must be than a face (m), and the same relative to small solids. */
#define AXIS_BIAS_M    0.002f
#define AXIS_BIAS_SIZE 0.02f
/* How far beside a face contacts may lie, relative to the size. */
#define CLIP_SLACK     0.005f
/* Overlaps up to this fraction of the smallest half size are searched from the current axis. */
#define SHALLOW_SIZE   0.1f
/* A triangle's edges do not push towards its back, up to this cosine. */
#define FRONT_COSINE   0.0f

typedef struct FaceAxis {
    f32 separation;
    u32 face;
    Vec3 normal, on; /* outwards from the reference solid; a point of the face */
    Vec3 deepest;    /* the other core's support point against the normal */
} FaceAxis;

/* Relative rounding error of distances between parts of solids. */
#define ROUNDING 1e-5f

/* Height of a point (working axes) above each face of a polytope. Returns their maximal rounding
 * error. */
static f32 above_faces(const Solid *solid, Vec3 p, f32 heights[HULL_FACES_MAX])
{
    const Hull *hull = solid->hull;
    Vec3 d = solid->triangle ? p : mat3_mul_transposed(solid->frame, vec3_sub(p, solid->centre));
    u32 count = solid_face_count(solid);
    f32 far = 0.0f;
    for (u32 f = 0; f < count; f++) {
        heights[f] = vec3_dot(hull->normals[f], d) - hull->offsets[f];
        far = f32_max(far, fabsf(hull->offsets[f]));
    }
    return ROUNDING * (vec3_length(p) + vec3_length(d) + far);
}

/* False if b is farther from the face of a than the margin. */
static bool try_face(const Solid *a, const Solid *b, u32 f, f32 margin, bool counts, FaceAxis *best)
{
    Vec3 on, n = solid_face(a, f, &on);
    Vec3 p = solid_support(b, vec3_neg(n));
    f32 separation = vec3_dot(n, vec3_sub(p, on)) - b->round;
    if (separation > margin) {
        return false;
    }
    if (counts &&
        (separation > best->separation || (separation == best->separation && f < best->face))) {
        *best = (FaceAxis){separation, f, n, on, p};
    }
    return true;
}

/* The face of a with the largest separation; false if it exceeds the margin. `front` (may be
 * NULL): faces of a facing along it are skipped. No face separates by more than its height below
 * any point of b, minus the inscribed ball about it: so the face that the middle of b is highest
 * above is tested first, and most others need no test of b's corners. The result equals testing
 * all. */
static bool best_face(const Solid *a, const Solid *b, f32 margin, const Vec3 *front, FaceAxis *best)
{
    *best = (FaceAxis){.separation = -INFINITY};
    u32 count = solid_face_count(a), first = count;
    if (a->kind != SOLID_POLYTOPE || count < 4) {
        for (u32 f = 0; f < count; f++) {
            Vec3 on;
            bool counts = front == NULL || vec3_dot(solid_face(a, f, &on), *front) <= -FRONT_COSINE;
            if (!try_face(a, b, f, margin, counts, best)) {
                return false;
            }
        }
        return true;
    }
    f32 most[HULL_FACES_MAX], heights[HULL_FACES_MAX], ball;
    Vec3 middle = solid_middle(b, &ball);
    f32 rounding = above_faces(a, middle, most);
    bool counts[HULL_FACES_MAX];
    Vec3 ahead = front != NULL ? mat3_mul_transposed(a->frame, *front) : vec3_zero();
    for (u32 f = 0; f < count; f++) {
        most[f] += rounding - ball - b->round;
        counts[f] = front == NULL || vec3_dot(a->hull->normals[f], ahead) <= -FRONT_COSINE;
        first = counts[f] && (first == count || most[f] > most[first]) ? f : first;
    }
    if (first < count) {
        if (!try_face(a, b, first, margin, true, best)) {
            return false;
        }
        rounding = above_faces(a, best->deepest, heights) - b->round;
        for (u32 f = 0; f < count; f++) {
            most[f] = f32_min(most[f], heights[f] + rounding);
        }
    }
    for (u32 f = 0; f < count; f++) {
        if (f != first && most[f] > (counts[f] ? f32_min(best->separation, margin) : margin) &&
            !try_face(a, b, f, margin, counts[f], best)) {
            return false;
        }
    }
    return true;
}

/* Whether the face's axis is certainly the shortest. Above the face: if the deepest point
 * projects into it. Below it: if no other side of the solid is nearer to that point. */
static bool face_is_nearest(const Solid *solid, const FaceAxis *axis)
{
    f32 height = vec3_dot(axis->normal, vec3_sub(axis->deepest, axis->on));
    Vec3 p = height > 0.0f ? vec3_add_scaled(axis->deepest, -height, axis->normal) : axis->deepest;
    if (solid->triangle) {
        p = vec3_add_scaled(axis->deepest, -height, axis->normal);
        for (u32 i = 0; i < 3; i++) {
            Vec3 a = solid->hull->vertices[i], b = solid->hull->vertices[i < 2 ? i + 1 : 0];
            if (vec3_dot(vec3_cross(vec3_sub(b, a), axis->normal), vec3_sub(p, a)) > 0.0f) {
                return false;
            }
        }
        return true;
    }
    u32 face;
    f32 outside = solid_outside(solid, p, &face);
    if (height > 0.0f) {
        return outside <= 1e-5f * solid->extent;
    }
    return face == axis->face;
}

static u32 face_id(bool b_is_reference, u32 reference, u32 incident)
{
    return (b_is_reference ? FEATURE_SWAPPED : 0u) | (reference & 127u) << 21 |
           (incident & 127u) << 14;
}

/* Returns false if no part of the other solid is over the face. */
static bool face_contact(const Solid *solid, const Solid *other, const FaceAxis *axis, bool swapped,
                         f32 margin, Manifold *manifold)
{
    Polygon reference, incident;
    ManifoldPoint points[CLIPPED_MAX];
    Vec3 against = vec3_neg(axis->normal);
    solid_feature(other, against, &incident);
    solid_polygon(solid, axis->face, axis->normal, &reference);
    f32 slack = solid->triangle ? 0.0f : CLIP_SLACK * f32_min(solid->extent, other->extent);
    ClipLimits limits = {other->round, slack, margin};
    u32 count = manifold_clip(&reference, axis->normal, &incident, &limits,
                              face_id(swapped, axis->face, incident.id), points);
    if (count == 0) {
        return false;
    }
    manifold->normal = swapped ? against : axis->normal;
    manifold_reduce(points, count, axis->normal, manifold);
    return true;
}

/* Whether a point is deeper than that. */
static bool reaches(const Manifold *manifold, f32 separation)
{
    for (u32 i = 0; i < manifold->count; i++) {
        if (manifold->points[i].separation < separation) {
            return true;
        }
    }
    return false;
}

/* ---- edges of two polytopes ---- */

typedef struct EdgeAxis {
    f32 separation;
    u32 a, b; /* half-edges */
    Vec3 normal;
} EdgeAxis;

/* Edges of a solid and the normals of their faces in working axes, one half-edge each. */
typedef struct EdgeList {
    Vec3 from[HULL_EDGES_MAX / 2], along[HULL_EDGES_MAX / 2];
    Vec3 left[HULL_EDGES_MAX / 2], right[HULL_EDGES_MAX / 2];
    u16 half[HULL_EDGES_MAX / 2];
    u32 count;
} EdgeList;

/* Whether a normal between l and r can separate by more than `least`, given the heights of a
 * point of the other solid above the two faces. Between them n = (α l + β r)/|α l + β r|, so the
 * height along n is at most the larger one if that is negative, otherwise increased by the
 * cosine of half their angle. */
static bool arc_may_separate(Vec3 l, Vec3 r, f32 above_l, f32 above_r, f32 least)
{
    f32 above = f32_max(above_l, above_r);
    if (above <= 0.0f || least < 0.0f) {
        return above > least;
    }
    return above * above > least * least * (0.5f + 0.5f * vec3_dot(l, r));
}

/* The edges that may separate the solid from the other one by more than `least`, given one inner
 * point of it and a ball in it (core only). */
static void list_edges(const Solid *solid, const Solid *other, Vec3 point, f32 least,
                       EdgeList *list)
{
    const Hull *hull = solid->hull;
    f32 above_point[HULL_FACES_MAX], above_middle[HULL_FACES_MAX], ball;
    Vec3 middle = solid_middle(other, &ball);
    f32 rounding = 2.0f * (above_faces(solid, middle, above_middle) + ROUNDING * ball);
    f32 least_middle = least + ball - rounding;
    f32 least_point = least - 2.0f * above_faces(solid, point, above_point);
    if (solid->triangle) { /* has only one colliding face */
        above_point[1] = -above_point[0];
        above_middle[1] = -above_middle[0];
    }
    list->count = 0;
    for (u32 e = 0; e < hull->edge_count; e++) {
        const HalfEdge *edge = &hull->edges[e], *twin = &hull->edges[edge->twin];
        if (edge->twin < e) {
            continue;
        }
        u32 f = edge->face, g = twin->face;
        Vec3 left = hull->normals[f], right = hull->normals[g];
        if (!arc_may_separate(left, right, above_point[f], above_point[g], least_point) ||
            !arc_may_separate(left, right, above_middle[f], above_middle[g], least_middle)) {
            continue;
        }
        Vec3 from = hull->vertices[edge->origin], to = hull->vertices[twin->origin];
        if (!solid->triangle) {
            left = mat3_mul(solid->frame, left);
            right = mat3_mul(solid->frame, right);
            from = vec3_add(solid->centre, mat3_mul(solid->frame, from));
            to = vec3_add(solid->centre, mat3_mul(solid->frame, to));
        }
        u32 at = list->count++;
        list->from[at] = from;
        list->along[at] = vec3_sub(to, from);
        list->left[at] = left;
        list->right[at] = right;
        list->half[at] = (u16)e;
    }
}

/* Whether the arcs of the two edges cross on the Gauss map of a − b, so that their cross product
 * is a normal of it. The edges' directions represent the cross products of the normals. */
static bool arcs_cross(const EdgeList *a, u32 i, const EdgeList *b, u32 j, f32 *side)
{
    f32 c = -vec3_dot(b->left[j], a->along[i]), d = -vec3_dot(b->right[j], a->along[i]);
    if (!(c * d < 0.0f)) {
        return false;
    }
    f32 e = vec3_dot(a->left[i], b->along[j]), f = vec3_dot(a->right[i], b->along[j]);
    *side = c;
    return e * f < 0.0f && c * f > 0.0f;
}

/* The best pair of edges if it separates by more than `least`, otherwise any; false if one
 * separates by more than the margin. `faces` are the best axes of a's and b's faces. */
static bool best_edges(const Solid *a, const Solid *b, const FaceAxis faces[2], f32 least,
                       f32 margin, const Vec3 *front, EdgeAxis *best)
{
    EdgeList ea, eb;
    Vec3 of_b = faces[0].separation > -INFINITY ? faces[0].deepest : solid_support(b, vec3_zero());
    Vec3 of_a = faces[1].separation > -INFINITY ? faces[1].deepest : solid_support(a, vec3_zero());
    least = f32_min(least, margin);
    list_edges(a, b, of_b, least, &ea);
    list_edges(b, a, of_a, least, &eb);
    *best = (EdgeAxis){.separation = -INFINITY};
    for (u32 i = 0; i < ea.count; i++) {
        for (u32 j = 0; j < eb.count; j++) {
            f32 side;
            if (!arcs_cross(&ea, i, &eb, j, &side)) {
                continue;
            }
            Vec3 n = vec3_cross(ea.along[i], eb.along[j]);
            f32 n2 = vec3_length_squared(n);
            f32 scale = vec3_length_squared(ea.along[i]) * vec3_length_squared(eb.along[j]);
            if (n2 < 1e-6f * scale) {
                continue; /* parallel: equivalent to a face */
            }
            n = vec3_scale(n, 1.0f / sqrtf(n2));
            /* On the arc of −b's normals, so outwards from a. */
            if (vec3_dot(n, eb.left[j]) + vec3_dot(n, eb.right[j]) > 0.0f) {
                n = vec3_neg(n);
            }
            f32 separation = vec3_dot(n, vec3_sub(eb.from[j], ea.from[i]));
            if (separation > margin) {
                return false;
            }
            if (separation > best->separation &&
                !(front != NULL && vec3_dot(n, *front) < FRONT_COSINE)) {
                best->separation = separation;
                best->a = ea.half[i];
                best->b = eb.half[j];
                best->normal = n;
            }
        }
    }
    return true;
}

/* Nearest points of two lines; false if one of them lies outside its segment or they are parallel
 * (Ericson, Real-Time Collision Detection, 5.1.8). */
static bool nearest_of_lines(Vec3 p, Vec3 d1, Vec3 q, Vec3 d2, Vec3 *on_p, Vec3 *on_q)
{
    Vec3 r = vec3_sub(p, q);
    f32 a = vec3_dot(d1, d1), e = vec3_dot(d2, d2), f = vec3_dot(d2, r);
    f32 c = vec3_dot(d1, r), b = vec3_dot(d1, d2);
    f32 denominator = a * e - b * b;
    if (!(denominator > 1e-9f * a * e)) {
        return false;
    }
    f32 s = (b * f - c * e) / denominator, t = (a * f - b * c) / denominator;
    *on_p = vec3_add_scaled(p, s, d1);
    *on_q = vec3_add_scaled(q, t, d2);
    return s >= 0.0f && s <= 1.0f && t >= 0.0f && t <= 1.0f;
}

static void half_edge_line(const Solid *solid, u32 half, Vec3 *from, Vec3 *along)
{
    const Hull *hull = solid->hull;
    Vec3 p = hull->vertices[hull->edges[half].origin];
    Vec3 q = hull->vertices[hull->edges[hull->edges[half].twin].origin];
    Vec3 d = vec3_sub(q, p);
    *from = solid->triangle ? p : vec3_add(solid->centre, mat3_mul(solid->frame, p));
    *along = solid->triangle ? d : mat3_mul(solid->frame, d);
}

static void single_point(Vec3 normal, Vec3 on_a, Vec3 on_b, f32 separation, u32 feature,
                         Manifold *manifold)
{
    manifold->normal = normal;
    manifold->count = 1;
    manifold->points[0] = (ManifoldPoint){
        .position = vec3_lerp(on_a, on_b, 0.5f), .separation = separation, .feature = feature};
}

/* False if the edges' nearest points are beyond their ends: then a corner touches instead. */
static bool edge_contact(const Solid *a, const Solid *b, const EdgeAxis *axis, Manifold *manifold)
{
    Vec3 p, q, along_p, along_q, on_p, on_q;
    half_edge_line(a, axis->a, &p, &along_p);
    half_edge_line(b, axis->b, &q, &along_q);
    if (!nearest_of_lines(p, along_p, q, along_q, &on_p, &on_q)) {
        return false;
    }
    single_point(axis->normal, on_p, on_q, axis->separation, 1u << 29 | axis->a << 9 | axis->b,
                 manifold);
    return true;
}

/* ---- round solids ---- */

/* Two nearly parallel lines (within about 6°) touch at the ends of their common part. */
static bool line_contact(const Solid *a, const Solid *b, const GjkResult *r, f32 margin,
                         Manifold *manifold)
{
    Polygon p, q;
    solid_feature(a, r->normal, &p);
    solid_feature(b, vec3_neg(r->normal), &q);
    if (p.count != 2 || q.count != 2) {
        return false;
    }
    Vec3 d1 = vec3_sub(p.corners[1], p.corners[0]), d2 = vec3_sub(q.corners[1], q.corners[0]);
    f32 l1 = vec3_length(d1), l2 = vec3_length(d2);
    if (!(l1 > 0.0f && l2 > 0.0f) || fabsf(vec3_dot(d1, d2)) < 0.995f * l1 * l2) {
        return false;
    }
    /* The lines must be perpendicular to the normal: a leaning side touches with its end. */
    if (fabsf(vec3_dot(d1, r->normal)) > 0.1f * l1 || fabsf(vec3_dot(d2, r->normal)) > 0.1f * l2) {
        return false;
    }
    Vec3 axis = vec3_scale(d1, 1.0f / l1);
    f32 t0 = vec3_dot(vec3_sub(q.corners[0], p.corners[0]), axis);
    f32 t1 = vec3_dot(vec3_sub(q.corners[1], p.corners[0]), axis);
    f32 low = f32_max(0.0f, f32_min(t0, t1)), high = f32_min(l1, f32_max(t0, t1));
    if (high - low < 0.05f * f32_min(l1, l2)) {
        return false;
    }
    manifold->normal = r->normal;
    for (u32 i = 0; i < 2; i++) {
        f32 t = i == 0 ? low : high;
        Vec3 on_p = vec3_add_scaled(p.corners[0], t, axis);
        Vec3 on_q = vec3_add_scaled(q.corners[0], (t - t0) / (t1 - t0), d2);
        on_p = vec3_add_scaled(on_p, a->round, r->normal);
        on_q = vec3_add_scaled(on_q, -b->round, r->normal);
        f32 separation = vec3_dot(vec3_sub(on_q, on_p), r->normal);
        if (separation < margin) {
            ManifoldPoint *point = &manifold->points[manifold->count++];
            *point = (ManifoldPoint){.position = vec3_lerp(on_p, on_q, 0.5f),
                                     .separation = separation,
                                     .feature = 1u << 30 | p.id << 12 | q.id << 4 | i};
        }
    }
    return manifold->count > 0;
}

/* The point of the solid's axis (for a polytope: its centre) nearest to p. */
static Vec3 nearest_on_axis(const Solid *solid, Vec3 p)
{
    f32 radius;
    if (solid->kind == SOLID_POLYTOPE || solid->kind == SOLID_POINT) {
        return solid_middle(solid, &radius);
    }
    f32 h = solid->half_height;
    f32 along = vec3_dot(solid->frame.y, vec3_sub(p, solid->centre));
    return vec3_add_scaled(solid->centre, f32_clamp(along, -h, h), solid->frame.y);
}

/* The best of the faces' axes and the vector from axis to axis. */
static Vec3 likely_axis(const Solid *a, const Solid *b, const FaceAxis faces[2])
{
    f32 radius;
    Vec3 on_b = nearest_on_axis(b, solid_middle(a, &radius)), on_a = nearest_on_axis(a, on_b);
    on_b = nearest_on_axis(b, on_a);
    Vec3 n = vec3_normalize_or(vec3_sub(on_b, on_a), vec3(0.0f, 1.0f, 0.0f));
    Vec3 low = solid_support(b, vec3_neg(n)), high = solid_support(a, n);
    f32 most = vec3_dot(n, vec3_sub(low, high)) - a->round - b->round;
    for (u32 i = 0; i < 2; i++) {
        if (faces[i].separation > most) {
            most = faces[i].separation;
            n = i == 0 ? faces[i].normal : vec3_neg(faces[i].normal);
        }
    }
    return n;
}

/* The separation and its axis; false: more than the margin. */
static bool solids_separation(const Solid *a, const Solid *b, const FaceAxis faces[2], f32 margin,
                              GjkResult *r)
{
    Vec3 hint = likely_axis(a, b, faces);
    CurveTouch touch =
        manifold_curves(a, b, hint, SHALLOW_SIZE * f32_min(a->extent, b->extent), margin, r);
    if (touch != CURVES_UNKNOWN) {
        return touch == CURVES_PROVED;
    }
    if (!a->triangle) {
        return gjk_separation(&a->pose, &b->pose, margin, r);
    }
    if (!gjk_separation_triangle(&b->pose, a->hull->vertices, margin, r)) {
        return false;
    }
    Vec3 on = r->on_a;
    r->on_a = r->on_b;
    r->on_b = on;
    r->normal = vec3_neg(r->normal);
    return true;
}

void manifold_solids(const Solid *a, const Solid *b, f32 margin, Manifold *manifold)
{
    FaceAxis faces[2];
    /* b's faces that would push it behind a triangle are skipped. */
    const Vec3 *front = a->triangle ? &a->hull->normals[0] : NULL;
    if (!best_face(a, b, margin, NULL, &faces[0]) || !best_face(b, a, margin, front, &faces[1])) {
        return;
    }
    f32 bias = f32_min(AXIS_BIAS_M, AXIS_BIAS_SIZE * f32_min(a->extent, b->extent));
    bool swapped = faces[1].separation > faces[0].separation + bias;
    const Solid *solid = swapped ? b : a, *other = swapped ? a : b;
    const FaceAxis *best = &faces[swapped ? 1 : 0];
    bool has_face = best->separation > -INFINITY;
    if (has_face && face_is_nearest(solid, best) &&
        face_contact(solid, other, best, swapped, margin, manifold) &&
        reaches(manifold, best->separation + bias)) {
        return;
    }
    manifold->count = 0;
    if (a->kind == SOLID_POLYTOPE && b->kind == SOLID_POLYTOPE && best->separation <= 0.0f) {
        EdgeAxis edges;
        if (!best_edges(a, b, faces, best->separation + bias, margin, front, &edges)) {
            return;
        }
        bool edge = edges.separation > best->separation + bias;
        if (edge ? edge_contact(a, b, &edges, manifold)
                 : face_contact(solid, other, best, swapped, margin, manifold)) {
            return;
        }
    }
    GjkResult r;
    if (!solids_separation(a, b, faces, margin, &r)) {
        return;
    }
    if (front != NULL && vec3_dot(r.normal, *front) < FRONT_COSINE) {
        if (has_face) {
            face_contact(solid, other, best, swapped, margin, manifold);
        }
        return;
    }
    /* A face or a line, unless the deepest point lies beside it. */
    f32 deep = r.separation + bias;
    if (has_face && best->separation > r.separation - bias &&
        face_contact(solid, other, best, swapped, margin, manifold) && reaches(manifold, deep)) {
        return;
    }
    manifold->count = 0;
    if (line_contact(a, b, &r, margin, manifold) && reaches(manifold, deep)) {
        return;
    }
    single_point(r.normal, r.on_a, r.on_b, r.separation, 3u << 29, manifold);
}

/* Any two convex shapes, with the origin at the first. */
void manifold_convex(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifold)
{
    Solid one, other;
    solid_set(&one, a->shape, vec3_zero(), a->orientation);
    solid_set(&other, b->shape, vec3_sub(b->position, a->position), b->orientation);
    manifold_solids(&one, &other, margin, manifold);
    for (u32 i = 0; i < manifold->count; i++) {
        manifold->points[i].position = vec3_add(a->position, manifold->points[i].position);
    }
}
