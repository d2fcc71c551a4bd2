/*
 * rest.c: sleeping of soft bodies, together with what they touch. Sleeping bodies are not
 * simulated; their points act as pinned, so that others collide with them as with the ground.
 */
#include "server/physics/soft/body_constraint.h"
#include "server/physics/soft/self_collision.h"
#include "server/physics/tree.h"

#include "shared/base/error.h"

#include <stdlib.h>

enum {
    MARKS_MAX = 64, /* points of a body whose positions are monitored */
    THINGS_MAX = 256
};

/* Speed limit of every point: ripples between the monitored points count as motion. */
static const f32 rest_m_s = 0.005f;
static const f32 rest_ulps = 0x1p-21f; /* of coordinates: rounding is not motion */
/* Contact distance: beyond the thickness, and as a part of it. */
static const f32 soft_contact_m = 0.0005f, soft_contact_part = 0.1f;

/* ---- life ---- */

static u32 marks_of(const SoftBody *body)
{
    return u32_min(body->count, MARKS_MAX);
}

void rest_destroy(Soft *soft)
{
    free(soft->rests);
    free(soft->marks);
    free(soft->members);
    soft->rests = NULL;
    soft->marks = NULL;
    soft->members = NULL;
}

/* Existing bodies keep their rest state. */
int rest_create(Soft *soft)
{
    u32 marks = 0, before = soft->mark_count;
    for (u32 b = 0; b < soft->body_count; b++) {
        marks += marks_of(&soft->bodies[b]);
    }
    SoftRest *rests = calloc((size_t)soft->body_count + 1, sizeof *rests);
    Vec3 *places = calloc((size_t)marks + 1, sizeof *places);
    IslandMember *members = calloc((size_t)soft->body_count + 1, sizeof *members);
    if (rests == NULL || places == NULL || members == NULL) {
        free(rests);
        free(places);
        free(members);
        return ERROR_MEMORY;
    }
    if (soft->rests != NULL) {
        memcpy(rests, soft->rests, soft->rest_count * sizeof *rests);
        memcpy(places, soft->marks, before * sizeof *places);
    }
    rest_destroy(soft);
    soft->rests = rests;
    soft->marks = places;
    soft->members = members;
    soft->rest_count = soft->body_count;
    soft->mark_count = 0;
    for (u32 b = 0; b < soft->body_count; b++) {
        const SoftBody *body = &soft->bodies[b];
        rests[b].first_mark = soft->mark_count;
        soft->mark_count += marks_of(body);
        for (u32 i = body->first; i < body->first + body->count; i++) {
            const SoftPoint *p = &soft->points[i];
            rests[b].pinned = rests[b].pinned || p->inverse_mass + p->spare <= 0.0f;
        }
    }
    return ERROR_OK;
}

void rest_fall_asleep(Soft *soft, u32 b)
{
    const SoftBody *body = &soft->bodies[b];
    SoftRest *rest = &soft->rests[b];
    rest->bounds = (Bounds){soft->points[body->first].position, soft->points[body->first].position};
    for (u32 i = body->first; i < body->first + body->count; i++) {
        SoftPoint *p = &soft->points[i];
        p->spare = p->inverse_mass;
        p->inverse_mass = 0.0f;
        p->velocity = vec3_zero();
        rest->bounds.min = vec3_min(rest->bounds.min, p->position);
        rest->bounds.max = vec3_max(rest->bounds.max, p->position);
    }
    rest->state.asleep = REST_ASLEEP;
    soft->asleep_count++;
}

void soft_wake(Soft *soft, u32 b)
{
    if (b >= soft->rest_count) {
        return;
    }
    const SoftBody *body = &soft->bodies[b];
    SoftRest *rest = &soft->rests[b];
    rest->state.rest_s = 0.0f;
    if (rest->state.asleep != REST_ASLEEP) {
        return;
    }
    for (u32 i = body->first; i < body->first + body->count; i++) {
        soft->points[i].inverse_mass = soft->points[i].spare;
        soft->points[i].spare = 0.0f;
    }
    rest->state.asleep = REST_AWAKE;
    soft->asleep_count--;
}

void soft_wake_all(Soft *soft)
{
    for (u32 b = 0; b < soft->rest_count; b++) {
        soft_wake(soft, b);
    }
}

bool soft_awake(const Soft *soft, u32 body)
{
    return !soft_sleeps(soft, body);
}

/* ---- waking ---- */

static f32 touching(f32 thickness)
{
    return thickness + soft_contact_m + soft_contact_part * thickness;
}

static bool point_touches(const Soft *soft, u32 particle, OtherThing thing, f32 ahead)
{
    const Collider *collider = soft_collider_of(soft, thing.other);
    f32 reach = touching(soft->matter[particle].radius) + ahead;
    Vec3 at = soft->points[particle].position, normal;
    return collider->ops->distance(collider->of, thing.thing, at, reach, &normal) < reach;
}

/* Does something moving touch the body, or will it in this tick? */
static bool is_met(const Soft *soft, u32 b, OtherThing thing, f32 speed, f32 tick_s)
{
    const SoftBody *body = &soft->bodies[b];
    f32 ahead = speed * tick_s;
    if (soft_contact_by_faces(soft, body, thing.other, thing.thing)) {
        return soft_contact_face_meets(soft, body, thing.other, thing.thing,
                                       touching(body->def.thickness) + ahead);
    }
    Bounds of = bounds_grow(soft_other_bounds(soft, thing.other, thing.thing),
                            touching(body->def.thickness) + ahead);
    for (u32 i = body->first; i < body->first + body->count; i++) {
        Bounds at = {soft->points[i].position, soft->points[i].position};
        if (bounds_overlap(&at, &of) && point_touches(soft, i, thing, ahead)) {
            return true;
        }
    }
    return false;
}

/* Does the thing wake bodies that sleep near it? *speed: m/s; for a thing that is not a body, that
 * of its part nearest to `near`. */
static bool stirs(const Soft *soft, OtherThing thing, Vec3 near, f32 *speed)
{
    const Collider *collider = soft_collider_of(soft, thing.other);
    const ColliderOps *ops = collider->ops;
    ContactBody body;
    if (ops->bodies != NULL) {
        ops->bodies->describe(collider->of, thing.thing, &body);
        *speed = body.speed;
        return body.stirs;
    }
    *speed = vec3_length(ops->velocity(collider->of, thing.thing, near));
    return !(ops->asleep != NULL && ops->asleep(collider->of, thing.thing)) && *speed > rest_m_s;
}

/* Does a moving body touch a sleeping one? */
static bool is_stirred(const Soft *soft, u32 b, f32 tick_s)
{
    u32 things[THINGS_MAX];
    const SoftDef *def = &soft->bodies[b].def;
    Bounds bounds = bounds_grow(soft->rests[b].bounds, touching(def->thickness));
    Vec3 middle = vec3_lerp(bounds.min, bounds.max, 0.5f);
    for (u32 o = 0; o < soft->other_count && !soft_is_absent(soft, b); o++) {
        const Collider *collider = soft_collider_of(soft, o);
        u32 count = collider->ops->overlaps(collider->of, bounds, def->group, def->mask, things,
                                            THINGS_MAX);
        for (u32 i = 0; i < count; i++) {
            OtherThing thing = {o, things[i]};
            f32 speed;
            if (stirs(soft, thing, middle, &speed) && is_met(soft, b, thing, speed, tick_s)) {
                return true;
            }
        }
    }
    return false;
}

/* Does the body of an attachment exist, and does it move? */
static bool holder_stirs(const Soft *soft, const SoftAttachment *held)
{
    f32 speed;
    return soft_holds(soft, held) &&
           stirs(soft, (OtherThing){soft->holder, held->body.slot}, vec3_zero(), &speed);
}

void soft_stir(Soft *soft, SoftOthers others, f32 tick_s)
{
    soft->tick_s = tick_s;
    soft->surface_stale = true;
    soft_others_set(soft, others);
    for (u32 o = 0; o < soft->other_count && soft->asleep_count > 0; o++) {
        const Collider *collider = soft_collider_of(soft, o);
        collider->ops->begin(collider->of, NULL, tick_s);
    }
    for (u32 i = 0; i < soft->grab_end; i++) {
        if (soft->grabs[i].live) {
            soft_wake(soft, soft->matter[soft->grabs[i].particle].body);
        }
    }
    for (u32 i = 0; i < soft->attachment_count && soft->asleep_count > 0; i++) {
        const SoftAttachment *held = &soft->attachments[i];
        if (holder_stirs(soft, held)) {
            soft_wake(soft, soft->matter[held->particle].body);
        }
    }
    for (u32 b = 0; b < soft->body_count && soft->asleep_count > 0; b++) {
        if (soft_sleeps(soft, b) &&
            (is_stirred(soft, b, tick_s) || (!soft_is_absent(soft, b) && wind_stirs(soft, b)))) {
            soft_wake(soft, b);
        }
    }
}

void soft_wake_within(Soft *soft, Bounds bounds)
{
    for (u32 b = 0; b < soft->rest_count && soft->asleep_count > 0; b++) {
        Bounds of = bounds_grow(soft->rests[b].bounds, touching(soft->bodies[b].def.thickness));
        if (soft->rests[b].state.asleep == REST_ASLEEP && bounds_overlap(&of, &bounds)) {
            soft_wake(soft, b);
        }
    }
}

/* ---- resting ---- */

static Vec3 mark_place(const Soft *soft, u32 b, u32 k)
{
    const SoftBody *body = &soft->bodies[b];
    return soft->points[body->first + (u32)((u64)k * body->count / marks_of(body))].position;
}

static void take_marks(Soft *soft, u32 b)
{
    for (u32 k = 0; k < marks_of(&soft->bodies[b]); k++) {
        soft->marks[soft->rests[b].first_mark + k] = mark_place(soft, b, k);
    }
}

/* Is each monitored point within `way` m, plus rounding, of its recorded position, and is no point
 * fast? */
static bool is_in_place(const Soft *soft, u32 b, f32 way)
{
    const SoftBody *body = &soft->bodies[b];
    for (u32 k = 0; k < marks_of(body); k++) {
        Vec3 at = mark_place(soft, b, k), side = vec3_abs(at);
        f32 most = way + rest_ulps * f32_max(f32_max(side.x, side.y), side.z);
        if (!(vec3_distance(at, soft->marks[soft->rests[b].first_mark + k]) <= most)) {
            return false;
        }
    }
    for (u32 i = body->first; i < body->first + body->count; i++) {
        if (!(vec3_length_squared(soft->points[i].velocity) < rest_m_s * rest_m_s)) {
            return false;
        }
    }
    return true;
}

/* Counts time as rigid bodies do: at each CONTACT_REST_S positions are recorded anew. */
static void count_rest(Soft *soft, u32 b)
{
    const f32 time = CONTACT_REST_S;
    SoftRest *rest = &soft->rests[b];
    bool rests = !whole_grows(soft, b) &&
                 is_in_place(soft, b, contact_rest_way(vec3_length(soft->gravity), rest->near));
    f32 before = rest->state.rest_s, now = rests ? before + soft->tick_s : 0.0f;
    if (!rests || (before < time && now >= time) || (before < 2.0f * time && now >= 2.0f * time) ||
        now >= 3.0f * time) {
        take_marks(soft, b);
    }
    rest->state.rest_s = now >= 3.0f * time ? now - time : now;
}

/* A body near something is supported; others may swing. */
static void find_near(Soft *soft)
{
    const SelfCollision *collision = soft->collision;
    for (u32 b = 0; b < soft->body_count; b++) {
        soft->rests[b].near =
            collision != NULL && collision->any && collision->bodies[b].partner_count > 0;
    }
    for (u32 i = 0; i < soft->near_count; i++) {
        soft->rests[soft->matter[soft->near[i].particle].body].near = true;
    }
    for (u32 i = 0; i < soft->face_count; i++) {
        SoftRest *rest = &soft->rests[soft->faces[i].body];
        rest->near = rest->near || soft->faces[i].near != 0;
    }
}

/* ---- what touches ---- */

typedef struct Links {
    u32 body;
    OtherThing thing; /* last pair found touching */
} Links;

static bool is_last(const Links *last, u32 body, OtherThing thing)
{
    return body == last->body && soft_thing_is(last->thing, thing.other, thing.thing);
}

static bool contact_counts(const Soft *soft, const SoftContact *contact, Links *last)
{
    u32 body = soft->matter[contact->particle].body;
    OtherThing thing = {contact->other, contact->thing};
    if (is_last(last, body, thing) || !point_touches(soft, contact->particle, thing, 0.0f)) {
        return false;
    }
    *last = (Links){body, thing};
    return true;
}

static bool face_counts(const Soft *soft, const SoftFace *face, Links *last)
{
    OtherThing thing = {face->other, face->thing};
    if (face->near == 0 || is_last(last, face->body, thing) ||
        !soft_contact_face_touches(soft, face, touching(soft->bodies[face->body].def.thickness))) {
        return false;
    }
    *last = (Links){face->body, thing};
    return true;
}

/* Do the two bodies of a contact touch: apart along the normal by no more than the distance
 * kept? */
static bool self_collision_counts(const Soft *soft, const CollisionContact *contact, u32 *one,
                                  u32 *other)
{
    Vec3 apart = vec3_zero();
    for (u32 k = 0; k < 4; k++) {
        apart =
            vec3_add_scaled(apart, contact->weight[k], soft->points[contact->point[k]].position);
    }
    *one = soft->matter[contact->point[0]].body;
    *other = soft->matter[contact->point[3]].body;
    return *one != *other && vec3_dot(apart, contact->normal) < touching(contact->keep);
}

static u32 self_collision_contacts(const Soft *soft)
{
    return soft->collision != NULL && soft->collision->any ? soft->collision->active_count : 0;
}

static void link_last(const Soft *soft, const Links *last)
{
    const Collider *collider = soft_collider_of(soft, last->thing.other);
    if (last->thing.other == soft->holder) {
        collider->ops->bodies->link_thing(collider->of, last->body, last->thing.thing);
    }
}

static void link_all(void *context)
{
    Soft *soft = context;
    const Collider *holder = soft_collider_of(soft, soft->holder);
    Links last = {SOFT_NONE, {SOFT_NONE, SOFT_NONE}};
    for (u32 i = 0; i < soft->attachment_count; i++) {
        const SoftAttachment *held = &soft->attachments[i];
        u32 body = soft->matter[held->particle].body;
        if (soft_holds(soft, held) && !soft_sleeps(soft, body)) {
            holder->ops->bodies->link_thing(holder->of, body, held->body.slot);
        }
    }
    for (u32 i = 0; i < soft->near_count; i++) {
        if (contact_counts(soft, &soft->near[i], &last)) {
            link_last(soft, &last);
        }
    }
    for (u32 i = 0; i < soft->face_count; i++) {
        if (face_counts(soft, &soft->faces[i], &last)) {
            link_last(soft, &last);
        }
    }
    for (u32 i = 0; i < self_collision_contacts(soft); i++) {
        u32 one, other;
        if (self_collision_counts(soft, soft->collision->active[i], &one, &other)) {
            holder->ops->bodies->link_members(holder->of, one, other);
        }
    }
}

void soft_rest(Soft *soft)
{
    if (soft->rest_count == 0 || soft->holder == SOFT_NONE ||
        soft->asleep_count == soft->body_count) {
        return;
    }
    find_near(soft);
    for (u32 b = 0; b < soft->body_count; b++) {
        bool awake = !soft_sleeps(soft, b);
        if (awake) {
            count_rest(soft, b);
        }
        const SoftRest *rest = &soft->rests[b];
        soft->members[b] = (IslandMember){.awake = awake,
                                          .rests = rest->state.rest_s >= 2.0f * CONTACT_REST_S,
                                          .held = rest->pinned};
    }
    soft->company = (IslandMembers){soft->members, soft->body_count, link_all, soft};
    const Collider *holder = soft_collider_of(soft, soft->holder);
    holder->ops->bodies->join_islands(holder->of, &soft->company);
}

/* ---- after it ---- */

static bool may_wake(const Soft *soft, u32 body, OtherThing thing)
{
    const Collider *collider = soft_collider_of(soft, thing.other);
    const ContactBodyOps *bodies = collider->ops->bodies;
    return !soft_sleeps(soft, body) && bodies != NULL &&
           bodies->mass(collider->of, thing.thing) > 0.0f &&
           !bodies->awake(collider->of, thing.thing);
}

static void wake_thing(const Soft *soft, OtherThing thing)
{
    const Collider *collider = soft_collider_of(soft, thing.other);
    collider->ops->wake(collider->of, thing.thing);
}

/* Awake bodies wake the bodies they touch. */
static void wake_neighbours(Soft *soft)
{
    Links last = {SOFT_NONE, {SOFT_NONE, SOFT_NONE}};
    for (u32 i = 0; i < soft->attachment_count; i++) {
        const SoftAttachment *held = &soft->attachments[i];
        u32 body = soft->matter[held->particle].body;
        OtherThing thing = {soft->holder, held->body.slot};
        if (soft_holds(soft, held) && may_wake(soft, body, thing)) {
            wake_thing(soft, thing);
        }
    }
    for (u32 i = 0; i < soft->near_count; i++) {
        const SoftContact *contact = &soft->near[i];
        OtherThing thing = {contact->other, contact->thing};
        if (may_wake(soft, soft->matter[contact->particle].body, thing) &&
            contact_counts(soft, contact, &last)) {
            wake_thing(soft, thing);
        }
    }
    for (u32 i = 0; i < soft->face_count; i++) {
        const SoftFace *face = &soft->faces[i];
        OtherThing thing = {face->other, face->thing};
        if (may_wake(soft, face->body, thing) && face_counts(soft, face, &last)) {
            wake_thing(soft, thing);
        }
    }
    for (u32 i = 0; i < self_collision_contacts(soft) && soft->asleep_count > 0; i++) {
        u32 one, other;
        if (self_collision_counts(soft, soft->collision->active[i], &one, &other) &&
            soft_sleeps(soft, one) != soft_sleeps(soft, other)) {
            soft_wake(soft, soft_sleeps(soft, one) ? one : other);
        }
    }
}

void soft_sleep(Soft *soft)
{
    if (soft->rest_count == 0 || soft->holder == SOFT_NONE ||
        soft->asleep_count == soft->body_count) {
        return;
    }
    for (u32 b = 0; b < soft->body_count; b++) {
        if (soft->members[b].sleeps) {
            rest_fall_asleep(soft, b);
        }
    }
    wake_neighbours(soft);
}

/* ---- state ---- */

static bool rest_is_valid(const Soft *soft)
{
    for (u32 b = 0; b < soft->rest_count; b++) {
        const SoftRestState *state = &soft->rests[b].state;
        if (state->asleep > (soft->bodies[b].spare ? REST_ABSENT : REST_ASLEEP) ||
            !(state->rest_s >= 0.0f && state->rest_s < 1e3f) ||
            !(state->credit_j >= 0.0f && state->credit_j <= STATE_VALUE_MAX)) {
            return false;
        }
    }
    for (u32 i = 0; i < soft->mark_count; i++) {
        if (!vec3_is_finite(soft->marks[i])) {
            return false;
        }
    }
    return true;
}

void rest_serialize(Soft *soft, State *state)
{
    for (u32 b = 0; b < soft->rest_count; b++) {
        state_bytes(state, &soft->rests[b].state, sizeof soft->rests[b].state);
    }
    state_bytes(state, soft->marks, soft->mark_count * sizeof *soft->marks);
    if (state->mode != STATE_LOAD) {
        return;
    }
    soft->asleep_count = soft->absent_count = 0;
    state->failed = state->failed || !rest_is_valid(soft);
    for (u32 b = 0; b < soft->rest_count && !state->failed; b++) {
        const SoftBody *body = &soft->bodies[b];
        Bounds bounds = {soft->points[body->first].position, soft->points[body->first].position};
        for (u32 i = body->first; i < body->first + body->count; i++) {
            bounds.min = vec3_min(bounds.min, soft->points[i].position);
            bounds.max = vec3_max(bounds.max, soft->points[i].position);
        }
        soft->rests[b].bounds = bounds;
        soft->rests[b].measured = false;
        soft->asleep_count += soft->rests[b].state.asleep != REST_AWAKE;
        soft->absent_count += soft->rests[b].state.asleep == REST_ABSENT;
    }
}
