/*
 * truth_world.h: worlds of bodies and joints at random rates, for laws of flight and of joints.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_TRUTH_WORLD_H
#define PLENUM_TESTS_SUPPORT_TRUTH_WORLD_H

#include "tests/support/rigid_kit.h"
#include "tests/support/truth.h"

typedef struct TruthWorld {
    Rigid *rigid;
    f64 rate;
    u32 substeps;
} TruthWorld;

/* Gravity points down; nothing sleeps; it holds one joint more than bodies. Says the rate and the
 * number of substeps. */
TruthWorld truth_world_make(TruthCase *c, u32 bodies, f64 gravity_m_s2, f32 rate, u32 substeps);
/* The same at 30 to 240 Hz and `least` (1 or 2) to 16 substeps, or more so that they are at most
 * `step_s`. */
TruthWorld truth_world_draw(TruthCase *c, u32 bodies, f64 gravity_m_s2, f64 step_s, u32 least);
/* Rounded to whole ticks. */
u32 truth_world_ticks(const TruthWorld *world, f64 seconds);
/* Throws the first `count` bodies in all directions, turning, lets half a second pass in which
 * joints remove motion that they do not allow, measures that many seconds of flight and destroys
 * the world. */
KitFlight truth_world_throw(TruthWorld *world, TruthCase *c, u32 count, f64 seconds);

#endif
