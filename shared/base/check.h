/*
 * check.h: CHECK stays in release builds and aborts on a programming error; VALIDATE is for checks
 * in hot loops: debug and sanitizer builds only. A whole store is checked by its *_validate, which
 * VALIDATE_STORE calls in these builds. Bytes from files or the network are data: never CHECK them,
 * return an Error.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_CHECK_H
#define PLENUM_SHARED_BASE_CHECK_H

#include "shared/base/base.h"

PL_BEGIN_C
/* Prints the failed condition with its location to stderr and aborts. */
void check_fail(const char *file, int line, const char *condition) __attribute__((noreturn, cold));
/* The same, with the index of the failing array element. */
void check_fail_item(const char *file, int line, const char *condition, unsigned item)
    __attribute__((noreturn, cold));
PL_END_C

#define CHECK(condition)                                                                           \
    (PL_LIKELY(condition) ? (void)0 : check_fail(__FILE__, __LINE__, #condition))
/* For element `item` of an array. */
#define CHECK_ITEM(item, condition)                                                                \
    (PL_LIKELY(condition) ? (void)0 : check_fail_item(__FILE__, __LINE__, #condition, (item)))

#ifdef PL_VALIDATE
#define VALIDATE(condition)  CHECK(condition)
#define VALIDATE_STORE(call) (call)
#else
#define VALIDATE(condition)  ((void)sizeof(condition))
#define VALIDATE_STORE(call) ((void)0)
#endif

#endif
