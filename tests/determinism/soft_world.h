/* soft_world.h: a world of soft bodies with every kind of constraint, every method, gases, shape
 * matching, self-collision, contact with rigid bodies, wind and a grab. */
#ifndef PLENUM_TESTS_DETERMINISM_SOFT_WORLD_H
#define PLENUM_TESTS_DETERMINISM_SOFT_WORLD_H

#include "server/physics/rigid/collider.h"
#include "server/physics/soft/soft.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SOFT_WORLD_SUBSTEPS = 4,
};

#define SOFT_WORLD_TICK_S (1.0f / 60.0f)

typedef struct SoftWorld {
    Rigid *rigid;
    Soft *soft;
    RigidCollider bodies;
} SoftWorld;

static inline void soft_world_need(bool good, const char *text)
{
    if (!good) {
        fprintf(stderr, "%s\n", text);
        exit(1);
    }
}

static inline SoftRange soft_world_add(SoftWorld *world, SoftDef *def, SoftMesh *mesh)
{
    SoftRange range;
    ErrorText error;
    def->mesh = mesh;
    world->bodies.rigid = world->rigid;
    Collider bodies = rigid_collider(&world->bodies);
    soft_world_need(soft_add(world->soft, &bodies, def, &range, &error) == 0, error.text);
    soft_mesh_finish(mesh);
    return range;
}

static inline BodyId soft_world_rigid(SoftWorld *world, ShapeKind kind, Vec3 at, BodyMotion motion)
{
    BodyDef def = body_def_default();
    def.shape.kind = kind;
    def.shape.radius = 0.4f;
    def.shape.half = vec3(0.5f, 0.3f, 0.5f);
    def.motion = motion;
    def.position = at;
    return rigid_add(world->rigid, &def);
}

/* A cloth of each bending model; the first is cut into slabs. */
static inline void soft_world_cloths(SoftWorld *world, BodyId box)
{
    static const SoftBend bends[] = {SOFT_BEND_DISTANCE, SOFT_BEND_DIHEDRAL, SOFT_BEND_ISOMETRIC};
    for (u32 i = 0; i < PL_COUNT(bends); i++) {
        u32 side = i == 0 ? 48 : 16;
        SoftDef def = soft_def_default();
        SoftMesh mesh;
        ErrorText error;
        SoftPin pins[3] = {{.point = 0}, {.point = side - 1}, {.point = side * side - 1}};
        pins[2].body = box;
        soft_world_need(soft_mesh_grid(&mesh, side, side, 1.5f, 1.5f, &error) == 0, error.text);
        def.position = vec3(-2.0f + 2.0f * (f32)i, 1.2f, -1.0f);
        def.orientation = quat_normalize((Quat){1.0f, 0.9f, 0.1f, 0.0f});
        def.mass_kg = 0.4f;
        def.bend = bends[i];
        def.bend_compliance = i == 0 ? 1e-2f : 10.0f;
        def.area_compliance = i == 2 ? 1e-6f : -1.0f;
        def.stretch_min = i == 1 ? 0.9f : 0.0f;
        def.stretch_max = i == 1 ? 1.1f : 0.0f;
        def.tethers = i == 1;
        def.smoothing = i == 0 ? 2.0f : 0.0f;
        def.self_collision = i == 2;
        def.pins = pins;
        def.pin_count = i == 0 ? 2 : i == 1 ? 3 : 0;
        soft_world_add(world, &def, &mesh);
    }
}

static inline void soft_world_blocks(SoftWorld *world)
{
    static const u32 cells[3] = {4, 3, 3};
    for (u32 i = 0; i < 6; i++) {
        SoftDef def = soft_def_default();
        SoftMesh mesh;
        ErrorText error;
        soft_world_need(soft_mesh_box(&mesh, vec3(0.4f, 0.3f, 0.3f), cells, true, &error) == 0,
                        error.text);
        def.position = vec3(-2.0f + 0.8f * (f32)i, 0.5f, 1.0f);
        def.angular_velocity = vec3(1.0f, 2.0f, (f32)i);
        def.mass_kg = 20.0f;
        def.bend = SOFT_BEND_NONE;
        def.stretch_compliance = i == 1 ? 1e-5f : -1.0f;
        def.volume_compliance = i == 1 ? 1e-9f : -1.0f;
        def.young = i == 0 ? 3e4f : 0.0f;
        def.poisson = 0.45f;
        def.match = i >= 2 ? (SoftMatch)(i - 1 < 3 ? i - 1 : 3) : SOFT_MATCH_NONE;
        def.match_stiffness = 0.8f;
        def.match_beta = 0.6f;
        def.yield = i == 5 ? 0.02f : 0.0f;
        def.creep = 5.0f;
        def.plastic_max = 0.5f;
        soft_world_add(world, &def, &mesh);
    }
}

static inline void soft_world_balls(SoftWorld *world)
{
    for (u32 i = 0; i < 3; i++) {
        SoftDef def = soft_def_default();
        SoftMesh mesh;
        ErrorText error;
        soft_world_need(soft_mesh_sphere(&mesh, 0.25f, 2, &error) == 0, error.text);
        def.position = vec3(-1.0f + (f32)i, 1.0f, 2.0f);
        def.mass_kg = 0.5f;
        def.stretch_compliance = 1e-4f;
        def.pressure = 500.0f;
        def.volume = (SoftVolume)i;
        def.inflate_s = 0.2f;
        soft_world_add(world, &def, &mesh);
    }
}

/* A rope of each method, free at both ends, over the boxes. */
static inline void soft_world_ropes(SoftWorld *world)
{
    for (u32 i = 0; i < SOFT_METHOD_COUNT; i++) {
        SoftDef def = soft_def_default();
        SoftMesh mesh;
        ErrorText error;
        SoftPin pin = {.point = 0};
        soft_world_need(soft_mesh_rope(&mesh, 20, 1.0f, &error) == 0, error.text);
        def.position = vec3(-2.0f, 1.5f, 3.0f + 0.2f * (f32)i);
        def.mass_kg = 0.5f;
        def.method = (SoftMethod)i;
        def.stretch_compliance = 1e-4f;
        def.spring_damping = 1e-3f;
        def.pins = &pin;
        def.pin_count = 1;
        soft_world_add(world, &def, &mesh);
    }
}

static inline SoftWorld soft_world_create(void)
{
    RigidDef def = {.body_capacity = 16,
                    .tick_s = SOFT_WORLD_TICK_S,
                    .substeps = SOFT_WORLD_SUBSTEPS,
                    .gravity = {0.0f, -9.81f, 0.0f}};
    SoftWorld world = {.rigid = rigid_create(&def), .soft = soft_create()};
    soft_world_need(world.rigid != NULL && world.soft != NULL, "no memory");
    soft_world_rigid(&world, SHAPE_PLANE, vec3(0.0f, 0.0f, 0.0f), BODY_STATIC);
    BodyId box = soft_world_rigid(&world, SHAPE_BOX, vec3(1.0f, 0.3f, 0.0f), BODY_DYNAMIC);
    soft_world_rigid(&world, SHAPE_SPHERE, vec3(-1.2f, 0.4f, 0.2f), BODY_DYNAMIC);
    soft_world_rigid(&world, SHAPE_CAPSULE, vec3(2.5f, 0.6f, -0.5f), BODY_DYNAMIC);
    soft_world_cloths(&world, box);
    soft_world_blocks(&world);
    soft_world_balls(&world);
    soft_world_ropes(&world);
    soft_set_wind(world.soft, vec3(2.0f, 0.0f, 1.0f), 1.2f);
    soft_world_need(soft_build(world.soft) == 0, "cannot be built");
    return world;
}

static inline void soft_world_destroy(SoftWorld *world)
{
    soft_destroy(world->soft);
    rigid_destroy(world->rigid);
    rigid_collider_finish(&world->bodies);
}

/* A grab swings a corner of the first cloth from tick 5 on. */
static inline void soft_world_tick(SoftWorld *world, u32 tick, Jobs *jobs)
{
    if (tick == 5) {
        SoftGrab grab = {.particle = 47 * 48, .stiffness = 500.0f, .damping = 2.0f};
        grab.force_max = 200.0f;
        soft_grab_add(world->soft, &grab);
    }
    if (tick >= 5) {
        soft_grab(world->soft, 0)->target =
            vec3(-2.0f + 0.05f * (f32)(tick % 40), 1.0f, 0.5f - 0.02f * (f32)(tick % 30));
    }
    rigid_collide(world->rigid, jobs);
    world->bodies.rigid = world->rigid;
    Collider bodies = rigid_collider(&world->bodies);
    soft_begin(world->soft, (SoftOthers){&bodies, 1}, jobs, SOFT_WORLD_TICK_S);
    rigid_prepare(world->rigid);
    for (u32 s = 0; s < SOFT_WORLD_SUBSTEPS; s++) {
        rigid_substep(world->rigid);
        soft_substep(world->soft, SOFT_WORLD_TICK_S / SOFT_WORLD_SUBSTEPS);
    }
    rigid_finish(world->rigid);
}

static inline void soft_world_serialize(SoftWorld *world, State *state)
{
    rigid_serialize(world->rigid, state);
    soft_serialize(world->soft, state);
}

static inline u64 soft_world_hash(SoftWorld *world)
{
    State state = {.mode = STATE_HASH};
    soft_world_serialize(world, &state);
    return state.hash;
}

#endif
