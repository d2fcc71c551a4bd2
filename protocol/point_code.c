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
    COUNT_MAX = 1023,
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
};

struct PointCodec {
    RangeCoder coder;
    PointTables now;
    const PointTables *start;
    PointTables *own; /* of one that starts from nothing */
    bool learns;
    u16 *counts; /* of one that learns: how often a chance was used */
    u32 epoch, row_epoch[POINT_ROWS];
    PointModel model;
    u64 raw; /* bits that are not yet a byte, or not yet asked for */
    u32 raw_bits, raw_at;
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

static inline u16 *take_row(PointCodec *codec, u32 row)
{
    u16 *chances = codec->now.chances + (size_t)row * POINT_ROW;
    if (codec->row_epoch[row] != codec->epoch) {
        codec->row_epoch[row] = codec->epoch;
        memcpy(chances, codec->start->chances + (size_t)row * POINT_ROW,
               POINT_ROW * sizeof *chances);
    }
    return chances;
}

/* A probability moves a 32nd of the way to the bit. Training counts instead: the mean of all. */
static inline void learn(PointCodec *codec, u16 *chance, u32 bit)
{
    i32 p = *chance, goal = bit != 0 ? 65535 - CHANCE_MIN : CHANCE_MIN;
    if (PL_LIKELY(codec->counts == NULL)) {
        *chance = (u16)(p + ((goal - p) >> 5));
        return;
    }
    u16 *count = codec->counts + (chance - codec->now.chances);
    *chance = (u16)(p + (goal - p) * 2 / (2 * *count + 3));
    *count = (u16)(*count + (*count < COUNT_MAX));
}

/* A bit of two contexts, which count alike. `decoding` is what the coder says, as a constant. */
SIMD_INLINE u32 code_bit(PointCodec *codec, bool decoding, u16 *a, u16 *b, u32 bit)
{
    if (codec->coder.decoding != decoding) {
        __builtin_unreachable();
    }
    bit = range_bit(&codec->coder, bit, ((u32)*a + *b) >> 1);
    learn(codec, a, bit);
    learn(codec, b, bit);
    return bit;
}

/* A bit of one context. */
SIMD_INLINE u32 code_one(PointCodec *codec, bool decoding, u16 *chance, u32 bit)
{
    if (codec->coder.decoding != decoding) {
        __builtin_unreachable();
    }
    bit = range_bit(&codec->coder, bit, *chance);
    learn(codec, chance, bit);
    return bit;
}

static u32 code_flag(PointCodec *codec, u32 row, u32 slot, u32 bit)
{
    u16 *chance = take_row(codec, row) + slot;
    bit = range_bit(&codec->coder, bit, *chance);
    learn(codec, chance, bit);
    return bit;
}

/* `count` (≤ 32) bits that nothing is known about: they fill the code from its end, lowest first,
 * past the range coder (Valin, Terriberry, Maxwell: Opus, 2012). */
SIMD_INLINE u32 code_raw(PointCodec *codec, bool decoding, u32 value, u32 count)
{
    RangeCoder *coder = &codec->coder;
    if (!decoding) {
        codec->raw |= (u64)value << codec->raw_bits;
        codec->raw_bits += count;
        for (; codec->raw_bits >= 8; codec->raw_bits -= 8, codec->raw >>= 8) {
            if (coder->room <= coder->used) {
                coder->failed = true;
                codec->raw_bits = 0;
                return value;
            }
            coder->out[--coder->room] = (u8)codec->raw;
        }
        return value;
    }
    for (; codec->raw_bits < count; codec->raw_bits += 8) {
        codec->raw |= (u64)(codec->raw_at > 0 ? coder->in[--codec->raw_at] : 0) << codec->raw_bits;
    }
    value = (u32)(codec->raw & ((1ull << count) - 1));
    codec->raw >>= count;
    codec->raw_bits -= count;
    return value;
}

static u32 code_raw_bits(PointCodec *codec, u32 value, u32 count)
{
    return code_raw(codec, codec->coder.decoding, value, count);
}

/* The bit length of a number, asked for from the expected one on. */
SIMD_INLINE u32 code_length(PointCodec *codec, bool decoding, u16 *a, u16 *b, u32 expected,
                            u32 length)
{
    u32 n = expected, slot = SLOT_LONGER + u32_min(n, LONGER_MAX);
    if (code_bit(codec, decoding, a + slot, b + slot, length > n) != 0) {
        for (n++; n < LENGTHS; n++) {
            slot = SLOT_LONGER + u32_min(n, LONGER_MAX);
            if (code_bit(codec, decoding, a + slot, b + slot, length > n) == 0) {
                break;
            }
        }
        return n;
    }
    for (; n > 0; n--) {
        slot = SLOT_LONGER + u32_min(n - 1, LONGER_MAX);
        if (code_bit(codec, decoding, a + slot, b + slot, length > n - 1) != 0) {
            break;
        }
    }
    return n;
}

SIMD_INLINE i32 code_number_as(PointCodec *codec, bool decoding, u32 row_a, u32 row_b, u32 expected,
                               i32 value)
{
    u16 *a = take_row(codec, row_a), *b = take_row(codec, row_b);
    u32 size = size_of(value);
    u32 length = code_length(codec, decoding, a, b, expected, bit_length(size));
    if (length == 0) {
        return 0;
    }
    u32 made = 1, left = length - 1;
    if (left > 0) {
        u32 slot = SLOT_FIRST + u32_min(length - 2, FIRST_MAX);
        left--;
        made = made << 1 | code_one(codec, decoding, a + slot, size >> left & 1);
    }
    u32 rest = (size & ((1u << left) - 1)) << 1 | (value < 0);
    rest = code_raw(codec, decoding, rest, left + 1);
    made = made << left | rest >> 1;
    return (rest & 1) != 0 ? -(i32)made : (i32)made;
}

static i32 encode_number(PointCodec *codec, u32 row_a, u32 row_b, u32 expected, i32 value)
{
    return code_number_as(codec, false, row_a, row_b, expected, value);
}

static i32 decode_number(PointCodec *codec, u32 row_a, u32 row_b, u32 expected)
{
    return code_number_as(codec, true, row_a, row_b, expected, 0);
}

static i32 code_number(PointCodec *codec, u32 row_a, u32 row_b, u32 expected, i32 value)
{
    return codec->coder.decoding ? decode_number(codec, row_a, row_b, expected)
                                 : encode_number(codec, row_a, row_b, expected, value);
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

/* Codes value − expected of each axis into *residual; `size` is the sum of their sizes that is
 * expected, in 16ths. */
static void code_axes(PointCodec *codec, u32 rows, u32 rows_axes, u32 coarse, u32 size,
                      i32x4 *residual)
{
    static const u8 axes[3] = {1, 0, 2};
    u32 class = class_of(size) / coarse, length = u32_min(bit_length(size >> 6), LONGER_MAX);
    u32 sum = 0;
    for (u32 n = 0; n < 3; n++) {
        u32 axis = axes[n];
        u32 a = rows + (axis == 1) * (SIZE_CLASSES / coarse) + class;
        u32 b = rows_axes + axes_class(n, sum, size) * (SIZE_CLASSES / coarse / 2) + class / 2;
        i32 value = code_number(codec, a, b, length, (*residual)[axis]);
        (*residual)[axis] = value;
        sum += u32_min(size_of(value), 1u << 20);
    }
}

static i32 code_weight(PointCodec *codec, i32 weight, u32 bits, i32 unit)
{
    i32 middle = 1 << (bits - 1);
    return ((i32)code_raw_bits(codec, (u32)(weight / unit + middle), bits) - middle) * unit;
}

static void code_plan(PointCodec *codec)
{
    Plan *plan = &codec->model.plan;
    if (codec->coder.decoding) {
        *plan = point_plan_default;
    }
    plan->lives = code_raw_bits(codec, plan->lives, 1) != 0;
    plan->scalars = code_raw_bits(codec, plan->scalars, 1) != 0;
    plan->fitted = code_raw_bits(codec, plan->fitted, 1) != 0;
    plan->shift = code_raw_bits(codec, plan->shift, 4);
    bool strided = code_raw_bits(codec, plan->stride > 0, 1) != 0;
    plan->stride = strided ? code_raw_bits(codec, plan->stride, 12) : 0;
    plan->fresh = plan->lives ? code_raw_bits(codec, plan->fresh, 2) : 0;
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
            plan->sizes[k] = size_weight(code_raw_bits(codec, size_weight_code(plan->sizes[k]), 6));
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
        now->generation = (u16)code_raw_bits(codec, now->generation, 16);
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

static void code_fresh(PointCodec *codec, QPoint *now, u32 i)
{
    i32 expected[3];
    i32x4 residual = {0};
    expect_fresh(now, i, &codec->model.plan, expected);
    for (u32 a = 0; a < 3; a++) {
        residual[a] = now[i].position[a] - expected[a];
    }
    code_axes(codec, ROW_FRESH, ROW_FRESH_AXES, 2, (u32)codec->fresh_size, &residual);
    i64 size = 0;
    for (u32 a = 0; a < 3; a++) {
        now[i].position[a] = clamp((i64)expected[a] + residual[a], POSITION_CODE_MAX);
        size += size_of(now[i].position[a] - expected[a]);
    }
    codec->fresh_size = clamp((3 * (i64)codec->fresh_size + 16 * size) / 4, 1 << 22);
}

/* Codes the residual of a point that goes on, unless it rests where it was; returns whether it
 * does. */
static bool code_residual(PointCodec *codec, const PointFound *found, bool rests, i32x4 *residual)
{
    u32 size = expected_size(&codec->model.plan, found);
    if (found->rested) {
        u32 class = class_of(size);
        rests = code_flag(codec, ROW_RESTS + class / 8, class % 8, rests) != 0;
    }
    if (!found->rested || !rests) {
        code_axes(codec, ROW_MOVED, ROW_MOVED_AXES, 1, size, residual);
        rests = false;
    }
    return rests;
}

static void encode_moved(PointCodec *codec, const QPoint *old, u32 i, const QPoint *now)
{
    const PointFound *found = &codec->model.found[i];
    i32x4 residual = found->own, moved = position_of(now) - position_of(old);
    code_residual(codec, found, sum_of_sizes(moved) == 0, &residual);
}

static void decode_moved(PointCodec *codec, const PointSpan *span, u32 i, QPoint *now)
{
    PointModel *model = &codec->model;
    const QPoint *old = &span->state[0][i];
    Motion m = motion_of(model, span, i);
    PointFound found = {own_motion(&model->plan, &m), 0, 0, 0, m.change, m.speed, m.rested};
    PointOff by[4], near = point_grid_near(&model->grid, old->position);
    neighbours_of(model, span->state[0], i, near, by);
    find_sizes(&found, near, by);
    i32x4 expected = expect_moved(old, found.own, sum_off(&model->plan, near, by));
    i32x4 residual = {0};
    if (code_residual(codec, &found, false, &residual)) {
        memcpy(now->position, old->position, sizeof now->position);
    } else {
        i32x4 position = clamp3(expected + residual, POSITION_CODE_MAX);
        memcpy(now->position, &position, sizeof now->position);
    }
    PointOff off = clamp3(moved_by(now, old) - found.own, OFF_MAX);
    point_grid_add(&model->grid, old->position, off, size_against(off, near));
    off[3] = clamp(16 * (i64)sum_of_sizes(position_of(now) - expected), OFF_MAX);
    model->off[i] = off;
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
    codec->raw = 0;
    codec->raw_bits = codec->raw_at = 0;
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
            if (decoding) {
                decode_moved(codec, span, i, &now[i]);
            } else {
                encode_moved(codec, old, i, &now[i]);
            }
        } else if (now[i].generation != 0) {
            code_fresh(codec, now, i);
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
    codec->epoch = 1;
    codec->start = start;
    if (start == NULL) {
        codec->start = codec->own = malloc(sizeof *codec->own);
        for (u32 i = 0; codec->own != NULL && i < POINT_ROWS * POINT_ROW; i++) {
            codec->own->chances[i] = 32768;
        }
    }
    size_t cells = GRID_CELLS_MAX * sizeof *codec->model.grid.fine;
    codec->model.off = calloc(POINT_SPAN_MAX, sizeof *codec->model.off);
    codec->model.going = calloc(POINT_SPAN_MAX, sizeof *codec->model.going);
    codec->model.found = aligned_alloc(32, POINT_SPAN_MAX * sizeof *codec->model.found);
    codec->model.near = calloc(POINT_SPAN_MAX, sizeof *codec->model.near);
    codec->model.points = calloc(POINT_SPAN_MAX, sizeof *codec->model.points);
    codec->model.grid.fine = aligned_alloc(32, cells);
    codec->model.grid.coarse = aligned_alloc(32, cells);
    if (codec->start == NULL || codec->model.off == NULL || codec->model.going == NULL ||
        codec->model.near == NULL || codec->model.found == NULL || codec->model.points == NULL ||
        codec->model.grid.fine == NULL || codec->model.grid.coarse == NULL) {
        point_codec_destroy(codec);
        return NULL;
    }
    return codec;
}

void point_codec_destroy(PointCodec *codec)
{
    if (codec != NULL) {
        free(codec->own);
        free(codec->counts);
        free(codec->model.off);
        free(codec->model.going);
        free(codec->model.found);
        free(codec->model.near);
        free(codec->model.points);
        free(codec->model.grid.fine);
        free(codec->model.grid.coarse);
        free(codec);
    }
}

bool point_codec_learn(PointCodec *codec)
{
    codec->learns = true;
    codec->counts = calloc(POINT_ROWS * POINT_ROW, sizeof *codec->counts);
    return codec->counts != NULL;
}

void point_codec_tables(const PointCodec *codec, PointTables *tables)
{
    *tables = *codec->start;
    for (u32 row = 0; row < POINT_ROWS; row++) {
        if (codec->row_epoch[row] != 0) {
            size_t at = (size_t)row * POINT_ROW;
            memcpy(tables->chances + at, codec->now.chances + at, POINT_ROW * sizeof(u16));
        }
    }
}

/* Ends the range coder's part so that whatever follows does not matter, and brings the raw bits
 * behind it. Returns the bytes of both, 0: they did not fit. */
static u32 end(PointCodec *codec, u32 room)
{
    RangeCoder *coder = &codec->coder;
    if (codec->raw_bits > 0) {
        code_raw(codec, false, 0, 8 - codec->raw_bits % 8);
    }
    for (u32 bits = 0; bits <= 32; bits += 8) {
        u64 step = 1ull << (32 - bits), value = (coder->low + step - 1) & ~(step - 1);
        if (value + step - 1 <= coder->high) {
            for (u32 i = 0; i < bits; i += 8) {
                range_put_byte(coder, (u8)(value >> (24 - i)));
            }
            break;
        }
    }
    if (coder->failed) {
        return 0;
    }
    memmove(coder->out + coder->used, coder->out + coder->room, room - coder->room);
    return coder->used + room - coder->room;
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
    return end(codec, room);
}

void point_decode(PointCodec *codec, const PointSpan *span, const u8 *code, u32 bytes, QPoint *now)
{
    CHECK(span_is_sane(span));
    memset(now, 0, span->count * sizeof *now);
    prepare(codec, span);
    range_decode_begin(&codec->coder, code, bytes);
    codec->raw_at = bytes;
    walk(codec, span, now);
}
