/*
 * admin.h: commands of a server's operators, as lines of text: from the chat of a client
 * ("/kick Ada") and from the console socket. Private to the host: includes session.h.
 * Layer: server/host, private.
 */
#ifndef PLENUM_SERVER_HOST_ADMIN_H
#define PLENUM_SERVER_HOST_ADMIN_H

#include "server/host/session.h"

typedef struct AdminCaller {
    Session *session; /* NULL: the console */
    const char *name; /* "console uid 1000", or the user's */
    Role role;
    /* One line of the answer. */
    void (*say)(void *context, const char *text);
    void *context;
} AdminCaller;

/* Runs one command, without the "/". 0 or a negative Error; the caller gets an answer in either
 * case. The command may end the caller's own session. */
int admin_run(Host *host, const AdminCaller *caller, const char *line);

#endif
