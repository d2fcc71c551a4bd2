/*
 * query_internal.h: shared by query.c (lines) and query_shape.c (shapes).
 * Layer: server/physics/rigid/query, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_QUERY_QUERY_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_RIGID_QUERY_QUERY_INTERNAL_H

#include "server/physics/rigid/query/query.h"
#include "server/physics/rigid/rigid_internal.h"

/* Whether the filter (NULL: always) accepts the live body in the slot. */
bool query_passes(const Rigid *rigid, const QueryFilter *filter, u32 slot);

#endif
