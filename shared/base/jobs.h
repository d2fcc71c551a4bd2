/*
 * jobs.h: a thread pool that runs one parallel loop at a time. The partition into ranges never
 * depends on the number of threads, so results do not either.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_JOBS_H
#define PLENUM_SHARED_BASE_JOBS_H

#include "shared/base/base.h"

typedef struct Jobs Jobs;
/* Processes items [first, end); `worker` is 0..jobs_threads()-1 and may only select scratch
 * memory. */
typedef void JobsLoop(void *context, u32 first, u32 end, u32 worker);
/* The same for a chain of loops. */
typedef void JobsPhaseLoop(void *context, u32 phase, u32 first, u32 end, u32 worker);

/* One loop of a chain. */
typedef struct JobsPhase {
    u32 count, grain;
    u32 ranges; /* set by jobs_run_phases */
} JobsPhase;

PL_BEGIN_C
/* Creates a pool in which the calling thread is worker 0; threads = 1 starts none. NULL on
 * failure. */
Jobs *jobs_create(u32 threads);
/* Joins the threads; jobs_destroy(NULL) is fine. */
void jobs_destroy(Jobs *jobs);
/* Number of workers including the caller; 1 for NULL. */
u32 jobs_threads(const Jobs *jobs);
/* Calls `loop` for all ranges of `grain` items of [0, count) and returns when all are done. Only
 * the thread that owns the pool may call it, and not from inside a loop. The ranges are the same
 * for every number of threads; a single range, or jobs == NULL, runs inline. */
void jobs_run(Jobs *jobs, u32 count, u32 grain, JobsLoop *loop, void *context);
/* The same from the last range on, of each worker's share of them: after a loop over the same large
 * data, whose end is what the caches still have. */
void jobs_run_back(Jobs *jobs, u32 count, u32 grain, JobsLoop *loop, void *context);
/* Like jobs_run for each of the phases in order: no part of a phase starts before the previous
 * one is complete. Cheaper than separate calls: workers continue without the caller, and
 * consecutive short phases stay on one thread. */
void jobs_run_phases(Jobs *jobs, JobsPhase *phases, u32 phase_count, JobsPhaseLoop *loop,
                     void *context);
/* From here to jobs_release the workers stay awake between loops (for some milliseconds at most):
 * to be put around a tick, whose loops are some 100 µs apart. Waking a thread costs up to that much
 * on an idle machine, so two threads would be slower than one. As many as the loops since the last
 * jobs_hold could use are woken at once, and all keep off the caller's processor if there are
 * others for them. Only the thread that owns the pool may call it; NULL is fine. */
void jobs_hold(Jobs *jobs);
/* Lets the workers sleep again when they have nothing to do. NULL is fine. */
void jobs_release(Jobs *jobs);
/* A grain of about `least` or more that gives each worker an equal small number of ranges: for
 * short loops whose results do not depend on the partition. */
u32 jobs_grain(const Jobs *jobs, u32 count, u32 least);
PL_END_C

#endif
