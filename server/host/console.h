/*
 * console.h: the operator's console: a local socket that only its owner may open. Anyone who can
 * open it is an admin. Protocol: one command of admin.h a line; then the lines of the answer, each
 * prefixed by "| ", and a last one, "= ok" or "= ERROR". plenum-tool admin speaks it.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_CONSOLE_H
#define PLENUM_SERVER_HOST_CONSOLE_H

#include "server/host/host.h"

#include <uv.h>

enum {
    CONSOLE_LINE_BYTES_MAX = 512,
    CONSOLE_CLIENTS_MAX = 4,
    CONSOLE_PATH_BYTES_MAX = 100
};

typedef struct Console Console;

/* Listens at `path`, in place of a socket that a dead server left. NULL with a text. */
Console *console_create(Host *host, uv_loop_t *loop, const char *path, ErrorText *error);
/* Closes all, removes the socket; memory is freed when the loop has run. NULL is fine. */
void console_destroy(Console *console);

#endif
