/* whole.c: the life of what acts on whole bodies. */
#include "server/physics/soft/whole.h"

#include "shared/base/error.h"

#include <stdlib.h>

void wholes_destroy(Wholes *wholes)
{
    if (wholes == NULL) {
        return;
    }
    for (u32 i = 0; i < wholes->body_count; i++) {
        match_finish(&wholes->matches[i]);
    }
    free(wholes->states);
    free(wholes->matches);
    free(wholes->gradient);
    free(wholes);
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

static WholeState first_state(const SoftDef *def)
{
    WholeState state = {.pressure = def->inflate_s > 0.0f ? 0.0f : def->pressure,
                        .turn = def->orientation,
                        .plastic = {{1.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 1.0f}}};
    return state;
}

/* Those that it had before. */
static void keep_dents(const Soft *soft, u32 index, Match *match)
{
    const Wholes *old = soft->wholes;
    if (old != NULL && index < old->body_count && old->matches[index].dents != NULL) {
        memcpy(match->dents, old->matches[index].dents,
               soft->bodies[index].count * sizeof *match->dents);
        match_shape(soft, &soft->bodies[index], match);
    }
}

static int fill(const Soft *soft, Wholes *wholes)
{
    wholes->states = calloc(soft->body_count, sizeof *wholes->states);
    wholes->matches = calloc(soft->body_count, sizeof *wholes->matches);
    wholes->gradient = calloc(soft->count, sizeof *wholes->gradient);
    if (wholes->states == NULL || wholes->matches == NULL || wholes->gradient == NULL) {
        return ERROR_MEMORY;
    }
    wholes->body_count = soft->body_count;
    for (u32 i = 0; i < soft->body_count; i++) {
        const SoftBody *body = &soft->bodies[i];
        wholes->states[i] = first_state(&body->def);
        if (soft->wholes != NULL && i < soft->wholes->body_count) {
            wholes->states[i] = soft->wholes->states[i]; /* it was there before */
        }
        if (body->def.match != SOFT_MATCH_NONE) {
            int result = match_create(soft, body, &wholes->matches[i]);
            if (result != ERROR_OK) {
                return result;
            }
            keep_dents(soft, i, &wholes->matches[i]);
        }
    }
    return ERROR_OK;
}

int wholes_create(Soft *soft)
{
    if (!is_needed(soft)) {
        return ERROR_OK;
    }
    Wholes *wholes = calloc(1, sizeof *wholes);
    int result = wholes == NULL ? ERROR_MEMORY : fill(soft, wholes);
    if (result != ERROR_OK) {
        wholes_destroy(wholes);
        return result;
    }
    wholes_destroy(soft->wholes);
    soft->wholes = wholes;
    return ERROR_OK;
}

void wholes_press(Soft *soft, u32 body, f32 h)
{
    if (soft->bodies[body].def.pressure > 0.0f && soft->wholes != NULL &&
        body < soft->wholes->body_count && !stiff_skin(soft, body)) {
        pressure_solve(soft, body, h);
    }
}

void wholes_body(Soft *soft, u32 body, f32 h)
{
    if (soft->wholes == NULL || body >= soft->wholes->body_count) {
        return;
    }
    if (soft->wholes->matches[body].terms != 0) {
        match_solve(soft, body, h);
    }
    if (soft->bodies[body].def.method != SOFT_XPBD) {
        wholes_press(soft, body, h);
    }
}

bool whole_grows(const Soft *soft, u32 body)
{
    const SoftDef *def = &soft->bodies[body].def;
    return soft->wholes != NULL && body < soft->wholes->body_count && def->pressure > 0.0f &&
           soft->wholes->states[body].age_s < def->inflate_s;
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
    return soft->wholes != NULL && body < soft->wholes->body_count
               ? soft->wholes->states[body].pressure
               : 0.0f;
}

static bool is_sane(const WholeState *state)
{
    return isfinite(state->pressure) && isfinite(state->expected) && isfinite(state->age_s) &&
           state->age_s >= 0.0f && quat_is_finite(state->turn) &&
           vec3_is_finite(state->plastic.x) && vec3_is_finite(state->plastic.y) &&
           vec3_is_finite(state->plastic.z);
}

static void walk_dents(Soft *soft, u32 index, State *state)
{
    const SoftBody *body = &soft->bodies[index];
    Match *match = &soft->wholes->matches[index];
    state_bytes(state, match->dents, body->count * sizeof *match->dents);
    for (u32 i = 0; state->mode == STATE_LOAD && i < body->count; i++) {
        state->failed = state->failed || !vec3_is_finite(match->dents[i]);
    }
    if (state->mode == STATE_LOAD && !state->failed) {
        match_shape(soft, body, match);
    }
}

void wholes_walk(Soft *soft, State *state)
{
    Wholes *wholes = soft->wholes;
    if (wholes == NULL) {
        return;
    }
    state_bytes(state, wholes->states, wholes->body_count * sizeof *wholes->states);
    for (u32 i = 0; i < wholes->body_count; i++) {
        if (wholes->matches[i].dents != NULL) {
            walk_dents(soft, i, state);
        }
        state->failed =
            state->failed || (state->mode == STATE_LOAD && !is_sane(&wholes->states[i]));
    }
}
