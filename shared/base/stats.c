/* stats.c: running statistics. */
#include "shared/base/stats.h"

#include <stdlib.h>

enum {
    STEPS = 1 << HISTOGRAM_STEP_BITS
};
#define DEFAULT_SLOT_NS 62500000ull

/* Values below STEPS have a bucket each; above, the leading bit picks the octave and the next
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

f64 histogram_mean(const Histogram *histogram)
{
    return histogram->count == 0 ? 0.0 : histogram->sum / (f64)histogram->count;
}

void average_add(MovingAverage *average, f64 value)
{
    average->value =
        average->started ? average->value + average->weight * (value - average->value) : value;
    average->started = true;
}

static u64 slot_length(const Rate *rate)
{
    return rate->slot_ns != 0 ? rate->slot_ns : DEFAULT_SLOT_NS;
}

/* Clears the slots between the newest and now. */
static void rate_advance(Rate *rate, u64 now_ns)
{
    u64 slot = now_ns / slot_length(rate);
    if (rate->first == 0) {
        rate->first = slot + 1u;
        rate->newest = slot;
    }
    u64 passed = slot > rate->newest ? u64_min(slot - rate->newest, RATE_SLOTS) : 0;
    for (u64 i = 0; i < passed; i++) {
        rate->slots[(slot - i) % RATE_SLOTS] = 0.0;
    }
    rate->newest = u64_max(rate->newest, slot);
}

void rate_add(Rate *rate, u64 now_ns, f64 amount)
{
    rate_advance(rate, now_ns);
    rate->slots[rate->newest % RATE_SLOTS] += amount;
}

f64 rate_per_s(Rate *rate, u64 now_ns)
{
    rate_advance(rate, now_ns);
    f64 sum = 0.0;
    for (u32 i = 0; i < RATE_SLOTS; i++) {
        sum += rate->slots[i];
    }
    /* The newest slot has only begun, and a rate that has just started has fewer slots. */
    u64 whole = u64_min(rate->newest + 1u - rate->first, RATE_SLOTS - 1u);
    f64 slots = (f64)whole + (f64)(now_ns % slot_length(rate)) / (f64)slot_length(rate);
    f64 seconds = (slots < 1.0 ? 1.0 : slots) * (f64)slot_length(rate) * 1e-9;
    return sum / seconds;
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
