/* frame_assembly.c: see frame_assembly.h. */
#include "protocol/stream/frame_assembly.h"
#include "shared/base/error.h"

#include <stdlib.h>

/* The state of a chunk that the elements hold. */
typedef struct AppliedChunk {
    u64 tick;
    Detail detail;
    bool any;
} AppliedChunk;

struct FrameAssembly {
    FieldSet *fields;
    SnapshotReceiver *receiver;
    AppliedChunk *applied; /* [chunk_total], field after field */
    u8 *data;              /* [fields->frame_bytes], zeros between the fields */
    u64 notified_tick;     /* of the newest hash received */
    u64 notified_hash;     /* that hash; 0: none yet */
    u64 taken_tick;
    bool taken;   /* any frame yet */
    bool changed; /* states were stored since the last comparison */
};

FrameAssembly *frame_assembly_create(FieldSet *fields, SpanCoder *coder)
{
    FrameAssembly *assembly = calloc(1, sizeof *assembly);
    u32 chunks = 0;
    if (assembly == NULL) {
        return NULL;
    }
    for (u32 f = 0; f < fields->count; f++) {
        chunks += chunk_count(&fields->fields[f]);
    }
    assembly->fields = field_set_acquire(fields);
    assembly->receiver = snapshot_receiver_create_sharing(fields, coder);
    assembly->applied = calloc(u32_max(chunks, 1), sizeof *assembly->applied);
    assembly->data = calloc(1, u32_max(fields->frame_bytes, 1));
    if (assembly->receiver == NULL || assembly->applied == NULL || assembly->data == NULL) {
        frame_assembly_destroy(assembly);
        return NULL;
    }
    return assembly;
}

void frame_assembly_destroy(FrameAssembly *assembly)
{
    if (assembly == NULL) {
        return;
    }
    snapshot_receiver_destroy(assembly->receiver);
    field_set_release(assembly->fields);
    free(assembly->applied);
    free(assembly->data);
    free(assembly);
}

const u8 *frame_assembly_data(const FrameAssembly *assembly)
{
    return assembly->data;
}

const SnapshotReceiver *frame_assembly_receiver(const FrameAssembly *assembly)
{
    return assembly->receiver;
}

int frame_assembly_push(FrameAssembly *assembly, const u8 *packet, u32 bytes,
                        SnapshotHeader *header)
{
    SnapshotReceiver *receiver = assembly->receiver;
    int result = snapshot_receiver_push(receiver, packet, bytes, header);
    if (result != ERROR_OK) {
        return result;
    }
    assembly->changed = true;
    /* The newest tick is not before this one; the header has only its low bits. */
    u64 newest = snapshot_receiver_tick(receiver), behind = (u32)((u32)newest - header->tick);
    if (header->frame_hash != 0 && behind <= newest) {
        u64 tick = newest - behind;
        if (assembly->notified_hash == 0 || tick >= assembly->notified_tick) {
            assembly->notified_tick = tick;
            assembly->notified_hash = header->frame_hash;
        }
    }
    return ERROR_OK;
}

static void elements_update(FrameAssembly *assembly)
{
    const FieldSet *fields = assembly->fields;
    AppliedChunk *applied = assembly->applied;
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        u32 count = chunk_count(field);
        for (u32 c = 0; c < count; c++, applied++) {
            u64 tick;
            Detail detail;
            const u8 *state = snapshot_receiver_newest(assembly->receiver, f, c, &tick, &detail);
            if (state == NULL ||
                (applied->any && applied->tick == tick && applied->detail == detail)) {
                continue;
            }
            *applied = (AppliedChunk){tick, detail, true};
            chunk_scatter(field, c, state, assembly->data + fields->offset[f]);
        }
    }
}

bool frame_assembly_whole(FrameAssembly *assembly, u64 *tick)
{
    /* The elements could contain states newer than the hash's tick. */
    bool may = assembly->changed && assembly->notified_hash != 0 &&
               assembly->notified_tick == snapshot_receiver_tick(assembly->receiver) &&
               (!assembly->taken || assembly->notified_tick > assembly->taken_tick);
    if (!may) {
        return false;
    }
    assembly->changed = false;
    elements_update(assembly);
    if (frame_hash_data(assembly->fields, assembly->notified_tick, assembly->data) !=
        assembly->notified_hash) {
        return false;
    }
    assembly->taken = true;
    *tick = assembly->taken_tick = assembly->notified_tick;
    return true;
}

u64 frame_assembly_newest(FrameAssembly *assembly)
{
    elements_update(assembly);
    return snapshot_receiver_tick(assembly->receiver);
}
