/* touch.c: particles against rigid bodies: which pairs may meet in a tick, contact, attachments. */
#include "server/physics/couple.h"
#include "server/physics/soft/store.h"
#include "shared/error.h"

#include <stdlib.h>

enum {
    GROUP = 64, /* consecutive particles whose common bounds ask the broad phase once */
    SLOTS_MAX = 256,
    TOUCHES_EACH = 6,
    GROUP_ROOM = 4096,
    TOUCH_GRAIN = 256,
};

/* What would speed a sleeping body up like this wakes it. */
static const f32 pull_wake_m_s2 = 2.0f;
/* Faster than what constraints and gravity change a particle's speed by in a substep. */
static const f32 near_m_s = 5.0f;
/* Of the gap between a particle and the moving body that holds it, closed in each step. */
static const f32 gap_part = 0.3f;
/* The body moves before its particles in a substep, by the speed that it had, and they follow it
 * from there to where it is: on the mean half a substep late. A force that is late takes the
 * damping out of what swings by it, so moving bodies are met ahead by this part of a substep of
 * how they move against the mean of the particles (half of it, where the others are held). The
 * other methods are damped enough by themselves. */
static const f32 lead_part = 1.2f;

static bool reserve(Soft *soft, u32 count)
{
    u32 room = soft->touch_room;
    return soft_grow((void **)&soft->touches, &soft->touch_room, count, sizeof *soft->touches) &&
           soft_grow((void **)&soft->near, &room, count, sizeof *soft->near);
}

/* A body's triangles as squares, or the mean of its segments. */
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

/* Attachments come in the order of their bodies, though not of their particles. */
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

/* Room for what a cloth in a crowd touches, so that ticks seldom ask for memory. */
int touch_create(Soft *soft)
{
    for (u32 b = 0; b < soft->body_count; b++) {
        soft->bodies[b].cell = cell_of(soft, &soft->bodies[b]);
    }
    return list_pins(soft) &&
                   (soft->count == 0 || reserve(soft, soft->count * TOUCHES_EACH + GROUP_ROOM))
               ? ERROR_OK
               : ERROR_MEMORY;
}

static bool point_in(Bounds bounds, Vec3 p, f32 margin)
{
    return p.x >= bounds.min.x - margin && p.x <= bounds.max.x + margin &&
           p.y >= bounds.min.y - margin && p.y <= bounds.max.y + margin &&
           p.z >= bounds.min.z - margin && p.z <= bounds.max.z + margin;
}

/* m, negative inside; what is farther than `reach` is anything farther. */
static f32 distance_to(const Rigid *rigid, u32 slot, Vec3 point, f32 reach)
{
    ShapePose pose = {rigid_shape(rigid, slot), rigid_position(rigid, slot),
                      rigid_orientation(rigid, slot)};
    Vec3 normal;
    return point_in(rigid_bounds(rigid, slot), point, reach)
               ? couple_distance(&pose, point, reach, &normal)
               : INFINITY;
}

u32 touch_root(const Soft *soft, const Rigid *rigid, const SoftBody *body, u32 slot,
               TouchRoots *roots)
{
    for (u32 i = 0; i < roots->count; i++) {
        if (roots->slot[i] == slot) {
            return roots->root[i];
        }
    }
    u32 root = SOFT_NONE;
    for (u32 i = 0; i < body->pin_count && root == SOFT_NONE; i++) {
        u32 particle = soft->pinned[body->first_pin + i];
        f32 distance = distance_to(rigid, slot, soft->points[particle].position, 0.0f);
        root = distance < 0.0f ? particle : SOFT_NONE;
    }
    if (roots->count < PL_COUNT(roots->slot)) {
        roots->slot[roots->count] = slot;
        roots->root[roots->count++] = root;
    }
    return root;
}

/* Can a particle not be farther out than this from where it is pinned within? */
static bool is_held_near(const Soft *soft, const Rigid *rigid, u32 slot, u32 particle, f32 across)
{
    const SoftBody *body = &soft->bodies[soft->matter[particle].body];
    f32 radius = soft->matter[particle].radius;
    for (u32 i = 0; i < body->pin_count; i++) {
        u32 pin = soft->pinned[body->first_pin + i];
        f32 away = vec3_distance(soft->rest[particle], soft->rest[pin]);
        if (!(away > 0.5f * across + radius) &&
            away <= radius - distance_to(rigid, slot, soft->points[pin].position, 0.0f)) {
            return true;
        }
    }
    return false;
}

bool touch_is_rooted(const Soft *soft, const Rigid *rigid, u32 slot, u32 root, u32 particle)
{
    Bounds bounds = rigid_bounds(rigid, slot);
    f32 across = vec3_length(vec3_sub(bounds.max, bounds.min));
    f32 radius = soft->matter[particle].radius;
    f32 distance = distance_to(rigid, slot, soft->points[particle].position, radius);
    if (distance < 0.0f) {
        return !(vec3_distance(soft->rest[particle], soft->rest[root]) > across);
    }
    return distance < radius && is_held_near(soft, rigid, slot, particle, across);
}

static void begin_group(Soft *soft, Rigid *rigid, const SoftBody *body, u32 first, u32 end,
                        TouchRoots *roots)
{
    u32 slots[SLOTS_MAX], kept = 0;
    Bounds bounds = {soft->points[first].position, soft->points[first].position};
    f32 fastest = 0.0f;
    for (u32 i = first; i < end; i++) {
        bounds.min = vec3_min(bounds.min, soft->points[i].position);
        bounds.max = vec3_max(bounds.max, soft->points[i].position);
        fastest = f32_max(fastest, vec3_length_squared(soft->points[i].velocity));
    }
    /* Gravity and solver may speed a particle up within the tick: 2 m/s of margin. */
    f32 margin = body->def.thickness + (sqrtf(fastest) + 2.0f) * soft->tick_s;
    Vec3 grow = vec3(margin, margin, margin);
    bounds.min = vec3_sub(bounds.min, grow);
    bounds.max = vec3_add(bounds.max, grow);
    u32 count = rigid_overlaps(rigid, bounds, slots, SLOTS_MAX);
    for (u32 s = 0; s < count; s++) {
        if (rigid_meets(rigid, slots[s], body->def.group, body->def.mask) &&
            !touch_by_faces(soft, rigid, body, slots[s])) {
            slots[kept++] = slots[s];
        }
    }
    if (kept == 0 || !reserve(soft, soft->touch_count + kept * (end - first))) {
        return;
    }
    u32 root[SLOTS_MAX];
    for (u32 s = 0; s < kept; s++) {
        root[s] = touch_root(soft, rigid, body, slots[s], roots);
    }
    for (u32 i = first; i < end; i++) {
        for (u32 s = 0; s < kept; s++) {
            if (point_in(rigid_bounds(rigid, slots[s]), soft->points[i].position, margin) &&
                (root[s] == SOFT_NONE || !touch_is_rooted(soft, rigid, slots[s], root[s], i))) {
                SoftTouch touch = {.particle = i,
                                   .slot = slots[s],
                                   .fixed = rigid_motion(rigid, slots[s]) == BODY_STATIC};
                soft->touches[soft->touch_count++] = touch;
            }
        }
    }
}

/* Pairs of particle and body that may meet within the tick, by particle, then slot. */
void touch_begin(Soft *soft, Rigid *rigid, f32 tick_s)
{
    PL_UNUSED(tick_s);
    soft->touch_count = 0;
    for (u32 b = 0; b < soft->body_count; b++) {
        const SoftBody *body = &soft->bodies[b];
        u32 last = body->first + body->count;
        TouchRoots roots = {.count = 0};
        for (u32 first = body->first; first < last; first += GROUP) {
            begin_group(soft, rigid, body, first, u32_min(first + GROUP, last), &roots);
        }
    }
    touch_face_begin(soft, rigid);
}

/* A particle held by a body: placed there where the body cannot give way. Else both get the common
 * speed, and a part of the gap is closed: the body moves only in its own substep, and a gap closed
 * at once would be closed again by it. `ahead` (s) is how far the body is ahead of this step. */
static void solve_attachment(Soft *soft, Rigid *rigid, const SoftAttachment *held, f32 h, f32 ahead)
{
    u32 slot = held->body.slot;
    f32 w = soft->points[held->particle].inverse_mass;
    Vec3 arm = quat_rotate(rigid_orientation(rigid, slot), held->local);
    Vec3 *v = &soft->points[held->particle].velocity;
    bool gives = rigid_mass(rigid, slot) > 0.0f && rigid_awake(rigid, slot);
    Vec3 anchor_v = gives ? rigid_velocity_at(rigid, slot, arm) : held->carried;
    Vec3 gap = vec3_sub(rigid_centre(rigid, slot), soft->points[held->particle].position);
    gap = vec3_add_scaled(vec3_add(gap, arm), -(ahead + h), held->carried);
    gap = gives ? vec3_add(gap, held->lead) : gap;
    Vec3 wanted = vec3_add_scaled(anchor_v, (gives ? gap_part : 1.0f) / h, gap);
    Vec3 change = vec3_sub(wanted, *v);
    f32 speed = vec3_length(change);
    if (speed < 1e-9f) {
        return;
    }
    Vec3 n = vec3_scale(change, 1.0f / speed);
    f32 wb = rigid_inverse_mass_at(rigid, slot, arm, n);
    f32 impulse = speed / (w + wb);
    *v = vec3_add_scaled(*v, impulse * w, n);
    if (gives) {
        rigid_impulse(rigid, slot, arm, vec3_scale(n, -impulse));
    } else if (impulse > pull_wake_m_s2 * h * rigid_mass(rigid, slot)) {
        rigid_wake(rigid, slot);
    }
}

static void solve_attachments(Soft *soft, Rigid *rigid, f32 h, f32 ahead)
{
    for (u32 i = 0; i < soft->attachment_count; i++) {
        const SoftAttachment *held = &soft->attachments[i];
        /* Its body may be gone: then the particle is free; or the world may hold it too. */
        if (rigid_alive(rigid, held->body) && soft->points[held->particle].inverse_mass > 0.0f) {
            solve_attachment(soft, rigid, held, h, ahead);
        }
    }
}

typedef struct TouchPass {
    Soft *soft;
    Rigid *rigid;
    f32 h, ahead; /* s */
} TouchPass;

static void solve_touch(const TouchPass *pass, const SoftTouch *touch)
{
    Soft *soft = pass->soft;
    u32 p = touch->particle;
    const SoftMatter *matter = &soft->matter[p];
    CoupleParticle particle = {.position = soft->points[p].position,
                               .velocity = soft->points[p].velocity,
                               .carried = vec3_scale(touch->carried, pass->ahead),
                               .inverse_mass = soft->points[p].inverse_mass,
                               .radius = matter->radius,
                               .friction = matter->friction,
                               .static_friction = matter->static_friction,
                               .stiffness = soft->bodies[matter->body].def.contact_stiffness};
    if (couple_particle(pass->rigid, touch->slot, &particle, pass->h)) {
        soft->points[p].velocity = particle.velocity;
    }
}

/* Static bodies feel nothing: their contacts with different particles are apart. The range begins
 * and ends where a particle does. */
static void solve_fixed(void *context, u32 first, u32 end, u32 worker)
{
    const TouchPass *pass = context;
    const SoftTouch *near = pass->soft->near;
    u32 count = pass->soft->near_fixed;
    PL_UNUSED(worker);
    while (first > 0 && first < count && near[first].particle == near[first - 1].particle) {
        first++;
    }
    while (end < count && near[end].particle == near[end - 1].particle) {
        end++;
    }
    for (u32 i = first; i < end; i++) {
        solve_touch(pass, &near[i]);
    }
}

static void solve_touches(Soft *soft, Rigid *rigid, f32 h, f32 ahead)
{
    TouchPass pass = {soft, rigid, h, ahead};
    jobs_run(soft->jobs, soft->near_fixed, TOUCH_GRAIN, solve_fixed, &pass);
    for (u32 i = soft->near_fixed; i < soft->near_count; i++) {
        solve_touch(&pass, &soft->near[i]);
    }
}

static void carry_touches(void *context, u32 first, u32 end, u32 worker)
{
    const TouchPass *pass = context;
    const Soft *soft = pass->soft;
    const Rigid *rigid = pass->rigid;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        SoftTouch *touch = &soft->touches[i];
        const SoftPoint *point = &soft->points[touch->particle];
        Vec3 normal, arm = vec3_sub(point->position, rigid_centre(rigid, touch->slot));
        touch->carried = touch->fixed ? vec3_zero() : rigid_velocity_at(rigid, touch->slot, arm);
        f32 speed = vec3_distance(touch->carried, point->velocity);
        f32 reach = soft->matter[touch->particle].radius + (speed + near_m_s) * pass->h;
        ShapePose pose = {rigid_shape(rigid, touch->slot), rigid_position(rigid, touch->slot),
                          rigid_orientation(rigid, touch->slot)};
        touch->near = couple_distance(&pose, point->position, reach, &normal) < reach;
    }
}

/* 1/kg of a particle and the body that holds it, the mean over all directions. */
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

static Vec3 mean_velocity(const Soft *soft, const SoftBody *body)
{
    Vec3 sum = vec3_zero();
    for (u32 i = body->first; i < body->first + body->count; i++) {
        sum = vec3_add(sum, soft->points[i].velocity);
    }
    return vec3_scale(sum, 1.0f / (f32)body->count);
}

/* The bodies moved for the whole substep already: how their points did, so that each step of the
 * particles meets them where they were at its end. And which pairs may meet in this substep. */
void touch_carry(Soft *soft, const Rigid *rigid, f32 h)
{
    u32 body = SOFT_NONE;
    Vec3 mean = vec3_zero();
    for (u32 i = 0; i < soft->attachment_count; i++) {
        SoftAttachment *attachment = &soft->attachments[i];
        if (soft->matter[attachment->particle].body != body) {
            body = soft->matter[attachment->particle].body;
            mean = mean_velocity(soft, &soft->bodies[body]);
        }
        attachment->carried = attachment->lead = vec3_zero();
        attachment->coupled = soft->points[attachment->particle].inverse_mass;
        if (rigid_alive(rigid, attachment->body)) {
            u32 slot = attachment->body.slot;
            Vec3 arm = quat_rotate(rigid_orientation(rigid, slot), attachment->local);
            attachment->carried = rigid_velocity_at(rigid, slot, arm);
            f32 ahead = soft->bodies[body].def.method == SOFT_XPBD ? lead_part * h : 0.0f;
            attachment->lead = vec3_scale(vec3_sub(attachment->carried, mean), ahead);
            attachment->coupled = coupled_mass(rigid, slot, arm, attachment->coupled);
        }
    }
    TouchPass pass = {soft, (Rigid *)rigid, h, 0.0f};
    jobs_run(soft->jobs, soft->touch_count, TOUCH_GRAIN, carry_touches, &pass);
    soft->near_count = 0;
    for (u32 fixed = 2; fixed-- > 0;) {
        for (u32 i = 0; i < soft->touch_count; i++) {
            if (soft->touches[i].near != 0 && soft->touches[i].fixed == fixed) {
                soft->near[soft->near_count++] = soft->touches[i];
            }
        }
        soft->near_fixed = fixed == 1 ? soft->near_count : soft->near_fixed;
    }
    touch_face_carry(soft, rigid, h);
}

void touch_solve(Soft *soft, Rigid *rigid, f32 h, f32 ahead)
{
    solve_attachments(soft, rigid, h, ahead);
    solve_touches(soft, rigid, h, ahead);
    touch_face_solve(soft, rigid, h, ahead);
}
