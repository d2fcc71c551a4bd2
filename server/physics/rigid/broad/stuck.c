/*
 * stuck.c: bodies stuck deep in several others, for example when hundreds are spawned in one place.
 * Each contact pushes with at most RIGID_PUSH_M_S, but many contacts add up: velocities are limited
 * such that the bodies still separate within a second. Bodies with less overlap are not affected.
 */
#include "server/physics/rigid/rigid_internal.h"
#include "shared/base/check.h"

#include <stdatomic.h>

/* Speed limits of stuck bodies. */
#define STUCK_SPEED_M_S           8.0f
#define STUCK_ANGULAR_SPEED_RAD_S 20.0f
/* An overlap is deep above this fraction of the largest ball in the smaller body, and above this
 * minimum. */
#define DEEP_SHARE                0.5f
#define DEEP_M                    0.02f

enum {
    STUCK_CONTACTS = 8 /* number of deep contacts of a stuck body */
};

void stuck_begin(Rigid *rigid)
{
    memset(rigid->deep, 0, rigid->slots * sizeof(*rigid->deep));
}

void stuck_count(Rigid *rigid, u32 slot_a, u32 slot_b, f32 depth)
{
    if (depth < DEEP_M) {
        return;
    }
    CHECK(slot_a < rigid->slots && slot_b < rigid->slots);
    const Body *a = &rigid->bodies[slot_a], *b = &rigid->bodies[slot_b];
    f32 least = INFINITY;
    if (a->motion == BODY_DYNAMIC) {
        least = shape_inner_radius(&a->shape);
    }
    if (b->motion == BODY_DYNAMIC) {
        least = f32_min(least, shape_inner_radius(&b->shape));
    }
    if (depth > DEEP_SHARE * least) {
        atomic_fetch_add_explicit(&rigid->deep[slot_a], 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&rigid->deep[slot_b], 1, memory_order_relaxed);
    }
}

void stuck_find(Rigid *rigid)
{
    rigid->stuck_count = 0;
    if (rigid->penetration_max < DEEP_M) {
        return;
    }
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        if (atomic_load_explicit(&rigid->deep[slot], memory_order_relaxed) >= STUCK_CONTACTS &&
            rigid->bodies[slot].motion == BODY_DYNAMIC) {
            rigid->stuck[rigid->stuck_count++] = slot;
        }
    }
}

static Vec3 slowed(Vec3 v, f32 limit)
{
    f32 speed2 = vec3_length_squared(v);
    return speed2 > limit * limit ? vec3_scale(v, limit / sqrtf(speed2)) : v;
}

void stuck_slow(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->stuck_count; i++) {
        BodyState *state = &rigid->states[rigid->stuck[i]];
        state->velocity = slowed(state->velocity, STUCK_SPEED_M_S);
        state->angular_velocity = slowed(state->angular_velocity, STUCK_ANGULAR_SPEED_RAD_S);
    }
}
