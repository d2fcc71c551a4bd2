/*
 * build_text.h: the name of the program that wrote a file, from the file's head: untrusted text.
 * Layer: protocol/record, private.
 */
#ifndef PLENUM_PROTOCOL_RECORD_BUILD_TEXT_H
#define PLENUM_PROTOCOL_RECORD_BUILD_TEXT_H

#include "shared/base/base.h"

/* Copies up to `bytes` characters, or to a zero, into out[bytes + 1], with a question mark for
 * whatever is not printable ASCII. */
static inline void build_text(const char *text, size_t bytes, char *out)
{
    size_t used = 0;
    for (; used < bytes && text[used] != '\0'; used++) {
        out[used] = text[used] >= ' ' && text[used] <= '~' ? text[used] : '?';
    }
    out[used] = '\0';
}

#endif
