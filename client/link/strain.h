/*
 * strain.h: soft bodies are not drawn longer than they are.
 *
 * On a narrow line the chunks of a body come in turn, and each is shown on straight ways between
 * its own states. Where these are of other times than a neighbour's, the edges between the two can
 * come out several times as long as they ever were. How far the body is stretched is told by the
 * edges within parts that are shown between states of the same times, which are right; edges that
 * are longer for their rest length than all of these are brought back, half from either end, in a
 * few sweeps (strain limiting, Provot 1995).
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_STRAIN_H
#define PLENUM_CLIENT_LINK_STRAIN_H

#include "client/link/timeline.h"
#include "protocol/field/entity.h"
#include "protocol/scene/scene.h"

typedef struct Strain Strain;

/* NULL without memory. */
Strain *strain_create(void);
void strain_destroy(Strain *strain); /* NULL is fine */
/* Looks up the edges of the scene's soft bodies, when the entities have changed: `version` is
 * theirs, `world` counts worlds. Without memory bodies are left as they are. */
void strain_update(Strain *strain, const Scene *scene, const Entity *entities, u32 count,
                   u64 version, u32 world);
/* The points of a whole POINTS field as the timeline shows them now. */
void strain_limit(const Strain *strain, const Timeline *timeline, u32 field, ShownPoint *points);

#endif
