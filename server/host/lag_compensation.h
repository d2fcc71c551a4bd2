/*
 * lag_compensation.h: lag compensation: checks a grab or a push against the world as the picking
 * client saw it, i.e. against the interpolated frames around its seen tick, at most PICK_AGE_MAX_S
 * back.
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

/* Checks INPUT_GRAB and INPUT_PUSH: the entity exists, is movable, and the ray hits it (within a
 * few centimetres, more at a distance) at most reach_m from its origin. Writes the hit point
 * into `local`. 0, ERROR_NOT_FOUND, ERROR_DENIED (not movable), ERROR_RANGE (missed or out of
 * range). Points have no `local`; that of a cell is within the cell. Other kinds of input are
 * left unchanged. */
int lag_compensate(const LagWorld *world, Input *input, f32 reach_m);

#endif
