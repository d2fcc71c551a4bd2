/* store.c: accessors of the store; calls no other file. */
#include "server/physics/soft/soft_internal.h"

u32 soft_particles(const Soft *soft)
{
    return soft->count;
}

u32 soft_bodies(const Soft *soft)
{
    return soft->body_count;
}

u32 soft_constraints(const Soft *soft)
{
    return soft->constraint_count;
}

u32 soft_body_of(const Soft *soft, u32 particle)
{
    return soft->matter[particle].body;
}

Vec3 soft_position(const Soft *soft, u32 particle)
{
    return soft->points[particle].position;
}

Vec3 soft_velocity(const Soft *soft, u32 particle)
{
    return soft->points[particle].velocity;
}

f32 soft_inverse_mass(const Soft *soft, u32 particle)
{
    const SoftPoint *p = &soft->points[particle];
    return p->inverse_mass + p->spare; /* one of them is 0 */
}

bool soft_is_absent(const Soft *soft, u32 body)
{
    return soft->absent_count != 0 && soft->rests[body].state.asleep == REST_ABSENT;
}
