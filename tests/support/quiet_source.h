/*
 * quiet_source.h: what sources of tests in virtual time have in common: they start at once, keep
 * inputs for the next tick and have no time that could be controlled.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_QUIET_SOURCE_H
#define PLENUM_TESTS_SUPPORT_QUIET_SOURCE_H

#include "server/host/source.h"

#include <string.h>

enum {
    QUIET_INPUTS_MAX = 256
};

typedef struct QuietInputs {
    Input items[QUIET_INPUTS_MAX];
    u32 count;
} QuietInputs;

/* Returns how many it had room for. */
static inline u32 quiet_inputs_add(QuietInputs *kept, const Input *inputs, u32 count)
{
    count = u32_min(count, QUIET_INPUTS_MAX - kept->count);
    memcpy(&kept->items[kept->count], inputs, count * sizeof *inputs);
    kept->count += count;
    return count;
}

static inline int quiet_start(Source *source, void (*wake)(void *), void *context, ErrorText *error)
{
    PL_UNUSED(source);
    PL_UNUSED(wake);
    PL_UNUSED(context);
    PL_UNUSED(error);
    return 0;
}

static inline int quiet_control(Source *source, u32 user, u32 kind, f64 value)
{
    PL_UNUSED(source);
    PL_UNUSED(user);
    PL_UNUSED(kind);
    PL_UNUSED(value);
    return ERROR_UNSUPPORTED;
}

#endif
