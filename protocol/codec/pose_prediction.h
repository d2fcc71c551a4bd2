/*
 * pose_prediction.h: poses in the fixed point of the pose codec, and their extrapolation.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POSE_PREDICTION_H
#define PLENUM_PROTOCOL_CODEC_POSE_PREDICTION_H

#include "protocol/codec/rotation.h"
#include "protocol/field/field.h"

typedef struct PosePrediction {
    i32 at[3];
    Rotation rotation;
} PosePrediction;

/* Approximate length of a difference. */
static inline u32 prediction_distance(const i32 a[3], const i32 b[3])
{
    u32 d[3] = {i32_magnitude(a[0] - b[0]), i32_magnitude(a[1] - b[1]), i32_magnitude(a[2] - b[2])};
    u32 most = u32_max(d[0], u32_max(d[1], d[2]));
    u64 sum = (u64)d[0] + d[1] + d[2] - most;
    u64 length = most + sum * 3 / 8;
    return length < (1u << 30) ? (u32)length : 1u << 30;
}

/* To what a position code can hold. */
static inline i32 prediction_clamp(i64 v)
{
    return (i32)(v > POSITION_CODE_MAX    ? POSITION_CODE_MAX
                 : v < -POSITION_CODE_MAX ? -POSITION_CODE_MAX
                                          : v);
}

/* Extrapolates the motion from `from` to `to`, with rotation `step`, by `part` / `whole` of its
 * duration. */
static inline PosePrediction prediction_extrapolate(const PosePrediction *from,
                                                    const PosePrediction *to, Rotation step,
                                                    u32 part, u32 whole)
{
    PosePrediction place;
    for (u32 i = 0; i < 3; i++) {
        i64 way = (i64)to->at[i] - from->at[i];
        place.at[i] = prediction_clamp(to->at[i] + (part == whole ? way : way * part / whole));
    }
    place.rotation = rotation_mul(rotation_part(step, part, whole), to->rotation);
    return place;
}

/* Moves `place` rigidly with a body that moved from `from` to `to` and rotated by `turn`. */
static inline PosePrediction prediction_carried(const i32 from[3], const i32 to[3],
                                                Rotation rotation, const PosePrediction *place)
{
    i32 arm[3], rotated[3];
    PosePrediction out;
    for (u32 i = 0; i < 3; i++) {
        arm[i] = place->at[i] - from[i];
    }
    rotation_rotate(rotation, arm, rotated);
    for (u32 i = 0; i < 3; i++) {
        out.at[i] = prediction_clamp((i64)to[i] + rotated[i]);
    }
    out.rotation = rotation_mul(rotation, place->rotation);
    return out;
}

#endif
