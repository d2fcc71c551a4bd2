/*
 * trig.c: range reduction, then a short Taylor series with exact rational coefficients: a few terms
 * longer than a minimax polynomial, but every coefficient can be verified by eye.
 */
#include "shared/math/trig.h"

#include <math.h>
#include <string.h>

/* π/2 and ln 2 split into parts; the leading ones have trailing zeros, so that k × part is exact
 * (Cody and Waite 1980). */
#define HALF_PI_1    0x1.921fb544p+0
#define HALF_PI_2    0x1.0b4611a6p-34
#define HALF_PI_3    0x1.3198a2e037073p-69
#define LN2_1        0x1.62e42feep-1
#define LN2_2        0x1.a39ef35793c76p-33
#define TWO_OVER_PI  0x1.45f306dc9c883p-1
#define ONE_LN2      0x1.71547652b82fep+0
/* Angles as the nearest double and its remainder. */
#define HALF_PI_HIGH 0x1.921fb54442d18p+0
#define HALF_PI_LOW  0x1.1a62633145c07p-54
#define PI_HIGH      0x1.921fb54442d18p+1
#define PI_LOW       0x1.1a62633145c07p-53

/* Above it k does not fit the parts of π/2. */
#define REDUCE_MAX 1e5

/* sin r for |r| ≤ π/4. */
static f64 sine_kernel(f64 r)
{
    static const f64 c[] = {-1.0 / 6.0,          1.0 / 120.0,         -1.0 / 5040.0,
                            1.0 / 362880.0,      -1.0 / 39916800.0,   1.0 / 6227020800.0,
                            -1.0 / 1307674368e3, 1.0 / 355687428096e3};
    f64 z = r * r;
    f64 sum = c[7];
    for (int i = 6; i >= 0; i--) {
        sum = sum * z + c[i];
    }
    return r + r * z * sum;
}

/* cos r for |r| ≤ π/4. */
static f64 cosine_kernel(f64 r)
{
    static const f64 c[] = {1.0 / 24.0,          -1.0 / 720.0,          1.0 / 40320.0,
                            -1.0 / 3628800.0,    1.0 / 479001600.0,     -1.0 / 87178291200.0,
                            1.0 / 20922789888e3, -1.0 / 6402373705728e3};
    f64 z = r * r;
    f64 sum = c[7];
    for (int i = 6; i >= 0; i--) {
        sum = sum * z + c[i];
    }
    f64 half = 0.5 * z;
    f64 one = 1.0 - half;
    return one + (((1.0 - one) - half) + z * z * sum); /* rounding error of 1 − z/2 */
}

void trig_sincos(f64 x, f64 *sine, f64 *cosine)
{
    if (!isfinite(x)) {
        *sine = NAN;
        *cosine = NAN;
        return;
    }
    if (fabs(x) > REDUCE_MAX) {
        x = fmod(x, 2.0 * PI_HIGH); /* exact in every C library */
    }
    f64 k = floor(x * TWO_OVER_PI + 0.5);
    f64 r = ((x - k * HALF_PI_1) - k * HALF_PI_2) - k * HALF_PI_3;
    f64 s = sine_kernel(r);
    f64 c = cosine_kernel(r);
    switch ((i64)k & 3) {
    case 0:
        *sine = s;
        *cosine = c;
        break;
    case 1:
        *sine = c;
        *cosine = -s;
        break;
    case 2:
        *sine = -s;
        *cosine = -c;
        break;
    default:
        *sine = -c;
        *cosine = s;
        break;
    }
}

f64 trig_sin(f64 x)
{
    f64 s, c;
    trig_sincos(x, &s, &c);
    return s;
}

f64 trig_cos(f64 x)
{
    f64 s, c;
    trig_sincos(x, &s, &c);
    return c;
}

/* atan(y / x) for 0 ≤ y ≤ x, x > 0: atan a = atan c + atan((a − c) / (1 + a c)) reduces the
 * argument below 1/4. */
static f64 arc_kernel(f64 y, f64 x)
{
    f64 high = 0.0;
    f64 low = 0.0;
    f64 t = y / x;
    if (t > 0.75) {
        high = 0x1.921fb54442d18p-1;
        low = 0x1.1a62633145c07p-55;
        t = (y - x) / (x + y);
    } else if (t > 0.25) {
        high = 0x1.dac670561bb4fp-2;
        low = 0x1.a2b7f222f65e2p-56;
        t = (y - 0.5 * x) / (x + 0.5 * y);
    }
    f64 z = t * t;
    f64 sum = 0.0;
    for (int n = 29; n >= 3; n -= 2) {
        sum = (n & 2 ? -1.0 : 1.0) / n + z * sum;
    }
    return high + (t + (t * z * sum + low));
}

f64 trig_atan2(f64 y, f64 x)
{
    f64 a = fabs(x);
    f64 b = fabs(y);
    f64 large = a > b ? a : b;
    if (large == 0.0) {
        return 0.0;
    }
    if (large > 1e300 || large < 1e-290) { /* keeps sums finite and quotients normal */
        f64 scale = large > 1.0 ? 0x1p-60 : 0x1p+60;
        a *= scale;
        b *= scale;
    }
    f64 angle = b <= a ? arc_kernel(b, a) : HALF_PI_HIGH - (arc_kernel(a, b) - HALF_PI_LOW);
    if (x < 0.0) {
        angle = PI_HIGH - (angle - PI_LOW);
    }
    return y < 0.0 ? -angle : angle;
}

f64 trig_acos(f64 x)
{
    if (x >= 1.0) {
        return 0.0;
    }
    if (x <= -1.0) {
        return PI_HIGH;
    }
    /* Half-angle formula: keeps full precision near ±1, where acos is steep. */
    return 2.0 * trig_atan2(sqrt(1.0 - x), sqrt(1.0 + x));
}

static f64 power_of_two(int n)
{
    u64 bits = (u64)(n + 1023) << 52;
    f64 value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

f64 trig_exp(f64 x)
{
    if (!(x >= -708.0)) {
        return isnan(x) ? x : 0.0;
    }
    if (x > 709.78) {
        return INFINITY;
    }
    f64 k = floor(x * ONE_LN2 + 0.5);
    f64 high = x - k * LN2_1;
    f64 low = k * LN2_2;
    f64 r = high - low;
    f64 lost = (high - r) - low;
    f64 sum = 0.0;
    for (int n = 14; n >= 3; n--) {
        sum = (1.0 + sum) * r / n;
    }
    /* e^r = 1 + r + r²/2 (1 + r/3 (1 + …)); `lost` is the rounding error of r. */
    f64 value = 1.0 + (r + (0.5 * r * r * (1.0 + sum) + lost));
    /* Two factors, since 2^1024 is not a double. */
    int half = (int)k / 2;
    return value * power_of_two(half) * power_of_two((int)k - half);
}

f64 trig_log(f64 x)
{
    if (!(x > 0.0)) {
        return x == 0.0 ? -INFINITY : NAN;
    }
    if (isinf(x)) {
        return x;
    }
    int exponent = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p+54;
        exponent = -54;
    }
    u64 bits;
    memcpy(&bits, &x, sizeof bits);
    exponent += (int)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
    f64 m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    /* log m = 2 atanh s = f − s (f − R) with s = f / (2 + f), f = m − 1 exact, so that small
     * results keep full precision; R = 2 (s²/3 + s⁴/5 + …). */
    f64 f = m - 1.0;
    f64 s = f / (2.0 + f);
    f64 z = s * s;
    f64 sum = 0.0;
    for (int n = 23; n >= 3; n -= 2) {
        sum = z * (2.0 / n + sum);
    }
    f64 k = (f64)exponent;
    return k * LN2_1 - ((s * (f - sum) - k * LN2_2) - f);
}
