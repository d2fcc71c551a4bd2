/*
 * static_colliders.h: static shapes of a world, so that extrapolated bodies do not sink into them.
 *
 * On its way from the newest known position to the extrapolated one, a body meets the static shape
 * that a ray along the way hits first, and the one straight below its end. Each acts as the plane
 * of the hit: penetration beyond that of the known position is moved out along the normal, and
 * velocity into the plane is removed. So a fall ends on the ground, and sliding continues. The real
 * bounce is simulated only by the server.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_STATIC_COLLIDERS_H
#define PLENUM_CLIENT_LINK_STATIC_COLLIDERS_H

#include "client/link/shown_element.h"
#include "protocol/stream/entity_list.h"

typedef struct StaticColliders StaticColliders;
/* Returns the currently shown pose of an element; false: not known yet. */
typedef bool (*ShownPoseOf)(const void *context, u32 field, u32 element, ShownPose *pose);

/* NULL: out of memory. `fields` is borrowed. */
StaticColliders *static_colliders_create(const FieldSet *fields);
void static_colliders_destroy(StaticColliders *colliders);
/* Finds static shapes and their poses again if the entities changed or some poses were unknown.
 * Shapes are borrowed from the entities: call after they changed and before
 * static_colliders_hold. */
void static_colliders_update(StaticColliders *colliders, const EntityList *entities,
                             ShownPoseOf pose_of, const void *context);
/* Collides an element of a POSES field with given orientation on its way from `from` to *to (m),
 * with *velocity (any unit); corrects *to and *velocity. */
void static_colliders_hold(const StaticColliders *colliders, u32 field, u32 element,
                           Quat orientation, Vec3 from, Vec3 *to, Vec3 *velocity);

#endif
