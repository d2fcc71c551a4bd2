/*
 * contact_row.h: eight contacts that are solved together: what the solver of each substep
 * (solve_contact.c) and that of impacts (solve_bounce.c) have in common.
 * Layer: server/physics/rigid/solve, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_SOLVE_CONTACT_ROW_H
#define PLENUM_SERVER_PHYSICS_RIGID_SOLVE_CONTACT_ROW_H

#include "server/physics/rigid/body_wide.h"

enum {
    NORMAL_SWEEPS = 4 /* over the points of a manifold, where they are not solved together */
};

/* Applies the impulse to b, the opposite to a; angular parts are before multiplication by the
 * inertia. */
SIMD_INLINE void row_apply(const ContactWide *row, Side *a, Side *b, Vec3x8 impulse,
                           Vec3x8 angular_a, Vec3x8 angular_b)
{
    a->velocity = vec3x8_sub_scaled(a->velocity, a->mass, impulse);
    b->velocity = vec3x8_add_scaled(b->velocity, b->mass, impulse);
    a->angular_velocity =
        vec3x8_sub(a->angular_velocity, symmetric3x8_mul(&row->inertia_a, angular_a));
    b->angular_velocity =
        vec3x8_add(b->angular_velocity, symmetric3x8_mul(&row->inertia_b, angular_b));
}

/* Index in `coupling` of two points of a manifold, p < q. */
SIMD_INLINE u32 row_couple_index(u32 p, u32 q)
{
    return q * (q - 1) / 2 + p;
}

/* Velocity at point p after the changes at the other points of its manifold. */
SIMD_INLINE f32x8 row_coupled_speed(const ContactWide *row, f32x8 speed, const f32x8 *changes,
                                    const u32 p, const u32 count)
{
    for (u32 q = 0; q < count; q++) {
        if (q != p) {
            speed += row->coupling[row_couple_index(q < p ? q : p, q < p ? p : q)] * changes[q];
        }
    }
    return speed;
}

/* Closing speed (m/s) of the bodies at a point, along the normal. */
SIMD_INLINE f32x8 row_point_speed(const ContactWide *row, const PointWide *point, const Side *a,
                                  const Side *b)
{
    f32x8 closing = vec3x8_dot(row->normal, vec3x8_sub(b->velocity, a->velocity));
    return closing + vec3x8_dot(point->angular_b, b->angular_velocity) -
           vec3x8_dot(point->angular_a, a->angular_velocity);
}

/* solve_bounce.c: the impacts of a row in this substep; false: there is none. */
bool contact_bounce_row(Rigid *rigid, ContactWide *row, f32 h);

#endif
