/*
 * solids.h: random convex shapes and poses for tests of distances and contacts, hand-made hulls,
 * and an independent support function to check results.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_UNIT_RIGID_SOLIDS_H
#define PLENUM_TESTS_UNIT_RIGID_SOLIDS_H

#include "server/physics/rigid/narrow/manifold.h"
#include "shared/math/random.h"

#include <assert.h>
#include <string.h>

enum {
    SOLID_HULL_VERTICES = 16,
    SOLID_HULL_FACES = 16,
    SOLID_HULL_EDGES = 64,
    SOLID_HULL_KINDS = 4 /* box, tetrahedron, hexagonal prism, octahedron */
};

typedef struct SolidHull {
    Geometry geometry;
    Vec3 vertices[SOLID_HULL_VERTICES];
    Vec3 normals[SOLID_HULL_FACES];
    f32 offsets[SOLID_HULL_FACES];
    u16 face_edges[SOLID_HULL_FACES];
    HalfEdge edges[SOLID_HULL_EDGES];
} SolidHull;

/* faces: counter-clockwise vertex lists, each ended by -1; the list of faces ends with -1. */
static inline void solid_hull(SolidHull *s, const Vec3 *vertices, u32 count, const i8 *faces)
{
    memset(s, 0, sizeof(*s));
    Hull *h = &s->geometry.hull;
    s->geometry.kind = GEOMETRY_HULL;
    h->vertices = s->vertices;
    h->normals = s->normals;
    h->offsets = s->offsets;
    h->face_edges = s->face_edges;
    h->edges = s->edges;
    h->vertex_count = count;
    s->geometry.bounds.min = s->geometry.bounds.max = vertices[0];
    for (u32 i = 0; i < count; i++) {
        s->vertices[i] = vertices[i];
        s->geometry.bounds.min = vec3_min(s->geometry.bounds.min, vertices[i]);
        s->geometry.bounds.max = vec3_max(s->geometry.bounds.max, vertices[i]);
        h->inside = vec3_add_scaled(h->inside, 1.0f / (f32)count, vertices[i]);
    }
    h->inner_radius = INFINITY;
    for (const i8 *f = faces; *f >= 0; f++) {
        u32 first = h->edge_count;
        for (; *f >= 0; f++) {
            HalfEdge *e = &s->edges[h->edge_count];
            e->origin = (u8)*f;
            e->face = (u8)h->face_count;
            e->next = (u16)(f[1] >= 0 ? h->edge_count + 1 : first);
            h->edge_count++;
        }
        Vec3 a = vertices[s->edges[first].origin], b = vertices[s->edges[first + 1].origin];
        Vec3 c = vertices[s->edges[first + 2].origin];
        Vec3 n = vec3_normalize_or(vec3_cross(vec3_sub(b, a), vec3_sub(c, a)), vec3_zero());
        s->normals[h->face_count] = n;
        s->offsets[h->face_count] = vec3_dot(n, a);
        s->face_edges[h->face_count] = (u16)first;
        f32 depth = vec3_dot(n, a) - vec3_dot(n, h->inside);
        assert(depth > 0.0f);
        h->inner_radius = f32_min(h->inner_radius, depth);
        h->face_count++;
    }
    for (u32 i = 0; i < h->edge_count; i++) {
        s->edges[i].twin = UINT16_MAX;
        for (u32 j = 0; j < h->edge_count; j++) {
            if (s->edges[j].origin == s->edges[s->edges[i].next].origin &&
                s->edges[s->edges[j].next].origin == s->edges[i].origin) {
                s->edges[i].twin = (u16)j;
            }
        }
        assert(s->edges[i].twin != UINT16_MAX);
    }
}

/* One of SOLID_HULL_KINDS hulls in a box of half extents `half`. */
static inline void solid_hull_kind(SolidHull *s, u32 kind, Vec3 half)
{
    static const i8 box[] = {0, 4, 6, 2,  -1, 1, 3, 7, 5,  -1, 0, 1, 5, 4,  -1, 2,
                             6, 7, 3, -1, 0,  2, 3, 1, -1, 4,  5, 7, 6, -1, -1};
    static const i8 tetrahedron[] = {0, 1, 2, -1, 0, 3, 1, -1, 0, 2, 3, -1, 1, 3, 2, -1, -1};
    static const i8 octahedron[] = {0, 2, 4,  -1, 2, 1, 4,  -1, 1, 3, 4,  -1, 3, 0, 4,  -1, 2,
                                    0, 5, -1, 1,  2, 5, -1, 3,  1, 5, -1, 0,  3, 5, -1, -1};
    static const i8 prism[] = {5, 4,  3, 2,  1, 0, -1, 6,  7,  8, 9, 10, 11, -1, 0,
                               1, 7,  6, -1, 1, 2, 8,  7,  -1, 2, 3, 9,  8,  -1, 3,
                               4, 10, 9, -1, 4, 5, 11, 10, -1, 5, 0, 6,  11, -1, -1};
    Vec3 v[12];
    u32 count = 0;
    const i8 *faces = box;
    switch (kind) {
    case 0:
        for (u32 i = 0; i < 8; i++) {
            v[count++] = vec3(i & 1 ? 1.0f : -1.0f, i & 2 ? 1.0f : -1.0f, i & 4 ? 1.0f : -1.0f);
        }
        break;
    case 1:
        v[0] = vec3(1, 1, 1);
        v[1] = vec3(1, -1, -1);
        v[2] = vec3(-1, 1, -1);
        v[3] = vec3(-1, -1, 1);
        count = 4;
        faces = tetrahedron;
        break;
    case 2:
        for (u32 i = 0; i < 12; i++) {
            static const f32 c[6] = {1.0f, 0.5f, -0.5f, -1.0f, -0.5f, 0.5f};
            static const f32 r[6] = {0.0f, -0.866025404f, -0.866025404f,
                                     0.0f, 0.866025404f,  0.866025404f};
            v[count++] = vec3(c[i % 6], i < 6 ? -1.0f : 1.0f, r[i % 6]);
        }
        faces = prism;
        break;
    default:
        v[0] = vec3(1, 0, 0);
        v[1] = vec3(-1, 0, 0);
        v[2] = vec3(0, 1, 0);
        v[3] = vec3(0, -1, 0);
        v[4] = vec3(0, 0, 1);
        v[5] = vec3(0, 0, -1);
        count = 6;
        faces = octahedron;
        break;
    }
    for (u32 i = 0; i < count; i++) {
        v[i] = vec3_mul(v[i], half);
    }
    solid_hull(s, v, count, faces);
}

static inline Vec3 solid_direction(u64 seed, u64 at)
{
    Vec3 v;
    u64 k = at * 64;
    do {
        v = vec3(random_range(seed, k, -1, 1), random_range(seed, k + 1, -1, 1),
                 random_range(seed, k + 2, -1, 1));
        k += 3;
    } while (vec3_length_squared(v) > 1.0f || vec3_length_squared(v) < 0.01f);
    return vec3_normalize_or(v, vec3(0, 1, 0));
}

static inline Quat solid_rotation(u64 seed, u64 at)
{
    Quat q = {random_range(seed, at * 4, -1, 1), random_range(seed, at * 4 + 1, -1, 1),
              random_range(seed, at * 4 + 2, -1, 1), random_range(seed, at * 4 + 3, -1, 1)};
    return quat_normalize(q);
}

/* A random size between low and high, log-uniform. */
static inline f32 solid_size(u64 seed, u64 at, f32 low, f32 high)
{
    f32 t = random_f32(seed, at);
    f32 s = low;
    for (u32 i = 0; i < 10; i++) { /* low × (high / low)^t by the binary digits of t */
        t *= 2.0f;
        f32 root = high / low;
        for (u32 k = 0; k <= i; k++) {
            root = sqrtf(root);
        }
        if (t >= 1.0f) {
            t -= 1.0f;
            s *= root;
        }
    }
    return s;
}

/* A convex shape of the kind with random sizes between low and high; `hull` stores the hull of
 * SHAPE_HULL. */
static inline Shape solid_shape(ShapeKind kind, u64 seed, f32 low, f32 high, SolidHull *hull)
{
    Shape s;
    memset(&s, 0, sizeof(s));
    s.kind = kind;
    s.radius = solid_size(seed, 1000, low, high);
    s.half_height = solid_size(seed, 1001, low, high);
    s.half = vec3(solid_size(seed, 1002, low, high), solid_size(seed, 1003, low, high),
                  solid_size(seed, 1004, low, high));
    if (kind == SHAPE_HULL) {
        solid_hull_kind(hull, (u32)(random_u64(seed, 1005) % SOLID_HULL_KINDS), s.half);
        s.geometry = &hull->geometry;
    }
    return s;
}

static const ShapeKind solid_kinds[] = {SHAPE_SPHERE,   SHAPE_BOX,  SHAPE_CAPSULE,
                                        SHAPE_CYLINDER, SHAPE_CONE, SHAPE_HULL};

/* Distance of p (world) outside the shape, in f64; ≤ 0 inside. For points outside a box, hull,
 * cylinder or cone a lower bound of the distance. */
static inline f64 solid_outside(const ShapePose *pose, Vec3 world)
{
    Vec3 d = vec3_sub(world, pose->position);
    Vec3 p = quat_rotate_inverse(pose->orientation, d);
    const Shape *s = pose->shape;
    f64 across = sqrt((f64)p.x * (f64)p.x + (f64)p.z * (f64)p.z);
    f64 h = (f64)s->half_height, r = (f64)s->radius;
    switch (s->kind) {
    case SHAPE_SPHERE:
        return (f64)vec3_length(p) - r;
    case SHAPE_CAPSULE: {
        f64 y = fabs((f64)p.y) - h;
        return sqrt(across * across + (y > 0.0 ? y * y : 0.0)) - r;
    }
    case SHAPE_BOX: {
        Vec3 o = vec3_sub(vec3_abs(p), s->half);
        return (f64)f32_max(o.x, f32_max(o.y, o.z));
    }
    case SHAPE_CYLINDER:
        return fmax(across - r, fabs((f64)p.y) - h);
    case SHAPE_CONE: {
        f64 slant = sqrt(r * r + 4.0 * h * h);
        return fmax(-h - (f64)p.y, (across * 2.0 * h + ((f64)p.y - h) * r) / slant);
    }
    default: {
        const Hull *hull = &s->geometry->hull;
        f64 most = -INFINITY;
        for (u32 f = 0; f < hull->face_count; f++) {
            most = fmax(most, (f64)vec3_dot(hull->normals[f], p) - (f64)hull->offsets[f]);
        }
        return most;
    }
    }
}

/* max over the shape of n · x (world), independent of the code under test; n is a unit vector. */
static inline f64 solid_reach(const ShapePose *pose, Vec3 n)
{
    Vec3 d = quat_rotate_inverse(pose->orientation, n);
    const Shape *s = pose->shape;
    f64 x = (f64)d.x, y = (f64)d.y, z = (f64)d.z, across = sqrt(x * x + z * z);
    f64 h = (f64)s->half_height, r = (f64)s->radius, reach = 0.0;
    switch (s->kind) {
    case SHAPE_SPHERE:
        reach = r;
        break;
    case SHAPE_CAPSULE:
        reach = r + h * fabs(y);
        break;
    case SHAPE_BOX:
        reach = fabs(x) * (f64)s->half.x + fabs(y) * (f64)s->half.y + fabs(z) * (f64)s->half.z;
        break;
    case SHAPE_CYLINDER:
        reach = across * r + fabs(y) * h;
        break;
    case SHAPE_CONE:
        reach = fmax(y * h, across * r - y * h);
        break;
    default: {
        const Hull *hull = &s->geometry->hull;
        reach = -INFINITY;
        for (u32 i = 0; i < hull->vertex_count; i++) {
            Vec3 v = hull->vertices[i];
            reach = fmax(reach, x * (f64)v.x + y * (f64)v.y + z * (f64)v.z);
        }
    }
    }
    return reach + (f64)n.x * (f64)pose->position.x + (f64)n.y * (f64)pose->position.y +
           (f64)n.z * (f64)pose->position.z;
}

/* The gap between the shapes along n (from a to b): the separation that n alone proves. */
static inline f64 solid_gap(const ShapePose *a, const ShapePose *b, Vec3 n)
{
    return -solid_reach(b, vec3_neg(n)) - solid_reach(a, n);
}

#endif
