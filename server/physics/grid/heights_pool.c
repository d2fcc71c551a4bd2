/* heights_pool.c: a pool: memory, cells, the effects of hands, pushes, springs and rain, and its
 * tick. */
#include "server/physics/grid/heights_internal.h"
#include "server/physics/option.h"

#include "shared/base/check.h"
#include "shared/base/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limit for loaded state: no body displaces as much. */
#define MISSING_MAX_M4 1e15

/* ---- memory ---- */

static ShallowDef shallow_def_of(const PoolDef *def)
{
    ShallowDef made = {.size = {def->size[0], def->size[1]},
                       .cell_m = def->cell_m,
                       .friction = def->friction,
                       .damping = def->damping,
                       .awake = def->awake};
    memcpy(made.border, def->border, sizeof made.border);
    return made;
}

static WaveDef wave_def_of(const PoolDef *def)
{
    WaveDef made = {.size = {def->size[0], def->size[1]},
                    .cell_m = def->cell_m,
                    .depth_m = def->depth_m,
                    .damping = def->damping};
    memcpy(made.border, def->border, sizeof made.border);
    return made;
}

static bool has_foam(const PoolDef *def)
{
    return def->method == WATER_SHALLOW && def->foam > 0.0f;
}

u64 pool_bytes(const PoolDef *def)
{
    u64 cells = (u64)def->size[0] * def->size[1];
    ShallowDef shallow = shallow_def_of(def);
    WaveDef wave = wave_def_of(def);
    u64 cell_bytes = 3 * sizeof(f32) + 2 * sizeof(f64) + sizeof(u32) + 1;
    cell_bytes += has_foam(def) ? 2 * sizeof(f32) : 0;
    return sizeof(Pool) + cells * cell_bytes +
           (def->method == WATER_WAVE ? wave_bytes(&wave) : shallow_bytes(&shallow));
}

static Error check_options(const PoolDef *def, ErrorText *error)
{
    Error result = ERROR_OK;
#define SOLVER_ROWS
#include "server/physics/option_check_rows.h"
#include "shared/rows/water.def"
    return result;
}

static bool reserve(Pool *pool, ErrorText *error)
{
    const PoolDef *def = &pool->def;
    ShallowDef shallow = shallow_def_of(def);
    WaveDef wave = wave_def_of(def);
    if (def->method == WATER_WAVE) {
        pool->wave = wave_create(&wave, error);
    } else {
        pool->shallow = shallow_create(&shallow, error);
    }
    if (pool->wave == NULL && pool->shallow == NULL) {
        return false;
    }
    size_t cells = pool_cells(pool);
    pool->bed = calloc(cells, sizeof(f32));
    pool->held = calloc(cells, sizeof(f32));
    pool->wanted = calloc(cells, sizeof(f32));
    pool->pushed = calloc(cells, 2 * sizeof(f64));
    pool->touched = calloc(cells, sizeof(u32));
    pool->listed = calloc(cells, 1);
    bool foam = true;
    if (has_foam(def)) {
        pool->foam = calloc(cells, sizeof(f32));
        pool->foam_next = calloc(cells, sizeof(f32));
        pool->foam_spans = calloc(def->size[1], 2 * sizeof(PoolSpan));
        foam = pool->foam != NULL && pool->foam_next != NULL && pool->foam_spans != NULL;
    }
    if (!foam || pool->bed == NULL || pool->held == NULL || pool->wanted == NULL ||
        pool->pushed == NULL || pool->touched == NULL || pool->listed == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for %u x %u cells", def->size[0],
                  def->size[1]);
        return false;
    }
    return true;
}

Pool *pool_create(const PoolDef *def, ErrorText *error)
{
    if (check_options(def, error) != ERROR_OK) {
        return NULL;
    }
    Pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for water");
        return NULL;
    }
    pool->def = *def;
    if (!reserve(pool, error)) {
        pool_destroy(pool);
        return NULL;
    }
    for (u32 c = 0; c < pool_cells(pool); c++) {
        pool->bed[c] = -def->depth_m;
    }
    if (pool->shallow != NULL) {
        shallow_set_bed(pool->shallow, pool->bed);
    }
    pool_clear(pool);
    return pool;
}

void pool_destroy(Pool *pool)
{
    if (pool != NULL) {
        shallow_destroy(pool->shallow);
        wave_destroy(pool->wave);
        free(pool->bed);
        free(pool->held);
        free(pool->wanted);
        free(pool->pushed);
        free(pool->touched);
        free(pool->listed);
        free(pool->pairs);
        free(pool->columns);
        free(pool->bodies);
        free(pool->falls);
        free(pool->foam);
        free(pool->foam_next);
        free(pool->foam_spans);
        free(pool);
    }
}

/* Whether nothing is in the water and no hand holds it. */
static void forget(Pool *pool)
{
    size_t cells = pool_cells(pool);
    memset(pool->held, 0, cells * sizeof(f32));
    memset(pool->wanted, 0, cells * sizeof(f32));
    memset(pool->pushed, 0, cells * 2 * sizeof(f64));
    memset(pool->listed, 0, cells);
    memset(pool->hands, 0, sizeof pool->hands);
    pool->touched_count = pool->hand_end = pool->pair_count = 0;
    pool->column_count = pool->body_count = 0;
    pool->missing = 0.0;
    pool->drawn = 0;
    for (u32 n = 0; n < pool->fall_count; n++) {
        pool->falls[n].owed = 0.0f;
        pool->falls[n].shed = 0;
    }
    pool_foam_clear(pool);
    pool->stats = (PoolStats){.awake = true, .slowed = 1.0f};
}

void pool_clear(Pool *pool)
{
    forget(pool);
    if (pool->wave != NULL) {
        wave_clear(pool->wave);
        return;
    }
    shallow_clear(pool->shallow);
    for (u32 c = 0; c < pool_cells(pool); c++) {
        shallow_set(pool->shallow, c % pool->def.size[0], c / pool->def.size[0], -pool->bed[c],
                    0.0f, 0.0f);
    }
}

bool pool_set_bed(Pool *pool, const f32 *bed)
{
    if (pool->shallow == NULL || !shallow_set_bed(pool->shallow, bed)) {
        return false;
    }
    for (u32 c = 0; c < pool_cells(pool); c++) {
        u32 i = c % pool->def.size[0], k = c / pool->def.size[0];
        f32 level = pool_level(pool, i, k), u, w;
        bool wet = pool_depth(pool, i, k) > 0.0f;
        pool_flow(pool, i, k, &u, &w);
        pool->bed[c] = bed[c];
        shallow_set(pool->shallow, i, k, wet ? level - bed[c] : 0.0f, u, w);
    }
    pool_find_falls(pool);
    return true;
}

f32 pool_bed(const Pool *pool, u32 i, u32 k)
{
    CHECK(i < pool->def.size[0] && k < pool->def.size[1]);
    return pool->bed[(size_t)k * pool->def.size[0] + i];
}

void pool_move_bed(Pool *pool, u32 i, u32 k, f32 height)
{
    if (pool->shallow != NULL && fabsf(height) <= HEIGHTS_LEVEL_MAX_M) {
        pool->bed[(size_t)k * pool->def.size[0] + i] = height;
        shallow_set_bed_at(pool->shallow, i, k, height);
    }
}

void pool_tune(Pool *pool, f32 friction, f32 damping)
{
    PoolDef def = pool->def;
    def.friction = friction;
    def.damping = damping;
#define SOLVER_ROWS
#define ROW_NUMBER(key, member, unit, scale, initial, also, least, most, bears, doc)               \
    def.member = f32_clamp(def.member, (least) * (scale), (bears) * (scale));
#include "shared/rows/water.def"
    CHECK(pool->wave != NULL ? wave_tune(pool->wave, def.damping)
                             : shallow_tune(pool->shallow, def.friction, def.damping));
}

/* ---- discs ---- */

/* Cells whose centre is within `radius` (at least half a cell) of a point: columns and rows [first,
 * end). */
typedef struct Disc {
    u32 first[2], end[2];
    f32 x, z, radius2; /* cells */
} Disc;

static Disc disc_of(const Pool *pool, Vec3 place, f32 radius)
{
    Disc disc;
    f32 cell = pool->def.cell_m, r = f32_max(radius / cell, 0.75f);
    f32 at[2] = {(place.x - pool->def.corner.x) / cell - 0.5f,
                 (place.z - pool->def.corner.z) / cell - 0.5f};
    for (u32 n = 0; n < 2; n++) {
        f32 most = (f32)pool->def.size[n];
        disc.first[n] = (u32)f32_clamp(ceilf(at[n] - r), 0.0f, most);
        disc.end[n] = (u32)f32_clamp(floorf(at[n] + r) + 1.0f, 0.0f, most);
    }
    disc.x = at[0];
    disc.z = at[1];
    disc.radius2 = r * r;
    return disc;
}

static bool in_disc(const Disc *disc, u32 i, u32 k)
{
    f32 x = (f32)i - disc->x, z = (f32)k - disc->z;
    return x * x + z * z <= disc->radius2;
}

/* Cells of a disc, and m³ of water in them. */
static u32 disc_count(const Pool *pool, const Disc *disc, f64 *volume)
{
    u32 count = 0;
    *volume = 0.0;
    for (u32 k = disc->first[1]; k < disc->end[1]; k++) {
        for (u32 i = disc->first[0]; i < disc->end[0]; i++) {
            if (in_disc(disc, i, k)) {
                count++;
                *volume += (f64)pool_depth(pool, i, k);
            }
        }
    }
    *volume *= (f64)pool->def.cell_m * (f64)pool->def.cell_m;
    return count;
}

f64 pool_pour(Pool *pool, Vec3 place, f32 radius, f64 volume)
{
    f64 there, area = (f64)pool->def.cell_m * (f64)pool->def.cell_m, sum = 0.0;
    Disc disc = disc_of(pool, place, radius);
    u32 count = disc_count(pool, &disc, &there);
    if (pool->shallow == NULL || count == 0 || !(fabs(volume) > 0.0)) {
        return 0.0;
    }
    f32 rise = (f32)(volume / (area * count));
    f32 left = there > 0.0 ? (f32)fmax(1.0 + volume / there, 0.0) : 0.0f;
    for (u32 k = disc.first[1]; k < disc.end[1]; k++) {
        for (u32 i = disc.first[0]; i < disc.end[0]; i++) {
            if (!in_disc(&disc, i, k)) {
                continue;
            }
            f32 old = pool_depth(pool, i, k), u, w;
            f32 depth = volume > 0.0 ? old + rise : old * left;
            pool_flow(pool, i, k, &u, &w);
            /* Added water brings no momentum; removed water takes its own. */
            f32 part = depth > old ? old / depth : 1.0f;
            shallow_set(pool->shallow, i, k, depth, u * part, w * part);
            sum += (f64)pool_depth(pool, i, k) - (f64)old;
        }
    }
    return sum * area;
}

void pool_push(Pool *pool, Vec3 place, f32 radius, Vec3 impulse)
{
    f64 there;
    Disc disc = disc_of(pool, place, radius);
    if (disc_count(pool, &disc, &there) == 0 || !(there > 0.0) || !vec3_is_finite(impulse)) {
        return;
    }
    Vec3 change = vec3_scale(impulse, 1.0f / (pool->def.density * (f32)there));
    f32 fast = vec3_length(change);
    change = fast > POOL_PUSH_M_S ? vec3_scale(change, POOL_PUSH_M_S / fast) : change;
    for (u32 k = disc.first[1]; k < disc.end[1]; k++) {
        for (u32 i = disc.first[0]; i < disc.end[0]; i++) {
            if (!in_disc(&disc, i, k)) {
                continue;
            }
            f32 x = (f32)i - disc.x, z = (f32)k - disc.z;
            f32 apart = -change.y / sqrtf(x * x + z * z + 0.25f);
            u32 cell = k * pool->def.size[0] + i;
            if (pool->wave != NULL) {
                wave_add(pool->wave, i, k, 0.0f, change.y);
            } else {
                pool_add(pool, cell, 0.0f, change.x + apart * x, change.z + apart * z);
            }
        }
    }
}

/* Water at rest comes to a cell, or, less than 0, leaves it; returns how much did. */
static f32 add_still(Pool *pool, u32 cell, f32 rise)
{
    u32 i = cell % pool->def.size[0], k = cell / pool->def.size[0];
    if (pool->wave != NULL) {
        return wave_add(pool->wave, i, k, rise, 0.0f);
    }
    f32 old = pool_depth(pool, i, k), depth = old + rise, u, w;
    pool_flow(pool, i, k, &u, &w);
    f32 part = depth > old ? old / depth : 1.0f;
    shallow_set(pool->shallow, i, k, depth, u * part, w * part);
    return rise;
}

f32 pool_drop(Pool *pool, u32 i, u32 k, f32 depth, f32 more)
{
    u32 nx = pool->def.size[0], nz = pool->def.size[1], cell = k * nx + i;
    CHECK(i < nx && k < nz);
    if (depth > 0.0f && i >= 1 && k >= 1 && i + 1 < nx && k + 1 < nz) {
        const u32 around[4] = {cell - 1, cell + 1, cell - nx, cell + nx};
        f32 down = f32_min(depth, 0.5f * pool_depth(pool, i, k)), raised = 0.0f;
        for (u32 n = 0; n < 4; n++) {
            raised += add_still(pool, around[n], 0.25f * down);
        }
        add_still(pool, cell, -raised);
    }
    return more > 0.0f ? add_still(pool, cell, more) : 0.0f;
}

/* ---- hands ---- */

bool pool_hand_grab(Pool *pool, u32 hand, Vec3 place, f32 radius)
{
    if (hand >= POOL_HANDS_MAX || !vec3_is_finite(place) || !(radius > 0.0f)) {
        return false;
    }
    pool->hands[hand] = (PoolHand){place, place, f32_min(radius, 100.0f * pool->def.cell_m), 1};
    pool->hand_end = u32_max(pool->hand_end, hand + 1);
    return true;
}

void pool_hand_drag(Pool *pool, u32 hand, Vec3 target)
{
    if (hand < pool->hand_end && state_vector_is_bounded(target)) {
        pool->hands[hand].target = target;
    }
}

void pool_hand_release(Pool *pool, u32 hand)
{
    if (hand < pool->hand_end) {
        pool->hands[hand] = (PoolHand){0};
        while (pool->hand_end > 0 && pool->hands[pool->hand_end - 1].live == 0) {
            pool->hand_end--;
        }
    }
}

bool pool_hand_holds(const Pool *pool, u32 hand)
{
    return hand < pool->hand_end && pool->hands[hand].live != 0;
}

/* The water near a hand reaches most of its velocity within a tenth of a second. */
static void stir(Pool *pool, PoolHand *hand)
{
    Vec3 way = vec3_sub(hand->target, hand->place);
    f32 length = vec3_length(way), most = POOL_PUSH_M_S * pool->tick_s;
    Vec3 velocity = vec3_scale(way, (length > most ? most / length : 1.0f) / pool->tick_s);
    Disc disc = disc_of(pool, hand->place, hand->radius);
    f32 part = 10.0f * pool->tick_s / (1.0f + 10.0f * pool->tick_s);
    for (u32 k = disc.first[1]; length > 0.0f && k < disc.end[1]; k++) {
        for (u32 i = disc.first[0]; i < disc.end[0]; i++) {
            if (!in_disc(&disc, i, k)) {
                continue;
            }
            f32 u, w, x = (f32)i - disc.x, z = (f32)k - disc.z;
            pool_flow(pool, i, k, &u, &w);
            if (pool->wave != NULL) { /* a bow wave: up in front, down behind */
                f32 ahead = (velocity.x * x + velocity.z * z) / sqrtf(disc.radius2);
                wave_add(pool->wave, i, k, 0.0f, part * ahead);
            } else {
                pool_add(pool, k * pool->def.size[0] + i, 0.0f, part * (velocity.x - u),
                         part * (velocity.z - w));
            }
        }
    }
    hand->place = vec3_add_scaled(hand->place, pool->tick_s, velocity);
}

/* ---- the end of a tick ---- */

void pool_finish(Pool *pool)
{
    pool_displace(pool);
    for (u32 n = 0; n < pool->hand_end; n++) {
        if (pool->hands[n].live != 0) {
            stir(pool, &pool->hands[n]);
        }
    }
    if (pool->wave != NULL) {
        wave_step(pool->wave, pool->tick_s, pool->gravity, pool->jobs);
        WaveSums sums = wave_step_facts(pool->wave);
        pool->stats.slowed = sums.slowed;
        pool->stats.awake = true;
    } else {
        shallow_step(pool->shallow, pool->tick_s, pool->gravity, pool->jobs);
        ShallowStats stats = shallow_stats(pool->shallow);
        pool->stats.slowed = stats.slowed;
        pool->stats.awake = stats.tiles_awake > 0;
        pool_foam_step(pool);
    }
    pool->collider_count = 0;
    pool->stats.caught = 0;
}

void pool_wake(Pool *pool)
{
    if (pool->shallow != NULL) {
        shallow_wake(pool->shallow);
    }
}

/* ---- measurements ---- */

PoolSums pool_sums(const Pool *pool, f32 gravity)
{
    PoolSums sums = {0};
    f64 density = pool->def.density, g = gravity, datum = pool->def.corner.y;
    for (u32 c = 0; c < pool_cells(pool); c++) { /* in order, which `touched` is not */
        sums.displaced += (f64)pool->held[c];
    }
    sums.displaced *= (f64)pool->def.cell_m * (f64)pool->def.cell_m;
    sums.potential = -density * g * pool->missing; /* the grid contains water at the places of
                                                    * bodies */
    if (pool->wave != NULL) {
        WaveSums own = wave_sums(pool->wave);
        sums.volume = own.volume - sums.displaced;
        sums.potential += density * g * own.potential;
        return sums;
    }
    ShallowSums own = shallow_sums(pool->shallow);
    sums.volume = own.volume - sums.displaced;
    sums.kinetic = density * own.kinetic;
    sums.potential += density * g * (own.potential + own.volume * datum);
    sums.momentum[0] = density * own.momentum[0];
    sums.momentum[2] = density * own.momentum[1];
    return sums;
}

void pool_count(Pool *pool)
{
    if (pool->shallow != NULL) {
        shallow_count(pool->shallow, true);
    }
}

static void put(f64 to[3], const f64 from[2], f64 mass)
{
    to[0] = mass * from[0];
    to[2] = mass * from[1];
}

PoolTaken pool_taken(const Pool *pool)
{
    PoolTaken taken = {0};
    if (pool->shallow == NULL) {
        return taken;
    }
    ShallowTaken own = shallow_taken(pool->shallow);
    f64 density = (f64)pool->def.density, weight = density * (f64)pool->gravity;
    for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
        put(taken.sides[side], own.sides[side], density);
    }
    put(taken.bed, own.bed, density);
    put(taken.friction, own.friction, density);
    taken.bed[1] = -weight * (f64)pool->tick_s * shallow_sums(pool->shallow).volume;
    return taken;
}

PoolStats pool_stats(const Pool *pool)
{
    return pool->stats;
}

/* ---- state ---- */

static bool hand_is_good(const PoolHand *hand)
{
    return hand->live <= 1 && state_vector_is_bounded(hand->place) &&
           state_vector_is_bounded(hand->target) && hand->radius >= 0.0f &&
           hand->radius <= STATE_VALUE_MAX;
}

static const char *held_error(const Pool *pool)
{
    f32 most = 2.0f * HEIGHTS_DEPTH_MAX_M;
    for (u32 c = 0; c < pool_cells(pool); c++) {
        if (!(fabsf(pool->bed[c]) <= HEIGHTS_LEVEL_MAX_M)) {
            return "a bed is out of range";
        }
        if (!(pool->held[c] >= -most && pool->held[c] <= most)) {
            return "what a cell displaces is out of range";
        }
    }
    return NULL;
}

const char *pool_validate(const Pool *pool)
{
    const char *wrong = held_error(pool);
    if (wrong == NULL && !(fabs(pool->missing) <= MISSING_MAX_M4)) {
        wrong = "what bodies displace is out of range";
    }
    for (u32 n = 0; n < pool->hand_end && wrong == NULL; n++) {
        wrong = hand_is_good(&pool->hands[n]) ? NULL : "a hand is out of range";
    }
    if (wrong == NULL) {
        wrong = pool->wave != NULL ? wave_validate(pool->wave) : shallow_validate(pool->shallow);
    }
    return wrong;
}

/* Sparse: most cells displace nothing. In the order in which displacements were added, on which
 * rounding depends. */
static void serialize_held(Pool *pool, State *state)
{
    u32 cells = pool_cells(pool), count = pool->touched_count;
    state_count(state, &count, cells);
    for (u32 n = 0; n < count && !state->failed; n++) {
        u32 cell = state->mode == STATE_LOAD ? 0 : pool->touched[n];
        state_bytes(state, &cell, sizeof cell);
        if (cell >= cells || (state->mode == STATE_LOAD && pool->listed[cell] != 0)) {
            state->failed = true;
            return;
        }
        state_bytes(state, &pool->held[cell], sizeof(f32));
        if (state->mode == STATE_LOAD) {
            pool_touch(pool, cell);
        }
    }
}

void pool_serialize(Pool *pool, State *state)
{
    state_part(state, "water");
    if (state->mode == STATE_LOAD) {
        forget(pool);
    }
    state_bytes(state, pool->bed, pool_cells(pool) * sizeof(f32));
    if (state->mode == STATE_LOAD && !state->failed && held_error(pool) != NULL) {
        state->failed = true;
    }
    if (state->mode == STATE_LOAD && !state->failed && pool->shallow != NULL) {
        shallow_set_bed(pool->shallow, pool->bed);
    }
    serialize_held(pool, state);
    state_bytes(state, &pool->missing, sizeof pool->missing);
    pool_serialize_falls(pool, state);
    pool_serialize_foam(pool, state);
    state_count(state, &pool->hand_end, POOL_HANDS_MAX);
    for (u32 n = 0; n < pool->hand_end && !state->failed; n++) {
        state_bytes(state, &pool->hands[n], sizeof pool->hands[n]);
    }
    if (pool->wave != NULL) {
        wave_serialize(pool->wave, state);
    } else {
        shallow_serialize(pool->shallow, state);
    }
    if (state->mode != STATE_LOAD) {
        return;
    }
    state->failed = state->failed || pool_validate(pool) != NULL;
    if (state->failed) {
        for (u32 c = 0; c < pool_cells(pool); c++) {
            pool->bed[c] = -pool->def.depth_m;
        }
        if (pool->shallow != NULL) {
            shallow_set_bed(pool->shallow, pool->bed);
        }
        pool_find_falls(pool);
        pool_clear(pool);
    }
}
