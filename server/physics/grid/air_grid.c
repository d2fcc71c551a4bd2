/* air_grid.c: memory of a grid of air, its awake bricks as spans, ghost cells. */
#include "server/physics/grid/air_grid.h"

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
    memset(grid, 0, sizeof *grid);
    grid->dims = dims;
    bool deep = dims == 3;
    for (u32 a = 0; a < 3; a++) {
        grid->n[a] = a < dims ? n[a] : 1;
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

u64 air_grid_place(AirGrid *grid, u8 *at)
{
    u32 bricks = air_grid_bricks(grid);
    u32 rows = (u32)(grid->bricks[1] * grid->bricks[2]);
    u32 spans = rows * (u32)whole(grid->bricks[0], 2);
    u64 first = (spans * sizeof(AirSpan) + ALIGN - 1) / ALIGN * ALIGN;
    u64 second = first + (spans * sizeof(u32) + ALIGN - 1) / ALIGN * ALIGN;
    u64 bytes = second + ((u64)bricks + ALIGN - 1) / ALIGN * ALIGN;
    if (at != NULL) {
        grid->spans = (AirSpan *)(void *)at;
        grid->order = (u32 *)(void *)(at + first);
        grid->awake = at + second;
        memset(grid->awake, 1, bricks);
        air_grid_spans(grid);
    }
    return bytes;
}

static void add_span(AirGrid *grid, i32 x0, i32 x1, i32 y, i32 z)
{
    const i32 *n = grid->n;
    grid->spans[grid->span_count++] = (AirSpan){
        .x0 = x0 * AIR_BRICK,
        .x1 = x1 * AIR_BRICK,
        .y0 = y * AIR_BRICK,
        .y1 = i32_min((y + 1) * AIR_BRICK, n[1]),
        .z0 = z * AIR_BRICK,
        .z1 = i32_min((z + 1) * AIR_BRICK, n[2]),
    };
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
                    add_span(grid, begin, end, y, z);
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
    }
    return grid->awake[(brick[2] * grid->bricks[1] + brick[1]) * grid->bricks[0] + brick[0]] != 0;
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
    for (i32 z = 0; z < grid->n[2]; z++) {
        for (i32 y = 0; y < grid->n[1]; y++) {
            f32 *at = cells + air_at(grid, 0, y, z);
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
            at[n] = at[n + 1] = high;
            memset(at + n + 2, 0, (size_t)(tail - n - 2) * sizeof *at);
        }
    }
}

/* Rows (or slabs) of ghosts along an axis. */
static void ghosts_plane(const AirGrid *grid, f32 *cells, u32 axis, AirBeyond beyond)
{
    i32 n = grid->n[axis], step = axis == 1 ? grid->row : grid->slab;
    i32 planes = axis == 1 ? grid->n[2] : 1;
    size_t floats = axis == 1 ? (size_t)grid->row : (size_t)grid->slab;
    f32 *start = cells + grid->origin - AIR_GHOSTS - (axis == 2 ? AIR_RIM * grid->row : 0);
    for (i32 plane = 0; plane < planes; plane++) {
        f32 *at = start + plane * grid->slab;
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
                memset(ghost, 0, floats * sizeof *ghost);
            } else if (kind == AIR_OPEN) {
                for (size_t i = 0; i < floats; i++) {
                    ghost[i] = beyond.factor * from[i] + beyond.value;
                }
            } else {
                memcpy(ghost, from, floats * sizeof *ghost);
            }
        }
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
    for (i32 z = 0; z < grid->n[2]; z++) {
        for (i32 y = 0; y < grid->n[1]; y++) {
            f32 *at = cells + air_at(grid, 0, y, z);
            at[-1] = at[grid->n[0]] = 0.0f;
        }
    }
    for (u32 axis = 1; axis < grid->dims; axis++) {
        i32 step = axis == 1 ? grid->row : grid->slab;
        i32 planes = axis == 1 ? grid->n[2] : 1;
        f32 *start = cells + grid->origin - AIR_GHOSTS - (axis == 2 ? AIR_RIM * grid->row : 0);
        for (i32 plane = 0; plane < planes; plane++) {
            f32 *at = start + plane * grid->slab;
            memset(at - step, 0, (size_t)step * sizeof *at);
            memset(at + grid->n[axis] * step, 0, (size_t)step * sizeof *at);
        }
    }
}
