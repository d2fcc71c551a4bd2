/*
 * terrain.c: height fields: a pyramid of minimal and maximal heights over blocks of cells culls box
 * queries and ray casts.
 */
#include "shared/base/check.h"
#include "shared/base/limits.h"
#include "shared/geometry/local_ray.h"

#include <stdlib.h>
#include <string.h>

/* cos² 1°: edges with smaller angles are flat. */
#define FLAT_COSINE_SQUARED 0.999695413509548

enum {
    /* Level 0 is the cells, level k blocks of 2^k × 2^k cells; 2^11 ≥ TERRAIN_SIDE_MAX − 1. */
    LEVELS_MAX = 12,
    STACK_SIZE = 4 * LEVELS_MAX
};
PL_STATIC_ASSERT((1 << (LEVELS_MAX - 1)) >= TERRAIN_SIDE_MAX - 1, "one block tops every pyramid");

typedef struct Block {
    u32 level, x, z; /* in blocks of that level */
} Block;

typedef struct Pyramid {
    const Terrain *terrain;
    u32 columns[LEVELS_MAX], rows[LEVELS_MAX]; /* blocks */
    const f32 *ranges[LEVELS_MAX];             /* of level 1 and up */
    u32 top;
} Pyramid;

static u32 halved(u32 n)
{
    return (n + 1) / 2;
}

static Pyramid pyramid_of(const Terrain *terrain)
{
    Pyramid pyramid = {.terrain = terrain};
    u32 columns = terrain->columns - 1, rows = terrain->rows - 1, offset = 0, level = 0;
    pyramid.columns[0] = columns;
    pyramid.rows[0] = rows;
    do {
        level++;
        columns = halved(columns);
        rows = halved(rows);
        pyramid.columns[level] = columns;
        pyramid.rows[level] = rows;
        pyramid.ranges[level] = &terrain->ranges[2 * offset];
        offset += columns * rows;
    } while (columns > 1 || rows > 1);
    pyramid.top = level;
    return pyramid;
}

static u32 count_ranges(u32 columns, u32 rows)
{
    u32 count = 0;
    do {
        columns = halved(columns);
        rows = halved(rows);
        count += columns * rows;
    } while (columns > 1 || rows > 1);
    return count;
}

static f32 sample_x(const Terrain *terrain, u32 i)
{
    return ((f32)i - 0.5f * (f32)(terrain->columns - 1)) * terrain->spacing;
}

static f32 sample_z(const Terrain *terrain, u32 j)
{
    return ((f32)j - 0.5f * (f32)(terrain->rows - 1)) * terrain->spacing;
}

static Vec3 sample(const Terrain *terrain, u32 i, u32 j)
{
    return vec3(sample_x(terrain, i), terrain->heights[(size_t)j * terrain->columns + i],
                sample_z(terrain, j));
}

/* Blocks are passed by pointer: storing three numbers separately and loading them as one stalls
 * the processor. */
static inline void block_heights(const Pyramid *pyramid, const Block *block, f32 *low, f32 *high)
{
    if (block->level > 0) {
        u32 index = block->z * pyramid->columns[block->level] + block->x;
        const f32 *range = &pyramid->ranges[block->level][2 * index];
        *low = range[0];
        *high = range[1];
        return;
    }
    const Terrain *terrain = pyramid->terrain;
    const f32 *a = &terrain->heights[(size_t)block->z * terrain->columns + block->x];
    const f32 *b = a + terrain->columns;
    *low = f32_min(f32_min(a[0], a[1]), f32_min(b[0], b[1]));
    *high = f32_max(f32_max(a[0], a[1]), f32_max(b[0], b[1]));
}

static Bounds block_bounds(const Pyramid *pyramid, const Block *block)
{
    const Terrain *terrain = pyramid->terrain;
    u32 size = 1u << block->level;
    Bounds b;
    block_heights(pyramid, block, &b.min.y, &b.max.y);
    b.min.x = sample_x(terrain, block->x * size);
    b.min.z = sample_z(terrain, block->z * size);
    b.max.x = sample_x(terrain, u32_min(block->x * size + size, terrain->columns - 1));
    b.max.z = sample_z(terrain, u32_min(block->z * size + size, terrain->rows - 1));
    return b;
}

/* ---- making it ---- */

static Error check_terrain(const f32 *heights, u32 columns, u32 rows, f32 spacing, ErrorText *error)
{
    if (columns < 2 || rows < 2 || columns > TERRAIN_SIDE_MAX || rows > TERRAIN_SIDE_MAX) {
        return error_set(error, ERROR_LIMIT, "terrain: %u × %u samples, expected 2 to %d each way",
                         columns, rows, TERRAIN_SIDE_MAX);
    }
    f32 side = 0.5f * (f32)(u32_max(columns, rows) - 1) * spacing;
    if (!(spacing >= GEOMETRY_EXTENT_MIN_M && side <= WORLD_EXTENT_MAX_M)) {
        return error_set(error, ERROR_RANGE,
                         "terrain: spacing %g m, expected at least %g m and an edge within ±%g m",
                         (f64)spacing, (f64)GEOMETRY_EXTENT_MIN_M, (f64)WORLD_EXTENT_MAX_M);
    }
    for (u32 i = 0; i < columns * rows; i++) {
        if (!(fabsf(heights[i]) <= WORLD_EXTENT_MAX_M)) {
            return error_set(error, ERROR_RANGE,
                             "terrain: sample (%u, %u): height %g m, expected within ±%g m",
                             i % columns, i / columns, (f64)heights[i], (f64)WORLD_EXTENT_MAX_M);
        }
    }
    return ERROR_OK;
}

/* Each block's range from the four blocks (or cells) one level below. */
static void fill_ranges(Terrain *terrain)
{
    Pyramid pyramid = pyramid_of(terrain);
    f32 *range = terrain->ranges;
    for (u32 level = 1; level <= pyramid.top; level++) {
        for (u32 z = 0; z < pyramid.rows[level]; z++) {
            for (u32 x = 0; x < pyramid.columns[level]; x++, range += 2) {
                range[0] = INFINITY;
                range[1] = -INFINITY;
                for (u32 k = 0; k < 4; k++) {
                    Block below = {level - 1, 2 * x + (k & 1), 2 * z + (k >> 1)};
                    f32 low, high;
                    if (below.x < pyramid.columns[level - 1] && below.z < pyramid.rows[level - 1]) {
                        block_heights(&pyramid, &below, &low, &high);
                        range[0] = f32_min(range[0], low);
                        range[1] = f32_max(range[1], high);
                    }
                }
            }
        }
    }
    terrain->low = range[-2];
    terrain->high = range[-1];
}

Geometry *geometry_terrain(const f32 *heights, u32 columns, u32 rows, f32 spacing, ErrorText *error)
{
    if (check_terrain(heights, columns, rows, spacing, error) != ERROR_OK) {
        return NULL;
    }
    Geometry *geometry = calloc(1, sizeof *geometry);
    if (geometry == NULL) {
        error_set(error, ERROR_MEMORY, "terrain: out of memory");
        return NULL;
    }
    geometry->kind = GEOMETRY_TERRAIN;
    Terrain *terrain = &geometry->terrain;
    size_t bytes = (size_t)columns * rows * sizeof *heights;
    terrain->columns = columns;
    terrain->rows = rows;
    terrain->spacing = spacing;
    terrain->range_count = count_ranges(columns - 1, rows - 1);
    terrain->heights = malloc(bytes);
    terrain->ranges = malloc(2 * terrain->range_count * sizeof *terrain->ranges);
    if (terrain->heights == NULL || terrain->ranges == NULL) {
        geometry_destroy(geometry);
        error_set(error, ERROR_MEMORY, "terrain: out of memory");
        return NULL;
    }
    memcpy(terrain->heights, heights, bytes);
    fill_ranges(terrain);
    geometry->bounds.min = vec3(sample_x(terrain, 0), terrain->low, sample_z(terrain, 0));
    geometry->bounds.max =
        vec3(sample_x(terrain, columns - 1), terrain->high, sample_z(terrain, rows - 1));
    for (u32 j = 0; j < rows; j++) {
        for (u32 i = 0; i < columns; i++) {
            geometry->reach = f32_max(geometry->reach, vec3_length(sample(terrain, i, j)));
        }
    }
    return geometry;
}

/* ---- triangles ---- */

/* Sides of a cell's two triangles: the opposite corner across each side, as offsets from (i, j). */
static const i8 across[2][3][2] = {{{-1, 0}, {1, 2}, {1, 0}}, {{0, 1}, {2, 1}, {0, -1}}};

static Vec3 cross_of(Vec3 a, Vec3 b, Vec3 c)
{
    return vec3_cross(vec3_sub(b, a), vec3_sub(c, a));
}

/* Whether contacts may push across the side from a to b; `other` is the opposite corner of the
 * adjacent triangle. */
static bool side_is_active(const Vec3 corners[3], u32 side, Vec3 other)
{
    Vec3 n = cross_of(corners[0], corners[1], corners[2]);
    Vec3 m = cross_of(corners[(side + 1) % 3], corners[side], other);
    f64 cosine = (f64)vec3_dot(n, m);
    if (cosine > 0.0 && cosine * cosine > FLAT_COSINE_SQUARED * (f64)vec3_length_squared(n) *
                                              (f64)vec3_length_squared(m)) {
        return false;
    }
    return vec3_dot(n, vec3_sub(other, corners[side])) < 0.0f;
}

static void corners_of(const Terrain *terrain, u32 i, u32 j, u32 half, Vec3 corners[3])
{
    corners[0] = sample(terrain, i, j);
    corners[1] = half == 0 ? sample(terrain, i, j + 1) : sample(terrain, i + 1, j + 1);
    corners[2] = half == 0 ? sample(terrain, i + 1, j + 1) : sample(terrain, i + 1, j);
}

u8 terrain_triangle(const Terrain *terrain, u32 triangle, Vec3 corners[3])
{
    u32 cell = triangle / 2, half = triangle % 2;
    u32 i = cell % (terrain->columns - 1), j = cell / (terrain->columns - 1);
    corners_of(terrain, i, j, half, corners);
    u8 flags = 0;
    for (u32 side = 0; side < 3; side++) {
        /* Below zero wraps to far beyond the last sample. */
        u32 oi = i + (u32)(i32)across[half][side][0];
        u32 oj = j + (u32)(i32)across[half][side][1];
        bool open = oi >= terrain->columns || oj >= terrain->rows;
        if (open || side_is_active(corners, side, sample(terrain, oi, oj))) {
            flags |= (u8)(TRIANGLE_EDGE_ACTIVE << side);
        }
    }
    return flags;
}

/* The cell along one axis that contains a coordinate, and the position in it (0..1); false
 * outside. */
static bool find_cell(f32 x, u32 samples, f32 spacing, u32 *cell, f64 *part)
{
    f64 last = (f64)(samples - 1);
    f64 slack = 1e-7 * last; /* tolerance for rounding at the outermost samples */
    f64 at = (f64)x / (f64)spacing + 0.5 * last;
    if (!(at >= -slack && at <= last + slack)) {
        return false;
    }
    at = at < 0.0 ? 0.0 : at > last ? last : at;
    *cell = u32_min((u32)at, samples - 2);
    *part = at - (f64)*cell;
    return true;
}

bool terrain_height(const Terrain *terrain, f32 x, f32 z, f32 *height, Vec3 *normal)
{
    u32 i, j;
    f64 u, v;
    if (!find_cell(x, terrain->columns, terrain->spacing, &i, &u) ||
        !find_cell(z, terrain->rows, terrain->spacing, &j, &v)) {
        return false;
    }
    u32 half = v >= u ? 0 : 1;
    Vec3 c[3];
    corners_of(terrain, i, j, half, c);
    f64 a = (f64)c[0].y, b = (f64)c[1].y, d = (f64)c[2].y;
    if (height != NULL) {
        *height = (f32)(half == 0 ? a + v * (b - a) + u * (d - b) : a + u * (d - a) + v * (b - d));
    }
    if (normal != NULL) {
        *normal = vec3_normalize_or(cross_of(c[0], c[1], c[2]), vec3(0.0f, 1.0f, 0.0f));
    }
    return true;
}

/* ---- boxes ---- */

/* Both triangles span their cell but differ in height. */
static bool visit_cell(const Terrain *terrain, const Block *cell, const Bounds *box,
                       TriangleVisit *visit, void *context)
{
    for (u32 half = 0; half < 2; half++) {
        Vec3 c[3];
        corners_of(terrain, cell->x, cell->z, half, c);
        f32 low = f32_min(c[0].y, f32_min(c[1].y, c[2].y));
        f32 high = f32_max(c[0].y, f32_max(c[1].y, c[2].y));
        u32 triangle = 2 * (cell->z * (terrain->columns - 1) + cell->x) + half;
        if (low <= box->max.y && box->min.y <= high && !visit(context, triangle)) {
            return false;
        }
    }
    return true;
}

/* The cell that contains a coordinate, or the nearest one; off by one where rounding matters,
 * since boxes are compared with the samples themselves later. */
static u32 cell_near(f32 x, u32 samples, f32 spacing, f64 slack)
{
    f64 at = (f64)x / (f64)spacing + 0.5 * (f64)(samples - 1) + slack;
    return at > 0.0 ? (u32)(at < (f64)(samples - 2) ? at : (f64)(samples - 2)) : 0;
}

void terrain_query(const Terrain *terrain, Bounds box, TriangleVisit *visit, void *context)
{
    Pyramid pyramid = pyramid_of(terrain);
    u32 columns = terrain->columns, rows = terrain->rows;
    u32 x0 = cell_near(box.min.x, columns, terrain->spacing, -1e-3);
    u32 x1 = cell_near(box.max.x, columns, terrain->spacing, 1e-3);
    u32 z0 = cell_near(box.min.z, rows, terrain->spacing, -1e-3);
    u32 z1 = cell_near(box.max.z, rows, terrain->spacing, 1e-3);
    /* Starts at the level where the box covers at most 2 × 2 blocks. */
    u32 level = 0;
    while (level < pyramid.top &&
           ((x1 >> level) - (x0 >> level) > 1 || (z1 >> level) - (z0 >> level) > 1)) {
        level++;
    }
    Block stack[STACK_SIZE];
    u32 depth = 0;
    for (u32 k = 4; k-- > 0;) {
        Block block = {level, (k & 1) ? x1 >> level : x0 >> level,
                       (k >> 1) ? z1 >> level : z0 >> level};
        bool again =
            ((k & 1) && x1 >> level == x0 >> level) || ((k >> 1) && z1 >> level == z0 >> level);
        if (!again) {
            stack[depth++] = block;
        }
    }
    while (depth > 0) {
        Block block = stack[--depth];
        if (block.x >= pyramid.columns[block.level] || block.z >= pyramid.rows[block.level]) {
            continue;
        }
        Bounds bounds = block_bounds(&pyramid, &block);
        if (!bounds_overlap(&bounds, &box)) {
            continue;
        }
        if (block.level == 0) {
            if (!visit_cell(terrain, &block, &box, visit, context)) {
                return;
            }
            continue;
        }
        VALIDATE(depth + 4 <= STACK_SIZE);
        for (u32 k = 4; k-- > 0;) {
            Block below = {block.level - 1, 2 * block.x + (k & 1), 2 * block.z + (k >> 1)};
            stack[depth++] = below;
        }
    }
}

/* ---- rays ---- */

typedef struct TerrainHit {
    f64 t;
    u32 cell_x, cell_z, half;
    bool found;
} TerrainHit;

static void ray_cell(const Terrain *terrain, const Block *cell, const LocalRay *ray,
                     TerrainHit *hit)
{
    for (u32 half = 0; half < 2; half++) {
        Vec3 corners[3];
        f64 t;
        corners_of(terrain, cell->x, cell->z, half, corners);
        if (ray_triangle(ray, corners, &t) && (t < hit->t || (t == hit->t && !hit->found))) {
            hit->t = t;
            hit->cell_x = cell->x;
            hit->cell_z = cell->z;
            hit->half = half;
            hit->found = true;
        }
    }
}

/* The ray in grid steps along x and z (sample (0, 0) at 0) and in metres along y, so that a
 * block's sides are integers. */
typedef struct GridRay {
    f64 origin[3], inverse[3];
    /* Position of a block's near and far sides along x and z: part × its size + offset. Blocks
     * are enlarged slightly, since samples are rounded to single precision. */
    f64 near_part[3], near_offset[3], far_part[3], far_offset[3];
    u8 near_height; /* 0: the low one */
} GridRay;

static GridRay grid_ray(const Terrain *terrain, const LocalRay *ray)
{
    const f64 slack = 1e-3;
    f64 spacing = (f64)terrain->spacing;
    BoxRay box = box_ray(ray);
    GridRay grid = {.origin = {box.origin[0] / spacing + 0.5 * (f64)(terrain->columns - 1),
                               box.origin[1],
                               box.origin[2] / spacing + 0.5 * (f64)(terrain->rows - 1)},
                    .inverse = {box.inverse[0] * spacing, box.inverse[1], box.inverse[2] * spacing},
                    .near_height = box.inverse[1] < 0.0};
    for (int i = 0; i < 3; i++) {
        bool back = box.inverse[i] < 0.0;
        grid.near_part[i] = back ? 1.0 : 0.0;
        grid.near_offset[i] = (back ? slack : -slack) - grid.origin[i];
        grid.far_part[i] = back ? 0.0 : 1.0;
        grid.far_offset[i] = (back ? -slack : slack) - grid.origin[i];
    }
    return grid;
}

static f64 largest(f64 a, f64 b)
{
    return a > b ? a : b;
}

static f64 least(f64 a, f64 b)
{
    return a < b ? a : b;
}

/* Like ray_meets_box. */
static bool ray_meets_block(const Pyramid *pyramid, const GridRay *ray, const Block *block, f64 max)
{
    f32 height[2];
    block_heights(pyramid, block, &height[0], &height[1]);
    f64 size = (f64)(1u << block->level);
    f64 x = (f64)(block->x << block->level), z = (f64)(block->z << block->level);
    f64 near_x = (x + ray->near_part[0] * size + ray->near_offset[0]) * ray->inverse[0];
    f64 far_x = (x + ray->far_part[0] * size + ray->far_offset[0]) * ray->inverse[0];
    f64 near_z = (z + ray->near_part[2] * size + ray->near_offset[2]) * ray->inverse[2];
    f64 far_z = (z + ray->far_part[2] * size + ray->far_offset[2]) * ray->inverse[2];
    f64 near_y = ((f64)height[ray->near_height] - ray->origin[1]) * ray->inverse[1];
    f64 far_y = ((f64)height[1 - ray->near_height] - ray->origin[1]) * ray->inverse[1];
    f64 from = largest(largest(near_x, near_z), largest(near_y, 0.0));
    f64 to = least(least(far_x, far_z), least(far_y, max));
    return from <= to + 1e-12 * (1.0 + fabs(to));
}

/* Descends from the whole field into the blocks hit by the ray, nearest first. */
bool terrain_ray(const Terrain *terrain, const LocalRay *ray, f64 max, f64 *t, Vec3d *normal)
{
    Pyramid pyramid = pyramid_of(terrain);
    GridRay grid = grid_ray(terrain, ray);
    /* XOR with this maps "nearest quarter first" to the quarter's number. */
    u32 mirror = (ray->direction.x < 0.0 ? 1u : 0u) | (ray->direction.z < 0.0 ? 2u : 0u);
    TerrainHit hit = {.t = max};
    Block stack[STACK_SIZE];
    u32 depth = 0;
    stack[depth++] = (Block){pyramid.top, 0, 0};
    while (depth > 0) {
        Block block = stack[--depth];
        if (!ray_meets_block(&pyramid, &grid, &block, hit.t)) {
            continue;
        }
        if (block.level == 0) {
            ray_cell(terrain, &block, ray, &hit);
            continue;
        }
        VALIDATE(depth + 4 <= STACK_SIZE);
        for (u32 k = 4; k-- > 0;) {
            u32 quarter = k ^ mirror;
            Block below = {block.level - 1, 2 * block.x + (quarter & 1),
                           2 * block.z + (quarter >> 1)};
            if (below.x < pyramid.columns[below.level] && below.z < pyramid.rows[below.level]) {
                stack[depth++] = below;
            }
        }
    }
    if (!hit.found) {
        return false;
    }
    Vec3 corners[3];
    corners_of(terrain, hit.cell_x, hit.cell_z, hit.half, corners);
    *t = hit.t;
    *normal = ray_triangle_normal(ray, corners);
    return true;
}
