/*
 * test_mesh_file.c: one tetrahedron in every dialect of .obj, .ply and .asc, numbers compared with
 * the C library, and broken files: error code, line or byte, and field of each.
 */
#include "server/author/mesh_reader.h"
#include "shared/base/limits.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka.h needs the first three headers above
#include <cmocka.h>

static int read_text(MeshFile *file, const char *name, const char *text, ErrorText *error)
{
    /* A block of exactly this size, so that a read beyond it is detected. */
    size_t length = strlen(text);
    char *copy = malloc(length + (length == 0));
    assert_non_null(copy);
    memcpy(copy, text, length);
    int code = mesh_file_read(file, copy, length, name, error);
    free(copy);
    return code;
}

static void expect_triangles(const MeshFile *file, const Vec3 *corners, u32 triangles)
{
    assert_int_equal(file->triangle_count, triangles);
    for (u32 i = 0; i < 3 * triangles; i++) {
        assert_true(file->triangles[i] < file->vertex_count);
        Vec3 got = file->vertices[file->triangles[i]];
        if (got.x != corners[i].x || got.y != corners[i].y || got.z != corners[i].z) {
            fail_msg("corner %u: got (%g, %g, %g), expected (%g, %g, %g)", i, (f64)got.x,
                     (f64)got.y, (f64)got.z, (f64)corners[i].x, (f64)corners[i].y,
                     (f64)corners[i].z);
        }
    }
}

#define A                                                                                          \
    {                                                                                              \
        0, 0, 0                                                                                    \
    }
#define B                                                                                          \
    {                                                                                              \
        1.5f, 0, 0                                                                                 \
    }
#define C                                                                                          \
    {                                                                                              \
        0, 200, 0                                                                                  \
    }
#define D                                                                                          \
    {                                                                                              \
        0, 0, -0.25f                                                                               \
    }
/* Two triangles, then a quadrilateral as a fan. */
static const Vec3 expected[12] = {A, B, C, A, D, B, A, B, C, A, C, D};

static void expect_file(const char *name, const char *text, MeshFormat format)
{
    MeshFile file;
    ErrorText error = {0};
    int code = read_text(&file, name, text, &error);
    if (code != ERROR_OK) {
        fail_msg("%s: %d: %s", name, code, error.text);
    }
    assert_int_equal(file.format, format);
    assert_int_equal(file.vertex_count, 4);
    expect_triangles(&file, expected, 4);
    mesh_file_finish(&file);
}

static void test_obj(void **state)
{
    PL_UNUSED(state);
    expect_file("plain.obj",
                "v 0 0 0\nv 1.5 0 0\nv 0 2e2 0\nv 0 0 -.25\nf 1 2 3\nf 1 4 2\nf 1 2 3 4\n",
                MESH_FORMAT_OBJ);
    expect_file("Forms.OBJ",
                "# all forms\r\nmtllib a.mtl\r\no x\r\n\r\nv 0.0 -0 +0.000 1.0\r\n"
                "v 15e-1 0 0 1 .5 .5 .5\r\nv 0 200.0 0\r\nv 0 0 -0.25\r\nvt 0 0\r\nvn 0 0 1\r\n"
                "g one two\r\nusemtl red\r\ns off\r\nf 1/1 2/1 3/1\r\nf 1//1 4//1 2//1\r\n"
                "f 1/1/1 2/1/1 3/1/1 4/1/1",
                MESH_FORMAT_OBJ);
    expect_file("negative.obj",
                "v 0 0 0\nv 1.5 0 0\nv 0 200 0\nf -3 -2 -1\nv 0 0 -0.25\nf -4 -1 -3\n"
                "f -4 -3 \\\n -2 -1\n\n",
                MESH_FORMAT_OBJ);
    expect_file("no extension",
                "# obj by its content\n\nv 0 0 0\nv 1.5 0 0\nv 0 200 0\n"
                "v 0 0 -0.25\nf 1 2 3\nf 1 4 2\nf 1 2 3 4",
                MESH_FORMAT_OBJ);
}

static void test_asc(void **state)
{
    PL_UNUSED(state);
    static const char text[] = "Ambient light color: Red=0.3 Green=0.3 Blue=0.3\n\n"
                               "Named object: \"Corner\"\n"
                               "Tri-mesh, Vertices: 3     Faces: 1\n"
                               "Vertex list:\n"
                               "Vertex 0:  X: 0.000000     Y: 0.000000     Z: 0.000000\n"
                               "Vertex 1:  X:1.500000     Y:0.000000     Z:0.000000\n"
                               "Page 1\n"
                               "Vertex 2:  X: 0     Y: 2.0e+2     Z: 0    U: 0.5 V: 0.5\n"
                               "Face list:\n"
                               "Face 0:    A:0 B:1 C:2 AB:1 BC:1 CA:0\n"
                               "Material:\"r255g255b255a0\"\n"
                               "Smoothing:  1\n\n"
                               "Named object: \"Rest\"\n"
                               "Tri-mesh, Vertices: 4     Faces: 3\n"
                               "Mapped\n"
                               "Vertex list:\n"
                               "Vertex 0:  X: 0 Y: 0 Z: 0\nVertex 1:  X: 1.5 Y: 0 Z: 0\n"
                               "Vertex 2:  X: 0 Y: 200 Z: 0\nVertex 3:  X: 0 Y: 0 Z: -0.25\n"
                               "Face list:\n"
                               "Face 0:    A:0 B:3 C:1 AB:1 BC:1 CA:0\n"
                               "Face 1:    A: 0 B: 1 C: 2 AB: 1 BC: 1 CA: 0\n"
                               "Face 2:    A:0 B:2 C:3\n"
                               "Named object: \"Light01\"\nDirect light\nPosition:  X:1 Y:2 Z:3\n";
    MeshFile file;
    ErrorText error = {0};
    const char *const names[] = {"three.asc", "by its content", "THREE.ASC"};
    for (u32 i = 0; i < 3; i++) {
        if (read_text(&file, names[i], text, &error) != ERROR_OK) {
            fail_msg("%s", error.text);
        }
        assert_int_equal(file.format, MESH_FORMAT_ASC);
        assert_int_equal(file.vertex_count, 7);
        expect_triangles(&file, expected, 4);
        mesh_file_finish(&file);
    }
}

typedef struct Bytes {
    u8 data[2048];
    size_t count;
    bool big;
} Bytes;

static void put(Bytes *bytes, u64 bits, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        bytes->data[bytes->count++] = (u8)(bits >> 8 * (bytes->big ? count - 1 - i : i));
    }
}

static void put_float(Bytes *bytes, f32 number)
{
    u32 bits;
    memcpy(&bits, &number, sizeof bits);
    put(bytes, bits, 4);
}

static void put_double(Bytes *bytes, f64 number)
{
    u64 bits;
    memcpy(&bits, &number, sizeof bits);
    put(bytes, bits, 8);
}

static void put_text(Bytes *bytes, const char *text)
{
    memcpy(bytes->data + bytes->count, text, strlen(text));
    bytes->count += strlen(text);
}

/* Every type once, lists of all length types, an unknown element. */
static Bytes binary_ply(bool big)
{
    Bytes b = {.big = big};
    put_text(&b, "ply\nformat ");
    put_text(&b, big ? "binary_big_endian" : "binary_little_endian");
    put_text(&b, " 1.0\ncomment made by a test\nobj_info nothing\nelement odd 2\n"
                 "property list ushort short extra\nproperty uint id\nelement vertex 4\n"
                 "property uchar red\nproperty float x\nproperty double y\nproperty int8 q\n"
                 "property float32 z\nelement face 3\nproperty list uchar int vertex_indices\n"
                 "property float64 weight\nend_header\n");
    put(&b, 3, 2);
    put(&b, 1, 2);
    put(&b, 2, 2);
    put(&b, 3, 2);
    put(&b, 7, 4);
    put(&b, 0, 2);
    put(&b, 8, 4);
    const Vec3 points[4] = {A, B, C, D};
    for (u32 i = 0; i < 4; i++) {
        put(&b, 255, 1);
        put_float(&b, points[i].x);
        put_double(&b, (f64)points[i].y);
        put(&b, 0x80, 1);
        put_float(&b, points[i].z);
    }
    const u8 faces[3][5] = {{3, 0, 1, 2}, {3, 0, 3, 1}, {4, 0, 1, 2, 3}};
    for (u32 f = 0; f < 3; f++) {
        put(&b, faces[f][0], 1);
        for (u32 i = 1; i <= faces[f][0]; i++) {
            put(&b, faces[f][i], 4);
        }
        put_double(&b, 0.5);
    }
    return b;
}

static void test_ply(void **state)
{
    PL_UNUSED(state);
    expect_file("a.ply",
                "ply\nformat ascii 1.0\ncomment x\nelement vertex 4\nproperty float x\n"
                "property float y\nproperty float z\nproperty uchar red\nelement face 3\n"
                "property list uchar int vertex_index\nend_header\n0 0 0 9\n1.5 0 0 9\n"
                "0 2e2 0 9\n0 0 -.25 9\n3 0 1 2\n3 0 3 1\n4 0 1 2 3\n",
                MESH_FORMAT_PLY);
    for (int big = 0; big < 2; big++) {
        Bytes b = binary_ply(big);
        MeshFile file;
        ErrorText error = {0};
        const char *name = big ? "big" : "little.ply";
        if (mesh_file_read(&file, b.data, b.count, name, &error) != ERROR_OK) {
            fail_msg("%s", error.text);
        }
        expect_triangles(&file, expected, 4);
        mesh_file_finish(&file);
        /* Truncated anywhere it is an error, never a crash. */
        for (size_t n = 0; n < b.count; n++) {
            u8 *copy = malloc(n + (n == 0));
            assert_non_null(copy);
            memcpy(copy, b.data, n);
            assert_true(mesh_file_read(&file, copy, n, "cut.ply", &error) < 0);
            assert_null(file.vertices);
            free(copy);
        }
        b.data[b.count - 8 - 1] = 9;
        int code = mesh_file_read(&file, b.data, b.count, "x.ply", &error);
        assert_int_equal(code, ERROR_RANGE);
        assert_non_null(strstr(error.text, "x.ply: byte "));
        assert_non_null(strstr(error.text, "face 2: vertex "));
    }
}

static void test_errors(void **state)
{
    PL_UNUSED(state);
    static const struct {
        const char *name, *text;
        int code;
        const char *words;
    } rows[] = {
        {"a.obj", "v 0 0 0\nv 1 2\n", ERROR_TRUNCATED, "a.obj: line 2: v: no z"},
        {"a.obj", "v 0 0 0\nv 1 2 x3\n", ERROR_FORMAT, "a.obj: line 2: v: z is 'x3'"},
        {"a.obj", "v 0 nan 0\n", ERROR_FORMAT, "line 1: v: y is 'nan'"},
        {"a.obj", "v 0 inf 0\n", ERROR_FORMAT, "line 1: v: y is 'inf'"},
        {"a.obj", "v 0 1e39 0\n", ERROR_RANGE, "line 1: vertex (0, 1e+39, 0)"},
        {"a.obj", "v 0 1e999999999999 0\n", ERROR_RANGE, "line 1: vertex (0, inf, 0)"},
        {"a.obj", "v 0 0x10 0\n", ERROR_FORMAT, "line 1: v: y is '0x10'"},
        {"a.obj", "v 1,5 0 0\n", ERROR_FORMAT, "line 1: v: x is '1,5'"},
        {"a.obj", "v 0 0 0\nf 1 1 2\n", ERROR_RANGE, "line 2: f: vertex 2, expected 1 to 1"},
        {"a.obj", "v 0 0 0\n\n\nf 0 1 1\n", ERROR_RANGE, "line 4: f: vertex 0"},
        {"a.obj", "v 0 0 0\r\n\r\nf 1 -2 1\r\n", ERROR_RANGE, "line 3: f: vertex -2"},
        {"a.obj", "v 0 0 0\nf 1 1\n", ERROR_FORMAT, "line 2: f: 2 corners"},
        {"a.obj", "v 0 0 0\nf 1/a 1 1\n", ERROR_FORMAT, "line 2: f: corner '1/a'"},
        {"a.obj", "v 0 0 0\nf 1/1/1/1 1 1\n", ERROR_FORMAT, "corner '1/1/1/1'"},
        {"a.obj", "v 0 0 0\nf 99999999999999999999 1 1\n", ERROR_FORMAT, "corner '999"},
        {"a.obj", "v 0 0 0\n", ERROR_FORMAT, "a.obj: no faces"},
        {"a.obj", "", ERROR_TRUNCATED, "a.obj: empty"},
        {"a.png", "\x89PNG\n", ERROR_UNSUPPORTED,
         "a.png: unknown format, expected .obj, .ply or .asc"},
        {"a.asc", "Vertex 0: X:0 Y:0 Z:0\n", ERROR_FORMAT, "line 1: Vertex 0 before"},
        {"a.asc", "Tri-mesh, Vertices: 2 Faces: 1\nVertex 1: X:0 Y:0 Z:0\n", ERROR_FORMAT,
         "line 2: Vertex 1, expected 0"},
        {"a.asc", "Tri-mesh, Vertices: 2 Faces: 1\nVertex 0: X:0 Z:0 Y:0\n", ERROR_FORMAT,
         "line 2: Vertex 0: Y:"},
        {"a.asc", "Tri-mesh, Vertices: 1 Faces: 1\nVertex 0: X:0 Y:0 Z:0\nFace 0: A:0 B:1 C:0\n",
         ERROR_RANGE, "line 3: Face 0: B: vertex 1, expected 0 to 0"},
        {"a.asc", "Tri-mesh, Vertices: 2 Faces: 1\nVertex 0: X:0 Y:0 Z:0\n", ERROR_TRUNCATED,
         "the object of line 1 ends with 1 of 2 vertices, 0 of 1 faces"},
        {"a.asc", "Tri-mesh, Vertices: 1 Faces: 1\nVertex 0: X:0 Y:0 Z:0\nVertex 1: X:0 Y:0 Z:0",
         ERROR_RANGE, "line 3: Vertex 1: the object has 1"},
        {"a.asc", "Tri-mesh, Vertices: 99999999 Faces: 1\n", ERROR_LIMIT,
         "line 1: Tri-mesh: 99999999 vertices"},
        {"a.ply", "plx\n", ERROR_FORMAT, "line 1: expected 'ply'"},
        {"a.ply", "ply\nformat text 1.0\n", ERROR_FORMAT, "line 2: format 'text'"},
        {"a.ply", "ply\nformat ascii 2.0\n", ERROR_VERSION, "line 2: format: expected version"},
        {"a.ply", "ply\nformat ascii 1.0\nelement vertex -1\n", ERROR_FORMAT, "line 3: element"},
        {"a.ply", "ply\nformat ascii 1.0\nelement vertex 1000000\n", ERROR_LIMIT,
         "line 3: element vertex: 1000000, expected at most 524288"},
        {"a.ply", "ply\nproperty float x\n", ERROR_FORMAT, "line 2: property before"},
        {"a.ply", "ply\nelement vertex 1\nproperty quad x\n", ERROR_FORMAT,
         "line 3: property: unknown type 'quad'"},
        {"a.ply", "ply\nelement face 1\nproperty list float int vertex_index\n", ERROR_FORMAT,
         "line 3: property list: length of type 'float'"},
        {"a.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n",
         ERROR_FORMAT, "line 5: header: expected element vertex with x, y, z"},
        {"a.ply",
         "ply\nformat ascii 1.0\nelement vertex 9\nproperty float x\nproperty float y\n"
         "property float z\nelement face 1\nproperty list uchar int vertex_index\nend_header\n0 0",
         ERROR_TRUNCATED, "line 10: vertex: 9 of at least 3 bytes each, but 3 bytes are left"},
        {"a.ply",
         "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
         "property float z\nelement face 1\nproperty list uchar int vertex_index\nend_header\n"
         "0 0 0\n3 0 0 1\n",
         ERROR_RANGE, "line 11: face 0: vertex 1, expected 0 to 0"},
    };
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        MeshFile file;
        ErrorText error = {0};
        int code = read_text(&file, rows[i].name, rows[i].text, &error);
        if (code != rows[i].code || strstr(error.text, rows[i].words) == NULL) {
            fail_msg("row %u: got %d '%s', expected %d '%s'", i, code, error.text, rows[i].code,
                     rows[i].words);
        }
        assert_null(file.vertices);
    }
}

/* A million vertices are refused at the limit, without gigabytes of memory. */
static void test_too_many(void **state)
{
    PL_UNUSED(state);
    enum {
        LINES = 1000000,
        LINE_BYTES = 8
    };
    char *text = malloc((size_t)LINES * LINE_BYTES + 1);
    assert_non_null(text);
    for (u32 i = 0; i < LINES; i++) {
        memcpy(text + (size_t)i * LINE_BYTES, "v 1 2 3\n", LINE_BYTES);
    }
    MeshFile file;
    ErrorText error = {0};
    int code = mesh_file_read(&file, text, (size_t)LINES * LINE_BYTES, "big.obj", &error);
    assert_int_equal(code, ERROR_LIMIT);
    assert_string_equal(error.text, "big.obj: line 524289: more than 524288 vertices");
    code = mesh_file_read(&file, text, (size_t)MESH_FILE_BYTES_MAX + 1, "big.obj", &error);
    assert_int_equal(code, ERROR_LIMIT);
    free(text);
}

/* The C library rounds correctly; ours differs by at most one unit in the last place of f64, and is
 * equal as f32 except for ties. */
static void test_numbers(void **state)
{
    PL_UNUSED(state);
    static const char *const texts[] = {"0",
                                        "-0",
                                        "1",
                                        "-1.",
                                        "+.5",
                                        "1e5",
                                        "1E-5",
                                        "3.4028235e38",
                                        "1e-45",
                                        "123456789012345678901234567890",
                                        "0.000000000000000000000000000000000012345",
                                        "9007199254740993",
                                        "1.7976931348623157e308",
                                        "4.9e-324",
                                        "2.5e+0",
                                        "00012.500",
                                        "0e999999999"};
    for (u32 i = 0; i < PL_COUNT(texts); i++) {
        MeshWord word = {(const u8 *)texts[i], (u32)strlen(texts[i])};
        f64 got = NAN, want = strtod(texts[i], NULL);
        assert_true(mesh_word_number(word, &got));
        if (!(fabs(got - want) <= 4.5e-16 * fabs(want) + 5e-324)) {
            fail_msg("'%s': got %.17g, expected %.17g", texts[i], got, want);
        }
    }
    static const char *const bad[] = {"", "-", ".", "e5", "1e", "1e+", "1.2.3", "1x", "--1", "inf"};
    for (u32 i = 0; i < PL_COUNT(bad); i++) {
        MeshWord word = {(const u8 *)bad[i], (u32)strlen(bad[i])};
        f64 number;
        assert_false(mesh_word_number(word, &number));
    }
    /* A locale with a decimal comma has no effect (where the machine has one). */
    setlocale(LC_NUMERIC, "de_DE.UTF-8");
    for (u32 i = 0; i < 20000; i++) {
        char text[40];
        f32 number = (f32)(i * 7919 % 20011) * 1.37e-3f - 13.0f;
        snprintf(text, sizeof text, "%.9g", (f64)number);
        for (char *c = text; *c != 0; c++) {
            *c = *c == ',' ? '.' : *c;
        }
        MeshWord word = {(const u8 *)text, (u32)strlen(text)};
        f64 got = NAN;
        assert_true(mesh_word_number(word, &got) && (f32)got == number);
    }
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_obj),      cmocka_unit_test(test_asc),
        cmocka_unit_test(test_ply),      cmocka_unit_test(test_errors),
        cmocka_unit_test(test_too_many), cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
