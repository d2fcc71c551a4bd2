/*
 * undo.h: a user's last spawns, removals and parameter changes, undone one at a time. Private to
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

/* An action and what is needed to undo it. */
typedef struct UndoAction {
    u32 kind;     /* InputKind: SPAWN, REMOVE or SET */
    u32 sequence; /* of the input */
    u32 entity;   /* SPAWN: the new entity, 0: not yet known; REMOVE: the removed one */
    u32 index;    /* prefab (PREFAB_NONE: an entity of the scene) or parameter */
    u64 at_ms;
    Vec3 position; /* REMOVE: where it was */
    Quat rotation;
    f32 values[4]; /* SET: previous value */
} UndoAction;

typedef struct UndoList {
    UndoAction actions[UNDO_MAX]; /* [count], oldest first; the oldest is dropped when full */
    u32 count;
    u32 sequence; /* of the host's own inputs on behalf of the user */
    /* The removed entity being spawned again: the input that does it, its prefab, and its old id,
     * which earlier actions refer to. */
    u32 again_sequence, again_prefab, again_entity;
} UndoList;

#endif
