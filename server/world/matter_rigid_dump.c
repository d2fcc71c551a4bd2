/* matter_rigid_dump.c: rigid bodies and joints as records of a dump. */
#include "server/world/dump.h"
#include "server/world/matter_rigid.h"

void matter_rigid_dump_entity(const Matter *matter, const Entity *entity, Dump *dump)
{
    const MatterRigid *m = rigid_of_const(matter);
    u32 slot = entity->first;
    Quat q = rigid_orientation(m->rigid, slot);
    const f32 rotation[4] = {q.x, q.y, q.z, q.w};
    dump_count(dump, "slot", slot);
    if (m->slots[slot].owner != 0) {
        dump_count(dump, "user", m->slots[slot].owner);
    }
    dump_text(dump, "motion", body_motion_names[rigid_motion(m->rigid, slot)]);
    dump_flag(dump, "awake", rigid_awake(m->rigid, slot));
    dump_number(dump, "mass", rigid_mass(m->rigid, slot));
    dump_vec3(dump, "position", rigid_position(m->rigid, slot));
    dump_numbers(dump, "rotation", rotation, 4);
    dump_vec3(dump, "velocity", rigid_velocity(m->rigid, slot));
    dump_vec3(dump, "angular_velocity", rigid_angular_velocity(m->rigid, slot));
}

/* The name of a joint in the scene, "" if it has none. */
static const char *joint_name(const MatterRigid *m, JointId id)
{
    const Scene *scene = rigid_scene(m);
    for (u32 i = 0; i < scene->joint_count; i++) {
        if (m->joints[i].slot == id.slot && m->joints[i].generation == id.generation) {
            return scene->joints[i].name;
        }
    }
    return "";
}

static u32 entity_of(const MatterRigid *m, BodyId body)
{
    return body.generation != 0 ? m->slots[body.slot].entity : 0;
}

void matter_rigid_dump(const Matter *matter, Dump *dump)
{
    const MatterRigid *m = rigid_of_const(matter);
    for (u32 slot = 0; slot < rigid_joint_slots(m->rigid); slot++) {
        JointId id = rigid_joint_at(m->rigid, slot);
        if (id.generation == 0) {
            continue;
        }
        const JointDef *def = rigid_joint_def(m->rigid, slot);
        dump_begin(dump, "joint");
        dump_count(dump, "slot", slot);
        dump_text(dump, "name", joint_name(m, id));
        dump_text(dump, "kind", joint_kind_names[def->kind]);
        dump_flag(dump, "enabled", (def->flags & JOINT_ENABLED) != 0);
        /* Ids of entities; 0: the world. */
        dump_count(dump, "a", entity_of(m, def->a));
        dump_count(dump, "b", entity_of(m, def->b));
        dump_number(dump, "value", rigid_joint_value(m->rigid, slot));
        dump_vec3(dump, "force", rigid_joint_force(m->rigid, slot));
        dump_vec3(dump, "torque", rigid_joint_torque(m->rigid, slot));
        dump_number(dump, "error", rigid_joint_error(m->rigid, slot));
        dump_end(dump);
    }
}
