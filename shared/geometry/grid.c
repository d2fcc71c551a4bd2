/* grid.c: traversal of the cells along a ray (Amanatides and Woo 1987). */
#include "shared/geometry/grid.h"

#include <math.h>

/* Triangles overlap by this barycentric weight, so that no ray passes between two by rounding. */
static const f32 edge_slack = 1e-3f;

/* Cells along a ray, in order; an axis without cells (0) is not traversed. */
typedef struct GridWalk {
    u32 cells[3];
    i64 at[3], step[3];
    f64 next[3], each[3]; /* distances to the next cell boundary, between boundaries */
    f64 from, until;      /* range of the ray: entry into the current cell, end of the traversal */
    i32 axis;             /* axis of the boundary at entry; −1: it started inside */
} GridWalk;

/* Clips [from, until] to the slab between two planes. */
static bool walk_clip(GridWalk *walk, i32 axis, f64 origin, f64 direction, f64 low, f64 high)
{
    if (direction == 0.0) {
        return origin >= low && origin <= high;
    }
    f64 a = (low - origin) / direction, b = (high - origin) / direction;
    f64 enter = fmin(a, b);
    if (enter > walk->from) {
        walk->from = enter;
        walk->axis = axis;
    }
    walk->until = fmin(walk->until, fmax(a, b));
    return walk->from <= walk->until;
}

static bool walk_begin(GridWalk *walk, Ray ray, f32 max_m, Vec3 corner, Vec3 spacing)
{
    const f64 o[3] = {(f64)ray.origin.x, (f64)ray.origin.y, (f64)ray.origin.z};
    const f64 d[3] = {(f64)ray.direction.x, (f64)ray.direction.y, (f64)ray.direction.z};
    const f64 low[3] = {(f64)corner.x, (f64)corner.y, (f64)corner.z};
    const f64 size[3] = {(f64)spacing.x, (f64)spacing.y, (f64)spacing.z};
    walk->from = 0.0;
    walk->until = (f64)max_m;
    walk->axis = -1;
    for (i32 k = 0; k < 3; k++) {
        if (walk->cells[k] > 0 &&
            !walk_clip(walk, k, o[k], d[k], low[k], low[k] + size[k] * walk->cells[k])) {
            return false;
        }
    }
    for (u32 k = 0; k < 3; k++) {
        walk->at[k] = walk->step[k] = 0;
        walk->next[k] = walk->each[k] = INFINITY;
        if (walk->cells[k] == 0) {
            continue;
        }
        f64 cell = floor((o[k] + d[k] * walk->from - low[k]) / size[k]);
        cell = cell > 0.0 ? fmin(cell, (f64)walk->cells[k] - 1.0) : 0.0;
        walk->at[k] = (i64)cell;
        if (d[k] != 0.0) {
            walk->step[k] = d[k] > 0.0 ? 1 : -1;
            walk->each[k] = size[k] / fabs(d[k]);
            walk->next[k] = (low[k] + size[k] * (cell + (d[k] > 0.0)) - o[k]) / d[k];
        }
    }
    return true;
}

static bool walk_next(GridWalk *walk)
{
    u32 k = walk->next[0] <= walk->next[1] ? 0 : 1;
    k = walk->next[2] < walk->next[k] ? 2 : k;
    if (!(walk->next[k] <= walk->until)) {
        return false;
    }
    walk->axis = (i32)k;
    walk->from = fmax(walk->from, walk->next[k]);
    walk->next[k] += walk->each[k];
    walk->at[k] += walk->step[k];
    return walk->at[k] >= 0 && walk->at[k] < (i64)walk->cells[k];
}

Vec3 grid_centre(const Grid *grid, u32 element, f32 value)
{
    u32 x = element % grid->dims[0], rest = element / grid->dims[0];
    u32 y = rest % grid->dims[1], z = rest / grid->dims[1];
    Vec3 at = vec3_mul(vec3((f32)x, (f32)y, (f32)z), grid->spacing);
    at = vec3_add(grid->origin, at);
    at.y += grid->heights ? value : 0.0f;
    return at;
}

bool triangle_ray(const Vec3 corners[3], Ray ray, f32 max_m, f32 slack, f32 *distance, f32 *u,
                  f32 *v)
{
    Vec3 ab = vec3_sub(corners[1], corners[0]), ac = vec3_sub(corners[2], corners[0]);
    Vec3 p = vec3_cross(ray.direction, ac);
    f32 determinant = vec3_dot(ab, p);
    if (fabsf(determinant) < 1e-12f) {
        return false;
    }
    Vec3 from = vec3_sub(ray.origin, corners[0]);
    f32 at_u = vec3_dot(from, p) / determinant;
    Vec3 q = vec3_cross(from, ab);
    f32 at_v = vec3_dot(ray.direction, q) / determinant;
    f32 t = vec3_dot(ac, q) / determinant;
    *distance = t;
    *u = at_u;
    *v = at_v;
    return at_u >= -slack && at_v >= -slack && at_u + at_v <= 1.0f + slack && t >= 0.0f &&
           t <= max_m;
}

static bool ray_triangle(const Grid *grid, const u32 element[3], Ray ray, f32 max_m, GridHit *hit)
{
    Vec3 corners[3];
    f32 u, v, distance;
    for (u32 i = 0; i < 3; i++) {
        corners[i] = grid_centre(grid, element[i], grid->values[element[i]]);
    }
    if (!triangle_ray(corners, ray, max_m, edge_slack, &distance, &u, &v)) {
        return false;
    }
    f32 w = 1.0f - u - v;
    Vec3 normal = vec3_cross(vec3_sub(corners[1], corners[0]), vec3_sub(corners[2], corners[0]));
    normal = vec3_normalize_or(normal, vec3(0.0f, 1.0f, 0.0f));
    hit->element = w >= u && w >= v ? element[0] : u >= v ? element[1] : element[2];
    hit->distance = distance;
    hit->point = vec3_add_scaled(ray.origin, distance, ray.direction);
    hit->normal = vec3_dot(normal, ray.direction) > 0.0f ? vec3_neg(normal) : normal;
    return true;
}

bool grid_ray_heights(const Grid *grid, Ray ray, f32 max_m, GridHit *hit)
{
    u32 columns = grid->dims[0];
    if (columns < 2 || grid->dims[2] < 2) {
        return false;
    }
    GridWalk walk = {.cells = {columns - 1, 0, grid->dims[2] - 1}};
    if (!walk_begin(&walk, ray, max_m, grid->origin, grid->spacing)) {
        return false;
    }
    do {
        u32 i = (u32)walk.at[0] + columns * (u32)walk.at[2];
        u32 near[3] = {i, i + columns, i + 1};
        u32 far[3] = {i + columns + 1, i + 1, i + columns};
        bool met = ray_triangle(grid, near, ray, max_m, hit);
        if (ray_triangle(grid, far, ray, met ? hit->distance : max_m, hit) || met) {
            return true;
        }
    } while (walk_next(&walk));
    return false;
}

bool grid_ray_voxels(const Grid *grid, Ray ray, f32 max_m, f32 threshold, GridHit *hit)
{
    GridWalk walk = {.cells = {grid->dims[0], grid->dims[1], grid->dims[2]}};
    Vec3 corner = vec3_add_scaled(grid->origin, -0.5f, grid->spacing);
    if (!walk_begin(&walk, ray, max_m, corner, grid->spacing)) {
        return false;
    }
    do {
        u32 element =
            (u32)walk.at[0] + grid->dims[0] * ((u32)walk.at[1] + grid->dims[1] * (u32)walk.at[2]);
        if (grid->values[element] > threshold) {
            Vec3 d = ray.direction;
            hit->element = element;
            hit->distance = (f32)walk.from;
            hit->point = vec3_add_scaled(ray.origin, hit->distance, d);
            hit->normal = walk.axis == 0   ? vec3(d.x > 0.0f ? -1.0f : 1.0f, 0.0f, 0.0f)
                          : walk.axis == 1 ? vec3(0.0f, d.y > 0.0f ? -1.0f : 1.0f, 0.0f)
                          : walk.axis == 2 ? vec3(0.0f, 0.0f, d.z > 0.0f ? -1.0f : 1.0f)
                                           : vec3_neg(d);
            return true;
        }
    } while (walk_next(&walk));
    return false;
}
