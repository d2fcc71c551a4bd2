/* smoke_air.c: the air of a grid as a medium for surfaces and particles. Its velocity and the
 * impulses on it are interpolated in the same way. */
#include "server/physics/grid/smoke_internal.h"

#include <string.h>

/* Faces of a component around a place, and their weights. */
typedef struct AirPlace {
    u32 count;
    i32 at[8];
    f32 weight[8];
    u32 brick[8];
} AirPlace;

/* In cells from the low corner; false: outside. */
static bool cells_of(const Smoke *smoke, Vec3 place, f32 at[3])
{
    const AirGrid *grid = &smoke->grid;
    Vec3 off = vec3_scale(vec3_sub(place, smoke->def.low), 1.0f / smoke->def.spacing);
    bool deep = grid->dims == 3;
    f32 depth = smoke->def.depth / smoke->def.spacing;
    at[0] = off.x;
    at[1] = off.y;
    at[2] = deep ? off.z : 0.5f;
    bool inside = deep || (off.z >= 0.0f && off.z <= depth);
    for (u32 a = 0; a < grid->dims; a++) {
        inside = inside && at[a] >= 0.0f && at[a] <= (f32)grid->n[a]; /* false for NaN */
    }
    return inside;
}

/* c: a component, or 3: of cells. Places beyond the sides count as the nearest within. */
static AirPlace place_among(const Smoke *smoke, u32 c, const f32 at[3])
{
    const AirGrid *grid = &smoke->grid;
    i32 low[3] = {0, 0, 0};
    f32 part[3] = {0.0f, 0.0f, 0.0f};
    AirPlace out = {.count = grid->dims == 3 ? 8 : 4};
    for (u32 a = 0; a < grid->dims; a++) {
        f32 from = at[a] - (a == c ? 0.0f : 0.5f);
        low[a] = (i32)(from + 1.0f) - 1;
        part[a] = from - (f32)low[a];
    }
    for (u32 k = 0; k < out.count; k++) {
        const i32 high[3] = {(i32)(k & 1), (i32)(k >> 1 & 1), (i32)(k >> 2)};
        i32 cell[3] = {0, 0, 0}, owner[3] = {0, 0, 0};
        out.weight[k] = 1.0f;
        for (u32 a = 0; a < grid->dims; a++) {
            i32 last = grid->n[a] - (a == c ? 0 : 1);
            bool wraps = grid->sides[2 * a] == AIR_PERIODIC;
            i32 i = low[a] + high[a];
            cell[a] = wraps ? (i + grid->n[a]) % grid->n[a] : i32_min(i32_max(i, 0), last);
            owner[a] = i32_min(cell[a], grid->n[a] - 1);
            out.weight[k] *= high[a] ? part[a] : 1.0f - part[a];
        }
        out.at[k] = air_at(grid, cell[0], cell[1], cell[2]);
        out.brick[k] = smoke_brick(grid, owner[0], owner[1], owner[2]);
    }
    return out;
}

static bool velocity(const void *of, Vec3 place, Vec3 *velocity)
{
    const Smoke *smoke = of;
    f32 at[3];
    if (!cells_of(smoke, place, at)) {
        return false;
    }
    *velocity = smoke_velocity_at(smoke, place);
    return true;
}

static void couple(void *of, Vec3 place, f32 mass)
{
    Smoke *smoke = of;
    f32 at[3];
    if (cells_of(smoke, place, at)) {
        AirPlace cells = place_among(smoke, 3, at);
        for (u32 k = 0; k < cells.count; k++) {
            smoke->coupled[cells.at[k]] += cells.weight[k] * mass;
        }
        smoke->is_coupled = true;
    }
}

static f32 share(const void *of, Vec3 place)
{
    const Smoke *smoke = of;
    f32 at[3], mass = smoke->def.options.density * smoke_volume(smoke), held = 0.0f;
    if (!cells_of(smoke, place, at)) {
        return 0.0f;
    }
    AirPlace cells = place_among(smoke, 3, at);
    for (u32 k = 0; k < cells.count; k++) {
        held = f32_max(held, smoke->coupled[cells.at[k]]);
    }
    return mass / f32_max(mass, held);
}

/* Excludes the part of an impulse that the air cannot take, because of its speed limit or in two
 * dimensions. */
static Vec3 impulse(void *of, Vec3 place, Vec3 impulse)
{
    Smoke *smoke = of;
    f32 at[3], mass = smoke->def.options.density * smoke_volume(smoke);
    const f32 parts[3] = {impulse.x, impulse.y, impulse.z};
    f32 taken[3] = {0.0f, 0.0f, 0.0f};
    if (!cells_of(smoke, place, at) || !state_vector_is_bounded(impulse)) {
        return vec3_zero();
    }
    for (u32 c = 0; c < smoke->grid.dims; c++) {
        AirPlace faces = place_among(smoke, c, at);
        taken[c] = parts[c];
        for (u32 k = 0; k < faces.count; k++) {
            if (parts[c] != 0.0f && faces.weight[k] > 0.0f) {
                smoke_wake_brick(smoke, faces.brick[k]);
                f32 *v = &smoke->velocity[c][faces.at[k]], before = *v;
                f32 wanted = *v + faces.weight[k] * parts[c] / mass;
                *v = f32_clamp(wanted, -SMOKE_SPEED_MAX, SMOKE_SPEED_MAX);
                taken[c] -= (wanted - *v) * mass;
                smoke->account.matter[c] += (f64)*v - (f64)before;
                smoke->speed = f32_max(smoke->speed, *v < 0.0f ? -*v : *v);
            }
        }
    }
    return vec3(taken[0], taken[1], taken[2]);
}

void smoke_uncouple(Smoke *smoke)
{
    if (smoke->is_coupled) {
        memset(smoke->coupled, 0, smoke->grid.floats * sizeof *smoke->coupled);
        smoke->is_coupled = false;
    }
}

static const MediumOps ops = {velocity, couple, share, impulse};

Medium smoke_medium(Smoke *smoke)
{
    return (Medium){smoke->def.wind ? &ops : NULL, smoke};
}
