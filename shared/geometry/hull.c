/*
 * hull.c: convex hulls: triangulates a point cloud (quickhull.h), removes the least important
 * vertices, and merges coplanar triangles into polygons with half-edges.
 */
#include "shared/base/limits.h"
#include "shared/geometry/geometry_mass.h"
#include "shared/geometry/quickhull.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Points used before the greedy removal, as a multiple of the limit: enough to choose from,
     * few enough to be fast for a million points. */
    CANDIDATES_PER_VERTEX = 4,
    CANDIDATES_MIN = 64,
    CANDIDATES_MAX = CANDIDATES_PER_VERTEX * HULL_VERTICES_MAX,
    TRIANGLES_MAX = 2 * CANDIDATES_MAX - 4,
    INNER_STEPS = 200,
    NO_REGION = 0xFFFF
};
/* All relative to the extent. */
#define FLAT_TOLERANCE  1e-4
#define COVER_TOLERANCE 2e-6 /* allowed distance of points outside */
#define BUMP_TOLERANCE  5e-6 /* vertices that protrude less are dropped */
#define MERGE_TOLERANCE 1e-5

/* A hull under construction: remaining vertices, with the cost of removing each. */
typedef struct Draft {
    QuickHull *quick, *scratch;
    GridPoint points[CANDIDATES_MAX];
    u32 source[CANDIDATES_MAX]; /* index in the caller's cloud, ascending */
    f64 loss[CANDIDATES_MAX];   /* six times the volume, in cubic grid steps */
    f64 bump[CANDIDATES_MAX];   /* height above the hull of the neighbours, in grid steps */
    bool stale[CANDIDATES_MAX];
    u32 count;
} Draft;

/* Triangles of the final draft and the regions (future faces) into which they are merged. */
typedef struct FacePatch {
    const GridPoint *points;
    u16 corner[TRIANGLES_MAX][3], adjacent[TRIANGLES_MAX][3];
    f64 normal[TRIANGLES_MAX][3], area[TRIANGLES_MAX];
    u16 region[TRIANGLES_MAX];
    u16 order[TRIANGLES_MAX]; /* largest first */
    u16 triangle_count, region_count;
} FacePatch;

typedef struct Loop {
    u16 vertex[HULL_VERTICES_MAX];
    u32 count;
} Loop;

/* ---- checks and the grid ---- */

static Error check_points(const Vec3 *points, u32 count, u32 vertex_limit, ErrorText *error)
{
    if (vertex_limit < 4 || vertex_limit > HULL_VERTICES_MAX) {
        return error_set(error, ERROR_RANGE, "hull: vertex limit %u, expected 4 to %d",
                         vertex_limit, HULL_VERTICES_MAX);
    }
    if (count < 4) {
        return error_set(error, ERROR_RANGE, "hull: %u points, expected at least 4", count);
    }
    if (count > HULL_POINTS_MAX) {
        return error_set(error, ERROR_LIMIT, "hull: %u points, at most %d", count, HULL_POINTS_MAX);
    }
    for (u32 i = 0; i < count; i++) {
        Vec3 a = vec3_abs(points[i]);
        if (!(a.x <= WORLD_EXTENT_MAX_M && a.y <= WORLD_EXTENT_MAX_M &&
              a.z <= WORLD_EXTENT_MAX_M)) {
            return error_set(
                error, ERROR_RANGE, "hull: point %u (%g, %g, %g), expected numbers within ±%g m", i,
                (f64)points[i].x, (f64)points[i].y, (f64)points[i].z, (f64)WORLD_EXTENT_MAX_M);
        }
    }
    return ERROR_OK;
}

static Bounds bounds_of(const Vec3 *points, u32 count)
{
    Bounds bounds = {points[0], points[0]};
    for (u32 i = 1; i < count; i++) {
        bounds.min = vec3_min(bounds.min, points[i]);
        bounds.max = vec3_max(bounds.max, points[i]);
    }
    return bounds;
}

static i32 grid_coordinate(f32 x, f32 min, f64 steps_per_metre)
{
    return (i32)(((f64)x - (f64)min) * steps_per_metre + 0.5);
}

static GridPoint *points_on_grid(const Vec3 *points, u32 count, Vec3 min, f64 steps_per_metre)
{
    GridPoint *grid = malloc(count * sizeof *grid);
    for (u32 i = 0; grid != NULL && i < count; i++) {
        grid[i].x = grid_coordinate(points[i].x, min.x, steps_per_metre);
        grid[i].y = grid_coordinate(points[i].y, min.y, steps_per_metre);
        grid[i].z = grid_coordinate(points[i].z, min.z, steps_per_metre);
    }
    return grid;
}

/* ---- simplification ---- */

/* The volume lost without the vertex: only the part over its neighbours changes, so it is the
 * difference of the hulls of the neighbours with and without the vertex. */
static void measure_vertex(Draft *draft, u32 vertex)
{
    bool near[CANDIDATES_MAX] = {false};
    GridPoint points[CANDIDATES_MAX];
    u32 count = 0;
    for (u32 i = 0; i < draft->quick->face_count; i++) {
        const QuickFace *face = &draft->quick->faces[i];
        const u32 *c = face->corner;
        if (face->live && (c[0] == vertex || c[1] == vertex || c[2] == vertex)) {
            near[c[0]] = near[c[1]] = near[c[2]] = true;
        }
    }
    near[vertex] = false;
    for (u32 i = 0; i < draft->count; i++) {
        if (near[i]) {
            points[count++] = draft->points[i];
        }
    }
    points[count] = draft->points[vertex];
    QuickHull *scratch = draft->scratch;
    f64 with = 0.0, without = 0.0, bump = 0.0;
    if (quickhull_run(scratch, points, count + 1, 0.0, 0.0, count + 1) == QUICKHULL_SOLID) {
        with = quickhull_volume6(scratch);
        for (u32 i = 0; i < scratch->face_count; i++) { /* for neighbours in a plane */
            const QuickFace *face = &scratch->faces[i];
            const u32 *c = face->corner;
            if (face->live && c[0] != count && c[1] != count && c[2] != count) {
                bump = fmax(bump, -quickhull_distance(scratch, face, points[count]));
            }
        }
    }
    if (quickhull_run(scratch, points, count, 0.0, 0.0, count) == QUICKHULL_SOLID) {
        without = quickhull_volume6(scratch);
        bump = 0.0;
        for (u32 i = 0; i < scratch->face_count; i++) {
            const QuickFace *face = &scratch->faces[i];
            if (face->live) {
                bump = fmax(bump, quickhull_distance(scratch, face, points[count]));
            }
        }
    }
    draft->loss[vertex] = with - without;
    draft->bump[vertex] = bump;
    draft->stale[vertex] = false;
}

static void remove_vertex(Draft *draft, u32 vertex)
{
    for (u32 i = 0; i < draft->quick->face_count; i++) {
        const QuickFace *face = &draft->quick->faces[i];
        const u32 *c = face->corner;
        if (face->live && (c[0] == vertex || c[1] == vertex || c[2] == vertex)) {
            draft->stale[c[0]] = draft->stale[c[1]] = draft->stale[c[2]] = true;
        }
    }
    for (u32 i = vertex; i + 1 < draft->count; i++) {
        draft->points[i] = draft->points[i + 1];
        draft->source[i] = draft->source[i + 1];
        draft->loss[i] = draft->loss[i + 1];
        draft->bump[i] = draft->bump[i + 1];
        draft->stale[i] = draft->stale[i + 1];
    }
    draft->count--;
}

/* The vertex to drop next, or draft->count if none. */
static u32 cheapest_vertex(const Draft *draft, u32 vertex_limit)
{
    if (draft->count <= 4) {
        return draft->count;
    }
    bool too_many = draft->count > vertex_limit;
    const f64 *cost = too_many ? draft->loss : draft->bump;
    u32 best = 0;
    for (u32 i = 1; i < draft->count; i++) {
        best = cost[i] < cost[best] ? i : best;
    }
    return too_many || cost[best] <= BUMP_TOLERANCE * QUICKHULL_GRID ? best : draft->count;
}

/* Drops vertices until the limit is met and each remaining one protrudes. The triangles of the
 * result are in draft->quick. */
static void simplify(Draft *draft, u32 vertex_limit)
{
    for (u32 i = 0; i < draft->count; i++) {
        draft->stale[i] = true;
    }
    for (;;) {
        quickhull_run(draft->quick, draft->points, draft->count, 0.0, 0.0, draft->count);
        for (u32 i = 0; i < draft->count; i++) {
            if (draft->stale[i]) {
                measure_vertex(draft, i);
            }
        }
        u32 vertex = cheapest_vertex(draft, vertex_limit);
        if (vertex >= draft->count) {
            return;
        }
        remove_vertex(draft, vertex);
    }
}

/* The vertices of the hull of the whole cloud, or of its farthest points if there are too many. */
static Error draft_from_cloud(Draft *draft, const GridPoint *grid, u32 count, u32 vertex_limit,
                              ErrorText *error)
{
    static const char *const shapes[] = {"one point", "a line", "a plane"};
    u32 candidates = u32_max(CANDIDATES_PER_VERTEX * vertex_limit, CANDIDATES_MIN);
    QuickHull whole;
    if (!quickhull_init(&whole, count, candidates)) {
        return error_set(error, ERROR_MEMORY, "hull: out of memory");
    }
    QuickHullResult result = quickhull_run(&whole, grid, count, COVER_TOLERANCE * QUICKHULL_GRID,
                                           FLAT_TOLERANCE * QUICKHULL_GRID, candidates);
    if (result != QUICKHULL_SOLID) {
        quickhull_finish(&whole);
        return error_set(error, ERROR_RANGE, "hull: the %u points lie in %s", count,
                         shapes[result]);
    }
    draft->count = 0;
    u32 *used = whole.start; /* reused as scratch */
    memset(used, 0, count * sizeof *used);
    for (u32 i = 0; i < whole.face_count; i++) {
        for (u32 j = 0; j < 3 && whole.faces[i].live; j++) {
            used[whole.faces[i].corner[j]] = 1;
        }
    }
    for (u32 i = 0; i < count; i++) {
        if (used[i] != 0) {
            draft->points[draft->count] = grid[i];
            draft->source[draft->count++] = i;
        }
    }
    quickhull_finish(&whole);
    return ERROR_OK;
}

/* ---- triangles to polygons ---- */

static void patch_init(FacePatch *patch, const Draft *draft)
{
    u16 index_of[3 * CANDIDATES_MAX];
    patch->points = draft->points;
    patch->triangle_count = 0;
    for (u32 i = 0; i < draft->quick->face_count; i++) {
        if (draft->quick->faces[i].live) {
            index_of[i] = patch->triangle_count++;
        }
    }
    u16 t = 0;
    for (u32 i = 0; i < draft->quick->face_count; i++) {
        const QuickFace *face = &draft->quick->faces[i];
        if (!face->live) {
            continue;
        }
        for (int j = 0; j < 3; j++) {
            patch->corner[t][j] = (u16)face->corner[j];
            patch->adjacent[t][j] = index_of[face->adjacent[j]];
            patch->normal[t][j] = (f64)face->normal[j] / face->length;
        }
        patch->area[t] = face->length;
        patch->region[t] = NO_REGION;
        u16 at = t++;
        for (; at > 0 && patch->area[patch->order[at - 1]] < patch->area[t - 1]; at--) {
            patch->order[at] = patch->order[at - 1];
        }
        patch->order[at] = (u16)(t - 1);
    }
}

/* Height of a point above a triangle's plane, in grid steps. */
static f64 patch_height(const FacePatch *patch, u16 triangle, u16 vertex)
{
    GridPoint p = patch->points[vertex];
    GridPoint a = patch->points[patch->corner[triangle][0]];
    const f64 *n = patch->normal[triangle];
    return n[0] * (f64)(p.x - a.x) + n[1] * (f64)(p.y - a.y) + n[2] * (f64)(p.z - a.z);
}

static bool joins(const FacePatch *patch, u16 seed, u16 triangle)
{
    const f64 *a = patch->normal[seed], *b = patch->normal[triangle];
    if (!(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] > 0.0)) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        if (fabs(patch_height(patch, seed, patch->corner[triangle][i])) >
            MERGE_TOLERANCE * QUICKHULL_GRID) {
            return false;
        }
    }
    return true;
}

/* Traverses the border of a region; false if it is not one loop of different vertices. */
static bool region_loop(const FacePatch *patch, u16 region, Loop *loop)
{
    u16 next[CANDIDATES_MAX];
    u32 edges = 0;
    u16 start = 0;
    memset(next, 0xFF, sizeof next);
    for (u16 t = 0; t < patch->triangle_count; t++) {
        for (int j = 0; j < 3 && patch->region[t] == region; j++) {
            if (patch->region[patch->adjacent[t][j]] != region) {
                start = patch->corner[t][j];
                if (next[start] != 0xFFFF) {
                    return false;
                }
                next[start] = patch->corner[t][(j + 1) % 3];
                edges++;
            }
        }
    }
    loop->count = 0;
    u16 at = start;
    do {
        if (loop->count == edges || loop->count == HULL_VERTICES_MAX) {
            return false;
        }
        loop->vertex[loop->count++] = at;
        at = next[at];
    } while (at != start);
    return loop->count == edges;
}

/* True if every corner turns left, seen from outside, within the tolerance. */
static bool loop_is_convex(const FacePatch *patch, u16 seed, const Loop *loop)
{
    const f64 *n = patch->normal[seed];
    for (u32 i = 0; i < loop->count; i++) {
        GridPoint a = patch->points[loop->vertex[i]];
        GridPoint b = patch->points[loop->vertex[(i + 1) % loop->count]];
        GridPoint c = patch->points[loop->vertex[(i + 2) % loop->count]];
        f64 u[3] = {(f64)(b.x - a.x), (f64)(b.y - a.y), (f64)(b.z - a.z)};
        f64 v[3] = {(f64)(c.x - b.x), (f64)(c.y - b.y), (f64)(c.z - b.z)};
        f64 turn = n[0] * (u[1] * v[2] - u[2] * v[1]) + n[1] * (u[2] * v[0] - u[0] * v[2]) +
                   n[2] * (u[0] * v[1] - u[1] * v[0]);
        f64 size = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        if (!(turn > -0.1 * MERGE_TOLERANCE * QUICKHULL_GRID * size)) {
            return false;
        }
    }
    return true;
}

/* Grows a region around each triangle, largest first; a region whose border is not a convex
 * polygon is split into its triangles again. */
static void merge(FacePatch *patch)
{
    u16 stack[TRIANGLES_MAX];
    patch->region_count = 0;
    for (u16 i = 0; i < patch->triangle_count; i++) {
        u16 seed = patch->order[i];
        if (patch->region[seed] != NO_REGION) {
            continue;
        }
        u16 region = patch->region_count++;
        u32 count = 0;
        stack[count++] = seed;
        patch->region[seed] = region;
        while (count > 0) {
            u16 t = stack[--count];
            for (int j = 0; j < 3; j++) {
                u16 other = patch->adjacent[t][j];
                if (patch->region[other] == NO_REGION && joins(patch, seed, other)) {
                    patch->region[other] = region;
                    stack[count++] = other;
                }
            }
        }
        Loop loop;
        if (region_loop(patch, region, &loop) && loop_is_convex(patch, seed, &loop)) {
            continue;
        }
        for (u16 t = 0; t < patch->triangle_count; t++) {
            if (t != seed && patch->region[t] == region) {
                patch->region[t] = patch->region_count++;
            }
        }
    }
}

/* ---- the hull ---- */

static bool hull_allocate(Hull *hull, u32 vertices, u32 faces, u32 edges)
{
    hull->vertices = calloc(vertices, sizeof *hull->vertices);
    hull->normals = calloc(faces, sizeof *hull->normals);
    hull->offsets = calloc(faces, sizeof *hull->offsets);
    hull->face_edges = calloc(faces, sizeof *hull->face_edges);
    hull->edges = calloc(edges, sizeof *hull->edges);
    return hull->vertices != NULL && hull->normals != NULL && hull->offsets != NULL &&
           hull->face_edges != NULL && hull->edges != NULL;
}

/* Builds faces, half-edges and twins from the loops; drops vertices that no loop uses. */
static bool hull_connect(Hull *hull, const FacePatch *patch, const Draft *draft, const Vec3 *cloud)
{
    u8 index_of[CANDIDATES_MAX];
    bool used[CANDIDATES_MAX] = {false};
    u32 edges = 0, vertices = 0;
    Loop loop;
    for (u16 r = 0; r < patch->region_count; r++) {
        region_loop(patch, r, &loop);
        edges += loop.count;
        for (u32 i = 0; i < loop.count; i++) {
            vertices += used[loop.vertex[i]] ? 0 : 1;
            used[loop.vertex[i]] = true;
        }
    }
    if (!hull_allocate(hull, vertices, patch->region_count, edges)) {
        return false;
    }
    for (u32 i = 0; i < draft->count; i++) {
        index_of[i] = (u8)hull->vertex_count;
        if (used[i]) {
            hull->vertices[hull->vertex_count++] = cloud[draft->source[i]];
        }
    }
    u16 edge_at[HULL_VERTICES_MAX][HULL_VERTICES_MAX];
    for (u16 r = 0; r < patch->region_count; r++) {
        region_loop(patch, r, &loop);
        u16 first = (u16)hull->edge_count;
        hull->face_edges[r] = first;
        for (u32 i = 0; i < loop.count; i++) {
            u8 a = index_of[loop.vertex[i]];
            u8 b = index_of[loop.vertex[(i + 1) % loop.count]];
            HalfEdge *edge = &hull->edges[hull->edge_count];
            edge->origin = a;
            edge->face = (u8)r;
            edge->next = (u16)(first + (i + 1) % loop.count);
            edge_at[a][b] = (u16)hull->edge_count++;
        }
    }
    hull->face_count = patch->region_count;
    for (u32 i = 0; i < hull->edge_count; i++) {
        HalfEdge *edge = &hull->edges[i];
        edge->twin = edge_at[hull->edges[edge->next].origin][edge->origin];
    }
    return true;
}

/* Planes by Newell's sum over the corners, on the grid, where it is exact; the offset is that of
 * the outermost vertex, so that no vertex lies outside. */
static void hull_planes(Hull *hull, FacePatch *patch)
{
    Loop loop;
    for (u16 r = 0; r < patch->region_count; r++) {
        region_loop(patch, r, &loop);
        f64 n[3] = {0.0, 0.0, 0.0};
        GridPoint o = patch->points[loop.vertex[0]];
        for (u32 i = 1; i + 1 < loop.count; i++) {
            GridPoint p = patch->points[loop.vertex[i]];
            GridPoint q = patch->points[loop.vertex[i + 1]];
            f64 u[3] = {(f64)(p.x - o.x), (f64)(p.y - o.y), (f64)(p.z - o.z)};
            f64 v[3] = {(f64)(q.x - o.x), (f64)(q.y - o.y), (f64)(q.z - o.z)};
            n[0] += u[1] * v[2] - u[2] * v[1];
            n[1] += u[2] * v[0] - u[0] * v[2];
            n[2] += u[0] * v[1] - u[1] * v[0];
        }
        f64 scale = 1.0 / sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        Vec3 normal = vec3((f32)(n[0] * scale), (f32)(n[1] * scale), (f32)(n[2] * scale));
        f64 offset = -INFINITY;
        for (u32 i = 0; i < hull->vertex_count; i++) {
            Vec3 x = hull->vertices[i];
            f64 d = (f64)normal.x * (f64)x.x + (f64)normal.y * (f64)x.y + (f64)normal.z * (f64)x.z;
            offset = d > offset ? d : offset; /* of 0 and −0 the first, unlike fmax */
        }
        hull->normals[r] = normal;
        hull->offsets[r] = (f32)offset;
    }
}

static f32 clearance_at(const Hull *hull, Vec3 p, u32 *nearest)
{
    f32 clearance = INFINITY;
    for (u32 i = 0; i < hull->face_count; i++) {
        f32 d = hull->offsets[i] - vec3_dot(hull->normals[i], p);
        if (d < clearance) {
            clearance = d;
            *nearest = i;
        }
    }
    return clearance;
}

/* A large inscribed ball: starting from the centre of mass, moves away from the nearest face in
 * decreasing steps (the subgradient method on a concave function). */
static void hull_inner_ball(Hull *hull, Vec3 centre)
{
    u32 nearest = 0;
    Vec3 p = centre;
    hull->inside = p;
    hull->inner_radius = clearance_at(hull, p, &nearest);
    f32 step = 0.5f * hull->inner_radius;
    for (int i = 0; i < INNER_STEPS; i++) {
        p = vec3_add_scaled(p, -step, hull->normals[nearest]);
        f32 clearance = clearance_at(hull, p, &nearest);
        if (clearance > hull->inner_radius) {
            hull->inner_radius = clearance;
            hull->inside = p;
        }
        step *= 0.97f;
    }
    hull->inner_radius = f32_max(0.0f, 0.999f * hull->inner_radius);
}

static void hull_mass(Geometry *geometry)
{
    const Hull *hull = &geometry->hull;
    SolidSum sum;
    solid_sum_init(&sum, hull->vertices[0]);
    for (u32 f = 0; f < hull->face_count; f++) {
        const HalfEdge *first = &hull->edges[hull->face_edges[f]];
        const HalfEdge *edge = &hull->edges[first->next];
        while (edge->next != hull->face_edges[f]) {
            const HalfEdge *next = &hull->edges[edge->next];
            solid_sum_add(&sum, hull->vertices[first->origin], hull->vertices[edge->origin],
                          hull->vertices[next->origin]);
            edge = next;
        }
    }
    solid_sum_finish(&sum, geometry);
}

static Geometry *hull_from_draft(const Draft *draft, const Vec3 *cloud)
{
    Geometry *geometry = calloc(1, sizeof *geometry);
    FacePatch *patch = malloc(sizeof *patch);
    if (geometry != NULL) {
        geometry->kind = GEOMETRY_HULL;
    }
    if (geometry == NULL || patch == NULL) {
        goto failed;
    }
    patch_init(patch, draft);
    merge(patch);
    if (!hull_connect(&geometry->hull, patch, draft, cloud)) {
        goto failed;
    }
    Hull *hull = &geometry->hull;
    hull_planes(hull, patch);
    geometry->bounds = bounds_of(hull->vertices, hull->vertex_count);
    for (u32 i = 0; i < hull->vertex_count; i++) {
        geometry->reach = f32_max(geometry->reach, vec3_length(hull->vertices[i]));
    }
    hull_mass(geometry);
    hull_inner_ball(hull, geometry->centre);
    free(patch);
    return geometry;
failed:
    free(patch);
    geometry_destroy(geometry);
    return NULL;
}

Geometry *geometry_hull(const Vec3 *points, u32 count, u32 vertex_limit, ErrorText *error)
{
    if (check_points(points, count, vertex_limit, error) != ERROR_OK) {
        return NULL;
    }
    Bounds bounds = bounds_of(points, count);
    Vec3 size = vec3_sub(bounds.max, bounds.min);
    f64 extent = (f64)f32_max(f32_max(size.x, size.y), size.z);
    if (!(extent >= (f64)GEOMETRY_EXTENT_MIN_M)) {
        error_set(error, ERROR_RANGE, "hull: extent of %g m, expected at least %g m", extent,
                  (f64)GEOMETRY_EXTENT_MIN_M);
        return NULL;
    }
    Geometry *geometry = NULL;
    QuickHull quick = {0}, scratch = {0};
    Draft *draft = malloc(sizeof *draft);
    GridPoint *grid = points_on_grid(points, count, bounds.min, QUICKHULL_GRID / extent);
    if (draft == NULL || grid == NULL || !quickhull_init(&quick, CANDIDATES_MAX, CANDIDATES_MAX) ||
        !quickhull_init(&scratch, CANDIDATES_MAX, CANDIDATES_MAX)) {
        error_set(error, ERROR_MEMORY, "hull: out of memory");
        goto done;
    }
    draft->quick = &quick;
    draft->scratch = &scratch;
    if (draft_from_cloud(draft, grid, count, vertex_limit, error) != ERROR_OK) {
        goto done;
    }
    simplify(draft, vertex_limit);
    geometry = hull_from_draft(draft, points);
    if (geometry == NULL) {
        error_set(error, ERROR_MEMORY, "hull: out of memory");
    }
done:
    quickhull_finish(&scratch);
    quickhull_finish(&quick);
    free(grid);
    free(draft);
    return geometry;
}

u32 hull_support(const Hull *hull, Vec3 direction)
{
    u32 best = 0;
    f32 farthest = vec3_dot(hull->vertices[0], direction);
    for (u32 i = 1; i < hull->vertex_count; i++) {
        f32 d = vec3_dot(hull->vertices[i], direction);
        if (d > farthest) {
            farthest = d;
            best = i;
        }
    }
    return best;
}
