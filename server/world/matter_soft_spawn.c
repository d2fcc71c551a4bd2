/*
 * matter_soft_spawn.c: soft bodies that users spawn. Each prefab has a number of spares, built with
 * the scene; to spawn is to place one, to remove it to take it away. So no tick builds constraints.
 */
#include "server/world/matter_soft.h"

#include <stdio.h>

enum {
    NEAR_MAX = 1024 /* bodies that the removal of one wakes */
};

static const f32 wake_margin_m = 0.02f;

u32 matter_soft_spare_count(const Scene *scene)
{
    u32 count = 0;
    for (u32 i = 0; i < scene->prefab_count; i++) {
        count += scene->prefabs[i].kind == PREFAB_SOFT ? scene->prefabs[i].spares : 0;
    }
    return count;
}

u64 matter_soft_spare_points(const Scene *scene)
{
    u64 points = 0;
    for (u32 i = 0; i < scene->prefab_count; i++) {
        const ScenePrefab *prefab = &scene->prefabs[i];
        if (prefab->kind == PREFAB_SOFT) {
            points += (u64)prefab->spares * scene->soft_meshes[prefab->soft.mesh].point_count;
        }
    }
    return points;
}

/* Ranges of spares follow those of the scene's soft bodies. */
static SoftRange *range_of(const MatterSoft *m, u32 spare)
{
    return &m->soft_bodies[world_scene(m->base.world)->soft_count + spare];
}

int matter_soft_add_spares(MatterSoft *m, ErrorText *error)
{
    const Scene *scene = world_scene(m->base.world);
    u32 spare = 0;
    for (u32 i = 0; i < scene->prefab_count; i++) {
        const ScenePrefab *prefab = &scene->prefabs[i];
        for (u32 k = 0; prefab->kind == PREFAB_SOFT && k < prefab->spares; k++, spare++) {
            int result = matter_soft_add(m, &prefab->soft, range_of(m, spare), error);
            if (result != ERROR_OK) {
                return result;
            }
            m->spares[spare] = (SoftSpare){0, 0, world_generation(m->base.world)};
        }
    }
    return ERROR_OK;
}

void matter_soft_remove_spares(MatterSoft *m)
{
    for (u32 i = 0; i < m->spare_count; i++) {
        soft_take_away(m->soft, range_of(m, i)->body);
    }
}

/* ---- hands ---- */

u32 matter_soft_spawned(const Matter *matter, u32 user)
{
    const MatterSoft *m = soft_of_const(matter);
    u32 live = 0;
    for (u32 i = 0; i < m->spare_count; i++) {
        live += m->spares[i].entity != 0 && m->spares[i].owner == user;
    }
    return live;
}

/* A free spare of a prefab; spare_count: none. */
static u32 free_spare(const MatterSoft *m, const ScenePrefab *prefab)
{
    const Scene *scene = world_scene(m->base.world);
    u32 first = 0;
    for (const ScenePrefab *before = scene->prefabs; before < prefab; before++) {
        first += before->kind == PREFAB_SOFT ? before->spares : 0;
    }
    for (u32 i = first; i < first + prefab->spares; i++) {
        if (m->spares[i].entity == 0) {
            return i;
        }
    }
    return m->spare_count;
}

int matter_soft_spawn(Matter *matter, const ScenePrefab *prefab, const Input *input, u32 *id)
{
    MatterSoft *m = soft_of(matter);
    if (prefab->kind != PREFAB_SOFT) {
        return ERROR_UNSUPPORTED;
    }
    u32 spare = free_spare(m, prefab);
    if (spare == m->spare_count) {
        return ERROR_LIMIT;
    }
    const SoftRange *range = range_of(m, spare);
    u32 generation = m->spares[spare].generation % 0xFFFF + 1;
    Entity entity = {.field = (u8)m->field,
                     .movable = 1,
                     .generation = (u16)generation,
                     .first = range->first,
                     .count = range->count,
                     .mass_kg = range->mass_kg,
                     .appearance = prefab->soft.appearance};
    snprintf(entity.name, sizeof entity.name, "%.30s #%u", prefab->name,
             world_next_entity(matter->world));
    int result = world_add_entity(matter, &entity);
    if (result != ERROR_OK) {
        return result;
    }
    Quat orientation = quat_mul(quat_normalize(input->rotation), prefab->soft.orientation);
    soft_place(m->soft, range->body, input->target, orientation, input->vector);
    m->spares[spare] = (SoftSpare){entity.id, input->user, generation};
    *id = entity.id;
    return ERROR_OK;
}

static u32 spare_of(const MatterSoft *m, const Entity *entity)
{
    u32 i = 0;
    while (i < m->spare_count && m->spares[i].entity != entity->id) {
        i++;
    }
    return i;
}

bool matter_soft_can_remove(const Matter *matter, const Entity *entity)
{
    const MatterSoft *m = soft_of_const(matter);
    return spare_of(m, entity) < m->spare_count;
}

/* Wakes bodies that may lie on a body before its removal. */
static void wake_around(const MatterSoft *m, const SoftRange *range, f32 thickness)
{
    u32 slots[NEAR_MAX];
    Rigid *rigid = world_rigid(m->base.world);
    Vec3 p = soft_position(m->soft, range->first);
    Bounds bounds = {p, p};
    for (u32 i = range->first; i < range->first + range->count; i++) {
        p = soft_position(m->soft, i);
        bounds = (Bounds){vec3_min(bounds.min, p), vec3_max(bounds.max, p)};
    }
    f32 margin = thickness + wake_margin_m;
    bounds.min = vec3_sub(bounds.min, vec3(margin, margin, margin));
    bounds.max = vec3_add(bounds.max, vec3(margin, margin, margin));
    u32 count = rigid_overlaps(rigid, bounds, slots, NEAR_MAX);
    for (u32 i = 0; i < count; i++) {
        if (rigid_motion(rigid, slots[i]) == BODY_DYNAMIC) {
            rigid_wake(rigid, slots[i]);
        }
    }
    soft_wake_within(m->soft, bounds);
}

void matter_soft_remove(Matter *matter, const Entity *entity)
{
    MatterSoft *m = soft_of(matter);
    u32 spare = spare_of(m, entity);
    wake_around(m, range_of(m, spare), entity->appearance.radius);
    soft_take_away(m->soft, range_of(m, spare)->body);
    m->spares[spare].entity = m->spares[spare].owner = 0;
}

void matter_soft_report(Matter *matter)
{
    const MatterSoft *m = soft_of(matter);
    Bounds bounds = world_scene(matter->world)->bounds;
    for (u32 i = 0; i < m->spare_count; i++) {
        const SoftRange *range = range_of(m, i);
        if (m->spares[i].entity == 0) {
            continue;
        }
        Vec3 p = vec3_zero();
        for (u32 k = range->first; k < range->first + range->count; k++) {
            p = vec3_add_scaled(p, 1.0f / (f32)range->count, soft_position(m->soft, k));
        }
        if (!(p.x >= bounds.min.x && p.y >= bounds.min.y && p.z >= bounds.min.z &&
              p.x <= bounds.max.x && p.y <= bounds.max.y && p.z <= bounds.max.z)) {
            world_remove_entity(matter->world, m->spares[i].entity);
        }
    }
}

/* ---- after a load ---- */

bool matter_soft_owns_spare(const MatterSoft *m, const Entity *entity)
{
    u32 spare = spare_of(m, entity);
    return spare < m->spare_count && entity->first == range_of(m, spare)->first &&
           entity->count == range_of(m, spare)->count &&
           entity->generation == m->spares[spare].generation;
}

bool matter_soft_count_spares(const MatterSoft *m, u32 *live)
{
    *live = 0;
    for (u32 i = 0; i < m->spare_count; i++) {
        const SoftSpare *spare = &m->spares[i];
        bool present = !soft_is_absent(m->soft, range_of(m, i)->body);
        if (present != (spare->entity != 0) || spare->generation == 0 ||
            spare->generation > 0xFFFF) {
            return false;
        }
        *live += present;
    }
    return true;
}
