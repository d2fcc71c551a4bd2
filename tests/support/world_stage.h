/*
 * world_stage.h: worlds for fuzz targets: small ones with a little of every kind of matter, and the
 * invariants that must hold for any world.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_WORLD_STAGE_H
#define PLENUM_TESTS_SUPPORT_WORLD_STAGE_H

#include "server/world/world.h"

/* A world of a scene file (from the top folder). CHECKs. *scene is owned by the caller, if not
 * NULL; else it stays. */
World *world_stage_create(const char *path, Scene **scene);
/* The id of a named entity. CHECKs. */
u32 world_stage_entity(World *world, const char *name);
/* Ticks without inputs; then it must have a frame, and its image, finite and within its limits,
 * must load again. Else the program ends with a text. */
void world_stage_go_on(World *world, u32 ticks);

#endif
