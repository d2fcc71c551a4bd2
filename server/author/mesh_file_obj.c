/*
 * mesh_file_obj.c: Wavefront .obj: lines v (a vertex) and f (a polygon of vertices, numbered from
 * 1, or backwards from −1); all other lines are skipped.
 */
#include "server/author/mesh_reader.h"

static int read_vertex(MeshReader *reader)
{
    static const char names[] = "xyz";
    f64 place[3];
    MeshWord word;
    for (int i = 0; i < 3; i++) {
        if (!mesh_next_word(reader, &word)) {
            return mesh_error(reader, ERROR_TRUNCATED, "v: no %c, expected 3 numbers", names[i]);
        }
        if (!mesh_word_number(word, &place[i])) {
            return mesh_error(reader, ERROR_FORMAT, "v: %c is '%.*s', expected a number", names[i],
                              mesh_word_shown(word), (const char *)word.text);
        }
    }
    return mesh_add_vertex(reader, place);
}

/* One corner: v, v/vt, v//vn or v/vt/vn, of which only v is used. */
static int read_corner(MeshReader *reader, MeshWord word, u32 *vertex)
{
    MeshWord part[3] = {{word.text, 0}, {NULL, 0}, {NULL, 0}};
    u32 parts = 0;
    i64 number = 0, other;
    for (u32 i = 0; i < word.length; i++) {
        if (word.text[i] != '/') {
            part[parts].length++;
        } else if (++parts > 2) {
            break;
        } else {
            part[parts].text = word.text + i + 1;
        }
    }
    bool good = parts <= 2 && mesh_word_integer(part[0], &number);
    for (u32 i = 1; good && i <= parts; i++) {
        good = part[i].length == 0 || mesh_word_integer(part[i], &other);
    }
    if (!good) {
        return mesh_error(reader, ERROR_FORMAT,
                          "f: corner '%.*s', expected v, v/vt, v//vn, v/vt/vn",
                          mesh_word_shown(word), (const char *)word.text);
    }
    i64 count = (i64)reader->file->vertex_count;
    if (number < -count || number == 0 || number > count) {
        return mesh_error(reader, ERROR_RANGE, "f: vertex %lld, expected 1 to %lld or -%lld to -1",
                          (long long)number, (long long)count, (long long)count);
    }
    *vertex = (u32)(number < 0 ? count + number : number - 1);
    return ERROR_OK;
}

static int read_face(MeshReader *reader)
{
    MeshWord word;
    u32 corners = 0, first = 0, last = 0;
    while (mesh_next_word(reader, &word)) {
        u32 vertex = 0;
        int code = read_corner(reader, word, &vertex);
        if (code == ERROR_OK && corners >= 2) {
            code = mesh_add_triangle(reader, first, last, vertex);
        }
        if (code != ERROR_OK) {
            return code;
        }
        first = corners == 0 ? vertex : first;
        last = vertex;
        corners++;
    }
    return corners >= 3
               ? ERROR_OK
               : mesh_error(reader, ERROR_FORMAT, "f: %u corners, expected at least 3", corners);
}

int mesh_read_obj(MeshReader *reader)
{
    do {
        MeshWord word;
        int code = ERROR_OK;
        if (!mesh_next_word(reader, &word)) {
            continue;
        }
        if (mesh_word_is(word, "v")) {
            code = read_vertex(reader);
        } else if (mesh_word_is(word, "f")) {
            code = read_face(reader);
        }
        if (code != ERROR_OK) {
            return code;
        }
    } while (mesh_next_line(reader));
    return ERROR_OK;
}
