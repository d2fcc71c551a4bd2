/*
 * tetrahedralize.c: the second half of isosurface stuffing (Labelle & Shewchuk 2007, §3): each
 * lattice tetrahedron contributes its part inside the surface, by a stencil for each combination of
 * inner, outer and surface corners; and the boundary of the result.
 */
#include "shared/soft/tetrahedralize.h"

#include "shared/base/limits.h"
#include "shared/soft/lattice.h"
#include "shared/soft/soft_mesh_make.h"
#include "shared/soft/surface_crossing.h"
#include "shared/soft/tetrahedra_angle.h"
#include "shared/soft/tetrahedra_pieces.h"

#include <stdlib.h>
#include <string.h>

/* Minimal fraction of the surface's volume: with less the result does not have its shape. */
#define VOLUME_MIN (1.0 / 3.0)

typedef struct Filler {
    Lattice lattice;
    SoftMesh *mesh;
    u32 point_capacity, tetrahedron_capacity;
    ErrorText *error;
} Filler;

/* ---- faults of the surface ------------------------------------------------------------- */

static int check_edges(const SoftMesh *surface, ErrorText *error)
{
    SurfaceEdges edges;
    int code = ERROR_OK;
    if (!surface_edges_build(&edges, surface->triangles, surface->triangle_count,
                             surface->point_count, NULL)) {
        code = error_set(error, ERROR_MEMORY, "out of memory for the edges of a surface");
    }
    for (u32 low = 0; code == ERROR_OK && low < surface->point_count; low++) {
        for (u32 i = edges.start[low], next, end = edges.start[low + 1]; i < end; i = next) {
            next = surface_edge_end(&edges, i, end);
            u32 high = edges.sides[i].high;
            if (next - i != 2) {
                code = error_set(error, ERROR_FORMAT,
                                 "edge %u-%u has %u triangle%s, expected 2: the surface is %s", low,
                                 high, next - i, next - i == 1 ? "" : "s",
                                 next - i == 1 ? "open" : "no surface there");
                break;
            }
            if (surface->triangles[edges.sides[i].side] ==
                surface->triangles[edges.sides[i + 1].side]) {
                code = error_set(error, ERROR_FORMAT,
                                 "edge %u-%u: triangles %u and %u have opposite orientations", low,
                                 high, edges.sides[i].side / 3, edges.sides[i + 1].side / 3);
                break;
            }
        }
    }
    surface_edges_finish(&edges);
    return code;
}

static int check_surface(const SoftMesh *surface, u32 resolution, ErrorText *error)
{
    if (resolution < TETRAHEDRALIZE_RESOLUTION_MIN || resolution > TETRAHEDRALIZE_RESOLUTION_MAX) {
        return error_set(error, ERROR_LIMIT, "resolution: %u cells, expected %d to %d", resolution,
                         TETRAHEDRALIZE_RESOLUTION_MIN, TETRAHEDRALIZE_RESOLUTION_MAX);
    }
    if (surface->triangle_count == 0 || surface->triangle_count > MESH_FILE_TRIANGLES_MAX) {
        return error_set(error, ERROR_LIMIT, "%u triangles, expected 1 to %d",
                         surface->triangle_count, MESH_FILE_TRIANGLES_MAX);
    }
    int code = check_edges(surface, error);
    return code == ERROR_OK ? surface_crossing(surface, error) : code;
}

/* ---- points and tetrahedra ---------------------------------------------------------------- */

/* Returns a number, or LATTICE_NONE with the error set. */
static u32 add_point(Filler *filler, const f64 place[3])
{
    SoftMesh *mesh = filler->mesh;
    if (mesh->point_count == PARTICLES_MAX) {
        error_set(filler->error, ERROR_LIMIT, "more than %d points: a lower resolution is needed",
                  PARTICLES_MAX);
        return LATTICE_NONE;
    }
    if (mesh->point_count == filler->point_capacity) {
        u32 capacity = filler->point_capacity < 1024 ? 1024 : 2 * filler->point_capacity;
        Vec3 *larger = realloc(mesh->points, capacity * sizeof *larger);
        if (larger == NULL) {
            error_set(filler->error, ERROR_MEMORY, "out of memory for points");
            return LATTICE_NONE;
        }
        mesh->points = larger;
        filler->point_capacity = capacity;
    }
    return soft_mesh_add_point(mesh, vec3((f32)place[0], (f32)place[1], (f32)place[2]));
}

static u32 lattice_point_number(Filler *filler, LatticePoint p)
{
    u32 *number = &filler->lattice.number[lattice_index(&filler->lattice, p)];
    if (*number == LATTICE_NONE) {
        f64 place[3];
        lattice_place(&filler->lattice, p, place);
        *number = add_point(filler, place);
    }
    return *number;
}

/* The point where the edge from inner p to outer q is cut. */
static u32 cut_point_number(Filler *filler, LatticePoint p, LatticePoint q)
{
    u32 *number = lattice_cut_number(&filler->lattice, p, q);
    if (number == NULL) {
        error_set(filler->error, ERROR_MEMORY, "out of memory for points");
        return LATTICE_NONE;
    }
    if (*number == LATTICE_NONE) {
        f64 at = lattice_cut(&filler->lattice, p, q), from[3], to[3], place[3];
        lattice_place(&filler->lattice, p, from);
        lattice_place(&filler->lattice, q, to);
        for (u32 k = 0; k < 3; k++) {
            place[k] = from[k] + at * (to[k] - from[k]);
        }
        *number = add_point(filler, place);
    }
    return *number;
}

/* Orders the corners for a positive volume. */
static void flip_positive(const Vec3 *points, u32 c[4])
{
    if (tetrahedron_sharpest_cosine(points, c) > 1.5) {
        u32 swap = c[0];
        c[0] = c[1];
        c[1] = swap;
    }
}

static bool add_tetrahedron(Filler *filler, u32 a, u32 b, u32 c, u32 d)
{
    SoftMesh *mesh = filler->mesh;
    if (a == LATTICE_NONE || b == LATTICE_NONE || c == LATTICE_NONE || d == LATTICE_NONE) {
        return false;
    }
    if (mesh->tetrahedron_count == TETRAHEDRA_MAX) {
        error_set(filler->error, ERROR_LIMIT,
                  "more than %d tetrahedra: a lower resolution is needed", TETRAHEDRA_MAX);
        return false;
    }
    if (mesh->tetrahedron_count == filler->tetrahedron_capacity) {
        u32 capacity =
            filler->tetrahedron_capacity < 1024 ? 1024 : 2 * filler->tetrahedron_capacity;
        u32 *larger = realloc(mesh->tetrahedra, 4 * (size_t)capacity * sizeof *larger);
        if (larger == NULL) {
            error_set(filler->error, ERROR_MEMORY, "out of memory for tetrahedra");
            return false;
        }
        mesh->tetrahedra = larger;
        filler->tetrahedron_capacity = capacity;
    }
    u32 corner[4] = {a, b, c, d};
    flip_positive(mesh->points, corner);
    soft_mesh_add_tetrahedron(mesh, corner[0], corner[1], corner[2], corner[3]);
    return true;
}

/* ---- stencils of cut lattice tetrahedra ------------------------------------------------ */

/* A lattice tetrahedron with its inner corners first, then those on the surface, then the outer. */
typedef struct Cell {
    LatticePoint corner[4];
    u32 inner, on, outer;
} Cell;

static bool is_long(LatticePoint p, LatticePoint q)
{
    return p.x == q.x || p.y == q.y || p.z == q.z;
}

/* The face of inner corners a and b and an outer one is cut to a quadrilateral a, b, cut of b,
 * cut of a: whether it is split from a (to the cut of b). Both tetrahedra at the face must
 * agree. One of the face's edges is long. If that is a-b, its ends differ in parity, and the
 * even one is used; otherwise the inner end of the cut short edge. */
static bool divided_from(LatticePoint a, LatticePoint b, LatticePoint outer)
{
    if (is_long(a, b)) {
        i32 odd = a.x & 1;
        return ((a.x + a.y + a.z - 3 * odd) / 2) % 2 == 0;
    }
    return !is_long(a, outer);
}

/* A prism between triangles low and high with given diagonals of its sides: from[i][j] is from
 * low[i] to high[j]. They must not be cyclic, so that one column has both of its diagonals, one
 * none. */
static bool add_prism(Filler *filler, const u32 low[3], const u32 high[3], const bool from[3][3])
{
    u32 order[3];
    for (u32 i = 0; i < 3; i++) {
        u32 next = (i + 1) % 3, last = (i + 2) % 3;
        order[2 - (from[i][next] + from[i][last])] = i;
    }
    u32 a = order[0], b = order[1], c = order[2];
    return add_tetrahedron(filler, low[a], high[a], high[b], high[c]) &&
           add_tetrahedron(filler, low[a], low[b], high[b], high[c]) &&
           add_tetrahedron(filler, low[a], low[b], low[c], high[c]);
}

static bool add_three_inner(Filler *filler, const Cell *cell)
{
    u32 low[3], high[3];
    bool from[3][3];
    LatticePoint outer = cell->corner[3];
    for (u32 i = 0; i < 3; i++) {
        low[i] = lattice_point_number(filler, cell->corner[i]);
        high[i] = cut_point_number(filler, cell->corner[i], outer);
        for (u32 k = 0; k < 3; k++) {
            from[i][k] = i != k && divided_from(cell->corner[i], cell->corner[k], outer);
        }
    }
    return add_prism(filler, low, high, from);
}

/* The smaller of two tetrahedra's minimal angles, as a cosine. */
static f64 sharper(const Filler *filler, const u32 first[4], const u32 second[4])
{
    u32 a[4], b[4];
    memcpy(a, first, sizeof a);
    memcpy(b, second, sizeof b);
    flip_positive(filler->mesh->points, a);
    flip_positive(filler->mesh->points, b);
    f64 x = tetrahedron_sharpest_cosine(filler->mesh->points, a);
    f64 y = tetrahedron_sharpest_cosine(filler->mesh->points, b);
    return x > y ? x : y;
}

/* A wedge along the edge of two inner corners: the columns of a prism are that edge, and the
 * cuts towards either outer corner. */
static bool add_two_inner(Filler *filler, const Cell *cell)
{
    const LatticePoint *p = cell->corner;
    u32 low[3] = {lattice_point_number(filler, p[0]), cut_point_number(filler, p[0], p[2]),
                  cut_point_number(filler, p[0], p[3])};
    u32 high[3] = {lattice_point_number(filler, p[1]), cut_point_number(filler, p[1], p[2]),
                   cut_point_number(filler, p[1], p[3])};
    for (u32 i = 0; i < 3; i++) {
        if (low[i] == LATTICE_NONE || high[i] == LATTICE_NONE) {
            return false;
        }
    }
    bool from[3][3] = {{false}};
    from[0][1] = divided_from(p[0], p[1], p[2]);
    from[0][2] = divided_from(p[0], p[1], p[3]);
    from[1][0] = !from[0][1];
    from[2][0] = !from[0][2];
    /* The side on the surface: not cyclic with the others; if free, the choice with better
     * angles. */
    from[1][2] = from[1][0];
    if (from[0][1] == from[0][2]) {
        const u32 *own = from[0][1] ? low : high, *far = from[0][1] ? high : low;
        u32 a[4] = {own[0], own[1], far[1], far[2]}, b[4] = {own[0], own[1], own[2], far[2]};
        u32 c[4] = {own[0], own[2], far[1], far[2]}, d[4] = {own[0], own[1], own[2], far[1]};
        bool one_to_two = sharper(filler, a, b) <= sharper(filler, c, d);
        from[1][2] = from[0][1] ? one_to_two : !one_to_two;
    }
    from[2][1] = !from[1][2];
    return add_prism(filler, low, high, from);
}

static bool add_cell(Filler *filler, const Cell *cell)
{
    const LatticePoint *p = cell->corner;
    u32 n[4];
    if (cell->outer == 1 && cell->inner == 3) {
        return add_three_inner(filler, cell);
    }
    if (cell->outer == 2 && cell->inner == 2) {
        return add_two_inner(filler, cell);
    }
    for (u32 i = 0; i < 4; i++) {
        bool whole = i < cell->inner + cell->on;
        n[i] = whole ? lattice_point_number(filler, p[i]) : cut_point_number(filler, p[0], p[i]);
    }
    if (cell->inner == 2 && cell->outer == 1) {
        /* A pyramid over the cut face; its apex is the corner on the surface. */
        u32 cut = cut_point_number(filler, p[1], p[3]);
        return divided_from(p[0], p[1], p[3]) ? add_tetrahedron(filler, n[0], n[1], cut, n[2]) &&
                                                    add_tetrahedron(filler, n[0], cut, n[3], n[2])
                                              : add_tetrahedron(filler, n[1], n[0], n[3], n[2]) &&
                                                    add_tetrahedron(filler, n[1], n[3], cut, n[2]);
    }
    return add_tetrahedron(filler, n[0], n[1], n[2], n[3]);
}

static bool add_lattice_tetrahedron(Filler *filler, const LatticePoint corner[4])
{
    Cell cell = {.inner = 0};
    for (i32 wanted = 1; wanted >= -1; wanted--) {
        for (u32 i = 0; i < 4; i++) {
            if (filler->lattice.state[lattice_index(&filler->lattice, corner[i])] == wanted) {
                cell.corner[cell.inner + cell.on + cell.outer] = corner[i];
                cell.inner += wanted == 1;
                cell.on += wanted == 0;
                cell.outer += wanted == -1;
            }
        }
    }
    return cell.inner == 0 || add_cell(filler, &cell);
}

/* The four tetrahedra around the edge between the centres of two adjacent cubes. */
static bool fill_face(Filler *filler, i32 x, i32 y, i32 z, u32 axis)
{
    static const i8 around[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    i32 middle[3] = {x, y, z};
    LatticePoint corner[4] = {{x, y, z}, {x, y, z}};
    *(axis == 0 ? &corner[1].x : axis == 1 ? &corner[1].y : &corner[1].z) += 2;
    for (u32 i = 0; i < 4; i++) {
        for (u32 k = 0; k < 2; k++) {
            i32 at[3];
            at[axis] = middle[axis] + 1;
            at[(axis + 1) % 3] = middle[(axis + 1) % 3] + around[(i + k) % 4][0];
            at[(axis + 2) % 3] = middle[(axis + 2) % 3] + around[(i + k) % 4][1];
            corner[2 + k] = (LatticePoint){at[0], at[1], at[2]};
        }
        if (!add_lattice_tetrahedron(filler, corner)) {
            return false;
        }
    }
    return true;
}

static bool fill(Filler *filler)
{
    const i32 *size = filler->lattice.size;
    for (i32 z = 1; z < 2 * size[2]; z += 2) {
        for (i32 y = 1; y < 2 * size[1]; y += 2) {
            for (i32 x = 1; x < 2 * size[0]; x += 2) {
                if ((x + 2 < 2 * size[0] && !fill_face(filler, x, y, z, 0)) ||
                    (y + 2 < 2 * size[1] && !fill_face(filler, x, y, z, 1)) ||
                    (z + 2 < 2 * size[2] && !fill_face(filler, x, y, z, 2))) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* ---- the boundary ------------------------------------------------------------------------- */

/* A face by its corners in ascending order; faces with the same lowest corner are adjacent. */
typedef struct Face {
    u32 middle, high;
    u32 at; /* 4 × tetrahedron + face */
} Face;

static const u8 face_corners[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};

static u32 sort_face(const SoftMesh *mesh, u32 at, Face *face)
{
    const u32 *corner = &mesh->tetrahedra[4 * (size_t)(at / 4)];
    u32 a = corner[face_corners[at % 4][0]], b = corner[face_corners[at % 4][1]];
    u32 c = corner[face_corners[at % 4][2]];
    u32 low = u32_min(a, u32_min(b, c)), high = u32_max(a, u32_max(b, c));
    *face = (Face){a ^ b ^ c ^ low ^ high, high, at};
    return low;
}

/* Writes inner[at] = 1 for faces shared by two tetrahedra. */
static void match_faces(const SoftMesh *mesh, u32 *start, Face *faces, u8 *inner)
{
    u32 count = 4 * mesh->tetrahedron_count;
    Face face;
    for (u32 at = 0; at < count; at++) {
        start[sort_face(mesh, at, &face) + 2]++;
    }
    for (u32 i = 1; i < mesh->point_count + 2; i++) {
        start[i] += start[i - 1];
    }
    for (u32 at = 0; at < count; at++) {
        u32 low = sort_face(mesh, at, &face);
        faces[start[low + 1]++] = face;
    }
    for (u32 low = 0; low < mesh->point_count; low++) {
        for (u32 i = start[low]; i < start[low + 1]; i++) {
            for (u32 k = start[low]; k < i; k++) {
                if (faces[i].middle == faces[k].middle && faces[i].high == faces[k].high) {
                    inner[faces[i].at] = inner[faces[k].at] = 1;
                }
            }
        }
    }
}

static int add_boundary(SoftMesh *mesh, ErrorText *error)
{
    size_t count = 4 * (size_t)mesh->tetrahedron_count;
    u32 *start = calloc((size_t)mesh->point_count + 2, sizeof *start);
    Face *faces = malloc(count * sizeof *faces);
    u8 *inner = calloc(count, 1);
    if (start != NULL && faces != NULL && inner != NULL) {
        match_faces(mesh, start, faces, inner);
        u32 outer = 0;
        for (size_t at = 0; at < count; at++) {
            outer += !inner[at];
        }
        mesh->triangles = malloc(3 * (size_t)outer * sizeof *mesh->triangles);
        for (u32 at = 0; at < count && mesh->triangles != NULL; at++) {
            const u32 *corner = &mesh->tetrahedra[4 * (size_t)(at / 4)];
            const u8 *of = face_corners[at % 4];
            if (!inner[at]) {
                soft_mesh_add_triangle(mesh, corner[of[0]], corner[of[1]], corner[of[2]]);
            }
        }
    }
    free(start);
    free(faces);
    free(inner);
    mesh->closed = true;
    return mesh->triangles != NULL ? ERROR_OK
                                   : error_set(error, ERROR_MEMORY, "out of memory for a boundary");
}

/* ---- entry point ---------------------------------------------------------------------------- */

static int fill_mesh(Filler *filler, const SoftMesh *surface)
{
    SoftMesh *mesh = filler->mesh;
    if (!fill(filler)) {
        return filler->error->code;
    }
    if (mesh->tetrahedron_count == 0) {
        return error_set(filler->error, ERROR_RANGE,
                         "no part is as thick as a cell: a higher resolution is needed");
    }
    int code = tetrahedra_keep_pieces(mesh, surface, filler->error);
    if (code != ERROR_OK) {
        return code;
    }
    mesh->dihedral_degrees =
        tetrahedra_dihedral_degrees(mesh->points, mesh->tetrahedra, mesh->tetrahedron_count);
    code = add_boundary(mesh, filler->error);
    if (code == ERROR_OK && soft_mesh_volume(mesh) < VOLUME_MIN * soft_mesh_volume(surface)) {
        code = error_set(filler->error, ERROR_RANGE,
                         "most of it is thinner than a cell: a higher resolution is needed");
    }
    return code == ERROR_OK ? soft_mesh_skin(mesh, surface, filler->error) : code;
}

int tetrahedralize(SoftMesh *mesh, const SoftMesh *surface, u32 resolution, ErrorText *error)
{
    ErrorText own = {0};
    Filler filler = {.mesh = mesh, .error = error != NULL ? error : &own};
    memset(mesh, 0, sizeof *mesh);
    int code = check_surface(surface, resolution, filler.error);
    if (code != ERROR_OK) {
        return code;
    }
    code = lattice_init(&filler.lattice, surface, resolution, filler.error);
    if (code == ERROR_OK) {
        code = fill_mesh(&filler, surface);
    }
    lattice_finish(&filler.lattice);
    if (code != ERROR_OK) {
        soft_mesh_finish(mesh);
    }
    return code;
}
