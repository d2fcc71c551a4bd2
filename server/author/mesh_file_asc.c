/*
 * mesh_file_asc.c: the ASCII listing of 3D Studio (DOS): objects, each with "Tri-mesh, Vertices: n
 * Faces: m", lines "Vertex 0: X: 1.0 Y: 2.0 Z: 3.0" and "Face 0: A:0 B:1 C:2 AB:1 BC:1 CA:0";
 * indices are local to the object. Lights, cameras, materials and page headers are skipped.
 */
#include "server/author/mesh_reader.h"
#include "shared/base/limits.h"

#include <string.h>

typedef struct AscObject {
    bool open;
    u32 line;            /* where it was announced */
    u32 base;            /* its first vertex in the file's list */
    u32 vertices, faces; /* announced */
    u32 vertices_read, faces_read;
} AscObject;

/* The value after "X:", with or without a space between. */
static bool read_field(MeshReader *reader, const char *label, MeshWord *value)
{
    size_t length = strlen(label);
    if (!mesh_next_word(reader, value) || value->length < length ||
        memcmp(value->text, label, length) != 0) {
        return false;
    }
    if (value->length == length) {
        return mesh_next_word(reader, value);
    }
    value->text += length;
    value->length -= (u32)length;
    return true;
}

static int end_object(MeshReader *reader, AscObject *object)
{
    if (object->open &&
        (object->vertices_read != object->vertices || object->faces_read != object->faces)) {
        return mesh_error(reader, ERROR_TRUNCATED,
                          "the object of line %u ends with %u of %u vertices, %u of %u faces",
                          object->line, object->vertices_read, object->vertices, object->faces_read,
                          object->faces);
    }
    object->open = false;
    return ERROR_OK;
}

/* "Tri-mesh, Vertices: 8 Faces: 12" */
static int begin_object(MeshReader *reader, AscObject *object)
{
    MeshWord word;
    i64 vertices, faces;
    int code = end_object(reader, object);
    if (code != ERROR_OK) {
        return code;
    }
    if (!read_field(reader, "Vertices:", &word) || !mesh_word_integer(word, &vertices) ||
        !read_field(reader, "Faces:", &word) || !mesh_word_integer(word, &faces)) {
        return mesh_error(reader, ERROR_FORMAT, "Tri-mesh: expected 'Vertices: n Faces: m'");
    }
    if (vertices < 0 || vertices > MESH_FILE_VERTICES_MAX || faces < 0 ||
        faces > MESH_FILE_TRIANGLES_MAX) {
        return mesh_error(
            reader, ERROR_LIMIT, "Tri-mesh: %lld vertices, %lld faces, expected at most %d and %d",
            (long long)vertices, (long long)faces, MESH_FILE_VERTICES_MAX, MESH_FILE_TRIANGLES_MAX);
    }
    *object = (AscObject){.open = true,
                          .line = reader->line,
                          .base = reader->file->vertex_count,
                          .vertices = (u32)vertices,
                          .faces = (u32)faces};
    return ERROR_OK;
}

/* "Vertex 3:", "Face 3:": the number that follows; false for anything else, such as "Vertex
 * list:". */
static bool read_number(MeshReader *reader, i64 *number)
{
    MeshWord word;
    if (!mesh_next_word(reader, &word) || word.length < 2 || word.text[word.length - 1] != ':') {
        return false;
    }
    word.length--;
    return mesh_word_integer(word, number);
}

static int check_number(MeshReader *reader, const char *what, i64 number, const AscObject *object,
                        u32 next, u32 count)
{
    if (!object->open) {
        return mesh_error(reader, ERROR_FORMAT, "%s %lld before its Tri-mesh line", what,
                          (long long)number);
    }
    if (next >= count) {
        return mesh_error(reader, ERROR_RANGE, "%s %lld: the object has %u", what,
                          (long long)number, count);
    }
    if (number != (i64)next) {
        return mesh_error(reader, ERROR_FORMAT, "%s %lld, expected %u", what, (long long)number,
                          next);
    }
    return ERROR_OK;
}

static int read_vertex(MeshReader *reader, AscObject *object)
{
    static const char *const labels[3] = {"X:", "Y:", "Z:"};
    i64 number;
    if (!read_number(reader, &number)) {
        return ERROR_OK;
    }
    int code =
        check_number(reader, "Vertex", number, object, object->vertices_read, object->vertices);
    if (code != ERROR_OK) {
        return code;
    }
    f64 place[3];
    for (int i = 0; i < 3; i++) {
        MeshWord word;
        if (!read_field(reader, labels[i], &word) || !mesh_word_number(word, &place[i])) {
            return mesh_error(reader, ERROR_FORMAT, "Vertex %u: %s expected a number",
                              object->vertices_read, labels[i]);
        }
    }
    object->vertices_read++;
    return mesh_add_vertex(reader, place);
}

static int read_face(MeshReader *reader, AscObject *object)
{
    static const char *const labels[3] = {"A:", "B:", "C:"};
    i64 number;
    if (!read_number(reader, &number)) {
        return ERROR_OK;
    }
    int code = check_number(reader, "Face", number, object, object->faces_read, object->faces);
    if (code != ERROR_OK) {
        return code;
    }
    u32 corner[3];
    for (int i = 0; i < 3; i++) {
        MeshWord word;
        i64 vertex;
        if (!read_field(reader, labels[i], &word) || !mesh_word_integer(word, &vertex)) {
            return mesh_error(reader, ERROR_FORMAT, "Face %u: %s expected a whole number",
                              object->faces_read, labels[i]);
        }
        if (vertex < 0 || vertex >= (i64)object->vertices_read) {
            return mesh_error(reader, ERROR_RANGE, "Face %u: %s vertex %lld, expected 0 to %lld",
                              object->faces_read, labels[i], (long long)vertex,
                              (long long)object->vertices_read - 1);
        }
        corner[i] = object->base + (u32)vertex;
    }
    object->faces_read++;
    return mesh_add_triangle(reader, corner[0], corner[1], corner[2]);
}

int mesh_read_asc(MeshReader *reader)
{
    AscObject object = {0};
    do {
        MeshWord word;
        int code = ERROR_OK;
        if (!mesh_next_word(reader, &word)) {
            continue;
        }
        if (mesh_word_is(word, "Tri-mesh,")) {
            code = begin_object(reader, &object);
        } else if (mesh_word_is(word, "Vertex")) {
            code = read_vertex(reader, &object);
        } else if (mesh_word_is(word, "Face")) {
            code = read_face(reader, &object);
        }
        if (code != ERROR_OK) {
            return code;
        }
    } while (mesh_next_line(reader));
    return end_object(reader, &object);
}
