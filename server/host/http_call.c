/* http_call.c: see http_call.h. */
#include "server/host/http_call.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STATUS_BYTES = 12 /* "HTTP/1.1 200" */
};

typedef enum CallLine {
    LINE_FREE,
    LINE_BUSY,
    LINE_CLOSING
} CallLine;

struct HttpCall {
    uv_loop_t *loop;
    const char *host;
    char port[8];
    HttpCallDone *done; /* NULL: stopped */
    void *context;
    struct sockaddr_storage address;
    bool known; /* the address */
    u64 known_ms;
    bool resolving; /* the request of libuv is in use */
    CallLine line;
    uv_getaddrinfo_t resolve;
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    char request[HTTP_CALL_REQUEST_BYTES];
    char answer[HTTP_CALL_ANSWER_BYTES];
    char spare[256]; /* takes what is not kept */
    u32 answer_bytes;
    u64 begun_ms;
    bool opened; /* tcp is a handle of the loop */
};

HttpCall *http_call_create(uv_loop_t *loop, const char *host, u16 port, HttpCallDone *done,
                           void *context)
{
    HttpCall *call = calloc(1, sizeof *call);
    if (call != NULL) {
        call->loop = loop;
        call->host = host;
        call->done = done;
        call->context = context;
        snprintf(call->port, sizeof call->port, "%u", port);
    }
    return call;
}

void http_call_destroy(HttpCall *call)
{
    free(call);
}

bool http_call_is_busy(const HttpCall *call)
{
    return call->line != LINE_FREE || call->resolving;
}

static void on_closed(uv_handle_t *handle)
{
    HttpCall *call = handle->data;
    call->line = LINE_FREE;
    call->opened = false;
}

/* The request is over. */
static void finish(HttpCall *call, u32 status)
{
    if (call->line != LINE_BUSY) {
        return;
    }
    call->line = call->opened ? LINE_CLOSING : LINE_FREE;
    call->known = call->known && status != 0;                        /* else it may have moved */
    if (call->opened && !uv_is_closing((uv_handle_t *)&call->tcp)) { /* else the host ends */
        uv_close((uv_handle_t *)&call->tcp, on_closed);
    }
    if (call->done != NULL) {
        call->done(call->context, status, call->answer);
    }
}

static u32 status_of(const HttpCall *call)
{
    const char *text = call->answer;
    u32 status = 0;
    if (call->answer_bytes < STATUS_BYTES || strncmp(text, "HTTP/1.", 7) != 0) {
        return 0;
    }
    for (u32 i = 9; i < 12; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return 0;
        }
        status = 10 * status + (u32)(text[i] - '0');
    }
    return status;
}

/* The other end closes the connection after its answer; closing earlier would reset it. */
static void on_read(uv_stream_t *stream, ssize_t bytes, const uv_buf_t *buffer)
{
    HttpCall *call = stream->data;
    if (bytes > 0 && buffer->base != call->spare) {
        call->answer_bytes += (u32)bytes;
        call->answer[call->answer_bytes] = '\0';
    }
    if (bytes < 0) {
        finish(call, status_of(call));
    }
}

static void on_buffer(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    PL_UNUSED(wanted);
    HttpCall *call = handle->data;
    u32 room = (u32)sizeof call->answer - 1 - call->answer_bytes;
    *buffer = room > 0 ? uv_buf_init(call->answer + call->answer_bytes, room)
                       : uv_buf_init(call->spare, sizeof call->spare);
}

static void on_written(uv_write_t *write, int status)
{
    HttpCall *call = write->data;
    if (status != 0) {
        finish(call, 0);
    }
}

static void on_connected(uv_connect_t *connect, int status)
{
    HttpCall *call = connect->data;
    if (call->line != LINE_BUSY) {
        return;
    }
    uv_buf_t buffer = uv_buf_init(call->request, (unsigned)strlen(call->request));
    call->write.data = call;
    if (status != 0 ||
        uv_write(&call->write, (uv_stream_t *)&call->tcp, &buffer, 1, on_written) != 0 ||
        uv_read_start((uv_stream_t *)&call->tcp, on_buffer, on_read) != 0) {
        finish(call, 0);
    }
}

static void connect_begin(HttpCall *call)
{
    if (uv_tcp_init(call->loop, &call->tcp) != 0) {
        finish(call, 0);
        return;
    }
    call->opened = true;
    call->tcp.data = call->connect.data = call;
    if (uv_tcp_connect(&call->connect, &call->tcp, (const struct sockaddr *)&call->address,
                       on_connected) != 0) {
        finish(call, 0);
    }
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
    HttpCall *call = request->data;
    call->resolving = false;
    if (status == 0 && found != NULL && found->ai_addrlen <= sizeof call->address) {
        memcpy(&call->address, found->ai_addr, found->ai_addrlen);
        call->known = true;
    }
    if (status == 0) {
        uv_freeaddrinfo(found);
    }
    if (call->line != LINE_BUSY) {
        return; /* given up meanwhile */
    }
    if (call->known) {
        connect_begin(call);
    } else {
        finish(call, 0);
    }
}

static void resolve_begin(HttpCall *call)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct sockaddr_in *ipv4 = (struct sockaddr_in *)&call->address;
    struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&call->address;
    int port = (int)strtoul(call->port, NULL, 10);
    call->known =
        uv_ip4_addr(call->host, port, ipv4) == 0 || uv_ip6_addr(call->host, port, ipv6) == 0;
    if (call->known) {
        connect_begin(call);
        return;
    }
    call->resolve.data = call;
    call->resolving = uv_getaddrinfo(call->loop, &call->resolve, on_resolved, call->host,
                                     call->port, &hints) == 0;
    if (!call->resolving) {
        finish(call, 0);
    }
}

bool http_call_begin(HttpCall *call, const char *text, u64 now_ms)
{
    if (http_call_is_busy(call) || strlen(text) >= sizeof call->request) {
        return false;
    }
    snprintf(call->request, sizeof call->request, "%s", text);
    call->answer_bytes = 0;
    call->answer[0] = '\0';
    call->begun_ms = now_ms;
    call->line = LINE_BUSY;
    if (call->known && now_ms < call->known_ms + HTTP_CALL_NAME_MS) {
        connect_begin(call);
    } else {
        call->known_ms = now_ms;
        resolve_begin(call);
    }
    return true;
}

void http_call_run(HttpCall *call, u64 now_ms)
{
    if (call->line == LINE_BUSY && now_ms - call->begun_ms > HTTP_CALL_TIMEOUT_MS) {
        finish(call, 0);
    }
}

void http_call_stop(HttpCall *call)
{
    if (call != NULL) {
        call->done = NULL;
        if (call->resolving) {
            uv_cancel((uv_req_t *)&call->resolve);
        }
    }
}
