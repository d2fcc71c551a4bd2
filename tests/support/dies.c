/* dies.c: see dies.h. */
#include "tests/support/dies.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    REPORT_MAX = 2048
};

/* Its output goes to text[REPORT_MAX]; returns the exit status as from waitpid. */
static int run_apart(void (*run)(void *context), void *context, char *text)
{
    int ends[2], status = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        run(context);
        _exit(0);
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while ((got = read(ends[0], text + used, REPORT_MAX - 1 - used)) > 0) {
        used += (size_t)got;
    }
    text[used] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

void assert_dies(void (*run)(void *context), void *context, const char *failed_check)
{
    char text[REPORT_MAX];
    int status = run_apart(run, context, text);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT ||
        strstr(text, "CHECK failed") == NULL || strstr(text, failed_check) == NULL) {
        fail_msg("expected a failed CHECK whose text contains '%s', got status %d and '%s'",
                 failed_check, status, text);
    }
}

void assert_lives(void (*run)(void *context), void *context)
{
    char text[REPORT_MAX];
    int status = run_apart(run, context, text);
    if (status != 0) {
        fail_msg("expected that it returns, got status %d and '%s'", status, text);
    }
}
