/*
 * jobs.c: the worker pool.
 *
 * Work is a chain of loops, its phases, each divided into ranges. The ranges of a phase are divided
 * into consecutive portions, one per worker, and each worker starts with its own: so it processes
 * much the same data in every phase, already in its cache. A worker that is done with its portion
 * steals unstarted ranges from the others, so nobody waits for a worker that the system does not
 * schedule.
 *
 * A worker claims a range by decrementing the number of ranges left in its portion; the chain's
 * number is stored with it, so a late worker cannot claim ranges of another chain. Only the owner
 * of a range reads the chain's description, which is constant until all ranges are done. `done`
 * counts finished ranges of all chains: a phase begins when all earlier ones are done. Waiting is a
 * spin, then a futex: sleeping at once costs ~50 µs per loop, spinning forever starves machines
 * with fewer cores than threads.
 */
#include "shared/base/jobs.h"

#include "shared/base/check.h"
#include "shared/base/limits.h"
#include "shared/base/thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    /* Pauses before sleeping, some 50 µs: as long as waking takes. */
    SPIN_PAUSES = 2500,
    /* The same while the pool is held, some milliseconds: in case its owner is not scheduled. */
    HELD_PAUSES = 100000,
    /* Pauses before stealing from another worker, whose data is not in this cache. */
    STEAL_PAUSES = 100,
    PHASES_MAX = 256 /* of one chain; longer ones are split */
};

typedef struct Worker {
    Jobs *jobs;
    pthread_t thread;
    u32 index;
} Worker;

/* Ranges left of each phase (low half), with the number of the chain (high half). */
typedef struct Portion {
    _Alignas(64) _Atomic u64 left[PHASES_MAX];
} Portion;

struct Jobs {
    /* The chain: written by the owner between chains, read by owners of its ranges. */
    JobsLoop *loop; /* NULL: a chain of phases */
    JobsPhaseLoop *phase_loop;
    void *context;
    const JobsPhase *phases;
    u32 first_phase; /* of the caller's: phases[0] is this one */
    bool back;       /* portions begin with their last range */
    bool runs;
    u32 helpers; /* most that one loop could use since the pool was last held */

    /* For finding ranges and waiting: values read here may belong to the next chain; the chain's
     * number shows it where it matters. */
    _Atomic u32 phase_count;
    _Atomic u32 before;           /* `done` at the start of the chain */
    _Atomic u32 ends[PHASES_MAX]; /* cumulative number of ranges at the end of each phase */

    /* Each on its own cache line: all workers write them. */
    _Alignas(64) _Atomic u32 done;  /* ranges finished, of all chains */
    _Alignas(64) _Atomic u32 chain; /* number of the chain; workers sleep on it */
    _Atomic u32 held;               /* workers are to stay awake */
    _Atomic u32 sleepers;           /* workers asleep or about to sleep */
    _Atomic u32 waiters;            /* threads asleep on `done` or about to sleep */
    _Atomic u32 stop;

    int owner_cpu; /* that workers keep off; -1: none */
    u32 threads;
    u32 spin_pauses, steal_pauses;
    Worker workers[THREADS_MAX];   /* [threads]; 0 is the owner */
    Portion portions[THREADS_MAX]; /* [threads] */
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

/* Whether this many ranges have been finished. Counters wrap. */
static bool is_done(Jobs *jobs, u32 ranges)
{
    return (i32)(atomic_load_explicit(&jobs->done, memory_order_acquire) - ranges) >= 0;
}

/* Pauses of a waiting thread before it sleeps. */
static u32 spin_limit(Jobs *jobs)
{
    return atomic_load_explicit(&jobs->held, memory_order_relaxed) ? HELD_PAUSES
                                                                   : jobs->spin_pauses;
}

/* Spins until this many ranges are done; false: not within `pauses`. */
static bool spin_for_done(Jobs *jobs, u32 ranges, u32 pauses)
{
    for (u32 i = 0; i < pauses; i++) {
        if (is_done(jobs, ranges)) {
            return true;
        }
        cpu_pause();
    }
    return is_done(jobs, ranges);
}

/* Spins, then sleeps, until this many ranges are done; false: the chain has ended. */
static bool wait_for_done(Jobs *jobs, u32 chain, u32 ranges)
{
    if (spin_for_done(jobs, ranges, spin_limit(jobs))) {
        return true;
    }
    /* Threads that finish ranges or start a chain change `done` or `chain` and then read the
     * waiters; here the order is reversed, so at least one side sees the other. */
    atomic_fetch_add(&jobs->waiters, 1);
    for (;;) {
        u32 done = atomic_load(&jobs->done);
        if ((i32)(done - ranges) >= 0 || atomic_load(&jobs->chain) != chain) {
            break;
        }
        futex_wait(&jobs->done, done);
    }
    atomic_fetch_sub(&jobs->waiters, 1);
    return atomic_load(&jobs->chain) == chain;
}

/* First range of a worker's portion of a phase with `ranges` ranges. */
static u32 portion_begin(const Jobs *jobs, u32 ranges, u32 worker)
{
    return (u32)(((u64)ranges * worker + jobs->threads - 1) / jobs->threads);
}

/* Claims the next range of the portion; 0: none, otherwise the number that was left. */
static u32 claim(Jobs *jobs, u32 chain, u32 phase, u32 worker)
{
    _Atomic u64 *left = &jobs->portions[worker].left[phase];
    u64 word = atomic_load_explicit(left, memory_order_relaxed);
    while (word >> 32 == chain && (u32)word != 0) {
        if (atomic_compare_exchange_weak_explicit(left, &word, word - 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
            return (u32)word;
        }
    }
    return 0;
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
        jobs->phase_loop(jobs->context, jobs->first_phase + phase, first, end, worker);
    }
}

/* Runs the rest of a portion; returns the number of ranges. */
static u32 run_portion(Jobs *jobs, u32 chain, u32 phase, u32 portion, u32 worker)
{
    u32 ran = 0;
    for (u32 left = claim(jobs, chain, phase, portion); left != 0;
         left = claim(jobs, chain, phase, portion)) {
        u32 first = portion_begin(jobs, jobs->phases[phase].ranges, portion);
        u32 end = portion_begin(jobs, jobs->phases[phase].ranges, portion + 1);
        run_range(jobs, phase, jobs->back ? first + left - 1 : end - left, worker);
        /* Includes joined phases. */
        u32 count = atomic_load_explicit(&jobs->phase_count, memory_order_relaxed);
        for (u32 i = phase + 1; i < count && jobs->phases[i].ranges == 0; i++) {
            run_range(jobs, i, 0, worker);
        }
        ran++;
    }
    return ran;
}

/* After this the owner may return and publish another chain, so nothing of this one may be read
 * any more. */
static void finish_ranges(Jobs *jobs, u32 ran)
{
    if (ran == 0) {
        return;
    }
    atomic_fetch_add(&jobs->done, ran);
    if (atomic_load(&jobs->waiters) != 0) {
        futex_wake(&jobs->done, THREADS_MAX);
    }
}

/* Runs available ranges of the chain. The assignment to workers is arbitrary; ranges are fixed. */
static void work(Jobs *jobs, u32 chain, u32 worker)
{
    u32 before = atomic_load_explicit(&jobs->before, memory_order_relaxed);
    u32 count = atomic_load_explicit(&jobs->phase_count, memory_order_relaxed), begin = before;
    for (u32 phase = 0; phase < count; phase++) {
        u32 end = before + atomic_load_explicit(&jobs->ends[phase], memory_order_relaxed);
        if (end == begin || is_done(jobs, end)) {
            begin = end;
            continue;
        }
        if (!wait_for_done(jobs, chain, begin)) {
            return;
        }
        finish_ranges(jobs, run_portion(jobs, chain, phase, worker, worker));
        for (u32 k = 1; k < jobs->threads && !spin_for_done(jobs, end, jobs->steal_pauses); k++) {
            u32 other = worker + k < jobs->threads ? worker + k : worker + k - jobs->threads;
            finish_ranges(jobs, run_portion(jobs, chain, phase, other, worker));
        }
        begin = end;
    }
}

/* Spins, then sleeps, until there is a new chain or the pool stops. */
static u32 wait_for_chain(Jobs *jobs, u32 chain)
{
    for (u32 i = 0; i < spin_limit(jobs); i++) {
        u32 now = atomic_load_explicit(&jobs->chain, memory_order_acquire);
        if (now != chain) {
            return now;
        }
        cpu_pause();
    }
    /* The owner changes the chain and then reads the sleepers; here the order is reversed, so at
     * least one side sees the other. */
    atomic_fetch_add(&jobs->sleepers, 1);
    u32 now = atomic_load(&jobs->chain);
    if (now == chain) {
        futex_wait(&jobs->chain, chain); /* also ends when the pool is held: spin again */
    }
    atomic_fetch_sub(&jobs->sleepers, 1);
    return atomic_load(&jobs->chain);
}

static void *worker_main(void *argument)
{
    Worker *worker = argument;
    Jobs *jobs = worker->jobs;
    u32 chain = 0;
    thread_name("plenum-worker");
    while (atomic_load(&jobs->stop) == 0) {
        u32 now = wait_for_chain(jobs, chain);
        if (now != chain) {
            chain = now;
            work(jobs, chain, worker->index);
        }
    }
    return NULL;
}

/* Increments the chain's number and wakes sleeping workers. */
static void begin_chain(Jobs *jobs, u32 helpers)
{
    atomic_fetch_add(&jobs->chain, 1);
    u32 sleepers = atomic_load(&jobs->sleepers);
    if (sleepers != 0) {
        futex_wake(&jobs->chain, u32_min(sleepers, helpers));
    }
    if (atomic_load(&jobs->waiters) != 0) {
        futex_wake(&jobs->done, THREADS_MAX);
    }
}

/* Publishes phases with known ranges, and works until all are done. */
static void publish(Jobs *jobs, const JobsPhase *phases, u32 first_phase, u32 phase_count)
{
    u32 chain = atomic_load_explicit(&jobs->chain, memory_order_relaxed) + 1, ranges = 0, most = 0;
    u32 before = atomic_load_explicit(&jobs->done, memory_order_relaxed);
    jobs->phases = phases;
    jobs->first_phase = first_phase;
    atomic_store_explicit(&jobs->before, before, memory_order_relaxed);
    atomic_store_explicit(&jobs->phase_count, phase_count, memory_order_relaxed);
    for (u32 i = 0; i < phase_count; i++) {
        ranges += phases[i].ranges;
        most = u32_max(most, phases[i].ranges);
        atomic_store_explicit(&jobs->ends[i], ranges, memory_order_relaxed);
        for (u32 w = 0; w < jobs->threads && phases[i].ranges != 0; w++) {
            u32 left = portion_begin(jobs, phases[i].ranges, w + 1) -
                       portion_begin(jobs, phases[i].ranges, w);
            atomic_store_explicit(&jobs->portions[w].left[i], (u64)chain << 32 | left,
                                  memory_order_release);
        }
    }
    jobs->helpers = u32_max(jobs->helpers, most - 1);
    begin_chain(jobs, most - 1);
    work(jobs, chain, 0);
    wait_for_done(jobs, chain, before + ranges);
}

static void run(Jobs *jobs, JobsPhase phase, JobsLoop *loop, void *context, bool back)
{
    phase.grain = u32_max(phase.grain, 1);
    phase.ranges = phase.count / phase.grain + (phase.count % phase.grain != 0);
    if (jobs == NULL || jobs->threads == 1 || phase.ranges <= 1) {
        for (u32 k = 0; k < phase.ranges; k++) {
            u32 first = (back ? phase.ranges - 1 - k : k) * phase.grain;
            loop(context, first, first + u32_min(phase.count - first, phase.grain), 0);
        }
        return;
    }
    CHECK(!jobs->runs); /* not nested */
    jobs->runs = true;
    jobs->back = back;
    jobs->loop = loop;
    jobs->context = context;
    publish(jobs, &phase, 0, 1);
    jobs->runs = false;
}

void jobs_run(Jobs *jobs, u32 count, u32 grain, JobsLoop *loop, void *context)
{
    run(jobs, (JobsPhase){count, grain, 0}, loop, context, false);
}

void jobs_run_back(Jobs *jobs, u32 count, u32 grain, JobsLoop *loop, void *context)
{
    run(jobs, (JobsPhase){count, grain, 0}, loop, context, true);
}

void jobs_run_phases(Jobs *jobs, JobsPhase *phases, u32 phase_count, JobsPhaseLoop *loop,
                     void *context)
{
    u32 widest = 0, single = 0; /* single: the previous phase has one range */
    for (u32 i = 0; i < phase_count; i++) {
        JobsPhase *p = &phases[i];
        p->grain = u32_max(p->grain, 1);
        p->ranges = p->count / p->grain + (p->count % p->grain != 0);
        widest = u32_max(widest, p->ranges);
        if (p->ranges == 0) {
            continue; /* nothing to do, nothing to wait for */
        }
        /* Parts of a split chain start anew. */
        bool joins = p->ranges == 1 && single && i % PHASES_MAX != 0;
        single = p->ranges == 1;
        p->ranges = joins ? 0 : p->ranges;
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
    CHECK(!jobs->runs); /* not nested */
    jobs->runs = true;
    jobs->back = false;
    jobs->loop = NULL;
    jobs->phase_loop = loop;
    jobs->context = context;
    for (u32 i = 0; i < phase_count; i += PHASES_MAX) {
        publish(jobs, phases + i, i, u32_min(phase_count - i, PHASES_MAX));
    }
    jobs->runs = false;
}

static u32 cores_allowed(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        return (u32)CPU_COUNT(&allowed);
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more processors than the set has room for */
    return online > 0 ? (u32)online : 1;
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
    memset(jobs, 0, sizeof *jobs);
    jobs->threads = 1;
    jobs->owner_cpu = -1;
    /* With fewer cores than threads a spinning thread blocks the one that it waits for. Counted are
     * the cores that this process may use: a container or taskset gives fewer than there are. */
    bool capacity = cores_allowed() >= threads;
    jobs->spin_pauses = capacity ? SPIN_PAUSES : 0;
    jobs->steal_pauses = capacity ? STEAL_PAUSES : 0;
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
    begin_chain(jobs, jobs->threads);
    for (u32 i = 1; i < jobs->threads; i++) {
        pthread_join(jobs->workers[i].thread, NULL);
    }
    free(jobs);
}

/* After a sleep Linux may wake a worker on the very processor that wakes it, although another is
 * idle (seen on virtual machines that pack threads): the worker then spins where its owner should
 * run. */
static void keep_off_owner(Jobs *jobs)
{
    int cpu = sched_getcpu();
    cpu_set_t others;
    if (cpu < 0 || cpu == jobs->owner_cpu || sched_getaffinity(0, sizeof others, &others) != 0 ||
        CPU_COUNT(&others) < (int)jobs->threads) {
        return; /* also if the owner was bound to fewer processors than there are threads */
    }
    CPU_CLR(cpu, &others);
    for (u32 i = 1; i < jobs->threads; i++) {
        /* If this fails, workers keep their processors. */
        (void)pthread_setaffinity_np(jobs->workers[i].thread, sizeof others, &others);
    }
    jobs->owner_cpu = cpu;
}

void jobs_hold(Jobs *jobs)
{
    if (jobs == NULL || jobs->threads == 1 || jobs->spin_pauses == 0) {
        return;
    }
    keep_off_owner(jobs);
    atomic_store(&jobs->held, 1);
    u32 sleepers = u32_min(atomic_load(&jobs->sleepers), jobs->helpers);
    jobs->helpers = 0;
    if (sleepers != 0) {
        futex_wake(&jobs->chain, sleepers);
    }
}

void jobs_release(Jobs *jobs)
{
    if (jobs != NULL) {
        atomic_store_explicit(&jobs->held, 0, memory_order_relaxed);
    }
}

u32 jobs_grain(const Jobs *jobs, u32 count, u32 least)
{
    u32 threads = jobs_threads(jobs), ranges = 3 * threads;
    if (count / ranges < least) {
        /* An equal number per worker if there are enough: all would wait for one extra range. */
        ranges = (count + least / 2) / least;
        ranges = ranges > threads ? ranges - ranges % threads : u32_max(ranges, 1);
    }
    return u32_max(count / ranges + (count % ranges != 0), 1);
}

u32 jobs_threads(const Jobs *jobs)
{
    return jobs != NULL ? jobs->threads : 1;
}
