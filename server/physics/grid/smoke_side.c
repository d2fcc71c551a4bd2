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

/* One place becomes factor × another + value. */
typedef struct Ghost {
    i32 to, from; /* cells along the axis */
    f32 factor, value;
} Ghost;

/* Those of an axis, in order. */
typedef struct Ghosts {
    u32 count;
    Ghost item[2 * AIR_GHOSTS];
} Ghosts;

static void add(Ghosts *ghosts, i32 to, i32 from, f32 factor, f32 value)
{
    ghosts->item[ghosts->count++] = (Ghost){to, from, factor, value};
}

static void apply(const AirGrid *grid, u32 axis, f32 *cells, const Ghosts *ghosts)
{
    i32 step = smoke_stride(grid, axis), n = grid->n[0], tail = grid->row - AIR_GHOSTS;
    /* Cells of vectors that exceed the grid are computed, and must not grow. */
    bool clears = axis == 0 && grid->sides[0] != AIR_PERIODIC && n % AIR_BRICK != 0;
    for (u32 i = 0; i < grid->run_count[axis]; i++) {
        const AirRun *run = &grid->runs[axis][i];
        f32 *at = cells + run->at;
        for (u32 g = 0; g < ghosts->count; g++) {
            const Ghost *ghost = &ghosts->item[g];
            f32 *to = at + ghost->to * step;
            const f32 *from = at + ghost->from * step;
            for (i32 k = 0; k < run->floats; k++) {
                to[k] = ghost->factor * from[k] + ghost->value;
            }
        }
        if (clears) {
            memset(at + n + 2, 0, (size_t)(tail - n - 2) * sizeof *cells);
        }
    }
}

static void periodic_axis(const AirGrid *grid, u32 axis, Ghosts *ghosts)
{
    i32 n = grid->n[axis], reach = axis == 0 ? AIR_GHOSTS : AIR_RIM;
    for (i32 k = 0; k < reach; k++) {
        add(ghosts, n + k, k, 1.0f, 0.0f);
        add(ghosts, -1 - k, n - 1 - k, 1.0f, 0.0f);
    }
}

/* The faces of a side, and what is beyond: the same. */
static void own_side(const Smoke *smoke, u32 c, u32 side, bool free_faces, Ghosts *ghosts)
{
    i32 n = smoke->grid.n[c], face = side ? n : 0;
    const SmokeSide *kind = &smoke->def.sides[2 * c + side];
    if (kind->kind == SMOKE_CLOSED) {
        add(ghosts, face, face, 0.0f, component(kind->velocity, c));
    } else if (free_faces && n > 1) {
        add(ghosts, face, side ? n - 1 : 1, 1.0f, 0.0f);
    }
    add(ghosts, side ? n + 1 : -1, face, 1.0f, 0.0f);
    if (!side) {
        add(ghosts, -2, face, 1.0f, 0.0f);
    }
}

static void other_side(const Smoke *smoke, u32 c, u32 axis, u32 side, Ghosts *ghosts)
{
    i32 n = smoke->grid.n[axis], last = side ? n - 1 : 0;
    const SmokeSide *kind = &smoke->def.sides[2 * axis + side];
    bool sticks = kind->kind == SMOKE_CLOSED && !kind->slips;
    f32 factor = sticks ? -1.0f : 1.0f, value = sticks ? 2.0f * component(kind->velocity, c) : 0.0f;
    add(ghosts, side ? n : -1, last, factor, value);
    add(ghosts, side ? n + 1 : -2, last, factor, value);
}

void smoke_sides(const Smoke *smoke, u32 c, f32 *cells, bool free_faces)
{
    const AirGrid *grid = &smoke->grid;
    for (u32 k = 0; k < grid->dims; k++) {
        u32 axis = (c + k) % grid->dims;
        Ghosts ghosts = {0};
        bool wraps = grid->sides[2 * axis] == AIR_PERIODIC;
        if (wraps) {
            periodic_axis(grid, axis, &ghosts);
        }
        for (u32 side = 0; side < 2 && !wraps; side++) {
            if (axis == c) {
                own_side(smoke, c, side, free_faces, &ghosts);
            } else {
                other_side(smoke, c, axis, side, &ghosts);
            }
        }
        apply(grid, axis, cells, &ghosts);
    }
}
