/*
 * service.h: a host as a systemd service: reports readiness, watchdog keep-alives and why it stops
 * (sd_notify(3)), and accepts a socket from systemd (sd_listen_fds(3)). Does nothing without
 * systemd ($NOTIFY_SOCKET, $LISTEN_FDS).
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_SERVICE_H
#define PLENUM_SERVER_HOST_SERVICE_H

#include "shared/base/error.h"

/* State of a host's reports to systemd. */
typedef struct Service {
    bool started, ready, stopping;
    u64 watchdog_ms; /* keep-alive interval; 0: no watchdog */
    u64 life_ms;     /* time of the next keep-alive */
    u64 status_ms;   /* time of the next status line (systemctl status) */
    u64 tick;        /* last world tick seen */
    u64 tick_ms;     /* time at which it was seen */
} Service;

struct Host;
/* Sends the reports that are due. Keep-alives require a world that ticks, is paused, or plays a
 * recording, so that systemd also restarts a server whose simulation hangs. */
void service_run(struct Host *host);
/* False once the world has not ticked for five seconds though it should. */
bool service_is_alive(struct Host *host);
/* Sets *fd to the UDP socket passed to this process, −1 if none. Returns 0, or a negative
 * Error with a text for any other descriptor. Call once, before threads start: it clears
 * $LISTEN_FDS. */
int service_socket(int *fd, ErrorText *error);

#endif
