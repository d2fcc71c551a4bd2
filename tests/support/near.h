/*
 * near.h: numbers that must be near to others. For test programs, after cmocka.h.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_NEAR_H
#define PLENUM_TESTS_SUPPORT_NEAR_H

#include "shared/base.h"

#include <math.h>

/* Fails the test where `got` is no number or farther than the tolerance from what is expected. */
static inline void expect_near(const char *what, f64 got, f64 expected, f64 tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) {
        fail_msg("%s: got %.9g, expected %.9g ± %g", what, got, expected, tolerance);
    }
}

#endif
