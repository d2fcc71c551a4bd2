/*
 * private_server.h: runs a plenum-server as a child process, for a file that the client opens.
 * Layer: client (program).
 */
#ifndef PLENUM_CLIENT_PRIVATE_SERVER_H
#define PLENUM_CLIENT_PRIVATE_SERVER_H

#include "shared/base/error.h"

#include <sys/types.h>

typedef struct PrivateServer {
    pid_t pid;         /* 0: none */
    char address[160]; /* HOST:PORT#KEY */
} PrivateServer;

/* Starts the plenum-server beside this executable, otherwise the one in PATH, on 127.0.0.1 with the
 * file, and waits until it is ready. The server dies with this process in all cases. EXIT_OK, or an
 * exit code with a text. */
int private_server_start(PrivateServer *server, const char *path, const volatile int *stop,
                         ErrorText *error);
/* Terminates the server and waits; kills it after 5 s. Does nothing if none was started. */
void private_server_stop(PrivateServer *server);

#endif
