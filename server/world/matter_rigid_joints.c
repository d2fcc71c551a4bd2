/* matter_rigid_joints.c: the joints of a scene in the solver, and what is told when one breaks. */
#include "server/world/matter_rigid.h"

PL_STATIC_ASSERT((int)SCENE_JOINT_BALL == (int)JOINT_BALL &&
                     (int)SCENE_JOINT_HINGE == (int)JOINT_HINGE &&
                     (int)SCENE_JOINT_SLIDER == (int)JOINT_SLIDER &&
                     (int)SCENE_JOINT_FIXED == (int)JOINT_FIXED &&
                     (int)SCENE_JOINT_DISTANCE == (int)JOINT_DISTANCE &&
                     (int)SCENE_JOINT_CONE_TWIST == (int)JOINT_CONE_TWIST &&
                     (int)SCENE_JOINT_UNIVERSAL == (int)JOINT_UNIVERSAL &&
                     (int)SCENE_JOINT_MOTOR == (int)JOINT_MOTOR &&
                     (int)SCENE_JOINT_SPRING == (int)JOINT_SPRING &&
                     (int)SCENE_JOINT_KIND_COUNT == (int)JOINT_KIND_COUNT,
                 "kinds of joints are numbered alike");

static BodyId body_id(const MatterRigid *m, i32 body)
{
    BodyId none = {0, 0};
    return body < 0 ? none : rigid_at(m->rigid, m->body_slots[body]);
}

static JointDef joint_def(const MatterRigid *m, const SceneJoint *joint)
{
    JointDef def = joint_def_default((JointKind)joint->kind);
    def.flags |= (joint->limited ? JOINT_LIMITS : 0u) | (joint->driven ? JOINT_DRIVE : 0u) |
                 (joint->sprung ? JOINT_SPRUNG : 0u) | (joint->collide ? JOINT_COLLIDES : 0u);
    def.a = body_id(m, joint->a);
    def.b = body_id(m, joint->b);
    def.anchor_a = joint->anchor_a;
    def.anchor_b = joint->anchor_b;
    def.frame_a = joint->frame_a;
    def.frame_b = joint->frame_b;
    def.lower = joint->lower;
    def.upper = joint->upper;
    if (joint->kind == SCENE_JOINT_CONE_TWIST) {
        def.swing = joint->swing;
    }
    def.speed = joint->speed;
    /* A motor may push and not turn, or turn and not push; the solver wants both above nothing. */
    if (joint->driven) {
        def.force_max = f32_max(joint->force, 1e-6f);
        def.torque_max = f32_max(joint->torque, 1e-6f);
    }
    def.rest = joint->rest;
    def.frequency = joint->frequency;
    def.damping = joint->damping;
    def.break_force = joint->break_force;
    def.break_torque = joint->break_torque;
    def.motor_velocity = joint->motor_velocity;
    def.motor_spin = joint->motor_spin;
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
