/*
 * dies.h: tests of failing CHECKs, which abort the program: the code under test runs in a child
 * process, and its output is examined.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_DIES_H
#define PLENUM_TESTS_SUPPORT_DIES_H

#include "shared/base/base.h"

/* Fails the test unless run(context), in a child process, aborts by a failed CHECK whose report on
 * stderr contains `failed_check`. The caller's memory is unchanged. */
void assert_dies(void (*run)(void *context), void *context, const char *failed_check);
/* Fails the test unless it returns. */
void assert_lives(void (*run)(void *context), void *context);

/* Sets a variable to a value at which run(store) must abort, then restores it. */
#define ASSERT_DAMAGE_FOUND(run, store, place, value, failed_check)                                \
    do {                                                                                           \
        __typeof__(place) own = (place);                                                           \
        (place) = (__typeof__(place))(value);                                                      \
        assert_dies(run, store, failed_check);                                                     \
        (place) = own;                                                                             \
    } while (0)

#endif
