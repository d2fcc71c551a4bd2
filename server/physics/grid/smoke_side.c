/* smoke_side.c: what velocities are at and beyond the sides of the grid. */
#include "server/physics/grid/smoke_internal.h"

#include <string.h>

static f32 component(Vec3 v, u32 axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

void smoke_field_ghosts(const Smoke *smoke, f32 *cells)
{
    AirBeyond still = {0.0f, 0.0f, false};
    air_ghosts(&smoke->grid, cells, still);
}

/* One place becomes factor × another + value; a row of them along x. */
typedef struct Ghost {
    i32 to, from; /* cells along the axis */
    f32 factor, value;
} Ghost;

static void apply(const Smoke *smoke, u32 axis, f32 *cells, const Ghost *ghost)
{
    const AirGrid *grid = &smoke->grid;
    if (axis == 0) {
        for (i32 z = 0; z < grid->n[2] + (grid->dims == 3); z++) {
            for (i32 y = 0; y <= grid->n[1]; y++) {
                f32 *at = cells + air_at(grid, 0, y, z);
                at[ghost->to] = ghost->factor * at[ghost->from] + ghost->value;
            }
        }
        return;
    }
    i32 step = smoke_stride(grid, axis), planes = axis == 1 ? grid->n[2] + (grid->dims == 3) : 1;
    i32 floats = axis == 1 ? grid->row : grid->slab;
    for (i32 plane = 0; plane < planes; plane++) {
        f32 *start = cells + grid->origin - AIR_GHOSTS + plane * grid->slab -
                     (axis == 2 ? AIR_RIM * grid->row : 0);
        f32 *to = start + ghost->to * step;
        const f32 *from = start + ghost->from * step;
        for (i32 i = 0; i < floats; i++) {
            to[i] = ghost->factor * from[i] + ghost->value;
        }
    }
}

static void periodic_axis(const Smoke *smoke, u32 axis, f32 *cells)
{
    i32 n = smoke->grid.n[axis], reach = axis == 0 ? AIR_GHOSTS : AIR_RIM;
    for (i32 k = 0; k < reach; k++) {
        apply(smoke, axis, cells, &(Ghost){n + k, k, 1.0f, 0.0f});
        apply(smoke, axis, cells, &(Ghost){-1 - k, n - 1 - k, 1.0f, 0.0f});
    }
}

/* The faces of a side, and what is beyond: the same. */
static void own_side(const Smoke *smoke, u32 c, u32 side, f32 *cells, bool free_faces)
{
    i32 n = smoke->grid.n[c], face = side ? n : 0;
    const SmokeSide *kind = &smoke->def.sides[2 * c + side];
    if (kind->kind == SMOKE_CLOSED) {
        apply(smoke, c, cells, &(Ghost){face, face, 0.0f, component(kind->velocity, c)});
    } else if (free_faces && n > 1) {
        apply(smoke, c, cells, &(Ghost){face, side ? n - 1 : 1, 1.0f, 0.0f});
    }
    apply(smoke, c, cells, &(Ghost){side ? n + 1 : -1, face, 1.0f, 0.0f});
    if (!side) {
        apply(smoke, c, cells, &(Ghost){-2, face, 1.0f, 0.0f});
    }
}

static void other_side(const Smoke *smoke, u32 c, u32 axis, u32 side, f32 *cells)
{
    i32 n = smoke->grid.n[axis], last = side ? n - 1 : 0;
    const SmokeSide *kind = &smoke->def.sides[2 * axis + side];
    bool sticks = kind->kind == SMOKE_CLOSED && !kind->slips;
    f32 factor = sticks ? -1.0f : 1.0f, value = sticks ? 2.0f * component(kind->velocity, c) : 0.0f;
    apply(smoke, axis, cells, &(Ghost){side ? n : -1, last, factor, value});
    apply(smoke, axis, cells, &(Ghost){side ? n + 1 : -2, last, factor, value});
}

/* Cells of vectors that exceed the grid are computed, and must not grow. */
static void clear_tails(const AirGrid *grid, f32 *cells)
{
    i32 n = grid->n[0], tail = grid->row - AIR_GHOSTS;
    for (i32 z = 0; z < grid->n[2] + (grid->dims == 3); z++) {
        for (i32 y = 0; y <= grid->n[1]; y++) {
            memset(cells + air_at(grid, n + 2, y, z), 0, (size_t)(tail - n - 2) * sizeof *cells);
        }
    }
}

void smoke_sides(const Smoke *smoke, u32 c, f32 *cells, bool free_faces)
{
    const AirGrid *grid = &smoke->grid;
    for (u32 k = 0; k < grid->dims; k++) {
        u32 axis = (c + k) % grid->dims;
        if (grid->sides[2 * axis] == AIR_PERIODIC) {
            periodic_axis(smoke, axis, cells);
            continue;
        }
        for (u32 side = 0; side < 2; side++) {
            if (axis == c) {
                own_side(smoke, c, side, cells, free_faces);
            } else {
                other_side(smoke, c, axis, side, cells);
            }
        }
    }
    if (grid->sides[0] != AIR_PERIODIC && grid->n[0] % AIR_BRICK != 0) {
        clear_tails(grid, cells);
    }
}
