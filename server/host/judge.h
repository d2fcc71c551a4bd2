/*
 * judge.h: was a pick fair? A grab or a push is judged against the world as the picking client saw
 * it: the frames around its seen tick, interpolated, at most PICK_AGE_MAX_S back (lag
 * compensation).
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_JUDGE_H
#define PLENUM_SERVER_HOST_JUDGE_H

#include "protocol/field/history.h"
#include "protocol/session/input.h"
#include "protocol/stream/entity_list.h"
#include "shared/base/error.h"

typedef struct JudgeWorld {
    const History *history;
    const EntityList *entities;
    u32 tick_rate;
} JudgeWorld;

/* Checks INPUT_GRAB and INPUT_PUSH: the entity lives, may be moved, and the ray meets it (within a
 * few centimetres, more with distance) no farther than reach_m from its origin. Writes the point
 * that was hit into `local`. 0, ERROR_NOT_FOUND, ERROR_DENIED (not movable), ERROR_RANGE (missed or
 * out of reach). Points have no `local`; that of a cell is within the cell. Other kinds of input
 * are left alone. */
int judge_input(const JudgeWorld *world, Input *input, f32 reach_m);

#endif
