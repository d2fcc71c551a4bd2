/*
 * manifold_box.c: boxes against boxes and capsules.
 * Method: separating axis test (15 axes, with a preference for faces so that contacts do not
 * flicker), then the incident face is clipped against the reference face (Gottschalk 1996;
 * Gregorius, GDC 2013).
 */
#include "server/physics/rigid/narrow/manifold_solid.h"

/* An edge axis must be better than a face axis by this (m), and the second box's face than the
 * first's. */
#define AXIS_BIAS_M 0.002f

/* Clipping planes are this much farther out than the face's sides: equal boxes on each other
 * keep their corners as contacts, whatever the rounding. */
#define CLIP_REACH 1.005f
/* A point must be farther than an earlier one by this factor to replace it. */
#define CHOICE     1.02f

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

/* All data is in the axes of the two boxes: r[i][j] is axis i of box 0 · axis j of box 1,
 * offset[b] points from box 0 to box 1 in the axes of box b. */
typedef struct BoxPair {
    const ShapePose *body[2];
    Mat3 frame[2];
    f32 half[2][3];
    f32 offset[2][3];
    f32 r[3][3], abs_r[3][3];
} BoxPair;

typedef struct AxisFound {
    f32 separation;
    u32 box, i, j; /* box 0 or 1: face i of it; 2: edges i and j */
    bool negative; /* the axis points from 1 to 0 */
} AxisFound;

static void pair_set(BoxPair *pair, const ShapePose *a, const ShapePose *b)
{
    pair->body[0] = a;
    pair->body[1] = b;
    Vec3 offset = vec3_sub(b->position, a->position);
    for (u32 k = 0; k < 2; k++) {
        const ShapePose *body = pair->body[k];
        pair->frame[k] = mat3_from_quat(body->orientation);
        pair->half[k][0] = body->shape->half.x;
        pair->half[k][1] = body->shape->half.y;
        pair->half[k][2] = body->shape->half.z;
        pair->offset[k][0] = vec3_dot(offset, pair->frame[k].x);
        pair->offset[k][1] = vec3_dot(offset, pair->frame[k].y);
        pair->offset[k][2] = vec3_dot(offset, pair->frame[k].z);
    }
    for (u32 i = 0; i < 3; i++) {
        Vec3 axis = column(&pair->frame[0], i);
        pair->r[i][0] = vec3_dot(axis, pair->frame[1].x);
        pair->r[i][1] = vec3_dot(axis, pair->frame[1].y);
        pair->r[i][2] = vec3_dot(axis, pair->frame[1].z);
        for (u32 j = 0; j < 3; j++) {
            pair->abs_r[i][j] = fabsf(pair->r[i][j]);
        }
    }
}

/* The best of a box's three face axes; false if one separates by more than the margin. */
static bool face_axes(const BoxPair *pair, u32 box, f32 margin, AxisFound *found)
{
    const f32 *other = pair->half[1 - box];
    found->separation = -INFINITY;
    found->box = box;
    found->i = found->j = 0; /* also if every number is NaN */
    for (u32 i = 0; i < 3; i++) {
        f32 reach = box == 0 ? other[0] * pair->abs_r[i][0] + other[1] * pair->abs_r[i][1] +
                                   other[2] * pair->abs_r[i][2]
                             : other[0] * pair->abs_r[0][i] + other[1] * pair->abs_r[1][i] +
                                   other[2] * pair->abs_r[2][i];
        f32 separation = fabsf(pair->offset[box][i]) - (pair->half[box][i] + reach);
        if (separation > found->separation) {
            found->separation = separation;
            found->i = i;
        }
    }
    found->negative = pair->offset[box][found->i] < 0.0f;
    return !(found->separation > margin);
}

/* If two axes are parallel, all nine cross products are parallel to face normals: edges cannot
 * beat a face by the bias. */
static bool axes_are_parallel(const BoxPair *pair)
{
    f32 most = 0.0f, size = 0.0f;
    for (u32 i = 0; i < 3; i++) {
        most = f32_max(most,
                       f32_max(pair->abs_r[i][0], f32_max(pair->abs_r[i][1], pair->abs_r[i][2])));
        size = f32_max(size, f32_max(pair->half[0][i], pair->half[1][i]));
    }
    return 8.0f * (1.0f - most) * size * size < AXIS_BIAS_M * AXIS_BIAS_M;
}

/* The best of the nine cross products. Of axis i of box 0 and axis j of box 1 it has the components
 * −r[i2][j] along axis i1 and r[i1][j] along axis i2. */
static bool edge_axes(const BoxPair *pair, f32 margin, AxisFound *found)
{
    const f32 *a = pair->half[0], *b = pair->half[1], *t = pair->offset[0];
    f32 separations[9], alongs[9];
    for (u32 i = 0; i < 3; i++) {
        u32 i1 = i < 2 ? i + 1 : 0, i2 = i > 0 ? i - 1 : 2;
        const f32 *r1 = pair->r[i1], *r2 = pair->r[i2], *q = pair->abs_r[i];
        const f32 *q1 = pair->abs_r[i1], *q2 = pair->abs_r[i2];
        f32 cross[3] = {b[1] * q[2] + b[2] * q[1], b[2] * q[0] + b[0] * q[2],
                        b[0] * q[1] + b[1] * q[0]};
        for (u32 j = 0; j < 3; j++) {
            f32 along = t[i2] * r1[j] - t[i1] * r2[j];
            f32 reach = a[i1] * q2[j] + a[i2] * q1[j] + cross[j];
            f32 length2 = r1[j] * r1[j] + r2[j] * r2[j]; /* 1 − r² would be rounding error only */
            alongs[3 * i + j] = along;
            /* Parallel edges: equivalent to a face axis. */
            separations[3 * i + j] =
                length2 < 1e-6f ? -INFINITY : (fabsf(along) - reach) / sqrtf(length2);
        }
    }
    u32 best = 0;
    for (u32 k = 1; k < 9; k++) {
        best = separations[k] > separations[best] ? k : best;
    }
    found->separation = separations[best];
    found->box = 2;
    found->i = best / 3;
    found->j = best % 3;
    found->negative = alongs[best] < 0.0f;
    return !(found->separation > margin);
}

/* ---- a face of one box against the nearest face of the other ---- */

/* A corner of the polygon in the reference face's frame: u and v in the face, w above it. It is
 * identified by the labels of its two edges: 0..3 edges of the incident face, 4..7 of the
 * reference face. */
typedef struct ClipVertex {
    f32 x[3]; /* u, v, w */
    u8 in, out;
} ClipVertex;

/* Keeps the part with sign × x[axis] ≤ limit. */
static u32 clip(const ClipVertex *from, u32 count, ClipVertex *to, u32 axis, f32 sign, f32 limit,
                u8 label)
{
    u32 n = 0;
    const ClipVertex *a = &from[count - 1];
    f32 da = sign * a->x[axis] - limit;
    for (u32 k = 0; k < count; k++) {
        const ClipVertex *b = &from[k];
        f32 db = sign * b->x[axis] - limit;
        if ((da <= 0.0f) != (db <= 0.0f) && n < CLIP_MAX) {
            f32 t = da / (da - db);
            ClipVertex *x = &to[n++];
            x->x[0] = a->x[0] + t * (b->x[0] - a->x[0]);
            x->x[1] = a->x[1] + t * (b->x[1] - a->x[1]);
            x->x[2] = a->x[2] + t * (b->x[2] - a->x[2]);
            x->in = da <= 0.0f ? a->out : label;
            x->out = da <= 0.0f ? label : a->out;
        }
        if (db <= 0.0f && n < CLIP_MAX) {
            to[n++] = *b;
        }
        a = b;
        da = db;
    }
    return n;
}

/* Clips by those sides of the rectangle ±limits that are exceeded. Returns the buffer with the
 * result. */
static ClipVertex *clip_to_rectangle(ClipVertex *polygon, ClipVertex *spare, u32 *count,
                                     const f32 limits[2])
{
    for (u32 axis = 0; axis < 2 && *count > 0; axis++) {
        f32 low = polygon[0].x[axis], high = low;
        for (u32 k = 1; k < *count; k++) {
            low = f32_min(low, polygon[k].x[axis]);
            high = f32_max(high, polygon[k].x[axis]);
        }
        if (high > limits[axis]) {
            *count = clip(polygon, *count, spare, axis, 1.0f, limits[axis], (u8)(4 + 2 * axis));
            ClipVertex *swap = polygon;
            polygon = spare;
            spare = swap;
        }
        if (low < -limits[axis] && *count > 0) {
            *count = clip(polygon, *count, spare, axis, -1.0f, limits[axis], (u8)(5 + 2 * axis));
            ClipVertex *swap = polygon;
            polygon = spare;
            spare = swap;
        }
    }
    return polygon;
}

/* From more than four points: the deepest and outermost one (approximately), the farthest from
 * it, and the two that span most to either side (manifold_reduce, in the plane). */
static u32 pick_four(ClipVertex *v, u32 count)
{
    f32 deepest = v[0].x[2], shallowest = deepest, mu = 0.0f, mv = 0.0f;
    for (u32 k = 0; k < count; k++) {
        deepest = f32_min(deepest, v[k].x[2]);
        shallowest = f32_max(shallowest, v[k].x[2]);
        mu += v[k].x[0];
        mv += v[k].x[1];
    }
    mu /= (f32)count;
    mv /= (f32)count;
    f32 below = deepest + f32_max(0.05f * (shallowest - deepest), 0.5f * AXIS_BIAS_M);
    u32 first = 0, second = 0, high_at = count, low_at = count;
    f32 most = -1.0f;
    for (u32 k = 0; k < count; k++) {
        f32 du = v[k].x[0] - mu, dv = v[k].x[1] - mv, d = du * du + dv * dv;
        if (v[k].x[2] <= below && d > CHOICE * most) {
            most = d;
            first = k;
        }
    }
    most = -1.0f;
    for (u32 k = 0; k < count; k++) {
        f32 du = v[k].x[0] - v[first].x[0], dv = v[k].x[1] - v[first].x[1];
        f32 d = du * du + dv * dv;
        if (d > CHOICE * most) {
            most = d;
            second = k;
        }
    }
    f32 eu = v[second].x[0] - v[first].x[0], ev = v[second].x[1] - v[first].x[1];
    f32 high = 0.0f, low = 0.0f;
    for (u32 k = 0; k < count; k++) {
        f32 area = eu * (v[k].x[1] - v[first].x[1]) - ev * (v[k].x[0] - v[first].x[0]);
        if (area > CHOICE * high) {
            high = area;
            high_at = k;
        } else if (area < CHOICE * low) {
            low = area;
            low_at = k;
        }
    }
    ClipVertex chosen[4] = {v[first], v[second]};
    u32 n = 2;
    if (high_at < count) {
        chosen[n++] = v[high_at];
    }
    if (low_at < count) {
        chosen[n++] = v[low_at];
    }
    for (u32 k = 0; k < n; k++) {
        v[k] = chosen[k];
    }
    return n;
}

static void face_contact(const BoxPair *pair, const AxisFound *axis, f32 margin, Manifold *manifold)
{
    u32 box = axis->box, other = 1 - box, iw = axis->i;
    u32 iu = iw == 0 ? 1 : 0, iv = iw == 2 ? 1 : 2;
    /* Outwards from the reference face, in units of its axis. */
    f32 side = axis->negative != (box == 1) ? -1.0f : 1.0f;
    /* q[k][j]: axis k of the reference · axis j of the other. */
    f32 q[3][3];
    const u32 order[3] = {iu, iv, iw};
    for (u32 k = 0; k < 3; k++) {
        for (u32 j = 0; j < 3; j++) {
            q[k][j] = box == 0 ? pair->r[order[k]][j] : pair->r[j][order[k]];
        }
    }
    /* The incident face is the one most opposed to the reference face. */
    f32 x = fabsf(q[2][0]), y = fabsf(q[2][1]), z = fabsf(q[2][2]);
    u32 face = x >= y ? (x >= z ? 0 : 2) : (y >= z ? 1 : 2);
    u32 is = face == 0 ? 1 : 0, it = face == 2 ? 1 : 2;
    bool up = side * q[2][face] > 0.0f;
    const f32 *half = pair->half[box], *reach = pair->half[other];
    f32 out = up ? -reach[face] : reach[face], away = box == 0 ? 1.0f : -1.0f;
    ClipVertex buffers[2][CLIP_MAX];
    f32 centre[3], s[3], t[3];
    for (u32 k = 0; k < 3; k++) {
        centre[k] = away * pair->offset[box][order[k]] + out * q[k][face];
        s[k] = reach[is] * q[k][is];
        t[k] = reach[it] * q[k][it];
    }
    for (u32 k = 0; k < 2; k++) {
        buffers[0][0].x[k] = centre[k] + s[k] + t[k];
        buffers[0][1].x[k] = centre[k] - s[k] + t[k];
        buffers[0][2].x[k] = centre[k] - s[k] - t[k];
        buffers[0][3].x[k] = centre[k] + s[k] - t[k];
    }
    f32 w = side * centre[2] - half[iw], ws = side * s[2], wt = side * t[2];
    buffers[0][0].x[2] = w + ws + wt;
    buffers[0][1].x[2] = w - ws + wt;
    buffers[0][2].x[2] = w - ws - wt;
    buffers[0][3].x[2] = w + ws - wt;
    for (u32 k = 0; k < 4; k++) {
        buffers[0][k].in = (u8)((k + 3) & 3);
        buffers[0][k].out = (u8)k;
    }
    const f32 limits[2] = {half[iu] * CLIP_REACH, half[iv] * CLIP_REACH};
    u32 count = 4, kept = 0;
    ClipVertex *polygon = clip_to_rectangle(buffers[0], buffers[1], &count, limits);
    for (u32 k = 0; k < count; k++) {
        if (polygon[k].x[2] < margin) {
            polygon[kept++] = polygon[k];
        }
    }
    if (kept > MANIFOLD_POINTS) {
        kept = pick_four(polygon, kept);
    }
    Vec3 u = column(&pair->frame[box], iu), v = column(&pair->frame[box], iv);
    Vec3 n = vec3_scale(column(&pair->frame[box], iw), side);
    u32 faces = (box * 3 + iw) << 16 | face << 12 | (up ? 1u << 11 : 0u);
    for (u32 k = 0; k < kept; k++) {
        f32 height = half[iw] + 0.5f * polygon[k].x[2];
        Vec3 p = vec3_add_scaled(pair->body[box]->position, height, n);
        p = vec3_add_scaled(vec3_add_scaled(p, polygon[k].x[0], u), polygon[k].x[1], v);
        manifold->points[k] =
            (ManifoldPoint){.position = p,
                            .separation = polygon[k].x[2],
                            .feature = faces | (u32)polygon[k].in << 4 | polygon[k].out};
    }
    manifold->count = kept;
    manifold->normal = box == 0 ? n : vec3_neg(n);
}

/* The edges' nearest points: each edge is the farthest along the normal. */
static bool edge_contact(const BoxPair *pair, const AxisFound *axis, Manifold *manifold)
{
    Vec3 normal = vec3_cross(column(&pair->frame[0], axis->i), column(&pair->frame[1], axis->j));
    normal = vec3_normalize_or(axis->negative ? vec3_neg(normal) : normal, vec3_zero());
    Vec3 on[2], direction[2];
    u32 index[2] = {axis->i, axis->j}, sides = 0;
    for (u32 b = 0; b < 2; b++) {
        Vec3 n = b == 0 ? normal : vec3_neg(normal);
        on[b] = b == 0 ? vec3_zero() : vec3_sub(pair->body[1]->position, pair->body[0]->position);
        direction[b] = column(&pair->frame[b], index[b]);
        for (u32 k = 0; k < 3; k++) {
            if (k == index[b]) {
                continue;
            }
            bool up = vec3_dot(column(&pair->frame[b], k), n) > 0.0f;
            f32 half = pair->half[b][k];
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
    if (fabsf(s) > pair->half[0][axis->i] || fabsf(t) > pair->half[1][axis->j]) {
        return false; /* the nearest points are beyond the ends: a corner touches */
    }
    Vec3 p = vec3_add_scaled(on[0], s, direction[0]);
    Vec3 q = vec3_add_scaled(on[1], t, direction[1]);
    manifold->normal = normal;
    manifold->count = 1;
    manifold->points[0] =
        (ManifoldPoint){.position = vec3_add(pair->body[0]->position, vec3_lerp(p, q, 0.5f)),
                        .separation = axis->separation,
                        .feature = 1u << 24 | (axis->i * 3 + axis->j) << 8 | sides};
    return true;
}

void manifold_box_box(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifold)
{
    BoxPair pair;
    pair_set(&pair, a, b);
    AxisFound best, second, edge;
    if (!face_axes(&pair, 0, margin, &best) || !face_axes(&pair, 1, margin, &second)) {
        return;
    }
    if (second.separation > best.separation + AXIS_BIAS_M) {
        best = second;
    }
    if (!axes_are_parallel(&pair)) {
        if (!edge_axes(&pair, margin, &edge)) {
            return;
        }
        if (edge.separation > best.separation + AXIS_BIAS_M) {
            if (!edge_contact(&pair, &edge, manifold)) {
                manifold_convex(a, b, margin, manifold);
            }
            return;
        }
    }
    face_contact(&pair, &best, margin, manifold);
}

/* ---- box and capsule ---- */

/* Half the derivative of the squared distance from the box at p + t d. */
static f32 distance_slope(Vec3 p, Vec3 d, Vec3 h, f32 t)
{
    Vec3 x = vec3_add_scaled(p, t, d);
    Vec3 outside = vec3(x.x - f32_clamp(x.x, -h.x, h.x), x.y - f32_clamp(x.y, -h.y, h.y),
                        x.z - f32_clamp(x.z, -h.z, h.z));
    return vec3_dot(outside, d);
}

/* Parameter of the point of p + t d, t in [0, 1], nearest to the box: the slope is piecewise
 * linear and increasing, so its root lies between two of at most six breakpoints. */
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
    /* Zero slope from some point on: the middle of the flat part. */
    u32 first = count - 1;
    while (first > 0 && distance_slope(p, d, h, kinks[first - 1]) >= 0.0f) {
        first--;
    }
    return 0.5f * (kinks[first] + 1.0f);
}

/* In the axes of the box: from p to p + d. */
typedef struct BoxCapsule {
    Vec3 p, d;
    f32 radius;
} BoxCapsule;

/* The capsule's axis lies over the face of the box along `axis` on that side: the ends of its part
 * over the face touch. */
static bool capsule_over_face(const ShapePose *box, BoxCapsule capsule, u32 axis, f32 side,
                              f32 margin, Manifold *manifold)
{
    Vec3 p = capsule.p, d = capsule.d;
    f32 radius = capsule.radius;
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
    /* Distance of the axis's bounding box: a lower bound. */
    Vec3 to = vec3_add(p, d);
    Vec3 gap = vec3_max(vec3_sub(vec3_min(p, to), h), vec3_sub(vec3_neg(h), vec3_max(p, to)));
    gap = vec3_max(gap, vec3_zero());
    if (vec3_length_squared(gap) > (radius + margin) * (radius + margin)) {
        return;
    }
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
            capsule_over_face(box, (BoxCapsule){p, d, radius}, axis, side, margin, manifold)) {
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
    /* The axis intersects the box. */
    manifold_convex(box, capsule, margin, manifold);
}
