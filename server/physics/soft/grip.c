/* grip.c: hands that drag particles. */
#include "server/physics/soft/packs.h"

#include "shared/base/limits.h"

i32 soft_grip_add(Soft *soft, const SoftGrip *grip)
{
    for (u32 i = 0; i < SOFT_GRIPS_MAX; i++) {
        if (!soft->grips[i].live) {
            soft_wake(soft, soft->matter[grip->particle].body);
            soft->grips[i] = *grip;
            soft->grips[i].live = 1;
            soft->grip_end = u32_max(soft->grip_end, i + 1);
            return (i32)i;
        }
    }
    return -1;
}

void soft_grip_remove(Soft *soft, u32 grip)
{
    SoftGrip none = {0};
    soft->grips[grip] = none;
}

SoftGrip *soft_grip(Soft *soft, u32 grip)
{
    return &soft->grips[grip];
}

/* A hand comes from outside: what is no number, or out of all bounds, does not pull. */
static bool is_sane(const SoftGrip *grip)
{
    return vec3_is_finite(grip->target) && vec3_is_finite(grip->force) && grip->stiffness > 0.0f &&
           grip->stiffness < 1e12f && grip->damping >= 0.0f && grip->damping < 1e12f &&
           grip->force_max >= 0.0f && grip->force_max < 1e12f &&
           vec3_length(grip->target) <= 4.0f * WORLD_EXTENT_MAX_M &&
           vec3_length(grip->force) <= 1.01f * grip->force_max;
}

/* What the hands pulled with in the last step, before the cloth answers: solved only after it, a
 * hand would feel one particle and not what hangs on it. */
void grips_warm(Soft *soft, u32 group, f32 h)
{
    for (u32 i = 0; i < soft->grip_end; i++) {
        const SoftGrip *grip = &soft->grips[i];
        if (grip->live && is_sane(grip) && soft->packs->group_of[grip->particle] == group &&
            !soft_solves_ticks(soft, grip->particle)) {
            f32 w = soft->points[grip->particle].inverse_mass;
            Vec3 *v = &soft->points[grip->particle].velocity;
            *v = vec3_add_scaled(*v, w * h, grip->force);
        }
    }
}

/* The spring as an XPBD constraint with damping (Macklin 2016, eq. 26), its force bounded. */
void grip_solve(Soft *soft, SoftGrip *grip, f32 h)
{
    f32 w = soft->points[grip->particle].inverse_mass;
    if (!is_sane(grip)) {
        grip->force = vec3_zero();
        return;
    }
    if (w <= 0.0f) {
        return;
    }
    Vec3 *v = &soft->points[grip->particle].velocity;
    Vec3 moved = vec3_scale(*v, h);
    Vec3 away = vec3_add(vec3_sub(soft->points[grip->particle].position, grip->target), moved);
    f32 alpha = 1.0f / (grip->stiffness * h * h);
    f32 gamma = grip->damping / (grip->stiffness * h);
    Vec3 lambda = vec3_scale(grip->force, h * h);
    Vec3 wrong = vec3_add_scaled(vec3_add_scaled(away, gamma, moved), alpha, lambda);
    Vec3 force = vec3_add_scaled(lambda, -1.0f / ((1.0f + gamma) * w + alpha), wrong);
    force = vec3_scale(force, 1.0f / (h * h));
    f32 size = vec3_length(force);
    if (size > grip->force_max) {
        force = vec3_scale(force, grip->force_max / size);
    }
    *v = vec3_add_scaled(*v, w * h, vec3_sub(force, grip->force));
    grip->force = force;
}

void grips_solve(Soft *soft, f32 h)
{
    for (u32 i = 0; i < soft->grip_end; i++) {
        if (soft->grips[i].live && !soft_solves_ticks(soft, soft->grips[i].particle)) {
            grip_solve(soft, &soft->grips[i], h);
        }
    }
}
