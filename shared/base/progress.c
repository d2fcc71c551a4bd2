/* progress.c: see progress.h. */
#include "shared/base/progress.h"

#include "shared/base/clock.h"

#include <stdio.h>
#include <unistd.h>

enum {
    INTERVAL_MS = 200,
    WIDTH = 40
};

void progress_begin(Progress *progress)
{
    *progress = (Progress){.started_ns = clock_now_ns(), .wanted = isatty(STDERR_FILENO) == 1};
    progress->shown_ns = progress->started_ns;
}

void progress_show(Progress *progress, f64 done)
{
    u64 now = clock_now_ns();
    if (!progress->wanted || now - progress->shown_ns < (u64)INTERVAL_MS * 1000000) {
        return;
    }
    progress->shown_ns = now;
    progress->shown = true;
    f64 spent_s = (f64)(now - progress->started_ns) * 1e-9;
    f64 left_s = done > 0.0 ? spent_s / done - spent_s : 0.0;
    char bar[WIDTH + 1];
    for (u32 i = 0; i < WIDTH; i++) {
        bar[i] = i < (u32)(done * WIDTH) ? '#' : '.';
    }
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %3.0f %%, %.0f s left \x1b[K", bar, 100.0 * done, left_s);
    fflush(stderr);
}

void progress_end(Progress *progress)
{
    if (progress->shown) {
        fprintf(stderr, "\r\x1b[K");
        progress->shown = false;
    }
}
