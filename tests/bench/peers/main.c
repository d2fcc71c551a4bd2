/*
 * main.c: plenum-bench-peers: Plenum and the engines that Debian has (Bullet, ODE) on the same
 * scenes in the same process, a block of steps of each in turn, so that noise of the machine meets
 * all alike. Each scene is one line of JSON per peer: ratios are of medians (and of 10th
 * percentiles, "low") over the steps, and the median of the runs; "best" is the least median of a
 * run, as in plenum-bench. Soft scenes are beside Bullet alone. usage: plenum-bench-peers [--runs
 * N] [--threads N] [--steps N] [--no-ode] [SCENE|soft/SCENE...]
 */
#include "shared/base/clock.h"
#include "shared/base/options.h"
#include "shared/base/stats.h"
#include "tests/bench/engine.h"
#include "tests/bench/peers/soft_bullet.h"
#include "tests/bench/rigid_quality.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 20, /* steps of one engine before the next */
    RUNS_MAX = 99,
    STEPS_MAX = 6000,
    ENGINES = 3,
    SOFT_TICKS = 300, /* at most, of a run */
};

static const Engine *const engines[ENGINES] = {&engine_plenum, &engine_bullet, &engine_ode};

typedef struct Peers {
    u32 runs, threads, steps;
    bool no_ode, quality;
    f64 medians[ENGINES][RUNS_MAX]; /* ms a step */
    f64 lows[ENGINES][RUNS_MAX];    /* the 10th percentile, which other load disturbs least */
    f64 samples[ENGINES][STEPS_MAX];
} Peers;

static bool takes_part(const Peers *peers, u32 e)
{
    return !(peers->no_ode && engines[e] == &engine_ode);
}

static void run_once(Peers *peers, const Setup *setup, u32 run)
{
    void *worlds[ENGINES] = {NULL};
    for (u32 e = 0; e < ENGINES; e++) {
        worlds[e] =
            takes_part(peers, e)
                ? engines[e]->create(setup, u32_min(peers->threads, engines[e]->threads_max))
                : NULL;
    }
    for (u32 first = 0; first < peers->steps; first += BLOCK) {
        for (u32 e = 0; e < ENGINES; e++) {
            for (u32 i = first; worlds[e] && i < u32_min(first + BLOCK, peers->steps); i++) {
                u64 began_ns = clock_now_ns();
                engines[e]->step(worlds[e]);
                peers->samples[e][i] = (f64)(clock_now_ns() - began_ns) * 1e-6;
            }
        }
    }
    for (u32 e = 0; e < ENGINES; e++) {
        if (worlds[e]) {
            peers->medians[e][run] = stats_quantile(peers->samples[e], peers->steps, 0.5);
            peers->lows[e][run] = stats_quantile(peers->samples[e], peers->steps, 0.1);
            engines[e]->destroy(worlds[e]);
            fprintf(stderr, "%s run %u: %s %.3f ms\n", setup->name, run + 1, engines[e]->name,
                    peers->medians[e][run]);
        }
    }
}

static f64 middle(const f64 values[RUNS_MAX], u32 runs)
{
    f64 sorted[RUNS_MAX];
    memcpy(sorted, values, sizeof sorted);
    return stats_quantile(sorted, runs, 0.5);
}

/* Of the best run: what a quiet machine takes. */
static f64 least(const f64 values[RUNS_MAX], u32 runs)
{
    f64 value = values[0];
    for (u32 run = 1; run < runs; run++) {
        value = values[run] < value ? values[run] : value;
    }
    return value;
}

/* Median over the runs of ours against theirs. */
static f64 ratio(const f64 ours[RUNS_MAX], const f64 theirs[RUNS_MAX], u32 runs)
{
    f64 ratios[RUNS_MAX] = {0};
    for (u32 run = 0; run < runs; run++) {
        ratios[run] = ours[run] / theirs[run];
    }
    return middle(ratios, runs);
}

static void measure(Peers *peers, const char *name)
{
    Setup *setup = setup_create(name);
    for (u32 run = 0; run < peers->runs; run++) {
        run_once(peers, setup, run);
    }
    for (u32 e = 1; e < ENGINES; e++) {
        if (!takes_part(peers, e)) {
            continue;
        }
        printf("{\"name\":\"peer/%s/%s\",\"n\":%u,\"threads\":%u,\"median\":%.4g,"
               "\"unit\":\"ms\",\"plenum\":%.4g,\"ratio\":%.3f,\"low\":%.4g,"
               "\"plenum_low\":%.4g,\"ratio_low\":%.3f,\"best\":%.4g,\"plenum_best\":%.4g,"
               "\"ratio_best\":%.3f}\n",
               engines[e]->name, name, setup->dynamic_count, peers->threads,
               middle(peers->medians[e], peers->runs), middle(peers->medians[0], peers->runs),
               ratio(peers->medians[0], peers->medians[e], peers->runs),
               middle(peers->lows[e], peers->runs), middle(peers->lows[0], peers->runs),
               ratio(peers->lows[0], peers->lows[e], peers->runs),
               least(peers->medians[e], peers->runs), least(peers->medians[0], peers->runs),
               least(peers->medians[0], peers->runs) / least(peers->medians[e], peers->runs));
        fflush(stdout);
    }
    setup_destroy(setup);
}

/* Ticks of a soft scene, ours and Bullet's in turn. */
static void measure_soft(Peers *peers, const char *name)
{
    SoftSetup *setup = soft_setup_create(name);
    u32 links = 0, ticks = u32_min(peers->steps, SOFT_TICKS);
    for (u32 run = 0; run < peers->runs; run++) {
        Soft *soft = soft_setup_store(setup);
        Jobs *jobs = jobs_create(peers->threads);
        void *bullet = soft_bullet_create(setup, soft);
        links = soft_bullet_links(bullet);
        for (u32 i = 0; i < ticks; i++) {
            u64 began_ns = clock_now_ns();
            soft_setup_tick(soft, jobs);
            u64 half_ns = clock_now_ns();
            soft_bullet_tick(bullet);
            peers->samples[0][i] = (f64)(half_ns - began_ns) * 1e-6;
            peers->samples[1][i] = (f64)(clock_now_ns() - half_ns) * 1e-6;
        }
        for (u32 e = 0; e < 2; e++) {
            peers->medians[e][run] = stats_quantile(peers->samples[e], ticks, 0.5);
            peers->lows[e][run] = stats_quantile(peers->samples[e], ticks, 0.1);
        }
        soft_bullet_destroy(bullet);
        jobs_destroy(jobs);
        soft_destroy(soft);
    }
    printf("{\"name\":\"peer/bullet/soft/%s\",\"n\":%u,\"threads\":%u,\"median\":%.4g,"
           "\"unit\":\"ms\",\"plenum\":%.4g,\"ratio\":%.3f,\"low\":%.4g,"
           "\"plenum_low\":%.4g,\"ratio_low\":%.3f,\"best\":%.4g,\"plenum_best\":%.4g,"
           "\"ratio_best\":%.3f}\n",
           name, links, peers->threads, middle(peers->medians[1], peers->runs),
           middle(peers->medians[0], peers->runs),
           ratio(peers->medians[0], peers->medians[1], peers->runs),
           middle(peers->lows[1], peers->runs), middle(peers->lows[0], peers->runs),
           ratio(peers->lows[0], peers->lows[1], peers->runs),
           least(peers->medians[1], peers->runs), least(peers->medians[0], peers->runs),
           least(peers->medians[0], peers->runs) / least(peers->medians[1], peers->runs));
    fflush(stdout);
    soft_setup_destroy(setup);
}

static void measure_scenes(Peers *peers, char **names, u32 count)
{
    static const char *const all[] = {"wall20",   "wall100",    "pyr15", "pyr22",    "drop1000",
                                      "drop5000", "ragdoll200", "net50", "chain1000"};
    static const char *const soft[] = {"cloth50", "cloth100", "rope"};
    for (u32 i = 0; i < (count ? count : PL_COUNT(all)); i++) {
        const char *name = count ? names[i] : all[i];
        if (strncmp(name, "soft/", 5) == 0) {
            measure_soft(peers, name + 5);
        } else {
            measure(peers, name);
        }
    }
    for (u32 i = 0; i < PL_COUNT(soft) && count == 0; i++) {
        measure_soft(peers, soft[i]);
    }
}

int main(int argc, char **argv)
{
    Peers *peers = calloc(1, sizeof(*peers));
    if (!peers) {
        return EXIT_CHECK_FAILED;
    }
    peers->runs = 3;
    peers->threads = 1;
    peers->steps = 600;
    const Option rows[] = {
        {"runs", 'r', OPTION_U32, &peers->runs, 1, RUNS_MAX, "N", "runs of each scene"},
        {"threads", 't', OPTION_U32, &peers->threads, 1, 16, "N", "of Plenum; the peers have one"},
        {"steps", 's', OPTION_U32, &peers->steps, BLOCK, STEPS_MAX, "N", "of a run"},
        {"no-ode", 0, OPTION_FLAG, &peers->no_ode, 0, 0, NULL, "leave out the slowest"},
        {"quality", 'q', OPTION_FLAG, &peers->quality, 0, 0, NULL,
         "what stacks, walls and joints hold, instead of times"},
    };
    const OptionTable table = {
        .program = "plenum-bench-peers",
        .synopsis = "[options] [SCENE...]",
        .about = "Measures Plenum beside Bullet (10 iterations a step of 60 Hz) and ODE (quick "
                 "step, 20 iterations)\non the rigid scenes of plenum-bench, and Bullet's soft "
                 "bodies on soft/ ones, in turn in one run.",
        .rows = rows,
        .count = PL_COUNT(rows),
        .operands_max = 64,
    };
    ErrorText error = {0};
    char **names = NULL;
    u32 count = 0;
    int result = options_parse(&table, argc, argv, &names, &count, &error);
    if (result < 0) {
        fprintf(stderr, "plenum-bench-peers: %s\n", error.text);
    } else if (result == 0 && peers->quality) {
        for (u32 e = 0; e < ENGINES; e++) {
            quality_print(engines[e]);
        }
    } else if (result == 0) {
        measure_scenes(peers, names, count);
    }
    free(peers);
    return result < 0 ? EXIT_USAGE : EXIT_OK;
}
