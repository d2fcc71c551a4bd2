/* tune.c: what can be tuned. Each parameter is declared once, with unit, range and default:
 * sliders, exports and checks come from that. What kinds of matter add is in their files. */
#include "server/world/world_state.h"

#include <string.h>

void tune_declare(World *world)
{
    const Scene *scene = world->scene;
    Vec3 g = scene->gravity, w = scene->wind;
    const ScalarInfo all[WORLD_PARAMETERS] = {
        [WORLD_GRAVITY] = {.name = "gravity",
                           .unit = "m/s^2",
                           .components = 3,
                           .min = -50.0f,
                           .max = 50.0f,
                           .initial = {g.x, g.y, g.z}},
        [WORLD_WIND] = {.name = "wind",
                        .unit = "m/s",
                        .components = 3,
                        .min = -30.0f,
                        .max = 30.0f,
                        .initial = {w.x, w.y, w.z}},
        [WORLD_AIR] = {.name = "air density",
                       .unit = "kg/m^3",
                       .components = 1,
                       .max = 10.0f,
                       .initial = {1.2f}},
        [WORLD_SUBSTEPS] = {.name = "substeps",
                            .unit = "1",
                            .components = 1,
                            .min = 1.0f,
                            .max = 32.0f,
                            .initial = {(f32)u32_min(scene->substeps, 32)}},
    };
    memcpy(world->parameters, all, sizeof all);
    world->parameter_count = WORLD_PARAMETERS;
}

void tune_apply(World *world)
{
    EACH_MATTER(world, tune)
}

int tune_set(World *world, u32 parameter, const f32 values[4])
{
    if (parameter >= world->parameter_count) {
        return ERROR_NOT_FOUND;
    }
    const ScalarInfo *info = &world->parameters[parameter];
    for (u32 i = 0; i < info->components; i++) {
        if (!(values[i] >= info->min && values[i] <= info->max)) {
            return ERROR_RANGE;
        }
    }
    memcpy(world->values[parameter], values, info->components * sizeof values[0]);
    tune_apply(world);
    EACH_MATTER(world, wake_all)
    return ERROR_OK;
}
