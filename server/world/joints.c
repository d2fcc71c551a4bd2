/* joints.c: the joints of a scene in the solver, and what is told when one breaks. */
#include "server/world/world_state.h"

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

static BodyId body_id(const World *world, i32 body)
{
    BodyId none = {0, 0};
    return body < 0 ? none : rigid_at(world->rigid, world->body_slots[body]);
}

static JointDef joint_def(const World *world, const SceneJoint *joint)
{
    JointDef def = joint_def_default((JointKind)joint->kind);
    def.flags |= (joint->limited ? JOINT_LIMITS : 0u) | (joint->driven ? JOINT_DRIVE : 0u) |
                 (joint->sprung ? JOINT_SPRUNG : 0u) | (joint->collide ? JOINT_COLLIDES : 0u);
    def.a = body_id(world, joint->a);
    def.b = body_id(world, joint->b);
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

int world_add_joints(World *world)
{
    for (u32 i = 0; i < world->scene->joint_count; i++) {
        JointDef def = joint_def(world, &world->scene->joints[i]);
        world->joints[i] = rigid_joint_add(world->rigid, &def);
        if (world->joints[i].generation == 0) {
            return ERROR_LIMIT;
        }
    }
    return ERROR_OK;
}

void world_tell_breaks(World *world)
{
    u32 count;
    const JointBreak *breaks = rigid_joint_breaks(world->rigid, &count);
    for (u32 i = 0; i < count; i++) {
        Event *event = world_event(world, EVENT_BREAK);
        if (event == NULL) {
            return;
        }
        event->a = breaks[i].a < world->body_capacity ? world->slots[breaks[i].a].entity : 0;
        event->b = breaks[i].b < world->body_capacity ? world->slots[breaks[i].b].entity : 0;
        event->position = breaks[i].position;
        event->impulse = breaks[i].force;
        event->speed = breaks[i].torque;
    }
}
