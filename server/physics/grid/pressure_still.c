/* pressure_still.c: air in sleeping bricks that hang together is at rest, so it has one pressure,
 * and nothing flows into or out of it on the whole. Each is an unknown beside the cells, with the
 * equation of a cell that has all its faces; only where it reaches an open side, its pressure is
 * that beyond. Of a closed grid, where pressure is known up to a constant, the largest has 0.
 * Sums are taken in the order of bricks. */
#include "server/physics/grid/pressure.h"
#include "shared/base/check.h"

#include <string.h>

enum {
    ALIGN = 64,
};

/* ---- memory ---- */

static u8 *take(u8 *at, u64 *used, u64 bytes)
{
    u8 *taken = at != NULL ? at + *used : NULL;
    *used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return taken;
}

u64 air_still_place(Pressure *pressure, const AirGrid *grid, u8 *at)
{
    u64 used = 0, bricks = air_grid_bricks(grid);
    pressure->still = (PressureStill *)(void *)take(at, &used, bricks * sizeof(PressureStill));
    pressure->patches =
        (PressurePatch *)(void *)take(at, &used, 2 * grid->dims * bricks * sizeof(PressurePatch));
    pressure->label = (u32 *)(void *)take(at, &used, bricks * sizeof(u32));
    pressure->queue = (u32 *)(void *)take(at, &used, bricks * sizeof(u32));
    pressure->still_count = pressure->patch_count = pressure->free_count = 0;
    return used;
}

/* ---- what hangs together ---- */

/* The next brick along an axis, around a periodic side; false: there is none. */
static bool next_brick(const AirGrid *grid, u32 brick, u32 axis, bool above, u32 *next)
{
    const i32 *n = grid->bricks;
    i32 step = axis == 0 ? 1 : axis == 1 ? n[0] : n[0] * n[1];
    i32 at = (i32)brick / step % n[axis], to = at + (above ? 1 : -1);
    if (to < 0 || to >= n[axis]) {
        if (grid->sides[2 * axis] != AIR_PERIODIC) {
            return false;
        }
        to = above ? 0 : n[axis] - 1;
    }
    *next = (u32)((i32)brick + (to - at) * step);
    return true;
}

/* Numbers all that hangs together with a brick. */
static void fill_still(Pressure *pressure, u32 brick)
{
    const AirGrid *grid = &pressure->level[0].grid;
    u32 number = pressure->still_count++, first = 0, end = 1;
    PressureStill *still = &pressure->still[number];
    memset(still, 0, sizeof *still);
    pressure->queue[0] = brick;
    pressure->label[brick] = number;
    while (first < end) {
        u32 at = pressure->queue[first++], next;
        still->bricks++;
        for (u32 side = 0; side < 2 * grid->dims; side++) {
            if (!next_brick(grid, at, side / 2, side % 2 != 0, &next)) {
                still->held = still->held || grid->sides[side] == AIR_OPEN;
            } else if (!grid->awake[next] && pressure->label[next] == UINT32_MAX) {
                pressure->label[next] = number;
                pressure->queue[end++] = next;
            }
        }
    }
}

/* First cell of a brick at its side, and the cells along the two other axes. */
static i32 side_of(const AirGrid *grid, u32 brick, u32 axis, bool high, i32 count[2])
{
    AirSpan of = air_grid_brick(grid, brick);
    i32 low[3] = {of.x0, of.y0, of.z0}, end[3] = {i32_min(of.x1, grid->n[0]), of.y1, of.z1};
    for (u32 k = 0; k < 2; k++) {
        u32 a = (axis + 1 + k) % 3;
        count[k] = end[a] - low[a];
    }
    low[axis] = high ? end[axis] - 1 : low[axis];
    return air_at(grid, low[0], low[1], low[2]);
}

static void add_patches(Pressure *pressure, u32 brick)
{
    const AirGrid *grid = &pressure->level[0].grid;
    const i32 steps[3] = {1, grid->row, grid->slab};
    for (u32 side = 0; side < 2 * grid->dims; side++) {
        u32 axis = side / 2, next;
        bool high = side % 2 != 0;
        if (!next_brick(grid, brick, axis, high, &next) || !grid->awake[next]) {
            continue;
        }
        PressurePatch *patch = &pressure->patches[pressure->patch_count++];
        *patch = (PressurePatch){.still = pressure->label[brick], .axis = axis, .above = !high};
        patch->outer = side_of(grid, brick, axis, high, patch->count);
        patch->inner = side_of(grid, next, axis, !high, patch->count);
        patch->step[0] = steps[(axis + 1) % 3];
        patch->step[1] = steps[(axis + 2) % 3];
        pressure->still[patch->still].faces += (u32)(patch->count[0] * patch->count[1]);
    }
}

/* ---- faces ---- */

static f64 sum_inner(const PressurePatch *patch, const f32 *cells)
{
    f64 sum = 0.0;
    for (i32 k = 0; k < patch->count[1]; k++) {
        const f32 *at = cells + patch->inner + k * patch->step[1];
        for (i32 j = 0; j < patch->count[0]; j++) {
            sum += (f64)at[j * patch->step[0]];
        }
    }
    return sum;
}

/* Of the velocities of faces, into the still air. */
static f64 sum_inflow(const PressurePatch *patch, const f32 *velocity)
{
    PressurePatch faces = *patch;
    faces.inner = patch->above ? patch->outer : patch->inner;
    f64 sum = sum_inner(&faces, velocity);
    return patch->above ? sum : -sum;
}

static void set_outer(const PressurePatch *patch, f32 *cells, f32 value)
{
    for (i32 k = 0; k < patch->count[1]; k++) {
        f32 *at = cells + patch->outer + k * patch->step[1];
        for (i32 j = 0; j < patch->count[0]; j++) {
            at[j * patch->step[0]] = value;
        }
    }
}

static void clear_outer(const Pressure *pressure, f32 *cells)
{
    for (u32 i = 0; i < pressure->patch_count; i++) {
        set_outer(&pressure->patches[i], cells, 0.0f);
    }
}

/* The pressures of still air, or the direction of the step, as the cells next to it see them. */
static void show(const Pressure *pressure, bool direction, f32 *cells)
{
    for (u32 i = 0; i < pressure->patch_count; i++) {
        const PressurePatch *patch = &pressure->patches[i];
        const PressureStill *still = &pressure->still[patch->still];
        set_outer(patch, cells, (f32)(direction ? still->direction : still->x));
    }
}

void air_still_find(Pressure *pressure)
{
    const AirGrid *grid = &pressure->level[0].grid;
    u32 bricks = air_grid_bricks(grid), largest = 0;
    pressure->still_count = pressure->patch_count = pressure->free_count = 0;
    if (!pressure->sparse || grid->span_count == 0) {
        return;
    }
    memset(pressure->label, 0xFF, bricks * sizeof *pressure->label);
    for (u32 b = 0; b < bricks; b++) {
        if (!grid->awake[b] && pressure->label[b] == UINT32_MAX) {
            fill_still(pressure, b);
        }
    }
    for (u32 b = 0; b < bricks; b++) {
        if (!grid->awake[b]) {
            add_patches(pressure, b);
        }
    }
    for (u32 i = 0; i < pressure->still_count; i++) {
        largest = pressure->still[i].bricks > pressure->still[largest].bricks ? i : largest;
    }
    pressure->still[largest].held = pressure->still[largest].held || pressure->closed;
    for (u32 i = 0; i < pressure->still_count; i++) {
        CHECK(pressure->still[i].faces > 0); /* something is awake, and all bricks hang together */
        pressure->free_count += !pressure->still[i].held;
    }
}

void air_still_begin_tick(Pressure *pressure)
{
    if (pressure->free_count == 0) {
        return;
    }
    for (u32 i = 0; i < pressure->still_count; i++) {
        pressure->still[i].x = 0.0;
    }
    for (u32 i = 0; i < pressure->patch_count; i++) {
        const PressurePatch *patch = &pressure->patches[i];
        pressure->still[patch->still].x += sum_inner(patch, pressure->solution);
    }
    for (u32 i = 0; i < pressure->still_count; i++) {
        PressureStill *still = &pressure->still[i];
        still->x = still->held ? 0.0 : (f64)(f32)(still->x / (f64)still->faces);
    }
    show(pressure, false, pressure->solution);
    air_ghosts(&pressure->level[0].grid, pressure->solution, air_pressure_beyond);
}

void air_still_end_tick(Pressure *pressure)
{
    if (pressure->free_count > 0) {
        clear_outer(pressure, pressure->solution);
        air_ghosts(&pressure->level[0].grid, pressure->solution, air_pressure_beyond);
    }
}

/* ---- solving ---- */

void air_still_source(Pressure *pressure, f32 *const velocity[3])
{
    for (u32 i = 0; i < pressure->still_count; i++) {
        PressureStill *still = &pressure->still[i];
        still->b = -(f64)still->faces * still->x;
    }
    for (u32 i = 0; i < pressure->patch_count; i++) {
        const PressurePatch *patch = &pressure->patches[i];
        pressure->still[patch->still].b +=
            sum_inner(patch, pressure->solution) + sum_inflow(patch, velocity[patch->axis]);
    }
}

f64 air_still_gain(const Pressure *pressure)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < pressure->still_count; i++) {
        sum += pressure->still[i].b;
    }
    return sum;
}

void air_still_push(const Pressure *pressure, f64 push[3])
{
    push[0] = push[1] = push[2] = 0.0;
    for (u32 i = 0; i < pressure->patch_count; i++) {
        const PressurePatch *patch = &pressure->patches[i];
        f64 all = (f64)(f32)pressure->still[patch->still].x * patch->count[0] * patch->count[1];
        push[patch->axis] += patch->above ? all : -all;
    }
}

f64 air_still_begin(Pressure *pressure)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < pressure->still_count && pressure->free_count > 0; i++) {
        PressureStill *still = &pressure->still[i];
        still->b = still->held ? 0.0 : still->b;
        still->better = still->direction = still->product = 0.0;
        sum += still->b * still->b;
    }
    return sum;
}

f64 air_still_precondition(Pressure *pressure)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < pressure->still_count && pressure->free_count > 0; i++) {
        PressureStill *still = &pressure->still[i];
        still->better = still->b / (f64)still->faces;
        sum += still->b * still->better;
    }
    return sum;
}

void air_still_turn(Pressure *pressure)
{
    if (pressure->free_count == 0) {
        return;
    }
    for (u32 i = 0; i < pressure->still_count; i++) {
        PressureStill *still = &pressure->still[i];
        f64 next = still->better + (f64)pressure->step * still->direction;
        still->direction = (f64)(f32)next; /* as the cells see it */
    }
    show(pressure, true, pressure->direction);
}

/* product = d value − Σ of the cells next to it, of an array and its values in still air. */
static void apply(Pressure *pressure, const f32 *cells)
{
    for (u32 i = 0; i < pressure->still_count; i++) {
        PressureStill *still = &pressure->still[i];
        still->product = (f64)still->faces * still->direction;
    }
    for (u32 i = 0; i < pressure->patch_count; i++) {
        const PressurePatch *patch = &pressure->patches[i];
        pressure->still[patch->still].product -= sum_inner(patch, cells);
    }
}

f64 air_still_apply(Pressure *pressure)
{
    f64 sum = 0.0;
    if (pressure->free_count > 0) {
        apply(pressure, pressure->direction);
    }
    for (u32 i = 0; i < pressure->still_count && pressure->free_count > 0; i++) {
        PressureStill *still = &pressure->still[i];
        still->product = still->held ? 0.0 : still->product;
        sum += still->direction * still->product;
    }
    return sum;
}

f64 air_still_step(Pressure *pressure)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < pressure->still_count && pressure->free_count > 0; i++) {
        PressureStill *still = &pressure->still[i];
        still->x += (f64)pressure->step * still->direction;
        still->b -= (f64)pressure->step * still->product;
        sum += still->b * still->b;
    }
    return sum;
}

f64 air_still_jacobi(Pressure *pressure, f32 part)
{
    f64 sum = 0.0;
    if (pressure->free_count == 0) {
        return 0.0;
    }
    apply(pressure, pressure->from);
    for (u32 i = 0; i < pressure->still_count; i++) {
        PressureStill *still = &pressure->still[i];
        f64 residual = still->held ? 0.0 : still->b - still->product;
        f64 next = still->direction + (f64)part * residual / (f64)still->faces;
        still->direction = (f64)(f32)next;
        sum += residual * residual;
    }
    show(pressure, true, pressure->to);
    return sum;
}

void air_still_end(Pressure *pressure, bool jacobi)
{
    if (pressure->free_count == 0) {
        return;
    }
    for (u32 i = 0; i < pressure->still_count && jacobi; i++) {
        pressure->still[i].x += pressure->still[i].direction;
    }
    clear_outer(pressure, pressure->direction);
    clear_outer(pressure, pressure->level[0].x);
    show(pressure, false, pressure->solution);
}
