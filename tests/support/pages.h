/*
 * pages.h: end-to-end tests read the pages that a server serves over HTTP with it.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_PAGES_H
#define PLENUM_TESTS_SUPPORT_PAGES_H

#include "shared/base/base.h"

/* A TCP port of 127.0.0.1 that nobody listens on now. */
u32 free_port(void);
/* The whole answer, headers first, into text[bytes]; fails the test if nobody listens. */
void page_get(u32 port, const char *page, char *text, size_t bytes);
/* True as soon as the answer holds `part`; false if it has not within five minutes. */
bool page_says(u32 port, const char *page, const char *part);

#endif
