/*
 * http_call.h: small HTTP requests to one server, one at a time and without blocking, on the host's
 * loop. HTTP/1.1 without TLS; only the status and the first bytes of the answer are kept.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_HTTP_CALL_H
#define PLENUM_SERVER_HOST_HTTP_CALL_H

#include "shared/base/error.h"

#include <uv.h>

enum {
    HTTP_CALL_REQUEST_BYTES = 8192,
    HTTP_CALL_ANSWER_BYTES = 1024,
    HTTP_CALL_TIMEOUT_MS = 3000,
    HTTP_CALL_NAME_MS = 300000 /* a name is looked up again after this, or a failure */
};

typedef struct HttpCall HttpCall;

/* status: that of the answer, 0: there was none. answer: its first bytes as text. */
typedef void HttpCallDone(void *context, u32 status, const char *answer);

/* host: a name or an IPv4 or IPv6 address, borrowed. NULL: out of memory. */
HttpCall *http_call_create(uv_loop_t *loop, const char *host, u16 port, HttpCallDone *done,
                           void *context);
/* Begins a request, a whole text: its headers must hold "Connection: close". False: one is under
 * way, or the text is too long; `done` is called later, once for each request that was begun. */
bool http_call_begin(HttpCall *call, const char *text, u64 now_ms);
/* Aborts a request that takes longer than HTTP_CALL_TIMEOUT_MS. Call in each iteration. */
void http_call_run(HttpCall *call, u64 now_ms);
/* True until `done` was called and the connection is closed. */
bool http_call_is_busy(const HttpCall *call);
/* Before the loop closes its handles: no callback is called any more. NULL is fine. */
void http_call_stop(HttpCall *call);
/* After the loop has closed all handles. NULL is fine. */
void http_call_destroy(HttpCall *call);

#endif
