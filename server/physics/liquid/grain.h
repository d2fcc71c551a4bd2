/*
 * grain.h: contacts of grains: balls of the spacing's diameter with normal impulses, Coulomb
 * friction and rolling resistance (as the angular grains of sand have), all three stored for warm
 * starting. Contacts are found on a grid of their own, coloured so that those of one colour share
 * no grain, solved eight at a time by sequential impulses at the level of velocities (Moreau 1988;
 * Tasora & Anitescu 2011; Mazhar et al. 2015), warm-started by the impulses of the last step: so a
 * heap at rest is a fixed point of the iteration.
 * Layer: server/physics/liquid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_LIQUID_GRAIN_H
#define PLENUM_SERVER_PHYSICS_LIQUID_GRAIN_H

#include "server/physics/liquid/liquid_internal.h"
#include "shared/math/simd.h"

enum {
    GRAIN_COLORS = 48,
    GRAIN_PARTNERS = 16,     /* of a grain behind it in the order of the grid */
    GRAIN_CONTACTS = 6,      /* of a grain on average, each counted once: equal balls touch 12 */
    GRAIN_SWEEPS = 4,        /* of a step, */
    GRAIN_SWEEPS_HEAVY = 12, /* and with a body that is much heavier than a grain */
};
/* Contacts are searched this far beyond touch, in diameters; grains may move by a part of it before
 * the next search. */
#define GRAIN_SKIN            0.1f
/* Size of a cell of the grid, in diameters: the range of a search. */
#define GRAIN_CELL            1.5f
/* Rolling resistance: moment over normal force and radius, relative to the coefficient of friction
 * (cf. Ai et al. 2011). */
#define GRAIN_ROLLING         0.13f
/* Of a ball: m r² over its moment of inertia. Angular velocities are kept times the radius, as the
 * speed of the surface. */
#define GRAIN_INVERSE_INERTIA 2.5f

/* Eight contacts of one colour. Unused lanes have two equal items after the last. */
typedef struct GrainBlock {
    u32 a[SIMD_LANES], b[SIMD_LANES]; /* items */
    Vec3x8 normal;                    /* from b to a */
    f32x8 open;                       /* m/s: approach at which they just touch after the step */
    f32x8 push;                       /* N s, on a along the normal, ≥ 0 */
    Vec3x8 friction;                  /* N s, on a across it */
    Vec3x8 roll;                      /* N s, moment on a over the radius */
    f32x8 light_a, light_b;           /* 1/kg */
    f32x8 mu, mu_static, mu_now;      /* friction: kinetic, static, that of this step */
} GrainBlock;

/* An impulse of the last step divided by its duration: a force. */
typedef struct GrainMemory {
    u32 slot, with; /* slots, slot < with; or a thing: GRAIN_THING */
    u16 generation, with_generation;
    f32 push;            /* N; negative: it slid */
    Vec3 friction, roll; /* N, on `slot` */
} GrainMemory;
#define GRAIN_THING 0x80000000u

/* Impulses of the last step of a pair of the store, N s. */
typedef struct GrainHeld {
    f32 push;
    Vec3 friction, roll;
} GrainHeld;

/* Contact with a thing in this step; if the thing cannot move, only its item uses it. */
typedef struct GrainWall {
    u32 item, pair;
    Vec3 normal, speed; /* outward; m/s of a thing that cannot be moved */
    f32 open, push, light, thing_light;
    Vec3 friction, roll;
    f32 mu;
} GrainWall;

typedef struct Grains {
    u32 capacity; /* grains */
    u32 count;
    f32 moved, h; /* m, longest path since the search; s, of the last step */
    /* ---- search: grains by cells ---- */
    u32 *items, *cell_of, *sorted; /* [capacity] items; their cells; items by cell */
    f32 *x, *y, *z;                /* [capacity + pad] m, by cell */
    u32 *cell_starts;              /* [cells + 1] */
    u32 cells_most, bits[3];
    u32 *partners; /* [capacity][GRAIN_PARTNERS] */
    u8 *partner_count, *color_of;
    u64 *used; /* colours */
    u32 color_first[GRAIN_COLORS + 1], color_count[GRAIN_COLORS], colors;
    GrainBlock *blocks;
    u32 block_count, blocks_most, dropped;
    Four *surface_speed;  /* m/s, of items: radius times angular velocity */
    Vec3 *surface_speeds; /* of slots */
    /* ---- memory ---- */
    u32 *slot_of; /* [items] of the last search */
    u32 *memory_first;
    GrainMemory *memory, *memory_scratch;
    u32 memory_count, memory_most;
    /* ---- things ---- */
    GrainWall *walls, *movers;
    ContactPlace *places; /* [mover_count] of the step; thing: CONTACT_ANY if they do not meet */
    u32 wall_count, wall_capacity, mover_count, mover_capacity, place_capacity;
    GrainHeld *held; /* [pairs of the store] */
    u32 held_count, held_capacity;
    JobsPhase phases[GRAIN_COLORS];
    void *block;
    bool ready; /* the blocks are those of this tick */
} Grains;

/* grain_search.c: the contacts of all grains at their places; warm from memory. */
void grains_search(Liquid *liquid);
/* grain_memory.c: stores the impulses of blocks and movers by slots; copies stored ones into
 * blocks. */
void grains_remember(Liquid *liquid);
void grains_recall(Liquid *liquid, GrainBlock *block);
/* Of the things, at the start of a tick; false: out of memory. */
bool grains_recall_things(Liquid *liquid);
/* grain_solve.c: pushes deep pairs apart and applies last step's impulses times `scale`; a sweep of
 * the iteration. */
void grains_warm(Liquid *liquid, f32 scale);
void grains_sweep(Liquid *liquid);
/* grain_wall.c */
bool grains_find_walls(Liquid *liquid);
/* Finds the places of the movers where their grains are now. */
void grains_meet_movers(Liquid *liquid);
void grains_warm_walls(Liquid *liquid, f32 scale);
void grains_sweep_walls(Liquid *liquid);
void grains_sweep_movers(Liquid *liquid);
/* Does something much heavier than a grain rest on grains? A sweep increases impulses by about one
 * grain's. */
bool grains_bear_heavy(const Liquid *liquid);
/* At the end of a step: applies the impulses on things. */
void grains_hold_walls(Liquid *liquid);

#endif
