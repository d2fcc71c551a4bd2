/*
 * agones.h: a host in a fleet of Agones (agones.dev). It tells the sidecar by its REST interface
 * (port $AGONES_SDK_HTTP_PORT) that it is ready, lives, is in use, and ends; and how many users it
 * has and its key, as metadata for those who choose a server. Plain HTTP to this machine on the
 * host's own loop: nothing waits for an answer. Without the variable nothing happens.
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
/* True while the sidecar has not heard of the end. NULL: false. */
bool agones_is_busy(const Agones *agones);
/* Before the loop closes its handles. NULL is fine. */
void agones_stop(Agones *agones);
/* After the loop has closed all handles. NULL is fine. */
void agones_destroy(Agones *agones);

#endif
