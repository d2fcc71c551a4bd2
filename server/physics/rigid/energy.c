/*
 * energy.c: in debug builds (PL_VALIDATE) each tick checks that bodies that touch only each other
 * and resting bodies gain no energy, island by island. Measured from rigid_prepare to the end of
 * the tick; ticks in which others push bodies (rigid_impulse and the like) are skipped.
 */
#include "server/physics/rigid/rigid_internal.h"
#include "shared/base/check.h"

#ifdef PL_VALIDATE

#include <stdio.h>

/* Allowed gain in a tick (the solver's honest bounds, tests/support/truth_contact.c): a fraction
 * of the kinetic energy, the potential energy of lifting an island out of its overlap (m, and
 * fractions of the deepest one and of its bodies' size), and rounding. */
static const f64 kinetic_share = 0.05, lift_m = 0.02, lift_depths = 1.0, lift_reach = 0.02,
                 rounding = 1e-5;

/* Of an island, at its root. */
typedef struct IslandEnergy {
    f64 before, after;   /* J, kinetic and potential */
    f64 kinetic;         /* J, before the tick */
    f64 size;            /* J, sum of magnitudes, for rounding */
    f64 weight;          /* N */
    f64 reach, deepest;  /* m */
    u32 count, slots[4]; /* number of bodies, and the first of them */
    bool driven;         /* another energy source acts on it */
} IslandEnergy;

PL_STATIC_ASSERT(sizeof(IslandEnergy) % sizeof(f64) == 0, "islands lie in an array of numbers");

static f64 dot(Vec3 a, Vec3 b)
{
    return (f64)a.x * (f64)b.x + (f64)a.y * (f64)b.y + (f64)a.z * (f64)b.z;
}

static f64 kinetic_of(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    const BodyState *state = &rigid->states[slot];
    Vec3 angular_velocity = quat_rotate_inverse(body->orientation, state->angular_velocity);
    return 0.5 * ((f64)body->mass * dot(state->velocity, state->velocity) +
                  dot(angular_velocity, symmetric_mul(&body->inertia, angular_velocity)));
}

static f64 potential_of(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    return -(f64)body->mass * (f64)rigid->states[slot].gravity_scale *
           dot(rigid->gravity, body->position);
}

void energy_begin(Rigid *rigid)
{
    u32 islands = rigid->slots * (u32)(sizeof(IslandEnergy) / sizeof(f64));
    rigid->energy_known = rigid_reserve(rigid, &rigid->energies, &rigid->energy_capacity,
                                        2 * rigid->slots + islands, sizeof(f64));
    for (u32 i = 0; i < rigid->slots && rigid->energy_known; i++) {
        rigid->energies[2 * i] = kinetic_of(rigid, i);
        rigid->energies[2 * i + 1] = potential_of(rigid, i);
    }
}

/* Whether something other than contacts and gravity acts on it, or a method without this
 * guarantee. */
static bool is_driven(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    Vec3 p = vec3_abs(body->position);
    bool driven = (body->flags & BODY_PGS) || body->restitution > 1.0f ||
                  rigid->restitution_min > 1.0f ||
                  vec3_length_squared(body->surface_velocity) > 0.0f ||
                  f32_max(p.x, f32_max(p.y, p.z)) >= 0.99f * WORLD_EXTENT_MAX_M;
    for (u32 g = 0; g < rigid->grab_count; g++) {
        driven |= rigid->grabs[g].live && rigid->grabs[g].body.slot == slot;
    }
    return driven;
}

static void add_bodies(Rigid *rigid, IslandEnergy *islands)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        const Body *body = &rigid->bodies[i];
        if (!body_is_active(body) || body->motion != BODY_DYNAMIC) {
            continue;
        }
        IslandEnergy *island = &islands[island_root(rigid, i)];
        f64 kinetic = kinetic_of(rigid, i), potential = potential_of(rigid, i);
        f64 kinetic_before = rigid->energies[2 * i], potential_before = rigid->energies[2 * i + 1];
        island->before += kinetic_before + potential_before;
        island->after += kinetic + potential;
        island->kinetic += kinetic_before;
        island->size += kinetic_before + fabs(potential_before) + fabs(potential);
        island->weight += (f64)body->mass * (f64)vec3_length(rigid->gravity) *
                          fabs((f64)rigid->states[i].gravity_scale);
        island->reach = fmax(island->reach, (f64)shape_reach(&body->shape));
        island->driven |= is_driven(rigid, i);
        if (island->count < PL_COUNT(island->slots)) {
            island->slots[island->count] = i;
        }
        island->count++;
    }
}

/* Overlap depth of bodies, and contacts with driven ones. */
static void add_contacts(Rigid *rigid, IslandEnergy *islands)
{
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (c->flags & CONTACT_SENSOR) {
            continue;
        }
        bool driven = is_driven(rigid, c->a) || is_driven(rigid, c->b) ||
                      kinematic_moves(rigid, c->a) || kinematic_moves(rigid, c->b);
        f64 deepest = 0.0;
        for (u32 p = 0; contact_is_solved(rigid, i) && p < c->flags >> CONTACT_COUNT_SHIFT; p++) {
            const Manifold *manifold = &rigid->manifolds[rigid->contact_manifolds[i]];
            deepest = fmax(deepest, -(f64)manifold->points[p].separation);
        }
        for (u32 k = 0; k < 2; k++) {
            IslandEnergy *island = &islands[island_root(rigid, k == 0 ? c->a : c->b)];
            island->deepest = fmax(island->deepest, deepest);
            island->driven |= driven;
        }
    }
    /* Motors and springs add energy, and breaking releases it; laws of joints are in motion/. */
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        u32 a, b;
        if (joint_bodies(rigid, i, &a, &b)) {
            islands[a == JOINT_WORLD ? 0 : island_root(rigid, a)].driven |= a != JOINT_WORLD;
            islands[b == JOINT_WORLD ? 0 : island_root(rigid, b)].driven |= b != JOINT_WORLD;
        }
    }
}

static void check_island(const IslandEnergy *island)
{
    f64 lift = lift_m + lift_depths * island->deepest + lift_reach * island->reach;
    f64 most = island->before + kinetic_share * island->kinetic + island->weight * lift +
               rounding * island->size + 1e-9;
    if (!(island->after > most)) {
        return;
    }
    fprintf(stderr, "energy of %u bodies (", island->count);
    for (u32 k = 0; k < u32_min(island->count, PL_COUNT(island->slots)); k++) {
        fprintf(stderr, k == 0 ? "slot %u" : ", %u", island->slots[k]);
    }
    fprintf(
        stderr,
        ") rises in a tick from %.9g J (kinetic %.9g) to %.9g J, at most to %.9g; deepest overlap "
        "%.3g m\n",
        island->before, island->kinetic, island->after, most, island->deepest);
    VALIDATE(island->after <= most);
}

void energy_check(Rigid *rigid)
{
    if (rigid->slots == 0 || !rigid->energy_known || rigid->guest_count != 0 ||
        rigid->joints.break_count > 0 || rigid->stuck_count > 0 || rigid->overlaps_deeply) {
        return;
    }
    IslandEnergy *islands = (IslandEnergy *)&rigid->energies[2 * rigid->slots];
    memset(islands, 0, rigid->slots * sizeof(*islands));
    island_build(rigid);
    add_bodies(rigid, islands);
    add_contacts(rigid, islands);
    for (u32 i = 0; i < rigid->slots; i++) {
        if (islands[i].count > 0 && !islands[i].driven) {
            check_island(&islands[i]);
        }
    }
}

void energy_pass(Rigid *rigid, u32 slot, Vec3 before)
{
    if (rigid->energy_known) {
        Vec3 velocity = rigid->states[slot].velocity;
        rigid->energies[2 * slot] +=
            0.5 * (f64)rigid->bodies[slot].mass * (dot(velocity, velocity) - dot(before, before));
    }
}

#else

void energy_begin(Rigid *rigid)
{
    PL_UNUSED(rigid);
}
void energy_check(Rigid *rigid)
{
    PL_UNUSED(rigid);
}
void energy_pass(Rigid *rigid, u32 slot, Vec3 before)
{
    PL_UNUSED(rigid);
    PL_UNUSED(slot);
    PL_UNUSED(before);
}

#endif
