/* kinds.c: the names of enumerators, in the order of their numbers. */
#include "shared/base/kinds.h"

const char *const body_motion_names[BODY_MOTION_COUNT] = {
#define BODY_MOTION(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
const char *const rigid_method_names[RIGID_METHOD_COUNT] = {
#define RIGID_METHOD(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
const char *const joint_kind_names[JOINT_KIND_COUNT] = {
#define JOINT_KIND(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
const char *const soft_method_names[SOFT_METHOD_COUNT] = {
#define SOFT_METHOD(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
const char *const soft_bend_names[SOFT_BEND_COUNT] = {
#define SOFT_BEND(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
const char *const soft_volume_names[SOFT_VOLUME_COUNT] = {
#define SOFT_VOLUME(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
const char *const soft_match_names[SOFT_MATCH_COUNT] = {
#define SOFT_MATCH(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
const char *const emitter_aim_names[EMITTER_AIM_COUNT] = {
#define EMITTER_AIM(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
const char *const particle_integrator_names[PARTICLE_INTEGRATOR_COUNT] = {
#define PARTICLE_INTEGRATOR(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
const char *const particle_behavior_names[PARTICLE_BEHAVIOR_COUNT] = {
#define PARTICLE_BEHAVIOR(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
const char *const particle_force_names[PARTICLE_FORCE_COUNT] = {
#define PARTICLE_FORCE(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
const char *const swarm_objective_names[SWARM_OBJECTIVE_COUNT] = {
#define SWARM_OBJECTIVE(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};

const char *const smoke_advection_names[SMOKE_ADVECTION_COUNT] = {
#define SMOKE_ADVECTION(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};

const char *const smoke_pressure_names[SMOKE_PRESSURE_COUNT] = {
#define SMOKE_PRESSURE(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};

const char *const smoke_side_names[SMOKE_SIDE_COUNT] = {
#define SMOKE_SIDE(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};

const char *const water_method_names[WATER_METHOD_COUNT] = {
#define WATER_METHOD(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
const char *const water_border_names[WATER_BORDER_COUNT] = {
#define WATER_BORDER(NAME, key, number, doc) [number] = #key,
#include "shared/rows/kinds.def"
};
