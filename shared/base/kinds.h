/*
 * kinds.h: the enumerations shared by scenes, solvers and clients, with their names in scenes.
 * Generated from the rows of rows/kinds.def.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_KINDS_H
#define PLENUM_SHARED_BASE_KINDS_H

#include "shared/base/base.h"

PL_BEGIN_C

typedef enum BodyMotion {
#define BODY_MOTION(NAME, key, number, doc) BODY_##NAME = number,
#include "shared/rows/kinds.def"
    BODY_MOTION_COUNT
} BodyMotion;

typedef enum RigidMethod {
#define RIGID_METHOD(NAME, key, number, doc) RIGID_##NAME = number,
#include "shared/rows/kinds.def"
    RIGID_METHOD_COUNT
} RigidMethod;

typedef enum JointKind {
#define JOINT_KIND(NAME, key, number, doc) JOINT_##NAME = number,
#include "shared/rows/kinds.def"
    JOINT_KIND_COUNT
} JointKind;

/* Constraint solver of a soft body. All share wind, contact and grabs. */
typedef enum SoftMethod {
#define SOFT_METHOD(NAME, key, number, doc) SOFT_##NAME = number,
#include "shared/rows/kinds.def"
    SOFT_METHOD_COUNT
} SoftMethod;

typedef enum SoftBend {
#define SOFT_BEND(NAME, key, number, doc) SOFT_BEND_##NAME = number,
#include "shared/rows/kinds.def"
    SOFT_BEND_COUNT
} SoftBend;

/* How the volume inside a surface is measured. */
typedef enum SoftVolume {
#define SOFT_VOLUME(NAME, key, number, doc) SOFT_VOLUME_##NAME = number,
#include "shared/rows/kinds.def"
    SOFT_VOLUME_COUNT
} SoftVolume;

typedef enum SoftMatch {
#define SOFT_MATCH(NAME, key, number, doc) SOFT_MATCH_##NAME = number,
#include "shared/rows/kinds.def"
    SOFT_MATCH_COUNT
} SoftMatch;

typedef enum EmitterAim {
#define EMITTER_AIM(NAME, key, number, doc) EMITTER_##NAME = number,
#include "shared/rows/kinds.def"
    EMITTER_AIM_COUNT
} EmitterAim;

typedef enum ParticleIntegrator {
#define PARTICLE_INTEGRATOR(NAME, key, number, doc) PARTICLE_##NAME = number,
#include "shared/rows/kinds.def"
    PARTICLE_INTEGRATOR_COUNT
} ParticleIntegrator;

typedef enum ParticleBehavior {
#define PARTICLE_BEHAVIOR(NAME, key, number, doc) PARTICLE_##NAME = number,
#include "shared/rows/kinds.def"
    PARTICLE_BEHAVIOR_COUNT
} ParticleBehavior;

typedef enum ParticleForceKind {
#define PARTICLE_FORCE(NAME, key, number, doc) PARTICLE_##NAME = number,
#include "shared/rows/kinds.def"
    PARTICLE_FORCE_COUNT
} ParticleForceKind;

typedef enum SwarmObjective {
#define SWARM_OBJECTIVE(NAME, key, number, doc) SWARM_##NAME = number,
#include "shared/rows/kinds.def"
    SWARM_OBJECTIVE_COUNT
} SwarmObjective;

typedef enum SmokeAdvection {
#define SMOKE_ADVECTION(NAME, key, number, doc) SMOKE_##NAME = number,
#include "shared/rows/kinds.def"
    SMOKE_ADVECTION_COUNT
} SmokeAdvection;

typedef enum SmokePressure {
#define SMOKE_PRESSURE(NAME, key, number, doc) SMOKE_##NAME = number,
#include "shared/rows/kinds.def"
    SMOKE_PRESSURE_COUNT
} SmokePressure;

typedef enum SmokeSideKind {
#define SMOKE_SIDE(NAME, key, number, doc) SMOKE_##NAME = number,
#include "shared/rows/kinds.def"
    SMOKE_SIDE_COUNT
} SmokeSideKind;

typedef enum WaterMethod {
#define WATER_METHOD(NAME, key, number, doc) WATER_##NAME = number,
#include "shared/rows/kinds.def"
    WATER_METHOD_COUNT
} WaterMethod;

typedef enum WaterBorder {
#define WATER_BORDER(NAME, key, number, doc) WATER_##NAME = number,
#include "shared/rows/kinds.def"
    WATER_BORDER_COUNT
} WaterBorder;

extern const char *const body_motion_names[BODY_MOTION_COUNT];
extern const char *const rigid_method_names[RIGID_METHOD_COUNT];
extern const char *const joint_kind_names[JOINT_KIND_COUNT];
extern const char *const soft_method_names[SOFT_METHOD_COUNT];
extern const char *const soft_bend_names[SOFT_BEND_COUNT];
extern const char *const soft_volume_names[SOFT_VOLUME_COUNT];
extern const char *const soft_match_names[SOFT_MATCH_COUNT];
extern const char *const emitter_aim_names[EMITTER_AIM_COUNT];
extern const char *const particle_integrator_names[PARTICLE_INTEGRATOR_COUNT];
extern const char *const particle_behavior_names[PARTICLE_BEHAVIOR_COUNT];
extern const char *const particle_force_names[PARTICLE_FORCE_COUNT];
extern const char *const swarm_objective_names[SWARM_OBJECTIVE_COUNT];
extern const char *const smoke_advection_names[SMOKE_ADVECTION_COUNT];
extern const char *const smoke_pressure_names[SMOKE_PRESSURE_COUNT];
extern const char *const smoke_side_names[SMOKE_SIDE_COUNT];
extern const char *const water_method_names[WATER_METHOD_COUNT];
extern const char *const water_border_names[WATER_BORDER_COUNT];

PL_END_C

#endif
