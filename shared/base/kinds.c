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
