/*
 * test_shape.c: mass, bounds and rays of solids against sampling of their interior and against
 * known answers. Meshes and terrains have their own tests.
 */
#include "shared/base/limits.h"
#include "shared/geometry/geometry.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
// cmocka.h needs the first three headers above
#include <cmocka.h>

#include "tests/support/near.h"

static const Shape sphere = {.kind = SHAPE_SPHERE, .radius = 0.7f};
static const Shape box = {.kind = SHAPE_BOX, .half = {0.5f, 0.8f, 0.3f}};
static const Shape capsule = {.kind = SHAPE_CAPSULE, .radius = 0.4f, .half_height = 0.6f};
static const Shape plane = {.kind = SHAPE_PLANE};
static const Shape cylinder = {.kind = SHAPE_CYLINDER, .radius = 0.6f, .half_height = 0.7f};
static const Shape cone = {.kind = SHAPE_CONE, .radius = 0.8f, .half_height = 0.7f};
static Shape hull = {.kind = SHAPE_HULL};
static Shape compound = {.kind = SHAPE_COMPOUND};
static const Shape *const solids[] = {&sphere, &box, &capsule, &cylinder, &cone, &hull, &compound};

/* A hull off its frame's origin; a compound of a rotated cone and a box that do not overlap. */
static int make_geometries(void **state)
{
    (void)state;
    Vec3 points[40];
    for (u32 i = 0; i < 40; i++) {
        points[i] =
            vec3(random_range(21, 3 * i, -0.4f, 0.9f), random_range(21, 3 * i + 1, -0.9f, 0.5f),
                 random_range(21, 3 * i + 2, -0.8f, 0.8f));
    }
    hull.geometry = geometry_hull(points, 40, 64, NULL);
    f32 h = sqrtf(0.5f);
    CompoundChild children[2] = {{{.kind = SHAPE_CONE, .radius = 0.5f, .half_height = 0.45f},
                                  {0.5f, 0.1f, 0.2f},
                                  {h, 0, 0, h}},
                                 {{.kind = SHAPE_BOX, .half = {0.2f, 0.7f, 0.15f}},
                                  {-0.7f, 0.2f, -0.3f},
                                  {0.8f, 0.36f, 0, 0.48f}}};
    compound.geometry = geometry_compound(children, 2, NULL);
    return hull.geometry == NULL || compound.geometry == NULL;
}

static int destroy_geometries(void **state)
{
    (void)state;
    geometry_destroy((Geometry *)hull.geometry);
    geometry_destroy((Geometry *)compound.geometry);
    return 0;
}

static bool solid(const Shape *shape, f64 x, f64 y, f64 z);

static bool solid_compound(const Compound *c, f64 x, f64 y, f64 z)
{
    for (u32 i = 0; i < c->child_count; i++) {
        const CompoundChild *child = &c->children[i];
        Vec3 p = vec3_sub(vec3((f32)x, (f32)y, (f32)z), child->position);
        p = quat_rotate_inverse(child->orientation, p);
        if (solid(&child->shape, p.x, p.y, p.z)) {
            return true;
        }
    }
    return false;
}

static bool solid(const Shape *shape, f64 x, f64 y, f64 z)
{
    f64 r = shape->radius, h = shape->half_height;
    f64 over = fmax(fabs(y) - h, 0.0);
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return x * x + y * y + z * z < r * r;
    case SHAPE_BOX:
        return fabs(x) < (f64)shape->half.x && fabs(y) < (f64)shape->half.y &&
               fabs(z) < (f64)shape->half.z;
    case SHAPE_CAPSULE:
        return x * x + over * over + z * z < r * r;
    case SHAPE_CYLINDER:
        return fabs(y) < h && x * x + z * z < r * r;
    case SHAPE_CONE:
        return fabs(y) < h && sqrt(x * x + z * z) < r * (h - y) / (2 * h);
    case SHAPE_HULL:
        for (u32 f = 0; f < shape->geometry->hull.face_count; f++) {
            Vec3 n = shape->geometry->hull.normals[f];
            if (n.x * x + n.y * y + n.z * z > (f64)shape->geometry->hull.offsets[f]) {
                return false;
            }
        }
        return true;
    case SHAPE_COMPOUND:
        return solid_compound(&shape->geometry->compound, x, y, z);
    default:
        return false;
    }
}

/* Monte Carlo integration with one point per cell: shares only the shape with the formulas. */
static void compare_with_cells(const Shape *shape)
{
    const u32 cells = 64;
    const char *what = shape_kind_name(shape->kind);
    const f64 edge = 2.8 / cells;
    const f64 mass_kg = 3.0;
    f64 n = 0.0, s[3] = {0.0}, ss[3][3] = {{0.0}};
    for (u32 i = 0; i < cells * cells * cells; i++) {
        const u32 cell[3] = {i % cells, i / cells % cells, i / cells / cells};
        f64 p[3];
        for (u32 j = 0; j < 3; j++) { /* random in the cell, so that no face falls between rows */
            p[j] = (cell[j] + (f64)random_f32(31, 3 * (u64)i + j)) * edge - 1.4;
        }
        if (solid(shape, p[0], p[1], p[2])) {
            n += 1.0;
            for (int j = 0; j < 3; j++) {
                s[j] += p[j];
                for (int k = 0; k < 3; k++) {
                    ss[j][k] += p[j] * p[k];
                }
            }
        }
    }
    for (int j = 0; j < 3; j++) {
        s[j] /= n;
    }
    f64 m[3][3]; /* second moments about the centre */
    for (int j = 0; j < 3; j++) {
        for (int k = 0; k < 3; k++) {
            m[j][k] = mass_kg * (ss[j][k] / n - s[j] * s[k]);
        }
    }
    MassProperties mass = shape_mass(shape, (f32)mass_kg);
    f64 tolerance = 0.02 * (m[0][0] + m[1][1] + m[2][2]);
    expect_near(what, shape_volume(shape), n * edge * edge * edge, 0.02 * (f64)shape_volume(shape));
    expect_near(what, mass.mass_kg, mass_kg, 0.0);
    expect_near(what, mass.centre.x, s[0], 0.005);
    expect_near(what, mass.centre.y, s[1], 0.005);
    expect_near(what, mass.centre.z, s[2], 0.005);
    expect_near(what, mass.inertia.xx, m[1][1] + m[2][2], tolerance);
    expect_near(what, mass.inertia.yy, m[0][0] + m[2][2], tolerance);
    expect_near(what, mass.inertia.zz, m[0][0] + m[1][1], tolerance);
    expect_near(what, mass.inertia.xy, -m[0][1], tolerance);
    expect_near(what, mass.inertia.xz, -m[0][2], tolerance);
    expect_near(what, mass.inertia.yz, -m[1][2], tolerance);
    Vec3 diagonal = shape_inertia(shape, (f32)mass_kg);
    assert_true(diagonal.x == mass.inertia.xx && diagonal.y == mass.inertia.yy &&
                diagonal.z == mass.inertia.zz);
}

static void mass_properties(void **state)
{
    (void)state;
    for (u32 i = 0; i < PL_COUNT(solids); i++) {
        compare_with_cells(solids[i]);
        assert_int_equal(shape_is_convex(solids[i]), solids[i] != &compound);
    }
    assert_true(shape_volume(&plane) == 0.0f);
    assert_true(shape_inertia(&plane, 1.0f).x == 0.0f);
    assert_true(shape_mass(&plane, 1.0f).inertia.xx == 0.0f);
    /* Closed formulas for the cone about its centre of mass, a quarter of the height up. */
    MassProperties m = shape_mass(&cone, 2.0f);
    expect_near("cone", m.inertia.yy, 0.3 * 2 * 0.64, 1e-6);
    expect_near("cone", m.inertia.xx, 2 * (3.0 / 20 * 0.64 + 3.0 / 80 * 1.96), 1e-6);
    expect_near("cone", m.centre.y, -0.7 + 0.25 * 1.4, 1e-6);
    m = shape_mass(&cylinder, 2.0f);
    expect_near("cylinder", m.inertia.yy, 0.5 * 2 * 0.36, 1e-6);
    expect_near("cylinder", m.inertia.zz, 2 * (3 * 0.36 + 1.96) / 12, 1e-6);
}

/* A quarter turn about z: x becomes y. */
static Quat quarter(void)
{
    f32 h = sqrtf(0.5f);
    return (Quat){h, 0.0f, 0.0f, h};
}

static void bounds_of_rotated_shapes(void **state)
{
    (void)state;
    Bounds b = shape_bounds(&box, vec3(1.0f, 2.0f, 3.0f), quarter());
    expect_near("box x", b.max.x, 1.8, 1e-6);
    expect_near("box y", b.min.y, 1.5, 1e-6);
    expect_near("box z", b.max.z, 3.3, 1e-6);
    b = shape_bounds(&capsule, vec3_zero(), quarter());
    expect_near("capsule x", b.max.x, 1.0, 1e-6);
    expect_near("capsule y", b.max.y, 0.4, 1e-6);
    b = shape_bounds(&sphere, vec3(1.0f, 0.0f, 0.0f), quarter());
    expect_near("sphere x", b.min.x, 0.3, 1e-6);
    assert_true(shape_bounds(&plane, vec3_zero(), quarter()).max.x == WORLD_EXTENT_MAX_M);
}

/* A point on the surface or inside, as far as possible in a random direction. */
static Vec3 surface_point(const Shape *shape, u64 seed)
{
    f32 a = random_range(seed, 0, 0, 6.2831853f);
    f32 y = random_range(seed, 1, -1, 1), rest = sqrtf(1 - y * y);
    Vec3 d = vec3(rest * cosf(a), y, rest * sinf(a));
    f32 r = shape->radius, h = shape->half_height;
    f32 side = y < 0 ? -1.0f : 1.0f;
    Vec3 rim = vec3(r * cosf(a), 0, r * sinf(a));
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return vec3_scale(d, r);
    case SHAPE_BOX:
        return vec3_mul(shape->half, vec3(d.x < 0 ? -1 : 1, side, d.z < 0 ? -1 : 1));
    case SHAPE_CAPSULE:
        return vec3_add(vec3_scale(d, r), vec3(0, side * h, 0));
    case SHAPE_CYLINDER:
        return vec3_add(rim, vec3(0, side * h, 0));
    case SHAPE_CONE:
        return y > 0.5f ? vec3(0, h, 0) : vec3_add(rim, vec3(0, -h, 0));
    case SHAPE_HULL:
        return shape->geometry->hull.vertices[seed % shape->geometry->hull.vertex_count];
    default: {
        const Compound *c = &shape->geometry->compound;
        const CompoundChild *child = &c->children[seed % c->child_count];
        Vec3 p = surface_point(&child->shape, seed + 1);
        return vec3_add(child->position, quat_rotate(child->orientation, p));
    }
    }
}

/* No point of the surface lies outside, and the bounds are no larger than necessary. */
static void bounds_are_tight(void **state)
{
    (void)state;
    for (u32 i = 0; i < PL_COUNT(solids); i++) {
        const Shape *shape = solids[i];
        f32 reach = 0;
        for (u64 pose = 0; pose < 30; pose++) {
            Vec3 at = vec3(random_range(pose, 1, -9, 9), random_range(pose, 2, -9, 9), 3);
            Quat q = {random_range(pose, 3, -1, 1), random_range(pose, 4, -1, 1),
                      random_range(pose, 5, -1, 1), random_range(pose, 6, -1, 1)};
            q = pose == 0 ? quat_identity() : quat_normalize(q);
            Bounds b = shape_bounds(shape, at, q);
            Vec3 low = vec3(99, 99, 99), high = vec3(-99, -99, -99);
            for (u64 k = 0; k < 4000; k++) {
                Vec3 p = surface_point(shape, 5000 * pose + k);
                reach = f32_max(reach, vec3_length(p));
                p = vec3_add(at, quat_rotate(q, p));
                low = vec3_min(low, p);
                high = vec3_max(high, p);
            }
            const f32 got[6] = {b.min.x, b.min.y, b.min.z, -b.max.x, -b.max.y, -b.max.z};
            const f32 seen[6] = {low.x, low.y, low.z, -high.x, -high.y, -high.z};
            for (int k = 0; k < 6; k++) {
                if (!(got[k] <= seen[k] + 4e-6f && got[k] >= seen[k] - 0.015f)) {
                    fail_msg("%s: side %d of the bounds at %g, points up to %g",
                             shape_kind_name(shape->kind), k, (f64)got[k], (f64)seen[k]);
                }
            }
        }
        f32 got = shape_reach(shape);
        assert_true(got >= reach - 1e-6f);
        if (shape != &compound) { /* whose reach adds up those of its children */
            expect_near("reach", got, reach, 1e-3);
        }
    }
}

static void expect_hit(const Shape *shape, Vec3 origin, Vec3 direction, f64 distance, Vec3 normal)
{
    f32 t = -1.0f;
    Vec3 n = vec3_zero();
    Vec3 at = vec3(5.0f, -2.0f, 1.0f);
    Ray ray = {vec3_add(origin, at), direction};
    assert_true(shape_ray(shape, at, quat_identity(), ray, 100.0f, &t, &n));
    expect_near(shape_kind_name(shape->kind), t, distance, 1e-5);
    expect_near(shape_kind_name(shape->kind), vec3_dot(n, normal), 1.0, 1e-5);
    assert_false(shape_ray(shape, at, quat_identity(), ray, (f32)distance - 0.01f, NULL, NULL));
}

static void rays_with_known_answers(void **state)
{
    (void)state;
    Vec3 x = vec3(1.0f, 0.0f, 0.0f);
    Vec3 y = vec3(0.0f, 1.0f, 0.0f);
    expect_hit(&sphere, vec3(-3.0f, 0.0f, 0.0f), x, 2.3, vec3_neg(x));
    expect_hit(&box, vec3(3.0f, 0.1f, 0.1f), vec3_neg(x), 2.5, x);
    expect_hit(&box, vec3(0.1f, 4.0f, 0.1f), vec3_neg(y), 3.2, y);
    expect_hit(&capsule, vec3(0.0f, 5.0f, 0.0f), vec3_neg(y), 4.0, y);
    expect_hit(&capsule, vec3(-2.0f, 0.3f, 0.0f), x, 1.6, vec3_neg(x));
    expect_hit(&plane, vec3(0.0f, 2.0f, 0.0f), vec3(0.6f, -0.8f, 0.0f), 2.5, y);
    expect_hit(&cylinder, vec3(-3.0f, 0.0f, 0.0f), x, 2.4, vec3_neg(x));
    expect_hit(&cylinder, vec3(-3.0f, 0.69f, 0.0f), x, 2.4, vec3_neg(x));
    expect_hit(&cylinder, vec3(0.59f, 3.0f, 0.0f), vec3_neg(y), 2.3, y);
    expect_hit(&cylinder, vec3(0.0f, -3.0f, 0.59f), y, 2.3, vec3_neg(y));
    /* The cone's side at y = 0 lies at half its radius; its normal is (height, radius). */
    Vec3 slope = vec3_normalize_or(vec3(-1.4f, 0.8f, 0.0f), y);
    expect_hit(&cone, vec3(-3.0f, 0.0f, 0.0f), x, 2.6, slope);
    expect_hit(&cone, vec3(-0.4f, 3.0f, 0.0f), vec3_neg(y), 3.0, slope);
    expect_hit(&cone, vec3(0.7f, -3.0f, 0.0f), y, 2.3, vec3_neg(y));
    expect_hit(&cone, vec3(0.0f, 3.0f, 0.0f), vec3_neg(y), 2.3, y);
    Ray miss = {vec3(-3.0f, 0.71f, 0.0f), x};
    assert_false(shape_ray(&sphere, vec3_zero(), quat_identity(), miss, 100.0f, NULL, NULL));
    Ray away = {vec3(3.0f, 0.0f, 0.0f), x};
    assert_false(shape_ray(&box, vec3_zero(), quat_identity(), away, 100.0f, NULL, NULL));
    f32 t;
    Ray inside = {vec3(0.1f, 0.1f, 0.1f), x};
    assert_true(shape_ray(&box, vec3_zero(), quat_identity(), inside, 100.0f, &t, NULL));
    assert_true(t == 0.0f);
}

/* Surface points found by rays: a step back is outside the solid, a step on is inside. */
static void random_rays_end_on_the_surface(void **state)
{
    (void)state;
    u32 hits[PL_COUNT(solids)] = {0};
    for (u64 i = 0; i < 70000; i++) {
        const Shape *shape = solids[i % PL_COUNT(solids)];
        Vec3 from = vec3(random_range(1, 6 * i, -3, 3), random_range(1, 6 * i + 1, -3, 3),
                         random_range(1, 6 * i + 2, 1.5f, 3));
        Vec3 to = vec3(random_range(1, 6 * i + 3, -1, 1), random_range(1, 6 * i + 4, -1, 1),
                       random_range(1, 6 * i + 5, -1, 1));
        Ray ray = {from, vec3_normalize_or(vec3_sub(to, from), vec3(0.0f, 0.0f, -1.0f))};
        f32 t = 0.0f;
        Vec3 n = vec3_zero();
        bool hit = shape_ray(shape, vec3_zero(), quat_identity(), ray, 100.0f, &t, &n);
        /* No solid point before the hit, or on the whole ray if there is none. */
        f32 end = hit ? t - 1e-4f : 8.0f;
        for (u32 k = 0; k < 20; k++) {
            Vec3 p = vec3_add_scaled(from, end * (f32)k / 19.0f, ray.direction);
            assert_false(solid(shape, p.x, p.y, p.z));
        }
        if (!hit) {
            continue;
        }
        hits[i % PL_COUNT(solids)]++;
        Vec3 p = vec3_add_scaled(from, t, ray.direction);
        Vec3 out = vec3_add_scaled(p, 1e-4f, n);
        Vec3 in = vec3_add_scaled(p, -1e-4f, n);
        assert_false(solid(shape, out.x, out.y, out.z));
        if (shape != &cone || p.y < 0.69f) { /* where a step inwards stays inside */
            assert_true(solid(shape, in.x, in.y, in.z));
        }
        expect_near("unit normal", vec3_length(n), 1.0, 1e-5);
        assert_true(vec3_dot(n, ray.direction) <= 1e-4f);
    }
    for (u32 i = 0; i < PL_COUNT(solids); i++) {
        assert_true(hits[i] > 1000);
    }
}

static void rays_from_inside_hit_at_once(void **state)
{
    (void)state;
    for (u64 i = 0; i < 20000; i++) {
        const Shape *shape = solids[i % PL_COUNT(solids)];
        Vec3 p = vec3(random_range(2, 6 * i, -1, 1), random_range(2, 6 * i + 1, -1, 1),
                      random_range(2, 6 * i + 2, -1, 1));
        Vec3 d = vec3_normalize_or(vec3(random_range(2, 6 * i + 3, -1, 1),
                                        random_range(2, 6 * i + 4, -1, 1),
                                        random_range(2, 6 * i + 5, -1, 1)),
                                   vec3(0, 1, 0));
        d = i % 5 == 0 ? vec3(0, i % 2 ? 1 : -1, 0) : d;
        f32 t = -1;
        Vec3 n = vec3_zero();
        bool hit = shape_ray(shape, vec3_zero(), quat_identity(), (Ray){p, d}, 9, &t, &n);
        if (solid(shape, p.x, p.y, p.z)) {
            assert_true(hit && t == 0.0f);
            expect_near("against the ray", vec3_dot(n, d), -1.0, 1e-5);
        } else {
            assert_true(!hit || t > 0.0f);
        }
    }
}

/* Whether it hits, and where. The distance of a grazing ray is accurate to the square root of the
 * rounding error. */
static bool hits(const Shape *shape, Vec3 origin, Vec3 direction, f64 expected)
{
    f32 t = -1;
    Vec3 n = vec3_zero();
    Ray ray = {origin, direction};
    bool hit = shape_ray(shape, vec3_zero(), quat_identity(), ray, 20000, &t, &n);
    if (hit) {
        assert_true(vec3_is_finite(n));
        expect_near(shape_kind_name(shape->kind), t, expected, 1e-3 + 1e-7 * expected);
    }
    return hit;
}

/* Just within and just outside a ray's reach, along faces and axes, from far away. */
static void grazing_rays(void **state)
{
    (void)state;
    Vec3 x = vec3(1, 0, 0), down = vec3(0, -1, 0);
    for (int far = 0; far < 2; far++) {
        f32 from = far ? -16000.0f : -3.0f;
        f64 at = -(f64)from;
        assert_true(hits(&sphere, vec3(from, 0.6999999f, 0), x, at));
        assert_false(hits(&sphere, vec3(from, 0.7000001f, 0), x, 0));
        assert_true(hits(&box, vec3(from, 0.7999999f, 0.2999999f), x, at - 0.5));
        assert_false(hits(&box, vec3(from, 0.8000001f, 0), x, 0));
        assert_true(hits(&cylinder, vec3(from, 0.6999999f, 0), x, at - 0.6));
        assert_false(hits(&cylinder, vec3(from, 0.7000001f, 0), x, 0));
        assert_true(hits(&cylinder, vec3(0.5999999f, -from, 0), down, at - 0.7));
        assert_false(hits(&cylinder, vec3(0.6000001f, -from, 0), down, 0));
        assert_false(hits(&cylinder, vec3(from, 0, 0.6000001f), x, 0));
        assert_true(hits(&cone, vec3(0.7999999f, -from, 0), down, at + 0.7));
        assert_false(hits(&cone, vec3(0.8000001f, -from, 0), down, 0));
        assert_true(hits(&cone, vec3(from, -0.6999999f, 0), x, at - 0.8));
        assert_false(hits(&cone, vec3(from, -0.7000001f, 0), x, 0));
        assert_true(hits(&cone, vec3(from, 0.699999f, 0), x, at));
        assert_false(hits(&cone, vec3(from, 0.7000001f, 0), x, 0));
        assert_true(hits(&capsule, vec3(from, 0.9999999f, 0), x, at));
        assert_false(hits(&capsule, vec3(from, 1.0000001f, 0), x, 0));
    }
    /* Down along the cone's side, where the leading coefficient vanishes: inside, the ray meets the
     * side near the apex; outside, never. */
    Vec3 side = vec3_normalize_or(vec3(0.8f, -1.4f, 0), x);
    for (int k = 1; k < 4; k++) {
        Vec3 in = vec3_add_scaled(vec3(-1e-3f * (f32)k, 0.7f, 0), -2.0f, side);
        Vec3 out = vec3_add_scaled(vec3(1e-3f * (f32)k, 0.7f, 0), -2.0f, side);
        f64 along = 2.0 + 0.5e-3 * k / (f64)side.x;
        assert_true(hits(&cone, in, side, along));
        assert_false(hits(&cone, out, side, 0));
    }
}

/* For any numbers: a finite hit or none. */
static void hostile_rays_give_no_nan(void **state)
{
    (void)state;
    const f32 odd[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.7f, 1e-38f, 1e-45f, 1e30f, INFINITY, NAN, 0.6f};
    for (u64 i = 0; i < 40000; i++) {
        f32 v[6];
        for (u64 k = 0; k < 6; k++) {
            v[k] = odd[random_u64(3, 6 * i + k) % PL_COUNT(odd)];
        }
        const Shape *shape = i % 8 == 7 ? &plane : solids[i % 8];
        Ray ray = {vec3(v[0], v[1], v[2]), vec3(v[3], v[4], v[5])};
        f32 t = 0;
        Vec3 n = vec3_zero();
        if (shape_ray(shape, vec3_zero(), quat_identity(), ray, i % 3 ? 1e9f : INFINITY, &t, &n)) {
            assert_true(t >= 0.0f && !isnan(n.x) && !isnan(n.y) && !isnan(n.z));
        }
    }
}

/* At a pose the hit equals that of the ray in the local frame. */
static void rays_at_a_pose(void **state)
{
    (void)state;
    Quat q = quat_normalize((Quat){0.3f, -0.5f, 0.7f, 0.2f});
    Vec3 at = vec3(5, 6, -7);
    u32 both = 0;
    for (u64 i = 0; i < 7000; i++) {
        const Shape *shape = solids[i % PL_COUNT(solids)];
        Vec3 from = vec3(random_range(4, 6 * i, -3, 3), 2, random_range(4, 6 * i + 2, -3, 3));
        Vec3 to = vec3(random_range(4, 6 * i + 3, -1, 1), random_range(4, 6 * i + 4, -1, 1), 0);
        Ray ray = {from, vec3_normalize_or(vec3_sub(to, from), vec3(0, -1, 0))};
        Ray moved = {vec3_add(at, quat_rotate(q, from)), quat_rotate(q, ray.direction)};
        f32 t = 0, u = 0;
        Vec3 n = vec3_zero(), m = vec3_zero();
        bool hit = shape_ray(shape, vec3_zero(), quat_identity(), ray, 50, &t, &n);
        bool again = shape_ray(shape, at, q, moved, 50, &u, &m);
        if (hit && again && vec3_dot(n, ray.direction) < -0.1f) {
            if (fabsf(t - u) < 1e-4f) { /* otherwise one hits an edge that the other misses */
                both++;
                expect_near("normal", vec3_distance(quat_rotate(q, n), m), 0.0, 2e-2);
            }
        }
    }
    assert_true(both > 2000);
}

static void expect_error(const CompoundChild *children, u32 count, const char *text)
{
    ErrorText error = {0};
    assert_null(geometry_compound(children, count, &error));
    assert_true(error.code < 0);
    if (strstr(error.text, text) == NULL) {
        fail_msg("got \"%s\", expected it to say \"%s\"", error.text, text);
    }
}

static void invalid_compounds_are_refused(void **state)
{
    (void)state;
    CompoundChild children[COMPOUND_CHILDREN_MAX + 1];
    for (u32 i = 0; i < PL_COUNT(children); i++) {
        children[i] = (CompoundChild){box, vec3_zero(), quat_identity()};
    }
    expect_error(children, 0, "0 children");
    expect_error(children, PL_COUNT(children), "65 children");
    children[3].shape = plane;
    expect_error(children, 5, "child 3 is a plane");
    children[3].shape = compound;
    expect_error(children, 5, "child 3 is a compound");
    children[3].shape = sphere;
    children[3].shape.radius = NAN;
    expect_error(children, 5, "child 3: size of the sphere");
    children[3].shape.radius = 0.0f;
    expect_error(children, 5, "child 3: size");
    children[3].shape = box;
    children[3].shape.half = vec3(-1.0f, -1.0f, 1.0f); /* its volume is positive */
    expect_error(children, 5, "child 3: size of the box");
    children[3].shape = (Shape){.kind = SHAPE_HULL, .geometry = compound.geometry};
    expect_error(children, 5, "child 3: size of the hull");
    children[3].shape = box;
    children[4].position.y = NAN;
    expect_error(children, 5, "child 4: position");
    children[4].position.y = 0.0f;
    children[1].orientation.w = 0.5f;
    expect_error(children, 5, "child 1: orientation");
}

/* For a solid of revolution about y: the largest inscribed ball centred on the axis, by search. The
 * profile runs from the axis at the bottom to the axis at the top. */
static f64 inner_by_trying(const f64 profile[][2], u32 corners)
{
    f64 best = 0.0;
    for (u32 i = 1; i < 1000; i++) {
        f64 y = profile[0][1] + (profile[corners - 1][1] - profile[0][1]) * i / 1000.0;
        f64 least = INFINITY;
        for (u32 k = 1; k < corners; k++) {
            for (u32 s = 0; s <= 1000; s++) {
                f64 part = s / 1000.0;
                f64 r = profile[k - 1][0] + part * (profile[k][0] - profile[k - 1][0]);
                f64 h = profile[k - 1][1] + part * (profile[k][1] - profile[k - 1][1]) - y;
                least = fmin(least, sqrt(r * r + h * h));
            }
        }
        best = fmax(best, least);
    }
    return best;
}

static void inner_radius(void **state)
{
    PL_UNUSED(state);
    const f64 r = (f64)cone.radius, h = (f64)cone.half_height;
    const f64 cone_profile[][2] = {{0.0, -h}, {r, -h}, {0.0, h}};
    const f64 flat[][2] = {{0.0, -0.1}, {r, -0.1}, {0.0, 0.1}};
    const f64 cr = (f64)cylinder.radius, ch = (f64)cylinder.half_height;
    const f64 cylinder_profile[][2] = {{0.0, -ch}, {cr, -ch}, {cr, ch}, {0.0, ch}};
    const Shape flat_cone = {.kind = SHAPE_CONE, .radius = cone.radius, .half_height = 0.1f};
    assert_float_equal(shape_inner_radius(&cone), inner_by_trying(cone_profile, 3), 2e-3);
    assert_float_equal(shape_inner_radius(&flat_cone), inner_by_trying(flat, 3), 2e-3);
    assert_float_equal(shape_inner_radius(&cylinder), inner_by_trying(cylinder_profile, 4), 2e-3);
    assert_float_equal(shape_inner_radius(&capsule), capsule.radius, 0.0);
    const Shape thin = {.kind = SHAPE_BOX, .half = {0.3f, 0.02f, 0.5f}};
    assert_float_equal(shape_inner_radius(&thin), 0.02f, 0.0);
    assert_float_equal(shape_inner_radius(&plane), 0.0, 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_properties),
        cmocka_unit_test(bounds_of_rotated_shapes),
        cmocka_unit_test(bounds_are_tight),
        cmocka_unit_test(rays_with_known_answers),
        cmocka_unit_test(random_rays_end_on_the_surface),
        cmocka_unit_test(rays_from_inside_hit_at_once),
        cmocka_unit_test(grazing_rays),
        cmocka_unit_test(hostile_rays_give_no_nan),
        cmocka_unit_test(rays_at_a_pose),
        cmocka_unit_test(invalid_compounds_are_refused),
        cmocka_unit_test(inner_radius),
    };
    return cmocka_run_group_tests_name("shape", tests, make_geometries, destroy_geometries);
}
