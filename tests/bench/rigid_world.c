/* rigid_world.c: see rigid_world.h. */
#include "tests/bench/rigid_world.h"

#include "server/physics/rigid/joint/joint.h"

#include <stdio.h>
#include <stdlib.h>

/* A rotation that takes x to the unit axis. */
static Quat frame_along(Vec3 axis)
{
    Vec3 x = vec3(1.0f, 0.0f, 0.0f), rotation = vec3_cross(x, axis);
    f32 w = 1.0f + vec3_dot(x, axis);
    return w > 1e-6f ? quat_normalize((Quat){w, rotation.x, rotation.y, rotation.z})
                     : (Quat){0.0f, 0.0f, 1.0f, 0.0f};
}

/* Writes one side of the joint in its body's frame. */
static void joint_side(const Setup *setup, const Rigid *rigid, const SetupJoint *from, u32 body,
                       BodyId *id, Vec3 *anchor, Quat *frame)
{
    *id = (BodyId){0, 0};
    *anchor = from->anchor;
    *frame = from->kind == SETUP_HINGE ? frame_along(from->axis) : quat_identity();
    if (body != SETUP_WORLD) {
        const SetupBody *b = &setup->bodies[body];
        *id = rigid_at(rigid, body);
        *anchor = quat_rotate_inverse(b->orientation, vec3_sub(*anchor, b->position));
        *frame = quat_mul(quat_conjugate(b->orientation), *frame);
    }
}

static void add_joint(const Setup *setup, Rigid *rigid, const SetupJoint *from)
{
    JointDef def = joint_def_default(from->kind == SETUP_HINGE ? JOINT_HINGE : JOINT_BALL);
    joint_side(setup, rigid, from, from->a, &def.a, &def.anchor_a, &def.frame_a);
    joint_side(setup, rigid, from, from->b, &def.b, &def.anchor_b, &def.frame_b);
    if (from->kind == SETUP_HINGE) {
        def.flags |= JOINT_LIMITS;
        def.lower = from->lower;
        def.upper = from->upper;
    }
    if (rigid_joint_add(rigid, &def).generation == 0) {
        fprintf(stderr, "%s: a joint is refused\n", setup->name);
        exit(1);
    }
}

Rigid *setup_rigid(const Setup *setup, bool sleeping)
{
    RigidDef def = {.body_capacity = setup->body_count,
                    .tick_s = SETUP_TICK_S,
                    .substeps = SETUP_SUBSTEPS,
                    .gravity = {0.0f, -SETUP_GRAVITY_M_S2, 0.0f},
                    .joint_capacity = setup->joint_count,
                    .no_sleep = !sleeping,
                    .no_ccd = true}; /* as the table of peers has it */
    Rigid *rigid = rigid_create(&def);
    for (u32 i = 0; rigid && i < setup->body_count; i++) {
        const SetupBody *from = &setup->bodies[i];
        BodyDef body = body_def_default();
        body.shape = from->shape;
        body.motion = from->mass_kg > 0.0f ? BODY_DYNAMIC : BODY_STATIC;
        body.position = from->position;
        body.orientation = from->orientation;
        body.mass_kg = from->mass_kg;
        body.friction = SETUP_FRICTION;
        body.family = from->family;
        BodyId id = rigid_add(rigid, &body);
        if (id.generation == 0 || id.slot != i) {
            fprintf(stderr, "%s: body %u is refused\n", setup->name, i);
            exit(1);
        }
    }
    if (!rigid) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    for (u32 i = 0; i < setup->joint_count; i++) {
        add_joint(setup, rigid, &setup->joints[i]);
    }
    return rigid;
}

void setup_tick(Rigid *rigid, Jobs *jobs)
{
    rigid_collide(rigid, jobs);
    rigid_prepare(rigid);
    for (u32 i = 0; i < rigid_substeps(rigid); i++) {
        rigid_substep(rigid);
    }
    rigid_finish(rigid);
}
