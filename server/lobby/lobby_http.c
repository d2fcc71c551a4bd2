/* lobby_http.c: requests to a lobby. */
#include "server/lobby/lobby_http.h"

#include "protocol/session/endpoint.h"
#include "protocol/session/identity_file.h"
#include "shared/base/version.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONNECTIONS_MAX = 1000,
    CONNECTIONS_PER_ADDRESS = 64,
    CONNECTION_MEMORY = 16 << 10,
    TIMEOUT_S = 10,
    METRICS_BYTES = 8192
};

struct LobbyHttp {
    struct MHD_Daemon *daemon;
    Lobby *lobby;
    int fd;
    u16 port;
    LobbyTime time; /* of this run */
};

/* The part of a request received so far. */
typedef struct Upload {
    bool begun, too_long;
    u32 bytes;
    char body[WORLD_TEXT_BYTES_MAX];
} Upload;

static enum MHD_Result reply(struct MHD_Connection *connection, u32 status, const char *type,
                             const char *text)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (response == NULL) {
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (status == MHD_HTTP_UNAUTHORIZED) {
        MHD_add_response_header(response, "WWW-Authenticate", "Plenum");
    }
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result reply_text(struct MHD_Connection *connection, u32 status, const char *text)
{
    char line[sizeof((ErrorText *)0)->text + 2];
    snprintf(line, sizeof line, "%s\n", text);
    return reply(connection, status, "text/plain; charset=utf-8", line);
}

/* IPv4 address of the client, network order; 0: unknown. */
static u32 sender_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    struct sockaddr_in address = {0};
    if (info != NULL && info->client_addr->sa_family == AF_INET) {
        memcpy(&address, info->client_addr, sizeof address);
    }
    return address.sin_addr.s_addr;
}

/* ---- pages ---- */

static const char *argument(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

static bool argument_set(struct MHD_Connection *connection, const char *name)
{
    const char *text = argument(connection, name);
    return text != NULL && strcmp(text, "0") != 0;
}

static enum MHD_Result reply_page(LobbyHttp *http, struct MHD_Connection *connection)
{
    LobbyQuery query = {.part = argument(connection, "q"),
                        .free = argument_set(connection, "free"),
                        .open = argument_set(connection, "open")};
    const char *after = argument(connection, "after"), *limit = argument(connection, "limit");
    if (after != NULL) {
        query.after = identity_from_text(after, query.after_key);
        if (!query.after) {
            return reply_text(connection, MHD_HTTP_BAD_REQUEST, "after: expected a key");
        }
    }
    if (limit != NULL) {
        char *end;
        unsigned long count = strtoul(limit, &end, 10);
        if (limit[0] < '1' || limit[0] > '9' || *end != '\0') {
            return reply_text(connection, MHD_HTTP_BAD_REQUEST, "limit: expected a number");
        }
        query.limit = count < WORLDS_PAGE_MAX ? (u32)count : WORLDS_PAGE_MAX;
    }
    char *text = lobby_page(http->lobby, &query);
    enum MHD_Result result =
        text != NULL ? reply(connection, MHD_HTTP_OK, "application/json", text) : MHD_NO;
    free(text);
    return result;
}

static const char *refusal_name(LobbyRefusal refusal)
{
    static const char *const names[LOBBY_REFUSALS] = {"taken", "malformed", "unsigned", "denied",
                                                      "old",   "often",     "full"};
    return names[refusal];
}

size_t lobby_metrics(const Lobby *lobby, char *text, size_t bytes)
{
    LobbyStats s;
    size_t used = 0;
    lobby_stats(lobby, &s);
    const struct {
        const char *name, *type, *help;
        f64 value;
    } rows[] = {
        {"plenum_lobby_worlds", "gauge", "Worlds announced.", s.worlds},
        {"plenum_lobby_worlds_listed", "gauge", "Worlds whose address answers.", s.listed},
        {"plenum_lobby_pages_total", "counter", "Pages of the list given.", (f64)s.pages},
        {"plenum_lobby_questions_total", "counter", "Questions sent to worlds.", (f64)s.asked},
        {"plenum_lobby_answers_total", "counter", "Right answers to them.", (f64)s.answers},
        {"plenum_lobby_expired_total", "counter", "Worlds forgotten since they were silent.",
         (f64)s.expired},
    };
    used += (size_t)snprintf(text, bytes,
                             "# HELP plenum_lobby_build_info 1; the version is its label.\n"
                             "# TYPE plenum_lobby_build_info gauge\n"
                             "plenum_lobby_build_info{version=\"" PLENUM_VERSION "\"} 1\n"
                             "# HELP plenum_lobby_requests_total Announcements, by result.\n"
                             "# TYPE plenum_lobby_requests_total counter\n");
    for (u32 i = 0; i < LOBBY_REFUSALS && used < bytes; i++) {
        used += (size_t)snprintf(text + used, bytes - used,
                                 "plenum_lobby_requests_total{result=\"%s\"} %.15g\n",
                                 refusal_name((LobbyRefusal)i), (f64)s.requests[i]);
    }
    for (u32 i = 0; i < PL_COUNT(rows) && used < bytes; i++) {
        used += (size_t)snprintf(
            text + used, bytes - used, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", rows[i].name,
            rows[i].help, rows[i].name, rows[i].type, rows[i].name, rows[i].value);
    }
    return used < bytes ? used : bytes - 1;
}

/* ---- requests ---- */

static enum MHD_Result reply_announcement(LobbyHttp *http, struct MHD_Connection *connection,
                                          const char *method, const Upload *upload)
{
    static const u32 statuses[LOBBY_REFUSALS] = {200, 400, 401, 403, 409, 429, 503};
    ErrorText why = {0};
    LobbyRequest request = {
        .method = method,
        .header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization"),
        .body = upload->body,
        .bytes = upload->bytes,
        .from = sender_of(connection)};
    LobbyRefusal refusal = lobby_announce(http->lobby, &request, http->time, &why);
    return reply_text(connection, statuses[refusal], refusal == LOBBY_TAKEN ? "ok" : why.text);
}

static enum MHD_Result reply_get(LobbyHttp *http, struct MHD_Connection *connection,
                                 const char *url)
{
    if (strcmp(url, "/worlds") == 0) {
        return reply_page(http, connection);
    }
    if (strcmp(url, "/healthz") == 0) {
        return reply_text(connection, MHD_HTTP_OK, "ok");
    }
    if (strcmp(url, "/metrics") == 0) {
        char page[METRICS_BYTES];
        (void)lobby_metrics(http->lobby, page, sizeof page);
        return reply(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", page);
    }
    return reply_text(connection, MHD_HTTP_NOT_FOUND, "/worlds /metrics /healthz");
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_bytes, void **request)
{
    PL_UNUSED(version);
    LobbyHttp *http = context;
    bool gets =
        strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    bool posts =
        strcmp(method, MHD_HTTP_METHOD_POST) == 0 || strcmp(method, MHD_HTTP_METHOD_DELETE) == 0;
    Upload *upload = *request;
    if (upload == NULL) {
        /* The first call brings the headers alone. */
        if (!lobby_allowed(http->lobby, sender_of(connection), http->time.now_ms)) {
            return reply_text(connection, MHD_HTTP_TOO_MANY_REQUESTS, "too many requests");
        }
        *request = upload = calloc(1, sizeof *upload);
        return upload != NULL ? MHD_YES : MHD_NO;
    }
    if (*upload_bytes > 0) {
        upload->too_long = upload->too_long || *upload_bytes > sizeof upload->body - upload->bytes;
        if (!upload->too_long) {
            memcpy(upload->body + upload->bytes, upload_data, *upload_bytes);
            upload->bytes += (u32)*upload_bytes;
        }
        *upload_bytes = 0;
        return MHD_YES;
    }
    if (upload->too_long) {
        return reply_text(connection, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too long");
    }
    if (gets) {
        return reply_get(http, connection, url);
    }
    if (posts && strcmp(url, "/worlds") == 0) {
        return reply_announcement(http, connection, method, upload);
    }
    return reply_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET, or POST and DELETE /worlds");
}

static void on_done(void *context, struct MHD_Connection *connection, void **request,
                    enum MHD_RequestTerminationCode code)
{
    PL_UNUSED(context);
    PL_UNUSED(connection);
    PL_UNUSED(code);
    free(*request);
    *request = NULL;
}

/* ---- life ---- */

LobbyHttp *lobby_http_create(const char *address, Lobby *lobby, ErrorText *error)
{
    ProbeAddress own;
    u32 host;
    if (endpoint_own(address, &own, error) != ERROR_OK) {
        return NULL;
    }
    if (!endpoint_v4(&own, &host)) {
        error_set(error, ERROR_USAGE, "%s: a lobby listens on IPv4 addresses only", address);
        return NULL;
    }
    LobbyHttp *http = calloc(1, sizeof *http);
    if (http == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for the lobby");
        return NULL;
    }
    struct sockaddr_in bound = {.sin_family = AF_INET, .sin_port = htons(own.port)};
    bound.sin_addr.s_addr = host;
    http->lobby = lobby;
    http->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, on_request, http, MHD_OPTION_SOCK_ADDR,
        (struct sockaddr *)&bound, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS_PER_ADDRESS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_COMPLETED, on_done, NULL, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        http->daemon != NULL ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (info == NULL) {
        error_set(error, ERROR_NETWORK, "%s: cannot listen there (is the port taken?)", address);
        lobby_http_destroy(http);
        return NULL;
    }
    http->fd = info->epoll_fd;
    info = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT);
    http->port = info != NULL ? info->port : own.port;
    return http;
}

void lobby_http_destroy(LobbyHttp *http)
{
    if (http == NULL) {
        return;
    }
    if (http->daemon != NULL) {
        MHD_stop_daemon(http->daemon);
    }
    free(http);
}

u16 lobby_http_port(const LobbyHttp *http)
{
    return http->port;
}

int lobby_http_fd(const LobbyHttp *http)
{
    return http->fd;
}

void lobby_http_run(LobbyHttp *http, LobbyTime time)
{
    http->time = time;
    MHD_run(http->daemon);
}
