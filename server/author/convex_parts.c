/*
 * convex_parts.c: approximate convex decomposition. Candidate cuts are compared on a grid of cells,
 * by the empty volume in the convex hulls of the parts' cells. Whether a part is cut at all is
 * decided by the mesh itself, clipped to the part's box: by its hull, which is also the result, and
 * its volume, both without a grid.
 */
#include "server/author/convex_parts.h"

#include "shared/geometry/quickhull.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Cuts tried first along each axis; then those around the best. */
    COARSE_CUTS = 12,
    HULL_CANDIDATES_MAX = 256,
    CLIP_CORNERS_MAX = 3 + 6
};
/* A cut in the middle is preferred to one at the edge by this fraction of the empty volume, and
 * always among equal cuts. */
#define BALANCE     0.02
#define BALANCE_MIN 1e-6

typedef struct VoxelGrid {
    u32 size[3];
    f64 origin[3], step; /* m, the centre of the first cell */
    u8 *inside;          /* [size x × y × z] whether the cell's centre is inside; x fastest */
} VoxelGrid;

/* A box: its range of cells, inclusive, and its extent in metres. */
typedef struct ConvexPart {
    u32 low[3], high[3];
    f64 box_low[3], box_high[3]; /* m; infinite where no cut was made */
    f64 empty;                   /* cells: hull of its cells minus the cells */
    f64 excess;                  /* m³: hull of the mesh minus the solid */
    Geometry *hull;              /* NULL: too flat for a hull */
} ConvexPart;

typedef struct Splitter {
    const TriangleMesh *mesh;
    VoxelGrid grid;
    GridPoint *points;  /* [2 × (size y + 1) × (size z + 1)] */
    u32 (*row_ends)[2]; /* [size y × z] first cell of a row and one past its last */
    QuickHull quick;
    ConvexPart parts[COMPOUND_CHILDREN_MAX];
    u32 part_count;
} Splitter;

ConvexPartsOptions convex_parts_default(void)
{
    ConvexPartsOptions options = {16, 32, 40, 0.01f};
    return options;
}

/* ---- the grid ---- */

static size_t cell_index(const VoxelGrid *grid, u32 x, u32 y, u32 z)
{
    return ((size_t)z * grid->size[1] + y) * grid->size[0] + x;
}

static f64 position_of(const VoxelGrid *grid, int axis, u32 cell)
{
    return grid->origin[axis] + grid->step * (f64)cell;
}

/* Side of the line through a and b on which p lies. Symmetric in a and b, so that exactly one of
 * two triangles at an edge contains a point on it. */
static bool is_left(const f64 a[3], const f64 b[3], f64 y, f64 z)
{
    bool swap = a[1] > b[1] || (a[1] == b[1] && a[2] > b[2]);
    const f64 *from = swap ? b : a, *to = swap ? a : b;
    bool left = (to[1] - from[1]) * (z - from[2]) - (to[2] - from[2]) * (y - from[1]) >= 0.0;
    return left != swap;
}

/* The last cell whose centre is not beyond a coordinate; the first if all are. */
static u32 cell_before(const VoxelGrid *grid, int axis, f64 at)
{
    f64 cell = (at - grid->origin[axis]) / grid->step;
    return cell <= 0.0 ? 0 : (u32)(cell < 1e6 ? cell : 1e6);
}

static void read_corners(const Vec3 corners[3], f64 out[3][3])
{
    for (int i = 0; i < 3; i++) {
        out[i][0] = (f64)corners[i].x;
        out[i][1] = (f64)corners[i].y;
        out[i][2] = (f64)corners[i].z;
    }
}

/* Intersection of the triangle's plane with the line along x; never called for planes along x. */
static f64 crossing_x(f64 p[3][3], f64 y, f64 z)
{
    f64 u[3], v[3];
    for (int i = 0; i < 3; i++) {
        u[i] = p[1][i] - p[0][i];
        v[i] = p[2][i] - p[0][i];
    }
    f64 n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
    return p[0][0] - (n[1] * (y - p[0][1]) + n[2] * (z - p[0][2])) / n[0];
}

/* Adds a triangle's intersections with the lines along x, where the winding number changes. */
static void cross_triangle(const VoxelGrid *grid, i8 *change, f64 p[3][3])
{
    u32 range[3][2];
    for (int axis = 1; axis < 3; axis++) {
        f64 low = p[0][axis], high = low;
        for (int i = 1; i < 3; i++) {
            low = p[i][axis] < low ? p[i][axis] : low;
            high = p[i][axis] > high ? p[i][axis] : high;
        }
        range[axis][0] = cell_before(grid, axis, low);
        range[axis][1] = u32_min(cell_before(grid, axis, high) + 1, grid->size[axis] - 1);
    }
    for (u32 z = range[2][0]; z <= range[2][1]; z++) {
        for (u32 y = range[1][0]; y <= range[1][1]; y++) {
            f64 at_y = position_of(grid, 1, y), at_z = position_of(grid, 2, z);
            bool a = is_left(p[0], p[1], at_y, at_z), b = is_left(p[1], p[2], at_y, at_z);
            bool c = is_left(p[2], p[0], at_y, at_z);
            if (a != b || b != c) {
                continue;
            }
            f64 x = crossing_x(p, at_y, at_z);
            u32 from = x < grid->origin[0] ? 0 : cell_before(grid, 0, x) + 1;
            if (from < grid->size[0]) {
                change[cell_index(grid, from, y, z)] += a ? -1 : 1;
            }
        }
    }
}

static bool grid_init(VoxelGrid *grid, const Geometry *geometry, u32 resolution)
{
    const TriangleMesh *mesh = &geometry->mesh;
    const f32 low[3] = {geometry->bounds.min.x, geometry->bounds.min.y, geometry->bounds.min.z};
    const f32 high[3] = {geometry->bounds.max.x, geometry->bounds.max.y, geometry->bounds.max.z};
    f64 longest = 0.0;
    for (int i = 0; i < 3; i++) {
        f64 side = (f64)high[i] - (f64)low[i];
        longest = side > longest ? side : longest;
    }
    grid->step = longest / resolution;
    for (int i = 0; i < 3; i++) {
        f64 side = (f64)high[i] - (f64)low[i];
        grid->size[i] = u32_max((u32)(side / grid->step + 0.5), 1);
        /* Slightly off round numbers, where surfaces tend to lie. */
        grid->origin[i] = 0.5 * ((f64)low[i] + (f64)high[i]) -
                          grid->step * (0.5 * (f64)(grid->size[i] - 1) - 1.3e-4 * (i + 1));
    }
    size_t count = (size_t)grid->size[0] * grid->size[1] * grid->size[2];
    grid->inside = calloc(count, 1);
    if (grid->inside == NULL) {
        return false;
    }
    i8 *change = (i8 *)grid->inside;
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        Vec3 c[3];
        f64 p[3][3];
        mesh_triangle(mesh, t, c);
        read_corners(c, p);
        cross_triangle(grid, change, p);
    }
    for (size_t row = 0; row < count; row += grid->size[0]) {
        i32 winding = 0;
        for (u32 x = 0; x < grid->size[0]; x++) {
            winding += change[row + x];
            grid->inside[row + x] = winding > 0;
        }
    }
    return true;
}

/* ---- how empty a part's hull is ---- */

/* Finds the ranges of cells in each row of a part; returns the number of cells. */
static u32 find_rows(const Splitter *splitter, const ConvexPart *part)
{
    const VoxelGrid *grid = &splitter->grid;
    u32 cells = 0;
    for (u32 z = part->low[2]; z <= part->high[2]; z++) {
        for (u32 y = part->low[1]; y <= part->high[1]; y++) {
            const u8 *row = &grid->inside[cell_index(grid, 0, y, z)];
            u32 *ends = splitter->row_ends[z * grid->size[1] + y];
            ends[0] = UINT32_MAX;
            ends[1] = 0;
            for (u32 x = part->low[0]; x <= part->high[0]; x++) {
                if (row[x]) {
                    ends[0] = u32_min(ends[0], x);
                    ends[1] = x + 1;
                    cells++;
                }
            }
        }
    }
    return cells;
}

/* Cell corners that can be hull vertices: the outermost ones on each line along x. */
static u32 find_corners(const Splitter *splitter, const ConvexPart *part)
{
    u32 count = 0;
    for (u32 z = part->low[2]; z <= part->high[2] + 1; z++) {
        for (u32 y = part->low[1]; y <= part->high[1] + 1; y++) {
            u32 first = UINT32_MAX, last = 0;
            for (u32 k = 0; k < 4; k++) {                      /* the rows adjacent to the line */
                u32 row_y = y - (k & 1), row_z = z - (k >> 1); /* below 0 wraps to a large number */
                if (row_y >= part->low[1] && row_y <= part->high[1] && row_z >= part->low[2] &&
                    row_z <= part->high[2]) {
                    const u32 *ends = splitter->row_ends[row_z * splitter->grid.size[1] + row_y];
                    first = u32_min(first, ends[0]);
                    last = u32_max(last, ends[1]);
                }
            }
            if (first < last) {
                splitter->points[count++] = (GridPoint){(i32)first, (i32)y, (i32)z};
                splitter->points[count++] = (GridPoint){(i32)last, (i32)y, (i32)z};
            }
        }
    }
    return count;
}

static void measure_empty(Splitter *splitter, ConvexPart *part)
{
    u32 cells = find_rows(splitter, part);
    u32 count = find_corners(splitter, part);
    part->empty = 0.0;
    if (cells > 0 && quickhull_run(&splitter->quick, splitter->points, count, 0.0, 0.0,
                                   HULL_CANDIDATES_MAX) == QUICKHULL_SOLID) {
        f64 empty = quickhull_volume6(&splitter->quick) / 6.0 - (f64)cells;
        part->empty = empty > 0.0 ? empty : 0.0;
    }
}

/* ---- cuts ---- */

/* Snaps a cut to the nearest vertex within half a step, where surfaces often lie. */
static f64 snap(const Splitter *splitter, const ConvexPart *part, int axis, f64 at)
{
    f64 best = 0.51 * splitter->grid.step, snapped = at;
    for (u32 i = 0; i < splitter->mesh->vertex_count; i++) {
        Vec3 v = splitter->mesh->vertices[i];
        const f64 p[3] = {(f64)v.x, (f64)v.y, (f64)v.z};
        bool in = true;
        for (int k = 0; k < 3; k++) {
            in = in && p[k] >= part->box_low[k] && p[k] <= part->box_high[k];
        }
        if (in && fabs(p[axis] - at) < best) {
            best = fabs(p[axis] - at);
            snapped = p[axis];
        }
    }
    return snapped;
}

/* Tries a cut between a cell and the next; keeps both halves if it is the best so far. */
static void try_cut(Splitter *splitter, const ConvexPart *part, int axis, u32 cut, f64 *best_cost,
                    ConvexPart halves[2])
{
    ConvexPart low = *part, high = *part;
    low.high[axis] = cut;
    high.low[axis] = cut + 1;
    measure_empty(splitter, &low);
    measure_empty(splitter, &high);
    f64 off_centre = fabs(2.0 * cut + 1.0 - part->low[axis] - part->high[axis]) /
                     (f64)(part->high[axis] - part->low[axis]);
    f64 cost = low.empty + high.empty + (BALANCE * part->empty + BALANCE_MIN) * off_centre;
    if (cost < *best_cost) {
        *best_cost = cost;
        halves[0] = low;
        halves[1] = high;
    }
}

/* The best cut of a part; false if it is a single cell. */
static bool find_cut(Splitter *splitter, const ConvexPart *part, ConvexPart halves[2])
{
    f64 cost = INFINITY;
    u32 stride[3], best[3];
    int axis = -1;
    for (int a = 0; a < 3; a++) {
        u32 steps = part->high[a] - part->low[a];
        stride[a] = (steps + COARSE_CUTS - 1) / COARSE_CUTS;
        for (u32 cut = part->low[a] + stride[a] / 2; cut < part->high[a]; cut += stride[a]) {
            f64 before = cost;
            try_cut(splitter, part, a, cut, &cost, halves);
            if (cost < before) {
                axis = a;
                best[a] = cut;
            }
        }
    }
    if (axis < 0) {
        return false;
    }
    u32 around = best[axis], far = stride[axis] - 1;
    u32 first = u32_max(part->low[axis], around - u32_min(far, around));
    for (u32 cut = first; cut <= around + far && cut < part->high[axis]; cut++) {
        if (cut != around) {
            try_cut(splitter, part, axis, cut, &cost, halves);
        }
    }
    f64 middle =
        position_of(&splitter->grid, axis, halves[0].high[axis]) + 0.5 * splitter->grid.step;
    f64 at = snap(splitter, part, axis, middle);
    halves[0].box_high[axis] = at;
    halves[1].box_low[axis] = at;
    return true;
}

/* ---- hulls of the mesh within each part's box ---- */

/* Clips a polygon to sign × p[axis] ≤ sign × at; returns its number of corners. With `strict`,
 * polygons that only touch the plane from the other side, or lie in it, are removed. */
static u32 clip(f64 polygon[CLIP_CORNERS_MAX][3], u32 count, int axis, f64 sign, f64 at,
                bool strict)
{
    f64 kept[CLIP_CORNERS_MAX][3];
    u32 n = 0;
    bool within = !strict;
    if (!isfinite(at)) {
        return count;
    }
    for (u32 i = 0; i < count; i++) {
        const f64 *a = polygon[i], *b = polygon[(i + 1) % count];
        f64 da = sign * (a[axis] - at), db = sign * (b[axis] - at);
        within = within || da < 0.0;
        if (da <= 0.0) {
            memcpy(kept[n++], a, sizeof kept[0]);
        }
        if ((da < 0.0 && db > 0.0) || (da > 0.0 && db < 0.0)) {
            f64 t = da / (da - db);
            for (int k = 0; k < 3; k++) {
                kept[n][k] = k == axis ? at : a[k] + t * (b[k] - a[k]);
            }
            n++;
        }
    }
    memcpy(polygon, kept, n * sizeof kept[0]);
    return within ? n : 0;
}

static Vec3 to_vec3(const f64 p[3])
{
    return vec3((f32)p[0], (f32)p[1], (f32)p[2]);
}

/* Clips a triangle to the part's box along the axes from `first` on; returns its corners. */
static u32 clip_triangle(const Splitter *splitter, const ConvexPart *part, u32 triangle, int first,
                         f64 polygon[CLIP_CORNERS_MAX][3])
{
    Vec3 c[3];
    u32 corners = 3;
    mesh_triangle(splitter->mesh, triangle, c);
    read_corners(c, polygon);
    for (int axis = first; axis < 3 && corners > 0; axis++) {
        corners = clip(polygon, corners, axis, -1.0, part->box_low[axis], true);
        corners = clip(polygon, corners, axis, 1.0, part->box_high[axis], true);
    }
    return corners;
}

/* Point-in-solid test by the winding number of the surface beyond it along x. */
static bool is_inside(const TriangleMesh *mesh, const f64 p[3])
{
    i32 winding = 0;
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        Vec3 c[3];
        f64 q[3][3];
        mesh_triangle(mesh, t, c);
        read_corners(c, q);
        bool left = is_left(q[0], q[1], p[1], p[2]);
        if (left == is_left(q[1], q[2], p[1], p[2]) && left == is_left(q[2], q[0], p[1], p[2]) &&
            crossing_x(q, p[1], p[2]) > p[0]) {
            winding += left ? 1 : -1;
        }
    }
    return winding > 0;
}

/* Corners of the clipped mesh, and those of the box inside the solid; only counts if `points` is
 * NULL. */
static u32 collect(const Splitter *splitter, const ConvexPart *part, Vec3 *points)
{
    u32 count = 0;
    f64 polygon[CLIP_CORNERS_MAX][3];
    for (u32 t = 0; t < splitter->mesh->triangle_count; t++) {
        u32 corners = clip_triangle(splitter, part, t, 0, polygon);
        for (u32 i = 0; i < corners; i++, count++) {
            if (points != NULL) {
                points[count] = to_vec3(polygon[i]);
            }
        }
    }
    for (u32 k = 0; k < 8; k++) {
        f64 corner[3], near[3];
        bool cut = true; /* uncut sides lie outside the mesh */
        for (int axis = 0; axis < 3; axis++) {
            bool high = (k >> axis & 1) != 0;
            corner[axis] = high ? part->box_high[axis] : part->box_low[axis];
            /* Cuts often pass through vertices: test slightly inside the box. */
            near[axis] = corner[axis] + (high ? -1e-4 : 1e-4) * splitter->grid.step;
            cut = cut && isfinite(corner[axis]);
        }
        if (cut && is_inside(splitter->mesh, near)) {
            if (points != NULL) {
                points[count] = to_vec3(corner);
            }
            count++;
        }
    }
    return count;
}

/* Flux of (x − from, 0, 0) through a polygon, or of (1, 0, 0) with `constant`. */
static f64 flux_x(f64 polygon[CLIP_CORNERS_MAX][3], u32 count, f64 from, bool constant)
{
    f64 flux = 0.0;
    const f64 *a = polygon[0];
    for (u32 i = 1; i + 1 < count; i++) {
        const f64 *b = polygon[i], *c = polygon[i + 1];
        f64 area = 0.5 * ((b[1] - a[1]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[1] - a[1]));
        flux += area * (constant ? 1.0 : (a[0] + b[0] + c[0]) / 3.0 - from);
    }
    return flux;
}

/* Volume of the solid in the box, in m³: by the divergence theorem with the field (clamped x −
 * low, 0, 0), which is zero on the low side; flux through the high side leaves the solid through
 * the surface beyond. */
static f64 solid_volume(const Splitter *splitter, const ConvexPart *part)
{
    f64 low = part->box_low[0], high = part->box_high[0];
    low = isfinite(low) ? low : splitter->grid.origin[0] - 2.0 * splitter->grid.step;
    f64 volume = 0.0;
    for (u32 t = 0; t < splitter->mesh->triangle_count; t++) {
        f64 column[CLIP_CORNERS_MAX][3], piece[CLIP_CORNERS_MAX][3];
        u32 corners = clip_triangle(splitter, part, t, 1, column);
        memcpy(piece, column, sizeof piece);
        u32 between = clip(piece, corners, 0, -1.0, low, false);
        between = clip(piece, between, 0, 1.0, high, false);
        volume += flux_x(piece, between, low, false);
        if (isfinite(high)) {
            memcpy(piece, column, sizeof piece);
            u32 beyond = clip(piece, corners, 0, -1.0, high, true);
            volume += (high - low) * flux_x(piece, beyond, low, true);
        }
    }
    return volume;
}

/* Computes hull and excess of a new part. Slices too flat for a hull are dropped. */
static Error part_finish(const Splitter *splitter, ConvexPart *part, u32 vertex_limit,
                         ErrorText *error)
{
    ErrorText why = {0};
    u32 count = collect(splitter, part, NULL);
    Vec3 *points = malloc((count + 1) * sizeof *points);
    if (points == NULL) {
        return error_set(error, ERROR_MEMORY, "convex parts: out of memory");
    }
    collect(splitter, part, points);
    part->hull = geometry_hull(points, count, vertex_limit, &why);
    free(points);
    part->excess = 0.0;
    if (part->hull != NULL) {
        part->excess = (f64)part->hull->volume - solid_volume(splitter, part);
    } else if (why.code != ERROR_RANGE) {
        return error_set(error, why.code, "convex parts: %s", why.text);
    }
    return ERROR_OK;
}

static Error split(Splitter *splitter, const ConvexPartsOptions *options, f64 allowed,
                   ErrorText *error)
{
    Error result = part_finish(splitter, &splitter->parts[0], options->vertex_limit, error);
    while (result == ERROR_OK && splitter->part_count < options->parts_max) {
        u32 worst = 0;
        for (u32 i = 1; i < splitter->part_count; i++) {
            worst = splitter->parts[i].excess > splitter->parts[worst].excess ? i : worst;
        }
        ConvexPart *part = &splitter->parts[worst];
        if (part->excess <= allowed) {
            break;
        }
        ConvexPart halves[2];
        if (!find_cut(splitter, part, halves)) {
            part->excess = 0.0; /* cannot improve */
            continue;
        }
        geometry_destroy(part->hull);
        ConvexPart *other = &splitter->parts[splitter->part_count++];
        *part = halves[0];
        *other = halves[1];
        part->hull = other->hull = NULL;
        result = part_finish(splitter, part, options->vertex_limit, error);
        if (result == ERROR_OK) {
            result = part_finish(splitter, other, options->vertex_limit, error);
        }
    }
    return result;
}

/* Transfers the hulls to the caller, or destroys them after an error; returns their number. */
static u32 hand_over(Splitter *splitter, Error result, Geometry *hulls[], ErrorText *error)
{
    u32 made = 0;
    for (u32 i = 0; i < splitter->part_count; i++) {
        Geometry *hull = splitter->parts[i].hull;
        if (result != ERROR_OK) {
            geometry_destroy(hull);
        } else if (hull != NULL) {
            hulls[made++] = hull;
        }
    }
    if (result == ERROR_OK && made == 0) {
        error_set(error, ERROR_RANGE, "convex parts: the mesh is flat");
    }
    return made;
}

static Error check(const Geometry *mesh, const ConvexPartsOptions *options, ErrorText *error)
{
    if (mesh->kind != GEOMETRY_MESH || !mesh->mesh.closed || !(mesh->volume > 0.0f)) {
        return error_set(error, ERROR_RANGE, "convex parts: expected a closed mesh with a volume");
    }
    if (options->parts_max < 1 || options->parts_max > COMPOUND_CHILDREN_MAX) {
        return error_set(error, ERROR_RANGE, "convex parts: %u parts, expected 1 to %d",
                         options->parts_max, COMPOUND_CHILDREN_MAX);
    }
    if (options->vertex_limit < 4 || options->vertex_limit > HULL_VERTICES_MAX) {
        return error_set(error, ERROR_RANGE, "convex parts: vertex limit %u, expected 4 to %d",
                         options->vertex_limit, HULL_VERTICES_MAX);
    }
    if (options->resolution < CONVEX_PARTS_RESOLUTION_MIN ||
        options->resolution > CONVEX_PARTS_RESOLUTION_MAX) {
        return error_set(error, ERROR_RANGE, "convex parts: resolution %u, expected %d to %d",
                         options->resolution, CONVEX_PARTS_RESOLUTION_MIN,
                         CONVEX_PARTS_RESOLUTION_MAX);
    }
    if (!(options->tolerance >= 0.0f && options->tolerance <= 1.0f)) {
        return error_set(error, ERROR_RANGE, "convex parts: tolerance %g, expected 0 to 1",
                         (f64)options->tolerance);
    }
    return ERROR_OK;
}

u32 convex_parts(const Geometry *mesh, const ConvexPartsOptions *options, Geometry *hulls[],
                 ErrorText *error)
{
    if (check(mesh, options, error) != ERROR_OK) {
        return 0;
    }
    u32 made = 0;
    Splitter *splitter = calloc(1, sizeof *splitter);
    if (splitter == NULL || !grid_init(&splitter->grid, mesh, options->resolution)) {
        free(splitter);
        error_set(error, ERROR_MEMORY, "convex parts: out of memory");
        return 0;
    }
    const VoxelGrid *grid = &splitter->grid;
    splitter->mesh = &mesh->mesh;
    u32 rows = grid->size[1] * grid->size[2];
    u32 points = 2 * (grid->size[1] + 1) * (grid->size[2] + 1);
    splitter->points = malloc(points * sizeof *splitter->points);
    splitter->row_ends = malloc(rows * sizeof *splitter->row_ends);
    if (splitter->points != NULL && splitter->row_ends != NULL &&
        quickhull_init(&splitter->quick, points, HULL_CANDIDATES_MAX)) {
        ConvexPart *whole = &splitter->parts[0];
        for (int i = 0; i < 3; i++) {
            whole->high[i] = grid->size[i] - 1;
            whole->box_low[i] = -INFINITY;
            whole->box_high[i] = INFINITY;
        }
        splitter->part_count = 1;
        measure_empty(splitter, whole);
        f64 allowed = (f64)options->tolerance * (f64)mesh->volume;
        Error result = split(splitter, options, allowed, error);
        made = hand_over(splitter, result, hulls, error);
    } else {
        error_set(error, ERROR_MEMORY, "convex parts: out of memory");
    }
    quickhull_finish(&splitter->quick);
    free(splitter->points);
    free(splitter->row_ends);
    free(splitter->grid.inside);
    free(splitter);
    return made;
}
