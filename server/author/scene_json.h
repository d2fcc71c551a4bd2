/*
 * scene_json.h: converts scene JSON to FlatBuffers bytes, and maps the path of a field to its line,
 * so that later errors can give the location.
 * Layer: server/author; used by scene_load.cpp. Implemented by scene_json.cpp.
 */
#ifndef PLENUM_SERVER_AUTHOR_SCENE_JSON_H
#define PLENUM_SERVER_AUTHOR_SCENE_JSON_H

#include "shared/base/error.h"

PL_BEGIN_C
/* Converts strict JSON of a Scene to bytes (free()). NULL with "name:line: field: what; what is
 * right". The text need not be zero-terminated. */
u8 *scene_json_encode(const char *json, size_t bytes, const char *name, u32 *encoded_bytes,
                      ErrorText *error);
/* Line (from 1) of the value at a path such as "bodies[3].shape.radius", or of the innermost
 * existing part of the path. */
u32 scene_json_line(const char *json, size_t bytes, const char *path);
PL_END_C

#endif
