/* http.c: three pages for operators and monitoring. */
#include "server/host/http.h"

#include "protocol/session/endpoint.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Http {
    struct MHD_Daemon *daemon;
    HttpPages pages;
    int fd;
};

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned int status,
                             const char *type, char *text, size_t bytes)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_COPY);
    if (response == NULL) {
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", type);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result reply_text(struct MHD_Connection *connection, unsigned int status,
                                  const char *text)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s\n", text);
    return reply(connection, status, "text/plain; charset=utf-8", copy, strlen(copy));
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_bytes, void **request)
{
    PL_UNUSED(version);
    PL_UNUSED(upload);
    PL_UNUSED(upload_bytes);
    PL_UNUSED(request);
    Http *http = context;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return reply_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD only");
    }
    if (strcmp(url, "/metrics") == 0) {
        char *page = malloc(HTTP_PAGE_BYTES_MAX);
        if (page == NULL) {
            return MHD_NO;
        }
        size_t bytes = http->pages.metrics(http->pages.context, page, HTTP_PAGE_BYTES_MAX);
        enum MHD_Result result =
            reply(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", page, bytes);
        free(page);
        return result;
    }
    bool health = strcmp(url, "/healthz") == 0, ready = strcmp(url, "/readyz") == 0;
    if (strcmp(url, "/livez") == 0) {
        return reply_text(connection, MHD_HTTP_OK, "ok");
    }
    if (!health && !ready) {
        return reply_text(connection, MHD_HTTP_NOT_FOUND, "/metrics /healthz /readyz /livez");
    }
    const char *why = health ? http->pages.unhealthy(http->pages.context) : NULL;
    if (why != NULL) {
        return reply_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, why);
    }
    bool good = health || http->pages.ready(http->pages.context);
    return good ? reply_text(connection, MHD_HTTP_OK, "ok")
                : reply_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "not now");
}

static struct MHD_Daemon *start(Http *http, const struct sockaddr *address, unsigned int kind)
{
    return MHD_start_daemon(MHD_USE_EPOLL | kind, 0, NULL, NULL, on_request, http,
                            MHD_OPTION_SOCK_ADDR, address, MHD_OPTION_CONNECTION_LIMIT, 64u,
                            MHD_OPTION_CONNECTION_TIMEOUT, 10u, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
                            16u, MHD_OPTION_END);
}

static struct MHD_Daemon *listen_at(Http *http, const ProbeAddress *own)
{
    static const NetAddress any;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(own->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(own->port)};
    if (net_address_is_v4(own->host)) {
        memcpy(&v4.sin_addr, own->host.bytes + 12, sizeof v4.sin_addr);
        return start(http, (const struct sockaddr *)&v4, 0);
    }
    memcpy(&v6.sin6_addr, own->host.bytes, sizeof v6.sin6_addr);
    bool all = memcmp(&own->host, &any, sizeof any) == 0;
    struct MHD_Daemon *daemon = start(http, (const struct sockaddr *)&v6,
                                      all ? (unsigned int)MHD_USE_DUAL_STACK : MHD_USE_IPv6);
    /* All addresses of a machine without IPv6. */
    return daemon == NULL && all ? start(http, (const struct sockaddr *)&v4, 0) : daemon;
}

Http *http_create(const char *address, const HttpPages *pages, ErrorText *error)
{
    ProbeAddress own;
    ErrorText why = {0};
    if (!endpoint_has_port(address) || endpoint_own(address, &own, &why) != ERROR_OK) {
        error_set(error, ERROR_USAGE, "--http %s: expected ADDR:PORT such as 127.0.0.1:9100",
                  address);
        return NULL;
    }
    Http *http = calloc(1, sizeof *http);
    if (http == NULL) {
        error_set(error, ERROR_MEMORY, "--http: out of memory");
        return NULL;
    }
    http->pages = *pages;
    http->daemon = listen_at(http, &own);
    const union MHD_DaemonInfo *info =
        http->daemon != NULL ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    if (info == NULL) {
        error_set(error, ERROR_NETWORK, "--http %s: cannot listen there (is the port taken?)",
                  address);
        http_destroy(http);
        return NULL;
    }
    http->fd = info->epoll_fd;
    return http;
}

void http_destroy(Http *http)
{
    if (http == NULL) {
        return;
    }
    if (http->daemon != NULL) {
        MHD_stop_daemon(http->daemon);
    }
    free(http);
}

int http_fd(const Http *http)
{
    return http->fd;
}

void http_run(Http *http)
{
    MHD_run(http->daemon);
}
