/* smoke_cell.c: the cells of air: their contents, and waking them. */
#include "server/physics/grid/smoke_internal.h"

#include "shared/base/check.h"

#include <math.h>

static bool is_within(f32 value, f32 least, f32 most)
{
    return value >= least && value <= most; /* false for NaN */
}

static i32 cell(const Smoke *smoke, u32 x, u32 y, u32 z)
{
    return air_at(&smoke->grid, (i32)x, (i32)y, (i32)z);
}

const f32 *smoke_row(const Smoke *smoke, SmokeField field, u32 y, u32 z)
{
    return smoke->field[field] + cell(smoke, 0, y, z);
}

void smoke_wake_brick(Smoke *smoke, u32 brick)
{
    CHECK(brick < air_grid_bricks(&smoke->grid));
    if (!smoke->grid.awake[brick]) {
        smoke->grid.awake[brick] = 1;
        smoke->woken = true;
    }
}

void smoke_find_spans(Smoke *smoke)
{
    if (smoke->woken) {
        smoke->woken = false;
        air_grid_spans(&smoke->grid);
        air_pressure_spans(&smoke->pressure, &smoke->grid);
    }
}

static bool is_cell(const Smoke *smoke, u32 x, u32 y, u32 z)
{
    const i32 *n = smoke->grid.n;
    return (i32)x < n[0] && (i32)y < n[1] && (i32)z < n[2] && (i32)(x | y | z) >= 0;
}

void smoke_set(Smoke *smoke, SmokeField field, u32 x, u32 y, u32 z, f32 value)
{
    bool there = field < SMOKE_RED || smoke->def.dyed;
    if (there && is_cell(smoke, x, y, z) && is_within(value, -SMOKE_FILL_MAX, SMOKE_FILL_MAX)) {
        smoke_wake_brick(smoke, smoke_brick(&smoke->grid, (i32)x, (i32)y, (i32)z));
        smoke->field[field][cell(smoke, x, y, z)] = value;
        smoke->burns = smoke->burns || field == SMOKE_FUEL;
    }
}

void smoke_set_velocity(Smoke *smoke, u32 axis, u32 x, u32 y, u32 z, f32 value)
{
    if (axis < smoke->grid.dims && is_cell(smoke, x, y, z) &&
        is_within(value, -SMOKE_SPEED_MAX, SMOKE_SPEED_MAX)) {
        smoke_wake_brick(smoke, smoke_brick(&smoke->grid, (i32)x, (i32)y, (i32)z));
        f32 *v = &smoke->velocity[axis][cell(smoke, x, y, z)];
        smoke->account.given[axis] += (f64)value - (f64)*v;
        *v = value;
        smoke->speed = f32_max(smoke->speed, fabsf(value));
    }
}

f32 smoke_velocity(const Smoke *smoke, u32 axis, u32 x, u32 y, u32 z)
{
    return axis < smoke->grid.dims ? smoke->velocity[axis][cell(smoke, x, y, z)] : 0.0f;
}

Vec3 smoke_velocity_at(const Smoke *smoke, Vec3 place)
{
    const AirGrid *grid = &smoke->grid;
    Vec3 off = vec3_scale(vec3_sub(place, smoke->def.low), 1.0f / smoke->def.spacing);
    const f32 at[3] = {off.x, off.y, grid->dims == 3 ? off.z : 0.5f};
    f32 out[3] = {0.0f, 0.0f, 0.0f};
    for (u32 a = 0; a < 3; a++) {
        if (!(at[a] >= 0.0f && at[a] <= (f32)grid->n[a])) {
            return vec3_zero();
        }
    }
    if (grid->dims == 2 && !(off.z >= 0.0f && off.z <= smoke->def.depth / smoke->def.spacing)) {
        return vec3_zero();
    }
    for (u32 c = 0; c < grid->dims; c++) {
        i32 low[3] = {0, 0, 0};
        f32 part[3] = {0.0f, 0.0f, 0.0f};
        for (u32 a = 0; a < grid->dims; a++) {
            f32 place_a = at[a] - (a == c ? 0.0f : 0.5f);
            low[a] = i32_min((i32)(place_a + 1.0f) - 1, grid->n[a] - (a == c ? 1 : 0));
            part[a] = place_a - (f32)low[a];
        }
        for (u32 corner = 0; corner < (grid->dims == 3 ? 8u : 4u); corner++) {
            const i32 i[3] = {(i32)(corner & 1), (i32)(corner >> 1 & 1), (i32)(corner >> 2)};
            f32 weight = 1.0f;
            for (u32 a = 0; a < grid->dims; a++) {
                weight *= i[a] ? part[a] : 1.0f - part[a];
            }
            i32 from = air_at(grid, low[0] + i[0], low[1] + i[1], low[2] + i[2]);
            out[c] += weight * smoke->velocity[c][from];
        }
    }
    return vec3(out[0], out[1], out[2]);
}

f32 smoke_pressure(const Smoke *smoke, u32 x, u32 y, u32 z)
{
    f32 s = smoke->last_s;
    return s > 0.0f ? smoke->pressed[cell(smoke, x, y, z)] * smoke->def.options.density *
                          smoke->def.spacing / s
                    : 0.0f;
}

const SmokeDrag *smoke_drags(const Smoke *smoke, u32 *count)
{
    *count = smoke->drag_count;
    return smoke->drags;
}
