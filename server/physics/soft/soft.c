/*
 * soft.c: the particle store, its substep, hands and contact. Cloth construction and colouring are
 * in cloth.c.
 */
#include "server/physics/soft/store.h"

#include "server/physics/couple.h"
#include "shared/error.h"
#include "shared/limits.h"

#include <stdlib.h>

enum {
    GROUP = 64, /* consecutive particles whose common bounds ask the broad phase once */
    SLOTS_MAX = 256,
    /* Particle steps in each substep of the bodies: what is left of a stretch goes with the square
     * of the step (Macklin et al. 2019), and particles are cheap. */
    STEPS_A_SUBSTEP = 3,
};

/* A hand pulls a particle, not the whole cloth: beyond this strain nothing may be predicted. */
static const f32 speed_max_m_s = 100.0f;
/* What would speed a sleeping body up like this wakes it. */
static const f32 pull_wake_m_s2 = 2.0f;
/* Faster than what constraints and gravity change a particle's speed by in a substep. */
static const f32 near_m_s = 5.0f;
/* Of the gap between a particle and the moving body that holds it, closed in each step. */
static const f32 gap_part = 0.3f;

Soft *soft_create(void)
{
    Soft *soft = calloc(1, sizeof *soft);
    if (soft != NULL) {
        soft->gravity = vec3(0.0f, -9.81f, 0.0f);
        soft->air_density = 1.2f;
        soft->stretch_scale = 1.0f;
        soft->bend_scale = 1.0f;
    }
    return soft;
}

void soft_destroy(Soft *soft)
{
    if (soft == NULL) {
        return;
    }
    free(soft->position);
    free(soft->velocity);
    free(soft->wind_velocity);
    free(soft->inverse_mass);
    free(soft->radius);
    free(soft->friction);
    free(soft->damping);
    free(soft->wind_area);
    free(soft->edges);
    free(soft->triangles);
    free(soft->attachments);
    free(soft->touches);
    free(soft->near);
    free(soft);
}

u32 soft_particles(const Soft *soft)
{
    return soft->count;
}

u32 soft_constraints(const Soft *soft)
{
    return soft->edge_count;
}

const Vec3 *soft_positions(const Soft *soft)
{
    return soft->position;
}

const Vec3 *soft_velocities(const Soft *soft)
{
    return soft->velocity;
}

const f32 *soft_inverse_masses(const Soft *soft)
{
    return soft->inverse_mass;
}

u64 soft_memory(const Soft *soft)
{
    return sizeof *soft + (u64)soft->room * (3 * sizeof(Vec3) + 5 * sizeof(f32)) +
           (u64)soft->edge_room * sizeof *soft->edges +
           (u64)soft->triangle_room * sizeof *soft->triangles +
           2 * (u64)soft->touch_room * sizeof *soft->touches;
}

f32 soft_strain(const Soft *soft, SoftRange range)
{
    f32 worst = 0.0f;
    for (u32 i = 0; i < soft->edge_count; i++) {
        const SoftEdge *edge = &soft->edges[i];
        if (edge->kind != EDGE_STRETCH || edge->a < range.first ||
            edge->a >= range.first + range.count) {
            continue;
        }
        f32 length = vec3_distance(soft->position[edge->a], soft->position[edge->b]);
        worst = f32_max(worst, fabsf(length / edge->rest - 1.0f));
    }
    return worst;
}

void soft_set_gravity(Soft *soft, Vec3 gravity)
{
    soft->gravity = gravity;
}

void soft_set_wind(Soft *soft, Vec3 wind, f32 air_density)
{
    soft->wind = wind;
    soft->air_density = air_density;
}

void soft_set_compliance(Soft *soft, f32 stretch_scale, f32 bend_scale)
{
    soft->stretch_scale = stretch_scale;
    soft->bend_scale = bend_scale;
}

void soft_impulse(Soft *soft, u32 particle, Vec3 impulse)
{
    soft->velocity[particle] =
        vec3_add_scaled(soft->velocity[particle], soft->inverse_mass[particle], impulse);
}

/* ---- hands ---- */

i32 soft_grip_add(Soft *soft, const SoftGrip *grip)
{
    for (u32 i = 0; i < SOFT_GRIPS_MAX; i++) {
        if (!soft->grips[i].live) {
            soft->grips[i] = *grip;
            soft->grips[i].live = 1;
            soft->grip_end = u32_max(soft->grip_end, i + 1);
            return (i32)i;
        }
    }
    return -1;
}

void soft_grip_remove(Soft *soft, u32 grip)
{
    SoftGrip none = {0};
    soft->grips[grip] = none;
}

SoftGrip *soft_grip(Soft *soft, u32 grip)
{
    return &soft->grips[grip];
}

/* What the hands pulled with in the last step, before the cloth answers: solved only after it, a
 * hand would feel one particle and not what hangs on it. */
static void warm_grips(Soft *soft, f32 h)
{
    for (u32 i = 0; i < soft->grip_end; i++) {
        const SoftGrip *grip = &soft->grips[i];
        if (grip->live) {
            f32 w = soft->inverse_mass[grip->particle];
            Vec3 *v = &soft->velocity[grip->particle];
            *v = vec3_add_scaled(*v, w * h, grip->force);
        }
    }
}

/* The spring as an XPBD constraint with damping (Macklin 2016, eq. 26), its force bounded. */
static void solve_grips(Soft *soft, f32 h)
{
    for (u32 i = 0; i < soft->grip_end; i++) {
        SoftGrip *grip = &soft->grips[i];
        f32 w = grip->live ? soft->inverse_mass[grip->particle] : 0.0f;
        if (w <= 0.0f || grip->stiffness <= 0.0f) {
            continue;
        }
        Vec3 *v = &soft->velocity[grip->particle];
        Vec3 moved = vec3_scale(*v, h);
        Vec3 away = vec3_add(vec3_sub(soft->position[grip->particle], grip->target), moved);
        f32 alpha = 1.0f / (grip->stiffness * h * h);
        f32 gamma = grip->damping / (grip->stiffness * h);
        Vec3 lambda = vec3_scale(grip->force, h * h);
        Vec3 wrong = vec3_add_scaled(vec3_add_scaled(away, gamma, moved), alpha, lambda);
        Vec3 force = vec3_add_scaled(lambda, -1.0f / ((1.0f + gamma) * w + alpha), wrong);
        force = vec3_scale(force, 1.0f / (h * h));
        f32 size = vec3_length(force);
        if (size > grip->force_max) {
            force = vec3_scale(force, grip->force_max / size);
        }
        *v = vec3_add_scaled(*v, w * h, vec3_sub(force, grip->force));
        grip->force = force;
    }
}

/* ---- the tick ---- */

/* (1 − exp(−r)) / r to the fourth order of r, without libm; r times it stays below 1 for all r. */
static f32 decay_mean(f32 r)
{
    return 1.0f / (1.0f + r * (0.5f + r * (1.0f / 12.0f)));
}

/* Wind as a change of velocity over the tick: what is left of the difference in speed decays within
 * the tick too, so that light cloth in strong wind stays stable. */
static void wind(Soft *soft, f32 tick_s)
{
    for (u32 i = 0; i < soft->count; i++) {
        soft->wind_velocity[i] = vec3_zero();
    }
    if (soft->air_density <= 0.0f) {
        return;
    }
    for (u32 t = 0; t < soft->triangle_count; t++) {
        const u32 *p = soft->triangles[t].point;
        Vec3 a = soft->position[p[0]], b = soft->position[p[1]], c = soft->position[p[2]];
        Vec3 cross = vec3_cross(vec3_sub(b, a), vec3_sub(c, a));
        f32 twice_area = vec3_length(cross);
        if (twice_area < 1e-12f) {
            continue;
        }
        Vec3 n = vec3_scale(cross, 1.0f / twice_area);
        Vec3 v = vec3_scale(
            vec3_add(vec3_add(soft->velocity[p[0]], soft->velocity[p[1]]), soft->velocity[p[2]]),
            1.0f / 3.0f);
        f32 pressure = vec3_dot(vec3_sub(soft->wind, v), n) * soft->air_density;
        Vec3 impulse = vec3_scale(n, pressure * twice_area * (tick_s / 6.0f)); /* of a corner */
        for (u32 k = 0; k < 3; k++) {
            soft->wind_velocity[p[k]] = vec3_add(soft->wind_velocity[p[k]], impulse);
        }
    }
    for (u32 i = 0; i < soft->count; i++) {
        f32 w = soft->inverse_mass[i];
        f32 rate = soft->air_density * soft->wind_area[i] * w * tick_s;
        soft->wind_velocity[i] = vec3_scale(soft->wind_velocity[i], w * decay_mean(rate));
    }
}

bool soft_reserve_touches(Soft *soft, u32 count)
{
    if (count <= soft->touch_room) {
        return true;
    }
    u32 room = u32_max(count, soft->touch_room * 2);
    SoftTouch *touches = realloc(soft->touches, room * sizeof *touches);
    if (touches == NULL) {
        return false;
    }
    soft->touches = touches;
    SoftTouch *near = realloc(soft->near, room * sizeof *near);
    if (near == NULL) {
        return false;
    }
    soft->near = near;
    soft->touch_room = room;
    return true;
}

static bool point_in(Bounds bounds, Vec3 p, f32 margin)
{
    return p.x >= bounds.min.x - margin && p.x <= bounds.max.x + margin &&
           p.y >= bounds.min.y - margin && p.y <= bounds.max.y + margin &&
           p.z >= bounds.min.z - margin && p.z <= bounds.max.z + margin;
}

/* Pairs of particle and body that may meet within the tick, by particle, then slot. */
static void find_touches(Soft *soft, Rigid *rigid, f32 tick_s)
{
    u32 slots[SLOTS_MAX];
    soft->touch_count = 0;
    for (u32 first = 0; first < soft->count; first += GROUP) {
        u32 end = u32_min(first + GROUP, soft->count);
        Bounds bounds = {soft->position[first], soft->position[first]};
        f32 fastest = 0.0f, radius = 0.0f;
        for (u32 i = first; i < end; i++) {
            bounds.min = vec3_min(bounds.min, soft->position[i]);
            bounds.max = vec3_max(bounds.max, soft->position[i]);
            fastest = f32_max(fastest, vec3_length_squared(soft->velocity[i]));
            radius = f32_max(radius, soft->radius[i]);
        }
        /* Gravity and solver may speed a particle up within the tick: 2 m/s of margin. */
        f32 margin = radius + (sqrtf(fastest) + 2.0f) * tick_s;
        Vec3 grow = vec3(margin, margin, margin);
        bounds.min = vec3_sub(bounds.min, grow);
        bounds.max = vec3_add(bounds.max, grow);
        u32 count = rigid_overlaps(rigid, bounds, slots, SLOTS_MAX);
        if (count == 0 || !soft_reserve_touches(soft, soft->touch_count + count * (end - first))) {
            continue;
        }
        for (u32 i = first; i < end; i++) {
            for (u32 s = 0; s < count; s++) {
                if (point_in(rigid_bounds(rigid, slots[s]), soft->position[i], margin)) {
                    SoftTouch touch = {i, slots[s], {0.0f, 0.0f, 0.0f}};
                    soft->touches[soft->touch_count++] = touch;
                }
            }
        }
    }
}

void soft_begin(Soft *soft, Rigid *rigid, f32 tick_s)
{
    soft->tick_s = tick_s;
    wind(soft, tick_s);
    if (rigid != NULL) {
        find_touches(soft, rigid, tick_s);
    }
}

/* What nothing else stops: from here on `velocity` is that of the step, and a particle is at
 * position + h velocity. So momentum is only ever passed on, never recovered from positions, whose
 * last bit is worth more than what gravity adds in a step some 100 m from the origin. */
static void predict(Soft *soft, f32 h)
{
    f32 wind_share = h / soft->tick_s;
    for (u32 i = 0; i < soft->count; i++) {
        if (soft->inverse_mass[i] <= 0.0f) {
            soft->velocity[i] = vec3_zero();
            continue;
        }
        /* Damping before gravity: after it, a resting cloth would sag too little. */
        Vec3 v = vec3_scale(soft->velocity[i], 1.0f / (1.0f + soft->damping[i] * h));
        v = vec3_add_scaled(v, h, soft->gravity);
        soft->velocity[i] = vec3_add_scaled(v, wind_share, soft->wind_velocity[i]);
    }
}

/* XPBD with the multiplier starting at 0 in each substep: Δλ = −C / (wa + wb + α/h²). */
static void solve_edges(Soft *soft, f32 h)
{
    f32 scale[EDGE_KINDS];
    f32 per_h = 1.0f / h, per_h2 = per_h * per_h;
    scale[EDGE_STRETCH] = soft->stretch_scale * per_h2;
    scale[EDGE_SHEAR] = soft->stretch_scale * per_h2;
    scale[EDGE_BEND] = soft->bend_scale * per_h2;
    for (u32 i = 0; i < soft->edge_count; i++) {
        const SoftEdge *edge = &soft->edges[i];
        Vec3 *a = &soft->velocity[edge->a], *b = &soft->velocity[edge->b];
        f32 wa = soft->inverse_mass[edge->a], wb = soft->inverse_mass[edge->b];
        Vec3 d = vec3_sub(soft->position[edge->b], soft->position[edge->a]);
        d = vec3_add_scaled(d, h, vec3_sub(*b, *a));
        f32 length = vec3_length(d);
        f32 w = wa + wb + edge->compliance * scale[edge->kind];
        if (length < 1e-9f || wa + wb <= 0.0f) {
            continue;
        }
        Vec3 step = vec3_scale(d, per_h * (length - edge->rest) / (length * w));
        *a = vec3_add_scaled(*a, wa, step);
        *b = vec3_add_scaled(*b, -wb, step);
    }
}

/* A particle held by a body: placed there where the body cannot give way. Else both get the common
 * speed, and a part of the gap is closed: the body moves only in its own substep, and a gap closed
 * at once would be closed again by it. `ahead` (s) is how far the body is ahead of this step. */
static void solve_attachment(Soft *soft, Rigid *rigid, const SoftAttachment *held, f32 h, f32 ahead)
{
    u32 slot = held->body.slot;
    f32 w = soft->inverse_mass[held->particle];
    Vec3 arm = quat_rotate(rigid_orientation(rigid, slot), held->local);
    Vec3 *v = &soft->velocity[held->particle];
    bool gives = rigid_mass(rigid, slot) > 0.0f && rigid_awake(rigid, slot);
    Vec3 anchor_v = gives ? rigid_velocity_at(rigid, slot, arm) : held->carried;
    Vec3 gap = vec3_sub(rigid_centre(rigid, slot), soft->position[held->particle]);
    gap = vec3_add_scaled(vec3_add(gap, arm), -(ahead + h), held->carried);
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
        if (rigid_alive(rigid, held->body) && soft->inverse_mass[held->particle] > 0.0f) {
            solve_attachment(soft, rigid, held, h, ahead);
        }
    }
}

static void solve_touches(Soft *soft, Rigid *rigid, f32 h, f32 ahead)
{
    for (u32 i = 0; i < soft->near_count; i++) {
        const SoftTouch *touch = &soft->near[i];
        u32 p = touch->particle;
        CoupleParticle particle = {.position = soft->position[p],
                                   .velocity = soft->velocity[p],
                                   .carried = vec3_scale(touch->carried, ahead),
                                   .inverse_mass = soft->inverse_mass[p],
                                   .radius = soft->radius[p],
                                   .friction = soft->friction[p]};
        if (couple_particle(rigid, touch->slot, &particle, h)) {
            soft->velocity[p] = particle.velocity;
        }
    }
}

static void move(Soft *soft, f32 h)
{
    for (u32 i = 0; i < soft->count; i++) {
        Vec3 v = soft->velocity[i];
        f32 speed = vec3_length(v);
        if (!(speed <= speed_max_m_s)) {
            v = speed < 1e30f ? vec3_scale(v, speed_max_m_s / speed) : vec3_zero();
            soft->velocity[i] = v;
        }
        soft->position[i] = vec3_add_scaled(soft->position[i], h, v);
    }
}

/* The bodies moved for the whole substep already: how their points did, so that each step of the
 * particles meets them where they were at its end. And which pairs may meet in this substep. */
static void carry(Soft *soft, const Rigid *rigid, f32 h)
{
    for (u32 i = 0; i < soft->attachment_count; i++) {
        SoftAttachment *attachment = &soft->attachments[i];
        attachment->carried = vec3_zero();
        if (rigid_alive(rigid, attachment->body)) {
            u32 slot = attachment->body.slot;
            Vec3 arm = quat_rotate(rigid_orientation(rigid, slot), attachment->local);
            attachment->carried = rigid_velocity_at(rigid, slot, arm);
        }
    }
    soft->near_count = 0;
    for (u32 i = 0; i < soft->touch_count; i++) {
        SoftTouch touch = soft->touches[i];
        Vec3 at = soft->position[touch.particle], normal;
        Vec3 arm = vec3_sub(at, rigid_centre(rigid, touch.slot));
        touch.carried = rigid_velocity_at(rigid, touch.slot, arm);
        f32 speed = vec3_distance(touch.carried, soft->velocity[touch.particle]);
        f32 reach = soft->radius[touch.particle] + (speed + near_m_s) * h;
        ShapePose pose = {rigid_shape(rigid, touch.slot), rigid_position(rigid, touch.slot),
                          rigid_orientation(rigid, touch.slot)};
        if (couple_distance(&pose, at, reach, &normal) < reach) {
            soft->near[soft->near_count++] = touch;
        }
    }
}

static void step(Soft *soft, Rigid *rigid, f32 h, f32 ahead)
{
    predict(soft, h);
    warm_grips(soft, h);
    solve_edges(soft, h);
    solve_grips(soft, h);
    if (rigid != NULL) {
        solve_attachments(soft, rigid, h, ahead);
        solve_touches(soft, rigid, h, ahead);
    }
    move(soft, h);
}

void soft_substep(Soft *soft, Rigid *rigid, f32 h)
{
    if (rigid != NULL) {
        carry(soft, rigid, h);
    }
    f32 part = h / STEPS_A_SUBSTEP;
    for (u32 i = 0; i < STEPS_A_SUBSTEP; i++) {
        step(soft, rigid, part, part * (f32)(STEPS_A_SUBSTEP - 1 - i));
    }
}

static bool state_is_sane(const Soft *soft)
{
    for (u32 i = 0; i < soft->count; i++) {
        if (!vec3_is_finite(soft->position[i]) || !vec3_is_finite(soft->velocity[i])) {
            return false;
        }
    }
    for (u32 i = 0; i < soft->attachment_count; i++) {
        if (soft->attachments[i].particle >= soft->count) {
            return false;
        }
    }
    for (u32 i = 0; i < soft->grip_end; i++) {
        const SoftGrip *grip = &soft->grips[i];
        if (grip->live && (grip->particle >= soft->count || !vec3_is_finite(grip->force) ||
                           !vec3_is_finite(grip->target))) {
            return false;
        }
    }
    return true;
}

void soft_walk(Soft *soft, State *state)
{
    u32 count = soft->count;
    state_count(state, &count, soft->count);
    if (state->failed || count != soft->count) {
        state->failed = true;
        return;
    }
    state_bytes(state, soft->position, count * sizeof *soft->position);
    state_bytes(state, soft->velocity, count * sizeof *soft->velocity);
    state_bytes(state, soft->attachments, soft->attachment_count * sizeof *soft->attachments);
    state_bytes(state, &soft->gravity, sizeof soft->gravity);
    state_bytes(state, &soft->wind, sizeof soft->wind);
    state_bytes(state, &soft->air_density, sizeof soft->air_density);
    state_bytes(state, &soft->stretch_scale, sizeof soft->stretch_scale);
    state_bytes(state, &soft->bend_scale, sizeof soft->bend_scale);
    state_count(state, &soft->grip_end, SOFT_GRIPS_MAX);
    state_bytes(state, soft->grips, soft->grip_end * sizeof *soft->grips);
    if (state->mode == STATE_LOAD && !state->failed) {
        for (u32 i = soft->grip_end; i < SOFT_GRIPS_MAX; i++) {
            memset(&soft->grips[i], 0, sizeof soft->grips[i]);
        }
        state->failed = !state_is_sane(soft);
    }
}
