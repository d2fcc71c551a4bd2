/*
 * mesh_file_ply.c: Stanford .ply (Turk 1994): a text header that names elements and the types of
 * their properties, then their values as text or as binary of either byte order. Only x, y, z of
 * the element "vertex" and the list "vertex_indices" (or "vertex_index") of "face" are used.
 */
#include "server/author/mesh_reader.h"
#include "shared/base/limits.h"

#include <string.h>

enum {
    ELEMENTS_MAX = 16,
    PROPERTIES_MAX = 64 /* of one element */
};

typedef enum PlyType {
    PLY_NONE, /* no list */
    PLY_I8,
    PLY_U8,
    PLY_I16,
    PLY_U16,
    PLY_I32,
    PLY_U32,
    PLY_F32,
    PLY_F64
} PlyType;

typedef enum PlyUse {
    PLY_UNUSED,
    PLY_X,
    PLY_Y,
    PLY_Z,
    PLY_INDICES
} PlyUse;

typedef struct PlyProperty {
    PlyType type, list; /* of the value; of the number before a list's values */
    PlyUse use;
} PlyProperty;

typedef struct PlyElement {
    PlyProperty properties[PROPERTIES_MAX];
    u64 count;
    u32 property_count;
    bool vertex, face;
    char name[24];
} PlyElement;

typedef struct PlyFile {
    PlyElement elements[ELEMENTS_MAX];
    u32 element_count;
    u32 vertices; /* announced */
    bool text, big;
} PlyFile;

/* ---- header ------------------------------------------------------------------------------- */

static u32 type_bytes(PlyType type)
{
    static const u8 bytes[] = {0, 1, 1, 2, 2, 4, 4, 4, 8};
    return bytes[type];
}

static PlyType type_of(MeshWord word)
{
    static const struct {
        const char *name;
        PlyType type;
    } types[] = {
        {"char", PLY_I8},   {"int8", PLY_I8},     {"uchar", PLY_U8},   {"uint8", PLY_U8},
        {"short", PLY_I16}, {"int16", PLY_I16},   {"ushort", PLY_U16}, {"uint16", PLY_U16},
        {"int", PLY_I32},   {"int32", PLY_I32},   {"uint", PLY_U32},   {"uint32", PLY_U32},
        {"float", PLY_F32}, {"float32", PLY_F32}, {"double", PLY_F64}, {"float64", PLY_F64}};
    for (size_t i = 0; i < PL_COUNT(types); i++) {
        if (mesh_word_is(word, types[i].name)) {
            return types[i].type;
        }
    }
    return PLY_NONE;
}

static int read_format_line(MeshReader *reader, PlyFile *ply)
{
    MeshWord word = {reader->at, 0};
    mesh_next_word(reader, &word);
    ply->text = mesh_word_is(word, "ascii");
    ply->big = mesh_word_is(word, "binary_big_endian");
    if (!ply->text && !ply->big && !mesh_word_is(word, "binary_little_endian")) {
        return mesh_error(reader, ERROR_FORMAT,
                          "format '%.*s', expected ascii, binary_little_endian, binary_big_endian",
                          mesh_word_shown(word), (const char *)word.text);
    }
    if (!mesh_next_word(reader, &word) || !mesh_word_is(word, "1.0")) {
        return mesh_error(reader, ERROR_VERSION, "format: expected version 1.0");
    }
    return ERROR_OK;
}

static int read_element_line(MeshReader *reader, PlyFile *ply)
{
    MeshWord name, number;
    i64 count;
    if (!mesh_next_word(reader, &name) || !mesh_next_word(reader, &number) ||
        !mesh_word_integer(number, &count) || count < 0) {
        return mesh_error(reader, ERROR_FORMAT, "element: expected a name and a count");
    }
    if (ply->element_count == ELEMENTS_MAX) {
        return mesh_error(reader, ERROR_LIMIT, "element: more than %d", ELEMENTS_MAX);
    }
    PlyElement *element = &ply->elements[ply->element_count++];
    element->count = (u64)count;
    element->vertex = mesh_word_is(name, "vertex");
    element->face = mesh_word_is(name, "face");
    memcpy(element->name, name.text, u32_min(name.length, sizeof element->name - 1));
    for (const PlyElement *e = ply->elements; e < element; e++) {
        if ((e->vertex && element->vertex) || (e->face && element->face)) {
            return mesh_error(reader, ERROR_FORMAT, "element %s: given twice", element->name);
        }
    }
    i64 most = element->vertex ? MESH_FILE_VERTICES_MAX : MESH_FILE_TRIANGLES_MAX;
    if ((element->vertex || element->face) && count > most) {
        return mesh_error(reader, ERROR_LIMIT, "element %s: %lld, expected at most %lld",
                          element->name, (long long)count, (long long)most);
    }
    if (element->vertex) {
        ply->vertices = (u32)count;
    }
    return ERROR_OK;
}

static PlyUse use_of(const PlyElement *element, const PlyProperty *property, MeshWord name)
{
    if (element->vertex && property->list == PLY_NONE) {
        return mesh_word_is(name, "x")   ? PLY_X
               : mesh_word_is(name, "y") ? PLY_Y
               : mesh_word_is(name, "z") ? PLY_Z
                                         : PLY_UNUSED;
    }
    bool indices = mesh_word_is(name, "vertex_indices") || mesh_word_is(name, "vertex_index");
    return element->face && property->list != PLY_NONE && indices ? PLY_INDICES : PLY_UNUSED;
}

static int read_property_line(MeshReader *reader, PlyFile *ply)
{
    MeshWord word = {reader->at, 0};
    if (ply->element_count == 0) {
        return mesh_error(reader, ERROR_FORMAT, "property before the first element");
    }
    PlyElement *element = &ply->elements[ply->element_count - 1];
    if (element->property_count == PROPERTIES_MAX) {
        return mesh_error(reader, ERROR_LIMIT, "property: more than %d of element %s",
                          PROPERTIES_MAX, element->name);
    }
    PlyProperty *property = &element->properties[element->property_count++];
    mesh_next_word(reader, &word);
    bool list = mesh_word_is(word, "list");
    if (list) {
        mesh_next_word(reader, &word);
        property->list = type_of(word);
        if (property->list == PLY_NONE || property->list >= PLY_F32) {
            return mesh_error(reader, ERROR_FORMAT,
                              "property list: length of type '%.*s', expected a whole number's",
                              mesh_word_shown(word), (const char *)word.text);
        }
        mesh_next_word(reader, &word);
    }
    property->type = type_of(word);
    if (property->type == PLY_NONE) {
        return mesh_error(reader, ERROR_FORMAT, "property: unknown type '%.*s'",
                          mesh_word_shown(word), (const char *)word.text);
    }
    if (!mesh_next_word(reader, &word)) {
        return mesh_error(reader, ERROR_TRUNCATED, "property: no name");
    }
    property->use = use_of(element, property, word);
    for (const PlyProperty *p = element->properties; p < property; p++) {
        if (property->use != PLY_UNUSED && p->use == property->use) {
            return mesh_error(reader, ERROR_FORMAT, "property %.*s: given twice",
                              mesh_word_shown(word), (const char *)word.text);
        }
    }
    if (property->use == PLY_INDICES && property->type >= PLY_F32) {
        return mesh_error(reader, ERROR_FORMAT, "property %.*s: expected a whole number's type",
                          mesh_word_shown(word), (const char *)word.text);
    }
    return ERROR_OK;
}

static bool has_use(const PlyElement *element, PlyUse use)
{
    for (u32 i = 0; i < element->property_count; i++) {
        if (element->properties[i].use == use) {
            return true;
        }
    }
    return false;
}

static int check_header(const MeshReader *reader, const PlyFile *ply)
{
    bool vertex = false, face = false;
    for (u32 i = 0; i < ply->element_count; i++) {
        const PlyElement *e = &ply->elements[i];
        vertex =
            vertex || (e->vertex && has_use(e, PLY_X) && has_use(e, PLY_Y) && has_use(e, PLY_Z));
        face = face || (e->face && has_use(e, PLY_INDICES));
    }
    if (!vertex || !face) {
        return mesh_error(reader, ERROR_FORMAT,
                          "header: expected element vertex with x, y, z and element face with "
                          "vertex_indices");
    }
    return ERROR_OK;
}

/* Reads up to the first byte after the header's last line. */
static int read_header(MeshReader *reader, PlyFile *ply)
{
    bool format = false;
    MeshWord word;
    if (!mesh_next_word(reader, &word) || !mesh_word_is(word, "ply")) {
        return mesh_error(reader, ERROR_FORMAT, "expected 'ply'");
    }
    while (mesh_next_line(reader)) {
        int code = ERROR_OK;
        if (!mesh_next_word(reader, &word)) {
            continue;
        }
        if (mesh_word_is(word, "format")) {
            format = true;
            code = read_format_line(reader, ply);
        } else if (mesh_word_is(word, "element")) {
            code = read_element_line(reader, ply);
        } else if (mesh_word_is(word, "property")) {
            code = read_property_line(reader, ply);
        } else if (mesh_word_is(word, "end_header")) {
            if (!format) {
                return mesh_error(reader, ERROR_FORMAT, "header: no format");
            }
            code = check_header(reader, ply);
            mesh_next_line(reader);
            return code;
        } else if (!mesh_word_is(word, "comment") && !mesh_word_is(word, "obj_info")) {
            return mesh_error(reader, ERROR_FORMAT, "header: unknown word '%.*s'",
                              mesh_word_shown(word), (const char *)word.text);
        }
        if (code != ERROR_OK) {
            return code;
        }
    }
    return mesh_error(reader, ERROR_TRUNCATED, "header: no end_header");
}

/* ---- values ------------------------------------------------------------------------------- */

static int truncated(const MeshReader *reader, const PlyElement *element, u64 row)
{
    return mesh_error(reader, ERROR_TRUNCATED, "%s %llu: the file ends", element->name,
                      (unsigned long long)row);
}

static f64 number_of(PlyType type, u64 bits)
{
    f32 single;
    f64 number;
    u32 low = (u32)bits;
    switch (type) {
    case PLY_I8:
        return (f64)(i8)bits;
    case PLY_I16:
        return (f64)(i16)bits;
    case PLY_I32:
        return (f64)(i32)bits;
    case PLY_F32:
        memcpy(&single, &low, sizeof single);
        return (f64)single;
    case PLY_F64:
        memcpy(&number, &bits, sizeof number);
        return number;
    default:
        return (f64)bits;
    }
}

static int read_value(MeshReader *reader, const PlyFile *ply, const PlyElement *element, u64 row,
                      PlyType type, f64 *value)
{
    if (ply->text) {
        MeshWord word;
        while (!mesh_next_word(reader, &word)) {
            if (!mesh_next_line(reader)) {
                return truncated(reader, element, row);
            }
        }
        if (!mesh_word_number(word, value)) {
            return mesh_error(reader, ERROR_FORMAT, "%s %llu: '%.*s', expected a number",
                              element->name, (unsigned long long)row, mesh_word_shown(word),
                              (const char *)word.text);
        }
        return ERROR_OK;
    }
    u32 bytes = type_bytes(type);
    u64 bits = 0;
    if ((size_t)(reader->end - reader->at) < bytes) {
        return truncated(reader, element, row);
    }
    for (u32 i = 0; i < bytes; i++) {
        u32 place = ply->big ? bytes - 1 - i : i;
        bits |= (u64)reader->at[i] << 8 * place;
    }
    reader->at += bytes;
    *value = number_of(type, bits);
    return ERROR_OK;
}

static int read_list(MeshReader *reader, const PlyFile *ply, const PlyElement *element, u64 row,
                     const PlyProperty *property)
{
    f64 length, value;
    u32 first = 0, last = 0;
    int code = read_value(reader, ply, element, row, property->list, &length);
    if (code != ERROR_OK) {
        return code;
    }
    bool indices = property->use == PLY_INDICES;
    /* Each value takes at least one byte. */
    if (!(length >= (indices ? 3.0 : 0.0) && length <= (f64)MESH_FILE_BYTES_MAX)) {
        return mesh_error(reader, ERROR_FORMAT, "%s %llu: a list of %g, expected at least %d",
                          element->name, (unsigned long long)row, length, indices ? 3 : 0);
    }
    u32 count = (u32)length;
    for (u32 i = 0; i < count; i++) {
        code = read_value(reader, ply, element, row, property->type, &value);
        if (code != ERROR_OK) {
            return code;
        }
        if (!indices) {
            continue;
        }
        if (!(value >= 0.0 && value < (f64)ply->vertices) || value != (f64)(u32)value) {
            return mesh_error(reader, ERROR_RANGE, "%s %llu: vertex %g, expected 0 to %u",
                              element->name, (unsigned long long)row, value,
                              ply->vertices == 0 ? 0 : ply->vertices - 1);
        }
        u32 vertex = (u32)value;
        if (i >= 2) {
            code = mesh_add_triangle(reader, first, last, vertex);
            if (code != ERROR_OK) {
                return code;
            }
        }
        first = i == 0 ? vertex : first;
        last = vertex;
    }
    return ERROR_OK;
}

static int read_row(MeshReader *reader, const PlyFile *ply, const PlyElement *element, u64 row)
{
    f64 place[3] = {0.0, 0.0, 0.0};
    for (u32 i = 0; i < element->property_count; i++) {
        const PlyProperty *property = &element->properties[i];
        f64 value;
        int code = property->list != PLY_NONE
                       ? read_list(reader, ply, element, row, property)
                       : read_value(reader, ply, element, row, property->type, &value);
        if (code != ERROR_OK) {
            return code;
        }
        if (property->use >= PLY_X && property->use <= PLY_Z) {
            place[property->use - PLY_X] = value;
        }
    }
    return element->vertex ? mesh_add_vertex(reader, place) : ERROR_OK;
}

/* Minimal bytes of a row. */
static u64 row_bytes(const PlyFile *ply, const PlyElement *element)
{
    u64 bytes = 0;
    for (u32 i = 0; i < element->property_count; i++) {
        const PlyProperty *p = &element->properties[i];
        bytes += ply->text ? 1 : type_bytes(p->list != PLY_NONE ? p->list : p->type);
    }
    return bytes;
}

int mesh_read_ply(MeshReader *reader)
{
    PlyFile ply = {0};
    int code = read_header(reader, &ply);
    if (code != ERROR_OK) {
        return code;
    }
    reader->line = ply.text ? reader->line : 0;
    for (u32 i = 0; i < ply.element_count; i++) {
        const PlyElement *element = &ply.elements[i];
        u64 bytes = row_bytes(&ply, element), left = (u64)(reader->end - reader->at);
        if (bytes == 0) {
            continue; /* nothing to read, whatever the count */
        }
        if (element->count > left / bytes) {
            return mesh_error(reader, ERROR_TRUNCATED,
                              "%s: %llu of at least %llu bytes each, but %llu bytes are left",
                              element->name, (unsigned long long)element->count,
                              (unsigned long long)bytes, (unsigned long long)left);
        }
        for (u64 row = 0; row < element->count; row++) {
            code = read_row(reader, &ply, element, row);
            if (code != ERROR_OK) {
                return code;
            }
        }
    }
    return ERROR_OK;
}
