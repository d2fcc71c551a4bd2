/*
 * quantize.c: conversion to codes and back. Positions use f64 so that a code is the nearest one
 * anywhere in the world; only + − × ÷ √, so every machine gets the same bits.
 */
#include "protocol/field/quantize.h"
#include "shared/base/check.h"

#include <math.h>

/* Components of a unit quaternion other than the largest lie within ±1/√2 = ±511 steps around
 * 512, so that 0 is exact. */
#define ROTATION_STEP  (0.70710678118654752 / 511.0)
#define ROTATION_ZERO  512
#define ROTATION_BITS  10
#define ROTATION_MASK  1023u
#define ROTATION_SHIFT 30

/* Nearest integer, halves away from zero, saturating at [low, high]; NaN gives low. */
static i32 round_clamp(f64 x, i32 low, i32 high)
{
    if (!(x > (f64)low)) {
        return low;
    }
    if (x >= (f64)high) {
        return high;
    }
    return (i32)(x < 0.0 ? x - 0.5 : x + 0.5);
}

static i32 quantize_coordinate(f32 x, f32 origin, f32 quantum)
{
    f64 inside = f32_clamp(x, -WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M);
    return round_clamp((inside - origin) / quantum, -POSITION_CODE_MAX, POSITION_CODE_MAX);
}

void quantize_position(const FieldDesc *field, Vec3 position, i32 out[3])
{
    VALIDATE(field->quantum > 0.0f);
    out[0] = quantize_coordinate(position.x, field->origin.x, field->quantum);
    out[1] = quantize_coordinate(position.y, field->origin.y, field->quantum);
    out[2] = quantize_coordinate(position.z, field->origin.z, field->quantum);
}

Vec3 dequantize_position(const FieldDesc *field, const i32 code[3])
{
    f64 quantum = field->quantum;
    return vec3((f32)(field->origin.x + code[0] * quantum),
                (f32)(field->origin.y + code[1] * quantum),
                (f32)(field->origin.z + code[2] * quantum));
}

u32 quantize_rotation(Quat orientation)
{
    Quat q = quat_is_finite(orientation) ? quat_normalize(orientation) : quat_identity();
    f32 c[4] = {q.w, q.x, q.y, q.z};
    u32 largest = 0;
    for (u32 i = 1; i < 4; i++) {
        if (fabsf(c[i]) > fabsf(c[largest])) {
            largest = i;
        }
    }
    f64 sign = c[largest] < 0.0f ? -1.0 : 1.0;
    u32 code = largest << ROTATION_SHIFT;
    u32 shift = 2 * ROTATION_BITS;
    for (u32 i = 0; i < 4; i++) {
        if (i != largest) {
            i32 step = round_clamp(sign * c[i] / ROTATION_STEP, -511, 511);
            code |= (u32)(step + ROTATION_ZERO) << shift;
            shift -= ROTATION_BITS;
        }
    }
    return code;
}

Quat dequantize_rotation(u32 code)
{
    u32 largest = code >> ROTATION_SHIFT;
    f64 c[4], rest = 1.0;
    u32 shift = 2 * ROTATION_BITS;
    for (u32 i = 0; i < 4; i++) {
        if (i != largest) {
            c[i] = ((i32)(code >> shift & ROTATION_MASK) - ROTATION_ZERO) * ROTATION_STEP;
            rest -= c[i] * c[i];
            shift -= ROTATION_BITS;
        }
    }
    c[largest] = rest > 0.0 ? sqrt(rest) : 0.0;
    Quat q = {(f32)c[0], (f32)c[1], (f32)c[2], (f32)c[3]};
    return quat_normalize(q);
}

u16 quantize_height(const FieldDesc *field, f32 value)
{
    return (u16)round_clamp(((f64)value - field->value_min) / field->quantum, 0, UINT16_MAX);
}

f32 dequantize_height(const FieldDesc *field, u16 code)
{
    return (f32)(field->value_min + code * (f64)field->quantum);
}

u8 quantize_density(const FieldDesc *field, f32 value)
{
    return (u8)round_clamp(((f64)value - field->value_min) / field->quantum, 0, UINT8_MAX);
}

f32 dequantize_density(const FieldDesc *field, u8 code)
{
    return (f32)(field->value_min + code * (f64)field->quantum);
}
