/*
 * deep.h: correction of deep overlap, of particles whose centre is inside a thing.
 * Layer: server/physics/contact.
 */
#ifndef PLENUM_SERVER_PHYSICS_CONTACT_DEEP_H
#define PLENUM_SERVER_PHYSICS_CONTACT_DEEP_H

#include "server/physics/contact/contact.h"

/* A particle that is driven into a thing by more than this is not moved out: five times the weight
 * that usually lies on one. */
#define CONTACT_DEEP_M_S2 50.0f

/* Limits a positional correction (m) in a step of h s. What is inside is corrected towards the
 * nearest surface, parts of one body in different directions: constraints that undo it are
 * stretched more in each step, and give that back as motion. So what drives a particle in stops its
 * correction, and motion out counts as correction. driven: m/s, its approach when the step began,
 * before any contact stopped it. */
static inline f32 contact_deep_apart(const ContactNormal *of, f32 driven, f32 apart, f32 h)
{
    f32 part = driven > 0.0f ? 1.0f - driven / f32_min(CONTACT_DEEP_M_S2 * h, CONTACT_APART_M_S)
                             : 1.0f + of->approach / CONTACT_APART_M_S;
    f32 speed = CONTACT_APART_M_S * f32_max(part, 0.0f) + f32_max(of->bias, 0.0f);
    return f32_min(apart, h * speed);
}

#endif
