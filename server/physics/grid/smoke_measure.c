/* smoke_measure.c: sums and statistics, serialization of the dynamic state. */
#include "server/physics/grid/smoke_internal.h"

#include <math.h>

/* J/(kg K), of air at constant pressure. */
static const f64 heat_capacity = 1005.0;

/* Faces between two cells belong half to each; side faces to theirs, and those that a periodic axis
 * counts twice are counted once. */
static void add_faces(const Smoke *smoke, u32 c, SmokeSums *sums)
{
    const AirGrid *grid = &smoke->grid;
    f64 mass = (f64)smoke_volume(smoke) * (f64)smoke->def.options.density;
    bool wraps = grid->sides[2 * c] == AIR_PERIODIC;
    i32 end[3] = {grid->n[0], grid->n[1], grid->n[2]};
    end[c] += !wraps;
    for (i32 z = 0; z < end[2]; z++) {
        for (i32 y = 0; y < end[1]; y++) {
            for (i32 x = 0; x < end[0]; x++) {
                i32 at[3] = {x, y, z};
                f64 v = (f64)smoke->velocity[c][air_at(grid, x, y, z)], part = 1.0;
                if (!wraps && (at[c] == 0 || at[c] == grid->n[c])) {
                    at[c] -= at[c] > 0; /* the cell within; that of a sleeping brick is at rest */
                    part = air_is_awake(grid, at[0], at[1], at[2]) ? 0.5 : 0.0;
                }
                sums->kinetic += 0.5 * part * mass * v * v;
                sums->momentum[c] += part * mass * v;
                sums->speed = fmax(sums->speed, fabs(v));
            }
        }
    }
}

SmokeSums smoke_sums(const Smoke *smoke)
{
    SmokeSums sums = {0};
    const AirGrid *grid = &smoke->grid;
    f64 volume = (f64)smoke_volume(smoke), square = 0.0, cells = 0.0, height = 0.0;
    for (u32 b = 0; b < air_grid_bricks(grid); b++) {
        AirSpan of = air_grid_brick(grid, b);
        for (i32 z = of.z0; z < of.z1 && grid->awake[b]; z++) {
            for (i32 y = of.y0; y < of.y1; y++) {
                f64 row = 0.0;
                for (i32 x = of.x0; x < i32_min(of.x1, grid->n[0]); x++) {
                    i32 at = air_at(grid, x, y, z);
                    f64 flow = 0.0;
                    for (u32 c = 0; c < grid->dims; c++) {
                        const f32 *v = smoke->velocity[c] + at;
                        flow += (f64)v[smoke_stride(grid, c)] - (f64)v[0];
                    }
                    flow -= (f64)smoke->growth[at];
                    square += flow * flow;
                    row += (f64)smoke->field[SMOKE_SMOKE][at];
                    sums.heat += (f64)smoke->field[SMOKE_TEMPERATURE][at];
                    sums.fuel += (f64)smoke->field[SMOKE_FUEL][at];
                    cells += 1.0;
                }
                sums.smoke += row;
                height += row * ((f64)smoke->def.low.y + ((f64)y + 0.5) * (f64)smoke->def.spacing);
            }
        }
    }
    sums.smoke_height = sums.smoke > 0.0 ? height / sums.smoke : 0.0;
    sums.smoke *= volume;
    sums.fuel *= volume;
    sums.heat *= volume * (f64)smoke->def.options.density * heat_capacity;
    sums.divergence = cells > 0.0 ? sqrt(square / cells) / (f64)smoke->def.spacing : 0.0;
    for (u32 c = 0; c < grid->dims; c++) {
        add_faces(smoke, c, &sums);
    }
    return sums;
}

SmokeStats smoke_stats(const Smoke *smoke)
{
    const AirGrid *grid = &smoke->grid;
    SmokeStats stats = {.cells = (u32)(grid->n[0] * grid->n[1] * grid->n[2]),
                        .bricks = air_grid_bricks(grid),
                        .iterations = smoke->iterations,
                        .residual = smoke->residual,
                        .memory_bytes = smoke_bytes(&smoke->def)};
    for (u32 b = 0; b < stats.bricks; b++) {
        stats.awake += grid->awake[b];
    }
    return stats;
}

/* ---- push ---- */

Vec3 smoke_push(Smoke *smoke, Vec3 place, f32 radius, Vec3 impulse)
{
    static const f32 most = 100.0f; /* m/s */
    const AirGrid *grid = &smoke->grid;
    f32 dx = smoke->def.spacing, mass = smoke->def.options.density * smoke_volume(smoke);
    if (!state_vector_is_bounded(place) || !state_vector_is_bounded(impulse) || !(radius > 0.0f)) {
        return vec3_zero();
    }
    radius = f32_clamp(radius, dx, 64.0f * dx);
    Vec3 off = vec3_scale(vec3_sub(place, smoke->def.low), 1.0f / dx);
    const f32 middle[3] = {off.x, off.y, off.z};
    i32 low[3] = {0, 0, 0}, high[3] = {1, 1, 1};
    u32 cells = 0;
    for (u32 a = 0; a < grid->dims; a++) {
        f32 n = (f32)grid->n[a];
        low[a] = (i32)f32_clamp(middle[a] - radius / dx, 1.0f, n);
        high[a] = (i32)f32_clamp(middle[a] + radius / dx + 1.0f, 1.0f, n);
        cells = (a == 0 ? 1 : cells) * (u32)i32_max(high[a] - low[a], 0);
    }
    if (cells == 0) {
        return vec3_zero();
    }
    f32 share = 1.0f / (mass * (f32)cells);
    Vec3 gain = vec3_scale(impulse, share);
    f32 speed = vec3_length(gain);
    gain = speed > most ? vec3_scale(gain, most / speed) : gain;
    const f32 gains[3] = {gain.x, gain.y, gain.z};
    for (i32 z = low[2]; z < high[2]; z++) {
        for (i32 y = low[1]; y < high[1]; y++) {
            for (i32 x = low[0]; x < high[0]; x++) {
                smoke_wake_brick(smoke, smoke_brick(grid, x, y, z));
                for (u32 c = 0; c < grid->dims; c++) {
                    f32 *v = &smoke->velocity[c][air_at(grid, x, y, z)], before = *v;
                    *v = f32_clamp(*v + gains[c], -SMOKE_SPEED_MAX, SMOKE_SPEED_MAX);
                    smoke->account.given[c] += (f64)*v - (f64)before;
                    smoke->speed = f32_max(smoke->speed, fabsf(*v));
                }
            }
        }
    }
    gain.z = grid->dims == 3 ? gain.z : 0.0f;
    return vec3_scale(gain, 1.0f / share);
}
