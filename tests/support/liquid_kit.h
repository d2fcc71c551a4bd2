/*
 * liquid_kit.h: small worlds of one liquid store and rigid bodies, for tests.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_LIQUID_KIT_H
#define PLENUM_TESTS_SUPPORT_LIQUID_KIT_H

#include "server/physics/liquid/liquid.h"
#include "server/physics/rigid/collider.h"
#include "tests/support/rigid_kit.h"

typedef struct LiquidKit {
    Rigid *rigid;
    RigidCollider bodies;
    Liquid *liquid;
    Jobs *jobs;
    Collider extra; /* another collider; ops NULL: none */
    u32 substeps;
    f32 tick_s;
    Vec3 gravity; /* m/s² */
} LiquidKit;

/* Ticks of KIT_TICK_S in four substeps, gravity down. Ends the test where there is no memory. */
LiquidKit liquid_kit_make(const LiquidDef *def, f32 gravity_m_s2);
void liquid_kit_free(LiquidKit *kit);
/* One fluid phase of water with this capacity. */
LiquidDef liquid_kit_water(f32 spacing, u32 capacity);
/* A static box between two corners; returns its slot. */
u32 liquid_kit_wall(LiquidKit *kit, Vec3 low, Vec3 high);
/* An open tank whose inside is [0, size], with thick walls. */
void liquid_kit_tank(LiquidKit *kit, Vec3 size);
/* A lattice of x · y · z particles of a phase, from the corner `low` on. */
void liquid_kit_fill(LiquidKit *kit, u32 phase, Vec3 low, u32 x, u32 y, u32 z);
void liquid_kit_tick(LiquidKit *kit);
void liquid_kit_run(LiquidKit *kit, f32 seconds);
/* Height of the free surface over `floor` in a region, m: twice that of its particles' centre. */
f64 liquid_kit_level(const LiquidKit *kit, Vec3 low, Vec3 high, f32 floor);
/* A tank [0, side] long and [0, wide] deep; its liquid leaves by a slot that ends at x = out. */
typedef struct KitJet {
    f32 side, wide, out, d;
} KitJet;
/* Mean over some ticks of the speed of particles 1 to 3 d behind the slot over sqrt(2 g H), H their
 * depth below the surface far from it. *samples: ticks with more than `least` of them there. */
f64 liquid_kit_jet(LiquidKit *kit, const KitJet *jet, u32 ticks, u32 least, u32 *samples);
/* Ends the program where the liquid is not valid. */
void liquid_kit_check(const LiquidKit *kit);
/* Hash of the liquid's state. */
u64 liquid_kit_hash(LiquidKit *kit);

#endif
