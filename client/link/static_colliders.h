/*
 * static_colliders.h: what stands still in a world, so that bodies shown ahead of what is known do
 * not sink into it.
 *
 * On its way from the newest known place to where its motion would take it, a body meets the static
 * shape that a ray along the way hits first, and the one straight below its end. Each counts as the
 * plane of the hit: what would reach deeper behind it than at the known place is moved out along
 * the normal, and no speed is left towards it. So a fall ends on the ground, and what slides on it
 * goes on. The way that it would really bounce is the server's to tell.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_STATIC_COLLIDERS_H
#define PLENUM_CLIENT_LINK_STATIC_COLLIDERS_H

#include "client/link/shown_element.h"
#include "protocol/stream/entity_list.h"

typedef struct StaticColliders StaticColliders;
/* The pose of an element now shown; false: not known yet. */
typedef bool (*ShownPoseOf)(const void *context, u32 field, u32 element, ShownPose *pose);

/* NULL without memory. `fields` is borrowed. */
StaticColliders *static_colliders_create(const FieldSet *fields);
void static_colliders_destroy(StaticColliders *colliders);
/* Looks up what stands where, if the entities changed or something of before was not known yet.
 * Shapes are borrowed from the entities: call after they changed and before a
 * static_colliders_hold. */
void static_colliders_update(StaticColliders *colliders, const EntityList *entities,
                             ShownPoseOf pose_of, const void *context);
/* Element of a POSES field, turned so, on its way from `from` to *to, m, at *velocity (any unit).
 */
void static_colliders_hold(const StaticColliders *colliders, u32 field, u32 element,
                           Quat orientation, Vec3 from, Vec3 *to, Vec3 *velocity);

#endif
