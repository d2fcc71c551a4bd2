/*
 * quantize.h: conversion between numbers and codes, the same bits on server and client. Positions:
 * (x − origin) / quantum rounded to nearest. Orientations: smallest three, 10 bits per component,
 * sign chosen so that the largest component is positive.
 * Layer: protocol/field.
 */
#ifndef PLENUM_PROTOCOL_FIELD_QUANTIZE_H
#define PLENUM_PROTOCOL_FIELD_QUANTIZE_H

#include "protocol/field/field.h"

PL_BEGIN_C

/* Saturates at ±WORLD_EXTENT_MAX_M, NaN at −WORLD_EXTENT_MAX_M; every code lies within
 * ±POSITION_CODE_MAX. */
void quantize_position(const FieldDesc *field, Vec3 position, i32 out[3]);
Vec3 dequantize_position(const FieldDesc *field, const i32 code[3]);
/* q and −q give the same code; the identity is exact; non-finite or zero input counts as
 * identity. */
u32 quantize_rotation(Quat orientation);
/* Any 32-bit value decodes to a unit quaternion. */
Quat dequantize_rotation(u32 code);
/* Grids: value = value_min + code · quantum, saturating; NaN gives code 0. */
u16 quantize_height(const FieldDesc *field, f32 value);
f32 dequantize_height(const FieldDesc *field, u16 code);
u8 quantize_density(const FieldDesc *field, f32 value);
f32 dequantize_density(const FieldDesc *field, u8 code);

PL_END_C

#endif
