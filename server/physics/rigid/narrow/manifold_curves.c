/*
 * manifold_curves.c: direct solutions for contacts of rims, sides, edges and corners of two solids:
 * most contacts of leaning bodies are of this type, and GJK on round shapes takes many steps. At a
 * contact of two curves the normal is perpendicular to both tangents at two points whose difference
 * is along it: Newton's method on the angles finds it from an approximate normal. It is accepted
 * only if proved: if both points are the solids' support points along that normal, no other points
 * are nearer (apart), or none nearby give a smaller depth (overlap small compared to the radii).
 * Other cases are left to gjk.h.
 */
#include "server/physics/rigid/narrow/manifold_solid.h"

enum {
    CURVES_MAX = 8,
    NEWTON_STEPS = 6
};

/* Rotation (rad) below which the iteration has converged. */
#define NEWTON_ENOUGH 1e-4f
/* Tolerance between the two measures of a separation, relative to the size. */
#define PROOF_SIZE    1e-5f
/* Minimal ratio of the radius of curvature to the depth for which the depth is a local minimum. */
#define CURVED_DEPTHS 4.0f
/* As a fraction of `shallow`: proved contacts up to this depth end the search. */
#define SURE_SHARE    0.2f

typedef enum CurveKind {
    CURVE_POINT,
    CURVE_LINE,
    CURVE_CIRCLE
} CurveKind;

typedef struct SolidCurve {
    CurveKind kind;
    Vec3 at;   /* a point of the line, the centre of the circle */
    Vec3 axis; /* unit: along the line, normal of the circle */
    f32 radius;
    f32 low, high; /* m, the ends of a line from `at` */
    f32 around;    /* of the surface around a line: the side of a cylinder */
} SolidCurve;

/* A point on a curve during Newton's iteration. */
typedef struct CurvePoint {
    Vec3 point, tangent, out; /* out: unit, from the centre of a circle */
} CurvePoint;

/* ---- the curves of a solid that may touch along n ---- */

static u32 polytope_curves(const Solid *solid, Vec3 n, SolidCurve *curves)
{
    const Hull *hull = solid->hull;
    Vec3 d = solid->triangle ? n : mat3_mul_transposed(solid->frame, n);
    u32 vertex = hull_support(hull, d), count = 0;
    Vec3 at = hull->vertices[vertex];
    Vec3 point = solid->triangle ? at : vec3_add(solid->centre, mat3_mul(solid->frame, at));
    curves[count++] = (SolidCurve){.kind = CURVE_POINT, .at = point};
    for (u32 e = 0; e < hull->edge_count && count < CURVES_MAX; e++) {
        if (hull->edges[e].origin != vertex) {
            continue;
        }
        Vec3 along = vec3_sub(hull->vertices[hull->edges[hull->edges[e].twin].origin], at);
        along = solid->triangle ? along : mat3_mul(solid->frame, along);
        f32 length = vec3_length(along);
        if (length > 0.0f) {
            Vec3 axis = vec3_scale(along, 1.0f / length);
            curves[count++] =
                (SolidCurve){.kind = CURVE_LINE, .at = point, .axis = axis, .high = length};
        }
    }
    return count;
}

static u32 curves_of(const Solid *solid, Vec3 n, SolidCurve *curves)
{
    f32 up = vec3_dot(solid->frame.y, n) >= 0.0f ? 1.0f : -1.0f, h = solid->half_height;
    Vec3 axis = solid->frame.y;
    SolidCurve side = {.kind = CURVE_LINE, .at = solid->centre, .axis = axis, .low = -h, .high = h};
    SolidCurve rim = {.kind = CURVE_CIRCLE, .axis = axis, .radius = solid->radius};
    switch (solid->kind) {
    case SOLID_POLYTOPE:
        return polytope_curves(solid, n, curves);
    case SOLID_SEGMENT:
        curves[0] = side;
        curves[1] =
            (SolidCurve){.kind = CURVE_POINT, .at = vec3_add_scaled(solid->centre, up * h, axis)};
        return 2;
    case SOLID_CYLINDER:
        curves[0] = side;
        curves[0].around = solid->radius;
        curves[1] = rim;
        curves[1].at = vec3_add_scaled(solid->centre, up * h, axis);
        return 2;
    default:
        curves[0] = (SolidCurve){.kind = CURVE_POINT, .at = solid->centre};
        return 1;
    }
}

/* ---- where two curves touch ---- */

/* The point of a circle farthest along n, and its tangent. */
static CurvePoint place_on(const SolidCurve *circle, Vec3 n)
{
    CurvePoint place;
    Vec3 across = vec3_add_scaled(n, -vec3_dot(n, circle->axis), circle->axis);
    place.out = vec3_normalize_or(across, vec3_perpendicular(circle->axis));
    place.tangent = vec3_cross(circle->axis, place.out);
    place.point = vec3_add_scaled(circle->at, circle->radius, place.out);
    return place;
}

static Vec3 nearest_on_line(const SolidCurve *line, Vec3 p)
{
    return vec3_add_scaled(line->at, vec3_dot(line->axis, vec3_sub(p, line->at)), line->axis);
}

/* Each returns false if it finds no contact of the curves. */
static bool circle_and_line(const SolidCurve *circle, const SolidCurve *line, CurvePoint *p,
                            CurvePoint *q)
{
    q->tangent = line->axis;
    for (u32 step = 0; step < NEWTON_STEPS; step++) {
        q->point = nearest_on_line(line, p->point);
        Vec3 d = vec3_sub(q->point, p->point);
        f32 along = vec3_dot(p->tangent, line->axis);
        f32 slope = -circle->radius * (1.0f - along * along) - vec3_dot(d, p->out);
        if (!(slope < -0.01f * circle->radius)) {
            return false;
        }
        f32 rotation = f32_clamp(-vec3_dot(d, p->tangent) / slope, -0.5f, 0.5f);
        *p = place_on(circle, vec3_add_scaled(p->out, rotation, p->tangent));
        if (fabsf(rotation) < NEWTON_ENOUGH) {
            q->point = nearest_on_line(line, p->point);
            return true;
        }
    }
    return false;
}

static bool circle_and_circle(const SolidCurve *a, const SolidCurve *b, CurvePoint *p,
                              CurvePoint *q)
{
    for (u32 step = 0; step < NEWTON_STEPS; step++) {
        Vec3 d = vec3_sub(q->point, p->point);
        f32 f = vec3_dot(d, p->tangent), g = vec3_dot(d, q->tangent);
        f32 both = vec3_dot(p->tangent, q->tangent);
        f32 pp = -a->radius - vec3_dot(d, p->out), pq = b->radius * both;
        f32 qp = -a->radius * both, qq = b->radius - vec3_dot(d, q->out);
        f32 determinant = pp * qq - pq * qp;
        if (!(determinant < -0.01f * a->radius * b->radius)) {
            return false;
        }
        f32 rotation_p = f32_clamp((pq * g - qq * f) / determinant, -0.5f, 0.5f);
        f32 rotation_q = f32_clamp((qp * f - pp * g) / determinant, -0.5f, 0.5f);
        *p = place_on(a, vec3_add_scaled(p->out, rotation_p, p->tangent));
        *q = place_on(b, vec3_add_scaled(q->out, rotation_q, q->tangent));
        if (fabsf(rotation_p) < NEWTON_ENOUGH && fabsf(rotation_q) < NEWTON_ENOUGH) {
            return true;
        }
    }
    return false;
}

static bool line_and_line(const SolidCurve *a, const SolidCurve *b, CurvePoint *p, CurvePoint *q)
{
    Vec3 between = vec3_sub(b->at, a->at);
    f32 both = vec3_dot(a->axis, b->axis), across = 1.0f - both * both;
    f32 f = vec3_dot(a->axis, between), g = vec3_dot(b->axis, between);
    if (!(across > 1e-4f)) {
        return false;
    }
    p->point = vec3_add_scaled(a->at, (f - both * g) / across, a->axis);
    q->point = vec3_add_scaled(b->at, (both * f - g) / across, b->axis);
    p->tangent = a->axis;
    q->tangent = b->axis;
    return true;
}

static Vec3 nearest_on_curve(const SolidCurve *curve, Vec3 p)
{
    return curve->kind == CURVE_POINT  ? curve->at
           : curve->kind == CURVE_LINE ? nearest_on_line(curve, p)
                                       : place_on(curve, vec3_sub(p, curve->at)).point;
}

/* The contact normal nearest to n, from a to b, and the two points on the curves. On a rim the
 * search starts at the point nearest to the deepest point of the other solid. */
static bool touch(const SolidCurve *a, const SolidCurve *b, const Vec3 deepest[2], Vec3 *n,
                  Vec3 *on_a, Vec3 *on_b)
{
    CurvePoint p = {.point = a->at}, q = {.point = b->at};
    bool found = true, point = a->kind == CURVE_POINT || b->kind == CURVE_POINT;
    if (point) {
        p.point = nearest_on_curve(a, q.point);
        q.point = nearest_on_curve(b, p.point);
    } else if (a->kind == CURVE_CIRCLE && b->kind == CURVE_CIRCLE) {
        p = place_on(a, vec3_sub(deepest[1], a->at));
        q = place_on(b, vec3_sub(deepest[0], b->at));
        found = circle_and_circle(a, b, &p, &q);
    } else if (a->kind == CURVE_CIRCLE) {
        p = place_on(a, vec3_sub(deepest[1], a->at));
        found = circle_and_line(a, b, &p, &q);
    } else if (b->kind == CURVE_CIRCLE) {
        q = place_on(b, vec3_sub(deepest[0], b->at));
        found = circle_and_line(b, a, &q, &p);
    } else {
        found = line_and_line(a, b, &p, &q);
    }
    if (!found) {
        return false;
    }
    *on_a = p.point;
    *on_b = q.point;
    Vec3 m = point ? vec3_sub(q.point, p.point) : vec3_cross(p.tangent, q.tangent);
    f32 length = vec3_length(m);
    if (!(length > (point ? 1e-5f : 0.02f))) {
        return false;
    }
    *n = vec3_scale(m, (vec3_dot(m, *n) >= 0.0f ? 1.0f : -1.0f) / length);
    return true;
}

static bool holds(const SolidCurve *curve, Vec3 p)
{
    f32 along = vec3_dot(curve->axis, vec3_sub(p, curve->at));
    return curve->kind != CURVE_LINE || (along >= curve->low && along <= curve->high);
}

static f32 separation_along(const Solid *a, const Solid *b, Vec3 n)
{
    Vec3 low = solid_support(b, vec3_neg(n)), high = solid_support(a, n);
    return vec3_dot(n, vec3_sub(low, high)) - a->round - b->round;
}

/* Whether the separation of the cores along a normal, to which both points are support points,
 * is the true one. A gap always is. A depth is a local minimum if the difference of the two
 * surfaces is sufficiently flat or curved in all directions: lines are flat along themselves,
 * touching circles are as curved as the angle between them implies, and points are sharp except
 * on a side. */
static bool is_least(const SolidCurve *a, const SolidCurve *b, Vec3 n, f32 core)
{
    f32 least = INFINITY;
    if (core >= 0.0f) {
        return true;
    }
    if (a->kind == CURVE_POINT || b->kind == CURVE_POINT) {
        least = f32_max(a->around, b->around);
    } else if (a->kind == CURVE_CIRCLE && b->kind == CURVE_CIRCLE) {
        Vec3 p = vec3_cross(a->axis, n), q = vec3_cross(b->axis, n);
        least = f32_min(a->radius, b->radius) * vec3_length_squared(vec3_cross(p, q));
    } else if (a->kind == CURVE_CIRCLE || b->kind == CURVE_CIRCLE) {
        least = f32_max(a->radius, b->radius);
    }
    return -core * CURVED_DEPTHS <= least;
}

/* Whether the cores overlap. For thin ones beside each other there are axes along which it seems
 * so. */
static bool both_hold(const Solid *a, const Solid *b, Vec3 p)
{
    u32 face;
    return solid_outside(a, p, &face) <= 0.0f && solid_outside(b, p, &face) <= 0.0f;
}

typedef struct CurveSearch {
    const Solid *a, *b;
    f32 shallow, margin, size;
    f32 best;
    bool proved;
    GjkResult *result; /* of the best one */
} CurveSearch;

/* Whether the result's axis, with two points `gap` apart, is that of the separation. */
static bool is_proved(const CurveSearch *search, const SolidCurve *one, const SolidCurve *other,
                      f32 gap)
{
    const GjkResult *r = search->result;
    f32 core = gap + search->a->round + search->b->round;
    return gap - r->separation <= PROOF_SIZE * search->size && r->separation >= -search->shallow &&
           is_least(one, other, r->normal, core) &&
           (core >= 0.0f || both_hold(search->a, search->b, vec3_lerp(r->on_a, r->on_b, 0.5f)));
}

/* Tries the curves facing along an axis. */
static CurveTouch curves_along(CurveSearch *search, Vec3 hint)
{
    const Solid *a = search->a, *b = search->b;
    SolidCurve of_a[CURVES_MAX], of_b[CURVES_MAX];
    Vec3 deepest[2] = {solid_support(a, hint), solid_support(b, vec3_neg(hint))};
    if (vec3_dot(hint, vec3_sub(deepest[1], deepest[0])) - a->round - b->round > search->margin) {
        return CURVES_APART;
    }
    u32 count_a = curves_of(a, hint, of_a), count_b = curves_of(b, vec3_neg(hint), of_b);
    for (u32 i = 0; i < count_a * count_b; i++) {
        const SolidCurve *one = &of_a[i / count_b], *other = &of_b[i % count_b];
        Vec3 n = hint, p, q;
        if (!touch(one, other, deepest, &n, &p, &q)) {
            continue;
        }
        /* No axis separates by more than the distance of two points of the solids along it; even
         * beyond the ends of a line it may be better than the known contacts. */
        f32 ahead = one->around + a->round, behind = other->around + b->round;
        f32 gap = vec3_dot(n, vec3_sub(q, p)) - ahead - behind;
        bool inside = holds(one, p) && holds(other, q);
        f32 separation = !inside || gap > search->best ? separation_along(a, b, n) : search->best;
        if (separation > search->margin) {
            return CURVES_APART;
        }
        if (separation > search->best) {
            search->best = separation;
            *search->result = (GjkResult){separation, n, vec3_add_scaled(p, ahead, n),
                                          vec3_add_scaled(q, -behind, n)};
            search->proved = inside && is_proved(search, one, other, gap);
            if (search->proved && separation >= -SURE_SHARE * search->shallow) {
                return CURVES_PROVED;
            }
        }
    }
    return search->proved ? CURVES_PROVED : CURVES_UNKNOWN;
}

CurveTouch manifold_curves(const Solid *a, const Solid *b, Vec3 hint, f32 shallow, f32 margin,
                           GjkResult *r)
{
    CurveSearch search = {.a = a,
                          .b = b,
                          .shallow = shallow,
                          .margin = margin,
                          .size = vec3_distance(a->centre, b->centre) + a->extent + b->extent,
                          .best = -INFINITY,
                          .result = r};
    /* Cones usually touch with their side; without a rim GJK is short. */
    bool cone = a->kind == SOLID_CONE || b->kind == SOLID_CONE;
    if (cone || (a->kind != SOLID_CYLINDER && b->kind != SOLID_CYLINDER)) {
        return CURVES_UNKNOWN;
    }
    /* The better axis may face other edges. */
    CurveTouch found = curves_along(&search, hint);
    if (found == CURVES_UNKNOWN && search.best >= -shallow) {
        found = curves_along(&search, r->normal);
    }
    return found;
}
