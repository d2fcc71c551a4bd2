/*
 * mesh_reader.h: what the readers of mesh_file.h share: words and numbers of text, growing lists of
 * vertices and triangles, and errors that say where they are.
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
    u32 line; /* of text, from 1; 0: bytes, not text */
    const char *name;
    MeshFile *file;
    u32 vertex_capacity, triangle_capacity;
    ErrorText *error;
} MeshReader;

/* A word of text: no blanks, not ended by a 0. */
typedef struct MeshWord {
    const u8 *text;
    u32 length;
} MeshWord;

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
/* Adds to the file; the numbers must be finite as f32 (ERROR_RANGE), and few enough (ERROR_LIMIT).
 */
int mesh_add_vertex(MeshReader *reader, const f64 place[3]);
int mesh_add_triangle(MeshReader *reader, u32 a, u32 b, u32 c);

/* The next word of this line, false at its end. A backslash at the end of a line continues it. */
bool mesh_next_word(MeshReader *reader, MeshWord *word);
/* To the begin of the next line; false where there is none. */
bool mesh_next_line(MeshReader *reader);
bool mesh_word_is(MeshWord word, const char *text);
/* The whole word is a decimal number; false for nan and inf as well. Same bits in every locale. */
bool mesh_word_number(MeshWord word, f64 *number);
/* The whole word is a whole number of at most 18 digits. */
bool mesh_word_integer(MeshWord word, i64 *number);
/* Length of a word as %.*s likes it: hostile files have long ones. */
int mesh_word_shown(MeshWord word);
PL_END_C

#endif
