/*
 * log.c: each line is formatted in one buffer and written by one call, so lines of several threads
 * never mix. Level and format are the only process-wide state.
 */
#include "shared/base/log.h"

#include "shared/base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_BYTES_MAX = 1024
};

static atomic_int log_level = LOG_INFO;
static atomic_int log_format = LOG_TEXT;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void log_set_level(LogLevel level)
{
    atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

void log_set_format(LogFormat format)
{
    atomic_store_explicit(&log_format, (int)format, memory_order_relaxed);
}

bool log_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat status;
    return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device && status.st_ino == inode;
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

/* Writes the prefix of a line; returns its length. */
static int write_prefix(char *line, size_t capacity, LogLevel level, LogFormat format)
{
    static const int priorities[] = {7, 6, 4, 3}; /* of syslog(3) */
    u64 now_ms = clock_unix_ms();
    time_t now_s = (time_t)(now_ms / 1000u);
    unsigned ms = (unsigned)(now_ms % 1000u);
    struct tm at;
    char date[32];
    switch (format) {
    case LOG_JOURNAL:
        return snprintf(line, capacity, "<%d>", priorities[level]);
    case LOG_JSON:
        gmtime_r(&now_s, &at);
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &at);
        return snprintf(line, capacity, "{\"time\":\"%s.%03uZ\",\"level\":\"%s\",\"text\":\"", date,
                        ms, level_names[level]);
    default:
        localtime_r(&now_s, &at);
        return snprintf(line, capacity, "%02d:%02d:%02d.%03u %s ", at.tm_hour, at.tm_min, at.tm_sec,
                        ms, level_names[level]);
    }
}

/* Length of the UTF-8 sequence at `text`, which ends in a zero byte; 0: it is none. */
static int sequence_bytes(const unsigned char *text)
{
    unsigned char c = text[0];
    int bytes = c < 0x80 ? 1 : c >= 0xF0 && c < 0xF5 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 0;
    unsigned char low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    unsigned char high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF; /* surrogates, the end */
    if (c >= 0xF5 || bytes == 0) {
        return 0;
    }
    for (int i = 1; i < bytes; i++) {
        if (text[i] < (i == 1 ? low : 0x80) || text[i] > (i == 1 ? high : 0xBF)) {
            return 0;
        }
    }
    return bytes;
}

/* Appends the text, without control characters, as the inside of a JSON string, and ends it. */
static int write_json(char *line, int used, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at != '\0' && used < LINE_BYTES_MAX - 8) {
        int bytes = sequence_bytes(at);
        if (*at == '"' || *at == '\\') {
            line[used++] = '\\';
        }
        if (bytes == 0) {
            memcpy(line + used, "\xEF\xBF\xBD", 3); /* U+FFFD */
            used += 3;
            at++;
        } else {
            memcpy(line + used, at, (size_t)bytes);
            used += bytes;
            at += bytes;
        }
    }
    memcpy(line + used, "\"}", 2);
    return used + 2;
}

static void write_all(const char *line, int bytes)
{
    for (int sent = 0; sent < bytes;) {
        ssize_t n = write(STDERR_FILENO, line + sent, (size_t)(bytes - sent));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return; /* a closed stderr must not stop a server */
        }
        sent += (int)n;
    }
}

void log_write(LogLevel level, const char *format, ...)
{
    if ((int)level < atomic_load_explicit(&log_level, memory_order_relaxed) || level < LOG_DEBUG ||
        level >= LOG_QUIET) {
        return;
    }
    LogFormat shape = (LogFormat)atomic_load_explicit(&log_format, memory_order_relaxed);
    char text[LINE_BYTES_MAX], line[LINE_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (wanted < 0) {
        return;
    }
    int bytes = i32_min(wanted, LINE_BYTES_MAX - 1);
    replace_controls(text, bytes);
    int used = write_prefix(line, sizeof line, level, shape);
    if (shape == LOG_JSON) {
        used = write_json(line, used, text);
    } else {
        bytes = i32_min(bytes, LINE_BYTES_MAX - 1 - used);
        memcpy(line + used, text, (size_t)bytes);
        used += bytes;
    }
    line[used++] = '\n';
    write_all(line, used);
}
