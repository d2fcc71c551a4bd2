/* test_shape.c: mass, bounds and rays of the primitives against sampling and known answers. */
#include "shared/limits.h"
#include "shared/random.h"
#include "shared/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka wants the four above first
#include <cmocka.h>

static const Shape sphere = {.kind = SHAPE_SPHERE, .radius = 0.7f};
static const Shape box = {.kind = SHAPE_BOX, .half = {0.5f, 0.8f, 0.3f}};
static const Shape capsule = {.kind = SHAPE_CAPSULE, .radius = 0.4f, .half_height = 0.6f};
static const Shape plane = {.kind = SHAPE_PLANE};

static void expect_near(const char *what, f64 got, f64 expected, f64 tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) {
        fail_msg("%s: got %.7g, expected %.7g", what, got, expected);
    }
}

static bool solid(const Shape *shape, f64 x, f64 y, f64 z)
{
    if (shape->kind == SHAPE_SPHERE) {
        return x * x + y * y + z * z < (f64)shape->radius * (f64)shape->radius;
    }
    if (shape->kind == SHAPE_BOX) {
        return fabs(x) < (f64)shape->half.x && fabs(y) < (f64)shape->half.y &&
               fabs(z) < (f64)shape->half.z;
    }
    f64 over = fmax(fabs(y) - (f64)shape->half_height, 0.0);
    return x * x + over * over + z * z < (f64)shape->radius * (f64)shape->radius;
}

/* Sums a grid of small cells: shares nothing with the formulas but the shape. */
static void compare_with_cells(const char *what, const Shape *shape)
{
    const f64 edge = 2.2 / 128;
    f64 volume = 0.0;
    f64 xx = 0.0, yy = 0.0, zz = 0.0;
    for (int i = 0; i < 128; i++) {
        for (int j = 0; j < 128; j++) {
            for (int k = 0; k < 128; k++) {
                f64 x = (i + 0.5) * edge - 1.1;
                f64 y = (j + 0.5) * edge - 1.1;
                f64 z = (k + 0.5) * edge - 1.1;
                if (solid(shape, x, y, z)) {
                    volume += 1.0;
                    xx += x * x;
                    yy += y * y;
                    zz += z * z;
                }
            }
        }
    }
    Vec3 inertia = shape_inertia(shape, 3.0f);
    expect_near(what, shape_volume(shape), volume * edge * edge * edge,
                0.02 * (f64)shape_volume(shape));
    expect_near(what, inertia.x, 3.0 * (yy + zz) / volume, 0.02 * (f64)inertia.x);
    expect_near(what, inertia.y, 3.0 * (xx + zz) / volume, 0.02 * (f64)inertia.y);
    expect_near(what, inertia.z, 3.0 * (xx + yy) / volume, 0.02 * (f64)inertia.z);
}

static void mass_properties(void **state)
{
    (void)state;
    compare_with_cells("sphere", &sphere);
    compare_with_cells("box", &box);
    compare_with_cells("capsule", &capsule);
    assert_true(shape_volume(&plane) == 0.0f);
    assert_true(shape_inertia(&plane, 1.0f).x == 0.0f);
}

/* A quarter turn about z: x becomes y. */
static Quat quarter(void)
{
    f32 h = sqrtf(0.5f);
    return (Quat){h, 0.0f, 0.0f, h};
}

static void bounds_of_turned_shapes(void **state)
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
    Ray miss = {vec3(-3.0f, 0.71f, 0.0f), x};
    assert_false(shape_ray(&sphere, vec3_zero(), quat_identity(), miss, 100.0f, NULL, NULL));
    Ray away = {vec3(3.0f, 0.0f, 0.0f), x};
    assert_false(shape_ray(&box, vec3_zero(), quat_identity(), away, 100.0f, NULL, NULL));
    f32 t;
    Ray inside = {vec3(0.1f, 0.1f, 0.1f), x};
    assert_true(shape_ray(&box, vec3_zero(), quat_identity(), inside, 100.0f, &t, NULL));
    assert_true(t == 0.0f);
}

/* Surface points of the hits: a step back lies outside the solid, a step on lies inside. */
static void random_rays_end_on_the_surface(void **state)
{
    (void)state;
    const Shape *shapes[] = {&sphere, &box, &capsule};
    u32 hits = 0;
    for (u64 i = 0; i < 30000; i++) {
        Vec3 from = vec3(random_range(1, 6 * i, -3, 3), random_range(1, 6 * i + 1, -3, 3),
                         random_range(1, 6 * i + 2, 1.1f, 3));
        Vec3 to = vec3(random_range(1, 6 * i + 3, -1, 1), random_range(1, 6 * i + 4, -1, 1),
                       random_range(1, 6 * i + 5, -1, 1));
        Ray ray = {from, vec3_normalize_or(vec3_sub(to, from), vec3(0.0f, 0.0f, 1.0f))};
        const Shape *shape = shapes[i % 3];
        f32 t;
        Vec3 n;
        if (!shape_ray(shape, vec3_zero(), quat_identity(), ray, 100.0f, &t, &n)) {
            assert_false(solid(shape, to.x, to.y, to.z));
            continue;
        }
        hits++;
        Vec3 p = vec3_add_scaled(from, t, ray.direction);
        Vec3 out = vec3_add_scaled(p, 1e-4f, n);
        Vec3 in = vec3_add_scaled(p, -1e-4f, n);
        assert_false(solid(shape, out.x, out.y, out.z));
        assert_true(solid(shape, in.x, in.y, in.z));
        expect_near("unit normal", vec3_length(n), 1.0, 1e-5);
        assert_true(vec3_dot(n, ray.direction) <= 1e-4f);
    }
    assert_true(hits > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_properties),
        cmocka_unit_test(bounds_of_turned_shapes),
        cmocka_unit_test(rays_with_known_answers),
        cmocka_unit_test(random_rays_end_on_the_surface),
    };
    return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
