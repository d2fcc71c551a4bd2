/*
 * rotation_step.h: integration of rotations in a step, eight bodies at a time; used by the step
 * itself and by joints that predict it.
 * Layer: server/physics/rigid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_ROTATION_STEP_H
#define PLENUM_SERVER_PHYSICS_RIGID_ROTATION_STEP_H

#include "server/physics/rigid/body_wide.h"

/* Like quat_integrate. */
SIMD_INLINE Quatx8 quatx8_integrate(Quatx8 q, Vec3x8 angular_velocity, f32x8 h)
{
    f32x8 x = angular_velocity.x * h * 0.5f, y = angular_velocity.y * h * 0.5f,
          z = angular_velocity.z * h * 0.5f;
    Quatx8 r = {q.w + (-x * q.x - y * q.y - z * q.z), q.x + (x * q.w + y * q.z - z * q.y),
                q.y + (y * q.w + z * q.x - x * q.z), q.z + (x * q.y - y * q.x + z * q.w)};
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    f32x8 length = f32x8_sqrt(r.w * r.w + r.x * r.x + r.y * r.y + r.z * r.z);
    /* Images can hold impulses that rotate a body by more than f32 squares. */
    i32x8 regular = (length > 1e-20f) & (length < f32x8_set(INFINITY));
    f32x8 s = one / f32x8_select(regular, length, one);
    return (Quatx8){f32x8_select(regular, r.w * s, one), f32x8_select(regular, r.x * s, zero),
                    f32x8_select(regular, r.y * s, zero), f32x8_select(regular, r.z * s, zero)};
}

/* Per lane a where the mask is set, otherwise b. */
SIMD_INLINE Vec3x8 vec3x8_select(i32x8 mask, Vec3x8 a, Vec3x8 b)
{
    return (Vec3x8){f32x8_select(mask, a.x, b.x), f32x8_select(mask, a.y, b.y),
                    f32x8_select(mask, a.z, b.z)};
}

/* Solves m x = r for the 3×3 matrix with these columns by Cramer's rule; zero if singular. */
SIMD_INLINE Vec3x8 columns_solve(Vec3x8 x, Vec3x8 y, Vec3x8 z, Vec3x8 r)
{
    Vec3x8 yz = vec3x8_cross(y, z);
    f32x8 determinant = vec3x8_dot(x, yz), one = f32x8_set(1.0f);
    i32x8 regular = f32x8_abs(determinant) > 1e-30f;
    f32x8 s = f32x8_and(regular, one / f32x8_select(regular, determinant, one));
    return (Vec3x8){vec3x8_dot(r, yz) * s, vec3x8_dot(x, vec3x8_cross(r, z)) * s,
                    vec3x8_dot(x, vec3x8_cross(y, r)) * s};
}

/* One Newton step on 2 I (m − w) + h m × I m = 0. */
SIMD_INLINE Vec3x8 gyroscopic_step(const Symmetric3x8 *i, Vec3x8 w, Vec3x8 m, f32x8 h)
{
    f32x8 two = f32x8_set(2.0f), zero = f32x8_set(0.0f);
    Vec3x8 im = symmetric3x8_mul(i, m);
    Vec3x8 error = vec3x8_add_scaled(vec3x8_scale(symmetric3x8_mul(i, vec3x8_sub(m, w)), two), h,
                                     vec3x8_cross(m, im));
    /* Column k of the derivative: 2 I e + h (e × I m + m × I e). */
    Vec3x8 ix = {i->xx, i->xy, i->xz}, iy = {i->xy, i->yy, i->yz}, iz = {i->xz, i->yz, i->zz};
    Vec3x8 ex = {zero, -im.z, im.y}, ey = {im.z, zero, -im.x}, ez = {-im.y, im.x, zero};
    Vec3x8 x = vec3x8_add_scaled(vec3x8_scale(ix, two), h, vec3x8_add(ex, vec3x8_cross(m, ix)));
    Vec3x8 y = vec3x8_add_scaled(vec3x8_scale(iy, two), h, vec3x8_add(ey, vec3x8_cross(m, iy)));
    Vec3x8 z = vec3x8_add_scaled(vec3x8_scale(iz, two), h, vec3x8_add(ez, vec3x8_cross(m, iz)));
    return vec3x8_sub(m, columns_solve(x, y, z, error));
}

/* Mean angular velocity, in the body's frame, of a torque-free step h that starts with the
 * angular velocity w: the implicit midpoint rule, Newton steps on 2 I (m − w) + h m × I m = 0;
 * after the step the angular velocity is 2 m − w. With the rotation of a step by Cayley's map of
 * h m it conserves the energy and the angular momentum vector (Moser and Veselov 1991). */
SIMD_INLINE Vec3x8 mean_angular_velocity(const Symmetric3x8 *inertia, Vec3x8 w, f32x8 h)
{
    /* Squared rotations per step above which one more Newton step is needed for full precision:
     * for the angle x the first one leaves an error of x³/4 and each next one the square of
     * that. */
    static const f32 angles[] = {1e-5f, 1e-2f, 0.3f};
    f32x8 rotation = vec3x8_dot(w, w) * h * h;
    Vec3x8 m = gyroscopic_step(inertia, w, w, h);
    for (u32 i = 0; i < PL_COUNT(angles); i++) {
        i32x8 far = rotation >= angles[i];
        if (!i32x8_any(far)) {
            break;
        }
        m = vec3x8_select(far, gyroscopic_step(inertia, w, m, h), m);
    }
    return m;
}

/* The change of the angular velocity w in a step: 2 (m − w). If Newton has not converged
 * (extreme rotation), energy must still not grow. */
SIMD_INLINE Vec3x8 angular_velocity_change(const Symmetric3x8 *inertia, Vec3x8 w, Vec3x8 m)
{
    f32x8 one = f32x8_set(1.0f);
    Vec3x8 change = vec3x8_scale(vec3x8_sub(m, w), f32x8_set(2.0f)), after = vec3x8_add(w, change);
    f32x8 before_energy = vec3x8_dot(w, symmetric3x8_mul(inertia, w));
    f32x8 after_energy = vec3x8_dot(after, symmetric3x8_mul(inertia, after));
    i32x8 kept = after_energy <= before_energy * 1.0001f;
    if (i32x8_any(~kept)) {
        f32x8 ratio = before_energy / after_energy;
        i32x8 usable = (ratio > 0.0f) & (ratio < f32x8_set(INFINITY));
        f32x8 s = f32x8_sqrt(f32x8_select(usable, ratio, one));
        Vec3x8 limited = vec3x8_sub(vec3x8_scale(after, s), w);
        Vec3x8 none = {f32x8_set(0.0f), f32x8_set(0.0f), f32x8_set(0.0f)};
        change = vec3x8_select(kept, change, vec3x8_select(usable, limited, none));
    }
    return change;
}

/* Rotation of a body in a step, and its angular velocity afterwards; world axes, rad/s. */
typedef struct RotationStep {
    Vec3x8 mean, after;
} RotationStep;

/* The step rotates by m + d/2; the angular velocity afterwards, in the body's old frame, is
 * obtained by rotating about m, which only affects d/2. So the angular velocity changes by d/2
 * and the rotated d/2, which are small: rounding errors do not accumulate in constant motion. */
SIMD_INLINE RotationStep rotation_freely(Quatx8 q, const Symmetric3x8 *inertia,
                                         Vec3x8 angular_velocity, f32x8 h)
{
    Quatx8 back = {q.w, -q.x, -q.y, -q.z};
    Vec3x8 w = quatx8_rotate(back, angular_velocity), m = mean_angular_velocity(inertia, w, h);
    Vec3x8 d = angular_velocity_change(inertia, w, m), u = vec3x8_scale(m, h * 0.5f);
    Vec3x8 across = vec3x8_cross(u, d);
    f32x8 s = f32x8_set(1.0f) / (f32x8_set(1.0f) + vec3x8_dot(u, u));
    Vec3x8 rotated = vec3x8_add(across, vec3x8_cross(u, across));
    Vec3x8 mean = vec3x8_add_scaled(angular_velocity, f32x8_set(0.5f), quatx8_rotate(q, d));
    Vec3x8 after = vec3x8_add(angular_velocity, quatx8_rotate(q, vec3x8_add_scaled(d, s, rotated)));
    return (RotationStep){mean, after};
}

#endif
