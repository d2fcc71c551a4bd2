/*
 * snapshot_build.c: builds the snapshots of sessions and sends them; takes their acknowledgements.
 * Those of clients that have just joined are built by the encoder's thread (encoder.h) and sent
 * when they are finished; until then their sender is not accessed here, and acknowledgements wait.
 */
#include "server/host/session.h"

#include "server/host/trace.h"
#include "shared/base/check.h"
#include "shared/base/clock.h"

enum {
    /* After its world arrived a client shares no codes with others until it acknowledged some
     * states: for this time, and some round trips. */
    EARLY_MS = 500,
    EARLY_ROUNDS = 4
};

typedef struct Emit {
    Host *host;
    Session *session;
    u64 send_ns; /* spent on sending */
} Emit;

static void packet_emit(void *context, const u8 *packet, u32 bytes)
{
    Emit *emit = context;
    u64 began_ns = clock_now_ns();
    (void)session_send(emit->host, emit->session, CHANNEL_STATE, packet, bytes);
    emit->send_ns += clock_now_ns() - began_ns;
    budget_sent(&emit->session->budget, bytes);
    emit->session->early_bytes += emit->session->world_here ? 0 : bytes + BUDGET_HEAD_BYTES;
}

/* Counts a snapshot of this tick with the time it took to build. */
static void snapshot_count(Host *host, Session *session, u64 tick, u64 began_ns, u64 cost_ns,
                           u64 send_ns)
{
    TRACE_PROBE3(snapshot, session->user, tick, cost_ns + send_ns);
    trace_span(host->options.trace, &(TraceSpan){"snapshot", TRACE_HOST, began_ns,
                                                 began_ns + cost_ns + send_ns, session->user});
    buckets_add(&host->measures.encode, &BOUNDS_SECONDS, (f64)cost_ns * 1e-9);
    buckets_add(&host->measures.send, &BOUNDS_SECONDS, (f64)send_ns * 1e-9);
    SnapshotSenderStats stats;
    snapshot_sender_stats(session->sender, &stats);
    session->limited = stats.limited;
    if (stats.limited) {
        budget_limited(&session->budget);
        host->measures.limited++;
    }
    host->stats.snapshots++;
}

bool snapshot_elsewhere(const Host *host, const Stream *stream, const Session *session)
{
    u64 early_ms = EARLY_MS + EARLY_ROUNDS * (u64)session->rtt_ms;
    return host->encoder != NULL && stream == &host->common &&
           (!session->world_here || host->now_ms - session->here_ms < early_ms);
}

bool snapshot_can_wait(const Host *host)
{
    return host->encoder != NULL && !encoder_is_free(host->encoder);
}

void snapshot_build(Host *host, Stream *stream, Session *session, const SnapshotHeader *header,
                    SnapshotLine line)
{
    CHECK(!session->encoding && session->sender != NULL);
    if (snapshot_elsewhere(host, stream, session)) {
        const EncoderJob job = {.sender = session->sender,
                                .session = (u32)(session - host->sessions),
                                .view = session->view,
                                .header = *header,
                                .line = line};
        encoder_add(host->encoder, &job);
        session->encoding = true;
        return;
    }
    CHECK(stream != &host->common || host->encoder == NULL || !encoder_copies(host->encoder));
    Emit emit = {host, session, 0};
    u64 began_ns = clock_now_ns();
    snapshot_sender_build(session->sender, stream->cache, &session->view, header, line, packet_emit,
                          &emit);
    u64 cost_ns = clock_now_ns() - began_ns - emit.send_ns;
    snapshot_count(host, session, stream->history.newest->tick, began_ns, cost_ns, emit.send_ns);
}

void snapshots_hand_over(Host *host, const Stream *stream)
{
    if (host->encoder != NULL && stream == &host->common && encoder_is_free(host->encoder)) {
        encoder_start(host->encoder, stream->cache, &stream->history);
    }
}

void snapshots_cache_free(Host *host)
{
    if (host->encoder != NULL) {
        encoder_wait_copied(host->encoder);
    }
}

/* ---- what was built ---- */

static void job_send(Host *host, Session *session, const EncoderJob *job)
{
    Emit emit = {host, session, 0};
    u32 at = 0, bytes;
    const u8 *packet;
    while ((packet = encoder_packet(job, &at, &bytes)) != NULL) {
        packet_emit(&emit, packet, bytes);
    }
    snapshot_count(host, session, job->header.tick, job->began_ns, job->cost_ns, emit.send_ns);
}

void snapshots_take(Host *host)
{
    u32 count = 0;
    EncoderJob *jobs = host->encoder != NULL ? encoder_take(host->encoder, &count) : NULL;
    if (jobs == NULL) {
        return;
    }
    for (u32 i = 0; i < count; i++) {
        Session *session = &host->sessions[jobs[i].session];
        if (!session->encoding || session->sender != jobs[i].sender) {
            snapshot_sender_destroy(jobs[i].sender); /* it was given up meanwhile */
            continue;
        }
        session->encoding = false;
        if (session->state != SESSION_LIVE) {
            continue; /* it is being closed */
        }
        job_send(host, session, &jobs[i]);
        if (session->held.ack.valid) {
            session_acknowledge(host, session, &session->held);
            session->held.ack.valid = 0;
        }
    }
    encoder_taken(host->encoder);
}

void session_sender_end(Session *session)
{
    if (!session->encoding) {
        snapshot_sender_destroy(session->sender);
    } /* otherwise snapshots_take finds no owner */
    session->sender = NULL;
    session->encoding = false;
    session->held.ack.valid = 0;
}

/* ---- acknowledgements ---- */

void session_acknowledge(Host *host, Session *session, const Acknowledgement *a)
{
    if (session->encoding) {
        session->held = *a;
        return;
    }
    acknowledge(session->sender, &session->budget, a, &session->rtt_ms, host->now_ms);
}
