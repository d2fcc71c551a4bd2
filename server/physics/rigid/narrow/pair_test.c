/* pair_test.c: see pair_test.h. */
#include "server/physics/rigid/narrow/pair_test.h"

#include "shared/math/vec3d.h"

/* ---- lines ---- */

/* Decided by signed volumes instead of quotients, so the test needs no division. */
static bool line_triangle(const Line *line, const Vec3 corners[3], f32 *t)
{
    Vec3 d = vec3_sub(line->to, line->from);
    Vec3 e1 = vec3_sub(corners[1], corners[0]), e2 = vec3_sub(corners[2], corners[0]);
    Vec3 p = vec3_cross(d, e2), s = vec3_sub(line->from, corners[0]);
    f32 determinant = vec3_dot(e1, p);
    if (determinant == 0.0f || !isfinite(determinant)) {
        return false;
    }
    f32 sign = determinant < 0.0f ? -1.0f : 1.0f, size = fabsf(determinant);
    f32 u = sign * vec3_dot(s, p);
    Vec3 q = vec3_cross(s, e1);
    f32 v = sign * vec3_dot(d, q);
    f32 along = sign * vec3_dot(e2, q);
    if (u < 0.0f || v < 0.0f || u + v > size) {
        return false;
    }
    if (t != NULL) {
        *t = along / size;
    }
    return line->kind == LINE_INFINITE ||
           (along >= 0.0f && (line->kind == LINE_RAY || along <= size));
}

bool line_triangle_overlap(const Line *line, const Vec3 corners[3])
{
    return line_triangle(line, corners, NULL);
}

bool line_triangle_intersect(const Line *line, const Vec3 corners[3], PairIntersection *meeting)
{
    f32 t;
    if (!line_triangle(line, corners, &t)) {
        return false;
    }
    Vec3 d = vec3_sub(line->to, line->from);
    Vec3 n = vec3_cross(vec3_sub(corners[1], corners[0]), vec3_sub(corners[2], corners[0]));
    n = vec3_normalize_or(n, vec3(0.0f, 1.0f, 0.0f));
    meeting->time = t;
    meeting->point = vec3_add_scaled(line->from, t, d);
    meeting->normal = vec3_dot(n, d) > 0.0f ? vec3_neg(n) : n;
    return true;
}

static bool line_shape(const Line *line, const ShapePose *shape, PairIntersection *meeting)
{
    Vec3 d = vec3_sub(line->to, line->from);
    f32 length = vec3_length(d), distance = 0.0f, back = 0.0f;
    if (!(length > 0.0f)) {
        return false;
    }
    Ray ray = {line->from, vec3_scale(d, 1.0f / length)};
    Vec3 normal = vec3_zero(), *n = meeting != NULL ? &normal : NULL;
    f32 max = line->kind == LINE_SEGMENT ? length : INFINITY;
    bool hit = shape_ray(shape->shape, shape->position, shape->orientation, ray, max, &distance, n);
    if (line->kind == LINE_INFINITE && !(hit && meeting == NULL)) {
        Vec3 back_normal;
        Ray behind = {ray.origin, vec3_neg(ray.direction)};
        if (shape_ray(shape->shape, shape->position, shape->orientation, behind,
                      hit ? distance : INFINITY, &back, &back_normal) &&
            (!hit || back < distance)) {
            hit = true;
            distance = -back;
            normal = back_normal;
        }
    }
    if (hit && meeting != NULL) {
        meeting->time = distance / length;
        meeting->point = vec3_add_scaled(ray.origin, distance, ray.direction);
        meeting->normal = normal;
    }
    return hit;
}

bool line_shape_overlap(const Line *line, const ShapePose *shape)
{
    return line_shape(line, shape, NULL);
}

bool line_shape_intersect(const Line *line, const ShapePose *shape, PairIntersection *meeting)
{
    return line_shape(line, shape, meeting);
}

/* ---- two triangles; in f64, relative to a corner, so that signs can be trusted ---- */

/* Relative to an origin, and back. */
static Vec3d d_from(Vec3 v, Vec3 origin)
{
    return vec3d_sub(vec3d_from(v), vec3d_from(origin));
}
static Vec3 d_to(Vec3d v, Vec3 origin)
{
    return vec3d_to_f32(vec3d_add(v, vec3d_from(origin)));
}

static Vec3d d_normal(const Vec3d t[3])
{
    return vec3d_cross(vec3d_sub(t[1], t[0]), vec3d_sub(t[2], t[0]));
}

/* Signed distances (times |n|) of b's corners from a's plane; values within rounding are 0.
 * Returns whether the plane separates. */
static bool plane_sides(const Vec3d a[3], Vec3d n, const Vec3d b[3], f64 side[3])
{
    f64 size = sqrt(vec3d_dot(n, n)), extent = 0.0;
    for (u32 i = 0; i < 3; i++) {
        Vec3d d = vec3d_sub(b[i], a[0]);
        side[i] = vec3d_dot(n, d);
        extent = fmax(extent, fabs(d.x) + fabs(d.y) + fabs(d.z));
    }
    for (u32 i = 0; i < 3; i++) {
        side[i] = fabs(side[i]) <= 1e-12 * size * extent ? 0.0 : side[i];
    }
    return (side[0] > 0.0 && side[1] > 0.0 && side[2] > 0.0) ||
           (side[0] < 0.0 && side[1] < 0.0 && side[2] < 0.0);
}

/* The intersection of a triangle with a plane, by the signs of its corners; returns the number
 * of ends (0..2, twice the same for a corner). */
static u32 plane_crossing(const Vec3d t[3], const f64 side[3], Vec3d ends[2])
{
    u32 count = 0;
    for (u32 i = 0; i < 3 && count < 2; i++) {
        u32 j = (i + 1) % 3;
        if (side[i] == 0.0) {
            ends[count++] = t[i];
        } else if (side[i] * side[j] < 0.0) {
            f64 s = side[i] / (side[i] - side[j]);
            ends[count++] = vec3d_add_scaled(t[i], s, vec3d_sub(t[j], t[i]));
        }
    }
    if (count == 1) {
        ends[1] = ends[0];
    }
    return count;
}

/* Twice the signed area of a, b, p seen along the largest component of n. */
static f64 area_of(Vec3d a, Vec3d b, Vec3d p, Vec3d n)
{
    Vec3d c = vec3d_cross(vec3d_sub(b, a), vec3d_sub(p, a));
    f64 x = fabs(n.x), y = fabs(n.y), z = fabs(n.z);
    return x >= y && x >= z ? c.x : y >= z ? c.y : c.z;
}

static bool corner_inside(const Vec3d t[3], Vec3d p, Vec3d n)
{
    f64 a = area_of(t[0], t[1], p, n), b = area_of(t[1], t[2], p, n), c = area_of(t[2], t[0], p, n);
    return (a >= 0.0 && b >= 0.0 && c >= 0.0) || (a <= 0.0 && b <= 0.0 && c <= 0.0);
}

/* Two coplanar triangles: an edge crosses an edge, or one contains the other. */
static bool coplanar_meet(const Vec3d a[3], const Vec3d b[3], Vec3d n, Vec3d *point)
{
    for (u32 i = 0; i < 3; i++) {
        Vec3d p = a[i], q = a[(i + 1) % 3];
        for (u32 j = 0; j < 3; j++) {
            Vec3d r = b[j], s = b[(j + 1) % 3];
            f64 one = area_of(p, q, r, n), two = area_of(p, q, s, n);
            f64 three = area_of(r, s, p, n), four = area_of(r, s, q, n);
            if (one * two <= 0.0 && three * four <= 0.0 && one != two) {
                *point = vec3d_add_scaled(r, one / (one - two), vec3d_sub(s, r));
                return true;
            }
        }
    }
    *point = corner_inside(b, a[0], n) ? a[0] : b[0];
    return corner_inside(b, a[0], n) || corner_inside(a, b[0], n);
}

static bool triangles_meet(const Vec3 corners_a[3], const Vec3 corners_b[3], Vec3d ends[2])
{
    Vec3d a[3], b[3], on_a[2], on_b[2];
    f64 side_a[3], side_b[3];
    for (u32 i = 0; i < 3; i++) {
        a[i] = d_from(corners_a[i], corners_a[0]);
        b[i] = d_from(corners_b[i], corners_a[0]);
    }
    Vec3d na = d_normal(a), nb = d_normal(b);
    if (plane_sides(a, na, b, side_b) || plane_sides(b, nb, a, side_a)) {
        return false;
    }
    if ((side_b[0] == 0.0 && side_b[1] == 0.0 && side_b[2] == 0.0) ||
        (side_a[0] == 0.0 && side_a[1] == 0.0 && side_a[2] == 0.0)) {
        bool meet = coplanar_meet(a, b, na, &ends[0]);
        ends[1] = ends[0];
        return meet;
    }
    if (plane_crossing(a, side_a, on_a) == 0 || plane_crossing(b, side_b, on_b) == 0) {
        return false;
    }
    /* Both segments lie on the line of the two planes: compare them along it. */
    Vec3d line = vec3d_cross(na, nb);
    f64 a0 = vec3d_dot(line, on_a[0]), a1 = vec3d_dot(line, on_a[1]);
    f64 b0 = vec3d_dot(line, on_b[0]), b1 = vec3d_dot(line, on_b[1]);
    Vec3d low_a = a0 <= a1 ? on_a[0] : on_a[1], high_a = a0 <= a1 ? on_a[1] : on_a[0];
    Vec3d low_b = b0 <= b1 ? on_b[0] : on_b[1], high_b = b0 <= b1 ? on_b[1] : on_b[0];
    ends[0] = fmin(a0, a1) >= fmin(b0, b1) ? low_a : low_b;
    ends[1] = fmax(a0, a1) <= fmax(b0, b1) ? high_a : high_b;
    return fmax(fmin(a0, a1), fmin(b0, b1)) <= fmin(fmax(a0, a1), fmax(b0, b1));
}

bool triangle_triangle_overlap(const Vec3 a[3], const Vec3 b[3])
{
    Vec3d ends[2];
    return triangles_meet(a, b, ends);
}

bool triangle_triangle_intersect(const Vec3 a[3], const Vec3 b[3], Vec3 ends[2])
{
    Vec3d found[2];
    if (!triangles_meet(a, b, found)) {
        return false;
    }
    ends[0] = d_to(found[0], a[0]);
    ends[1] = d_to(found[1], a[0]);
    return true;
}

/* Keeps the earlier meeting. */
static void meeting_offer(PairIntersection *best, bool *any, f32 time, Vec3 point, Vec3 normal)
{
    if (!*any || time < best->time) {
        *best = (PairIntersection){time, point, normal};
        *any = true;
    }
}

/* A moving corner against a resting face. */
static void corner_face(Vec3 corner, Vec3 motion, const Vec3 face[3], bool face_is_first,
                        PairIntersection *best, bool *any)
{
    Line line = {LINE_SEGMENT, corner, vec3_add(corner, motion)};
    PairIntersection meeting;
    if (line_triangle_intersect(&line, face, &meeting)) {
        /* If b's face rests and a's corner moves backwards, the point stays with a. */
        meeting_offer(best, any, meeting.time, face_is_first ? meeting.point : corner,
                      face_is_first ? meeting.normal : vec3_neg(meeting.normal));
    }
}

/* Edge p rests, edge q moves: p0 + s dp = q0 + u dq + t motion. */
static void edge_edge(Vec3 p0, Vec3 p1, Vec3 q0, Vec3 q1, Vec3 motion, PairIntersection *best,
                      bool *any)
{
    Vec3d dp = d_from(p1, p0), dq = d_from(q1, q0), m = d_from(motion, vec3_zero());
    Vec3d n = vec3d_cross(dp, dq), r = d_from(p0, q0);
    f64 speed = vec3d_dot(n, m);
    if (speed == 0.0) {
        return;
    }
    f64 t = vec3d_dot(n, r) / speed;
    if (t < 0.0 || t > 1.0 || (*any && t >= (f64)best->time)) {
        return;
    }
    Vec3d gap = vec3d_add_scaled(r, -t, m); /* p0 − q0(t) = u dq − s dp */
    f64 square = vec3d_dot(n, n);
    f64 s = -vec3d_dot(vec3d_cross(gap, dq), n) / square,
        u = vec3d_dot(vec3d_cross(dp, gap), n) / square;
    if (s < 0.0 || s > 1.0 || u < 0.0 || u > 1.0) {
        return;
    }
    Vec3 normal = vec3_normalize_or(d_to(n, vec3_zero()), vec3(0.0f, 1.0f, 0.0f));
    meeting_offer(best, any, (f32)t, d_to(vec3d_add_scaled((Vec3d){0}, s, dp), p0),
                  speed > 0.0 ? vec3_neg(normal) : normal);
}

bool triangle_triangle_intersect_moving(const Vec3 a[3], const Vec3 b[3], Vec3 motion,
                                        PairIntersection *meeting)
{
    Vec3 ends[2];
    Vec3 against = vec3_neg(vec3_normalize_or(motion, vec3(0.0f, -1.0f, 0.0f)));
    if (triangle_triangle_intersect(a, b, ends)) {
        *meeting = (PairIntersection){0.0f, vec3_lerp(ends[0], ends[1], 0.5f), against};
        return true;
    }
    bool any = false;
    for (u32 i = 0; i < 3; i++) {
        corner_face(b[i], motion, a, true, meeting, &any);
        corner_face(a[i], vec3_neg(motion), b, false, meeting, &any);
        for (u32 j = 0; j < 3; j++) {
            edge_edge(a[i], a[(i + 1) % 3], b[j], b[(j + 1) % 3], motion, meeting, &any);
        }
    }
    return any;
}

/* ---- spheres ---- */

bool sphere_sphere_overlap(Ball a, Ball b)
{
    f32 reach = a.radius + b.radius;
    return vec3_length_squared(vec3_sub(b.centre, a.centre)) <= reach * reach;
}

/* Time (0..1) at which a point starting at `from` (the centre is 0) comes within `radius`. */
static bool point_ball_time(Vec3 from, Vec3 motion, f32 radius, f32 *time)
{
    f64 fx = (f64)from.x, fy = (f64)from.y, fz = (f64)from.z;
    f64 mx = (f64)motion.x, my = (f64)motion.y, mz = (f64)motion.z;
    f64 c = fx * fx + fy * fy + fz * fz - (f64)radius * (f64)radius;
    f64 b = fx * mx + fy * my + fz * mz, a = mx * mx + my * my + mz * mz;
    if (c <= 0.0) {
        *time = 0.0f;
        return true;
    }
    f64 discriminant = b * b - a * c;
    if (!(b < 0.0) || !(discriminant >= 0.0)) {
        return false;
    }
    f64 t = c / (-b + sqrt(discriminant)); /* the smaller root, without cancellation */
    *time = (f32)t;
    return t <= 1.0;
}

bool sphere_sphere_intersect(Ball a, Ball b, Vec3 motion, PairIntersection *meeting)
{
    Vec3 from = vec3_sub(b.centre, a.centre);
    f32 t;
    if (!point_ball_time(from, motion, a.radius + b.radius, &t)) {
        return false;
    }
    Vec3 normal = vec3_normalize_or(vec3_add_scaled(from, t, motion), vec3(0.0f, 1.0f, 0.0f));
    *meeting = (PairIntersection){t, vec3_add_scaled(a.centre, a.radius, normal), normal};
    return true;
}

static Vec3 box_nearest(Vec3 half, Vec3 p)
{
    return vec3_min(vec3_max(p, vec3_neg(half)), half);
}

bool box_sphere_overlap(const OrientedBox *box, Ball ball)
{
    Vec3 p = quat_rotate_inverse(box->orientation, vec3_sub(ball.centre, box->centre));
    return vec3_length_squared(vec3_sub(p, box_nearest(box->half, p))) <= ball.radius * ball.radius;
}

/* Time (0..1) at which a moving point enters the box |x| ≤ half. */
static bool point_box_time(Vec3 from, Vec3 motion, Vec3 half, f32 *time)
{
    const f32 p[3] = {from.x, from.y, from.z}, m[3] = {motion.x, motion.y, motion.z};
    const f32 h[3] = {half.x, half.y, half.z};
    f32 enter = 0.0f, leave = 1.0f;
    for (u32 i = 0; i < 3; i++) {
        if (m[i] == 0.0f) {
            if (fabsf(p[i]) > h[i]) {
                return false;
            }
            continue;
        }
        enter = f32_max(enter, (-copysignf(h[i], m[i]) - p[i]) / m[i]);
        leave = f32_min(leave, (copysignf(h[i], m[i]) - p[i]) / m[i]);
    }
    *time = enter;
    return enter <= leave;
}

/* When a point comes within `radius` of an edge of the box: four run along each axis. */
static bool point_edge_time(Vec3 from, Vec3 motion, Vec3 half, u32 edge, f32 radius, f32 *time)
{
    u32 axis = edge / 4;
    f32 su = edge & 1 ? 1.0f : -1.0f, sv = edge & 2 ? 1.0f : -1.0f;
    const f32 h[3] = {half.x, half.y, half.z};
    f32 p[3] = {from.x, from.y, from.z}, m[3] = {motion.x, motion.y, motion.z};
    u32 u = (axis + 1) % 3, v = (axis + 2) % 3;
    /* The infinite cylinder first. */
    f32 t;
    if (!point_ball_time(vec3(p[u] - su * h[u], p[v] - sv * h[v], 0.0f), vec3(m[u], m[v], 0.0f),
                         radius, &t)) {
        return false;
    }
    f32 at = p[axis] + t * m[axis];
    if (fabsf(at) <= h[axis]) {
        *time = t;
        return true;
    }
    /* It enters beyond an end: then it can only touch the ball there. */
    f32 end[3];
    end[axis] = copysignf(h[axis], at);
    end[u] = su * h[u];
    end[v] = sv * h[v];
    return point_ball_time(vec3_sub(from, vec3(end[0], end[1], end[2])), motion, radius, time);
}

/* The first time at which the point is within `radius` of the box: the union of three boxes,
 * each enlarged along one axis, and of the rounded edges. */
static bool point_rounded_box_time(Vec3 from, Vec3 motion, Vec3 half, f32 radius, f32 *time)
{
    f32 t;
    bool any = false;
    Vec3 grow = vec3(radius, radius, radius);
    if (!point_box_time(from, motion, vec3_add(half, grow), &t)) {
        return false;
    }
    const Vec3 thick[3] = {
        {radius, 0.0f, 0.0f},
        {0.0f, radius, 0.0f},
        {0.0f, 0.0f, radius},
    };
    *time = 1.0f;
    for (u32 i = 0; i < 3; i++) {
        if (point_box_time(from, motion, vec3_add(half, thick[i]), &t)) {
            *time = any ? f32_min(*time, t) : t;
            any = true;
        }
    }
    for (u32 i = 0; i < 12; i++) {
        if (point_edge_time(from, motion, half, i, radius, &t)) {
            *time = any ? f32_min(*time, t) : t;
            any = true;
        }
    }
    return any;
}

/* Outward normal of the box at a point at or near its surface. */
static Vec3 box_normal(Vec3 half, Vec3 p, Vec3 *surface)
{
    Vec3 nearest = box_nearest(half, p), out = vec3_sub(p, nearest);
    *surface = nearest;
    if (vec3_length_squared(out) > 0.0f) {
        return vec3_normalize_or(out, vec3(0.0f, 1.0f, 0.0f));
    }
    Vec3 q = vec3_sub(vec3_abs(p), half); /* inside: the nearest face */
    if (q.x >= q.y && q.x >= q.z) {
        return vec3(copysignf(1.0f, p.x), 0.0f, 0.0f);
    }
    return q.y >= q.z ? vec3(0.0f, copysignf(1.0f, p.y), 0.0f)
                      : vec3(0.0f, 0.0f, copysignf(1.0f, p.z));
}

bool box_sphere_intersect(const OrientedBox *box, Ball ball, Vec3 motion, PairIntersection *meeting)
{
    Vec3 from = quat_rotate_inverse(box->orientation, vec3_sub(ball.centre, box->centre));
    Vec3 way = quat_rotate_inverse(box->orientation, motion), surface;
    f32 t;
    if (!point_rounded_box_time(from, way, box->half, ball.radius, &t)) {
        return false;
    }
    Vec3 normal = box_normal(box->half, vec3_add_scaled(from, t, way), &surface);
    *meeting = (PairIntersection){t, vec3_add(box->centre, quat_rotate(box->orientation, surface)),
                                  quat_rotate(box->orientation, normal)};
    return true;
}

/* ---- two boxes ---- */

typedef struct BoxBoxTest {
    Vec3 a[3], b[3]; /* axes, world */
    Vec3 half_a, half_b, between;
} BoxBoxTest;

static BoxBoxTest box_pair(const OrientedBox *a, const OrientedBox *b)
{
    Mat3 ma = mat3_from_quat(a->orientation), mb = mat3_from_quat(b->orientation);
    return (BoxBoxTest){
        {ma.x, ma.y, ma.z}, {mb.x, mb.y, mb.z}, a->half, b->half, vec3_sub(b->centre, a->centre)};
}

static f32 box_extent(const Vec3 axes[3], Vec3 half, Vec3 direction)
{
    return half.x * fabsf(vec3_dot(axes[0], direction)) +
           half.y * fabsf(vec3_dot(axes[1], direction)) +
           half.z * fabsf(vec3_dot(axes[2], direction));
}

/* Axis 0..2: faces of a; 3..5: faces of b; 6..14: edges. Zero for parallel edges. */
static Vec3 box_axis(const BoxBoxTest *pair, u32 i)
{
    if (i < 3) {
        return pair->a[i];
    }
    if (i < 6) {
        return pair->b[i - 3];
    }
    Vec3 axis = vec3_cross(pair->a[(i - 6) / 3], pair->b[(i - 6) % 3]);
    return vec3_length_squared(axis) > 1e-6f ? vec3_normalize_or(axis, vec3_zero()) : vec3_zero();
}

bool box_box_overlap(const OrientedBox *a, const OrientedBox *b)
{
    BoxBoxTest pair = box_pair(a, b);
    for (u32 i = 0; i < 15; i++) {
        Vec3 axis = box_axis(&pair, i);
        f32 reach = box_extent(pair.a, pair.half_a, axis) + box_extent(pair.b, pair.half_b, axis);
        if (fabsf(vec3_dot(pair.between, axis)) > reach) {
            return false;
        }
    }
    return true;
}

/* The centre of the box's feature farthest along a direction: a corner, or the centre of a
 * perpendicular edge or face. */
static Vec3 box_support_middle(const Vec3 axes[3], Vec3 half, Vec3 direction)
{
    const f32 h[3] = {half.x, half.y, half.z};
    Vec3 p = vec3_zero();
    for (u32 i = 0; i < 3; i++) {
        f32 along = vec3_dot(axes[i], direction);
        if (fabsf(along) > 1e-4f) {
            p = vec3_add_scaled(p, copysignf(h[i], along), axes[i]);
        }
    }
    return p;
}

/* The point of the box at `offset` nearest to p (relative to a's centre). */
static Vec3 box_clamp(const Vec3 axes[3], Vec3 half, Vec3 offset, Vec3 p)
{
    Vec3 d = vec3_sub(p, offset);
    Vec3 local = vec3(vec3_dot(axes[0], d), vec3_dot(axes[1], d), vec3_dot(axes[2], d));
    Mat3 m = {axes[0], axes[1], axes[2]};
    return vec3_add(offset, mat3_mul(m, box_nearest(half, local)));
}

/* Crossing of two edges, given their midpoints and directions. */
static Vec3 edges_cross(Vec3 p, Vec3 dp, Vec3 q, Vec3 dq)
{
    Vec3 n = vec3_cross(dp, dq);
    f32 s = vec3_dot(vec3_cross(vec3_sub(q, p), dq), n) / vec3_length_squared(n);
    return vec3_add_scaled(p, s, dp);
}

/* Contact point of two touching boxes with centres `between` apart, from the last separating
 * axis. */
static Vec3 box_touch_point(const BoxBoxTest *pair, Vec3 between, Vec3 normal, u32 axis)
{
    Vec3 p = vec3_add(between, box_support_middle(pair->b, pair->half_b, vec3_neg(normal)));
    if (axis >= 6) {
        Vec3 on_a = box_support_middle(pair->a, pair->half_a, normal);
        on_a = edges_cross(on_a, pair->a[(axis - 6) / 3], p, pair->b[(axis - 6) % 3]);
        /* An axis close to a face's can separate boxes that touch elsewhere. */
        Vec3 in_a = box_clamp(pair->a, pair->half_a, vec3_zero(), on_a);
        Vec3 in_b = box_clamp(pair->b, pair->half_b, between, on_a);
        f32 size = vec3_length(pair->half_a) + vec3_length(pair->half_b);
        if (vec3_distance(in_a, on_a) + vec3_distance(in_b, on_a) < 1e-4f * size) {
            return in_a;
        }
    }
    /* Alternating projections, starting from the centre of the touching feature. */
    p = axis >= 3 ? box_support_middle(pair->a, pair->half_a, normal) : p;
    for (u32 i = 0; i < 64; i++) {
        Vec3 on_a = box_clamp(pair->a, pair->half_a, vec3_zero(), p);
        p = box_clamp(pair->b, pair->half_b, between, on_a);
    }
    return box_clamp(pair->a, pair->half_a, vec3_zero(), p);
}

bool box_box_intersect(const OrientedBox *a, const OrientedBox *b, Vec3 motion,
                       PairIntersection *meeting)
{
    BoxBoxTest pair = box_pair(a, b);
    f32 enter = 0.0f, leave = 1.0f, shallowest = INFINITY;
    Vec3 normal = vec3_zero(), way_out = vec3(0.0f, 1.0f, 0.0f);
    u32 last = 0;
    for (u32 i = 0; i < 15; i++) {
        Vec3 axis = box_axis(&pair, i);
        if (vec3_length_squared(axis) < 0.5f) {
            continue;
        }
        f32 gap = vec3_dot(pair.between, axis), speed = vec3_dot(motion, axis);
        f32 reach = box_extent(pair.a, pair.half_a, axis) + box_extent(pair.b, pair.half_b, axis);
        Vec3 out = gap < 0.0f ? vec3_neg(axis) : axis;
        if (fabsf(gap) <= reach && reach - fabsf(gap) < shallowest) {
            shallowest = reach - fabsf(gap);
            way_out = out;
        }
        if (fabsf(gap) > reach && gap * speed >= 0.0f) {
            return false;
        }
        if (speed == 0.0f) {
            continue;
        }
        f32 first = (-copysignf(reach, speed) - gap) / speed;
        leave = f32_min(leave, (copysignf(reach, speed) - gap) / speed);
        if (first > enter) {
            enter = first;
            normal = out;
            last = i;
        }
    }
    if (enter > leave) {
        return false;
    }
    /* For boxes that overlap at the start: the direction of least penetration. */
    normal = enter > 0.0f ? normal : way_out;
    Vec3 between = vec3_add_scaled(pair.between, enter, motion);
    *meeting = (PairIntersection){
        enter, vec3_add(a->centre, box_touch_point(&pair, between, normal, last)), normal};
    return true;
}

/* ---- planes ---- */

bool plane_sphere_overlap(HalfSpace plane, Ball ball)
{
    return vec3_dot(plane.normal, ball.centre) - plane.offset <= ball.radius;
}

/* Time at which the lowest point, `height` over the plane, reaches it, sinking by `speed` per
 * unit of time. */
static bool height_time(f32 height, f32 speed, f32 *time)
{
    *time = height <= 0.0f ? 0.0f : height / speed;
    return height <= 0.0f || (speed > 0.0f && height <= speed);
}

bool plane_sphere_intersect(HalfSpace plane, Ball ball, Vec3 motion, PairIntersection *meeting)
{
    f32 t, height = vec3_dot(plane.normal, ball.centre) - plane.offset - ball.radius;
    if (!height_time(height, -vec3_dot(plane.normal, motion), &t)) {
        return false;
    }
    Vec3 point = vec3_add_scaled(ball.centre, -ball.radius, plane.normal);
    *meeting = (PairIntersection){t, vec3_add_scaled(point, t, motion), plane.normal};
    return true;
}

static f32 plane_box_height(HalfSpace plane, const OrientedBox *box)
{
    Mat3 m = mat3_from_quat(box->orientation);
    const Vec3 axes[3] = {m.x, m.y, m.z};
    return vec3_dot(plane.normal, box->centre) - plane.offset -
           box_extent(axes, box->half, plane.normal);
}

bool plane_box_overlap(HalfSpace plane, const OrientedBox *box)
{
    return plane_box_height(plane, box) <= 0.0f;
}

bool plane_box_intersect(HalfSpace plane, const OrientedBox *box, Vec3 motion,
                         PairIntersection *meeting)
{
    f32 t;
    if (!height_time(plane_box_height(plane, box), -vec3_dot(plane.normal, motion), &t)) {
        return false;
    }
    Mat3 m = mat3_from_quat(box->orientation);
    const Vec3 axes[3] = {m.x, m.y, m.z};
    Vec3 lowest = box_support_middle(axes, box->half, vec3_neg(plane.normal));
    *meeting = (PairIntersection){t, vec3_add_scaled(vec3_add(box->centre, lowest), t, motion),
                                  plane.normal};
    return true;
}
