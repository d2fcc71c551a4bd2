/* soft.c: life cycle of the particle store, its statistics, and the phases of a step. */
#include "server/physics/soft/batches.h"
#include "server/physics/soft/surface.h"

#include "shared/base/check.h"
#include "shared/base/error.h"
#include "shared/base/limits.h"

#include <stdlib.h>

Soft *soft_create(void)
{
    Soft *soft = calloc(1, sizeof *soft);
    if (soft != NULL) {
        soft->gravity = vec3(0.0f, -9.81f, 0.0f);
        soft->air_density = 1.2f;
        soft->stretch_scale = 1.0f;
        soft->bend_scale = 1.0f;
        soft->pressure_scale = 1.0f;
        soft->steps = 3;
    }
    return soft;
}

void soft_destroy(Soft *soft)
{
    if (soft == NULL) {
        return;
    }
    batches_destroy(soft->batches);
    rest_destroy(soft);
    free(soft->held);
    loads_destroy(soft->loads);
    methods_destroy(soft->methods);
    stiffs_destroy(soft->stiffs);
    body_constraints_destroy(soft->body_constraints);
    self_collision_destroy(soft->collision);
    surface_destroy(soft->surface);
    free(soft->points);
    free(soft->rest);
    free(soft->matter);
    free(soft->drag);
    free(soft->gust);
    free(soft->bodies);
    free(soft->constraints);
    free(soft->shapes);
    free(soft->triangles);
    free(soft->segments);
    free(soft->attachments);
    free(soft->pinned);
    free(soft->contacts);
    free(soft->near);
    soft_others_finish(soft);
    free(soft->faces);
    free(soft);
}

u64 soft_memory(const Soft *soft)
{
    u64 particle = sizeof *soft->points + sizeof *soft->rest + sizeof *soft->matter +
                   sizeof *soft->drag + sizeof *soft->gust;
    return sizeof *soft + soft->capacity * particle +
           (u64)soft->constraint_capacity * sizeof *soft->constraints +
           (u64)soft->shape_capacity * sizeof *soft->shapes +
           (u64)soft->triangle_capacity * sizeof *soft->triangles +
           (u64)soft->segment_capacity * sizeof *soft->segments +
           (u64)soft->body_capacity * sizeof *soft->bodies +
           self_collision_memory(soft->collision) + (u64)soft->face_capacity * sizeof *soft->faces +
           2 * (u64)soft->contact_capacity * sizeof *soft->contacts +
           batches_memory(soft->batches) + stiffs_memory(soft) + loads_memory(soft);
}

f32 soft_strain(const Soft *soft, u32 body)
{
    const SoftBody *of = &soft->bodies[body];
    f32 worst = 0.0f;
    for (u32 i = 0; i < of->constraint_count; i++) {
        const SoftConstraint *edge = &soft->constraints[of->first_constraint + i];
        if (edge->role == ROLE_STRETCH && edge->low == edge->high) {
            f32 length = vec3_distance(soft->points[edge->point[0]].position,
                                       soft->points[edge->point[1]].position);
            worst = f32_max(worst, fabsf(length / edge->low - 1.0f));
        }
    }
    return worst;
}

static bool differs(Vec3 a, Vec3 b)
{
    return a.x != b.x || a.y != b.y || a.z != b.z;
}

void soft_set_gravity(Soft *soft, Vec3 gravity)
{
    if (differs(gravity, soft->gravity)) {
        soft_wake_all(soft);
    }
    soft->gravity = gravity;
}

void soft_set_wind(Soft *soft, Vec3 wind, f32 air_density)
{
    if (differs(wind, soft->wind) || air_density != soft->air_density) {
        soft_wake_all(soft);
    }
    soft->wind = wind;
    soft->air_density = air_density;
}

void soft_set_media(Soft *soft, const Medium *media, u32 count)
{
    soft->medium_count = u32_min(count, MEDIA_MAX);
    if (soft->medium_count > 0) {
        memcpy(soft->media, media, soft->medium_count * sizeof *media);
    }
}

void soft_set_compliance(Soft *soft, f32 stretch_scale, f32 bend_scale)
{
    if (stretch_scale != soft->stretch_scale || bend_scale != soft->bend_scale) {
        soft_wake_all(soft);
    }
    soft->stretch_scale = stretch_scale;
    soft->bend_scale = bend_scale;
}

void soft_set_pressure(Soft *soft, f32 scale)
{
    if (scale != soft->pressure_scale) {
        soft_wake_all(soft);
    }
    soft->pressure_scale = scale;
}

void soft_set_steps(Soft *soft, u32 steps)
{
    soft->steps = u32_min(u32_max(steps, 1), SOFT_STEPS_MAX);
}

void soft_impulse(Soft *soft, u32 particle, Vec3 impulse)
{
    SoftPoint *p = &soft->points[particle];
    soft_wake(soft, soft->matter[particle].body);
    p->velocity = vec3_add_scaled(p->velocity, p->inverse_mass, impulse);
}

/* ---- the tick ---- */

void soft_begin(Soft *soft, SoftOthers others, Jobs *jobs, f32 tick_s)
{
    VALIDATE_STORE(soft_validate(soft));
    soft->tick_s = tick_s;
    soft->jobs = jobs;
    soft->step = 0;
    soft->surface_stale = true;
    soft_others_set(soft, others);
    loads_forget_tick(soft);
    if (soft->asleep_count == soft->body_count) {
        return;
    }
    wind_begin(soft);
    loads_tick(soft);
    soft_contact_begin(soft);
    self_collision_begin(soft, tick_s);
}

static void step(Soft *soft, f32 h, bool moves)
{
    if (soft->step == 0) {
        methods_begin(soft);
    }
    for (u32 o = 0; o < soft->other_count; o++) {
        collider_step_begin(soft_collider_of(soft, o), h);
    }
    loads_begin(soft, h, moves);
    coupled_mass_begin(soft, h, moves);
    groups_step(soft, h, moves);
    grabs_solve(soft, h);
    soft_contact_solve(soft, h);
    self_collision_solve(soft, h);
    soft->step++;
}

void soft_substep(Soft *soft, f32 h)
{
    soft->substep_s = h;
    soft->surface_stale = true;
    if (soft->asleep_count == soft->body_count) {
        return;
    }
    soft_contact_substep(soft, h);
    self_collision_substep(soft, h);
    soft->taken = soft->step == 0 ? methods_steps(soft, h) : soft->taken;
    f32 part = h / (f32)soft->taken;
    for (u32 i = 0; i < soft->taken; i++) {
        step(soft, part, i > 0);
    }
    groups_move(soft, part);
    loads_forget(soft);
    for (u32 o = 0; o < soft->other_count; o++) {
        const Collider *collider = soft_collider_of(soft, o);
        collider->ops->substep_end(collider->of);
    }
}

/* ---- state ---- */

/* Once sleep is loaded: a body that sleeps keeps its inverse masses aside, and stands still. */
static bool point_is_valid(const SoftPoint *p, bool asleep)
{
    return vec3_length(p->position) <= 4.0f * WORLD_EXTENT_MAX_M &&
           state_vector_is_bounded(p->velocity) && p->inverse_mass >= 0.0f &&
           p->inverse_mass <= STATE_VALUE_MAX && p->spare >= 0.0f && p->spare <= STATE_VALUE_MAX &&
           (asleep ? p->inverse_mass : p->spare) == 0.0f &&
           (!asleep || vec3_length_squared(p->velocity) == 0.0f);
}

static bool points_are_valid(const Soft *soft)
{
    for (u32 b = 0; b < soft->body_count; b++) {
        const SoftBody *body = &soft->bodies[b];
        for (u32 i = body->first; i < body->first + body->count; i++) {
            if (!point_is_valid(&soft->points[i], soft_sleeps(soft, b))) {
                return false;
            }
        }
    }
    return true;
}

/* World settings: a non-finite value would spread over everything. */
static bool settings_are_valid(const Soft *soft)
{
    const f32 numbers[] = {soft->air_density, soft->stretch_scale, soft->bend_scale,
                           soft->pressure_scale};
    for (u32 i = 0; i < PL_COUNT(numbers); i++) {
        if (!(numbers[i] >= 0.0f && numbers[i] < INFINITY)) {
            return false;
        }
    }
    return vec3_is_finite(soft->gravity) && vec3_is_finite(soft->wind) && soft->steps != 0 &&
           soft->steps <= SOFT_STEPS_MAX;
}

static bool state_is_valid(const Soft *soft)
{
    for (u32 i = 0; i < soft->attachment_count; i++) {
        const SoftAttachment *held = &soft->attachments[i];
        if (held->particle >= soft->count || !vec3_is_finite(held->local) ||
            !vec3_is_finite(held->pull)) {
            return false;
        }
    }
    for (u32 i = 0; i < soft->grab_end; i++) {
        const SoftGrab *grab = &soft->grabs[i];
        if (grab->live && (grab->particle >= soft->count || !vec3_is_finite(grab->force) ||
                           !vec3_is_finite(grab->target))) {
            return false;
        }
    }
    return points_are_valid(soft) && settings_are_valid(soft);
}

void soft_serialize(Soft *soft, State *state)
{
    u32 count = soft->count;
    state_part(state, "points of soft bodies");
    state_count(state, &count, soft->count);
    if (state->failed || count != soft->count) {
        state->failed = true;
        return;
    }
    state_bytes(state, soft->points, count * sizeof *soft->points);
    state_bytes(state, soft->attachments, soft->attachment_count * sizeof *soft->attachments);
    state_bytes(state, &soft->gravity, sizeof soft->gravity);
    state_bytes(state, &soft->wind, sizeof soft->wind);
    state_bytes(state, &soft->air_density, sizeof soft->air_density);
    state_bytes(state, &soft->stretch_scale, sizeof soft->stretch_scale);
    state_bytes(state, &soft->bend_scale, sizeof soft->bend_scale);
    state_bytes(state, &soft->pressure_scale, sizeof soft->pressure_scale);
    state_bytes(state, &soft->steps, sizeof soft->steps);
    state_part(state, "tensions");
    batches_serialize(soft->batches, state);
    state_part(state, "shapes of soft bodies");
    body_constraints_serialize(soft, state);
    state_part(state, "self-collision");
    self_collision_serialize(soft, state);
    state_part(state, "sleep of soft bodies");
    rest_serialize(soft, state);
    state_part(state, "points and grabs of soft bodies");
    state_count(state, &soft->grab_end, SOFT_GRABS_MAX);
    state_bytes(state, soft->grabs, soft->grab_end * sizeof *soft->grabs);
    soft->surface_stale = soft->surface_stale || state->mode == STATE_LOAD;
    if (state->mode == STATE_LOAD && !state->failed) {
        for (u32 i = soft->grab_end; i < SOFT_GRABS_MAX; i++) {
            memset(&soft->grabs[i], 0, sizeof soft->grabs[i]);
        }
        state->failed = !state_is_valid(soft);
    }
}
