/* test_constraint.c: each kind of constraint: gradients against finite differences of C, C
 * against geometry in double precision, conservation laws of a projection, and forces against
 * springs. */
#include "server/physics/soft/constraint.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[CONSTRAINT_KINDS] = {"distance", "dihedral", "isometric",
                                                    "area",     "volume",   "neo-hookean"};

typedef struct Rig {
    Soft soft;
    SoftPoint points[4];
    SoftShape shape;
    SoftConstraint constraint;
} Rig;

/* A constraint of a kind on four random points far from the origin, with a different rest shape. */
static Rig *rig_create(u32 kind, u32 seed)
{
    Rig *rig = aligned_alloc(64, (sizeof *rig + 63) / 64 * 64);
    assert_non_null(rig);
    memset(rig, 0, sizeof *rig);
    rig->soft.points = rig->points;
    rig->soft.shapes = &rig->shape;
    rig->soft.stretch_scale = rig->soft.bend_scale = 1.0f;
    static const Vec3 base[4] = {
        {0.0f, 0.0f, 0.0f}, {1.0f, 0.0f, 0.1f}, {0.3f, 0.8f, 0.0f}, {0.4f, 0.2f, 0.9f}};
    for (u32 i = 0; i < 4; i++) {
        Vec3 jitter =
            vec3(random_range(seed, 9 * i, -0.2f, 0.2f), random_range(seed, 9 * i + 1, -0.2f, 0.2f),
                 random_range(seed, 9 * i + 2, -0.2f, 0.2f));
        rig->points[i].position = vec3_add(vec3(40.0f, -20.0f, 10.0f), vec3_add(base[i], jitter));
        rig->points[i].inverse_mass = random_range(seed, 9 * i + 3, 0.5f, 3.0f);
        rig->points[i].velocity =
            vec3(random_range(seed, 9 * i + 4, -1, 1), random_range(seed, 9 * i + 5, -1, 1),
                 random_range(seed, 9 * i + 6, -1, 1));
    }
    rig->constraint = (SoftConstraint){.point = {0, 1, 2, 3},
                                       .low = 0.35f,
                                       .high = 0.45f,
                                       .compliance = 1e-3f,
                                       .shape = SOFT_NONE,
                                       .kind = (u8)kind};
    if (kind == CONSTRAINT_ISOMETRIC) {
        f32 k[4] = {1.3f, 0.9f, -1.6f, -0.6f};
        memcpy(rig->shape.value, k, sizeof k);
        rig->constraint.shape = 0;
        rig->constraint.low = 0.1f;
    } else if (kind == CONSTRAINT_NEO_HOOKEAN) {
        f32 b[10] = {1.2f, 0.1f, 0.2f, -0.1f, 0.9f, 0.3f, 0.0f, 0.2f, 1.1f, 0.4f};
        memcpy(rig->shape.value, b, sizeof b);
        rig->constraint.shape = 0;
        rig->constraint.low = 1.0f / (6.0f * 1.123f); /* det b = 1.123: rest volume */
    }
    return rig;
}

static void sub64(const f64 a[3], const f64 b[3], f64 c[3])
{
    for (u32 k = 0; k < 3; k++) {
        c[k] = a[k] - b[k];
    }
}

static f64 dot64(const f64 a[3], const f64 b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross64(const f64 a[3], const f64 b[3], f64 c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

/* C from its definition. */
static f64 value64(const Rig *rig, const f64 x[4][3], u32 row)
{
    f64 a[3], b[3], c[3], n[3], m[3], sum = 0.0;
    const f32 *s = rig->shape.value;
    f64 low = (f64)rig->constraint.low, high = (f64)rig->constraint.high;
    sub64(x[1], x[0], a);
    sub64(x[2], x[0], b);
    sub64(x[3], x[0], c);
    cross64(a, b, n);
    cross64(c, a, m);
    switch (rig->constraint.kind) {
    case CONSTRAINT_DISTANCE:
        sum = sqrt(dot64(a, a));
        return sum > high ? sum - high : sum < low ? sum - low : 0.0;
    case CONSTRAINT_DIHEDRAL: {
        f64 t[3];
        cross64(n, m, t);
        f64 angle = acos(dot64(n, m) / sqrt(dot64(n, n) * dot64(m, m)));
        return (dot64(t, a) < 0.0 ? -angle : angle) - low;
    }
    case CONSTRAINT_ISOMETRIC:
        for (u32 k = 0; k < 3; k++) {
            f64 part = 0.0;
            for (u32 i = 0; i < 4; i++) {
                part += (f64)s[i] * (x[i][k] - x[0][k]);
            }
            sum += part * part;
        }
        return sqrt(sum) - low;
    case CONSTRAINT_AREA:
        return 0.5 * sqrt(dot64(n, n)) - low;
    case CONSTRAINT_VOLUME:
        return dot64(n, c) / 6.0 - low;
    default: {
        f64 f[3][3];
        for (u32 j = 0; j < 3; j++) {
            for (u32 k = 0; k < 3; k++) {
                f[j][k] = a[k] * (f64)s[j] + b[k] * (f64)s[3 + j] + c[k] * (f64)s[6 + j];
            }
            sum += dot64(f[j], f[j]);
        }
        cross64(f[0], f[1], n);
        return row == 0 ? sqrt(sum) : dot64(n, f[2]) - 1.0 - (f64)s[9];
    }
    }
}

static void gradients_are_those_of_the_value(void **unused)
{
    PL_UNUSED(unused);
    for (u32 kind = 0; kind < CONSTRAINT_KINDS; kind++) {
        f64 worst = 0.0, off = 0.0;
        for (u32 seed = 0; seed < 100; seed++) {
            Rig *rig = rig_create(kind, seed);
            Vec3 at[4];
            f64 x[4][3];
            ConstraintRows rows;
            constraint_gather(&rig->soft, &rig->constraint, 0.01f, at);
            constraint_evaluate(&rig->constraint, constraint_shape(&rig->soft, &rig->constraint),
                                at, &rows);
            assert_int_equal(rows.rows, kind == CONSTRAINT_NEO_HOOKEAN ? 2 : 1);
            for (u32 i = 0; i < 4; i++) {
                Vec3 p = i < rows.points ? at[i] : vec3_zero();
                x[i][0] = (f64)p.x;
                x[i][1] = (f64)p.y;
                x[i][2] = (f64)p.z;
            }
            for (u32 row = 0; row < rows.rows; row++) {
                f64 c = value64(rig, x, row) - (f64)rows.value[row];
                off = fabs(c) > off ? fabs(c) : off;
                for (u32 i = 0; i < 3 * rows.points; i++) {
                    f64 *moved = &x[i / 3][i % 3], was = *moved, step = 1e-6;
                    *moved = was + step;
                    f64 up = value64(rig, x, row);
                    *moved = was - step;
                    f64 slope = (up - value64(rig, x, row)) / (2.0 * step);
                    *moved = was;
                    const Vec3 *g = &rows.gradient[row][i / 3];
                    f64 d = slope - (f64)(i % 3 == 0 ? g->x : i % 3 == 1 ? g->y : g->z);
                    worst = fabs(d) > worst ? fabs(d) : worst;
                }
            }
            free(rig);
        }
        printf("%s: C off by %.1e, gradient by %.1e\n", names[kind], off, worst);
        assert_true(off < 3e-6 && worst < 2e-5);
    }
}

static void add64(f64 sum[3], f64 m, Vec3 v)
{
    sum[0] += m * (f64)v.x;
    sum[1] += m * (f64)v.y;
    sum[2] += m * (f64)v.z;
}

/* Impulses sum to 0, and so do their torques about the predicted positions. */
static void projections_keep_momenta(void **unused)
{
    PL_UNUSED(unused);
    for (u32 kind = 0; kind < CONSTRAINT_KINDS; kind++) {
        f64 worst = 0.0;
        for (u32 seed = 0; seed < 200; seed++) {
            Rig *rig = rig_create(kind, seed);
            Vec3 at[4], before[4];
            memset(at, 0, sizeof at);
            f32 multiplier[2] = {0.1f, -0.2f};
            constraint_gather(&rig->soft, &rig->constraint, 0.01f, at);
            for (u32 i = 0; i < 4; i++) {
                before[i] = rig->points[i].velocity;
            }
            if (seed % 2 == 0) {
                constraint_project(&rig->soft, &rig->constraint, 0.01f,
                                   seed % 4 == 0 ? NULL : multiplier);
            } else {
                constraint_project_pbd(&rig->soft, &rig->constraint, 0.01f, 0.7f);
            }
            f64 sum[3] = {0}, angular_velocity[3] = {0}, scale = 1e-9;
            for (u32 i = 0; i < 4; i++) {
                Vec3 change = vec3_sub(rig->points[i].velocity, before[i]);
                f64 m = 1.0 / (f64)rig->points[i].inverse_mass;
                add64(sum, m, change);
                add64(angular_velocity, m, vec3_cross(at[i], change));
                scale += m * (f64)vec3_length(change);
            }
            /* Two rows of PBD are solved in sequence, each about its own positions. */
            bool two = kind == CONSTRAINT_NEO_HOOKEAN && seed % 2 == 1;
            for (u32 k = 0; k < 3; k++) {
                f64 off = fabs(sum[k]) > fabs(angular_velocity[k]) || two
                              ? fabs(sum[k])
                              : fabs(angular_velocity[k]);
                /* Changes are differences of velocities of 1 m/s. */
                off /= scale + 0.1;
                worst = off > worst ? off : worst;
            }
            free(rig);
        }
        printf("%s: momenta changed by at most %.1e of the impulses\n", names[kind], worst);
        assert_true(worst < 3e-6);
    }
}

/* With a kept multiplier, iterations converge to force = −C / α. */
static void iterations_lead_to_the_spring(void **unused)
{
    PL_UNUSED(unused);
    const f32 h = 0.01f;
    for (u32 kind = 0; kind < CONSTRAINT_KINDS; kind++) {
        Rig *rig = rig_create(kind, 3);
        f32 multiplier[2] = {0.0f, 0.0f};
        for (u32 i = 0; i < 200; i++) {
            constraint_project(&rig->soft, &rig->constraint, h, multiplier);
        }
        Vec3 at[4];
        ConstraintRows rows;
        constraint_gather(&rig->soft, &rig->constraint, h, at);
        constraint_evaluate(&rig->constraint, constraint_shape(&rig->soft, &rig->constraint), at,
                            &rows);
        for (u32 row = 0; row < rows.rows; row++) {
            f64 force = (f64)multiplier[row] / (f64)(h * h);
            f64 alpha = (f64)rig->constraint.compliance * (f64)rows.factor[row];
            f64 spring = -(f64)rows.value[row] / alpha;
            printf("%s: force %.4f, spring %.4f\n", names[kind], force, spring);
            assert_true(fabs(force - spring) < 2e-3 * (1.0 + fabs(spring)));
        }
        free(rig);
    }
}

/* Neo-Hookean material at rest does not move, however soft or stiff. */
static void matter_rests(void **unused)
{
    PL_UNUSED(unused);
    for (f32 compliance = 1e-9f; compliance < 1e6f; compliance *= 10.0f) {
        Rig *rig = rig_create(CONSTRAINT_NEO_HOOKEAN, 0);
        rig->constraint.compliance = compliance;
        static const f32 identity[9] = {2.0f, 0.0f, 0.0f, 0.0f, 2.0f, 0.0f, 0.0f, 0.0f, 2.0f};
        memcpy(rig->shape.value, identity, sizeof identity);
        rig->constraint.low = 1.0f / 48.0f;
        for (u32 i = 0; i < 4; i++) {
            Vec3 at = vec3(i == 1 ? 0.5f : 0.0f, i == 2 ? 0.5f : 0.0f, i == 3 ? 0.5f : 0.0f);
            rig->points[i].position = at;
            rig->points[i].velocity = vec3_zero();
        }
        constraint_project(&rig->soft, &rig->constraint, 0.01f, NULL);
        for (u32 i = 0; i < 4; i++) {
            assert_true(vec3_length(rig->points[i].velocity) * 0.01f < 1e-6f);
        }
        free(rig);
    }
}

/* Coincident or collinear points have no direction: nothing may happen, and no NaN. */
static void nothing_from_nothing(void **unused)
{
    PL_UNUSED(unused);
    for (u32 kind = 0; kind < CONSTRAINT_KINDS; kind++) {
        for (u32 line = 0; line < 2; line++) {
            Rig *rig = rig_create(kind, 1);
            for (u32 i = 0; i < 4; i++) {
                rig->points[i].position = vec3((f32)(line * i), 0.0f, 0.0f);
                rig->points[i].velocity = vec3_zero();
            }
            constraint_project(&rig->soft, &rig->constraint, 0.01f, NULL);
            constraint_project_pbd(&rig->soft, &rig->constraint, 0.01f, 1.0f);
            for (u32 i = 0; i < 4; i++) {
                assert_true(vec3_is_finite(rig->points[i].velocity));
                rig->points[i].inverse_mass = 0.0f;
            }
            constraint_project(&rig->soft, &rig->constraint, 0.01f, NULL);
            assert_true(vec3_is_finite(rig->points[0].velocity));
            free(rig);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_those_of_the_value),
        cmocka_unit_test(projections_keep_momenta),
        cmocka_unit_test(iterations_lead_to_the_spring),
        cmocka_unit_test(matter_rests),
        cmocka_unit_test(nothing_from_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
