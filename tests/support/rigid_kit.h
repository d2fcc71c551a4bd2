/*
 * rigid_kit.h: small rigid worlds for tests of the solver.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_RIGID_KIT_H
#define PLENUM_TESTS_SUPPORT_RIGID_KIT_H

#include "server/physics/rigid/joint/joint.h"
#include "server/physics/rigid/rigid.h"

#define KIT_GRAVITY_M_S2 9.81f
#define KIT_TICK_S       (1.0f / 60.0f)

/* A world of 60 Hz without sleep; gravity points down. Ends the test if out of memory. */
Rigid *kit_world(u32 bodies, u32 substeps, f32 gravity_m_s2);
/* The same with sleep. */
Rigid *kit_sleeping_world(u32 bodies, u32 substeps, Vec3 gravity);
void kit_tick(Rigid *rigid);
/* The same with the help of jobs (may be NULL). */
void kit_tick_jobs(Rigid *rigid, Jobs *jobs);
void kit_run(Rigid *rigid, f32 seconds);
/* The same with capacity for as many joints as bodies, and a given gravity. */
Rigid *kit_joint_world(Vec3 gravity, u32 substeps, u32 capacity);
/* Like kit_tick, but no body's sleep timer advances. */
void kit_tick_awake(Rigid *rigid);
/* Adds it and returns its slot; ends the test if it is refused. */
u32 kit_join(Rigid *rigid, const JointDef *def);
Shape kit_ball_shape(f32 radius);
/* A rotation about z, radians. */
Quat kit_rotation_z(f32 angle);

/* A rotation about the unit axis by the angle in degrees. */
Quat kit_rotation(Vec3 axis, f64 degrees);

/* Body definitions with friction 0.6 and a density of 1000 kg/m³. */
BodyDef kit_box(Vec3 position, Vec3 half);
BodyDef kit_ball(Vec3 position, f32 radius);
/* The plane y = 0, rotated about the origin. */
BodyDef kit_plane(Quat orientation);
/* A static box of half extents 100 × 1 × 100 with its top at y = 0. */
BodyDef kit_ground(void);
/* Adds it and returns its slot; ends the test if it is refused. */
u32 kit_add(Rigid *rigid, const BodyDef *def);

/* Hash of the dynamic state. */
u64 kit_hash(Rigid *rigid);
/* The state as an image (free) of *bytes. */
u8 *kit_save(Rigid *rigid, size_t *bytes);
/* False: the image was refused. */
bool kit_load(Rigid *rigid, u8 *image, size_t bytes);

/* A flat terrain of cells × cells squares of the size (m), two triangles each, about the origin at
 * y = 0 (geometry_destroy). Ends the test if out of memory. */
struct Geometry *kit_field(u32 cells, f32 size_m);

/* Kinetic energy (J) and momentum about the origin (kg m²/s) of all bodies, in f64. */
typedef struct KitMotion {
    f64 energy, momentum[3], angular[3];
} KitMotion;
KitMotion kit_motion(const Rigid *rigid);

/* Errors of conserved quantities of a world in free flight, in percent of their initial values. */
typedef struct KitFlight {
    f64 gain;    /* largest gain of energy */
    f64 loss;    /* loss of energy at the end */
    f64 turning; /* largest change of the angular momentum vector */
} KitFlight;
/* Runs that number of ticks. */
KitFlight kit_fly(Rigid *rigid, u32 ticks);

#endif
