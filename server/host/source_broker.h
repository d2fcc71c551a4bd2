/*
 * source_broker.h: follows a world that another server publishes to a broker (publisher.h): at its
 * live end, or from any point that the broker still has, at the world's own pace.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_SOURCE_BROKER_H
#define PLENUM_SERVER_HOST_SOURCE_BROKER_H

#include "server/host/broker.h"
#include "server/host/source.h"

typedef struct SourceBrokerOptions {
    BrokerOptions broker;
    const char *at; /* a tick, a world time, as for branch_tick (branch.h), or a date such as
                       2026-11-27T07:00:00Z; NULL: the live end */
    f64 speed;      /* with `at`; 0: 1 */
    const char *record_path; /* NULL: none */
    bool record_force;
    u32 record_rate; /* RecorderOptions.picture_rate */
    u32 wait_ms;     /* time-out for the first frame; 0: 30 s */
} SourceBrokerOptions;

/* Waits for the first frame. NULL with an error. */
Source *source_broker_create(const SourceBrokerOptions *options, ErrorText *error);

#endif
