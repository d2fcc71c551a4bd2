/* matter_rigid_build.c: creates the bodies of a scene in the solver. */
#include "server/world/matter_rigid.h"

#include <stdio.h>

RigidDef rigid_def_of_scene(const Scene *scene, u32 body_capacity, f32 tick_s)
{
    return (RigidDef){.body_capacity = body_capacity,
                      .tick_s = tick_s,
                      .substeps = scene->substeps,
                      .gravity = scene->gravity,
                      .geometries = (const Geometry *const *)scene->geometries,
                      .geometry_count = scene->geometry_count,
                      .joint_capacity = scene->joint_count,
                      .method = scene->method,
                      .iterations = scene->iterations,
                      .pyramid_sides = scene->pyramid_sides,
                      .baumgarte = scene->baumgarte,
                      .no_sleep = !scene->sleep};
}

static BodyDef body_def(const SceneBody *body)
{
    BodyDef def = body_def_default();
#define MEMBER(type, name) def.name = body->name;
#include "shared/rows/body.def"
    return def;
}

int matter_rigid_add(MatterRigid *m, const SceneBody *body, const char *name, u32 owner, u32 *id)
{
    BodyDef def = body_def(body);
    BodyId made = rigid_add(m->rigid, &def);
    if (made.generation == 0) {
        return ERROR_LIMIT;
    }
    Entity entity = {.field = (u8)m->field,
                     .movable = body->motion == BODY_DYNAMIC,
                     .generation = (u16)made.generation,
                     .first = made.slot,
                     .count = 1,
                     .mass_kg = body->mass_kg,
                     .appearance = body->appearance};
    if (body->sensor) {
        entity.appearance.kind = APPEARANCE_NONE; /* invisible, cannot be grabbed */
        entity.movable = 0;
    }
    snprintf(entity.name, sizeof entity.name, "%s", name);
    int result = world_add_entity(&m->base, &entity);
    if (result != ERROR_OK) {
        rigid_remove(m->rigid, made);
        return result;
    }
    m->slots[made.slot].entity = entity.id;
    m->slots[made.slot].owner = owner;
    *id = entity.id;
    return ERROR_OK;
}

int matter_rigid_fill(Matter *matter, ErrorText *error)
{
    MatterRigid *m = rigid_of(matter);
    const Scene *scene = rigid_scene(m);
    (void)error; /* the error code is sufficient */
    for (u32 i = 0; i < scene->body_count; i++) {
        SceneBody body = scene->bodies[i];
        u32 id;
        body.position = path_position(scene, i, 0);
        int result = matter_rigid_add(m, &body, body.name, 0, &id);
        if (result != ERROR_OK) {
            return result;
        }
        m->body_slots[i] = world_entity(matter->world, id)->first;
    }
    return matter_rigid_add_joints(m);
}

/* Overlapping bodies have quadratic cost, so their number is limited. */
int matter_rigid_check(Matter *matter, ErrorText *error)
{
    const MatterRigid *m = rigid_of(matter);
    const Scene *scene = rigid_scene(m);
    u32 slot, count = rigid_deepest_overlap(m->rigid, OVERLAP_BODIES_MAX, &slot);
    for (u32 i = 0; i < scene->body_count && count > 0; i++) {
        if (m->body_slots[i] == slot) {
            return error_set(error, ERROR_LIMIT,
                             "%s: %u bodies are in the same place as bodies[%u] '%s': at most %d",
                             scene->name, count, i, scene->bodies[i].name, OVERLAP_BODIES_MAX);
        }
    }
    return ERROR_OK;
}
