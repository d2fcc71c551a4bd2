/* smoke_tally.c: where the momentum of the air goes in a tick. What sides, things, forces and
 * sources take is counted where they take it; what flows with the air is the remainder. Sums are of
 * velocities of faces between cells, m/s, by spans, in order; faces at sides, of which half a cell
 * belongs to the air, are counted separately. */
#include "server/physics/grid/smoke_internal.h"

#include "shared/base/check.h"

#include <math.h>
#include <string.h>

void smoke_tally_begin(Smoke *smoke)
{
    memset(smoke->tallies, 0, smoke->grid.span_count * sizeof *smoke->tallies);
    memset(smoke->held, 0, sizeof smoke->held);
    memset(smoke->passed, 0, sizeof smoke->passed);
}

/* ---- at sides ---- */

/* Cells of a span along a side of an axis, with the first face within (low) or the last cell. */
typedef struct Layer {
    i32 low[3], high[3]; /* cells [low, high) */
    bool at_side;
} Layer;

static Layer layer_of(const AirGrid *grid, const AirSpan *span, u32 side)
{
    u32 axis = side / 2;
    Layer layer = {
        {span->x0, span->y0, span->z0}, {i32_min(span->x1, grid->n[0]), span->y1, span->z1}, false};
    i32 cell = side % 2 ? grid->n[axis] - 1 : 0;
    layer.at_side =
        grid->sides[side] != AIR_PERIODIC && layer.low[axis] <= cell && cell < layer.high[axis];
    layer.low[axis] = cell;
    layer.high[axis] = cell + 1;
    return layer;
}

/* Values of a row, minus those `less` floats away. */
SIMD_INLINE f64 sum_row(const f32 *at, i32 x, i32 end, i32 less)
{
    f32x8 wide = f32x8_set(0.0f);
    f64 sum = 0.0;
    for (; x + SIMD_LANES <= end; x += SIMD_LANES) {
        f32x8 here = air_load(at + x);
        wide += less != 0 ? here - air_load(at + x + less) : here;
    }
    for (; x < end; x++) {
        f32 value = less != 0 ? at[x] - at[x + less] : at[x];
        sum += (f64)value;
    }
    return sum + smoke_sum_wide(wide);
}

/* Sums of a layer, minus the values `less` floats away (0: none). */
static f64 sum_layer(const AirGrid *grid, const Layer *layer, const f32 *from, i32 less)
{
    f64 sum = 0.0;
    bool line = layer->high[0] - layer->low[0] == 1; /* at a side of x */
    for (i32 z = layer->low[2]; z < layer->high[2]; z++) {
        const f32 *at = from + air_at(grid, 0, layer->low[1], z);
        for (i32 y = layer->low[1]; y < layer->high[1]; y++, at += grid->row) {
            if (line) {
                f32 here = at[layer->low[0]], value = here - at[layer->low[0] + less];
                sum += (f64)(less != 0 ? value : here);
            } else {
                sum += sum_row(at, layer->low[0], layer->high[0], less);
            }
        }
    }
    return sum;
}

typedef struct SideFriction {
    Smoke *smoke;
    const f32 *cells; /* of the component, with its ghosts beyond sides */
    u32 c;
    f32 amount;
} SideFriction;

/* What viscosity takes from a component at the sides. */
static void friction_span(void *context, const AirSpan *span, u32 index)
{
    const SideFriction *friction = (const SideFriction *)context;
    Smoke *smoke = friction->smoke;
    const AirGrid *grid = &smoke->grid;
    u32 c = friction->c;
    for (u32 side = 0; side < 2 * grid->dims; side++) {
        Layer layer = layer_of(grid, span, side);
        u32 axis = side / 2;
        i32 step = smoke_stride(grid, axis);
        if (!layer.at_side) {
            continue;
        }
        f64 sum;
        if (axis != c) {
            i32 beyond = side % 2 ? step : -step;
            if (grid->sides[2 * c] != AIR_PERIODIC) {
                layer.low[c] = i32_max(layer.low[c], 1);
            }
            sum = sum_layer(grid, &layer, friction->cells, beyond);
        } else {
            /* The last face within, minus that at the side. */
            const f32 *from = friction->cells + (side % 2 ? 0 : step);
            i32 outward = side % 2 ? step : -step;
            sum = sum_layer(grid, &layer, from, outward);
            sum = grid->n[axis] > 1 ? sum : 0.0;
        }
        smoke->tallies[index].friction[side][c] += (f64)friction->amount * sum;
    }
}

void smoke_tally_friction(Smoke *smoke, u32 c, const f32 *cells, f32 amount)
{
    SideFriction friction = {smoke, cells, c, amount};
    air_each(&smoke->grid, smoke->jobs, friction_span, &friction);
}

static void sides_span(void *context, const AirSpan *span, u32 index)
{
    Smoke *smoke = (Smoke *)context;
    const AirGrid *grid = &smoke->grid;
    SmokeTally *tally = &smoke->tallies[index];
    for (u32 side = 0; side < 2 * grid->dims; side++) {
        Layer layer = layer_of(grid, span, side);
        if (layer.at_side) {
            i32 face = side % 2 ? smoke_stride(grid, side / 2) : 0;
            tally->pressed[side] = sum_layer(grid, &layer, smoke->pressed, 0);
            tally->faces[side] = sum_layer(grid, &layer, smoke->velocity[side / 2] + face, 0);
        }
    }
}

/* ---- totals ---- */

static void add_tally(SmokeTally *sum, const SmokeTally *one)
{
    for (u32 c = 0; c < 3; c++) {
        sum->within[c] += one->within[c];
        sum->force[c] += one->force[c];
    }
    for (u32 s = 0; s < SMOKE_SIDES; s++) {
        sum->pressed[s] += one->pressed[s];
        sum->faces[s] += one->faces[s];
        for (u32 c = 0; c < 3; c++) {
            sum->friction[s][c] += one->friction[s][c];
        }
    }
}

/* For a side: what it took of its own component, in m/s. */
static void take_side(Smoke *smoke, const SmokeTally *sum, u32 side, f64 mass)
{
    SmokeTaken *taken = &smoke->taken;
    SmokeAccount *account = &smoke->account;
    u32 axis = side / 2;
    bool closed = smoke->grid.sides[side] == AIR_CLOSED;
    f64 push = side % 2 ? sum->pressed[side] : -sum->pressed[side]; /* on what is beyond */
    f64 gained = 0.5 * (sum->faces[side] - account->faces[side]);
    f64 *to = closed ? taken->sides[side] : taken->flow;
    for (u32 c = 0; c < smoke->grid.dims; c++) {
        to[c] += mass * sum->friction[side][c];
    }
    to[axis] += mass * (push - gained);
    account->within[axis] -= push;
    account->faces[side] = sum->faces[side];
}

void smoke_tally_end(Smoke *smoke)
{
    const AirGrid *grid = &smoke->grid;
    SmokeAccount *account = &smoke->account;
    SmokeTaken *taken = &smoke->taken;
    f64 mass = (f64)smoke->def.options.density * (f64)smoke_volume(smoke);
    SmokeTally sum = {0};
    air_each(grid, smoke->jobs, sides_span, smoke);
    for (u32 s = 0; s < grid->span_count; s++) {
        add_tally(&sum, &smoke->tallies[s]);
    }
    memset(taken, 0, sizeof *taken);
    for (u32 c = 0; c < grid->dims; c++) {
        f64 known = account->within[c] + account->given[c] + account->matter[c] + sum.force[c] -
                    smoke->held[c] / mass;
        for (u32 s = 0; s < 2 * grid->dims; s++) {
            known -= sum.friction[s][c];
        }
        taken->flow[c] = mass * (known - sum.within[c]);
        taken->sources[c] = -mass * account->given[c];
        taken->forces[c] = -mass * sum.force[c];
        taken->matter[c] = smoke->passed[c] - mass * account->matter[c];
        taken->obstacles[c] = smoke->held[c] - smoke->passed[c];
        account->within[c] = sum.within[c];
        account->given[c] = account->matter[c] = 0.0;
    }
    for (u32 s = 0; s < 2 * grid->dims; s++) {
        take_side(smoke, &sum, s, mass);
    }
    f64 push[3];
    air_still_push(&smoke->pressure, push);
    for (u32 c = 0; c < grid->dims; c++) { /* to still air */
        taken->flow[c] += mass * push[c];
        account->within[c] -= push[c];
    }
}

SmokeTaken smoke_taken(const Smoke *smoke)
{
    return smoke->taken;
}

bool smoke_tally_is_valid(const Smoke *smoke)
{
    static const f64 most = 1e30;
    const f64 *values[2] = {(const f64 *)(const void *)&smoke->account,
                            (const f64 *)(const void *)&smoke->taken};
    const size_t counts[2] = {sizeof smoke->account / sizeof(f64),
                              sizeof smoke->taken / sizeof(f64)};
    bool good = true;
    for (u32 k = 0; k < 2; k++) {
        for (size_t i = 0; i < counts[k]; i++) {
            good = good && fabs(values[k][i]) <= most; /* false for NaN */
        }
    }
    return good;
}
