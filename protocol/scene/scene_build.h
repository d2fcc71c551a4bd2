/*
 * scene_build.h: converts packed bytes to a Scene, for packers of text that can locate a value in
 * it.
 * Layer: protocol/scene. Implemented by scene.cpp (FlatBuffers).
 */
#ifndef PLENUM_PROTOCOL_SCENE_SCENE_BUILD_H
#define PLENUM_PROTOCOL_SCENE_SCENE_BUILD_H

#include "protocol/scene/scene.h"

PL_BEGIN_C

/* The JSON source of the bytes: errors give its line numbers. */
typedef struct SceneJson {
    const char *json; /* [bytes] */
    size_t bytes;
    /* Line (from 1) of the value at a path such as "bodies[3].shape.radius". */
    u32 (*line)(const char *json, size_t bytes, const char *path);
} SceneJson;

/* Takes ownership of `bytes` (malloc) in all cases; verifies and checks them as untrusted.
 * `name` stands for the file in errors; `text` is borrowed, NULL: none. NULL with an error. */
Scene *scene_build(u8 *bytes, u32 byte_count, const char *name, const SceneJson *text,
                   ErrorText *error);

PL_END_C

#endif
