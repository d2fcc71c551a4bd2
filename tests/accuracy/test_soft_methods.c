/* test_soft_methods.c: the methods of soft bodies against physical laws and external reference
 * values. */
#include "server/physics/soft/soft_internal.h"
#include "shared/math/random.h"
#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const names[SOFT_METHOD_COUNT] = {"xpbd",     "xpbd iterations", "pbd",  "euler",
                                                     "midpoint", "verlet",          "relax"};

#define GRAVITY 9.81f

/* A rope along x hangs along −y. */
static const Quat hanging = {0.70710678f, 0.0f, 0.0f, -0.70710678f};

static bool explicit_method(SoftMethod method)
{
    return method >= SOFT_EULER && method <= SOFT_VERLET;
}

/* Ticks without a rigid world. */
static void run(Soft *soft, u32 ticks, f32 tick_s, u32 substeps)
{
    for (u32 i = 0; i < ticks; i++) {
        soft_begin(soft, (SoftOthers){0}, NULL, tick_s);
        for (u32 s = 0; s < substeps; s++) {
            soft_substep(soft, tick_s / (f32)substeps);
        }
    }
}

static Soft *quiet_soft(Vec3 gravity, u32 steps)
{
    Soft *soft = soft_create();
    assert_non_null(soft);
    soft_set_gravity(soft, gravity);
    soft_set_wind(soft, vec3_zero(), 0.0f);
    soft_set_steps(soft, steps);
    return soft;
}

static SoftDef plain_def(SoftMethod method)
{
    SoftDef def = soft_def_default();
    def.method = method;
    def.bend = SOFT_BEND_NONE;
    def.damping = 0.0f;
    def.mass_kg = 1.0f;
    return def;
}

static void add(Soft *soft, SoftDef *def, SoftMesh *mesh)
{
    SoftRange range;
    ErrorText error;
    def->mesh = mesh;
    int result = soft_add(soft, NULL, def, &range, &error);
    soft_mesh_finish(mesh);
    if (result != 0) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(soft_build(soft), 0);
}

static void add_rope(Soft *soft, SoftDef *def, u32 points, f32 length)
{
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_rope(&mesh, points, length, &error), 0);
    add(soft, def, &mesh);
}

/* ---- statics ---- */

/* A rope of 1.1 m between points 1 m apart sags by 0.200301 m: with s = (e^q − e^−q) / 2q = 1.1
 * for q = 1 / 2a the sag is a (cosh q − 1). */
static f64 hang(SoftMethod method, u32 iterations, u32 steps)
{
    enum {
        POINTS = 21
    };
    Soft *soft = quiet_soft(vec3(0.0f, -GRAVITY, 0.0f), steps);
    SoftDef def = plain_def(method);
    SoftPin pins[2] = {{.point = 0}, {.point = POINTS - 1}};
    SoftMesh mesh;
    ErrorText error;
    def.damping = 3.0f;
    def.iterations = iterations;
    def.stretch_compliance = 0.0f;
    def.pins = pins;
    def.pin_count = 2;
    assert_int_equal(soft_mesh_rope(&mesh, POINTS, 1.1f, &error), 0);
    /* Initially a V, so that the span is 1 m from the start. */
    for (u32 i = 0; i < POINTS; i++) {
        f32 along = (f32)i / (POINTS - 1), down = 0.5f - fabsf(along - 0.5f);
        mesh.points[i] = vec3(along, -down * sqrtf(1.1f * 1.1f - 1.0f), 0.0f);
    }
    add(soft, &def, &mesh);
    run(soft, 360, 1.0f / 60.0f, 8);
    f64 sag = -(f64)soft_position(soft, POINTS / 2).y;
    printf("%-16s sag %.6f m, strain %.5f\n", names[method], sag, (double)soft_strain(soft, 0));
    soft_destroy(soft);
    return sag;
}

/* Twenty links hang slightly lower than the curve: 0.200549 m, by the equilibrium of each joint. */
static void rope_hangs_as_catenary(void **unused)
{
    PL_UNUSED(unused);
    for (u32 method = 0; method < SOFT_METHOD_COUNT; method++) {
        f64 sag = hang((SoftMethod)method, 1000, 16);
        bool ticks = !explicit_method((SoftMethod)method) && method != SOFT_XPBD;
        assert_float_equal(sag, 0.200301, 1e-3);
        /* Methods that solve once per tick solve along links that gravity has displaced by g h²;
         * Euler's and midpoint's springs are softened most. */
        bool softer = method == SOFT_EULER || method == SOFT_MIDPOINT;
        assert_float_equal(sag, 0.200549, ticks ? 6e-4 : softer ? 2e-4 : 1e-4);
    }
}

/* ---- statics: residual of iterations ---- */

/* Mean strain of a rope of 1 kg hanging from its first point: compliance times the mean weight
 * below each of its n links over their rest length. */
static f64 hanging_strain(SoftMethod method, u32 iterations, f32 compliance, f32 stiffness)
{
    enum {
        POINTS = 21
    };
    Soft *soft = quiet_soft(vec3(0.0f, -GRAVITY, 0.0f), 1);
    SoftDef def = plain_def(method);
    SoftPin pin = {.point = 0};
    def.damping = 4.0f;
    def.iterations = iterations;
    def.stiffness = stiffness;
    def.stretch_compliance = compliance;
    def.pins = &pin;
    def.pin_count = 1;
    def.orientation = hanging;
    add_rope(soft, &def, POINTS, 1.0f);
    run(soft, 600, 1.0f / 60.0f, 1);
    f64 strain = -(f64)soft_position(soft, POINTS - 1).y - 1.0;
    soft_destroy(soft);
    return strain;
}

static void stretch_of_xpbd_knows_no_iterations(void **unused)
{
    PL_UNUSED(unused);
    static const u32 counts[] = {20, 40, 80, 160};
    f64 xpbd[4], pbd[4];
    /* Each link carries a point's weight more than the one below, the last only half a link's,
     * so that link i of n carries i − 1/2 of n parts, and the mean is half of the weight. */
    f64 expected = 2e-3 * (f64)GRAVITY * 0.5 * 20.0;
    for (u32 k = 0; k < 4; k++) {
        xpbd[k] = hanging_strain(SOFT_XPBD_ITERATIONS, counts[k], 2e-3f, 1.0f);
        pbd[k] = hanging_strain(SOFT_PBD, counts[k], 2e-3f, 0.1f);
        printf("%3u iterations: strain xpbd %.5f (expected %.5f), pbd %.5f\n", counts[k], xpbd[k],
               expected, pbd[k]);
    }
    for (u32 k = 0; k < 4; k++) {
        assert_float_equal(xpbd[k], expected, 0.02 * expected);
        assert_float_equal(xpbd[k], xpbd[3], 0.02 * xpbd[3]);
    }
    assert_true(pbd[0] > 2.0 * pbd[3]);
    assert_true(pbd[0] > pbd[1] && pbd[1] > pbd[2] && pbd[2] > pbd[3]);
}

/* Strain of a hanging rope with a tip of 100 times its particles' mass. */
static f64 tip_strain(SoftMethod method, u32 points, u32 substeps, u32 iterations)
{
    Soft *soft = quiet_soft(vec3(0.0f, -GRAVITY, 0.0f), 1);
    SoftDef def = plain_def(method);
    SoftPin pin = {.point = 0};
    def.damping = 4.0f;
    def.iterations = iterations;
    def.stretch_compliance = 0.0f;
    def.pins = &pin;
    def.pin_count = 1;
    def.orientation = hanging;
    add_rope(soft, &def, points, 1.0f);
    f32 w = soft_inverse_mass(soft, 1);
    soft->points[points - 1].inverse_mass = w / 100.0f;
    run(soft, 600, 1.0f / 60.0f, substeps);
    f64 strain = -(f64)soft_position(soft, points - 1).y - 1.0;
    soft_destroy(soft);
    return strain;
}

static void small_steps_beat_iterations(void **unused)
{
    PL_UNUSED(unused);
    f64 iterated = tip_strain(SOFT_XPBD_ITERATIONS, 13, 1, 100);
    f64 stepped = tip_strain(SOFT_XPBD, 13, 100, 1);
    printf("12 links, tip x 100: 1 step x 100 iterations %.4f %%, 100 x 1 %.4f %%\n",
           100.0 * iterated, 100.0 * stepped);
    assert_float_equal(iterated, 0.0302, 0.02 * 0.0302);
    /* 0.032 % with single edges; a chain solves all of them at once. */
    assert_true(stepped < 1e-6);
}

/* A rope of 1 kg in ten links of 1e-4 m/N hangs from its end in worlds of any step: it is longer by
 * what its links bear, 49.05 N in all, times that. Up to 24 times as long as its springs bear, the
 * step must be divided; for springs that bear none of these they are softened: to 1e-4 m/N at most,
 * whatever the step. */
static void springs_are_as_stiff_in_any_step(void **unused)
{
    PL_UNUSED(unused);
    static const f32 rates[] = {30.0f, 60.0f, 240.0f, 1000.0f};
    for (u32 method = SOFT_EULER; method <= SOFT_VERLET; method++) {
        for (u32 k = 0; k < 2 * PL_COUNT(rates); k++) {
            f32 rate = rates[k / 2];
            Soft *soft = quiet_soft(vec3(0.0f, -GRAVITY, 0.0f), 1);
            SoftDef def = plain_def((SoftMethod)method);
            SoftPin pin = {.point = 0};
            bool hard = k % 2 != 0;
            def.stretch_compliance = hard ? 0.0f : 1e-4f;
            def.damping = 3.0f;
            def.orientation = hanging;
            def.pins = &pin;
            def.pin_count = 1;
            add_rope(soft, &def, 11, 1.0f);
            run(soft, (u32)(6.0f * rate), 1.0f / rate, 1);
            f64 longer = -(f64)soft_position(soft, 10).y - 1.0;
            f64 expected = 1e-4 * (f64)GRAVITY * 55.0 / 11.0;
            printf("%-10s at %4.0f Hz%s: %.3f mm longer, expected %.3f\n", names[method],
                   (double)rate, hard ? ", hard" : "", 1e3 * longer, 1e3 * expected);
            assert_true(longer > (hard ? 0.0 : 0.97 * expected));
            assert_true(longer < 1.03 * expected);
            soft_destroy(soft);
        }
    }
}

/* ---- motion ---- */

static void all_fall(void **unused)
{
    PL_UNUSED(unused);
    for (u32 method = 0; method < SOFT_METHOD_COUNT; method++) {
        Soft *soft = quiet_soft(vec3(0.0f, -GRAVITY, 0.0f), 2);
        SoftDef def = plain_def((SoftMethod)method);
        add_rope(soft, &def, 5, 1.0f);
        run(soft, 60, 1.0f / 60.0f, 8);
        /* Each method's sum over its own steps: ½ g t (t ± h). */
        f64 h =
            explicit_method((SoftMethod)method) || method == SOFT_XPBD ? 1.0 / 960.0 : 1.0 / 60.0;
        f64 sign = method == SOFT_EULER                               ? -1.0
                   : method == SOFT_MIDPOINT || method == SOFT_VERLET ? 0.0
                                                                      : 1.0;
        f64 expected = 0.5 * (f64)GRAVITY * (1.0 + sign * h);
        for (u32 i = 0; i < 5; i++) {
            f64 fallen = -(f64)soft_position(soft, i).y;
            assert_float_equal(fallen, expected, 2e-4);
            assert_float_equal(soft_velocity(soft, i).y, -GRAVITY, 2e-4f);
        }
        soft_destroy(soft);
    }
}

typedef struct Momenta {
    f64 linear[3], angular[3], energy;
} Momenta;

static Momenta momenta_of(const Soft *soft)
{
    Momenta sum = {{0}, {0}, 0};
    for (u32 i = 0; i < soft_particles(soft); i++) {
        f64 m = 1.0 / (f64)soft_inverse_mass(soft, i);
        Vec3 p = soft_position(soft, i), u = soft_velocity(soft, i);
        f64 x[3] = {(f64)p.x, (f64)p.y, (f64)p.z}, v[3] = {(f64)u.x, (f64)u.y, (f64)u.z};
        for (u32 k = 0; k < 3; k++) {
            u32 l = (k + 1) % 3, n = (k + 2) % 3;
            sum.linear[k] += m * v[k];
            sum.angular[k] += m * (x[l] * v[n] - x[n] * v[l]);
            sum.energy += 0.5 * m * v[k] * v[k];
        }
    }
    return sum;
}

/* A cloth whose particles have random velocities up to 1 m/s. */
static Soft *shaken_cloth(SoftDef *def, u32 seed)
{
    Soft *soft = quiet_soft(vec3_zero(), 2);
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_grid(&mesh, 8, 8, 1.0f, 1.0f, &error), 0);
    add(soft, def, &mesh);
    for (u32 i = 0; i < soft_particles(soft); i++) {
        f32 m = 1.0f / soft_inverse_mass(soft, i);
        Vec3 v = vec3(random_range(seed, 3 * i, -1, 1), random_range(seed, 3 * i + 1, -1, 1),
                      random_range(seed, 3 * i + 2, -1, 1));
        soft_impulse(soft, i, vec3_scale(v, m));
    }
    return soft;
}

/* Internal forces are opposite pairs along the line between their points. Verlet also conserves
 * angular momentum; the others only as far as their steps are short. None gains energy, even at
 * the largest spring stiffness. */
static void inner_forces_keep_momentum(void **unused)
{
    PL_UNUSED(unused);
    for (u32 method = 0; method < SOFT_METHOD_COUNT; method++) {
        for (u32 smooth = 0; smooth < 2; smooth++) {
            SoftDef def = plain_def((SoftMethod)method);
            def.bend = SOFT_BEND_DISTANCE;
            def.smoothing = smooth ? 5.0f : 0.0f;
            def.stretch_compliance = 0.0f;
            def.iterations = 20;
            def.stiffness = 0.9f;
            Soft *soft = shaken_cloth(&def, 7);
            Momenta before = momenta_of(soft);
            run(soft, 120, 1.0f / 60.0f, 8);
            Momenta after = momenta_of(soft);
            f64 linear = soft_kit_drift(before.linear, after.linear, 1.0);
            f64 angular = soft_kit_drift(before.angular, after.angular, 1.0);
            printf("%-16s smoothing %u: momentum changes %.1e, angular %.1e, energy %.3f of %.3f\n",
                   names[method], smooth, linear, angular, after.energy, before.energy);
            assert_true(linear < 1e-5);
            assert_true(angular < (method != SOFT_VERLET ? 0.01 : smooth ? 1e-4 : 1e-6));
            assert_true(after.energy < before.energy);
            soft_destroy(soft);
        }
    }
}

/* A dumbbell that rotates by θ in a step is projected to θ' with tan θ' = sin θ / (2 − cos θ),
 * by any method that predicts, projects along the predicted line and derives velocity from the
 * difference of positions: this loses (ωh)² / 2 of its spin in the first step. SOFT_XPBD
 * restores it. */
static void projected_dumbbell_spins_down_exactly(void **unused)
{
    PL_UNUSED(unused);
    static const SoftMethod methods[] = {SOFT_XPBD, SOFT_XPBD_ITERATIONS, SOFT_PBD, SOFT_RELAX};
    for (u32 m = 0; m < PL_COUNT(methods); m++) {
        Soft *soft = quiet_soft(vec3_zero(), 1);
        SoftDef def = plain_def(methods[m]);
        def.stretch_compliance = 0.0f;
        def.iterations = 8;
        def.angular_velocity = vec3(0.0f, 0.0f, 6.0f);
        add_rope(soft, &def, 2, 1.0f);
        f64 before = momenta_of(soft).angular[2];
        run(soft, 30, 1.0f / 60.0f, 1);
        f64 theta = atan(6.0 / 60.0);
        for (u32 i = 1; i < 30; i++) {
            theta = atan2(sin(theta), 2.0 - cos(theta));
        }
        Vec3 centre = vec3_scale(vec3_add(soft_position(soft, 0), soft_position(soft, 1)), 0.5f);
        f64 left = momenta_of(soft).angular[2] / before;
        f64 expected = methods[m] == SOFT_XPBD ? 1.0 : sin(theta) * 60.0 / 6.0;
        printf("%-16s spin left after 30 ticks %.5f, expected %.5f\n", names[methods[m]], left,
               expected);
        assert_float_equal(left, expected, 1e-3);
        assert_float_equal(centre.x, 0.5f, 1e-4f);
        soft_destroy(soft);
    }
}

/* ---- order ---- */

/* A mass of 1 kg on a spring of ω = 8 / s, starting at equilibrium with 2 m/s: largest error of
 * position (over amplitude) and velocity (over speed) at ωt = 2, with `steps` steps. */
static f64 oscillator_error(SoftMethod method, u32 steps, f32 damping)
{
    Soft *soft = quiet_soft(vec3_zero(), 1);
    SoftDef def = plain_def(method);
    SoftPin pin = {.point = 0};
    def.mass_kg = 2.0f;
    def.stretch_compliance = 1.0f / 64.0f;
    def.spring_damping = damping;
    def.pins = &pin;
    def.pin_count = 1;
    add_rope(soft, &def, 2, 1.0f);
    soft_impulse(soft, 1, vec3(2.0f, 0.0f, 0.0f));
    run(soft, 1, 0.25f, steps);
    f64 x = (f64)soft_position(soft, 1).x - 1.0, v = (f64)soft_velocity(soft, 1).x;
    soft_destroy(soft);
    f64 of_x = fabs(x - 0.25 * sin(2.0)) / 0.25, of_v = fabs(v - 2.0 * cos(2.0)) / 2.0;
    return of_x > of_v ? of_x : of_v;
}

static void integrators_have_their_order(void **unused)
{
    PL_UNUSED(unused);
    static const struct {
        SoftMethod method;
        f32 damping;
        f64 order;
    } rows[] = {{SOFT_EULER, 0.0f, 1.0},     {SOFT_EULER, -1.0f, 1.0},  {SOFT_MIDPOINT, 0.0f, 2.0},
                {SOFT_MIDPOINT, -1.0f, 2.0}, {SOFT_VERLET, -1.0f, 2.0}, {SOFT_XPBD, -1.0f, 1.0}};
    for (u32 r = 0; r < PL_COUNT(rows); r++) {
        f64 error[4];
        for (u32 k = 0; k < 4; k++) {
            error[k] = oscillator_error(rows[r].method, 20u << k, rows[r].damping);
        }
        for (u32 k = 1; k < 4; k++) {
            f64 order = log2(error[k - 1] / error[k]);
            printf("%-10s damping %2.0f: error %.2e with %u steps, order %.2f\n",
                   names[rows[r].method], (double)rows[r].damping, error[k], 20u << k, order);
            assert_float_equal(order, rows[r].order, 0.15 * rows[r].order);
        }
    }
}

/* Undamped explicit Euler multiplies the energy by 1 + (ωh)² in each step. */
static void euler_gains_its_energy(void **unused)
{
    PL_UNUSED(unused);
    Soft *soft = quiet_soft(vec3_zero(), 1);
    SoftDef def = plain_def(SOFT_EULER);
    SoftPin pin = {.point = 0};
    def.mass_kg = 2.0f;
    def.stretch_compliance = 1.0f / 64.0f;
    def.spring_damping = 0.0f;
    def.pins = &pin;
    def.pin_count = 1;
    add_rope(soft, &def, 2, 1.0f);
    soft_impulse(soft, 1, vec3(2.0f, 0.0f, 0.0f));
    run(soft, 1, 1.0f, 200);
    f64 x = (f64)soft_position(soft, 1).x - 1.0, v = (f64)soft_velocity(soft, 1).x;
    f64 gain = (0.5 * v * v + 32.0 * x * x) / 2.0;
    f64 expected = pow(1.0 + 64.0 / (200.0 * 200.0), 200.0);
    printf("Euler's energy: %.4f times, expected %.4f\n", gain, expected);
    assert_float_equal(gain, expected, 1e-3 * expected);
    soft_destroy(soft);
}

/* One pass over one stick of 1 m that is overlong by `stretch`: the exact correction leaves no
 * error, Jakobsen's L'² = d² − 4 d² f (1 − f), f = 1/2 − L² / (d² + L²). */
static void relaxation_is_a_newton_step(void **unused)
{
    PL_UNUSED(unused);
    static const f64 lengths[] = {0.5, 0.9, 1.1, 1.5, 2.0};
    for (u32 k = 0; k < PL_COUNT(lengths); k++) {
        Soft *soft = quiet_soft(vec3_zero(), 1);
        SoftDef def = plain_def(SOFT_RELAX);
        def.iterations = 1;
        add_rope(soft, &def, 2, 1.0f);
        soft->points[0].inverse_mass = 1.0f;
        soft->points[1].inverse_mass = 3.0f; /* gets three quarters of the correction */
        soft->points[1].position.x = (f32)lengths[k];
        run(soft, 1, 1.0f / 60.0f, 1);
        f64 d = lengths[k], expected = 2.0 * d / (d * d + 1.0);
        f64 a = (f64)soft_position(soft, 0).x, b = (f64)soft_position(soft, 1).x;
        printf("stick of %.1f: %.6f after one pass, expected %.6f\n", d, b - a, expected);
        assert_float_equal(b - a, expected, 1e-5);
        assert_float_equal(a, 0.25 * (d - expected), 1e-5);
        soft_destroy(soft);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rope_hangs_as_catenary),
        cmocka_unit_test(stretch_of_xpbd_knows_no_iterations),
        cmocka_unit_test(small_steps_beat_iterations),
        cmocka_unit_test(springs_are_as_stiff_in_any_step),
        cmocka_unit_test(all_fall),
        cmocka_unit_test(inner_forces_keep_momentum),
        cmocka_unit_test(projected_dumbbell_spins_down_exactly),
        cmocka_unit_test(integrators_have_their_order),
        cmocka_unit_test(euler_gains_its_energy),
        cmocka_unit_test(relaxation_is_a_newton_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
