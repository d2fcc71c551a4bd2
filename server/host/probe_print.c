/* probe_print.c: see probe_print.h. */
#include "server/host/probe_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Index of the probe of this name; −1: none. */
static i64 find(const MessageWorld *world, const char *name, size_t length)
{
    for (u32 i = 0; i < world->probe_count; i++) {
        const char *known = world->probes[i].name;
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            return i;
        }
    }
    return -1;
}

static int fail_unknown(const MessageWorld *world, const char *name, size_t length,
                        ErrorText *error)
{
    char known[256] = "none";
    for (u32 i = 0, used = 0; i < world->probe_count && used < sizeof known; i++) {
        used += (u32)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                              world->probes[i].name);
    }
    return error_set(error, ERROR_NOT_FOUND, "--probe: '%.*s' is not a probe; there are: %s",
                     (int)length, name, known);
}

/* NAME or NAME@HZ, `length` bytes. */
static int add_row(ProbePrint *print, const char *text, size_t length, const MessageWorld *world,
                   ErrorText *error)
{
    if (print->count == PROBE_PRINT_ROWS_MAX) {
        return error_set(error, ERROR_USAGE, "--probe: at most %d times", PROBE_PRINT_ROWS_MAX);
    }
    u32 hz = 1;
    i64 probe = find(world, text, length);
    size_t at = length;
    while (probe < 0 && at > 0 && text[at - 1] != '@') {
        at--;
    }
    if (probe < 0 && at > 0) {
        char *end;
        unsigned long rate = strtoul(text + at, &end, 10);
        bool number = at < length && text[at] >= '0' && text[at] <= '9' && end == text + length;
        probe = find(world, text, at - 1);
        if (probe >= 0 && (!number || rate < 1 || rate > print->tick_rate)) {
            return error_set(error, ERROR_USAGE,
                             "--probe: '%.*s': the rate after @ is a whole number from 1 to %u, "
                             "the tick rate",
                             (int)length, text, print->tick_rate);
        }
        hz = (u32)rate;
    }
    if (probe < 0) {
        return fail_unknown(world, text, length, error);
    }
    print->rows[print->count].probe = (u32)probe;
    print->rows[print->count++].hz = hz;
    return ERROR_OK;
}

int probe_print_init(ProbePrint *print, const char *wanted, bool csv, const MessageWorld *world,
                     u32 tick_rate, ErrorText *error)
{
    *print = (ProbePrint){.csv = csv, .tick_rate = tick_rate, .probes = world->probes};
    for (const char *at = wanted; at != NULL;) {
        size_t length = strcspn(at, "\n");
        int result = add_row(print, at, length, world, error);
        if (result != ERROR_OK) {
            return result;
        }
        at = at[length] == '\n' ? at + length + 1 : NULL;
    }
    if (csv && print->count > 0) {
        printf("tick,time [s],probe,value\n");
        fflush(stdout);
    }
    return ERROR_OK;
}

/* The first tick of each of `hz` equal parts of a second. */
static bool is_due(u64 tick, u32 hz, u32 tick_rate)
{
    return tick % tick_rate * hz % tick_rate < hz;
}

static void print_quoted(const char *name)
{
    putchar('"');
    for (const char *c = name; *c != '\0'; c++) {
        if (*c == '"') {
            putchar('"');
        }
        putchar(*c);
    }
    putchar('"');
}

void probe_print_tick(const ProbePrint *print, u64 tick,
                      bool (*value)(const void *context, u32 probe, f64 *value),
                      const void *context)
{
    bool printed = false;
    for (u32 i = 0; i < print->count; i++) {
        f64 number;
        if (!is_due(tick, print->rows[i].hz, print->tick_rate) ||
            !value(context, print->rows[i].probe, &number)) {
            continue;
        }
        const char *name = print->probes[print->rows[i].probe].name;
        if (print->csv) {
            printf("%" PRIu64 ",%.9g,", tick, (f64)tick / print->tick_rate);
            print_quoted(name);
            printf(",%.9g\n", number);
        } else {
            printf("probe %" PRIu64 " %s %.9g\n", tick, name, number);
        }
        printed = true;
    }
    if (printed) {
        fflush(stdout);
    }
}
