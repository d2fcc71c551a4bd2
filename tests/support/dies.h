/*
 * dies.h: a failed CHECK stops the program: run what should fail in a process of its own, and look
 * at what it said.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_DIES_H
#define PLENUM_TESTS_SUPPORT_DIES_H

#include "shared/base/base.h"

/* Fails the test unless run(context), in a process of its own, ends by a failed CHECK whose report
 * on stderr holds `says`. Nothing that it changes is seen here. */
void assert_dies(void (*run)(void *context), void *context, const char *says);
/* Fails the test unless it returns. */
void assert_lives(void (*run)(void *context), void *context);

/* One word of a store takes another value, at which run(store) must die, and then its own again. */
#define ASSERT_DAMAGE_FOUND(run, store, place, value, says)                                        \
    do {                                                                                           \
        __typeof__(place) own = (place);                                                           \
        (place) = (__typeof__(place))(value);                                                      \
        assert_dies(run, store, says);                                                             \
        (place) = own;                                                                             \
    } while (0)

#endif
