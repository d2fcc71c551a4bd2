/* test_euler.c: a free body against Euler's equations, integrated in f64 by the classical fourth
 * order Runge–Kutta method with steps of 1/6000 s. */
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Spin in the body's frame (3) and orientation w, x, y, z (4). */
typedef struct Free {
    f64 v[7];
} Free;

/* Half extents of the box: three different moments. */
static const Vec3 half_box = {0.5f, 0.3f, 0.1f};
enum {
    STEPS_A_TICK = 100
};

/* Moments of a box of half extents a, b, c: m (b² + c²) / 3 and so on; m cancels. */
static void moments(f64 i[3])
{
    f64 a = (f64)half_box.x, b = (f64)half_box.y, c = (f64)half_box.z;
    i[0] = b * b + c * c;
    i[1] = a * a + c * c;
    i[2] = a * a + b * b;
}

static Free slope(const Free *s, const f64 i[3])
{
    const f64 *w = s->v, *q = s->v + 3;
    Free d;
    d.v[0] = (i[1] - i[2]) * w[1] * w[2] / i[0];
    d.v[1] = (i[2] - i[0]) * w[2] * w[0] / i[1];
    d.v[2] = (i[0] - i[1]) * w[0] * w[1] / i[2];
    /* q' = ½ q ω with ω in the body's frame. */
    d.v[3] = -0.5 * (q[1] * w[0] + q[2] * w[1] + q[3] * w[2]);
    d.v[4] = 0.5 * (q[0] * w[0] + q[2] * w[2] - q[3] * w[1]);
    d.v[5] = 0.5 * (q[0] * w[1] + q[3] * w[0] - q[1] * w[2]);
    d.v[6] = 0.5 * (q[0] * w[2] + q[1] * w[1] - q[2] * w[0]);
    return d;
}

static Free ahead(const Free *s, const Free *d, f64 h)
{
    Free r;
    for (u32 k = 0; k < 7; k++) {
        r.v[k] = s->v[k] + h * d->v[k];
    }
    return r;
}

static void runge_kutta(Free *s, f64 h)
{
    f64 i[3];
    moments(i);
    Free a = slope(s, i), at = ahead(s, &a, 0.5 * h);
    Free b = slope(&at, i);
    at = ahead(s, &b, 0.5 * h);
    Free c = slope(&at, i);
    at = ahead(s, &c, h);
    Free d = slope(&at, i);
    for (u32 k = 0; k < 7; k++) {
        s->v[k] += h / 6.0 * (a.v[k] + 2.0 * b.v[k] + 2.0 * c.v[k] + d.v[k]);
    }
}

static void reference_tick(Free *s)
{
    for (u32 i = 0; i < STEPS_A_TICK; i++) {
        runge_kutta(s, 1.0 / (60.0 * STEPS_A_TICK));
    }
}

static Rigid *spinning(u32 substeps, Vec3 angular_velocity)
{
    Rigid *rigid = kit_world(1, substeps, 0.0f);
    BodyDef def = kit_box(vec3_zero(), half_box);
    def.angular_velocity = angular_velocity;
    kit_add(rigid, &def);
    return rigid;
}

/* Angle in radians between the body and the reference. */
static f64 angle_between(const Rigid *rigid, const Free *s)
{
    Quat q = rigid_orientation(rigid, 0);
    f64 dot = (f64)q.w * s->v[3] + (f64)q.x * s->v[4] + (f64)q.y * s->v[5] + (f64)q.z * s->v[6];
    dot = fabs(dot) < 1.0 ? fabs(dot) : 1.0;
    return 2.0 * acos(dot);
}

static f64 spin_error(const Rigid *rigid, const Free *s)
{
    Vec3 w = quat_rotate_inverse(rigid_orientation(rigid, 0), rigid_angular_velocity(rigid, 0));
    f64 x = (f64)w.x - s->v[0], y = (f64)w.y - s->v[1], z = (f64)w.z - s->v[2];
    return sqrt(x * x + y * y + z * z);
}

static void free_motion_follows_euler(void **unused)
{
    PL_UNUSED(unused);
    const Vec3 angular_velocity = {3.0f, 2.0f, 6.0f};
    f64 before = 0.0;
    for (u32 substeps = 1; substeps <= 16; substeps *= 2) {
        Rigid *rigid = spinning(substeps, angular_velocity);
        Free s = {{(f64)angular_velocity.x, (f64)angular_velocity.y, (f64)angular_velocity.z, 1.0,
                   0.0, 0.0, 0.0}};
        f64 angle = 0.0, speed = 0.0;
        for (u32 i = 0; i < 600; i++) {
            kit_tick(rigid);
            reference_tick(&s);
            angle = fmax(angle, angle_between(rigid, &s));
            speed = fmax(speed, spin_error(rigid, &s));
        }
        printf("%2u substeps: at most %.3f degrees and %.5f rad/s off in 10 s\n", substeps,
               angle * 57.29578, speed);
        /* Second order in the substep down to single precision. */
        assert_true(before == 0.0 || angle < before / 3.0 || angle < 0.02);
        assert_true(substeps != 4 || angle < 0.02);
        before = angle;
        rigid_destroy(rigid);
    }
}

static void energy_and_angular_momentum_stay(void **unused)
{
    PL_UNUSED(unused);
    static const Vec3 spins[] = {{5.0f, 0.1f, 0.1f},
                                 {0.1f, 5.0f, 0.1f},
                                 {0.1f, 0.1f, 5.0f},
                                 {3.0f, 4.0f, 2.0f},
                                 {10.0f, 0.0f, 15.0f}};
    for (u32 n = 0; n < PL_COUNT(spins); n++) {
        Rigid *rigid = spinning(4, spins[n]);
        KitMotion first = kit_motion(rigid);
        f64 least = 1.0, most = 1.0, worst = 0.0;
        f64 scale = sqrt(first.angular[0] * first.angular[0] + first.angular[1] * first.angular[1] +
                         first.angular[2] * first.angular[2]);
        for (u32 i = 0; i < 600; i++) {
            kit_tick(rigid);
            KitMotion now = kit_motion(rigid);
            least = fmin(least, now.energy / first.energy);
            most = fmax(most, now.energy / first.energy);
            f64 x = now.angular[0] - first.angular[0], y = now.angular[1] - first.angular[1],
                z = now.angular[2] - first.angular[2];
            worst = fmax(worst, sqrt(x * x + y * y + z * z) / scale);
        }
        printf("spin %g %g %g: energy %.5f to %.5f, angular momentum off by %.4f\n",
               (double)spins[n].x, (double)spins[n].y, (double)spins[n].z, least, most, worst);
        assert_true(least > 0.99 && most < 1.01);
        assert_true(worst < 0.05);
        rigid_destroy(rigid);
    }
}

/* The middle axis: it flips as often as Euler's equations say, and 60 s cost no energy. */
static void middle_axis_flips_for_a_minute(void **unused)
{
    PL_UNUSED(unused);
    const Vec3 angular_velocity = {0.3f, 6.0f, 0.3f};
    Rigid *rigid = spinning(4, angular_velocity);
    Free s = {{(f64)angular_velocity.x, (f64)angular_velocity.y, (f64)angular_velocity.z, 1.0, 0.0,
               0.0, 0.0}};
    KitMotion first = kit_motion(rigid);
    f64 least = 1.0, most = 1.0;
    bool up = true, up_reference = true;
    u32 flips = 0, flips_reference = 0;
    for (u32 i = 0; i < 3600; i++) {
        kit_tick(rigid);
        reference_tick(&s);
        Vec3 w = quat_rotate_inverse(rigid_orientation(rigid, 0), rigid_angular_velocity(rigid, 0));
        flips += (w.y > 0.0f) != up;
        up = w.y > 0.0f;
        flips_reference += (s.v[1] > 0.0) != up_reference;
        up_reference = s.v[1] > 0.0;
        f64 energy = kit_motion(rigid).energy / first.energy;
        least = fmin(least, energy);
        most = fmax(most, energy);
    }
    printf("60 s about the middle axis: %u flips, expected %u; energy %.5f to %.5f\n", flips,
           flips_reference, least, most);
    assert_true(flips_reference > 10);
    assert_in_range(flips, flips_reference - 1, flips_reference + 1);
    assert_true(least > 0.99 && most < 1.01);
    rigid_destroy(rigid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_motion_follows_euler),
        cmocka_unit_test(energy_and_angular_momentum_stay),
        cmocka_unit_test(middle_axis_flips_for_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
