/* support.c: items as loads of things that are solved before liquids and support more if they know
 * of them: cloth that the world holds (soft/load.c). */
#include "server/physics/liquid/grain.h"
#include "server/physics/liquid/near8.h"

enum {
    MOVERS = 32 /* of a job */
};

static void find_supported(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 m = first; m < end; m++) {
        LiquidMover *mover = &liquid->movers[m];
        const LiquidPair *pair = &liquid->pairs[mover->pair];
        const Collider *collider = &liquid->colliders[pair->collider];
        mover->supported = false;
        if (collider->ops->supports != NULL && collider->ops->supports(collider->of, pair->thing)) {
            ContactParticle particle = {
                .position = vec3_of(&liquid->place[pair->item]),
                .velocity = vec3_of(&liquid->motion[pair->item]),
                .inverse_mass = 1.0f / liquid->factors[liquid->phase_of[pair->item]].mass,
                .radius = WALL_FIND * liquid->def.spacing};
            mover->supported =
                collider->ops->meet(collider->of, pair->thing, &particle, 0.0f, &mover->place);
        }
    }
}

/* ---- grains rotate: their surface is what a thing touches ---- */

/* Of an item, in or between the steps of grains. */
static Vec3 surface_speed_of(const Liquid *liquid, u32 item)
{
    const Grains *grains = liquid->contacts;
    if (liquid->factors[liquid->phase_of[item]].grains == 0) {
        return vec3_zero();
    }
    return grains->ready ? vec3_of(&grains->surface_speed[item])
                         : grains->surface_speeds[liquid->slot_of[item]];
}

static Vec3 touch_speed(const Liquid *liquid, u32 item, Vec3 normal)
{
    return vec3_sub(vec3_of(&liquid->motion[item]),
                    vec3_cross(surface_speed_of(liquid, item), normal));
}

static void rotate(Liquid *liquid, u32 item, Vec3 change)
{
    Grains *grains = liquid->contacts;
    Vec3 now = vec3_add(surface_speed_of(liquid, item), change);
    if (grains->ready) {
        grains->surface_speed[item] = (Four){now.x, now.y, now.z, 0.0f};
    } else {
        grains->surface_speeds[liquid->slot_of[item]] = now;
    }
}

static Vec3 push(void *of, u32 item, Vec3 normal, Vec3 impulse)
{
    Liquid *liquid = of;
    const PhaseFactors *phase = &liquid->factors[liquid->phase_of[item]];
    f32 light = 1.0f / phase->mass, along = vec3_dot(impulse, normal);
    Vec3 across = vec3_add_scaled(impulse, -along, normal);
    if (phase->grains != 0) { /* across the normal its surface responds more than its centre */
        across = vec3_scale(across, 1.0f / (1.0f + GRAIN_INVERSE_INERTIA));
        rotate(liquid, item, vec3_scale(vec3_cross(across, normal), GRAIN_INVERSE_INERTIA * light));
    }
    Four *v = &liquid->motion[item];
    Vec3 now = vec3_add_scaled(vec3_of(v), light * along, normal);
    now = vec3_add_scaled(now, light, across);
    *v = (Four){now.x, now.y, now.z, v->w};
    return touch_speed(liquid, item, normal);
}

static bool any_supports(const Liquid *liquid)
{
    bool any = false;
    for (u32 c = 0; c < liquid->collider_count && !any; c++) {
        const Collider *collider = &liquid->colliders[c];
        any = collider->ops->supports != NULL && collider->ops->supports(collider->of, CONTACT_ANY);
    }
    return any;
}

void liquid_load_supports(Liquid *liquid)
{
    if (!any_supports(liquid)) {
        return;
    }
    jobs_run(liquid->jobs, liquid->mover_count, MOVERS, find_supported, liquid);
    for (u32 m = 0; m < liquid->mover_count; m++) {
        const LiquidMover *mover = &liquid->movers[m];
        if (!mover->supported) {
            continue;
        }
        const LiquidPair *pair = &liquid->pairs[mover->pair];
        const Collider *collider = &liquid->colliders[pair->collider];
        u32 p = liquid->phase_of[pair->item];
        f32 rough = liquid->def.phases[p].contact_friction;
        ContactLoad load = {.mass = liquid->factors[p].mass,
                            .radius = liquid->factors[p].radius,
                            .velocity = touch_speed(liquid, pair->item, mover->place.normal),
                            .friction =
                                sqrtf(rough * collider->ops->friction(collider->of, pair->thing)),
                            .of = liquid,
                            .particle = pair->item,
                            .give = push};
        collider->ops->load(collider->of, &mover->place, &load);
    }
}
