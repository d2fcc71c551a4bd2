/* agones.c: see agones.h. The requests are those of the REST interface of Agones 1. */
#include "server/host/agones.h"

#include "protocol/session/identity_file.h"
#include "server/host/http_call.h"
#include "server/host/service.h"
#include "server/host/session.h"
#include "shared/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEALTH_MS = 2000, /* Agones gives up after 5 s by default */
    AGAIN_MS = 1000,  /* after a failure */
    LABEL_MS = 1000,  /* minimal interval between reports of the number of users */
    REQUEST_BYTES = 768
};

/* Pending requests, most urgent first. */
typedef enum SdkCall {
    CALL_SHUTDOWN,
    CALL_READY,
    CALL_ALLOCATE,
    CALL_HEALTH,
    CALL_KEY,
    CALL_CLIENTS,
    CALLS
} SdkCall;

struct Agones {
    u16 port;
    HttpCall *line;
    char request[REQUEST_BYTES];
    SdkCall call;
    bool pending[CALLS];
    bool ready, allocated, ended, failing;
    u32 clients_notified;
    u64 next_ms, health_ms, label_ms;
};

/* ---- one request ---- */

/* The request has ended; a failed one stays pending. */
static void on_done(void *context, u32 status, const char *answer)
{
    PL_UNUSED(answer);
    Agones *agones = context;
    bool heard = status >= 200 && status < 300;
    agones->pending[agones->call] = !heard;
    agones->ended = agones->ended || (heard && agones->call == CALL_SHUTDOWN);
    if (!heard && !agones->failing) {
        log_warn("Agones does not answer on port %u", agones->port);
    }
    agones->failing = !heard;
}

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
    agones->clients_notified = UINT32_MAX;
    agones->port = (u16)port;
    agones->line = http_call_create(loop, "127.0.0.1", (u16)port, on_done, agones);
    if (agones->line == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for Agones");
        free(agones);
        return NULL;
    }
    return agones;
}

void agones_stop(Agones *agones)
{
    if (agones != NULL) {
        http_call_stop(agones->line);
    }
}

void agones_destroy(Agones *agones)
{
    if (agones != NULL) {
        http_call_destroy(agones->line);
        free(agones);
    }
}

bool agones_is_busy(const Agones *agones)
{
    return agones != NULL && !agones->ended;
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
        agones->clients_notified = host->stats.clients;
    }
    bool put = agones->call == CALL_KEY || agones->call == CALL_CLIENTS;
    snprintf(agones->request, sizeof agones->request,
             "%s /%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
             put ? "PUT" : "POST", paths[agones->call], strlen(body), body);
}

/* ---- what is due ---- */

static void note_due(Host *host, Agones *agones)
{
    if (host->draining) {
        memset(agones->pending, 0, sizeof agones->pending);
        agones->pending[CALL_SHUTDOWN] = !agones->ended;
        return;
    }
    if (!agones->ready && host->common.history.newest != NULL) {
        agones->ready = true;
        agones->pending[CALL_READY] = agones->pending[CALL_KEY] = true;
    }
    /* From now on the fleet must not remove this server. */
    if (!agones->allocated && host->stats.clients > 0) {
        agones->allocated = true;
        agones->pending[CALL_ALLOCATE] = true;
    }
    if (host->now_ms >= agones->health_ms && service_is_alive(host)) {
        agones->health_ms = host->now_ms + HEALTH_MS;
        agones->pending[CALL_HEALTH] = true;
    }
    if (host->now_ms >= agones->label_ms && agones->clients_notified != host->stats.clients) {
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
    http_call_run(agones->line, host->now_ms);
    if (http_call_is_busy(agones->line) || (agones->failing && host->now_ms < agones->next_ms)) {
        return;
    }
    for (u32 i = 0; i < CALLS; i++) {
        if (agones->pending[i]) {
            agones->call = (SdkCall)i;
            agones->next_ms = host->now_ms + AGAIN_MS;
            request_write(host, agones);
            (void)http_call_begin(agones->line, agones->request, host->now_ms);
            return;
        }
    }
}
