/*
 * solve_joint_tree_energy.c: energy of free trees and rings of joints. Joints do no work,
 * approximately also in discrete steps: the impulses of solve and relax are those of RATTLE, which
 * nearly conserves energy if a step resolves the rotation. A light part whipped about by heavy ones
 * rotates by half a radian per step, and each such step adds or removes some percent. So the energy
 * change by the joints of a tree in a substep is taken from the relative motion of its parts, by
 * scaling it: the difference of the velocities to those of the rigid tree in its current pose with
 * the same momentum and angular momentum. The scaling changes neither of these, and respects the
 * joints.
 * Method: projection onto the energy (Hairer, Lubich, Wanner, "Geometric numerical integration",
 * 2006, IV.4), along directions that keep the other invariants.
 */
#include "server/physics/rigid/joint/joint_tree.h"
#include "server/physics/rigid/rotation_step.h"

/* Fraction of the energy that is ignored as rounding. */
#define ENERGY_ROUNDING 1e-5f
/* Ignored change of the centre's velocity, squared, of that and of the energy: rounding. */
#define DRIFT_ROUNDING  1e-10f
/* Maximal squared scale, for parts with little relative motion. What a step of a long tree loses
 * can be most of that: with 4 it stayed lost, and sliders 60 m apart came to rest. */
#define SCALE_MOST      16.0f

/* Totals of the whole tree. */
typedef struct Whole {
    f32x8 mass;      /* kg */
    Vec3x8 velocity; /* of its centre of mass */
    Vec3x8 centre, angular_velocity;
} Whole;

SIMD_INLINE f32x8 mass_of(const TreeSides *side)
{
    f32x8 one = f32x8_set(1.0f);
    i32x8 some = side->mass > f32x8_set(0.0f);
    return f32x8_and(some, one / f32x8_select(some, side->mass, one));
}

static Whole whole_of(const Trees *t)
{
    Whole w = {.mass = f32x8_set(0.0f), .velocity = vec3x8_zero()};
    for (u32 i = 0; i < t->own_count; i++) {
        f32x8 m = mass_of(&t->sides[i]);
        w.mass += m;
        w.velocity = vec3x8_add_scaled(w.velocity, m, t->sides[i].velocity);
    }
    w.velocity = vec3x8_scale(w.velocity, f32x8_set(1.0f) / w.mass);
    return w;
}

SIMD_INLINE f32x8 energy_of(const TreeSides *side, Vec3x8 velocity, Vec3x8 angular_velocity)
{
    Quatx8 q = side->place.orientation, back = {q.w, -q.x, -q.y, -q.z};
    Vec3x8 w = quatx8_rotate(back, angular_velocity);
    f32x8 turning = vec3x8_dot(w, symmetric3x8_mul(&side->inertia, w));
    return 0.5f * (mass_of(side) * vec3x8_dot(velocity, velocity) + turning);
}

/* J, relative to the centre of mass. */
static f32x8 inner_energy(const Trees *t, const Whole *w)
{
    f32x8 sum = f32x8_set(0.0f);
    for (u32 i = 0; i < t->own_count; i++) {
        const TreeSides *side = &t->sides[i];
        sum += energy_of(side, vec3x8_sub(side->velocity, w->velocity), side->angular_velocity);
    }
    return sum;
}

void trees_energy_begin(const Trees *t, i32x8 fits)
{
    if (!t->flies) {
        return;
    }
    Whole w = whole_of(t);
    t->keep->energy = inner_energy(t, &w);
    t->keep->velocity = w.velocity;
    t->keep->fits = fits;
    t->keep->struck = (i32x8){0};
    t->keep->alone = ~(i32x8){0};
    for (u32 i = 1; i < t->own_count; i++) {
        /* Bodies with different gravity. */
        t->keep->alone &= t->sides[i].rest == t->sides[0].rest;
    }
}

/* Positions of the bodies relative to the first of each lane: in next.shift. */
static void gather_arms(const Trees *t)
{
    for (u32 i = 0; i < t->own_count; i++) {
        for (u32 lane = 0; lane < t->lanes; lane++) {
            const Body *bodies = t->rigid->bodies;
            Vec3 from = bodies[t->sides[0].slots[lane]].position;
            Vec3 at = bodies[t->sides[i].slots[lane]].position;
            lane_set_vec3(&t->sides[i].next.shift, lane, vec3_sub(at, from));
        }
    }
}

SIMD_INLINE Symmetric3x8 world_inertia(const TreeSides *side)
{
    return inverse(&side->place.inertia);
}

/* Centre and angular velocity of the rigid tree. */
static void add_angular_velocity(const Trees *t, Whole *w)
{
    f32x8 zero = f32x8_set(0.0f), s = f32x8_set(1.0f) / w->mass;
    Vec3x8 moment = vec3x8_zero();
    Symmetric3x8 sum = {zero, zero, zero, zero, zero, zero};
    w->centre = vec3x8_zero();
    for (u32 i = 0; i < t->own_count; i++) {
        const TreeSides *side = &t->sides[i];
        w->centre = vec3x8_add_scaled(w->centre, s * mass_of(side), side->next.shift);
    }
    for (u32 i = 0; i < t->own_count; i++) {
        const TreeSides *side = &t->sides[i];
        Symmetric3x8 inertia = world_inertia(side);
        f32x8 m = mass_of(side);
        Vec3x8 r = vec3x8_sub(side->next.shift, w->centre);
        Vec3x8 v = vec3x8_sub(side->velocity, w->velocity);
        moment = vec3x8_add_scaled(moment, m, vec3x8_cross(r, v));
        moment = vec3x8_add(moment, symmetric3x8_mul(&inertia, side->angular_velocity));
        sum.xx += inertia.xx + m * (r.y * r.y + r.z * r.z);
        sum.yy += inertia.yy + m * (r.z * r.z + r.x * r.x);
        sum.zz += inertia.zz + m * (r.x * r.x + r.y * r.y);
        sum.xy += inertia.xy - m * r.x * r.y;
        sum.xz += inertia.xz - m * r.x * r.z;
        sum.yz += inertia.yz - m * r.y * r.z;
    }
    Symmetric3x8 response = inverse(&sum);
    w->angular_velocity = symmetric3x8_mul(&response, moment);
}

/* Motion of a part relative to the rigid tree. */
typedef struct Apart {
    Vec3x8 velocity, angular_velocity;
} Apart;

SIMD_INLINE Apart apart_of(const TreeSides *side, const Whole *w)
{
    Vec3x8 r = vec3x8_sub(side->next.shift, w->centre);
    Vec3x8 with = vec3x8_add(w->velocity, vec3x8_cross(w->angular_velocity, r));
    return (Apart){vec3x8_sub(side->velocity, with),
                   vec3x8_sub(side->angular_velocity, w->angular_velocity)};
}

/* Adds the rounding error of the total momentum to the velocity of the whole: for a heavy part
 * far from the first it would be scaled with the rest, with a systematic sign. */
static void take_drift(const Trees *t, Whole *w)
{
    Vec3x8 drift = vec3x8_zero();
    for (u32 i = 0; i < t->own_count; i++) {
        Apart part = apart_of(&t->sides[i], w);
        drift = vec3x8_add_scaled(drift, mass_of(&t->sides[i]), part.velocity);
    }
    w->velocity = vec3x8_add_scaled(w->velocity, f32x8_set(1.0f) / w->mass, drift);
}

/* Dry friction in a tree changes velocities between its joints' solves, but not that of the centre:
 * lanes of which nothing else has. */
static i32x8 left_alone(const Trees *t, const Whole *w)
{
    Vec3x8 change = vec3x8_sub(w->velocity, t->keep->velocity);
    f32x8 speed = vec3x8_dot(w->velocity, w->velocity);
    f32x8 most = DRIFT_ROUNDING * (speed + t->keep->energy / w->mass);
    return t->keep->alone & (vec3x8_dot(change, change) <= most);
}

/* Friction and limits only take energy: of a tree that has some, or is at one, a gain is removed,
 * and a loss stays. */
void trees_energy_keep(const Trees *t)
{
    if (!t->flies || !i32x8_any(t->keep->alone)) {
        return;
    }
    Whole w = whole_of(t);
    f32x8 most = f32x8_set(ENERGY_ROUNDING) * t->keep->energy, one = f32x8_set(1.0f);
    f32x8 gain = inner_energy(t, &w) - t->keep->energy, apart = f32x8_set(0.0f);
    i32x8 lanes =
        t->dry ? left_alone(t, &w) & (gain > most) : t->keep->alone & (f32x8_abs(gain) > most);
    lanes &= (i32x8)(gain > f32x8_set(0.0f)) | ~t->keep->struck;
    if (!i32x8_any(lanes)) {
        return;
    }
    gather_arms(t);
    add_angular_velocity(t, &w);
    take_drift(t, &w);
    for (u32 i = 0; i < t->own_count; i++) {
        Apart part = apart_of(&t->sides[i], &w);
        apart += energy_of(&t->sides[i], part.velocity, part.angular_velocity);
    }
    lanes &= apart > most;
    f32x8 scale = one - gain / f32x8_select(lanes, apart, one);
    scale = f32x8_max(scale, f32x8_set(0.0f));
    scale = f32x8_min(scale, f32x8_select(t->keep->fits, f32x8_set(SCALE_MOST), one));
    scale = f32x8_and(lanes, f32x8_sqrt(scale) - one);
    for (u32 i = 0; i < t->own_count; i++) {
        TreeSides *side = &t->sides[i];
        Apart part = apart_of(side, &w);
        side->velocity = vec3x8_add_scaled(side->velocity, scale, part.velocity);
        side->angular_velocity =
            vec3x8_add_scaled(side->angular_velocity, scale, part.angular_velocity);
    }
}
