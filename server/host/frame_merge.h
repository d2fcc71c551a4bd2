/*
 * frame_merge.h: adds the events of a skipped frame to a later one.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_FRAME_MERGE_H
#define PLENUM_SERVER_HOST_FRAME_MERGE_H

#include "protocol/field/frame.h"

/* Prepends the events of `old` to those of its successor. If there are more than
 * FRAME_EVENTS_CARRIED_MAX, only those of `old` are kept that affect the final state: spawns and
 * removals without their opposites, the last grab of each user, broken joints, since the last
 * reset. So the number of events carried through any number of merges is bounded by the things and
 * users of the world. Releases both; NULL: out of memory. */
Frame *frame_merge(Frame *old, Frame *frame);

#endif
