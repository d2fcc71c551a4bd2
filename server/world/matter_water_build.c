/* matter_water_build.c: water of a scene: its levels, springs, rain and spray; measurements. */
#include "server/world/dump.h"
#include "server/world/matter_water.h"

#include "shared/math/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- levels ---- */

static void fill_levels(MatterWater *m, u32 index)
{
    const Scene *scene = water_scene(m);
    const SceneWater *water = &scene->waters[index];
    for (u32 c = 0; c < water->cells[0] * water->cells[1]; c++) {
        u32 i = c % water->cells[0], k = c / water->cells[0];
        f32 x = water->position.x + ((f32)i + 0.5f) * water->cell_m - 0.5f * water->width;
        f32 z = water->position.z + ((f32)k + 0.5f) * water->cell_m - 0.5f * water->length;
        f32 level = water->dry ? -HEIGHTS_LEVEL_MAX_M : 0.0f;
        for (u32 b = 0; b < water->basin_count; b++) {
            const SceneBasin *basin = &scene->basins[water->first_basin + b];
            if (fabsf(x - basin->position.x) <= 0.5f * basin->size.x &&
                fabsf(z - basin->position.z) <= 0.5f * basin->size.z) {
                level = basin->level;
            }
        }
        pool_set_level(m->pools[index], i, k, level, water->velocity.x, water->velocity.z);
    }
}

static int add_entity(MatterWater *m, u32 index)
{
    const SceneWater *water = &water_scene(m)->waters[index];
    GridThing thing = {water->name, water->cells[0] * water->cells[1], water->density,
                       water->appearance};
    return grid_list_add(&m->base, &m->list, index, &thing);
}

int matter_water_fill(Matter *matter, ErrorText *error)
{
    MatterWater *m = water_of(matter);
    int result = ERROR_OK;
    matter_water_find_dams(m);
    for (u32 i = 0; i < m->list.count && result == ERROR_OK; i++) {
        result = matter_water_lay_bed(m, i, error);
        if (result == ERROR_OK) {
            fill_levels(m, i);
            result = add_entity(m, i);
        }
    }
    return result;
}

/* ---- springs and rain ---- */

enum {
    DROPS_MAX = 4096 /* in a tick; if more fall, these bring their water */
};

/* Depth of the hole that a drop makes; rise of a cell to which rain brings water: far less would be
 * lost to rounding. */
static const f32 drop_cells = 0.25f, rise_cells = 0.02f;

/* How many of a thing of which there are so many in a tick come in this one. */
static f64 coming(const MatterWater *m, f64 in_a_tick)
{
    return floor(in_a_tick * (f64)(m->ticks + 1)) - floor(in_a_tick * (f64)m->ticks);
}

static void rain(MatterWater *m, u32 index, f32 factor)
{
    const SceneWater *water = &water_scene(m)->waters[index];
    u64 seed = water_scene(m)->seed + 77u * index;
    f64 cell = (f64)water->cell_m, tick_s = (f64)world_tick_s(m->base.world);
    f64 wet = (f64)factor * (f64)water->width * (f64)water->length * tick_s;
    u32 drops = (u32)fmin(coming(m, (f64)water->rain * wet), DROPS_MAX);
    f64 due = coming(m, (f64)water->rainfall * wet / ((f64)rise_cells * cell * cell * cell));
    u32 rises = (u32)fmin(due, DROPS_MAX);
    f32 rise = rises > 0 ? (f32)((f64)rise_cells * cell * due / rises) : 0.0f;
    f32 owed = 0.0f; /* where waves were too high */
    for (u32 n = 0; n < u32_max(drops, rises); n++, m->drops++) {
        owed += n < rises ? rise : 0.0f;
        f32 x = random_range(seed, 3 * m->drops + 1, 0.0f, (f32)water->cells[0]);
        f32 z = random_range(seed, 3 * m->drops + 2, 0.0f, (f32)water->cells[1]);
        owed -= pool_drop(m->pools[index], u32_min((u32)x, water->cells[0] - 1),
                          u32_min((u32)z, water->cells[1] - 1),
                          n < drops ? drop_cells * water->cell_m : 0.0f, owed);
    }
}

static void find_carried(MatterWater *m)
{
    const Scene *scene = water_scene(m);
    if (carried_begin(&m->carried, m->base.world)) {
        for (u32 s = 0; s < scene->spring_count; s++) {
            if (scene->springs[s].of[0] != '\0') {
                carried_add(&m->carried, m->base.world, s, scene->springs[s].of);
            }
        }
    }
}

static void pour(MatterWater *m, u32 index, u32 number, f64 volume)
{
    const SceneSpring *spring = &water_scene(m)->springs[number];
    if (spring->of[0] == '\0') {
        pool_pour(m->pools[index], spring->position, spring->radius, volume);
        return;
    }
    for (u32 c = 0; c < m->carried.count; c++) {
        if (m->carried.items[c].source == number) {
            Vec3 at = carried_place(m->base.world, m->carried.items[c].slot, spring->position);
            pool_pour(m->pools[index], at, spring->radius, volume);
        }
    }
}

void matter_water_flow(MatterWater *m)
{
    find_carried(m);
    const Scene *scene = water_scene(m);
    f64 tick_s = (f64)world_tick_s(m->base.world), now = (f64)m->ticks * tick_s;
    f32 rate = world_value(m->base.world, m->parameters[PARAMETER_SPRINGS])[0];
    f32 wet = world_value(m->base.world, m->parameters[PARAMETER_RAIN])[0];
    for (u32 i = 0; i < m->list.count; i++) {
        const SceneWater *water = &scene->waters[i];
        for (u32 s = 0; s < water->spring_count; s++) {
            const SceneSpring *spring = &scene->springs[water->first_spring + s];
            f64 volume = (f64)spring->rate * (f64)rate * tick_s;
            if (source_runs(spring->start_s, spring->stop_s, now)) {
                pour(m, i, water->first_spring + s, volume);
            }
        }
        if (water->rain + water->rainfall > 0.0f && wet > 0.0f) {
            rain(m, i, wet);
        }
    }
}

/* ---- spray ---- */

void matter_water_find_sprays(MatterWater *m)
{
    const Scene *scene = water_scene(m);
    for (u32 w = 0; w < m->list.count; w++) {
        i32 spray = scene->waters[w].spray;
        for (u32 k = 0; spray >= 0 && k < m->base.index; k++) {
            Matter *other = world_matter_at(m->base.world, k);
            if (other->ops->find_parcels == NULL) {
                continue;
            }
            i32 found = other->ops->find_parcels(other, scene->liquids[spray].name);
            if (found >= 0) {
                MatterParcel parcel = other->ops->parcel(other, found);
                m->sprays[w] = (WaterSpray){other, found};
                pool_set_parcels(m->pools[w], parcel.size_m, parcel.mass_kg);
            }
        }
    }
}

static bool give(void *context, const PoolParcel *parcel)
{
    const WaterSpray *spray = context;
    return spray->of->ops->add_parcel(spray->of, spray->parcels, parcel->position,
                                      parcel->velocity);
}

static bool take_back(void *context, Vec3 position, Vec3 velocity)
{
    return pool_catch(context, &(PoolParcel){position, velocity});
}

void matter_water_exchange(MatterWater *m)
{
    for (u32 w = 0; w < m->list.count; w++) {
        WaterSpray *spray = &m->sprays[w];
        if (spray->of != NULL) {
            spray->of->ops->offer_parcels(spray->of, spray->parcels, take_back, m->pools[w]);
            pool_shed(m->pools[w], &(PoolTaker){give, spray});
        }
    }
}

/* ---- measurements ---- */

static void declare_probe(MatterWater *m, WaterProbe kind, u32 of, const char *name,
                          const char *unit)
{
    if (m->probe_count < PROBES_MAX) {
        m->probes[m->probe_count++] = (OwnWaterProbe){kind, of};
        world_add_probe(&m->base, name, unit);
    }
}

void matter_water_declare_probes(MatterWater *m)
{
    const Scene *scene = water_scene(m);
    char name[NAME_BYTES_MAX];
    for (u32 i = 0; i < m->list.count; i++) {
        snprintf(name, sizeof name, "%.38s volume", scene->waters[i].name);
        declare_probe(m, WATER_PROBE_VOLUME, i, name, "m^3");
        snprintf(name, sizeof name, "%.38s energy", scene->waters[i].name);
        declare_probe(m, WATER_PROBE_ENERGY, i, name, "J");
    }
    for (u32 i = 0; i < m->list.count; i++) {
        for (u32 n = 0; n < scene->waters[i].gauge_count; n++) {
            u32 gauge = scene->waters[i].first_gauge + n;
            declare_probe(m, WATER_PROBE_GAUGE, gauge, scene->gauges[gauge].name, "m");
        }
    }
}

static f32 gravity_of(const Matter *matter)
{
    return f32_max(-world_vector(matter->world, WORLD_GRAVITY).y, 0.0f);
}

static f64 level_of_gauge(const MatterWater *m, u32 gauge)
{
    const Scene *scene = water_scene(m);
    u32 w = 0, i, k;
    while (gauge >= scene->waters[w].first_gauge + scene->waters[w].gauge_count) {
        w++;
    }
    return pool_cell(m->pools[w], scene->gauges[gauge].position, &i, &k)
               ? (f64)scene->waters[w].position.y + (f64)pool_level(m->pools[w], i, k)
               : 0.0;
}

f64 matter_water_measure(const Matter *matter, u32 probe)
{
    const MatterWater *m = water_of_const(matter);
    OwnWaterProbe own = m->probes[probe];
    if (own.kind == WATER_PROBE_GAUGE) {
        return level_of_gauge(m, own.of);
    }
    if (own.kind >= WATER_PROBE_LOW_X) {
        return matter_water_force(m, own);
    }
    PoolSums sums = pool_sums(m->pools[own.of], gravity_of(matter));
    return own.kind == WATER_PROBE_VOLUME ? sums.volume : sums.kinetic + sums.potential;
}

void matter_water_sums(const Matter *matter, MatterSums *sums)
{
    const MatterWater *m = water_of_const(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        PoolSums own = pool_sums(m->pools[i], gravity_of(matter));
        sums->kinetic += own.kinetic;
        sums->potential += own.potential;
        for (u32 k = 0; k < 3; k++) {
            sums->momentum[k] += own.momentum[k];
        }
    }
}

void matter_water_stats(const Matter *matter, MatterStats *stats)
{
    const MatterWater *m = water_of_const(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        stats->awake += pool_stats(m->pools[i]).awake;
    }
}

void matter_water_dump_entity(const Matter *matter, const Entity *entity, Dump *dump)
{
    const MatterWater *m = water_of_const(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        if (m->list.entities[i] != entity->id) {
            continue;
        }
        PoolSums sums = pool_sums(m->pools[i], gravity_of(matter));
        PoolStats stats = pool_stats(m->pools[i]);
        dump_text(dump, "method", water_method_names[water_scene(m)->waters[i].method]);
        dump_number(dump, "volume_m3", (f32)sums.volume);
        dump_number(dump, "displaced_m3", (f32)sums.displaced);
        dump_count(dump, "bodies", stats.bodies);
        dump_count(dump, "shed", stats.shed);
        dump_count(dump, "caught", stats.caught);
        dump_number(dump, "slowed", stats.slowed);
        dump_flag(dump, "awake", stats.awake);
    }
}
