/*
 * liquid_internal.h: the store and the working arrays of a tick.
 * Slots are the owner's numbering. In a tick the live particles are copied into items, sorted by
 * cells of the neighbour grid (sort.c); all passes work on items, and liquid_finish copies back.
 * Layer: server/physics/liquid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_LIQUID_LIQUID_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_LIQUID_LIQUID_INTERNAL_H

#include "server/physics/contact/bodies.h"
#include "server/physics/contact/cells.h"
#include "server/physics/liquid/liquid.h"
#include "shared/base/jobs.h"

enum {
    LIQUID_GRAIN = 256, /* items of a parallel range */
    LIQUID_PAD = 8,     /* items behind the last: the first is the far dummy neighbour */
};

/* Volume of a grain, spacing³: a ball of that diameter. */
#define LIQUID_GRAIN_PACKED 0.5235988f

/* Four numbers, loaded as one. */
typedef struct Four {
    f32 x, y, z, w;
} Four;

/* A row of the lists of eight items: a neighbour of each, as the place of its fours in an array
 * (bytes), and, once `predict` has it in a step, the slope of the kernel over the distance. */
typedef struct NearRow {
    _Alignas(32) u32 item[8];
    f32 over[8]; /* 1/m² */
} NearRow;

/* What passes need of a phase. */
typedef struct PhaseFactors {
    f32 part;      /* φ: volume / spacing³ */
    f32 mass;      /* kg */
    f32 lightness; /* β = φ / mass = 1 / (ρ spacing³), 1/kg */
    f32 viscosity; /* Pa s */
    f32 damping;   /* part of the least viscosity: swirls are damped less */
    f32 cohesion;  /* N/m, of pairs of its surface, over their distance */
    f32 radius;    /* m, of hard contact */
    u32 grains;    /* 1 or 0 */
} PhaseFactors;

/* A thing near an item in this tick, and in this step as a half-space. */
typedef struct LiquidPair {
    u32 item, collider, thing;
    u32 mover;    /* index of its place, if the thing may move; else LIQUID_STATIC */
    Vec3 normal;  /* outward */
    f32 distance; /* m, of the item's centre: of static things at `from` */
    Vec3 from;    /* m */
    f32 far;      /* m, distance in this step */
    f32 slope;    /* 1/m, |∇b| with the weight among other things; 0: out of reach */
    Vec3 speed;   /* m/s of the thing there */
} LiquidPair;
#define LIQUID_STATIC UINT32_MAX

/* Items at a thing: each by how near it is, and those that friction acts on. */
typedef struct ThingLoad {
    f32 near, rubs;
} ThingLoad;

/* A pair with a thing that may move, in this step; ordered by thing. */
typedef struct LiquidMover {
    ContactPlace place;
    u32 pair, group;        /* the first mover of the same thing */
    u32 count;              /* of the group, in its first */
    f32 inverse_mass, load; /* 1/kg along the normal; Σ slope over the group, in its first */
    f32 part;        /* of its density and pressure that couples: 1, less where it is light */
    f32 yields_most; /* 1/kg, the greatest along the normal and two tangents */
    f32 drag_most;   /* of the slip that friction may stop in a step */
    Vec3 drag;       /* N s, friction on the item in this step */
    bool meets;
    bool supported; /* before a substep: it is at `place` of a thing that supports it */
} LiquidMover;

typedef struct LiquidHand {
    Vec3 place, target; /* m */
    f32 radius;         /* m */
    u32 live;
} LiquidHand;

/* The arrays of one block of memory: X(type, name, items per slot). */
#define LIQUID_ARRAYS(X)                                                                           \
    X(Vec3, positions, 1)                                                                          \
    X(Vec3, velocities, 1)                                                                         \
    X(f32, pressures, 1)                                                                           \
    X(u32, pool, 1)                                                                                \
    X(u16, quiet, 1)                                                                               \
    X(u32, sleeper, 1)                                                                             \
    X(u16, generations, 1)                                                                         \
    X(u16, issued, 1)                                                                              \
    X(u32, slot_of, 1)                                                                             \
    X(u32, order, 1)                                                                               \
    X(u32, coarse_of, 1)                                                                           \
    X(u32, coarse_pool, 1)                                                                         \
    X(u8, side, 1)                                                                                 \
    X(f32, active, 1)                                                                              \
    X(f32, residual, 1)                                                                            \
    X(f32, pushes, 1)                                                                              \
    X(Four, bins, 2)                                                                               \
    X(f32, image, 1)                                                                               \
    X(Four, full, 1)                                                                               \
    X(Four, shift, 1)                                                                              \
    X(Four, answer, 1)                                                                             \
    X(u32, rank, 1)                                                                                \
    X(u32, cell_of, 1)                                                                             \
    X(u8, phase_of, 1)                                                                             \
    X(Four, place, 1)                                                                              \
    X(Four, motion, 1)                                                                             \
    X(Four, trait, 1)                                                                              \
    X(Four, change, 1)                                                                             \
    X(f32, pressure, 1)                                                                            \
    X(f32, excess, 1)                                                                              \
    X(f32, overs, 1)                                                                               \
    X(f32, inertia, 1)                                                                             \
    X(u32, pair_first, 1)                                                                          \
    X(u8, near_rows, 1)                                                                            \
    X(u32, near_start, 1)                                                                          \
    X(u8, near_count, 1)                                                                           \
    X(u8, crowded, 1)                                                                              \
    X(NearRow, near, LIQUID_NEIGHBOURS_MAX / 8)

typedef struct LiquidPool LiquidPool;
typedef struct LiquidBlock LiquidBlock;

struct Liquid {
    LiquidDef def;
    PhaseFactors factors[LIQUID_PHASES_MAX];
    u32 first[LIQUID_PHASES_MAX + 1];
    u32 live[LIQUID_PHASES_MAX];
    u32 lowest[LIQUID_PHASES_MAX]; /* no slot of the phase below it is free */
    u32 slots, count;              /* live particles */
    u32 items;                     /* of this tick: awake particles */
    u32 shown;                     /* with those that sleep, behind the padding */
    u32 ticks;                     /* since created, for the re-sort of slots */
    u32 steps;                     /* in each substep of this tick */
    bool mixed;                    /* grains, or liquids of several densities: general passes */
    bool cohesive;                 /* in this substep: surface tension that matters */
    bool grains;                   /* a phase of grains exists */
    bool fluids;                   /* and one of liquid */
    struct Grains *contacts;       /* of grains; NULL: no such phase */
    bool in_tick;
    LiquidHand hands[LIQUID_HANDS_MAX];
    u32 hand_end;

#define X(type, name, per) type *name;
    LIQUID_ARRAYS(X)
#undef X
    void *memory;
    /* ---- the grid of a tick ---- */
    u32 *cell_starts; /* [cell_count + 1] */
    u32 cell_bits[3], cell_capacity;
    u32 dropped;
    /* ---- neighbours: searched again when items have moved by half of the slack ---- */
    u32 *search_starts; /* of the cells of `order`, once items have left those of the sort */
    u32 search_capacity;
    bool search_stale, moved_since;
    f32 search_reach, search_slack; /* m */
    f32 moved, fastest;             /* m since the search; m/s in the last step */
    f32 extent[3];                  /* m, of the liquid at the start of the tick, and its middle */
    Vec3 middle;
    u32 *coarse_table; /* cell of a coarse number */
    struct LiquidCoarse *coarse;
    f32 *coarse_direction; /* [coarse_count + 1]: 0 of the cell that empty ones stand for */
    u32 coarse_count, coarse_capacity, coarse_table_capacity, coarse_direction_capacity;
    bool coarse_stale; /* to be built in the first step of a tick */
    /* ---- contact ---- */
    Collider colliders[LIQUID_COLLIDERS_MAX];
    u32 collider_count;
    LiquidPair *pairs; /* by item */
    u32 pair_count, pair_capacity;
    LiquidMover *movers; /* by collider, thing, item */
    u32 mover_count, mover_capacity;
    u64 *mover_keys;
    u32 mover_key_capacity;
    ThingLoad *point_loads; /* scratch: of a soft body's points */
    u32 point_load_capacity;
    void *finds; /* scratch of the search */
    u32 find_count, find_capacity;
    struct LiquidUser {
        ContactLag lag; /* first: contact_lag_step */
        Liquid *liquid;
        Cells cells;
        f32 fastest, tick_s;
    } users[LIQUID_USERS_MAX];
    bool touched; /* something that moves is in contact */
    /* ---- sleep: `pool` of a slot is its number while it sleeps, else 0 ---- */
    u32 sleepers, pools_named;
    bool sleepers_stale, shown_stale; /* the lists of them */
    LiquidBlock *blocks;              /* of `sleeper`, slots of those that sleep */
    u32 block_count, block_capacity;
    u32 *cell_parents;
    u32 parent_capacity;
    LiquidPool *pools; /* of this tick; `rank` is that of an item */
    u32 pool_count, pools_capacity;
    IslandMember *members; /* those that may sleep */
    u32 member_count, member_capacity, holder;
    IslandMembers company;
    /* ---- step ---- */
    Jobs *jobs;
    bool back;           /* the last pass over the lists began with the last items */
    f32 tick_s, span, h; /* s: of the tick, the substep, the step */
    bool thick;          /* too thick for explicit viscosity in this step */
    Vec3 gravity;
    f32 *sums; /* [ranges][4]: density errors, their greatest, way and speed of the fastest */
    u32 sums_capacity;
    f64 *partials; /* [ranges] of sums over items */
    u32 partials_capacity;
    u32 rounds; /* of the last solution */
    f32 density_error, density_error_max;
};

/* A pass over the lists of neighbours, in the other direction than the one before: the lists of
 * 100 000 items are more than a cache holds, but their latter half may still be there. */
static inline void liquid_pass(Liquid *liquid, JobsLoop *loop, void *context)
{
    liquid->back = !liquid->back;
    if (liquid->back) {
        jobs_run_back(liquid->jobs, liquid->items, LIQUID_GRAIN, loop, context);
    } else {
        jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, loop, context);
    }
}

/* liquid.c */
void liquid_factors(Liquid *liquid);
/* sleep.c: of the pool of a slot, of all within radius. */
void liquid_wake_slot(Liquid *liquid, u32 slot);
void liquid_wake_near(Liquid *liquid, Vec3 place, f32 radius);
/* Room for pools, so that a tick rarely needs more. */
bool liquid_sleep_reserve(Liquid *liquid);
/* Pools whose islands sleep. */
void liquid_fall_asleep(Liquid *liquid);
/* grain.c: contacts of grains. */
u64 liquid_grains_bytes(const LiquidDef *def);
bool liquid_grains_create(Liquid *liquid); /* false: no memory */
void liquid_grains_destroy(Liquid *liquid);
void liquid_grains_forget(Liquid *liquid); /* all impulses and rotations */
void liquid_grains_remove(Liquid *liquid, u32 slot);
/* A step of h s of a store without liquids, up to contact: gravity and hands. */
void liquid_grains_fall(Liquid *liquid, f32 h);
/* Contact of grains with each other and with things, at the level of velocities. */
void liquid_grains_step(Liquid *liquid, f32 h);
/* At the end of a tick, after items went back to slots. */
void liquid_grains_finish(Liquid *liquid);
/* Particles from[k] will have the slots to[k]; and: slots have new generations. */
void liquid_grains_renumber(Liquid *liquid, const u32 *from, const u32 *to, u32 count);
void liquid_grains_renumbered(Liquid *liquid);
/* Angular velocity of a grain times its radius, m/s; 0 for liquids. */
Vec3 liquid_grains_surface_speed(const Liquid *liquid, u32 slot);
void liquid_grains_serialize(Liquid *liquid, State *state);
/* hand.c: drags items in a step of h s. */
void liquid_hands_step(Liquid *liquid, f32 h);
/* boundary.c: finds the pairs of a tick; in each step their half-spaces. */
/* Room for so many blocks of items near things. */
bool liquid_boundary_reserve(Liquid *liquid, u32 finds);
/* And for the points of soft bodies, and there for what they support, before any of them is in the
 * liquid. */
bool liquid_boundary_meet(Liquid *liquid, const Collider *colliders, u32 count);
void liquid_boundary_begin(Liquid *liquid);
void liquid_boundary_step(Liquid *liquid);
/* Of an item: half-spaces of its things with weights; returns the density they add. */
f32 liquid_boundary_item(Liquid *liquid, u32 i);
/* Impulses of the items' pressures, and then of their friction, on the things that move; the speeds
 * that these have then. */
void liquid_boundary_press(Liquid *liquid, bool warm);
void liquid_boundary_speeds(Liquid *liquid);
void liquid_boundary_load(Liquid *liquid);
void liquid_boundary_contact(Liquid *liquid, u32 first, u32 end);
void liquid_boundary_contact_movers(Liquid *liquid);
/* support.c: before the next substep of things that are solved earlier: what may load which. */
void liquid_load_supports(Liquid *liquid);
/* solve.c: the pressures that stop `residual` of active items, of which `partials` has the sums of
 * sizes; pushes: all of it, place.w: what is
 * new. */
void liquid_solve(Liquid *liquid);
/* viscous.c: velocities by the viscosity of thick liquids, and drag of movers. */
void liquid_viscous(Liquid *liquid);
/* coarse.c: pressures of cells: their operator, once a tick; their solution for `residual`; what it
 * adds to items, N s m. */
bool liquid_coarse_reserve(Liquid *liquid);
void liquid_coarse_build(Liquid *liquid);
void liquid_coarse_solve(Liquid *liquid);
void liquid_coarse_pressures(const Liquid *liquid, u32 first, u32 count, f32 *out);
/* pass.c: a step of h s. */
void liquid_step(Liquid *liquid, f32 h);
/* sort.c: items of this tick in the order of cells. */
void liquid_sort(Liquid *liquid);
/* Numbers 0 .. items − 1 by `cell_of`: in `starts` [cells + 2] where those of each cell begin, and
 * behind the last where they end; in `to` what `from` has for each (NULL: the number itself). */
void liquid_sort_by_cell(const Liquid *liquid, u32 *starts, const u32 *from, u32 *to);
/* Items of the largest table of cells, with that for work. */
u32 liquid_cells_most(u32 particles);
/* near.c: whether neighbours have to be searched in this step; then those of the items of a range;
 * and, after all ranges, whether lists were full, and have got shorter so that they are mutual. */
bool liquid_neighbours_begin(Liquid *liquid);
void liquid_neighbours_find(Liquid *liquid, u32 first, u32 end);
bool liquid_neighbours_end(Liquid *liquid);
void liquid_publish(Liquid *liquid);
void liquid_sort_slots(Liquid *liquid);

#endif
