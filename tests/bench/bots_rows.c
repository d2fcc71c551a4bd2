/*
 * bots_rows.c: the programs themselves: a server, and 64 clients in another process that join it
 * over the loopback and play with their hands; what both take of a core, and that nothing desyncs.
 */
#include "shared/base/clock.h"
#include "tests/bench/bench.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BOTS = 64,
    SECONDS = 5, /* of play in a run */
};

typedef struct BotsRun {
    f64 server, client; /* % of a core; of one client */
    f64 rtt_ms, kbit_s;
    u64 desyncs;
} BotsRun;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "plenum-bench: net/bots64: %s\n", what);
    exit(EXIT_CHECK_FAILED);
}

static f64 seconds_of(const struct rusage *usage)
{
    const struct timeval *user = &usage->ru_utime, *kernel = &usage->ru_stime;
    return (f64)(user->tv_sec + kernel->tv_sec) + 1e-6 * (f64)(user->tv_usec + kernel->tv_usec);
}

/* A program that lies beside this one, and what it prints. */
typedef struct Child {
    pid_t process;
    FILE *output;
} Child;

static Child start(char *const *arguments)
{
    char own[PATH_MAX], path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    int ends[2];
    if (length <= 0 || pipe2(ends, O_CLOEXEC) != 0) {
        fail("a program cannot be started");
    }
    own[length] = '\0';
    snprintf(path, sizeof path, "%s/%s", dirname(own), arguments[0]);
    pid_t process = fork();
    if (process == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(ends[1], STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        execv(path, arguments);
        _exit(127);
    }
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    if (process < 0 || output == NULL) {
        fail("a program cannot be started");
    }
    return (Child){process, output};
}

/* Seconds of a core that it took, once it has ended; fails unless it ended well. */
static f64 end(Child *child, const char *otherwise)
{
    struct rusage usage;
    int status = 0;
    fclose(child->output);
    if (wait4(child->process, &status, 0, &usage) != child->process || status != 0) {
        fail(otherwise);
    }
    return seconds_of(&usage);
}

/* What follows a name in the summary of the bots. */
static f64 number_after(const char *summary, const char *name)
{
    const char *at = strstr(summary, name);
    if (at == NULL) {
        fail("the summary of the bots has changed");
    }
    return strtod(at + strlen(name), NULL);
}

static BotsRun play(void)
{
    char address[32], seconds[16], bots[16], summary[4096] = "";
    u32 port = 0;
    char *serve[] = {"plenum-server",
                     "--listen",
                     "127.0.0.1:0",
                     "--log",
                     "quiet",
                     "--reserved",
                     "0", /* all places are for bots */
                     "shared/scenes/playground.json",
                     NULL};
    char *join[] = {"plenum-client", "--headless", "--bots", bots,
                    "--duration",    seconds,      address,  NULL};
    Child server = start(serve);
    if (fscanf(server.output, "key %*64s ready %u", &port) != 1) {
        fail("the server does not start");
    }
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    snprintf(seconds, sizeof seconds, "%d", SECONDS);
    snprintf(bots, sizeof bots, "%d", BOTS);
    u64 began_ns = clock_now_ns();
    Child clients = start(join);
    if (fgets(summary, sizeof summary, clients.output) == NULL) {
        fail("the clients have nothing to tell");
    }
    f64 of_clients = end(&clients, "not all clients could join and stay"),
        wall_s = (f64)(clock_now_ns() - began_ns) * 1e-9;
    kill(server.process, SIGINT);
    f64 of_server = end(&server, "the server did not end well");
    return (BotsRun){.server = 100.0 * of_server / wall_s,
                     .client = 100.0 * of_clients / wall_s / BOTS,
                     .rtt_ms = number_after(summary, "\"rtt_ms_p50\": "),
                     .kbit_s = number_after(summary, "\"bytes_in_per_s_p50\": ") * 8e-3,
                     .desyncs = (u64)number_after(summary, "\"desyncs\": ")};
}

void bench_bots64(Bench *bench)
{
    BotsRun runs[BENCH_RUNS];
    u32 count = u32_min(bench->runs, BENCH_RUNS);
    for (u32 i = 0; i < count; i++) {
        runs[i] = play();
        if (runs[i].desyncs > 0) {
            fail("a desync");
        }
    }
    BenchRow rows[] = {{"net/bots64", BOTS, 1, "% of a core", 0, "kbit/s a client"},
                       {"net/bots64_client", BOTS, 1, "% of a core a client", 0, ""},
                       {"net/bots64_rtt", BOTS, 1, "ms", 0, ""}};
    for (u32 k = 0; k < PL_COUNT(rows); k++) {
        bench_begin(bench);
        for (u32 i = 0; i < count; i++) {
            const f64 values[] = {runs[i].server, runs[i].client, runs[i].rtt_ms};
            bench_sample(bench, values[k]);
            rows[k].rate += k == 0 ? runs[i].kbit_s / count : 0.0;
        }
        bench_print(bench, &rows[k]);
    }
}
