/* body_constraint.c: life cycle of the constraints that act on whole bodies. */
#include "server/physics/soft/body_constraint.h"

#include "shared/base/error.h"

#include <stdlib.h>

void body_constraints_destroy(BodyConstraints *body_constraints)
{
    if (body_constraints == NULL) {
        return;
    }
    for (u32 i = 0; i < body_constraints->body_count; i++) {
        match_finish(&body_constraints->matches[i]);
    }
    free(body_constraints->states);
    free(body_constraints->matches);
    free(body_constraints->gradient);
    free(body_constraints);
}

static bool is_needed(const Soft *soft)
{
    for (u32 i = 0; i < soft->body_count; i++) {
        const SoftDef *def = &soft->bodies[i].def;
        if (def->pressure > 0.0f || def->match != SOFT_MATCH_NONE) {
            return true;
        }
    }
    return false;
}

static BodyConstraintState first_state(const SoftDef *def, Quat orientation)
{
    BodyConstraintState state = {
        .pressure = def->inflate_s > 0.0f ? 0.0f : def->pressure,
        .rotation = orientation,
        .plastic = {{1.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 1.0f}}};
    return state;
}

/* Keeps the plastic offsets from before. */
static void keep_plastic(const Soft *soft, u32 index, Match *match)
{
    const BodyConstraints *old = soft->body_constraints;
    if (old != NULL && index < old->body_count && old->matches[index].plastic_offsets != NULL) {
        memcpy(match->plastic_offsets, old->matches[index].plastic_offsets,
               soft->bodies[index].count * sizeof *match->plastic_offsets);
        match_shape(soft, &soft->bodies[index], match);
    }
}

static int fill(const Soft *soft, BodyConstraints *body_constraints)
{
    body_constraints->states = calloc(soft->body_count, sizeof *body_constraints->states);
    body_constraints->matches = calloc(soft->body_count, sizeof *body_constraints->matches);
    body_constraints->gradient = calloc(soft->count, sizeof *body_constraints->gradient);
    if (body_constraints->states == NULL || body_constraints->matches == NULL ||
        body_constraints->gradient == NULL) {
        return ERROR_MEMORY;
    }
    body_constraints->body_count = soft->body_count;
    for (u32 i = 0; i < soft->body_count; i++) {
        const SoftBody *body = &soft->bodies[i];
        body_constraints->states[i] = first_state(&body->def, body->def.orientation);
        if (soft->body_constraints != NULL && i < soft->body_constraints->body_count) {
            body_constraints->states[i] = soft->body_constraints->states[i]; /* existed before */
        }
        if (body->def.match != SOFT_MATCH_NONE) {
            int result = match_create(soft, body, &body_constraints->matches[i]);
            if (result != ERROR_OK) {
                return result;
            }
            keep_plastic(soft, i, &body_constraints->matches[i]);
        }
    }
    return ERROR_OK;
}

int body_constraints_create(Soft *soft)
{
    if (!is_needed(soft)) {
        return ERROR_OK;
    }
    BodyConstraints *body_constraints = calloc(1, sizeof *body_constraints);
    int result = body_constraints == NULL ? ERROR_MEMORY : fill(soft, body_constraints);
    if (result != ERROR_OK) {
        body_constraints_destroy(body_constraints);
        return result;
    }
    body_constraints_destroy(soft->body_constraints);
    soft->body_constraints = body_constraints;
    return ERROR_OK;
}

void body_constraints_reset(Soft *soft, u32 b, Quat orientation)
{
    const SoftBody *body = &soft->bodies[b];
    if (soft->body_constraints == NULL || b >= soft->body_constraints->body_count) {
        return;
    }
    Match *match = &soft->body_constraints->matches[b];
    soft->body_constraints->states[b] = first_state(&body->def, orientation);
    if (match->plastic_offsets != NULL) {
        memset(match->plastic_offsets, 0, body->count * sizeof *match->plastic_offsets);
        match_shape(soft, body, match);
    }
}

void body_constraints_press(Soft *soft, u32 body, f32 h)
{
    if (soft->bodies[body].def.pressure > 0.0f && soft->body_constraints != NULL &&
        body < soft->body_constraints->body_count && !stiff_skin(soft, body)) {
        pressure_solve(soft, body, h);
    }
}

void body_constraints_body(Soft *soft, u32 body, f32 h)
{
    if (soft->body_constraints == NULL || body >= soft->body_constraints->body_count) {
        return;
    }
    if (soft->body_constraints->matches[body].terms != 0) {
        match_solve(soft, body, h);
    }
    if (soft->bodies[body].def.method != SOFT_XPBD) {
        body_constraints_press(soft, body, h);
    }
}

bool whole_grows(const Soft *soft, u32 body)
{
    const SoftDef *def = &soft->bodies[body].def;
    return soft->body_constraints != NULL && body < soft->body_constraints->body_count &&
           def->pressure > 0.0f && soft->body_constraints->states[body].age_s < def->inflate_s;
}

f32 soft_volume(const Soft *soft, u32 body)
{
    return soft_volume_by(soft, body, SOFT_VOLUME_GAUSS);
}

f32 soft_volume_by(const Soft *soft, u32 body, SoftVolume way)
{
    const SoftBody *of = &soft->bodies[body];
    return of->closed || of->ring != 0 ? (f32)pressure_volume(soft, of, way) : 0.0f;
}

f32 soft_pressure(const Soft *soft, u32 body)
{
    return soft->body_constraints != NULL && body < soft->body_constraints->body_count
               ? soft->body_constraints->states[body].pressure
               : 0.0f;
}

static bool is_valid(const BodyConstraintState *state)
{
    return isfinite(state->pressure) && isfinite(state->expected) && isfinite(state->age_s) &&
           state->age_s >= 0.0f && quat_is_finite(state->rotation) &&
           vec3_is_finite(state->plastic.x) && vec3_is_finite(state->plastic.y) &&
           vec3_is_finite(state->plastic.z);
}

static void serialize_plastic(Soft *soft, u32 index, State *state)
{
    const SoftBody *body = &soft->bodies[index];
    Match *match = &soft->body_constraints->matches[index];
    state_bytes(state, match->plastic_offsets, body->count * sizeof *match->plastic_offsets);
    for (u32 i = 0; state->mode == STATE_LOAD && i < body->count; i++) {
        state->failed = state->failed || !vec3_is_finite(match->plastic_offsets[i]);
    }
    if (state->mode == STATE_LOAD && !state->failed) {
        match_shape(soft, body, match);
    }
}

void body_constraints_serialize(Soft *soft, State *state)
{
    BodyConstraints *body_constraints = soft->body_constraints;
    if (body_constraints == NULL) {
        return;
    }
    state_bytes(state, body_constraints->states,
                body_constraints->body_count * sizeof *body_constraints->states);
    for (u32 i = 0; i < body_constraints->body_count; i++) {
        if (body_constraints->matches[i].plastic_offsets != NULL) {
            serialize_plastic(soft, i, state);
        }
        state->failed =
            state->failed || (state->mode == STATE_LOAD && !is_valid(&body_constraints->states[i]));
    }
}
