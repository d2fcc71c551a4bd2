/*
 * log.h: log lines with levels on stderr. Thread-safe.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_LOG_H
#define PLENUM_SHARED_BASE_LOG_H

#include "shared/base/base.h"

typedef enum LogLevel {
    LOG_DEBUG,
    LOG_INFO,
    LOG_WARN,
    LOG_ERROR,
    LOG_QUIET
} LogLevel;

typedef enum LogFormat {
    LOG_TEXT,    /* HH:MM:SS.mmm level text */
    LOG_JOURNAL, /* <priority>text, as journald and sd-daemon(3) expect; they know the time */
    LOG_JSON     /* {"time":"2026-01-31T12:00:00.000Z","level":"info","text":"..."}, in UTF-8 */
} LogFormat;

PL_BEGIN_C
/* Lines below `level` are dropped. The default is LOG_INFO. */
void log_set_level(LogLevel level);
/* The default is LOG_TEXT. Not while other threads write. */
void log_set_format(LogFormat format);
/* True if stderr is the stream that $JOURNAL_STREAM names: journald reads it. */
bool log_is_journal(void);
/* Writes one line. Control characters in the text are replaced, since names are untrusted. */
void log_write(LogLevel level, const char *format, ...) PL_PRINTF(2, 3);
PL_END_C

#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)

#endif
