/* trace.c: see trace.h. */
#include "server/host/trace.h"

#include "shared/base/file.h"
#include "shared/base/log.h"
#include "shared/base/thread.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SPANS_MAX = 1 << 14 /* a few seconds of a busy server */
};

struct Trace {
    FILE *file;
    TraceSpan *taken; /* [SPANS_MAX], owned by the thread */
    bool failed;
    pthread_t thread;
    bool started;

    pthread_mutex_t mutex;
    pthread_cond_t work;
    /* ---- below: under the mutex ---- */
    TraceSpan *spans; /* [SPANS_MAX] */
    u32 count;
    u64 lost;
    bool quit;
};

void trace_span(Trace *trace, const TraceSpan *span)
{
    if (trace == NULL) {
        return;
    }
    pthread_mutex_lock(&trace->mutex);
    if (trace->count < SPANS_MAX) {
        trace->spans[trace->count++] = *span;
    } else {
        trace->lost++;
    }
    if (trace->count == SPANS_MAX / 4) {
        pthread_cond_signal(&trace->work);
    }
    pthread_mutex_unlock(&trace->mutex);
}

/* Chrome trace events are in microseconds. */
static void span_write(FILE *file, const TraceSpan *span)
{
    fprintf(file,
            "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%" PRIu64 ".%03u,"
            "\"dur\":%" PRIu64 ".%03u,\"args\":{\"number\":%" PRIu64 "}},\n",
            span->name, (u32)span->thread, span->begin_ns / 1000, (u32)(span->begin_ns % 1000),
            (span->end_ns - span->begin_ns) / 1000, (u32)((span->end_ns - span->begin_ns) % 1000),
            span->number);
}

static void *write_main(void *argument)
{
    Trace *trace = argument;
    thread_name("plenum-trace");
    pthread_mutex_lock(&trace->mutex);
    for (bool last = false; !last;) {
        while (!trace->quit && trace->count < SPANS_MAX / 4) {
            pthread_cond_wait(&trace->work, &trace->mutex);
        }
        last = trace->quit;
        TraceSpan *spans = trace->spans;
        u32 count = trace->count;
        trace->spans = trace->taken;
        trace->taken = spans;
        trace->count = 0;
        pthread_mutex_unlock(&trace->mutex);
        for (u32 i = 0; i < count && !trace->failed; i++) {
            span_write(trace->file, &spans[i]);
        }
        trace->failed = trace->failed || fflush(trace->file) != 0;
        pthread_mutex_lock(&trace->mutex);
    }
    pthread_mutex_unlock(&trace->mutex);
    return NULL;
}

/* The format allows an unclosed event list, so the trace of a killed server can be read too. */
static void head_write(FILE *file)
{
    static const char *const names[TRACE_THREADS] = {"host", "simulation"};
    fputs("[\n", file);
    for (u32 i = 0; i < TRACE_THREADS; i++) {
        fprintf(file,
                "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%u,"
                "\"args\":{\"name\":\"%s\"}},\n",
                i, names[i]);
    }
}

Trace *trace_create(const char *path, ErrorText *error)
{
    Trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    pthread_mutex_init(&trace->mutex, NULL);
    pthread_cond_init(&trace->work, NULL);
    trace->spans = calloc(SPANS_MAX, sizeof *trace->spans);
    trace->taken = calloc(SPANS_MAX, sizeof *trace->taken);
    int fd = file_create(path, 0644, error);
    trace->file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (trace->file == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        trace_destroy(trace);
        return NULL;
    }
    head_write(trace->file);
    if (trace->spans == NULL || trace->taken == NULL ||
        pthread_create(&trace->thread, NULL, write_main, trace) != 0) {
        error_set(error, ERROR_MEMORY, "%s: cannot start the thread that writes it", path);
        trace_destroy(trace);
        return NULL;
    }
    trace->started = true;
    return trace;
}

void trace_destroy(Trace *trace)
{
    if (trace == NULL) {
        return;
    }
    if (trace->started) {
        pthread_mutex_lock(&trace->mutex);
        trace->quit = true;
        pthread_cond_signal(&trace->work);
        pthread_mutex_unlock(&trace->mutex);
        pthread_join(trace->thread, NULL);
        fputs("{\"name\":\"end\",\"ph\":\"M\",\"pid\":1,\"args\":{}}\n]\n", trace->file);
    }
    if (trace->file != NULL && (fclose(trace->file) != 0 || trace->failed)) {
        log_error("the trace could not be written completely");
    }
    if (trace->lost > 0) {
        log_warn("the trace lacks %" PRIu64 " spans: the disk did not keep up", trace->lost);
    }
    pthread_cond_destroy(&trace->work);
    pthread_mutex_destroy(&trace->mutex);
    free(trace->spans);
    free(trace->taken);
    free(trace);
}
