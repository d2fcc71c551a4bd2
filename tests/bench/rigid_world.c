/* rigid_world.c: see rigid_world.h. */
#include "tests/bench/rigid_world.h"

#include <stdio.h>
#include <stdlib.h>

bool setup_has_joints(void)
{
    return false;
}

Rigid *setup_rigid(const Setup *setup, bool sleeping)
{
    RigidDef def = {.body_capacity = setup->body_count,
                    .tick_s = SETUP_TICK_S,
                    .substeps = SETUP_SUBSTEPS,
                    .gravity = {0.0f, -SETUP_GRAVITY_M_S2, 0.0f},
                    .joint_capacity = setup->joint_count,
                    .no_sleep = !sleeping};
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
