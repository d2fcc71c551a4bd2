/*
 * rig.h: a real host on loopback in a thread, fed by a fake source, and clients of the real
 * connection code, for tests of sessions.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_RIG_H
#define PLENUM_TESTS_SUPPORT_RIG_H

#include "client/link/connection.h"
#include "server/host/host.h"
#include "tests/support/fake_source.h"

#include <pthread.h>

typedef struct Rig {
    Host *host;
    Source *source; /* the host's */
    pthread_t thread;
    u16 port;
    int exit_code;
    bool joined;
    char address[32];
} Rig;

/* options may be NULL: 8 clients, 30 snapshots a second, roles as by default. */
void rig_start(Rig *rig, const HostOptions *options);
/* The same with another source, which the host owns. */
void rig_start_source(Rig *rig, const HostOptions *options, Source *source);
/* Waits for the host's end and returns its exit code. */
int rig_wait(Rig *rig);
/* Stops and frees all. */
void rig_stop(Rig *rig);
Connection *rig_connect(Rig *rig, const char *name);
/* Polls the connections until `state` is reached by all; false after 15 s. */
bool rig_until(Connection **connections, u32 count, ConnectionState state);
/* Polls for so long. */
void rig_poll(Connection **connections, u32 count, f64 seconds);

#endif
