/*
 * scene_load.h: loads a scene from JSON. Clients receive packed bytes instead and do not link this
 * folder: no JSON parser, no mesh file readers, no convex decomposition.
 * Layer: server/author. Implemented by scene_load.cpp.
 */
#ifndef PLENUM_SERVER_AUTHOR_SCENE_LOAD_H
#define PLENUM_SERVER_AUTHOR_SCENE_LOAD_H

#include "protocol/scene/scene.h"

PL_BEGIN_C

/* Reads and checks a JSON scene file and the mesh files that it references, which become part of
 * its bytes. They must lie in the scene's folder or below it: an untrusted scene reads nothing
 * else. NULL on error with "path:line: field: what; what is right". */
Scene *scene_load(const char *path, ErrorText *error);
/* The same; it may name any file. */
Scene *scene_load_anywhere(const char *path, ErrorText *error);
/* The same from JSON text in memory, which cannot reference files; `name` stands for the path in
 * errors. */
Scene *scene_parse(const char *json, size_t bytes, const char *name, ErrorText *error);

PL_END_C

#endif
