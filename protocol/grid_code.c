/*
 * grid_code.c: see grid_code.h. One walk over the span serves coding and decoding: each symbol is
 * `code(…, value)`, which returns the value that the other end sees.
 */
#include "protocol/grid_code.h"

#include "protocol/chunk.h"
#include "protocol/grid_symbol.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIT_CELLS = 4096, /* of a span: above it rows are left out of the fits */
    FIT_STEP_MAX = 4,
};

/* ---- tables ---- */

#define CONTEXTS_OF_CELLS                                                                          \
    {                                                                                              \
        SIZES * 9, ROUGHS *COARSE *PHASES, SIGNED2 *SIGNED2 *PHASES                                \
    }
#define CONTEXTS_OF_VOXELS                                                                         \
    {                                                                                              \
        LEVELS *SIZES * 9, ROUGHS3 *LEVELS *COARSE *PHASES, SIGNED3 *SIGNED3 *SIGNED3 *PHASES      \
    }
const u16 grid_contexts[KINDS][INPUTS] = {
    [KIND_SAME] = {16, 64, 64},
    [KIND_BASE] = {4, 17, 1},
    [KIND_OWN] = {16, 8, 1},
    [KIND_WEIGHT] = {128, 512, 16},
    [KIND_EMPTY] = {32, 8, 4},
    [KIND_CELL] = CONTEXTS_OF_CELLS,
    [KIND_CELL + 1] = CONTEXTS_OF_CELLS,
    [KIND_CELL + 2] = CONTEXTS_OF_VOXELS,
    [KIND_CELL + 3] = CONTEXTS_OF_VOXELS,
    [KIND_CHANGED] = {16, 64, 16},
    [KIND_SCALAR] = {33, 33 * 4, 33},
};

void grid_codec_sizes(u32 *rows, u32 *sets)
{
    *rows = 0;
    *sets = FILTER_SETS + GRID_CHANNELS * VOXEL_SETS * MIX_ROW;
    for (u32 kind = 0; kind < KINDS; kind++) {
        for (u32 i = 0; i < INPUTS; i++) {
            *rows += grid_contexts[kind][i];
        }
    }
}

static void begin_tables(MixTables *tables)
{
    i16 *filters = tables->weights;
    memset(filters, 0, FILTERS * PLANE_WEIGHTS * sizeof *filters);
    for (u32 i = FILTER_SETS; i < tables->sets; i++) {
        tables->weights[i * MIX_LANES + MIX_THREE] = 0;
    }
    for (u32 k = 0; k < FILTERS; k++) {
        i16 *space = filters + (size_t)k * PLANE_WEIGHTS + SPACE_AT;
        bool deep = k >= FILTERS / 2;
        space[0] = space[1] = deep ? START_ONE / 3 : START_ONE; /* W + N − NW, or a third of all */
        space[2] = deep ? START_ONE / 3 : -START_ONE;
    }
}

GridCodec *grid_codec_create(const MixTables *start)
{
    GridCodec *codec = calloc(1, sizeof *codec);
    u32 rows, sets;
    if (codec == NULL) {
        return NULL;
    }
    grid_codec_sizes(&rows, &sets);
    CHECK(start == NULL || (start->rows == rows && start->sets == sets));
    codec->own = start == NULL;
    if (codec->own && mix_tables_create(&codec->start, rows, sets)) {
        begin_tables(&codec->start);
        start = &codec->start;
    }
    if (start == NULL || !mix_create(&codec->mix, start)) {
        grid_codec_destroy(codec);
        return NULL;
    }
    mix_three_reset(&codec->mix);
    u32 row = 0;
    for (u32 kind = 0; kind < KINDS; kind++) {
        for (u32 i = 0; i < INPUTS; i++) {
            codec->row[kind][i] = row;
            row += grid_contexts[kind][i];
        }
    }
    return codec;
}

void grid_codec_destroy(GridCodec *codec)
{
    if (codec != NULL) {
        mix_destroy(&codec->mix);
        mix_tables_destroy(&codec->start);
        free(codec->boxes);
        free(codec->where);
        free(codec->same);
        free(codec->bases);
        free(codec->foretold);
        free(codec->seen);
        free(codec->errors);
        free(codec);
    }
}

void grid_codec_learn(GridCodec *codec, bool learn)
{
    codec->learns = learn;
}

const MixTables *grid_codec_tables(const GridCodec *codec)
{
    return &codec->mix.now;
}

/* ---- the span ---- */

static bool grow(void **memory, size_t bytes)
{
    void *more = realloc(*memory, bytes);
    if (more != NULL) {
        *memory = more;
    }
    return more != NULL;
}

static bool reserve(GridCodec *codec, u32 chunks, u32 field_chunks, size_t elements)
{
    if (chunks > codec->chunk_room) {
        if (!grow((void **)&codec->boxes, chunks * sizeof *codec->boxes) ||
            !grow((void **)&codec->same, chunks * sizeof *codec->same) ||
            !grow((void **)&codec->bases, chunks * sizeof *codec->bases)) {
            return false;
        }
        codec->chunk_room = chunks;
    }
    if (field_chunks > codec->field_room) {
        if (!grow((void **)&codec->where, field_chunks * sizeof *codec->where)) {
            return false;
        }
        memset(codec->where, 0xFF, field_chunks * sizeof *codec->where);
        codec->field_room = field_chunks;
    }
    if (elements > codec->element_room) {
        if (!grow((void **)&codec->foretold, elements * sizeof *codec->foretold) ||
            !grow((void **)&codec->seen, elements * sizeof *codec->seen) ||
            !grow((void **)&codec->errors, elements * sizeof *codec->errors)) {
            return false;
        }
        codec->element_room = elements;
    }
    return true;
}

bool grid_codec_reserve(GridCodec *codec, const FieldDesc *field)
{
    u32 chunks = chunk_count(field);
    bool grid = field->kind != FIELD_SCALARS;
    return reserve(codec, grid ? chunks : 0, grid ? chunks : 0,
                   grid ? (size_t)field->capacity * field->channels : 0);
}

size_t grid_span_bytes(const GridSpan *span)
{
    size_t bytes = 0;
    for (u32 i = 0; i < span->count; i++) {
        bytes += chunk_state_bytes(span->field, span->chunks[i]);
    }
    return bytes;
}

static bool begin_span(GridCodec *codec, const GridSpan *span)
{
    GridPlan *plan = &codec->plan;
    size_t bytes = grid_span_bytes(span);
    if (!reserve(codec, span->count, chunk_count(span->field),
                 bytes / (field_element_bytes(span->field) / span->field->channels))) {
        return false;
    }
    grid_plan_begin(plan, span->field);
    plan->boxes = codec->boxes;
    plan->where = codec->where;
    plan->count = span->count;
    for (u32 k = 0; k < span->count; k++) {
        GridBox box = grid_plan_box(plan, span->chunks[k]);
        box.offset = plan->elements;
        plan->elements += (u32)box.size[0] * box.size[1] * box.size[2];
        codec->boxes[k] = box;
        codec->where[span->chunks[k]] = k;
    }
    codec->known = 0;
    while (codec->known < GRID_STATES && span->state[codec->known] != NULL) {
        codec->known++;
    }
    memset(codec->errors, 0, (size_t)plan->elements * plan->channels * sizeof *codec->errors);
    return true;
}

static void end_span(GridCodec *codec, const GridSpan *span)
{
    for (u32 k = 0; k < span->count; k++) {
        codec->where[span->chunks[k]] = UINT32_MAX;
    }
}

static u32 box_elements(const GridBox *box)
{
    return (u32)box->size[0] * box->size[1] * box->size[2];
}

static GridPicture picture_of(const GridPlan *plan, const void *state, u32 channel)
{
    return (GridPicture){state, plan->kind == FIELD_GRID3 ? GRID_FROM_U8 : GRID_FROM_U16,
                         plan->channels, channel};
}

static i32 value_of(const GridPlan *plan, const void *state, size_t i)
{
    return plan->kind == FIELD_GRID3 ? ((const u8 *)state)[i] : ((const u16 *)state)[i];
}

static void set_value(const GridPlan *plan, void *state, size_t i, i32 value)
{
    if (plan->kind == FIELD_GRID3) {
        ((u8 *)state)[i] = (u8)value;
    } else {
        ((u16 *)state)[i] = (u16)value;
    }
}

static bool in_span(const GridPlan *plan, const GridBox *box, i32 x, i32 y, i32 z)
{
    i32 at[3] = {box->at[0] + x, box->at[1] + y, box->at[2] + z};
    for (u32 axis = 0; axis < 3; axis++) {
        if (at[axis] < 0 || at[axis] >= (i32)plan->across[axis]) {
            return false;
        }
    }
    u32 chunk = (u32)at[0] + plan->across[0] * ((u32)at[1] + plan->across[1] * (u32)at[2]);
    return plan->where[chunk] != UINT32_MAX;
}

/* ---- which chunks are as they were ---- */

static const u8 *bytes_at(const GridCodec *codec, const void *state, const GridBox *box)
{
    u32 each = (codec->plan.kind == FIELD_GRID3 ? 1 : 2) * codec->plan.channels;
    return (const u8 *)state + (size_t)box->offset * each;
}

/* 0: not in the span, 1: it changed, 2: it did not. */
static u32 neighbour_same(const GridCodec *codec, const GridBox *box, i32 x, i32 y, i32 z)
{
    const GridPlan *plan = &codec->plan;
    if (!in_span(plan, box, x, y, z)) {
        return 0;
    }
    u32 chunk = (u32)(box->at[0] + x) +
                plan->across[0] * ((u32)(box->at[1] + y) + plan->across[1] * (u32)(box->at[2] + z));
    return 1u + codec->same[plan->where[chunk]];
}

static bool is_zero(const u8 *bytes, size_t n)
{
    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

static bool same_as(const u8 *a, const u8 *b, size_t n)
{
    return b != NULL ? memcmp(a, b, n) == 0 : is_zero(a, n);
}

static void code_same(GridCodec *codec, const GridSpan *span, u8 *now)
{
    const GridPlan *plan = &codec->plan;
    u32 each = (plan->kind == FIELD_GRID3 ? 1 : 2) * plan->channels;
    u32 deep = plan->kind == FIELD_GRID3;
    for (u32 k = 0; k < plan->count; k++) {
        const GridBox *box = &plan->boxes[k];
        size_t bytes = (size_t)box_elements(box) * each;
        const u8 *a = codec->known > 0 ? bytes_at(codec, span->state[0], box) : NULL;
        const u8 *b = codec->known > 1 ? bytes_at(codec, span->state[1], box) : NULL;
        u8 *to = now + (size_t)box->offset * each;
        u32 rested = codec->known > 1 ? 1u + (u32)same_as(a, b, bytes) : 0;
        u32 zero = a == NULL || is_zero(a, bytes);
        u32 west = neighbour_same(codec, box, -1, 0, 0),
            north = neighbour_same(codec, box, 0, -1, 0);
        u32 under = deep != 0 ? neighbour_same(codec, box, 0, 0, -1) : 0;
        u32 state = rested * 4 + zero * 2 + deep;
        const u32 c[INPUTS] = {state, (west * 4 + north) * 4 + under, state * 4 + west};
        take(codec, KIND_SAME, c);
        u32 same = codec->mix.coder.decoding ? 0 : same_as(to, a, bytes);
        same = code_bit(codec, 0, same);
        codec->same[k] = (u8)same;
        if (same != 0 && codec->mix.coder.decoding) {
            if (a != NULL) {
                memcpy(to, a, bytes);
            } else {
                memset(to, 0, bytes);
            }
        }
    }
}

/* ---- filters ---- */

/* Where the starting filters of a channel are among the weights of the tables. */
static size_t start_at(const GridCodec *codec, u32 channel)
{
    u32 deep = codec->plan.kind == FIELD_GRID3;
    u32 k = (deep * GRID_CHANNELS + channel) * (GRID_STATES + 1) + codec->known;
    return (size_t)k * PLANE_WEIGHTS;
}

/* The starting filter in 256ths. */
static void get_start(const GridCodec *codec, u32 channel, u32 at, u32 count, i32 *weights)
{
    const MixTables *tables = codec->learns ? &codec->mix.now : codec->mix.start;
    const i16 *start = tables->weights + start_at(codec, channel) + at;
    for (u32 k = 0; k < count; k++) {
        weights[k] = (start[k] + 4) >> 3;
    }
}

/* Codes the weights of a filter, which the encoder has fitted. */
static void code_filter(GridCodec *codec, u32 channel, u32 at, u32 count, bool own)
{
    i32 *weights = codec->filters[channel] + at, start[GRID_SPACE_MAX];
    u32 deep = codec->plan.kind == FIELD_GRID3, plane = deep * 2 + channel, last = 0;
    const u32 which[INPUTS] = {plane * 4 + codec->known, (u32)(at == SPACE_AT) * 4 + plane};
    get_start(codec, channel, at, count, start);
    take(codec, KIND_OWN, which);
    bool sent = code_bit(codec, at == SPACE_AT, own) != 0;
    for (u32 k = 0; k < count; k++) {
        if (!sent) {
            weights[k] = start[k];
            continue;
        }
        const u32 c[INPUTS] = {plane * PLANE_WEIGHTS + at + k,
                               (plane * 4 + codec->known) * PLANE_WEIGHTS + at + k, last};
        take(codec, KIND_WEIGHT, c);
        i32 off = code_signed(codec, weights[k] - start[k]);
        i64 made = (i64)start[k] + off;
        weights[k] = (i32)(made > GRID_WEIGHT_MAX    ? GRID_WEIGHT_MAX
                           : made < -GRID_WEIGHT_MAX ? -GRID_WEIGHT_MAX
                                                     : made);
        last = logarithm(size_of(off), 15);
        if (codec->learns) {
            i16 *learned = codec->mix.now.weights + start_at(codec, channel) + at + k;
            i32 step = weights[k] * 8 - *learned;
            *learned = (i16)(*learned + step / (1 << LEARNED_SHIFT) + (step > 0) - (step < 0));
        }
    }
}

static void fill_states(GridCodec *codec, const GridSpan *span, u32 k, u32 channel)
{
    const GridPlan *plan = &codec->plan;
    for (u32 s = 0; s < codec->known; s++) {
        GridPicture picture = picture_of(plan, span->state[s], channel);
        grid_block_fill(plan, k, &picture, plan->rim, &codec->states[s]);
    }
}

/* Of rows: some thousand cells say as well what the weights are. Most voxels are empty. */
static u32 fit_step(const GridCodec *codec)
{
    u32 cells = 0;
    for (u32 k = 0; k < codec->plan.count && codec->plan.kind == FIELD_GRID2; k++) {
        cells += codec->same[k] == 0 ? box_elements(&codec->plan.boxes[k]) : 0;
    }
    return u32_min(1 + cells / FIT_CELLS, FIT_STEP_MAX);
}

static bool fit_time(GridCodec *codec, const GridSpan *span, const u8 *now, u32 channel)
{
    const GridPlan *plan = &codec->plan;
    GridFit *fit = &codec->fit;
    u32 count = grid_time_count(plan, codec->known), wide = plan->edge[0];
    u32 step = fit_step(codec);
    grid_fit_begin(fit, count, wide, step);
    for (u32 k = 0; k < plan->count; k++) {
        const GridBox *box = &plan->boxes[k];
        if (codec->same[k] != 0) {
            continue;
        }
        fill_states(codec, span, k, channel);
        for (u32 row = k % step; row < (u32)box->size[1] * box->size[2]; row += step) {
            size_t i = box->offset + row * box->size[0];
            u32 y = row % box->size[1], z = row / box->size[1];
            i32 features[GRID_TIME_MAX][16];
            grid_time_row(plan, codec->states, codec->known, y, z, features);
            const i32 *a = codec->states[0].at + plan->origin + y * plan->row + z * plan->layer;
            for (u32 f = 0; f < count; f++) {
                memcpy(grid_fit_row(fit, f), features[f], wide * sizeof(i32));
            }
            i32 *target = grid_fit_row(fit, count);
            for (u32 x = 0; x < box->size[0]; x++, i++) {
                target[x] = value_of(plan, now, i * plan->channels + channel) - a[x];
            }
            grid_fit_push(fit, box->size[0]);
        }
    }
    i32 start[GRID_SPACE_MAX];
    get_start(codec, channel, TIME_AT, count, start);
    return grid_fit_solve(fit, start, codec->filters[channel] + TIME_AT);
}

/* A chunk that stays, or of which no state is known. */
static void flat_chunk(const GridCodec *codec, const u8 *now, u32 k, u32 channel, const i32 *bases,
                       i32 *restrict to)
{
    const GridPlan *plan = &codec->plan;
    u32 n = box_elements(&plan->boxes[k]), step = plan->channels;
    size_t from = (size_t)plan->boxes[k].offset * step + channel;
    if (codec->same[k] == 0) {
        for (u32 i = 0; i < n; i++) {
            to[i] = bases[k] << GRID_FRACTION;
        }
    } else if (plan->kind == FIELD_GRID3) {
        for (u32 i = 0; i < n; i++) {
            to[i] = now[from + (size_t)i * step] << GRID_FRACTION;
        }
    } else {
        const u16 *values = (const u16 *)(const void *)now;
        for (u32 i = 0; i < n; i++) {
            to[i] = values[from + (size_t)i * step] << GRID_FRACTION;
        }
    }
}

/* The picture that is foretold from the states: of chunks that stay it is what they are. */
static void foretell(GridCodec *codec, const GridSpan *span, const u8 *now, const i32 *bases,
                     u32 channel)
{
    const GridPlan *plan = &codec->plan;
    i32 *out = codec->foretold + (size_t)channel * plan->elements;
    for (u32 k = 0; k < plan->count; k++) {
        const GridBox *box = &plan->boxes[k];
        u32 rows = (u32)box->size[1] * box->size[2];
        i32 *to = out + box->offset;
        if (codec->same[k] != 0 || codec->known == 0) {
            flat_chunk(codec, now, k, channel, bases, to);
            continue;
        }
        fill_states(codec, span, k, channel);
        for (u32 row = 0; row < rows; row++) {
            i32 made[16];
            grid_time_foretell(plan, codec->states, codec->known, row % box->size[1],
                               row / box->size[1], codec->filters[channel] + TIME_AT, made);
            memcpy(to + row * box->size[0], made, box->size[0] * sizeof *to);
        }
    }
    memcpy(codec->seen + (size_t)channel * plan->elements, out, plan->elements * sizeof *out);
}

static u32 space_rim(const GridPlan *plan)
{
    return plan->kind == FIELD_GRID3 ? 1 : 2;
}

/* times × v − t of a row of 8 or 16. */
static void less(const i32 *v, i32 times, const i32 *t, u32 wide, i32 *restrict out)
{
    if (wide == CHUNK_CELLS_EDGE) {
        for (u32 x = 0; x < CHUNK_CELLS_EDGE; x++) {
            out[x] = v[x] * times - t[x];
        }
    } else {
        for (u32 x = 0; x < CHUNK_VOXELS_EDGE; x++) {
            out[x] = v[x] * times - t[x];
        }
    }
}

static bool fit_space(GridCodec *codec, const u8 *now, u32 channel)
{
    const GridPlan *plan = &codec->plan;
    GridFit *fit = &codec->fit;
    i32 coded[GRID_SPACE_MAX], around[GRID_SPACE_MAX];
    u32 before = grid_space_coded(plan, coded), beside = grid_space_around(plan, around);
    u32 count = before + beside + channel, wide = plan->edge[0];
    GridPicture picture = {codec->foretold + (size_t)channel * plan->elements, GRID_FROM_I32, 1, 0};
    GridPicture values = picture_of(plan, now, channel);
    u32 step = fit_step(codec);
    grid_fit_begin(fit, count, wide, step);
    for (u32 k = 0; k < plan->count; k++) {
        const GridBox *box = &plan->boxes[k];
        if (codec->same[k] != 0) {
            continue;
        }
        grid_block_fill(plan, k, &picture, space_rim(plan), &codec->picture);
        grid_block_fill(plan, k, &values, space_rim(plan), &codec->coded);
        for (u32 row = k % step; row < (u32)box->size[1] * box->size[2]; row += step) {
            size_t i = box->offset + row * box->size[0];
            u32 at =
                plan->origin + row % box->size[1] * plan->row + row / box->size[1] * plan->layer;
            const i32 *t = codec->picture.at + at, *v = codec->coded.at + at;
            for (u32 f = 0; f < before; f++) {
                i32 *out = grid_fit_row(fit, f);
                less(v + coded[f], 16, t, wide, out);
            }
            for (u32 f = 0; f < beside; f++) {
                i32 *out = grid_fit_row(fit, before + f);
                less(t + around[f], 1, t, wide, out);
            }
            i32 *target = grid_fit_row(fit, count);
            less(v, 16, t, wide, target);
            if (channel > 0) {
                i32 *out = grid_fit_row(fit, count - 1);
                for (u32 x = 0; x < box->size[0]; x++) {
                    out[x] =
                        value_of(plan, now, (i + x) * plan->channels) * 16 - codec->foretold[i + x];
                }
            }
            grid_fit_push(fit, box->size[0]);
        }
    }
    i32 start[GRID_SPACE_MAX];
    get_start(codec, channel, SPACE_AT, count, start);
    return grid_fit_solve(fit, start, codec->filters[channel] + SPACE_AT);
}

/* ---- cells ---- */

/* What a row of cells is foretold from and coded by, but for what comes from its own cells. */
typedef struct Row {
    i32 *seen;          /* [−2..] in the block, 16 × value of what is coded */
    i32 *missed;        /* errors, 16ths */
    const i32 *picture; /* foretold in time */
    u32 sums[16];       /* of the filter in space, 256ths */
    u32 rough[16];      /* classes of roughness of the picture */
    u32 errors[16];     /* around, but for the cell before */
} Row;

/* What lies beside the row in no chunk that is coded: as far off as the nearest that is. */
static void mend_row(const GridCodec *codec, Row *row, u32 y, u32 nx, bool west)
{
    i32 up = -(i32)codec->plan.row, last = (i32)nx - 1;
    if (!west) {
        i32 off = row->seen[up] - row->picture[up];
        row->seen[-1] = row->picture[-1] + off;
        row->missed[-1] = row->missed[up];
        if (codec->plan.kind == FIELD_GRID2) {
            row->seen[-2] = row->picture[-2] + off;
        }
    }
    if (y > 0) {
        i32 off = row->seen[up + last] - row->picture[up + last];
        row->seen[up + (i32)nx] = row->picture[up + (i32)nx] + off;
        row->missed[up + (i32)nx] = row->missed[up + last];
    }
}

static u32 absolute(i32 v)
{
    return v < 0 ? 0u - (u32)v : (u32)v;
}

/* All that does not depend on the cells of the row itself. The features of what lies in the same
 * row are the first, and for grids of two dimensions the fifth. */
static void begin_row(const GridCodec *codec, Row *row, u32 channel)
{
    const GridPlan *plan = &codec->plan;
    i32 coded[GRID_SPACE_MAX], around[GRID_SPACE_MAX], up = -(i32)plan->row;
    i32 under = -(i32)plan->layer;
    u32 before = grid_space_coded(plan, coded), beside = grid_space_around(plan, around);
    const i32 *w = codec->filters[channel] + SPACE_AT, *t = row->picture;
    bool deep = plan->kind == FIELD_GRID3;
    u32 wide = plan->edge[0];
    memset(row->sums, 0, sizeof row->sums);
    for (u32 f = 1; f < before; f++) {
        for (u32 x = 0; x < wide && coded[f] != -2; x++) {
            row->sums[x] += (u32)w[f] * (u32)(row->seen[(i32)x + coded[f]] - t[x]);
        }
    }
    for (u32 f = 0; f < beside; f++) {
        for (u32 x = 0; x < wide; x++) {
            row->sums[x] += (u32)w[before + f] * (u32)(t[(i32)x + around[f]] - t[x]);
        }
    }
    for (u32 x = 0; x < wide; x++) {
        i32 s = (i32)x;
        u32 e = 2 * absolute(row->missed[s + up]) + absolute(row->missed[s + up + 1]);
        if (deep) {
            row->errors[x] = e + 2 * absolute(row->missed[s + under]);
            row->rough[x] = (absolute(t[s - 1] - t[x]) + absolute(t[s + 1] - t[x]) +
                             absolute(t[s + up] - t[x]) + absolute(t[s - up] - t[x]) +
                             absolute(t[s + under] - t[x]) + absolute(t[s - under] - t[x]));
        } else {
            row->errors[x] = e + absolute(row->missed[s + up - 1]);
            row->rough[x] = (absolute(t[s - 1] + t[s + 1] - 2 * t[x]) +
                             absolute(t[s + up] + t[s - up] - 2 * t[x]));
        }
    }
    for (u32 x = 0; x < wide; x++) {
        row->rough[x] = half_octaves(row->rough[x] / 4, ROUGHS - 1);
    }
}

static inline void take_cell(GridCodec *codec, u32 kind, const Row *row, u32 x, i32 foretold,
                             i32 off)
{
    u32 distance = absolute(off), phase = u32_min(distance / 2, PHASES - 1);
    bool deep = codec->plan.kind == FIELD_GRID3;
    i32 s = (i32)x, up = -(i32)codec->plan.row, under = -(i32)codec->plan.layer;
    i32 west = row->missed[s - 1], north = row->missed[s + up];
    u32 size = half_octaves(row->errors[x] + 2 * absolute(west), SIZES - 1);
    u32 coarse = u32_min((size + 1) / 3, COARSE - 1);
    if (off < 0) { /* the same, seen in a mirror */
        west = -west;
        north = -north;
    }
    if (deep) {
        i32 below = off < 0 ? -row->missed[s + under] : row->missed[s + under];
        u32 level = u32_min((u32)(foretold + 8) >> GRID_FRACTION, LEVELS - 1);
        u32 signs = (signed_class(west, 2, 1) * SIGNED3 + signed_class(north, 2, 1)) * SIGNED3 +
                    signed_class(below, 2, 1);
        const u32 c[INPUTS] = {(level * SIZES + size) * 9 + distance,
                               ((row->rough[x] / 2 * LEVELS + level) * COARSE + coarse) * PHASES +
                                   phase,
                               signs * PHASES + phase};
        take(codec, kind, c);
        codec->set = FILTER_SETS + ((kind - KIND_CELL - 2) * VOXEL_SETS + coarse) * MIX_ROW;
        return;
    }
    const u32 c[INPUTS] = {
        size * 9 + distance, (row->rough[x] * COARSE + coarse) * PHASES + phase,
        (signed_class(west, 4, 2) * SIGNED2 + signed_class(north, 4, 2)) * PHASES + phase};
    take(codec, kind, c);
}

/* Is the row of voxels all zero? Asked where nothing near it is anything else. */
static bool may_be_empty(const GridCodec *codec, const Row *row, u32 nx)
{
    i32 up = -(i32)codec->plan.row, under = -(i32)codec->plan.layer, any = row->seen[-1];
    for (i32 x = 0; x < (i32)nx; x++) {
        any |= row->picture[x] | row->picture[x + up] | row->picture[x - up] |
               row->picture[x + under] | row->picture[x - under];
        any |= row->seen[x + up] | row->seen[x + under];
    }
    return any == 0;
}

static bool code_empty(GridCodec *codec, const Row *row, u32 nx, u32 channel, const u8 *now)
{
    i32 near = row->picture[-1] | row->picture[(i32)nx];
    i32 up = -(i32)codec->plan.row, under = -(i32)codec->plan.layer;
    i32 farther = 0;
    for (i32 x = -1; x <= (i32)nx; x++) {
        farther |= row->picture[x + up + under] | row->picture[x + up - under] |
                   row->picture[x - up + under] | row->picture[x - up - under];
    }
    u32 context = channel * 4 + (u32)(near != 0) * 2 + (farther != 0);
    u32 sides = (u32)(row->seen[up - 1] != 0) * 2 + (row->seen[under - 1] != 0);
    const u32 c[INPUTS] = {context * 4 + sides, context, codec->known};
    take(codec, KIND_EMPTY, c);
    bool empty = false;
    if (!codec->mix.coder.decoding) {
        empty = true;
        for (u32 x = 0; x < nx; x++) {
            empty = empty && now[x * codec->plan.channels + channel] == 0;
        }
    }
    return code_bit(codec, 0, empty) != 0;
}

/* Codes a row of cells, the first of which is element `i` of the span. */
static void code_row(GridCodec *codec, Row *row, u32 nx, size_t i, u32 channel, u8 *now)
{
    const GridPlan *plan = &codec->plan;
    bool deep = plan->kind == FIELD_GRID3, decoding = codec->mix.coder.decoding;
    u32 kind = KIND_CELL + 2 * deep + channel, beside = deep ? 9 + 6 : 6 + 8;
    const i32 *w = codec->filters[channel] + SPACE_AT;
    u32 west = (u32)w[0], farther = deep ? 0 : (u32)w[4];
    const i32 *other = codec->seen + i, *other_foretold = codec->foretold + i;
    i32 highest = plan->most << GRID_FRACTION;
    begin_row(codec, row, channel);
    for (u32 x = 0; x < nx; x++) {
        i32 s = (i32)x, t = row->picture[x];
        u32 sum = row->sums[x] + west * (u32)(row->seen[s - 1] - t);
        if (!deep) {
            sum += farther * (u32)(row->seen[s - 2] - t);
        }
        if (channel > 0) {
            sum += (u32)w[beside] * (u32)(other[x] - other_foretold[x]);
        }
        i32 foretold = t + ((i32)(sum + 128) >> GRID_COARSE);
        foretold = foretold < 0 ? 0 : foretold > highest ? highest : foretold;
        i32 base = (foretold + 8) >> GRID_FRACTION, phase = foretold - base * 16;
        bool flip = phase < 0;
        take_cell(codec, kind, row, x, foretold, phase);
        size_t at = (i + x) * plan->channels + channel;
        i32 off = decoding ? 0 : value_of(plan, now, at) - base;
        off = code_signed(codec, flip ? -off : off);
        i64 value = base + (i64)(flip ? -(i64)off : off);
        value = value < 0 ? 0 : value > plan->most ? plan->most : value;
        row->seen[x] = (i32)value * 16;
        i32 missed = row->seen[x] - foretold;
        row->missed[x] = missed > ERROR_MAX ? ERROR_MAX : missed < -ERROR_MAX ? -ERROR_MAX : missed;
        if (decoding) {
            set_value(plan, now, at, (i32)value);
        }
    }
}

static void code_chunk(GridCodec *codec, u32 k, u32 channel, u8 *now)
{
    const GridPlan *plan = &codec->plan;
    const GridBox *box = &plan->boxes[k];
    size_t plane = (size_t)channel * plan->elements;
    u32 rim = space_rim(plan), nx = box->size[0];
    GridPicture picture = {codec->foretold + plane, GRID_FROM_I32, 1, 0};
    GridPicture seen = {codec->seen + plane, GRID_FROM_I32, 1, 0};
    GridPicture missed = {codec->errors + plane, GRID_FROM_I16, 1, 0};
    grid_block_fill(plan, k, &picture, rim, &codec->picture);
    grid_block_fill(plan, k, &seen, rim, &codec->coded);
    grid_block_fill(plan, k, &missed, rim, &codec->missed);
    bool west = in_span(plan, box, -1, 0, 0), deep = plan->kind == FIELD_GRID3;
    size_t i = box->offset;
    for (u32 n = 0; n < (u32)box->size[1] * box->size[2]; n++, i += nx) {
        u32 y = n % box->size[1],
            at = plan->origin + y * plan->row + n / box->size[1] * plan->layer;
        Row row = {.seen = codec->coded.at + at,
                   .missed = codec->missed.at + at,
                   .picture = codec->picture.at + at};
        mend_row(codec, &row, y, nx, west);
        if (deep && may_be_empty(codec, &row, nx) &&
            code_empty(codec, &row, nx, channel, now + i * plan->channels)) {
            if (codec->mix.coder.decoding) {
                for (u32 x = 0; x < nx; x++) {
                    set_value(plan, now, (i + x) * plan->channels + channel, 0);
                }
            }
            memset(row.seen, 0, nx * sizeof *row.seen);
            memset(row.missed, 0, nx * sizeof *row.missed);
        } else {
            code_row(codec, &row, nx, i, channel, now);
        }
        for (u32 x = 0; x < nx; x++) {
            codec->seen[plane + i + x] = row.seen[x];
            codec->errors[plane + i + x] = (i16)row.missed[x];
        }
    }
}

/* What the cells of a chunk of which nothing is known are measured from. */
static void code_bases(GridCodec *codec, u8 *now, u32 channel, i32 *bases)
{
    const GridPlan *plan = &codec->plan;
    i32 before = 0;
    u32 last = 0, deep = plan->kind == FIELD_GRID3;
    for (u32 k = 0; k < plan->count; k++) {
        const GridBox *box = &plan->boxes[k];
        if (codec->same[k] != 0) {
            continue;
        }
        i64 sum = 0, least = plan->most;
        u32 n = box_elements(box);
        for (u32 i = 0; i < n && !codec->mix.coder.decoding; i++) {
            i32 value = value_of(plan, now, (box->offset + i) * plan->channels + channel);
            sum += value;
            least = value < least ? value : least;
        }
        i32 base = deep != 0 ? (i32)least : (i32)((sum + n / 2) / n);
        const u32 c[INPUTS] = {deep * 2 + channel, last};
        take(codec, KIND_BASE, c);
        i32 off = code_signed(codec, base - before);
        i64 made = (i64)before + off;
        before = (i32)(made < 0 ? 0 : made > plan->most ? plan->most : made);
        bases[k] = before;
        last = logarithm(size_of(off), 16);
    }
}

static bool too_long(const GridCodec *codec)
{
    return !codec->mix.coder.decoding && codec->mix.coder.failed;
}

static void code_grid(GridCodec *codec, const GridSpan *span, u8 *now)
{
    const GridPlan *plan = &codec->plan;
    bool decoding = codec->mix.coder.decoding;
    i32 *bases = codec->bases;
    code_same(codec, span, now);
    for (u32 channel = 0; channel < plan->channels; channel++) {
        if (codec->known > 0) {
            bool own = !decoding && fit_time(codec, span, now, channel);
            code_filter(codec, channel, TIME_AT, grid_time_count(plan, codec->known), own);
        } else {
            code_bases(codec, now, channel, bases);
        }
        foretell(codec, span, now, bases, channel);
        i32 offsets[GRID_SPACE_MAX];
        u32 count = grid_space_coded(plan, offsets) + grid_space_around(plan, offsets) + channel;
        bool own = !decoding && fit_space(codec, now, channel);
        code_filter(codec, channel, SPACE_AT, count, own);
    }
    for (u32 k = 0; k < plan->count && !too_long(codec); k++) {
        for (u32 channel = 0; channel < plan->channels && codec->same[k] == 0; channel++) {
            code_chunk(codec, k, channel, now);
        }
    }
}

/* ---- both ends ---- */

static bool span_is_sane(const GridSpan *span)
{
    bool sane = span->field->kind >= FIELD_GRID2 && span->field->kind <= FIELD_SCALARS;
    u32 chunks = chunk_count(span->field);
    for (u32 i = 0; sane && i < span->count; i++) {
        sane = span->chunks[i] < chunks && (i == 0 || span->chunks[i] > span->chunks[i - 1]);
    }
    return sane;
}

static bool walk(GridCodec *codec, const GridSpan *span, void *now)
{
    CHECK(span_is_sane(span));
    if (!codec->learns) {
        mix_reset(&codec->mix);
        mix_three_reset(&codec->mix);
    }
    if (span->count == 0) {
        return true;
    }
    if (span->field->kind == FIELD_SCALARS) {
        codec->known = 0;
        while (codec->known < GRID_STATES && span->state[codec->known] != NULL) {
            codec->known++;
        }
        grid_code_scalars(codec, span, now, (u32)(grid_span_bytes(span) / sizeof(u32)));
        return true;
    }
    if (!begin_span(codec, span)) {
        return false;
    }
    code_grid(codec, span, now);
    end_span(codec, span);
    return true;
}

u32 grid_encode(GridCodec *codec, const GridSpan *span, const void *now, u8 *out, u32 room)
{
    range_encode_begin(&codec->mix.coder, out, room);
    /* While it encodes, the walk writes only what it has read. */
    if (!walk(codec, span, (void *)(size_t)now)) {
        return 0;
    }
    return range_encode_end(&codec->mix.coder);
}

bool grid_decode(GridCodec *codec, const GridSpan *span, const u8 *code, u32 bytes, void *now)
{
    memset(now, 0, grid_span_bytes(span));
    range_decode_begin(&codec->mix.coder, code, bytes);
    return walk(codec, span, now);
}
