/*
 * jobs.c: the worker pool.
 *
 * A loop is published by storing the number of unclaimed ranges in `unclaimed`; whoever lowers that
 * number by one owns a range, and only then reads the loop's description, which stays put until all
 * ranges are done. So a worker that comes late to one loop can only help with the next.
 * Ranges are claimed in their order, also across the phases of a chain of loops; who has one of a
 * later phase waits until enough ranges are done. All earlier ones are claimed by then, so whoever
 * has the earliest never waits, and the chain goes on.
 * Waiting is a short spin, then a futex: sleeping at once costs ~50 µs a loop, spinning for ever
 * starves machines with fewer cores than threads.
 */
#include "shared/jobs.h"

#include "shared/check.h"
#include "shared/limits.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    /* Pauses before sleeping, about 20 µs: longer than the gaps between the loops of one tick. */
    SPIN_PAUSES = 1000,
};

typedef struct Worker {
    Jobs *jobs;
    pthread_t thread;
    u32 index;
} Worker;

struct Jobs {
    /* The loop: written by the owner while nothing is unclaimed. */
    JobsLoop *loop; /* NULL: a chain of phases */
    JobsPhaseLoop *phase_loop;
    void *context;
    const JobsPhase *phases;
    u32 phase_count, ranges;
    u32 serial; /* of the loop: a worker may go on from one to the next without knowing */

    /* Each on a cache line of its own: all workers write them. */
    _Alignas(64) _Atomic u32 unclaimed; /* ranges of the loop that nobody has taken yet */
    _Alignas(64) _Atomic u32 done;      /* ranges finished */
    _Alignas(64) _Atomic u32 epoch;     /* changes with each loop; workers sleep on it */
    _Atomic u32 sleepers;               /* workers that sleep or are about to */
    _Atomic u32 waiters;                /* threads that sleep on `done` or are about to */
    _Atomic u32 stop;

    u32 threads;
    u32 spin_pauses;
    Worker workers[THREADS_MAX]; /* [threads]; 0 is the owner */
};

static void futex_wait(_Atomic u32 *word, u32 expected)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(_Atomic u32 *word, u32 count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Takes one range: 0 if there is none, else 1 + how many are left after it. */
static u32 claim(Jobs *jobs)
{
    u32 unclaimed = atomic_load_explicit(&jobs->unclaimed, memory_order_relaxed);
    while (unclaimed != 0 &&
           !atomic_compare_exchange_weak_explicit(&jobs->unclaimed, &unclaimed, unclaimed - 1,
                                                  memory_order_acquire, memory_order_relaxed)) {
    }
    return unclaimed;
}

/* Spins, then sleeps, until so many ranges are done. */
static void wait_for_done(Jobs *jobs, u32 ranges)
{
    for (u32 i = 0; i <= jobs->spin_pauses; i++) {
        if (atomic_load_explicit(&jobs->done, memory_order_acquire) >= ranges) {
            return;
        }
        cpu_pause();
    }
    /* Who ends a range raises `done` and then looks at the waiters; here it is the other way round,
     * so one of the two sees the other. */
    atomic_fetch_add(&jobs->waiters, 1);
    for (u32 done = atomic_load(&jobs->done); done < ranges; done = atomic_load(&jobs->done)) {
        futex_wait(&jobs->done, done);
    }
    atomic_fetch_sub(&jobs->waiters, 1);
}

static void run_range(const Jobs *jobs, u32 phase, u32 range, u32 worker)
{
    const JobsPhase *p = &jobs->phases[phase];
    if (p->count == 0) {
        return;
    }
    u32 first = range * p->grain;
    u32 end = range + 1 >= p->ranges ? p->count : first + p->grain;
    if (jobs->loop) {
        jobs->loop(jobs->context, first, end, worker);
    } else {
        jobs->phase_loop(jobs->context, phase, first, end, worker);
    }
}

/* Takes ranges until none is left. Which worker gets which range is open; the ranges are not. */
static void work(Jobs *jobs, u32 worker)
{
    u32 phase = 0, serial = 0;
    for (u32 left = claim(jobs); left != 0; left = claim(jobs)) {
        u32 range = jobs->ranges - left;
        phase = serial == jobs->serial ? phase : 0;
        serial = jobs->serial;
        while (range >= jobs->phases[phase].first_range + jobs->phases[phase].ranges) {
            phase++;
        }
        const JobsPhase *p = &jobs->phases[phase];
        if (p->first_range > 0) {
            wait_for_done(jobs, p->first_range);
        }
        run_range(jobs, phase, range - p->first_range, worker);
        /* What is joined to it. */
        for (u32 i = phase + 1; i < jobs->phase_count && jobs->phases[i].ranges == 0; i++) {
            run_range(jobs, i, 0, worker);
        }
        /* After this the owner may return and publish another loop: read nothing of this one. */
        atomic_fetch_add(&jobs->done, 1);
        if (atomic_load(&jobs->waiters) != 0) {
            futex_wake(&jobs->done, THREADS_MAX);
        }
    }
}

/* Spins, then sleeps, until there is a new loop or the pool stops. */
static void wait_for_loop(Jobs *jobs, u32 epoch)
{
    for (u32 i = 0; i < jobs->spin_pauses; i++) {
        if (atomic_load_explicit(&jobs->epoch, memory_order_relaxed) != epoch) {
            return;
        }
        cpu_pause();
    }
    /* The owner changes the epoch and then looks at the sleepers; here it is the other way round,
     * so one of the two sees the other. */
    atomic_fetch_add(&jobs->sleepers, 1);
    while (atomic_load(&jobs->epoch) == epoch) {
        futex_wait(&jobs->epoch, epoch);
    }
    atomic_fetch_sub(&jobs->sleepers, 1);
}

static void *worker_main(void *argument)
{
    Worker *worker = argument;
    Jobs *jobs = worker->jobs;
    u32 epoch = 0;
    while (atomic_load(&jobs->stop) == 0) {
        work(jobs, worker->index);
        wait_for_loop(jobs, epoch);
        epoch = atomic_load(&jobs->epoch);
    }
    return NULL;
}

/* Hands out what jobs->phases describes, and helps until all is done. */
static void publish(Jobs *jobs, const JobsPhase *phases, u32 phase_count, u32 ranges)
{
    jobs->phases = phases;
    jobs->phase_count = phase_count;
    jobs->ranges = ranges;
    jobs->serial++;
    atomic_store_explicit(&jobs->done, 0, memory_order_relaxed);
    atomic_store_explicit(&jobs->unclaimed, ranges, memory_order_release);
    atomic_fetch_add(&jobs->epoch, 1);
    u32 sleepers = atomic_load(&jobs->sleepers);
    if (sleepers != 0) {
        futex_wake(&jobs->epoch, u32_min(sleepers, ranges - 1));
    }
    work(jobs, 0);
    wait_for_done(jobs, ranges);
}

void jobs_run(Jobs *jobs, u32 count, u32 grain, JobsLoop *loop, void *context)
{
    grain = u32_max(grain, 1);
    if (count == 0) {
        return;
    }
    u32 ranges = count / grain + (count % grain != 0);
    if (jobs == NULL || jobs->threads == 1 || ranges == 1) {
        for (u32 r = 0; r < ranges; r++) {
            loop(context, r * grain, r + 1 == ranges ? count : (r + 1) * grain, 0);
        }
        return;
    }
    CHECK(atomic_load_explicit(&jobs->unclaimed, memory_order_relaxed) == 0); /* not nested */
    JobsPhase phase = {count, grain, 0, ranges};
    jobs->loop = loop;
    jobs->context = context;
    publish(jobs, &phase, 1, ranges);
}

void jobs_run_phases(Jobs *jobs, JobsPhase *phases, u32 phase_count, JobsPhaseLoop *loop,
                     void *context)
{
    u32 ranges = 0, widest = 0, single = 0; /* single: the phase before has one range at most */
    for (u32 i = 0; i < phase_count; i++) {
        JobsPhase *p = &phases[i];
        p->grain = u32_max(p->grain, 1);
        p->first_range = ranges;
        p->ranges = p->count / p->grain + (p->count % p->grain != 0);
        widest = u32_max(widest, p->ranges);
        bool joins = p->ranges <= 1 && single;
        single = p->ranges <= 1;
        p->ranges = joins ? 0 : u32_max(p->ranges, 1);
        ranges += p->ranges;
    }
    if (jobs == NULL || jobs->threads == 1 || widest <= 1) {
        for (u32 i = 0; i < phase_count; i++) {
            for (u32 first = 0; first < phases[i].count; first += phases[i].grain) {
                u32 end = u32_min(phases[i].count - first, phases[i].grain) + first;
                loop(context, i, first, end, 0);
            }
        }
        return;
    }
    CHECK(atomic_load_explicit(&jobs->unclaimed, memory_order_relaxed) == 0); /* not nested */
    jobs->loop = NULL;
    jobs->phase_loop = loop;
    jobs->context = context;
    publish(jobs, phases, phase_count, ranges);
}

Jobs *jobs_create(u32 threads)
{
    if (threads < 1 || threads > THREADS_MAX) {
        return NULL;
    }
    Jobs *jobs = aligned_alloc(64, (sizeof *jobs + 63) / 64 * 64);
    if (jobs == NULL) {
        return NULL;
    }
    *jobs = (Jobs){.threads = 1};
    /* With fewer cores than threads a spinning thread keeps the one it waits for from running. */
    jobs->spin_pauses = sysconf(_SC_NPROCESSORS_ONLN) >= (long)threads ? SPIN_PAUSES : 0;
    for (u32 i = 1; i < threads; i++) {
        jobs->workers[i] = (Worker){.jobs = jobs, .index = i};
        if (pthread_create(&jobs->workers[i].thread, NULL, worker_main, &jobs->workers[i]) != 0) {
            jobs_destroy(jobs);
            return NULL;
        }
        jobs->threads = i + 1;
    }
    return jobs;
}

void jobs_destroy(Jobs *jobs)
{
    if (jobs == NULL) {
        return;
    }
    atomic_store(&jobs->stop, 1);
    atomic_fetch_add(&jobs->epoch, 1);
    futex_wake(&jobs->epoch, jobs->threads);
    for (u32 i = 1; i < jobs->threads; i++) {
        pthread_join(jobs->workers[i].thread, NULL);
    }
    free(jobs);
}

u32 jobs_grain(const Jobs *jobs, u32 count, u32 least)
{
    u32 ranges = 3 * jobs_threads(jobs);
    return u32_max(least, count / ranges + (count % ranges != 0));
}

u32 jobs_threads(const Jobs *jobs)
{
    return jobs != NULL ? jobs->threads : 1;
}
