/* smoke.c: definition, memory, options, access to cells. */
#include "server/physics/grid/smoke_internal.h"
#include "server/physics/option.h"

#include "shared/base/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 64,
    TOUCHES_A_BRICK = 4,
};

static SmokeOptions options_default(void)
{
    SmokeOptions def = {0};
#define SOLVER_ROWS
#include "server/physics/option_default_rows.h"
#include "shared/rows/smoke.def"
    return def;
}

SmokeDef smoke_default(void)
{
    SmokeDef def = {.dims = 2, .cells = {64, 64, 1}, .options = options_default()};
#include "server/physics/option_default_rows.h"
#include "shared/rows/smoke_grid.def"
    def.spacing = 1.0f / 64.0f; /* a square metre, one deep */
    def.depth = 1.0f;
    return def;
}

void smoke_options_clamp(SmokeOptions *options)
{
#define SOLVER_ROWS
#define ROW_NUMBER(key, member, unit, scale, initial, also, least, most, bears, doc)               \
    options->member = f32_clamp(options->member, (least) * (scale), (bears) * (scale));
#include "shared/rows/smoke.def"
}

/* ---- definition ---- */

static Error check_options(const SmokeOptions *def, ErrorText *error)
{
    Error result = ERROR_OK;
#define SOLVER_ROWS
#include "server/physics/option_check_rows.h"
#include "shared/rows/smoke.def"
    return result;
}

static Error check_side(const SmokeSide *def, ErrorText *error)
{
    Error result = ERROR_OK;
#include "server/physics/option_check_rows.h"
#include "shared/rows/smoke_side.def"
    return result;
}

static Error check_sides(const SmokeDef *def, ErrorText *error)
{
    for (u32 s = 0; s < 2 * def->dims; s++) {
        const SmokeSide *side = &def->sides[s];
        bool periodic = side->kind == SMOKE_PERIODIC;
        ErrorText why = {0};
        if (check_side(side, &why) != ERROR_OK) {
            return error_set(error, ERROR_RANGE, "side %u: %s", s, why.text);
        }
        if (periodic != (def->sides[s ^ 1].kind == SMOKE_PERIODIC)) {
            return error_set(error, ERROR_RANGE,
                             "side %u: both sides of an axis are periodic, or none", s);
        }
        if (periodic && def->cells[s / 2] % AIR_BRICK != 0) {
            return error_set(error, ERROR_RANGE,
                             "side %u: %u cells along a periodic axis, expected a multiple of %u",
                             s, def->cells[s / 2], (u32)AIR_BRICK);
        }
    }
    return ERROR_OK;
}

Error smoke_check(const SmokeDef *def, ErrorText *error)
{
    if (def->dims != 2 && def->dims != 3) {
        return error_set(error, ERROR_RANGE, "%u dimensions, expected 2 or 3", def->dims);
    }
    u64 cells = 1;
    for (u32 a = 0; a < def->dims; a++) {
        if (def->cells[a] == 0 || def->cells[a] > SMOKE_AXIS_MAX) {
            return error_set(error, ERROR_RANGE, "%u cells along %c, expected 1 to %u",
                             def->cells[a], "xyz"[a], (u32)SMOKE_AXIS_MAX);
        }
        cells *= def->cells[a];
    }
    if (cells > SMOKE_CELLS_MAX) {
        return error_set(error, ERROR_LIMIT, "%llu cells, the limit is %u",
                         (unsigned long long)cells, (u32)SMOKE_CELLS_MAX);
    }
    Error result = ERROR_OK;
#include "server/physics/option_check_rows.h"
#include "shared/rows/smoke_grid.def"
    result = result != ERROR_OK ? result : check_sides(def, error);
    return result != ERROR_OK ? result : check_options(&def->options, error);
}

/* ---- memory ---- */

static f32 *take(u8 *at, u64 *used, u64 floats)
{
    f32 *taken = at != NULL ? (f32 *)(void *)(at + *used) : NULL;
    *used += (floats * sizeof(f32) + ALIGN - 1) / ALIGN * ALIGN;
    return taken;
}

/* Lays out everything from `at` on; returns the size in bytes. NULL: only computes the size. */
static u64 lay_out(Smoke *smoke, u8 *at)
{
    AirGrid *grid = &smoke->grid;
    AirSide sides[AIR_SIDES];
    i32 n[3];
    for (u32 s = 0; s < AIR_SIDES; s++) {
        SmokeSideKind kind = smoke->def.sides[s].kind;
        sides[s] = kind == SMOKE_OPEN       ? AIR_OPEN
                   : kind == SMOKE_PERIODIC ? AIR_PERIODIC
                                            : AIR_CLOSED;
    }
    for (u32 a = 0; a < 3; a++) {
        n[a] = (i32)smoke->def.cells[a];
    }
    air_grid_init(grid, smoke->def.dims, n, sides);
    u64 used = air_grid_place(grid, at);
    for (u32 a = 0; a < grid->dims; a++) {
        smoke->velocity[a] = take(at, &used, grid->floats);
        smoke->next[a] = take(at, &used, grid->floats);
    }
    smoke->ahead = take(at, &used, grid->floats);
    smoke->growth = take(at, &used, grid->floats);
    smoke->coupled = smoke->def.wind ? take(at, &used, grid->floats) : NULL;
    for (u32 f = 0; f < smoke_fields(smoke); f++) {
        smoke->field[f] = take(at, &used, grid->floats);
    }
    u32 bricks = air_grid_bricks(grid);
    smoke->busy = (u8 *)take(at, &used, bricks / 4 + 1);
    for (u32 f = 0; f < smoke_fields(smoke); f++) {
        smoke->full[f] = (u8 *)take(at, &used, bricks / 4 + 1);
    }
    smoke->most = take(at, &used, bricks);
    smoke->contact_capacity = TOUCHES_A_BRICK * bricks + SMOKE_DRAGS_MAX;
    smoke->contacts = (SmokeContact *)(void *)take(
        at, &used, (u64)smoke->contact_capacity * sizeof(SmokeContact) / sizeof(f32));
    u64 tallies = (u64)grid->bricks[1] * (u64)grid->bricks[2] * (u64)((grid->bricks[0] + 1) / 2);
    smoke->tallies =
        (SmokeTally *)(void *)take(at, &used, tallies * sizeof(SmokeTally) / sizeof(f32));
    used += air_pressure_place(&smoke->pressure, grid, at != NULL ? at + used : NULL);
    smoke->pressed = smoke->pressure.solution;
    return (used + ALIGN - 1) / ALIGN * ALIGN;
}

u64 smoke_bytes(const SmokeDef *def)
{
    if (smoke_check(def, NULL) != ERROR_OK) {
        return 0;
    }
    Smoke smoke = {.def = *def};
    return sizeof(Smoke) + lay_out(&smoke, NULL);
}

Smoke *smoke_create(const SmokeDef *def, ErrorText *error)
{
    if (smoke_check(def, error) != ERROR_OK) {
        return NULL;
    }
    Smoke *smoke = calloc(1, sizeof *smoke);
    if (smoke == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory");
        return NULL;
    }
    smoke->def = *def;
    u64 bytes = lay_out(smoke, NULL);
    smoke->memory = aligned_alloc(ALIGN, bytes);
    if (smoke->memory == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for the air: %llu bytes",
                  (unsigned long long)bytes);
        free(smoke);
        return NULL;
    }
    memset(smoke->memory, 0, bytes);
    lay_out(smoke, smoke->memory);
    smoke_clear(smoke);
    return smoke;
}

void smoke_destroy(Smoke *smoke)
{
    if (smoke != NULL) {
        free(smoke->memory);
        free(smoke);
    }
}

void smoke_clear(Smoke *smoke)
{
    size_t bytes = smoke->grid.floats * sizeof(f32);
    for (u32 a = 0; a < smoke->grid.dims; a++) {
        memset(smoke->velocity[a], 0, bytes);
        memset(smoke->next[a], 0, bytes);
    }
    for (u32 f = 0; f < smoke_fields(smoke); f++) {
        memset(smoke->field[f], 0, bytes);
    }
    memset(smoke->ahead, 0, bytes);
    memset(smoke->growth, 0, bytes);
    smoke_uncouple(smoke);
    air_pressure_clear(&smoke->pressure);
    memset(smoke->grid.awake, smoke->def.awake, air_grid_bricks(&smoke->grid));
    smoke->last_s = smoke->speed = smoke->residual = 0.0f;
    smoke->contact_count = smoke->drag_count = smoke->iterations = 0;
    memset(&smoke->account, 0, sizeof smoke->account);
    memset(&smoke->taken, 0, sizeof smoke->taken);
    smoke->burns = false;
    smoke->woken = true;
    smoke_find_spans(smoke);
}

/* ---- options ---- */

const SmokeDef *smoke_def(const Smoke *smoke)
{
    return &smoke->def;
}

bool smoke_set_options(Smoke *smoke, const SmokeOptions *options)
{
    if (check_options(options, NULL) != ERROR_OK) {
        return false;
    }
    smoke->def.options = *options;
    return true;
}

void smoke_set_side(Smoke *smoke, u32 side, Vec3 velocity)
{
    if (side >= SMOKE_SIDES) {
        return;
    }
    SmokeSide changed = smoke->def.sides[side];
    changed.velocity = velocity;
    if (check_side(&changed, NULL) == ERROR_OK) {
        smoke->def.sides[side] = changed;
    }
}

bool smoke_color_is_valid(Vec3 color)
{
    bool valid = color.x >= 0.0f && color.y >= 0.0f && color.z >= 0.0f; /* false for NaN */
    return valid && color.x <= 1.0f && color.y <= 1.0f && color.z <= 1.0f;
}

static bool check_source(const SmokeSource *def)
{
    bool good = state_vector_is_bounded(def->half) && smoke_color_is_valid(def->color);
    Error result = good ? ERROR_OK : ERROR_RANGE;
    ErrorText *error = NULL;
#define SOLVER_ROWS
#include "server/physics/option_check_rows.h"
#include "shared/rows/smoke_source.def"
    return result == ERROR_OK;
}

void smoke_set_sources(Smoke *smoke, const SmokeSource *sources, u32 count)
{
    smoke->source_count = 0;
    for (u32 i = 0; i < count && smoke->source_count < SMOKE_SOURCES_MAX; i++) {
        if (check_source(&sources[i])) {
            smoke->sources[smoke->source_count++] = sources[i];
        }
    }
}
