/* water_stage.h: stages with waters. Layer: tests. */
#ifndef PLENUM_TESTS_SUPPORT_WATER_STAGE_H
#define PLENUM_TESTS_SUPPORT_WATER_STAGE_H

#include "server/world/matter_water.h"
#include "tests/support/stage.h"

/* Members of a scene for stage_of: a channel that ends at an edge, 1 m above a basin; its water
 * becomes spray there. Probe "e" is the energy. */
extern const char water_stage_fall[];

MatterWater *water_stage_matter(const Stage *stage);
/* Runs ticks without frames, then validates the pools; fails the test if one is damaged. */
void water_stage_run(Stage *stage, u32 ticks);
/* Of the first water, with potential energy for 9.81 m/s². */
PoolSums water_stage_sums(const Stage *stage);

#endif
