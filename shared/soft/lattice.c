/*
 * lattice.c: intersects lattice lines in all seven edge directions with the surface. Lines along x
 * determine which points are inside, all lines where edges are cut; then points too near to a cut
 * are moved onto it (Labelle & Shewchuk 2007, §3).
 */
#include "shared/soft/lattice.h"

#include "shared/geometry/crossing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A cut nearer to a point than this fraction of the edge moves the point. The paper's thresholds
 * are 0.24999 and 0.41189; over all signs, moves and cuts at the ends of their ranges these
 * values are better with our stencils: no angle is below 10.7° (9.3° with the paper's). */
#define MOVE_LONG  0.284
#define MOVE_SHORT 0.399
/* A surface this near to a point counts as a cut of the edges on both sides. */
#define TOUCH      1e-4
/* Limit of line–triangle tests: a second or two. */
#define TRIES_MAX  3e8

/* From the lower to the upper point of an edge of each direction; 7 + d is the opposite
 * direction. */
static const i8 steps[LATTICE_DIRECTIONS][3] = {{2, 0, 0},  {0, 2, 0},  {0, 0, 2}, {-1, -1, 1},
                                                {1, -1, 1}, {-1, 1, 1}, {1, 1, 1}};

static LatticePoint step_from(LatticePoint p, u32 way)
{
    const i8 *s = steps[way % LATTICE_DIRECTIONS];
    i32 k = way < LATTICE_DIRECTIONS ? 1 : -1;
    return (LatticePoint){p.x + k * s[0], p.y + k * s[1], p.z + k * s[2]};
}

static bool is_within(const Lattice *lattice, LatticePoint p)
{
    return p.x >= 0 && p.y >= 0 && p.z >= 0 && p.x <= 2 * lattice->size[0] + (p.x & 1) &&
           p.y <= 2 * lattice->size[1] + (p.y & 1) && p.z <= 2 * lattice->size[2] + (p.z & 1);
}

/* ---- cuts --------------------------------------------------------------------------------- */

static LatticeCuts *ensure_cuts(Lattice *lattice, u32 index)
{
    if (lattice->row[index] != LATTICE_NONE) {
        return &lattice->cuts[lattice->row[index]];
    }
    if (lattice->cut_count == lattice->cut_capacity) {
        u32 capacity = lattice->cut_capacity < 1024 ? 1024 : 2 * lattice->cut_capacity;
        LatticeCuts *larger = realloc(lattice->cuts, capacity * sizeof *larger);
        if (larger == NULL) {
            return NULL;
        }
        lattice->cuts = larger;
        lattice->cut_capacity = capacity;
    }
    lattice->row[index] = lattice->cut_count;
    LatticeCuts *cuts = &lattice->cuts[lattice->cut_count++];
    for (u32 d = 0; d < LATTICE_DIRECTIONS; d++) {
        cuts->at[d] = -1.0f;
        cuts->point[d] = LATTICE_NONE;
    }
    return cuts;
}

/* The first surface on an edge is kept; `touch` is the one of the next edge, offset by 2, used
 * only if the edge has none of its own. */
static bool add_cut(Lattice *lattice, LatticePoint p, u32 direction, f64 at, bool touch)
{
    if (!is_within(lattice, p)) {
        return true;
    }
    LatticeCuts *cuts = ensure_cuts(lattice, lattice_index(lattice, p));
    if (cuts == NULL) {
        return false;
    }
    f32 old = cuts->at[direction];
    if (old < 0.0f || (old >= 2.0f && !touch)) {
        cuts->at[direction] = (f32)(touch ? at + 2.0 : at);
    }
    return true;
}

typedef struct LatticeEdge {
    u32 index; /* index of the edge's first point */
    u32 direction;
    bool from_there; /* p is that point */
} LatticeEdge;

static LatticeEdge edge_between(const Lattice *lattice, LatticePoint p, LatticePoint q)
{
    i32 dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
    bool axis = dx == 0 || dy == 0 || dz == 0;
    bool from_there = axis ? dx + dy + dz > 0 : dz > 0;
    u32 direction = axis ? (dx != 0   ? 0
                            : dy != 0 ? 1
                                      : 2)
                         : 3 + (dx * dz > 0 ? 1 : 0) + (dy * dz > 0 ? 2 : 0);
    return (LatticeEdge){lattice_index(lattice, from_there ? p : q), direction, from_there};
}

f64 lattice_cut(const Lattice *lattice, LatticePoint p, LatticePoint q)
{
    LatticeEdge edge = edge_between(lattice, p, q);
    u32 row = lattice->row[edge.index];
    f64 at = row == LATTICE_NONE ? -1.0 : (f64)lattice->cuts[row].at[edge.direction];
    /* Rounding may classify a point's side inconsistently with its edge's cut; any position on
     * the edge gives valid tetrahedra. */
    at = at < 0.0 ? 0.5 : at >= 2.0 ? at - 2.0 : at;
    return edge.from_there ? at : 1.0 - at;
}

u32 *lattice_cut_number(Lattice *lattice, LatticePoint p, LatticePoint q)
{
    LatticeEdge edge = edge_between(lattice, p, q);
    LatticeCuts *cuts = ensure_cuts(lattice, edge.index);
    return cuts == NULL ? NULL : &cuts->point[edge.direction];
}

/* ---- lines -------------------------------------------------------------------------------- */

/* Lattice coordinates of a vertex in the frame of lines of this direction. */
static CrossingPoint seen_along(const f64 p[3], u32 direction, u32 id)
{
    if (direction < 3) {
        return (CrossingPoint){p[(direction + 1) % 3], p[(direction + 2) % 3], p[direction], id};
    }
    const i8 *s = steps[direction]; /* cppcheck-suppress arrayIndexOutOfBoundsCond */
    return (CrossingPoint){p[0] - s[0] * p[2], p[1] - s[1] * p[2], p[2], id};
}

/* The lattice point at or below w on a line. */
static LatticePoint point_below(u32 direction, i32 u, i32 v, f64 w, f64 *at)
{
    i32 low = (i32)floor(w), out[3];
    if (direction >= 3) {
        *at = w - low;
        const i8 *s = steps[direction]; /* cppcheck-suppress arrayIndexOutOfBoundsCond */
        return (LatticePoint){u + s[0] * low, v + s[1] * low, low};
    }
    low -= (low ^ u) & 1;
    *at = 0.5 * (w - low);
    out[(direction + 1) % 3] = u;
    out[(direction + 2) % 3] = v;
    out[direction] = low;
    return (LatticePoint){out[0], out[1], out[2]};
}

typedef struct Scan {
    Lattice *lattice;
    const SoftMesh *surface;
    f64 (*vertices)[3]; /* [point_count] in half cells */
    i32 *winding;       /* [lattice points] change of the winding number along x up to here */
} Scan;

static bool add_crossing(Scan *scan, u32 direction, i32 u, i32 v, f64 w, int turn)
{
    Lattice *lattice = scan->lattice;
    f64 at;
    LatticePoint p = point_below(direction, u, v, w, &at);
    LatticePoint above = step_from(p, direction),
                 below = step_from(p, LATTICE_DIRECTIONS + direction);
    if (direction == 0 && is_within(lattice, above)) {
        scan->winding[lattice_index(lattice, above)] -= turn;
    }
    return add_cut(lattice, p, direction, at, false) &&
           (at > TOUCH || add_cut(lattice, below, direction, 1.0, true)) &&
           (at < 1.0 - TOUCH || add_cut(lattice, above, direction, 0.0, true));
}

/* First and last even (or any) number in range, as a range of lines. */
static void line_range(f64 a, f64 b, f64 c, i32 *low, i32 *high)
{
    *low = (i32)ceil(fmin(a, fmin(b, c)));
    *high = (i32)floor(fmax(a, fmax(b, c)));
}

static bool scan_triangle(Scan *scan, u32 t, u32 direction)
{
    CrossingPoint corner[3];
    i32 u_low, u_high, v_low, v_high;
    for (u32 i = 0; i < 3; i++) {
        u32 id = scan->surface->triangles[3 * (size_t)t + i];
        corner[i] = seen_along(scan->vertices[id], direction, id);
    }
    line_range(corner[0].u, corner[1].u, corner[2].u, &u_low, &u_high);
    line_range(corner[0].v, corner[1].v, corner[2].v, &v_low, &v_high);
    /* Along axes u and v have equal parity, along diagonals they are even. */
    bool diagonal = direction >= 3;
    for (i32 v = v_low + (diagonal ? v_low & 1 : 0); v <= v_high; v += diagonal ? 2 : 1) {
        for (i32 u = u_low + ((u_low ^ v) & 1); u <= u_high; u += 2) {
            f64 w;
            int turn = crossing_triangle(corner, u, v, &w);
            if (turn != 0 && !add_crossing(scan, direction, u, v, w, turn)) {
                return false;
            }
        }
    }
    return true;
}

/* The number of lines that scan_triangle will test for all triangles. */
static f64 count_tries(const Scan *scan)
{
    f64 sum = 0.0;
    for (u32 t = 0; t < scan->surface->triangle_count; t++) {
        for (u32 d = 0; d < LATTICE_DIRECTIONS; d++) {
            CrossingPoint c[3];
            for (u32 i = 0; i < 3; i++) {
                u32 id = scan->surface->triangles[3 * (size_t)t + i];
                c[i] = seen_along(scan->vertices[id], d, id);
            }
            f64 u = fmax(c[0].u, fmax(c[1].u, c[2].u)) - fmin(c[0].u, fmin(c[1].u, c[2].u));
            f64 v = fmax(c[0].v, fmax(c[1].v, c[2].v)) - fmin(c[0].v, fmin(c[1].v, c[2].v));
            sum += 1.0 + 0.5 * u * v;
        }
    }
    return sum;
}

static void set_states(const Scan *scan)
{
    Lattice *lattice = scan->lattice;
    for (i32 z = 0; z < 2 * lattice->size[2] + 2; z++) {
        for (i32 y = z & 1; y < 2 * lattice->size[1] + 2; y += 2) {
            i32 winding = 0;
            for (i32 x = z & 1; x < 2 * lattice->size[0] + 2; x += 2) {
                u32 index = lattice_index(lattice, (LatticePoint){x, y, z});
                winding += scan->winding[index];
                lattice->state[index] = winding != 0 ? 1 : -1;
            }
        }
    }
}

static int scan_surface(Scan *scan, ErrorText *error)
{
    f64 tries = count_tries(scan);
    if (!(tries <= TRIES_MAX)) {
        return error_set(error, ERROR_LIMIT,
                         "%u triangles cover too many cells: a lower resolution is needed",
                         scan->surface->triangle_count);
    }
    for (u32 d = 0; d < LATTICE_DIRECTIONS; d++) {
        for (u32 t = 0; t < scan->surface->triangle_count; t++) {
            if (!scan_triangle(scan, t, d)) {
                return error_set(error, ERROR_MEMORY, "out of memory for a lattice");
            }
        }
    }
    set_states(scan);
    return ERROR_OK;
}

/* ---- moves -------------------------------------------------------------------------------- */

static void move_point(Lattice *lattice, LatticePoint p)
{
    u32 index = lattice_index(lattice, p);
    f64 nearest = INFINITY;
    for (u32 way = 0; way < 2 * LATTICE_DIRECTIONS; way++) {
        LatticePoint q = step_from(p, way);
        if (!is_within(lattice, q) ||
            lattice->state[lattice_index(lattice, q)] * lattice->state[index] >= 0) {
            continue;
        }
        bool is_long = way % LATTICE_DIRECTIONS < 3;
        f64 at = lattice_cut(lattice, p, q);
        f64 distance = at * (is_long ? 1.0 : 0.8660254037844386);
        if (at < (is_long ? MOVE_LONG : MOVE_SHORT) && distance < nearest) {
            nearest = distance;
            lattice->moved[index] = (u8)way;
        }
    }
    if (nearest < INFINITY) {
        lattice->state[index] = 0;
    }
}

static void move_points(Lattice *lattice)
{
    for (i32 z = 0; z < 2 * lattice->size[2] + 2; z++) {
        for (i32 y = z & 1; y < 2 * lattice->size[1] + 2; y += 2) {
            for (i32 x = z & 1; x < 2 * lattice->size[0] + 2; x += 2) {
                move_point(lattice, (LatticePoint){x, y, z});
            }
        }
    }
}

void lattice_place(const Lattice *lattice, LatticePoint p, f64 place[3])
{
    u32 index = lattice_index(lattice, p);
    f64 at = 0.0;
    LatticePoint q = p;
    if (lattice->state[index] == 0) {
        q = step_from(p, lattice->moved[index]);
        at = lattice_cut(lattice, p, q);
    }
    place[0] = lattice->origin[0] + lattice->half * (p.x + at * (q.x - p.x));
    place[1] = lattice->origin[1] + lattice->half * (p.y + at * (q.y - p.y));
    place[2] = lattice->origin[2] + lattice->half * (p.z + at * (q.z - p.z));
}

/* ---- life --------------------------------------------------------------------------------- */

/* Centres the surface in the lattice, its longest side exactly between two planes of cubes, with
 * an empty cube around. */
static bool lay_out(Lattice *lattice, const SoftMesh *surface, u32 resolution)
{
    f64 low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (u32 i = 0; i < surface->point_count; i++) {
        f64 p[3] = {(f64)surface->points[i].x, (f64)surface->points[i].y,
                    (f64)surface->points[i].z};
        for (u32 k = 0; k < 3; k++) {
            low[k] = fmin(low[k], p[k]);
            high[k] = fmax(high[k], p[k]);
        }
    }
    f64 longest = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
    lattice->half = 0.5 * longest / resolution;
    lattice->point_count = 2;
    for (u32 k = 0; k < 3; k++) {
        f64 cubes = (high[k] - low[k]) / (2.0 * lattice->half);
        lattice->size[k] = (i32)ceil(cubes - 1e-4) + 2;
        lattice->origin[k] = 0.5 * (low[k] + high[k]) - lattice->half * lattice->size[k];
        lattice->point_count *= (u32)lattice->size[k] + 1;
    }
    return longest > 0.0;
}

static int scan_all(Lattice *lattice, const SoftMesh *surface, ErrorText *error)
{
    Scan scan = {lattice, surface, NULL, NULL};
    int code;
    scan.vertices = malloc(surface->point_count * sizeof *scan.vertices);
    scan.winding = calloc(lattice->point_count, sizeof *scan.winding);
    if (scan.vertices == NULL || scan.winding == NULL) {
        code = error_set(error, ERROR_MEMORY, "out of memory for a lattice");
    } else {
        for (u32 i = 0; i < surface->point_count; i++) {
            Vec3 p = surface->points[i];
            scan.vertices[i][0] = ((f64)p.x - lattice->origin[0]) / lattice->half;
            scan.vertices[i][1] = ((f64)p.y - lattice->origin[1]) / lattice->half;
            scan.vertices[i][2] = ((f64)p.z - lattice->origin[2]) / lattice->half;
        }
        code = scan_surface(&scan, error);
    }
    free(scan.vertices);
    free(scan.winding);
    return code;
}

int lattice_init(Lattice *lattice, const SoftMesh *surface, u32 resolution, ErrorText *error)
{
    memset(lattice, 0, sizeof *lattice);
    if (!lay_out(lattice, surface, resolution)) {
        return error_set(error, ERROR_RANGE, "a surface without extent");
    }
    size_t count = lattice->point_count;
    lattice->state = malloc(count);
    lattice->moved = calloc(count, 1);
    lattice->number = malloc(count * sizeof *lattice->number);
    lattice->row = malloc(count * sizeof *lattice->row);
    if (lattice->state == NULL || lattice->moved == NULL || lattice->number == NULL ||
        lattice->row == NULL) {
        return error_set(error, ERROR_MEMORY, "out of memory for a lattice");
    }
    memset(lattice->number, 0xFF, count * sizeof *lattice->number);
    memset(lattice->row, 0xFF, count * sizeof *lattice->row);
    int code = scan_all(lattice, surface, error);
    if (code == ERROR_OK) {
        move_points(lattice);
    }
    return code;
}

void lattice_finish(Lattice *lattice)
{
    free(lattice->state);
    free(lattice->moved);
    free(lattice->number);
    free(lattice->row);
    free(lattice->cuts);
    memset(lattice, 0, sizeof *lattice);
}
