/* stats.c: running statistics. */
#include "shared/base/stats.h"

#include <stdlib.h>

const BucketBounds BOUNDS_SECONDS = {19,
                                     {1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2,
                                      2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0}};
const BucketBounds BOUNDS_RATE = {10,
                                  {4e3, 8e3, 16e3, 32e3, 64e3, 125e3, 250e3, 625e3, 1.25e6, 2.5e6}};

enum {
    STEPS = 1 << HISTOGRAM_STEP_BITS
};

/* Values below STEPS have a bucket each; above, the leading bit selects the octave and the next
 * HISTOGRAM_STEP_BITS bits the step. */
static u32 bucket_of(u64 value)
{
    if (value < STEPS) {
        return (u32)value;
    }
    u32 octave = 63u - (u32)__builtin_clzll(value) - HISTOGRAM_STEP_BITS;
    return ((octave + 1u) << HISTOGRAM_STEP_BITS) + (u32)((value >> octave) & (STEPS - 1u));
}

/* The middle of a bucket. */
static f64 bucket_value(u32 bucket)
{
    if (bucket < STEPS) {
        return (f64)bucket;
    }
    u32 octave = (bucket >> HISTOGRAM_STEP_BITS) - 1u;
    u64 low = (u64)(STEPS + (bucket & (STEPS - 1u))) << octave;
    return (f64)low + 0.5 * (f64)((1ull << octave) - 1u);
}

void histogram_add(Histogram *histogram, u64 value)
{
    histogram->min = histogram->count == 0 ? value : u64_min(histogram->min, value);
    histogram->max = u64_max(histogram->max, value);
    histogram->sum += (f64)value;
    histogram->count++;
    histogram->buckets[bucket_of(value)]++;
}

f64 histogram_quantile(const Histogram *histogram, f64 q)
{
    if (histogram->count == 0) {
        return 0.0;
    }
    u64 wanted = (u64)(q * (f64)(histogram->count - 1u) + 0.5);
    u64 seen = 0;
    u32 bucket = 0;
    while (bucket + 1u < HISTOGRAM_BUCKETS && seen + histogram->buckets[bucket] <= wanted) {
        seen += histogram->buckets[bucket++];
    }
    f64 value = bucket_value(bucket);
    value = value < (f64)histogram->min ? (f64)histogram->min : value;
    return value > (f64)histogram->max ? (f64)histogram->max : value;
}

void buckets_add(Buckets *buckets, const BucketBounds *bounds, f64 value)
{
    u32 i = 0;
    while (i < bounds->count && value > bounds->bounds[i]) {
        i++;
    }
    buckets->counts[i]++;
    buckets->count++;
    buckets->sum += value;
}

void average_add(MovingAverage *average, f64 value)
{
    average->value =
        average->started ? average->value + average->weight * (value - average->value) : value;
    average->started = true;
}

static int compare_f64(const void *a, const void *b)
{
    f64 x = *(const f64 *)a;
    f64 y = *(const f64 *)b;
    return (x > y) - (x < y);
}

f64 stats_quantile(f64 *values, u32 count, f64 q)
{
    if (count == 0) {
        return 0.0;
    }
    qsort(values, count, sizeof *values, compare_f64);
    return values[(u32)(q * (f64)(count - 1u) + 0.5)];
}
