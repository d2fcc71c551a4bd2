/*
 * medium.h: a medium that drags things and is dragged by them: air on a grid. Solvers of surfaces
 * and particles query its velocity and return the opposite of each impulse they take.
 * In each tick every solver first announces its coupling, so that solvers at the same place share
 * the medium's momentum there, then exchanges impulses. One solver at a time, on one thread;
 * queries on any thread.
 * Units SI, world axes.
 * Layer: server/physics/contact.
 */
#ifndef PLENUM_SERVER_PHYSICS_CONTACT_MEDIUM_H
#define PLENUM_SERVER_PHYSICS_CONTACT_MEDIUM_H

#include "shared/math/vec.h"

enum {
    MEDIA_MAX = 16 /* of a world */
};

typedef struct MediumOps {
    /* Velocity at a point, m/s; false: outside the medium. */
    bool (*velocity)(const void *of, Vec3 place, Vec3 *velocity);
    /* Announces a coupling in this tick, equivalent to `mass` kg that take on the medium's
     * velocity, at a point within the medium. */
    void (*couple)(void *of, Vec3 place, f32 mass);
    /* Fraction of its drag, 0..1, that a solver may apply: more would reverse the medium's
     * motion. */
    f32 (*share)(const void *of, Vec3 place);
    /* Applies an impulse, N s. Returns the part that the medium took; apply exactly that to the
     * other side. */
    Vec3 (*impulse)(void *of, Vec3 place, Vec3 impulse);
} MediumOps;

typedef struct Medium {
    const MediumOps *ops;
    void *of;
} Medium;

/* The first medium at a point, and its velocity there; NULL: none. */
static inline const Medium *medium_at(const Medium *media, u32 count, Vec3 place, Vec3 *velocity)
{
    for (u32 i = 0; i < count; i++) {
        if (media[i].ops->velocity(media[i].of, place, velocity)) {
            return &media[i];
        }
    }
    return NULL;
}

#endif
