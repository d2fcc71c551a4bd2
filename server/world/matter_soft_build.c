/* matter_soft_build.c: soft bodies of a scene become particles and entities. */
#include "server/world/matter_rigid.h"
#include "server/world/matter_soft.h"

#include <stdio.h>
#include <stdlib.h>

PL_STATIC_ASSERT((int)SCENE_SOFT_XPBD == (int)SOFT_XPBD &&
                     (int)SCENE_SOFT_XPBD_ITERATIONS == (int)SOFT_XPBD_ITERATIONS &&
                     (int)SCENE_SOFT_PBD == (int)SOFT_PBD &&
                     (int)SCENE_SOFT_EULER == (int)SOFT_EULER &&
                     (int)SCENE_SOFT_MIDPOINT == (int)SOFT_MIDPOINT &&
                     (int)SCENE_SOFT_VERLET == (int)SOFT_VERLET &&
                     (int)SCENE_SOFT_RELAX == (int)SOFT_RELAX &&
                     (int)SCENE_SOFT_METHOD_COUNT == (int)SOFT_METHOD_COUNT,
                 "methods are numbered alike");
PL_STATIC_ASSERT((int)SCENE_SOFT_BEND_NONE == (int)SOFT_BEND_NONE &&
                     (int)SCENE_SOFT_BEND_DISTANCE == (int)SOFT_BEND_DISTANCE &&
                     (int)SCENE_SOFT_BEND_DIHEDRAL == (int)SOFT_BEND_DIHEDRAL &&
                     (int)SCENE_SOFT_BEND_ISOMETRIC == (int)SOFT_BEND_ISOMETRIC &&
                     (int)SCENE_SOFT_VOLUME_GAUSS == (int)SOFT_VOLUME_GAUSS &&
                     (int)SCENE_SOFT_VOLUME_BOX == (int)SOFT_VOLUME_BOX &&
                     (int)SCENE_SOFT_VOLUME_ELLIPSOID == (int)SOFT_VOLUME_ELLIPSOID &&
                     (int)SCENE_SOFT_MATCH_NONE == (int)SOFT_MATCH_NONE &&
                     (int)SCENE_SOFT_MATCH_RIGID == (int)SOFT_MATCH_RIGID &&
                     (int)SCENE_SOFT_MATCH_LINEAR == (int)SOFT_MATCH_LINEAR &&
                     (int)SCENE_SOFT_MATCH_QUADRATIC == (int)SOFT_MATCH_QUADRATIC,
                 "ways to bend, to measure and to match are numbered alike");

static SoftDef soft_def(const Scene *scene, const SceneSoft *soft)
{
    SoftDef def = soft_def_default();
    def.mesh = &scene->soft_meshes[soft->mesh];
    def.position = soft->position;
    def.orientation = soft->orientation;
    def.velocity = soft->velocity;
    def.spin = soft->spin;
    def.mass_kg = soft->mass_kg;
    def.method = (SoftMethod)soft->method;
    def.iterations = soft->iterations;
    def.stiffness = soft->stiffness;
    def.stretch_compliance = soft->stretch_compliance;
    def.shear_compliance = soft->shear_compliance;
    def.bend = (SoftBend)soft->bend;
    def.bend_compliance = soft->bend_compliance;
    def.area_compliance = soft->area_compliance;
    def.volume_compliance = soft->volume_compliance;
    def.stretch_min = soft->stretch_min;
    def.stretch_max = soft->stretch_max;
    def.tethers = soft->tethers;
    def.young = soft->young;
    def.poisson = soft->poisson;
    def.pressure = soft->pressure;
    def.volume = (SoftVolume)soft->volume;
    def.inflate_s = soft->inflate_s;
    def.match = (SoftMatch)soft->match;
    def.match_stiffness = soft->match_stiffness;
    def.match_beta = soft->match_beta;
    def.yield = soft->yield;
    def.creep = soft->creep;
    def.plastic_max = soft->plastic_max;
    def.damping = soft->damping;
    def.smoothing = soft->smoothing;
    def.spring_damping = soft->spring_damping;
    def.thickness = soft->thickness;
    def.friction = soft->friction;
    def.static_friction = soft->static_friction;
    def.contact_stiffness = soft->contact_stiffness;
    def.rolling_resistance = soft->rolling_resistance;
    def.self_collision = soft->self_collision;
    def.group = soft->group;
    def.mask = soft->mask;
    return def;
}

static int add_entity(MatterSoft *m, const SceneSoft *soft, u32 index)
{
    Entity entity = {.field = (u8)m->field,
                     .movable = 1,
                     .generation = world_generation(m->base.world),
                     .first = m->softs[index].first,
                     .count = m->softs[index].count,
                     .mass_kg = m->softs[index].mass_kg,
                     .look = soft->look};
    snprintf(entity.name, sizeof entity.name, "%s", soft->name);
    int result = world_add_entity(&m->base, &entity);
    m->entities[index] = entity.id;
    return result;
}

static int add_soft(MatterSoft *m, u32 index, ErrorText *error)
{
    const Scene *scene = world_scene(m->base.world);
    const MatterRigid *bodies = world_matter_rigid(m->base.world);
    const SceneSoft *soft = &scene->softs[index];
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
    int result = soft_add(m->soft, bodies->rigid, &def, &m->softs[index], &why);
    free(pins);
    if (result != ERROR_OK) {
        return error_set(error, result, "%s: %s", soft->name, why.text);
    }
    return add_entity(m, soft, index);
}

int matter_soft_fill(Matter *matter, ErrorText *error)
{
    MatterSoft *m = soft_of(matter);
    const Scene *scene = world_scene(matter->world);
    int result = ERROR_OK;
    for (u32 i = 0; result == ERROR_OK && i < scene->soft_count; i++) {
        result = add_soft(m, i, error);
    }
    if (result == ERROR_OK) {
        soft_set_steps(m->soft, scene->soft_steps);
        result = soft_build(m->soft);
    }
    return result;
}
