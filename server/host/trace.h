/*
 * trace.h: where a server spends its time, for standard tracing tools.
 *
 * A trace is a file of Chrome trace events (for Perfetto), written by its own thread. Spans pass
 * through a bounded queue; when it is full they are dropped and counted. TRACE_PROBE is a USDT
 * probe for SystemTap, bpftrace and perf: a single nop instruction unless a tool attaches.
 *     bpftrace -e 'usdt:./plenum-server:plenum:tick { @ns = hist(arg1); }'
 *     tick(tick, ns)  tick_phase(TickPhase, ns)  snapshot(user, tick, ns)  join(user, role)
 *     leave(user, reason)
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_TRACE_H
#define PLENUM_SERVER_HOST_TRACE_H

#include "shared/base/error.h"

#include <sys/sdt.h>

#define TRACE_PROBE2(name, a, b)    DTRACE_PROBE2(plenum, name, a, b)
#define TRACE_PROBE3(name, a, b, c) DTRACE_PROBE3(plenum, name, a, b, c)

typedef enum TraceThread {
    TRACE_HOST,
    TRACE_SIMULATION,
    TRACE_THREADS
} TraceThread;

typedef struct TraceSpan {
    const char *name; /* static string */
    TraceThread thread;
    u64 begin_ns, end_ns; /* of clock_now_ns */
    u64 number;           /* a tick, a user, ... */
} TraceSpan;

typedef struct Trace Trace;
/* Creates the file, which must not exist, and starts the thread. NULL with a text. */
Trace *trace_create(const char *path, ErrorText *error);
/* Records a span. Any thread; does not block. trace NULL: does nothing. */
void trace_span(Trace *trace, const TraceSpan *span);
/* Writes the queued spans and logs how many were dropped. NULL is allowed. */
void trace_destroy(Trace *trace);

#endif
