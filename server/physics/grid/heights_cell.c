/* heights_cell.c: the cells of a pool: their level, depth and flow. */
#include "server/physics/grid/heights_internal.h"

#include "shared/base/check.h"

void pool_set_level(Pool *pool, u32 i, u32 k, f32 level, f32 u, f32 w)
{
    if (pool->shallow != NULL) {
        f32 bed = pool->bed[(size_t)k * pool->def.size[0] + i];
        shallow_set(pool->shallow, i, k, level - bed, level > bed ? u : 0.0f,
                    level > bed ? w : 0.0f);
    }
}

f32 pool_depth(const Pool *pool, u32 i, u32 k)
{
    CHECK(i < pool->def.size[0] && k < pool->def.size[1]);
    if (pool->wave != NULL) {
        u32 stride;
        const f32 *levels = wave_levels(pool->wave, &stride);
        return pool->def.depth_m + levels[(size_t)k * stride + i];
    }
    ShallowCells cells = shallow_cells(pool->shallow);
    return cells.depth[(size_t)k * cells.stride + i];
}

f32 pool_level(const Pool *pool, u32 i, u32 k)
{
    CHECK(i < pool->def.size[0] && k < pool->def.size[1]);
    if (pool->wave != NULL) {
        u32 stride;
        return wave_levels(pool->wave, &stride)[(size_t)k * stride + i];
    }
    return pool->bed[(size_t)k * pool->def.size[0] + i] + pool_depth(pool, i, k);
}

void pool_flow(const Pool *pool, u32 i, u32 k, f32 *u, f32 *w)
{
    CHECK(i < pool->def.size[0] && k < pool->def.size[1]);
    *u = *w = 0.0f;
    if (pool->shallow != NULL) {
        ShallowCells cells = shallow_cells(pool->shallow);
        *u = cells.u[(size_t)k * cells.stride + i];
        *w = cells.w[(size_t)k * cells.stride + i];
    }
}

bool pool_cell(const Pool *pool, Vec3 place, u32 *i, u32 *k)
{
    f32 x = (place.x - pool->def.corner.x) / pool->def.cell_m;
    f32 z = (place.z - pool->def.corner.z) / pool->def.cell_m;
    if (!(x >= 0.0f && z >= 0.0f && x < (f32)pool->def.size[0] && z < (f32)pool->def.size[1])) {
        return false;
    }
    *i = (u32)x;
    *k = (u32)z;
    return true;
}

void pool_touch(Pool *pool, u32 cell)
{
    CHECK(cell < pool_cells(pool));
    if (pool->listed[cell] == 0) {
        CHECK(pool->touched_count < pool_cells(pool));
        pool->listed[cell] = 1;
        pool->touched[pool->touched_count++] = cell;
    }
}

void pool_add(Pool *pool, u32 cell, f32 level, f32 u, f32 w)
{
    u32 i = cell % pool->def.size[0], k = cell / pool->def.size[0];
    if (pool->wave != NULL) {
        wave_add(pool->wave, i, k, level, 0.0f);
        return;
    }
    f32 depth = pool_depth(pool, i, k), old_u, old_w;
    pool_flow(pool, i, k, &old_u, &old_w);
    shallow_set(pool->shallow, i, k, depth + level, old_u + u, old_w + w);
}
