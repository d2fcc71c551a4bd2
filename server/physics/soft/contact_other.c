/* contact_other.c: the colliders that soft bodies may touch in a tick. */
#include "server/physics/soft/soft_internal.h"

#include <stdlib.h>

void soft_others_set(Soft *soft, SoftOthers others)
{
    soft->other_count = u32_min(others.count, SOFT_COLLIDERS_MAX);
    soft->holder = SOFT_NONE;
    soft->contact_count = soft->near_count = soft->near_fixed = soft->face_count = 0;
    for (u32 i = 0; i < soft->other_count; i++) {
        SoftOther *other = &soft->others[i];
        other->collider = others.colliders[i];
        other->support_count = 0;
        if (soft->holder == SOFT_NONE && contact_bodies(&other->collider) != NULL) {
            soft->holder = i;
        }
    }
}

void soft_others_finish(Soft *soft)
{
    for (u32 i = 0; i < SOFT_COLLIDERS_MAX; i++) {
        free(soft->others[i].supports);
        soft->others[i] = (SoftOther){0};
    }
}

u32 soft_others_take(Soft *soft, u32 index, u32 thing)
{
    SoftOther *other = &soft->others[index];
    const ContactBodyOps *bodies = contact_bodies(&other->collider);
    if (!other->collider.ops->take(other->collider.of, thing)) {
        return SOFT_NONE;
    }
    u32 mover = bodies != NULL ? bodies->mover(other->collider.of, thing) : 0;
    if (bodies == NULL || mover < other->support_count) {
        return mover;
    }
    if (!memory_grow((void **)&other->supports, &other->support_capacity, mover + 1,
                     sizeof *other->supports)) {
        return SOFT_NONE;
    }
    for (; other->support_count <= mover; other->support_count++) {
        other->supports[other->support_count] = (SoftSupport){0};
    }
    return mover;
}

SoftSupport *soft_support(const Soft *soft, u32 index, u32 thing)
{
    const SoftOther *other = &soft->others[index];
    u32 mover = contact_bodies(&other->collider)->mover(other->collider.of, thing);
    return mover < other->support_count ? &other->supports[mover] : NULL;
}

bool soft_holds(const Soft *soft, const SoftAttachment *held)
{
    return soft->holder != SOFT_NONE &&
           soft_bodies_of(soft, soft->holder)
               ->alive(soft_collider_of(soft, soft->holder)->of, held->body);
}

Bounds soft_other_bounds(const Soft *soft, u32 other, u32 thing)
{
    const ContactBodyOps *bodies = soft_bodies_of(soft, other);
    return bodies != NULL
               ? bodies->bounds(soft_collider_of(soft, other)->of, thing)
               : (Bounds){{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
}
