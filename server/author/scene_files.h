/*
 * scene_files.h: inlines the files referenced by a scene: .obj, .ply and .asc meshes and pictures
 * of heights are read once when the scene is loaded, and become part of its bytes.
 * Layer: server/author; used by scene_load.cpp. Implemented by scene_files.cpp (FlatBuffers).
 */
#ifndef PLENUM_SERVER_AUTHOR_SCENE_FILES_H
#define PLENUM_SERVER_AUTHOR_SCENE_FILES_H

#include "shared/base/error.h"

PL_BEGIN_C
/* Where a scene's text is from. */
typedef struct ScenePlace {
    const char *path; /* of the file */
    bool anywhere;    /* it may name files outside its folder */
} ScenePlace;

/* Replaces *bytes (malloc), trusted bytes of the scene whose JSON is at `place`, by a version
 * without file references; file paths are relative to the scene file's folder. 0, or a negative
 * Error with "path:line: field: what". */
int scene_files_inline(u8 **bytes, u32 *byte_count, const ScenePlace *place, const char *json,
                       size_t json_bytes, ErrorText *error);
PL_END_C

#endif
