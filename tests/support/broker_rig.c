/* broker_rig.c: see broker_rig.h. */
#include "tests/support/broker_rig.h"

#include "shared/base/clock.h"

#include <arpa/inet.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

void rig_rest_ms(u32 ms)
{
    clock_sleep_until_ns(clock_now_ns() + (u64)ms * 1000000u);
}

int rig_tcp(u32 port, u32 *got)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((u16)port)};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    int result = port != 0 ? connect(fd, (struct sockaddr *)&at, sizeof at)
                           : bind(fd, (struct sockaddr *)&at, sizeof at);
    if (result != 0) {
        close(fd);
        return -1;
    }
    if (got != NULL && getsockname(fd, (struct sockaddr *)&at, &length) == 0) {
        *got = ntohs(at.sin_port);
    }
    return fd;
}

void rig_broker_up(RigBroker *b)
{
    const char *program =
        access("/usr/sbin/nats-server", X_OK) == 0 ? "/usr/sbin/nats-server" : "nats-server";
    process_start(&b->process, program, "-a", "127.0.0.1", "-p", b->port_text, "-js", "-sd",
                  b->store, b->config[0] != '\0' ? "-c" : NULL, b->config, NULL);
    for (u32 i = 0; i < 3000; i++) {
        int fd = rig_tcp(b->port, NULL);
        if (fd >= 0) {
            close(fd);
            return;
        }
        rig_rest_ms(10);
    }
    fail_msg("nats-server does not answer");
}

static void broker_place(RigBroker *b, const char *name)
{
    int fd = rig_tcp(0, &b->port);
    close(fd);
    snprintf(b->port_text, sizeof b->port_text, "%u", b->port);
    snprintf(b->store, sizeof b->store, "%s", test_path(name));
    snprintf(b->url, sizeof b->url, "nats://127.0.0.1:%u/%s", b->port, name);
    b->config[0] = '\0';
}

void rig_broker_new(RigBroker *b, const char *name)
{
    broker_place(b, name);
    rig_broker_up(b);
}

void rig_broker_new_with(RigBroker *b, const char *name, const char *lines)
{
    char file[64];
    broker_place(b, name);
    snprintf(file, sizeof file, "%s.conf", name);
    snprintf(b->config, sizeof b->config, "%s", test_path(file));
    file_write(b->config, lines);
    rig_broker_up(b);
}

void rig_broker_down(RigBroker *b, int signal)
{
    process_signal(&b->process, signal);
    (void)process_wait(&b->process, 20.0);
}

f64 rig_metric(u32 port, const char *name)
{
    char page[1 << 16];
    size_t used = 0;
    ssize_t got;
    int fd = rig_tcp(port, NULL);
    if (fd < 0) {
        return NAN;
    }
    static const char request[] = "GET /metrics HTTP/1.0\r\n\r\n";
    assert_true(write(fd, request, sizeof request - 1) == sizeof request - 1);
    while (used < sizeof page - 1 && (got = read(fd, page + used, sizeof page - 1 - used)) > 0) {
        used += (size_t)got;
    }
    close(fd);
    page[used] = '\0';
    char line[128];
    snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(page, line);
    return at != NULL ? strtod(at + strlen(line), NULL) : (f64)NAN;
}

void rig_metric_wait(u32 port, const char *name, f64 least)
{
    f64 value = NAN;
    for (u32 i = 0; i < 2000; i++) {
        value = rig_metric(port, name);
        if (value >= least) {
            return;
        }
        rig_rest_ms(30);
    }
    fail_msg("%s is %g, expected %g", name, value, least);
}

u32 rig_free_port(char *text, size_t bytes)
{
    u32 port = 0;
    close(rig_tcp(0, &port));
    snprintf(text, bytes, "127.0.0.1:%u", port);
    return port;
}
