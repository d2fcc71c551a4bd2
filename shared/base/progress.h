/*
 * progress.h: a progress bar on the terminal for long work. Nothing is shown if stderr is not a
 * terminal.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_PROGRESS_H
#define PLENUM_SHARED_BASE_PROGRESS_H

#include "shared/base/base.h"

PL_BEGIN_C

typedef struct Progress {
    u64 started_ns, shown_ns;
    bool wanted, shown;
} Progress;

/* Nothing is shown before the first call of progress_show. */
void progress_begin(Progress *progress);
/* done: fraction in [0, 1]. Shows at most five bars a second. */
void progress_show(Progress *progress, f64 done);
/* Removes the bar. */
void progress_end(Progress *progress);

PL_END_C

#endif
