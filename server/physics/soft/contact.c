/* contact.c: particles against rigid bodies: candidate pairs of a tick, contact, attachments. */
#include "server/physics/soft/soft_internal.h"
#include "shared/base/error.h"

#include <stdlib.h>

enum {
    GROUP = 64, /* consecutive particles that share one broad phase query */
    SLOTS_MAX = 256,
    CONTACTS_EACH = 6,
    GROUP_CAPACITY = 4096,
    CONTACT_GRAIN = 256,
    PINCH_PASSES = 3, /* extra */
};

/* A pull wakes a sleeping body if it would accelerate it by this much beyond the pull at the
 * time it fell asleep, which it was in balance with. */
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
        for (; attachment < soft->attachment_count &&
               soft->matter[soft->attachments[attachment].particle].body == b;
             attachment++) {
            soft->pinned[soft->pin_count++] = soft->attachments[attachment].particle;
        }
        body->pin_count = soft->pin_count - body->first_pin;
    }
    return soft->pinned != NULL;
}

/* Reserves room for a cloth among many bodies, so that ticks seldom allocate. */
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

static void begin_group(Soft *soft, Rigid *rigid, const SoftBody *body, u32 first, u32 end,
                        ContactRoots *roots)
{
    u32 slots[SLOTS_MAX], kept = 0;
    bool inner[SLOTS_MAX]; /* faces handle contact */
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
    u32 count = rigid_overlaps(rigid, bounds, slots, SLOTS_MAX);
    for (u32 s = 0; s < count; s++) {
        if (rigid_meets(rigid, slots[s], body->def.group, body->def.mask)) {
            inner[kept] = soft_contact_by_faces(soft, rigid, body, slots[s]);
            slots[kept] = slots[s];
            kept += !inner[kept] || body->inner;
        }
    }
    if (kept == 0 || !reserve(soft, soft->contact_count + kept * (end - first))) {
        return;
    }
    u32 root[SLOTS_MAX];
    for (u32 s = 0; s < kept; s++) {
        root[s] = soft_contact_root(soft, rigid, body, slots[s], roots);
    }
    for (u32 i = first; i < end; i++) {
        for (u32 s = 0; s < kept; s++) {
            if ((!inner[s] || soft->matter[i].inner) &&
                soft_point_in(rigid_bounds(rigid, slots[s]), soft->points[i].position, margin) &&
                (root[s] == SOFT_NONE ||
                 !soft_contact_is_rooted(soft, rigid, slots[s], root[s], i))) {
                SoftContact contact = {.particle = i,
                                       .slot = slots[s],
                                       .mover = rigid_mover(&soft->rigid_bodies, slots[s])};
                soft->contacts[soft->contact_count++] = contact;
            }
        }
    }
}

/* Lists pairs of particle and body that may touch within the tick, by particle, then slot. */
void soft_contact_begin(Soft *soft, Rigid *rigid)
{
    soft->contact_count = 0;
    soft->rigid_bodies.rigid = rigid;
    soft->rigid_bodies.gravity = soft->gravity;
    soft->rigid_bodies.tick_s = soft->tick_s;
    rigid_movers_clear(&soft->rigid_bodies);
    for (u32 i = 0; i < soft->attachment_count; i++) {
        if (rigid_alive(rigid, soft->attachments[i].body)) {
            rigid_mover(&soft->rigid_bodies, soft->attachments[i].body.slot);
        }
    }
    for (u32 b = 0; b < soft->body_count; b++) {
        const SoftBody *body = &soft->bodies[b];
        u32 last = body->first + body->count;
        ContactRoots roots = {.count = 0};
        for (u32 first = soft_sleeps(soft, b) ? last : body->first; first < last; first += GROUP) {
            begin_group(soft, rigid, body, first, u32_min(first + GROUP, last), &roots);
        }
    }
    soft_contact_face_begin(soft, rigid);
}

/* A particle attached to a body: moves both, by mass, so that at the end of the step the
 * particle is at its anchor. */
static void solve_attachment(Soft *soft, Rigid *rigid, SoftAttachment *held, f32 h)
{
    u32 slot = held->body.slot;
    SoftPoint *p = &soft->points[held->particle];
    /* The impulse acts through the particle: equal and opposite moments about any point. */
    Vec3 arm = vec3_sub(p->position, rigid_centre(rigid, slot));
    Vec3 wanted = soft_contact_hold_speed(soft, rigid, held, p->position, h);
    Vec3 change = vec3_sub(wanted, p->velocity);
    Symmetric3 response = rigid_response_at(rigid, slot, arm);
    response.xx += p->inverse_mass;
    response.yy += p->inverse_mass;
    response.zz += p->inverse_mass;
    Symmetric3 mass = symmetric_inverse(&response);
    Vec3 impulse = symmetric_mul(&mass, change);
    p->velocity = vec3_add_scaled(p->velocity, p->inverse_mass, impulse);
    if (rigid_mass(rigid, slot) <= 0.0f) {
        return;
    }
    Vec3 pull = vec3_scale(impulse, -1.0f / h);
    if (rigid_awake(rigid, slot)) {
        rigid_impulse(rigid, slot, arm, vec3_neg(impulse));
        held->pull = vec3_lerp(held->pull, pull, pull_part);
    } else if (vec3_distance(pull, held->pull) > pull_wake_m_s2 * rigid_mass(rigid, slot)) {
        rigid_wake(rigid, slot);
    }
}

static void solve_attachments(Soft *soft, Rigid *rigid, f32 h)
{
    for (u32 i = 0; i < soft->attachment_count; i++) {
        SoftAttachment *held = &soft->attachments[i];
        /* If the body is gone, the particle is free; the world may also pin it. */
        if (rigid_alive(rigid, held->body) && soft->points[held->particle].inverse_mass > 0.0f) {
            solve_attachment(soft, rigid, held, h);
        }
    }
}

typedef struct ContactPass {
    Soft *soft;
    const Rigid *rigid;
    Collider bodies; /* rigid bodies */
    f32 h;           /* s */
} ContactPass;

static void solve_contact(const ContactPass *pass, SoftContact *contact)
{
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
    if (contact_particle(&pass->bodies, contact->slot, &particle, pass->h)) {
        contact->normal = particle.normal;
        soft->points[p].velocity = particle.velocity;
        soft->points[p].position = particle.position;
    }
    contact->pressed += particle.pressed;
}

/* Static bodies are unaffected, so contacts of different particles are independent. The range
 * begins and ends at particle boundaries. */
static void solve_fixed(void *context, u32 first, u32 end, u32 worker)
{
    const ContactPass *pass = context;
    SoftContact *near = pass->soft->near;
    u32 count = pass->soft->near_fixed;
    PL_UNUSED(worker);
    end = contact_boundary(near, sizeof *near, end, count);
    for (u32 i = contact_boundary(near, sizeof *near, first, count); i < end; i++) {
        near[i].pressed = 0.0f;
        solve_contact(pass, &near[i]);
    }
}

static void solve_contacts(Soft *soft, const Rigid *rigid, f32 h)
{
    ContactPass pass = {soft, rigid, rigid_collider(&soft->rigid_bodies), h};
    jobs_run(soft->jobs, soft->near_fixed, CONTACT_GRAIN, solve_fixed, &pass);
    for (u32 i = soft->near_fixed; i < soft->near_count; i++) {
        soft->near[i].pressed = 0.0f;
        solve_contact(&pass, &soft->near[i]);
    }
}

/* Two bodies that pinch a particle each undo half of the other's correction: solved once, they
 * would push it back and forth for ever. */
static void solve_pinched(Soft *soft, Rigid *rigid, f32 h)
{
    ContactPass pass = {soft, rigid, rigid_collider(&soft->rigid_bodies), h};
    for (u32 n = 0; n < PINCH_PASSES && soft->pinched_count != 0; n++) {
        for (u32 i = 0; i < soft->near_count; i++) {
            if (soft->near[i].pinched != 0) {
                solve_contact(&pass, &soft->near[i]);
            }
        }
        soft_contact_face_solve_pinched(soft, rigid, h);
    }
}

static void measure_contacts(void *context, u32 first, u32 end, u32 worker)
{
    const ContactPass *pass = context;
    const Soft *soft = pass->soft;
    const Rigid *rigid = pass->rigid;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        SoftContact *contact = &soft->contacts[i];
        const SoftPoint *point = &soft->points[contact->particle];
        Vec3 moving = vec3_zero();
        if (contact->mover != SOFT_NONE) {
            const RigidMover *mover = &soft->rigid_bodies.movers[contact->mover];
            Vec3 arm = vec3_sub(point->position, rigid_centre(rigid, contact->slot));
            moving = vec3_add(rigid_velocity_at(rigid, contact->slot, arm), mover->bias);
        }
        f32 speed = vec3_distance(moving, point->velocity);
        f32 reach = soft->matter[contact->particle].radius + (speed + near_m_s) * pass->h;
        contact->distance =
            rigid_collider_distance(rigid, contact->slot, point->position, reach, &contact->normal);
        contact->near = contact->distance < reach;
    }
}

/* 1/kg of a particle and the body it is attached to, averaged over all directions. */
static f32 coupled_mass(const Rigid *rigid, u32 slot, Vec3 arm, f32 w)
{
    if (!(rigid_mass(rigid, slot) > 0.0f) || w <= 0.0f) {
        return 0.0f;
    }
    f32 wb = (rigid_inverse_mass_at(rigid, slot, arm, vec3(1.0f, 0.0f, 0.0f)) +
              rigid_inverse_mass_at(rigid, slot, arm, vec3(0.0f, 1.0f, 0.0f)) +
              rigid_inverse_mass_at(rigid, slot, arm, vec3(0.0f, 0.0f, 1.0f))) /
             3.0f;
    return w * wb / (w + wb);
}

static void measure_attachments(Soft *soft, const Rigid *rigid)
{
    for (u32 i = 0; i < soft->attachment_count; i++) {
        SoftAttachment *attachment = &soft->attachments[i];
        attachment->carried = vec3_zero();
        attachment->coupled = soft->points[attachment->particle].inverse_mass;
        if (rigid_alive(rigid, attachment->body)) {
            u32 slot = attachment->body.slot;
            Vec3 arm = quat_rotate(rigid_orientation(rigid, slot), attachment->local);
            attachment->carried = rigid_velocity_at(rigid, slot, arm);
            attachment->coupled = coupled_mass(rigid, slot, arm, attachment->coupled);
        }
    }
}

/* Returns the bodies to the start of the substep; which pairs may touch in it? */
void soft_contact_substep(Soft *soft, Rigid *rigid, f32 h)
{
    rigid_movers_begin(&soft->rigid_bodies, h);
    measure_attachments(soft, rigid);
    ContactPass pass = {soft, rigid, rigid_collider(&soft->rigid_bodies), h};
    jobs_run(soft->jobs, soft->contact_count, CONTACT_GRAIN, measure_contacts, &pass);
    soft_contact_find_clearance(soft);
    soft_contact_face_substep(soft, rigid, h);
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

void soft_contact_solve(Soft *soft, Rigid *rigid, f32 h)
{
    loads_pass(soft, rigid);
    solve_attachments(soft, rigid, h);
    solve_contacts(soft, rigid, h);
    soft_contact_face_solve(soft, rigid, h);
    solve_pinched(soft, rigid, h);
    roll_solve(soft, rigid);
    rigid_movers_step(&soft->rigid_bodies, h);
}
