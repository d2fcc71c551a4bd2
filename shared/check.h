/*
 * check.h: CHECK stays in release builds and stops the program on a programmer's error;
 * VALIDATE is for expensive checks of whole structures in debug and sanitizer builds.
 * Bytes from files or the network are data: never CHECK them, return an Error.
 * Layer: shared.
 */
#ifndef PLENUM_SHARED_CHECK_H
#define PLENUM_SHARED_CHECK_H

#include "shared/base.h"

PL_BEGIN_C
/* Prints the failed condition with its place on stderr and aborts. */
void check_fail(const char *file, int line, const char *condition) __attribute__((noreturn, cold));
PL_END_C

#define CHECK(condition)                                                                           \
    (PL_LIKELY(condition) ? (void)0 : check_fail(__FILE__, __LINE__, #condition))

#ifdef PL_VALIDATE
#define VALIDATE(condition) CHECK(condition)
#else
#define VALIDATE(condition) ((void)sizeof(condition))
#endif

#endif
