/*
 * point_code.c: see point_code.h. The encoder first makes a plan (the weights, the edge of the
 * cells), then one walk over the points serves coding and decoding: each symbol is `code…(value)`,
 * which returns the value that the other end sees.
 */
#include "protocol/point_code.h"

#include "protocol/point_plan.h"
#include "protocol/range_coder.h"
#include "shared/check.h"

#include <stdlib.h>

enum {
    COUNT_MAX = 255,
    CHANCE_MIN = 32,
    LENGTHS = 30, /* of a number: 0..29 and more */
};

/* Rows of the tables. */
enum {
    SIZE_CLASSES = 80,
    ROW_MOVED = 0,                            /* [2 up or not][SIZE_CLASSES] */
    ROW_MOVED_AXES = ROW_MOVED + 160,         /* [11 axes before][SIZE_CLASSES / 2] */
    ROW_FRESH = ROW_MOVED_AXES + 440,         /* [2][SIZE_CLASSES / 2] */
    ROW_FRESH_AXES = ROW_FRESH + 80,          /* [11][SIZE_CLASSES / 4] */
    ROW_SCALAR = ROW_FRESH_AXES + 220,        /* [1] */
    ROW_RESTS = ROW_SCALAR + 1,               /* slots by class */
    ROW_FLAGS = ROW_RESTS + SIZE_CLASSES / 8, /* one row */
    ROWS = ROW_FLAGS + 1,
    FLAG_CHANGES = 0, /* [4] */
    FLAG_FREE = 4,
    FLAG_SAME = 5,
    FLAG_SCALAR = 6, /* [2] */
};
PL_STATIC_ASSERT(ROWS <= (int)POINT_ROWS, "the tables have room");

/* Slots of a number's row. */
enum {
    SLOT_LONGER = 0, /* is the bit length more than n */
    LONGER_MAX = 19,
    SLOT_FIRST = 20, /* the bit below the top one, by length */
    FIRST_MAX = 6,
    SLOT_SECOND = 27, /* the next, by the first and whether it is long */
};

struct PointCodec {
    RangeCoder coder;
    PointTables now;
    const PointTables *start; /* NULL: from nothing */
    bool learns;
    u32 epoch, row_epoch[POINT_ROWS];
    i32 rate[COUNT_MAX + 1];
    PointModel model;
    i32 fresh_size;
    u16 last_generation;
    bool last_changed, last_scalar;
};

/* Four classes an octave. */
static u32 class_of(u32 size)
{
    u32 length = bit_length(size);
    u32 class = size < 4 ? size : 4 * (length - 2) + (size >> (length - 3) & 3);
    return u32_min(class, SIZE_CLASSES - 1);
}

/* ---- bits ---- */

static PointChance *take_row(PointCodec *codec, u32 row)
{
    PointChance *chances = codec->now.chances + (size_t)row * POINT_ROW;
    if (codec->row_epoch[row] != codec->epoch) {
        codec->row_epoch[row] = codec->epoch;
        for (u32 i = 0; codec->start == NULL && i < POINT_ROW; i++) {
            chances[i] = (PointChance){32768, 0};
        }
        if (codec->start != NULL) {
            memcpy(chances, codec->start->chances + (size_t)row * POINT_ROW,
                   POINT_ROW * sizeof *chances);
        }
    }
    return chances;
}

static void learn(const PointCodec *codec, PointChance *chance, u32 bit)
{
    i32 p = chance->chance, goal = bit != 0 ? 65535 : 0;
    p += (goal - p) * codec->rate[chance->count] >> 15;
    p = p < CHANCE_MIN ? CHANCE_MIN : p > 65535 - CHANCE_MIN ? 65535 - CHANCE_MIN : p;
    chance->chance = (u16)p;
    chance->count = (u16)(chance->count + (chance->count < COUNT_MAX));
}

/* A bit of two contexts, which count alike. */
static u32 code_bit(PointCodec *codec, PointChance *a, PointChance *b, u32 bit)
{
    u32 p = ((u32)a->chance + b->chance) >> 1;
    bit = range_bit(&codec->coder, bit, p);
    learn(codec, a, bit);
    learn(codec, b, bit);
    return bit;
}

static u32 code_flag(PointCodec *codec, u32 row, u32 slot, u32 bit)
{
    PointChance *chance = take_row(codec, row) + slot;
    bit = range_bit(&codec->coder, bit, chance->chance);
    learn(codec, chance, bit);
    return bit;
}

/* The bit length of a number, asked for from the expected one on. */
static u32 code_length(PointCodec *codec, PointChance *a, PointChance *b, u32 expected, u32 length)
{
    u32 n = expected, slot = SLOT_LONGER + u32_min(n, LONGER_MAX);
    if (code_bit(codec, a + slot, b + slot, length > n) != 0) {
        for (n++; n < LENGTHS; n++) {
            slot = SLOT_LONGER + u32_min(n, LONGER_MAX);
            if (code_bit(codec, a + slot, b + slot, length > n) == 0) {
                break;
            }
        }
        return n;
    }
    for (; n > 0; n--) {
        slot = SLOT_LONGER + u32_min(n - 1, LONGER_MAX);
        if (code_bit(codec, a + slot, b + slot, length > n - 1) != 0) {
            break;
        }
    }
    return n;
}

static i32 code_number(PointCodec *codec, u32 row_a, u32 row_b, u32 expected, i32 value)
{
    PointChance *a = take_row(codec, row_a), *b = take_row(codec, row_b);
    u32 size = size_of(value);
    u32 length = code_length(codec, a, b, expected, bit_length(size));
    if (length == 0) {
        return 0;
    }
    u32 made = 1, left = length - 1;
    if (left > 0) {
        u32 slot = SLOT_FIRST + u32_min(length - 2, FIRST_MAX);
        left--;
        made = made << 1 | code_bit(codec, a + slot, b + slot, size >> left & 1);
    }
    if (left > 0) {
        u32 slot = SLOT_SECOND + (made & 1) + 2 * (length > 4);
        left--;
        made = made << 1 | code_bit(codec, a + slot, b + slot, size >> left & 1);
    }
    if (left > 0) {
        made = made << left | range_bits(&codec->coder, size & ((1u << left) - 1), left);
    }
    return range_bit(&codec->coder, value < 0, 32768) != 0 ? -(i32)made : (i32)made;
}

/* ---- the three numbers of a point ---- */

/* How much the axes before were, against what was expected: 0 (first), 1..5, 6..10. */
static u32 axes_class(u32 n, u32 sum, u32 expected)
{
    if (n == 0) {
        return 0;
    }
    u32 size = n == 1 ? 48 * sum : 24 * sum;
    u32 class =
        (4 * size > expected) + (2 * size > expected) + (size > expected) + (size > 2 * expected);
    return 1 + 5 * (n - 1) + class;
}

/* Codes value − expected of each axis into residual[3]; `size` is the sum of their sizes that is
 * expected, in 16ths. */
static void code_axes(PointCodec *codec, u32 rows, u32 rows_axes, u32 coarse, u32 size,
                      i32 residual[3])
{
    static const u8 axes[3] = {1, 0, 2};
    u32 class = class_of(size) / coarse, length = u32_min(bit_length(size >> 6), LONGER_MAX);
    u32 sum = 0;
    for (u32 n = 0; n < 3; n++) {
        u32 axis = axes[n];
        u32 a = rows + (axis == 1) * (SIZE_CLASSES / coarse) + class;
        u32 b = rows_axes + axes_class(n, sum, size) * (SIZE_CLASSES / coarse / 2) + class / 2;
        residual[axis] = code_number(codec, a, b, length, residual[axis]);
        sum += u32_min(size_of(residual[axis]), 1u << 24);
    }
}

static i32 code_weight(PointCodec *codec, i32 weight, u32 bits, i32 unit)
{
    i32 middle = 1 << (bits - 1);
    return ((i32)range_bits(&codec->coder, (u32)(weight / unit + middle), bits) - middle) * unit;
}

static void code_plan(PointCodec *codec)
{
    Plan *plan = &codec->model.plan;
    RangeCoder *coder = &codec->coder;
    if (coder->decoding) {
        *plan = point_plan_default;
    }
    plan->lives = range_bits(coder, plan->lives, 1) != 0;
    plan->scalars = range_bits(coder, plan->scalars, 1) != 0;
    plan->fitted = range_bits(coder, plan->fitted, 1) != 0;
    plan->shift = range_bits(coder, plan->shift, 4);
    bool strided = range_bits(coder, plan->stride > 0, 1) != 0;
    plan->stride = strided ? range_bits(coder, plan->stride, 12) : 0;
    plan->fresh = plan->lives ? range_bits(coder, plan->fresh, 2) : 0;
    if (!plan->fitted) {
        return;
    }
    plan->weights[WEIGHT_GO_ON] = code_weight(codec, plan->weights[WEIGHT_GO_ON], 9, 2);
    plan->weights[WEIGHT_BEND] = code_weight(codec, plan->weights[WEIGHT_BEND], 7, 8);
    for (u32 k = WEIGHT_OFF; k < (strided ? WEIGHTS : WEIGHT_UP); k++) {
        plan->weights[k] = code_weight(codec, plan->weights[k], 6, 1);
    }
    for (u32 k = 0; k < SIZES; k++) {
        if (k != SIZE_UP || strided) {
            plan->sizes[k] = size_weight(range_bits(coder, size_weight_code(plan->sizes[k]), 6));
        }
    }
}

/* ---- the walk ---- */

/* Codes the generation; returns whether the point goes on from its old state. */
static bool code_life(PointCodec *codec, const QPoint *old, QPoint *now)
{
    if (!codec->model.plan.lives) {
        now->generation = old->generation;
        return now->generation != 0;
    }
    u32 slot = FLAG_CHANGES + 2 * (old->generation == 0) + codec->last_changed;
    bool changed = code_flag(codec, ROW_FLAGS, slot, now->generation != old->generation) != 0;
    codec->last_changed = changed;
    if (!changed) {
        now->generation = old->generation;
        return now->generation != 0;
    }
    if (old->generation != 0 && code_flag(codec, ROW_FLAGS, FLAG_FREE, now->generation == 0) != 0) {
        now->generation = 0;
        return false;
    }
    u32 same = now->generation == codec->last_generation;
    if (code_flag(codec, ROW_FLAGS, FLAG_SAME, same) != 0) {
        now->generation = codec->last_generation;
    } else {
        now->generation = (u16)range_bits(&codec->coder, now->generation, 16);
    }
    codec->last_generation = now->generation;
    return false;
}

static void code_scalar(PointCodec *codec, const QPoint *old, QPoint *now)
{
    if (!codec->model.plan.scalars) {
        now->scalar = old->scalar;
        return;
    }
    bool changed = now->scalar != old->scalar;
    changed = code_flag(codec, ROW_FLAGS, FLAG_SCALAR + codec->last_scalar, changed) != 0;
    codec->last_scalar = changed;
    i32 by = 0;
    if (changed) {
        by = code_number(codec, ROW_SCALAR, ROW_SCALAR, 0, (i16)(now->scalar - old->scalar));
    }
    now->scalar = (u16)(old->scalar + by);
}

static void code_fresh(PointCodec *codec, const PointSpan *span, QPoint *now, u32 i)
{
    i32 expected[3], residual[3];
    expect_fresh(span, now, i, &codec->model.plan, expected);
    for (u32 a = 0; a < 3; a++) {
        residual[a] = now[i].position[a] - expected[a];
    }
    code_axes(codec, ROW_FRESH, ROW_FRESH_AXES, 2, (u32)codec->fresh_size, residual);
    i64 size = 0;
    for (u32 a = 0; a < 3; a++) {
        now[i].position[a] = clamp((i64)expected[a] + residual[a], POSITION_CODE_MAX);
        size += size_of(residual[a]);
    }
    codec->fresh_size = clamp((3 * (i64)codec->fresh_size + 16 * size) / 4, 1 << 22);
}

static void code_moved(PointCodec *codec, const PointSpan *span, u32 i, QPoint *now)
{
    const QPoint *old = &span->state[0][i];
    bool decoding = codec->coder.decoding;
    Motion m = motion_of(&codec->model, span, i);
    PointOff near =
        decoding ? point_grid_near(&codec->model.grid, old->position) : codec->model.near[i];
    const PointOff *by[4];
    i32 terms[SIZES], own[3], expected[3], residual[3], off[3];
    neighbours_of(&codec->model, span->state[0], i, &near, by);
    size_terms(&near, by, &m, terms);
    u32 size = expected_size(&codec->model.plan, terms);
    bool rests = false;
    if (m.rested) {
        u32 class = class_of(size);
        rests = memcmp(now->position, old->position, sizeof now->position) == 0;
        rests = code_flag(codec, ROW_RESTS + class / 8, class % 8, rests) != 0;
    }
    for (u32 a = 0; a < 3; a++) {
        own[a] = own_motion(&codec->model.plan, &m, a);
        i64 step = ((i64)own[a] + sum_off(&codec->model, a, &near, by) + (1 << (PART_BITS - 1))) >>
                   PART_BITS;
        expected[a] = clamp(old->position[a] + step, POSITION_CODE_MAX);
        residual[a] = rests ? old->position[a] - expected[a] : now->position[a] - expected[a];
    }
    if (!rests) {
        code_axes(codec, ROW_MOVED, ROW_MOVED_AXES, 1, size, residual);
    }
    i64 sum = 0;
    for (u32 a = 0; a < 3; a++) {
        now->position[a] = clamp((i64)expected[a] + residual[a], POSITION_CODE_MAX);
        sum += size_of(residual[a]);
        off[a] = moved_by(now, old, a) - own[a];
    }
    i32 known = set_off(&codec->model, i, off, &near);
    codec->model.off[i].size = clamp(16 * sum, OFF_MAX);
    if (decoding) {
        point_grid_add(&codec->model.grid, old->position, codec->model.off[i].off, known);
    }
}

static void prepare(PointCodec *codec, const PointSpan *span)
{
    if (!codec->learns) {
        codec->epoch++;
        if (codec->epoch == 0) {
            memset(codec->row_epoch, 0, sizeof codec->row_epoch);
            codec->epoch = 1;
        }
    }
    codec->last_generation = 1;
    codec->last_changed = codec->last_scalar = false;
    codec->fresh_size = 1 << 14;
    for (u32 s = 0; s < 2; s++) {
        codec->model.ratio[s] = 0;
        if (span->state[0] != NULL && span->state[1] != NULL &&
            (s == 0 || span->state[2] != NULL)) {
            u32 ratio = span->back[0] * 256 / (span->back[s + 1] - span->back[s]);
            codec->model.ratio[s] = (i32)u32_min(ratio, RATIO_MAX);
        }
    }
}

static void walk(PointCodec *codec, const PointSpan *span, QPoint *now)
{
    static const QPoint none;
    bool decoding = codec->coder.decoding;
    code_plan(codec);
    if (decoding) {
        point_grid_begin(&codec->model.grid, span->count, codec->model.plan.shift);
    }
    for (u32 i = 0; i < span->count && !codec->coder.failed; i++) {
        const QPoint *old = span->state[0] != NULL ? &span->state[0][i] : &none;
        bool going = code_life(codec, old, &now[i]);
        if (now[i].generation == 0) {
            now[i] = none;
        } else {
            code_scalar(codec, old, &now[i]);
        }
        codec->model.going[i] = going;
        if (going) {
            code_moved(codec, span, i, &now[i]);
        } else if (now[i].generation != 0) {
            code_fresh(codec, span, now, i);
        }
    }
}

static bool span_is_sane(const PointSpan *span)
{
    bool sane = span->count <= POINT_SPAN_MAX;
    u32 before = 0;
    for (u32 s = 0; s < POINT_STATES && span->state[s] != NULL; s++) {
        sane = sane && span->back[s] > before && span->back[s] < 1u << 24;
        before = span->back[s];
    }
    return sane;
}

/* ---- the codec ---- */

PointCodec *point_codec_create(const PointTables *start)
{
    PointCodec *codec = calloc(1, sizeof *codec);
    if (codec == NULL) {
        return NULL;
    }
    codec->start = start;
    codec->epoch = 1;
    size_t cells = GRID_CELLS_MAX * sizeof *codec->model.grid.fine;
    codec->model.off = calloc(POINT_SPAN_MAX, sizeof *codec->model.off);
    codec->model.going = calloc(POINT_SPAN_MAX, sizeof *codec->model.going);
    codec->model.near = calloc(POINT_SPAN_MAX, sizeof *codec->model.near);
    codec->model.points = calloc(POINT_SPAN_MAX, sizeof *codec->model.points);
    codec->model.grid.fine = aligned_alloc(32, cells);
    codec->model.grid.coarse = aligned_alloc(32, cells);
    if (codec->model.off == NULL || codec->model.going == NULL || codec->model.near == NULL ||
        codec->model.points == NULL || codec->model.grid.fine == NULL ||
        codec->model.grid.coarse == NULL) {
        point_codec_destroy(codec);
        return NULL;
    }
    for (u32 n = 0; n <= COUNT_MAX; n++) {
        codec->rate[n] = (i32)(65536 / (2 * n + 3));
    }
    return codec;
}

void point_codec_destroy(PointCodec *codec)
{
    if (codec != NULL) {
        free(codec->model.off);
        free(codec->model.going);
        free(codec->model.near);
        free(codec->model.points);
        free(codec->model.grid.fine);
        free(codec->model.grid.coarse);
        free(codec);
    }
}

void point_codec_learn(PointCodec *codec, bool learns)
{
    codec->learns = learns;
}

void point_codec_tables(const PointCodec *codec, PointTables *tables)
{
    *tables = codec->now;
    for (u32 row = 0; row < POINT_ROWS; row++) { /* rows that were never used */
        for (u32 i = 0; codec->row_epoch[row] == 0 && i < POINT_ROW; i++) {
            tables->chances[row * POINT_ROW + i] = (PointChance){32768, 0};
        }
    }
}

u32 point_encode(PointCodec *codec, const PointSpan *span, const QPoint *now, u8 *out, u32 room)
{
    CHECK(span_is_sane(span));
    static const QPoint none;
    for (u32 i = 0; i < span->count; i++) {
        codec->model.points[i] = now[i].generation != 0 ? now[i] : none;
    }
    prepare(codec, span);
    point_plan_make(&codec->model, span, codec->model.points);
    range_encode_begin(&codec->coder, out, room);
    walk(codec, span, codec->model.points);
    return range_encode_end(&codec->coder);
}

void point_decode(PointCodec *codec, const PointSpan *span, const u8 *code, u32 bytes, QPoint *now)
{
    CHECK(span_is_sane(span));
    memset(now, 0, span->count * sizeof *now);
    prepare(codec, span);
    range_decode_begin(&codec->coder, code, bytes);
    walk(codec, span, now);
}
