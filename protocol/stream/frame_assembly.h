/*
 * frame_assembly.h: assembles complete frames from a stream of snapshots, for a relay. A snapshot's
 * last packet carries the hash of the sender's frame: if the received states have the same hash,
 * they are that frame, bit for bit. On a lossy path some snapshots do not complete before the next
 * one; those are skipped.
 * Layer: protocol/stream.
 */
#ifndef PLENUM_PROTOCOL_STREAM_FRAME_ASSEMBLY_H
#define PLENUM_PROTOCOL_STREAM_FRAME_ASSEMBLY_H

#include "protocol/stream/snapshot.h"

PL_BEGIN_C

typedef struct FrameAssembly FrameAssembly;

/* For one stream epoch. Acquires `fields`; borrows the coder. NULL: out of memory. */
FrameAssembly *frame_assembly_create(FieldSet *fields, SpanCoder *coder);
void frame_assembly_destroy(FrameAssembly *assembly); /* NULL is allowed */
/* Handles a state packet of this epoch; same results as snapshot_receiver_push. */
int frame_assembly_push(FrameAssembly *assembly, const u8 *packet, u32 bytes,
                        SnapshotHeader *header);
/* True: the elements now hold a complete frame, not taken before; *tick is its tick. */
bool frame_assembly_whole(FrameAssembly *assembly, u64 *tick);
/* Brings the elements to the newest state of each chunk, possibly of different ticks; returns the
 * newest tick, 0: none yet. */
u64 frame_assembly_newest(FrameAssembly *assembly);
/* The elements, [fields->frame_bytes], as of the last call of one of the two above. */
const u8 *frame_assembly_data(const FrameAssembly *assembly);
const SnapshotReceiver *frame_assembly_receiver(const FrameAssembly *assembly);

PL_END_C

#endif
