/*
 * undo.h: a user's last spawns, removals and parameters, to take them back one by one. Private to
 * the host: session.h includes it.
 * Layer: server/host, private.
 */
#ifndef PLENUM_SERVER_HOST_UNDO_H
#define PLENUM_SERVER_HOST_UNDO_H

#include "protocol/session/input.h"

enum {
    UNDO_MAX = 16,
    PREFAB_NONE = UINT16_MAX
};

/* An action and what it needs to be taken back. */
typedef struct UndoAction {
    u32 kind;     /* InputKind: SPAWN, REMOVE or SET */
    u32 sequence; /* of the input */
    u32 entity;   /* SPAWN: that appeared, 0 not yet; REMOVE: that goes */
    u32 index;    /* prefab (PREFAB_NONE: a thing of the scene) or parameter */
    u64 at_ms;
    Vec3 position; /* REMOVE: where it was */
    Quat rotation;
    f32 values[4]; /* SET: before */
} UndoAction;

typedef struct UndoList {
    UndoAction actions[UNDO_MAX]; /* [count], the oldest make room */
    u32 count;
    u32 sequence; /* of the host's own inputs for the user */
    /* The removed thing that is being made again: by which input, of which prefab, and its former
     * entity, by which earlier actions know it. */
    u32 again_sequence, again_prefab, again_entity;
} UndoList;

#endif
