/* field_poses.c: the row of POSES. */
#include "protocol/codec/chunk.h"
#include "protocol/codec/pose_code.h"
#include "protocol/field/field_ops.h"
#include "protocol/field/quantize.h"
#include "shared/base/error.h"

#define ROTATION_M_PER_RADIAN 0.5f

enum {
    ROTATION_BITS = 10,
    FLAGS_BITS = 6,
};

PL_STATIC_ASSERT(POSE_FLAGS_MASK == (1 << FLAGS_BITS) - 1, "all flags travel");
PL_STATIC_ASSERT(CHUNK_POSES *(3 * FIELD_POSITION_BITS + 32 + FLAGS_BITS + 16) + 2 <=
                     8 * CHUNK_CODE_BYTES_MAX,
                 "a raw chunk of poses fits");

static int poses_check(const FieldDesc *field)
{
    return field_quantum_is_valid(field) ? ERROR_OK : ERROR_RANGE;
}

static bool poses_load(const FieldDesc *field, u32 n, const void *state, u32 *values)
{
    const QPose *poses = state;
    u32 beyond = 0;
    PL_UNUSED(field);
    for (u32 i = 0; i < n; i++) {
        const QPose *q = &poses[i];
        u32 *v = values + i;
        for (u32 axis = 0; axis < 3; axis++) {
            v[axis * n] = (u32)q->position[axis] + FIELD_POSITION_BIAS;
            beyond |= v[axis * n] >> FIELD_POSITION_BITS;
        }
        v[3 * n] = q->rotation >> 30;
        v[4 * n] = q->rotation >> 20 & 1023;
        v[5 * n] = q->rotation >> 10 & 1023;
        v[6 * n] = q->rotation & 1023;
        v[7 * n] = q->flags;
        beyond |= (u32)q->flags >> FLAGS_BITS;
        v[8 * n] = q->generation;
    }
    return beyond == 0;
}

static void poses_store(const FieldDesc *field, u32 n, void *state, const u32 *values)
{
    QPose *poses = state;
    PL_UNUSED(field);
    for (u32 i = 0; i < n; i++) {
        QPose *q = &poses[i];
        const u32 *v = values + i;
        for (u32 axis = 0; axis < 3; axis++) {
            q->position[axis] = (i32)(v[axis * n] - FIELD_POSITION_BIAS);
        }
        q->rotation = v[3 * n] << 30 | v[4 * n] << 20 | v[5 * n] << 10 | v[6 * n];
        q->flags = (u16)v[7 * n];
        q->generation = (u16)v[8 * n];
    }
}

/* Angle in radians between two orientation codes: twice the chord, accurate enough for a
 * priority. */
static f32 rotation_between(u32 a, u32 b)
{
    if (a == b) {
        return 0.0f;
    }
    f32 dot = quat_dot(dequantize_rotation(a), dequantize_rotation(b));
    return 2.0f * sqrtf(f32_max(2.0f - 2.0f * fabsf(dot), 0.0f));
}

static f32 poses_error(const FieldDesc *field, u32 n, const void *a, const void *b)
{
    const QPose *p = a, *q = b;
    f32 worst = 0.0f;
    for (u32 i = 0; i < n; i++) {
        bool same =
            p[i].generation == q[i].generation && ((p[i].flags ^ q[i].flags) & POSE_LIVE) == 0;
        f32 error = FIELD_APPEAR_ERROR_M;
        if (same) {
            error = field_step_distance(p[i].position, q[i].position) * field->quantum +
                    rotation_between(p[i].rotation, q[i].rotation) * ROTATION_M_PER_RADIAN;
        }
        worst = f32_max(worst, error);
    }
    return worst;
}

/* Replaces each of the three components by the middle of the values with its upper bits, as the
 * codes do. */
static u32 rotation_snap(u32 rotation, u32 shift)
{
    u32 low = ((1u << shift) - 1) * (1u | 1u << 10 | 1u << 20);
    u32 half = shift > 0 ? (1u << (shift - 1)) * (1u | 1u << 10 | 1u << 20) : 0;
    return (rotation & ~low) | half;
}

static void poses_reduce(const FieldDesc *field, Detail detail, void *elements, u32 n)
{
    QPose *poses = elements;
    u32 shift = detail_shift(detail), rotation = detail_rotation_shift(detail);
    PL_UNUSED(field);
    for (u32 i = 0; i < n; i++) {
        if (poses[i].flags & POSE_LIVE) {
            for (u32 k = 0; k < 3; k++) {
                poses[i].position[k] >>= shift;
            }
            poses[i].rotation = rotation_snap(poses[i].rotation, rotation);
        }
    }
}

static void poses_restore(const FieldDesc *field, Detail detail, void *elements, u32 n)
{
    QPose *poses = elements;
    PL_UNUSED(field);
    for (u32 i = 0; i < n; i++) {
        for (u32 k = 0; k < 3 && (poses[i].flags & POSE_LIVE) != 0; k++) {
            poses[i].position[k] =
                detail_position_restore(poses[i].position[k], detail_shift(detail));
        }
    }
}

static bool poses_place(const FieldDesc *field, u32 element, const void *before, const void *after,
                        f32 share, Vec3 *position)
{
    const QPose *a = (const QPose *)before + element, *b = (const QPose *)after + element;
    if ((b->flags & POSE_LIVE) == 0) {
        return false;
    }
    a = (a->flags & POSE_LIVE) != 0 && a->generation == b->generation ? a : b;
    *position = vec3_lerp(dequantize_position(field, a->position),
                          dequantize_position(field, b->position), share);
    return true;
}

static void poses_bounds(const FieldDesc *field, u32 chunk, const void *state, Vec3 *low,
                         Vec3 *high)
{
    const QPose *poses = state;
    u32 n = chunk_elements(field, chunk);
    for (u32 i = 0; i < n; i++) {
        if (poses[i].flags & POSE_LIVE) {
            field_bounds_add(low, high, dequantize_position(field, poses[i].position));
        }
    }
}

const FieldOps field_poses_ops = {
    .name = "poses",
    .bytes = sizeof(QPose),
    .channels_max = 1,
    .axes = 1,
    .edge = {CHUNK_POSES, 1, 1},
    .codec = FIELD_CODEC_POSES,
    .coarsening = FIELD_COARSE_BY_PIXEL,
    .shift_max = DETAIL_SHIFT_MAX,
    .span_chunks = POSE_SPAN_MAX / CHUNK_POSES,
    .columns = {9,
                {FIELD_POSITION_BITS, FIELD_POSITION_BITS, FIELD_POSITION_BITS, 2, ROTATION_BITS,
                 ROTATION_BITS, ROTATION_BITS, FLAGS_BITS, 16}},
    .check = poses_check,
    .load = poses_load,
    .store = poses_store,
    .error = poses_error,
    .reduce = poses_reduce,
    .restore = poses_restore,
    .place = poses_place,
    .bounds = poses_bounds,
};
