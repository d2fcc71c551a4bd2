/* matter_rigid_hands.c: user input to rigid bodies: grabs, pushes, spawning and removal. */
#include "server/world/matter_rigid.h"

#include <stdio.h>

static Vec3 body_point(const MatterRigid *m, u32 slot, Vec3 local)
{
    return vec3_add(rigid_position(m->rigid, slot),
                    quat_rotate(rigid_orientation(m->rigid, slot), local));
}

Vec3 matter_rigid_point(const Matter *matter, const Entity *entity, const Input *input)
{
    return body_point(rigid_of_const(matter), entity->first, input->local);
}

i32 matter_rigid_grab(Matter *matter, const Entity *entity, const Input *input)
{
    const MatterRigid *m = rigid_of(matter);
    const SceneHands *hands = &rigid_scene(m)->hands;
    RigidGrab constraint = {.body = rigid_at(m->rigid, entity->first),
                            .local = input->local,
                            .target = body_point(m, entity->first, input->local),
                            .frequency = hands->frequency,
                            .damping = hands->damping,
                            .force_max = hands->force_max,
                            .owner = input->user};
    return rigid_grab_add(m->rigid, &constraint);
}

void matter_rigid_drag(Matter *matter, u32 constraint, Vec3 target)
{
    const MatterRigid *m = rigid_of(matter);
    RigidGrab *held = rigid_grab(m->rigid, constraint);
    held->target = target;
    if (rigid_alive(m->rigid, held->body)) {
        rigid_wake(m->rigid, held->body.slot);
    }
}

void matter_rigid_release(Matter *matter, u32 constraint)
{
    rigid_grab_remove(rigid_of(matter)->rigid, constraint);
}

bool matter_rigid_holds(const Matter *matter, u32 constraint)
{
    return constraint < RIGID_GRABS_MAX &&
           rigid_grab(rigid_of_const(matter)->rigid, constraint)->live == 1;
}

void matter_rigid_push(Matter *matter, const Entity *entity, const Input *input, Vec3 impulse)
{
    const MatterRigid *m = rigid_of(matter);
    u32 slot = entity->first;
    rigid_wake(m->rigid, slot);
    Vec3 at = body_point(m, slot, input->local);
    rigid_impulse(m->rigid, slot, vec3_sub(at, rigid_centre(m->rigid, slot)), impulse);
}

u32 matter_rigid_spawned(const Matter *matter, u32 user)
{
    const MatterRigid *m = rigid_of_const(matter);
    u32 live = 0, slots = rigid_slots(m->rigid);
    for (u32 i = 0; i < slots; i++) {
        live += m->slots[i].entity != 0 && m->slots[i].owner == user;
    }
    return live;
}

int matter_rigid_spawn(Matter *matter, const ScenePrefab *prefab, const Input *input, u32 *entity)
{
    MatterRigid *m = rigid_of(matter);
    if (prefab->kind != PREFAB_BODY) {
        return ERROR_UNSUPPORTED;
    }
    SceneBody body = prefab->body;
    body.position = input->target;
    body.orientation = quat_normalize(input->rotation);
    body.velocity = input->vector;
    char name[NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%.30s #%u", prefab->name, world_next_entity(matter->world));
    return matter_rigid_add(m, &body, name, input->user, entity);
}

void matter_rigid_remove(Matter *matter, const Entity *entity)
{
    MatterRigid *m = rigid_of(matter);
    rigid_remove(m->rigid, rigid_at(m->rigid, entity->first));
    m->slots[entity->first] = (SlotInfo){0, 0};
}
