/* heights_float.c: bodies in a pool: finds them and samples them by vertical lines through their
 * cells, from which their submerged part follows. */
#include "server/physics/grid/heights_internal.h"
#include "shared/base/check.h"
#include "shared/base/sort.h"

#include "shared/base/memory.h"

#include <math.h>
#include <string.h>

enum {
    THINGS_MAX = 256, /* looked at in one place */
    LINES_MAX = 6,    /* per side, in a cell of a body that covers few cells */
    AROUND_MAX = 64   /* cells beside a body that determine its level */
};

/* Rays begin and end this far from the water, m: above and below any body. */
static const f32 beyond_m = 50.0f;
/* Water this fast wakes bodies that sleep in it, m/s. */
static const f32 wake_m_s = 0.05f;
/* A body that floats at least this far above the bed (m) wakes if its lift changes by this
 * fraction. */
static const f32 clear_m = 0.02f, wake_share = 0.05f;

/* ---- search ---- */

typedef struct Area {
    u32 first[2], end[2]; /* cells along x and z, [first, end) */
} Area;

static Bounds bounds_of(const Pool *pool, Area area)
{
    f32 cell = pool->def.cell_m;
    Vec3 at = pool->def.corner;
    f32 deep = f32_max(pool->def.depth_m, beyond_m);
    return (Bounds){
        vec3(at.x + cell * (f32)area.first[0], at.y - deep, at.z + cell * (f32)area.first[1]),
        vec3(at.x + cell * (f32)area.end[0], at.y + beyond_m, at.z + cell * (f32)area.end[1])};
}

static bool keep_pair(Pool *pool, u32 collider, u32 thing, Area area)
{
    if (!memory_grow((void **)&pool->pairs, &pool->pair_capacity, pool->pair_count + 1,
                     sizeof *pool->pairs)) {
        return false;
    }
    u64 cell = (u64)area.first[1] * pool->def.size[0] + area.first[0];
    pool->pairs[pool->pair_count++] = (u64)collider << 60 | (u64)(thing & 0x0fffffffu) << 32 | cell;
    return true;
}

/* Bisects an area until it contains nothing that may move, or is one cell. */
static void search(Pool *pool, u32 collider, Area area)
{
    const Collider *of = &pool->colliders[collider];
    u32 things[THINGS_MAX], moving = 0;
    u32 found = of->ops->overlaps(of->of, bounds_of(pool, area), pool->def.group, pool->def.mask,
                                  things, THINGS_MAX);
    for (u32 t = 0; t < found; t++) {
        if (of->ops->take(of->of, things[t]) ||
            (of->ops->asleep != NULL && of->ops->asleep(of->of, things[t]))) {
            things[moving++] = things[t];
        }
    }
    u32 width = area.end[0] - area.first[0], length = area.end[1] - area.first[1];
    if (moving == 0 && found < THINGS_MAX) {
        return;
    }
    if (width == 1 && length == 1) {
        for (u32 t = 0; t < moving; t++) {
            keep_pair(pool, collider, things[t], area);
        }
        return;
    }
    u32 axis = width >= length ? 0 : 1;
    Area low = area, high = area;
    low.end[axis] = high.first[axis] = (area.first[axis] + area.end[axis]) / 2;
    search(pool, collider, low);
    search(pool, collider, high);
}

/* ---- lines ---- */

/* Whether any cell of a row of cells is dry. */
static bool is_shore(const Pool *pool, Area row)
{
    for (u32 k = row.first[1]; k < row.end[1]; k++) {
        for (u32 i = row.first[0]; i < row.end[0]; i++) {
            if (!(pool_depth(pool, i, k) > 0.0f)) {
                return true;
            }
        }
    }
    return false;
}

/* The water around a body's cells, up to the body's width away, and up to the shore. */
static Area waters_around(const Pool *pool, Area body)
{
    Area wide = body;
    for (u32 axis = 0; axis < 2; axis++) {
        u32 reach = u32_min(body.end[axis] - body.first[axis] + 2, AROUND_MAX);
        Area row = body;
        for (u32 n = 0; n < reach && wide.first[axis] > 0; n++) {
            row.first[axis] = wide.first[axis] - 1;
            row.end[axis] = wide.first[axis];
            if (is_shore(pool, row)) {
                break;
            }
            wide.first[axis]--;
        }
        for (u32 n = 0; n < reach && wide.end[axis] < pool->def.size[axis]; n++) {
            row.first[axis] = wide.end[axis];
            row.end[axis] = wide.end[axis] + 1;
            if (is_shore(pool, row)) {
                break;
            }
            wide.end[axis]++;
        }
    }
    return wide;
}

/* The plane through the surface around a body, including its own cells (a ninth): passing waves
 * lift the body, and do not change the displaced volume. */
static void find_around(const Pool *pool, Area cells, PoolBody *body)
{
    Area wide = waters_around(pool, cells);
    f64 sum = 0.0, along[2] = {0}, square[2] = {0};
    u32 count = 0;
    for (u32 k = wide.first[1]; k < wide.end[1]; k++) {
        for (u32 i = wide.first[0]; i < wide.end[0]; i++) {
            if (!(pool_depth(pool, i, k) > 0.0f)) {
                continue;
            }
            f64 level = pool_level(pool, i, k);
            f64 from[2] = {i + 0.5 - 0.5 * (wide.first[0] + wide.end[0]),
                           k + 0.5 - 0.5 * (wide.first[1] + wide.end[1])};
            sum += level;
            count++;
            for (u32 n = 0; n < 2; n++) {
                along[n] += from[n] * level;
                square[n] += from[n] * from[n];
            }
        }
    }
    bool whole = count == (wide.end[0] - wide.first[0]) * (wide.end[1] - wide.first[1]);
    body->level = pool->def.corner.y + (count > 0 ? (f32)(sum / count) : 0.0f);
    for (u32 n = 0; n < 2; n++) {
        f64 flat = square[n] * (f64)pool->def.cell_m;
        body->slope[n] = whole && flat > 0.0 ? (f32)(along[n] / flat) : 0.0f;
    }
}

/* Slope of the surface along an axis, between the neighbours of a cell; level towards land or a
 * side of the grid. */
static f32 slope_at(const Pool *pool, u32 i, u32 k, u32 axis)
{
    u32 at[2] = {i, k};
    f32 own = pool_level(pool, i, k), side[2] = {own, own};
    for (u32 n = 0; n < 2; n++) {
        u32 beside[2] = {i, k};
        beside[axis] = n == 0 ? at[axis] - 1 : at[axis] + 1; /* −1 is beyond the grid as well */
        if (beside[axis] < pool->def.size[axis] && pool_depth(pool, beside[0], beside[1]) > 0.0f) {
            side[n] = pool_level(pool, beside[0], beside[1]);
        }
    }
    return (side[1] - side[0]) / (2.0f * pool->def.cell_m);
}

/* The part of a line through a body that is above the bed: [low, top] m. */
static bool line_through(const Collider *of, u32 thing, Vec3 at, f32 floor_m, f32 *low, f32 *top)
{
    Ray down = {vec3(at.x, at.y + beyond_m, at.z), vec3(0.0f, -1.0f, 0.0f)};
    f32 deepest = floor_m - beyond_m, above, below, length = down.origin.y - deepest;
    Ray up = {vec3(at.x, deepest, at.z), vec3(0.0f, 1.0f, 0.0f)};
    Vec3 normal;
    if (!of->ops->ray(of->of, thing, down, length, &above, &normal) ||
        !of->ops->ray(of->of, thing, up, length, &below, &normal)) {
        return false;
    }
    *top = down.origin.y - above;
    *low = f32_max(deepest + below, floor_m);
    return *top > *low;
}

static void add_line(Pool *pool, PoolColumn column, Vec3 at)
{
    const PoolBody *body = &pool->bodies[pool->body_count];
    f32 bed = pool->def.corner.y + pool->bed[column.cell], own;
    u32 i = column.cell % pool->def.size[0], k = column.cell / pool->def.size[0];
    at.y = body->level;
    own = pool->def.corner.y + pool_level(pool, i, k);
    if (!line_through(&pool->colliders[body->collider], body->thing, at, bed, &column.low,
                      &column.top) ||
        !(column.low < f32_max(at.y, own)) ||
        !memory_grow((void **)&pool->columns, &pool->column_capacity, pool->column_count + 1,
                     sizeof *pool->columns)) {
        return;
    }
    column.middle = at;
    column.pierces = column.top >= at.y && column.low < at.y;
    pool_column_under(&column, body);
    pool->columns[pool->column_count++] = column;
    pool->wanted[column.cell] += column.under * column.area / (pool->def.cell_m * pool->def.cell_m);
    pool_touch(pool, column.cell);
}

/* The fraction of a cell's surface that the lines of one body cover. */
static void find_cover(Pool *pool, u32 first, u32 end)
{
    f32 share = pool->columns[first].area / (pool->def.cell_m * pool->def.cell_m), cover = 0.0f;
    for (u32 c = first; c < end; c++) {
        cover += pool->columns[c].pierces ? share : 0.0f;
    }
    for (u32 c = first; c < end; c++) {
        pool->columns[c].cover = cover;
    }
}

static f32 fraction(f32 x)
{
    return x - floorf(x);
}

/* Lines through a cell. Each row and column of lines is offset from the one before, so that the
 * edge of a body never crosses many at once. */
static void add_lines(Pool *pool, u32 cell, u32 side)
{
    const f32 golden = 0.618034f;
    f32 cell_m = pool->def.cell_m, step = cell_m / (f32)side;
    u32 i = cell % pool->def.size[0], k = cell / pool->def.size[0], first = pool->column_count;
    PoolColumn column = {.cell = cell, .area = step * step};
    if (!(pool_depth(pool, i, k) > 0.0f)) {
        return;
    }
    column.slope[0] = slope_at(pool, i, k, 0);
    column.slope[1] = slope_at(pool, i, k, 1);
    for (u32 n = 0; n < side * side; n++) {
        u32 x = i * side + n % side, z = k * side + n / side;
        Vec3 at = vec3(pool->def.corner.x + ((f32)x + fraction((f32)z * golden)) * step, 0.0f,
                       pool->def.corner.z + ((f32)z + fraction((f32)x * golden)) * step);
        add_line(pool, column, at);
    }
    if (pool->column_count > first) {
        find_cover(pool, first, pool->column_count);
    }
}

/* Lines through the cells of one body; the fewer cells, the more lines in each. */
static void add_body(Pool *pool, u32 first, u32 end)
{
    u32 cells = end - first;
    u32 side = cells <= 4 ? LINES_MAX : cells <= 100 ? 4 : cells <= 1024 ? 2 : 1;
    Area area = {{UINT32_MAX, UINT32_MAX}, {0, 0}};
    if (!memory_grow((void **)&pool->bodies, &pool->body_capacity, pool->body_count + 1,
                     sizeof *pool->bodies)) {
        return;
    }
    PoolBody *body = &pool->bodies[pool->body_count];
    *body = (PoolBody){.collider = (u32)(pool->pairs[first] >> 60),
                       .thing = (u32)(pool->pairs[first] >> 32) & 0x0fffffffu,
                       .first = pool->column_count};
    for (u32 p = first; p < end; p++) {
        u32 cell = (u32)pool->pairs[p];
        u32 at[2] = {cell % pool->def.size[0], cell / pool->def.size[0]};
        for (u32 n = 0; n < 2; n++) {
            area.first[n] = u32_min(area.first[n], at[n]);
            area.end[n] = u32_max(area.end[n], at[n] + 1);
        }
    }
    find_around(pool, area, body);
    for (u32 p = first; p < end; p++) {
        add_lines(pool, (u32)pool->pairs[p], side);
    }
    body->end = pool->column_count;
    for (u32 c = body->first; c < body->end; c++) {
        body->area += pool->columns[c].area;
    }
    pool->body_count += body->end > body->first;
}

/* Moving water wakes a sleeping body; so does a level that has risen or fallen, because the lift of
 * a floating body differs from that when it fell asleep. */
static void wake_body(Pool *pool, const PoolBody *body)
{
    const Collider *of = &pool->colliders[body->collider];
    const ContactBodyOps *rigid = contact_bodies(of);
    if (of->ops->wake == NULL || (rigid != NULL && rigid->awake(of->of, body->thing))) {
        return;
    }
    f32 lift = 0.0f, stiffness;
    bool clear = true;
    bool stirred = f32_max(fabsf(body->slope[0]), fabsf(body->slope[1])) > wake_m_s;
    for (u32 c = body->first; c < body->end; c++) {
        const PoolColumn *column = &pool->columns[c];
        f32 u, w;
        pool_flow(pool, column->cell % pool->def.size[0], column->cell / pool->def.size[0], &u, &w);
        stirred = stirred || f32_max(fabsf(u), fabsf(w)) > wake_m_s;
        lift += pool_lift(pool, column, &stiffness);
        clear = clear && column->low > pool->def.corner.y + pool->bed[column->cell] + clear_m;
    }
    f32 weight = rigid != NULL ? rigid->mass(of->of, body->thing) * pool->gravity : lift;
    if (stirred || lift > weight * (1.0f + wake_share) ||
        (clear && lift < weight * (1.0f - wake_share))) {
        of->ops->wake(of->of, body->thing);
    }
}

void pool_begin(Pool *pool, const Collider *colliders, u32 count, f32 tick_s, f32 gravity,
                Jobs *jobs)
{
    CHECK(tick_s > 0.0f);
    pool->tick_s = tick_s;
    pool->gravity = f32_max(gravity, 0.0f);
    pool->jobs = jobs;
    pool->pair_count = pool->column_count = pool->body_count = 0;
    pool->collider_count = u32_min(count, POOL_COLLIDERS_MAX);
    for (u32 c = 0; c < pool->collider_count; c++) {
        pool->colliders[c] = colliders[c];
        colliders[c].ops->begin(colliders[c].of, jobs, tick_s);
        if (colliders[c].ops->ray != NULL) {
            search(pool, c, (Area){{0, 0}, {pool->def.size[0], pool->def.size[1]}});
        }
    }
    sort_keys(pool->pairs, pool->pair_count);
    for (u32 p = 0; p < pool->pair_count;) {
        u32 first = p, bodies = pool->body_count;
        while (p < pool->pair_count && pool->pairs[p] >> 32 == pool->pairs[first] >> 32) {
            p++;
        }
        add_body(pool, first, p);
        if (pool->body_count > bodies) {
            wake_body(pool, &pool->bodies[bodies]);
        }
    }
    CHECK(pool->column_count <= pool->column_capacity && pool->body_count <= pool->body_capacity);
    pool->stats.bodies = pool->body_count;
    pool->stats.columns = pool->column_count;
}
