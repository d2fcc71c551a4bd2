/*
 * chunk.c: the chunk codec. A dense state is treated as a few columns of unsigned numbers (poses:
 * three coordinates, index of the rotation's largest component, the three others, flags,
 * generation); elements equal to the baseline are omitted, and each column of the others is coded
 * in the cheapest of six modes. A key is a delta against zeros. PROTOCOL.md, "Chunk codes", is the
 * exact specification.
 */
#include "protocol/codec/chunk.h"
#include "protocol/codec/bits.h"
#include "protocol/field/field_ops.h"
#include "shared/base/check.h"
#include "shared/base/error.h"

#include <string.h>

enum {
    ELEMENTS_MAX = CHUNK_VOXELS_EDGE * CHUNK_VOXELS_EDGE * CHUNK_VOXELS_EDGE,
    VALUES_MAX = 2 * ELEMENTS_MAX, /* maximal elements × columns: two channels of voxels */

    CODE_BITS = 2,
    MASK_BITS = 2,
    MODE_BITS = 3,
    WIDTH_BITS = 6,
};

/* Code of the whole chunk. */
enum {
    CODE_SAME = 0,    /* equals the baseline */
    CODE_COLUMNS = 1, /* mask of coded elements, then columns */
    CODE_RAW = 2,     /* full value of every column of every element */
};
/* Set of coded elements. */
enum {
    MASK_ALL = 0,
    MASK_BITMAP = 1,
    MASK_LIST = 2,
};
/* Mode of a column. SPLIT: one bit per element selects the narrow or the wide width. */
enum {
    MODE_SAME = 0,
    MODE_DELTA = 1,
    MODE_DELTA_SPLIT = 2,
    MODE_RANGE = 3, /* smallest value, then offsets */
    MODE_NEXT = 4,  /* difference to the previous coded element */
    MODE_NEXT_SPLIT = 5,
    MODE_COUNT
};

/* ---- geometry ---- */

typedef struct ChunkBox {
    u32 first;      /* element index of the box's corner */
    u32 nx, ny, nz; /* elements along each axis */
    u32 row, layer; /* index step from row to row, from layer to layer */
} ChunkBox;

static void chunk_grid(const FieldDesc *field, u32 dims[3], u32 edge[3])
{
    const FieldOps *ops = field_ops(field->kind);
    dims[0] = field->capacity;
    dims[1] = dims[2] = 1;
    for (u32 axis = 0; axis < 3; axis++) {
        edge[axis] = ops->edge[axis];
        if (ops->axes > 1 && axis < ops->axes) {
            dims[axis] = field->dims[axis];
        }
    }
}

u32 chunk_count(const FieldDesc *field)
{
    u32 dims[3], edge[3];
    chunk_grid(field, dims, edge);
    u32 count = 1;
    for (u32 axis = 0; axis < 3; axis++) {
        count *= (dims[axis] + edge[axis] - 1) / edge[axis];
    }
    return count;
}

static ChunkBox chunk_box(const FieldDesc *field, u32 chunk)
{
    const FieldOps *ops = field_ops(field->kind);
    u32 dims[3], edge[3], at[3];
    if (ops->axes == 1) {
        u32 first = chunk * ops->edge[0];
        return (ChunkBox){
            first,          u32_min(ops->edge[0], field->capacity - first), 1, 1, field->capacity,
            field->capacity};
    }
    chunk_grid(field, dims, edge);
    for (u32 axis = 0; axis < 3; axis++) {
        u32 chunks = (dims[axis] + edge[axis] - 1) / edge[axis];
        at[axis] = chunk % chunks * edge[axis];
        chunk /= chunks;
    }
    ChunkBox box;
    box.row = dims[0];
    box.layer = dims[0] * dims[1];
    box.first = at[0] + at[1] * box.row + at[2] * box.layer;
    box.nx = u32_min(edge[0], dims[0] - at[0]);
    box.ny = u32_min(edge[1], dims[1] - at[1]);
    box.nz = u32_min(edge[2], dims[2] - at[2]);
    return box;
}

u32 chunk_elements(const FieldDesc *field, u32 chunk)
{
    ChunkBox box = chunk_box(field, chunk);
    return box.nx * box.ny * box.nz;
}

u32 chunk_state_bytes(const FieldDesc *field, u32 chunk)
{
    return chunk_elements(field, chunk) * field_element_bytes(field);
}

u32 chunk_element_index(const FieldDesc *field, u32 chunk, u32 i)
{
    ChunkBox box = chunk_box(field, chunk);
    u32 x = i % box.nx, y = i / box.nx % box.ny, z = i / (box.nx * box.ny);
    return box.first + x + y * box.row + z * box.layer;
}

u32 chunk_of(const FieldDesc *field, u32 element, u32 *i)
{
    u32 dims[3], edge[3], chunk = 0, step = 1, each = 1;
    chunk_grid(field, dims, edge);
    *i = 0;
    for (u32 axis = 0; axis < 3; axis++) {
        u32 at = element % dims[axis], first = at / edge[axis] * edge[axis];
        chunk += at / edge[axis] * step;
        *i += (at - first) * each;
        step *= (dims[axis] + edge[axis] - 1) / edge[axis];
        each *= u32_min(edge[axis], dims[axis] - first);
        element /= dims[axis];
    }
    return chunk;
}

void chunk_gather(const FieldDesc *field, u32 chunk, const void *elements, void *state)
{
    ChunkBox box = chunk_box(field, chunk);
    u32 bytes = field_element_bytes(field);
    u8 *out = state;
    for (u32 z = 0; z < box.nz; z++) {
        for (u32 y = 0; y < box.ny; y++) {
            size_t at = box.first + y * box.row + z * box.layer;
            memcpy(out, (const u8 *)elements + at * bytes, (size_t)box.nx * bytes);
            out += (size_t)box.nx * bytes;
        }
    }
}

static void scatter(const ChunkBox *box, u32 bytes, const void *state, void *elements)
{
    const u8 *in = state;
    for (u32 z = 0; z < box->nz; z++) {
        for (u32 y = 0; y < box->ny; y++) {
            size_t at = box->first + y * box->row + z * box->layer;
            memcpy((u8 *)elements + at * bytes, in, (size_t)box->nx * bytes);
            in += (size_t)box->nx * bytes;
        }
    }
}

void chunk_scatter(const FieldDesc *field, u32 chunk, const void *state, void *elements)
{
    ChunkBox box = chunk_box(field, chunk);
    scatter(&box, field_element_bytes(field), state, elements);
}

void chunk_scatter_f32(const FieldDesc *field, u32 chunk, const f32 *dense, f32 *elements)
{
    ChunkBox box = chunk_box(field, chunk);
    scatter(&box, sizeof *dense, dense, elements);
}

/* ---- states as columns ---- */

static FieldColumns columns_of(const FieldDesc *field)
{
    FieldColumns columns = field_ops(field->kind)->columns;
    u32 each = columns.count;
    columns.count *= field->channels;
    CHECK(columns.count <= FIELD_COLUMNS_MAX);
    for (u32 i = each; i < columns.count; i++) {
        columns.bits[i] = columns.bits[i - each];
    }
    return columns;
}

/* ---- coding of one column ---- */

static u32 low_mask(u32 bits)
{
    return bits >= 32 ? ~0u : (1u << bits) - 1;
}

/* Difference a − b modulo 2^bits, mapped so that small magnitudes come first; below 2^bits. */
static u32 fold(u32 a, u32 b, u32 bits)
{
    i32 d = (i32)((a - b) << (32 - bits)) >> (32 - bits);
    return (u32)d << 1 ^ (u32)(d >> 31);
}

static u32 unfold(u32 folded, u32 b, u32 bits)
{
    u32 d = folded >> 1 ^ (0 - (folded & 1));
    return (b + d) & low_mask(bits);
}

typedef struct Widths {
    u32 bits;        /* cost of all values, including the selector bits */
    u8 wide, narrow; /* narrow == wide: one width for all */
} Widths;

/* The cheapest one or two widths for `count` values with these bit lengths. */
static Widths widths_choose(const u16 lengths[33], u32 count)
{
    u32 wide = 32;
    while (wide > 0 && lengths[wide] == 0) {
        wide--;
    }
    Widths best = {count * wide, (u8)wide, (u8)wide};
    u32 within = 0;
    for (u32 narrow = 0; narrow < wide; narrow++) {
        within += lengths[narrow];
        u32 bits = WIDTH_BITS + count + within * narrow + (count - within) * wide;
        if (bits < best.bits) {
            best = (Widths){bits, (u8)wide, (u8)narrow};
        }
    }
    return best;
}

typedef struct ColumnPlan {
    u32 bits; /* cost after the mode bits */
    u32 low;  /* MODE_RANGE */
    u8 mode, wide, narrow;
} ColumnPlan;

typedef struct Column {
    u32 bits;                /* of a value */
    u32 count;               /* coded elements */
    u32 value[ELEMENTS_MAX]; /* of the coded elements */
    u32 delta[ELEMENTS_MAX]; /* folded, to the baseline */
    u32 next[ELEMENTS_MAX];  /* folded, to the previous coded element */
} Column;

static ColumnPlan column_plan(Column *column, const u32 *values, const u32 *base, const u16 *coded)
{
    u16 deltas[33] = {0}, nexts[33] = {0};
    u32 low = ~0u, high = 0, before = 0;
    for (u32 i = 0; i < column->count; i++) {
        u32 x = values[coded[i]];
        u32 delta = fold(x, base[coded[i]], column->bits);
        u32 next = fold(x, before, column->bits);
        column->value[i] = x;
        column->delta[i] = delta;
        column->next[i] = next;
        deltas[u32_bit_length(delta)]++;
        nexts[u32_bit_length(next)]++;
        low = u32_min(low, x);
        high = u32_max(high, x);
        before = x;
    }
    if (deltas[0] == column->count) {
        return (ColumnPlan){.mode = MODE_SAME};
    }
    Widths w = widths_choose(deltas, column->count);
    ColumnPlan best = {WIDTH_BITS + w.bits, 0, w.wide == w.narrow ? MODE_DELTA : MODE_DELTA_SPLIT,
                       w.wide, w.narrow};
    w = widths_choose(nexts, column->count);
    if (WIDTH_BITS + w.bits < best.bits) {
        best = (ColumnPlan){WIDTH_BITS + w.bits, 0,
                            w.wide == w.narrow ? MODE_NEXT : MODE_NEXT_SPLIT, w.wide, w.narrow};
    }
    u32 width = u32_bit_length(high - low);
    u32 range_bits = column->bits + WIDTH_BITS + column->count * width;
    if (range_bits < best.bits) {
        best = (ColumnPlan){range_bits, low, MODE_RANGE, (u8)width, (u8)width};
    }
    return best;
}

static void column_put(BitWriter *writer, const Column *column, const ColumnPlan *plan)
{
    bits_put(writer, plan->mode, MODE_BITS);
    if (plan->mode == MODE_SAME) {
        return;
    }
    bool split = plan->mode == MODE_DELTA_SPLIT || plan->mode == MODE_NEXT_SPLIT;
    bool delta = plan->mode == MODE_DELTA || plan->mode == MODE_DELTA_SPLIT;
    const u32 *folded = delta ? column->delta : column->next;
    if (plan->mode == MODE_RANGE) {
        bits_put(writer, plan->low, column->bits);
    }
    bits_put(writer, plan->wide, WIDTH_BITS);
    if (split) {
        bits_put(writer, plan->narrow, WIDTH_BITS);
        u32 limit = low_mask(plan->narrow);
        for (u32 i = 0; i < column->count; i++) {
            bool wide = folded[i] > limit;
            bits_put(writer, (u64)folded[i] << 1 | wide, 1u + (wide ? plan->wide : plan->narrow));
        }
        return;
    }
    for (u32 i = 0; plan->wide > 0 && i < column->count; i++) {
        u32 v = plan->mode == MODE_RANGE ? column->value[i] - plan->low : folded[i];
        bits_put(writer, v, plan->wide);
    }
}

/* Reads one column into values[coded[i]]; other elements keep the baseline's values. */
static bool column_get(BitReader *reader, u32 bits, u32 count, const u16 *coded, u32 *values)
{
    u32 mode = (u32)bits_get(reader, MODE_BITS);
    if (mode == MODE_SAME) {
        return true;
    }
    if (mode >= MODE_COUNT) {
        return false;
    }
    bool split = mode == MODE_DELTA_SPLIT || mode == MODE_NEXT_SPLIT;
    bool delta = mode == MODE_DELTA || mode == MODE_DELTA_SPLIT;
    u32 low = mode == MODE_RANGE ? (u32)bits_get(reader, bits) : 0;
    u32 wide = (u32)bits_get(reader, WIDTH_BITS);
    u32 narrow = split ? (u32)bits_get(reader, WIDTH_BITS) : wide;
    if (wide > bits || narrow > wide) {
        return false;
    }
    u32 before = 0;
    for (u32 i = 0; i < count; i++) {
        u32 width = split && bits_get(reader, 1) == 0 ? narrow : wide;
        u32 v = (u32)bits_get(reader, width);
        u32 *value = &values[coded[i]];
        if (mode == MODE_RANGE) {
            *value = (low + v) & low_mask(bits);
        } else {
            *value = unfold(v, delta ? *value : before, bits);
        }
        before = *value;
    }
    return !reader->failed;
}

/* ---- coding of a chunk ---- */

/* Elements whose bytes differ from the baseline's (NULL: from zero). */
static u32 find_coded(u32 n, u32 bytes, const u8 *state, const u8 *baseline, u16 *coded)
{
    static const u8 zeros[sizeof(QPose)];
    u32 count = 0;
    for (u32 i = 0; i < n; i++) {
        const u8 *base = baseline != NULL ? baseline + i * bytes : zeros;
        coded[count] = (u16)i;
        count += memcmp(state + i * bytes, base, bytes) != 0;
    }
    return count;
}

/* Bits of an element's index in a chunk of n. */
static u32 index_bits(u32 n)
{
    return u32_bit_length(n - 1);
}

static u32 mask_choose(u32 n, u32 count, u32 *bits)
{
    u32 list = index_bits(n) * (count + 1);
    *bits = count == n ? 0 : u32_min(n, list);
    return count == n ? MASK_ALL : list < n ? MASK_LIST : MASK_BITMAP;
}

static void mask_put(BitWriter *writer, u32 mask, u32 n, const u16 *coded, u32 count)
{
    bits_put(writer, mask, MASK_BITS);
    if (mask == MASK_LIST) {
        bits_put(writer, count - 1, index_bits(n));
        for (u32 i = 0; i < count; i++) {
            bits_put(writer, coded[i], index_bits(n));
        }
    } else if (mask == MASK_BITMAP) {
        for (u32 i = 0, c = 0; i < n; i++) {
            bool is_coded = c < count && coded[c] == i;
            bits_put(writer, is_coded, 1);
            c += is_coded;
        }
    }
}

/* Returns the number of coded elements, 0 if malformed. */
static u32 mask_get(BitReader *reader, u32 n, u16 *coded)
{
    u32 mask = (u32)bits_get(reader, MASK_BITS);
    u32 count = 0;
    if (mask == MASK_ALL) {
        for (count = 0; count < n; count++) {
            coded[count] = (u16)count;
        }
    } else if (mask == MASK_BITMAP) {
        for (u32 i = 0; i < n; i++) {
            if (bits_get(reader, 1) != 0) {
                coded[count++] = (u16)i;
            }
        }
    } else if (mask == MASK_LIST) {
        u32 listed = (u32)bits_get(reader, index_bits(n)) + 1;
        for (; count < listed; count++) {
            u32 index = (u32)bits_get(reader, index_bits(n));
            if (index >= n || (count > 0 && index <= coded[count - 1])) {
                return 0;
            }
            coded[count] = (u16)index;
        }
    }
    return reader->failed ? 0 : count;
}

static u32 put_raw(const FieldColumns *columns, u32 n, const u32 *values, u8 *out)
{
    BitWriter writer;
    bit_writer_init(&writer, out, CHUNK_CODE_BYTES_MAX);
    bits_put(&writer, CODE_RAW, CODE_BITS);
    for (u32 c = 0; c < columns->count; c++) {
        for (u32 i = 0; i < n; i++) {
            bits_put(&writer, values[c * n + i], columns->bits[c]);
        }
    }
    CHECK(!writer.failed);
    return bit_writer_bytes(&writer);
}

u32 chunk_encode(const FieldDesc *field, u32 chunk, const void *state, const void *baseline,
                 u8 *out)
{
    static const u32 zero_state[CHUNK_STATE_BYTES_MAX / sizeof(u32)];
    u32 n = chunk_elements(field, chunk);
    u16 coded[ELEMENTS_MAX];
    u32 count = find_coded(n, field_element_bytes(field), state, baseline, coded);
    if (count == 0) {
        out[0] = CODE_SAME;
        return 1;
    }
    u32 values[VALUES_MAX], base[VALUES_MAX];
    const FieldOps *ops = field_ops(field->kind);
    FieldColumns columns = columns_of(field);
    CHECK(ops->load(field, n, state, values));
    CHECK(ops->load(field, n, baseline != NULL ? baseline : zero_state, base));

    u32 bits, raw_bits = 0;
    u32 mask = mask_choose(n, count, &bits);
    bits += MASK_BITS;
    BitWriter writer;
    bit_writer_init(&writer, out, CHUNK_CODE_BYTES_MAX);
    bits_put(&writer, CODE_COLUMNS, CODE_BITS);
    mask_put(&writer, mask, n, coded, count);
    Column column;
    column.count = count;
    for (u32 c = 0; c < columns.count; c++) {
        column.bits = columns.bits[c];
        ColumnPlan plan = column_plan(&column, values + c * n, base + c * n, coded);
        bits += MODE_BITS + plan.bits;
        raw_bits += n * column.bits;
        column_put(&writer, &column, &plan);
    }
    /* If columns overflowed, raw is shorter and always fits. */
    if (raw_bits < bits) {
        return put_raw(&columns, n, values, out);
    }
    VALIDATE(!writer.failed && writer.bit == CODE_BITS + bits);
    return bit_writer_bytes(&writer);
}

int chunk_decode(const FieldDesc *field, u32 chunk, const u8 *code, u32 code_bytes,
                 const void *baseline, void *state)
{
    static const u32 zero_state[CHUNK_STATE_BYTES_MAX / sizeof(u32)];
    u32 n = chunk_elements(field, chunk);
    u32 values[VALUES_MAX];
    u16 coded[ELEMENTS_MAX];
    BitReader reader;
    bit_reader_init(&reader, code, code_bytes);
    u32 form = (u32)bits_get(&reader, CODE_BITS);
    const void *base = baseline != NULL ? baseline : zero_state;
    if (reader.failed) {
        return ERROR_TRUNCATED;
    }
    if (form == CODE_SAME) {
        memmove(state, base, chunk_state_bytes(field, chunk));
        return 1;
    }
    const FieldOps *ops = field_ops(field->kind);
    FieldColumns columns = columns_of(field);
    if (form == CODE_RAW) {
        for (u32 c = 0; c < columns.count; c++) {
            for (u32 i = 0; i < n; i++) {
                values[c * n + i] = (u32)bits_get(&reader, columns.bits[c]);
            }
        }
    } else if (form == CODE_COLUMNS) {
        u32 count = mask_get(&reader, n, coded);
        if (count == 0 || !ops->load(field, n, base, values)) {
            return ERROR_FORMAT;
        }
        for (u32 c = 0; c < columns.count; c++) {
            if (!column_get(&reader, columns.bits[c], count, coded, values + c * n)) {
                return ERROR_FORMAT;
            }
        }
    } else {
        return ERROR_FORMAT;
    }
    bool padded = bits_get(&reader, (8 - reader.bit % 8) % 8) == 0;
    if (reader.failed || !padded) {
        return reader.failed ? ERROR_TRUNCATED : ERROR_FORMAT;
    }
    ops->store(field, n, state, values);
    return (int)(reader.bit / 8);
}

f32 chunk_state_error(const FieldDesc *field, u32 chunk, const void *a, const void *b)
{
    return field_ops(field->kind)->error(field, chunk_elements(field, chunk), a, b);
}
