/* health.c: shortages of memory, file descriptors and disk space. The server keeps running, reports
 * them, and refuses what does not fit. */
#include "server/host/session.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/memory.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum {
    CHECK_MS = 500,
    RETRY_MS = 2000
};

/* Less slowdown than this is not noticeable. */
#define BEHIND_SHARE 0.05

/* At the memory limit nothing is added; slightly below it normal operation resumes. */
static void memory_check(Host *host)
{
    u64 used = host->stats.memory_bytes = memory_resident_bytes();
    u64 most = host->options.memory_max_bytes;
    bool was = host->memory_short;
    host->memory_short = most > 0 && used > (was ? most - most / 16 : most);
    if (host->memory_short != was) {
        log_warn("memory: %llu of %llu MiB: %s", (unsigned long long)(used >> 20),
                 (unsigned long long)(most >> 20),
                 was ? "joins and spawns are allowed again" : "joins and spawns are refused");
    }
}

static int descriptor_take(void)
{
    return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* One descriptor is reserved for health queries. */
static void descriptors_check(Host *host)
{
    if (host->spare_fd < 0) {
        host->spare_fd = descriptor_take();
    }
    int fd = host->spare_fd < 0 ? -1 : descriptor_take();
    bool was = host->descriptors_short;
    host->descriptors_short = fd < 0;
    if (fd >= 0) {
        close(fd);
    }
    if (host->descriptors_short != was) {
        host->stats.descriptor_shortages += !was;
        log_warn("%s", was ? "file descriptors are available again"
                           : "no file descriptors are left (ulimit -n): files and connections of "
                             "the console and of HTTP cannot be opened");
    }
}

/* Failed writes are retried automatically. */
static void writes_retry(Host *host)
{
    if (host->now_ms < host->health.retry_ms) {
        return;
    }
    host->health.retry_ms = host->now_ms + RETRY_MS;
    if (host->health.bans_failing) {
        moderate_save(host);
    }
    if (host->audit.failing) {
        AuditLine line = {.name = "server", .what = "log", .detail = "lines could not be written"};
        audit_write(&host->audit, &line, clock_unix_ms(), host->now_ms);
    }
}

void health_check(Host *host)
{
    Health *health = &host->health;
    if (host->now_ms >= health->check_ms) {
        health->check_ms = host->now_ms + CHECK_MS;
        memory_check(host);
        descriptors_check(host);
        writes_retry(host);
        health->dropped_s[health->samples % HEALTH_SAMPLES] = host->common.status.dropped_s;
        health->samples++;
    }
}

void health_spare(Host *host)
{
    if (host->descriptors_short && host->spare_fd >= 0) {
        close(host->spare_fd);
        host->spare_fd = -1;
    }
}

/* The fraction of the last seconds by which the world fell behind, if it is more than a
 * moment's. */
static bool falls_behind(Host *host)
{
    Health *health = &host->health;
    u32 spans = u32_min(health->samples, HEALTH_SAMPLES);
    if (spans < HEALTH_SAMPLES) {
        return false;
    }
    f64 newest = health->dropped_s[(health->samples - 1) % HEALTH_SAMPLES];
    f64 oldest = health->dropped_s[health->samples % HEALTH_SAMPLES];
    f64 window_s = (HEALTH_SAMPLES - 1) * CHECK_MS * 1e-3;
    f64 share = (newest - oldest) / window_s;
    if (share < BEHIND_SHARE) {
        return false;
    }
    snprintf(health->text, sizeof health->text,
             "the world cannot keep up: it ran at %.0f %% of its speed in the last %.0f s",
             100.0 * fmax(1.0 - share, 0.0), window_s);
    return true;
}

const char *health_text(Host *host)
{
    const SourceStatus *status = &host->common.status;
    if (status->error != ERROR_OK) {
        return error_name(status->error);
    }
    if (status->recording_ended) {
        return "the recording could not be written and has ended";
    }
    if (status->recording_lost) {
        return "the recording could not be written and waits for free disk space";
    }
    if (status->checkpoint_failing) {
        return "the last checkpoint could not be written";
    }
    if (status->broker.failing) {
        return status->broker.publishing ? "the broker takes nothing: the world is not published"
                                         : "the broker cannot be reached";
    }
    if (host->audit.failing) {
        return "the audit log could not be written";
    }
    if (host->health.bans_failing) {
        return "the list of bans could not be written";
    }
    if (falls_behind(host)) {
        return host->health.text;
    }
    return host->descriptors_short ? "no file descriptors are left" : NULL;
}
