/* matter_smoke_probes.c: measurements of air on grids, and their records of a dump. Probes of a
 * scene name "smoke.QUANTITY" of a grid, or a force of air on a body. */
#include "server/world/dump.h"
#include "server/world/matter_rigid.h"
#include "server/world/matter_smoke.h"

#include <math.h>
#include <string.h>

typedef enum SmokeQuantity {
    SMOKE_MASS,
    SMOKE_FUEL_MASS,
    SMOKE_HEAT,
    SMOKE_ENERGY,
    SMOKE_DIVERGENCE,
    SMOKE_HEIGHT,
    SMOKE_SPEED,
    SMOKE_ITERATIONS,
    SMOKE_AWAKE,
    SMOKE_WIND_X, /* at a place */
    SMOKE_WIND_Y,
    SMOKE_WIND_Z,
    SMOKE_MOMENTUM_X,
    SMOKE_MOMENTUM_Y,
    SMOKE_MOMENTUM_Z,
    SMOKE_LOW_X, /* in the order of sides */
    SMOKE_HIGH_X,
    SMOKE_LOW_Y,
    SMOKE_HIGH_Y,
    SMOKE_LOW_Z,
    SMOKE_HIGH_Z,
    SMOKE_FLOW_X,
    SMOKE_FLOW_Y,
    SMOKE_FLOW_Z,
    SMOKE_FORCE_X, /* of a body, or closed sides; so are all after it */
    SMOKE_FORCE_Y,
    SMOKE_FORCE_Z,
    SMOKE_QUANTITIES
} SmokeQuantity;

static const struct {
    const char *name, *unit;
} quantities[SMOKE_QUANTITIES] = {
    [SMOKE_MASS] = {"mass", "kg"},
    [SMOKE_FUEL_MASS] = {"fuel", "kg"},
    [SMOKE_HEAT] = {"heat", "J"},
    [SMOKE_ENERGY] = {"energy", "J"},
    [SMOKE_DIVERGENCE] = {"divergence", "1/s"},
    [SMOKE_HEIGHT] = {"height", "m"},
    [SMOKE_SPEED] = {"speed", "m/s"},
    [SMOKE_ITERATIONS] = {"iterations", ""},
    [SMOKE_AWAKE] = {"awake", "%"},
    [SMOKE_WIND_X] = {"velocity_x", "m/s"},
    [SMOKE_WIND_Y] = {"velocity_y", "m/s"},
    [SMOKE_WIND_Z] = {"velocity_z", "m/s"},
    [SMOKE_MOMENTUM_X] = {"momentum_x", "kg m/s"},
    [SMOKE_MOMENTUM_Y] = {"momentum_y", "kg m/s"},
    [SMOKE_MOMENTUM_Z] = {"momentum_z", "kg m/s"},
    [SMOKE_LOW_X] = {"low_x", "N"},
    [SMOKE_HIGH_X] = {"high_x", "N"},
    [SMOKE_LOW_Y] = {"low_y", "N"},
    [SMOKE_HIGH_Y] = {"high_y", "N"},
    [SMOKE_LOW_Z] = {"low_z", "N"},
    [SMOKE_HIGH_Z] = {"high_z", "N"},
    [SMOKE_FLOW_X] = {"flow_x", "N"},
    [SMOKE_FLOW_Y] = {"flow_y", "N"},
    [SMOKE_FLOW_Z] = {"flow_z", "N"},
    [SMOKE_FORCE_X] = {"force_x", "N"},
    [SMOKE_FORCE_Y] = {"force_y", "N"},
    [SMOKE_FORCE_Z] = {"force_z", "N"},
};

void matter_smoke_sums(const Matter *matter, MatterSums *sums)
{
    const MatterSmoke *m = smoke_of_const(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        SmokeSums own = smoke_sums(m->grids[i]);
        sums->kinetic += own.kinetic;
        for (u32 k = 0; k < 3; k++) {
            sums->momentum[k] += own.momentum[k];
        }
    }
}

void matter_smoke_stats(const Matter *matter, MatterStats *stats)
{
    const MatterSmoke *m = smoke_of_const(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        SmokeStats own = smoke_stats(m->grids[i]);
        stats->world.memory_bytes += own.memory_bytes;
        stats->awake += own.awake > 0;
    }
}

static i32 body_named(const Scene *scene, const char *name)
{
    for (u32 i = 0; i < scene->body_count; i++) {
        if (strcmp(scene->bodies[i].name, name) == 0) {
            return (i32)i;
        }
    }
    return -1;
}

i32 matter_smoke_find_probe(const Matter *matter, const SceneProbe *probe, const char **unit,
                            ErrorText *error)
{
    /* The numbers are only kept here, before anything is declared. */
    MatterSmoke *m = (MatterSmoke *)(uintptr_t)matter;
    const Scene *scene = smoke_scene(m);
    SmokeProbe own = {SMOKE_QUANTITIES, m->list.count, -1, probe->ray.origin};
    for (u32 q = 0; q < SMOKE_QUANTITIES; q++) {
        own.quantity = strcmp(quantities[q].name, probe->quantity) == 0 ? q : own.quantity;
    }
    if (own.quantity == SMOKE_QUANTITIES) {
        return error_set(error, ERROR_NOT_FOUND, "kind: smoke has no \"%s\"", probe->quantity);
    }
    for (u32 i = 0; i < m->list.count; i++) {
        own.grid = strcmp(scene->smokes[i].name, probe->of) == 0 ? i : own.grid;
    }
    if (own.quantity >= SMOKE_FORCE_X) {
        own.body = body_named(scene, probe->of);
        if (own.body < 0 && own.grid == m->list.count) {
            return error_set(error, ERROR_NOT_FOUND, "of: no body or smoke \"%s\"", probe->of);
        }
    } else if (own.grid == m->list.count) {
        return error_set(error, ERROR_NOT_FOUND, "of: no smoke \"%s\"", probe->of);
    }
    if (m->probe_count == SMOKE_PROBES_MAX) {
        return error_set(error, ERROR_LIMIT, "more than %u probes of smoke", (u32)SMOKE_PROBES_MAX);
    }
    *unit = quantities[own.quantity].unit;
    m->probes[m->probe_count] = own;
    return (i32)m->probe_count++;
}

/* N, of all air on a body in the last tick. */
static f64 force_on(const MatterSmoke *m, i32 body, u32 axis)
{
    const MatterRigid *bodies = world_matter_rigid(m->base.world);
    u32 slot = bodies->body_slots[body];
    f64 impulse = 0.0;
    for (u32 i = 0; i < m->list.count; i++) {
        u32 count;
        const SmokeDrag *drags = smoke_drags(m->grids[i], &count);
        for (u32 k = 0; k < count; k++) {
            if (drags[k].collider == 0 && drags[k].thing == slot) { /* bodies are the first kind */
                Vec3 j = drags[k].impulse;
                impulse += (f64)(axis == 0 ? j.x : axis == 1 ? j.y : j.z);
            }
        }
    }
    return impulse / (f64)world_tick_s(m->base.world);
}

/* N, in the last tick: on a closed side along its axis, on all of them, or by what flows out. */
static f64 force_of_air(const MatterSmoke *m, const SmokeProbe *own)
{
    SmokeTaken taken = smoke_taken(m->grids[own->grid]);
    f64 impulse = 0.0;
    if (own->quantity >= SMOKE_FORCE_X) {
        for (u32 s = 0; s < SMOKE_SIDES; s++) {
            impulse += taken.sides[s][own->quantity - SMOKE_FORCE_X];
        }
    } else if (own->quantity >= SMOKE_FLOW_X) {
        impulse = taken.flow[own->quantity - SMOKE_FLOW_X];
    } else {
        u32 side = own->quantity - SMOKE_LOW_X;
        impulse = taken.sides[side][side / 2];
    }
    return impulse / (f64)world_tick_s(m->base.world);
}

f64 matter_smoke_measure(const Matter *matter, u32 probe)
{
    const MatterSmoke *m = smoke_of_const(matter);
    const SmokeProbe *own = &m->probes[probe];
    if (own->quantity >= SMOKE_WIND_X && own->quantity <= SMOKE_WIND_Z) {
        Vec3 wind = smoke_velocity_at(m->grids[own->grid], own->place);
        u32 axis = own->quantity - SMOKE_WIND_X;
        return (f64)(axis == 0 ? wind.x : axis == 1 ? wind.y : wind.z);
    }
    if (own->quantity >= SMOKE_LOW_X && own->body < 0) {
        return force_of_air(m, own);
    }
    if (own->quantity >= SMOKE_FORCE_X) {
        return force_on(m, own->body, own->quantity - SMOKE_FORCE_X);
    }
    const Smoke *grid = m->grids[own->grid];
    SmokeStats stats = smoke_stats(grid);
    if (own->quantity == SMOKE_ITERATIONS) {
        return stats.iterations;
    }
    if (own->quantity == SMOKE_AWAKE) {
        return 100.0 * stats.awake / stats.bricks;
    }
    SmokeSums sums = smoke_sums(grid);
    const f64 values[] = {[SMOKE_MASS] = sums.smoke,
                          [SMOKE_FUEL_MASS] = sums.fuel,
                          [SMOKE_HEAT] = sums.heat,
                          [SMOKE_ENERGY] = sums.kinetic,
                          [SMOKE_DIVERGENCE] = sums.divergence,
                          [SMOKE_HEIGHT] = sums.smoke_height,
                          [SMOKE_SPEED] = sums.speed,
                          [SMOKE_MOMENTUM_X] = sums.momentum[0],
                          [SMOKE_MOMENTUM_Y] = sums.momentum[1],
                          [SMOKE_MOMENTUM_Z] = sums.momentum[2]};
    return values[own->quantity];
}

void matter_smoke_dump_entity(const Matter *matter, const Entity *entity, Dump *dump)
{
    const MatterSmoke *m = smoke_of_const(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        if (m->list.entities[i] != entity->id) {
            continue;
        }
        SmokeSums sums = smoke_sums(m->grids[i]);
        SmokeStats stats = smoke_stats(m->grids[i]);
        dump_text(dump, "kind", "smoke");
        dump_count(dump, "cells", stats.cells);
        dump_count(dump, "bricks", stats.bricks);
        dump_count(dump, "awake", stats.awake);
        dump_number(dump, "smoke", (f32)sums.smoke);
        dump_number(dump, "fuel", (f32)sums.fuel);
        dump_number(dump, "heat", (f32)sums.heat);
        dump_number(dump, "kinetic", (f32)sums.kinetic);
        dump_number(dump, "divergence", (f32)sums.divergence);
        dump_number(dump, "fastest", (f32)sums.speed);
    }
}
