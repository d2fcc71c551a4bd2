/*
 * soft_mesh_triangles.c: builds a surface from untrusted triangles: checks, welds, cleans and
 * orients them.
 */
#include "shared/base/limits.h"
#include "shared/geometry/crossing.h"
#include "shared/geometry/mesh_bvh.h"
#include "shared/geometry/weld.h"
#include "shared/math/vec3d.h"
#include "shared/soft/soft_mesh_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A triangle lower than this fraction of its longest edge has no area. */
#define AREA_TOLERANCE 1e-6

enum {
    NONE = UINT32_MAX,
    /* Closed parts of one surface: their nesting is found by testing each one. */
    PARTS_MAX = 4096,
    /* Limit of triangle tests for that: a second or two. */
    VISITS_MAX = 1 << 26
};

typedef struct MeshPart {
    u32 first, count; /* in `queue` */
    u32 flipped;      /* triangles flipped to agree with the first */
    bool closed;
} MeshPart;

typedef struct Cleaner {
    const Vec3 *vertices;
    u32 *triangles; /* [triangle_count × 3] welded, then oriented */
    u32 vertex_count, triangle_count;
    u32 *welded;     /* [vertex_count] the first vertex at the same position */
    u8 *dropped;     /* [triangle_count] */
    u8 *flipped;     /* [triangle_count] */
    u8 *seen;        /* [triangle_count] */
    u32 *across;     /* [3 × triangle_count] the opposite side of the same edge, or NONE */
    u32 *queue;      /* [triangle_count] triangles, part by part */
    u32 *part_of;    /* [triangle_count] */
    MeshPart *parts; /* [part_count ≤ triangle_count] */
    u32 part_count;
    SurfaceEdges edges;
    SoftRepair repair;
} Cleaner;

static int check_input(const Cleaner *cleaner, const u32 *triangles, ErrorText *error)
{
    if (cleaner->vertex_count < 3 || cleaner->vertex_count > MESH_FILE_VERTICES_MAX) {
        return error_set(error, ERROR_LIMIT, "surface: %u vertices, expected 3 to %d",
                         cleaner->vertex_count, MESH_FILE_VERTICES_MAX);
    }
    if (cleaner->triangle_count < 1 || cleaner->triangle_count > MESH_FILE_TRIANGLES_MAX) {
        return error_set(error, ERROR_LIMIT, "surface: %u triangles, expected 1 to %d",
                         cleaner->triangle_count, MESH_FILE_TRIANGLES_MAX);
    }
    for (u32 i = 0; i < cleaner->vertex_count; i++) {
        Vec3 v = cleaner->vertices[i], a = vec3_abs(v);
        if (!(a.x <= WORLD_EXTENT_MAX_M && a.y <= WORLD_EXTENT_MAX_M &&
              a.z <= WORLD_EXTENT_MAX_M)) {
            return error_set(error, ERROR_RANGE,
                             "surface: vertex %u (%g, %g, %g), expected numbers within ±%g m", i,
                             (f64)v.x, (f64)v.y, (f64)v.z, (f64)WORLD_EXTENT_MAX_M);
        }
    }
    for (u32 i = 0; i < 3 * cleaner->triangle_count; i++) {
        if (triangles[i] >= cleaner->vertex_count) {
            return error_set(error, ERROR_RANGE,
                             "surface: triangle %u: vertex %u, expected below %u", i / 3,
                             triangles[i], cleaner->vertex_count);
        }
    }
    return ERROR_OK;
}

static bool has_area(const Cleaner *cleaner, const u32 corner[3])
{
    f64 edge[3][3], longest = 0.0;
    for (u32 i = 0; i < 3; i++) {
        Vec3 a = cleaner->vertices[corner[i]], b = cleaner->vertices[corner[(i + 1) % 3]];
        f64 *e = edge[i];
        e[0] = (f64)b.x - (f64)a.x;
        e[1] = (f64)b.y - (f64)a.y;
        e[2] = (f64)b.z - (f64)a.z;
        longest = fmax(longest, e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
    }
    const f64 *u = edge[0], *v = edge[1];
    f64 n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
    return sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) > AREA_TOLERANCE * longest;
}

static void weld_triangles(Cleaner *cleaner, const u32 *triangles)
{
    for (u32 i = 0; i < cleaner->vertex_count; i++) {
        cleaner->repair.welded += cleaner->welded[i] != i;
    }
    for (u32 i = 0; i < 3 * cleaner->triangle_count; i++) {
        cleaner->triangles[i] = cleaner->welded[triangles[i]];
    }
    for (u32 t = 0; t < cleaner->triangle_count; t++) {
        const u32 *c = &cleaner->triangles[3 * t];
        bool collapsed = c[0] == c[1] || c[1] == c[2] || c[2] == c[0];
        cleaner->dropped[t] = collapsed;
        cleaner->repair.zero += collapsed;
    }
}

/* Dropping a triangle with collinear corners would leave a slit: instead its longest edge is
 * flipped to connect the opposite corners of it and its neighbour, if there is exactly one
 * neighbour. Each pass flips edges of different triangles only; true if it flipped any. */
static bool flip_slivers(Cleaner *cleaner, u8 *touched)
{
    bool any = false;
    const SurfaceEdges *edges = &cleaner->edges;
    memset(touched, 0, cleaner->triangle_count);
    for (u32 low = 0; low < cleaner->vertex_count; low++) {
        for (u32 i = edges->start[low], next, end = edges->start[low + 1]; i < end; i = next) {
            next = surface_edge_end(edges, i, end);
            if (next != i + 2) {
                continue;
            }
            const SurfaceSide *pair[2] = {&edges->sides[i], &edges->sides[i + 1]};
            for (u32 k = 0; k < 2; k++) {
                const SurfaceSide *thin = pair[k], *other = pair[1 - k];
                u32 t = thin->side / 3, n = other->side / 3;
                u32 *corner = &cleaner->triangles[3 * t];
                if (touched[t] || touched[n] || thin->third == other->third ||
                    has_area(cleaner, corner)) {
                    continue;
                }
                Vec3 a = cleaner->vertices[low], b = cleaner->vertices[thin->high];
                Vec3 p = cleaner->vertices[thin->third];
                f32 length = vec3_distance(a, b);
                if (vec3_distance(a, p) > length || vec3_distance(b, p) > length) {
                    continue;
                }
                /* The neighbour (x, y, q) and the sliver become (x, p, q) and (p, y, q). */
                u32 *opposite = &cleaner->triangles[3 * n];
                u32 x = opposite[other->side % 3], y = opposite[(other->side + 1) % 3];
                u32 made[2][3] = {{x, thin->third, other->third}, {thin->third, y, other->third}};
                memcpy(opposite, made[0], sizeof made[0]);
                memcpy(corner, made[1], sizeof made[1]);
                touched[t] = touched[n] = 1;
                any = true;
            }
        }
    }
    return any;
}

/* Triangles with the same three vertices are adjacent at each of their edges. */
static void drop_twins(Cleaner *cleaner)
{
    const SurfaceEdges *edges = &cleaner->edges;
    for (u32 low = 0; low < cleaner->vertex_count; low++) {
        for (u32 i = edges->start[low] + 1; i < edges->start[low + 1]; i++) {
            const SurfaceSide *a = &edges->sides[i - 1], *b = &edges->sides[i];
            if (a->high == b->high && a->third == b->third && !cleaner->dropped[b->side / 3]) {
                cleaner->dropped[b->side / 3] = 1;
                cleaner->repair.zero++;
            }
        }
    }
}

static bool rebuild_edges(Cleaner *cleaner)
{
    surface_edges_finish(&cleaner->edges);
    return surface_edges_build(&cleaner->edges, cleaner->triangles, cleaner->triangle_count,
                               cleaner->vertex_count, cleaner->dropped);
}

static int drop_triangles(Cleaner *cleaner, ErrorText *error)
{
    u32 kept = 0, slivers = 0;
    for (u32 t = 0; t < cleaner->triangle_count; t++) {
        slivers += !cleaner->dropped[t] && !has_area(cleaner, &cleaner->triangles[3 * t]);
    }
    bool again = slivers > 0;
    for (int pass = 0; again && pass < 8; pass++) {
        if (!rebuild_edges(cleaner)) {
            return error_set(error, ERROR_MEMORY, "out of memory for a surface");
        }
        again = flip_slivers(cleaner, cleaner->seen);
    }
    memset(cleaner->seen, 0, cleaner->triangle_count);
    cleaner->repair.zero += slivers;
    for (u32 t = 0; t < cleaner->triangle_count; t++) {
        if (!cleaner->dropped[t] && !has_area(cleaner, &cleaner->triangles[3 * t])) {
            cleaner->dropped[t] = 1;
        }
    }
    if (!rebuild_edges(cleaner)) {
        return error_set(error, ERROR_MEMORY, "out of memory for a surface");
    }
    drop_twins(cleaner);
    for (u32 t = 0; t < cleaner->triangle_count; t++) {
        kept += !cleaner->dropped[t];
    }
    if (kept == 0) {
        return error_set(error, ERROR_RANGE, "surface: none of the %u triangles has an area",
                         cleaner->triangle_count);
    }
    return rebuild_edges(cleaner) ? ERROR_OK
                                  : error_set(error, ERROR_MEMORY, "out of memory for a surface");
}

static int connect(Cleaner *cleaner, ErrorText *error)
{
    const SurfaceEdges *edges = &cleaner->edges;
    memset(cleaner->across, 0xFF, 3 * (size_t)cleaner->triangle_count * sizeof *cleaner->across);
    for (u32 low = 0; low < cleaner->vertex_count; low++) {
        for (u32 i = edges->start[low], next, end = edges->start[low + 1]; i < end; i = next) {
            next = surface_edge_end(edges, i, end);
            if (next - i > 2) {
                return error_set(error, ERROR_FORMAT,
                                 "surface: edge %u-%u has %u triangles, expected at most 2", low,
                                 edges->sides[i].high, next - i);
            }
            if (next - i == 2) {
                u32 a = edges->sides[i].side, b = edges->sides[i + 1].side;
                cleaner->across[a] = b;
                cleaner->across[b] = a;
            }
        }
    }
    return ERROR_OK;
}

/* Neighbours are consistent if they traverse their edge in opposite directions. */
static bool same_direction(const Cleaner *cleaner, u32 a, u32 b)
{
    return cleaner->triangles[a] == cleaner->triangles[b];
}

static int walk_part(Cleaner *cleaner, u32 start, u32 first, ErrorText *error)
{
    MeshPart *part = &cleaner->parts[cleaner->part_count++];
    *part = (MeshPart){first, 1, 0, true};
    cleaner->queue[first] = start;
    cleaner->seen[start] = 1;
    for (u32 at = first; at < first + part->count; at++) {
        u32 t = cleaner->queue[at];
        cleaner->part_of[t] = cleaner->part_count - 1;
        part->flipped += cleaner->flipped[t];
        for (u32 i = 0; i < 3; i++) {
            u32 other = cleaner->across[3 * t + i];
            if (other == NONE) {
                part->closed = false;
                continue;
            }
            u32 n = other / 3;
            u8 flipped = cleaner->flipped[t] ^ (u8)same_direction(cleaner, 3 * t + i, other);
            if (!cleaner->seen[n]) {
                cleaner->seen[n] = 1;
                cleaner->flipped[n] = flipped;
                cleaner->queue[first + part->count++] = n;
            } else if (cleaner->flipped[n] != flipped) {
                return error_set(error, ERROR_FORMAT,
                                 "surface: one-sided (a Möbius strip) at triangle %u", t);
            }
        }
    }
    return ERROR_OK;
}

static int find_parts(Cleaner *cleaner, ErrorText *error)
{
    u32 first = 0;
    for (u32 t = 0; t < cleaner->triangle_count; t++) {
        if (cleaner->dropped[t] || cleaner->seen[t]) {
            continue;
        }
        int code = walk_part(cleaner, t, first, error);
        if (code != ERROR_OK) {
            return code;
        }
        first += cleaner->parts[cleaner->part_count - 1].count;
    }
    return ERROR_OK;
}

static void turn_part(Cleaner *cleaner, const MeshPart *part)
{
    for (u32 i = part->first; i < part->first + part->count; i++) {
        cleaner->flipped[cleaner->queue[i]] ^= 1;
    }
}

/* Six times the signed volume, about the part's first corner. */
static f64 part_volume(const Cleaner *cleaner, const MeshPart *part)
{
    Vec3 o = cleaner->vertices[cleaner->triangles[3 * (size_t)cleaner->queue[part->first]]];
    f64 sum = 0.0;
    for (u32 i = part->first; i < part->first + part->count; i++) {
        u32 t = cleaner->queue[i];
        Vec3d p[3];
        for (u32 k = 0; k < 3; k++) {
            p[k] = vec3d_between(o, cleaner->vertices[cleaner->triangles[3 * (size_t)t + k]]);
        }
        f64 six = vec3d_triple(p[0], p[1], p[2]);
        sum += cleaner->flipped[t] ? -six : six;
    }
    return sum;
}

/* A ray along x from a vertex, counting the walls of other closed parts that it hits. */
typedef struct Walls {
    const Cleaner *cleaner;
    Vec3 from;
    u32 part, count;
    u32 visits; /* total over all rays */
} Walls;

static bool count_wall(void *context, u32 triangle)
{
    Walls *walls = context;
    const Cleaner *cleaner = walls->cleaner;
    u32 part = cleaner->part_of[triangle];
    if (++walls->visits > VISITS_MAX) {
        return false;
    }
    if (cleaner->dropped[triangle] || part == walls->part || !cleaner->parts[part].closed) {
        return true;
    }
    CrossingPoint corner[3];
    for (u32 i = 0; i < 3; i++) {
        u32 id = cleaner->triangles[3 * (size_t)triangle + i];
        Vec3 v = cleaner->vertices[id];
        corner[i] = (CrossingPoint){(f64)v.y, (f64)v.z, (f64)v.x, id};
    }
    f64 at;
    if (crossing_triangle(corner, (f64)walls->from.y, (f64)walls->from.z, &at) != 0 &&
        at > (f64)walls->from.x) {
        walls->count++;
    }
    return true;
}

/* A part inside an odd number of others is the wall of a cavity and is oriented inwards. */
static int flip_cavities(Cleaner *cleaner, ErrorText *error)
{
    TriangleMesh mesh = {.vertices = (Vec3 *)cleaner->vertices,
                         .triangles = cleaner->triangles,
                         .edge_flags = cleaner->dropped,
                         .vertex_count = cleaner->vertex_count,
                         .triangle_count = cleaner->triangle_count};
    if (!mesh_bvh_build(&mesh)) {
        free(mesh.order);
        free(mesh.nodes);
        return error_set(error, ERROR_MEMORY, "out of memory for a surface");
    }
    Walls walls = {.cleaner = cleaner};
    for (u32 i = 0; i < cleaner->part_count && walls.visits <= VISITS_MAX; i++) {
        const MeshPart *part = &cleaner->parts[i];
        if (part->closed) {
            u32 corner = cleaner->triangles[3 * (size_t)cleaner->queue[part->first]];
            walls.from = cleaner->vertices[corner];
            walls.part = i;
            walls.count = 0;
            Bounds box = {walls.from, walls.from};
            box.max.x = WORLD_EXTENT_MAX_M;
            mesh_query(&mesh, box, count_wall, &walls);
            if (walls.count % 2 == 1) {
                turn_part(cleaner, part);
            }
        }
    }
    free(mesh.order);
    free(mesh.nodes);
    return walls.visits <= VISITS_MAX
               ? ERROR_OK
               : error_set(error, ERROR_LIMIT, "surface: too many of its %u parts lie in line",
                           cleaner->part_count);
}

static int orient(Cleaner *cleaner, ErrorText *error)
{
    u32 closed = 0;
    for (u32 i = 0; i < cleaner->part_count; i++) {
        MeshPart *part = &cleaner->parts[i];
        closed += part->closed;
        if (part->closed ? part_volume(cleaner, part) < 0.0 : part->flipped > part->count / 2) {
            turn_part(cleaner, part);
        }
    }
    if (closed > PARTS_MAX) {
        return error_set(error, ERROR_LIMIT, "surface: %u closed parts, expected at most %d",
                         closed, PARTS_MAX);
    }
    return closed > 1 ? flip_cavities(cleaner, error) : ERROR_OK;
}

/* Writes used vertices and triangles in their order. */
static int write_mesh(Cleaner *cleaner, SoftMesh *mesh, ErrorText *error)
{
    u32 *number = cleaner->welded, points = 0, kept = 0;
    memset(number, 0xFF, cleaner->vertex_count * sizeof *number);
    for (u32 i = 0; i < 3 * cleaner->triangle_count; i++) {
        if (!cleaner->dropped[i / 3]) {
            u32 *at = &number[cleaner->triangles[i]];
            points += *at == NONE;
            *at = 0;
            kept += i % 3 == 0;
        }
    }
    cleaner->repair.unused = cleaner->vertex_count - cleaner->repair.welded - points;
    int code = soft_mesh_begin(mesh, points, kept, 0, error);
    if (code != ERROR_OK) {
        return code;
    }
    for (u32 i = 0; i < cleaner->vertex_count; i++) {
        if (number[i] != NONE) {
            number[i] = soft_mesh_add_point(mesh, cleaner->vertices[i]);
        }
    }
    for (u32 t = 0; t < cleaner->triangle_count; t++) {
        if (!cleaner->dropped[t]) {
            const u32 *c = &cleaner->triangles[3 * (size_t)t];
            u8 flipped = cleaner->flipped[t];
            cleaner->repair.reversed += flipped;
            soft_mesh_add_triangle(mesh, number[c[0]], number[c[flipped ? 2 : 1]],
                                   number[c[flipped ? 1 : 2]]);
        }
    }
    mesh->closed = true;
    for (u32 i = 0; i < cleaner->part_count; i++) {
        mesh->closed = mesh->closed && cleaner->parts[i].closed;
    }
    return ERROR_OK;
}

static int clean(Cleaner *cleaner, SoftMesh *mesh, const u32 *triangles, ErrorText *error)
{
    if (!weld_vertices(cleaner->vertices, cleaner->vertex_count, cleaner->welded)) {
        return error_set(error, ERROR_MEMORY, "out of memory for a surface");
    }
    weld_triangles(cleaner, triangles);
    int code = drop_triangles(cleaner, error);
    if (code == ERROR_OK) {
        code = connect(cleaner, error);
    }
    if (code == ERROR_OK) {
        code = find_parts(cleaner, error);
    }
    if (code == ERROR_OK) {
        code = orient(cleaner, error);
    }
    return code == ERROR_OK ? write_mesh(cleaner, mesh, error) : code;
}

int soft_mesh_triangles(SoftMesh *mesh, const Vec3 *vertices, u32 vertex_count,
                        const u32 *triangles, u32 triangle_count, SoftRepair *repair,
                        ErrorText *error)
{
    Cleaner c = {
        .vertices = vertices, .vertex_count = vertex_count, .triangle_count = triangle_count};
    memset(mesh, 0, sizeof *mesh);
    if (repair != NULL) {
        memset(repair, 0, sizeof *repair);
    }
    int code = check_input(&c, triangles, error);
    if (code != ERROR_OK) {
        return code;
    }
    c.triangles = malloc(3 * (size_t)triangle_count * sizeof *c.triangles);
    c.welded = malloc(vertex_count * sizeof *c.welded);
    c.across = malloc(3 * (size_t)triangle_count * sizeof *c.across);
    c.queue = malloc(triangle_count * sizeof *c.queue);
    c.part_of = calloc(triangle_count, sizeof *c.part_of);
    c.parts = malloc(triangle_count * sizeof *c.parts);
    c.dropped = calloc(triangle_count, 1);
    c.flipped = calloc(triangle_count, 1);
    c.seen = calloc(triangle_count, 1);
    if (c.triangles == NULL || c.welded == NULL || c.across == NULL || c.queue == NULL ||
        c.part_of == NULL || c.parts == NULL || c.dropped == NULL || c.flipped == NULL ||
        c.seen == NULL) {
        code = error_set(error, ERROR_MEMORY, "out of memory for a surface");
    } else {
        code = clean(&c, mesh, triangles, error);
    }
    if (repair != NULL && code == ERROR_OK) {
        *repair = c.repair;
    }
    surface_edges_finish(&c.edges);
    free(c.triangles);
    free(c.welded);
    free(c.across);
    free(c.queue);
    free(c.part_of);
    free(c.parts);
    free(c.dropped);
    free(c.flipped);
    free(c.seen);
    return code;
}
