/*
 * matter_rigid_joints.c: creates the joints of a scene in the solver, and reports when one breaks.
 */
#include "server/world/matter_rigid.h"

static BodyId body_id(const MatterRigid *m, i32 body)
{
    BodyId none = {0, 0};
    return body < 0 ? none : rigid_at(m->rigid, m->body_slots[body]);
}

static JointDef joint_def(const MatterRigid *m, const SceneJoint *joint)
{
    const JointDef usual = joint_def_default(joint->kind);
    JointDef def = usual;
    def.flags |= (joint->limited ? JOINT_LIMITS : 0u) | (joint->driven ? JOINT_DRIVE : 0u) |
                 (joint->sprung ? JOINT_SPRUNG : 0u) | (joint->collide ? JOINT_COLLIDES : 0u);
    def.a = body_id(m, joint->a);
    def.b = body_id(m, joint->b);
#define MEMBER(type, name) def.name = joint->name;
#include "shared/rows/joint.def"
    def.swing = joint->kind == JOINT_CONE_TWIST ? joint->swing : usual.swing;
    /* A motor may have force without torque, or torque without force; the solver requires both
     * above 0. */
    def.force_max = joint->driven ? f32_max(joint->force_max, 1e-6f) : usual.force_max;
    def.torque_max = joint->driven ? f32_max(joint->torque_max, 1e-6f) : usual.torque_max;
    return def;
}

int matter_rigid_add_joints(MatterRigid *m)
{
    const Scene *scene = rigid_scene(m);
    for (u32 i = 0; i < scene->joint_count; i++) {
        JointDef def = joint_def(m, &scene->joints[i]);
        m->joints[i] = rigid_joint_add(m->rigid, &def);
        if (m->joints[i].generation == 0) {
            return ERROR_LIMIT;
        }
    }
    return ERROR_OK;
}

void matter_rigid_report_breaks(const MatterRigid *m)
{
    u32 count;
    const JointBreak *breaks = rigid_joint_breaks(m->rigid, &count);
    for (u32 i = 0; i < count; i++) {
        Event *event = world_event(m->base.world, EVENT_BREAK);
        if (event == NULL) {
            return;
        }
        event->a = breaks[i].a < m->capacity ? m->slots[breaks[i].a].entity : 0;
        event->b = breaks[i].b < m->capacity ? m->slots[breaks[i].b].entity : 0;
        event->position = breaks[i].position;
        event->impulse = breaks[i].force;
        event->speed = breaks[i].torque;
    }
}
