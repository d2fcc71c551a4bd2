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
    u32 slot;
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

/* Change of the rolling of the body below by a unit of moment about `axis`, with the impulse
 * that goes with it. */
static f32 yielding(const Rigid *rigid, u32 slot, Vec3 arm, Vec3 axis, Vec3 impulse)
{
    if (!(rigid_mass(rigid, slot) > 0.0f) || !rigid_awake(rigid, slot)) {
        return 0.0f;
    }
    Vec3 angular_velocity =
        rigid_rotation_since(rigid, slot, vec3_add(vec3_cross(arm, impulse), axis));
    Vec3 moved =
        vec3_add_scaled(vec3_cross(angular_velocity, arm), 1.0f / rigid_mass(rigid, slot), impulse);
    return vec3_dot(axis, angular_velocity) + vec3_dot(impulse, moved);
}

static void give_body(Rigid *rigid, u32 slot, Vec3 arm, Vec3 impulse, Vec3 moment)
{
    if (rigid_mass(rigid, slot) > 0.0f && rigid_awake(rigid, slot)) {
        rigid_impulse(rigid, slot, arm, impulse);
        rigid_add_angular_velocity(rigid, slot, rigid_rotation_since(rigid, slot, moment));
    }
}

/* Σ m r rᵀ times a direction. */
static Vec3 spread_along(const Symmetric3 *inertia, Vec3 direction)
{
    f32 half = 0.5f * (inertia->xx + inertia->yy + inertia->zz);
    return vec3_sub(vec3_scale(direction, half), symmetric_mul(inertia, direction));
}

/* Opposes growth and shrinking away from the patch, relative to the body below. */
static void resist_squeeze(Soft *soft, Rigid *rigid, const SoftBody *body,
                           const RollingPatch *patch, Vec3 at, Vec3 normal, Rolling *of)
{
    Vec3 arm = vec3_sub(at, rigid_centre(rigid, patch->slot));
    Vec3 moving = rigid_velocity_at(rigid, patch->slot, arm);
    Vec3 spread = spread_along(&of->inertia, normal), moment = vec3_cross(spread, normal);
    f32 sum = vec3_dot(of->place, normal), own = vec3_dot(spread, normal);
    Vec3 impulse = vec3_scale(normal, sum);
    f32 growth = of->growth - vec3_dot(rigid_angular_velocity(rigid, patch->slot), moment);
    f32 yields = own + yielding(rigid, patch->slot, arm, moment, impulse);
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
    give_body(rigid, patch->slot, arm, vec3_scale(impulse, -rate), vec3_scale(moment, -rate));
    Vec3 moved = vec3_sub(rigid_velocity_at(rigid, patch->slot, arm), moving);
    of->momentum = vec3_add_scaled(of->momentum, rate, moment);
    of->momentum = vec3_sub(of->momentum, vec3_cross(of->place, moved));
}

static void resist(Soft *soft, Rigid *rigid, u32 index, const RollingPatch *patch)
{
    const SoftBody *body = &soft->bodies[index];
    Vec3 at = vec3_scale(patch->at, 1.0f / patch->impulse);
    Vec3 normal = vec3_normalize_or(patch->normal, vec3_zero());
    Vec3 arm = vec3_sub(at, rigid_centre(rigid, patch->slot));
    Vec3 moving = rigid_velocity_at(rigid, patch->slot, arm);
    Rolling of = rolling_of(soft, body, at, moving, normal);
    if (body->def.pressure > 0.0f) { /* supported by gas, not by material that resists */
        resist_squeeze(soft, rigid, body, patch, at, normal, &of);
    }
    Symmetric3 inverse = symmetric_inverse(&of.inertia);
    Vec3 angular_velocity = symmetric_mul(&inverse, of.momentum);
    angular_velocity = vec3_sub(angular_velocity, rigid_angular_velocity(rigid, patch->slot));
    angular_velocity =
        vec3_add_scaled(angular_velocity, -vec3_dot(angular_velocity, normal), normal);
    f32 speed = vec3_length(angular_velocity);
    if (!(speed > 1e-9f) || !(speed < INFINITY)) {
        return;
    }
    Vec3 axis = vec3_scale(angular_velocity, 1.0f / speed),
         rotation = symmetric_mul(&inverse, axis);
    Vec3 impulse = vec3_cross(rotation, of.place);
    f32 yields = vec3_dot(axis, rotation) + yielding(rigid, patch->slot, arm, axis, impulse);
    f32 lever = body->def.rolling_resistance * fabsf(vec3_dot(of.place, normal)) / of.mass;
    f32 moment = f32_min(speed / yields, lever * patch->impulse);
    rotation = vec3_scale(rotation, -moment);
    for (u32 i = body->first; i < body->first + body->count; i++) {
        SoftPoint *p = &soft->points[i];
        p->velocity = vec3_add(p->velocity, vec3_cross(rotation, vec3_sub(p->position, at)));
    }
    give_body(rigid, patch->slot, arm, vec3_scale(impulse, moment), vec3_scale(axis, moment));
}

static void flush(Soft *soft, Rigid *rigid, Patches *patches)
{
    for (u32 i = 0; i < patches->count; i++) {
        resist(soft, rigid, patches->body, &patches->of[i]);
    }
    patches->count = 0;
}

static void add(Soft *soft, Rigid *rigid, Patches *patches, u32 body, const RollingPatch *part)
{
    if (body != patches->body) {
        flush(soft, rigid, patches);
        patches->body = body;
    }
    if (!(part->impulse > 0.0f) || !resists(soft, body)) {
        return;
    }
    u32 i = 0;
    while (i < patches->count && patches->of[i].slot != part->slot) {
        i++;
    }
    if (i == patches->count) {
        if (i == PARTNERS_MAX) {
            return;
        }
        patches->of[patches->count++] = (RollingPatch){.slot = part->slot};
    }
    RollingPatch *to = &patches->of[i];
    to->impulse += part->impulse;
    to->at = vec3_add(to->at, part->at);
    to->normal = vec3_add(to->normal, part->normal);
}

/* Pairs are sorted by body: one kind of contact with a body forms one patch. */
void roll_solve(Soft *soft, Rigid *rigid)
{
    Patches patches = {.body = SOFT_NONE};
    for (u32 i = 0; i < soft->near_count; i++) {
        const SoftContact *contact = &soft->near[i];
        RollingPatch part = {contact->slot, contact->pressed,
                             vec3_scale(soft->points[contact->particle].position, contact->pressed),
                             vec3_scale(contact->normal, contact->pressed)};
        add(soft, rigid, &patches, soft->matter[contact->particle].body, &part);
    }
    flush(soft, rigid, &patches);
    for (u32 i = 0; i < soft->face_count; i++) {
        const SoftFace *face = &soft->faces[i];
        if (face->near != 0) {
            RollingPatch part = {face->slot, face->pressed, face->pressed_at,
                                 vec3_scale(face->normal, face->pressed)};
            add(soft, rigid, &patches, face->body, &part);
        }
    }
    flush(soft, rigid, &patches);
}
