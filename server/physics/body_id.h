/*
 * body_id.h: a body of a store that reuses its slots.
 * Layer: server/physics.
 */
#ifndef PLENUM_SERVER_PHYSICS_BODY_ID_H
#define PLENUM_SERVER_PHYSICS_BODY_ID_H

#include "shared/base/base.h"

/* A body by slot and generation; generation 0 is none. */
typedef struct BodyId {
    u32 slot, generation;
} BodyId;

#endif
