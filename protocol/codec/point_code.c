/*
 * point_code.c: see point_code.h. The encoder first makes a plan (the weights, the cell size); then
 * one traversal of the points serves both encoding and decoding: each symbol is `code…(value)`,
 * which returns the value that the decoder sees.
 */
#include "protocol/codec/point_code.h"

#include "protocol/codec/point_plan.h"
#include "protocol/codec/symbol_coder.h"
#include "shared/base/check.h"

#include <stdlib.h>

enum {
    CHANCE_MIN = 32,
    COUNT_MAX = 1023, /* limit of counts of a flag, in training */
    SIZE_CLASSES = 80,
    ESCAPE = SYMBOLS - 1, /* the symbol for larger numbers */
    ESCAPE_BITS = 5,
    ESCAPE_MAX = 29,       /* maximal bits below the top one of any number */
    SIZE_MAX_48 = 1 << 16, /* limit of a size that affects expectations */
    NEW_START = 1 << 14,
    RATIO_ONE = 64,
    AXIS_POINTS = 16, /* points between updates of the axis ratios */
    NEW_WINDOW = 32,
};

/* Rows of the tables: by the class of the expected size, and by the previous axes. */
enum {
    NEW_LOWS = 4,
    NEW_PACES = 6 * 5 * NEW_LOWS,
    AXES_CLASSES = 11,
    FINE_CLASSES = 20, /* of expected sizes so small that numbers are coded with their signs, */
    FRACTIONS = 4,     /* and by what rounding took from the prediction */
    ROW_MOVED = 0,     /* [2 up or not][SIZE_CLASSES] */
    ROW_MOVED_AXES = ROW_MOVED + 2 * SIZE_CLASSES,              /* [][SIZE_CLASSES / 2] */
    ROW_NEW = ROW_MOVED_AXES + AXES_CLASSES * SIZE_CLASSES / 2, /* [2][SIZE_CLASSES / 2] */
    ROW_NEW_PACE = ROW_NEW + SIZE_CLASSES, /* [6 axis before][5 paces][4 lows] */
    ROW_SCALAR = ROW_NEW_PACE + NEW_PACES, /* [SIZE_CLASSES / 2] */
    ROW_SCALARS = ROW_SCALAR + SIZE_CLASSES / 2,
    ROW_FINE, /* [2 up or not][FRACTIONS][FINE_CLASSES] */
    ROW_FINE_AXES = ROW_FINE + 2 * FRACTIONS * FINE_CLASSES, /* [][FRACTIONS][FINE_CLASSES / 2] */
    ROWS = ROW_FINE_AXES + AXES_CLASSES * FRACTIONS * FINE_CLASSES / 2,
};
PL_STATIC_ASSERT(ROWS == (int)POINT_ROWS, "the tables have just the rows");
PL_STATIC_ASSERT((int)SYMBOLS == (int)POINT_ROW, "a row holds all symbols");

enum {
    FLAG_RESTS = 0,                           /* [SIZE_CLASSES] */
    FLAG_CHANGES = FLAG_RESTS + SIZE_CLASSES, /* [4] */
    FLAG_FREE = FLAG_CHANGES + 4,
    FLAG_SAME,
    FLAG_SCALAR, /* [2] */
    FLAGS = FLAG_SCALAR + 2,
};
PL_STATIC_ASSERT(FLAGS <= (int)POINT_FLAGS, "the tables have room");

/* Statistics of a codec in training. */
typedef struct SymbolCounts {
    u32 symbols[POINT_ROWS][SYMBOLS];
    u16 flags[POINT_FLAGS];
} SymbolCounts;

struct PointCodec {
    SymbolCoder coder;
    SymbolEnds ends[POINT_ROWS];
    const PointTables *start;
    PointTables *own;     /* owned tables of an untrained codec */
    SymbolCounts *counts; /* of a codec in training */
    u16 flags[POINT_FLAGS];
    PointModel model;
    u64 raw; /* encoding: bits that do not fill a byte yet */
    u32 raw_bits;
    u32 raw_at;                   /* decoding: bits read so far */
    u32 scalar_size;              /* 48ths */
    u32 new_slow[3], new_fast[3]; /* recent sizes of the axes of new points, 48ths */
    u32 new_count;
    u32 axis_sum[3], axis_expected[3]; /* 48ths, of moved points */
    u32 axis_ratio[3], axis_count;     /* 64ths */
    u16 last_generation;
    bool last_changed, last_scalar;
};

/* Four classes per octave. */
static inline u32 class_of(u32 size)
{
    u32 length = u32_bit_length(size);
    u32 class = size < 4 ? size : 4 * (length - 2) + (size >> (length - 3) & 3);
    return u32_min(class, SIZE_CLASSES - 1);
}

/* ---- bits ---- */

/* The probability moves a 32nd of the way to the bit. Training counts instead: the overall mean. */
static u32 code_flag(PointCodec *codec, u32 flag, u32 bit)
{
    u16 *chance = &codec->flags[flag];
    bit = symbol_bit(&codec->coder, bit, *chance);
    i32 p = *chance, goal = bit != 0 ? 65535 - CHANCE_MIN : CHANCE_MIN;
    if (PL_LIKELY(codec->counts == NULL)) {
        *chance = (u16)(p + ((goal - p) >> 5));
        return bit;
    }
    u16 *count = &codec->counts->flags[flag];
    *chance = (u16)(p + (goal - p) * 2 / (2 * *count + 3));
    *count = (u16)(*count + (*count < COUNT_MAX));
    return bit;
}

/* `count` (≤ 32) raw bits: they fill the code from its end, lowest first, bypassing the range
 * coder (Valin, Terriberry, Maxwell: Opus, 2012). */
SIMD_INLINE u32 code_raw(PointCodec *codec, bool decoding, u32 value, u32 count)
{
    SymbolCoder *coder = &codec->coder;
    if (!decoding) {
        codec->raw |= (u64)value << codec->raw_bits;
        codec->raw_bits += count;
        if (PL_LIKELY(coder->used + sizeof(u64) <= coder->capacity)) {
            u64 bytes = __builtin_bswap64(codec->raw);
            u32 whole = codec->raw_bits >> 3;
            memcpy(coder->out + coder->capacity - sizeof bytes, &bytes, sizeof bytes);
            coder->capacity -= whole;
            codec->raw >>= 8 * whole;
            codec->raw_bits &= 7;
            return value;
        }
        for (; codec->raw_bits >= 8; codec->raw_bits -= 8, codec->raw >>= 8) {
            if (coder->capacity <= coder->used) {
                coder->failed = true;
                codec->raw_bits = 0;
                return value;
            }
            coder->out[--coder->capacity] = (u8)codec->raw;
        }
        return value;
    }
    u32 at = codec->raw_at, whole = at >> 3;
    codec->raw_at += count;
    if (PL_LIKELY(whole + sizeof(u64) <= coder->capacity)) {
        u64 bits;
        memcpy(&bits, coder->in + coder->capacity - whole - sizeof bits, sizeof bits);
        return (u32)(__builtin_bswap64(bits) >> (at & 7) & ((1ull << count) - 1));
    }
    u64 bits = 0;
    for (u32 k = 0; k < sizeof bits && whole + k < coder->capacity; k++) {
        bits |= (u64)coder->in[coder->capacity - 1 - whole - k] << (8 * k);
    }
    return (u32)(bits >> (at & 7) & ((1ull << count) - 1));
}

static u32 code_raw_bits(PointCodec *codec, u32 value, u32 count)
{
    return code_raw(codec, codec->coder.decoding, value, count);
}

/* A number with two rows. Symbol 0: magnitude below 2^low; 1 + 2 k + h: half h of 2^(low + k) ..
 * 2^(low + k + 1) − 1; the last: larger. The lower bits and the sign are raw. If low > 0
 * negative magnitudes are reduced by one, since otherwise there would be two zeros. */
SIMD_INLINE i32 encode_number(PointCodec *codec, u32 a, u32 b, u32 low, i32 value)
{
    u32 negative = value < 0, size = i32_magnitude(value) - (negative & (low > 0));
    u32 symbol, bits = low, rest = size, length = u32_bit_length(size);
    if (length > low) {
        u32 octave = length - 1 - low, half = length > 1 ? size >> (length - 2) & 1 : 0;
        symbol = u32_min(1 + 2 * octave + half, ESCAPE);
        bits = length > 1 ? length - 2 : 0;
        rest = size & ((1u << bits) - 1);
    } else {
        symbol = 0;
    }
    symbol_encode(&codec->coder, &codec->ends[a], &codec->ends[b], symbol);
    if (codec->counts != NULL) {
        codec->counts->symbols[a][symbol]++;
        codec->counts->symbols[b][symbol]++;
    }
    if (symbol == ESCAPE) {
        bits = length - 1;
        rest = size & ((1u << bits) - 1);
        code_raw(codec, false, bits, ESCAPE_BITS);
    }
    if (symbol + low > 0) {
        code_raw(codec, false, rest << 1 | negative, bits + 1);
    }
    return value;
}

/* How numbers are coded. */
typedef enum NumberWay {
    NUMBER_FINE, /* small ones: symbols have a sign, */
    NUMBER_ODD,  /* others are a magnitude with a raw sign, low = 0, */
    NUMBER_LOW,  /* or low > 0 */
    NUMBER_WAYS
} NumberWay;

/* By symbol: the magnitude is top << bits, with so many raw bits (and low more of NUMBER_LOW), and
 * a raw sign behind them, or a known one. */
typedef struct NumberCode {
    i8 top[SYMBOLS], bits[SYMBOLS], raw_sign[SYMBOLS], negative[SYMBOLS];
} NumberCode;

static const NumberCode number_codes[NUMBER_WAYS] = {
    [NUMBER_FINE] = {.top = {0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3, 2, 3, 1, 1, 1},
                     .bits = {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 4, 5, 0},
                     .raw_sign = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1},
                     .negative = {0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0}},
    [NUMBER_ODD] = {.top = {0, 1, 1, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 1},
                    .bits = {0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0},
                    .raw_sign = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    [NUMBER_LOW] = {.top = {0, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 1},
                    .bits = {0, -1, -1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0},
                    .raw_sign = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
};

/* Without branches, as none could be predicted. */
SIMD_INLINE i32 decode_number(PointCodec *codec, u32 a, u32 b, u32 way, u32 low)
{
    u32 symbol = symbol_decode(&codec->coder, &codec->ends[a], &codec->ends[b]);
    const NumberCode *codes = &number_codes[way];
    u32 bits = (u32)codes->bits[symbol] + low, raw_sign = (u32)codes->raw_sign[symbol];
    if (PL_UNLIKELY(symbol == ESCAPE)) {
        bits = u32_min(code_raw(codec, true, 0, ESCAPE_BITS), ESCAPE_MAX);
    }
    u32 rest = code_raw(codec, true, 0, bits + raw_sign);
    i32 size = (i32)((u32)codes->top[symbol] << (bits & 31) | rest >> raw_sign);
    i32 sign = -(i32)((rest & raw_sign) | (u32)codes->negative[symbol]);
    return (size ^ sign) - (low > 0 ? 0 : sign);
}

/* Magnitudes below a quarter of the mean share one symbol. `size`: expected, of three numbers,
 * 16ths. */
static inline u32 low_of(u32 size)
{
    u32 length = u32_min(u32_bit_length(size), 21); /* range of the classes */
    return length > 9 ? length - 9 : 0;
}

/* Symbols of magnitudes of small numbers; the next one is the same, negative, up to FINE_SIGNED. */
static const u8 fine_symbols[64] = {0,  1,  3,  5,  7,  7,  9,  9,  11, 11, 11, 11, 12, 12, 12, 12,
                                    13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13,
                                    14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
                                    14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14};
enum {
    FINE_SIGNED = 10
};

SIMD_INLINE i32 encode_fine(PointCodec *codec, u32 a, u32 b, i32 value)
{
    u32 negative = value < 0, size = i32_magnitude(value);
    u32 symbol = size < PL_COUNT(fine_symbols) ? fine_symbols[size] : ESCAPE;
    symbol += symbol > 0 && symbol <= FINE_SIGNED ? negative : 0;
    symbol_encode(&codec->coder, &codec->ends[a], &codec->ends[b], symbol);
    if (codec->counts != NULL) {
        codec->counts->symbols[a][symbol]++;
        codec->counts->symbols[b][symbol]++;
    }
    u32 bits =
        symbol == ESCAPE ? u32_bit_length(size) - 1 : (u32)number_codes[NUMBER_FINE].bits[symbol];
    u32 rest = size & ((1u << bits) - 1);
    if (symbol == ESCAPE) {
        code_raw(codec, false, bits, ESCAPE_BITS);
    }
    if (symbol > FINE_SIGNED) {
        code_raw(codec, false, rest << 1 | negative, bits + 1);
    } else if (bits > 0) {
        code_raw(codec, false, rest, bits);
    }
    return value;
}

static inline u32 way_of(u32 low)
{
    return low > 0 ? NUMBER_LOW : NUMBER_ODD;
}

/* ---- the three numbers of a point ---- */

/* Ratio of a size to the expected one: 0..4. */
static inline u32 pace_of(u32 size, u32 expected)
{
    return (4 * size > expected) + (2 * size > expected) + (size > expected) +
           (size > 2 * expected);
}

/* Every few points: updates how the sizes of each axis compare with what is expected of it. */
static void learn_axes(PointCodec *codec)
{
    for (u32 a = 0; a < 3; a++) {
        u64 ratio = (u64)codec->axis_sum[a] * RATIO_ONE / (codec->axis_expected[a] + 1);
        codec->axis_ratio[a] = ratio < 1 ? 1 : ratio > 3 * RATIO_ONE ? 3 * RATIO_ONE : (u32)ratio;
        codec->axis_sum[a] = codec->axis_sum[a] / 4 * 3;
        codec->axis_expected[a] = codec->axis_expected[a] / 4 * 3;
    }
}

/* What is known of a point's axes. */
typedef struct Axes {
    i32x4 sizes;        /* expected magnitudes, 48ths */
    i32x4 fraction;     /* of the prediction, 16ths */
    u32 made, expected; /* sums over the axes coded so far, 48ths */
} Axes;

/* Codes the n-th axis. Small numbers are mirrored where the fraction is negative, so that both
 * share rows. */
SIMD_INLINE i32 code_axis(PointCodec *codec, bool decoding, u32 n, u32 axis, Axes *axes, i32 value)
{
    u32 size = (u32)axes->sizes[axis];
    i32 fraction = axes->fraction[axis];
    u32 own = size * codec->axis_ratio[axis] / RATIO_ONE;
    u32 before = n == 0 ? 0 : 5 * n - 4 + pace_of(axes->made, axes->expected);
    u32 class = class_of(own), low = low_of(own);
    bool fine = class < FINE_CLASSES;
    i32 mirror = fine ? fraction >> 31 : 0;
    u32 level = u32_min((u32)((fraction ^ mirror) - mirror), 7) / 2;
    u32 a = fine ? ROW_FINE + ((n == 0) * FRACTIONS + level) * FINE_CLASSES + class
                 : ROW_MOVED + (n == 0) * SIZE_CLASSES + class;
    u32 b = fine ? ROW_FINE_AXES + (before * FRACTIONS + level) * (FINE_CLASSES / 2) + class / 2
                 : ROW_MOVED_AXES + before * (SIZE_CLASSES / 2) + class / 2;
    value = (value ^ mirror) - mirror;
    if (decoding) {
        u32 way = fine ? NUMBER_FINE : way_of(low);
        value = decode_number(codec, a, b, way, low);
    } else if (fine) {
        value = encode_fine(codec, a, b, value);
    } else {
        value = encode_number(codec, a, b, low, value);
    }
    value = (value ^ mirror) - mirror;
    u32 cost = 48 * u32_min(i32_magnitude(value), SIZE_MAX_48);
    codec->axis_sum[axis] += cost;
    codec->axis_expected[axis] += size;
    axes->made += cost;
    axes->expected += own;
    return value;
}

/* Codes *residual of each axis. sizes: expected, 16ths. */
SIMD_INLINE void code_axes(PointCodec *codec, bool decoding, i32x4 sizes, i32x4 fraction,
                           i32x4 *residual)
{
    Axes axes = {.sizes = sizes * 3, .fraction = fraction};
    i32 y = code_axis(codec, decoding, 0, 1, &axes, (*residual)[1]);
    i32 x = code_axis(codec, decoding, 1, 0, &axes, (*residual)[0]);
    i32 z = code_axis(codec, decoding, 2, 2, &axes, (*residual)[2]);
    *residual = (i32x4){x, y, z};
    if (++codec->axis_count % AXIS_POINTS == 0) {
        learn_axes(codec);
    }
}

static i32 code_scalar_step(PointCodec *codec, i32 step)
{
    u32 size = codec->scalar_size, row = ROW_SCALAR + class_of(size) / 2, low = low_of(size);
    step = codec->coder.decoding ? decode_number(codec, row, ROW_SCALARS, way_of(low), low)
                                 : encode_number(codec, row, ROW_SCALARS, low, step);
    codec->scalar_size = (3 * size + 48 * u32_min(i32_magnitude(step), SIZE_MAX_48)) / 4;
    return step;
}

static i32 code_weight(PointCodec *codec, i32 weight, u32 bits, i32 unit)
{
    i32 middle = 1 << (bits - 1);
    return ((i32)code_raw_bits(codec, (u32)(weight / unit + middle), bits) - middle) * unit;
}

static void code_plan(PointCodec *codec, const PointSpan *span)
{
    Plan *plan = &codec->model.plan;
    if (codec->coder.decoding) {
        *plan = point_plan_default;
    }
    plan->lives = code_raw_bits(codec, plan->lives, 1) != 0;
    plan->scalars = code_raw_bits(codec, plan->scalars, 1) != 0;
    plan->fitted = code_raw_bits(codec, plan->fitted, 1) != 0;
    plan->edge = code_raw_bits(codec, plan->edge, GRID_EDGE_BITS);
    bool strided = code_raw_bits(codec, plan->stride > 0, 1) != 0;
    plan->stride = strided ? code_raw_bits(codec, plan->stride, 12) : 0;
    plan->guess = plan->lives ? code_raw_bits(codec, plan->guess, 2) : 0;
    if (!plan->fitted) {
        return;
    }
    plan->split = size_weight(code_raw_bits(codec, size_weight_code(plan->split), 6));
    for (u32 set = 0; set < (plan->split > 0 ? WEIGHT_SETS : 1); set++) {
        for (u32 k = 0; k < (strided ? WEIGHTS : LOOSE_WEIGHTS); k++) {
            WeightCode code = point_weight_codes[k];
            i32 *weight = &plan->weights[set][k];
            *weight = code_weight(codec, *weight, code.bits, code.unit);
        }
    }
    for (u32 k = 0; k < SIZES; k++) {
        if ((k != SIZE_UP || strided) && (k != SIZE_USUAL || span->chunks != NULL)) {
            plan->sizes[k] = size_weight(code_raw_bits(codec, size_weight_code(plan->sizes[k]), 6));
        }
    }
}

/* ---- the walk ---- */

/* Codes the generation; returns whether the point continues from its old state. */
static bool code_life(PointCodec *codec, const QPoint *old, QPoint *now)
{
    if (!codec->model.plan.lives) {
        now->generation = old->generation;
        return now->generation != 0;
    }
    u32 flag = FLAG_CHANGES + 2 * (old->generation == 0) + codec->last_changed;
    bool changed = code_flag(codec, flag, now->generation != old->generation) != 0;
    codec->last_changed = changed;
    if (!changed) {
        now->generation = old->generation;
        return now->generation != 0;
    }
    if (old->generation != 0 && code_flag(codec, FLAG_FREE, now->generation == 0) != 0) {
        now->generation = 0;
        return false;
    }
    u32 same = now->generation == codec->last_generation;
    if (code_flag(codec, FLAG_SAME, same) != 0) {
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
    changed = code_flag(codec, FLAG_SCALAR + codec->last_scalar, changed) != 0;
    codec->last_scalar = changed;
    i32 by = 0;
    if (changed) {
        by = code_scalar_step(codec, (i16)(now->scalar - old->scalar));
    }
    now->scalar = (u16)(old->scalar + by);
}

/* Codes the numbers of a new point, with the long-term (slow) and short-term (fast) mean of each
 * axis. */
static void code_new_axes(PointCodec *codec, i32x4 *residual)
{
    static const u8 axes[3] = {1, 0, 2};
    u32 before = 0, window = u32_min(codec->new_count + 2, NEW_WINDOW);
    codec->new_count = window - 1;
    for (u32 n = 0; n < 3; n++) {
        u32 axis = axes[n], slow = codec->new_slow[axis], fast = codec->new_fast[axis];
        u32 low = low_of(slow), pace = before * 5 + pace_of(fast, slow);
        u32 a = ROW_NEW + (n == 0) * (SIZE_CLASSES / 2) + class_of(slow) / 2;
        u32 b = ROW_NEW_PACE + pace * NEW_LOWS + u32_min(low, NEW_LOWS - 1);
        i32 value = codec->coder.decoding ? decode_number(codec, a, b, way_of(low), low)
                                          : encode_number(codec, a, b, low, (*residual)[axis]);
        u32 size = 48 * u32_min(i32_magnitude(value), SIZE_MAX_48);
        (*residual)[axis] = value;
        codec->new_slow[axis] = (slow * (window - 1) + size) / window;
        codec->new_fast[axis] = (3 * fast + size) / 4;
        before = 1 + pace_of(size, slow);
    }
}

static void code_new(PointCodec *codec, QPoint *now, u32 i)
{
    i32 expected[3];
    i32x4 residual = {0};
    expect_new(now, i, &codec->model.plan, expected);
    for (u32 a = 0; a < 3; a++) {
        residual[a] = now[i].position[a] - expected[a];
    }
    code_new_axes(codec, &residual);
    for (u32 a = 0; a < 3; a++) {
        now[i].position[a] = clamp((i64)expected[a] + residual[a], POSITION_CODE_MAX);
    }
}

/* Codes the residual of a continuing point with expected sizes, unless it stays at rest; returns
 * whether it does. */
SIMD_INLINE bool code_residual(PointCodec *codec, bool decoding, i32x4 sizes, i32x4 fraction,
                               bool rested, bool rests, i32x4 *residual)
{
    u32 size = (u32)sizes[0] + (u32)sizes[1] + (u32)sizes[2];
    if (rested && code_flag(codec, FLAG_RESTS + class_of(size), rests) != 0) {
        return true;
    }
    code_axes(codec, decoding, sizes, fraction, residual);
    return false;
}

static void encode_moved(PointCodec *codec, const QPoint *old, u32 i, const QPoint *now)
{
    const PointFound *found = &codec->model.found[i];
    i32x4 residual = found->residual;
    /* Evaluated only here: reading a point as a vector right after writing it is slow. */
    bool rests = found->motion.rested && sum_of_sizes(position_of(now) - position_of(old)) == 0;
    i32x4 sizes = expected_sizes(&codec->model.plan, found->sizes);
    code_residual(codec, false, sizes, found->fraction, found->motion.rested, rests, &residual);
}

static void decode_moved(PointCodec *codec, const PointSpan *span, u32 i, QPoint *now)
{
    PointModel *model = &codec->model;
    const QPoint *old = &span->state[0][i];
    PointKnown known;
    known.motion = motion_of(model, span, i);
    i32x4 place = point_grid_place(&model->grid, position_of(old));
    known.near = ask_neighbours(model, place, &known.motion);
    know_point(model, span, i, &known);
    i32x4 at = position_of(old), fraction, residual = {0};
    i32x4 expected = expect_moved(&model->plan, &known, at, &fraction);
    i32x4 sizes = expected_sizes(&model->plan, known.sizes);
    i32x4 position = at;
    if (!code_residual(codec, true, sizes, fraction, known.motion.rested, false, &residual)) {
        position = clamp3(expected + residual, POSITION_CODE_MAX);
    }
    memcpy(now->position, &position, sizeof now->position);
    i32x4 moved = moved_by(now, old);
    hint_neighbours(model, i, place, &known.motion, &known.near, moved);
    model->moved[i] = moved;
    model->sizes[i] = residual_sizes(position - expected);
}

static void load_start(PointCodec *codec)
{
    memcpy(codec->flags, codec->start->flags, sizeof codec->flags);
    memcpy(codec->ends, codec->start->ends, sizeof codec->ends);
}

static void prepare(PointCodec *codec, const PointSpan *span)
{
    if (codec->counts == NULL && !codec->model.chained) {
        load_start(codec);
    }
    codec->raw = 0;
    codec->raw_bits = codec->raw_at = 0;
    codec->last_generation = 1;
    codec->last_changed = codec->last_scalar = false;
    codec->new_count = codec->axis_count = 0;
    for (u32 a = 0; a < 3; a++) {
        codec->new_slow[a] = codec->new_fast[a] = NEW_START;
        codec->axis_sum[a] = codec->axis_expected[a] = 0;
        codec->axis_ratio[a] = RATIO_ONE;
    }
    codec->scalar_size = 48;
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
    code_plan(codec, span);
    if (decoding) {
        point_grid_begin(&codec->model.grid, span->count, codec->model.plan.edge);
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
            code_new(codec, now, i);
        }
    }
}

static bool span_is_valid(const PointSpan *span)
{
    bool valid = span->count <= POINT_SPAN_MAX;
    u32 before = 0;
    for (u32 s = 0; s < POINT_STATES && span->state[s] != NULL; s++) {
        valid = valid && span->back[s] > before && span->back[s] < 1u << 24;
        before = span->back[s];
    }
    return valid;
}

/* ---- the codec ---- */

PointCodec *point_codec_create(const PointTables *start)
{
    PointCodec *codec = aligned_alloc(32, (sizeof *codec + 31) / 32 * 32);
    if (codec == NULL) {
        return NULL;
    }
    memset(codec, 0, sizeof *codec);
    codec->start = start;
    if (start == NULL) {
        codec->start = codec->own = malloc(sizeof *codec->own);
        for (u32 i = 0; codec->own != NULL && i < POINT_ROWS * POINT_ROW; i++) {
            codec->own->ends[i] = (u16)((i % POINT_ROW + 1) * (SYMBOL_ONE / SYMBOLS));
        }
        for (u32 i = 0; codec->own != NULL && i < POINT_FLAGS; i++) {
            codec->own->flags[i] = 32768;
        }
    }
    codec->model.moved = calloc(POINT_SPAN_MAX, sizeof *codec->model.moved);
    codec->model.sizes = calloc(POINT_SPAN_MAX, sizeof *codec->model.sizes);
    codec->model.usual = calloc(POINT_SLOTS, sizeof *codec->model.usual);
    codec->model.going = calloc(POINT_SPAN_MAX, sizeof *codec->model.going);
    codec->model.found = aligned_alloc(32, POINT_SPAN_MAX * sizeof *codec->model.found);
    codec->model.equations = aligned_alloc(32, FIT_EQUATIONS_MAX * sizeof *codec->model.equations);
    codec->model.places = aligned_alloc(32, POINT_SPAN_MAX / 8 * sizeof *codec->model.places);
    codec->model.points = calloc(POINT_SPAN_MAX, sizeof *codec->model.points);
    codec->model.grid.cells = calloc(GRID_CELLS_MAX + 1, sizeof *codec->model.grid.cells);
    codec->model.grid.hints = aligned_alloc(32, POINT_SPAN_MAX * sizeof *codec->model.grid.hints);
    point_grid_weights(codec->model.weights);
    if (codec->start == NULL || codec->model.moved == NULL || codec->model.sizes == NULL ||
        codec->model.usual == NULL || codec->model.going == NULL ||
        codec->model.equations == NULL || codec->model.found == NULL ||
        codec->model.places == NULL || codec->model.points == NULL ||
        codec->model.grid.cells == NULL || codec->model.grid.hints == NULL) {
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
        free(codec->model.moved);
        free(codec->model.sizes);
        free(codec->model.usual);
        free(codec->model.going);
        free(codec->model.found);
        free(codec->model.equations);
        free(codec->model.places);
        free(codec->model.points);
        free(codec->model.grid.cells);
        free(codec->model.grid.hints);
        free(codec);
    }
}

void point_codec_chain(PointCodec *codec)
{
    codec->model.chained = true;
    memset(codec->model.usual, 0, POINT_SLOTS * sizeof *codec->model.usual);
    load_start(codec);
}

bool point_codec_learn(PointCodec *codec)
{
    load_start(codec);
    codec->counts = calloc(1, sizeof *codec->counts);
    return codec->counts != NULL;
}

/* ---- training ---- */

/* Smooths the counts of a class (of `count` in the rows at `rows`): its own counts, fewer of its
 * neighbours, and a few of all classes at the same position in their octave. */
static void blend(const SymbolCounts *counts, u32 rows, u32 count, u32 class, u32 octave,
                  u64 weights[SYMBOLS])
{
    static const u16 shares[5] = {4, 16, 256, 16, 4};
    u64 all[SYMBOLS] = {0}, sum = 1;
    for (u32 k = class % octave; k < count; k += octave) {
        for (u32 s = 0; s < SYMBOLS; s++) {
            all[s] += counts->symbols[rows + k][s];
            sum += counts->symbols[rows + k][s];
        }
    }
    for (u32 s = 0; s < SYMBOLS; s++) {
        weights[s] = (all[s] * 64 + 4) * 256 / sum + 1;
        for (u32 k = 0; k < PL_COUNT(shares); k++) {
            u32 at = class + k - 2;
            /* In another octave the symbols have another meaning. */
            if (at < count && at / octave == class / octave) {
                weights[s] += (u64)shares[k] * counts->symbols[rows + at][s];
            }
        }
    }
}

static void ends_of(const u64 weights[SYMBOLS], u16 *ends)
{
    u64 sum = 0;
    for (u32 s = 0; s < SYMBOLS; s++) {
        sum += weights[s];
    }
    u32 end = 0, largest = 0, parts[SYMBOLS];
    for (u32 s = 0; s < SYMBOLS; s++) {
        parts[s] = 1 + (u32)(weights[s] * (SYMBOL_ONE - SYMBOLS) / sum);
        largest = parts[s] > parts[largest] ? s : largest;
        end += parts[s];
    }
    parts[largest] += SYMBOL_ONE - end; /* rounding remainder */
    end = 0;
    for (u32 s = 0; s < SYMBOLS; s++) {
        end += parts[s];
        ends[s] = (u16)end;
    }
}

void point_codec_tables(const PointCodec *codec, PointTables *tables)
{
    /* Rows of a kind, its classes and classes per octave. */
    static const u16 kinds[][3] = {
        {ROW_MOVED, SIZE_CLASSES, 4},      {ROW_MOVED_AXES, SIZE_CLASSES / 2, 2},
        {ROW_NEW, SIZE_CLASSES / 2, 2},    {ROW_NEW_PACE, NEW_PACES, 1},
        {ROW_SCALAR, SIZE_CLASSES / 2, 2}, {ROW_SCALARS, 1, 1},
        {ROW_FINE, FINE_CLASSES, 4},       {ROW_FINE_AXES, FINE_CLASSES / 2, 2},
    };
    u32 kind = 0;
    memcpy(tables->flags, codec->flags, sizeof tables->flags);
    for (u32 row = 0; row < POINT_ROWS; row++) {
        kind += kind + 1 < PL_COUNT(kinds) && row == kinds[kind + 1][0];
        u32 count = kinds[kind][1], class = (row - kinds[kind][0]) % count;
        u64 weights[SYMBOLS];
        blend(codec->counts, row - class, count, class, kinds[kind][2], weights);
        ends_of(weights, tables->ends + (size_t)row * POINT_ROW);
    }
}

/* ---- both ends ---- */

/* Ends the range coder's part and appends the raw bits. Returns the bytes of both, 0: they did
 * not fit. */
static u32 end(PointCodec *codec, u32 capacity)
{
    SymbolCoder *coder = &codec->coder;
    if (codec->raw_bits > 0) {
        code_raw(codec, false, 0, 8 - codec->raw_bits % 8);
    }
    symbol_encode_end(coder);
    if (coder->failed) {
        return 0;
    }
    memmove(coder->out + coder->used, coder->out + coder->capacity, capacity - coder->capacity);
    return coder->used + capacity - coder->capacity;
}

u32 point_encode(PointCodec *codec, const PointSpan *span, const QPoint *now, u8 *out, u32 capacity)
{
    CHECK(span_is_valid(span));
    static const QPoint none;
    for (u32 i = 0; i < span->count; i++) {
        codec->model.points[i] = now[i].generation != 0 ? now[i] : none;
    }
    prepare(codec, span);
    point_plan_make(&codec->model, span, codec->model.points);
    symbol_encode_begin(&codec->coder, out, capacity);
    walk(codec, span, codec->model.points);
    learn_slots(&codec->model, span);
    return end(codec, capacity);
}

void point_decode(PointCodec *codec, const PointSpan *span, const u8 *code, u32 bytes, QPoint *now)
{
    CHECK(span_is_valid(span));
    memset(now, 0, span->count * sizeof *now);
    prepare(codec, span);
    symbol_decode_begin(&codec->coder, code, bytes);
    walk(codec, span, now);
    learn_slots(&codec->model, span);
}
