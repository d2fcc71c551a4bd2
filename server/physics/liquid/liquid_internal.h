/*
 * liquid_internal.h: the store and the working arrays of a tick.
 * Slots are the owner's numbering. In a tick the live particles are copied into items, sorted by
 * cells of the neighbour grid (sort.c); all passes work on items, and liquid_finish copies back.
 * Layer: server/physics/liquid, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_LIQUID_LIQUID_INTERNAL_H
#define PLENUM_SERVER_PHYSICS_LIQUID_LIQUID_INTERNAL_H

#include "server/physics/contact/cells.h"
#include "server/physics/liquid/liquid.h"
#include "shared/base/jobs.h"

enum {
    LIQUID_GRAIN = 256,     /* items of a parallel range */
    LIQUID_PAD = 8,         /* items behind the last: the first is the far dummy neighbour */
    LIQUID_STRESS_PARTS = 6 /* xx yy zz xy xz yz */
};

/* Volume of a grain, as part of spacing³: a ball of that diameter. */
#define LIQUID_GRAIN_PART 0.5235988f

/* Four numbers, loaded as one. */
typedef struct Four {
    f32 x, y, z, w;
} Four;

/* What passes need of a phase. */
typedef struct PhaseFactors {
    f32 part;      /* φ: volume / spacing³ */
    f32 mass;      /* kg */
    f32 lightness; /* β = φ / mass = 1 / (ρ spacing³), 1/kg */
    f32 viscosity; /* Pa s */
    f32 cohesion;  /* N, scale of the pair force of surface tension */
    f32 friction;  /* tan φ; 0 for fluids */
    f32 radius;    /* m, of hard contact */
    u32 grains;    /* 1 or 0 */
} PhaseFactors;

/* A thing near an item: in this tick, and in this step as a half-space. */
typedef struct LiquidPair {
    u32 item, collider, thing;
    u32 moves; /* the thing may move */
    Vec3 normal;
    f32 distance; /* m, of the item's centre; of static things at the place `from` */
    Vec3 from;
    f32 slope; /* 1/m, ∇b along the normal, with its weight among other things; 0: out of reach */
    Vec3 speed; /* m/s of the thing there */
} LiquidPair;

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
    X(f32, stresses, LIQUID_STRESS_PARTS)                                                          \
    X(u16, generations, 1)                                                                         \
    X(u16, issued, 1)                                                                              \
    X(u32, slot_of, 1)                                                                             \
    X(u32, order, 1)                                                                               \
    X(u32, cell_of, 1)                                                                             \
    X(u8, phase_of, 1)                                                                             \
    X(Four, place, 1)                                                                              \
    X(Four, motion, 1)                                                                             \
    X(Four, before, 1)                                                                             \
    X(Four, change, 1)                                                                             \
    X(Four, slide, 1)                                                                              \
    X(f32, pressure, 1)                                                                            \
    X(f32, excess, 1)                                                                              \
    X(f32, inertia, 1)                                                                             \
    X(f32, stress, LIQUID_STRESS_PARTS)                                                            \
    X(f32, stress_change, LIQUID_STRESS_PARTS)                                                     \
    X(u32, pair_first, 1)                                                                          \
    X(u8, near_count, 1)                                                                           \
    X(u32, near, LIQUID_NEIGHBOURS_MAX)

struct Liquid {
    LiquidDef def;
    PhaseFactors factors[LIQUID_PHASES_MAX];
    u32 first[LIQUID_PHASES_MAX + 1];
    u32 live[LIQUID_PHASES_MAX];
    u32 lowest[LIQUID_PHASES_MAX]; /* no slot of the phase below it is free */
    u32 slots, count;              /* live particles */
    u32 items;                     /* of this tick */
    u32 ticks;                     /* since created, for the re-sort of slots */
    u32 awake;
    u32 quiet_ticks;
    bool mixed;  /* more than one substance: the general passes */
    bool grains; /* a phase of grains exists */
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
    /* ---- contact ---- */
    Collider colliders[LIQUID_COLLIDERS_MAX];
    u32 collider_count;
    LiquidPair *pairs; /* by item */
    u32 pair_count, pair_capacity;
    u32 *things;  /* scratch */
    bool touched; /* something that moves is in contact */
    /* ---- step ---- */
    Jobs *jobs;
    f32 tick_s, h;
    Vec3 gravity;
    f32 *sums; /* per range: scratch of reductions */
    f32 density_error, density_error_max;
};

/* liquid.c */
void liquid_factors(Liquid *liquid);
/* hand.c: drags items in a step of h s. */
void liquid_hands_step(Liquid *liquid, f32 h);
/* sort.c: items of this tick in the order of cells, and their neighbours. */
void liquid_sort(Liquid *liquid);
void liquid_neighbours(Liquid *liquid);
void liquid_publish(Liquid *liquid);
void liquid_sort_slots(Liquid *liquid);

#endif
