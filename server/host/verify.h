/*
 * verify.h: re-simulates a recording from its logged inputs and compares the world of every tick.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_VERIFY_H
#define PLENUM_SERVER_HOST_VERIFY_H

#include "shared/base/error.h"

struct MatterList;

/* Builds the world of the recording's scene (with additional kinds of matter as for
 * world_create_with, or NULL), applies the logged inputs and compares world_hash after each
 * tick. Prints "verify: N ticks equal" on stdout, or the first differing tick with both hashes, the
 * first system that differs there, if the recording has their hashes, and the first body, point or
 * cell in which it is seen, in that tick or soon after.
 * Returns an exit code: EXIT_OK, EXIT_CHECK_FAILED, or EXIT_INPUT with a text if the recording
 * cannot be read or is damaged. */
int verify_recording(const char *path, const struct MatterList *kinds, u32 threads,
                     ErrorText *error);

#endif
