/*
 * roll.c: resistance to rolling. A ball with a flat patch under it is in balance wherever it rolls
 * to, and a plate on it in none at all: without resistance the least imbalance rolls it off. Rubber
 * gives less back where it leaves the ground than it took where it was laid on: a moment of at most
 * the coefficient times the distance to the centre times the normal force acts against rolling, and
 * what is less than that stands. Here the body is turned as a whole about the patch, and what it
 * rolls on gets the opposite impulse and moment there.
 */
#include "server/physics/soft/store.h"

#include "shared/symmetric.h"

#include <math.h>

enum {
    PARTNERS_MAX = 8 /* that a body rolls on at once; with more, it is held among them anyway */
};

/* Of the trace of the inertia: a straight line of points has none about itself. */
static const f32 inertia_least = 1e-5f;

/* A soft body on a rigid one, in this step: sums over the places where they press. */
typedef struct Patch {
    u32 slot;
    f32 impulse;     /* N s, normal */
    Vec3 at, normal; /* times that */
} Patch;

typedef struct Patches {
    u32 body, count;
    Patch of[PARTNERS_MAX];
} Patches;

/* How a body moves about a place, relative to what is there. */
typedef struct Rolling {
    f32 mass;
    Vec3 place;    /* kg m, Σ m r from the place */
    Vec3 momentum; /* kg m²/s about it */
    Symmetric3 inertia;
} Rolling;

static bool resists(const Soft *soft, u32 body)
{
    const SoftBody *of = &soft->bodies[body];
    return (of->closed || of->ring != 0) && of->def.rolling_resistance > 0.0f && !of->fixed &&
           !soft->rests[body].pinned && !soft_sleeps(soft, body);
}

static Rolling rolling_of(const Soft *soft, const SoftBody *body, Vec3 at, Vec3 moving)
{
    f64 mass = 0.0, xx = 0.0, yy = 0.0, zz = 0.0, xy = 0.0, xz = 0.0, yz = 0.0;
    f64 place[3] = {0.0}, momentum[3] = {0.0};
    for (u32 i = body->first; i < body->first + body->count; i++) {
        const SoftPoint *p = &soft->points[i];
        f32 m = p->inverse_mass > 0.0f ? 1.0f / p->inverse_mass : 0.0f;
        Vec3 r = vec3_sub(p->position, at), mr = vec3_scale(r, m);
        Vec3 turning = vec3_cross(mr, vec3_sub(p->velocity, moving));
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
                     .inertia = {(f32)(yy + zz + least), (f32)(xx + zz + least),
                                 (f32)(xx + yy + least), (f32)-xy, (f32)-xz, (f32)-yz}};
}

/* What a unit of moment about `axis`, with the impulse that goes with it, changes of the rolling of
 * the body that is rolled on. */
static f32 yielding(const Rigid *rigid, u32 slot, Vec3 arm, Vec3 axis, Vec3 impulse)
{
    if (!(rigid_mass(rigid, slot) > 0.0f) || !rigid_awake(rigid, slot)) {
        return 0.0f;
    }
    Vec3 spin = rigid_turned_by(rigid, slot, vec3_add(vec3_cross(arm, impulse), axis));
    Vec3 moved = vec3_add_scaled(vec3_cross(spin, arm), 1.0f / rigid_mass(rigid, slot), impulse);
    return vec3_dot(axis, spin) + vec3_dot(impulse, moved);
}

static void resist(Soft *soft, Rigid *rigid, u32 index, const Patch *patch)
{
    const SoftBody *body = &soft->bodies[index];
    Vec3 at = vec3_scale(patch->at, 1.0f / patch->impulse);
    Vec3 normal = vec3_normalize_or(patch->normal, vec3_zero());
    Vec3 arm = vec3_sub(at, rigid_centre(rigid, patch->slot));
    Rolling of = rolling_of(soft, body, at, rigid_velocity_at(rigid, patch->slot, arm));
    Symmetric3 inverse = symmetric_inverse(&of.inertia);
    Vec3 spin = symmetric_mul(&inverse, of.momentum);
    spin = vec3_sub(spin, rigid_spin(rigid, patch->slot));
    spin = vec3_add_scaled(spin, -vec3_dot(spin, normal), normal);
    f32 speed = vec3_length(spin);
    if (!(speed > 1e-9f) || !(speed < INFINITY)) {
        return;
    }
    Vec3 axis = vec3_scale(spin, 1.0f / speed), turn = symmetric_mul(&inverse, axis);
    Vec3 impulse = vec3_cross(turn, of.place);
    f32 yields = vec3_dot(axis, turn) + yielding(rigid, patch->slot, arm, axis, impulse);
    f32 lever = body->def.rolling_resistance * fabsf(vec3_dot(of.place, normal)) / of.mass;
    f32 moment = f32_min(speed / yields, lever * patch->impulse);
    turn = vec3_scale(turn, -moment);
    for (u32 i = body->first; i < body->first + body->count; i++) {
        SoftPoint *p = &soft->points[i];
        p->velocity = vec3_add(p->velocity, vec3_cross(turn, vec3_sub(p->position, at)));
    }
    if (rigid_mass(rigid, patch->slot) > 0.0f && rigid_awake(rigid, patch->slot)) {
        rigid_impulse(rigid, patch->slot, arm, vec3_scale(impulse, moment));
        rigid_add_spin(rigid, patch->slot,
                       rigid_turned_by(rigid, patch->slot, vec3_scale(axis, moment)));
    }
}

static void flush(Soft *soft, Rigid *rigid, Patches *patches)
{
    for (u32 i = 0; i < patches->count; i++) {
        resist(soft, rigid, patches->body, &patches->of[i]);
    }
    patches->count = 0;
}

static void add(Soft *soft, Rigid *rigid, Patches *patches, u32 body, const Patch *part)
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
        patches->of[patches->count++] = (Patch){.slot = part->slot};
    }
    Patch *to = &patches->of[i];
    to->impulse += part->impulse;
    to->at = vec3_add(to->at, part->at);
    to->normal = vec3_add(to->normal, part->normal);
}

/* Pairs come by body: what has no more than one kind of contact with a body is one patch. */
void roll_solve(Soft *soft, Rigid *rigid)
{
    Patches patches = {.body = SOFT_NONE};
    for (u32 i = 0; i < soft->near_count; i++) {
        const SoftTouch *touch = &soft->near[i];
        Patch part = {touch->slot, touch->pressed,
                      vec3_scale(soft->points[touch->particle].position, touch->pressed),
                      vec3_scale(touch->normal, touch->pressed)};
        add(soft, rigid, &patches, soft->matter[touch->particle].body, &part);
    }
    flush(soft, rigid, &patches);
    for (u32 i = 0; i < soft->face_count; i++) {
        const SoftFace *face = &soft->faces[i];
        if (face->near != 0) {
            Patch part = {face->slot, face->pressed, face->pressed_at,
                          vec3_scale(face->normal, face->pressed)};
            add(soft, rigid, &patches, face->body, &part);
        }
    }
    flush(soft, rigid, &patches);
}
