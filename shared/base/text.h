/*
 * text.h: texts: validates untrusted ones before they are shown, logged or compared; endings.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_TEXT_H
#define PLENUM_SHARED_BASE_TEXT_H

#include "shared/base/base.h"

PL_BEGIN_C
/* True if the bytes are valid UTF-8 (shortest forms, no surrogates) without control characters
 * (C0, DEL, C1) and bidirectional formatting characters (U+202A..U+202E, U+2066..U+2069). An
 * empty text is clean. */
bool text_is_clean(const char *text, size_t bytes);
bool text_ends_with(const char *text, const char *end);
PL_END_C

#endif
