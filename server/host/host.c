/* host.c: life cycle and event loop of a host: sockets, timers, signals, the source's wake-up,
 * HTTP. */
#include "server/host/host.h"

#include "protocol/scene/scene.h"
#include "server/host/agones.h"
#include "server/host/announce.h"
#include "server/host/console.h"
#include "server/host/http.h"
#include "server/host/lan.h"
#include "server/host/notice.h"
#include "server/host/session.h"
#include "server/host/trace.h"
#include "shared/base/check.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum {
    SERVICE_MS = 5,
    /* Events per iteration: a flood must not keep the loop from its timers. */
    EVENTS_PER_ITERATION_MAX = 2048,
    /* Time allowed for acknowledgement of the last messages on shutdown. */
    DRAIN_MS_MAX = 1000
};

struct HostLoop {
    uv_loop_t loop;
    uv_poll_t socket;
    uv_poll_t http_socket;
    uv_timer_t service;
    uv_async_t wake, stop;
    uv_signal_t interrupt, terminate, hangup;
    Http *http;
    bool running;
    u64 drain_until_ms;
    u64 second_ms;
    int exit_code;
};

/* ---- iterations of the loop ---- */

static void clock_read(Host *host)
{
    host->now_ns = clock_now_ns();
    host->now_ms = host->now_ns / 1000000;
}

static void link_service(Host *host)
{
    LinkEvent event;
    for (u32 i = 0; i < EVENTS_PER_ITERATION_MAX; i++) {
        if (!host->link->ops->poll(host->link, host->now_ms, &event)) {
            break;
        }
        switch (event.kind) {
        case LINK_CONNECTED:
            session_open(host, event.peer);
            break;
        case LINK_DISCONNECTED:
            session_gone(host, event.peer, event.reason);
            break;
        case LINK_RECEIVED:
            session_receive(host, &event);
            break;
        default:
            break;
        }
    }
}

static void drain_begin(Host *host, int exit_code, const char *why)
{
    if (host->draining) {
        return;
    }
    log_info("%s: disconnecting %u clients", why, host->stats.clients);
    host->draining = true;
    host->loop->exit_code = exit_code;
    host->loop->drain_until_ms = host->now_ms + DRAIN_MS_MAX;
    for (u32 i = 0; i < host->session_capacity; i++) {
        session_close(host, &host->sessions[i], REFUSE_SHUTDOWN, "");
    }
    host->link->ops->flush(host->link);
}

static bool drain_done(const Host *host)
{
    for (u32 i = 0; i < host->session_capacity; i++) {
        if (host->sessions[i].state != SESSION_FREE) {
            return host->now_ms >= host->loop->drain_until_ms;
        }
    }
    bool busy = agones_is_busy(host->agones) || announce_is_busy(host->announce);
    return !busy || host->now_ms >= host->loop->drain_until_ms;
}

void host_iterate(Host *host, u64 now_ns)
{
    host->now_ns = now_ns;
    host->now_ms = now_ns / 1000000;
    health_check(host);
    metrics_sample(host);
    link_service(host);
    if (!host->draining) {
        replicate_frames(host);
        above_run(host);
        sites_run(host);
        replicate_clock(host);
        transfers_pump(host);
        sessions_check(host);
        own_times_check(host);
        entry_queue(host);
        moderate_run(host);
        saves_run(host);
        spawns_run(host);
        releases_run(host);
        keep_run(host);
        if (host->common.status.finished) {
            bool bad = host->common.status.error != ERROR_OK;
            drain_begin(host, bad ? EXIT_INPUT : EXIT_OK,
                        bad ? error_name(host->common.status.error) : "the source has ended");
        }
    }
    host->link->ops->flush(host->link);
    if (host->loop->http != NULL && host->now_ms >= host->loop->second_ms) {
        host->loop->second_ms = host->now_ms + 1000;
        http_run(host->loop->http);
    }
    if (host->draining && drain_done(host)) {
        uv_stop(&host->loop->loop);
    }
    service_run(host);
    agones_run(host);
    notice_run(host);
    VALIDATE_STORE(sessions_validate(host));
}

static void turn(Host *host)
{
    u64 began_ns = clock_now_ns();
    host_iterate(host, began_ns);
    u64 now_ns = clock_now_ns();
    buckets_add(&host->measures.turn, &BOUNDS_SECONDS, (f64)(now_ns - began_ns) * 1e-9);
    trace_span(host->options.trace,
               &(TraceSpan){"turn", TRACE_HOST, began_ns, now_ns, host->stats.clients});
}

static void on_socket(uv_poll_t *handle, int status, int events)
{
    PL_UNUSED(status);
    PL_UNUSED(events);
    turn(handle->data);
}

static void on_timer(uv_timer_t *handle)
{
    turn(handle->data);
}

static void on_wake(uv_async_t *handle)
{
    turn(handle->data);
}

static void on_stop(uv_async_t *handle)
{
    clock_read(handle->data);
    drain_begin(handle->data, EXIT_OK, "stopped");
}

static void on_signal(uv_signal_t *handle, int number)
{
    clock_read(handle->data);
    drain_begin(handle->data, EXIT_OK, number == SIGINT ? "interrupted" : "terminated");
}

/* A terminal that closes ends its server; a server without one reads its lists again. */
static void on_hangup(uv_signal_t *handle, int number)
{
    PL_UNUSED(number);
    Host *host = handle->data;
    clock_read(host);
    host->stats.hangups++;
    if (host->options.hangup_ends) {
        drain_begin(host, EXIT_OK, "the terminal was closed");
    } else {
        moderate_reload(host);
    }
}

static void on_http(uv_poll_t *handle, int status, int events)
{
    PL_UNUSED(status);
    PL_UNUSED(events);
    Host *host = handle->data;
    clock_read(host);
    health_spare(host);
    http_run(host->loop->http);
}

void host_wake(void *context)
{
    Host *host = context;
    uv_async_send(&host->loop->wake);
}

/* ---- pages ---- */

static const char *why_unhealthy(void *context)
{
    return health_text(context);
}

static bool is_ready(void *context)
{
    const Host *host = context;
    return !host->draining && !host->memory_short && host->common.history.newest != NULL;
}

/* ---- life ---- */

u32 host_peers(const HostOptions *options)
{
    return u32_min(u32_max(options->clients_max, 1), CLIENTS_MAX) +
           u32_min(options->queue_max, CLIENTS_MAX) + PEERS_SPARE;
}

static bool files_open(Host *host, ErrorText *error)
{
    const HostOptions *options = &host->options;
    if (options->bans != NULL &&
        ban_list_load(&host->bans, options->bans, clock_unix_s(), error) != 0) {
        return false;
    }
    if (options->allow != NULL) {
        host->allowed = ban_targets_read(options->allow, &host->allowed_count, error);
    }
    return (options->allow == NULL || host->allowed != NULL) &&
           audit_open(&host->audit, options->audit, options->audit_json, host->now_ms, error) == 0;
}

static bool state_create(Host *host, ErrorText *error)
{
    MessageWorld world = {0};
    host->peer_capacity = host_peers(&host->options);
    host->session_capacity = host->peer_capacity + guests_capacity(&host->options);
    host->admit = admit_create(&host->options.limits);
    host->roster_capacity = host->session_capacity;
    host->roster_capacity += host->common.source->ops->users != NULL ? ABOVE_USERS_MAX : 0;
    host->sessions = calloc(host->session_capacity, sizeof *host->sessions);
    host->roster = calloc(host->roster_capacity, sizeof *host->roster);
    host->hands = calloc(host->roster_capacity, sizeof *host->hands);
    host->owns = calloc(u32_max(host->options.own_times, 1), sizeof *host->owns);
    host->loop = calloc(1, sizeof *host->loop);
    host->accounts = calloc(ACCOUNTS, sizeof *host->accounts);
    if (host->owns == NULL || host->accounts == NULL || host->sessions == NULL ||
        host->roster == NULL || host->hands == NULL || host->loop == NULL || host->admit == NULL ||
        !scratch_reserve(host, 64 << 10)) {
        error_set(error, ERROR_MEMORY, "out of memory for %u clients", host->options.clients_max);
        return false;
    }
    host->names = names_create(error);
    if (host->names == NULL || !files_open(host, error)) {
        return false;
    }
    host->common.source->ops->describe(host->common.source, &world);
    Scene *scene = scene_from_bytes(world.scene, world.scene_bytes, error);
    if (scene == NULL) {
        return false;
    }
    host->tick_rate = scene->tick_rate;
    host->scene = scene;
    host->common.entities.scene = scene;
    return true;
}

static bool loop_create(Host *host, ErrorText *error)
{
    struct HostLoop *loop = host->loop;
    if (uv_loop_init(&loop->loop) != 0) {
        error_set(error, ERROR_STATE, "cannot start the event loop");
        return false;
    }
    loop->running = true;
    uv_timer_init(&loop->loop, &loop->service);
    uv_async_init(&loop->loop, &loop->wake, on_wake);
    uv_async_init(&loop->loop, &loop->stop, on_stop);
    uv_signal_init(&loop->loop, &loop->interrupt);
    uv_signal_init(&loop->loop, &loop->terminate);
    uv_signal_init(&loop->loop, &loop->hangup);
    loop->service.data = loop->wake.data = loop->stop.data = host;
    loop->interrupt.data = loop->terminate.data = host;
    uv_timer_start(&loop->service, on_timer, SERVICE_MS, SERVICE_MS);
    uv_signal_start(&loop->interrupt, on_signal, SIGINT);
    uv_signal_start(&loop->terminate, on_signal, SIGTERM);
    loop->hangup.data = host;
    uv_signal_start(&loop->hangup, on_hangup, SIGHUP);
    int fd = host->link->ops->fd(host->link);
    if (fd >= 0 && uv_poll_init(&loop->loop, &loop->socket, fd) == 0) {
        loop->socket.data = host;
        uv_poll_start(&loop->socket, UV_READABLE, on_socket);
    }
    if (host->options.console != NULL &&
        (host->console = console_create(host, &loop->loop, host->options.console, error)) == NULL) {
        return false;
    }
    ErrorText why = {0};
    host->agones = agones_create(&loop->loop, &why);
    if (why.code != ERROR_OK) {
        *error = why;
        return false;
    }
    host->lan = host->options.lan ? lan_create(host, &loop->loop) : NULL;
    if (host->options.lobby != NULL &&
        (host->announce =
             announce_create(&loop->loop, host->options.lobby, host->options.lobby_token,
                             host->options.lobby_address, error)) == NULL) {
        return false;
    }
    if (host->options.http == NULL) {
        return true;
    }
    HttpPages pages = {host, metrics_write, why_unhealthy, is_ready};
    loop->http = http_create(host->options.http, &pages, error);
    if (loop->http == NULL) {
        return false;
    }
    if (uv_poll_init(&loop->loop, &loop->http_socket, http_fd(loop->http)) == 0) {
        loop->http_socket.data = host;
        uv_poll_start(&loop->http_socket, UV_READABLE, on_http);
    }
    return true;
}

Host *host_create(const HostOptions *options, Link *link, Source *source, ErrorText *error)
{
    Host *host = calloc(1, sizeof *host);
    if (host == NULL || seal_start() != ERROR_OK) {
        error_set(error, ERROR_MEMORY, "out of memory for the host");
        link->ops->destroy(link);
        source->ops->destroy(source);
        free(host);
        return NULL;
    }
    if (!stream_init(&host->common, source, NULL)) {
        error_set(error, ERROR_MEMORY, "out of memory for the host");
        link->ops->destroy(link);
        free(host);
        return NULL;
    }
    host->options = *options;
    host->options.clients_max = u32_min(u32_max(options->clients_max, 1), CLIENTS_MAX);
    host->options.queue_max = u32_min(options->queue_max, CLIENTS_MAX);
    host->options.own_times = u32_min(options->own_times, CLIENTS_MAX);
    host->options.reserved = u32_min(options->reserved, host->options.clients_max / 4);
    host->options.snapshot_rate = u32_min(u32_max(options->snapshot_rate, 1), (u32)TICK_RATE_MAX);
    host->link = link;
    host->spare_fd = -1;
    host->audit.fd = -1;
    clock_read(host);
    host->common.snapshot_ns = host->now_ns;
    host->measures.started_unix_s = clock_unix_s();
    if (options->identity != NULL) {
        host->identity = *options->identity;
        host->options.identity = &host->identity;
    }
    if (token_ledger_init(&host->ledger, options->tokens_revoked, options->tokens_used,
                          clock_unix_s(), error) != ERROR_OK ||
        !state_create(host, error) || !loop_create(host, error)) {
        host_destroy(host);
        return NULL;
    }
    keep_restore(host);
    host->encoder =
        host->options.encoder ? encoder_create(host->peer_capacity, host_wake, host) : NULL;
    if (source->ops->start(source, host_wake, host, error) != 0) {
        host_destroy(host);
        return NULL;
    }
    return host;
}

int host_run(Host *host)
{
    uv_run(&host->loop->loop, UV_RUN_DEFAULT);
    return host->loop->exit_code;
}

void host_settle(Host *host)
{
    if (host->encoder != NULL) {
        encoder_wait(host->encoder);
    }
}

void host_stop(Host *host)
{
    uv_async_send(&host->loop->stop);
}

static void close_handle(uv_handle_t *handle, void *context)
{
    PL_UNUSED(context);
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

void host_destroy(Host *host)
{
    if (host == NULL) {
        return;
    }
    for (u32 i = 0; i < host->session_capacity && host->sessions != NULL; i++) {
        session_sender_end(&host->sessions[i]);
    }
    host_settle(host);
    snapshots_take(host); /* senders that it had end */
    encoder_destroy(host->encoder);
    /* Before the loop: its thread may still wake it. */
    for (u32 i = 0; host->owns != NULL && i < host->options.own_times; i++) {
        stream_finish(&host->owns[i]); /* they borrow from the common source */
    }
    stream_finish(&host->common);
    if (host->loop != NULL && host->loop->running) {
        console_destroy(host->console);
        agones_stop(host->agones);
        announce_stop(host->announce);
        uv_walk(&host->loop->loop, close_handle, NULL);
        uv_run(&host->loop->loop, UV_RUN_DEFAULT);
        uv_loop_close(&host->loop->loop);
        http_destroy(host->loop->http);
        agones_destroy(host->agones);
        announce_destroy(host->announce);
        lan_destroy(host->lan);
    }
    for (u32 i = 0; i < host->session_capacity && host->sessions != NULL; i++) {
        transfer_end(&host->sessions[i]);
    }
    host->link->ops->destroy(host->link);
    scene_destroy(host->scene);
    token_ledger_finish(&host->ledger);
    identity_finish(&host->identity);
    if (host->sessions != NULL) {
        seal_wipe(host->sessions, host->session_capacity * sizeof *host->sessions);
    }
    free(host->owns);
    free(host->sessions);
    sites_destroy(host->sites);
    free(host->roster);
    free(host->hands);
    free(host->scratch);
    names_destroy(host->names);
    ban_list_finish(&host->bans);
    free(host->allowed);
    audit_close(&host->audit);
    if (host->spare_fd >= 0) {
        close(host->spare_fd);
    }
    free(host->spawns.items);
    free(host->accounts);
    free(host->releases);
    free(host->admit);
    free(host->loop);
    free(host);
}

void host_stats(const Host *host, HostStats *stats)
{
    *stats = host->stats;
}
