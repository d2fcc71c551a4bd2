/*
 * near.h: assertions on numbers: near a value, within bounds or equal. A failure reports the
 * quantity, the expected and the actual value. Include it after cmocka.h.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_NEAR_H
#define PLENUM_TESTS_SUPPORT_NEAR_H

#include "shared/base/base.h"

#include <inttypes.h>
#include <math.h>

/* Fails the test if |got − expected| exceeds the tolerance or is NaN. */
static inline void expect_near(const char *what, f64 got, f64 expected, f64 tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) {
        fail_msg("%s: got %.9g, expected %.9g ± %g", what, got, expected, tolerance);
    }
}

/* Fails the test if `got` exceeds `most` or is NaN. */
static inline void expect_at_most(const char *what, f64 got, f64 most)
{
    if (!(got <= most)) {
        fail_msg("%s: got %.9g, expected at most %.9g", what, got, most);
    }
}

/* Fails the test if `got` is outside [low, high] or NaN. */
static inline void expect_within(const char *what, f64 got, f64 low, f64 high)
{
    if (!(got >= low && got <= high)) {
        fail_msg("%s: got %.9g, expected %.9g to %.9g", what, got, low, high);
    }
}

/* For hashes and other bit patterns. */
static inline void expect_bits(const char *what, u64 got, u64 expected)
{
    if (got != expected) {
        fail_msg("%s: got %016" PRIx64 ", expected %016" PRIx64, what, got, expected);
    }
}

#endif
