/*
 * couplings.h: bodies that do not move independently: jointed bodies, and bodies near points of
 * soft bodies.
 *
 * Beyond the newest known state each body is extrapolated by its own velocity and angular velocity.
 * The bodies of a ragdoll would separate, since joint forces are unknown, and a body that lies on
 * cloth or jelly would sink into it, since points are never extrapolated. Blending shown into new
 * states, by a separate spring for each body, would separate them as well. So all these bodies
 * share one clock, like the points of a soft body (body_clock.h): they stop when the state of one
 * of them is missing, and then catch up with the timeline's tick. A body that comes near points
 * stops until that clock has caught up; one that leaves them catches up with the timeline.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_COUPLINGS_H
#define PLENUM_CLIENT_LINK_COUPLINGS_H

#include "client/link/body_clock.h"
#include "client/link/curve.h"
#include "protocol/scene/scene.h"
#include "protocol/stream/entity_list.h"

typedef struct Couplings Couplings;

/* NULL: out of memory. `fields` is borrowed. */
Couplings *couplings_create(const FieldSet *fields);
void couplings_destroy(Couplings *couplings); /* NULL is fine */
/* Determines which bodies are jointed and how large each is, if the entities changed.
 * bodies[count] is copied; false: out of memory, then no body counts as near points. */
bool couplings_update(Couplings *couplings, const Scene *scene, const EntityList *entities,
                      const TimelineBody *bodies, u32 count);
/* Advances the clock and all bodies' ticks. `news`: states arrived since the last call, so it
 * determines again which bodies could come near points before the next ones. */
void couplings_advance(Couplings *couplings, const SnapshotReceiver *receiver,
                       const CurveStream *stream, const BodyPace *pace, bool news);
/* True if an element of a POSES field is shown at its own tick; *tick is written only then. */
bool couplings_tick(const Couplings *couplings, u32 field, u32 element, f64 *tick);

#endif
