/* service.c: see service.h. */
#include "server/host/service.h"

#include "server/host/session.h"

#include <inttypes.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

enum {
    STATUS_LINE_MS = 5000,
    /* A world without a tick for this long hangs: at 1/100 of 30 Hz it ticks every 3.3 s. */
    HANG_MS = 5000
};

static void begin(Service *service)
{
    uint64_t watchdog_us = 0;
    service->started = true;
    if (sd_watchdog_enabled(0, &watchdog_us) > 0) {
        service->watchdog_ms = u64_max(watchdog_us / 3000, 1);
    }
}

bool service_is_alive(Host *host)
{
    const SourceStatus *status = &host->common.status;
    Service *service = &host->service;
    if (status->tick != service->tick || status->status.paused || status->status.replay ||
        status->finished || host->draining) {
        service->tick = status->tick;
        service->tick_ms = host->now_ms;
    }
    return host->now_ms - service->tick_ms < HANG_MS;
}

void service_run(Host *host)
{
    Service *service = &host->service;
    if (!service->started) {
        begin(service);
    }
    if (host->draining && !service->stopping) {
        service->stopping = true;
        /* The last checkpoint takes as long as the disk needs. */
        sd_notify(0, "STOPPING=1\nWATCHDOG_USEC=120000000\nSTATUS=saying good-bye");
    }
    if (!service->ready && host->common.history.newest != NULL) {
        service->ready = true;
        sd_notify(0, "READY=1");
    }
    if (service->watchdog_ms > 0 && host->now_ms >= service->life_ms && service_is_alive(host)) {
        service->life_ms = host->now_ms + service->watchdog_ms;
        sd_notify(0, "WATCHDOG=1");
    }
    if (service->ready && !service->stopping && host->now_ms >= service->status_ms) {
        const char *ill = health_text(host);
        service->status_ms = host->now_ms + STATUS_LINE_MS;
        sd_notifyf(0, "STATUS=tick %" PRIu64 ", %u of %u places taken%s%s",
                   host->common.status.tick, host->stats.clients, host->options.clients_max,
                   ill != NULL ? "; " : "", ill != NULL ? ill : "");
    }
}

int service_socket(int *fd, ErrorText *error)
{
    int count = sd_listen_fds(1);
    *fd = count == 1 ? SD_LISTEN_FDS_START : -1;
    if (count > 1 || (count == 1 && sd_is_socket_inet(*fd, AF_UNSPEC, SOCK_DGRAM, -1, 0) <= 0)) {
        return error_set(error, ERROR_USAGE,
                         "expected one UDP socket from the service manager, got %d", count);
    }
    return ERROR_OK;
}
