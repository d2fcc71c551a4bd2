/*
 * world_list.h: worlds as JSON: one that its server announces to a lobby, and the list that a lobby
 * gives to clients. What is read is untrusted: every number and text is checked, unknown
 * members are skipped.
 *
 *   {"address":"192.0.2.1:7340","key":"64 hexadecimal digits","name":"...","scene":"...",
 *    "version":"0.2.0","users":3,"places":64,"password":false,"token":false,"replay":false,
 *    "relay":false}
 *   {"worlds":[...],"total":120,"next":"KEY of the last one here, if more follow"}
 *
 * Layer: protocol/session. Behind it: the library jansson.
 */
#ifndef PLENUM_PROTOCOL_SESSION_WORLD_LIST_H
#define PLENUM_PROTOCOL_SESSION_WORLD_LIST_H

#include "protocol/session/inquiry.h"
#include "shared/base/error.h"

PL_BEGIN_C

enum {
    WORLD_TEXT_BYTES_MAX = 2048, /* of one announcement */
    WORLD_ADDRESS_BYTES = 24,
    WORLDS_PAGE_MAX = 500,
    WORLDS_TEXT_BYTES_MAX = 1 << 20 /* of a page */
};

/* A page of a list. */
typedef struct WorldPage {
    u32 count; /* worlds here */
    u32 total; /* that the filter lets pass, on all pages */
    bool more;
    u8 next[IDENTITY_PUBLIC_BYTES]; /* if more follow: "after" of the next page */
} WorldPage;

/* "1.2.3.4:7340" of a notice. */
const char *world_address_text(const WorldNotice *notice, char text[WORLD_ADDRESS_BYTES]);
/* True if name or scene contains `part`, ignoring case. */
bool world_matches(const WorldNotice *notice, const char *part);

/* One world as JSON, to be freed; NULL: out of memory. */
char *world_text(const WorldNotice *notice);
/* Reads one; ERROR_FORMAT with a text. An address of 0.0.0.0 is left as 0. */
int world_read(const char *text, size_t bytes, WorldNotice *out, ErrorText *error);
/* A page as JSON, to be freed; NULL: out of memory. worlds: [page->count]. */
char *world_page_text(const WorldNotice *const *worlds, const WorldPage *page);
/* Reads a page into worlds[WORLDS_PAGE_MAX]; malformed entries are skipped. ERROR_FORMAT: not a
 * list. */
int world_page_read(const char *text, size_t bytes, WorldNotice *worlds, WorldPage *page,
                    ErrorText *error);

PL_END_C

#endif
