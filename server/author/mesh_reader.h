/*
 * mesh_reader.h: shared by the readers of mesh_file.h: words and numbers of text, growing lists of
 * vertices and triangles, and errors with their location.
 * Layer: server/author.
 */
#ifndef PLENUM_SERVER_AUTHOR_MESH_READER_H
#define PLENUM_SERVER_AUTHOR_MESH_READER_H

#include "server/author/mesh_file.h"

enum {
    MESH_NAME_SHOWN_MAX = 120 /* bytes of a file's name in an error */
};

typedef struct MeshReader {
    const u8 *begin, *at, *end;
    u32 line; /* of text, from 1; 0: binary */
    const char *name;
    MeshFile *file;
    u32 vertex_capacity, triangle_capacity;
    ErrorText *error;
} MeshReader;

/* A word of text: no spaces, not zero-terminated. */
typedef struct MeshWord {
    const u8 *text;
    u32 length;
} MeshWord;

/* Of any system's text files. */
static inline bool mesh_is_line_end(u8 c)
{
    return c == '\n' || c == '\r';
}

PL_BEGIN_C
int mesh_read_obj(MeshReader *reader);
int mesh_read_asc(MeshReader *reader);
int mesh_read_ply(MeshReader *reader);

/* "name: line 12: text", or "name: byte 1234: text". */
int mesh_error(const MeshReader *reader, Error code, const char *format, ...) PL_PRINTF(3, 4);
/* Adds a vertex; its numbers must be finite as f32 (ERROR_RANGE), and not too many
 * (ERROR_LIMIT). */
int mesh_add_vertex(MeshReader *reader, const f64 place[3]);
int mesh_add_triangle(MeshReader *reader, u32 a, u32 b, u32 c);

/* The next word of this line, false at its end. A backslash at the end of a line continues it. */
bool mesh_next_word(MeshReader *reader, MeshWord *word);
/* Moves to the start of the next line; false at the end. */
bool mesh_next_line(MeshReader *reader);
bool mesh_word_is(MeshWord word, const char *text);
/* Parses the whole word as a decimal number; false also for nan and inf. Independent of the
 * locale. */
bool mesh_word_number(MeshWord word, f64 *number);
/* Parses the whole word as an integer of at most 18 digits. */
bool mesh_word_integer(MeshWord word, i64 *number);
/* Length of a word for %.*s, limited since hostile files contain long ones. */
int mesh_word_shown(MeshWord word);
PL_END_C

#endif
