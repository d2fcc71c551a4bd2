/*
 * rigid_scenes.h: the scenes of the rigid rows as plain data, so that every engine that is measured
 * builds exactly the same bodies and joints. All: 60 Hz, gravity 9.81 m/s² down, friction 0.6,
 * restitution 0, density 1000 kg/m³ unless a body says otherwise, y up, body 0 the ground: a static
 * box of half extents 100 × 1 × 100 whose top is at y = 0.
 * Layer: tests. C and C++.
 */
#ifndef PLENUM_TESTS_BENCH_RIGID_SCENES_H
#define PLENUM_TESTS_BENCH_RIGID_SCENES_H

#include "shared/geometry/shape.h"
#include "shared/math/quat.h"

#define SETUP_GRAVITY_M_S2 9.81f
#define SETUP_FRICTION     0.6f
#define SETUP_DENSITY      1000.0f /* kg/m³ */
#define SETUP_TICK_S       (1.0f / 60.0f)
#define SETUP_SUBSTEPS     4
/* A joint's side that is the world. */
#define SETUP_WORLD        0xffffffffu

typedef struct SetupBody {
    Shape shape;
    Vec3 position; /* m */
    Quat orientation;
    f32 mass_kg; /* 0: static */
    u32 family;  /* not 0: does not collide with the same family */
} SetupBody;

typedef enum SetupJointKind {
    SETUP_BALL,
    SETUP_HINGE
} SetupJointKind;

typedef struct SetupJoint {
    SetupJointKind kind;
    u32 a, b;         /* bodies, or SETUP_WORLD; joined ones do not collide */
    Vec3 anchor;      /* m, world, at the start */
    Vec3 axis;        /* unit, world, at the start: of a hinge */
    f32 lower, upper; /* rad, limits of a hinge, from the start */
} SetupJoint;

typedef struct Setup {
    const char *name;
    SetupBody *bodies;  /* [body_count] */
    SetupJoint *joints; /* [joint_count] */
    u32 body_count, joint_count, body_capacity, joint_capacity;
    u32 dynamic_count; /* bodies that move: what rows count */
    struct Geometry *geometries[8];
    u32 geometry_count;
} Setup;

PL_BEGIN_C
/* "wall20", "wall100", "pyr15", "pyr22", "drop1000", "drop5000", "ragdoll200", "net50",
 * "chain1000"; "hulls<n>" (hulls, cylinders and cones in a bin) and "mesh<n>" (shapes of all kinds
 * on hills of triangles), for which there is no peer; "stack<n>" (unit boxes), "tower<n>" (four
 * unit boxes, a fifth n times heavier on top), "table" (125 times its four legs), "ball100" (20
 * links and a ball of 100 times their mass), "incline<degrees>". Ends the program on a name it does
 * not know: names are the program's own. */
Setup *setup_create(const char *name);
void setup_destroy(Setup *setup);
PL_END_C

#endif
