/* body_clock.c: see body_clock.h. */
#include "client/link/body_clock.h"

#include "client/link/playout.h"

#include <math.h>

#define LAG_FORGET_S  1.0 /* time constant in which an unneeded lag decays */
#define LAG_STARVED_S 0.1 /* most of the lag for a stream that is late as a whole */
#define CATCH_UP_S    0.3
#define NEW_S         0.1 /* first states within this time count as simultaneous */

/* A late chunk of a body is waited for, while others arrive, for this multiple of the gap
 * between its last two states, and at least GAP_S. */
#define LATE_GAPS 2.5
#define LATE_S    0.15
#define GAP_S     0.2 /* assumed gap after the first, single state */

static f64 f64_between(f64 x, f64 low, f64 high)
{
    return x < low ? low : x > high ? high : x;
}

/* Adapts the lag with which the body need not stop from time to time. */
static void lag_follow(BodyClock *clock, BodyKnown known, const BodyPace *pace)
{
    f64 of_body = fmin(pace->shown, pace->newest) - known.to;
    f64 of_stream = fmin(pace->shown - known.to, LAG_STARVED_S * pace->rate);
    f64 fade = exp(-pace->elapsed_s / LAG_FORGET_S);
    clock->lag = fmax(clock->lag * fade, fmax(of_body, fmax(of_stream, 0.0)));
}

void body_known_add(BodyKnown *known, const ChunkState *states, u32 count,
                    const CurveStream *stream)
{
    if (count == 0) {
        known->complete = false;
        return;
    }
    f64 rate = stream->tick_rate;
    known->is_new = known->is_new && count == 1;
    u64 tick = states[0].tick;
    f64 gap = count > 1 ? (f64)(tick - states[1].tick) : GAP_S * rate;
    gap = gap > stream->rest_gap ? 0.0 : gap;
    f64 allowance = fmin(fmax(LATE_GAPS * gap, LATE_S * rate), stream->rest_gap);
    bool silent = tick >= stream->silent_from && tick < stream->silent_sure;
    bool late = (f64)stream->newest - (f64)tick > allowance;
    known->from = fmax(known->from, (f64)states[count - 1].tick);
    known->to = fmin(known->to, silent || late ? INFINITY : (f64)tick);
}

bool body_clock_step(BodyClock *clock, BodyKnown known, const BodyPace *pace)
{
    if (!known.complete) {
        clock->showing = false;
        return false;
    }
    if (!clock->showing) {
        clock->tick = fmin(pace->shown, known.to);
        clock->lag = 0.0;
        /* Resting bodies need not wait until they are known to rest. */
        bool soon = known.is_new && known.from - clock->tick <= NEW_S * pace->rate;
        clock->showing = clock->tick >= known.from || soon;
        return false;
    }
    lag_follow(clock, known, pace);
    f64 wanted = fmin(pace->shown - clock->lag, known.to);
    f64 behind = wanted - clock->tick;
    if (clock->tick < known.from) {
        clock->tick = fmax(fmax(wanted, clock->tick), fmin(known.from, known.to));
        return true;
    }
    bool far = behind > PLAYOUT_JUMP_S * pace->rate;
    f64 catch_up = PLAYOUT_CATCH_UP * pace->rate * pace->elapsed_s;
    f64 correction =
        f64_between(behind * pace->elapsed_s / CATCH_UP_S, -catch_up, far ? INFINITY : catch_up);
    f64 next = fmin(clock->tick + fmax(pace->moved + correction, 0.0), known.to);
    clock->tick = fmax(clock->tick, fmin(next, pace->shown));
    return false;
}
