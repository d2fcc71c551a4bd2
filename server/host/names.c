/* names.c: clean names and their looks, with ICU. */
#include "server/host/names.h"

#include "shared/base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uspoof.h>
#include <unicode/ustring.h>

enum {
    /* UTF-16 units: NFKC makes 18 of one code point at most, and skeletons are longer again. */
    UNITS_MAX = 32 * NAME_BYTES_MAX,
    MARKS_MAX = 2 /* on one letter */
};

struct Names {
    USpoofChecker *checker;
    const UNormalizer2 *nfc, *fold; /* owned by ICU */
    UChar a[UNITS_MAX], b[UNITS_MAX];
};

Names *names_create(ErrorText *error)
{
    UErrorCode code = U_ZERO_ERROR;
    Names *names = calloc(1, sizeof *names);
    if (names == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for names");
        return NULL;
    }
    names->nfc = unorm2_getNFCInstance(&code);
    names->fold = unorm2_getNFKCCasefoldInstance(&code);
    names->checker = uspoof_open(&code);
    if (U_FAILURE(code)) {
        error_set(error, ERROR_NOT_FOUND, "names: ICU: %s", u_errorName(code));
        names_destroy(names);
        return NULL;
    }
    return names;
}

void names_destroy(Names *names)
{
    if (names != NULL) {
        uspoof_close(names->checker);
        free(names);
    }
}

static bool is_shown(UChar32 c)
{
    switch (u_charType(c)) {
    case U_CONTROL_CHAR:
    case U_FORMAT_CHAR:
    case U_SURROGATE:
    case U_PRIVATE_USE_CHAR:
    case U_UNASSIGNED:
    case U_LINE_SEPARATOR:
    case U_PARAGRAPH_SEPARATOR:
        return false;
    default:
        return !u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
    }
}

static bool is_mark(UChar32 c)
{
    int8_t type = u_charType(c);
    return type == U_NON_SPACING_MARK || type == U_ENCLOSING_MARK;
}

/* Keeps the visible characters of a[count], in place. Returns the new count. */
static i32 shown_keep(UChar *a, i32 count)
{
    i32 kept = 0, marks = 0;
    bool blank = true; /* none at the start */
    for (i32 at = 0; at < count;) {
        UChar32 c;
        U16_NEXT(a, at, count, c);
        marks = is_mark(c) ? marks + 1 : 0;
        bool space = u_isUWhiteSpace(c);
        /* "#" begins an id in commands, and "/" a command. */
        bool misleading = kept == 0 && (c == '#' || c == '/' || marks > 0);
        if ((!space && !is_shown(c)) || (space && blank) || marks > MARKS_MAX || misleading) {
            continue;
        }
        blank = space;
        U16_APPEND_UNSAFE(a, kept, space ? ' ' : c);
    }
    return kept > 0 && a[kept - 1] == ' ' ? kept - 1 : kept;
}

/* Bytes of UTF-8 that a code point takes. */
static i32 bytes_of(UChar32 c)
{
    return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/* The first units that fit into `bytes` bytes of UTF-8. */
static i32 cut(const UChar *a, i32 count, i32 bytes)
{
    i32 at = 0;
    while (at < count) {
        i32 next = at;
        UChar32 c;
        U16_NEXT(a, next, count, c);
        bytes -= bytes_of(c);
        if (bytes < 0) {
            break;
        }
        at = next;
    }
    return at;
}

void name_clean(Names *names, const char *wanted, char out[NAME_CLEAN_BYTES])
{
    UErrorCode code = U_ZERO_ERROR;
    i32 count = 0, bytes = 0;
    u_strFromUTF8WithSub(names->a, UNITS_MAX, &count, wanted, -1, 0xFFFD, NULL, &code);
    count = shown_keep(names->a, count);
    count = unorm2_normalize(names->nfc, names->a, count, names->b, UNITS_MAX, &code);
    count = cut(names->b, count, NAME_CLEAN_BYTES - 1);
    u_strToUTF8(out, NAME_CLEAN_BYTES, &bytes, names->b, count, &code);
    if (U_FAILURE(code) || count == 0) {
        snprintf(out, NAME_CLEAN_BYTES, "guest");
    }
}

u64 name_skeleton(Names *names, const char *name)
{
    UErrorCode code = U_ZERO_ERROR;
    i32 count = 0;
    u_strFromUTF8WithSub(names->a, UNITS_MAX, &count, name, -1, 0xFFFD, NULL, &code);
    count = unorm2_normalize(names->fold, names->a, count, names->b, UNITS_MAX, &code);
    count = uspoof_getSkeleton(names->checker, 0, names->b, count, names->a, UNITS_MAX, &code);
    /* The skeleton of a digit may be a capital. */
    count = unorm2_normalize(names->fold, names->a, count, names->b, UNITS_MAX, &code);
    i32 kept = 0;
    for (i32 i = 0; U_SUCCESS(code) && i < count; i++) {
        if (names->b[i] != ' ') {
            names->b[kept++] = names->b[i];
        }
    }
    return U_SUCCESS(code) ? hash_bytes(names->b, (size_t)kept * sizeof names->b[0], 0)
                           : hash_bytes(name, strlen(name), 0);
}
