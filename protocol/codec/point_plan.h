/*
 * point_plan.h: what the encoder of points decides before it codes: least squares for the weights,
 * the edge of the cells, the stride. A decoder needs none of it. Inside point_code.c.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POINT_PLAN_H
#define PLENUM_PROTOCOL_CODEC_POINT_PLAN_H

#include "protocol/codec/point_model.h"

/* What holds of the weights where a code says nothing. */
extern const Plan point_plan_default;
/* How a header has each weight: within ±2^(bits − 1) units. */
typedef struct WeightCode {
    u8 bits, unit; /* of 256ths */
} WeightCode;
extern const WeightCode point_weight_codes[];
/* Fills the plan, and found, moved and going of all points. */
void point_plan_make(PointModel *model, const PointSpan *span, const QPoint *now);

#endif
