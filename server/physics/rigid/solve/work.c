/*
 * work.c: the work that moving bodies and moving surfaces do on the bodies that touch them. A
 * contact with impulse J at a point that moves at the velocity v does the work J · v. Summed over a
 * substep, when its impulses are known; measured only on demand, and no state.
 */
#include "server/physics/rigid/body_wide.h"

void rigid_measure_work(Rigid *rigid, bool on)
{
    rigid->measures_work = on;
    rigid->work = 0.0;
}

f64 rigid_work(const Rigid *rigid)
{
    return rigid->work;
}

/* The velocity that the solver cannot change: that of a body that is not dynamic, and that of a
 * moving surface. */
typedef struct Driven {
    Vec3 velocity, angular_velocity, surface; /* m/s, rad/s, m/s */
} Driven;

static Driven driven_of(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    const BodyState *state = &rigid->states[slot];
    Driven driven = {.surface = quat_rotate(body->orientation, body->surface_velocity)};
    if (state->inverse_mass <= 0.0f) {
        driven.velocity = state->velocity;
        driven.angular_velocity = state->angular_velocity;
    }
    return driven;
}

static bool moves(const Driven *driven)
{
    return vec3_length_squared(driven->velocity) + vec3_length_squared(driven->angular_velocity) +
               vec3_length_squared(driven->surface) >
           0.0f;
}

/* Impulse of a lane on b, its moment about b's centre (which = 1) or about a's (0). */
static Vec3 lane_impulse(const Rigid *rigid, const ContactWide *row, u32 lane, u32 which,
                         Vec3 *friction, Vec3 *moment)
{
    const PointWide *points = &rigid->points[row->first];
    Vec3 normal = lane_vec3(&row->normal, lane), t1 = lane_vec3(&row->tangent, lane);
    *friction = vec3_scale(t1, lane_read(&row->friction_impulse[0], lane));
    *friction = vec3_add_scaled(*friction, lane_read(&row->friction_impulse[1], lane),
                                vec3_cross(normal, t1));
    Vec3 arm = lane_vec3(which == 0 ? &row->arm_a : &row->arm_b, lane), sum = *friction;
    *moment = vec3_cross(arm, *friction);
    *moment = vec3_add_scaled(*moment, lane_read(&row->twist_impulse, lane), normal);
    for (u32 p = 0; p < row->points; p++) {
        f32 impulse = lane_read(&points[p].impulse, lane);
        const Vec3x8 *angular = which == 0 ? &points[p].angular_a : &points[p].angular_b;
        sum = vec3_add_scaled(sum, impulse, normal);
        *moment = vec3_add_scaled(*moment, impulse, lane_vec3(angular, lane));
    }
    return sum;
}

static f64 lane_work(const Rigid *rigid, const ContactWide *row, u32 lane)
{
    f64 work = 0.0;
    for (u32 which = 0; which < 2; which++) {
        Driven driven = driven_of(rigid, which == 0 ? row->a[lane] : row->b[lane]);
        Vec3 friction, moment;
        if (!moves(&driven)) {
            continue;
        }
        Vec3 impulse = lane_impulse(rigid, row, lane, which, &friction, &moment);
        f64 done = (f64)vec3_dot(impulse, driven.velocity) +
                   (f64)vec3_dot(moment, driven.angular_velocity) +
                   (f64)vec3_dot(friction, driven.surface);
        work += which == 0 ? done : -done;
    }
    return work;
}

void contact_work(Rigid *rigid)
{
    for (u32 r = 0; r < rigid->row_count; r++) {
        const ContactWide *row = &rigid->rows[r];
        for (u32 lane = 0; lane < SIMD_LANES; lane++) {
            if (row->contact[lane] != ROW_EMPTY) {
                rigid->work += lane_work(rigid, row, lane);
            }
        }
    }
}
