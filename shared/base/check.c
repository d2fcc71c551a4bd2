/* check.c: reports a failed CHECK and aborts. */
#include "shared/base/check.h"

#include <stdio.h>
#include <stdlib.h>

void check_fail(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, condition);
    fflush(stderr);
    abort();
}

void check_fail_item(const char *file, int line, const char *condition, unsigned item)
{
    fprintf(stderr, "%s:%d: CHECK failed: %s (item %u)\n", file, line, condition, item);
    fflush(stderr);
    abort();
}
