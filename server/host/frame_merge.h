/*
 * frame_merge.h: a frame that also tells the events of one that nobody will see.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_FRAME_MERGE_H
#define PLENUM_SERVER_HOST_FRAME_MERGE_H

#include "protocol/field/frame.h"

/* Prepends the events of `old` to those of its successor. Beyond FRAME_EVENTS_CARRIED_MAX impacts
 * (sounds and marks) are dropped. Releases both; NULL: out of memory. */
Frame *frame_merge(Frame *old, Frame *frame);

#endif
