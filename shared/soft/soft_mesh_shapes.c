/* soft_mesh_shapes.c: soft spheres, rings, tubes and boxes. */
#include "shared/base/limits.h"
#include "shared/math/trig.h"
#include "shared/mesh/mesh_shapes.h"
#include "shared/soft/soft_mesh_make.h"
#include "shared/soft/tetrahedralize.h"

#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

static Vec3 on_circle(f64 radius, f64 turn, f32 y)
{
    f64 s, c;
    trig_sincos(2.0 * PI * turn, &s, &c);
    return vec3((f32)(radius * c), y, (f32)(-radius * s));
}

/* ---- sphere ------------------------------------------------------------------------------- */

static void icosahedron(SoftMesh *mesh)
{
    for (u32 i = 0; i < 12; i++) {
        soft_mesh_add_point(mesh, ICOSAHEDRON_POINTS[i]);
    }
    for (u32 i = 0; i < 20; i++) {
        const u8 *face = ICOSAHEDRON_FACES[i];
        soft_mesh_add_triangle(mesh, face[0], face[1], face[2]);
    }
}

/* Splits each triangle in four; an edge's midpoint is created by its first side. */
static bool split_in_four(SoftMesh *mesh)
{
    SurfaceEdges edges;
    u32 count = mesh->triangle_count, points = mesh->point_count;
    u32 *middle = malloc(3 * (size_t)count * sizeof *middle);
    bool ok = surface_edges_build(&edges, mesh->triangles, count, points, NULL) && middle != NULL;
    for (u32 low = 0; ok && low < points; low++) {
        for (u32 i = edges.start[low], next, end = edges.start[low + 1]; i < end; i = next) {
            next = surface_edge_end(&edges, i, end);
            Vec3 sum = vec3_add(mesh->points[low], mesh->points[edges.sides[i].high]);
            u32 point = soft_mesh_add_point(mesh, vec3_scale(sum, 0.5f));
            for (u32 k = i; k < next; k++) {
                middle[edges.sides[k].side] = point;
            }
        }
    }
    for (u32 t = 0; ok && t < count; t++) {
        u32 *corner = &mesh->triangles[3 * t], *m = &middle[3 * t];
        soft_mesh_add_triangle(mesh, corner[0], m[0], m[2]);
        soft_mesh_add_triangle(mesh, corner[1], m[1], m[0]);
        soft_mesh_add_triangle(mesh, corner[2], m[2], m[1]);
        memcpy(corner, m, 3 * sizeof *m);
    }
    surface_edges_finish(&edges);
    free(middle);
    return ok;
}

int soft_mesh_sphere(SoftMesh *mesh, f32 radius, u32 level, ErrorText *error)
{
    memset(mesh, 0, sizeof *mesh);
    if (level > SOFT_SPHERE_LEVEL_MAX) {
        return error_set(error, ERROR_LIMIT, "sphere: level %u, expected 0 to %d", level,
                         SOFT_SPHERE_LEVEL_MAX);
    }
    if (!soft_mesh_is_length(radius)) {
        return error_set(error, ERROR_RANGE, "sphere: radius %g m, expected above 0, at most %g",
                         (f64)radius, (f64)WORLD_EXTENT_MAX_M);
    }
    size_t quarters = (size_t)1 << 2 * level;
    int code = soft_mesh_begin(mesh, 10 * quarters + 2, 20 * quarters, 0, error);
    if (code != ERROR_OK) {
        return code;
    }
    icosahedron(mesh);
    for (u32 i = 0; i <= level; i++) {
        for (u32 p = 0; p < mesh->point_count; p++) {
            Vec3 unit = vec3_normalize_or(mesh->points[p], vec3(0.0f, 1.0f, 0.0f));
            mesh->points[p] = i == level ? vec3_scale(unit, radius) : unit;
        }
        if (i < level && !split_in_four(mesh)) {
            return soft_mesh_no_memory(mesh, error);
        }
    }
    mesh->closed = true;
    return ERROR_OK;
}

/* ---- torus and tube ----------------------------------------------------------------------- */

/* Connects point i of one circle and its successor to those of the next circle, whose point i
 * lies behind (staggered: half a segment ahead). Seen from outside the second circle is on the left
 * of the first. */
static void join_circles(SoftMesh *mesh, u32 first, u32 second, u32 segments, bool staggered)
{
    for (u32 i = 0; i < segments; i++) {
        u32 next = (i + 1) % segments;
        if (staggered) {
            soft_mesh_add_triangle(mesh, first + i, first + next, second + i);
            soft_mesh_add_triangle(mesh, first + next, second + next, second + i);
        } else {
            soft_mesh_add_triangle(mesh, first + i, first + next, second + next);
            soft_mesh_add_triangle(mesh, first + i, second + next, second + i);
        }
    }
}

static int check_segments(const char *what, u32 segments, u32 least, ErrorText *error)
{
    if (segments >= least && segments <= SOFT_SEGMENTS_MAX) {
        return ERROR_OK;
    }
    return error_set(error, ERROR_LIMIT, "%s: %u, expected %u to %d", what, segments, least,
                     SOFT_SEGMENTS_MAX);
}

int soft_mesh_torus(SoftMesh *mesh, f32 radius, f32 tube_radius, u32 segments, u32 tube_segments,
                    ErrorText *error)
{
    memset(mesh, 0, sizeof *mesh);
    int code = check_segments("torus: segments", segments, 3, error);
    if (code == ERROR_OK) {
        code = check_segments("torus: tube_segments", tube_segments, 3, error);
    }
    if (code != ERROR_OK) {
        return code;
    }
    if ((u64)segments * tube_segments > PARTICLES_MAX) {
        return error_set(error, ERROR_LIMIT, "torus: %u x %u points, at most %d in all", segments,
                         tube_segments, PARTICLES_MAX);
    }
    if (!soft_mesh_is_length(radius) || !(tube_radius > 0.0f && tube_radius < radius)) {
        return error_set(error, ERROR_RANGE,
                         "torus: radii %g and %g m, expected above 0, at most %g, the tube's "
                         "smaller than the ring's",
                         (f64)radius, (f64)tube_radius, (f64)WORLD_EXTENT_MAX_M);
    }
    size_t count = (size_t)segments * tube_segments;
    code = soft_mesh_begin(mesh, count, 2 * count, 0, error);
    if (code != ERROR_OK) {
        return code;
    }
    for (u32 i = 0; i < tube_segments; i++) {
        f64 s, c;
        trig_sincos(2.0 * PI * i / tube_segments, &s, &c);
        for (u32 k = 0; k < segments; k++) {
            soft_mesh_add_point(mesh, on_circle((f64)radius + (f64)tube_radius * c,
                                                (f64)k / segments, (f32)((f64)tube_radius * s)));
        }
    }
    for (u32 i = 0; i < tube_segments; i++) {
        join_circles(mesh, i * segments, (i + 1) % tube_segments * segments, segments, false);
    }
    mesh->closed = true;
    return ERROR_OK;
}

int soft_mesh_tube(SoftMesh *mesh, f32 radius, f32 length, u32 segments, u32 rings, bool capped,
                   ErrorText *error)
{
    memset(mesh, 0, sizeof *mesh);
    int code = check_segments("tube: segments", segments, 3, error);
    if (code == ERROR_OK) {
        code = check_segments("tube: rings", rings, 1, error);
    }
    if (code != ERROR_OK) {
        return code;
    }
    if (((u64)rings + 1) * segments > PARTICLES_MAX - 2) {
        return error_set(error, ERROR_LIMIT, "tube: %u x %u points, at most %d in all", rings + 1,
                         segments, PARTICLES_MAX);
    }
    if (!soft_mesh_is_length(radius) || !soft_mesh_is_length(length)) {
        return error_set(error, ERROR_RANGE,
                         "tube: radius %g m, length %g m, expected above 0, at most %g",
                         (f64)radius, (f64)length, (f64)WORLD_EXTENT_MAX_M);
    }
    size_t count = (size_t)segments * (rings + 1);
    code = soft_mesh_begin(mesh, count + 2, 2 * count, 0, error);
    if (code != ERROR_OK) {
        return code;
    }
    for (u32 i = 0; i <= rings; i++) {
        f32 y = length * ((f32)i / (f32)rings - 0.5f);
        for (u32 k = 0; k < segments; k++) {
            f64 ahead = i % 2 == 1 ? 0.5 : 0.0;
            soft_mesh_add_point(mesh, on_circle((f64)radius, ((f64)k + ahead) / segments, y));
        }
    }
    for (u32 i = 0; i < rings; i++) {
        u32 first = i * segments, second = first + segments;
        if (i % 2 == 0) {
            join_circles(mesh, first, second, segments, true);
            continue;
        }
        /* This circle is ahead: pairs start one point later on the next. */
        for (u32 k = 0; k < segments; k++) {
            u32 next = (k + 1) % segments;
            soft_mesh_add_triangle(mesh, first + k, first + next, second + next);
            soft_mesh_add_triangle(mesh, first + k, second + next, second + k);
        }
    }
    if (capped) {
        u32 last = rings * segments;
        u32 low = soft_mesh_add_point(mesh, vec3(0.0f, -0.5f * length, 0.0f));
        u32 high = soft_mesh_add_point(mesh, vec3(0.0f, 0.5f * length, 0.0f));
        for (u32 k = 0; k < segments; k++) {
            u32 next = (k + 1) % segments;
            soft_mesh_add_triangle(mesh, next, k, low);
            soft_mesh_add_triangle(mesh, last + k, last + next, high);
        }
    }
    mesh->closed = capped;
    return ERROR_OK;
}

/* ---- box ---------------------------------------------------------------------------------- */

typedef struct BoxMaker {
    SoftMesh *mesh;
    Vec3 size;
    u32 cells[3];
    bool solid;
    u32 *index; /* [(cells + 1) of all three] lattice point to point; UINT32_MAX: none */
} BoxMaker;

static u32 lattice(const BoxMaker *box, const u32 at[3])
{
    return (at[2] * (box->cells[1] + 1) + at[1]) * (box->cells[0] + 1) + at[0];
}

static u32 lattice_points(const BoxMaker *box)
{
    return (box->cells[0] + 1) * (box->cells[1] + 1) * (box->cells[2] + 1);
}

static void add_lattice_points(BoxMaker *box)
{
    const f32 size[3] = {box->size.x, box->size.y, box->size.z};
    u32 at[3], next = 0;
    for (at[2] = 0; at[2] <= box->cells[2]; at[2]++) {
        for (at[1] = 0; at[1] <= box->cells[1]; at[1]++) {
            for (at[0] = 0; at[0] <= box->cells[0]; at[0]++, next++) {
                bool outer = false;
                f32 place[3];
                for (u32 i = 0; i < 3; i++) {
                    outer = outer || at[i] == 0 || at[i] == box->cells[i];
                    place[i] = size[i] * ((f32)at[i] / (f32)box->cells[i] - 0.5f);
                }
                box->index[next] = UINT32_MAX;
                if (outer || box->solid) {
                    box->index[next] =
                        soft_mesh_add_point(box->mesh, vec3(place[0], place[1], place[2]));
                }
            }
        }
    }
}

static u32 corner_point(const BoxMaker *box, const u32 cell[3], u32 bits)
{
    u32 at[3] = {cell[0] + (bits & 1), cell[1] + (bits >> 1 & 1), cell[2] + (bits >> 2)};
    return box->index[lattice(box, at)];
}

/* Both triangles of a cell's face, split by the diagonal between corners with an even coordinate
 * sum, as the tetrahedra of both adjacent cells require. */
static void add_face(BoxMaker *box, const u32 cell[3], u32 axis, bool high)
{
    u32 u = 1u << (axis + 1) % 3, v = 1u << (axis + 2) % 3, base = high ? 1u << axis : 0;
    u32 around[4] = {base, base | u, base | u | v, base | v}, p[4];
    u32 odd = (cell[0] + cell[1] + cell[2] + (high ? 1 : 0)) % 2;
    for (u32 i = 0; i < 4; i++) {
        u32 from = (i + odd) % 4;
        p[i] = corner_point(box, cell, around[high ? from : (4 - from) % 4]);
    }
    soft_mesh_add_triangle(box->mesh, p[0], p[1], p[2]);
    soft_mesh_add_triangle(box->mesh, p[0], p[2], p[3]);
}

/* Four corner tetrahedra are cut off the cell; the rest is a fifth one. */
static void add_five(BoxMaker *box, const u32 cell[3])
{
    u32 odd = (cell[0] + cell[1] + cell[2]) % 2;
    /* The corner cut off, and its neighbours, for an even cell; an odd one is mirrored in x. */
    static const u8 corners[5][4] = {
        {1, 3, 5, 0}, {2, 3, 0, 6}, {4, 6, 5, 0}, {7, 6, 3, 5}, {0, 5, 3, 6}};
    for (u32 t = 0; t < 5; t++) {
        u32 p[4];
        for (u32 i = 0; i < 4; i++) {
            p[i] = corner_point(box, cell, (u32)corners[t][i] ^ odd);
        }
        Vec3 a = box->mesh->points[p[0]];
        Vec3 u = vec3_sub(box->mesh->points[p[1]], a), v = vec3_sub(box->mesh->points[p[2]], a);
        bool inverted = vec3_dot(vec3_cross(u, v), vec3_sub(box->mesh->points[p[3]], a)) < 0.0f;
        soft_mesh_add_tetrahedron(box->mesh, p[0], p[inverted ? 2 : 1], p[inverted ? 1 : 2], p[3]);
    }
}

static void add_cells(BoxMaker *box)
{
    u32 at[3];
    for (at[2] = 0; at[2] < box->cells[2]; at[2]++) {
        for (at[1] = 0; at[1] < box->cells[1]; at[1]++) {
            for (at[0] = 0; at[0] < box->cells[0]; at[0]++) {
                if (box->solid) {
                    add_five(box, at);
                }
                for (u32 axis = 0; axis < 3; axis++) {
                    if (at[axis] == 0) {
                        add_face(box, at, axis, false);
                    }
                    if (at[axis] + 1 == box->cells[axis]) {
                        add_face(box, at, axis, true);
                    }
                }
            }
        }
    }
}

static int check_box(const BoxMaker *box, ErrorText *error)
{
    static const char names[] = "xyz";
    const f32 size[3] = {box->size.x, box->size.y, box->size.z};
    u64 points = 1, cells = 1;
    for (u32 i = 0; i < 3; i++) {
        if (!soft_mesh_is_length(size[i])) {
            return error_set(error, ERROR_RANGE,
                             "box: size %c of %g m, expected above 0, at most %g", names[i],
                             (f64)size[i], (f64)WORLD_EXTENT_MAX_M);
        }
        int code = check_segments("box: cells", box->cells[i], 1, error);
        if (code != ERROR_OK) {
            return code;
        }
        points *= box->cells[i] + 1;
        cells *= box->cells[i];
    }
    if (points > PARTICLES_MAX || (box->solid && 5 * cells > TETRAHEDRA_MAX)) {
        return error_set(error, ERROR_LIMIT, "box: %llu points, at most %d, and %d tetrahedra",
                         (unsigned long long)points, PARTICLES_MAX, TETRAHEDRA_MAX);
    }
    return ERROR_OK;
}

int soft_mesh_box(SoftMesh *mesh, Vec3 size, const u32 cells[3], bool solid, ErrorText *error)
{
    BoxMaker box = {mesh, size, {cells[0], cells[1], cells[2]}, solid, NULL};
    memset(mesh, 0, sizeof *mesh);
    int code = check_box(&box, error);
    if (code != ERROR_OK) {
        return code;
    }
    size_t volume = (size_t)cells[0] * cells[1] * cells[2];
    size_t faces = 2 * ((size_t)cells[0] * cells[1] + (size_t)cells[1] * cells[2] +
                        (size_t)cells[2] * cells[0]);
    code = soft_mesh_begin(mesh, lattice_points(&box), 2 * faces, solid ? 5 * volume : 0, error);
    if (code != ERROR_OK) {
        return code;
    }
    box.index = malloc((size_t)lattice_points(&box) * sizeof *box.index);
    if (box.index == NULL) {
        return soft_mesh_no_memory(mesh, error);
    }
    add_lattice_points(&box);
    add_cells(&box);
    free(box.index);
    mesh->closed = true;
    mesh->dihedral_degrees =
        tetrahedra_dihedral_degrees(mesh->points, mesh->tetrahedra, mesh->tetrahedron_count);
    return ERROR_OK;
}
