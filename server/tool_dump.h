/*
 * tool_dump.h: plenum-tool dump: a world at a tick, as text or JSON.
 * Layer: server.
 */
#ifndef PLENUM_SERVER_TOOL_DUMP_H
#define PLENUM_SERVER_TOOL_DUMP_H

#include "shared/base/error.h"

/* Runs the command with its options; argv[0] is its name. Returns the program's exit code, with
 * *error set for EXIT_USAGE and EXIT_INPUT. */
int tool_dump(int argc, char **argv, ErrorText *error);

#endif
