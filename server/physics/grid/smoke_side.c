/* smoke_side.c: boundary conditions of velocity at the sides of the grid. */
#include "server/physics/grid/smoke_internal.h"

#include <string.h>

enum {
    RUNS_AT_ONCE = 64, /* whose cells stay in the cache from one ghost to the next */
};

static f32 component(Vec3 v, u32 axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/*
 * Air beyond an open side is at rest, so inflow carries no momentum. If it had the velocity of the
 * inside instead, inflow would amplify itself, and the energy of eddies that cross the side would
 * grow without bound (backflow instability; Bertoglio et al. 2018). Faces at the side are upwinded
 * with the still air, and positions traced back beyond the side have velocity 0.
 */
typedef enum GhostRule {
    GHOST_LINEAR,   /* factor × the other + value */
    GHOST_ENTERING, /* the other value, slowed by still air if it points along `inward` */
    GHOST_LEAVING,  /* the other value, or 0 where it points along `inward` */
    GHOST_ALONG     /* the other value, or 0 where air enters at the side: for velocities along
                     * it */
} GhostRule;

/* A place that takes its value from another one. */
typedef struct Ghost {
    i32 to, from; /* cells along the axis */
    f32 factor, value;
    GhostRule rule;
    f32 inward;        /* 1: air enters at this side with positive velocity; or -1 */
    i32 face, other;   /* GHOST_ALONG: cells to the side's face, floats to the next place */
    const f32 *across; /* GHOST_ALONG: velocity through the side */
} Ghost;

/* Those of an axis, in order. */
typedef struct Ghosts {
    u32 count;
    Ghost item[2 * AIR_GHOSTS];
    f32 slows; /* s/m, by which entering air is slowed: tick / spacing */
} Ghosts;

static void add(Ghosts *ghosts, i32 to, i32 from, f32 factor, f32 value)
{
    ghosts->item[ghosts->count++] =
        (Ghost){.to = to, .from = from, .factor = factor, .value = value};
}

static Ghost *add_open(Ghosts *ghosts, i32 to, i32 from, GhostRule rule, f32 inward)
{
    Ghost *ghost = &ghosts->item[ghosts->count++];
    *ghost = (Ghost){.to = to, .from = from, .rule = rule, .inward = inward};
    return ghost;
}

SIMD_INLINE f32 value_of(const Ghosts *ghosts, const Ghost *ghost, GhostRule rule, f32 value,
                         f32 through)
{
    f32 enters = value * ghost->inward;
    switch (rule) {
    case GHOST_LINEAR:
        return ghost->factor * value + ghost->value;
    case GHOST_ENTERING:
        return value / (1.0f + f32_max(enters, 0.0f) * ghosts->slows);
    case GHOST_LEAVING:
        return enters > 0.0f ? 0.0f : value;
    default:
        return through * ghost->inward > 0.0f ? 0.0f : value;
    }
}

/* Runs of an axis that go through a ghost together. */
typedef struct GhostRuns {
    f32 *cells; /* rows of `across` are those of these */
    const AirRun *runs;
    u32 count;
    i32 step;
    bool lines; /* of many places, not one */
} GhostRuns;

/* One loop per rule, so that the compiler can vectorize them. */
SIMD_INLINE void apply_rule(const Ghosts *ghosts, const Ghost *ghost, GhostRule rule,
                            const GhostRuns *of)
{
    const Ghost copy = *ghost;
    bool along = rule == GHOST_ALONG;
    for (u32 i = 0; i < of->count; i++) {
        i32 at = of->runs[i].at, floats = of->lines ? of->runs[i].floats : 1;
        f32 *to = of->cells + at + copy.to * of->step;
        const f32 *from = of->cells + at + copy.from * of->step;
        const f32 *across = along ? copy.across + at + copy.face * of->step : from;
        const f32 *other = along ? across - copy.other : from;
        for (i32 k = 0; k < floats; k++) {
            f32 through = along ? across[k] + other[k] : 0.0f;
            to[k] = value_of(ghosts, &copy, rule, from[k], through);
        }
    }
}

SIMD_INLINE void apply_runs(const Ghosts *ghosts, const Ghost *ghost, const GhostRuns *of)
{
    switch (ghost->rule) {
    case GHOST_LINEAR:
        apply_rule(ghosts, ghost, GHOST_LINEAR, of);
        break;
    case GHOST_ENTERING:
        apply_rule(ghosts, ghost, GHOST_ENTERING, of);
        break;
    case GHOST_LEAVING:
        apply_rule(ghosts, ghost, GHOST_LEAVING, of);
        break;
    default:
        apply_rule(ghosts, ghost, GHOST_ALONG, of);
        break;
    }
}

static void apply(const AirGrid *grid, u32 axis, f32 *cells, const Ghosts *ghosts)
{
    i32 step = smoke_stride(grid, axis), n = grid->n[0], tail = grid->row - AIR_GHOSTS;
    for (u32 first = 0; first < grid->run_count[axis]; first += RUNS_AT_ONCE) {
        const AirRun *runs = grid->runs[axis] + first;
        u32 count = u32_min(grid->run_count[axis] - first, RUNS_AT_ONCE);
        const GhostRuns points = {cells, runs, count, 1, false},
                        lines = {cells, runs, count, step, true};
        for (u32 g = 0; g < ghosts->count; g++) {
            if (axis == 0) {
                apply_runs(ghosts, &ghosts->item[g], &points);
            } else {
                apply_runs(ghosts, &ghosts->item[g], &lines);
            }
        }
    }
    /* SIMD lanes beyond the grid are computed too, and must not grow. */
    bool clears = axis == 0 && grid->sides[0] != AIR_PERIODIC && n % AIR_BRICK != 0;
    for (u32 i = 0; i < grid->run_count[0] && clears; i++) {
        memset(cells + grid->runs[0][i].at + n + 2, 0, (size_t)(tail - n - 2) * sizeof *cells);
    }
}

/* Inflow carries no smoke and has the ambient temperature. */
void smoke_field_ghosts(const Smoke *smoke, f32 *cells)
{
    const AirGrid *grid = &smoke->grid;
    AirBeyond still = {0.0f, 0.0f, false};
    air_ghosts(grid, cells, still);
    for (u32 s = 0; s < 2 * grid->dims; s++) {
        const SmokeSide *side = &smoke->def.sides[s];
        f32 outward = component(side->velocity, s / 2) * (s % 2 != 0 ? 1.0f : -1.0f);
        if (side->kind == SMOKE_CLOSED && outward < 0.0f) {
            i32 n = grid->n[s / 2];
            Ghosts ghosts = {0};
            add(&ghosts, s % 2 != 0 ? n : -1, 0, 0.0f, 0.0f);
            add(&ghosts, s % 2 != 0 ? n + 1 : -2, 0, 0.0f, 0.0f);
            apply(grid, s / 2, cells, &ghosts);
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

/* The same for the faces of a side, and those beyond it. */
static void own_side(const Smoke *smoke, u32 c, u32 side, SmokeSides how, Ghosts *ghosts)
{
    i32 n = smoke->grid.n[c], face = side ? n : 0;
    const SmokeSide *kind = &smoke->def.sides[2 * c + side];
    f32 inward = side ? -1.0f : 1.0f;
    if (kind->kind == SMOKE_CLOSED) {
        add(ghosts, face, face, 0.0f, component(kind->velocity, c));
    } else if ((how & SMOKE_SIDES_FREE) != 0 && n > 1) {
        (void)add_open(ghosts, face, side ? n - 1 : 1, GHOST_ENTERING, inward);
    }
    bool still = kind->kind == SMOKE_OPEN && (how & SMOKE_SIDES_STILL) != 0;
    i32 beyond = side ? n + 1 : -1, layers = (how & SMOKE_SIDES_FACES) != 0 ? 0 : side ? 1 : 2;
    for (i32 k = 0; k < layers; k++) {
        if (still) {
            (void)add_open(ghosts, beyond - k, face, GHOST_LEAVING, inward);
        } else {
            add(ghosts, beyond - k, face, 1.0f, 0.0f);
        }
    }
}

static void other_side(const Smoke *smoke, u32 c, u32 axis, u32 side, SmokeSides how,
                       Ghosts *ghosts)
{
    const AirGrid *grid = &smoke->grid;
    i32 n = grid->n[axis], last = side ? n - 1 : 0, beyond = side ? n : -1;
    const SmokeSide *kind = &smoke->def.sides[2 * axis + side];
    bool sticks = kind->kind == SMOKE_CLOSED && !kind->slips;
    f32 factor = sticks ? -1.0f : 1.0f, value = sticks ? 2.0f * component(kind->velocity, c) : 0.0f;
    bool still = kind->kind == SMOKE_OPEN && (how & SMOKE_SIDES_STILL) != 0;
    for (i32 k = 0; k < 2; k++) {
        i32 to = side ? beyond + k : beyond - k;
        if (still) {
            Ghost *ghost = add_open(ghosts, to, last, GHOST_ALONG, side ? -1.0f : 1.0f);
            ghost->across = smoke->velocity[axis];
            ghost->face = side ? n : 0;
            ghost->other = smoke_stride(grid, c);
        } else {
            add(ghosts, to, last, factor, value);
        }
    }
}

void smoke_sides(const Smoke *smoke, u32 c, f32 *cells, SmokeSides how)
{
    const AirGrid *grid = &smoke->grid;
    for (u32 k = 0; k < ((how & SMOKE_SIDES_FACES) != 0 ? 1 : grid->dims); k++) {
        u32 axis = (c + k) % grid->dims;
        Ghosts ghosts = {.slows = smoke->tick_s / smoke->def.spacing};
        bool wraps = grid->sides[2 * axis] == AIR_PERIODIC;
        if (wraps) {
            periodic_axis(grid, axis, &ghosts);
        }
        for (u32 side = 0; side < 2 && !wraps; side++) {
            if (axis == c) {
                own_side(smoke, c, side, how, &ghosts);
            } else {
                other_side(smoke, c, axis, side, how, &ghosts);
            }
        }
        apply(grid, axis, cells, &ghosts);
    }
}
