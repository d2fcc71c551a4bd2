/* probes.c: measures the probes of the scene, then those declared by kinds of matter. */
#include "server/world/world_internal.h"
#include "shared/base/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *probe_unit(const Scene *scene, const SceneProbe *probe)
{
    if (probe->kind == PROBE_JOINT_VALUE) {
        return scene_joint_turns(&scene->joints[probe->joint]) ? "deg" : "m";
    }
    return probe_kind_unit(probe->kind);
}

void probes_declare(World *world)
{
    const Scene *scene = world->scene;
    for (u32 i = 0; i < scene->probe_count; i++) {
        ScalarInfo *info = &world->probes[i];
        snprintf(info->name, sizeof info->name, "%s", scene->probes[i].name);
        snprintf(info->unit, sizeof info->unit, "%s", probe_unit(scene, &scene->probes[i]));
        info->components = 1;
    }
    world->probe_count = scene->probe_count;
}

/* Totals shared by several probes of one tick, each computed at most once. */
typedef struct Totals {
    MatterSums sums;
    MatterStats stats;
    bool have_sums, have_stats;
} Totals;

static const MatterSums *sums_of(const World *world, Totals *totals)
{
    if (!totals->have_sums) {
        EACH_MATTER_WITH(world, sums, &totals->sums)
        totals->have_sums = true;
    }
    return &totals->sums;
}

static const MatterStats *stats_of(const World *world, Totals *totals)
{
    if (!totals->have_stats) {
        EACH_MATTER_WITH(world, stats, &totals->stats)
        totals->have_stats = true;
    }
    return &totals->stats;
}

/* Value of a probe of one object, from the kind that knows it; 0 if none does. */
static f64 measure_thing(const World *world, const SceneProbe *probe)
{
    f64 value = 0.0;
    for (u32 i = 0; i < world->matter_count; i++) {
        const Matter *matter = world->matters[i];
        if (matter->ops->measure != NULL && matter->ops->measure(matter, probe, &value)) {
            return value;
        }
    }
    return 0.0;
}

static f64 measure_scene(const World *world, const SceneProbe *probe, Totals *totals)
{
    switch (probe->kind) {
    case PROBE_KINETIC_ENERGY:
        return sums_of(world, totals)->kinetic;
    case PROBE_POTENTIAL_ENERGY:
        return sums_of(world, totals)->potential;
    case PROBE_ENERGY:
        return sums_of(world, totals)->kinetic + sums_of(world, totals)->potential;
    case PROBE_MOMENTUM: {
        const f64 *p = sums_of(world, totals)->momentum;
        return (f64)sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    }
    case PROBE_CONTACTS:
        return (f64)stats_of(world, totals)->touching;
    case PROBE_PENETRATION:
        return (f64)stats_of(world, totals)->penetration_max;
    case PROBE_AWAKE:
        return (f64)stats_of(world, totals)->awake;
    default:
        return measure_thing(world, probe);
    }
}

static f64 measure(const World *world, u32 probe, Totals *totals)
{
    if (probe < world->scene->probe_count) {
        return measure_scene(world, &world->scene->probes[probe], totals);
    }
    CHECK(probe - world->scene->probe_count < world->own_probe_count);
    OwnProbe own = world->own_probes[probe - world->scene->probe_count];
    const Matter *matter = world->matters[own.matter];
    CHECK(matter->ops->measure_own != NULL);
    return matter->ops->measure_own(matter, own.number);
}

void probes_measure(const World *world, f32 *values)
{
    Totals totals = {.have_sums = false};
    for (u32 i = 0; i < world->probe_count; i++) {
        values[i] = (f32)measure(world, i, &totals);
    }
}

bool world_probe(const World *world, const char *name, f64 *value)
{
    for (u32 i = 0; i < world->probe_count; i++) {
        if (strcmp(world->probes[i].name, name) == 0) {
            Totals totals = {.have_sums = false};
            *value = measure(world, i, &totals);
            return true;
        }
    }
    return false;
}
