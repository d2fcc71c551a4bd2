/*
 * fetch.h: reads one page by HTTP or HTTPS with libcurl, without blocking. Certificates are
 * checked; names are resolved on a thread of libcurl.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_FETCH_H
#define PLENUM_CLIENT_LINK_FETCH_H

#include "shared/base/error.h"

enum {
    FETCH_MS_MAX = 10000
};

typedef struct Fetch Fetch;

/* Starts reading the page at `url`, at most `bytes_max` bytes. NULL with a text. */
Fetch *fetch_create(const char *url, size_t bytes_max, ErrorText *error);
/* 1: complete, 0: not yet, or a negative Error with a text. */
int fetch_poll(Fetch *fetch, ErrorText *error);
/* The page, borrowed, followed by a zero byte. */
const char *fetch_text(const Fetch *fetch, size_t *bytes);
void fetch_destroy(Fetch *fetch); /* NULL is fine */

#endif
