/*
 * tool_admin.h: plenum-tool admin: commands to a running server, over its console's socket or the
 * network.
 * Layer: server.
 */
#ifndef PLENUM_SERVER_TOOL_ADMIN_H
#define PLENUM_SERVER_TOOL_ADMIN_H

#include "shared/base/error.h"

/* argv[0] is "admin". Prints answers; returns an exit code, with a text in *error if something
 * failed. */
int tool_admin(int argc, char **argv, ErrorText *error);

#endif
