/*
 * service.h: a host as a service of systemd: says when it is ready, that it lives, and why it ends
 * (sd_notify(3)), and takes over a socket that systemd opened (sd_listen_fds(3)). Without systemd
 * ($NOTIFY_SOCKET, $LISTEN_FDS) nothing happens.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_SERVICE_H
#define PLENUM_SERVER_HOST_SERVICE_H

#include "shared/base/error.h"

/* State of a host's reports. */
typedef struct Service {
    bool started, ready, stopping;
    u64 watchdog_ms; /* between two signs of life; 0: nobody waits for them */
    u64 life_ms;     /* time of the next */
    u64 status_ms;   /* time of the next line for systemctl status */
    u64 tick;        /* of the world when it was last seen to tick, */
    u64 tick_ms;     /* and the time then */
} Service;

struct Host;
/* Reports what is due. A sign of life needs a world that ticks, stands still on purpose, or plays
 * a recording: a simulation that hangs is restarted as well. */
void service_run(struct Host *host);
/* False once the world has not ticked for five seconds though it should. */
bool service_is_alive(struct Host *host);
/* *fd: the IPv4 UDP socket that was passed to this process, −1 if none was. 0, or a negative Error
 * with a text if something else was. Call once, before threads start: it clears $LISTEN_FDS. */
int service_socket(int *fd, ErrorText *error);

#endif
