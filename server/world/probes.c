/* probes.c: measures the probes of the scene, then those declared by kinds of matter. */
#include "server/world/world_internal.h"
#include "shared/base/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *probe_unit(const Scene *scene, const SceneProbe *probe)
{
    if (probe->kind == PROBE_JOINT_VALUE) {
        return scene_joint_rotates(&scene->joints[probe->joint]) ? "deg" : "m";
    }
    return probe_kind_unit(probe->kind);
}

/* Measures a probe by the kind of matter that it names. */
static int find_own(World *world, u32 i, const char **unit, ErrorText *error)
{
    const SceneProbe *probe = &world->scene->probes[i];
    const Matter *matter = world_matter_named(world, probe->matter);
    if (matter == NULL || matter->ops->find_probe == NULL) {
        return error_set(error, ERROR_NOT_FOUND,
                         "%s: probes[%u].kind: no kind of matter \"%s\" with probes of its own",
                         world->scene->name, i, probe->matter);
    }
    ErrorText why = {0};
    i32 number = matter->ops->find_probe(matter, probe, unit, &why);
    if (number < 0) {
        return error_set(error, number, "%s: probes[%u]: %s", world->scene->name, i, why.text);
    }
    CHECK(matter->ops->measure_own != NULL);
    world->own_probes[i] = (OwnProbe){matter->index, (u32)number};
    return ERROR_OK;
}

int probes_declare(World *world, ErrorText *error)
{
    const Scene *scene = world->scene;
    for (u32 i = 0; i < scene->probe_count; i++) {
        ScalarInfo *info = &world->probes[i];
        const char *unit = "";
        world->own_probes[i] = (OwnProbe){MATTER_NONE, 0};
        if (scene->probes[i].kind != PROBE_MATTER) {
            unit = probe_unit(scene, &scene->probes[i]);
        } else if (find_own(world, i, &unit, error) != ERROR_OK) {
            return ERROR_NOT_FOUND;
        }
        snprintf(info->name, sizeof info->name, "%s", scene->probes[i].name);
        snprintf(info->unit, sizeof info->unit, "%s", unit);
        info->components = 1;
    }
    world->probe_count = scene->probe_count;
    return ERROR_OK;
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

static f64 elastic_of(const World *world)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < world->matter_count; i++) {
        const Matter *matter = world->matters[i];
        sum += matter->ops->elastic != NULL ? matter->ops->elastic(matter) : 0.0;
    }
    return sum;
}

static const MatterStats *stats_of(const World *world, Totals *totals)
{
    if (!totals->have_stats) {
        EACH_MATTER_WITH(world, stats, &totals->stats)
        totals->have_stats = true;
    }
    return &totals->stats;
}

/* Value of a probe of one object, from the kind that it belongs to; 0 if there is none. */
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
    WorldHit hit;
    switch (probe->kind) {
    case PROBE_KINETIC_ENERGY:
        return sums_of(world, totals)->kinetic;
    case PROBE_POTENTIAL_ENERGY:
        return sums_of(world, totals)->potential;
    case PROBE_ENERGY:
        return sums_of(world, totals)->kinetic + sums_of(world, totals)->potential;
    case PROBE_RANGE:
        return world_ray(world, probe->ray, probe->length_m, &hit) ? (f64)hit.distance
                                                                   : (f64)probe->length_m;
    case PROBE_ELASTIC_ENERGY:
        return elastic_of(world);
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
    CHECK(probe < world->probe_count);
    OwnProbe own = world->own_probes[probe];
    if (own.matter == MATTER_NONE) {
        return measure_scene(world, &world->scene->probes[probe], totals);
    }
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
