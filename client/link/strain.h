/*
 * strain.h: limits the drawn stretch of soft bodies.
 *
 * On a narrow link the chunks of a body come in turn, and each is interpolated linearly between its
 * own states. Where these have other ticks than a neighbour's, edges between the two can appear
 * several times as long as they ever were. The true stretch is known from the edges within parts
 * that are shown between states of the same ticks; edges with a larger relative length than all of
 * these are shortened, half from either end, in a few sweeps (strain limiting, Provot 1995).
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_STRAIN_H
#define PLENUM_CLIENT_LINK_STRAIN_H

#include "client/link/timeline.h"
#include "protocol/field/entity.h"
#include "protocol/scene/scene.h"

typedef struct Strain Strain;

/* NULL: out of memory. */
Strain *strain_create(void);
void strain_destroy(Strain *strain); /* NULL is fine */
/* Collects the edges of the scene's soft bodies if the entities changed: `version` is theirs,
 * `world` counts worlds. If out of memory bodies are not limited. */
void strain_update(Strain *strain, const Scene *scene, const Entity *entities, u32 count,
                   u64 version, u32 world);
/* Corrects the points of a whole POINTS field as the timeline shows them now. */
void strain_limit(const Strain *strain, const Timeline *timeline, u32 field, ShownPoint *points);

#endif
