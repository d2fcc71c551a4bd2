/*
 * target.h: the interface of a fuzz target: how it handles an input, and the limits of time and
 * memory for it. Each fuzz_NAME.c defines one; target.c hands it the inputs, of libFuzzer or of the
 * corpus (replay.c), and stops the program where one costs more.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_FUZZ_TARGET_H
#define PLENUM_TESTS_FUZZ_TARGET_H

#include "shared/base/base.h"

typedef struct FuzzTarget {
    /* Creates data used by all inputs, such as tables; NULL: none. Not measured. */
    void (*prepare)(void);
    /* data[size] ends where its memory ends. */
    void (*run)(const u8 *data, size_t size);
    size_t size_max; /* larger inputs are skipped: callers of the parser limit them, too */
    /* An input of n bytes holds at most memory_fixed + n · memory_each bytes at once. */
    size_t memory_fixed, memory_each;
} FuzzTarget;

extern const FuzzTarget fuzz_target;

#endif
