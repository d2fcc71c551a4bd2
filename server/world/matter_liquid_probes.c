/* matter_liquid_probes.c: measurements of liquids and grains, and their records of a dump. */
#include "server/world/dump.h"
#include "server/world/matter_liquid.h"

#include <math.h>
#include <string.h>

enum {
    COLUMNS = 32 /* a side of the grid over which the level is measured */
};
/* The grid covers the middle of a liquid, up to this many standard deviations, without splashes. */
static const f64 level_deviations = 2.5;

void matter_liquid_sums(const Matter *matter, MatterSums *sums)
{
    const MatterLiquid *m = liquid_of_const(matter);
    if (m->liquid == NULL) {
        return;
    }
    LiquidSums own = liquid_sums(m->liquid, world_vector(matter->world, WORLD_GRAVITY));
    sums->kinetic += own.kinetic;
    sums->potential += own.potential;
    for (u32 k = 0; k < 3; k++) {
        sums->momentum[k] += own.momentum[k];
    }
}

void matter_liquid_stats(const Matter *matter, MatterStats *stats)
{
    const MatterLiquid *m = liquid_of_const(matter);
    if (m->liquid == NULL) {
        return;
    }
    LiquidStats own = liquid_stats(m->liquid);
    stats->world.particles += own.particles;
    stats->world.memory_bytes += own.memory_bytes;
    stats->awake += liquid_awake(m->liquid) ? liquid_phases(m->liquid) : 0;
}

/* Sums over the live particles of a phase. */
typedef struct PhaseSums {
    u32 count;
    Vec3 min, max;        /* m */
    f64 at[3], square[3]; /* Σ x, Σ x² */
    f64 velocity[3], speed, fastest;
} PhaseSums;

static PhaseSums phase_sums(const Liquid *liquid, u32 phase)
{
    const Vec3 *positions = liquid_positions(liquid), *velocities = liquid_velocities(liquid);
    const u16 *generations = liquid_generations(liquid);
    PhaseSums sums = {.count = 0};
    for (u32 i = liquid_first(liquid, phase); i < liquid_first(liquid, phase + 1); i++) {
        if (generations[i] == 0) {
            continue;
        }
        Vec3 x = positions[i], v = velocities[i];
        const f64 at[3] = {(f64)x.x, (f64)x.y, (f64)x.z}, by[3] = {(f64)v.x, (f64)v.y, (f64)v.z};
        for (u32 k = 0; k < 3; k++) {
            sums.at[k] += at[k];
            sums.square[k] += at[k] * at[k];
            sums.velocity[k] += by[k];
        }
        f64 speed = (f64)vec3_length(v);
        sums.speed += speed;
        sums.fastest = speed > sums.fastest ? speed : sums.fastest;
        sums.min = sums.count == 0 ? x : vec3_min(sums.min, x);
        sums.max = sums.count == 0 ? x : vec3_max(sums.max, x);
        sums.count++;
    }
    return sums;
}

/* Columns over the middle of a phase. */
typedef struct Columns {
    f64 low[2], side[2]; /* m: along x and z, and of one column */
    u32 count[2];
    f32 top[COLUMNS * COLUMNS]; /* m, of the highest particle; −INFINITY: none */
} Columns;

static void columns_init(Columns *columns, const PhaseSums *sums, f64 spacing)
{
    for (u32 k = 0; k < 2; k++) {
        u32 axis = 2 * k;
        f64 mean = sums->at[axis] / sums->count;
        f64 variance = sums->square[axis] / sums->count - mean * mean;
        f64 half = level_deviations * sqrt(variance > 0.0 ? variance : 0.0) + spacing;
        f64 wanted = half / spacing; /* two spacings a column */
        columns->count[k] = wanted < COLUMNS ? (u32)wanted : COLUMNS;
        columns->low[k] = mean - half;
        columns->side[k] = 2.0 * half / columns->count[k];
    }
    for (u32 i = 0; i < COLUMNS * COLUMNS; i++) {
        columns->top[i] = -INFINITY;
    }
}

static f32 middle_of(f32 *values, u32 count)
{
    for (u32 gap = COLUMNS * COLUMNS / 2; gap > 0; gap /= 2) { /* Shell's sort */
        for (u32 i = gap; i < count; i++) {
            f32 value = values[i];
            u32 at = i;
            for (; at >= gap && values[at - gap] > value; at -= gap) {
                values[at] = values[at - gap];
            }
            values[at] = value;
        }
    }
    return values[count / 2];
}

static f64 level(const Liquid *liquid, u32 phase)
{
    PhaseSums sums = phase_sums(liquid, phase);
    if (sums.count == 0) {
        return 0.0;
    }
    Columns columns;
    columns_init(&columns, &sums, (f64)liquid_spacing(liquid));
    const Vec3 *positions = liquid_positions(liquid);
    const u16 *generations = liquid_generations(liquid);
    for (u32 i = liquid_first(liquid, phase); i < liquid_first(liquid, phase + 1); i++) {
        f64 x = ((f64)positions[i].x - columns.low[0]) / columns.side[0];
        f64 z = ((f64)positions[i].z - columns.low[1]) / columns.side[1];
        if (generations[i] != 0 && x >= 0.0 && z >= 0.0 && x < columns.count[0] &&
            z < columns.count[1]) {
            f32 *top = &columns.top[(u32)z * COLUMNS + (u32)x];
            *top = f32_max(*top, positions[i].y);
        }
    }
    u32 found = 0;
    for (u32 i = 0; i < COLUMNS * COLUMNS; i++) {
        if (columns.top[i] > -INFINITY) {
            columns.top[found++] = columns.top[i];
        }
    }
    return found == 0 ? (f64)sums.max.y
                      : (f64)middle_of(columns.top, found) + 0.5 * (f64)liquid_spacing(liquid);
}

static f64 measure_phase(const Liquid *liquid, u32 phase, ProbeKind kind)
{
    u32 count = liquid_count(liquid, phase);
    f64 spacing = (f64)liquid_spacing(liquid);
    if (kind == PROBE_PARTICLES || count == 0) {
        return count;
    }
    PhaseSums sums;
    switch (kind) {
    case PROBE_VOLUME:
        return count * spacing * spacing * spacing;
    case PROBE_LEVEL:
        return level(liquid, phase);
    default:
        sums = phase_sums(liquid, phase);
        return (kind == PROBE_SPEED ? sums.speed : sums.at[1]) / count;
    }
}

bool matter_liquid_measure(const Matter *matter, const SceneProbe *probe, f64 *value)
{
    const MatterLiquid *m = liquid_of_const(matter);
    if (m->liquid == NULL) {
        return false;
    }
    if (probe->kind == PROBE_DENSITY_ERROR || probe->kind == PROBE_DENSITY_ERROR_MAX) {
        LiquidStats stats = liquid_stats(m->liquid);
        *value = 100.0 * (f64)(probe->kind == PROBE_DENSITY_ERROR ? stats.density_error
                                                                  : stats.density_error_max);
        return true;
    }
    if (probe->liquid < 0) {
        return false;
    }
    *value = measure_phase(m->liquid, (u32)probe->liquid, probe->kind);
    return true;
}

void matter_liquid_dump_entity(const Matter *matter, const Entity *entity, Dump *dump)
{
    const MatterLiquid *m = liquid_of_const(matter);
    const Scene *scene = liquid_scene(m);
    for (u32 i = 0; i < scene->liquid_count; i++) {
        if (m->entities[i] != entity->id) {
            continue;
        }
        PhaseSums sums = phase_sums(m->liquid, i);
        f64 over = sums.count > 0 ? 1.0 / sums.count : 0.0;
        dump_text(dump, "kind", scene->liquids[i].grains ? "grains" : "liquid");
        dump_count(dump, "particles", sums.count);
        dump_count(dump, "capacity", scene->liquids[i].capacity);
        dump_flag(dump, "awake", liquid_awake(m->liquid));
        dump_vec3(
            dump, "centre",
            vec3((f32)(sums.at[0] * over), (f32)(sums.at[1] * over), (f32)(sums.at[2] * over)));
        dump_vec3(dump, "min", sums.min);
        dump_vec3(dump, "max", sums.max);
        dump_vec3(dump, "velocity",
                  vec3((f32)(sums.velocity[0] * over), (f32)(sums.velocity[1] * over),
                       (f32)(sums.velocity[2] * over)));
        dump_number(dump, "fastest", (f32)sums.fastest);
    }
}
