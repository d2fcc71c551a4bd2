/*
 * stats.h: small running statistics: a histogram with quantiles, a moving average and a rate over a
 * window. No allocation; zero is a valid start for all of them but MovingAverage's weight.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_STATS_H
#define PLENUM_SHARED_BASE_STATS_H

#include "shared/base/base.h"

enum {
    /* 2^4 steps an octave: a quantile is within 1/32 of the true value. */
    HISTOGRAM_STEP_BITS = 4,
    HISTOGRAM_BUCKETS = (64 - HISTOGRAM_STEP_BITS + 1) << HISTOGRAM_STEP_BITS,
    RATE_SLOTS = 16,
};

/* Counts of whole numbers (ns, bytes, ...) in buckets of constant relative width. */
typedef struct Histogram {
    u64 count, min, max;
    f64 sum;
    u32 buckets[HISTOGRAM_BUCKETS];
} Histogram;

/* Exponential moving average: the newest value has `weight` (0..1]. */
typedef struct MovingAverage {
    f64 weight, value;
    bool started;
} MovingAverage;

/* Amount per second over the last window of RATE_SLOTS slots. */
typedef struct Rate {
    u64 slot_ns; /* length of a slot; 0 means 62.5 ms, so that the window is 1 s */
    u64 newest;  /* number of the newest slot since the clock's start */
    u64 first;   /* number of the slot of the first amount, + 1; 0 none yet */
    f64 slots[RATE_SLOTS];
} Rate;

PL_BEGIN_C
void histogram_add(Histogram *histogram, u64 value);
/* The value below which the share q (0..1) of all values lies, 0 if there is none. */
f64 histogram_quantile(const Histogram *histogram, f64 q);
f64 histogram_mean(const Histogram *histogram);

void average_add(MovingAverage *average, f64 value);

/* Time is the caller's and must not run backwards. */
void rate_add(Rate *rate, u64 now_ns, f64 amount);
f64 rate_per_s(Rate *rate, u64 now_ns);

/* The quantile q of count values, which are sorted in place; 0 for none. */
f64 stats_quantile(f64 *values, u32 count, f64 q);
PL_END_C

#endif
