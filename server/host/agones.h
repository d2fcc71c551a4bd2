/*
 * agones.h: a host in a fleet of Agones (agones.dev). It reports to the sidecar's REST interface
 * (port $AGONES_SDK_HTTP_PORT) that it is ready, healthy, allocated, and shutting down; and its
 * number of users and its key, as metadata for matchmakers. Plain HTTP to this machine on the
 * host's own loop: nothing waits for an answer. Without the variable it does nothing.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_AGONES_H
#define PLENUM_SERVER_HOST_AGONES_H

#include "shared/base/error.h"

#include <uv.h>

struct Host;
typedef struct Agones Agones;
/* NULL without an error if $AGONES_SDK_HTTP_PORT is not set; NULL with one if it is no port. */
Agones *agones_create(uv_loop_t *loop, ErrorText *error);
/* Sends requests that are due, one at a time; failed ones are repeated. */
void agones_run(struct Host *host);
/* True while the shutdown has not been reported. NULL: false. */
bool agones_is_busy(const Agones *agones);
/* Before the loop closes its handles. NULL is fine. */
void agones_stop(Agones *agones);
/* After the loop has closed all handles. NULL is fine. */
void agones_destroy(Agones *agones);

#endif
