/* truth_command.c: `plenum-bench truth`: the laws of tests/support/truth.h over many cases. */
#include "shared/base/clock.h"
#include "shared/base/options.h"
#include "tests/bench/bench.h"
#include "tests/support/truth.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct TruthRun {
    u32 cases;  /* 0: as many as each law says */
    u32 number; /* the only case, if `single` */
    bool single;
    bool each;     /* every broken case has a line */
    u32 processes; /* cases at a time */
    char **prefixes;
    u32 prefix_count;
} TruthRun;

static bool wanted(const TruthRun *run, const char *name)
{
    for (u32 i = 0; i < run->prefix_count; i++) {
        if (strncmp(name, run->prefixes[i], strlen(run->prefixes[i])) == 0) {
            return true;
        }
    }
    return run->prefix_count == 0;
}

/* ---- cases side by side, in processes: a case that crashes takes no other with it ---- */

/* A process's report of a case: less than PIPE_BUF, so that reports do not mix. */
typedef struct CaseReport {
    f64 value;
    u32 number;
    char about[sizeof((TruthWorst){0}).about];
} CaseReport;

PL_STATIC_ASSERT(sizeof(CaseReport) <= 512, "a report is written at once");

static void work(const TruthLaw *law, u32 first, u32 end, u32 step, int out)
{
    for (u32 i = first; i < end; i += step) {
        TruthWorst one = truth_sweep(law, i, 1);
        CaseReport report = {.value = one.value, .number = i};
        memcpy(report.about, one.about, sizeof(report.about));
        if (write(out, &report, sizeof(report)) != (ssize_t)sizeof(report)) {
            _exit(1);
        }
    }
    _exit(0);
}

/* Starts the processes; returns where they report, -1: not one could be started. */
static int start_workers(const TruthLaw *law, u32 first, u32 count, u32 workers)
{
    int ends[2];
    if (pipe(ends) != 0) {
        return -1;
    }
    u32 started = 0;
    for (u32 w = 0; w < workers; w++) {
        pid_t pid = fork();
        if (pid == 0) {
            close(ends[0]);
            work(law, first + w, first + count, workers, ends[1]);
        }
        started += pid > 0;
    }
    close(ends[1]);
    if (started > 0) {
        return ends[0];
    }
    close(ends[0]);
    return -1;
}

static void show_progress(const TruthLaw *law, u32 done, u32 count)
{
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%-28s %u of %u\033[K", law->name, done, count);
        fprintf(stderr, done == count ? "\r\033[K" : "");
    }
}

/* NaN is the worst of all, and of equals the first case. */
static bool is_worse(const CaseReport *a, const CaseReport *b)
{
    if (isnan(a->value) != isnan(b->value)) {
        return isnan(a->value);
    }
    bool equal = isnan(a->value) || a->value == b->value;
    return equal ? a->number < b->number : a->value > b->value;
}

/* One process per case; one that does not report has crashed. */
static bool collect(const TruthRun *run, const TruthLaw *law, CaseReport *reports, u32 count)
{
    u32 first = run->single ? run->number : 0;
    for (u32 i = 0; i < count; i++) {
        reports[i] = (CaseReport){.value = NAN, .number = first + i, .about = "crashed"};
    }
    int in = start_workers(law, first, count, u32_min(run->processes, count));
    if (in < 0) {
        fprintf(stderr, "plenum-bench truth: no process: %s\n", strerror(errno));
        return false;
    }
    CaseReport report;
    for (u32 done = 0; read(in, &report, sizeof(report)) == (ssize_t)sizeof(report);) {
        if (report.number - first < count) {
            reports[report.number - first] = report;
            show_progress(law, ++done, count);
        }
    }
    close(in);
    while (wait(NULL) > 0) {
    }
    return true;
}

static bool run_law(const TruthRun *run, const TruthLaw *law)
{
    u32 count = run->single ? 1 : run->cases > 0 ? run->cases : law->many;
    CaseReport *reports = calloc(count, sizeof(*reports));
    u64 began_ns = clock_now_ns();
    if (reports == NULL || !collect(run, law, reports, count)) {
        free(reports);
        return false;
    }
    u32 broken = 0, worst = 0;
    for (u32 i = 0; i < count; i++) {
        broken += !(reports[i].value <= law->bound);
        worst = is_worse(&reports[i], &reports[worst]) ? i : worst;
    }
    printf("%-6s %-28s %11.4g %11.4g %-6s %4u/%-4u %6.0f %5u  %s\n",
           broken == 0 ? "holds" : "BROKEN", law->name, reports[worst].value, law->bound, law->unit,
           broken, count, 1e-9 * (f64)(clock_now_ns() - began_ns), reports[worst].number,
           reports[worst].about);
    for (u32 i = 0; i < count && run->each; i++) {
        if (!(reports[i].value <= law->bound)) {
            printf("  case %5u %11.4g  %s\n", reports[i].number, reports[i].value,
                   reports[i].about);
        }
    }
    fflush(stdout);
    free(reports);
    return broken == 0;
}

static int run_laws(const TruthRun *run, bool list)
{
    u32 tried = 0, broken = 0;
    if (!list) {
        printf("%-6s %-28s %11s %11s %-6s %9s %6s %5s  %s\n", "", "law", "worst", "bound", "unit",
               "broken", "s", "case", "of");
        fflush(stdout); /* or each process prints it again */
    }
    for (const TruthLaw *const *table = truth_tables; *table != NULL; table++) {
        for (const TruthLaw *law = *table; law->name != NULL; law++) {
            if (!wanted(run, law->name)) {
                continue;
            }
            tried++;
            if (list) {
                printf("%-28s %s; at most %g %s\n", law->name, law->about, law->bound, law->unit);
            } else {
                broken += !run_law(run, law);
            }
        }
    }
    if (tried == 0) {
        fprintf(stderr, "plenum-bench truth: no law starts with that; --list shows all\n");
        return EXIT_USAGE;
    }
    return broken == 0 ? EXIT_OK : EXIT_CHECK_FAILED;
}

int bench_truth_command(int argc, char **argv)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    TruthRun run = {.processes = cores > 0 && cores < 256 ? (u32)cores : 1};
    bool list = false;
    u32 number = UINT32_MAX;
    const Option rows[] = {
        {"cases", 'n', OPTION_U32, &run.cases, 0, 1000000, "N",
         "of each law; 0, as many as it asks for"},
        {"case", 'c', OPTION_U32, &number, 0, 0, "N", "only this one"},
        {"each", 'e', OPTION_FLAG, &run.each, 0, 0, NULL, "a line for every broken case"},
        {"jobs", 'j', OPTION_U32, &run.processes, 1, 256, "N", "cases at a time, in processes"},
        {"list", 'l', OPTION_FLAG, &list, 0, 0, NULL, "list the laws"},
    };
    const OptionTable table = {
        .program = "plenum-bench truth",
        .synopsis = "[options] [PREFIX...]",
        .about = "Tries laws of physics (those whose names start with a PREFIX, all without one) "
                 "over seeded random\ncases and prints for each: does it hold, the worst case, "
                 "what is allowed, how many cases broke it,\nseconds for all, the number of the "
                 "worst one and its parameters. Exit 1 where a law is broken.",
        .rows = rows,
        .count = PL_COUNT(rows),
        .operands_max = 64,
    };
    ErrorText error = {0};
    int result = options_parse(&table, argc, argv, &run.prefixes, &run.prefix_count, &error);
    if (result != 0) {
        if (result < 0) {
            fprintf(stderr, "plenum-bench truth: %s\n", error.text);
        }
        return result < 0 ? EXIT_USAGE : EXIT_OK;
    }
    run.single = number != UINT32_MAX;
    run.number = number;
    return run_laws(&run, list);
}
