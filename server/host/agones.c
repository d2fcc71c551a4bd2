/* agones.c: see agones.h. The requests are those of the REST interface of Agones 1. */
#include "server/host/agones.h"

#include "protocol/session/identity_file.h"
#include "server/host/service.h"
#include "server/host/session.h"
#include "shared/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEALTH_MS = 2000, /* Agones gives up after 5 s by default */
    AGAIN_MS = 1000,  /* after a failure */
    PATIENCE_MS = 3000,
    LABEL_MS = 1000, /* the number of users is told this often at most */
    REQUEST_BYTES = 768,
    STATUS_BYTES = 12 /* "HTTP/1.1 200" */
};

/* What is to be said, most urgent first. */
typedef enum SdkCall {
    CALL_SHUTDOWN,
    CALL_READY,
    CALL_ALLOCATE,
    CALL_HEALTH,
    CALL_KEY,
    CALL_CLIENTS,
    CALLS
} SdkCall;

typedef enum SdkLine {
    LINE_FREE,
    LINE_BUSY,
    LINE_CLOSING
} SdkLine;

struct Agones {
    uv_loop_t *loop;
    struct sockaddr_in sidecar;
    SdkLine line;
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    char request[REQUEST_BYTES];
    char answer[64]; /* its first bytes: the status */
    u32 answer_bytes;
    SdkCall call;
    bool pending[CALLS];
    bool ready, allocated, ended, failing;
    u32 clients_told;
    u64 begun_ms, next_ms, health_ms, label_ms;
};

Agones *agones_create(uv_loop_t *loop, ErrorText *error)
{
    const char *text = getenv("AGONES_SDK_HTTP_PORT");
    if (text == NULL || text[0] == '\0') {
        return NULL;
    }
    char *end;
    unsigned long port = strtoul(text, &end, 10);
    if (*end != '\0' || port == 0 || port > 65535) {
        error_set(error, ERROR_USAGE, "AGONES_SDK_HTTP_PORT: \"%s\" is not a port", text);
        return NULL;
    }
    Agones *agones = calloc(1, sizeof *agones);
    if (agones == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for Agones");
        return NULL;
    }
    agones->loop = loop;
    agones->clients_told = UINT32_MAX;
    uv_ip4_addr("127.0.0.1", (int)port, &agones->sidecar);
    return agones;
}

void agones_destroy(Agones *agones)
{
    free(agones);
}

bool agones_is_busy(const Agones *agones)
{
    return agones != NULL && !agones->ended;
}

/* ---- one request ---- */

static void on_closed(uv_handle_t *handle)
{
    Agones *agones = handle->data;
    agones->line = LINE_FREE;
}

/* The request is over; what failed stays pending. */
static void finish(Agones *agones, bool heard)
{
    if (agones->line != LINE_BUSY) {
        return;
    }
    agones->line = LINE_CLOSING;
    agones->pending[agones->call] = !heard;
    agones->ended = agones->ended || (heard && agones->call == CALL_SHUTDOWN);
    if (!heard && !agones->failing) {
        log_warn("Agones does not answer on port %u", ntohs(agones->sidecar.sin_port));
    }
    agones->failing = !heard;
    if (!uv_is_closing((uv_handle_t *)&agones->tcp)) { /* else the host ends */
        uv_close((uv_handle_t *)&agones->tcp, on_closed);
    }
}

/* The sidecar closes the connection after its answer: before, it would meet a reset. */
static void on_read(uv_stream_t *stream, ssize_t bytes, const uv_buf_t *buffer)
{
    PL_UNUSED(buffer);
    Agones *agones = stream->data;
    agones->answer_bytes += bytes > 0 ? (u32)bytes : 0;
    if (bytes < 0) {
        finish(agones, agones->answer_bytes >= STATUS_BYTES && agones->answer[9] == '2');
    }
}

/* Only the beginning is kept. */
static void on_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    PL_UNUSED(wanted);
    Agones *agones = handle->data;
    u32 at = u32_min(agones->answer_bytes, STATUS_BYTES);
    *buffer = uv_buf_init(agones->answer + at, (unsigned)(sizeof agones->answer - at));
}

static void on_written(uv_write_t *write, int status)
{
    Agones *agones = write->data;
    if (status != 0) {
        finish(agones, false);
    }
}

static void on_connected(uv_connect_t *connect, int status)
{
    Agones *agones = connect->data;
    if (agones->line != LINE_BUSY) {
        return;
    }
    uv_buf_t buffer = uv_buf_init(agones->request, (unsigned)strlen(agones->request));
    agones->write.data = agones;
    if (status != 0 ||
        uv_write(&agones->write, (uv_stream_t *)&agones->tcp, &buffer, 1, on_written) != 0 ||
        uv_read_start((uv_stream_t *)&agones->tcp, on_room, on_read) != 0) {
        finish(agones, false);
    }
}

static void request_write(const Host *host, Agones *agones)
{
    static const char *const paths[CALLS] = {
        "shutdown", "ready", "allocate", "health", "metadata/annotation", "metadata/label"};
    char body[256] = "{}", key[IDENTITY_TEXT_BYTES];
    if (agones->call == CALL_KEY) {
        identity_to_text(host->identity.public_key, key);
        snprintf(body, sizeof body, "{\"key\":\"plenum-key\",\"value\":\"%s\"}", key);
    } else if (agones->call == CALL_CLIENTS) {
        snprintf(body, sizeof body, "{\"key\":\"plenum-clients\",\"value\":\"%u\"}",
                 host->stats.clients);
        agones->clients_told = host->stats.clients;
    }
    bool put = agones->call == CALL_KEY || agones->call == CALL_CLIENTS;
    snprintf(agones->request, sizeof agones->request,
             "%s /%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
             put ? "PUT" : "POST", paths[agones->call], strlen(body), body);
}

static void request_begin(const Host *host, Agones *agones)
{
    request_write(host, agones);
    agones->answer_bytes = 0;
    agones->begun_ms = host->now_ms;
    agones->next_ms = host->now_ms + AGAIN_MS;
    if (uv_tcp_init(agones->loop, &agones->tcp) != 0) {
        return;
    }
    agones->line = LINE_BUSY;
    agones->tcp.data = agones->connect.data = agones;
    if (uv_tcp_connect(&agones->connect, &agones->tcp, (const struct sockaddr *)&agones->sidecar,
                       on_connected) != 0) {
        finish(agones, false);
    }
}

/* ---- what is due ---- */

static void note_due(Host *host, Agones *agones)
{
    if (host->draining) {
        memset(agones->pending, 0, sizeof agones->pending);
        agones->pending[CALL_SHUTDOWN] = !agones->ended;
        return;
    }
    if (!agones->ready && host->history.newest != NULL) {
        agones->ready = true;
        agones->pending[CALL_READY] = agones->pending[CALL_KEY] = true;
    }
    /* From now on the fleet must not take it away. */
    if (!agones->allocated && host->stats.clients > 0) {
        agones->allocated = true;
        agones->pending[CALL_ALLOCATE] = true;
    }
    if (host->now_ms >= agones->health_ms && service_is_alive(host)) {
        agones->health_ms = host->now_ms + HEALTH_MS;
        agones->pending[CALL_HEALTH] = true;
    }
    if (host->now_ms >= agones->label_ms && agones->clients_told != host->stats.clients) {
        agones->label_ms = host->now_ms + LABEL_MS;
        agones->pending[CALL_CLIENTS] = true;
    }
}

void agones_run(Host *host)
{
    Agones *agones = host->agones;
    if (agones == NULL) {
        return;
    }
    note_due(host, agones);
    if (agones->line == LINE_BUSY && host->now_ms - agones->begun_ms > PATIENCE_MS) {
        finish(agones, false);
    }
    if (agones->line != LINE_FREE || (agones->failing && host->now_ms < agones->next_ms)) {
        return;
    }
    for (u32 i = 0; i < CALLS; i++) {
        if (agones->pending[i]) {
            agones->call = (SdkCall)i;
            request_begin(host, agones);
            return;
        }
    }
}
