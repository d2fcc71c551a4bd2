/*
 * scene_build.h: packed bytes become a Scene, for those who pack them from text and can say where
 * in it a value lies. Layer: protocol/scene. Implemented by scene.cpp (FlatBuffers).
 */
#ifndef PLENUM_PROTOCOL_SCENE_SCENE_BUILD_H
#define PLENUM_PROTOCOL_SCENE_SCENE_BUILD_H

#include "protocol/scene/scene.h"

PL_BEGIN_C

/* JSON that bytes were made from: errors name its lines. */
typedef struct SceneText {
    const char *json; /* [bytes] */
    size_t bytes;
    /* Line (from 1) of the value at a path such as "bodies[3].shape.radius". */
    u32 (*line)(const char *json, size_t bytes, const char *path);
} SceneText;

/* Takes over `bytes` (malloc), whatever happens: verified, then checked, as of a stranger. `name`
 * stands for the file in errors; `text` is borrowed, NULL: there is none. NULL with an error. */
Scene *scene_build(u8 *bytes, u32 byte_count, const char *name, const SceneText *text,
                   ErrorText *error);

PL_END_C

#endif
