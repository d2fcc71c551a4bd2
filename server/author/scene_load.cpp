// scene_load.cpp: converts JSON to packed bytes, inlines referenced files, and builds a Scene.
#include "server/author/scene_load.h"

#include "protocol/scene/scene_build.h"
#include "server/author/scene_files.h"
#include "server/author/scene_json.h"
#include "shared/base/limits.h"

#include <cstdlib>

// `path`: of the file that the text is from, whose meshes are read; nullptr: it is from elsewhere.
static Scene *parse_scene(const char *json, size_t bytes, const char *name, const char *path,
                          ErrorText *error)
{
    if (bytes > SCENE_FILE_BYTES_MAX) {
        error_set(error, ERROR_LIMIT, "%s: too large; a scene has at most %d bytes", name,
                  SCENE_FILE_BYTES_MAX);
        return nullptr;
    }
    u32 encoded_bytes = 0;
    u8 *encoded = scene_json_encode(json, bytes, name, &encoded_bytes, error);
    if (encoded == nullptr) {
        return nullptr;
    }
    if (path != nullptr &&
        scene_files_inline(&encoded, &encoded_bytes, path, json, bytes, error) != ERROR_OK) {
        free(encoded);
        return nullptr;
    }
    const SceneText text = {json, bytes, scene_json_line};
    return scene_build(encoded, encoded_bytes, name, &text, error);
}

extern "C" Scene *scene_load(const char *path, ErrorText *error)
{
    size_t bytes = 0;
    char *text = scene_file_read(path, SCENE_FILE_BYTES_MAX, &bytes, error);
    if (text == nullptr) {
        return nullptr;
    }
    Scene *scene = parse_scene(text, bytes, path, path, error);
    free(text);
    return scene;
}

extern "C" Scene *scene_parse(const char *json, size_t bytes, const char *name, ErrorText *error)
{
    return parse_scene(json, bytes, name, nullptr, error);
}
