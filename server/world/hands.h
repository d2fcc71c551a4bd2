/*
 * hands.h: shared by kinds of matter that users grab and push.
 * Layer: server/world, private.
 */
#ifndef PLENUM_SERVER_WORLD_HANDS_H
#define PLENUM_SERVER_WORLD_HANDS_H

#include "server/world/matter.h"

/* Limit of a particle's speed change by a push: it may have next to no mass. */
#define HAND_PUSH_M_S_MAX 10.0f

/* A grab constraint: N/m and N s/m, of a mass. */
typedef struct HandSpring {
    f32 stiffness, damping;
} HandSpring;

/* Stiffness, damping and greatest force of a user's grab of this mass. */
HandSpring hand_spring(const SceneHands *hands, f32 mass_kg);
/* The first constraint in [first, end) that is not a live grab (MatterOps.grabs); `end` if all
 * are. */
u32 hand_find_free(const Matter *matter, u32 first, u32 end);

#endif
