/* water_stage.c: see water_stage.h. */
#include "tests/support/water_stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

const char water_stage_fall[] =
    "\"liquid_spacing\":0.06,"
    "\"waters\":[{\"name\":\"w\",\"width\":6,\"length\":1.2,\"cell\":0.1,\"depth\":1.6,\"dry\":"
    "true,"
    "\"spray\":\"drops\",\"friction\":0,\"basins\":[{\"position\":[-2,0,0],\"size\":[2,0,2],"
    "\"level\":0.3},"
    "{\"position\":[2,0,0],\"size\":[4,0,2],\"level\":-1.2}]}],"
    "\"liquids\":[{\"name\":\"drops\",\"capacity\":4000}],"
    "\"bodies\":[{\"name\":\"step\",\"motion\":\"static\",\"position\":[-2,-0.8,0],"
    "\"shape\":{\"kind\":\"box\",\"half\":[2,0.8,0.6]}},"
    "{\"name\":\"sides\",\"motion\":\"static\",\"position\":[0,0,0],\"shape\":{\"kind\":"
    "\"compound\","
    "\"children\":[{\"shape\":{\"kind\":\"box\",\"half\":[3.2,2,0.1]},\"position\":[0,0,0.7]},"
    "{\"shape\":{\"kind\":\"box\",\"half\":[3.2,2,0.1]},\"position\":[0,0,-0.7]},"
    "{\"shape\":{\"kind\":\"box\",\"half\":[0.1,2,0.8]},\"position\":[3.1,0,0]},"
    "{\"shape\":{\"kind\":\"box\",\"half\":[3,0.1,0.8]},\"position\":[0,-1.7,0]}]}}],"
    "\"probes\":[{\"name\":\"e\",\"kind\":\"energy\"}]";

MatterWater *water_stage_matter(const Stage *stage)
{
    return water_of(stage_matter(stage, &matter_water));
}

void water_stage_run(Stage *stage, u32 ticks)
{
    MatterWater *water = water_stage_matter(stage);
    for (u32 i = 0; i < ticks; i++) {
        world_tick(stage->world, NULL, 0);
    }
    for (u32 w = 0; w < water->list.count; w++) {
        const char *wrong = pool_validate(water->pools[w]);
        if (wrong != NULL) {
            fail_msg("%s", wrong);
        }
    }
}

PoolSums water_stage_sums(const Stage *stage)
{
    return pool_sums(water_stage_matter(stage)->pools[0], 9.81f);
}
