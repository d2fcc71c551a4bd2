/*
 * gjk.c: the Gilbert–Johnson–Keerthi algorithm: support points, simplex and walk of two cores.
 * World axes with the origin at a's position, f64 throughout: with f32 the simplex of a 1 mm body
 * on a 100 m one is mostly rounding.
 */
#include "server/physics/rigid/narrow/gjk_internal.h"

static f64 hull_extent(const Geometry *geometry)
{
    return (f64)vec3_distance(geometry->bounds.min, geometry->bounds.max);
}

static void convex_rotation(Convex *c, Quat orientation)
{
    f64 w = (f64)orientation.w, x = (f64)orientation.x, y = (f64)orientation.y,
        z = (f64)orientation.z;
    c->x = vec3d(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y));
    c->y = vec3d(2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x));
    c->z = vec3d(2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y));
}

void convex_set(Convex *c, const ShapePose *pose, Vec3d origin)
{
    const Shape *shape = pose->shape;
    f64 radius = (f64)shape->radius, half = (f64)shape->half_height;
    c->origin = vec3d_sub(vec3d_from(pose->position), origin);
    c->round = 0.0;
    c->radius = 0.0;
    c->half = vec3d(0.0, half, 0.0);
    c->hull = NULL;
    switch (shape->kind) {
    case SHAPE_CAPSULE:
        c->kind = CORE_SEGMENT;
        c->round = radius;
        c->extent = half + radius;
        break;
    case SHAPE_BOX:
        c->kind = CORE_BOX;
        c->half = vec3d_from(shape->half);
        c->extent = vec3d_length(c->half);
        break;
    case SHAPE_CYLINDER:
    case SHAPE_CONE:
        c->kind = shape->kind == SHAPE_CYLINDER ? CORE_CYLINDER : CORE_CONE;
        c->radius = radius;
        c->extent = half + radius;
        break;
    case SHAPE_HULL:
        c->kind = CORE_HULL;
        c->hull = &shape->geometry->hull;
        c->extent = hull_extent(shape->geometry);
        break;
    default: /* a sphere; non-convex shapes are represented by their centre */
        c->kind = CORE_POINT;
        c->round = radius;
        c->extent = radius;
        return;
    }
    convex_rotation(c, pose->orientation);
}

void convex_set_triangle(Convex *c, const Vec3 corners[3], Vec3d origin)
{
    c->kind = CORE_TRIANGLE;
    c->origin = vec3d_sub(vec3d_from(corners[0]), origin);
    c->round = 0.0;
    c->hull = NULL;
    for (u32 i = 0; i < 3; i++) {
        c->corner[i] = vec3d_sub(vec3d_from(corners[i]), vec3d_from(corners[0]));
    }
    c->extent = vec3d_length(c->corner[1]) + vec3d_length(c->corner[2]);
}

static Vec3d support_hull(const Hull *hull, Vec3d d)
{
    u32 best = 0;
    f64 most = -INFINITY;
    for (u32 i = 0; i < hull->vertex_count; i++) {
        Vec3 v = hull->vertices[i];
        f64 along = (f64)v.x * d.x + (f64)v.y * d.y + (f64)v.z * d.z;
        if (along > most) {
            most = along;
            best = i;
        }
    }
    return vec3d_from(hull->vertices[best]);
}

/* Of the core, in the shape's axes. */
static Vec3d support_local(const Convex *c, Vec3d d)
{
    switch (c->kind) {
    case CORE_SEGMENT:
        return vec3d(0.0, d.y >= 0.0 ? c->half.y : -c->half.y, 0.0);
    case CORE_BOX:
        return vec3d(d.x >= 0.0 ? c->half.x : -c->half.x, d.y >= 0.0 ? c->half.y : -c->half.y,
                     d.z >= 0.0 ? c->half.z : -c->half.z);
    case CORE_HULL:
        return support_hull(c->hull, d);
    default:
        break;
    }
    f64 across = sqrt(d.x * d.x + d.z * d.z);
    f64 scale = across > 0.0 ? c->radius / across : 0.0;
    Vec3d rim = vec3d(d.x * scale, -c->half.y, d.z * scale);
    if (c->kind == CORE_CYLINDER) {
        rim.y = d.y >= 0.0 ? c->half.y : -c->half.y;
        return rim;
    }
    return d.y * 2.0 * c->half.y >= across * c->radius ? vec3d(0.0, c->half.y, 0.0) : rim;
}

/* Of the core, in working axes. */
Vec3d convex_support(const Convex *c, Vec3d d)
{
    if (c->kind == CORE_POINT) {
        return c->origin;
    }
    if (c->kind == CORE_TRIANGLE) {
        f64 a = vec3d_dot(c->corner[1], d), b = vec3d_dot(c->corner[2], d);
        u32 best = a > 0.0 ? (b > a ? 2 : 1) : (b > 0.0 ? 2 : 0);
        return vec3d_add(c->origin, c->corner[best]);
    }
    Vec3d p = support_local(c, vec3d(vec3d_dot(c->x, d), vec3d_dot(c->y, d), vec3d_dot(c->z, d)));
    return vec3d_add_scaled(vec3d_add_scaled(vec3d_add_scaled(c->origin, p.x, c->x), p.y, c->y),
                            p.z, c->z);
}

Vec3 gjk_support(const ShapePose *pose, Vec3 direction)
{
    Convex c;
    Vec3d origin = vec3d_from(pose->position);
    convex_set(&c, pose, origin);
    Vec3d d = vec3d_from(direction);
    f64 length = vec3d_length(d);
    Vec3d p = vec3d_add(convex_support(&c, d), origin);
    return vec3d_to_f32(length > 0.0 ? vec3d_add_scaled(p, c.round / length, d) : p);
}

/* ---- the simplex ---- */

/* The corners of a simplex that support its point nearest to the origin, with their weights. */
typedef struct Nearest {
    u32 count;
    u8 at[3];
    f64 weights[3];
    Vec3d point;
} Nearest;

static void nearest_one(const Simplex *s, u32 i, Nearest *n)
{
    n->count = 1;
    n->at[0] = (u8)i;
    n->weights[0] = 1.0;
    n->point = s->corners[i].w;
}

static void nearest_two(const Simplex *s, u32 i, u32 j, f64 share, Nearest *n)
{
    n->count = 2;
    n->at[0] = (u8)i;
    n->at[1] = (u8)j;
    n->weights[0] = 1.0 - share;
    n->weights[1] = share;
    n->point = vec3d_add_scaled(vec3d_scale(s->corners[i].w, 1.0 - share), share, s->corners[j].w);
}

static void nearest_of_segment(const Simplex *s, Nearest *n)
{
    Vec3d a = s->corners[0].w, ab = vec3d_sub(s->corners[1].w, a);
    f64 length2 = vec3d_dot(ab, ab), along = -vec3d_dot(a, ab);
    if (!(along > 0.0) || !(length2 > 0.0)) {
        nearest_one(s, 0, n);
    } else if (along >= length2) {
        nearest_one(s, 1, n);
    } else {
        nearest_two(s, 0, 1, along / length2, n);
    }
}

/* By Voronoi regions (Ericson, Real-Time Collision Detection, 5.1.5). */
static void nearest_of_triangle(const Simplex *s, u32 i, u32 j, u32 k, Nearest *n)
{
    Vec3d a = s->corners[i].w, b = s->corners[j].w, c = s->corners[k].w;
    Vec3d ab = vec3d_sub(b, a), ac = vec3d_sub(c, a);
    f64 d1 = -vec3d_dot(ab, a), d2 = -vec3d_dot(ac, a);
    if (d1 <= 0.0 && d2 <= 0.0) {
        nearest_one(s, i, n);
        return;
    }
    f64 d3b = -vec3d_dot(ab, b), d4 = -vec3d_dot(ac, b);
    if (d3b >= 0.0 && d4 <= d3b) {
        nearest_one(s, j, n);
        return;
    }
    f64 vc = d1 * d4 - d3b * d2;
    if (vc <= 0.0 && d1 >= 0.0 && d3b <= 0.0) {
        nearest_two(s, i, j, d1 > d3b ? d1 / (d1 - d3b) : 0.0, n);
        return;
    }
    f64 d5 = -vec3d_dot(ab, c), d6 = -vec3d_dot(ac, c);
    if (d6 >= 0.0 && d5 <= d6) {
        nearest_one(s, k, n);
        return;
    }
    f64 vb = d5 * d2 - d1 * d6;
    if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) {
        nearest_two(s, i, k, d2 > d6 ? d2 / (d2 - d6) : 0.0, n);
        return;
    }
    f64 va = d3b * d6 - d5 * d4;
    if (va <= 0.0 && d4 - d3b >= 0.0 && d5 - d6 >= 0.0) {
        f64 whole = (d4 - d3b) + (d5 - d6);
        nearest_two(s, j, k, whole > 0.0 ? (d4 - d3b) / whole : 0.0, n);
        return;
    }
    f64 scale = 1.0 / (va + vb + vc);
    *n = (Nearest){3, {(u8)i, (u8)j, (u8)k}, {va * scale, vb * scale, vc * scale}, {0, 0, 0}};
    n->point = vec3d_add_scaled(vec3d_add_scaled(vec3d_scale(a, n->weights[0]), n->weights[1], b),
                                n->weights[2], c);
}

/* Returns true if the tetrahedron contains the origin, else the nearest point of its faces. The
 * last corner is the new one: the face without it is the former simplex, with the origin on its
 * inner side. If the shapes are known to be `apart` the tetrahedron cannot contain the origin,
 * whatever the rounded signs of a thin one. */
static bool nearest_of_tetrahedron(const Simplex *s, bool apart, Nearest *nearest)
{
    static const u8 faces[3][4] = {{0, 2, 3, 1}, {0, 3, 1, 2}, {1, 3, 2, 0}};
    f64 least = INFINITY;
    for (u32 f = 0; f < 3; f++) {
        Vec3d a = s->corners[faces[f][0]].w, b = s->corners[faces[f][1]].w;
        Vec3d c = s->corners[faces[f][2]].w, opposite = s->corners[faces[f][3]].w;
        Vec3d n = vec3d_cross(vec3d_sub(b, a), vec3d_sub(c, a)), across = vec3d_sub(opposite, a);
        f64 inside = vec3d_dot(across, n), origin = -vec3d_dot(a, n);
        /* A flat tetrahedron contains nothing. */
        bool flat = inside * inside <= 1e-26 * (vec3d_dot(n, n) * vec3d_dot(across, across));
        if (!apart && !flat && inside * origin >= 0.0) {
            continue;
        }
        Nearest found;
        nearest_of_triangle(s, faces[f][0], faces[f][1], faces[f][2], &found);
        f64 length2 = vec3d_dot(found.point, found.point);
        if (length2 < least) {
            least = length2;
            *nearest = found;
        }
    }
    return !(least < INFINITY);
}

static bool nearest_of_simplex(const Simplex *s, bool apart, Nearest *nearest)
{
    switch (s->count) {
    case 1:
        nearest_one(s, 0, nearest);
        return false;
    case 2:
        nearest_of_segment(s, nearest);
        return false;
    case 3:
        nearest_of_triangle(s, 0, 1, 2, nearest);
        return false;
    default:
        return nearest_of_tetrahedron(s, apart, nearest);
    }
}

/* Keeps only the supporting corners, in the given order. */
static void simplex_keep(Simplex *s, const Nearest *nearest)
{
    Corner kept[3];
    for (u32 i = 0; i < nearest->count; i++) {
        kept[i] = s->corners[nearest->at[i]];
    }
    for (u32 i = 0; i < nearest->count; i++) {
        s->corners[i] = kept[i];
        s->weights[i] = nearest->weights[i];
    }
    s->count = nearest->count;
}

Vec3d simplex_solve_triangle(Simplex *s)
{
    Nearest nearest;
    nearest_of_triangle(s, 0, 1, 2, &nearest);
    simplex_keep(s, &nearest);
    return nearest.point;
}

void simplex_points(const Simplex *s, Vec3d *on_a, Vec3d *on_b)
{
    *on_a = vec3d_scale(s->corners[0].a, s->weights[0]);
    *on_b = vec3d_scale(s->corners[0].b, s->weights[0]);
    for (u32 i = 1; i < s->count; i++) {
        *on_a = vec3d_add_scaled(*on_a, s->weights[i], s->corners[i].a);
        *on_b = vec3d_add_scaled(*on_b, s->weights[i], s->corners[i].b);
    }
}

/* ---- distance of the cores ---- */

enum {
    WALK_STEPS = 64
};

SupportWalk gjk_walk(const Convex *a, const Convex *b, f64 limit, f64 enough, Vec3d *v, Simplex *s)
{
    f64 size = a->extent + b->extent;
    f64 touch = 1e-11 * size;
    s->count = 0;
    if (!(vec3d_dot(*v, *v) > 0.0)) {
        *v = vec3d(1.0, 0.0, 0.0);
    }
    f64 length = INFINITY; /* of v, once v is a point of a − b */
    f64 low = 0.0;         /* the largest gap proved by an axis, and that axis */
    Vec3d axis = vec3d(0.0, 0.0, 0.0);
    for (u32 step = 0; step < WALK_STEPS; step++) {
        Corner c = corner_along(a, b, vec3d_neg(*v));
        f64 v1 = vec3d_length(*v), along = vec3d_dot(*v, c.w) / v1;
        if (along > limit) {
            return WALK_FAR;
        }
        if (along > low) {
            low = along;
            axis = vec3d_scale(*v, 1.0 / v1);
        }
        if (low > 0.5 * length && length - low <= 1e-9 * (length + size)) {
            break;
        }
        bool known = false;
        for (u32 i = 0; i < s->count; i++) {
            Vec3d d = vec3d_sub(s->corners[i].w, c.w);
            known = known || vec3d_dot(d, d) <= touch * touch;
        }
        if (known) {
            break;
        }
        Nearest next;
        s->corners[s->count++] = c;
        if (nearest_of_simplex(s, low > touch, &next)) {
            return WALK_OVERLAP;
        }
        f64 now = vec3d_length(next.point);
        if (now > touch && !(now < length)) { /* rounding: no progress */
            s->count--;
            break;
        }
        simplex_keep(s, &next);
        if (now <= touch) {
            return WALK_OVERLAP;
        }
        *v = next.point;
        length = now;
        if (length <= enough) {
            return WALK_NEAR;
        }
    }
    /* For round shapes the axis converges later than the length, and not monotonically: use the
     * best. */
    if (low > 0.5 * length) {
        *v = vec3d_scale(axis, length);
    }
    return WALK_APART;
}

/* ---- separation of the rounded shapes ---- */
