/*
 * manifold.c: analytic contacts of round shapes and planes, and the dispatch by pair of kinds.
 * Normals point from the first body to the second.
 */
#include "server/physics/rigid/narrow/manifold_solid.h"
#include "shared/base/check.h"

static void point_add(Manifold *manifold, Vec3 position, f32 separation, u32 feature)
{
    manifold->points[manifold->count++] =
        (ManifoldPoint){.position = position, .separation = separation, .feature = feature};
}

/* Two balls at any points of the cores of the two shapes. */
static void ball_ball(Vec3 a, f32 ra, Vec3 b, f32 rb, f32 margin, Manifold *manifold)
{
    Vec3 d = vec3_sub(b, a);
    f32 distance = vec3_length(d);
    f32 separation = distance - ra - rb;
    if (!(separation < margin)) {
        return;
    }
    manifold->normal = distance > 1e-9f ? vec3_scale(d, 1.0f / distance) : vec3(0.0f, 1.0f, 0.0f);
    point_add(manifold, vec3_add_scaled(a, ra + 0.5f * separation, manifold->normal), separation,
              0);
}

static void capsule_ends(const ShapePose *body, Vec3 ends[2])
{
    Vec3 axis = quat_rotate(body->orientation, vec3(0.0f, body->shape->half_height, 0.0f));
    ends[0] = vec3_sub(body->position, axis);
    ends[1] = vec3_add(body->position, axis);
}

static Vec3 nearest_on_segment(const Vec3 ends[2], Vec3 p)
{
    Vec3 d = vec3_sub(ends[1], ends[0]);
    f32 length2 = vec3_dot(d, d);
    f32 t = length2 > 0.0f ? vec3_dot(vec3_sub(p, ends[0]), d) / length2 : 0.0f;
    return vec3_add_scaled(ends[0], f32_clamp(t, 0.0f, 1.0f), d);
}

static void sphere_sphere(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifold)
{
    ball_ball(a->position, a->shape->radius, b->position, b->shape->radius, margin, manifold);
}

static void sphere_capsule(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifold)
{
    Vec3 ends[2];
    capsule_ends(b, ends);
    ball_ball(a->position, a->shape->radius, nearest_on_segment(ends, a->position),
              b->shape->radius, margin, manifold);
}

/* Nearest points of two segments (Ericson, Real-Time Collision Detection, 5.1.9). */
static void nearest_of_segments(const Vec3 p[2], const Vec3 q[2], Vec3 *on_p, Vec3 *on_q)
{
    Vec3 d1 = vec3_sub(p[1], p[0]), d2 = vec3_sub(q[1], q[0]), r = vec3_sub(p[0], q[0]);
    f32 a = vec3_dot(d1, d1), e = vec3_dot(d2, d2), f = vec3_dot(d2, r);
    f32 c = vec3_dot(d1, r), b = vec3_dot(d1, d2);
    f32 denominator = a * e - b * b;
    f32 s =
        denominator > 1e-9f * a * e ? f32_clamp((b * f - c * e) / denominator, 0.0f, 1.0f) : 0.5f;
    f32 t = e > 0.0f ? (b * s + f) / e : 0.0f;
    if (t < 0.0f || t > 1.0f) {
        t = f32_clamp(t, 0.0f, 1.0f);
        s = a > 0.0f ? f32_clamp((b * t - c) / a, 0.0f, 1.0f) : 0.0f;
    }
    *on_p = vec3_add_scaled(p[0], s, d1);
    *on_q = vec3_add_scaled(q[0], t, d2);
}

/* Nearly parallel capsules touch along a line: both ends of the common part. */
static bool capsules_lie_along(const Vec3 p[2], f32 ra, const Vec3 q[2], f32 rb, Vec3 normal,
                               f32 margin, Manifold *manifold)
{
    Vec3 d1 = vec3_sub(p[1], p[0]), d2 = vec3_sub(q[1], q[0]);
    f32 l1 = vec3_length(d1), l2 = vec3_length(d2);
    if (l1 < 1e-6f || l2 < 1e-6f || fabsf(vec3_dot(d1, d2)) < 0.995f * l1 * l2) {
        return false;
    }
    Vec3 axis = vec3_scale(d1, 1.0f / l1);
    f32 t0 = vec3_dot(vec3_sub(q[0], p[0]), axis), t1 = vec3_dot(vec3_sub(q[1], p[0]), axis);
    f32 low = f32_max(0.0f, f32_min(t0, t1)), high = f32_min(l1, f32_max(t0, t1));
    if (high - low < 0.1f * f32_min(ra, rb) || fabsf(t1 - t0) < 1e-6f) {
        return false;
    }
    manifold->normal = normal;
    for (u32 i = 0; i < 2; i++) {
        f32 t = i == 0 ? low : high;
        Vec3 on_p = vec3_add_scaled(p[0], t, axis);
        Vec3 on_q = vec3_add_scaled(q[0], (t - t0) / (t1 - t0), d2);
        f32 separation = vec3_dot(vec3_sub(on_q, on_p), normal) - ra - rb;
        if (separation < margin) {
            point_add(manifold, vec3_add_scaled(on_p, ra + 0.5f * separation, normal), separation,
                      1 + i);
        }
    }
    return manifold->count > 0;
}

static void capsule_capsule(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifold)
{
    Vec3 p[2], q[2], on_p, on_q;
    capsule_ends(a, p);
    capsule_ends(b, q);
    nearest_of_segments(p, q, &on_p, &on_q);
    Vec3 d = vec3_sub(on_q, on_p);
    f32 distance = vec3_length(d);
    if (distance - a->shape->radius - b->shape->radius < margin && distance > 1e-6f &&
        capsules_lie_along(p, a->shape->radius, q, b->shape->radius, vec3_scale(d, 1.0f / distance),
                           margin, manifold)) {
        return;
    }
    ball_ball(on_p, a->shape->radius, on_q, b->shape->radius, margin, manifold);
}

static void sphere_box(const ShapePose *sphere, const ShapePose *box, f32 margin,
                       Manifold *manifold)
{
    Vec3 h = box->shape->half;
    Vec3 p = quat_rotate_inverse(box->orientation, vec3_sub(sphere->position, box->position));
    Vec3 q = vec3(f32_clamp(p.x, -h.x, h.x), f32_clamp(p.y, -h.y, h.y), f32_clamp(p.z, -h.z, h.z));
    Vec3 d = vec3_sub(q, p); /* from the sphere to the box */
    f32 distance = vec3_length(d), separation;
    Vec3 normal;
    if (distance > 1e-6f) {
        normal = vec3_scale(d, 1.0f / distance);
        separation = distance - sphere->shape->radius;
    } else {
        /* The centre is inside: leave through the nearest face. */
        Vec3 depth = vec3_sub(h, vec3_abs(p));
        if (depth.x <= depth.y && depth.x <= depth.z) {
            normal = vec3(p.x > 0.0f ? -1.0f : 1.0f, 0.0f, 0.0f);
            separation = -depth.x - sphere->shape->radius;
        } else if (depth.y <= depth.z) {
            normal = vec3(0.0f, p.y > 0.0f ? -1.0f : 1.0f, 0.0f);
            separation = -depth.y - sphere->shape->radius;
        } else {
            normal = vec3(0.0f, 0.0f, p.z > 0.0f ? -1.0f : 1.0f);
            separation = -depth.z - sphere->shape->radius;
        }
    }
    if (!(separation < margin)) {
        return;
    }
    manifold->normal = quat_rotate(box->orientation, normal);
    point_add(manifold,
              vec3_add_scaled(sphere->position, sphere->shape->radius + 0.5f * separation,
                              manifold->normal),
              separation, 0);
}

/* ---- planes: always the second body ---- */

typedef struct PlaneFrame {
    Vec3 up, at;
} PlaneFrame;

static PlaneFrame plane_frame(const ShapePose *plane, Manifold *manifold)
{
    PlaneFrame frame = {quat_rotate(plane->orientation, vec3(0.0f, 1.0f, 0.0f)), plane->position};
    manifold->normal = vec3_neg(frame.up);
    return frame;
}

static void plane_point(const PlaneFrame *plane, Vec3 p, f32 radius, f32 margin, u32 feature,
                        Manifold *manifold)
{
    f32 height = vec3_dot(plane->up, vec3_sub(p, plane->at));
    f32 separation = height - radius;
    if (separation < margin) {
        point_add(manifold, vec3_add_scaled(p, -(radius + 0.5f * separation), plane->up),
                  separation, feature);
    }
}

static void round_plane(const ShapePose *a, const ShapePose *plane, f32 margin, Manifold *manifold)
{
    PlaneFrame frame = plane_frame(plane, manifold);
    if (a->shape->kind == SHAPE_SPHERE) {
        plane_point(&frame, a->position, a->shape->radius, margin, 0, manifold);
        return;
    }
    Vec3 ends[2];
    capsule_ends(a, ends);
    plane_point(&frame, ends[0], a->shape->radius, margin, 0, manifold);
    plane_point(&frame, ends[1], a->shape->radius, margin, 1, manifold);
}

/* The four lowest corners. */
static void box_plane(const ShapePose *box, const ShapePose *plane, f32 margin, Manifold *manifold)
{
    PlaneFrame frame = plane_frame(plane, manifold);
    f32 heights[8];
    Vec3 corners[8];
    for (u32 i = 0; i < 8; i++) {
        Vec3 h = box->shape->half;
        Vec3 local = vec3(i & 1 ? h.x : -h.x, i & 2 ? h.y : -h.y, i & 4 ? h.z : -h.z);
        corners[i] = vec3_add(box->position, quat_rotate(box->orientation, local));
        heights[i] = vec3_dot(frame.up, vec3_sub(corners[i], frame.at));
    }
    u32 taken = 0;
    for (u32 n = 0; n < MANIFOLD_POINTS; n++) {
        u32 best = 8;
        for (u32 i = 0; i < 8; i++) {
            if (!(taken & 1u << i) && (best == 8 || heights[i] < heights[best])) {
                best = i;
            }
        }
        taken |= 1u << best;
        plane_point(&frame, corners[best], 0.0f, margin, best, manifold);
    }
}

/* Points facing the plane: of a disc or face the outermost of the deepest, of a lying cylinder
 * or cone the two ends of its side. */
static void solid_plane(const ShapePose *a, const ShapePose *plane, f32 margin, Manifold *manifold)
{
    PlaneFrame frame = plane_frame(plane, manifold);
    Solid solid;
    solid_set(&solid, a->shape, vec3_zero(), a->orientation);
    Polygon feature, face = {.count = 0};
    solid_feature(&solid, vec3_neg(frame.up), &feature);
    f32 height = vec3_dot(frame.up, vec3_sub(a->position, frame.at));
    face.corners[0] = vec3_scale(frame.up, -height);
    ManifoldPoint points[CLIPPED_MAX];
    ClipLimits limits = {.margin = margin};
    u32 count =
        manifold_clip(&face, frame.up, &feature, &limits, (feature.id & 127u) << 14, points);
    manifold_reduce(points, count, frame.up, manifold);
    for (u32 i = 0; i < manifold->count; i++) {
        manifold->points[i].position = vec3_add(a->position, manifold->points[i].position);
    }
}

typedef void Collide(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifold);

/* The routine for kinds in this order, or NULL. */
static Collide *routine_for(ShapeKind a, ShapeKind b)
{
    static Collide *const routines[SHAPE_HULL + 1][SHAPE_HULL + 1] = {
        [SHAPE_SPHERE] = {[SHAPE_SPHERE] = sphere_sphere,
                          [SHAPE_BOX] = sphere_box,
                          [SHAPE_CAPSULE] = sphere_capsule,
                          [SHAPE_PLANE] = round_plane,
                          [SHAPE_CYLINDER] = manifold_convex,
                          [SHAPE_CONE] = manifold_convex,
                          [SHAPE_HULL] = manifold_convex},
        [SHAPE_BOX] = {[SHAPE_BOX] = manifold_box_box,
                       [SHAPE_CAPSULE] = manifold_box_capsule,
                       [SHAPE_PLANE] = box_plane,
                       [SHAPE_CYLINDER] = manifold_convex,
                       [SHAPE_CONE] = manifold_convex,
                       [SHAPE_HULL] = manifold_convex},
        [SHAPE_CAPSULE] = {[SHAPE_CAPSULE] = capsule_capsule,
                           [SHAPE_PLANE] = round_plane,
                           [SHAPE_CYLINDER] = manifold_convex,
                           [SHAPE_CONE] = manifold_convex,
                           [SHAPE_HULL] = manifold_convex},
        [SHAPE_CYLINDER] = {[SHAPE_PLANE] = solid_plane,
                            [SHAPE_CYLINDER] = manifold_convex,
                            [SHAPE_CONE] = manifold_convex,
                            [SHAPE_HULL] = manifold_convex},
        [SHAPE_CONE] = {[SHAPE_PLANE] = solid_plane,
                        [SHAPE_CONE] = manifold_convex,
                        [SHAPE_HULL] = manifold_convex},
        [SHAPE_HULL] = {[SHAPE_PLANE] = solid_plane, [SHAPE_HULL] = manifold_convex},
    };
    return (u32)a <= SHAPE_HULL && (u32)b <= SHAPE_HULL ? routines[a][b] : NULL;
}

/* Compounds first, then ground, then by kind, planes last. */
static u32 rank(ShapeKind kind)
{
    switch (kind) {
    case SHAPE_COMPOUND:
        return 0;
    case SHAPE_MESH:
    case SHAPE_TERRAIN:
        return 1;
    case SHAPE_PLANE:
        return 100;
    default:
        return 1 + (u32)kind;
    }
}

u32 manifold_collide(const ShapePose *a, const ShapePose *b, f32 margin, Manifold *manifolds,
                     u32 capacity)
{
    bool swap = rank(a->shape->kind) > rank(b->shape->kind);
    const ShapePose *first = swap ? b : a, *second = swap ? a : b;
    ShapeKind kind = first->shape->kind, other = second->shape->kind;
    u32 count = 0;
    if (capacity == 0) {
        return 0;
    }
    if (kind == SHAPE_COMPOUND) {
        count = manifold_compound(first, second, margin, manifold_collide, manifolds, capacity);
    } else if (kind == SHAPE_MESH || kind == SHAPE_TERRAIN) {
        if (other != SHAPE_PLANE && other != SHAPE_MESH && other != SHAPE_TERRAIN) {
            count = manifold_triangles(first, second, margin, manifolds, capacity);
        }
    } else {
        Collide *routine = routine_for(kind, other);
        manifolds->count = 0;
        if (routine != NULL) {
            routine(first, second, margin, manifolds);
            count = manifolds->count > 0 ? 1 : 0;
        }
    }
    CHECK(count <= capacity);
    for (u32 i = 0; i < count && swap; i++) {
        manifolds[i].normal = vec3_neg(manifolds[i].normal);
    }
    return count;
}
