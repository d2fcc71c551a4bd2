/* process.c: starts, monitors and ends the real programs. */
#include "tests/support/process.h"

#include "shared/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LIVE_MAX = 32,
    ROTATING = 16,
    RACE_CODE = 66 /* of the thread sanitizer */
};

/* Limits only end what hangs. The seconds that tests give are plenty for a quiet machine; on a busy
 * one programs under sanitizers take dozens of times as long. */
static u64 deadline_after(f64 seconds)
{
    return clock_now_ns() + (u64)((seconds < 1.0 ? seconds : 5.0 * seconds) * 1e9);
}

/* Test programs are single-threaded and short-lived: this bookkeeping may be static. */
static char folder[PATH_BYTES_MAX];
static int live[LIVE_MAX];
static u32 files;

static void fail(const char *what, const char *detail)
{
    fprintf(stderr, "test support: %s: %s (%s)\n", what, detail, strerror(errno));
    exit(99);
}

/* Nothing may outlive the test: running processes are killed with their groups. */
static void clean_up(void)
{
    for (u32 i = 0; i < LIVE_MAX; i++) {
        if (live[i] > 0) {
            kill(-live[i], SIGKILL);
            kill(live[i], SIGKILL);
            waitpid(live[i], NULL, 0);
        }
    }
    if (folder[0] != 0 && getenv("KEEP") == NULL) {
        char command[PATH_BYTES_MAX + 16];
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        if (system(command) != 0) {
            fprintf(stderr, "test support: could not remove %s\n", folder);
        }
    }
}

static void on_signal(int number)
{
    for (u32 i = 0; i < LIVE_MAX; i++) {
        if (live[i] > 0) {
            kill(-live[i], SIGKILL);
        }
    }
    _exit(128 + number);
}

const char *test_folder(void)
{
    if (folder[0] == 0) {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/plenum-test-XXXXXX", base != NULL ? base : "/tmp");
        if (mkdtemp(folder) == NULL) {
            fail("mkdtemp", folder);
        }
        atexit(clean_up);
        signal(SIGTERM, on_signal);
        signal(SIGINT, on_signal);
    }
    return folder;
}

static char *rotating(void)
{
    static char buffers[ROTATING][2 * PATH_BYTES_MAX];
    static u32 next;
    return buffers[next++ % ROTATING];
}

const char *test_path(const char *name)
{
    char *path = rotating();
    snprintf(path, 2 * PATH_BYTES_MAX, "%s/%s", test_folder(), name);
    return path;
}

const char *source_path(const char *name)
{
    /* Tests run from the top of the source tree (run.sh); PLENUM_SOURCE overrides. */
    const char *top = getenv("PLENUM_SOURCE");
    char *path = rotating();
    snprintf(path, 2 * PATH_BYTES_MAX, "%s/%s", top != NULL ? top : ".", name);
    return path;
}

/* build/<config>/tests/e2e/test_x -> build/<config>/<program>, if that file exists. */
const char *program_path(const char *program)
{
    char *path = rotating();
    char self[PATH_BYTES_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        fail("readlink", "/proc/self/exe");
    }
    self[length] = 0;
    char *tests = strstr(self, "/tests/");
    if (tests != NULL) {
        *tests = 0;
        snprintf(path, 2 * PATH_BYTES_MAX, "%s/%s", self, program);
        if (access(path, X_OK) == 0) {
            return path;
        }
    }
    return program;
}

static void start(Process *process, const char *program, const char **argv)
{
    test_folder();
    u32 number = files++;
    snprintf(process->out, sizeof process->out, "%.400s/%u.out", folder, number);
    snprintf(process->err, sizeof process->err, "%.400s/%u.err", folder, number);
    argv[0] = program_path(program);
    int pid = fork();
    if (pid < 0) {
        fail("fork", program);
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive a killed test */
        setpgid(0, 0); /* so that children of the child (a private server) are killed with it */
        int out = open(process->out, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        int err = open(process->err, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        int in = open("/dev/null", O_RDONLY);
        dup2(in, 0);
        dup2(out, 1);
        dup2(err, 2);
        setenv("XDG_STATE_HOME", folder, 1); /* keys and known servers are the test's own */
        unsetenv("STATE_DIRECTORY");
        execvp(argv[0], (char *const *)argv);
        fprintf(stderr, "cannot start %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    setpgid(pid, pid);
    process->pid = pid;
    for (u32 i = 0; i < LIVE_MAX; i++) {
        if (live[i] == 0) {
            live[i] = pid;
            return;
        }
    }
    fail("too many processes", program);
}

static void collect(const char **argv, u32 used, va_list arguments)
{
    const char *argument;
    while ((argument = va_arg(arguments, const char *)) != NULL) {
        if (used + 1 >= PROCESS_ARGUMENTS_MAX) {
            fail("too many arguments", argument);
        }
        argv[used++] = argument;
    }
    argv[used] = NULL;
}

void process_start(Process *process, const char *program, ...)
{
    const char *argv[PROCESS_ARGUMENTS_MAX] = {0};
    va_list arguments;
    va_start(arguments, program);
    collect(argv, 1, arguments);
    va_end(arguments);
    start(process, program, argv);
}

static void show_tail(const char *path)
{
    char *text = file_text(path);
    if (text != NULL) {
        size_t length = strlen(text);
        fprintf(stderr, "---- %s\n%s\n", path, text + (length > 4000 ? length - 4000 : 0));
        free(text);
    }
}

static void forget(Process *process)
{
    for (u32 i = 0; i < LIVE_MAX; i++) {
        if (live[i] == process->pid) {
            live[i] = 0;
        }
    }
    process->pid = 0;
}

int process_wait(Process *process, f64 seconds)
{
    u64 deadline = deadline_after(seconds);
    int status = 0;
    while (process->pid > 0) {
        int ended = waitpid(process->pid, &status, WNOHANG);
        if (ended == process->pid) {
            forget(process);
            int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            if ((code >= 99 && code != 137) || code == RACE_CODE) {
                show_tail(process->err); /* a sanitizer report or a crash */
            }
            return code;
        }
        if (clock_now_ns() > deadline) {
            fprintf(stderr, "test support: time-out after %.1f s\n", seconds);
            show_tail(process->err);
            kill(-process->pid, SIGKILL);
            waitpid(process->pid, &status, 0);
            forget(process);
            return -1;
        }
        clock_sleep_until_ns(clock_now_ns() + 10000000u);
    }
    return -1;
}

void process_signal(Process *process, int number)
{
    if (process->pid > 0) {
        kill(process->pid, number);
    }
}

int process_stop(Process *process)
{
    process_signal(process, SIGTERM);
    return process_wait(process, 20.0);
}

bool process_line(Process *process, const char *prefix, char *line, size_t bytes, f64 seconds)
{
    u64 deadline = deadline_after(seconds);
    size_t prefix_length = strlen(prefix);
    for (;;) {
        char *text = file_text(process->out);
        for (char *at = text; at != NULL && *at != 0;) {
            char *end = strchr(at, '\n');
            if (end == NULL) {
                break;
            }
            *end = 0;
            if (strncmp(at, prefix, prefix_length) == 0) {
                snprintf(line, bytes, "%s", at);
                free(text);
                return true;
            }
            at = end + 1;
        }
        free(text);
        int status;
        bool dead = process->pid <= 0 || waitpid(process->pid, &status, WNOHANG | WNOWAIT) > 0;
        if (dead || clock_now_ns() > deadline) {
            fprintf(stderr, "test support: no line \"%s\"\n", prefix);
            show_tail(process->err);
            return false;
        }
        clock_sleep_until_ns(clock_now_ns() + 10000000u);
    }
}

u32 server_start(Process *process, ...)
{
    const char *argv[PROCESS_ARGUMENTS_MAX] = {"", "--listen", "127.0.0.1:0", "--local-role",
                                               "operator"};
    va_list arguments;
    va_start(arguments, process);
    collect(argv, 5, arguments);
    va_end(arguments);
    start(process, "plenum-server", argv);
    char line[128];
    if (!process_line(process, "ready ", line, sizeof line, 30.0)) {
        exit(98);
    }
    return (u32)strtoul(line + 6, NULL, 10);
}

const char *server_address(u32 port)
{
    char *address = rotating();
    snprintf(address, PATH_BYTES_MAX, "127.0.0.1:%u", port);
    return address;
}

char *file_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    size_t used = 0, capacity = 4096;
    char *text = malloc(capacity);
    size_t got;
    while (text != NULL && (got = fread(text + used, 1, capacity - used - 1, file)) > 0) {
        used += got;
        if (capacity - used < 2) {
            char *larger = realloc(text, capacity * 2);
            if (larger == NULL) {
                break;
            }
            text = larger;
            capacity *= 2;
        }
    }
    fclose(file);
    if (text != NULL) {
        text[used] = 0;
    }
    return text;
}

void file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        fail("cannot write", path);
    }
}

f64 json_number(const char *json, const char *after, const char *key, u32 element)
{
    const char *at = json;
    if (at != NULL && after != NULL) {
        at = strstr(at, after);
    }
    char quoted[128];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    at = at != NULL ? strstr(at, quoted) : NULL;
    if (at == NULL) {
        return (f64)NAN;
    }
    at += strlen(quoted);
    at += strspn(at, " :[\n\t");
    for (u32 i = 0; i < element; i++) {
        at = strpbrk(at, ",]");
        if (at == NULL || *at == ']') {
            return (f64)NAN;
        }
        at++;
    }
    at += strspn(at, " \n\t");
    if (strncmp(at, "true", 4) == 0) {
        return 1.0;
    }
    if (strncmp(at, "false", 5) == 0) {
        return 0.0;
    }
    char *end;
    f64 value = strtod(at, &end);
    return end != at ? value : (f64)NAN;
}
