/* metrics.c: the page of metrics. */
#include "server/host/announce.h"
#include "server/host/lan.h"
#include "server/host/session.h"
#include "shared/base/version.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

enum {
    SAMPLE_MS = 1000,
    LABELS_BYTES = 96
};

void metrics_sample(Host *host)
{
    HostMeasures *m = &host->measures;
    if (host->now_ms < m->sample_ms) {
        return;
    }
    m->sample_ms = host->now_ms + SAMPLE_MS;
    for (u32 i = 0; i < host->session_capacity; i++) {
        const Session *session = &host->sessions[i];
        if (session->state == SESSION_LIVE && session->world_here) {
            buckets_add(&m->budget, &BOUNDS_RATE, session->budget.bytes_s);
            if (session->rtt_ms > 0.0) {
                buckets_add(&m->round_trip, &BOUNDS_SECONDS, session->rtt_ms * 1e-3);
            }
        }
    }
}

/* ---- the text ---- */

typedef struct Page {
    char *text;
    size_t bytes, used;
} Page;

/* One line, or nothing if it does not fit. */
static PL_PRINTF(2, 3) void page_line(Page *page, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    size_t room = page->bytes - page->used;
    int wrote = vsnprintf(page->text + page->used, room, format, arguments);
    va_end(arguments);
    if (wrote > 0 && (size_t)wrote < room) {
        page->used += (size_t)wrote;
    }
}

static void family(Page *page, const char *name, const char *type, const char *help)
{
    page_line(page, "# HELP %s %s\n", name, help);
    page_line(page, "# TYPE %s %s\n", name, type);
}

/* labels: "" or {name="value"}. */
static void sample(Page *page, const char *name, const char *labels, f64 value)
{
    page_line(page, "%s%s %.15g\n", name, labels, value);
}

/* label: "" or name="value". */
static void series(Page *page, const char *name, const char *label, const BucketBounds *bounds,
                   const Buckets *buckets)
{
    char labels[LABELS_BYTES] = "";
    const char *comma = label[0] != '\0' ? "," : "";
    u64 below = 0;
    for (u32 i = 0; i < bounds->count; i++) {
        below += buckets->counts[i];
        page_line(page, "%s_bucket{%s%sle=\"%g\"} %.15g\n", name, label, comma, bounds->bounds[i],
                  (f64)below);
    }
    page_line(page, "%s_bucket{%s%sle=\"+Inf\"} %.15g\n", name, label, comma, (f64)buckets->count);
    if (label[0] != '\0') {
        snprintf(labels, sizeof labels, "{%s}", label);
    }
    page_line(page, "%s_sum%s %.15g\n", name, labels, buckets->sum);
    page_line(page, "%s_count%s %.15g\n", name, labels, (f64)buckets->count);
}

/* ---- groups ---- */

/* A family of one sample. */
typedef struct Single {
    const char *name, *type, *help;
    f64 value;
} Single;

static void rows_write(Page *page, const Single *rows, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        family(page, rows[i].name, rows[i].type, rows[i].help);
        sample(page, rows[i].name, "", rows[i].value);
    }
}

static void write_world(Page *page, Host *host)
{
    const SourceStatus *s = &host->common.status;
    const Single rows[] = {
        {"plenum_world_tick", "gauge", "Number of the newest world tick.", (f64)s->tick},
        {"plenum_tick_budget_seconds", "gauge", "Real time that a tick has at speed 1.",
         1.0 / (f64)u32_max(host->tick_rate, 1)},
        {"plenum_frames_total", "counter", "Frames taken from the world or the recording.",
         (f64)host->measures.frames},
        {"plenum_ticks_late_total", "counter", "Ticks that started late.", (f64)s->late_ticks},
        {"plenum_world_dropped_seconds_total", "counter",
         "World time that was given up since ticks cost too much.", s->dropped_s},
        {"plenum_world_slowed", "gauge", "1 if world time was given up in the last second.",
         s->status.slowed != 0},
        {"plenum_world_paused", "gauge", "1 if world time stands still.", s->status.paused != 0},
        {"plenum_world_speed_ratio", "gauge", "World seconds per real second, as asked for.",
         (f64)s->status.speed},
        {"plenum_entities", "gauge", "Entities in the world.", host->common.entities.count},
        {"plenum_rewind_bytes", "gauge", "Memory of the images that the world can be rewound to.",
         (f64)s->back_bytes},
    };
    rows_write(page, rows, PL_COUNT(rows));
}

const char *tick_phase_name(TickPhase phase)
{
    static const char *const names[TICK_PHASES] = {"inputs", "contacts", "substeps",  "finish",
                                                   "frame",  "record",   "checkpoint"};
    return names[phase];
}

/* Quantiles since the start, and the sums. */
static void write_costs(Page *page, const char *name, const char *help, const Histogram *costs)
{
    static const f64 shares[] = {0.5, 0.9, 0.99, 0.999};
    char label[LABELS_BYTES], sum[LABELS_BYTES];
    family(page, name, "summary", help);
    for (u32 i = 0; i < PL_COUNT(shares); i++) {
        snprintf(label, sizeof label, "{quantile=\"%g\"}", shares[i]);
        sample(page, name, label, histogram_quantile(costs, shares[i]) * 1e-9);
    }
    snprintf(sum, sizeof sum, "%s_sum", name);
    sample(page, sum, "", costs->sum * 1e-9);
    snprintf(sum, sizeof sum, "%s_count", name);
    sample(page, sum, "", (f64)costs->count);
}

static void write_times(Page *page, Host *host)
{
    const HostMeasures *m = &host->measures;
    SourceTimes times = {0};
    if (host->common.source->ops->times != NULL) {
        host->common.source->ops->times(host->common.source, &times);
        const char *name = "plenum_tick_phase_seconds";
        family(page, "plenum_tick_seconds", "histogram", "Cost of a tick.");
        series(page, "plenum_tick_seconds", "", &BOUNDS_SECONDS, &times.tick);
        write_costs(page, "plenum_tick_cost_seconds",
                    "Cost of a tick, quantiles since the start (within 3 %).", &times.costs);
        write_costs(page, "plenum_tick_cpu_seconds",
                    "Processor time of the simulation thread in a tick, quantiles since the start "
                    "(within 3 %).",
                    &times.processor);
        family(page, name, "histogram", "Cost of a tick, by what it went into.");
        for (u32 i = 0; i < TICK_PHASES; i++) {
            char label[LABELS_BYTES];
            snprintf(label, sizeof label, "phase=\"%s\"", tick_phase_name((TickPhase)i));
            series(page, name, label, &BOUNDS_SECONDS, &times.phases[i]);
        }
    }
    const struct {
        const char *name, *help;
        const BucketBounds *bounds;
        const Buckets *buckets;
    } all[] = {
        {"plenum_loop_seconds", "Cost of an iteration of the loop that serves clients.",
         &BOUNDS_SECONDS, &m->turn},
        {"plenum_snapshot_encode_seconds", "Choosing and encoding a snapshot of one client.",
         &BOUNDS_SECONDS, &m->encode},
        {"plenum_snapshot_send_seconds", "Sealing and sending the packets of a snapshot.",
         &BOUNDS_SECONDS, &m->send},
        {"plenum_join_seconds", "From a client's connection until it has the whole world.",
         &BOUNDS_SECONDS, &m->join},
        {"plenum_client_round_trip_seconds", "Round trip of each client, once a second.",
         &BOUNDS_SECONDS, &m->round_trip},
        {"plenum_client_budget_bytes_per_second", "Rate allowed to each client, once a second.",
         &BOUNDS_RATE, &m->budget},
    };
    for (u32 i = 0; i < PL_COUNT(all); i++) {
        family(page, all[i].name, "histogram", all[i].help);
        series(page, all[i].name, "", all[i].bounds, all[i].buckets);
    }
}

/* Label of a REFUSE_ reason; NULL: none that a server gives. */
static const char *reason_label(u32 reason)
{
    static const char *const labels[REFUSE_COUNT] = {
        [REFUSE_NONE] = "lost",     [REFUSE_VERSION] = "version",   [REFUSE_FULL] = "full",
        [REFUSE_TOKEN] = "token",   [REFUSE_PROTOCOL] = "protocol", [REFUSE_FLOOD] = "flood",
        [REFUSE_KICKED] = "kicked", [REFUSE_SHUTDOWN] = "shutdown", [REFUSE_TIMEOUT] = "timeout",
        [REFUSE_LEFT] = "left",     [REFUSE_BANNED] = "banned",     [REFUSE_PASSWORD] = "password",
    };
    return reason < REFUSE_COUNT ? labels[reason] : NULL;
}

static void by_reason(Page *page, const char *name, const char *help, const u64 *counts)
{
    family(page, name, "counter", help);
    for (u32 i = 0; i < REFUSE_COUNT; i++) {
        char labels[LABELS_BYTES];
        if (reason_label(i) != NULL) {
            snprintf(labels, sizeof labels, "{reason=\"%s\"}", reason_label(i));
            sample(page, name, labels, (f64)counts[i]);
        }
    }
}

static void write_clients(Page *page, Host *host)
{
    const HostStats *s = &host->stats;
    const Single rows[] = {
        {"plenum_clients", "gauge", "Clients that have a place.", s->clients},
        {"plenum_clients_waiting", "gauge", "Clients that wait for a place.", s->waiting},
        {"plenum_places", "gauge", "Places for clients.", host->options.clients_max},
        {"plenum_own_times", "gauge", "Clients that look around a recording on their own.",
         host->own_count},
        {"plenum_joins_total", "counter", "Clients that got a place.", (f64)s->joined},
        {"plenum_joins_refused", "gauge", "1 if joins are refused for lack of memory.",
         host->memory_short},
        {"plenum_worlds_packed_total", "counter", "Worlds packed for joins.",
         (f64)s->worlds_packed},
        {"plenum_bans", "gauge", "Bans, mutes and freezes.", host->bans.count},
        {"plenum_inputs_total", "counter", "Inputs passed to the world.", (f64)s->inputs},
        {"plenum_inputs_refused_total", "counter", "Inputs refused.", (f64)s->inputs_refused},
        {"plenum_malformed_total", "counter", "Malformed packets and messages.", (f64)s->malformed},
        {"plenum_forged_total", "counter", "Datagrams that failed authentication.", (f64)s->forged},
    };
    rows_write(page, rows, PL_COUNT(rows));
    by_reason(page, "plenum_refusals_total", "Clients refused before they had a place.",
              host->measures.refused);
    by_reason(page, "plenum_sessions_ended_total", "Sessions of clients with a place that ended.",
              host->measures.ended);
}

/* Public queries, and the lobby. */
static void write_lists(Page *page, Host *host)
{
    u64 answered = 0, refused = 0;
    AnnounceStats lobby;
    if (host->link->ops->asked != NULL) {
        host->link->ops->asked(host->link, &answered, &refused);
    }
    lan_asked(host->lan, &answered, &refused);
    announce_stats(host->announce, &lobby);
    const Single rows[] = {
        {"plenum_inquiries_total", "counter", "Questions about the world that were answered.",
         (f64)answered},
        {"plenum_inquiries_refused_total", "counter", "Such questions that came too often.",
         (f64)refused},
        {"plenum_lobby_announcements_total", "counter", "Announcements that the lobby took.",
         (f64)lobby.heard},
        {"plenum_lobby_failures_total", "counter", "Announcements that it did not.",
         (f64)lobby.failed},
        {"plenum_lobby_listed", "gauge", "1 if the lobby took the last announcement.",
         lobby.listed},
    };
    rows_write(page, rows, PL_COUNT(rows));
}

static void write_stream(Page *page, Host *host)
{
    const HostStats *s = &host->stats;
    u64 encoded = 0, served = 0;
    chunk_cache_stats(host->common.cache, &encoded, &served);
    if (host->encoder != NULL) {
        u64 more, also;
        encoder_stats(host->encoder, &more, &also);
        encoded += more;
        served += also;
    }
    const Single rows[] = {
        {"plenum_sent_bytes_total", "counter", "Bytes of payloads sent.", (f64)s->bytes_out},
        {"plenum_snapshots_total", "counter", "Snapshots sent.", (f64)s->snapshots},
        {"plenum_snapshots_limited_total", "counter", "Snapshots that a client's budget cut.",
         (f64)host->measures.limited},
        {"plenum_blocks_total", "counter", "Blocks of bulk transfers sent.", (f64)s->blocks},
        {"plenum_events_total", "counter", "Events told.", (f64)s->events},
        {"plenum_chunks_encoded_total", "counter", "Chunks encoded.", (f64)encoded},
        {"plenum_chunks_served_total", "counter", "Chunk codes sent, encoded once or more.",
         (f64)served},
    };
    rows_write(page, rows, PL_COUNT(rows));
}

/* ---- files ---- */

/* Free bytes of the file system of `path`, which need not exist yet; negative: unknown. */
static f64 free_bytes(const char *path)
{
    char folder[4096];
    struct statvfs disk;
    snprintf(folder, sizeof folder, "%s", path);
    if (statvfs(folder, &disk) != 0) {
        char *slash = strrchr(folder, '/');
        snprintf(slash != NULL ? slash + (slash == folder) : folder, 2, "%s",
                 slash != NULL ? "" : ".");
        if (statvfs(folder, &disk) != 0) {
            return -1.0;
        }
    }
    return (f64)disk.f_bavail * (f64)disk.f_frsize;
}

static void write_disks(Page *page, const Host *host)
{
    const HostOptions *options = &host->options;
    const struct {
        const char *label, *path;
    } files[] = {{"recording", options->record},
                 {"checkpoint", options->checkpoint},
                 {"audit", options->audit},
                 {"bans", options->bans}};
    bool any = false;
    for (u32 i = 0; i < PL_COUNT(files); i++) {
        f64 bytes = files[i].path != NULL ? free_bytes(files[i].path) : -1.0;
        char labels[LABELS_BYTES];
        if (bytes < 0.0) {
            continue;
        }
        if (!any) {
            family(page, "plenum_disk_free_bytes", "gauge",
                   "Room on the disk for what the server writes.");
            any = true;
        }
        snprintf(labels, sizeof labels, "{file=\"%s\"}", files[i].label);
        sample(page, "plenum_disk_free_bytes", labels, bytes);
    }
}

static void write_files(Page *page, Host *host)
{
    const SourceStatus *s = &host->common.status;
    const char *failing = "plenum_write_failing";
    const Single rows[] = {
        {"plenum_recording", "gauge", "1 if the session is being recorded.",
         s->recording && !s->recording_ended},
        {"plenum_recorded_ticks_total", "counter", "Ticks written to the recording.",
         (f64)s->ticks_recorded},
        {"plenum_recording_lost_ticks_total", "counter", "Ticks that are in no recording.",
         (f64)s->ticks_unrecorded},
        {"plenum_recording_queue_ticks", "gauge", "Ticks that wait for the disk.",
         (f64)s->ticks_unwritten},
        {"plenum_checkpoints_total", "counter", "Checkpoints written.", (f64)s->checkpoints},
        {"plenum_checkpoints_failed_total", "counter", "Checkpoints that were not.",
         (f64)s->checkpoints_failed},
        {"plenum_checkpoint_tick", "gauge", "World tick of the newest checkpoint; 0: none.",
         (f64)s->checkpoint_tick},
        {"plenum_write_failures_total", "counter",
         "Failures to write the audit log or the list of bans.",
         (f64)(host->stats.write_failures + host->audit.failures)},
    };
    rows_write(page, rows, PL_COUNT(rows));
    family(page, failing, "gauge", "1 if the file cannot be written now.");
    sample(page, failing, "{file=\"recording\"}", s->recording_lost || s->recording_ended);
    sample(page, failing, "{file=\"checkpoint\"}", s->checkpoint_failing);
    sample(page, failing, "{file=\"audit\"}", host->audit.failing);
    sample(page, failing, "{file=\"bans\"}", host->health.bans_failing);
    write_disks(page, host);
}

/* Of a world that is published to a broker, or followed from one. */
static void write_broker(Page *page, Host *host)
{
    const SourceBrokerStatus *b = &host->common.status.broker;
    const Single rows[] = {
        {"plenum_broker", "gauge", "1 if the world is published to a broker or followed from one.",
         b->publishing || b->following},
        {"plenum_broker_failing", "gauge", "1 if the broker cannot be reached or takes nothing.",
         b->failing},
        {"plenum_broker_ticks_total", "counter", "Ticks that the broker stored, or sent us.",
         (f64)b->ticks},
        {"plenum_broker_messages_total", "counter", "Messages that the broker stored, or sent us.",
         (f64)b->messages},
        {"plenum_broker_bytes_total", "counter", "Bytes of them.", (f64)b->bytes},
        {"plenum_broker_lost_ticks_total", "counter", "Ticks that the broker will not get.",
         (f64)b->ticks_lost},
        {"plenum_broker_waiting", "gauge",
         "Ticks that wait for the broker, or messages that it has for us.", (f64)b->waiting},
        {"plenum_broker_lag_seconds", "gauge",
         "Age of the oldest tick that is not stored, or of the newest message that came.",
         b->lag_s},
        {"plenum_broker_skipped_total", "counter", "Messages that were not in order.",
         (f64)b->skipped},
        {"plenum_broker_damaged_total", "counter", "Messages that could not be read.",
         (f64)b->damaged},
        {"plenum_broker_refused_total", "counter",
         "Payloads beside the stream (chat, users, presences) that were refused.",
         (f64)(b->refused + sites_refused(host))},
    };
    rows_write(page, rows, PL_COUNT(rows));
}

/* ---- the process, by the names that every exporter uses ---- */

static u32 descriptors_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    u32 count = 0;
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count > 3 ? count - 3 : 0; /* ., .. and the folder itself */
}

static void write_process(Page *page, Host *host)
{
    struct rusage used = {0};
    struct rlimit limit = {0};
    getrusage(RUSAGE_SELF, &used);
    getrlimit(RLIMIT_NOFILE, &limit);
    f64 cpu_s = (f64)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                (f64)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    const Single rows[] = {
        {"process_cpu_seconds_total", "counter", "CPU time of all threads.", cpu_s},
        {"process_resident_memory_bytes", "gauge", "Resident memory.",
         (f64)host->stats.memory_bytes},
        {"process_open_fds", "gauge", "Open file descriptors.", descriptors_open()},
        {"process_max_fds", "gauge", "Limit of file descriptors.", (f64)limit.rlim_cur},
        {"process_start_time_seconds", "gauge", "Start, in seconds since 1970.",
         (f64)host->measures.started_unix_s},
        {"plenum_memory_limit_bytes", "gauge",
         "Memory above which joins and spawns are refused; 0: no limit.",
         (f64)host->options.memory_max_bytes},
        {"plenum_descriptor_shortages_total", "counter", "Times when no file descriptor was left.",
         (f64)host->stats.descriptor_shortages},
        {"plenum_hangups_total", "counter", "SIGHUP received.", (f64)host->stats.hangups},
        {"plenum_healthy", "gauge", "1 if /healthz says ok.", health_text(host) == NULL},
    };
    family(page, "plenum_build_info", "gauge", "1; the version is its label.");
    sample(page, "plenum_build_info", "{version=\"" PLENUM_VERSION "\"}", 1.0);
    rows_write(page, rows, PL_COUNT(rows));
}

size_t metrics_write(void *context, char *text, size_t bytes)
{
    Host *host = context;
    Page page = {text, bytes, 0};
    write_process(&page, host);
    write_world(&page, host);
    write_times(&page, host);
    write_clients(&page, host);
    write_lists(&page, host);
    write_stream(&page, host);
    write_files(&page, host);
    write_broker(&page, host);
    return page.used;
}
