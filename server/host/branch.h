/*
 * branch.h: starts a live world from a tick of a recording.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_BRANCH_H
#define PLENUM_SERVER_HOST_BRANCH_H

#include "protocol/record/recording.h"
#include "server/world/world.h"

/* Parses a position: "1200" is a tick; "12.5s", "3:20" and "1:02:30" are world time; NULL is the
 * last tick. Returns 0, or ERROR_USAGE or ERROR_RANGE with a text. */
int branch_tick(const char *text, u32 tick_rate, const RecordingInfo *info, u64 *tick,
                ErrorText *error);
/* The scene of a recording. NULL with a text. */
Scene *branch_scene(const char *path, ErrorText *error);
/* Brings a new world of that scene to the recording's state at `at` (as for branch_tick): loads the
 * nearest earlier image, or starts from the scene, and replays the inputs; logs progress.
 * Afterwards nothing is grabbed, and spawned things belong to no user. Fills *parent. Returns 0,
 * ERROR_MISMATCH if the simulation differs from the recording, or another negative Error; errors
 * have a text. */
int branch_lead(const char *path, const char *at, World *world, RecordingParent *parent,
                ErrorText *error);

#endif
