/* text.c: strict UTF-8 decoding, one code point at a time; endings. */
#include "shared/base/text.h"

#include <string.h>

/* Bytes of the code point at the start of text, or 0 if malformed or truncated. */
static u32 decode(const u8 *text, size_t bytes, u32 *code)
{
    static const u32 smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    u8 first = text[0];
    u32 length = first < 0x80             ? 1
                 : (first & 0xE0) == 0xC0 ? 2
                 : (first & 0xF0) == 0xE0 ? 3
                 : (first & 0xF8) == 0xF0 ? 4
                                          : 0;
    if (length == 0 || length > bytes) {
        return 0;
    }
    u32 value = length == 1 ? first : first & (0x7Fu >> length);
    for (u32 i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80) {
            return 0;
        }
        value = value << 6 | (text[i] & 0x3Fu);
    }
    bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < smallest[length] || value > 0x10FFFF || surrogate) {
        return 0;
    }
    *code = value;
    return length;
}

bool text_is_clean(const char *text, size_t bytes)
{
    const u8 *at = (const u8 *)text;
    const u8 *end = at + bytes;
    while (at < end) {
        u32 code = 0;
        u32 length = decode(at, (size_t)(end - at), &code);
        bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
        bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
        if (length == 0 || control || turns) {
            return false;
        }
        at += length;
    }
    return true;
}

bool text_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}
