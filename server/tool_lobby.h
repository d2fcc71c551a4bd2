/*
 * tool_lobby.h: plenum-tool lobby: serves a list of worlds until it is interrupted.
 * Layer: server.
 */
#ifndef PLENUM_SERVER_TOOL_LOBBY_H
#define PLENUM_SERVER_TOOL_LOBBY_H

#include "shared/base/error.h"

/* argv[0] is the command's name. Returns the exit code; texts of errors are left in `error`. */
int tool_lobby(int argc, char **argv, ErrorText *error);

#endif
