/*
 * broker_rig.h: a real nats-server with a store of its own, and the values on a server's page of
 * metrics, for tests of worlds that go through a broker.
 * Layer: tests/support.
 */
#ifndef PLENUM_TESTS_SUPPORT_BROKER_RIG_H
#define PLENUM_TESTS_SUPPORT_BROKER_RIG_H

#include "tests/support/process.h"

typedef struct RigBroker {
    Process process;
    u32 port;
    char port_text[16], store[PATH_BYTES_MAX], url[128];
    char config[PATH_BYTES_MAX]; /* its file; "": none */
} RigBroker;

/* Sleeps. */
void rig_rest_ms(u32 ms);
/* A TCP connection to this port of this machine, -1: none; or, if it is 0, a socket that has a free
 * one, which goes to *got (NULL is fine). */
int rig_tcp(u32 port, u32 *got);
/* A free port, with "127.0.0.1:PORT" in text. */
u32 rig_free_port(char *text, size_t bytes);

/* Starts a broker for the world `name`, whose address is then in b->url, and waits until it
 * answers. */
void rig_broker_new(RigBroker *b, const char *name);
/* The same with a file of configuration that has these lines. */
void rig_broker_new_with(RigBroker *b, const char *name, const char *lines);
/* Starts it again, with what it has stored. */
void rig_broker_up(RigBroker *b);
void rig_broker_down(RigBroker *b, int signal);

/* The value of a metric of a server with --http at this port; NaN: none. */
f64 rig_metric(u32 port, const char *name);
/* Waits, for long, until a metric is at least this. */
void rig_metric_wait(u32 port, const char *name, f64 least);

#endif
