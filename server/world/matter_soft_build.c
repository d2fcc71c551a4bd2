/* matter_soft_build.c: creates particles and entities of the scene's soft bodies. */
#include "server/world/matter_rigid.h"
#include "server/world/matter_soft.h"

#include <stdio.h>
#include <stdlib.h>

static SoftDef soft_def(const Scene *scene, const SceneSoft *soft)
{
    SoftDef def = soft_def_default();
    def.mesh = &scene->soft_meshes[soft->mesh];
#define MEMBER(type, name) def.name = soft->name;
#include "shared/rows/soft.def"
    return def;
}

int matter_soft_add_entity(MatterSoft *m, const SceneSoft *soft, u32 index)
{
    Entity entity = {.field = (u8)m->field,
                     .movable = 1,
                     .generation = world_generation(m->base.world),
                     .first = m->soft_bodies[index].first,
                     .count = m->soft_bodies[index].count,
                     .mass_kg = m->soft_bodies[index].mass_kg,
                     .appearance = soft->appearance};
    snprintf(entity.name, sizeof entity.name, "%s", soft->name);
    int result = world_add_entity(&m->base, &entity);
    m->entities[index] = entity.id;
    return result;
}

int matter_soft_add(MatterSoft *m, const SceneSoft *soft, SoftRange *range, ErrorText *error)
{
    const Scene *scene = world_scene(m->base.world);
    const MatterRigid *bodies = world_matter_rigid(m->base.world);
    SoftPin *pins = calloc(u32_max(soft->pin_count, 1), sizeof *pins);
    if (pins == NULL) {
        return ERROR_MEMORY;
    }
    for (u32 i = 0; i < soft->pin_count; i++) {
        const ScenePin *pin = &scene->pins[soft->first_pin + i];
        pins[i].point = pin->point;
        if (pin->body >= 0) {
            pins[i].body = rigid_at(bodies->rigid, bodies->body_slots[pin->body]);
        }
    }
    SoftDef def = soft_def(scene, soft);
    def.pins = pins;
    def.pin_count = soft->pin_count;
    ErrorText why = {0};
    RigidCollider pinned = {.rigid = bodies->rigid};
    Collider holder = rigid_collider(&pinned);
    int result = soft_add(m->soft, &holder, &def, range, &why);
    free(pins);
    if (result != ERROR_OK) {
        return error_set(error, result, "%s: %s", soft->name, why.text);
    }
    return ERROR_OK;
}
