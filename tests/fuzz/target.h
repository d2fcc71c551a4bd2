/*
 * target.h: what a fuzz target is: what it does with an input and what an input may cost it. Each
 * fuzz_NAME.c defines one; target.c hands it the inputs, of libFuzzer or of the corpus (replay.c),
 * and stops the program where one costs more.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_FUZZ_TARGET_H
#define PLENUM_TESTS_FUZZ_TARGET_H

#include "shared/base/base.h"

typedef struct FuzzTarget {
    /* Makes what all inputs use, tables say; NULL: nothing. Costs nobody. */
    void (*prepare)(void);
    /* data[size] ends where its memory ends. */
    void (*run)(const u8 *data, size_t size);
    size_t size_max; /* larger inputs are left out: whoever calls the parser limits them too */
    /* An input of n bytes holds at most memory_fixed + n · memory_each bytes at once. */
    size_t memory_fixed, memory_each;
} FuzzTarget;

extern const FuzzTarget fuzz_target;

#endif
