/*
 * foxglove.h: the messages of Foxglove that an export writes, as protocol buffers, and their
 * description for the schemas of MCAP (foxglove.dev/docs/sdk/schemas; read by Rerun too).
 * Layer: server/export, private.
 */
#ifndef PLENUM_SERVER_EXPORT_FOXGLOVE_H
#define PLENUM_SERVER_EXPORT_FOXGLOVE_H

#include "server/export/export.h"
#include "server/export/proto.h"

/* The frame of reference of everything, and its parent, in which z is up. */
#define FOXGLOVE_FRAME      "plenum"
#define FOXGLOVE_ROOT_FRAME "world"

PL_BEGIN_C
/* A FileDescriptorSet of all messages. */
void foxglove_describe(Proto *out);

/* FrameTransforms: poses of the present bodies with this `moves`; with the static ones also that of
 * the root. */
void foxglove_transforms(Proto *out, const ExportWorld *world, const ExportPicture *picture,
                         u64 time_ns, bool moves);
/* SceneUpdate: clears this topic; then the shapes of all present bodies, each in its own frame. 0
 * or a negative Error. */
int foxglove_bodies(Proto *out, const ExportWorld *world, const ExportPicture *picture,
                    u64 time_ns);
/* SceneUpdate: likewise all surfaces and lines. */
void foxglove_soft(Proto *out, const ExportWorld *world, const ExportPicture *picture, u64 time_ns);
/* PointCloud of one thing. */
void foxglove_points(Proto *out, const ExportState *state, u64 time_ns);
/* plenum.Probes: name, value and unit of each. */
void foxglove_probes(Proto *out, const ExportWorld *world, const ExportPicture *picture,
                     u64 time_ns);
PL_END_C

#endif
