/*
 * random.h: counter-based random numbers: a pure function of (seed, counter), so the same seed
 * gives the same world whatever the order of calls.
 * Method: the finalizer of SplitMix64 (Steele, Lea, Flood 2014) over seed and counter.
 * Layer: shared/math.
 */
#ifndef PLENUM_SHARED_MATH_RANDOM_H
#define PLENUM_SHARED_MATH_RANDOM_H

#include "shared/base/base.h"

/* Uniform in all 64 bits; the same for the same seed and counter on every machine. */
static inline u64 random_u64(u64 seed, u64 counter)
{
    u64 z = seed * 0xD1342543DE82EF95ull + (counter + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
/* Uniform in [0, 1), 24 bits. */
static inline f32 random_f32(u64 seed, u64 counter)
{
    return (f32)(random_u64(seed, counter) >> 40) * (1.0f / 16777216.0f);
}
/* Uniform in [low, high). */
static inline f32 random_range(u64 seed, u64 counter, f32 low, f32 high)
{
    return low + (high - low) * random_f32(seed, counter);
}
/* Size of a point as a part of its kind's mean, uniform in [1 − spread, 1 + spread): the same for
 * the solver that moves it and the client that draws it. Generation and slot are its field's. */
static inline f32 random_point_size(u32 generation, u32 slot, f32 spread)
{
    const u64 sizes = (u64)1 << 32; /* different from the numbers used for tones */
    return spread > 0.0f ? 1.0f + spread * (2.0f * random_f32(sizes + generation, slot) - 1.0f)
                         : 1.0f;
}

#endif
