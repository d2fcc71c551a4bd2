/*
 * simd.h: eight logical lanes of f32 for data-parallel solvers. The width is independent of the
 * machine: AVX runs one instruction, SSE2 two, other machines whatever the compiler generates, and
 * all give the same bits (+ − × ÷ √, comparisons and moves only; no contraction). The build has
 * -Wno-psabi: vectors are only passed to always-inlined functions.
 * Layer: shared/math.
 */
#ifndef PLENUM_SHARED_MATH_SIMD_H
#define PLENUM_SHARED_MATH_SIMD_H

#include "shared/math/symmetric.h"

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif
#include <string.h>

enum {
    SIMD_LANES = 8
};

typedef f32 f32x4 __attribute__((vector_size(16)));
typedef f32 f32x8 __attribute__((vector_size(32)));
typedef i32 i32x8 __attribute__((vector_size(32)));

#define SIMD_INLINE static inline __attribute__((always_inline))

typedef struct Vec3x8 {
    f32x8 x, y, z;
} Vec3x8;

typedef struct Symmetric3x8 {
    f32x8 xx, yy, zz, xy, xz, yz;
} Symmetric3x8;

/* x in all lanes. */
SIMD_INLINE f32x8 f32x8_set(f32 x)
{
    return (f32x8){x, x, x, x, x, x, x, x};
}
SIMD_INLINE f32x8 f32x8_load(const f32 *at) /* 32-byte aligned */
{
    return *(const f32x8 *)(const void *)at;
}
SIMD_INLINE void f32x8_store(f32 *at, f32x8 v)
{
    *(f32x8 *)(void *)at = v;
}
/* Lanes of a where the mask is all ones, of b where it is zero. */
SIMD_INLINE f32x8 f32x8_select(i32x8 mask, f32x8 a, f32x8 b)
{
#if defined(__AVX__)
    return (f32x8)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)mask);
#else
    return (f32x8)((mask & (i32x8)a) | (~mask & (i32x8)b));
#endif
}
/* a where the mask is set, else 0. */
SIMD_INLINE f32x8 f32x8_and(i32x8 mask, f32x8 a)
{
    return (f32x8)(mask & (i32x8)a);
}
/* Like f32_min and f32_max: the second operand if equal or unordered. */
SIMD_INLINE f32x8 f32x8_min(f32x8 a, f32x8 b)
{
#if defined(__AVX__)
    return (f32x8)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return f32x8_select(a < b, a, b);
#endif
}
SIMD_INLINE f32x8 f32x8_max(f32x8 a, f32x8 b)
{
#if defined(__AVX__)
    return (f32x8)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return f32x8_select(a > b, a, b);
#endif
}
SIMD_INLINE f32x8 f32x8_abs(f32x8 a)
{
    return (f32x8)((i32x8)a & 0x7fffffff);
}
SIMD_INLINE f32x8 f32x8_sqrt(f32x8 a)
{
#if defined(__AVX__)
    return (f32x8)_mm256_sqrt_ps((__m256)a);
#elif defined(__SSE2__)
    union {
        f32x8 v;
        __m128 half[2];
    } u = {a};
    u.half[0] = _mm_sqrt_ps(u.half[0]);
    u.half[1] = _mm_sqrt_ps(u.half[1]);
    return u.v;
#else
    f32x8 r = a;
    for (int i = 0; i < SIMD_LANES; i++) {
        r[i] = __builtin_sqrtf(a[i]);
    }
    return r;
#endif
}
/* True if any lane of the mask is set. */
SIMD_INLINE bool i32x8_any(i32x8 mask)
{
#if defined(__AVX__)
    return _mm256_movemask_ps((__m256)mask) != 0;
#else
    i32 any = 0;
    for (int i = 0; i < SIMD_LANES; i++) {
        any |= mask[i];
    }
    return any < 0;
#endif
}

/* Bit i: lane i of the mask is set. */
SIMD_INLINE u32 i32x8_bits(i32x8 mask)
{
#if defined(__AVX__)
    return (u32)_mm256_movemask_ps((__m256)mask);
#else
    u32 bits = 0;
    for (u32 i = 0; i < SIMD_LANES; i++) {
        bits |= mask[i] < 0 ? 1u << i : 0;
    }
    return bits;
#endif
}

/* Loads two quarters of a cache line, each 16-byte aligned, as one vector: data stored in fours
 * must be loaded in fours, or the loads stall on store forwarding. */
SIMD_INLINE f32x8 f32x8_load_halves(const f32 *low, const f32 *high)
{
    f32x4 a = *(const f32x4 *)(const void *)low, b = *(const f32x4 *)(const void *)high;
#if defined(__AVX__)
    return (f32x8)_mm256_insertf128_ps(_mm256_castps128_ps256((__m128)a), (__m128)b, 1);
#else
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#endif
}
SIMD_INLINE void f32x8_store_halves(f32 *low, f32 *high, f32x8 v)
{
    *(f32x4 *)(void *)low = __builtin_shufflevector(v, v, 0, 1, 2, 3);
    *(f32x4 *)(void *)high = __builtin_shufflevector(v, v, 4, 5, 6, 7);
}
/* Vector i contains the fours i and i + 4 of eight; afterwards vector i contains element i of
 * each. Its own inverse. */
SIMD_INLINE void f32x8_transpose_halves(f32x8 m[4])
{
    f32x8 t0 = __builtin_shufflevector(m[0], m[1], 0, 8, 1, 9, 4, 12, 5, 13);
    f32x8 t1 = __builtin_shufflevector(m[0], m[1], 2, 10, 3, 11, 6, 14, 7, 15);
    f32x8 t2 = __builtin_shufflevector(m[2], m[3], 0, 8, 1, 9, 4, 12, 5, 13);
    f32x8 t3 = __builtin_shufflevector(m[2], m[3], 2, 10, 3, 11, 6, 14, 7, 15);
    m[0] = __builtin_shufflevector(t0, t2, 0, 1, 8, 9, 4, 5, 12, 13);
    m[1] = __builtin_shufflevector(t0, t2, 2, 3, 10, 11, 6, 7, 14, 15);
    m[2] = __builtin_shufflevector(t1, t3, 0, 1, 8, 9, 4, 5, 12, 13);
    m[3] = __builtin_shufflevector(t1, t3, 2, 3, 10, 11, 6, 7, 14, 15);
}

/* Transposes: eight structs of eight numbers become eight vectors of one number each. */
SIMD_INLINE void f32x8_transpose(f32x8 m[8])
{
#define PL_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
    f32x8 t0 = PL_SHUFFLE(m[0], m[1], 0, 8, 1, 9, 4, 12, 5, 13);
    f32x8 t1 = PL_SHUFFLE(m[0], m[1], 2, 10, 3, 11, 6, 14, 7, 15);
    f32x8 t2 = PL_SHUFFLE(m[2], m[3], 0, 8, 1, 9, 4, 12, 5, 13);
    f32x8 t3 = PL_SHUFFLE(m[2], m[3], 2, 10, 3, 11, 6, 14, 7, 15);
    f32x8 t4 = PL_SHUFFLE(m[4], m[5], 0, 8, 1, 9, 4, 12, 5, 13);
    f32x8 t5 = PL_SHUFFLE(m[4], m[5], 2, 10, 3, 11, 6, 14, 7, 15);
    f32x8 t6 = PL_SHUFFLE(m[6], m[7], 0, 8, 1, 9, 4, 12, 5, 13);
    f32x8 t7 = PL_SHUFFLE(m[6], m[7], 2, 10, 3, 11, 6, 14, 7, 15);
    f32x8 u0 = PL_SHUFFLE(t0, t2, 0, 1, 8, 9, 4, 5, 12, 13);
    f32x8 u1 = PL_SHUFFLE(t0, t2, 2, 3, 10, 11, 6, 7, 14, 15);
    f32x8 u2 = PL_SHUFFLE(t1, t3, 0, 1, 8, 9, 4, 5, 12, 13);
    f32x8 u3 = PL_SHUFFLE(t1, t3, 2, 3, 10, 11, 6, 7, 14, 15);
    f32x8 u4 = PL_SHUFFLE(t4, t6, 0, 1, 8, 9, 4, 5, 12, 13);
    f32x8 u5 = PL_SHUFFLE(t4, t6, 2, 3, 10, 11, 6, 7, 14, 15);
    f32x8 u6 = PL_SHUFFLE(t5, t7, 0, 1, 8, 9, 4, 5, 12, 13);
    f32x8 u7 = PL_SHUFFLE(t5, t7, 2, 3, 10, 11, 6, 7, 14, 15);
    m[0] = PL_SHUFFLE(u0, u4, 0, 1, 2, 3, 8, 9, 10, 11);
    m[1] = PL_SHUFFLE(u1, u5, 0, 1, 2, 3, 8, 9, 10, 11);
    m[2] = PL_SHUFFLE(u2, u6, 0, 1, 2, 3, 8, 9, 10, 11);
    m[3] = PL_SHUFFLE(u3, u7, 0, 1, 2, 3, 8, 9, 10, 11);
    m[4] = PL_SHUFFLE(u0, u4, 4, 5, 6, 7, 12, 13, 14, 15);
    m[5] = PL_SHUFFLE(u1, u5, 4, 5, 6, 7, 12, 13, 14, 15);
    m[6] = PL_SHUFFLE(u2, u6, 4, 5, 6, 7, 12, 13, 14, 15);
    m[7] = PL_SHUFFLE(u3, u7, 4, 5, 6, 7, 12, 13, 14, 15);
#undef PL_SHUFFLE
}

/* Eight vectors that lie one after the other, with any alignment. */
SIMD_INLINE Vec3x8 vec3x8_load(const Vec3 *at)
{
    f32x8 a, b, c;
    memcpy(&a, at, sizeof a);
    memcpy(&b, (const char *)at + sizeof a, sizeof b);
    memcpy(&c, (const char *)at + 2 * sizeof a, sizeof c);
    f32x8 x = __builtin_shufflevector(a, b, 0, 3, 6, 9, 12, 15, 0, 0);
    f32x8 y = __builtin_shufflevector(a, b, 1, 4, 7, 10, 13, 0, 0, 0);
    f32x8 z = __builtin_shufflevector(a, b, 2, 5, 8, 11, 14, 0, 0, 0);
    return (Vec3x8){__builtin_shufflevector(x, c, 0, 1, 2, 3, 4, 5, 10, 13),
                    __builtin_shufflevector(y, c, 0, 1, 2, 3, 4, 8, 11, 14),
                    __builtin_shufflevector(z, c, 0, 1, 2, 3, 4, 9, 12, 15)};
}
SIMD_INLINE void vec3x8_store(Vec3 *at, Vec3x8 v)
{
    f32x8 a = __builtin_shufflevector(v.x, v.y, 0, 8, 0, 1, 9, 0, 2, 10);
    f32x8 b = __builtin_shufflevector(v.y, v.z, 10, 0, 3, 11, 0, 4, 12, 0);
    f32x8 c = __builtin_shufflevector(v.x, v.y, 13, 0, 6, 14, 0, 7, 15, 0);
    a = __builtin_shufflevector(a, v.z, 0, 1, 8, 3, 4, 9, 6, 7);
    b = __builtin_shufflevector(b, v.x, 0, 11, 2, 3, 12, 5, 6, 13);
    c = __builtin_shufflevector(c, v.z, 0, 13, 2, 3, 14, 5, 6, 15);
    memcpy(at, &a, sizeof a);
    memcpy((char *)at + sizeof a, &b, sizeof b);
    memcpy((char *)at + 2 * sizeof a, &c, sizeof c);
}
SIMD_INLINE Vec3x8 vec3x8_set(Vec3 v)
{
    return (Vec3x8){f32x8_set(v.x), f32x8_set(v.y), f32x8_set(v.z)};
}
SIMD_INLINE Vec3x8 vec3x8_zero(void)
{
    f32x8 zero = f32x8_set(0.0f);
    return (Vec3x8){zero, zero, zero};
}
SIMD_INLINE Vec3x8 vec3x8_add(Vec3x8 a, Vec3x8 b)
{
    return (Vec3x8){a.x + b.x, a.y + b.y, a.z + b.z};
}
SIMD_INLINE Vec3x8 vec3x8_sub(Vec3x8 a, Vec3x8 b)
{
    return (Vec3x8){a.x - b.x, a.y - b.y, a.z - b.z};
}
SIMD_INLINE Vec3x8 vec3x8_scale(Vec3x8 a, f32x8 s)
{
    return (Vec3x8){a.x * s, a.y * s, a.z * s};
}
/* a + s b */
SIMD_INLINE Vec3x8 vec3x8_add_scaled(Vec3x8 a, f32x8 s, Vec3x8 b)
{
    return (Vec3x8){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}
/* a − s b */
SIMD_INLINE Vec3x8 vec3x8_sub_scaled(Vec3x8 a, f32x8 s, Vec3x8 b)
{
    return (Vec3x8){a.x - s * b.x, a.y - s * b.y, a.z - s * b.z};
}
SIMD_INLINE f32x8 vec3x8_dot(Vec3x8 a, Vec3x8 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
SIMD_INLINE Vec3x8 vec3x8_cross(Vec3x8 a, Vec3x8 b)
{
    return (Vec3x8){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
SIMD_INLINE Vec3x8 symmetric3x8_mul(const Symmetric3x8 *m, Vec3x8 v)
{
    return (Vec3x8){m->xx * v.x + m->xy * v.y + m->xz * v.z,
                    m->xy * v.x + m->yy * v.y + m->yz * v.z,
                    m->xz * v.x + m->yz * v.y + m->zz * v.z};
}

#endif
