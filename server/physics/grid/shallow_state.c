/* shallow_state.c: the dynamic state, and its validation. */
#include "server/physics/grid/shallow_internal.h"

#include "shared/base/limits.h"

#include <math.h>
#include <string.h>

static const char *cell_error(const Shallow *of, size_t at)
{
    if (!(of->now.depth[at] >= 0.0f && of->now.depth[at] <= 2.0f * HEIGHTS_DEPTH_MAX_M)) {
        return "a depth is out of range";
    }
    if (!(fabsf(of->now.u[at]) <= SPEED_MAX_M_S && fabsf(of->now.w[at]) <= SPEED_MAX_M_S)) {
        return "a velocity is out of range";
    }
    return NULL;
}

const char *shallow_validate(const Shallow *of)
{
    for (u32 k = 0; k < of->def.size[1]; k++) {
        for (u32 i = 0; i < of->def.size[0]; i++) {
            const char *wrong = cell_error(of, shallow_at(of, (i32)i, (i32)k));
            if (wrong != NULL) {
                return wrong;
            }
        }
    }
    return NULL;
}

/* After a load: recomputes the greatest speed and depth of each tile; no tile is known to be equal
 * in both states, which its next step restores for sleeping ones. */
static void rebuild(Shallow *of)
{
    size_t tiles = (size_t)of->tiles[0] * of->tiles[1];
    memset(of->tile_speed, 0, tiles * sizeof(f32));
    memset(of->tile_depth, 0, tiles * sizeof(f32));
    memset(of->frozen, 0, tiles);
    for (u32 k = 0; k < of->def.size[1]; k++) {
        for (u32 i = 0; i < of->def.size[0]; i++) {
            size_t at = shallow_at(of, (i32)i, (i32)k);
            size_t tile = (size_t)(k / SHALLOW_ROWS) * of->tiles[0] + i / SHALLOW_COLUMNS;
            f32 speed = f32_max(fabsf(of->now.u[at]), fabsf(of->now.w[at]));
            of->tile_speed[tile] = f32_max(of->tile_speed[tile], speed);
            of->tile_depth[tile] = f32_max(of->tile_depth[tile], of->now.depth[at]);
        }
    }
}

static void dry(Shallow *of)
{
    size_t count = (size_t)of->stride * of->rows;
    f32 *arrays[] = {of->now.depth, of->now.u, of->now.w, of->next.depth, of->next.u, of->next.w};
    for (u32 n = 0; n < PL_COUNT(arrays); n++) {
        memset(arrays[n], 0, count * sizeof(f32));
    }
    memset(&of->taken, 0, sizeof of->taken);
    shallow_wake(of);
    rebuild(of);
}

static bool taken_is_sound(const ShallowTaken *taken)
{
    const f64 *values = (const f64 *)(const void *)taken;
    bool good = true;
    for (size_t i = 0; i < sizeof *taken / sizeof *values; i++) {
        good = good && fabs(values[i]) <= 1e30; /* false for NaN */
    }
    return good;
}

void shallow_clear(Shallow *of)
{
    dry(of);
    of->stats.tiles_awake = of->stats.tiles;
    of->stats.steps = 0;
    of->stats.slowed = 1.0f;
    of->stats.speed_max = 0.0f;
}

void shallow_serialize(Shallow *of, State *state)
{
    size_t tiles = (size_t)of->tiles[0] * of->tiles[1];
    f32 *arrays[] = {of->now.depth, of->now.u, of->now.w};
    state_part(state, "shallow water");
    for (u32 n = 0; n < PL_COUNT(arrays); n++) {
        for (u32 k = 0; k < of->def.size[1]; k++) {
            state_bytes(state, arrays[n] + shallow_at(of, 0, (i32)k),
                        of->def.size[0] * sizeof(f32));
        }
    }
    state_bytes(state, of->calm, tiles);
    if (of->counts) {
        state_bytes(state, &of->taken, sizeof of->taken);
    }
    if (state->mode != STATE_LOAD) {
        return;
    }
    for (size_t t = 0; t < tiles && !state->failed; t++) {
        state->failed = of->calm[t] > SHALLOW_REST;
    }
    state->failed = state->failed || !taken_is_sound(&of->taken) || shallow_validate(of) != NULL;
    if (state->failed) {
        dry(of);
    } else {
        rebuild(of);
    }
}
