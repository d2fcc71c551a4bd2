/* heights_float.c: bodies in a pool: vertical lines through their cells, what they displace, their
 * buoyancy and drag. */
#include "server/physics/grid/heights_internal.h"

#include "shared/base/memory.h"

#include <math.h>
#include <string.h>

enum {
    THINGS_MAX = 256, /* looked at in one place */
    LINES_MAX = 6     /* a side, in a cell of a body of few cells */
};

/* Rays begin and end this far from the water, m: above and below any body. */
static const f32 beyond_m = 50.0f;
/* Share of the critical damping of heaving that water beside waves takes up. */
static const f32 heave_damping = 0.3f;
/* Water this fast wakes what sleeps in it, m/s. */
static const f32 wake_m_s = 0.05f;

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

/* Halves an area until it is empty of things that may move, or one cell. */
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

static void sift_down(u64 *keys, u32 at, u32 count)
{
    u64 key = keys[at];
    for (u32 child = 2 * at + 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && keys[child + 1] > keys[child];
        if (keys[child] <= key) {
            break;
        }
        keys[at] = keys[child];
        at = child;
    }
    keys[at] = key;
}

/* By body, then by cell; in place. */
static void sort_pairs(u64 *keys, u32 count)
{
    for (u32 k = count / 2; k > 0; k--) {
        sift_down(keys, k - 1, count);
    }
    for (u32 k = count; k > 1; k--) {
        u64 last = keys[k - 1];
        keys[k - 1] = keys[0];
        keys[0] = last;
        sift_down(keys, 0, k - 1);
    }
}

/* ---- lines ---- */

/* The surface around a body, as a plane: the body's own hump is no part of it, or the more it
 * displaces the deeper it would be. */
typedef struct Around {
    f32 level, slope[2]; /* m, world, at: */
    f32 x, z;
} Around;

/* Mean level of the wet cells of a row of cells, or `dry`. */
static f32 side_level(const Pool *pool, Area side, f32 dry)
{
    f32 sum = 0.0f;
    u32 count = 0;
    for (u32 k = side.first[1]; k < side.end[1]; k++) {
        for (u32 i = side.first[0]; i < side.end[0]; i++) {
            if (pool_depth(pool, i, k) > 0.0f) {
                sum += pool_level(pool, i, k);
                count++;
            }
        }
    }
    return count > 0 ? sum / (f32)count : dry;
}

/* From the cells that surround its own, [first, end). */
static Around surface_around(const Pool *pool, Area body)
{
    u32 middle[2] = {(body.first[0] + body.end[0]) / 2, (body.first[1] + body.end[1]) / 2};
    f32 cell = pool->def.cell_m, side[4], span[2];
    f32 own = pool_level(pool, u32_min(middle[0], pool->def.size[0] - 1),
                         u32_min(middle[1], pool->def.size[1] - 1));
    Area ring = body;
    for (u32 n = 0; n < 2; n++) {
        ring.first[n] = body.first[n] > 1 ? body.first[n] - 2 : 0;
        ring.end[n] = u32_min(body.end[n] + 2, pool->def.size[n]);
        span[n] = f32_max((f32)(ring.end[n] - ring.first[n] - 1), 1.0f) * cell;
    }
    for (u32 n = 0; n < 4; n++) {
        Area line = ring;
        if (n % 2 == 0) {
            line.end[n / 2] = ring.first[n / 2] + 1;
        } else {
            line.first[n / 2] = ring.end[n / 2] - 1;
        }
        side[n] = side_level(pool, line, own);
    }
    return (Around){pool->def.corner.y + 0.25f * (side[0] + side[1] + side[2] + side[3]),
                    {(side[1] - side[0]) / span[0], (side[3] - side[2]) / span[1]},
                    pool->def.corner.x + 0.5f * cell * (f32)(ring.first[0] + ring.end[0]),
                    pool->def.corner.z + 0.5f * cell * (f32)(ring.first[1] + ring.end[1])};
}

/* The part of a line through a body that is below the surface: [low, high] m. */
static bool line_through(const Collider *of, u32 thing, Vec3 at, f32 floor_m, f32 *low, f32 *high)
{
    Ray down = {vec3(at.x, at.y + beyond_m, at.z), vec3(0.0f, -1.0f, 0.0f)};
    f32 deepest = floor_m - beyond_m, top, bottom, length = down.origin.y - deepest;
    Ray up = {vec3(at.x, deepest, at.z), vec3(0.0f, 1.0f, 0.0f)};
    Vec3 normal;
    if (!of->ops->ray(of->of, thing, down, length, &top, &normal) ||
        !of->ops->ray(of->of, thing, up, length, &bottom, &normal)) {
        return false;
    }
    *high = f32_min(down.origin.y - top, at.y);
    *low = f32_max(deepest + bottom, floor_m);
    return *high > *low;
}

static void add_line(Pool *pool, PoolColumn column, const Around *around, Vec3 at)
{
    f32 low, high, depth = pool->def.corner.y + pool->bed[column.cell];
    column.slope[0] = around->slope[0];
    column.slope[1] = around->slope[1];
    at.y = around->level + around->slope[0] * (at.x - around->x) +
           around->slope[1] * (at.z - around->z);
    u32 i = column.cell % pool->def.size[0], k = column.cell / pool->def.size[0];
    if (!(pool_depth(pool, i, k) > 0.0f) ||
        !line_through(&pool->colliders[column.collider], column.thing, at, depth, &low, &high) ||
        !memory_grow((void **)&pool->columns, &pool->column_capacity, pool->column_count + 1,
                     sizeof *pool->columns)) {
        return;
    }
    column.under = high - low;
    column.pierces = high >= at.y;
    column.middle = vec3(at.x, 0.5f * (low + high), at.z);
    pool->columns[pool->column_count++] = column;
    pool->wanted[column.cell] += column.under * column.area / (pool->def.cell_m * pool->def.cell_m);
    pool_touch(pool, column.cell);
}

/* Lines through the cells of one body, more in each the fewer they are. */
static void add_body(Pool *pool, u32 first, u32 end)
{
    u32 cells = end - first, before = pool->column_count;
    u32 side = cells <= 4 ? LINES_MAX : cells <= 16 ? 4 : cells <= 256 ? 2 : 1;
    f32 cell_m = pool->def.cell_m, step = cell_m / (f32)side, sum = 0.0f;
    Area body = {{UINT32_MAX, UINT32_MAX}, {0, 0}};
    for (u32 p = first; p < end; p++) {
        u32 cell = (u32)pool->pairs[p];
        u32 at[2] = {cell % pool->def.size[0], cell / pool->def.size[0]};
        for (u32 n = 0; n < 2; n++) {
            body.first[n] = u32_min(body.first[n], at[n]);
            body.end[n] = u32_max(body.end[n], at[n] + 1);
        }
    }
    Around around = surface_around(pool, body);
    for (u32 p = first; p < end; p++) {
        u64 pair = pool->pairs[p];
        PoolColumn column = {.collider = (u32)(pair >> 60),
                             .thing = (u32)(pair >> 32) & 0x0fffffffu,
                             .cell = (u32)pair,
                             .area = step * step};
        for (u32 n = 0; n < side * side; n++) {
            f32 x = (f32)(column.cell % pool->def.size[0]) * cell_m;
            f32 z = (f32)(column.cell / pool->def.size[0]) * cell_m;
            Vec3 at = vec3(pool->def.corner.x + x + ((f32)(n % side) + 0.5f) * step, 0.0f,
                           pool->def.corner.z + z + ((f32)(n / side) + 0.5f) * step);
            add_line(pool, column, &around, at);
        }
    }
    for (u32 c = before; c < pool->column_count; c++) {
        sum += pool->columns[c].area;
    }
    for (u32 c = before; c < pool->column_count; c++) {
        pool->columns[c].all = sum;
        pool->columns[c].size = sqrtf(sum);
    }
    pool->stats.bodies += pool->column_count > before;
}

/* Water that moves wakes the body that sleeps in it. */
static void wake_body(Pool *pool, u32 first, u32 end)
{
    for (u32 c = first; c < end; c++) {
        const PoolColumn *column = &pool->columns[c];
        const Collider *of = &pool->colliders[column->collider];
        f32 u, w;
        pool_flow(pool, column->cell % pool->def.size[0], column->cell / pool->def.size[0], &u, &w);
        f32 slope = f32_max(fabsf(column->slope[0]), fabsf(column->slope[1]));
        if (f32_max(fabsf(u), fabsf(w)) > wake_m_s || slope > wake_m_s) {
            if (of->ops->wake != NULL) {
                of->ops->wake(of->of, column->thing);
            }
            return;
        }
    }
}

void pool_begin(Pool *pool, const Collider *colliders, u32 count, f32 tick_s, f32 gravity,
                Jobs *jobs)
{
    pool->tick_s = tick_s;
    pool->gravity = f32_max(gravity, 0.0f);
    pool->jobs = jobs;
    pool->pair_count = pool->column_count = 0;
    pool->stats.bodies = 0;
    pool->collider_count = u32_min(count, POOL_COLLIDERS_MAX);
    for (u32 c = 0; c < pool->collider_count; c++) {
        pool->colliders[c] = colliders[c];
        colliders[c].ops->begin(colliders[c].of, jobs, tick_s);
        if (colliders[c].ops->ray != NULL) {
            search(pool, c, (Area){{0, 0}, {pool->def.size[0], pool->def.size[1]}});
        }
    }
    sort_pairs(pool->pairs, pool->pair_count);
    for (u32 p = 0; p < pool->pair_count;) {
        u32 first = p, column = pool->column_count;
        while (p < pool->pair_count && pool->pairs[p] >> 32 == pool->pairs[first] >> 32) {
            p++;
        }
        add_body(pool, first, p);
        wake_body(pool, column, pool->column_count);
    }
    pool->stats.columns = pool->column_count;
}

/* ---- forces ---- */

/* Impulse of h s along one axis on a body with the inverse mass w (1/kg, all lines of the body
 * together), against the speed `slip`: a force, and a resistance (kg/s), implicit. */
static f32 impulse_of(f32 force, f32 resistance, f32 slip, f32 w, f32 h)
{
    return h * (force - resistance * slip) / (1.0f + h * resistance * w);
}

static void press(Pool *pool, PoolColumn *column, f32 h)
{
    const Collider *of = &pool->colliders[column->collider];
    f32 density = pool->def.density, volume = column->area * column->under;
    ContactParticle particle = {.position = column->middle,
                                .inverse_mass = 1.0f,
                                .radius = f32_max(pool->def.cell_m, column->under)};
    ContactPlace place;
    if (!of->ops->meet(of->of, column->thing, &particle, 0.0f, &place)) {
        return;
    }
    Vec3 up = vec3(0.0f, 1.0f, 0.0f), v = place.velocity;
    f32 share = column->all / column->area, u, w;
    f32 light = of->ops->inverse_mass(of->of, &place, up) * share;
    if (!(light > 0.0f)) {
        return;
    }
    u32 i = column->cell % pool->def.size[0], k = column->cell / pool->def.size[0];
    pool_flow(pool, i, k, &u, &w);
    /* Pressure grows with depth: a stiffness along y, in the next step too. */
    f32 stiffness = column->pierces ? density * pool->gravity * column->area : 0.0f;
    column->risen += v.y * h;
    f32 weight =
        f32_max(density * pool->gravity * volume - stiffness * column->risen, 0.0f); /* N */
    f32 slip[3] = {v.x - u, v.y, v.z - w};
    f32 fast = sqrtf(slip[0] * slip[0] + slip[1] * slip[1] + slip[2] * slip[2]);
    f32 drag = 0.5f * density * pool->def.drag * fast;
    /* Of 2 ζ √(k m), with k and m of all lines together, the share of one. */
    f32 heave = heave_damping * 2.0f * sqrtf(density * pool->gravity * column->area / light);
    f32 mass = density * pool->def.cell_m * pool->def.cell_m * pool_depth(pool, i, k);
    f32 along = drag * volume / column->size;
    f32 water = mass > 0.0f ? 1.0f / mass : 0.0f;
    Vec3 impulse =
        vec3(impulse_of(-weight * column->slope[0], along, slip[0], light + water, h),
             impulse_of(weight, drag * column->area + heave + h * stiffness, slip[1], light, h),
             impulse_of(-weight * column->slope[1], along, slip[2], light + water, h));
    of->ops->impulse(of->of, &place, impulse);
    pool->pushed[2 * (size_t)column->cell] -= (f64)impulse.x;
    pool->pushed[2 * (size_t)column->cell + 1] -= (f64)impulse.z;
}

void pool_substep(Pool *pool, f32 h)
{
    if (pool->column_count == 0) {
        return;
    }
    for (u32 c = 0; c < pool->collider_count; c++) {
        pool->colliders[c].ops->substep_begin(pool->colliders[c].of, h);
        collider_step_begin(&pool->colliders[c], h);
    }
    for (u32 c = 0; c < pool->column_count; c++) {
        press(pool, &pool->columns[c], h);
    }
    for (u32 c = 0; c < pool->collider_count; c++) {
        pool->colliders[c].ops->step_end(pool->colliders[c].of, h);
        pool->colliders[c].ops->substep_end(pool->colliders[c].of);
    }
}

/* ---- what the water gets ---- */

void pool_displace(Pool *pool)
{
    u32 kept = 0;
    f64 area = (f64)pool->def.cell_m * (f64)pool->def.cell_m;
    for (u32 n = 0; n < pool->touched_count; n++) {
        u32 cell = pool->touched[n];
        u32 i = cell % pool->def.size[0], k = cell / pool->def.size[0];
        f32 depth = pool_depth(pool, i, k), u, w;
        pool_flow(pool, i, k, &u, &w);
        /* What has run off cannot be taken back yet. */
        f32 change = f32_max(pool->wanted[cell] - pool->held[cell], -depth);
        f32 deeper = depth + change;
        if (pool->wave != NULL) {
            pool_add(pool, cell, change, 0.0f, 0.0f);
            deeper = pool_depth(pool, i, k);
        } else if (change != 0.0f || pool->pushed[2 * (size_t)cell] != 0.0 ||
                   pool->pushed[2 * (size_t)cell + 1] != 0.0) {
            f64 mass = (f64)pool->def.density * area * (f64)deeper, part = (f64)depth / (f64)deeper;
            bool wet = deeper > 0.0f;
            f64 *push = &pool->pushed[2 * (size_t)cell];
            shallow_set(pool->shallow, i, k, deeper,
                        wet ? (f32)((f64)u * part + push[0] / mass) : 0.0f,
                        wet ? (f32)((f64)w * part + push[1] / mass) : 0.0f);
        }
        pool->held[cell] += deeper - depth;
        pool->wanted[cell] = 0.0f;
        pool->pushed[2 * (size_t)cell] = pool->pushed[2 * (size_t)cell + 1] = 0.0;
        pool->listed[cell] = pool->held[cell] != 0.0f;
        if (pool->listed[cell] != 0) {
            pool->touched[kept++] = cell;
        }
    }
    pool->touched_count = kept;
}
