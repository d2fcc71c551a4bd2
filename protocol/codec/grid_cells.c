/* grid_cells.c: see grid_cells.h. */
#include "protocol/codec/grid_cells.h"

#include "protocol/codec/chunk.h"

#include <string.h>

/* Data for predicting and coding a row of cells, except what depends on its own cells. */
typedef struct Row {
    i32 *seen;          /* [−2..] in the block, 16 × value of coded cells */
    i32 *missed;        /* prediction errors, 16ths */
    const i32 *picture; /* predicted in time */
    u32 sums[16];       /* of the filter in space, 256ths */
    u32 rough[16];      /* roughness classes of the picture */
    u32 errors[16];     /* of the surroundings, without the previous cell */
} Row;

/* Index steps to the cells above and below in a block. */
enum {
    UP = -GRID_BLOCK_ROW,
    UP3 = -GRID_VOXEL_ROW,
    UNDER = -GRID_VOXEL_LAYER,
};

/* Cells beside the row that are in no coded chunk get the error of the nearest coded cell. */
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

/* Eight cells of a row. */
typedef u32 Cells __attribute__((vector_size(32)));

SIMD_INLINE Cells cells_at(const i32 *at)
{
    Cells v;
    memcpy(&v, at, sizeof v);
    return v;
}

SIMD_INLINE Cells cells_absolute(Cells v)
{
    Cells sign = -(v >> 31);
    return (v ^ sign) - sign;
}

/* Roughness of the picture: second differences for cells, first differences for voxels. */
SIMD_INLINE Cells roughness(const i32 *t, bool deep)
{
    Cells here = cells_at(t), w = cells_at(t - 1), e = cells_at(t + 1);
    if (!deep) {
        Cells n = cells_at(t + UP), s = cells_at(t - UP);
        return cells_absolute(w + e - 2 * here) + cells_absolute(n + s - 2 * here);
    }
    Cells n = cells_at(t + UP3), s = cells_at(t - UP3);
    Cells below = cells_at(t + UNDER), above = cells_at(t - UNDER);
    return cells_absolute(w - here) + cells_absolute(e - here) + cells_absolute(n - here) +
           cells_absolute(s - here) + cells_absolute(below - here) + cells_absolute(above - here);
}

/* Computes everything that does not depend on the cells of the row itself. Features of the same
 * row are the first, and for 2D grids also the fifth. */
SIMD_INLINE void begin_row(const GridCodec *codec, bool deep, Row *row, u32 channel)
{
    const i32 *w = codec->filters[channel] + SPACE_AT, *missed = row->missed;
    u32 wide = deep ? CHUNK_VOXELS_EDGE : CHUNK_CELLS_EDGE;
    const u32 before = deep ? GRID_CODED_VOXELS : GRID_CODED_CELLS;
    const u32 beside = deep ? GRID_AROUND_VOXELS : GRID_AROUND_CELLS;
    for (u32 x = 0; x < wide; x += 8) {
        const i32 *t = row->picture + x, *v = row->seen + x;
        Cells sum = {0}, here = cells_at(t);
        for (u32 f = 1; f < before; f++) {
            if (deep || f != 4) {
                sum += (u32)w[f] * (cells_at(v + codec->coded_at[f]) - here);
            }
        }
        for (u32 f = 0; f < beside; f++) {
            sum += (u32)w[before + f] * (cells_at(t + codec->around_at[f]) - here);
        }
        memcpy(row->sums + x, &sum, sizeof sum);
        const i32 *n = missed + x + (deep ? UP3 : UP);
        Cells errors = 2 * cells_absolute(cells_at(n)) + cells_absolute(cells_at(n + 1));
        errors += deep ? 2 * cells_absolute(cells_at(missed + x + UNDER))
                       : cells_absolute(cells_at(n - 1));
        memcpy(row->errors + x, &errors, sizeof errors);
        Cells rough = roughness(t, deep) >> 2;
        memcpy(row->rough + x, &rough, sizeof rough);
    }
    for (u32 x = 0; x < wide; x++) {
        row->rough[x] = half_octaves(row->rough[x], ROUGHS - 1);
    }
}

/* v, or −v where `mirror` is −1. */
static inline i32 mirrored(i32 v, i32 mirror)
{
    return (v ^ mirror) - mirror;
}

/* Selects the contexts of cell x; `missed` is the error of the previous cell, `off` the distance
 * of the predicted value from the nearest integer. */
SIMD_INLINE void take_cell(GridCodec *codec, bool deep, u32 kind, const Row *row, u32 x, i32 missed,
                           i32 predicted, i32 off)
{
    i32 mirror = off >> 31; /* −1: mirrored */
    u32 distance = (u32)mirrored(off, mirror), phase = u32_min(distance / 2, PHASES - 1);
    u32 size = half_octaves(row->errors[x] + 2 * absolute(missed), SIZES - 1);
    u32 coarse = u32_min((size + 1) / 3, COARSE - 1);
    i32 s = (i32)x, west = mirrored(missed, mirror);
    i32 north = mirrored(row->missed[s + (deep ? UP3 : UP)], mirror);
    if (deep) {
        i32 below = mirrored(row->missed[s + UNDER], mirror);
        u32 level = u32_min((u32)(predicted + 8) >> GRID_FRACTION, LEVELS - 1);
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

/* Codes a row of cells, the first of which is element `i` of the span. */
SIMD_INLINE void code_row_as(GridCodec *codec, bool decoding, bool deep, Row *row, u32 nx, size_t i,
                             u32 channel, void *now)
{
    const GridPlan *plan = &codec->plan;
    u32 kind = KIND_CELL + 2 * deep + channel, step = plan->channels;
    const i32 *w = codec->filters[channel] + SPACE_AT, *t = row->picture;
    u32 west = (u32)w[0], farther = deep ? 0 : (u32)w[4];
    u32 over = channel > 0 ? (u32)w[codec->before + codec->beside] : 0;
    const i32 *other = codec->seen + i, *other_predicted = codec->predicted + i;
    const i32 most = deep ? 255 : 65535, highest = most << GRID_FRACTION;
    u8 *voxels = (u8 *)now + i * step + channel;
    u16 *cells = (u16 *)now + i * step + channel;
    RangeCoder coder = codec->mix.coder; /* in registers */
    begin_row(codec, deep, row, channel);
    for (u32 x = 0; x < nx && channel > 0; x++) {
        row->sums[x] += over * (u32)(other[x] - other_predicted[x]);
    }
    i32 last = row->seen[-1], last_but_one = deep ? 0 : row->seen[-2], missed = row->missed[-1];
    for (u32 x = 0; x < nx; x++) {
        u32 sum = row->sums[x] + west * (u32)(last - t[x]);
        if (!deep) {
            sum += farther * (u32)(last_but_one - t[x]);
        }
        i32 predicted = t[x] + ((i32)(sum + 128) >> GRID_COARSE);
        predicted = predicted < 0 ? 0 : predicted > highest ? highest : predicted;
        i32 base = (predicted + 8) >> GRID_FRACTION, phase = predicted - base * 16;
        i32 mirror = phase >> 31; /* −1: mirrored */
        take_cell(codec, deep, kind, row, x, missed, predicted, phase);
        i32 off = 0;
        if (!decoding) {
            off = (deep ? voxels[x * step] : cells[x * step]) - base;
        }
        off = code_signed_as(codec, &coder, decoding, deep, mirrored(off, mirror));
        i64 value = base + (((i64)off ^ mirror) - mirror);
        value = value < 0 ? 0 : value > most ? most : value;
        last_but_one = last;
        last = (i32)value * 16;
        missed = last - predicted;
        missed = missed > ERROR_MAX ? ERROR_MAX : missed < -ERROR_MAX ? -ERROR_MAX : missed;
        row->seen[x] = last;
        row->missed[x] = missed;
        if (decoding && deep) {
            voxels[x * step] = (u8)value;
        } else if (decoding) {
            cells[x * step] = (u16)value;
        }
    }
    codec->mix.coder = coder;
}

static void code_row_of_cells(GridCodec *codec, Row *row, u32 nx, size_t i, u32 channel, u8 *now)
{
    if (codec->mix.coder.decoding) {
        code_row_as(codec, true, false, row, nx, i, channel, now);
    } else {
        code_row_as(codec, false, false, row, nx, i, channel, now);
    }
}

static void code_row_of_voxels(GridCodec *codec, Row *row, u32 nx, size_t i, u32 channel, u8 *now)
{
    if (codec->mix.coder.decoding) {
        code_row_as(codec, true, true, row, nx, i, channel, now);
    } else {
        code_row_as(codec, false, true, row, nx, i, channel, now);
    }
}

/* Whether the all-zero flag of a row of voxels is coded: only if all its surroundings are zero. */
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

void grid_code_cells(GridCodec *codec, u32 k, u32 channel, u8 *now)
{
    const GridPlan *plan = &codec->plan;
    const GridBox *box = &plan->boxes[k];
    size_t plane = (size_t)channel * plan->elements;
    u32 rim = grid_space_rim(plan), nx = box->size[0];
    GridPicture picture = {codec->predicted + plane, GRID_FROM_I32, 1, 0};
    GridPicture seen = {codec->seen + plane, GRID_FROM_I32, 1, 0};
    GridPicture missed = {codec->errors + plane, GRID_FROM_I16, 1, 0};
    GridAround around;
    grid_around_begin(plan, k, &around);
    grid_block_fill(plan, &around, &picture, rim, &codec->picture);
    grid_block_fill(plan, &around, &seen, rim, &codec->coded);
    grid_block_fill(plan, &around, &missed, rim, &codec->missed);
    bool west = grid_in_span(plan, box, -1, 0, 0), deep = plan->kind == FIELD_GRID3;
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
                    now[(i + x) * plan->channels + channel] = 0;
                }
            }
            memset(row.seen, 0, nx * sizeof *row.seen);
            memset(row.missed, 0, nx * sizeof *row.missed);
        } else if (deep) {
            code_row_of_voxels(codec, &row, nx, i, channel, now);
        } else {
            code_row_of_cells(codec, &row, nx, i, channel, now);
        }
        for (u32 x = 0; x < nx; x++) {
            codec->seen[plane + i + x] = row.seen[x];
            codec->errors[plane + i + x] = (i16)row.missed[x];
        }
    }
}
