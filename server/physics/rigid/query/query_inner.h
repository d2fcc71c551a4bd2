/*
 * query_inner.h: what query.c (lines) and query_shape.c (shapes) share.
 * Layer: server/physics/rigid/query, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_QUERY_QUERY_INNER_H
#define PLENUM_SERVER_PHYSICS_RIGID_QUERY_QUERY_INNER_H

#include "server/physics/rigid/body.h"
#include "server/physics/rigid/query/query.h"

/* Does the filter (NULL: of course) let the live body in the slot pass? */
bool query_passes(const Rigid *rigid, const QueryFilter *filter, u32 slot);

#endif
