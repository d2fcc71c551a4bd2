/* health.c: what a server runs out of: memory, file descriptors, room on the disk. It goes on
 * without, says so, and refuses what it has no room for. */
#include "server/host/session.h"
#include "shared/base/log.h"
#include "shared/base/memory.h"

#include <fcntl.h>
#include <unistd.h>

enum {
    CHECK_MS = 500
};

/* At the memory limit nothing is added; somewhat below it normal operation resumes. */
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

/* One descriptor is kept for those who ask how the server is. */
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
        log_warn("%s", was ? "there are file descriptors again"
                           : "no file descriptors are left (ulimit -n): files and connections of "
                             "the console and of HTTP cannot be opened");
    }
}

void health_check(Host *host)
{
    if (host->now_ms >= host->health_ms) {
        host->health_ms = host->now_ms + CHECK_MS;
        memory_check(host);
        descriptors_check(host);
    }
}

void health_spare(Host *host)
{
    if (host->descriptors_short && host->spare_fd >= 0) {
        close(host->spare_fd);
        host->spare_fd = -1;
    }
}

const char *health_text(const Host *host)
{
    if (host->status.error != ERROR_OK) {
        return error_name(host->status.error);
    }
    if (host->status.recording_lost) {
        return "the recording could not be written and has ended";
    }
    if (host->stats.write_failures > 0 || host->audit.failures > 0) {
        return "the audit log or the list of bans could not be written";
    }
    return host->descriptors_short ? "no file descriptors are left" : NULL;
}
