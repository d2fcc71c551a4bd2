/*
 * tool_export.h: plenum-tool export.
 * Layer: server.
 */
#ifndef PLENUM_SERVER_TOOL_EXPORT_H
#define PLENUM_SERVER_TOOL_EXPORT_H

#include "shared/base/error.h"

/* Returns the program's exit code, with a text where it is not EXIT_OK. */
int tool_export(int argc, char **argv, ErrorText *error);

#endif
