/*
 * stats.h: running statistics: a histogram with quantiles and a moving average. No allocation;
 * zero-initialization is valid for all except MovingAverage's weight.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_STATS_H
#define PLENUM_SHARED_BASE_STATS_H

#include "shared/base/base.h"

enum {
    /* 2^4 steps per octave: a quantile is within 1/32 of the true value. */
    HISTOGRAM_STEP_BITS = 4,
    HISTOGRAM_BUCKETS = (64 - HISTOGRAM_STEP_BITS + 1) << HISTOGRAM_STEP_BITS,
};

/* Counts of integers (ns, bytes, ...) in buckets of constant relative width. */
typedef struct Histogram {
    u64 count, min, max;
    f64 sum;
    u32 buckets[HISTOGRAM_BUCKETS];
} Histogram;

/* Counts of values up to fixed bounds, for a page of metrics: which bounds is said with each value,
 * so that a zeroed Buckets is empty. */
enum {
    BUCKETS_MAX = 20
};
typedef struct BucketBounds {
    u32 count;
    f64 bounds[BUCKETS_MAX]; /* [count] ascending; a value equal to a bound is below it */
} BucketBounds;
typedef struct Buckets {
    u64 counts[BUCKETS_MAX + 1]; /* of each; the last used one: above all bounds */
    u64 count;
    f64 sum;
} Buckets;
extern const BucketBounds BOUNDS_SECONDS; /* 10 us to 10 s */
extern const BucketBounds BOUNDS_RATE;    /* 4 kB/s to 2.5 MB/s, the range of a client's budget */

/* Exponential moving average: the newest value has `weight` (0..1]. */
typedef struct MovingAverage {
    f64 weight, value;
    bool started;
} MovingAverage;

PL_BEGIN_C
void histogram_add(Histogram *histogram, u64 value);
/* The q-quantile (0..1) of all values, 0 if there are none. */
f64 histogram_quantile(const Histogram *histogram, f64 q);

/* Counts the value in its bucket. */
void buckets_add(Buckets *buckets, const BucketBounds *bounds, f64 value);

/* Adds the newest value of the average. */
void average_add(MovingAverage *average, f64 value);

/* The q-quantile of count values, which are sorted in place; 0 for none. */
f64 stats_quantile(f64 *values, u32 count, f64 q);
PL_END_C

#endif
