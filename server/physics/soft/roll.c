/*
 * roll.c: losses in the contact patch of rubber. Rolling resistance: a ball with a flat patch is in
 * equilibrium wherever it rolls, and a plate on it nowhere: without resistance the smallest
 * imbalance makes it roll off. Rubber returns less energy at the trailing edge of the patch than it
 * takes at the leading edge: a moment of at most the coefficient times the distance to the centre
 * times the normal force opposes rolling, and smaller moments are held. Here the body is rotated as
 * a whole about the patch, and the body below gets the opposite impulse and moment there.
 *
 * Squeezing and releasing a body loses energy in the same way; otherwise a plate bounces on a
 * balloon for ever, as skin damping acts on nearly no mass. A force of at most a part of the normal
 * force opposes growing and shrinking between the patch and the centre, by a velocity field along
 * the normal that grows with the distance from the patch.
 */
#include "server/physics/soft/soft_internal.h"

#include "shared/math/symmetric.h"

#include <math.h>

enum {
    PARTNERS_MAX = 8 /* bodies rolled on at once; with more, it is wedged between them anyway */
};

/* Coefficient of squeeze resistance (force over normal force) per coefficient of rolling
 * resistance. The latter is that part times 3/8 of the patch radius over the ball's: here for a
 * patch of half the ball's radius. */
static const f32 squeeze_part = 5.0f;
/* Of the trace of the inertia: a straight line of points has none about itself. */
static const f32 inertia_least = 1e-5f;

/* A soft body on a rigid one, in this step: sums over the contact points. */
typedef struct RollingPatch {
    OtherThing on;
    f32 impulse;     /* N s, normal */
    Vec3 at, normal; /* times impulse */
} RollingPatch;

typedef struct Patches {
    u32 body, count;
    RollingPatch of[PARTNERS_MAX];
} Patches;

/* Motion of a body about a point, relative to the surface there. */
typedef struct Rolling {
    f32 mass;
    Vec3 place;    /* kg m, Σ m r from the place */
    Vec3 momentum; /* kg m²/s about it */
    Symmetric3 inertia;
    f32 growth; /* kg m²/s, Σ m (r · n) (v · n), n the normal of the patch */
} Rolling;

static bool resists(const Soft *soft, u32 body)
{
    const SoftBody *of = &soft->bodies[body];
    return (of->closed || of->ring != 0) && of->def.rolling_resistance > 0.0f && !of->fixed &&
           !soft->rests[body].pinned && !soft_sleeps(soft, body);
}

static Rolling rolling_of(const Soft *soft, const SoftBody *body, Vec3 at, Vec3 moving, Vec3 normal)
{
    f64 mass = 0.0, xx = 0.0, yy = 0.0, zz = 0.0, xy = 0.0, xz = 0.0, yz = 0.0;
    f64 place[3] = {0.0}, momentum[3] = {0.0}, growth = 0.0;
    for (u32 i = body->first; i < body->first + body->count; i++) {
        const SoftPoint *p = &soft->points[i];
        f32 m = p->inverse_mass > 0.0f ? 1.0f / p->inverse_mass : 0.0f;
        Vec3 r = vec3_sub(p->position, at), mr = vec3_scale(r, m);
        Vec3 v = vec3_sub(p->velocity, moving), turning = vec3_cross(mr, v);
        growth += (f64)(vec3_dot(mr, normal) * vec3_dot(v, normal));
        mass += (f64)m;
        place[0] += (f64)mr.x, place[1] += (f64)mr.y, place[2] += (f64)mr.z;
        momentum[0] += (f64)turning.x;
        momentum[1] += (f64)turning.y;
        momentum[2] += (f64)turning.z;
        xx += (f64)(mr.x * r.x), yy += (f64)(mr.y * r.y), zz += (f64)(mr.z * r.z);
        xy += (f64)(mr.x * r.y), xz += (f64)(mr.x * r.z), yz += (f64)(mr.y * r.z);
    }
    f64 least = (f64)inertia_least * (xx + yy + zz);
    return (Rolling){.mass = (f32)mass,
                     .place = vec3((f32)place[0], (f32)place[1], (f32)place[2]),
                     .momentum = vec3((f32)momentum[0], (f32)momentum[1], (f32)momentum[2]),
                     .growth = (f32)growth,
                     .inertia = {(f32)(yy + zz + least), (f32)(xx + zz + least),
                                 (f32)(xx + yy + least), (f32)-xy, (f32)-xz, (f32)-yz}};
}

/* The body below, and where the patch is on it. */
typedef struct Below {
    const Collider *collider;
    ContactPlace place; /* its thing and arm */
} Below;

static ContactMotion motion_of(const Below *below)
{
    ContactMotion motion;
    below->collider->ops->bodies->motion(below->collider->of, below->place.thing, &motion);
    return motion;
}

/* m/s, of the patch. */
static Vec3 velocity_of(const Below *below)
{
    ContactMotion motion = motion_of(below);
    return contact_motion_at(&motion, below->place.arm);
}

static bool takes_impulses(const Below *below)
{
    const ContactBodyOps *bodies = below->collider->ops->bodies;
    return bodies->mass(below->collider->of, below->place.thing) > 0.0f &&
           bodies->awake(below->collider->of, below->place.thing);
}

/* Change of the rolling of the body below by a unit of moment about `axis`, with the impulse
 * that goes with it. */
static f32 yielding(const Below *below, Vec3 axis, Vec3 impulse)
{
    if (!takes_impulses(below)) {
        return 0.0f;
    }
    const ContactBodyOps *bodies = below->collider->ops->bodies;
    u32 thing = below->place.thing;
    Vec3 arm = below->place.arm;
    Vec3 angular_velocity = bodies->angular_response(below->collider->of, thing,
                                                     vec3_add(vec3_cross(arm, impulse), axis));
    Vec3 moved = vec3_add_scaled(vec3_cross(angular_velocity, arm),
                                 1.0f / bodies->mass(below->collider->of, thing), impulse);
    return vec3_dot(axis, angular_velocity) + vec3_dot(impulse, moved);
}

static void give_body(const Below *below, Vec3 impulse, Vec3 moment)
{
    if (takes_impulses(below)) {
        below->collider->ops->impulse(below->collider->of, &below->place, impulse);
        below->collider->ops->bodies->angular_impulse(below->collider->of, below->place.thing,
                                                      moment);
    }
}

/* Σ m r rᵀ times a direction. */
static Vec3 spread_along(const Symmetric3 *inertia, Vec3 direction)
{
    f32 half = 0.5f * (inertia->xx + inertia->yy + inertia->zz);
    return vec3_sub(vec3_scale(direction, half), symmetric_mul(inertia, direction));
}

/* Opposes growth and shrinking away from the patch, relative to the body below. */
static void resist_squeeze(Soft *soft, const SoftBody *body, const RollingPatch *patch,
                           const Below *below, Vec3 at, Vec3 normal, Rolling *of)
{
    ContactMotion motion = motion_of(below);
    Vec3 moving = contact_motion_at(&motion, below->place.arm);
    Vec3 spread = spread_along(&of->inertia, normal), moment = vec3_cross(spread, normal);
    f32 sum = vec3_dot(of->place, normal), own = vec3_dot(spread, normal);
    Vec3 impulse = vec3_scale(normal, sum);
    f32 growth = of->growth - vec3_dot(motion.angular_velocity, moment);
    f32 yields = own + yielding(below, moment, impulse);
    f32 holds = squeeze_part * body->def.rolling_resistance * patch->impulse;
    f32 most = holds * fabsf(sum) / (of->mass * own), rate = -growth / yields;
    rate = f32_clamp(rate, -most, most);
    if (!(own > 0.0f) || !(fabsf(rate) < INFINITY)) {
        return;
    }
    for (u32 i = body->first; i < body->first + body->count; i++) {
        SoftPoint *p = &soft->points[i];
        f32 along = rate * vec3_dot(vec3_sub(p->position, at), normal);
        p->velocity = vec3_add_scaled(p->velocity, along, normal);
    }
    give_body(below, vec3_scale(impulse, -rate), vec3_scale(moment, -rate));
    Vec3 moved = vec3_sub(velocity_of(below), moving);
    of->momentum = vec3_add_scaled(of->momentum, rate, moment);
    of->momentum = vec3_sub(of->momentum, vec3_cross(of->place, moved));
}

static void resist(Soft *soft, u32 index, const RollingPatch *patch)
{
    const SoftBody *body = &soft->bodies[index];
    Vec3 at = vec3_scale(patch->at, 1.0f / patch->impulse);
    Vec3 normal = vec3_normalize_or(patch->normal, vec3_zero());
    ContactMotion motion = soft_motion_of(soft, patch->on.other, patch->on.thing);
    Below below = {soft_collider_of(soft, patch->on.other),
                   {.thing = patch->on.thing, .arm = vec3_sub(at, motion.centre)}};
    Rolling of = rolling_of(soft, body, at, velocity_of(&below), normal);
    if (body->def.pressure > 0.0f) { /* supported by gas, not by material that resists */
        resist_squeeze(soft, body, patch, &below, at, normal, &of);
    }
    Symmetric3 inverse = symmetric_inverse(&of.inertia);
    Vec3 angular_velocity = symmetric_mul(&inverse, of.momentum);
    angular_velocity = vec3_sub(angular_velocity, motion_of(&below).angular_velocity);
    angular_velocity =
        vec3_add_scaled(angular_velocity, -vec3_dot(angular_velocity, normal), normal);
    f32 speed = vec3_length(angular_velocity);
    if (!(speed > 1e-9f) || !(speed < INFINITY)) {
        return;
    }
    Vec3 axis = vec3_scale(angular_velocity, 1.0f / speed),
         rotation = symmetric_mul(&inverse, axis);
    Vec3 impulse = vec3_cross(rotation, of.place);
    f32 yields = vec3_dot(axis, rotation) + yielding(&below, axis, impulse);
    f32 lever = body->def.rolling_resistance * fabsf(vec3_dot(of.place, normal)) / of.mass;
    f32 moment = f32_min(speed / yields, lever * patch->impulse);
    rotation = vec3_scale(rotation, -moment);
    for (u32 i = body->first; i < body->first + body->count; i++) {
        SoftPoint *p = &soft->points[i];
        p->velocity = vec3_add(p->velocity, vec3_cross(rotation, vec3_sub(p->position, at)));
    }
    give_body(&below, vec3_scale(impulse, moment), vec3_scale(axis, moment));
}

static void flush(Soft *soft, Patches *patches)
{
    for (u32 i = 0; i < patches->count; i++) {
        resist(soft, patches->body, &patches->of[i]);
    }
    patches->count = 0;
}

static void add(Soft *soft, Patches *patches, u32 body, const RollingPatch *part)
{
    if (body != patches->body) {
        flush(soft, patches);
        patches->body = body;
    }
    if (!(part->impulse > 0.0f) || !resists(soft, body) ||
        soft_bodies_of(soft, part->on.other) == NULL) {
        return;
    }
    u32 i = 0;
    while (i < patches->count &&
           !soft_thing_is(patches->of[i].on, part->on.other, part->on.thing)) {
        i++;
    }
    if (i == patches->count) {
        if (i == PARTNERS_MAX) {
            return;
        }
        patches->of[patches->count++] = (RollingPatch){.on = part->on};
    }
    RollingPatch *to = &patches->of[i];
    to->impulse += part->impulse;
    to->at = vec3_add(to->at, part->at);
    to->normal = vec3_add(to->normal, part->normal);
}

/* Pairs are sorted by body: one kind of contact with a body forms one patch. */
void roll_solve(Soft *soft)
{
    Patches patches = {.body = SOFT_NONE};
    for (u32 i = 0; i < soft->near_count; i++) {
        const SoftContact *contact = &soft->near[i];
        RollingPatch part = {{contact->other, contact->thing},
                             contact->pressed,
                             vec3_scale(soft->points[contact->particle].position, contact->pressed),
                             vec3_scale(contact->normal, contact->pressed)};
        add(soft, &patches, soft->matter[contact->particle].body, &part);
    }
    flush(soft, &patches);
    for (u32 i = 0; i < soft->face_count; i++) {
        const SoftFace *face = &soft->faces[i];
        if (face->near != 0) {
            RollingPatch part = {{face->other, face->thing},
                                 face->pressed,
                                 face->pressed_at,
                                 vec3_scale(face->normal, face->pressed)};
            add(soft, &patches, face->body, &part);
        }
    }
    flush(soft, &patches);
}
