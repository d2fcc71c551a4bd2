/* heights_foam.c: foam on shallow water. Breaking fronts, falls, splashes and wakes produce it, the
 * flow carries it, and it decays. Rows without foam only cost the search for new foam. */
#include "server/physics/grid/heights_internal.h"

#include <math.h>
#include <string.h>

/* A front produces foam where its slope between two cells exceeds this, if it is this many times as
 * deep behind as ahead: lower ones are wave trains. */
static const f32 steep = 0.3f, front_ratio = 1.2f;
/* Foam per second for each unit of slope beyond that. */
static const f32 front_rate = 4.0f;
/* Minimal fall over an edge, in cells, and minimal flow there, m²/s. */
static const f32 fall_cells = 1.0f, fall_flow = 0.005f;
static const f32 fall_rate = 4.0f;
/* Bodies: foam per second and m/s of vertical velocity beyond this, and per metre and m/s² of
 * acceleration of the water beyond that. */
static const f32 splash_m_s = 0.3f, splash_rate = 3.0f, wake_m_s2 = 2.0f, wake_rate = 0.1f;
/* Fraction of the area of a parcel that falls back. */
static const f32 parcel_share = 0.7f;
/* Smaller values are set to 0, so that no foam remains forever. */
static const f32 least = 1.0f / 512.0f;
/* Maximal distance that foam is carried in a tick, cells. */
static const f32 reach = 2.0f;

enum {
    ROWS_REACHED = 3 /* accessed by `reach` and the interpolation */
};

f32 pool_foam(const Pool *pool, u32 i, u32 k)
{
    return pool->foam != NULL ? pool->foam[(size_t)k * pool->def.size[0] + i] : 0.0f;
}

static void include(PoolSpan *span, u32 first, u32 end)
{
    bool none = span->first >= span->end;
    span->first = none ? first : u32_min(span->first, first);
    span->end = none ? end : u32_max(span->end, end);
}

static void add(Pool *pool, u32 cell, f32 amount)
{
    u32 nx = pool->def.size[0];
    pool->foam[cell] = f32_min(pool->foam[cell] + pool->def.foam * amount, 1.0f);
    include(&pool->foam_spans[cell / nx], cell % nx, cell % nx + 1);
}

void pool_foam_of_body(Pool *pool, u32 cell, f32 sunk, f32 faster)
{
    if (pool->foam == NULL || !(pool->tick_s > 0.0f)) {
        return;
    }
    f32 splash = fabsf(sunk) - splash_m_s * pool->tick_s;
    f32 wake = fabsf(faster) - wake_m_s2 * pool->tick_s;
    f32 made = splash_rate * f32_max(splash, 0.0f) + wake_rate * f32_max(wake, 0.0f);
    if (made > 0.0f) {
        add(pool, cell, made);
    }
}

void pool_foam_of_parcel(Pool *pool, u32 cell)
{
    if (pool->foam != NULL) {
        f32 part = pool->parcel_m / pool->def.cell_m;
        add(pool, cell, parcel_share * f32_min(part * part, 1.0f));
    }
}

void pool_foam_clear(Pool *pool)
{
    if (pool->foam != NULL) {
        memset(pool->foam, 0, pool_cells(pool) * sizeof(f32));
        memset(pool->foam_next, 0, pool_cells(pool) * sizeof(f32));
        memset(pool->foam_spans, 0, 2 * (size_t)pool->def.size[1] * sizeof(PoolSpan));
    }
}

/* ---- it is carried ---- */

/* A row or column number within the grid: around periodic sides, else the border's own. */
static u32 within(i32 at, u32 count, bool periodic)
{
    if (periodic) {
        return (u32)((at + (i32)count) % (i32)count);
    }
    return (u32)(at < 0 ? 0 : at >= (i32)count ? (i32)count - 1 : at);
}

static f32 foam_at(const Pool *pool, f32 x, f32 z)
{
    const u32 *size = pool->def.size;
    bool round_x = pool->def.border[0] == WATER_PERIODIC;
    bool round_z = pool->def.border[2] == WATER_PERIODIC;
    f32 low_x = floorf(x), low_z = floorf(z), part_x = x - low_x, part_z = z - low_z;
    u32 i[2] = {within((i32)low_x, size[0], round_x), within((i32)low_x + 1, size[0], round_x)};
    u32 k[2] = {within((i32)low_z, size[1], round_z), within((i32)low_z + 1, size[1], round_z)};
    const f32 *south = pool->foam + (size_t)k[0] * size[0];
    const f32 *north = pool->foam + (size_t)k[1] * size[0];
    f32 low = south[i[0]] + part_x * (south[i[1]] - south[i[0]]);
    f32 high = north[i[0]] + part_x * (north[i[1]] - north[i[0]]);
    return low + part_z * (high - low);
}

/* Cells of a row that foam may reach in a tick. */
static PoolSpan reached(const Pool *pool, u32 k)
{
    PoolSpan span = {0};
    bool round_z = pool->def.border[2] == WATER_PERIODIC;
    u32 nx = pool->def.size[0], nz = pool->def.size[1];
    for (i32 n = -ROWS_REACHED; n <= ROWS_REACHED; n++) {
        const PoolSpan *row = &pool->foam_spans[within((i32)k + n, nz, round_z)];
        if (row->first < row->end) {
            include(&span, row->first, row->end);
        }
    }
    if (span.first < span.end) {
        bool sides = span.first < ROWS_REACHED || span.end + ROWS_REACHED > nx;
        bool all = sides && pool->def.border[0] == WATER_PERIODIC;
        span.first = all || span.first < ROWS_REACHED ? 0 : span.first - ROWS_REACHED;
        span.end = all ? nx : u32_min(span.end + ROWS_REACHED, nx);
    }
    return span;
}

static void carry_row(Pool *pool, ShallowCells cells, u32 k, PoolSpan span, PoolSpan *left)
{
    f32 *to = pool->foam_next + (size_t)k * pool->def.size[0];
    f32 cells_s = pool->tick_s / pool->def.cell_m;
    f32 fades = 1.0f / (1.0f + pool->tick_s / pool->def.foam_life_s);
    for (u32 i = span.first; i < span.end; i++) {
        size_t at = (size_t)k * cells.stride + i;
        f32 foam = 0.0f;
        if (cells.depth[at] > 0.0f) {
            f32 x = f32_clamp(cells.u[at] * cells_s, -reach, reach);
            f32 z = f32_clamp(cells.w[at] * cells_s, -reach, reach);
            foam = fades * foam_at(pool, (f32)i - x, (f32)k - z);
        }
        to[i] = foam < least ? 0.0f : foam;
        if (to[i] > 0.0f) {
            include(left, i, i + 1);
        }
    }
}

/* From `foam` to `foam_next`, which is 0 outside its own spans, and back. */
static void carry(Pool *pool)
{
    u32 nx = pool->def.size[0], nz = pool->def.size[1];
    ShallowCells cells = shallow_cells(pool->shallow);
    PoolSpan *next = pool->foam_spans + nz;
    for (u32 k = 0; k < nz; k++) {
        PoolSpan span = reached(pool, k), left = {0};
        if (next[k].first < next[k].end) {
            memset(pool->foam_next + (size_t)k * nx + next[k].first, 0,
                   (next[k].end - next[k].first) * sizeof(f32));
        }
        carry_row(pool, cells, k, span, &left);
        next[k] = left;
    }
    f32 *kept = pool->foam;
    pool->foam = pool->foam_next;
    pool->foam_next = kept;
    for (u32 k = 0; k < nz; k++) {
        PoolSpan old = pool->foam_spans[k];
        pool->foam_spans[k] = next[k];
        next[k] = old;
    }
}

/* ---- it is made ---- */

/* Between a cell and the next one along an axis. */
static void make_between(Pool *pool, ShallowCells cells, const f32 *flow, u32 cell, u32 next,
                         size_t at, size_t step)
{
    f32 bed = cells.bed[at] - cells.bed[at + step];
    f32 drop = bed + cells.depth[at] - cells.depth[at + step], size = pool->def.cell_m;
    if (fabsf(drop) <= steep * size) {
        return; /* as most */
    }
    f32 way = drop > 0.0f ? 1.0f : -1.0f;
    size_t high = drop > 0.0f ? at : at + step, low = drop > 0.0f ? at + step : at;
    u32 high_cell = drop > 0.0f ? cell : next, low_cell = drop > 0.0f ? next : cell;
    f32 over = flow[high] * way, slope = (fabsf(drop) - f32_max(bed * way, 0.0f)) / size;
    if (!(over > 0.0f) || !(cells.depth[high] > 0.0f)) {
        return;
    }
    if (slope > steep && cells.depth[high] > front_ratio * cells.depth[low]) {
        f32 made = front_rate * (slope - steep) * pool->tick_s;
        add(pool, high_cell, made);
        if (cells.depth[low] > 0.0f) {
            add(pool, low_cell, 0.5f * made);
        }
    }
    f32 fall = (cells.bed[high] - cells.bed[low] - cells.depth[low]) / size;
    if (fall > fall_cells && over * cells.depth[high] > fall_flow && cells.depth[low] > 0.0f) {
        add(pool, low_cell, fall_rate * f32_min(fall, 4.0f) * pool->tick_s);
    }
}

static void make(Pool *pool)
{
    u32 nx = pool->def.size[0], nz = pool->def.size[1];
    ShallowCells cells = shallow_cells(pool->shallow);
    for (u32 k = 0; k < nz; k++) {
        for (u32 i = 0; i < nx; i++) {
            u32 cell = k * nx + i;
            size_t at = (size_t)k * cells.stride + i;
            if (i + 1 < nx) {
                make_between(pool, cells, cells.u, cell, cell + 1, at, 1);
            }
            if (k + 1 < nz) {
                make_between(pool, cells, cells.w, cell, cell + nx, at, cells.stride);
            }
        }
    }
}

void pool_foam_step(Pool *pool)
{
    if (pool->foam == NULL) {
        return;
    }
    carry(pool);
    if (pool->stats.awake) {
        make(pool);
    }
}

/* ---- state ---- */

void pool_serialize_foam(Pool *pool, State *state)
{
    u32 nx = pool->def.size[0];
    if (pool->foam == NULL) {
        return;
    }
    state_bytes(state, pool->foam, pool_cells(pool) * sizeof(f32));
    if (state->mode != STATE_LOAD) {
        return;
    }
    for (u32 c = 0; c < pool_cells(pool) && !state->failed; c++) {
        state->failed = !(pool->foam[c] >= 0.0f && pool->foam[c] <= 1.0f);
        if (pool->foam[c] > 0.0f) {
            include(&pool->foam_spans[c / nx], c % nx, c % nx + 1);
        }
    }
    if (state->failed) {
        pool_foam_clear(pool);
    }
}
