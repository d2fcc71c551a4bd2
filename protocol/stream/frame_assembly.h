/*
 * frame_assembly.h: makes whole frames of a stream of snapshots, for those who serve it to others
 * (a relay). A snapshot's last packet tells the hash of the sender's frame: if what was received up
 * to it has that hash, it is that frame, bit for bit. On a path with loss some snapshots cannot be
 * completed before the next one; those are left out.
 * Layer: protocol/stream.
 */
#ifndef PLENUM_PROTOCOL_STREAM_FRAME_ASSEMBLY_H
#define PLENUM_PROTOCOL_STREAM_FRAME_ASSEMBLY_H

#include "protocol/stream/snapshot.h"

PL_BEGIN_C

typedef struct FrameAssembly FrameAssembly;

/* For one stream epoch. Acquires `fields`; borrows the coder. NULL: out of memory. */
FrameAssembly *frame_assembly_create(FieldSet *fields, SpanCoder *coder);
void frame_assembly_destroy(FrameAssembly *assembly); /* NULL is fine */
/* Handles a state packet of this epoch: results as of snapshot_receiver_push. */
int frame_assembly_push(FrameAssembly *assembly, const u8 *packet, u32 bytes,
                        SnapshotHeader *header);
/* True: the elements are now those of a whole frame that was not taken before; *tick is its
 * tick. */
bool frame_assembly_whole(FrameAssembly *assembly, u64 *tick);
/* Brings the elements to the newest states of all chunks, although they may be of different ticks;
 * returns the newest tick, 0: none yet. */
u64 frame_assembly_newest(FrameAssembly *assembly);
/* The elements, [fields->frame_bytes]: as of the last call of one of these two. */
const u8 *frame_assembly_data(const FrameAssembly *assembly);
const SnapshotReceiver *frame_assembly_receiver(const FrameAssembly *assembly);

PL_END_C

#endif
