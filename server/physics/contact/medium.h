/*
 * medium.h: a medium that blows through things and is dragged by them: air on a grid. Solvers of
 * surfaces and particles ask for its velocity, and give it the opposite of what they take.
 * In a tick each of them first announces how it couples, so that those at one place share what the
 * medium has there; then it exchanges impulses. One at a time, on one thread; questions on any.
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
    /* m/s at a place; false: none of it is there. */
    bool (*velocity)(const void *of, Vec3 place, Vec3 *velocity);
    /* Announces that something is going to take the medium's velocity within the tick as `mass` kg
     * would; at a place where it is. */
    void (*couple)(void *of, Vec3 place, f32 mass);
    /* Share of its drag, 0..1, that something may use: more would turn the medium's motion. */
    f32 (*share)(const void *of, Vec3 place);
    /* N s, on the medium. Returns what it took, to give just that to the other. */
    Vec3 (*impulse)(void *of, Vec3 place, Vec3 impulse);
} MediumOps;

typedef struct Medium {
    const MediumOps *ops;
    void *of;
} Medium;

/* The first of the media that is at a place, and its velocity there; NULL: none. */
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
