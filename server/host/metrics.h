/*
 * metrics.h: measurements of a host, and the page that shows them in the text format of
 * Prometheus: base units, counters that end in _total, histograms with fixed bounds.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_METRICS_H
#define PLENUM_SERVER_HOST_METRICS_H

#include "protocol/session/message.h"
#include "shared/base/stats.h"

/* Since the start. Seconds, of BOUNDS_SECONDS, where nothing else is said. */
typedef struct HostMeasures {
    Buckets turn;              /* one iteration of the loop */
    Buckets encode, send;      /* one snapshot: choosing and encoding it, sealing and sending it */
    Buckets join;              /* from the connection to the whole world at the client */
    Buckets round_trip;        /* of each client, once a second */
    Buckets budget;            /* bytes/s, of BOUNDS_RATE; of each client, once a second */
    u64 limited;               /* snapshots truncated by a budget */
    u64 frames;                /* taken from the source */
    u64 refused[REFUSE_COUNT]; /* before they had a place, by reason */
    u64 ended[REFUSE_COUNT];   /* sessions, by reason; REFUSE_NONE: the connection was lost */
    u64 sample_ms;             /* time of the next measurement of all clients */
    u64 started_unix_s;
} HostMeasures;

struct Host;
/* Measures all clients once a second. */
void metrics_sample(struct Host *host);
/* Writes the page into text[bytes] and returns its length, less than bytes. Lines that do not fit
 * are omitted; HTTP_PAGE_BYTES_MAX (http.h) is enough for all. */
size_t metrics_write(void *host, char *text, size_t bytes);

#endif
