/* mesh_file.c: which format it is, and who reads it. */
#include "server/author/mesh_reader.h"
#include "shared/base/limits.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* How much of the content is searched to detect its format. */
    LOOK_BYTES = 4096
};

void mesh_file_finish(MeshFile *file)
{
    free(file->vertices);
    free(file->triangles);
    memset(file, 0, sizeof *file);
}

/* ---- formats ------------------------------------------------------------------------------ */

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    if (length < tail) {
        return false;
    }
    for (size_t i = 0; i < tail; i++) {
        char c = name[length - tail + i];
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != ending[i]) {
            return false;
        }
    }
    return true;
}

/* Whether a line near the start of the file begins with the text. */
static bool has_line(const MeshReader *reader, const char *text)
{
    size_t length = strlen(text);
    const u8 *end = (size_t)(reader->end - reader->begin) > LOOK_BYTES ? reader->begin + LOOK_BYTES
                                                                       : reader->end;
    bool at_start = true;
    for (const u8 *at = reader->begin; at < end && (size_t)(end - at) >= length; at++) {
        if (at_start && memcmp(at, text, length) == 0) {
            return true;
        }
        at_start = mesh_is_line_end(*at);
    }
    return false;
}

static int read_format(MeshReader *reader)
{
    bool ply = (size_t)(reader->end - reader->begin) >= 4 && memcmp(reader->begin, "ply", 3) == 0 &&
               mesh_is_line_end(reader->begin[3]);
    if (ends_with(reader->name, ".ply") || (!ends_with(reader->name, ".obj") && ply)) {
        reader->file->format = MESH_FORMAT_PLY;
        return mesh_read_ply(reader);
    }
    if (ends_with(reader->name, ".asc") ||
        (!ends_with(reader->name, ".obj") &&
         (has_line(reader, "Named object") || has_line(reader, "Tri-mesh")))) {
        reader->file->format = MESH_FORMAT_ASC;
        return mesh_read_asc(reader);
    }
    if (ends_with(reader->name, ".obj") || has_line(reader, "v ")) {
        reader->file->format = MESH_FORMAT_OBJ;
        return mesh_read_obj(reader);
    }
    return error_set(reader->error, ERROR_UNSUPPORTED,
                     "%.*s: unknown format, expected .obj, .ply or .asc", MESH_NAME_SHOWN_MAX,
                     reader->name);
}

int mesh_file_read(MeshFile *file, const void *bytes, size_t count, const char *name,
                   ErrorText *error)
{
    memset(file, 0, sizeof *file);
    if (count > MESH_FILE_BYTES_MAX) {
        return error_set(error, ERROR_LIMIT, "%.*s: %zu bytes, expected at most %d",
                         MESH_NAME_SHOWN_MAX, name, count, MESH_FILE_BYTES_MAX);
    }
    if (count == 0) {
        return error_set(error, ERROR_TRUNCATED, "%.*s: empty", MESH_NAME_SHOWN_MAX, name);
    }
    MeshReader reader = {.begin = bytes,
                         .at = bytes,
                         .end = (const u8 *)bytes + count,
                         .line = 1,
                         .name = name,
                         .file = file,
                         .error = error};
    int code = read_format(&reader);
    if (code == ERROR_OK && file->triangle_count == 0) {
        code = error_set(error, ERROR_FORMAT, "%.*s: no faces", MESH_NAME_SHOWN_MAX, name);
    }
    if (code != ERROR_OK) {
        mesh_file_finish(file);
    }
    return code;
}
