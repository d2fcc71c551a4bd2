/* grain_wall.c: grains against other matter: immovable things grain by grain, in parallel; movable
 * ones in order, with the opposite impulse on them. */
#include "server/physics/liquid/grain.h"
#include "server/physics/liquid/near8.h"
#include "shared/base/memory.h"

enum {
    ITERATIONS = 2, /* iterations of friction and rolling in a sweep */
    MOVERS = 32     /* of a job */
};

/* Contacts are solved up to this gap, in diameters, and those reached within the step. */
static const f32 reach_part = 0.1f;
/* A body is heavy if its inverse mass is less than this part of a grain's. */
static const f32 light_part = 0.001f;

static bool add_wall(Liquid *liquid, u32 item, u32 k)
{
    Grains *grains = liquid->contacts;
    const LiquidPair *pair = &liquid->pairs[k];
    f32 d = liquid->def.spacing, gap = pair->far - 0.5f * d;
    Vec3 against = vec3_sub(vec3_of(&liquid->motion[item]), pair->speed);
    f32 approach = -vec3_dot(against, pair->normal);
    if (!(gap < reach_part * d + f32_max(approach, 0.0f) * liquid->h)) {
        return true;
    }
    bool moves = pair->mover != LIQUID_STATIC;
    const LiquidMover *mover = moves ? &liquid->movers[pair->mover] : NULL;
    if (moves && !mover->meets) {
        return true;
    }
    const Collider *collider = &liquid->colliders[pair->collider];
    u32 p = liquid->phase_of[item];
    f32 rough = liquid->def.phases[p].contact_friction;
    GrainWall wall = {
        .item = item,
        .pair = k,
        .normal = pair->normal,
        .speed = pair->speed,
        .open = f32_max(gap, 0.0f) / liquid->h,
        .light = 1.0f / liquid->factors[p].mass,
        .thing_light = moves ? mover->inverse_mass : 0.0f,
        .mu = sqrtf(rough * collider->ops->friction(collider->of, pair->thing)),
    };
    if (wall.thing_light > 0.0f) {
        if (!memory_grow((void **)&grains->movers, &grains->mover_capacity, grains->mover_count + 1,
                         sizeof wall)) {
            return false;
        }
        grains->movers[grains->mover_count++] = wall;
        return true;
    }
    if (!memory_grow((void **)&grains->walls, &grains->wall_capacity, grains->wall_count + 1,
                     sizeof wall)) {
        return false;
    }
    grains->walls[grains->wall_count++] = wall;
    return true;
}

bool grains_find_walls(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    grains->wall_count = grains->mover_count = 0;
    for (u32 q = 0; q < grains->count; q++) {
        u32 i = grains->items[q];
        for (u32 k = liquid->pair_first[i]; k < liquid->pair_first[i + 1]; k++) {
            if (!add_wall(liquid, i, k)) {
                return false;
            }
        }
    }
    return memory_grow((void **)&grains->places, &grains->place_capacity, grains->mover_count,
                       sizeof *grains->places);
}

/* Changes of the impulses of a contact by a sweep, N s. */
typedef struct Change {
    Vec3 impulse, friction, roll;
} Change;

static Vec3 bounded(Vec3 v, f32 most)
{
    f32 size = vec3_length(v);
    return size > most ? vec3_scale(v, most / size) : v;
}

/* Remaining approach, slip and rolling of the contact. `light`, `light_across`: 1/kg of both, along
 * the normal and across it. */
static Change lacking(GrainWall *wall, Vec3 against, Vec3 surface_speed, f32 light,
                      f32 light_across)
{
    f32 along = vec3_dot(against, wall->normal);
    f32 push = f32_max(wall->push - (along + wall->open) / light, 0.0f), most = wall->mu * push;
    f32 inverse_inertia = GRAIN_INVERSE_INERTIA * wall->light;
    Vec3 slip = vec3_add_scaled(against, -along, wall->normal), friction = wall->friction,
         roll = wall->roll;
    /* One after the other: both change the rotation, so that solved together they would
     * overshoot. */
    for (u32 k = 0; k < ITERATIONS; k++) {
        Vec3 before = roll;
        roll = bounded(vec3_add_scaled(roll, -1.0f / inverse_inertia, surface_speed),
                       GRAIN_ROLLING * most);
        surface_speed = vec3_add_scaled(surface_speed, inverse_inertia, vec3_sub(roll, before));
        before = friction;
        Vec3 slides = vec3_sub(slip, vec3_cross(surface_speed, wall->normal));
        friction = bounded(
            vec3_add_scaled(friction, -1.0f / (light_across + inverse_inertia), slides), most);
        Vec3 more = vec3_sub(friction, before);
        slip = vec3_add_scaled(slip, light_across, more);
        surface_speed =
            vec3_add_scaled(surface_speed, inverse_inertia, vec3_cross(more, wall->normal));
    }
    Change change = {.friction = vec3_sub(friction, wall->friction),
                     .roll = vec3_sub(roll, wall->roll)};
    change.impulse = vec3_add_scaled(change.friction, push - wall->push, wall->normal);
    wall->push = push;
    wall->friction = friction;
    wall->roll = roll;
    return change;
}

static void add_change(Liquid *liquid, const GrainWall *wall, const Change *change)
{
    Four *v = &liquid->motion[wall->item], *s = &liquid->contacts->surface_speed[wall->item];
    Vec3 now = vec3_add_scaled(vec3_of(v), wall->light, change->impulse);
    Vec3 moment = vec3_add(vec3_cross(change->friction, wall->normal), change->roll);
    Vec3 surface_speed = vec3_add_scaled(vec3_of(s), GRAIN_INVERSE_INERTIA * wall->light, moment);
    *v = (Four){now.x, now.y, now.z, v->w};
    *s = (Four){surface_speed.x, surface_speed.y, surface_speed.z, 0.0f};
}

static void sweep_wall(void *context, void *item)
{
    Liquid *liquid = context;
    GrainWall *wall = item;
    Vec3 against = vec3_sub(vec3_of(&liquid->motion[wall->item]), wall->speed);
    Vec3 surface_speed = vec3_of(&liquid->contacts->surface_speed[wall->item]);
    Change change = lacking(wall, against, surface_speed, wall->light, wall->light);
    add_change(liquid, wall, &change);
}

void grains_sweep_walls(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    ContactList list = {.items = grains->walls,
                        .bytes = sizeof(GrainWall),
                        .count = grains->wall_count,
                        .fixed = grains->wall_count,
                        .solve = sweep_wall,
                        .context = liquid};
    contact_solve_list(&list, liquid->jobs);
}

/* ---- movable things ---- */

/* At the point of contact, so that both impulses have the same moment about any point. */
static void meet_range(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 d = liquid->def.spacing;
    PL_UNUSED(worker);
    for (u32 k = first; k < end; k++) {
        const GrainWall *wall = &liquid->contacts->movers[k];
        ContactPlace *place = &liquid->contacts->places[k];
        const LiquidPair *pair = &liquid->pairs[wall->pair];
        const Collider *collider = &liquid->colliders[pair->collider];
        ContactParticle particle = {
            .position =
                vec3_add_scaled(vec3_of(&liquid->place[wall->item]), -0.5f * d, wall->normal),
            .velocity = vec3_of(&liquid->motion[wall->item]),
            .inverse_mass = wall->light,
            .radius = KERNEL_REACH * d,
        };
        if (!collider->ops->meet(collider->of, pair->thing, &particle, 0.0f, place)) {
            place->thing = CONTACT_ANY;
        }
    }
}

void grains_meet_movers(Liquid *liquid)
{
    jobs_run(liquid->jobs, liquid->contacts->mover_count, MOVERS, meet_range, liquid);
}

static void exchange(Liquid *liquid, const GrainWall *wall, const ContactPlace *place,
                     const Change *change)
{
    const Collider *collider = &liquid->colliders[liquid->pairs[wall->pair].collider];
    add_change(liquid, wall, change);
    collider->ops->impulse(collider->of, place, vec3_neg(change->impulse));
    liquid->touched = true;
}

/* 1/kg, upper bound of a thing's response to an impulse across the normal: the sum over two
 * directions. A triangle of cloth below a large grain, or a ball that rolls, responds more across
 * the normal than along it: friction computed from the response along it diverges. */
static f32 response_across(const Collider *collider, const ContactPlace *place, Vec3 normal)
{
    Vec3 one = vec3_perpendicular(normal);
    return collider->ops->inverse_mass(collider->of, place, one) +
           collider->ops->inverse_mass(collider->of, place, vec3_cross(normal, one));
}

static void recall(GrainWall *wall, const GrainHeld *held, f32 scale, Change *change)
{
    f32 along = vec3_dot(held->friction, wall->normal);
    wall->push = held->push * scale;
    wall->friction = vec3_scale(vec3_add_scaled(held->friction, -along, wall->normal), scale);
    wall->roll = vec3_scale(held->roll, scale);
    *change = (Change){vec3_add_scaled(wall->friction, wall->push, wall->normal), wall->friction,
                       wall->roll};
}

/* In full, also on things far lighter than a grain: several grains share the points of a cloth, and
 * the sweeps of a step do not find from nothing what all of them give. Impulses that no longer fit,
 * as the grain has moved on, are taken back by the sweeps. */
void grains_warm_walls(Liquid *liquid, f32 scale)
{
    Grains *grains = liquid->contacts;
    Change change;
    for (u32 k = 0; k < grains->wall_count; k++) {
        recall(&grains->walls[k], &grains->held[grains->walls[k].pair], scale, &change);
        add_change(liquid, &grains->walls[k], &change);
    }
    for (u32 k = 0; k < grains->mover_count; k++) {
        GrainWall *wall = &grains->movers[k];
        const ContactPlace *place = &grains->places[k];
        const GrainHeld *held = &grains->held[wall->pair];
        if (held->push > 0.0f && place->thing != CONTACT_ANY) {
            recall(wall, held, scale, &change);
            exchange(liquid, wall, place, &change);
        }
    }
}

bool grains_bear_heavy(const Liquid *liquid)
{
    const Grains *grains = liquid->contacts;
    for (u32 k = 0; k < grains->mover_count; k++) {
        if (grains->movers[k].thing_light < light_part * grains->movers[k].light) {
            return true;
        }
    }
    return false;
}

static void hold(Grains *grains, const GrainWall *walls, u32 count)
{
    for (u32 k = 0; k < count; k++) {
        grains->held[walls[k].pair] = (GrainHeld){walls[k].push, walls[k].friction, walls[k].roll};
    }
}

void grains_hold_walls(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    for (u32 k = 0; k < grains->held_count; k++) {
        grains->held[k] = (GrainHeld){0};
    }
    hold(grains, grains->walls, grains->wall_count);
    hold(grains, grains->movers, grains->mover_count);
}

/* Each impulse changes the velocities of the thing, nothing its places: they are kept. */
void grains_sweep_movers(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    for (u32 k = 0; k < grains->mover_count; k++) {
        GrainWall *wall = &grains->movers[k];
        const Collider *collider = &liquid->colliders[liquid->pairs[wall->pair].collider];
        ContactPlace *place = &grains->places[k];
        if (place->thing == CONTACT_ANY) {
            continue;
        }
        collider->ops->refresh(collider->of, place);
        f32 light = wall->light + collider->ops->inverse_mass(collider->of, place, wall->normal);
        Vec3 against = vec3_sub(vec3_of(&liquid->motion[wall->item]), place->velocity);
        Vec3 surface_speed = vec3_of(&grains->surface_speed[wall->item]);
        f32 across = wall->light + response_across(collider, place, wall->normal);
        Change change = lacking(wall, against, surface_speed, light, across);
        exchange(liquid, wall, place, &change);
    }
}
