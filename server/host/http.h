/*
 * http.h: serves /metrics (Prometheus text), /healthz, /readyz and /livez (the loop turns) with
 * libmicrohttpd, without its own thread: the host's loop watches one file descriptor and calls
 * http_run.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_HTTP_H
#define PLENUM_SERVER_HOST_HTTP_H

#include "shared/base/error.h"

enum {
    HTTP_PAGE_BYTES_MAX = 64 << 10
};

typedef struct HttpPages {
    void *context;
    /* Writes the metrics text into page[HTTP_PAGE_BYTES_MAX], returns its length. */
    size_t (*metrics)(void *context, char *page, size_t bytes);
    const char *(*unhealthy)(void *context); /* what fails, or NULL */
    bool (*ready)(void *context);            /* and accepts clients */
} HttpPages;

typedef struct Http Http;

/* Listens on "ADDR:PORT" (TCP; *: all addresses of this machine). NULL with a text (bad address,
 * port taken). */
Http *http_create(const char *address, const HttpPages *pages, ErrorText *error);
void http_destroy(Http *http); /* NULL is fine */
/* Becomes readable when http_run has work. */
int http_fd(const Http *http);
/* Processes pending requests; call when the descriptor is readable and about once a second for
 * timeouts. */
void http_run(Http *http);

#endif
