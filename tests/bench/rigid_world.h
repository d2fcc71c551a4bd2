/*
 * rigid_world.h: Plenum's rigid bodies on the scenes of rigid_scenes.h.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_BENCH_RIGID_WORLD_H
#define PLENUM_TESTS_BENCH_RIGID_WORLD_H

#include "server/physics/rigid/rigid.h"
#include "tests/bench/rigid_scenes.h"

/* The world of the scene at 60 Hz and 4 substeps; body i of the scene is slot i. Ends the program
 * if there is no memory or a body or joint is refused. */
Rigid *setup_rigid(const Setup *setup, bool sleeping);
/* One tick. */
void setup_tick(Rigid *rigid, Jobs *jobs);
#endif
