/* matter_water_force.c: probes "water.QUANTITY" of scenes: the momentum of a water, and the forces
 * of it on its sides and bed. A water with such a probe counts them, and never sleeps. */
#include "server/world/matter_water.h"

#include <string.h>

static const struct {
    const char *name, *unit;
} quantities[WATER_PROBES] = {
    [WATER_PROBE_LOW_X] = {"low_x", "N"},
    [WATER_PROBE_HIGH_X] = {"high_x", "N"},
    [WATER_PROBE_LOW_Z] = {"low_z", "N"},
    [WATER_PROBE_HIGH_Z] = {"high_z", "N"},
    [WATER_PROBE_BED_X] = {"bed_x", "N"},
    [WATER_PROBE_BED_Y] = {"bed_y", "N"},
    [WATER_PROBE_BED_Z] = {"bed_z", "N"},
    [WATER_PROBE_FRICTION_X] = {"friction_x", "N"},
    [WATER_PROBE_FRICTION_Z] = {"friction_z", "N"},
    [WATER_PROBE_FORCE_X] = {"force_x", "N"},
    [WATER_PROBE_FORCE_Y] = {"force_y", "N"},
    [WATER_PROBE_FORCE_Z] = {"force_z", "N"},
    [WATER_PROBE_MOMENTUM_X] = {"momentum_x", "kg m/s"},
    [WATER_PROBE_MOMENTUM_Z] = {"momentum_z", "kg m/s"},
};

i32 matter_water_find_probe(const Matter *matter, const SceneProbe *probe, const char **unit,
                            ErrorText *error)
{
    /* The numbers are only kept here, before anything is declared. */
    MatterWater *m = (MatterWater *)(uintptr_t)matter;
    const Scene *scene = water_scene(m);
    OwnWaterProbe own = {WATER_PROBES, m->list.count};
    for (u32 q = WATER_PROBE_LOW_X; q < WATER_PROBES; q++) {
        own.kind = strcmp(quantities[q].name, probe->quantity) == 0 ? (WaterProbe)q : own.kind;
    }
    if (own.kind == WATER_PROBES) {
        return error_set(error, ERROR_NOT_FOUND, "kind: water has no \"%s\"", probe->quantity);
    }
    for (u32 i = 0; i < m->list.count; i++) {
        own.of = strcmp(scene->waters[i].name, probe->of) == 0 ? i : own.of;
    }
    if (own.of == m->list.count) {
        return error_set(error, ERROR_NOT_FOUND, "of: no water \"%s\"", probe->of);
    }
    if (scene->waters[own.of].method == WATER_WAVE) {
        return error_set(error, ERROR_RANGE, "of: \"%s\" is the wave equation: without momentum",
                         probe->of);
    }
    if (m->probe_count == PROBES_MAX) {
        return error_set(error, ERROR_LIMIT, "more than %u probes of water", (u32)PROBES_MAX);
    }
    *unit = quantities[own.kind].unit;
    pool_count(m->pools[own.of]);
    m->probes[m->probe_count] = own;
    return (i32)m->probe_count++;
}

f64 matter_water_force(const MatterWater *m, OwnWaterProbe own)
{
    const Pool *pool = m->pools[own.of];
    PoolTaken taken = pool_taken(pool);
    f64 impulse = 0.0;
    u32 number = own.kind;
    if (number >= WATER_PROBE_MOMENTUM_X) {
        PoolSums sums = pool_sums(pool, 0.0f);
        return sums.momentum[number == WATER_PROBE_MOMENTUM_X ? 0 : 2];
    }
    if (number >= WATER_PROBE_FORCE_X) {
        u32 axis = number - WATER_PROBE_FORCE_X;
        impulse = taken.bed[axis] + taken.friction[axis];
        for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
            impulse += taken.sides[side][axis];
        }
    } else if (number >= WATER_PROBE_FRICTION_X) {
        impulse = taken.friction[2 * (number - WATER_PROBE_FRICTION_X)];
    } else if (number >= WATER_PROBE_BED_X) {
        impulse = taken.bed[number - WATER_PROBE_BED_X];
    } else {
        u32 side = number - WATER_PROBE_LOW_X;
        impulse = taken.sides[side][side / 2 * 2];
    }
    return impulse / (f64)world_tick_s(m->base.world);
}
