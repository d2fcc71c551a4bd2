/* contact.c: particles against other matter: candidate pairs of a tick, contact, attachments. */
#include "server/physics/soft/soft_internal.h"
#include "shared/base/error.h"

#include <stdlib.h>

enum {
    GROUP = 64, /* consecutive particles that share one broad phase query */
    THINGS_MAX = 256,
    CONTACTS_EACH = 6,
    GROUP_CAPACITY = 4096,
    CONTACT_GRAIN = 256,
    PINCH_PASSES = 3, /* extra */
};

/* A pull wakes a sleeping body if it exceeds the pull when it fell asleep, with which it was in
 * balance, by this acceleration. */
static const f32 pull_wake_m_s2 = 2.0f;
/* Weight of this step's pull in the running mean. */
static const f32 pull_part = 0.05f;
/* Greater than the speed change of a particle by constraints and gravity in a substep. */
static const f32 near_m_s = 5.0f;
static bool reserve(Soft *soft, u32 count)
{
    u32 near = soft->contact_capacity;
    return memory_grow((void **)&soft->contacts, &soft->contact_capacity, count,
                       sizeof *soft->contacts) &&
           memory_grow((void **)&soft->near, &near, count, sizeof *soft->near);
}

/* Size of a body's triangles, taken as squares, or mean length of its segments. */
static f32 cell_of(const Soft *soft, const SoftBody *body)
{
    f64 area = 0.0, length = 0.0;
    for (u32 i = 0; i < body->triangle_count; i++) {
        const u32 *p = soft->triangles[body->first_triangle + i].point;
        Vec3 side = vec3_sub(soft->rest[p[1]], soft->rest[p[0]]);
        area += (f64)vec3_length(vec3_cross(side, vec3_sub(soft->rest[p[2]], soft->rest[p[0]])));
    }
    for (u32 i = 0; i < body->segment_count; i++) {
        const u32 *p = soft->segments[body->first_segment + i].point;
        length += (f64)vec3_distance(soft->rest[p[0]], soft->rest[p[1]]);
    }
    return body->triangle_count != 0  ? sqrtf((f32)(area / body->triangle_count))
           : body->segment_count != 0 ? (f32)(length / body->segment_count)
                                      : 0.0f;
}

/* Attachments are ordered by body, but not by particle. */
static bool list_pins(Soft *soft)
{
    free(soft->pinned);
    soft->pin_count = 0;
    soft->pinned = malloc(((size_t)soft->count + soft->attachment_count + 1) * sizeof(u32));
    u32 attachment = 0;
    for (u32 b = 0; soft->pinned != NULL && b < soft->body_count; b++) {
        SoftBody *body = &soft->bodies[b];
        body->first_pin = soft->pin_count;
        for (u32 i = body->first; i < body->first + body->count; i++) {
            if (soft->points[i].inverse_mass <= 0.0f) {
                soft->pinned[soft->pin_count++] = i;
            }
        }
        body->first_attachment = attachment;
        for (; attachment < soft->attachment_count &&
               soft->matter[soft->attachments[attachment].particle].body == b;
             attachment++) {
            soft->pinned[soft->pin_count++] = soft->attachments[attachment].particle;
        }
        body->pin_count = soft->pin_count - body->first_pin;
        body->attachment_count = attachment - body->first_attachment;
    }
    return soft->pinned != NULL;
}

/* Reserves memory for a cloth among many bodies, so that ticks rarely allocate. */
int soft_contact_create(Soft *soft)
{
    for (u32 b = 0; b < soft->body_count; b++) {
        soft->bodies[b].cell = cell_of(soft, &soft->bodies[b]);
    }
    return list_pins(soft) &&
                   (soft->count == 0 || reserve(soft, soft->count * CONTACTS_EACH + GROUP_CAPACITY))
               ? ERROR_OK
               : ERROR_MEMORY;
}

/* Things that a group of particles may touch. */
typedef struct GroupThings {
    OtherThing of[THINGS_MAX];
    bool inner[THINGS_MAX]; /* faces handle contact */
    u32 root[THINGS_MAX];
    Bounds bounds[THINGS_MAX]; /* m */
    u32 count;
} GroupThings;

static void find_things(const Soft *soft, const SoftBody *body, Bounds bounds, GroupThings *found)
{
    u32 things[THINGS_MAX];
    found->count = 0;
    for (u32 o = 0; o < soft->other_count; o++) {
        const Collider *collider = soft_collider_of(soft, o);
        u32 count = collider->ops->overlaps(collider->of, bounds, body->def.group, body->def.mask,
                                            things, THINGS_MAX);
        for (u32 i = 0; i < count && found->count < THINGS_MAX; i++) {
            found->inner[found->count] = soft_contact_by_faces(soft, body, o, things[i]);
            found->of[found->count] = (OtherThing){o, things[i]};
            found->count += !found->inner[found->count] || body->inner;
        }
    }
}

/* Bodies are few and large: testing their bounds is enough. Other things may be many and small. */
static bool may_meet(const Soft *soft, u32 i, OtherThing thing)
{
    const Collider *collider = soft_collider_of(soft, thing.other);
    ContactParticle particle = {.position = soft->points[i].position,
                                .velocity = soft->points[i].velocity,
                                .inverse_mass = soft->points[i].inverse_mass,
                                .radius = soft->matter[i].radius};
    return contact_bodies(collider) != NULL ||
           collider->ops->may_meet(collider->of, thing.thing, &particle, soft->tick_s);
}

static void add_contact(Soft *soft, u32 particle, OtherThing thing, u32 root)
{
    soft->contacts[soft->contact_count++] =
        (SoftContact){.particle = particle,
                      .thing = thing.thing,
                      .other = (u8)thing.other,
                      .rooted = soft_contact_near_root(soft, thing, root, particle),
                      .mover = soft_others_take(soft, thing.other, thing.thing)};
}

static void begin_group(Soft *soft, const SoftBody *body, u32 first, u32 end, ContactRoots *roots)
{
    GroupThings near;
    Bounds bounds = {soft->points[first].position, soft->points[first].position};
    f32 fastest = 0.0f;
    for (u32 i = first; i < end; i++) {
        bounds.min = vec3_min(bounds.min, soft->points[i].position);
        bounds.max = vec3_max(bounds.max, soft->points[i].position);
        fastest = f32_max(fastest, vec3_length_squared(soft->points[i].velocity));
    }
    f32 margin = body->def.thickness + (sqrtf(fastest) + CONTACT_MARGIN_M_S) * soft->tick_s;
    Vec3 grow = vec3(margin, margin, margin);
    bounds.min = vec3_sub(bounds.min, grow);
    bounds.max = vec3_add(bounds.max, grow);
    find_things(soft, body, bounds, &near);
    if (near.count == 0 || !reserve(soft, soft->contact_count + near.count * (end - first))) {
        return;
    }
    for (u32 s = 0; s < near.count; s++) {
        near.root[s] = soft_contact_root(soft, body, near.of[s], roots);
        near.bounds[s] = soft_other_bounds(soft, near.of[s].other, near.of[s].thing);
    }
    for (u32 i = first; i < end; i++) {
        for (u32 s = 0; s < near.count; s++) {
            if ((!near.inner[s] || soft->matter[i].inner) &&
                soft_point_in(near.bounds[s], soft->points[i].position, margin) &&
                may_meet(soft, i, near.of[s]) &&
                !soft_contact_is_rooted(soft, near.of[s], near.root[s], i)) {
                add_contact(soft, i, near.of[s], near.root[s]);
            }
        }
    }
}

/* Lists pairs of particle and thing that may touch within the tick, by particle, then other. */
void soft_contact_begin(Soft *soft)
{
    if (soft->other_count == 0) {
        return;
    }
    for (u32 o = 0; o < soft->other_count; o++) {
        const Collider *collider = soft_collider_of(soft, o);
        collider->ops->begin(collider->of, soft->jobs, soft->tick_s);
    }
    for (u32 i = 0; i < soft->attachment_count; i++) {
        if (soft_holds(soft, &soft->attachments[i])) {
            soft_others_take(soft, soft->holder, soft->attachments[i].body.slot);
        }
    }
    for (u32 b = 0; b < soft->body_count; b++) {
        const SoftBody *body = &soft->bodies[b];
        u32 last = body->first + body->count;
        ContactRoots roots = {.count = 0};
        for (u32 first = soft_sleeps(soft, b) ? last : body->first; first < last; first += GROUP) {
            begin_group(soft, body, first, u32_min(first + GROUP, last), &roots);
        }
    }
    soft_contact_face_begin(soft);
}

/* ---- attachments ---- */

/* A particle attached to a body: moves both, by mass, so that at the end of the step the
 * particle is at its anchor. */
static void solve_attachment(Soft *soft, SoftAttachment *held, f32 h)
{
    const Collider *collider = soft_collider_of(soft, soft->holder);
    const ContactBodyOps *bodies = collider->ops->bodies;
    u32 thing = held->body.slot;
    SoftPoint *p = &soft->points[held->particle];
    ContactMotion motion = soft_motion_of(soft, soft->holder, thing);
    /* The impulse acts through the particle: equal and opposite moments about any point. */
    ContactPlace place = {.thing = thing, .arm = vec3_sub(p->position, motion.centre)};
    Vec3 wanted = soft_contact_hold_speed(soft, held, p->position, h);
    Vec3 change = vec3_sub(wanted, p->velocity);
    Symmetric3 response = bodies->response(collider->of, thing, place.arm);
    response.xx += p->inverse_mass;
    response.yy += p->inverse_mass;
    response.zz += p->inverse_mass;
    Symmetric3 mass = symmetric_inverse(&response);
    Vec3 impulse = symmetric_mul(&mass, change);
    p->velocity = vec3_add_scaled(p->velocity, p->inverse_mass, impulse);
    f32 own = bodies->mass(collider->of, thing);
    if (own <= 0.0f) {
        return;
    }
    Vec3 pull = vec3_scale(impulse, -1.0f / h);
    if (bodies->awake(collider->of, thing)) {
        collider->ops->impulse(collider->of, &place, vec3_neg(impulse));
        held->pull = vec3_lerp(held->pull, pull, pull_part);
    } else if (vec3_distance(pull, held->pull) > pull_wake_m_s2 * own) {
        collider->ops->wake(collider->of, thing);
    }
}

static void solve_attachments(Soft *soft, f32 h)
{
    for (u32 i = 0; i < soft->attachment_count; i++) {
        SoftAttachment *held = &soft->attachments[i];
        /* If the body is gone, the particle is free; the world may also pin it. */
        if (soft_holds(soft, held) && soft->points[held->particle].inverse_mass > 0.0f) {
            solve_attachment(soft, held, h);
        }
    }
}

/* ---- contacts ---- */

typedef struct ContactPass {
    Soft *soft;
    f32 h; /* s */
} ContactPass;

static void solve_contact(void *context, void *item)
{
    const ContactPass *pass = context;
    SoftContact *contact = item;
    Soft *soft = pass->soft;
    u32 p = contact->particle;
    const SoftMatter *matter = &soft->matter[p];
    ContactParticle particle = {.position = soft->points[p].position,
                                .velocity = soft->points[p].velocity,
                                .inverse_mass = soft->points[p].inverse_mass,
                                .radius = contact->keep,
                                .swept = matter->inner,
                                .friction = matter->friction,
                                .static_friction = matter->static_friction,
                                .stiffness = soft->bodies[matter->body].def.contact_stiffness};
    if (contact_particle(soft_collider_of(soft, contact->other), contact->thing, &particle,
                         pass->h)) {
        contact->normal = particle.normal;
        soft->points[p].velocity = particle.velocity;
        soft->points[p].position = particle.position;
    }
    contact->pressed += particle.pressed;
}

static void solve_contacts(Soft *soft, f32 h)
{
    ContactPass pass = {soft, h};
    ContactList list = {.items = soft->near,
                        .bytes = sizeof *soft->near,
                        .count = soft->near_count,
                        .fixed = soft->near_fixed,
                        .solve = solve_contact,
                        .context = &pass};
    for (u32 i = 0; i < soft->near_count; i++) {
        soft->near[i].pressed = 0.0f;
    }
    contact_solve_list(&list, soft->jobs);
}

/* Two bodies that pinch a particle each undo half of the other's correction: solved once, they
 * would push it back and forth forever. */
static void solve_pinched(Soft *soft, f32 h)
{
    ContactPass pass = {soft, h};
    for (u32 n = 0; n < PINCH_PASSES && soft->pinched_count != 0; n++) {
        for (u32 i = 0; i < soft->near_count; i++) {
            if (soft->near[i].pinched != 0) {
                solve_contact(&pass, &soft->near[i]);
            }
        }
        soft_contact_face_solve_pinched(soft, h);
    }
}

static void measure_contacts(void *context, u32 first, u32 end, u32 worker)
{
    const ContactPass *pass = context;
    const Soft *soft = pass->soft;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        SoftContact *contact = &soft->contacts[i];
        const Collider *collider = soft_collider_of(soft, contact->other);
        const SoftPoint *point = &soft->points[contact->particle];
        Vec3 moving = vec3_zero();
        if (contact->mover != SOFT_NONE) {
            moving = collider->ops->velocity(collider->of, contact->thing, point->position);
        }
        f32 speed = vec3_distance(moving, point->velocity);
        f32 reach = soft->matter[contact->particle].radius + (speed + near_m_s) * pass->h;
        contact->distance = collider->ops->distance(collider->of, contact->thing, point->position,
                                                    reach, &contact->normal);
        contact->near = contact->distance < reach;
    }
}

/* ---- the substep ---- */

/* 1/kg of a particle and the body it is attached to, averaged over all directions. */
static f32 coupled_mass(const Soft *soft, u32 thing, Vec3 arm, f32 w)
{
    const Collider *collider = soft_collider_of(soft, soft->holder);
    if (!(collider->ops->bodies->mass(collider->of, thing) > 0.0f) || w <= 0.0f) {
        return 0.0f;
    }
    ContactPlace place = {.thing = thing, .arm = arm};
    f32 wb = (collider->ops->inverse_mass(collider->of, &place, vec3(1.0f, 0.0f, 0.0f)) +
              collider->ops->inverse_mass(collider->of, &place, vec3(0.0f, 1.0f, 0.0f)) +
              collider->ops->inverse_mass(collider->of, &place, vec3(0.0f, 0.0f, 1.0f))) /
             3.0f;
    return w * wb / (w + wb);
}

static void measure_attachments(Soft *soft)
{
    for (u32 i = 0; i < soft->attachment_count; i++) {
        SoftAttachment *attachment = &soft->attachments[i];
        attachment->carried = vec3_zero();
        attachment->coupled = soft->points[attachment->particle].inverse_mass;
        if (soft_holds(soft, attachment)) {
            u32 thing = attachment->body.slot;
            ContactMotion motion = soft_motion_of(soft, soft->holder, thing);
            Vec3 arm = quat_rotate(motion.orientation, attachment->local);
            attachment->carried = contact_motion_at(&motion, arm);
            attachment->coupled = coupled_mass(soft, thing, arm, attachment->coupled);
        }
    }
}

/* Returns the others to the start of the substep, and finds the pairs that may touch in it. */
void soft_contact_substep(Soft *soft, f32 h)
{
    for (u32 o = 0; o < soft->other_count; o++) {
        const Collider *collider = soft_collider_of(soft, o);
        collider->ops->substep_begin(collider->of, h);
    }
    measure_attachments(soft);
    ContactPass pass = {soft, h};
    jobs_run(soft->jobs, soft->contact_count, CONTACT_GRAIN, measure_contacts, &pass);
    soft_contact_find_clearance(soft);
    soft_contact_face_substep(soft, h);
    soft->near_count = soft->pinched_count = 0;
    for (u32 moves = 0; moves < 2; moves++) {
        for (u32 i = 0; i < soft->contact_count; i++) {
            if (soft->contacts[i].near != 0 && (soft->contacts[i].mover != SOFT_NONE) == moves) {
                soft->near[soft->near_count++] = soft->contacts[i];
                soft->pinched_count += soft->contacts[i].pinched;
            }
        }
        soft->near_fixed = moves == 0 ? soft->near_count : soft->near_fixed;
    }
}

void soft_contact_solve(Soft *soft, f32 h)
{
    loads_pass(soft);
    solve_attachments(soft, h);
    solve_contacts(soft, h);
    soft_contact_face_solve(soft, h);
    solve_pinched(soft, h);
    roll_solve(soft);
    for (u32 o = 0; o < soft->other_count; o++) {
        const Collider *collider = soft_collider_of(soft, o);
        collider->ops->step_end(collider->of, h);
    }
}
