/*
 * grid_code.c: see grid_code.h. One traversal of the span serves both encoding and decoding: each
 * symbol is `code(…, value)`, which returns the value that the decoder sees.
 */
#include "protocol/codec/grid_code.h"

#include "protocol/codec/chunk.h"
#include "protocol/codec/grid_cells.h"
#include "protocol/codec/grid_filter.h"

#include <stdlib.h>
#include <string.h>

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
    for (u32 k = 0; k < FILTERS; k++) {
        i16 *space = filters + (size_t)k * PLANE_WEIGHTS + SPACE_AT;
        bool deep = k >= FILTERS / 2;
        space[0] = space[1] = deep ? START_ONE / 3 : START_ONE; /* W + N − NW, or a third of each */
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
        free(codec->predicted);
        free(codec->seen);
        free(codec->errors);
        free(codec);
    }
}

void grid_codec_chain(GridCodec *codec)
{
    const MixTables *start = codec->mix.start;
    codec->chained = true;
    mix_reset(&codec->mix);
    memcpy(codec->mix.now.weights, start->weights,
           (size_t)start->sets * MIX_SET * sizeof *start->weights);
}

void grid_codec_train(GridCodec *codec)
{
    grid_codec_chain(codec);
    codec->trains = true;
}

const MixTables *grid_codec_tables(GridCodec *codec)
{
    mix_keep(&codec->mix, FILTER_SETS);
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
    if (chunks > codec->chunk_capacity) {
        if (!grow((void **)&codec->boxes, chunks * sizeof *codec->boxes) ||
            !grow((void **)&codec->same, chunks * sizeof *codec->same) ||
            !grow((void **)&codec->bases, chunks * sizeof *codec->bases)) {
            return false;
        }
        codec->chunk_capacity = chunks;
    }
    if (field_chunks > codec->field_capacity) {
        if (!grow((void **)&codec->where, field_chunks * sizeof *codec->where)) {
            return false;
        }
        memset(codec->where, 0xFF, field_chunks * sizeof *codec->where);
        codec->field_capacity = field_chunks;
    }
    if (elements > codec->element_capacity) {
        if (!grow((void **)&codec->predicted, elements * sizeof *codec->predicted) ||
            !grow((void **)&codec->seen, elements * sizeof *codec->seen) ||
            !grow((void **)&codec->errors, elements * sizeof *codec->errors)) {
            return false;
        }
        codec->element_capacity = elements;
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
    codec->before = grid_space_coded(plan, codec->coded_at);
    codec->beside = grid_space_around(plan, codec->around_at);
    memset(codec->errors, 0, (size_t)plan->elements * plan->channels * sizeof *codec->errors);
    return true;
}

static void end_span(GridCodec *codec, const GridSpan *span)
{
    for (u32 k = 0; k < span->count; k++) {
        codec->where[span->chunks[k]] = UINT32_MAX;
    }
}

/* ---- which chunks are as they were ---- */

static const u8 *bytes_at(const GridCodec *codec, const void *state, const GridBox *box)
{
    u32 each = (codec->plan.kind == FIELD_GRID3 ? 1 : 2) * codec->plan.channels;
    return (const u8 *)state + (size_t)box->offset * each;
}

/* 0: not in the span, 1: changed, 2: unchanged. */
static u32 neighbour_same(const GridCodec *codec, const GridBox *box, i32 x, i32 y, i32 z)
{
    const GridPlan *plan = &codec->plan;
    if (!grid_in_span(plan, box, x, y, z)) {
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
        size_t bytes = (size_t)grid_box_elements(box) * each;
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

/* Codes the base values of chunks without a known state. */
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
        u32 n = grid_box_elements(box);
        for (u32 i = 0; i < n && !codec->mix.coder.decoding; i++) {
            i32 value = grid_value(plan, now, (box->offset + i) * plan->channels + channel);
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
        last = logarithm(i32_magnitude(off), 16);
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
            bool own = !decoding && grid_fit_time(codec, span, now, channel);
            grid_code_filter(codec, channel, TIME_AT, grid_time_count(plan, codec->known), own);
        } else {
            code_bases(codec, now, channel, bases);
        }
        grid_predict(codec, span, now, bases, channel);
        u32 count = codec->before + codec->beside + channel;
        bool own = !decoding && grid_fit_space(codec, now, channel);
        grid_code_filter(codec, channel, SPACE_AT, count, own);
    }
    for (u32 k = 0; k < plan->count && !too_long(codec); k++) {
        for (u32 channel = 0; channel < plan->channels && codec->same[k] == 0; channel++) {
            grid_code_cells(codec, k, channel, now);
        }
    }
}

/* ---- both ends ---- */

static bool span_is_valid(const GridSpan *span)
{
    bool valid = span->field->kind >= FIELD_GRID2 && span->field->kind <= FIELD_SCALARS;
    u32 chunks = chunk_count(span->field);
    for (u32 i = 0; valid && i < span->count; i++) {
        valid = span->chunks[i] < chunks && (i == 0 || span->chunks[i] > span->chunks[i - 1]);
    }
    return valid;
}

static bool walk(GridCodec *codec, const GridSpan *span, void *now)
{
    CHECK(span_is_valid(span));
    if (!codec->chained) {
        mix_reset(&codec->mix);
    }
    if (span->count == 0) {
        return true;
    }
    codec->known = 0;
    while (codec->known < GRID_STATES && span->state[codec->known] != NULL) {
        codec->known++;
    }
    if (span->field->kind == FIELD_SCALARS) {
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

u32 grid_encode(GridCodec *codec, const GridSpan *span, const void *now, u8 *out, u32 capacity)
{
    range_encode_begin(&codec->mix.coder, out, capacity);
    /* While encoding, the traversal only writes back values that it has read. */
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
