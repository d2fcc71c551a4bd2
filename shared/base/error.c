/* error.c: the texts of error codes, and formatting of error texts. */
#include "shared/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *error_name(Error code)
{
    switch (code) {
#define X(name, value, text)                                                                       \
    case ERROR_##name:                                                                             \
        return text;
        PL_ERRORS(X)
#undef X
    }
    return "unknown error";
}

Error error_set(ErrorText *error, Error code, const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        error->code = code;
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return code;
}

void error_prefix(ErrorText *error, const char *format, ...)
{
    if (error == NULL) {
        return;
    }
    char old[sizeof error->text];
    memcpy(old, error->text, sizeof old);
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    if (used >= 0 && (size_t)used < sizeof error->text) {
        snprintf(error->text + used, sizeof error->text - (size_t)used, ": %.*s",
                 (int)(sizeof error->text - 3), old);
    }
}
