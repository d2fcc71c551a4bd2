/*
 * couplings.h: bodies that do not move on their own: those that joints hold, and those near points
 * of soft bodies.
 *
 * Beyond the newest known state each body goes on by its own velocity and angular velocity. Bodies
 * of a figure would come apart on the way, each by the acceleration that its joints give it, and
 * what lies on cloth or jelly would sink into it, since points are never extrapolated. And where
 * what was shown before is blended into what has come since, each by its own spring, they would
 * come apart again. So all these have one clock, as the points of a soft body have (body_clock.h):
 * they stand where nothing is known of one of them, and then hurry after the timeline's tick. A
 * body that comes near to points stands until that clock has come, one that leaves them hurries.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_COUPLINGS_H
#define PLENUM_CLIENT_LINK_COUPLINGS_H

#include "client/link/body_clock.h"
#include "client/link/curve.h"
#include "protocol/scene/scene.h"
#include "protocol/stream/entity_list.h"

typedef struct Couplings Couplings;

/* NULL without memory. `fields` is borrowed. */
Couplings *couplings_create(const FieldSet *fields);
void couplings_destroy(Couplings *couplings); /* NULL is fine */
/* Looks up which bodies the scene's joints hold and how far each reaches, when the entities have
 * changed. bodies[count] is copied; false without memory: then nothing is near to points. */
bool couplings_update(Couplings *couplings, const Scene *scene, const EntityList *entities,
                      const TimelineBody *bodies, u32 count);
/* Moves the clock and all bodies' ticks on. `news`: states have come since the last time, of which
 * it is found what could come near to points before others come. */
void couplings_advance(Couplings *couplings, const SnapshotReceiver *receiver,
                       const CurveStream *stream, const BodyPace *pace, bool news);
/* True if an element of a POSES field is shown at a tick of its own; *tick is written only then. */
bool couplings_tick(const Couplings *couplings, u32 field, u32 element, f64 *tick);

#endif
