/* wave.c: see wave.h. The level of the step before is overwritten by that of the next. */
#include "server/physics/grid/wave.h"

#include "shared/base/check.h"
#include "shared/base/limits.h"
#include "shared/math/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARGIN = 8,     /* columns before the first cell, and at least as many after the last */
    TILE_ROWS = 32, /* of a job */
    ARRAYS = 2
};
/* (c Δt / Δx)²; stable up to 1/2. */
static const f32 courant2 = 0.45f;

struct Wave {
    WaveDef def;
    u32 stride;
    size_t first; /* index of cell (0, 0) */
    f32 *memory;
    f32 *now, *before; /* [size[1] + 2][stride] m, at two times step_s apart */
    f64 *row_sums;     /* [size[1]] m, of the levels after a step */
    f32 step_s;        /* 0: no step was taken */
    f64 total;         /* m: the required sum of the levels of all cells, minus the actual one: */
    f64 error;
    f32 slowed;
    u32 steps;
    /* Of the step in progress. */
    f32 coupling, keep, add;
};

/* ---- definition ---- */

WaveDef wave_def_default(void)
{
    return (WaveDef){.size = {64, 64}, .cell_m = 0.1f, .depth_m = 1.0f};
}

Error wave_check(const WaveDef *def, ErrorText *error)
{
    Error code = heights_check(def->size, def->cell_m, def->border, error);
    if (code != ERROR_OK) {
        return code;
    }
    if (!(def->depth_m > 0.0f && def->depth_m <= HEIGHTS_DEPTH_MAX_M)) {
        return error_set(error, ERROR_RANGE, "depth is %g m, expected more than 0, to %g",
                         def->depth_m, HEIGHTS_DEPTH_MAX_M);
    }
    if (!(def->damping >= 0.0f && def->damping <= 100.0f)) {
        return error_set(error, ERROR_RANGE, "damping is %g, expected 0 to 100 1/s", def->damping);
    }
    return ERROR_OK;
}

static u32 stride_of(const WaveDef *def)
{
    return ((def->size[0] + 7u) & ~7u) + 2 * MARGIN;
}

static size_t cells_of(const WaveDef *def)
{
    return (size_t)stride_of(def) * (def->size[1] + 2) + 2 * MARGIN;
}

u64 wave_bytes(const WaveDef *def)
{
    return sizeof(Wave) + ARRAYS * cells_of(def) * sizeof(f32) + def->size[1] * sizeof(f64);
}

Wave *wave_create(const WaveDef *def, ErrorText *error)
{
    if (wave_check(def, error) != ERROR_OK) {
        return NULL;
    }
    Wave *wave = calloc(1, sizeof *wave);
    if (wave != NULL) {
        wave->memory = heights_zeros(ARRAYS * cells_of(def));
        wave->row_sums = calloc(def->size[1], sizeof(f64));
    }
    if (wave == NULL || wave->memory == NULL || wave->row_sums == NULL) {
        wave_destroy(wave);
        error_set(error, ERROR_MEMORY, "out of memory for %u x %u cells", def->size[0],
                  def->size[1]);
        return NULL;
    }
    wave->def = *def;
    wave->stride = stride_of(def);
    wave->first = wave->stride + MARGIN;
    wave->now = wave->memory + MARGIN;
    wave->before = wave->now + cells_of(def) - MARGIN;
    wave->slowed = 1.0f;
    return wave;
}

void wave_destroy(Wave *wave)
{
    if (wave != NULL) {
        free(wave->memory);
        free(wave->row_sums);
        free(wave);
    }
}

void wave_clear(Wave *wave)
{
    memset(wave->memory, 0, ARRAYS * cells_of(&wave->def) * sizeof(f32));
    wave->step_s = wave->add = 0.0f;
    wave->total = wave->error = 0.0;
    wave->slowed = 1.0f;
    wave->steps = 0;
}

bool wave_tune(Wave *wave, f32 damping)
{
    WaveDef def = wave->def;
    def.damping = damping;
    if (wave_check(&def, NULL) != ERROR_OK) {
        return false;
    }
    wave->def = def;
    return true;
}

/* ---- cells ---- */

static size_t at_of(const Wave *wave, i32 i, i32 k)
{
    return (size_t)((i64)wave->first + (i64)k * wave->stride + i);
}

const f32 *wave_levels(const Wave *wave, u32 *stride)
{
    *stride = wave->stride;
    return wave->now + wave->first;
}

/* Whether water leaves at a side. */
static bool is_open(const Wave *wave)
{
    bool open = false;
    for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
        open = open || wave->def.border[side] == WATER_ABSORBING;
    }
    return open;
}

/* Fraction of a velocity that a step of that length, s, leaves. */
static f32 keep_of(const Wave *wave, f32 step_s)
{
    return 1.0f / (1.0f + wave->def.damping * step_s);
}

f32 wave_add(Wave *wave, u32 i, u32 k, f32 level, f32 speed)
{
    CHECK(i < wave->def.size[0] && k < wave->def.size[1]);
    size_t at = at_of(wave, (i32)i, (i32)k);
    f32 depth = wave->def.depth_m, old = wave->now[at];
    /* Levels beyond the depth are clipped, and the next step distributes the rest. */
    f32 cut = f32_max(-depth, f32_min(old, depth));
    f32 raised = fabsf(level) <= HEIGHTS_DEPTH_MAX_M ? cut + level : cut;
    raised = f32_max(-depth, f32_min(raised, depth));
    wave->now[at] = raised;
    wave->before[at] += raised - old;
    wave->total += (f64)raised - (f64)cut;
    if (fabsf(speed) <= SPEED_MAX_M_S) {
        f32 kept = wave->before[at];
        wave->before[at] = f32_max(-depth, f32_min(kept - speed * wave->step_s, depth));
        /* The mean level must not change: the next step removes it. */
        f64 keep = (f64)keep_of(wave, wave->step_s);
        f64 rises = keep * ((f64)kept - (f64)wave->before[at]);
        f64 cells = (f64)wave->def.size[0] * wave->def.size[1];
        wave->add -= is_open(wave) ? 0.0f : (f32)(rises / cells);
    }
    return raised - cut;
}

/* ---- borders ---- */

/* Values of `now` beyond closed and periodic sides. */
static void fill_border(const Wave *wave)
{
    i32 nx = (i32)wave->def.size[0], nz = (i32)wave->def.size[1];
    const WaterBorder *border = wave->def.border;
    f32 *h = wave->now;
    for (i32 k = 0; k < nz; k++) {
        size_t a = at_of(wave, 0, k), b = at_of(wave, nx - 1, k);
        if (border[0] != WATER_ABSORBING) {
            h[a - 1] = border[0] == WATER_CLOSED ? h[a] : h[b];
        }
        if (border[1] != WATER_ABSORBING) {
            h[b + 1] = border[1] == WATER_CLOSED ? h[b] : h[a];
        }
    }
    size_t bytes = (size_t)nx * sizeof(f32), a = at_of(wave, 0, 0), b = at_of(wave, 0, nz - 1);
    if (border[2] != WATER_ABSORBING) {
        memcpy(h + a - wave->stride, h + (border[2] == WATER_CLOSED ? a : b), bytes);
    }
    if (border[3] != WATER_ABSORBING) {
        memcpy(h + b + wave->stride, h + (border[3] == WATER_CLOSED ? b : a), bytes);
    }
}

/* Mur: the ghost at the next time follows from its neighbour one step earlier. */
static void absorb(const Wave *wave, size_t inside, size_t outside, f32 mur)
{
    const f32 *now = wave->now;
    f32 *next = wave->before;
    next[outside] = now[inside] + mur * (next[inside] - now[outside]);
}

static void absorb_borders(const Wave *wave)
{
    i32 nx = (i32)wave->def.size[0], nz = (i32)wave->def.size[1];
    const WaterBorder *border = wave->def.border;
    f32 number = sqrtf(wave->coupling), mur = (number - 1.0f) / (number + 1.0f);
    for (i32 k = 0; k < nz; k++) {
        size_t a = at_of(wave, 0, k), b = at_of(wave, nx - 1, k);
        if (border[0] == WATER_ABSORBING) {
            absorb(wave, a, a - 1, mur);
        }
        if (border[1] == WATER_ABSORBING) {
            absorb(wave, b, b + 1, mur);
        }
    }
    for (i32 i = 0; i < nx; i++) {
        size_t a = at_of(wave, i, 0), b = at_of(wave, i, nz - 1);
        if (border[2] == WATER_ABSORBING) {
            absorb(wave, a, a - wave->stride, mur);
        }
        if (border[3] == WATER_ABSORBING) {
            absorb(wave, b, b + wave->stride, mur);
        }
    }
}

/* ---- steps ---- */

SIMD_INLINE f32x8 load_any(const f32 *at)
{
    f32x8 v;
    memcpy(&v, at, sizeof v);
    return v;
}

static void step_row(const Wave *wave, u32 row)
{
    size_t at = at_of(wave, 0, (i32)row), stride = wave->stride;
    const f32 *h = wave->now + at;
    f32 *other = wave->before + at;
    f32x8 coupling = f32x8_set(wave->coupling), keep = f32x8_set(wave->keep);
    f32x8 add = f32x8_set(wave->add), four = f32x8_set(4.0f), sum = f32x8_set(0.0f);
    u32 whole = wave->def.size[0] & ~7u;
    f32 rest = 0.0f;
    for (u32 c = 0; c < wave->def.size[0]; c += SIMD_LANES) {
        f32x8 level = f32x8_load(h + c);
        f32x8 around = (load_any(h + c - 1) + load_any(h + c + 1)) +
                       (f32x8_load(h + c - stride) + f32x8_load(h + c + stride));
        f32x8 next = level + ((level - f32x8_load(other + c)) * keep +
                              ((around - four * level) * coupling + add));
        f32x8_store(other + c, next);
        if (c < whole) {
            sum += next;
        }
    }
    for (u32 c = whole; c < wave->def.size[0]; c++) {
        rest += other[c];
    }
    /* Whole vectors may have written beyond the ghost: cleared. */
    memset(other + wave->def.size[0], 0, (stride - MARGIN - wave->def.size[0]) * sizeof(f32));
    f64 total = rest;
    for (u32 n = 0; n < SIMD_LANES; n++) {
        total += (f64)sum[n];
    }
    wave->row_sums[row] = total;
}

static void step_rows(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    for (u32 row = first; row < end; row++) {
        step_row(context, row);
    }
}

/* Steps of a different length keep the velocities. */
static void change_step(Wave *wave, f32 step_s)
{
    f32 factor = wave->step_s > 0.0f ? step_s / wave->step_s : 1.0f;
    size_t cells = cells_of(&wave->def) - MARGIN;
    for (size_t c = 0; factor != 1.0f && c < cells - MARGIN; c++) {
        wave->before[c] = wave->now[c] - (wave->now[c] - wave->before[c]) * factor;
    }
    wave->step_s = step_s;
}

/* Rounding changes the sum of the levels, and its rate, a little in each step: the next one removes
 * both. */
static void keep_volume(Wave *wave)
{
    f64 sum = 0.0;
    for (u32 k = 0; k < wave->def.size[1]; k++) {
        sum += wave->row_sums[k];
    }
    f64 cells = (f64)wave->def.size[0] * wave->def.size[1];
    wave->total = is_open(wave) ? sum : wave->total;
    f64 error = wave->total - sum;
    wave->add = (f32)((error + wave->keep * (error - wave->error)) / cells);
    wave->error = error;
}

void wave_step(Wave *wave, f32 time_s, f32 gravity, Jobs *jobs)
{
    CHECK(time_s > 0.0f && gravity >= 0.0f);
    f32 cell2 = wave->def.cell_m * wave->def.cell_m, speed2 = gravity * wave->def.depth_m;
    f32 wanted = ceilf(time_s * sqrtf(speed2 / (courant2 * cell2)));
    u32 steps = wanted < (f32)WAVE_STEPS_MAX ? u32_max((u32)wanted, 1) : WAVE_STEPS_MAX;
    f32 h = time_s / (f32)steps, coupling = speed2 * h * h / cell2;
    wave->slowed = coupling > courant2 * 1.001f ? courant2 / coupling : 1.0f;
    wave->coupling = f32_min(coupling, courant2);
    wave->keep = keep_of(wave, h);
    if (h != wave->step_s) {
        change_step(wave, h);
    }
    for (wave->steps = 0; wave->steps < steps; wave->steps++) {
        fill_border(wave);
        jobs_run(jobs, wave->def.size[1], TILE_ROWS, step_rows, wave);
        absorb_borders(wave);
        f32 *done = wave->before;
        wave->before = wave->now;
        wave->now = done;
        keep_volume(wave);
    }
}

/* ---- measurements and state ---- */

WaveSums wave_step_facts(const Wave *wave)
{
    return (WaveSums){.slowed = wave->slowed, .steps = wave->steps};
}

WaveSums wave_sums(const Wave *wave)
{
    WaveSums sums = wave_step_facts(wave);
    i32 nx = (i32)wave->def.size[0], nz = (i32)wave->def.size[1];
    f64 area = (f64)wave->def.cell_m * wave->def.cell_m;
    f64 rate = wave->step_s > 0.0f ? 1.0 / wave->step_s : 0.0;
    for (i32 k = 0; k < nz; k++) {
        for (i32 i = 0; i < nx; i++) {
            size_t at = at_of(wave, i, k);
            f64 h = wave->now[at], old = wave->before[at], v = (h - old) * rate;
            f64 x = i + 1 < nx ? ((f64)wave->now[at + 1] - h) * (wave->before[at + 1] - old) : 0.0;
            size_t up = at + wave->stride;
            f64 z = k + 1 < nz ? ((f64)wave->now[up] - h) * (wave->before[up] - old) : 0.0;
            sums.volume += h * area;
            sums.potential += 0.5 * h * h * area;
            sums.invariant += 0.5 * area * (v * v + wave->coupling * rate * rate * (x + z));
        }
    }
    return sums;
}

static bool is_good(const Wave *wave, f32 level)
{
    return fabsf(level) <= 1e4f * wave->def.depth_m; /* false for NaN */
}

const char *wave_validate(const Wave *wave)
{
    for (u32 k = 0; k < wave->def.size[1]; k++) {
        for (u32 i = 0; i < wave->def.size[0]; i++) {
            size_t at = at_of(wave, (i32)i, (i32)k);
            if (!is_good(wave, wave->now[at]) || !is_good(wave, wave->before[at])) {
                return "a level is out of range";
            }
        }
    }
    return NULL;
}

void wave_serialize(Wave *wave, State *state)
{
    state_part(state, "waves");
    state_bytes(state, &wave->step_s, sizeof wave->step_s);
    state_bytes(state, &wave->add, sizeof wave->add);
    state_bytes(state, &wave->total, sizeof wave->total);
    state_bytes(state, &wave->error, sizeof wave->error);
    f32 *arrays[] = {wave->now, wave->before};
    for (u32 n = 0; n < PL_COUNT(arrays); n++) {
        for (u32 k = 0; k < wave->def.size[1] + 2; k++) { /* with their ghosts */
            state_bytes(state, arrays[n] + at_of(wave, -1, (i32)k - 1),
                        (wave->def.size[0] + 2) * sizeof(f32));
        }
    }
    if (state->mode != STATE_LOAD) {
        return;
    }
    f64 most = 1e4 * wave->def.depth_m * wave->def.size[0] * wave->def.size[1];
    bool good = wave->step_s >= 0.0f && wave->step_s <= 1.0f && is_good(wave, wave->add) &&
                fabs(wave->total) <= most && fabs(wave->error) <= most &&
                wave_validate(wave) == NULL;
    for (i32 k = -1; k <= (i32)wave->def.size[1] && good; k++) {
        for (i32 side = 0; side < 2; side++) {
            size_t at = at_of(wave, side == 0 ? -1 : (i32)wave->def.size[0], k);
            good = good && is_good(wave, wave->now[at]) && is_good(wave, wave->before[at]);
        }
    }
    for (i32 i = 0; i < (i32)wave->def.size[0] && good; i++) {
        for (i32 side = 0; side < 2; side++) {
            size_t at = at_of(wave, i, side == 0 ? -1 : (i32)wave->def.size[1]);
            good = good && is_good(wave, wave->now[at]) && is_good(wave, wave->before[at]);
        }
    }
    state->failed = state->failed || !good;
    if (state->failed) {
        wave_clear(wave);
    }
}
