/*
 * log.c: each line is formatted in one buffer and written by one call, so lines of several threads
 * never mix. The level is the only process-wide state.
 */
#include "shared/base/log.h"

#include "shared/base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_BYTES_MAX = 1024
};

static atomic_int log_level = LOG_INFO;

void log_set_level(LogLevel level)
{
    atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

/* Replaces control characters (including terminal escape sequences); keeps UTF-8. */
static void replace_controls(char *text, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7F) {
            text[i] = '?';
        }
    }
}

/* Writes "HH:MM:SS.mmm level " and returns its length. */
static int write_prefix(char *line, size_t capacity, LogLevel level)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    u64 now_ms = clock_unix_ms();
    time_t now_s = (time_t)(now_ms / 1000u);
    struct tm local;
    localtime_r(&now_s, &local);
    return snprintf(line, capacity, "%02d:%02d:%02d.%03u %s ", local.tm_hour, local.tm_min,
                    local.tm_sec, (unsigned)(now_ms % 1000u), names[level]);
}

void log_write(LogLevel level, const char *format, ...)
{
    if ((int)level < atomic_load_explicit(&log_level, memory_order_relaxed) || level < LOG_DEBUG ||
        level >= LOG_QUIET) {
        return;
    }
    char line[LINE_BYTES_MAX];
    int used = write_prefix(line, sizeof line, level);
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(line + used, sizeof line - (size_t)used, format, arguments);
    va_end(arguments);
    if (wanted < 0) {
        return;
    }
    int end = i32_min(used + wanted, LINE_BYTES_MAX - 1);
    replace_controls(line + used, end - used);
    line[end++] = '\n';
    for (int sent = 0; sent < end;) {
        ssize_t n = write(STDERR_FILENO, line + sent, (size_t)(end - sent));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return; /* a closed stderr must not stop a server */
        }
        sent += (int)n;
    }
}
