/*
 * base.h: the types, attributes and small macros that every file uses.
 * Layer: shared/base. No dependencies.
 */
#ifndef PLENUM_SHARED_BASE_BASE_H
#define PLENUM_SHARED_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef float f32;
typedef double f64;

#ifdef __cplusplus
#define PL_BEGIN_C                        extern "C" {
#define PL_END_C                          }
#define PL_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define PL_BEGIN_C
#define PL_END_C
#define PL_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define PL_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PL_UNUSED(x)    ((void)(x))
#define PL_PRINTF(format_index, first_index)                                                       \
    __attribute__((format(printf, format_index, first_index)))
#define PL_LIKELY(x)   __builtin_expect(!!(x), 1)
#define PL_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Minima, maxima and clamps: no macros, so that arguments are evaluated once. */
static inline i32 i32_min(i32 a, i32 b)
{
    return a < b ? a : b;
}
static inline i32 i32_max(i32 a, i32 b)
{
    return a > b ? a : b;
}
static inline u32 u32_min(u32 a, u32 b)
{
    return a < b ? a : b;
}
static inline u32 u32_max(u32 a, u32 b)
{
    return a > b ? a : b;
}
static inline u64 u64_min(u64 a, u64 b)
{
    return a < b ? a : b;
}
static inline u64 u64_max(u64 a, u64 b)
{
    return a > b ? a : b;
}
static inline i64 i64_min(i64 a, i64 b)
{
    return a < b ? a : b;
}
static inline i64 i64_max(i64 a, i64 b)
{
    return a > b ? a : b;
}
/* |v|; branch-free, since signs are often unpredictable. */
static inline u32 i32_magnitude(i32 v)
{
    u32 sign = 0u - ((u32)v >> 31);
    return ((u32)v ^ sign) - sign;
}
/* Bits of v up to its highest 1; 0 for 0. */
static inline u32 u32_bit_length(u32 v)
{
    return 63 - (u32)__builtin_clzll((u64)v << 1 | 1);
}
/* If the first argument is NaN these return the second, so clamping removes NaN. */
static inline f32 f32_min(f32 a, f32 b)
{
    return a < b ? a : b;
}
static inline f32 f32_max(f32 a, f32 b)
{
    return a > b ? a : b;
}
static inline f32 f32_clamp(f32 x, f32 low, f32 high)
{
    return f32_min(f32_max(x, low), high);
}
/* Rises from 0 at `low` to 1 at `high`, with slope 0 at both. */
static inline f32 f32_smooth_step(f32 low, f32 high, f32 x)
{
    f32 t = f32_clamp((x - low) / (high - low), 0.0f, 1.0f);
    return t * t * (3.0f - 2.0f * t);
}

#endif
