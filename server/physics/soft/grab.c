/* grab.c: grab constraints that drag particles. */
#include "server/physics/soft/batches.h"

#include "shared/base/limits.h"

i32 soft_grab_add(Soft *soft, const SoftGrab *grab)
{
    for (u32 i = 0; i < SOFT_GRABS_MAX; i++) {
        if (!soft->grabs[i].live) {
            soft_wake(soft, soft->matter[grab->particle].body);
            soft->grabs[i] = *grab;
            soft->grabs[i].live = 1;
            soft->grab_end = u32_max(soft->grab_end, i + 1);
            return (i32)i;
        }
    }
    return -1;
}

void soft_grab_remove(Soft *soft, u32 grab)
{
    SoftGrab none = {0};
    soft->grabs[grab] = none;
}

SoftGrab *soft_grab(Soft *soft, u32 grab)
{
    return &soft->grabs[grab];
}

/* Grabs come from users: non-finite or out-of-range values exert no force. */
static bool is_valid(const SoftGrab *grab)
{
    return vec3_is_finite(grab->target) && vec3_is_finite(grab->force) && grab->stiffness > 0.0f &&
           grab->stiffness < 1e12f && grab->damping >= 0.0f && grab->damping < 1e12f &&
           grab->force_max >= 0.0f && grab->force_max < 1e12f &&
           vec3_length(grab->target) <= 4.0f * WORLD_EXTENT_MAX_M &&
           vec3_length(grab->force) <= 1.01f * grab->force_max;
}

/* Applies the grab forces of the last step before the constraints: a grab solved only after them
 * would respond to one particle and not to the load on it. */
void grabs_warm(Soft *soft, u32 group, f32 h)
{
    for (u32 i = 0; i < soft->grab_end; i++) {
        const SoftGrab *grab = &soft->grabs[i];
        if (grab->live && is_valid(grab) && soft->batches->group_of[grab->particle] == group &&
            !soft_solves_ticks(soft, grab->particle)) {
            f32 w = soft->points[grab->particle].inverse_mass;
            Vec3 *v = &soft->points[grab->particle].velocity;
            *v = vec3_add_scaled(*v, w * h, grab->force);
        }
    }
}

/* The spring as an XPBD constraint with damping (Macklin 2016, eq. 26), its force bounded. */
void grab_solve(Soft *soft, SoftGrab *grab, f32 h)
{
    f32 w = soft->points[grab->particle].inverse_mass;
    if (!is_valid(grab)) {
        grab->force = vec3_zero();
        return;
    }
    if (w <= 0.0f) {
        return;
    }
    Vec3 *v = &soft->points[grab->particle].velocity;
    Vec3 moved = vec3_scale(*v, h);
    Vec3 away = vec3_add(vec3_sub(soft->points[grab->particle].position, grab->target), moved);
    f32 alpha = 1.0f / (grab->stiffness * h * h);
    f32 gamma = grab->damping / (grab->stiffness * h);
    Vec3 lambda = vec3_scale(grab->force, h * h);
    Vec3 wrong = vec3_add_scaled(vec3_add_scaled(away, gamma, moved), alpha, lambda);
    Vec3 force = vec3_add_scaled(lambda, -1.0f / ((1.0f + gamma) * w + alpha), wrong);
    force = vec3_scale(force, 1.0f / (h * h));
    f32 size = vec3_length(force);
    if (!(size < INFINITY)) { /* its velocity without the grab */
        force = vec3_zero();
    } else if (size > grab->force_max) {
        force = vec3_scale(force, grab->force_max / size);
    }
    *v = vec3_add_scaled(*v, w * h, vec3_sub(force, grab->force));
    grab->force = force;
}

void grabs_solve(Soft *soft, f32 h)
{
    for (u32 i = 0; i < soft->grab_end; i++) {
        if (soft->grabs[i].live && !soft_solves_ticks(soft, soft->grabs[i].particle)) {
            grab_solve(soft, &soft->grabs[i], h);
        }
    }
}
