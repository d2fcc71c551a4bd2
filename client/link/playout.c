/* playout.c: clock fit, playout delay, and the pace of the shown tick. */
#include "client/link/playout.h"

#include "shared/base/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_S       6.0  /* of arrivals used for clock and delay */
#define STARVED_SHARE  0.02 /* fraction of time for which the delay may be too short */
#define LATE_QUANTILE  0.96 /* quantile of lateness reported as jitter */
#define LATE_ALLOWED   2.0  /* late packets ignored: outages are not bridged by delay */
#define DELAY_HALVINGS 10
#define MARGIN         0.05 /* of an interval: packets of one tick arrive one after another */
#define DELAY_MAX_S    1.0
#define GAPS_MIN       8 /* with fewer, the previous delay is kept */
#define FIT_EVERY_S    0.05
#define GAIN           2.0 /* 1/s: an error of 1 ms changes the pace by 0.2 % */
#define CATCH_UP_GAIN  4.0
#define DEAD_S         0.002 /* dead band of errors */
#define SETTLE_S       0.1
#define SETTLED_S      0.01
#define COAST_S        0.1 /* extrapolation at full pace */
#define STOOD_S                                                                                    \
    0.2 /* a frame later than this: the viewer was stalled, a step is
                               invisible */
#define DRIFT_MAX       0.001
#define DRIFT_SPAN_S    2.0  /* shorter windows do not determine drift */
#define RATE_TOLERANCE  0.04 /* measured rates closer to the announced speed are noise */
#define RATE_SPAN_MIN_S 0.8

void playout_init(Playout *playout, u32 tick_rate, u32 snapshot_rate)
{
    memset(playout, 0, sizeof *playout);
    playout->tick_rate = tick_rate > 0 ? (f64)tick_rate : 60.0;
    playout->interval_s = 1.0 / (snapshot_rate > 0 ? (f64)snapshot_rate : 30.0);
    playout->delay_wanted_s = 1.5 * playout->interval_s;
    playout->speed_moving = 1.0;
}

/* ---- clock ---- */

static const PlayoutArrival *arrival_at(const Playout *playout, u32 i)
{
    return &playout->arrivals[(playout->first + i) % PLAYOUT_ARRIVALS_MAX];
}

static void arrival_push(Playout *playout, f64 time_s, f64 tick)
{
    while (playout->count > 0 && (playout->count == PLAYOUT_ARRIVALS_MAX ||
                                  arrival_at(playout, 0)->time_s < time_s - WINDOW_S)) {
        playout->first = (playout->first + 1) % PLAYOUT_ARRIVALS_MAX;
        playout->count--;
    }
    /* Of packets received together, only the newest was ever the newest known. */
    if (playout->count > 0 && arrival_at(playout, playout->count - 1)->time_s == time_s) {
        playout->count--;
    }
    u32 at = (playout->first + playout->count) % PLAYOUT_ARRIVALS_MAX;
    playout->arrivals[at] = (PlayoutArrival){time_s, tick};
    playout->count++;
}

/* Slope of the least-squares line through arrivals [first, first + n). */
static f64 slope_of(const Playout *playout, u32 first, u32 n)
{
    f64 mean_time = 0, mean_tick = 0;
    for (u32 i = first; i < first + n; i++) {
        mean_time += arrival_at(playout, i)->time_s / n;
        mean_tick += arrival_at(playout, i)->tick / n;
    }
    f64 tt = 0, tk = 0;
    for (u32 i = first; i < first + n; i++) {
        f64 dt = arrival_at(playout, i)->time_s - mean_time;
        tt += dt * dt;
        tk += dt * (arrival_at(playout, i)->tick - mean_tick);
    }
    return tt > 0 ? tk / tt : 0.0;
}

/* The slope of a server that does not run at the announced speed, or 0. A step (a stalled
 * server, a changed network) affects at most one half of the window. */
static f64 rate_other(const Playout *playout, f64 nominal)
{
    u32 half = playout->count / 2;
    f64 a = slope_of(playout, 0, half) / nominal - 1.0;
    f64 b = slope_of(playout, half, playout->count - half) / nominal - 1.0;
    bool differs = fabs(a) > RATE_TOLERANCE && fabs(b) > RATE_TOLERANCE && a * b > 0;
    f64 other = fabs(a) < fabs(b) ? a : b;
    return differs && other > -0.99 ? nominal * (1.0 + other) : 0.0;
}

/* Slope of the upper hull's edge (Andrew 1979) above the mean time: of all lines with no arrival
 * above them the one nearest to all. */
static f64 rate_hull(const Playout *playout)
{
    u16 hull[PLAYOUT_ARRIVALS_MAX];
    u32 n = 0;
    f64 mean_s = 0;
    for (u32 i = 0; i < playout->count; i++) {
        const PlayoutArrival *c = arrival_at(playout, i);
        mean_s += c->time_s / playout->count;
        while (n >= 2) {
            const PlayoutArrival *a = arrival_at(playout, hull[n - 2]);
            const PlayoutArrival *b = arrival_at(playout, hull[n - 1]);
            f64 turn = (b->time_s - a->time_s) * (c->tick - a->tick) -
                       (b->tick - a->tick) * (c->time_s - a->time_s);
            if (turn < 0) {
                break;
            }
            n--;
        }
        hull[n++] = (u16)i;
    }
    for (u32 i = 1; i < n; i++) {
        const PlayoutArrival *a = arrival_at(playout, hull[i - 1]);
        const PlayoutArrival *b = arrival_at(playout, hull[i]);
        if (b->time_s >= mean_s && b->time_s > a->time_s) {
            return (b->tick - a->tick) / (b->time_s - a->time_s);
        }
    }
    return 0.0;
}

static f64 rate_measure(const Playout *playout)
{
    f64 nominal = playout->tick_rate * playout->speed;
    u32 n = playout->count;
    if (n < 8 || nominal <= 0) {
        return nominal;
    }
    f64 span_s = arrival_at(playout, n - 1)->time_s - arrival_at(playout, 0)->time_s;
    f64 other = span_s >= RATE_SPAN_MIN_S ? rate_other(playout, nominal) : 0.0;
    if (other > 0) {
        return other;
    }
    f64 drift = span_s >= DRIFT_SPAN_S ? rate_hull(playout) / nominal - 1.0 : 0.0;
    return nominal * (1.0 + fmin(fmax(drift, -DRIFT_MAX), DRIFT_MAX));
}

static f64 quantile(f64 *values, u32 count, f64 q)
{
    qsort(values, count, sizeof *values, f64_compare);
    u32 i = (u32)(q * (f64)count);
    return values[i < count ? i : count - 1];
}

/* Seconds for which a delay leaves no state to interpolate towards. One late packet counts for
 * at most `most`: outages are not to be bridged. */
static f64 starved_s(const f64 *ages_s, u32 count, f64 delay_s, f64 each_most_s)
{
    f64 sum_s = 0.0;
    for (u32 i = 0; i < count; i++) {
        sum_s += fmin(fmax(ages_s[i] - delay_s, 0.0), each_most_s);
    }
    return sum_s;
}

/* The minimal delay, to a thousandth, with at most most_s of starvation. */
static f64 delay_enough(const f64 *ages_s, u32 count, f64 most_s, f64 each_most_s)
{
    f64 low_s = 0.0, high_s = DELAY_MAX_S;
    for (u32 i = 0; i < DELAY_HALVINGS; i++) {
        f64 middle_s = 0.5 * (low_s + high_s);
        if (starved_s(ages_s, count, middle_s, each_most_s) > most_s) {
            low_s = middle_s;
        } else {
            high_s = middle_s;
        }
    }
    return high_s;
}

static void clock_fit(Playout *playout)
{
    playout->rate = rate_measure(playout);
    f64 rate = playout->rate;
    playout->line = -HUGE_VAL;
    for (u32 i = 0; i < playout->count; i++) {
        const PlayoutArrival *arrival = arrival_at(playout, i);
        playout->line = fmax(playout->line, arrival->tick - rate * arrival->time_s);
    }
    if (playout->speed <= 0 || playout->count <= GAPS_MIN) {
        return;
    }
    f64 values[PLAYOUT_ARRIVALS_MAX] = {0};
    for (u32 i = 0; i < playout->count; i++) {
        const PlayoutArrival *arrival = arrival_at(playout, i);
        values[i] = arrival->time_s - (arrival->tick - playout->line) / rate;
    }
    playout->jitter_s = quantile(values, playout->count, LATE_QUANTILE);
    for (u32 i = 0; i + 1 < playout->count; i++) {
        f64 due_s = (arrival_at(playout, i)->tick - playout->line) / rate;
        values[i] = arrival_at(playout, i + 1)->time_s - due_s;
    }
    u32 gaps = playout->count - 1;
    f64 span_s = arrival_at(playout, gaps)->time_s - arrival_at(playout, 0)->time_s;
    f64 delay_s =
        delay_enough(values, gaps, STARVED_SHARE * span_s, STARVED_SHARE * span_s / LATE_ALLOWED);
    playout->delay_wanted_s = fmin(delay_s + MARGIN * playout->interval_s, DELAY_MAX_S);
}

void playout_arrival(Playout *playout, u64 tick, f64 speed, u64 now_ns)
{
    if (!playout->begun) {
        playout->begun = true;
        playout->base_ns = now_ns;
        playout->first = playout->count = 0;
        playout->speed = playout->speed_moving = speed;
        playout->settling = false;
    } else if (tick < playout->newest || (tick == playout->newest && speed == playout->speed)) {
        return; /* late: it fills a gap but carries no new clock information */
    }
    f64 time_s = (f64)(now_ns - playout->base_ns) * 1e-9;
    /* A forward seek of a recording, or a changed speed: the old arrivals lie on another line. */
    f64 ahead = (f64)tick - (playout->line + playout->rate * time_s);
    bool sought = playout->count > 0 && ahead > 1.5 * playout->tick_rate * fmax(1.0, speed) &&
                  tick > playout->newest + (u64)playout->tick_rate;
    if (sought || speed != playout->speed) {
        playout->count = 0;
        playout->settling = true;
    }
    playout->speed = speed;
    if (speed > 0) {
        playout->speed_moving = speed;
    }
    playout->newest = tick;
    arrival_push(playout, time_s, (f64)tick);
    if (playout->count < 64 || time_s - playout->fitted_s >= FIT_EVERY_S ||
        time_s < playout->fitted_s) {
        playout->fitted_s = time_s;
        clock_fit(playout);
    }
}

/* ---- motion of the shown tick ---- */

/* Paused: continue to the newest tick at the previous pace, and stop there. What was extrapolated
 * beyond it never happened, and all clients should show the same state. */
static void advance_paused(Playout *playout, PlayoutStep *step)
{
    f64 target = (f64)playout->newest;
    f64 missing = target - playout->shown;
    playout->holding = false;
    playout->pace = playout->tick_rate * fmin(fmax(playout->speed_moving, 0.25), 4.0);
    if (missing > playout->tick_rate) {
        playout->shown = target;
    } else if (missing > 0) {
        playout->shown = fmin(target, playout->shown + playout->pace * step->elapsed_s);
    } else if (missing < 0) {
        step->jumped = true;
        step->from = playout->shown;
        step->to = playout->shown = target;
    }
}

/* The target pace for a shown tick that lags its target by error_s. */
static f64 pace_wanted(const Playout *playout, f64 error_s)
{
    f64 limit = playout->settling ? PLAYOUT_CATCH_UP : PLAYOUT_WARP_MAX;
    f64 answered = fmax(fabs(error_s) - DEAD_S, 0.0) * (error_s < 0 ? -1.0 : 1.0);
    f64 gain = playout->settling ? CATCH_UP_GAIN : GAIN;
    return playout->rate * (1.0 + fmin(fmax(gain * answered, -limit), limit));
}

static void advance_running(Playout *playout, f64 now_s, PlayoutStep *step)
{
    f64 rate = playout->rate, dt = step->elapsed_s;
    /* Nothing is shown from beyond the extrapolation limit. */
    f64 end = (f64)playout->newest + rate * PLAYOUT_EXTRAPOLATION_S;
    f64 target = fmin(end, playout->line + rate * (now_s - playout->delay_wanted_s));
    f64 error_s = (target - playout->shown) / rate - dt;
    if (dt > STOOD_S && error_s <= PLAYOUT_JUMP_S) {
        /* Over such a long time a small error of pace becomes a large error of position. */
        playout->shown = fmax(playout->shown, target);
        playout->pace = rate;
        playout->settling = playout->holding = false;
        playout->starved += playout->shown > (f64)playout->newest;
        return;
    }
    if (error_s > PLAYOUT_JUMP_S) {
        step->jumped = true;
        step->from = playout->shown;
        step->pace_from = playout->pace;
        step->to = playout->shown = target;
        playout->pace = rate;
        playout->settling = playout->holding = false;
        return;
    }
    if (fabs(error_s) > SETTLE_S || playout->pace < 0.9 * rate) {
        playout->settling = true;
    } else if (fabs(error_s) < SETTLED_S) {
        playout->settling = false;
    }
    f64 slew = fmax(rate, playout->pace) * dt *
               (playout->settling ? PLAYOUT_CATCH_UP_SLEW : PLAYOUT_SLEW_MAX);
    f64 change = pace_wanted(playout, error_s) - playout->pace;
    playout->pace += fmin(fmax(change, -slew), slew);
    /* Beyond the newest tick: continue for a while, then slow down. */
    f64 ahead_s = (playout->shown - (f64)playout->newest) / rate;
    f64 left = (PLAYOUT_EXTRAPOLATION_S - ahead_s) / (PLAYOUT_EXTRAPOLATION_S - COAST_S);
    playout->pace = fmin(playout->pace, 1.5 * rate * fmax(left, 0.0));
    playout->holding = left < 0.1;
    playout->shown = fmax(playout->shown, fmin(playout->shown + playout->pace * dt, end));
    playout->starved += playout->shown > (f64)playout->newest;
}

PlayoutStep playout_advance(Playout *playout, u64 now_ns)
{
    PlayoutStep step = {0};
    if (!playout->begun || now_ns < playout->base_ns) {
        return step;
    }
    f64 now_s = (f64)(now_ns - playout->base_ns) * 1e-9;
    if (!playout->showing) {
        playout->showing = true;
        playout->pace = playout->rate;
        playout->shown =
            playout->speed > 0
                ? fmax(0.0, playout->line + playout->rate * (now_s - playout->delay_wanted_s))
                : (f64)playout->newest;
        playout->now_s = now_s;
    }
    step.elapsed_s = fmax(0.0, now_s - playout->now_s);
    playout->now_s = now_s;
    playout->advances++;
    if (playout->speed > 0) {
        advance_running(playout, now_s, &step);
    } else {
        advance_paused(playout, &step);
    }
    return step;
}

f64 playout_delay_s(const Playout *playout)
{
    if (!playout->showing || playout->speed <= 0 || playout->rate <= 0) {
        return playout->delay_wanted_s;
    }
    f64 line = playout->line + playout->rate * playout->now_s;
    return (line - playout->shown) / playout->rate;
}
