/* field_points.c: the row of POINTS. */
#include "protocol/codec/chunk.h"
#include "protocol/codec/span.h"
#include "protocol/field/field_ops.h"
#include "protocol/field/quantize.h"
#include "shared/base/error.h"

#include <string.h>

static int points_check(const FieldDesc *field)
{
    return field_quantum_is_valid(field) ? ERROR_OK : ERROR_RANGE;
}

static bool points_load(const FieldDesc *field, u32 n, const void *state, u32 *values)
{
    const QPoint *points = state;
    u32 beyond = 0;
    PL_UNUSED(field);
    for (u32 i = 0; i < n; i++) {
        u32 *v = values + i;
        for (u32 axis = 0; axis < 3; axis++) {
            v[axis * n] = (u32)points[i].position[axis] + FIELD_POSITION_BIAS;
            beyond |= v[axis * n] >> FIELD_POSITION_BITS;
        }
        v[3 * n] = points[i].scalar;
        v[4 * n] = points[i].generation;
    }
    return beyond == 0;
}

static void points_store(const FieldDesc *field, u32 n, void *state, const u32 *values)
{
    QPoint *points = state;
    PL_UNUSED(field);
    for (u32 i = 0; i < n; i++) {
        const u32 *v = values + i;
        for (u32 axis = 0; axis < 3; axis++) {
            points[i].position[axis] = (i32)(v[axis * n] - FIELD_POSITION_BIAS);
        }
        points[i].scalar = (u16)v[3 * n];
        points[i].generation = (u16)v[4 * n];
    }
}

static f32 points_error(const FieldDesc *field, u32 n, const void *a, const void *b)
{
    const QPoint *p = a, *q = b;
    f32 worst = 0.0f;
    for (u32 i = 0; i < n; i++) {
        worst = f32_max(worst,
                        p[i].generation != q[i].generation
                            ? FIELD_APPEAR_ERROR_M
                            : field_step_distance(p[i].position, q[i].position) * field->quantum);
    }
    return worst;
}

/* To the levels of a detail, or back from them. */
static void points_change(Detail detail, bool back, QPoint *points, u32 n)
{
    u32 shift = detail_shift(detail), mask = (1u << detail_decimation(detail)) - 1;
    for (u32 i = 0; i < n; i++) {
        QPoint *point = &points[i];
        if ((i & mask) != 0) {
            memset(point, 0, sizeof *point);
        } else if (point->generation != 0) {
            for (u32 k = 0; k < 3; k++) {
                point->position[k] = back ? detail_position_restore(point->position[k], shift)
                                          : point->position[k] >> shift;
            }
            point->scalar = (u16)(back ? detail_value_restore(point->scalar, shift, UINT16_MAX)
                                       : (u32)point->scalar >> shift);
        }
    }
}

static void points_reduce(const FieldDesc *field, Detail detail, void *elements, u32 n)
{
    PL_UNUSED(field);
    points_change(detail, false, elements, n);
}

static void points_restore(const FieldDesc *field, Detail detail, void *elements, u32 n)
{
    PL_UNUSED(field);
    points_change(detail, true, elements, n);
}

static bool points_place(const FieldDesc *field, u32 element, const void *before, const void *after,
                         f32 share, Vec3 *position)
{
    const QPoint *a = (const QPoint *)before + element, *b = (const QPoint *)after + element;
    if (b->generation == 0) {
        return false;
    }
    a = a->generation == b->generation ? a : b;
    *position = vec3_lerp(dequantize_position(field, a->position),
                          dequantize_position(field, b->position), share);
    return true;
}

static void points_bounds(const FieldDesc *field, u32 chunk, const void *state, Vec3 *low,
                          Vec3 *high)
{
    const QPoint *points = state;
    u32 n = chunk_elements(field, chunk);
    for (u32 i = 0; i < n; i++) {
        if (points[i].generation != 0) {
            field_bounds_add(low, high, dequantize_position(field, points[i].position));
        }
    }
}

const FieldOps field_points_ops = {
    .name = "points",
    .bytes = sizeof(QPoint),
    .channels_max = 1,
    .axes = 1,
    .edge = {CHUNK_POINTS, 1, 1},
    .codec = FIELD_CODEC_POINTS,
    .coarsening = FIELD_COARSE_BY_PIXEL,
    .shift_max = DETAIL_SHIFT_MAX,
    .decimates = true,
    .jitters = true,
    .span_chunks = SPAN_CHUNKS_MAX,
    .columns = {5, {FIELD_POSITION_BITS, FIELD_POSITION_BITS, FIELD_POSITION_BITS, 16, 16}},
    .check = points_check,
    .load = points_load,
    .store = points_store,
    .error = points_error,
    .reduce = points_reduce,
    .restore = points_restore,
    .place = points_place,
    .bounds = points_bounds,
};
