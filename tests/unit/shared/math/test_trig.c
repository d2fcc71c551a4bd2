/* test_trig.c: our elementary functions against libm in long double. */
#include "shared/math/random.h"
#include "shared/math/trig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka.h needs the four headers above
#include <cmocka.h>
#include <stdio.h>

enum {
    SAMPLES = 200000
};

/* Distance in units in the last place of the expected double. */
static f64 ulps(f64 got, long double expected)
{
    f64 nearest = (f64)expected;
    f64 ulp = nextafter(fabs(nearest), INFINITY) - fabs(nearest);
    return (f64)(fabsl((long double)got - expected) / ulp);
}

static f64 uniform(u64 counter, f64 low, f64 high)
{
    return low + (high - low) * (f64)(random_u64(7, counter) >> 11) * 0x1p-53;
}

static void expect_worst(const char *name, f64 worst, f64 allowed)
{
    if (!(worst <= allowed)) {
        fail_msg("%s: worst error %.3f, allowed %.3f", name, worst, allowed);
    }
}

static void sine_and_cosine(void **state)
{
    (void)state;
    f64 worst_near = 0.0;
    f64 worst_absolute = 0.0;
    f64 worst_f32 = 0.0;
    for (u64 i = 0; i < SAMPLES; i++) {
        f64 x = uniform(i, -0.78, 0.78);
        worst_near = fmax(worst_near, ulps(trig_sin(x), sinl(x)));
        worst_near = fmax(worst_near, ulps(trig_cos(x), cosl(x)));
        x = uniform(i, -1e5, 1e5);
        worst_absolute = fmax(worst_absolute, (f64)fabsl(trig_sin(x) - sinl(x)) * 0x1p52);
        worst_absolute = fmax(worst_absolute, (f64)fabsl(trig_cos(x) - cosl(x)) * 0x1p52);
        f32 y = (f32)uniform(i, -10.0, 10.0);
        f32 nearest = (f32)sinl(y);
        f32 ulp = nextafterf(fabsf(nearest), INFINITY) - fabsf(nearest);
        worst_f32 = fmax(worst_f32, (f64)(fabsl((long double)trig_sin_f32(y) - sinl(y)) / ulp));
    }
    expect_worst("sin, cos near 0 (ulp)", worst_near, 2.0);
    expect_worst("sin, cos to 1e5 (2^-52)", worst_absolute, 1.0);
    expect_worst("sin f32 (ulp)", worst_f32, 0.51);
    assert_true(isnan(trig_sin((f64)INFINITY)));
    assert_true(fabs(trig_sin(1e9) - sin(1e9)) < 1e-6);
}

static void arc_functions(void **state)
{
    (void)state;
    f64 worst_atan = 0.0;
    f64 worst_acos = 0.0;
    for (u64 i = 0; i < SAMPLES; i++) {
        f64 x = uniform(2 * i, -3.0, 3.0);
        f64 y = uniform(2 * i + 1, -3.0, 3.0);
        worst_atan = fmax(worst_atan, ulps(trig_atan2(y, x), atan2l(y, x)));
        x = uniform(i, -1.0, 1.0);
        worst_acos = fmax(worst_acos, ulps(trig_acos(x), acosl(x)));
    }
    expect_worst("atan2 (ulp)", worst_atan, 2.0);
    expect_worst("acos (ulp)", worst_acos, 3.0);
    assert_true(trig_atan2(0.0, 0.0) == 0.0);
    assert_true(trig_atan2(0.0, -1.0) == (f64)acosl(-1.0L));
    assert_true(trig_atan2(-1.0, 0.0) == -(f64)acosl(0.0L));
    assert_true(ulps(trig_atan2(1e308, 1e308), atan2l(1.0L, 1.0L)) <= 1.0);
    assert_true(ulps(trig_atan2(3e-310, 4e-310), atan2l(3e-310L, 4e-310L)) <= 1e6);
    assert_true(trig_acos(1.0000001) == 0.0);
}

static void exponential_and_logarithm(void **state)
{
    (void)state;
    f64 worst_exp = 0.0;
    f64 worst_log = 0.0;
    for (u64 i = 0; i < SAMPLES; i++) {
        f64 x = uniform(i, -700.0, 709.0);
        worst_exp = fmax(worst_exp, ulps(trig_exp(x), expl(x)));
        f64 y = exp(uniform(i, -700.0, 700.0));
        worst_log = fmax(worst_log, ulps(trig_log(y), logl(y)));
        y = uniform(i, 0.5, 2.0);
        worst_log = fmax(worst_log, ulps(trig_log(y), logl(y)));
    }
    expect_worst("exp (ulp)", worst_exp, 2.0);
    expect_worst("log (ulp)", worst_log, 2.0);
    assert_true(trig_exp(0.0) == 1.0);
    assert_true(trig_log(1.0) == 0.0);
    assert_true(isinf(trig_exp(710.0)) && trig_exp(-1000.0) == 0.0);
    assert_true(isinf(trig_log(0.0)) && isnan(trig_log(-1.0)));
    assert_true(ulps(trig_log(5e-320), logl((long double)5e-320)) <= 2.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sine_and_cosine),
        cmocka_unit_test(arc_functions),
        cmocka_unit_test(exponential_and_logarithm),
    };
    return cmocka_run_group_tests_name("trig", tests, NULL, NULL);
}
