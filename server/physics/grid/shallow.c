/* shallow.c: memory, cells, and the division of a call into steps: their length, and which tiles
 * sleep. */
#include "server/physics/grid/shallow_internal.h"

#include "shared/base/check.h"
#include "shared/base/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- definition ---- */

ShallowDef shallow_def_default(void)
{
    return (ShallowDef){.size = {64, 64}, .cell_m = 0.1f};
}

Error shallow_check(const ShallowDef *def, ErrorText *error)
{
    Error code = heights_check(def->size, def->cell_m, def->border, error);
    if (code != ERROR_OK) {
        return code;
    }
    if (!(def->friction >= 0.0f && def->friction <= 1.0f)) {
        return error_set(error, ERROR_RANGE, "friction is %g, expected 0 to 1", def->friction);
    }
    if (!(def->damping >= 0.0f && def->damping <= 100.0f)) {
        return error_set(error, ERROR_RANGE, "damping is %g, expected 0 to 100 1/s", def->damping);
    }
    return ERROR_OK;
}

typedef struct Layout {
    u32 stride, rows, tiles[2];
    size_t cells; /* with ghosts, and room before and after for whole vectors */
} Layout;

static Layout layout_of(const ShallowDef *def)
{
    Layout l = {.stride = ((def->size[0] + 7u) & ~7u) + 2 * SHALLOW_MARGIN,
                .rows = def->size[1] + 2 * SHALLOW_GHOSTS};
    l.tiles[0] = (def->size[0] + SHALLOW_COLUMNS - 1) / SHALLOW_COLUMNS;
    l.tiles[1] = (def->size[1] + SHALLOW_ROWS - 1) / SHALLOW_ROWS;
    l.cells = (size_t)l.stride * l.rows + 2 * SHALLOW_MARGIN;
    return l;
}

enum {
    ARRAYS = 7 /* bed, two states */
};

u64 shallow_bytes(const ShallowDef *def)
{
    Layout l = layout_of(def);
    return sizeof(Shallow) + ARRAYS * l.cells * sizeof(f32) +
           (u64)ROW_COUNT * l.stride * sizeof(f32) +
           (u64)l.tiles[0] * l.tiles[1] * (2 + 2 * sizeof(f32)) + l.tiles[1] * sizeof(ShallowTaken);
}

Shallow *shallow_create(const ShallowDef *def, ErrorText *error)
{
    if (shallow_check(def, error) != ERROR_OK) {
        return NULL;
    }
    Layout l = layout_of(def);
    size_t tiles = (size_t)l.tiles[0] * l.tiles[1];
    Shallow *of = calloc(1, sizeof *of);
    if (of != NULL) {
        of->memory = heights_zeros(ARRAYS * l.cells);
        of->scratch = heights_zeros((size_t)ROW_COUNT * l.stride);
        of->workers = 1;
        of->calm = calloc(tiles, 1);
        of->frozen = calloc(tiles, 1);
        of->tile_speed = calloc(tiles, sizeof(f32));
        of->tile_depth = calloc(tiles, sizeof(f32));
        of->tallies = calloc(l.tiles[1], sizeof *of->tallies);
    }
    if (of == NULL || of->memory == NULL || of->scratch == NULL || of->calm == NULL ||
        of->frozen == NULL || of->tile_speed == NULL || of->tile_depth == NULL ||
        of->tallies == NULL) {
        shallow_destroy(of);
        error_set(error, ERROR_MEMORY, "out of memory for %u x %u cells", def->size[0],
                  def->size[1]);
        return NULL;
    }
    of->def = *def;
    of->stride = l.stride;
    of->rows = l.rows;
    of->tiles[0] = l.tiles[0];
    of->tiles[1] = l.tiles[1];
    of->first = (size_t)(SHALLOW_GHOSTS)*l.stride + SHALLOW_MARGIN;
    of->thin = f32_min(SHALLOW_THIN_CELLS * def->cell_m, SHALLOW_THIN_MAX_M);
    f32 **arrays[ARRAYS] = {&of->bed,        &of->now.depth, &of->now.u, &of->now.w,
                            &of->next.depth, &of->next.u,    &of->next.w};
    for (u32 n = 0; n < ARRAYS; n++) {
        *arrays[n] = of->memory + n * l.cells + SHALLOW_MARGIN;
    }
    of->stats = (ShallowStats){.tiles = (u32)tiles, .tiles_awake = (u32)tiles, .slowed = 1.0f};
    return of;
}

void shallow_destroy(Shallow *of)
{
    if (of != NULL) {
        free(of->memory);
        free(of->scratch);
        free(of->calm);
        free(of->frozen);
        free(of->tile_speed);
        free(of->tile_depth);
        free(of->tallies);
        free(of);
    }
}

bool shallow_tune(Shallow *of, f32 friction, f32 damping)
{
    ShallowDef def = of->def;
    def.friction = friction;
    def.damping = damping;
    if (shallow_check(&def, NULL) != ERROR_OK) {
        return false;
    }
    of->def = def;
    return true;
}

/* ---- cells ---- */

bool shallow_set_bed(Shallow *of, const f32 *bed)
{
    size_t count = (size_t)of->def.size[0] * of->def.size[1];
    for (size_t c = 0; c < count; c++) {
        if (!(fabsf(bed[c]) <= HEIGHTS_LEVEL_MAX_M)) {
            return false;
        }
    }
    for (u32 k = 0; k < of->def.size[1]; k++) {
        memcpy(of->bed + shallow_at(of, 0, (i32)k), bed + (size_t)k * of->def.size[0],
               of->def.size[0] * sizeof(f32));
    }
    shallow_border_bed(of);
    shallow_wake(of);
    return true;
}

static size_t tile_of(const Shallow *of, u32 i, u32 k)
{
    return (size_t)(k / SHALLOW_ROWS) * of->tiles[0] + i / SHALLOW_COLUMNS;
}

void shallow_set_bed_at(Shallow *of, u32 i, u32 k, f32 height)
{
    CHECK(i < of->def.size[0] && k < of->def.size[1]);
    if (fabsf(height) <= HEIGHTS_LEVEL_MAX_M) {
        of->bed[shallow_at(of, (i32)i, (i32)k)] = height;
        of->calm[tile_of(of, i, k)] = 0;
        shallow_border_bed(of);
    }
}

static f32 finite_or_zero(f32 value, f32 least, f32 most)
{
    return value >= least ? f32_min(value, most) : value < least ? least : 0.0f;
}

void shallow_set(Shallow *of, u32 i, u32 k, f32 depth, f32 u, f32 w)
{
    CHECK(i < of->def.size[0] && k < of->def.size[1]);
    size_t at = shallow_at(of, (i32)i, (i32)k), tile = tile_of(of, i, k);
    of->now.depth[at] = finite_or_zero(depth, 0.0f, HEIGHTS_DEPTH_MAX_M);
    of->now.u[at] = finite_or_zero(u, -SPEED_MAX_M_S, SPEED_MAX_M_S);
    of->now.w[at] = finite_or_zero(w, -SPEED_MAX_M_S, SPEED_MAX_M_S);
    f32 speed = f32_max(fabsf(of->now.u[at]), fabsf(of->now.w[at]));
    of->tile_speed[tile] = f32_max(of->tile_speed[tile], speed);
    of->tile_depth[tile] = f32_max(of->tile_depth[tile], of->now.depth[at]);
    of->calm[tile] = 0;
}

ShallowCells shallow_cells(const Shallow *of)
{
    return (ShallowCells){of->bed + of->first, of->now.depth + of->first, of->now.u + of->first,
                          of->now.w + of->first, of->stride};
}

/* ---- sleep ---- */

/* The tile at these coordinates, across periodic borders; −1: beyond the grid. */
static i64 tile_at(const Shallow *of, i32 x, i32 z)
{
    i32 nx = (i32)of->tiles[0], nz = (i32)of->tiles[1];
    if (of->def.border[0] == WATER_PERIODIC) {
        x = (x + nx) % nx;
    }
    if (of->def.border[2] == WATER_PERIODIC) {
        z = (z + nz) % nz;
    }
    return x < 0 || z < 0 || x >= nx || z >= nz ? -1 : (i64)z * nx + x;
}

bool shallow_is_frozen(const Shallow *of, i32 tile_x, i32 tile_z)
{
    i64 tile = tile_at(of, tile_x, tile_z);
    return tile >= 0 && of->frozen[tile] != 0;
}

void shallow_wake(Shallow *of)
{
    memset(of->calm, 0, (size_t)of->tiles[0] * of->tiles[1]);
}

/* A tile that falls asleep stands still, and is the same in both states. */
static void settle(Shallow *of, u32 tile_x, u32 tile_z)
{
    u32 left = tile_x * SHALLOW_COLUMNS;
    size_t bytes = u32_min(SHALLOW_COLUMNS, of->def.size[0] - left) * sizeof(f32);
    u32 end = u32_min((tile_z + 1) * SHALLOW_ROWS, of->def.size[1]);
    for (u32 k = tile_z * SHALLOW_ROWS; k < end; k++) {
        size_t at = shallow_at(of, (i32)left, (i32)k);
        memset(of->now.u + at, 0, bytes);
        memset(of->now.w + at, 0, bytes);
        memset(of->next.u + at, 0, bytes);
        memset(of->next.w + at, 0, bytes);
        memcpy(of->next.depth + at, of->now.depth + at, bytes);
    }
    of->tile_speed[(size_t)tile_z * of->tiles[0] + tile_x] = 0.0f;
}

/* A tile sleeps while it and its neighbours are calm: any motion is at least a tile away. */
static void choose_awake(Shallow *of)
{
    of->stats.tiles_awake = 0;
    for (i32 z = 0; z < (i32)of->tiles[1]; z++) {
        for (i32 x = 0; x < (i32)of->tiles[0]; x++) {
            u8 least = SHALLOW_REST;
            for (i32 n = 0; n < 9; n++) {
                i64 tile = tile_at(of, x + n % 3 - 1, z + n / 3 - 1);
                least = tile >= 0 && of->calm[tile] < least ? of->calm[tile] : least;
            }
            u8 *frozen = &of->frozen[(size_t)z * of->tiles[0] + (u32)x];
            bool sleeps = least == SHALLOW_REST && !of->def.awake && !of->counts;
            if (sleeps && *frozen == 0) {
                settle(of, (u32)x, (u32)z);
            }
            *frozen = sleeps;
            of->stats.tiles_awake += !sleeps;
        }
    }
}

static void count_calm(Shallow *of)
{
    size_t tiles = (size_t)of->tiles[0] * of->tiles[1];
    of->stats.speed_max = 0.0f;
    for (size_t t = 0; t < tiles; t++) {
        bool calm = of->tile_speed[t] < SHALLOW_CALM_M_S;
        of->calm[t] = calm ? (u8)u32_min(of->calm[t] + 1u, SHALLOW_REST) : 0;
        of->stats.speed_max = f32_max(of->stats.speed_max, of->tile_speed[t]);
    }
}

/* ---- steps ---- */

/* s, that a step may last. */
static f32 longest_step(const Shallow *of)
{
    size_t tiles = (size_t)of->tiles[0] * of->tiles[1];
    f32 wave = 0.0f, flow = 0.0f;
    for (size_t t = 0; t < tiles; t++) {
        if (of->frozen[t] == 0) {
            flow = f32_max(flow, of->tile_speed[t]);
            wave = f32_max(wave, of->tile_speed[t] + sqrtf(of->gravity * of->tile_depth[t]));
        }
    }
    f32 rate = f32_max(wave / SHALLOW_COURANT, flow / SHALLOW_COURANT_FLOW);
    return of->def.cell_m / f32_max(rate, 1e-9f);
}

/* Gravity and speed for which the waves on the deepest water, and the water itself, need at most
 * SHALLOW_STEPS_MAX steps. Gravity is reduced if necessary, equally everywhere, so that a lake at
 * rest remains at rest. */
static void limit_speeds(Shallow *of, f32 time_s, f32 gravity)
{
    size_t tiles = (size_t)of->tiles[0] * of->tiles[1];
    f32 deepest = 0.0f, fastest = of->def.cell_m / (time_s / SHALLOW_STEPS_MAX);
    for (size_t t = 0; t < tiles; t++) {
        deepest = f32_max(deepest, of->tile_depth[t]);
    }
    f32 wave = (SHALLOW_COURANT - SHALLOW_COURANT_FLOW) * fastest;
    of->speed_limit = f32_min(SHALLOW_COURANT_FLOW * fastest, SPEED_MAX_M_S);
    of->gravity = f32_min(gravity, wave * wave / f32_max(deepest, 1e-6f));
    of->stats.slowed = gravity > 0.0f ? of->gravity / gravity : 1.0f;
}

/* Rows for each worker; the pool, or NULL if there is no memory for more than one. */
static Jobs *pool_of(Shallow *of, Jobs *jobs)
{
    u32 workers = jobs_threads(jobs);
    if (workers > of->workers) {
        f32 *rows = heights_zeros((size_t)workers * ROW_COUNT * of->stride);
        if (rows == NULL) {
            return NULL;
        }
        free(of->scratch);
        of->scratch = rows;
        of->workers = workers;
    }
    return jobs;
}

void shallow_step(Shallow *of, f32 time_s, f32 gravity, Jobs *jobs)
{
    CHECK(time_s > 0.0f && gravity >= 0.0f);
    jobs = pool_of(of, jobs);
    choose_awake(of);
    limit_speeds(of, time_s, gravity);
    shallow_tally_begin(of);
    f32 left = time_s;
    of->stats.steps = 0;
    while (of->stats.steps < SHALLOW_STEPS_MAX && of->stats.tiles_awake > 0) {
        u32 room = SHALLOW_STEPS_MAX - of->stats.steps;
        f32 wanted = ceilf(left / longest_step(of));
        u32 steps = wanted < (f32)room ? u32_max((u32)wanted, 1) : room;
        of->time_s = left / (f32)steps;
        shallow_border(of);
        jobs_run(jobs, of->tiles[1], 1, shallow_step_rows, of);
        ShallowState done = of->now;
        of->now = of->next;
        of->next = done;
        of->stats.steps++;
        if (steps == 1) {
            break;
        }
        left -= of->time_s;
    }
    shallow_tally_end(of);
    count_calm(of);
}

ShallowStats shallow_stats(const Shallow *of)
{
    return of->stats;
}

ShallowSums shallow_sums(const Shallow *of)
{
    ShallowSums sums = {0};
    f64 area = (f64)of->def.cell_m * of->def.cell_m;
    for (u32 k = 0; k < of->def.size[1]; k++) {
        for (u32 i = 0; i < of->def.size[0]; i++) {
            size_t at = shallow_at(of, (i32)i, (i32)k);
            f64 h = of->now.depth[at], u = of->now.u[at], w = of->now.w[at];
            sums.volume += h;
            sums.momentum[0] += h * u;
            sums.momentum[1] += h * w;
            sums.kinetic += 0.5 * h * (u * u + w * w);
            sums.potential += h * (of->bed[at] + 0.5 * h);
        }
    }
    sums.volume *= area;
    sums.momentum[0] *= area;
    sums.momentum[1] *= area;
    sums.kinetic *= area;
    sums.potential *= area;
    return sums;
}
