/*
 * lag_compensation.h: was a pick fair? A grab or a push is judged against the world as the picking
 * client saw it: the frames around its seen tick, interpolated, at most PICK_AGE_MAX_S back (lag
 * compensation).
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_LAG_COMPENSATION_H
#define PLENUM_SERVER_HOST_LAG_COMPENSATION_H

#include "protocol/field/history.h"
#include "protocol/session/input.h"
#include "protocol/stream/entity_list.h"
#include "shared/base/error.h"

typedef struct LagWorld {
    const History *history;
    const EntityList *entities;
    u32 tick_rate;
} LagWorld;

/* Checks INPUT_GRAB and INPUT_PUSH: the entity lives, may be moved, and the ray meets it (within a
 * few centimetres, more with distance) no farther than reach_m from its origin. Writes the point
 * that was hit into `local`. 0, ERROR_NOT_FOUND, ERROR_DENIED (not movable), ERROR_RANGE (missed or
 * out of reach). Points have no `local`; that of a cell is within the cell. Other kinds of input
 * are left alone. */
int lag_compensate(const LagWorld *world, Input *input, f32 reach_m);

#endif
