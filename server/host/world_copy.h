/*
 * world_copy.h: a copy of a world's description, as a MESSAGE_WORLD tells it. message_decode has
 * validated it; whether its parts fit each other is checked here.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_WORLD_COPY_H
#define PLENUM_SERVER_HOST_WORLD_COPY_H

#include "protocol/scene/scene.h"
#include "protocol/session/message.h"
#include "protocol/stream/entity_list.h"

typedef struct WorldCopy {
    struct WorldCopy *next; /* for lists of a source; NULL: this is the newest */
    u8 *scene_bytes;
    Scene *scene;
    FieldSet *fields;
    ScalarInfo *scalars;  /* parameters, then probes */
    MessageWorld message; /* points to these; entities are in the list below */
    EntityList entities;  /* at its start */
} WorldCopy;

/* NULL: invalid, or out of memory; `error` may say which. */
WorldCopy *world_copy_create(const MessageWorld *message, ErrorText *error);
void world_copy_destroy(WorldCopy *world);
/* True if frames of one are valid for the other: scene, fields, parameters and probes are equal.
 * `a` may be NULL. */
bool world_copy_same(const WorldCopy *a, const WorldCopy *b);

#endif
