/*
 * field_grids.c: the rows of GRID2 (heights) and GRID3 (voxels), which differ only in the width of
 * a value and the number of axes.
 */
#include "protocol/codec/chunk.h"
#include "protocol/codec/span.h"
#include "protocol/field/field_ops.h"
#include "protocol/field/quantize.h"
#include "shared/base/error.h"

enum {
    VOXEL_SHIFT_MAX = 4, /* of 8 bits */
};

PL_STATIC_ASSERT(CHUNK_VOXELS_EDGE *CHUNK_VOXELS_EDGE *CHUNK_VOXELS_EDGE * 2 * 8 + 2 <=
                     8 * CHUNK_CODE_BYTES_MAX,
                 "a raw chunk of voxels fits");

static int grid_check(const FieldDesc *field, u64 cells)
{
    if (cells == 0 || cells != field->capacity) {
        return ERROR_FORMAT;
    }
    Vec3 s = field->spacing;
    bool ranged = vec3_is_finite(s) && s.x > 0.0f && s.z > 0.0f;
    f32 widest = f32_max(f32_max(fabsf(s.x), fabsf(s.y)), fabsf(s.z));
    ranged = ranged && widest <= WORLD_EXTENT_MAX_M;
    ranged = ranged && (field->kind == FIELD_GRID2 || s.y > 0.0f);
    ranged = ranged && isfinite(field->value_min) && isfinite(field->quantum);
    return ranged && field->quantum > 0.0f ? ERROR_OK : ERROR_RANGE;
}

static int heights_check(const FieldDesc *field)
{
    return grid_check(field, (u64)field->dims[0] * field->dims[1]);
}

static int voxels_check(const FieldDesc *field)
{
    return grid_check(field, (u64)field->dims[0] * field->dims[1] * field->dims[2]);
}

static bool heights_load(const FieldDesc *field, u32 n, const void *state, u32 *values)
{
    u32 channels = field->channels;
    for (u32 i = 0; i < n * channels; i++) {
        values[i % channels * n + i / channels] = ((const u16 *)state)[i];
    }
    return true;
}

static void heights_store(const FieldDesc *field, u32 n, void *state, const u32 *values)
{
    u32 channels = field->channels;
    for (u32 i = 0; i < n * channels; i++) {
        ((u16 *)state)[i] = (u16)values[i % channels * n + i / channels];
    }
}

static bool voxels_load(const FieldDesc *field, u32 n, const void *state, u32 *values)
{
    u32 channels = field->channels;
    for (u32 i = 0; i < n * channels; i++) {
        values[i % channels * n + i / channels] = ((const u8 *)state)[i];
    }
    return true;
}

static void voxels_store(const FieldDesc *field, u32 n, void *state, const u32 *values)
{
    u32 channels = field->channels;
    for (u32 i = 0; i < n * channels; i++) {
        ((u8 *)state)[i] = (u8)values[i % channels * n + i / channels];
    }
}

static f32 heights_error(const FieldDesc *field, u32 n, const void *a, const void *b)
{
    i32 steps = 0;
    for (u32 i = 0; i < n * field->channels; i++) {
        i32 d = (i32)((const u16 *)a)[i] - (i32)((const u16 *)b)[i];
        steps = i32_max(steps, d < 0 ? -d : d);
    }
    return (f32)steps * field->quantum;
}

static f32 voxels_error(const FieldDesc *field, u32 n, const void *a, const void *b)
{
    i32 steps = 0;
    for (u32 i = 0; i < n * field->channels; i++) {
        i32 d = (i32)((const u8 *)a)[i] - (i32)((const u8 *)b)[i];
        steps = i32_max(steps, d < 0 ? -d : d);
    }
    return (f32)steps * field->quantum;
}

static void heights_reduce(const FieldDesc *field, Detail detail, void *elements, u32 n)
{
    u16 *values = elements;
    u32 shift = detail_value_shift(field, detail);
    for (u32 i = 0; i < n * field->channels; i++) {
        values[i] = (u16)((u32)values[i] >> shift);
    }
}

static void heights_restore(const FieldDesc *field, Detail detail, void *elements, u32 n)
{
    u16 *values = elements;
    u32 shift = detail_value_shift(field, detail);
    for (u32 i = 0; i < n * field->channels; i++) {
        values[i] = (u16)detail_value_restore(values[i], shift, UINT16_MAX);
    }
}

static void voxels_reduce(const FieldDesc *field, Detail detail, void *elements, u32 n)
{
    u8 *values = elements;
    u32 shift = detail_value_shift(field, detail);
    for (u32 i = 0; i < n * field->channels; i++) {
        values[i] = (u8)((u32)values[i] >> shift);
    }
}

static void voxels_restore(const FieldDesc *field, Detail detail, void *elements, u32 n)
{
    u8 *values = elements;
    u32 shift = detail_value_shift(field, detail);
    for (u32 i = 0; i < n * field->channels; i++) {
        values[i] = (u8)detail_value_restore(values[i], shift, UINT8_MAX);
    }
}

/* The centre of a cell; for a height field at the height of the grid's origin. */
static Vec3 cell_centre(const FieldDesc *field, u32 element)
{
    u32 x = element % field->dims[0], rest = element / field->dims[0];
    u32 y = field->kind == FIELD_GRID3 ? rest % field->dims[1] : 0;
    u32 z = field->kind == FIELD_GRID3 ? rest / field->dims[1] : rest;
    Vec3 cell = vec3((f32)x, (f32)y, (f32)z);
    return vec3_add(field->origin, vec3_mul(cell, field->spacing));
}

static bool heights_place(const FieldDesc *field, u32 element, const void *before,
                          const void *after, f32 share, Vec3 *position)
{
    size_t at = (size_t)element * field->channels;
    f32 a = dequantize_height(field, ((const u16 *)before)[at]);
    f32 b = dequantize_height(field, ((const u16 *)after)[at]);
    *position = cell_centre(field, element);
    position->y = field->origin.y + a + (b - a) * share;
    return true;
}

static bool voxels_place(const FieldDesc *field, u32 element, const void *before, const void *after,
                         f32 share, Vec3 *position)
{
    size_t at = (size_t)element * field->channels;
    f32 a = (f32)((const u8 *)before)[at], b = (f32)((const u8 *)after)[at];
    *position = cell_centre(field, element);
    return a + (b - a) * share > 0.0f;
}

/* All cells: values stay within the field's box. */
static void grid_bounds(const FieldDesc *field, u32 chunk, const void *state, Vec3 *low, Vec3 *high)
{
    u32 last = chunk_elements(field, chunk) - 1;
    PL_UNUSED(state);
    field_bounds_add(low, high, cell_centre(field, chunk_element_index(field, chunk, 0)));
    field_bounds_add(low, high, cell_centre(field, chunk_element_index(field, chunk, last)));
}

const FieldOps field_heights_ops = {
    .name = "grid2",
    .bytes = sizeof(u16),
    .channels_max = 2,
    .axes = 2,
    .edge = {CHUNK_CELLS_EDGE, CHUNK_CELLS_EDGE, 1},
    .codec = FIELD_CODEC_GRIDS,
    .coarsening = FIELD_COARSE_BY_PIXEL,
    .shift_max = DETAIL_SHIFT_MAX,
    .span_chunks = SPAN_CHUNKS_MAX,
    .columns = {1, {16}},
    .check = heights_check,
    .load = heights_load,
    .store = heights_store,
    .error = heights_error,
    .reduce = heights_reduce,
    .restore = heights_restore,
    .place = heights_place,
    .bounds = grid_bounds,
};

const FieldOps field_voxels_ops = {
    .name = "grid3",
    .bytes = sizeof(u8),
    .channels_max = 2,
    .axes = 3,
    .edge = {CHUNK_VOXELS_EDGE, CHUNK_VOXELS_EDGE, CHUNK_VOXELS_EDGE},
    .codec = FIELD_CODEC_GRIDS,
    .coarsening = FIELD_COARSE_BY_STEP,
    .shift_max = VOXEL_SHIFT_MAX,
    .span_chunks = SPAN_CHUNKS_MAX,
    .columns = {1, {8}},
    .check = voxels_check,
    .load = voxels_load,
    .store = voxels_store,
    .error = voxels_error,
    .reduce = voxels_reduce,
    .restore = voxels_restore,
    .place = voxels_place,
    .bounds = grid_bounds,
};
