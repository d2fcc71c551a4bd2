/*
 * point_plan.h: decisions of the point encoder before coding: least-squares weights, cell size,
 * stride. Decoders do not need it. Private to point_code.c.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POINT_PLAN_H
#define PLENUM_PROTOCOL_CODEC_POINT_PLAN_H

#include "protocol/codec/point_model.h"

/* Default weights where a code has none. */
extern const Plan point_plan_default;
/* Format of a weight in the header: within ±2^(bits − 1) units. */
typedef struct WeightCode {
    u8 bits, unit; /* of 256ths */
} WeightCode;
extern const WeightCode point_weight_codes[];
/* Fills the plan, and found, moved and going of all points. */
void point_plan_make(PointModel *model, const PointSpan *span, const QPoint *now);

#endif
