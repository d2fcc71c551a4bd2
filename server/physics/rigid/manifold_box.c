/*
 * manifold_box.c: boxes against boxes and capsules.
 * Method: separating axes (15 of them, faces preferred so that contacts do not flicker), then the
 * incident face is clipped by the reference face (Gottschalk 1996; Gregorius, GDC 2013).
 */
#include "server/physics/rigid/manifold_solid.h"

/* An edge axis must be better than a face axis by this (m), and the second box's face than the
 * first's. */
#define AXIS_BIAS_M 0.002f

enum {
    CLIP_MAX = 8
};

static inline f32 component(Vec3 v, u32 axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}
static inline Vec3 column(const Mat3 *m, u32 axis)
{
    return axis == 0 ? m->x : axis == 1 ? m->y : m->z;
}

typedef struct BoxPair {
    const ShapePose *body[2];
    Mat3 frame[2];
    Vec3 half[2];
    Vec3 offset;    /* from the centre of 0 to that of 1, world */
    f32 dots[3][3]; /* |axis i of 0 · axis j of 1| */
} BoxPair;

typedef struct AxisFound {
    f32 separation;
    u32 box, i, j; /* box 0 or 1: face i of it; 2: edges i and j */
    Vec3 normal;   /* from 0 to 1 */
} AxisFound;

static bool face_axes(const BoxPair *pair, u32 box, f32 margin, AxisFound *found)
{
    found->separation = -1e30f;
    for (u32 i = 0; i < 3; i++) {
        Vec3 axis = column(&pair->frame[box], i);
        f32 along = vec3_dot(pair->offset, axis);
        f32 reach = component(pair->half[box], i);
        for (u32 j = 0; j < 3; j++) {
            f32 dot = box == 0 ? pair->dots[i][j] : pair->dots[j][i];
            reach += component(pair->half[1 - box], j) * dot;
        }
        f32 separation = fabsf(along) - reach;
        if (separation > margin) {
            return false;
        }
        if (separation > found->separation) {
            found->separation = separation;
            found->box = box;
            found->i = i;
            found->j = 0;
            found->normal = along < 0.0f ? vec3_neg(axis) : axis;
        }
    }
    return true;
}

static bool edge_axes(const BoxPair *pair, f32 margin, AxisFound *found)
{
    found->separation = -1e30f;
    for (u32 i = 0; i < 3; i++) {
        for (u32 j = 0; j < 3; j++) {
            Vec3 axis = vec3_cross(column(&pair->frame[0], i), column(&pair->frame[1], j));
            f32 length = vec3_length(axis);
            if (length < 1e-3f) {
                continue; /* parallel edges: a face axis says the same */
            }
            axis = vec3_scale(axis, 1.0f / length);
            f32 along = vec3_dot(pair->offset, axis);
            f32 reach = 0.0f;
            for (u32 k = 0; k < 3; k++) {
                reach +=
                    component(pair->half[0], k) * fabsf(vec3_dot(column(&pair->frame[0], k), axis));
                reach +=
                    component(pair->half[1], k) * fabsf(vec3_dot(column(&pair->frame[1], k), axis));
            }
            f32 separation = fabsf(along) - reach;
            if (separation > margin) {
                return false;
            }
            if (separation > found->separation) {
                found->separation = separation;
                found->box = 2;
                found->i = i;
                found->j = j;
                found->normal = along < 0.0f ? vec3_neg(axis) : axis;
            }
        }
    }
    return true;
}

/* A corner of the polygon in the reference face's frame: u and v in the face, w above it. The
 * labels of the edges that meet in it name it: 0..3 edges of the incident face, 4..7 of the
 * reference face. */
typedef struct ClipVertex {
    f32 u, v, w;
    u32 in, out;
} ClipVertex;

static u32 clip(const ClipVertex *from, u32 count, ClipVertex *to, u32 along_v, f32 sign, f32 limit,
                u32 label)
{
    u32 n = 0;
    for (u32 k = 0; k < count; k++) {
        const ClipVertex *a = &from[k], *b = &from[k + 1 < count ? k + 1 : 0];
        f32 da = sign * (along_v ? a->v : a->u) - limit;
        f32 db = sign * (along_v ? b->v : b->u) - limit;
        if (da <= 0.0f && n < CLIP_MAX) {
            to[n++] = *a;
        }
        if ((da <= 0.0f) != (db <= 0.0f) && n < CLIP_MAX) {
            f32 t = da / (da - db);
            ClipVertex *x = &to[n++];
            x->u = a->u + t * (b->u - a->u);
            x->v = a->v + t * (b->v - a->v);
            x->w = a->w + t * (b->w - a->w);
            x->in = da <= 0.0f ? a->out : label;
            x->out = da <= 0.0f ? label : a->out;
        }
    }
    return n;
}

/* Keeps the deepest point, the farthest from it, and the two that span the most on either side. */
static void reduce(const ManifoldPoint *points, u32 count, Vec3 normal, Manifold *manifold)
{
    if (count <= MANIFOLD_POINTS) {
        for (u32 i = 0; i < count; i++) {
            manifold->points[manifold->count++] = points[i];
        }
        return;
    }
    u32 chosen[4] = {0, 0, 0, 0};
    for (u32 i = 1; i < count; i++) {
        if (points[i].separation < points[chosen[0]].separation) {
            chosen[0] = i;
        }
    }
    f32 best = -1.0f;
    for (u32 i = 0; i < count; i++) {
        Vec3 d = vec3_sub(points[i].position, points[chosen[0]].position);
        if (vec3_dot(d, d) > best) {
            best = vec3_dot(d, d);
            chosen[1] = i;
        }
    }
    f32 high = 0.0f, low = 0.0f;
    u32 found = 2, high_at = count, low_at = count;
    Vec3 edge = vec3_sub(points[chosen[1]].position, points[chosen[0]].position);
    for (u32 i = 0; i < count; i++) {
        Vec3 d = vec3_sub(points[i].position, points[chosen[0]].position);
        f32 area = vec3_dot(vec3_cross(edge, d), normal);
        if (i == chosen[0] || i == chosen[1]) {
            continue;
        }
        if (area > high) {
            high = area;
            high_at = i;
        } else if (area < low) {
            low = area;
            low_at = i;
        }
    }
    if (high_at < count) {
        chosen[found++] = high_at;
    }
    if (low_at < count) {
        chosen[found++] = low_at;
    }
    for (u32 i = 0; i < found; i++) {
        manifold->points[manifold->count++] = points[chosen[i]];
    }
}

static void face_contact(const BoxPair *pair, const AxisFound *axis, f32 margin, Manifold *manifold)
{
    u32 r = axis->box, other = 1 - r;
    const Mat3 *frame = &pair->frame[r], *incident = &pair->frame[other];
    Vec3 half = pair->half[r], reach = pair->half[other];
    Vec3 n = r == 0 ? axis->normal : vec3_neg(axis->normal); /* out of the reference box */
    u32 iu = axis->i == 0 ? 1 : 0, iv = axis->i == 2 ? 1 : 2;
    Vec3 u = column(frame, iu), v = column(frame, iv);

    /* The incident face is the one that looks most against n. */
    u32 face = 0;
    f32 most = 0.0f;
    for (u32 j = 0; j < 3; j++) {
        f32 dot = vec3_dot(column(incident, j), n);
        if (fabsf(dot) > fabsf(most)) {
            most = dot;
            face = j;
        }
    }
    u32 is = face == 0 ? 1 : 0, it = face == 2 ? 1 : 2;
    Vec3 centre = vec3_add_scaled(pair->body[other]->position,
                                  most > 0.0f ? -component(reach, face) : component(reach, face),
                                  column(incident, face));
    Vec3 s = vec3_scale(column(incident, is), component(reach, is));
    Vec3 t = vec3_scale(column(incident, it), component(reach, it));
    ClipVertex polygon[CLIP_MAX], clipped[CLIP_MAX];
    static const f32 signs[4][2] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
    Vec3 origin = vec3_add_scaled(pair->body[r]->position, component(half, axis->i), n);
    for (u32 k = 0; k < 4; k++) {
        Vec3 p = vec3_add_scaled(vec3_add_scaled(centre, signs[k][0], s), signs[k][1], t);
        Vec3 d = vec3_sub(p, origin);
        polygon[k] = (ClipVertex){vec3_dot(d, u), vec3_dot(d, v), vec3_dot(d, n), (k + 3) & 3, k};
    }
    u32 count = clip(polygon, 4, clipped, 0, 1.0f, component(half, iu), 4);
    count = clip(clipped, count, polygon, 0, -1.0f, component(half, iu), 5);
    count = clip(polygon, count, clipped, 1, 1.0f, component(half, iv), 6);
    count = clip(clipped, count, polygon, 1, -1.0f, component(half, iv), 7);

    ManifoldPoint points[CLIP_MAX];
    u32 kept = 0;
    u32 faces = (r * 3 + axis->i) << 16 | face << 12 | (most > 0.0f ? 1u << 11 : 0u);
    for (u32 k = 0; k < count; k++) {
        if (!(polygon[k].w < margin)) {
            continue;
        }
        Vec3 p = vec3_add_scaled(vec3_add_scaled(origin, polygon[k].u, u), polygon[k].v, v);
        points[kept] = (ManifoldPoint){.position = vec3_add_scaled(p, 0.5f * polygon[k].w, n),
                                       .separation = polygon[k].w,
                                       .feature = faces | polygon[k].in << 4 | polygon[k].out};
        kept++;
    }
    manifold->normal = axis->normal;
    reduce(points, kept, n, manifold);
}

/* The edges' nearest points: each edge is the one farthest along the normal. */
static bool edge_contact(const BoxPair *pair, const AxisFound *axis, Manifold *manifold)
{
    Vec3 on[2], direction[2];
    u32 index[2] = {axis->i, axis->j}, sides = 0;
    for (u32 b = 0; b < 2; b++) {
        Vec3 n = b == 0 ? axis->normal : vec3_neg(axis->normal);
        on[b] = pair->body[b]->position;
        direction[b] = column(&pair->frame[b], index[b]);
        for (u32 k = 0; k < 3; k++) {
            if (k == index[b]) {
                continue;
            }
            bool up = vec3_dot(column(&pair->frame[b], k), n) > 0.0f;
            f32 half = component(pair->half[b], k);
            on[b] = vec3_add_scaled(on[b], up ? half : -half, column(&pair->frame[b], k));
            sides = sides << 1 | (up ? 1u : 0u);
        }
    }
    Vec3 d = vec3_sub(on[1], on[0]);
    f32 dot = vec3_dot(direction[0], direction[1]);
    f32 denominator = 1.0f - dot * dot;
    f32 a = vec3_dot(d, direction[0]), b = vec3_dot(d, direction[1]);
    f32 s = denominator > 1e-6f ? (a - dot * b) / denominator : 0.0f;
    f32 t = denominator > 1e-6f ? (dot * a - b) / denominator : 0.0f;
    if (fabsf(s) > component(pair->half[0], axis->i) ||
        fabsf(t) > component(pair->half[1], axis->j)) {
        return false; /* they pass each other beyond their ends: a corner touches */
    }
    Vec3 p = vec3_add_scaled(on[0], s, direction[0]);
    Vec3 q = vec3_add_scaled(on[1], t, direction[1]);
    manifold->normal = axis->normal;
    manifold->count = 1;
    manifold->points[0] =
        (ManifoldPoint){.position = vec3_lerp(p, q, 0.5f),
                        .separation = axis->separation,
                        .feature = 1u << 24 | (axis->i * 3 + axis->j) << 8 | sides};
    return true;
}

void manifold_box_box(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifold)
{
    BoxPair pair = {.body = {a, b}, .half = {a->shape->half, b->shape->half}};
    pair.frame[0] = mat3_from_quat(a->orientation);
    pair.frame[1] = mat3_from_quat(b->orientation);
    pair.offset = vec3_sub(b->position, a->position);
    for (u32 i = 0; i < 3; i++) {
        for (u32 j = 0; j < 3; j++) {
            pair.dots[i][j] = fabsf(vec3_dot(column(&pair.frame[0], i), column(&pair.frame[1], j)));
        }
    }
    AxisFound best = {0}, second = {0}, edge = {0};
    if (!face_axes(&pair, 0, margin, &best) || !face_axes(&pair, 1, margin, &second) ||
        !edge_axes(&pair, margin, &edge)) {
        return;
    }
    if (second.separation > best.separation + AXIS_BIAS_M) {
        best = second;
    }
    if (edge.separation > best.separation + AXIS_BIAS_M) {
        if (!edge_contact(&pair, &edge, manifold)) {
            manifold_convex(a, b, margin, manifold);
        }
        return;
    }
    face_contact(&pair, &best, margin, manifold);
}

/* ---- box and capsule ---- */

/* Half the derivative of the squared distance from the box at p + t d. */
static f32 distance_slope(Vec3 p, Vec3 d, Vec3 h, f32 t)
{
    f32 slope = 0.0f;
    for (u32 i = 0; i < 3; i++) {
        f32 x = component(p, i) + t * component(d, i), limit = component(h, i);
        f32 outside = x > limit ? x - limit : x < -limit ? x + limit : 0.0f;
        slope += outside * component(d, i);
    }
    return slope;
}

/* Parameter of the point of p + t d, t in [0, 1], that is nearest to the box: the slope is
 * piecewise linear and rises, so its root lies between two of at most six kinks. */
static f32 nearest_parameter(Vec3 p, Vec3 d, Vec3 h)
{
    f32 kinks[8];
    u32 count = 0;
    kinks[count++] = 0.0f;
    for (u32 i = 0; i < 3; i++) {
        for (u32 side = 0; side < 2; side++) {
            f32 di = component(d, i);
            if (fabsf(di) < 1e-9f) {
                continue;
            }
            f32 t = ((side ? component(h, i) : -component(h, i)) - component(p, i)) / di;
            if (t > 0.0f && t < 1.0f) {
                u32 at = count++;
                for (; at > 0 && kinks[at - 1] > t; at--) {
                    kinks[at] = kinks[at - 1];
                }
                kinks[at] = t;
            }
        }
    }
    kinks[count++] = 1.0f;
    f32 before = distance_slope(p, d, h, 0.0f);
    if (before > 0.0f) {
        return 0.0f;
    }
    for (u32 k = 1; k < count; k++) {
        f32 after = distance_slope(p, d, h, kinks[k]);
        if (after > 0.0f) {
            f32 share = -before / (after - before);
            return kinks[k - 1] + share * (kinks[k] - kinks[k - 1]);
        }
        before = after;
    }
    /* All inside or level from some point on: the middle of the level stretch. */
    u32 first = count - 1;
    while (first > 0 && distance_slope(p, d, h, kinks[first - 1]) >= 0.0f) {
        first--;
    }
    return 0.5f * (kinks[first] + 1.0f);
}

/* The capsule's axis lies over face `axis`: the ends of its part over the face touch. */
static bool capsule_over_face(const ShapePose *box, Vec3 p, Vec3 d, f32 radius, u32 axis, f32 side,
                              f32 margin, Manifold *manifold)
{
    f32 low = 0.0f, high = 1.0f;
    for (u32 i = 0; i < 3; i++) {
        if (i == axis) {
            continue;
        }
        f32 x = component(p, i), di = component(d, i), limit = component(box->shape->half, i);
        if (fabsf(di) < 1e-9f) {
            if (fabsf(x) > limit) {
                return false;
            }
            continue;
        }
        f32 t0 = (-limit - x) / di, t1 = (limit - x) / di;
        low = f32_max(low, f32_min(t0, t1));
        high = f32_min(high, f32_max(t0, t1));
    }
    if (low > high) {
        return false;
    }
    Vec3 n = vec3(axis == 0 ? side : 0.0f, axis == 1 ? side : 0.0f, axis == 2 ? side : 0.0f);
    manifold->normal = quat_rotate(box->orientation, n);
    for (u32 k = 0; k < 2; k++) {
        Vec3 q = vec3_add_scaled(p, k == 0 ? low : high, d);
        f32 separation = side * component(q, axis) - component(box->shape->half, axis) - radius;
        if (!(separation < margin)) {
            continue;
        }
        ManifoldPoint *point = &manifold->points[manifold->count++];
        Vec3 local = vec3_add_scaled(q, -(radius + 0.5f * separation), n);
        *point = (ManifoldPoint){
            .position = vec3_add(box->position, quat_rotate(box->orientation, local)),
            .separation = separation,
            .feature = 1u << 8 | (axis * 2 + (side > 0.0f ? 1u : 0u)) << 4 | k};
    }
    return manifold->count > 0;
}

void manifold_box_capsule(const ShapePose *box, const ShapePose *capsule, f32 margin,
                          Manifold *manifold)
{
    Vec3 h = box->shape->half;
    f32 radius = capsule->shape->radius;
    Vec3 along = quat_rotate(capsule->orientation, vec3(0.0f, capsule->shape->half_height, 0.0f));
    Vec3 end = vec3_sub(vec3_sub(capsule->position, along), box->position);
    Vec3 p = quat_rotate_inverse(box->orientation, end);
    Vec3 d = quat_rotate_inverse(box->orientation, vec3_scale(along, 2.0f));
    Vec3 q = vec3_add_scaled(p, nearest_parameter(p, d, h), d);
    Vec3 on = vec3(f32_clamp(q.x, -h.x, h.x), f32_clamp(q.y, -h.y, h.y), f32_clamp(q.z, -h.z, h.z));
    Vec3 away = vec3_sub(q, on);
    f32 distance = vec3_length(away);
    if (distance - radius > margin) {
        return;
    }
    u32 axis = 0;
    if (distance > 1e-5f) {
        Vec3 n = vec3_scale(away, 1.0f / distance);
        for (u32 i = 1; i < 3; i++) {
            axis = fabsf(component(n, i)) > fabsf(component(n, axis)) ? i : axis;
        }
        f32 side = component(n, axis) > 0.0f ? 1.0f : -1.0f;
        if (fabsf(component(n, axis)) > 0.9999f &&
            capsule_over_face(box, p, d, radius, axis, side, margin, manifold)) {
            return;
        }
        f32 separation = distance - radius;
        Vec3 local = vec3_add_scaled(on, 0.5f * separation, n);
        manifold->count = 1;
        manifold->normal = quat_rotate(box->orientation, n);
        manifold->points[0] = (ManifoldPoint){
            .position = vec3_add(box->position, quat_rotate(box->orientation, local)),
            .separation = separation};
        return;
    }
    /* The axis cuts the box. */
    manifold_convex(box, capsule, margin, manifold);
}
