/* announce.c: see announce.h. */
#include "server/host/announce.h"

#include "protocol/session/announcement.h"
#include "protocol/session/endpoint.h"
#include "protocol/session/world_list.h"
#include "server/host/http_call.h"
#include "server/host/session.h"
#include "shared/base/clock.h"
#include "shared/base/file.h"
#include "shared/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AGAIN_MS_MIN = 1000, /* after a failure; twice as long after each further one */
    AGAIN_MS_MAX = 60000,
    SERVER_BYTES_MAX = 256
};

struct Announce {
    HttpCall *line;
    char server[SERVER_BYTES_MAX]; /* name of the lobby's host */
    u8 token[TOKEN_SIGNED_BYTES];
    u32 public_host; /* told to clients, in network order; 0: as the lobby sees it */
    u16 public_port;
    WorldNotice announced; /* last */
    bool ending, ended;    /* the last request removes the world from the list */
    bool failing;
    u64 next_ms, news_ms;
    u32 again_ms;
    u64 unix_ms; /* of the last announcement: each has a later time */
    AnnounceStats stats;
};

/* ---- creation ---- */

/* "http://HOST[:PORT][/]" */
static int url_read(const char *url, char *server, u16 *port, ErrorText *error)
{
    static const char scheme[] = "http://";
    const char *at = url + sizeof scheme - 1;
    if (strncmp(url, scheme, sizeof scheme - 1) != 0) {
        return error_set(error, ERROR_USAGE,
                         "--lobby %s: expected http://HOST[:PORT] (announcements are signed)", url);
    }
    size_t length = strcspn(at, ":/");
    unsigned long number = 80;
    char *end = (char *)at + length;
    bool good = length > 0 && length < SERVER_BYTES_MAX;
    if (good && *end == ':') {
        const char *digits = end + 1;
        number = strtoul(digits, &end, 10);
        good = digits[0] >= '0' && digits[0] <= '9' && number > 0 && number <= 65535;
    }
    if (!good || (strcmp(end, "") != 0 && strcmp(end, "/") != 0)) {
        return error_set(error, ERROR_USAGE, "--lobby %s: expected http://HOST[:PORT]", url);
    }
    memcpy(server, at, length);
    server[length] = '\0';
    *port = (u16)number;
    return ERROR_OK;
}

static int token_take(Announce *announce, const char *path, ErrorText *error)
{
    size_t bytes;
    Token token;
    if (path == NULL) {
        return error_set(error, ERROR_USAGE, "--lobby: needs --lobby-token FILE");
    }
    char *data = file_read(path, TOKEN_BYTES_MAX, &bytes, error);
    if (data == NULL) {
        return error->code;
    }
    bool good = token_peek((const u8 *)data, (u32)bytes, &token) && token.lobby;
    if (good) {
        memcpy(announce->token, data, sizeof announce->token);
    }
    free(data);
    return good ? ERROR_OK
                : error_set(error, ERROR_FORMAT,
                            "%s: not a token for a lobby (plenum-tool token --lobby)", path);
}

/* The answer as one line for the log. */
static void on_done(void *context, u32 status, const char *answer)
{
    Announce *announce = context;
    bool heard = status >= 200 && status < 300;
    const char *body = strstr(answer, "\r\n\r\n");
    announce->stats.heard += heard;
    announce->stats.failed += !heard;
    announce->ended = announce->ended || announce->ending;
    if (!heard && !announce->failing && status != 0) {
        log_warn("the lobby at %s answers %u: %.200s", announce->server, status,
                 body != NULL ? body + 4 : "");
    } else if (!heard && !announce->failing) {
        log_warn("the lobby at %s does not answer", announce->server);
    } else if (heard && (announce->failing || !announce->stats.listed)) {
        log_info("announced to the lobby at %s", announce->server);
    }
    announce->failing = !heard;
    announce->stats.listed = heard;
    announce->again_ms = heard ? AGAIN_MS_MIN : u32_min(2 * announce->again_ms, (u32)AGAIN_MS_MAX);
}

static int address_take(Announce *announce, const char *text, ErrorText *error)
{
    ProbeAddress found[ENDPOINTS_MAX];
    u32 count;
    int result = endpoint_resolve(text, found, &count, error);
    for (u32 i = 0; i < count; i++) {
        if (endpoint_v4(&found[i], &announce->public_host)) {
            announce->public_port = found[i].port;
            return ERROR_OK;
        }
    }
    return result != ERROR_OK ? result : error_set(error, ERROR_USAGE, "%s: no IPv4 address", text);
}

Announce *announce_create(uv_loop_t *loop, const char *url, const char *token, const char *address,
                          ErrorText *error)
{
    u16 port = 0;
    Announce *announce = calloc(1, sizeof *announce);
    if (announce == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for --lobby");
        return NULL;
    }
    announce->again_ms = AGAIN_MS_MIN;
    if (url_read(url, announce->server, &port, error) != ERROR_OK ||
        token_take(announce, token, error) != ERROR_OK ||
        (address != NULL && address_take(announce, address, error) != ERROR_OK)) {
        free(announce);
        return NULL;
    }
    announce->line = http_call_create(loop, announce->server, port, on_done, announce);
    if (announce->line == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for --lobby");
        free(announce);
        return NULL;
    }
    return announce;
}

void announce_stop(Announce *announce)
{
    if (announce != NULL) {
        http_call_stop(announce->line);
    }
}

void announce_destroy(Announce *announce)
{
    if (announce != NULL) {
        http_call_destroy(announce->line);
        free(announce);
    }
}

bool announce_is_busy(const Announce *announce)
{
    return announce != NULL && !announce->ended;
}

void announce_stats(const Announce *announce, AnnounceStats *out)
{
    *out = announce != NULL ? announce->stats : (AnnounceStats){0};
}

/* ---- what is due ---- */

static void say(Host *host, Announce *announce, const char *method)
{
    char header[ANNOUNCEMENT_BYTES_MAX], request[HTTP_CALL_REQUEST_BYTES];
    WorldNotice notice = host->notice;
    if (announce->public_host != 0) {
        notice.host = announce->public_host;
        notice.port = announce->public_port;
    }
    char *body = world_text(&notice);
    if (body == NULL) {
        return;
    }
    announce->unix_ms = u64_max(clock_unix_ms(), announce->unix_ms + 1);
    Announcement what = {method, announce->unix_ms, body, (u32)strlen(body)};
    announcement_sign(&host->identity, &what, announce->token, header);
    snprintf(request, sizeof request,
             "%s /worlds HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\n"
             "Content-Type: application/json\r\nContent-Length: %u\r\nConnection: close\r\n\r\n%s",
             method, announce->server, header, what.bytes, body);
    free(body);
    announce->announced = host->notice;
    (void)http_call_begin(announce->line, request, host->now_ms);
}

void announce_run(Host *host)
{
    Announce *announce = host->announce;
    if (announce == NULL) {
        return;
    }
    http_call_run(announce->line, host->now_ms);
    if (http_call_is_busy(announce->line) || announce->ended) {
        return;
    }
    if (host->draining) {
        announce->ending = true;
        announce->ended = announce->stats.heard == 0; /* it knows of nothing */
        if (!announce->ended) {
            say(host, announce, "DELETE");
        }
        return;
    }
    bool news = memcmp(&announce->announced, &host->notice, sizeof host->notice) != 0;
    u64 due_ms = announce->failing ? announce->next_ms
                 : news            ? u64_min(announce->news_ms, announce->next_ms)
                                   : announce->next_ms;
    if (host->common.history.newest != NULL && host->notice.port != 0 && host->now_ms >= due_ms) {
        announce->next_ms =
            host->now_ms + (announce->failing ? announce->again_ms : (u32)ANNOUNCE_MS);
        announce->news_ms = host->now_ms + ANNOUNCE_NEWS_MS;
        say(host, announce, "POST");
    }
}
