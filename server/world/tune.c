/* tune.c: tunable parameters. Each is declared once, with unit, range and default, for sliders,
 * exports and checks. Those of kinds of matter are in their files. */
#include "server/world/world_internal.h"

#include <stdio.h>
#include <string.h>

ScalarInfo world_parameter(const char *name, const char *unit, u32 components, f32 min, f32 max,
                           Vec3 initial)
{
    ScalarInfo info = {.components = (u8)components,
                       .min = min,
                       .max = max,
                       .initial = {initial.x, initial.y, initial.z}};
    snprintf(info.name, sizeof info.name, "%s", name);
    snprintf(info.unit, sizeof info.unit, "%s", unit);
    return info;
}

void tune_declare(World *world)
{
    const Scene *scene = world->scene;
#define PARAMETER_WORLD(NAME, name, unit, components, least, most, initial, initial_text, doc)     \
    world->parameters[WORLD_##NAME] = world_parameter(name, unit, components, least, most, initial);
#include "shared/rows/parameter.def"
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
