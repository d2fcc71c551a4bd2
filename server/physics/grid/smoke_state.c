/* smoke_state.c: the dynamic state: which bricks are awake, and the cells of those. */
#include "server/physics/grid/smoke_internal.h"

#include <string.h>

enum {
    KEPT_MAX = 3 + SMOKE_FIELDS + 2 /* arrays: velocities, fields, pressure, growth */
};

static bool are_within(const f32 *values, i32 count, f32 most)
{
    bool good = true;
    for (i32 i = 0; i < count; i++) {
        good = good && values[i] >= -most && values[i] <= most; /* false for NaN */
    }
    return good;
}

typedef struct Kept {
    f32 *cells;
    f32 most;
    i32 more[3]; /* faces beyond the cells */
} Kept;

static u32 kept_arrays(Smoke *smoke, Kept kept[KEPT_MAX])
{
    u32 count = 0;
    for (u32 c = 0; c < smoke->grid.dims; c++) {
        kept[count++] =
            (Kept){smoke->velocity[c], 2.0f * SMOKE_SPEED_MAX, {c == 0, c == 1, c == 2}};
    }
    for (u32 f = 0; f < smoke_fields(smoke); f++) {
        kept[count++] = (Kept){smoke->field[f], STATE_VALUE_MAX, {0, 0, 0}};
    }
    kept[count++] = (Kept){smoke->pressed, STATE_VALUE_MAX, {0, 0, 0}};
    kept[count++] = (Kept){smoke->growth, STATE_VALUE_MAX, {0, 0, 0}};
    return count;
}

/* A row of a span, with its faces: those of the next brick too, if it sleeps. */
static void serialize_span(const AirGrid *grid, const Kept *kept, const AirSpan *span, State *state)
{
    for (i32 z = span->z0; z < span->z1 + kept->more[2]; z++) {
        for (i32 y = span->y0; y < span->y1 + kept->more[1]; y++) {
            f32 *at = kept->cells + air_at(grid, span->x0, y, z);
            i32 count = i32_min(span->x1, grid->n[0]) + kept->more[0] - span->x0;
            state_bytes(state, at, (size_t)count * sizeof *at);
            if (state->mode == STATE_LOAD && !are_within(at, count, kept->most)) {
                state->failed = true;
            }
        }
    }
}

static void serialize_bricks(Smoke *smoke, State *state)
{
    u32 bricks = air_grid_bricks(&smoke->grid);
    state_bytes(state, smoke->grid.awake, bricks);
    for (u32 b = 0; b < bricks && state->mode == STATE_LOAD; b++) {
        u8 *awake = &smoke->grid.awake[b];
        state->failed = state->failed || *awake > 1 || (smoke->def.awake && !*awake);
        *awake = *awake != 0;
    }
    smoke->woken = smoke->woken || state->mode == STATE_LOAD;
    smoke_find_spans(smoke);
}

/* Ghosts are derived from the cells. */
static void restore_ghosts(Smoke *smoke)
{
    for (u32 c = 0; c < smoke->grid.dims; c++) {
        smoke_sides(smoke, c, smoke->velocity[c], SMOKE_SIDES_KEPT);
    }
    for (u32 f = 0; f < smoke_fields(smoke); f++) {
        smoke_field_ghosts(smoke, smoke->field[f]);
    }
    air_ghosts(&smoke->grid, smoke->pressed, air_pressure_beyond);
}

/* What was measured in the last tick. */
static void serialize_drags(Smoke *smoke, State *state)
{
    state_bytes(state, &smoke->iterations, sizeof smoke->iterations);
    state_count(state, &smoke->drag_count, SMOKE_DRAGS_MAX);
    if (state->failed) {
        return;
    }
    state_bytes(state, smoke->drags, smoke->drag_count * sizeof *smoke->drags);
    for (u32 i = 0; i < smoke->drag_count && state->mode == STATE_LOAD; i++) {
        state->failed = state->failed || !state_vector_is_bounded(smoke->drags[i].impulse);
    }
}

void smoke_serialize(Smoke *smoke, State *state)
{
    state_part(state, "smoke");
    if (state->mode == STATE_LOAD) {
        smoke_clear(smoke);
    }
    f32 numbers[2] = {smoke->last_s, smoke->speed};
    u32 burns = smoke->burns;
    state_bytes(state, numbers, sizeof numbers);
    state_bytes(state, &burns, sizeof burns);
    serialize_bricks(smoke, state);
    Kept kept[KEPT_MAX];
    u32 count = kept_arrays(smoke, kept);
    for (u32 s = 0; s < smoke->grid.span_count && !state->failed; s++) {
        for (u32 k = 0; k < count; k++) {
            serialize_span(&smoke->grid, &kept[k], &smoke->grid.spans[s], state);
        }
    }
    serialize_drags(smoke, state);
    state_bytes(state, &smoke->account, sizeof smoke->account);
    state_bytes(state, &smoke->taken, sizeof smoke->taken);
    if (state->mode != STATE_LOAD) {
        return;
    }
    bool good = are_within(numbers, 2, 4.0f * SMOKE_SPEED_MAX) && numbers[0] >= 0.0f && burns <= 1;
    state->failed = state->failed || !good || !smoke_tally_is_valid(smoke);
    if (state->failed) {
        smoke_clear(smoke);
        return;
    }
    smoke->last_s = numbers[0];
    smoke->speed = numbers[1];
    smoke->burns = burns != 0;
    restore_ghosts(smoke);
}

const char *smoke_validate(const Smoke *smoke)
{
    const AirGrid *grid = &smoke->grid;
    for (u32 b = 0; b < air_grid_bricks(grid); b++) {
        AirSpan of = air_grid_brick(grid, b);
        for (i32 z = of.z0; z < of.z1 && grid->awake[b]; z++) {
            for (i32 y = of.y0; y < of.y1; y++) {
                i32 at = air_at(grid, of.x0, y, z);
                i32 count = i32_min(of.x1, grid->n[0]) - of.x0;
                for (u32 c = 0; c < grid->dims; c++) {
                    if (!are_within(smoke->velocity[c] + at, count, 2.0f * SMOKE_SPEED_MAX)) {
                        return "a velocity is out of range";
                    }
                }
                for (u32 f = 0; f < smoke_fields(smoke); f++) {
                    if (!are_within(smoke->field[f] + at, count, STATE_VALUE_MAX)) {
                        return "a cell's content is out of range";
                    }
                }
                if (!are_within(smoke->pressed + at, count, STATE_VALUE_MAX)) {
                    return "a pressure is out of range";
                }
            }
        }
    }
    return NULL;
}
