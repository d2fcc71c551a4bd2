/*
 * process.h: end-to-end tests start the real programs with it: own temporary folder, captured
 * output, time limits, and nothing left running when a test fails.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_PROCESS_H
#define PLENUM_TESTS_SUPPORT_PROCESS_H

#include "shared/base/base.h"

enum {
    PROCESS_ARGUMENTS_MAX = 48,
    PATH_BYTES_MAX = 512
};

typedef struct Process {
    int pid;                  /* 0: not running */
    char out[PATH_BYTES_MAX]; /* file with its stdout */
    char err[PATH_BYTES_MAX]; /* file with its stderr */
} Process;

/* A fresh folder below $TMPDIR for this test program; removed at exit unless KEEP is set. */
const char *test_folder(void);
/* "<test_folder>/<name>" in a rotating set of static buffers. */
const char *test_path(const char *name);
/* A path in the source tree ("shared/scenes/wall.json"). */
const char *source_path(const char *name);

/* build/<config>/<program> of this test, or just the name if there is no such file. */
const char *program_path(const char *program);

/* Starts a program of this build ("plenum-server") or of the PATH ("xvfb-run") with arguments up to
 * a NULL. Exits the test with a message if it cannot. */
void process_start(Process *process, const char *program, ...) __attribute__((sentinel));
/* Waits for the end, at most `seconds`, or five times that from 1 s on; returns the exit
 * code, 128 + signal, or −1 on time-out (it is then killed and its stderr printed). */
int process_wait(Process *process, f64 seconds);
/* Sends a signal. */
void process_signal(Process *process, int number);
/* SIGTERM, then waits: returns the exit code. */
int process_stop(Process *process);
/* Waits until stdout holds a line that starts with `prefix` and copies it; false on time-out. */
bool process_line(Process *process, const char *prefix, char *line, size_t bytes, f64 seconds);

/* A plenum-server on a free port of 127.0.0.1, its clients operators, with the further arguments;
 * returns its port. */
u32 server_start(Process *process, ...) __attribute__((sentinel));
/* "127.0.0.1:PORT" in a rotating set of static buffers. */
const char *server_address(u32 port);

/* Whole file as text (free), or NULL. */
char *file_text(const char *path);
void file_write(const char *path, const char *text);
/* The number after "key": in a JSON text, searching from the first occurrence of `after` (NULL:
 * from the start). element picks from an array. NaN if absent. */
f64 json_number(const char *json, const char *after, const char *key, u32 element);

#endif
