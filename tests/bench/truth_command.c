/* truth_command.c: `plenum-bench truth`: the laws of tests/support/truth.h over many cases. */
#include "shared/options.h"
#include "tests/bench/bench.h"
#include "tests/support/truth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct TruthRun {
    u32 cases;  /* 0: as many as each law says */
    u32 number; /* the only case, if `single` */
    bool single;
    bool each; /* every broken case has a line */
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

static void print_broken(const TruthLaw *law, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        TruthWorst one = truth_sweep(law, i, 1);
        if (one.broken != 0) {
            printf("  case %5u %11.4g  %s\n", i, one.value, one.about);
        }
    }
}

static bool run_law(const TruthRun *run, const TruthLaw *law)
{
    u32 count = run->single ? 1 : run->cases > 0 ? run->cases : law->many;
    TruthWorst worst = truth_sweep(law, run->single ? run->number : 0, count);
    printf("%-6s %-28s %11.4g %11.4g %-6s %4u/%-4u %5u  %s\n",
           worst.broken == 0 ? "holds" : "BROKEN", law->name, worst.value, law->bound, law->unit,
           worst.broken, worst.cases, worst.number, worst.about);
    if (run->each && worst.broken != 0) {
        print_broken(law, count);
    }
    fflush(stdout);
    return worst.broken == 0;
}

static int run_laws(const TruthRun *run, bool list)
{
    u32 tried = 0, broken = 0;
    if (!list) {
        printf("%-6s %-28s %11s %11s %-6s %9s %5s  %s\n", "", "law", "worst", "bound", "unit",
               "broken", "case", "of");
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
    TruthRun run = {0};
    bool list = false;
    u32 number = UINT32_MAX;
    const Option rows[] = {
        {"cases", 'n', OPTION_U32, &run.cases, 0, 1000000, "N",
         "of each law; 0, as many as it asks for"},
        {"case", 'c', OPTION_U32, &number, 0, 0, "N", "only this one"},
        {"each", 'e', OPTION_FLAG, &run.each, 0, 0, NULL, "a line for every broken case"},
        {"list", 'l', OPTION_FLAG, &list, 0, 0, NULL, "list the laws"},
    };
    const OptionTable table = {
        .program = "plenum-bench truth",
        .synopsis = "[options] [PREFIX...]",
        .about = "Tries laws of physics (those whose names start with a PREFIX, all without one) "
                 "over seeded random\ncases and prints for each: does it hold, the worst case, "
                 "what is allowed, how many cases broke it,\nthe number of the worst one and its "
                 "parameters. Exit 1 where a law is broken.",
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
