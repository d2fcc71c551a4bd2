/*
 * gjk_separation.c: distance or depth of two shapes, from the walk of their cores (gjk.c) and their
 * depth (gjk_depth.c); overlap; casts by conservative advancement.
 */
#include "server/physics/rigid/narrow/gjk_internal.h"

typedef struct Separation {
    Vec3d normal, on_a, on_b; /* working axes; on the rounded surfaces */
    f64 separation;
} Separation;

static void separation_write(const Convex *a, const Convex *b, Vec3d on_a, Vec3d on_b, Vec3d normal,
                             f64 core, Separation *out)
{
    out->normal = normal;
    out->separation = core - a->round - b->round;
    /* The midpoint of the two is used, so that on_b − on_a is exactly along the normal. */
    Vec3d middle = vec3d_scale(vec3d_add(vec3d_add_scaled(on_a, a->round, normal),
                                         vec3d_add_scaled(on_b, -b->round, normal)),
                               0.5);
    out->on_a = vec3d_add_scaled(middle, -0.5 * out->separation, normal);
    out->on_b = vec3d_add_scaled(middle, 0.5 * out->separation, normal);
}

static bool separate(const Convex *a, const Convex *b, f64 limit, Vec3d *v, Separation *out)
{
    Simplex s;
    Vec3d on_a, on_b;
    SupportWalk how = gjk_walk(a, b, limit + a->round + b->round, -1.0, v, &s);
    if (how == WALK_FAR) {
        return false;
    }
    if (how == WALK_APART) {
        f64 length = vec3d_length(*v);
        if (length - a->round - b->round > limit) {
            return false;
        }
        simplex_points(&s, &on_a, &on_b);
        separation_write(a, b, on_a, on_b, vec3d_scale(*v, -1.0 / length), length, out);
        return true;
    }
    Depth depth;
    gjk_depth(a, b, &s, &depth);
    separation_write(a, b, depth.on_a, depth.on_b, depth.normal, -depth.depth, out);
    return true;
}

static bool separation_of(const Convex *a, const Convex *b, Vec3d origin, f32 limit, Vec3d *v,
                          GjkResult *result)
{
    Separation found;
    if (!separate(a, b, (f64)limit, v, &found)) {
        return false;
    }
    result->separation = (f32)found.separation;
    result->normal = vec3d_to_f32(found.normal);
    result->on_a = vec3d_to_f32(vec3d_add(found.on_a, origin));
    result->on_b = vec3d_to_f32(vec3d_add(found.on_b, origin));
    return true;
}

bool gjk_separation(const ShapePose *a, const ShapePose *b, f32 limit, GjkResult *result)
{
    Convex ca, cb;
    Vec3d origin = vec3d_from(a->position);
    convex_set(&ca, a, origin);
    convex_set(&cb, b, origin);
    Vec3d v = vec3d_sub(ca.origin, cb.origin);
    return separation_of(&ca, &cb, origin, limit, &v, result);
}

bool gjk_separation_triangle(const ShapePose *a, const Vec3 corners[3], f32 limit,
                             GjkResult *result)
{
    Convex ca, cb;
    Vec3d origin = vec3d_from(a->position);
    convex_set(&ca, a, origin);
    convex_set_triangle(&cb, corners, origin);
    Vec3d v = vec3d_sub(ca.origin, cb.origin);
    return separation_of(&ca, &cb, origin, limit, &v, result);
}

bool gjk_separation_triangle_again(const ShapePose *a, const Vec3 corners[3], f32 limit, Vec3 *axis,
                                   GjkResult *result)
{
    Convex ca, cb;
    Vec3d origin = vec3d_from(a->position);
    convex_set(&ca, a, origin);
    convex_set_triangle(&cb, corners, origin);
    Vec3d v = vec3d_neg(vec3d_from(*axis));
    f64 length = vec3d_length(v);
    if (length > 0.0) {
        Corner c = corner_along(&ca, &cb, vec3d_neg(v));
        if (vec3d_dot(v, c.w) / length - ca.round - cb.round > (f64)limit) {
            return false;
        }
    }
    v = vec3d_sub(ca.origin, cb.origin);
    if (separation_of(&ca, &cb, origin, limit, &v, result)) {
        return true;
    }
    *axis = vec3d_to_f32(vec3d_neg(v));
    return false;
}

/* ---- overlap ---- */

static bool overlaps(const Convex *a, const Convex *b, f32 margin)
{
    Simplex s;
    f64 reach = (f64)margin + a->round + b->round;
    Vec3d v = vec3d_sub(a->origin, b->origin);
    SupportWalk how = gjk_walk(a, b, reach, reach, &v, &s);
    return how == WALK_NEAR || how == WALK_OVERLAP ||
           (how == WALK_APART && vec3d_length(v) <= reach);
}

bool gjk_overlap(const ShapePose *a, const ShapePose *b, f32 margin)
{
    Convex ca, cb;
    Vec3d origin = vec3d_from(a->position);
    convex_set(&ca, a, origin);
    convex_set(&cb, b, origin);
    return overlaps(&ca, &cb, margin);
}

bool gjk_overlap_triangle(const ShapePose *a, const Vec3 corners[3], f32 margin)
{
    Convex ca, cb;
    Vec3d origin = vec3d_from(a->position);
    convex_set(&ca, a, origin);
    convex_set_triangle(&cb, corners, origin);
    return overlaps(&ca, &cb, margin);
}

/* ---- casts ---- */

enum {
    CAST_STEPS = 64
};

static bool cast(Convex *a, const Convex *b, Vec3d origin, Vec3 motion, f32 *fraction, Vec3 *normal,
                 Vec3 *point)
{
    Vec3d start = a->origin, m = vec3d_from(motion);
    f64 size = a->extent + b->extent;
    f64 touch = 1e-6 * size;
    Vec3d v = vec3d_sub(a->origin, b->origin);
    f64 t = 0.0;
    Separation found;
    for (u32 step = 0;; step++) {
        a->origin = vec3d_add_scaled(start, t, m);
        /* Distances beyond the rest of the motion cannot be reached. */
        if (!separate(a, b, (1.0 - t) * vec3d_length(m) + touch, &v, &found)) {
            return false;
        }
        f64 closing = vec3d_dot(m, found.normal);
        if (found.separation <= 0.0 || (found.separation <= touch && closing > 0.0)) {
            break;
        }
        if (!(closing > 0.0)) {
            return false;
        }
        if (step == CAST_STEPS) {
            if (found.separation > 1e-3 * size) {
                return false;
            }
            break; /* grazing without end: near enough */
        }
        t +=
            (found.separation - 0.5 * touch > 0.0 ? found.separation - 0.5 * touch : 0.0) / closing;
        if (t > 1.0) {
            return false;
        }
    }
    if (fraction != NULL) {
        *fraction = (f32)t;
    }
    if (normal != NULL) {
        *normal = vec3d_to_f32(vec3d_neg(found.normal));
    }
    if (point != NULL) {
        *point = vec3d_to_f32(vec3d_add(found.on_b, origin));
    }
    return true;
}

bool gjk_cast(const ShapePose *a, const ShapePose *b, Vec3 motion, f32 *fraction, Vec3 *normal,
              Vec3 *point)
{
    Convex ca, cb;
    Vec3d origin = vec3d_from(a->position);
    convex_set(&ca, a, origin);
    convex_set(&cb, b, origin);
    return cast(&ca, &cb, origin, motion, fraction, normal, point);
}

bool gjk_cast_triangle(const ShapePose *a, const Vec3 corners[3], Vec3 motion, f32 *fraction,
                       Vec3 *normal, Vec3 *point)
{
    Convex ca, cb;
    Vec3d origin = vec3d_from(a->position);
    convex_set(&ca, a, origin);
    convex_set_triangle(&cb, corners, origin);
    return cast(&ca, &cb, origin, motion, fraction, normal, point);
}
