/*
 * branch.h: takes a recording over at a tick, to go on from there live.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_BRANCH_H
#define PLENUM_SERVER_HOST_BRANCH_H

#include "protocol/record/recording.h"
#include "server/world/world.h"

/* The tick that `text` names: "1200" is a tick, "12.5s" seconds of world time, "3:20" and "1:02:30"
 * minutes and hours; NULL the last tick. 0; ERROR_USAGE or ERROR_RANGE with a text. */
int branch_tick(const char *text, u32 tick_rate, const RecordingInfo *info, u64 *tick,
                ErrorText *error);
/* The scene of a recording. NULL with a text. */
Scene *branch_scene(const char *path, ErrorText *error);
/* Leads a new world of that scene to the state that the recording has at `at` (as for branch_tick):
 * simulates the inputs from the nearest image before, or from the scene; says in the log how far it
 * is. All hands are empty then, and what its users spawned is the world's. Fills *parent. 0;
 * ERROR_MISMATCH where the simulation differs from the recording; another
 * negative Error; with a text. */
int branch_lead(const char *path, const char *at, World *world, RecordingParent *parent,
                ErrorText *error);

#endif
