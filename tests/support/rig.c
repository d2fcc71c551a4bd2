/* rig.c: see rig.h. */
#include "tests/support/rig.h"

#include "shared/base/check.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <stdio.h>
#include <string.h>

static void *host_main(void *argument)
{
    Rig *rig = argument;
    rig->exit_code = host_run(rig->host);
    return NULL;
}

void rig_start(Rig *rig, const HostOptions *options)
{
    rig_start_source(rig, options, fake_source_create());
}

void rig_start_source(Rig *rig, const HostOptions *options, Source *source)
{
    HostOptions standard = {
        .clients_max = 8, .snapshot_rate = 30, .open_role = -1, .local_role = ROLE_OPERATOR};
    ErrorText error = {0};
    memset(rig, 0, sizeof *rig);
    log_set_level(LOG_ERROR);
    options = options != NULL ? options : &standard;
    Link *link = link_enet_listen("127.0.0.1:0", host_peers(options), NULL, &error);
    CHECK(link != NULL);
    rig->port = link_enet_port(link);
    snprintf(rig->address, sizeof rig->address, "127.0.0.1:%u", rig->port);
    rig->source = source;
    rig->host = host_create(options, link, rig->source, &error);
    CHECK(rig->host != NULL);
    CHECK(pthread_create(&rig->thread, NULL, host_main, rig) == 0);
}

int rig_wait(Rig *rig)
{
    if (!rig->joined) {
        pthread_join(rig->thread, NULL);
        rig->joined = true;
    }
    return rig->exit_code;
}

void rig_stop(Rig *rig)
{
    if (!rig->joined) {
        host_stop(rig->host);
        rig_wait(rig);
    }
    host_destroy(rig->host);
}

Connection *rig_connect(Rig *rig, const char *name)
{
    ErrorText error = {0};
    ConnectionOptions options = {0};
    snprintf(options.name, sizeof options.name, "%s", name);
    Link *link = link_enet_connect(rig->address, NULL, &error);
    CHECK(link != NULL);
    Connection *connection = connection_create(link, &options, &error);
    CHECK(connection != NULL);
    return connection;
}

static void poll_all(Connection **connections, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        connection_poll(connections[i], clock_now_ns());
    }
    clock_sleep_until_ns(clock_now_ns() + 3000000);
}

bool rig_until(Connection **connections, u32 count, ConnectionState state)
{
    u64 end = clock_now_ns() + 15000000000ull;
    while (clock_now_ns() < end) {
        u32 there = 0;
        poll_all(connections, count);
        for (u32 i = 0; i < count; i++) {
            there += connection_state(connections[i]) == state;
        }
        if (there == count) {
            return true;
        }
    }
    return false;
}

void rig_poll(Connection **connections, u32 count, f64 seconds)
{
    u64 end = clock_now_ns() + (u64)(seconds * 1e9);
    while (clock_now_ns() < end) {
        poll_all(connections, count);
    }
}
