/* mesh_reader.c: see mesh_reader.h. */
#include "server/author/mesh_reader.h"
#include "shared/base/limits.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD_SHOWN_MAX = 24
};

/* ---- errors and lists --------------------------------------------------------------------- */

int mesh_error(const MeshReader *reader, Error code, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (reader->line > 0) {
        return error_set(reader->error, code, "%.*s: line %u: %s", MESH_NAME_SHOWN_MAX,
                         reader->name, reader->line, text);
    }
    return error_set(reader->error, code, "%.*s: byte %zu: %s", MESH_NAME_SHOWN_MAX, reader->name,
                     (size_t)(reader->at - reader->begin), text);
}

/* Reserves space for one more; false: out of memory. */
static bool make_capacity(void **list, u32 count, u32 *capacity, size_t size)
{
    if (count < *capacity) {
        return true;
    }
    u32 more = *capacity < 1024 ? 1024 : 2 * *capacity;
    void *larger = realloc(*list, more * size);
    if (larger == NULL) {
        return false;
    }
    *list = larger;
    *capacity = more;
    return true;
}

int mesh_add_vertex(MeshReader *reader, const f64 place[3])
{
    MeshFile *file = reader->file;
    if (file->vertex_count >= MESH_FILE_VERTICES_MAX) {
        return mesh_error(reader, ERROR_LIMIT, "more than %d vertices", MESH_FILE_VERTICES_MAX);
    }
    Vec3 v = vec3((f32)place[0], (f32)place[1], (f32)place[2]);
    if (!vec3_is_finite(v)) {
        return mesh_error(reader, ERROR_RANGE,
                          "vertex (%g, %g, %g), expected numbers that are finite", place[0],
                          place[1], place[2]);
    }
    void *list = file->vertices;
    if (!make_capacity(&list, file->vertex_count, &reader->vertex_capacity, sizeof v)) {
        return mesh_error(reader, ERROR_MEMORY, "out of memory for vertices");
    }
    file->vertices = list;
    file->vertices[file->vertex_count++] = v;
    return ERROR_OK;
}

int mesh_add_triangle(MeshReader *reader, u32 a, u32 b, u32 c)
{
    MeshFile *file = reader->file;
    if (file->triangle_count >= MESH_FILE_TRIANGLES_MAX) {
        return mesh_error(reader, ERROR_LIMIT, "more than %d triangles", MESH_FILE_TRIANGLES_MAX);
    }
    void *list = file->triangles;
    if (!make_capacity(&list, file->triangle_count, &reader->triangle_capacity, 3 * sizeof(u32))) {
        return mesh_error(reader, ERROR_MEMORY, "out of memory for triangles");
    }
    file->triangles = list;
    u32 *corner = &file->triangles[3 * (size_t)file->triangle_count++];
    corner[0] = a;
    corner[1] = b;
    corner[2] = c;
    return ERROR_OK;
}

/* ---- words and numbers -------------------------------------------------------------------- */

static bool is_blank(u8 c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == 0;
}

/* Past one line end of any system. */
static void pass_line_end(MeshReader *reader)
{
    bool pair = reader->at + 1 < reader->end && reader->at[0] == '\r' && reader->at[1] == '\n';
    reader->at += pair ? 2 : 1;
    reader->line++;
}

bool mesh_next_word(MeshReader *reader, MeshWord *word)
{
    for (;;) {
        while (reader->at < reader->end && is_blank(*reader->at)) {
            reader->at++;
        }
        bool continued =
            reader->at + 1 < reader->end && *reader->at == '\\' && mesh_is_line_end(reader->at[1]);
        if (!continued) {
            break;
        }
        reader->at++;
        pass_line_end(reader);
    }
    word->text = reader->at;
    while (reader->at < reader->end && !is_blank(*reader->at) && !mesh_is_line_end(*reader->at)) {
        reader->at++;
    }
    word->length = (u32)(reader->at - word->text);
    return word->length > 0;
}

bool mesh_next_line(MeshReader *reader)
{
    while (reader->at < reader->end && !mesh_is_line_end(*reader->at)) {
        reader->at++;
    }
    if (reader->at < reader->end) {
        pass_line_end(reader);
    }
    return reader->at < reader->end;
}

bool mesh_word_is(MeshWord word, const char *text)
{
    return strlen(text) == word.length && memcmp(word.text, text, word.length) == 0;
}

int mesh_word_shown(MeshWord word)
{
    return (int)u32_min(word.length, WORD_SHOWN_MAX);
}

static bool is_digit(u8 c)
{
    return c >= '0' && c <= '9';
}

/* number × 10^exponent. 10^22 is the largest power of ten that is exact in 53 bits. */
static f64 scale_by_ten(f64 number, i32 exponent)
{
    static const f64 powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    for (; exponent > 22; exponent -= 22) {
        number *= 1e22;
    }
    for (; exponent < -22; exponent += 22) {
        number /= 1e22;
    }
    return exponent < 0 ? number / powers[-exponent] : number * powers[exponent];
}

bool mesh_word_number(MeshWord word, f64 *number)
{
    const u8 *at = word.text, *end = at + word.length;
    bool negative = at < end && *at == '-', any = false, point = false;
    u64 digits = 0;
    i32 exponent = 0;
    at += at < end && (*at == '-' || *at == '+');
    for (; at < end && (is_digit(*at) || (*at == '.' && !point)); at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        any = true;
        if (digits < 1000000000000000000u) { /* 19 digits fit; more of them change nothing */
            digits = 10 * digits + (u64)(*at - '0');
            exponent -= point;
        } else {
            exponent += !point && exponent < 100000;
        }
    }
    if (!any) {
        return false;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        bool down = at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        i32 power = 0;
        if (at >= end || !is_digit(*at)) {
            return false;
        }
        for (; at < end && is_digit(*at); at++) {
            power = power < 10000 ? 10 * power + (*at - '0') : power;
        }
        exponent += down ? -power : power;
    }
    /* Beyond this all numbers are 0 or infinite: no need to go there in steps of 22. */
    exponent = exponent < -400 ? -400 : exponent > 400 ? 400 : exponent;
    f64 value = digits == 0 ? 0.0 : scale_by_ten((f64)digits, exponent);
    *number = negative ? -value : value;
    return at == end;
}

bool mesh_word_integer(MeshWord word, i64 *number)
{
    const u8 *at = word.text, *end = at + word.length;
    bool negative = at < end && *at == '-';
    i64 value = 0;
    at += at < end && (*at == '-' || *at == '+');
    if (at >= end || end - at > 18) {
        return false;
    }
    for (; at < end && is_digit(*at); at++) {
        value = 10 * value + (*at - '0');
    }
    *number = negative ? -value : value;
    return at == end;
}
