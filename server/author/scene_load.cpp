// scene_load.cpp: converts JSON to packed bytes, inlines referenced files, and builds a Scene.
#include "server/author/scene_load.h"

#include "protocol/scene/scene_build.h"
#include "server/author/scene_files.h"
#include "server/author/scene_json.h"
#include "shared/base/file.h"
#include "shared/base/limits.h"

#include <cstdlib>

// `place`: of the file that the text is from, whose meshes are read; no path: it is from elsewhere.
static Scene *parse_scene(const char *json, size_t bytes, const char *name, const ScenePlace &place,
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
    if (place.path != nullptr &&
        scene_files_inline(&encoded, &encoded_bytes, &place, json, bytes, error) != ERROR_OK) {
        free(encoded);
        return nullptr;
    }
    const SceneJson text = {json, bytes, scene_json_line};
    return scene_build(encoded, encoded_bytes, name, &text, error);
}

static Scene *load_scene(const char *path, bool anywhere, ErrorText *error)
{
    size_t bytes = 0;
    char *text = file_read(path, SCENE_FILE_BYTES_MAX, &bytes, error);
    if (text == nullptr) {
        return nullptr;
    }
    Scene *scene = parse_scene(text, bytes, path, {path, anywhere}, error);
    free(text);
    return scene;
}

extern "C" Scene *scene_load(const char *path, ErrorText *error)
{
    return load_scene(path, false, error);
}

extern "C" Scene *scene_load_anywhere(const char *path, ErrorText *error)
{
    return load_scene(path, true, error);
}

extern "C" Scene *scene_parse(const char *json, size_t bytes, const char *name, ErrorText *error)
{
    return parse_scene(json, bytes, name, {nullptr, false}, error);
}
