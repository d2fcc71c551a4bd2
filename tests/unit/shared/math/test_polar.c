/* test_polar.c: rotations of matrices against the rotations they were made from, and against a
 * search over the whole group. */
#include "shared/math/polar.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static Quat random_rotation(u32 seed)
{
    Quat q = {random_range(seed, 0, -1, 1), random_range(seed, 1, -1, 1),
              random_range(seed, 2, -1, 1), random_range(seed, 3, -1, 1)};
    return quat_normalize(q);
}

/* U diag(s) Vᵀ */
static Mat3 matrix_of(Quat u, Vec3 s, Quat v)
{
    Mat3 a = mat3_from_quat(u), b = mat3_from_quat(v), m = {0};
    Vec3 *column = &m.x;
    const Vec3 rows[3] = {{b.x.x, b.y.x, b.z.x}, {b.x.y, b.y.y, b.z.y}, {b.x.z, b.y.z, b.z.z}};
    for (u32 k = 0; k < 3; k++) {
        column[k] = vec3_add_scaled(vec3_scale(a.x, s.x * rows[k].x), s.y * rows[k].y, a.y);
        column[k] = vec3_add_scaled(column[k], s.z * rows[k].z, a.z);
    }
    return m;
}

/* angle between two rotations, rad */
static f32 apart(Quat a, Quat b)
{
    Quat d = quat_mul(a, quat_conjugate(b));
    return 2.0f * sqrtf(d.x * d.x + d.y * d.y + d.z * d.z);
}

static f64 agreement(Mat3 a, Quat q)
{
    Mat3 r = mat3_from_quat(q);
    return (f64)(vec3_dot(a.x, r.x) + vec3_dot(a.y, r.y) + vec3_dot(a.z, r.z));
}

/* U Vᵀ maximizes trace(RᵀA) for singular values s1 ≥ s2 ≥ |s3|; it is the only maximum, so every
 * start must converge to it. */
static void finds_the_rotation(void **unused)
{
    PL_UNUSED(unused);
    static const struct {
        const char *name;
        Vec3 s;
        f32 most; /* rad */
    } cases[] = {{"stretched", {3.0f, 2.0f, 0.5f}, 3e-6f}, {"rotation", {1.0f, 1.0f, 1.0f}, 2e-6f},
                 {"flat", {2.0f, 1.0f, 0.0f}, 3e-6f},      {"inverted", {2.0f, 1.5f, -0.7f}, 4e-6f},
                 {"tiny", {3e-9f, 2e-9f, -1e-9f}, 4e-6f},  {"large", {3e9f, 2e9f, 1e9f}, 3e-6f},
                 {"thin", {1.0f, 0.01f, 0.0f}, 1e-4f}};
    for (u32 c = 0; c < PL_COUNT(cases); c++) {
        f32 worst = 0.0f;
        for (u32 i = 0; i < 2000; i++) {
            Quat u = random_rotation(3 * i), v = random_rotation(3 * i + 1);
            Quat found = polar_rotation(matrix_of(u, cases[c].s, v), random_rotation(3 * i + 2));
            worst = f32_max(worst, apart(found, quat_mul(u, quat_conjugate(v))));
        }
        printf("%s: off by at most %.1e rad from any start\n", cases[c].name, (double)worst);
        assert_true(worst < cases[c].most);
    }
}

/* If several rotations are best, one of them. */
static void finds_one_of_the_best(void **unused)
{
    PL_UNUSED(unused);
    static const Vec3 values[] = {{1.0f, 0.0f, 0.0f}, {1.0f, 1.0f, -1.0f}, {2.0f, 1.0f, -1.0f}};
    for (u32 c = 0; c < PL_COUNT(values); c++) {
        f64 best = (f64)(values[c].x + values[c].y + values[c].z), least = best;
        for (u32 i = 0; i < 2000; i++) {
            Mat3 a = matrix_of(random_rotation(3 * i), values[c], random_rotation(3 * i + 1));
            f64 found = agreement(a, polar_rotation(a, random_rotation(3 * i + 2)));
            least = found < least ? found : least;
        }
        printf("trace at least %.6f of %.6f\n", least, best);
        assert_true(least > best - 1e-4);
    }
}

/* The optimum rotated by half a turn is a saddle point. */
static void leaves_saddles(void **unused)
{
    PL_UNUSED(unused);
    Mat3 a = {{3.0f, 0.0f, 0.0f}, {0.0f, 2.0f, 0.0f}, {0.0f, 0.0f, 1.0f}};
    static const Quat starts[] = {
        {0.0f, 1.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 1.0f}};
    for (u32 i = 0; i < PL_COUNT(starts); i++) {
        assert_true(apart(polar_rotation(a, starts[i]), quat_identity()) < 1e-5f);
    }
    Quat start = random_rotation(1);
    Mat3 zero;
    memset(&zero, 0, sizeof zero);
    assert_true(apart(polar_rotation(zero, start), start) < 1e-6f);
    zero.x.x = NAN;
    assert_true(apart(polar_rotation(zero, start), start) < 1e-6f);
}

static void computes_cube_roots(void **unused)
{
    PL_UNUSED(unused);
    for (f32 x = 1e-12f; x < 1e12f; x *= 1.37f) {
        f32 y = cube_root(x);
        assert_true(fabsf(y * y * y / x - 1.0f) < 1e-6f);
    }
}

static void finds_eigenvectors(void **unused)
{
    PL_UNUSED(unused);
    enum {
        N = 9
    };
    f64 m[N * N], copy[N * N], value[N], vector[N * N];
    for (u32 i = 0; i < N; i++) {
        for (u32 j = 0; j <= i; j++) {
            m[i * N + j] = m[j * N + i] = (f64)random_range(9, i * N + j, -1, 1);
        }
    }
    memcpy(copy, m, sizeof m);
    eigen_symmetric(m, N, value, vector);
    for (u32 i = 0; i < N * N; i++) {
        f64 sum = 0.0, dot = 0.0;
        for (u32 k = 0; k < N; k++) {
            sum += value[k] * vector[i / N * N + k] * vector[i % N * N + k];
            dot += vector[k * N + i / N] * vector[k * N + i % N];
        }
        assert_true(fabs(sum - copy[i]) < 1e-13);
        assert_true(fabs(dot - (i / N == i % N ? 1.0 : 0.0)) < 1e-13);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_rotation), cmocka_unit_test(finds_one_of_the_best),
        cmocka_unit_test(leaves_saddles),     cmocka_unit_test(computes_cube_roots),
        cmocka_unit_test(finds_eigenvectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
