/* matter_water_bed.c: the bed of water: the floor, static bodies over it, and dams, which move. */
#include "server/world/matter_water.h"

#include "server/physics/rigid/query/query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A dam that is this far from the bed below it (cells) is open. */
static const f32 open_cells = 0.25f;
/* The bed follows a dam in steps of this, m. */
static const f32 step_m = 1e-4f;

static const Entity *dam_of(const MatterWater *m, u32 dam)
{
    const Entity *entity = world_entity(m->base.world, m->dams[dam]);
    return entity != NULL && world_is_rigid(m->base.world, entity) ? entity : NULL;
}

void matter_water_find_dams(MatterWater *m)
{
    const Scene *scene = water_scene(m);
    for (u32 d = 0; m->list.count > 0 && d < scene->dam_count; d++) {
        m->dams[d] = 0;
        for (u32 id = 1; id < world_next_entity(m->base.world) && m->dams[d] == 0; id++) {
            const Entity *entity = world_entity(m->base.world, id);
            if (entity != NULL && world_is_rigid(m->base.world, entity) &&
                strcmp(entity->name, scene->bodies[scene->dams[d]].name) == 0) {
                m->dams[d] = id;
            }
        }
    }
}

/* ---- one cell ---- */

typedef struct BedFilter {
    const Rigid *rigid;
    u32 but;  /* slot to be ignored; UINT32_MAX: none */
    u32 only; /* slot of the only one to be considered; UINT32_MAX: static bodies */
} BedFilter;

static bool is_bed(void *context, BodyId body)
{
    const BedFilter *filter = context;
    if (filter->only != UINT32_MAX) {
        return body.slot == filter->only;
    }
    return body.slot != filter->but && rigid_motion(filter->rigid, body.slot) == BODY_STATIC;
}

/* m above the level, of the highest of these surfaces, at least the floor; `up` looks from below:
 * the lowest. */
static bool surface_of(const BedFilter *only, Vec3 from, f32 length, bool up, f32 *distance)
{
    BedFilter context = *only;
    QueryFilter filter = {.skip_sensors = true, .accept = is_bed, .context = &context};
    Ray ray = {from, vec3(0.0f, up ? 1.0f : -1.0f, 0.0f)};
    QueryHit hit;
    bool found = rigid_ray(only->rigid, ray, length, &filter, &hit);
    *distance = found ? hit.distance : length;
    return found;
}

/* The highest static surface below `top` at the centre of a cell, at least the floor, and dams that
 * stand on it. */
static f32 bed_at(const MatterWater *m, u32 index, u32 but, u32 i, u32 k)
{
    const SceneWater *water = &water_scene(m)->waters[index];
    BedFilter only = {world_rigid(m->base.world), but, UINT32_MAX};
    f32 x = ((f32)i + 0.5f) * water->cell_m - 0.5f * water->width, far;
    f32 z = ((f32)k + 0.5f) * water->cell_m - 0.5f * water->length;
    f32 length = water->top + water->depth_m, bed = -water->depth_m;
    Vec3 high = vec3_add(water->position, vec3(x, water->top, z));
    if (water->terrain && surface_of(&only, high, length, false, &far)) {
        bed = f32_max(water->top - far, -water->depth_m);
    }
    f32 base = bed;
    for (u32 d = water->first_dam; d < water->first_dam + water->dam_count; d++) {
        const Entity *entity = dam_of(m, d);
        if (entity == NULL || entity->first == but) {
            continue;
        }
        only.only = entity->first;
        f32 below, reach = open_cells * water->cell_m;
        Vec3 low = vec3_add(water->position, vec3(x, base - water->top, z));
        if (surface_of(&only, high, length, false, &far) &&
            surface_of(&only, low, water->top + length, true, &below) &&
            below - water->top <= reach) {
            bed = f32_max(bed, water->top - far);
        }
    }
    return bed;
}

/* ---- all cells ---- */

static int lay_bed(MatterWater *m, u32 index, u32 but, ErrorText *error)
{
    const SceneWater *water = &water_scene(m)->waters[index];
    if ((!water->terrain && water->dam_count == 0) || water->method == WATER_WAVE) {
        return ERROR_OK;
    }
    u32 cells = water->cells[0] * water->cells[1];
    f32 *bed = malloc((size_t)cells * sizeof *bed);
    if (bed == NULL) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory for its bed", water->name);
    }
    for (u32 c = 0; c < cells; c++) {
        bed[c] = bed_at(m, index, but, c % water->cells[0], c / water->cells[0]);
    }
    bool good = pool_set_bed(m->pools[index], bed);
    free(bed);
    return good ? ERROR_OK
                : error_set(error, ERROR_RANGE, "%s: its bed is out of range", water->name);
}

int matter_water_lay_bed(MatterWater *m, u32 index, ErrorText *error)
{
    return lay_bed(m, index, UINT32_MAX, error);
}

static bool is_dam(const MatterWater *m, u32 id)
{
    for (u32 d = 0; m->list.count > 0 && d < water_scene(m)->dam_count; d++) {
        if (m->dams[d] == id) {
            return true;
        }
    }
    return false;
}

void matter_water_find_bed(MatterWater *m, const Entity *but)
{
    if (rigid_motion(world_rigid(m->base.world), but->first) != BODY_STATIC &&
        !is_dam(m, but->id)) {
        return;
    }
    for (u32 i = 0; i < m->list.count; i++) {
        lay_bed(m, i, but->first, NULL);
    }
}

/* ---- dams ---- */

/* The cells that a dam covers, and covered a tick ago. */
static void move_dam(MatterWater *m, u32 index, u32 slot)
{
    const SceneWater *water = &water_scene(m)->waters[index];
    const Rigid *rigid = world_rigid(m->base.world);
    Bounds bounds = rigid_bounds(rigid, slot);
    f32 way =
        vec3_length(rigid_velocity(rigid, slot)) * world_tick_s(m->base.world) + water->cell_m;
    f32 low[2] = {bounds.min.x - water->position.x + 0.5f * water->width,
                  bounds.min.z - water->position.z + 0.5f * water->length};
    f32 high[2] = {bounds.max.x - water->position.x + 0.5f * water->width,
                   bounds.max.z - water->position.z + 0.5f * water->length};
    u32 first[2], end[2];
    bool moved = false;
    for (u32 n = 0; n < 2; n++) {
        f32 most = (f32)water->cells[n];
        first[n] = (u32)f32_clamp(floorf((low[n] - way) / water->cell_m), 0.0f, most);
        end[n] = (u32)f32_clamp(ceilf((high[n] + way) / water->cell_m), 0.0f, most);
    }
    for (u32 k = first[1]; k < end[1]; k++) {
        for (u32 i = first[0]; i < end[0]; i++) {
            f32 bed = bed_at(m, index, UINT32_MAX, i, k);
            if (fabsf(bed - pool_bed(m->pools[index], i, k)) > step_m) {
                pool_move_bed(m->pools[index], i, k, bed);
                moved = true;
            }
        }
    }
    if (moved) {
        pool_find_falls(m->pools[index]);
    }
}

void matter_water_move_dams(MatterWater *m)
{
    const Rigid *rigid = world_rigid(m->base.world);
    for (u32 w = 0; w < m->list.count; w++) {
        const SceneWater *water = &water_scene(m)->waters[w];
        for (u32 d = water->first_dam; d < water->first_dam + water->dam_count; d++) {
            const Entity *entity = dam_of(m, d);
            if (entity != NULL && rigid_motion(rigid, entity->first) != BODY_STATIC &&
                rigid_awake(rigid, entity->first)) {
                move_dam(m, w, entity->first);
            }
        }
    }
}
