/* collider.c: particles as colliders (balls, ball.h) for kinds that step after them. They have
 * already moved through the whole substep; the others see them at the time of their own step. */
#include "server/physics/contact/ball.h"
#include "server/physics/liquid/liquid_internal.h"

typedef struct LiquidUser LiquidUser;

static Vec3 velocity_of(const Liquid *liquid, u32 i)
{
    const Four *v = &liquid->motion[i];
    return vec3(v->x, v->y, v->z);
}

static f32 radius_of(const LiquidUser *user)
{
    return 0.5f * user->liquid->def.spacing;
}

static ContactBall ball_of(const LiquidUser *user, u32 i)
{
    const Four *x = &user->liquid->place[i];
    Vec3 velocity = velocity_of(user->liquid, i);
    return (ContactBall){vec3_add_scaled(vec3(x->x, x->y, x->z), -user->lag.left, velocity),
                         velocity, radius_of(user)};
}

static void begin(void *of, Jobs *jobs, f32 tick_s)
{
    LiquidUser *user = of;
    Liquid *liquid = user->liquid;
    f32 fastest = 0.0f;
    for (u32 i = 0; i < liquid->items; i++) {
        fastest = f32_max(fastest, vec3_length_squared(velocity_of(liquid, i)));
    }
    user->lag.left = 0.0f;
    user->tick_s = tick_s;
    user->fastest = sqrtf(fastest);
    if (!cells_reserve(&user->cells, liquid->shown)) {
        user->cells.count = 0;
        return;
    }
    f32 size = 2.0f * radius_of(user) + user->fastest * tick_s;
    cells_build(&user->cells, (const Vec3 *)(const void *)liquid->place, sizeof *liquid->place,
                liquid->shown, size, jobs);
}

static bool meets(const Liquid *liquid, u32 i, u32 group, u32 mask)
{
    const LiquidPhaseDef *phase = &liquid->def.phases[liquid->phase_of[i]];
    return contact_groups_meet(phase->group, phase->mask, group, mask);
}

static u32 overlaps(void *of, Bounds bounds, u32 group, u32 mask, u32 *things, u32 capacity)
{
    const LiquidUser *user = of;
    Vec3 middle = vec3_scale(vec3_add(bounds.min, bounds.max), 0.5f);
    f32 radius = 0.5f * vec3_distance(bounds.min, bounds.max) + radius_of(user) +
                 user->fastest * user->tick_s;
    u32 count = u32_min(cells_near(&user->cells, middle, radius, things, capacity), capacity);
    u32 kept = 0;
    for (u32 k = 0; k < count; k++) {
        if (meets(user->liquid, things[k], group, mask)) {
            things[kept++] = things[k];
        }
    }
    return kept;
}

static bool take(void *of, u32 thing)
{
    const Liquid *liquid = ((const LiquidUser *)of)->liquid;
    return liquid->in_tick && thing < liquid->items;
}

static void substep_begin(void *of, f32 h)
{
    LiquidUser *user = of;
    user->lag.left = user->liquid->in_tick ? h : 0.0f; /* sleeping particles have not moved */
}

static f32 distance(const void *of, u32 thing, Vec3 point, f32 reach, Vec3 *normal)
{
    PL_UNUSED(reach);
    ContactBall ball = ball_of(of, thing);
    return contact_ball_distance(&ball, point, normal);
}

static Vec3 velocity(const void *of, u32 thing, Vec3 point)
{
    PL_UNUSED(point);
    return velocity_of(((const LiquidUser *)of)->liquid, thing);
}

static bool touches(const void *of, u32 thing, const struct ShapePose *shape)
{
    ContactBall ball = ball_of(of, thing);
    return contact_ball_touches(&ball, shape);
}

/* Balls around cubes of the spacing: no ray passes between the particles of a full lattice. */
static bool ray_hits(const void *of, u32 thing, Ray ray, f32 max, f32 *distance, Vec3 *normal)
{
    const f32 root3 = 1.7320508f;
    ContactBall ball = ball_of(of, thing);
    return contact_ball_ray(&ball, root3 * ball.radius, ray, max, distance, normal);
}

static f32 friction(const void *of, u32 thing)
{
    const Liquid *liquid = ((const LiquidUser *)of)->liquid;
    return liquid->def.phases[liquid->phase_of[thing]].contact_friction;
}

static bool may_meet(const void *of, u32 thing, const ContactParticle *particle, f32 h)
{
    ContactBall ball = ball_of(of, thing);
    return contact_ball_may_meet(&ball, particle, h);
}

static bool meet(const void *of, u32 thing, const ContactParticle *particle, f32 h,
                 ContactPlace *place)
{
    ContactBall ball = ball_of(of, thing);
    return contact_ball_meet(&ball, thing, particle, h, place);
}

static void refresh(const void *of, ContactPlace *place)
{
    ContactBall ball = ball_of(of, place->thing);
    place->velocity = place->moving = ball.velocity;
}

static f32 inverse_mass(const void *of, const ContactPlace *place, Vec3 direction)
{
    const Liquid *liquid = ((const LiquidUser *)of)->liquid;
    PL_UNUSED(direction);
    bool moves = liquid->in_tick && place->thing < liquid->items;
    return moves ? 1.0f / liquid->factors[liquid->phase_of[place->thing]].mass : 0.0f;
}

/* For the rest of the substep it moves with the new velocity. */
static void impulse(void *of, const ContactPlace *place, Vec3 impulse)
{
    const LiquidUser *user = of;
    const Liquid *liquid = user->liquid;
    u32 i = place->thing;
    Vec3 change = vec3_scale(impulse, 1.0f / liquid->factors[liquid->phase_of[i]].mass);
    Four *x = &liquid->place[i], *v = &liquid->motion[i];
    *v = (Four){v->x + change.x, v->y + change.y, v->z + change.z, v->w};
    f32 left = user->lag.left;
    *x = (Four){x->x + left * change.x, x->y + left * change.y, x->z + left * change.z, x->w};
}

static void wake(void *of, u32 thing)
{
    Liquid *liquid = ((const LiquidUser *)of)->liquid;
    if (liquid->sleepers != 0 && thing < liquid->shown) {
        liquid_wake_slot(liquid, liquid->slot_of[thing]);
    }
}

static bool asleep(const void *of, u32 thing)
{
    const Liquid *liquid = ((const LiquidUser *)of)->liquid;
    if (thing == CONTACT_ANY) {
        return liquid->sleepers != 0;
    }
    return thing < liquid->shown && liquid->pool[liquid->slot_of[thing]] != 0;
}

static const ColliderOps liquid_balls_ops = {
    .name = "liquid",
    .begin = begin,
    .overlaps = overlaps,
    .take = take,
    .substep_begin = substep_begin,
    .step_end = contact_lag_step,
    .substep_end = contact_lag_end,
    .distance = distance,
    .velocity = velocity,
    .friction = friction,
    .touches = touches,
    .ray = ray_hits,
    .may_meet = may_meet,
    .meet = meet,
    .refresh = refresh,
    .inverse_mass = inverse_mass,
    .impulse = impulse,
    .wake = wake,
    .asleep = asleep,
};

u32 liquid_thing_phase(const Liquid *liquid, u32 thing)
{
    return liquid->phase_of[thing];
}

Collider liquid_collider(Liquid *liquid, u32 user)
{
    liquid->users[user % LIQUID_USERS_MAX].liquid = liquid;
    return (Collider){&liquid_balls_ops, &liquid->users[user % LIQUID_USERS_MAX]};
}
