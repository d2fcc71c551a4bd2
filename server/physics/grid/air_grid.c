/* air_grid.c: memory of a grid of air, its awake bricks as spans, ghost cells. */
#include "server/physics/grid/air_grid.h"
#include "shared/base/check.h"

#include <string.h>

enum {
    SPANS_A_RANGE = 2,
    ALIGN = 64
};

static i32 whole(i32 n, i32 part)
{
    return (n + part - 1) / part;
}

void air_grid_init(AirGrid *grid, u32 dims, const i32 n[3], const AirSide sides[AIR_SIDES])
{
    CHECK(dims == 2 || dims == 3);
    memset(grid, 0, sizeof *grid);
    grid->dims = dims;
    bool deep = dims == 3;
    for (u32 a = 0; a < 3; a++) {
        grid->n[a] = a < dims ? n[a] : 1;
        CHECK_ITEM(a, grid->n[a] > 0);
        grid->bricks[a] = whole(grid->n[a], AIR_BRICK);
    }
    grid->row = whole(n[0], AIR_BRICK) * AIR_BRICK + 2 * AIR_GHOSTS;
    grid->slab = grid->row * (grid->n[1] + 2 * AIR_RIM);
    grid->origin = AIR_GHOSTS + AIR_RIM * (grid->row + (deep ? grid->slab : 0));
    grid->floats = (u32)grid->slab * (u32)(grid->n[2] + (deep ? 2 * AIR_RIM : 0)) + AIR_GHOSTS;
    memcpy(grid->sides, sides, sizeof grid->sides);
}

u32 air_grid_bricks(const AirGrid *grid)
{
    return (u32)(grid->bricks[0] * grid->bricks[1] * grid->bricks[2]);
}

static u64 aligned(u64 bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Runs of an axis, at most. */
static u32 runs_most(const AirGrid *grid, u32 axis)
{
    u32 y = (u32)grid->n[1] + 2 * AIR_RIM, z = (u32)grid->n[2] + 2 * AIR_RIM;
    u32 parts = (u32)whole(grid->bricks[0], 2);
    return axis == 0 ? y * z : (axis == 1 ? z : y) * parts;
}

u64 air_grid_place(AirGrid *grid, u8 *at)
{
    u32 bricks = air_grid_bricks(grid);
    u32 rows = (u32)(grid->bricks[1] * grid->bricks[2]);
    u32 spans = rows * (u32)whole(grid->bricks[0], 2);
    u64 used = 0, from[7];
    const u64 bytes[7] = {spans * sizeof(AirSpan),
                          spans * sizeof(u32),
                          bricks,
                          bricks,
                          runs_most(grid, 0) * sizeof(AirRun),
                          runs_most(grid, 1) * sizeof(AirRun),
                          runs_most(grid, 2) * sizeof(AirRun)};
    for (u32 i = 0; i < 7; i++) {
        from[i] = used;
        used += aligned(bytes[i]);
    }
    if (at != NULL) {
        grid->spans = (AirSpan *)(void *)(at + from[0]);
        grid->order = (u32 *)(void *)(at + from[1]);
        grid->awake = at + from[2];
        grid->near = at + from[3];
        for (u32 axis = 0; axis < 3; axis++) {
            grid->runs[axis] = (AirRun *)(void *)(at + from[4 + axis]);
        }
        memset(grid->awake, 1, bricks);
        air_grid_spans(grid);
    }
    return used;
}

/* Of bricks [x0, x1) along x. */
static AirSpan span_of(const AirGrid *grid, i32 x0, i32 x1, i32 y, i32 z)
{
    const i32 *n = grid->n;
    return (AirSpan){
        .x0 = x0 * AIR_BRICK,
        .x1 = x1 * AIR_BRICK,
        .y0 = y * AIR_BRICK,
        .y1 = i32_min((y + 1) * AIR_BRICK, n[1]),
        .z0 = z * AIR_BRICK,
        .z1 = i32_min((z + 1) * AIR_BRICK, n[2]),
    };
}

AirSpan air_grid_brick(const AirGrid *grid, u32 brick)
{
    i32 b = (i32)brick, x = b % grid->bricks[0], row = b / grid->bricks[0];
    CHECK(brick < air_grid_bricks(grid));
    return span_of(grid, x, x + 1, row % grid->bricks[1], row / grid->bricks[1]);
}

/* ---- runs ---- */

/* Marks along one line of bricks. */
static void spread_line(u8 *marks, i32 count, i32 step, bool wraps)
{
    u8 first = marks[0], before = wraps ? marks[(count - 1) * step] : 0;
    for (i32 i = 0; i < count; i++) {
        u8 here = marks[i * step];
        u8 next = i + 1 < count ? marks[(i + 1) * step] : wraps ? first : 0;
        marks[i * step] = before | here | next;
        before = here;
    }
}

void air_bricks_spread(const AirGrid *grid, u8 *marks)
{
    const i32 *n = grid->bricks;
    for (u32 axis = 0; axis < grid->dims; axis++) {
        i32 step = axis == 0 ? 1 : axis == 1 ? n[0] : n[0] * n[1];
        bool wraps = grid->sides[2 * axis] == AIR_PERIODIC;
        i32 lines = n[0] * n[1] * n[2] / n[axis];
        for (i32 line = 0; line < lines; line++) {
            /* Of lines along y, those of one slab follow each other. */
            i32 first = axis == 0   ? line * n[0]
                        : axis == 1 ? line / n[0] * n[0] * n[1] + line % n[0]
                                    : line;
            spread_line(marks + first, n[axis], step, wraps);
        }
    }
}

static void find_near(AirGrid *grid)
{
    u32 bricks = air_grid_bricks(grid);
    if (grid->all) {
        memset(grid->near, 1, bricks);
    } else {
        memcpy(grid->near, grid->awake, bricks);
        air_bricks_spread(grid, grid->near);
    }
}

/* Bricks [x0, x1) of rows y and slabs z, for an axis; along this, y or z is 0. */
static void add_runs(AirGrid *grid, u32 axis, const i32 y[2], const i32 z[2], i32 x0, i32 x1)
{
    i32 first = x0 == 0 ? -AIR_GHOSTS : x0 * AIR_BRICK;
    i32 end = x1 == grid->bricks[0] ? grid->row - AIR_GHOSTS : x1 * AIR_BRICK;
    for (i32 k = z[0]; k < z[1]; k++) {
        for (i32 j = y[0]; j < y[1]; j++) {
            i32 x = axis == 0 ? 0 : first;
            grid->runs[axis][grid->run_count[axis]++] =
                (AirRun){air_at(grid, x, j, k), axis == 0 ? 1 : end - first};
        }
    }
}

/* Cells of a row of bricks along an axis; at the ends with a face or the ghosts. */
static void extent(const AirGrid *grid, u32 axis, i32 brick, i32 low, i32 high, i32 cells[2])
{
    bool last = brick + 1 == grid->bricks[axis], flat = axis >= grid->dims;
    cells[0] = brick * AIR_BRICK - (brick == 0 && !flat ? low : 0);
    cells[1] = last ? grid->n[axis] + (flat ? 0 : high) : (brick + 1) * AIR_BRICK;
}

/* Whether a run passes at x, in bricks. */
static bool runs_at(const AirGrid *grid, u32 axis, i32 x, i32 row)
{
    const i32 *n = grid->bricks;
    const u8 *near = grid->near;
    if (axis == 0) {
        return near[row * n[0]] || near[row * n[0] + n[0] - 1];
    }
    i32 from = axis == 1 ? row * n[1] * n[0] : row * n[0];
    i32 step = axis == 1 ? n[0] : n[1] * n[0];
    return near[from + x] || near[from + (n[axis] - 1) * step + x];
}

static void find_runs(AirGrid *grid)
{
    const i32 *n = grid->bricks;
    find_near(grid);
    for (u32 axis = 0; axis < 3; axis++) {
        grid->run_count[axis] = 0;
        i32 rows = axis == 0 ? n[1] * n[2] : axis == 1 ? n[2] : n[1];
        for (i32 row = 0; row < rows && axis < grid->dims; row++) {
            i32 y[2] = {0, 1}, z[2] = {0, 1}, columns = axis == 0 ? 1 : n[0];
            i32 low = axis == 2 ? AIR_RIM : 0, high = axis == 2 ? AIR_RIM : 1;
            if (axis != 1) {
                extent(grid, 1, row % n[1], low, high, y);
            }
            if (axis != 2) {
                extent(grid, 2, axis == 0 ? row / n[1] : row, 0, 1, z);
            }
            for (i32 x = 0; x < columns; x++) {
                i32 x1 = x;
                while (x1 < columns && runs_at(grid, axis, x1, row)) {
                    x1++;
                }
                if (x1 > x) {
                    add_runs(grid, axis, y, z, x, x1);
                }
                x = x1;
            }
        }
    }
}

void air_grid_fill_all(AirGrid *grid, bool all)
{
    if (grid->all != all) {
        grid->all = all;
        find_runs(grid);
    }
}

void air_grid_spans(AirGrid *grid)
{
    const u8 *awake = grid->awake;
    grid->span_count = 0;
    for (i32 z = 0; z < grid->bricks[2]; z++) {
        for (i32 y = 0; y < grid->bricks[1]; y++) {
            for (i32 begin = 0; begin < grid->bricks[0];) {
                i32 end = begin;
                while (end < grid->bricks[0] && awake[end]) {
                    end++;
                }
                if (end > begin) {
                    grid->spans[grid->span_count++] = span_of(grid, begin, end, y, z);
                }
                begin = end + 1;
            }
            awake += grid->bricks[0];
        }
    }
    u32 end = 0;
    for (i32 color = 0; color < AIR_COLORS; color++) {
        for (u32 s = 0; s < grid->span_count; s++) {
            const AirSpan *span = &grid->spans[s];
            if (span->y0 / AIR_BRICK % 2 + 2 * (span->z0 / AIR_BRICK % 2) == color) {
                grid->order[end++] = s;
            }
        }
        grid->color_end[color] = end;
    }
    CHECK(end == grid->span_count); /* each has one colour */
    find_runs(grid);
}

void air_span_marked(const AirGrid *grid, const AirSpan *span, const u8 *marks, i32 x[2])
{
    x[0] = span->x0;
    x[1] = span->x1;
    if (marks == NULL) {
        return;
    }
    const u8 *row =
        marks + (span->z0 / AIR_BRICK * grid->bricks[1] + span->y0 / AIR_BRICK) * grid->bricks[0];
    while (x[0] < x[1] && !row[x[0] / AIR_BRICK]) {
        x[0] += AIR_BRICK;
    }
    while (x[1] > x[0] && !row[x[1] / AIR_BRICK - 1]) {
        x[1] -= AIR_BRICK;
    }
}

bool air_is_awake(const AirGrid *grid, i32 x, i32 y, i32 z)
{
    const i32 at[3] = {x, y, z};
    i32 brick[3];
    for (u32 a = 0; a < 3; a++) {
        i32 i = at[a];
        if (i < 0 || i >= grid->n[a]) {
            if (grid->sides[2 * a] != AIR_PERIODIC) {
                return true;
            }
            i = i < 0 ? i + grid->n[a] : i - grid->n[a];
        }
        brick[a] = i / AIR_BRICK;
        CHECK_ITEM(a, brick[a] >= 0 && brick[a] < grid->bricks[a]);
    }
    return grid->awake[(brick[2] * grid->bricks[1] + brick[1]) * grid->bricks[0] + brick[0]] != 0;
}

/* ---- rims ---- */

bool air_rim_next(const AirGrid *grid, AirRim *rim)
{
    i32 *at = rim->now;
    for (; at[2] < rim->high[2]; at[2]++) {
        for (; at[1] < rim->high[1]; at[1]++) {
            while (at[0] < rim->high[0]) {
                i32 x = at[0], end = i32_min(x - x % AIR_BRICK + AIR_BRICK, rim->high[0]);
                at[0] = end;
                if (!air_is_awake(grid, x, at[1], at[2])) {
                    rim->at = air_at(grid, x, at[1], at[2]);
                    rim->floats = end - x;
                    return true;
                }
            }
            at[0] = rim->low[0];
        }
        at[1] = rim->low[1];
    }
    return false;
}

bool air_rim_first(const AirGrid *grid, const AirSpan *span, u32 axis, AirRim *rim)
{
    *rim = (AirRim){.low = {span->x0, span->y0, span->z0},
                    .high = {i32_min(span->x1, grid->n[0]), span->y1, span->z1}};
    const i32 top[3] = {span->x1, span->y1, span->z1};
    i32 face = top[axis];
    if (face >= grid->n[axis]) {
        if (grid->sides[2 * axis] != AIR_PERIODIC) {
            return false;
        }
        face = 0;
    }
    rim->low[axis] = face;
    rim->high[axis] = face + 1;
    for (u32 a = 0; a < 3; a++) {
        rim->now[a] = rim->low[a];
    }
    return air_rim_next(grid, rim);
}

void air_rim_copy(const AirGrid *grid, u32 axis, const f32 *from, f32 *to)
{
    for (u32 s = 0; s < grid->span_count; s++) {
        AirRim rim;
        for (bool more = air_rim_first(grid, &grid->spans[s], axis, &rim); more;
             more = air_rim_next(grid, &rim)) {
            if (from != NULL) {
                memcpy(to + rim.at, from + rim.at, (size_t)rim.floats * sizeof *to);
            } else {
                memset(to + rim.at, 0, (size_t)rim.floats * sizeof *to);
            }
        }
    }
}

/* ---- loops ---- */

typedef struct Each {
    const AirGrid *grid;
    AirLoop *loop;
    void *context;
    u32 first; /* in order */
} Each;

static void each_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const Each *each = (const Each *)context;
    for (u32 s = first; s < end; s++) {
        each->loop(each->context, &each->grid->spans[s], s);
    }
}

void air_each(const AirGrid *grid, Jobs *jobs, AirLoop *loop, void *context)
{
    Each each = {grid, loop, context, 0};
    jobs_run(jobs, grid->span_count, SPANS_A_RANGE, each_range, &each);
}

static void color_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const Each *each = (const Each *)context;
    for (u32 i = first; i < end; i++) {
        u32 s = each->grid->order[each->first + i];
        each->loop(each->context, &each->grid->spans[s], s);
    }
}

void air_each_color(const AirGrid *grid, Jobs *jobs, bool down, AirLoop *loop,
                    void (*between)(void *context), void *context)
{
    for (u32 i = 0; i < AIR_COLORS; i++) {
        u32 color = down ? AIR_COLORS - 1 - i : i;
        u32 first = color > 0 ? grid->color_end[color - 1] : 0;
        CHECK_ITEM(color, first <= grid->color_end[color]);
        u32 count = grid->color_end[color] - first;
        Each each = {grid, loop, context, first};
        if (count > 0) {
            jobs_run(jobs, count, SPANS_A_RANGE, color_range, &each);
            if (between != NULL) {
                between(context);
            }
        }
    }
}

/* ---- ghosts ---- */

bool air_is_periodic(const AirGrid *grid)
{
    for (u32 s = 0; s < 2 * grid->dims; s++) {
        if (grid->sides[s] == AIR_PERIODIC) {
            return true;
        }
    }
    return false;
}

static void ghosts_x(const AirGrid *grid, f32 *cells, AirBeyond beyond)
{
    i32 n = grid->n[0], tail = grid->row - AIR_GHOSTS;
    bool empty = beyond.odd_empty && n % 2 != 0;
    for (u32 i = 0; i < grid->run_count[0]; i++) {
        f32 *at = cells + grid->runs[0][i].at;
        f32 low = at[0], high = at[n - 1];
        if (grid->sides[0] == AIR_PERIODIC) { /* then n is 8 or more */
            memcpy(at - AIR_GHOSTS, at + n - AIR_GHOSTS, AIR_GHOSTS * sizeof *at);
            memcpy(at + n, at, AIR_GHOSTS * sizeof *at);
            continue;
        }
        low = grid->sides[0] == AIR_OPEN ? beyond.factor * low + beyond.value : low;
        high = grid->sides[1] == AIR_OPEN ? beyond.factor * high + beyond.value : high;
        high = empty ? 0.0f : high;
        at[-1] = at[-2] = low;
        if (n % AIR_BRICK == 0) {
            f32x8_store(at + n, (f32x8){high, high, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f});
            continue;
        }
        at[n] = at[n + 1] = high;
        memset(at + n + 2, 0, (size_t)(tail - n - 2) * sizeof *at);
    }
}

/* The layers of ghosts of a run. */
static void ghosts_run(const AirGrid *grid, f32 *at, i32 floats, u32 axis, AirBeyond beyond)
{
    i32 n = grid->n[axis], step = axis == 1 ? grid->row : grid->slab;
    size_t bytes = (size_t)floats * sizeof *at;
    for (u32 g = 0; g < 2 * AIR_RIM; g++) {
        u32 side = g / AIR_RIM;
        i32 layer = (i32)(g % AIR_RIM);
        f32 *ghost = at + (side ? n + layer : -1 - layer) * step;
        AirSide kind = grid->sides[2 * axis + side];
        i32 source = side ? n - 1 : 0;
        if (kind == AIR_PERIODIC) {
            source = side ? layer % n : (n - 1 - layer + n) % n;
        }
        const f32 *from = at + source * step;
        bool empty = side && kind != AIR_PERIODIC && beyond.odd_empty && n % 2 != 0;
        if (empty) {
            memset(ghost, 0, bytes);
        } else if (kind == AIR_OPEN) {
            for (i32 i = 0; i < floats; i++) {
                ghost[i] = beyond.factor * from[i] + beyond.value;
            }
        } else {
            memcpy(ghost, from, bytes);
        }
    }
}

static void ghosts_plane(const AirGrid *grid, f32 *cells, u32 axis, AirBeyond beyond)
{
    for (u32 i = 0; i < grid->run_count[axis]; i++) {
        const AirRun *run = &grid->runs[axis][i];
        ghosts_run(grid, cells + run->at, run->floats, axis, beyond);
    }
}

void air_ghosts(const AirGrid *grid, f32 *cells, AirBeyond beyond)
{
    ghosts_x(grid, cells, beyond);
    for (u32 axis = 1; axis < grid->dims; axis++) {
        ghosts_plane(grid, cells, axis, beyond);
    }
}

void air_wrap(const AirGrid *grid, f32 *cells)
{
    AirBeyond none = {0.0f, 0.0f, false};
    if (grid->sides[0] == AIR_PERIODIC) {
        ghosts_x(grid, cells, none);
    }
    for (u32 axis = 1; axis < grid->dims; axis++) {
        if (grid->sides[2 * axis] == AIR_PERIODIC) {
            ghosts_plane(grid, cells, axis, none);
        }
    }
}

void air_ghosts_clear(const AirGrid *grid, f32 *cells)
{
    for (u32 i = 0; i < grid->run_count[0]; i++) {
        f32 *at = cells + grid->runs[0][i].at;
        at[-1] = at[grid->n[0]] = 0.0f;
    }
    for (u32 axis = 1; axis < grid->dims; axis++) {
        i32 step = axis == 1 ? grid->row : grid->slab;
        for (u32 i = 0; i < grid->run_count[axis]; i++) {
            const AirRun *run = &grid->runs[axis][i];
            f32 *at = cells + run->at;
            memset(at - step, 0, (size_t)run->floats * sizeof *at);
            memset(at + grid->n[axis] * step, 0, (size_t)run->floats * sizeof *at);
        }
    }
}
