/*
 * error.h: the table of error codes, and a text that states the error, its location and the
 * expected value. Functions that can fail return 0 or a negative code and take an optional
 * ErrorText.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_ERROR_H
#define PLENUM_SHARED_BASE_ERROR_H

#include "shared/base/base.h"

/* X(name, value, text) */
#define PL_ERRORS(X)                                                                               \
    X(OK, 0, "ok")                                                                                 \
    X(USAGE, -1, "wrong usage")                                                                    \
    X(MEMORY, -2, "out of memory")                                                                 \
    X(IO, -3, "input/output error")                                                                \
    X(NOT_FOUND, -4, "not found")                                                                  \
    X(FORMAT, -5, "malformed data")                                                                \
    X(RANGE, -6, "value out of range")                                                             \
    X(LIMIT, -7, "limit exceeded")                                                                 \
    X(VERSION, -8, "version mismatch")                                                             \
    X(NETWORK, -9, "network error")                                                                \
    X(CRYPTO, -10, "authentication failed")                                                        \
    X(DENIED, -11, "not permitted")                                                                \
    X(STATE, -12, "not possible in this state")                                                    \
    X(TRUNCATED, -13, "data ends too early")                                                       \
    X(BASELINE, -14, "baseline not available")                                                     \
    X(MISMATCH, -15, "contents differ")                                                            \
    X(UNSUPPORTED, -16, "not supported")

typedef enum Error {
#define X(name, value, text) ERROR_##name = (value),
    PL_ERRORS(X)
#undef X
} Error;

/* Process exit codes (documented in README). */
enum {
    EXIT_OK = 0,
    EXIT_CHECK_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_INPUT = 3,
    EXIT_NETWORK = 4
};

typedef struct ErrorText {
    Error code;
    char text[480]; /* one line, no newline, always zero-terminated */
} ErrorText;

PL_BEGIN_C
/* The text of a code; never NULL. */
const char *error_name(Error code);
/* Writes a printf-style text into `error` (which may be NULL) and returns `code`. */
Error error_set(ErrorText *error, Error code, const char *format, ...) PL_PRINTF(3, 4);
/* Prepends "prefix: " to the existing text (for paths such as "scene.json: "). */
void error_prefix(ErrorText *error, const char *format, ...) PL_PRINTF(2, 3);
PL_END_C

#endif
