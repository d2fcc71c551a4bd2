/*
 * tool_remote.h: commands to a running server over the network, as a user of it: they need a role
 * that may give them, by a token or a key.
 * Layer: server.
 */
#ifndef PLENUM_SERVER_TOOL_REMOTE_H
#define PLENUM_SERVER_TOOL_REMOTE_H

#include "protocol/session/credentials.h"

/* Joins HOST[:PORT][#KEY] under `name`, gives one command and prints the answer; line "": each line
 * of the standard input. EXIT_OK, EXIT_CHECK_FAILED: the server refused the last one, EXIT_INPUT,
 * EXIT_USAGE or EXIT_NETWORK with a text. */
int remote_administer(const char *where, const char *name, const CredentialFiles *files,
                      const char *line, ErrorText *error);

#endif
